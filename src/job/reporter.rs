//! What a run tells on its way: events, frames, and a report of each unit.

use super::Job;
use super::event::{AfterStage, Event, Frame, Progress, Watch};
use super::outcome::Level;
use super::report::StageReport;
use super::units::Observer;
use crate::arith::CELL;
use crate::clock::Moment;
use crate::error::Result;
use crate::exec::{Control, Executor};
use crate::plan::Plan;
use crate::schedule::Kept;
use crate::site::Layer;
use crate::stage::incision;
use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

/// Tells what a run does, and writes down what each unit did.
pub(super) struct Reporter<'a, 'w> {
    pub watch: &'a mut Watch<'w>,
    pub reports: Vec<StageReport>,
    pub levels: Vec<Level>,
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
    pub fn new(job: &Job, watch: &'a mut Watch<'w>) -> Result<Self> {
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

impl Reporter<'_, '_> {
    /// The first unit is about to run.
    pub fn begin(&mut self) {
        self.now = Now::begin();
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
            // A frame before the unit's first step needs none of its passes.
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
        // What has come onto cells outside has left the land.
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
        let has_failed = &Cell::new(false);
        let mut after = AfterStage { job, executor, reports, kept, levels, ends_level, has_failed };
        watch(Event::Stage(&mut after))?;
        // What watches took its time.
        self.now = Now::begin();
        Ok(())
    }
}

impl Job {
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
        // What was there, rose or was laid down and is not there now was carried away.
        let exported = before + risen + silted - sum_of_land(outside, executor)?;
        let cubic_m = site.spacing_m().powi(3) / f64::from(CELL);
        Ok(RiverBooks {
            exported_m3: exported as f64 * cubic_m,
            risen_m3: risen as f64 * cubic_m,
            silted_m3: silted as f64 * cubic_m,
        })
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

/// The sum of a buffer over some cells.
fn sum_over(name: &str, cells: &[usize], executor: &mut dyn Executor) -> Result<i64> {
    if cells.is_empty() {
        return Ok(0);
    }
    let words = executor.read(name)?;
    Ok(cells.iter().filter_map(|at| words.get(*at)).map(|word| i64::from(*word)).sum())
}
