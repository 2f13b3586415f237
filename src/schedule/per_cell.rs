//! What a schedule takes for each cell: memory, passes, and what a level leaves.

use super::{Kept, Schedule, Slab, keep_on, needed_by};
use crate::field::{self, Source};
use crate::plan::{Buffer, Fill, Plan, Shape};
use crate::site::{Site, Window};
use crate::stage::levels::{is_coarse, stored_name};
use std::collections::BTreeMap;

/// What a slab of a level takes for each of its cells: bytes of memory at most, bytes of what is
/// there at its end and of what it leaves, and passes.
pub(super) struct PerCell {
    pub bytes: f64,
    pub kept: f64,
    pub leaves: f64,
    pub passes: u64,
    /// Bytes of particles that it begins with, and how many cells they can be away from their homes
    /// on both sides together.
    pub particles: f64,
    pub walk: u64,
}

impl Schedule {
    /// What the slabs of a level take for each cell, by plans of a land of some size.
    pub(super) fn per_cell(&self, level: i32, slabs: &[Slab]) -> Vec<PerCell> {
        // Where time is cut a plan has to say what is needed when.
        let draft = *slabs == [Slab::WHOLE];
        let plan = |i: usize| {
            let site = self.site(i);
            let window = Window { width: SIDE, height: SIDE, ..site.window };
            (i, self.plan_at(i, &Site { window, draft, ..site }))
        };
        let plans: Vec<_> = self.units_of(level).map(plan).collect();
        let finished = self.leaves(level) as f64;
        slabs.iter().map(|slab| of_slab(slab, &plans, draft, finished)).collect()
    }

    /// What the units before the levels leave, beside the lands of levels, on the level of the land
    /// that is given, and words of each for a cell: `biome`, for one.
    pub(crate) fn rest(&self) -> BTreeMap<&'static str, usize> {
        let mut rest: BTreeMap<&'static str, usize> = BTreeMap::new();
        for i in self.before_levels() {
            let plan = self.draft_on_little(i);
            rest.retain(|name, _| !plan.has(name));
            rest.extend(plan.kept().filter_map(|buffer| match (buffer.keep?, buffer.shape) {
                (name, Shape::Cells(each)) => Some((name, each)),
                // Maps of a word, one after the other.
                (name, _) => Some((name, 1)),
            }));
        }
        rest.retain(|name, _| stored_name(name).is_none());
        rest
    }

    /// Whether what is kept under a name is needed when a level is done: by the next finer one, or
    /// for a map.
    pub(crate) fn is_wanted(&self, name: &str, level: i32) -> bool {
        let finer = self.units.iter().position(|unit| unit.refines() && unit.level == level - 1);
        let by_finer = finer.is_some_and(|i| {
            let taken = |buffer: &&Buffer| {
                is_coarse(buffer) && matches!(buffer.fill, Fill::Taken(from) if from == name)
            };
            self.draft_on_little(i).buffers.iter().any(|buffer| taken(&buffer))
        });
        #[cfg(feature = "dungeon")]
        let for_entrances = name == "biome"
            && level == 0
            && self.recipe.suited().is_ok_and(|suited| suited.is_some());
        #[cfg(not(feature = "dungeon"))]
        let for_entrances = false;
        by_finer
            || for_entrances
            || self.recipe.wanted().filter_map(field::find).any(|field| match field.source {
                Source::Word { buffer, .. } | Source::Difference { buffer, .. } => buffer == name,
                Source::Grid(_) => name == "height",
                Source::Water(_) => name == "height" || name == "rain",
                Source::Material(_) => ["height", "rain", "ledger", "biome"].contains(&name),
            })
    }

    /// What a level is given beside its land, and words for a cell: what stages before the levels
    /// have left.
    pub(crate) fn given(&self, level: i32) -> BTreeMap<&'static str, usize> {
        if !self.restricts() || level != self.recipe.finest() {
            return BTreeMap::new();
        }
        let mut given = self.rest();
        // Those are several maps, which no tile has.
        given.retain(|name, _| !["splat", "weights"].contains(name));
        given
    }

    /// Bytes of a cell of what a level leaves.
    pub(crate) fn leaves(&self, level: i32) -> u64 {
        let mut kept: Kept =
            self.given(level).into_iter().map(|(name, each)| (name, Some(each))).collect();
        for i in self.units_of(level) {
            keep_on(&mut kept, &self.draft_on_little(i));
        }
        kept.into_iter()
            .filter(|(name, _)| self.is_wanted(name, level))
            .filter_map(|(_, each)| Some(each? as u64 * 4))
            .sum()
    }
}

/// Cells a side of the land that plans are made for.
const SIDE: u32 = 512;

/// A share of bytes for each cell of that land.
fn each(bytes: u64) -> f64 {
    bytes as f64 / f64::from(SIDE * SIDE)
}

/// What a slab takes for each cell. `plans` are those of its level's units by their numbers,
/// which have passes unless they are drafts, `finished` the bytes of what the level leaves.
fn of_slab(slab: &Slab, plans: &[(usize, Plan)], draft: bool, finished: f64) -> PerCell {
    let mut cell =
        PerCell { bytes: 0.0, kept: 0.0, leaves: finished, passes: 0, particles: 0.0, walk: 0 };
    let mut kept = BTreeMap::new();
    for (i, plan) in plans {
        let before = kept.clone();
        let bytes = each(plan.bytes_beside(&mut kept));
        if !slab.has(*i) {
            continue;
        }
        cell.bytes = cell.bytes.max(bytes);
        let passes = slab.passes_of(*i, plan);
        let invocations = match draft {
            true => plan.count().invocations as u64,
            false => plan.passes[passes.clone()].iter().map(|pass| u64::from(pass.count())).sum(),
        };
        cell.passes += invocations / u64::from(SIDE * SIDE);
        let particles = plan.buffers.iter().find_map(|buffer| match buffer.shape {
            Shape::Tiles { record, walk, .. } => {
                Some((each(buffer.words as u64 * 4), record, walk))
            }
            _ => None,
        });
        if let Some((bytes, _, walk)) = particles.filter(|_| slab.goes_on(*i)) {
            (cell.particles, cell.walk) = (bytes, 2 * u64::from(walk));
        }
        if slab.leaves(*i) {
            // What earlier units left and this one does not touch is part of the state,
            // too.
            let others = before
                .iter()
                .filter(|(name, _)| !plan.has(name))
                .map(|(_, bytes)| *bytes)
                .sum::<u64>();
            let maps =
                needed_by(plan, passes.end).map(|(_, words)| 4.0 * words as f64).sum::<f64>();
            // In a list each particle has two more words, those of its home.
            let list = particles
                .map_or(0.0, |(bytes, record, _)| bytes * (record + 2) as f64 / record as f64);
            cell.leaves = each(others) + maps + list;
            // All is there until it is read.
            cell.kept = cell.bytes;
            return cell;
        }
    }
    cell.kept = each(kept.values().sum());
    cell
}
