//! Dungeons for games: floors of rooms on a grid after *The Binding of Isaac* and its remake
//! *Rebirth*, and layouts of many rooms and corridors after *TinyKeep*.
//!
//! A [`Generator`] and a seed make a [`Dungeon`]: plain data with rooms, the graph that joins them,
//! doors, keys, and what stands where. This module reads and writes no files;
//! [`crate::io::dungeon`] encodes dungeons.
//!
//! ```
//! use thalweg::dungeon::{Generator, Role, isaac, rooms::Rooms};
//!
//! let floor = Generator::Isaac(isaac::Settings { level: 3, ..Default::default() });
//! let dungeon = floor.make(7, &Rooms::standard())?;
//! let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss);
//! let boss = boss.expect("every floor has one");
//! println!("{} rooms, the boss {:?} doors away", dungeon.rooms.len(), boss.distance);
//! # assert!(dungeon.rooms.len() >= 12 && boss.distance > Some(1));
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! Sources: BorisTheBrave, *Dungeon Generation in Binding of Isaac*, 2020; Phi Dinh, *Procedural
//! Dungeon Generation Algorithm Explained*, 2013; A. Adonaac, *Procedural Dungeon Generation
//! Algorithm*, 2015. `docs/dungeons.md` in the repository has the rules, and our choices where the
//! sources leave something open.

pub mod floor_grid;
mod floor_plan;
mod furnish;
mod geometry;
pub mod isaac;
pub mod locks;
mod model;
pub mod placed;
pub mod random;
pub mod rebirth;
pub mod rooms;
mod shape;
mod steps;
mod tiles;
pub mod tinykeep;

pub use geometry::{Rect, Side};
pub use model::{
    Door, DoorState, Dungeon, Edge, Grid, Key, Role, Room, Spawn, Tally, Thing, UnusedRoom,
};
pub use shape::Shape;
pub use steps::{Mark, Step};
pub use tiles::{Tile, Tiles};

use crate::error::Result;
use serde::Serialize;

/// A generator with its settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Generator {
    /// Floors of single rooms without loops.
    Isaac(isaac::Settings),
    /// Floors with large rooms.
    Rebirth(rebirth::Settings),
    /// Layouts of separated rooms, with corridors between the large ones.
    TinyKeep(tinykeep::Settings),
}

impl Generator {
    /// Makes the dungeon of a seed. The seed is that of a run: each level has another floor.
    /// `rooms` furnishes the floors of Isaac and Rebirth; TinyKeep ignores it.
    ///
    /// The same settings, rooms and seed give the same dungeon on every platform.
    ///
    /// # Errors
    /// [`crate::Error::Param`] if a setting is out of range or contradicts another.
    /// [`crate::Error::Limit`] if the allowed number of tries gives no dungeon with these settings.
    /// Both messages say what is possible.
    pub fn make(&self, seed: u64, rooms: &rooms::Rooms) -> Result<Dungeon> {
        self.run(seed, rooms, None)
    }

    /// Makes the dungeon of a seed like [`Generator::make`], and reports every step of the layout.
    ///
    /// # Errors
    /// Those of [`Generator::make`].
    pub fn make_step_by_step(
        &self,
        seed: u64,
        rooms: &rooms::Rooms,
        report: &mut dyn FnMut(Step),
    ) -> Result<Dungeon> {
        self.run(seed, rooms, Some(report))
    }

    fn run(
        &self,
        seed: u64,
        rooms: &rooms::Rooms,
        report: Option<&mut dyn FnMut(Step)>,
    ) -> Result<Dungeon> {
        match self {
            Self::Isaac(settings) => isaac::make(settings, seed, rooms, report),
            Self::Rebirth(settings) => rebirth::make(settings, seed, rooms, report),
            Self::TinyKeep(settings) => tinykeep::make(settings, seed, report),
        }
    }

    /// The seed of a floor: kind and level are mixed into the seed of the run, so one run has
    /// different floors.
    fn floor_seed(&self, seed: u64) -> u64 {
        let level = match self {
            Self::Isaac(settings) => settings.level,
            Self::Rebirth(settings) => settings.level,
            Self::TinyKeep(_) => 0,
        };
        random::derived(seed, &[self.kind() as u32, level])
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Those of [`Generator::make`] that can be known without making a dungeon.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Isaac(settings) => settings.check(),
            Self::Rebirth(settings) => settings.check(),
            Self::TinyKeep(settings) => settings.check(),
        }
    }

    /// Which generator this is.
    pub fn kind(&self) -> GeneratorKind {
        match self {
            Self::Isaac(_) => GeneratorKind::Isaac,
            Self::Rebirth(_) => GeneratorKind::Rebirth,
            Self::TinyKeep(_) => GeneratorKind::TinyKeep,
        }
    }
}

/// The generators. Their numbers are mixed into the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GeneratorKind {
    /// See [`isaac`].
    Isaac = 0,
    /// See [`rebirth`].
    Rebirth = 1,
    /// See [`tinykeep`].
    TinyKeep = 2,
}

impl GeneratorKind {
    /// The name of this generator in the command, in recipes and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isaac => "isaac",
            Self::Rebirth => "rebirth",
            Self::TinyKeep => "tinykeep",
        }
    }
}
