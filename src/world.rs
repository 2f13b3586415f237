//! Runs recipes: metres in, stages on an executor, metres out.

use crate::error::{Error, Result};
use crate::exec::{Control, Executor};
use crate::map::Map;
use crate::plan::{Plan, Window};
use crate::recipe::Recipe;
use crate::spec::CELL;
use crate::stage::HEIGHT_MAX;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Heights as words: the one place where metres become fixed point and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Metres a cell.
    pub spacing_m: f64,
    /// Metres of the word 0.
    pub datum_m: f64,
}

impl Scale {
    /// A scale for heights from `lowest` to `highest` metres: the datum is 0 if it can be, else the middle, to the metre.
    pub fn fitting(spacing_m: f64, lowest: f64, highest: f64) -> Result<Self> {
        let most = HEIGHT_MAX as f64 * spacing_m;
        if lowest.abs().max(highest.abs()) <= most {
            return Ok(Self { spacing_m, datum_m: 0.0 });
        }
        if highest - lowest > 2.0 * most - 2.0 {
            return Err(Error::Limit(format!(
                "heights from {lowest} to {highest} m at {spacing_m} m a cell: a map may span {} cells of height, {} m; check the spacing and the unit",
                2 * HEIGHT_MAX,
                2.0 * most
            )));
        }
        Ok(Self { spacing_m, datum_m: ((lowest + highest) / 2.0).round() })
    }

    /// Metres to units, to the nearest.
    pub fn to_words(&self, metres: &[f32]) -> Vec<i32> {
        metres.iter().map(|&m| ((m as f64 - self.datum_m) / self.spacing_m * CELL as f64).round() as i32).collect()
    }

    /// Units to metres.
    pub fn to_metres(&self, words: &[i32]) -> Vec<f32> {
        words.iter().map(|&w| (w as f64 / CELL as f64 * self.spacing_m + self.datum_m) as f32).collect()
    }
}

/// How long a stage took and what it did.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// Its name.
    pub stage: &'static str,
    /// Passes run.
    pub passes: usize,
    /// Seconds, from making its plan to its last pass.
    pub seconds: f64,
    /// Cells of the map, each time a pass went over it, a second.
    pub cells_per_s: f64,
    /// Droplet-steps done, for stages with droplets.
    pub droplet_steps: Option<u64>,
    /// What follows from its settings.
    pub derived: serde_json::Value,
}

/// A recipe on its way through an executor.
pub struct World<'a> {
    recipe: &'a Recipe,
    window: Window,
    scale: Scale,
    start: Option<Vec<i32>>,
    range_m: Option<(f64, f64)>,
    georef: Option<crate::map::Georef>,
}

/// What a run leaves.
pub struct Made {
    /// The maps the recipe makes, by name; heights in metres.
    pub maps: BTreeMap<&'static str, Map>,
    /// BLAKE3 of each map's words, little-endian: equal on every device.
    pub digests: BTreeMap<&'static str, String>,
    /// What each stage did.
    pub stages: Vec<StageReport>,
}

/// BLAKE3 of words as little-endian bytes.
pub fn digest(words: &[i32]) -> String {
    let mut hasher = blake3::Hasher::new();
    for piece in words.chunks(1 << 16) {
        let bytes: Vec<u8> = piece.iter().flat_map(|w| w.to_le_bytes()).collect();
        hasher.update(&bytes);
    }
    hasher.finalize().to_hex().to_string()
}

impl<'a> World<'a> {
    /// Takes a recipe, and its input where it has one.
    pub fn new(recipe: &'a Recipe, input: Option<&Map>) -> Result<Self> {
        let Some(map) = input else {
            if recipe.input.is_some() {
                return Err(Error::Param("the recipe has an input: read it first".into()));
            }
            let spacing_m = recipe.spacing_m.unwrap_or(1.0);
            let scale = Scale { spacing_m, datum_m: 0.0 };
            return Ok(Self { recipe, window: recipe.window, scale, start: None, range_m: None, georef: None });
        };
        if map.width > Window::SIDE_MAX || map.height > Window::SIDE_MAX {
            return Err(Error::Limit(format!("{} x {} cells: a side has at most {}", map.width, map.height, Window::SIDE_MAX)));
        }
        let spacing_m = recipe.spacing_m.unwrap_or(map.spacing_m);
        let window = Window { width: map.width, height: map.height, ..recipe.window };
        for i in 0..recipe.stages.len() {
            recipe.check_step(i, window, spacing_m)?;
        }
        let (lowest, highest) = map.min_max();
        let scale = Scale::fitting(spacing_m, lowest as f64, highest as f64)?;
        let start = Some(scale.to_words(&map.data));
        Ok(Self { recipe, window, scale, start, range_m: map.range_m, georef: map.georef.clone() })
    }

    /// The part of the world that is made.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Metres and units.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The heights in units that the run starts from, where there is an input.
    pub fn start(&self) -> Option<&[i32]> {
        self.start.as_deref()
    }

    /// The plan of stage `i`.
    pub fn plan(&self, i: usize) -> Plan {
        let step = &self.recipe.stages[i];
        (step.stage.plan)(&step.settings, &self.recipe.site(i, self.window, self.scale.spacing_m))
    }

    /// Runs every stage. `progress` hears the stage's number, the passes done and their count.
    pub fn run(
        &self,
        executor: &mut dyn Executor,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(usize, usize, usize),
    ) -> Result<Made> {
        if let Some(start) = &self.start {
            executor.write("height", start)?;
        }
        let mut stages = vec![];
        for (i, step) in self.recipe.stages.iter().enumerate() {
            let begun = Instant::now();
            let plan = self.plan(i);
            executor.admits(&plan)?;
            executor.begin(&plan)?;
            let count = plan.passes.len();
            progress(i, 0, count);
            let mut note = |done: usize| progress(i, done, count);
            executor.run(&plan, 0..count, &mut Control { stop, progress: &mut note })?;
            executor.end(&plan);
            if i + 1 == self.recipe.stages.len() {
                // What comes now are copies of maps; the kernels' memory is not needed any more.
                executor.release();
            }
            let seconds = begun.elapsed().as_secs_f64();
            let site = self.recipe.site(i, self.window, self.scale.spacing_m);
            let invocations: f64 = plan.passes.iter().map(|p| p.count as f64).sum();
            let droplet_steps = match step.stage.work {
                Some(buffer) => Some(executor.read(buffer)?.iter().map(|&w| w as u32 as u64).sum()),
                None => None,
            };
            stages.push(StageReport {
                stage: step.stage.name,
                passes: count,
                seconds,
                cells_per_s: invocations / seconds,
                droplet_steps,
                derived: (step.stage.derived)(&step.settings, &site),
            });
        }
        let mut made = Made { maps: BTreeMap::new(), digests: BTreeMap::new(), stages };
        for (name, _) in self.recipe.maps() {
            let words = executor.read(name)?;
            let words = &words[..self.window.cells()];
            made.digests.insert(name, digest(words));
            let data =
                if name == "height" { self.scale.to_metres(words) } else { words.iter().map(|&w| w as u32 as f32).collect() };
            made.maps.insert(
                name,
                Map {
                    width: self.window.width,
                    height: self.window.height,
                    spacing_m: self.scale.spacing_m,
                    data,
                    range_m: if name == "height" { self.range_m } else { None },
                    georef: self.georef.clone(),
                },
            );
        }
        Ok(made)
    }
}
