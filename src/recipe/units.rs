//! The units of a run: the stages of a recipe on its levels, and what goes between these.

use super::{Nested, Recipe, Step};
use crate::arith;
use crate::error::Result;
use crate::params::{Settings, Value};
use crate::site::{Layer, Layers, Scale, Site, Window};
use crate::stage::levels::{KEEP, REFINE, RESTRICT};
use crate::stage::{Stage, incision, levels, strokes};
use std::ops::Range;

/// A stage as a run does it: on a level, with its settings there.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub step: Step,
    /// The recipe's stage that it is, or that it is made for.
    pub stage: usize,
    /// How much coarser its lattice is than the recipe's, as a power of two; negative: finer.
    pub level: i32,
    /// Whether the recipe names it.
    pub named: bool,
    /// Whether it belongs to the stages that run on each level.
    pub grouped: bool,
    /// If the flow of coarser levels is there, whether a later stage of the level starts from it,
    /// too.
    pub passed: Option<bool>,
    /// If rivers cut, whether there are water and areas to begin with, and whether they are of use
    /// later.
    pub water: Option<[bool; 2]>,
    /// Whether the land of its level is done after it.
    pub ends_level: bool,
    /// The layers that exist when its stage starts.
    pub layers: Layers,
    /// Whether the land is a torus.
    pub torus: bool,
    /// If it enters the ledger, whether it opens it.
    pub ledger: Option<bool>,
}

impl Unit {
    /// Whether it makes the land of its level from the next coarser one.
    pub fn refines(&self) -> bool {
        self.step.stage.name == REFINE.name
    }
}

impl Recipe {
    /// Whether a unit makes or restricts the lands of levels, before the coarsest one's
    /// turn.
    pub(crate) fn is_before_levels(&self, unit: &Unit) -> bool {
        let goes_down = [&KEEP, &RESTRICT].iter().any(|stage| stage.name == unit.step.stage.name);
        goes_down || !unit.grouped && unit.stage < self.group().start
    }

    /// What a run does on a land with its margin, in order.
    pub(crate) fn units(&self, whole: Window) -> Result<Vec<Unit>> {
        let count = self.level_count(whole)?;
        let (finest, coarsest) = (self.finest(), count as i32 - 1);
        let make = Making::of(self);
        let group = self.group();
        // A recipe whose eroding stages were taken off makes its land as it is.
        if finest == coarsest || group.is_empty() {
            let all = self.stages.iter().enumerate();
            return all.map(|(i, step)| Ok(make.unit(i, step.at(0, 1)?, finest, false))).collect();
        }
        let mut units = make.lands(finest, coarsest)?;
        for level in (finest..=coarsest).rev() {
            units.extend(make.level(level, finest, coarsest, count)?);
        }
        units.extend(make.flat(group.end..self.stages.len(), finest));
        Ok(units)
    }

    /// How many of its stages have a part in the first `done` units of a run.
    pub(crate) fn involved(&self, units: &[Unit], done: usize) -> usize {
        let last = units[..done.min(units.len())]
            .iter()
            // The stages of the group take turns on each level, so all count as soon as one does.
            .map(|unit| if unit.grouped { self.group().end } else { unit.stage + 1 });
        last.max().unwrap_or(0)
    }

    /// The site of what a run does on a land with its margin.
    pub(crate) fn unit_site(&self, unit: &Unit, whole: Window, scale: Scale) -> Site {
        let mut site =
            levels::site(&self.site(unit.stage, unit.layers, whole, scale), unit.level, unit.torus);
        let [water, water_on] = unit.water.unwrap_or_default();
        let passes = site
            .layers
            .with(Layer::Passed, unit.passed.is_some())
            .with(Layer::PassedOn, unit.passed == Some(true));
        site.layers = passes.with(Layer::Water, water).with(Layer::WaterOn, water_on);
        if unit.level != 0 && unit.grouped {
            // Other rain falls on every level.
            site.world.seed = arith::seed(site.world.seed, (1000 + unit.level) as u32);
        }
        site
    }
}

/// Makes the units of a recipe.
struct Making<'a> {
    recipe: &'a Recipe,
    /// The layers that exist when each stage starts.
    layers: Vec<Layers>,
    torus: bool,
    /// The stage that opens the ledger: what generators make first, or combine with that, is the
    /// land as it was.
    opens: usize,
    /// The stages that run on each level.
    group: Range<usize>,
    /// The last stage of the group that leaves a flow, and the last that cuts rivers: they hand on
    /// what the next level begins with.
    last_flow: Option<usize>,
    last_water: Option<usize>,
    /// For each stage, what draws the lakes and rivers that it must leave as they are.
    held: Vec<Option<Settings>>,
}

/// For each stage, what draws the lakes and rivers again that it must leave as they are: those of
/// all strokes before it.
fn held(recipe: &Recipe) -> Vec<Option<Settings>> {
    let held = |i: usize| {
        let before = recipe.stages[..i].iter();
        let strokes = before.filter(|step| step.stage.name == strokes::STAGE.name);
        strokes::held(strokes.map(|step| &step.settings))
    };
    let changes = |step: &Step| step.stage.changes || step.stage.is_generator;
    let each = recipe.stages.iter().enumerate();
    each.map(|(i, step)| if changes(step) { held(i) } else { None }).collect()
}

/// A stage that leaves lakes and rivers as they are: they are drawn again after each of its steps,
/// or, where it draws itself, last.
fn holding(mut step: Step, held: &Settings) -> Step {
    if step.stage.name == strokes::STAGE.name {
        let own = [step.settings.list("stroke"), held.list("stroke")].concat();
        // Lists that were accepted are accepted together.
        let _ = step.settings.set(step.stage.params, "stroke", &Value::List(own));
        return step;
    }
    step.with.push(Nested { every: 1, step: Step::of(&strokes::STAGE, held.clone()) });
    step
}

impl<'a> Making<'a> {
    fn of(recipe: &'a Recipe) -> Self {
        let (stages, group) = (&recipe.stages, recipe.group());
        let last = |of: &dyn Fn(&Stage) -> bool| group.clone().rev().find(|i| of(stages[*i].stage));
        Self {
            layers: recipe.layers(),
            torus: recipe.is_torus(),
            opens: stages.iter().position(|step| !step.stage.is_generator).unwrap_or(stages.len()),
            last_flow: last(&|stage| stage.work == Some("flow")),
            last_water: last(&|stage| stage.name == incision::STAGE.name),
            held: held(recipe),
            group,
            recipe,
        }
    }

    fn unit(&self, stage: usize, mut step: Step, level: i32, grouped: bool) -> Unit {
        let is_own = std::ptr::eq(step.stage, self.recipe.stages[stage].stage);
        if let Some(held) = self.held[stage].as_ref().filter(|_| is_own) {
            step = holding(step, held);
        }
        Unit {
            layers: self.layers[stage],
            torus: self.torus,
            // Where there are levels, each begins with its ledger.
            ledger: (stage >= self.opens).then_some(!grouped && stage == self.opens),
            step,
            stage,
            level,
            named: true,
            grouped,
            passed: None,
            water: None,
            ends_level: false,
        }
    }

    /// Stages with their settings as they are, on one level.
    fn flat(&self, range: Range<usize>, level: i32) -> impl Iterator<Item = Unit> {
        range.map(move |i| self.unit(i, self.recipe.stages[i].clone(), level, false))
    }

    /// A unit that the recipe does not name, for the stages of the group.
    fn inner(&self, stage: &'static Stage, level: i32, settings: &[(&str, Value)]) -> Result<Unit> {
        let given: Vec<_> =
            settings.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let step = Step::of(stage, Settings::new(stage.params, &given)?);
        let unit = self.unit(self.group.start, step, level, true);
        Ok(Unit { named: false, ledger: None, ..unit })
    }

    /// The layers that exist when the group starts.
    fn there(&self) -> Layers {
        self.layers[self.group.start]
    }

    /// Whether sediment lies loose when the group starts.
    fn is_loose(&self) -> bool {
        self.there().has(Layer::Sediment)
    }

    /// The units that make or restrict the land of each level, before the coarsest one's turn.
    fn lands(&self, finest: i32, coarsest: i32) -> Result<Vec<Unit>> {
        let there = self.there();
        let painted =
            Layer::PAINTED.iter().filter(|(_, layer, _)| there.has(*layer)).map(|(name, ..)| *name);
        let loose = self.is_loose().then_some("loose");
        let maps: Vec<&str> = std::iter::once("height").chain(painted).chain(loose).collect();
        let maps = || maps.iter().map(|name| ("map", Value::Word((*name).into())));
        // Each level's land is made on its own lattice, or the recipe's is restricted.
        let made = if self.recipe.makes_each_level() { finest..=coarsest } else { 0..=0 };
        // A level opens a ledger of its own, so before it one is kept for what lies loose alone.
        let before_levels =
            |unit: Unit| Unit { ledger: unit.ledger.filter(|_| loose.is_some()), ..unit };
        let mut units = vec![];
        for level in made.clone().rev() {
            units.extend(self.flat(0..self.group.start, level).map(before_levels));
            for map in maps() {
                units.push(self.inner(&KEEP, level, &[map])?);
            }
        }
        // Where each level's land is made, none is restricted, and there is no such level.
        let torus = ("torus", Value::Switch(self.torus));
        // Each restriction reads the level before it, so they go from fine to coarse.
        for level in *made.end()..coarsest {
            for map in maps() {
                units.push(self.inner(&RESTRICT, level, &[map, torus.clone()])?);
            }
        }
        Ok(units)
    }

    /// The units of a level: its land from the next coarser one, and the stages of the group.
    fn level(&self, level: i32, finest: i32, coarsest: i32, count: u32) -> Result<Vec<Unit>> {
        let (stages, last_flow, last_water) =
            (&self.recipe.stages, self.last_flow, self.last_water);
        let settings = [
            ("coarsest", Value::Switch(level == coarsest)),
            ("finest", Value::Switch(level == finest)),
            ("flow", Value::Switch(last_flow.is_some())),
            ("water", Value::Switch(last_water.is_some())),
            ("loose", Value::Switch(self.is_loose())),
            ("torus", Value::Switch(self.torus)),
            ("fade", Value::Number(self.recipe.levels.unwrap_or_default().fade)),
        ];
        let mut units = vec![self.inner(&REFINE, level, &settings)?];
        let is_cut = |i: &usize| stages[*i].stage.name == incision::STAGE.name;
        let first_water = self.group.clone().find(is_cut);
        for i in self.group.clone() {
            let passed = (last_flow.is_some() && level != coarsest).then_some(Some(i) < last_flow);
            // The first stage on the coarsest level has nothing to begin with, and the last on the
            // finest hands nothing on.
            let water = is_cut(&i).then_some([
                level != coarsest || Some(i) != first_water,
                level != finest || Some(i) != last_water,
            ]);
            let step = stages[i].at(level, count)?;
            units.push(Unit { passed, water, ..self.unit(i, step, level, true) });
        }
        units.last_mut().into_iter().for_each(|unit| unit.ends_level = true);
        Ok(units)
    }
}
