//! Coastal erosion: waves wear the land down as high as they reach.
//!
//! # Rule
//! One pass, `waves` (gather). Let t be the height of a cell above `sea_level_m`, and T the height
//! that waves reach there: T = `wave_height_min_m` + noise · (`wave_height_max_m` −
//! `wave_height_min_m`). If 0 < t < T, t becomes t · (t / T)^`power`. The noise is value noise of
//! world coordinates: hashes on a lattice of spacing `noise_size_m`, with smoothstep between them.
//!
//! A shore that rises evenly becomes a beach. At the distance x of the w = T / slope cells that
//! waves reach, the beach is T · (x / w)^(`power` + 1) high, and the bank behind it is `power` + 1
//! times as steep as the shore was.
//!
//! Where there are layers, bedrock of hardness h erodes more slowly. Waves take loose sediment
//! first and in full, and then the part 1 − h of what remains to be taken. Without a layer of
//! sediment, the hardness applies to all ground.
//!
//! Rounding: noise to 2⁻¹⁶; t / T, floor to 2⁻¹⁶ from 15 bits of each; its power and heights,
//! floor. In total a height is off by less than `power` · T / 2¹³ and a unit.
//!
//! # Shape
//! Reads and writes `height`, row-major, y south, each cell for itself. Reads `hardness`, and the
//! sediment of the `ledger`.
//!
//! # Units
//! Heights 2⁻¹⁸ cells; fractions 2⁻¹⁶.
//!
//! # Limits
//! Waves reach at most 8000 cells, and the spacing of the noise is at most 32767 cells.
//!
//! # Reach
//! None: a cell depends on its own height and world coordinates alone.
//!
//! # Keeps
//! Heights at or below the sea and above the waves. The order of heights, where noise and layers
//! are the same. Not the mass: the sea carries off what waves erode. Another run erodes again, but
//! never below the sea, so between the steps of another stage the shore becomes a flat.
//!
//! # Differs
//! From Talle: heights are counted from the sea, in metres; value noise in integers replaces his
//! cubic noise; powers are whole. As there, height alone decides, so low ground far from the sea
//! erodes too.
//!
//! # Source
//! J. Talle, *Simulating hydraulic erosion*, 2020: the coasts of its islands.
//!
//! # Costs
//! A cell: 1 read, 1 write. Within reach of the waves, also 4 hashes, 3 quotients and 2 reads of
//! layers. Memory: 4 bytes a cell.

use super::Surface::{Cone, Hills, Noise};
use super::case::case;
use super::{Case, Stage};
use crate::arith::{self, LEDGER_WORDS, div_small, log2, mul_q16, value_noise};
use crate::error::Invalid;
use crate::params::{Param, Settings, rounded};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::HEIGHT_MAX;
use crate::site::{Layer, Layers, Site};
use crate::twin::uniform;
use encase::ShaderType;
use glam::UVec2;

/// Largest spacing of the noise in cells: a place between two lattice points has 15 bits.
const SCALE_MAX: f64 = 32767.0;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "coastal",
    about: "Coastal erosion: waves wear the land down as high as they reach.",
    changes: true,
    can_interleave: true,
    params: PARAMS,
    shader: constcat::concat!(Params::WGSL, include_str!("../../shaders/coastal.wgsl")),
    kernels: &[&WAVES],
    check,
    plan,
    summary: |s, site| serde_json::json!({ "noise_cells": scale(s, site) }),
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::number(
        "sea_level_m",
        "m",
        [-1e6, 1e6, 0.0],
        "Height of the sea. Ground at or below it does not change.",
    ),
    Param::number(
        "wave_height_min_m",
        "m",
        [0.0, 1e6, 20.0],
        "How high above the sea waves reach on sheltered shores.",
    ),
    Param::number(
        "wave_height_max_m",
        "m",
        [0.0, 1e6, 60.0],
        "How high above the sea waves reach on exposed shores. A beach is about as wide as this \
         height divided by the slope of the shore.",
    ),
    Param::number(
        "noise_size_m",
        "m",
        [0.0, 1e9, 400.0],
        "Spacing of the noise that varies the reach of the waves, rounded to whole cells, at least \
         one.",
    ),
    Param::integer(
        "power",
        "",
        [0, 8, 3],
        "With 0 nothing erodes. More gives a flatter beach and a steeper bank behind it.",
    ),
];

/// Spacing of the noise in cells.
fn scale(s: &Settings, site: &Site) -> f64 {
    (s.number("noise_size_m") / site.spacing_m()).round().max(1.0)
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let (low, high, sea) =
        (s.number("wave_height_min_m"), s.number("wave_height_max_m"), s.number("sea_level_m"));
    if low > high {
        return Err(Invalid::from(format!(
            "wave_height_min_m = {low} is above wave_height_max_m = {high}: it must not be"
        ))
        .about("wave_height_min_m")
        .into());
    }
    let most = HEIGHT_MAX as f64 * site.spacing_m();
    if (sea - site.datum_m()).abs() > most {
        return Err(Invalid::from(format!(
            "sea_level_m = {sea} m at spacing_m = {}: allowed up to {HEIGHT_MAX} cells from {} m, \
             {} to {} m",
            rounded(site.spacing_m()),
            site.datum_m(),
            rounded(site.datum_m() - most),
            rounded(site.datum_m() + most)
        ))
        .about("sea_level_m")
        .into());
    }
    if high > most {
        return Err(Invalid::from(format!(
            "wave_height_max_m = {high} m at spacing_m = {}: allowed up to {HEIGHT_MAX} cells, {} \
             m",
            rounded(site.spacing_m()),
            rounded(most)
        ))
        .about("wave_height_max_m")
        .into());
    }
    if scale(s, site) > SCALE_MAX {
        return Err(Invalid::from(format!(
            "noise_size_m = {} m at spacing_m = {}: allowed up to {SCALE_MAX} cells, {} m",
            s.number("noise_size_m"),
            rounded(site.spacing_m()),
            rounded(SCALE_MAX * site.spacing_m())
        ))
        .about("noise_size_m")
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
        key: UVec2,
        /// The lattice point of the noise at or before the window's corner, and the cells between
        /// the two.
        lattice: UVec2,
        inner: UVec2,
        scale: u32,
        sea: i32,
        /// The least reach of the waves, and the difference to the greatest, in units.
        low: i32,
        span: i32,
        power: u32,
        /// 1 if there is a map of hardness; 1 if there is a layer of sediment.
        hard: u32,
        loose: u32,
    }
}

static WAVES: Kernel = Kernel {
    entry: "waves",
    reads: &["hardness", "ledger"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: waves,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let scale = scale(s, site) as i64;
    let low = site.units(s.number("wave_height_min_m"));
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        key: arith::key(site.world.seed, 0).into(),
        lattice: window.origin.map(|o| o.div_euclid(scale) as u32).into(),
        inner: window.origin.map(|o| o.rem_euclid(scale) as u32).into(),
        scale: scale as u32,
        sea: site.height_of(s.number("sea_level_m")),
        low,
        span: site.units(s.number("wave_height_max_m")) - low,
        power: s.integer("power") as u32,
        hard: site.layers.has(Layer::Hardness) as u32,
        loose: site.layers.has(Layer::Sediment) as u32,
    };
    let buffers = vec![
        Buffer::height(window),
        Buffer::layer("hardness", window, 1, site.layers.has(Layer::Hardness)),
        Buffer::layer("ledger", window, LEDGER_WORDS, site.layers.has(Layer::Sediment)),
    ];
    Plan::new(STAGE.shader, *window, buffers, vec![Pass::over(&WAVES, Uniform::of(params), window)])
}

/// Smoothstep of a place between two lattice points, 2⁻¹⁶.
fn smooth_part(p: &Params, inner: u32) -> u32 {
    // t² · (3 − 2t) with t in 2⁻¹⁵. The spacing has 15 bits, so the shifted place fits 31.
    let t = div_small(inner << 16, p.scale) >> 1;
    ((t.wrapping_mul(t) >> 15).wrapping_mul(98304 - 2 * t)) >> 14
}

/// Value noise at a cell of the window, 0 to 65535.
fn noise(p: &Params, i: u32, j: u32) -> u32 {
    let (u, v) = (p.inner[0] + i, p.inner[1] + j);
    let (x, y) = (p.lattice[0].wrapping_add(u / p.scale), p.lattice[1].wrapping_add(v / p.scale));
    value_noise(p.key.to_array(), x, y, smooth_part(p, u % p.scale), smooth_part(p, v % p.scale))
        as u32
}

fn waves(call: &mut Call) {
    let p: &Params = call.params();
    let &[hardness, ledger] = call.reads else { return };
    for (at, h) in call.range.clone().zip(call.owns[0].iter_mut()) {
        if *h <= p.sea {
            continue;
        }
        let above = h.wrapping_sub(p.sea);
        // A difference that wraps is negative. Such ground is far above all waves.
        if above < 0 || above >= p.low.wrapping_add(p.span) {
            continue;
        }
        let threshold =
            p.low.wrapping_add(mul_q16(p.span, noise(p, at % p.width as u32, at / p.width as u32)));
        if above >= threshold {
            continue;
        }
        // Leaves 15 bits of the threshold, so that the dividend has 31. `log2` takes 24.
        let shift = log2(threshold as u32 >> 8).max(6) - 6;
        let part =
            div_small(((above >> (shift & 31)) as u32) << 16, (threshold >> (shift & 31)) as u32)
                .min(65535);
        // (t / T)^power.
        let left = (0..p.power).fold(65536, |left: u32, _| left.wrapping_mul(part) >> 16);
        let taken = above.wrapping_sub(mul_q16(above, left));
        // Loose sediment goes in full, and rock as far as it is soft.
        let loose =
            if p.loose == 1 { taken.min(ledger[at as usize * LEDGER_WORDS + 1]) } else { 0 };
        let hard = if p.hard == 1 { hardness[at as usize] as u32 } else { 0 };
        *h = h.wrapping_sub(loose).wrapping_sub(mul_q16(taken.wrapping_sub(loose), 65536 - hard));
    }
}

fn cases() -> Vec<Case> {
    let shore = |name, layers| {
        case(name, Hills, [0, 0], [61, 50])
            .with("sea_level_m", 120.0)
            .with("wave_height_max_m", 60.0)
            .with_layers(layers)
    };
    vec![
        case("default", Hills, [0, 0], [96, 80])
            .with("sea_level_m", 120.0)
            .with("wave_height_max_m", 60.0),
        case("window", Cone, [-(1 << 40) - 5, -33], [67, 50])
            .with("sea_level_m", 40.0)
            .with("wave_height_max_m", 200.0)
            .with("noise_size_m", 70.0)
            .with("power", 1),
        case("wild", Noise, [0, 7], [40, 33])
            .with("sea_level_m", -70000.0)
            .with("wave_height_min_m", 80000.0)
            .with("wave_height_max_m", 80000.0)
            .with("noise_size_m", 0.0)
            .with("power", 8),
        shore("hard", Layers::of(&[Layer::Hardness])),
        shore("loose", Layers::of(&[Layer::Hardness, Layer::Ledger, Layer::Sediment])),
    ]
}
