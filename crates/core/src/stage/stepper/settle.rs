//! `settle`: what was granted changes the ground, through the brush and the spread, as far as there
//! is room. The rest is carried.

mod rows;

use super::params::{LAST, SAND};
use super::particle::book;
use super::room::{change, overruns, room, room_of_sand};
use super::{MOVED_WORDS, OPEN, PART, Params, TORUS};
use crate::arith::{LEDGER_WORDS, fold, mul_q16};
use crate::plan::{Adder, Call, Kernel, Touched};
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
    let ground = Ground { p, height, carry, ledger, spilled: call.adds[0] };
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

/// Records that [`occupied`] tests together.
const SOME: usize = 16;

/// Calls `each` for the records of `EACH` words whose first two words are not both 0.
#[inline(always)]
pub(super) fn occupied<const EACH: usize>(
    words: &[i32],
    records: Range<usize>,
    mut each: impl FnMut(usize),
) {
    for first in records.clone().step_by(SOME) {
        let some = &words[first * EACH..(first + SOME).min(records.end) * EACH];
        let mut mask = 0u32;
        for (i, record) in some.chunks_exact(EACH).enumerate() {
            mask |= ((record[0] | record[1] != 0) as u32) << i;
        }
        while mask != 0 {
            each(first + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    }
}

/// What a vertex reads of the ground, and where a rim puts what it cannot hold.
struct Ground<'a> {
    p: &'a Params,
    height: &'a [i32],
    carry: &'a [i32],
    ledger: &'a [i32],
    spilled: Adder<'a>,
}

impl Ground<'_> {
    /// The rows north of row `y`, at it, and south of it.
    #[inline(always)]
    fn rows<'a>(&self, words: &'a [i32], y: usize) -> [&'a [i32]; 3] {
        let w = self.p.width as usize;
        [-1, 0, 1].map(|dy| {
            &words[fold(y as i32 + dy, self.p.height, self.p.border == TORUS) as usize * w..][..w]
        })
    }

    /// Overruns go behind what the rim spills.
    #[inline(always)]
    fn count_overruns(&self, count: usize) {
        if count > 0 {
            self.spilled.add::<false>(4 * (self.p.width + self.p.height) as usize, count as i32);
        }
    }

    /// Changes row `y` by what `wish` says and by what is carried there, as far as there is room.
    fn change_row(
        &self,
        y: usize,
        wish: Option<&[i32]>,
        [next, carried]: [&mut [i32]; 2],
        columns: &mut Columns,
    ) {
        let p = self.p;
        let (w, torus) = (p.width as usize, p.border == TORUS);
        let (heights, carry) = (self.rows(self.height, y), self.rows(self.carry, y));
        if wish.is_none() && is_at_rest(carry) {
            // This row carries nothing, and nothing comes to it.
            next.copy_from_slice(heights[1]);
            carried.fill(0);
            return;
        }
        let wish = match wish {
            Some(wish) => wish,
            None => {
                columns.nothing.resize(w, 0);
                &columns.nothing
            }
        };
        let [low, high, passed] = &mut columns.three;
        for column in [&mut *low, &mut *high, &mut *passed] {
            column.resize(w + 2, 0);
        }
        gather_columns(heights, carry, &mut low[1..=w], &mut high[1..=w], &mut passed[1..=w]);
        // Words 0 and w + 1 are beyond the borders. They are those across on the torus, else those
        // at the border itself.
        let (west, east) = if torus { (w, 1) } else { (1, w) };
        for column in [&mut *low, &mut *high, &mut *passed] {
            (column[0], column[w + 1]) = (column[west], column[east]);
        }
        let columns = [&**low, &**high, &**passed];
        if p.flags & SAND != 0 {
            for x in 0..w {
                // Loose sediment has a room of its own, whatever its neighbours are.
                let sand = room_of_sand(
                    heights[1][x],
                    loose(heights[1][x], &self.ledger[(y * w + x) * LEDGER_WORDS..]),
                );
                let wish = wished(wish[x], carry[1][x], passed, x);
                self.count_overruns(overruns(wish) as usize);
                let change = if p.flags & LAST != 0 {
                    change::<true>(p, wish, heights[1][x], sand)
                } else {
                    change::<false>(p, wish, heights[1][x], sand)
                };
                (next[x], carried[x]) =
                    (heights[1][x].wrapping_add(change), wish.wrapping_sub(change));
            }
            self.close(y, carried);
            return;
        }
        let change = if p.flags & LAST != 0 { change_cells::<true> } else { change_cells_before };
        let overruns = change(
            *p,
            Vertices { wish, here: heights[1], carry: carry[1], columns },
            [&mut *next, &mut *carried],
            false,
        );
        self.count_overruns(overruns);
        if p.border == OPEN {
            // The rim is done again, since it does not rise. Its overruns have been counted.
            let whole = y == 0 || y == p.height as usize - 1;
            for x in (0..w).step_by(if whole { 1 } else { w - 1 }) {
                let columns = columns.map(|column| &column[x..x + 3]);
                let vertex = Vertices {
                    wish: &wish[x..=x],
                    here: &heights[1][x..=x],
                    carry: &carry[1][x..=x],
                    columns,
                };
                change(*p, vertex, [&mut next[x..=x], &mut carried[x..=x]], true);
                carried[x] = spill(self, x, y, carried[x]);
            }
        }
        self.close(y, carried);
    }

    /// In the last step, what row `y` still carries is lost.
    fn close(&self, y: usize, carried: &mut [i32]) {
        if self.p.flags & LAST == 0 {
            return;
        }
        let w = self.p.width as u32;
        let first = 4 * (self.p.width + self.p.height) as usize + 1;
        for (x, rest) in carried.iter_mut().enumerate().filter(|(_, rest)| **rest != 0) {
            let place = y * w.div_ceil(PART) as usize + x / PART as usize;
            book::<false>(self.spilled, first + 2 * place, *rest);
            *rest = 0;
        }
    }
}

/// Scratch memory of [`Ground::change_row`].
#[derive(Default)]
struct Columns {
    /// The lowest and highest of three vertices in each column and the sum of what they pass on,
    /// with one more column on each side.
    three: [Vec<i32>; 3],
    /// A row without wishes.
    nothing: Vec<i32>,
}

/// Whether nothing that is carried in a row or next to it moves: less than 8 does not leave its
/// vertex.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn is_at_rest([north, here, south]: [&[i32]; 3]) -> bool {
    let mut moves = 0;
    for ((n, c), s) in north.iter().zip(here).zip(south) {
        moves |= c | share(*n) | share(*s);
    }
    moves == 0
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn gather_columns(
    [n, c, s]: [&[i32]; 3],
    carry: [&[i32]; 3],
    low: &mut [i32],
    high: &mut [i32],
    passed: &mut [i32],
) {
    let w = low.len();
    let (n, c, s, [north, here, south]) = (&n[..w], &c[..w], &s[..w], carry.map(|row| &row[..w]));
    let (high, passed) = (&mut high[..w], &mut passed[..w]);
    for x in 0..w {
        low[x] = n[x].min(c[x]).min(s[x]);
        high[x] = n[x].max(c[x]).max(s[x]);
        passed[x] = share(north[x]).wrapping_add(share(here[x])).wrapping_add(share(south[x]));
    }
}

/// What a vertex is to change by in all: what is moved there, what it carries, and what its
/// neighbours pass on.
#[inline(always)]
fn wished(wish: i32, carry: i32, passed: &[i32], x: usize) -> i32 {
    let brought = passed[x].wrapping_add(passed[x + 1]).wrapping_add(passed[x + 2]);
    // Eight shares are passed on, and the ninth is the vertex's own, which is among what is
    // brought.
    wish.wrapping_add(carry).wrapping_add(brought).wrapping_sub(share(carry).wrapping_mul(9))
}

/// Some vertices of a row: what is moved there, their heights, what they carry. The columns begin
/// one before them and end one after.
#[derive(Clone, Copy)]
struct Vertices<'a> {
    wish: &'a [i32],
    here: &'a [i32],
    carry: &'a [i32],
    columns: [&'a [i32]; 3],
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn change_cells_before(p: Params, vertices: Vertices, out: [&mut [i32]; 2], rim: bool) -> usize {
    change_cells::<false>(p, vertices, out, rim)
}

/// Changes some vertices of a row: their heights and what they carry. Returns how many wishes are
/// overruns.
#[inline(always)]
fn change_cells<const LAST: bool>(
    p: Params,
    vertices: Vertices,
    [next, carried]: [&mut [i32]; 2],
    rim: bool,
) -> usize {
    let Vertices { wish, here, carry, columns: [low, high, passed] } = vertices;
    let n = next.len();
    let (wish, here, carry, carried) = (&wish[..n], &here[..n], &carry[..n], &mut carried[..n]);
    let (low, high, passed) = (&low[..n + 2], &high[..n + 2], &passed[..n + 2]);
    let mut over = 0;
    for x in 0..n {
        let wish = wished(wish[x], carry[x], passed, x);
        let lowest = low[x].min(low[x + 1]).min(low[x + 2]);
        let highest = high[x].max(high[x + 1]).max(high[x + 2]);
        let change = change::<LAST>(&p, wish, here[x], room(&p, here[x], lowest, highest, rim));
        next[x] = here[x].wrapping_add(change);
        carried[x] = wish.wrapping_sub(change);
        over += overruns(wish) as u32;
    }
    over as usize
}

/// What a rim cannot hold leaves the map. Returns what stays in its carry.
#[inline(always)]
fn spill(ground: &Ground, x: usize, y: usize, carry: i32) -> i32 {
    // What would lower the rim stays in its carry.
    if carry <= 0 {
        return carry;
    }
    let (w, h) = (ground.p.width as usize, ground.p.height as usize);
    let place = match (x, y) {
        (_, 0) => x,
        (_, y) if y == h - 1 => w + x,
        (0, _) => 2 * w + y,
        _ => 2 * w + h + y,
    };
    // Atomic, since another thread can spill into the same block.
    book::<false>(ground.spilled, 2 * place, carry);
    0
}

/// The same as [`settle_rows`] where little was moved: goes from each vertex to the cells that it
/// changes.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn settle_few(
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
    let count = next.len() / w;
    // The wishes, with columns beyond the borders, so that no vertex is a special case.
    // A row of the brush is filled up to whole vectors, so it needs room for one more.
    let line = w + 2 * halo + VECTOR;
    let Lines { change, stirred, columns, .. } = lines;
    change.clear();
    change.resize(count * line, 0);
    stirred.clear();
    stirred.resize(count, false);
    for k in 0..count + 2 * halo {
        let y = first as i32 + k as i32 - halo as i32;
        let real = fold(y, p.height, torus);
        let start = real as usize * w;
        // The rows of the brush that meet our rows.
        let rows = (2 * halo).saturating_sub(k)..(2 * halo + 1).min(count + 2 * halo - k);
        let top = k + rows.start - 2 * halo;
        let mut any = false;
        for span in touched.within(start..start + w, MOVED_WORDS) {
            occupied::<MOVED_WORDS>(moved, span, |i| {
                let (x, take, give) =
                    (i - start, moved[i * MOVED_WORDS], moved[i * MOVED_WORDS + 1]);
                brush.stroke(&mut change[top * line + x..], line, rows.clone(), take, give);
                if real == y && rows.contains(&halo) {
                    let own = &mut change[(k - halo) * line + halo + x];
                    *own = own.wrapping_sub(brush.rest(take, give));
                }
                any = true;
            });
        }
        if any {
            stirred[top..top + rows.len()].fill(true);
        }
    }
    let rows = next
        .chunks_exact_mut(w)
        .zip(carried.chunks_exact_mut(w))
        .zip(change.chunks_exact_mut(line).zip(&*stirred));
    for (i, ((next, carried), (change, stirred))) in rows.enumerate() {
        // What fell beyond the west and the east is folded back. Rows were folded when they were
        // read.
        for i in 0..if *stirred { halo } else { 0 } {
            for (x, beyond) in [(i as i32 - halo as i32, i), ((w + i) as i32, halo + w + i)] {
                let at = halo + fold(x, p.width, torus) as usize;
                change[at] = change[at].wrapping_add(change[beyond]);
            }
        }
        ground.change_row(
            first + i,
            stirred.then_some(&change[halo..halo + w]),
            [next, carried],
            columns,
        );
    }
}
