//! The schedule of a run: which stages run on which levels and windows, in which order, and how far
//! each reaches.
//!
//! It is a pure function of the recipe and the place of its land, and knows no executor and no
//! words of maps. All ways to make a land ask it: a run of the whole, a part, tiles, previews.
//!
//! Two notions of place and one of work are enough:
//! - the *world* is all of the land, without its margin;
//! - the *region* is what is wanted of it, the world itself or a part;
//! - a *unit* is a stage on a level. It works on its level's window: what is wanted there, and what
//!   that can depend on.

mod axis;
mod cost;
mod describe;
mod halo;
mod layout;
mod per_cell;
mod slab;
mod windows;

pub(crate) use cost::PIECES_BYTES;
pub use cost::{Cost, LevelCost};
pub(crate) use halo::padded;
pub use layout::{Cut, SIDES, Space, Tile};
pub(crate) use layout::{Layout, both};
pub(crate) use slab::{Kept, keep_on, needed_by};
pub use slab::{Moment, Slab};
pub(crate) use windows::shown;

use crate::arith;
use crate::error::{Invalid, Result};
use crate::plan::Plan;
use crate::recipe::{Nested, Recipe, Step, Unit};
use crate::site::{Layer, Scale, Site, Window, World};
use crate::stage::levels::{lattice, spacing_m};
use crate::stage::{layer, strokes};
use std::collections::BTreeMap;

/// The site of the `n`-th run of a stage between the steps of another, whose site is `site`; it is
/// number `j` of those.
fn nested_site(nested: &Step, j: usize, n: usize, site: &Site) -> Site {
    let seed = nested.seed.unwrap_or(arith::seed(site.world.seed, j as u32));
    Site { world: World { seed: arith::seed(seed, n as u32), ..site.world }, ..*site }
}

/// What makes the plan of a stage on a site.
pub(crate) type Planner = fn(&Step, &Site) -> Plan;

/// What a run does, and where.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub(crate) recipe: Recipe,
    /// The land without its margin, on the recipe's lattice.
    world: Window,
    /// What is made of it.
    region: Window,
    /// Whether that is less than the world.
    is_part: bool,
    /// Of the recipe's lattice.
    scale: Scale,
    /// The level after which the run ends.
    until_level: i32,
    /// What it does, in order.
    pub(crate) units: Vec<Unit>,
    /// What kernels work on, by level: the world with its margin, or what a part needs of it.
    windows: BTreeMap<i32, Window>,
    /// What makes the plans of stages, but for those between their steps.
    pub(crate) planner: Planner,
}

impl Schedule {
    /// The schedule of a recipe on a world. For an endless recipe, `world` is a part of its land.
    ///
    /// # Errors
    /// [`Error::Param`](crate::Error::Param) for levels that the world cannot have.
    pub(crate) fn of(recipe: Recipe, world: Window, scale: Scale) -> Result<Self> {
        let whole = recipe.padded(world);
        let units = recipe.units(whole)?;
        let until_level = recipe.finest();
        // The level that the run ends with has a window, even if no unit runs there.
        let levels = units.iter().map(|unit| unit.level).chain([until_level]);
        let windows =
            levels.map(|level| (level, lattice(&whole, level, recipe.is_torus()))).collect();
        let schedule = Self {
            world,
            region: world,
            is_part: false,
            scale,
            until_level,
            units,
            windows,
            planner: |step, site| (step.stage.plan)(&step.settings, site),
            recipe,
        };
        if schedule.recipe.endless {
            // A part that is too large is refused when it is to be made.
            return Ok(schedule.clone().with_region(world).unwrap_or(schedule));
        }
        Ok(schedule)
    }

    /// The schedule of a changed recipe, on all of the world.
    ///
    /// # Errors
    /// As [`Schedule::of`].
    pub(crate) fn with_recipe(&self, recipe: Recipe) -> Result<Self> {
        let Self { world, scale, until_level, planner, .. } = *self;
        Ok(Self { until_level, planner, ..Self::of(recipe, world, scale)? })
    }

    /// The schedule as far as the land of a level.
    ///
    /// # Errors
    /// [`Error::Param`](crate::Error::Param) for a level that the land has not, and for maps of the
    /// output that only a finer level has.
    pub(crate) fn until(mut self, level: i32) -> Result<Self> {
        self.check_level(level)?;
        self.recipe.check_maps_on(level)?;
        if level > self.recipe.finest() {
            let last = self.units.iter().position(|unit| unit.level == level && unit.ends_level);
            self.units.truncate(last.map_or(0, |last| last + 1));
            // The lands of finer levels are not needed, unless coarser ones come from them.
            if self.recipe.makes_each_level() {
                self.units.retain(|unit| unit.level >= level);
            }
        }
        self.until_level = level;
        if self.is_part || self.recipe.endless {
            // Coarser levels need not cover what finer ones reach.
            let region = self.region;
            return self.with_region(region);
        }
        Ok(self)
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The names of its units in order: the recipe's stages, on each level, and what goes between
    /// levels.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.units.iter().map(|unit| unit.step.stage.name)
    }

    /// The level of unit `i`, from 0.
    pub fn level_of(&self, i: usize) -> Option<i32> {
        self.units.get(i).map(|unit| unit.level)
    }

    /// How many levels the land has: 1 for a recipe without levels.
    pub fn levels(&self) -> u32 {
        (self.coarsest() - self.until_level + 1).max(1) as u32
    }

    /// The levels that it makes, the coarsest first, each with its land and its scale; one for a
    /// recipe without levels.
    pub fn lands(&self) -> impl Iterator<Item = (i32, Window, Scale)> {
        (self.until_level..=self.coarsest().max(self.until_level)).rev().map(|level| {
            let (window, scale) = self.land_at(level);
            (level, window, scale)
        })
    }

    /// The level after which the run ends.
    pub fn until_level(&self) -> i32 {
        self.until_level
    }

    fn coarsest(&self) -> i32 {
        self.units.iter().map(|unit| unit.level).max().unwrap_or(0)
    }

    /// Refuses a level that the land has not.
    ///
    /// # Errors
    /// [`Error::Param`](crate::Error::Param) with the levels that it has.
    pub fn check_level(&self, level: i32) -> Result<()> {
        let (finest, coarsest) = (self.recipe.finest(), self.coarsest());
        if !(finest..=coarsest).contains(&level) {
            let message = match self.levels() {
                1 => format!(
                    "level = {level}: the recipe has no levels; put levels = \"auto\" in it"
                ),
                _ => format!(
                    "level = {level}: the land has levels {finest} to {coarsest}, of which \
                     {finest} is the finest"
                ),
            };
            return Err(Invalid::of("level", level, format!("{finest} to {coarsest}"))
                .saying(message)
                .into());
        }
        Ok(())
    }

    /// The site of unit `i`, from 0.
    pub fn site(&self, i: usize) -> Site {
        let unit = &self.units[i];
        Site { window: self.window_of(unit), ..self.whole_site(unit) }
    }

    /// The site of a unit that works on the whole world.
    fn whole_site(&self, unit: &Unit) -> Site {
        self.recipe.unit_site(unit, self.whole(), self.scale)
    }

    /// The plan of unit `i`, with the stages between its steps, and the ledger.
    pub fn plan(&self, i: usize) -> Plan {
        self.plan_at(i, &self.site(i))
    }

    /// The plan of unit `i` on a site.
    pub(crate) fn plan_at(&self, i: usize, site: &Site) -> Plan {
        let unit = &self.units[i];
        let step = &unit.step;
        let mut plan = (self.planner)(step, site);
        for (j, Nested { every, step: nested }) in step.with.iter().enumerate() {
            // Lakes and rivers are drawn by the same passes each time.
            let mut drawn = vec![];
            plan.interleave(*every, |n| {
                let stage = nested.stage;
                if !drawn.is_empty() {
                    return Plan::new(stage.shader, site.window, vec![], drawn.clone());
                }
                let plan = (stage.plan)(&nested.settings, &nested_site(nested, j, n, site));
                if stage.name == strokes::STAGE.name {
                    drawn.clone_from(&plan.passes);
                }
                plan
            });
        }
        if let Some(opens) = unit.ledger.filter(|_| site.layers.has(Layer::Ledger)) {
            layer::keep_ledger(&mut plan, site, opens);
        }
        plan
    }

    /// A draft of the plan of unit `i`: its buffers have their sizes and long tables no words, and
    /// its passes are counted.
    pub(crate) fn draft(&self, i: usize) -> Plan {
        self.plan_at(i, &Site { draft: true, ..self.site(i) })
    }

    /// A draft of the plan of unit `i` for what does not depend on its window.
    pub(crate) fn draft_on_little(&self, i: usize) -> Plan {
        let site = self.whole_site(&self.units[i]);
        // Two vertices a side are enough for a stage to have steps.
        let window = Window { width: 2, height: 2, ..site.window };
        self.plan_at(i, &Site { window, draft: true, ..site })
    }

    /// The numbers of the units that make a level, from what the next coarser one leaves.
    pub(crate) fn units_of(&self, level: i32) -> impl Iterator<Item = usize> {
        let made = self.recipe.makes_each_level();
        let by_level = self.has_levels();
        self.units.iter().enumerate().filter_map(move |(i, unit)| {
            // A land that is given is restricted before the coarsest level has its turn.
            let before = by_level && !made && self.recipe.is_before_levels(unit);
            (unit.level == level && !before).then_some(i)
        })
    }

    /// Whether its levels are refined one from the other.
    pub(crate) fn has_levels(&self) -> bool {
        self.units.iter().any(Unit::refines)
    }

    /// Whether the lands of coarser levels are restricted from one that is given, or made whole.
    pub(crate) fn restricts(&self) -> bool {
        self.has_levels() && !self.recipe.makes_each_level()
    }

    /// The numbers of the units that make or restrict the lands of levels, before the coarsest
    /// one's turn.
    pub(crate) fn before_levels(&self) -> impl Iterator<Item = usize> {
        (0..self.units.len()).take_while(|i| self.recipe.is_before_levels(&self.units[*i]))
    }

    /// Metres of a cell of a level, and of the word 0.
    pub(crate) fn scale_on(&self, level: i32) -> Scale {
        Scale { spacing_m: spacing_m(self.scale.spacing_m, level), ..self.scale }
    }

    /// Unit `i`, for people.
    pub(crate) fn place(&self, i: usize) -> String {
        let unit = &self.units[i];
        let place = format!("stage {}, {}", self.recipe.number(unit.stage), unit.step.stage.name);
        match self.levels() {
            1 => place,
            _ => format!("{place}, on level {}", unit.level),
        }
    }
}
