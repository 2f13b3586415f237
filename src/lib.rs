//! Terrain and its erosion, with the same bytes on the GPU and on the CPU.
//!
//! A [`Recipe`] says what to make: a list of stages with their settings, as TOML, JSON or Rust. A
//! [`Job`] runs it on a [`Device`] and leaves an [`Outcome`], whose maps are exact words and
//! heights in metres. The same recipe gives the same bytes on any device, driver, number of threads
//! and operating system.
//!
//! ```
//! let recipe = thalweg::Recipe::read("examples/mountains.toml")?;
//! let land = thalweg::Job::new(recipe)?.run(&mut |_| Ok(()))?;
//! let (lowest, highest) = land.map("height")?.min_max();
//! println!("{lowest} to {highest} m, digest {}", land.digest("height")?);
//! # assert!(lowest < highest);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! # Progress, and a device
//! ```
//! use thalweg::{Device, Event, Job, Recipe};
//!
//! let recipe: Recipe = r#"
//!     schema = 2
//!     width = 256
//!     height = 256
//!     spacing_m = 20
//!     [[stage]]
//!     kind = "diamond_square"
//!     relief_m = 900
//!     [[stage]]
//!     kind = "droplets"
//! "#
//! .parse()?;
//! // Device::Auto, the default, takes a graphics card where there is one.
//! let job = Job::new(recipe)?.device(Device::Cpu);
//! let land = job.run(&mut |event| {
//!     if let Event::Progress(at) = event {
//!         eprintln!("{}: {} of {} passes", at.name, at.done, at.passes);
//!     }
//!     Ok(()) // an error ends the run
//! })?;
//! # assert_eq!(land.map("height")?.width, 256);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! # Your own heights
//! [`Job::with_heights`] erodes heights in memory, in metres or as exact words;
//! [`Recipe::on_heights`] makes a recipe for them from a [`Preset`] or from [`Step`]s. With the
//! feature `io`, [`Job::read`] reads the files that a recipe names.
//!
//! # What a run leaves
//! [`Outcome::map`] has values in the unit of the map's [`Field`], [`Outcome::words`] its exact
//! words. With `io`, [`Job::run_into`] stores a bundle of files in a [`Sink`]: a [`Folder`], a
//! [`Zip`] archive or [`Memory`]. [`AfterStage::snapshot`](job::AfterStage::snapshot) keeps all
//! that a run has made so far, and [`Job::resume`] goes on from it.
//!
//! # Your own device
//! With the feature `gpu`, [`Gpu::from_device`] runs jobs on your `wgpu` device, and
//! [`Gpu::take_buffer`] leaves the result there. The crate's [`wgpu`] is re-exported, since two
//! versions of it in one program do not mix.
//!
//! # Your own executor
//! [`Job::run_on`] takes anything that is an [`exec::Executor`]: it holds buffers of words and runs
//! the passes of a [`plan::Plan`] over them. [`Cpu`] and `Gpu` are two.
//!
//! # Targets without threads
//! Without features the library builds and runs for `wasm32-unknown-unknown`, on the calling
//! thread.
//!
//! # Features
//! | feature | what it brings |
//! |---|---|
//! | `cli` (default) | the command, and all but `api`, `gpu` and `serve` |
//! | `gpu` (default) | the graphics card |
//! | `serve` (default) | `thalweg serve`: recipes over HTTP |
//! | `io` | map files, pictures, bundles |
//! | `gpkg` | GeoPackages of rivers, lakes and basins, by SQLite; it brings `io` |
//! | `api` | what the service and pages answer alike; it brings `dungeon` |
//! | `dungeon` | dungeons, and their entrances on the land |
//! | `classic` | the published sequential algorithms, and statistics |
#![warn(missing_docs)]

#[cfg(feature = "api")]
#[doc(hidden)]
pub mod api;
#[cfg(feature = "io")]
pub mod bundle;
#[cfg(feature = "dungeon")]
pub mod dungeon;
#[cfg(feature = "io")]
pub mod io;
#[cfg(feature = "classic")]
pub mod quality;
#[cfg(feature = "io")]
pub mod render;

// The kernels.
#[doc(hidden)]
pub use thalweg_core::{
    arith, clock, device, error, lattice, map, memory, params, picture, site, stage, table,
};
pub use thalweg_core::{exec, plan};

// Below the documented library: these modules change without notice.
#[cfg(feature = "classic")]
#[doc(hidden)]
pub mod classic;
pub mod compare;
mod engine;
pub mod field;
#[doc(hidden)]
pub mod format;
#[doc(hidden)]
pub mod identity;
pub mod job;
mod keys;
pub mod materials;
#[doc(hidden)]
pub mod morphometry;
pub mod recipe;
pub mod scatter;
#[doc(hidden)]
pub mod schedule;
#[cfg(feature = "serve")]
#[doc(hidden)]
pub mod service;
pub mod tiles;
#[doc(hidden)]
pub mod vectors;
pub mod water;

pub use device::{Device, adapters};
pub use error::{Error, Fault, Invalid, Limit, Result};
pub use exec::cpu::{Cpu, Order};
pub use exec::{Adapter, AdapterInfo, Executor};
pub use field::{FIELDS, Field};
pub use job::{Cancel, Event, Frame, Heights, Job, Level, Outcome, Progress, Snapshot};
pub use map::{GeoKeys, Georef, Map, Samples};
pub use params::{Param, ParamKind, Settings, Value};
pub use recipe::{Colour, Input, Levels, Output, PRESETS, Preset, Recipe, Step, assignment};
pub use site::{Layer, Scale, Window};
pub use stage::{STAGES, Stage};

#[cfg(feature = "io")]
pub use bundle::{Bundle, Folder, Memory, Sink, Zip};
#[cfg(feature = "io")]
pub use io::{MapFormat, ReadOptions, Reading, Stored, read};

#[cfg(feature = "gpu")]
pub use exec::gpu::Gpu;
/// The `image` whose types pictures are.
#[cfg(feature = "io")]
pub use image;
/// The `wgpu` that [`Gpu`] is made of.
#[cfg(feature = "gpu")]
pub use thalweg_core::wgpu;
