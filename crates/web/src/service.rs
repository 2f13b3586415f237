//! What the editor asks, as it would ask `thalweg serve`: the same answers, for one person, whose
//! files stay in memory.

use crate::task::{Adapter, Files};
use crate::{Beside, page};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use thalweg::api::files::{self, Upload};
use thalweg::api::pace::Pace;
use thalweg::api::preview::Wanted;
use thalweg::api::problem::{Answer, Problem};
use thalweg::api::query;
use thalweg::api::recipes::{self, Form};
use thalweg::api::request::Request;
use thalweg::api::sheet::Variants;
use thalweg::api::{RECIPE_BYTES_MAX, hash, media_type, result, tables};
use thalweg::bundle::{Memory, Sink, TimelapseOptions, Zip};
use thalweg::io::FilmFormat;
use thalweg::{Device, Error, Event, Job, Outcome, Recipe};

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

/// What the editor asks. Recipes are texts, of JSON or TOML, and a query is what stands behind the
/// question mark of an address. Files lie beside, under the digests by which recipes name them.
#[derive(Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Wish {
    /// The stages and maps, the presets, or the examples.
    Tables { name: String },
    /// What is known of a recipe, its text as TOML, or an archive of it and its files, by the media
    /// type that is accepted.
    Recipe { recipe: String, accept: String },
    /// The coarse levels of a recipe's land: headers and maps are told.
    Preview { recipe: String, query: String, on: On },
    /// Pictures of variants.
    Sheet { recipe: String, query: String, on: On },
    /// The name and the digest of a job, if it is one that may run.
    Submit { recipe: String, query: String },
    /// Makes a land and keeps it: progress and levels are told.
    Job { recipe: String, query: String, on: On },
    /// What a file is that lies beside, under its own name.
    Input { query: String },
    /// The heights of a file that lies beside.
    Heights { digest: String },
    /// A file of the last result, or `bundle.zip`.
    File { name: String },
    /// A map of the last result in a format, such as `height.r32`.
    Field { name: String },
    /// A dungeon.
    Dungeon { settings: String, query: String },
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
pub fn answer(wish: Wish, files: &Files) -> (Value, Beside) {
    match answered(wish, files) {
        Ok(Found::Json(value)) => (json!({ "json": value }), Beside::default()),
        Ok(Found::File(media_type, bytes)) => {
            let about = json!({ "media_type": media_type, "bytes": bytes.len() });
            (about, Beside { bytes, ..Beside::default() })
        }
        Ok(Found::Map(mut about, values)) => {
            about["count"] = values.len().into();
            (about, Beside { values, ..Beside::default() })
        }
        Err(problem) => (json!({ "problem": problem }), Beside::default()),
    }
}

/// What is found.
enum Found {
    Json(Value),
    File(&'static str, Vec<u8>),
    Map(Value, Vec<f32>),
}

fn answered(wish: Wish, files: &Files) -> Answer<Found> {
    let find = |digest: &str| Ok(files.stored(digest));
    Ok(match wish {
        Wish::Tables { name } => Found::Json(match name.as_str() {
            "presets" => tables::presets(),
            "examples" => without_packages(tables::examples()?),
            _ => Recipe::tables(),
        }),
        Wish::Recipe { recipe, accept } => {
            let sent = read(&recipe)?;
            let request = Request::of(sent.clone(), vec![], None)?;
            let recipe = request.recipe()?;
            let about = tables::About::of(&recipe, &sent);
            let job = request.job(recipe, &find)?;
            if accept.contains("zip") {
                return Ok(Found::File(media_type("recipe.zip"), request.archive(&find)?));
            }
            if accept.contains("toml") {
                return Ok(Found::File("application/toml", about.toml()?.into_bytes()));
            }
            // As bytes, since seeds have more digits than numbers of a page.
            let told = about.told(&job, &request.digest(&job), CELLS_MAX).to_string();
            Found::File("application/json", told.into_bytes())
        }
        Wish::Preview { recipe, query, on } => {
            let wanted = Wanted::of(&query::read(&query)?)?;
            let request = Request::of(read(&recipe)?, vec![], None)?;
            let job = wanted.job(request.recipe()?, |recipe| request.job(recipe, &find))?;
            admit(&job)?;
            let mut tell = |head: &Value, maps: &[&thalweg::Map]| {
                let values: Vec<f32> =
                    maps.iter().flat_map(|map| map.data.iter().copied()).collect();
                goes_on(page::say(&json!({ "record": head }), &values))
            };
            wanted.stream(&job, &mut tell, |watch| on.run(&job, watch))?;
            Found::Json(Value::Null)
        }
        Wish::Sheet { recipe, query, on } => {
            let variants = Variants::of(&query::read(&query)?)?;
            let request = Request::of(read(&recipe)?, vec![], None)?;
            let job_of = |recipe| request.job(recipe, &find);
            let picture = variants.draw(request.recipe()?, job_of, |job| {
                admit(&job)?;
                Ok(on.run(&job, &mut |_| Ok(()))?)
            })?;
            Found::File("image/png", picture)
        }
        Wish::Submit { recipe, query } => {
            let request = submitted(&recipe, &query)?;
            let recipe = request.recipe()?;
            let name = recipe.name.clone();
            let job = request.job(recipe, &find)?;
            admit(&job)?;
            Found::Json(json!({ "name": name, "digest": request.digest(&job) }))
        }
        Wish::Job { recipe, query, on } => {
            Found::Json(job(&submitted(&recipe, &query)?, files, &on)?)
        }
        Wish::Input { query } => {
            let query::Input { name } = query::read(&query)?;
            let extension = files::extension(&name)?;
            let bytes = files.0.get(&name).ok_or_else(|| Problem::missing("no file came"))?;
            let digest = files::hasher(&extension).update(bytes).finalize().to_hex().to_string();
            let reading = Upload::of(&name, bytes.clone()).map(&name, CELLS_MAX)?;
            let mut about = files::about(&digest, &reading);
            about["extension"] = extension.into();
            Found::Json(about)
        }
        Wish::Heights { digest } => {
            let gone = "there is no such file, or not any more: send it again";
            let stored = files.stored(&digest).ok_or_else(|| Problem::missing(gone))?;
            let map = stored.map(&digest, CELLS_MAX)?.map;
            let about = json!({ "width": map.width, "height": map.height,
                "spacing_m": map.spacing_m });
            Found::Map(about, map.data)
        }
        Wish::File { name } => with_result(|made| file(made, &name))?,
        Wish::Field { name } => with_result(|made| map(made, &name))?,
        Wish::Dungeon { settings, query } => {
            let query::Dungeon { format } = query::read(&query)?;
            let format = format.as_deref().unwrap_or("json");
            let (media_type, bytes) = tables::dungeon(settings.as_bytes(), format)?;
            Found::File(media_type, bytes)
        }
    })
}

impl Files {
    /// A file under its digest and its extension.
    fn stored(&self, digest: &str) -> Option<Upload> {
        let is_it = |(name, _): &(&String, _)| name.split('.').next() == Some(digest);
        let (name, bytes) = self.0.iter().find(is_it)?;
        Some(Upload::of(name, bytes.clone()))
    }
}

/// The tables and values of a recipe.
fn read(text: &str) -> Answer<Value> {
    if text.len() > RECIPE_BYTES_MAX {
        return Err(Problem::large(format!("a recipe has at most {RECIPE_BYTES_MAX} bytes")));
    }
    let value = recipes::value(text.as_bytes(), Form::guess(text.as_bytes()))?;
    if value
        .pointer(VECTORS)
        .and_then(Value::as_array)
        .is_some_and(|all| all.contains(&json!(PACKAGE)))
    {
        let what = "a page writes no GeoPackages: take \"geojson\" alone";
        return Err(Problem::from(Error::param(what)).at(VECTORS));
    }
    Ok(value)
}

/// What a job asks for.
fn submitted(recipe: &str, query: &str) -> Answer<Request> {
    let asked: query::Job = query::read(query)?;
    let frames = asked.frames()?;
    let request = Request::of(read(recipe)?, vec![], asked.name.as_deref())?;
    Ok(Request { frames, level: asked.level, ..request })
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

fn goes_on(does: bool) -> thalweg::Result<()> {
    if does { Ok(()) } else { Err(Error::Cancelled) }
}

/// Makes a land, with pictures on the way where they are wanted, and keeps it.
fn job(request: &Request, files: &Files, on: &On) -> Answer<Value> {
    // The module's memory never shrinks, so the last result makes room first.
    RESULT.set(None);
    let job = request.job(request.recipe()?, &|digest| Ok(files.stored(digest)))?;
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
    let bundle = match (&on.webgpu, request.frames) {
        (Some(_), None) => {
            let outcome = on.run(&job, &mut watch)?;
            job.store(outcome, &mut files, &mut watch)?
        }
        _ => {
            let lapse = request
                .frames
                .map(|(count, side)| TimelapseOptions::of(count, side, FilmFormat::Apng));
            job.run_into(&mut files, lapse.as_ref(), &mut watch)?
        }
    };
    let maps: Vec<&str> = bundle.outcome.names().collect();
    let mut about = result::about(&job, &bundle, Path::new(""), &maps)?;
    about["frames"] = json!(request.frames.map(|(frames, _)| frames));
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
