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

use super::stepper::{
    self, ALLOW_MAX, Home, LAST, MOVED_WORDS, NOWHERE, Options, Params, Rules, Stream, TAIL,
    TILE_DROPS, TORUS, WALL, WANT_MAX, WANT_WORDS, Walk, export, loose, lose, propose,
    settle_granted, shares, spot, vertex,
};
use super::{Case, Stage, Surface, thermal};
use crate::arith::{CELL, LEDGER_WORDS, div_small, fold, mix, mul_q16};
use crate::params::{Param, Settings, Value};
use crate::plan::{Adder, Buffer, Call, Kernel, Plan, Uniform};
use crate::site::{Layer, Layers, Site, Window};
use crate::twin::{constants, uniform};
use encase::ShaderType;
use multiversion::multiversion;
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

static BLOW: Kernel = Kernel {
    entry: "blow",
    reads: &["grant", "wind"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["moved", "want", "exported"],
    cpu: blow,
};

static SLIDE: Kernel = Kernel {
    entry: "slide",
    reads: &["height", "ledger"],
    owns: &[("next", 1)],
    adds: &[],
    cpu: slide,
};

static SHADE: Kernel = Kernel {
    entry: "shade",
    reads: &["height", "ledger", "lee"],
    owns: &[("wind", 1)],
    adds: &[],
    cpu: shade,
};

static LIMIT_SAND: Kernel = Kernel {
    entry: "limit_sand",
    reads: &["height", "carry", "ledger", "vegetation"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit_sand,
};

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

/// a · b / 2¹⁶ for a and b below 2²⁰, from their upper bits.
#[inline(always)]
fn scaled(a: i32, b: i32) -> i32 {
    ((a >> 4) * (b >> 4)) >> 8
}

/// One hop, 2⁻¹⁶ cells.
#[inline(always)]
fn hop(law: &Law, draw: u32) -> [i32; 2] {
    // 3/4 to 5/4 of the length, and a deviation to either side.
    let long = 49152 + ((draw & 0xffff) >> 1) as i32;
    let aside = mul_q16(2 * (draw >> 16) as i32 - 65535, law.gust);
    [
        scaled(law.east, long) - scaled(law.south, aside),
        scaled(law.south, long) + scaled(law.east, aside),
    ]
}

fn blow(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let start = call.range.start / TILE_DROPS as u32;
    for (i, tile) in call.owns[0].chunks_exact_mut(TILE_DROPS * DROP_WORDS).enumerate() {
        if call.adds[0].is_alone() {
            blow_tile::<true>(p, law, start + i as u32, tile, call.reads, call.adds);
        } else {
            blow_tile::<false>(p, law, start + i as u32, tile, call.reads, call.adds);
        }
    }
}

fn blow_tile<const ALONE: bool>(
    p: &Params,
    law: &Law,
    tile: u32,
    own: &mut [i32],
    reads: &[&[i32]],
    adds: &[Adder],
) {
    let &[grant, wind] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    let torus = p.border == TORUS;
    let span = p.span();
    let outside = |x: i32, y: i32| x as u32 >= span[0] as u32 || y as u32 >= span[1] as u32;
    for inner in 0..TILE_DROPS {
        let Some(home) = Home::of(p, tile, inner as u32) else { continue };
        let word = |k: usize| k * TILE_DROPS + inner;
        let mut x = own[word(0)] ^ NOWHERE;
        if x == NOWHERE && !home.born {
            continue;
        }
        let (mut y, mut spent) = (own[word(1)], own[word(2)] != 0);
        let (mut load, mut want, mut at) = (own[word(3)], own[word(4)], own[word(5)] as usize);

        // Settle what was granted of the last proposal. A grain that has laid down its load is gone
        // until its next life.
        if want != 0 {
            // A proposal to give is rounded up, so it can be more than the load.
            load += settle_granted::<ALONE>(moved, at, grant[at], want, load);
            if want < 0 && load == 0 {
                x = NOWHERE;
            }
            want = 0;
        }
        // Deaths and births. A grain that is spent lays down its load where it is, and when the
        // next one is due leaves there what it still has.
        spent = home.dies || spent && !home.born;
        // In the last step there is no time left for that.
        let last = p.flags & LAST != 0;
        if (home.born || last) && load > 0 {
            let left = if last { 0 } else { load.min(law.left) };
            moved.add::<ALONE>(at * MOVED_WORDS, -left);
            lose::<ALONE>(exported, tile, load - left);
            load = 0;
        }
        if spent && load == 0 {
            x = NOWHERE;
        }
        if home.born && !home.lives {
            x = NOWHERE;
        }
        let draw = mix(home.hash(p) ^ p.step.wrapping_mul(0x85eb_ca6b).wrapping_add(1));
        if (home.born && home.lives || x != NOWHERE) && !spent && load == 0 {
            // Idle or new: another place in its home.
            let spot = spot(p, &home, draw);
            (x, y) = if spot.is_on_map(span) { (spot.x, spot.y) } else { (NOWHERE, 0) };
        }

        if x != NOWHERE {
            at = vertex(p, x, y) as usize;
            wanted.add::<ALONE>(at * WANT_WORDS + 2, 1);
            let (sheltered, loose, speed) =
                (wind[at] == SHELTERED, wind[at] & 1 == 1, wind[at] >> 1);
            let chance = scaled(if loose { law.sand } else { law.rock } as i32, 131072 - speed);
            let rests = spent || load > 0 && (sheltered || ((mix(draw) >> 16) as i32) < chance);
            if rests {
                want = -((load + 3) >> 2).min(WANT_MAX);
            } else if load == 0 && loose && !sheltered {
                want = scaled(law.grain, speed).min(WANT_MAX);
            }
            if want != 0 {
                propose::<ALONE>(p, wanted, at, want);
            }
            if !rests && (load > 0 || want > 0) {
                let [dx, dy] = hop(law, mix(draw.wrapping_add(0x9e37_79b9)));
                let (nx, ny) = (x.wrapping_add(dx), y.wrapping_add(dy));
                if !outside(nx, ny) {
                    (x, y) = (nx, ny);
                } else if torus {
                    // The map can be narrower than a hop.
                    (x, y) = (nx.rem_euclid(span[0]), ny.rem_euclid(span[1]));
                } else if p.border != WALL && load > 0 {
                    export::<ALONE>(exported, tile, load);
                    (load, want, x) = (0, 0, NOWHERE);
                }
            }
        }
        let words = [x ^ NOWHERE, y, spent as i32, load, want, at as i32];
        for (k, value) in words.into_iter().enumerate() {
            own[word(k)] = if x == NOWHERE { 0 } else { value };
        }
    }
}

/// Rows that `slide` does at a time, so that what slid south from one row is still in cache for the
/// next.
const ROWS: usize = 16;

fn slide(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let mut lines = vec![];
    for (i, own) in call.owns[0].chunks_mut(ROWS * w).enumerate() {
        slide_rows(p, law, first + i * ROWS, own, call.reads, &mut lines);
    }
}

/// What slides from a height `a` to its neighbour `b`, where the ground falls by `across` (2⁻¹⁷,
/// either way) along the edge.
#[inline(always)]
fn flux(law: &Law, [a, b]: [i32; 2], across: i32, loose: [i32; 2]) -> i32 {
    let low = a.min(b);
    // At most half the drop.
    let drop = (a.max(b) >> 1).wrapping_sub(low >> 1).wrapping_sub(low & 1).max(0);
    let d = (drop >> (law.shift & 31)).min(SLOPE_SEEN) as u32;
    let c = (across.wrapping_abs() >> (law.shift & 31)).min(SLOPE_SEEN) as u32;
    let square = d.wrapping_mul(d).wrapping_add(c.wrapping_mul(c));
    let steep = div_small(square.max(law.repose).wrapping_sub(law.repose), (square >> 15).max(1))
        .min(32768);
    let most = mul_q16(drop, steep.max(law.creep) >> 1);
    if a < b { most.min(loose[1] >> 2).wrapping_neg() } else { most.min(loose[0] >> 2) }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn slide_rows(
    p: &Params,
    law: &Law,
    first: usize,
    own: &mut [i32],
    reads: &[&[i32]],
    lines: &mut Vec<i32>,
) {
    let &[height, ledger] = reads else { return };
    let (w, torus) = (p.width as usize, p.border == TORUS);
    let (wide, count) = (w + 2, own.len() / w);
    // Heights and loose sediment, continued by a cell beyond the borders, and then what slides
    // south and east from a row.
    lines.clear();
    lines.resize(2 * (count + 2) * wide + 3 * wide, 0);
    let (heights, rest) = lines.split_at_mut((count + 2) * wide);
    let (sand, flows) = rest.split_at_mut((count + 2) * wide);
    for k in 0..count + 2 {
        let at = fold(first as i32 + k as i32 - 1, p.height, torus) as usize * w;
        let (h, s) = (&mut heights[k * wide..][..wide], &mut sand[k * wide..][..wide]);
        h[1..=w].copy_from_slice(&height[at..at + w]);
        let records = ledger[at * LEDGER_WORDS..(at + w) * LEDGER_WORDS].chunks_exact(LEDGER_WORDS);
        s[1..=w]
            .iter_mut()
            .zip(&h[1..])
            .zip(records)
            .for_each(|((s, h), record)| *s = loose(*h, record));
        for row in [h, s] {
            (row[0], row[w + 1]) = if torus { (row[w], row[1]) } else { (row[1], row[w]) };
        }
    }
    let row = |k: usize| (&heights[k * wide..][..wide], &sand[k * wide..][..wide]);
    let (south, flows) = flows.split_at_mut(wide);
    let (north, east) = flows.split_at_mut(wide);
    slide_south(law, row(0), row(1), north);
    for (k, own) in own.chunks_exact_mut(w).enumerate() {
        slide_south(law, row(k + 1), row(k + 2), south);
        slide_east(law, [row(k).0, row(k + 2).0], row(k + 1), east);
        let here = row(k + 1).0;
        for x in 0..w {
            let along = east[x].wrapping_sub(east[x + 1]);
            own[x] = here[x + 1]
                .wrapping_add(along)
                .wrapping_add(north[x + 1])
                .wrapping_sub(south[x + 1]);
        }
        north.copy_from_slice(south);
    }
}

/// What slides from each cell of a row to the one below. Each row has heights and loose sediment.
#[inline(always)]
fn slide_south(
    law: &Law,
    (h, s): (&[i32], &[i32]),
    (below, s_below): (&[i32], &[i32]),
    south: &mut [i32],
) {
    let n = south.len();
    let (h, s, below, s_below) = (&h[..n], &s[..n], &below[..n], &s_below[..n]);
    for x in 1..n - 1 {
        let across = fall(h[x - 1], h[x + 1]).wrapping_add(fall(below[x - 1], below[x + 1]));
        south[x] = flux(law, [h[x], below[x]], across, [s[x], s_below[x]]);
    }
}

/// What slides from each cell of a row to the next, between the heights of the rows above and
/// below.
#[inline(always)]
fn slide_east(law: &Law, [above, below]: [&[i32]; 2], (h, s): (&[i32], &[i32]), east: &mut [i32]) {
    let n = east.len();
    let (h, s, above, below) = (&h[..n], &s[..n], &above[..n], &below[..n]);
    for x in 0..n - 1 {
        let across = fall(above[x], below[x]).wrapping_add(fall(above[x + 1], below[x + 1]));
        east[x] = flux(law, [h[x], h[x + 1]], across, [s[x], s[x + 1]]);
    }
}

/// How far the ground falls from one side of a cell to the other, in 2⁻¹⁵ cells.
#[inline(always)]
fn fall(a: i32, b: i32) -> i32 {
    (a >> 3).wrapping_sub(b >> 3)
}

fn shade(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let mut upwind = vec![0; w];
    for (i, own) in call.owns[0].chunks_exact_mut(w).enumerate() {
        shade_row(p, law, first + i, own, call.reads, &mut upwind);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn shade_row(
    p: &Params,
    law: &Law,
    y: usize,
    own: &mut [i32],
    reads: &[&[i32]],
    upwind: &mut [i32],
) {
    let &[height, ledger, lee] = reads else { return };
    let (w, torus) = (p.width as usize, p.border == TORUS);
    let (here, records) =
        (&height[y * w..][..w], ledger[y * w * LEDGER_WORDS..].chunks_exact(LEDGER_WORDS));
    let see = |look: &[i32], upwind: &mut [i32]| {
        let at = fold(y as i32 + look[1], p.height, torus) as usize * w;
        // The part of the row that needs no folding.
        let (from, to) =
            ((-look[0]).clamp(0, p.width) as usize, (p.width - look[0]).clamp(0, p.width) as usize);
        for x in (0..from.min(w)).chain(to.max(from)..w) {
            upwind[x] = height[at + fold(x as i32 + look[0], p.width, torus) as usize];
        }
        if from < to {
            let start = (at + from).wrapping_add_signed(look[0] as isize);
            upwind[from..to].copy_from_slice(&height[start..start + to - from]);
        }
    };
    own.fill(0);
    for look in lee.chunks_exact(LOOK_WORDS) {
        see(look, upwind);
        for ((own, up), h) in own.iter_mut().zip(&*upwind).zip(here) {
            *own |= ((up >> 1).wrapping_sub(h >> 1) > look[2] >> 1) as i32;
        }
    }
    see(&lee[FACING * LOOK_WORDS..][..LOOK_WORDS], upwind);
    for (((own, up), h), record) in own.iter_mut().zip(&*upwind).zip(here).zip(records) {
        let rise = (h >> 2).wrapping_sub(up >> 2).clamp(-(1 << 18), 1 << 18);
        let speed = (65536 + scaled(rise, law.lift)).clamp(0, 131072);
        *own = if *own == 1 { SHELTERED } else { speed << 1 | (loose(*h, record) > 0) as i32 };
    }
}

fn limit_sand(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let [grant, want, moved] = call.owns else { return };
    let &[height, carry, ledger, vegetation] = call.reads else { return };
    for ((i, grant), want) in
        call.range.clone().zip(grant.iter_mut()).zip(want.chunks_exact_mut(WANT_WORDS))
    {
        let i = i as usize;
        let mut room = loose(height[i], &ledger[i * LEDGER_WORDS..]) >> 2;
        if law.hold == 1 {
            room = mul_q16(room, (65536 - mul_q16(vegetation[i].clamp(0, 65536), p.roots)) as u32);
        }
        let due = carry[i].max(0).wrapping_add(3) >> 2;
        let [take, give] = [room, 65536 - due].map(|allow| allow.clamp(0, ALLOW_MAX) >> 2);
        *grant = shares(p, [take, give], [want[0], want[1]]);
        want[0] = 0;
        want[1] = 0;
    }
    moved.fill(0);
}

fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let sediment = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    let brief = vec![("lifetime", i(16)), ("rain", n(2.0))];
    let case = |name, more: Vec<(&'static str, Value)>, window, surface, layers| Case {
        name,
        settings: [brief.clone(), more].concat(),
        window,
        surface,
        layers,
    };
    vec![
        case("default", vec![], window(0, 0, 96, 80), Surface::Flat, sediment),
        case(
            "hills",
            vec![("border", word("open")), ("density", n(0.25)), ("from_deg", n(200.0))],
            window(-7, 5, 97, 61),
            Surface::Hills,
            sediment,
        ),
        case(
            "torus",
            vec![("hop_cells", n(12.0)), ("gust", n(1.0))],
            window(0, 0, 14, 64),
            Surface::Flat,
            sediment,
        ),
        case(
            "wall",
            vec![("border", word("wall"))],
            window(3, 3, 50, 41),
            Surface::Valley,
            sediment,
        ),
        case(
            "wild",
            vec![
                ("border", word("open")),
                ("grain_cells", n(0.5)),
                ("creep", n(0.0)),
                ("lift", n(2.0)),
                ("repose_deg", n(80.0)),
                ("sand", n(0.0)),
                ("rock", n(1.0)),
            ],
            window(1 << 40, -(1 << 33), 73, 59),
            Surface::Noise,
            sediment,
        ),
        // So much comes down at once that grains leave a part of their loads.
        Case {
            settings: vec![
                ("lifetime", i(2)),
                ("rain", n(8.0)),
                ("hop_cells", n(1.0)),
                ("gust", n(1.0)),
                ("grain_cells", n(0.5)),
                ("sand", n(0.0)),
                ("rock", n(0.0)),
                ("creep", n(0.0)),
                ("repose_deg", n(5.0)),
                ("border", word("wall")),
            ],
            ..case("crowd", vec![], window(9, -4, 45, 38), Surface::Hills, sediment)
        },
        case("some", vec![("rain", n(2.3))], window(-4, 7, 53, 49), Surface::Hills, sediment),
        case(
            "rooted",
            vec![("root_strength", n(0.7))],
            window(0, 0, 64, 33),
            Surface::Flat,
            sediment.with(Layer::Vegetation, true),
        ),
    ]
}
