//! Floors after *The Binding of Isaac* (2011): rooms of one size on a grid of 9 × 8, grown breadth first without loops.
//!
//! Source: BorisTheBrave, *Dungeon Generation in Binding of Isaac*, 2020, after F. Himsl's game.

use super::floor::{Large, Tell, Wish, furnish};
use super::random::{Purpose, Random};
use super::rooms::Rooms;
use super::{Dungeon, Generator, Kind, Step};
use crate::error::Result;
use serde::{Deserialize, Serialize};

pub use super::floor::{CELL, COLUMNS, LEVEL_MAX, ROOMS_MAX, ROWS, START, TRIES_MAX};

/// What a floor of Isaac is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The floor of the game, 1 to [`LEVEL_MAX`]; two make a chapter. It decides the number of rooms, and how hard they are.
    pub level: u32,
    /// Rooms of the floor plan, 6 to [`ROOMS_MAX`], if not by the level; hidden rooms come on top.
    pub room_count: Option<u32>,
    /// Curse of the Labyrinth, a floor of nearly double size with twice the special rooms and two boss rooms, 12 rooms or more:
    /// how often a floor has it, per cent.
    pub labyrinth: u32,
    /// Whether the player comes with full health, which makes sacrifice rooms likelier.
    pub full_health: bool,
    /// Rooms to lock, 0 to [`super::locks::LOCKS_MAX`]; fewer where the floor has fewer.
    pub locks: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: 1, room_count: None, labyrinth: 0, full_health: false, locks: 2 }
    }
}

impl Settings {
    fn wish(&self) -> Wish {
        let Self { level, room_count, labyrinth, full_health, locks } = *self;
        let large = Large { percent: 0, pool: vec![] };
        Wish { kind: Kind::Isaac, level, room_count, labyrinth, full_health, locks, large, large_boss: 0 }
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`crate::Error::Param`] with what is allowed.
    pub fn check(&self) -> Result<()> {
        self.wish().check()
    }
}

pub(super) fn make(settings: &Settings, seed: u64, rooms: &Rooms, tell: Option<&mut dyn FnMut(Step)>) -> Result<Dungeon> {
    let wish = settings.wish();
    let (plan, tally) = wish.plan(&mut Random::new(seed, Purpose::Layout), &mut Tell(tell))?;
    Ok(furnish(&wish, Generator::Isaac(settings.clone()), seed, &plan, tally, rooms))
}
