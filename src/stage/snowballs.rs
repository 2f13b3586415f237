//! Hydraulic erosion by snowballs that all take one step together: few, fast, coarse.
//!
//! # Rule
//! Particles of the stepper (`stepper.rs` has births, `settle` and `limit`). A snowball lives `lifetime` steps, and what it
//! carries at its end is lost, as in the article: laid down, it would leave a pimple at the end of every path. In a step it takes
//! the granted part of what it proposed in the step before into its load, or lays it down. Then, at its position p and with i
//! its age, v its velocity (0 at first), l its load:
//! - g is the gradient by central differences (bilinear, one cell to each side) of the frozen `height` at p + o, where o is an
//!   offset of the snowball's own, anywhere in the square of ± `offset` cells, which keeps paths from running together;
//! - n = (−gₓ, 1, −g_y) / √(1 + g²) is the normal, n_y = 1 / √(1 + g²) its upward part;
//! - where the ground is level (|g| below 1/4096 by either axis) it stops;
//! - it proposes to take `erosion` · (1 − n_y) · min(1, i · `quicken`) and to give l · `deposition` · n_y, the difference of the two, at
//!   the vertex nearest to its *previous* position, so that it does not bury itself;
//! - v′ = `friction` · v + `speed` · n, p′ = p + v′.
//!
//! Rounding: floor everywhere but in bilinear weights (nearest).
//!
//! # Shape
//! Reads and writes `height` (row-major, y south); leaves `flow`, the count of snowballs that passed.
//!
//! # Units
//! Velocity 2⁻¹¹ cells a step; heights, slopes and proposals as in `droplets`.
//!
//! # Limits
//! Slopes count as 7 cells a cell at most. A snowball goes at most [`stride`] cells a step, by axis: `speed` / (1 − `friction`), rounded
//! up, 15 at most. A proposal is at most half a cell, a load what cannot overflow where the largest possible number meets.
//!
//! # Reach
//! About steps · (2 · stride + offset + radius) cells: see [`reach`].
//!
//! # Keeps
//! Σ height + Σ load + Σ exported is constant to the unit after every step; what is lost counts as exported.
//!
//! # Differs
//! From the article: all snowballs step together on a frozen surface, with a limit in place of the order in which they would have
//! seen each other's work; changes are centred on vertices, taken by the brush and given by the stepper's spread (the article's
//! weights of the four nodes are transposed; see `classic::snowballs`); beyond the border lies the border's
//! height, not 0. The final blur is the stage `blur`.
//!
//! # Source
//! J. Talle, *Simulating hydraulic erosion*, 2020.
//!
//! # Costs
//! Per snowball and step: 12 height reads, 1 grant read, 3 additions. Memory: 28 bytes a cell and 24 a snowball.

use super::stepper::{
    self, MOVED_WORDS, NOWHERE, Params, Rules, TILE, TILE_DROPS, TORUS, WALL, WANT_MAX, WANT_WORDS, Walk, falls, phase,
    row_phase, spot, taps, vertex,
};
use super::{Case, Stage, Surface};
use crate::params::{Kind, Param, Settings, Value};
use crate::plan::{Adder, Call, Kernel, Plan, Uniform};
use crate::site::{Layers, Site, Window};
use crate::spec::{fold, isqrt, lerp, mix, mul_q16};
use encase::ShaderType;
use multiversion::multiversion;

/// Words that a snowball has: x, y, velocity (two i16), load, proposal, and the vertex that it was made for.
const DROP_WORDS: usize = 6;
/// Steepest slope by an axis, 2⁻¹² cells a cell.
const STEEPEST: i32 = 28672;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "snowballs",
    about: "Hydraulic erosion by snowballs: faster and coarser than droplets, for islands and sketches.",
    makes: false,
    nests: false,
    hosts: true,
    layers: |_| Layers::NONE,
    params: PARAMS,
    shader: SHADER,
    kernels: &KERNELS,
    maps: &[("flow", "particles that passed, counted once a step")],
    check: |s, _| stepper::check(s),
    plan,
    reach: |s| reach(s) + s.integer("smooth") as u64,
    derived: |s, site| Walk::of(s, stride(s)).derived(site),
    work: Some("flow"),
    cases,
};

const SHADER: &str = stepper::shader!("snowballs");
static KERNELS: [&Kernel; 9] = stepper::with(&ROLL);

const PARAMS: &[Param] = &[
    stepper::rain(0.4),
    stepper::density(0.25),
    stepper::lifetime(2048, 80),
    Param {
        name: "speed",
        unit: "cells a step",
        kind: Kind::Number { min: 0.0, max: 8.0, default: 0.15 },
        doc: "Gain of velocity in a step on a vertical slope. No snowball gets faster than speed / (1 − friction), and none than 15.",
    },
    Param {
        name: "friction",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 0.99, default: 0.7 },
        doc: "Part of its velocity that a snowball keeps in a step.",
    },
    Param {
        name: "offset",
        unit: "cells",
        kind: Kind::Number { min: 0.0, max: 8.0, default: 0.8 },
        doc: "How far from itself a snowball may feel the ground, by axis.",
    },
    Param {
        name: "erosion",
        unit: "cells a step",
        kind: Kind::Number { min: 0.0, max: 16.0, default: 0.4 },
        doc: "Height that a snowball tries to take in a step on a vertical slope.",
    },
    Param {
        name: "deposition",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.03 },
        doc: "Part of its load that a snowball tries to lay down in a step on level ground.",
    },
    Param {
        name: "quicken",
        unit: "a step",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.04 },
        doc: "Part of the full erosion that a snowball gains in a step: young ones erode less.",
    },
    stepper::radius(2.0),
    stepper::LIMIT_PARAM,
    stepper::BORDER,
    stepper::FLOOR_M,
    stepper::SMOOTH,
    stepper::BEDROCK,
    stepper::ROOTS,
];

/// Cells that a snowball may go in a step, by axis.
pub fn stride(s: &Settings) -> u32 {
    (s.number("speed") / (1.0 - s.number("friction"))).ceil().clamp(1.0, 15.0) as u32
}

/// Cells of halo that a run depends on: how far a change of one height can have come after so many steps.
///
/// In cells, a step spreads what differs like this: a snowball differs if it felt a height that does, or was granted another share
/// where it was two steps ago; it walks on; it changes the ground where it was.
pub fn reach(s: &Settings) -> u64 {
    let stride = stride(s) as u64;
    let felt = s.number("offset").ceil() as u64 + 3;
    let brush = taps(s.number("radius")).max(1) as u64;
    let beside = if s.number("floor_m") > -1e6 { brush } else { 1 };
    let (mut height, mut drop, mut share) = (0u64, 0u64, 0u64);
    for _ in 0..Walk::of(s, 1).steps {
        let taken = share.max(drop + 2 * stride + 1);
        let met = (height + felt).max(share + 2 * stride + 1);
        let asked = (height + felt).max(drop) + stride + 1;
        height = height.max(taken + brush);
        share = asked.max(height + beside);
        drop = met.max(drop) + stride;
    }
    height
}

/// The law's part of the uniform struct.
#[derive(Clone, Copy, Debug, Default, ShaderType)]
struct Law {
    speed: i32,
    friction: u32,
    offset: i32,
    erosion: i32,
    deposition: u32,
    quicken: u32,
    fastest: i32,
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
        offset: q16("offset") as i32,
        erosion: q16("erosion") as i32,
        deposition: q16("deposition"),
        quicken: q16("quicken"),
        fastest: stride(s) as i32 * 2048,
    };
    let rules = Rules {
        shader: SHADER,
        kernel: &ROLL,
        words: DROP_WORDS,
        stride: stride(s),
        radius: s.number("radius"),
        params: Uniform::of(law),
        buffers: vec![],
        limit: &stepper::LIMIT,
        between: vec![],
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
    // Half of the difference over two cells.
    let steep = |a: i32, b: i32| b.wrapping_sub(a).clamp(-STEEPEST << 5, STEEPEST << 5) >> 1;
    let across = |j: usize| lerp(steep(at(0, j), at(2, j)), steep(at(1, j), at(3, j)), fx);
    let along = |i: usize| lerp(steep(at(i, 0), at(i, 2)), steep(at(i, 1), at(i, 3)), fy);
    [lerp(across(1), across(2), fy), lerp(along(1), along(2), fx)]
}

/// 1 − n_y of the normal over a gradient in 2⁻¹² cells a cell, in 2⁻¹⁶.
#[inline(always)]
fn tilt(gx: i32, gy: i32) -> u32 {
    // s² / (r · (1 + r)) with r = √(1 + s²) does not lose gentle slopes as 1 − 1 / r would.
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

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn roll_tile<const ALONE: bool>(p: &Params, law: &Law, tile: u32, own: &mut [i32], reads: &[&[i32]], adds: &[Adder]) {
    let &[height, grant, rain] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    let torus = p.border == TORUS;
    let span = if torus { [p.width << 16, p.height << 16] } else { [(p.width - 1) << 16, (p.height - 1) << 16] };
    let outside = |x: i32, y: i32| x as u32 >= span[0] as u32 || y as u32 >= span[1] as u32;
    for inner in 0..TILE_DROPS {
        // Most are nowhere and stay so.
        if own[inner] == 0 && p.rains == 0 {
            continue;
        }
        let column = tile % p.tiles_wide * TILE + inner as u32 % TILE;
        let row = tile / p.tiles_wide * TILE + inner as u32 / TILE;
        if column >= p.homes[0] || row >= p.homes[1] {
            continue;
        }
        let word = |k: usize| k * TILE_DROPS + inner;
        let (hx, hy) = (p.home[0].wrapping_add(column), p.home[1].wrapping_add(row));
        let mut age = p.step_rest + phase(row_phase(p.key, hy), hx, p.lifetime);
        let mut life = p.step_life;
        if age >= p.lifetime {
            age -= p.lifetime;
            life += 1;
        }
        let last = age == p.lifetime - 1;
        let born = p.rains == 1 && (age == 0 || p.step == 0) && !last;
        let mut x = own[word(0)] ^ NOWHERE;
        if x == NOWHERE && !born {
            continue;
        }
        let mut y = own[word(1)];
        let mut v = [(own[word(2)] << 16) >> 16, own[word(2)] >> 16];
        let (mut load, mut want, mut at) = (own[word(3)], own[word(4)], own[word(5)] as usize);
        let ([sx, sy], chance) = spot(p, column, row, life);

        // What was granted of the last proposal; deaths; births.
        if want != 0 {
            let giving = (want < 0) as usize;
            let share = (grant[at] as u32 >> (16 * giving)) & 0xffff;
            let amount = (want.abs() * share as i32) >> 13;
            load += if giving == 1 { -amount } else { amount };
            moved.add::<ALONE>(at * MOVED_WORDS + giving, amount);
            want = 0;
        }
        let lose = |load: i32| {
            exported.add::<ALONE>(tile as usize * 2, load & 0xfff);
            exported.add::<ALONE>(tile as usize * 2 + 1, load >> 12);
        };
        if x != NOWHERE && last {
            lose(load);
            (load, x) = (0, NOWHERE);
        }
        if born && sx >= 0 && sy >= 0 && !outside(sx, sy) && falls(p, rain, sx, sy, chance) {
            (x, y, v) = (sx, sy, [0, 0]);
        }

        if x != NOWHERE {
            // Where it was before this step is where it changes the ground.
            let back = [x.wrapping_sub(v[0] << 5), y.wrapping_sub(v[1] << 5)];
            let back = if torus { [back[0].rem_euclid(span[0]), back[1].rem_euclid(span[1])] } else { back };
            at = vertex(p, back[0], back[1]) as usize;
            wanted.add::<ALONE>(at * WANT_WORDS + 2, 1);
            let draw = mix(chance.wrapping_add(hx.wrapping_mul(0x9e37_79b9)) ^ hy);
            let offset = [draw & 0xffff, draw >> 16].map(|r| mul_q16(2 * law.offset, r) - law.offset);
            let [gx, gy] = feel(p, height, x.wrapping_add(offset[0]), y.wrapping_add(offset[1])).map(|g| g >> 4);
            if gx | gy == 0 {
                lose(load);
                (load, x) = (0, NOWHERE);
            } else {
                let tilt = tilt(gx, gy);
                let up = 65536 - tilt;
                let quick = (age * law.quicken).min(65536);
                let room = p.load_max.wrapping_sub(load).max(0) >> 2;
                let take = mul_q16(mul_q16(law.erosion, tilt), quick).min(room);
                let give = mul_q16(mul_q16(load >> 2, law.deposition), up);
                want = (take - give).clamp(-WANT_MAX, WANT_MAX);
                let pace = |v: i32, g: i32| {
                    let gain = mul_q16(mul_q16(-g << 4, up), law.speed as u32);
                    (mul_q16(v, law.friction) + gain).clamp(-law.fastest, law.fastest)
                };
                v = [pace(v[0], gx), pace(v[1], gy)];
                let round_up = (1 << p.want_shift) - 1;
                wanted.add::<ALONE>(at * WANT_WORDS + (want < 0) as usize, (want.abs() + round_up) >> p.want_shift);
                let (nx, ny) = (x.wrapping_add(v[0] << 5), y.wrapping_add(v[1] << 5));
                if !outside(nx, ny) {
                    (x, y) = (nx, ny);
                } else if torus {
                    // The map may be narrower than a step.
                    (x, y) = (nx.rem_euclid(span[0]), ny.rem_euclid(span[1]));
                } else if p.border == WALL {
                    v = [0, 0];
                } else {
                    lose(load);
                    x = NOWHERE;
                }
            }
        }
        let there = -((x != NOWHERE) as i32);
        own[word(0)] = (x ^ NOWHERE) & there;
        own[word(1)] = y & there;
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
        case("dense", vec![("density", n(1.0)), ("radius", n(1.0))], window(-7, 5, 97, 61), Surface::Hills, none),
        case(
            "fast",
            vec![("speed", n(3.0)), ("friction", n(0.8)), ("offset", n(4.0))],
            window(9, 9, 90, 70),
            Surface::Cone,
            none,
        ),
        case("torus", vec![("border", word("torus")), ("speed", n(2.0))], window(0, 0, 48, 64), Surface::Valley, none),
        case("wall", vec![("border", word("wall")), ("speed", n(2.0))], window(0, 0, 50, 41), Surface::Valley, none),
        case(
            "wild",
            vec![
                ("density", n(1.0)),
                ("erosion", n(16.0)),
                ("deposition", n(1.0)),
                ("limit", n(1.0)),
                ("speed", n(8.0)),
                ("friction", n(0.99)),
            ],
            window(1 << 40, -(1 << 33), 73, 59),
            Surface::Noise,
            none,
        ),
        case("layers", vec![("floor_m", n(200.0)), ("smooth", i(2))], window(-9, 20, 83, 57), Surface::Hills, Layers::ALL),
    ]
}
