//! The arithmetic that both executors share: fixed point, rounding, hashing. Twin of
//! `shaders/arith.wgsl`.
//!
//! Everything here is wrapping integer arithmetic, which WGSL defines alike on every device. Floats
//! occur twice, as the first guess of a quotient and of a root, and integer steps then make the
//! guess exact.
//!
//! | quantity | form | range |
//! |---|---|---|
//! | height | `i32`, 2¹⁸ units a cell | ±8192 cells |
//! | slope, proposal | `i32`, 2¹⁶ a cell | slopes are clamped to ±64 |
//! | position | `i32`, 2¹⁶ a cell | 0 to 32767 cells |
//! | heading | two `i16`, 2¹⁴ = 1 | a unit vector |
//! | fraction | `u32`, 2¹⁶ = 1 | 0 to 1, both included |

use crate::twin::constants;

constants! {
    pub(crate) const WGSL: &str;

    /// Fraction bits of a height: one cell (one grid spacing) of rise is `1 << HEIGHT_BITS` units.
    pub const HEIGHT_BITS: u32 = 18;
    /// One cell of height, in units.
    pub const CELL: i32 = 1 << HEIGHT_BITS;
    /// The steepest slope that kernels distinguish: 64 cells a cell (89.1°), in 2⁻¹⁶.
    pub const SLOPE_MAX: i32 = 64 << 16;
    /// Words of a cell in the ledger; see [`crate::stage::layer`].
    pub const LEDGER_WORDS: usize = 4;
    /// No height is above this, or below its negative: 8191 cells, the end of the range less a
    /// cell.
    pub const HEIGHT_END: i32 = 2147221504;
    /// Thickest sediment, in height units: 4000 cells.
    pub const THICKEST: i32 = 1048576000;
    /// In the word of a place or of an offset: there is none.
    pub const NOWHERE: i32 = -2147483648;
}

/// A height within ±[`HEIGHT_END`].
#[inline(always)]
pub fn height_within(height: i32) -> i32 {
    height.clamp(-HEIGHT_END, HEIGHT_END)
}

/// floor(a · b / 2¹⁶) for b in 0..=65536, without 64-bit integers.
#[inline(always)]
pub fn mul_q16(a: i32, b: u32) -> i32 {
    // 65535 · 65536 is below 2³². The upper half of a has the sign.
    let low = ((a & 0xffff) as u32).wrapping_mul(b) >> 16;
    (a >> 16).wrapping_mul(b as i32).wrapping_add(low as i32)
}

/// a · b / 2¹⁶ to the nearest integer (a half goes up), for b in 0..=65536.
#[inline(always)]
pub fn mul_q16_near(a: i32, b: u32) -> i32 {
    // 65535 · 65536 + 2¹⁵ is below 2³², too.
    let low = ((a & 0xffff) as u32).wrapping_mul(b).wrapping_add(0x8000) >> 16;
    (a >> 16).wrapping_mul(b as i32).wrapping_add(low as i32)
}

/// a · v / 2²⁸ for a of 31 bits and v in 0..=2²⁸, rounded down twice.
#[inline(always)]
pub fn mul_q28(a: i32, v: i32) -> i32 {
    mul_q16(a, (v >> 12) as u32).wrapping_add(mul_q16(a, (v & 0xfff) as u32) >> 12)
}

/// a + (b − a) · f to the nearest integer, f in 0..=65536 standing for 0 to 1. The difference must
/// fit an `i32`.
#[inline(always)]
pub fn lerp(a: i32, b: i32, f: u32) -> i32 {
    a.wrapping_add(mul_q16_near(b.wrapping_sub(a), f))
}

/// The integer nearest to `x`, for x in 0..2²²: 2²³ + x holds it in its low bits. In vector
/// registers this addition is cheaper than a conversion, which has to handle NaN.
#[inline(always)]
fn nearest(x: f32) -> u32 {
    (x + 8_388_608.0).to_bits() & 0x7f_ffff
}

/// floor(n / d) for d > 0 where the quotient is at most 65536.
#[inline(always)]
pub fn div_small(n: u32, d: u32) -> u32 {
    // Both conversions and the quotient are accurate to a few parts in 2²⁴, so the guess is off by
    // at most one.
    let guess = nearest(n as i32 as f32 / d as i32 as f32);
    let rest = n.wrapping_sub(guess.wrapping_mul(d)) as i32;
    let guess = if rest < 0 { guess.wrapping_sub(1) } else { guess };
    if rest >= d as i32 { guess.wrapping_add(1) } else { guess }
}

/// floor(√n) for n up to 2³¹ − 1.
#[inline(always)]
pub fn isqrt(n: u32) -> u32 {
    let guess = nearest((n as i32 as f32).sqrt());
    let guess = if guess.wrapping_mul(guess) > n { guess.wrapping_sub(1) } else { guess };
    // A root has 16 bits, so the square of the next number fits 32.
    let next = guess.wrapping_add(1);
    if next.wrapping_mul(next) <= n { next } else { guess }
}

/// floor(log₂ n) for n in 1..2²⁴; 0 for n = 0.
#[inline(always)]
pub fn log2(n: u32) -> u32 {
    // Integers below 2²⁴ are exact as floats, and the exponent of a float is the logarithm.
    // (Counting leading zeros gives the same, but not in vector registers.)
    ((((n | 1) as i32 as f32).to_bits() >> 23) & 0xff).wrapping_sub(127)
}

/// The unit vector along (x, y), each component cut towards zero to 2⁻¹⁴; |x| and |y| below 2²⁴,
/// not both 0.
#[inline(always)]
pub fn unit(x: i32, y: i32) -> [i32; 2] {
    let (ax, ay) = (x.wrapping_abs() as u32, y.wrapping_abs() as u32);
    // Shift so that the longer component has fifteen bits. Small slopes then keep their direction,
    // and steep ones do not overflow.
    let top = log2(ax.max(ay));
    let up = 14u32.saturating_sub(top);
    let down = top.saturating_sub(14);
    let (sx, sy) = ((ax << (up & 31)) >> (down & 31), (ay << (up & 31)) >> (down & 31));
    // Two squares of 15 bits have 31.
    let length = isqrt(sx.wrapping_mul(sx).wrapping_add(sy.wrapping_mul(sy)));
    let (ux, uy) = (div_small(sx << 14, length) as i32, div_small(sy << 14, length) as i32);
    [if x < 0 { -ux } else { ux }, if y < 0 { -uy } else { uy }]
}

/// A bijection of 32-bit integers in which every input bit reaches every output bit.
///
/// The shifts and multipliers are the "lowbias32" of C. Wellons, *Prospecting for Hash
/// Functions*, 2018.
#[inline(always)]
pub fn mix(n: u32) -> u32 {
    let n = (n ^ (n >> 16)).wrapping_mul(0x7feb_352d);
    let n = (n ^ (n >> 15)).wrapping_mul(0x846c_a68b);
    n ^ (n >> 16)
}

/// A random word for a place of the world. It depends on key and place alone.
#[inline(always)]
pub fn hash(key: [u32; 2], x: u32, y: u32) -> u32 {
    mix(mix(x ^ key[0]).wrapping_add(y) ^ key[1])
}

/// Value noise in a square of a lattice, 0 to 65535: the hashes of its corners, with straight lines
/// between them. The corner of least coordinates is (x, y); `fx` and `fy` say how far the place is
/// from it, 2⁻¹⁶, after any smoothing.
#[inline(always)]
pub fn value_noise(key: [u32; 2], x: u32, y: u32, fx: u32, fy: u32) -> i32 {
    let corner =
        |dx: u32, dy: u32| (hash(key, x.wrapping_add(dx), y.wrapping_add(dy)) >> 16) as i32;
    lerp(lerp(corner(0, 0), corner(1, 0), fx), lerp(corner(0, 1), corner(1, 1), fx), fy)
}

/// The hash key of a purpose under a seed: 64 mixed bits of both. The steps are those of SplitMix64
/// (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, 2014).
pub fn key(seed: u64, purpose: u32) -> [u32; 2] {
    let mut z = seed.wrapping_add((purpose as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    [z as u32, (z >> 32) as u32]
}

/// A seed derived from another, one for each purpose.
pub fn seed(seed: u64, purpose: u32) -> u64 {
    let [low, high] = key(seed, purpose);
    (high as u64) << 32 | low as u64
}

/// The index for `i` on an axis of `n` cells: mirrored at the borders (… 1 0 | 0 1 2 … n−1 | n−1 …)
/// or wrapped round the torus. `i` can be outside by any distance.
#[inline(always)]
pub fn fold(i: i32, n: i32, torus: bool) -> i32 {
    if (0..n).contains(&i) {
        i
    } else if torus {
        i.rem_euclid(n)
    } else {
        // With its mirror image an axis repeats after 2n cells.
        let m = i.rem_euclid(2 * n);
        if m < n { m } else { 2 * n - 1 - m }
    }
}
