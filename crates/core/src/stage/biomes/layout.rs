//! Where points, chunks and buckets are.

use super::{SIDE_MAX, radius};
use crate::lattice::{FARTHEST, Lattice};
use crate::params::Settings;
use crate::plan;
use crate::site::{Site, Window};
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Where points, chunks and buckets are.
pub(super) struct Layout {
    /// Cells of a chunk's side, as a power of two.
    pub bits: u32,
    /// Cells between the first cell that can hold points and the first cell of the window.
    pub margin: i64,
    /// Chunks of cells over the window.
    pub chunks: [i64; 2],
    pub buckets: [i64; 2],
    /// The chunks of nodes and the first node, in the coordinates of points, for the lerped grid.
    pub node_chunks: [i64; 2],
    pub node_start: [i64; 2],
    pub interval: i64,
    pub radius: f64,
    /// Cells of the recipe's lattice from one vertex to the next.
    pub stride: i64,
    /// Fraction bits of positions.
    pub fraction: u32,
}

impl Layout {
    pub fn new(s: &Settings, site: &Site) -> Self {
        let bits = s.word("chunk_cells").parse::<u32>().map_or(4, u32::ilog2);
        let side = 1i64 << bits;
        let lerped = s.word("method") == "lerped";
        let [stride, _] = site.stride();
        let interval = match s.word("method") {
            "full" => 1,
            _ => (s.integer("interval_cells") / stride).max(1),
        };
        // On a coarser lattice places are rounded to larger parts, and still there always is a
        // point within the radius.
        let radius = match s.word("method") {
            _ if stride == 1 => radius(s),
            "scattered" => radius(s) / stride as f64 + 1.0 / 16.0,
            _ => (radius(s) / stride as f64).max(interval as f64),
        };
        let Window { origin, width, height } = site.window;
        let up = |n: i64, to: i64| (n + to - 1).div_euclid(to);
        let margin = up(radius.ceil() as i64 + if lerped { 2 * interval } else { 0 }, side) * side;
        let chunks = [up(width as i64, side), up(height as i64, side)];
        let node_start = origin.map(|o| margin - o.rem_euclid(interval));
        // The nodes reach from before the window's first cell to after its last chunk.
        let nodes = chunks.map(|n| n * side / interval + 3);
        let node_chunks = if lerped { nodes.map(|n| up(n, side)) } else { [0, 0] };
        let buckets = chunks.map(|n| n + 2 * (margin >> bits));
        // Squares of distances must fit in 32 bits for the largest chunks, because no result
        // depends on the size of chunks.
        let step = if lerped { interval } else { 1 };
        let span = radius.ceil() as i64 + (SIDE_MAX - 1) * step + 2 * SIDE_MAX;
        let fraction = (31 - (2 * span * span).ilog2()).min(16) / 2;
        Self {
            bits,
            margin,
            chunks,
            buckets,
            node_chunks,
            node_start,
            interval,
            radius,
            stride,
            fraction,
        }
    }

    /// Whether there are nodes, and cells take what lies between them.
    pub fn is_lerped(&self) -> bool {
        self.node_chunks != [0, 0]
    }

    /// Cells of a chunk.
    pub fn area(&self) -> usize {
        1 << (2 * self.bits)
    }

    /// Buckets of points.
    pub fn bucket_count(&self) -> usize {
        (self.buckets[0] * self.buckets[1]) as usize
    }

    /// The chunks that sums are made for: of cells or of nodes.
    pub fn made_chunks(&self) -> usize {
        let [across, down] = if self.is_lerped() { self.node_chunks } else { self.chunks };
        (across * down) as usize
    }

    /// The largest number of points in a rectangle of cells: each point has a hexagon round its
    /// vertex.
    fn most_points(&self, s: &Settings, size: [i64; 2]) -> u64 {
        let [wide, high] = match s.word("method") {
            "scattered" => {
                let f = s.number("frequency");
                // A square cell has f² · √3 points, the root of which counts along each axis.
                size.map(|n| ((n * self.stride) as f64 * f + 2.0 * FARTHEST) * 3f64.sqrt().sqrt())
            }
            _ => size.map(|n| (n as f64 / self.interval as f64).ceil()),
        };
        (wide * high).ceil() as u64
    }

    /// The points, counted; one by one where they are few.
    pub fn counted(&self, s: &Settings, site: &Site) -> Points {
        let most = self.most_points(s, self.buckets.map(|n| n << self.bits));
        if !site.draft || most <= FEW_POINTS {
            return Points::of(self, self.points(s, site));
        }
        let fullest = self.most_points(s, [1 << self.bits; 2]);
        Points { count: most as usize, fullest: fullest as usize, sorted: vec![], buckets: vec![] }
    }

    /// The points of all buckets: their places relative to the first cell that can hold points,
    /// with `fraction` bits.
    fn points(&self, s: &Settings, site: &Site) -> Vec<[i32; 2]> {
        let first = site.window.origin.map(|o| o - self.margin);
        let size = self.buckets.map(|n| (n << self.bits) as u32);
        if s.word("method") == "scattered" {
            // The points lie on the recipe's lattice.
            let first = first.map(|o| o * self.stride);
            let size = size.map(|n| n * self.stride as u32);
            let finer = self.stride.ilog2();
            // The frequency has been checked.
            let Ok(lattice) = Lattice::new(s.number("frequency"), site.world.seed) else {
                return vec![];
            };
            let rows: Vec<u32> = (0..size[1]).step_by(256).collect();
            let place = |p: crate::lattice::Point| {
                [0, 1].map(|a| {
                    let at = ((p.cell[a] - first[a]) << 16) + p.fraction[a] as i64;
                    (at >> (16 - self.fraction + finer)) as i32
                })
            };
            let strip = |&y: &u32| {
                lattice.within([first[0], first[1] + y as i64], [size[0], 256.min(size[1] - y)])
            };
            let stop = plan::stop();
            let heard = |_: &&u32| !stop.load(Ordering::Relaxed);
            rows.par_iter()
                .filter(heard)
                .flat_map_iter(|y| strip(y).into_iter().map(place))
                .collect()
        } else {
            let [columns, rows] = [0, 1].map(|a| {
                let start = (-first[a]).rem_euclid(self.interval) as u32;
                (start..size[a])
                    .step_by(self.interval as usize)
                    .map(|at| (at << self.fraction) as i32)
                    .collect::<Vec<_>>()
            });
            rows.iter().flat_map(|&y| columns.iter().map(move |&x| [x, y])).collect()
        }
    }
}

/// Points that a draft counts one by one, at most.
const FEW_POINTS: u64 = 1 << 16;

/// The points of a window.
pub(super) struct Points {
    pub count: usize,
    /// Points of the bucket that has most.
    pub fullest: usize,
    /// By bucket, row-major; nothing in a draft of many.
    pub sorted: Vec<[i32; 2]>,
    /// Where the points of each bucket begin; nothing in a draft of many.
    pub buckets: Vec<i32>,
}

impl Points {
    fn of(layout: &Layout, points: Vec<[i32; 2]>) -> Self {
        let (sorted, buckets) = sorted(layout, points);
        let fullest = buckets.windows(2).map(|b| (b[1] - b[0]) as usize).max().unwrap_or(0);
        Self { count: sorted.len(), fullest, sorted, buckets }
    }
}

/// The points sorted by bucket, row-major, and where the points of each bucket begin.
fn sorted(layout: &Layout, points: Vec<[i32; 2]>) -> (Vec<[i32; 2]>, Vec<i32>) {
    let shift = layout.fraction + layout.bits;
    let bucket = |p: &[i32; 2]| {
        (p[1] >> shift) as usize * layout.buckets[0] as usize + (p[0] >> shift) as usize
    };
    let count = layout.bucket_count();
    let mut starts = vec![0i32; count + 1];
    points.iter().for_each(|p| starts[bucket(p) + 1] += 1);
    // Counts become beginnings.
    for b in 0..count {
        starts[b + 1] += starts[b];
    }
    let mut next = starts.clone();
    let mut all = vec![[0; 2]; points.len()];
    let stop = plan::stop();
    for p in points.chunks(1 << 20).take_while(|_| !stop.load(Ordering::Relaxed)).flatten() {
        let at = &mut next[bucket(p)];
        all[*at as usize] = *p;
        *at += 1;
    }
    (all, starts)
}

/// Most points that a circle can hold, whatever the window.
pub(super) fn crowd(s: &Settings, layout: &Layout) -> f64 {
    let about = match s.word("method") {
        // Each point belongs to a vertex with a hexagon of its own, and both are within reach.
        "scattered" => {
            let r = layout.radius * layout.stride as f64 * s.number("frequency") + FARTHEST;
            r * r * 3f64.sqrt()
        }
        _ => {
            let r = layout.radius / layout.interval as f64 + std::f64::consts::FRAC_1_SQRT_2;
            r * r
        }
    };
    about * std::f64::consts::PI
}
