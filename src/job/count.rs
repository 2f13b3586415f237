//! What a run takes, counted before it is planned: by drafts of its plans, which the planner makes
//! with the same arithmetic.

use super::Job;
use crate::error::{Error, Result};
use crate::memory;
use crate::plan::{PASSES_MAX, Plan};
use crate::site::{Site, Window};
use std::collections::BTreeMap;

impl Job {
    /// A draft of the plan of stage `i`: its buffers have their sizes and long tables no words, and
    /// its passes are counted.
    pub(crate) fn draft(&self, i: usize) -> Plan {
        self.plan_at(i, &Site { draft: true, ..self.site(i) })
    }

    /// A draft of the plan of part `i` of the run, for what does not depend on its window.
    pub(super) fn draft_on_little(&self, i: usize) -> Plan {
        let site = self.recipe.unit_site(&self.units[i], self.whole(), self.scale);
        let window = Window { width: 2, height: 2, ..site.window };
        self.plan_at(i, &Site { window, draft: true, ..site })
    }

    /// Stage `i`, for people.
    fn place(&self, i: usize) -> String {
        let unit = &self.units[i];
        match self.levels() {
            1 => format!("stage {}, {}", unit.stage + 1, unit.step.stage.name),
            _ => format!(
                "stage {}, {}, on level {}",
                unit.stage + 1,
                unit.step.stage.name,
                unit.level
            ),
        }
    }

    /// Refuses a run of more passes than a plan is made of, whatever its window.
    pub(super) fn check_passes(&self) -> Result<()> {
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
        Err(Error::Limit(format!(
            "the run has {all} passes: allowed are {PASSES_MAX}; {} has the most, {own}: lower its \
             steps, or what runs between them, \
             or make several runs of it, each with the last one's land as its input",
            self.place(i)
        )))
    }

    /// Refuses a run whose plans do not fit into the host's memory, or whose windows its stages do
    /// not allow, before any is made. Returns the bytes that the largest takes beside its buffers.
    pub(crate) fn admit_plans(&self) -> Result<u64> {
        let mut most = (0, 0);
        for i in self.done()..self.units.len() {
            self.cancel.check()?;
            let unit = &self.units[i];
            if self.lands.is_part && unit.named {
                // What a part depends on may be larger than what the recipe was checked on.
                self.recipe.check_step(unit.stage, &unit.step, &self.site(i)).map_err(
                    |e| match e {
                        Error::Param(invalid) => Error::Limit(invalid.message),
                        other => other,
                    },
                )?;
            }
            most = most.max((self.draft(i).own_bytes(), i));
        }
        let (bytes, i) = most;
        if bytes > 0 {
            memory::admit(format!("the plan of {}", self.place(i)), bytes)?;
        }
        Ok(bytes)
    }

    /// Bytes of memory that each stage needs, with what the stages before it have left and it does
    /// not touch, and its invocations: its work.
    pub fn costs(&self) -> Vec<(u64, f64)> {
        let mut kept = BTreeMap::new();
        let cost = |i: usize| {
            let plan = self.draft(i);
            (plan.bytes_beside(&mut kept), plan.count().invocations)
        };
        (0..self.units.len()).map(cost).collect()
    }

    /// Steps and passes of each stage.
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
        Some(kept.values().sum::<u64>() + cells * settings.bytes_a_cell(self.recipe.has_rain()))
    }

    /// Bytes of the largest buffer that the run needs, for `Gpu::required_limits`.
    pub fn largest_buffer_bytes(&self) -> u64 {
        (self.done()..self.units.len())
            .map(|i| self.draft(i).largest().words as u64 * 4)
            .max()
            .unwrap_or(0)
    }
}
