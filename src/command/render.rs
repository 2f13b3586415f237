//! `thalweg render`: pictures of height maps and data maps.

use super::console::Console;
use super::summary::{files_json, files_text};
use super::{InputOptions, OutputRange, picture_path, read, within};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::image::{self, DynamicImage, ImageBuffer, Pixel, RgbImage};
use thalweg::io::{Animation, Files, FilmFormat, ReadOptions, Stored, encode_picture, refuse};
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

/// How the land is lit and coloured.
struct Look {
    style: Style,
    grey_light: Plain,
    from_the_air: bool,
}

impl Look {
    fn of(a: &Arguments) -> Result<Self> {
        let usual = Style::default();
        let azimuth =
            a.azimuth.map(|azimuth| within("--azimuth", azimuth, -360.0, 360.0)).transpose()?;
        let z_factor =
            a.z_factor.unwrap_or(if a.plain { Plain::default().z_factor } else { usual.z_factor });
        let sea_level = |level| within("--sea-level", level, -1e6, 1e6);
        let style = Style {
            z_factor: within("--z-factor", z_factor, 0.0, 1000.0)?,
            azimuth_deg: azimuth.unwrap_or(usual.azimuth_deg),
            altitude_deg: within("--altitude", a.altitude, 0.0, 90.0)?,
            sea_level_m: a.sea_level.map(sea_level).transpose()?,
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
        Ok(Self { style, grey_light, from_the_air: a.ground })
    }

    /// The dry land.
    fn land(&self, map: &Map, what: &Ground) -> Result<RgbImage> {
        match self.from_the_air {
            true => ground(map, what, &self.style),
            false => Ok(shaded(map, &self.style)),
        }
    }

    /// The land with its water.
    fn landscape(&self, map: &Map, layers: &Layers) -> Result<RgbImage> {
        let mut picture = self.land(map, &layers.ground())?;
        let waters = Waters {
            depth: layers.depth.as_ref(),
            width: layers.width.as_ref(),
            as_from_the_air: self.from_the_air,
        };
        draw_water(&mut picture, map, &waters, &self.style)?;
        Ok(picture)
    }
}

/// What is drawn on the land.
struct Layers {
    flow: Option<Map>,
    erosion: Option<Map>,
    deposition: Option<Map>,
    sediment: Option<Map>,
    /// How deep the sea and lakes are.
    depth: Option<Map>,
    /// How wide rivers are.
    width: Option<Map>,
    beach: Option<Map>,
}

impl Layers {
    /// Reads the maps of the command line, each as large as the land.
    fn read(console: &Console, a: &Arguments, land: &Map) -> Result<Self> {
        // Their values have units of their own, and they lie where the land lies.
        let like = ReadOptions {
            spacing_m: Some(land.spacing_m),
            size: a.reading.size,
            ..ReadOptions::default()
        };
        let read = |path: &Option<PathBuf>| {
            let one =
                |path: &PathBuf| fits(path, read(console, path, &like)?.map, (&a.input, land));
            path.as_ref().map(one).transpose()
        };
        Ok(Self {
            flow: read(&a.flow)?,
            erosion: read(&a.erosion)?,
            deposition: read(&a.deposition)?,
            sediment: read(&a.sediment)?,
            depth: read(&a.water)?,
            width: read(&a.rivers)?,
            beach: read(&a.beach)?,
        })
    }

    fn ground(&self) -> Ground<'_> {
        let has_water = self.depth.is_some() || self.width.is_some();
        Ground {
            // Water is drawn once: by its own maps where they are, else by the flow.
            flow: self.flow.as_ref().filter(|_| !has_water),
            erosion: self.erosion.as_ref(),
            deposition: self.deposition.as_ref(),
            sediment: self.sediment.as_ref(),
            beach: self.beach.as_ref(),
        }
    }

    /// The same for the larger map of a coast.
    fn enlarged(&self, coast: &Coast) -> Self {
        let larger = |map: &Option<Map>| map.as_ref().map(|map| coast.enlarged_ground(map));
        Self {
            flow: larger(&self.flow),
            erosion: larger(&self.erosion),
            deposition: larger(&self.deposition),
            sediment: larger(&self.sediment),
            depth: larger(&self.depth),
            // A river is a line: there is none between a sample that has one and one that has not.
            width: self.width.as_ref().map(|map| coast.enlarged_lines(map)),
            beach: larger(&self.beach),
        }
    }
}

/// A map, if it is as large as the land.
fn fits(path: &Path, map: Map, (input, land): (&Path, &Map)) -> Result<Map> {
    if (map.width, map.height) == (land.width, land.height) {
        return Ok(map);
    }
    Err(Error::param(format!(
        "{}: {}x{} samples, {} has {}x{}: give a map of the same size",
        path.display(),
        map.width,
        map.height,
        input.display(),
        land.width,
        land.height
    )))
}

/// A picture without waves; `before` stands on its left.
fn picture(
    a: &Arguments,
    look: &Look,
    map: &Map,
    layers: &Layers,
    before: Option<&Map>,
) -> Result<DynamicImage> {
    if a.mask {
        return Ok(grey(map, look.style.range_m, a.log).into());
    }
    if a.skyline {
        return Ok(skyline(map).into());
    }
    if a.plain {
        let lit = |map| plain(map, &look.grey_light);
        return with_before(before.map(lit), lit(map));
    }
    // The layers are of the land as it is after.
    let bare = |before| look.land(before, &Ground::default());
    with_before(before.map(bare).transpose()?, look.landscape(map, layers)?)
}

/// A picture, and on its left the one before, if there is one.
fn with_before<P: Pixel<Subpixel = u8>>(
    before: Option<ImageBuffer<P, Vec<u8>>>,
    after: ImageBuffer<P, Vec<u8>>,
) -> Result<DynamicImage>
where
    DynamicImage: From<ImageBuffer<P, Vec<u8>>>,
{
    match before {
        Some(before) => Ok(beside(&before, &after)?.into()),
        None => Ok(after.into()),
    }
}

/// A land whose waves move.
struct Shore<'a> {
    coast: Coast,
    /// The land and its water before waves are drawn on it.
    ground: RgbImage,
    views: Vec<WaveView>,
    style: &'a Style,
}

impl Shore<'_> {
    /// The picture at a phase from 0 to 1.
    fn at(&self, phase: f64) -> Result<RgbImage> {
        let view = |view: &WaveView| {
            let mut picture = self.ground.clone();
            draw_waves(&mut picture, &self.coast, phase, *view, self.style).map(|()| picture)
        };
        self.views.iter().map(view).collect::<Result<Vec<_>>>().map(sheet)
    }

    /// Stores `count` pictures of a period as an animation.
    fn film(&self, console: &Console, path: &Path, count: u32) -> Result<(Stored, [u32; 2])> {
        let first = self.at(0.0)?;
        let (width, height) = first.dimensions();
        // The waves of a period are those of the next, so the last picture leads to the first.
        let delay = (PERIOD_S[0], PERIOD_S[1] * count as u16);
        let mut film = Animation::endless(path, (width, height), count, delay)?;
        film.add(&first)?;
        for n in 1..count {
            console.check()?;
            film.add(&self.at(f64::from(n) / f64::from(count))?)?;
        }
        Ok((film.finish()?, [width, height]))
    }
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let mut look = Look::of(a)?;
    match a.frames {
        Some(_) => FilmFormat::from_path(&a.output).map(|_| ())?,
        None => picture_path(&a.output)?,
    }
    let frames = a.frames.map(|n| whole("--frames", n, 2, 1000)).transpose()?;
    let shore_length = |metres| within("--shore-length", metres, 0.001, 1e6);
    let waves = Waves {
        shore_length_m: a.shore_length.map(shore_length).transpose()?,
        pixels: a.pixels.map(|n| whole("--pixels", n, 1, 16)).transpose()?,
    };
    refuse(std::slice::from_ref(&a.output), console.options.force)?;
    let map = a.reading.read(console, &a.input)?.map;
    let layers = Layers::read(console, a, &map)?;
    let before = |path: &PathBuf| fits(path, a.reading.read(console, path)?.map, (&a.input, &map));
    let before = a.before.as_ref().map(before).transpose()?;
    if let Some(before) = &before {
        // Both have the same colours for the same heights.
        let [(low, high), (low_before, high_before)] = [&map, before].map(Map::min_max);
        let both = (low.min(low_before).into(), high.max(high_before).into());
        look.style.range_m = look.style.range_m.or(Some(both));
    }
    let mut files = Files::default();
    files.probe(a.output.parent().unwrap_or(Path::new("")))?;
    let mut still = |picture: DynamicImage| {
        let size = [picture.width(), picture.height()];
        console.check()?;
        Ok::<_, Error>((files.write(&a.output, &encode_picture(picture)?)?, size))
    };
    let (stored, [width, height]) = match a.waves {
        None => still(picture(a, &look, &map, &layers, before.as_ref())?)?,
        Some(shown) => {
            let coast = Coast::of(&map, a.sea_level.unwrap_or_default(), &waves)?;
            let ground = look.landscape(coast.map(), &layers.enlarged(&coast))?;
            let shore = Shore { coast, ground, views: shown.views(), style: &look.style };
            match frames {
                None => still(shore.at(0.0)?.into())?,
                Some(count) => shore.film(console, &a.output, count)?,
            }
        }
    };
    files.keep();
    let stored = [stored];
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
