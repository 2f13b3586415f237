//! From settings to buffers and passes: how many particles live where and for how long, and what
//! each step runs.

use super::bank::{self, BANK};
use super::brush::{brush, taps};
use super::limit::SOFTEN;
use super::params::{EBB, LAST, RAIN, SAND, SEDIMENT, SOFT, STEPS_MAX, TORUS, border};
use super::settle::SETTLE;
use super::smooth::{APPLY, DIFFER, REMEMBER, SMOOTHEN};
use super::stream::{BEGIN, RECALL, TALLY};
use super::{
    BANKED_WORDS, EXPORT_WORDS, LOAD_MAX, MOVED_WORDS, Options, PART, Params, Stream, TILE,
    TILE_DROPS, WANT_MAX, WANT_WORDS, overruns_at,
};
use crate::arith::{self, LEDGER_WORDS};
use crate::params::Settings;
use crate::plan::{
    Buffer, Disjoint, Fill, Interim, Kernel, Pass, Plan, PlanBuilder, Shape, Uniform,
};
use crate::site::{Layer, Site, Window};
use glam::UVec2;
use std::sync::Arc;

/// Steps without rain at the end of a run, in which the carry finds its place.
pub const TAIL: u32 = 32;

/// How long and how far particles go.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Side of a home block, cells.
    pub block: u32,
    /// Lives of a particle at most; 0 if there are no particles.
    pub lives: i64,
    /// How many homes have a particle in the last of them: see [`lives_last`](super::lives_last).
    pub last_share: u32,
    /// Particles that fall on a cell over the whole run.
    pub rain: f64,
    /// Steps a life.
    pub lifetime: u32,
    /// Steps of the run.
    pub steps: u32,
    /// Cells that a particle can go in a step.
    pub stride: u32,
}

impl Walk {
    /// From the settings.
    pub fn of(s: &Settings, stride: u32) -> Self {
        let block = (1.0 / s.number("density").sqrt()).round() as u32;
        let fall = s.number("rain") * (block * block) as f64;
        // To 2⁻²⁴ of a life, so that whole lives are whole whatever the last bits of the product
        // are.
        let fall = (fall * 16_777_216.0).round() / 16_777_216.0;
        let (lives, lifetime) = (fall.ceil() as i64, s.integer("lifetime") as u32);
        // One home in `lifetime` lives the last life for the first one, which it has not: the
        // others share what is left.
        let share = (fall - (lives - 1) as f64) * f64::from(lifetime) / f64::from(lifetime - 1);
        // A home is among them if its number is at most this, hence 1 less.
        let last_share = (((share * (1u64 << 32) as f64) as u64).clamp(1, 1 << 32) - 1) as u32;
        Self {
            block,
            lives,
            last_share,
            rain: s.number("rain"),
            lifetime,
            // A run with more is refused by `check`, which needs a walk to say so.
            steps: (lives * lifetime as i64).min(STEPS_MAX) as u32,
            stride,
        }
    }

    /// Rows of homes from which a particle can reach one vertex.
    fn rows_in_reach(&self) -> u64 {
        2 * (self.lifetime as u64 * self.stride as u64 + 1) / self.block as u64 + 3
    }

    /// Bits by which proposals are shortened before they are summed, so that the sum cannot
    /// overflow even if all particles that can reach a vertex meet there. At least 2, so that
    /// shares are quotients of 31 bits.
    pub fn want_shift(&self) -> u32 {
        // Homes in reach are a square.
        let crowd = self.rows_in_reach().pow(2);
        (2..18).find(|&s| crowd * ((WANT_MAX as u64 >> s) + 1) < 1 << 31).unwrap_or(18)
    }

    /// What follows from the settings, for a summary.
    pub fn summary(&self, site: &Site) -> serde_json::Value {
        let cells = (self.block * self.block) as f64;
        serde_json::json!({
            "steps": self.steps, "lives": self.lives, "block_cells": self.block,
            "density": 1.0 / cells, "rain": self.rain,
            "droplets": Homes::of(&site.window, self.block).count(),
            "load_max_cells": LOAD_MAX as f64 / arith::CELL as f64,
        })
    }
}

/// The home blocks that touch a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homes {
    /// World index of the first block, by axis.
    first: [i64; 2],
    /// Blocks by axis.
    wide: u32,
    high: u32,
    /// Tiles by axis.
    tiles: [u32; 2],
    /// Local coordinates of the first block's corner, cells.
    corner: [i32; 2],
}

impl Homes {
    fn of(window: &Window, block: u32) -> Self {
        Self::over(window, window, block)
    }

    /// Those that touch `whole`, on the coordinates of `window`.
    fn over(whole: &Window, window: &Window, block: u32) -> Self {
        let b = block as i64;
        // Towards the north-west, also where coordinates are negative.
        let first = whole.origin.map(|o| o.div_euclid(b));
        let count = |axis: usize, side: u32| {
            ((whole.origin[axis] + side as i64 - 1).div_euclid(b) - first[axis] + 1) as u32
        };
        let (wide, high) = (count(0, whole.width), count(1, whole.height));
        Self {
            first,
            wide,
            high,
            tiles: [wide.div_ceil(TILE), high.div_ceil(TILE)],
            corner: [0, 1].map(|a| (first[a] * b - window.origin[a]) as i32),
        }
    }

    /// Homes, without those that the last tiles have beyond the window.
    fn count(&self) -> u64 {
        self.wide as u64 * self.high as u64
    }
}

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

/// The plan of a law.
pub fn plan(law: Rules, s: &Settings, site: &Site) -> Plan {
    let walk = Walk::of(s, law.stride);
    let homes = Homes::over(&site.homes.unwrap_or(site.window), &site.window, walk.block);
    let cells = site.window.cells();
    let tiles = homes.tiles[0] as usize * homes.tiles[1] as usize;
    let window = &site.window;
    let Options { limit, floor_m, sea_level_m, wash, smooth, bedrock, roots } = law.options;
    let q16 = |part: f64| (part * 65536.0).round() as u32;
    let shader = law.shader;
    let [passed, passed_on, rain, hardness, vegetation, sediment] = [
        Layer::Passed,
        Layer::PassedOn,
        Layer::Rain,
        Layer::Hardness,
        Layer::Vegetation,
        Layer::Sediment,
    ]
    .map(|layer| site.layers.has(layer));
    // `grant` has the count of passages before the first step and after the last, and shares in
    // between, which saves a buffer.
    let grant = Buffer { keep: Some("flow"), ..Buffer::cells("grant", window, 1) };
    let grant =
        if passed && !passed_on { Buffer { fill: Fill::Taken("passed"), ..grant } } else { grant };
    let mut buffers = vec![Buffer::height(window), grant];
    // A map of one row or column has no square of four corners to move on, and without rain there
    // are no particles.
    if site.window.width < 2 || site.window.height < 2 || walk.steps == 0 {
        return Plan::new(shader, *window, buffers, vec![]);
    }
    let washes = q16(wash) > 0;
    let soft = hardness || vegetation || (sediment && q16(bedrock) != 65536);
    let far = walk.lifetime * walk.stride;
    let particles =
        Shape::Tiles { tile: TILE_DROPS, record: law.words, vertex: law.vertex, walk: far };
    buffers.extend([
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
        if washes {
            Buffer::scratch("banked", tiles * BANKED_WORDS)
        } else {
            Buffer::absent("banked")
        },
        Buffer::table("brush", brush(law.radius)),
        Buffer::layer("passed", window, 1, passed && passed_on),
        Buffer::layer("rain", window, 1, rain),
        Buffer::layer("hardness", window, 1, hardness),
        Buffer::layer("vegetation", window, 1, vegetation),
        Buffer::layer("ledger", window, LEDGER_WORDS, sediment),
        if soft { Buffer::cells("soft", window, 1).unset() } else { Buffer::absent("soft") },
    ]);
    if smooth > 0 {
        buffers.extend(
            ["before", "delta", "smoothed"].map(|name| Buffer::cells(name, window, 1).unset()),
        );
    }
    buffers.extend(law.buffers);
    let flag = |there, flag| if there { flag } else { 0 };
    let [floor, sea] = [floor_m, sea_level_m]
        .map(|level_m| level_m.map_or(i32::MIN, |level_m| site.height_of(level_m)));
    let base = Params {
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
        border: border(s),
        want_shift: walk.want_shift(),
        limit: q16(limit),
        radius: taps(law.radius),
        flags: flag(rain, RAIN)
            | flag(soft, SOFT)
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
    };
    let disjoint = Arc::new(disjoint(&homes, &walk, base.border == TORUS));
    let pass = |kernel, uniform: &Uniform, count: usize, granule| {
        Pass::new(kernel, uniform.clone(), count, granule)
    };
    let gather = |kernel, uniform: &Uniform| pass(kernel, uniform, cells, window.width);
    let uniform = |params: Params| Uniform::of(params).followed_by(&law.params);
    let usual = uniform(base);
    let mut builder = PlanBuilder::of(site);
    if soft {
        builder.push(gather(&SOFTEN, &usual));
    }
    if passed {
        if passed_on {
            builder.push(gather(&RECALL, &usual));
        }
        builder.push(gather(&BEGIN, &usual));
    }
    if smooth > 0 {
        builder.push(gather(&REMEMBER, &usual));
    }
    let mut take_step = |builder: &mut PlanBuilder, step: u32| {
        let (rained, last) = (step >= walk.steps, step + 1 == walk.steps + TAIL);
        // All passes of a step share it.
        let uniform = uniform(Params {
            step,
            step_rest: step % walk.lifetime,
            step_life: step / walk.lifetime,
            // The last birth leaves time for a whole life, so that no particle is left when the run
            // ends.
            rains: (step + walk.lifetime <= walk.steps) as u32,
            flags: base.flags | flag(rained, EBB) | flag(last, LAST),
            ..base
        });
        // What was asked for in the last step is granted on the ground as it is now, after other
        // stages may have changed it.
        if !rained {
            builder.extend(law.before.iter().map(|kernel| gather(kernel, &uniform)));
        }
        if step > 0 {
            builder.push(gather(law.limit, &uniform));
        }
        let moves = pass(law.kernel, &uniform, tiles * TILE_DROPS, TILE_DROPS as u32);
        builder.push(Pass { disjoint: Some(disjoint.clone()), ..moves });
        let settles =
            gather(&SETTLE, &uniform).swapping(&[["height", "next"], ["carry", "carried"]]);
        builder.push(Pass {
            constant: (base.radius == UNROLLED).then_some(("TAPS", UNROLLED)),
            ..settles
        });
        // The steps after the rain belong to the last one with it.
        if !rained {
            builder.extend(
                law.after.iter().map(|&(kernel, swaps)| gather(kernel, &uniform).swapping(swaps)),
            );
            builder.end_step();
        }
    };
    // In the first step nothing was asked for yet.
    builder.rounds(0..1, &mut take_step);
    if washes {
        for first in (1..walk.steps).step_by(bank::EVERY as usize) {
            builder.rounds(first..(first + bank::EVERY).min(walk.steps), &mut take_step);
            builder.push(pass(&BANK, &usual, tiles, 1));
        }
    } else {
        builder.rounds(1..walk.steps, &mut take_step);
    }
    builder.rounds(walk.steps..walk.steps + TAIL, &mut take_step);
    if smooth > 0 {
        builder.push(gather(&DIFFER, &usual));
        builder.extend(
            (0..smooth).map(|_| gather(&SMOOTHEN, &usual).swapping(&[["delta", "smoothed"]])),
        );
        builder.push(gather(&APPLY, &usual));
    }
    // The smoothing belongs to the last step.
    builder.stretch_step();
    builder.push(gather(&TALLY, &usual));
    // Until `tally`, the count of passages is in the record of what particles want.
    let interim = vec![Interim { field: "flow", buffer: "want", word: 2, shift: 0 }];
    Plan { interim, ..builder.plan(shader, *window, buffers) }
}

/// Squares of tiles in four colours. Squares of one colour are farther apart than two particles can
/// go in a life.
fn disjoint(homes: &Homes, d: &Walk, torus: bool) -> Disjoint {
    let walk = d.lifetime * d.stride + 2;
    let least = (2 * walk).div_ceil(TILE * d.block).max(1);
    // The longer axis has a power of two of squares, so that all are of one size and colours have
    // equal work.
    let longer = homes.tiles[0].max(homes.tiles[1]);
    let side = longer.div_ceil(1 << (longer / least).max(1).ilog2());
    let squares = homes.tiles.map(|t| t.div_ceil(side));
    // On the torus the last square borders on the first and can be narrow, so the last two have
    // colours of their own.
    let colour = |i: u32, n: u32| if torus && n > 1 && i + 2 >= n { 4 + i - n } else { i % 2 };
    let mut rounds: Disjoint = vec![vec![]; 16];
    for sy in 0..squares[1] {
        for sx in 0..squares[0] {
            let columns = sx * side..((sx + 1) * side).min(homes.tiles[0]);
            let rows = sy * side..((sy + 1) * side).min(homes.tiles[1]);
            let group = rows.map(|y| {
                (y * homes.tiles[0] + columns.start) * TILE_DROPS as u32
                    ..(y * homes.tiles[0] + columns.end) * TILE_DROPS as u32
            });
            rounds[(colour(sy, squares[1]) * 4 + colour(sx, squares[0])) as usize]
                .push(group.collect());
        }
    }
    // Colours that no square has make no rounds.
    rounds.retain(|r| !r.is_empty());
    rounds
}
