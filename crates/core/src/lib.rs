//! The exact kernels of thalweg: integer arithmetic, the stages and their shaders, plans of passes,
//! and the executors that run a plan on the CPU or on a graphics card.
//!
//! The package `thalweg` has recipes, jobs, files and the command above this, and re-exports what
//! its users need.
#![warn(missing_docs)]

pub mod arith;
pub mod clock;
pub mod device;
pub mod error;
pub mod exec;
pub mod lattice;
pub mod map;
pub mod memory;
pub mod params;
pub mod picture;
pub mod plan;
pub mod site;
pub mod stage;
pub mod table;
mod twin;

pub use error::{Error, Fault, Invalid, Limit, Result};
/// The `wgpu` that the executor of the graphics card is made of.
#[cfg(feature = "gpu")]
pub use wgpu;

/// The text of all shaders, which is part of what decides the bytes of a land.
pub fn shaders() -> String {
    let stages = stage::STAGES.into_iter().chain(stage::INNER).map(|stage| stage.shader);
    exec::shared().into_iter().chain(stages).collect()
}
