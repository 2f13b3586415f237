//! Errors of the library as exceptions of the package.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg::Error;

/// An error on its way to Python.
pub struct Raised(Error);

impl Raised {
    pub fn of(error: Error) -> Self {
        Self(error)
    }

    /// The exception. If the package's own class cannot be had, why not.
    pub fn into_py(self, py: Python) -> PyErr {
        self.exception(py).unwrap_or_else(|e| e)
    }

    fn exception(&self, py: Python) -> PyResult<PyErr> {
        let data = PyDict::new(py);
        let class = match &self.0 {
            Error::Param(invalid) => {
                data.set_item("pointer", &invalid.pointer)?;
                data.set_item("field", &invalid.field)?;
                data.set_item("given", &invalid.given)?;
                data.set_item("allowed", &invalid.allowed)?;
                data.set_item("file", &invalid.file)?;
                "RecipeError"
            }
            Error::Input { path, .. } => {
                data.set_item("path", path)?;
                "InputError"
            }
            Error::Output { path, .. } => {
                data.set_item("path", path)?;
                "OutputError"
            }
            Error::Limit(limit) => {
                data.set_item("needed", limit.needed)?;
                data.set_item("allowed", limit.allowed)?;
                data.set_item("unit", limit.unit)?;
                "LimitError"
            }
            Error::Device(fault) => {
                data.set_item("adapter", &fault.adapter)?;
                "DeviceError"
            }
            Error::Cancelled => "Cancelled",
            _ => "Error",
        };
        let class = py.import("thalweg._errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call((self.0.to_string(),), Some(&data))?))
    }
}

/// What became of work of the library, for Python.
pub fn answer<T>(py: Python, done: Result<T, Error>) -> PyResult<T> {
    done.map_err(|e| Raised::of(e).into_py(py))
}
