//! Runs a plan on two executors side by side and finds the first word in which they differ.
//!
//! This is what `thalweg compare` offers to people who want to check a card or a driver, and what
//! the tests use.

use crate::clock::Moment;
use crate::device::{Device, with};
use crate::error::{Error, Result};
use crate::exec::{Adapter, Control, Executor};
use crate::job::units::Given;
use crate::job::{Event, Job, Progress};
use crate::plan::{Fill, Plan};
use serde::Serialize;
use std::collections::BTreeMap;

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
pub struct StageComparison {
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
pub fn compare(
    plan: &Plan,
    pair: [&mut dyn Executor; 2],
    every: Every,
    control: &mut Control,
) -> Result<StageComparison> {
    let [a, b] = pair;
    a.begin(plan)?;
    b.begin(plan)?;
    let mut kept = BTreeMap::new();
    // What is there before, to tell later what the plan has changed.
    for buffer in plan.buffers.iter().filter(|b| matches!(b.fill, Fill::Keep | Fill::Taken(_))) {
        kept.insert(buffer.name, a.read(buffer.name)?);
    }
    let mut outcome = StageComparison {
        passes: plan.passes.len(),
        words: 0,
        difference: None,
        changed: 0,
        times: vec![],
    };
    let mut quiet = |_: usize| Ok(());
    for (i, pass) in plan.passes.iter().enumerate() {
        let mut seconds = [0.0; 2];
        for (executor, seconds) in [&mut *a, &mut *b].into_iter().zip(&mut seconds) {
            let start = Moment::now();
            executor.run(
                plan,
                i..i + 1,
                &mut Control { stop: control.stop, progress: &mut quiet },
            )?;
            *seconds = start.elapsed().as_secs_f64();
        }
        (control.progress)(i + 1)?;
        add_time(&mut outcome.times, pass.kernel.entry, seconds);
        let last = i + 1 == plan.passes.len();
        let names: Vec<_> = match every {
            Every::Pass => pass.written().collect(),
            Every::Stage if last => plan.kept().map(|b| b.name).collect(),
            Every::Stage => vec![],
        };
        for name in names {
            let (first, second) = (a.read(name)?, b.read(name)?);
            outcome.words += first.len() as u64;
            outcome.changed += changed(&plan.buffer(name).fill, &first, kept.get(name));
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

/// Adds the seconds that a pass took to those of its kernel.
fn add_time(times: &mut Vec<KernelTime>, kernel: &'static str, seconds: [f64; 2]) {
    match times.iter_mut().find(|t| t.kernel == kernel) {
        Some(t) => {
            t.passes += 1;
            t.seconds = [t.seconds[0] + seconds[0], t.seconds[1] + seconds[1]];
        }
        None => times.push(KernelTime { kernel, passes: 1, seconds }),
    }
}

/// How many words of a buffer are not what the plan began with: `fill`, or the words that were
/// `kept` from before.
fn changed(fill: &Fill, now: &[i32], kept: Option<&Vec<i32>>) -> u64 {
    let others = |before: &[i32]| now.iter().zip(before).filter(|(a, b)| a != b).count() as u64;
    match (fill, kept) {
        (Fill::Keep | Fill::Taken(_), Some(kept)) => others(kept),
        (Fill::Word(word), _) => now.iter().filter(|w| *w != word).count() as u64,
        (Fill::Words(words), _) => others(words),
        // What was there says nothing, so all words count.
        (Fill::Unset | Fill::Keep | Fill::Taken(_), _) => now.len() as u64,
    }
}

/// What a comparison of two devices saw.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The CPU and the adapter.
    pub devices: [String; 2],
    /// The stages that were compared, by name; the last is the one that differs, if one does.
    pub stages: Vec<(&'static str, StageComparison)>,
    /// The heights at the end, in words, of the CPU and of the adapter, without the margin. None
    /// where the executors differ on a level before the last, whose heights are no map of the run.
    pub heights: Option<[Vec<i32>; 2]>,
}

impl Comparison {
    /// Whether all words were equal.
    pub fn is_equal(&self) -> bool {
        self.stages.iter().all(|(_, stage)| stage.difference.is_none())
    }

    /// Whether anything changed: a run that changes nothing proves nothing.
    pub fn has_changed(&self) -> bool {
        self.stages.iter().any(|(_, stage)| stage.changed > 0)
    }
}

impl Job {
    /// Runs every stage on the CPU and on the graphics adapter that was asked for, side by side,
    /// and compares their memory word for word. It ends with the first stage that differs.
    /// [`Device::Auto`] means the best adapter, software ones too.
    ///
    /// # Errors
    /// As [`Job::run`]; [`Error::Param`] for [`Device::Cpu`].
    pub fn compare(
        &self,
        every: Every,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Comparison> {
        let adapter = match &self.options().device {
            Device::Auto => Adapter::Best,
            Device::Adapter(adapter) => adapter.clone(),
            Device::Cpu => {
                return Err(Error::param(
                    "--device cpu: compare checks a graphics adapter against the CPU; name an \
                     adapter, or leave --device out",
                ));
            }
        };
        self.check_ready()?;
        let gpu = self.options().gpu(&adapter)?;
        with(gpu, |gpu| self.compare_on([&mut self.options().cpu()?, gpu], every, watch))
    }

    /// The same on two executors.
    ///
    /// # Errors
    /// As [`Job::compare`].
    #[doc(hidden)]
    pub fn compare_on(
        &self,
        pair: [&mut dyn Executor; 2],
        every: Every,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Comparison> {
        let [a, b] = pair;
        let devices = [a.name(), b.name()];
        let mut stages = vec![];
        let count = self.schedule().units.len();
        let mut given = [Given::nothing(), Given::nothing()];
        let mut is_whole = true;
        self.upload_start(a)?;
        self.upload_start(b)?;
        // What a snapshot has done is not compared.
        for (i, unit) in self.schedule().units.iter().enumerate().skip(self.done()) {
            let plan = self.plan_to_run(i)?;
            let (name, passes) = (unit.step.stage.name, plan.passes.len());
            for (executor, given) in [&mut *a, &mut *b].into_iter().zip(&mut given) {
                self.give_inputs(i, &plan, given, executor)?;
            }
            let mut progress = |done| {
                watch(Event::Progress(Progress { stage: i, name, stages: count, done, passes }))
            };
            let stop = self.cancel_handle();
            let mut control = Control { stop: stop.flag(), progress: &mut progress };
            let outcome = compare(&plan, [&mut *a, &mut *b], every, &mut control)?;
            let differs = outcome.difference.is_some();
            stages.push((name, outcome));
            if differs {
                is_whole = unit.level == self.schedule().until_level();
                break;
            }
        }
        let heights = if is_whole { Some([self.heights(a)?, self.heights(b)?]) } else { None };
        Ok(Comparison { devices, stages, heights })
    }
}
