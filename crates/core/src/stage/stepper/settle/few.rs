//! Single vertices of the ground, where little was moved.

use super::super::params::LAST;
use super::super::{MOVED_WORDS, TORUS};
use super::rows::Lines;
use super::{Brush, Ground, VECTOR, halo, occupied, share};
use crate::arith::fold;
use crate::plan::{Calm, Touched};
use multiversion::multiversion;
use std::sync::atomic::Ordering;

/// A vertex of the segment carries something.
const CARRIES: u8 = 1;
/// So much that it passes some of it on to its neighbours.
const PASSES: u8 = 2;
/// Heights or what is carried changed in the segment in the last pass: the buffers differ.
const CHANGED: u8 = 4;
/// Something was moved near the segment, left the map from it, or was an overrun.
const STIRRED: u8 = 8;
/// And fell beyond the west or the east of the row: in the flags of the row's first segment.
const BEYOND: u8 = 16;
/// The segment is done in this pass.
const AWAKE: u8 = 32;

/// The same as [`super::settle_rows`] where little was moved: goes from each vertex to the cells
/// that it changes, and passes over segments of rows in which nothing happens.
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
    (touched, calm): (Touched, Option<Calm>),
    lines: &mut Lines,
) {
    let p = ground.p;
    let (w, halo, torus) = (p.width as usize, halo(p), p.border == TORUS);
    let (count, segments) = (next.len() / w, w.div_ceil(Calm::CELLS));
    // The wishes, with columns beyond the borders, so that no vertex is a special case. A row of
    // the brush is filled up to whole vectors, so it needs room for one more.
    let line = w + 2 * halo + VECTOR;
    let Lines { wishes, flags, near, columns, .. } = lines;
    // From call to call they are all 0.
    wishes.resize(count * line, 0);
    flags.clear();
    flags.resize(count * segments, 0);
    for k in 0..count + 2 * halo {
        let y = first as i32 + k as i32 - halo as i32;
        let real = fold(y, p.height, torus);
        let start = real as usize * w;
        // The rows of the brush that meet our rows.
        let rows = (2 * halo).saturating_sub(k)..(2 * halo + 1).min(count + 2 * halo - k);
        let top = k + rows.start - 2 * halo;
        for span in touched.within(start..start + w, MOVED_WORDS) {
            occupied::<MOVED_WORDS>(moved, span, |i| {
                let (x, take, give) =
                    (i - start, moved[i * MOVED_WORDS], moved[i * MOVED_WORDS + 1]);
                brush.stroke(&mut wishes[top * line + x..], line, rows.clone(), take, give);
                if real == y && rows.contains(&halo) {
                    let own = &mut wishes[(k - halo) * line + halo + x];
                    *own = own.wrapping_sub(brush.rest(take, give));
                }
                let (west, east) = (x.saturating_sub(halo), (x + halo).min(w - 1));
                let is_beyond = x < halo || x + halo >= w;
                for row in flags[top * segments..][..rows.len() * segments].chunks_mut(segments) {
                    let stir = |flag: &mut u8| *flag |= STIRRED;
                    row[west / Calm::CELLS..=east / Calm::CELLS].iter_mut().for_each(stir);
                    if is_beyond {
                        row[..=halo.min(w - 1) / Calm::CELLS].iter_mut().for_each(stir);
                        row[(w - 1).saturating_sub(halo) / Calm::CELLS..].iter_mut().for_each(stir);
                        row[0] |= BEYOND;
                    }
                }
            });
        }
    }
    near.clear();
    near.resize(segments + 2, 0);
    let rows = next
        .chunks_exact_mut(w)
        .zip(carried.chunks_exact_mut(w))
        .zip(wishes.chunks_exact_mut(line).zip(flags.chunks_exact_mut(segments)));
    for (i, ((next, carried), (wish, flags))) in rows.enumerate() {
        let y = first + i;
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
        wake(ground, y, calm, flags, near);
        let [here, carry] = [ground.height, ground.carry].map(|words| &words[y * w..][..w]);
        let cells = |from: usize, to: usize| from * Calm::CELLS..(to * Calm::CELLS).min(w);
        let tell = |segment: usize, known: u8| {
            if let Some(calm) = calm {
                calm.after[y * segments + segment].store(known, Ordering::Relaxed);
            }
        };
        let mut from = 0;
        while from < segments {
            let flag = flags[from];
            if flag & AWAKE == 0 {
                if flag & CHANGED != 0 {
                    // At rest again: the other buffer gets the same words.
                    let span = cells(from, from + 1);
                    next[span.clone()].copy_from_slice(&here[span.clone()]);
                    carried[span.clone()].copy_from_slice(&carry[span]);
                }
                tell(from, flag & (CARRIES | PASSES));
                from += 1;
                continue;
            }
            let awake = flags[from..].iter().take_while(|flag| **flag & AWAKE != 0).count();
            let span = cells(from, from + awake);
            let (own, kept) = (&mut next[span.clone()], &mut carried[span.clone()]);
            let wish = &mut wish[halo..halo + w][span.clone()];
            let left = ground.change_span(y, span.start, wish, [own, kept], columns);
            wish.fill(0);
            for (segment, flag) in flags.iter().enumerate().skip(from).take(awake) {
                let span = cells(segment, segment + 1);
                let words = [&next[span.clone()], &here[span.clone()]];
                let loads = [&carried[span.clone()], &carry[span]];
                let stirred = if left { STIRRED } else { flag & STIRRED };
                tell(segment, what_happened(words, loads) | stirred);
            }
            from += awake;
        }
    }
}

/// What happened in a segment that was done.
#[inline(always)]
fn what_happened([next, here]: [&[i32]; 2], [carried, carry]: [&[i32]; 2]) -> u8 {
    let (mut carries, mut passes, mut changed) = (0, 0, 0);
    for (((next, here), carried), carry) in next.iter().zip(here).zip(carried).zip(carry) {
        carries |= carried;
        passes |= share(*carried);
        changed |= (next ^ here) | (carried ^ carry);
    }
    let flag = |word: i32, flag: u8| if word != 0 { flag } else { 0 };
    flag(carries, CARRIES) | flag(passes, PASSES) | flag(changed, CHANGED)
}

/// Says which segments of a row are to be done, and adds what is known of the others to their
/// flags. A segment changes where something is moved; or where it carries something or gets some,
/// unless all is as it was when that changed nothing.
#[inline(always)]
fn wake(ground: &Ground, y: usize, calm: Option<Calm>, flags: &mut [u8], near: &mut [u8]) {
    let (n, p) = (flags.len(), ground.p);
    let Some(calm) = calm.filter(|_| p.flags & LAST == 0) else {
        flags.iter_mut().for_each(|flag| *flag |= AWAKE);
        return;
    };
    let torus = p.border == TORUS;
    let [north, here, south] =
        [-1, 0, 1].map(|dy| &calm.before[fold(y as i32 + dy, p.height, torus) as usize * n..][..n]);
    for x in 0..n {
        near[x + 1] = north[x] | here[x] | south[x];
    }
    (near[0], near[n + 1]) = if torus { (near[n], near[1]) } else { (0, 0) };
    for x in 0..n {
        let around = near[x] | near[x + 1] | near[x + 2];
        let loaded = (around & PASSES) >> 1 | here[x] & CARRIES;
        let stirs = (around & CHANGED) >> 2 | (around & STIRRED) >> 3;
        let awake = (flags[x] & STIRRED) >> 3 | loaded & stirs;
        flags[x] |= here[x] & (CARRIES | PASSES | CHANGED) | awake << 5;
    }
}
