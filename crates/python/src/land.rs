//! What a run leaves, for NumPy.

use crate::error::answer;
use crate::go::go;
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use thalweg::io::vector;
use thalweg::water::VectorFormat;
use thalweg::{Cancel, FIELDS, Folder, Georef, Job, Map, Outcome, Result};

/// The names and the bytes of files.
type Files = Vec<(String, Vec<u8>)>;

/// Where a land lies: its coordinate system as a code or as well-known text, west, north, width and
/// height of a cell.
type Place = (Option<String>, f64, f64, (f64, f64));

/// A land: maps in exact words.
#[pyclass(frozen, module = "thalweg._thalweg")]
pub struct Land {
    pub outcome: Arc<Outcome>,
    pub job: Job,
    pub threads: usize,
    pub warnings: Vec<String>,
}

impl Land {
    fn shape(&self) -> [usize; 2] {
        [self.outcome.window.height as usize, self.outcome.window.width as usize]
    }

    /// Rivers, lakes, basins and points as GeoJSON; none if they were not asked for.
    fn layers(&self) -> Result<Option<Files>> {
        let Some(vectors) = &self.outcome.vectors else { return Ok(None) };
        // Only the place and the cells of a map are looked at.
        let map = Map {
            width: 1,
            height: 1,
            spacing_m: self.outcome.scale.spacing_m,
            data: vec![0.0],
            range_m: None,
            georef: self.outcome.georef().cloned(),
        };
        vector::encode(vectors, &map, VectorFormat::GeoJson).map(Some)
    }
}

#[pymethods]
impl Land {
    #[getter(shape)]
    fn shape_of(&self) -> (usize, usize) {
        let [rows, columns] = self.shape();
        (rows, columns)
    }

    #[getter]
    fn origin(&self) -> (i64, i64) {
        self.outcome.window.origin.into()
    }

    #[getter]
    fn spacing_m(&self) -> f64 {
        self.outcome.scale.spacing_m
    }

    #[getter]
    fn datum_m(&self) -> f64 {
        self.outcome.scale.datum_m
    }

    #[getter]
    fn device(&self) -> &str {
        &self.outcome.device
    }

    #[getter]
    fn recipe(&self) -> crate::recipe::Recipe {
        crate::recipe::Recipe(self.outcome.recipe.clone())
    }

    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.outcome.names().collect()
    }

    /// The unit of each map.
    #[getter]
    fn units(&self) -> Vec<(&'static str, &'static str)> {
        let unit = |name| FIELDS.iter().find(|field| field.name == name).map_or("", |f| f.unit);
        self.outcome.names().map(|name| (name, unit(name))).collect()
    }

    /// Where on Earth it lies, where its input said so.
    #[getter]
    fn georef(&self) -> Option<Place> {
        let system = |georef: &Georef| match georef.epsg {
            Some(code) => Some(format!("EPSG:{code}")),
            None => thalweg::io::crs::system(georef).map(|system| system.text),
        };
        self.outcome.georef().map(|g| (system(g), g.west, g.north, g.cell))
    }

    fn digest(&self, py: Python, name: &str) -> PyResult<String> {
        answer(py, py.detach(|| self.outcome.digest(name).map(String::from)))
    }

    /// A map in its unit, NaN where the land has no cell.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let [rows, columns] = self.shape();
        let values = answer(
            py,
            py.detach(|| {
                let mut values = vec![0f32; rows * columns];
                self.outcome.map_into(name, &mut values)?;
                self.outcome.missing().iter().for_each(|&at| values[at] = f32::NAN);
                Ok(values)
            }),
        )?;
        PyArray1::from_vec(py, values).reshape([rows, columns])
    }

    /// The exact words of a map: a view of the land's own memory, read-only.
    fn words<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let land = slf.get();
        let words = answer(slf.py(), land.outcome.words(name))?;
        let [rows, columns] = land.shape();
        let view = ArrayView2::from_shape((rows, columns), words)
            .map_err(|e| pyo3::exceptions::PyValueError::new_err(e.to_string()))?;
        // SAFETY: the words do not move or change while the land lives, for it is frozen, and the
        // array keeps the land alive. It is made read-only before anyone has it.
        let array = unsafe { PyArray2::borrow_from_array(&view, slf.clone().into_any()) };
        array.call_method1("setflags", (false,))?;
        Ok(array)
    }

    /// The numbers of the cells without a value, from the north-west.
    fn missing<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.outcome.missing().iter().map(|&at| at as i64).collect())
    }

    /// What the run did, as JSON.
    fn report(&self, py: Python) -> String {
        py.detach(|| {
            let outcome = &self.outcome;
            let level = |(level, distance_m, blake3): (i32, f64, String)| {
                json!({ "level": level, "distance_m": distance_m, "blake3": blake3 })
            };
            let stopped: serde_json::Map<String, Value> = outcome
                .names()
                .filter_map(|name| Some((name.to_string(), outcome.stopped(name).ok()?.into())))
                .collect();
            let entrances: Vec<Value> =
                outcome.entrances.iter().map(|e| json!([e.x, e.y])).collect();
            json!({
                "device": outcome.device,
                "stages": outcome.stages,
                "levels": outcome.level_distances().into_iter().map(level).collect::<Value>(),
                "biomes": outcome.biomes,
                "water": outcome.water,
                "entrances": entrances,
                "stopped": stopped,
                "input_blake3": outcome.start_digest,
                "warnings": self.warnings,
            })
            .to_string()
        })
    }

    /// Rivers, lakes, basins or points as GeoJSON; none if the run was not asked for them.
    fn vectors(&self, py: Python, layer: &str) -> PyResult<Option<String>> {
        let layers = answer(py, py.detach(|| self.layers()))?;
        let file = format!("{layer}.geojson");
        let found = layers.into_iter().flatten().find(|(name, _)| *name == file);
        Ok(found.map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Stores what `thalweg run` does.
    fn save(&self, py: Python, folder: PathBuf, replace: bool) -> PyResult<()> {
        let cancel = Cancel::default();
        let job = self.job.clone().cancel_by(cancel.clone());
        let outcome = self.outcome.clone();
        go(py, self.threads, &cancel, None, move |watch| {
            let mut folder = Folder::for_bundle(folder, replace);
            job.store(outcome, &mut folder, watch).map(drop)
        })
    }
}
