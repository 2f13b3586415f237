//! The kernels. Twins of `shaders/strokes.wgsl`.

use super::{
    BANK, BED, FLATTEN, LAKE, LIP, NOISE, PIECE_WORDS, PRESS, Params, STAMP, STROKE_WORDS,
    TILE_BITS,
};
use crate::arith::{div_small, fold, lerp, mul_q16};
use crate::plan::Call;
use crate::stage::octaves::{OCTAVE_WORDS, noise};
use multiversion::multiversion;
use std::ops::Range;

/// Cells of a side of a square.
const SIDE: usize = 1 << TILE_BITS;
/// The square of a radius, in the unit of distances.
const RADIUS2: i32 = 1 << 24;

/// (1 − q)² for a q in 2⁻¹⁶.
#[inline(always)]
fn fade(q: u32) -> i32 {
    let rest = 65536 - q.min(65536);
    mul_q16(rest as i32, rest)
}

/// What q divides, at a distance whose square is `d2`: at most 2³¹.
#[inline(always)]
fn beyond(stroke: &[i32], d2: i32) -> u32 {
    ((d2.wrapping_sub(stroke[5]).max(0) as u32) >> 9) << 16
}

/// How strongly a stamp counts at a cell, and its picture there, both 2⁻¹⁶.
fn stamp(piece: &[i32], stroke: &[i32], pictures: &[i32], x: i32, y: i32) -> [i32; 2] {
    let (dx, dy) = (x - piece[1], y - piece[2]);
    // Samples to a cell are in 2⁻³², in two words, so that a picture does not shift far from its
    // middle.
    let times = |cells: i32, at: usize| cells * piece[at] + mul_q16(cells, piece[at + 1] as u32);
    let u = times(dx, 7) + times(dy, 9) + piece[3];
    let v = times(dy, 7) - times(dx, 9) + piece[4];
    let (right, bottom) = (stroke[12] - 1, stroke[13] - 1);
    if u < 0 || v < 0 || u > right << 16 || v > bottom << 16 {
        return [0; 2];
    }
    let from_middle = |at: i32, last: i32| {
        // In 2⁻¹² of half a side, like the distances from paths in 2⁻¹² of the radius.
        let d = ((2 * at - (last << 16)).unsigned_abs() / (16 * last as u32)) as i32;
        fade(beyond(stroke, d * d) / stroke[6] as u32)
    };
    let w =
        mul_q16(mul_q16(from_middle(u, right), from_middle(v, bottom) as u32), piece[11] as u32);
    // The last sample belongs to the square before it.
    let (column, row) = ((u >> 16).min(right - 1), (v >> 16).min(bottom - 1));
    let (fx, fy) = ((u - (column << 16)) as u32, (v - (row << 16)) as u32);
    let line = |row: i32| {
        let first = (stroke[11] + row * stroke[12] + column) as usize;
        lerp(pictures[first], pictures[first + 1], fx)
    };
    [w, lerp(line(row), line(row + 1), fy)]
}

/// How a stroke reaches the cells of a row within a square.
struct Reached {
    /// How strongly it counts, 2⁻¹⁶.
    weight: [i32; SIDE],
    /// The share of the path there, or the picture of a stamp, 2⁻¹⁶.
    share: [i32; SIDE],
    /// The square of the distance from its path, 2⁻²⁴ of its radius's.
    far: [i32; SIDE],
}

impl Reached {
    const NOWHERE: Self = Self { weight: [0; SIDE], share: [0; SIDE], far: [i32::MAX; SIDE] };

    /// Has a piece of a path count where it is stronger than those before it, or as strong and
    /// nearer, at some cells of a row from the cell (x, y) on.
    #[inline(always)]
    fn take(&mut self, piece: &[i32], stroke: &[i32], [x, y]: [i32; 2], cells: Range<usize>) {
        let span = stroke[6] as u32;
        let dy = y - piece[2];
        // Within three radii and some cells, so the products fit a word.
        let py = ((dy * piece[5]) >> 16) - piece[4];
        let all = self.weight[cells.clone()].iter_mut().zip(&mut self.share[cells.clone()]);
        for (i, ((weight, share), far)) in all.zip(&mut self.far[cells.clone()]).enumerate() {
            let dx = x.wrapping_add((cells.start + i) as i32).wrapping_sub(piece[1]);
            let px = (dx.wrapping_mul(piece[5]) >> 16).wrapping_sub(piece[3]);
            let way = px.wrapping_mul(piece[7]).wrapping_add(py.wrapping_mul(piece[8]));
            let along = (way >> 14).max(0).min(piece[9]);
            let rx = px.wrapping_sub(along.wrapping_mul(piece[7]).wrapping_add(8192) >> 14);
            let ry = py.wrapping_sub(along.wrapping_mul(piece[8]).wrapping_add(8192) >> 14);
            let d2 = rx.wrapping_mul(rx).wrapping_add(ry.wrapping_mul(ry));
            // The share of the piece up to here, 2⁻¹⁶: the factor is 2²⁶ over its length.
            let t = (along.wrapping_mul(piece[10]) >> 10) as u32;
            let pressure = lerp(piece[11], piece[12], t);
            // Beyond the radius, whose square is 2²⁴, nothing counts. The quotient is at most 2¹⁶.
            let within = d2.min(RADIUS2 - 1);
            let here = mul_q16(fade(div_small(beyond(stroke, within), span)), pressure as u32);
            let better = here > *weight || here == *weight && d2 < *far;
            if better && d2 < RADIUS2 {
                *weight = here;
                *share = lerp(piece[13], piece[14], t);
                *far = d2;
            }
        }
    }

    /// Changes the words of some cells of a row where the stroke counts: `draw` makes a word of the
    /// cell's number, weight, share and old word.
    #[inline(always)]
    fn draw(
        &self,
        cells: Range<usize>,
        own: &mut [i32],
        draw: impl Fn(usize, i32, i32, i32) -> i32,
    ) {
        let all = self.weight[cells.clone()].iter().zip(&self.share[cells.clone()]);
        for (i, ((w, t), own)) in all.zip(&mut own[cells.clone()]).enumerate() {
            let drawn = draw(cells.start + i, *w, *t, *own);
            *own = if *w > 0 { drawn } else { *own };
        }
    }
}

/// Part of the way from one word to another: w in 2⁻¹⁶.
#[inline(always)]
fn towards(from: i32, to: i32, w: i32) -> i32 {
    // One part is rounded down and the other up, so that the way between two equal words is that
    // word.
    mul_q16(from, (65536 - w) as u32) - mul_q16(-to, w as u32)
}

/// What a lake makes of a height, where its picture has `share`.
fn lake(stroke: &[i32], share: i32, value: i32) -> i32 {
    let far = share - 32768;
    if far >= 0 && stroke[0] as u32 == LIP {
        return value;
    }
    if far >= 0 {
        // 1 − (1 − t)² of the depth.
        let rest = (65536 - (2 * far).min(65536)) as u32;
        return stroke[2]
            .saturating_sub(mul_q16(stroke[1], 65536 - mul_q16(rest as i32, rest) as u32));
    }
    // All of 15 bits, so that no product has more than 32. The distance is at most 2¹⁵.
    let u = ((2 * far.unsigned_abs()) << 15) / (stroke[4] as u32).max(1);
    let rest = 32768 - u.min(32768);
    let w = (((rest * rest) >> 15) * (98304 - 2 * rest)) >> 14;
    let shore = towards(value, stroke[2], w as i32);
    let rim = stroke[3].saturating_add(mul_q16(stroke[15], 2 * far.unsigned_abs()));
    if far >= -stroke[14] { shore.max(rim) } else { shore }
}

/// Draws a stroke on the words of a row from the cell (x, y) on.
#[inline(always)]
fn draw(
    p: &Params,
    stroke: &[i32],
    octaves: &[i32],
    (reached, cells): (&Reached, Range<usize>),
    own: &mut [i32],
    [x, y]: [i32; 2],
) {
    let (low, high) = (stroke[7], stroke[8]);
    let within = |value: i32| value.max(low).min(high);
    let towards_height =
        |value, height, w| within(towards(value, height, mul_q16(stroke[4], w as u32)));
    let of_path = |t| towards(stroke[2], stroke[3], t);
    // A loop for each tool, so that compilers make vectors of it.
    match stroke[0] as u32 {
        FLATTEN => {
            reached.draw(cells, own, |_, w, t, value| towards_height(value, of_path(t), w));
        }
        NOISE => {
            let first = stroke[9] as usize * OCTAVE_WORDS;
            let octaves = &octaves[first..first + stroke[10] as usize * OCTAVE_WORDS];
            reached.draw(cells, own, |i, w, _, value| {
                if w == 0 {
                    return value;
                }
                let by = mul_q16(stroke[1], w as u32);
                let n = noise(octaves, p.step, x + i as i32, y);
                // by · (2n − 1).
                within(value.saturating_add((mul_q16(by, n as u32) - (by >> 1)) * 2))
            });
        }
        STAMP => reached.draw(cells, own, |_, w, t, value| {
            within(value.saturating_add(mul_q16(mul_q16(stroke[1], t as u32), w as u32)))
        }),
        PRESS => reached.draw(cells, own, |_, w, t, value| {
            towards_height(value, stroke[2].wrapping_add(mul_q16(stroke[1], t as u32)), w)
        }),
        LAKE | LIP => reached.draw(cells, own, |_, _, t, value| within(lake(stroke, t, value))),
        BED => reached.draw(cells, own, |_, _, t, value| within(value.min(of_path(t)))),
        BANK => reached.draw(cells, own, |_, _, t, value| {
            within(value.max(of_path(t).saturating_add(stroke[1])))
        }),
        _ => reached.draw(cells, own, |_, w, _, value| {
            within(value.saturating_add(mul_q16(stroke[1], w as u32)))
        }),
    }
}

/// The words of a pass's tables.
struct Tables<'a> {
    strokes: &'a [i32],
    pieces: &'a [i32],
    pictures: &'a [i32],
}

/// The rows of a call, cut where squares end and where a list is empty: the cells in the call, the
/// first cell's place, the list of its square.
fn rows<'a>(
    range: Range<u32>,
    p: &'a Params,
    lists: &'a [i32],
) -> impl Iterator<Item = (Range<usize>, [i32; 2], &'a [i32])> {
    let mut i = range.start;
    std::iter::from_fn(move || {
        while i < range.end {
            let (x, y) = (i as i32 % p.width, i as i32 / p.width);
            let square = p.lists + (y as u32 >> TILE_BITS) * p.tiles + (x as u32 >> TILE_BITS);
            let list = &lists[lists[square as usize] as usize..lists[square as usize + 1] as usize];
            // To the end of the square, the row or the call.
            let right = ((x >> TILE_BITS) + 1) << TILE_BITS;
            let end = (i + (right.min(p.width) - x) as u32).min(range.end);
            let cells = (i - range.start) as usize..(end - range.start) as usize;
            i = end;
            if !list.is_empty() {
                return Some((cells, [x, y], list));
            }
        }
        None
    })
}

/// Runs `draw` for every stroke in a list, with how it reaches the `count` cells of a row from
/// (x, y) on, and the range outside which it reaches none.
#[inline(always)]
fn each(
    tables: &Tables,
    list: &[i32],
    [x, y]: [i32; 2],
    count: usize,
    mut draw: impl FnMut(&[i32], &Reached, Range<usize>),
) {
    let piece = |at: i32| &tables.pieces[at as usize..at as usize + PIECE_WORDS];
    // A list has the pieces in the order of their strokes, so those of a stroke follow each other.
    let mut rest = list;
    while let Some(first) = rest.first() {
        let own = piece(*first)[0];
        let stroke = &tables.strokes[own as usize..own as usize + STROKE_WORDS];
        // Each point of a stamp is drawn by itself.
        let stamps = [STAMP, PRESS, LAKE, LIP].contains(&(stroke[0] as u32));
        let pieces = match stamps {
            true => 1,
            false => rest.iter().take_while(|at| piece(**at)[0] == own).count(),
        };
        let mut reached = Reached::NOWHERE;
        let mut cells = count..0;
        for piece in rest[..pieces].iter().map(|at| piece(*at)) {
            if (y - piece[2]).abs() > piece[6] {
                continue;
            }
            let place = |at: i32| (at - x).clamp(0, count as i32) as usize;
            let own = place(piece[1] - piece[6])..place(piece[1] + piece[6] + 1);
            if own.is_empty() {
                continue;
            }
            cells = cells.start.min(own.start)..cells.end.max(own.end);
            if stamps {
                for i in own {
                    [reached.weight[i], reached.share[i]] =
                        stamp(piece, stroke, tables.pictures, x + i as i32, y);
                }
            } else {
                reached.take(piece, stroke, [x, y], own);
            }
        }
        if !cells.is_empty() {
            draw(stroke, &reached, cells);
        }
        rest = &rest[pieces..];
    }
}

pub(super) fn paint(call: &mut Call) {
    let p: &Params = call.params();
    let &[strokes, pieces, lists, octaves, pictures] = call.reads else { return };
    let tables = Tables { strokes, pieces, pictures };
    for (cells, place, list) in rows(call.range.clone(), p, lists) {
        paint_row(p, &tables, octaves, list, place, &mut call.owns[0][cells]);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn paint_row(
    p: &Params,
    tables: &Tables,
    octaves: &[i32],
    list: &[i32],
    place: [i32; 2],
    own: &mut [i32],
) {
    each(tables, list, place, own.len(), |stroke, reached, cells| {
        draw(p, stroke, octaves, (reached, cells), own, place);
    });
}

pub(super) fn lift(call: &mut Call) {
    let (from, to) = (call.range.start as usize, call.range.end as usize);
    call.owns[0].copy_from_slice(&call.reads[0][from..to]);
}

pub(super) fn soften(call: &mut Call) {
    let p: &Params = call.params();
    let soft = call.reads[0];
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) = (i as i32 % p.width, i as i32 / p.width);
        let columns = [-1, 0, 1].map(|k| fold(x + k * p.apart, p.width, false));
        let rows = [-1, 0, 1].map(|k| fold(y + k * p.apart, p.height, false) * p.width);
        let at = |row: usize, column: usize| soft[(rows[row] + columns[column]) as usize];
        let here = at(1, 1);
        let corners = (at(0, 0) >> 4) + (at(0, 2) >> 4) + (at(2, 0) >> 4) + (at(2, 2) >> 4);
        let sides = (at(0, 1) >> 3) + (at(1, 0) >> 3) + (at(1, 2) >> 3) + (at(2, 1) >> 3);
        // The cell keeps what eighths and sixteenths leave over, so that level ground stays as it
        // is.
        *own = here - ((here >> 3) << 2) - ((here >> 4) << 2) + sides + corners;
    }
}

pub(super) fn blend(call: &mut Call) {
    let p: &Params = call.params();
    let &[strokes, pieces, lists, soft, pictures] = call.reads else { return };
    let tables = Tables { strokes, pieces, pictures };
    let soft = &soft[call.range.start as usize..];
    for (cells, place, list) in rows(call.range.clone(), p, lists) {
        blend_row(&tables, list, place, &soft[cells.clone()], &mut call.owns[0][cells]);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn blend_row(tables: &Tables, list: &[i32], place: [i32; 2], soft: &[i32], own: &mut [i32]) {
    each(tables, list, place, own.len(), |stroke, reached, cells| {
        reached.draw(cells, own, |i, w, _, value| {
            towards(value, soft[i], mul_q16(stroke[4], w as u32))
        });
    });
}
