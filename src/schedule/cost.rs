//! What a schedule costs: memory, passes and cells of its units, of pieces of a land, and the cut
//! that suits the memory.

use super::axis::Axis;
use super::layout::{Cut, SIDES, Space, axes};
use super::per_cell::PerCell;
use super::{Schedule, Slab, padded};
use crate::error::{Error, Result};
use crate::plan::PASSES_MAX;
use crate::site::Window;
use crate::stage::levels::{coarser, lattice};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Bytes of pieces that are remembered at most, besides those that are in work.
pub(crate) const PIECES_BYTES: u64 = 256 << 20;

/// What the tiles of a level cost.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelCost {
    /// The level.
    pub level: i32,
    /// Slabs that its time is cut into.
    pub slabs: u32,
    /// How many tiles are needed, those of all slabs.
    pub tiles: u64,
    /// Cells of the part that is wanted, on this level.
    pub cells: f64,
    /// Cells that are worked on: those of the tiles, which may lie beyond the part, and their
    /// halos. What it takes to keep and to read the state between two slabs counts as cells, too.
    pub worked: f64,
    /// Cells on every side of a tile that its stages reach.
    pub halo: u64,
    /// Cells of the longest side of a tile with its halo.
    pub longest: u64,
    /// Passes over each cell.
    pub passes: u64,
    /// Bytes of memory that the work on one tile takes, and what lies in memory meanwhile of tiles
    /// that were made before.
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
    /// How much more is worked than on the cells of the part alone: 0.5 for half as much again.
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

    /// Bytes of memory that a process that makes tiles of one level takes at most.
    pub fn bytes_on(&self, level: i32) -> u64 {
        let of = self.levels.iter().find(|of| of.level == level);
        PROGRAM + of.map_or(0, |level| level.bytes)
    }

    /// How many tiles are made.
    pub fn tiles(&self) -> u64 {
        self.levels.iter().map(|level| level.tiles).sum()
    }
}

/// How much more work smaller tiles may be than the best: they take less memory, and less is lost
/// when a run is ended.
const ENOUGH: f64 = 1.2;

/// Steps of slabs that are tried, and most slabs of a level.
const SLABS: [u32; 3] = [256, 96, 32];
const SLABS_MOST: usize = 64;

/// Passes over a cell that keeping a cell's state, or reading it, takes as long as.
const STATE: f64 = 60.0;

/// Memory that remembered states take for each byte of theirs: they come and go between the buffers
/// of runs and leave gaps, 1.0 to 1.3 as measured with glibc 2.36.
const GAPS: f64 = 1.15;

/// Bytes that the program takes before it makes anything.
const PROGRAM: u64 = 24 << 20;

impl Schedule {
    /// The levels that pieces can be of, the finest first, however far the run goes.
    pub(super) fn all_levels(&self) -> RangeInclusive<i32> {
        let finest = self.recipe.finest();
        finest..=finest + self.levels() as i32 - 1
    }

    /// Bytes of memory that each unit needs, with what those before it have left and it does not
    /// touch, and its invocations: its work.
    pub fn costs(&self) -> Vec<(u64, f64)> {
        let mut kept = BTreeMap::new();
        let cost = |i: usize| {
            let plan = self.draft(i);
            (plan.bytes_beside(&mut kept), plan.count().invocations)
        };
        (0..self.units.len()).map(cost).collect()
    }

    /// Steps and passes of each unit.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.units.len()).map(|i| {
            let count = self.draft(i).count();
            (count.steps, count.passes)
        })
    }

    /// Bytes of main memory that finding the water needs when the stages are done, with what these
    /// have left; none if the recipe asks for no water.
    pub fn water_bytes(&self) -> Option<u64> {
        let settings = self.recipe.water.as_ref()?;
        let mut kept = BTreeMap::new();
        for i in 0..self.units.len() {
            self.draft(i).bytes_beside(&mut kept);
        }
        let cells = self.land().0.cells() as u64;
        // Springs are weights as rain is.
        let has_rain = self.recipe.has_rain() || !self.recipe.rivers().is_empty();
        Some(kept.values().sum::<u64>() + cells * settings.bytes_a_cell(has_rain))
    }

    /// Refuses a run of more passes than a plan is made of, whatever its window.
    pub(crate) fn check_passes(&self) -> Result<()> {
        let (mut all, mut most) = (0u64, (0, 0));
        for i in 0..self.units.len() {
            let own = self.draft_on_little(i).count().passes;
            all = all.saturating_add(own);
            most = most.max((own, i));
        }
        if all <= PASSES_MAX {
            return Ok(());
        }
        let (own, i) = most;
        Err(Error::over(
            format!(
                "the run has {all} passes: allowed are {PASSES_MAX}; {} has the most, {own}: lower \
                 its \
             steps, or what runs between them, \
             or make several runs of it, each with the last one's land as its input",
                self.place(i)
            ),
            all,
            PASSES_MAX,
            "passes",
        ))
    }

    /// What the tiles over a window of a level cost, with those of coarser levels that they need,
    /// where none is in a store.
    ///
    /// # Errors
    /// [`Error::Param`] for a side that is none of [`SIDES`], [`Error::Limit`] for stages that
    /// reach farther than numbers do.
    pub fn cost(&self, cut: impl Into<Cut>, level: i32, window: &Window) -> Result<Cost> {
        let cut = cut.into();
        cut.check()?;
        self.cost_of(cut.clone(), &self.facts(level, &cut), level, window)
    }

    fn cost_of(&self, cut: Cut, facts: &[Vec<Fact>], level: i32, window: &Window) -> Result<Cost> {
        let (mut need, mut levels, mut sizes) = (*window, vec![], vec![]);
        let (parts, finest) = (cut.parts(self)?, level);
        need = padded(&need, self.recipe().halo_of_maps(level), self.bounds(level).as_ref())?;
        let coarsest = level.max(*self.all_levels().end());
        for (level, slabs) in (level..=coarsest).zip(facts) {
            let (bounds, own) = (self.bounds(level), lattice(window, level - finest, false));
            let mut cost = LevelCost {
                level,
                slabs: slabs.len() as u32,
                tiles: 0,
                cells: own.cells() as f64,
                worked: 0.0,
                halo: 0,
                longest: 0,
                passes: 0,
                bytes: 0,
            };
            let mut work = 0.0;
            for (left, Fact { slab, halo, cell }) in (0..).zip(slabs) {
                let halo = *halo;
                let part = parts.get(&(level, left));
                need = part.map_or(need, |part| part.window);
                let axes = axes(&cut, part, bounds);
                // Columns and rows can be summed up apart.
                let along = |axis: usize| Along::of(axis, axes[axis], &need, bounds, halo);
                let (x, y) = (along(0), along(1));
                let PerCell { bytes, kept, passes, leaves, particles, walk } = *cell;
                cost.tiles += x.tiles * y.tiles;
                cost.halo = cost.halo.max(halo);
                cost.longest = cost.longest.max(x.longest).max(y.longest);
                cost.passes += passes;
                work += passes as f64 * x.worked * y.worked;
                // Each state is written once, and read with the halo of those that are made from
                // it.
                work += STATE * if slab.to.is_some() { x.cells * y.cells } else { 0.0 };
                work += STATE * if slab.from.is_some() { x.worked * y.worked } else { 0.0 };
                // Particles may have walked in from homes beyond the window.
                let [wide, beyond] =
                    [0, walk].map(|by| (x.longest + by) as f64 * (y.longest + by) as f64);
                sizes.push(Sizes {
                    level: levels.len(),
                    wide,
                    own: x.largest as f64 * y.largest as f64,
                    all: x.cells * y.cells * leaves,
                    homes: if slab.from.is_some() { (beyond - wide) * particles } else { 0.0 },
                    drops: if slab.from.is_some() { beyond * particles } else { 0.0 },
                    bytes,
                    kept,
                    leaves,
                    // A first slab is made from the coarser level, which has a quarter of the
                    // cells.
                    below: if slab.from.is_some() { 1.0 } else { 0.25 },
                    is_state: slab.to.is_some(),
                });
                // Tiles reach up to a side beyond what is needed, and their halos beyond that.
                need = padded(&need, halo + u64::from(cut.side().unwrap_or(0)), bounds.as_ref())?;
            }
            cost.worked = work / cost.passes.max(1) as f64;
            levels.push(cost);
            if level < coarsest {
                need = coarser(&need, false);
            }
        }
        add_memory(&mut levels, &sizes);
        Ok(Cost { cut, levels })
    }

    /// The side of tiles that suits a job: of those that fit into the memory the smallest that is
    /// little more work than the best. Time is cut into slabs of the steps that are asked for, and
    /// else where that is much less work.
    ///
    /// # Errors
    /// [`Error::Limit`] if not even the smallest tiles fit, with the level that reaches farthest.
    pub fn choose_side(
        &self,
        level: i32,
        window: &Window,
        memory: u64,
        slab: Option<u32>,
    ) -> Result<Cost> {
        self.choose_of(level, window, memory, slab, vec![])
    }

    /// The cut that suits a window of a level that is made alone: squares as
    /// [`Schedule::choose_side`] has them, or the window and what it depends on, in one piece or a
    /// few, where that is much less work.
    ///
    /// # Errors
    /// As [`Schedule::choose_side`].
    pub fn choose(
        &self,
        level: i32,
        window: &Window,
        memory: u64,
        slab: Option<u32>,
    ) -> Result<Cost> {
        // Pieces of about 512 x 512 cells to 16384 x 16384, and one piece of each level.
        let cells = (18..=28).map(|bits| 1 << bits).chain([u64::MAX]);
        self.choose_of(
            level,
            window,
            memory,
            slab,
            cells.map(|cells| Space::Region { level, window: *window, cells }.into()).collect(),
        )
    }

    fn choose_of(
        &self,
        level: i32,
        window: &Window,
        memory: u64,
        asked: Option<u32>,
        others: Vec<Cut>,
    ) -> Result<Cost> {
        // Powers of two from 256 on, and one and a half times each.
        let sides = (8..=14)
            .flat_map(|bits| [1u32 << bits, 3 << (bits - 1)])
            .filter(|side| SIDES.contains(side));
        let cuts: Vec<Cut> = sides.map(Cut::from).chain(others).collect();
        let costs_of = |slab: Option<u32>| -> Result<Vec<Cost>> {
            let cut = |space: &Cut| Cut { slab, ..space.clone() };
            // The facts depend on the cut in time alone, so those of one cut serve all.
            let facts = self.facts(level, &cut(&cuts[0]));
            let most = facts.iter().map(Vec::len).max().unwrap_or(0);
            // Slabs that nobody asked for are left out where they cut nothing, or into too many.
            if slab != asked && !(2..=SLABS_MOST).contains(&most) {
                return Ok(vec![]);
            }
            cuts.iter().map(|space| self.cost_of(cut(space), &facts, level, window)).collect()
        };
        let mut costs = costs_of(asked)?;
        let longest = u64::from(Window::SIDE_MAX);
        let fits = |cost: &&Cost| {
            cost.bytes() <= memory && cost.levels.iter().all(|level| level.longest <= longest)
        };
        let best = |costs: &[Cost]| {
            costs.iter().filter(fits).map(Cost::work).fold(f64::INFINITY, f64::min)
        };
        // States take room on disk, so time is cut only where that is much less work.
        let least = best(&costs);
        let others = SLABS.into_iter().filter(|_| asked.is_none());
        let in_slabs =
            others.map(|steps| costs_of(Some(steps))).collect::<Result<Vec<_>>>()?.concat();
        if best(&in_slabs) * ENOUGH < least {
            costs = in_slabs;
        }
        let least = best(&costs);
        // The smallest squares come first, so the first that is good enough has the smallest tiles.
        if let Some(mut cost) =
            costs.iter().filter(fits).find(|cost| cost.work() <= ENOUGH * least).cloned()
        {
            // One piece of each level is the same cut, whatever limit led to it.
            if cost.cut.side().is_none() && cost.levels.iter().all(|level| level.tiles == 1) {
                cost.cut = Cut::in_one_piece(level, *window);
            }
            return Ok(cost);
        }
        // The smallest tiles have the smallest windows.
        let cost = &costs[0];
        let worst = cost.levels.iter().max_by_key(|level| level.bytes);
        let (level, halo, bytes) =
            worst.map_or((0, 0, 0), |worst| (worst.level, worst.halo, worst.bytes));
        Err(Error::over(
            format!(
                "{} need {} MiB and {} MiB are allowed: the stages of level {level} reach {halo} \
             cells, so one of its tiles takes {} MiB; lower lifetime or rain on that level, or \
             allow more memory",
                cost.cut,
                cost.bytes() >> 20,
                memory >> 20,
                bytes >> 20,
            ),
            cost.bytes(),
            memory,
            "bytes",
        ))
    }

    /// What the tiles of each slab cost, of a level and of all coarser ones.
    pub(crate) fn tile_costs(&self, cut: &Cut, level: i32) -> BTreeMap<(i32, u32), TileCost> {
        let of = |(level, facts): (i32, Vec<Fact>)| {
            let cost = |Fact { slab, cell, .. }: Fact| TileCost {
                passes: cell.passes as f64,
                leaves: cell.leaves,
                writes: if slab.to.is_some() { STATE } else { 0.0 },
                reads: if slab.from.is_some() { STATE } else { 0.0 },
            };
            let slabs = (0..).zip(facts.into_iter().map(cost));
            slabs.map(move |(slab, cost)| ((level, slab), cost)).collect::<Vec<_>>()
        };
        (level..).zip(self.facts(level, cut)).flat_map(of).collect()
    }

    /// Passes over each cell that a level takes.
    pub(crate) fn passes_on(&self, level: i32) -> u64 {
        self.per_cell(level, &[Slab::WHOLE])[0].passes
    }

    /// The slabs of a level and of all coarser ones, each the last first.
    fn facts(&self, level: i32, cut: &Cut) -> Vec<Vec<Fact>> {
        let of = |level: i32| {
            let slabs = cut.slabs(self, level);
            let cells = self.per_cell(level, &slabs);
            let fact = |(slab, cell)| Fact { halo: self.reach_in(level, &slab), slab, cell };
            slabs.into_iter().zip(cells).map(fact).collect()
        };
        (level..=level.max(*self.all_levels().end())).map(of).collect()
    }
}

/// What a tile of a slab of a level costs: passes over each cell of its window with its halo, bytes
/// that each of its own cells leaves in a store, and the passes that it takes as long as to keep
/// the state of a cell and to read it.
pub(crate) struct TileCost {
    passes: f64,
    leaves: f64,
    writes: f64,
    reads: f64,
}

impl TileCost {
    /// Passes over cells, as [`Cost::work`] counts them, of a tile of so many cells without and
    /// with its halo.
    pub fn work(&self, own: f64, wide: f64) -> f64 {
        (self.passes + self.reads) * wide + self.writes * own
    }

    /// Bytes that a tile of so many cells takes in a store.
    pub fn bytes(&self, own: f64) -> u64 {
        (self.leaves * own) as u64
    }
}

/// A slab of a level: cells of its largest tile with its halo and without, bytes of what all tiles
/// leave, of particles that come from beyond the halo and of all, and bytes that a cell takes and
/// leaves.
struct Sizes {
    /// The number of the level in the list.
    level: usize,
    wide: f64,
    own: f64,
    all: f64,
    homes: f64,
    drops: f64,
    bytes: f64,
    kept: f64,
    leaves: f64,
    /// Cells of what a tile is made from, for each of its own.
    below: f64,
    /// Whether it leaves a state in the middle of the level's time.
    is_state: bool,
}

/// A slab, how far it reaches, and what it takes.
struct Fact {
    slab: Slab,
    halo: u64,
    cell: PerCell,
}

/// Adds the bytes of memory that a tile of each level takes.
fn add_memory(levels: &mut [LevelCost], sizes: &[Sizes]) {
    // While a tile is made, what it is made from lies beside it. What finer ones wait for is in
    // the store.
    for (n, size) in sizes.iter().enumerate() {
        let Sizes { wide, own, homes, drops, bytes, kept, leaves, below, is_state, .. } = *size;
        let input = wide * below * sizes.get(n + 1).map_or(0.0, |input| input.leaves);
        // Tiles that were made before it are remembered.
        let before: f64 = sizes[n..].iter().map(|sizes| sizes.all).sum::<f64>() - own * leaves;
        let before = before.min(PIECES_BYTES as f64) * if is_state { GAPS } else { 1.0 };
        // While it is read, a map as wide as its window lies beside it.
        let read = wide * (kept + 4.0) + own * leaves;
        // A state makes way for what it is written to, but for the particles.
        let runs = (wide * bytes + homes).max(read).max(input + 2.0 * drops)
            + if below < 1.0 { input } else { 0.0 };
        let level = &mut levels[size.level];
        level.bytes = level.bytes.max((runs + before) as u64);
    }
}

/// What lies along the columns or along the rows of a level's slab.
struct Along {
    tiles: u64,
    /// Cells of all tiles without and with their halos.
    cells: f64,
    worked: f64,
    /// Cells of the longest tile with its halo, and of the largest without.
    longest: u64,
    largest: u64,
}

impl Along {
    /// Along an axis, 0 the columns and 1 the rows, over the cells that are needed. `bounds` are
    /// those of the land, at which halos end.
    fn of(axis: usize, cut: Axis, need: &Window, bounds: Option<Window>, halo: u64) -> Self {
        let sides = |window: &Window| [window.width, window.height];
        let land = bounds.map(|b| [b.origin[axis], b.origin[axis] + i64::from(sides(&b)[axis])]);
        let clip = |at: i64| land.map_or(at, |[low, high]| at.clamp(low, high));
        // A halo of 2⁴⁰ cells is wider than any land, and sums with it fit in an i64.
        let by = halo.min(1 << 40) as i64;
        let tiles = cut.over(need.origin[axis], sides(need)[axis]);
        let (mut cells, mut worked, mut longest, mut largest) = (0i64, 0i64, 0i64, 0i64);
        for (first, count) in tiles.clone().filter_map(|tile| cut.cells(tile)) {
            let wide = clip(first + i64::from(count) + by) - clip(first - by);
            (cells, worked) = (cells + i64::from(count), worked + wide);
            (longest, largest) = (longest.max(wide), largest.max(i64::from(count)));
        }
        Self {
            tiles: (tiles.end() - tiles.start() + 1) as u64,
            cells: cells as f64,
            worked: worked as f64,
            longest: longest as u64,
            largest: largest as u64,
        }
    }
}
