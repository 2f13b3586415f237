//! The grid of an Isaac or Rebirth floor: how cells are numbered, and how many tiles each has.
//!
//! The number of a cell is 10 · row + column. Columns count from 1 and rows from 0, so the first
//! cell is 1, the last one is 79, and a number that ends in 0 is no cell.

use super::geometry::Side;

/// Columns of the grid.
pub const COLUMNS: i32 = 9;
/// Rows of the grid.
pub const ROWS: i32 = 8;
/// The cell where the player starts.
pub const START: i32 = 35;
/// Columns and rows of tiles in the interior of a cell.
pub const INTERIOR_TILES: [i32; 2] = [13, 7];
/// Columns and rows of tiles in a cell, walls included.
pub const CELL_TILES: [i32; 2] = [INTERIOR_TILES[0] + 2, INTERIOR_TILES[1] + 2];

/// The order in which the article visits sides: down, up, right, left.
pub(super) const SIDES: [Side; 4] = [Side::South, Side::North, Side::East, Side::West];

/// What a step out through a side adds to the number of a cell.
pub(super) fn stride(side: Side) -> i32 {
    let [x, y] = side.step();
    // The numbers of two rows are ten apart, though a row has nine cells, so a step over its end
    // comes to a number that is no cell.
    10 * y + x
}

/// Whether a number is that of a cell.
pub(super) fn inside(cell: i32) -> bool {
    (0..10 * ROWS).contains(&cell) && cell % 10 != 0
}

/// The numbers of all cells, row by row.
pub(super) fn cells() -> impl Iterator<Item = i32> {
    (0..10 * ROWS).filter(|cell| cell % 10 != 0)
}

/// The column and row of a cell, both counted from 0.
pub fn column_and_row(cell: i32) -> [i32; 2] {
    [cell % 10 - 1, cell.div_euclid(10)]
}

/// The north-west tile of a cell.
pub fn origin(cell: i32) -> [i32; 2] {
    let [column, row] = column_and_row(cell);
    [column * CELL_TILES[0], row * CELL_TILES[1]]
}

/// The cell that contains a tile of the floor.
pub fn cell_at([x, y]: [i32; 2]) -> i32 {
    y / CELL_TILES[1] * 10 + x / CELL_TILES[0] + 1
}
