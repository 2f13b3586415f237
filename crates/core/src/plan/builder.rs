//! Plans put together step by step.

use super::{Buffer, Pass, Plan};
use crate::site::{Site, Window};
use std::cell::RefCell;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Most passes of a run, those of all its stages together.
pub const PASSES_MAX: u64 = 1 << 22;

/// Bytes of memory that a pass takes in a plan at most, with its uniform struct, while the plan is
/// put together.
pub const PASS_BYTES: u64 = 512;

/// How much a plan has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    /// Steps.
    pub steps: u64,
    /// Passes.
    pub passes: u64,
    /// Invocations of all passes.
    pub invocations: f64,
}

impl Count {
    /// This count multiplied by `times`.
    pub(super) fn times(self, times: u64) -> Self {
        let Self { steps, passes, invocations } = self;
        let by = |n: u64| n.saturating_mul(times);
        Self { steps: by(steps), passes: by(passes), invocations: invocations * times as f64 }
    }

    pub(super) fn plus(self, more: Self) -> Self {
        let sum = u64::saturating_add;
        Self {
            steps: sum(self.steps, more.steps),
            passes: sum(self.passes, more.passes),
            invocations: self.invocations + more.invocations,
        }
    }
}

thread_local! {
    /// What stops the planning of this thread.
    static STOP: RefCell<Arc<AtomicBool>> = RefCell::default();
}

/// Plans in a way that is left early once `stop` is set. What comes of it then is no plan, and must
/// not be used.
pub fn stoppable<T>(stop: &Arc<AtomicBool>, planning: impl FnOnce() -> T) -> T {
    let before = STOP.replace(stop.clone());
    let made = planning();
    STOP.set(before);
    made
}

/// What stops the planning of this thread.
pub fn stop() -> Arc<AtomicBool> {
    STOP.with_borrow(Arc::clone)
}

/// Writes down the passes of a plan that has many. For a draft it writes each round once and counts
/// the others: so what a plan will have is known, by the planner's own arithmetic, before memory is
/// taken for it.
pub struct PlanBuilder {
    pub(super) passes: Vec<Pass>,
    pub(super) steps: Vec<usize>,
    pub(super) count: Count,
    /// How many rounds are like the one that is written.
    alike: u64,
    is_draft: bool,
}

impl PlanBuilder {
    /// A plan without passes.
    pub fn of(site: &Site) -> Self {
        Self {
            passes: vec![],
            steps: vec![],
            count: Count::default(),
            alike: 1,
            is_draft: site.draft,
        }
    }

    /// The next pass.
    pub fn push(&mut self, pass: Pass) {
        let one = Count { steps: 0, passes: 1, invocations: pass.count().into() };
        self.count = self.count.plus(one.times(self.alike));
        self.passes.push(pass);
    }

    /// The next passes.
    pub fn extend(&mut self, passes: impl IntoIterator<Item = Pass>) {
        passes.into_iter().for_each(|pass| self.push(pass));
    }

    /// Ends a step.
    pub fn end_step(&mut self) {
        self.count = self.count.plus(Count { steps: self.alike, ..Count::default() });
        self.steps.push(self.passes.len());
    }

    /// What was written since the last step belongs to it.
    pub fn stretch_step(&mut self) {
        if let Some(last) = self.steps.last_mut() {
            *last = self.passes.len();
        }
    }

    /// Rounds that have the same kernels, invocations and steps, and differ in their uniform
    /// structs alone.
    pub fn rounds(&mut self, rounds: Range<u32>, mut each: impl FnMut(&mut Self, u32)) {
        if self.is_draft && !rounds.is_empty() {
            // What the one round has counts as often as there are rounds.
            self.alike = rounds.len() as u64;
            each(self, rounds.start);
            self.alike = 1;
            return;
        }
        let mut first = None;
        for n in rounds {
            let before = self.count;
            each(self, n);
            let own = [self.count.passes - before.passes, self.count.steps - before.steps];
            debug_assert_eq!(*first.get_or_insert(own), own, "round {n}: passes and steps");
        }
    }

    /// The plan.
    pub fn plan(self, shader: &'static str, window: Window, buffers: Vec<Buffer>) -> Plan {
        let Self { passes, steps, count, is_draft, .. } = self;
        Plan {
            steps,
            draft: is_draft.then_some(count),
            ..Plan::new(shader, window, buffers, passes)
        }
    }
}
