//! Points scattered over the world without gaps: a triangular lattice whose vertices are moved by a
//! constant length.
//!
//! # Rule
//! With the frequency f the triangles have edges of √(2/3)/f cells and heights of √½/f; no side
//! lies along an axis. Each vertex is moved by √½/f in one of 24 directions, which the hash of its
//! lattice coordinates picks. So no place of the world is farther than ([`FARTHEST`])/f from a
//! point, and a square cell holds f²·√3 points on average.
//!
//! Everything is integers of 2⁻¹⁶ cells, the two vectors of the lattice included, so that a point
//! is the same whoever asks for it, in whatever window, as far out as the world goes.
//!
//! # Source
//! K.jpg, *Fast Biome Blending, Without Squareness*, 2021.

use crate::arith;
use crate::error::{Error, Result};

/// Distance from any place to the nearest point, at most, where the frequency is 1: the jitter and
/// a triangle's circumradius, √½ · 5/3.
pub const FARTHEST: f64 = 1.178_511_301_977_579_2;
/// √½: the length of the jitter and the height of a triangle at frequency 1, which is also how far
/// a hexagonal layer is from the next.
const HEIGHT: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// Directions of the jitter.
const DIRECTIONS: usize = 24;
/// Lowest and highest frequency.
pub const FREQUENCIES: [f64; 2] = [0.002, 1.0];
/// Purpose of the hash.
const PURPOSE: u32 = 0x1a77;

/// The jittered lattice of a frequency and a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// Points a cell of length.
    frequency: f64,
    /// The two vectors of the lattice are (along, across) and (across, along), 2⁻¹⁶ cells.
    along: i64,
    across: i64,
    /// 2⁻¹⁶ cells.
    jitter: [[i64; 2]; DIRECTIONS],
    key: [u32; 2],
}

/// A point of a [`Lattice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// World coordinates of the cell it lies in.
    pub cell: [i64; 2],
    /// Where in the cell, 2⁻¹⁶.
    pub fraction: [u16; 2],
    /// Its vertex, in lattice coordinates.
    pub vertex: [i64; 2],
}

impl Lattice {
    /// The lattice of a frequency (points a cell of length, within [`FREQUENCIES`]) and a seed.
    pub fn new(frequency: f64, seed: u64) -> Result<Self> {
        let [low, high] = FREQUENCIES;
        if !(low..=high).contains(&frequency) {
            return Err(Error::param(format!(
                "frequency = {frequency}: allowed {low} to {high} points a cell"
            )));
        }
        let units = |length: f64| (length / frequency * 65536.0).round() as i64;
        let shrink = (3.0 - 3f64.sqrt()) / 6.0;
        let turn = |n: usize| (n as f64 + 0.5) * (2.0 * std::f64::consts::PI / DIRECTIONS as f64);
        let jitter = std::array::from_fn(|n| {
            [libm::cos(turn(n)), libm::sin(turn(n))].map(|c| units(c * HEIGHT))
        });
        Ok(Self {
            frequency,
            along: units(1.0 - shrink),
            across: units(-shrink),
            jitter,
            key: arith::key(seed, PURPOSE),
        })
    }

    /// The point of a vertex.
    pub fn point(&self, vertex: [i64; 2]) -> Point {
        // Coordinates of the world times a vector do not fit 64 bits.
        let [i, j] = vertex.map(i128::from);
        let (along, across) = (self.along as i128, self.across as i128);
        let word = arith::hash(self.key, vertex[0] as u32, vertex[1] as u32);
        // 16 bits of the hash, scaled to the number of directions.
        let jitter = self.jitter[((word >> 16) as usize * DIRECTIONS) >> 16];
        let at = [
            i * along + j * across + jitter[0] as i128,
            i * across + j * along + jitter[1] as i128,
        ];
        Point { cell: at.map(|v| (v >> 16) as i64), fraction: at.map(|v| v as u16), vertex }
    }

    /// The vertex nearest to the north-west corner of a cell.
    fn nearest(&self, cell: [i64; 2]) -> [i64; 2] {
        let [x, y] = cell.map(|c| (c as i128) << 16);
        let (along, across) = (self.along as i128, self.across as i128);
        // The determinant of the two vectors: dividing by it comes last, so that nothing is
        // rounded.
        let area = along * along - across * across;
        // Where the cell lies in the rhombus of its base vertex, in parts of its area.
        let [u, v] = [x * along - y * across, y * along - x * across];
        let base = [u.div_euclid(area), v.div_euclid(area)];
        let [p, q] = [u.rem_euclid(area), v.rem_euclid(area)];
        let step = match p + q > area {
            true if 2 * p < q => [0, 1],
            true if 2 * q < p => [1, 0],
            true => [1, 1],
            false if 2 * p - q > area => [1, 0],
            false if 2 * q - p > area => [0, 1],
            false => [0, 0],
        };
        [(base[0] + step[0]) as i64, (base[1] + step[1]) as i64]
    }

    /// Vertices in hexagonal layers round the one nearest to a cell's corner, outwards, until every
    /// point within `radius` cells of the corner is among theirs.
    pub fn layers(&self, centre: [i64; 2], radius: f64) -> impl Iterator<Item = [i64; 2]> {
        // Corners of a layer are 60° apart; from each the way leads along one of the lattice's
        // lines.
        const WAY: [[i64; 2]; 6] = [[0, 1], [-1, 0], [-1, -1], [0, -1], [1, 0], [1, 1]];
        const CORNER: [[i64; 2]; 6] = [[1, 0], [1, 1], [0, 1], [-1, 0], [-1, -1], [0, -1]];
        let base = self.nearest(centre);
        let last = ((radius * self.frequency + FARTHEST) / HEIGHT).ceil() as i64;
        let ring = move |n: i64| {
            (0..6).flat_map(move |side| {
                (0..n)
                    .map(move |m| [0, 1].map(|a| base[a] + CORNER[side][a] * n + WAY[side][a] * m))
            })
        };
        std::iter::once(base).chain((1..=last).flat_map(ring))
    }

    /// Side of the squares that rectangles are searched by, in cells.
    pub fn side(&self) -> u32 {
        (16.0 / self.frequency).ceil() as u32
    }

    /// The points whose cell is in the rectangle of `size` cells from `origin`, in no particular
    /// order. It is searched square by square.
    pub fn within(&self, origin: [i64; 2], size: [u32; 2]) -> Vec<Point> {
        let side = self.side();
        let mut all = vec![];
        for y in (0..size[1]).step_by(side as usize) {
            for x in (0..size[0]).step_by(side as usize) {
                let low = [origin[0] + x as i64, origin[1] + y as i64];
                let reach = [side.min(size[0] - x), side.min(size[1] - y)].map(i64::from);
                let half = reach.map(|r| r as f64 / 2.0 + 1.0);
                let radius = (half[0] * half[0] + half[1] * half[1]).sqrt();
                let vertices = self.layers([0, 1].map(|a| low[a] + reach[a] / 2), radius);
                let inside =
                    |p: &Point| (0..2).all(|a| (0..reach[a]).contains(&(p.cell[a] - low[a])));
                // Pushed one by one: layers are a chain of chains, which goes faster from within.
                vertices.map(|vertex| self.point(vertex)).filter(inside).for_each(|p| all.push(p));
            }
        }
        all
    }
}
