//! Fractal heights by midpoint displacement and diamond-square: a whole map, or a window on demand.
//!
//! Sources: Alain Fournier, Don Fussell and Loren Carpenter, *Computer rendering of stochastic
//! models*, 1982, for midpoint displacement; Gavin S. P. Miller, *The definition and rendering of
//! terrain maps*, 1986, for diamond-square; Denis Olshin (deNULL), an article in Russian of 11
//! January 2011 on fractal landscapes, for the window over a huge world and its random numbers. The
//! ids below number the statements of Olshin's article.
//!
//! A height depends only on its coordinates and the seed, because its random shift does (D16). So
//! the dense map and the window on demand ([`Lazy`]) give the same doubles for any window and any
//! order (D17).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rand::Rng as _;
use rand_pcg::Pcg32;

use crate::{Error, Result};

/// Largest sum of remainders that [`rand_from_pair`] can reach.
pub const PAIR_MAX: u32 = 1_520_966;
/// What [`rand_from_pair`] divides that sum by.
pub const PAIR_DIVISOR: u32 = 1_520_972;

/// Where the shift of a vertex comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rand {
    /// [`rand_from_pair`], as published (D16).
    #[default]
    Pair,
    /// [`rand_hash`], a commenter's faster formula, for worlds of up to about 100 million cells a
    /// side (D19).
    Hash,
}

/// A square world of fractal heights between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct World {
    /// Cells along a side: a power of two, 2 to 2³². Vertices run from 0 to `size` (D11).
    pub size: u64,
    /// Selects the world; any value.
    pub seed: u32,
    /// The range of the random shifts of the coarsest level, in units of height, 0 or more. It
    /// halves with each level (D14).
    pub roughness: f64,
    /// Rounds of [`rand_from_pair`], 1 or more. The article has 80; 32 look the same and take half
    /// the time (D18).
    pub rounds: u32,
    /// Where the shifts come from.
    pub rand: Rand,
}

impl Default for World {
    fn default() -> Self {
        Self { size: 1 << 24, seed: 0, roughness: 2.0, rounds: 80, rand: Rand::Pair }
    }
}

impl World {
    /// An [`Error::Param`] if the size, the roughness or the rounds are not allowed.
    fn check(&self) -> Result<()> {
        if !self.size.is_power_of_two() || !(2..=1 << 32).contains(&self.size) {
            return Err(Error::param(format!(
                "size is {}; it must be a power of two from 2 to 4294967296",
                self.size
            )));
        }
        if !self.roughness.is_finite() || self.roughness < 0.0 {
            return Err(Error::param(format!(
                "roughness is {}; it must be a finite number of 0 or more",
                self.roughness
            )));
        }
        if self.rounds == 0 {
            return Err(Error::param("rounds is 0; it must be 1 or more"));
        }
        Ok(())
    }

    /// `mean` plus the random shift of the vertex `x`, `y`, clamped to 0 to 1 (D12, D14). `mean` is
    /// that of the vertices `reach` cells away.
    fn displace(&self, mean: f64, reach: i64, x: i64, y: i64) -> f64 {
        let r = match self.rand {
            Rand::Pair => rand_from_pair(x, y, self.seed, self.rounds),
            Rand::Hash => rand_hash(x, y, self.seed),
        };
        (mean + (r - 0.5) * reach as f64 * 2.0 / self.size as f64 * self.roughness).clamp(0.0, 1.0)
    }
}

/// A number from 0 to below 1 for the pair `x`, `y`: the published mixing of remainders by primes
/// (D16). It equals, bit for bit, what a program with doubles and signed remainders computes.
///
/// That holds for `x` and `y` within ±2⁵², where doubles are exact. If one is negative, the result
/// can be negative, down to -1. `rounds` is 1 or more; 0 gives 0.
pub fn rand_from_pair(mut x: i64, mut y: i64, seed: u32, rounds: u32) -> f64 {
    let mut sum = 0;
    for _ in 0..rounds {
        sum = x % 7 + x % 13 + x % 1_301_081 + y % 8461 + y % 105_467 + y % 105_943;
        y = x.wrapping_add(i64::from(seed));
        x = x.wrapping_add(sum);
    }
    sum as f64 / f64::from(PAIR_DIVISOR)
}

/// A number from 0 to 1 for the pair `x`, `y`, with one multiplication for each (D19). It equals,
/// bit for bit, what a program with doubles and a 32-bit exclusive or computes, where products over
/// 2⁵³ are rounded first.
///
/// Known limit: worlds of about 128 million cells a side and more repeat, and are symmetric about
/// their diagonal.
pub fn rand_hash(x: i64, y: i64, seed: u32) -> f64 {
    // The low 32 bits of a double that is a whole number.
    let low = |v: f64| v as i128 as i32;
    let s = low(f64::from(seed) * 1_972_854_929.0)
        ^ low(x as f64 * 2_971_902_361.0)
        ^ low(y as f64 * 3_572_953_751.0);
    f64::from(low(1_812_433_253.0 * f64::from(s)) & 0x7FFF_FFFF) * 4.656_612_875_245_797e-10
}

/// A fast hasher: coordinates need no protection against chosen keys.
#[derive(Clone, Copy, Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u64(u64::from(b));
        }
    }

    fn write_u64(&mut self, v: u64) {
        self.0 = (self.0 ^ v).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 29;
        self.0 = self.0.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
}

/// Heights of a huge [`World`], computed on demand. The work for a window is proportional to the
/// window, and hardly depends on the size of the world (D11).
///
/// ```
/// use thalweg::classic::diamond_square::{Lazy, World};
///
/// let mut world = Lazy::new(World { size: 1 << 24, seed: 7, ..World::default() })?;
/// let window = world.window(5_000_000, 9_000_000, 16, 16);
/// assert_eq!(window[17], world.value(5_000_001, 9_000_001));
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Clone)]
pub struct Lazy {
    world: World,
    memo: HashMap<u64, f64, BuildHasherDefault<PairHasher>>,
}

impl Lazy {
    /// A world without any computed heights yet.
    ///
    /// # Errors
    ///
    /// [`Error::Param`] if the size is not a power of two from 2 to 2³², the roughness is negative
    /// or not finite, or the rounds are 0.
    pub fn new(world: World) -> Result<Self> {
        world.check()?;
        Ok(Self { world, memo: HashMap::default() })
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The number of heights in the cache.
    pub fn known(&self) -> usize {
        self.memo.len()
    }

    /// Clears the cache. Heights computed again are the same (D17).
    pub fn forget(&mut self) {
        self.memo.clear();
    }

    /// The height at a vertex, 0 to 1; 0 on the border and outside (D12).
    pub fn value(&mut self, x: i64, y: i64) -> f64 {
        let size = self.world.size as i64;
        if x <= 0 || x >= size || y <= 0 || y >= size {
            return 0.0;
        }
        // Both are below 2³² here, so no two vertices share a key.
        let key = ((x as u64) << 32) | y as u64;
        if let Some(&v) = self.memo.get(&key) {
            return v;
        }
        // The lowest bit that is set in either coordinate is the reach. If both have it, this is a
        // square step (D13).
        let b = 1i64 << (x | y).trailing_zeros();
        let mean = if x & b != 0 && y & b != 0 {
            (self.value(x - b, y - b)
                + self.value(x + b, y - b)
                + self.value(x - b, y + b)
                + self.value(x + b, y + b))
                / 4.0
        } else {
            (self.value(x - b, y)
                + self.value(x + b, y)
                + self.value(x, y - b)
                + self.value(x, y + b))
                / 4.0
        };
        let v = self.world.displace(mean, b, x, y);
        self.memo.insert(key, v);
        v
    }

    /// The heights of `width` × `depth` vertices, row-major, the first at `x`, `y`.
    pub fn window(&mut self, x: i64, y: i64, width: usize, depth: usize) -> Vec<f64> {
        (0..width * depth)
            .map(|i| self.value(x + (i % width) as i64, y + (i / width) as i64))
            .collect()
    }
}

/// What lies beyond the border of a whole map (D8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    /// The border and everything outside have this height. 0 sinks the borders, and gives the
    /// heights of [`Lazy`].
    Constant(f64),
    /// The map repeats: coordinates are taken modulo the size. The vertex 0, 0 has this height.
    Torus(f64),
}

/// Diamond-square over the whole world, level by level, squares before diamonds (D7).
///
/// Row-major: `size + 1` vertices a side with [`Edge::Constant`], `size` with [`Edge::Torus`].
///
/// # Errors
///
/// [`Error::Param`] as for [`Lazy::new`]; [`Error::Limit`] if the size is over 2¹⁴.
pub fn dense(world: &World, edge: Edge) -> Result<Vec<f64>> {
    world.check()?;
    if world.size > 1 << 14 {
        return Err(Error::over(
            format!(
                "size is {}; a dense map holds at most 16384 cells a side, use Lazy",
                world.size
            ),
            world.size,
            16384u64,
            "cells a side",
        ));
    }
    let size = world.size as i64;
    // The side of the map, and the height that it starts from.
    let (side, outside) = match edge {
        Edge::Constant(c) => (size + 1, c),
        Edge::Torus(c) => (size, c),
    };
    let torus = matches!(edge, Edge::Torus(_));
    let mut h = vec![outside; (side * side) as usize];
    let index = |x: i64, y: i64| {
        if torus {
            // The size is a power of two, so this is the remainder.
            ((y & (size - 1)) * side + (x & (size - 1))) as usize
        } else {
            (y * side + x) as usize
        }
    };
    let inner = |v: i64| torus || (v > 0 && v < size);
    let mut b = size / 2;
    while b > 0 {
        for y in (b..size).step_by(2 * b as usize) {
            for x in (b..size).step_by(2 * b as usize) {
                let sum = h[index(x - b, y - b)]
                    + h[index(x + b, y - b)]
                    + h[index(x - b, y + b)]
                    + h[index(x + b, y + b)];
                h[index(x, y)] = world.displace(sum / 4.0, b, x, y);
            }
        }
        for y in (0..size).step_by(b as usize).filter(|&y| inner(y)) {
            // What is left are vertices of which one coordinate alone is an odd multiple of `b`.
            let first = if (y / b) % 2 == 0 { b } else { 0 };
            for x in (first..size).step_by(2 * b as usize).filter(|&x| inner(x)) {
                let sum = h[index(x - b, y)]
                    + h[index(x + b, y)]
                    + h[index(x, y - b)]
                    + h[index(x, y + b)];
                h[index(x, y)] = world.displace(sum / 4.0, b, x, y);
            }
        }
        b /= 2;
    }
    Ok(h)
}

/// Midpoint displacement on a line (D5): `2^levels + 1` heights, the ends 0.
///
/// The line has the length 1. The midpoint of a segment of length `l` is raised or lowered by less
/// than `roughness * l`. Random numbers come from PCG-XSH-RR 64/32, coarse levels first, from left
/// to right.
///
/// # Panics
///
/// If `levels` is over 30.
pub fn midpoint_1d(seed: u64, levels: u32, roughness: f64) -> Vec<f64> {
    assert!(levels <= 30, "a line has at most 30 levels");
    let mut rng = Pcg32::new(seed, 1);
    let segments = 1usize << levels;
    let mut h = vec![0.0; segments + 1];
    let mut step = segments;
    while step > 1 {
        let reach = roughness * step as f64 / segments as f64;
        for i in (step / 2..segments).step_by(step) {
            // In steps of 2⁻³¹, never exactly -1 or 1.
            let r = (f64::from(rng.next_u32()) + 0.5) / 2_147_483_648.0 - 1.0;
            h[i] = (h[i - step / 2] + h[i + step / 2]) / 2.0 + r * reach;
        }
        step /= 2;
    }
    h
}
