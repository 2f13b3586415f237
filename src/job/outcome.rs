//! What a run leaves: maps as exact words and as metres, textures, dungeons' entrances.

use super::Job;
use super::blending::{BiomeShare, BiomeWeights, Texture};
use super::fields::InExecutor;
use super::report::StageReport;
use crate::error::{Error, Result};
use crate::exec::Executor;
use crate::field::{self, Field, Source};
use crate::map::{Georef, Globe, Map, Metric};
use crate::params::unknown;
use crate::recipe::Recipe;
use crate::site::{Scale, Window};
use crate::water::Water;
use crate::water::carve::Beds;
use crate::water::vectors::Vectors;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::OnceLock;

#[cfg(feature = "dungeon")]
use crate::dungeon::placed::Entrance;

/// What a run leaves. Maps are kept as exact words, from which [`Outcome::map`] makes values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The recipe that was run.
    pub recipe: Recipe,
    /// What computed it: the device and its driver.
    pub device: String,
    /// The land.
    pub window: Window,
    /// Metres of a cell and of the word 0.
    pub scale: Scale,
    /// What each stage did.
    pub stages: Vec<StageReport>,
    /// The land of each level, the coarsest first, where the land has levels.
    pub levels: Vec<Level>,
    /// The biomes and how much of the land each has, where a stage makes biomes.
    pub biomes: Vec<BiomeShare>,
    /// The weights of biomes as textures, where a stage is asked for them.
    pub textures: Vec<Texture>,
    /// The weights of all biomes, where a stage is asked for them.
    pub weights: Option<BiomeWeights>,
    /// Entrances of dungeons, where the recipe asks for them; the ground round them is levelled.
    #[cfg(feature = "dungeon")]
    pub entrances: Vec<Entrance>,
    /// BLAKE3 of the words of the heights that the run began with, where it had an input.
    pub start_digest: Option<String>,
    /// What water there is, where a map of it was asked for: counts of cells, lakes and mouths.
    pub water: Option<serde_json::Value>,
    /// Rivers, lakes, basins and points, where the recipe asks for files of them.
    pub vectors: Option<Vectors>,
    words: BTreeMap<&'static str, Vec<i32>>,
    /// The digests of maps, once they are asked for.
    digests: BTreeMap<&'static str, OnceLock<String>>,
    range_m: Option<(f64, f64)>,
    georef: Option<Georef>,
    /// What tells the sizes of cells of each row, the row of the input that is the first, and how
    /// many of its rows one is.
    pub(super) globe: Option<(Globe, f64, f64)>,
    missing: Vec<usize>,
}

/// The land of a level when its stages are done: 0 is the finest.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Level {
    /// How many times coarser it is than the finest, as a power of two.
    pub level: i32,
    /// The land, on the level's own lattice.
    pub window: Window,
    /// Metres of a cell of the level, and of the word 0.
    pub scale: Scale,
    /// Its heights in exact words, 2⁻¹⁸ cells of the level.
    pub words: Vec<i32>,
}

impl Level {
    /// How far it is from the land of the finest level that was made, in metres (RMS).
    fn distance_m(&self, land: &Map, origin: [i64; 2], level: i32) -> f64 {
        let own = self.scale.to_metres(&self.words);
        let near =
            Enlarged::of(&own, &self.window, origin, land.width, (self.level - level) as u32);
        let width = land.width as usize;
        let distance = |(y, row): (usize, &[f32])| -> f64 {
            let near = near.row(y as i64);
            near.zip(row).map(|(a, b)| (f64::from(a) - f64::from(*b)).powi(2)).sum()
        };
        // Row by row, so that the sum has one order, whatever the threads.
        let sums: Vec<f64> = land.data.par_chunks(width.max(1)).enumerate().map(distance).collect();
        (sums.iter().sum::<f64>() / land.data.len().max(1) as f64).sqrt()
    }
}

/// The values of a level's map on a lattice that is finer, linear between vertices.
struct Enlarged<'a> {
    values: &'a [f32],
    window: Window,
    /// The finer lattice's first vertex.
    origin: [i64; 2],
    /// Finer cells of a cell of the level.
    cells: i64,
    /// The columns of the level beside each of the finer lattice, and the share of the second.
    columns: Vec<(usize, usize, f32)>,
}

impl<'a> Enlarged<'a> {
    /// `values` lie in a window of the level; the level is `levels` coarser than the finer lattice.
    fn of(values: &'a [f32], window: &Window, origin: [i64; 2], width: u32, levels: u32) -> Self {
        let mut enlarged =
            Self { values, window: *window, origin, cells: 1 << levels, columns: vec![] };
        enlarged.columns = (0..i64::from(width)).map(|x| enlarged.between(x, 0)).collect();
        enlarged
    }

    /// The lines of the level beside a line of the finer lattice, and the share of the second.
    fn between(&self, at: i64, axis: usize) -> (usize, usize, f32) {
        let side = [self.window.width, self.window.height][axis] as usize;
        let fine = self.origin[axis] + at - self.window.origin[axis] * self.cells;
        let k = (fine.div_euclid(self.cells).max(0) as usize).min(side - 1);
        // Beyond the last line there is none, so it stands on both sides.
        (k, (k + 1).min(side - 1), fine.rem_euclid(self.cells) as f32 / self.cells as f32)
    }

    /// The values of a row of the finer lattice.
    fn row(&self, y: i64) -> impl Iterator<Item = f32> {
        let (north, south, v) = self.between(y, 1);
        let line = |row: usize| &self.values[row * self.window.width as usize..];
        let (north, south) = (line(north), line(south));
        let on = |row: &[f32], (west, east, u): (usize, usize, f32)| {
            row[west] + (row[east] - row[west]) * u
        };
        self.columns.iter().map(move |place| {
            let (top, low) = (on(north, *place), on(south, *place));
            top + (low - top) * v
        })
    }
}

/// What the stages leave in the executor, before maps are read.
pub(super) struct Leaves {
    pub stages: Vec<StageReport>,
    pub levels: Vec<Level>,
    #[cfg(feature = "dungeon")]
    pub entrances: Vec<Entrance>,
}

/// BLAKE3 of words as little-endian bytes.
pub fn digest(words: &[i32]) -> String {
    let mut hasher = blake3::Hasher::new();
    for piece in words.chunks(1 << 16) {
        let little: Vec<i32> = piece.iter().map(|word| word.to_le()).collect();
        hasher.update(bytemuck::cast_slice(&little));
    }
    hasher.finalize().to_hex().to_string()
}

impl Outcome {
    /// For each level, the coarsest first: its number, how far its land is from the last one's in
    /// metres (RMS), and BLAKE3 of its words.
    pub fn level_distances(&self) -> Vec<(i32, f64, String)> {
        let (Some(last), Ok(land)) = (self.levels.last(), self.map("height")) else {
            return vec![];
        };
        let distance = |l: &Level| {
            (l.level, l.distance_m(&land, self.window.origin, last.level), digest(&l.words))
        };
        self.levels.iter().map(distance).collect()
    }

    /// The range and the place on Earth that the input had.
    pub(super) fn place(&self) -> (Option<(f64, f64)>, Option<Georef>) {
        (self.range_m, self.georef.clone())
    }

    /// The names of the maps that were read: the height, those of the recipe's output, and those
    /// that colour its picture.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.words.keys().copied()
    }

    /// The exact words of a map; the table of fields says what they mean.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that was not read.
    pub fn words(&self, name: &str) -> Result<&[i32]> {
        self.words
            .get(name)
            .map(Vec::as_slice)
            .ok_or_else(|| unknown("map of this run", name, self.names()).into())
    }

    /// How many cells of a map are at the end of what its words hold, so that their true values may
    /// lie beyond: 8191 cells of height for `height`, 4000 for `sediment`, 8192 for `erosion`,
    /// `deposition` and `change`. Other maps have no such end.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that was not read.
    pub fn stopped(&self, name: &str) -> Result<usize> {
        let end = field::find(name).and_then(Field::end).unwrap_or(i64::MAX);
        Ok(self.words(name)?.iter().filter(|word| i64::from(**word).abs() >= end).count())
    }

    /// The cells that have no value in any map, from the north-west corner, in ascending order:
    /// those without a height in the input. They lie outside the land, and the words that maps have
    /// there say nothing.
    pub fn missing(&self) -> &[usize] {
        &self.missing
    }

    /// Where on Earth the land lies, where its input said so.
    pub fn georef(&self) -> Option<&Georef> {
        self.georef.as_ref()
    }

    /// A map in the unit of its field.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that was not read.
    pub fn map(&self, name: &str) -> Result<Map> {
        let words = self.words(name)?;
        let field =
            field::find(name).ok_or_else(|| Error::param(unknown("map", name, self.names())))?;
        Ok(map_of(field, words, self.window, &self.scale, self.range_m, self.georef.clone()))
    }

    /// The values of a map in the unit of its field, row by row from the north-west, in memory that
    /// the caller has.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that was not read, and for room that is not that of its cells.
    pub fn map_into(&self, name: &str, values: &mut [f32]) -> Result<()> {
        let words = self.words(name)?;
        let field =
            field::find(name).ok_or_else(|| Error::param(unknown("map", name, self.names())))?;
        if values.len() != words.len() {
            return Err(Error::param(format!(
                "room for {} values: the map {name} has {}",
                values.len(),
                words.len()
            )));
        }
        field.values_into(words, &self.scale, values);
        Ok(())
    }

    /// BLAKE3 of a map's words, little-endian: equal on every device.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that was not read.
    pub fn digest(&self, name: &str) -> Result<&str> {
        let words = self.words(name)?;
        match self.digests.get(name) {
            Some(kept) => Ok(kept.get_or_init(|| digest(words))),
            // Each map that has words has its place.
            None => Err(Error::param(unknown("map", name, self.names()))),
        }
    }
}

/// A map of words in the unit of its field.
pub(super) fn map_of(
    field: &Field,
    words: &[i32],
    window: Window,
    scale: &Scale,
    range_m: Option<(f64, f64)>,
    georef: Option<Georef>,
) -> Map {
    Map {
        width: window.width,
        height: window.height,
        spacing_m: scale.spacing_m,
        data: field.values(words, scale),
        range_m: if field.decode == field::Decode::Height { range_m } else { None },
        georef,
    }
}

impl Job {
    /// What the stages leave, with the dungeons' entrances found and the ground round them
    /// levelled.
    pub(super) fn finish(
        &self,
        executor: &mut dyn Executor,
        stages: Vec<StageReport>,
    ) -> Result<Leaves> {
        #[cfg(feature = "dungeon")]
        return Ok(Leaves { stages, levels: vec![], entrances: self.entrances(executor)? });
        #[cfg(not(feature = "dungeon"))]
        {
            let _ = executor;
            Ok(Leaves { stages, levels: vec![] })
        }
    }

    #[cfg(feature = "dungeon")]
    fn entrances(&self, executor: &mut dyn Executor) -> Result<Vec<Entrance>> {
        // Entrances lie on the finest level.
        if self.schedule.recipe.dungeons.is_none() || self.schedule.until_level() != 0 {
            return Ok(vec![]);
        }
        let mut words = executor.read("height")?;
        let kinds =
            if self.schedule.recipe.suited()?.is_some() { executor.read("biome")? } else { vec![] };
        let mut entrances =
            self.level_entrances(self.schedule.level_window(0), &mut words, &kinds)?;
        executor.write("height", &words)?;
        // Those beyond the region shape its ground, too, but are not its own.
        entrances.retain(|entrance| self.schedule.region().contains(entrance.x, entrance.y));
        Ok(entrances)
    }

    /// The entrances of dungeons in a window of the finest level, and the ground round them
    /// levelled. `kinds` are the numbers of its biomes, where entrances lie in some alone.
    #[cfg(feature = "dungeon")]
    pub(crate) fn level_entrances(
        &self,
        window: Window,
        words: &mut [i32],
        kinds: &[i32],
    ) -> Result<Vec<Entrance>> {
        let Some(placing) = &self.schedule.recipe.dungeons else { return Ok(vec![]) };
        let units = crate::arith::CELL as f64 / self.schedule.scale_on(0).spacing_m;
        let suited = self.schedule.recipe.suited()?;
        let outside = self.missing_at(0, &window);
        let suits = |cell: usize| {
            // The cells outside are in ascending order.
            outside.binary_search(&cell).is_err()
                && suited.as_ref().is_none_or(|suited| suited[kinds[cell] as usize])
        };
        Ok(placing.entrances(
            self.schedule.recipe.seed,
            window,
            words,
            units,
            self.schedule.scale_on(0).datum_m,
            &suits,
        ))
    }

    /// Reads what the recipe asks for.
    pub(super) fn collect(&self, executor: &mut dyn Executor, leaves: Leaves) -> Result<Outcome> {
        let (mut shares, mut textures, mut weights) = (vec![], vec![], None);
        let (recipe, level) = (self.recipe(), self.schedule.until_level());
        let (land, scale) = self.schedule.land();
        let known: Vec<&'static Field> = recipe
            .fields()
            .into_iter()
            .filter(|field| recipe.lacks(field, level).is_none())
            .collect();
        let has_biomes = known.iter().any(|field| field.name == "biome");
        if let Some((_, settings)) = recipe.biomes().filter(|_| has_biomes) {
            shares = self.shares(settings, executor)?;
            textures = self.textures(&shares, executor)?;
            weights = self.weights(&shares, executor)?;
        }
        // Beds change the heights that all maps are made from, so they are cut first.
        let (mut water, beds) = self.carve(executor)?;
        // The heights of the last level have been read, if nothing has changed them since: no stage
        // after the levels, for one.
        let stages_follow = self.schedule.units.last().is_none_or(|unit| !unit.ends_level);
        let changed = stages_follow || beds.is_some();
        #[cfg(feature = "dungeon")]
        let changed = changed || recipe.dungeons.is_some();
        let last = leaves.levels.last().filter(|last| last.level == level && !changed);
        let device = self.computed_by(executor);
        let mut from = self.in_executor(executor);
        let has_height = recipe.wanted().any(|name| name == "height");
        let height = match (has_height, last, field::find("height")) {
            (true, Some(last), _) => Some(last.words.clone()),
            (true, None, Some(field)) => Some(self.field_words(level, &land, field, &mut from)?),
            _ => None,
        };
        // Maps that follow from the heights need not read them once more.
        from.heights =
            height.as_ref().or(last.map(|last| &last.words)).map(|words| (land, &words[..]));
        let mut words = self.read_maps(&known, &mut water, &mut from)?;
        // The files for a program have rivers and lakes. Those of a part are none of the land's.
        let has_program = recipe.output.program.is_some() && !self.schedule.is_part();
        let asks = recipe.water.as_ref().is_some_and(|water| water.has_vectors() || has_program);
        if asks && water.is_none() {
            water = self.find_water(&mut from)?;
        }
        words.extend(height.map(|words| ("height", words)));
        let vectors = water.as_ref().filter(|_| asks).map(Water::vectors);
        Ok(Outcome {
            recipe: recipe.clone(),
            device,
            window: land,
            scale,
            stages: leaves.stages,
            levels: leaves.levels,
            biomes: shares,
            textures,
            weights,
            #[cfg(feature = "dungeon")]
            entrances: leaves.entrances,
            start_digest: self.start_digest(),
            water: water.as_ref().map(|water| water.summary_with(beds.as_ref())),
            vectors,
            digests: words.keys().map(|name| (*name, OnceLock::new())).collect(),
            words,
            range_m: self.range_m,
            georef: self.place_of(level, &land),
            globe: self.globe().map(|globe| {
                let (cell, north) = (libm::exp2(f64::from(level)), self.schedule.world().origin[1]);
                (globe, land.origin[1] as f64 * cell - north as f64, cell)
            }),
            missing: self.missing_at(level, &land),
        })
    }

    /// The words of every map that is wanted, but for the heights. `water` is found where a map is
    /// the first to need it.
    fn read_maps(
        &self,
        known: &[&'static Field],
        water: &mut Option<Water>,
        from: &mut InExecutor,
    ) -> Result<BTreeMap<&'static str, Vec<i32>>> {
        let (level, land) = (self.schedule.until_level(), self.window());
        let mut words = BTreeMap::new();
        // All materials are weighed together.
        let mut ground: Option<[Vec<i32>; 8]> = None;
        for name in self.recipe().wanted().filter(|name| *name != "height") {
            self.cancel.check()?;
            let Some(field) = known.iter().find(|field| field.name == name) else { continue };
            if words.contains_key(field.name) {
                continue;
            }
            if matches!(field.source, Source::Water(_)) && water.is_none() {
                *water = self.find_water(from)?;
            }
            if let (Source::Material(_), None) = (field.source, &ground) {
                ground = Some(self.materials(level, &land, water.as_ref(), from)?);
            }
            let own = match (field.source, water.as_ref()) {
                (Source::Water(of), Some(water)) => of(water),
                (Source::Material(of), _) => {
                    ground.as_mut().map(|all| std::mem::take(&mut all[of])).unwrap_or_default()
                }
                _ => self.field_words(level, &land, field, from)?,
            };
            words.insert(field.name, own);
        }
        Ok(words)
    }

    /// The water of the land as the executor has it; none without heights.
    fn find_water(&self, from: &mut InExecutor) -> Result<Option<Water>> {
        self.cancel.check()?;
        let level = self.schedule.until_level();
        self.water(level, &self.window(), self.recipe().has_rain(), from)
    }

    /// What is said to compute it.
    fn computed_by(&self, executor: &dyn Executor) -> String {
        #[cfg(feature = "classic")]
        if self.classic {
            return super::classic::NAME.into();
        }
        executor.name()
    }

    /// What tells the sizes of cells of each row, where rows differ.
    pub(super) fn globe(&self) -> Option<Globe> {
        let georef = self.georef.as_ref()?;
        let (part, whole) = (self.schedule.region().origin, self.schedule.world());
        // What is known of the map is said of all of it.
        let georef = georef.clone().from(whole.origin[0] - part[0], whole.origin[1] - part[1]);
        Globe::of(&georef, self.schedule.scale_on(0).spacing_m, whole.height)
    }

    /// The sizes of the cells of each row of a window of a level, where rows differ.
    pub(crate) fn metric(&self, level: i32, window: &Window) -> Option<Metric> {
        let north = self.schedule.world().origin[1] as f64;
        let cell = libm::exp2(f64::from(level));
        // Rows of a level are counted in rows of the recipe's lattice, from the land's north on.
        let row = |row: u32| (window.origin[1] as f64 + f64::from(row)) * cell - north;
        Some(self.globe()?.metric((0..window.height).map(row)))
    }

    /// Cuts the beds of rivers into the height that a whole run has left, where the recipe asks for
    /// it: the water, and what was cut.
    fn carve(&self, executor: &mut dyn Executor) -> Result<(Option<Water>, Option<Beds>)> {
        let asks = self.schedule.recipe.water.as_ref().is_some_and(|water| water.carve);
        // Coarser levels are previews, whose heights are those that the whole run has there.
        if !asks || self.schedule.until_level() != self.schedule.recipe.finest() {
            return Ok((None, None));
        }
        self.cancel.check()?;
        let (level, land) = (self.schedule.until_level(), self.schedule.land().0);
        let from = &mut self.in_executor(executor);
        let Some(mut water) = self.water(level, &land, self.recipe().has_rain(), from)? else {
            return Ok((None, None));
        };
        let beds = water.carve();
        let mut words = executor.read("height")?;
        let (from, to) =
            (self.schedule.level_window(self.schedule.until_level()), self.schedule.land().0);
        let [left, top] = [0, 1].map(|axis| (to.origin[axis] - from.origin[axis]) as usize);
        for (y, row) in beds.ground.chunks(to.width as usize).enumerate() {
            words[(top + y) * from.width as usize + left..][..row.len()].copy_from_slice(row);
        }
        executor.write("height", &words)?;
        Ok((Some(water), Some(beds)))
    }

    /// A map of the land in the unit of its field.
    pub(super) fn map_of(&self, field: &Field, words: &[i32]) -> Map {
        self.map_of_at(self.schedule.until_level(), field, words)
    }

    /// The same on a level.
    pub(super) fn map_of_at(&self, level: i32, field: &Field, words: &[i32]) -> Map {
        let (land, scale) = self.schedule.land_at(level);
        map_of(field, words, land, &scale, self.range_m, self.place_of(level, &land))
    }

    /// A map of a level as large as the land that is left.
    pub(super) fn enlarged(&self, map: Map, level: i32) -> Map {
        let ((from, _), (Window { origin, width, height }, scale)) =
            (self.schedule.land_at(level), self.schedule.land());
        if level == self.schedule.until_level() {
            return map;
        }
        let enlarged = Enlarged::of(
            &map.data,
            &from,
            origin,
            width,
            (level - self.schedule.until_level()) as u32,
        );
        let data = (0..i64::from(height)).flat_map(|y| enlarged.row(y)).collect();
        let georef = self.place_of(self.schedule.until_level(), &self.schedule.land().0);
        Map { width, height, spacing_m: scale.spacing_m, data, georef, ..map }
    }
}
