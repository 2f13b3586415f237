//! What a job of tiles costs, and the side of tiles that suits the memory.

use super::grid::Axis;
use super::{Cut, MEMORY, SIDES, Tiles, levels_of};
use crate::error::{Error, Result};
use crate::exec::Executor;
use crate::job::Job;
use crate::job::part::grown;
use crate::site::{Site, Window};
use crate::stage::levels::{coarser, lattice};
use std::collections::BTreeMap;
use std::time::Instant;

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
    /// Bytes of memory that the work on one tile takes, and what lies in memory meanwhile of tiles that were made before.
    pub bytes: u64,
}

/// What the tiles of a part of a land cost, the finest level first.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// How the levels are cut.
    pub cut: Cut,
    /// The levels.
    pub levels: Vec<LevelCost>,
}

impl Cost {
    /// How much more is worked than without halos: 0.5 for half as much again.
    pub fn redundant(&self) -> f64 {
        let once: f64 = self.levels.iter().map(|level| level.passes as f64 * level.cells).sum();
        self.work() / once.max(1.0) - 1.0
    }

    /// Passes over cells, halos included.
    pub fn work(&self) -> f64 {
        self.levels.iter().map(|level| level.passes as f64 * level.worked).sum()
    }

    /// Bytes of memory that the job takes at most.
    pub fn bytes(&self) -> u64 {
        PROGRAM + self.levels.iter().map(|level| level.bytes).max().unwrap_or(0)
    }

    /// How many tiles are made.
    pub fn tiles(&self) -> u64 {
        self.levels.iter().map(|level| level.tiles).sum()
    }
}

/// How much more work smaller tiles may be than the best: they take less memory, and less is lost when a run is ended.
const ENOUGH: f64 = 1.2;

/// Passes over cells after which a device's pace is known: some tenths of a second.
const ENOUGH_TO_TIME: f64 = 3e7;
/// Passes over cells that take longer than anybody waits for a figure.
const TOO_MUCH_TO_TIME: f64 = 1e9;

/// Bytes that the program takes before it makes anything.
const PROGRAM: u64 = 28 << 20;

impl Tiles {
    /// What the tiles over a window of a level cost, with those of coarser levels that they need, where none is in a store.
    ///
    /// # Errors
    /// [`Error::Param`] for a side that is none of [`SIDES`], [`Error::Limit`] for stages that reach farther than numbers do.
    pub fn cost(job: &Job, cut: impl Into<Cut>, level: i32, window: &Window) -> Result<Cost> {
        let cut = cut.into();
        cut.check()?;
        let (mut need, mut levels, mut sizes) = (*window, vec![], vec![]);
        let windows = cut.windows(job)?;
        need = grown(&need, job.recipe().looks_round(level), job.bounds(level).as_ref())?;
        let coarsest = level.max(*levels_of(job).end());
        for level in level..=coarsest {
            let (halo, bounds) = (job.reach_on(level), job.bounds(level));
            let piece = windows.get(&level);
            need = piece.copied().unwrap_or(need);
            // Columns and rows can be summed up apart.
            let along = |axis: usize| {
                let cut = Axis::new(cut.side(), piece.or(bounds.as_ref()), axis);
                let land = bounds.map(|b| [b.origin[axis], b.origin[axis] + i64::from([b.width, b.height][axis])]);
                let clip = |at: i64| land.map_or(at, |[low, high]| at.clamp(low, high));
                let by = halo.min(1 << 40) as i64;
                let tiles = cut.over(need.origin[axis], [need.width, need.height][axis]);
                let (mut cells, mut worked, mut longest, mut largest) = (0i64, 0i64, 0i64, 0i64);
                for (first, count) in tiles.clone().filter_map(|tile| cut.cells(tile)) {
                    let wide = clip(first + i64::from(count) + by) - clip(first - by);
                    (cells, worked) = (cells + i64::from(count), worked + wide);
                    (longest, largest) = (longest.max(wide), largest.max(i64::from(count)));
                }
                ((tiles.end() - tiles.start() + 1) as u64, cells as f64, worked as f64, longest as u64, largest as u64)
            };
            let (x, y) = (along(0), along(1));
            let PerCell { bytes, kept, passes } = per_cell(job, level);
            levels.push(LevelCost {
                level,
                tiles: x.0 * y.0,
                cells: x.1 * y.1,
                worked: x.2 * y.2,
                halo,
                longest: x.3.max(y.3),
                passes,
                bytes: 0,
            });
            sizes.push([x.3 as f64 * y.3 as f64, x.4 as f64 * y.4 as f64, bytes, kept, job.leaves(level) as f64]);
            if level < coarsest {
                need = coarser(&grown(&need, halo + u64::from(cut.side().unwrap_or(0)), bounds.as_ref())?, false);
            }
        }
        // While a tile is made, what it is made from lies beside it, and so does that of each finer level that waits for it.
        let mut waiting = 0.0;
        let leaves: Vec<f64> = sizes.iter().map(|[.., leaves]| *leaves).collect();
        for (n, [wide, own, each, kept, leaves_here]) in sizes.into_iter().enumerate() {
            waiting += wide / 4.0 * leaves.get(n + 1).unwrap_or(&0.0);
            // Tiles that were made before it are remembered.
            let before: f64 = levels.iter().zip(&leaves).skip(n).map(|(level, leaves)| level.cells * leaves).sum();
            let before = before - own * leaves_here;
            // While it is read, a map as wide as its window lies beside it.
            let read = wide * (kept + 4.0) + own * leaves_here;
            levels[n].bytes = ((wide * each).max(read) + waiting + before.min(MEMORY as f64)) as u64;
        }
        Ok(Cost { cut, levels })
    }

    /// Passes over cells that a device does in a second, measured on a tile of a coarse level: what [`Cost::work`] is to be divided by for the seconds
    /// that a job takes. It takes some tenths of a second to some seconds; none where already one small tile would take longer.
    ///
    /// # Errors
    /// As [`Tiles::piece`].
    pub fn pace(job: &Job, window: &Window, level: i32, executor: &mut dyn Executor) -> Result<Option<f64>> {
        const SIDE: u32 = 256;
        let mut tiles = Self::new(job.clone(), SIDE)?;
        let coarsest = *tiles.levels().end();
        let centre = |level: i32| {
            let of = lattice(window, level, false);
            let at = [0, 1].map(|a| of.origin[a] + i64::from([of.width, of.height][a] / 2));
            Window { origin: at, width: 1, height: 1 }
        };
        let mut found = (level, 0.0);
        for level in (level..=coarsest).rev() {
            let Some(tile) = tiles.over(level, &centre(level)).next() else { continue };
            found = (level, Self::cost(job, SIDE, level, &tiles.window(tile)?)?.work());
            if found.1 >= ENOUGH_TO_TIME {
                break;
            }
        }
        let (level, work) = found;
        if work > TOO_MUCH_TO_TIME {
            return Ok(None);
        }
        let begun = Instant::now();
        for tile in tiles.over(level, &centre(level)).collect::<Vec<_>>() {
            tiles.piece(tile, executor)?;
        }
        Ok(Some(work / begun.elapsed().as_secs_f64().max(1e-9)))
    }

    /// The side of tiles that suits a job: of those that fit into the memory the smallest that is little more work than the best.
    ///
    /// # Errors
    /// [`Error::Limit`] if not even the smallest tiles fit, with the level that reaches farthest.
    pub fn choose_side(job: &Job, level: i32, window: &Window, memory: u64) -> Result<Cost> {
        Self::choose_of(job, level, window, memory, vec![])
    }

    /// The cut that suits a window of a level that is wanted alone: as [`Tiles::choose_side`], or the window in one piece, where that fits and tiles
    /// are much more work.
    ///
    /// # Errors
    /// As [`Tiles::choose_side`].
    pub fn choose(job: &Job, level: i32, window: &Window, memory: u64) -> Result<Cost> {
        Self::choose_of(job, level, window, memory, vec![Cut::Part { level, window: *window }])
    }

    fn choose_of(job: &Job, level: i32, window: &Window, memory: u64, others: Vec<Cut>) -> Result<Cost> {
        let sides = (8..=14).flat_map(|bits| [1u32 << bits, 3 << (bits - 1)]).filter(|side| SIDES.contains(side));
        let cuts = sides.map(Cut::Squares).chain(others);
        let costs: Vec<Cost> = cuts.map(|cut| Self::cost(job, cut, level, window)).collect::<Result<_>>()?;
        let longest = u64::from(Window::SIDE_MAX);
        let fits = |cost: &&Cost| cost.bytes() <= memory && cost.levels.iter().all(|level| level.longest <= longest);
        let least = costs.iter().filter(fits).map(Cost::work).fold(f64::INFINITY, f64::min);
        if let Some(cost) = costs.iter().filter(fits).find(|cost| cost.work() <= ENOUGH * least) {
            return Ok(cost.clone());
        }
        // The smallest tiles have the smallest windows.
        let cost = &costs[0];
        let worst = cost.levels.iter().max_by_key(|level| level.bytes);
        let (level, halo, bytes) = worst.map_or((0, 0, 0), |worst| (worst.level, worst.halo, worst.bytes));
        Err(Error::Limit(format!(
            "{} cells need {} MiB and {} MiB are allowed: the stages of level {level} reach {halo} cells, so one of its tiles takes {} MiB; lower lifetime or rain on that level, or allow more memory",
            cost.cut,
            cost.bytes() >> 20,
            memory >> 20,
            bytes >> 20,
        )))
    }
}

/// What a level takes for each of its cells: bytes of memory at most, bytes of what is there at its end, and passes.
struct PerCell {
    bytes: f64,
    kept: f64,
    passes: u64,
}

fn per_cell(job: &Job, level: i32) -> PerCell {
    const SIDE: u32 = 512;
    let (mut bytes, mut passes, mut kept) = (0, 0, BTreeMap::new());
    for i in job.parts_of(level) {
        let site = job.site(i);
        let window = Window { width: SIDE, height: SIDE, ..site.window };
        let plan = job.plan_at(i, &Site { window, ..site });
        bytes = bytes.max(plan.bytes_beside(&mut kept));
        passes += plan.passes.iter().map(|pass| u64::from(pass.count)).sum::<u64>() / u64::from(SIDE * SIDE);
    }
    let each = |bytes: u64| bytes as f64 / f64::from(SIDE * SIDE);
    PerCell { bytes: each(bytes), kept: each(kept.values().sum()), passes }
}
