//! Runs from coarse to fine: how many levels a land has, which stages run on them, and settings
//! that differ by level.

mod by_level;

use super::{Nested, Recipe, Step};
use crate::error::{Error, Invalid, Result};
use crate::field::{self, Field, Origin, Source};
use crate::keys::{self, Key, Kind, Own, Told};
use crate::morphometry::SKY_REACH;
use crate::params::Value;
use crate::site::{Scale, Window};
use crate::stage::levels::{COARSEST, LEVELS_MAX};
use crate::stage::{Stage, biomes, diamond_square, layer, random_raise, strokes};
use crate::table::{Table, shown, whole};
pub use by_level::ByLevel;
use serde_json::json;
use std::ops::Range;
use std::path::PathBuf;

/// How the stages that change heights run from coarse to fine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// How many levels there are, 1 to 12; none: as many as leave the shorter side of the coarsest
    /// level some 64 cells.
    pub count: Option<u32>,
    /// The number of levels, 1 to 12, where `count` is none; fewer where the coarsest level would
    /// have less than 16 cells on its shorter side. So windows of most sizes have the same coarsest
    /// cells.
    pub max: Option<u32>,
    /// Thickness of sediment, in cells of a level, over which the land's fine detail fades there, 0
    /// to 1000. Where the land is worn away it takes four times as much. 0: it stays.
    pub fade: f64,
}

/// Levels of a land without an end, where its recipe does not say how many.
const ENDLESS_LEVELS: u32 = 5;

/// Largest scale of a recipe.
pub(super) const SCALE_MAX: u32 = 64;

impl Default for Levels {
    fn default() -> Self {
        Self { count: None, max: None, fade: 1.0 }
    }
}

impl Levels {
    /// From `levels = "auto"`, a number, or a table with `count`, `max` and `fade`.
    pub(super) fn parse(value: &serde_json::Value) -> Result<Self> {
        let mut levels = Self::default();
        if !value.is_object() {
            levels.count = counted(value)?;
            return Ok(levels);
        }
        let at = |e: Error| e.inside("", "/levels");
        let table = Table::new("levels", value).map_err(at)?;
        keys::read(&KEYS, &table, &mut levels).map_err(at)?;
        match (levels.count, levels.max) {
            (Some(count), Some(max)) => Err(at(Invalid::from(format!(
                "max = {max} with count = {count}: it limits \"auto\"; leave one of the two out"
            ))
            .about("max")
            .into())),
            _ => Ok(levels),
        }
    }

    pub(super) fn describe(&self) -> serde_json::Value {
        keys::describe(&KEYS, self, Self::default())
    }

    /// The JSON Schemas of its keys, by name.
    pub(super) fn schema() -> serde_json::Value {
        keys::schema(&KEYS, Self::default())
    }

    /// The JSON Schema of their number.
    pub(super) fn count() -> serde_json::Value {
        let count = json!({ "type": "integer", "minimum": 1, "maximum": LEVELS_MAX });
        json!({ "anyOf": [{ "const": "auto" }, count] })
    }
}

/// The number of levels that a value says; none for `"auto"`.
fn counted(value: &serde_json::Value) -> Result<Option<u32>> {
    match (value.as_str(), whole(value)) {
        (Some("auto"), _) => Ok(None),
        (_, Some(count)) if (1..=i64::from(LEVELS_MAX)).contains(&count) => Ok(Some(count as u32)),
        _ => {
            let allowed = format!(
                "\"auto\", a whole number from 1 to {LEVELS_MAX}, or a table with count, max and \
                 fade"
            );
            let message = format!("levels = {}: allowed {allowed}", shown(value));
            Err(Invalid::of("levels", shown(value), allowed).saying(message).into())
        }
    }
}

/// The keys of the table `levels`.
static KEYS: [Key<Levels>; 3] = [
    Key::new(
        "count",
        Kind::Own(Own {
            read: |table, levels| {
                let count = table.get("count").map(counted).transpose();
                let count = count.map_err(|e| match e {
                    Error::Param(invalid) => invalid.about("count").into(),
                    other => other,
                })?;
                levels.count = count.flatten();
                Ok(())
            },
            value: |levels| levels.count.map_or(json!("auto"), |count| json!(count)),
            schema: Levels::count,
            is_list: false,
        }),
        Told::Always,
        "How many levels there are; \"auto\": as many as leave the shorter side of the coarsest \
         some \
         64 cells.",
    ),
    Key::new(
        "fade",
        Kind::Number([0.0, 1000.0], |levels| &mut levels.fade),
        Told::Always,
        "Thickness of sediment, in cells of a level, over which the land's fine detail fades \
         there.",
    ),
    Key::new(
        "max",
        Kind::Whole([1, LEVELS_MAX], |levels| &mut levels.max),
        Told::Changed,
        "The number of levels with count = \"auto\"; fewer where the coarsest would have less than \
         16 \
         cells on its shorter side.",
    ),
];

impl Step {
    /// The stage on a level: see [`ByLevel::at`].
    pub(super) fn at(&self, level: i32, count: u32) -> Result<Self> {
        let mut step = Self { by_level: vec![], ..self.clone() };
        for (name, values) in &self.by_level {
            if let Some(param) = self.stage.params.iter().find(|param| param.name == name) {
                step.settings.set(self.stage.params, name, &values.at(param, level, count))?;
            }
        }
        for Nested { step: nested, .. } in &mut step.with {
            *nested = nested.at(level, count)?;
        }
        Ok(step)
    }

    /// Its stage, and those that run between its steps.
    pub(super) fn stages(&self) -> impl Iterator<Item = &'static Stage> {
        std::iter::once(self.stage).chain(self.with.iter().map(|nested| nested.step.stage))
    }

    /// Whether it changes heights that are there, rather than making a land or a layer.
    pub(super) fn erodes(&self) -> bool {
        self.stage.erodes()
    }

    /// Whether what it makes is a function of place, which any lattice can be asked for.
    fn is_of_place(&self) -> bool {
        let of_place = [&layer::STAGE, &biomes::STAGE, &strokes::STAGE];
        (self.stage.is_generator || of_place.iter().any(|stage| stage.name == self.stage.name))
            && self.samples().is_none()
    }

    /// Whether it, or a stage between its steps, goes on at the other side of a torus on some
    /// level.
    fn meets_itself(&self) -> bool {
        let torus = Value::Word("torus".into());
        let listed =
            |values: &ByLevel| matches!(values, ByLevel::List(list) if list.contains(&torus));
        self.settings.get("border") == Some(&torus)
            || self.by_level.iter().any(|(name, values)| name == "border" && listed(values))
            || self.with.iter().any(|nested| nested.step.meets_itself())
    }

    /// Whether it can be asked for finer cells than the recipe's.
    pub(super) fn has_detail(&self) -> bool {
        let without = [biomes::STAGE.name, random_raise::STAGE.name];
        self.is_of_place() && !without.contains(&self.stage.name)
    }

    /// The settings that differ by level, its own and those of the stages between its steps.
    pub(super) fn lists(&self) -> impl Iterator<Item = (&str, &ByLevel)> {
        let nested = self.with.iter().flat_map(|nested| &nested.step.by_level);
        self.by_level.iter().chain(nested).map(|(name, values)| (name.as_str(), values))
    }
}

impl Recipe {
    /// The stages that run on each level: those that change heights, from the first of them on.
    pub(super) fn group(&self) -> Range<usize> {
        let runs = |step: &Step| step.erodes() && !step.finest;
        // It begins with the first stage that erodes, also where that runs on the finest level
        // alone: then it is empty.
        let first = self.stages.iter().position(Step::erodes).unwrap_or(self.stages.len());
        let count = self.stages[first..].iter().take_while(|step| runs(step)).count();
        first..first + count
    }

    /// How often the recipe's cells are halved, so that there are `scale` of them where it has one.
    fn halvings(&self) -> u32 {
        self.scale.max(1).ilog2()
    }

    /// Its finest level: 0 unless it has a scale.
    pub fn finest(&self) -> i32 {
        -(self.halvings() as i32)
    }

    /// Whether each level's land is made for it, at the cost of its own cells, rather than
    /// restricted from the finest.
    pub(crate) fn makes_each_level(&self) -> bool {
        self.input.is_none() && self.stages[..self.group().start].iter().all(Step::is_of_place)
    }

    /// Refuses to make a part of a land that is not made by parts.
    pub(crate) fn check_parts(&self) -> Result<()> {
        let wrong = |key: &str, place: &str, pointer: &str, why: &str| {
            let invalid = Invalid::from(format!("{key}: {why}")).about(key);
            Err(invalid.inside(place, pointer).into())
        };
        if let Some(i) = self.stages.iter().position(Step::meets_itself) {
            let (place, pointer) = self.place(i);
            return wrong(
                "border",
                &place,
                &pointer,
                "the land of a torus is made whole, by thalweg run, since its sides meet; tiles \
                 and parts need another border",
            );
        }
        if self.water.as_ref().is_some_and(|water| water.carve) {
            return wrong(
                "carve",
                "water",
                "/water",
                "rivers depend on all of the land, which thalweg run makes whole; leave carve out \
                 for tiles and parts",
            );
        }
        if let Some(i) = self.stages.iter().position(|step| {
            step.stage.name == biomes::STAGE.name && biomes::takes_water(&step.settings)
        }) {
            let (place, pointer) = self.place(i);
            return wrong(
                "water",
                &place,
                &pointer,
                "rivers depend on all of the land, which thalweg run makes whole; set water = \
                 \"sea\" for tiles and parts",
            );
        }
        Ok(())
    }

    /// How many cells round a window of a level can decide about its heights after all stages: an
    /// entrance of a dungeon depends on the ground round it, and levels it.
    pub(crate) fn ground_round(&self, level: i32) -> u64 {
        #[cfg(feature = "dungeon")]
        return self
            .dungeons
            .as_ref()
            .filter(|_| level == 0)
            .map_or(0, |placing| placing.halo() as u64);
        #[cfg(not(feature = "dungeon"))]
        {
            let _ = level;
            0
        }
    }

    /// The same for all of its maps: light comes from afar.
    pub(crate) fn halo_of_maps(&self, level: i32) -> u64 {
        // Materials follow the slope, which is made as all such maps are.
        let is_grid = |name| {
            field::find(name)
                .is_some_and(|field| matches!(field.source, Source::Grid(_) | Source::Material(_)))
        };
        let light = if self.wanted().any(is_grid) { u64::from(SKY_REACH) } else { 0 };
        self.ground_round(level) + light
    }

    /// What is allowed in a land of `window` but hardly meant.
    pub(crate) fn warnings(&self, window: Window) -> Vec<(Option<PathBuf>, String)> {
        let stages = self
            .stages
            .iter()
            .enumerate()
            .filter(|(_, step)| step.stage.name == diamond_square::STAGE.name);
        let said = stages.filter_map(|(i, step)| {
            let warning = diamond_square::beyond(&step.settings, &window, self.endless)?;
            Some((None, format!("{}: {warning}", self.place(i).0)))
        });
        said.collect()
    }

    /// The map that must be there for a map to be: maps of water follow `flow` where rivers are by
    /// it.
    fn follows<'a>(&self, field: &'a Field) -> &'a Field {
        // So do materials, which ask where water is.
        let by_flow = [Origin::Water, Origin::Materials].contains(&field.origin)
            && self.water.as_ref().is_some_and(|water| water.channel_flow.is_some());
        if by_flow { field::find("flow").unwrap_or(field) } else { field }
    }

    /// Whether a run that ends with a level has no water, since rivers are by a map that it has
    /// not.
    pub(crate) fn lacks_water(&self, level: i32) -> bool {
        field::find("water_depth").is_some_and(|water| self.lacks(water, level).is_some())
    }

    /// Why a run that ends with a level, and tiles of it, have no such map, where a run of the
    /// finest level has it; none if they have it.
    pub(crate) fn lacks(&self, field: &Field, level: i32) -> Option<String> {
        if level == self.finest() {
            return None;
        }
        let field = self.follows(field);
        let (group, each) = (self.group(), self.makes_each_level());
        let makes = |step: &Step| match field.origin {
            Origin::Stage => step.stages().any(|stage| stage.maps.contains(&field.name)),
            Origin::Layer(layer) => (step.stage.layers)(&step.settings).has(layer),
            Origin::Every | Origin::Ledger | Origin::Water | Origin::Materials => false,
        };
        let makers = || self.stages.iter().enumerate().filter(|(_, step)| makes(step));
        let (last, _) = makers().next_back()?;
        // A layer comes down with the land, and what else is made of that is there where that is
        // made.
        let comes_down = each || matches!(field.origin, Origin::Layer(_));
        let has = |i: usize| group.contains(&i) || i < group.start && comes_down;
        // The list of biomes is that of the last stage that makes them.
        let is_one = [&biomes::STAGE].iter().any(|stage| stage.maps.contains(&field.name));
        if if is_one { has(last) } else { makers().any(|(i, _)| has(i)) } {
            return None;
        }
        let why = match last < group.start {
            true => "runs on a land that is given, or made whole, and that is of the finest level",
            false => "runs on the finest level alone, behind the stages that run on all levels",
        };
        Some(format!("level {level} has no such map: {}, {why}", self.place(last).0))
    }

    /// Why a run has no such map when it comes to a level on its way to a finer one, `last`. What
    /// stages before the levels leave beside the land and its layers is that of the last level by
    /// then.
    pub(crate) fn lacks_on_the_way(&self, field: &Field, level: i32, last: i32) -> Option<String> {
        let field = self.follows(field);
        let start = self.group().start;
        let is_before = field.origin == Origin::Stage
            && self
                .stages
                .iter()
                .rposition(|step| step.stages().any(|stage| stage.maps.contains(&field.name)))
                < Some(start);
        self.lacks(field, level).or_else(|| {
            let why = format!(
                "level {level} has no such map on the way to level {last}: end with \
                 level {level} to have it"
            );
            (is_before && level != last).then_some(why)
        })
    }

    /// Refuses maps and textures of the output that a run that ends with a level does not leave.
    ///
    /// # Errors
    /// [`Error::Param`] with the first of them, and the stage that makes it.
    pub(crate) fn check_maps_on(&self, level: i32) -> Result<()> {
        let lacks = |name: &str| field::find(name).and_then(|field| self.lacks(field, level));
        let end = format!("or end with level {}", self.finest());
        for (i, name) in self.output.maps.iter().enumerate() {
            if let Some(why) = lacks(name) {
                let message =
                    format!("output.maps: {name}: {why}; leave {name} out of output.maps, {end}");
                let mut invalid = Invalid::of("maps", name, "").saying(message);
                invalid.pointer = Some(format!("/output/maps/{i}"));
                return Err(invalid.into());
            }
        }
        let Some((i, _)) = self.biomes() else { return Ok(()) };
        for (key, asked) in [("splat", self.textures() > 0), ("weights", self.weights().is_some())]
        {
            if let Some(why) = lacks("biome").filter(|_| asked) {
                let message = format!("{key}: {why}; leave {key} out, {end}");
                let invalid = Invalid::of(key, "", "").saying(message);
                let (place, pointer) = self.place(i);
                return Err(invalid.inside(&place, &pointer).into());
            }
        }
        Ok(())
    }

    /// How many levels a land has from the recipe's lattice up, with its margin: 1 for a recipe
    /// without levels.
    pub(super) fn level_count(&self, whole: Window) -> Result<u32> {
        let Some(levels) = self.levels else { return Ok(1) };
        // A land without an end is as large as any.
        let shorter = if self.endless { u32::MAX } else { whole.width.min(whole.height) };
        // The most levels whose coarsest has `least` cells or more on its shorter side.
        let fits = |least: u32| {
            (1..=LEVELS_MAX).rev().find(|count| shorter >> (count - 1) >= least).unwrap_or(1)
        };
        let torus = self.is_torus();
        // On a torus each lattice meets itself, so nothing may be left over.
        let even = |count: u32| {
            let sides =
                [i64::from(whole.width), i64::from(whole.height), whole.origin[0], whole.origin[1]];
            sides.iter().all(|side| side % (1i64 << (count - 1)) == 0)
        };
        let wrong = |count: u32, allowed: u32, why: String| {
            let message = format!("levels = {count}: allowed 1 to {allowed}: {why}");
            Err(Invalid::of("levels", count, format!("1 to {allowed}")).saying(message).into())
        };
        let count = match levels.count {
            None if self.endless => {
                levels.max.unwrap_or(ENDLESS_LEVELS).min(LEVELS_MAX - self.halvings())
            }
            None => {
                // Some 64: 48 to 95. With a limit, down to the fewest, so that small lands have the
                // coarsest cells of large ones.
                let (least, most) = match levels.max {
                    None => (COARSEST[0] * 3 / 4, LEVELS_MAX),
                    Some(most) => (COARSEST[1], most),
                };
                let most = fits(least).min(LEVELS_MAX - self.halvings()).min(most);
                (1..=most).rev().find(|count| !torus || even(*count)).unwrap_or(1)
            }
            Some(count) if count > LEVELS_MAX - self.halvings() => {
                return wrong(
                    count,
                    LEVELS_MAX - self.halvings(),
                    format!("with scale = {} there are more", self.scale),
                );
            }
            Some(count) if count > fits(COARSEST[1]) => {
                let why = format!(
                    "the shorter side of the coarsest level has at least {} cells, and the land's \
                     has {shorter}",
                    COARSEST[1]
                );
                return wrong(count, fits(COARSEST[1]), why);
            }
            Some(count) if torus && !even(count) => {
                let allowed = (1..count).rev().find(|count| even(*count)).unwrap_or(1);
                let why = format!(
                    "on a torus width, height and origin are multiples of the cells of the \
                     coarsest level, {}",
                    1 << (count - 1)
                );
                return wrong(count, allowed, why);
            }
            Some(count) => count,
        };
        Ok(count)
    }

    /// Whether the land is a torus.
    pub(crate) fn is_torus(&self) -> bool {
        let torus = |step: &Step| step.settings.get("border") == Some(&Value::Word("torus".into()));
        self.stages[self.group()].iter().any(torus)
    }

    /// Checks the settings of every stage on every level of a land.
    pub(crate) fn check_on(&self, window: Window, scale: Scale) -> Result<()> {
        let whole = self.padded(window);
        for unit in self.units(whole)?.iter().filter(|unit| unit.named) {
            let mut site = self.unit_site(unit, whole, scale);
            // Larger lands are made by parts, which are checked when they are made.
            site.window.width = site.window.width.min(Window::SIDE_MAX);
            site.window.height = site.window.height.min(Window::SIDE_MAX);
            self.check_step(unit.stage, &unit.step, &site)?;
        }
        Ok(())
    }
}
