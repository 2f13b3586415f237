//! `thalweg erode`: a height map in, an eroded one out.

use super::console::Console;
use super::report::{
    files_json, files_text, stages_text, steps_json, steps_text, timelapse_text, title,
};
use super::{
    EngineFiles, InputOptions, OutputFormat, OutputRange, TimelapseArguments, classic, hand_over,
    is_standard, option, stem, store,
};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::bundle::{Folder, Sink, Timelapse, TimelapseOptions};
use thalweg::io::engine::Land;
use thalweg::io::{FilmFormat, MapFormat, encode_picture, encode_within, header_path, refuse};
use thalweg::job::Heights;
use thalweg::recipe::{Colour, Levels, Output, Preset, parted};
use thalweg::stage::levels::LEVELS_MAX;
use thalweg::{Error, Event, Invalid, Job, Recipe, Result};

/// Erode a height map
///
/// Reads and writes PNG, TIFF, OpenEXR, NumPy, ESRI ASCII, SRTM and raw files, told by their
/// extensions. Heights, their range and their place on Earth stay what they were.
#[derive(Args)]
#[command(
    after_help = "Example: thalweg erode hills.png -o eroded.png --range 0 850 --spacing 10 \
                  --preset gentle"
)]
pub struct Arguments {
    /// The height map; - for standard input
    input: PathBuf,
    /// The file for the eroded map; - for standard output; with --engine the folder
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also write the number of droplets that passed each cell
    #[arg(long, value_name = "FILE")]
    flow: Option<PathBuf>,
    /// Also write a shaded picture
    #[arg(long, value_name = "PNG")]
    preview: Option<PathBuf>,
    /// Colours of the preview and of a time-lapse: the height's, or the ground's as from the air,
    /// by what was worn and laid down
    #[arg(long, value_name = "COLOUR", default_value = "height",
        value_parser = ["height", "ground"])]
    colour: String,
    /// Named settings: default, gentle and deep by rivers that cut, fans and article by droplets.
    /// With --reference article by default
    #[arg(long, value_name = "NAME", help_heading = "Erosion")]
    preset: Option<String>,
    /// A setting of the preset's stage, such as erodibility=0.03; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Erosion")]
    set: Vec<String>,
    /// Seed of where the droplets fall
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Erosion")]
    seed: u64,
    /// By the published sequential algorithm, in floats and one droplet after another, to hold
    /// beside the exact one. It has no levels, and other machines may make other bytes
    #[arg(long, conflicts_with_all = ["frames", "levels"], help_heading = "Erosion")]
    reference: bool,
    /// Cells round the map that are eroded with it, its mirror image to begin with, and then cut
    /// off: no border shows
    #[arg(long, value_name = "CELLS", default_value_t = 0, allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(..=8192), help_heading = "Erosion")]
    margin: u32,
    /// Levels to erode from coarse to fine: auto, or a number, of which 1 is the map as it is
    #[arg(long, value_name = "N", default_value = "auto", help_heading = "Erosion")]
    levels: String,
    #[command(flatten)]
    frames: TimelapseArguments,
    /// With --frames: the file for the time-lapse, an animated PNG or a GIF
    #[arg(long, value_name = "FILE", requires = "frames", help_heading = "Time-lapse")]
    timelapse: Option<PathBuf>,
    /// With --frames: a folder for its pictures, each a PNG; made if it is not there
    #[arg(long, value_name = "DIR", requires = "frames", help_heading = "Time-lapse")]
    pictures: Option<PathBuf>,
    /// Cells that have no height in the input lie outside the land and have none in the output,
    /// whatever --nodata says; so it is without --nodata, too
    #[arg(long, help_heading = "Input")]
    keep_nodata: bool,
    #[command(flatten)]
    program: EngineFiles,
    #[command(flatten)]
    to: OutputFormat,
    #[command(flatten)]
    range: OutputRange,
    #[command(flatten)]
    reading: InputOptions,
}

/// A path that the user gave as the name of a file; names are text.
fn name(path: &Path) -> Result<String> {
    path.to_str().map(String::from).ok_or_else(|| {
        Error::param(format!("{}: a path that is UTF-8 is needed here", path.display()))
    })
}

/// The levels that are asked for; none: the map as it is.
fn levels(text: &str) -> Result<Option<Levels>> {
    match (text, text.parse::<u32>()) {
        ("auto", _) => Ok(Some(Levels::default())),
        (_, Ok(1)) => Ok(None),
        (_, Ok(count @ 2..=LEVELS_MAX)) => {
            Ok(Some(Levels { count: Some(count), ..Levels::default() }))
        }
        _ => {
            let allowed = format!("auto, or a whole number from 1 to {LEVELS_MAX}");
            Err(Error::param(
                Invalid::of("levels", text, allowed.clone())
                    .saying(format!("--levels {text}: allowed {allowed}")),
            ))
        }
    }
}

/// The time-lapse that is asked for.
fn timelapse(a: &Arguments) -> Result<Option<TimelapseOptions>> {
    let Some(frames) = a.frames.frames else { return Ok(None) };
    let Some(path) = &a.timelapse else {
        return Err(Error::param(format!(
            "--frames {frames}: --timelapse FILE.apng or FILE.gif is missing, where they go"
        )));
    };
    FilmFormat::from_path(path)?;
    let folder = a.pictures.as_deref().map(name).transpose()?;
    Ok(Some(TimelapseOptions {
        frames,
        side_max: a.frames.frame_size,
        animation: name(path)?,
        folder,
    }))
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    // With --engine the output is a folder.
    let format = match a.program.engine {
        Some(_) => MapFormat::R32,
        None => a.to.of(&a.output)?,
    };
    let whole = a.program.engine.is_none();
    let piped = whole && is_standard(&a.output);
    if piped {
        a.to.refuse(&a.output, console)?;
    }
    let flow_format = a.flow.as_deref().map(MapFormat::from_path).transpose()?;
    // A preset that is for a land as it is has levels only where they are asked for.
    let preset = Preset::find(a.preset.as_deref().unwrap_or(if a.reference {
        "article"
    } else {
        "default"
    }))?;
    let as_it_is = a.reference || a.levels == "auto" && !preset.has_levels();
    let levels = levels(&a.levels)?.filter(|_| !as_it_is);
    let mut step = preset.step(levels.is_some())?;
    for text in &a.set {
        let (key, value) = parted(text, "erodibility=0.03")?;
        step.assign(key, value).map_err(|e| option("--set", text, e))?;
    }
    let timelapse = timelapse(a)?;
    if let Some(preview) = a
        .preview
        .as_ref()
        .filter(|path| !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")))
    {
        let what = "a picture is written as PNG; give it a name that ends in .png";
        return Err(Error::param(format!("{}: {what}", preview.display())));
    }
    let same = |path: &&PathBuf| {
        path.canonicalize()
            .is_ok_and(|path| a.input.canonicalize().is_ok_and(|input| input == path))
    };
    if let Some(path) = [&a.flow, &a.preview].into_iter().flatten().find(same) {
        return Err(Error::param(format!(
            "{}: this is the input, which only the eroded map may replace",
            path.display()
        )));
    }
    let paths: Vec<PathBuf> =
        [Some(&a.output).filter(|_| whole && !piped), a.flow.as_ref(), a.preview.as_ref()]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
    let pictures = timelapse.iter().flat_map(TimelapseOptions::names).map(PathBuf::from);
    let maps =
        [Some((&a.output, format)).filter(|_| whole && !piped), a.flow.as_ref().zip(flow_format)];
    let beside = maps.into_iter().flatten().filter_map(|(path, format)| header_path(path, format));
    refuse(
        &paths.iter().cloned().chain(beside).chain(pictures).collect::<Vec<_>>(),
        console.options.force,
    )?;
    let mut folder = Folder::new("", console.options.force);
    timelapse.as_ref().map(|timelapse| folder.refuse_leftovers(timelapse)).transpose()?;

    let keeps = a.keep_nodata || a.reading.nodata.is_none();
    let reading = a.reading.read_land(console, &a.input, keeps)?;
    let missing = if keeps { &reading.missing[..] } else { &[] };
    let whole_formats = [(&a.output, Some(format).filter(|_| whole))]
        .into_iter()
        .chain(a.flow.iter().map(|flow| (flow, flow_format)));
    if let Some((path, _)) = whole_formats
        .into_iter()
        .find(|(_, format)| !missing.is_empty() && format.is_some_and(MapFormat::is_quantised))
    {
        return Err(Error::param(format!(
            "{}: such a file cannot say that {} cells of the input have no height; use tif, exr, \
             npy, asc, hgt or r32, or give these cells a height with --nodata",
            path.display(),
            missing.len()
        )));
    }
    a.program.announce(console, &a.output, [reading.map.width, reading.map.height])?;
    let colour = if a.colour == "ground" { Colour::Ground } else { Colour::Height };
    let mut recipe = Recipe::on_heights_by_level(vec![step], levels)?;
    recipe.name = a.input.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    (recipe.seed, recipe.margin) = (a.seed, a.margin);
    recipe.output = Output {
        maps: vec!["height".into(), "flow".into()],
        colour,
        range_m: a.range.pair()?,
        ..Output::default()
    };
    let with_heights = |recipe| {
        Ok(console
            .configure(Job::with_heights(recipe, Heights::from(&reading.map).without(missing))?))
    };
    let job =
        if a.reference { classic(console, recipe, with_heights)? } else { with_heights(recipe)? };
    let job = match &timelapse {
        Some(timelapse) => job.frames(timelapse.frames)?,
        None => job,
    };
    for path in &paths {
        folder.files().probe(path.parent().unwrap_or(Path::new("")))?;
    }
    let (mut filmed, mut stored, mut quantised) = (vec![], vec![], vec![]);
    let outcome = match &timelapse {
        None => console.watch(&job, |watch| job.run(watch))?,
        Some(options) => {
            let animation = Path::new(&options.animation);
            folder.files().probe(animation.parent().unwrap_or(Path::new("")))?;
            if let Some(pictures) = &options.folder {
                folder.files().make_folder(Path::new(pictures))?;
                folder.files().probe(Path::new(pictures))?;
            }
            let mut film = Timelapse::new(options, &job.recipe().output);
            let outcome = console.watch(&job, |watch| {
                job.run(&mut |event| match event {
                    Event::Frame(frame) => film.add(frame, &mut folder),
                    event => watch(event),
                })
            })?;
            filmed = film.finish(&mut folder)?;
            outcome
        }
    };

    let mut warnings = reading.warnings.clone();
    for (name, target) in [
        ("height", Some((&a.output, format)).filter(|_| whole)),
        ("flow", a.flow.as_ref().zip(flow_format)),
    ] {
        let Some((path, format)) = target else { continue };
        console.check()?;
        let range = job.recipe().output.range_m.filter(|_| name == "height");
        let map = outcome.map(name)?;
        let encoded = encode_within(&map, format, range, missing)?;
        quantised.extend(encoded.quantised.map(|steps| (name.to_string(), steps)));
        encoded
            .warnings
            .iter()
            .for_each(|warning| console.warn(format!("{}: {warning}", path.display())));
        stored.extend(
            store(path, &map, format, &encoded, console, &mut folder)?.into_iter().flatten(),
        );
        warnings.extend(encoded.warnings);
    }
    if let Some(path) = &a.preview {
        console.check()?;
        stored.push(folder.files().write(path, &encode_picture(outcome.picture()?)?)?);
    }
    console.check()?;
    if let Some(engine) = a.program.engine {
        let height = outcome.map("height")?;
        let range_m = job.recipe().output.range_m;
        let land = Land { height: &height, range_m, sea_level_m: None, textures: &[], layers: &[] };
        let (files, more) = hand_over(console, engine, &a.output, &stem(&a.input), &land)?;
        stored.extend(files);
        warnings.extend(more);
    }
    folder.keep()?;
    if piped {
        return Ok(true);
    }
    let window = job.window();
    console.result(
        || {
            json!({
                "device": outcome.device, "width": window.width, "height": window.height,
                "spacing_m": job.scale().spacing_m, "seed": outcome.recipe.seed,
                "stages": outcome.stages,
                "seconds": console.seconds(), "files": files_json(filmed.iter().chain(&stored)),
                "quantised": steps_json(&quantised),
                "warnings": warnings,
            })
        },
        || {
            let (head, stages) = (title(&job), stages_text(&outcome.stages));
            format!(
                "{head}\n{}\n{stages}{:.2} s in all\n{}{}{}",
                outcome.device,
                console.seconds(),
                timelapse_text(&filmed),
                files_text(&stored),
                steps_text(&quantised)
            )
        },
    )?;
    Ok(true)
}
