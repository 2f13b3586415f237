//! What the editor asks, as it would ask `thalweg serve`: the same answers, for one person, whose
//! files stay in memory.

use crate::task::Adapter;
use crate::{Beside, page};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use thalweg::api::pace::Pace;
use thalweg::api::preview::Wanted;
use thalweg::api::problem::{Answer, Problem};
use thalweg::api::recipes::{self, Form};
use thalweg::api::sheet::Variants;
use thalweg::api::{hash, media_type, result, tables};
use thalweg::bundle::{Memory, Sink, TimelapseOptions, Zip};
use thalweg::io::FilmFormat;
use thalweg::{Device, Error, Event, Job, Outcome, Recipe, identity};

/// Most cells of a land with its margin: what 4 GiB of memory hold.
const CELLS_MAX: u64 = 128 << 20;

thread_local! {
    /// The last result.
    static RESULT: RefCell<Option<Made>> = RefCell::default();
}

/// A result.
struct Made {
    outcome: Arc<Outcome>,
    files: Memory,
}

/// What the editor asks. Recipes are texts, of JSON or TOML.
#[derive(Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Request {
    /// The stages and maps, the presets, or the examples.
    Tables { name: String },
    /// What is known of a recipe, or its text as TOML.
    Recipe { recipe: String, toml: bool },
    /// The coarse levels of a recipe's land: headers and maps are told.
    Preview { recipe: String, cells: Option<u32>, fields: Option<String>, draft: bool, on: On },
    /// Pictures of variants.
    Sheet {
        recipe: String,
        cells: Option<u32>,
        count: Option<u32>,
        /// As a text, since numbers of a page have 53 bits.
        seed: Option<String>,
        colour: Option<String>,
        on: On,
    },
    /// Makes a land and keeps it: progress and levels are told.
    Job { recipe: String, frames: Option<usize>, side: u32, on: On },
    /// A file of the last result, or `bundle.zip`.
    File { name: String },
    /// A map of the last result in a format, such as `height.r32`.
    Field { name: String },
    /// A dungeon.
    Dungeon { settings: String, format: String },
}

/// Where a run is done.
#[derive(Deserialize)]
pub struct On {
    /// Threads on the CPU; 0: one for each core.
    threads: usize,
    /// The device of the page; the CPU without one.
    webgpu: Option<Adapter>,
}

impl On {
    fn run(
        &self,
        job: &Job,
        watch: &mut dyn FnMut(Event) -> thalweg::Result<()>,
    ) -> thalweg::Result<Outcome> {
        match &self.webgpu {
            Some(adapter) => job.run_on(&mut adapter.executor(), watch),
            None => job.clone().device(Device::Cpu).threads(self.threads).run(watch),
        }
    }
}

/// The answer: JSON or a file with its media type, or a problem as RFC 9457 has it.
pub fn answer(request: Request) -> (Value, Beside) {
    match answered(request) {
        Ok(Found::Json(value)) => (json!({ "json": value }), Beside::default()),
        Ok(Found::File(media_type, bytes)) => {
            let about = json!({ "media_type": media_type, "bytes": bytes.len() });
            (about, Beside { bytes, ..Beside::default() })
        }
        Err(problem) => (json!({ "problem": problem }), Beside::default()),
    }
}

/// What is found.
enum Found {
    Json(Value),
    File(&'static str, Vec<u8>),
}

fn answered(request: Request) -> Answer<Found> {
    Ok(match request {
        Request::Tables { name } => Found::Json(match name.as_str() {
            "presets" => tables::presets(),
            "examples" => without_packages(tables::examples()?),
            _ => Recipe::tables(),
        }),
        Request::Recipe { recipe, toml } => {
            let (sent, recipe) = read(&recipe)?;
            let about = tables::About::of(&recipe, &sent);
            let job = job_of(recipe)?;
            match toml {
                true => Found::File("application/toml", about.toml()?.into_bytes()),
                // As bytes, since seeds have more digits than numbers of a page.
                false => {
                    let told = about.told(&job, &digest(&job), CELLS_MAX).to_string();
                    Found::File("application/json", told.into_bytes())
                }
            }
        }
        Request::Preview { recipe, cells, fields, draft, on } => {
            let wanted = Wanted::of(cells, fields.as_deref(), draft)?;
            let job = wanted.job(read(&recipe)?.1, job_of)?;
            admit(&job)?;
            let mut tell = |head: &Value, maps: &[&thalweg::Map]| {
                let values: Vec<f32> =
                    maps.iter().flat_map(|map| map.data.iter().copied()).collect();
                goes_on(page::say(&json!({ "record": head }), &values))
            };
            wanted.stream(&job, &mut tell, |watch| on.run(&job, watch))?;
            Found::Json(Value::Null)
        }
        Request::Sheet { recipe, cells, count, seed, colour, on } => {
            let wrong =
                |text: &String| Problem::bad(format!("seed = {text}: allowed 0 to 2^64 - 1"));
            let seed = seed.map(|text| text.parse().map_err(|_| wrong(&text))).transpose()?;
            let variants = Variants::of(cells, count, seed, colour.as_deref())?;
            let picture = variants.draw(read(&recipe)?.1, job_of, |job| {
                admit(&job)?;
                Ok(on.run(&job, &mut |_| Ok(()))?)
            })?;
            Found::File("image/png", picture)
        }
        Request::Job { recipe, frames, side, on } => Found::Json(job(&recipe, frames, side, &on)?),
        Request::File { name } => with_result(|made| file(made, &name))?,
        Request::Field { name } => with_result(|made| map(made, &name))?,
        Request::Dungeon { settings, format } => {
            let (media_type, bytes) = tables::dungeon(settings.as_bytes(), &format)?;
            Found::File(media_type, bytes)
        }
    })
}

/// A recipe as its tables and values, and as it is read.
fn read(text: &str) -> Answer<(Value, Recipe)> {
    let value = recipes::value(text.as_bytes(), Form::guess(text.as_bytes()))?;
    if let Some((pointer, _)) =
        recipes::file_places(&value).into_iter().find(|(_, v)| *v != json!(""))
    {
        let what = "a page reads no files yet: open this recipe with thalweg serve";
        return Err(Problem::from(Error::param(what)).at(pointer));
    }
    if value
        .pointer(VECTORS)
        .and_then(Value::as_array)
        .is_some_and(|all| all.contains(&json!(PACKAGE)))
    {
        let what = "a page writes no GeoPackages: take \"geojson\" alone";
        return Err(Problem::from(Error::param(what)).at(VECTORS));
    }
    let recipe = recipes::recipe(&value, "recipe")?;
    Ok((value, recipe))
}

/// Where a recipe asks for files of rivers, and what a page cannot write.
const VECTORS: &str = "/water/vectors";
const PACKAGE: &str = "gpkg";

/// The examples without files that a page cannot write.
fn without_packages(mut examples: Value) -> Value {
    for example in examples.as_array_mut().into_iter().flatten() {
        if let Some(all) = example["recipe"].pointer_mut(VECTORS).and_then(Value::as_array_mut) {
            all.retain(|format| format != PACKAGE);
        }
        let text = example["toml"].as_str().unwrap_or_default().replace(", \"gpkg\"", "");
        example["toml"] = text.into();
    }
    examples
}

fn job_of(recipe: Recipe) -> Answer<Job> {
    Ok(Job::new(recipe)?)
}

/// Refuses a land that memory cannot hold. Returns the work of each of its parts.
fn admit(job: &Job) -> Answer<Vec<f64>> {
    let cells = job.schedule().cells();
    if cells > CELLS_MAX {
        return Err(Problem::large(format!(
            "the land has {cells} cells with its margin, and a page has room for {CELLS_MAX}: make \
             it smaller, or use the program"
        )));
    }
    recipes::admit(job, &job.schedule().costs())
}

/// The digest of all that decides the bytes of a run.
fn digest(job: &Job) -> String {
    let all = json!({ "thalweg": identity::engine(), "recipe": job.recipe().describe() });
    hash(all.to_string().as_bytes())
}

fn goes_on(does: bool) -> thalweg::Result<()> {
    if does { Ok(()) } else { Err(Error::Cancelled) }
}

/// Makes a land, with `frames` pictures on the way where they are wanted, and keeps it.
fn job(recipe: &str, frames: Option<usize>, side: u32, on: &On) -> Answer<Value> {
    // The module's memory never shrinks, so the last result makes room first.
    RESULT.set(None);
    let job = job_of(read(recipe)?.1)?;
    let pace = Pace::begin(admit(&job)?, 0);
    let job = job.device(Device::Cpu).threads(on.threads);
    let mut watch = |event: Event| match event {
        Event::Progress(at) => {
            let level = job.schedule().level_of(at.stage);
            let told = pace.told(at.stage, at.name, level, at.done, at.passes);
            goes_on(page::say(&json!({ "progress": told }), &[]))
        }
        Event::Stage(after) => match after.level() {
            Some(level) => {
                let metres = level.scale.to_metres(&level.words);
                let bytes: Vec<u8> = metres.iter().flat_map(|v| v.to_le_bytes()).collect();
                let told = json!({ "level": level.level, "width": level.window.width,
                    "height": level.window.height, "spacing_m": level.scale.spacing_m,
                    "origin": level.window.origin,
                    "blake3": hash(&bytes) });
                goes_on(page::say(&json!({ "level": told }), &metres))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    };
    let mut files = Memory::default();
    let bundle = match (&on.webgpu, frames) {
        (Some(_), None) => {
            let outcome = on.run(&job, &mut watch)?;
            job.store(outcome, &mut files, &mut watch)?
        }
        _ => {
            let lapse = frames.map(|count| TimelapseOptions::of(count, side, FilmFormat::Apng));
            job.run_into(&mut files, lapse.as_ref(), &mut watch)?
        }
    };
    let maps: Vec<&str> = bundle.outcome.names().collect();
    let mut about = result::about(&job, &bundle, Path::new(""), &maps)?;
    about["frames"] = json!(frames);
    about["device"] = bundle.outcome.device.clone().into();
    RESULT.set(Some(Made { outcome: bundle.outcome, files }));
    Ok(about)
}

fn with_result(each: impl FnOnce(&Made) -> Answer<Found>) -> Answer<Found> {
    let gone = "there is no such result, or not any more: run its recipe again";
    RESULT.with_borrow(|made| each(made.as_ref().ok_or_else(|| Problem::missing(gone))?))
}

fn file(made: &Made, name: &str) -> Answer<Found> {
    let bytes = if name == "bundle.zip" {
        let mut archive = Cursor::new(vec![]);
        let mut zip = Zip::new(&mut archive);
        for (name, bytes) in &made.files.files {
            zip.put(name, bytes)?;
        }
        zip.keep()?;
        archive.into_inner()
    } else {
        let what = || Problem::missing(format!("the result has no file {name:?}"));
        made.files.files.get(name).ok_or_else(what)?.clone()
    };
    Ok(Found::File(media_type(name), bytes))
}

fn map(made: &Made, name: &str) -> Answer<Found> {
    Ok(Found::File(media_type(name), recipes::encoded(&made.outcome, name)?))
}
