//! The parameters of the particle laws, and their uniform struct.

use super::Walk;
use crate::error::Invalid;
use crate::params::{Param, Settings};
use crate::twin::{constants, uniform};
use encase::ShaderType;
use glam::{IVec2, UVec2};

/// Most lives of a particle in one run: bounds what one tile can export.
const LIVES_MAX: i64 = 511;
/// Most steps of one run: bounds the memory of a plan.
pub(super) const STEPS_MAX: i64 = 1 << 18;

constants! {
    pub(crate) const WGSL: &str;

    /// Particles leave the map with their load.
    pub const OPEN: u32 = 0;
    /// Particles come in on the other side.
    pub const TORUS: u32 = 1;
    /// Particles stay where they are.
    pub const WALL: u32 = 2;
    /// Particles turn back.
    pub const HIGH: u32 = 3;
    /// Flag: rain decides about births.
    pub const RAIN: u32 = 1;
    /// Flag: `soft` holds the erodibility of the ground.
    pub(super) const SOFT: u32 = 2;
    /// Flag: the ledger holds the sediment.
    pub(super) const SEDIMENT: u32 = 4;
    /// Flag: the ground is loose sediment on bedrock that does not move: see [`super::settle`].
    pub(super) const SAND: u32 = 8;
    /// Flag: the rain is over, and particles lay down what they have left.
    pub(super) const EBB: u32 = 16;
    /// Flag: the last step, after which nothing may be left in loads or in the carry.
    pub const LAST: u32 = 32;
}

/// The parameter `rain` with a law's default.
pub const fn rain(default: f64) -> Param {
    Param::number(
        "rain",
        "particles a cell",
        [0.0, 511.0, default],
        "Particles that fall on a cell over the whole run. Where that is not a whole number of \
         lives, some of the particles live the last one, evenly spread. With 0 nothing falls and \
         nothing changes.",
    )
}

/// The parameter `density` with a law's default.
pub const fn density(default: f64) -> Param {
    Param::number(
        "density",
        "particles a cell",
        [0.00390625, 1.0, default],
        "Particles on a cell at one time, rounded to 1, 1/4, 1/9 … 1/256. A higher density is \
         rougher and takes fewer steps: steps = rain · lifetime / density.",
    )
}

/// The parameter `lifetime` with a law's default and maximum.
pub const fn lifetime(max: i64, default: i64) -> Param {
    Param::integer("lifetime", "steps", [2, max, default], "Steps that a particle lives.")
}

/// The parameter `radius_cells` with a law's default.
pub const fn radius(default: f64) -> Param {
    Param::number(
        "radius_cells",
        "cells",
        [1.0, 32.0, default],
        "Radius of the near-cone over which a particle's erosion is spread.",
    )
}

/// The parameter `max_step_fraction`.
pub const LIMIT_PARAM: Param = Param::number(
    "max_step_fraction",
    "",
    [0.0, 1.0, 0.25],
    "Part of the drop to its lowest neighbour that a vertex can lose in a step, and of the rise to \
     its highest that it can gain.",
);

/// The parameter `border`. The places of its words are the numbers that the kernels get: see
/// [`border`].
pub const BORDER: Param = Param::choice(
    "border",
    &["open", "torus", "wall", "high"],
    "open: particles leave the map with their load; torus: they come in on the other side; wall: \
     they stay; high: the land outside is so high that they turn back, as from a mirror.",
);

/// The parameter `floor_m`.
pub const FLOOR_M: Param = Param::number(
    "floor_m",
    "m",
    [-1e6, 1e6, NO_FLOOR_M],
    "Nothing is eroded to below this height. The default is no floor.",
);

/// The value of `floor_m` that stands for no floor.
const NO_FLOOR_M: f64 = -1e6;

/// The lowest height that is eroded to, if there is one.
pub fn floor_m(s: &Settings) -> Option<f64> {
    Some(s.number("floor_m")).filter(|floor_m| *floor_m > NO_FLOOR_M)
}

/// The parameter `sea_level_m`.
pub const SEA_LEVEL_M: Param = Param::number(
    "sea_level_m",
    "m",
    [-1e6, 1e6, NO_SEA_M],
    "Height of the sea. What comes into it slows down and lays down its load, and nothing is cut \
     below it: so deltas grow. The default is no sea.",
);

/// The value of `sea_level_m` that stands for no sea.
const NO_SEA_M: f64 = -1e6;

/// The height of the sea, if there is one.
pub fn sea_level_m(s: &Settings) -> Option<f64> {
    Some(s.number("sea_level_m")).filter(|sea_m| *sea_m > NO_SEA_M)
}

/// The parameter `wash`.
pub const WASH: Param = Param::number(
    "wash",
    "",
    [0.0, 1.0, 0.0],
    "Part of what a particle takes that leaves the land at once, as the silt of rivers does: with \
     0 all of it is laid down somewhere or carried over the border, with 1 nothing is laid down.",
);

/// The parameter `smooth`.
pub const SMOOTH: Param = Param::integer(
    "smooth",
    "times",
    [0, 64, 0],
    "Smooths the change made by the whole run this many times with the binomial kernel of 3 × 3 \
     cells before it is applied. For smooth ground: roughness that was there before stays, even \
     where the run had levelled it.",
);

/// The parameter `bedrock`.
pub const BEDROCK: Param = Param::number(
    "bedrock",
    "",
    [0.0, 1.0, 0.25],
    "Where there is a sediment layer: erodibility of bedrock compared with loose sediment.",
);

/// The parameter `root_strength`.
pub const ROOTS: Param = Param::number(
    "root_strength",
    "",
    [0.0, 1.0, 0.9],
    "Where there is a vegetation layer: part of the erosion that full vegetation prevents.",
);

/// The number that kernels get for the word of `border`. A law may list the words in another order,
/// since the first is its default.
pub fn border(s: &Settings) -> u32 {
    BORDER.number_of(s.word("border"))
}

/// The values of the parameters that not every law has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// See [`LIMIT_PARAM`].
    pub limit: f64,
    /// See [`FLOOR_M`].
    pub floor_m: Option<f64>,
    /// See [`SEA_LEVEL_M`].
    pub sea_level_m: Option<f64>,
    /// See [`WASH`].
    pub wash: f64,
    /// See [`SMOOTH`].
    pub smooth: usize,
    /// See [`BEDROCK`].
    pub bedrock: f64,
    /// See [`ROOTS`].
    pub roots: f64,
}

impl Options {
    /// The values for a law that has none of these parameters: no limit but the room there is, no
    /// floor, no sea, no smoothing.
    pub const NONE: Self = Self {
        limit: 1.0,
        floor_m: None,
        sea_level_m: None,
        wash: 0.0,
        smooth: 0,
        bedrock: 1.0,
        roots: 1.0,
    };

    /// The values for a law that has all of these parameters.
    pub fn of(s: &Settings) -> Self {
        Self {
            limit: s.number("max_step_fraction"),
            floor_m: floor_m(s),
            sea_level_m: sea_level_m(s),
            wash: s.number("wash"),
            smooth: s.integer("smooth") as usize,
            bedrock: s.number("bedrock"),
            roots: s.number("root_strength"),
        }
    }
}

/// An error text for a run with too many lives or steps.
pub fn check(s: &Settings) -> crate::Result<()> {
    let walk = Walk::of(s, 1);
    let density = 1.0 / (walk.block * walk.block) as f64;
    if walk.lives > LIVES_MAX {
        return Err(Invalid::from(format!(
            "rain = {} at density = {density} needs {} lives of each particle: allowed 0 to \
             {LIVES_MAX}; lower rain to {} or raise density",
            s.number("rain"),
            walk.lives,
            LIVES_MAX as f64 * density
        ))
        .about("rain")
        .into());
    }
    if walk.lives * walk.lifetime as i64 > STEPS_MAX {
        return Err(Invalid::from(format!(
            "rain · lifetime / density = {} · {} steps: allowed up to {STEPS_MAX}; lower rain or \
             lifetime, or raise density",
            walk.lives, walk.lifetime
        ))
        .about("rain")
        .into());
    }
    Ok(())
}

uniform! {
    /// The stepper's block of the uniform struct. The law's block follows it.
    #[derive(Clone, Copy, Debug, ShaderType)]
    pub struct Params {
        /// Cells in a row.
        pub width: i32,
        /// Rows.
        pub height: i32,
        /// Hash key of homes.
        pub key: UVec2,
        /// World index of the first home, low words.
        pub home: UVec2,
        /// Homes by axis.
        pub homes: UVec2,
        /// Local coordinates of the first home's corner, cells.
        pub corner: IVec2,
        /// Tiles in a row of tiles.
        pub tiles_wide: u32,
        /// Cells on a side of a home.
        pub block: u32,
        /// Step of the run.
        pub step: u32,
        /// Step of the run, modulo lifetime.
        pub step_rest: u32,
        /// Whole lifetimes before it.
        pub step_life: u32,
        /// Steps a life.
        pub lifetime: u32,
        /// 1 while particles are born.
        pub rains: u32,
        /// [`OPEN`], [`TORUS`], [`WALL`] or [`HIGH`].
        pub border: u32,
        /// Bits by which proposals are shortened before they are summed.
        pub want_shift: u32,
        /// Part of the room that may be used in a step, 2⁻¹⁶.
        pub limit: u32,
        /// Taps of the brush to each side.
        pub radius: i32,
        /// Which layers and options there are: [`RAIN`] and others.
        pub flags: u32,
        /// Erodibility of bedrock compared with loose sediment, 2⁻¹⁶.
        pub bedrock: u32,
        /// Part of the erosion that full vegetation prevents, 2⁻¹⁶.
        pub roots: u32,
        /// Height below which nothing is eroded: the floor or the sea, whichever is higher. The
        /// lowest word stands for neither.
        pub floor: i32,
        /// Height of the sea. The lowest word stands for no sea.
        pub sea: i32,
        /// Part of what is taken that leaves the land at once, 2⁻¹⁶.
        pub wash: u32,
        /// The number of the first class of streams: see [`super::Stream`].
        pub stream: u32,
        /// The last life, which not all particles may live.
        pub last_life: u32,
        /// How many do: see [`super::lives_last`].
        pub last_share: u32,
    } and law: Law
}

impl Params {
    /// Where the map ends, 2⁻¹⁶ cells: on the torus beyond its last column and row, elsewhere at
    /// them.
    #[inline(always)]
    pub fn span(&self) -> [i32; 2] {
        let last = (self.border != TORUS) as i32;
        [(self.width - last) << 16, (self.height - last) << 16]
    }
}
