//! Brush strokes: a land, or a layer on it, as a person drew it.
//!
//! # Rule
//! The strokes change the map one after another. A stroke has a brush of `radius_m` and a path
//! through points (x, y, pressure), which is cut into equal pieces of at most two radii between one
//! point and the next. The weight of a cell under a piece follows from d, its distance from the
//! nearest place of the piece, and p, the pressure there: q = (d² / r² − (1 − falloff)²) / (1 − (1
//! − falloff)²), clamped to 0..1, and w = p · (1 − q)². Of the pieces of one path the one of the
//! largest weight counts, and of equal ones the nearest, so that a stroke counts once everywhere,
//! however slowly it was drawn.
//! - `raise`, `lower`: h ± w · amount.
//! - `noise`: h + w · amount · (2n − 1), with n the fractal noise of [`super::noise`] on world
//!   coordinates.
//! - `flatten`: h moves towards `height_m` by w · strength of the way.
//! - `ramp`: the same towards a height that goes evenly along the path from one number to another.
//! - `stamp`: h + w · amount · s, or, with a `height_m`, h moves towards `height_m` + amount · s by
//!   w · strength of the way. s is the picture of `file` there, 0 at its lowest sample and 1 at its
//!   highest, with straight lines between samples. A picture with more than √2 samples to a cell is
//!   halved until it has fewer: its samples become means.
//! - `lake`: within its outline the ground is the bed: `level_m` less `depth_m` · t · (2 − t), with
//!   t the distance from the outline over 0.6 of the largest, at most 1. Up to `shore_m` outside,
//!   at least 1.5 cells, it is not below the water, by a hundredth of the distance; with an
//!   `outlet_m`, also a sixty-fourth of a cell above it, but for a way at `level_m`, two cells to
//!   both sides, from the shore to there. Up to the part `falloff` of
//!   `shore_m` outside, h moves towards `level_m` by (1 − u)² · (1 + 2u) of the way, with u the
//!   distance over that. Distances come from a picture of the outline, as that of a stamp. The
//!   outline round a place with a `radius_m` is a circle with waves of two to seven crests.
//! - `river`: a `ramp` of `radius_m` and `falloff`, and along the same path a second brush of half
//!   of `width_m`, at least 0.75 cells, and no falloff: its bed, above which there is no ground.
//!   For 1.5 cells beside the bed the ground is above it by at least what the river falls along a
//!   diagonal there: its banks, which keep water in the bed also where the land is lower.
//! - `smooth`: the same towards the mean of the ground around: the binomial kernel [1 2 1; 2 4 2; 1
//!   2 1] / 16 with its taps 1, 2, 4 … cells apart, up to a quarter of the radius.
//!
//! A stamp is put at each of its points, one after another. Its picture has north on top, is turned
//! clockwise by `turn_deg`, and its longer side is two radii. There w = p · (1 − q)² · (1 − r)²,
//! with q and r as above for the distances from its two middle lines, in halves of its sides: the
//! picture fades towards its edges, and beyond them is nothing.
//!
//! Corners of outlines and of the paths of rivers are rounded.
//!
//! **Held.** After each step of each later stage that changes heights, and last in later stages
//! of strokes, what holds is drawn again: `flatten` and `ramp` with `hold` where their brush does
//! not fade, and lakes and rivers without bending the ground round them, first banks, then lakes,
//! then beds and outlets, and then the lips of lakes: the ground within 1.5 cells of the outline is
//! not below the water. So rivers that cut have them as base levels, and nothing fills or drains
//! them.
//!
//! The heights of a `ramp` or a `river` go evenly from one end to the other, or are given at each
//! point. Those of a river do not rise.
//!
//! A layer is a share of 0 to 1 and is changed in the same way. One that does not exist yet begins
//! as what stages take for granted without it: rain 1, hardness, vegetation and uplift 0.
//!
//! # Shape
//! Paths lie in the world: `at_m` is metres to the east and south of the world's origin, so that a
//! stroke stays where it is when the window moves. On a coarser lattice the same strokes are drawn
//! with its cells. A stroke whose radius is less than a cell there is left out.
//!
//! # Units
//! Heights 2⁻¹⁸ cells; layers 2⁻¹⁶; weights 2⁻¹⁶. Distances 2⁻¹² of the radius, directions 2⁻¹⁴.
//! Places in a picture 2⁻¹⁶ samples, its samples 2⁻¹⁶ of its range.
//!
//! # Limits
//! Radii of one cell to 32767 cells. 2²⁰ pieces of paths, of at most two radii each, and 2²⁵
//! meetings of a piece with a square of 32 by 32 cells. Pictures of 2 to 4096 samples a side, 2²⁴
//! samples of all of a stage. Where a stroke would take the ground beyond ±8000 cells it stops
//! there.
//!
//! # Reach
//! None, but for `smooth`: less than half its radius.
//!
//! # Source
//! The brushes of terrain editors; I. van der Veen, *Hydraulic erosion*, 2024, draws a
//! block-out with such and lets the water do the rest. Stamps of pictures as terrain editors have
//! them, with P. Heckbert, *Texture mapping polygons in perspective*, 1983, for the bilinear place
//! between samples. Corners: G. Chaikin, *An algorithm for high-speed curve generation*, 1974. M.
//! Holschneider et al., *A real-time algorithm for signal analysis with the help of the wavelet
//! transform*, 1989, for a kernel whose taps move apart.
//!
//! # Costs
//! A cell and a piece near it: some 20 operations, two divisions. A smoothing stroke: a pass over
//! the map for each doubling of its width.

mod cases;
mod kernels;
mod plan;
mod stroke;
mod water;

use super::Stage;
use crate::params::{Param, Settings};
use crate::plan::Kernel;
use crate::site::{Layers, Site};
use crate::twin::{constants, uniform};
pub use cases::pictures;
use encase::ShaderType;
pub use plan::near;
use plan::{plan, strips};
pub use stroke::{FARTHEST_M, LAKE_DEPTH_M, LAYER_TOOLS, RIVER_WIDTH_M, TOOLS};
pub use stroke::{Stroke, Tool, describe, strokes};
use water::parts;
pub use water::{OUTLINE_MAX, River, held, rivers};

/// Words of a stroke in its table: tool; amount; heights at both ends of the path; strength; what
/// the weight needs of the falloff (2); lowest and highest value; first octave, octaves; first
/// word, columns and rows of its picture; of a lake, how wide its rim is, 2⁻¹⁵ of what its picture
/// has outside, and by how much the ground rises over all of that. The heights of a lake are those
/// of its water and of its rim, and its strength is how wide the shore is, as a share of the same.
const STROKE_WORDS: usize = 16;
constants! {
    const WGSL: &str;

    /// Words of a piece of a path: its stroke; first point in cells (2) and 2⁻¹² radii (2); 2⁻¹²
    /// radii a cell, 2⁻¹⁶; cells that it reaches; direction (2); length; 2²⁶ / length; pressures at
    /// both ends; shares of the path at both ends. Of a stamp: its stroke; its cell (2); the place
    /// of that cell in the picture, 2⁻¹⁶ samples (2); nothing; cells that it reaches; samples along
    /// a row of the picture for a cell to the east (2) and for one to the south (2), 2⁻¹⁶ and 2⁻³²;
    /// pressure; nothing (3).
    const PIECE_WORDS: usize = 15;
    /// Bits of the side of a square of cells that has a list of the pieces near it.
    const TILE_BITS: u32 = 5;
    const NOISE: u32 = 1;
    const FLATTEN: u32 = 2;
    const STAMP: u32 = 3;
    const PRESS: u32 = 4;
    const LAKE: u32 = 5;
    const LIP: u32 = 6;
    const BANK: u32 = 7;
    const BED: u32 = 8;
}

const RAISE: u32 = 0;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "strokes",
    about: "Brush strokes on the land or on a layer, as a person drew them.",
    changes: true,
    layers: |s| {
        strokes(s)
            .unwrap_or_default()
            .iter()
            .fold(Layers::NONE, |all, s| s.layer.map_or(all, |layer| all.with(layer, true)))
    },
    params: PARAMS,
    shader: constcat::concat!(
        super::octaves::SHADER,
        WGSL,
        Params::WGSL,
        include_str!("../../shaders/strokes.wgsl")
    ),
    kernels: &[
        &PAINT_HEIGHT,
        &PAINT_RAIN,
        &PAINT_HARDNESS,
        &PAINT_VEGETATION,
        &PAINT_UPLIFT,
        &LIFT,
        &SOFTEN,
        &BLEND,
    ],
    check,
    plan,
    reach: |s, site| strokes(s).unwrap_or_default().iter().map(|stroke| stroke.spread(site)).sum(),
    summary,
    cases: cases::cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[Param::list(
    "stroke",
    "a list of tables such as { tool = \"raise\", at_m = [[500, 700], [900, 800]], radius_m = \
     200, amount_m = 50 }",
    "The strokes, in order.",
)];

fn summary(s: &Settings, site: &Site) -> serde_json::Value {
    let all = strokes(s).unwrap_or_default();
    let mut summary = serde_json::json!({ "strokes": all.len(),
        "pieces": strips(s, site, &parts(all.clone())).map_or(0, |all| all.len()) });
    let mut pictures = serde_json::Map::new();
    for file in all.iter().filter_map(|stroke| stroke.file.as_deref()) {
        if let Some(picture) = s.picture(file) {
            pictures.entry(file).or_insert_with(|| picture.describe());
        }
    }
    if !pictures.is_empty() {
        summary["pictures"] = pictures.into();
    }
    summary
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    for (i, stroke) in strokes(s)?.iter().enumerate() {
        stroke.check(i, site).map_err(|e| e.inside("", &format!("/stroke/{i}")))?;
    }
    plan::lists(s, site).map(|_| ())
}

uniform! {
    /// The uniform struct of every pass of this stage.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        /// Squares of cells in a row of them.
        tiles: u32,
        /// Where the lists of this pass begin.
        lists: u32,
        /// Cells of the recipe from one vertex to the next.
        step: i32,
        /// Cells between taps.
        apart: i32,
    }
}

macro_rules! paint {
    ($name:ident, $entry:literal, $owned:literal) => {
        static $name: Kernel = Kernel {
            entry: $entry,
            reads: &["strokes", "pieces", "lists", "octaves", "pictures"],
            owns: &[($owned, 1)],
            adds: &[],
            cpu: kernels::paint,
        };
    };
}

paint!(PAINT_HEIGHT, "paint_height", "height");
paint!(PAINT_RAIN, "paint_rain", "rain");
paint!(PAINT_HARDNESS, "paint_hardness", "hardness");
paint!(PAINT_VEGETATION, "paint_vegetation", "vegetation");
paint!(PAINT_UPLIFT, "paint_uplift", "uplift");

static LIFT: Kernel = Kernel {
    entry: "lift",
    reads: &["height"],
    owns: &[("soft", 1)],
    adds: &[],
    cpu: kernels::lift,
};
static SOFTEN: Kernel = Kernel {
    entry: "soften",
    reads: &["soft"],
    owns: &[("softer", 1)],
    adds: &[],
    cpu: kernels::soften,
};
static BLEND: Kernel = Kernel {
    entry: "blend",
    reads: &["strokes", "pieces", "lists", "soft", "pictures"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: kernels::blend,
};
