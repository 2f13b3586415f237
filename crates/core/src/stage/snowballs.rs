//! Hydraulic erosion by snowballs that all take each step together: few, fast and coarse.
//!
//! # Rule
//! Snowballs are particles of the stepper (`stepper` has births, `settle` and `limit`). Each lives
//! for `lifetime` steps. With `loads = "lost"` its load is lost where it stops or ends, as in the
//! article's program. With `loads = "left"` it falls apart there, as the article's text says: it
//! stays and proposes to give its whole load, through the brush, until it has laid it down. In a
//! step a snowball first settles what was granted of its last proposal: it takes that into its
//! load, but for the share `wash`, which leaves the land at once, or lays it down. Then, with
//! position p, age i, velocity v (0 at first) and load l:
//! - g is the gradient by central differences (bilinear, one cell to each side) of the frozen
//!   `height` at p + o. The offset o is the snowball's own, anywhere in the square of ±
//!   `offset_cells` cells, and keeps paths from merging;
//! - n = (−gₓ, 1, −g_y) / √(1 + g²) is the normal, and n_y = 1 / √(1 + g²) its upward component;
//! - on level ground (both components of g below 1/4096) above the sea it stops;
//! - it proposes to take `erosion` · (1 − n_y) · min(1, i · `quicken`) less l · `deposition` · n_y,
//!   which can be negative, at the vertex nearest to its *previous* position, so that it does not
//!   bury itself;
//! - v′ = `friction` · v + `speed` · n, p′ = p + v′;
//! - where the vertex nearest to p lies below the sea of `sea_level_m`, it takes nothing, it
//!   proposes to give l / 4 at least, rounded up, v′ is halved, and once it is empty it is gone.
//!
//! Rounding: floor everywhere, but to nearest in bilinear weights.
//!
//! # Shape
//! Reads and writes `height` (row-major, y south). Leaves `flow`, the number of snowballs that
//! passed.
//!
//! # Units
//! Velocity 2⁻¹¹ cells a step; heights, slopes and proposals as in `droplets`.
//!
//! # Limits
//! Slopes count as at most 7 cells a cell. A snowball goes at most [`stride`] cells a step along
//! each axis: `speed` / (1 − `friction`), rounded up, and at most 15. A proposal is at most 4 cells
//! and a load at most 32. Heights stay in their range by the maximum principle of the stepper.
//!
//! With `loads = "left"`, what a snowball still has when the next one of its home is due stays
//! where it is, through the brush, whether there is room for it or not, as with droplets: so much
//! that all that can end together at a vertex leave 2048 cells there (see `left`). The rest is
//! lost.
//!
//! # Reach
//! About steps · (2 · stride + offset + radius) cells: its function `spread` counts them.
//!
//! # Keeps
//! The stepper's books: mass is constant to the unit after every step. Loads that are lost have a
//! sum of their own.
//!
//! # Differs
//! From the article: all snowballs step together on a frozen surface, so a limit replaces the order
//! in which they would have seen each other's work; changes are centred on vertices, taken through
//! the brush and given through the stepper's spread (the article's weights of the four nodes are
//! transposed; see `classic::snowballs`); beyond the border the ground continues at the border's
//! height, not at 0. The final blur is the stage `blur`.
//!
//! # Source
//! J. Talle, *Simulating hydraulic erosion*, 2020.
//!
//! # Costs
//! A snowball and step: 13 reads of heights, 1 of a grant, 3 additions. Memory: 40 bytes a cell and
//! 24 a snowball.

mod cases;
mod kernels;

use super::Stage;
use super::stepper::{self, Options, Rules, Stream, TAIL, Walk, taps};
use crate::params::{Param, ParamKind, Settings};
use crate::plan::{Kernel, Plan, Uniform};
use crate::site::Site;
use crate::twin::{constants, uniform};
use cases::cases;
use encase::ShaderType;
use kernels::ROLL;
use std::ops::Range;

constants! {
    const WGSL: &str;

    /// Words of a snowball: x, y and whether it is spent (1 bit), velocity (two i16), load,
    /// proposal, and the vertex that the proposal is for.
    const DROP_WORDS: usize = 6;
    /// Steepest slope along an axis, 2⁻¹² cells a cell.
    const STEEPEST: i32 = 28672;
}

/// What all snowballs that end together at a vertex leave there at most, height units: 2048 cells.
const LEFT_MAX: u64 = 1 << 29;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "snowballs",
    about: "Hydraulic erosion by snowballs: faster and coarser than droplets, for islands and \
            sketches.",
    changes: true,
    halo: Some(|s, _, steps| spread(s, steps) + s.integer("smooth") as u64),
    params: PARAMS,
    shader: SHADER,
    kernels: &KERNELS,
    maps: &["flow"],
    check: |s, _| stepper::check(s),
    plan,
    reach: |s, _| spread(s, 0..Walk::of(s, 1).steps) + s.integer("smooth") as u64,
    summary: |s, site| Walk::of(s, stride(s)).summary(site),
    work: Some("flow"),
    cases,
    ..Stage::PLAIN
};

const SHADER: &str = constcat::concat!(
    stepper::SHADER,
    WGSL,
    Law::WGSL,
    include_str!("../../shaders/snowballs.wgsl")
);
static KERNELS: [&Kernel; 12] = stepper::with(&ROLL);

const PARAMS: &[Param] = &[
    stepper::rain(0.4),
    stepper::density(0.25),
    stepper::lifetime(2048, 80),
    Param::number(
        "speed",
        "cells a step",
        [0.0, 8.0, 0.15],
        "Gain of velocity in a step on a vertical slope. The top speed is speed / (1 − friction), \
         and at most 15.",
    ),
    Param::number(
        "friction",
        "",
        [0.0, 0.99, 0.7],
        "Part of its velocity that a snowball keeps in a step.",
    ),
    Param::number(
        "offset_cells",
        "cells",
        [0.0, 8.0, 0.8],
        "How far from itself a snowball can sample the ground, along each axis.",
    ),
    Param::number(
        "erosion",
        "cells a step",
        [0.0, 16.0, 0.4],
        "Height that a snowball tries to take in a step on a vertical slope.",
    ),
    Param::number(
        "deposition",
        "",
        [0.0, 1.0, 0.03],
        "Part of its load that a snowball tries to lay down in a step on level ground.",
    ),
    Param::number(
        "quicken",
        "a step",
        [0.0, 1.0, 0.04],
        "Erosion grows by this part of its full value in each step of a life, so young snowballs \
         erode less.",
    ),
    stepper::radius(2.0),
    stepper::LIMIT_PARAM,
    Param {
        kind: ParamKind::Choice(&["open", "torus", "wall"]),
        doc: "open: snowballs leave the map with their load; torus: they come in on the other \
              side; wall: they stay.",
        ..stepper::BORDER
    },
    Param::choice(
        "loads",
        &["lost", "left"],
        "What becomes of its load where a snowball stops or ends. lost: it vanishes, as in the \
         article's program; left: the snowball falls apart and leaves it there, as the article's \
         text says.",
    ),
    stepper::WASH,
    stepper::SEA_LEVEL_M,
    stepper::FLOOR_M,
    stepper::SMOOTH,
    stepper::BEDROCK,
    stepper::ROOTS,
];

/// Cells that a snowball can go in a step, along each axis.
pub fn stride(s: &Settings) -> u32 {
    (s.number("speed") / (1.0 - s.number("friction"))).ceil().clamp(1.0, 15.0) as u32
}

/// Whether snowballs leave their loads where they end.
fn leaves(s: &Settings) -> bool {
    s.word("loads") == "left"
}

/// What a snowball leaves behind at most when the next one of its home is due, height units: so
/// much that all that can end together at a vertex leave [`LEFT_MAX`].
fn left(s: &Settings) -> i32 {
    let (steps, stride) = (s.integer("lifetime") as u64, u64::from(stride(s)));
    // Rows of homes in reach. Of 2 · lifetime + 5 neighbours in a row at most eight end together,
    // and on a torus its ends meet.
    let rows = 2 * steps * stride + 5;
    (LEFT_MAX / (8 * (stride + 1) * rows)) as i32
}

/// How far a change of one height can spread in some steps of a run, in cells.
///
/// In a step, a snowball differs if it read a height that differs or got another share where it was
/// two steps ago. It then moves on, and changes the ground where it was. The room of a vertex, and
/// what its neighbours pass on to it, spread by a cell a step.
fn spread(s: &Settings, steps: Range<u32>) -> u64 {
    let stride = stride(s) as u64;
    let felt = s.number("offset_cells").ceil() as u64 + 3;
    let brush = taps(s.number("radius_cells")).max(1) as u64;
    let ends = steps.end == Walk::of(s, 1).steps;
    // In the middle of a run, snowballs are lost near an edge, and so is what they asked for.
    let rim = if steps.start == 0 { 0 } else { 2 * stride + u64::from(stepper::EDGE) };
    let (mut height, mut drop, mut share) =
        (0u64, rim, if rim == 0 { 0 } else { rim + felt + stride + 1 });
    for _ in steps.start..steps.end + u32::from(ends) {
        let taken = share.max(drop + 2 * stride + 1);
        let met = (height + felt).max(share + 2 * stride + 1);
        let asked = (height + felt).max(drop) + stride + 1;
        height = (height + 1).max(taken + brush);
        share = asked.max(height + 1);
        drop = met.max(drop) + stride;
    }
    if !ends {
        return height.max(drop + 2 * stride + 1).max(share);
    }
    if leaves(s) {
        // Those that are spent lay down what they have left where they are.
        for _ in 0..TAIL {
            height = (height + 1).max(share.max(drop + 1) + brush);
            share = (height + 1).max(drop + 1);
        }
        return height;
    }
    // Then only the carry moves.
    height + TAIL as u64
}

uniform! {
    /// The law's block of the uniform struct.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Law {
        speed: i32,
        friction: u32,
        offset: i32,
        erosion: i32,
        deposition: u32,
        quicken: u32,
        fastest: i32,
        /// What a snowball leaves behind at most when the next one is due; −1: loads are lost.
        left: i32,
    }
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let q16 = |name: &str| (s.number(name) * 65536.0).round() as u32;
    let law = Law {
        speed: (s.number("speed") * 2048.0).round() as i32,
        friction: q16("friction"),
        offset: q16("offset_cells") as i32,
        erosion: q16("erosion") as i32,
        deposition: q16("deposition"),
        quicken: q16("quicken"),
        fastest: stride(s) as i32 * 2048,
        left: if leaves(s) { left(s) } else { -1 },
    };
    let rules = Rules {
        shader: SHADER,
        kernel: &ROLL,
        words: DROP_WORDS,
        vertex: Some(5),
        stride: stride(s),
        radius: s.number("radius_cells"),
        params: Uniform::of(law),
        buffers: vec![],
        options: Options::of(s),
        limit: &stepper::LIMIT,
        before: vec![],
        after: vec![],
        sand: false,
        stream: Stream::from(0.0),
    };
    stepper::plan(rules, s, site)
}
