//! What the service and pages answer alike, without HTTP: tables, checked recipes, previews,
//! pictures of variants, dungeons, and what is wrong with a request. Neither knows of
//! threads. Without the feature `io` there is what a page needs for its first land.

#[cfg(feature = "io")]
pub mod dungeon;
pub mod files;
pub mod pace;
pub mod preview;
pub mod problem;
pub mod query;
pub mod recipes;
pub mod request;
#[cfg(feature = "io")]
pub mod result;
#[cfg(feature = "io")]
pub mod sheet;
pub mod tables;
pub mod text;
#[cfg(feature = "io")]
pub mod uploads;

/// Largest recipe, in bytes.
pub const RECIPE_BYTES_MAX: usize = 1 << 20;

/// The media type of a file by its extension.
pub fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "png" | "apng" => "image/png",
        "tif" | "tiff" => "image/tiff",
        "exr" => "image/x-exr",
        "geojson" => "application/geo+json",
        "gpkg" => "application/geopackage+sqlite3",
        "json" | "tmj" | "ldtk" => "application/json",
        "svg" => "image/svg+xml",
        "txt" | "asc" => "text/plain; charset=utf-8",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}

/// BLAKE3 in hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
