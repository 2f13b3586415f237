//! How many particles live where and for how long, and which of them cannot meet.

use super::{LOAD_MAX, TILE, TILE_DROPS, WANT_MAX, params::STEPS_MAX};
use crate::arith;
use crate::params::Settings;
use crate::plan::Disjoint;
use crate::site::{Site, Window};

/// Steps without rain at the end of a run, in which the carry finds its place.
pub const TAIL: u32 = 32;

/// How long and how far particles go.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Side of a home block, cells.
    pub block: u32,
    /// Lives of a particle at most; 0 if there are no particles.
    pub lives: i64,
    /// How many homes have a particle in the last of them: see [`lives_last`](super::lives_last).
    pub last_share: u32,
    /// Particles that fall on a cell over the whole run.
    pub rain: f64,
    /// Steps a life.
    pub lifetime: u32,
    /// Steps of the run.
    pub steps: u32,
    /// Cells that a particle can go in a step.
    pub stride: u32,
}

impl Walk {
    /// From the settings.
    pub fn of(s: &Settings, stride: u32) -> Self {
        let block = (1.0 / s.number("density").sqrt()).round() as u32;
        let fall = s.number("rain") * (block * block) as f64;
        // To 2⁻²⁴ of a life, so that whole lives are whole whatever the last bits of the product
        // are.
        let fall = (fall * 16_777_216.0).round() / 16_777_216.0;
        let (lives, lifetime) = (fall.ceil() as i64, s.integer("lifetime") as u32);
        // One home in `lifetime` lives the last life for the first one, which it has not: the
        // others share what is left.
        let share = (fall - (lives - 1) as f64) * f64::from(lifetime) / f64::from(lifetime - 1);
        // A home is among them if its number is at most this, hence 1 less.
        let last_share = (((share * (1u64 << 32) as f64) as u64).clamp(1, 1 << 32) - 1) as u32;
        Self {
            block,
            lives,
            last_share,
            rain: s.number("rain"),
            lifetime,
            // A run with more is refused by `check`, which needs a walk to say so.
            steps: (lives * lifetime as i64).min(STEPS_MAX) as u32,
            stride,
        }
    }

    /// Rows of homes from which a particle can reach one vertex.
    fn rows_in_reach(&self) -> u64 {
        2 * (self.lifetime as u64 * self.stride as u64 + 1) / self.block as u64 + 3
    }

    /// Bits by which proposals are shortened before they are summed, so that the sum cannot
    /// overflow even if all particles that can reach a vertex meet there. At least 2, so that
    /// shares are quotients of 31 bits.
    pub fn want_shift(&self) -> u32 {
        // Homes in reach are a square.
        let crowd = self.rows_in_reach().pow(2);
        (2..18).find(|&s| crowd * ((WANT_MAX as u64 >> s) + 1) < 1 << 31).unwrap_or(18)
    }

    /// What follows from the settings, for a summary.
    pub fn summary(&self, site: &Site) -> serde_json::Value {
        let cells = (self.block * self.block) as f64;
        serde_json::json!({
            "steps": self.steps, "lives": self.lives, "block_cells": self.block,
            "density": 1.0 / cells, "rain": self.rain,
            "droplets": Homes::of(&site.window, self.block).count(),
            "load_max_cells": LOAD_MAX as f64 / arith::CELL as f64,
        })
    }
}

/// The home blocks that touch a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homes {
    /// World index of the first block, by axis.
    pub first: [i64; 2],
    /// Blocks by axis.
    pub wide: u32,
    pub high: u32,
    /// Tiles by axis.
    pub tiles: [u32; 2],
    /// Local coordinates of the first block's corner, cells.
    pub corner: [i32; 2],
}

impl Homes {
    fn of(window: &Window, block: u32) -> Self {
        Self::over(window, window, block)
    }

    /// Those that touch `whole`, on the coordinates of `window`.
    pub(super) fn over(whole: &Window, window: &Window, block: u32) -> Self {
        let b = block as i64;
        // Towards the north-west, also where coordinates are negative.
        let first = whole.origin.map(|o| o.div_euclid(b));
        let count = |axis: usize, side: u32| {
            ((whole.origin[axis] + side as i64 - 1).div_euclid(b) - first[axis] + 1) as u32
        };
        let (wide, high) = (count(0, whole.width), count(1, whole.height));
        Self {
            first,
            wide,
            high,
            tiles: [wide.div_ceil(TILE), high.div_ceil(TILE)],
            corner: [0, 1].map(|a| (first[a] * b - window.origin[a]) as i32),
        }
    }

    /// Tiles over the window.
    pub fn tile_count(&self) -> usize {
        self.tiles[0] as usize * self.tiles[1] as usize
    }

    /// Homes, without those that the last tiles have beyond the window.
    fn count(&self) -> u64 {
        self.wide as u64 * self.high as u64
    }
}

/// Squares of tiles in four colours. Squares of one colour are farther apart than two particles can
/// go in a life.
pub(super) fn disjoint(homes: &Homes, d: &Walk, torus: bool) -> Disjoint {
    let walk = d.lifetime * d.stride + 2;
    let least = (2 * walk).div_ceil(TILE * d.block).max(1);
    // The longer axis has a power of two of squares, so that all are of one size and colours have
    // equal work.
    let longer = homes.tiles[0].max(homes.tiles[1]);
    let side = longer.div_ceil(1 << (longer / least).max(1).ilog2());
    let squares = homes.tiles.map(|t| t.div_ceil(side));
    // On the torus the last square borders on the first and can be narrow, so the last two have
    // colours of their own.
    let colour = |i: u32, n: u32| if torus && n > 1 && i + 2 >= n { 4 + i - n } else { i % 2 };
    let mut rounds: Disjoint = vec![vec![]; 16];
    for sy in 0..squares[1] {
        for sx in 0..squares[0] {
            let columns = sx * side..((sx + 1) * side).min(homes.tiles[0]);
            let rows = sy * side..((sy + 1) * side).min(homes.tiles[1]);
            let group = rows.map(|y| {
                (y * homes.tiles[0] + columns.start) * TILE_DROPS as u32
                    ..(y * homes.tiles[0] + columns.end) * TILE_DROPS as u32
            });
            rounds[(colour(sy, squares[1]) * 4 + colour(sx, squares[0])) as usize]
                .push(group.collect());
        }
    }
    // Colours that no square has make no rounds.
    rounds.retain(|r| !r.is_empty());
    rounds
}
