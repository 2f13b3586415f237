//! Rectangles and sides on a grid: x grows to the east, y to the south.

use serde::{Deserialize, Serialize};

/// A rectangle of cells or tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Rect {
    /// The westernmost column.
    pub x: i32,
    /// The northernmost row.
    pub y: i32,
    /// The number of columns.
    pub width: i32,
    /// The number of rows.
    pub height: i32,
}

impl Rect {
    /// Whether a cell lies in the rectangle.
    pub fn contains(&self, [x, y]: [i32; 2]) -> bool {
        (self.x..self.x + self.width).contains(&x) && (self.y..self.y + self.height).contains(&y)
    }

    /// Whether two rectangles share a cell.
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// The middle cell. Of an even number of columns or rows, it is the last one before the middle.
    pub fn centre(&self) -> [i32; 2] {
        [self.x + (self.width - 1) / 2, self.y + (self.height - 1) / 2]
    }

    /// The rectangle with `by` more cells on every side.
    pub fn grown(&self, by: i32) -> Rect {
        Rect {
            x: self.x - by,
            y: self.y - by,
            width: self.width + 2 * by,
            height: self.height + 2 * by,
        }
    }

    /// The rectangle moved by `[x, y]` cells.
    pub fn moved(&self, [x, y]: [i32; 2]) -> Rect {
        Rect { x: self.x + x, y: self.y + y, ..*self }
    }

    /// The smallest rectangle that contains both.
    pub fn hull(self, other: Rect) -> Rect {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        Rect {
            x,
            y,
            width: (self.x + self.width).max(other.x + other.width) - x,
            height: (self.y + self.height).max(other.y + other.height) - y,
        }
    }

    /// The cells, row by row.
    pub fn cells(self) -> impl Iterator<Item = [i32; 2]> {
        (self.y..self.y + self.height)
            .flat_map(move |y| (self.x..self.x + self.width).map(move |x| [x, y]))
    }
}

/// A side of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side where y is smallest.
    North,
    /// The side where x is largest.
    East,
    /// The side where y is largest.
    South,
    /// The side where x is smallest.
    West,
}

impl Side {
    /// All sides, clockwise.
    pub const ALL: [Side; 4] = [Side::North, Side::East, Side::South, Side::West];

    /// One step out through this side.
    pub fn step(self) -> [i32; 2] {
        match self {
            Side::North => [0, -1],
            Side::East => [1, 0],
            Side::South => [0, 1],
            Side::West => [-1, 0],
        }
    }

    /// The opposite side.
    pub fn opposite(self) -> Side {
        match self {
            Side::North => Side::South,
            Side::East => Side::West,
            Side::South => Side::North,
            Side::West => Side::East,
        }
    }
}
