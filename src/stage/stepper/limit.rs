//! `limit`: how much of what particles want of a vertex they get. `soften`: how erodible the ground is.

use super::params::{FLOOR, SEDIMENT, SOFT};
use super::settle::occupied;
use super::{ALLOW_MAX, MOVED_WORDS, Params, TORUS, WANT_WORDS, WHOLE};
use crate::plan::{Call, Kernel};
use crate::spec::{LEDGER_WORDS, div_small, fold, mul_q16};
use multiversion::multiversion;
use std::ops::Range;

/// Grants shares of what is wanted.
pub static LIMIT: Kernel = Kernel {
    entry: "limit",
    reads: &["height", "soft", "ledger"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit,
};

/// Writes the erodibility of the ground, once a run.
pub(super) static SOFTEN: Kernel =
    Kernel { entry: "soften", reads: &["hardness", "vegetation"], owns: &[("soft", 1)], adds: &[], cpu: soften };

fn limit(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let cells = call.range.start as usize..call.range.end as usize;
    let first = cells.start / w;
    let [grant, want, moved] = call.owns else { return };
    let [.., asked, stirred] = *call.touched else { return };
    let spans = || asked.within(cells.clone(), WANT_WORDS).map(|span| span.start - cells.start..span.end - cells.start);
    let mut scratch = vec![0i32; 2 * (w + 2)];
    if spans().map(|span| span.len()).sum::<usize>() * 4 > cells.len() {
        let rows = grant.chunks_exact_mut(w).zip(want.chunks_exact(w * WANT_WORDS));
        rows.enumerate().for_each(|(i, (grant, want))| limit_row(p, first + i, grant, want, call.reads, &mut scratch));
    } else {
        for span in spans() {
            occupied::<WANT_WORDS>(want, span, |i| {
                let (row, x) = (i / w, i % w);
                let (grant, want) = (&mut grant[row * w..], &want[row * w * WANT_WORDS..]);
                limit_cells(p, first + row, x..x + 1, grant, want, call.reads, &mut scratch);
            });
        }
    }
    for span in spans() {
        for want in want[span.start * WANT_WORDS..span.end * WANT_WORDS].chunks_exact_mut(WANT_WORDS) {
            want[0] = 0;
            want[1] = 0;
        }
    }
    for span in stirred.within(cells.clone(), MOVED_WORDS) {
        moved[(span.start - cells.start) * MOVED_WORDS..(span.end - cells.start) * MOVED_WORDS].fill(0);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn limit_row(p: &Params, y: usize, grant: &mut [i32], want: &[i32], reads: &[&[i32]], scratch: &mut [i32]) {
    limit_cells(p, y, 0..p.width as usize, grant, want, reads, scratch);
}

/// Limits what is wanted of a part of a row.
#[inline(always)]
fn limit_cells(p: &Params, y: usize, span: Range<usize>, grant: &mut [i32], want: &[i32], reads: &[&[i32]], scratch: &mut [i32]) {
    let &[height, soft, ledger] = reads else { return };
    let (w, n) = (p.width as usize, span.len());
    let torus = p.border == TORUS;
    let row = |dy: i32| {
        let at = fold(y as i32 + dy, p.height, torus) as usize * w;
        &height[at..at + w]
    };
    let (north, here, south) = (row(-1), row(0), row(1));
    // The lowest and highest of three cells in each column, with one more column on each side.
    let (low, high) = scratch.split_at_mut(w + 2);
    let columns = [north, here, south].map(|row| &row[span.clone()]);
    for i in 0..n {
        let column = columns.map(|row| row[i]);
        low[i + 1] = column[0].min(column[1]).min(column[2]);
        high[i + 1] = column[0].max(column[1]).max(column[2]);
    }
    for (i, x) in [(0, span.start as i32 - 1), (n + 1, span.end as i32)] {
        let x = fold(x, p.width, torus) as usize;
        low[i] = north[x].min(here[x]).min(south[x]);
        high[i] = north[x].max(here[x]).max(south[x]);
    }
    let (low, high, here, grant) = (&low[..n + 2], &high[..n + 2], &here[span.clone()], &mut grant[span.clone()]);
    let want = &want[span.start * WANT_WORDS..span.end * WANT_WORDS];
    for (x, want) in want.chunks_exact(WANT_WORDS).enumerate() {
        let lowest = low[x].min(low[x + 1]).min(low[x + 2]);
        let highest = high[x].max(high[x + 1]).max(high[x + 2]);
        let (fall, rise) = (room(here[x], lowest), room(highest, here[x]));
        let shares = (share(p, fall, want[0]) | (share(p, rise, want[1]) << 16)) as i32;
        grant[x] = if want[0] | want[1] != 0 { shares } else { grant[x] };
    }
    if p.flags & (SOFT | SEDIMENT | FLOOR) == 0 {
        return;
    }
    let below = if p.flags & FLOOR != 0 { lowest_round(p, y, span.clone(), height) } else { vec![] };
    for (x, (grant, want)) in grant.iter_mut().zip(want.chunks_exact(WANT_WORDS)).enumerate() {
        if want[0] | want[1] == 0 {
            continue;
        }
        let mut fall = room(here[x], low[x].min(low[x + 1]).min(low[x + 2]));
        if p.flags & FLOOR != 0 {
            fall = fall.min(above_floor(p, below[x]));
        }
        let i = y * w + span.start + x;
        let asked = want[0].min(mul_q16(fall, p.limit).min(ALLOW_MAX) >> p.want_shift);
        let soft = if p.flags & SOFT != 0 { soft[i] as u32 } else { 0 };
        let ease = erodibility(p, soft, asked, || ledger[i * LEDGER_WORDS + 1]);
        *grant = (((share(p, fall, want[0]) * ease) >> 15) | (*grant as u32 & 0xffff_0000)) as i32;
    }
}

/// The lowest height within the brush of each cell of a part of a row.
fn lowest_round(p: &Params, y: usize, span: Range<usize>, height: &[i32]) -> Vec<i32> {
    let (r, torus) = (p.radius, p.border == TORUS);
    let mut column = vec![i32::MAX; span.len() + 2 * r as usize];
    for dy in -r..=r {
        let row = &height[(fold(y as i32 + dy, p.height, torus) * p.width) as usize..];
        for (low, x) in column.iter_mut().zip(span.start as i32 - r..) {
            *low = (*low).min(row[fold(x, p.width, torus) as usize]);
        }
    }
    column.windows(2 * r as usize + 1).map(|window| window.iter().copied().min().unwrap_or(i32::MAX)).collect()
}

/// How far the lowest height within the brush is above the floor, less what integer remainders can take: whole 2⁻¹⁶ cells.
#[inline(always)]
fn above_floor(p: &Params, lowest: i32) -> i32 {
    let taps = 2 * p.radius + 1;
    room(lowest, p.floor).wrapping_sub(taps * taps).max(0)
}

/// The erodibility of a vertex when `asked` is taken from it (2⁻¹⁶ cells, shortened), in 2⁻¹⁵. Loose sediment is taken first.
#[inline(always)]
fn erodibility(p: &Params, soft: u32, asked: i32, loose: impl Fn() -> i32) -> u32 {
    let (rock, sediment) = if p.flags & SOFT != 0 { (soft & 0xffff, soft >> 16) } else { (WHOLE, WHOLE) };
    if p.flags & SEDIMENT == 0 {
        return rock;
    }
    let thick = (loose() >> 2) >> p.want_shift;
    if thick >= asked {
        return sediment;
    }
    let part = div_small((thick as u32) << 15, asked as u32);
    (sediment * part + rock * (WHOLE - part)) >> 15
}

fn soften(call: &mut Call) {
    let p: &Params = call.params();
    let &[hardness, vegetation] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        // A layer that is absent is a single 0.
        let at = |layer: &[i32]| if layer.len() > 1 { layer[i as usize].clamp(0, 65536) } else { 0 };
        *own = softness(p, at(hardness), at(vegetation)) as i32;
    }
}

/// The erodibility of bedrock (low half) and of loose sediment (high half), 2⁻¹⁵ each.
#[inline(always)]
fn softness(p: &Params, hardness: i32, vegetation: i32) -> u32 {
    let held = 65536 - mul_q16(vegetation, p.roots);
    let rock = mul_q16(mul_q16(held, (65536 - hardness) as u32), p.bedrock);
    (rock as u32 >> 1) | (held as u32 >> 1) << 16
}

/// The drop from `high` to `low` in whole 2⁻¹⁶ cells, rounded down.
#[inline(always)]
fn room(high: i32, low: i32) -> i32 {
    (high >> 1).wrapping_sub(low.wrapping_add(1) >> 1).max(0) >> 1
}

/// The share of `want` (shortened by `want_shift` bits) that is granted where the ground falls or rises by `room`, in 2⁻¹⁵.
#[inline(always)]
fn share(p: &Params, room: i32, want: i32) -> u32 {
    let allow = (mul_q16(room, p.limit).min(ALLOW_MAX) >> p.want_shift) as u32;
    let part = div_small(allow << 15, want.max(1) as u32);
    if want as u32 <= allow { WHOLE } else { part }
}
