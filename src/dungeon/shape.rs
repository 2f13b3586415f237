//! The shapes of rooms on an Isaac or Rebirth floor.

use super::floor_grid::{CELL_TILES, SIDES, stride};
use super::geometry::Side;
use serde::Serialize;

/// The shape of a room on a floor plan. The names in JSON are those of BorisTheBrave's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Shape {
    /// One cell.
    #[serde(rename = "1x1")]
    Single,
    /// A narrow room of one cell, open to the west and east.
    #[serde(rename = "IH")]
    NarrowWide,
    /// A narrow room of one cell, open to the north and south.
    #[serde(rename = "IV")]
    NarrowTall,
    /// Two cells, one above the other.
    #[serde(rename = "1x2")]
    Tall,
    /// A narrow room of two cells, one above the other.
    #[serde(rename = "IIV")]
    NarrowTall2,
    /// Two cells side by side.
    #[serde(rename = "2x1")]
    Wide,
    /// A narrow room of two cells side by side.
    #[serde(rename = "IIH")]
    NarrowWide2,
    /// Two by two cells.
    #[serde(rename = "2x2")]
    Big,
    /// Three cells of two by two; the north-west one is missing.
    #[serde(rename = "LTL")]
    LTopLeft,
    /// Three cells of two by two; the north-east one is missing.
    #[serde(rename = "LTR")]
    LTopRight,
    /// Three cells of two by two; the south-west one is missing.
    #[serde(rename = "LBL")]
    LBottomLeft,
    /// Three cells of two by two; the south-east one is missing.
    #[serde(rename = "LBR")]
    LBottomRight,
}

impl Shape {
    /// All shapes.
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

    /// The cells, as differences of cell numbers from the north-west corner of the bounds.
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

    /// Columns and rows of the bounds, in cells.
    pub fn size(self) -> [i32; 2] {
        match self {
            Shape::Single | Shape::NarrowWide | Shape::NarrowTall => [1, 1],
            Shape::Tall | Shape::NarrowTall2 => [1, 2],
            Shape::Wide | Shape::NarrowWide2 => [2, 1],
            _ => [2, 2],
        }
    }

    /// The column and row, 0 or 1 each, of the cell that an L-shaped room lacks.
    pub fn missing(self) -> Option<[i32; 2]> {
        match self {
            Shape::LTopLeft => Some([0, 0]),
            Shape::LTopRight => Some([1, 0]),
            Shape::LBottomLeft => Some([0, 1]),
            Shape::LBottomRight => Some([1, 1]),
            _ => None,
        }
    }

    /// Whether the room is narrow. Narrow rooms have exits at their two ends only.
    pub fn narrow(self) -> bool {
        matches!(
            self,
            Shape::NarrowWide | Shape::NarrowTall | Shape::NarrowTall2 | Shape::NarrowWide2
        )
    }

    /// Whether the cell at `offset` has an exit through `side`.
    pub fn exit(self, offset: i32, side: Side) -> bool {
        let along = match self {
            Shape::NarrowWide | Shape::NarrowWide2 => matches!(side, Side::East | Side::West),
            Shape::NarrowTall | Shape::NarrowTall2 => matches!(side, Side::North | Side::South),
            _ => true,
        };
        along
            && self.offsets().contains(&offset)
            && !self.offsets().contains(&(offset + stride(side)))
    }

    /// All exits, cell by cell. A room of two by two cells has eight.
    pub fn exits(self) -> impl Iterator<Item = (i32, Side)> {
        let all = self.offsets().iter().flat_map(move |&offset| SIDES.map(|side| (offset, side)));
        all.filter(move |&(offset, side)| self.exit(offset, side))
    }

    /// The ranges of columns and rows of a cell that are floor. Narrow rooms are three tiles wide.
    pub(super) fn floor(self) -> [[i32; 2]; 2] {
        let [width, height] = CELL_TILES;
        let (whole_x, whole_y) = ([1, width - 1], [1, height - 1]);
        match self {
            Shape::NarrowWide | Shape::NarrowWide2 => [whole_x, [height / 2 - 1, height / 2 + 2]],
            Shape::NarrowTall | Shape::NarrowTall2 => [[width / 2 - 1, width / 2 + 2], whole_y],
            _ => [whole_x, whole_y],
        }
    }
}
