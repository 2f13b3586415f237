//! Questions and their answers.

use crate::gpu::WebGpu;
use crate::service::{self, Wish};
use crate::{Beside, page};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "files")]
use thalweg::io::decode_file;
use thalweg::recipe::{EXAMPLES, PRESETS};
use thalweg::{
    Cpu, Device, Error, Event, Executor, Heights, Job, Order, Outcome, Recipe, Result, Stage,
    Window, vectors,
};

thread_local! {
    /// The land that was made last.
    static LAND: RefCell<Option<Arc<Outcome>>> = RefCell::default();
}

/// What a page may ask.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Question {
    /// The version of the library.
    Version,
    /// The recipes and the presets that come with it.
    Catalogue,
    /// The recipe with every setting spelled out.
    Check(Wanted),
    /// Makes a land.
    Run(Wanted),
    /// The values of a map of the land that was made.
    Map { name: String },
    /// The digest of a map's words.
    Digest { name: String },
    /// Runs the fixed cases, and says what each leaves.
    Cases { webgpu: Option<Adapter> },
    /// What the editor asks, as it would ask a service.
    Service(Wish),
}

/// A question, and the names of the files that lie beside it.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    files: Vec<String>,
    #[serde(flatten)]
    question: Question,
}

/// The files that lie beside a question, by their names.
pub struct Files(pub BTreeMap<String, Arc<Vec<u8>>>);

impl Files {
    /// A run of a recipe with the files that it names.
    #[cfg(feature = "files")]
    fn job(&self, recipe: Recipe) -> Result<Job> {
        Job::read_by(recipe, &|path, options| {
            let name = path.to_string_lossy();
            decode_file(path, self.0.get(&*name).ok_or_else(|| missing(path))?, options)
        })
    }

    /// A run of a recipe that names no files, which are read by a module with them.
    #[cfg(not(feature = "files"))]
    fn job(&self, recipe: Recipe) -> Result<Job> {
        let first = recipe.files().next();
        first.map_or_else(|| Job::new(recipe), |path| Err(missing(&path)))
    }
}

/// The error for a file whose bytes were not given.
fn missing(path: &Path) -> Error {
    let name = path.to_string_lossy();
    Error::input(path, format!("files has no {name:?}: give its bytes under this name"))
}

/// A land that is wanted.
#[derive(Deserialize)]
struct Wanted {
    /// The recipe as TOML or JSON.
    recipe: String,
    /// Its name, where the recipe has none.
    #[serde(default)]
    name: String,
    /// As a text, since numbers of a page have 53 bits.
    seed: Option<String>,
    /// Columns and rows.
    size: Option<[u32; 2]>,
    /// The longer side, m.
    extent_m: Option<f64>,
    relief: Option<f64>,
    /// `KEY=VALUE` as for the command.
    #[serde(default)]
    set: Vec<String>,
    /// Column, row, width and height.
    part: Option<[i64; 4]>,
    level: Option<i32>,
    /// Columns, rows and metres a cell of the heights that lie beside the question.
    heights: Option<(u32, u32, f64)>,
    /// Whether levels are told with their heights.
    #[serde(default)]
    levels: bool,
    /// Threads on the CPU; 0: one for each core.
    #[serde(default)]
    threads: usize,
    /// The device of the page; the CPU without one.
    webgpu: Option<Adapter>,
}

/// What the page's WebGPU can do.
#[derive(Deserialize)]
pub struct Adapter {
    name: String,
    largest_bytes: u64,
    workgroup: u32,
}

impl Adapter {
    pub fn executor(&self) -> WebGpu {
        let Self { name, largest_bytes, workgroup } = self;
        WebGpu { name: name.clone(), largest_bytes: *largest_bytes, workgroup: *workgroup }
    }
}

/// The answer to a question, and the values that belong to it.
pub fn answer(question: &[u8], heights: &[f32], files: Vec<Vec<u8>>) -> (Value, Beside) {
    let asked = serde_json::from_slice::<Asked>(question)
        .map_err(|e| Error::param(format!("a question that cannot be read: {e}")));
    let answered = asked.and_then(|Asked { files: names, question }| {
        let files = Files(names.into_iter().zip(files.into_iter().map(Arc::new)).collect());
        asked_for(question, heights, &files)
    });
    match answered {
        Ok((value, beside)) => (json!({ "ok": value }), beside),
        Err(e) => {
            let mut object = e.data().unwrap_or_else(|| json!({}));
            object["code"] = e.code().into();
            object["message"] = e.to_string().into();
            (json!({ "error": object }), Beside::default())
        }
    }
}

fn asked_for(question: Question, heights: &[f32], files: &Files) -> Result<(Value, Beside)> {
    let alone = |value| Ok((value, Beside::default()));
    match question {
        Question::Version => alone(json!({ "version": env!("CARGO_PKG_VERSION") })),
        Question::Catalogue => {
            let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            alone(json!({ "examples": examples(), "presets": presets }))
        }
        Question::Check(wanted) => alone(wanted.recipe()?.describe()),
        Question::Run(wanted) => alone(wanted.run(heights, files)?),
        Question::Map { name } => with_land(|land| {
            let map = land.map(&name)?;
            let about = json!({ "width": map.width, "height": map.height,
                "spacing_m": map.spacing_m, "missing": land.missing(), "count": map.data.len() });
            Ok((about, Beside { values: map.data, ..Beside::default() }))
        }),
        Question::Cases { webgpu } => alone(match webgpu {
            Some(adapter) => cases(&mut adapter.executor())?,
            None => cases(&mut Cpu::new(1, Order::default())?)?,
        }),
        Question::Digest { name } => {
            with_land(|land| Ok((land.digest(&name)?.into(), Beside::default())))
        }
        Question::Service(wish) => Ok(service::answer(wish, files)),
    }
}

/// The fixed cases, each with the digest of what it leaves.
fn cases(executor: &mut dyn Executor) -> Result<Value> {
    let line = |(stage, case): (&Stage, _)| {
        let digest = vectors::digest(stage, &case, executor)?;
        executor.clear();
        Ok(format!("{} {} {digest}", stage.name, case.name))
    };
    vectors::cases().map(line).collect()
}

fn examples() -> Value {
    EXAMPLES.iter().map(|(name, text)| json!({ "name": name, "toml": text })).collect()
}

fn with_land<T>(each: impl FnOnce(&Outcome) -> Result<T>) -> Result<T> {
    LAND.with_borrow(|land| match land {
        Some(land) => each(land),
        None => Err(Error::param("there is no land yet: run a recipe first")),
    })
}

impl Wanted {
    /// The recipe with all that is changed in it, in the order of the command.
    fn recipe(&self) -> Result<Recipe> {
        let mut recipe: Recipe = self.recipe.parse()?;
        if recipe.name.is_empty() {
            recipe.name.clone_from(&self.name);
        }
        if let Some(seed) = &self.seed {
            recipe.set(&format!("seed={seed}"))?;
        }
        for text in &self.set {
            recipe.set(text)?;
        }
        if let Some([width, height]) = self.size {
            recipe.resize(width, height)?;
        }
        recipe.check()?;
        if let Some(extent_m) = self.extent_m {
            recipe.resize_to(extent_m)?;
        }
        if let Some(factor) = self.relief {
            recipe.multiply_relief(factor)?;
        }
        Ok(recipe)
    }

    fn job(&self, heights: &[f32], files: &Files) -> Result<Job> {
        let recipe = self.recipe()?;
        let mut job = match self.heights {
            Some((width, height, spacing_m)) => {
                Job::with_heights(recipe, Heights::metres(width, height, spacing_m, heights))?
            }
            None => files.job(recipe)?,
        };
        if let Some([x, y, width, height]) = self.part {
            let side = |cells: i64| {
                u32::try_from(cells)
                    .map_err(|_| Error::param(format!("part: {cells} cells a side")))
            };
            let part = Window { origin: [x, y], width: side(width)?, height: side(height)? };
            job = job.part(part)?;
        }
        if let Some(level) = self.level {
            job = job.until_level(level)?;
        }
        Ok(job.device(Device::Cpu).threads(self.threads))
    }

    fn run(&self, heights: &[f32], files: &Files) -> Result<Value> {
        // The module's memory never shrinks, so the last land makes room first.
        LAND.set(None);
        let job = self.job(heights, files)?;
        let mut warnings = vec![];
        let mut watch = |event: Event| self.told(event, &mut warnings);
        let land = match &self.webgpu {
            Some(adapter) => job.run_on(&mut adapter.executor(), &mut watch)?,
            None => job.run(&mut watch)?,
        };
        let names: Vec<&str> = land.names().collect();
        let biomes: Vec<&str> = land.biomes.iter().map(|biome| biome.name.as_str()).collect();
        let about = json!({
            "name": land.recipe.name, "seed": land.recipe.seed.to_string(),
            "width": land.window.width, "height": land.window.height,
            "origin": land.window.origin, "spacing_m": land.scale.spacing_m,
            "maps": names, "digest": land.digest("height")?, "device": land.device,
            "biomes": biomes, "warnings": warnings,
        });
        LAND.set(Some(land.into()));
        Ok(about)
    }

    /// Tells the page what has happened.
    fn told(&self, event: Event, warnings: &mut Vec<String>) -> Result<()> {
        let goes_on = match event {
            Event::Progress(at) => {
                let told = json!({ "progress": { "stage": at.stage, "name": at.name,
                    "stages": at.stages, "done": at.done, "passes": at.passes } });
                page::say(&told, &[])
            }
            Event::Warning(text) => {
                warnings.push(text.into());
                true
            }
            Event::Stage(after) if self.levels => match after.level() {
                Some(level) => {
                    let told = json!({ "level": { "level": level.level,
                        "width": level.window.width, "height": level.window.height,
                        "origin": level.window.origin, "spacing_m": level.scale.spacing_m } });
                    page::say(&told, &level.scale.to_metres(&level.words))
                }
                None => true,
            },
            _ => true,
        };
        if goes_on { Ok(()) } else { Err(Error::Cancelled) }
    }
}
