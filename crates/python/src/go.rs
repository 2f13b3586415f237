//! Long work on a thread of its own, while Python's thread hears signals and tells progress.

use crate::error::answer;
use pyo3::prelude::*;
use std::ffi::CString;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use thalweg::{Cancel, Error, Event, Progress, Result};

/// How long a signal may wait.
pub const BEAT: Duration = Duration::from_millis(50);

/// What the work tells.
enum Told {
    Progress(Progress),
    Warning(String),
}

/// What the work calls with its events.
pub type Watch<'a> = dyn FnMut(Event) -> Result<()> + Send + 'a;

/// Does work in a pool of its own: after a fork the child has none of the threads of rayon's.
pub fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Error::limit(format!("{threads} threads: {e}; ask for fewer")))?;
    Ok(pool.install(work))
}

/// Runs `work` without the GIL until it ends. An exception of `progress`, of a warning filter or of
/// a signal cancels it and comes through.
pub fn go<T: Send + 'static>(
    py: Python,
    threads: usize,
    cancel: &Cancel,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut Watch) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (tell, told) = channel();
    let told = Mutex::new(told);
    let mut watch = move |event: Event| {
        // Nobody listens any more once an exception has come.
        let _ = match event {
            Event::Progress(at) => tell.send(Told::Progress(at)),
            Event::Warning(warning) => tell.send(Told::Warning(warning.into())),
            _ => Ok(()),
        };
        Ok(())
    };
    let worker = std::thread::Builder::new()
        .name("thalweg run".into())
        .spawn(move || in_pool(threads, move || work(&mut watch)).and_then(|done| done));
    let worker =
        answer(py, worker.map_err(|e| Error::limit(format!("a thread for the run: {e}"))))?;
    let mut raised: Option<PyErr> = None;
    loop {
        let next = py.detach(|| match told.lock() {
            Ok(told) => {
                let mut all = vec![];
                let first = told.recv_timeout(BEAT);
                let ended = matches!(first, Err(RecvTimeoutError::Disconnected));
                all.extend(first.into_iter().chain(told.try_iter()));
                (!ended).then_some(all)
            }
            Err(_) => None,
        });
        let Some(all) = next else { break };
        let heard = if raised.is_none() { pass_on(py, all, progress) } else { Ok(()) };
        if let Err(e) = heard.and_then(|()| py.check_signals()) {
            cancel.cancel();
            raised = Some(raised.unwrap_or(e));
        }
    }
    let done = py.detach(|| worker.join());
    match (raised, done) {
        (Some(e), _) => Err(e),
        (None, Ok(done)) => answer(py, done),
        (None, Err(_)) => {
            let what = "the run panicked: this is a fault of thalweg, please report it";
            let class = py.import("thalweg._errors")?.getattr("Error")?;
            Err(PyErr::from_value(class.call1((what,))?))
        }
    }
}

/// Warns, and tells the newest progress. A slow callback leaves some out.
fn pass_on(py: Python, all: Vec<Told>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    let mut newest = None;
    for told in all {
        match told {
            Told::Progress(at) => newest = Some(at),
            Told::Warning(warning) => warn(py, &warning)?,
        }
    }
    if let (Some(at), Some(progress)) = (newest, progress) {
        progress.call1(py, (at.stage, at.stages, at.name, at.done, at.passes))?;
    }
    Ok(())
}

/// Warns whoever called the function of the package that called what calls this.
pub fn warn(py: Python, warning: &str) -> PyResult<()> {
    let class = py.import("thalweg._errors")?.getattr("RunWarning")?;
    PyErr::warn(py, &class, &CString::new(warning)?, 3)
}
