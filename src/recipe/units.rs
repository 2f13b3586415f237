//! The units of a run: the stages of a recipe on its levels, and what goes between these.

use super::{Recipe, Step};
use crate::arith;
use crate::error::{Error, Result};
use crate::params::{Settings, Value};
use crate::site::{Layer, Layers, Scale, Site, Window};
use crate::stage::levels::{KEEP, REFINE, RESTRICT};
use crate::stage::{Stage, incision, levels};
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
        let (before, is_torus) = (self.layers(), self.is_torus());
        // What generators make first, or combine with that, is the land as it was.
        let opens = self
            .stages
            .iter()
            .position(|step| !step.stage.is_generator)
            .unwrap_or(self.stages.len());
        let unit = |stage: usize, step: Step, level: i32, grouped: bool| Unit {
            layers: before[stage],
            torus: is_torus,
            // Where there are levels, each begins with its ledger.
            ledger: (stage >= opens).then_some(!grouped && stage == opens),
            step,
            stage,
            level,
            named: true,
            grouped,
            passed: None,
            water: None,
            ends_level: false,
        };
        // A recipe whose eroding stages were taken off makes its land as it is.
        if finest == coarsest || self.group().is_empty() {
            return self
                .stages
                .iter()
                .enumerate()
                .map(|(i, step)| Ok(unit(i, step.at(0, 1)?, finest, false)))
                .collect();
        }
        let group = self.group();
        let flat = |range: Range<usize>, level: i32| {
            range.map(move |i| unit(i, self.stages[i].clone(), level, false))
        };
        let inner = |stage: &'static Stage, level: i32, settings: &[(&str, Value)]| {
            let given: Vec<_> =
                settings.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
            let step = Step::of(stage, Settings::new(stage.params, &given)?);
            Ok::<_, Error>(Unit {
                named: false,
                ledger: None,
                ..unit(group.start, step, level, true)
            })
        };
        let layers = before[group.start];
        let painted = Layer::PAINTED
            .iter()
            .filter(|(_, layer, _)| layers.has(*layer))
            .map(|(name, ..)| *name);
        let loose = layers.has(Layer::Sediment).then_some("loose");
        let maps: Vec<&str> = std::iter::once("height").chain(painted).chain(loose).collect();
        let torus = ("torus", Value::Switch(is_torus));
        // The last stage with particles, and the last that cuts rivers, hand on what the next level
        // begins with.
        let last =
            |of: &dyn Fn(&Stage) -> bool| group.clone().rev().find(|i| of(self.stages[*i].stage));
        let last_flow = last(&|stage| stage.work == Some("flow"));
        let last_water = last(&|stage| stage.name == incision::STAGE.name);
        let fade = Value::Number(self.levels.unwrap_or_default().fade);
        let map = |name: &str| ("map", Value::Word(name.into()));
        let maps = || maps.iter().copied().map(map);
        let mut units: Vec<Unit> = vec![];
        // Each level's land is made on its own lattice, or the recipe's is restricted.
        let made = if self.makes_each_level() { finest..=coarsest } else { 0..=0 };
        // A level opens a ledger of its own, so before it one is kept for what lies loose alone.
        let before_levels =
            |unit: Unit| Unit { ledger: unit.ledger.filter(|_| loose.is_some()), ..unit };
        for level in made.clone().rev() {
            units.extend(flat(0..group.start, level).map(before_levels));
            for map in maps() {
                units.push(inner(&KEEP, level, &[map])?);
            }
        }
        // Where each level's land is made, none is restricted, and there is no such level.
        for level in *made.end()..coarsest {
            for map in maps() {
                units.push(inner(&RESTRICT, level, &[map, torus.clone()])?);
            }
        }
        for level in (finest..=coarsest).rev() {
            let settings = [
                ("coarsest", Value::Switch(level == coarsest)),
                ("finest", Value::Switch(level == finest)),
                ("flow", Value::Switch(last_flow.is_some())),
                ("water", Value::Switch(last_water.is_some())),
                ("loose", Value::Switch(layers.has(Layer::Sediment))),
                torus.clone(),
                ("fade", fade.clone()),
            ];
            units.push(inner(&REFINE, level, &settings)?);
            let first_water =
                group.clone().find(|i| self.stages[*i].stage.name == incision::STAGE.name);
            for i in group.clone() {
                let passed =
                    (last_flow.is_some() && level != coarsest).then_some(Some(i) < last_flow);
                let cuts = self.stages[i].stage.name == incision::STAGE.name;
                let water = cuts.then_some([
                    level != coarsest || Some(i) != first_water,
                    level != finest || Some(i) != last_water,
                ]);
                units.push(Unit {
                    passed,
                    water,
                    ..unit(i, self.stages[i].at(level, count)?, level, true)
                });
            }
            units.last_mut().into_iter().for_each(|unit| unit.ends_level = true);
        }
        units.extend(flat(group.end..self.stages.len(), finest));
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
