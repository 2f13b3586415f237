//! The strength and the directions of a map's waves.

use super::{Grid, line};
use rustfft::{Fft, FftPlanner, num_complex::Complex};
use serde::Serialize;
use std::f64::consts::PI;
use std::sync::Arc;

/// The number of [`Spectrum::directions`], which share a half turn.
pub const DIRECTIONS: usize = 16;

/// Octaves of the spectrum, from waves of 128 to 64 cells to those of 4 to 2 cells.
const OCTAVES: usize = 6;
/// The octaves of short waves: 16 to 8, 8 to 4, 4 to 2 cells.
const SHORT: std::ops::Range<usize> = 3..OCTAVES;
/// The octaves of long waves, as far as the map has two of their longest on its shorter side.
const LONG: std::ops::Range<usize> = 0..3;
/// The octaves that β is fitted to: 32 to 16, 16 to 8 cells.
const FITTED: std::ops::Range<usize> = 2..4;
/// Rings of the spectrum per octave.
const RINGS: usize = 8;
/// A ring of the spectrum with less power than this counts as empty, in cells²: well below the
/// square of a height unit.
const EMPTY: f64 = 1e-16;
/// The smallest side of a map with a figure for waves of 32 cells: two of them.
const SIDE_MIN: usize = 64;

/// The strength and the directions of a map's waves. On a land with missing cells it is that of a
/// rectangle without any: the largest, where no side counts for more than four times the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spectrum {
    /// Root mean square height of the waves of 2 to 4 cells, in cells.
    pub roughness_2_4: f64,
    /// The same for waves of 4 to 8 cells.
    pub roughness_4_8: f64,
    /// The same for waves of 8 to 16 cells.
    pub roughness_8_16: f64,
    /// β of power ~ frequency⁻ᵝ for waves of 8 to 32 cells: the line through the logarithms of the
    /// mean powers of 16 rings. `None` if a side is under 64 cells, or if a ring is empty.
    pub beta: Option<f64>,
    /// Power of waves of 2 to 16 cells that run along an axis (within 5.6°), where 1 is the mean of
    /// all directions.
    pub axis_share: f64,
    /// The same for waves that run along a diagonal.
    pub diagonal_share: f64,
    /// The same as `axis_share` for waves of 16 to 128 cells. Octaves whose longest waves are over
    /// half of the shorter side are left out; `None` if all are.
    pub axis_share_long: Option<f64>,
    /// The same for waves that run along a diagonal.
    pub diagonal_share_long: Option<f64>,
    /// As `axis_share` for each direction, in steps of 11.25°: from waves that run east through
    /// those that run south-east and south.
    pub directions: [f64; DIRECTIONS],
}

/// A wave: its ring and direction, how often it counts, the logarithm of its frequency, and its
/// power.
struct Wave {
    ring: usize,
    direction: usize,
    weight: f64,
    log_frequency: f64,
    power: f64,
}

/// A ring of waves: how many, and sums of powers and of logarithms of frequency.
#[derive(Clone, Copy, Default)]
struct Ring {
    weight: f64,
    power: f64,
    log_frequency: f64,
}

/// The spectrum of a map: the Fourier transform of its heights after the best plane is subtracted,
/// under a Hann window.
///
/// Land has far more power in long waves than in short ones. So that all wavelengths have the same
/// weight, power is divided by the mean of its ring (an eighth of an octave) before directions are
/// compared, and octaves have equal weights. A ring with almost no power counts as the same in all
/// directions.
pub fn spectrum(grid: Grid) -> Spectrum {
    let [left, top, w, d] =
        if grid.has_missing { whole(grid) } else { [0, 0, grid.width, grid.depth] };
    let heights: Vec<f64> = (top..top + d)
        .flat_map(|y| grid.height[y * grid.width + left..][..w].iter().copied())
        .collect();
    let power = power(&heights, w, d);
    let mut waves = vec![];
    for y in 0..d {
        // Half of the plane of wave vectors: the other half is its mirror image.
        for x in 0..=w / 2 {
            let (fx, fy) = (
                x as f64 / w as f64,
                if y > d / 2 { y as f64 - d as f64 } else { y as f64 } / d as f64,
            );
            let log_frequency = (fx * fx + fy * fy).sqrt().log2();
            // From 0, for waves of 128 cells, to 6, for those of 2.
            let octave = log_frequency + 1.0 + OCTAVES as f64;
            if !(0.0..=OCTAVES as f64).contains(&octave) || x == 0 && fy < 0.0 {
                continue;
            }
            // In these columns and on one axis a wave of two cells is its own mirror image.
            let weight = if 2 * x == w || x == 0 && 2 * y == d { 1.0 } else { 2.0 };
            let ring = ((octave * RINGS as f64) as usize).min(OCTAVES * RINGS - 1);
            let direction = (fy.atan2(fx) / PI * DIRECTIONS as f64)
                .round()
                .rem_euclid(DIRECTIONS as f64) as usize;
            waves.push(Wave { ring, direction, weight, log_frequency, power: power[y * w + x] });
        }
    }
    let mut rings = [Ring::default(); OCTAVES * RINGS];
    for wave in &waves {
        let ring = &mut rings[wave.ring];
        ring.weight += wave.weight;
        ring.power += wave.weight * wave.power;
        ring.log_frequency += wave.weight * wave.log_frequency;
    }
    let of = |octave: usize| &rings[octave * RINGS..][..RINGS];
    let roughness =
        |octave: usize| (of(octave).iter().map(|r| r.power).sum::<f64>() / (w * d) as f64).sqrt();
    let fitted = rings[FITTED.start * RINGS..FITTED.end * RINGS].iter();
    let points: Option<Vec<(f64, f64)>> = fitted
        .map(|r| {
            (r.power > EMPTY * r.weight)
                .then(|| (r.log_frequency / r.weight, (r.power / r.weight).log2()))
        })
        .collect();
    let short = directions(&waves, &rings, SHORT);
    // The longest waves of octave 0 have 128 cells.
    let first = LONG.start + LONG.take_while(|octave| (256 >> octave) > w.min(d)).count();
    let long = (first < LONG.end).then(|| directions(&waves, &rings, first..LONG.end));
    let two = |of: &[f64; DIRECTIONS], first: usize| (of[first] + of[first + DIRECTIONS / 2]) / 2.0;
    Spectrum {
        roughness_2_4: roughness(OCTAVES - 1),
        roughness_4_8: roughness(OCTAVES - 2),
        roughness_8_16: roughness(OCTAVES - 3),
        beta: points.filter(|_| w.min(d) >= SIDE_MIN).map(|points| -line(&points)),
        axis_share: two(&short, 0),
        diagonal_share: two(&short, DIRECTIONS / 4),
        axis_share_long: long.map(|long| two(&long, 0)),
        diagonal_share_long: long.map(|long| two(&long, DIRECTIONS / 4)),
        directions: short,
    }
}

/// The power of each direction in some octaves, where 1 is the mean.
fn directions(
    waves: &[Wave],
    rings: &[Ring],
    octaves: std::ops::Range<usize>,
) -> [f64; DIRECTIONS] {
    let mut shares = [[(0.0, 0.0); DIRECTIONS]; OCTAVES];
    for wave in waves.iter().filter(|wave| octaves.contains(&(wave.ring / RINGS))) {
        let Ring { weight, power, .. } = rings[wave.ring];
        let share = &mut shares[wave.ring / RINGS][wave.direction];
        share.0 += wave.weight;
        share.1 +=
            wave.weight * if power > EMPTY * weight { wave.power * weight / power } else { 1.0 };
    }
    let mut directions = [0.0; DIRECTIONS];
    for (k, of) in directions.iter_mut().enumerate() {
        let octaves: Vec<f64> = shares
            .iter()
            .map(|s| s[k])
            .filter(|s| s.0 > 0.0)
            .map(|(count, sum)| sum / count)
            .collect();
        *of = octaves.iter().sum::<f64>() / octaves.len().max(1) as f64;
    }
    let mean = (directions.iter().sum::<f64>() / DIRECTIONS as f64).max(f64::MIN_POSITIVE);
    directions.map(|of| of / mean)
}

/// A rectangle without missing cells, as west, north, width and depth: the first of the largest,
/// where no side counts for more than four times the other.
fn whole(grid: Grid) -> [usize; 4] {
    let size = |w: usize, d: usize| w.min(4 * d) * d.min(4 * w);
    let mut best = [0; 4];
    // The last column stays at 0, so it ends all rectangles that are open.
    let mut heights = vec![0usize; grid.width + 1];
    for y in 0..grid.depth {
        let row = &grid.height[y * grid.width..][..grid.width];
        row.iter()
            .zip(&mut heights)
            .for_each(|(h, height)| *height = if h.is_nan() { 0 } else { *height + 1 });
        // Columns that may still begin a rectangle, each lower than the next, and how far west it
        // goes.
        let mut open: Vec<(usize, usize)> = vec![];
        for (x, &height) in heights.iter().enumerate() {
            let mut west = x;
            while let Some((from, tall)) = open.pop_if(|(_, tall)| *tall >= height) {
                west = from;
                if size(x - from, tall) > size(best[2], best[3]) {
                    best = [from, y + 1 - tall, x - from, tall];
                }
            }
            open.push((west, height));
        }
    }
    best
}

/// The power of each wave, in the order of the transform, scaled so that noise of variance 1 has
/// mean power 1.
fn power(height: &[f64], w: usize, d: usize) -> Vec<f64> {
    let centred = |i: usize, n: usize| i as f64 - (n - 1) as f64 / 2.0;
    let mean = height.iter().sum::<f64>() / (w * d) as f64;
    // Coordinates from the centre are orthogonal, so the plane's slopes can be fitted one by one.
    let fit = |axis: &dyn Fn(usize) -> f64| {
        let (top, bottom) = height.iter().enumerate().fold((0.0, 0.0), |(top, bottom), (i, h)| {
            (top + axis(i) * (h - mean), bottom + axis(i) * axis(i))
        });
        if bottom > 0.0 { top / bottom } else { 0.0 }
    };
    let (slope_x, slope_y) = (fit(&|i| centred(i % w, w)), fit(&|i| centred(i / w, d)));
    let hann = |n: usize| -> Vec<f64> {
        (0..n).map(|i| ((i as f64 + 0.5) * PI / n as f64).sin().powi(2)).collect()
    };
    let (across, down) = (hann(w), hann(d));
    let mut waves: Vec<Complex<f64>> = (0..w * d)
        .map(|i| {
            let (x, y) = (i % w, i / w);
            let h = height[i] - mean - slope_x * centred(x, w) - slope_y * centred(y, d);
            Complex::new(h * across[x] * down[y], 0.0)
        })
        .collect();
    let mut planner = FftPlanner::new();
    let (rows, columns): (Arc<dyn Fft<f64>>, Arc<dyn Fft<f64>>) =
        (planner.plan_fft_forward(w), planner.plan_fft_forward(d));
    rows.process(&mut waves);
    // Turned, so that the values of a column lie side by side.
    let mut turned: Vec<Complex<f64>> = (0..w * d).map(|i| waves[i % d * w + i / d]).collect();
    columns.process(&mut turned);
    let window: f64 =
        across.iter().map(|a| a * a).sum::<f64>() * down.iter().map(|a| a * a).sum::<f64>();
    (0..w * d).map(|i| turned[i % w * d + i / w].norm_sqr() / window).collect()
}
