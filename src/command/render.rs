//! `thalweg render`: pictures of height maps and data maps.

use super::console::Console;
use super::files::{Files, refuse};
use super::run::{files_json, files_text};
use super::{InputOptions, within};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::io::encode_picture;
use thalweg::render::{Style, grey, shaded, skyline};
use thalweg::{Error, Result};

/// Draw a picture of a map
///
/// Heights by colour and slopes by light, as printed maps have it; or values in grey; or the profile of the first row.
#[derive(Args)]
#[command(after_help = "Example: thalweg render island/height.tif -o island.png --sea-level 0 --z-factor 2")]
pub struct Arguments {
    /// The map
    input: PathBuf,
    /// The picture, PNG
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    /// Factor on heights before they are lit; 1 is true to scale
    #[arg(long, value_name = "N", default_value_t = Style::default().z_factor, help_heading = "Relief")]
    z_factor: f64,
    /// Where the light comes from, degrees clockwise from north
    #[arg(long, value_name = "DEGREES", default_value_t = Style::default().azimuth_deg, allow_negative_numbers = true, help_heading = "Relief")]
    azimuth: f64,
    /// How high the light stands over the horizon, degrees
    #[arg(long, value_name = "DEGREES", default_value_t = Style::default().altitude_deg, help_heading = "Relief")]
    altitude: f64,
    /// What lies below this height is coloured as sea
    #[arg(long, value_name = "METRES", allow_negative_numbers = true, help_heading = "Relief")]
    sea_level: Option<f64>,
    /// Values in grey, black for the lowest and white for the highest
    #[arg(long, conflicts_with = "skyline", help_heading = "Other pictures")]
    mask: bool,
    /// With --mask: equal ratios make equal steps, for values such as flow
    #[arg(long, requires = "mask", help_heading = "Other pictures")]
    log: bool,
    /// The first row as a silhouette before a sky
    #[arg(long, help_heading = "Other pictures")]
    skyline: bool,
    #[command(flatten)]
    reading: InputOptions,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let style = Style {
        z_factor: within("--z-factor", a.z_factor, 0.0, 1000.0)?,
        azimuth_deg: within("--azimuth", a.azimuth, -360.0, 360.0)?,
        altitude_deg: within("--altitude", a.altitude, 0.0, 90.0)?,
        sea_level_m: a.sea_level.map(|level| within("--sea-level", level, -1e6, 1e6)).transpose()?,
        ..Style::default()
    };
    if a.output.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png")) {
        return Err(Error::Param(format!(
            "{}: a picture is written as PNG; give it a name that ends in .png",
            a.output.display()
        )));
    }
    refuse(std::slice::from_ref(&a.output), console.options.force)?;
    let map = a.reading.read(console, &a.input)?.map;
    let mut files = Files::default();
    files.probe(a.output.parent().unwrap_or(Path::new("")))?;
    let picture = match (a.mask, a.skyline) {
        (true, _) => grey(&map, None, a.log),
        (_, true) => skyline(&map),
        _ => shaded(&map, &style),
    };
    console.check()?;
    let stored = [files.write(&a.output, &encode_picture(&picture)?)?];
    files.keep();
    console.result(
        || json!({ "width": picture.width, "height": picture.height, "files": files_json(&stored) }),
        || files_text(&stored),
    )?;
    Ok(true)
}
