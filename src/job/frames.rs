//! Frames of a time-lapse: when they are due, and what is drawn.

use super::Job;
use super::event::FRAMES_MAX;
use crate::error::{Error, Invalid, Result};
use crate::exec::Executor;
use crate::field;
use crate::map::Map;
use crate::plan::{Interim, Plan, Shape};
use crate::schedule::Kept;
use std::collections::BTreeMap;

impl Job {
    /// After how many passes of stage `i`'s plan each of the steps that change heights is done;
    /// none for stages that make heights from nothing or leave them alone.
    pub(super) fn steps(&self, i: usize, plan: &Plan) -> Vec<usize> {
        if self.is_watched(i, plan) { plan.steps.clone() } else { vec![] }
    }

    /// Whether steps of stage `i` change heights that are there.
    fn is_watched(&self, i: usize, plan: &Plan) -> bool {
        let unit = &self.schedule.units[i];
        unit.named && !unit.step.stage.is_generator && plan.writes("height")
    }

    /// How many steps change heights, if a run can have as many frames as were asked for.
    pub(super) fn check_frames(&self) -> Result<usize> {
        let drafts = (self.done()..self.schedule.units.len()).map(|i| (i, self.schedule.draft(i)));
        let steps = drafts
            .filter(|(i, draft)| self.is_watched(*i, draft))
            .map(|(_, draft)| draft.count().steps);
        let steps = steps.sum::<u64>() as usize;
        let (frames, most) = (self.frames, FRAMES_MAX.min(steps + 1));
        if steps == 0 {
            let message = format!(
                "frames = {frames}: no stage of this recipe changes heights that are there \
                 already, so there is nothing to watch"
            );
            return Err(Invalid::of("frames", frames, "none").saying(message).into());
        }
        if !(2..=most).contains(&frames) {
            let why = match most {
                FRAMES_MAX => "their files are numbered with four digits, 0000 to 9999".into(),
                _ => format!(
                    "one before any step and one after each that changes heights, of which there \
                     are {steps}"
                ),
            };
            let message = format!("frames = {frames}: allowed 2 to {most}: {why}");
            return Err(Invalid::of("frames", frames, format!("2 to {most}"))
                .saying(message)
                .into());
        }
        Ok(steps)
    }

    /// The height and what else the picture is drawn from, after `step` steps, in the middle of
    /// stage `i`.
    pub(super) fn interim_maps(
        &self,
        i: usize,
        plan: &Plan,
        step: usize,
        kept: &Kept,
        executor: &mut dyn Executor,
    ) -> Result<BTreeMap<&'static str, Map>> {
        let level = self.schedule.units[i].level;
        let interim = |name: &str| plan.interim.iter().find(|interim| interim.field == name);
        let there = |name: &str| match name {
            "height" => true,
            _ if step == 0 => false,
            // Beaches are made when the land is done.
            "beach" => false,
            // An earlier stage's flow is shown where this one has none of its own.
            "flow" => interim(name).is_some() || kept.contains_key(name) && !plan.has(name),
            // Biomes are those of the last level.
            "biome_colour" => {
                let has = |field| self.schedule.recipe.lacks(field, level).is_none();
                level == self.schedule.until_level()
                    && field::find(name).is_some_and(has)
                    && self
                        .schedule
                        .recipe
                        .biomes()
                        .is_some_and(|(at, _)| at <= self.schedule.units[i].stage)
            }
            "sediment" => self.schedule.recipe.fields().iter().any(|field| field.name == name),
            _ => true,
        };
        let wanted = std::iter::once("height")
            .chain(self.schedule.recipe.output.colour.maps().iter().copied());
        let draw = |name: &'static str| {
            let field =
                field::find(name).ok_or_else(|| Error::param(format!("{name:?}: no such map")))?;
            let words = match interim(name) {
                Some(&Interim { buffer, word, shift, .. }) => {
                    let each = match plan.buffer(buffer).shape {
                        Shape::Cells(each) => each,
                        Shape::Tiles { .. } | Shape::Table | Shape::Absent => 1,
                    };
                    let words = self.read_at(level, buffer, each, word, executor)?;
                    words.into_iter().map(|word| word >> shift).collect()
                }
                None => {
                    let land = self.schedule.land_at(level).0;
                    self.field_words(level, &land, field, &mut self.in_executor(executor))?
                }
            };
            // All frames of a film are of one size.
            Ok((name, self.enlarged(self.map_of_at(level, field, &words), level)))
        };
        wanted.filter(|name| there(name)).map(draw).collect()
    }
}
