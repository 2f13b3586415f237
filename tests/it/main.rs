//! The one test binary: what every stage gets for nothing, and what each part promises.

mod agree;
mod classic;
mod command;
mod common;
mod diamond_square;
mod droplets;
mod dungeon;
mod io;
mod mutants;
mod poison;
mod recipe;
mod render;
mod schedule;
mod shaders;
mod spec;
mod tidy;
mod vectors;
