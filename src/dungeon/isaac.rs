//! Floors after *The Binding of Isaac* (2011): rooms of one size on a grid of 9 × 8 cells, grown
//! breadth first without loops.
//!
//! Source: BorisTheBrave, *Dungeon Generation in Binding of Isaac*, 2020, after F. Himsl's game.

use super::Generator;
use super::floor_plan::{LargeRooms, PlanSettings};
use super::furnish::{Furnishing, furnish};
use super::model::Dungeon;
use super::random::{Purpose, Random};
use super::rooms::Rooms;
use super::steps::{Observer, Step};
use crate::error::Result;
use serde::{Deserialize, Serialize};

pub use super::floor_plan::{LABYRINTH_ROOMS, LEVEL_MAX, ROOMS_MIN, TRIES_MAX};

/// The most rooms of a floor plan without large rooms that is not under the Curse of the Labyrinth.
pub const ROOMS_MAX: u32 = 38;

/// The settings of an Isaac floor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The level in the game, 1 to [`LEVEL_MAX`]. It decides the number of rooms and their
    /// difficulty. Two levels make a chapter.
    pub level: u32,
    /// The number of rooms, 6 to [`ROOMS_MAX`], not counting the secret room. `None` leaves it to
    /// the level.
    pub room_count: Option<u32>,
    /// How often a floor is under the Curse of the Labyrinth, per cent. Such a floor has 12 rooms
    /// or more, 80 % more than the level gives, with two rooms of each special role.
    pub labyrinth: u32,
    /// Whether the player arrives with full health, which makes sacrifice rooms more likely.
    pub full_health: bool,
    /// How many rooms to lock, 0 to [`super::locks::LOCKS_MAX`]. A small floor may have fewer that
    /// can be locked.
    pub locks: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: 1, room_count: None, labyrinth: 0, full_health: false, locks: 2 }
    }
}

impl Settings {
    fn plan(&self) -> PlanSettings {
        let Self { level, room_count, labyrinth, full_health, locks } = *self;
        PlanSettings {
            level,
            room_count,
            rooms_max: ROOMS_MAX,
            labyrinth,
            full_health,
            large: LargeRooms { percent: 0, pool: vec![], spare: 0 },
            large_boss: 0,
            locks,
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`crate::Error::Param`] if a setting is out of range. The message names the range.
    pub fn check(&self) -> Result<()> {
        self.plan().check()
    }
}

pub(super) fn make(
    settings: &Settings,
    seed: u64,
    rooms: &Rooms,
    report: Option<&mut dyn FnMut(Step)>,
) -> Result<Dungeon> {
    let generator = Generator::Isaac(settings.clone());
    let floor = generator.floor_seed(seed);
    let (plan, tally) =
        settings.plan().plan(&mut Random::new(floor, Purpose::Layout), &mut Observer(report))?;
    Ok(furnish(
        Furnishing { generator, seed, floor, level: settings.level, locks: settings.locks },
        &plan,
        tally,
        rooms,
    ))
}
