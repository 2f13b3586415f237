//! `thalweg render`: pictures of height maps and data maps.

use super::console::Console;
use super::report::{files_json, files_text};
use super::{InputOptions, OutputRange, read, within};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::image::{self, DynamicImage, RgbImage};
use thalweg::io::{Animation, Files, FilmFormat, ReadOptions, encode_picture, refuse};
use thalweg::map::Map;
use thalweg::render::{
    Coast, Ground, PERIOD_S, Plain, Style, Waters, WaveView, Waves, beside, draw_water, draw_waves,
    grey, ground, plain, shaded, skyline,
};
use thalweg::{Error, Result};

/// Draw a picture of a map
///
/// Heights by colour and slopes by light, as printed maps have it; or the land in plain grey light;
/// or as from the air; or values in grey; or the profile of the first row.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  thalweg render island/height.tif -o island.png --sea-level 0 \
                  --z-factor 2\n  \
                  thalweg render island/height.tif -o plain.png --plain"
)]
pub struct Arguments {
    /// The map
    input: PathBuf,
    /// The picture, PNG
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    /// Factor on heights before they are lit; 1 is true to scale [default: 1.5; with --plain 1]
    #[arg(long, value_name = "N", help_heading = "Relief")]
    z_factor: Option<f64>,
    /// Where the light comes from, degrees clockwise from north [default: 315; with --plain several
    /// sides]
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true, help_heading = "Relief")]
    azimuth: Option<f64>,
    /// How high the light stands over the horizon, degrees
    #[arg(long, value_name = "DEGREES", default_value_t = Style::default().altitude_deg,
        help_heading = "Relief")]
    altitude: f64,
    /// What lies below this height is coloured as sea; with --plain it is level
    #[arg(long, value_name = "METRES", allow_negative_numbers = true, help_heading = "Relief")]
    sea_level: Option<f64>,
    /// Above this height over the sea, or over 0, snow lies where it is not too steep
    #[arg(long, value_name = "METRES", default_value_t = Style::default().snow_line_m,
        allow_negative_numbers = true,
        conflicts_with = "plain", help_heading = "Relief")]
    snow_line: f64,
    /// In grey light and without colours, which hide much: from the west, the north and between, or
    /// from --azimuth alone
    #[arg(long, conflicts_with_all = ["ground", "mask", "skyline", "waves", "water", "rivers",
        "output_range"], help_heading = "Plain")]
    plain: bool,
    /// Share of the light that comes from the whole sky, 0 to 1: narrow valleys are darker
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.0,
        requires = "plain",
        help_heading = "Plain"
    )]
    sky: f64,
    /// The land as from the air: grass, sand where much was laid down, rock where it is steep,
    /// water where much passed
    #[arg(long, conflicts_with_all = ["mask", "skyline"], help_heading = "Ground")]
    ground: bool,
    /// Map of what has passed each cell, such as the flow of a run: drawn as water
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    flow: Option<PathBuf>,
    /// Map of what was worn, metres
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    erosion: Option<PathBuf>,
    /// Map of what was laid down, metres
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    deposition: Option<PathBuf>,
    /// Map of loose sediment, metres
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    sediment: Option<PathBuf>,
    /// Map of beaches, 0 to 1, such as the beach of a run: sand
    #[arg(long, value_name = "FILE", requires = "ground", help_heading = "Ground")]
    beach: Option<PathBuf>,
    /// Map of how deep the sea and lakes are, metres, such as `water_depth` of a run: drawn with
    /// their shores
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mask", "skyline"],
        help_heading = "Water")]
    water: Option<PathBuf>,
    /// Map of how wide rivers are, metres, such as `river_width` of a run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mask", "skyline"],
        help_heading = "Water")]
    rivers: Option<PathBuf>,
    /// Waves that move to the coast, or a stage of how they are made
    #[arg(long, value_enum, value_name = "STAGE", num_args = 0..=1,
        default_missing_value = "waves", requires = "sea_level",
        conflicts_with_all = ["mask", "skyline", "before"], help_heading = "Waves")]
    waves: Option<Shown>,
    /// How far from the coast waves begin, metres; else 30 cells
    #[arg(long, value_name = "METRES", requires = "waves", help_heading = "Waves")]
    shore_length: Option<f64>,
    /// Pixels from a sample of the map to the next, 1 to 16; else as many as make 72 of the shore's
    /// length
    #[arg(long, value_name = "N", requires = "waves", help_heading = "Waves")]
    pixels: Option<u32>,
    /// So many pictures as an animation without an end, 2 to 1000
    #[arg(long, value_name = "N", requires = "waves", help_heading = "Waves")]
    frames: Option<u32>,
    /// Another map, drawn on the left in the same colours: before and after
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mask", "skyline"],
        help_heading = "Other pictures")]
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

/// What `--waves` shows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// Waves with light and foam
    Waves,
    /// Which cell of the coast is the nearest
    Shapes,
    /// The direction to the coast in red and green, paler the farther
    Direction,
    /// Distance in red, direction in green and blue, as a shader reads it
    Texture,
    /// The wave before it is split
    Sinusoid,
    /// The normals of its surface
    Normals,
    /// The four stages: shapes, direction, sinusoid, waves
    Sheet,
}

impl Shown {
    /// The pictures that it has.
    fn views(self) -> Vec<WaveView> {
        match self {
            Self::Waves => vec![WaveView::Waves],
            Self::Shapes => vec![WaveView::Shapes],
            Self::Direction => vec![WaveView::Direction],
            Self::Texture => vec![WaveView::Texture],
            Self::Sinusoid => vec![WaveView::Sinusoid],
            Self::Normals => vec![WaveView::Normals],
            Self::Sheet => {
                vec![WaveView::Shapes, WaveView::Direction, WaveView::Sinusoid, WaveView::Waves]
            }
        }
    }
}

/// Side by side, four as two rows.
fn sheet(panels: Vec<RgbImage>) -> RgbImage {
    const GAP: u32 = 4;
    let across = if panels.len() > 1 { 2 } else { 1 };
    let (width, height) = panels[0].dimensions();
    let rows = (panels.len() as u32).div_ceil(across);
    let gaps = |n: u32| (n - 1) * GAP;
    let mut all = RgbImage::from_pixel(
        width * across + gaps(across),
        height * rows + gaps(rows),
        image::Rgb([255; 3]),
    );
    for (n, panel) in (0..).zip(&panels) {
        let place = (n % across * (width + GAP), n / across * (height + GAP));
        image::imageops::replace(&mut all, panel, place.0.into(), place.1.into());
    }
    all
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let usual = Style::default();
    let azimuth =
        a.azimuth.map(|azimuth| within("--azimuth", azimuth, -360.0, 360.0)).transpose()?;
    let z_factor =
        a.z_factor.unwrap_or(if a.plain { Plain::default().z_factor } else { usual.z_factor });
    let mut style = Style {
        z_factor: within("--z-factor", z_factor, 0.0, 1000.0)?,
        azimuth_deg: azimuth.unwrap_or(usual.azimuth_deg),
        altitude_deg: within("--altitude", a.altitude, 0.0, 90.0)?,
        sea_level_m: a
            .sea_level
            .map(|level| within("--sea-level", level, -1e6, 1e6))
            .transpose()?,
        snow_line_m: within("--snow-line", a.snow_line, -1e6, 1e6)?,
        range_m: a.range.pair()?,
        ..usual
    };
    let grey_light = Plain {
        azimuth_deg: azimuth,
        altitude_deg: style.altitude_deg,
        z_factor: style.z_factor,
        sky: within("--sky", a.sky, 0.0, 1.0)? as f32,
        sea_level_m: style.sea_level_m,
    };
    let named = |end: &str| a.output.extension().is_some_and(|e| e.eq_ignore_ascii_case(end));
    if a.frames.is_some() {
        FilmFormat::from_path(&a.output)?;
    } else if !named("png") {
        return Err(Error::param(format!(
            "{}: a picture is written as PNG; give it a name that ends in .png",
            a.output.display()
        )));
    }
    let frames = a.frames.map(|n| whole("--frames", n, 2, 1000)).transpose()?;
    let waves = Waves {
        shore_length_m: a
            .shore_length
            .map(|metres| within("--shore-length", metres, 0.001, 1e6))
            .transpose()?,
        pixels: a.pixels.map(|n| whole("--pixels", n, 1, 16)).transpose()?,
    };
    refuse(std::slice::from_ref(&a.output), console.options.force)?;
    let map = a.reading.read(console, &a.input)?.map;
    // Maps of flow and erosion have units of their own, and lie where the map lies.
    let like = ReadOptions {
        spacing_m: Some(map.spacing_m),
        size: a.reading.size,
        ..ReadOptions::default()
    };
    let fits =
        |path: &Path, other: Map| match (other.width, other.height) == (map.width, map.height) {
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
        path.as_ref()
            .map(|path| read(console, path, &like).and_then(|reading| fits(path, reading.map)))
            .transpose()
    };
    let maps = [&a.flow, &a.erosion, &a.deposition, &a.sediment, &a.water, &a.rivers, &a.beach]
        .map(read_beside);
    let maps = maps.into_iter().collect::<Result<Vec<Option<Map>>>>()?;
    let of = |i: usize| maps[i].as_ref();
    let before = a
        .before
        .as_ref()
        .map(|path| a.reading.read(console, path).and_then(|reading| fits(path, reading.map)));
    let before = before.transpose()?;
    if let Some(before) = &before {
        let (low, high) = [&map, before]
            .map(Map::min_max)
            .into_iter()
            .fold((f32::MAX, f32::MIN), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        style.range_m = style.range_m.or(Some((low.into(), high.into())));
    }
    let mut files = Files::default();
    files.probe(a.output.parent().unwrap_or(Path::new("")))?;
    let land = |map: &Map, what: &Ground| {
        if a.ground { ground(map, what, &style) } else { Ok(shaded(map, &style)) }
    };
    if let Some(shown) = a.waves {
        let coast = Coast::of(&map, a.sea_level.unwrap_or_default(), &waves)?;
        let larger = |i: usize| of(i).map(|map| coast.enlarged_ground(map));
        let [flow, erosion, deposition, sediment, depth, beach] = [0, 1, 2, 3, 4, 6].map(larger);
        let width = of(5).map(|map| coast.enlarged_lines(map));
        let what = Ground {
            flow: flow.as_ref(),
            erosion: erosion.as_ref(),
            deposition: deposition.as_ref(),
            sediment: sediment.as_ref(),
            beach: beach.as_ref(),
        };
        let mut ground = land(coast.map(), &what)?;
        let waters =
            Waters { depth: depth.as_ref(), width: width.as_ref(), as_from_the_air: a.ground };
        draw_water(&mut ground, coast.map(), &waters, &style)?;
        let drawn = |phase: f64| {
            let view = |view| {
                let mut picture = ground.clone();
                draw_waves(&mut picture, &coast, phase, view, &style).map(|()| picture)
            };
            shown.views().into_iter().map(view).collect::<Result<Vec<_>>>().map(sheet)
        };
        let first = drawn(0.0)?;
        let (width, height) = first.dimensions();
        let stored = match frames {
            None => [files.write(&a.output, &encode_picture(first)?)?],
            Some(count) => {
                // The waves of a period are those of the next, so the last picture leads to the
                // first.
                let delay = (PERIOD_S[0], PERIOD_S[1] * count as u16);
                let mut film = Animation::endless(&a.output, (width, height), count, delay)?;
                film.add(&first)?;
                for n in 1..count {
                    console.check()?;
                    film.add(&drawn(f64::from(n) / f64::from(count))?)?;
                }
                [film.finish()?]
            }
        };
        files.keep();
        console.result(
            || json!({ "width": width, "height": height, "files": files_json(&stored) }),
            || files_text(&stored),
        )?;
        return Ok(true);
    }
    let picture: DynamicImage = match (a.mask, a.skyline) {
        (true, _) => grey(&map, style.range_m, a.log).into(),
        (_, true) => skyline(&map).into(),
        _ if a.plain => {
            let after = plain(&map, &grey_light);
            match &before {
                Some(before) => beside(&plain(before, &grey_light), &after)?.into(),
                None => after.into(),
            }
        }
        _ => {
            let mut after = land(
                &map,
                &Ground {
                    flow: of(0),
                    erosion: of(1),
                    deposition: of(2),
                    sediment: of(3),
                    beach: of(6),
                },
            )?;
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
    console.result(
        || json!({ "width": width, "height": height, "files": files_json(&stored) }),
        || files_text(&stored),
    )?;
    Ok(true)
}

/// A whole number within its range.
fn whole(option: &str, value: u32, low: u32, high: u32) -> Result<u32> {
    within(option, value.into(), low.into(), high.into()).map(|_| value)
}
