//! Terrain and its erosion, with the same bytes on the GPU and on the CPU.
//!
//! A [`recipe::Recipe`] says what to make, an [`exec::Executor`] is where, a [`world::World`] brings them together:
//!
//! ```
//! use std::{path::Path, sync::atomic::AtomicBool};
//! use thalweg::{exec::cpu::{Cpu, Order}, recipe::Recipe, world::World};
//!
//! let recipe = "schema = 1\nseed = 5\nwidth = 256\nheight = 256\nspacing_m = 20\n\
//!               [[stage]]\nkind = \"diamond_square\"\nrelief_m = 900\n[[stage]]\nkind = \"droplets\"\nrain = 0.5\n";
//! let recipe = Recipe::from_toml(recipe, Path::new(""), "hills")?; // or Recipe::read(Path::new("hills.toml"))?
//! let mut executor = Cpu::new(0, Order::default())?; // or exec::gpu::Gpu::open(&Choice::Best, 64, None)?
//! let made = World::new(&recipe, None)?.run(&mut executor, &AtomicBool::new(false), &mut |_stage, _done, _of| {})?;
//! let (lowest, highest) = made.maps["height"].min_max();
//! println!("{lowest} to {highest} m, digest {}", made.digests["height"]);
//! let (exr, _warnings) = thalweg::io::encode(&made.maps["height"], thalweg::io::Format::Exr)?;
//! # assert!(lowest < highest && !exr.is_empty());
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! Everything the executors do lies in a [`plan::Plan`]; `ARCHITECTURE.md` in the repository says why the bytes are equal.
#![warn(missing_docs)]

pub mod classic;
pub mod compare;
pub mod dungeon;
pub mod error;
pub mod exec;
pub mod io;
pub mod lattice;
pub mod map;
pub mod params;
pub mod plan;
pub mod quality;
pub mod recipe;
pub mod relief;
pub mod render;
pub mod scatter;
pub mod site;
pub mod spec;
pub mod stage;
pub mod world;

pub use error::{Error, Result};
pub use map::Map;
