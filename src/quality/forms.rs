//! Geomorphons: what the ground looks like from a cell.

use super::Grid;
use rayon::prelude::*;
use serde::Serialize;
use std::f64::consts::SQRT_2;

/// How far lines of sight go from a cell, in cells along axes and along diagonals.
pub const SIGHT: usize = 20;
/// Up to this angle between what is seen up and what is seen down a direction is level, in degrees.
pub const LEVEL_DEG: f64 = 1.0;

/// The forms, in the order of [`Forms`].
const NAMES: usize = 10;
const FLAT: u8 = 0;
const PEAK: u8 = 1;
const RIDGE: u8 = 2;
const SHOULDER: u8 = 3;
const SPUR: u8 = 4;
const SLOPE: u8 = 5;
const HOLLOW: u8 = 6;
const FOOT: u8 = 7;
const VALLEY: u8 = 8;
const PIT: u8 = 9;
/// No form: more than eight directions, or a line of sight that leaves the land.
const NONE: u8 = 10;

/// The form for each number of lower directions, and for each number of higher ones.
#[rustfmt::skip]
const TABLE: [[u8; 9]; 9] = [
    [FLAT, FLAT, FLAT, FOOT, FOOT, VALLEY, VALLEY, VALLEY, PIT],
    [FLAT, FLAT, FOOT, FOOT, FOOT, VALLEY, VALLEY, VALLEY, NONE],
    [FLAT, SHOULDER, SLOPE, SLOPE, HOLLOW, HOLLOW, VALLEY, NONE, NONE],
    [SHOULDER, SHOULDER, SLOPE, SLOPE, SLOPE, HOLLOW, NONE, NONE, NONE],
    [SHOULDER, SHOULDER, SPUR, SLOPE, SLOPE, NONE, NONE, NONE, NONE],
    [RIDGE, RIDGE, SPUR, SPUR, NONE, NONE, NONE, NONE, NONE],
    [RIDGE, RIDGE, RIDGE, NONE, NONE, NONE, NONE, NONE, NONE],
    [RIDGE, RIDGE, NONE, NONE, NONE, NONE, NONE, NONE, NONE],
    [PEAK, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE],
];

/// The ten commonest forms of J. Jasiewicz and T. F. Stepinski, 2013, as shares of the cells that
/// can look [`SIGHT`] cells in all eight directions without leaving the land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Forms {
    /// Level ground.
    pub flat: f64,
    /// Higher than what is seen in all directions.
    pub peak: f64,
    /// Higher than what lies on both sides.
    pub ridge: f64,
    /// Level ground that falls away on one side.
    pub shoulder: f64,
    /// A rib of a slope.
    pub spur: f64,
    /// Even slopes.
    pub slope: f64,
    /// A furrow of a slope.
    pub hollow: f64,
    /// Level ground below a slope.
    pub footslope: f64,
    /// Lower than what lies on both sides.
    pub valley: f64,
    /// Lower than what is seen in all directions.
    pub pit: f64,
}

/// The form of each cell, row by row.
///
/// From a cell one looks [`SIGHT`] cells in eight directions. A direction is higher if the steepest
/// angle up outweighs the steepest angle down by more than [`LEVEL_DEG`], lower if it is the other
/// way round, and level else.
fn cells(grid: Grid) -> Vec<u8> {
    let (width, depth) = (grid.width, grid.depth);
    let limit = LEVEL_DEG.to_radians().tan();
    let mut forms = vec![NONE; width * depth];
    if width <= 2 * SIGHT || depth <= 2 * SIGHT {
        return forms;
    }
    let inner = SIGHT..width - SIGHT;
    forms
        .par_chunks_mut(width)
        .enumerate()
        .filter(|(y, _)| (SIGHT..depth - SIGHT).contains(y))
        .for_each(|(y, forms)| {
            let n = inner.len();
            let here = &grid.height[y * width..][inner.clone()];
            let (mut higher, mut lower) = (vec![0u8; n], vec![0u8; n]);
            let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
            for (dx, dy) in
                [(-1isize, -1isize), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)]
            {
                up.fill(f64::NEG_INFINITY);
                down.fill(f64::INFINITY);
                for k in 1..=SIGHT {
                    let length = k as f64 * if dx != 0 && dy != 0 { SQRT_2 } else { 1.0 };
                    let row = y.wrapping_add_signed(dy * k as isize);
                    let there = &grid.height
                        [row * width + SIGHT.wrapping_add_signed(dx * k as isize)..][..n];
                    for i in 0..n {
                        let slope = (there[i] - here[i]) / length;
                        up[i] = if slope > up[i] { slope } else { up[i] };
                        down[i] = if slope < down[i] { slope } else { down[i] };
                    }
                    // Lines that leave the land say nothing.
                    if grid.has_missing {
                        there
                            .iter()
                            .zip(&mut higher)
                            .for_each(|(h, higher)| *higher |= if h.is_nan() { 0x80 } else { 0 });
                    }
                }
                for i in 0..n {
                    // The sum of two angles is over a third: by their tangents, without arcs.
                    let (a, b) = (up[i], down[i]);
                    let over = |sign: f64| {
                        // The tangent of the sum is (a + b) / (1 − a b), and below a b = 1 the sum
                        // is under a right angle.
                        if a * b < 1.0 {
                            sign * (a + b) > limit * (1.0 - a * b)
                        } else {
                            sign * a > 0.0
                        }
                    };
                    higher[i] += u8::from(over(1.0));
                    lower[i] += u8::from(over(-1.0));
                }
            }
            for (i, form) in forms[inner.clone()].iter_mut().enumerate() {
                if higher[i] <= 8 && !here[i].is_nan() {
                    *form = TABLE[usize::from(lower[i])][usize::from(higher[i])];
                }
            }
        });
    forms
}

/// The shares of forms; none if no cell can look far enough.
pub fn forms(grid: Grid) -> Option<Forms> {
    let mut counts = [0usize; NAMES];
    for form in cells(grid).into_iter().filter(|form| *form != NONE) {
        counts[usize::from(form)] += 1;
    }
    let all: usize = counts.iter().sum();
    let share = |form: u8| counts[usize::from(form)] as f64 / all as f64;
    (all > 0).then(|| Forms {
        flat: share(FLAT),
        peak: share(PEAK),
        ridge: share(RIDGE),
        shoulder: share(SHOULDER),
        spur: share(SPUR),
        slope: share(SLOPE),
        hollow: share(HOLLOW),
        footslope: share(FOOT),
        valley: share(VALLEY),
        pit: share(PIT),
    })
}
