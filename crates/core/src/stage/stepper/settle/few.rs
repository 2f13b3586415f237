//! Single vertices of the ground, where little was moved.

use super::super::{MOVED_WORDS, TORUS};
use super::ground::{BEYOND, BLOCK, Ground, STIRRED};
use super::rows::Lines;
use super::{Brush, VECTOR, halo};
use crate::arith::fold;
use crate::plan::{Calm, Touched};
use multiversion::multiversion;
use std::ops::Range;

/// The same as [`super::settle_rows`] where little was moved: goes from each vertex to the cells
/// that it changes.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
pub(super) fn settle_few(
    ground: &Ground,
    first: usize,
    [next, carried]: [&mut [i32]; 2],
    moved: &[i32],
    brush: &Brush,
    touched: Touched,
    lines: &mut Lines,
) {
    let p = ground.p;
    let (w, halo, torus) = (p.width as usize, halo(p), p.border == TORUS);
    let (count, blocks) = (next.len() / w, Calm::row_bytes(w));
    // The wishes, with columns beyond the borders, so that no vertex is a special case. A row of
    // the brush is filled up to whole vectors, and a row of the map to whole blocks.
    let line = w + 2 * halo + VECTOR.max(BLOCK);
    let Lines { wishes, flags, near, .. } = lines;
    // `change_row` leaves them 0 from call to call.
    wishes.resize(count * line, 0);
    debug_assert!(wishes.iter().all(|wish| *wish == 0), "wishes of another call");
    flags.clear();
    flags.resize(count * blocks, 0);
    for k in 0..count + 2 * halo {
        let y = first as i32 + k as i32 - halo as i32;
        let real = fold(y, p.height, torus);
        let start = real as usize * w;
        // The rows of the brush that meet our rows.
        let rows = (2 * halo).saturating_sub(k)..(2 * halo + 1).min(count + 2 * halo - k);
        let top = k + rows.start - 2 * halo;
        for span in touched.within(start..start + w, MOVED_WORDS) {
            occupied(moved, span, |i| {
                let (x, take, give) =
                    (i - start, moved[i * MOVED_WORDS], moved[i * MOVED_WORDS + 1]);
                brush.stroke(&mut wishes[top * line + x..], line, rows.clone(), take, give);
                if real == y && rows.contains(&halo) {
                    let own = &mut wishes[(k - halo) * line + halo + x];
                    *own = own.wrapping_sub(brush.rest(take, give));
                }
                let (west, east) = (x.saturating_sub(halo), (x + halo).min(w - 1));
                let is_beyond = x < halo || x + halo >= w;
                for row in flags[top * blocks..][..rows.len() * blocks].chunks_mut(blocks) {
                    let stir = |flag: &mut u8| *flag |= STIRRED;
                    row[west / BLOCK..=east / BLOCK].iter_mut().for_each(stir);
                    if is_beyond {
                        row[..=halo.min(w - 1) / BLOCK].iter_mut().for_each(stir);
                        row[(w - 1).saturating_sub(halo) / BLOCK..w.div_ceil(BLOCK)]
                            .iter_mut()
                            .for_each(stir);
                        row[0] |= BEYOND;
                    }
                }
            });
        }
    }
    let rows = next
        .chunks_exact_mut(w)
        .zip(carried.chunks_exact_mut(w))
        .zip(wishes.chunks_exact_mut(line).zip(flags.chunks_exact_mut(blocks)));
    for (i, ((next, carried), (wish, flags))) in rows.enumerate() {
        // What fell beyond the west and the east is folded back. Rows were folded when they were
        // read.
        if flags[0] & BEYOND != 0 {
            for i in 0..halo {
                for (x, beyond) in [(i as i32 - halo as i32, i), ((w + i) as i32, halo + w + i)] {
                    let at = halo + fold(x, p.width, torus) as usize;
                    wish[at] = wish[at].wrapping_add(wish[beyond]);
                    wish[beyond] = 0;
                }
            }
        }
        let wish = &mut wish[halo..halo + w.next_multiple_of(BLOCK)];
        ground.change_row(first + i, wish, [next, carried], flags, near);
    }
}

/// Records that [`occupied`] tests together.
const SOME: usize = 16;

/// Calls `each` for the vertices at which something was moved, of those in `records`.
#[inline(always)]
fn occupied(moved: &[i32], records: Range<usize>, mut each: impl FnMut(usize)) {
    for first in records.clone().step_by(SOME) {
        let some = &moved[first * MOVED_WORDS..(first + SOME).min(records.end) * MOVED_WORDS];
        let mut mask = 0u32;
        for (i, record) in some.chunks_exact(MOVED_WORDS).enumerate() {
            mask |= ((record[0] | record[1] != 0) as u32) << i;
        }
        while mask != 0 {
            each(first + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    }
}
