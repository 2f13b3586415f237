//! Floors after *The Binding of Isaac: Rebirth*: like those of Isaac, with large rooms of eleven
//! shapes.
//!
//! Source: BorisTheBrave, *Dungeon Generation in Binding of Isaac*, 2020, after the game of E.
//! McMillen, F. Himsl, S. Parzer and Nicalis.

use super::Generator;
use super::floor_plan::{LargeRooms, PlanSettings};
use super::furnish::{Furnishing, furnish};
use super::model::Dungeon;
use super::random::{Purpose, Random};
use super::rooms::Rooms;
use super::shape::Shape;
use super::steps::{Observer, Step};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The most rooms of a floor plan with large rooms that is not under the Curse of the Labyrinth.
pub const ROOMS_MAX: u32 = 32;

/// The settings of a Rebirth floor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The level in the game, 1 to [`super::isaac::LEVEL_MAX`].
    pub level: u32,
    /// The number of rooms, 6 to [`ROOMS_MAX`], not counting the secret room. `None` leaves it to
    /// the level. A large room counts once.
    pub room_count: Option<u32>,
    /// How often a floor is under the Curse of the Labyrinth, per cent; see
    /// [`super::isaac::Settings::labyrinth`].
    pub labyrinth: u32,
    /// Whether the player arrives with full health, which makes sacrifice rooms more likely.
    pub full_health: bool,
    /// How many rooms to lock, 0 to [`super::locks::LOCKS_MAX`]. A small floor may have fewer that
    /// can be locked.
    pub locks: u32,
    /// How often a new room tries to be large, per cent.
    pub large: u32,
    /// How often a large boss room is tried, per cent.
    pub large_boss: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            level: 1,
            room_count: None,
            labyrinth: 0,
            full_health: false,
            locks: 2,
            large: 35,
            large_boss: 50,
        }
    }
}

impl Settings {
    fn plan(&self) -> PlanSettings {
        let Self { level, room_count, labyrinth, full_health, locks, large, large_boss } = *self;
        let pool = Shape::ALL
            .into_iter()
            .map(|shape| (shape, weight(shape)))
            .filter(|(_, weight)| *weight > 0)
            .collect();
        PlanSettings {
            level,
            room_count,
            rooms_max: ROOMS_MAX,
            labyrinth,
            full_health,
            large: LargeRooms { percent: large, pool, spare: u32::MAX },
            large_boss,
            locks,
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`Error::Param`] if a setting is out of range. The message names the range.
    pub fn check(&self) -> Result<()> {
        for (name, percent) in [("large", self.large), ("large_boss", self.large_boss)] {
            if percent > 100 {
                return Err(Error::param(format!(
                    "{name} = {percent}: allowed 0 to 100 (per cent)"
                )));
            }
        }
        self.plan().check()
    }
}

/// How likely a large room is to try this shape first. The game's weights are not published; these
/// are ours.
fn weight(shape: Shape) -> u32 {
    match shape {
        Shape::Single => 0,
        Shape::Tall | Shape::Wide | Shape::Big => 4,
        Shape::LTopLeft | Shape::LTopRight | Shape::LBottomLeft | Shape::LBottomRight => 2,
        _ => 1,
    }
}

pub(super) fn make(
    settings: &Settings,
    seed: u64,
    rooms: &Rooms,
    report: Option<&mut dyn FnMut(Step)>,
) -> Result<Dungeon> {
    settings.check()?;
    let generator = Generator::Rebirth(settings.clone());
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
