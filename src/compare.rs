//! Runs a plan on two executors side by side and finds the first word in which they differ.
//!
//! This is what `thalweg compare` offers to people who want to check a card or a driver, and what the tests use.

use crate::error::Result;
use crate::exec::{Control, Executor};
use crate::plan::{Fill, Plan};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// When buffers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After every pass, the buffers that it wrote.
    Pass,
    /// At the end of the plan, the buffers that outlive it.
    Stage,
}

/// The first difference found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Number of the pass in the plan, from 0.
    pub pass: usize,
    /// Its kernel.
    pub kernel: &'static str,
    /// The buffer.
    pub buffer: &'static str,
    /// The first word that differs.
    pub word: usize,
    /// Its column and row, where the buffer is a map.
    pub cell: Option<[usize; 2]>,
    /// Its values in the first and in the second executor.
    pub values: [i32; 2],
    /// How many words of the buffer differ.
    pub count: usize,
}

/// Time spent in the passes of one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct KernelTime {
    /// The kernel.
    pub kernel: &'static str,
    /// Passes.
    pub passes: usize,
    /// Seconds in the first and in the second executor, waiting included, transfers not.
    pub seconds: [f64; 2],
}

/// What a comparison saw.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Passes that were run.
    pub passes: usize,
    /// Words that were compared.
    pub words: u64,
    /// The first difference; none: every word is equal.
    pub difference: Option<Difference>,
    /// Words that were not what the plan began with (a run that changes nothing proves nothing).
    pub changed: u64,
    /// Times, by kernel.
    pub times: Vec<KernelTime>,
}

/// Runs `plan` on both and stops at the first difference.
pub fn compare(plan: &Plan, pair: [&mut dyn Executor; 2], every: Every, control: &mut Control) -> Result<Outcome> {
    let [a, b] = pair;
    a.begin(plan)?;
    b.begin(plan)?;
    let mut kept = BTreeMap::new();
    for buffer in plan.buffers.iter().filter(|b| b.fill == Fill::Keep) {
        kept.insert(buffer.name, a.read(buffer.name)?);
    }
    let mut outcome = Outcome { passes: plan.passes.len(), words: 0, difference: None, changed: 0, times: vec![] };
    let mut quiet = |_: usize| {};
    for (i, pass) in plan.passes.iter().enumerate() {
        let mut seconds = [0.0; 2];
        for (executor, seconds) in [&mut *a, &mut *b].into_iter().zip(&mut seconds) {
            let start = Instant::now();
            executor.run(plan, i..i + 1, &mut Control { stop: control.stop, progress: &mut quiet })?;
            *seconds = start.elapsed().as_secs_f64();
        }
        (control.progress)(i + 1);
        match outcome.times.iter_mut().find(|t| t.kernel == pass.kernel.entry) {
            Some(t) => {
                t.passes += 1;
                t.seconds = [t.seconds[0] + seconds[0], t.seconds[1] + seconds[1]];
            }
            None => outcome.times.push(KernelTime { kernel: pass.kernel.entry, passes: 1, seconds }),
        }
        let last = i + 1 == plan.passes.len();
        let names: Vec<_> = match every {
            Every::Pass => pass.written().collect(),
            Every::Stage if last => plan.kept().map(|b| b.name).collect(),
            Every::Stage => vec![],
        };
        for name in names {
            let (first, second) = (a.read(name)?, b.read(name)?);
            outcome.words += first.len() as u64;
            outcome.changed += match &plan.buffer(name).fill {
                Fill::Keep => first.iter().zip(&kept[name]).filter(|(a, b)| a != b).count() as u64,
                Fill::Word(word) => first.iter().filter(|w| *w != word).count() as u64,
                Fill::Unset => first.len() as u64,
                Fill::Words(words) => first.iter().zip(words).filter(|(a, b)| a != b).count() as u64,
            };
            if let Some(word) = (0..first.len()).find(|&w| first[w] != second[w]) {
                outcome.difference = Some(Difference {
                    pass: i,
                    kernel: pass.kernel.entry,
                    buffer: plan.buffer(name).name,
                    word,
                    cell: plan.buffer(name).cell_of(word, plan.window.width as usize),
                    values: [first[word], second[word]],
                    count: first.iter().zip(&second).filter(|(a, b)| a != b).count(),
                });
                return Ok(outcome);
            }
        }
    }
    a.end(plan);
    b.end(plan);
    Ok(outcome)
}
