//! The kernels, twins of `shaders/diamond_square.wgsl`.

use super::{DIAMOND_SQUARE, MIDPOINT, MUL, ONE, PAIR, Params, SKYLINE};
use crate::arith::{hash, mul_q16, mul_q28};
use crate::plan::{Call, Kernel};
use multiversion::multiversion;

pub(super) static START: Kernel =
    Kernel { entry: "start", reads: &[], owns: &[("height", 1)], adds: &[], cpu: start };

pub(super) static REFINE: Kernel =
    Kernel { entry: "refine", reads: &["coarse"], owns: &[("height", 1)], adds: &[], cpu: refine };

pub(super) static SHAPE: Kernel =
    Kernel { entry: "shape", reads: &[], owns: &[("height", 1)], adds: &[], cpu: shape };

/// The remainder of a number of 33 bits by a prime. `wrap` is that of 2³².
#[inline(always)]
fn remainder(low: u32, high: u32, prime: u32, wrap: u32) -> u32 {
    let r = low % prime + high * wrap;
    // Below the prime the difference wraps, and is the larger of the two.
    r.min(r.wrapping_sub(prime))
}

/// The article's generator, 16 bits of it: repeated remainders of the coordinates by primes,
/// `rounds` times.
///
/// The article's numbers are doubles, which hold what has more than 32 bits. So the two have a 33rd
/// bit here: coordinates are below 2³², the seed below 2³¹, and 80 sums below 2²⁷.
#[inline(always)]
fn rand_from_pair(mut x: u32, mut y: u32, seed: u32, rounds: u32) -> u32 {
    let (mut sum, mut xh, mut yh) = (0, 0, 0);
    for _ in 0..rounds {
        let from_x =
            remainder(x, xh, 7, 4) + remainder(x, xh, 13, 9) + remainder(x, xh, 1_301_081, 98_915);
        let from_y = remainder(y, yh, 8461, 2937)
            + remainder(y, yh, 105_467, 34_655)
            + remainder(y, yh, 105_943, 38_076);
        sum = from_x + from_y;
        y = x.wrapping_add(seed);
        yh = xh + u32::from(y < x);
        x = x.wrapping_add(sum);
        xh += u32::from(x < sum);
    }
    // sum / 1520972 in 2⁻¹⁶, by long division since sum · 2¹⁶ has more than 32 bits.
    let (q, r) = ((sum << 11) / 1_520_972, (sum << 11) % 1_520_972);
    (q << 5) + (r << 5) / 1_520_972
}

/// The generator of a reader of the article, 16 bits of it: products of the coordinates.
#[inline(always)]
fn rand_by_products(x: u32, y: u32, seed: u32) -> u32 {
    let s = seed.wrapping_mul(1_972_854_929)
        ^ x.wrapping_mul(2_971_902_361)
        ^ y.wrapping_mul(3_572_953_751);
    s.wrapping_mul(0x6c07_8965) >> 15 & 0xffff
}

/// A random number of 16 bits for the point at local column `i` and row `j`.
#[inline(always)]
pub(super) fn random<const SOURCE: u32>(p: &Params, i: i32, j: i32) -> u32 {
    let x = p.origin[0].wrapping_add((i as u32).wrapping_mul(p.step)) & p.mask;
    let y = if p.mode == SKYLINE {
        0
    } else {
        p.origin[1].wrapping_add((j as u32).wrapping_mul(p.step)) & p.mask
    };
    match SOURCE {
        PAIR => rand_from_pair(x, y, p.key[0], p.rounds),
        MUL => rand_by_products(x, y, p.key[0]),
        _ => hash(p.key.to_array(), x, y) >> 16,
    }
}

#[inline(always)]
fn displace<const SOURCE: u32>(p: &Params, mean: i32, i: i32, j: i32) -> i32 {
    // (r − ½) times the amplitude.
    mean.wrapping_add(mul_q16(p.amplitude, random::<SOURCE>(p, i, j)))
        .wrapping_sub(p.amplitude >> 1)
        .clamp(0, ONE)
}

/// Whether the point is inside the world.
#[inline(always)]
pub(super) fn inside(p: &Params, i: i32, j: i32) -> bool {
    let x = (i >= p.inner_low[0]) & (i < p.inner_high[0]);
    let y = (j >= p.inner_low[1]) & (j < p.inner_high[1]);
    x & (y | (p.mode == SKYLINE))
}

pub(super) fn start(call: &mut Call) {
    let p: &Params = call.params();
    for (k, v) in call.owns[0].iter_mut().enumerate() {
        let at = (call.range.start + k as u32) as i32;
        let (i, j) = (at % p.width, at / p.width);
        let r = match p.random {
            PAIR => random::<PAIR>(p, i, j),
            MUL => random::<MUL>(p, i, j),
            _ => random::<0>(p, i, j),
        };
        // 16 bits of chance become a value in 2⁻²⁸.
        *v = if p.amplitude != 0 && inside(p, i, j) { (r as i32) << 12 } else { p.edge };
    }
}

pub(super) fn refine(call: &mut Call) {
    let p: &Params = call.params();
    let first = call.range.start as i32 / p.width;
    let refine = match (p.random, p.mode == SKYLINE) {
        (PAIR, false) => refine_rows::<PAIR>,
        (MUL, false) => refine_rows::<MUL>,
        (_, false) => refine_rows::<0>,
        (PAIR, true) => refine_skyline::<PAIR>,
        (MUL, true) => refine_skyline::<MUL>,
        (_, true) => refine_skyline::<0>,
    };
    refine(p, first, call.reads[0], call.owns[0]);
}

/// Rows of a lattice from the coarser one.
///
/// With u = i + odd, an even u = 2k is at the coarse column k + 1, and an odd one between k + 1 and
/// k + 2. The same holds for rows.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn refine_rows<const SOURCE: u32>(p: &Params, first: i32, coarse: &[i32], own: &mut [i32]) {
    let width = p.width as usize;
    let cw = p.coarse_width as usize;
    let odd = p.odd[0] as usize;
    // Pairs of an even and an odd u.
    let pairs = (width - 1 + odd) / 2 + 1;
    // The square centres of a row of odd v: entry k + 1 is between the coarse columns k + 1 and
    // k + 2. A row of centres serves the row of its own and those to both sides, so two are needed
    // at a time.
    let mut centres = [vec![0i32; pairs + 1], vec![0i32; pairs + 1]];
    // No row has this number, so the first one is made.
    let mut made = [i32::MIN; 2];
    let mut sides = vec![0i32; 2 * pairs];

    for (n, own) in own.chunks_exact_mut(width).enumerate() {
        let j = first + n as i32;
        let v = j + p.odd[1];
        let m = v >> 1;
        let row = |k: i32| &coarse[k as usize * cw..k as usize * cw + cw];
        let needed = if v & 1 == 1 { [m, m] } else { [m - 1, m] };
        if p.mode == DIAMOND_SQUARE || v & 1 == 1 {
            for m in needed {
                let slot = (m & 1) as usize;
                if made[slot] != m {
                    made[slot] = m;
                    let j = 2 * m + 1 - p.odd[1];
                    make_centres::<SOURCE>(p, j, [row(m + 1), row(m + 2)], &mut centres[slot]);
                }
            }
        }
        let centres = |m: i32| centres[(m & 1) as usize].as_slice();
        if v & 1 == 0 {
            make_even_row::<SOURCE>(p, j, row(m + 1), [centres(m - 1), centres(m)], &mut sides);
        } else {
            make_odd_row::<SOURCE>(p, j, [row(m + 1), row(m + 2)], centres(m), &mut sides);
        }
        own.copy_from_slice(&sides[odd..odd + width]);
    }
}

/// Rows of a skyline, which are all alike: the points of a line through the world, and displaced
/// means of two.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn refine_skyline<const SOURCE: u32>(p: &Params, first: i32, coarse: &[i32], own: &mut [i32]) {
    let cw = p.coarse_width as usize;
    for (j, own) in (first..).zip(own.chunks_exact_mut(p.width as usize)) {
        let m = (j + p.odd[1]) >> 1;
        let coarse = &coarse[(m + 1) as usize * cw..][..cw];
        for (i, own) in own.iter_mut().enumerate() {
            let u = i + p.odd[0] as usize;
            let k = u >> 1;
            *own = if u & 1 == 0 {
                coarse[k + 1]
            } else if inside(p, i as i32, j) {
                displace::<SOURCE>(p, (coarse[k + 1] + coarse[k + 2]) >> 1, i as i32, j)
            } else {
                p.edge
            };
        }
    }
}

/// The diamond step: the centres of the squares between two coarse rows, on row `j`.
#[inline(always)]
fn make_centres<const SOURCE: u32>(
    p: &Params,
    j: i32,
    [top, low]: [&[i32]; 2],
    centres: &mut [i32],
) {
    let n = centres.len() + 1;
    let (top, low) = (&top[..n], &low[..n]);
    // The column of the first.
    let first = -1 - p.odd[0];
    for (k, c) in centres.iter_mut().enumerate() {
        let i = first + 2 * k as i32;
        // Values are at most 2²⁸, so four of them fit a word.
        let mean = (top[k] + top[k + 1] + low[k] + low[k + 1]) >> 2;
        let moved = displace::<SOURCE>(p, mean, i, j);
        *c = if inside(p, i, j) { moved } else { p.edge };
    }
}

/// The square step on a row that the coarser lattice has: its points, and between two of them the
/// mean of these and of the centres to the north and south.
#[inline(always)]
fn make_even_row<const SOURCE: u32>(
    p: &Params,
    j: i32,
    coarse: &[i32],
    [north, south]: [&[i32]; 2],
    sides: &mut [i32],
) {
    let n = sides.len() / 2;
    let (coarse, north, south) = (&coarse[..n + 2], &north[..n + 1], &south[..n + 1]);
    // The column of the first: 1 − odd, which is 0 or 1. (As a difference it needs one vector
    // register more than there are, and AVX-512 takes half as long again.)
    let first = p.odd[0] ^ 1;
    for (k, side) in sides.chunks_exact_mut(2).enumerate() {
        let i = first + 2 * k as i32;
        let ends = coarse[k + 1] + coarse[k + 2];
        let moved = displace::<SOURCE>(p, (ends + north[k + 1] + south[k + 1]) >> 2, i, j);
        let moved = if p.mode == MIDPOINT { ends >> 1 } else { moved };
        side[0] = coarse[k + 1];
        side[1] = if inside(p, i, j) { moved } else { p.edge };
    }
}

/// The square step on a row between two coarse ones: the means of the points to the north and south
/// and of the centres to the west and east, and the centres.
#[inline(always)]
fn make_odd_row<const SOURCE: u32>(
    p: &Params,
    j: i32,
    [north, south]: [&[i32]; 2],
    centres: &[i32],
    sides: &mut [i32],
) {
    let n = sides.len() / 2;
    let (north, south, centres) = (&north[..n + 2], &south[..n + 2], &centres[..n + 1]);
    // The column of the first.
    let first = -p.odd[0];
    for (k, side) in sides.chunks_exact_mut(2).enumerate() {
        let i = first + 2 * k as i32;
        let ends = north[k + 1] + south[k + 1];
        let moved = displace::<SOURCE>(p, (ends + centres[k] + centres[k + 1]) >> 2, i, j);
        let moved = if p.mode == MIDPOINT { ends >> 1 } else { moved };
        side[0] = if inside(p, i, j) { moved } else { p.edge };
        side[1] = centres[k + 1];
    }
}

pub(super) fn shape(call: &mut Call) {
    let p: &Params = call.params();
    shape_cells(p, call.owns[0]);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn shape_cells(p: &Params, own: &mut [i32]) {
    for h in own {
        let v = h.wrapping_sub(p.low).clamp(0, p.range);
        // v is at most the range, of which the factor makes 2²⁸, so the product fits.
        let v = v.wrapping_mul(p.stretch).wrapping_add(mul_q16(v, p.stretch_fraction)).min(ONE);
        let v = if p.square == 1 { mul_q28(v, v) } else { v };
        *h = p.base.wrapping_add(mul_q28(p.relief, v));
    }
}
