//! Cells of an input that have no height: they lie outside the land.
//!
//! While the land is made, they are filled with ground that continues the land beside them, so that
//! no stage sees a cliff where there is none: a membrane that is stretched between the coasts (each
//! height is the mean of the four beside it), and that is lower the farther it is from a coast, so
//! that water leaves. The number that a file has there changes nothing. When the land is done,
//! these cells have no value in any map.
//!
//! So a coast is no border as that of the map is: stages see the filled ground, and material moves
//! across the coast both ways. The books of a stage count what has come to lie beyond it as
//! exported (see [`StageReport::exported_m3`](super::StageReport)). A border like that of the map,
//! with its rooms, spills and folds, would have to be known to each kernel of the particles, and
//! each would read one more buffer.

use super::Job;
use crate::arith::CELL;
use crate::site::{HEIGHT_MAX, Window};
use rayon::prelude::*;
use std::sync::Arc;

/// The ground outside falls by this part of a cell from cell to cell, for this many cells from a
/// coast.
const FALL: f64 = 0.02;
const FALL_CELLS: u32 = 256;
/// The number of times that each height is replaced by the mean of those beside it, on each lattice
/// from coarse to fine.
const SWEEPS: usize = 32;
/// The coarsest lattice has at most this many cells a side.
const COARSEST: usize = 2;

/// The cells of an input that have no height.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    /// The input's window.
    land: Window,
    /// Whether a cell is one of them.
    cells: Arc<[bool]>,
}

impl Missing {
    /// Those of a window; none where there are none. `numbers` count from the north-west corner.
    pub fn of(land: Window, numbers: &[usize]) -> Option<Self> {
        let mut cells = vec![false; land.cells()];
        for at in numbers {
            cells.get_mut(*at).into_iter().for_each(|cell| *cell = true);
        }
        (!numbers.is_empty()).then(|| Self { land, cells: cells.into() })
    }

    /// Whether each cell of the input is one of them.
    pub fn cells(&self) -> &[bool] {
        &self.cells
    }

    /// The cells of a window of a level that are outside, counted from the north-west corner, in
    /// ascending order. A coarser cell is outside if its sample has no height, a finer one if the
    /// sample nearest to it has none.
    pub fn at(&self, level: i32, window: &Window) -> Vec<usize> {
        let place = |axis: usize, at: u32| {
            let at = window.origin[axis] + i64::from(at);
            let own = match level {
                0.. => at << level.min(40),
                // Half a cell is added, so that the shift leads to the nearest sample.
                _ => (at + (1 << (-level - 1).min(40))) >> (-level).min(40),
            };
            let last = i64::from([self.land.width, self.land.height][axis]) - 1;
            (own - self.land.origin[axis]).clamp(0, last) as usize
        };
        let columns: Vec<usize> = (0..window.width).map(|x| place(0, x)).collect();
        let row = |y: u32| {
            let (first, own) = (y as usize * columns.len(), place(1, y) * self.land.width as usize);
            columns
                .iter()
                .enumerate()
                .filter(move |(_, column)| self.cells[own + **column])
                .map(move |(x, _)| first + x)
        };
        (0..window.height).into_par_iter().flat_map_iter(row).collect()
    }
}

impl Job {
    /// The cells of a window of a level that have no value, from the north-west corner, in
    /// ascending order.
    pub(crate) fn missing_at(&self, level: i32, window: &Window) -> Vec<usize> {
        self.missing.as_ref().map_or_else(Vec::new, |missing| missing.at(level, window))
    }

    /// How many cells of its input have no height.
    pub fn missing_cells(&self) -> usize {
        self.missing.as_ref().map_or(0, |missing| missing.cells().iter().filter(|is| **is).count())
    }
}

/// Gives missing cells a height: that of the membrane over them, less the fall away from the coast.
pub(super) fn continue_ground(words: &mut [i32], width: usize, missing: &[bool]) {
    let most = f64::from(HEIGHT_MAX) * f64::from(CELL);
    let ground: Vec<f64> = words.iter().map(|word| f64::from(*word)).collect();
    let ground = stretched(ground, width.max(1), missing);
    let far = distances(width.max(1), missing);
    // Cells that have a height lie at a distance of 0, and keep that height.
    for (word, (height, far)) in
        words.iter_mut().zip(ground.into_iter().zip(far)).filter(|(_, (_, far))| *far > 0)
    {
        *word =
            (height - FALL * f64::from(CELL) * f64::from(far)).clamp(-most, most).round() as i32;
    }
}

/// The number of steps along the axes to the nearest cell that is not missing, at most
/// [`FALL_CELLS`].
fn distances(width: usize, missing: &[bool]) -> Vec<u32> {
    let height = missing.len() / width;
    let mut far: Vec<u32> = missing.iter().map(|is| if *is { FALL_CELLS } else { 0 }).collect();
    let mut nearer = |at: usize, other: usize| far[at] = far[at].min(far[other] + 1);
    // Ways along the axes lead first down and then up, so two sweeps find the shortest.
    for y in 0..height {
        for x in 0..width {
            let at = y * width + x;
            if y > 0 {
                nearer(at, at - width);
            }
            if x > 0 {
                nearer(at, at - 1);
            }
        }
    }
    for y in (0..height).rev() {
        for x in (0..width).rev() {
            let at = y * width + x;
            if y + 1 < height {
                nearer(at, at + width);
            }
            if x + 1 < width {
                nearer(at, at + 1);
            }
        }
    }
    far
}

/// A membrane over missing cells. It begins as the membrane of a lattice of half as many cells a
/// side. Then each of its heights is replaced [`SWEEPS`] times by the mean of those beside it. All
/// of this is + and × of doubles, each cell by itself, so it is the same everywhere.
fn stretched(ground: Vec<f64>, width: usize, missing: &[bool]) -> Vec<f64> {
    let height = ground.len() / width;
    if width.max(height) <= COARSEST || !missing.contains(&true) {
        let known = || {
            ground.iter().zip(missing).filter(|(_, missing)| !**missing).map(|(height, _)| *height)
        };
        let mean = known().sum::<f64>() / known().count().max(1) as f64;
        return ground
            .iter()
            .zip(missing)
            .map(|(height, missing)| if *missing { mean } else { *height })
            .collect();
    }
    // The mean of the cells that are there, of two by two.
    let (wide, high) = (width.div_ceil(2), height.div_ceil(2));
    let block = |i: usize| {
        let (x, y) = (i % wide * 2, i / wide * 2);
        let cells = [(0, 0), (1, 0), (0, 1), (1, 1)]
            .into_iter()
            .filter(|(dx, dy)| x + dx < width && y + dy < height);
        let known = cells.map(|(dx, dy)| (y + dy) * width + x + dx).filter(|at| !missing[*at]);
        let (sum, count) =
            known.fold((0.0, 0u32), |(sum, count), at| (sum + ground[at], count + 1));
        // A block without any height is missing on the coarser lattice, too.
        if count == 0 { (0.0, true) } else { (sum / f64::from(count), false) }
    };
    let (coarse, coarse_missing): (Vec<f64>, Vec<bool>) =
        (0..wide * high).into_par_iter().map(block).unzip();
    let coarse = stretched(coarse, wide, &coarse_missing);
    let mut now: Vec<f64> =
        (0..ground.len())
            .into_par_iter()
            .map(|at| {
                if missing[at] {
                    coarse[at / width / 2 * wide + at % width / 2]
                } else {
                    ground[at]
                }
            })
            .collect();
    let cells: Vec<usize> = (0..missing.len()).filter(|at| missing[*at]).collect();
    for _ in 0..SWEEPS {
        let mean = |at: &usize| {
            let (x, y) = (at % width, at / width);
            let beside = [
                (x > 0).then(|| now[at - 1]),
                (x + 1 < width).then(|| now[at + 1]),
                (y > 0).then(|| now[at - width]),
                (y + 1 < height).then(|| now[at + width]),
            ];
            let (sum, count) = beside
                .into_iter()
                .flatten()
                .fold((0.0, 0u32), |(sum, count), height| (sum + height, count + 1));
            sum / f64::from(count.max(1))
        };
        // All means are of the heights before, so the order of cells does not matter.
        let next: Vec<f64> = cells.par_iter().map(mean).collect();
        cells.iter().zip(next).for_each(|(at, height)| now[*at] = height);
    }
    now
}
