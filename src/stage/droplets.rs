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
//!    - s′ = √max(0, s² − d · `gravity`); w of age a is (1 − `evaporation`)ᵃ, fading to nothing in the last quarter of life,
//!      in which at least 1 / (steps left) of what is too much is laid down.
//! 2. `settle` (gather). height += spread(give) − brush(take). Spread is the binomial 3 × 3 kernel; brush is nearly a cone
//!    of `radius` (see `brush`); integer remainders stay on the centre cell; at the borders both are folded back.
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
//! limited to what cannot overflow where the largest possible number of droplets meets ([`Derived::load_max`]). A run has at
//! most 2¹⁸ steps and a droplet 511 lives. Heights stay in the range they came from, but for what is laid down on a vertex,
//! and for what a brush wider than a vertex takes from the floor of a pit while it digs the banks (a few cells at worst).
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
use crate::plan::{Adder, Apart, Buffer, Call, Fill, Kernel, Layers, Pass, Plan, Site, Window};
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
/// Words of a vertex's record of what droplets want of it: sum of what they would take, of what they would give (2⁻¹⁶ cells,
/// shortened), and how many have passed since the run began. Side by side, so that a droplet touches one cache line.
const WANT_WORDS: usize = 3;
/// Words of a vertex's record of what was granted in this step, in height units: taken, given.
const MOVED_WORDS: usize = 2;
/// The x of a droplet that is not there. Every x is stored with the bits of this flipped, so that zeroed memory holds no
/// droplets.
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
/// Lives of a droplet in one run: bounds what one tile can export.
const LIVES_MAX: i64 = 511;
/// Steps of one run: bounds the memory of a plan.
const STEPS_MAX: i64 = 1 << 18;

const OPEN: u32 = 0;
const TORUS: u32 = 1;
const WALL: u32 = 2;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "droplets",
    about: "Hydraulic erosion by droplets.",
    makes: false,
    nests: false,
    hosts: true,
    layers: |_| Layers::default(),
    params: PARAMS,
    shader: include_str!("../../shaders/droplets.wgsl"),
    kernels: &[&DROPS, &SETTLE, &LIMIT, &TALLY],
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
        kind: Kind::Number { min: 0.0, max: 511.0, default: 1.0 },
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
        kind: Kind::Integer { min: 2, max: 4096, default: 128 },
        doc: "Steps that a droplet lives, a cell of way each.",
    },
    Param {
        name: "inertia",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.1 },
        doc: "0: a droplet turns down the slope at once; 1: it never turns.",
    },
    Param {
        name: "capacity",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 16.0, default: 2.0 },
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
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.05 },
        doc: "Part of its free capacity that a droplet tries to fill in a step.",
    },
    Param {
        name: "deposition",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.02 },
        doc: "Part of what it has too much that a droplet tries to lay down in a step.",
    },
    Param {
        name: "evaporation",
        unit: "a step",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.005 },
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
        doc: "Radius of the near-cone over which what a droplet takes is spread.",
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
    if d.lives * d.lifetime as i64 > STEPS_MAX {
        return Err(format!(
            "rain · lifetime / density = {} · {} steps: allowed up to {STEPS_MAX}; lower rain or lifetime, or raise density",
            d.lives, d.lifetime
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
        Self { block, lives, lifetime, steps: (lives * lifetime as i64).min(STEPS_MAX) as u32 }
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
    let taps = 2 * taps(radius).max(1) as u64;
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
    adds: &["moved", "want", "exported"],
    cpu: drops,
};

static SETTLE: Kernel = Kernel { entry: "settle", reads: &["moved", "brush"], owns: &[("height", 1)], adds: &[], cpu: settle };

static LIMIT: Kernel = Kernel {
    entry: "limit",
    reads: &["height"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit,
};

static TALLY: Kernel = Kernel { entry: "tally", reads: &["want"], owns: &[("grant", 1)], adds: &[], cpu: tally };

fn plan(s: &Settings, site: &Site) -> Plan {
    let d = Derived::of(s);
    let homes = Homes::of(&site.window, d.block);
    let cells = site.window.cells();
    let tiles = homes.tiles[0] as usize * homes.tiles[1] as usize;
    let map = |name, each, keep| Buffer { name, words: cells * each, fill: Fill::Word(0), keep };
    let q16 = |name: &str| (s.number(name) * 65536.0).round() as u32;
    // Shares lie in `grant` until the last step is done, then the count of passages: one buffer less.
    let height = Buffer { name: "height", words: cells, fill: Fill::Keep, keep: Some("height") };
    let mut buffers = vec![height, map("grant", 1, Some("flow"))];
    // A map of one row or column has no cell of four corners, so nothing can flow on it.
    if site.window.width < 2 || site.window.height < 2 {
        return Plan { shader: STAGE.shader, buffers, passes: vec![], steps: vec![] };
    }
    let radius = taps(s.number("radius"));
    let quarter = (d.lifetime / 4).max(1);
    let mut by_age = Vec::with_capacity(2 * d.lifetime as usize);
    let mut left = 65536u32;
    for age in 0..d.lifetime {
        let rest = d.lifetime - age;
        let fade = 65536 / quarter * rest.min(quarter);
        // Water and capacity together, so that one product serves: 1 stands for a capacity of 16.
        by_age.push(mul_q16(mul_q16(left as i32, fade.min(65536)), (s.number("capacity") / 16.0 * 65536.0).round() as u32));
        // In the last quarter of life at least the share that leaves nothing for the end.
        by_age.push(if rest <= quarter { q16("deposition").max(65536 / rest) } else { q16("deposition") } as i32);
        left = mul_q16(left as i32, 65536 - q16("evaporation")) as u32;
    }
    let list = |name, words: Vec<i32>| Buffer { name, words: words.len(), fill: Fill::Words(words), keep: None };
    buffers.extend([
        map("moved", MOVED_WORDS, None),
        map("want", WANT_WORDS, None),
        Buffer { name: "drop", words: tiles * TILE_DROPS * DROP_WORDS, fill: Fill::Word(0), keep: None },
        Buffer { name: "exported", words: tiles * 2, fill: Fill::Word(0), keep: None },
        list("water", by_age),
        list("brush", brush(s.number("radius"))),
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
        erosion: q16("erosion"),
        gravity: (s.number("gravity") * 16.0).round() as i32,
        slope_min: q16("slope_min") as i32,
        load_max: d.load_max(site),
        want_shift: d.want_shift(site),
        limit: q16("limit"),
        radius,
    };
    let apart = Arc::new(apart(&homes, &d, base.border == TORUS));
    let mut passes = Vec::with_capacity(d.steps as usize * 3 + 1);
    let pass = |kernel, params: &Params, count: usize, granule, apart| {
        let params = bytemuck::cast_slice(&[Params { count: count as u32, ..*params }]).to_vec();
        Pass { kernel, shader: None, params, count: count as u32, granule, apart, swap: None }
    };
    let row = site.window.width;
    for step in 0..d.steps {
        let params = Params {
            step,
            step_rest: step % d.lifetime,
            step_life: step / d.lifetime,
            // The last birth leaves time for a whole life: nobody is on the way when the run ends.
            rains: (step + d.lifetime <= d.steps) as u32,
            ..base
        };
        passes.push(pass(&DROPS, &params, tiles * TILE_DROPS, TILE_DROPS as u32, Some(apart.clone())));
        passes.push(pass(&SETTLE, &params, cells, row, None));
        passes.push(pass(&LIMIT, &params, cells, row, None));
    }
    passes.push(pass(&TALLY, &base, cells, row, None));
    let steps = (1..=d.steps as usize).map(|n| 3 * n).collect();
    Plan { shader: STAGE.shader, buffers, passes, steps }
}

/// Cells that the brush reaches to each side.
fn taps(radius: f64) -> i32 {
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
    square(2 * r).map(|(x, y)| if (x, y) == (0, 0) { 0 } else { (spread(x, y) / (sum * sum) * 65536.0) as i32 }).collect()
}

/// Squares of tiles in four colours, those of one colour farther from each other than two droplets can walk.
fn apart(homes: &Homes, d: &Derived, torus: bool) -> Apart {
    let walk = d.lifetime + 2;
    let least = (2 * walk).div_ceil(TILE * d.block).max(1);
    // A power of two of squares along the longer axis, so that they are of one size and colours have equal work.
    let longer = homes.tiles[0].max(homes.tiles[1]);
    let side = longer.div_ceil(1 << (longer / least).max(1).ilog2());
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
fn weigh(p: &Params, d: i32, load: i32, speed: i32, carry: i32, lay: i32) -> [i32; 2] {
    let drop = d.wrapping_neg().clamp(0, DROP_MAX);
    let steep = drop.max(p.slope_min);
    let capacity = (mul_q16(mul_q16(steep << 8, carry as u32), speed as u32) << 2).min(p.load_max >> 2) << 2;
    let room = capacity.wrapping_sub(load);
    let take = mul_q16(room.max(0), p.erosion).min(drop << 2);
    let surplus = mul_q16(room.wrapping_neg().max(0), lay as u32);
    let fill = load.min(d.clamp(0, DROP_MAX) << 2);
    let give = if d >= 0 { fill } else { surplus };
    let take = if d >= 0 { 0 } else { take };
    let want = (take >> 2).min(WANT_MAX).wrapping_sub((give >> 2).min(WANT_MAX));
    let energy = speed.wrapping_mul(speed).wrapping_sub(d.clamp(-DROP_MAX, DROP_MAX).wrapping_mul(p.gravity));
    [want, isqrt(energy.clamp(0, SPEED_MAX * SPEED_MAX) as u32) as i32]
}

/// The heights round each position, of which the square's last column or row may lie across the torus's border.
#[inline(always)]
fn corners(p: &Params, height: &[i32], x: &[i32; BATCH], y: &[i32; BATCH], corner: &mut [[i32; BATCH]; 4]) {
    let (w, h) = (p.width, p.height);
    let [c0, c1, c2, c3] = corner;
    if p.border == TORUS {
        for l in 0..BATCH {
            let (x0, y0) = (x[l] >> 16, y[l] >> 16);
            let (x1, y1) = ((x0 + 1) % w, (y0 + 1) % h);
            c0[l] = height[(y0 * w + x0) as usize];
            c1[l] = height[(y0 * w + x1) as usize];
            c2[l] = height[(y1 * w + x0) as usize];
            c3[l] = height[(y1 * w + x1) as usize];
        }
        return;
    }
    let mut at = [0u32; BATCH];
    for l in 0..BATCH {
        at[l] = (y[l] >> 16).wrapping_mul(w).wrapping_add(x[l] >> 16) as u32;
    }
    let w = w as usize;
    for l in 0..BATCH {
        let near = &height[at[l] as usize..][..w + 2];
        c0[l] = near[0];
        c1[l] = near[1];
        c2[l] = near[w];
        c3[l] = near[w + 1];
    }
}

/// The number of the vertex nearest to a position.
#[inline(always)]
fn vertex(p: &Params, x: i32, y: i32) -> i32 {
    let (vx, vy) = ((x.wrapping_add(0x8000)) >> 16, (y.wrapping_add(0x8000)) >> 16);
    // Beyond the last column or row only on the torus.
    let vx = if vx >= p.width { vx - p.width } else { vx };
    let vy = if vy >= p.height { vy - p.height } else { vy };
    vy.wrapping_mul(p.width).wrapping_add(vx)
}

#[inline(always)]
fn wrap(x: i32, span: i32) -> i32 {
    let x = if x < 0 { x.wrapping_add(span) } else { x };
    if x >= span { x.wrapping_sub(span) } else { x }
}

fn drops(call: &mut Call) {
    let p: &Params = bytemuck::from_bytes(bytemuck::cast_slice(call.params));
    let start = call.range.start / TILE_DROPS as u32;
    let mut batch = Box::new(Batch::zeroed());
    for (i, tile) in call.owns[0].chunks_exact_mut(TILE_DROPS * DROP_WORDS).enumerate() {
        if call.adds[0].is_alone() {
            drops_tile::<true>(p, start + i as u32, tile, call.reads, call.adds, &mut batch);
        } else {
            drops_tile::<false>(p, start + i as u32, tile, call.reads, call.adds, &mut batch);
        }
    }
}

/// Droplets that go through a step together. Each field is an array, and each part of the step a loop of its own, so that
/// arithmetic fills vector registers and the loops that touch the map have many accesses under way at once.
const BATCH: usize = 128;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Batch {
    x: [i32; BATCH],
    y: [i32; BATCH],
    ux: [i32; BATCH],
    uy: [i32; BATCH],
    load: [i32; BATCH],
    speed: [i32; BATCH],
    want: [i32; BATCH],
    age: [i32; BATCH],
    /// −1 for a droplet on the map, else 0.
    alive: [i32; BATCH],
    at: [i32; BATCH],
    corner: [[i32; BATCH]; 4],
    from: [i32; BATCH],
    to_x: [i32; BATCH],
    to_y: [i32; BATCH],
    carry: [i32; BATCH],
    lay: [i32; BATCH],
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn drops_tile<const ALONE: bool>(p: &Params, tile: u32, own: &mut [i32], reads: &[&[i32]], adds: &[Adder], b: &mut Batch) {
    let &[height, grant, water] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    let (xs, own) = own.split_at_mut(TILE_DROPS);
    let (ys, own) = own.split_at_mut(TILE_DROPS);
    let (headings, own) = own.split_at_mut(TILE_DROPS);
    let (loads, paces) = own.split_at_mut(TILE_DROPS);
    let origin = [tile % p.tiles_wide * TILE, tile / p.tiles_wide * TILE];
    let torus = p.border == TORUS;
    let (span_x, span_y) = if torus { (p.width << 16, p.height << 16) } else { ((p.width - 1) << 16, (p.height - 1) << 16) };
    let last_age = p.lifetime as i32 - 1;

    for base in (0..TILE_DROPS).step_by(BATCH) {
        let place = |l: usize| (origin[0] + (base + l) as u32 % TILE, origin[1] + (base + l) as u32 / TILE);
        if origin[1] + base as u32 / TILE >= p.homes[1] {
            break;
        }
        let lanes = base..base + BATCH;
        let (xs, ys) = (&mut xs[lanes.clone()], &mut ys[lanes.clone()]);
        let (headings, loads, paces) = (&mut headings[lanes.clone()], &mut loads[lanes.clone()], &mut paces[lanes]);

        // Unpack; where each proposed in the step before.
        for row in 0..BATCH / TILE as usize {
            let (column, y) = place(row * TILE as usize);
            let row_phase = row_phase(p.key, p.home[1].wrapping_add(y));
            for i in 0..TILE as usize {
                let a = p.step_rest + phase(row_phase, p.home[0].wrapping_add(column + i as u32), p.lifetime);
                b.age[row * TILE as usize + i] = if a >= p.lifetime { a - p.lifetime } else { a } as i32;
            }
        }
        for l in 0..BATCH {
            b.x[l] = xs[l] ^ NOWHERE;
            b.y[l] = ys[l];
            b.ux[l] = (headings[l] << 16) >> 16;
            b.uy[l] = headings[l] >> 16;
            b.load[l] = loads[l];
            b.speed[l] = paces[l] >> 16;
            b.want[l] = (paces[l] << 16) >> 16;
            let (x, y) = (b.x[l].wrapping_sub(b.ux[l] << 2), b.y[l].wrapping_sub(b.uy[l] << 2));
            let (x, y) = if torus { (wrap(x, span_x), wrap(y, span_y)) } else { (x, y) };
            b.at[l] = vertex(p, x, y);
        }

        // What was granted of it.
        for l in 0..BATCH {
            if b.want[l] != 0 {
                let giving = (b.want[l] < 0) as usize;
                let share = (grant[b.at[l] as usize] as u32 >> (16 * giving)) & 0xffff;
                let amount = (b.want[l].abs() * share as i32) >> 13;
                b.load[l] += if giving == 1 { -amount } else { amount };
                moved.add::<ALONE>(b.at[l] as usize * MOVED_WORDS + giving, amount);
            }
        }

        // Deaths and births.
        for l in 0..BATCH {
            if b.age[l] == last_age {
                if b.x[l] != NOWHERE {
                    // Laid down through the brush, which is wide: no bump.
                    moved.add::<ALONE>(vertex(p, b.x[l], b.y[l]) as usize * MOVED_WORDS, -b.load[l]);
                    b.load[l] = 0;
                    b.x[l] = NOWHERE;
                }
            } else if p.rains == 1 && (b.age[l] == 0 || p.step == 0) {
                let (column, row) = place(l);
                let (hx, hy) = (p.home[0].wrapping_add(column), p.home[1].wrapping_add(row));
                let over = p.step_rest + phase(row_phase(p.key, hy), hx, p.lifetime) >= p.lifetime;
                let life = p.step_life + over as u32;
                let spot = mix(hash(p.key, hx, hy).wrapping_add(life.wrapping_mul(0x9e37_79b9)));
                let corner = [p.corner[0] + (column * p.block) as i32, p.corner[1] + (row * p.block) as i32];
                let x = (corner[0] << 16).wrapping_add(((spot & 0xffff) * p.block) as i32);
                let y = (corner[1] << 16).wrapping_add(((spot >> 16) * p.block) as i32);
                let home = column < p.homes[0] && row < p.homes[1];
                if home && x >= 0 && y >= 0 && x < span_x && y < span_y {
                    (b.x[l], b.y[l]) = (x, y);
                    (b.ux[l], b.uy[l]) = (0, 0);
                    b.speed[l] = 1 << 10;
                }
            }
        }

        // Turn and move.
        for l in 0..BATCH {
            b.alive[l] = -((b.x[l] != NOWHERE) as i32);
            b.x[l] &= b.alive[l];
            b.y[l] &= b.alive[l];
            b.at[l] = vertex(p, b.x[l], b.y[l]);
        }
        corners(p, height, &b.x, &b.y, &mut b.corner);
        let mut flat = 0;
        for l in 0..BATCH {
            let (fx, fy) = ((b.x[l] & 0xffff) as u32, (b.y[l] & 0xffff) as u32);
            let c = [b.corner[0][l], b.corner[1][l], b.corner[2][l], b.corner[3][l]];
            b.from[l] = height_at(c, fx, fy);
            let t = turn([b.ux[l], b.uy[l]], gradient(c, fx, fy), p.inertia);
            (b.ux[l], b.uy[l]) = (t[0], t[1]);
            flat |= (t[0] | t[1] == 0) as i32;
        }
        if flat != 0 {
            for l in 0..BATCH {
                if b.ux[l] | b.uy[l] == 0 {
                    let (column, row) = place(l);
                    let home = hash(p.key, p.home[0].wrapping_add(column), p.home[1].wrapping_add(row));
                    let t = wander(home, p.step);
                    (b.ux[l], b.uy[l]) = (t[0], t[1]);
                }
            }
        }
        let mut out = 0;
        for l in 0..BATCH {
            let u = spec::unit(b.ux[l], b.uy[l]);
            (b.ux[l], b.uy[l]) = (u[0], u[1]);
            b.to_x[l] = b.x[l].wrapping_add(u[0] << 2) & b.alive[l];
            b.to_y[l] = b.y[l].wrapping_add(u[1] << 2) & b.alive[l];
            out |= (b.to_x[l] as u32 >= span_x as u32) as i32 | (b.to_y[l] as u32 >= span_y as u32) as i32;
        }
        // At the border: round the torus, stopped, or lost.
        if out != 0 {
            for l in 0..BATCH {
                if (b.to_x[l] as u32) < span_x as u32 && (b.to_y[l] as u32) < span_y as u32 {
                    continue;
                }
                match p.border {
                    TORUS => (b.to_x[l], b.to_y[l]) = (wrap(b.to_x[l], span_x), wrap(b.to_y[l], span_y)),
                    WALL => {
                        (b.to_x[l], b.to_y[l]) = (b.x[l], b.y[l]);
                        (b.ux[l], b.uy[l]) = (0, 0);
                    }
                    _ => {
                        exported.add::<ALONE>(tile as usize * 2, b.load[l] & 0xfff);
                        exported.add::<ALONE>(tile as usize * 2 + 1, b.load[l] >> 12);
                        wanted.add::<ALONE>(b.at[l] as usize * WANT_WORDS + 2, 1);
                        (b.to_x[l], b.to_y[l], b.alive[l]) = (0, 0, 0);
                    }
                }
            }
        }

        // What each would like.
        corners(p, height, &b.to_x, &b.to_y, &mut b.corner);
        for l in 0..BATCH {
            b.carry[l] = water[2 * b.age[l] as usize];
            b.lay[l] = water[2 * b.age[l] as usize + 1];
        }
        for l in 0..BATCH {
            let c = [b.corner[0][l], b.corner[1][l], b.corner[2][l], b.corner[3][l]];
            let to = height_at(c, (b.to_x[l] & 0xffff) as u32, (b.to_y[l] & 0xffff) as u32);
            let [want, speed] = weigh(p, to.wrapping_sub(b.from[l]), b.load[l], b.speed[l], b.carry[l], b.lay[l]);
            b.want[l] = want & b.alive[l];
            b.speed[l] = speed;
        }
        let round_up = (1 << p.want_shift) - 1;
        for l in 0..BATCH {
            if b.alive[l] != 0 {
                let at = b.at[l] as usize * WANT_WORDS;
                wanted.add::<ALONE>(at + (b.want[l] < 0) as usize, (b.want[l].abs() + round_up) >> p.want_shift);
                wanted.add::<ALONE>(at + 2, 1);
            }
        }
        for l in 0..BATCH {
            let alive = b.alive[l];
            xs[l] = if alive != 0 { b.to_x[l] ^ NOWHERE } else { 0 };
            ys[l] = b.to_y[l] & alive;
            headings[l] = ((b.ux[l] & 0xffff) | (b.uy[l] << 16)) & alive;
            loads[l] = b.load[l] & alive;
            paces[l] = ((b.speed[l] << 16) | (b.want[l] & 0xffff)) & alive;
        }
    }
}

/// Cells that `settle` works on at a time: their sums stay in registers.
const BLOCK: usize = 64;
/// Rows that `settle` takes apart at a time: what was taken and given there stays in the nearest caches.
const ROWS: usize = 16;

fn settle(call: &mut Call) {
    let p: &Params = bytemuck::from_bytes(bytemuck::cast_slice(call.params));
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let mut lines = vec![];
    for (i, rows) in call.owns[0].chunks_mut(ROWS * w).enumerate() {
        settle_rows(p, first + i * ROWS, rows, call.reads, &mut lines);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn settle_rows(p: &Params, first: usize, own: &mut [i32], reads: &[&[i32]], lines: &mut Vec<i32>) {
    let &[moved, brush] = reads else { return };
    let (w, r) = (p.width as usize, p.radius as usize);
    let torus = p.border == TORUS;
    let halo = r.max(1);
    let side = 2 * r + 1;
    let count = own.len() / w;
    // Lines of what was taken and what was given, folded out beyond the borders: no cell is a special case.
    let wide = w.next_multiple_of(BLOCK) + 2 * halo;
    lines.clear();
    lines.resize(2 * (count + 2 * halo) * wide, 0);
    let (taken, given) = lines.split_at_mut((count + 2 * halo) * wide);
    let mut large = vec![0u32; count + 2 * halo];
    for k in 0..count + 2 * halo {
        let y = fold(first as i32 + k as i32 - halo as i32, p.height, torus) as usize;
        let row = &moved[y * w * MOVED_WORDS..(y + 1) * w * MOVED_WORDS];
        let (taken, given) = (&mut taken[k * wide..(k + 1) * wide], &mut given[k * wide..(k + 1) * wide]);
        let mut bits = 0;
        for ((pair, t), g) in row.chunks_exact(2).zip(&mut taken[halo..halo + w]).zip(&mut given[halo..halo + w]) {
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
        large[k] = bits;
    }
    let heaviest = brush.iter().copied().max().unwrap_or(0) as u64;
    // Few weights differ, because the brush is the same in eight directions.
    let mut weights: Vec<(i32, i32)> = vec![];
    for &weight in brush.iter().filter(|w| **w != 0) {
        match weights.iter_mut().find(|(w, _)| *w == weight) {
            Some((_, count)) => *count += 1,
            None => weights.push((weight, 1)),
        }
    }
    for (j, own) in own.chunks_exact_mut(w).enumerate() {
        let bits = large[j..j + 2 * halo + 1].iter().fold(0, |all, b| all | b);
        if bits == 0 {
            continue;
        }
        // The products fit 32 bits unless somebody laid down a heavy load here.
        let heavy = bits as u64 * heaviest >= 1 << 31;
        for (n, own) in own.chunks_mut(BLOCK).enumerate() {
            let x = n * BLOCK;
            let block = |plane: &[i32], dx: usize, dy: usize| -> [i32; BLOCK] {
                let at = (j + dy) * wide + x + dx;
                plane[at..at + BLOCK].try_into().unwrap_or([0; BLOCK])
            };
            let here = block(taken, halo, halo);
            let mut sum = here;
            for dy in 0..side {
                for dx in 0..side {
                    let weight = brush[dy * side + dx];
                    if weight == 0 {
                        continue;
                    }
                    let t = block(taken, halo - r + dx, halo - r + dy);
                    if heavy {
                        for i in 0..BLOCK {
                            sum[i] = sum[i].wrapping_add(mul_q16(t[i], weight as u32));
                        }
                    } else {
                        for i in 0..BLOCK {
                            sum[i] = sum[i].wrapping_add(t[i].wrapping_mul(weight) >> 16);
                        }
                    }
                }
            }
            // What the other cells get of this one's, which keeps the rest.
            for &(weight, count) in &weights {
                for i in 0..BLOCK {
                    sum[i] = sum[i].wrapping_sub(mul_q16(here[i], weight as u32).wrapping_mul(count));
                }
            }
            for dy in 0..3 {
                for dx in 0..3 {
                    let g = block(given, halo - 1 + dx, halo - 1 + dy);
                    for i in 0..BLOCK {
                        sum[i] = sum[i].wrapping_sub(spread(g[i], dx as i32 - 1, dy as i32 - 1));
                    }
                }
            }
            for (own, sum) in own.iter_mut().zip(sum) {
                *own = own.wrapping_sub(sum);
            }
        }
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
    let [grant, want, moved] = call.owns else { return };
    let rows = grant.chunks_exact_mut(w).zip(want.chunks_exact_mut(w * WANT_WORDS)).zip(moved.chunks_exact_mut(w * MOVED_WORDS));
    let mut scratch = vec![0i32; 2 * (w + 2)];
    for (i, ((grant, want), moved)) in rows.enumerate() {
        limit_row(p, first + i, grant, want, moved, call.reads[0], &mut scratch);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn limit_row(p: &Params, y: usize, grant: &mut [i32], want: &mut [i32], moved: &mut [i32], height: &[i32], scratch: &mut [i32]) {
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
    let (low, high, here, grant) = (&low[..w + 2], &high[..w + 2], &here[..w], &mut grant[..w]);
    for (x, want) in want.chunks_exact_mut(WANT_WORDS).enumerate() {
        let lowest = low[x].min(low[x + 1]).min(low[x + 2]);
        let highest = high[x].max(high[x + 1]).max(high[x + 2]);
        let (fall, rise) = (room(here[x], lowest), room(highest, here[x]));
        grant[x] = (share(p, fall, want[0]) | (share(p, rise, want[1]) << 16)) as i32;
        want[0] = 0;
        want[1] = 0;
    }
    moved.fill(0);
}

fn tally(call: &mut Call) {
    let first = call.range.start as usize * WANT_WORDS;
    for (own, want) in call.owns[0].iter_mut().zip(call.reads[0][first..].chunks_exact(WANT_WORDS)) {
        *own = want[2];
    }
}

/// How far it is down from `high` to `low`, in whole 2⁻¹⁶ cells: never more than it is.
#[inline(always)]
fn room(high: i32, low: i32) -> i32 {
    (high >> 1).wrapping_sub(low.wrapping_add(1) >> 1).max(0) >> 1
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
        Case {
            name: "default",
            settings: brief.clone(),
            window: window(0, 0, 96, 80),
            surface: Surface::Hills,
            layers: Layers::default(),
        },
        Case {
            name: "dense",
            settings: with(vec![("density", n(1.0))]),
            window: window(-7, 5, 97, 61),
            surface: Surface::Hills,
            layers: Layers::default(),
        },
        Case {
            name: "ninth",
            settings: with(vec![("density", n(0.11))]),
            window: window(100, -100, 67, 130),
            surface: Surface::Cone,
            layers: Layers::default(),
        },
        Case {
            name: "torus",
            settings: with(vec![("border", word("torus"))]),
            window: window(0, 0, 64, 48),
            surface: Surface::Valley,
            layers: Layers::default(),
        },
        Case {
            name: "wall",
            settings: with(vec![("border", word("wall"))]),
            window: window(0, 0, 50, 41),
            surface: Surface::Valley,
            layers: Layers::default(),
        },
        Case {
            name: "flat",
            settings: with(vec![("slope_min", n(0.5))]),
            window: window(0, 0, 40, 40),
            surface: Surface::Flat,
            layers: Layers::default(),
        },
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
            layers: Layers::default(),
        },
        Case {
            name: "point",
            settings: with(vec![("radius", n(1.0)), ("inertia", n(0.9))]),
            window: window(3, 3, 33, 17),
            surface: Surface::Hills,
            layers: Layers::default(),
        },
        Case {
            name: "tiny",
            settings: with(vec![("density", n(1.0))]),
            window: window(0, 0, 2, 3),
            surface: Surface::Noise,
            layers: Layers::default(),
        },
    ]
}
