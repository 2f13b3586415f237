//! Statistics of a height map: figures that show whether it looks like land shaped by water, and
//! what real land has.
//!
//! Lengths, areas and heights are in cells, slopes in rise per cell where no unit is named. Every
//! figure depends on the heights alone. Missing cells (NaN) lie outside the land: water leaves the
//! land beside them, and a figure that needs a neighbourhood is that of the cells whose
//! neighbourhood is there. Logarithms and angles come from the system's library, so the last digits
//! may differ between systems. A figure that has no meaning, because there are no rivers or no
//! plains, is `None`; no figure is NaN or infinite. [`FIGURES`] lists those that have been measured
//! on real land.
//!
//! ```
//! use thalweg::quality::{FIGURES, Grid, statistics};
//!
//! // A ridge of 40 x 40 cells, in cells of height.
//! let x = |i: usize| 20.0 - (i % 40) as f64;
//! let height: Vec<f64> = (0..1600).map(|i| 9.0 - x(i).abs() / 2.0).collect();
//! let figures = statistics(Grid::new(&height, 40, 40)?)?;
//! assert_eq!(figures.depressions, 0.0);
//! for figure in FIGURES {
//!     println!("{}: {:?}, real land {:?}", figure.name, (figure.of)(&figures), figure.real);
//! }
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! Sources: R. Barnes, C. Lehman, D. Mulla, *Priority-flood*, 2014 (depressions); J. F.
//! O'Callaghan, D. M. Mark, *The extraction of drainage networks from digital elevation data*, 1984
//! (D8); R. E. Horton, *Erosional development of streams and their drainage basins*, 1945, and A.
//! N. Strahler, *Quantitative analysis of watershed geomorphology*, 1957 (orders and their ratios);
//! J. T. Hack, *Studies of longitudinal stream profiles in Virginia and Maryland*, 1957 (length and
//! area); J.-J. Flint, *Stream gradient as a function of order, magnitude, and discharge*, 1974
//! (concavity); J. T. Perron, L. Royden, *An integral approach to bedrock river profile analysis*,
//! 2013 (χ); J. Jasiewicz, T. F. Stepinski, *Geomorphons*, 2013 (forms).

mod drainage;
mod forms;
mod land;
mod network;
mod spectrum;

pub use drainage::{Drainage, drainage};
pub use forms::{Forms, LEVEL_DEG, SIGHT, forms};
pub use land::{FIGURES, Figure};
pub use network::{Network, Order, channel_cells, network};
pub use spectrum::{DIRECTIONS, Spectrum, spectrum};

use crate::map::Map;
use crate::{Error, Result};
use drainage::way;
use rayon::prelude::*;
use serde::Serialize;
use std::f64::consts::SQRT_2;

/// The smallest side of a map for [`statistics`], in cells: two waves of 16 cells.
pub const SIDE_MIN: usize = 32;
/// Streams of [`Statistics::drainage_density`], `valley_speckle` and `bed_roughness` are cells with
/// at least this drainage area.
pub const STREAM_CELLS: u32 = 256;
/// A cell counts as plain up to this mean slope over 17 × 17 cells.
pub const PLAIN_SLOPE: f64 = 0.05;
/// A cell counts as covered by sediment from this thickness on, in cells of height.
pub const SEDIMENT_MIN: f64 = 0.25;

/// Distances of the variogram, in cells.
const LAGS: [usize; 5] = [2, 4, 8, 16, 32];

/// A height map: row-major, y south, heights in cells of its spacing, NaN where there is none.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    height: &'a [f64],
    width: usize,
    depth: usize,
    has_missing: bool,
}

/// The heights of a map in cells, for [`Grid::new`]: NaN in the samples that are missing, which
/// count from the north-west corner.
pub fn in_cells(map: &Map, missing: &[usize]) -> Vec<f64> {
    let mut cells: Vec<f64> =
        map.data.iter().map(|&metres| f64::from(metres) / map.spacing_m).collect();
    missing.iter().for_each(|&at| cells[at] = f64::NAN);
    cells
}

impl<'a> Grid<'a> {
    /// A map of `width * depth` heights. Cells that are NaN are missing.
    ///
    /// # Errors
    /// [`Error::Param`] if the number of heights is another, if a side is 0, if there are 2³² cells
    /// or more, or if a height is infinite.
    pub fn new(height: &'a [f64], width: usize, depth: usize) -> Result<Self> {
        if width == 0
            || depth == 0
            || width.checked_mul(depth) != Some(height.len())
            // Cells have numbers of 32 bits, of which the largest stands for none.
            || height.len() >= u32::MAX as usize
        {
            return Err(Error::param(format!(
                "{} heights for a map of {width} x {depth} cells",
                height.len()
            )));
        }
        match height.iter().find(|h| h.is_infinite()) {
            Some(h) => Err(Error::param(format!(
                "a height is {h}: expected finite numbers, or NaN where there is none"
            ))),
            None => {
                Ok(Self { height, width, depth, has_missing: height.iter().any(|h| h.is_nan()) })
            }
        }
    }

    /// The neighbours of cell `i` that are on the map, from the north-west row by row, with their
    /// distances.
    fn around(self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let (x, y) = (i % self.width, i / self.width);
        let offsets = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];
        offsets.into_iter().filter_map(move |(dx, dy): (isize, isize)| {
            let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
            let length = if dx != 0 && dy != 0 { SQRT_2 } else { 1.0 };
            (x < self.width && y < self.depth).then_some((y * self.width + x, length))
        })
    }

    /// The cells of the land.
    fn land(self) -> impl Iterator<Item = usize> {
        (0..self.height.len()).filter(move |&i| !self.height[i].is_nan())
    }

    /// The cells that are at least `margin` cells from the border of the map.
    fn within(self, margin: usize) -> impl Iterator<Item = usize> {
        let columns = margin..self.width.saturating_sub(margin);
        (margin..self.depth.saturating_sub(margin))
            .flat_map(move |y| columns.clone().map(move |x| y * self.width + x))
    }

    /// Whether a cell of the land touches what is outside: the border of the map, or a missing
    /// cell.
    fn on_edge(self, i: usize) -> bool {
        let (x, y) = (i % self.width, i / self.width);
        let border = x == 0 || y == 0 || x + 1 == self.width || y + 1 == self.depth;
        !self.height[i].is_nan()
            && (border || self.has_missing && self.around(i).any(|(n, _)| self.height[n].is_nan()))
    }

    /// The cells of the land that do not touch what is outside.
    fn inside(self) -> impl Iterator<Item = usize> {
        self.within(1)
            .filter(move |&i| !self.has_missing || !self.height[i].is_nan() && !self.on_edge(i))
    }

    /// The length of the gradient at cell `i`, by central differences; NaN beside missing cells.
    /// The cell must not be on the border.
    fn slope(self, i: usize) -> f64 {
        let h = self.height;
        let (gx, gy) = ((h[i + 1] - h[i - 1]) / 2.0, (h[i + self.width] - h[i - self.width]) / 2.0);
        (gx * gx + gy * gy).sqrt()
    }

    /// The sum of the four nearest neighbours minus four times the height, at a cell that is not on
    /// the border.
    fn laplacian(self, i: usize) -> f64 {
        let h = self.height;
        h[i - 1] + h[i + 1] + h[i - self.width] + h[i + self.width] - 4.0 * h[i]
    }
}

/// The figures of one map. The field names are also those in tables and JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Mean height, cells.
    pub mean: f64,
    /// The highest height minus the lowest, in cells.
    pub relief: f64,
    /// The height below which a tenth of the cells lie, above the lowest height and as a share of
    /// the relief.
    pub hypsometric_p10: f64,
    /// The same for half of the cells.
    pub hypsometric_p50: f64,
    /// The same for nine tenths of the cells.
    pub hypsometric_p90: f64,
    /// The mean height above the lowest, as a share of the relief.
    pub hypsometric_integral: f64,
    /// The slope that a tenth of the cells stay below, in rise per cell. Slopes are those of the
    /// cells that touch neither the border nor a missing cell, by central differences.
    pub slope_p10: f64,
    /// The same for half of the cells.
    pub slope_p50: f64,
    /// The same for nine tenths of the cells.
    pub slope_p90: f64,
    /// The same for all but one cell in a hundred.
    pub slope_p99: f64,
    /// The standard deviation of slopes over their mean, both of angles. `None` if all are 0.
    pub slope_variation: Option<f64>,
    /// Length of streams per area, 1 / cells: of cells with [`STREAM_CELLS`] or more.
    pub drainage_density: f64,
    /// The rivers, which begin at [`channel_cells`].
    #[serde(flatten)]
    pub network: Network,
    /// The share of the cells inside the land that are lower than all of their eight neighbours.
    pub pits: f64,
    /// The share of the cells inside the land that lie in depressions.
    pub closed: f64,
    /// The share of the cells inside the land that lie more than half a cell below the outlet of
    /// their depression.
    pub depressions: f64,
    /// The same for a twentieth of a cell.
    pub depressions_shallow: f64,
    /// The mean depth to which all depressions together would fill before they run over, in cells.
    pub fill: f64,
    /// The share of the cells that drain out of the land at one cell, the most at any.
    pub catchment: f64,
    /// The share of ridges and of valleys together among [`Forms`]. `None` if no cell can look far
    /// enough.
    pub ridges_and_valleys: Option<f64>,
    /// The shares of all forms.
    pub forms: Option<Forms>,
    /// The exponent H of the variogram, which grows as distance²ᴴ: the line through the logarithms
    /// at 2, 4, 8, 16 and 32 cells. The variogram is the mean of those along rows and columns.
    /// `None` if the map is too small, or level.
    pub hurst: Option<f64>,
    /// Root mean square of the Laplacian over the cells inside the land, in cells.
    pub speckle: f64,
    /// The skewness of the Laplacian over the same cells: above 0 where valleys are sharper than
    /// crests, below 0 where crests are. `None` if it is the same everywhere.
    pub laplacian_skew: Option<f64>,
    /// Root mean square of the Laplacian over the stream cells inside the land, in cells.
    pub valley_speckle: Option<f64>,
    /// Root mean square of the second difference of the ground along streams, from the larger
    /// tributary to the receiver, in cells.
    pub bed_roughness: Option<f64>,
    /// The share of the cells that are plain: with a slope of at most [`PLAIN_SLOPE`] over 17 × 17
    /// cells.
    pub plains: f64,
    /// The difference between the means of 3 × 3 and of 17 × 17 cells, in cells: its median over
    /// the plain cells, so that hills on a plain do not count.
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
/// [`Error::Param`] if a side is under [`SIDE_MIN`] cells, or if no cell has eight neighbours.
pub fn statistics(grid: Grid) -> Result<Statistics> {
    let Grid { height, width, .. } = grid;
    let inside = inside(grid)?;
    // The flood is one thread's work, and takes about as long as the rest.
    let ((drained, network), (spectrum, (forms, texture))) = rayon::join(
        || {
            let drained = drainage(grid);
            let network = network(&drained, width, channel_cells(grid.land().count()));
            (drained, network)
        },
        || {
            rayon::join(
                || spectrum(grid),
                || rayon::join(|| forms(grid), || texture(grid, &inside)),
            )
        },
    );
    let (heights, slopes, (plains, hummocks, plain_speckle)) = texture;
    let cells = heights.len() as f64;
    let (lowest, relief) = (heights[0], heights[heights.len() - 1] - heights[0]);
    let share = |h: f64| if relief > 0.0 { (h - lowest) / relief } else { 0.0 };
    let mean = grid.land().map(|i| height[i]).sum::<f64>() / cells;
    let is_stream = |i: usize| drained.area[i] >= STREAM_CELLS;
    // Shares are of the cells that have all their neighbours.
    let part = |count: usize| count as f64 / inside.len() as f64;
    let deeper = |depth: f64| {
        part(inside.iter().filter(|&&i| drained.filled[i] - height[i] > depth).count())
    };
    let pits =
        inside.iter().filter(|&&i| grid.around(i).all(|(n, _)| height[i] < height[n])).count();
    let angles = || slopes.iter().map(|slope| slope.atan());
    let laplacians = || inside.iter().map(|&i| grid.laplacian(i));
    let streams = (0..height.len()).filter(|&i| is_stream(i));
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
        slope_variation: Moments::of(angles()).variation(),
        drainage_density: streams
            .map(|i| way(width, i, drained.receiver[i] as usize))
            .fold(0.0, |sum, way| sum + way)
            / cells,
        network,
        pits: part(pits),
        closed: deeper(0.0),
        depressions: deeper(0.5),
        depressions_shallow: deeper(0.05),
        fill: grid.land().map(|i| drained.filled[i] - height[i]).sum::<f64>() / cells,
        catchment: f64::from(drained.area.iter().copied().max().unwrap_or(0)) / cells,
        ridges_and_valleys: forms.map(|forms| forms.ridge + forms.valley),
        forms,
        hurst: hurst(grid),
        speckle: rms(laplacians()).unwrap_or(0.0),
        laplacian_skew: Moments::of(laplacians()).skew(),
        valley_speckle: rms(inside.iter().filter(|&&i| is_stream(i)).map(|&i| grid.laplacian(i))),
        bed_roughness: bed_roughness(grid, &drained),
        plains,
        hummocks,
        plain_speckle,
        spectrum,
    })
}

/// The cells with eight neighbours.
fn inside(grid: Grid) -> Result<Vec<usize>> {
    let Grid { width, depth, .. } = grid;
    if width.min(depth) < SIDE_MIN {
        return Err(Error::param(format!(
            "a map of {width} x {depth} cells is too small for statistics, which need {SIDE_MIN} x \
             {SIDE_MIN} or more"
        )));
    }
    let inside: Vec<usize> = grid.inside().collect();
    if inside.is_empty() {
        return Err(Error::param(format!(
            "of {width} x {depth} cells none has a height and eight neighbours with one; give a \
             map with more land"
        )));
    }
    Ok(inside)
}

/// What lies in the heights alone: heights and slopes from the lowest up, and figures of plains.
type Texture = (Vec<f64>, Vec<f64>, (f64, Option<f64>, Option<f64>));

fn texture(grid: Grid, inside: &[usize]) -> Texture {
    let mut heights: Vec<f64> = grid.land().map(|i| grid.height[i]).collect();
    heights.par_sort_unstable_by(f64::total_cmp);
    let mut slopes: Vec<f64> = inside.iter().map(|&i| grid.slope(i)).collect();
    slopes.par_sort_unstable_by(f64::total_cmp);
    (heights, slopes, plains(grid))
}

/// Mean, variance and third moment of some values.
struct Moments {
    mean: f64,
    variance: f64,
    third: f64,
}

impl Moments {
    fn of<I: Iterator<Item = f64> + Clone>(values: I) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let moment =
            |power: i32| values.clone().map(|v| (v - mean).powi(power)).sum::<f64>() / count;
        Self { mean, variance: moment(2), third: moment(3) }
    }

    /// The standard deviation over the mean.
    fn variation(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.variance.sqrt() / self.mean)
    }

    /// The skewness. A variance that is nothing but rounding has none.
    fn skew(&self) -> Option<f64> {
        (self.variance > 1e-24).then(|| self.third / self.variance.powf(1.5))
    }
}

/// The slope of the line through points with different abscissas, by least squares.
fn line(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) =
        (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let of = |f: fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - mx, p.1 - my)).sum::<f64>();
    of(|x, y| x * y) / of(|x, _| x * x)
}

/// The exponent of the variogram.
fn hurst(grid: Grid) -> Option<f64> {
    let (h, w) = (grid.height, grid.width);
    let mean = |pairs: &mut dyn Iterator<Item = (usize, usize)>| {
        // A pair counts where both cells have a height.
        let differences = pairs.map(|(a, b)| h[a] - h[b]).filter(|d| !d.is_nan());
        rms(differences).map(|rms| rms * rms)
    };
    let point = |lag: usize| {
        let along = mean(&mut (0..h.len()).filter(|i| i % w + lag < w).map(|i| (i, i + lag)))?;
        let down = mean(&mut (0..h.len().saturating_sub(lag * w)).map(|i| (i, i + lag * w)))?;
        let both = (along + down) / 2.0;
        (both > 0.0).then(|| ((lag as f64).ln(), both.ln()))
    };
    let points: Vec<(f64, f64)> = LAGS.into_iter().map(point).collect::<Option<_>>()?;
    Some(line(&points) / 2.0)
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
        if to as usize != i && (rival == u32::MAX as usize || drained.area[i] > drained.area[rival])
        {
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
    let inner =
        || grid.within(WIDE + 1).filter(|&i| !grid.height[i].is_nan() && !smooth.slope(i).is_nan());
    let plain: Vec<usize> = inner().filter(|&i| smooth.slope(i) <= PLAIN_SLOPE).collect();
    let median = |of: &dyn Fn(usize) -> f64| {
        let mut sizes: Vec<f64> =
            plain.iter().map(|&i| of(i).abs()).filter(|size| !size.is_nan()).collect();
        sizes.sort_by(f64::total_cmp);
        (!sizes.is_empty()).then(|| quantile(&sizes, 0.5))
    };
    (
        plain.len() as f64 / inner().count().max(1) as f64,
        median(&|i| fine[i] - coarse[i]),
        median(&|i| grid.laplacian(i)),
    )
}

/// Means of the (2 r + 1)² cells around each cell, without those that are missing or beyond the
/// border; NaN in missing cells and where there are none.
fn means(grid: Grid, r: usize) -> Vec<f64> {
    let sums = |from: &[f64], n: usize, start: usize, step: usize, to: &mut [f64]| {
        // Sums from the beginning on: the sum of a run is the difference of two.
        let mut sums = Vec::with_capacity(n + 1);
        sums.push(0.0);
        for k in 0..n {
            sums.push(sums[k] + from[start + k * step]);
        }
        for k in 0..n {
            to[start + k * step] = sums[(k + r + 1).min(n)] - sums[k.saturating_sub(r)];
        }
    };
    let around = |values: Vec<f64>| {
        let (mut rows, mut both) = (vec![0.0; values.len()], vec![0.0; values.len()]);
        (0..grid.depth).for_each(|y| sums(&values, grid.width, y * grid.width, 1, &mut rows));
        (0..grid.width).for_each(|x| sums(&rows, grid.depth, x, grid.width, &mut both));
        both
    };
    let known = |of: fn(f64) -> f64| {
        around(grid.height.iter().map(|&h| if h.is_nan() { 0.0 } else { of(h) }).collect())
    };
    let (heights, counts) = (known(|h| h), known(|_| 1.0));
    let mean = |i: usize| if grid.height[i].is_nan() { f64::NAN } else { heights[i] / counts[i] };
    (0..heights.len()).map(mean).collect()
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
    /// The share of the inner cells that are covered by sediment: at least [`SEDIMENT_MIN`] was
    /// laid down there.
    pub sediment: f64,
    /// The magnitude of the Laplacian, in cells: its median over the inner cells covered by
    /// sediment.
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
    let (all, cells) = (0..after.height.len(), after.land().count().max(1) as f64);
    // The larger of a NaN and 0 is 0, so missing cells add nothing.
    let worn = all.clone().map(|i| (-rise(i)).max(0.0)).sum::<f64>() / cells;
    let laid = all.map(|i| rise(i).max(0.0)).sum::<f64>() / cells;
    let under = after.inside().filter(|&i| rise(i) >= SEDIMENT_MIN);
    let mut sizes: Vec<f64> = under.map(|i| after.laplacian(i).abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let below = |part: f64| (!sizes.is_empty()).then(|| quantile(&sizes, part));
    Ok(Change {
        worn,
        laid,
        moved: (worn + laid) / 2.0,
        mean_change: laid - worn,
        sediment: sizes.len() as f64 / after.inside().count().max(1) as f64,
        sediment_speckle: below(0.5),
        sediment_speckle_p90: below(0.9),
    })
}
