//! `settle`: what was granted changes the ground, through the brush and the spread, as far as there
//! is room. The rest is carried.

mod few;
mod ground;
mod rows;

use super::{MOVED_WORDS, Params};
use crate::arith::mul_q16;
use crate::plan::{Call, Kernel, Touched};
use few::settle_few;
use ground::Ground;
use multiversion::multiversion;
use rows::{Lines, settle_rows, spread};
use std::cell::RefCell;
use std::ops::Range;

/// Applies what was granted. Afterwards `height` and `next`, and `carry` and `carried`, exchange
/// their names.
pub static SETTLE: Kernel = Kernel {
    entry: "settle",
    reads: &["moved", "brush", "height", "carry", "ledger"],
    owns: &[("next", 1), ("carried", 1)],
    adds: &["spilled"],
    cpu: settle,
};

/// Lines are a multiple of this many words: a few vector registers.
const LANES: usize = 64;
/// Rows that `settle` does at a time, so that what was taken and given there stays in the nearest
/// caches.
const ROWS: usize = 16;

/// The part of its carry that a vertex passes on to each of its eight neighbours. Division cuts
/// towards zero, so what is not a multiple of 8 stays.
#[inline(always)]
fn share(carry: i32) -> i32 {
    carry / 8
}

/// The loose sediment on a vertex now: the ledger's thickness, and the change of height since its
/// last entry.
#[inline(always)]
pub fn loose(height: i32, record: &[i32]) -> i32 {
    record[1].wrapping_add(height.wrapping_sub(record[0])).max(0)
}

fn settle(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let &[moved, brush, height, carry, ledger] = call.reads else { return };
    let [next, carried] = call.owns else { return };
    let ground = Ground { p, height, carry, ledger, spilled: call.adds[0], calm: call.calm };
    WORK.with_borrow_mut(|(known, lines)| {
        let brush = match known {
            Some(known) if known.is_of(p, brush) => &*known,
            _ => known.insert(Brush::new(p, brush)),
        };
        settle_portion(&ground, first, [next, carried], moved, brush, call.touched[0], lines);
    });
}

thread_local! {
    /// A call can be for a few rows, which are too little work to prepare the brush and to allocate
    /// memory for.
    static WORK: RefCell<(Option<Brush>, Lines)> = RefCell::default();
}

fn settle_portion(
    ground: &Ground,
    first: usize,
    [next, carried]: [&mut [i32]; 2],
    moved: &[i32],
    brush: &Brush,
    touched: Touched,
    lines: &mut Lines,
) {
    let p = ground.p;
    let w = p.width as usize;
    for (i, (next, carried)) in
        next.chunks_mut(4 * ROWS * w).zip(carried.chunks_mut(4 * ROWS * w)).enumerate()
    {
        let first = first + i * 4 * ROWS;
        let rows = first.saturating_sub(halo(p))
            ..(first + next.len() / w + halo(p)).min(p.height as usize);
        // How many of their vertices are stirred. A row in four is enough to tell.
        let (all, some) = (rows.len(), rows.step_by(4));
        let counted = some.len();
        let spans = some.flat_map(|y| touched.within(y * w..(y + 1) * w, MOVED_WORDS));
        let count: usize = spans
            .map(|span| count_stirred(&moved[span.start * MOVED_WORDS..span.end * MOVED_WORDS]))
            .sum();
        let count = count * all / counted;
        // Measured on whole runs, where caches are full of other things: going from a vertex to the
        // cells is worth it where few are stirred, one in ten with the default brush.
        if count * (100 + 3 * brush.padded.len() / VECTOR) < next.len() * (1 + brush.taps * 3 / 10)
        {
            settle_few(ground, first, [next, carried], moved, brush, touched, lines);
        } else {
            let rows = next.chunks_mut(ROWS * w).zip(carried.chunks_mut(ROWS * w));
            for (i, (next, carried)) in rows.enumerate() {
                settle_rows(ground, first + i * ROWS, [next, carried], moved, brush, lines);
            }
        }
    }
}

/// Rows and columns round a cell that `settle` looks at.
fn halo(p: &Params) -> usize {
    p.radius.max(1) as usize
}

/// The brush, ready for use.
struct Brush {
    /// Its taps to each side, and its table.
    of: (i32, Vec<i32>),
    /// How many weights are not 0.
    taps: usize,
    /// The weights, 2⁻¹⁶, and how often each occurs: the brush is the same in eight directions.
    kinds: Vec<(i32, i32)>,
    /// For each column from the centre to the rim: rows below the centre, and their weights. The
    /// brush is symmetric both ways.
    columns: Vec<Vec<(isize, i32)>>,
    /// The largest weight.
    heaviest: u64,
    /// The weights as a square of side 2 · halo + 1. Zeros fill rows up to `wide` words, which are
    /// whole vectors.
    padded: Vec<i32>,
    /// What [`spread`] gives to other vertices, in the same form.
    spread: Vec<i32>,
    /// Words of a row of the squares.
    wide: usize,
}

impl Brush {
    fn is_of(&self, p: &Params, weights: &[i32]) -> bool {
        self.of.0 == p.radius && self.of.1 == weights
    }

    fn new(p: &Params, weights: &[i32]) -> Self {
        let side = 2 * p.radius as usize + 1;
        let (halo, reach) = (halo(p), side / 2);
        let weight = |dx: usize, dy: usize| {
            if dx.max(dy) > reach { 0 } else { weights[(reach + dy) * side + reach + dx] }
        };
        let across = 2 * halo + 1;
        let wide = across.next_multiple_of(VECTOR);
        let square = |of: &dyn Fn(usize, usize) -> i32| -> Vec<i32> {
            let cell = |i: usize| {
                if i % wide < across {
                    of((i % wide).abs_diff(halo), (i / wide).abs_diff(halo))
                } else {
                    0
                }
            };
            (0..across * wide).map(cell).collect()
        };
        // One for each cell of an octant.
        let octant = (1..=reach).flat_map(|x| (0..=x).map(move |y| (x, y)));
        let kinds = octant
            // Four cells lie alike on an axis or a diagonal, eight elsewhere.
            .map(|(x, y)| (weight(x, y), if y == 0 || y == x { 4 } else { 8 }))
            .filter(|kind| kind.0 != 0)
            .collect();
        Self {
            of: (p.radius, weights.to_vec()),
            taps: weights.iter().filter(|w| **w != 0).count(),
            heaviest: weights.iter().copied().max().unwrap_or(0) as u64,
            kinds,
            columns: (0..=halo)
                .map(|dx| {
                    (0..=halo)
                        .map(|dy| (dy as isize, weight(dx, dy)))
                        .filter(|tap| tap.1 != 0)
                        .collect()
                })
                .collect(),
            padded: square(&weight),
            // 7/64 and 7/128, in 2⁻¹⁶.
            spread: square(&|dx, dy| [[0, 7168, 0], [7168, 3584, 0], [0; 3]][dy.min(2)][dx.min(2)]),
            wide,
        }
    }

    /// Adds to `change` what other vertices gain and lose when this vertex takes and gives: `rows`
    /// of the brush, the first at the start of `change`, each next one a `line` further.
    #[inline(always)]
    fn stroke(&self, change: &mut [i32], line: usize, rows: Range<usize>, take: i32, give: i32) {
        // Products fit 32 bits then: a share has 13 bits.
        let light =
            (take.unsigned_abs() as u64 * self.heaviest) < 1 << 31 && give.unsigned_abs() < 1 << 17;
        let rows = rows.start * self.wide..rows.end * self.wide;
        let rows = self.padded[rows.clone()]
            .chunks_exact(self.wide)
            .zip(self.spread[rows].chunks_exact(self.wide));
        for (j, (weights, shares)) in rows.enumerate() {
            let change = change[j * line..][..self.wide].as_chunks_mut().0;
            for ((change, weights), shares) in
                change.iter_mut().zip(weights.as_chunks().0).zip(shares.as_chunks().0)
            {
                if light {
                    stroke(change, weights, shares, take, give);
                } else {
                    for ((change, weight), share) in change.iter_mut().zip(weights).zip(shares) {
                        let part = mul_q16(give, *share as u32)
                            .wrapping_sub(mul_q16(take, *weight as u32));
                        *change = change.wrapping_add(part);
                    }
                }
            }
        }
    }

    /// What the vertex itself loses.
    #[inline(always)]
    fn rest(&self, take: i32, give: i32) -> i32 {
        let parts = self
            .kinds
            .iter()
            .map(|&(weight, count)| mul_q16(take, weight as u32).wrapping_mul(count));
        parts.fold(take, i32::wrapping_sub).wrapping_sub(spread(give, 0, 0))
    }
}

/// One vector of a row of a stroke.
#[inline(always)]
fn stroke(
    own: &mut [i32; VECTOR],
    weights: &[i32; VECTOR],
    shares: &[i32; VECTOR],
    take: i32,
    give: i32,
) {
    let change = |l: usize| {
        (give.wrapping_mul(shares[l]) >> 16).wrapping_sub(take.wrapping_mul(weights[l]) >> 16)
    };
    let change: [i32; VECTOR] = std::array::from_fn(change);
    *own = std::array::from_fn(|l| own[l].wrapping_add(change[l]));
}

/// Rows of the brush are a multiple of this many words.
const VECTOR: usize = 8;

/// How many records of `moved` are not 0.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn count_stirred(moved: &[i32]) -> usize {
    moved.chunks_exact(MOVED_WORDS).map(|pair| (pair[0] | pair[1] != 0) as u32).sum::<u32>()
        as usize
}
