//! Reads TIFF and GeoTIFF, and the same file as the mask beside another.
#![no_main]

use std::sync::LazyLock;
use tempfile::TempDir;
use thalweg::io::{self, MapFormat, encode};
use thalweg::map::Map;
use thalweg_fuzz::{check, folder, options, put};

/// A folder with a land of 8x8 samples, as many as the inputs to start from have.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let data = (0..64).map(|i| i as f32).collect();
    let land = Map { width: 8, height: 8, spacing_m: 1.0, data, range_m: None, georef: None };
    let folder = folder();
    put(
        folder.path(),
        "land.tif",
        &encode(&land, MapFormat::Tiff).expect("a land can be written").0,
    );
    folder
});

thalweg_fuzz::target!(256, |data| {
    thalweg_fuzz::read("land.tif", data);
    let Some((first, content)) = data.split_first_chunk() else { return };
    put(FOLDER.path(), "land.tif.msk", content);
    if let Ok(reading) = io::read(FOLDER.path().join("land.tif"), &options(*first)) {
        check(&reading);
    }
});
