//! The one test binary: what every stage gets for nothing, and what each part promises.

mod agree;
mod blur;
mod classic;
mod classic_snowballs;
mod coastal;
mod command;
mod common;
mod diamond_square;
mod droplets;
mod dungeon;
mod io;
mod island;
mod layer;
mod mutants;
mod poison;
mod quality;
mod recipe;
mod render;
mod schedule;
mod shaders;
mod snowballs;
mod spec;
mod stepper;
mod thermal;
mod tidy;
mod vectors;
