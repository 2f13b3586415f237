//! What a job of tiles costs, and the side of tiles that suits the memory.

use super::grid::Axis;
use super::{MEMORY, SIDES, Tiles};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::job::part::grown;
use crate::site::{Site, Window};
use crate::stage::levels::coarser;

/// What the tiles of a level cost.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelCost {
    /// The level.
    pub level: i32,
    /// How many tiles are needed.
    pub tiles: u64,
    /// Cells that they have.
    pub cells: f64,
    /// Cells that are worked on, halos included.
    pub worked: f64,
    /// Cells on every side of a tile that its stages reach.
    pub halo: u64,
    /// Cells of the longest side of a tile with its halo.
    pub longest: u64,
    /// Passes over each cell.
    pub passes: u64,
    /// Bytes of memory that the work on one tile takes at most.
    pub bytes: u64,
}

/// What the tiles of a part of a land cost, the finest level first.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Cells of a side of a tile.
    pub side: u32,
    /// The levels.
    pub levels: Vec<LevelCost>,
}

impl Cost {
    /// How much more is worked than without halos: 0.5 for half as much again.
    pub fn redundant(&self) -> f64 {
        let sum = |of: fn(&LevelCost) -> f64| self.levels.iter().map(|level| level.passes as f64 * of(level)).sum::<f64>();
        sum(|level| level.worked) / sum(|level| level.cells).max(1.0) - 1.0
    }

    /// Bytes of memory that the job takes at most.
    pub fn bytes(&self) -> u64 {
        MEMORY + self.levels.iter().map(|level| level.bytes).max().unwrap_or(0)
    }

    /// How many tiles are made.
    pub fn tiles(&self) -> u64 {
        self.levels.iter().map(|level| level.tiles).sum()
    }
}

/// Redundant work at which larger tiles gain little.
const ENOUGH: f64 = 0.5;

impl Tiles {
    /// What the tiles over a window of a level cost, with those of coarser levels that they need, where none is in a store.
    ///
    /// # Errors
    /// [`Error::Limit`] for stages that reach farther than numbers do.
    pub fn cost(job: &Job, side: u32, level: i32, window: &Window) -> Result<Cost> {
        let (mut need, mut levels) = (*window, vec![]);
        let coarsest = level.max(job.recipe().finest() + job.levels() as i32 - 1);
        for level in level..=coarsest {
            let (halo, bounds) = (job.reach_on(level), job.bounds(level));
            // Columns and rows can be summed up apart.
            let along = |axis: usize| {
                let cut = Axis::new(side, bounds.as_ref(), axis);
                let land = bounds.map(|b| [b.origin[axis], b.origin[axis] + i64::from([b.width, b.height][axis])]);
                let clip = |at: i64| land.map_or(at, |[low, high]| at.clamp(low, high));
                let by = halo.min(1 << 40) as i64;
                let tiles = cut.over(need.origin[axis], [need.width, need.height][axis]);
                let (mut cells, mut worked, mut longest) = (0i64, 0i64, 0i64);
                for (first, count) in tiles.clone().filter_map(|tile| cut.cells(tile)) {
                    let wide = clip(first + i64::from(count) + by) - clip(first - by);
                    (cells, worked, longest) = (cells + i64::from(count), worked + wide, longest.max(wide));
                }
                ((tiles.end() - tiles.start() + 1) as u64, cells as f64, worked as f64, longest as u64)
            };
            let (x, y) = (along(0), along(1));
            let (bytes_per_cell, passes) = per_cell(job, level);
            levels.push(LevelCost {
                level,
                tiles: x.0 * y.0,
                cells: x.1 * y.1,
                worked: x.2 * y.2,
                halo,
                longest: x.3.max(y.3),
                passes,
                bytes: (x.3 as f64 * y.3 as f64 * bytes_per_cell) as u64,
            });
            if level < coarsest {
                need = coarser(&grown(&need, halo + u64::from(side), bounds.as_ref())?, false);
            }
        }
        Ok(Cost { side, levels })
    }

    /// The side of tiles that suits a job: the smallest of which halos cost little, or the largest that fits into the memory.
    ///
    /// # Errors
    /// [`Error::Limit`] if not even the smallest tiles fit, with the level that reaches farthest.
    pub fn choose(job: &Job, level: i32, window: &Window, memory: u64) -> Result<Cost> {
        let mut best = None;
        for side in (8..=14).map(|bits| 1u32 << bits).filter(|side| SIDES.contains(side)) {
            let cost = Self::cost(job, side, level, window)?;
            let fits = cost.bytes() <= memory && cost.levels.iter().all(|l| l.longest <= u64::from(Window::SIDE_MAX));
            if fits {
                let enough = cost.redundant() <= ENOUGH;
                best = Some(cost);
                if enough {
                    break;
                }
            } else if best.is_none() {
                let worst = cost.levels.iter().max_by_key(|level| level.bytes);
                let (level, halo, bytes) = worst.map_or((0, 0, 0), |l| (l.level, l.halo, l.bytes));
                return Err(Error::Limit(format!(
                    "tiles of {side} cells need {} MiB and {} MiB are allowed: the stages of level {level} reach {halo} cells, so one of its tiles takes {} MiB; lower lifetime or rain on that level, or allow more memory",
                    cost.bytes() >> 20,
                    memory >> 20,
                    bytes >> 20,
                )));
            }
        }
        best.ok_or_else(|| Error::Limit("no side of tiles fits".into()))
    }
}

/// Bytes of memory for each cell of a level at most, and passes over it.
fn per_cell(job: &Job, level: i32) -> (f64, u64) {
    const SIDE: u32 = 512;
    let (mut bytes, mut passes) = (0.0f64, 0);
    for i in job.parts_of(level) {
        let site = job.site(i);
        let window = Window { width: SIDE, height: SIDE, ..site.window };
        let plan = job.plan_at(i, &Site { window, ..site });
        // What is read back lies beside the buffers.
        bytes = bytes.max(plan.bytes() as f64 * 1.25 / f64::from(SIDE * SIDE));
        passes += plan.passes.iter().map(|pass| u64::from(pass.count)).sum::<u64>() / u64::from(SIDE * SIDE);
    }
    (bytes, passes)
}
