//! Terrain and its erosion, with the same bytes on the GPU and on the CPU.
#![warn(missing_docs)]

pub mod error;
pub mod map;

pub use error::{Error, Result};
pub use map::Map;
