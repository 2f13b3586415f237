//! Uplift against incision by rivers, on the nodes of a lattice: IEEE doubles, + − × ÷ and √, in
//! one order.

use crate::arith::{self, hash};
use crate::picture::Picture;
use crate::stage::fractal::{ONE, Spot, gradient};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Nodes of the shorter side with which the work begins.
const COARSEST: usize = 24;
/// Steps on the coarsest lattice, and on each finer one.
const STEPS: [usize; 2] = [40, 12];
/// Parts of the time that a wave takes from the mouth to the farthest divide, of which a step is
/// one.
const PARTS: f64 = 6.0;
/// How far a node is off its place, at most, of a spacing.
const JITTER: f64 = 0.4;
/// How far noise bends the land on the way to a finer lattice, at most, in spacings of the coarser
/// one, and how large it is.
const BEND: f64 = 2.0;
const BEND_SIZE: f64 = 3.0;
/// The eight neighbours, those along the axes first.
const AROUND: [[i32; 2]; 8] =
    [[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]];

/// Where rock rises.
pub enum Lift<'a> {
    /// Everywhere.
    Constant,
    /// Where a noise is high.
    Noise {
        /// Its size in cells.
        feature: f64,
        /// About how much of the area is.
        cover: f64,
    },
    /// Where a picture is bright.
    Picture(&'a Arc<Picture>),
}

/// What a land follows from.
pub struct Land<'a> {
    /// Nodes in a row, and rows.
    pub nodes: [usize; 2],
    /// Cells from node to node.
    pub spacing: f64,
    /// The stage's seed.
    pub seed: u64,
    /// Where rock rises.
    pub lift: Lift<'a>,
    /// Size of the ranges in cells.
    pub feature: f64,
    /// Uplift of what does not rise with the mountains.
    pub plain: f64,
    /// How much the erodibility varies.
    pub hardness: f64,
    /// The exponent of the area, in sixteenths.
    pub sixteenths: u32,
    /// The steepest rise over one spacing, of the whole relief.
    pub steepest: f64,
}

/// A lattice on the way to the land's.
struct Lattice {
    nodes: [usize; 2],
    /// Where each node is thought to be, in its own spacings.
    places: Vec<[f64; 2]>,
    uplift: Vec<f64>,
    erodibility: Vec<f64>,
}

/// Where water goes: the nodes from the base up, and the receiver of each node and how far it is.
struct Routes {
    order: Vec<u32>,
    receiver: Vec<u32>,
    length: Vec<f64>,
}

impl Land<'_> {
    /// The heights of the nodes, 2⁻²⁸ of the highest before mountainsides are cut.
    pub fn worked_out(&self) -> Vec<i32> {
        let halvings = (0..12)
            .take_while(|n| self.nodes.iter().all(|count| (count >> (n + 1)) >= COARSEST))
            .count();
        let mut height: Vec<f64> = vec![];
        let mut nodes = [0; 2];
        for (n, halved) in (0..=halvings).rev().enumerate() {
            let finer = self.nodes.map(|count| ((count - 1) >> halved) + 1);
            let lattice = self.lattice(finer);
            let key = arith::key(self.seed, 20 + halved as u32);
            let rough = |i: usize| f64::from(hash(key, i as u32, 1) >> 8) / 16_777_216.0;
            height = if n == 0 {
                (0..lattice.uplift.len()).map(|i| lattice.uplift[i] * rough(i)).collect()
            } else {
                let top = height.iter().fold(0.0, |top: f64, z| top.max(*z));
                let finer = self.resampled(&height, nodes, finer, 40 + 2 * halved as u32);
                finer.into_iter().enumerate().map(|(i, z)| z + top * rough(i) / 512.0).collect()
            };
            nodes = finer;
            for _ in 0..STEPS[(n > 0) as usize] {
                self.step(&lattice, &mut height);
            }
            if halved == 0 {
                self.cut_sides(&lattice, &mut height);
            }
        }
        height.into_iter().map(|z| (z.clamp(0.0, 1.0) * f64::from(ONE)).round() as i32).collect()
    }

    /// Heights on a finer lattice over the same area. A noise bends what was straight on the
    /// coarser one, or rivers would keep to its lines for good.
    fn resampled(
        &self,
        height: &[f64],
        from: [usize; 2],
        to: [usize; 2],
        purpose: u32,
    ) -> Vec<f64> {
        let mut out = Vec::with_capacity(to[0] * to[1]);
        let coarse = self.spacing * (self.nodes[0] - 1) as f64 / (from[0] - 1) as f64;
        for j in 0..to[1] {
            for i in 0..to[0] {
                let along =
                    |n: usize, a: usize| n as f64 * (from[a] - 1) as f64 / (to[a] - 1) as f64;
                let place = [along(i, 0), along(j, 1)];
                let [x, y] = place.map(|v| v * coarse);
                let bent = |a: usize| {
                    let by = (self.fractal(purpose + a as u32, x, y, BEND_SIZE * coarse) * 2.0
                        - 1.0)
                        * BEND;
                    (place[a] + by).clamp(0.0, (from[a] - 1) as f64)
                };
                let (u, v) = (bent(0), bent(1));
                let (x, y) = ((u as usize).min(from[0] - 2), (v as usize).min(from[1] - 2));
                let at = |x: usize, y: usize| height[y * from[0] + x];
                out.push(mixed(
                    at(x, y),
                    at(x + 1, y),
                    at(x, y + 1),
                    at(x + 1, y + 1),
                    u - x as f64,
                    v - y as f64,
                ));
            }
        }
        out
    }

    /// The lattice of nodes over the area.
    fn lattice(&self, nodes: [usize; 2]) -> Lattice {
        let [columns, rows] = nodes;
        let key = arith::key(self.seed, 10);
        let share = |word: u32| f64::from(word & 0xffff) / 65536.0;
        // A node that finer lattices have too is off its place in the same direction on all of
        // them.
        let mut lattice = Lattice { nodes, places: vec![], uplift: vec![], erodibility: vec![] };
        for j in 0..rows {
            for i in 0..columns {
                let at =
                    |n: usize, of: usize, all: usize| n as f64 * (all - 1) as f64 / (of - 1) as f64;
                let (x, y) = (at(i, columns, self.nodes[0]), at(j, rows, self.nodes[1]));
                let random = hash(key, x as u32, y as u32);
                let off = |word: u32| (share(word) * 2.0 - 1.0) * JITTER;
                lattice.places.push([i as f64 + off(random), j as f64 + off(random >> 16)]);
                let [wx, wy] = [x, y].map(|n| n * self.spacing);
                lattice.uplift.push(self.uplift(x, y, wx, wy));
                let soft = self.fractal(12, wx, wy, self.feature / 4.0);
                lattice.erodibility.push(1.0 + self.hardness * (soft * 4.0 - 2.0).clamp(-1.0, 1.0));
            }
        }
        lattice
    }

    /// Four octaves of gradient noise at a place in cells from the corner of the area.
    fn fractal(&self, purpose: u32, x: f64, y: f64, feature: f64) -> f64 {
        // Weights of 8, 4, 2 and 1 fifteenths are 1 together.
        let (mut sum, mut weight, mut size) = (0.0, 8.0 / 15.0, feature);
        for octave in 0..4 {
            // Lattices are moved against each other.
            let spot = [x, y].map(|v| v / size + 0.37 * f64::from(octave + 1));
            let square = spot.map(f64::floor);
            let part = [0, 1].map(|a| ((spot[a] - square[a]) * f64::from(ONE)) as i32);
            let at = Spot { square: square.map(|v| v as i32), part };
            sum += weight * f64::from(gradient(arith::key(self.seed, purpose * 16 + octave), &at))
                / f64::from(ONE);
            weight /= 2.0;
            size /= 2.0;
        }
        sum
    }

    /// The uplift of a node, `plain` to 1.
    fn uplift(&self, column: f64, row: f64, x: f64, y: f64) -> f64 {
        let share = match &self.lift {
            Lift::Constant => 1.0,
            Lift::Noise { feature, cover } => {
                // The noise lies about ½, mostly within 0.3 either way.
                let from = 0.5 - (cover - 0.5) * 0.6;
                let t = ((self.fractal(11, x, y, *feature) - from) / 0.3 + 0.5).clamp(0.0, 1.0);
                t * t * (3.0 - 2.0 * t)
            }
            Lift::Picture(picture) => {
                let [width, height] = [picture.width, picture.height].map(|side| side as usize);
                let u = column / (self.nodes[0] - 1) as f64 * (width - 1) as f64;
                let v = row / (self.nodes[1] - 1) as f64 * (height - 1) as f64;
                let (i, j) = ((u as usize).min(width - 2), (v as usize).min(height - 2));
                let sample = |i: usize, j: usize| f64::from(picture.words[j * width + i]) / 65536.0;
                mixed(
                    sample(i, j),
                    sample(i + 1, j),
                    sample(i, j + 1),
                    sample(i + 1, j + 1),
                    u - i as f64,
                    v - j as f64,
                )
            }
        };
        self.plain + (1.0 - self.plain) * share
    }

    /// A step: rivers find their way, and rock rises while they cut it.
    fn step(&self, lattice: &Lattice, height: &mut [f64]) {
        let routes = lattice.routes(height);
        let count = height.len();
        let mut area = vec![1.0 / count as f64; count];
        // From the divides down, so that a node's area is complete before it is passed on. The
        // whole land is 1.
        for &i in routes.order.iter().rev() {
            let receiver = routes.receiver[i as usize];
            if receiver != i {
                let own = area[i as usize];
                area[receiver as usize] += own;
            }
        }
        // How readily a river cuts at a node, over the distance to its receiver; and how long a
        // wave takes to the node.
        let mut rate = area;
        let mut time = vec![0.0f64; count];
        let mut longest = 0.0f64;
        for &i in &routes.order {
            let (i, receiver) = (i as usize, routes.receiver[i as usize] as usize);
            if receiver == i {
                continue;
            }
            rate[i] = lattice.erodibility[i] * power(rate[i], self.sixteenths) / routes.length[i];
            time[i] = time[receiver] + 1.0 / rate[i];
            longest = longest.max(time[i]);
        }
        let dt = longest / PARTS;
        for &i in &routes.order {
            let (i, receiver) = (i as usize, routes.receiver[i as usize] as usize);
            if receiver == i {
                height[i] = 0.0;
            } else {
                // The receiver has its new height already, which makes the step implicit.
                let cut = dt * rate[i];
                height[i] =
                    (height[i] + dt * lattice.uplift[i] + cut * height[receiver]) / (1.0 + cut);
            }
        }
    }

    /// Makes the highest node 1 high, and cuts what is steeper than a mountainside can be, from
    /// below.
    fn cut_sides(&self, lattice: &Lattice, height: &mut [f64]) {
        let top = height.iter().fold(0.0, |top: f64, z| top.max(*z));
        if top <= 0.0 {
            return;
        }
        // The sum makes a zero positive: the bits of a negative one would rank above all heights.
        height.iter_mut().for_each(|z| *z = *z / top + 0.0);
        // From the lowest node up, each holds its neighbours down.
        let mut open: BinaryHeap<_> =
            height.iter().enumerate().map(|(i, z)| Reverse((z.to_bits(), i as u32))).collect();
        while let Some(Reverse((rank, i))) = open.pop() {
            let level = height[i as usize];
            // It was cut after this entry was made, and has another.
            if rank != level.to_bits() {
                continue;
            }
            for (n, length) in lattice.neighbours(i) {
                let most = level + self.steepest * length;
                if height[n as usize] > most {
                    height[n as usize] = most;
                    open.push(Reverse((most.to_bits(), n)));
                }
            }
        }
    }
}

impl Lattice {
    /// The neighbours of a node, and how far they are.
    fn neighbours(&self, i: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let [columns, rows] = self.nodes;
        let (x, y) = ((i as usize % columns) as i32, (i as usize / columns) as i32);
        AROUND.iter().filter_map(move |[dx, dy]| {
            let (u, v) = (x + dx, y + dy);
            let inside = (0..columns as i32).contains(&u) && (0..rows as i32).contains(&v);
            inside.then(|| {
                let n = v as usize * columns + u as usize;
                let [a, b] = [self.places[i as usize], self.places[n]];
                let (across, down) = (a[0] - b[0], a[1] - b[1]);
                (n as u32, (across * across + down * down).sqrt())
            })
        })
    }

    /// Finds where water goes. The sides drain to themselves.
    fn routes(&self, height: &[f64]) -> Routes {
        let [columns, rows] = self.nodes;
        let count = height.len();
        let (mut receiver, mut filled) = (vec![u32::MAX; count], height.to_vec());
        let mut open = BinaryHeap::with_capacity(count / 2);
        // Heights are not negative, so their bits have their order. Ties go by the number of the
        // node.
        let rank = |z: f64| (z + 0.0).to_bits();
        let is_side = |i: usize| {
            i.is_multiple_of(columns)
                || i % columns == columns - 1
                || i / columns == 0
                || i / columns == rows - 1
        };
        for i in (0..count).filter(|i| is_side(*i)) {
            receiver[i] = i as u32;
            filled[i] = 0.0;
            open.push(Reverse((0, i as u32)));
        }
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse((_, i))) = open.pop() {
            order.push(i);
            let level = filled[i as usize];
            for (n, _) in self.neighbours(i) {
                let n = n as usize;
                if receiver[n] == u32::MAX {
                    // The node that the flood came from. On the fill, which is level, it stays the
                    // receiver.
                    receiver[n] = i;
                    filled[n] = filled[n].max(level);
                    open.push(Reverse((rank(filled[n]), n as u32)));
                }
            }
        }
        // Where the ground falls without the fill, it falls the steepest way.
        let mut length = vec![1.0; count];
        for i in 0..count {
            if is_side(i) {
                continue;
            }
            let mut steepest = 0.0;
            for (n, far) in self.neighbours(i as u32) {
                let slope = (filled[i] - filled[n as usize]) / far;
                if slope > steepest {
                    steepest = slope;
                    receiver[i] = n;
                }
            }
            let taken = receiver[i];
            if let Some((_, far)) = self.neighbours(i as u32).find(|(n, _)| *n == taken) {
                length[i] = far;
            }
        }
        Routes { order, receiver, length }
    }
}

/// aⁿ with n in sixteenths, by roots.
fn power(a: f64, sixteenths: u32) -> f64 {
    let mut root = a;
    let mut product = 1.0;
    // The roots are a to the 8th, 4th, 2nd and 1st sixteenth.
    for bit in (0..4).rev() {
        root = root.sqrt();
        if sixteenths >> bit & 1 == 1 {
            product *= root;
        }
    }
    product
}

/// Between four values.
fn mixed(a: f64, b: f64, c: f64, d: f64, u: f64, v: f64) -> f64 {
    let (top, low) = (a + (b - a) * u, c + (d - c) * u);
    top + (low - top) * v
}
