//! Parts of a land, and pieces of a level.

use super::piece::{After, Bases, Piece, within};
use super::units::{Before, Given, Quiet, Ran};
use super::{Job, Start};
use crate::error::{Error, Invalid, Result};
use crate::exec::Executor;
use crate::field::{self, Source};
use crate::plan::{Fill, Plan, Shape};
use crate::schedule::{Kept, Slab, needed_by, shown};
use crate::site::Window;
use crate::stage::levels::{is_coarse, lattice};
use crate::stage::stepper::{self, Travellers};
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Job {
    /// The same run, but of a part of its land: with the words that the run of the whole land has
    /// there. Of each level it makes what the part can depend on, so the part of a large land costs
    /// as much as its own cells and their surroundings.
    ///
    /// The part lies in the land, or, where the recipe is endless, anywhere.
    ///
    /// # Errors
    /// [`Error::Param`] for a part that reaches beyond the land, for a torus, and for a land whose
    /// water is asked for; [`Error::Limit`] for one that depends on more than a window can hold.
    pub fn part(self, part: Window) -> Result<Self> {
        let wrong = |what: &str| Err(Invalid::of("part", shown(&part), "").saying(what).into());
        self.schedule.check_region(&part)?;
        self.recipe().check_parts()?;
        if !matches!(self.start, Start::Nothing | Start::Heights(_)) {
            return wrong("part: a run that resumes from a snapshot makes its whole land");
        }
        let has_water = self.schedule.recipe.water.is_some();
        let is_water = |name| {
            field::find(name).is_some_and(|field| match field.source {
                Source::Material(_) => has_water,
                source => matches!(source, Source::Water(_)),
            })
        };
        if !self.schedule.recipe.endless && self.schedule.recipe.wanted().any(is_water) {
            return wrong(
                "part: drainage depends on all of the land, so a part has no rivers of its own; \
                 leave the table [water] and its maps out, or take the maps from `thalweg tiles`",
            );
        }
        if self.frames > 0 {
            return wrong("part: a time-lapse shows the whole land; leave frames out");
        }
        // A place on Earth is that of the region's corner, and moves with it.
        let before = self.schedule.region().origin;
        let georef = self
            .georef
            .clone()
            .map(|georef| georef.from(part.origin[0] - before[0], part.origin[1] - before[1]));
        let schedule = self.schedule.with_region(part)?;
        for (i, unit) in schedule.units.iter().enumerate().filter(|(_, unit)| unit.named) {
            schedule.recipe.check_step(unit.stage, &unit.step, &schedule.site(i))?;
        }
        Ok(Self { schedule, georef, ..self })
    }

    /// Refuses what only the run of a whole land has.
    pub(super) fn check_whole(&self) -> Result<()> {
        // Every run of an endless land is a part, and a run that goes on makes the same.
        if self.schedule.is_part() && !self.schedule.recipe.endless {
            let message = "the run makes a part of a land: snapshots are of whole lands";
            return Err(Invalid::from(message).about("snapshot").into());
        }
        Ok(())
    }

    /// The lands of an input's levels; nothing where each level's land is made for it.
    pub(crate) fn bases(&self, executor: &mut dyn Executor) -> Result<Bases> {
        if !self.schedule.restricts() {
            return Ok(Bases::new());
        }
        self.upload_start(executor)?;
        let units = self.schedule.before_levels();
        self.run_units(units, &mut Given::nothing(), &mut Quiet, executor)?;
        self.take_bases(executor)
    }

    /// The lands of levels that the units before them have left in an executor, and what
    /// else these have left. It has nothing then.
    pub(super) fn take_bases(&self, executor: &mut dyn Executor) -> Result<Bases> {
        let mut bases = Bases::new();
        for (i, unit) in self.schedule.units.iter().enumerate().filter(|(_, unit)| unit.refines()) {
            // These are of the whole land, whatever part of it is made.
            let window = lattice(&self.schedule.whole(), unit.level, false);
            let mut words = BTreeMap::new();
            for buffer in self.schedule.plan(i).buffers.iter().filter(|buffer| !is_coarse(buffer)) {
                if let (Fill::Taken(name), Shape::Cells(each)) = (&buffer.fill, buffer.shape) {
                    words.insert(name.to_string(), (each, executor.read(name)?));
                }
            }
            bases.insert(unit.level, Piece { words, ..Piece::empty(unit.level, window) });
        }
        // What they have left beside the lands is of the finest level.
        if let Some(base) = bases.get_mut(&self.schedule.recipe.finest()) {
            for (name, each) in self.schedule.rest() {
                base.words.insert(name.to_string(), (each, executor.read(name)?));
            }
        }
        executor.clear();
        Ok(bases)
    }

    /// What a slab of a level's time leaves in a window of it, made on the window with its halo: a
    /// pure function of the recipe, the window and what the slab before leaves there, or for the
    /// first what the next coarser level does. That is none for the coarsest.
    #[expect(
        clippy::too_many_arguments,
        reason = "a window of a slab of a level, and what it is made from"
    )]
    pub(crate) fn piece(
        &self,
        level: i32,
        slab: &Slab,
        target: Window,
        halo: &Window,
        before: Option<Piece>,
        bases: &Bases,
        executor: &mut dyn Executor,
    ) -> Result<Piece> {
        let window = *halo;
        if window.width.max(window.height) > Window::SIDE_MAX {
            return Err(Error::over(
                format!(
                    "a tile of {} x {} cells of level {level} needs {} x {}, since its stages \
                     reach {} \
                 cells: a window has at most {} a side; take smaller tiles, or lower lifetime or \
                 rain on that level",
                    target.width,
                    target.height,
                    window.width,
                    window.height,
                    self.schedule.reach_in(level, slab),
                    Window::SIDE_MAX
                ),
                window.width.max(window.height),
                Window::SIDE_MAX,
                "cells a side",
            ));
        }
        let job = self.of_schedule(self.schedule.on_window(level, window));
        let schedule = &job.schedule;
        for i in schedule.units_of(level).filter(|i| slab.has(*i)) {
            let unit = &schedule.units[i];
            if unit.named {
                schedule.recipe.check_step(unit.stage, &unit.step, &schedule.site(i))?;
            }
        }
        // What the tile before took is not there for this one's buffers.
        executor.clear();
        executor.release();
        // Later slabs have all of this in the state that they begin with.
        if slab.from.is_none() {
            if let (false, Start::Heights(_)) = (schedule.has_levels(), &job.start) {
                job.upload_start(executor)?;
            }
            job.give_rest(level, &window, bases, executor)?;
        }
        let given = schedule.given(level).into_iter().map(|(name, each)| (name, Some(each)));
        let before = before.map_or(Before::Nothing, Before::Piece);
        let mut given =
            Given { slab: *slab, before, bases: Cow::Borrowed(bases), kept: given.collect() };
        let ran = job.run_units(schedule.units_of(level), &mut given, &mut Quiet, executor)?;
        if let Ran::Until(moment, plan, passes) = ran {
            let stage = schedule.units[moment.unit].step.stage.name.into();
            let after = After { unit: moment.unit, stage, done: moment.done, of: moment.of };
            let state = job.state(level, target, &plan, passes, &given.kept, executor)?;
            return Ok(Piece { after: Some(after), ..state });
        }
        // The kernels' memory is not needed any more.
        executor.release();
        let mut words = BTreeMap::new();
        for (name, each) in given.kept.iter().filter_map(|(name, each)| Some((*name, (*each)?))) {
            if schedule.is_wanted(name, level) {
                let part = within(&window, &target, each, 0..each);
                words.insert(name.to_string(), (each, executor.read_selection(name, &part)?));
            }
        }
        executor.clear();
        Ok(Piece { words, ..Piece::empty(level, target) })
    }

    /// All that there is in a window in the middle of a plan, after its first `after` passes.
    fn state(
        &self,
        level: i32,
        target: Window,
        plan: &Plan,
        after: usize,
        kept: &Kept,
        executor: &mut dyn Executor,
    ) -> Result<Piece> {
        let others = kept.iter().filter_map(|(name, each)| Some((*name, (*each)?)));
        let others = others.filter(|(name, _)| !plan.has(name));
        let mut state = Piece::empty(level, target);
        for (name, each) in needed_by(plan, after).chain(others) {
            let words =
                executor.read_selection(name, &within(&plan.window, &target, each, 0..each))?;
            state.words.insert(name.into(), (each, words));
        }
        if let Some(name) = stepper::particles_of(plan) {
            state.particles = Travellers::of(plan, &executor.read(name)?, &target);
        }
        executor.clear();
        Ok(state)
    }

    /// What the next coarser level would leave in a window of it if it were level: what the first
    /// stage of a level takes, all 0.
    pub(crate) fn level_land(&self, level: i32, window: Window) -> Piece {
        let mut land = Piece::empty(level + 1, window);
        for i in self.schedule.units_of(level).filter(|i| self.schedule.units[*i].refines()) {
            for buffer in
                self.schedule.draft_on_little(i).buffers.iter().filter(|buffer| is_coarse(buffer))
            {
                if let (Fill::Taken(name), Shape::Cells(each)) = (&buffer.fill, buffer.shape) {
                    land.words.insert(name.to_string(), (each, vec![0; window.cells() * each]));
                }
            }
        }
        land
    }
}
