//! Fractal terrain by diamond-square, for any window of a world of up to 2³² cells a side.
//!
//! # Rule
//! The world is a square of `world_cells` cells, a power of two. Values are 0 to 1. Lattices have
//! the spacings B from `feature_cells`, halved down to 1. With S = `feature_cells`, and r a random
//! number in 0..1 from the hash of the world coordinates:
//! - *square*: a point with two odd lattice coordinates is the mean of its four diagonal
//!   neighbours;
//! - *diamond*: a point with one odd coordinate is the mean of its four axial neighbours;
//! - both are displaced by (r − ½) · `roughness` · `gain`ˡ⁻¹ at level l (with the published gain of
//!   ½ this is (r − ½) · 2B / S · roughness) and clamped to 0..1.
//!
//! If `feature_cells` = `world_cells`, the corners of the world are `edge_height`. If it is
//! smaller, the points of the first lattice are random, which gives archipelagos instead of one
//! continent. With a constant edge, every point on the rim of the world and outside it has
//! `edge_height`. A torus repeats.
//!
//! `mode = "midpoint"` leaves the midpoints of sides at the mean of their two ends, not displaced.
//! (Diamond-square was invented to avoid the straight creases that this makes.) `mode = "skyline"`
//! is midpoint displacement along x alone, the same in every row.
//!
//! After that, the value v is optionally stretched to the range of the whole world (`normalise`)
//! and squared (`square`), and becomes the height `base_m` + v · `relief_m`. The range is that of
//! the world's lattice of 513 × 513 points, never that of the window.
//!
//! # Shape
//! The levels of a window shrink to a handful of points, so the work is proportional to the window
//! and the memory is twice the window. Each level is one pass, in which a diamond computes the two
//! square centres that it needs anew.
//!
//! # Units
//! Values 2⁻²⁸; heights 2⁻¹⁸ cells; random numbers 16 bits.
//!
//! # Limits
//! The world has 2 to 2³² cells a side, a power of two. With `random = "pair"` only the seed's low
//! 31 bits count. With `random = "mul"` it has at most 2²⁶, and only its low 32: it multiplies
//! coordinates and nothing more, so that worlds of some 10⁸ cells show symmetries along diagonals
//! and islets that repeat.
//!
//! # Reach
//! None: a point depends on its world coordinates alone.
//!
//! # Differs
//! From the article: fixed point replaces floats; our hash replaces its generator, unless `random =
//! "pair"` asks for that; passes by level replace a recursion with a cache (a point depends on
//! coarser points alone, so the order cannot matter).
//!
//! # Source
//! A. Fournier, D. Fussell, L. Carpenter, *Computer rendering of stochastic models*, 1982; the lazy
//! window follows an article of 2011 on Habr, *Fractal terrain: diamond-square* (its JavaScript in
//! f64 is `classic::diamond_square`).
//!
//! # Costs
//! A point: 6 reads and 3 hashes (on the CPU 1 hash), 1 write. All levels together cost 4/3 of
//! that.

mod cases;
mod kernels;

use super::Stage;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use super::survey::Memory;
use crate::arith;
use crate::error::Invalid;
use crate::params::{Param, Settings, rounded};
use crate::plan::{Buffer, Call, Fill, Pass, Plan, Uniform};
use crate::site::HEIGHT_MAX;
use crate::site::{Site, Window};
use crate::twin::{constants, uniform};
use cases::cases;
use encase::ShaderType;
use glam::{IVec2, UVec2};
use kernels::{REFINE, SHAPE, START, refine, start};

constants! {
    const WGSL: &str;

    /// The value 1.
    const ONE: i32 = 1 << 28;
    const MIDPOINT: u32 = 1;
    const SKYLINE: u32 = 2;
    const PAIR: u32 = 1;
    const MUL: u32 = 2;
}

/// The range of the world is that of a lattice with one point more than this on a side.
const SURVEY: u64 = 512;

const DIAMOND_SQUARE: u32 = 0;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "diamond_square",
    about: "Fractal terrain: a window of a diamond-square world.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(
        WGSL,
        Params::WGSL,
        include_str!("../../shaders/diamond_square.wgsl")
    ),
    kernels: &[&START, &REFINE, &SHAPE],
    check,
    plan,
    summary: |s, site| {
        serde_json::json!({ "world_cells": world(s, &site.own),
        "levels": feature(s, &site.own).ilog2() })
    },
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "world_cells",
        "cells",
        [0, 1 << 32, 0],
        "Side of the world, a power of two. 0 is the smallest that holds the window.",
    ),
    Param::integer(
        "feature_cells",
        "cells",
        [0, 1 << 32, 0],
        "Spacing of the coarsest lattice, a power of two: large for continents, small for \
         archipelagos. 0 is the side of the world.",
    ),
    Param::choice(
        "mode",
        &["diamond_square", "midpoint", "skyline"],
        "midpoint shows the creases of 2-D midpoint displacement; skyline is midpoint displacement \
         along x.",
    ),
    Param::choice(
        "edge",
        &["constant", "torus"],
        "constant: the rim of the world and everything outside it are at edge_height; torus: the \
         world repeats.",
    ),
    Param::number("edge_height", "", [0.0, 1.0, 0.0], "Value of the rim. With 0 the borders sink."),
    Param::number(
        "roughness",
        "",
        [0.0, 7.0, 1.0],
        "Width of the first random displacement, as part of the relief.",
    ),
    Param::number(
        "gain",
        "",
        [0.0, 1.0, 0.5],
        "Displacement of a level compared with the last. The article has ½, and more is rougher at \
         small scales.",
    ),
    Param::choice(
        "random",
        &["hash", "pair", "mul"],
        "Source of random numbers: a hash; the article's generator, which repeats remainders by \
         primes (slow, and by the low 31 bits of the stage's seed, which a line `seed` in the \
         stage sets); or its readers', which multiplies (artefacts in large worlds).",
    ),
    Param::integer("rounds", "", [1, 80, 80], "Rounds of the article's generator."),
    Param::switch("normalise", false, "Stretches the range of the whole world to 0..1."),
    Param::switch("square", false, "Squares the values: flatter plains, steeper peaks."),
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

/// The side of the world.
pub fn world(s: &Settings, window: &Window) -> u64 {
    match s.integer("world_cells") {
        0 => {
            let far = |a: usize, n: u32| (window.origin[a].max(0) as u64).saturating_add(n as u64);
            far(0, window.width)
                .max(far(1, window.height))
                .saturating_sub(1)
                .max(2)
                .next_power_of_two()
                .min(1 << 32)
        }
        given => given as u64,
    }
}

/// The spacing of the first lattice.
fn feature(s: &Settings, window: &Window) -> u64 {
    match s.integer("feature_cells") {
        0 => world(s, window),
        given => given as u64,
    }
}

/// A warning where some of the land lies beyond its world. There all points are at `edge_height`,
/// and people take it for a fault.
pub fn beyond(s: &Settings, land: &Window, endless: bool) -> Option<String> {
    if s.word("edge") == "torus" || s.word("mode") == "skyline" {
        return None;
    }
    let world = world(s, land);
    let inside = |a: usize, n: u32| {
        let (first, last) = (land.origin[a], land.origin[a] + i64::from(n) - 1);
        (last.min(world as i64) - first.max(0) + 1).max(0) as f64 / f64::from(n)
    };
    let outside = 1.0 - inside(0, land.width) * inside(1, land.height);
    if outside == 0.0 && !endless {
        return None;
    }
    let reach = match endless {
        true => "the land goes on beyond it".into(),
        false => format!("{:.0} % of the land lies beyond it", (outside * 100.0).ceil()),
    };
    Some(format!(
        "world_cells = {world} cells: {reach}, where diamond_square makes level ground; raise \
         world_cells, \
         move origin, or use edge = \"torus\""
    ))
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let (world, feature) = (world(s, &site.own), feature(s, &site.own));
    for (name, v) in [("world_cells", world), ("feature_cells", feature)] {
        if !v.is_power_of_two() || v < 2 {
            return Err(Invalid::from(format!(
                "{name} = {v} cells: allowed are powers of two from 2 to 4294967296, such as {}",
                v.max(2).next_power_of_two()
            ))
            .about(name.split(' ').next().unwrap_or(name))
            .into());
        }
    }
    if s.word("random") == "mul" && world > 1 << 26 {
        return Err(Invalid::from(format!(
            "random = \"mul\" with world_cells = {world} cells: allowed up to 67108864, beyond \
             which it \
             shows, or use random = \"hash\""
        ))
        .about("random")
        .into());
    }
    if feature > world {
        return Err(Invalid::from(format!(
            "feature_cells = {feature} cells: allowed up to the world's {world}"
        ))
        .about("feature_cells")
        .into());
    }
    let (relief, base) = (s.number("relief_m"), s.number("base_m"));
    for (name, metres) in [("base_m", base), ("base_m + relief_m", base + relief)] {
        if metres.abs() > HEIGHT_MAX as f64 * site.spacing_m() {
            return Err(Invalid::from(format!(
                "{name} = {} m at spacing_m = {}: allowed up to {HEIGHT_MAX} cells, {} m, either \
                 way",
                rounded(metres),
                rounded(site.spacing_m()),
                rounded(HEIGHT_MAX as f64 * site.spacing_m())
            ))
            .about(name.split(' ').next().unwrap_or(name))
            .into());
        }
    }
    Ok(())
}

uniform! {
    /// The uniform struct of every pass of this stage.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        /// Size of the lattice that the pass makes.
        width: i32,
        height: i32,
        /// Columns of the coarser lattice that it is made from.
        coarse_width: i32,
        /// 1 if the first column (row) has an odd lattice coordinate.
        odd: IVec2,
        /// Local columns and rows in `inner_low..inner_high` are inside the world.
        inner_low: IVec2,
        inner_high: IVec2,
        /// World coordinates of the first point, and the cells from point to point. The mask takes
        /// a torus back to its first period.
        origin: UVec2,
        step: u32,
        mask: u32,
        key: UVec2,
        /// Width of the displacement, 2⁻²⁸.
        amplitude: i32,
        edge: i32,
        random: u32,
        rounds: u32,
        mode: u32,
        /// For `shape`: the value that becomes 0, the factor (whole part and 2⁻¹⁶), and heights in
        /// units.
        low: i32,
        range: i32,
        stretch: i32,
        stretch_fraction: u32,
        square: u32,
        base: i32,
        relief: i32,
    }
}

impl Params {
    /// Points of the lattice that the pass makes.
    fn points(&self) -> usize {
        self.width as usize * self.height as usize
    }
}

/// One lattice: spacing, first point in lattice coordinates, points.
struct Lattice {
    spacing: u64,
    first: [i64; 2],
    size: [u32; 2],
}

/// The lattices that the points `first..first + size` of spacing `spacing` need, finest first.
fn lattices(first: [i64; 2], size: [u32; 2], spacing: u64, feature: u64) -> Vec<Lattice> {
    let mut all = vec![Lattice { spacing, first, size }];
    while all[all.len() - 1].spacing < feature {
        let fine = &all[all.len() - 1];
        // Rounded outwards, and one more on each side for the square centres beyond the rim.
        let first = fine.first.map(|f| f.div_euclid(2) - 1);
        let last = [0, 1].map(|a| -(-(fine.first[a] + fine.size[a] as i64 - 1)).div_euclid(2) + 1);
        all.push(Lattice {
            spacing: fine.spacing * 2,
            first,
            size: [0, 1].map(|a| (last[a] - first[a] + 1) as u32),
        });
    }
    all
}

/// The parameters of each level, coarsest first. A cell of the recipe has `parts` parts a side, and
/// `spacing` is in parts.
fn levels(
    s: &Settings,
    site: &Site,
    first: [i64; 2],
    size: [u32; 2],
    [spacing, parts]: [u64; 2],
) -> Vec<Params> {
    let (world, feature) = (world(s, &site.own) * parts, feature(s, &site.own) * parts);
    let torus = s.word("edge") == "torus";
    let (pair, mul) = (s.choice("random") == PAIR, s.choice("random") == MUL);
    // Sums and products of f64 are the same on all machines.
    let mut amplitude = s.number("roughness");
    let gain = s.number("gain");
    let lattices = lattices(first, size, spacing, feature);
    let mut all = Vec::with_capacity(lattices.len());
    for (i, l) in lattices.iter().enumerate().rev() {
        let bound = |from: i64, to: i64| (to - from).clamp(-1, i32::MAX as i64) as i32;
        let far = (world / l.spacing) as i64;
        let random_start = i + 1 == lattices.len() && feature < world;
        // Points between the recipe's cells have keys of their own, so that the recipe's points are
        // the same for any number of parts.
        let step = (l.spacing / parts).max(1);
        let finer = (parts / l.spacing).max(1).ilog2();
        let seed = if finer > 0 { arith::seed(site.world.seed, finer) } else { site.world.seed };
        let period = if finer > 0 { world / l.spacing } else { world / parts };
        all.push(Params {
            width: l.size[0] as i32,
            height: l.size[1] as i32,
            coarse_width: lattices.get(i + 1).map_or(0, |c| c.size[0] as i32),
            odd: l.first.map(|f| (f & 1) as i32).into(),
            inner_low: if torus { IVec2::MIN } else { l.first.map(|f| bound(f, 1)).into() },
            inner_high: if torus { IVec2::MAX } else { l.first.map(|f| bound(f, far)).into() },
            origin: l.first.map(|f| f.wrapping_mul(step as i64) as u32).into(),
            step: step as u32,
            mask: if torus { (period - 1) as u32 } else { u32::MAX },
            key: match (pair, mul) {
                (true, _) => [(seed & 0x7fff_ffff) as u32, 0],
                (_, true) => [seed as u32, 0],
                _ => arith::key(seed, 0),
            }
            .into(),
            // On the first lattice it only says whether points are random.
            amplitude: if i + 1 == lattices.len() {
                random_start as i32
            } else {
                (amplitude * ONE as f64) as i32
            },
            edge: (s.number("edge_height") * ONE as f64) as i32,
            random: s.choice("random"),
            rounds: s.integer("rounds") as u32,
            mode: s.choice("mode"),
            low: 0,
            range: ONE,
            stretch: 1,
            stretch_fraction: 0,
            square: s.switch("square") as u32,
            base: 0,
            relief: 0,
        });
        if i + 1 < lattices.len() {
            amplitude *= gain;
        }
    }
    all
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let levels = levels(
        s,
        site,
        window.origin,
        [window.width, window.height],
        site.stride().map(|n| n as u64),
    );
    // Both buffers hold all levels in turn. In the smallest windows, coarser levels have more
    // points than the window.
    let words = levels.iter().map(Params::points).max().unwrap_or(0);
    // A draft is not run, so it does not need the range.
    let is_surveyed = s.switch("normalise") && !site.draft;
    let (low, high) = if is_surveyed { survey(s, site) } else { (0, ONE) };
    let range = (high - low).max(1);
    let stretch = ((ONE as u64) << 16) / range as u64;
    let mut passes = Vec::with_capacity(levels.len() + 1);
    for (i, level) in levels.iter().enumerate() {
        let kernel = if i == 0 { &START } else { &REFINE };
        let pass = Pass::new(kernel, Uniform::of(*level), level.points(), level.width as u32);
        passes.push(if i + 1 < levels.len() {
            pass.swapping(&[["coarse", "height"]])
        } else {
            pass
        });
    }
    let last = Params {
        low,
        range,
        stretch: (stretch >> 16) as i32,
        stretch_fraction: (stretch & 0xffff) as u32,
        base: site.units(s.number("base_m")),
        relief: site.units(s.number("relief_m")),
        ..levels[levels.len() - 1]
    };
    passes.push(Pass::new(&SHAPE, Uniform::of(last), last.points(), last.width as u32));
    // If a level has more points than the window, its words stay behind the last cell.
    let fill = if words == window.cells() { Fill::Unset } else { Fill::Word(0) };
    let buffer = |name| Buffer { words, fill: fill.clone(), ..Buffer::cells(name, window, 1) };
    let plan =
        Plan::new(STAGE.shader, *window, vec![buffer("height").kept(), buffer("coarse")], passes);
    combine::onto_ground(plan, s, site)
}

/// Ranges of worlds, by the parameters of all their levels.
static KNOWN: Memory<Vec<u8>, (i32, i32)> = Memory::empty();

/// The lowest and highest value of the whole world on its lattice of 513 × 513 points, or on all
/// points of a smaller world.
fn survey(s: &Settings, site: &Site) -> (i32, i32) {
    let world = world(s, &site.own);
    let spacing = (world / SURVEY).max(1).min(feature(s, &site.own));
    let side = (world / spacing + 1).min(4 * SURVEY) as u32;
    let levels = levels(s, site, [0, 0], [side, side], [spacing, 1]);
    let uniforms: Vec<Uniform> = levels.iter().map(|level| Uniform::of(*level)).collect();
    let key = uniforms.iter().flat_map(Uniform::bytes).collect();
    let range = KNOWN.get(key, || {
        let (mut fine, mut coarse) = (vec![], vec![]);
        for (i, (level, uniform)) in levels.iter().zip(&uniforms).enumerate() {
            std::mem::swap(&mut fine, &mut coarse);
            fine.resize(level.points(), 0);
            let kernel = if i == 0 { start } else { refine };
            kernel(&mut Call {
                uniform,
                range: 0..level.points() as u32,
                reads: &[&coarse],
                owns: &mut [&mut fine],
                adds: &[],
                touched: &[],
                calm: None,
            });
        }
        fine.iter().fold((ONE, 0), |(lo, hi), &v| (lo.min(v), hi.max(v)))
    });
    *range
}
