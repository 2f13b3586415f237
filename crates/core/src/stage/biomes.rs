//! Biomes: how much of each there is at every cell, and the heights, layers and textures that
//! follow from that.
//!
//! # Rule
//! Points lie all over the world, each in one biome. A cell gives every biome the sum of max(0, r²
//! − d²)² over the biome's points at distances d. The weights are the sums of a cell divided by
//! their total. The methods differ in the points:
//! - `scattered`: the jittered triangular lattice of [`crate::lattice`] with `frequency`. r is
//!   `padding_cells` plus the distance within which there always is a point. No direction is
//!   visible.
//! - `full`: a point in every cell; r is `radius_cells`. The reference, and slow.
//! - `convolved`: points on a square grid of `interval_cells` cells.
//! - `lerped`: the same points, but weights only at the points of the grid, and linear between
//!   them. Fast, and the grid is visible.
//!
//! All biomes near a cell count, and their weights add up to 65536. Biomes 0 to 7 are a group, 8 to
//! 15 the next, and so on. The share of the total that the groups up to each have is rounded down,
//! and a group gets the difference from the one before; so a single group gets all. Within a group
//! each weight is rounded down, and the rest goes by ones to the largest remainders (of equal ones,
//! those of lower number). The textures of `splat` share 255 in the same way, but shares of groups
//! are rounded to the nearest.
//!
//! A point's biome comes from the cell nearest to it:
//! - `noise`: each biome has its own noise (`feature_cells`, `octaves`), and the highest wins (of
//!   equal ones, that of lower number);
//! - `climate`: temperature and moisture, each 0 to 1, select an entry of `table`. Temperature
//!   falls from 1 at the `equator` to 0 over `pole_cells` cells, and by 1 for each `lapse_m` metres
//!   above the sea, and noise changes it by up to `stir`. Moisture is noise, but the share `coast`
//!   of it is the nearness of water, up to `inland_cells` cells away. Ground below `sea_level_m` is
//!   water, and it is the biome `sea`, if there is one; with `water = "rivers"` so are the cells
//!   with a river, a lake, a puddle or the sea of `thalweg::water`, which the run finds before the
//!   stage begins;
//! - `image`: the number 0 in `file` is the first biome, 1 the second. Beyond the border the image
//!   is mirrored.
//!
//! The weights are then used, group by group. The heights of the biomes are blended and replace the
//! ground or are added to it; `hardness`, `rain` and `vegetation` of the biomes become layers;
//! `biome` is the heaviest biome of each cell (of equal ones, that of lower number). `weights`
//! lists all weights with 16 bits: there the heaviest biome has one less, so that a cell has 65535.
//!
//! # Shape
//! The work is done by square chunks of cells. A chunk whose points are all of one biome needs no
//! sums (`skip`), and one that has none of a group's biomes nothing at all for that group. Large
//! maps are made in strips of whole rows of chunks, one after another, in the same records. No
//! result depends on the chunks or the strips.
//!
//! # Levels
//! On a coarser lattice than the recipe's the points and the noise are those of the recipe, at its
//! own places. Radii and distances are divided by the cells of the lattice. A grid is not finer
//! than the lattice.
//!
//! # Units
//! Weights 2⁻¹⁶; positions 2⁻³ to 2⁻⁸ cells, depending on the radius; the share of one point 2⁻³¹
//! of the largest possible total; noise 2⁻¹⁶.
//!
//! # Limits
//! 255 biomes; r up to 1024 cells. Sums are shortened to 24 bits before they are divided. Because
//! groups are rounded first, a weight of more than eight biomes can be two parts of 65536 from its
//! share, and four by `lerped`. The climate clamps heights to 4096 cells above and below the datum.
//!
//! # Reach
//! None for noise. For climate and image, r and how far away water is felt.
//!
//! # Keeps
//! The height, with `heights = "keep"`.
//!
//! # Differs
//! From the article: integers replace floats; records of cells, for eight biomes at a time, replace
//! lists of maps of chunks; the radius of the grids is as given, where its program adds one cell;
//! noise sums three points of the triangle, where OpenSimplex2S sums four. Its hash reaches 9 of
//! the 24 directions of the jitter, this one all of them.
//!
//! # Source
//! K.jpg, *Fast Biome Blending, Without Squareness*, 2021. R. H. Whittaker, *Communities and
//! Ecosystems*, 1975, for the table of temperature and moisture. K. Perlin, *Noise hardware*, 2001,
//! for noise on triangles.
//!
//! # Costs
//! For each group of a chunk, one read of every point near it, and for each of the group's points a
//! few operations a cell; with more than one group twice that, because a weight needs the total of
//! all groups. 4 words a cell, or 5 with new heights, and no more with more biomes; and 10 words
//! for each cell of a strip, of which a map of 1024 x 1024 cells has one.

mod biome;
mod cases;
mod check;
mod kernels;
mod layout;
mod plan;
mod tables;

use super::Stage;
use crate::lattice::{FARTHEST, FREQUENCIES};
use crate::map::{Map, Samples};
use crate::params::{Param, ParamKind, Settings};
use crate::plan::Kernel;
use crate::site::{Layer, Layers, Site};
use crate::twin::{constants, uniform};
pub use check::check_lists;
use check::{check, table};
use encase::ShaderType;
use glam::IVec2;
use kernels::{
    assign, by_climate, by_image, by_noise, census, convolve, dominate, flood, interpolate, list,
    paint, raise, shore, texture,
};
use layout::Layout;
pub use plan::plan_of;
use serde_json::json;

pub use biome::{Biome, BiomeShape, biomes, describe};

/// Most biomes of a recipe.
pub const BIOMES_MAX: usize = 255;
constants! {
    const WGSL: &str;

    /// Biomes whose sums and weights are in memory at a time.
    const GROUP: usize = 8;
    /// Words of a cell: the sums of a group's biomes, which become weights; the sum of all groups
    /// so far; the sum of all groups.
    const RECORD_WORDS: usize = 10;
    /// The place of the sum of all groups so far in a record.
    const SO_FAR: usize = 8;
    /// The place of the sum of all groups in a record.
    const TOTAL: usize = 9;
    /// Words of the set of a chunk's biomes.
    const SET_WORDS: usize = 8;
    /// Words of a point.
    const POINT_WORDS: usize = 2;
    /// Words of a biome: shape, base, first wave, waves, hardness, rain, vegetation, the first and
    /// the number of its waves as a candidate at a point, colour.
    const FORM_WORDS: usize = 10;
    /// Words of a wave, the noise of one frequency: key (2), steps along and across (2), start (4),
    /// amplitude.
    const WAVE_WORDS: usize = 9;
    /// Directions of gradients.
    const GRADIENTS: usize = 24;
    const RIDGED: i32 = 1;
    const DUNES: i32 = 2;
    const ADD: u32 = 2;
    /// A cell has water from this word of the mask on.
    const WET: i32 = 32768;
}

/// Words of the records that are in memory at a time, approximately: 64 MiB. A larger map is made
/// strip by strip.
const RECORDS_MAX: usize = 1 << 24;
/// Side of the largest chunks.
const SIDE_MAX: i64 = 32;
/// Largest radius, in cells.
const RADIUS_MAX: f64 = 1024.0;
/// Most points of a window, approximately.
const POINTS_MAX: f64 = 268_435_456.0;
/// Points that one invocation reads in one pass, approximately.
const GULP: usize = 16384;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "biomes",
    about: "Biomes, blended without a visible grid: their heights, layers, textures and map.",
    changes: true,
    layers,
    samples: |s| (s.word("from") == "image").then_some(Samples::Numbers),
    params: PARAMS,
    shader: constcat::concat!(WGSL, Params::WGSL, include_str!("../../shaders/biomes.wgsl")),
    kernels: &[
        &SHORE,
        &FLOOD,
        &BY_NOISE,
        &BY_CLIMATE,
        &BY_IMAGE,
        &CENSUS,
        &CONVOLVE,
        &INTERPOLATE,
        &DOMINATE,
        &PAINT,
        &RAISE,
        &ASSIGN_RAIN,
        &ASSIGN_HARDNESS,
        &ASSIGN_VEGETATION,
        &TEXTURE,
        &LIST,
    ],
    maps: &["biome", "biome_colour"],
    check,
    plan: |s, site| plan_of(s, site, RECORDS_MAX),
    reach,
    summary,
    cases: cases::cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::choice(
        "method",
        &["scattered", "full", "convolved", "lerped"],
        "Where weights come from: scattered points, every cell, a square grid, or a square grid \
         with linear interpolation.",
    ),
    Param::number(
        "frequency",
        "1/cells",
        [FREQUENCIES[0], FREQUENCIES[1], 0.04],
        "Scattered only: density of the points; a cell has 1.73 times its square of them.",
    ),
    Param::number(
        "padding_cells",
        "cells",
        [1.0, 512.0, 32.0],
        "Scattered only: the radius is this plus 1.18 / frequency, within which there always is a \
         point.",
    ),
    Param::number(
        "radius_cells",
        "cells",
        [1.0, 512.0, 24.0],
        "The other methods only: how far the influence of a point reaches.",
    ),
    Param::integer(
        "interval_cells",
        "cells",
        [2, 128, 8],
        "Convolved and lerped only: spacing of the grid.",
    ),
    Param {
        name: "chunk_cells",
        unit: "cells",
        kind: ParamKind::Choice(&["16", "8", "32"]),
        doc: "Side of the squares in which the work is done. Only the speed depends on it.",
    },
    Param::switch(
        "skip",
        true,
        "Skip the sums where there is only one biome. Only the speed depends on it.",
    ),
    Param::choice(
        "from",
        &["noise", "climate", "image"],
        "How a point gets its biome: noise for each biome, of which the highest wins; temperature \
         and moisture; or a picture.",
    ),
    Param::file(
        "file",
        "A picture with 8 bits a sample and the terrain's size. The palette index or grey level 0 \
         is the first biome, 1 the second.",
    ),
    Param::number(
        "feature_cells",
        "cells",
        [2.0, 1e6, 500.0],
        "Noise and climate only: size of the largest features.",
    ),
    Param::integer(
        "octaves",
        "",
        [1, 8, 2],
        "Noise and climate only: number of octaves, each with half the size and half the strength \
         of the last.",
    ),
    Param::list(
        "table",
        "rows from cold to hot, each with the same number of names of biomes from dry to wet",
        "Climate only: the biome of each temperature and moisture.",
    ),
    Param::number(
        "sea_level_m",
        "m",
        [-1e6, 1e6, 0.0],
        "Climate only: ground below it is water, and the biome called sea, if there is one.",
    ),
    Param::integer(
        "equator",
        "cells",
        [-(1 << 40), 1 << 40, 0],
        "Climate only: the world row where it is hottest.",
    ),
    Param::integer(
        "pole_cells",
        "cells",
        [1, 65535, 8192],
        "Climate only: distance from the equator over which the temperature falls from 1 to 0.",
    ),
    Param::number(
        "lapse_m",
        "m",
        [1.0, 1e6, 5000.0],
        "Climate only: height above the sea at which the temperature has fallen by 1.",
    ),
    Param::choice(
        "water",
        &["sea", "rivers"],
        "Climate only: what water is near. sea: ground below sea_level_m. rivers: that, and the \
         sea, the lakes, puddles and rivers of the table [water] on the ground before this stage.",
    ),
    Param::integer(
        "inland_cells",
        "cells",
        [1, 2048, 128],
        "Climate only: how far inland the nearness of water counts.",
    ),
    Param::number(
        "coast",
        "",
        [0.0, 1.0, 0.3],
        "Climate only: share of the moisture that comes from the nearness of water. The rest is \
         noise.",
    ),
    Param::number(
        "stir",
        "",
        [0.0, 1.0, 0.1],
        "Climate only: how much noise changes the temperature, up or down.",
    ),
    Param::choice(
        "heights",
        &["keep", "replace", "add"],
        "What happens to the ground: it stays, is replaced by the blended heights of the biomes, \
         or these are added to it.",
    ),
    Param::switch(
        "splat",
        false,
        "Make textures of the weights. Red, green, blue and alpha are four biomes, and the texels \
         of a cell add up to 255.",
    ),
    Param::choice(
        "weights",
        &["none", "npy", "exr"],
        "Make biome_weights, a file of this format with the weights of every biome: 16 bits each, \
         and 65535 in all in every cell.",
    ),
    Param::list(
        "biome",
        "1 to 255 tables: name, colour, shape, base_m, relief_m, frequency, amplitudes, hardness, rain, vegetation",
        "The biomes. Without this list, the article's four: forest, plains, mountains, desert.",
    ),
];

/// How many textures the stage makes of the weights, four biomes each.
pub fn textures(s: &Settings) -> usize {
    if s.switch("splat") { biomes(s).map_or(0, |all| all.len().div_ceil(4)) } else { 0 }
}

/// How many words a cell has in the list of the weights of all biomes, two biomes each; 0 if there
/// is none.
pub fn pairs(s: &Settings) -> usize {
    if s.word("weights") != "none" { biomes(s).map_or(0, |all| all.len().div_ceil(2)) } else { 0 }
}

/// How far the influence of a point reaches, in cells.
pub fn radius(s: &Settings) -> f64 {
    match s.word("method") {
        "scattered" => s.number("padding_cells") + FARTHEST / s.number("frequency"),
        _ => s.number("radius_cells"),
    }
}

fn layers(s: &Settings) -> Layers {
    let all = biomes(s).unwrap_or_default();
    let any = |of: fn(&Biome) -> Option<f64>| all.iter().any(|b| of(b).is_some());
    let rained = Layers::NONE.with(Layer::Rain, any(|b| b.rain));
    rained.with(Layer::Hardness, any(|b| b.hardness)).with(Layer::Vegetation, any(|b| b.vegetation))
}

/// The words of a picture whose samples are numbers of biomes.
///
/// # Errors
/// An error text that says which sample is wrong.
pub fn mask(s: &Settings, map: &Map) -> Result<Vec<i32>, String> {
    let count = biomes(s).map_err(|e| e.to_string())?.len();
    match map.data.iter().position(|v| v.fract() != 0.0 || !(0.0..count as f32).contains(v)) {
        None => Ok(map.data.iter().map(|v| (v / 255.0 * 65536.0).round() as i32).collect()),
        Some(at) => Err(format!(
            "{} in column {}, row {}: there are {count} biomes, so the whole numbers 0 to {} are \
             allowed",
            map.data[at],
            at % map.width as usize,
            at / map.width as usize,
            count - 1
        )),
    }
}

fn reach(s: &Settings, site: &Site) -> u64 {
    let layout = Layout::new(s, site);
    let felt = layout.radius.ceil() as u64 + 2 * layout.interval as u64;
    match s.word("from") {
        "noise" => 0,
        // The steps of a flood are powers of two, and add up to at most four times the distance at
        // which water counts.
        "climate" => felt + 4 * inland(s, site) as u64,
        _ => felt,
    }
}

/// Whether the stage is told where rivers and lakes are.
pub fn takes_water(s: &Settings) -> bool {
    s.word("from") == "climate" && s.word("water") == "rivers"
}

/// How far inland water is felt, in cells of the lattice.
fn inland(s: &Settings, site: &Site) -> i64 {
    (s.integer("inland_cells") / site.stride()[0]).max(1)
}

fn summary(s: &Settings, site: &Site) -> serde_json::Value {
    let layout = Layout::new(s, site);
    let names: Vec<String> = biomes(s).unwrap_or_default().into_iter().map(|b| b.name).collect();
    json!({ "radius_cells": radius(s), "chunks": layout.chunks[0] * layout.chunks[1],
        "biomes": names })
}

uniform! {
    /// The uniform struct of every pass of this stage.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        /// The window.
        width: i32,
        height: i32,
        /// Cells between the first cell that can hold points and the first cell of the window.
        margin: i32,
        /// Chunks have 2^bits cells or nodes a side, and buckets the same number of cells.
        bits: u32,
        chunks_across: i32,
        /// The first cell or node of the first chunk, in the coordinates of points, and the cells
        /// from one to the next.
        start: IVec2,
        step: i32,
        buckets_across: i32,
        buckets_down: i32,
        /// The rows of buckets near a chunk that this pass reads.
        rows_from: i32,
        rows_to: i32,
        /// Whether this is the first and whether it is the last pass over the rows.
        opens: u32,
        closes: u32,
        /// The group of biomes, whether this pass adds it to the total of all groups, and whether
        /// it makes weights of its sums.
        group: u32,
        counts: u32,
        weighs: u32,
        skip: u32,
        /// How far the influence of a point reaches, in cells, rounded up; and its square, in the
        /// fraction of positions.
        reach: i32,
        square: u32,
        fraction: u32,
        shorten: u32,
        halve: u32,
        biomes: u32,
        /// The chunks of nodes, for the interpolation between nodes.
        node_start: IVec2,
        node_chunks_across: i32,
        interval: i32,
        heights: u32,
        /// Climate: the row of the equator, in the coordinates of points; the distance to the pole;
        /// the height of the sea; the height above it at which the temperature has fallen by 1,
        /// shortened; how far inland water counts; its share and the amplitude of the temperature's
        /// noise, 2⁻¹⁶.
        equator: i32,
        pole: i32,
        sea: i32,
        lapse: u32,
        lapse_shift: u32,
        inland: u32,
        coast: u32,
        stir: i32,
        columns: u32,
        rows: u32,
        /// The biome below the sea, or −1.
        below: i32,
        octaves: u32,
        /// The step of a flood.
        leap: i32,
        /// How much coarser the lattice is than the recipe's, as a power of two.
        level: u32,
        /// Whether the mask says where there is water besides.
        wet: u32,
        /// The first chunk of the strip.
        strip: i32,
        /// Whether the records of chunks without a biome of a group are left as they were.
        sparse: u32,
    }
}

macro_rules! kernel {
    ($name:ident, $entry:literal, $cpu:expr, $reads:expr, $owned:literal, $words:expr) => {
        static $name: Kernel = Kernel {
            entry: $entry,
            reads: &$reads,
            owns: &[($owned, $words)],
            adds: &[],
            cpu: $cpu,
        };
    };
}
kernel!(BY_NOISE, "by_noise", by_noise, ["points", "forms", "waves", "gradients"], "kinds", 1);
kernel!(SHORE, "shore", shore, ["height", "mask"], "water", 1);
kernel!(FLOOD, "flood", flood, ["before"], "water", 1);
kernel!(
    BY_CLIMATE,
    "by_climate",
    by_climate,
    ["points", "height", "water", "table", "waves", "gradients"],
    "kinds",
    1
);
kernel!(BY_IMAGE, "by_image", by_image, ["points", "mask"], "kinds", 1);
kernel!(CENSUS, "census", census, ["points", "kinds", "buckets"], "sets", SET_WORDS);
kernel!(
    CONVOLVE,
    "convolve",
    convolve,
    ["points", "kinds", "buckets", "sets"],
    "records",
    RECORD_WORDS
);
kernel!(INTERPOLATE, "interpolate", interpolate, ["nodes"], "records", RECORD_WORDS);
kernel!(DOMINATE, "dominate", dominate, ["records", "sets"], "biome", 1);
static PAINT: Kernel = Kernel {
    entry: "paint",
    reads: &["records", "sets", "forms"],
    owns: &[("red", 1), ("green", 1), ("biome_colour", 1)],
    adds: &[],
    cpu: paint,
};
static RAISE: Kernel = Kernel {
    entry: "raise",
    reads: &["records", "sets", "forms", "waves", "gradients"],
    owns: &[("lift", 1), ("height", 1)],
    adds: &[],
    cpu: raise,
};
kernel!(
    ASSIGN_HARDNESS,
    "assign_hardness",
    assign::<4>,
    ["records", "sets", "forms"],
    "hardness",
    1
);
kernel!(ASSIGN_RAIN, "assign_rain", assign::<5>, ["records", "sets", "forms"], "rain", 1);
kernel!(
    ASSIGN_VEGETATION,
    "assign_vegetation",
    assign::<6>,
    ["records", "sets", "forms"],
    "vegetation",
    1
);
kernel!(TEXTURE, "texture", texture, ["records", "sets"], "splat", 1);
kernel!(LIST, "list", list, ["records", "sets"], "weights", 1);
