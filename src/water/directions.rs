//! Where the water of each cell goes: the neighbour of steepest descent (D8) or the lowest one, and
//! across level ground the way to its nearest exit.
//!
//! Sources: J. F. O'Callaghan, D. M. Mark, *The extraction of drainage networks from digital
//! elevation data*, 1984 (D8); S. K. Jenson, J. O. Domingue, *Extracting topographic structure from
//! digital elevation data*, 1988 (flats from their exits inwards).

use crate::map::Metric;
use rayon::prelude::*;

/// The eight neighbours, clockwise from the east: steps to the east and to the south. The odd ones
/// are diagonal.
pub const AROUND: [(isize, isize); 8] =
    [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];
/// Over the border of the map.
pub const OUT: u8 = 8;
/// Nowhere: here is the sea.
pub const SEA: u8 = 9;
/// Nowhere: here is the pit of a depression, before it is filled, or where all its water dries up.
pub const SINK: u8 = 10;
/// Not known yet.
pub const UNKNOWN: u8 = 255;

/// To which lower neighbour the water of a cell goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// To that of steepest descent: a diagonal is longer.
    #[default]
    D8,
    /// To the lowest of the eight.
    Lowest,
}

/// How a neighbour is chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way<'a> {
    /// By what.
    pub routing: Routing,
    /// Widths and heights of the cells of each row, where rows differ.
    pub metric: Option<&'a Metric>,
}

impl Way<'_> {
    /// The squared ways along a row, along a column and across, for the cells of a row, in 2⁻²⁰ of
    /// that of a square cell.
    fn squares(self, row: usize) -> [i128; 3] {
        let [x, y] =
            self.metric.map_or([1.0; 2], |metric| metric.cell(row)).map(|side| side * side);
        [x, y, x + y].map(|square| ((square * f64::from(1 << 20)).round() as i128).max(1))
    }
}

/// The size of a raster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Cells in a row, 1 or more.
    pub width: usize,
    /// Rows, 1 or more.
    pub height: usize,
}

impl Size {
    /// How many cells there are.
    pub fn cells(self) -> usize {
        self.width * self.height
    }

    /// The neighbours on the map and their directions, in the order of [`AROUND`].
    pub fn around(self, cell: usize) -> impl Iterator<Item = (u8, usize)> {
        let (x, y) = (cell % self.width, cell / self.width);
        AROUND.iter().enumerate().filter_map(move |(d, &(dx, dy))| {
            let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
            (x < self.width && y < self.height).then_some((d as u8, y * self.width + x))
        })
    }

    /// Calls `look` with the neighbours on the map and their directions, as [`Self::around`] has
    /// them. For sweeps over all cells, since it is quicker inside the map.
    pub fn look_around(self, [x, y]: [usize; 2], mut look: impl FnMut(u8, usize)) {
        let cell = y * self.width + x;
        if x > 0 && y > 0 && x + 1 < self.width && y + 1 < self.height {
            let offsets = [1, self.width + 1, self.width, self.width - 1];
            for (d, offset) in (0..4).zip(offsets) {
                look(d, cell + offset);
            }
            for (d, offset) in (4..8).zip(offsets) {
                look(d, cell - offset);
            }
        } else {
            self.around(cell).for_each(|(d, to)| look(d, to));
        }
    }

    /// Whether a cell lies on the border.
    pub fn on_border(self, cell: usize) -> bool {
        let (x, y) = (cell % self.width, cell / self.width);
        x == 0 || y == 0 || x + 1 == self.width || y + 1 == self.height
    }

    /// The neighbour in a direction, none for the codes that are no direction. The neighbour must
    /// be on the map.
    pub fn target(self, cell: usize, direction: u8) -> Option<usize> {
        let &(dx, dy) = AROUND.get(usize::from(direction))?;
        Some(cell.wrapping_add_signed(dy * self.width as isize + dx))
    }
}

/// The direction back.
pub const fn opposite(direction: u8) -> u8 {
    (direction + 4) % 8
}

/// Sets the direction of every unknown cell that has a lower neighbour: that of steepest descent or
/// of the lowest one, and of equal ones the first in the order of [`AROUND`].
pub fn descend(size: Size, surface: &[i32], way: Way, directions: &mut [u8]) {
    let (width, routing) = (size.width, way.routing);
    if way.metric.is_some() && routing == Routing::D8 {
        return descend_by_row(size, surface, way, directions);
    }
    directions.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        for (x, direction) in row.iter_mut().enumerate() {
            if *direction != UNKNOWN {
                continue;
            }
            let here = i64::from(surface[y * width + x]);
            // The largest drops along the axes and along the diagonals, and their directions.
            let mut best = [(0i64, UNKNOWN); 2];
            size.look_around([x, y], |d, to| {
                let drop = here - i64::from(surface[to]);
                let best = &mut best[usize::from(d & 1)];
                if drop > best.0 {
                    *best = (drop, d);
                }
            });
            let [(along, axis), (across, diagonal)] = best;
            let takes_diagonal = match routing {
                // A diagonal is √2 long, so slopes compare as along² and across² / 2. No two are
                // equal but for 0.
                Routing::D8 => {
                    i128::from(across) * i128::from(across)
                        > 2 * i128::from(along) * i128::from(along)
                }
                // Where there is no drop, neither has a direction.
                Routing::Lowest => across > along || (across == along && diagonal < axis),
            };
            *direction = if takes_diagonal { diagonal } else { axis };
        }
    });
}

/// The same by slope, where cells are no squares and rows differ.
fn descend_by_row(size: Size, surface: &[i32], way: Way, directions: &mut [u8]) {
    directions.par_chunks_mut(size.width).enumerate().for_each(|(y, row)| {
        let squares = way.squares(y);
        for (x, direction) in
            row.iter_mut().enumerate().filter(|(_, direction)| **direction == UNKNOWN)
        {
            let here = i64::from(surface[y * size.width + x]);
            // The drop and the square of the way to the steepest so far.
            let mut best = (0, 1);
            size.look_around([x, y], |d, to| {
                let drop = i128::from(here - i64::from(surface[to]));
                // East and west lie along a row, south and north along a column.
                let square = squares[if d % 2 == 1 { 2 } else { usize::from(d / 2 % 2) }];
                // Slopes compare as drop² / square, and products of integers need no division.
                if drop > 0 && drop * drop * best.1 > best.0 * best.0 * square {
                    best = (drop, square);
                    *direction = d;
                }
            });
        }
    });
}

/// A lake: its cells, and the cell beside it through which all its water leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full {
    /// The cell of the shore through which the water leaves; none if all of it dries up.
    pub outlet: Option<u32>,
    /// The cells under water, from the outlet inwards, or from the deepest one outwards.
    pub cells: Vec<u32>,
}

/// Leads unknown cells across level ground to the nearest exit, counted in steps, and each lake to
/// one exit. Border cells that are still unknown drain over the border. What stays unknown has no
/// exit. Returns the lakes.
pub fn across_flats(
    size: Size,
    surface: &[i32],
    directions: &mut [u8],
    under_water: impl Fn(usize) -> bool,
) -> Vec<Full> {
    let unknown: Vec<u32> = {
        let directions = &*directions;
        (0..directions.len() as u32)
            .into_par_iter()
            .filter(|&cell| directions[cell as usize] == UNKNOWN)
            .collect()
    };
    for &cell in &unknown {
        if size.on_border(cell as usize) && !under_water(cell as usize) {
            directions[cell as usize] = OUT;
        }
    }
    // Exits, in the order of the map.
    let mut queue: Vec<u32> = vec![];
    for &cell in &unknown {
        let level = surface[cell as usize];
        if directions[cell as usize] == OUT {
            queue.push(cell);
        } else {
            let exits = size
                .around(cell as usize)
                .filter(|&(_, n)| surface[n] == level && directions[n] != UNKNOWN);
            queue.extend(exits.map(|(_, n)| n as u32));
        }
    }
    queue.sort_unstable();
    queue.dedup();
    let mut lakes = vec![];
    // First in, first out: each cell is met from its nearest exit.
    let mut next = 0;
    while next < queue.len() {
        let cell = queue[next] as usize;
        next += 1;
        for (d, n) in size.around(cell) {
            if directions[n] != UNKNOWN || surface[n] != surface[cell] {
                continue;
            }
            if !under_water(n) {
                directions[n] = opposite(d);
                queue.push(n as u32);
                continue;
            }
            // All of a lake leaves through the cell that is met first.
            let mut cells: Vec<u32> = vec![];
            let (mut at, mut inner) = (cell, 0);
            loop {
                for (d, m) in size.around(at) {
                    if directions[m] == UNKNOWN && surface[m] == surface[cell] && under_water(m) {
                        directions[m] = opposite(d);
                        cells.push(m as u32);
                    }
                }
                let Some(&m) = cells.get(inner) else { break };
                (at, inner) = (m as usize, inner + 1);
            }
            queue.extend(&cells);
            lakes.push(Full { outlet: Some(cell as u32), cells });
        }
    }
    lakes
}
