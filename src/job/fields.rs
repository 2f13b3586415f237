//! The words of maps, wherever the words of a run are: in an executor, or in pieces of its land.

use super::Job;
use super::piece::{cut, within};
use crate::error::{Error, Result};
use crate::exec::Executor;
use crate::field::{self, Field, Source};
use crate::materials::{Quantity, wetness};
use crate::morphometry::{HeightGrid, SKY_REACH};
use crate::schedule::{Schedule, padded};
use crate::site::Window;
use crate::water::{self, Water};
use std::borrow::Cow;

/// Bytes of memory that weighing the materials of a cell takes: their weights twice, and the values
/// of all quantities.
const MATERIALS_BYTES: u64 = 112;

/// What has the words that a run leaves on a level.
pub(crate) trait Words {
    /// Of a buffer of `each` words a cell, these words of each cell of a window: a map for each.
    ///
    /// # Errors
    /// [`Error::Param`] for a buffer that is not there, and those of the device or the store.
    fn words(
        &mut self,
        level: i32,
        window: &Window,
        buffer: &'static str,
        each: usize,
        words: &[usize],
    ) -> Result<Vec<Cow<'_, [i32]>>>;
}

/// An executor that has come to a level.
pub(super) struct InExecutor<'a> {
    schedule: &'a Schedule,
    executor: &'a mut dyn Executor,
    /// Heights of a window that have been read.
    pub heights: Option<(Window, &'a [i32])>,
}

impl Words for InExecutor<'_> {
    fn words(
        &mut self,
        level: i32,
        window: &Window,
        buffer: &'static str,
        each: usize,
        words: &[usize],
    ) -> Result<Vec<Cow<'_, [i32]>>> {
        // Heights that were read before are not read again.
        let known = self.heights.filter(|(of, _)| (buffer, of) == ("height", window));
        if let Some((_, heights)) = known {
            return Ok(vec![heights.into()]);
        }
        let from = self.schedule.level_window(level);
        let part = |word: usize| within(&from, window, each, word..word + 1);
        let mut read = |word: &usize| self.executor.read_selection(buffer, &part(*word));
        words.iter().map(|word| read(word).map(Cow::Owned)).collect()
    }
}

impl Job {
    /// The words of a map in a window of a level: those that are there, or what follows from them.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that is not there, and those of the words.
    pub(crate) fn field_words(
        &self,
        level: i32,
        window: &Window,
        field: &Field,
        from: &mut dyn Words,
    ) -> Result<Vec<i32>> {
        match field.source {
            Source::Word { buffer, each, word } => {
                Ok(one(from.words(level, window, buffer, each, &[word])?).into_owned())
            }
            Source::Difference { buffer, each, word, less } => {
                let pair = from.words(level, window, buffer, each, &[word, less])?;
                let [more, less] = &pair[..] else { return Ok(vec![]) };
                let pairs = more.iter().zip(&**less);
                Ok(pairs.map(|(more, less)| more.saturating_sub(*less)).collect())
            }
            Source::Water(of) => match self.water(level, window, self.recipe().has_rain(), from)? {
                Some(water) => Ok(of(&water)),
                None => Err(no_water(field.name)),
            },
            Source::Material(of) => {
                let mut weights = self.materials(level, window, None, from)?;
                Ok(std::mem::take(&mut weights[of]))
            }
            Source::Grid(of) => {
                // What is seen from a window lies beyond it, so more is read, and the map is cut.
                let seen = self.seen_from(level, window)?;
                let heights = one(from.words(level, &seen, "height", 1, &[0])?);
                Ok(self.on_grid(level, window, of, &heights))
            }
        }
    }

    /// What the light of a window comes over: as much round it as there is land, without its
    /// margin.
    fn seen_from(&self, level: i32, window: &Window) -> Result<Window> {
        padded(window, u64::from(SKY_REACH), self.schedule.world_on(level).as_ref())
    }

    /// A map of a window that follows from the heights of all that is seen from there.
    fn on_grid(
        &self,
        level: i32,
        window: &Window,
        of: fn(&HeightGrid) -> Vec<f32>,
        heights: &[i32],
    ) -> Vec<i32> {
        let seen = self.seen_from(level, window).unwrap_or(*window);
        let metric = self.metric(level, &seen);
        let spacing_m = self.schedule.scale_on(level).spacing_m;
        let grid = HeightGrid::new(heights, seen.width as usize, spacing_m).on(metric.as_ref());
        // Such a map is of floats, whose bits are its words.
        let words: Vec<i32> = of(&grid).into_iter().map(|v| v.to_bits() as i32).collect();
        cut(&words, &seen, window, 1, 0..1)
    }

    /// The weights of all materials in a window of a level, with its water if that is known.
    ///
    /// # Errors
    /// As [`Job::field_words`] of the maps that rules have conditions on.
    pub(super) fn materials(
        &self,
        level: i32,
        window: &Window,
        water: Option<&Water>,
        from: &mut dyn Words,
    ) -> Result<[Vec<i32>; 8]> {
        crate::memory::admit("materials", window.cells() as u64 * MATERIALS_BYTES)?;
        let recipe = self.recipe();
        let rules = recipe.materials.clone().unwrap_or_default();
        let scale = self.schedule.scale_on(level);
        let quantities = rules.quantities();
        let is_wet = |quantity: &Quantity| match quantity {
            Quantity::Map(name) => {
                field::find(name).is_some_and(|field| matches!(field.source, Source::Water(_)))
            }
            Quantity::Wetness | Quantity::Shore => true,
            Quantity::Height => false,
        };
        let found = match (water, quantities.iter().any(is_wet)) {
            (None, true) => self.water(level, window, recipe.has_rain(), from)?,
            _ => None,
        };
        let water = water.or(found.as_ref());
        let known = recipe.fields();
        let mut values = |name: &str| -> Result<Option<Vec<f32>>> {
            let field = known.iter().find(|field| field.name == name);
            let Some(field) = field.filter(|field| recipe.lacks(field, level).is_none()) else {
                return Ok(None);
            };
            let words = match (field.source, water) {
                (Source::Water(of), Some(water)) => of(water),
                (Source::Water(_), None) => return Ok(None),
                _ => self.field_words(level, window, field, from)?,
            };
            Ok(Some(field.values(&words, &scale)))
        };
        let sea_m = recipe.water.as_ref().and_then(|water| water.sea_level_m);
        let sea_m = sea_m.or(recipe.output.sea_level_m).unwrap_or(0.0) as f32;
        let mut all = vec![];
        for quantity in quantities {
            let found = match quantity {
                Quantity::Map(name) => values(name)?,
                Quantity::Height => {
                    values("height")?.map(|all| all.iter().map(|h| h - sea_m).collect())
                }
                Quantity::Shore => water.map(|water| {
                    let words = water.distance_to_shores();
                    // Where there is none, it is as far as can be.
                    let metres = words.into_iter().map(|bits| f32::from_bits(bits as u32));
                    metres.map(|far| if far < 0.0 { f32::MAX } else { far }).collect()
                }),
                Quantity::Wetness => match (values("drainage_area")?, values("slope")?) {
                    (Some(areas), Some(slopes)) => {
                        Some(wetness(&areas, &slopes, window.width as usize, scale.spacing_m))
                    }
                    _ => None,
                },
            };
            all.extend(found.map(|values| (quantity, values)));
        }
        let names = recipe.biome_names();
        let numbers = match (names.is_empty(), rules.biomes().next(), field::find("biome")) {
            (false, Some(_), Some(field)) if recipe.lacks(field, level).is_none() => {
                Some(self.field_words(level, window, field, from)?)
            }
            _ => None,
        };
        let biomes = numbers.as_ref().map(|numbers| (&names[..], &numbers[..]));
        Ok(rules.weights(window.cells(), &all, biomes))
    }

    /// The water of a window of a level, with the layer of rain if that is there; none if the
    /// recipe does not ask for it, or has none on that level.
    ///
    /// # Errors
    /// [`Error::Limit`] for more land than the memory holds water for, and those of the words.
    pub(crate) fn water(
        &self,
        level: i32,
        window: &Window,
        has_rain: bool,
        from: &mut dyn Words,
    ) -> Result<Option<Water>> {
        let Some(settings) = &self.recipe().water else { return Ok(None) };
        if self.recipe().lacks_water(level) {
            return Ok(None);
        }
        let mut all = |buffer| {
            from.words(level, window, buffer, 1, &[0]).map(|words| one(words).into_owned())
        };
        let ground = all("height")?;
        let rain = if has_rain { Some(all("rain")?) } else { None };
        let mut place = water::Place {
            metric: self.metric(level, window),
            missing: self.missing_at(level, window),
            flow: None,
            springs: self.springs(level, window),
            land: Some(self.schedule.extent()),
        };
        if let (Some(_), Some(flow)) = (settings.channel_flow, field::find("flow")) {
            place.flow = Some(self.field_words(level, window, flow, from)?);
        }
        let scale = self.schedule.scale_on(level);
        Water::on(&place, ground, window.width as usize, scale, rain, settings).map(Some)
    }

    /// The cells of a window of a level where rivers spring that were drawn, and the area, in m²,
    /// that each drains: where the river begins or comes into the land.
    fn springs(&self, level: i32, window: &Window) -> Vec<(usize, Option<f64>)> {
        let spacing_m = self.schedule.scale_on(level).spacing_m;
        let cell = |[x, y]: [f64; 2]| {
            // Casts of numbers that are too large stop at the ends.
            let [x, y] = [x, y].map(|metres| (metres / spacing_m).round() as i64);
            let [left, top] = window.origin;
            window
                .contains(x, y)
                .then(|| (y - top) as usize * window.width as usize + (x - left) as usize)
        };
        let rivers = self.recipe().rivers().into_iter();
        rivers
            .filter_map(|river| {
                let at = river.places(spacing_m / 2.0).find_map(cell)?;
                Some((at, river.catchment_km2.map(|area| area * 1e6)))
            })
            .collect()
    }

    /// What is in an executor.
    pub(super) fn in_executor<'a>(&'a self, executor: &'a mut dyn Executor) -> InExecutor<'a> {
        InExecutor { schedule: &self.schedule, executor, heights: None }
    }
}

/// The only map of a list.
fn one(words: Vec<Cow<'_, [i32]>>) -> Cow<'_, [i32]> {
    words.into_iter().next().unwrap_or_default()
}

/// The error for a map of water of a recipe that does not ask for water.
pub(crate) fn no_water(name: &str) -> Error {
    Error::param(format!("{name}: the recipe has no table [water]"))
}
