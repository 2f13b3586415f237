//! Running a job: plans on an executor, events on the way, the CPU in place of a card that fails.

use super::outcome::{Leaves, Level, Outcome};
use super::piece::within;
use super::report::StageReport;
use super::reporter::Reporter;
use super::snapshot::Snapshot;
use super::units::Given;
use super::{Job, Start};
use crate::device::{Opened, with};
use crate::error::{Error, Invalid, Result};
use crate::exec::{self, Executor};
use crate::field;
use crate::map::Map;
use crate::params::unknown;
use crate::plan::{Interim, Plan, Shape};
use crate::recipe::Unit;
use crate::schedule::Kept;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Most frames of one run: their files are numbered with four digits.
pub const FRAMES_MAX: usize = 10_000;

/// What a run tells on its way.
#[non_exhaustive]
pub enum Event<'a> {
    /// The run begins on a device: its name and driver.
    Started(&'a str),
    /// A warning for the user.
    Warning(&'a str),
    /// The device failed and the CPU starts the run over, for the same bytes. Frames seen so far
    /// come again.
    Restarted,
    /// Passes are done. It comes several times a second.
    Progress(Progress),
    /// The land as it is now; see [`Job::frames`].
    Frame(&'a Frame),
    /// A stage is done. A snapshot can be taken.
    Stage(&'a mut AfterStage<'a>),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of the stage, from 0.
    pub stage: usize,
    /// Its name.
    pub name: &'static str,
    /// How many stages there are.
    pub stages: usize,
    /// Passes of the stage that are done.
    pub done: usize,
    /// Passes of the stage.
    pub passes: usize,
}

/// The land in the middle of a run.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its number, from 0.
    pub index: usize,
    /// How many of the steps that change heights are done.
    pub step: usize,
    /// How many there are.
    pub steps: usize,
    /// `height`; and as soon as steps have been done, what else the recipe's picture is drawn from.
    pub maps: BTreeMap<&'static str, Map>,
}

/// A run between two stages.
pub struct AfterStage<'a> {
    pub(super) job: &'a Job,
    pub(super) executor: &'a mut dyn Executor,
    pub(super) reports: &'a [StageReport],
    pub(super) kept: &'a Kept,
    pub(super) levels: &'a [Level],
    pub(super) ends_level: bool,
    /// Whether the device has failed while words were read.
    pub(super) has_failed: &'a Cell<bool>,
}

impl AfterStage<'_> {
    /// The number of the stage that is done, from 0.
    pub fn stage(&self) -> usize {
        self.reports.len() - 1
    }

    /// What it did.
    pub fn report(&self) -> &StageReport {
        &self.reports[self.reports.len() - 1]
    }

    /// The land of its level, if it is the last stage there.
    pub fn level(&self) -> Option<&Level> {
        self.levels.last().filter(|_| self.ends_level)
    }

    /// Whether its level's land is made now, and what follows changes it.
    pub fn is_bare(&self) -> bool {
        let changes = |unit: &Unit| unit.step.stage.changes;
        let unit = &self.job.schedule.units[self.stage()];
        let first = self
            .job
            .schedule
            .units
            .iter()
            .find(|unit| unit.named && changes(unit))
            .map(|unit| unit.stage);
        unit.named && first.is_some_and(|first| unit.stage + 1 == first)
    }

    /// The level on which it ran.
    pub fn on_level(&self) -> i32 {
        self.job.schedule.units[self.stage()].level
    }

    /// A map as it is now, in the unit of its field: one that a stage has left, or that follows
    /// from the height.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that is not there.
    pub fn map(&mut self, name: &str) -> Result<Map> {
        let known = self.job.schedule.recipe.fields();
        let field = known.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| {
            Error::param(unknown("map of this recipe", name, known.iter().map(|f| f.name)))
        })?;
        let level = self.job.schedule.units[self.stage()].level;
        if let Some(why) =
            self.job.schedule.recipe.lacks_on_the_way(field, level, self.job.schedule.until_level())
        {
            return Err(Error::param(format!("{name:?}: {why}")));
        }
        let land = self.job.schedule.land_at(level).0;
        let from = &mut self.job.in_executor(self.executor);
        let words = self.job.field_words(level, &land, field, from);
        let words = words.inspect_err(|e| self.note_failure(e))?;
        Ok(self.job.map_of_at(level, field, &words))
    }

    fn note_failure(&self, error: &Error) {
        self.has_failed.set(self.has_failed.get() || matches!(error, Error::Device(_)));
    }

    /// All that the stages so far leave to those that follow, in exact words. Reading it takes time
    /// on a graphics card.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails; [`Error::Param`] for the run of a part of a land.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.job.check_whole()?;
        let read = |name: &&'static str| Ok((name.to_string(), self.executor.read(name)?));
        let buffers: Result<_> = self.kept.keys().map(read).collect();
        let buffers = buffers.inspect_err(|e| self.note_failure(e))?;
        let levels = self.levels.iter().map(|level| (level.level, level.words.clone())).collect();
        Ok(Snapshot::new(self.job, self.reports.to_vec(), buffers, levels))
    }
}

/// What watches a run. Its error ends the run.
pub(crate) type Watch<'a> = dyn FnMut(Event<'_>) -> Result<()> + 'a;

impl Job {
    /// Runs every stage and reads what the recipe asks for. `watch` receives the events; its error
    /// ends the run.
    ///
    /// # Errors
    /// What `watch` returns; [`Error::Cancelled`] if the run was cancelled; [`Error::Limit`] for a
    /// land that the device cannot hold; [`Error::Device`] for a device that is missing or fails
    /// and that was asked for by name; [`Error::Param`] for a stage whose samples were not given.
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

    /// Runs every stage on an executor, for which the CPU stands in where it may.
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
            Err(e @ (Error::Device(_) | Error::Limit(_))) if replaceable && !ended => {
                watch(Event::Warning(&format!("{e}; the CPU starts over, for the same bytes")))?;
            }
            done => return done,
        }
        watch(Event::Restarted)?;
        self.run_planned(&mut self.options.cpu()?, watch)
    }

    /// Runs every stage on the caller's executor, and reads what the recipe asks for.
    ///
    /// # Errors
    /// As [`Job::run`], but nothing stands in for the executor.
    pub fn run_on(&self, executor: &mut dyn Executor, watch: &mut Watch) -> Result<Outcome> {
        self.check_ready()?;
        self.run_planned(executor, watch)
    }

    fn run_planned(&self, executor: &mut dyn Executor, watch: &mut Watch) -> Result<Outcome> {
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
                let place = format!("stage {}, {}", i + 1, step.stage.name);
                return Err(Invalid::from(what)
                    .about("file")
                    .inside(&place, &format!("/stage/{i}"))
                    .into());
            }
        }
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

    /// After how many passes of stage `i`'s plan each of the steps that change heights is done;
    /// none for stages that make heights from nothing or leave them alone.
    pub(super) fn steps(&self, i: usize, plan: &Plan) -> Vec<usize> {
        if self.is_watched(i, plan) { plan.steps.clone() } else { vec![] }
    }

    /// Whether steps of stage `i` change heights that are there.
    fn is_watched(&self, i: usize, plan: &Plan) -> bool {
        let unit = &self.schedule.units[i];
        unit.named && !unit.step.stage.is_generator && plan.writes("height")
    }

    /// How many steps change heights, if a run can have as many frames as were asked for.
    pub(super) fn check_frames(&self) -> Result<usize> {
        let drafts = (self.done()..self.schedule.units.len()).map(|i| (i, self.schedule.draft(i)));
        let steps = drafts
            .filter(|(i, draft)| self.is_watched(*i, draft))
            .map(|(_, draft)| draft.count().steps);
        let steps = steps.sum::<u64>() as usize;
        let (frames, most) = (self.frames, FRAMES_MAX.min(steps + 1));
        if steps == 0 {
            let message = format!(
                "frames = {frames}: no stage of this recipe changes heights that are there \
                 already, so there is nothing to watch"
            );
            return Err(Invalid::of("frames", frames, "0").saying(message).into());
        }
        if !(2..=most).contains(&frames) {
            let why = match most {
                FRAMES_MAX => "their files are numbered with four digits, 0000 to 9999".into(),
                _ => format!(
                    "one before any step and one after each that changes heights, of which there \
                     are {steps}"
                ),
            };
            let message = format!("frames = {frames}: allowed 2 to {most}: {why}");
            return Err(Invalid::of("frames", frames, format!("2 to {most}"))
                .saying(message)
                .into());
        }
        Ok(steps)
    }

    /// Runs every stage.
    fn compute(&self, executor: &mut dyn Executor, watch: &mut Watch) -> Result<Leaves> {
        let (first, units) = (self.done(), self.schedule.units.len());
        let mut given = Given::nothing();
        let mut reporter = Reporter::new(self, watch)?;
        if let Start::Snapshot(snapshot) = &self.start {
            for (name, _) in snapshot.buffers() {
                given.kept.insert(self.kept_name(name)?, None);
            }
            reporter.reports = snapshot.reports().to_vec();
            let levels = snapshot.levels();
            reporter.levels =
                levels.map(|(level, words)| self.level(level, words.to_vec())).collect();
        }
        (reporter.watch)(Event::Started(&executor.name()))?;
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

    /// The height and what else the picture is drawn from, after `step` steps, in the middle of
    /// stage `i`.
    pub(super) fn interim_maps(
        &self,
        i: usize,
        plan: &Plan,
        step: usize,
        kept: &Kept,
        executor: &mut dyn Executor,
    ) -> Result<BTreeMap<&'static str, Map>> {
        let level = self.schedule.units[i].level;
        let interim = |name: &str| plan.interim.iter().find(|interim| interim.field == name);
        let there = |name: &str| match name {
            "height" => true,
            _ if step == 0 => false,
            // Beaches are made when the land is done.
            "beach" => false,
            "flow" => interim(name).is_some() || kept.contains_key(name) && !plan.has(name),
            // Biomes are those of the last level.
            "biome_colour" => {
                let has = |field| self.schedule.recipe.lacks(field, level).is_none();
                level == self.schedule.until_level()
                    && field::find(name).is_some_and(has)
                    && self
                        .schedule
                        .recipe
                        .biomes()
                        .is_some_and(|(at, _)| at <= self.schedule.units[i].stage)
            }
            "sediment" => self.schedule.recipe.fields().iter().any(|field| field.name == name),
            _ => true,
        };
        let wanted = std::iter::once("height")
            .chain(self.schedule.recipe.output.colour.maps().iter().copied());
        let draw = |name: &'static str| {
            let field =
                field::find(name).ok_or_else(|| Error::param(format!("{name:?}: no such map")))?;
            let words = match interim(name) {
                Some(&Interim { buffer, word, shift, .. }) => {
                    let each = match plan.buffer(buffer).shape {
                        Shape::Cells(each) => each,
                        Shape::Tiles { .. } | Shape::Table | Shape::Absent => 1,
                    };
                    let words = self.read_at(level, buffer, each, word, executor)?;
                    words.into_iter().map(|word| word >> shift).collect()
                }
                None => {
                    let land = self.schedule.land_at(level).0;
                    self.field_words(level, &land, field, &mut self.in_executor(executor))?
                }
            };
            // All frames of a film are of one size.
            Ok((name, self.enlarged(self.map_of_at(level, field, &words), level)))
        };
        wanted.filter(|name| there(name)).map(draw).collect()
    }
}
