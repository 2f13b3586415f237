//! Windows of a land by tiles.

use crate::device_of;
use crate::error::{Raised, answer};
use crate::go::{BEAT, go};
use crate::recipe::Recipe;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use thalweg::schedule::Schedule;
use thalweg::tiles::{Cut, PoolOptions, Store, Tile, Tiles, WindowPool};
use thalweg::{Cancel, Invalid, Job, Map, Result, Window};

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

/// Column, row, width and height of a window.
type Part = (i64, i64, u32, u32);

fn window((x, y, width, height): Part) -> Window {
    Window { origin: [x, y], width, height }
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
        let window = window((x, y, width, height));
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

    /// The land on a level; of a world without an end, what a run makes.
    fn extent(&self, py: Python, level: i32) -> PyResult<Part> {
        let schedule = self.job.schedule();
        let there = schedule.check_level(level);
        answer(py, there)?;
        let Window { origin: [x, y], width, height } = Schedule::on_level(&schedule.world(), level);
        Ok((x, y, width, height))
    }

    /// The tiles of a window of a level and those that they are made from, in JSON.
    fn graph(&self, py: Python, part: Part, level: i32) -> PyResult<String> {
        let graph = py.detach(|| {
            let mut tiles = Tiles::new(self.job.clone(), self.options.cut.clone())?;
            let nodes = tiles.graph(level, &window(part))?;
            let described: Vec<_> = nodes.iter().map(|node| node.describe()).collect();
            Ok(serde_json::Value::from(described).to_string())
        });
        answer(py, graph)
    }

    /// Columns and rows of the tiles of a level that each of several windows needs.
    fn needed(&self, py: Python, parts: Vec<Part>, level: i32) -> PyResult<Vec<Vec<(i64, i64)>>> {
        let needed = py.detach(|| {
            let tiles = Tiles::new(self.job.clone(), self.options.cut.clone())?;
            let of = |part| {
                let needed = tiles.needed(level, &window(part))?;
                Ok(needed.into_iter().map(|tile| (tile.x, tile.y)).collect())
            };
            parts.into_iter().map(of).collect()
        });
        answer(py, needed)
    }

    /// Makes a tile and those that it needs, unless the store has them, and says how many were
    /// made.
    fn make(
        &self,
        py: Python,
        level: i32,
        slab: u32,
        x: i64,
        y: i64,
        key: Option<String>,
    ) -> PyResult<u64> {
        let Some(store) = self.options.store.clone() else {
            let what = "store is missing: a tile that is made goes into a store";
            return answer(py, Err(Invalid::from(what).about("store").into()));
        };
        let (threads, cancel) = (self.options.workers, Cancel::default());
        let job = self.job.clone().threads(threads).cancel_by(cancel.clone());
        let cut = self.options.cut.clone();
        go(py, threads, &cancel, None, move |_| {
            let mut tiles = Tiles::new(job.clone(), cut)?.stored_in(store);
            let tile = Tile { level, slab, x, y };
            let own = tiles.key(tile)?;
            if let Some(key) = key.filter(|key| *key != own) {
                let allowed = format!("{own}, the tile's key");
                return Err(Invalid::value("key", key, allowed).into());
            }
            job.with_device(&mut |_| {}, &mut |executor| tiles.piece(tile, executor).map(drop))?;
            Ok(tiles.counts()[0])
        })
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
        Tiles::fields_of(&self.job).into_iter().map(|field| field.name).collect()
    }

    /// How many tiles were made, and how many the store had.
    #[getter]
    fn counts(&self, py: Python) -> PyResult<(u64, u64)> {
        Ok(answer(py, self.pool())?.counts().into())
    }
}
