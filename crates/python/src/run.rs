//! A run: its recipe, what it starts from, and what its stages are given.

use crate::device_of;
use crate::error::answer;
use crate::go::{go, warn};
use crate::land::Land;
use crate::recipe::Recipe;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use thalweg::bundle::Folder;
use thalweg::picture::Picture;
use thalweg::{Heights, Invalid, Job, Map, Outcome, ReadOptions, Result, Samples, Scale, read};

/// Samples of a map: columns, rows, values.
pub struct Grid {
    width: u32,
    height: u32,
    values: Vec<f32>,
}

impl Grid {
    /// Copied while Python waits, since the run does not hold it off from writing.
    pub fn of(array: &PyReadonlyArray2<f32>) -> PyResult<Self> {
        let [height, width] = [array.shape()[0], array.shape()[1]];
        let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(Self { width: side(width), height: side(height), values: array.as_slice()?.to_vec() })
    }
}

/// What a run starts from.
enum Start {
    /// What its recipe says.
    Recipe,
    /// Heights in metres, NaN where there is none.
    Metres(Grid, f64),
    /// The land of an earlier run, exactly.
    Land(Arc<Outcome>),
    /// A file of heights.
    File(PathBuf, Option<f64>),
}

/// The stage that samples are for: its number from 0, or the name of the map that it makes.
#[derive(FromPyObject)]
pub enum Place {
    Number(usize),
    Name(String),
}

/// Runs a recipe. At most one of `heights`, `land` and `file` says what it starts from.
#[pyfunction]
#[pyo3(signature = (recipe, heights, land, file, spacing_m, layers, device, threads, progress,
    folder, replace))]
#[expect(clippy::too_many_arguments, reason = "the package names them")]
pub fn run(
    py: Python,
    recipe: &Recipe,
    heights: Option<PyReadonlyArray2<f32>>,
    land: Option<PyRef<Land>>,
    file: Option<PathBuf>,
    spacing_m: Option<f64>,
    layers: Vec<(Place, PyReadonlyArray2<f32>)>,
    device: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
    folder: Option<PathBuf>,
    replace: bool,
) -> PyResult<Land> {
    let recipe = recipe.0.clone();
    let device = answer(py, device_of(device))?;
    let start = match (heights, land, file) {
        (Some(heights), ..) => match spacing_m.or(recipe.spacing_m) {
            Some(spacing_m) => Start::Metres(Grid::of(&heights)?, spacing_m),
            None => {
                let what = "spacing_m is missing: metres from a sample of heights to the next";
                return answer(py, Err(Invalid::from(what).about("spacing_m").into()));
            }
        },
        (None, Some(land), _) => Start::Land(land.outcome.clone()),
        (None, None, Some(file)) => Start::File(file, spacing_m),
        (None, None, None) => Start::Recipe,
    };
    let layers = layers
        .into_iter()
        .map(|(place, array)| Ok((place, Grid::of(&array)?)))
        .collect::<PyResult<Vec<_>>>()?;
    let made = py.detach(|| crate::go::in_pool(threads, || prepared(recipe, start, layers)));
    let (job, warnings) = answer(py, made.and_then(|made| made))?;
    for warning in &warnings {
        warn(py, warning)?;
    }
    let job = job.device(device).threads(threads);
    execute(py, job, warnings, threads, progress.as_ref(), folder, replace)
}

/// Runs a job, and stores its bundle if a folder is named.
fn execute(
    py: Python,
    job: Job,
    warnings: Vec<String>,
    threads: usize,
    progress: Option<&Py<PyAny>>,
    folder: Option<PathBuf>,
    replace: bool,
) -> PyResult<Land> {
    let (own, cancel) = (job.clone(), job.cancel_handle());
    let outcome = go(py, threads, &cancel, progress, move |watch| match folder {
        None => own.run(watch).map(Arc::new),
        Some(folder) => {
            let mut folder = Folder::for_bundle(folder, replace);
            Ok(own.run_into(&mut folder, None, watch)?.outcome)
        }
    })?;
    Ok(Land { outcome, job, threads, warnings })
}

/// The job of a run, and what is to be said of its files.
fn prepared(
    recipe: thalweg::Recipe,
    start: Start,
    layers: Vec<(Place, Grid)>,
) -> Result<(Job, Vec<String>)> {
    if let (Start::Recipe, true) = (&start, layers.is_empty()) {
        let job = Job::read(recipe)?;
        let warnings = job.warnings().iter().map(|(_, warning)| warning.clone()).collect();
        return Ok((job, warnings));
    }
    let mut warnings = vec![];
    let mut job = match start {
        Start::Recipe => own_job(recipe, &mut warnings)?,
        Start::Metres(grid, spacing_m) => {
            let missing: Vec<usize> =
                (0..grid.values.len()).filter(|&at| grid.values[at].is_nan()).collect();
            let heights = Heights::metres(grid.width, grid.height, spacing_m, &grid.values);
            Job::with_heights(recipe, heights.without(&missing))?
        }
        Start::Land(land) => {
            let scale: Scale = land.scale;
            let (width, height) = (land.window.width, land.window.height);
            let heights = Heights::words_of(width, height, scale, land.words("height")?);
            Job::with_heights(recipe, heights.without(land.missing()))?
        }
        Start::File(path, spacing_m) => {
            let options = ReadOptions { spacing_m, keep_missing: true, ..Default::default() };
            let reading = read(&path, &options)?;
            warnings.extend(reading.warnings);
            Job::with_heights(recipe, Heights::from(&reading.map).without(&reading.missing))?
        }
    };
    let given = supply(&mut job, layers)?;
    read_files(&mut job, &given, &mut warnings)?;
    let of_recipe = job.warnings().iter().map(|(_, warning)| warning.clone());
    warnings.splice(0..0, of_recipe.collect::<Vec<_>>());
    Ok((job, warnings))
}

/// The job of a recipe whose stages' files are not read yet.
fn own_job(recipe: thalweg::Recipe, warnings: &mut Vec<String>) -> Result<Job> {
    let Some(thalweg::Input::File { path, range_m, nodata_m, band }) = recipe.input.clone() else {
        return Job::new(recipe);
    };
    let options = ReadOptions {
        spacing_m: recipe.spacing_m,
        range_m,
        nodata_fill: nodata_m.map(|metres| metres as f32),
        keep_missing: nodata_m.is_none(),
        band,
        ..Default::default()
    };
    let reading = read(&path, &options)?;
    warnings.extend(reading.warnings);
    let missing = if nodata_m.is_none() { &reading.missing[..] } else { &[] };
    Job::with_heights(recipe, Heights::from(&reading.map).without(missing))
}

/// Gives stages their samples. Returns the numbers of these stages.
fn supply(job: &mut Job, layers: Vec<(Place, Grid)>) -> Result<Vec<usize>> {
    let mut given = vec![];
    for (place, grid) in layers {
        let i = match place {
            Place::Number(i) => i,
            Place::Name(name) => stage_of(job, &name)?,
        };
        let Grid { width, height, values: data } = grid;
        let spacing_m = job.scale().spacing_m;
        job.supply(i, &Map { width, height, spacing_m, data, range_m: None, georef: None })?;
        given.push(i);
    }
    Ok(given)
}

/// The stage that reads samples and makes a map, or is called so.
fn stage_of(job: &Job, name: &str) -> Result<usize> {
    let called = |i: usize| {
        let step = &job.recipe().stages[i];
        let makes = step.settings.get("map").is_some();
        if makes { step.settings.word("map") } else { step.stage.name }
    };
    let stages = &job.recipe().stages;
    let reads: Vec<usize> = (0..stages.len()).filter(|&i| stages[i].samples().is_some()).collect();
    let found: Vec<usize> = reads.iter().copied().filter(|&i| called(i) == name).collect();
    match found[..] {
        [one] => Ok(one),
        _ => {
            let known: Vec<String> =
                reads.iter().map(|&i| format!("{} ({i})", called(i))).collect();
            let allowed = match known[..] {
                [] => "none, since no stage of the recipe reads samples".into(),
                _ => {
                    format!("{}, by name where it is the only one, or by number", known.join(", "))
                }
            };
            Err(Invalid::value("layers", format!("{name:?}"), allowed).into())
        }
    }
}

/// Reads the files of the stages that were not given samples.
fn read_files(job: &mut Job, given: &[usize], warnings: &mut Vec<String>) -> Result<()> {
    for (i, path) in job.files().filter(|(i, _)| !given.contains(i)).collect::<Vec<_>>() {
        let samples = job.recipe().stages[i].samples().unwrap_or_default();
        let reading = read(&path, &ReadOptions { samples, ..Default::default() })?;
        warnings.extend(reading.warnings);
        job.supply(i, &reading.map)?;
    }
    let mut files: Vec<String> = job.pictures().map(|(_, _, file)| file).collect();
    files.sort();
    files.dedup();
    for file in files {
        let options = ReadOptions {
            samples: Samples::Shares,
            max_cells: Picture::SAMPLES_MAX as u64,
            ..Default::default()
        };
        let reading = read(job.recipe().folder.join(&file), &options)?;
        warnings.extend(reading.warnings);
        job.supply_picture(&file, &reading.map)?;
    }
    Ok(())
}
