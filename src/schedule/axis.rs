//! The pieces of a level along one axis.

use crate::site::Window;
use std::ops::RangeInclusive;

/// The tiles of a level along one axis. A land with borders is cut into pieces of nearly the same
/// size, so that none is a sliver; one without an end into pieces of one side, from the world's
/// origin on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    side: i64,
    /// First cell and number of cells of the land, and of its tiles.
    land: Option<[i64; 3]>,
}

impl Axis {
    /// The tiles of a side along an axis of a land, or of one without an end.
    pub fn of_side(side: u32, land: Option<&Window>, axis: usize) -> Self {
        let side = i64::from(side);
        let land = land.map(|land| {
            let cells = i64::from([land.width, land.height][axis]);
            // The nearest whole number of tiles, and at least one.
            [land.origin[axis], cells, ((cells + side / 2) / side).max(1)]
        });
        Self { side, land }
    }

    /// So many tiles along an axis of a window.
    pub fn of_count(count: u32, window: &Window, axis: usize) -> Self {
        let cells = i64::from([window.width, window.height][axis]);
        Self { side: cells, land: Some([window.origin[axis], cells, i64::from(count)]) }
    }

    /// The first cell of a tile; of the one behind the last, the end of the land. None for a tile
    /// beyond the land.
    pub fn first(&self, tile: i64) -> Option<i64> {
        match self.land {
            Some([first, cells, count]) => {
                (0..=count).contains(&tile).then(|| first + cells * tile / count)
            }
            // Below 2⁶¹, sums of places, sides and halos fit in an i64.
            None => tile.checked_mul(self.side).filter(|at| at.unsigned_abs() < 1 << 61),
        }
    }

    /// The cells of a tile: the first, and how many.
    pub fn cells(&self, tile: i64) -> Option<(i64, u32)> {
        let [first, end] = [self.first(tile)?, self.first(tile + 1)?];
        Some((first, (end - first) as u32))
    }

    /// The tiles that cover a run of cells. The cells lie in the land.
    pub fn over(&self, first: i64, cells: u32) -> RangeInclusive<i64> {
        self.at(first)..=self.at(first + i64::from(cells) - 1)
    }

    /// The tile that has a cell.
    fn at(&self, cell: i64) -> i64 {
        let Some([first, cells, count]) = self.land else { return cell.div_euclid(self.side) };
        // The largest tile whose first cell is not beyond the cell: ⌊cells · tile / count⌋ ≤ at.
        (((cell - first + 1) * count - 1).div_euclid(cells)).clamp(0, count - 1)
    }
}
