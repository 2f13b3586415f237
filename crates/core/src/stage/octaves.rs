//! Fractal value noise on world coordinates, for the layers and strokes that ask for it. Twin of
//! `shaders/octaves.wgsl`.
//!
//! An octave takes random values on a lattice, with smoothstep between them. Each octave has half
//! the lattice spacing of the last and `gain` times its weight. The sum is 0 to 1, with the mean ½.

use crate::arith::{self, mul_q16, value_noise};
use crate::site::Site;
use crate::twin::constants;

constants! {
    const WGSL: &str;

    /// Words of an octave in the table: key (2), cells of its lattice, remainder (2) and number (2)
    /// of the first cell's lattice square, weight.
    pub const OCTAVE_WORDS: usize = 8;
}

/// The WGSL twin.
pub(super) const SHADER: &str = constcat::concat!(WGSL, include_str!("../../shaders/octaves.wgsl"));

/// Largest features, in vertices.
pub const FEATURE_MAX: i64 = 32768;

/// The table of octaves, of which the first has features whose size is in cells of the recipe's
/// lattice.
pub fn octaves(count: usize, gain: f64, feature: i64, seed: u64, site: &Site) -> Vec<i32> {
    let mut weights = vec![1.0];
    for _ in 1..count {
        weights.push(weights[weights.len() - 1] * gain);
    }
    let sum: f64 = weights.iter().sum();
    let mut words = Vec::with_capacity(count * OCTAVE_WORDS);
    for (n, weight) in weights.iter().enumerate() {
        let [step, parts] = site.stride();
        let size = (feature >> n).max(1) * parts;
        let [x, y] = site.window.origin.map(|o| o * step);
        let key = arith::key(seed, n as u32);
        let squares = [x.div_euclid(size), y.div_euclid(size)];
        words.extend([key[0] as i32, key[1] as i32, size as i32]);
        words.extend([x.rem_euclid(size) as i32, y.rem_euclid(size) as i32]);
        words.extend(squares.map(|s| s as i32));
        words.push((weight / sum * 65536.0) as i32);
    }
    words
}

/// Smoothstep of a fraction in 2⁻¹⁶.
#[inline(always)]
fn smooth(t: u32) -> u32 {
    let square = (t * t) >> 16;
    3 * square - 2 * ((square * t) >> 16)
}

/// Where a vertex lies on the lattice of an octave along an axis: the square, and how far into it,
/// 0 to 65535, by the smoothstep. `step`: cells of the recipe from one vertex to the next.
#[inline(always)]
fn place(octave: &[i32], axis: usize, step: i32, at: i32) -> [u32; 2] {
    let size = octave[2] as u32;
    let along = (at * step + octave[3 + axis]) as u32;
    let square = (octave[5 + axis] as u32).wrapping_add(along / size);
    [square, smooth(((along % size) << 16) / size)]
}

/// The noise of these octaves at a cell, 0 to 65535.
#[inline(always)]
pub fn noise(octaves: &[i32], step: i32, x: i32, y: i32) -> i32 {
    let mut sum = 0;
    for o in octaves.chunks_exact(OCTAVE_WORDS) {
        let key = [o[0] as u32, o[1] as u32];
        let ([cx, fx], [cy, fy]) = (place(o, 0, step, x), place(o, 1, step, y));
        sum += mul_q16(value_noise(key, cx, cy, fx, fy), o[7] as u32);
    }
    sum
}

/// The places of `width` columns on the lattice of each octave, for [`add_row`].
pub fn columns(octaves: &[i32], step: i32, width: i32) -> Vec<[u32; 2]> {
    octaves
        .chunks_exact(OCTAVE_WORDS)
        .flat_map(|octave| (0..width).map(|x| place(octave, 0, step, x)))
        .collect()
}

/// Adds the noise of these octaves to each cell of row `y`. Compilers make vectors of it, since
/// nothing is divided for a cell.
#[inline(always)]
pub fn add_row(octaves: &[i32], columns: &[[u32; 2]], step: i32, y: i32, sums: &mut [i32]) {
    let octaves = octaves.chunks_exact(OCTAVE_WORDS);
    for (o, columns) in octaves.zip(columns.chunks_exact(sums.len())) {
        let key = [o[0] as u32, o[1] as u32];
        let [cy, fy] = place(o, 1, step, y);
        for (sum, [cx, fx]) in sums.iter_mut().zip(columns) {
            *sum += mul_q16(value_noise(key, *cx, cy, *fx, fy), o[7] as u32);
        }
    }
}
