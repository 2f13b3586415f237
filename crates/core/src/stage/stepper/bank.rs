//! With `wash`: what particles export in each step is put away in time, before any sum of it can
//! wrap.

use super::{BANKED_WORDS, EXPORT_WORDS};
use crate::plan::{Call, Kernel};

/// Steps between two times. In one, each of the [`TILE_DROPS`](super::TILE_DROPS) particles of a
/// tile adds to a pair of words twice at most, as it takes and as it leaves: 2¹¹ times up to 2¹² to
/// the low one, and up to 2¹¹ to the other.
pub(super) const EVERY: u32 = 128;

/// Moves what the particles of each tile have exported to `banked`.
pub(super) static BANK: Kernel = Kernel {
    entry: "bank",
    reads: &[],
    owns: &[("exported", EXPORT_WORDS), ("banked", BANKED_WORDS)],
    adds: &[],
    cpu: bank,
};

fn bank(call: &mut Call) {
    let [exported, banked] = call.owns else { return };
    for (exported, banked) in
        exported.chunks_exact_mut(EXPORT_WORDS).zip(banked.chunks_exact_mut(BANKED_WORDS))
    {
        // Low parts are never negative: the rest has the sign.
        let sum = i64::from(exported[0] as u32) + (i64::from(exported[1]) << 12);
        let all = (i64::from(banked[1]) << 32 | i64::from(banked[0] as u32)) + sum;
        (banked[0], banked[1]) = (all as i32, (all >> 32) as i32);
        (exported[0], exported[1]) = (0, 0);
    }
}
