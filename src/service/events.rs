//! What happens to a job, for clients that watch it: a list of events that can be read again from
//! any of them on.

use crate::api::pace::Pace;
use crate::job::Cancel;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
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
    pace: Pace,
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
        list.pace = Pace::begin(work, done);
    }

    /// `step` of `steps` passes of part `part`, a stage on a level, are done.
    pub fn step(&self, part: usize, stage: &str, level: Option<i32>, step: usize, steps: usize) {
        let told = {
            let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            list.pace.told(part, stage, level, step, steps)
        };
        self.add("progress", told);
    }

    /// Whether the service ends.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
