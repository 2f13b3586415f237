//! Reads TIFF and GeoTIFF.
#![no_main]

thalweg_fuzz::target!(256, |data| thalweg_fuzz::read("land.tif", data));
