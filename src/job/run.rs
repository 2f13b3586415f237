//! Running a job: plans on an executor, events on the way, the CPU in place of a card that fails.

use super::outcome::{Leaves, Level, Outcome};
use super::piece::within;
use super::report::StageReport;
use super::snapshot::Snapshot;
use super::units::{Given, Observer};
use super::{Job, Start};
use crate::arith::CELL;
use crate::clock::Moment;
use crate::device::{Opened, with};
use crate::error::{Error, Invalid, Result};
use crate::exec::{self, Control, Executor};
use crate::field;
use crate::map::Map;
use crate::params::unknown;
use crate::plan::{Interim, Plan, Shape};
use crate::recipe::Unit;
use crate::schedule::Kept;
use crate::site::Layer;
use crate::stage::incision;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

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
    job: &'a Job,
    executor: &'a mut dyn Executor,
    reports: &'a [StageReport],
    kept: &'a Kept,
    levels: &'a [Level],
    ends_level: bool,
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
        let words = self.job.field_words(level, &land, field, from)?;
        Ok(self.job.map_of_at(level, field, &words))
    }

    /// All that the stages so far leave to those that follow, in exact words. Reading it takes time
    /// on a graphics card.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails; [`Error::Param`] for the run of a part of a land.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.job.check_whole()?;
        let read = |name: &&'static str| Ok((name.to_string(), self.executor.read(name)?));
        let buffers = self.kept.keys().map(read).collect::<Result<_>>()?;
        let levels = self.levels.iter().map(|level| (level.level, level.words.clone())).collect();
        Ok(Snapshot::new(self.job, self.reports.to_vec(), buffers, levels))
    }
}

/// The sum of a buffer over some cells.
fn sum_over(name: &str, cells: &[usize], executor: &mut dyn Executor) -> Result<i64> {
    if cells.is_empty() {
        return Ok(0);
    }
    let words = executor.read(name)?;
    Ok(cells.iter().filter_map(|at| words.get(*at)).map(|word| i64::from(*word)).sum())
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
            self.run_planned(executor, &mut |event| watch(event).inspect_err(|_| ended = true))
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
    fn run_sequential(
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
    fn steps(&self, i: usize, plan: &Plan) -> Vec<usize> {
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
        reporter.now = Now::begin();
        self.run_units(first..units, &mut given, &mut reporter, executor)?;
        let Reporter { reports, levels, .. } = reporter;
        Ok(Leaves { levels, ..self.finish(executor, reports)? })
    }

    /// The land of a level with these heights.
    fn level(&self, level: i32, words: Vec<i32>) -> Level {
        let (window, scale) = self.schedule.land_at(level);
        Level { level, window, scale, words }
    }

    /// Cubic metres of a sum of heights on the lattice of stage `i`.
    pub(super) fn volume_m3(&self, i: usize, units: i64) -> f64 {
        units as f64 / f64::from(CELL) * self.schedule.site(i).spacing_m().powi(3)
    }

    /// What rivers did in stage `i`, from the sum of the land's heights before. What its rough
    /// ground added counts with what was cut. The cells `outside` are no land.
    fn river_books(
        &self,
        i: usize,
        before: i64,
        outside: &[usize],
        executor: &mut dyn Executor,
    ) -> Result<RiverBooks> {
        let (step, site) = (&self.schedule.units[i].step, self.schedule.site(i));
        let is_lifted = site.layers.has(Layer::Uplift) && incision::rise(&step.settings, &site) > 0;
        let uplift = is_lifted.then(|| executor.read("uplift")).transpose()?;
        let risen = incision::risen(&step.settings, &site, uplift.as_deref(), outside);
        let silted = executor.sum("silted", true)? - sum_over("silted", outside, executor)?;
        let exported = before + risen + silted - sum_of_land(outside, executor)?;
        let cubic_m = site.spacing_m().powi(3) / f64::from(CELL);
        Ok(RiverBooks {
            exported_m3: exported as f64 * cubic_m,
            risen_m3: risen as f64 * cubic_m,
            silted_m3: silted as f64 * cubic_m,
        })
    }

    /// The height and what else the picture is drawn from, after `step` steps, in the middle of
    /// stage `i`.
    fn interim_maps(
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

/// Tells what a run does, and writes down what each unit did.
struct Reporter<'a, 'w> {
    watch: &'a mut Watch<'w>,
    reports: Vec<StageReport>,
    levels: Vec<Level>,
    /// How many steps change heights, where frames are shown.
    steps: usize,
    /// The next frame's number.
    index: usize,
    /// How many of the steps were done before the unit.
    steps_before: usize,
    /// Of the unit that runs.
    now: Now,
}

/// What is known of the unit that runs.
struct Now {
    begun: Moment,
    /// How long was spent on what watches.
    watching: Duration,
    /// What had passed on coarser levels: that is counted on, and was no work of this unit.
    passed: i64,
    /// The cells that are no land, onto which some of what it moves may come.
    outside: Vec<usize>,
    /// Sums of heights: of all land, for rivers that cut, and of the cells outside.
    land: Option<i64>,
    beyond: i64,
    gone_m3: Option<[f64; 2]>,
    books: Option<RiverBooks>,
    /// What the published algorithm says of itself, where it ran.
    sequential: Option<serde_json::Value>,
}

impl Now {
    fn begin() -> Self {
        Self {
            begun: Moment::now(),
            watching: Duration::ZERO,
            passed: 0,
            outside: vec![],
            land: None,
            beyond: 0,
            gone_m3: None,
            books: None,
            sequential: None,
        }
    }
}

impl<'a, 'w> Reporter<'a, 'w> {
    fn new(job: &Job, watch: &'a mut Watch<'w>) -> Result<Self> {
        let steps = if job.frames > 0 { job.check_frames()? } else { 0 };
        Ok(Self {
            watch,
            reports: vec![],
            levels: vec![],
            steps,
            index: 0,
            steps_before: 0,
            now: Now::begin(),
        })
    }
}

impl Observer for Reporter<'_, '_> {
    fn before(
        &mut self,
        job: &Job,
        i: usize,
        plan: &Plan,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let (unit, site) = (&job.schedule.units[i], job.schedule.site(i));
        let stage = unit.step.stage;
        let now = &mut self.now;
        if stage.work.is_some() && site.layers.has(Layer::Passed) {
            now.passed = executor.sum("passed", false)?;
        }
        // A stage that has steps moves material.
        if stage.halo.is_some() {
            now.outside = job.missing_at(unit.level, &plan.window);
        }
        now.land = sum_before_cut(plan, &now.outside, executor)?;
        now.beyond = sum_over("height", &now.outside, executor)?;
        Ok(())
    }

    fn run(
        &mut self,
        job: &Job,
        i: usize,
        plan: &Plan,
        passes: Range<usize>,
        kept: &Kept,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let (stop, frames, steps) = (job.cancel.flag(), job.frames, self.steps);
        let Self { watch, index, steps_before, now, .. } = self;
        let name = job.schedule.units[i].step.stage.name;
        let stages = job.schedule.units.len();
        let at = |done: usize| {
            Event::Progress(Progress { stage: i, name, stages, done, passes: passes.end })
        };
        watch(at(0))?;
        // After how many steps frame `n` is due.
        let due = |n: usize| (n * steps + (frames - 1) / 2) / (frames - 1);
        let ends = if *index < frames { job.steps(i, plan) } else { vec![] };
        let mut done = passes.start;
        while *index < frames && !ends.is_empty() && due(*index) <= *steps_before + ends.len() {
            let step = due(*index);
            let end = (step - *steps_before).checked_sub(1).map_or(0, |last| ends[last]);
            let progress = &mut |done| watch(at(done));
            executor.run(plan, done..end, &mut Control { stop, progress })?;
            done = end;
            let looked = Moment::now();
            let maps = job.interim_maps(i, plan, step, kept, executor)?;
            watch(Event::Frame(&Frame { index: *index, step, steps, maps }))?;
            now.watching += looked.elapsed();
            *index += 1;
        }
        *steps_before += ends.len();
        now.sequential = job.run_sequential(i, plan, executor)?;
        if now.sequential.is_none() {
            let progress = &mut |done| watch(at(done));
            executor.run(plan, done..passes.end, &mut Control { stop, progress })?;
        }
        Ok(())
    }

    fn after(
        &mut self,
        job: &Job,
        i: usize,
        _: &Plan,
        gone_m3: Option<[f64; 2]>,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let now = &mut self.now;
        let books = now.land.map(|before| job.river_books(i, before, &now.outside, executor));
        (now.books, now.gone_m3) = (books.transpose()?, gone_m3);
        if !now.outside.is_empty() && now.books.is_none() {
            let left = job.volume_m3(i, sum_over("height", &now.outside, executor)? - now.beyond);
            now.gone_m3 = Some(gone_m3.map_or([left, 0.0], |[all, lost]| [all + left, lost]));
        }
        Ok(())
    }

    fn ended(
        &mut self,
        job: &Job,
        i: usize,
        plan: &Plan,
        kept: &Kept,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        if i + 1 == job.schedule.units.len() {
            // What follows are copies of maps; the kernels' memory is not needed any more.
            executor.release();
        }
        let now = std::mem::replace(&mut self.now, Now::begin());
        // A clock may stand still over a stage that has nothing to do.
        let seconds = (now.begun.elapsed().saturating_sub(now.watching)).as_secs_f64().max(1e-9);
        let (unit, site) = (&job.schedule.units[i], job.schedule.site(i));
        let step = &unit.step;
        let invocations: u64 = plan.passes.iter().map(|pass| u64::from(pass.count())).sum();
        let droplet_steps = match step.stage.work {
            Some(buffer) => Some((executor.sum(buffer, false)? - now.passed).max(0) as u64),
            None => None,
        };
        let Now { gone_m3, books, sequential, .. } = now;
        self.reports.push(StageReport {
            stage: step.stage.name.into(),
            passes: plan.passes.len(),
            seconds,
            cells_per_s: invocations as f64 / seconds,
            droplet_steps,
            exported_m3: gone_m3.map(|[all, _]| all).or(books.map(|books| books.exported_m3)),
            lost_m3: gone_m3.map(|[_, lost]| lost).filter(|lost| *lost != 0.0),
            risen_m3: books.map(|books| books.risen_m3).filter(|risen| *risen != 0.0),
            silted_m3: books.map(|books| books.silted_m3),
            derived: sequential.unwrap_or_else(|| (step.stage.summary)(&step.settings, &site)),
            level: if job.schedule.levels() > 1 { Some(unit.level) } else { None },
        });
        if unit.ends_level {
            let words = job.read_at(unit.level, "height", 1, 0, executor)?;
            self.levels.push(job.level(unit.level, words));
        }
        let ends_level = unit.ends_level;
        let Self { watch, reports, levels, .. } = self;
        let mut after = AfterStage { job, executor, reports, kept, levels, ends_level };
        watch(Event::Stage(&mut after))?;
        // What watches took its time.
        self.now = Now::begin();
        Ok(())
    }
}

/// What rivers that cut did to a land, in cubic metres.
#[derive(Clone, Copy)]
struct RiverBooks {
    exported_m3: f64,
    risen_m3: f64,
    silted_m3: f64,
}

/// The sum of the land's heights before a plan of rivers that cut; none for others.
fn sum_before_cut(
    plan: &Plan,
    outside: &[usize],
    executor: &mut dyn Executor,
) -> Result<Option<i64>> {
    plan.buffers
        .iter()
        .any(|buffer| buffer.name == "silted")
        .then(|| sum_of_land(outside, executor))
        .transpose()
}

/// The sum of all heights but those of some cells, in height units.
fn sum_of_land(outside: &[usize], executor: &mut dyn Executor) -> Result<i64> {
    Ok(executor.sum("height", true)? - sum_over("height", outside, executor)?)
}
