//! The fallback: the CPU in place of a card that fails.

use super::Job;
use super::event::{Event, Watch};
use super::outcome::Outcome;
use crate::device::{Opened, with};
use crate::error::Result;
use crate::exec::Executor;

impl Job {
    /// Runs every stage on an executor, which the CPU replaces where it may.
    #[doc(hidden)]
    pub fn run_opened(&self, opened: Opened, watch: &mut Watch) -> Result<Outcome> {
        let Opened { executor, replaceable } = opened;
        // An error that the caller returns is the caller's, whatever its kind.
        let mut ended = false;
        let done = with(executor, |executor| {
            self.run_planned(executor, &mut |event| match event {
                // Unless it is the device's, which failed while words were read for the caller.
                Event::Stage(after) => {
                    let has_failed = after.has_failed;
                    watch(Event::Stage(after)).inspect_err(|_| ended |= !has_failed.get())
                }
                event => watch(event).inspect_err(|_| ended = true),
            })
        });
        match done {
            Err(e) if e.is_of_device() && replaceable && !ended => {
                watch(Event::Warning(&format!("{e}; the CPU starts over, for the same bytes")))?;
            }
            done => return done,
        }
        watch(Event::Restarted)?;
        self.run_planned(&mut self.options.cpu()?, watch)
    }

    /// Opens the device that was asked for and works on it. Where the CPU may take over from a card
    /// that fails, the work is done anew there.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) for a device that is missing or fails and that was
    /// asked for by name, and what the work returns.
    pub fn with_device<T>(
        &self,
        warn: &mut dyn FnMut(&str),
        work: &mut dyn FnMut(&mut dyn Executor) -> Result<T>,
    ) -> Result<T> {
        let opened = self.options.open(&|_| Ok(()), &mut |warning| warn(&warning))?;
        let replaceable = opened.replaceable;
        match with(opened.executor, |executor| work(executor)) {
            Err(e) if e.is_of_device() && replaceable => {
                warn(&format!("{e}; the CPU takes over, for the same bytes"))
            }
            done => return done,
        }
        work(&mut self.options.cpu()?)
    }
}
