//! The published sequential algorithms in floating point: the yardstick for looks, statistics and
//! speed.
//!
//! Each module follows one published description step by step, and says where that description had
//! to be completed or corrected. Nothing here is parallel, and the results are not those of the
//! fixed-point passes: each droplet sees the ground as the droplet before it left it, which no
//! parallel order can reproduce.

pub mod biomes;
pub mod diamond_square;
pub mod droplets;
pub mod snowballs;
