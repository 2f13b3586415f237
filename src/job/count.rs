//! Whether the memory holds what a run takes, before it is planned.

use super::Job;
use crate::error::{Error, Result};
use crate::memory;

impl Job {
    /// Refuses a run whose plans do not fit into the host's memory, or whose windows its stages do
    /// not allow, before any is made. Returns the bytes that the largest takes beside its buffers.
    pub(crate) fn admit_plans(&self) -> Result<u64> {
        let schedule = &self.schedule;
        let mut most = (0, 0);
        for i in self.done()..schedule.units.len() {
            self.cancel.check()?;
            let unit = &schedule.units[i];
            if schedule.is_part() && unit.named {
                // What a part depends on may be larger than what the recipe was checked on.
                let fits = schedule.recipe.check_step(unit.stage, &unit.step, &schedule.site(i));
                fits.map_err(|e| match e {
                    Error::Param(invalid) => Error::limit(invalid.message),
                    other => other,
                })?;
            }
            // Plans are made one at a time, so the largest counts and not their sum.
            most = most.max((schedule.draft(i).own_bytes(), i));
        }
        let (bytes, i) = most;
        if bytes > 0 {
            memory::admit(format!("the plan of {}", schedule.place(i)), bytes)?;
        }
        Ok(bytes)
    }

    /// Bytes of the largest buffer that the run needs, for `Gpu::required_limits`.
    pub fn largest_buffer_bytes(&self) -> u64 {
        (self.done()..self.schedule.units.len())
            .map(|i| self.schedule.draft(i).largest().words as u64 * 4)
            .max()
            .unwrap_or(0)
    }
}
