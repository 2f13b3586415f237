//! Parts of a land: which window each level needs so that a part has the words of the whole, and
//! what passes between the windows.

use super::{Job, Start};
use crate::device::with;
use crate::error::{Error, Invalid, Result};
use crate::exec::{self, Control, Executor};
use crate::field::{self, Source};
use crate::morphometry::SKY_REACH;
use crate::plan::{Buffer, Fill, Plan, Shape};
use crate::recipe::{LAND_MAX, Recipe, Step, Unit};
use crate::site::{Scale, Site, Window};
use crate::stage::levels::{REFINE, coarser, lattice, stored_name};
use crate::stage::stepper::{self, Travellers};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// The land and the windows of a run.
#[derive(Clone, Debug)]
pub(super) struct Lands {
    /// The land without its margin, on the recipe's lattice. What a part is cut out of.
    pub land: Window,
    /// Whether less than the land is made.
    pub is_part: bool,
    /// What kernels work on, by level: the whole land with its margin, or what a part needs of it.
    windows: BTreeMap<i32, Window>,
}

impl Lands {
    /// Those of a run of the land. Where it is endless, that is a part of it.
    pub fn of(recipe: &Recipe, land: Window, units: &[Unit], scale: Scale) -> Self {
        let part =
            recipe.endless.then(|| Self::part(recipe, land, units, scale, recipe.finest(), land));
        // A part that is too large is refused when it is to be made.
        part.and_then(Result::ok).unwrap_or_else(|| {
            let whole = recipe.padded(land);
            let levels = units.iter().map(|unit| unit.level).chain([recipe.finest()]);
            let windows =
                levels.map(|level| (level, lattice(&whole, level, recipe.is_torus()))).collect();
            Self { land, is_part: false, windows }
        })
    }

    /// Those of a run of a part of the land, down to a level.
    pub fn part(
        recipe: &Recipe,
        land: Window,
        units: &[Unit],
        scale: Scale,
        until_level: i32,
        part: Window,
    ) -> Result<Self> {
        let whole = recipe.padded(land);
        let coarsest = units.iter().map(|unit| unit.level).max().unwrap_or(until_level);
        let bounds = |level: i32| (!recipe.endless).then(|| lattice(&whole, level, false));
        let mut needed = lattice(&part, until_level, false);
        needed = padded(&needed, recipe.halo_of_maps(until_level), bounds(until_level).as_ref())?;
        let mut windows = BTreeMap::new();
        for level in until_level..=coarsest {
            let reach = reach_on(recipe, units, level, whole, scale);
            let window = padded(&needed, reach, bounds(level).as_ref())?;
            if window.width.max(window.height) > Window::SIDE_MAX {
                return Err(Error::Limit(format!(
                    "a part of {} x {} cells needs {} x {} cells of level {level}, whose stages \
                     reach {reach} cells: a window has at most {} a side; lower lifetime or rain \
                     on that level, or give it fewer levels",
                    part.width,
                    part.height,
                    window.width,
                    window.height,
                    Window::SIDE_MAX
                )));
            }
            windows.insert(level, window);
            needed = coarser(&window, false);
        }
        Ok(Self { land, is_part: true, windows })
    }

    /// Cells of the largest window.
    pub fn cells(&self) -> u64 {
        self.windows
            .values()
            .map(|window| u64::from(window.width) * u64::from(window.height))
            .max()
            .unwrap_or(0)
    }

    /// What kernels work on, on a level.
    pub fn window(&self, level: i32) -> Window {
        // Every level of the run has its window.
        self.windows.get(&level).copied().unwrap_or(self.land)
    }
}

/// A window grown by `by` cells on each side, as far as the land goes.
pub(crate) fn padded(window: &Window, by: u64, land: Option<&Window>) -> Result<Window> {
    let by = by.min(1 << 40) as i64;
    let sides = [window.width, window.height];
    let mut ends =
        [0, 1].map(|a| (window.origin[a] - by, window.origin[a] + i64::from(sides[a]) + by));
    if let Some(land) = land {
        let most = [land.width, land.height];
        ends = [0, 1].map(|a| {
            let last = land.origin[a] + i64::from(most[a]);
            (ends[a].0.clamp(land.origin[a], last), ends[a].1.clamp(land.origin[a], last))
        });
    }
    let side = |a: usize| {
        u32::try_from(ends[a].1 - ends[a].0).map_err(|_| {
            Error::Limit(format!(
                "a part reaches {by} cells: a window has at most {} a side",
                Window::SIDE_MAX
            ))
        })
    };
    Ok(Window { origin: ends.map(|(first, _)| first), width: side(0)?, height: side(1)? })
}

/// How far a stage of `steps` steps reaches, in cells, with the stages between its steps.
pub(super) fn reach(step: &Step, site: &Site, steps: usize) -> u64 {
    let of = |step: &Step| (step.stage.reach)(&step.settings, site);
    let nested =
        step.with.iter().map(|nested| steps as u64 / u64::from(nested.every) * of(&nested.step));
    of(step) + nested.sum::<u64>()
}

/// How far, in cells of a level, its land can depend on what lies round it.
fn reach_on(recipe: &Recipe, units: &[Unit], level: i32, whole: Window, scale: Scale) -> u64 {
    let of = |unit: &Unit| {
        let site = recipe.unit_site(unit, whole, scale);
        // How many steps a stage has does not depend on its window, which only has to be large
        // enough to have any.
        let window = Window { width: 2, height: 2, ..site.window };
        let steps = || {
            (unit.step.stage.plan)(&unit.step.settings, &Site { window, draft: true, ..site })
                .count()
                .steps as usize
        };
        reach(&unit.step, &site, if unit.step.with.is_empty() { 0 } else { steps() })
    };
    units.iter().filter(|unit| unit.level == level).map(of).sum()
}

/// A moment in the middle of a level: between two steps of a part of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The number of the part.
    pub part: usize,
    /// How many of its steps are done.
    pub done: u32,
    /// How many it has.
    pub of: u32,
}

/// A slab of a level's time: from a moment, or from the beginning, to a moment, or to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slab {
    pub from: Option<Moment>,
    pub to: Option<Moment>,
}

impl Slab {
    /// The whole of a level's time.
    pub const WHOLE: Self = Self { from: None, to: None };

    /// Whether a part of the run has steps in it.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.from.is_none_or(|from| from.part <= i) && self.to.is_none_or(|to| i <= to.part)
    }

    /// Whether it begins in the middle of a part of the run.
    pub(crate) fn goes_on(&self, i: usize) -> bool {
        self.from.is_some_and(|from| from.part == i)
    }

    /// Whether it ends in the middle of a part of the run.
    pub(crate) fn leaves(&self, i: usize) -> bool {
        self.to.is_some_and(|to| to.part == i)
    }

    /// The passes of a part of the run that it has.
    pub(crate) fn passes_of(&self, i: usize, plan: &Plan) -> Range<usize> {
        // A map of one row has no steps.
        let pass = |moment: Option<Moment>| {
            moment.map(|moment| plan.steps.get(moment.done as usize - 1).copied().unwrap_or(0))
        };
        let [from, to] =
            [self.from, self.to].map(|moment| pass(moment.filter(|moment| moment.part == i)));
        from.unwrap_or(0)..to.unwrap_or(plan.passes.len())
    }

    /// Where it begins and ends, for keys: part of the run and steps done.
    pub(crate) fn describe(&self) -> serde_json::Value {
        json!([self.from, self.to].map(|moment| moment.map(|moment| (moment.part, moment.done))))
    }
}

/// In a map of `each` words for each cell of a window, the words `of` each cell of another window
/// within it.
pub(crate) fn within(from: &Window, to: &Window, each: usize, of: Range<usize>) -> exec::Part {
    let [left, top] = [0, 1].map(|a| (to.origin[a] - from.origin[a]) as usize);
    let (columns, rows) = (left..left + to.width as usize, top..top + to.height as usize);
    exec::Part { first: 0, width: from.width as usize, each, columns, rows, of }
}

/// The words of all cells of a window in maps of another window, one map after the other.
fn cut_all(words: &[i32], from: &Window, to: &Window, each: usize) -> Vec<i32> {
    words
        .chunks((from.cells() * each).max(1))
        .flat_map(|map| cut(map, from, to, each, 0..each))
        .collect()
}

/// These words of a map.
pub(crate) fn cut(
    words: &[i32],
    from: &Window,
    to: &Window,
    each: usize,
    of: Range<usize>,
) -> Vec<i32> {
    within(from, to, each, of).of(words)
}

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
        self.check_part(&part)?;
        self.recipe.check_parts()?;
        if !matches!(self.start, Start::Nothing | Start::Heights(_)) {
            return wrong("part: a run that resumes from a snapshot makes its whole land");
        }
        let is_water =
            |name| field::find(name).is_some_and(|field| matches!(field.source, Source::Water(_)));
        if !self.recipe.endless && self.recipe.wanted().any(is_water) {
            return wrong(
                "part: drainage depends on all of the land, so a part has no rivers of its own; \
                 leave the table [water] and its maps out, or take the maps from `thalweg tiles`",
            );
        }
        if self.frames > 0 {
            return wrong("part: a time-lapse shows the whole land; leave frames out");
        }
        let before = self.window.origin;
        let georef = self
            .georef
            .clone()
            .map(|georef| georef.from(part.origin[0] - before[0], part.origin[1] - before[1]));
        let job = Self { window: part, georef, ..self };
        let job = Self { lands: job.part_of_land(job.until_level)?, ..job };
        for (i, unit) in job.units.iter().enumerate().filter(|(_, unit)| unit.named) {
            job.recipe.check_step(unit.stage, &unit.step, &job.site(i))?;
        }
        Ok(job)
    }

    /// Refuses a part that reaches beyond the land.
    ///
    /// # Errors
    /// [`Error::Param`] with the land.
    pub fn check_part(&self, part: &Window) -> Result<()> {
        let wrong = |what: String, allowed: &str| {
            Err(Invalid::of("part", shown(part), allowed).saying(what).into())
        };
        let land = self.lands.land;
        let end = |window: &Window| {
            [0, 1].map(|a| {
                window.origin[a].saturating_add(i64::from([window.width, window.height][a]))
            })
        };
        let inside =
            (0..2).all(|a| part.origin[a] >= land.origin[a] && end(part)[a] <= end(&land)[a]);
        if !self.recipe.endless && !inside {
            let allowed = format!("within {}", shown(&land));
            return wrong(
                format!(
                    "part = {}: the land is {}; allowed is a part of it",
                    shown(part),
                    shown(&land)
                ),
                &allowed,
            );
        }
        if ![part.width, part.height].iter().all(|side| (1..=LAND_MAX).contains(side)) {
            let allowed = format!("1 to {LAND_MAX} cells a side");
            return wrong(format!("part = {}: allowed {allowed}", shown(part)), &allowed);
        }
        if part.origin.iter().any(|o| o.unsigned_abs() > 1 << 60) {
            return wrong(
                format!("part = {}: allowed are places up to 2^60 cells either way", shown(part)),
                "up to 2^60",
            );
        }
        Ok(())
    }

    /// The land without its margin, on the recipe's lattice, whatever part of it the run makes.
    pub fn whole_window(&self) -> Window {
        self.lands.land
    }

    /// A window of the recipe's lattice on a level.
    pub fn on_level(window: &Window, level: i32) -> Window {
        lattice(window, level, false)
    }

    /// Opens the device that was asked for and works on it. Where the CPU may take over from a card
    /// that fails, the work is done anew there.
    ///
    /// # Errors
    /// [`Error::Device`] for a device that is missing or fails and that was asked for by name, and
    /// what the work returns.
    pub fn with_device<T>(
        &self,
        warn: &mut dyn FnMut(&str),
        work: &mut dyn FnMut(&mut dyn Executor) -> Result<T>,
    ) -> Result<T> {
        let opened = self.options.open(&|_| Ok(()), &mut |warning| warn(&warning))?;
        let replaceable = opened.replaceable;
        match with(opened.executor, |executor| work(executor)) {
            Err(e @ (Error::Device(_) | Error::Limit(_))) if replaceable => {
                warn(&format!("{e}; the CPU takes over, for the same bytes"))
            }
            done => return done,
        }
        work(&mut self.options.cpu()?)
    }

    /// Refuses what only the run of a whole land has.
    pub(super) fn check_whole(&self) -> Result<()> {
        // Every run of an endless land is a part, and a run that goes on makes the same.
        if self.lands.is_part && !self.recipe.endless {
            let message = "the run makes a part of a land: snapshots are of whole lands";
            return Err(Invalid::from(message).about("snapshot").into());
        }
        Ok(())
    }

    /// What maps that follow from the height of a level look at: the land that is left and what
    /// lies round it, as far as there is land.
    pub(super) fn with_surroundings(&self, level: i32) -> Window {
        let own = self.land_at(level).0;
        if !self.lands.is_part {
            return own;
        }
        let land = (!self.recipe.endless).then(|| lattice(&self.lands.land, level, false));
        padded(&own, u64::from(SKY_REACH), land.as_ref()).unwrap_or(own)
    }

    /// What the run needs of its land to make its part down to a level.
    pub(super) fn part_of_land(&self, until_level: i32) -> Result<Lands> {
        Lands::part(
            &self.recipe,
            self.lands.land,
            &self.units,
            self.scale,
            until_level,
            self.window,
        )
    }

    /// Refuses a land that is larger than a window.
    pub(super) fn check_size(&self) -> Result<()> {
        if self.recipe.endless && !self.lands.is_part {
            // It was too large when the job was made, and says why.
            return self.part_of_land(self.until_level).map(|_| ());
        }
        let window = self.lands.window(self.until_level);
        if window.width.max(window.height) <= Window::SIDE_MAX {
            return Ok(());
        }
        let Window { width, height, .. } = self.window;
        let (margin, scale) = (self.recipe.margin, self.recipe.scale);
        let finer = if scale > 1 { format!(" and scale = {scale}") } else { String::new() };
        Err(Error::Limit(format!(
            "{width} x {height} cells with a margin of {margin}{finer}: a run makes at most {} \
             cells a side at once, with its margins; make a part of the land, or tiles of it",
            Window::SIDE_MAX
        )))
    }

    /// What kernels of part `i` of the run work on.
    pub(super) fn window_of(&self, unit: &Unit) -> Window {
        if self.lands.is_part
            && !self.recipe.makes_each_level()
            && self.has_levels()
            && self.recipe.is_before_levels(unit)
        {
            // Coarser lattices of a land that is given come from all of it.
            return lattice(&self.whole(), unit.level, false);
        }
        self.lands.window(unit.level)
    }

    /// Before stage `i` of the run of a part: what it takes from the coarser level, whose window is
    /// larger, is cut to what it needs, and it is given the land of its own level, where that is
    /// given.
    pub(crate) fn crop_inputs(
        &self,
        i: usize,
        plan: &Plan,
        bases: &mut Bases,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let unit = &self.units[i];
        if !self.lands.is_part || unit.step.stage.name != REFINE.name {
            return Ok(());
        }
        if self.restricts() && bases.is_empty() {
            // As tiles do it: what lies before the levels is of the whole land.
            *bases = self.take_bases(executor)?;
            self.give_rest(
                self.until_level,
                &self.lands.window(self.until_level),
                bases,
                executor,
            )?;
        }
        let own = self.lands.window(unit.level);
        self.give_base(unit.level, &own, plan, bases, executor)?;
        let (from, to) = (self.lands.window(unit.level + 1), coarser(&own, false));
        for buffer in plan.buffers.iter().filter(|buffer| is_coarse(buffer) && from != to) {
            let (Fill::Taken(name), Shape::Cells(each)) = (&buffer.fill, buffer.shape) else {
                continue;
            };
            let words = executor.read_part(name, &within(&from, &to, each, 0..each))?;
            executor.write(name, &words)?;
        }
        Ok(())
    }
}

/// Brings the list of what is kept for each cell, names and how many words, to what it is after a
/// plan.
fn keep_on(kept: &mut BTreeMap<&'static str, usize>, plan: &Plan) {
    kept.retain(|name, _| !plan.has(name));
    kept.extend(plan.kept().filter_map(|buffer| match (buffer.keep, buffer.shape) {
        (Some(name), Shape::Cells(each)) => Some((name, each)),
        _ => None,
    }));
}

/// The maps of a plan that later passes still need after the first `after`, and their words a cell.
pub(crate) fn needed_by(plan: &Plan, after: usize) -> impl Iterator<Item = (&'static str, usize)> {
    plan.buffers.iter().filter_map(move |buffer| match buffer.shape {
        Shape::Cells(each) if plan.needs(buffer.name, after) => Some((buffer.name, each)),
        _ => None,
    })
}

/// Whether a buffer of `refine` is of the coarser level.
fn is_coarse(buffer: &Buffer) -> bool {
    buffer.name.starts_with("coarse")
}

/// A window, for people.
pub(crate) fn shown(window: &Window) -> String {
    format!(
        "{} x {} cells from {}, {} on",
        window.width, window.height, window.origin[0], window.origin[1]
    )
}

/// What a level leaves in a window of it, in exact words: all that the next finer level starts
/// from, and the maps that are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The level.
    pub level: i32,
    /// The window, on the level's lattice.
    pub window: Window,
    /// Words by the names of their buffers, and how many there are for each cell.
    pub(crate) words: BTreeMap<String, (usize, Vec<i32>)>,
    /// The particles that stand in it, in the middle of a stage.
    pub(crate) particles: Travellers,
    /// When that is.
    pub(crate) after: Option<After>,
}

/// When a state is, for people: after a number of a stage's steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// The stage's number among the parts of the run.
    pub part: usize,
    /// The stage.
    pub stage: String,
    /// How many of its steps are done.
    pub done: u32,
    /// How many it has.
    pub of: u32,
}

impl std::fmt::Display for After {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "after {} of {} steps of {}", self.done, self.of, self.stage)
    }
}

impl Piece {
    /// A piece of a window into which others are put.
    pub(crate) fn empty(level: i32, window: Window) -> Self {
        Self {
            level,
            window,
            words: BTreeMap::new(),
            particles: Travellers::default(),
            after: None,
        }
    }

    /// Puts what another piece has in the window into it, of the maps that are `wanted`.
    pub(crate) fn put(&mut self, piece: &Self, wanted: impl Fn(&str) -> bool) {
        let window = self.window;
        self.particles.take(&piece.particles, &piece.window, &window);
        let end = |of: &Window, a: usize| of.origin[a] + i64::from([of.width, of.height][a]);
        let first = [0, 1].map(|a| piece.window.origin[a].max(window.origin[a]));
        let last = [0, 1].map(|a| end(&piece.window, a).min(end(&window, a)));
        if (0..2).any(|a| first[a] >= last[a]) {
            return;
        }
        for (name, (each, words)) in piece.words.iter().filter(|(name, _)| wanted(name)) {
            let (_, all) = self
                .words
                .entry(name.clone())
                .or_insert_with(|| (*each, vec![0; window.cells() * each]));
            let count = (last[0] - first[0]) as usize * each;
            for y in first[1]..last[1] {
                let at = |of: &Window| {
                    ((y - of.origin[1]) as usize * of.width as usize
                        + (first[0] - of.origin[0]) as usize)
                        * each
                };
                all[at(&window)..][..count].copy_from_slice(&words[at(&piece.window)..][..count]);
            }
        }
    }

    /// A digest of its words.
    #[cfg(feature = "io")]
    pub(crate) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, (each, words)) in &self.words {
            hasher.update(format!("{name} {each} {}\n", super::digest(words)).as_bytes());
        }
        if !self.particles.words.is_empty() {
            hasher
                .update(format!("particles {}\n", super::digest(&self.particles.words)).as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Bytes of its words.
    pub(crate) fn bytes(&self) -> u64 {
        let cells = self.words.values().map(|(_, words)| words.len() as u64).sum::<u64>();
        4 * (cells + self.particles.words.len() as u64)
    }
}

/// The lands of all levels of an input, before any stage changes them: what coarser lattices are
/// restricted from is all of it.
pub(crate) type Bases = BTreeMap<i32, Piece>;

impl Job {
    /// The land of a level within its borders; none where it has none.
    pub(crate) fn bounds(&self, level: i32) -> Option<Window> {
        (!self.recipe.endless).then(|| lattice(&self.whole(), level, false))
    }

    /// Cells of a level that its land can depend on round a window of it.
    pub(crate) fn reach_on(&self, level: i32) -> u64 {
        reach_on(&self.recipe, &self.units, level, self.whole(), self.scale)
    }

    /// Cells of a level that what a slab of its time leaves can depend on round a window of it.
    pub(crate) fn reach_in(&self, level: i32, slab: &Slab) -> u64 {
        if *slab == Slab::WHOLE {
            return self.reach_on(level);
        }
        let of = |i: usize| {
            let unit = &self.units[i];
            let (step, site) = (&unit.step, self.recipe.unit_site(unit, self.whole(), self.scale));
            let moment = [slab.from, slab.to].into_iter().flatten().find(|moment| moment.part == i);
            let Some((Moment { of, .. }, spread)) = moment.zip(step.stage.halo) else {
                return reach(
                    step,
                    &site,
                    if step.with.is_empty() { 0 } else { self.steps_of(i) as usize },
                );
            };
            let at = |moment: Option<Moment>, otherwise| {
                moment.filter(|at| at.part == i).map_or(otherwise, |at| at.done)
            };
            let steps = at(slab.from, 0)..at(slab.to, of);
            let nested = step.with.iter().map(|nested| {
                let times = steps.end / nested.every - steps.start / nested.every;
                u64::from(times) * (nested.step.stage.reach)(&nested.step.settings, &site)
            });
            spread(&step.settings, &site, steps.clone()) + nested.sum::<u64>()
        };
        self.parts_of(level).filter(|i| slab.has(*i)).map(of).sum()
    }

    /// What kernels work on to make a window of a level in a slab of its time.
    pub(crate) fn halo(&self, level: i32, slab: &Slab, target: &Window) -> Result<Window> {
        padded(target, self.reach_in(level, slab), self.bounds(level).as_ref())
    }

    /// How many steps a part of the run has. It does not depend on the window.
    fn steps_of(&self, i: usize) -> u32 {
        self.draft_on_little(i).count().steps as u32
    }

    /// The slabs that a level's time is cut into, so that none has more than `most` steps of a
    /// stage: the last first.
    pub(crate) fn slabs(&self, level: i32, most: u32) -> Vec<Slab> {
        let mut slabs = vec![Slab::WHOLE];
        for i in self.parts_of(level).filter(|i| self.units[*i].step.stage.hosts()) {
            let all = self.steps_of(i);
            let count = all.div_ceil(most.max(1));
            for n in 1..count {
                let done = (u64::from(all) * u64::from(n) / u64::from(count)) as u32;
                let moment = Some(Moment { part: i, done, of: all });
                slabs[0].to = moment;
                slabs.insert(0, Slab { from: moment, to: None });
            }
        }
        slabs
    }

    /// The numbers of the parts of the run that make a level, from what the next coarser one
    /// leaves.
    pub(crate) fn parts_of(&self, level: i32) -> impl Iterator<Item = usize> {
        let made = self.recipe.makes_each_level();
        let by_level = self.has_levels();
        self.units.iter().enumerate().filter_map(move |(i, unit)| {
            let before = by_level && !made && self.recipe.is_before_levels(unit);
            (unit.level == level && !before).then_some(i)
        })
    }

    /// Whether its levels are refined one from the other.
    pub(crate) fn has_levels(&self) -> bool {
        self.units.iter().any(|unit| unit.step.stage.name == REFINE.name)
    }

    /// The lands of an input's levels; nothing where each level's land is made for it.
    pub(crate) fn bases(&self, executor: &mut dyn Executor) -> Result<Bases> {
        if !self.restricts() {
            return Ok(Bases::new());
        }
        let stop = self.cancel.flag();
        self.upload_start(executor)?;
        for i in self.before_levels() {
            let plan = self.plan(i);
            self.upload_samples(i, &plan, executor)?;
            self.run_plan(&plan, 0..plan.passes.len(), executor, stop)?;
            executor.end(&plan);
        }
        self.take_bases(executor)
    }

    /// Whether the lands of coarser levels are restricted from one that is given, or made whole.
    pub(crate) fn restricts(&self) -> bool {
        self.has_levels() && !self.recipe.makes_each_level()
    }

    /// The numbers of the parts of the run that make or restrict the lands of levels, before the
    /// coarsest one's turn.
    pub(crate) fn before_levels(&self) -> impl Iterator<Item = usize> {
        (0..self.units.len()).take_while(|i| self.recipe.is_before_levels(&self.units[*i]))
    }

    /// What these leave on the level of the land that is given beside the lands of levels, and
    /// words of each for a cell: `biome`, for one.
    fn rest(&self) -> BTreeMap<&'static str, usize> {
        let mut rest: BTreeMap<&'static str, usize> = BTreeMap::new();
        for i in self.before_levels() {
            let plan = self.draft_on_little(i);
            rest.retain(|name, _| !plan.has(name));
            rest.extend(plan.kept().filter_map(|buffer| match (buffer.keep?, buffer.shape) {
                (name, Shape::Cells(each)) => Some((name, each)),
                // Maps of a word, one after the other.
                (name, _) => Some((name, 1)),
            }));
        }
        rest.retain(|name, _| stored_name(name).is_none());
        rest
    }

    /// The lands of levels that the parts of the run before them have left in an executor, and what
    /// else these have left. It has nothing then.
    pub(super) fn take_bases(&self, executor: &mut dyn Executor) -> Result<Bases> {
        let mut bases = Bases::new();
        for (i, unit) in
            self.units.iter().enumerate().filter(|(_, unit)| unit.step.stage.name == REFINE.name)
        {
            let window = lattice(&self.whole(), unit.level, false);
            let mut words = BTreeMap::new();
            for buffer in self.plan(i).buffers.iter().filter(|buffer| !is_coarse(buffer)) {
                if let (Fill::Taken(name), Shape::Cells(each)) = (&buffer.fill, buffer.shape) {
                    words.insert(name.to_string(), (each, executor.read(name)?));
                }
            }
            bases.insert(unit.level, Piece { words, ..Piece::empty(unit.level, window) });
        }
        if let Some(base) = bases.get_mut(&self.recipe.finest()) {
            for (name, each) in self.rest() {
                base.words.insert(name.to_string(), (each, executor.read(name)?));
            }
        }
        executor.clear();
        Ok(bases)
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

    fn run_plan(
        &self,
        plan: &Plan,
        passes: Range<usize>,
        executor: &mut dyn Executor,
        stop: &AtomicBool,
    ) -> Result<()> {
        executor.admits(plan)?;
        executor.begin(plan)?;
        executor.run(plan, passes, &mut Control { stop, progress: &mut |_| Ok(()) })
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
            return Err(Error::Limit(format!(
                "a tile of {} x {} cells of level {level} needs {} x {}, since its stages reach {} \
                 cells: a window has at most {} a side; take smaller tiles, or lower lifetime or \
                 rain on that level",
                target.width,
                target.height,
                window.width,
                window.height,
                self.reach_in(level, slab),
                Window::SIDE_MAX
            )));
        }
        let job = Self {
            lands: Lands {
                land: self.lands.land,
                is_part: true,
                windows: [(level, window)].into(),
            },
            ..self.clone()
        };
        // What the tile before took is not there for this one's buffers.
        executor.clear();
        executor.release();
        if slab.from.is_none()
            && !self.has_levels()
            && let Start::Heights(words) = &self.start
        {
            executor.write("height", &job.grow(words, &job.lands.land, &job.units[0]))?;
        }
        let mut before = before;
        let mut kept = self.given(level);
        if slab.from.is_none() {
            job.give_rest(level, &window, bases, executor)?;
        }
        for i in self.parts_of(level) {
            let unit = &job.units[i];
            if !slab.has(i) {
                // Its words are among those of the slab before.
                keep_on(&mut kept, &self.draft_on_little(i));
                continue;
            }
            if unit.named {
                job.recipe.check_step(unit.stage, &unit.step, &job.site(i))?;
            }
            let plan = if slab.goes_on(i) {
                let state = before.take().unwrap_or_else(|| Piece::empty(level, window));
                job.go_on(i, state, &mut kept, executor)?
            } else {
                let plan = job.plan(i);
                job.upload_samples(i, &plan, executor)?;
                plan
            };
            if unit.step.stage.name == REFINE.name {
                job.give_base(level, &window, &plan, bases, executor)?;
                let to = coarser(&window, false);
                for buffer in plan.buffers.iter().filter(|buffer| is_coarse(buffer)) {
                    let Fill::Taken(name) = buffer.fill else { continue };
                    if let Some((from, (each, words))) =
                        before.as_ref().and_then(|from| Some((from, from.words.get(name)?)))
                    {
                        executor.write(name, &cut(words, &from.window, &to, *each, 0..*each))?;
                    }
                }
                before = None;
            }
            let passes = slab.passes_of(i, &plan);
            job.run_plan(&plan, passes.clone(), executor, self.cancel.flag())?;
            job.gone_m3(i, &plan, executor)?;
            if let Some(Moment { part, done, of }) = slab.to.filter(|to| to.part == i) {
                let after = Some(After { part, stage: unit.step.stage.name.into(), done, of });
                return Ok(Piece {
                    after,
                    ..job.state(level, target, &plan, passes.end, &kept, executor)?
                });
            }
            executor.end(&plan);
            keep_on(&mut kept, &plan);
        }
        // The kernels' memory is not needed any more.
        executor.release();
        let mut words = BTreeMap::new();
        for (name, each) in kept.into_iter().filter(|(name, _)| self.is_wanted(name, level)) {
            words.insert(
                name.to_string(),
                (each, executor.read_part(name, &within(&window, &target, each, 0..each))?),
            );
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
        kept: &BTreeMap<&'static str, usize>,
        executor: &mut dyn Executor,
    ) -> Result<Piece> {
        let others =
            kept.iter().map(|(name, each)| (*name, *each)).filter(|(name, _)| !plan.has(name));
        let mut state = Piece::empty(level, target);
        for (name, each) in needed_by(plan, after).chain(others) {
            let words = executor.read_part(name, &within(&plan.window, &target, each, 0..each))?;
            state.words.insert(name.into(), (each, words));
        }
        if let Some(name) = stepper::particles_of(plan) {
            state.particles = Travellers::of(plan, &executor.read(name)?, &target);
        }
        executor.clear();
        Ok(state)
    }

    /// The plan of part `i` of the run as it goes on from a state of its window, whose words it
    /// writes.
    fn go_on(
        &self,
        i: usize,
        state: Piece,
        kept: &mut BTreeMap<&'static str, usize>,
        executor: &mut dyn Executor,
    ) -> Result<Plan> {
        let site = self.site(i);
        let mut plan =
            self.plan_at(i, &Site { homes: Some(state.particles.homes(&site.window)), ..site });
        // What the plan took when it began is there under the plan's own names.
        kept.retain(|name, _| !plan.has(name));
        let bounds = self.bounds(self.units[i].level);
        let end =
            |of: &Window, axis: usize| of.origin[axis] + i64::from([of.width, of.height][axis]);
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

    /// What the next coarser level would leave in a window of it if it were level: what the first
    /// stage of a level takes, all 0.
    pub(crate) fn level_land(&self, level: i32, window: Window) -> Piece {
        let mut land = Piece::empty(level + 1, window);
        for i in self.parts_of(level).filter(|i| self.units[*i].step.stage.name == REFINE.name) {
            for buffer in self.draft_on_little(i).buffers.iter().filter(|buffer| is_coarse(buffer))
            {
                if let (Fill::Taken(name), Shape::Cells(each)) = (&buffer.fill, buffer.shape) {
                    land.words.insert(name.to_string(), (each, vec![0; window.cells() * each]));
                }
            }
        }
        land
    }

    /// Whether what is kept under a name is needed when a level is done: by the next finer one, or
    /// for a map.
    fn is_wanted(&self, name: &str, level: i32) -> bool {
        let finer = self
            .units
            .iter()
            .position(|unit| unit.step.stage.name == REFINE.name && unit.level == level - 1);
        let by_finer = finer.is_some_and(|i| {
            let taken = |buffer: &&Buffer| {
                is_coarse(buffer) && matches!(buffer.fill, Fill::Taken(from) if from == name)
            };
            self.draft_on_little(i).buffers.iter().any(|buffer| taken(&buffer))
        });
        #[cfg(feature = "dungeon")]
        let for_entrances = name == "biome"
            && level == 0
            && self.recipe.suited().is_ok_and(|suited| suited.is_some());
        #[cfg(not(feature = "dungeon"))]
        let for_entrances = false;
        by_finer
            || for_entrances
            || self.recipe.wanted().filter_map(field::find).any(|field| match field.source {
                Source::Word { buffer, .. } | Source::Difference { buffer, .. } => buffer == name,
                Source::Grid(_) => name == "height",
                Source::Water(_) => name == "height" || name == "rain",
            })
    }

    /// What a level is given beside its land, and words for a cell: what stages before the levels
    /// have left.
    fn given(&self, level: i32) -> BTreeMap<&'static str, usize> {
        if !self.restricts() || level != self.recipe.finest() {
            return BTreeMap::new();
        }
        let mut given = self.rest();
        // Those are several maps, which no tile has.
        given.retain(|name, _| !["splat", "weights"].contains(name));
        given
    }

    /// Bytes of a cell of what a level leaves.
    pub(crate) fn leaves(&self, level: i32) -> u64 {
        let mut kept = self.given(level);
        for i in self.parts_of(level) {
            keep_on(&mut kept, &self.draft_on_little(i));
        }
        kept.into_iter()
            .filter(|(name, _)| self.is_wanted(name, level))
            .map(|(_, each)| each as u64 * 4)
            .sum()
    }
}
