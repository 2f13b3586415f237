//! Land that is heaped up at random: a little at each of many places near a few points.
//!
//! # Rule
//! The ground begins at `start_m`. `points` random points lie in a square of `extent_cells` cells
//! round `centre`. Each of `hits` chooses a point, and raises by `raise_m` the cell that lies at a
//! random distance from it: along each axis the sum of four random numbers, which is nearly a
//! Gaussian, with the standard deviation `spread_cells`. On a coarser level a vertex has the mean
//! of the cells whose nearest vertex it is.
//!
//! # Shape
//! The same land in every window.
//!
//! # Units
//! Places 2⁻⁴ cells; heights 2⁻¹⁸ cells.
//!
//! # Limits
//! A hit goes at most 3.46 times `spread_cells` along an axis. Sums stop at 8000 cells. Every
//! window does all hits.
//!
//! # Reach
//! None.
//!
//! # Source
//! A reader's comment on *Fractal terrain: diamond-square*, an article of 2011 on Habr, has it with
//! 50 points, 5 a hit, −100 to start with, Gaussian picks and a map of 150 × 150: these are the
//! defaults, in metres.
//!
//! # Costs
//! A hit: 4 hashes and 1 addition. Memory: 8 bytes a cell.

use super::Surface::Flat;
use super::case::case;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use super::{Case, Stage};
use crate::arith::{self, hash, mul_q16, mul_q28};
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::Site;
use crate::twin::{constants, uniform};
use encase::ShaderType;
use glam::{IVec2, UVec2};

constants! {
    const WGSL: &str;

    /// Highest height that is left: 8000 cells.
    const HIGHEST: i32 = 2097152000;
}

/// The stage.
pub static STAGE: Stage = Stage {
    name: "random_raise",
    about: "Land heaped up at random, a little at each of many places near a few points.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(WGSL, Params::WGSL, include_str!("../../shaders/random_raise.wgsl")),
    kernels: &[&HIT, &RAISE],
    check,
    plan,
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "centre_x",
        "cells",
        [-(1 << 60), 1 << 60, 75],
        "World coordinate of the middle of the square, to the east.",
    ),
    Param::integer(
        "centre_y",
        "cells",
        [-(1 << 60), 1 << 60, 75],
        "World coordinate of the middle of the square, to the south.",
    ),
    Param::integer(
        "extent_cells",
        "cells",
        [1, 32767, 150],
        "Side of the square in which the points lie.",
    ),
    Param::integer("points", "", [1, 1 << 16, 50], "Number of points."),
    Param::integer("hits", "", [0, 1 << 24, 1_000_000], "How often a cell is raised."),
    Param::number(
        "spread_cells",
        "cells",
        [0.0, 4096.0, 12.0],
        "Standard deviation of the distance from the point, along each axis.",
    ),
    Param::number("raise_m", "m", [0.0, 1e6, 5.0], "By how much a hit raises a cell."),
    Param::number("start_m", "m", [-1e6, 1e6, -100.0], "Height of the ground before."),
    COMBINE,
    MASK,
    SHARE,
    ONE_M,
];

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    combine::check_heights(
        site,
        &[("start_m", s.number("start_m")), ("raise_m", s.number("raise_m"))],
    )
}

uniform! {
    /// The uniform struct of both passes.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        key: UVec2,
        /// From the first vertex to the corner of the square, 2⁻⁴ cells.
        corner: IVec2,
        extent: i32,
        points: u32,
        /// Width of the sum of random numbers, 2⁻⁴ cells.
        width_of_sum: i32,
        /// Doublings from the recipe's cells to vertices.
        level: u32,
        start: i32,
        raise: i32,
    }
}

static HIT: Kernel = Kernel { entry: "hit", reads: &[], owns: &[], adds: &["hits"], cpu: hit };
static RAISE: Kernel =
    Kernel { entry: "raise", reads: &["hits"], owns: &[("height", 1)], adds: &[], cpu: raise };

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let [step, _] = site.stride();
    let extent = s.integer("extent_cells");
    let far = 1 << 26;
    let corner = [("centre_x", 0), ("centre_y", 1)].map(|(name, a)| {
        let first = window.origin[a].saturating_mul(step);
        ((s.integer(name) - extent / 2).saturating_sub(first).clamp(-far, far) * 16) as i32
    });
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        key: arith::key(site.world.seed, 0).into(),
        corner: corner.into(),
        extent: (extent * 16) as i32,
        points: s.integer("points") as u32,
        // The mean of four numbers from 0 to 1 has the variance 1/48.
        width_of_sum: (s.number("spread_cells") * 16.0 * 48.0f64.sqrt()).round() as i32,
        level: site.level.max(0) as u32,
        start: site.height_of(s.number("start_m")),
        raise: site.units(s.number("raise_m")).max(0),
    };
    let uniform = Uniform::of(params);
    let buffers =
        vec![Buffer::cells("height", window, 1).kept().unset(), Buffer::cells("hits", window, 1)];
    let passes = vec![
        Pass::new(&HIT, uniform.clone(), s.integer("hits") as usize, 1024),
        Pass::over(&RAISE, uniform, window),
    ];
    combine::onto_ground(Plan::new(STAGE.shader, *window, buffers, passes), s, site)
}

/// The vertex that a hit raises, along an axis.
#[inline(always)]
fn place(p: &Params, axis: usize, point: u32, random: [u32; 2]) -> i32 {
    let middle = mul_q16(p.extent, hash(p.key.to_array(), point, 2 + axis as u32) >> 16);
    let shift = 16 * axis as u32;
    // Two halves of each of two words: this axis takes one of each, and one of each of the next
    // two.
    let sum = (random[0] >> (shift & 31) & 0xffff) + (random[1] >> (shift & 31) & 0xffff);
    let more = mix_of(random[0], axis as u32 + 5);
    let mean = (sum + (more & 0xffff) + (more >> 16)) >> 2;
    let at = p.corner[axis]
        .wrapping_add(middle)
        .wrapping_add(mul_q16(p.width_of_sum, mean))
        .wrapping_sub(p.width_of_sum >> 1);
    let cell = at.wrapping_add(8) >> 4;
    cell.wrapping_add((1 << (p.level & 31)) >> 1) >> (p.level & 31)
}

#[inline(always)]
fn mix_of(n: u32, axis: u32) -> u32 {
    arith::mix(n.wrapping_add(axis.wrapping_mul(0x9e37_79b9)))
}

fn hit(call: &mut Call) {
    let p: &Params = call.params();
    for n in call.range.clone() {
        let random = [hash(p.key.to_array(), n, 0), hash(p.key.to_array(), n, 1)];
        let point = arith::mix(random[0] ^ random[1]) % p.points;
        let (x, y) = (place(p, 0, point, random), place(p, 1, point, random));
        if (0..p.width).contains(&x) && (0..p.height).contains(&y) {
            call.adds[0].add::<false>((y * p.width + x) as usize, 1);
        }
    }
}

fn raise(call: &mut Call) {
    let p: &Params = call.params();
    let hits = call.reads[0];
    let down = 2 * p.level;
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let count = hits[i as usize];
        let whole = count >> (down & 31);
        let part = (count & ((1 << (down & 31)) - 1)) << ((28 - down) & 31);
        let most = HIGHEST / p.raise.max(1);
        let height = if whole >= most {
            HIGHEST
        } else {
            (whole * p.raise).saturating_add(mul_q28(p.raise, part))
        };
        *own = p.start.saturating_add(height).min(HIGHEST);
    }
}

fn cases() -> Vec<Case> {
    vec![
        case("default", Flat, [30, 40], [65, 47]).with("hits", 9000),
        case("high", Flat, [(1 << 60) - 15, -(1 << 60) - 14], [33, 30])
            .with("centre_x", 1i64 << 60)
            .with("centre_y", -(1i64 << 60))
            .with("extent_cells", 20)
            .with("points", 1)
            .with("hits", 5000)
            .with("spread_cells", 1.5)
            .with("raise_m", 700.0),
    ]
}
