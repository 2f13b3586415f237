//! Rivers cut: land that rises is worn by what runs off it, from coarse to fine.
//!
//! # Rule
//! A vertex has a height h, a water level w ≥ h and an area a: how many vertices' rain passes it. A
//! step is three gathers.
//!
//! - `route`: water goes to one of eight neighbours: that with the largest (w − w_q) · (6 + r), on
//!   diagonals times 9/16, where r is four bits of a hash of place and step. Where no neighbour is
//!   lower, it stays. Since the die is cast anew in each step, water spreads on slopes and gathers
//!   in channels, and no direction of the lattice is preferred for long. With 9/16 the mean way
//!   down a plane is within 5.2° of its slope, whichever way it faces, and short valleys lie along
//!   the axes as often as elsewhere; with 5/8 it is within 2.5°, but diagonals win.
//! - `drain`: the new area is the vertex's own rain (1, or the layer `rain`) and the areas of the
//!   neighbours whose water comes here.
//! - `cut`: the new height comes of five parts, in this order:
//!   1. where the water is at most ε deep, the river cuts: (h − w_r) · f / (1 + f), with w_r the
//!      water level where the water goes and f = `erodibility` · a^`area_exponent` (the area before
//!      the step), on diagonals divided by √2. This is the implicit step of the stream power law,
//!      ∂h/∂t = −K · area^m · slope;
//!   2. where it is deeper, it lays down silt: the part `silt` of its depth;
//!   3. slopes steeper than `repose_deg` fall: a quarter of the largest excess over it;
//!   4. the ground creeps: `creep` · (Σ over sides (h_q − h) / 6 + Σ over diagonals (h_q − h) /
//!      24), weights by which waves of all directions creep alike;
//!   5. the land rises: `uplift_m`, times the layer `uplift`.
//!
//!   The new water level is max(h′, min(min w_q + ε + what the vertex rises, h′ +
//!   `lake_depth_m`)): a lake rises with its land.
//!
//! ε is `slope_min`. Where an outlet is cut, the lake behind it falls by a cell of distance a step,
//! and where one rises faster than the lake's own ground, the lake rises by ε more than its ground
//! in a step until it runs over: so basins drain or fill without any search.
//!
//! **Last steps.** A vertex is cut towards where its receiver was a step ago, so a river falls by
//! at least what rises in a step from vertex to vertex. With `last_step` below 1 the steps of the
//! second half get shorter, in eight stages down to `last_step`: f, `uplift_m` and ε are multiplied
//! by their length. Uplift and cutting keep their ratio, so hillslopes keep theirs, and large
//! rivers become as gentle as the law says. Slides, creep and silt are not shortened.
//!
//! **Start.** On the coarsest level all land is under water as deep as `lake_depth_m`, and the
//! water falls for `fall` steps before anything is cut. From level to level come the land, the
//! depth of the water and twice the area, and fresh ground is made rough by `roughness_cells`, so
//! that channels do not follow the coarser lattice. Where a vertex is less than a quarter of a cell
//! above its lowest neighbour, it is less rough in proportion, down to a sixteenth: so plains are
//! smooth, and no dam rises in the bed of a river.
//!
//! **Base level.** With `border = "open"` the vertices at the border keep their height, and water
//! leaves there. Ground below `sea_level_m` keeps its height, too, but for uplift, and the sea
//! stands over it. Nothing is cut below `floor_m`. At a wall, water and ground end.
//!
//! Layers: of hardness H and vegetation V, f is multiplied by (1 − H) · (1 − V / 2).
//!
//! **Strata.** With `strata_m`, rock of equal height is equally hard: S = `strata_hardness` · r,
//! with r of a hash of `strata_seed` and the stratum's number. Of four strata three have r of 0 or
//! 1, and the others are between. f is multiplied by 1 − S of the water level's stratum as well.
//! Soft strata also stand less steeply: at the slope of `repose_deg` times 1 − ¾
//! (`strata_hardness` − S), where S is that of the ground's. So hard strata are cliffs, and soft
//! ones slopes or benches. On levels whose cells are more than four times as wide as a stratum is
//! thick, r is ½.
//!
//! Rounding: floor everywhere. a^m is linear between powers of two of a.
//!
//! # Shape
//! Reads and writes `height`, row-major, y south. Reads `rain`, `hardness`, `vegetation`, `uplift`.
//! Leaves `flow`: how many vertices' rain passes. For the next finer level it also leaves `surface`
//! (water levels) and `area`.
//!
//! # Units
//! Heights and water levels 2⁻¹⁸ cells; areas 2⁻⁶ vertices; f 2⁻¹⁴; fractions 2⁻¹⁶.
//!
//! # Limits
//! Areas stop at 2²⁵ vertices, heights at ±8191 cells. Silt is counted up to 8191 cells a vertex.
//! Differences of height count as at most 64 cells for the direction of water, which gives
//! precedence to the first of two cliffs.
//!
//! **No setting makes it unstable.** Without uplift, the new height of a vertex lies between the
//! lowest and the highest of the heights of its neighbourhood and its water level: each part moves
//! it towards one of these bounds, by no more than is left. So the highest height falls, and no
//! vertex falls below the lowest (the maximum principle), whatever `erodibility` is.
//!
//! **Counts.** Water goes to one neighbour or none, so the sum of areas changes by the rain less
//! what stays at outlets and sinks.
//!
//! # Reach
//! A cell a step, and one; one more where the stage continues a coarser level, since roughness
//! depends on the slope. The way of water to a neighbour depends on the water two cells away, but
//! it first changes the area, and the height a step later: with h, w exact to n cells from an edge
//! after n steps, areas are exact to n + 1.
//!
//! # Keeps
//! Σ height is Σ of the start + roughness + what rose + silt − what was cut, which leaves the land
//! as the load of its rivers.
//!
//! # Differs
//! From Braun & Willett: areas travel a cell a step instead of being solved for the whole land, so
//! the step needs no order of vertices. From Schott et al.: the implicit step, water levels that
//! find outlets, a die for each step, levels.
//!
//! # Source
//! A. D. Howard, *A detachment-limited model of drainage basin evolution*, 1994; K. X. Whipple, G.
//! E. Tucker, *Dynamics of the stream-power river incision model*, 1999; J. Braun, S. D. Willett,
//! *A very efficient O(n), implicit and parallel method to solve the stream power equation*, 2013;
//! H. Schott et al., *Large-scale terrain authoring through interactive erosion simulation*, 2023.
//!
//! # Costs
//! A cell and step: 10 reads, a hash and a quotient to route, 16 reads to drain, 19 to cut; 5
//! writes. Memory: 32 bytes a cell.

use super::stepper::{FLOOR_M, SEA_LEVEL_M, floor_m, sea_level_m};
use super::{Case, Stage, Surface};
use crate::arith::{self, CELL, HEIGHT_END, LEDGER_WORDS, div_small, fold, mix, mul_q16};
use crate::error::Invalid;
use crate::params::{Param, Settings, Value, rounded};
use crate::plan::{Buffer, Call, Fill, Interim, Kernel, Pass, Plan, PlanBuilder, Uniform};
use crate::site::{HEIGHT_MAX, Layer, Layers, Site, Window};
use crate::twin::{constants, uniform};
use encase::ShaderType;
use glam::{IVec2, UVec2};
use multiversion::multiversion;

constants! {
    const WGSL: &str;

    /// The area of one vertex.
    const VERTEX: i32 = 64;
    /// The weight of a drop without a die, and how many more the die adds at most.
    const SPREAD: u32 = 6;
    /// 1 / √2, 2⁻¹⁶.
    const DIAGONAL: u32 = 46341;
    /// Roughness ends where water is this deep, a quarter of a cell.
    const WET: i32 = 65536;
    /// Roughness is whole where the lowest neighbour is so much lower, a quarter of a cell.
    const STEEP: u32 = 65536;
    /// Flat ground is as rough as if it fell so far: a sixty-fourth of a cell.
    const FLAT: u32 = 4096;
    /// The water level beyond a border: no water goes there.
    const HIGHEST: i32 = 2147483647;
    /// In the low bits of `way`: water stays.
    const STAYS: i32 = 8;
}

/// Powers of two of an area.
const OCTAVES: usize = 32;
/// Steps of falling water on a land without an end.
const FALL_ENDLESS: u32 = 128;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "incision",
    about: "Rivers cut: what runs off a land carves its valleys, while the land may rise.",
    changes: true,
    halo: Some(|s, site, steps| {
        let falls = if steps.start == 0 { fall(s, site) } else { 0 };
        let begins = steps.start == 0 && site.layers.has(Layer::Water);
        u64::from(falls + steps.end - steps.start) + 1 + u64::from(begins)
    }),
    params: PARAMS,
    shader: constcat::concat!(WGSL, Params::WGSL, include_str!("../../shaders/incision.wgsl")),
    kernels: &[&BEGIN, &BEGIN_LEDGER, &FALL, &ROUTE, &DRAIN, &RAISE_LEDGER, &CUT, &COUNT],
    maps: &["flow"],
    check,
    plan,
    reach: |s, site| {
        let begins = site.layers.has(Layer::Water);
        u64::from(fall(s, site)) + s.integer("steps") as u64 + 1 + u64::from(begins)
    },
    summary: |s, site| {
        serde_json::json!({ "fall_steps": fall(s, site),
        "uplift_cells": rise(s, site) as f64 / f64::from(CELL) })
    },
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "steps",
        "steps",
        [1, 1 << 18, 40],
        "Number of steps. On coarse levels some hundreds give the large valleys time to form; on \
         fine ones a few dozen are enough.",
    ),
    Param::number(
        "erodibility",
        "a step",
        [0.0, 100.0, 0.04],
        "How fast rivers cut: the ratio of what a river that drains one vertex cuts to what is \
         left of its drop, in a step. With 0 nothing is cut.",
    ),
    Param::number(
        "area_exponent",
        "",
        [0.35, 0.6, 0.5],
        "How much more a large river cuts: by its area to this power. It is the concavity of the \
         rivers of a land that rises as fast as it is cut.",
    ),
    Param::number(
        "uplift_m",
        "m a step",
        [0.0, 1000.0, 0.0],
        "How much the land rises in a step, everywhere or as the layer uplift says. Mountains end \
         at a height in proportion to uplift_m / erodibility.",
    ),
    Param::number(
        "strata_m",
        "m",
        [0.0, 1e6, 0.0],
        "Thickness of level strata of rock, some hard and some soft by chance: hard ones become \
         cliffs, soft ones slopes and benches. They show where a stratum is as thick as a quarter \
         of a cell. 0: no strata.",
    ),
    Param::number(
        "strata_hardness",
        "",
        [0.0, 1.0, 0.9],
        "Hardness of the hardest strata, as in the layer hardness. The softest have 0, and stand \
         up to four times less steeply than repose_deg.",
    ),
    Param::integer(
        "strata_seed",
        "",
        [0, u32::MAX as i64, 0],
        "Which strata are hard. It is not changed by the recipe's seed, so that all levels, stages \
         and lands have the same strata.",
    ),
    Param::number("repose_deg", "degrees", [0.0, 89.0, 45.0], "Slopes that are steeper fall."),
    Param::number(
        "creep",
        "",
        [0.0, 0.5, 0.0],
        "How fast soil creeps: it rounds crests. 0.5 is the mean of the neighbourhood in two \
         steps.",
    ),
    Param::number(
        "slope_min",
        "rise per cell",
        [0.0001, 1.0, 0.01],
        "How much rivers fall at least. What falls less is a lake: it is not cut but filled with \
         silt. With less than the default rivers may be as gentle as those of plains, and lakes \
         rise more slowly where their outlets do. last_step makes it less in the last steps.",
    ),
    Param::number(
        "last_step",
        "",
        [0.02, 1.0, 1.0],
        "Length of the last step: in the second half of the steps the land rises less and less in \
         a step, and is cut less, down to this fraction of a whole step. Where a land rises, \
         rivers fall from cell to cell by at least what it rises in a step: with 0.2 large ones \
         become up to five times gentler, while hillslopes stay as steep.",
    ),
    Param::number(
        "silt",
        "",
        [0.0, 1.0, 0.05],
        "Part of its depth that standing water lays down in a step: lakes become plains.",
    ),
    Param::number(
        "roughness_cells",
        "cells",
        [0.0, 16.0, 0.5],
        "How much higher or lower a vertex of a finer level is at most than the coarser level \
         says, so that brooks find ways of their own. Where the ground falls by less than a \
         quarter of a cell to its lowest neighbour, it is less rough in proportion, down to a \
         sixteenth.",
    ),
    Param::number(
        "lake_depth_m",
        "m",
        [0.0, 1e6, 1000.0],
        "No lake is deeper: where a basin is, its water sinks into the ground. With 0 there are no \
         lakes, and every basin stays closed.",
    ),
    Param::integer(
        "fall",
        "steps",
        [0, 1 << 18, 0],
        "Steps for water to fall to its level before rivers cut, on the coarsest level. With 0: \
         twice the longer side of the land there, and 128 where the land has no end.",
    ),
    Param {
        doc: "Height of the sea, in which rivers end: ground below it is not worn. The default is \
              no sea.",
        ..SEA_LEVEL_M
    },
    FLOOR_M,
    Param::choice(
        "border",
        &["open", "torus", "wall"],
        "open: the border keeps its height, and rivers end there; torus: what leaves the land \
         comes in on the other side; wall: nothing passes, so a land without a sea becomes a lake.",
    ),
];

uniform! {
    /// The uniform struct of every pass of this stage.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        size: IVec2,
        /// The lattice's coordinates of the window's first vertex, low 32 bits.
        origin: UVec2,
        key: UVec2,
        torus: u32,
        /// 1 if there is such a layer.
        rained: u32,
        hard: u32,
        rooted: u32,
        lifted: u32,
        /// 1 if water and areas of the coarser level are there.
        continues: u32,
        /// The first and last columns and rows that keep their height; −1 where they lie outside.
        first: IVec2,
        last: IVec2,
        /// What the land rises in a step.
        rise: i32,
        /// The length of the step, 2⁻¹⁶.
        length: u32,
        /// The steepest drop that stands, along sides and along diagonals.
        stands: i32,
        stands_diagonal: i32,
        creep: u32,
        silt: u32,
        rough: i32,
        deepest: i32,
        /// By how much water falls from vertex to vertex at least.
        least: i32,
        sea: i32,
        floor: i32,
        /// The hardness of the hardest strata, 0 for none.
        strata_hard: u32,
        /// Strata in a quarter of a cell, 2⁻¹⁶; 0 where they are too thin to be told apart.
        strata_rate: u32,
        strata_key: u32,
    }
}

static BEGIN: Kernel = Kernel {
    entry: "begin",
    reads: &["height"],
    owns: &[("next", 1), ("surface", 1), ("area", 1), ("silted", 1)],
    adds: &[],
    cpu: begin,
};
static BEGIN_LEDGER: Kernel = Kernel {
    entry: "begin_ledger",
    reads: &["height", "surface"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: begin_ledger,
};
static FALL: Kernel = Kernel {
    entry: "fall",
    reads: &["height", "surface"],
    owns: &[("surface_next", 1)],
    adds: &[],
    cpu: fall_rows,
};
static ROUTE: Kernel = Kernel {
    entry: "route",
    reads: &["surface", "area", "hardness", "vegetation", "power"],
    owns: &[("way", 1)],
    adds: &[],
    cpu: route,
};
static DRAIN: Kernel = Kernel {
    entry: "drain",
    reads: &["way", "area", "rain"],
    owns: &[("area_next", 1)],
    adds: &[],
    cpu: drain,
};
static RAISE_LEDGER: Kernel = Kernel {
    entry: "raise_ledger",
    reads: &["height", "uplift"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: raise_ledger,
};
static CUT: Kernel = Kernel {
    entry: "cut",
    reads: &["height", "surface", "way", "uplift"],
    owns: &[("next", 1), ("surface_next", 1), ("silted", 1)],
    adds: &[],
    cpu: cut,
};
static COUNT: Kernel =
    Kernel { entry: "count", reads: &["area"], owns: &[("way", 1)], adds: &[], cpu: count };

/// Steps of falling water before the first step.
fn fall(s: &Settings, site: &Site) -> u32 {
    let given = s.integer("fall") as u32;
    match site.layers.has(Layer::Water) {
        true => 0,
        false if given > 0 => given,
        false if site.world.endless => FALL_ENDLESS,
        false => 2 * site.world.bounds.width.max(site.world.bounds.height),
    }
}

/// How much the land rises in a step, in height units.
pub fn rise(s: &Settings, site: &Site) -> i32 {
    site.units(s.number("uplift_m"))
}

/// Stages in which the steps of the second half get shorter.
const SHORTER: u32 = 8;

/// The lengths of steps, 2⁻¹⁶, and how many steps in a row have each.
fn lengths(s: &Settings) -> Vec<(u32, u32)> {
    let (steps, last) = (s.integer("steps") as u64, s.number("last_step"));
    if last == 1.0 {
        return vec![(65536, steps as u32)];
    }
    let end = |stage: u32| (u64::from(stage) * steps / u64::from(2 * SHORTER)) as u32;
    let shorter = (1..=SHORTER).map(|stage| {
        let part = libm::pow(last, f64::from(stage) / f64::from(SHORTER));
        let count = end(SHORTER + stage) - end(SHORTER + stage - 1);
        ((part * 65536.0).round() as u32, count)
    });
    std::iter::once((65536, end(SHORTER))).chain(shorter).collect()
}

/// How much the vertices of a window rise in all, in height units, as long as none comes to the end
/// of the range. `uplift` is the layer, if there is one. The vertices `outside`, in ascending
/// order, are no land.
pub fn risen(s: &Settings, site: &Site, uplift: Option<&[i32]>, outside: &[usize]) -> i64 {
    let (window, p) = (&site.window, lines(s, site));
    let is_land = |i: &usize| {
        let (x, y) = (*i as i32 % window.width as i32, *i as i32 / window.width as i32);
        !p.keeps(x, y) && outside.binary_search(i).is_err()
    };
    let rise = rise(s, site);
    let land = || (0..window.cells()).filter(is_land);
    let steps: Vec<(i64, i32)> = lengths(s)
        .into_iter()
        .map(|(length, count)| (count.into(), mul_q16(rise, length)))
        .filter(|(count, rise)| *count > 0 && *rise > 0)
        .collect();
    let in_steps = |cells: &dyn Fn(i32) -> i64| -> i64 {
        steps.iter().map(|(count, rise)| count * cells(*rise)).sum()
    };
    match uplift {
        _ if steps.is_empty() => 0,
        None => {
            let cells = land().count() as i64;
            in_steps(&|rise| cells * i64::from(rise))
        }
        Some(uplift) => {
            in_steps(&|rise| land().map(|i| i64::from(mul_q16(rise, uplift[i] as u32))).sum())
        }
    }
}

/// Parameters that know the lines of the land that keep their height, and nothing else.
fn lines(s: &Settings, site: &Site) -> Params {
    // A line of the land, counted from the window's first: one that is not in the window is no
    // vertex.
    let line = |axis: usize, far: bool| {
        let bounds = &site.world.bounds;
        let side = i64::from([bounds.width, bounds.height][axis]) - 1;
        let at = bounds.origin[axis] + if far { side } else { 0 } - site.window.origin[axis];
        let is_kept = s.word("border") == "open" && !site.world.endless;
        i32::try_from(at).ok().filter(|at| is_kept && *at >= 0).unwrap_or(-1)
    };
    Params {
        first: IVec2::new(line(0, false), line(1, false)),
        last: IVec2::new(line(0, true), line(1, true)),
        ..Params::default()
    }
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let (steps, uplift_m) = (s.integer("steps"), s.number("uplift_m"));
    let most = f64::from(HEIGHT_MAX) * site.spacing_m();
    let sum: u64 =
        lengths(s).iter().map(|(length, count)| u64::from(*length) * u64::from(*count)).sum();
    let risen = sum as f64 / 65536.0 * uplift_m;
    if risen > most {
        let message = format!(
            "uplift_m = {uplift_m} in {steps} steps at {} m a cell is {} m: allowed are \
             {HEIGHT_MAX} cells, {} m; lower uplift_m or steps",
            rounded(site.spacing_m()),
            rounded(risen),
            rounded(most)
        );
        return Err(Invalid::from(message).about("uplift_m").into());
    }
    let fall = fall(s, site);
    if fall > 1 << 18 {
        let message = format!(
            "fall = 0: two sides of the land are {fall} steps: allowed up to {}; give a number of \
             steps",
            1 << 18
        );
        return Err(Invalid::from(message).about("fall").into());
    }
    Ok(())
}

/// f of an area of 2ⁿ words, 2⁻¹⁴.
fn powers(s: &Settings, site: &Site) -> Vec<i32> {
    let (rate, exponent) = (s.number("erodibility"), s.number("area_exponent"));
    // K · area^m / cell: with m = ½ it is the same on all levels.
    let wide = libm::exp2(f64::from(site.level) * (2.0 * exponent - 1.0));
    let power = |n: u32| {
        let vertices = libm::exp2(f64::from(n)) / f64::from(VERTEX);
        (rate * wide * libm::pow(vertices, exponent) * 16384.0).round().min(f64::from(1 << 30))
            as i32
    };
    (0..OCTAVES as u32).map(power).collect()
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let layers = site.layers;
    let stands = libm::tan(s.number("repose_deg").to_radians()) * f64::from(CELL);
    let q16 = |name: &str| (s.number(name) * 65536.0).round() as u32;
    let strata = s.number("strata_m") / site.spacing_m() * f64::from(CELL);
    let params = Params {
        size: IVec2::new(window.width as i32, window.height as i32),
        origin: window.origin.map(|o| o as u32).into(),
        key: arith::key(site.world.seed, 0).into(),
        torus: (s.word("border") == "torus") as u32,
        rained: layers.has(Layer::Rain) as u32,
        hard: layers.has(Layer::Hardness) as u32,
        rooted: layers.has(Layer::Vegetation) as u32,
        lifted: layers.has(Layer::Uplift) as u32,
        continues: layers.has(Layer::Water) as u32,
        rise: rise(s, site),
        length: 65536,
        stands: stands as i32,
        stands_diagonal: (stands * std::f64::consts::SQRT_2) as i32,
        // Twice two thirds, since kernels have the mean of a quarter of the sides' and a sixteenth
        // of the diagonals' differences.
        creep: (s.number("creep") * 65536.0 * 4.0 / 3.0).round() as u32,
        silt: q16("silt"),
        rough: (s.number("roughness_cells") * f64::from(CELL)) as i32,
        deepest: (s.number("lake_depth_m") / site.spacing_m() * f64::from(CELL))
            .min(f64::from(HEIGHT_END)) as i32,
        least: (s.number("slope_min") * f64::from(CELL)) as i32,
        sea: sea_level_m(s).map_or(i32::MIN, |sea_m| site.height_of(sea_m)),
        floor: floor_m(s).map_or(i32::MIN, |floor_m| site.height_of(floor_m)),
        strata_hard: if strata > 0.0 { q16("strata_hardness") } else { 0 },
        strata_rate: match strata {
            0.0..65536.0 => 0,
            _ => (4294967296.0 / strata).round().max(1.0) as u32,
        },
        // Not the land's seed, which differs from level to level: rock does not.
        strata_key: arith::key(s.integer("strata_seed") as u64, 0)[0],
        ..lines(s, site)
    };
    // Water and areas come from the coarser level, and go to the finer one.
    let state = |name: &'static str| {
        let buffer = Buffer::cells(name, window, 1);
        let fill = if layers.has(Layer::Water) { Fill::Keep } else { Fill::Unset };
        Buffer { fill, keep: layers.has(Layer::WaterOn).then_some(name), ..buffer }
    };
    let buffers = vec![
        Buffer::height(window),
        Buffer::cells("next", window, 1).unset(),
        state("surface"),
        Buffer::cells("surface_next", window, 1).unset(),
        state("area"),
        Buffer::cells("area_next", window, 1).unset(),
        // At the end it is the flow.
        Buffer { keep: Some("flow"), ..Buffer::cells("way", window, 1).unset() },
        Buffer::cells("silted", window, 1).unset(),
        Buffer::layer("rain", window, 1, layers.has(Layer::Rain)),
        Buffer::layer("hardness", window, 1, layers.has(Layer::Hardness)),
        Buffer::layer("vegetation", window, 1, layers.has(Layer::Vegetation)),
        Buffer::layer("uplift", window, 1, layers.has(Layer::Uplift)),
        Buffer::layer("ledger", window, LEDGER_WORDS, layers.has(Layer::Ledger)),
        Buffer::table("power", powers(s, site)),
    ];
    let uniform = Uniform::of(params);
    let gather = |kernel, uniform: &Uniform| Pass::over(kernel, uniform.clone(), window);
    let mut builder = PlanBuilder::of(site);
    if layers.has(Layer::Ledger) && params.continues == 1 {
        builder.push(gather(&BEGIN_LEDGER, &uniform));
    }
    builder.push(gather(&BEGIN, &uniform).swapping(&[["height", "next"]]));
    builder.rounds(0..fall(s, site), |builder, _| {
        builder.push(gather(&FALL, &uniform).swapping(&[["surface", "surface_next"]]));
    });
    let lengths: Vec<u32> = lengths(s)
        .into_iter()
        .flat_map(|(length, count)| std::iter::repeat_n(length, count as usize))
        .collect();
    let does_rise = params.rise > 0;
    builder.rounds(0..s.integer("steps") as u32, |builder, step| {
        let length = lengths[step as usize];
        let params = Params {
            key: arith::key(site.world.seed, 1 + step).into(),
            rise: mul_q16(params.rise, length),
            length,
            least: mul_q16(params.least, length).max(1),
            ..params
        };
        let uniform = Uniform::of(params);
        builder.push(gather(&ROUTE, &uniform));
        builder.push(gather(&DRAIN, &uniform).swapping(&[["area", "area_next"]]));
        if layers.has(Layer::Ledger) && does_rise {
            builder.push(gather(&RAISE_LEDGER, &uniform));
        }
        builder.push(
            gather(&CUT, &uniform).swapping(&[["height", "next"], ["surface", "surface_next"]]),
        );
        builder.end_step();
    });
    builder.push(gather(&COUNT, &uniform));
    builder.stretch_step();
    // Until `count`.
    let interim = vec![Interim { field: "flow", buffer: "area", word: 0, shift: VERTEX.ilog2() }];
    Plan { interim, ..builder.plan(STAGE.shader, *window, buffers) }
}

/// How far a is above b, at most 8191 cells.
#[inline(always)]
fn gap(a: i32, b: i32) -> i32 {
    (a.max(b).wrapping_sub(b) as u32).min(i32::MAX as u32) as i32
}

impl Params {
    /// Whether a vertex keeps its height, since rivers end there.
    #[inline(always)]
    fn keeps(&self, x: i32, y: i32) -> bool {
        (x == self.first.x) | (x == self.last.x) | (y == self.first.y) | (y == self.last.y)
    }

    /// Which vertices of a run keep their height: −1 for those.
    #[inline(always)]
    fn kept(&self, run: Run) -> Lanes {
        let mut kept = [0; LANES];
        kept.iter_mut()
            .zip(run.x as i32..)
            .for_each(|(kept, x)| *kept = -i32::from(self.keeps(x, run.y as i32)));
        kept
    }

    /// What a vertex at height h rises, of which `uplift` is the share; nothing where the height is
    /// kept.
    #[inline(always)]
    fn rises(&self, kept: bool, h: i32, uplift: i32) -> i32 {
        let rise = mul_q16(self.rise, uplift as u32).min(gap(HEIGHT_END, h));
        if kept { 0 } else { rise }
    }

    /// By how much fresh ground is higher than the coarser level says, under so much water, where
    /// the ground falls so far to its lowest neighbour.
    #[inline(always)]
    fn roughens(&self, x: i32, y: i32, depth: i32, slope: u32) -> i32 {
        let die = arith::hash(
            self.key.into(),
            self.origin.x.wrapping_add(x as u32),
            self.origin.y.wrapping_add(y as u32),
        );
        // −32768 to 32767 of 32768.
        let signed = (die >> 16) as i32 - 32768;
        // WET and STEEP are 65536, so both factors are fractions of 65536.
        let most = mul_q16(self.rough, (WET - depth.clamp(0, WET)) as u32);
        let most = mul_q16(most, slope.clamp(FLAT, STEEP));
        mul_q16(most, signed.unsigned_abs()) * 2 * signed.signum()
    }
}

fn begin(call: &mut Call) {
    let p: &Params = call.params();
    let (&[height], [next, water, area, silted]) = (call.reads, &mut *call.owns) else { return };
    silted.fill(0);
    let here = &height[call.range.start as usize..][..next.len()];
    next.copy_from_slice(here);
    if p.continues == 1 {
        return continue_from(p, call.range.start as i32 / p.size.x, height, next, water, area);
    }
    for ((height, water), area) in here.iter().zip(water.iter_mut()).zip(area.iter_mut()) {
        *water = height + p.deepest.min(gap(HEIGHT_END, *height));
        *area = VERTEX;
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn continue_from(
    p: &Params,
    first: i32,
    height: &[i32],
    next: &mut [i32],
    water: &mut [i32],
    area: &mut [i32],
) {
    let w = p.size.x as usize;
    let mut slopes = vec![0; w];
    let rows =
        next.chunks_exact_mut(w).zip(water.chunks_exact_mut(w)).zip(area.chunks_exact_mut(w));
    for (y, ((next, water), area)) in (first..).zip(rows) {
        p.slopes(height, y, &mut slopes);
        for (x, (((next, water), area), slope)) in
            (0..).zip(next.iter_mut().zip(water.iter_mut()).zip(area.iter_mut()).zip(slopes.iter()))
        {
            let (before, depth) = (*next, gap(*water, *next).min(p.deepest));
            let rough = p.roughness_at(x, y, before, depth, *slope);
            let after = arith::height_within(before.saturating_add(rough));
            *next = after;
            *water = after.wrapping_add(depth.min(gap(HEIGHT_END, after)));
            *area = (*area).max(VERTEX);
        }
    }
}

impl Params {
    /// How far the ground falls to the lowest neighbour, for the vertices of a row.
    #[inline(always)]
    fn slopes(&self, height: &[i32], y: i32, slopes: &mut [u32]) {
        let (w, torus) = (self.size.x, self.torus == 1);
        let row = |y: i32| &height[(fold(y, self.size.y, torus) * w) as usize..][..w as usize];
        let (above, here, below) = (row(y - 1), row(y), row(y + 1));
        let lowest = |x: i32| {
            let x = fold(x, w, torus) as usize;
            above[x].min(here[x]).min(below[x])
        };
        let (mut west, mut low) = (lowest(-1), lowest(0));
        for (x, (slope, here)) in (0..).zip(slopes.iter_mut().zip(here)) {
            let east = lowest(x + 1);
            *slope = here.abs_diff(west.min(low).min(east));
            (west, low) = (low, east);
        }
    }
}

fn begin_ledger(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, water] = call.reads else { return };
    let mut slopes = vec![0; p.size.x as usize];
    for (at, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(LEDGER_WORDS)) {
        let (x, y, h) = (at as i32 % p.size.x, at as i32 / p.size.x, height[at as usize]);
        if x == 0 {
            p.slopes(height, y, &mut slopes);
        }
        let depth = gap(water[at as usize], h).min(p.deepest);
        let rough = p.roughness_at(x, y, h, depth, slopes[x as usize]);
        own[0] = arith::height_within(own[0].saturating_add(rough));
    }
}

fn raise_ledger(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, uplift] = call.reads else { return };
    for (at, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(LEDGER_WORDS)) {
        let (x, y, i) = (at as i32 % p.size.x, at as i32 / p.size.x, at as usize);
        let share = if p.lifted == 1 { uplift[i] } else { 65536 };
        own[0] = own[0].saturating_add(p.rises(p.keeps(x, y), height[i], share));
    }
}

fn count(call: &mut Call) {
    let first = call.range.start as usize;
    for (own, area) in call.owns[0].iter_mut().zip(&call.reads[0][first..]) {
        *own = area / VERTEX;
    }
}

/// Vertices of a row that are done together.
const LANES: usize = 32;
/// A word of each.
type Lanes = [i32; LANES];
/// The same, and a word more at both ends.
type Wide = [i32; LANES + 2];
/// Where the neighbours are: the four sides, then the four diagonals. The way back from each is the
/// next or the one before.
const AROUND: [[usize; 2]; 8] = [[1, 0], [1, 2], [0, 1], [2, 1], [0, 0], [2, 2], [2, 0], [0, 2]];

/// Vertices of a row that are done together: [`LANES`], or all of a narrower window's.
#[derive(Clone, Copy)]
struct Run {
    x: usize,
    y: usize,
    count: usize,
    /// How many of its first vertices belong to the run before it, too. The last run ends with the
    /// row.
    again: usize,
}

impl Run {
    /// The runs of a row.
    #[inline(always)]
    fn all(y: usize, width: usize) -> impl Iterator<Item = Self> {
        let count = LANES.min(width);
        (0..width).step_by(LANES).map(move |start| {
            let x = start.min(width - count);
            Self { x, y, count, again: start - x }
        })
    }

    /// The words of a map from `at` on: where they lie, or in `room` if the window is narrow.
    #[inline(always)]
    fn words<'a>(&self, map: &'a [i32], at: usize, room: &'a mut Lanes) -> &'a Lanes {
        match map[at..].first_chunk() {
            Some(words) if self.count == LANES => words,
            _ => {
                copy(&map[at..at + self.count], &mut room[..self.count]);
                room
            }
        }
    }

    /// Stores the words of the run's vertices from `at` on.
    #[inline(always)]
    fn store(&self, words: &Lanes, map: &mut [i32], at: usize) {
        match map[at..].first_chunk_mut() {
            Some(own) if self.count == LANES => *own = *words,
            _ => copy(&words[..self.count], &mut map[at..at + self.count]),
        }
    }

    /// Stores the words of the vertices that no run before it has.
    #[inline(always)]
    fn store_once(&self, words: &Lanes, map: &mut [i32], at: usize) {
        match self.again {
            0 => self.store(words, map, at),
            again => copy(&words[again..self.count], &mut map[at + again..at + self.count]),
        }
    }
}

/// Copies words of any number. It stands apart, since a compiler would do copies of a known length
/// in the same way.
#[cold]
#[inline(never)]
fn copy(from: &[i32], to: &mut [i32]) {
    to.copy_from_slice(from);
}

/// The words of a run and of all its neighbours.
struct Block<'a>([&'a Wide; 3]);

impl<'a> Block<'a> {
    /// Reads them where they lie, or in `room` at the edges of the window. Beyond these lies
    /// `outside`, or the vertex at the edge where that is none.
    #[inline(always)]
    fn of(
        p: &Params,
        map: &'a [i32],
        run: Run,
        outside: Option<i32>,
        room: &'a mut [Wide; 3],
    ) -> Self {
        let (w, h) = (p.size.x as usize, p.size.y as usize);
        if run.x > 0 && run.x + LANES < w && run.y > 0 && run.y + 1 < h {
            let row = |k: usize| {
                map[(run.y + k - 1) * w + run.x - 1..].first_chunk().unwrap_or(&[0; LANES + 2])
            };
            return Self([row(0), row(1), row(2)]);
        }
        fill(p, map, run, outside, room);
        let [above, here, below] = room;
        Self([above, here, below])
    }

    /// The words of the neighbours in a direction.
    #[inline(always)]
    fn lanes(&self, [dx, dy]: [usize; 2]) -> &'a Lanes {
        self.0[dy][dx..].first_chunk().unwrap_or(&[0; LANES])
    }

    #[inline(always)]
    fn around(&self) -> [&'a Lanes; 8] {
        // Spelled out: a closure over an array is not compiled for vectors.
        let at = |n: usize| self.lanes(AROUND[n]);
        [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)]
    }

    #[inline(always)]
    fn here(&self) -> &'a Lanes {
        self.lanes([1, 1])
    }
}

/// Copies a run at an edge of the window, and its neighbours.
#[inline(always)]
fn fill(p: &Params, map: &[i32], run: Run, outside: Option<i32>, room: &mut [Wide; 3]) {
    let (w, h, torus) = (p.size.x as usize, p.size.y, p.torus == 1);
    let outside = outside.filter(|_| !torus);
    let end = run.x + run.count;
    for (k, words) in room.iter_mut().enumerate() {
        let y = run.y as i32 + k as i32 - 1;
        let is_inside = (0..h).contains(&y);
        if let Some(word) = outside.filter(|_| !is_inside) {
            words.fill(word);
            continue;
        }
        let y = if is_inside { y } else { fold(y, h, torus) };
        let row = &map[y as usize * w..][..w];
        match (row[run.x..].first_chunk::<LANES>(), words[1..].first_chunk_mut::<LANES>()) {
            // Of a length that is known, this is no call.
            (Some(from), Some(to)) => *to = *from,
            _ => copy(&row[run.x..end], &mut words[1..=run.count]),
        }
        let beyond = |x: i32| outside.unwrap_or(row[fold(x, w as i32, torus) as usize]);
        words[0] = if run.x > 0 { row[run.x - 1] } else { beyond(-1) };
        words[run.count + 1] = if end < w { row[end] } else { beyond(w as i32) };
    }
}

/// Room for a [`Block`].
const ROOM: [Wide; 3] = [[0; LANES + 2]; 3];

fn fall_rows(call: &mut Call) {
    fall_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn fall_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    let (&[height, water], [own]) = (reads, owns) else { return };
    let w = p.size.x as usize;
    let (mut waters, mut heights) = (ROOM, [0; LANES]);
    for at in (0..own.len()).step_by(w) {
        for run in Run::all((start + at) / w, w) {
            let h = run.words(height, start + at + run.x, &mut heights);
            let around = Block::of(p, water, run, Some(HIGHEST), &mut waters).around();
            let kept = p.kept(run);
            let mut level: Lanes = [0; LANES];
            for l in 0..LANES {
                let low = around.iter().fold(i32::MAX, |low, q| low.min(q[l]));
                level[l] = p.settles(kept[l] != 0, h[l], h[l], low, 0);
            }
            run.store(&level, own, at + run.x);
        }
    }
}

fn route(call: &mut Call) {
    route_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn route_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    let (&[water, area, hardness, vegetation, power], [own]) = (reads, owns) else { return };
    let power = power.first_chunk().unwrap_or(&[0; OCTAVES]);
    let w = p.size.x as usize;
    // The first half of the hash is the same in a column.
    let columns: Vec<u32> = (0..w.next_multiple_of(LANES) as u32)
        .map(|x| mix(p.origin.x.wrapping_add(x) ^ p.key.x))
        .collect();
    let (mut waters, mut areas, mut layer) = (ROOM, [0; LANES], [0; LANES]);
    for at in (0..own.len()).step_by(w) {
        for run in Run::all((start + at) / w, w) {
            let y = p.origin.y.wrapping_add(run.y as u32);
            let block = Block::of(p, water, run, Some(HIGHEST), &mut waters);
            let (around, here) = (block.around(), block.here());
            let column: &[u32; LANES] = columns[run.x..].first_chunk().unwrap_or(&[0; LANES]);
            let mut way = [STAYS; LANES];
            for l in 0..LANES {
                let die = mix(column[l].wrapping_add(y) ^ p.key.y);
                let mut best = 0u32;
                for (q, level) in around.iter().enumerate() {
                    let (times, shift) = if q < 4 { (1, 0) } else { (9, 4) };
                    let drop = (gap(here[l], level[l]) as u32).min((1 << 24) - 1);
                    let weight = (drop.wrapping_mul(times) >> shift)
                        .wrapping_mul(SPREAD + (die >> (4 * q) & 15));
                    // A weight has 29 bits. Below it stands the direction, so that of equal ones
                    // the first wins.
                    best = best.max(weight << 3 | (7 - q as u32));
                }
                way[l] = if best < 8 { STAYS } else { 7 - (best & 7) as i32 };
            }
            let first = start + at + run.x;
            let mut f = powers_of(power, run.words(area, first, &mut areas));
            if p.hard == 1 || p.rooted == 1 || p.strata_hard > 0 {
                let mut soft = [65536; LANES];
                if p.hard == 1 {
                    let hard = run.words(hardness, first, &mut layer);
                    for l in 0..LANES {
                        soft[l] = 65536i32.wrapping_sub(hard[l]);
                    }
                }
                if p.rooted == 1 {
                    let roots = run.words(vegetation, first, &mut layer);
                    for l in 0..LANES {
                        soft[l] = mul_q16(soft[l], 65536u32.wrapping_sub(roots[l] as u32 >> 1));
                    }
                }
                if p.strata_hard > 0 {
                    for l in 0..LANES {
                        soft[l] = mul_q16(soft[l], 65536u32.wrapping_sub(p.stratum(here[l])));
                    }
                }
                for l in 0..LANES {
                    f[l] = mul_q16(f[l], soft[l] as u32);
                }
            }
            if p.length < 65536 {
                for f in &mut f {
                    *f = mul_q16(*f, p.length);
                }
            }
            for l in 0..LANES {
                let f = mul_q16(f[l], if way[l] >= 4 { DIAGONAL } else { 65536 });
                let share =
                    65536u32.wrapping_sub(div_small(1 << 30, (f as u32).wrapping_add(1 << 14)));
                way[l] |= (share << 4) as i32;
            }
            run.store(&way, own, at + run.x);
        }
    }
}

fn drain(call: &mut Call) {
    drain_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn drain_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    let (&[way, area, rain], [own]) = (reads, owns) else { return };
    let w = p.size.x as usize;
    let (mut ways, mut areas, mut rains) = (ROOM, ROOM, [0; LANES]);
    for at in (0..own.len()).step_by(w) {
        for run in Run::all((start + at) / w, w) {
            let mut sum = [VERTEX; LANES];
            if p.rained == 1 {
                let rain = run.words(rain, start + at + run.x, &mut rains);
                for l in 0..LANES {
                    sum[l] =
                        ((rain[l].wrapping_mul(VERTEX).wrapping_add(1 << 15) as u32) >> 16) as i32;
                }
            }
            let way = Block::of(p, way, run, Some(STAYS), &mut ways).around();
            let area = Block::of(p, area, run, Some(0), &mut areas).around();
            for l in 0..LANES {
                for q in 0..8 {
                    let comes = way[q][l] & 15 == (q ^ 1) as i32;
                    let all =
                        (sum[l] as u32).wrapping_add(if comes { area[q][l] as u32 } else { 0 });
                    sum[l] = all.min(i32::MAX as u32) as i32;
                }
            }
            run.store(&sum, own, at + run.x);
        }
    }
}

fn cut(call: &mut Call) {
    cut_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn cut_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    let (&[height, water, way, uplift], [next, water_next, silted]) = (reads, owns) else { return };
    let w = p.size.x as usize;
    let (mut heights, mut waters, mut ways, mut uplifts, mut silts) =
        (ROOM, ROOM, [0; LANES], [65536; LANES], [0; LANES]);
    for at in (0..next.len()).step_by(w) {
        for run in Run::all((start + at) / w, w) {
            let first = start + at + run.x;
            let grounds = Block::of(p, height, run, None, &mut heights);
            let levels = Block::of(p, water, run, Some(HIGHEST), &mut waters);
            let (around, here) = (grounds.around(), grounds.here());
            let (levels, level) = (levels.around(), levels.here());
            let way = run.words(way, first, &mut ways);
            let uplift =
                if p.lifted == 1 { run.words(uplift, first, &mut uplifts) } else { &uplifts };
            let before = *run.words(silted, at + run.x, &mut silts);
            let kept = p.kept(run);
            let (mut ground_next, mut level_next, mut silted_next) =
                ([0; LANES], [0; LANES], [0; LANES]);
            let (mut stands, mut stands_diagonal) = ([p.stands; LANES], [p.stands_diagonal; LANES]);
            if p.strata_hard > 0 {
                for l in 0..LANES {
                    let part = p.stands_part(here[l]);
                    stands[l] = mul_q16(p.stands, part);
                    stands_diagonal[l] = mul_q16(p.stands_diagonal, part);
                }
            }
            // In two loops, since registers do not hold the words of all neighbours at once.
            let (mut low_water, mut receiver) = ([i32::MAX; LANES], *level);
            for l in 0..LANES {
                for (q, level) in levels.iter().enumerate() {
                    low_water[l] = low_water[l].min(level[l]);
                    // By masks: a choice between two places in memory is made one vertex at a time.
                    let is_there = -i32::from(way[l] & 15 == q as i32);
                    receiver[l] = receiver[l] & !is_there | level[l] & is_there;
                }
            }
            for l in 0..LANES {
                let (h, kept) = (here[l], kept[l] != 0);
                let is_base = (h < p.sea) | kept;
                let mut ground = [0; 8];
                for q in 0..8 {
                    ground[q] = around[q][l];
                }
                let share = way[l] as u32 >> 4;
                let stands = [stands[l], stands_diagonal[l]];
                let (worn, silt) = p.worn(h, level[l], receiver[l], share, stands, ground);
                let new = if is_base { h } else { worn };
                let rise = p.rises(kept, h, uplift[l]).min(gap(HEIGHT_END, new));
                ground_next[l] = new.wrapping_add(rise);
                level_next[l] = p.settles(kept, h, ground_next[l], low_water[l], rise);
                let silt = if is_base { 0 } else { silt };
                silted_next[l] = before[l].wrapping_add(silt.min(i32::MAX.wrapping_sub(before[l])));
            }
            run.store(&ground_next, next, at + run.x);
            run.store(&level_next, water_next, at + run.x);
            run.store_once(&silted_next, silted, at + run.x);
        }
    }
}

/// f of areas. `power` has f of areas of 2ⁿ words.
#[inline(always)]
fn powers_of(power: &[i32; OCTAVES], area: &Lanes) -> Lanes {
    let (mut octave, mut fraction) = ([0u32; LANES], [0u32; LANES]);
    for l in 0..LANES {
        // The exponent and 16 bits of the fraction of an area, of which the first 24 bits count.
        let is_large = area[l] >= 1 << 24;
        let bits = (if is_large { area[l] >> 8 } else { area[l].max(1) } as f32).to_bits();
        octave[l] = (bits >> 23).wrapping_sub(127).wrapping_add(if is_large { 8 } else { 0 });
        fraction[l] = (bits & 0x7f_ffff) >> 7;
    }
    let mut f = [0; LANES];
    for l in 0..LANES {
        let (low, high) =
            (power[octave[l] as usize % OCTAVES], power[(octave[l] as usize + 1) % OCTAVES]);
        f[l] = low.wrapping_add(mul_q16(high.wrapping_sub(low), fraction[l]));
    }
    f
}

impl Params {
    #[inline(always)]
    fn roughness_at(&self, x: i32, y: i32, h: i32, depth: i32, slope: u32) -> i32 {
        if self.keeps(x, y) || h < self.sea { 0 } else { self.roughens(x, y, depth, slope) }
    }

    /// The hardness of the stratum at a height.
    #[inline(always)]
    fn stratum(&self, h: i32) -> u32 {
        let number = mul_q16(h, self.strata_rate) >> 16;
        let die = mix(number as u32 ^ self.strata_key) >> 16;
        let part = die.clamp(24576, 40960).wrapping_sub(24576) << 2;
        mul_q16(self.strata_hard as i32, if self.strata_rate == 0 { 1 << 15 } else { part }) as u32
    }

    /// The steepest drop from a height that stands, as part of that of the hardest rock.
    #[inline(always)]
    fn stands_part(&self, h: i32) -> u32 {
        let soft = self.strata_hard.wrapping_sub(self.stratum(h));
        65536u32.wrapping_sub((soft >> 2).wrapping_mul(3))
    }

    /// The height of a vertex after a step without uplift, and what silt it got: from its height
    /// and water level, the level where its water goes, the share of its drop that is cut, the
    /// steepest drops that stand, along sides and diagonals, and the heights round it.
    #[inline(always)]
    fn worn(
        &self,
        h: i32,
        level: i32,
        receiver: i32,
        share: u32,
        [stands, stands_diagonal]: [i32; 2],
        ground: [i32; 8],
    ) -> (i32, i32) {
        let (mut low_side, mut low_diagonal, mut high) = (HIGHEST, HIGHEST, h);
        let (mut sides, mut diagonals) = (0i32, 0i32);
        for q in 0..4 {
            let (side, diagonal) = (ground[q], ground[q + 4]);
            low_side = low_side.min(side);
            low_diagonal = low_diagonal.min(diagonal);
            high = high.max(side).max(diagonal);
            sides = sides.wrapping_add((side >> 4).wrapping_sub(h >> 4));
            diagonals = diagonals.wrapping_add((diagonal >> 4).wrapping_sub(h >> 4));
        }
        let depth = gap(level, h);
        let is_deep = depth > self.least;
        let silt = mul_q16(if is_deep { depth } else { 0 }, self.silt);
        let cut = mul_q16(if is_deep { 0 } else { gap(h, receiver) }, share);
        let low = h.min(low_side).min(low_diagonal);
        let worn = h.wrapping_add(silt).wrapping_sub(cut);
        // What falls, as far as the lowest neighbour.
        let excess = gap(h, low_side).wrapping_sub(stands);
        let excess = excess.max(gap(h, low_diagonal).wrapping_sub(stands_diagonal)).max(0);
        let worn = worn.wrapping_sub((excess >> 2).min(gap(worn, low)));
        let creep = mul_q16(sides.wrapping_add(diagonals >> 2), self.creep).wrapping_mul(2);
        let worn = worn.wrapping_add(creep.max(0).min(gap(high, worn)));
        let worn = worn.wrapping_sub(creep.min(0).wrapping_neg().min(gap(worn, low)));
        (worn.max(h.min(self.floor)), silt)
    }

    /// The water level of a vertex that keeps its height or does not, whose height was `before` and
    /// is `after`, among neighbours whose lowest level is `low`.
    #[inline(always)]
    fn settles(&self, kept: bool, before: i32, after: i32, low: i32, rise: i32) -> i32 {
        let above = self.least.wrapping_add(rise);
        let runs_off = low.min(HEIGHT_END.wrapping_sub(above)).wrapping_add(above);
        let holds = after.wrapping_add(self.deepest.min(gap(HEIGHT_END, after)));
        let is_base = (before < self.sea) | kept;
        after.max(if is_base { self.sea } else { runs_off.min(holds) })
    }
}

fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let case = |name, more: Vec<(&'static str, Value)>, window, surface, layers| Case {
        name,
        settings: [vec![("steps", i(12)), ("fall", i(20))], more].concat(),
        window,
        surface,
        layers,
    };
    let none = Layers::NONE;
    let all = Layers::ALL;
    let water = Layers::of(&[Layer::Water, Layer::WaterOn]);
    vec![
        case("default", vec![("fall", i(0))], window(0, 0, 97, 61), Surface::Hills, none),
        case(
            "torus",
            vec![("border", word("torus")), ("uplift_m", n(3.0)), ("creep", n(0.2))],
            window(-7, 5, 50, 33),
            Surface::Valley,
            none,
        ),
        case(
            "wild",
            vec![
                ("border", word("wall")),
                ("erodibility", n(100.0)),
                ("creep", n(0.5)),
                ("silt", n(1.0)),
                ("repose_deg", n(0.0)),
            ],
            window(1 << 40, 0, 73, 59),
            Surface::Noise,
            none,
        ),
        case(
            "sea",
            vec![
                ("sea_level_m", n(150.0)),
                ("floor_m", n(170.0)),
                ("erodibility", n(0.5)),
                ("uplift_m", n(5.0)),
            ],
            window(0, 0, 70, 65),
            Surface::Hills,
            none,
        ),
        case(
            "cone",
            vec![("area_exponent", n(0.35)), ("repose_deg", n(20.0)), ("slope_min", n(0.0003))],
            window(0, 0, 64, 65),
            Surface::Cone,
            none,
        ),
        case(
            "strata",
            vec![("strata_m", n(25.0)), ("strata_hardness", n(1.0)), ("repose_deg", n(60.0))],
            window(3, -5, 75, 50),
            Surface::Hills,
            none,
        ),
        case(
            "thin_strata",
            vec![("strata_m", n(0.5)), ("strata_hardness", n(0.7))],
            window(0, 0, 40, 40),
            Surface::Hills,
            all,
        ),
        case(
            "last_step",
            vec![("steps", i(37)), ("last_step", n(0.05)), ("uplift_m", n(6.0))],
            window(0, 7, 60, 52),
            Surface::Hills,
            none,
        ),
        case(
            "last_step_layers",
            vec![("last_step", n(0.02)), ("uplift_m", n(0.0005)), ("strata_m", n(25.0))],
            window(0, 7, 47, 40),
            Surface::Hills,
            all.with(Layer::Ledger, true),
        ),
        case(
            "finer_torus",
            vec![("roughness_cells", n(2.0)), ("border", word("torus")), ("uplift_m", n(3.0))],
            window(-9, 4, 51, 40),
            Surface::Noise,
            water,
        ),
        case(
            "finer_row",
            vec![("roughness_cells", n(2.0)), ("border", word("wall"))],
            window(-9, 4, 1, 37),
            Surface::Noise,
            water.with(Layer::Ledger, true),
        ),
        case(
            "finer_sea",
            vec![("roughness_cells", n(16.0)), ("sea_level_m", n(150.0)), ("border", word("wall"))],
            window(3, 4, 70, 31),
            Surface::Hills,
            water,
        ),
        case("tiny", vec![("uplift_m", n(2.0))], window(0, 0, 2, 3), Surface::Noise, none),
        case(
            "row",
            vec![("uplift_m", n(2.0)), ("border", word("wall"))],
            window(3, 0, 40, 1),
            Surface::Noise,
            none,
        ),
        case(
            "layers",
            vec![("uplift_m", n(4.0)), ("erodibility", n(0.3))],
            window(0, 0, 81, 50),
            Surface::Hills,
            all,
        ),
        case(
            "finer",
            vec![("roughness_cells", n(1.5)), ("lake_depth_m", n(40.0))],
            window(-9, 4, 51, 40),
            Surface::Hills,
            water,
        ),
        case(
            "booked",
            vec![("roughness_cells", n(3.0)), ("uplift_m", n(9.0))],
            window(5, 5, 40, 41),
            Surface::Valley,
            water.with(Layer::Ledger, true),
        ),
    ]
}
