//! What the benches share: settings of stages, and the time that passes take.

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use thalweg::Result;
use thalweg::exec::{Control, Executor};
use thalweg::params::{Settings, Value};
use thalweg::plan::Plan;
use thalweg::stage::Stage;

/// A stage's settings: the defaults, with these values changed.
pub fn settings(stage: &Stage, values: &[(&str, Value)]) -> Result<Settings> {
    Settings::new(
        stage.params,
        &values.iter().map(|(name, value)| (name.to_string(), value.clone())).collect::<Vec<_>>(),
    )
}

/// Runs some passes of a plan whose buffers are ready, and returns the seconds that they took.
pub fn seconds(executor: &mut dyn Executor, plan: &Plan, passes: Range<usize>) -> Result<f64> {
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    executor.run(plan, passes, &mut Control { stop: &stop, progress: &mut |_| Ok(()) })?;
    Ok(begun.elapsed().as_secs_f64())
}
