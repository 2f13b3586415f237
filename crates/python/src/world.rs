//! Windows of a land by tiles.

use crate::device_of;
use crate::error::{Raised, answer};
use crate::go::BEAT;
use crate::recipe::Recipe;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use thalweg::tiles::{Cut, PoolOptions, Store, WindowPool};
use thalweg::{Job, Map, Result, Window};

/// A land of which windows are made by workers in the background.
#[pyclass(frozen, module = "thalweg._thalweg")]
pub struct World {
    job: Job,
    options: PoolOptions,
    /// Told when a window is there.
    bell: Arc<(Mutex<u64>, Condvar)>,
    pool: Mutex<Option<Workers>>,
}

/// The workers, and the process that has them: a fork leaves the child none.
struct Workers {
    process: u32,
    pool: Arc<WindowPool>,
}

impl World {
    /// The workers of this process.
    fn pool(&self) -> Result<Arc<WindowPool>> {
        let mut known = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if let Some(workers) = known.as_ref().filter(|workers| workers.process == process) {
            return Ok(workers.pool.clone());
        }
        // To drop workers that a fork has left behind would wait for them for ever.
        std::mem::forget(known.take());
        let pool = Arc::new(WindowPool::new(self.job.clone(), self.options.clone())?);
        *known = Some(Workers { process, pool: pool.clone() });
        Ok(pool)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let known = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if known.as_ref().is_some_and(|workers| workers.process != std::process::id()) {
            std::mem::forget(known);
        }
    }
}

#[pymethods]
impl World {
    #[new]
    #[pyo3(signature = (recipe, store, device, threads, side, memory_bytes))]
    fn new(
        py: Python,
        recipe: &Recipe,
        store: Option<PathBuf>,
        device: &str,
        threads: usize,
        side: Option<u32>,
        memory_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let bell = Arc::new((Mutex::new(0), Condvar::new()));
        let rung = bell.clone();
        let made = py.detach(|| -> Result<_> {
            let job = Job::read(recipe.0.clone())?.device(device_of(device)?);
            let mut options = PoolOptions::default();
            options.workers = threads;
            options.cut = side.map_or(options.cut, Cut::from);
            options.memory_bytes = memory_bytes.unwrap_or(options.memory_bytes);
            options.store = store.map(|folder| Store::open(folder, None)).transpose()?;
            options.answered = Some(Arc::new(move |_| {
                *rung.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                rung.1.notify_all();
            }));
            let world = Self { job, options, bell, pool: Mutex::default() };
            world.pool()?;
            Ok(world)
        });
        answer(py, made)
    }

    /// A map of a window, in its unit.
    #[expect(clippy::too_many_arguments, reason = "the package names them")]
    fn window<'py>(
        &self,
        py: Python<'py>,
        x: i64,
        y: i64,
        width: u32,
        height: u32,
        level: i32,
        field: &str,
        priority: i64,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let pool = answer(py, self.pool())?;
        let window = Window { origin: [x, y], width, height };
        let mut asked = answer(py, pool.request(level, window, field, priority))?;
        let map: Map = loop {
            let there = py.detach(|| {
                let count = self.bell.0.lock().unwrap_or_else(PoisonError::into_inner);
                // A bell that rings between the look and the wait is heard, since it is locked.
                match asked.poll() {
                    Some(map) => Some(map),
                    None => {
                        drop(self.bell.1.wait_timeout(count, BEAT));
                        asked.poll()
                    }
                }
            });
            match there {
                Some(Ok(map)) => break map,
                Some(Err(e)) => return Err(Raised::of(e).into_py(py)),
                None => py.check_signals()?,
            }
        };
        PyArray1::from_vec(py, map.data).reshape([map.height as usize, map.width as usize])
    }

    #[getter]
    fn recipe(&self) -> Recipe {
        Recipe(self.job.recipe().clone())
    }

    #[getter]
    fn spacing_m(&self) -> f64 {
        self.job.scale().spacing_m
    }

    /// The maps that windows can be of.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        thalweg::tiles::Tiles::fields_of(&self.job).into_iter().map(|field| field.name).collect()
    }

    /// How many tiles were made, and how many the store had.
    #[getter]
    fn counts(&self, py: Python) -> PyResult<(u64, u64)> {
        Ok(answer(py, self.pool())?.counts().into())
    }
}
