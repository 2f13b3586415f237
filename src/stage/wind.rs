//! Erosion by wind: grains of loose sediment hop downwind, come to rest, and gather to dunes.
//!
//! # Rule
//! Particles of the stepper (`stepper.rs` has births and `settle`). A grain that carries nothing tries a place of its home block, a new
//! one each step, by hash: where the ground is loose and not sheltered, it proposes to take `grain` · f, and hops. One that carries
//! something comes down where it is with a chance: 1 where it is sheltered, `sand` · (2 − f) on loose ground, `rock` · (2 − f) on
//! bare bedrock; it then proposes to give all it has. Otherwise it hops on.
//!
//! - f = 1 + `lift` · s, within 0 to 2, where s is the slope up from the vertex 3 cells upwind: the wind is faster on a slope that
//!   faces it. More is then taken there than comes to rest, and less behind the crest; with the way a grain flies that makes long
//!   waves grow, of about three flights, and short ones decay (Andreotti, Claudin, Douady 2002).
//! - A hop is `hop` cells downwind, times 3/4 to 5/4, and up to `gust` of it to either side, by hash.
//! - A place is sheltered where a line that rises upwind by `shadow_deg` meets the ground within 16 cells (looked at 1, 2, 3, 4, 6, 8,
//!   11 and 16 cells upwind, at the nearest vertices).
//! - `limit_sand` (gather) in place of the stepper's `limit`: a vertex loses at most `limit` times what keeps it within the angle of
//!   repose of its highest neighbour, and no more than the loose sediment that lies there; it gains at most `limit` times what keeps it
//!   within that of its lowest. Roots hold `roots` · vegetation of it.
//!
//! So bedrock is never worn, and wind alone makes no sand steeper than it can stand. What avalanches besides is for `thermal` between
//! the steps.
//!
//! # Shape
//! Reads and writes `height` (row-major, y south) and needs a layer of sediment; leaves `flow`, the count of grains that passed.
//!
//! # Units
//! As in `droplets`; chances and angles' tangents 2⁻¹⁶.
//!
//! # Limits
//! A hop of at most 12 cells, a grain of at most half a cell of height.
//!
//! # Reach
//! About steps · (17 + 3 · hop) cells: see [`reach`].
//!
//! # Keeps
//! Σ height + Σ load + Σ exported is constant to the unit after every step; bedrock (height − sediment) everywhere.
//!
//! # Differs
//! From Werner's slabs: all grains hop together on a frozen surface, and what falls is spread over 3 × 3 cells.
//!
//! # Source
//! B. T. Werner, *Eolian dunes: computer simulations and attractor interpretation*, 1995; B. Andreotti, P. Claudin, S. Douady,
//! *Selection of dune shapes and velocities*, 2002; I. van der Veen, *Hydraulic erosion*, 2024,
//! whose outlook asks for wind.
//!
//! # Costs
//! Per grain and step: 9 height reads, 1 grant read, 3 additions. Memory: 28 bytes a cell, 24 a grain, and the ledger's 16 a cell.

use super::stepper::{
    self, ALLOW_MAX, MOVED_WORDS, NOWHERE, Params, Rules, TILE, TILE_DROPS, TORUS, WALL, WANT_MAX, WANT_WORDS, WHOLE, Walk,
    number, phase, row_phase, spot, vertex,
};
use super::{Case, Stage, Surface};
use crate::params::{Param, Settings, Value};
use crate::plan::{Adder, Buffer, Call, Fill, Kernel, Layers, Plan, Site, Window};
use crate::spec::{CELL, LEDGER_WORDS, div_small, fold, hash, mix, mul_q16};
use bytemuck::{Pod, Zeroable};

/// Words that a grain has: x, y, nothing, load, proposal, and the vertex that it was made for.
const DROP_WORDS: usize = 6;
/// Places upwind that are looked at.
const LOOKS: usize = 8;
/// How far upwind these are, cells.
const LOOK_CELLS: [f64; LOOKS] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 16.0];
/// Which of them tells the slope that faces the wind.
const FACING: usize = 2;
/// Words of a place upwind: cells east, cells south, rise of the shadow there.
const LOOK_WORDS: usize = 3;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "wind",
    about: "Erosion by wind: loose sediment hops downwind and gathers to dunes.",
    makes: false,
    nests: false,
    hosts: true,
    layers: |_| Layers::default(),
    params: PARAMS,
    shader: SHADER,
    kernels: &[&BLOW, &LIMIT_SAND, &stepper::SETTLE, &stepper::TALLY],
    maps: &[("flow", "particles that passed, counted once a step")],
    check,
    plan,
    reach,
    derived: |s, site| Walk::of(s, stride(s)).derived(site),
    work: Some("flow"),
    cases,
};

const SHADER: &str = stepper::shader!("wind");

const PARAMS: &[Param] = &[
    stepper::rain(4.0),
    stepper::DENSITY,
    stepper::lifetime(1024, 64),
    number("from_deg", "degrees", [0.0, 360.0, 270.0], "Where the wind comes from, clockwise from north: 270 is a west wind."),
    number("hop", "cells", [1.0, 12.0, 4.0], "Length of a hop."),
    number("gust", "", [0.0, 1.0, 0.25], "How far a hop may go astray, as part of its length."),
    number("grain", "cells", [0.0, 0.5, 0.1], "Height that a grain takes up."),
    number("sand", "", [0.0, 1.0, 0.6], "Chance that a grain comes to rest on loose sediment."),
    number("rock", "", [0.0, 1.0, 0.4], "Chance that a grain comes to rest on bare bedrock."),
    number("lift", "", [0.0, 8.0, 2.0], "How much faster the wind is on a slope that faces it: more makes dunes grow sooner."),
    number("shadow_deg", "degrees", [1.0, 60.0, 15.0], "Steepness of the sheltered space behind a crest."),
    number("repose_deg", "degrees", [1.0, 80.0, 33.0], "Angle of repose, beyond which wind piles up nothing."),
    number("limit", "", [0.0, 0.5, 0.25], "Part of the room up to the angle of repose that may be used in a step."),
    stepper::BORDER,
    stepper::ROOTS,
];

fn check(s: &Settings, site: &Site) -> Result<(), String> {
    if !site.layers.sediment {
        return Err(
            "wind moves loose sediment, and no layer says where it lies: put a stage layer with map = \"sediment\" before it"
                .into(),
        );
    }
    stepper::check(s)
}

/// Cells that a grain may go in a step: 5/4 of a hop, and what it goes astray.
fn stride(s: &Settings) -> u32 {
    let long = s.number("hop") * 1.25;
    ((long * long * (1.0 + s.number("gust") * s.number("gust"))).sqrt().ceil() as u32 + 1).max(2)
}

/// Cells of halo that a run depends on. As with snowballs: what a grain sees upwind, or was granted, changes what it takes and gives; an
/// idle one may be anywhere in its home.
fn reach(s: &Settings) -> u64 {
    let walk = Walk::of(s, stride(s));
    let (stride, home) = (walk.stride as u64, walk.block as u64);
    let felt = 17 + 1;
    let (mut height, mut drop, mut share) = (0u64, 0u64, 0u64);
    for _ in 0..walk.steps {
        let taken = share.max(drop + stride + home + 1);
        let met = (height + felt).max(share + stride + home + 1);
        let asked = (height + felt).max(drop) + stride + home + 1;
        height = height.max(taken + 1);
        share = asked.max(height + 1);
        drop = met.max(drop) + stride + home;
    }
    height
}

/// The law's part of the uniform struct.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Law {
    east: i32,
    south: i32,
    gust: u32,
    grain: i32,
    sand: u32,
    rock: u32,
    talus: i32,
    lift: i32,
    hold: u32,
    spare: [u32; 2],
    spare_more: u32,
}

static BLOW: Kernel = Kernel {
    entry: "blow",
    reads: &["height", "grant", "ledger", "lee"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["moved", "want", "exported"],
    cpu: blow,
};

static LIMIT_SAND: Kernel = Kernel {
    entry: "limit_sand",
    reads: &["height", "ledger", "vegetation"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit_sand,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let radians = |name: &str| s.number(name) / 180.0 * std::f64::consts::PI;
    let q16 = |v: f64| (v * 65536.0).round() as i32;
    // The wind blows away from where it comes from: from the north (0°) to the south (+y).
    let blows = [-libm::sin(radians("from_deg")), libm::cos(radians("from_deg"))];
    let shadow = libm::tan(radians("shadow_deg"));
    let look = |cells: &f64| {
        let [east, south] = blows.map(|b| (-b * cells).round() as i32);
        [east, south, (cells * shadow * CELL as f64).round() as i32]
    };
    let lee: Vec<i32> = LOOK_CELLS.iter().flat_map(look).collect();
    let law = Law {
        east: q16(blows[0] * s.number("hop")),
        south: q16(blows[1] * s.number("hop")),
        gust: q16(s.number("gust")) as u32,
        grain: q16(s.number("grain")).min(WANT_MAX),
        sand: q16(s.number("sand")) as u32,
        rock: q16(s.number("rock")) as u32,
        talus: (libm::tan(radians("repose_deg")) * CELL as f64).round() as i32,
        lift: q16(s.number("lift") / LOOK_CELLS[FACING]),
        hold: site.layers.vegetation as u32,
        spare: [0; 2],
        spare_more: 0,
    };
    let rules = Rules {
        shader: SHADER,
        kernel: &BLOW,
        words: DROP_WORDS,
        stride: stride(s),
        // A point: nothing but the vertex's own sediment is taken.
        radius: 1.0,
        params: bytemuck::cast_slice(&[law]).to_vec(),
        tables: vec![Buffer { name: "lee", words: lee.len(), fill: Fill::Words(lee), keep: None }],
        limit: &LIMIT_SAND,
        between: vec![],
    };
    stepper::plan(rules, s, site)
}

/// Whether the ground upwind of a vertex keeps the wind off it.
#[inline(always)]
fn sheltered(p: &Params, height: &[i32], lee: &[i32], at: i32) -> bool {
    let (x, y, here) = (at % p.width, at / p.width, height[at as usize]);
    lee.chunks_exact(LOOK_WORDS).any(|look| {
        let (i, j) = (fold(x + look[0], p.width, p.border == TORUS), fold(y + look[1], p.height, p.border == TORUS));
        (height[(j * p.width + i) as usize] >> 1) - (here >> 1) > look[2] >> 1
    })
}

/// a · b / 2¹⁶ for a and b below 2²⁰, from their upper bits.
#[inline(always)]
fn scaled(a: i32, b: i32) -> i32 {
    ((a >> 4) * (b >> 4)) >> 8
}

/// How fast the wind is at a vertex, 0 to 2 in 2⁻¹⁶.
#[inline(always)]
fn exposure(p: &Params, law: &Law, height: &[i32], lee: &[i32], at: i32) -> i32 {
    let torus = p.border == TORUS;
    let look = &lee[FACING * LOOK_WORDS..];
    let (i, j) = (fold(at % p.width + look[0], p.width, torus), fold(at / p.width + look[1], p.height, torus));
    let rise = (height[at as usize] >> 2) - (height[(j * p.width + i) as usize] >> 2);
    (65536 + scaled(rise.clamp(-(1 << 18), 1 << 18), law.lift)).clamp(0, 131072)
}

/// One hop, 2⁻¹⁶ cells.
#[inline(always)]
fn hop(law: &Law, draw: u32) -> [i32; 2] {
    // 3/4 to 5/4 of its length, and to either side.
    let long = 49152 + ((draw & 0xffff) >> 1) as i32;
    let astray = mul_q16(2 * (draw >> 16) as i32 - 65535, law.gust);
    [scaled(law.east, long) - scaled(law.south, astray), scaled(law.south, long) + scaled(law.east, astray)]
}

fn blow(call: &mut Call) {
    let (p, law) = stepper::params(call.params);
    let start = call.range.start / TILE_DROPS as u32;
    for (i, tile) in call.owns[0].chunks_exact_mut(TILE_DROPS * DROP_WORDS).enumerate() {
        if call.adds[0].is_alone() {
            blow_tile::<true>(p, law, start + i as u32, tile, call.reads, call.adds);
        } else {
            blow_tile::<false>(p, law, start + i as u32, tile, call.reads, call.adds);
        }
    }
}

fn blow_tile<const ALONE: bool>(p: &Params, law: &Law, tile: u32, own: &mut [i32], reads: &[&[i32]], adds: &[Adder]) {
    let &[height, grant, ledger, lee] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    let torus = p.border == TORUS;
    let span = if torus { [p.width << 16, p.height << 16] } else { [(p.width - 1) << 16, (p.height - 1) << 16] };
    let outside = |x: i32, y: i32| x as u32 >= span[0] as u32 || y as u32 >= span[1] as u32;
    for inner in 0..TILE_DROPS {
        let column = tile % p.tiles_wide * TILE + inner as u32 % TILE;
        let row = tile / p.tiles_wide * TILE + inner as u32 / TILE;
        if column >= p.homes[0] || row >= p.homes[1] {
            continue;
        }
        let word = |k: usize| k * TILE_DROPS + inner;
        let (hx, hy) = (p.home[0].wrapping_add(column), p.home[1].wrapping_add(row));
        let mut age = p.step_rest + phase(row_phase(p.key, hy), hx, p.lifetime);
        if age >= p.lifetime {
            age -= p.lifetime;
        }
        let last = age == p.lifetime - 1;
        let born = p.rains == 1 && (age == 0 || p.step == 0) && !last;
        let mut x = own[word(0)] ^ NOWHERE;
        if x == NOWHERE && !born {
            continue;
        }
        let mut y = own[word(1)];
        let (mut load, mut want, mut at) = (own[word(3)], own[word(4)], own[word(5)] as usize);

        // What was granted of the last proposal; deaths.
        if want != 0 {
            let giving = (want < 0) as usize;
            let share = (grant[at] as u32 >> (16 * giving)) & 0xffff;
            let amount = (want.abs() * share as i32) >> 13;
            load += if giving == 1 { -amount } else { amount };
            moved.add::<ALONE>(at * MOVED_WORDS + giving, amount);
            want = 0;
        }
        if last {
            if x != NOWHERE {
                moved.add::<ALONE>(vertex(p, x, y) as usize * MOVED_WORDS, -load);
            }
            (load, x) = (0, NOWHERE);
        }
        let draw = mix(hash(p.key, hx, hy) ^ p.step.wrapping_mul(0x85eb_ca6b).wrapping_add(1));
        if !last && load == 0 {
            // Idle, or new: another place of its home.
            let ([sx, sy], _) = spot(p, column, row, draw);
            (x, y) = if sx < 0 || sy < 0 || outside(sx, sy) { (NOWHERE, 0) } else { (sx, sy) };
        }

        if x != NOWHERE {
            at = vertex(p, x, y) as usize;
            wanted.add::<ALONE>(at * WANT_WORDS + 2, 1);
            let lee_side = sheltered(p, height, lee, at as i32);
            let loose = ledger[at * LEDGER_WORDS + 1] > 0;
            let wind = exposure(p, law, height, lee, at as i32);
            let chance = scaled(if loose { law.sand } else { law.rock } as i32, 131072 - wind);
            let rests = load > 0 && (lee_side || ((mix(draw) >> 16) as i32) < chance);
            if rests {
                want = -((load + 3) >> 2).min(WANT_MAX);
            } else if load == 0 && loose && !lee_side {
                want = scaled(law.grain, wind).min(WANT_MAX);
            }
            let round_up = (1 << p.want_shift) - 1;
            wanted.add::<ALONE>(at * WANT_WORDS + (want < 0) as usize, (want.abs() + round_up) >> p.want_shift);
            if !rests && (load > 0 || want > 0) {
                let [dx, dy] = hop(law, mix(draw.wrapping_add(0x9e37_79b9)));
                let (nx, ny) = (x.wrapping_add(dx), y.wrapping_add(dy));
                if !outside(nx, ny) {
                    (x, y) = (nx, ny);
                } else if torus {
                    // The map may be narrower than a hop.
                    (x, y) = (nx.rem_euclid(span[0]), ny.rem_euclid(span[1]));
                } else if p.border != WALL && load > 0 {
                    exported.add::<ALONE>(tile as usize * 2, load & 0xfff);
                    exported.add::<ALONE>(tile as usize * 2 + 1, load >> 12);
                    (load, want, x) = (0, 0, NOWHERE);
                }
            }
        }
        let words = [x ^ NOWHERE, y, 0, load, want, at as i32];
        for (k, value) in words.into_iter().enumerate() {
            own[word(k)] = if x == NOWHERE { 0 } else { value };
        }
    }
}

fn limit_sand(call: &mut Call) {
    let (p, law): (&Params, &Law) = stepper::params(call.params);
    let &[height, ledger, vegetation] = call.reads else { return };
    let [grant, want, moved] = call.owns else { return };
    let torus = p.border == TORUS;
    let cells = grant.iter_mut().zip(want.chunks_exact_mut(WANT_WORDS));
    for (i, (grant, want)) in call.range.clone().zip(cells) {
        let (x, y, here) = (i as i32 % p.width, i as i32 / p.width, height[i as usize]);
        let (mut lowest, mut highest) = (here, here);
        for dy in -1..=1 {
            let row = fold(y + dy, p.height, torus) * p.width;
            for dx in -1..=1 {
                let n = height[(row + fold(x + dx, p.width, torus)) as usize];
                (lowest, highest) = (lowest.min(n), highest.max(n));
            }
        }
        // Room up to the angle of repose, in 2⁻¹⁶ cells; half the difference, so that it fits.
        let slack = |high: i32, low: i32| ((law.talus >> 1) - ((high >> 1) - (low >> 1))).max(0) >> 1;
        let mut taken = slack(highest, here).min(ledger[i as usize * LEDGER_WORDS + 1] >> 2);
        if law.hold == 1 {
            taken = mul_q16(taken, (65536 - mul_q16(vegetation[i as usize].clamp(0, 65536), p.roots)) as u32);
        }
        let take = part(p, taken, want[0]);
        let give = part(p, slack(here, lowest), want[1]);
        *grant = (take | (give << 16)) as i32;
        want[0] = 0;
        want[1] = 0;
    }
    moved.fill(0);
}

/// The part of `want` (shortened) that may be had where there is `room`, in 2⁻¹⁵.
#[inline(always)]
fn part(p: &Params, room: i32, want: i32) -> u32 {
    let allow = (mul_q16(room, p.limit).min(ALLOW_MAX) >> p.want_shift) as u32;
    if want as u32 <= allow { WHOLE } else { div_small(allow << 15, want.max(1) as u32) }
}

fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let sediment = Layers { ledger: true, sediment: true, ..Layers::default() };
    let brief = vec![("lifetime", i(16)), ("rain", n(1.0))];
    let case = |name, more: Vec<(&'static str, Value)>, window, surface, layers| Case {
        name,
        settings: [brief.clone(), more].concat(),
        window,
        surface,
        layers,
    };
    vec![
        case("default", vec![], window(0, 0, 96, 80), Surface::Flat, sediment),
        case("hills", vec![("density", n(1.0)), ("from_deg", n(200.0))], window(-7, 5, 97, 61), Surface::Hills, sediment),
        case(
            "torus",
            vec![("border", word("torus")), ("hop", n(12.0)), ("gust", n(1.0))],
            window(0, 0, 14, 64),
            Surface::Flat,
            sediment,
        ),
        case("wall", vec![("border", word("wall"))], window(3, 3, 50, 41), Surface::Valley, sediment),
        case(
            "wild",
            vec![
                ("density", n(1.0)),
                ("grain", n(0.5)),
                ("limit", n(0.5)),
                ("repose_deg", n(80.0)),
                ("sand", n(0.0)),
                ("rock", n(1.0)),
            ],
            window(1 << 40, -(1 << 33), 73, 59),
            Surface::Noise,
            sediment,
        ),
        case("rooted", vec![("roots", n(0.7))], window(0, 0, 64, 33), Surface::Flat, Layers { vegetation: true, ..sediment }),
    ]
}
