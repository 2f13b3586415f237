//! Tiles: pieces of a land that are pure functions of the recipe and their place.
//!
//! # Rule
//! On every level the land is cut into squares of one side, or nearly, and a *tile* (level, x, y)
//! is what the level leaves in one. (Where a part is wanted alone, only what it depends on is cut:
//! [`Cut`].) It is made on the square and its *halo*, as many cells round it as the level's stages
//! reach, from the tiles of the next coarser level that lie below that, and cut. So a tile has the
//! words that one run of the whole land has there, whatever the size of tiles, their order, and the
//! device.
//!
//! Where a level has many steps its halos are large. Then its time can be cut, too: a *slab* is
//! some of its steps. The tile (level, slab, x, y) is made from the tiles of the slab before that
//! lie within reach of its own steps, and they hold all that there is in the middle of a stage:
//! maps, what the ground carries, what particles asked for, and the particles that stand there.
//!
//! # Keys
//! A tile's key is a digest of all that decides its words: the edition of the program ([`engine`]),
//! the settings of the level's units (of strokes, those that come near), its window with its halo,
//! and the keys of the tiles that it is made from. So a store can be shared by recipes. After an
//! edit a tile whose inputs have new keys is looked for once more, by a digest of the words that it
//! is made from. So only tiles that the change really reaches are made again.

#[cfg(feature = "io")]
mod export;
mod graph;
mod pieces;
#[cfg(feature = "io")]
mod pool;
#[cfg(feature = "io")]
mod store;

pub use crate::identity::engine;
pub use crate::job::piece::After;
pub use crate::schedule::{Cost, Cut, LevelCost, SIDES, Space, Tile};
#[cfg(feature = "io")]
pub use export::{FileOptions, Watch, XyzOptions, ZarrOptions, tilejson};
pub use graph::Node;
#[cfg(feature = "io")]
pub use pool::{PoolOptions, WindowPool, WindowRequest};
#[cfg(feature = "io")]
pub use store::{Checked, Listed, Store};

use crate::clock::Moment;
use crate::error::{Error, Invalid, Result};
use crate::exec::Executor;
use crate::field::{self, Field, Source};
#[cfg(feature = "io")]
use crate::job::Cancel;
use crate::job::Job;
use crate::job::fields::{Words, no_water};
use crate::job::piece::{Piece, cut};
use crate::recipe::LAND_MAX;
use crate::schedule::{Layout, PIECES_BYTES, Schedule, Slab, both, padded, shown};
use crate::site::Window;
use crate::stage::levels::coarser;
use crate::water::Water;
use pieces::{Claim, Pieces};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Most cells of a side of a level on which water is followed: a level of 4096 has a vertex or two
/// more.
pub const WATER_SIDE: u32 = 4100;

/// Seconds after which a device's pace is known.
const ENOUGH_TO_TIME_S: f64 = 0.4;

/// How far from the origin a window may lie, in cells.
const PLACE_MAX: u64 = 1 << 60;

/// Keys in memory at most: a walk through a world has no end.
const KEYS: usize = 1 << 18;

/// The tiles of a run.
pub struct Tiles {
    job: Arc<Job>,
    layout: Layout,
    base_digest: Option<String>,
    /// What makes the lands of levels that are given: see [`Schedule::describe_given`].
    given: serde_json::Value,
    /// The edition of the program that makes them.
    engine: String,
    #[cfg(feature = "io")]
    store: Option<Store>,
    /// The newest pieces, which other tiles of the same cut may share.
    pieces: Arc<Pieces>,
    keys: BTreeMap<Tile, String>,
    /// The water of the level that was asked for last.
    water: Option<(i32, Water)>,
    /// The map of it that was asked for last.
    water_map: Option<(i32, &'static str, Vec<i32>)>,
    /// How many tiles were made, and how many were in the store.
    counts: [u64; 2],
}

impl Tiles {
    /// The tiles of a run: squares of a side, which are at most half as much again a side, or the
    /// pieces of a part.
    ///
    /// # Errors
    /// [`Error::Param`] for a side that tiles cannot have, for a level that the land has not, and
    /// for a torus.
    pub fn new(job: Job, cut: impl Into<Cut>) -> Result<Self> {
        Ok(Self {
            layout: Layout::of(job.schedule(), cut.into())?,
            base_digest: job.start_digest(),
            given: job.schedule().describe_given(&|i| job.samples_digest(i)),
            job: job.into(),
            engine: engine().into(),
            #[cfg(feature = "io")]
            store: None,
            pieces: Arc::new(Pieces::new(PIECES_BYTES)),
            keys: BTreeMap::new(),
            water: None,
            water_map: None,
            counts: [0; 2],
        })
    }

    /// The same tiles, kept in a store and taken from there where they are.
    #[cfg(feature = "io")]
    pub fn stored_in(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// The same tiles, under the keys that another edition of the program would give them. For
    /// tests.
    #[doc(hidden)]
    pub fn of_edition(mut self, engine: &str) -> Self {
        self.engine = engine.into();
        self
    }

    /// The same tiles, with the pieces in memory that others have: those of the same run and cut.
    #[cfg(feature = "io")]
    fn sharing(mut self, pieces: Arc<Pieces>) -> Self {
        self.pieces = pieces;
        self
    }

    /// Another [`Cancel`] ends what they do from now on.
    #[cfg(feature = "io")]
    fn cancel_by(&mut self, cancel: &Cancel) {
        self.job = Arc::new(Job::clone(&self.job).cancel_by(cancel.clone()));
    }

    /// The run whose land they are.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// How they are cut.
    pub fn cut(&self) -> &Cut {
        self.layout.cut()
    }

    /// The levels that have tiles, the finest first.
    pub fn levels(&self) -> RangeInclusive<i32> {
        self.layout.levels()
    }

    /// How many tiles were made so far, and how many the store had.
    pub fn counts(&self) -> [u64; 2] {
        self.counts
    }

    /// The cells of a tile, as far as the land goes.
    ///
    /// # Errors
    /// [`Error::Param`] for a level or a slab that the land has not, and for a tile beyond the
    /// land.
    pub fn window(&self, tile: Tile) -> Result<Window> {
        self.layout.window(tile)
    }

    /// The tiles that cover a window of a level, row by row from the north-west.
    pub fn over(&self, level: i32, window: &Window) -> impl Iterator<Item = Tile> + use<> {
        self.layout.over(level, 0, window)
    }

    /// The tiles that a tile is made from: of the slab before, or, for the first, of the next
    /// coarser level; none on the coarsest.
    ///
    /// # Errors
    /// As [`Tiles::window`].
    pub fn inputs(&self, tile: Tile) -> Result<Vec<Tile>> {
        let (_, halo) = self.near(tile)?;
        Ok(self.layout.inputs(tile, &halo).2)
    }

    /// What decides a tile alone, and its window with its halo.
    fn near(&self, tile: Tile) -> Result<(Schedule, Window)> {
        let (window, slab) = (self.layout.window(tile)?, self.layout.slab(tile)?);
        self.job.schedule().near(tile.level, &slab, &window)
    }

    /// Cells of a level that tiles of a slab of its time are made on beyond their sides; 0 is the
    /// last slab.
    pub fn halo(&self, level: i32, slab: u32) -> u64 {
        let slab = self.layout.slabs(level).get(slab as usize);
        slab.map_or(0, |slab| self.job.schedule().reach_in(level, slab))
    }

    /// The key of a tile: a digest of all that decides its words.
    ///
    /// # Errors
    /// As [`Tiles::window`].
    pub fn key(&mut self, tile: Tile) -> Result<String> {
        if let Some(key) = self.keys.get(&tile) {
            return Ok(key.clone());
        }
        let (near, halo) = self.near(tile)?;
        let inputs = self.layout.inputs(tile, &halo).2;
        let inputs = inputs.into_iter().map(|input| self.key(input)).collect::<Result<Vec<_>>>()?;
        let key = self.digest(&near, tile, &halo, &json!(inputs))?;
        if self.keys.len() >= KEYS {
            // All at once: keys follow from others, and finding them again costs little beside a
            // tile.
            self.keys.clear();
        }
        self.keys.insert(tile, key.clone());
        Ok(key)
    }

    /// The digest of all that decides a tile, with what stands for its inputs.
    fn digest(
        &self,
        near: &Schedule,
        tile: Tile,
        halo: &Window,
        inputs: &serde_json::Value,
    ) -> Result<String> {
        let sides = |window: &Window| json!([window.origin, [window.width, window.height]]);
        let (window, slab) = (self.layout.window(tile)?, self.layout.slab(tile)?);
        let mut described = json!({
            "engine": self.engine,
            "level": tile.level,
            "window": sides(&window),
            "halo": sides(halo),
            "parts": near.describe_level(tile.level, *halo, &|i| self.job.samples_digest(i)),
            "start": self.base_digest,
            "maps": self.job.recipe().wanted().collect::<Vec<_>>(),
            "inputs": inputs,
        });
        if slab != Slab::WHOLE {
            described["slab"] = slab.describe();
        }
        if !self.given.is_null() {
            described["given"] = self.given.clone();
        }
        Ok(blake3::hash(described.to_string().as_bytes()).to_hex().to_string())
    }

    /// What a level leaves in a tile: from memory, from the store, or made, with the tiles that it
    /// is made from.
    ///
    /// # Errors
    /// As [`Tiles::window`]; [`Error::Limit`] for a tile that with its halo is larger than a window
    /// or than memory; the store's; those of a run.
    pub fn piece(&mut self, tile: Tile, executor: &mut dyn Executor) -> Result<Arc<Piece>> {
        self.job.cancel_handle().check()?;
        // The claim borrows the handle, while `self` is needed for the making.
        let pieces = self.pieces.clone();
        let making = match pieces.claim(tile, &self.job.cancel_handle())? {
            Claim::There(piece) => return Ok(piece),
            Claim::Ours(making) => making,
        };
        let window = self.window(tile)?;
        #[cfg(feature = "io")]
        let key = self.key(tile)?;
        #[cfg(feature = "io")]
        if let Some(store) = &self.store
            && let Some(piece) =
                store.get(&key)?.filter(|piece| (piece.level, piece.window) == (tile.level, window))
        {
            self.counts[1] += 1;
            return Ok(making.done(piece));
        }
        let slab = self.layout.slab(tile)?;
        let (near, halo) = self.near(tile)?;
        let (below, under, inputs) = self.layout.inputs(tile, &halo);
        // With a store they are all there before room is taken for what they are joined to, so only
        // one tile's room is taken at a time.
        #[cfg(feature = "io")]
        for input in &inputs {
            self.make_ready(*input, executor)?;
        }
        let mut before = (!inputs.is_empty()).then(|| Piece::empty(below, under));
        for input in inputs {
            let piece = self.piece(input, executor)?;
            before.iter_mut().for_each(|before| before.put(&piece, |_| true));
        }
        // If a change of an input did not reach this tile, the store has its words under another
        // key.
        #[cfg(feature = "io")]
        let content = match &before {
            Some(before) => self.digest(&near, tile, &halo, &json!(before.digest()))?,
            None => key.clone(),
        };
        #[cfg(feature = "io")]
        if let Some(store) = &self.store
            && let Some(piece) = store
                .get(&content)?
                .filter(|piece| (piece.level, piece.window) == (tile.level, window))
        {
            store.alias(&key, &content)?;
            self.counts[1] += 1;
            return Ok(making.done(piece));
        }
        let bases = self.pieces.bases(&self.job, executor)?;
        let job = self.job.of_schedule(near);
        let piece = job.piece(tile.level, &slab, window, &halo, before, &bases, executor)?;
        self.counts[0] += 1;
        #[cfg(feature = "io")]
        if let Some(store) = &self.store {
            // The tile comes before what names it, so no name leads to nothing.
            store.put(&content, &piece)?;
            store.alias(&key, &content)?;
        }
        Ok(making.done(piece))
    }

    /// Makes a tile that the store has not. Without a store nothing is made.
    #[cfg(feature = "io")]
    fn make_ready(&mut self, tile: Tile, executor: &mut dyn Executor) -> Result<()> {
        let key = self.key(tile)?;
        if self.store.as_ref().is_some_and(|store| !store.has(&key)) {
            self.piece(tile, executor)?;
        }
        Ok(())
    }

    /// The exact words of a map in a window of a level, from the tiles that cover it.
    ///
    /// # Errors
    /// As [`Tiles::piece`]; [`Error::Param`] for a map that the recipe does not leave or that tiles
    /// do not have.
    pub fn words(
        &mut self,
        level: i32,
        window: Window,
        field: &Field,
        executor: &mut dyn Executor,
    ) -> Result<Vec<i32>> {
        self.layout.check_level(level)?;
        if let Some(why) = self.job.recipe().lacks(field, level) {
            return Err(Error::param(format!("{}: {why}", field.name)));
        }
        if let Some(why) = Self::lacks_wholly(&self.job, field) {
            return Err(Error::param(format!("{}: {why}", field.name)));
        }
        if let Source::Water(of) = field.source {
            return self.water_words(level, window, field.name, of, executor);
        }
        // A handle of its own, since the tiles are borrowed below.
        let job = self.job.clone();
        job.field_words(
            level,
            &window,
            field,
            &mut InTiles { tiles: self, name: field.name, executor },
        )
    }

    /// The level whose water the tiles of a level show. Drainage depends on all of the land, so
    /// water is followed on whole levels: on the finest that is no finer than the tiles' and whose
    /// land has at most [`WATER_SIDE`] cells a side.
    ///
    /// # Errors
    /// [`Error::Limit`] if the land has no such level, [`Error::Param`] if it has no end.
    pub fn water_level(&self, level: i32) -> Result<i32> {
        let small = |level: &i32| {
            self.job
                .schedule()
                .world_on(*level)
                .is_some_and(|land| land.width.max(land.height) <= WATER_SIDE)
        };
        (level..=*self.levels().end()).find(small).ok_or_else(|| {
            if self.job.recipe().endless {
                return Error::param(
                    "maps of water: drainage depends on all of the land, and this \
                     land has no end; leave them out, or make a window by `thalweg \
                     run`",
                );
            }
            let land = self
                .job
                .schedule()
                .world_on(*self.levels().end())
                .unwrap_or(self.job.schedule().world());
            Error::over(format!(
                "maps of water: water is followed on a whole level of at most {WATER_SIDE} cells a \
                 side, and the coarsest has {} x {}: give the recipe more levels",
                land.width, land.height
            ), land.width.max(land.height), WATER_SIDE, "cells a side")
        })
    }

    /// The words of a map of water in a window of a level: those of the coarser cell that is
    /// nearest, where the level's own land is too large.
    fn water_words(
        &mut self,
        level: i32,
        window: Window,
        name: &'static str,
        of: fn(&Water) -> Vec<i32>,
        executor: &mut dyn Executor,
    ) -> Result<Vec<i32>> {
        let at = self.water_level(level)?;
        let land = self.job.schedule().world_on(at).unwrap_or(window);
        if self.water.as_ref().is_none_or(|(known, _)| *known != at) {
            let (job, has_rain) = (self.job.clone(), self.job.recipe().has_rain());
            if let Some(why) = field::find(name).and_then(|map| job.recipe().lacks(map, at)) {
                return Err(Error::param(format!("{name}: {why}")));
            }
            // The map of other water goes before memory is taken for this one's.
            self.water_map = None;
            let water =
                job.water(at, &land, has_rain, &mut InTiles { tiles: self, name, executor })?;
            self.water = Some((at, water.ok_or_else(|| no_water(name))?));
        }
        if self.water_map.as_ref().is_none_or(|(known, map, _)| (*known, *map) != (at, name)) {
            self.water_map = self.water.as_ref().map(|(_, water)| (at, name, of(water)));
        }
        let words = self.water_map.as_ref().map_or(&[][..], |(.., words)| words);
        let finer = at - level;
        // The coarser cell that is nearest: its sample lies on every 2^finer-th sample of the
        // level.
        let nearest = |axis: usize, cell: i64, cells: u32| {
            // An arithmetic shift rounds down below 0, too, so half a cell more gives the nearest.
            let coarse = (cell + ((1 << finer) >> 1)) >> finer;
            (coarse - land.origin[axis]).clamp(0, i64::from(cells) - 1) as usize
        };
        let columns: Vec<usize> = (0..window.width)
            .map(|x| nearest(0, window.origin[0] + i64::from(x), land.width))
            .collect();
        let rows =
            (0..window.height).map(|y| nearest(1, window.origin[1] + i64::from(y), land.height));
        Ok(rows
            .flat_map(|row| {
                columns.iter().map(move |column| words[row * land.width as usize + column])
            })
            .collect())
    }

    /// Passes over cells that a device does in a second, measured on a small window of a level:
    /// what [`Cost::work`] is to be divided by for the seconds that a job takes. It takes some
    /// tenths of a second, and some seconds on a slow device.
    ///
    /// # Errors
    /// Those of a run.
    pub fn pace(
        job: &Job,
        level: i32,
        window: &Window,
        executor: &mut dyn Executor,
    ) -> Result<f64> {
        let bases = job.bases(executor)?;
        let passes = job.schedule().passes_on(level).max(1) as f64;
        let mut pace = 0.0;
        // From a small window on, since a device may be slow, and up to one that keeps it busy.
        for side in [64, 128, 256, 512, 1024, 2048, 4096] {
            let sides = [window.width.min(side), window.height.min(side)];
            let origin = [0, 1].map(|a| {
                window.origin[a] + i64::from(([window.width, window.height][a] - sides[a]) / 2)
            });
            let own = Window { origin, width: sides[0], height: sides[1] };
            // Without its halo and on level land it has other words, and takes as long.
            let coarse = job.level_land(level, coarser(&own, false));
            let begun = Moment::now();
            job.piece(level, &Slab::WHOLE, own, &own, Some(coarse), &bases, executor)?;
            let seconds = begun.elapsed().as_secs_f64().max(1e-9);
            pace = passes * own.cells() as f64 / seconds;
            if seconds > ENOUGH_TO_TIME_S || side >= window.width.max(window.height) {
                break;
            }
        }
        Ok(pace)
    }

    /// The maps that the tiles have: those that the recipe is asked for, but for textures and
    /// weights of biomes. Of a land without an end there are none of water.
    pub fn fields(&self) -> Vec<&'static Field> {
        Self::fields_of(&self.job)
    }

    /// The maps that the tiles of a run have, on the finest level.
    pub fn fields_of(job: &Job) -> Vec<&'static Field> {
        let known = job.recipe().fields();
        let mut fields: Vec<&'static Field> = vec![];
        let there = |field: &&Field| match field.source {
            Source::Water(_) => !job.recipe().endless,
            _ => Self::lacks_wholly(job, field).is_none(),
        };
        // The colours of a picture name maps that only some recipes leave.
        let find = |name: &str| known.iter().copied().find(|field| field.name == name);
        for field in job.recipe().wanted().filter_map(find).filter(there) {
            if fields.iter().all(|known| known.name != field.name) {
                fields.push(field);
            }
        }
        fields
    }

    /// Why no level of a run has tiles of a map.
    fn lacks_wholly(job: &Job, field: &Field) -> Option<&'static str> {
        // They ask for the water of their own level.
        let is_wet = matches!(field.source, Source::Material(_)) && job.recipe().water.is_some();
        is_wet.then_some(
            "materials ask where water is, and drainage depends on all of the land; run the whole \
             land for them, or leave the table [water] out",
        )
    }

    /// The maps that the tiles of a level of a run have: one that the recipe makes behind its
    /// levels is on the finest alone. `asked` is one map, or else they are those of the recipe's
    /// output, and those that colour its picture as far as the level has them.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that is asked for, or is of the output, and that the level has
    /// not, with the reason.
    pub fn fields_on(job: &Job, level: i32, asked: Option<&str>) -> Result<Vec<&'static Field>> {
        let recipe = job.recipe();
        let all = Self::fields_of(job);
        let why = |name: &str| {
            let field = recipe.fields().into_iter().find(|field| field.name == name)?;
            Self::lacks_wholly(job, field)
        };
        let Some(name) = asked else {
            recipe.check_maps_on(level)?;
            for (i, name) in recipe.output.maps.iter().enumerate() {
                if let Some(why) = why(name) {
                    let message = format!(
                        "output.maps: {name}: tiles have no such map: {why}, or {name} out of \
                         output.maps"
                    );
                    let mut invalid = Invalid::of("maps", name, "").saying(message);
                    invalid.pointer = Some(format!("/output/maps/{i}"));
                    return Err(invalid.into());
                }
            }
            return Ok(all
                .into_iter()
                .filter(|field| recipe.lacks(field, level).is_none())
                .collect());
        };
        let Some(field) = all.iter().find(|field| field.name == name) else {
            let known = all.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
            let message = match why(name) {
                Some(why) => format!("{name}: tiles have no such map: {why}"),
                None => format!(
                    "no map {name:?}: the recipe's tiles have {known}; add it to output.maps"
                ),
            };
            return Err(Invalid::of("map", name, known).saying(message).into());
        };
        match recipe.lacks(field, level) {
            None => Ok(vec![*field]),
            Some(why) => Err(Invalid::of("map", name, "").saying(format!("{name}: {why}")).into()),
        }
    }

    /// Whether the tiles of a level have a map, if those of the finest level have it.
    #[cfg(feature = "io")]
    pub(crate) fn has(&self, field: &Field, level: i32) -> bool {
        self.job.recipe().lacks(field, level).is_none()
    }
}

/// Refuses a window without cells, and one that the land of a level has not.
fn check_window(job: &Job, level: i32, window: &Window) -> Result<()> {
    let wrong = |allowed: String| {
        let message = format!("window = {}: allowed {allowed}", shown(window));
        Err(Invalid::of("window", shown(window), allowed).saying(message).into())
    };
    if ![window.width, window.height].iter().all(|side| (1..=LAND_MAX).contains(side)) {
        return wrong(format!("1 to {LAND_MAX} cells a side"));
    }
    if window.origin.iter().any(|at| at.unsigned_abs() > PLACE_MAX) {
        return wrong("places up to 2^60 cells either way".into());
    }
    match job.schedule().world_on(level) {
        Some(land) if both(&land, window) != land => wrong(format!("within {}", shown(&land))),
        _ => Ok(()),
    }
}

/// The tiles of a run, and what makes those that are not there.
struct InTiles<'a> {
    tiles: &'a mut Tiles,
    /// The map that is wanted.
    name: &'static str,
    executor: &'a mut dyn Executor,
}

impl Words for InTiles<'_> {
    fn words(
        &mut self,
        level: i32,
        window: &Window,
        buffer: &'static str,
        _: usize,
        words: &[usize],
    ) -> Result<Vec<Cow<'_, [i32]>>> {
        let Self { tiles, name, executor } = self;
        // What dungeons do to the ground depends on what lies round it.
        let recipe = tiles.job.recipe();
        let round = if buffer == "height" { recipe.ground_round(level) } else { 0 };
        let wide = padded(window, round, tiles.job.schedule().bounds(level).as_ref())?;
        tiles.layout.check_window(level, &wide)?;
        let mut joined = Piece::empty(level, wide);
        for tile in tiles.over(level, &wide).collect::<Vec<_>>() {
            joined.put(&*tiles.piece(tile, *executor)?, |name| {
                name == buffer || buffer == "height" && name == "biome"
            });
        }
        #[cfg(feature = "dungeon")]
        if buffer == "height" && level == 0 {
            let kinds = joined.words.remove("biome").map(|(_, kinds)| kinds).unwrap_or_default();
            if let Some((_, words)) = joined.words.get_mut("height") {
                tiles.job.level_entrances(wide, words, &kinds)?;
            }
        }
        let absent = || Error::param(format!("{name}: the tiles of this recipe have no such map"));
        let (each, all) = joined.words.get(buffer).ok_or_else(absent)?;
        let own = |word: &usize| cut(all, &wide, window, *each, *word..word + 1).into();
        Ok(words.iter().map(own).collect())
    }
}
