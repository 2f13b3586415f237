//! Recipes that come from elsewhere, and what they may take.

use super::files;
use super::problem::{Answer, Problem};
use super::tables::total;
use crate::identity;
use crate::job::{Job, Outcome};
use crate::recipe::Recipe;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// How a recipe is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    Json,
    /// TOML.
    Toml,
}

impl Form {
    /// The form of a text that does not say it.
    pub fn guess(bytes: &[u8]) -> Self {
        if bytes.trim_ascii_start().starts_with(b"{") { Self::Json } else { Self::Toml }
    }
}

/// The tables and values of a recipe, which are not checked yet.
///
/// # Errors
/// 400 for what is not UTF-8, TOML or JSON.
pub fn value(bytes: &[u8], form: Form) -> Answer<Value> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Problem::bad("not UTF-8 text: a recipe is TOML or JSON"))?;
    let value = match form {
        Form::Json => Recipe::value_of_json(text),
        Form::Toml => Recipe::value_of_toml(text),
    };
    value.map_err(|e| Problem { status: 400, title: "Bad Request".into(), ..Problem::from(e) })
}

/// The recipe of these tables and values. `name` is its name if it has none.
///
/// # Errors
/// What is wrong with it.
pub fn recipe(value: &Value, name: &str) -> Answer<Recipe> {
    Ok(Recipe::from_value(value, Path::new(""), name)?)
}

/// The keys of a recipe that name files, as JSON pointers with their values.
pub fn file_places(recipe: &Value) -> Vec<(String, Value)> {
    let mut places: Vec<(String, Value)> =
        recipe.get("input").map(|v| ("/input".into(), v.clone())).into_iter().collect();
    for (i, stage) in
        recipe.get("stage").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        for place in crate::recipe::file_places(stage) {
            places.extend(stage.pointer(&place).map(|v| (format!("/stage/{i}{place}"), v.clone())));
        }
    }
    places
}

/// What a client asks for: enough to make its land again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The recipe as it came.
    pub recipe: Value,
    /// Its name, where it has none of its own.
    pub name: String,
    /// The files that it names, by the names that it has for them: their digests.
    #[serde(default)]
    pub files: Vec<(String, String)>,
    /// The pictures of its time-lapse and their longest side.
    #[serde(default)]
    pub frames: Option<(usize, u32)>,
    /// The level that it ends with.
    #[serde(default)]
    pub level: Option<i32>,
}

impl Request {
    /// Of a recipe and the files that came with it, by their names. `name` is for a recipe that has
    /// none.
    ///
    /// # Errors
    /// A file that the client has not sent.
    pub fn of(
        mut recipe: Value,
        mut files: Vec<(String, String)>,
        name: Option<&str>,
    ) -> Answer<Self> {
        files::name_files(&mut recipe, &mut files)?;
        // A recipe of standard input has this name, too.
        let name = name.unwrap_or("recipe").into();
        Ok(Self { recipe, name, files, frames: None, level: None })
    }

    /// The recipe.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn recipe(&self) -> Answer<Recipe> {
        recipe(&self.recipe, &self.name)
    }

    /// The run of a recipe, which is this one or one that follows from it.
    ///
    /// # Errors
    /// What is wrong with the recipe and its files.
    pub fn job(&self, recipe: Recipe, find: &files::Find) -> Answer<Job> {
        let job = files::job(recipe, &self.files, find)?;
        let job = match self.level {
            Some(level) => job.until_level(level)?,
            None => job,
        };
        if let Some((frames, _)) = self.frames {
            job.clone().frames(frames)?;
        }
        Ok(job)
    }

    /// The recipe and its files as an archive: see [`files::archive`].
    ///
    /// # Errors
    /// As there.
    pub fn archive(&self, find: &files::Find) -> Answer<Vec<u8>> {
        files::archive(&self.recipe, &self.files, find)
    }

    /// The digest of all that decides the bytes of the run: the recipe with every setting, its
    /// files, and the edition of the program.
    pub fn digest(&self, job: &Job) -> String {
        let all = json!({
            "thalweg": identity::engine(), "recipe": job.recipe().describe(), "files": self.files,
            "frames": self.frames,
            "level": self.level,
        });
        super::hash(all.to_string().as_bytes())
    }
}

/// Refuses a run that takes too much memory, before it is taken. `costs` are those of its schedule.
/// Returns the work of each of its parts.
///
/// # Errors
/// 413 with what is too large.
pub fn admit(job: &Job, costs: &[(u64, f64)]) -> Answer<Vec<f64>> {
    let (bytes, _) = total(job, costs);
    job.admit_things()?;
    let plan_bytes = job.admit_plans()?;
    // A quarter more, for what a run takes beside its buffers and plans.
    crate::memory::admit("the run", bytes + bytes / 4 + plan_bytes)?;
    Ok(costs.iter().map(|(_, work)| *work).collect())
}

/// A map of a run as a file in the format of its extension, such as `height.tif`: the bytes that a
/// run with that output has.
///
/// # Errors
/// 404 without an extension; a map or a format that there is not.
pub fn encoded(outcome: &Outcome, name: &str) -> Answer<Vec<u8>> {
    let (map, _) = name
        .rsplit_once('.')
        .ok_or_else(|| Problem::missing("a map has an extension, such as height.r32"))?;
    let format = crate::io::MapFormat::from_path(Path::new(name))?;
    let values = outcome.map(map)?;
    let field = crate::field::find(map)
        .ok_or_else(|| Problem::missing(format!("{map}: there is no such map")))?;
    let (palette, missing) = (outcome.palette()?, outcome.missing());
    let range_m = outcome.recipe.output.range_m;
    let file = crate::bundle::encode_field(field, &values, format, &palette, range_m, missing)?;
    Ok(file.bytes)
}
