//! Statistics of a height map: figures that show whether it looks like land shaped by water.
//!
//! Lengths, areas and heights are in cells, slopes in rise per cell. Every figure depends on the heights alone. Logarithms and
//! angles come from the system's library, so the last digits may differ between systems. A figure that has no meaning, because
//! there are no streams or no plains, is `None`; no figure is NaN or infinite.
//!
//! Sources: R. Barnes, C. Lehman, D. Mulla, *Priority-flood*, 2014 (depressions); J. F. O'Callaghan, D. M. Mark, *The extraction
//! of drainage networks from digital elevation data*, 1984 (D8); R. E. Horton, *Erosional development of streams and their
//! drainage basins*, 1945, and A. N. Strahler, *Quantitative analysis of watershed geomorphology*, 1957 (orders and their
//! ratios); J.-J. Flint, *Stream gradient as a function of order, magnitude, and discharge*, 1974 (concavity).

use crate::{Error, Result};
use rustfft::{Fft, FftPlanner, num_complex::Complex};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::{PI, SQRT_2};
use std::sync::Arc;

/// The smallest side of a map for [`statistics`], in cells: two of the longest waves of the spectrum.
pub const SIDE_MIN: usize = 32;
/// A cell counts as a stream if at least this many cells drain through it.
pub const STREAM_CELLS: u32 = 256;
/// A cell counts as plain up to this mean slope over 17 × 17 cells.
pub const PLAIN_SLOPE: f64 = 0.05;
/// A cell counts as covered by sediment from this thickness on, in cells of height.
pub const SEDIMENT_MIN: f64 = 0.25;
/// The number of [`Spectrum::directions`], which share a half turn.
pub const DIRECTIONS: usize = 16;

/// Octaves of the spectrum: waves of 16 to 8, 8 to 4 and 4 to 2 cells.
const OCTAVES: usize = 3;
/// Rings of the spectrum per octave.
const RINGS: usize = 8;
/// A ring of the spectrum with less power than this counts as empty, in cells²: well below the square of a height unit.
const EMPTY: f64 = 1e-16;
/// A stream with less fall than this stands in a filled depression: below a height unit, and far above what the flood adds.
const FALL_MIN: f64 = 1e-6;
/// An octave of drainage area needs this many stream cells to count for the concavity.
const CELLS_MIN: usize = 16;

/// A height map: row-major, y south, heights in cells of its spacing.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    height: &'a [f64],
    width: usize,
    depth: usize,
}

impl<'a> Grid<'a> {
    /// A map of `width * depth` heights.
    ///
    /// # Errors
    /// [`Error::Param`] if the number of heights is another, if a side is 0, if there are 2³² cells or more, or if a height is not
    /// finite.
    pub fn new(height: &'a [f64], width: usize, depth: usize) -> Result<Self> {
        if width == 0 || depth == 0 || width.checked_mul(depth) != Some(height.len()) || height.len() >= u32::MAX as usize {
            return Err(Error::param(format!("{} heights for a map of {width} x {depth} cells", height.len())));
        }
        match height.iter().find(|h| !h.is_finite()) {
            Some(h) => Err(Error::param(format!("a height is {h}: expected finite numbers"))),
            None => Ok(Self { height, width, depth }),
        }
    }

    /// The neighbours of cell `i` that are on the map, with their distances.
    fn around(self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let (x, y) = (i % self.width, i / self.width);
        let offsets = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)];
        offsets.into_iter().filter_map(move |(dx, dy): (isize, isize)| {
            let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
            let length = if dx != 0 && dy != 0 { SQRT_2 } else { 1.0 };
            (x < self.width && y < self.depth).then_some((y * self.width + x, length))
        })
    }

    /// The cells that are at least `margin` cells from the border.
    fn inside(self, margin: usize) -> impl Iterator<Item = usize> {
        let columns = margin..self.width.saturating_sub(margin);
        (margin..self.depth.saturating_sub(margin)).flat_map(move |y| columns.clone().map(move |x| y * self.width + x))
    }

    /// The length of the gradient at cell `i`, by central differences, which are one-sided at the border.
    fn slope(self, i: usize) -> f64 {
        let axis = |at: usize, side: usize, step: usize| {
            let (back, on) = (at.min(1), (side - 1 - at).min(1));
            (self.height[i + on * step] - self.height[i - back * step]) / (back + on).max(1) as f64
        };
        let (gx, gy) = (axis(i % self.width, self.width, 1), axis(i / self.width, self.depth, self.width));
        (gx * gx + gy * gy).sqrt()
    }

    /// The sum of the four nearest neighbours minus four times the height, at a cell that is not on the border.
    fn laplacian(self, i: usize) -> f64 {
        let h = self.height;
        h[i - 1] + h[i + 1] + h[i - self.width] + h[i + self.width] - 4.0 * h[i]
    }
}

/// Where the water of each cell flows when all depressions are full.
#[derive(Clone, Debug)]
pub struct Drainage {
    /// Heights with depressions filled to their outlets, and a tiny amount more so that every filled floor falls towards its outlet.
    pub filled: Vec<f64>,
    /// The neighbour that each cell drains to, which is the steepest descent (D8). Where water leaves the map, the cell itself.
    pub receiver: Vec<u32>,
    /// The number of cells that drain through each cell, including itself.
    pub area: Vec<u32>,
    /// All cells, each before those that drain to it.
    pub upstream: Vec<u32>,
}

/// A cell of the flood front. The lowest comes first, and among equals the one found first.
#[derive(PartialEq)]
struct Front {
    level: f64,
    turn: u32,
    cell: u32,
}

impl Eq for Front {}

impl Ord for Front {
    fn cmp(&self, other: &Self) -> Ordering {
        other.level.total_cmp(&self.level).then(other.turn.cmp(&self.turn))
    }
}

impl PartialOrd for Front {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Drains a map over its border. It is flooded from there (priority-flood, with the smallest rise that doubles can have), and each
/// cell's water flows to the neighbour of steepest descent.
pub fn drainage(grid: Grid) -> Drainage {
    let cells = grid.height.len();
    let mut filled = grid.height.to_vec();
    let mut met = vec![false; cells];
    let mut front = BinaryHeap::new();
    let mut turn = 0;
    let mut meet = |front: &mut BinaryHeap<Front>, cell: usize, level: f64| {
        front.push(Front { level, turn, cell: cell as u32 });
        turn += 1;
    };
    let on_border = |i: usize| {
        let (x, y) = (i % grid.width, i / grid.width);
        x == 0 || y == 0 || x + 1 == grid.width || y + 1 == grid.depth
    };
    for i in (0..cells).filter(|&i| on_border(i)) {
        met[i] = true;
        meet(&mut front, i, filled[i]);
    }
    let mut upstream = Vec::with_capacity(cells);
    while let Some(Front { level, cell, .. }) = front.pop() {
        upstream.push(cell);
        for (n, _) in grid.around(cell as usize) {
            if !met[n] {
                met[n] = true;
                filled[n] = filled[n].max(level.next_up());
                meet(&mut front, n, filled[n]);
            }
        }
    }
    let receiver: Vec<u32> = (0..cells)
        .map(|i| {
            let falls = grid.around(i).map(|(n, length)| (n, (filled[i] - filled[n]) / length));
            falls.fold((i, 0.0), |best, fall| if fall.1 > best.1 { fall } else { best }).0 as u32
        })
        .collect();
    let mut area = vec![1u32; cells];
    for &i in upstream.iter().rev() {
        let to = receiver[i as usize];
        if to != i {
            area[to as usize] += area[i as usize];
        }
    }
    Drainage { filled, receiver, area, upstream }
}

/// Streams of one Strahler order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Order {
    /// How many there are.
    pub streams: u32,
    /// Their mean length, cells.
    pub mean_length: f64,
}

/// A network of streams.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// Length of streams per area, 1 / cells.
    pub drainage_density: f64,
    /// Streams by Strahler order, beginning with the first order.
    pub orders: Vec<Order>,
    /// The number of streams of an order over that of the next order: the mean of all pairs of orders, weighted by their streams.
    /// Land has 3 to 5. `None` if all streams are of one order.
    pub bifurcation_ratio: Option<f64>,
    /// The mean length of the streams of an order over that of the order below, weighted in the same way. Land has 1.5 to 3.5.
    pub length_ratio: Option<f64>,
    /// The θ of slope ~ area⁻ᶿ along streams outside depressions, fitted to the mean slopes of the octaves of area. Land has 0.3
    /// to 0.6. `None` if fewer than three octaves have 16 cells.
    pub concavity: Option<f64>,
}

/// The network of the cells that at least `threshold` cells drain through, on a map `width` cells wide.
pub fn network(drainage: &Drainage, width: usize, threshold: u32) -> Network {
    let cells = drainage.area.len();
    let streams = || drainage.upstream.iter().rev().map(|&i| i as usize).filter(|&i| drainage.area[i] >= threshold);
    let way = |i: usize| {
        let to = drainage.receiver[i] as usize;
        let diagonal = to % width != i % width && to / width != i / width;
        (
            to,
            if to == i {
                0.0
            } else if diagonal {
                SQRT_2
            } else {
                1.0
            },
        )
    };
    // The highest order that joins at a cell, and the number of streams of that order.
    let mut joins = vec![(0u8, 0u8); cells];
    let mut found: Vec<(u32, f64)> = vec![];
    // By octave of area: cells, sum of slopes, sum of logarithms of area.
    let mut octaves = [(0usize, 0.0, 0.0); 32];
    for i in streams() {
        let (highest, count) = joins[i];
        let order = if count == 1 { highest } else { highest + 1 };
        let (to, length) = way(i);
        found.resize(found.len().max(order.into()), (0, 0.0));
        let of_order = &mut found[order as usize - 1];
        of_order.0 += (order > highest) as u32;
        of_order.1 += length;
        if to == i {
            continue;
        }
        let join = &mut joins[to];
        match order.cmp(&join.0) {
            Ordering::Greater => *join = (order, 1),
            Ordering::Equal => join.1 += 1,
            Ordering::Less => {}
        }
        let fall = (drainage.filled[i] - drainage.filled[to]) / length;
        if fall > FALL_MIN {
            let octave = &mut octaves[drainage.area[i].ilog2() as usize];
            octave.0 += 1;
            octave.1 += fall;
            octave.2 += (drainage.area[i] as f64).ln();
        }
    }
    let orders: Vec<Order> =
        found.iter().map(|&(streams, length)| Order { streams, mean_length: length / streams.max(1) as f64 }).collect();
    let weighted = |ratio: fn(&Order, &Order) -> f64| {
        let pairs = || orders.windows(2).filter(|p| p[0].mean_length > 0.0 && p[1].streams > 0);
        let weight = |p: &[Order]| (p[0].streams + p[1].streams) as f64;
        let whole: f64 = pairs().map(weight).sum();
        (whole > 0.0).then(|| pairs().map(|p| ratio(&p[0], &p[1]) * weight(p)).sum::<f64>() / whole)
    };
    let points: Vec<(f64, f64)> = octaves
        .iter()
        .filter(|o| o.0 >= CELLS_MIN)
        .map(|&(n, slopes, areas)| (areas / n as f64, (slopes / n as f64).ln()))
        .collect();
    Network {
        drainage_density: found.iter().map(|f| f.1).sum::<f64>() / cells as f64,
        bifurcation_ratio: weighted(|low, high| low.streams as f64 / high.streams as f64),
        length_ratio: weighted(|low, high| high.mean_length / low.mean_length),
        concavity: (points.len() >= 3).then(|| -steepness(&points)),
        orders,
    }
}

/// The slope of the line through points with different abscissas, by least squares.
fn steepness(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let of = |f: fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - mx, p.1 - my)).sum::<f64>();
    of(|x, y| x * y) / of(|x, _| x * x)
}

/// The strength and the directions of a map's waves of 2 to 16 cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spectrum {
    /// Root mean square height of the waves of 2 to 4 cells, in cells.
    pub roughness_2_4: f64,
    /// The same for waves of 4 to 8 cells.
    pub roughness_4_8: f64,
    /// The same for waves of 8 to 16 cells.
    pub roughness_8_16: f64,
    /// Power of waves that run along an axis (within 5.6°), where 1 is the mean of all directions.
    pub axis_share: f64,
    /// The same for waves that run along a diagonal.
    pub diagonal_share: f64,
    /// The same for each direction, in steps of 11.25°: from waves that run east through those that run south-east and south.
    pub directions: [f64; DIRECTIONS],
}

/// The spectrum of a map: the Fourier transform of its heights after the best plane is subtracted, under a Hann window.
///
/// Land has far more power in long waves than in short ones. So that all wavelengths have the same weight, power is divided by
/// the mean of its ring (an eighth of an octave) before directions are compared, and the three octaves have equal weights. A ring
/// with almost no power counts as the same in all directions.
pub fn spectrum(grid: Grid) -> Spectrum {
    let (w, d) = (grid.width, grid.depth);
    let power = power(grid);
    let mut modes = vec![];
    for y in 0..d {
        // Half of the plane of wave vectors: the other half is its mirror image.
        for x in 0..=w / 2 {
            let (fx, fy) = (x as f64 / w as f64, if y > d / 2 { y as f64 - d as f64 } else { y as f64 } / d as f64);
            let octave = (16.0 * (fx * fx + fy * fy).sqrt()).log2();
            if !(0.0..=OCTAVES as f64).contains(&octave) || x == 0 && fy < 0.0 {
                continue;
            }
            // A wave of two cells is its own mirror image.
            let weight = if fx.max(fy) == 0.5 { 1.0 } else { 2.0 };
            let ring = ((octave * RINGS as f64) as usize).min(OCTAVES * RINGS - 1);
            let direction = (fy.atan2(fx) / PI * DIRECTIONS as f64).round().rem_euclid(DIRECTIONS as f64) as usize;
            modes.push((ring, direction, weight, power[y * w + x]));
        }
    }
    let mut rings = [(0.0, 0.0); OCTAVES * RINGS];
    for &(ring, _, weight, power) in &modes {
        rings[ring].0 += weight;
        rings[ring].1 += weight * power;
    }
    let mut shares = [[(0.0, 0.0); DIRECTIONS]; OCTAVES];
    for &(ring, direction, weight, power) in &modes {
        let (count, sum) = rings[ring];
        let share = &mut shares[ring / RINGS][direction];
        share.0 += weight;
        share.1 += weight * if sum / count > EMPTY { power * count / sum } else { 1.0 };
    }
    let mut directions = [0.0; DIRECTIONS];
    for (k, of) in directions.iter_mut().enumerate() {
        let octaves: Vec<f64> = shares.iter().map(|s| s[k]).filter(|s| s.0 > 0.0).map(|(count, sum)| sum / count).collect();
        *of = octaves.iter().sum::<f64>() / octaves.len().max(1) as f64;
    }
    let mean = (directions.iter().sum::<f64>() / DIRECTIONS as f64).max(f64::MIN_POSITIVE);
    let directions = directions.map(|of| of / mean);
    let roughness = |octave: usize| (rings[octave * RINGS..][..RINGS].iter().map(|r| r.1).sum::<f64>() / (w * d) as f64).sqrt();
    let two = |first: usize| (directions[first] + directions[first + DIRECTIONS / 2]) / 2.0;
    Spectrum {
        roughness_2_4: roughness(2),
        roughness_4_8: roughness(1),
        roughness_8_16: roughness(0),
        axis_share: two(0),
        diagonal_share: two(DIRECTIONS / 4),
        directions,
    }
}

/// The power of each wave, in the order of the transform, scaled so that noise of variance 1 has mean power 1.
fn power(grid: Grid) -> Vec<f64> {
    let (w, d) = (grid.width, grid.depth);
    let centred = |i: usize, n: usize| i as f64 - (n - 1) as f64 / 2.0;
    let mean = grid.height.iter().sum::<f64>() / (w * d) as f64;
    // Coordinates from the centre are orthogonal, so the plane's slopes can be fitted one by one.
    let fit = |axis: &dyn Fn(usize) -> f64| {
        let (top, bottom) = grid
            .height
            .iter()
            .enumerate()
            .fold((0.0, 0.0), |(top, bottom), (i, h)| (top + axis(i) * (h - mean), bottom + axis(i) * axis(i)));
        if bottom > 0.0 { top / bottom } else { 0.0 }
    };
    let (slope_x, slope_y) = (fit(&|i| centred(i % w, w)), fit(&|i| centred(i / w, d)));
    let hann = |n: usize| -> Vec<f64> { (0..n).map(|i| ((i as f64 + 0.5) * PI / n as f64).sin().powi(2)).collect() };
    let (across, down) = (hann(w), hann(d));
    let mut waves: Vec<Complex<f64>> = (0..w * d)
        .map(|i| {
            let (x, y) = (i % w, i / w);
            let h = grid.height[i] - mean - slope_x * centred(x, w) - slope_y * centred(y, d);
            Complex::new(h * across[x] * down[y], 0.0)
        })
        .collect();
    let mut planner = FftPlanner::new();
    let (rows, columns): (Arc<dyn Fft<f64>>, Arc<dyn Fft<f64>>) = (planner.plan_fft_forward(w), planner.plan_fft_forward(d));
    rows.process(&mut waves);
    let mut turned: Vec<Complex<f64>> = (0..w * d).map(|i| waves[i % d * w + i / d]).collect();
    columns.process(&mut turned);
    let window: f64 = across.iter().map(|a| a * a).sum::<f64>() * down.iter().map(|a| a * a).sum::<f64>();
    (0..w * d).map(|i| turned[i % w * d + i / w].norm_sqr() / window).collect()
}

/// The figures of one map. The field names are also those in tables and JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Mean height, cells.
    pub mean: f64,
    /// The highest height minus the lowest, in cells.
    pub relief: f64,
    /// The height below which a tenth of the cells lie, above the lowest height and as a share of the relief.
    pub hypsometric_p10: f64,
    /// The same for half of the cells.
    pub hypsometric_p50: f64,
    /// The same for nine tenths of the cells.
    pub hypsometric_p90: f64,
    /// The mean height above the lowest, as a share of the relief.
    pub hypsometric_integral: f64,
    /// The slope that a tenth of the cells stay below, in rise per cell.
    pub slope_p10: f64,
    /// The same for half of the cells.
    pub slope_p50: f64,
    /// The same for nine tenths of the cells.
    pub slope_p90: f64,
    /// The same for all but one cell in a hundred.
    pub slope_p99: f64,
    /// The streams, which have at least [`STREAM_CELLS`].
    #[serde(flatten)]
    pub network: Network,
    /// The share of the inner cells that are lower than all of their eight neighbours.
    pub pits: f64,
    /// The share of the cells that lie in depressions.
    pub closed: f64,
    /// The share of the cells that lie more than half a cell below the outlet of their depression.
    pub depressions: f64,
    /// The mean depth to which all depressions together would fill before they run over, in cells.
    pub fill: f64,
    /// The share of the cells that drain over the border at one cell, the most at any.
    pub catchment: f64,
    /// Root mean square of the Laplacian over the inner cells, in cells.
    pub speckle: f64,
    /// The same over the inner stream cells.
    pub valley_speckle: Option<f64>,
    /// Root mean square of the second difference of the ground along streams, from the larger tributary to the receiver, in cells.
    pub bed_roughness: Option<f64>,
    /// The share of the cells that are plain: with a slope of at most [`PLAIN_SLOPE`] over 17 × 17 cells.
    pub plains: f64,
    /// The difference between the means of 3 × 3 and of 17 × 17 cells, in cells: its median over the plain cells, so that hills on
    /// a plain do not count.
    pub hummocks: Option<f64>,
    /// The magnitude of the Laplacian, in cells: its median over the plain cells.
    pub plain_speckle: Option<f64>,
    /// The waves.
    #[serde(flatten)]
    pub spectrum: Spectrum,
}

/// All figures of a map.
///
/// # Errors
/// [`Error::Param`] if a side is under [`SIDE_MIN`] cells.
pub fn statistics(grid: Grid) -> Result<Statistics> {
    let Grid { height, width, depth } = grid;
    if width.min(depth) < SIDE_MIN {
        return Err(Error::param(format!(
            "a map of {width} x {depth} cells is too small for statistics, which need {SIDE_MIN} x {SIDE_MIN} or more"
        )));
    }
    let cells = height.len() as f64;
    let mut heights = height.to_vec();
    heights.sort_by(f64::total_cmp);
    let (lowest, relief) = (heights[0], heights[heights.len() - 1] - heights[0]);
    let share = |h: f64| if relief > 0.0 { (h - lowest) / relief } else { 0.0 };
    let mean = height.iter().sum::<f64>() / cells;
    let mut slopes: Vec<f64> = (0..height.len()).map(|i| grid.slope(i)).collect();
    slopes.sort_by(f64::total_cmp);
    let drained = drainage(grid);
    let is_stream = |i: usize| drained.area[i] >= STREAM_CELLS;
    let pits = grid.inside(1).filter(|&i| grid.around(i).all(|(n, _)| height[i] < height[n])).count();
    let inner = (width - 2) * (depth - 2);
    let closed = height.iter().zip(&drained.filled).filter(|(h, filled)| filled > h).count();
    let depths = || height.iter().zip(&drained.filled).map(|(h, filled)| filled - h);
    let (plains, hummocks, plain_speckle) = plains(grid);
    Ok(Statistics {
        mean,
        relief,
        hypsometric_p10: share(quantile(&heights, 0.1)),
        hypsometric_p50: share(quantile(&heights, 0.5)),
        hypsometric_p90: share(quantile(&heights, 0.9)),
        hypsometric_integral: share(mean),
        slope_p10: quantile(&slopes, 0.1),
        slope_p50: quantile(&slopes, 0.5),
        slope_p90: quantile(&slopes, 0.9),
        slope_p99: quantile(&slopes, 0.99),
        network: network(&drained, width, STREAM_CELLS),
        pits: pits as f64 / inner as f64,
        closed: closed as f64 / cells,
        depressions: depths().filter(|depth| *depth > 0.5).count() as f64 / cells,
        fill: depths().sum::<f64>() / cells,
        catchment: drained.area.iter().copied().max().unwrap_or(0) as f64 / cells,
        speckle: rms(grid.inside(1).map(|i| grid.laplacian(i))).unwrap_or(0.0),
        valley_speckle: rms(grid.inside(1).filter(|&i| is_stream(i)).map(|i| grid.laplacian(i))),
        bed_roughness: bed_roughness(grid, &drained),
        plains,
        hummocks,
        plain_speckle,
        spectrum: spectrum(grid),
    })
}

/// The value below which a share of sorted values lies, with linear interpolation between them.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

fn rms(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0usize, 0.0), |(count, sum), v| (count + 1, sum + v * v));
    (count > 0).then(|| (sum / count as f64).sqrt())
}

fn bed_roughness(grid: Grid, drained: &Drainage) -> Option<f64> {
    // The tributary with the largest area, and among equals the first.
    let mut main = vec![u32::MAX; grid.height.len()];
    for (i, &to) in drained.receiver.iter().enumerate() {
        let rival = main[to as usize] as usize;
        if to as usize != i && (rival == u32::MAX as usize || drained.area[i] > drained.area[rival]) {
            main[to as usize] = i as u32;
        }
    }
    let h = grid.height;
    rms((0..h.len()).filter_map(|i| {
        let (from, to) = (main[i] as usize, drained.receiver[i] as usize);
        let bed = from != u32::MAX as usize && to != i && drained.area[from] >= STREAM_CELLS;
        bed.then(|| h[from] - 2.0 * h[i] + h[to])
    }))
}

/// The share of the cells that are plain, their hummocks, and their speckle.
fn plains(grid: Grid) -> (f64, Option<f64>, Option<f64>) {
    const WIDE: usize = 8;
    let (fine, coarse) = (means(grid, 1), means(grid, WIDE));
    let smooth = Grid { height: &coarse, ..grid };
    // The gradient of the means needs one more cell.
    let plain: Vec<usize> = grid.inside(WIDE + 1).filter(|&i| smooth.slope(i) <= PLAIN_SLOPE).collect();
    let median = |of: &dyn Fn(usize) -> f64| {
        let mut sizes: Vec<f64> = plain.iter().map(|&i| of(i).abs()).collect();
        sizes.sort_by(f64::total_cmp);
        (!sizes.is_empty()).then(|| quantile(&sizes, 0.5))
    };
    let all = grid.inside(WIDE + 1).count().max(1);
    (plain.len() as f64 / all as f64, median(&|i| fine[i] - coarse[i]), median(&|i| grid.laplacian(i)))
}

/// Means of the (2 r + 1)² cells around each cell, without those beyond the border.
fn means(grid: Grid, r: usize) -> Vec<f64> {
    let line = |from: &[f64], n: usize, start: usize, step: usize, to: &mut [f64]| {
        let mut sums = Vec::with_capacity(n + 1);
        sums.push(0.0);
        for k in 0..n {
            sums.push(sums[k] + from[start + k * step]);
        }
        for k in 0..n {
            let (low, high) = (k.saturating_sub(r), (k + r + 1).min(n));
            to[start + k * step] = (sums[high] - sums[low]) / (high - low) as f64;
        }
    };
    let mut rows = vec![0.0; grid.height.len()];
    let mut both = rows.clone();
    for y in 0..grid.depth {
        line(grid.height, grid.width, y * grid.width, 1, &mut rows);
    }
    for x in 0..grid.width {
        line(&rows, grid.depth, x, grid.width, &mut both);
    }
    both
}

/// How a map changed. Heights are in cells, and means are over all cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Change {
    /// The mean height that was worn away.
    pub worn: f64,
    /// The mean height that was laid down.
    pub laid: f64,
    /// Half the sum of the two: the mean height that moved, if no ground left the map.
    pub moved: f64,
    /// The mean change of height; negative if ground left the map.
    pub mean_change: f64,
    /// The share of the inner cells that are covered by sediment: at least [`SEDIMENT_MIN`] was laid down there.
    pub sediment: f64,
    /// The magnitude of the Laplacian, in cells: its median over the inner cells covered by sediment.
    pub sediment_speckle: Option<f64>,
    /// The same for the ninth decile.
    pub sediment_speckle_p90: Option<f64>,
}

/// Compares a map before and after a change.
///
/// # Errors
/// [`Error::Param`] if the two differ in size.
pub fn change(before: Grid, after: Grid) -> Result<Change> {
    if (before.width, before.depth) != (after.width, after.depth) {
        return Err(Error::param(format!(
            "a map of {} x {} cells cannot be compared with one of {} x {}",
            before.width, before.depth, after.width, after.depth
        )));
    }
    let rise = |i: usize| after.height[i] - before.height[i];
    let (all, cells) = (0..after.height.len(), after.height.len() as f64);
    let worn = all.clone().map(|i| (-rise(i)).max(0.0)).sum::<f64>() / cells;
    let laid = all.map(|i| rise(i).max(0.0)).sum::<f64>() / cells;
    let under = after.inside(1).filter(|&i| rise(i) >= SEDIMENT_MIN);
    let mut sizes: Vec<f64> = under.map(|i| after.laplacian(i).abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let below = |part: f64| (!sizes.is_empty()).then(|| quantile(&sizes, part));
    Ok(Change {
        worn,
        laid,
        moved: (worn + laid) / 2.0,
        mean_change: laid - worn,
        sediment: sizes.len() as f64 / after.inside(1).count().max(1) as f64,
        sediment_speckle: below(0.5),
        sediment_speckle_p90: below(0.9),
    })
}
