//! The coast: how far away and in which direction it is, and where there are beaches. Jump flooding
//! of shapes, exact.
//!
//! # Rule
//! Land is what lies at `sea_level_m` or above it, or where the samples of a file are a half or
//! more. A cell of land with the sea at one of its four sides is a cell of the coast. For a cell of
//! the sea the nearest cell of the coast is the nearest cell of all land, since the way there ends
//! at the sea's side; so shapes are flooded, not points. Each cell finds the cell of the coast that
//! is nearest to it; of equally near ones the northernmost, of these the westernmost. If it is more
//! than `within_cells` cells away the cell has none.
//!
//! - `mark` (gather): a cell of the coast knows its own row.
//! - `fall` (gather), with a step of 2ⁿ down to 1: of the rows that a cell and the two of its
//!   column at the step know, the nearest. Then each cell knows the nearest cell of the coast in
//!   its column. In a line jump flooding is exact: a cell between another one and what is nearest
//!   to that one knows nothing nearer to itself, or it would be nearer to the other, too.
//! - `spread` (gather), with a step of 2ⁿ down to 1: a cell in the middle between two that know
//!   their nearest column looks through the columns between those two. What is nearest never goes
//!   back along a row: if column p is no farther than column u < p at a place, it is nearer at all
//!   places to the east. The first step has no two such cells, and looks through all that is
//!   `within_cells`.
//! - `measure` (gather): the offset to the nearest cell, and the beach.
//!
//! A beach is land near the coast, low and gentle: the product of three shares, of the distance to
//! the coast to `beach_width_m`, of the height above the sea to `beach_height_m`, and of the
//! steepest step to one of the four neighbours to `beach_slope`. A share is 1 up to half of its
//! limit and falls from there to 0.
//!
//! # Shape
//! Reads `height`, leaves it, and leaves two words a cell: `coast` and `beach`, row-major, y south.
//!
//! # Units
//! `coast`: cells to the east in the low 16 bits and to the south in the high 16 bits, both with a
//! sign; −2³¹ where there is none. `beach`: 2⁻¹⁶.
//!
//! # Limits
//! `within_cells` is at most 4096 cells, so that no invocation looks at more than 8193 columns.
//! What lies round the map is neither land nor sea.
//!
//! # Reach
//! `within_cells` and one cell: a window knows of no land beyond it, and a cell at its border may
//! be a cell of the coast.
//!
//! # Keeps
//! The height.
//!
//! # Differs
//! From Talle: plain jump flooding lets cells of a plane know what eight others know, and errs
//! where the nearest cell is not the nearest of any of those. A second pass of steps makes that
//! rarer and not impossible. Columns first and rows then cannot err, and are as many passes.
//!
//! # Source
//! J. Talle, *Simulating hydraulic erosion*, 2020, for the flooding of shapes; G. Rong, T.-S. Tan,
//! *Jump flooding in GPU with applications to Voronoi diagram and distance transform*, 2006;
//! columns before rows: T. Saito, J. Toriwaki, *New algorithms for Euclidean distance
//! transformation*, 1994.
//!
//! # Costs
//! A cell: 3 reads and a write in each of log₂(`within_cells`) passes along columns; a write and
//! some 3 reads in each of as many along rows. Memory: 24 bytes a cell.

use super::Surface::{Cone, Flat, Hills, Noise};
use super::case::case;
use super::{Case, Stage};
use crate::arith::{CELL, NOWHERE};
use crate::error::Invalid;
use crate::map::Samples;
use crate::params::{Param, Settings, rounded};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::{HEIGHT_MAX, Site};
use crate::twin::uniform;
use encase::ShaderType;
use multiversion::multiversion;
use std::ops::RangeInclusive;

/// Largest distance at which a coast is looked for, in cells.
const FARTHEST: i64 = 4096;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "shore",
    about: "Distance and direction to the nearest coast, and beaches, as maps.",
    samples: |s| (s.word("from") == "file").then_some(Samples::Shares),
    params: PARAMS,
    shader: constcat::concat!(Params::WGSL, include_str!("../../shaders/shore.wgsl")),
    kernels: &[&MARK, &FALL, &SPREAD, &MEASURE],
    maps: &["coast_distance", "coast_direction", "beach"],
    check,
    plan,
    reach: |s, _| s.integer("within_cells") as u64 + 1,
    summary: |s, _| serde_json::json!({ "within_cells": s.integer("within_cells") }),
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::number(
        "sea_level_m",
        "m",
        [-1e6, 1e6, 0.0],
        "Height of the sea. Ground at this height or above it is land.",
    ),
    Param::choice("from", &["height", "file"], "What land is: by its height, or by a file."),
    Param::file(
        "file",
        "A map of the same size as the terrain: samples of a half or more are land. The samples of \
         a picture are scaled to 0 to 1.",
    ),
    Param::integer(
        "within_cells",
        "cells",
        [1, FARTHEST, 256],
        "How far away a coast is looked for. Tiles overlap by as much.",
    ),
    Param::number(
        "beach_width_m",
        "m",
        [0.0, 1e6, 120.0],
        "Distance from the coast at which beaches end. With 0 there are none.",
    ),
    Param::number(
        "beach_height_m",
        "m",
        [0.0, 1e6, 20.0],
        "Height above the sea at which beaches end. With 0 there are none.",
    ),
    Param::number(
        "beach_slope",
        "",
        [0.0, 16.0, 0.4],
        "Slope at which beaches end, rise per run. With 0 there are none.",
    ),
];

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let most = HEIGHT_MAX as f64 * site.spacing_m();
    for (name, from) in [("sea_level_m", site.datum_m()), ("beach_height_m", 0.0)] {
        let value = s.number(name);
        if (value - from).abs() > most {
            return Err(Invalid::from(format!(
                "{name} = {value} m at spacing_m = {}: allowed up to {HEIGHT_MAX} cells from {} m, \
                 {} to {} m",
                rounded(site.spacing_m()),
                rounded(from),
                rounded((from - most).max(if from == 0.0 && name != "sea_level_m" {
                    0.0
                } else {
                    f64::MIN
                })),
                rounded(from + most)
            ))
            .about(name)
            .into());
        }
    }
    if s.word("from") == "height" && !s.word("file").is_empty() {
        let file = s.word("file");
        let message = format!(
            "file = {file:?} with from = \"height\": land is a file's with from = \"file\" alone; \
             set that, or leave file out"
        );
        return Err(Invalid::of("file", format!("{file:?}"), "a name with from = \"file\"")
            .saying(message)
            .into());
    }
    if s.word("from") == "file" && s.word("file").is_empty() {
        return Err(Invalid::from("from = \"file\": file is missing; name one".to_string())
            .about("file")
            .into());
    }
    Ok(())
}

uniform! {
    /// The uniform struct of every pass of this stage.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        /// The height of the sea; whether land is what the mask says.
        sea: i32,
        masked: u32,
        /// How far a coast is looked for.
        within: i32,
        /// How far apart cells are that look at each other; along rows, how far apart those are
        /// that know, 0 if none do.
        step: i32,
        coarse: i32,
        /// The limits of a beach: the square of its width in cells, its height and its slope.
        wide: u32,
        high: u32,
        steep: u32,
    }
}

static MARK: Kernel = Kernel {
    entry: "mark",
    reads: &["height", "mask"],
    owns: &[("near", 1)],
    adds: &[],
    cpu: mark,
};
static FALL: Kernel =
    Kernel { entry: "fall", reads: &["near"], owns: &[("spare", 1)], adds: &[], cpu: fall };
static SPREAD: Kernel = Kernel {
    entry: "spread",
    reads: &["near", "found"],
    owns: &[("spare", 1)],
    adds: &[],
    cpu: spread,
};
static MEASURE: Kernel = Kernel {
    entry: "measure",
    reads: &["height", "mask", "near", "found"],
    owns: &[("coast", 1), ("beach", 1)],
    adds: &[],
    cpu: measure,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let within = s.integer("within_cells") as i32;
    let wide = (s.number("beach_width_m") / site.spacing_m()).min(FARTHEST as f64);
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        sea: site.height_of(s.number("sea_level_m")),
        masked: (s.word("from") == "file") as u32,
        within,
        step: 0,
        coarse: 0,
        wide: (wide * wide).floor() as u32,
        high: site.units(s.number("beach_height_m")) as u32,
        steep: (s.number("beach_slope") * f64::from(CELL)).round() as u32,
    };
    let pass = |kernel, params: Params| Pass::over(kernel, Uniform::of(params), window);
    let mut passes = vec![pass(&MARK, params)];
    // Steps from a power of two down to 1 add up to one less than its double.
    let far = within.min(params.height - 1);
    for n in (0..=far.max(1).ilog2()).rev() {
        passes.push(pass(&FALL, Params { step: 1 << n, ..params }).swapping(&[["near", "spare"]]));
    }
    let mut coarse = 0;
    for n in (0..=within.min(params.width).ilog2()).rev() {
        let step = 1 << n;
        passes
            .push(pass(&SPREAD, Params { step, coarse, ..params }).swapping(&[["found", "spare"]]));
        coarse = step;
    }
    passes.push(pass(&MEASURE, params));
    let cells = |name| Buffer::cells(name, window, 1).unset();
    let buffers = vec![
        Buffer::height(window),
        Buffer { keep: None, ..Buffer::layer("mask", window, 1, params.masked == 1) },
        cells("near"),
        cells("found"),
        cells("spare"),
        cells("coast").kept(),
        cells("beach").kept(),
    ];
    Plan::new(STAGE.shader, *window, buffers, passes)
}

/// Whether a cell is land.
#[inline(always)]
fn is_land(p: &Params, height: &[i32], mask: &[i32], at: usize) -> bool {
    if p.masked == 1 { mask[at] >= 32768 } else { height[at] >= p.sea }
}

/// The four neighbours of a cell that are in the window.
#[inline(always)]
fn beside(p: &Params, at: usize) -> impl Iterator<Item = usize> {
    let (w, x, y) = (p.width as usize, at as i32 % p.width, at as i32 / p.width);
    let there = [x > 0, x + 1 < p.width, y > 0, y + 1 < p.height];
    // A cell of the first row or column has no cell before it, so this wraps where it is not used.
    let cells = [at.wrapping_sub(1), at + 1, at.wrapping_sub(w), at + w];
    cells.into_iter().zip(there).filter(|(_, there)| *there).map(|(cell, _)| cell)
}

fn mark(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, mask] = call.reads else { return };
    for (at, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let at = at as usize;
        let coast = is_land(p, height, mask, at)
            && beside(p, at).any(|cell| !is_land(p, height, mask, cell));
        *own = if coast { at as i32 / p.width } else { -1 };
    }
}

fn fall(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let first = call.range.start as i32 / p.width;
    for (y, own) in (first..).zip(call.owns[0].chunks_exact_mut(w)) {
        own.fill(-1);
        // From the north, so that of two equally near rows the first stays.
        for from in [y - p.step, y, y + p.step].into_iter().filter(|y| (0..p.height).contains(y)) {
            fall_from(y, &call.reads[0][from as usize * w..][..w], own);
        }
    }
}

/// Puts the rows of coast that another row knows of where they are nearer to row `y`.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn fall_from(y: i32, others: &[i32], own: &mut [i32]) {
    for (own, &other) in own.iter_mut().zip(others) {
        let far = |row: i32| if row < 0 { i32::MAX } else { (row - y).abs() };
        let (new, old) = (far(other), far(*own));
        *own = if new < old || new == old && other < *own { other } else { *own };
    }
}

fn spread(call: &mut Call) {
    let p: &Params = call.params();
    let &[near, found] = call.reads else { return };
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    for (y, own) in (first..).zip(call.owns[0].chunks_exact_mut(w)) {
        let (near, found) = (&near[y * w..][..w], &found[y * w..][..w]);
        if p.coarse > 0 {
            // Odd multiples of the step lie between two multiples of the coarser one, which are
            // done. Nothing is known elsewhere.
            own.copy_from_slice(found);
            for x in (p.step..p.width).step_by(2 * p.step as usize) {
                own[x as usize] = nearest(p, y as i32, near, x, between(p, found, x));
            }
        } else {
            own.fill(-1);
            for x in (0..p.width).step_by(p.step as usize) {
                own[x as usize] = nearest(p, y as i32, near, x, x - p.within..=x + p.within);
            }
        }
    }
}

/// The columns in which the nearest coast of a cell can be, as those found a step to the west and
/// to the east of it say.
fn between(p: &Params, found: &[i32], x: i32) -> RangeInclusive<i32> {
    let (west, east) = (x - p.step, x + p.step);
    let known = found[west as usize];
    // Where the western one has found nothing, all columns that it could see are empty.
    let low = if known >= 0 { known } else { west + p.within + 1 };
    let high = match found.get(east as usize) {
        Some(&known) if known >= 0 => known,
        Some(_) => east - p.within - 1,
        None => i32::MAX,
    };
    low.max(x - p.within)..=high.min(x + p.within)
}

/// The column in which the nearest coast of a cell is, of some columns of its row; −1 if there is
/// none.
fn nearest(p: &Params, y: i32, near: &[i32], x: i32, columns: RangeInclusive<i32>) -> i32 {
    let (low, high) = ((*columns.start()).max(0), (*columns.end()).min(p.width - 1));
    let (mut best, mut row, mut column) = (i32::MAX, -1, -1);
    for u in low..=high {
        let other = near[u as usize];
        if other < 0 {
            continue;
        }
        let far = (u - x) * (u - x) + (other - y) * (other - y);
        // Columns go from the west, so of equally near cells of a row the westernmost stays.
        if far < best || far == best && other < row {
            (best, row, column) = (far, other, u);
        }
    }
    column
}

/// 128 up to half of the limit, falling from there to 0.
#[inline(always)]
fn share(value: u32, limit: u32) -> u32 {
    // 2²⁴ · 128 is the most that the product can be.
    let shift = (32 - limit.leading_zeros()).saturating_sub(24);
    let (value, limit) = (value.min(limit) >> (shift & 31), limit >> (shift & 31));
    (value * 128).checked_div(limit).map_or(0, |parts| (2 * (128 - parts)).min(128))
}

fn measure(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, mask, near, found] = call.reads else { return };
    let [coasts, beaches] = call.owns else { return };
    for (at, (coast, beach)) in call.range.clone().zip(coasts.iter_mut().zip(beaches.iter_mut())) {
        let (x, y) = (at as i32 % p.width, at as i32 / p.width);
        (*coast, *beach) = (NOWHERE, 0);
        let column = found[at as usize];
        if column < 0 {
            continue;
        }
        let (east, south) = (column - x, near[(y * p.width + column) as usize] - y);
        let square = east * east + south * south;
        // Steps along a column can add up to more than the distance.
        if square > p.within * p.within {
            continue;
        }
        *coast = (south << 16) | (east & 0xffff);
        let at = at as usize;
        if !is_land(p, height, mask, at) {
            continue;
        }
        let here = height[at];
        let steepest = beside(p, at).map(|cell| here.abs_diff(height[cell])).max().unwrap_or(0);
        let above = here.max(p.sea).abs_diff(p.sea);
        let shares = share(square as u32, p.wide) * share(above, p.high) * share(steepest, p.steep);
        // Three shares of 2⁷ make 2²¹.
        *beach = (shares >> 5) as i32;
    }
}

fn cases() -> Vec<Case> {
    vec![
        case("default", Hills, [-7, 12], [96, 80]).with("sea_level_m", 180.0),
        case("near", Hills, [-7, 12], [83, 67])
            .with("sea_level_m", 200.0)
            .with("within_cells", 5)
            .with("beach_height_m", 60.0)
            .with("beach_slope", 2.0),
        case("round", Cone, [-7, 12], [101, 90])
            .with("sea_level_m", 160.0)
            .with("within_cells", 19),
        case("wild", Noise, [-7, 12], [40, 33])
            .with("within_cells", 4096)
            .with("beach_width_m", 1e6)
            .with("beach_height_m", 8e4),
        case("dry", Flat, [-7, 12], [20, 11]).with("sea_level_m", -9.0),
        case("mask", Hills, [-7, 12], [45, 38])
            .with("from", "file")
            .with("file", "mask.png")
            .with("within_cells", 3),
        case("narrow", Hills, [-7, 12], [1, 90])
            .with("sea_level_m", 200.0)
            .with("within_cells", 64),
        case("low", Hills, [-7, 12], [90, 1]).with("sea_level_m", 200.0).with("within_cells", 64),
    ]
}
