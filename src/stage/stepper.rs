//! What the particle laws share: homes and births, proposals and their limits, and what is given and taken on the ground.
//!
//! # Rule
//! Particles live `lifetime` steps; all take one step together. A step is three passes.
//!
//! 1. The law's own kernel (scatter): each particle settles the granted part of what it proposed in the step before, moves on the
//!    frozen `height`, and proposes to take or to give at a vertex (`want`).
//! 2. `settle` (gather). height += spread(give) − brush(take). Spread gives 7/64 to each neighbour along the axes, 7/128 along the
//!    diagonals, and leaves the rest: just narrower than the binomial kernel, which cannot undo a ripple of two cells; brush is nearly a cone of
//!    `radius` (see `brush`); integer remainders stay on the centre cell; at the borders both are folded back.
//! 3. `limit` (gather). A vertex gives up at most `limit` times the drop to the lowest of its eight neighbours in a step, and
//!    receives at most `limit` times the rise to the highest, and never more than one cell. When it was asked for more, each
//!    asker gets the same share. What is granted of taking is then multiplied by how readily the ground gives way:
//!    (1 − hardness) · (1 − `roots` · vegetation) for bedrock, 1 − `roots` · vegetation for loose sediment, and a mean of the two
//!    where the sediment is thinner than what would be taken. With a sediment layer, bedrock gives way `bedrock` times as readily.
//!    With `floor_m`, nothing is taken where the brush would reach below it.
//!
//! After the last step, where `smooth` is not 0: the change of height since the first step is smoothed so many times by the
//! binomial kernel, and put in the place of the change (the separate map of changes of van der Veen's article).
//!
//! # Shape
//! Particles start in home blocks of b × b cells, one each, at a random place of it by hash of (block, life), the ages of
//! neighbours spread evenly. Blocks lie on world coordinates. Where there is a `rain` map, a particle is born with the chance that
//! stands there, by the same hash.
//!
//! # Keeps
//! Σ height + Σ load + Σ exported is constant to the unit after every step.
//!
//! # Costs
//! Per cell and step: 5 passes' worth of words read, 5 written; one more read with hardness or vegetation, one with sediment.

use crate::params::{Kind, Param, Settings};
use crate::plan::{Buffer, Call, Disjoint, Interim, Kernel, Pass, Plan, Touched, Uniform};
use crate::site::{Layer, Site, Window};
use crate::spec::{self, HEIGHT_BITS, LEDGER_WORDS, SLOPE_MAX, div_small, fold, hash, lerp, mix, mul_q16};
use bytemuck::{Pod, Zeroable};
use encase::ShaderType;
use glam::{IVec2, UVec2};
use multiversion::multiversion;
use std::ops::Range;
use std::sync::Arc;

/// WGSL twin, which goes before that of each law.
macro_rules! shader {
    ($law:literal) => {
        concat!(include_str!("../../shaders/stepper.wgsl"), include_str!(concat!("../../shaders/", $law, ".wgsl")))
    };
}
pub(crate) use shader;

/// Homes on a side of a tile of particles. Particles are stored by tile, so that neighbours in memory are neighbours on the map.
pub const TILE: u32 = 32;
/// Particles in a tile.
pub const TILE_DROPS: usize = 1024;
/// Words of a vertex's record of what particles want of it: sum of what they would take, of what they would give (2⁻¹⁶ cells,
/// shortened), and how many have passed since the run began. Side by side, so that a particle touches one cache line.
pub const WANT_WORDS: usize = 3;
/// Words of a vertex's record of what was granted in this step, in height units: taken, given.
pub const MOVED_WORDS: usize = 2;
/// The x of a particle that is not there. Every x is stored with the bits of this flipped, so that zeroed memory holds no
/// particles.
pub const NOWHERE: i32 = i32::MIN;
/// Largest proposal, 2⁻¹⁶ cells.
pub const WANT_MAX: i32 = 32767;
/// Share of a proposal that means all of it.
pub const WHOLE: u32 = 32768;
/// Most that a vertex may give or receive in one step, 2⁻¹⁶ cells.
pub const ALLOW_MAX: i32 = 65535;
/// Most particles of one row of homes whose last step can coincide within reach of one vertex, for each cell that they may walk
/// in a step; see [`phase`].
const SAME_PHASE: u64 = 8;
/// Lives of a particle in one run: bounds what one tile can export.
const LIVES_MAX: i64 = 511;
/// Steps of one run: bounds the memory of a plan.
const STEPS_MAX: i64 = 1 << 18;

/// Particles leave the map with what they carry.
pub const OPEN: u32 = 0;
/// Particles come in on the other side.
pub const TORUS: u32 = 1;
/// Particles stay.
pub const WALL: u32 = 2;

/// Flag: births heed the rain map.
pub const RAIN: u32 = 1;
/// Flag: `soft` holds how readily the ground gives way.
const SOFT: u32 = 2;
/// Flag: the ledger holds the sediment.
const SEDIMENT: u32 = 4;
/// Flag: nothing is taken from below `floor`.
const FLOOR: u32 = 8;

/// A number with its range and default.
pub const fn number(name: &'static str, unit: &'static str, [min, max, default]: [f64; 3], doc: &'static str) -> Param {
    Param { name, unit, kind: Kind::Number { min, max, default }, doc }
}

/// The parameter `rain` with a law's default.
pub const fn rain(default: f64) -> Param {
    number(
        "rain",
        "particles a cell",
        [0.0, 511.0, default],
        "Particles that fall on a cell over the whole run. Rounded to whole lives of all particles, at least one; 0: nothing falls and nothing changes.",
    )
}

/// The parameter `density` with a law's default.
pub const fn density(default: f64) -> Param {
    number(
        "density",
        "particles a cell",
        [0.00390625, 1.0, default],
        "Particles on a cell at one time, rounded to 1, 1/4, 1/9 … 1/256. More is rougher and takes fewer steps: steps = rain · lifetime / density.",
    )
}

/// The parameter `lifetime` with a law's default and maximum.
pub const fn lifetime(max: i64, default: i64) -> Param {
    Param { name: "lifetime", unit: "steps", kind: Kind::Integer { min: 2, max, default }, doc: "Steps that a particle lives." }
}

/// The parameter `radius` with a law's default.
pub const fn radius(default: f64) -> Param {
    number("radius", "cells", [1.0, 32.0, default], "Radius of the near-cone over which what a particle takes is spread.")
}

/// The parameter `limit`.
pub const LIMIT_PARAM: Param = number(
    "limit",
    "",
    [0.0, 1.0, 0.25],
    "Part of the drop to its lowest neighbour that a vertex may lose in a step, and of the rise to its highest that it may gain.",
);

/// The parameter `border`.
pub const BORDER: Param = Param {
    name: "border",
    unit: "",
    kind: Kind::Choice(&["open", "torus", "wall"]),
    doc: "open: particles leave the map with what they carry; torus: they come in on the other side; wall: they stay.",
};

/// The parameter `floor_m`.
pub const FLOOR_M: Param = number(
    "floor_m",
    "m",
    [-1e6, 1e6, -1e6],
    "Nothing is worn below this height, and nothing where the brush reaches ground below it: no ditches where water leaves an open border. The default is none.",
);

/// The parameter `smooth`.
pub const SMOOTH: Param = Param {
    name: "smooth",
    unit: "times",
    kind: Kind::Integer { min: 0, max: 64, default: 0 },
    doc: "Smooths the change that the whole run made, so many times by the binomial kernel of 3 × 3 cells, before it is applied. For smooth ground: the roughness that was there stays, also where the run had levelled it.",
};

/// The parameter `bedrock`.
pub const BEDROCK: Param = number(
    "bedrock",
    "",
    [0.0, 1.0, 0.25],
    "Where there is a sediment layer: how readily bedrock is worn, compared with loose sediment.",
);

/// The parameter `roots`.
pub const ROOTS: Param =
    number("roots", "", [0.0, 1.0, 0.9], "Where there is a vegetation layer: part of the wear that full vegetation prevents.");

/// Whether a run has too many lives or steps, in words.
pub fn check(s: &Settings) -> Result<(), String> {
    let walk = Walk::of(s, 1);
    let density = 1.0 / (walk.block * walk.block) as f64;
    if walk.lives > LIVES_MAX {
        return Err(format!(
            "rain = {} at density = {density} is {} lives of each particle: allowed 0 to {LIVES_MAX}; lower rain to {} or raise density",
            s.number("rain"),
            walk.lives,
            LIVES_MAX as f64 * density
        ));
    }
    if walk.lives * walk.lifetime as i64 > STEPS_MAX {
        return Err(format!(
            "rain · lifetime / density = {} · {} steps: allowed up to {STEPS_MAX}; lower rain or lifetime, or raise density",
            walk.lives, walk.lifetime
        ));
    }
    Ok(())
}

/// How often and how far particles go.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Side of a home block, cells.
    pub block: u32,
    /// Lives of each particle; 0: there are none.
    pub lives: i64,
    /// Steps a life.
    pub lifetime: u32,
    /// Steps of the run.
    pub steps: u32,
    /// Cells that a particle may go in a step.
    pub stride: u32,
}

impl Walk {
    /// From the settings.
    pub fn of(s: &Settings, stride: u32) -> Self {
        let block = (1.0 / s.number("density").sqrt()).round() as u32;
        let rain = s.number("rain");
        let lives = ((rain * (block * block) as f64).round() as i64).max((rain > 0.0) as i64);
        let lifetime = s.integer("lifetime") as u32;
        Self { block, lives, lifetime, steps: (lives * lifetime as i64).min(STEPS_MAX) as u32, stride }
    }

    /// Rows of homes from which a particle can come to one vertex.
    fn rows_in_reach(&self) -> u64 {
        2 * (self.lifetime as u64 * self.stride as u64 + 1) / self.block as u64 + 3
    }

    /// Particles that can meet at one vertex.
    fn crowd(&self, site: &Site) -> u64 {
        (self.rows_in_reach() * self.rows_in_reach()).min(Homes::of(&site.window, self.block).count())
    }

    /// Largest load, in height units: 64 cells, or what cannot overflow if all particles whose lives end in the same step
    /// within reach of one vertex end there.
    pub fn load_max(&self, site: &Site) -> i32 {
        let ending = (SAME_PHASE * self.stride as u64 * self.rows_in_reach()).min(self.crowd(site));
        (((1u64 << 30) / ending.max(1)).min(64 << HEIGHT_BITS) as i32) & !3
    }

    /// Bits by which proposals are shortened before they are summed, so that the sum cannot overflow.
    fn want_shift(&self, site: &Site) -> u32 {
        (0..16).find(|&s| self.crowd(site) * ((WANT_MAX as u64 >> s) + 1) < 1 << 31).unwrap_or(15)
    }

    /// What follows from the settings, for people.
    pub fn derived(&self, site: &Site) -> serde_json::Value {
        let cells = (self.block * self.block) as f64;
        serde_json::json!({
            "steps": self.steps, "lives": self.lives, "block_cells": self.block,
            "density": 1.0 / cells, "rain": self.lives as f64 / cells,
            "droplets": Homes::of(&site.window, self.block).count(),
            "load_max_cells": self.load_max(site) as f64 / spec::CELL as f64,
        })
    }
}

/// The home blocks that touch a window.
#[derive(Clone, Copy, Debug)]
pub struct Homes {
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
        let b = block as i64;
        let first = window.origin.map(|o| o.div_euclid(b));
        let count = |axis: usize, side: u32| ((window.origin[axis] + side as i64 - 1).div_euclid(b) - first[axis] + 1) as u32;
        let (wide, high) = (count(0, window.width), count(1, window.height));
        Self {
            first,
            wide,
            high,
            tiles: [wide.div_ceil(TILE), high.div_ceil(TILE)],
            corner: [0, 1].map(|a| (first[a] * b - window.origin[a]) as i32),
        }
    }

    /// Droplets, those of blocks outside the window in the last tiles not counted.
    fn count(&self) -> u64 {
        self.wide as u64 * self.high as u64
    }
}

/// The part of the uniform struct that the stepper fills; the law's own follows it.
#[derive(Clone, Copy, Debug, ShaderType)]
pub struct Params {
    /// Cells in a row.
    pub width: i32,
    /// Rows.
    pub height: i32,
    /// Hash key of homes.
    pub key: UVec2,
    /// World index of the first home, low words.
    pub home: UVec2,
    /// Homes by axis.
    pub homes: UVec2,
    /// Local coordinates of the first home's corner, cells.
    pub corner: IVec2,
    /// Tiles in a row of tiles.
    pub tiles_wide: u32,
    /// Cells on a side of a home.
    pub block: u32,
    /// Step of the run.
    pub step: u32,
    /// Step of the run, modulo lifetime.
    pub step_rest: u32,
    /// Whole lifetimes before it.
    pub step_life: u32,
    /// Steps a life.
    pub lifetime: u32,
    /// 1 while particles are born.
    pub rains: u32,
    /// [`OPEN`], [`TORUS`] or [`WALL`].
    pub border: u32,
    /// Bits by which sums of proposals are shortened.
    pub want_shift: u32,
    /// Part of the room that may be used in a step, 2⁻¹⁶.
    pub limit: u32,
    /// Taps of the brush to each side.
    pub radius: i32,
    /// Largest load, height units.
    pub load_max: i32,
    /// What there is beside the height: [`RAIN`] and others.
    pub flags: u32,
    /// How readily bedrock gives way, 2⁻¹⁶.
    pub bedrock: u32,
    /// Part of the wear that full vegetation prevents, 2⁻¹⁶.
    pub roots: u32,
    /// Height below which nothing is worn.
    pub floor: i32,
}

/// What makes one law different from another.
pub struct Rules {
    /// WGSL source.
    pub shader: &'static str,
    /// The kernel of its particles.
    pub kernel: &'static Kernel,
    /// Words of a particle.
    pub words: usize,
    /// Cells that a particle may go in a step.
    pub stride: u32,
    /// Radius of the brush, cells.
    pub radius: f64,
    /// Its block of the uniform struct.
    pub params: Uniform,
    /// Its tables, and other buffers.
    pub buffers: Vec<Buffer>,
    /// The kernel that limits what may be taken and given: [`LIMIT`] or its own.
    pub limit: &'static Kernel,
    /// Gathers of its own between `settle` and `limit`, and the two buffers that exchange their names after each.
    pub between: Vec<(&'static Kernel, Option<[&'static str; 2]>)>,
}

/// The kernel that applies what was granted.
pub static SETTLE: Kernel =
    Kernel { entry: "settle", reads: &["moved", "brush"], owns: &[("height", 1)], adds: &[], cpu: settle };

/// The kernel that says how much of what is wanted is granted.
pub static LIMIT: Kernel = Kernel {
    entry: "limit",
    reads: &["height", "soft", "ledger"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit,
};

/// The kernel that leaves the count of passages.
pub static TALLY: Kernel = Kernel { entry: "tally", reads: &["want"], owns: &[("grant", 1)], adds: &[], cpu: tally };

/// The kernel that says how readily the ground gives way, once a run.
pub static SOFTEN: Kernel =
    Kernel { entry: "soften", reads: &["hardness", "vegetation"], owns: &[("soft", 1)], adds: &[], cpu: soften };

/// The kernel that keeps the heights from before the first step.
pub static REMEMBER: Kernel = Kernel { entry: "remember", reads: &["height"], owns: &[("before", 1)], adds: &[], cpu: remember };

/// The kernel that finds what the run has changed.
pub static DIFFER: Kernel =
    Kernel { entry: "differ", reads: &["height", "before"], owns: &[("delta", 1)], adds: &[], cpu: differ };

/// The kernel that smooths the change once.
pub static SMOOTHEN: Kernel = Kernel { entry: "smoothen", reads: &["delta"], owns: &[("smoothed", 1)], adds: &[], cpu: smoothen };

/// The kernel that applies the smoothed change.
pub static APPLY: Kernel = Kernel { entry: "apply", reads: &["before", "delta"], owns: &[("height", 1)], adds: &[], cpu: apply };

/// A law's kernel and the stepper's.
pub const fn with(law: &'static Kernel) -> [&'static Kernel; 9] {
    [law, &SETTLE, &LIMIT, &TALLY, &SOFTEN, &REMEMBER, &DIFFER, &SMOOTHEN, &APPLY]
}

/// The schedule of a law.
pub fn plan(law: Rules, s: &Settings, site: &Site) -> Plan {
    let walk = Walk::of(s, law.stride);
    let homes = Homes::of(&site.window, walk.block);
    let cells = site.window.cells();
    let tiles = homes.tiles[0] as usize * homes.tiles[1] as usize;
    let window = &site.window;
    // Not every law has every option.
    let number = |name: &str, without: f64| if s.knows(name) { s.number(name) } else { without };
    let q16 = |name: &str| (number(name, 1.0) * 65536.0).round() as u32;
    let shader = law.shader;
    // Shares lie in `grant` until the last step is done, then the count of passages: one buffer less.
    let mut buffers = vec![Buffer::height(window), Buffer { keep: Some("flow"), ..Buffer::cells("grant", window, 1) }];
    // A map of one row or column has no cell of four corners, so nothing can flow on it; and without rain nobody is there.
    if site.window.width < 2 || site.window.height < 2 || walk.steps == 0 {
        return Plan::new(shader, *window, buffers, vec![]);
    }
    let [rain, hardness, vegetation, sediment] =
        [Layer::Rain, Layer::Hardness, Layer::Vegetation, Layer::Sediment].map(|layer| site.layers.has(layer));
    let soft = hardness || vegetation || (sediment && q16("bedrock") != 65536);
    let smooth = if s.knows("smooth") { s.integer("smooth") as usize } else { 0 };
    let floor_m = number("floor_m", -1e6);
    let floor = floor_m > -1e6;
    let brush = brush(law.radius);
    buffers.extend([
        Buffer::cells("moved", window, MOVED_WORDS),
        Buffer::cells("want", window, WANT_WORDS),
        Buffer::tiles("drop", tiles, TILE_DROPS, law.words),
        Buffer::scratch("exported", tiles * 2),
        Buffer::table("brush", brush),
        Buffer::layer("rain", window, 1, rain),
        Buffer::layer("hardness", window, 1, hardness),
        Buffer::layer("vegetation", window, 1, vegetation),
        Buffer::layer("ledger", window, LEDGER_WORDS, sediment),
        if soft { Buffer::cells("soft", window, 1) } else { Buffer::absent("soft") },
    ]);
    if smooth > 0 {
        buffers.extend(["before", "delta", "smoothed"].map(|name| Buffer::cells(name, window, 1)));
    }
    buffers.extend(law.buffers);
    let flag = |there, flag| if there { flag } else { 0 };
    let base = Params {
        width: site.window.width as i32,
        height: site.window.height as i32,
        key: spec::key(site.world.seed, 0).into(),
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
        border: match s.word("border") {
            "torus" => TORUS,
            "wall" => WALL,
            _ => OPEN,
        },
        want_shift: walk.want_shift(site),
        limit: q16("limit"),
        radius: taps(law.radius),
        load_max: walk.load_max(site),
        flags: flag(rain, RAIN) | flag(soft, SOFT) | flag(sediment, SEDIMENT) | flag(floor, FLOOR),
        bedrock: if sediment { q16("bedrock") } else { 65536 },
        roots: q16("roots"),
        floor: site.height_of(floor_m),
    };
    let disjoint = Arc::new(disjoint(&homes, &walk, base.border == TORUS));
    let mut passes = Vec::with_capacity(walk.steps as usize * (3 + law.between.len()) + smooth + 5);
    let pass = |kernel, params: &Params, count: usize, granule| {
        Pass::new(kernel, Uniform::of(*params).followed_by(&law.params), count, granule)
    };
    let gather = |kernel, params: &Params| pass(kernel, params, cells, window.width);
    if soft {
        passes.push(gather(&SOFTEN, &base));
    }
    if smooth > 0 {
        passes.push(gather(&REMEMBER, &base));
    }
    let mut steps = Vec::with_capacity(walk.steps as usize);
    for step in 0..walk.steps {
        let params = Params {
            step,
            step_rest: step % walk.lifetime,
            step_life: step / walk.lifetime,
            // The last birth leaves time for a whole life: nobody is on the way when the run ends.
            rains: (step + walk.lifetime <= walk.steps) as u32,
            ..base
        };
        let step_of_all = pass(law.kernel, &params, tiles * TILE_DROPS, TILE_DROPS as u32);
        passes.push(Pass { disjoint: Some(disjoint.clone()), ..step_of_all });
        passes.push(gather(&SETTLE, &params));
        passes.extend(law.between.iter().map(|&(kernel, swap)| Pass { swap, ..gather(kernel, &params) }));
        passes.push(gather(law.limit, &params));
        steps.push(passes.len());
    }
    if smooth > 0 {
        passes.push(gather(&DIFFER, &base));
        passes.extend((0..smooth).map(|_| gather(&SMOOTHEN, &base).swapping("delta", "smoothed")));
        passes.push(gather(&APPLY, &base));
        // The smoothing belongs to the last step.
        if let Some(last) = steps.last_mut() {
            *last = passes.len();
        }
    }
    passes.push(gather(&TALLY, &base));
    // Until `tally`, the count of passages lies in the record of what particles want.
    let interim = vec![Interim { field: "flow", buffer: "want", word: 2 }];
    Plan { steps, interim, ..Plan::new(shader, *window, buffers, passes) }
}

/// Cells that the brush reaches to each side.
pub fn taps(radius: f64) -> i32 {
    2 * ((radius / 2.0 + 0.5).ceil() as i32 - 1)
}

/// The erosion brush, in 2⁻¹⁶ of its sum, rounded down; the centre's word holds nothing, since the centre gets the rest.
///
/// It is a disc of half the radius, soft at its rim, spread by itself: in the plane that is nearly the cone max(0, radius −
/// distance), but its spectrum has no negative part. The cone sampled at cells has one (at radius 2 the ripple of two cells is
/// turned over: −0.04), and then taking from crests makes them higher, in rows along the axes.
fn brush(radius: f64) -> Vec<i32> {
    let r = taps(radius) / 2;
    let disc = |x: i32, y: i32| (radius / 2.0 + 0.5 - ((x * x + y * y) as f64).sqrt()).clamp(0.0, 1.0);
    let square = |r: i32| (-r..=r).flat_map(move |y| (-r..=r).map(move |x| (x, y)));
    let sum: f64 = square(r).map(|(x, y)| disc(x, y)).sum();
    let spread = |x: i32, y: i32| {
        let inside = |x: i32, y: i32| x.abs() <= r && y.abs() <= r;
        square(r).filter(|&(i, j)| inside(x - i, y - j)).map(|(i, j)| disc(i, j) * disc(x - i, y - j)).sum::<f64>()
    };
    // Exactly the same in eight directions.
    let octant = |x: i32, y: i32| (x.abs().min(y.abs()), x.abs().max(y.abs()));
    let part = |(x, y)| if (x, y) == (0, 0) { 0 } else { (spread(x, y) / (sum * sum) * 65536.0) as i32 };
    square(2 * r).map(|(x, y)| part(octant(x, y))).collect()
}

/// Squares of tiles in four colours, those of one colour farther from each other than two particles can walk.
fn disjoint(homes: &Homes, d: &Walk, torus: bool) -> Disjoint {
    let walk = d.lifetime * d.stride + 2;
    let least = (2 * walk).div_ceil(TILE * d.block).max(1);
    // A power of two of squares along the longer axis, so that they are of one size and colours have equal work.
    let longer = homes.tiles[0].max(homes.tiles[1]);
    let side = longer.div_ceil(1 << (longer / least).max(1).ilog2());
    let squares = homes.tiles.map(|t| t.div_ceil(side));
    // On the torus the last square is a neighbour of the first and may be narrow: the last two have colours of their own.
    let colour = |i: u32, n: u32| if torus && n > 1 && i + 2 >= n { 4 + i - n } else { i % 2 };
    let mut rounds: Disjoint = vec![vec![]; 16];
    for sy in 0..squares[1] {
        for sx in 0..squares[0] {
            let columns = sx * side..((sx + 1) * side).min(homes.tiles[0]);
            let rows = sy * side..((sy + 1) * side).min(homes.tiles[1]);
            let group = rows.map(|y| {
                (y * homes.tiles[0] + columns.start) * TILE_DROPS as u32..(y * homes.tiles[0] + columns.end) * TILE_DROPS as u32
            });
            rounds[(colour(sy, squares[1]) * 4 + colour(sx, squares[0])) as usize].push(group.collect());
        }
    }
    rounds.retain(|r| !r.is_empty());
    rounds
}

/// Where in the common clock a row of homes begins; see [`phase`].
#[inline(always)]
pub fn row_phase(key: UVec2, hy: u32) -> u32 {
    mix(hy ^ key.y)
}

/// The age at step 0 of the droplet of column `hx`, in 0..lifetime.
///
/// Ages follow the golden ratio along a row, so that the births and deaths of neighbours are spread evenly over time: of any
/// 2 · lifetime + 5 neighbours at most eight die in the same step (three-distance theorem), which bounds what can be laid
/// down on one vertex at once.
#[inline(always)]
pub fn phase(row: u32, hx: u32, lifetime: u32) -> u32 {
    ((row.wrapping_add(hx.wrapping_mul(0x9e37_79b9)) >> 16) * lifetime) >> 16
}

/// Where the particle of a home starts its `life`, in 2⁻¹⁶ cells, and a word to draw against the rain.
#[inline(always)]
pub fn spot(p: &Params, column: u32, row: u32, life: u32) -> ([i32; 2], u32) {
    let (hx, hy) = (p.home[0].wrapping_add(column), p.home[1].wrapping_add(row));
    let spot = mix(hash(p.key.to_array(), hx, hy).wrapping_add(life.wrapping_mul(0x9e37_79b9)));
    let corner = [p.corner[0] + (column * p.block) as i32, p.corner[1] + (row * p.block) as i32];
    let x = (corner[0] << 16).wrapping_add(((spot & 0xffff) * p.block) as i32);
    let y = (corner[1] << 16).wrapping_add(((spot >> 16) * p.block) as i32);
    ([x, y], mix(spot.wrapping_add(0x85eb_ca6b)) >> 16)
}

/// Whether the rain map lets a particle fall at a place on the map.
#[inline(always)]
pub fn falls(p: &Params, rain: &[i32], x: i32, y: i32, chance: u32) -> bool {
    p.flags & RAIN == 0 || (chance as i32) < rain[((y >> 16) * p.width + (x >> 16)) as usize]
}

/// Bilinear gradient of the square with corners h00 h10 / h01 h11 at (fx, fy), 2⁻¹⁶ cells a cell.
#[inline(always)]
pub fn gradient(h: [i32; 4], fx: u32, fy: u32) -> [i32; 2] {
    let h = h.map(|h| h >> 2);
    let slope = |a: i32, b: i32| b.wrapping_sub(a).clamp(-SLOPE_MAX, SLOPE_MAX);
    [lerp(slope(h[0], h[1]), slope(h[2], h[3]), fy), lerp(slope(h[0], h[2]), slope(h[1], h[3]), fx)]
}

/// Bilinear height, 2⁻¹⁶ cells.
#[inline(always)]
pub fn height_at(h: [i32; 4], fx: u32, fy: u32) -> i32 {
    let h = h.map(|h| h >> 2);
    lerp(lerp(h[0], h[1], fx), lerp(h[2], h[3], fx), fy)
}

/// A direction without preference: each axis a sum of four bytes, which is nearly Gaussian and so nearly round.
#[inline(always)]
pub fn wander(home: u32, step: u32) -> [i32; 2] {
    let x = mix(home ^ step.wrapping_mul(0x85eb_ca6b).wrapping_add(1));
    let y = mix(x.wrapping_add(0x9e37_79b9));
    let sum = |r: u32| ((r & 255) + ((r >> 8) & 255) + ((r >> 16) & 255) + (r >> 24)) as i32 - 510;
    let (x, y) = (sum(x), sum(y));
    [if x == 0 && y == 0 { 1 } else { x }, y]
}

/// The number of the vertex nearest to a position.
#[inline(always)]
pub fn vertex(p: &Params, x: i32, y: i32) -> i32 {
    let (vx, vy) = ((x.wrapping_add(0x8000)) >> 16, (y.wrapping_add(0x8000)) >> 16);
    // Beyond the last column or row only on the torus.
    let vx = if vx >= p.width { vx - p.width } else { vx };
    let vy = if vy >= p.height { vy - p.height } else { vy };
    vy.wrapping_mul(p.width).wrapping_add(vx)
}

/// Once round the torus at most.
#[inline(always)]
pub fn wrap(x: i32, span: i32) -> i32 {
    let x = if x < 0 { x.wrapping_add(span) } else { x };
    if x >= span { x.wrapping_sub(span) } else { x }
}

/// Words that lines are a multiple of: some vector registers.
const LANES: usize = 64;
/// Rows that `settle` takes apart at a time: what was taken and given there stays in the nearest caches.
const ROWS: usize = 16;

fn settle(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let &[moved, brush] = call.reads else { return };
    let brush = Brush::new(p, brush);
    let (mut lines, mut change) = (Lines::default(), vec![]);
    for (i, own) in call.owns[0].chunks_mut(4 * ROWS * w).enumerate() {
        let first = first + i * 4 * ROWS;
        let rows = first.saturating_sub(halo(p))..(first + own.len() / w + halo(p)).min(p.height as usize);
        let spans = call.touched[0].within(rows.start * w..rows.end * w, MOVED_WORDS);
        let count: usize = spans.map(|span| count_stirred(&moved[span.start * MOVED_WORDS..span.end * MOVED_WORDS])).sum();
        // Measured: from a vertex to the cells some ten nanoseconds and one for each vector of the brush; from the vertices to a
        // cell a third of one, and a tenth for each weight.
        if count * (30 + 3 * brush.padded.len() / VECTOR) < own.len() * (1 + brush.taps * 3 / 10) {
            settle_few(p, first, own, moved, &brush, call.touched[0], &mut change);
        } else {
            for (i, own) in own.chunks_mut(ROWS * w).enumerate() {
                settle_rows(p, first + i * ROWS, own, moved, &brush, &mut lines);
            }
        }
    }
}

/// Rows and columns round a cell that `settle` looks at.
fn halo(p: &Params) -> usize {
    p.radius.max(1) as usize
}

/// The brush, ready for use.
struct Brush {
    /// Weights that are not 0.
    taps: usize,
    /// The weights, 2⁻¹⁶, and how often each occurs, because the brush is the same in eight directions.
    kinds: Vec<(i32, i32)>,
    /// Of the columns from the centre on, which are the same to both sides, and up and down: rows below the centre, and weights.
    columns: Vec<Vec<(isize, i32)>>,
    heaviest: u64,
    /// Squares of side 2 · halo + 1 of the weights, and of what [`spread`] gives to others. Rows are filled up with
    /// zeros to whole vectors of `wide` words.
    padded: Vec<i32>,
    spread: Vec<i32>,
    wide: usize,
}

impl Brush {
    fn new(p: &Params, weights: &[i32]) -> Self {
        let side = 2 * p.radius as usize + 1;
        let (halo, reach) = (halo(p), side / 2);
        let weight = |dx: usize, dy: usize| if dx.max(dy) > reach { 0 } else { weights[(reach + dy) * side + reach + dx] };
        let across = 2 * halo + 1;
        let wide = across.next_multiple_of(VECTOR);
        let square = |of: &dyn Fn(usize, usize) -> i32| -> Vec<i32> {
            let cell = |i: usize| if i % wide < across { of((i % wide).abs_diff(halo), (i / wide).abs_diff(halo)) } else { 0 };
            (0..across * wide).map(cell).collect()
        };
        // One for each cell of an octant.
        let octant = (1..=reach).flat_map(|x| (0..=x).map(move |y| (x, y)));
        let kinds =
            octant.map(|(x, y)| (weight(x, y), if y == 0 || y == x { 4 } else { 8 })).filter(|kind| kind.0 != 0).collect();
        Self {
            taps: weights.iter().filter(|w| **w != 0).count(),
            heaviest: weights.iter().copied().max().unwrap_or(0) as u64,
            kinds,
            columns: (0..=halo)
                .map(|dx| (0..=halo).map(|dy| (dy as isize, weight(dx, dy))).filter(|tap| tap.1 != 0).collect())
                .collect(),
            padded: square(&weight),
            spread: square(&|dx, dy| [[0, 7168, 0], [7168, 3584, 0], [0; 3]][dy.min(2)][dx.min(2)]),
            wide,
        }
    }

    /// What others get and lose of what is taken and given at a vertex: `rows` of the brush, the first at the start of `change`,
    /// the next a `line` further.
    #[inline(always)]
    fn stroke(&self, change: &mut [i32], line: usize, rows: Range<usize>, take: i32, give: i32) {
        let light = (take.unsigned_abs() as u64 * self.heaviest) < 1 << 31 && give.unsigned_abs() < 1 << 17;
        let rows = rows.start * self.wide..rows.end * self.wide;
        let rows = self.padded[rows.clone()].chunks_exact(self.wide).zip(self.spread[rows].chunks_exact(self.wide));
        for (j, (weights, shares)) in rows.enumerate() {
            let change = change[j * line..][..self.wide].as_chunks_mut().0;
            for ((change, weights), shares) in change.iter_mut().zip(weights.as_chunks().0).zip(shares.as_chunks().0) {
                if light {
                    stroke(change, weights, shares, take, give);
                } else {
                    for ((change, weight), share) in change.iter_mut().zip(weights).zip(shares) {
                        let part = mul_q16(give, *share as u32).wrapping_sub(mul_q16(take, *weight as u32));
                        *change = change.wrapping_add(part);
                    }
                }
            }
        }
    }

    /// What the vertex itself loses.
    #[inline(always)]
    fn rest(&self, take: i32, give: i32) -> i32 {
        let parts = self.kinds.iter().map(|&(weight, count)| mul_q16(take, weight as u32).wrapping_mul(count));
        parts.fold(take, i32::wrapping_sub).wrapping_sub(spread(give, 0, 0))
    }
}

/// A part of a row of a stroke.
#[inline(always)]
fn stroke(own: &mut [i32; VECTOR], weights: &[i32; VECTOR], shares: &[i32; VECTOR], take: i32, give: i32) {
    let change = |l: usize| (give.wrapping_mul(shares[l]) >> 16).wrapping_sub(take.wrapping_mul(weights[l]) >> 16);
    let change: [i32; VECTOR] = std::array::from_fn(change);
    *own = std::array::from_fn(|l| own[l].wrapping_add(change[l]));
}

/// Words that a row of the brush is a multiple of.
const VECTOR: usize = 8;

/// How many records of what was taken and given are not 0.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn count_stirred(moved: &[i32]) -> usize {
    moved.chunks_exact(MOVED_WORDS).map(|pair| (pair[0] | pair[1] != 0) as u32).sum::<u32>() as usize
}

/// Records that [`occupied`] looks at together.
const SOME: usize = 16;

/// Does `each` for those of some records of `EACH` words of which one of the first two words is not 0.
#[inline(always)]
fn occupied<const EACH: usize>(words: &[i32], records: Range<usize>, mut each: impl FnMut(usize)) {
    for first in records.clone().step_by(SOME) {
        let some = &words[first * EACH..(first + SOME).min(records.end) * EACH];
        let mut mask = 0u32;
        for (i, record) in some.chunks_exact(EACH).enumerate() {
            mask |= ((record[0] | record[1] != 0) as u32) << i;
        }
        while mask != 0 {
            each(first + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    }
}

/// The same as [`settle_rows`] where little was moved: from each vertex to the cells that it changes.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn settle_few(p: &Params, first: usize, own: &mut [i32], moved: &[i32], brush: &Brush, touched: Touched, change: &mut Vec<i32>) {
    let (w, halo, torus) = (p.width as usize, halo(p), p.border == TORUS);
    let count = own.len() / w;
    // What changes, with columns beyond the borders: no vertex is a special case.
    let line = w + 2 * halo + VECTOR;
    change.clear();
    change.resize(count * line, 0);
    for k in 0..count + 2 * halo {
        let y = first as i32 + k as i32 - halo as i32;
        let real = fold(y, p.height, torus);
        let start = real as usize * w;
        // Rows of the brush that lie on rows of ours.
        let rows = (2 * halo).saturating_sub(k)..(2 * halo + 1).min(count + 2 * halo - k);
        let at = (k + rows.start - 2 * halo) * line;
        let spans = touched.within(start..start + w, MOVED_WORDS);
        for span in spans {
            occupied::<MOVED_WORDS>(moved, span, |i| {
                let (x, take, give) = (i - start, moved[i * MOVED_WORDS], moved[i * MOVED_WORDS + 1]);
                brush.stroke(&mut change[at + x..], line, rows.clone(), take, give);
                if real == y && rows.contains(&halo) {
                    own[(k - halo) * w + x] = own[(k - halo) * w + x].wrapping_sub(brush.rest(take, give));
                }
            });
        }
    }
    for (own, change) in own.chunks_exact_mut(w).zip(change.chunks_exact(line)) {
        own.iter_mut().zip(&change[halo..]).for_each(|(own, change)| *own = own.wrapping_add(*change));
        for i in 0..halo {
            for (x, change) in [(i as i32 - halo as i32, change[i]), ((w + i) as i32, change[halo + w + i])] {
                let own = &mut own[fold(x, p.width, torus) as usize];
                *own = own.wrapping_add(change);
            }
        }
    }
}

/// The words of some vector registers, where each can be read at once.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Register([i32; LANES]);

/// Memory of [`settle_rows`], used again.
#[derive(Default)]
struct Lines {
    taken: Vec<Register>,
    given: Vec<Register>,
    column: Vec<Register>,
    change: Vec<i32>,
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn settle_rows(p: &Params, first: usize, own: &mut [i32], moved: &[i32], brush: &Brush, lines: &mut Lines) {
    let (w, halo) = (p.width as usize, halo(p));
    let torus = p.border == TORUS;
    let count = own.len() / w;
    // Lines of what was taken and what was given, folded out beyond the borders: no cell is a special case.
    let wide = (w + 2 * halo).div_ceil(LANES);
    let zero = Register::zeroed();
    let Lines { taken, given, column, change } = lines;
    taken.resize((count + 2 * halo) * wide, zero);
    given.resize((count + 2 * halo) * wide, zero);
    column.resize(wide, zero);
    change.resize(w, 0);
    let mut large = vec![0u32; count + 2 * halo];
    let rows = taken.chunks_exact_mut(wide).zip(given.chunks_exact_mut(wide)).zip(&mut large);
    for (k, ((taken, given), large)) in rows.enumerate() {
        let y = fold(first as i32 + k as i32 - halo as i32, p.height, torus) as usize;
        let row = &moved[y * w * MOVED_WORDS..(y + 1) * w * MOVED_WORDS];
        let (taken, given): (&mut [i32], &mut [i32]) = (bytemuck::cast_slice_mut(taken), bytemuck::cast_slice_mut(given));
        let mut bits = 0;
        for ((pair, t), g) in row.chunks_exact(MOVED_WORDS).zip(&mut taken[halo..halo + w]).zip(&mut given[halo..halo + w]) {
            *t = pair[0];
            *g = pair[1];
            bits |= pair[0].unsigned_abs() | pair[1].unsigned_abs();
        }
        for i in 0..halo {
            let (left, right) =
                (fold(i as i32 - halo as i32, p.width, torus) as usize, fold((w + i) as i32, p.width, torus) as usize);
            (taken[i], taken[halo + w + i]) = (row[2 * left], row[2 * right]);
            (given[i], given[halo + w + i]) = (row[2 * left + 1], row[2 * right + 1]);
        }
        *large = bits;
    }
    let (taken, given): (&[i32], &[i32]) = (bytemuck::cast_slice(taken), bytemuck::cast_slice(given));
    let column: &mut [i32] = bytemuck::cast_slice_mut(column);
    let wide = wide * LANES;
    for (j, own) in own.chunks_exact_mut(w).enumerate() {
        let bits = large[j..j + 2 * halo + 1].iter().fold(0, |all, b| all | b);
        if bits == 0 {
            continue;
        }
        // The products fit 32 bits unless somebody laid down a heavy load here.
        let heavy = bits as u64 * brush.heaviest >= 1 << 31;
        let below = |dy: isize| (j + halo).wrapping_add_signed(dy);
        let (taken, given) = (|dy| line(taken, wide, below(dy)), |dy| line(given, wide, below(dy)));
        // What is taken in a column of the brush, which is the same to both sides, and both ways; then the cells where it comes from.
        let mut sides = brush.columns.iter().enumerate();
        column.copy_from_slice(taken(0));
        for &(weight, count) in &brush.kinds {
            lose(column, taken(0), weight, count, heavy);
        }
        spread_column(column, [given(-1), given(0), given(1)], |north, here, south| {
            spread(here, 0, 0).wrapping_add(spread(north, 0, 1)).wrapping_add(spread(south, 0, 1))
        });
        if let Some((_, taps)) = sides.next() {
            taps.iter().for_each(|&(dy, weight)| draw(column, taken(-dy), taken(dy), weight, heavy));
        }
        change.copy_from_slice(&column[halo..halo + w]);
        for (dx, taps) in sides {
            column.fill(0);
            for &(dy, weight) in taps {
                if dy == 0 {
                    lose(column, taken(0), weight, -1, heavy);
                } else {
                    draw(column, taken(-dy), taken(dy), weight, heavy);
                }
            }
            if dx == 1 {
                spread_column(column, [given(-1), given(0), given(1)], |north, here, south| {
                    spread(here, 1, 0).wrapping_add(spread(north, 1, 1)).wrapping_add(spread(south, 1, 1))
                });
            }
            beside(change, column, halo, dx);
        }
        own.iter_mut().zip(&*change).for_each(|(own, change)| *own = own.wrapping_sub(*change));
    }
}

/// One of the lines.
#[inline(always)]
fn line(lines: &[i32], wide: usize, k: usize) -> &[i32] {
    &lines[k * wide..(k + 1) * wide]
}

/// A part of what was taken, 2⁻¹⁶.
#[inline(always)]
fn part(taken: i32, weight: i32, heavy: bool) -> i32 {
    if heavy { mul_q16(taken, weight as u32) } else { taken.wrapping_mul(weight) >> 16 }
}

/// Takes so many times a part of what was taken away.
#[inline(always)]
fn lose(column: &mut [i32], taken: &[i32], weight: i32, count: i32, heavy: bool) {
    for (column, taken) in column.iter_mut().zip(taken) {
        *column = column.wrapping_sub(part(*taken, weight, heavy).wrapping_mul(count));
    }
}

/// Adds the parts of what was taken in two rows.
#[inline(always)]
fn draw(column: &mut [i32], north: &[i32], south: &[i32], weight: i32, heavy: bool) {
    for (column, (north, south)) in column.iter_mut().zip(north.iter().zip(south)) {
        *column = column.wrapping_add(part(*north, weight, heavy)).wrapping_add(part(*south, weight, heavy));
    }
}

/// Takes away what comes of gifts in three rows.
#[inline(always)]
fn spread_column(column: &mut [i32], [north, here, south]: [&[i32]; 3], of: impl Fn(i32, i32, i32) -> i32) {
    for (column, ((north, here), south)) in column.iter_mut().zip(north.iter().zip(here).zip(south)) {
        *column = column.wrapping_sub(of(*north, *here, *south));
    }
}

/// Adds what lies `dx` columns to the west and to the east.
#[inline(always)]
fn beside(change: &mut [i32], column: &[i32], halo: usize, dx: usize) {
    let n = change.len();
    let sides = column[halo - dx..halo - dx + n].iter().zip(&column[halo + dx..halo + dx + n]);
    for (change, (west, east)) in change.iter_mut().zip(sides) {
        *change = change.wrapping_add(*west).wrapping_add(*east);
    }
}

/// What of a gift `g` at one vertex comes to the vertex at (dx, dy) from it. The binomial kernel has 8/64 and 8/128, which leave
/// nothing of the ripple of two cells.
#[inline(always)]
fn spread(g: i32, dx: i32, dy: i32) -> i32 {
    let part = g.wrapping_mul(7);
    match (dx, dy) {
        (0, 0) => g.wrapping_sub((part >> 7) << 2).wrapping_sub((part >> 6) << 2),
        (0, _) | (_, 0) => part >> 6,
        _ => part >> 7,
    }
}

/// What of `n` at one vertex comes to the vertex at (dx, dy) from it by the binomial kernel.
#[inline(always)]
fn binomial(n: i32, dx: i32, dy: i32) -> i32 {
    match (dx, dy) {
        (0, 0) => n.wrapping_sub((n >> 4) << 2).wrapping_sub((n >> 3) << 2),
        (0, _) | (_, 0) => n >> 3,
        _ => n >> 4,
    }
}

fn limit(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let cells = call.range.start as usize..call.range.end as usize;
    let first = cells.start / w;
    let [grant, want, moved] = call.owns else { return };
    let [.., asked, stirred] = *call.touched else { return };
    let spans = || asked.within(cells.clone(), WANT_WORDS).map(|span| span.start - cells.start..span.end - cells.start);
    let mut scratch = vec![0i32; 2 * (w + 2)];
    if spans().map(|span| span.len()).sum::<usize>() * 4 > cells.len() {
        let rows = grant.chunks_exact_mut(w).zip(want.chunks_exact(w * WANT_WORDS));
        rows.enumerate().for_each(|(i, (grant, want))| limit_row(p, first + i, grant, want, call.reads, &mut scratch));
    } else {
        for span in spans() {
            occupied::<WANT_WORDS>(want, span, |i| {
                let (row, x) = (i / w, i % w);
                let (grant, want) = (&mut grant[row * w..], &want[row * w * WANT_WORDS..]);
                limit_cells(p, first + row, x..x + 1, grant, want, call.reads, &mut scratch);
            });
        }
    }
    for span in spans() {
        for want in want[span.start * WANT_WORDS..span.end * WANT_WORDS].chunks_exact_mut(WANT_WORDS) {
            want[0] = 0;
            want[1] = 0;
        }
    }
    for span in stirred.within(cells.clone(), MOVED_WORDS) {
        moved[(span.start - cells.start) * MOVED_WORDS..(span.end - cells.start) * MOVED_WORDS].fill(0);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn limit_row(p: &Params, y: usize, grant: &mut [i32], want: &[i32], reads: &[&[i32]], scratch: &mut [i32]) {
    limit_cells(p, y, 0..p.width as usize, grant, want, reads, scratch);
}

/// Limits what is wanted in a part of a row.
#[inline(always)]
fn limit_cells(p: &Params, y: usize, span: Range<usize>, grant: &mut [i32], want: &[i32], reads: &[&[i32]], scratch: &mut [i32]) {
    let &[height, soft, ledger] = reads else { return };
    let (w, n) = (p.width as usize, span.len());
    let torus = p.border == TORUS;
    let row = |dy: i32| {
        let at = fold(y as i32 + dy, p.height, torus) as usize * w;
        &height[at..at + w]
    };
    let (north, here, south) = (row(-1), row(0), row(1));
    // Lowest and highest of three in a column; one column more to each side.
    let (low, high) = scratch.split_at_mut(w + 2);
    let columns = [north, here, south].map(|row| &row[span.clone()]);
    for i in 0..n {
        let column = columns.map(|row| row[i]);
        low[i + 1] = column[0].min(column[1]).min(column[2]);
        high[i + 1] = column[0].max(column[1]).max(column[2]);
    }
    for (i, x) in [(0, span.start as i32 - 1), (n + 1, span.end as i32)] {
        let x = fold(x, p.width, torus) as usize;
        low[i] = north[x].min(here[x]).min(south[x]);
        high[i] = north[x].max(here[x]).max(south[x]);
    }
    let (low, high, here, grant) = (&low[..n + 2], &high[..n + 2], &here[span.clone()], &mut grant[span.clone()]);
    let want = &want[span.start * WANT_WORDS..span.end * WANT_WORDS];
    for (x, want) in want.chunks_exact(WANT_WORDS).enumerate() {
        let lowest = low[x].min(low[x + 1]).min(low[x + 2]);
        let highest = high[x].max(high[x + 1]).max(high[x + 2]);
        let (fall, rise) = (room(here[x], lowest), room(highest, here[x]));
        let shares = (share(p, fall, want[0]) | (share(p, rise, want[1]) << 16)) as i32;
        grant[x] = if want[0] | want[1] != 0 { shares } else { grant[x] };
    }
    if p.flags & (SOFT | SEDIMENT | FLOOR) == 0 {
        return;
    }
    let below = if p.flags & FLOOR != 0 { lowest_round(p, y, span.clone(), height) } else { vec![] };
    for (x, (grant, want)) in grant.iter_mut().zip(want.chunks_exact(WANT_WORDS)).enumerate() {
        if want[0] | want[1] == 0 {
            continue;
        }
        let mut fall = room(here[x], low[x].min(low[x + 1]).min(low[x + 2]));
        if p.flags & FLOOR != 0 {
            fall = fall.min(above_floor(p, below[x]));
        }
        let i = y * w + span.start + x;
        let asked = want[0].min(mul_q16(fall, p.limit).min(ALLOW_MAX) >> p.want_shift);
        let ease = ease(p, if p.flags & SOFT != 0 { soft[i] as u32 } else { 0 }, asked, || ledger[i * LEDGER_WORDS + 1]);
        *grant = (((share(p, fall, want[0]) * ease) >> 15) | (*grant as u32 & 0xffff_0000)) as i32;
    }
}

/// The lowest height within the brush of each cell of a part of a row.
fn lowest_round(p: &Params, y: usize, span: Range<usize>, height: &[i32]) -> Vec<i32> {
    let (r, torus) = (p.radius, p.border == TORUS);
    let mut column = vec![i32::MAX; span.len() + 2 * r as usize];
    for dy in -r..=r {
        let row = &height[(fold(y as i32 + dy, p.height, torus) * p.width) as usize..];
        for (low, x) in column.iter_mut().zip(span.start as i32 - r..) {
            *low = (*low).min(row[fold(x, p.width, torus) as usize]);
        }
    }
    column.windows(2 * r as usize + 1).map(|window| window.iter().copied().min().unwrap_or(i32::MAX)).collect()
}

/// How far the lowest height within the brush lies above the floor, less what integer remainders may take: whole 2⁻¹⁶ cells.
#[inline(always)]
fn above_floor(p: &Params, lowest: i32) -> i32 {
    let taps = 2 * p.radius + 1;
    room(lowest, p.floor).wrapping_sub(taps * taps).max(0)
}

/// How readily a vertex gives what is asked of it (2⁻¹⁶ cells, shortened), 2⁻¹⁵: of the loose sediment first.
#[inline(always)]
fn ease(p: &Params, soft: u32, asked: i32, loose: impl Fn() -> i32) -> u32 {
    let (rock, loose_ease) = if p.flags & SOFT != 0 { (soft & 0xffff, soft >> 16) } else { (WHOLE, WHOLE) };
    if p.flags & SEDIMENT == 0 {
        return rock;
    }
    let thick = (loose() >> 2) >> p.want_shift;
    if thick >= asked {
        return loose_ease;
    }
    let part = div_small((thick as u32) << 15, asked as u32);
    (loose_ease * part + rock * (WHOLE - part)) >> 15
}

fn soften(call: &mut Call) {
    let p: &Params = call.params();
    let &[hardness, vegetation] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        // A layer that is not there is a single 0.
        let at = |layer: &[i32]| if layer.len() > 1 { layer[i as usize].clamp(0, 65536) } else { 0 };
        *own = softness(p, at(hardness), at(vegetation)) as i32;
    }
}

/// How readily bedrock (low half) and loose sediment (high half) give way, 2⁻¹⁵ each.
#[inline(always)]
fn softness(p: &Params, hardness: i32, vegetation: i32) -> u32 {
    let held = 65536 - mul_q16(vegetation, p.roots);
    let rock = mul_q16(mul_q16(held, (65536 - hardness) as u32), p.bedrock);
    (rock as u32 >> 1) | (held as u32 >> 1) << 16
}

fn remember(call: &mut Call) {
    let range = call.range.start as usize..call.range.end as usize;
    call.owns[0].copy_from_slice(&call.reads[0][range]);
}

fn differ(call: &mut Call) {
    let range = call.range.start as usize..call.range.end as usize;
    let (now, before) = (&call.reads[0][range.clone()], &call.reads[1][range]);
    call.owns[0].iter_mut().zip(now.iter().zip(before)).for_each(|(own, (now, before))| *own = now.wrapping_sub(*before));
}

fn smoothen(call: &mut Call) {
    let p: &Params = call.params();
    let torus = p.border == TORUS;
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) = (i as i32 % p.width, i as i32 / p.width);
        let mut sum = 0i32;
        for dy in -1..=1 {
            let row = fold(y + dy, p.height, torus) * p.width;
            for dx in -1..=1 {
                sum = sum.wrapping_add(binomial(call.reads[0][(row + fold(x + dx, p.width, torus)) as usize], dx, dy));
            }
        }
        *own = sum;
    }
}

fn apply(call: &mut Call) {
    let range = call.range.start as usize..call.range.end as usize;
    let (before, delta) = (&call.reads[0][range.clone()], &call.reads[1][range]);
    call.owns[0].iter_mut().zip(before.iter().zip(delta)).for_each(|(own, (before, delta))| *own = before.wrapping_add(*delta));
}

fn tally(call: &mut Call) {
    let first = call.range.start as usize * WANT_WORDS;
    for (own, want) in call.owns[0].iter_mut().zip(call.reads[0][first..].chunks_exact(WANT_WORDS)) {
        *own = want[2];
    }
}

/// How far it is down from `high` to `low`, in whole 2⁻¹⁶ cells: never more than it is.
#[inline(always)]
pub fn room(high: i32, low: i32) -> i32 {
    (high >> 1).wrapping_sub(low.wrapping_add(1) >> 1).max(0) >> 1
}

/// The part of `want` (shortened by `want_shift` bits) that may be had where the ground falls or rises by `room`, in 2⁻¹⁵.
#[inline(always)]
pub fn share(p: &Params, room: i32, want: i32) -> u32 {
    let allow = (mul_q16(room, p.limit).min(ALLOW_MAX) >> p.want_shift) as u32;
    let part = div_small(allow << 15, want.max(1) as u32);
    if want as u32 <= allow { WHOLE } else { part }
}
