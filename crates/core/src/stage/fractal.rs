//! Octaves of noise on lattices of any spacing, for the generators that ask for them. Twin of
//! `shaders/fractal.wgsl`.
//!
//! The host says for each column and row of the window where it lies on the lattice of each octave:
//! the number of the lattice square, and how far into it, 2⁻²⁸, from whole numbers of 128 bits. So
//! a vertex has its place whatever the window, and kernels divide nothing. Each lattice is moved by
//! a random part of a square, so that no two have a point in common.
//!
//! A noise is 0 to 1 (2⁻²⁸) with the mean about ½:
//! - *value*: hashes of the lattice points, with the quintic 6t⁵ − 15t⁴ + 10t³ between them (K.
//!   Perlin, *Improving Noise*, 2002);
//! - *gradient*: ½ + 3/2 · the same curve between the slopes g · d of the four points, where g is
//!   random in a square of side 1 (K. Perlin, *An Image Synthesizer*, 1985);
//! - *cellular*: the distance to the nearest of points of which each lattice square has one,
//!   anywhere (S. Worley, *A Cellular Texture Basis Function*, 1996). Of the 25 squares round a
//!   place 21 are looked into. A point in one of the four corners is as far as any point of the
//!   place's own square, or farther, and so with the square beside that on the side of the corner:
//!   two others are as near;
//! - *borders*: by how much the second nearest is farther.

use crate::arith::{self, hash, isqrt, mul_q28};
use crate::site::Site;
use crate::twin::constants;
use std::ops::Range;

constants! {
    const WGSL: &str;

    /// Words of an octave: key (2), weight, and squares of its lattice in what the warp is measured
    /// in, 2⁻²⁰.
    pub const WAVE_WORDS: usize = 4;
    /// The value 1.
    pub const ONE: i32 = 1 << 28;
    /// The value ½.
    const HALF: i32 = 1 << 27;
    /// Value noise.
    pub const VALUE: u32 = 1;
    /// Cellular noise.
    pub const CELLULAR: u32 = 2;
    /// The borders of cells.
    pub const BORDERS: u32 = 3;
}

/// The WGSL twin.
pub(super) const SHADER: &str = constcat::concat!(WGSL, include_str!("../../shaders/fractal.wgsl"));

/// Octaves of one noise.
#[derive(Clone, Copy, Debug)]
pub struct Octaves {
    /// How many.
    pub count: usize,
    /// Spacing of the first lattice, cells of the recipe.
    pub feature: f64,
    /// By how much each is finer than the last.
    pub lacunarity: f64,
    /// Weight of an octave compared with the last.
    pub gain: f64,
}

impl Octaves {
    /// Spacings of the lattices.
    pub fn spacings(&self) -> impl Iterator<Item = f64> {
        let lacunarity = self.lacunarity;
        std::iter::successors(Some(self.feature), move |cells| Some(cells / lacunarity))
            .take(self.count)
    }

    /// Weights, whose sum is 1.
    fn weights(&self) -> Vec<f64> {
        let all: Vec<f64> =
            std::iter::successors(Some(1.0), |w| Some(w * self.gain)).take(self.count).collect();
        let sum: f64 = all.iter().sum();
        all.into_iter().map(|weight| weight / sum).collect()
    }
}

/// The tables that kernels look into: octaves, and the places of columns and rows.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// [`WAVE_WORDS`] for each octave.
    pub waves: Vec<i32>,
    /// For each octave two words for each column and then for each row: the square, and the part of
    /// it, 2⁻²⁸.
    pub places: Vec<i32>,
}

impl Tables {
    /// Adds octaves. `warp` is how many cells a displacement of 1 is; `purpose` tells their hashes
    /// from others under the seed.
    pub fn add(&mut self, octaves: &Octaves, warp: f64, purpose: u32, site: &Site) {
        for (n, (spacing, weight)) in octaves.spacings().zip(octaves.weights()).enumerate() {
            let key = arith::key(site.world.seed, (purpose << 8) + n as u32);
            let moved =
                [0, 1].map(|axis| f64::from(hash(key, axis, u32::MAX)) / 4_294_967_296.0 * spacing);
            self.waves.extend([key[0] as i32, key[1] as i32, (weight * ONE as f64) as i32]);
            self.waves.push((warp / spacing * (1 << 20) as f64).round() as i32);
            self.places.extend(places(site, spacing, moved));
        }
    }
}

/// Where the columns and rows of the window lie on a lattice of squares of `spacing` cells, which
/// is moved by that many cells.
pub fn places(site: &Site, spacing: f64, moved: [f64; 2]) -> Vec<i32> {
    const PART: i128 = 1 << 16;
    let exact = |cells: f64| (cells * PART as f64).round() as i128;
    let size = exact(spacing).max(1);
    let [step, parts] = site.stride().map(i128::from);
    let window = &site.window;
    let axis = |a: usize, count: u32| {
        let (first, moved) = (i128::from(window.origin[a]), exact(moved[a]));
        (0..i128::from(count)).flat_map(move |i| {
            let at = (first + i) * step * (PART / parts) + moved;
            [at.div_euclid(size) as i32, ((at.rem_euclid(size) << 28) / size) as i32]
        })
    };
    axis(0, window.width).chain(axis(1, window.height)).collect()
}

/// A place on a lattice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spot {
    /// The square.
    pub square: [i32; 2],
    /// How far into it, 2⁻²⁸.
    pub part: [i32; 2],
}

/// The place of a column and a row on the lattice of octave `n`.
#[inline(always)]
pub fn spot(places: &[i32], width: i32, height: i32, n: usize, x: i32, y: i32) -> Spot {
    let first = n * 2 * (width + height) as usize;
    let (column, row) = (first + 2 * x as usize, first + 2 * (width + y) as usize);
    Spot { square: [places[column], places[row]], part: [places[column + 1], places[row + 1]] }
}

/// The places of row `y` on the lattice of octave `n`.
#[inline(always)]
pub fn spots(places: &[i32], size: [i32; 2], n: usize, y: i32) -> impl Iterator<Item = Spot> {
    let [w, h] = size.map(|side| side as usize);
    let (first, row) = (n * 2 * (w + h), n * 2 * (w + h) + 2 * (w + y as usize));
    let (row, row_part) = (places[row], places[row + 1]);
    let (columns, ..) = places[first..first + 2 * w].as_chunks();
    columns
        .iter()
        .map(move |&[column, part]| Spot { square: [column, row], part: [part, row_part] })
}

/// A place moved by some squares, in 2⁻²⁰.
#[inline(always)]
pub fn moved(at: Spot, by: [i32; 2]) -> Spot {
    let axis = |a: usize| {
        let part = at.part[a].wrapping_add((by[a] & 0xf_ffff) << 8);
        (at.square[a].wrapping_add(by[a] >> 20).wrapping_add(part >> 28), part & (ONE - 1))
    };
    let (x, y) = (axis(0), axis(1));
    Spot { square: [x.0, y.0], part: [x.1, y.1] }
}

/// 6t⁵ − 15t⁴ + 10t³.
#[inline(always)]
pub fn quintic(t: i32) -> i32 {
    // The inner terms are up to 15, so they have 26 bits behind the point.
    let inner = ((t >> 2) * 6).wrapping_sub(15 << 26);
    let inner = mul_q28(inner, t).wrapping_add(10 << 26);
    (mul_q28(mul_q28(mul_q28(inner, t), t), t) << 2).clamp(0, ONE)
}

/// From a to b, at t of the way.
#[inline(always)]
pub fn between(a: i32, b: i32, t: i32) -> i32 {
    a.wrapping_add(mul_q28(b.wrapping_sub(a), t))
}

#[inline(always)]
fn word(key: [u32; 2], at: &Spot, dx: i32, dy: i32) -> u32 {
    hash(key, at.square[0].wrapping_add(dx) as u32, at.square[1].wrapping_add(dy) as u32)
}

/// The height that the slope of a lattice point has at the place, 2⁻²⁸.
#[inline(always)]
fn slope(key: [u32; 2], at: &Spot, dx: i32, dy: i32) -> i32 {
    let random = word(key, at, dx, dy);
    let gx = ((random & 0xffff) << 12) as i32 - HALF;
    let gy = ((random >> 16) << 12) as i32 - HALF;
    mul_q28(gx, at.part[0]).wrapping_add(mul_q28(gy, at.part[1])).wrapping_sub(gx * dx + gy * dy)
}

/// Gradient noise, 0 to 1.
#[inline(always)]
pub fn gradient(key: [u32; 2], at: &Spot) -> i32 {
    let (tx, ty) = (quintic(at.part[0]), quintic(at.part[1]));
    let north = between(slope(key, at, 0, 0), slope(key, at, 1, 0), tx);
    let south = between(slope(key, at, 0, 1), slope(key, at, 1, 1), tx);
    let n = between(north, south, ty);
    HALF.wrapping_add(n).wrapping_add(n >> 1).clamp(0, ONE)
}

/// Value noise, 0 to 1.
#[inline(always)]
fn value(key: [u32; 2], at: &Spot) -> i32 {
    let (tx, ty) = (quintic(at.part[0]), quintic(at.part[1]));
    let point = |dx: i32, dy: i32| (word(key, at, dx, dy) >> 4) as i32;
    between(between(point(0, 0), point(1, 0), tx), between(point(0, 1), point(1, 1), tx), ty)
}

/// √n of a number with 28 bits behind the point, which is below 8, with as many.
#[inline(always)]
fn root(n: u32) -> i32 {
    let root = isqrt(n);
    let rest = n.wrapping_sub(root * root);
    ((root << 14) + (rest << 14) / (2 * root + 1)) as i32
}

/// Places whose nearest points are found together, in vector registers.
const LANES: usize = 16;

/// The squared distances of the nearest two points, 2⁻²⁸, from places whose squares and parts by
/// axis these are.
#[inline(always)]
fn nearest(
    key: [u32; 2],
    square: &[[i32; LANES]; 2],
    part: &[[i32; LANES]; 2],
) -> [[u32; LANES]; 2] {
    let [mut first, mut second] = [[i32::MAX as u32; LANES]; 2];
    for dy in -2..3i32 {
        let wide = if dy.abs() == 2 { 1 } else { 2 };
        for dx in -wide..=wide {
            for l in 0..LANES {
                let at = [square[0][l].wrapping_add(dx), square[1][l].wrapping_add(dy)];
                let random = hash(key, at[0] as u32, at[1] as u32);
                // Places within a square have 14 bits here.
                let px = (dx << 14) + ((random & 0xffff) >> 2) as i32 - (part[0][l] >> 14);
                let py = (dy << 14) + (random >> 18) as i32 - (part[1][l] >> 14);
                let squared = (px.wrapping_mul(px) as u32).wrapping_add(py.wrapping_mul(py) as u32);
                second[l] = second[l].min(squared.max(first[l]));
                first[l] = first[l].min(squared);
            }
        }
    }
    [first, second]
}

/// Noise at the places, 0 to 1.
#[inline(always)]
pub fn noise(
    pattern: u32,
    key: [u32; 2],
    mut spots: impl Iterator<Item = Spot>,
    noise: &mut [i32],
) {
    match pattern {
        CELLULAR | BORDERS => {
            for noise in noise.chunks_mut(LANES) {
                let [mut square, mut part] = [[[0; LANES]; 2]; 2];
                for (l, at) in (0..noise.len().min(LANES)).zip(&mut spots) {
                    ([square[0][l], square[1][l]], [part[0][l], part[1][l]]) = (at.square, at.part);
                }
                let [first, second] = nearest(key, &square, &part);
                let mut found = [0; LANES];
                for l in 0..LANES {
                    found[l] = match pattern {
                        CELLULAR => root(first[l]).min(ONE),
                        _ => (root(second[l]) - root(first[l])).clamp(0, ONE),
                    };
                }
                noise.copy_from_slice(&found[..noise.len()]);
            }
        }
        // Loops, since closures of iterators are not compiled for vector units.
        VALUE => {
            for (noise, at) in noise.iter_mut().zip(spots) {
                *noise = value(key, &at);
            }
        }
        _ => {
            for (noise, at) in noise.iter_mut().zip(spots) {
                *noise = gradient(key, &at);
            }
        }
    }
}

/// Adds an octave of gradient noise to each place of row `y`: its weight times `of` the noise,
/// which is 0 to 1.
#[inline(always)]
pub fn add_octave(
    [waves, places]: [&[i32]; 2],
    size: [i32; 2],
    n: usize,
    y: i32,
    sums: &mut [i32],
    of: impl Fn(i32) -> i32,
) {
    let wave = &waves[n * WAVE_WORDS..][..WAVE_WORDS];
    let key = [wave[0] as u32, wave[1] as u32];
    for (sum, at) in sums.iter_mut().zip(spots(places, size, n, y)) {
        *sum = sum.wrapping_add(mul_q28(of(gradient(key, &at)), wave[2]));
    }
}

/// The sums of octaves of gradient noise at the places of row `y`, −1 to 1: what moves places.
#[inline(always)]
pub fn shift(
    tables: [&[i32]; 2],
    size: [i32; 2],
    octaves: Range<usize>,
    y: i32,
    sums: &mut Vec<i32>,
) {
    sums.clear();
    sums.resize(size[0] as usize, 0);
    // Octave by octave, since compilers make vectors of the places of a row.
    for n in octaves {
        add_octave(tables, size, n, y, sums, |noise| noise.wrapping_sub(HALF) << 1);
    }
}

/// A displacement of −1 to 1, in squares of an octave's lattice, 2⁻²⁰.
#[inline(always)]
pub fn in_squares(wave: &[i32], by: i32) -> i32 {
    let size = mul_q28(wave[3], by.wrapping_abs().min(ONE));
    if by < 0 { -size } else { size }
}
