//! Hydraulic erosion by droplets that all take each step together.
//!
//! # Rule
//! Droplets are particles of the stepper (`stepper` has births, `settle` and `limit`). Each lives
//! for `lifetime` steps, is then spent, and lays down its load. In a step it first settles what was
//! granted of its last proposal: it takes that into its load or lays it down. Then, on the frozen
//! `height` h, at its position p, with bilinear gradient g, heading u (a unit vector), speed s,
//! load l and the water w of its age:
//! - u′ = unit(u · inertia − g · (1 − inertia)), or a random direction if that is zero; p′ = p +
//!   u′, always one cell on;
//! - d = h(p′) − h(p);
//! - the stream is the number of droplets that have passed the vertex that it comes from, or that
//!   it is born at, on coarser levels and so far on this one, when something was last proposed
//!   there. With n such passages for each droplet that falls on a vertex, q is n /
//!   `river_threshold` or 1, whichever is greater, in steps of half an octave and up to some 180;
//! - uphill (d ≥ 0) it proposes to give min(l, d) to the vertex nearest to p, which fills the pit
//!   through the stepper's narrow spread;
//! - downhill, with c = max(−d, `slope_min`) · s · min(w · `capacity` · q, 16), it proposes to give
//!   (l − c) · `deposition` through the brush if l > c, and else to take min((c − l) · `erosion`,
//!   −d);
//! - with `border = "high"`, the part of u′ that leads off the map is turned round;
//! - below the sea, where h(p′) < `sea_level_m`, it slows down and lays down: s is halved, and no
//!   fall adds to it; it takes nothing, uphill or down it proposes to give (l − c) ·
//!   max(`deposition`, ¼) through the brush, rounded up, and once it is empty it is gone;
//! - of what it is granted to take, the share `wash` leaves the land at once;
//! - s′ = √max(0, s² − d · `gravity`). The water of age a is (1 − `evaporation`)ᵃ and fades to
//!   nothing in the last quarter of life, in which the droplet lays down at least 1 / (steps left)
//!   of its surplus.
//!
//! Rounding: floor everywhere but where said, and to nearest in bilinear weights.
//!
//! # Shape
//! Reads and writes `height` (row-major, y south). Leaves `flow`, the number of droplets that
//! passed.
//!
//! # Units
//! Heights 2⁻¹⁸ cells; slopes and proposals 2⁻¹⁶; positions 2⁻¹⁶ cells; heading 2⁻¹⁴; speed 2⁻¹⁰;
//! fractions 2⁻¹⁶.
//!
//! # Limits
//! Slopes count as at most 64 cells a cell, the drop of a step as at most 16 cells, the speed as at
//! most 32. A proposal is at most 4 cells and a load at most 32. A run has at most 2¹⁸ steps and a
//! droplet at most 511 lives. Heights stay in their range by the maximum principle of the stepper.
//!
//! A droplet is spent when its life ends. It stays where it is and proposes to give its whole load
//! until it has laid it down. What is left when the next droplet of its home is due stays there,
//! through the brush, whether there is room for it or not, and what there is no room for is
//! carried. So nothing goes from one life to the next, and what happens at a home does not depend
//! on where its last droplet ended.
//!
//! So much is left behind only as far as no sum can wrap: 256 / (2 · `lifetime` + 5) cells, which
//! is 1 cell for a lifetime of 128. The rest is lost, and the books say so. In a step at most 8 ·
//! (2 · `lifetime` + 5) droplets end at one vertex: no more rows of homes are in reach, and of the
//! neighbours in a row at most eight end together (see [`stepper::phase`]). So they leave 2048
//! cells there at most. About π · `lifetime` is what a cone can gather at its tip, or 400 cells,
//! and carry that spreads by diffusion stays below 4096 cells if as much comes in each of 2¹⁸
//! steps.
//!
//! # Reach
//! About steps · max(radius, (radius + 4) / 2) cells: see [`reach`].
//!
//! # Keeps
//! The stepper's books: mass is constant to the unit after every step.
//!
//! # Differs
//! From Beyer: all droplets step together on a frozen surface, so a limit replaces the order in
//! which they would have seen each other's work; erosion and deposition are centred on vertices;
//! droplets fade out before they die; proposals below 2⁻¹⁶ cells are not made.
//!
//! # Source
//! H. T. Beyer, *Implementation of a method for hydraulic erosion*, 2015; I. van der Veen,
//! *Hydraulic erosion*, 2024 (the article whose constants the `article` preset holds).
//!
//! # Costs
//! A droplet and step: 8 reads of heights, 1 of a grant, 3 additions, and the stepper's cells.
//! Memory: 40 bytes a cell and 20 a droplet.

mod batch;
mod cases;
mod kernels;

use super::Stage;
use super::stepper::{self, Options, Rules, Stream, TAIL, Walk, taps};
use crate::arith::mul_q16;
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Kernel, Plan, Uniform};
use crate::site::Site;
use crate::twin::{constants, uniform};
use cases::cases;
use encase::ShaderType;
use kernels::DROPS;
use std::ops::Range;

constants! {
    const WGSL: &str;

    /// Words of a droplet: x, y and whether it is spent (1 bit), heading (two i16), the upper 8
    /// bits of its proposal and its load (24 bits), and a word of three parts: whether its proposal
    /// fills a pit (1 bit), speed (15 bits) and the lower 16 bits of its proposal.
    const DROP_WORDS: usize = 5;
    /// The load in its word.
    const LOAD_MASK: i32 = (1 << 24) - 1;
    /// Fastest speed, 2⁻¹⁰ cells a step.
    const SPEED_MAX: i32 = 32767;
    /// The product of water, capacity and stream: a capacity of 16.
    const CARRY_MAX: u32 = 65536;
    /// Divided by 2 · lifetime + 5: what a droplet leaves behind at most when the next one is due,
    /// height units.
    const LEFT_MAX: i32 = 1 << 26;
    /// The drop of one step counts as at most this for the capacity, 2⁻¹⁶ cells.
    const DROP_MAX: i32 = 1 << 20;
    /// What a droplet lays down of its surplus below the sea at least, 2⁻¹⁶. It divides the 3 units
    /// by which that is rounded up, so nothing is left in the end.
    const SEA_LAY: i32 = 16384;
}

/// The stage.
pub static STAGE: Stage = Stage {
    name: "droplets",
    about: "Hydraulic erosion by droplets.",
    changes: true,
    halo: Some(|s, _, steps| {
        spread(Walk::of(s, 1).steps, s.number("radius_cells"), steps, u64::from(stepper::EDGE))
            + s.integer("smooth") as u64
    }),
    params: PARAMS,
    shader: SHADER,
    kernels: &KERNELS,
    maps: &["flow"],
    check: |s, _| stepper::check(s),
    plan,
    reach: |s, _| {
        reach(Walk::of(s, 1).steps, s.number("radius_cells")) + s.integer("smooth") as u64
    },
    summary: |s, site| Walk::of(s, 1).summary(site),
    work: Some("flow"),
    cases,
    ..Stage::PLAIN
};

const SHADER: &str = constcat::concat!(
    stepper::SHADER,
    WGSL,
    Law::WGSL,
    include_str!("../../shaders/droplets.wgsl")
);
static KERNELS: [&Kernel; 12] = stepper::with(&DROPS);

const PARAMS: &[Param] = &[
    stepper::rain(1.0),
    stepper::density(0.25),
    stepper::lifetime(8192, 128),
    Param::number(
        "inertia",
        "",
        [0.0, 1.0, 0.1],
        "With 0 a droplet turns down the slope at once, with 1 it never turns.",
    ),
    Param::number(
        "capacity",
        "",
        [0.0, 16.0, 2.0],
        "Sediment that a droplet can carry, in cells of height, at slope 1, speed 1 and full \
         water.",
    ),
    Param::number(
        "river_threshold",
        "passages",
        [0.0, 1e6, 0.0],
        "Streams that carry more: where more droplets than this have passed a vertex for each that \
         falls on it, the capacity grows in proportion to their number. With 0 all streams are \
         alike. On a coarser level half as many droplets count as much.",
    ),
    Param::number(
        "slope_min",
        "rise per cell",
        [0.0, 16.0, 0.01],
        "Downhill slopes count as at least this steep for the capacity.",
    ),
    Param::number(
        "erosion",
        "",
        [0.0, 1.0, 0.05],
        "Part of its free capacity that a droplet tries to fill in a step.",
    ),
    Param::number(
        "deposition",
        "",
        [0.0, 1.0, 0.02],
        "Part of its surplus that a droplet tries to lay down in a step.",
    ),
    Param::number(
        "evaporation",
        "a step",
        [0.0, 1.0, 0.005],
        "Part of its water that a droplet loses in a step.",
    ),
    Param::number("gravity", "", [0.0, 16.0, 4.0], "Gain of squared speed for each cell of drop."),
    stepper::radius(3.0),
    stepper::LIMIT_PARAM,
    stepper::BORDER,
    stepper::WASH,
    stepper::SEA_LEVEL_M,
    stepper::FLOOR_M,
    stepper::SMOOTH,
    stepper::BEDROCK,
    stepper::ROOTS,
];

/// How far a change of one height can spread in this many steps, in cells.
///
/// A step spreads a difference like this, counted in half cells. A droplet differs if it read a
/// height that differs (up to 2 cells away) or got another share at its last vertex (½ + 1 cells
/// back), and then moves on by 1 cell. It takes at the vertex that it came from (1½ cells), and the
/// brush spreads that by its taps. A share differs next to a height or a carry that differs, and so
/// do the room of a vertex and what its neighbours pass on to it.
pub fn reach(steps: u32, radius: f64) -> u64 {
    spread(steps, radius, 0..steps, 0)
}

/// The same in some of the steps of a run of `all`. Where they are not the first, droplets so many
/// cells from an edge are `lost`.
fn spread(all: u32, radius: f64, steps: Range<u32>, lost: u64) -> u64 {
    let taps = 2 * taps(radius).max(1) as u64;
    let ends = steps.end == all;
    // How far the ground (its heights and its carry), droplets and shares differ. At first only one
    // height does. In the middle of a run so do the droplets that are lost, and what they asked
    // for.
    let rim = 2 * lost;
    let (mut height, mut drop, mut share) = if steps.start == 0 {
        (0u64, None::<u64>, None::<u64>)
    } else {
        (0, Some(rim), Some(rim + 5))
    };
    for step in steps.start..if ends { all + TAIL } else { steps.end } {
        // Half cells: three of them are the way back to the vertex that it came from.
        let taken = share.max(drop.map(|d| d + 3));
        let met = Some(height + 4).max(share.map(|s| s + 5));
        let asked = (height + 5).max(drop.map_or(0, |d| d + 1));
        height = (height + 2).max(taken.map_or(0, |t| t + taps));
        if step < all {
            drop = met.max(drop.map(|d| d + 2));
            share = Some(asked.max(height + 2));
        } else {
            // Only spent droplets are left. They stay where they are.
            share = Some((height + 2).max(drop.map_or(0, |d| d + 1)));
        }
    }
    // What a run leaves are heights. Between two steps there are also droplets, and what they asked
    // of the vertex that they came from.
    let left =
        if ends { height } else { height.max(drop.map_or(0, |d| d + 3)).max(share.unwrap_or(0)) };
    left.div_ceil(2)
}

uniform! {
    /// The law's block of the uniform struct.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Law {
        inertia: u32,
        erosion: u32,
        gravity: i32,
        slope_min: i32,
    }
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let walk = Walk::of(s, 1);
    let lifetime = walk.lifetime;
    let q16 = |name: &str| (s.number(name) * 65536.0).round() as u32;
    let quarter = (lifetime / 4).max(1);
    // For each age what can be carried, and what part of a surplus is laid down.
    let mut by_age = Vec::with_capacity(2 * lifetime as usize);
    let mut left = 65536u32;
    for age in 0..lifetime {
        let rest = lifetime - age;
        // The water is whole until the last quarter of life, and falls evenly from there.
        let fade = 65536 / quarter * rest.min(quarter);
        // The product of water and capacity, where 1 stands for a capacity of 16.
        by_age.push(mul_q16(
            mul_q16(left as i32, fade.min(65536)),
            (s.number("capacity") / 16.0 * 65536.0).round() as u32,
        ));
        // In the last quarter of life, at least the share that leaves nothing at the end.
        by_age.push(if rest <= quarter {
            q16("deposition").max(65536 / rest)
        } else {
            q16("deposition")
        } as i32);
        // The age of 0 has all its water, so it evaporates after the words are made.
        left = mul_q16(left as i32, 65536 - q16("evaporation")) as u32;
    }
    let [cells, vertices] = site.stride().map(|n| n as f64);
    // On each coarser level half as many droplets count as much.
    let stream = Stream::from(s.number("river_threshold") * walk.rain * vertices / cells);
    by_age.extend(stream.times);
    let law = Law {
        inertia: q16("inertia"),
        erosion: q16("erosion"),
        // Squares of speeds are in 2⁻²⁰ and heights in 2⁻¹⁶, so this is in 2⁻⁴.
        gravity: (s.number("gravity") * 16.0).round() as i32,
        slope_min: q16("slope_min") as i32,
    };
    let rules = Rules {
        shader: SHADER,
        kernel: &DROPS,
        words: DROP_WORDS,
        vertex: None,
        stride: 1,
        radius: s.number("radius_cells"),
        params: Uniform::of(law),
        buffers: vec![Buffer::table("water", by_age)],
        options: Options::of(s),
        limit: &stepper::LIMIT,
        before: vec![],
        after: vec![],
        sand: false,
        stream,
    };
    stepper::plan(rules, s, site)
}
