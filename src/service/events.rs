//! What happens to a job, for clients that watch it: a list of events that can be read again from
//! any of them on.

use crate::job::Cancel;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::watch;

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its number, from 1.
    pub number: u64,
    /// `job`, `progress`, `level` or `end`.
    pub kind: &'static str,
    /// Its data.
    pub data: Value,
}

/// The events of a job that waits, runs or has just ended.
pub struct Track {
    list: Mutex<List>,
    /// The number of the last event.
    last: watch::Sender<u64>,
    /// Ends the job.
    pub cancel: Cancel,
    /// Whether the service ends, and the job is to go on later.
    pub interrupted: AtomicBool,
}

#[derive(Default)]
struct List {
    /// All events but those of progress, of which the last is kept.
    events: Vec<Event>,
    number: u64,
    work: Vec<f64>,
    begun: Option<Instant>,
    fraction_at_begin: f64,
}

impl Default for Track {
    fn default() -> Self {
        Self {
            list: Mutex::default(),
            last: watch::Sender::new(0),
            cancel: Cancel::default(),
            interrupted: AtomicBool::new(false),
        }
    }
}

impl Track {
    /// Adds an event.
    pub fn add(&self, kind: &'static str, data: Value) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.number += 1;
        let number = list.number;
        if kind == "progress" {
            list.events.retain(|event| event.kind != "progress");
        }
        list.events.push(Event { number, kind, data });
        // Those who are woken take the lock at once, so it is free before.
        drop(list);
        self.last.send_replace(number);
    }

    /// The events after a number.
    pub fn after(&self, number: u64) -> Vec<Event> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.events.iter().filter(|event| event.number > number).cloned().collect()
    }

    /// Tells of new events.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// The last progress.
    pub fn progress(&self) -> Option<Value> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.events.iter().rfind(|event| event.kind == "progress").map(|event| event.data.clone())
    }

    /// The levels that are done.
    pub fn levels(&self) -> Vec<Value> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.events
            .iter()
            .filter(|event| event.kind == "level")
            .map(|event| event.data.clone())
            .collect()
    }

    /// The job begins to run: the work of each of its units, of which `done` are done already.
    pub fn begin(&self, work: Vec<f64>, done: usize) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let all: f64 = work.iter().sum::<f64>().max(1.0);
        list.fraction_at_begin = work[..done.min(work.len())].iter().sum::<f64>() / all;
        list.begun = Some(Instant::now());
        list.work = work;
    }

    /// `step` of `steps` passes of part `part`, a stage on a level, are done.
    pub fn step(&self, part: usize, stage: &str, level: Option<i32>, step: usize, steps: usize) {
        let (fraction, eta_s) = {
            let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            let all: f64 = list.work.iter().sum::<f64>().max(1.0);
            let before: f64 = list.work.iter().take(part).sum();
            let own =
                list.work.get(part).copied().unwrap_or(0.0) * step as f64 / steps.max(1) as f64;
            let fraction = ((before + own) / all).min(1.0);
            // What a snapshot had done took no time of this run, so the pace does not count it.
            let done = fraction - list.fraction_at_begin;
            let elapsed = list.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
            // The first passes say little.
            let eta_s = (done > 0.01 && elapsed > 0.2).then(|| elapsed / done * (1.0 - fraction));
            (fraction, eta_s.map(|seconds| (seconds * 10.0).round() / 10.0))
        };
        let fraction = (fraction * 1e4).round() / 1e4;
        self.add(
            "progress",
            json!({ "fraction": fraction, "stage": stage, "level": level, "step": step,
                "steps": steps, "eta_s": eta_s }),
        );
    }

    /// Whether the service ends.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
