//! Running a job: plans on an executor, events on the way.

use super::event::{Event, Watch};
use super::outcome::{Leaves, Level, Outcome};
use super::piece::within;
use super::report::StageReport;
use super::reporter::Reporter;
use super::units::Given;
use super::{Job, Start};
use crate::device::Opened;
use crate::error::{Invalid, Result};
use crate::exec::{self, Executor};
use crate::plan::Plan;

impl Job {
    /// Runs every stage and reads what the recipe asks for. `watch` receives the events; its error
    /// ends the run.
    ///
    /// # Errors
    /// What `watch` returns; [`Error::Cancelled`](crate::Error::Cancelled) if the run was
    /// cancelled; [`Error::Limit`](crate::Error::Limit) for a land that the device cannot hold;
    /// [`Error::Device`](crate::Error::Device) for a device that is missing or fails and that was
    /// asked for by name; [`Error::Param`](crate::Error::Param) for a stage whose samples were not
    /// given.
    pub fn run(&self, watch: &mut Watch) -> Result<Outcome> {
        self.check_ready()?;
        let opened = self.open(&mut |warning| watch(Event::Warning(&warning)))?;
        self.run_opened(opened, watch)
    }

    /// Opens the device, if it can hold every stage.
    fn open(&self, warn: &mut dyn FnMut(String) -> Result<()>) -> Result<Opened> {
        let admits = |executor: &dyn Executor| {
            // The largest first, so that what is said to fit does so on all levels.
            let drafts = (self.done()..self.schedule.units.len())
                .map(|i| self.cancel.check().map(|()| self.schedule.draft(i)));
            let mut drafts = drafts.collect::<Result<Vec<Plan>>>()?;
            drafts.sort_by_key(|draft| std::cmp::Reverse(draft.bytes()));
            drafts.iter().try_for_each(|draft| executor.admits(draft))
        };
        // What opens a device takes no error of the caller's, so warnings are told afterwards.
        let mut warnings = vec![];
        let opened = self.options.open(&admits, &mut |warning| warnings.push(warning))?;
        warnings.into_iter().try_for_each(warn)?;
        Ok(opened)
    }

    /// The device that the run would take, if it can hold every stage.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn device_name(&self, warn: &mut dyn FnMut(String) -> Result<()>) -> Result<String> {
        self.schedule.check_size()?;
        self.admit_plans()?;
        Ok(self.open(warn)?.executor.name())
    }

    /// Runs every stage on the caller's executor, and reads what the recipe asks for.
    ///
    /// # Errors
    /// As [`Job::run`], but nothing stands in for the executor.
    pub fn run_on(&self, executor: &mut dyn Executor, watch: &mut Watch) -> Result<Outcome> {
        self.check_ready()?;
        self.run_planned(executor, watch)
    }

    pub(super) fn run_planned(
        &self,
        executor: &mut dyn Executor,
        watch: &mut Watch,
    ) -> Result<Outcome> {
        let leaves = self.compute(executor, watch)?;
        self.collect(executor, leaves)
    }

    /// Runs every stage on the caller's executor and leaves the results there: nothing is read
    /// back. With `Gpu::take_buffer` they are buffers on the caller's device.
    ///
    /// # Errors
    /// As [`Job::run_on`].
    pub fn compute_on(
        &self,
        executor: &mut dyn Executor,
        watch: &mut Watch,
    ) -> Result<Vec<StageReport>> {
        self.check_ready()?;
        Ok(self.compute(executor, watch)?.stages)
    }

    /// How many stages the snapshot has that the run goes on from.
    pub(crate) fn done(&self) -> usize {
        match &self.start {
            Start::Snapshot(snapshot) => snapshot.stages(),
            Start::Nothing | Start::Heights(_) => 0,
        }
    }

    /// Refuses a run whose stages lack the samples that they read, and one that is too large.
    pub(crate) fn check_ready(&self) -> Result<()> {
        self.schedule.check_size()?;
        self.admit_plans()?;
        for (i, step) in self.schedule.recipe.stages.iter().enumerate().skip(self.done()) {
            if self.samples[i].is_none() && step.samples().is_some() {
                let what = match step.file() {
                    Some(file) => format!("its file, {file}, was not read"),
                    None => {
                        let from = step
                            .settings
                            .get("from")
                            .map(|from| format!("from = {from}, "))
                            .unwrap_or_default();
                        format!(
                            "{from}file = \"\": name the file of its samples, or give them in \
                             memory"
                        )
                    }
                };
                let (place, pointer) = self.schedule.recipe.place(i);
                return Err(Invalid::from(what).about("file").inside(&place, &pointer).into());
            }
        }
        // A stage that the snapshot has done needs no picture any more.
        let left = |i: usize| {
            self.schedule.units[self.done()..].iter().any(|unit| unit.stage == i && unit.named)
        };
        for (i, j, file) in self.pictures() {
            if left(i) && self.schedule.recipe.stages[i].settings.picture(&file).is_none() {
                let (place, pointer) = self.picture_place(i, j);
                let what = format!("its picture, {file}, was not read");
                return Err(Invalid::from(what).about("file").inside(&place, &pointer).into());
            }
        }
        Ok(())
    }

    /// The heights in units that the run starts from, where it has an input.
    pub(crate) fn start(&self) -> Option<&[i32]> {
        match &self.start {
            Start::Heights(words) => Some(words),
            Start::Nothing | Start::Snapshot(_) => None,
        }
    }

    /// Runs stage `i` by the published algorithm, if the job does so and there is one: what is to
    /// be said of it.
    pub(super) fn run_sequential(
        &self,
        i: usize,
        plan: &Plan,
        executor: &mut dyn Executor,
    ) -> Result<Option<serde_json::Value>> {
        #[cfg(feature = "classic")]
        if self.classic {
            return self.run_classic(i, plan, executor);
        }
        let _ = (i, plan, executor);
        Ok(None)
    }

    /// The heights of the land that an executor has come to, without its margin.
    pub(crate) fn heights(&self, executor: &mut dyn Executor) -> Result<Vec<i32>> {
        self.read_at(self.schedule.until_level(), "height", 1, 0, executor)
    }

    /// Of a map of a level with its margin, `each` words a cell, the word at `word` of each cell of
    /// the land without it. No others are read.
    pub(super) fn read_at(
        &self,
        level: i32,
        buffer: &str,
        each: usize,
        word: usize,
        executor: &mut dyn Executor,
    ) -> Result<Vec<i32>> {
        executor.read_selection(buffer, &self.selection_at(level, each, word))
    }

    /// Where these words are in a buffer.
    pub(super) fn selection_at(&self, level: i32, each: usize, word: usize) -> exec::Selection {
        within(
            &self.schedule.level_window(level),
            &self.schedule.land_at(level).0,
            each,
            word..word + 1,
        )
    }

    /// Runs every stage.
    fn compute(&self, executor: &mut dyn Executor, watch: &mut Watch) -> Result<Leaves> {
        let (first, units) = (self.done(), self.schedule.units.len());
        let mut given = Given::nothing();
        let mut reporter = Reporter::new(self, watch)?;
        if let Start::Snapshot(snapshot) = &self.start {
            for (name, _) in snapshot.buffers() {
                // A snapshot does not say how many words a cell has.
                given.kept.insert(self.kept_name(name)?, None);
            }
            reporter.reports = snapshot.reports().to_vec();
            let levels = snapshot.levels();
            reporter.levels =
                levels.map(|(level, words)| self.level(level, words.to_vec())).collect();
        }
        (reporter.watch)(Event::Started(&executor.name()))?;
        // Kernels are compiled before the first stage, so that its time is its own.
        executor.prepare(&mut (first..units).map(|i| self.schedule.draft_on_little(i)))?;
        self.upload_start(executor)?;
        reporter.begin();
        self.run_units(first..units, &mut given, &mut reporter, executor)?;
        let Reporter { reports, levels, .. } = reporter;
        Ok(Leaves { levels, ..self.finish(executor, reports)? })
    }

    /// The land of a level with these heights.
    pub(super) fn level(&self, level: i32, words: Vec<i32>) -> Level {
        let (window, scale) = self.schedule.land_at(level);
        Level { level, window, scale, words }
    }
}
