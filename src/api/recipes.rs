//! Recipes that come from elsewhere, and what they may take.

use super::problem::{Answer, Problem};
use super::tables::total;
use crate::job::Job;
#[cfg(feature = "io")]
use crate::job::Outcome;
use crate::recipe::Recipe;
use serde_json::Value;
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
#[cfg(feature = "io")]
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
