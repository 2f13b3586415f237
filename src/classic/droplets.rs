//! Droplet erosion, one drop after another, after Beyer and van der Veen.
//!
//! Sources: Hans Theobald Beyer, *Implementation of a method for hydraulic erosion*, Technische
//! Universität München, 2015; Ivo van der Veen, *Improved terrain generation using hydraulic
//! erosion*. The ids below number the statements of van der Veen's article.
//!
//! A drop falls at a random place (C5). In each step it turns towards the bilinear slope (C6, C7),
//! moves exactly one cell (C9), compares the heights (C11), and then lays down or takes up ground
//! at the place it came from (C12 to C18).
//!
//! Settled here, because the sources differ or are silent:
//!
//! - Capacity uses `max(-dh, min_slope)` as in Beyer's thesis; the article lists `min_slope` but
//!   leaves it out of the formula (C13).
//! - A drop takes up at most `-dh`. The article prints `dh`, which is negative downhill (C15).
//! - The speed grows downhill: `v² - dh·gravity` (C16). A well-known program adds the term instead,
//!   which slows drops down on their way downhill.
//! - Drops run one after another, each for its whole life, as in Beyer's thesis. They start without
//!   a direction, with speed 1 and water 1.
//! - A drop lays down what it still carries when its lifetime ends. So ground leaves the map only
//!   with drops that cross its border (C10), and the balance closes.
//!
//! Random numbers come from PCG-XSH-RR 64/32, and a direction on flat ground is found without sines
//! (C8). So the result depends only on IEEE 754 single precision: there are no fused
//! multiplications, and no library functions except the square root.

use crate::Result;
use crate::params::Settings;
use rand::Rng;
use rand_pcg::Pcg32;

/// If the squared length of the direction is below this, the ground counts as flat (C8).
const FLAT: f32 = 1e-20;
/// The number of drops whose places are drawn, and sorted if asked for, together.
const BATCH: u64 = 1 << 18;
/// Side of a tile of the sorted order, in cells.
const TILE: usize = 64;

/// How erosion spreads over the ground around a drop. Both variants take the same total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Brush {
    /// Weights `max(0, radius - distance)` from the drop's exact place, over the square around it,
    /// as published (C18).
    #[default]
    Exact,
    /// The same weights around the vertex nearest to the drop. They are constant, so they are
    /// computed once: much faster.
    Stencil,
}

/// The parameters of a run. `Default` gives the published values (C22); heights and lengths are in
/// cells of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Droplets {
    /// Number of drops.
    pub count: u64,
    /// Seed of all random numbers; any value.
    pub seed: u64,
    /// Share of the old direction that is kept, 0 to 1.
    pub inertia: f32,
    /// Least slope that counts for the capacity, in cells of height per step, 0 or more.
    pub min_slope: f32,
    /// Cells of height that a drop carries per unit of slope, speed and water, 0 or more.
    pub capacity: f32,
    /// Share of the surplus laid down in a step, 0 to 1.
    pub deposition_rate: f32,
    /// Share of the free capacity filled in a step, 0 to 1.
    pub erosion_rate: f32,
    /// Gain of squared speed per cell of fall, 0 or more.
    pub gravity: f32,
    /// Share of the water lost in a step, 0 to 1.
    pub evaporation_rate: f32,
    /// Most steps of a drop.
    pub lifetime: u32,
    /// Radius of erosion in cells, 1 or more; 0 is taken as 1.
    pub radius: u32,
    /// How erosion spreads within the radius.
    pub brush: Brush,
    /// Whether the drops of a batch of 2¹⁸ run in the order of the 64 × 64 tiles they start in,
    /// which needs fewer cache misses. They are the same drops either way, but each meets the
    /// ground as another drop left it.
    pub sorted: bool,
}

impl Default for Droplets {
    fn default() -> Self {
        Self {
            count: 5000,
            seed: 0,
            inertia: 0.3,
            min_slope: 0.01,
            capacity: 10.0,
            deposition_rate: 0.08,
            erosion_rate: 0.7,
            gravity: 9.81,
            evaporation_rate: 0.02,
            lifetime: 300,
            radius: 5,
            brush: Brush::Exact,
            sorted: false,
        }
    }
}

impl Droplets {
    /// The settings of the stage `droplets` that both share. The number of drops and the seed are
    /// the defaults.
    pub fn with(s: &Settings) -> Self {
        let number = |name: &str| s.number(name) as f32;
        Self {
            inertia: number("inertia"),
            min_slope: number("slope_min"),
            capacity: number("capacity"),
            deposition_rate: number("deposition"),
            erosion_rate: number("erosion"),
            gravity: number("gravity"),
            evaporation_rate: number("evaporation"),
            lifetime: s.integer("lifetime") as u32,
            radius: s.number("radius_cells").round() as u32,
            ..Self::default()
        }
    }

    /// What a drop can carry, in cells of height on one vertex (C13): `dh` is the rise of its step
    /// in cells (negative downhill), `speed` and `water` are 1 at its start.
    #[inline]
    pub fn capacity_at(&self, dh: f32, speed: f32, water: f32) -> f32 {
        larger(-dh, self.min_slope) * speed * water * self.capacity
    }

    /// The speed after a step that rose by `dh` cells at `speed`; 0 or more (C16).
    #[inline]
    pub fn speed_after(&self, dh: f32, speed: f32) -> f32 {
        larger(0.0, speed * speed - dh * self.gravity).sqrt()
    }
}

/// What a run did. Amounts are in cells of height on one vertex, that is, in cubic cells.
///
/// `eroded - deposited = exported`, and the sum of the heights falls by the same amount, up to the
/// rounding of single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Steps of all drops, including those that left the map.
    pub steps: u64,
    /// Drops that left the map.
    pub left: u64,
    /// Ground that left the map with them.
    pub exported: f64,
    /// Ground taken up.
    pub eroded: f64,
    /// Ground laid down.
    pub deposited: f64,
}

/// Erodes `height` (row-major, `width` × `depth` vertices, in cells of the grid's spacing) by the
/// drops of `p`.
///
/// `flow`, if given, counts for each vertex the steps that began nearest to it (C4); it sums to
/// [`Report::steps`] and is not cleared first.
///
/// # Panics
///
/// If `width` or `depth` is under 2 or over 2²⁰, or if `height` or `flow` does not hold `width *
/// depth` values.
pub fn erode(
    height: &mut [f32],
    width: usize,
    depth: usize,
    p: &Droplets,
    flow: Option<&mut [u32]>,
) -> Report {
    assert!(
        (2..=1 << 20).contains(&width) && (2..=1 << 20).contains(&depth),
        "a map is 2 to 2^20 vertices wide and deep"
    );
    assert_eq!(height.len(), width * depth, "height does not hold width * depth values");
    if let Some(flow) = &flow {
        assert_eq!(flow.len(), height.len(), "flow does not hold width * depth values");
    }
    let run = Run {
        height,
        width,
        depth,
        flow,
        p,
        turn: Pcg32::new(p.seed ^ 0x9E37_79B9_7F4A_7C15, 2),
        report: Report::default(),
    };
    // The weight at a distance of the radius is 0, so the stencil ends one cell before.
    let reach = p.radius.max(1) as usize - 1;
    match (p.brush, 2 * reach + 1) {
        (Brush::Exact, _) => run.all(Exact { radius: (reach + 1) as f32, weights: Vec::new() }),
        (_, ..=4) => run.all(Stencil::<4>::new(reach)),
        (_, ..=8) => run.all(Stencil::<8>::new(reach)),
        (_, ..=12) => run.all(Stencil::<12>::new(reach)),
        _ => run.all(Stencil::<16>::new(reach)),
    }
}

/// The border is put back after this many drops: see [`erode_inside`].
pub const HELD: u64 = 256;

/// Erodes a map whose border stays as it is.
///
/// At an open border the algorithm is unstable. A drop that falls off a step erodes as much as it
/// fell, partly from cells closer to the border, so the next drop falls farther. So the cells
/// within `radius` of the border cells are put back every [`HELD`] drops. Each time, `go_on` is
/// asked, and its error ends the run. `flow` is counted as by [`erode`].
///
/// # Errors
/// What `go_on` returns.
pub fn erode_inside(
    height: &mut [f32],
    width: usize,
    depth: usize,
    p: &Droplets,
    mut flow: Option<&mut [u32]>,
    mut go_on: impl FnMut() -> Result<()>,
) -> Result<()> {
    let rim = |&i: &usize| {
        let (x, y) = (i % width, i / width);
        x.min(width - 1 - x).min(y).min(depth - 1 - y) <= p.radius as usize
    };
    let rim: Vec<(usize, f32)> = (0..height.len()).filter(rim).map(|i| (i, height[i])).collect();
    for batch in 0..p.count.div_ceil(HELD) {
        go_on()?;
        let count = HELD.min(p.count - batch * HELD);
        erode(
            height,
            width,
            depth,
            &Droplets { count, seed: p.seed.wrapping_add(batch), ..p.clone() },
            flow.as_deref_mut(),
        );
        rim.iter().for_each(|&(i, h)| height[i] = h);
    }
    Ok(())
}

/// The offsets and weights of [`Brush::Stencil`] away from the borders: `(dx, dy, weight)` for
/// every vertex nearer than `radius` cells (1 or more; 0 is taken as 1). The weights sum to 1.
pub fn stencil(radius: u32) -> Vec<(i32, i32, f32)> {
    let r = radius.max(1) as i32;
    let square = (1 - r..r).flat_map(|dy| (1 - r..r).map(move |dx| (dx, dy)));
    let raw = square.map(|(dx, dy)| (dx, dy, f64::from(r) - f64::from(dx).hypot(f64::from(dy))));
    let raw: Vec<_> = raw.filter(|c| c.2 > 0.0).collect();
    let total: f64 = raw.iter().map(|c| c.2).sum();
    raw.into_iter().map(|(dx, dy, w)| (dx, dy, (w / total) as f32)).collect()
}

/// The larger of two numbers, as one instruction; `b` if either is not a number.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The smaller of two numbers, as one instruction; `b` if either is not a number.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// A uniform number in `0.0..1.0`, a multiple of 2⁻²⁴.
#[inline]
fn unit(rng: &mut Pcg32) -> f32 {
    (rng.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// A uniform direction, of length 1.
#[cold]
fn any_direction(rng: &mut Pcg32) -> (f32, f32) {
    loop {
        let (x, y) = (2.0 * unit(rng) - 1.0, 2.0 * unit(rng) - 1.0);
        let square = x * x + y * y;
        // In a disc all directions are alike. Close to its middle a vector is too short to scale.
        if square <= 1.0 && square > 1e-4 {
            let length = square.sqrt();
            return (x / length, y / length);
        }
    }
}

/// A place on the grid: the vertex to the north-west and the offset from it, in cells.
#[derive(Clone, Copy)]
struct Place {
    /// Index of the vertex.
    i: usize,
    fx: f32,
    fy: f32,
}

impl Place {
    /// `x` and `y` lie in `0.0..2^20`, inside the map.
    #[inline(always)]
    fn new(x: f32, y: f32, width: usize) -> Self {
        let (ix, iy) = (x as i32, y as i32);
        Self { i: iy as usize * width + ix as usize, fx: x - ix as f32, fy: y - iy as f32 }
    }

    /// The heights of the four vertices around, row by row.
    #[inline(always)]
    fn corners(&self, height: &[f32], width: usize) -> [f32; 4] {
        let (a, b) = (&height[self.i..self.i + 2], &height[self.i + width..self.i + width + 2]);
        [a[0], a[1], b[0], b[1]]
    }

    /// The height between four vertices (C11).
    #[inline(always)]
    fn height(&self, [h00, h10, h01, h11]: [f32; 4]) -> f32 {
        let (north, south) = (h00 + (h10 - h00) * self.fx, h01 + (h11 - h01) * self.fx);
        north + (south - north) * self.fy
    }

    /// Spreads `amount` over the four vertices around (C17).
    #[inline(always)]
    fn deposit(&self, height: &mut [f32], width: usize, amount: f32) {
        let (north, south) = (amount * (1.0 - self.fy), amount * self.fy);
        let row = &mut height[self.i..self.i + 2];
        row[0] += north * (1.0 - self.fx);
        row[1] += north * self.fx;
        let row = &mut height[self.i + width..self.i + width + 2];
        row[0] += south * (1.0 - self.fx);
        row[1] += south * self.fx;
    }
}

/// Takes ground away around a place of the map.
trait Carve {
    fn carve(
        &mut self,
        height: &mut [f32],
        width: usize,
        depth: usize,
        at: (f32, f32),
        amount: f32,
    );
}

/// [`Brush::Exact`].
struct Exact {
    radius: f32,
    weights: Vec<f32>,
}

impl Carve for Exact {
    fn carve(
        &mut self,
        height: &mut [f32],
        width: usize,
        depth: usize,
        (x, y): (f32, f32),
        amount: f32,
    ) {
        let from = |v: f32| (v - self.radius).max(0.0).ceil() as usize;
        let (x0, x1) = (from(x), ((x + self.radius) as usize).min(width - 1));
        let (y0, y1) = (from(y), ((y + self.radius) as usize).min(depth - 1));
        self.weights.clear();
        // At the border fewer vertices share the same amount.
        let mut total = 0.0;
        for j in y0..=y1 {
            for i in x0..=x1 {
                let (dx, dy) = (i as f32 - x, j as f32 - y);
                let weight = larger(0.0, self.radius - (dx * dx + dy * dy).sqrt());
                total += weight;
                self.weights.push(weight);
            }
        }
        let share = amount / total;
        for (j, weights) in (y0..).zip(self.weights.chunks_exact(x1 + 1 - x0)) {
            for (h, w) in height[j * width + x0..].iter_mut().zip(weights) {
                *h -= share * w;
            }
        }
    }
}

/// [`Brush::Stencil`]: rows of weights, padded with zeros to whole blocks of `N`.
struct Stencil<const N: usize> {
    /// The reach from the centre, in cells.
    reach: usize,
    /// Blocks in a row.
    blocks: usize,
    weights: Vec<[f32; N]>,
    /// The same without padding, for the borders.
    cells: Vec<(i32, i32, f32)>,
}

impl<const N: usize> Stencil<N> {
    fn new(reach: usize) -> Self {
        let blocks = (2 * reach + 1).div_ceil(N);
        let mut weights = vec![[0.0; N]; blocks * (2 * reach + 1)];
        let cells = stencil(reach as u32 + 1);
        for &(dx, dy, w) in &cells {
            let (column, row) = ((dx + reach as i32) as usize, (dy + reach as i32) as usize);
            weights[row * blocks + column / N][column % N] = w;
        }
        Self { reach, blocks, weights, cells }
    }

    /// Uses the part of the stencil that lies on the map, with its weights scaled to sum to 1.
    #[cold]
    fn carve_border(
        &self,
        height: &mut [f32],
        width: usize,
        depth: usize,
        (x, y): (usize, usize),
        amount: f32,
    ) {
        let on_map = |&&(dx, dy, w): &&(i32, i32, f32)| {
            let (x, y) = (x.checked_add_signed(dx as isize)?, y.checked_add_signed(dy as isize)?);
            (x < width && y < depth).then_some((y * width + x, w))
        };
        let total: f32 = self.cells.iter().filter_map(|c| on_map(&c)).map(|c| c.1).sum();
        let share = amount / total;
        for (i, w) in self.cells.iter().filter_map(|c| on_map(&c)) {
            height[i] -= share * w;
        }
    }
}

impl<const N: usize> Carve for Stencil<N> {
    #[inline(always)]
    fn carve(
        &mut self,
        height: &mut [f32],
        width: usize,
        depth: usize,
        (x, y): (f32, f32),
        amount: f32,
    ) {
        let (x, y) = ((x + 0.5) as i32 as usize, (y + 0.5) as i32 as usize);
        // West of the border this wraps to a number that is larger than any width.
        let west = x.wrapping_sub(self.reach);
        let inside = west < width
            && west + self.blocks * N <= width
            && y >= self.reach
            && y + self.reach < depth;
        if !inside {
            return self.carve_border(height, width, depth, (x, y), amount);
        }
        let mut start = (y - self.reach) * width + west;
        for row in self.weights.chunks_exact(self.blocks) {
            let ground = height[start..start + self.blocks * N].as_chunks_mut::<N>().0;
            for (ground, weights) in ground.iter_mut().zip(row) {
                for k in 0..N {
                    ground[k] -= amount * weights[k];
                }
            }
            start += width;
        }
    }
}

/// A run in progress.
struct Run<'a> {
    height: &'a mut [f32],
    width: usize,
    depth: usize,
    flow: Option<&'a mut [u32]>,
    p: &'a Droplets,
    /// Directions on flat ground.
    turn: Pcg32,
    report: Report,
}

impl Run<'_> {
    fn all(mut self, mut brush: impl Carve) -> Report {
        // Turns on flat ground have a stream of their own, so they do not move later drops.
        let mut fall = Pcg32::new(self.p.seed, 1);
        let (east, south) = ((self.width - 1) as f32, (self.depth - 1) as f32);
        let mut starts = Vec::new();
        let mut left = self.p.count;
        while left > 0 {
            let batch = left.min(BATCH);
            left -= batch;
            starts.clear();
            starts.extend((0..batch).map(|_| {
                let x = unit(&mut fall) * east;
                (x, unit(&mut fall) * south)
            }));
            // The sort is stable, so the drops of a tile keep their order.
            if self.p.sorted {
                let tile = |v: f32| v as usize / TILE;
                starts.sort_by_cached_key(|&(x, y)| (tile(y) as u32, tile(x) as u32));
            }
            for &start in &starts {
                self.one(&mut brush, start);
            }
        }
        self.report
    }

    /// The life of one drop from `x`, `y`.
    #[inline(always)]
    fn one(&mut self, brush: &mut impl Carve, (mut x, mut y): (f32, f32)) {
        let (width, depth) = (self.width, self.depth);
        let p = &self.p.clone();
        let (east, south) = ((width - 1) as f32, (depth - 1) as f32);
        let (mut dx, mut dy) = (0.0f32, 0.0f32);
        let (mut speed, mut water, mut load) = (1.0f32, 1.0f32, 0.0f32);
        let (mut eroded, mut deposited) = (0.0f64, 0.0f64);
        let mut left = false;
        let mut steps = 0;
        let turn = 1.0 - p.inertia;
        let dry = 1.0 - p.evaporation_rate;
        let mut place = Place::new(x, y, width);
        for _ in 0..p.lifetime {
            let corners @ [h00, h10, h01, h11] = place.corners(self.height, width);
            // The slope of the bilinear surface (C6, C7).
            let gx = (h10 - h00) * (1.0 - place.fy) + (h11 - h01) * place.fy;
            let gy = (h01 - h00) * (1.0 - place.fx) + (h11 - h10) * place.fx;
            (dx, dy) = (dx * p.inertia - gx * turn, dy * p.inertia - gy * turn);
            let square = dx * dx + dy * dy;
            if square > FLAT {
                let length = square.sqrt();
                (dx, dy) = (dx / length, dy / length);
            } else {
                (dx, dy) = any_direction(&mut self.turn);
            }
            steps += 1;
            if let Some(flow) = &mut self.flow {
                let nearest = place.i
                    + usize::from(place.fx >= 0.5)
                    + if place.fy >= 0.5 { width } else { 0 };
                flow[nearest] = flow[nearest].saturating_add(1);
            }
            let (nx, ny) = (x + dx, y + dy);
            // Written so that a NaN counts as having left.
            left = !(nx >= 0.0 && nx < east && ny >= 0.0 && ny < south);
            if left {
                break;
            }
            let next = Place::new(nx, ny, width);
            let dh = next.height(next.corners(self.height, width)) - place.height(corners);
            let carry = p.capacity_at(dh, speed, water);
            if dh > 0.0 || load > carry {
                // Uphill it fills the hole that it leaves, at most up to the next place.
                let laid =
                    if dh > 0.0 { smaller(load, dh) } else { (load - carry) * p.deposition_rate };
                place.deposit(self.height, width, laid);
                load -= laid;
                deposited += f64::from(laid);
            } else {
                let taken = smaller((carry - load) * p.erosion_rate, -dh);
                brush.carve(self.height, width, depth, (x, y), taken);
                load += taken;
                eroded += f64::from(taken);
            }
            speed = p.speed_after(dh, speed);
            water *= dry;
            (x, y, place) = (nx, ny, next);
        }
        let report = &mut self.report;
        if left {
            report.left += 1;
            report.exported += f64::from(load);
        } else {
            place.deposit(self.height, width, load);
            deposited += f64::from(load);
        }
        report.steps += steps;
        report.eroded += eroded;
        report.deposited += deposited;
    }
}
