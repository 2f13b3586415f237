//! Hydraulic erosion by droplets that all take one step together.
//!
//! # Rule
//! Each droplet lives `lifetime` steps and then lays down what it carries. One step is three passes.
//!
//! 1. `drops` (scatter). A droplet takes the granted part of what it proposed in the step before into its load, or lays it
//!    down. Then, on the frozen `height` h, at its position p, with g the bilinear gradient, u its heading (a unit vector),
//!    s its speed, w the water of its age, l its load:
//!    - u′ = unit(u · inertia − g · (1 − inertia)), a random direction where that is nothing; p′ = p + u′: always one cell;
//!    - d = h(p′) − h(p);
//!    - uphill (d ≥ 0): it proposes to give min(l, d) at the vertex nearest p, to fill the pit;
//!    - downhill: c = max(−d, `slope_min`) · s · w · `capacity`; it proposes to give (l − c) · `deposition` if l > c, else to
//!      take min((c − l) · `erosion`, −d);
//!    - s′ = √max(0, s² − d · `gravity`); w of age a is (1 − `evaporation`)ᵃ, fading to nothing in the last quarter of life.
//! 2. `settle` (gather). height += spread(give) − brush(take). Spread is the binomial 3 × 3 kernel; brush is a cone of
//!    `radius`; integer remainders stay on the centre cell; at the borders both are folded back.
//! 3. `limit` (gather). A vertex gives up at most `limit` times the drop to the lowest of its eight neighbours in a step, and
//!    receives at most `limit` times the rise to the highest, and never more than one cell. When it was asked for more, each
//!    asker gets the same share.
//!
//! Rounding: floor everywhere but in bilinear weights (nearest).
//!
//! # Shape
//! Reads and writes `height` (row-major, y south). Droplets start in home blocks of b × b cells, one each, at a random place
//! of it by hash of (block, life), the ages of neighbours spread evenly. Blocks lie on world coordinates.
//!
//! # Units
//! Heights 2⁻¹⁸ cells; slopes and proposals 2⁻¹⁶; positions 2⁻¹⁶ cells; heading 2⁻¹⁴; speed 2⁻¹⁰; fractions 2⁻¹⁶.
//!
//! # Limits
//! Slopes count as 64 cells a cell at most, drops of one step as 16 cells, speed as 32, a proposal as half a cell. A load is
//! limited to what cannot overflow where the largest possible number of droplets meets ([`Derived::load_max`]).
//!
//! # Reach
//! About steps · max(radius, (radius + 4) / 2) cells: see [`reach`].
//!
//! # Keeps
//! Σ height + Σ load + Σ exported is constant to the unit after every step.
//!
//! # Differs
//! From Beyer: all droplets step together on a frozen surface, so a limit replaces the order in which they would have seen
//! each other's work; erosion and deposition are centred on vertices; droplets fade out before they die; proposals below
//! 2⁻¹⁶ cells are not made.
//!
//! # Source
//! H. T. Beyer, *Implementation of a method for hydraulic erosion*, 2015; I. van der Veen, *Hydraulic erosion*, 2024 (the
//! article whose constants the `article` preset holds).
//!
//! # Costs
//! Per droplet and step: 8 height reads, 1 grant read, 3 additions. Per cell and step: 5 passes' worth of words read, 5
//! written. Memory: 28 bytes a cell and 20 a droplet.

use super::{Case, Stage, Surface};
use crate::params::{Kind, Param, Settings, Value};
use crate::plan::{Adder, Apart, Buffer, Call, Fill, Kernel, Pass, Plan, Site, Window};
use crate::spec::{self, HEIGHT_BITS, SLOPE_MAX, div_small, fold, hash, isqrt, lerp, mix, mul_q16};
use bytemuck::{Pod, Zeroable};
use multiversion::multiversion;
use std::sync::Arc;

/// Homes on a side of a tile of droplets. Droplets are stored by tile, so that neighbours in memory are neighbours on the map.
const TILE: u32 = 32;
/// Droplets in a tile.
const TILE_DROPS: usize = (TILE * TILE) as usize;
/// Words that a droplet has: x, y, heading (two i16), load, and speed beside proposal (two i16).
const DROP_WORDS: usize = 5;
/// The x of a droplet that is not there.
const NOWHERE: i32 = i32::MIN;
/// Fastest speed, 2⁻¹⁰ cells a step.
const SPEED_MAX: i32 = 32767;
/// Largest drop in one step that the law of capacity sees, 2⁻¹⁶ cells.
const DROP_MAX: i32 = 1 << 20;
/// Largest proposal, 2⁻¹⁶ cells.
const WANT_MAX: i32 = 32767;
/// Share of a proposal that means all of it.
const WHOLE: u32 = 32768;
/// Most that a vertex may give or receive in one step, 2⁻¹⁶ cells.
const ALLOW_MAX: i32 = 65535;
/// Most droplets of one row of homes whose last step can coincide within reach of one vertex; see [`phase`].
const SAME_PHASE: u64 = 8;
/// Lives of a droplet in one run.
const LIVES_MAX: i64 = 511;

const OPEN: u32 = 0;
const TORUS: u32 = 1;
const WALL: u32 = 2;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "droplets",
    about: "Hydraulic erosion by droplets.",
    makes: false,
    params: PARAMS,
    shader: include_str!("../../shaders/droplets.wgsl"),
    kernels: &[&DROPS, &SETTLE, &LIMIT],
    maps: &[("flow", "droplets that passed, counted once a step")],
    check,
    plan,
    reach: |s| reach(Derived::of(s).steps, s.number("radius")),
    derived: |s, site| {
        let d = Derived::of(s);
        serde_json::json!({
            "steps": d.steps, "lives": d.lives, "block_cells": d.block,
            "density": 1.0 / (d.block * d.block) as f64, "rain": d.lives as f64 / (d.block * d.block) as f64,
            "droplets": Homes::of(&site.window, d.block).count(), "load_max_cells": d.load_max(site) as f64 / spec::CELL as f64,
        })
    },
    work: Some("flow"),
    cases,
};

const PARAMS: &[Param] = &[
    Param {
        name: "rain",
        unit: "droplets a cell",
        kind: Kind::Number { min: 0.0, max: 511.0, default: 2.0 },
        doc: "Droplets that fall on a cell over the whole run. Rounded to whole lives of all droplets, at least one.",
    },
    Param {
        name: "density",
        unit: "droplets a cell",
        kind: Kind::Number { min: 0.00390625, max: 1.0, default: 0.25 },
        doc: "Droplets on a cell at one time, rounded to 1, 1/4, 1/9 … 1/256. More is rougher and takes fewer steps: steps = rain · lifetime / density.",
    },
    Param {
        name: "lifetime",
        unit: "steps",
        kind: Kind::Integer { min: 2, max: 4096, default: 64 },
        doc: "Steps that a droplet lives, a cell of way each.",
    },
    Param {
        name: "inertia",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.3 },
        doc: "0: a droplet turns down the slope at once; 1: it never turns.",
    },
    Param {
        name: "capacity",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 16.0, default: 4.0 },
        doc: "Sediment that a droplet can carry, in cells of height, at slope 1, speed 1 and full water.",
    },
    Param {
        name: "slope_min",
        unit: "rise per cell",
        kind: Kind::Number { min: 0.0, max: 16.0, default: 0.01 },
        doc: "Downhill slopes count as at least this steep for the capacity.",
    },
    Param {
        name: "erosion",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.1 },
        doc: "Part of its free capacity that a droplet tries to fill in a step.",
    },
    Param {
        name: "deposition",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.1 },
        doc: "Part of what it has too much that a droplet tries to lay down in a step.",
    },
    Param {
        name: "evaporation",
        unit: "a step",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.02 },
        doc: "Part of its water that a droplet loses in a step.",
    },
    Param {
        name: "gravity",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 16.0, default: 4.0 },
        doc: "Gain of speed squared for a cell of drop.",
    },
    Param {
        name: "radius",
        unit: "cells",
        kind: Kind::Number { min: 1.0, max: 16.0, default: 3.0 },
        doc: "Radius of the cone over which what a droplet takes is spread.",
    },
    Param {
        name: "limit",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.25 },
        doc: "Part of the drop to its lowest neighbour that a vertex may lose in a step, and of the rise to its highest that it may gain.",
    },
    Param {
        name: "border",
        unit: "",
        kind: Kind::Choice(&["open", "torus", "wall"]),
        doc: "open: droplets leave the map with what they carry; torus: they come in on the other side; wall: they stay and lay it down.",
    },
];

fn check(s: &Settings, _: &Site) -> Result<(), String> {
    let d = Derived::of(s);
    if d.lives > LIVES_MAX {
        let density = 1.0 / (d.block * d.block) as f64;
        return Err(format!(
            "rain = {} at density = {density} is {} lives of each droplet: allowed 1 to {LIVES_MAX}; lower rain to {} or raise density",
            s.number("rain"),
            d.lives,
            LIVES_MAX as f64 * density
        ));
    }
    Ok(())
}

/// What follows from the settings.
#[derive(Clone, Copy, Debug)]
pub struct Derived {
    /// Side of a home block, cells.
    pub block: u32,
    /// Lives of each droplet.
    pub lives: i64,
    /// Steps a life.
    pub lifetime: u32,
    /// Steps of the run.
    pub steps: u32,
}

impl Derived {
    /// Derives.
    pub fn of(s: &Settings) -> Self {
        let block = (1.0 / s.number("density").sqrt()).round() as u32;
        let lives = ((s.number("rain") * (block * block) as f64).round() as i64).max(1);
        let lifetime = s.integer("lifetime") as u32;
        Self { block, lives, lifetime, steps: (lives * lifetime as i64).min(i32::MAX as i64) as u32 }
    }

    /// Rows of homes from which a droplet can come to one vertex.
    fn rows_in_reach(&self) -> u64 {
        2 * (self.lifetime as u64 + 1) / self.block as u64 + 3
    }

    /// Droplets that can meet at one vertex.
    fn crowd(&self, site: &Site) -> u64 {
        (self.rows_in_reach() * self.rows_in_reach()).min(Homes::of(&site.window, self.block).count())
    }

    /// Largest load, in height units: 64 cells, or what cannot overflow if all droplets whose lives end in the same step
    /// within reach of one vertex end there.
    pub fn load_max(&self, site: &Site) -> i32 {
        let ending = (SAME_PHASE * self.rows_in_reach()).min(self.crowd(site));
        (((1u64 << 30) / ending.max(1)).min(64 << HEIGHT_BITS) as i32) & !3
    }

    /// Bits by which proposals are shortened before they are summed, so that the sum cannot overflow.
    fn want_shift(&self, site: &Site) -> u32 {
        (0..16).find(|&s| self.crowd(site) * ((WANT_MAX as u64 >> s) + 1) < 1 << 31).unwrap_or(15)
    }
}

/// Cells of halo that a run depends on: how far a change of one height can have come after so many steps.
///
/// In half cells, a step spreads what differs like this: a droplet differs if it read a height that does (up to 2 cells off)
/// or was granted another share at its last vertex (½ + 1 cells back), and it walks 1 cell; it takes at the vertex it came
/// from (1½ cells), the brush carries that on by its taps; a share differs next to a height that does.
pub fn reach(steps: u32, radius: f64) -> u64 {
    let taps = 2 * (radius.ceil() as u64 - 1).max(1);
    // Differing heights, droplets and shares; nothing differs yet but one height.
    let (mut height, mut drop, mut share) = (0u64, None::<u64>, None::<u64>);
    for _ in 0..steps {
        let taken = share.max(drop.map(|d| d + 3));
        let met = Some(height + 4).max(share.map(|s| s + 5));
        let asked = (height + 5).max(drop.map_or(0, |d| d + 1));
        height = height.max(taken.map_or(0, |t| t + taps));
        share = Some(asked.max(height + 2));
        drop = met.max(drop.map(|d| d + 2));
    }
    height.div_ceil(2)
}

/// The home blocks that touch a window.
#[derive(Clone, Copy, Debug)]
struct Homes {
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

/// The uniform struct of every pass of this stage.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Params {
    first: u32,
    count: u32,
    width: i32,
    height: i32,
    key: [u32; 2],
    home: [u32; 2],
    homes: [u32; 2],
    corner: [i32; 2],
    tiles_wide: u32,
    block: u32,
    step: u32,
    step_rest: u32,
    step_life: u32,
    lifetime: u32,
    rains: u32,
    border: u32,
    inertia: u32,
    deposition: u32,
    erosion: u32,
    gravity: i32,
    slope_min: i32,
    load_max: i32,
    want_shift: u32,
    limit: u32,
    radius: i32,
}

static DROPS: Kernel = Kernel {
    entry: "drops",
    reads: &["height", "grant", "water"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["take", "give", "want_take", "want_give", "flow", "exported"],
    cpu: drops,
};

static SETTLE: Kernel =
    Kernel { entry: "settle", reads: &["take", "give", "brush"], owns: &[("height", 1)], adds: &[], cpu: settle };

static LIMIT: Kernel = Kernel {
    entry: "limit",
    reads: &["height"],
    owns: &[("grant", 1), ("want_take", 1), ("want_give", 1), ("take", 1), ("give", 1)],
    adds: &[],
    cpu: limit,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let d = Derived::of(s);
    let homes = Homes::of(&site.window, d.block);
    let cells = site.window.cells();
    let tiles = homes.tiles[0] as usize * homes.tiles[1] as usize;
    let map = |name, keep| Buffer { name, words: cells, fill: Fill::Word(0), keep };
    let q16 = |name: &str| (s.number(name) * 65536.0).round() as u32;
    let mut buffers = vec![Buffer { name: "height", words: cells, fill: Fill::Keep, keep: true }, map("flow", true)];
    // A map of one row or column has no cell of four corners, so nothing can flow on it.
    if site.window.width < 2 || site.window.height < 2 {
        return Plan { shader: STAGE.shader, buffers, passes: vec![] };
    }
    let radius = s.number("radius").ceil() as i32 - 1;
    let mut fade = Vec::with_capacity(d.lifetime as usize);
    let mut left = 65536u32;
    for age in 0..d.lifetime {
        let quarter = (d.lifetime / 4).max(1);
        let tail = 65536 / quarter * (d.lifetime - age).min(quarter);
        // Water and capacity together, so that one product serves: 1 stands for a capacity of 16.
        let carry = mul_q16(mul_q16(left as i32, tail.min(65536)), (s.number("capacity") / 16.0 * 65536.0).round() as u32);
        fade.push(carry);
        left = mul_q16(left as i32, 65536 - q16("evaporation")) as u32;
    }
    let mut drop = vec![0; 0];
    drop.resize(tiles * TILE_DROPS * DROP_WORDS, 0);
    for tile in drop.chunks_exact_mut(TILE_DROPS * DROP_WORDS) {
        tile[..TILE_DROPS].fill(NOWHERE);
    }
    buffers.extend([
        map("take", false),
        map("give", false),
        map("want_take", false),
        map("want_give", false),
        map("grant", false),
        Buffer { name: "drop", words: drop.len(), fill: Fill::Words(drop), keep: false },
        Buffer { name: "exported", words: tiles * 2, fill: Fill::Word(0), keep: false },
        Buffer { name: "water", words: fade.len(), fill: Fill::Words(fade), keep: false },
        Buffer {
            name: "brush",
            words: ((2 * radius + 1) * (2 * radius + 1)) as usize,
            fill: Fill::Words(brush(s.number("radius"))),
            keep: false,
        },
    ]);
    let base = Params {
        first: 0,
        count: 0,
        width: site.window.width as i32,
        height: site.window.height as i32,
        key: spec::key(site.seed, 0),
        home: homes.first.map(|f| f as u32),
        homes: [homes.wide, homes.high],
        corner: homes.corner,
        tiles_wide: homes.tiles[0],
        block: d.block,
        step: 0,
        step_rest: 0,
        step_life: 0,
        lifetime: d.lifetime,
        rains: 0,
        border: match s.word("border") {
            "torus" => TORUS,
            "wall" => WALL,
            _ => OPEN,
        },
        inertia: q16("inertia"),
        deposition: q16("deposition"),
        erosion: q16("erosion"),
        gravity: (s.number("gravity") * 16.0).round() as i32,
        slope_min: q16("slope_min") as i32,
        load_max: d.load_max(site),
        want_shift: d.want_shift(site),
        limit: q16("limit"),
        radius,
    };
    let apart = Arc::new(apart(&homes, &d, base.border == TORUS));
    let mut passes = Vec::with_capacity(d.steps as usize * 3);
    for step in 0..d.steps {
        let params = Params {
            step,
            step_rest: step % d.lifetime,
            step_life: step / d.lifetime,
            // The last birth leaves time for a whole life: nobody is on the way when the run ends.
            rains: (step + d.lifetime <= d.steps) as u32,
            ..base
        };
        let words = |count: u32| bytemuck::cast_slice(&[Params { count, ..params }]).to_vec();
        let drops = (tiles * TILE_DROPS) as u32;
        passes.push(Pass {
            kernel: &DROPS,
            params: words(drops),
            count: drops,
            granule: TILE_DROPS as u32,
            apart: Some(apart.clone()),
            swap: None,
        });
        let row = site.window.width;
        passes.push(Pass {
            kernel: &SETTLE,
            params: words(cells as u32),
            count: cells as u32,
            granule: row,
            apart: None,
            swap: None,
        });
        passes.push(Pass {
            kernel: &LIMIT,
            params: words(cells as u32),
            count: cells as u32,
            granule: row,
            apart: None,
            swap: None,
        });
    }
    Plan { shader: STAGE.shader, buffers, passes }
}

/// The erosion brush: max(0, radius − distance), in 2⁻¹⁶ of its sum, rounded down; the centre's word holds nothing, since the
/// centre gets the rest.
fn brush(radius: f64) -> Vec<i32> {
    let r = radius.ceil() as i32 - 1;
    let cone = |x: i32, y: i32| (radius - ((x * x + y * y) as f64).sqrt()).max(0.0);
    let places = || (-r..=r).flat_map(|y| (-r..=r).map(move |x| (x, y)));
    let sum: f64 = places().map(|(x, y)| cone(x, y)).sum();
    places().map(|(x, y)| if (x, y) == (0, 0) { 0 } else { (cone(x, y) / sum * 65536.0) as i32 }).collect()
}

/// Squares of tiles in four colours, those of one colour farther from each other than two droplets can walk.
fn apart(homes: &Homes, d: &Derived, torus: bool) -> Apart {
    let walk = d.lifetime + 2;
    let side = (2 * walk).div_ceil(TILE * d.block).max(1);
    let squares = homes.tiles.map(|t| t.div_ceil(side));
    // On the torus the last square is a neighbour of the first and may be narrow: the last two have colours of their own.
    let colour = |i: u32, n: u32| if torus && n > 1 && i + 2 >= n { 4 + i - n } else { i % 2 };
    let mut rounds: Apart = vec![vec![]; 16];
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
fn row_phase(key: [u32; 2], hy: u32) -> u32 {
    mix(hy ^ key[1])
}

/// The age at step 0 of the droplet of column `hx`, in 0..lifetime.
///
/// Ages follow the golden ratio along a row, so that the births and deaths of neighbours are spread evenly over time: of any
/// 2 · lifetime + 5 neighbours at most eight die in the same step (three-distance theorem), which bounds what can be laid
/// down on one vertex at once.
#[inline(always)]
fn phase(row: u32, hx: u32, lifetime: u32) -> u32 {
    ((row.wrapping_add(hx.wrapping_mul(0x9e37_79b9)) >> 16) * lifetime) >> 16
}

/// Bilinear gradient of the square with corners h00 h10 / h01 h11 at (fx, fy), 2⁻¹⁶ cells a cell.
#[inline(always)]
fn gradient(h: [i32; 4], fx: u32, fy: u32) -> [i32; 2] {
    let h = h.map(|h| h >> 2);
    let slope = |a: i32, b: i32| b.wrapping_sub(a).clamp(-SLOPE_MAX, SLOPE_MAX);
    [lerp(slope(h[0], h[1]), slope(h[2], h[3]), fy), lerp(slope(h[0], h[2]), slope(h[1], h[3]), fx)]
}

/// Bilinear height, 2⁻¹⁶ cells.
#[inline(always)]
fn height_at(h: [i32; 4], fx: u32, fy: u32) -> i32 {
    let h = h.map(|h| h >> 2);
    lerp(lerp(h[0], h[1], fx), lerp(h[2], h[3], fx), fy)
}

/// Heading before it is made a unit vector, 2⁻¹⁶.
#[inline(always)]
fn turn(heading: [i32; 2], gradient: [i32; 2], inertia: u32) -> [i32; 2] {
    let axis = |u: i32, g: i32| spec::mul_q16_near(u << 2, inertia).wrapping_sub(spec::mul_q16_near(g, 65536 - inertia));
    [axis(heading[0], gradient[0]), axis(heading[1], gradient[1])]
}

/// A direction without preference: each axis a sum of four bytes, which is nearly Gaussian and so nearly round.
#[inline(always)]
fn wander(home: u32, step: u32) -> [i32; 2] {
    let x = mix(home ^ step.wrapping_mul(0x85eb_ca6b).wrapping_add(1));
    let y = mix(x.wrapping_add(0x9e37_79b9));
    let sum = |r: u32| ((r & 255) + ((r >> 8) & 255) + ((r >> 16) & 255) + (r >> 24)) as i32 - 510;
    let (x, y) = (sum(x), sum(y));
    [if x == 0 && y == 0 { 1 } else { x }, y]
}

/// What a droplet proposes (2⁻¹⁶ cells; positive: to take, negative: to give) and its speed after a change of height by `d`.
#[inline(always)]
fn weigh(p: &Params, d: i32, load: i32, speed: i32, carry: i32) -> [i32; 2] {
    let drop = d.wrapping_neg().clamp(0, DROP_MAX);
    let steep = drop.max(p.slope_min);
    let capacity = (mul_q16(mul_q16(steep << 8, carry as u32), speed as u32) << 2).min(p.load_max >> 2) << 2;
    let room = capacity.wrapping_sub(load);
    let take = mul_q16(room.max(0), p.erosion).min(drop << 2);
    let surplus = mul_q16(room.wrapping_neg().max(0), p.deposition);
    let fill = load.min(d.clamp(0, DROP_MAX) << 2);
    let give = if d >= 0 { fill } else { surplus };
    let take = if d >= 0 { 0 } else { take };
    let want = (take >> 2).min(WANT_MAX).wrapping_sub((give >> 2).min(WANT_MAX));
    let energy = speed.wrapping_mul(speed).wrapping_sub(d.clamp(-DROP_MAX, DROP_MAX).wrapping_mul(p.gravity));
    [want, isqrt(energy.clamp(0, SPEED_MAX * SPEED_MAX) as u32) as i32]
}

/// Cells that are next to each other on the torus or the plain.
#[inline(always)]
fn corners(height: &[i32], w: i32, h: i32, x: i32, y: i32) -> [i32; 4] {
    let (x0, y0) = (x >> 16, y >> 16);
    let at = (y0 * w + x0) as usize;
    if x0 + 1 < w && y0 + 1 < h {
        let (top, low) = (&height[at..at + 2], &height[at + w as usize..at + w as usize + 2]);
        [top[0], top[1], low[0], low[1]]
    } else {
        // Only on the torus.
        let (x1, y1) = ((x0 + 1) % w, (y0 + 1) % h);
        [height[at], height[(y0 * w + x1) as usize], height[(y1 * w + x0) as usize], height[(y1 * w + x1) as usize]]
    }
}

/// The vertex nearest to a position.
#[inline(always)]
fn vertex(p: &Params, x: i32, y: i32) -> usize {
    let (mut vx, mut vy) = ((x + 0x8000) >> 16, (y + 0x8000) >> 16);
    if vx >= p.width {
        vx -= p.width;
    }
    if vy >= p.height {
        vy -= p.height;
    }
    (vy * p.width + vx) as usize
}

fn drops(call: &mut Call) {
    let p: &Params = bytemuck::from_bytes(bytemuck::cast_slice(call.params));
    let start = call.range.start / TILE_DROPS as u32;
    for (i, tile) in call.owns[0].chunks_exact_mut(TILE_DROPS * DROP_WORDS).enumerate() {
        if call.adds[0].is_alone() {
            drops_tile::<true>(p, start + i as u32, tile, call.reads, call.adds);
        } else {
            drops_tile::<false>(p, start + i as u32, tile, call.reads, call.adds);
        }
    }
}

/// Droplets that go through the arithmetic together: one AVX-512 register of words.
const LANES: usize = 16;

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn drops_tile<const ALONE: bool>(p: &Params, tile: u32, own: &mut [i32], reads: &[&[i32]], adds: &[Adder]) {
    let &[height, grant, water] = reads else { return };
    let &[take, give, want_take, want_give, flow, exported] = adds else { return };
    let (xs, own) = own.split_at_mut(TILE_DROPS);
    let (ys, own) = own.split_at_mut(TILE_DROPS);
    let (headings, own) = own.split_at_mut(TILE_DROPS);
    let (loads, paces) = own.split_at_mut(TILE_DROPS);
    let origin = [tile % p.tiles_wide * TILE, tile / p.tiles_wide * TILE];
    let (span_x, span_y) =
        if p.border == TORUS { (p.width << 16, p.height << 16) } else { ((p.width - 1) << 16, (p.height - 1) << 16) };

    for base in (0..TILE_DROPS).step_by(LANES) {
        let row = origin[1] + base as u32 / TILE;
        let column = origin[0] + base as u32 % TILE;
        if row >= p.homes[1] || column >= p.homes[0] {
            continue;
        }
        let hy = p.home[1].wrapping_add(row);
        let row_phase = row_phase(p.key, hy);
        let lanes = base..base + LANES;
        let (xs, ys) = (&mut xs[lanes.clone()], &mut ys[lanes.clone()]);
        let (headings, loads, paces) = (&mut headings[lanes.clone()], &mut loads[lanes.clone()], &mut paces[lanes]);
        let mut x = [0i32; LANES];
        let mut y = [0i32; LANES];
        let mut heading = [[0i32; LANES]; 2];
        let mut load = [0i32; LANES];
        let mut speed = [0i32; LANES];
        let mut want = [0i32; LANES];
        let mut age = [0u32; LANES];
        let mut life = [0u32; LANES];
        for l in 0..LANES {
            let a = p.step_rest + phase(row_phase, p.home[0].wrapping_add(column + l as u32), p.lifetime);
            let over = a >= p.lifetime;
            age[l] = if over { a - p.lifetime } else { a };
            life[l] = p.step_life + over as u32;
            x[l] = xs[l];
            y[l] = ys[l];
            heading[0][l] = (headings[l] << 16) >> 16;
            heading[1][l] = headings[l] >> 16;
            load[l] = loads[l];
            speed[l] = paces[l] >> 16;
            want[l] = (paces[l] << 16) >> 16;
        }

        // What was granted of the last proposal; deaths; births.
        for l in 0..LANES {
            if x[l] != NOWHERE && want[l] != 0 {
                let mut before = [x[l] - (heading[0][l] << 2), y[l] - (heading[1][l] << 2)];
                if p.border == TORUS {
                    before = [wrap(before[0], span_x), wrap(before[1], span_y)];
                }
                let at = vertex(p, before[0], before[1]);
                let share = grant[at] as u32;
                if want[l] > 0 {
                    let got = (want[l] * (share & 0xffff) as i32) >> 13;
                    load[l] += got;
                    take.add::<ALONE>(at, got);
                } else {
                    let laid = (-want[l] * (share >> 16) as i32) >> 13;
                    load[l] -= laid;
                    give.add::<ALONE>(at, laid);
                }
                want[l] = 0;
            }
            if x[l] != NOWHERE && age[l] == p.lifetime - 1 {
                // Laid down through the brush, which is wide: no bump.
                take.add::<ALONE>(vertex(p, x[l], y[l]), load[l].wrapping_neg());
                load[l] = 0;
                x[l] = NOWHERE;
            }
            let born = p.rains == 1 && (age[l] == 0 || p.step == 0) && age[l] != p.lifetime - 1;
            if born && column + (l as u32) < p.homes[0] {
                let hx = p.home[0].wrapping_add(column + l as u32);
                let place = mix(hash(p.key, hx, hy).wrapping_add(life[l].wrapping_mul(0x9e37_79b9)));
                let corner = [p.corner[0] + ((column + l as u32) * p.block) as i32, p.corner[1] + (row * p.block) as i32];
                let sx = (corner[0] << 16) + ((place & 0xffff) * p.block) as i32;
                let sy = (corner[1] << 16) + ((place >> 16) * p.block) as i32;
                if sx >= 0 && sy >= 0 && sx < span_x && sy < span_y {
                    (x[l], y[l]) = (sx, sy);
                    (heading[0][l], heading[1][l]) = (0, 0);
                    speed[l] = 1 << 10;
                }
            }
        }

        // Turn and move.
        let mut alive = [false; LANES];
        let mut from = [0i32; LANES];
        let mut corner = [[0i32; 4]; LANES];
        let mut any = false;
        for l in 0..LANES {
            alive[l] = x[l] != NOWHERE;
            any |= alive[l];
            if alive[l] {
                corner[l] = corners(height, p.width, p.height, x[l], y[l]);
            }
        }
        let (mut nx, mut ny) = ([0i32; LANES], [0i32; LANES]);
        if any {
            let mut wish = [[0i32; LANES]; 2];
            let mut flat = false;
            for l in 0..LANES {
                let (fx, fy) = ((x[l] & 0xffff) as u32, (y[l] & 0xffff) as u32);
                from[l] = height_at(corner[l], fx, fy);
                let g = gradient(corner[l], fx, fy);
                let t = turn([heading[0][l], heading[1][l]], g, p.inertia);
                (wish[0][l], wish[1][l]) = (t[0], t[1]);
                flat |= alive[l] & (t[0] | t[1] == 0);
            }
            if flat {
                for l in 0..LANES {
                    if alive[l] && wish[0][l] | wish[1][l] == 0 {
                        let home = hash(p.key, p.home[0].wrapping_add(column + l as u32), hy);
                        let t = wander(home, p.step);
                        (wish[0][l], wish[1][l]) = (t[0], t[1]);
                    }
                }
            }
            for l in 0..LANES {
                let u = spec::unit(wish[0][l], wish[1][l]);
                (heading[0][l], heading[1][l]) = (u[0], u[1]);
                nx[l] = x[l].wrapping_add(u[0] << 2);
                ny[l] = y[l].wrapping_add(u[1] << 2);
            }
            // Counted and, at the border, stopped or lost.
            for l in 0..LANES {
                if !alive[l] {
                    continue;
                }
                flow.add::<ALONE>(vertex(p, x[l], y[l]), 1);
                if nx[l] as u32 >= span_x as u32 || ny[l] as u32 >= span_y as u32 {
                    match p.border {
                        TORUS => (nx[l], ny[l]) = (wrap(nx[l], span_x), wrap(ny[l], span_y)),
                        WALL => {
                            (nx[l], ny[l]) = (x[l], y[l]);
                            (heading[0][l], heading[1][l]) = (0, 0);
                        }
                        _ => {
                            exported.add::<ALONE>(tile as usize * 2, load[l] & 0xfff);
                            exported.add::<ALONE>(tile as usize * 2 + 1, load[l] >> 12);
                            load[l] = 0;
                            x[l] = NOWHERE;
                            alive[l] = false;
                        }
                    }
                }
                if alive[l] {
                    corner[l] = corners(height, p.width, p.height, nx[l], ny[l]);
                }
            }
            // What it would like.
            let mut carry = [0i32; LANES];
            for l in 0..LANES {
                carry[l] = water[age[l] as usize];
            }
            for l in 0..LANES {
                let to = height_at(corner[l], (nx[l] & 0xffff) as u32, (ny[l] & 0xffff) as u32);
                let [w, s] = weigh(p, to.wrapping_sub(from[l]), load[l], speed[l], carry[l]);
                want[l] = w;
                speed[l] = s;
            }
            let round_up = (1 << p.want_shift) - 1;
            for l in 0..LANES {
                if !alive[l] {
                    want[l] = 0;
                } else if want[l] > 0 {
                    want_take.add::<ALONE>(vertex(p, x[l], y[l]), (want[l] + round_up) >> p.want_shift);
                } else if want[l] < 0 {
                    want_give.add::<ALONE>(vertex(p, x[l], y[l]), (-want[l] + round_up) >> p.want_shift);
                }
            }
        }
        for l in 0..LANES {
            xs[l] = if alive[l] { nx[l] } else { NOWHERE };
            ys[l] = if alive[l] { ny[l] } else { 0 };
            headings[l] = if alive[l] { (heading[0][l] & 0xffff) | (heading[1][l] << 16) } else { 0 };
            loads[l] = if alive[l] { load[l] } else { 0 };
            paces[l] = if alive[l] { (speed[l] << 16) | (want[l] & 0xffff) } else { 0 };
        }
    }
}

#[inline(always)]
fn wrap(x: i32, span: i32) -> i32 {
    if x < 0 {
        x + span
    } else if x >= span {
        x - span
    } else {
        x
    }
}

/// Cells that `settle` works on at a time: their sums stay in registers.
const BLOCK: usize = 64;

fn settle(call: &mut Call) {
    let p: &Params = bytemuck::from_bytes(bytemuck::cast_slice(call.params));
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    for (i, row) in call.owns[0].chunks_exact_mut(w).enumerate() {
        settle_row(p, first + i, row, call.reads);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn settle_row(p: &Params, y: usize, own: &mut [i32], reads: &[&[i32]]) {
    let &[take, give, brush] = reads else { return };
    let (w, r) = (p.width as usize, p.radius as usize);
    let torus = p.border == TORUS;
    let side = 2 * r + 1;
    let line = |dy: i32| fold(y as i32 + dy, p.height, torus) as usize * w;
    let halo = r.max(1);
    // Columns next to the border look across it.
    let edge = |own: &mut [i32], x: usize| {
        let mut sum = 0i32;
        for dy in -(r as i32)..=r as i32 {
            let row = line(dy);
            for dx in -(r as i32)..=r as i32 {
                let weight = brush[((dy + r as i32) as usize) * side + (dx + r as i32) as usize] as u32;
                let t = take[row + fold(x as i32 + dx, p.width, torus) as usize];
                sum = sum.wrapping_sub(mul_q16(t, weight));
            }
        }
        for dy in -1..=1 {
            let row = line(dy);
            for dx in -1..=1i32 {
                let g = give[row + fold(x as i32 + dx, p.width, torus) as usize];
                sum = sum.wrapping_add(spread(g, dx, dy));
            }
        }
        let at = y * w + x;
        let mut rest = take[at];
        for &weight in brush {
            rest = rest.wrapping_sub(mul_q16(take[at], weight as u32));
        }
        own[x] = own[x].wrapping_add(sum).wrapping_sub(rest);
    };
    if w <= 2 * halo {
        for x in 0..w {
            edge(own, x);
        }
        return;
    }
    for x in (0..halo).chain(w - halo..w) {
        edge(own, x);
    }
    let mut x = halo;
    while x < w - halo {
        let n = BLOCK.min(w - halo - x);
        if n == BLOCK {
            let mut sum = [0i32; BLOCK];
            // The products fit 32 bits unless somebody laid down a heavy load here.
            let mut bits = 0u32;
            for dy in -(r as i32)..=r as i32 {
                let row = line(dy) + x;
                for &t in &take[row - r..row + BLOCK + r] {
                    bits |= t.unsigned_abs();
                }
            }
            if bits != 0 {
                let wide = bits >= 1 << 15;
                for dy in -(r as i32)..=r as i32 {
                    let row = line(dy) + x;
                    for dx in 0..side {
                        let weight = brush[((dy + r as i32) as usize) * side + dx];
                        if weight == 0 {
                            continue;
                        }
                        let t: &[i32; BLOCK] = take[row + dx - r..][..BLOCK].try_into().unwrap_or(&[0; BLOCK]);
                        if wide && (bits as u64) * (weight as u64) >= 1 << 31 {
                            for i in 0..BLOCK {
                                sum[i] = sum[i].wrapping_sub(mul_q16(t[i], weight as u32));
                            }
                        } else {
                            for i in 0..BLOCK {
                                sum[i] = sum[i].wrapping_sub(t[i].wrapping_mul(weight) >> 16);
                            }
                        }
                    }
                }
                let t: &[i32; BLOCK] = take[y * w + x..][..BLOCK].try_into().unwrap_or(&[0; BLOCK]);
                let mut rest = *t;
                for &weight in brush {
                    for i in 0..BLOCK {
                        rest[i] = rest[i].wrapping_sub(mul_q16(t[i], weight as u32));
                    }
                }
                for i in 0..BLOCK {
                    sum[i] = sum[i].wrapping_sub(rest[i]);
                }
            }
            for dy in -1..=1 {
                let row = line(dy) + x;
                for dx in -1..=1i32 {
                    let g: &[i32; BLOCK] = give[(row as i32 + dx) as usize..][..BLOCK].try_into().unwrap_or(&[0; BLOCK]);
                    for i in 0..BLOCK {
                        sum[i] = sum[i].wrapping_add(spread(g[i], dx, dy));
                    }
                }
            }
            for i in 0..BLOCK {
                own[x + i] = own[x + i].wrapping_add(sum[i]);
            }
        } else {
            for x in x..x + n {
                edge(own, x);
            }
        }
        x += n;
    }
}

/// What of a gift `g` at one vertex comes to the vertex at (dx, dy) from it.
#[inline(always)]
fn spread(g: i32, dx: i32, dy: i32) -> i32 {
    match (dx, dy) {
        (0, 0) => g.wrapping_sub((g >> 4) << 2).wrapping_sub((g >> 3) << 2),
        (0, _) | (_, 0) => g >> 3,
        _ => g >> 4,
    }
}

fn limit(call: &mut Call) {
    let p: &Params = bytemuck::from_bytes(bytemuck::cast_slice(call.params));
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let [grant, want_take, want_give, take, give] = call.owns else { return };
    let mut scratch = vec![0i32; 2 * (w + 2)];
    for (i, row) in grant.chunks_exact_mut(w).enumerate() {
        let words = i * w..(i + 1) * w;
        let own = [&mut want_take[words.clone()], &mut want_give[words.clone()], &mut take[words.clone()], &mut give[words]];
        limit_row(p, first + i, row, own, call.reads[0], &mut scratch);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn limit_row(p: &Params, y: usize, grant: &mut [i32], own: [&mut [i32]; 4], height: &[i32], scratch: &mut [i32]) {
    let w = p.width as usize;
    let torus = p.border == TORUS;
    let row = |dy: i32| {
        let at = fold(y as i32 + dy, p.height, torus) as usize * w;
        &height[at..at + w]
    };
    let (north, here, south) = (row(-1), row(0), row(1));
    let (low, high) = scratch.split_at_mut(w + 2);
    for x in 0..w {
        low[x + 1] = north[x].min(here[x]).min(south[x]);
        high[x + 1] = north[x].max(here[x]).max(south[x]);
    }
    let (left, right) = if torus { (w, 1) } else { (1, w) };
    (low[0], high[0]) = (low[left], high[left]);
    (low[w + 1], high[w + 1]) = (low[right], high[right]);
    let [want_take, want_give, take, give] = own;
    let (want_take, want_give, take, give) = (&mut want_take[..w], &mut want_give[..w], &mut take[..w], &mut give[..w]);
    let (low, high, here, grant) = (&low[..w + 2], &high[..w + 2], &here[..w], &mut grant[..w]);
    for x in 0..w {
        let lowest = low[x].min(low[x + 1]).min(low[x + 2]);
        let highest = high[x].max(high[x + 1]).max(high[x + 2]);
        let fall = (here[x] >> 2).wrapping_sub(lowest >> 2);
        let rise = (highest >> 2).wrapping_sub(here[x] >> 2);
        grant[x] = (share(p, fall, want_take[x]) | (share(p, rise, want_give[x]) << 16)) as i32;
        want_take[x] = 0;
        want_give[x] = 0;
        take[x] = 0;
        give[x] = 0;
    }
}

/// The part of `want` (shortened by `want_shift` bits) that may be had where the ground falls or rises by `room`, in 2⁻¹⁵.
#[inline(always)]
fn share(p: &Params, room: i32, want: i32) -> u32 {
    let allow = (mul_q16(room, p.limit).min(ALLOW_MAX) >> p.want_shift) as u32;
    let part = div_small(allow << 15, want.max(1) as u32);
    if want as u32 <= allow { WHOLE } else { part }
}

fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let brief = vec![("lifetime", i(12)), ("rain", n(1.0))];
    let with = |more: Vec<(&'static str, Value)>| [brief.clone(), more].concat();
    vec![
        Case { name: "default", settings: brief.clone(), window: window(0, 0, 96, 80), surface: Surface::Hills },
        Case { name: "dense", settings: with(vec![("density", n(1.0))]), window: window(-7, 5, 97, 61), surface: Surface::Hills },
        Case {
            name: "ninth",
            settings: with(vec![("density", n(0.11))]),
            window: window(100, -100, 67, 130),
            surface: Surface::Cone,
        },
        Case {
            name: "torus",
            settings: with(vec![("border", word("torus"))]),
            window: window(0, 0, 64, 48),
            surface: Surface::Valley,
        },
        Case {
            name: "wall",
            settings: with(vec![("border", word("wall"))]),
            window: window(0, 0, 50, 41),
            surface: Surface::Valley,
        },
        Case { name: "flat", settings: with(vec![("slope_min", n(0.5))]), window: window(0, 0, 40, 40), surface: Surface::Flat },
        Case {
            name: "wild",
            settings: with(vec![
                ("density", n(1.0)),
                ("capacity", n(16.0)),
                ("erosion", n(1.0)),
                ("deposition", n(1.0)),
                ("limit", n(1.0)),
                ("gravity", n(16.0)),
                ("radius", n(6.5)),
                ("evaporation", n(0.0)),
            ]),
            window: window(1 << 40, -(1 << 33), 73, 59),
            surface: Surface::Noise,
        },
        Case {
            name: "point",
            settings: with(vec![("radius", n(1.0)), ("inertia", n(0.9))]),
            window: window(3, 3, 33, 17),
            surface: Surface::Hills,
        },
        Case { name: "tiny", settings: with(vec![("density", n(1.0))]), window: window(0, 0, 2, 3), surface: Surface::Noise },
    ]
}
