//! Round hills of various heights at random places, without an end.
//!
//! # Rule
//! The world is cut into squares of `spacing_cells` cells. With the chance `chance` a square has
//! one hill, whose middle is anywhere in it. Its radius r is random between `smallest` and
//! `largest` of a square's side, and its height a between `lowest_m` and `relief_m`. At the
//! distance d from its middle it is a · (1 − (d / r)²)² high, and nothing beyond r. Where hills
//! overlap, `merge` says whether they are added or the highest counts. The height is `base_m` +
//! that.
//!
//! # Shape
//! The unbounded world. A vertex depends on its world coordinates alone, and has its height on
//! every level that has the vertex.
//!
//! # Units
//! Places and distances 2⁻²⁸ of a square's side; radii are one of 256 from the smallest to the
//! largest; heights 16 bits between theirs.
//!
//! # Limits
//! A hill is at most as wide as two squares, so that all that reach a place lie in nine. Sums stop
//! at 8000 cells.
//!
//! # Reach
//! None.
//!
//! # Source
//! *Fractal terrain: diamond-square*, an article of 2011 on Habr, names hills of various heights at
//! random places as one of the ways to make a height map, to which noise is added. The profile is
//! the quartic kernel.
//!
//! # Costs
//! A cell: 9 to 27 hashes, which on the CPU the cells of a square share in each row. Memory: 4
//! bytes a cell.

use super::Surface::{Flat, Hills};
use super::case::case;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use super::fractal::{ONE, Octaves, Tables, spot};
use super::{Case, Stage};
use crate::arith::{self, hash, mul_q16, mul_q28};
use crate::error::Invalid;
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::Site;
use crate::twin::{constants, uniform};
use encase::ShaderType;
use glam::UVec2;
use multiversion::multiversion;

constants! {
    const WGSL: &str;

    const ADDED: u32 = 0;
    /// Words of a radius: its square and the inverse of that, whole and 2⁻²⁸.
    const SIZE_WORDS: u32 = 3;
    /// Highest height that is left: 8000 cells.
    const HIGHEST: i32 = 2097152000;
}

/// Radii that a hill can have.
const SIZES: u32 = 256;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "hills",
    about: "Round hills of various heights at random places.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(
        super::fractal::SHADER,
        WGSL,
        Params::WGSL,
        include_str!("../../shaders/hills.wgsl")
    ),
    kernels: &[&HEAP],
    check,
    plan,
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::number(
        "spacing_cells",
        "cells",
        [2.0, 1e6, 64.0],
        "Side of the squares of which each can have a hill.",
    ),
    Param::number("chance", "", [0.0, 1.0, 0.7], "Share of the squares that have one."),
    Param::number("smallest", "of spacing", [0.05, 1.0, 0.3], "Radius of the smallest hills."),
    Param::number("largest", "of spacing", [0.05, 1.0, 1.0], "Radius of the largest hills."),
    Param::number("lowest_m", "m", [0.0, 1e6, 10.0], "Height of the lowest hills above the plain."),
    Param::number(
        "relief_m",
        "m",
        [0.0, 1e6, 100.0],
        "Height of the highest hills above the plain.",
    ),
    Param::choice(
        "merge",
        &["add", "max"],
        "Where hills overlap they are added, or the highest counts.",
    ),
    Param::number("base_m", "m", [-1e6, 1e6, 0.0], "Height of the plain between the hills."),
    COMBINE,
    MASK,
    SHARE,
    ONE_M,
];

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    for [low, high] in [["smallest", "largest"], ["lowest_m", "relief_m"]] {
        if s.number(low) > s.number(high) {
            let message = format!(
                "{low} = {} and {high} = {}: allowed is a {low} up to {high}",
                s.number(low),
                s.number(high)
            );
            return Err(Invalid::of(low, s.number(low), format!("up to {high}"))
                .saying(message)
                .into());
        }
    }
    let (relief, base) = (s.number("relief_m"), s.number("base_m"));
    combine::check_heights(
        site,
        &[("base_m", base), ("relief_m", relief), ("base_m + relief_m", base + relief)],
    )
}

uniform! {
    /// The uniform struct of the pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        key: UVec2,
        chance: u32,
        merge: u32,
        base: i32,
        lowest: i32,
        relief: i32,
    }
}

static HEAP: Kernel = Kernel {
    entry: "heap",
    reads: &["places", "sizes"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: heap,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let mut tables = Tables::default();
    tables.add(
        &Octaves { count: 1, feature: s.number("spacing_cells"), lacunarity: 1.0, gain: 0.0 },
        0.0,
        0,
        site,
    );
    let [smallest, largest] = ["smallest", "largest"].map(|name| s.number(name));
    let sizes = (0..SIZES).flat_map(|n| {
        let radius = smallest + (largest - smallest) * f64::from(n) / f64::from(SIZES - 1);
        let inverse = 1.0 / (radius * radius);
        [radius * radius * ONE as f64, inverse.floor(), (inverse - inverse.floor()) * ONE as f64]
            .map(|v| v as i32)
    });
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        key: arith::key(site.world.seed, 7).into(),
        chance: (s.number("chance") * 65536.0).round() as u32,
        merge: s.choice("merge"),
        base: site.height_of(s.number("base_m")),
        lowest: site.units(s.number("lowest_m")),
        relief: site.units(s.number("relief_m")),
    };
    let height = Buffer::cells("height", window, 1).kept().unset();
    let buffers = vec![
        height,
        Buffer::table("places", tables.places),
        Buffer::table("sizes", sizes.collect()),
    ];
    let plan = Plan::new(
        STAGE.shader,
        *window,
        buffers,
        vec![Pass::over(&HEAP, Uniform::of(params), window)],
    );
    combine::onto_ground(plan, s, site)
}

fn heap(call: &mut Call) {
    let p: &Params = call.params();
    let &[places, sizes] = call.reads else { return };
    let first = call.range.start as i32 / p.width;
    for (j, own) in call.owns[0].chunks_exact_mut(p.width as usize).enumerate() {
        heap_row(p, places, sizes, first + j as i32, own);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn heap_row(p: &Params, places: &[i32], sizes: &[i32], y: i32, own: &mut [i32]) {
    let (columns, ..) = places[..2 * p.width as usize].as_chunks::<2>();
    let row = spot(places, p.width, p.height, 0, 0, y);
    own.fill(0);
    let mut rest = &mut *own;
    // Cells of one square of the lattice have the same hills near them.
    for cells in columns.chunk_by(|a, b| a[0] == b[0]) {
        let own;
        (own, rest) = rest.split_at_mut(cells.len());
        for dy in -1..2 {
            for dx in -1..2 {
                let square = [cells[0][0].wrapping_add(dx), row.square[1].wrapping_add(dy)];
                if let Some(hill) = Hill::of(p, sizes, square) {
                    let south = away(dy, hill.place >> 16, row.part[1]);
                    if south < ONE {
                        heap_cells(p, &hill, dx, mul_q28(south, south), cells, own);
                    }
                }
            }
        }
    }
    for own in own {
        *own = p.base.saturating_add(*own).min(HIGHEST);
    }
}

/// Heaps a hill on cells of one row and one square of the lattice. `dx`: from that square to the
/// hill's; `south`: the square of the hill's distance along the other axis.
#[inline(always)]
fn heap_cells(p: &Params, hill: &Hill, dx: i32, south: i32, cells: &[[i32; 2]], own: &mut [i32]) {
    for (own, [_, part]) in own.iter_mut().zip(cells) {
        let east = away(dx, hill.place, *part);
        // Where it is 1 or more the hill is out of reach, and what it would have there unused.
        let squared = mul_q28(east, east).wrapping_add(south);
        // The quotient is below 1, but for what rounding the inverse leaves.
        let part = squared
            .wrapping_mul(hill.inverse[0])
            .wrapping_add(mul_q28(squared, hill.inverse[1]))
            .clamp(0, ONE);
        let profile = mul_q28(ONE - part, ONE - part);
        let reached = east < ONE && squared < hill.reach;
        let height = if reached { mul_q28(hill.height, profile) } else { 0 };
        *own = if p.merge == ADDED { own.saturating_add(height) } else { (*own).max(height) };
    }
}

/// The hill of a square.
struct Hill {
    /// The hash of its place in the square, by 16 bits an axis.
    place: u32,
    /// The square of its radius, and the inverse of that, 2⁻²⁸.
    reach: i32,
    inverse: [i32; 2],
    /// Above the plain.
    height: i32,
}

impl Hill {
    /// The hill of a square, if there is one.
    #[inline(always)]
    fn of(p: &Params, sizes: &[i32], [x, y]: [i32; 2]) -> Option<Self> {
        let (x, y) = (x as u32, y as u32);
        let place = hash(p.key.to_array(), x, y);
        let kind = hash([p.key[1], p.key[0]], x, y);
        if (kind & 0xffff) >= p.chance {
            return None;
        }
        let size = ((kind >> 16 & 0xff) * SIZE_WORDS) as usize;
        // Another hash, since heights and radii have nothing to do with each other.
        let share = hash(p.key.to_array(), kind, place) >> 16;
        Some(Self {
            place,
            reach: sizes[size],
            inverse: [sizes[size + 1], sizes[size + 2]],
            height: p.lowest.wrapping_add(mul_q16(p.relief.wrapping_sub(p.lowest), share)),
        })
    }
}

/// How far a hill is from a place along an axis, 2⁻²⁸ of a square. `d`: squares from the place's to
/// the hill's.
#[inline(always)]
fn away(d: i32, random: u32, part: i32) -> i32 {
    ((d << 28) + ((random & 0xffff) << 12) as i32).wrapping_sub(part).wrapping_abs()
}

fn cases() -> Vec<Case> {
    vec![
        case("default", Flat, [0, 0], [65, 47]).with("spacing_cells", 20.0),
        case("most", Flat, [-(1 << 61), 1 << 60], [50, 43])
            .with("merge", "max")
            .with("spacing_cells", 11.5)
            .with("smallest", 0.05)
            .with("chance", 1.0)
            .with("base_m", -30.0),
        case("high", Flat, [5, 5], [40, 40])
            .with("spacing_cells", 16.0)
            .with("relief_m", 80_000.0)
            .with("lowest_m", 70_000.0)
            .with("chance", 1.0),
        case("carved", Hills, [0, 0], [40, 30])
            .with("spacing_cells", 9.0)
            .with("combine", "subtract"),
    ]
}
