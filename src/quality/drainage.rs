//! Where the water of a land goes when all its depressions are full.

use super::Grid;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::SQRT_2;

/// Where the water of each cell flows when all depressions are full.
#[derive(Clone, Debug)]
pub struct Drainage {
    /// Heights with depressions filled to the level of their outlets, in cells; NaN in missing
    /// cells.
    pub filled: Vec<f64>,
    /// The neighbour that each cell drains to: that of steepest descent on the filled surface (D8),
    /// and on a filled floor the one from which the flood came. Where water leaves the land, and in
    /// missing cells, the cell itself.
    pub receiver: Vec<u32>,
    /// The number of cells that drain through each cell, including itself; 0 in missing cells.
    pub area: Vec<u32>,
    /// All cells of the land, each before those that drain to it.
    pub upstream: Vec<u32>,
}

/// The way from a cell to a neighbour, in cells; 0 from a cell to itself.
pub(super) fn way(width: usize, from: usize, to: usize) -> f64 {
    match from.abs_diff(to) {
        0 => 0.0,
        apart if apart == 1 || apart == width => 1.0,
        _ => SQRT_2,
    }
}

/// A cell of the flood front. The lowest comes first, and among equals the one found first.
#[derive(PartialEq)]
struct Front {
    level: f64,
    turn: u32,
    cell: u32,
}

impl Eq for Front {}

impl Ord for Front {
    fn cmp(&self, other: &Self) -> Ordering {
        other.level.total_cmp(&self.level).then(other.turn.cmp(&self.turn))
    }
}

impl PartialOrd for Front {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Drains a land over its edge: the border of the map, and the cells beside missing ones.
///
/// The land is flooded from there (priority-flood), and each cell's water flows to the neighbour of
/// steepest descent, of equal ones the first, from the north-west row by row.
pub fn drainage(grid: Grid) -> Drainage {
    let cells = grid.height.len();
    let mut filled = grid.height.to_vec();
    let mut receiver: Vec<u32> = (0..cells as u32).collect();
    let mut met: Vec<bool> = grid.height.iter().map(|h| h.is_nan()).collect();
    let mut front = BinaryHeap::new();
    let mut turn = 0;
    let mut meet = |front: &mut BinaryHeap<Front>, cell: usize, level: f64| {
        front.push(Front { level, turn, cell: cell as u32 });
        turn += 1;
    };
    for i in (0..cells).filter(|&i| grid.on_edge(i)) {
        met[i] = true;
        meet(&mut front, i, filled[i]);
    }
    let mut upstream = Vec::with_capacity(cells);
    while let Some(Front { level, cell, .. }) = front.pop() {
        upstream.push(cell);
        for (n, _) in grid.around(cell as usize) {
            if !met[n] {
                met[n] = true;
                // Below the front a cell lies in a depression, which is filled up to it.
                filled[n] = filled[n].max(level);
                receiver[n] = cell;
                meet(&mut front, n, filled[n]);
            }
        }
    }
    for i in grid.inside() {
        let falls = grid.around(i).map(|(n, length)| (n as u32, (filled[i] - filled[n]) / length));
        // Where nothing falls, water goes back the way that the flood came.
        receiver[i] = falls
            .fold((receiver[i], 0.0), |best, fall| if fall.1 > best.1 { fall } else { best })
            .0;
    }
    let mut area: Vec<u32> = grid.height.iter().map(|h| u32::from(!h.is_nan())).collect();
    // From the springs down: a cell comes after all that drain to it.
    for &i in upstream.iter().rev() {
        let to = receiver[i as usize];
        if to != i {
            area[to as usize] += area[i as usize];
        }
    }
    Drainage { filled, receiver, area, upstream }
}
