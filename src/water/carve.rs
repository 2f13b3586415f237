//! Beds of rivers, cut into the ground.
//!
//! Where water goes to the lowest neighbour of the surface, beds are made such that it does so on
//! the cut ground too. Each cell of a river then has the next one for its lowest neighbour, or one
//! that is as low.

use super::Water;
use super::directions::Routing;
use crate::arith::CELL;

/// Cells from the middle of a river to where its bed ends at most: wider ones are cut as wide as
/// that.
const WIDEST: f64 = 32.0;

/// What rivers have cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beds {
    /// The ground with the beds, in words of height.
    pub ground: Vec<i32>,
    /// The sum of what was carried away, in words of height.
    pub words: i64,
    /// How many cells were lowered.
    pub cells: usize,
}

impl Water {
    /// Cuts the beds of rivers: as deep below the surface of the water as the river is there, and
    /// where it is wider than a cell, a parabola across. A bed never rises downstream from shore to
    /// shore, since the surface never does and depths never shrink. Lakes keep their floors, but
    /// for the way of a river through the shallows. From then on maps of depth have rivers too;
    /// directions, areas and orders stay.
    pub fn carve(&mut self) -> Beds {
        let words = |metres: f64| {
            (metres / self.scale.spacing_m * f64::from(CELL)).round().min(f64::from(i32::MAX))
                as i32
        };
        let rivers: Vec<usize> =
            (0..self.ground.len()).filter(|&cell| self.is_river(cell)).collect();
        let (width, height) = (self.size.width, self.size.height);
        let mut ground = self.ground.clone();
        let mut surface = self.surface.clone();
        let mut beds = vec![];
        for &cell in &rivers {
            let channel = self.channel(cell);
            let (level, deep) = (self.surface[cell], words(channel.depth_m));
            ground[cell] = ground[cell].min(level.saturating_sub(deep));
            if self.runs(cell) {
                beds.push((level.saturating_sub(deep), cell));
            }
            let radius = channel.width_m / self.scale.spacing_m / 2.0;
            // A river no wider than a cell cuts none beside it, and neither does one that crosses a
            // lake.
            if radius <= 0.5 || self.is_wet(cell) {
                continue;
            }
            let radius = radius.min(WIDEST);
            let far = radius as usize;
            let (x, y) = (cell % width, cell / width);
            for v in y.saturating_sub(far)..(y + far + 1).min(height) {
                for u in x.saturating_sub(far)..(x + far + 1).min(width) {
                    let [dx, dy] = [u.abs_diff(x), v.abs_diff(y)].map(|d| d as f64);
                    let share = (dx * dx + dy * dy) / (radius * radius);
                    let to = v * width + u;
                    if share < 1.0 && !self.is_river(to) && !self.is_wet(to) {
                        // Across the river the bed is a parabola, which ends at the level of the
                        // water.
                        let below = (f64::from(deep) * (1.0 - share)).round() as i32;
                        let (bed, whole) = (level.saturating_sub(below), self.ground[to]);
                        // Where several cells of rivers reach: the lowest bed and the highest
                        // level, in any order.
                        if bed < whole {
                            let level = if self.is_puddle(to) { level } else { level.min(whole) };
                            surface[to] =
                                if ground[to] == whole { level } else { surface[to].max(level) };
                            ground[to] = ground[to].min(bed);
                        }
                    }
                }
            }
        }
        if self.settings.routing == Routing::Lowest {
            self.grade(beds, &mut ground);
            self.keep_apart(&rivers, &mut ground, &mut surface);
        }
        let fall = |(old, new): (&i32, &i32)| i64::from(*old) - i64::from(*new);
        let words = self.ground.iter().zip(&ground).map(fall).sum();
        let cells = self.ground.iter().zip(&ground).filter(|(old, new)| old != new).count();
        self.surface = surface;
        self.bed = Some(ground.clone());
        Beds { ground, words, cells }
    }

    /// Whether a river runs in a cell, and not through a lake.
    fn runs(&self, cell: usize) -> bool {
        self.is_river(cell) && !self.is_wet(cell)
    }

    /// Where a river goes on; from its last cell at the border nowhere but there.
    fn goes_on(&self, cell: usize) -> usize {
        self.size.target(cell, self.directions[cell]).unwrap_or(cell)
    }

    /// Cuts beds deeper until from each cell of a river the next one is as low as the bed of any
    /// river that runs through a cell beside it. So rivers join as J. Playfair saw it
    /// (*Illustrations of the Huttonian theory of the Earth*, 1802): a brook comes down to the bed
    /// of the river that it runs along and into. `beds` are those of the law, and their cells.
    fn grade(&self, mut beds: Vec<(i32, usize)>, ground: &mut [i32]) {
        // A low bed lowers those next to all cells beside it, and these go on so. From the lowest
        // up, each is cut once. The floor of a puddle is no bed.
        beds.sort_unstable();
        let mut done = vec![false; ground.len()];
        let mut queue = vec![];
        for (bed, lowest) in beds {
            if std::mem::replace(&mut done[lowest], true) {
                continue;
            }
            queue.push(lowest);
            while let Some(cell) = queue.pop() {
                // Through a lake the river's own way goes on as low. What else comes into the lake
                // comes to its level.
                let beside = self
                    .size
                    .around(cell)
                    .map(|(_, n)| n)
                    .filter(|&n| self.runs(cell) && self.runs(n));
                for to in beside.chain([cell]).map(|n| self.goes_on(n)) {
                    if self.is_river(to) && !std::mem::replace(&mut done[to], true) {
                        ground[to] = ground[to].min(bed);
                        queue.push(to);
                    }
                }
            }
        }
    }

    /// Fills the sides of wide beds so far that none beside a river is lower than the river's next
    /// cell, nor its water: where one runs along another's bed, or falls so fast that its own bed
    /// below reaches up beside it.
    fn keep_apart(&self, rivers: &[usize], ground: &mut [i32], surface: &mut [i32]) {
        for &cell in rivers.iter().filter(|&&cell| self.runs(cell)) {
            let to = self.goes_on(cell);
            for (_, n) in self.size.around(cell) {
                let whole = self.ground[n];
                if ground[n] == whole || self.is_river(n) || self.is_wet(n) {
                    continue;
                }
                ground[n] = ground[n].max(ground[to].min(whole));
                // What is filled up is dry again.
                let least = if ground[n] == whole {
                    self.surface[n]
                } else {
                    self.surface[to].min(self.surface[n])
                };
                surface[n] = surface[n].max(least);
            }
        }
    }
}
