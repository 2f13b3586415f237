//! Dungeons in a world: where their entrances are, and the ground levelled round them.
//!
//! **Rule.** The world is cut into blocks of `spacing` × `spacing` cells. Each has one candidate, at a random cell of it, with
//! a random rank. A candidate is fit if its ground is: heights and slopes within bounds, all over the disc that is to be
//! levelled, and its own cell in one of the biomes asked for. A fit candidate is an entrance unless another fit one of a better rank is nearer than `spacing`. So no two
//! entrances are nearer to each other than that, and nothing depends on an order, or on where a window begins.
//!
//! **Borders.** What is decided on a map holds in the world: a candidate whose ground, or a better candidate's nearby, is not
//! wholly on the map is left out. Entrances deeper than [`Placing::reach`] inside are never left out; a recipe's `margin`
//! provides for those at the window's border.
//!
//! **Level ground.** Within `radius` of an entrance the ground has its height, and from there to twice the radius it goes over
//! into the slopes as they were. Discs of two entrances never meet.

use super::Generator;
use crate::error::{Error, Result};
use crate::site::Window;
use crate::spec::{CELL, key};
use serde::Serialize;

/// Largest radius of level ground, in cells.
pub const RADIUS_MAX: i64 = 64;
/// Largest spacing of entrances, in cells.
pub const SPACING_MAX: i64 = 16384;

/// Most blocks of a window, each with a dungeon at most.
pub const BLOCKS_MAX: i64 = 1 << 16;

/// The purpose of the random numbers, apart from those of stages.
const PURPOSE: u32 = 0x6475_6e67;

/// Which dungeons a world has, and on what ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Placing {
    /// What is made at each entrance.
    pub generator: Generator,
    /// Least distance of two entrances, in cells: more than 4 times the radius.
    pub spacing: i64,
    /// Level ground round an entrance, in cells, 1 to [`RADIUS_MAX`].
    pub radius: i64,
    /// Steepest ground, as rise per cell.
    pub slope_max: f64,
    /// Lowest ground in metres.
    pub lowest_m: f64,
    /// Highest ground in metres.
    pub highest_m: f64,
    /// Names of the biomes that the entrance itself may lie in; none: any.
    pub biomes: Vec<String>,
    /// Extension of the dungeons' files.
    pub format: String,
}

/// A place where a dungeon can be entered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entrance {
    /// World coordinates of its cell.
    pub x: i64,
    /// See `x`.
    pub y: i64,
    /// Height of the level ground in words.
    #[serde(skip)]
    pub height: i32,
    /// The seed of its dungeon: 53 bits, so that readers of JSON that have only floating-point numbers keep it.
    pub seed: u64,
}

/// A random word for a place, the same for the same seed and place.
fn word(seed: u64, purpose: u32, x: i64, y: i64) -> u64 {
    let join = |[low, high]: [u32; 2]| (u64::from(high) << 32) | u64::from(low);
    let column = join(key(join(key(seed, PURPOSE)) ^ x as u64, purpose));
    join(key(column ^ y as u64, purpose))
}

/// Heights of a map that knows where in the world it lies.
struct Ground<'a> {
    words: &'a [i32],
    window: Window,
}

impl Ground<'_> {
    /// The number of a cell; none off the map.
    fn number(&self, x: i64, y: i64) -> Option<usize> {
        let (x, y) = (x - self.window.origin[0], y - self.window.origin[1]);
        let inside = (0..self.window.width.into()).contains(&x) && (0..self.window.height.into()).contains(&y);
        inside.then(|| y as usize * self.window.width as usize + x as usize)
    }

    /// Its height.
    fn at(&self, x: i64, y: i64) -> Option<i32> {
        self.number(x, y).map(|i| self.words[i])
    }
}

impl Placing {
    /// Checks what no single key can tell.
    ///
    /// # Errors
    /// [`Error::Param`] with what is allowed.
    pub fn check(&self) -> Result<()> {
        if self.spacing <= 4 * self.radius {
            return Err(Error::param(format!(
                "spacing = {}: allowed {} to {SPACING_MAX} with a radius of {}, so that levelled grounds stay apart",
                self.spacing,
                4 * self.radius + 1,
                self.radius
            )));
        }
        if self.lowest_m > self.highest_m {
            return Err(Error::param(format!(
                "lowest_m = {}, highest_m = {}: the lowest must not be over the highest",
                self.lowest_m, self.highest_m
            )));
        }
        match &self.generator {
            Generator::Isaac(settings) => settings.check(),
            Generator::Rebirth(settings) => settings.check(),
            Generator::TinyKeep(settings) => settings.check(),
        }
    }

    /// Checks that a window does not have more blocks than dungeons are made for.
    ///
    /// # Errors
    /// [`Error::Limit`] with a spacing that would do.
    pub fn admits(&self, window: Window) -> Result<()> {
        let blocks =
            |spacing: i64| [window.width, window.height].map(|side| i64::from(side) / spacing + 1).iter().product::<i64>();
        if blocks(self.spacing) <= BLOCKS_MAX {
            return Ok(());
        }
        let enough = (self.spacing..=SPACING_MAX).find(|spacing| blocks(*spacing) <= BLOCKS_MAX).unwrap_or(SPACING_MAX);
        Err(Error::Limit(format!(
            "dungeons: spacing = {} gives {} blocks in {} x {} cells and as many files: allowed {enough} or more here, for {BLOCKS_MAX} blocks",
            self.spacing,
            blocks(self.spacing),
            window.width,
            window.height
        )))
    }

    /// How far from an entrance, in cells, the heights that decide it lie.
    pub fn reach(&self) -> i64 {
        self.spacing + 2 * self.radius + 1
    }

    /// Finds the entrances on a map and levels the ground round them. `units` are words a metre, `datum_m` the height of the
    /// word 0; `suits` says by a cell's number whether its biome is right.
    pub fn entrances(
        &self,
        seed: u64,
        window: Window,
        words: &mut [i32],
        units: f64,
        datum_m: f64,
        suits: &dyn Fn(usize) -> bool,
    ) -> Vec<Entrance> {
        let word_of = |metres: f64| ((metres - datum_m) * units).clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32;
        let bounds = [word_of(self.lowest_m), word_of(self.highest_m)];
        let block = |cell: i64| cell.div_euclid(self.spacing);
        let far = |axis: usize, side: u32| block(window.origin[axis] + i64::from(side) - 1);
        // A ring of blocks more: their candidates may be nearer than the spacing.
        let columns = block(window.origin[0]) - 1..=far(0, window.width) + 1;
        let rows = block(window.origin[1]) - 1..=far(1, window.height) + 1;
        let ground = Ground { words, window };
        let blocks = columns.clone().count();
        let candidates: Vec<_> = rows
            .flat_map(|by| columns.clone().map(move |bx| (bx, by)))
            .map(|(bx, by)| {
                let place = word(seed, 1, bx, by);
                let side = self.spacing as u64;
                let x = bx * self.spacing + (((place & 0xffff_ffff) * side) >> 32) as i64;
                let y = by * self.spacing + (((place >> 32) * side) >> 32) as i64;
                let fit = self.fit(&ground, x, y, bounds).map(|fit| fit && ground.number(x, y).is_some_and(suits));
                (word(seed, 2, bx, by), x, y, fit)
            })
            .collect();
        let near = |a: (i64, i64), b: (i64, i64)| (a.0 - b.0).pow(2) + (a.1 - b.1).pow(2) < self.spacing.pow(2);
        let beaten = |i: usize, rank: u64, x: i64, y: i64| {
            // Nearer than the spacing are candidates of the blocks round it alone, and a fit one is not of the outer ring. One that
            // cannot be judged here might be fit.
            let round = [i - blocks, i, i + blocks].into_iter().flat_map(|i| &candidates[i - 1..=i + 1]);
            round
                .filter(|&&(other, ox, oy, fit)| (other, ox, oy) < (rank, x, y) && fit != Some(false))
                .any(|&(_, ox, oy, _)| near((x, y), (ox, oy)))
        };
        let fit = candidates.iter().enumerate().filter(|(_, candidate)| candidate.3 == Some(true));
        let entrances: Vec<Entrance> = fit
            .filter(|&(i, &(rank, x, y, _))| !beaten(i, rank, x, y))
            .filter_map(|(_, &(_, x, y, _))| Some(Entrance { x, y, height: ground.at(x, y)?, seed: word(seed, 3, x, y) >> 11 }))
            .collect();
        entrances.iter().for_each(|entrance| self.level(entrance, window, words));
        entrances
    }

    /// Whether the ground is right all over the disc; none if a part of it is off the map.
    fn fit(&self, ground: &Ground, x: i64, y: i64, [lowest, highest]: [i32; 2]) -> Option<bool> {
        let wide = 2 * self.radius + 1;
        // The corners tell at once whether all of it is there.
        for (dx, dy) in [(-wide, -wide), (wide, wide)] {
            ground.at(x + dx, y + dy)?;
        }
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

    /// Levels the ground round an entrance: a share of 1 within the radius, going to 0 at twice the radius.
    fn level(&self, entrance: &Entrance, window: Window, words: &mut [i32]) {
        let wide = 2 * self.radius;
        for dy in -wide..=wide {
            for dx in -wide..=wide {
                let (x, y) = (entrance.x + dx - window.origin[0], entrance.y + dy - window.origin[1]);
                // Distance in 2⁻⁸ cells.
                let far = ((dx * dx + dy * dy) << 16).isqrt();
                let share = ((wide << 8) - far).clamp(0, self.radius << 8);
                let at = &mut words[y as usize * window.width as usize + x as usize];
                let change = (i64::from(entrance.height) - i64::from(*at)) * share / (self.radius << 8);
                *at = (i64::from(*at) + change) as i32;
            }
        }
    }
}
