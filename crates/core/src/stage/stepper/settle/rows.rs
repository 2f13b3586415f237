//! Whole rows of the ground at once.

use super::super::{MOVED_WORDS, Params, TORUS};
use super::ground::{BLOCK, Ground, STIRRED};
use super::{Brush, LANES, halo};
use crate::arith::{fold, mul_q16};
use crate::plan::Calm;
use bytemuck::{Pod, Zeroable};
use multiversion::multiversion;

/// Words aligned so that a vector register can load them at once.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Register([i32; LANES]);

/// Scratch memory, reused from call to call.
#[derive(Default)]
pub(super) struct Lines {
    taken: Vec<Register>,
    given: Vec<Register>,
    column: Vec<Register>,
    change: Vec<i32>,
    /// Of `settle_few`: what the cells are to change by. All 0 from call to call.
    pub(super) wishes: Vec<i32>,
    /// The flags of blocks.
    pub(super) flags: Vec<u8>,
    /// Of `change_row`.
    pub(super) near: Vec<u8>,
}

/// Changes the ground of some rows, and what they carry, by what was moved there and around.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
pub(super) fn settle_rows(
    ground: &Ground,
    first: usize,
    [next, carried]: [&mut [i32]; 2],
    moved: &[i32],
    brush: &Brush,
    lines: &mut Lines,
) {
    let p = ground.p;
    let (w, halo) = (p.width as usize, halo(p));
    let count = next.len() / w;
    let wide = (w + 2 * halo).div_ceil(LANES);
    let zero = Register::zeroed();
    let Lines { taken, given, column, change, flags, near, .. } = lines;
    taken.resize((count + 2 * halo) * wide, zero);
    given.resize((count + 2 * halo) * wide, zero);
    column.resize(wide, zero);
    // Whole blocks, of which those beyond the row stay 0.
    change.clear();
    change.resize(w.next_multiple_of(BLOCK), 0);
    flags.resize(Calm::row_bytes(w), 0);
    let flags = &mut flags[..Calm::row_bytes(w)];
    let (taken, given): (&mut [i32], &mut [i32]) =
        (bytemuck::cast_slice_mut(taken), bytemuck::cast_slice_mut(given));
    let column: &mut [i32] = bytemuck::cast_slice_mut(column);
    let wide = wide * LANES;
    let mut large = vec![0u32; count + 2 * halo];
    let rows = taken.chunks_exact_mut(wide).zip(given.chunks_exact_mut(wide)).zip(&mut large);
    for (k, ((taken, given), large)) in rows.enumerate() {
        let y = fold(first as i32 + k as i32 - halo as i32, p.height, p.border == TORUS) as usize;
        let row = &moved[y * w * MOVED_WORDS..(y + 1) * w * MOVED_WORDS];
        *large = read_line(p, row, taken, given);
    }
    let moves = Moves { taken, given, wide, halo };
    for (j, (next, carried)) in
        next.chunks_exact_mut(w).zip(carried.chunks_exact_mut(w)).enumerate()
    {
        let bits = large[j..j + 2 * halo + 1].iter().fold(0, |all, b| all | b);
        flags.fill(if bits == 0 { 0 } else { STIRRED });
        if bits != 0 {
            // The products fit in 32 bits unless a heavy load was laid down here.
            let heavy = bits as u64 * brush.heaviest >= 1 << 31;
            let change = &mut change[..w];
            moves.losses(j, brush, heavy, column, change);
            change.iter_mut().for_each(|change| *change = change.wrapping_neg());
        }
        ground.change_row(first + j, change, [next, carried], flags, near);
    }
}

/// Reads what was taken and given in a row into two lines that go on beyond the borders, and
/// returns bits that are not below the largest amount.
#[inline(always)]
fn read_line(p: &Params, row: &[i32], taken: &mut [i32], given: &mut [i32]) -> u32 {
    let (w, halo, torus) = (p.width as usize, halo(p), p.border == TORUS);
    let mut bits = 0;
    for ((pair, t), g) in row
        .chunks_exact(MOVED_WORDS)
        .zip(&mut taken[halo..halo + w])
        .zip(&mut given[halo..halo + w])
    {
        *t = pair[0];
        *g = pair[1];
        // The union of bits is not below the largest amount, and cheaper to find.
        bits |= pair[0].unsigned_abs() | pair[1].unsigned_abs();
    }
    for i in 0..halo {
        let (left, right) = (
            fold(i as i32 - halo as i32, p.width, torus) as usize,
            fold((w + i) as i32, p.width, torus) as usize,
        );
        (taken[i], taken[halo + w + i]) = (row[2 * left], row[2 * right]);
        (given[i], given[halo + w + i]) = (row[2 * left + 1], row[2 * right + 1]);
    }
    bits
}

/// What was taken and given in some rows and in `halo` rows to both sides of them: lines of `wide`
/// words that go on beyond the borders, so that no cell is a special case.
struct Moves<'a> {
    taken: &'a [i32],
    given: &'a [i32],
    wide: usize,
    halo: usize,
}

impl Moves<'_> {
    /// What was taken, `dy` rows south of the `j`-th.
    #[inline(always)]
    fn taken(&self, j: usize, dy: isize) -> &[i32] {
        &self.taken[(j + self.halo).wrapping_add_signed(dy) * self.wide..][..self.wide]
    }

    /// What was given in the `j`-th row and in its neighbours to the north and south.
    #[inline(always)]
    fn given(&self, j: usize) -> [&[i32]; 3] {
        let line = |k: usize| &self.given[k * self.wide..][..self.wide];
        [line(j + self.halo - 1), line(j + self.halo), line(j + self.halo + 1)]
    }

    /// What the cells of the `j`-th row lose, into `change`. `column` is scratch memory.
    ///
    /// The sum over the brush is done by its columns, from the centre to the rim: what each has
    /// above and below a cell is summed first, and then added to the cells on both sides, since the
    /// brush is symmetric both ways.
    #[inline(always)]
    fn losses(&self, j: usize, brush: &Brush, heavy: bool, column: &mut [i32], change: &mut [i32]) {
        let (taken, given) = (|dy| self.taken(j, dy), self.given(j));
        let mut sides = brush.columns.iter().enumerate();
        // The centre loses all that was taken, less the parts of the other cells.
        column.copy_from_slice(taken(0));
        for &(weight, count) in &brush.kinds {
            lose(column, taken(0), weight, count, heavy);
        }
        spread_column(column, given, |north, here, south| {
            spread(here, 0, 0).wrapping_add(spread(north, 0, 1)).wrapping_add(spread(south, 0, 1))
        });
        if let Some((_, taps)) = sides.next() {
            for &(dy, weight) in taps {
                draw(column, taken(-dy), taken(dy), weight, heavy);
            }
        }
        change.copy_from_slice(&column[self.halo..self.halo + change.len()]);
        for (dx, taps) in sides {
            column.fill(0);
            for &(dy, weight) in taps {
                if dy == 0 {
                    lose(column, taken(0), weight, -1, heavy);
                } else {
                    draw(column, taken(-dy), taken(dy), weight, heavy);
                }
            }
            // The spread reaches one cell to each side.
            if dx == 1 {
                spread_column(column, given, |north, here, south| {
                    spread(here, 1, 0)
                        .wrapping_add(spread(north, 1, 1))
                        .wrapping_add(spread(south, 1, 1))
                });
            }
            // One column serves both sides, since the brush is symmetric.
            beside(change, column, self.halo, dx);
        }
    }
}

/// A part of what was taken: `weight` is in 2⁻¹⁶.
#[inline(always)]
fn part(taken: i32, weight: i32, heavy: bool) -> i32 {
    if heavy { mul_q16(taken, weight as u32) } else { taken.wrapping_mul(weight) >> 16 }
}

/// Subtracts a part of what was taken, `count` times.
#[inline(always)]
fn lose(column: &mut [i32], taken: &[i32], weight: i32, count: i32, heavy: bool) {
    for (column, taken) in column.iter_mut().zip(taken) {
        *column = column.wrapping_sub(part(*taken, weight, heavy).wrapping_mul(count));
    }
}

/// Adds the parts of what was taken in two rows.
#[inline(always)]
fn draw(column: &mut [i32], north: &[i32], south: &[i32], weight: i32, heavy: bool) {
    for (column, (north, south)) in column.iter_mut().zip(north.iter().zip(south)) {
        *column = column
            .wrapping_add(part(*north, weight, heavy))
            .wrapping_add(part(*south, weight, heavy));
    }
}

/// Subtracts what three rows of gifts bring.
#[inline(always)]
fn spread_column(
    column: &mut [i32],
    [north, here, south]: [&[i32]; 3],
    of: impl Fn(i32, i32, i32) -> i32,
) {
    for (column, ((north, here), south)) in column.iter_mut().zip(north.iter().zip(here).zip(south))
    {
        *column = column.wrapping_sub(of(*north, *here, *south));
    }
}

/// Adds the columns `dx` to the west and to the east.
#[inline(always)]
fn beside(change: &mut [i32], column: &[i32], halo: usize, dx: usize) {
    let n = change.len();
    let sides = column[halo - dx..halo - dx + n].iter().zip(&column[halo + dx..halo + dx + n]);
    for (change, (west, east)) in change.iter_mut().zip(sides) {
        *change = change.wrapping_add(*west).wrapping_add(*east);
    }
}

/// The part of a gift `g` to a vertex that reaches the vertex at (dx, dy) from it. (The binomial
/// kernel has 8/64 and 8/128, which erase the ripple of two cells.)
#[inline(always)]
pub(super) fn spread(g: i32, dx: i32, dy: i32) -> i32 {
    let part = g.wrapping_mul(7);
    match (dx, dy) {
        (0, 0) => g.wrapping_sub((part >> 7) << 2).wrapping_sub((part >> 6) << 2),
        (0, _) | (_, 0) => part >> 6,
        _ => part >> 7,
    }
}
