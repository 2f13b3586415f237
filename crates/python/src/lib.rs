//! The native half of the Python package `thalweg`: runs, exact words and errors. The package
//! itself, in `python/thalweg`, checks arguments and makes them convenient.

mod error;
mod go;
mod land;
mod recipe;
mod run;
mod world;

use error::Raised;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use serde_json::json;
use thalweg::quality::{FIGURES, Grid, statistics};
use thalweg::{Device, Error, Invalid};

#[pymodule]
fn _thalweg(m: &Bound<PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<recipe::Recipe>()?;
    m.add_class::<land::Land>()?;
    m.add_class::<world::World>()?;
    m.add_function(wrap_pyfunction!(recipe::examples, m)?)?;
    m.add_function(wrap_pyfunction!(recipe::presets, m)?)?;
    m.add_function(wrap_pyfunction!(recipe::maps, m)?)?;
    m.add_function(wrap_pyfunction!(run::run, m)?)?;
    m.add_function(wrap_pyfunction!(devices, m)?)?;
    m.add_function(wrap_pyfunction!(quality, m)?)
}

/// A device as text: `auto`, `cpu`, `gpu`, the number of an adapter, or a part of its name.
fn device_of(text: &str) -> Result<Device, Error> {
    text.parse().map_err(|allowed: String| {
        Invalid::of("device", text, allowed.clone()).saying(format!("device: {allowed}")).into()
    })
}

/// The CPU and the graphics adapters, as a list in JSON.
#[pyfunction]
fn devices(py: Python) -> PyResult<String> {
    py.detach(|| {
        let adapters = thalweg::adapters();
        let auto = thalweg::device::automatic(&adapters);
        let cpu = thalweg::device::DeviceOptions::default().cpu()?;
        let name = thalweg::Executor::name(&cpu);
        let mut all = vec![json!({
            "device": "cpu", "name": name, "kind": "Cpu", "threads": cpu.threads(),
            "auto": auto.is_none(),
        })];
        for adapter in &adapters {
            let mut one = json!({ "device": adapter.index.to_string() });
            let known = json!(adapter);
            for (key, value) in known.as_object().into_iter().flatten() {
                if key != "index" {
                    one[key] = value.clone();
                }
            }
            one["software"] = adapter.is_software().into();
            one["auto"] = (auto == Some(adapter.index)).into();
            all.push(one);
        }
        Ok(json!(all).to_string())
    })
    .map_err(|e| Raised::of(e).into_py(py))
}

/// Figures of a height map in metres, NaN where there is none, in JSON: all of them, and the range
/// that real land has.
#[pyfunction]
fn quality(
    py: Python,
    heights: PyReadonlyArray2<f32>,
    spacing_m: f64,
) -> PyResult<(String, String)> {
    let [rows, columns] = [heights.shape()[0], heights.shape()[1]];
    let metres = heights.as_slice()?.to_vec();
    py.detach(|| {
        if !(spacing_m.is_finite() && spacing_m > 0.0) {
            let allowed = "finite numbers of metres over 0";
            return Err(Invalid::value("spacing_m", spacing_m, allowed).into());
        }
        let cells: Vec<f64> = metres.iter().map(|&m| f64::from(m) / spacing_m).collect();
        let figures = go::in_pool(0, || statistics(Grid::new(&cells, columns, rows)?))??;
        let real: serde_json::Map<_, _> =
            FIGURES.iter().map(|figure| (figure.name.into(), json!(figure.real))).collect();
        Ok((json!(figures).to_string(), json!(real).to_string()))
    })
    .map_err(|e| Raised::of(e).into_py(py))
}
