//! The loop over the units of a run, which whole lands, parts and tiles share.

use super::piece::{Bases, Piece, cut, cut_all, within};
use super::{Job, Start};
use crate::arith::fold;
use crate::error::{Error, Invalid, Result};
use crate::exec::{Control, Executor};
use crate::field::{self, Source};
use crate::plan::{Fill, Plan, Shape, stoppable};
use crate::recipe::Unit;
use crate::schedule::{Kept, Moment, Slab, keep_on};
use crate::site::{Layer, Site, Window};
use crate::stage::levels::{coarser, is_coarse, stored_name};
use crate::stage::stepper;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// Where that is which a level, or a slab of its time, begins with.
pub(crate) enum Before {
    /// In the executor, where the coarser level has left it.
    InExecutor,
    /// Here.
    Piece(Piece),
    /// There is nothing: the level is the coarsest.
    Nothing,
}

/// What units begin with that no unit of the loop leaves in the executor, and what there is.
pub(crate) struct Given<'a> {
    /// Of which part of a level's time they are.
    pub slab: Slab,
    /// What the slab before leaves, or for the first the next coarser level.
    pub before: Before,
    /// The lands of an input's levels, where they are known.
    pub bases: Cow<'a, Bases>,
    /// What is kept in the executor.
    pub kept: Kept,
}

impl Given<'_> {
    /// Units that begin with what is in the executor.
    pub fn nothing() -> Self {
        Self {
            slab: Slab::WHOLE,
            before: Before::InExecutor,
            bases: Cow::Owned(Bases::new()),
            kept: Kept::new(),
        }
    }
}

/// How the loop ended.
pub(super) enum Ran {
    /// All units are done.
    All,
    /// The slab has ended in the middle of a unit: its plan, and how many passes are done. The plan
    /// has not ended.
    Until(Moment, Plan, usize),
}

/// Observes the loop over units: it is called at four moments of each unit.
pub(super) trait Observer {
    /// The unit's inputs are there, and its plan has not begun.
    fn before(&mut self, _: &Job, _: usize, _: &Plan, _: &mut dyn Executor) -> Result<()> {
        Ok(())
    }

    /// The plan has begun: runs these passes of it.
    fn run(
        &mut self,
        job: &Job,
        _: usize,
        plan: &Plan,
        passes: Range<usize>,
        _: &Kept,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let stop = job.cancel.flag();
        executor.run(plan, passes, &mut Control { stop, progress: &mut |_| Ok(()) })
    }

    /// The passes are done; with what particles took from the land for good, as [`Job::gone_m3`].
    fn after(
        &mut self,
        _: &Job,
        _: usize,
        _: &Plan,
        _gone_m3: Option<[f64; 2]>,
        _: &mut dyn Executor,
    ) -> Result<()> {
        Ok(())
    }

    /// The plan has ended: what it keeps is there under the names of maps.
    fn ended(&mut self, _: &Job, _: usize, _: &Plan, _: &Kept, _: &mut dyn Executor) -> Result<()> {
        Ok(())
    }
}

/// Observes nothing.
pub(super) struct Quiet;

impl Observer for Quiet {}

impl Job {
    /// Runs these units, one after the other, as far as the slab has them.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the run was cancelled, [`Error::Limit`] for plans that the device
    /// cannot hold, what the observer returns, and those of the device.
    pub(super) fn run_units(
        &self,
        units: impl Iterator<Item = usize>,
        given: &mut Given,
        observer: &mut dyn Observer,
        executor: &mut dyn Executor,
    ) -> Result<Ran> {
        let slab = given.slab;
        for i in units {
            if !slab.has(i) {
                // Its words are among those of the slab before.
                keep_on(&mut given.kept, &self.schedule.draft_on_little(i));
                continue;
            }
            let plan = if slab.goes_on(i) {
                // Only the first unit of a slab continues from a state.
                let state = match std::mem::replace(&mut given.before, Before::Nothing) {
                    Before::Piece(state) => state,
                    Before::InExecutor | Before::Nothing => {
                        let unit = &self.schedule.units[i];
                        Piece::empty(unit.level, self.schedule.window_of(unit))
                    }
                };
                self.go_on(i, state, &mut given.kept, executor)?
            } else {
                self.plan_to_run(i)?
            };
            self.give_inputs(i, &plan, given, executor)?;
            observer.before(self, i, &plan, executor)?;
            executor.begin(&plan)?;
            let passes = slab.passes_of(i, &plan);
            observer.run(self, i, &plan, passes.clone(), &given.kept, executor)?;
            let gone_m3 = self.gone_m3(i, &plan, executor)?;
            observer.after(self, i, &plan, gone_m3, executor)?;
            if let Some(moment) = slab.to.filter(|to| to.unit == i) {
                return Ok(Ran::Until(moment, plan, passes.end));
            }
            executor.end(&plan);
            keep_on(&mut given.kept, &plan);
            observer.ended(self, i, &plan, &given.kept, executor)?;
        }
        Ok(Ran::All)
    }

    /// The plan of unit `i`, which is about to run.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the run was cancelled meanwhile.
    pub(crate) fn plan_to_run(&self, i: usize) -> Result<Plan> {
        let plan = stoppable(&self.cancel.0, || self.schedule.plan(i));
        self.cancel.check()?;
        Ok(plan)
    }

    /// Writes what unit `i` takes and the units before it do not leave as it is: samples, and of a
    /// part the coarser level, cut to what it needs, and the land of its own level, where that is
    /// given.
    ///
    /// # Errors
    /// [`Error::Limit`] for a plan that the device cannot hold, and those of the device.
    pub(crate) fn give_inputs(
        &self,
        i: usize,
        plan: &Plan,
        given: &mut Given,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        // A plan that does not fit is refused before anything is written for it.
        executor.admits(plan)?;
        if !given.slab.goes_on(i) {
            self.upload_samples(i, plan, executor)?;
        }
        let (schedule, unit) = (&self.schedule, &self.schedule.units[i]);
        if !schedule.is_part() || !unit.refines() {
            return Ok(());
        }
        if schedule.restricts() && given.bases.is_empty() {
            // What lies before the levels is of the whole land.
            given.bases = Cow::Owned(self.take_bases(executor)?);
            let level = schedule.until_level();
            self.give_rest(level, &schedule.level_window(level), &given.bases, executor)?;
        }
        let own = schedule.level_window(unit.level);
        self.give_base(unit.level, &own, plan, &given.bases, executor)?;
        let to = coarser(&own, false);
        for buffer in plan.buffers.iter().filter(|buffer| is_coarse(buffer)) {
            let (Fill::Taken(name), Shape::Cells(each)) = (&buffer.fill, buffer.shape) else {
                continue;
            };
            match &given.before {
                Before::Piece(piece) => {
                    if let Some((each, words)) = piece.words.get(*name) {
                        let words = cut(words, &piece.window, &to, *each, 0..*each);
                        executor.write(name, &words)?;
                    }
                }
                Before::InExecutor => {
                    let from = schedule.level_window(unit.level + 1);
                    // Where the windows are the same, the words are there already.
                    if from != to {
                        let selection = within(&from, &to, each, 0..each);
                        let words = executor.read_selection(name, &selection)?;
                        executor.write(name, &words)?;
                    }
                }
                Before::Nothing => {}
            }
        }
        // Its words are in the executor now, so its memory can go.
        if matches!(given.before, Before::Piece(_)) {
            given.before = Before::Nothing;
        }
        Ok(())
    }

    /// Writes what the first stage finds: the input, or a snapshot.
    pub(crate) fn upload_start(&self, executor: &mut dyn Executor) -> Result<()> {
        match &self.start {
            Start::Nothing => Ok(()),
            Start::Heights(words) => executor.write(
                "height",
                &self.grow(words, &self.schedule.world(), &self.schedule.units[0]),
            ),
            Start::Snapshot(snapshot) => snapshot
                .buffers()
                .try_for_each(|(name, words)| executor.write(self.kept_name(name)?, words)),
        }
    }

    /// Writes the samples that stage `i` reads.
    pub(crate) fn upload_samples(
        &self,
        i: usize,
        plan: &Plan,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let unit = &self.schedule.units[i];
        if !unit.named || !plan.buffers.iter().any(|b| b.name == "mask" && b.fill == Fill::Keep) {
            return Ok(());
        }
        match &self.samples[unit.stage] {
            Some(samples) => {
                executor.write("mask", &self.grow(samples, &self.schedule.world(), unit))
            }
            // The plan asks where there is water.
            None => {
                let has_rain = self.schedule.site(i).layers.has(Layer::Rain);
                let land = self.schedule.land_at(unit.level).0;
                let from = &mut self.in_executor(executor);
                let Some(water) = self.water(unit.level, &land, has_rain, from)? else {
                    return Ok(());
                };
                let wet: Vec<i32> = (0..land.cells())
                    .into_par_iter()
                    // In a mask a share of 1 is 2¹⁶.
                    .map(|cell| i32::from(water.has_water(cell)) << 16)
                    .collect();
                executor.write("mask", &self.grow(&wet, &land, unit))
            }
        }
    }

    /// Writes what the first stage of a level takes of a land that is given, in a window of the
    /// level.
    fn give_base(
        &self,
        level: i32,
        window: &Window,
        plan: &Plan,
        bases: &Bases,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let Some(base) = bases.get(&level) else { return Ok(()) };
        for buffer in plan.buffers.iter().filter(|buffer| !is_coarse(buffer)) {
            let Fill::Taken(name) = buffer.fill else { continue };
            if let Some((each, words)) = base.words.get(name) {
                executor.write(name, &cut(words, &base.window, window, *each, 0..*each))?;
            }
        }
        Ok(())
    }

    /// Writes what stages before the levels have left beside the lands of levels, in a window of a
    /// level.
    pub(super) fn give_rest(
        &self,
        level: i32,
        window: &Window,
        bases: &Bases,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let Some(base) = bases.get(&level) else { return Ok(()) };
        for (name, (each, words)) in
            base.words.iter().filter(|(name, _)| stored_name(name).is_none())
        {
            executor.write(self.kept_name(name)?, &cut_all(words, &base.window, window, *each))?;
        }
        Ok(())
    }

    /// The plan of unit `i` as it goes on from a state of its window, whose words it
    /// writes.
    fn go_on(
        &self,
        i: usize,
        state: Piece,
        kept: &mut Kept,
        executor: &mut dyn Executor,
    ) -> Result<Plan> {
        let site = self.schedule.site(i);
        let mut plan = self
            .schedule
            .plan_at(i, &Site { homes: Some(state.particles.homes(&site.window)), ..site });
        // What the plan took when it began is there under the plan's own names.
        kept.retain(|name, _| !plan.has(name));
        let bounds = self.schedule.bounds(self.schedule.units[i].level);
        let end =
            |of: &Window, axis: usize| of.origin[axis] + i64::from([of.width, of.height][axis]);
        // In the west, north, east and south: whether the land continues beyond the window.
        let is_cut = [0, 1, 2, 3].map(|side| {
            let at = |of: &Window| if side < 2 { of.origin[side] } else { end(of, side - 2) };
            bounds.as_ref().is_none_or(|bounds| at(bounds) != at(&site.window))
        });
        if let Some(name) = stepper::particles_of(&plan) {
            executor.write(name, &state.particles.to_words(&plan, is_cut))?;
        }
        for (name, (_, words)) in state.words {
            let known = plan
                .buffers
                .iter()
                .map(|buffer| buffer.name)
                .chain(kept.keys().copied())
                .find(|known| *known == name);
            if let Some(known) = known {
                executor.write(known, &words)?;
            }
            // What was written must not be filled anew when the plan begins.
            plan.buffers
                .iter_mut()
                .filter(|buffer| buffer.name == name)
                .for_each(|buffer| buffer.fill = Fill::Keep);
        }
        plan.buffers
            .iter_mut()
            .filter(|buffer| matches!(buffer.shape, Shape::Tiles { .. }))
            .for_each(|buffer| buffer.fill = Fill::Keep);
        Ok(plan)
    }

    /// The buffer name that plans have for a name from a snapshot.
    pub(super) fn kept_name(&self, name: &str) -> Result<&'static str> {
        let buffers = field::FIELDS.iter().filter_map(|field| match field.source {
            Source::Word { buffer, .. } | Source::Difference { buffer, .. } => Some(buffer),
            Source::Grid(_) | Source::Water(_) | Source::Material(_) => None,
        });
        let all =
            buffers.chain(field::FIELDS.iter().map(|field| field.name)).chain(["splat", "weights"]);
        all.into_iter().find(|known| *known == name).or_else(|| stored_name(name)).ok_or_else(
            || {
                Error::param(format!(
                    "snapshot: {name:?}: this version of thalweg has no such buffer; \
                     make the snapshot anew"
                ))
            },
        )
    }

    /// The words of a map of a land where a unit works on it: mirrored outwards.
    pub(super) fn grow(&self, words: &[i32], land: &Window, unit: &Unit) -> Vec<i32> {
        let window = self.schedule.window_of(unit);
        let [left, top] = [0, 1].map(|a| (window.origin[a] - land.origin[a]) as i32);
        let (w, h) = (land.width as i32, land.height as i32);
        let columns: Vec<usize> =
            (left..left + window.width as i32).map(|x| fold(x, w, false) as usize).collect();
        (top..top + window.height as i32)
            .flat_map(|y| {
                let row = fold(y, h, false) as usize * w as usize;
                columns.iter().map(move |x| words[row + x])
            })
            .collect()
    }

    /// What particles of stage `i` took from the land for good, if it has particles, and how much
    /// of that did not leave over a border. Fails if a sum could have wrapped.
    pub(super) fn gone_m3(
        &self,
        i: usize,
        plan: &Plan,
        executor: &mut dyn Executor,
    ) -> Result<Option<[f64; 2]>> {
        if plan.buffers.iter().all(|buffer| buffer.name != "spilled") {
            return Ok(None);
        }
        let [exported, spilled, banked] =
            ["exported", "spilled", "banked"].map(|name| executor.read(name));
        let gone =
            stepper::gone(&plan.window, &exported?, &spilled?, &banked?).map_err(|overruns| {
                let message = format!(
                    "{overruns} times more was to be moved at a vertex than fits in a step and its \
                     carry, 4096 cells; lower capacity, rain or radius_cells, or raise \
                     max_step_fraction"
                );
                let (place, pointer) = self.recipe().place(self.schedule.units[i].stage);
                Invalid::from(message).inside(&place, &pointer)
            })?;
        Ok(Some([gone.over_border + gone.lost, gone.lost].map(|units| self.volume_m3(i, units))))
    }
}
