//! What a run tells on its way.

use super::Job;
use super::outcome::Level;
use super::report::StageReport;
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::exec::Executor;
use crate::map::Map;
use crate::params::unknown;
use crate::recipe::Unit;
use crate::schedule::Kept;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Most frames of one run: their files are numbered with four digits.
pub const FRAMES_MAX: usize = 10_000;

/// What a run tells on its way.
#[non_exhaustive]
pub enum Event<'a> {
    /// The run begins on a device: its name and driver.
    Started(&'a str),
    /// A warning for the user.
    Warning(&'a str),
    /// The device failed and the CPU starts the run over, for the same bytes. Frames seen so far
    /// come again.
    Restarted,
    /// Passes are done. It comes several times a second.
    Progress(Progress),
    /// The land as it is now; see [`Job::frames`].
    Frame(&'a Frame),
    /// A stage is done. A snapshot can be taken.
    Stage(&'a mut AfterStage<'a>),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of the stage, from 0.
    pub stage: usize,
    /// Its name.
    pub name: &'static str,
    /// How many stages there are.
    pub stages: usize,
    /// Passes of the stage that are done.
    pub done: usize,
    /// Passes of the stage.
    pub passes: usize,
}

/// The land in the middle of a run.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its number, from 0.
    pub index: usize,
    /// How many of the steps that change heights are done.
    pub step: usize,
    /// How many there are.
    pub steps: usize,
    /// `height`; and as soon as steps have been done, what else the recipe's picture is drawn from.
    pub maps: BTreeMap<&'static str, Map>,
}

/// A run between two stages.
pub struct AfterStage<'a> {
    pub(super) job: &'a Job,
    pub(super) executor: &'a mut dyn Executor,
    pub(super) reports: &'a [StageReport],
    pub(super) kept: &'a Kept,
    pub(super) levels: &'a [Level],
    pub(super) ends_level: bool,
    /// Whether the device has failed while words were read.
    pub(super) has_failed: &'a Cell<bool>,
}

impl AfterStage<'_> {
    /// The number of the stage that is done, from 0.
    pub fn stage(&self) -> usize {
        self.reports.len() - 1
    }

    /// What it did.
    pub fn report(&self) -> &StageReport {
        &self.reports[self.reports.len() - 1]
    }

    /// The land of its level, if it is the last stage there.
    pub fn level(&self) -> Option<&Level> {
        self.levels.last().filter(|_| self.ends_level)
    }

    /// Whether its level's land is made now, and what follows changes it.
    pub fn is_bare(&self) -> bool {
        let changes = |unit: &Unit| unit.step.stage.changes;
        let unit = &self.job.schedule.units[self.stage()];
        // The stage that is the first to change the land comes right after one that leaves it bare.
        let first = self
            .job
            .schedule
            .units
            .iter()
            .find(|unit| unit.named && changes(unit))
            .map(|unit| unit.stage);
        unit.named && first.is_some_and(|first| unit.stage + 1 == first)
    }

    /// The level on which it ran.
    pub fn on_level(&self) -> i32 {
        self.job.schedule.units[self.stage()].level
    }

    /// A map as it is now, in the unit of its field: one that a stage has left, or that follows
    /// from the height.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that is not there.
    pub fn map(&mut self, name: &str) -> Result<Map> {
        let known = self.job.schedule.recipe.fields();
        let field = known.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| {
            Error::param(unknown("map of this recipe", name, known.iter().map(|f| f.name)))
        })?;
        let level = self.job.schedule.units[self.stage()].level;
        if let Some(why) =
            self.job.schedule.recipe.lacks_on_the_way(field, level, self.job.schedule.until_level())
        {
            return Err(Error::param(format!("{name:?}: {why}")));
        }
        let land = self.job.schedule.land_at(level).0;
        let from = &mut self.job.in_executor(self.executor);
        let words = self.job.field_words(level, &land, field, from);
        let words = words.inspect_err(|e| self.note_failure(e))?;
        Ok(self.job.map_of_at(level, field, &words))
    }

    fn note_failure(&self, error: &Error) {
        self.has_failed.set(self.has_failed.get() || matches!(error, Error::Device(_)));
    }

    /// All that the stages so far leave to those that follow, in exact words. Reading it takes time
    /// on a graphics card.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails; [`Error::Param`] for the run of a part of a land.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.job.check_whole()?;
        let read = |name: &&'static str| Ok((name.to_string(), self.executor.read(name)?));
        let buffers: Result<_> = self.kept.keys().map(read).collect();
        let buffers = buffers.inspect_err(|e| self.note_failure(e))?;
        let levels = self.levels.iter().map(|level| (level.level, level.words.clone())).collect();
        Ok(Snapshot::new(self.job, self.reports.to_vec(), buffers, levels))
    }
}

/// What watches a run. Its error ends the run.
pub(crate) type Watch<'a> = dyn FnMut(Event<'_>) -> Result<()> + 'a;
