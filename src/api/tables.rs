//! What there is: presets and examples; recipes that are checked.

use super::problem::{Answer, Problem};
use super::text;
use crate::job::Job;
use crate::recipe::{EXAMPLES, PRESETS, Preset, Recipe, title};
use http::StatusCode;
use serde_json::{Value, json};

/// The presets of erosion, each as a stage for a land as it is and for one with levels.
pub fn presets() -> Value {
    let preset = |preset: &Preset| {
        let by_level = preset.has_levels().then(|| preset.written(true));
        json!({ "name": preset.name, "text": preset.about, "stage": preset.written(false),
            "stage_by_level": by_level })
    };
    PRESETS.iter().map(preset).collect()
}

/// Recipes to start from.
///
/// # Errors
/// An example that cannot be read.
pub fn examples() -> crate::Result<Value> {
    let example = |(name, text): &(&str, &str)| {
        Ok(json!({ "name": name, "text": title(text), "recipe": Recipe::value_of_toml(text)?,
                "toml": text }))
    };
    EXAMPLES.iter().map(example).collect()
}

/// What is known of a recipe before its land is made.
pub struct About {
    name: String,
    maps: Vec<&'static str>,
    written: Vec<String>,
    json: Value,
    toml: Option<String>,
}

impl About {
    /// Of a recipe that was read, and of its text as JSON as it came.
    pub fn of(recipe: &Recipe, sent: &Value) -> Self {
        Self {
            name: recipe.name.clone(),
            maps: recipe.fields().iter().map(|field| field.name).collect(),
            written: recipe.output.maps.clone(),
            json: sent.clone(),
            toml: text::toml(sent),
        }
    }

    /// The recipe as TOML.
    ///
    /// # Errors
    /// 406 for a number that TOML does not have.
    pub fn toml(self) -> Answer<String> {
        let what = "this recipe has a number that TOML does not have: ask for JSON";
        self.toml.ok_or_else(|| Problem::new(StatusCode::NOT_ACCEPTABLE, "form", what))
    }

    /// All as JSON, with what `job`, its run, takes. `digest` is that of the job, and `cells_max`
    /// the most that may be made here.
    pub fn told(self, job: &Job, digest: &str, cells_max: u64) -> Value {
        let schedule = job.schedule();
        let levels = schedule.lands().map(|(level, land, scale)| {
            json!({ "level": level, "width": land.width, "height": land.height,
                "spacing_m": scale.spacing_m })
        });
        let levels: Vec<Value> = levels.collect();
        let (land, scale) = schedule.land();
        // What a land costs is found by planning it, which is only done for one that is allowed.
        let fits = schedule.cells() <= cells_max;
        let (bytes, work) = fits.then(|| total(job, &schedule.costs())).unzip();
        json!({
            "digest": digest, "name": self.name, "width": land.width, "height": land.height,
            "spacing_m": scale.spacing_m, "levels": levels, "memory_bytes": bytes, "work": work,
            "maps": self.maps, "written": self.written,
            "warnings": job.warnings().iter().map(|(_, warning)| warning).collect::<Vec<_>>(),
            "toml": self.toml, "json": self.json,
        })
    }
}

/// The memory of a run and its work, from those of its stages and its water.
pub fn total(job: &Job, costs: &[(u64, f64)]) -> (u64, f64) {
    let bytes = costs
        .iter()
        .map(|(bytes, _)| *bytes)
        .chain(job.schedule().water_bytes())
        .max()
        .unwrap_or(0);
    (bytes, costs.iter().map(|(_, work)| work).sum())
}
