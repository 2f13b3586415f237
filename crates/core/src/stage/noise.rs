//! Fractal noise: plains, hills and ridges without an end.
//!
//! # Rule
//! `octaves` of noise are summed, of which the first has a lattice of `feature_cells` cells, and
//! each next one is finer by `lacunarity` and weighs `gain` times as much. The weights wᵢ sum to 1.
//! The noises nᵢ, 0 to 1, are those of [`super::fractal`]: `gradient`, `value`, `cellular` or
//! `borders`. With bᵢ = |2nᵢ − 1|, the sum is
//! - `fbm`: Σ wᵢ nᵢ;
//! - `billow`: Σ wᵢ bᵢ, round heaps with sharp valleys;
//! - `ridged`: Σ wᵢ rᵢ (1 − bᵢ)² with r₁ = 1 and rᵢ₊₁ = min(1, 2 rᵢ (1 − bᵢ)²), so that ridges have
//!   detail and valleys are smooth;
//!
//! and the height is `base_m` + `relief_m` · the sum, clamped to 0..1.
//!
//! With `warp_cells`, the place is moved first by up to that many cells along each axis: by three
//! octaves of gradient noise, which is ½ of `feature_cells` wide, or `warp_feature_cells`.
//!
//! # Shape
//! The unbounded world. A vertex depends on its world coordinates alone, and has its height on
//! every level that has the vertex.
//!
//! # Units
//! Noise 2⁻²⁸; places on a lattice 2⁻²⁸ of its spacing, of points within a square (cellular,
//! borders) 2⁻¹⁴; displacements 2⁻²⁰ of a spacing; spacings 2⁻¹⁶ cells.
//!
//! # Limits
//! The finest lattice has a spacing of at least one cell. A lattice repeats after 2³² squares. A
//! warp is at most 1000 cells.
//!
//! # Reach
//! None.
//!
//! # Differs
//! From the published forms: integers replace floats, and hashes a shuffled table. `ridged` has the
//! offset 1 and the gain 2.
//!
//! # Source
//! K. Perlin, *An Image Synthesizer*, 1985; F. K. Musgrave, C. E. Kolb, R. S. Mace, *The Synthesis
//! and Rendering of Eroded Fractal Terrains*, 1989; D. S. Ebert and others, *Texturing and
//! Modeling*, 1994, for the ridged sum; S. Worley, *A Cellular Texture Basis Function*, 1996;
//! domain warping as I. Quilez, *Domain Warping*, 2002, has it, with one level.
//!
//! # Costs
//! A cell and octave: 4 hashes (cellular and borders 21) and some 12 products; with a warp 6
//! octaves more. Memory: 4 bytes a cell, and 16 bytes for each octave and cell of a side.

use super::Surface::{Flat, Hills};
use super::case::case;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use super::fractal::{self, ONE, Octaves, Tables, WAVE_WORDS, in_squares, moved, shift, spots};
use super::{Case, Stage};
use crate::arith::mul_q28;
use crate::error::Invalid;
use crate::params::{Param, Settings, rounded};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::{Layer, Layers, Site};
use crate::twin::{constants, uniform};
use encase::ShaderType;
use multiversion::multiversion;

constants! {
    const WGSL: &str;

    const BILLOW: u32 = 1;
    const RIDGED: u32 = 2;
    /// Octaves of the warp, along each axis.
    const WARP_OCTAVES: u32 = 3;
}

/// The stage.
pub static STAGE: Stage = Stage {
    name: "noise",
    about: "Fractal noise: hills, ridges, heaps or cells, without an end.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(
        fractal::SHADER,
        WGSL,
        Params::WGSL,
        include_str!("../../shaders/noise.wgsl")
    ),
    kernels: &[&SUM],
    check,
    plan,
    summary: |s, _| serde_json::json!({ "finest_lattice_cells": rounded(finest(s)) }),
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::choice(
        "pattern",
        &["gradient", "value", "cellular", "borders"],
        "The noise that is summed. cellular is the distance to the nearest of scattered points, \
         borders how much farther the second is.",
    ),
    Param::choice(
        "form",
        &["fbm", "billow", "ridged"],
        "How octaves are summed: as they are, folded to round heaps, or folded to ridges.",
    ),
    Param::number(
        "feature_cells",
        "cells",
        [1.0, 1e6, 256.0],
        "Spacing of the coarsest lattice: the size of the largest hills.",
    ),
    Param::integer(
        "octaves",
        "",
        [1, 16, 6],
        "Number of noises that are added, each finer than the last.",
    ),
    Param::number(
        "lacunarity",
        "",
        [1.0, 4.0, 2.0],
        "Factor by which an octave is finer than the last.",
    ),
    Param::number("gain", "", [0.0, 1.0, 0.5], "Weight of an octave compared with the last."),
    Param::number(
        "warp_cells",
        "cells",
        [0.0, 1000.0, 0.0],
        "How far another noise moves places along each axis, at most.",
    ),
    Param::number(
        "warp_feature_cells",
        "cells",
        [0.0, 1e6, 0.0],
        "Spacing of the coarsest lattice of that noise, 4 or more. 0: half of feature_cells.",
    ),
    Param::number(
        "relief_m",
        "m",
        [0.0, 1e6, 1000.0],
        "Height of the value 1 above that of the value 0.",
    ),
    Param::number("base_m", "m", [-1e6, 1e6, 0.0], "Height of the value 0."),
    COMBINE,
    MASK,
    SHARE,
    ONE_M,
];

/// The octaves that are summed.
fn octaves(s: &Settings) -> Octaves {
    let [feature, lacunarity, gain] =
        ["feature_cells", "lacunarity", "gain"].map(|name| s.number(name));
    Octaves { count: s.integer("octaves") as usize, feature, lacunarity, gain }
}

/// Spacing of the finest lattice, cells.
fn finest(s: &Settings) -> f64 {
    octaves(s).spacings().last().unwrap_or_default()
}

/// The octaves of the warp.
pub(super) fn warping(feature: f64) -> Octaves {
    Octaves { count: WARP_OCTAVES as usize, feature: feature.max(4.0), lacunarity: 2.0, gain: 0.5 }
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    if finest(s) < 1.0 {
        let message = format!(
            "octaves = {} of lacunarity = {} under feature_cells = {} cells: the finest lattice \
             would \
             have a spacing of {:.3} cells: allowed 1 or more; lower octaves or lacunarity, or \
             raise feature",
            s.integer("octaves"),
            s.number("lacunarity"),
            s.number("feature_cells"),
            finest(s)
        );
        return Err(Invalid::from(message).about("octaves").into());
    }
    let feature = s.number("warp_feature_cells");
    if feature != 0.0 && feature < 4.0 {
        let message = format!(
            "warp_feature_cells = {feature} cells: allowed 0, for half of feature_cells, or 4 to \
             1000000"
        );
        return Err(Invalid::of("warp_feature_cells", feature, "0, or 4 to 1000000")
            .saying(message)
            .into());
    }
    let (relief, base) = (s.number("relief_m"), s.number("base_m"));
    combine::check_heights(site, &[("base_m", base), ("base_m + relief_m", base + relief)])
}

uniform! {
    /// The uniform struct of the pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        octaves: u32,
        pattern: u32,
        form: u32,
        warped: u32,
        base: i32,
        relief: i32,
    }
}

static SUM: Kernel = Kernel {
    entry: "sum",
    reads: &["waves", "places"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: sum,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let (warp, octaves) = (s.number("warp_cells"), octaves(s));
    let mut tables = Tables::default();
    tables.add(&octaves, warp, 0, site);
    if warp > 0.0 {
        let feature = match s.number("warp_feature_cells") {
            0.0 => octaves.feature / 2.0,
            given => given,
        };
        tables.add(&warping(feature), 0.0, 1, site);
        tables.add(&warping(feature), 0.0, 2, site);
    }
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        octaves: octaves.count as u32,
        pattern: s.choice("pattern"),
        form: s.choice("form"),
        warped: (warp > 0.0) as u32,
        base: site.height_of(s.number("base_m")),
        relief: site.units(s.number("relief_m")),
    };
    let height = Buffer::cells("height", window, 1).kept().unset();
    let buffers =
        vec![height, Buffer::table("waves", tables.waves), Buffer::table("places", tables.places)];
    let plan = Plan::new(
        STAGE.shader,
        *window,
        buffers,
        vec![Pass::over(&SUM, Uniform::of(params), window)],
    );
    combine::onto_ground(plan, s, site)
}

fn sum(call: &mut Call) {
    let p: &Params = call.params();
    let &[waves, places] = call.reads else { return };
    let first = call.range.start as i32 / p.width;
    let mut row = Row::default();
    for (j, own) in call.owns[0].chunks_exact_mut(p.width as usize).enumerate() {
        sum_row(p, waves, places, first + j as i32, own, &mut row);
    }
}

/// Scratch memory of a row: displacements, what ridges let through of the next octave, and an
/// octave's noise.
#[derive(Default)]
struct Row {
    by: [Vec<i32>; 2],
    strength: Vec<i32>,
    noise: Vec<i32>,
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn sum_row(p: &Params, waves: &[i32], places: &[i32], y: i32, own: &mut [i32], row: &mut Row) {
    let size = [p.width, p.height];
    row.strength.clear();
    row.strength.resize(own.len(), ONE);
    let octaves = p.octaves as usize;
    for (axis, by) in row.by.iter_mut().enumerate() {
        let first = octaves + axis * WARP_OCTAVES as usize;
        let last = if p.warped == 1 { first + WARP_OCTAVES as usize } else { first };
        shift([waves, places], size, first..last, y, by);
    }
    own.fill(0);
    for n in 0..octaves {
        let wave = &waves[n * WAVE_WORDS..][..WAVE_WORDS];
        match p.pattern {
            fractal::VALUE => octave::<{ fractal::VALUE }>(p, wave, places, n, y, own, row),
            fractal::CELLULAR => octave::<{ fractal::CELLULAR }>(p, wave, places, n, y, own, row),
            fractal::BORDERS => octave::<{ fractal::BORDERS }>(p, wave, places, n, y, own, row),
            _ => octave::<0>(p, wave, places, n, y, own, row),
        }
    }
    for own in own {
        *own = p.base.wrapping_add(mul_q28(p.relief, (*own).clamp(0, ONE)));
    }
}

/// Adds an octave to a row. The noise, and each form of the sum, is a loop of its own, since a
/// compiler makes vectors of such for AVX2, too.
#[inline(always)]
fn octave<const PATTERN: u32>(
    p: &Params,
    wave: &[i32],
    places: &[i32],
    n: usize,
    y: i32,
    own: &mut [i32],
    row: &mut Row,
) {
    let key = [wave[0] as u32, wave[1] as u32];
    let Row { by: [east, south], strength, noise } = row;
    noise.resize(own.len(), 0);
    let spots = spots(places, [p.width, p.height], n, y);
    if p.warped == 1 {
        let by = east.iter().zip(south).map(|by| [*by.0, *by.1].map(|by| in_squares(wave, by)));
        fractal::noise(PATTERN, key, spots.zip(by).map(|(at, by)| moved(at, by)), noise);
    } else {
        fractal::noise(PATTERN, key, spots, noise);
    }
    let add = |own: &mut i32, part: i32| *own = own.wrapping_add(mul_q28(part, wave[2]));
    let sums = own.iter_mut().zip(noise.iter());
    match p.form {
        BILLOW => {
            for (own, noise) in sums {
                add(own, fold(*noise));
            }
        }
        RIDGED => {
            for ((own, noise), strength) in sums.zip(strength) {
                let height = ONE - fold(*noise);
                let ridge = mul_q28(mul_q28(height, height), *strength);
                *strength = (ridge << 1).min(ONE);
                add(own, ridge);
            }
        }
        _ => {
            for (own, noise) in sums {
                add(own, *noise);
            }
        }
    }
}

/// 0 where the noise is ½, and 1 where it is 0 or 1.
#[inline(always)]
fn fold(noise: i32) -> i32 {
    (noise << 1).wrapping_sub(ONE).abs()
}

fn cases() -> Vec<Case> {
    vec![
        case("default", Flat, [0, 0], [65, 47]),
        case("ridged", Flat, [-300, 1000], [61, 50])
            .with("form", "ridged")
            .with("octaves", 8)
            .with("lacunarity", 1.9)
            .with("warp_cells", 40.0),
        case("far", Flat, [-(1 << 61) - 3, (1 << 60) + 1], [57, 39])
            .with("pattern", "value")
            .with("form", "billow")
            .with("feature_cells", 99.25)
            .with("base_m", -400.0)
            .with("warp_cells", 1000.0)
            .with("warp_feature_cells", 33.0),
        case("cells", Flat, [7, -80], [60, 44])
            .with("pattern", "cellular")
            .with("feature_cells", 23.0)
            .with("octaves", 3)
            .with("gain", 0.25),
        case("borders", Flat, [-20, -20], [49, 52])
            .with("pattern", "borders")
            .with("feature_cells", 31.0)
            .with("octaves", 2)
            .with("warp_cells", 9.0),
        case("added", Hills, [5, 6], [44, 31])
            .with("combine", "add")
            .with("mask", "hardness")
            .with("opacity", 0.75)
            .with("feature_cells", 20.0)
            .with("octaves", 2)
            .with_layers(Layers::of(&[Layer::Hardness])),
    ]
}
