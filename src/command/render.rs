//! `thalweg render`: pictures of height maps and data maps.

use super::console::Console;
use super::report::{files_json, files_text};
use super::{InputOptions, OutputRange, read, within};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::image::DynamicImage;
use thalweg::io::{Files, ReadOptions, encode_picture, refuse};
use thalweg::map::Map;
use thalweg::render::{Ground, Style, Waters, beside, draw_water, grey, ground, shaded, skyline};
use thalweg::{Error, Result};

/// Draw a picture of a map
///
/// Heights by colour and slopes by light, as printed maps have it; or the land as from the air; or values in grey; or the profile
/// of the first row.
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
    /// The land as from the air: grass, sand where much was laid down, rock where much was worn, water where much passed
    #[arg(long, conflicts_with_all = ["mask", "skyline"], help_heading = "Ground")]
    ground: bool,
    /// Map of what has passed each cell, such as the flow of a run: drawn as water
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    flow: Option<PathBuf>,
    /// Map of what was worn, metres
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    wear: Option<PathBuf>,
    /// Map of what was laid down, metres
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    deposit: Option<PathBuf>,
    /// Map of loose sediment, metres
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    sediment: Option<PathBuf>,
    /// Map of how deep the sea and lakes are, metres, such as `water` of a run: drawn with their shores
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mask", "skyline"], help_heading = "Water")]
    water: Option<PathBuf>,
    /// Map of how wide rivers are, metres, such as `river_width` of a run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mask", "skyline"], help_heading = "Water")]
    rivers: Option<PathBuf>,
    /// Another map, drawn on the left in the same colours: before and after
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mask", "skyline"], help_heading = "Other pictures")]
    before: Option<PathBuf>,
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
    range: OutputRange,
    #[command(flatten)]
    reading: InputOptions,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let mut style = Style {
        z_factor: within("--z-factor", a.z_factor, 0.0, 1000.0)?,
        azimuth_deg: within("--azimuth", a.azimuth, -360.0, 360.0)?,
        altitude_deg: within("--altitude", a.altitude, 0.0, 90.0)?,
        sea_level_m: a.sea_level.map(|level| within("--sea-level", level, -1e6, 1e6)).transpose()?,
        range_m: a.range.pair()?,
        ..Style::default()
    };
    if a.output.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png")) {
        return Err(Error::param(format!(
            "{}: a picture is written as PNG; give it a name that ends in .png",
            a.output.display()
        )));
    }
    refuse(std::slice::from_ref(&a.output), console.options.force)?;
    let map = a.reading.read(console, &a.input)?.map;
    // A flow or a wear has units of its own, and its place is the map's.
    let like = ReadOptions { spacing_m: Some(map.spacing_m), size: a.reading.size, ..ReadOptions::default() };
    let fits = |path: &Path, other: Map| match (other.width, other.height) == (map.width, map.height) {
        true => Ok(other),
        false => Err(Error::param(format!(
            "{}: {}x{} samples, {} has {}x{}: give a map of the same size",
            path.display(),
            other.width,
            other.height,
            a.input.display(),
            map.width,
            map.height
        ))),
    };
    let read_beside = |path: &Option<PathBuf>| {
        path.as_ref().map(|path| read(console, path, &like).and_then(|reading| fits(path, reading.map))).transpose()
    };
    let maps = [&a.flow, &a.wear, &a.deposit, &a.sediment, &a.water, &a.rivers].map(read_beside);
    let maps = maps.into_iter().collect::<Result<Vec<Option<Map>>>>()?;
    let of = |i: usize| maps[i].as_ref();
    let before = a.before.as_ref().map(|path| a.reading.read(console, path).and_then(|reading| fits(path, reading.map)));
    let before = before.transpose()?;
    if let Some(before) = &before {
        let (low, high) =
            [&map, before].map(Map::min_max).into_iter().fold((f32::MAX, f32::MIN), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        style.range_m = style.range_m.or(Some((low.into(), high.into())));
    }
    let mut files = Files::default();
    files.probe(a.output.parent().unwrap_or(Path::new("")))?;
    let land = |map: &Map, what: &Ground| if a.ground { ground(map, what, &style) } else { Ok(shaded(map, &style)) };
    let picture: DynamicImage = match (a.mask, a.skyline) {
        (true, _) => grey(&map, style.range_m, a.log).into(),
        (_, true) => skyline(&map).into(),
        _ => {
            let mut after = land(&map, &Ground { flow: of(0), wear: of(1), deposit: of(2), sediment: of(3) })?;
            let waters = Waters { depth: of(4), width: of(5), as_from_the_air: a.ground };
            draw_water(&mut after, &map, &waters, &style)?;
            match &before {
                Some(before) => beside(&land(before, &Ground::default())?, &after)?.into(),
                None => after.into(),
            }
        }
    };
    let (width, height) = (picture.width(), picture.height());
    console.check()?;
    let stored = [files.write(&a.output, &encode_picture(picture)?)?];
    files.keep();
    console.result(|| json!({ "width": width, "height": height, "files": files_json(&stored) }), || files_text(&stored))?;
    Ok(true)
}
