//! `limit`: how much of what particles want of a vertex they get. `soften`: how erodible the ground
//! is.

use super::params::{EBB, SEDIMENT, SOFT};
use super::room::{LANES, SLACK, Wide, extremes, room, wides};
use super::stream::class_of;
use super::{ALLOW_MAX, MOVED_WORDS, Params, SHARE_BITS, TORUS, WANT_WORDS, WHOLE};
use crate::arith::{LEDGER_WORDS, div_small, fold, mul_q16};
use crate::plan::{Call, Kernel, Touched};
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
    let cells = call.range.start as usize..call.range.end as usize;
    let [grant, want, moved] = call.owns else { return };
    let (&[height, carry, soft, ledger], [.., asked, stirred]) = (call.reads, call.touched) else {
        return;
    };
    let ground = Ground { p, height, carry, soft, ledger };
    limit_all(&ground, cells.clone(), grant, want, *asked);
    forget_moves(moved, *stirred, cells);
}

/// Zeroes what was moved at some cells: `settle` has applied it, and the particles add to it next.
pub fn forget_moves(moved: &mut [i32], stirred: Touched, cells: Range<usize>) {
    for span in stirred.within(cells.clone(), MOVED_WORDS) {
        let span = span.start - cells.start..span.end - cells.start;
        moved[span.start * MOVED_WORDS..span.end * MOVED_WORDS].fill(0);
    }
}

/// Grants where something may have been asked for, and forgets what was.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn limit_all(
    ground: &Ground,
    cells: Range<usize>,
    grant: &mut [i32],
    want: &mut [i32],
    asked: Touched,
) {
    let w = ground.p.width as usize;
    for (row, (grant, want)) in
        grant.chunks_exact_mut(w).zip(want.chunks_exact_mut(w * WANT_WORDS)).enumerate()
    {
        let start = cells.start + row * w;
        for span in asked.within(start..start + w, WANT_WORDS) {
            let span = span.start - start..span.end - start;
            ground.limit(start / w, span, grant, want);
        }
    }
}

/// What the shares depend on.
struct Ground<'a> {
    p: &'a Params,
    height: &'a [i32],
    carry: &'a [i32],
    soft: &'a [i32],
    ledger: &'a [i32],
}

impl Ground<'_> {
    /// Grants shares of the proposals to a span of row `y`, whose words are `grant` and `want`, and
    /// forgets the proposals.
    #[inline(always)]
    fn limit(&self, y: usize, span: Range<usize>, grant: &mut [i32], want: &mut [i32]) {
        let p = self.p;
        let (w, torus) = (p.width as usize, p.border == TORUS);
        let rows = [-1, 0, 1].map(|dy| {
            let at = fold(y as i32 + dy, p.height, torus) as usize * w;
            &self.height[at..at + w]
        });
        let mut x = span.start;
        while x < span.end {
            // As many vertices as can be done at once. Some can be beyond the span: nothing is
            // asked of them, or what was is forgotten.
            let n = if w < LANES { 1 } else { LANES };
            let from = x.min(w - n);
            let (own, asked) = (&mut grant[from..], &mut want[from * WANT_WORDS..]);
            let first = y * w + from;
            if from > 0 && from + LANES < w {
                self.limit_some::<LANES>(first, wides(rows, from - 1), own, asked);
            } else {
                let beside = |x: usize| fold(x as i32 - 1, p.width, torus) as usize;
                let mut near = [[0; LANES + 2]; 3];
                for (near, row) in near.iter_mut().zip(rows) {
                    near[1..=n].copy_from_slice(&row[from..from + n]);
                    (near[0], near[n + 1]) = (row[beside(from)], row[beside(from + n + 1)]);
                }
                let [north, here, south] = &near;
                let near = [north, here, south];
                if n == 1 {
                    self.limit_some::<1>(first, near, own, asked);
                } else {
                    self.limit_some::<LANES>(first, near, own, asked);
                }
            }
            x = from + n;
        }
    }

    /// Grants shares of the proposals to `N` vertices, the first of which is `first`, and forgets
    /// the proposals. `near` has the heights there and beside them.
    #[inline(always)]
    fn limit_some<const N: usize>(
        &self,
        first: usize,
        near: [&Wide; 3],
        grant: &mut [i32],
        want: &mut [i32],
    ) {
        let p = *self.p;
        let (want, ..) = want.as_chunks_mut::<WANT_WORDS>();
        let (Some(want), Some(grant), Some(carry)) = (
            want.first_chunk_mut::<N>(),
            grant.first_chunk_mut::<N>(),
            self.carry[first..].first_chunk::<N>(),
        ) else {
            return;
        };
        let [mut takes, mut gives, mut taken, mut given, mut partly] = [[0; N]; 5];
        // Few loops that do much, since compilers make vectors of such.
        let mut any = 0;
        for l in 0..N {
            let count;
            [taken[l], given[l], count] = want[l];
            let [lowest, highest] = extremes(near, l);
            let [take, give] = allowed(&p, near[1][l + 1], lowest, highest, carry[l]);
            (takes[l], gives[l]) = (take, give);
            // Where all is granted, as mostly, there is nothing to divide.
            let whole = (WHOLE | WHOLE << SHARE_BITS) as i32 | class_of(&p, count) as i32;
            // Where nothing is proposed the word stays: its class is that of the last proposal.
            grant[l] = if taken[l] | given[l] != 0 { whole } else { grant[l] };
            partly[l] = excess(&p, take, taken[l]) | excess(&p, give, given[l]);
            any |= partly[l];
        }
        // The counts of passages stay. Masks do that for whole vector registers.
        let kept = [[0, 0, -1]; N];
        for (word, kept) in want.as_flattened_mut().iter_mut().zip(kept.as_flattened()) {
            *word &= kept;
        }
        if any != 0 {
            for l in 0..N {
                let shares = shares(&p, [takes[l], gives[l]], [taken[l], given[l]]);
                let class = grant[l] as u32 & !((1 << (2 * SHARE_BITS)) - 1);
                grant[l] = if partly[l] != 0 { shares | class as i32 } else { grant[l] };
            }
        }
        if p.flags & (SOFT | SEDIMENT) == 0 {
            return;
        }
        let [mut soft, mut loose] = [[0; N]; 2];
        if p.flags & SOFT != 0 {
            soft.copy_from_slice(&self.soft[first..first + N]);
        }
        if p.flags & SEDIMENT != 0 {
            let (records, ..) = self.ledger.as_chunks::<LEDGER_WORDS>();
            for (loose, record) in loose.iter_mut().zip(&records[first..first + N]) {
                *loose = record[1];
            }
        }
        for l in 0..N {
            let asked = asked(&p, takes[l], taken[l]);
            let ease = erodibility(&p, soft[l] as u32, asked, loose[l]);
            // Only the share of what is taken, in the low bits, depends on the ground.
            let share = grant[l] as u32 & (2 * WHOLE - 1);
            let eased = share.wrapping_mul(ease) >> 15 | (grant[l] as u32 ^ share);
            grant[l] = if taken[l] | given[l] != 0 { eased as i32 } else { grant[l] };
        }
    }
}

/// How much a vertex may be asked to lose and to gain in this step, 2⁻¹⁴ cells. What it carries
/// already comes first. A vertex without room to rise takes a little for its neighbours, into its
/// carry: particles that end on a crest could not get rid of their loads otherwise.
#[inline(always)]
fn allowed(p: &Params, here: i32, lowest: i32, highest: i32, carry: i32) -> [i32; 2] {
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

/// The erodibility of a vertex with `loose` sediment on it when `asked` is taken from it (2⁻¹⁴
/// cells), in 2⁻¹⁵. Loose sediment is taken first.
#[inline(always)]
fn erodibility(p: &Params, soft: u32, asked: i32, loose: i32) -> u32 {
    let (rock, sediment) =
        if p.flags & SOFT != 0 { (soft & 0xffff, soft >> 16) } else { (SOFTEST, SOFTEST) };
    if p.flags & SEDIMENT == 0 {
        return rock;
    }
    // In 2⁻¹⁴ cells, like `asked`, which has 16 bits: so the thinner of the two fits 31 bits after
    // the shift. Where there is enough, the part is not used.
    let thick = loose >> 4;
    let part = div_small((thick as u32) << 15, asked.max(1) as u32);
    let mean =
        sediment.wrapping_mul(part).wrapping_add(rock.wrapping_mul(SOFTEST.wrapping_sub(part)));
    if thick >= asked { sediment } else { mean >> 15 }
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
    // Where all is granted, the quotient can be too large to be exact. It is not used then.
    let part = div_small(((allow as u32) << 13) >> (p.want_shift - 2), want.max(1) as u32);
    if excess(p, allow, want) == 0 { WHOLE } else { part }
}

/// How much of `want` is beyond what is granted whole.
#[inline(always)]
fn excess(p: &Params, allow: i32, want: i32) -> i32 {
    want.saturating_sub(allow >> (p.want_shift - 2)).max(0)
}
