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
//! Rounding: floor, but for rain, which is rounded to the nearest, and roughness, towards 0. a^m is
//! linear between powers of two of a.
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

mod cases;
mod kernels;
mod lanes;
mod plan;

use super::Stage;
use super::stepper::{FLOOR_M, SEA_LEVEL_M};
use crate::arith::{CELL, mul_q16};
use crate::error::Invalid;
use crate::params::{Param, Settings, rounded};
use crate::site::{HEIGHT_MAX, Layer, Site};
use crate::twin::{constants, uniform};
use cases::cases;
use encase::ShaderType;
use glam::{IVec2, UVec2};
use kernels::{BEGIN, BEGIN_LEDGER, COUNT, CUT, DRAIN, FALL, RAISE_LEDGER, ROUTE};
use plan::plan;
use rayon::prelude::*;

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
    // Sixteenths of all steps by their ends, so that rounding loses none. The first eight are
    // whole.
    let end = |stage: u32| (u64::from(stage) * steps / u64::from(2 * SHORTER)) as u32;
    let shorter = (1..=SHORTER).map(|stage| {
        // Each is shorter than the one before by the same factor.
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
    let ([width, height], p) = ([site.window.width, site.window.height], lines(s, site));
    let rise = rise(s, site);
    // Each step's rise is rounded down by itself, as the plan and the kernel do it.
    let steps: Vec<(i64, i32)> = lengths(s)
        .into_iter()
        .map(|(length, count)| (count.into(), mul_q16(rise, length)))
        .filter(|(count, rise)| *count > 0 && *rise > 0)
        .collect();
    if steps.is_empty() {
        return 0;
    }
    // Without a layer all of the land rises by a share of 1.
    let whole = vec![1 << 16; width as usize];
    let row = |y: usize| match uplift {
        Some(uplift) => &uplift[y * width as usize..][..width as usize],
        None => &whole[..],
    };
    let rise_of = |uplift: &[i32]| -> i64 {
        let in_step =
            |rise| uplift.iter().map(|part| i64::from(mul_q16(rise, *part as u32))).sum::<i64>();
        steps.iter().map(|(count, rise)| count * in_step(*rise)).sum()
    };
    // What keeps its height does not rise.
    let keeps_row = |y: u32| p.keeps(i32::MIN, y as i32);
    let columns: Vec<usize> =
        (0..width).filter(|x| p.keeps(*x as i32, i32::MIN)).map(|x| x as usize).collect();
    let of_rows: i64 = (0..height)
        .into_par_iter()
        .filter(|y| !keeps_row(*y))
        .map(|y| {
            let row = row(y as usize);
            rise_of(row) - columns.iter().map(|x| rise_of(&row[*x..=*x])).sum::<i64>()
        })
        .sum();
    let beyond: i64 = outside
        .iter()
        .map(|at| (at % width as usize, at / width as usize))
        .filter(|(x, y)| !keeps_row(*y as u32) && !columns.contains(x))
        .map(|(x, y)| rise_of(&row(y)[x..=x]))
        .sum();
    of_rows - beyond
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
    // The length of all steps together, 2⁻¹⁶ of a whole step.
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
