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
//! the settings of the level's parts (of strokes, those that come near), its window with its halo,
//! and the keys of the tiles that it is made from. So a store can be shared by recipes. After an
//! edit a tile whose inputs have new keys is looked for once more, by a digest of the words that it
//! is made from: so only the tiles are made again that what was changed has reached.

#[cfg(feature = "io")]
mod export;
mod grid;
mod pieces;
mod planner;
#[cfg(feature = "io")]
mod pool;
#[cfg(feature = "io")]
mod store;

pub use crate::identity::engine;
pub use crate::job::part::After;
#[cfg(feature = "io")]
pub use export::{FileOptions, Watch, XyzOptions, tilejson};
pub use planner::{Cost, LevelCost};
#[cfg(feature = "io")]
pub use pool::{PoolOptions, WindowPool, WindowRequest};
#[cfg(feature = "io")]
pub use store::{Checked, Listed, Store};

use crate::error::{Error, Invalid, Result};
use crate::exec::Executor;
use crate::field::{self, Field, Source};
#[cfg(feature = "io")]
use crate::job::Cancel;
use crate::job::Job;
use crate::job::part::{Piece, Slab, cut, padded, shown};
use crate::morphometry::{HeightGrid, SKY_REACH};
use crate::site::{Site, Window};
use crate::stage::levels::{coarser, lattice};
use crate::stage::strokes;
use crate::water::Water;
use grid::Axis;
use pieces::{Claim, Pieces};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A place of a tile: the level, the slab of its time, and how many tiles it lies to the east and
/// to the south of the land's north-west corner, or, where the land has no end, of the world's
/// origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// The level: 0 has the recipe's cells, and each next one is half as fine.
    pub level: i32,
    /// Slabs of the level's time that are left when it is made: 0 for what the level leaves.
    pub slab: u32,
    /// Tiles to the east.
    pub x: i64,
    /// Tiles to the south.
    pub y: i64,
}

/// Sides that tiles may have, in cells.
pub const SIDES: RangeInclusive<u32> = 16..=16384;

/// Pieces in memory at most, in bytes, besides those that are in work.
const MEMORY: u64 = 256 << 20;

/// Most cells of a side of a level on which water is followed: a level of 4096 has a vertex or two
/// more.
pub const WATER_SIDE: u32 = 4100;

/// Keys in memory at most: a walk through a world has no end.
const KEYS: usize = 1 << 18;

/// How the levels of a land are cut into tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// In space.
    pub space: Space,
    /// In time: steps of a stage that a slab has at most. None: a level's time is not cut.
    pub slab: Option<u32>,
}

/// How the levels of a land are cut in space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// Squares with about this many cells a side.
    Squares(u32),
    /// A part of a level, and of each coarser level what the part depends on, each cut into as few
    /// pieces as are small enough. Tile 0, 0 is the north-west one.
    Part {
        /// The level.
        level: i32,
        /// The part, on the level's lattice.
        window: Window,
        /// Cells that a piece with its halo has at most, as far as the halo leaves it [`SIDES`]'
        /// least.
        cells: u64,
    },
}

/// A part of a level that is cut evenly.
#[derive(Clone, Copy, Debug)]
struct Part {
    window: Window,
    /// Pieces along each axis.
    count: [u32; 2],
}

impl Part {
    /// A window of a level in pieces that have at most `cells` cells with their halo in a slab.
    fn of(job: &Job, level: i32, slab: &Slab, window: Window, cells: u64) -> Result<Self> {
        let halo = job.halo(level, slab, &window)?;
        let (all, reach) = ([halo.width, halo.height], 2 * job.reach_in(level, slab));
        let sides = [window.width, window.height];
        let mut count = [1, 1];
        let own = |axis: usize, count: u32| u64::from(sides[axis].div_ceil(count));
        loop {
            let wide =
                [0, 1].map(|axis| (own(axis, count[axis]) + reach).min(u64::from(all[axis])));
            let longest = wide[0].max(wide[1]);
            if longest <= u64::from(Window::SIDE_MAX) && wide[0] * wide[1] <= cells {
                break;
            }
            let axis = usize::from(own(1, count[1]) > own(0, count[0]));
            if own(axis, count[axis] + 1) < u64::from(*SIDES.start()) {
                break;
            }
            count[axis] += 1;
        }
        Ok(Self { window, count })
    }
}

impl From<u32> for Cut {
    fn from(side: u32) -> Self {
        Space::Squares(side).into()
    }
}

impl From<Space> for Cut {
    fn from(space: Space) -> Self {
        Self { space, slab: None }
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match &self.space {
            Space::Squares(side) => write!(f, "tiles of {side} cells")?,
            Space::Part { cells: u64::MAX, .. } => write!(f, "one piece of each level")?,
            Space::Part { cells, .. } => {
                write!(f, "pieces of at most {cells} cells with their halos")?
            }
        }
        self.slab.map_or(Ok(()), |steps| write!(f, " and slabs of {steps} steps"))
    }
}

impl Cut {
    /// A part of a level, and what it depends on, in one piece of each level.
    pub fn in_one_piece(level: i32, window: Window) -> Self {
        Space::Part { level, window, cells: u64::MAX }.into()
    }

    /// The same with a level's time cut into slabs of at most `steps` steps of a stage.
    pub fn in_slabs(self, steps: u32) -> Self {
        Self { slab: Some(steps), ..self }
    }

    /// Cells of a side of its squares; none for a part.
    pub fn side(&self) -> Option<u32> {
        match self.space {
            Space::Squares(side) => Some(side),
            Space::Part { .. } => None,
        }
    }

    /// The slabs of a level, the last first.
    fn slabs(&self, job: &Job, level: i32) -> Vec<Slab> {
        job.slabs(level, self.slab.unwrap_or(u32::MAX))
    }

    /// Refuses squares of a side that is not one of [`SIDES`], and slabs without a step.
    fn check(&self) -> Result<()> {
        if self.slab == Some(0) {
            let message = "slabs of 0 steps: allowed is 1 or more";
            return Err(Invalid::of("time_chunk", 0, "1 or more").saying(message).into());
        }
        match self.side().filter(|side| !SIDES.contains(side)) {
            None => Ok(()),
            Some(side) => {
                let allowed = format!("{} to {} cells", SIDES.start(), SIDES.end());
                let message = format!("tiles of {side} cells: allowed {allowed}");
                Err(Invalid::of("tile_size", side, allowed).saying(message).into())
            }
        }
    }

    /// Of a part, how each slab of each level is cut; nothing for squares.
    ///
    /// # Errors
    /// [`Error::Limit`] for windows that reach farther than numbers do.
    fn parts(&self, job: &Job) -> Result<BTreeMap<(i32, u32), Part>> {
        let mut parts = BTreeMap::new();
        let Space::Part { level: first, window, cells } = &self.space else { return Ok(parts) };
        let mut needed = *window;
        for level in *first..=*levels_of(job).end() {
            // What maps of this level look at, and what the next finer level takes.
            let own = lattice(window, level - first, false);
            needed = both(
                &needed,
                &padded(&own, job.recipe().halo_of_maps(level), job.bounds(level).as_ref())?,
            );
            for (left, slab) in (0..).zip(self.slabs(job, level)) {
                parts.insert((level, left), Part::of(job, level, &slab, needed, *cells)?);
                needed = job.halo(level, &slab, &needed)?;
            }
            needed = coarser(&needed, false);
        }
        Ok(parts)
    }
}

/// The smallest window that holds two.
fn both(a: &Window, b: &Window) -> Window {
    let end = |of: &Window, axis: usize| of.origin[axis] + i64::from([of.width, of.height][axis]);
    let origin = [0, 1].map(|axis| a.origin[axis].min(b.origin[axis]));
    let size = [0, 1].map(|axis| (end(a, axis).max(end(b, axis)) - origin[axis]) as u32);
    Window { origin, width: size[0], height: size[1] }
}

/// The levels of a run that have tiles.
fn levels_of(job: &Job) -> RangeInclusive<i32> {
    let finest = job.recipe().finest();
    finest..=finest + job.levels() as i32 - 1
}

/// The tiles of a run.
pub struct Tiles {
    job: Job,
    cut: Cut,
    /// How each slab of each level is cut, where only a part is.
    parts: BTreeMap<(i32, u32), Part>,
    /// The slabs of each level, the last first.
    slabs: BTreeMap<i32, Vec<Slab>>,
    base_digest: Option<String>,
    /// What makes the lands of levels that are given: see [`Job::describe_given`].
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
        let cut = cut.into();
        cut.check()?;
        job.recipe().check_parts()?;
        if let Space::Part { level, .. } = cut.space {
            check_level(&job, level)?;
        }
        let base_digest = job.start_digest();
        Ok(Self {
            parts: cut.parts(&job)?,
            slabs: levels_of(&job).map(|level| (level, cut.slabs(&job, level))).collect(),
            given: job.describe_given(),
            job,
            cut,
            base_digest,
            engine: engine().into(),
            #[cfg(feature = "io")]
            store: None,
            pieces: Arc::new(Pieces::new(MEMORY)),
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
        self.job = self.job.clone().cancel_by(cancel.clone());
    }

    /// The run whose land they are.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// How they are cut.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// The levels that have tiles, the finest first.
    pub fn levels(&self) -> RangeInclusive<i32> {
        levels_of(&self.job)
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
        let Tile { level, slab, x, y } = tile;
        self.slab(tile)?;
        if let Space::Part { level: finest, .. } = self.cut.space
            && level < finest
        {
            return Err(Error::param(format!(
                "level {level}: the tiles are of a part of level {finest}, and of coarser levels"
            )));
        }
        let axes = self.axes(level, slab);
        let cells = [axes[0].cells(x), axes[1].cells(y)];
        if let [Some((left, width)), Some((top, height))] = cells {
            return Ok(Window { origin: [left, top], width, height });
        }
        let land = self
            .bounds(level, slab)
            .map_or("up to 2^61 cells from the origin".into(), |bounds| shown(&bounds));
        let message = format!(
            "tile {x}, {y} of level {level}, in {}, lies beyond the land, {land}",
            self.cut
        );
        Err(Invalid::of("tile", format!("{level} {x} {y}"), land).saying(message).into())
    }

    /// The slab of a tile.
    fn slab(&self, tile: Tile) -> Result<Slab> {
        check_level(&self.job, tile.level)?;
        let slabs = &self.slabs[&tile.level];
        slabs.get(tile.slab as usize).copied().ok_or_else(|| {
            let allowed = format!("0 to {}", slabs.len() - 1);
            let message = format!(
                "slab {} of level {}: in {} the level has slabs {allowed}",
                tile.slab, tile.level, self.cut
            );
            Invalid::of("slab", tile.slab, allowed).saying(message).into()
        })
    }

    /// How a slab of a level is cut.
    fn axes(&self, level: i32, slab: u32) -> [Axis; 2] {
        axes(&self.cut, self.parts.get(&(level, slab)), self.job.bounds(level))
    }

    /// What is cut of a slab of a level: its land, or what a part needs of it. None where that has
    /// no end.
    fn bounds(&self, level: i32, slab: u32) -> Option<Window> {
        self.parts.get(&(level, slab)).map(|part| part.window).or_else(|| self.job.bounds(level))
    }

    /// The tiles that cover a window of a level, row by row from the north-west.
    pub fn over(&self, level: i32, window: &Window) -> impl Iterator<Item = Tile> + use<> {
        self.over_slab(level, 0, window)
    }

    /// The same of a slab.
    fn over_slab(
        &self,
        level: i32,
        slab: u32,
        window: &Window,
    ) -> impl Iterator<Item = Tile> + use<> {
        let [x, y] = self.axes(level, slab);
        let columns = x.over(window.origin[0], window.width);
        let rows = y.over(window.origin[1], window.height);
        rows.flat_map(move |y| columns.clone().map(move |x| Tile { level, slab, x, y }))
    }

    /// The tiles that a tile is made from: of the slab before, or, for the first, of the next
    /// coarser level; none on the coarsest.
    ///
    /// # Errors
    /// As [`Tiles::window`].
    pub fn inputs(&self, tile: Tile) -> Result<Vec<Tile>> {
        let window = self.window(tile)?;
        let (_, halo) = self.job.near(tile.level, &self.slab(tile)?, &window)?;
        Ok(self.inputs_of(tile, &halo))
    }

    /// The tiles that lie below a tile with its halo.
    fn inputs_of(&self, tile: Tile, halo: &Window) -> Vec<Tile> {
        let Tile { level, slab, .. } = tile;
        if !self.is_first(tile) {
            self.over_slab(level, slab + 1, halo).collect()
        } else if level == *self.levels().end() {
            vec![]
        } else {
            self.over(level + 1, &coarser(halo, false)).collect()
        }
    }

    /// Whether a tile is of the first slab of its level's time.
    fn is_first(&self, tile: Tile) -> bool {
        self.slabs.get(&tile.level).is_none_or(|slabs| tile.slab as usize + 1 == slabs.len())
    }

    /// Cells of a level that tiles of a slab of its time are made on beyond their sides; 0 is the
    /// last slab.
    pub fn halo(&self, level: i32, slab: u32) -> u64 {
        let slabs = self.slabs.get(&level).map_or(&[][..], |slabs| slabs);
        slabs.get(slab as usize).map_or(0, |slab| self.job.reach_in(level, slab))
    }

    /// The key of a tile: a digest of all that decides its words.
    ///
    /// # Errors
    /// As [`Tiles::window`].
    pub fn key(&mut self, tile: Tile) -> Result<String> {
        if let Some(key) = self.keys.get(&tile) {
            return Ok(key.clone());
        }
        let window = self.window(tile)?;
        let (near, halo) = self.job.near(tile.level, &self.slab(tile)?, &window)?;
        let inputs = self
            .inputs_of(tile, &halo)
            .into_iter()
            .map(|input| self.key(input))
            .collect::<Result<Vec<_>>>()?;
        let key = self.digest(&near, tile, &window, &halo, &json!(inputs));
        if self.keys.len() >= KEYS {
            self.keys.clear();
        }
        self.keys.insert(tile, key.clone());
        Ok(key)
    }

    /// The digest of all that decides a tile, with what stands for its inputs.
    fn digest(
        &self,
        near: &Job,
        tile: Tile,
        window: &Window,
        halo: &Window,
        inputs: &serde_json::Value,
    ) -> String {
        let sides = |window: &Window| json!([window.origin, [window.width, window.height]]);
        let slab = self
            .slabs
            .get(&tile.level)
            .and_then(|slabs| slabs.get(tile.slab as usize))
            .copied()
            .unwrap_or(Slab::WHOLE);
        let mut described = json!({
            "engine": self.engine,
            "level": tile.level,
            "window": sides(window),
            "halo": sides(halo),
            "parts": near.describe_parts(tile.level, *halo),
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
        blake3::hash(described.to_string().as_bytes()).to_hex().to_string()
    }

    /// What a level leaves in a tile: from memory, from the store, or made, with the tiles that it
    /// is made from.
    ///
    /// # Errors
    /// As [`Tiles::window`]; [`Error::Limit`] for a tile that with its halo is larger than a window
    /// or than memory; the store's; those of a run.
    pub fn piece(&mut self, tile: Tile, executor: &mut dyn Executor) -> Result<Arc<Piece>> {
        self.job.cancel_handle().check()?;
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
        let slab = self.slab(tile)?;
        let (near, halo) = self.job.near(tile.level, &slab, &window)?;
        let inputs = self.inputs_of(tile, &halo);
        let (below, under) = if self.is_first(tile) {
            (tile.level + 1, coarser(&halo, false))
        } else {
            (tile.level, halo)
        };
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
        // A change of an input may not reach this one: then it has the words that it has under
        // another key.
        #[cfg(feature = "io")]
        let content = match &before {
            Some(before) => self.digest(&near, tile, &window, &halo, &json!(before.digest())),
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
        let piece = near.piece(tile.level, &slab, window, &halo, before, &bases, executor)?;
        self.counts[0] += 1;
        #[cfg(feature = "io")]
        if let Some(store) = &self.store {
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
        check_level(&self.job, level)?;
        if let Some(why) = self.job.recipe().lacks(field, level) {
            return Err(Error::param(format!("{}: {why}", field.name)));
        }
        let (buffer, round) = match field.source {
            Source::Word { buffer: "height", .. } => {
                ("height", self.job.recipe().ground_round(level))
            }
            Source::Word { buffer, .. } | Source::Difference { buffer, .. } => (buffer, 0),
            Source::Water(of) => return self.water_words(level, window, field.name, of, executor),
            Source::Grid(_) => ("height", self.job.recipe().halo_of_maps(level)),
        };
        let wide = padded(&window, round, self.job.bounds(level).as_ref())?;
        if let Some(part) =
            self.parts.get(&(level, 0)).filter(|part| both(&part.window, &wide) != part.window)
        {
            return Err(Error::param(format!(
                "{}: the tiles are of the part of {}",
                shown(&wide),
                shown(&part.window)
            )));
        }
        let mut piece = Piece::empty(level, wide);
        for tile in self.over(level, &wide).collect::<Vec<_>>() {
            piece.put(&*self.piece(tile, executor)?, |name| {
                name == buffer || buffer == "height" && name == "biome"
            });
        }
        #[cfg(feature = "dungeon")]
        if buffer == "height" && level == 0 {
            let kinds = piece.words.remove("biome").map(|(_, kinds)| kinds).unwrap_or_default();
            if let Some((_, words)) = piece.words.get_mut("height") {
                self.job.level_entrances(wide, words, &kinds)?;
            }
        }
        let absent =
            || Error::param(format!("{}: the tiles of this recipe have no such map", field.name));
        let (each, words) = piece.words.get(buffer).ok_or_else(absent)?;
        let own = |word: usize| cut(words, &wide, &window, *each, word..word + 1);
        Ok(match field.source {
            Source::Word { word, .. } => own(word),
            Source::Difference { word, less, .. } => {
                own(word).into_iter().zip(own(less)).map(|(a, b)| a.saturating_sub(b)).collect()
            }
            // It has returned above.
            Source::Water(_) => vec![],
            Source::Grid(made) => {
                // Light comes over the land alone, not over its margin.
                let land = self.job.land_on(level);
                let seen = padded(&window, u64::from(SKY_REACH), land.as_ref())?;
                let words = cut(words, &wide, &seen, 1, 0..1);
                let spacing_m = self.job.scale_on(level).spacing_m;
                let metric = self.job.metric(level, &seen);
                let grid =
                    HeightGrid::new(&words, seen.width as usize, spacing_m).on(metric.as_ref());
                let values: Vec<i32> =
                    made(&grid).into_iter().map(|v| v.to_bits() as i32).collect();
                cut(&values, &seen, &window, 1, 0..1)
            }
        })
    }

    /// The level whose water the tiles of a level show. Drainage depends on all of the land, so
    /// water is followed on whole levels: on the finest that is no finer than the tiles' and whose
    /// land has at most [`WATER_SIDE`] cells a side.
    ///
    /// # Errors
    /// [`Error::Limit`] if the land has no such level, [`Error::Param`] if it has no end.
    pub fn water_level(&self, level: i32) -> Result<i32> {
        let small = |level: &i32| {
            self.job.land_on(*level).is_some_and(|land| land.width.max(land.height) <= WATER_SIDE)
        };
        (level..=*self.levels().end()).find(small).ok_or_else(|| {
            if self.job.recipe().endless {
                return Error::param(
                    "maps of water: drainage depends on all of the land, and this \
                     land has no end; leave them out, or make a window by `thalweg \
                     run`",
                );
            }
            let land = self.job.land_on(*self.levels().end()).unwrap_or(self.job.whole_window());
            Error::Limit(format!(
                "maps of water: water is followed on a whole level of at most {WATER_SIDE} cells a \
                 side, and the coarsest has {} x {}: give the recipe more levels",
                land.width, land.height
            ))
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
        let land = self.job.land_on(at).unwrap_or(window);
        let Some(settings) = self.job.recipe().water.clone() else { return Err(no_water(name)) };
        if self.water.as_ref().is_none_or(|(known, _)| *known != at) {
            let read = |name: &str| {
                field::find(name).ok_or_else(|| Error::param(format!("{name:?}: no such map")))
            };
            let ground = self.words(at, land, read("height")?, executor)?;
            let rain = if self.job.recipe().has_rain() {
                Some(self.words(at, land, read("rain")?, executor)?)
            } else {
                None
            };
            self.water_map = None;
            let mut place = self.job.place_of_water(at, &land);
            if settings.channel_flow.is_some() {
                place.flow = Some(self.words(at, land, read("flow")?, executor)?);
            }
            let scale = self.job.scale_on(at);
            self.water =
                Some((at, Water::on(&place, ground, land.width as usize, scale, rain, &settings)?));
        }
        if self.water_map.as_ref().is_none_or(|(known, map, _)| (*known, *map) != (at, name)) {
            self.water_map = self.water.as_ref().map(|(_, water)| (at, name, of(water)));
        }
        let words = self.water_map.as_ref().map_or(&[][..], |(.., words)| words);
        let finer = at - level;
        // The coarser cell that is nearest: its sample lies on every 2^finer-th sample of the
        // level.
        let nearest = |axis: usize, cell: i64, cells: u32| {
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

    /// The maps that the tiles have: those that the recipe is asked for, but for textures and
    /// weights of biomes. Of a land without an end there are none of water.
    pub fn fields(&self) -> Vec<&'static Field> {
        Self::fields_of(&self.job)
    }

    /// The maps that the tiles of a run have, on the finest level.
    pub fn fields_of(job: &Job) -> Vec<&'static Field> {
        let known = job.recipe().fields();
        let mut fields: Vec<&'static Field> = vec![];
        let there =
            |field: &&Field| !job.recipe().endless || !matches!(field.source, Source::Water(_));
        // The colours of a picture name maps that only some recipes leave.
        let find = |name: &str| known.iter().copied().find(|field| field.name == name);
        for field in job.recipe().wanted().filter_map(find).filter(there) {
            if fields.iter().all(|known| known.name != field.name) {
                fields.push(field);
            }
        }
        fields
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
        let Some(name) = asked else {
            recipe.check_maps_on(level)?;
            return Ok(all
                .into_iter()
                .filter(|field| recipe.lacks(field, level).is_none())
                .collect());
        };
        let Some(field) = all.iter().find(|field| field.name == name) else {
            let known = all.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
            let message =
                format!("no map {name:?}: the recipe's tiles have {known}; add it to output.maps");
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

/// How a level is cut along each axis: its part, if only that is made, or else its land.
fn axes(cut: &Cut, part: Option<&Part>, land: Option<Window>) -> [Axis; 2] {
    [0, 1].map(|axis| match (part, cut) {
        (Some(part), _) => Axis::of_count(part.count[axis], &part.window, axis),
        (None, cut) => Axis::of_side(cut.side().unwrap_or(*SIDES.end()), land.as_ref(), axis),
    })
}

/// Refuses a level that the land has not.
fn check_level(job: &Job, level: i32) -> Result<()> {
    let levels = levels_of(job);
    if levels.contains(&level) {
        return Ok(());
    }
    let allowed = format!("{} to {}", levels.start(), levels.end());
    Err(Invalid::of("level", level, allowed.clone())
        .saying(format!("level {level}: the land has levels {allowed}"))
        .into())
}

/// The error for a map of water of a recipe that does not ask for water.
fn no_water(name: &str) -> Error {
    Error::param(format!("{name}: the recipe has no table [water]"))
}

impl Job {
    /// The land of a level without its margin; none where it has no end.
    fn land_on(&self, level: i32) -> Option<Window> {
        (!self.recipe().endless).then(|| lattice(&self.whole_window(), level, false))
    }

    /// The same run with the strokes alone that can change a tile's window in a slab of the level's
    /// time, and the window with its halo.
    fn near(&self, level: i32, slab: &Slab, window: &Window) -> Result<(Self, Window)> {
        let wide = self.halo(level, slab, window)?;
        let mut near = self.clone();
        for i in self.parts_of(level) {
            let site = Site { window: wide, ..self.site(i) };
            let step = &mut near.units[i].step;
            if step.stage.name == strokes::STAGE.name {
                step.settings = strokes::near(&step.settings, &site);
            }
        }
        // Those that are far away reach no farther.
        let halo = near.halo(level, slab, window)?;
        Ok((near, halo))
    }

    /// What decides the words that the parts of the run leave on a level, in a window with its
    /// halo.
    fn describe_parts(&self, level: i32, halo: Window) -> serde_json::Value {
        self.parts_of(level).map(|i| self.describe_unit(i, halo)).collect()
    }

    /// What decides the lands of levels that are given, beside the heights that the run starts
    /// from: what stages before the levels do, on the whole land. Nothing where each level's land
    /// is made for it.
    fn describe_given(&self) -> serde_json::Value {
        if !self.restricts() {
            return serde_json::Value::Null;
        }
        let whole = self.whole();
        let stages: Vec<_> =
            self.before_levels().map(|i| self.describe_unit(i, self.site(i).window)).collect();
        json!({ "land": [json!(whole.origin), json!([whole.width, whole.height])], "stages": stages })
    }

    /// What decides the words that a part of the run leaves in a window.
    fn describe_unit(&self, i: usize, window: Window) -> serde_json::Value {
        let unit = &self.units[i];
        let site = Site { window, ..self.site(i) };
        json!({
            "stage": unit.step.describe(),
            "seed": site.world.seed,
            "scale": [site.spacing_m(), site.datum_m()],
            "layers": format!("{:?}", site.layers),
            "summary": (unit.step.stage.summary)(&unit.step.settings, &site),
            "samples": self.samples_digest(i),
        })
    }
}
