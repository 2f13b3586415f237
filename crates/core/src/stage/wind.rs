//! Erosion by wind: grains of loose sediment hop downwind, come to rest, and form dunes.
//!
//! # Rule
//! Grains are particles of the stepper (`stepper` has births and `settle`). In each step an idle
//! grain tries another place in its home, by hash. If the ground there is loose and not sheltered,
//! it proposes to take `grain_cells` · f, and hops. A grain with a load comes down where it is with
//! a chance of 1 on sheltered ground, `sand` · (2 − f) on loose ground and `rock` · (2 − f) on bare
//! bedrock. It then proposes to give its whole load. Otherwise it hops on. A grain that has laid
//! down its load is gone until its next life, so it flies once a life at most.
//!
//! - f = 1 + `lift` · s, within 0 to 2, where s is the slope up from the vertex 3 cells upwind: the
//!   wind is faster on a slope that faces it. More is then taken there than comes to rest, and less
//!   behind the crest. Together with the length of a hop, this makes long waves grow and short ones
//!   decay (Andreotti, Claudin, Douady 2002).
//! - A hop is `hop_cells` cells downwind, times 3/4 to 5/4, and up to `gust` times that length to
//!   either side, by hash.
//! - A place is sheltered if a line that rises upwind by `shadow_deg` meets the ground within 16
//!   cells. The line is tested at the nearest vertices 1, 2, 3, 4, 6, 8, 11 and 16 cells upwind.
//!
//! Three gathers belong to a step: `slide` at its end, and `shade` and `limit_sand` at its start.
//!
//! 1. `slide`: over each edge between a cell and its east and south neighbours, loose sediment
//!    moves down by d · max(`creep`, 1 − T² / g²) / 8, and at most a quarter of what lies at the
//!    upper end. d is the drop, g the slope of the ground at the middle of the edge, and T the
//!    tangent of `repose_deg`, as in `thermal`. The second term is the slip face. The first is the
//!    creep of grains that others strike, and removes the ripples of two or three cells that chance
//!    alone would leave.
//! 2. `shade` writes for each vertex how fast the wind is, whether it is sheltered, and whether it
//!    is loose.
//! 3. `limit_sand`, in place of the stepper's `limit`: a vertex loses at most the loose sediment
//!    that lies there, of which roots hold `root_strength` · vegetation, and gains at most one
//!    cell.
//!
//! Sand piles up, so the stepper's room does not hold here. In a step a vertex falls by at most its
//! loose sediment, and rises by at most a cell, and not above 8191 cells. What falls where there is
//! no room is carried to the side.
//!
//! When its life ends, a grain comes down where it is. What it still has when the next one of its
//! home is due stays there, whether there is room for it or not. So much stays only as far as no
//! sum can wrap: 2048 cells from all grains that can end together at a vertex (see `left`). That is
//! a whole load with short lives. The rest is lost, and the books say so.
//!
//! # Shape
//! Reads and writes `height` (row-major, y south), and needs a layer of sediment. Leaves `flow`,
//! the number of grains that passed.
//!
//! # Units
//! As in `droplets`; chances and speeds 2⁻¹⁶; slopes and parts of `slide` as in `thermal`.
//!
//! # Limits
//! A hop is at most 12 cells, and a grain at most half a cell of height.
//!
//! While sand falls on a slip face faster than it slides, the face is some degrees steeper than
//! `repose_deg`.
//!
//! **No setting makes it oscillate**, as proved in `thermal`: at most d / 8 slides over an edge.
//!
//! # Reach
//! About steps · (17 + 3 · hop) cells: see `spread`. A home never learns where its grain came down,
//! which can be a whole life's hops downwind: when and where its next grain starts follows from
//! home and step alone. Else a change could go upwind by that way in a step, from grain to grain.
//!
//! # Keeps
//! The stepper's books: mass is constant to the unit after every step. So is the bedrock (height −
//! sediment) of every cell, unless a stage that takes sediment runs between the steps: grains still
//! get what was granted to them before.
//!
//! # Differs
//! From Werner's slabs: all grains hop together on a frozen surface, the wind is faster on slopes
//! that face it, and what falls is spread over 3 × 3 cells. Each grain waits for its next life when
//! it has come to rest, where a slab moves on at once.
//!
//! # Source
//! B. T. Werner, *Eolian dunes: computer simulations and attractor interpretation*, 1995; B.
//! Andreotti, P. Claudin, S. Douady, *Selection of dune shapes and velocities*, 2002; I. van der
//! Veen, *Hydraulic erosion*, 2024, which suggests wind as future work.
//!
//! # Costs
//! A grain and step: 2 reads, 3 additions. A cell and step, in addition to the stepper's: 30 reads
//! (4 from memory), 2 quotients, 2 writes. Memory: 44 bytes a cell, 24 a grain, and 16 a cell for
//! the ledger. Dunes keep growing with `rain`; 64 is enough for dunes of 5 cells.

mod cases;
mod kernels;

use super::stepper::{self, Options, Rules, Stream, TAIL, WANT_MAX, Walk};
use super::{Stage, thermal};
use crate::arith::CELL;
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Plan, Uniform};
use crate::site::{Layer, Site};
use crate::twin::{constants, uniform};
use cases::cases;
use encase::ShaderType;
use kernels::{BLOW, LIMIT_SAND, SHADE, SLIDE};
use std::ops::Range;

constants! {
    const WGSL: &str;

    /// Words of a grain: x, y, 1 if it is spent, load, proposal, and the vertex that the proposal
    /// is for.
    const DROP_WORDS: usize = 6;
    /// Places upwind that `shade` reads.
    const LOOKS: usize = 8;
    /// The place that gives the slope that faces the wind.
    const FACING: usize = 2;
    /// Words of a place upwind: cells east, cells south, rise of the shadow there.
    const LOOK_WORDS: usize = 3;
    /// A component of a slope counts as at most this, so that the sum of two squares has 31 bits.
    const SLOPE_SEEN: i32 = 32767;
    /// What `shade` writes on sheltered ground. Elsewhere it writes twice the speed of the wind,
    /// and 1 more on loose ground.
    const SHELTERED: i32 = -1;
}

/// How far upwind they are, in cells.
const LOOK_CELLS: [f64; LOOKS] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 16.0];
/// What all grains together leave behind at most at a vertex in a step, height units: 2048 cells.
const LEFT_MAX: u64 = 1 << 29;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "wind",
    about: "Erosion by wind: loose sediment hops downwind and forms dunes.",
    changes: true,
    halo: Some(|s, _, steps| spread(s, steps)),
    params: PARAMS,
    shader: SHADER,
    kernels: &[
        &BLOW,
        &stepper::SETTLE,
        &SLIDE,
        &SHADE,
        &LIMIT_SAND,
        &stepper::RECALL,
        &stepper::BEGIN,
        &stepper::TALLY,
    ],
    maps: &["flow"],
    check,
    plan,
    reach: |s, _| spread(s, 0..Walk::of(s, 1).steps),
    summary: |s, site| Walk::of(s, stride(s)).summary(site),
    work: Some("flow"),
    cases,
    ..Stage::PLAIN
};

const SHADER: &str =
    constcat::concat!(stepper::SHADER, WGSL, Law::WGSL, include_str!("../../shaders/wind.wgsl"));

const PARAMS: &[Param] = &[
    stepper::rain(64.0),
    stepper::density(1.0),
    Param {
        doc: "Steps that a particle lives. It is picked up once at most, and comes down when its \
              life ends. Shorter lives make the same dunes in fewer steps, but no long flights.",
        ..stepper::lifetime(1024, 8)
    },
    Param::number(
        "from_deg",
        "degrees",
        [0.0, 360.0, 270.0],
        "Where the wind comes from, clockwise from north: 270 is a west wind.",
    ),
    Param::number("hop_cells", "cells", [1.0, 12.0, 6.0], "Length of a hop."),
    Param::number(
        "gust",
        "",
        [0.0, 1.0, 0.25],
        "How far a hop can go to either side, as part of its length.",
    ),
    Param::number("grain_cells", "cells", [0.0, 0.5, 0.1], "Height that a grain picks up."),
    Param::number(
        "sand",
        "",
        [0.0, 1.0, 0.6],
        "Chance that a grain comes to rest on loose sediment.",
    ),
    Param::number(
        "rock",
        "",
        [0.0, 1.0, 0.4],
        "Chance that a grain comes to rest on bare bedrock.",
    ),
    Param::number(
        "lift",
        "",
        [0.0, 8.0, 8.0],
        "How much faster the wind is on a slope that faces it. More makes dunes grow sooner.",
    ),
    Param::number(
        "shadow_deg",
        "degrees",
        [1.0, 60.0, 15.0],
        "Steepness of the sheltered zone behind a crest.",
    ),
    Param::number(
        "repose_deg",
        "degrees",
        [1.0, 80.0, 33.0],
        "Angle of repose: steeper loose sediment slides.",
    ),
    Param::number(
        "creep",
        "",
        [0.0, 1.0, 0.5],
        "How fast loose sediment levels out on any slope. More is smoother.",
    ),
    Param::choice(
        "border",
        &["torus", "open", "wall"],
        "torus: sand that leaves comes in on the other side, as if the desert went on; open: it is \
         lost, and none comes in; wall: it stays. If opposite borders of the land differ in \
         height, a torus has a cliff there, and sand gathers against it: give such land a margin.",
    ),
    stepper::ROOTS,
];

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    if !site.layers.has(Layer::Sediment) {
        return Err(crate::Error::param(
            "wind moves loose sediment, but there is no layer of it: put a stage layer with map = \
             \"sediment\" before wind",
        ));
    }
    stepper::check(s)
}

/// Cells that a grain can go in a step: 5/4 of a hop, with the largest deviation to the side.
fn stride(s: &Settings) -> u32 {
    let long = s.number("hop_cells") * 1.25;
    ((long * long * (1.0 + s.number("gust") * s.number("gust"))).sqrt().ceil() as u32 + 1).max(2)
}

/// How far a change of one height can spread in some steps of a run, in cells, and how far what
/// lies beyond a cut edge.
///
/// Three distances grow from step to step: how far there are vertices whose height or carry differs
/// from the other run's (`height`), vertices where another share is granted (`share`), and grains
/// that differ (`drop`): a grain is where it stands in either run.
///
/// - A grain that was the same in both runs comes to differ where the ground that it reads differs,
///   `felt` away at most, or where it asked for something, from which it has hopped since or goes
///   back into its home. A load that is laid down or left changes the ground at the vertex that it
///   was offered to.
/// - A grain that differs hops, or goes back into the home that it has just left, if nothing was
///   granted there. **It goes home from nowhere else.** Once it has a load, it keeps it until it
///   has laid it down, and then it is gone. Its home's next life begins in a step and at a place
///   that follow from home and step alone, with nothing, and is the same in both runs. So nothing
///   goes from where a grain comes down to its home, however far away that is.
///
/// Where a window goes on in the middle of a run, grains that stand beyond the edge are missing
/// until their next life, and so are those near it: the vertex that they asked may lie beyond it.
fn spread(s: &Settings, steps: Range<u32>) -> u64 {
    let walk = Walk::of(s, stride(s));
    // Cells that a grain can hop, and between two places of its home.
    let (stride, home) = (walk.stride as u64, walk.block as u64);
    let felt = 17 + 1;
    let ends = steps.end == walk.steps;
    let rim = if steps.start == 0 { 0 } else { u64::from(stepper::EDGE) + stride + home };
    let (mut height, mut drop, mut share) =
        (0u64, rim, if rim == 0 { 0 } else { rim + felt + stride + home + 1 });
    for _ in steps.start..steps.end + if ends { TAIL } else { 0 } {
        let taken = share.max(drop + stride + home + 1);
        let met = (height + felt).max(share + stride + home + 1);
        let asked = (height + felt).max(drop).max(share) + stride + home + 1;
        // One cell for what falls next to a vertex, and one for what slides.
        height = (height + 1).max(taken + 1) + 1;
        share = asked.max(height + 1);
        drop = met.max(drop) + stride + home;
    }
    if ends { height } else { height.max(drop + stride + home + 1).max(share) }
}

uniform! {
    /// The law's block of the uniform struct.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Law {
        east: i32,
        south: i32,
        gust: u32,
        grain: i32,
        sand: u32,
        rock: u32,
        lift: i32,
        hold: u32,
        shift: u32,
        repose: u32,
        creep: u32,
        left: i32,
    }
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let radians = |name: &str| s.number(name) / 180.0 * std::f64::consts::PI;
    let q16 = |v: f64| (v * 65536.0).round() as i32;
    // The wind blows away from where it comes from: at 0° it comes from the north and blows to the
    // south (+y).
    let blows = [-libm::sin(radians("from_deg")), libm::cos(radians("from_deg"))];
    let shadow = libm::tan(radians("shadow_deg"));
    let look = |cells: &f64| {
        let at = blows.map(|b| (-b * cells).round());
        // The nearest vertex is this far upwind.
        let far = -(at[0] * blows[0] + at[1] * blows[1]);
        (at.map(|a| a as i32), far)
    };
    let lee: Vec<i32> = LOOK_CELLS
        .iter()
        .map(look)
        .flat_map(|([east, south], far)| [east, south, (far * shadow * CELL as f64).round() as i32])
        .collect();
    let (shift, repose) = thermal::repose(s.number("repose_deg"));
    let law = Law {
        east: q16(blows[0] * s.number("hop_cells")),
        south: q16(blows[1] * s.number("hop_cells")),
        gust: q16(s.number("gust")) as u32,
        grain: q16(s.number("grain_cells")).min(WANT_MAX),
        sand: q16(s.number("sand")) as u32,
        rock: q16(s.number("rock")) as u32,
        lift: q16(s.number("lift") / look(&LOOK_CELLS[FACING]).1),
        hold: site.layers.has(Layer::Vegetation) as u32,
        shift,
        repose,
        creep: (s.number("creep") * 32768.0).round() as u32,
        left: left(s, blows),
    };
    let rules = Rules {
        shader: SHADER,
        kernel: &BLOW,
        words: DROP_WORDS,
        vertex: Some(5),
        stride: stride(s),
        // A point: only the vertex's own sediment is taken.
        radius: 1.0,
        params: Uniform::of(law),
        buffers: vec![Buffer::table("lee", lee), Buffer::cells("wind", &site.window, 1).unset()],
        options: Options { roots: s.number("root_strength"), ..Options::NONE },
        limit: &LIMIT_SAND,
        before: vec![&SHADE],
        after: vec![(&SLIDE, &[["height", "next"]])],
        sand: true,
        stream: Stream::from(0.0),
    };
    stepper::plan(rules, s, site)
}

/// What a grain leaves behind at most when the next one of its home is due, height units: so much
/// that all that can end together at a vertex leave [`LEFT_MAX`].
fn left(s: &Settings, blows: [f64; 2]) -> i32 {
    let walk = Walk::of(s, stride(s));
    // Homes in a row, and rows of them, from which a grain can reach a vertex. No hop goes more
    // than so far along an axis.
    let [columns, rows] = [0, 1].map(|axis| {
        let (along, aside) = (blows[axis].abs() * 1.25, blows[1 - axis].abs() * s.number("gust"));
        // With a hop downwind at least 3/4 as long, or to either side.
        let cells = (along + aside + (aside - along * 0.6).max(0.0)) * s.number("hop_cells");
        // Rounding makes a hop longer by less than a hundredth of a cell.
        let cells = (cells + 0.01) * f64::from(walk.lifetime);
        cells.ceil() as u32 / walk.block + 3
    });
    // Those that end together in a row; on a torus its ends meet.
    let together = 8 * (columns.div_ceil(2 * walk.lifetime + 5) + 1);
    (LEFT_MAX / (u64::from(together) * u64::from(rows))).min(i32::MAX as u64) as i32
}
