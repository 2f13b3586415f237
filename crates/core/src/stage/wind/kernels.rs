//! The kernels, twins of `shaders/wind.wgsl`.

use super::{DROP_WORDS, FACING, LOOK_WORDS, Law, SHELTERED, SLOPE_SEEN};
use crate::arith::{LEDGER_WORDS, div_small, fold, mix, mul_q16};
use crate::plan::{Adder, Call, Kernel};
use crate::stage::stepper::{
    ALLOW_MAX, Home, LAST, MOVED_WORDS, NOWHERE, Params, TILE_DROPS, TORUS, WALL, WANT_MAX,
    WANT_WORDS, export, loose, lose, propose, settle_granted, shares, spot, vertex,
};
use multiversion::multiversion;

pub(super) static BLOW: Kernel = Kernel {
    entry: "blow",
    reads: &["grant", "wind"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["moved", "want", "exported"],
    cpu: blow,
};

pub(super) static SLIDE: Kernel = Kernel {
    entry: "slide",
    reads: &["height", "ledger"],
    owns: &[("next", 1)],
    adds: &[],
    cpu: slide,
};

pub(super) static SHADE: Kernel = Kernel {
    entry: "shade",
    reads: &["height", "ledger", "lee"],
    owns: &[("wind", 1)],
    adds: &[],
    cpu: shade,
};

pub(super) static LIMIT_SAND: Kernel = Kernel {
    entry: "limit_sand",
    reads: &["height", "carry", "ledger", "vegetation"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit_sand,
};

/// a · b / 2¹⁶ from the upper bits of a and b, where a · b is below 2³⁹.
#[inline(always)]
fn scaled(a: i32, b: i32) -> i32 {
    ((a >> 4) * (b >> 4)) >> 8
}

/// One hop, 2⁻¹⁶ cells.
#[inline(always)]
pub(super) fn hop(law: &Law, draw: u32) -> [i32; 2] {
    // 3/4 to 5/4 of the length, and a deviation to either side.
    let long = 49152 + ((draw & 0xffff) >> 1) as i32;
    let aside = mul_q16(2 * (draw >> 16) as i32 - 65535, law.gust);
    // Downwind is (east, south), and across it (−south, east).
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
            // On sheltered ground the word has no speed, and none is used.
            let (sheltered, loose, speed) =
                (wind[at] == SHELTERED, wind[at] & 1 == 1, wind[at] >> 1);
            // The speed is f in 2⁻¹⁶, so the second factor is 2 − f.
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
                    // One without a load stays, since nothing is granted to it yet.
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

pub(super) fn slide(call: &mut Call) {
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
    // 1 − T² / g² in 2⁻¹⁵. The divisor is rounded down, hence the bound.
    let steep = div_small(square.max(law.repose).wrapping_sub(law.repose), (square >> 15).max(1))
        .min(32768);
    // `drop` is half the difference d of the heights, and 2¹⁵ >> 1 is a quarter in 2⁻¹⁶: d / 8 at
    // most.
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
            // At a wall the ground beyond is as high as at it, so nothing slides over.
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
        // What leaves this row to the south comes to the next one from the north.
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

pub(super) fn shade(call: &mut Call) {
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
            // Halves, since the difference of two heights may not fit a word.
            *own |= ((up >> 1).wrapping_sub(h >> 1) > look[2] >> 1) as i32;
        }
    }
    see(&lee[FACING * LOOK_WORDS..][..LOOK_WORDS], upwind);
    for (((own, up), h), record) in own.iter_mut().zip(&*upwind).zip(here).zip(records) {
        // `lift` is divided by the distance, so the rise stands for a slope.
        let rise = (h >> 2).wrapping_sub(up >> 2).clamp(-(1 << 18), 1 << 18);
        let speed = (65536 + scaled(rise, law.lift)).clamp(0, 131072);
        *own = if *own == 1 { SHELTERED } else { speed << 1 | (loose(*h, record) > 0) as i32 };
    }
}

pub(super) fn limit_sand(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let [grant, want, moved] = call.owns else { return };
    let &[height, carry, ledger, vegetation] = call.reads else { return };
    for ((i, grant), want) in
        call.range.clone().zip(grant.iter_mut()).zip(want.chunks_exact_mut(WANT_WORDS))
    {
        let i = i as usize;
        // In 2⁻¹⁶ cells.
        let mut room = loose(height[i], &ledger[i * LEDGER_WORDS..]) >> 2;
        if law.hold == 1 {
            room = mul_q16(room, (65536 - mul_q16(vegetation[i].clamp(0, 65536), p.roots)) as u32);
        }
        let due = carry[i].max(0).wrapping_add(3) >> 2;
        // It gains a cell at most, less what it carries already.
        let [take, give] = [room, 65536 - due].map(|allow| allow.clamp(0, ALLOW_MAX) >> 2);
        *grant = shares(p, [take, give], [want[0], want[1]]);
        want[0] = 0;
        want[1] = 0;
    }
    moved.fill(0);
}
