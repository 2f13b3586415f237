//! After the last step: the change of the whole run, smoothed.

use super::{Params, TORUS};
use crate::arith::{fold, height_within};
use crate::plan::{Call, Kernel};

/// Copies the heights before the first step.
pub(super) static REMEMBER: Kernel = Kernel {
    entry: "remember",
    reads: &["height"],
    owns: &[("before", 1)],
    adds: &[],
    cpu: remember,
};

/// Subtracts them from the heights after the last step.
pub(super) static DIFFER: Kernel = Kernel {
    entry: "differ",
    reads: &["height", "before"],
    owns: &[("delta", 1)],
    adds: &[],
    cpu: differ,
};

/// Smooths the change once.
pub(super) static SMOOTHEN: Kernel = Kernel {
    entry: "smoothen",
    reads: &["delta"],
    owns: &[("smoothed", 1)],
    adds: &[],
    cpu: smoothen,
};

/// Applies the smoothed change.
pub(super) static APPLY: Kernel = Kernel {
    entry: "apply",
    reads: &["before", "delta"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: apply,
};

fn remember(call: &mut Call) {
    let range = call.range.start as usize..call.range.end as usize;
    call.owns[0].copy_from_slice(&call.reads[0][range]);
}

fn differ(call: &mut Call) {
    let range = call.range.start as usize..call.range.end as usize;
    let (now, before) = (&call.reads[0][range.clone()], &call.reads[1][range]);
    call.owns[0]
        .iter_mut()
        .zip(now.iter().zip(before))
        .for_each(|(own, (now, before))| *own = now.saturating_sub(*before));
}

fn smoothen(call: &mut Call) {
    let p: &Params = call.params();
    let torus = p.border == TORUS;
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) = (i as i32 % p.width, i as i32 / p.width);
        let mut sum = 0i32;
        for dy in -1..=1 {
            let row = fold(y + dy, p.height, torus) * p.width;
            for dx in -1..=1 {
                sum = sum.wrapping_add(binomial(
                    call.reads[0][(row + fold(x + dx, p.width, torus)) as usize],
                    dx,
                    dy,
                ));
            }
        }
        *own = sum;
    }
}

fn apply(call: &mut Call) {
    let range = call.range.start as usize..call.range.end as usize;
    let (before, delta) = (&call.reads[0][range.clone()], &call.reads[1][range]);
    call.owns[0]
        .iter_mut()
        .zip(before.iter().zip(delta))
        .for_each(|(own, (before, delta))| *own = height_within(before.saturating_add(*delta)));
}

/// The part of `n` at a vertex that the binomial kernel brings to the vertex at (dx, dy) from it.
#[inline(always)]
fn binomial(n: i32, dx: i32, dy: i32) -> i32 {
    match (dx, dy) {
        // The centre keeps what the eight parts leave, so no unit is lost to rounding.
        (0, 0) => n.wrapping_sub((n >> 4) << 2).wrapping_sub((n >> 3) << 2),
        (0, _) | (_, 0) => n >> 3,
        _ => n >> 4,
    }
}
