//! Recipes: from text, from files and from presets, and what is changed in them for a run.

use crate::error::answer;
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use thalweg::recipe::{EXAMPLES, Levels, title};
use thalweg::{FIELDS, Input, Invalid, Output, PRESETS, Preset, Result};

/// A checked recipe.
#[pyclass(frozen, module = "thalweg._thalweg")]
pub struct Recipe(pub thalweg::Recipe);

/// What a run changes in a recipe.
#[derive(FromPyObject)]
pub struct Changes {
    seed: Option<u64>,
    size: Option<(u32, u32)>,
    spacing_m: Option<f64>,
    maps: Option<Vec<String>>,
    /// Whether rivers and lakes are wanted.
    water: bool,
    /// `STAGE.KEY=VALUE`.
    settings: Vec<String>,
}

/// How a preset erodes.
#[derive(FromPyObject)]
pub struct Erosion {
    preset: String,
    name: String,
    seed: u64,
    margin_cells: u32,
    /// None: as many as suit the land.
    levels: Option<u32>,
    /// `KEY` and `VALUE` as text.
    settings: Vec<(String, String)>,
}

impl Changes {
    fn apply(self, mut recipe: thalweg::Recipe) -> Result<thalweg::Recipe> {
        if let Some((width, height)) = self.size {
            recipe.resize(width, height)?;
        }
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        recipe.spacing_m = self.spacing_m.or(recipe.spacing_m);
        for setting in &self.settings {
            recipe.set(setting)?;
        }
        if let Some(maps) = self.maps {
            recipe.output.maps = maps;
        }
        if self.water && !recipe.water.as_ref().is_some_and(|water| water.has_vectors()) {
            recipe.set("water.vectors=[\"geojson\"]")?;
        }
        recipe.check()?;
        Ok(recipe)
    }
}

impl Erosion {
    /// As the command `erode` has it.
    fn recipe(self) -> Result<thalweg::Recipe> {
        let preset = Preset::find(&self.preset)?;
        let levels = match self.levels {
            None => preset.has_levels().then(Levels::default),
            Some(1) => None,
            Some(count) => {
                let most = thalweg::stage::levels::LEVELS_MAX;
                if !(2..=most).contains(&count) {
                    let allowed = format!("None, or a whole number from 1 to {most}");
                    return Err(Invalid::value("levels", count, allowed).into());
                }
                Some(Levels { count: Some(count), ..Levels::default() })
            }
        };
        let mut step = preset.step(levels.is_some())?;
        for (key, value) in &self.settings {
            step.assign(key, value)?;
        }
        let mut recipe = thalweg::Recipe::on_heights_by_level(vec![step], levels)?;
        recipe.name = self.name;
        (recipe.seed, recipe.margin) = (self.seed, self.margin_cells);
        recipe.output = Output { maps: vec!["height".into(), "flow".into()], ..Output::default() };
        recipe.check()?;
        Ok(recipe)
    }
}

#[pymethods]
impl Recipe {
    /// From TOML, or from JSON if the text begins with a brace.
    #[staticmethod]
    fn of_text(py: Python, text: &str, folder: PathBuf, name: &str) -> PyResult<Self> {
        let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let read = if start.starts_with('{') {
            thalweg::Recipe::from_json(text, folder, name)
        } else {
            thalweg::Recipe::from_toml(text, folder, name)
        };
        answer(py, read).map(Self)
    }

    #[staticmethod]
    fn of_file(py: Python, path: PathBuf) -> PyResult<Self> {
        answer(py, py.detach(|| thalweg::Recipe::read(path))).map(Self)
    }

    #[staticmethod]
    fn of_erosion(py: Python, erosion: Erosion) -> PyResult<Self> {
        answer(py, erosion.recipe()).map(Self)
    }

    fn changed(&self, py: Python, changes: Changes) -> PyResult<Self> {
        answer(py, changes.apply(self.0.clone())).map(Self)
    }

    /// As JSON, with every setting.
    fn describe(&self) -> String {
        let mut described = self.0.describe();
        if let Some(object) = described.as_object_mut() {
            // What a recipe does not say is left out.
            object.retain(|_, value| !value.is_null());
            if let Some(Input::File { path, .. }) = &self.0.input {
                object.insert("input".into(), json!(path));
            }
        }
        described.to_string()
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.folder.clone()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    #[getter]
    fn name(&self) -> String {
        self.0.name.clone()
    }

    /// Width and height in cells, of a recipe that makes its own land.
    #[getter]
    fn size(&self) -> Option<(u32, u32)> {
        let window = self.0.window;
        self.0.input.is_none().then_some((window.width, window.height))
    }

    #[getter]
    fn spacing_m(&self) -> Option<f64> {
        self.0.spacing_m
    }

    #[getter]
    fn endless(&self) -> bool {
        self.0.endless
    }

    #[getter]
    fn stages(&self) -> Vec<&'static str> {
        self.0.stages.iter().map(|step| step.stage.name).collect()
    }

    /// The maps that a run can leave.
    #[getter]
    fn possible_maps(&self) -> Vec<&'static str> {
        self.0.fields().into_iter().map(|field| field.name).collect()
    }
}

/// The recipes of the examples: names, first sentences and TOML.
#[pyfunction]
pub fn examples() -> Vec<(&'static str, String, &'static str)> {
    EXAMPLES.iter().map(|(name, text)| (*name, title(text), *text)).collect()
}

/// The presets: names and what they make.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str)> {
    PRESETS.iter().map(|preset| (preset.name, preset.about)).collect()
}

/// The maps that a run can leave: names, units, and what their values mean.
#[pyfunction]
pub fn maps() -> Vec<(&'static str, &'static str, &'static str)> {
    FIELDS.iter().map(|field| (field.name, field.unit, field.about)).collect()
}
