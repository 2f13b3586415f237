//! stub
#![warn(missing_docs)]

pub mod bundle;
pub mod classic;
pub mod compare;
pub mod device;
pub mod dungeon;
pub mod error;
pub mod exec;
pub mod field;
pub mod io;
pub mod job;
pub mod lattice;
pub mod map;
pub mod morphometry;
pub mod params;
pub mod plan;
pub mod quality;
pub mod recipe;
pub mod render;
pub mod scatter;
pub mod site;
pub mod spec;
pub mod stage;
mod table;

pub use device::{Device, adapters};
pub use error::{Error, Invalid, Result};
pub use exec::{Adapter, AdapterInfo};
pub use job::{Cancel, Event, Heights, Job, Outcome, Snapshot};
pub use map::Map;
pub use recipe::Recipe;
