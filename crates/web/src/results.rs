//! What the editor asks about files: results, pictures, and files that come with recipes.

use crate::page;
use crate::service::{CELLS_MAX, Found, On, admit, goes_on, read, submitted};
use crate::task::Files;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use thalweg::api::files::{self, Find, Upload};
use thalweg::api::pace::Pace;
use thalweg::api::problem::{Answer, Problem};
use thalweg::api::request::Request;
use thalweg::api::sheet::Variants;
use thalweg::api::{dungeon, hash, media_type, query, recipes, result, uploads};
use thalweg::bundle::{Memory, Sink, TimelapseOptions, Zip};
use thalweg::io::FilmFormat;
use thalweg::{Device, Event, Outcome};

thread_local! {
    /// The last result.
    static RESULT: RefCell<Option<Made>> = RefCell::default();
}

/// A result.
struct Made {
    outcome: Arc<Outcome>,
    files: Memory,
}

/// What the editor asks about files, as [`crate::service::Wish`] has the rest.
#[derive(Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Wish {
    /// Pictures of variants.
    Sheet { recipe: String, query: String, on: On },
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

/// Finds the answer.
pub fn answered(wish: Wish, files: &Files) -> Answer<Found> {
    Ok(match wish {
        Wish::Sheet { recipe, query, on } => {
            let variants = Variants::of(&query::read(&query)?)?;
            let request = Request::of(read(&recipe)?, vec![], None)?;
            let find = |digest: &str| Ok(files.stored(digest));
            let job_of = |recipe| request.job(recipe, &find);
            let picture = variants.draw(request.recipe()?, job_of, |job| {
                admit(&job)?;
                Ok(on.run(&job, &mut |_| Ok(()))?)
            })?;
            Found::File("image/png", picture)
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
            let mut about = uploads::about(&digest, &reading);
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
            let (media_type, bytes) = dungeon::written(settings.as_bytes(), format)?;
            Found::File(media_type, bytes)
        }
    })
}

/// A recipe and its files as an archive.
pub fn archive(request: &Request, find: &Find) -> Answer<Found> {
    Ok(Found::File(media_type("recipe.zip"), request.archive(find)?))
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
