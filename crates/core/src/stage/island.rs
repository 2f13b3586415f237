//! A smooth volcanic island: fractal noise raised to a power, under a dome, with craters on its
//! highest ground.
//!
//! # Rule
//! At dx, dy cells from `centre`, with ρ² = (dx / `radius_x_cells`)² + (dy / `radius_y_cells`)²:
//! - nᵢ is the cubic value noise (below) of octave i, on a lattice of `feature_cells` /
//!   `lacunarity`ⁱ cells, and v = Σ gᵢ · (¼ + nᵢ / 2), clamped to 0..1, with weights gᵢ that fall
//!   by `gain` an octave and sum to 1;
//! - s = ½ + ½ · cos(π · min(1, ρ)^`shape_power`): 1 in the middle, 0 from the rim on;
//! - g = `relief_m` · v^`height_power` · s is the height of the ground above the sea floor;
//! - with `craters`, t = max(`crater_rim_m`, g_max − `crater_depth_m` / `crater_slope`) + n ·
//!   `crater_relief_m` is the height of the rim, with n the noise of `crater_feature_cells`. Ground
//!   that would be higher than the rim by a is lower than it by a · `crater_slope`.
//!
//! The height is `base_m` + g. Noise between four values a b c d, at x of the way from b to c, is
//! ((p·x + a − b − p)·x + c − a)·x + b with p = d − c − a + b, first along y, then along x. The
//! values are hashes of lattice coordinates, 0 to 1, and each octave's lattice is moved by a random
//! part of a cell.
//!
//! # Shape
//! Works for any window of the unbounded world. The island is an ellipse of `radius_x_cells` by
//! `radius_y_cells` cells round `centre`, and everything else is at `base_m`. The defaults are the
//! published island on a window of 251 × 501 samples from [0, 0] at 10 m a cell: its unit is 10
//! cells or 100 m, and its sea, at 0.5 units, is at 0 m.
//!
//! # Units
//! Noise, powers and domes 2⁻²⁸; places on a lattice 2⁻²⁸; heights 2⁻¹⁸ cells. Powers and domes are
//! tables of 4097 values with straight lines between them, off by at most 6·10⁻⁶ (with the defaults
//! 8·10⁻⁷, which are 2·10⁻⁴ cells at 300 cells of relief).
//!
//! # Limits
//! Radii are at most 32767 cells. The finest lattice has a spacing of at least one cell.
//!
//! # Reach
//! None: a point depends on its world coordinates alone.
//!
//! # Differs
//! From the published program: fixed point replaces floats; hashes replace a shuffled table, so the
//! lattices do not repeat; octaves are moved against each other (there, all lattices have a point
//! at one corner); g_max is the highest of 129 × 129 points over the island instead of the samples
//! of one map, so that it is the same for every window.
//!
//! # Source
//! J. Talle, *Simulating hydraulic erosion*, 2020, and the program that it links, for the
//! composition and all constants; J. Talle, *Cubic noise*, 2017; the curve between four values is
//! H. Elias's, *Perlin noise*, 1998.
//!
//! # Costs
//! A point and octave: 16 hashes (on the CPU a part of one, since rows share them), 5 curves.
//! Memory: 4 bytes a cell.

mod cases;

use super::Stage;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use crate::arith::{self, hash, mul_q16, mul_q28};
use crate::error::Invalid;
use crate::params::{Param, Settings, rounded};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::HEIGHT_MAX;
use crate::site::Site;
use crate::twin::{constants, uniform};
use cases::cases;
use encase::ShaderType;
use glam::IVec2;
use multiversion::multiversion;

constants! {
    const WGSL: &str;

    /// The value 1.
    const ONE: i32 = 1 << 28;
    /// Intervals of a table of powers or domes; each is 2¹⁶ wide.
    const INTERVALS: i32 = 4096;
    /// Words of an octave: lattice points a cell, as low 14 and high bits; key; displacement along
    /// each axis, as low 14 and high bits; weight.
    const OCTAVE_WORDS: usize = 9;
}

/// Largest radius, in vertices.
const RADIUS_MAX: i64 = 32767;
/// Points on a side of the lattice that is searched for the highest ground.
const SURVEY: u32 = 129;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "island",
    about: "A smooth volcanic island of cubic noise.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(WGSL, Params::WGSL, include_str!("../../shaders/island.wgsl")),
    kernels: &[&RAISE],
    check,
    plan,
    summary: |s, _| serde_json::json!({ "finest_lattice_cells": finest(s) }),
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "centre_x",
        "cells",
        [-(1 << 62), 1 << 62, 125],
        "World coordinate of the middle of the island, to the east.",
    ),
    Param::integer(
        "centre_y",
        "cells",
        [-(1 << 62), 1 << 62, 250],
        "World coordinate of the middle of the island, to the south.",
    ),
    Param::integer(
        "radius_x_cells",
        "cells",
        [1, RADIUS_MAX, 125],
        "Half the width of the island, from its middle to where the sea floor is level.",
    ),
    Param::integer(
        "radius_y_cells",
        "cells",
        [1, RADIUS_MAX, 250],
        "Half its extent from north to south.",
    ),
    Param::number(
        "shape_power",
        "",
        [1.0, 8.0, 1.6],
        "Shape of the dome: 1 is a cosine from the middle to the rim, and more is broader at the \
         top.",
    ),
    Param::number(
        "feature_cells",
        "cells",
        [1.0, 32767.0, 100.0],
        "Spacing of the coarsest lattice of noise: the size of the largest ridges.",
    ),
    Param::integer(
        "octaves",
        "",
        [1, 12, 6],
        "Number of noises that are added, each finer than the last.",
    ),
    Param::number(
        "lacunarity",
        "",
        [1.0, 4.0, 1.7],
        "Factor by which an octave is finer than the last.",
    ),
    Param::number("gain", "", [0.0, 1.0, 0.5], "Weight of an octave compared with the last."),
    Param::number(
        "height_power",
        "",
        [1.0, 8.0, 4.5],
        "Power to which the noise is raised. More gives a flatter shore and steeper peaks.",
    ),
    Param::number(
        "relief_m",
        "m",
        [0.0, 1e6, 3000.0],
        "Height above the sea floor of noise with the value 1. Peaks reach about a tenth of it.",
    ),
    Param::number("base_m", "m", [-1e6, 1e6, -50.0], "Height of the sea floor."),
    Param::switch("craters", true, "Whether high ground sinks into craters."),
    Param::number(
        "crater_rim_m",
        "m",
        [0.0, 1e6, 250.0],
        "Height of the lowest rim of a crater above the sea floor.",
    ),
    Param::number(
        "crater_relief_m",
        "m",
        [0.0, 1e6, 200.0],
        "Range of the noise that is added to the height of rims.",
    ),
    Param::number(
        "crater_feature_cells",
        "cells",
        [1.0, 32767.0, 50.0],
        "Spacing of the lattice of that noise.",
    ),
    Param::number(
        "crater_depth_m",
        "m",
        [0.0, 1e6, 50.0],
        "Greatest depth of a crater. The rims on a high island are raised to keep it.",
    ),
    Param::number(
        "crater_slope",
        "",
        [0.0, 1.0, 0.5],
        "Slope inside a crater compared with that of its mountain.",
    ),
    COMBINE,
    MASK,
    SHARE,
    ONE_M,
];

/// Spacing of the finest lattice, cells.
fn finest(s: &Settings) -> f64 {
    (1..s.integer("octaves"))
        .fold(s.number("feature_cells"), |spacing, _| spacing / s.number("lacunarity"))
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    if finest(s) < 1.0 {
        return Err(Invalid::from(format!(
            "octaves = {} of lacunarity = {} under feature_cells = {} cells: the finest lattice \
             would \
             have a spacing of {:.3} cells: allowed 1 or more; lower octaves or lacunarity, or \
             raise feature",
            s.integer("octaves"),
            s.number("lacunarity"),
            s.number("feature_cells"),
            finest(s)
        ))
        .about("octaves")
        .into());
    }
    let [_, parts] = site.stride();
    for name in ["radius_x_cells", "radius_y_cells"] {
        let cells = s.integer(name);
        if cells * parts > RADIUS_MAX {
            let most = RADIUS_MAX / parts;
            let message = format!("{name} = {cells} with scale = {parts}: allowed up to {most}");
            return Err(Invalid::of(name, cells, format!("up to {most}")).saying(message).into());
        }
    }
    let (relief, base) = (s.number("relief_m"), s.number("base_m"));
    let rim = s.number("crater_rim_m") + s.number("crater_relief_m");
    let most = HEIGHT_MAX as f64 * site.spacing_m();
    for (name, metres) in
        [("base_m", base), ("relief_m", relief), ("base_m + relief_m", base + relief)]
    {
        if metres.abs() > most {
            return Err(Invalid::from(format!(
                "{name} = {} m at spacing_m = {}: allowed up to {HEIGHT_MAX} cells, {} m, either \
                 way",
                rounded(metres),
                rounded(site.spacing_m()),
                rounded(most)
            ))
            .about(name.split(' ').next().unwrap_or(name))
            .into());
        }
    }
    if s.switch("craters") && rim > most {
        return Err(Invalid::from(format!(
            "crater_rim_m + crater_relief_m = {} m at spacing_m = {}: allowed up to {HEIGHT_MAX} \
             cells, {} m",
            rounded(rim),
            rounded(site.spacing_m()),
            rounded(most)
        ))
        .about("crater_rim_m")
        .into());
    }
    Ok(())
}

uniform! {
    /// The uniform struct of the pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        /// Cells from the middle of the island to the first sample, and from one sample to the
        /// next.
        origin: IVec2,
        step: IVec2,
        radius: IVec2,
        /// 1 / radius, 2⁻²⁸.
        inverse: IVec2,
        octaves: u32,
        relief: i32,
        base: i32,
        craters: u32,
        crater_rim: i32,
        crater_relief: i32,
        /// 2⁻¹⁶.
        crater_slope: u32,
    }
}

static RAISE: Kernel = Kernel {
    entry: "raise",
    reads: &["octave", "power", "dome"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: raise,
};

/// Values of a function from 0 to 1, in 2⁻²⁸.
type Table = [i32; INTERVALS as usize + 1];

/// A table of `f` from 0 to 1, in 2⁻²⁸.
fn table(f: impl Fn(f64) -> f64) -> Vec<i32> {
    (0..=INTERVALS).map(|i| (f(i as f64 / INTERVALS as f64) * ONE as f64).round() as i32).collect()
}

/// v^power from v.
fn powers(power: f64) -> Vec<i32> {
    table(|v| libm::pow(v, power))
}

/// The dome from ρ².
fn domes(power: f64) -> Vec<i32> {
    table(|q| 0.5 + 0.5 * libm::cos(std::f64::consts::PI * libm::pow(q, power / 2.0)))
}

/// The octaves, and after them the noise of crater rims, for places in parts of a cell.
fn octaves(s: &Settings, seed: u64, parts: i64) -> Vec<i32> {
    let count = s.integer("octaves") as usize;
    let gain = s.number("gain");
    let weights: Vec<f64> =
        std::iter::successors(Some(1.0), |w| Some(w * gain)).take(count).collect();
    let sum: f64 = weights.iter().sum();
    let spacings = std::iter::successors(Some(s.number("feature_cells")), |cells| {
        Some(cells / s.number("lacunarity"))
    });
    let noises = weights
        .iter()
        .map(|w| w / sum)
        .zip(spacings)
        .chain([(1.0, s.number("crater_feature_cells"))]);
    noises
        .enumerate()
        .flat_map(|(i, (weight, spacing))| {
            let rate = (ONE as f64 / (spacing * parts as f64)) as i32;
            let key = arith::key(seed, i as u32);
            let moved = |axis: u32| (hash(key, axis, u32::MAX) >> 4) as i32;
            let parts = |n: i32| [n & 0x3fff, n >> 14];
            let ([rl, rh], [xl, xh], [yl, yh]) = (parts(rate), parts(moved(0)), parts(moved(1)));
            [rl, rh, key[0] as i32, key[1] as i32, xl, xh, yl, yh, (weight * ONE as f64) as i32]
        })
        .collect()
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let [step, parts] = site.stride();
    let centre =
        [s.integer("centre_x"), s.integer("centre_y")].map(|cells| cells.saturating_mul(parts));
    let radius = [s.integer("radius_x_cells"), s.integer("radius_y_cells")]
        .map(|cells| (cells * parts) as i32);
    let lists = [
        ("octave", octaves(s, site.world.seed, parts)),
        ("power", powers(s.number("height_power"))),
        ("dome", domes(s.number("shape_power"))),
    ];
    let mut params = Params {
        width: window.width as i32,
        height: window.height as i32,
        // Everything beyond the largest radius is outside, at any distance.
        origin: [0, 1]
            .map(|a| {
                window.origin[a]
                    .saturating_mul(step)
                    .saturating_sub(centre[a])
                    .clamp(-(1 << 24), 1 << 24) as i32
            })
            .into(),
        step: IVec2::splat(step as i32),
        radius: radius.into(),
        inverse: radius.map(|r| ONE / r).into(),
        octaves: s.integer("octaves") as u32,
        relief: site.units(s.number("relief_m")),
        base: site.height_of(s.number("base_m")),
        craters: 0,
        crater_rim: 0,
        crater_relief: site.units(s.number("crater_relief_m")),
        crater_slope: (s.number("crater_slope") * 65536.0).round() as u32,
    };
    // A draft is not run, so it does not need the height of the rim.
    if s.switch("craters") && !site.draft {
        let highest = survey(&params, [&lists[0].1, &lists[1].1, &lists[2].1]);
        let sink = site.units(
            (s.number("crater_depth_m") / s.number("crater_slope"))
                .min(HEIGHT_MAX as f64 * site.spacing_m()),
        );
        params.craters = 1;
        params.crater_rim = site.units(s.number("crater_rim_m")).max(highest.saturating_sub(sink));
    }
    let height = Buffer::cells("height", window, 1).kept().unset();
    let buffers = std::iter::once(height)
        .chain(lists.map(|(name, words)| Buffer::table(name, words)))
        .collect();
    let plan = Plan::new(
        STAGE.shader,
        *window,
        buffers,
        vec![Pass::over(&RAISE, Uniform::of(params), window)],
    );
    combine::onto_ground(plan, s, site)
}

/// The height of the highest ground above the sea floor without craters, on a lattice of 129 × 129
/// points.
fn survey(p: &Params, lists: [&[i32]; 3]) -> i32 {
    let half = SURVEY as i32 / 2;
    let step = (p.radius + half - 1) / half;
    let count = SURVEY * SURVEY;
    let params = Params {
        width: SURVEY as i32,
        height: SURVEY as i32,
        origin: -step * half,
        step,
        base: 0,
        craters: 0,
        ..*p
    };
    let mut heights = vec![0; count as usize];
    raise(&mut Call {
        uniform: &Uniform::of(params),
        range: 0..count,
        reads: &lists,
        owns: &mut [&mut heights],
        adds: &[],
        touched: &[],
        calm: None,
    });
    heights.into_iter().max().unwrap_or(0)
}

/// The factors of the curve through b and c, from the third power down; a to d within ±2²⁹.
#[inline(always)]
fn cubic([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let p = d.wrapping_sub(c).wrapping_sub(a).wrapping_add(b);
    [p, a.wrapping_sub(b).wrapping_sub(p), c.wrapping_sub(a), b]
}

/// The curve at x of the way, 2⁻²⁸.
#[inline(always)]
fn along([p, q, r, b]: [i32; 4], x: i32) -> i32 {
    let slope = mul_q28(mul_q28(p, x).wrapping_add(q), x).wrapping_add(r);
    mul_q28(slope, x).wrapping_add(b)
}

/// A straight line between two values of a table, at `v` in 0..=2²⁸.
#[inline(always)]
fn look_up(table: &Table, v: i32) -> i32 {
    // Unsigned, so that a compiler knows that it is within the table.
    let at = (v as u32 >> 16).min(INTERVALS as u32 - 1);
    let (low, high) = (table[at as usize], table[at as usize + 1]);
    low.wrapping_add(mul_q16(high.wrapping_sub(low), (v as u32).wrapping_sub(at << 16)))
}

/// The lattice point before the place `d` cells from the middle, and the distance from it in 2⁻²⁸;
/// |d| is at most 32767.
#[inline(always)]
fn locate(d: i32, rate: [i32; 2], moved: [i32; 2]) -> [i32; 2] {
    let low = d.wrapping_mul(rate[0]).wrapping_add(moved[0]);
    let high = d.wrapping_mul(rate[1]).wrapping_add(moved[1]).wrapping_add(low >> 14);
    [high >> 14, ((high & 0x3fff) << 14) | (low & 0x3fff)]
}

/// A lattice point's value, 0 to 1.
#[inline(always)]
fn value(key: [u32; 2], x: i32, y: i32) -> i32 {
    (hash(key, x as u32, y as u32) >> 4) as i32
}

/// (d / radius)², 2⁻²⁸, where |d| ≤ radius.
#[inline(always)]
fn squared(d: i32, inverse: i32) -> i32 {
    let part = d.wrapping_mul(inverse).wrapping_abs();
    mul_q28(part, part)
}

fn raise(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let first = call.range.start as i32 / p.width;
    let [octave, power, dome] = call.reads else { return };
    let mut rows = Rows::default();
    for (j, own) in call.owns[0].chunks_exact_mut(w).enumerate() {
        let dy = p.origin[1].wrapping_add((first + j as i32).wrapping_mul(p.step[1]));
        own.fill(p.base);
        if dy.abs() > p.radius[1] {
            continue;
        }
        // Columns within the radius, if any.
        let before = |d: i32| {
            (d.saturating_sub(p.origin[0]) as i64)
                .div_euclid(p.step[0] as i64)
                .clamp(-1, w as i64 - 1)
        };
        let columns = (before(-p.radius[0] - 1) + 1) as usize..(before(p.radius[0]) + 1) as usize;
        if !columns.is_empty() {
            raise_row(p, columns.start, dy, &mut own[columns], [octave, power, dome], &mut rows);
        }
    }
}

/// Scratch memory of a row.
#[derive(Default)]
struct Rows {
    /// Values between lattice rows, by lattice column.
    columns: Vec<i32>,
    /// By cell: the lattice column before it and how far it is from there, 2⁻²⁸, and the factors of
    /// its curve.
    places: Vec<[i32; 2]>,
    curves: [Vec<i32>; 4],
    /// Sums of octaves.
    sum: Vec<i32>,
    /// The noise of the rim.
    rim: Vec<i32>,
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn raise_row(
    p: &Params,
    start: usize,
    dy: i32,
    own: &mut [i32],
    lists: [&[i32]; 3],
    rows: &mut Rows,
) {
    let [octave, power, dome] = lists;
    let (Some(power), Some(dome)) = (power.first_chunk(), dome.first_chunk()) else { return };
    let Rows { columns, places, curves, sum, rim } = rows;
    let x = |i: usize| p.origin[0].wrapping_add(((start + i) as i32).wrapping_mul(p.step[0]));
    for row in [&mut *sum, &mut *rim] {
        row.clear();
        row.resize(own.len(), 0);
    }
    for (n, octave) in octave.chunks_exact(OCTAVE_WORDS).enumerate() {
        let is_rim = n == p.octaves as usize;
        if is_rim && p.craters == 0 {
            continue;
        }
        let &[r0, r1, k0, k1, x0, x1, y0, y1, weight] = octave else { return };
        let key = [k0 as u32, k1 as u32];
        let [row, fy] = locate(dy, [r0, r1], [y0, y1]);
        places.clear();
        places.extend((0..own.len()).map(|i| locate(x(i), [r0, r1], [x0, x1])));
        let [west, east] = [places[0][0], places[own.len() - 1][0]];
        columns.clear();
        columns.extend((west - 1..=east + 2).map(|c| {
            let v = |j: i32| value(key, c, row + j);
            along(cubic([v(-1), v(0), v(1), v(2)]), fy)
        }));
        // All cells of a column have its curve. Each has a copy, so that compilers make vectors of
        // the cells of a row.
        curves.iter_mut().for_each(|factors| factors.clear());
        for cells in places.chunk_by(|a, b| a[0] == b[0]) {
            let Some(near) = columns[(cells[0][0] - west) as usize..].first_chunk() else { return };
            for (factors, factor) in curves.iter_mut().zip(cubic(*near)) {
                factors.resize(factors.len() + cells.len(), factor);
            }
        }
        let [ps, qs, rs, bs] = curves.each_ref().map(|factors| &factors[..own.len()]);
        let target = if is_rim { &mut *rim } else { &mut *sum };
        for (i, (target, [_, fx])) in target.iter_mut().zip(&*places).enumerate() {
            let noise = along([ps[i], qs[i], rs[i], bs[i]], *fx);
            *target = if is_rim {
                noise
            } else {
                target.wrapping_add(mul_q28((noise >> 1) + (ONE >> 2), weight))
            };
        }
    }
    let dy_squared = squared(dy, p.inverse[1]);
    for (i, (own, (sum, rim))) in own.iter_mut().zip(sum.iter().zip(&*rim)).enumerate() {
        let shape = look_up(dome, squared(x(i), p.inverse[0]).wrapping_add(dy_squared).min(ONE));
        let ground = mul_q28(p.relief, mul_q28(look_up(power, (*sum).clamp(0, ONE)), shape));
        *own = p.base.wrapping_add(crater(p, ground, *rim));
    }
}

/// The ground, or the inside of the crater where the ground is above the rim.
#[inline(always)]
fn crater(p: &Params, ground: i32, noise: i32) -> i32 {
    let above = ground
        .wrapping_sub(p.crater_rim)
        .wrapping_sub(mul_q28(p.crater_relief, noise.clamp(0, ONE)))
        .max(0);
    let sunk = ground.wrapping_sub(above).wrapping_sub(mul_q16(above, p.crater_slope));
    if p.craters == 1 { sunk } else { ground }
}
