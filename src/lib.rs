//! Terrain and its erosion, with the same bytes on the GPU and on the CPU.
//!
//! A [`Recipe`] says what to make: a list of stages with their settings, as TOML, JSON or Rust. A
//! [`Job`] runs it on a [`Device`] and leaves an [`Outcome`], whose maps are exact words and
//! heights in metres. The same recipe gives the same bytes on any device, driver, number of threads
//! and operating system.
//!
//! ```
//! use thalweg::{Device, Event, Job, Recipe};
//!
//! let recipe = "schema = 1\nseed = 5\nwidth = 256\nheight = 256\nspacing_m = 20\n\
//!               [[stage]]\nkind = \"diamond_square\"\nrelief_m = 900\n[[stage]]\nkind = \"droplets\"\nrain = 0.5\n";
//! let recipe = Recipe::from_toml(recipe, "".as_ref(), "hills")?; // or Recipe::read("hills.toml".as_ref())?
//! let job = Job::new(recipe)?.device(Device::Cpu); // Device::Auto takes a graphics card where there is one
//! let land = job.run(&mut |event| {
//!     if let Event::Progress(at) = event {
//!         eprintln!("{}: {} of {} passes", at.name, at.done, at.passes);
//!     }
//!     Ok(())
//! })?;
//! let (lowest, highest) = land.map("height")?.min_max();
//! println!("{lowest} to {highest} m, digest {}", land.digest("height")?);
//! # assert!(lowest < highest);
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
//! [`Zip`] archive or [`Memory`]. [`AfterStage::snapshot`] keeps all that a run has made so far,
//! and [`Job::resume`] goes on from it.
//!
//! # Your own device
//! With the feature `gpu`, [`Gpu::from_device`] runs jobs on your `wgpu` device, and
//! [`Gpu::take_buffer`] leaves the result there. The crate's [`wgpu`] is re-exported, since two
//! versions of it in one program do not mix.
//!
//! # Features
//! | feature | what it brings |
//! |---|---|
//! | `cli` (default) | the command, and all but `gpu` and `serve` |
//! | `gpu` (default) | the graphics card |
//! | `serve` (default) | `thalweg serve`: recipes over HTTP |
//! | `io` | map files, pictures, bundles |
//! | `dungeon` | dungeons, and their entrances on the land |
//! | `classic` | the published sequential algorithms, and statistics |
//! | `internals` | the modules below this library, which change without notice |
#![warn(missing_docs)]
// Without the modules below the library, what only they use looks unused.
#![cfg_attr(not(feature = "internals"), allow(dead_code, unused_imports))]

#[cfg(feature = "io")]
pub mod bundle;
#[cfg(feature = "dungeon")]
pub mod dungeon;
mod error;
#[cfg(feature = "io")]
pub mod io;
#[cfg(feature = "classic")]
pub mod quality;
#[cfg(feature = "io")]
pub mod render;
mod table;

// How much memory there is.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod memory;
#[cfg(not(feature = "internals"))]
mod memory;

// Only tests, benches and the command see these modules.
#[cfg(all(feature = "internals", feature = "classic"))]
#[doc(hidden)]
pub mod classic;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod compare;
#[cfg(not(feature = "internals"))]
mod compare;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod device;
#[cfg(not(feature = "internals"))]
mod device;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod exec;
#[cfg(not(feature = "internals"))]
mod exec;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod field;
#[cfg(not(feature = "internals"))]
mod field;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod identity;
#[cfg(not(feature = "internals"))]
mod identity;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod job;
#[cfg(not(feature = "internals"))]
mod job;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod lattice;
#[cfg(not(feature = "internals"))]
mod lattice;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod map;
#[cfg(not(feature = "internals"))]
mod map;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod morphometry;
#[cfg(not(feature = "internals"))]
mod morphometry;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod params;
#[cfg(not(feature = "internals"))]
mod params;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod picture;
#[cfg(not(feature = "internals"))]
mod picture;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod plan;
#[cfg(not(feature = "internals"))]
mod plan;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod recipe;
#[cfg(not(feature = "internals"))]
mod recipe;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod scatter;
#[cfg(not(feature = "internals"))]
mod scatter;
#[cfg(feature = "serve")]
#[doc(hidden)]
pub mod service;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod site;
#[cfg(not(feature = "internals"))]
mod site;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod spec;
#[cfg(not(feature = "internals"))]
mod spec;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod stage;
#[cfg(not(feature = "internals"))]
mod stage;
pub mod tiles;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod water;
#[cfg(not(feature = "internals"))]
mod water;

pub use compare::{Comparison, Difference, Every, KernelTime, StageComparison};
pub use device::{Device, adapters};
pub use error::{Error, Invalid, Result};
pub use exec::cpu::{Cpu, Order};
pub use exec::{Adapter, AdapterInfo, Executor};
pub use field::{Decode, FIELDS, Field, Origin, Resample};
pub use job::{
    AfterStage, BiomeShare, BiomeWeights, Cancel, Event, Frame, Heights, Job, Level, Outcome,
    Progress, Snapshot, StageReport, Texture,
};
pub use map::{GeoKeys, Georef, Map, Samples};
pub use params::{Param, ParamKind, Settings, Value};
pub use recipe::{
    ByLevel, Colour, Input, Levels, Nested, Output, PRESETS, Preset, Recipe, Step, assignment,
};
pub use scatter::{Method as ScatterMethod, Place, places as scatter_places};
pub use site::{Layer, Scale, Window};
pub use stage::{STAGES, Stage};
pub use water::channel::{Channel, Law as RiverLaw};
pub use water::outline::{Polygon, Ring};
pub use water::vectors::{Basin, Lake, Point as WaterPoint, PointKind, Reach, Vectors, Vertex};
pub use water::{Settings as WaterSettings, Splines, Through, VectorFormat};

#[cfg(feature = "io")]
pub use bundle::{Bundle, Folder, Memory, Sink, Timelapse, TimelapseOptions, Zip};
#[cfg(feature = "io")]
pub use io::{MapFormat, ReadOptions, Reading, Stored, read};

#[cfg(feature = "gpu")]
pub use exec::gpu::Gpu;
/// The `image` whose types pictures are.
#[cfg(feature = "io")]
pub use image;
/// The `wgpu` that [`Gpu`] is made of.
#[cfg(feature = "gpu")]
pub use wgpu;
