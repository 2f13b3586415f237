//! Beds of rivers, cut into the ground.

use super::Water;
use crate::spec::CELL;

/// Cells from the middle of a river to where its bed ends at most: wider ones are cut as wide as that.
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
    /// Cuts the beds of rivers: as deep below the surface of the water as the river is there, and where it is wider than a cell, a parabola
    /// across. A bed never rises downstream from shore to shore, since the surface never does and depths never shrink. Lakes keep their floors,
    /// but for the way of a river through the shallows. From then on maps of depth have rivers too; directions, areas and orders stay.
    pub fn carve(&mut self) -> Beds {
        let words = |metres: f64| (metres / self.scale.spacing_m * f64::from(CELL)).round().min(f64::from(i32::MAX)) as i32;
        let rivers: Vec<usize> = (0..self.ground.len()).filter(|&cell| self.is_river(cell)).collect();
        let (width, height) = (self.size.width, self.size.height);
        let mut ground = self.ground.clone();
        let mut surface = self.surface.clone();
        for &cell in &rivers {
            let channel = self.channel(cell);
            let (level, deep) = (self.surface[cell], words(channel.depth_m));
            ground[cell] = ground[cell].min(level.saturating_sub(deep));
            let radius = channel.width_m / self.scale.spacing_m / 2.0;
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
                        let below = (f64::from(deep) * (1.0 - share)).round() as i32;
                        let (bed, whole) = (level.saturating_sub(below), self.ground[to]);
                        // Where several cells of rivers reach: the lowest bed and the highest level, in any order.
                        if bed < whole {
                            let level = if self.is_puddle(to) { level } else { level.min(whole) };
                            surface[to] = if ground[to] == whole { level } else { surface[to].max(level) };
                            ground[to] = ground[to].min(bed);
                        }
                    }
                }
            }
        }
        let fall = |(old, new): (&i32, &i32)| i64::from(*old) - i64::from(*new);
        let words = self.ground.iter().zip(&ground).map(fall).sum();
        let cells = self.ground.iter().zip(&ground).filter(|(old, new)| old != new).count();
        self.surface = surface;
        self.bed = Some(ground.clone());
        Beds { ground, words, cells }
    }
}
