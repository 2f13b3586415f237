//! Which window each level needs, so that a region has the words that the whole land has there.

use super::Schedule;
use super::halo::padded;
use crate::error::{Error, Invalid, Result};
use crate::recipe::{LAND_MAX, Unit};
use crate::site::{Scale, Window};
use crate::stage::levels::{coarser, lattice};
use crate::water::Extent;

impl Schedule {
    /// The same of a region of the world. Of each level it has what the region can depend on.
    ///
    /// # Errors
    /// [`Error::Limit`] for a region that depends on more than a window can hold.
    pub(crate) fn with_region(self, region: Window) -> Result<Self> {
        let Self { until_level, .. } = self;
        let coarsest = self.units.iter().map(|unit| unit.level).max().unwrap_or(until_level);
        let needed = lattice(&region, until_level, false);
        let halo = self.recipe.halo_of_maps(until_level);
        let mut needed = padded(&needed, halo, self.bounds(until_level).as_ref())?;
        let mut windows = std::collections::BTreeMap::new();
        for level in until_level..=coarsest {
            let reach = self.reach_on(level);
            let window = padded(&needed, reach, self.bounds(level).as_ref())?;
            if window.width.max(window.height) > Window::SIDE_MAX {
                return Err(Error::over(
                    format!(
                        "a part of {} x {} cells needs {} x {} cells of level {level}, whose \
                         stages \
                     reach {reach} cells: a window has at most {} a side; lower lifetime or rain \
                     on that level, or give it fewer levels",
                        region.width,
                        region.height,
                        window.width,
                        window.height,
                        Window::SIDE_MAX
                    ),
                    window.width.max(window.height),
                    Window::SIDE_MAX,
                    "cells a side",
                ));
            }
            windows.insert(level, window);
            // The coarser level has to cover this window with its halo.
            needed = coarser(&window, false);
        }
        Ok(Self { region, is_part: true, windows, ..self })
    }

    /// The same for one level, on a window of it.
    pub(crate) fn on_window(&self, level: i32, window: Window) -> Self {
        Self { is_part: true, windows: [(level, window)].into(), ..self.clone() }
    }

    /// Refuses a region that reaches beyond the world.
    ///
    /// # Errors
    /// [`Error::Param`] with the world.
    pub fn check_region(&self, region: &Window) -> Result<()> {
        let wrong = |what: String, allowed: &str| {
            Err(Invalid::of("part", shown(region), allowed).saying(what).into())
        };
        let world = self.world;
        let end = |window: &Window| {
            [0, 1].map(|a| {
                // A caller may name any place, up to the ends of an i64.
                window.origin[a].saturating_add(i64::from([window.width, window.height][a]))
            })
        };
        let inside =
            (0..2).all(|a| region.origin[a] >= world.origin[a] && end(region)[a] <= end(&world)[a]);
        if !self.recipe.endless && !inside {
            let allowed = format!("within {}", shown(&world));
            return wrong(
                format!(
                    "part = {}: the land is {}; allowed is a part of it",
                    shown(region),
                    shown(&world)
                ),
                &allowed,
            );
        }
        if ![region.width, region.height].iter().all(|side| (1..=LAND_MAX).contains(side)) {
            let allowed = format!("1 to {LAND_MAX} cells a side");
            return wrong(format!("part = {}: allowed {allowed}", shown(region)), &allowed);
        }
        if region.origin.iter().any(|o| o.unsigned_abs() > 1 << 60) {
            return wrong(
                format!("part = {}: allowed are places up to 2^60 cells either way", shown(region)),
                "up to 2^60",
            );
        }
        Ok(())
    }

    /// Refuses a land that is larger than a window.
    ///
    /// # Errors
    /// [`Error::Limit`] with its size.
    pub(crate) fn check_size(&self) -> Result<()> {
        if self.recipe.endless && !self.is_part {
            // It was too large when the schedule was made: this says why.
            return self.clone().with_region(self.region).map(|_| ());
        }
        let window = self.level_window(self.until_level);
        if window.width.max(window.height) <= Window::SIDE_MAX {
            return Ok(());
        }
        let Window { width, height, .. } = self.region;
        let (margin, scale) = (self.recipe.margin, self.recipe.scale);
        let finer = if scale > 1 { format!(" and scale = {scale}") } else { String::new() };
        Err(Error::over(
            format!(
                "{width} x {height} cells with a margin of {margin}{finer}: a run makes at most {} \
             cells a side at once, with its margins; make a part of the land, or tiles of it",
                Window::SIDE_MAX
            ),
            window.width.max(window.height),
            Window::SIDE_MAX,
            "cells a side",
        ))
    }

    /// A window of the recipe's lattice on a level.
    pub fn on_level(window: &Window, level: i32) -> Window {
        lattice(window, level, false)
    }

    /// The land without its margin, on the recipe's lattice, whatever part of it is made.
    pub fn world(&self) -> Window {
        self.world
    }

    /// What is made of the world, on the recipe's lattice.
    pub fn region(&self) -> Window {
        self.region
    }

    /// Whether that is less than the world.
    pub fn is_part(&self) -> bool {
        self.is_part
    }

    /// The world with its margin: what kernels work on.
    pub(crate) fn whole(&self) -> Window {
        self.recipe.padded(self.world)
    }

    /// Cells of the largest window, with the margin or what a part depends on.
    pub fn cells(&self) -> u64 {
        let cells = |window: &Window| u64::from(window.width) * u64::from(window.height);
        self.windows.values().map(cells).max().unwrap_or(0)
    }

    /// What kernels work on, on a level.
    pub(crate) fn level_window(&self, level: i32) -> Window {
        // Every level of the run has its window.
        self.windows.get(&level).copied().unwrap_or(self.world)
    }

    /// What kernels of a unit work on.
    pub(crate) fn window_of(&self, unit: &Unit) -> Window {
        if self.is_part && self.restricts() && self.recipe.is_before_levels(unit) {
            // Coarser lattices of a land that is given come from all of it.
            return lattice(&self.whole(), unit.level, false);
        }
        self.level_window(unit.level)
    }

    /// The land that is left, without its margin: a coarser one than the recipe's where the run
    /// ends before the finest level, a finer one where the recipe has a scale.
    pub fn land(&self) -> (Window, Scale) {
        self.land_at(self.until_level)
    }

    /// The same on a level.
    pub(crate) fn land_at(&self, level: i32) -> (Window, Scale) {
        (lattice(&self.region, level, self.recipe.is_torus()), self.scale_on(level))
    }

    /// How large the whole land is, of which a run may make a part or a coarser level.
    pub(crate) fn extent(&self) -> Extent {
        let cells =
            if self.recipe.endless { Extent::ENDLESS_CELLS } else { self.world.cells() as u64 };
        Extent { cells, cell_m2: self.scale.spacing_m * self.scale.spacing_m }
    }

    /// The world on a level, without its margin; none where it has no end.
    pub(crate) fn world_on(&self, level: i32) -> Option<Window> {
        (!self.recipe.endless).then(|| lattice(&self.world, level, self.recipe.is_torus()))
    }

    /// The world on a level, with its margin; none where it has no end.
    pub(crate) fn bounds(&self, level: i32) -> Option<Window> {
        (!self.recipe.endless).then(|| lattice(&self.whole(), level, false))
    }
}

/// A window, for people.
pub(crate) fn shown(window: &Window) -> String {
    format!(
        "{} x {} cells from {}, {} on",
        window.width, window.height, window.origin[0], window.origin[1]
    )
}
