//! How far a run is.

use crate::clock::Moment;
use serde_json::{Value, json};

/// The work of a run's units, and when it began.
#[derive(Default)]
pub struct Pace {
    work: Vec<f64>,
    begun: Option<Moment>,
    fraction_at_begin: f64,
}

impl Pace {
    /// A run begins: the work of each of its units, of which `done` are done already.
    pub fn begin(work: Vec<f64>, done: usize) -> Self {
        let all: f64 = work.iter().sum::<f64>().max(1.0);
        let fraction_at_begin = work[..done.min(work.len())].iter().sum::<f64>() / all;
        Self { work, begun: Some(Moment::now()), fraction_at_begin }
    }

    /// Tells that `step` of `steps` passes of unit `unit`, a stage on a level, are done.
    pub fn told(
        &self,
        unit: usize,
        stage: &str,
        level: Option<i32>,
        step: usize,
        steps: usize,
    ) -> Value {
        let all: f64 = self.work.iter().sum::<f64>().max(1.0);
        let before: f64 = self.work.iter().take(unit).sum();
        let own = self.work.get(unit).copied().unwrap_or(0.0) * step as f64 / steps.max(1) as f64;
        let fraction = ((before + own) / all).min(1.0);
        // What a snapshot had done took no time of this run, so the pace does not count it.
        let done = fraction - self.fraction_at_begin;
        let elapsed = self.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        // The first passes say little.
        let eta_s = (done > 0.01 && elapsed > 0.2).then(|| elapsed / done * (1.0 - fraction));
        let eta_s = eta_s.map(|seconds| (seconds * 10.0).round() / 10.0);
        let fraction = (fraction * 1e4).round() / 1e4;
        json!({ "fraction": fraction, "stage": stage, "level": level, "step": step,
            "steps": steps, "eta_s": eta_s })
    }
}
