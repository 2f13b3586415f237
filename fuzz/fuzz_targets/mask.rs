//! Reads masks: shares and numbers in BMP, JPEG, WebP and PNG.
#![no_main]

use std::path::Path;
use thalweg::ReadOptions;
use thalweg::image::ImageFormat;
use thalweg::io::{decode_file, decode_mask};
use thalweg::map::Samples;
use thalweg_fuzz::{CELLS_MAX, check};

thalweg_fuzz::target!(256, |data| {
    let Some((kind, content)) = data.split_first() else { return };
    let samples = if kind & 4 == 0 { Samples::Shares } else { Samples::Numbers };
    let options = ReadOptions { samples, max_cells: CELLS_MAX, ..ReadOptions::default() };
    let name = Path::new("mask");
    let reading = match kind & 3 {
        0 => decode_mask(name, content, ImageFormat::Bmp, &options),
        1 => decode_mask(name, content, ImageFormat::Jpeg, &options),
        2 => decode_mask(name, content, ImageFormat::WebP, &options),
        _ => decode_file(Path::new("mask.png"), content, &options),
    };
    if let Ok(reading) = reading {
        check(&reading);
    }
});
