//! Terrain and its erosion, with the same bytes on the GPU and on the CPU.
#![warn(missing_docs)]

pub mod classic;
pub mod compare;
pub mod error;
pub mod exec;
pub mod io;
pub mod map;
pub mod params;
pub mod plan;
pub mod recipe;
pub mod render;
pub mod spec;
pub mod stage;
pub mod world;

pub use error::{Error, Result};
pub use map::Map;
