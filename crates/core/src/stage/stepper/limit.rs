//! `limit`: how much of what particles want of a vertex they get. `soften`: how erodible the ground
//! is.

use super::params::{EBB, SEDIMENT, SOFT};
use super::room::{SLACK, room};
use super::settle::occupied;
use super::stream::class_of;
use super::{ALLOW_MAX, MOVED_WORDS, Params, SHARE_BITS, TORUS, WANT_WORDS, WHOLE};
use crate::arith::{LEDGER_WORDS, div_small, fold, mul_q16};
use crate::plan::{Call, Kernel};
use crate::twin::constants;
use multiversion::multiversion;
use std::ops::Range;

constants! {
    pub(crate) const WGSL: &str;

    /// Erodibility 1, 2⁻¹⁵.
    const SOFTEST: u32 = 32768;
}

/// Grants shares of what is wanted.
pub static LIMIT: Kernel = Kernel {
    entry: "limit",
    reads: &["height", "carry", "soft", "ledger"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit,
};

/// Writes the erodibility of the ground, once a run.
pub(super) static SOFTEN: Kernel = Kernel {
    entry: "soften",
    reads: &["hardness", "vegetation"],
    owns: &[("soft", 1)],
    adds: &[],
    cpu: soften,
};

fn limit(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let cells = call.range.start as usize..call.range.end as usize;
    let first = cells.start / w;
    let [grant, want, moved] = call.owns else { return };
    let [.., asked, stirred] = *call.touched else { return };
    let spans = || {
        asked
            .within(cells.clone(), WANT_WORDS)
            .map(|span| span.start - cells.start..span.end - cells.start)
    };
    let mut scratch = vec![0i32; 2 * (w + 2)];
    // Whole rows if particles may have asked of a quarter of the vertices, else one vertex at a
    // time.
    if spans().map(|span| span.len()).sum::<usize>() * 4 > cells.len() {
        for (i, (grant, want)) in
            grant.chunks_exact_mut(w).zip(want.chunks_exact_mut(w * WANT_WORDS)).enumerate()
        {
            limit_row(p, first + i, grant, want, call.reads, &mut scratch);
            forget(want);
        }
    } else {
        for span in spans() {
            occupied::<WANT_WORDS>(want, span, |i| {
                let (row, x) = (i / w, i % w);
                let (grant, want) = (&mut grant[row * w..], &want[row * w * WANT_WORDS..]);
                limit_cells(p, first + row, x..x + 1, grant, want, call.reads, &mut scratch);
            });
        }
        for span in spans() {
            forget(&mut want[span.start * WANT_WORDS..span.end * WANT_WORDS]);
        }
    }
    // `settle` has applied these, and the particles add to them next.
    for span in stirred.within(cells.clone(), MOVED_WORDS) {
        moved[(span.start - cells.start) * MOVED_WORDS..(span.end - cells.start) * MOVED_WORDS]
            .fill(0);
    }
}

/// Zeroes the two sums of each record, and keeps the count of passages.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn forget(want: &mut [i32]) {
    // As many whole records as fill vector registers, so that masks do it.
    const SOME: usize = 16 * WANT_WORDS;
    let kept: [i32; SOME] = std::array::from_fn(|i| -((i % WANT_WORDS == 2) as i32));
    let (some, rest) = want.as_chunks_mut::<SOME>();
    for some in some {
        *some = std::array::from_fn(|i| some[i] & kept[i]);
    }
    rest.iter_mut().zip(kept).for_each(|(word, kept)| *word &= kept);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn limit_row(
    p: &Params,
    y: usize,
    grant: &mut [i32],
    want: &[i32],
    reads: &[&[i32]],
    scratch: &mut [i32],
) {
    limit_cells(p, y, 0..p.width as usize, grant, want, reads, scratch);
}

/// Limits what is wanted of a part of a row.
#[inline(always)]
fn limit_cells(
    p: &Params,
    y: usize,
    span: Range<usize>,
    grant: &mut [i32],
    want: &[i32],
    reads: &[&[i32]],
    scratch: &mut [i32],
) {
    let &[height, carry, soft, ledger] = reads else { return };
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
    let (low, high, here, grant) =
        (&low[..n + 2], &high[..n + 2], &here[span.clone()], &mut grant[span.clone()]);
    let want = &want[span.start * WANT_WORDS..span.end * WANT_WORDS];
    let first = y * w + span.start;
    let carry = &carry[first..first + n];
    share_out(*p, want, here, carry, low, high, grant);
    if p.flags & (SOFT | SEDIMENT) == 0 {
        return;
    }
    for (x, (grant, want)) in grant.iter_mut().zip(want.chunks_exact(WANT_WORDS)).enumerate() {
        if want[0] | want[1] == 0 {
            continue;
        }
        let i = first + x;
        let allow = allowed(p, here[x], low, high, carry[x], x)[0];
        let soft = if p.flags & SOFT != 0 { soft[i] as u32 } else { 0 };
        let ease = erodibility(p, soft, asked(p, allow, want[0]), || ledger[i * LEDGER_WORDS + 1]);
        // Only the share of what is taken, in the low bits, depends on the ground.
        *grant =
            (((share(p, allow, want[0]) * ease) >> 15) | (*grant as u32 & !(2 * WHOLE - 1))) as i32;
    }
}

/// Grants shares to some vertices of a row. `low` and `high` begin a column before them and end one
/// after.
#[inline(always)]
fn share_out(
    p: Params,
    want: &[i32],
    here: &[i32],
    carry: &[i32],
    low: &[i32],
    high: &[i32],
    grant: &mut [i32],
) {
    let n = grant.len();
    let (want, here, carry, low, high) =
        (&want[..n * WANT_WORDS], &here[..n], &carry[..n], &low[..n + 2], &high[..n + 2]);
    for x in 0..n {
        let [take, give] = allowed(&p, here[x], low, high, carry[x], x);
        let (taken, given) = (want[x * WANT_WORDS], want[x * WANT_WORDS + 1]);
        let granted = shares(&p, [take, give], [taken, given])
            | class_of(&p, want[x * WANT_WORDS + 2]) as i32;
        // Where nothing is proposed the word stays: its class is that of the last proposal.
        grant[x] = if taken | given != 0 { granted } else { grant[x] };
    }
}

/// How much a vertex may be asked to lose and to gain in this step, 2⁻¹⁴ cells. What it carries
/// already comes first. A vertex without room to rise takes a little for its neighbours, into its
/// carry: particles that end on a crest could not get rid of their loads otherwise.
#[inline(always)]
fn allowed(p: &Params, here: i32, low: &[i32], high: &[i32], carry: i32, x: usize) -> [i32; 2] {
    let lowest = low[x].min(low[x + 1]).min(low[x + 2]);
    let highest = high[x].max(high[x + 1]).max(high[x + 2]);
    let [fall, rise] = room(p, here, lowest, highest, false);
    let least = if p.flags & EBB != 0 { ALLOW_MAX } else { SLACK };
    // Both are rounded against the particles.
    let (owed, due) = (carry.min(0) >> 2, carry.max(0).wrapping_add(3) >> 2);
    [fall.wrapping_add(owed), rise.max(least).wrapping_sub(due)]
        .map(|allow| allow.clamp(0, ALLOW_MAX) >> 2)
}

/// How much is taken at most, 2⁻¹⁴ cells, where `want` is wanted.
#[inline(always)]
fn asked(p: &Params, allow: i32, want: i32) -> i32 {
    // Compared as it is, since it need not fit a word once it is shifted.
    if want <= allow >> (p.want_shift - 2) { want << (p.want_shift - 2) } else { allow }
}

/// The erodibility of a vertex when `asked` is taken from it (2⁻¹⁴ cells), in 2⁻¹⁵. Loose sediment
/// is taken first.
#[inline(always)]
fn erodibility(p: &Params, soft: u32, asked: i32, loose: impl Fn() -> i32) -> u32 {
    let (rock, sediment) =
        if p.flags & SOFT != 0 { (soft & 0xffff, soft >> 16) } else { (SOFTEST, SOFTEST) };
    if p.flags & SEDIMENT == 0 {
        return rock;
    }
    // In 2⁻¹⁴ cells, like `asked`, which has 16 bits: so the thinner of the two fits 31 bits after
    // the shift.
    let thick = loose() >> 4;
    if thick >= asked {
        return sediment;
    }
    let part = div_small((thick as u32) << 15, asked as u32);
    (sediment * part + rock * (SOFTEST - part)) >> 15
}

fn soften(call: &mut Call) {
    let p: &Params = call.params();
    let &[hardness, vegetation] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        // A layer that is absent is a single 0.
        let at =
            |layer: &[i32]| if layer.len() > 1 { layer[i as usize].clamp(0, 65536) } else { 0 };
        *own = softness(p, at(hardness), at(vegetation)) as i32;
    }
}

/// The erodibility of bedrock (low half) and of loose sediment (high half), 2⁻¹⁵ each.
#[inline(always)]
fn softness(p: &Params, hardness: i32, vegetation: i32) -> u32 {
    let held = 65536 - mul_q16(vegetation, p.roots);
    let rock = mul_q16(mul_q16(held, (65536 - hardness) as u32), p.bedrock);
    // Without the last bit, 1 is 2¹⁵, and both fit half a word.
    (rock as u32 >> 1) | (held as u32 >> 1) << 16
}

/// The shares of what is to be taken and given that are granted where so much may be: a word of
/// `grant`, where all streams are alike.
#[inline(always)]
pub fn shares(p: &Params, allow: [i32; 2], want: [i32; 2]) -> i32 {
    (share(p, allow[0], want[0]) | share(p, allow[1], want[1]) << SHARE_BITS) as i32
}

/// The share of `want` (2⁻¹⁶ cells, shortened by `want_shift` bits) that is granted where `allow`
/// (2⁻¹⁴ cells) may be moved, in 2⁻¹³.
#[inline(always)]
fn share(p: &Params, allow: i32, want: i32) -> u32 {
    let shift = p.want_shift - 2;
    // Where all is granted, the quotient can be too large to be exact. It is not used then.
    let part = div_small(((allow as u32) << 13) >> shift, want.max(1) as u32);
    if want <= allow >> shift { WHOLE } else { part }
}
