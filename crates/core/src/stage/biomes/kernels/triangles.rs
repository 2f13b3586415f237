//! Noise on triangles.

use super::super::GRADIENTS;
use crate::arith::{hash, mul_q16_near};

/// Noise on triangles at a cell of the recipe, in the coordinates of points: −65536 to 65536.
#[inline(always)]
pub(super) fn noise(wave: &[i32], gradients: &[i32], x: i32, y: i32) -> i32 {
    let key = [wave[0] as u32, wave[1] as u32];
    let [along, across] = [wave[2] as u32 as u64, wave[3] as u32 as u64];
    let start = |n: usize| wave[n] as u32 as u64 | (wave[n + 1] as u32 as u64) << 32;
    let (x, y) = (x as u32 as u64, y as u32 as u64);
    // Skewed coordinates, 2⁻³²: the rhombus and the place in it.
    let u = start(4).wrapping_add(x * along).wrapping_add(y * across);
    let v = start(6).wrapping_add(y * along).wrapping_add(x * across);
    let (i, j) = ((u >> 32) as u32, (v >> 32) as u32);
    let (fu, fv) = ((u as u32 >> 16) as i32, (v as u32 >> 16) as i32);
    let mut sum = 0i32;
    for corner in 0..4 {
        let (a, b) = (corner & 1, corner >> 1);
        let (du, dv) = (fu - (a << 16), fv - (b << 16));
        // Skewed back, 2⁻¹⁴: (3 − √3)/6 is 13849 in 2⁻¹⁶.
        let back = ((du + dv) * 13849) >> 16;
        let (dx, dy) = ((du - back) >> 2, (dv - back) >> 2);
        // ½ less the square of the distance, in 2⁻²⁸. Less 12 bits it is at most 2¹⁵, so its square
        // fits.
        let near = (1 << 27) - dx * dx - dy * dy;
        if near > 0 {
            let t = near >> 12;
            let t2 = (t * t) >> 15;
            let t4 = (t2 * t2) >> 15;
            let at = (((hash(key, i.wrapping_add(a as u32), j.wrapping_add(b as u32)) >> 16)
                * GRADIENTS as u32)
                >> 16) as usize
                * 2;
            sum += t4 * ((gradients[at] * dx + gradients[at + 1] * dy) >> 14);
        }
    }
    // The factor 6.24 scales the extremes to 1.
    (((sum >> 12) * 25558) >> 13).clamp(-65536, 65536)
}

/// a · n / 2¹⁶ for n of −65536 to 65536.
#[inline(always)]
pub(super) fn times(a: i32, n: i32) -> i32 {
    let product = mul_q16_near(a, n.unsigned_abs());
    if n < 0 { -product } else { product }
}
