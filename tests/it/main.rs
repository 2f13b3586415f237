//! The one test binary: what every stage gets for nothing, and what each part promises. Without a
//! feature its modules are left out.
//!
//! A line "Holds A7." names what a test holds of the five articles that thalweg follows: the letter
//! is the article (A snowballs, B coastal waves, C droplets, D diamond-square, E biomes, F and G
//! dungeons, M the program as a whole), the number an item of it. `docs/articles.md` lists them
//! all, and its last column is made from these lines. F and G count in the tests of dungeons alone:
//! elsewhere F is a promise about files.

#[cfg(feature = "gpu")]
mod agree;
mod arith;
#[cfg(feature = "cli")]
mod articles;
mod atomics;
#[cfg(feature = "classic")]
mod biomes;
mod blur;
#[cfg(feature = "classic")]
mod classic;
#[cfg(feature = "classic")]
mod classic_biomes;
#[cfg(feature = "classic")]
mod classic_run;
#[cfg(feature = "classic")]
mod classic_snowballs;
mod coastal;
mod combine;
#[cfg(feature = "cli")]
mod command;
mod common;
mod counts;
#[cfg(feature = "io")]
mod crs;
mod deltas;
mod device;
#[cfg(feature = "classic")]
mod diamond_square;
mod drawn_water;
mod droplets;
#[cfg(all(feature = "dungeon", feature = "io"))]
mod dungeon;
#[cfg(feature = "dungeon")]
mod dungeon_world;
mod examples;
#[cfg(all(feature = "dungeon", feature = "io"))]
mod exchange;
mod flat;
mod game_maps;
mod hills;
mod identity;
mod incision;
#[cfg(feature = "io")]
mod io;
mod island;
mod job;
mod lattice;
mod layer;
mod levels;
#[cfg(feature = "io")]
mod materials;
mod memory;
#[cfg(feature = "io")]
mod mesh;
mod missing;
mod morphometry;
#[cfg(feature = "gpu")]
mod mutants;
mod noise;
mod plan;
#[cfg(feature = "gpu")]
mod poison;
#[cfg(feature = "io")]
mod pool;
#[cfg(all(feature = "classic", feature = "io"))]
mod quality;
mod random_raise;
mod ranges;
#[cfg(feature = "gpu")]
mod read;
mod recipe;
#[cfg(feature = "io")]
mod render;
#[cfg(feature = "io")]
mod scatter;
mod schedule;
#[cfg(feature = "cli")]
mod schema;
#[cfg(feature = "serve")]
mod service;
#[cfg(feature = "gpu")]
mod shaders;
mod shore;
mod snowballs;
mod stepper;
mod strokes;
mod thermal;
mod tidy;
#[cfg(feature = "io")]
mod tiles;
mod timelapse;
mod vectors;
mod voronoi_island;
mod water;
#[cfg(feature = "io")]
mod water_budget;
#[cfg(feature = "io")]
mod water_carve;
#[cfg(feature = "io")]
mod water_vectors;
mod wind;
