//! Slabs: a level's time in pieces.

use super::Schedule;
use crate::plan::{Plan, Shape};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Range;

/// A moment in the middle of a level: between two steps of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The number of the unit.
    pub unit: usize,
    /// How many of its steps are done.
    pub done: u32,
    /// How many it has.
    pub of: u32,
}

/// A slab of a level's time: from a moment, or from the beginning, to a moment, or to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slab {
    /// Where it begins; none: at the beginning.
    pub from: Option<Moment>,
    /// Where it ends; none: at the end.
    pub to: Option<Moment>,
}

impl Slab {
    /// The whole of a level's time.
    pub const WHOLE: Self = Self { from: None, to: None };

    /// Whether a unit has steps in it.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.from.is_none_or(|from| from.unit <= i) && self.to.is_none_or(|to| i <= to.unit)
    }

    /// Whether it begins in the middle of a unit.
    pub(crate) fn goes_on(&self, i: usize) -> bool {
        self.from.is_some_and(|from| from.unit == i)
    }

    /// Whether it ends in the middle of a unit.
    pub(crate) fn leaves(&self, i: usize) -> bool {
        self.to.is_some_and(|to| to.unit == i)
    }

    /// The steps that it has of a unit in whose middle it begins or ends.
    pub(crate) fn steps_of(&self, i: usize) -> Option<Range<u32>> {
        let [from, to] = [self.from, self.to].map(|moment| moment.filter(|at| at.unit == i));
        // Either moment says how many steps the unit has.
        let Moment { of, .. } = from.or(to)?;
        Some(from.map_or(0, |at| at.done)..to.map_or(of, |at| at.done))
    }

    /// The passes of a unit's plan that it has.
    pub(crate) fn passes_of(&self, i: usize, plan: &Plan) -> Range<usize> {
        // A map of one row has no steps.
        let pass = |moment: Option<Moment>| {
            let moment = moment.filter(|moment| moment.unit == i)?;
            // `steps` begins with the first step's end, so what is done is one number lower.
            Some(plan.steps.get(moment.done as usize - 1).copied().unwrap_or(0))
        };
        pass(self.from).unwrap_or(0)..pass(self.to).unwrap_or(plan.passes.len())
    }

    /// Where it begins and ends, for keys: unit and steps done.
    pub(crate) fn describe(&self) -> serde_json::Value {
        json!([self.from, self.to].map(|moment| moment.map(|moment| (moment.unit, moment.done))))
    }
}

impl Schedule {
    /// How many steps a unit has. It does not depend on the window.
    pub(crate) fn steps_of(&self, i: usize) -> u32 {
        self.draft_on_little(i).count().steps as u32
    }

    /// The slabs that a level's time is cut into, so that none has more than `most` steps of a
    /// stage: the last first.
    pub(crate) fn slabs(&self, level: i32, most: u32) -> Vec<Slab> {
        let mut slabs = vec![Slab::WHOLE];
        for i in self.units_of(level).filter(|i| self.units[*i].step.stage.hosts()) {
            let all = self.steps_of(i);
            let count = all.div_ceil(most.max(1));
            // The slabs of a unit differ by one step at most.
            for n in 1..count {
                let done = (u64::from(all) * u64::from(n) / u64::from(count)) as u32;
                let moment = Some(Moment { unit: i, done, of: all });
                // The last slab so far ends here, and a new last one begins.
                slabs[0].to = moment;
                slabs.insert(0, Slab { from: moment, to: None });
            }
        }
        slabs
    }
}

/// What units have left: names, and how many words a cell has; none where that is not known, or
/// where there are several maps, one after the other.
pub(crate) type Kept = BTreeMap<&'static str, Option<usize>>;

/// Brings the list of what is kept to what it is after a plan. What a plan takes, or gives its name
/// to something else, is there no longer, unless the plan leaves it.
pub(crate) fn keep_on(kept: &mut Kept, plan: &Plan) {
    kept.retain(|name, _| !plan.has(name));
    kept.extend(plan.kept().filter_map(|buffer| match (buffer.keep, buffer.shape) {
        (Some(name), Shape::Cells(each)) => Some((name, Some(each))),
        (keep, _) => Some((keep?, None)),
    }));
}

/// The maps of a plan that later passes still need after the first `after`, and their words a cell.
pub(crate) fn needed_by(plan: &Plan, after: usize) -> impl Iterator<Item = (&'static str, usize)> {
    plan.buffers.iter().filter_map(move |buffer| match buffer.shape {
        Shape::Cells(each) if plan.needs(buffer.name, after) => Some((buffer.name, each)),
        _ => None,
    })
}
