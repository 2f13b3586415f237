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

use super::stepper::{
    self, Home, LAST, LOAD_MAX, MOVED_WORDS, NOWHERE, Options, Params, Rules, Stream, TAIL,
    TILE_DROPS, TORUS, WALL, WANT_MAX, WANT_WORDS, Walk, export, granted, lose, propose,
    settle_granted, spot, taps, vertex, wash_out,
};
use super::{Case, Stage, Surface};
use crate::arith::{fold, isqrt, lerp, mix, mul_q16};
use crate::params::{Param, ParamKind, Settings, Value};
use crate::plan::{Adder, Call, Kernel, Plan, Uniform};
use crate::site::{Layers, Site, Window};
use crate::twin::{constants, uniform};
use encase::ShaderType;
use multiversion::multiversion;
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

static ROLL: Kernel = Kernel {
    entry: "roll",
    reads: &["height", "grant", "rain"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["moved", "want", "exported"],
    cpu: roll,
};

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

/// Gradient by central differences at a position, 2⁻¹⁶ cells a cell.
#[inline(always)]
fn feel(p: &Params, height: &[i32], x: i32, y: i32) -> [i32; 2] {
    let torus = p.border == TORUS;
    let (x0, y0) = (x >> 16, y >> 16);
    let (fx, fy) = ((x & 0xffff) as u32, (y & 0xffff) as u32);
    let mut near = [[0i32; 4]; 4];
    let inside = x0 > 0 && y0 > 0 && x0 + 2 < p.width && y0 + 2 < p.height;
    for (j, near) in (-1..).zip(&mut near) {
        let row = &height[(fold(y0 + j, p.height, torus) * p.width) as usize..];
        if inside {
            near.copy_from_slice(&row[x0 as usize - 1..x0 as usize + 3]);
        } else {
            for (i, near) in (-1..).zip(near) {
                *near = row[fold(x0 + i, p.width, torus) as usize];
            }
        }
    }
    let at = |i: usize, j: usize| near[j][i] >> 2;
    // Half the difference over two cells.
    let steep = |a: i32, b: i32| b.wrapping_sub(a).clamp(-STEEPEST << 5, STEEPEST << 5) >> 1;
    let across = |j: usize| lerp(steep(at(0, j), at(2, j)), steep(at(1, j), at(3, j)), fx);
    let along = |i: usize| lerp(steep(at(i, 0), at(i, 2)), steep(at(i, 1), at(i, 3)), fy);
    [lerp(across(1), across(2), fy), lerp(along(1), along(2), fx)]
}

/// 1 − n_y of the normal over a gradient in 2⁻¹² cells a cell, in 2⁻¹⁶.
#[inline(always)]
fn tilt(gx: i32, gy: i32) -> u32 {
    // With r = √(1 + s²), s² / (r · (1 + r)) keeps gentle slopes that 1 − 1 / r would round away.
    let square = (gx * gx + gy * gy) as u32;
    let root = isqrt(square + (1 << 24));
    square / ((root * (4096 + root)) >> 16)
}

fn roll(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let start = call.range.start / TILE_DROPS as u32;
    for (i, tile) in call.owns[0].chunks_exact_mut(TILE_DROPS * DROP_WORDS).enumerate() {
        if call.adds[0].is_alone() {
            roll_tile::<true>(p, law, start + i as u32, tile, call.reads, call.adds);
        } else {
            roll_tile::<false>(p, law, start + i as u32, tile, call.reads, call.adds);
        }
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn roll_tile<const ALONE: bool>(
    p: &Params,
    law: &Law,
    tile: u32,
    own: &mut [i32],
    reads: &[&[i32]],
    adds: &[Adder],
) {
    let &[height, grant, rain] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    let torus = p.border == TORUS;
    let span = p.span();
    let outside = |x: i32, y: i32| x as u32 >= span[0] as u32 || y as u32 >= span[1] as u32;
    for inner in 0..TILE_DROPS {
        // Most of them do not exist any more, and none is born.
        if own[inner] == 0 && p.rains == 0 {
            continue;
        }
        let Some(home) = Home::of(p, tile, inner as u32) else { continue };
        let word = |k: usize| k * TILE_DROPS + inner;
        let mut x = own[word(0)] ^ NOWHERE;
        if x == NOWHERE && !home.born {
            continue;
        }
        let (mut y, mut spent) = (own[word(1)] & i32::MAX, own[word(1)] < 0);
        let mut v = [(own[word(2)] << 16) >> 16, own[word(2)] >> 16];
        let (mut load, mut want, mut at) = (own[word(3)], own[word(4)], own[word(5)] as usize);
        let spot = spot(p, &home, home.life);

        // Settle what was granted of the last proposal. Then deaths and births.
        if spent {
            let amount = granted(grant[at], want).min(load);
            moved.add::<ALONE>(at * MOVED_WORDS, -amount);
            load -= amount;
        } else if want != 0 {
            let gained = settle_granted::<ALONE>(moved, at, grant[at], want, load);
            let washed = wash_out(p, gained);
            if washed != 0 {
                export::<ALONE>(exported, tile, washed);
            }
            load += gained - washed;
        }
        want = 0;
        if x != NOWHERE && home.dies {
            if law.left >= 0 {
                spent = true;
            } else {
                lose::<ALONE>(exported, tile, load);
                (load, x) = (0, NOWHERE);
            }
        }
        // A spent one leaves behind what it has when the next one is due. In the last step there is
        // no time left to lay it down.
        let last = p.flags & LAST != 0;
        if spent && (home.born || last) && load > 0 {
            let left = if last { 0 } else { load.min(law.left) };
            moved.add::<ALONE>(vertex(p, x, y) as usize * MOVED_WORDS, -left);
            lose::<ALONE>(exported, tile, load - left);
            load = 0;
        }
        if spent && load == 0 {
            (x, spent) = (NOWHERE, false);
        }
        if home.born && home.lives && spot.is_on_map(span) && spot.is_rained_on(p, rain) {
            (x, y, v) = (spot.x, spot.y, [0, 0]);
        }

        if x != NOWHERE && !spent {
            let wet = height[vertex(p, x, y) as usize] < p.sea;
            // It changes the ground where it was before this step.
            let back = [x.wrapping_sub(v[0] << 5), y.wrapping_sub(v[1] << 5)];
            let back = if torus {
                [back[0].rem_euclid(span[0]), back[1].rem_euclid(span[1])]
            } else {
                back
            };
            at = vertex(p, back[0], back[1]) as usize;
            wanted.add::<ALONE>(at * WANT_WORDS + 2, 1);
            let draw = mix(
                spot.draw.wrapping_add(home.world[0].wrapping_mul(0x9e37_79b9)) ^ home.world[1]
            );
            let offset =
                [draw & 0xffff, draw >> 16].map(|r| mul_q16(2 * law.offset, r) - law.offset);
            let [gx, gy] = feel(p, height, x.wrapping_add(offset[0]), y.wrapping_add(offset[1]))
                .map(|g| g >> 4);
            if wet && load == 0 {
                x = NOWHERE;
            } else if gx | gy == 0 && !wet {
                if law.left >= 0 {
                    spent = true;
                } else {
                    lose::<ALONE>(exported, tile, load);
                    (load, x) = (0, NOWHERE);
                }
            } else {
                let tilt = tilt(gx, gy);
                let up = 65536 - tilt;
                let quick = (home.age * law.quicken).min(65536);
                let room = LOAD_MAX.wrapping_sub(load).max(0) >> 2;
                let take =
                    if wet { 0 } else { mul_q16(mul_q16(law.erosion, tilt), quick).min(room) };
                let give = mul_q16(mul_q16(load >> 2, law.deposition), up);
                let give = if wet { give.max(load.wrapping_add(15) >> 4) } else { give };
                want = (take - give).clamp(-WANT_MAX, WANT_MAX);
                let pace = |v: i32, g: i32| {
                    let gain = mul_q16(mul_q16(-g << 4, up), law.speed as u32);
                    let pace = (mul_q16(v, law.friction) + gain).clamp(-law.fastest, law.fastest);
                    if wet { pace / 2 } else { pace }
                };
                v = [pace(v[0], gx), pace(v[1], gy)];
                propose::<ALONE>(p, wanted, at, want);
                let (nx, ny) = (x.wrapping_add(v[0] << 5), y.wrapping_add(v[1] << 5));
                if !outside(nx, ny) {
                    (x, y) = (nx, ny);
                } else if torus {
                    // The map can be narrower than a step.
                    (x, y) = (nx.rem_euclid(span[0]), ny.rem_euclid(span[1]));
                } else if p.border == WALL {
                    v = [0, 0];
                } else {
                    export::<ALONE>(exported, tile, load);
                    x = NOWHERE;
                }
            }
        }
        if spent && load == 0 {
            (x, spent) = (NOWHERE, false);
        }
        if spent {
            v = [0, 0];
            at = vertex(p, x, y) as usize;
            want = -(load.wrapping_add(3) >> 2).min(WANT_MAX);
            propose::<ALONE>(p, wanted, at, want);
        }
        let there = -((x != NOWHERE) as i32);
        own[word(0)] = (x ^ NOWHERE) & there;
        own[word(1)] = (y | (spent as i32) << 31) & there;
        own[word(2)] = ((v[0] & 0xffff) | (v[1] << 16)) & there;
        own[word(3)] = load & there;
        own[word(4)] = want & there;
        own[word(5)] = at as i32 & there;
    }
}

fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let brief = vec![("lifetime", i(14)), ("rain", n(1.0)), ("quicken", n(0.3))];
    let case = |name, more: Vec<(&'static str, Value)>, window, surface, layers| Case {
        name,
        settings: [brief.clone(), more].concat(),
        window,
        surface,
        layers,
    };
    let none = Layers::NONE;
    vec![
        case("default", vec![], window(0, 0, 96, 80), Surface::Hills, none),
        case(
            "dense",
            vec![("density", n(1.0)), ("radius_cells", n(1.0))],
            window(-7, 5, 97, 61),
            Surface::Hills,
            none,
        ),
        case(
            "fast",
            vec![("speed", n(3.0)), ("friction", n(0.8)), ("offset_cells", n(4.0))],
            window(9, 9, 90, 70),
            Surface::Cone,
            none,
        ),
        case(
            "torus",
            vec![("border", word("torus")), ("speed", n(2.0))],
            window(0, 0, 48, 64),
            Surface::Valley,
            none,
        ),
        case(
            "wall",
            vec![("border", word("wall")), ("speed", n(2.0))],
            window(0, 0, 50, 41),
            Surface::Valley,
            none,
        ),
        case(
            "wild",
            vec![
                ("density", n(1.0)),
                ("erosion", n(16.0)),
                ("deposition", n(1.0)),
                ("max_step_fraction", n(1.0)),
                ("speed", n(8.0)),
                ("friction", n(0.99)),
            ],
            window(1 << 40, -(1 << 33), 73, 59),
            Surface::Noise,
            none,
        ),
        case(
            "left",
            vec![("loads", word("left")), ("density", n(1.0)), ("rain", n(2.0))],
            window(-7, 5, 61, 47),
            Surface::Hills,
            none,
        ),
        case(
            "heaps",
            vec![
                ("loads", word("left")),
                ("border", word("wall")),
                ("speed", n(2.0)),
                ("erosion", n(9.0)),
                ("max_step_fraction", n(1.0)),
            ],
            window(0, 0, 50, 41),
            Surface::Valley,
            none,
        ),
        case(
            "sea",
            vec![
                ("sea_level_m", n(180.0)),
                ("wash", n(0.3)),
                ("speed", n(1.0)),
                ("density", n(1.0)),
            ],
            window(-9, 20, 83, 57),
            Surface::Hills,
            none,
        ),
        case(
            "shore",
            vec![
                ("sea_level_m", n(120.0)),
                ("loads", word("left")),
                ("border", word("torus")),
                ("deposition", n(0.5)),
            ],
            window(0, 0, 64, 48),
            Surface::Valley,
            none,
        ),
        case("some", vec![("rain", n(0.28))], window(-4, 7, 53, 49), Surface::Hills, none),
        case(
            "layers",
            vec![("floor_m", n(200.0)), ("smooth", i(2))],
            window(-9, 20, 83, 57),
            Surface::Hills,
            Layers::ALL,
        ),
    ]
}
