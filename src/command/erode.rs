//! `thalweg erode`: a height map in, an eroded one out.

use super::console::Console;
use super::files::{Files, refuse};
use super::film::{self, Film};
use super::run::{files_json, files_text, stages_text, title};
use super::{InputOptions, device, set};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::io::{Encoded, Format, encode_all, encode_picture};
use thalweg::recipe::{Colour, Input, Output, Recipe, preset};
use thalweg::render::Style;
use thalweg::site::Window;
use thalweg::world::World;
use thalweg::{Error, Result};

/// Erode a height map
///
/// Reads and writes PNG, TIFF, OpenEXR, NumPy and raw files, told by their extensions. Heights, their range and their place on
/// Earth stay what they were.
#[derive(Args)]
#[command(after_help = "Example: thalweg erode hills.png -o eroded.png --range 0 850 --spacing 10 --preset gentle")]
pub struct Arguments {
    /// The height map
    input: PathBuf,
    /// The file for the eroded map
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also write the number of droplets that passed each cell
    #[arg(long, value_name = "FILE")]
    flow: Option<PathBuf>,
    /// Also write a shaded picture
    #[arg(long, value_name = "PNG")]
    preview: Option<PathBuf>,
    /// Colours of the preview and of a time-lapse: the height's, or the ground's as from the air, by what was worn and laid down
    #[arg(long, value_name = "COLOUR", default_value = "height", value_parser = ["height", "ground"])]
    colour: String,
    /// Named settings: default, gentle, deep, article
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = "Erosion")]
    preset: String,
    /// A setting of the droplets, such as rain=4; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Erosion")]
    set: Vec<String>,
    /// Seed of where the droplets fall
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Erosion")]
    seed: u64,
    /// Cells round the map that are eroded with it, its mirror image to begin with, and then cut off: no border shows
    #[arg(long, value_name = "CELLS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=8192), help_heading = "Erosion")]
    margin: u32,
    #[command(flatten)]
    film: film::Options,
    /// With --frames: the file for the time-lapse, an animated PNG
    #[arg(long, value_name = "APNG", requires = "frames", help_heading = "Time-lapse")]
    timelapse: Option<PathBuf>,
    /// With --frames: a folder for its pictures, each a PNG; made if it is not there
    #[arg(long, value_name = "DIR", requires = "frames", help_heading = "Time-lapse")]
    pictures: Option<PathBuf>,
    #[command(flatten)]
    reading: InputOptions,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let format = Format::from_path(&a.output)?;
    let flow_format = a.flow.as_deref().map(Format::from_path).transpose()?;
    let mut step = preset(&a.preset)?;
    a.set.iter().try_for_each(|assigned| set(&mut step, assigned))?;
    let reel = match (a.film.frames, &a.timelapse) {
        (None, _) => None,
        (_, Some(path)) if path.extension().is_some_and(|e| e == "apng" || e == "png") => {
            a.film.reel(path.clone(), a.pictures.clone())
        }
        (Some(_), Some(path)) => {
            let what = "a time-lapse is an animated PNG; give it a name that ends in .apng or .png";
            return Err(Error::param(format!("{}: {what}", path.display())));
        }
        (Some(frames), None) => {
            return Err(Error::param(format!("--frames {frames}: --timelapse FILE.apng is missing, where they go")));
        }
    };
    let paths: Vec<PathBuf> = [Some(&a.output), a.flow.as_ref(), a.preview.as_ref()].into_iter().flatten().cloned().collect();
    let pictures = reel.iter().flat_map(film::Reel::paths);
    refuse(&paths.iter().cloned().chain(pictures).collect::<Vec<_>>(), console.options.force)?;
    reel.as_ref().map(|reel| reel.refuse_longer(&[])).transpose()?;

    let reading = a.reading.read(console, &a.input)?;
    let colour = if a.colour == "ground" { Colour::Ground } else { Colour::Height };
    let recipe = Recipe {
        name: a.input.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default(),
        seed: a.seed,
        window: Window { origin: [0, 0], width: 1, height: 1 },
        spacing_m: None,
        input: Some(Input { path: a.input.clone(), range_m: None }),
        margin: a.margin,
        folder: PathBuf::new(),
        stages: vec![step],
        dungeons: None,
        output: Output { maps: vec!["height".into(), "flow".into()], colour, ..Output::standard() },
    };
    let world = World::new(&recipe, Some(&reading.map))?;
    reel.as_ref().map(|reel| world.check_frames(reel.frames)).transpose()?;
    let opened = device::open(console, &recipe, &world)?;
    let mut files = Files::default();
    for path in &paths {
        files.probe(path.parent().unwrap_or(Path::new("")))?;
    }
    let (mut filmed, mut stored) = (vec![], vec![]);
    let (made, device) = match &reel {
        None => device::run(console, opened, &recipe, &world, None)?,
        Some(reel) => {
            reel.prepare(&mut files)?;
            let mut film = Film::new(&mut files, reel, &recipe.output);
            let made = device::run(console, opened, &recipe, &world, Some(&mut film))?;
            filmed = film.finish()?;
            made
        }
    };

    let mut warnings = reading.warnings;
    for (name, target) in [("height", Some((&a.output, format))), ("flow", a.flow.as_ref().zip(flow_format))] {
        let Some((path, format)) = target else { continue };
        console.check()?;
        let Encoded { bytes, warnings: more, .. } = encode_all(&made.maps[name], format)?;
        more.iter().for_each(|warning| console.warn(format!("{}: {warning}", path.display())));
        warnings.extend(more);
        stored.push(files.write(path, &bytes)?);
    }
    if let Some(path) = &a.preview {
        console.check()?;
        let picture = film::picture(&recipe.output, &made.maps["height"], |name| made.maps.get(name), &Style::default())?;
        stored.push(files.write(path, &encode_picture(&picture)?)?);
    }
    console.check()?;
    files.keep();
    let window = world.window();
    console.result(
        || {
            json!({
                "device": device, "width": window.width, "height": window.height, "spacing_m": world.scale().spacing_m,
                "seed": recipe.seed, "stages": made.stages, "files": files_json(filmed.iter().chain(&stored)), "warnings": warnings,
            })
        },
        || {
            let (head, stages) = (title(&recipe, &world), stages_text(&made.stages));
            format!("{head}\n{device}\n{stages}{}{}", film::text(&filmed), files_text(&stored))
        },
    )?;
    Ok(true)
}
