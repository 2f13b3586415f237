//! Streams: how often particles have passed a vertex, on coarser levels and so far on this one.

use super::{Params, SHARE_BITS, STREAMS, WANT_WORDS};
use crate::plan::{Call, Kernel};

/// Copies the passages on coarser levels to where [`BEGIN`] has them from, if a later stage needs
/// them, too.
pub static RECALL: Kernel =
    Kernel { entry: "recall", reads: &["passed"], owns: &[("grant", 1)], adds: &[], cpu: recall };

/// Starts from the passages on coarser levels, which are in `grant`.
pub static BEGIN: Kernel = Kernel {
    entry: "begin",
    reads: &[],
    owns: &[("want", WANT_WORDS), ("grant", 1)],
    adds: &[],
    cpu: begin,
};

/// Copies the count of passages.
pub static TALLY: Kernel =
    Kernel { entry: "tally", reads: &["want"], owns: &[("grant", 1)], adds: &[], cpu: tally };

/// From how many passages on a particle is told how large the stream is, and by how much it grows
/// from class to class.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The number of the first class; 64, which no count has, if streams are all alike.
    pub first: u32,
    /// How many times `least` the smallest count of each class is, 1 at least, 2⁻⁸.
    pub times: [i32; STREAMS as usize],
}

impl Stream {
    /// A number that no count has.
    const NONE: u32 = 64;

    /// Streams that count from `least` passages on, which are 2 or more; 0: all are alike.
    pub fn from(least: f64) -> Self {
        // The least count of a class: 2ⁿ or 3/2 · 2ⁿ.
        let smallest = |class: u32| ((2 + u64::from(class & 1)) << (class >> 1)) as f64 / 2.0;
        if least <= 0.0 {
            return Self { first: Self::NONE, times: [256; STREAMS as usize] };
        }
        let least = least.max(2.0);
        let first = (2..Self::NONE).rev().find(|&class| smallest(class) <= least).unwrap_or(2);
        let times =
            |i: usize| (smallest(first + i as u32) / least * 256.0).round().max(256.0) as i32;
        Self { first, times: std::array::from_fn(times) }
    }
}

/// The class of the stream in a word of `grant`.
#[inline(always)]
pub fn class(grant: i32) -> usize {
    (grant as u32 >> (2 * SHARE_BITS)) as usize
}

/// The class of a stream by its count, where it is in a word of `grant`: 0 up to `stream`, and one
/// more for each half octave.
#[inline(always)]
pub(super) fn class_of(p: &Params, count: i32) -> u32 {
    let count = (count as u32).max(2);
    let octave = 31 - count.leading_zeros();
    // The bit after the highest says which half of the octave it is.
    let number = 2 * octave + (count >> (octave - 1) & 1);
    number.saturating_sub(p.stream).min(STREAMS - 1) << (2 * SHARE_BITS)
}

fn begin(call: &mut Call) {
    let p: &Params = call.params();
    let [want, grant] = call.owns else { return };
    for (want, grant) in want.chunks_exact_mut(WANT_WORDS).zip(grant.iter_mut()) {
        want[2] = *grant;
        *grant = class_of(p, *grant) as i32;
    }
}

fn recall(call: &mut Call) {
    call.owns[0]
        .copy_from_slice(&call.reads[0][call.range.start as usize..call.range.end as usize]);
}

fn tally(call: &mut Call) {
    let first = call.range.start as usize * WANT_WORDS;
    for (own, want) in call.owns[0].iter_mut().zip(call.reads[0][first..].chunks_exact(WANT_WORDS))
    {
        *own = want[2];
    }
}
