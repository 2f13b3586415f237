//! Snowball erosion, one snowball after another, after Job Talle.
//!
//! Source: Job Talle, *Simulating hydraulic erosion*, 2020, and the program that the article links
//! (its constants and its sampling of the grid). The ids below number the statements of that
//! article and program.
//!
//! A snowball falls at a random place (A13) and rolls. In each step it samples the normal of the
//! ground at a small offset from itself (A4, A6), and stops if the normal points straight up (A7).
//! It lays down a part of what it carries, and picks up more where the ground is steeper (A8, A9,
//! A11). Both happen at its previous position, so that it does not bury itself (A10). Then it moves
//! on with friction (A12). At the end the whole map is blurred once (A14): see [`blur`].
//!
//! Each snowball does far more than a drop of [`crate::classic::droplets`]. Tens of thousands shape
//! an island, which is fast but less exact (A20).
//!
//! Settled here, because the sources differ or are silent:
//!
//! - Lengths and heights are in cells. The program's world has a `resolution` of 0.1 units a cell,
//!   by which it multiplies `radius` and `speed`. So these two are in cells already, while its
//!   erosion of 0.04 units is 0.4 cells (see [`Snowballs::published`]).
//! - The program spreads a change over four vertices with the bilinear weights of the *opposite*
//!   corners (A29). Here each corner has its own weight, unless [`Splat::Published`] asks for the
//!   other.
//! - What a snowball still carries at its end, and what it would change outside the map, is lost,
//!   as published. [`Report`] has the amount.
//! - Outside the map the height is [`Snowballs::outside`] (0 as published, A25). It should be that
//!   of the rim, such as the floor of the sea; otherwise the map ends in a cliff.
//!
//! Random numbers come from PCG-XSH-RR 64/32, and the only library function is the square root, so
//! the doubles are the same on every machine.

use rand::Rng;
use rand_pcg::Pcg32;

/// How a change of height is shared among the four vertices around a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splat {
    /// Bilinear: the nearer a vertex, the more it gets.
    #[default]
    Bilinear,
    /// The same weights, each for the opposite vertex, as in the published program: the farthest
    /// gets most (A29).
    Published,
}

/// The parameters of a run; lengths and heights are in cells of the grid. `Default` is
/// [`Snowballs::published`].
#[derive(Clone, Debug, PartialEq)]
pub struct Snowballs {
    /// Number of snowballs.
    pub count: u64,
    /// Seed of all random numbers; any value.
    pub seed: u64,
    /// What a snowball picks up in a step on a vertical wall, in cells. On a slope it is multiplied
    /// by 1 − the normal's upward part.
    pub erosion_rate: f64,
    /// Share of its sediment laid down in a step on level ground, 0 to 1. On a slope it is
    /// multiplied by the normal's upward part.
    pub deposition_rate: f64,
    /// What a step on a vertical wall adds to the speed, in cells per step.
    pub speed: f64,
    /// Share of the speed that is kept in a step, 0 to below 1.
    pub friction: f64,
    /// The largest offset, along each axis, at which a snowball samples the ground, in cells.
    pub radius: f64,
    /// Most steps of a snowball.
    pub iterations: u32,
    /// Growth of the erosion per step, from 0 to the full rate of 1.
    pub iteration_scale: f64,
    /// How changes are shared among vertices.
    pub splat: Splat,
    /// Height of all that lies outside the map, cells.
    pub outside: f64,
}

impl Snowballs {
    /// The published constants (A13, A21), in cells of the published resolution of 0.1 units.
    pub fn published() -> Self {
        Self {
            count: 50_000,
            seed: 0,
            erosion_rate: 0.4,
            deposition_rate: 0.03,
            speed: 0.15,
            friction: 0.7,
            radius: 0.8,
            iterations: 80,
            iteration_scale: 0.04,
            splat: Splat::Bilinear,
            outside: 0.0,
        }
    }

    /// The published number of snowballs for a map: 0.4 for each square of four vertices (A22).
    pub fn count_for(width: usize, depth: usize) -> u64 {
        (0.4 * (width.saturating_sub(1) * depth.saturating_sub(1)) as f64).ceil() as u64
    }
}

impl Default for Snowballs {
    fn default() -> Self {
        Self::published()
    }
}

/// What a run did. Amounts are in cells of height on one vertex, that is, in cubic cells.
///
/// `eroded - deposited = lost`, and the sum of the heights falls by the same amount, up to
/// rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Steps of all snowballs. The step that finds flat ground does not count.
    pub steps: u64,
    /// Ground picked up on the map.
    pub eroded: f64,
    /// Ground laid down on the map.
    pub deposited: f64,
    /// Ground that snowballs still had at their ends or laid down outside, less what they picked up
    /// outside.
    pub lost: f64,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.eroded += other.eroded;
        self.deposited += other.deposited;
        self.lost += other.lost;
    }
}

/// Erodes `height` (row-major, `width` × `depth` vertices, in cells of the grid's spacing) by the
/// snowballs of `p`, which start anywhere on the map with equal probability. The blur that ends the
/// published algorithm is [`blur`].
///
/// `traffic`, if given, counts for each vertex the steps that began nearest to it. Vertices above
/// some threshold can be drawn as rivers and lakes (A18). It is not cleared first.
///
/// # Panics
///
/// If `width` or `depth` is under 2 or over 2²⁰, or if `height` or `traffic` does not hold `width *
/// depth` values.
pub fn erode(
    height: &mut [f64],
    width: usize,
    depth: usize,
    p: &Snowballs,
    traffic: Option<&mut [u32]>,
) -> Report {
    let mut ground = Ground::new(height, width, depth, p, traffic);
    let mut rng = Pcg32::new(p.seed, 1);
    // From 0 to below 1, in steps of 2⁻³².
    let mut unit = || rng.next_u32() as f64 / 4_294_967_296.0;
    let mut report = Report::default();
    for _ in 0..p.count {
        let start = [unit() * (width - 1) as f64, unit() * (depth - 1) as f64];
        let offset = [(unit() * 2.0 - 1.0) * p.radius, (unit() * 2.0 - 1.0) * p.radius];
        report += ground.trace(start, offset);
    }
    report
}

/// Runs one snowball (A4 to A12) from `start`, which samples the ground at the offset `offset`,
/// both in cells. The rest is as for [`erode`].
///
/// # Panics
///
/// As [`erode`] does.
pub fn trace(
    height: &mut [f64],
    width: usize,
    depth: usize,
    p: &Snowballs,
    start: [f64; 2],
    offset: [f64; 2],
    traffic: Option<&mut [u32]>,
) -> Report {
    Ground::new(height, width, depth, p, traffic).trace(start, offset)
}

/// The published blur (A14, A26): [1 2 1; 2 4 2; 1 2 1] / 16 on all vertices except those of the
/// rim, which stay as they are.
///
/// # Panics
///
/// If `height` does not hold `width * depth` values.
pub fn blur(height: &mut [f64], width: usize, depth: usize) {
    assert_eq!(height.len(), width * depth, "height does not hold width * depth values");
    let old = height.to_vec();
    for y in 1..depth.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            let i = y * width + x;
            let sides = old[i - 1] + old[i - width] + old[i + 1] + old[i + width];
            let corners =
                old[i - 1 - width] + old[i + 1 - width] + old[i + 1 + width] + old[i - 1 + width];
            height[i] = sides * 0.125 + corners * 0.0625 + old[i] * 0.25;
        }
    }
}

/// The map under the snowballs.
struct Ground<'a> {
    height: &'a mut [f64],
    width: usize,
    /// The last column and row. A place before them has four vertices around it.
    east: f64,
    south: f64,
    p: &'a Snowballs,
    traffic: Option<&'a mut [u32]>,
}

impl<'a> Ground<'a> {
    fn new(
        height: &'a mut [f64],
        width: usize,
        depth: usize,
        p: &'a Snowballs,
        traffic: Option<&'a mut [u32]>,
    ) -> Self {
        assert!(
            (2..=1 << 20).contains(&width) && (2..=1 << 20).contains(&depth),
            "a map is 2 to 2^20 vertices wide and deep"
        );
        assert_eq!(height.len(), width * depth, "height does not hold width * depth values");
        assert!(
            traffic.as_ref().is_none_or(|t| t.len() == height.len()),
            "traffic does not hold width * depth values"
        );
        Self { height, width, east: (width - 1) as f64, south: (depth - 1) as f64, p, traffic }
    }

    /// The vertex north-west of a place, and the offset from it. `None` outside the map.
    #[inline(always)]
    fn place(&self, x: f64, y: f64) -> Option<(usize, f64, f64)> {
        let inside = x >= 0.0 && y >= 0.0 && x < self.east && y < self.south;
        // Beyond the map these numbers mean nothing, and are not used.
        let (ix, iy) = (x as u32, y as u32);
        inside.then(|| (iy as usize * self.width + ix as usize, x - ix as f64, y - iy as f64))
    }

    /// The height at a place (A25).
    #[inline(always)]
    fn sample(&self, x: f64, y: f64) -> f64 {
        let Some((i, fx, fy)) = self.place(x, y) else { return self.p.outside };
        let (north, south) =
            (&self.height[i..i + 2], &self.height[i + self.width..i + self.width + 2]);
        let (left, right) =
            (north[0] + (south[0] - north[0]) * fy, north[1] + (south[1] - north[1]) * fy);
        left + (right - left) * fx
    }

    /// The unit normal of the ground: east, up, south (A25).
    #[inline(always)]
    fn normal(&self, x: f64, y: f64) -> [f64; 3] {
        // Differences are over two cells, so this is four times (−∂h/∂x, −∂h/∂y, 1).
        let (east, south) = (
            -2.0 * (self.sample(x + 1.0, y) - self.sample(x - 1.0, y)),
            -2.0 * (self.sample(x, y + 1.0) - self.sample(x, y - 1.0)),
        );
        let length = (east * east + 16.0 + south * south).sqrt();
        [east / length, 4.0 / length, south / length]
    }

    /// Adds to the ground around a place (A10, A29). Returns whether the place is on the map.
    #[inline(always)]
    fn change(&mut self, x: f64, y: f64, amount: f64) -> bool {
        let Some((i, fx, fy)) = self.place(x, y) else { return false };
        let (mut wx, mut wy) = ([1.0 - fx, fx], [1.0 - fy, fy]);
        if self.p.splat == Splat::Published {
            (wx, wy) = ([fx, 1.0 - fx], [fy, 1.0 - fy]);
        }
        let north = &mut self.height[i..i + 2];
        north[0] += wx[0] * wy[0] * amount;
        north[1] += wx[1] * wy[0] * amount;
        let south = &mut self.height[i + self.width..i + self.width + 2];
        south[0] += wx[0] * wy[1] * amount;
        south[1] += wx[1] * wy[1] * amount;
        true
    }

    #[inline(always)]
    fn trace(&mut self, [mut x, mut y]: [f64; 2], offset: [f64; 2]) -> Report {
        let p = self.p;
        let (mut back_x, mut back_y, mut vx, mut vy) = (x, y, 0.0, 0.0);
        let mut sediment = 0.0;
        let mut r = Report::default();
        for i in 0..p.iterations {
            let [east, up, south] = self.normal(x + offset[0], y + offset[1]);
            // Level ground ends its way, to the precision of a double (A7).
            if up == 1.0 {
                break;
            }
            r.steps += 1;
            if let Some(traffic) = &mut self.traffic
                && x >= 0.0
                && y >= 0.0
                && x <= self.east
                && y <= self.south
            {
                let nearest = &mut traffic[(y + 0.5) as usize * self.width + (x + 0.5) as usize];
                *nearest = nearest.saturating_add(1);
            }
            let deposit = sediment * p.deposition_rate * up;
            // The rate grows with the steps until it is whole.
            let erosion = p.erosion_rate * (1.0 - up) * (i as f64 * p.iteration_scale).min(1.0);
            if self.change(back_x, back_y, deposit - erosion) {
                r.deposited += deposit;
                r.eroded += erosion;
            } else {
                r.lost += deposit - erosion;
            }
            sediment += erosion - deposit;
            (vx, vy) = (p.friction * vx + east * p.speed, p.friction * vy + south * p.speed);
            // The next step changes the ground here, behind the snowball (A10).
            (back_x, back_y) = (x, y);
            (x, y) = (x + vx, y + vy);
        }
        r.lost += sediment;
        r
    }
}
