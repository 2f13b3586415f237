//! Floors after *The Binding of Isaac: Rebirth*: as those of Isaac, with large rooms of eleven shapes.
//!
//! Source: BorisTheBrave, *Dungeon Generation in Binding of Isaac*, 2020, after the game of E. McMillen, F. Himsl, S. Parzer
//! and Nicalis; the names of the shapes are those of his program.

use super::floor::{Large, Tell, Wish, furnish};
use super::random::{Purpose, Random};
use super::rooms::Rooms;
use super::{Dungeon, Generator, Kind, Side, Step};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most rooms of a floor plan with large rooms.
pub const ROOMS_MAX: u32 = 32;

/// What a floor of Rebirth is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The floor of the game, 1 to [`super::isaac::LEVEL_MAX`].
    pub level: u32,
    /// Rooms of the floor plan, 6 to [`ROOMS_MAX`], if not by the level; a large room counts once.
    pub room_count: Option<u32>,
    /// Whether the player comes with full health, which makes sacrifice rooms likelier.
    pub full_health: bool,
    /// Rooms to lock, 0 to [`super::locks::LOCKS_MAX`]; fewer where the floor has fewer.
    pub locks: u32,
    /// How often a new room tries to be a large one, per cent.
    pub large: u32,
    /// How often a large boss room is wanted, per cent.
    pub large_boss: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: 1, room_count: None, full_health: false, locks: 2, large: 35, large_boss: 50 }
    }
}

impl Settings {
    fn wish(&self) -> Wish {
        let Self { level, room_count, full_health, locks, large, large_boss } = *self;
        let pool = Shape::ALL.iter().filter(|shape| shape.weight() > 0).map(|shape| (*shape, shape.weight())).collect();
        let large = Large { percent: large, pool };
        Wish { kind: Kind::Rebirth, level, room_count, labyrinth: 0, full_health, locks, large, large_boss }
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Param`] with what is allowed.
    pub fn check(&self) -> Result<()> {
        for (name, percent) in [("large", self.large), ("large_boss", self.large_boss)] {
            if percent > 100 {
                return Err(Error::param(format!("{name} = {percent}: allowed 0 to 100 (per cent)")));
            }
        }
        self.wish().check()
    }
}

pub(super) fn make(settings: &Settings, seed: u64, rooms: &Rooms, tell: Option<&mut dyn FnMut(Step)>) -> Result<Dungeon> {
    settings.check()?;
    let wish = settings.wish();
    let (plan, tally) = wish.plan(&mut Random::new(seed, Purpose::Layout), &mut Tell(tell))?;
    Ok(furnish(&wish, Generator::Rebirth(settings.clone()), seed, &plan, tally, rooms))
}

/// The shape of a room on a floor plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Shape {
    /// One cell.
    #[serde(rename = "1x1")]
    Single,
    /// A narrow corridor from west to east.
    #[serde(rename = "IH")]
    NarrowWide,
    /// A narrow corridor from north to south.
    #[serde(rename = "IV")]
    NarrowTall,
    /// Two cells, one above the other.
    #[serde(rename = "1x2")]
    Tall,
    /// A narrow corridor of two cells, one above the other.
    #[serde(rename = "IIV")]
    NarrowTall2,
    /// Two cells side by side.
    #[serde(rename = "2x1")]
    Wide,
    /// A narrow corridor of two cells side by side.
    #[serde(rename = "IIH")]
    NarrowWide2,
    /// Four cells.
    #[serde(rename = "2x2")]
    Big,
    /// Three cells: the one in the north-west is missing.
    #[serde(rename = "LTL")]
    LTopLeft,
    /// Three cells: the one in the north-east is missing.
    #[serde(rename = "LTR")]
    LTopRight,
    /// Three cells: the one in the south-west is missing.
    #[serde(rename = "LBL")]
    LBottomLeft,
    /// Three cells: the one in the south-east is missing.
    #[serde(rename = "LBR")]
    LBottomRight,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 12] = [
        Shape::Single,
        Shape::NarrowWide,
        Shape::NarrowTall,
        Shape::Tall,
        Shape::NarrowTall2,
        Shape::Wide,
        Shape::NarrowWide2,
        Shape::Big,
        Shape::LTopLeft,
        Shape::LTopRight,
        Shape::LBottomLeft,
        Shape::LBottomRight,
    ];

    /// Cells from the north-west of its bounds, as differences of cell numbers.
    pub fn offsets(self) -> &'static [i32] {
        match self {
            Shape::Single | Shape::NarrowWide | Shape::NarrowTall => &[0],
            Shape::Tall | Shape::NarrowTall2 => &[0, 10],
            Shape::Wide | Shape::NarrowWide2 => &[0, 1],
            Shape::Big => &[0, 1, 10, 11],
            Shape::LTopLeft => &[1, 10, 11],
            Shape::LTopRight => &[0, 10, 11],
            Shape::LBottomLeft => &[0, 1, 11],
            Shape::LBottomRight => &[0, 1, 10],
        }
    }

    /// Columns and rows of its bounds.
    pub fn size(self) -> [i32; 2] {
        match self {
            Shape::Single | Shape::NarrowWide | Shape::NarrowTall => [1, 1],
            Shape::Tall | Shape::NarrowTall2 => [1, 2],
            Shape::Wide | Shape::NarrowWide2 => [2, 1],
            _ => [2, 2],
        }
    }

    /// Of a bent room: the column and row of the cell that is missing in its bounds, 0 or 1 each.
    pub fn missing(self) -> Option<[i32; 2]> {
        match self {
            Shape::LTopLeft => Some([0, 0]),
            Shape::LTopRight => Some([1, 0]),
            Shape::LBottomLeft => Some([0, 1]),
            Shape::LBottomRight => Some([1, 1]),
            _ => None,
        }
    }

    /// Whether it is a corridor, with exits at its ends alone.
    pub fn narrow(self) -> bool {
        matches!(self, Shape::NarrowWide | Shape::NarrowTall | Shape::NarrowTall2 | Shape::NarrowWide2)
    }

    /// Whether the cell at an offset has an exit out of that side.
    pub fn exit(self, offset: i32, side: Side) -> bool {
        let along = match self {
            Shape::NarrowWide | Shape::NarrowWide2 => matches!(side, Side::East | Side::West),
            Shape::NarrowTall | Shape::NarrowTall2 => matches!(side, Side::North | Side::South),
            _ => true,
        };
        along && self.offsets().contains(&offset) && !self.offsets().contains(&(offset + super::floor::stride(side)))
    }

    /// Its exits, cell by cell: eight of a room of four cells.
    pub fn exits(self) -> impl Iterator<Item = (i32, Side)> {
        let sides = [Side::South, Side::North, Side::East, Side::West];
        let all = self.offsets().iter().flat_map(move |&offset| sides.map(|side| (offset, side)));
        all.filter(move |&(offset, side)| self.exit(offset, side))
    }

    /// Columns and rows of a cell's tiles that are floor, from and to: three wide in a corridor.
    pub(super) fn floor(self) -> [[i32; 2]; 2] {
        let [width, height] = super::floor::CELL;
        let (whole_x, whole_y) = ([1, width - 1], [1, height - 1]);
        match self {
            Shape::NarrowWide | Shape::NarrowWide2 => [whole_x, [height / 2 - 1, height / 2 + 2]],
            Shape::NarrowTall | Shape::NarrowTall2 => [[width / 2 - 1, width / 2 + 2], whole_y],
            _ => [whole_x, whole_y],
        }
    }

    /// How often it is tried before others. The game's weights are not published; these are ours.
    fn weight(self) -> u32 {
        match self {
            Shape::Single => 0,
            Shape::Tall | Shape::Wide | Shape::Big => 4,
            Shape::LTopLeft | Shape::LTopRight | Shape::LBottomLeft | Shape::LBottomRight => 2,
            _ => 1,
        }
    }
}
