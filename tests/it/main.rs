//! The one test binary: what every stage gets for nothing, and what each part promises.

mod agree;
mod classic;
mod command;
mod common;
mod diamond_square;
mod droplets;
mod io;
mod layer;
mod mutants;
mod poison;
mod recipe;
mod relief;
mod render;
mod schedule;
mod shaders;
mod spec;
mod tidy;
mod timelapse;
mod vectors;
