//! Dungeons in a world: the places of their entrances, and the level ground around them.
//!
//! **Rule.** The world is divided into blocks of `spacing_cells` × `spacing_cells` cells. Each
//! block has one candidate, at a random cell with a random rank. A candidate is suitable if heights
//! and slopes are within bounds in the square that encloses the level ground, and if its own cell
//! lies in one of the biomes asked for. A suitable candidate becomes an entrance unless another
//! suitable one with a better rank lies nearer than `spacing_cells`. So entrances are at least
//! `spacing_cells` apart, and the result does not depend on any order or on the window.
//!
//! **Borders.** Every entrance found on a map is an entrance of the world. A candidate is left out
//! if the map does not contain all ground that decides about it and about better candidates nearby.
//! This never happens to entrances that lie deeper than [`Placing::reach`] inside the map. The
//! `margin_cells` of a recipe brings in those at the border of the window.
//!
//! **Level ground.** Within `radius_cells` of an entrance the ground has the height of the
//! entrance. From there to twice the radius it blends into the original slopes. The discs of two
//! entrances never meet.

use super::Generator;
use crate::arith::{CELL, key};
use crate::error::{Error, Invalid, Result};
use crate::site::Window;
use serde::Serialize;

/// The largest radius of level ground, in cells.
pub const RADIUS_MAX: i64 = 64;
/// The largest spacing of entrances, in cells.
pub const SPACING_MAX: i64 = 16384;

/// The most blocks of a window. Each block has at most one dungeon.
pub const BLOCKS_MAX: i64 = 1 << 16;

/// The purpose of these random numbers. It differs from the purposes of all stages.
const PURPOSE: u32 = 0x6475_6e67;

/// Which dungeons a world has, and on which ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Placing {
    /// What makes the dungeon of each entrance.
    pub generator: Generator,
    /// The least distance between two entrances, in cells. It must exceed 4 times the radius.
    pub spacing: i64,
    /// The radius of level ground around an entrance, in cells, 1 to [`RADIUS_MAX`].
    pub radius: i64,
    /// The steepest ground allowed, as rise per cell.
    pub slope_max: f64,
    /// The lowest ground allowed, in metres.
    pub lowest_m: f64,
    /// The highest ground allowed, in metres.
    pub highest_m: f64,
    /// The names of the biomes in which the entrance itself may lie. An empty list allows all.
    pub biomes: Vec<String>,
    /// The extension of the dungeon files.
    pub format: String,
}

/// The entrance of a dungeon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entrance {
    /// World coordinates of its cell.
    pub x: i64,
    /// See `x`.
    pub y: i64,
    /// The height of the level ground, in words.
    #[serde(skip)]
    pub height: i32,
    /// The seed of its dungeon. It has 53 bits, so JSON readers that use floating-point numbers
    /// keep it exactly.
    pub seed: u64,
}

/// A random word that depends only on the seed, the purpose and the place.
fn word(seed: u64, purpose: u32, x: i64, y: i64) -> u64 {
    let join = |[low, high]: [u32; 2]| (u64::from(high) << 32) | u64::from(low);
    let column = join(key(join(key(seed, PURPOSE)) ^ x as u64, purpose));
    join(key(column ^ y as u64, purpose))
}

/// The heights of a window, addressed by world coordinates.
struct HeightMap<'a> {
    words: &'a [i32],
    window: Window,
}

impl HeightMap<'_> {
    /// The index of a cell, if it lies on the map.
    fn index(&self, x: i64, y: i64) -> Option<usize> {
        let (x, y) = (x - self.window.origin[0], y - self.window.origin[1]);
        let inside = (0..self.window.width.into()).contains(&x)
            && (0..self.window.height.into()).contains(&y);
        inside.then(|| y as usize * self.window.width as usize + x as usize)
    }

    /// The height of a cell, if it lies on the map.
    fn at(&self, x: i64, y: i64) -> Option<i32> {
        self.index(x, y).map(|i| self.words[i])
    }
}

impl Placing {
    /// Checks the values against each other, and the settings of the generator.
    ///
    /// # Errors
    /// [`Error::Param`] or [`Error::Limit`] with what is allowed.
    pub fn check(&self) -> Result<()> {
        if self.spacing <= 4 * self.radius {
            let least = 4 * self.radius + 1;
            let message = format!(
                "spacing_cells = {}: allowed {least} to {SPACING_MAX} with a radius of {}, so that \
                 level grounds stay apart",
                self.spacing, self.radius
            );
            let allowed = format!("{least} to {SPACING_MAX}");
            return Err(Invalid::of("spacing_cells", self.spacing, allowed).saying(message).into());
        }
        if self.lowest_m > self.highest_m {
            let message = format!(
                "lowest_m = {}, highest_m = {}: lowest_m must not exceed highest_m",
                self.lowest_m, self.highest_m
            );
            let allowed = format!("at most {}", self.highest_m);
            return Err(Invalid::of("lowest_m", self.lowest_m, allowed).saying(message).into());
        }
        self.generator.check()
    }

    /// Checks that a window has at most [`BLOCKS_MAX`] blocks.
    ///
    /// # Errors
    /// [`Error::Limit`] with a spacing that is large enough.
    pub fn admits(&self, window: Window) -> Result<()> {
        let blocks = |spacing: i64| {
            [window.width, window.height]
                .map(|side| i64::from(side) / spacing + 1)
                .iter()
                .product::<i64>()
        };
        if blocks(self.spacing) <= BLOCKS_MAX {
            return Ok(());
        }
        let enough = (self.spacing..=SPACING_MAX)
            .find(|spacing| blocks(*spacing) <= BLOCKS_MAX)
            .unwrap_or(SPACING_MAX);
        Err(Error::limit(format!(
            "dungeons: spacing_cells = {} gives {} blocks in {} x {} cells, with up to one file \
             each: \
             allowed {enough} or more here, which \
             gives at most {BLOCKS_MAX} blocks",
            self.spacing,
            blocks(self.spacing),
            window.width,
            window.height
        )))
    }

    /// The largest distance, in cells, between an entrance and the heights that decide about it.
    pub fn reach(&self) -> i64 {
        self.spacing + 2 * self.radius + 1
    }

    /// How far from a cell, in cells, heights can decide about its own: an entrance levels ground
    /// up to twice the radius away.
    pub fn halo(&self) -> i64 {
        self.reach() + 2 * self.radius
    }

    /// Finds the entrances on a map and levels the ground around them. `units` is the number of
    /// words per metre, `datum_m` the height of the word 0, and `in_biome` says whether the cell at
    /// an index lies in an allowed biome.
    pub fn entrances(
        &self,
        seed: u64,
        window: Window,
        words: &mut [i32],
        units: f64,
        datum_m: f64,
        in_biome: &dyn Fn(usize) -> bool,
    ) -> Vec<Entrance> {
        let word_of = |metres: f64| {
            ((metres - datum_m) * units).clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32
        };
        let bounds = [word_of(self.lowest_m), word_of(self.highest_m)];
        let block = |cell: i64| cell.div_euclid(self.spacing);
        let far = |axis: usize, side: u32| block(window.origin[axis] + i64::from(side) - 1);
        // One more ring of blocks, since their candidates may be nearer than the spacing.
        let columns = block(window.origin[0]) - 1..=far(0, window.width) + 1;
        let rows = block(window.origin[1]) - 1..=far(1, window.height) + 1;
        let ground = HeightMap { words, window };
        let blocks = columns.clone().count();
        let candidates: Vec<_> = rows
            .flat_map(|by| columns.clone().map(move |bx| (bx, by)))
            .map(|(bx, by)| {
                let place = word(seed, 1, bx, by);
                // The upper half of a product spreads 32 random bits evenly over the side.
                let side = self.spacing as u64;
                let x = bx * self.spacing + (((place & 0xffff_ffff) * side) >> 32) as i64;
                let y = by * self.spacing + (((place >> 32) * side) >> 32) as i64;
                let suitable = self
                    .suitable(&ground, x, y, bounds)
                    .map(|suitable| suitable && ground.index(x, y).is_some_and(in_biome));
                (word(seed, 2, bx, by), x, y, suitable)
            })
            .collect();
        let near = |a: (i64, i64), b: (i64, i64)| {
            (a.0 - b.0).pow(2) + (a.1 - b.1).pow(2) < self.spacing.pow(2)
        };
        let beaten = |i: usize, rank: u64, x: i64, y: i64| {
            // Only the surrounding blocks have candidates nearer than the spacing. They exist,
            // since a suitable candidate is never in the outer ring. A candidate that cannot be
            // judged on this map might be suitable.
            let around =
                [i - blocks, i, i + blocks].into_iter().flat_map(|i| &candidates[i - 1..=i + 1]);
            around
                .filter(|&&(other, ox, oy, suitable)| {
                    (other, ox, oy) < (rank, x, y) && suitable != Some(false)
                })
                .any(|&(_, ox, oy, _)| near((x, y), (ox, oy)))
        };
        let suitable =
            candidates.iter().enumerate().filter(|(_, candidate)| candidate.3 == Some(true));
        let entrances: Vec<Entrance> = suitable
            .filter(|&(i, &(rank, x, y, _))| !beaten(i, rank, x, y))
            .filter_map(|(_, &(_, x, y, _))| {
                Some(Entrance { x, y, height: ground.at(x, y)?, seed: word(seed, 3, x, y) >> 11 })
            })
            .collect();
        // Levelled at the end, since all candidates are judged by the ground as it was.
        entrances.iter().for_each(|entrance| self.level(entrance, window, words));
        entrances
    }

    /// Whether heights and slopes are within bounds around a candidate, or `None` if part of the
    /// ground is off the map.
    fn suitable(
        &self,
        ground: &HeightMap,
        x: i64,
        y: i64,
        [lowest, highest]: [i32; 2],
    ) -> Option<bool> {
        let wide = 2 * self.radius + 1;
        // If two opposite corners are on the map, all of the ground is.
        for (dx, dy) in [(-wide, -wide), (wide, wide)] {
            ground.at(x + dx, y + dy)?;
        }
        // Heights are in cells as well, so a slope of 1 is as many words as a cell has.
        let steepest = (self.slope_max * f64::from(CELL)) as i64;
        for dy in -self.radius..=self.radius {
            for dx in -self.radius..=self.radius {
                let here = ground.at(x + dx, y + dy)?;
                let right = ground.at(x + dx + 1, y + dy)?;
                let below = ground.at(x + dx, y + dy + 1)?;
                let steep = |other: i32| (i64::from(other) - i64::from(here)).abs() > steepest;
                if !(lowest..=highest).contains(&here) || steep(right) || steep(below) {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    /// Levels the ground around an entrance. The share of the entrance height is 1 within the
    /// radius and falls to 0 at twice the radius.
    fn level(&self, entrance: &Entrance, window: Window, words: &mut [i32]) {
        let wide = 2 * self.radius;
        for dy in -wide..=wide {
            for dx in -wide..=wide {
                let (x, y) =
                    (entrance.x + dx - window.origin[0], entrance.y + dy - window.origin[1]);
                // The distance in units of 2⁻⁸ cells.
                let far = ((dx * dx + dy * dy) << 16).isqrt();
                let share = ((wide << 8) - far).clamp(0, self.radius << 8);
                // Within the map: `suitable` has looked one cell farther to all sides.
                let at = &mut words[y as usize * window.width as usize + x as usize];
                let change =
                    (i64::from(entrance.height) - i64::from(*at)) * share / (self.radius << 8);
                *at = (i64::from(*at) + change) as i32;
            }
        }
    }
}
