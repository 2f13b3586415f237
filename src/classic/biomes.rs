//! Biome blending as published, in `f64`: K.jpg, *Fast Biome Blending, Without Squareness*, 2021,
//! and its program.
//!
//! A function returns the weights of biomes 0, 1 … at a place; they add up to 1. `biome_at` returns
//! the biome of a place.

/// The published points (E7, E21): a triangular lattice whose vertices are moved by √½ in one of 24
/// directions.
///
/// The published hash combines two products with odd numbers by an exclusive or. The lowest bit of
/// its value is therefore the same for all vertices, and with nearly every seed only 9 of the
/// directions occur. [`crate::lattice`] reaches all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gatherer {
    /// Lattice units per cell.
    pub frequency: f64,
    /// Seed of the directions.
    pub seed: u64,
}

/// The largest distance from a place to its nearest point, at frequency 1 (E8, E21): √½ · 5/3.
pub const FARTHEST: f64 = crate::lattice::FARTHEST;
/// The share of x + y to subtract in going from lattice coordinates to places, as published: (3 −
/// √3)/6.
const BACK: f64 = 0.211324865405187;
/// The share to add in the other direction: (√3 − 1)/2.
const SKEW: f64 = 0.366025403784439;

impl Gatherer {
    /// The point of a vertex.
    pub fn point(&self, [i, j]: [i32; 2]) -> [f64; 2] {
        let hash = i.wrapping_mul(7691) ^ j.wrapping_mul(30869);
        let (low, high) = (self.seed as u32 as i32, (self.seed >> 32) as i32);
        let hash = (low ^ hash).wrapping_mul(668908897) ^ (high ^ hash).wrapping_mul(35311);
        // The published table has 32 entries. Of each four, the first two are the same direction.
        let place = ((hash & 0x3ff_ffff).wrapping_mul(0x555_5555) >> 26) & 31;
        let direction = place / 4 * 3 + (place % 4 - 1).max(0);
        let angle = (direction as f64 + 0.5) * (std::f64::consts::PI / 12.0);
        let back = (i as f64 + j as f64) * -BACK;
        let jitter = std::f64::consts::FRAC_1_SQRT_2;
        [i as f64 + back + libm::sin(angle) * jitter, j as f64 + back + libm::cos(angle) * jitter]
            .map(|v| v / self.frequency)
    }

    /// The points within `radius` of a place (E9).
    pub fn near(&self, at: [f64; 2], radius: f64) -> Vec<[f64; 2]> {
        let [x, y] = at.map(|v| v * self.frequency);
        let skew = (x + y) * SKEW;
        let base = [x + skew, y + skew].map(|v| v.floor() as i32);
        // Lattice coordinates change by less than √2 per unit of distance.
        let far =
            ((radius * self.frequency + FARTHEST) * std::f64::consts::SQRT_2).ceil() as i32 + 1;
        let range = |n: i32| n - far..=n + far;
        let points = range(base[0]).flat_map(|i| range(base[1]).map(move |j| self.point([i, j])));
        points.filter(|p| square(*p, at) < radius * radius).collect()
    }
}

fn square(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
}

/// Normalized sparse convolution: each point adds max(0, r² − d²)² to its biome (E2), and the sums
/// are divided by their total (E11).
pub fn convolution(
    points: impl Iterator<Item = ([f64; 2], usize)>,
    radius: f64,
    at: [f64; 2],
    biomes: usize,
) -> Vec<f64> {
    let mut sums = vec![0.0; biomes];
    for (place, biome) in points {
        let t = (radius * radius - square(place, at)).max(0.0);
        sums[biome] += t * t;
    }
    let total: f64 = sums.iter().sum();
    sums.into_iter().map(|sum| sum / total).collect()
}

/// Scattered blending (E6). The radius is `padding` more than the distance within which there
/// always is a point (E8).
pub fn scattered(
    points: &Gatherer,
    padding: f64,
    at: [f64; 2],
    biomes: usize,
    biome_at: impl Fn([f64; 2]) -> usize,
) -> Vec<f64> {
    let radius = padding + FARTHEST / points.frequency;
    convolution(points.near(at, radius).into_iter().map(|p| (p, biome_at(p))), radius, at, biomes)
}

/// Blending with points on a square grid of `interval` cells (E5); with an interval of 1, at full
/// resolution (E3).
pub fn convolved(
    interval: i64,
    radius: f64,
    at: [i64; 2],
    biomes: usize,
    biome_at: impl Fn([f64; 2]) -> usize,
) -> Vec<f64> {
    let [xs, ys] = at.map(|v| {
        let far = radius.ceil() as i64;
        ((v - far).div_euclid(interval)..=(v + far).div_euclid(interval)).map(move |n| n * interval)
    });
    let points = ys.flat_map(|y| xs.clone().map(move |x| [x as f64, y as f64]));
    convolution(points.map(|p| (p, biome_at(p))), radius, at.map(|v| v as f64), biomes)
}

/// Blending at the points of the grid, with linear interpolation between them (E4).
pub fn lerped(
    interval: i64,
    radius: f64,
    at: [i64; 2],
    biomes: usize,
    biome_at: impl Fn([f64; 2]) -> usize,
) -> Vec<f64> {
    let node = at.map(|v| v.div_euclid(interval) * interval);
    let [fx, fy] = [0, 1].map(|a| (at[a] - node[a]) as f64 / interval as f64);
    let mut weights = vec![0.0; biomes];
    for (dx, dy, share) in [
        (0, 0, (1.0 - fx) * (1.0 - fy)),
        (1, 0, fx * (1.0 - fy)),
        (0, 1, (1.0 - fx) * fy),
        (1, 1, fx * fy),
    ] {
        let corner = convolved(
            interval,
            radius,
            [node[0] + dx * interval, node[1] + dy * interval],
            biomes,
            &biome_at,
        );
        weights.iter_mut().zip(corner).for_each(|(sum, weight)| *sum += weight * share);
    }
    weights
}
