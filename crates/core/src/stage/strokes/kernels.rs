//! The kernels. Twins of `shaders/strokes.wgsl`.

use super::{
    BANK, BED, FLATTEN, LAKE, LIP, NOISE, PIECE_WORDS, PRESS, Params, STAMP, STROKE_WORDS,
    TILE_BITS,
};
use crate::arith::{fold, lerp, mul_q16};
use crate::plan::Call;
use crate::stage::octaves::{OCTAVE_WORDS, noise};

/// What a piece of a path is to a cell that it does not reach.
const NOWHERE: [i32; 3] = [0, 0, i32::MAX];

/// (1 − q)² at a distance whose square is `d2`.
#[inline(always)]
fn fade(stroke: &[i32], d2: i32) -> i32 {
    // A square is at most 2²⁴, so the dividend is at most 2³¹.
    let over = ((d2 - stroke[5]).max(0) as u32) >> 9;
    let rest = 65536 - ((over << 16) / stroke[6] as u32).min(65536);
    mul_q16(rest as i32, rest)
}

/// The same for a stamp, with its picture in place of the share of the path.
fn stamp(piece: &[i32], stroke: &[i32], pictures: &[i32], x: i32, y: i32) -> [i32; 3] {
    let (dx, dy) = (x - piece[1], y - piece[2]);
    if dx.abs() > piece[6] || dy.abs() > piece[6] {
        return NOWHERE;
    }
    // Samples to a cell are in 2⁻³², in two words, so that a picture does not shift far from its
    // middle.
    let times = |cells: i32, at: usize| cells * piece[at] + mul_q16(cells, piece[at + 1] as u32);
    let u = times(dx, 7) + times(dy, 9) + piece[3];
    let v = times(dy, 7) - times(dx, 9) + piece[4];
    let (right, bottom) = (stroke[12] - 1, stroke[13] - 1);
    if u < 0 || v < 0 || u > right << 16 || v > bottom << 16 {
        return NOWHERE;
    }
    let from_middle = |at: i32, last: i32| {
        // In 2⁻¹² of half a side, like the distances from paths in 2⁻¹² of the radius.
        let d = ((2 * at - (last << 16)).unsigned_abs() / (16 * last as u32)) as i32;
        fade(stroke, d * d)
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
    [w, lerp(line(row), line(row + 1), fy), 0]
}

/// How strongly a piece of a path counts at a cell, the share of the path there, both 2⁻¹⁶, and the
/// square of how far it is. The stronger piece counts, and of equally strong ones the nearer.
#[inline(always)]
fn weight(piece: &[i32], stroke: &[i32], x: i32, y: i32) -> [i32; 3] {
    let (dx, dy) = (x - piece[1], y - piece[2]);
    if dx.abs() > piece[6] || dy.abs() > piece[6] {
        return NOWHERE;
    }
    // Within three radii and some cells, so the products fit a word.
    let px = ((dx * piece[5]) >> 16) - piece[3];
    let py = ((dy * piece[5]) >> 16) - piece[4];
    let along = ((px * piece[7] + py * piece[8]) >> 14).clamp(0, piece[9]);
    let rx = px - ((along * piece[7] + 8192) >> 14);
    let ry = py - ((along * piece[8] + 8192) >> 14);
    let d2 = rx * rx + ry * ry;
    // The square of a radius.
    if d2 >= 16777216 {
        return NOWHERE;
    }
    // The share of the piece up to here, 2⁻¹⁶: the factor is 2²⁶ over its length.
    let t = ((along * piece[10]) >> 10) as u32;
    let pressure = lerp(piece[11], piece[12], t);
    [mul_q16(fade(stroke, d2), pressure as u32), lerp(piece[13], piece[14], t), d2]
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

/// What a stroke makes of a value.
#[inline(always)]
fn drawn(
    p: &Params,
    stroke: &[i32],
    octaves: &[i32],
    [w, t, _]: [i32; 3],
    value: i32,
    x: i32,
    y: i32,
) -> i32 {
    let made = match stroke[0] as u32 {
        FLATTEN => towards(value, towards(stroke[2], stroke[3], t), mul_q16(stroke[4], w as u32)),
        NOISE => {
            let by = mul_q16(stroke[1], w as u32);
            let first = stroke[9] as usize * OCTAVE_WORDS;
            let n =
                noise(&octaves[first..first + stroke[10] as usize * OCTAVE_WORDS], p.step, x, y);
            // by · (2n − 1).
            value.saturating_add((mul_q16(by, n as u32) - (by >> 1)) * 2)
        }
        STAMP => value.saturating_add(mul_q16(mul_q16(stroke[1], t as u32), w as u32)),
        PRESS => {
            towards(value, stroke[2] + mul_q16(stroke[1], t as u32), mul_q16(stroke[4], w as u32))
        }
        LAKE | LIP => lake(stroke, t, value),
        BED => value.min(towards(stroke[2], stroke[3], t)),
        BANK => value.max(towards(stroke[2], stroke[3], t).saturating_add(stroke[1])),
        _ => value.saturating_add(mul_q16(stroke[1], w as u32)),
    };
    made.clamp(stroke[7], stroke[8])
}

/// Runs `draw` for every cell that a stroke reaches, once a stroke: the cell's number in the call,
/// the stroke, its weight, the place.
#[inline(always)]
fn each(call: &Call, p: &Params, mut draw: impl FnMut(usize, &[i32], [i32; 3], [i32; 2])) {
    let &[strokes, pieces, lists, _, pictures] = call.reads else { return };
    let mut i = call.range.start;
    while i < call.range.end {
        let (x, y) = (i as i32 % p.width, i as i32 / p.width);
        let square = p.lists + (y as u32 >> TILE_BITS) * p.tiles + (x as u32 >> TILE_BITS);
        let list = &lists[lists[square as usize] as usize..lists[square as usize + 1] as usize];
        // To the end of the square, the row or the call.
        let right = ((x >> TILE_BITS) + 1) << TILE_BITS;
        let end = (i + (right.min(p.width) - x) as u32).min(call.range.end);
        for cell in if list.is_empty() { end..end } else { i..end } {
            let x = x + (cell - i) as i32;
            // A list has the pieces in the order of their strokes, so those of a stroke follow each
            // other.
            let mut rest = list;
            while let Some(first) = rest.first() {
                let own = pieces[*first as usize];
                let stroke = &strokes[own as usize..own as usize + STROKE_WORDS];
                let mut best = NOWHERE;
                let stamps = [STAMP, PRESS, LAKE, LIP].contains(&(stroke[0] as u32));
                while let Some((at, after)) = rest.split_first() {
                    let piece = &pieces[*at as usize..*at as usize + PIECE_WORDS];
                    if piece[0] != own {
                        break;
                    }
                    let here = if stamps {
                        stamp(piece, stroke, pictures, x, y)
                    } else {
                        weight(piece, stroke, x, y)
                    };
                    if here[0] > best[0] || here[0] == best[0] && here[2] < best[2] {
                        best = here;
                    }
                    rest = after;
                    // Each point of a stamp is drawn by itself.
                    if stamps {
                        break;
                    }
                }
                if best[0] > 0 {
                    draw((cell - call.range.start) as usize, stroke, best, [x, y]);
                }
            }
        }
        i = end;
    }
}

pub(super) fn paint(call: &mut Call) {
    let p: &Params = call.params();
    let octaves = call.reads[3];
    // `each` borrows the call, so its words are taken out meanwhile.
    let mut own = std::mem::take(&mut call.owns[0]);
    each(call, p, |i, stroke, weight, [x, y]| {
        own[i] = drawn(p, stroke, octaves, weight, own[i], x, y)
    });
    std::mem::swap(&mut call.owns[0], &mut own);
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
    let soft = &call.reads[3][call.range.start as usize..];
    let mut own = std::mem::take(&mut call.owns[0]);
    each(call, p, |i, stroke, [w, ..], _| {
        own[i] = towards(own[i], soft[i], mul_q16(stroke[4], w as u32))
    });
    std::mem::swap(&mut call.owns[0], &mut own);
}
