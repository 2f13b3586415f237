//! Runs recipes: metres in, stages on an executor, metres out.

use crate::dungeon::placed::Entrance;
use crate::error::{Error, Result};
use crate::exec::{Control, Executor};
use crate::io::{Picture, Samples};
use crate::map::Map;
use crate::params::Settings;
use crate::plan::{Interim, Plan, Shape};
use crate::recipe::{Nested, Recipe};
use crate::relief::Derived;
use crate::site::{Layer, Scale, Window};
use crate::spec::{CELL, LEDGER_WORDS, fold};
use crate::stage::{biomes, layer};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

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
    masks: Vec<Option<Vec<i32>>>,
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
    /// The biomes and how much of the window each has, where a stage makes some.
    pub biomes: Vec<BiomeShare>,
    /// Textures of the biomes' weights, red, green, blue and alpha for four biomes each, where a stage is asked for them.
    pub textures: Vec<Picture>,
    /// Entrances of dungeons in the window, where the recipe asks for them; the heights are levelled round them.
    pub entrances: Vec<Entrance>,
}

/// How much there is of a biome.
#[derive(Clone, Debug, Serialize)]
pub struct BiomeShare {
    /// Its name.
    pub name: String,
    /// Its colour, as #RRGGBB.
    pub colour: String,
    /// Cells in which it has the most weight.
    pub cells: usize,
    /// Their share of the window.
    pub share: f64,
    /// Mean height of these cells, in metres, where there are any.
    pub mean_m: Option<f64>,
}

/// A look at a run under way.
pub struct Frame {
    /// Its number, from 0.
    pub index: usize,
    /// How many of the steps that change heights are done, and of how many.
    pub step: usize,
    /// See `step`.
    pub steps: usize,
    /// `height`; and what else the recipe's colours want, so far, as soon as steps have been done.
    pub maps: BTreeMap<&'static str, Map>,
}

/// Most frames of one run: their files are numbered with four digits.
pub const FRAMES_MAX: usize = 10_000;

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
    /// Takes a recipe, and its input where it has one. Stages that read a file get it by [`World::give`].
    pub fn new(recipe: &'a Recipe, input: Option<&Map>) -> Result<Self> {
        let masks = vec![None; recipe.stages.len()];
        let Some(map) = input else {
            if recipe.input.is_some() {
                return Err(Error::Param("the recipe has an input: read it first".into()));
            }
            let scale = Scale::of(recipe.spacing_m.unwrap_or(1.0));
            recipe.dungeons.iter().try_for_each(|placing| placing.admits(recipe.window))?;
            return Ok(Self { recipe, window: recipe.window, scale, start: None, masks, range_m: None, georef: None });
        };
        if map.width > Window::SIDE_MAX || map.height > Window::SIDE_MAX {
            return Err(Error::Limit(format!("{} x {} cells: a side has at most {}", map.width, map.height, Window::SIDE_MAX)));
        }
        let spacing_m = recipe.spacing_m.unwrap_or(map.spacing_m);
        let window = Window { width: map.width, height: map.height, ..recipe.window };
        recipe.dungeons.iter().try_for_each(|placing| placing.admits(window))?;
        let (lowest, highest) = map.min_max();
        let scale = Scale::fitting(spacing_m, lowest as f64, highest as f64)?;
        for i in 0..recipe.stages.len() {
            recipe.check_step(i, recipe.grown(window)?, scale)?;
        }
        let start = Some(scale.to_words(&map.data));
        Ok(Self { recipe, window, scale, start, masks, range_m: map.range_m, georef: map.georef.clone() })
    }

    /// What the samples of stage `i`'s file are: numbers of biomes, or else shares.
    pub fn samples(&self, i: usize) -> Samples {
        if self.recipe.stages[i].stage.name == biomes::STAGE.name { Samples::Numbers } else { Samples::Shares }
    }

    /// Gives stage `i` the file that it reads ([`World::files`], [`World::samples`]): a map of the terrain's size with shares from 0 to 1,
    /// or with numbers of biomes.
    ///
    /// # Errors
    /// [`Error::Param`] for a map of another size or with other values.
    pub fn give(&mut self, i: usize, map: &Map) -> Result<()> {
        let step = &self.recipe.stages[i];
        let place = || format!("stage {}, {}: file = {:?}", i + 1, step.stage.name, step.file().unwrap_or_default());
        if [map.width, map.height] != [self.window.width, self.window.height] {
            return Err(Error::Param(format!(
                "{}: {} x {} cells, the terrain has {} x {}: give a map of the same size",
                place(),
                map.width,
                map.height,
                self.window.width,
                self.window.height
            )));
        }
        let mask = if self.samples(i) == Samples::Numbers {
            biomes::mask(&step.settings, map).map_err(|e| Error::Param(format!("{}: {e}", place())))?
        } else {
            if let Some(at) = map.data.iter().position(|v| !(0.0..=1.0).contains(v)) {
                let (x, y) = (at % map.width as usize, at / map.width as usize);
                return Err(Error::Param(format!("{}: {} in column {x}, row {y}: allowed 0 to 1", place(), map.data[at])));
            }
            map.data.iter().map(|v| (v * 65536.0).round() as i32).collect()
        };
        self.masks[i] = Some(mask);
        Ok(())
    }

    /// The stages that read a file, and its path.
    pub fn files(&self) -> impl Iterator<Item = (usize, std::path::PathBuf)> {
        self.recipe.stages.iter().enumerate().filter_map(|(i, step)| step.file().map(|file| (i, self.recipe.folder.join(file))))
    }

    /// The words of a map of the window as one with the margin: mirrored outwards.
    fn grow(&self, words: &[i32]) -> Vec<i32> {
        let (margin, w, h) = (self.recipe.margin as i32, self.window.width as i32, self.window.height as i32);
        let columns: Vec<usize> = (-margin..w + margin).map(|x| fold(x, w, false) as usize).collect();
        (-margin..h + margin)
            .flat_map(|y| {
                let row = fold(y, h, false) as usize * w as usize;
                columns.iter().map(move |x| words[row + x])
            })
            .collect()
    }

    /// The words of a map with the margin as one of the window; `each` words a cell, of which the one at `word` counts.
    fn crop(&self, words: &[i32], each: usize, word: usize) -> Vec<i32> {
        let (margin, w, h) = (self.recipe.margin as usize, self.window.width as usize, self.window.height as usize);
        let row = |y: usize| (y + margin) * (w + 2 * margin) + margin;
        (0..h).flat_map(|y| words[row(y) * each..(row(y) + w) * each].iter().skip(word).step_by(each).copied()).collect()
    }

    /// The part of the world that kernels work on: with the margin.
    pub fn whole(&self) -> Window {
        // A window too large was refused by the recipe's check or by `new`.
        self.recipe.grown(self.window).unwrap_or(self.window)
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

    /// The plan of stage `i`, with those that run between its steps, and the ledger.
    pub fn plan(&self, i: usize) -> Plan {
        let step = &self.recipe.stages[i];
        let site = self.recipe.site(i, self.whole(), self.scale);
        let mut plan = (step.stage.plan)(&step.settings, &site);
        for (j, Nested { every, step: nested }) in step.with.iter().enumerate() {
            let run = |n| (nested.stage.plan)(&nested.settings, &self.recipe.nested_site(i, j, n, &site));
            plan.interleave(|n| (n % *every as usize == 0).then(|| run(n)));
        }
        if site.layers.has(Layer::Ledger) && !step.stage.makes {
            let first = i == self.recipe.stages.iter().position(|s| !s.stage.makes).unwrap_or(0);
            layer::keep_ledger(&mut plan, &site, first);
        }
        plan
    }

    /// Writes what stage `i` finds and no stage before it has made: the input, its file.
    pub fn stock(&self, i: usize, executor: &mut dyn Executor) -> Result<()> {
        if let (0, Some(start)) = (i, &self.start) {
            executor.write("height", &self.grow(start))?;
        }
        match (&self.masks[i], self.recipe.stages[i].file()) {
            (Some(mask), _) => executor.write("mask", &self.grow(mask)),
            (None, Some(file)) => Err(Error::Param(format!("stage {}: its file, {file}, was not read", i + 1))),
            (None, None) => Ok(()),
        }
    }

    /// After how many passes of stage `i`'s plan each of the steps that change heights is done; none for stages that make heights
    /// from nothing or leave them alone.
    fn steps(&self, i: usize, plan: &Plan) -> Vec<usize> {
        match (self.recipe.stages[i].stage.makes || !plan.writes("height"), plan.steps.is_empty()) {
            (true, _) => vec![],
            (_, true) => vec![plan.passes.len()],
            _ => plan.steps.clone(),
        }
    }

    /// How many steps change heights, if a run can have so many frames.
    pub fn check_frames(&self, frames: usize) -> Result<usize> {
        let steps = (0..self.recipe.stages.len()).map(|i| self.steps(i, &self.plan(i)).len()).sum::<usize>();
        let most = FRAMES_MAX.min(steps + 1);
        match (steps, frames) {
            (0, _) => Err(Error::Param(format!(
                "frames = {frames}: no stage of this recipe changes heights that are there already, so there is nothing to watch"
            ))),
            (_, n) if !(2..=most).contains(&n) => {
                let why = match most {
                    FRAMES_MAX => "their files are numbered with four digits, 0000 to 9999".into(),
                    _ => format!("one before any step and one after each that changes heights, of which there are {steps}"),
                };
                Err(Error::Param(format!("frames = {frames}: allowed 2 to {most}: {why}")))
            }
            _ => Ok(steps),
        }
    }

    /// Runs every stage. `progress` hears the stage's number, the passes done and their count.
    pub fn run(
        &self,
        executor: &mut dyn Executor,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(usize, usize, usize),
    ) -> Result<Made> {
        self.run_watched(executor, stop, progress, 0, &mut |_| Ok(()))
    }

    /// Runs every stage, and shows `watch` so many frames (0: none): the first before any heights change, the last at the end,
    /// the others evenly between. An error of `watch` ends the run. The result is that of [`World::run`].
    pub fn run_watched(
        &self,
        executor: &mut dyn Executor,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(usize, usize, usize),
        frames: usize,
        watch: &mut dyn FnMut(&Frame) -> Result<()>,
    ) -> Result<Made> {
        let steps = if frames > 0 { self.check_frames(frames)? } else { 0 };
        // After how many steps frame `n` is due.
        let due = |n: usize| (n * steps + (frames - 1) / 2) / (frames - 1);
        let (mut index, mut before) = (0, 0);
        let mut stages = vec![];
        for (i, step) in self.recipe.stages.iter().enumerate() {
            let begun = Instant::now();
            let mut watching = Duration::ZERO;
            let plan = self.plan(i);
            executor.admits(&plan)?;
            self.stock(i, executor)?;
            executor.begin(&plan)?;
            let count = plan.passes.len();
            progress(i, 0, count);
            let mut note = |done: usize| progress(i, done, count);
            let ends = if index < frames { self.steps(i, &plan) } else { vec![] };
            let mut done = 0;
            while index < frames && !ends.is_empty() && due(index) <= before + ends.len() {
                let step = due(index);
                let end = (step - before).checked_sub(1).map_or(0, |last| ends[last]);
                executor.run(&plan, done..end, &mut Control { stop, progress: &mut note })?;
                done = end;
                let looked = Instant::now();
                let maps = self.look(i, &plan, step, executor)?;
                watch(&Frame { index, step, steps, maps })?;
                watching += looked.elapsed();
                index += 1;
            }
            before += ends.len();
            executor.run(&plan, done..count, &mut Control { stop, progress: &mut note })?;
            executor.end(&plan);
            if i + 1 == self.recipe.stages.len() {
                // What comes now are copies of maps; the kernels' memory is not needed any more.
                executor.release();
            }
            // A clock may stand still over a stage that has nothing to do.
            let seconds = (begun.elapsed() - watching).as_secs_f64().max(1e-9);
            let site = self.recipe.site(i, self.whole(), self.scale);
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
                derived: (step.stage.summary)(&step.settings, &site),
            });
        }
        let mut made =
            Made { maps: BTreeMap::new(), digests: BTreeMap::new(), stages, biomes: vec![], textures: vec![], entrances: vec![] };
        if let Some(placing) = &self.recipe.dungeons {
            let mut words = executor.read("height")?;
            let units = CELL as f64 / self.scale.spacing_m;
            let suited = self.recipe.suited()?;
            let kinds = if suited.is_some() { executor.read("biome")? } else { vec![] };
            let suits = |cell: usize| suited.as_ref().is_none_or(|suited| suited[kinds[cell] as usize]);
            made.entrances = placing.entrances(self.recipe.seed, self.whole(), &mut words, units, self.scale.datum_m, &suits);
            executor.write("height", &words)?;
            let Window { origin: [left, top], width, height } = self.window;
            let inside = |e: &Entrance| (0..width.into()).contains(&(e.x - left)) && (0..height.into()).contains(&(e.y - top));
            made.entrances.retain(inside);
        }
        if let Some((_, settings)) = self.recipe.biomes() {
            made.biomes = self.shares(settings, executor)?;
            made.textures = self.textures(executor)?;
        }
        let asked = |name: &str| name == "height" || self.recipe.reads(name);
        for (name, _) in self.recipe.maps().into_iter().filter(|(name, _)| asked(name)) {
            let (words, form) = self.words(name, executor)?;
            made.digests.insert(name, digest(&words));
            made.maps.insert(name, self.map(name, &words, form));
        }
        Ok(made)
    }

    /// How much of the window each biome has.
    fn shares(&self, settings: &Settings, executor: &mut dyn Executor) -> Result<Vec<BiomeShare>> {
        let kinds = self.crop(&executor.read("biome")?, 1, 0);
        let heights = self.crop(&executor.read("height")?, 1, 0);
        let all = biomes::biomes(settings)?;
        let mut sums = vec![(0usize, 0i64); all.len()];
        for (kind, height) in kinds.iter().zip(&heights) {
            let (cells, sum) = &mut sums[*kind as usize];
            *cells += 1;
            *sum += *height as i64;
        }
        let metres = |units: f64| units / CELL as f64 * self.scale.spacing_m + self.scale.datum_m;
        let share = |(biome, (cells, sum)): (biomes::Biome, (usize, i64))| BiomeShare {
            colour: biome.code(),
            name: biome.name,
            cells,
            share: cells as f64 / kinds.len() as f64,
            mean_m: (cells > 0).then(|| metres(sum as f64 / cells as f64)),
        };
        Ok(all.into_iter().zip(sums).map(share).collect())
    }

    /// The textures of the weights, cut to the window.
    fn textures(&self, executor: &mut dyn Executor) -> Result<Vec<Picture>> {
        let count = self.recipe.textures();
        let words = if count > 0 { executor.read("splat")? } else { vec![] };
        let Window { width, height, .. } = self.window;
        let cut = |words: &[i32]| self.crop(words, 1, 0).into_iter().flat_map(i32::to_le_bytes).collect();
        let texture = |words| Picture { width, height, channels: 4, data: cut(words) };
        Ok(words.chunks(self.whole().cells()).map(texture).collect())
    }

    /// The height and what else colours want, after `step` steps, in the middle of stage `i`.
    fn look(&self, i: usize, plan: &Plan, step: usize, executor: &mut dyn Executor) -> Result<BTreeMap<&'static str, Map>> {
        let flowed = self.recipe.stages[..i].iter().any(|step| step.stage.maps.iter().any(|(name, _)| *name == "flow"));
        let interim = |name: &str| plan.interim.iter().find(|interim| interim.field == name);
        let each = |name: &str| match plan.buffer(name).shape {
            Shape::Cells(each) => each,
            _ => 1,
        };
        let flows = interim("flow").is_some();
        let there = |name: &str| match name {
            "height" => true,
            "flow" => step > 0 && (flows || flowed),
            "sediment" => step > 0 && self.recipe.maps().iter().any(|(name, _)| *name == "sediment"),
            "biome_colour" => step > 0 && self.recipe.biomes().is_some_and(|(at, _)| at <= i),
            _ => step > 0,
        };
        let wanted = std::iter::once("height").chain(self.recipe.output.colour.wants().iter().copied());
        let draw = |name: &'static str| {
            let (words, form) = match interim(name) {
                Some(Interim { buffer, word, .. }) => (self.crop(&executor.read(buffer)?, each(buffer), *word), Form::Count),
                None => self.words(name, executor)?,
            };
            Ok((name, self.map(name, &words, form)))
        };
        wanted.filter(|name| there(name)).map(draw).collect()
    }

    /// A map in its unit.
    fn map(&self, name: &str, words: &[i32], form: Form) -> Map {
        let metres = self.scale.spacing_m / CELL as f64;
        Map {
            width: self.window.width,
            height: self.window.height,
            spacing_m: self.scale.spacing_m,
            data: match form {
                Form::Height => self.scale.to_metres(words),
                Form::Thickness => words.iter().map(|&w| (w as f64 * metres) as f32).collect(),
                Form::Fraction => words.iter().map(|&w| w as f32 / 65536.0).collect(),
                Form::Count => words.iter().map(|&w| w as u32 as f32).collect(),
                Form::Float => words.iter().map(|&w| f32::from_bits(w as u32)).collect(),
            },
            range_m: if name == "height" { self.range_m } else { None },
            georef: self.georef.clone(),
        }
    }

    /// The words of a map that the run has left, cut to the window, and what they stand for.
    fn words(&self, name: &str, executor: &mut dyn Executor) -> Result<(Vec<i32>, Form)> {
        if let Some(derived) = Derived::named(name) {
            let heights = self.crop(&executor.read("height")?, 1, 0);
            let Window { width, height, .. } = self.window;
            let data = derived.of(&heights, width as usize, height as usize, self.scale.spacing_m);
            return Ok((data.into_iter().map(|v| v.to_bits() as i32).collect(), Form::Float));
        }
        let ledger = |executor: &mut dyn Executor, word| Ok::<_, Error>(self.crop(&executor.read("ledger")?, LEDGER_WORDS, word));
        Ok(match name {
            "height" => (self.crop(&executor.read(name)?, 1, 0), Form::Height),
            "sediment" => (ledger(executor, 1)?, Form::Thickness),
            "wear" => (ledger(executor, 2)?, Form::Thickness),
            "deposit" => (ledger(executor, 3)?, Form::Thickness),
            "change" => {
                let records = executor.read("ledger")?;
                let pairs = self.crop(&records, LEDGER_WORDS, 3).into_iter().zip(self.crop(&records, LEDGER_WORDS, 2));
                (pairs.map(|(raised, lowered)| raised - lowered).collect(), Form::Thickness)
            }
            "rain" | "hardness" | "vegetation" => (self.crop(&executor.read(name)?, 1, 0), Form::Fraction),
            _ => (self.crop(&executor.read(name)?, 1, 0), Form::Count),
        })
    }
}

/// What the words of a map stand for.
enum Form {
    /// Units above the datum.
    Height,
    /// Units.
    Thickness,
    /// 2⁻¹⁶.
    Fraction,
    /// Ones, without sign.
    Count,
    /// The bits of an f32.
    Float,
}
