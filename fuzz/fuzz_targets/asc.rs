//! Reads ESRI ASCII grids.
#![no_main]

thalweg_fuzz::target!(256, |data| thalweg_fuzz::read("land.asc", data));
