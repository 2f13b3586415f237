//! A run: a recipe with its inputs and a device, what it tells on its way, and what it leaves.

mod blending;
mod cancel;
#[cfg(feature = "classic")]
pub mod classic;
mod count;
mod event;
mod fallback;
pub(crate) mod fields;
mod frames;
mod heights;
mod maps;
mod missing;
mod outcome;
mod part;
mod pictures;
pub(crate) mod piece;
mod report;
mod reporter;
mod run;
mod snapshot;
mod things;
pub(crate) mod units;

pub use blending::{BiomeShare, BiomeWeights, Texture};
pub use event::{AfterStage, Event, FRAMES_MAX, Frame, Progress};
pub use heights::Heights;
pub use maps::Maps;
pub use outcome::{Level, Outcome, digest};
pub use report::StageReport;
pub use snapshot::Snapshot;

use crate::device::{Device, DeviceOptions};
#[cfg(feature = "io")]
use crate::error::Error;
use crate::error::{Invalid, Result};
#[cfg(feature = "io")]
use crate::map::Samples;
use crate::map::{Georef, Map};
#[cfg(feature = "io")]
use crate::picture::Picture;
use crate::recipe::{Input, Recipe};
use crate::schedule::Schedule;
use crate::site::{Scale, Window};
use crate::stage::levels::spacing_m;
pub use cancel::Cancel;
use missing::Missing;
use std::sync::Arc;

/// A run of a recipe: what to make, from what, and where to compute. It owns all that it needs and
/// may go to another thread.
///
/// ```
/// use thalweg::{Device, Job};
///
/// let recipe = "schema = 2\nseed = 5\nwidth = 64\nheight = 64\nspacing_m = 20\n\
///               [[stage]]\nkind = \"diamond_square\"\nrelief_m = 900\n\
///               [[stage]]\nkind = \"droplets\"\nrain = 0.5\n";
/// let job = Job::new(recipe.parse()?)?.device(Device::Cpu);
/// let land = job.run(&mut |_| Ok(()))?;
/// let height = land.map("height")?;
/// println!("{:?} m, digest {}", height.min_max(), land.digest("height")?);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Job {
    /// What it does, and where.
    schedule: Schedule,
    start: Start,
    /// The cells of the input that have no height.
    missing: Option<Arc<Missing>>,
    /// For each stage, the samples that it reads, in words.
    samples: Vec<Option<Arc<[i32]>>>,
    range_m: Option<(f64, f64)>,
    georef: Option<Georef>,
    options: DeviceOptions,
    frames: usize,
    /// Whether the published sequential algorithms run in place of the exact stages.
    #[cfg(feature = "classic")]
    classic: bool,
    cancel: Cancel,
    /// Warnings about the recipe, and about the files that were read: the file, and a sentence.
    warnings: Vec<(Option<std::path::PathBuf>, String)>,
}

/// What the first stage of a run finds.
#[derive(Clone, Debug)]
enum Start {
    /// Nothing: it makes the heights.
    Nothing,
    /// These heights.
    Heights(Arc<[i32]>),
    /// What earlier stages left. Shared, because it may be large.
    Snapshot(Arc<Snapshot>),
}

impl Job {
    /// A run of a recipe that makes its own heights.
    ///
    /// # Errors
    /// [`Error::Param`] for a recipe that starts from an input (use [`Job::with_heights`], or
    /// `Job::read` with the feature `io`); [`Error::Limit`] for a land that is too large.
    pub fn new(recipe: Recipe) -> Result<Self> {
        match &recipe.input {
            None => {}
            Some(Input::File { path, .. }) => {
                let message =
                    format!("input = {:?}: the recipe's input was not read", path.display());
                return Err(Invalid::from(message).about("input").into());
            }
            Some(Input::Memory) => {
                let message =
                    "width and height are missing (in cells), or an input, or heights in memory";
                return Err(Invalid::from(message).about("width").into());
            }
        }
        let scale = Scale::of(recipe.spacing_m.unwrap_or(1.0));
        Self::at(recipe.window, scale, Start::Nothing, recipe)
    }

    /// A run of a recipe that starts from these heights. They take the place of the recipe's input.
    ///
    /// # Errors
    /// [`Error::Param`] for a recipe that makes its own heights, for heights that are not finite or
    /// contradict their size, and for settings that do not suit their spacing; [`Error::Limit`] for
    /// a map that is too large or too high.
    pub fn with_heights<'a>(recipe: Recipe, heights: impl Into<Heights<'a>>) -> Result<Self> {
        if recipe.input.is_none() {
            let message = "the recipe makes its own heights: leave out width, height and the stage \
                           that makes them";
            return Err(Invalid::from(message).about("width").into());
        }
        let heights = heights.into();
        let window = Window { origin: recipe.window.origin, ..heights.window()? };
        let missing = Missing::of(window, heights.missing).map(Arc::new);
        let (scale, words) = heights.words(recipe.spacing_m, missing.as_deref())?;
        recipe.check_on(window, scale)?;
        let job = Self::at(window, scale, Start::Heights(words.into()), recipe)?;
        Ok(Self { range_m: heights.range_m, georef: heights.georef, missing, ..job })
    }

    /// A run that goes on from a snapshot of the same recipe, with the bytes of a run that was not
    /// interrupted. The recipe's stages after the snapshot may be others than they were, and so may
    /// what it writes, unless that needs a ledger (`erosion`, `deposition`, `change`, `sediment`,
    /// colours of the ground) and the snapshot has none.
    ///
    /// # Errors
    /// [`Error::Param`] for a snapshot of another recipe.
    pub fn resume(recipe: Recipe, snapshot: Snapshot) -> Result<Self> {
        snapshot.check(&recipe)?;
        if snapshot.has_missing() {
            let message = "the snapshot is of a land with cells without a height, which it does \
                           not name: resume from the job with its input";
            return Err(Invalid::from(message).about("snapshot").into());
        }
        let (window, scale) = (snapshot.window(), snapshot.scale());
        recipe.check_on(window, scale)?;
        let (range_m, georef) = (snapshot.range_m(), snapshot.georef());
        let job = Self::at(window, scale, Start::Nothing, recipe)?;
        let schedule = job.schedule.until(snapshot.until_level())?;
        let start = Start::Snapshot(Arc::new(snapshot));
        Ok(Self { range_m, georef, schedule, start, ..job })
    }

    /// The same run, with the inputs and samples that it has, from a snapshot of itself on: with
    /// the bytes of a run that was not interrupted.
    ///
    /// # Errors
    /// [`Error::Param`] for a snapshot of another recipe or of other inputs.
    pub fn resume_from(self, snapshot: Snapshot) -> Result<Self> {
        snapshot.check(self.recipe())?;
        snapshot.check_end(&self.schedule)?;
        let same = snapshot.window() == self.schedule.region()
            && snapshot.scale() == self.schedule.scale_on(0);
        // Files of stages that come later may be others than when the snapshot was taken.
        let involved = self.recipe().involved(&self.schedule.units, snapshot.stages());
        if !same
            || snapshot.start_digest() != self.start_digest()
            || snapshot.read_digest() != self.read_digest(involved)
        {
            let message = "the snapshot is of a run with other inputs; make it anew";
            return Err(Invalid::from(message).about("snapshot").into());
        }
        Ok(Self { start: Start::Snapshot(Arc::new(snapshot)), ..self })
    }

    fn at(window: Window, scale: Scale, start: Start, recipe: Recipe) -> Result<Self> {
        recipe.check()?;
        #[cfg(feature = "dungeon")]
        recipe.dungeons.iter().try_for_each(|placing| placing.admits(window))?;
        let (samples, warnings) = (vec![None; recipe.stages.len()], recipe.warnings(window));
        let schedule = Schedule::of(recipe, window, scale)?;
        schedule.check_passes()?;
        Ok(Self {
            schedule,
            start,
            missing: None,
            samples,
            range_m: None,
            georef: None,
            options: DeviceOptions::default(),
            frames: 0,
            #[cfg(feature = "classic")]
            classic: false,
            cancel: Cancel::default(),
            warnings,
        })
    }

    /// Reads the files that a recipe names, its input and those of its stages, and makes a run of
    /// it.
    ///
    /// # Errors
    /// As [`Job::with_heights`], [`Job::supply`] and [`crate::io::read`].
    #[cfg(feature = "io")]
    pub fn read(recipe: Recipe) -> Result<Self> {
        Self::read_by(recipe, &|path, options| crate::io::read(path, options))
    }

    /// The same, where `read` reads the files, such as by [`crate::io::decode_file`] what was sent
    /// over a network. It gets the path, which begins with the recipe's folder.
    ///
    /// # Errors
    /// As [`Job::with_heights`] and [`Job::supply`], and those of `read`.
    #[cfg(feature = "io")]
    pub fn read_by(
        recipe: Recipe,
        read: &dyn Fn(&std::path::Path, &crate::io::ReadOptions) -> Result<crate::io::Reading>,
    ) -> Result<Self> {
        let mut warnings: Vec<(Option<std::path::PathBuf>, String)> = vec![];
        let mut read_all = |path: &std::path::Path,
                            options: &crate::io::ReadOptions|
         -> Result<crate::io::Reading> {
            let mut reading = read(path, options)?;
            let said = std::mem::take(&mut reading.warnings);
            warnings.extend(said.into_iter().map(|warning| (Some(path.to_path_buf()), warning)));
            Ok(reading)
        };
        let mut job = match recipe.input.clone() {
            Some(Input::File { path, range_m, nodata_m, band }) => {
                let options = crate::io::ReadOptions {
                    spacing_m: recipe.spacing_m,
                    range_m,
                    nodata_fill: nodata_m.map(|metres| metres as f32),
                    // With a height for missing cells they are land like any other.
                    keep_missing: nodata_m.is_none(),
                    band,
                    ..Default::default()
                };
                let reading = read_all(&path, &options)?;
                let missing = if nodata_m.is_none() { &reading.missing[..] } else { &[] };
                Self::with_heights(recipe, Heights::from(&reading.map).without(missing))?
            }
            _ => Self::new(recipe)?,
        };
        let mut read = |path: &std::path::Path, options: &crate::io::ReadOptions| {
            read_all(path, options).map(|reading| reading.map)
        };
        for (i, path) in job.files().collect::<Vec<_>>() {
            let samples = job.recipe().stages[i].samples().unwrap_or_default();
            let map = read(&path, &crate::io::ReadOptions { samples, ..Default::default() })?;
            job.supply(i, &map)?;
        }
        // A file that several strokes stamp is read once.
        let files: std::collections::BTreeSet<String> =
            job.pictures().map(|(_, _, file)| file).collect();
        for file in files {
            let path = job.recipe().folder.join(&file);
            let options = crate::io::ReadOptions {
                samples: Samples::Shares,
                max_cells: Picture::SAMPLES_MAX as u64,
                ..Default::default()
            };
            let map = read(&path, &options).map_err(|e| match e {
                Error::Limit(limit) => job.wrong_picture(&file, &limit.message),
                other => other,
            })?;
            job.supply_picture(&file, &map)?;
        }
        job.warnings.extend(warnings);
        Ok(job)
    }

    /// Warnings about the recipe, and about the files that were read: the file, if it is about one,
    /// and a sentence.
    pub fn warnings(&self) -> &[(Option<std::path::PathBuf>, String)] {
        &self.warnings
    }

    /// The files that its stages read: the stage's number from 0, and the path.
    pub fn files(&self) -> impl Iterator<Item = (usize, std::path::PathBuf)> {
        self.recipe()
            .stages
            .iter()
            .enumerate()
            .filter_map(|(i, step)| step.file().map(|file| (i, self.recipe().folder.join(file))))
    }

    /// The same run, with its inputs and its device, of a changed recipe for the same land. The
    /// recipe's stages may be fewer, but samples belong to the stage of their number.
    ///
    /// # Errors
    /// As [`Job::new`].
    #[doc(hidden)]
    pub fn with_recipe(&self, recipe: Recipe) -> Result<Self> {
        if let Start::Snapshot(snapshot) = &self.start {
            snapshot.check(&recipe)?;
        }
        recipe.check_on(self.schedule.world(), self.schedule.scale_on(0))?;
        let mut samples = self.samples.clone();
        samples.resize(recipe.stages.len(), None);
        let schedule = self.schedule.with_recipe(recipe)?;
        let mut job = Self { schedule, samples, ..self.clone() };
        // Pictures are in the settings of stages, and these are the new recipe's.
        for (i, _, file) in self.pictures().collect::<Vec<_>>() {
            if let Some(picture) = self.recipe().stages[i].settings.picture(&file) {
                job.show(&file, picture);
            }
        }
        // The new schedule is of all the world.
        if self.schedule.is_part() {
            job.schedule = job.schedule.with_region(self.schedule.region())?;
        }
        job.schedule.check_passes()?;
        Ok(job)
    }

    /// The heights that it starts from, in metres, where it has an input.
    pub fn input(&self) -> Option<Map> {
        let words = self.start()?;
        let field = crate::field::find("height")?;
        Some(self.map_of(field, words))
    }

    /// Ends the run when the land of a level is done: 0 is the recipe's lattice, each next one is
    /// half as fine, and with a scale there are finer ones below 0. The words are those that the
    /// whole run has on that level.
    ///
    /// # Errors
    /// [`Error::Param`] for a level that the land has not, and for maps of the output that only a
    /// finer level has.
    pub fn until_level(self, level: i32) -> Result<Self> {
        let schedule = self.schedule.until(level)?;
        if let Start::Snapshot(snapshot) = &self.start {
            snapshot.check_end(&schedule)?;
        }
        Ok(Self { schedule, ..self })
    }

    /// Where to compute. [`Device::Auto`] if not said.
    pub fn device(mut self, device: Device) -> Self {
        self.options.device = device;
        self
    }

    /// Threads of the CPU; 0, which is the default: one a core.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Invocations of a workgroup on a graphics adapter, 1 to 1024 and within its limit. 0, as if
    /// not said: 256, or its limit if that is lower.
    pub fn workgroup_size(mut self, invocations: u32) -> Self {
        self.options.workgroup_size = invocations;
        self
    }

    /// Shuffles the order in which the CPU does its work, to prove that the order does not matter.
    pub fn shuffle(mut self, seed: Option<u64>) -> Self {
        self.options.shuffle = seed;
        self
    }

    /// How many [`Event::Frame`]s the run shows, from 2 on: the first before any heights change,
    /// the last at the end, the others evenly between. None if not said.
    ///
    /// # Errors
    /// [`Error::Param`] for a number of frames that the run cannot have.
    pub fn frames(self, frames: usize) -> Result<Self> {
        let job = Self { frames, ..self };
        job.check_frames()?;
        Ok(job)
    }

    /// What cancels the run. Its own if not said.
    pub fn cancel_by(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Cancels this run and its clones.
    pub fn cancel_handle(&self) -> Cancel {
        self.cancel.clone()
    }

    pub(crate) fn options(&self) -> &DeviceOptions {
        &self.options
    }

    /// Where on Earth a window of a level lies, where its input says where that lies.
    pub(crate) fn place_of(&self, level: i32, window: &Window) -> Option<Georef> {
        // In cells of the recipe's lattice, exactly: origins have up to 62 bits.
        let cells =
            |at: i64| if level < 0 { i128::from(at) >> -level } else { i128::from(at) << level };
        let from = [0, 1].map(|axis| {
            (cells(window.origin[axis]) - i128::from(self.schedule.region().origin[axis])) as f64
        });
        self.georef.clone().map(|georef| georef.on_lattice(spacing_m(1.0, level), from[0], from[1]))
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        self.schedule.recipe()
    }

    /// The same run of another schedule of its land.
    pub(crate) fn of_schedule(&self, schedule: Schedule) -> Self {
        Self {
            schedule,
            // All but the schedule is shared, or small.
            start: self.start.clone(),
            missing: self.missing.clone(),
            samples: self.samples.clone(),
            range_m: self.range_m,
            georef: self.georef.clone(),
            options: self.options.clone(),
            frames: self.frames,
            #[cfg(feature = "classic")]
            classic: self.classic,
            cancel: self.cancel.clone(),
            warnings: vec![],
        }
    }

    /// What it does, and where.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The land that is left, without its margin: the first part of [`Schedule::land`].
    pub fn window(&self) -> Window {
        self.schedule.land().0
    }

    /// Metres of a cell of the land that is left, and of the word 0: the second part of
    /// [`Schedule::land`].
    pub fn scale(&self) -> Scale {
        self.schedule.land().1
    }

    /// The digest of the samples that unit `i` reads, if it reads some.
    pub(crate) fn samples_digest(&self, i: usize) -> Option<String> {
        let unit = &self.schedule.units[i];
        self.samples[unit.stage].as_ref().filter(|_| unit.named).map(|samples| digest(samples))
    }

    /// The digest of the samples and pictures that the first stages of its recipe read.
    pub(crate) fn read_digest(&self, stages: usize) -> String {
        let pictures = self.pictures().filter(|(i, ..)| *i < stages).map(|(i, _, file)| {
            let shown = self.recipe().stages[i].settings.picture(&file);
            (file, shown.map(|picture| digest(&picture.words)))
        });
        let samples: Vec<_> = self.samples.iter().take(stages).map(Option::as_deref).collect();
        let samples: Vec<_> = samples.into_iter().map(|words| words.map(digest)).collect();
        let described = serde_json::json!([samples, pictures.collect::<Vec<_>>()]);
        blake3::hash(described.to_string().as_bytes()).to_hex().to_string()
    }

    /// The digest of the heights that the run began with, if it has an input. A resumed run has it
    /// from the snapshot.
    pub(crate) fn start_digest(&self) -> Option<String> {
        match &self.start {
            Start::Nothing => None,
            Start::Heights(words) => Some(digest(words)),
            Start::Snapshot(snapshot) => snapshot.start_digest(),
        }
    }
}
