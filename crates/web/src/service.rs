//! What the editor asks, as it would ask `thalweg serve`: the same answers, for one person, whose
//! files stay in memory.

#[cfg(feature = "files")]
use crate::results;
use crate::task::{Adapter, Files};
use crate::{Beside, page};
use serde::Deserialize;
use serde_json::{Value, json};
use thalweg::api::files::Upload;
use thalweg::api::preview::Wanted;
use thalweg::api::problem::{Answer, Problem};
use thalweg::api::query;
use thalweg::api::recipes::{self, Form};
use thalweg::api::request::Request;
use thalweg::api::{RECIPE_BYTES_MAX, tables};
use thalweg::{Device, Error, Event, Job, Outcome, Recipe};

/// Most cells of a land with its margin: what 4 GiB of memory hold.
pub const CELLS_MAX: u64 = 128 << 20;

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
    /// The name and the digest of a job, if it is one that may run.
    Submit { recipe: String, query: String },
    /// What only a module with files answers.
    #[cfg(feature = "files")]
    #[serde(untagged)]
    OfFiles(results::Wish),
    /// The same, in a module without.
    #[cfg(not(feature = "files"))]
    #[serde(other)]
    Lacking,
}

/// Where a run is done.
#[derive(Deserialize)]
pub struct On {
    /// Threads on the CPU; 0: one for each core.
    pub threads: usize,
    /// The device of the page; the CPU without one.
    pub webgpu: Option<Adapter>,
}

impl On {
    pub fn run(
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
        #[cfg(feature = "files")]
        Ok(Found::Map(mut about, values)) => {
            about["count"] = values.len().into();
            (about, Beside { values, ..Beside::default() })
        }
        Err(problem) => (json!({ "problem": problem }), Beside::default()),
    }
}

/// What is found.
pub enum Found {
    Json(Value),
    File(&'static str, Vec<u8>),
    #[cfg(feature = "files")]
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
                #[cfg(feature = "files")]
                return results::archive(&request, &find);
                #[cfg(not(feature = "files"))]
                return Err(Problem::lacking());
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
        Wish::Submit { recipe, query } => {
            let request = submitted(&recipe, &query)?;
            let recipe = request.recipe()?;
            let name = recipe.name.clone();
            let job = request.job(recipe, &find)?;
            admit(&job)?;
            Found::Json(json!({ "name": name, "digest": request.digest(&job) }))
        }
        #[cfg(feature = "files")]
        Wish::OfFiles(wish) => results::answered(wish, files)?,
        #[cfg(not(feature = "files"))]
        Wish::Lacking => return Err(Problem::lacking()),
    })
}

impl Files {
    /// A file under its digest and its extension.
    pub fn stored(&self, digest: &str) -> Option<Upload> {
        let is_it = |(name, _): &(&String, _)| name.split('.').next() == Some(digest);
        let (name, bytes) = self.0.iter().find(is_it)?;
        Some(Upload::of(name, bytes.clone()))
    }
}

/// The tables and values of a recipe.
pub fn read(text: &str) -> Answer<Value> {
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
pub fn submitted(recipe: &str, query: &str) -> Answer<Request> {
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
pub fn admit(job: &Job) -> Answer<Vec<f64>> {
    let cells = job.schedule().cells();
    if cells > CELLS_MAX {
        return Err(Problem::large(format!(
            "the land has {cells} cells with its margin, and a page has room for {CELLS_MAX}: make \
             it smaller, or use the program"
        )));
    }
    recipes::admit(job, &job.schedule().costs())
}

pub fn goes_on(does: bool) -> thalweg::Result<()> {
    if does { Ok(()) } else { Err(Error::Cancelled) }
}
