//! Halos: how far what is made depends on what lies around it.

use super::{Schedule, Slab};
use crate::error::{Error, Result};
use crate::recipe::{Step, Unit};
use crate::site::{Site, Window};

impl Schedule {
    /// Cells of halo, of its level, that unit `i` of `steps` steps depends on, with the stages
    /// between its steps.
    pub fn reach(&self, i: usize, steps: usize) -> u64 {
        reach(&self.units[i].step, &self.site(i), steps)
    }

    /// Cells of a level that its land can depend on round a window of it.
    pub(crate) fn reach_on(&self, level: i32) -> u64 {
        let of = |unit: &Unit| {
            let site = self.whole_site(unit);
            // How many steps a stage has does not depend on its window, which only has to be large
            // enough to have any.
            let window = Window { width: 2, height: 2, ..site.window };
            let steps = || {
                let site = Site { window, draft: true, ..site };
                (unit.step.stage.plan)(&unit.step.settings, &site).count().steps as usize
            };
            reach(&unit.step, &site, if unit.step.with.is_empty() { 0 } else { steps() })
        };
        self.units.iter().filter(|unit| unit.level == level).map(of).sum()
    }

    /// Cells of a level that what a slab of its time leaves can depend on round a window of it.
    pub(crate) fn reach_in(&self, level: i32, slab: &Slab) -> u64 {
        if *slab == Slab::WHOLE {
            return self.reach_on(level);
        }
        let of = |i: usize| {
            let unit = &self.units[i];
            let (step, site) = (&unit.step, self.whole_site(unit));
            let Some((steps, spread)) = slab.steps_of(i).zip(step.stage.halo) else {
                let steps = if step.with.is_empty() { 0 } else { self.steps_of(i) as usize };
                return reach(step, &site, steps);
            };
            let nested = step.with.iter().map(|nested| {
                // How many multiples of `every` lie among the numbers of the slab's steps, from 1.
                let times = steps.end / nested.every - steps.start / nested.every;
                u64::from(times) * (nested.step.stage.reach)(&nested.step.settings, &site)
            });
            spread(&step.settings, &site, steps.clone()) + nested.sum::<u64>()
        };
        self.units_of(level).filter(|i| slab.has(*i)).map(of).sum()
    }

    /// What kernels work on to make a window of a level in a slab of its time.
    pub(crate) fn halo(&self, level: i32, slab: &Slab, target: &Window) -> Result<Window> {
        padded(target, self.reach_in(level, slab), self.bounds(level).as_ref())
    }
}

/// How far a stage of `steps` steps reaches, in cells, with the stages between its steps.
fn reach(step: &Step, site: &Site, steps: usize) -> u64 {
    let of = |step: &Step| (step.stage.reach)(&step.settings, site);
    let nested =
        step.with.iter().map(|nested| steps as u64 / u64::from(nested.every) * of(&nested.step));
    of(step) + nested.sum::<u64>()
}

/// A window grown by `by` cells on each side, as far as the land goes.
pub(crate) fn padded(window: &Window, by: u64, land: Option<&Window>) -> Result<Window> {
    // This is wider than any land, and sums with it fit in an i64.
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
            Error::over(
                format!(
                    "a part reaches {by} cells: a window has at most {} a side",
                    Window::SIDE_MAX
                ),
                by.unsigned_abs(),
                Window::SIDE_MAX,
                "cells",
            )
        })
    };
    Ok(Window { origin: ends.map(|(first, _)| first), width: side(0)?, height: side(1)? })
}
