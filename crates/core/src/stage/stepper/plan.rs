//! From settings to buffers and passes: what each step of a law runs.

use super::bank::{self, BANK};
use super::brush::{brush, taps};
use super::limit::SOFTEN;
use super::params::{EBB, LAST, RAIN, SAND, SEDIMENT, SOFT, TORUS, border};
use super::schedule::{Homes, TAIL, Walk, disjoint};
use super::settle::SETTLE;
use super::smooth::{APPLY, DIFFER, REMEMBER, SMOOTHEN};
use super::stream::{BEGIN, RECALL, TALLY};
use super::{
    BANKED_WORDS, EXPORT_WORDS, MOVED_WORDS, Options, PART, Params, Stream, TILE_DROPS, WANT_WORDS,
    overruns_at,
};
use crate::arith::{self, LEDGER_WORDS};
use crate::params::Settings;
use crate::plan::{
    Buffer, Disjoint, Fill, Interim, Kernel, Pass, Plan, PlanBuilder, Shape, Uniform,
};
use crate::site::{Layer, Site, Window};
use glam::UVec2;
use std::sync::Arc;

/// The brush for which the shader has a text without loops, by its taps to each side: that of radii
/// above 1 up to 3.
const UNROLLED: i32 = 2;

/// What makes one law different from another.
pub struct Rules {
    /// WGSL source.
    pub shader: &'static str,
    /// The kernel of its particles.
    pub kernel: &'static Kernel,
    /// Words of a particle.
    pub words: usize,
    /// Which of them is the number of a vertex, if one is.
    pub vertex: Option<usize>,
    /// Cells that a particle can go in a step.
    pub stride: u32,
    /// Radius of the brush, cells.
    pub radius: f64,
    /// Its block of the uniform struct.
    pub params: Uniform,
    /// Its tables, and other buffers.
    pub buffers: Vec<Buffer>,
    /// Its values of the parameters that not every law has.
    pub options: Options,
    /// The kernel that limits what a vertex gains and loses: [`super::LIMIT`] or its own.
    pub limit: &'static Kernel,
    /// Its own gathers after `settle`, each with the pairs of buffers that exchange their names
    /// after it.
    pub after: Vec<(&'static Kernel, &'static [[&'static str; 2]])>,
    /// Its own gathers at the start of a step.
    pub before: Vec<&'static Kernel>,
    /// Whether the ground is loose sediment on bedrock that does not move.
    pub sand: bool,
    /// What its particles are told of streams.
    pub stream: Stream,
}

impl Rules {
    /// Whether some ground is harder than other ground.
    fn is_soft(&self, site: &Site) -> bool {
        let has = |layer| site.layers.has(layer);
        has(Layer::Hardness)
            || has(Layer::Vegetation)
            || has(Layer::Sediment) && q16(self.options.bedrock) != 65536
    }

    /// Whether a share of what is taken leaves the land at once.
    fn washes(&self) -> bool {
        q16(self.options.wash) > 0
    }
}

/// A share in 2⁻¹⁶.
fn q16(part: f64) -> u32 {
    (part * 65536.0).round() as u32
}

/// The plan of a law.
pub fn plan(law: Rules, s: &Settings, site: &Site) -> Plan {
    let (shader, window) = (law.shader, site.window);
    let walk = Walk::of(s, law.stride);
    // A map of one row or column has no square of four corners to move on, and without rain there
    // are no particles.
    if window.width < 2 || window.height < 2 || walk.steps == 0 {
        return Plan::new(shader, window, vec![Buffer::height(&window), grant(site)], vec![]);
    }
    let homes = Homes::over(&site.homes.unwrap_or(window), &window, walk.block);
    let base = params(&law, border(s), site, &walk, &homes);
    let disjoint = Arc::new(disjoint(&homes, &walk, base.border == TORUS));
    let builder =
        Steps { law: &law, walk, base, window, tiles: homes.tile_count(), disjoint }.all(site);
    // Until `tally`, the count of passages is in the record of what particles want.
    let interim = vec![Interim { field: "flow", buffer: "want", word: 2, shift: 0 }];
    Plan { interim, ..builder.plan(shader, window, buffers(law, site, &walk, &homes)) }
}

/// The buffer `grant` has the count of passages before the first step and after the last, and
/// shares in between, which saves a buffer.
fn grant(site: &Site) -> Buffer {
    let grant = Buffer { keep: Some("flow"), ..Buffer::cells("grant", &site.window, 1) };
    if site.layers.has(Layer::Passed) && !site.layers.has(Layer::PassedOn) {
        Buffer { fill: Fill::Taken("passed"), ..grant }
    } else {
        grant
    }
}

/// All buffers.
fn buffers(law: Rules, site: &Site, walk: &Walk, homes: &Homes) -> Vec<Buffer> {
    let (window, tiles) = (&site.window, homes.tile_count());
    let has = |layer| site.layers.has(layer);
    let far = walk.lifetime * walk.stride;
    let particles =
        Shape::Tiles { tile: TILE_DROPS, record: law.words, vertex: law.vertex, walk: far };
    let mut buffers = vec![
        Buffer::height(window),
        grant(site),
        Buffer::cells("next", window, 1).unset(),
        Buffer::cells("carry", window, 1),
        Buffer::cells("carried", window, 1).unset(),
        // Two words for each vertex of the rim, the number of overruns, and two words for each part
        // of a row.
        Buffer::scratch(
            "spilled",
            overruns_at(window) + 1 + 2 * (window.width.div_ceil(PART) * window.height) as usize,
        ),
        Buffer::cells("moved", window, MOVED_WORDS),
        Buffer::cells("want", window, WANT_WORDS),
        Buffer::tiles("drop", tiles, particles),
        Buffer::scratch("exported", tiles * EXPORT_WORDS),
        if law.washes() {
            Buffer::scratch("banked", tiles * BANKED_WORDS)
        } else {
            Buffer::absent("banked")
        },
        Buffer::table("brush", brush(law.radius)),
        Buffer::layer("passed", window, 1, has(Layer::Passed) && has(Layer::PassedOn)),
        Buffer::layer("rain", window, 1, has(Layer::Rain)),
        Buffer::layer("hardness", window, 1, has(Layer::Hardness)),
        Buffer::layer("vegetation", window, 1, has(Layer::Vegetation)),
        Buffer::layer("ledger", window, LEDGER_WORDS, has(Layer::Sediment)),
        if law.is_soft(site) {
            Buffer::cells("soft", window, 1).unset()
        } else {
            Buffer::absent("soft")
        },
    ];
    if law.options.smooth > 0 {
        buffers.extend(
            ["before", "delta", "smoothed"].map(|name| Buffer::cells(name, window, 1).unset()),
        );
    }
    buffers.extend(law.buffers);
    buffers
}

/// The block of the uniform struct that the laws share, as it is in all passes but those of a step.
fn params(law: &Rules, border: u32, site: &Site, walk: &Walk, homes: &Homes) -> Params {
    let Options { limit, floor_m, sea_level_m, wash, bedrock, roots, .. } = law.options;
    let sediment = site.layers.has(Layer::Sediment);
    let flag = |there, flag| if there { flag } else { 0 };
    // Nothing is below the lowest word, so it stands for no floor and no sea.
    let [floor, sea] = [floor_m, sea_level_m]
        .map(|level_m| level_m.map_or(i32::MIN, |level_m| site.height_of(level_m)));
    Params {
        width: site.window.width as i32,
        height: site.window.height as i32,
        key: arith::key(site.world.seed, 0).into(),
        home: homes.first.map(|f| f as u32).into(),
        homes: UVec2::new(homes.wide, homes.high),
        corner: homes.corner.into(),
        tiles_wide: homes.tiles[0],
        block: walk.block,
        step: 0,
        step_rest: 0,
        step_life: 0,
        lifetime: walk.lifetime,
        rains: 0,
        border,
        want_shift: walk.want_shift(),
        limit: q16(limit),
        radius: taps(law.radius),
        flags: flag(site.layers.has(Layer::Rain), RAIN)
            | flag(law.is_soft(site), SOFT)
            | flag(sediment, SEDIMENT)
            | flag(law.sand, SAND),
        bedrock: if sediment { q16(bedrock) } else { 65536 },
        roots: q16(roots),
        floor: floor.max(sea),
        sea,
        wash: q16(wash),
        stream: law.stream.first,
        last_life: (walk.lives - 1) as u32,
        last_share: walk.last_share,
    }
}

/// The passes of a law.
struct Steps<'a> {
    law: &'a Rules,
    walk: Walk,
    base: Params,
    window: Window,
    /// Tiles of homes.
    tiles: usize,
    disjoint: Arc<Disjoint>,
}

impl Steps<'_> {
    fn uniform(&self, params: Params) -> Uniform {
        Uniform::of(params).followed_by(&self.law.params)
    }

    fn gather(&self, kernel: &'static Kernel, uniform: &Uniform) -> Pass {
        Pass::over(kernel, uniform.clone(), &self.window)
    }

    /// All passes: what comes before the first step, the steps, and what follows the last.
    fn all(&self, site: &Site) -> PlanBuilder {
        let smooth = self.law.options.smooth;
        let usual = self.uniform(self.base);
        let gather = |kernel| self.gather(kernel, &usual);
        let mut builder = PlanBuilder::of(site);
        if self.law.is_soft(site) {
            builder.push(gather(&SOFTEN));
        }
        if site.layers.has(Layer::Passed) {
            if site.layers.has(Layer::PassedOn) {
                builder.push(gather(&RECALL));
            }
            builder.push(gather(&BEGIN));
        }
        if smooth > 0 {
            builder.push(gather(&REMEMBER));
        }
        self.take_all(&mut builder, &usual);
        if smooth > 0 {
            builder.push(gather(&DIFFER));
            builder
                .extend((0..smooth).map(|_| gather(&SMOOTHEN).swapping(&[["delta", "smoothed"]])));
            builder.push(gather(&APPLY));
        }
        // The smoothing belongs to the last step.
        builder.stretch_step();
        builder.push(gather(&TALLY));
        builder
    }

    /// All steps, in rounds that are alike.
    fn take_all(&self, builder: &mut PlanBuilder, usual: &Uniform) {
        let steps = self.walk.steps;
        let mut take = |builder: &mut PlanBuilder, step| self.take(builder, step);
        // In the first step nothing was asked for yet.
        builder.rounds(0..1, &mut take);
        if self.law.washes() {
            // What was exported is put by before its sums could wrap.
            for first in (1..steps).step_by(bank::EVERY as usize) {
                builder.rounds(first..(first + bank::EVERY).min(steps), &mut take);
                builder.push(Pass::new(&BANK, usual.clone(), self.tiles, 1));
            }
        } else {
            builder.rounds(1..steps, &mut take);
        }
        builder.rounds(steps..steps + TAIL, &mut take);
    }

    /// The passes of a step.
    fn take(&self, builder: &mut PlanBuilder, step: u32) {
        let Self { law, walk, base, .. } = self;
        let (rained, last) = (step >= walk.steps, step + 1 == walk.steps + TAIL);
        let flag = |there, flag| if there { flag } else { 0 };
        // All passes of a step share it.
        let uniform = self.uniform(Params {
            step,
            step_rest: step % walk.lifetime,
            step_life: step / walk.lifetime,
            // The last birth leaves time for a whole life, so that no particle is left when the run
            // ends.
            rains: (step + walk.lifetime <= walk.steps) as u32,
            flags: base.flags | flag(rained, EBB) | flag(last, LAST),
            ..*base
        });
        let gather = |kernel| self.gather(kernel, &uniform);
        // What was asked for in the last step is granted on the ground as it is now, after other
        // stages may have changed it.
        if !rained {
            builder.extend(law.before.iter().map(|kernel| gather(kernel)));
        }
        if step > 0 {
            builder.push(gather(law.limit));
        }
        let places = self.tiles * TILE_DROPS;
        let moves = Pass::new(law.kernel, uniform.clone(), places, TILE_DROPS as u32);
        builder.push(Pass { disjoint: Some(self.disjoint.clone()), ..moves });
        builder.push(Pass {
            constant: (base.radius == UNROLLED).then_some(("TAPS", UNROLLED)),
            calm: true,
            ..gather(&SETTLE).swapping(&[["height", "next"], ["carry", "carried"]])
        });
        // The steps after the rain belong to the last one with it.
        if !rained {
            builder.extend(law.after.iter().map(|&(kernel, swaps)| gather(kernel).swapping(swaps)));
            builder.end_step();
        }
    }
}
