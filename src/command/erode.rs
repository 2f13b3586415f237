//! `thalweg erode`: a height map in, an eroded one out.

use super::console::Console;
use super::summary::{
    files_json, files_text, stages_text, steps_json, steps_text, timelapse_text, title,
};
use super::{
    EngineFiles, InputOptions, OutputFormat, OutputRange, TimelapseArguments, classic, hand_over,
    is_standard, option, picture_path, stem, store, tell,
};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::bundle::{Folder, Sink, Timelapse, TimelapseOptions};
use thalweg::format::either;
use thalweg::io::engine::{Engine, Land};
use thalweg::io::{
    FilmFormat, MapFormat, Stored, encode_picture, encode_within, header_path, refuse,
};
use thalweg::job::{Heights, Outcome};
use thalweg::recipe::{Colour, Levels, Output, Preset, Step, parted};
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
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = super::seed,
        help_heading = "Erosion")]
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

/// A map's file and its format.
type Target<'a> = (&'a Path, MapFormat);

/// Where what is asked for goes, beside a time-lapse and the files of a program.
struct Outputs<'a> {
    /// The eroded map. With --engine there is none, as the program's files have it.
    height: Option<Target<'a>>,
    flow: Option<Target<'a>>,
    preview: Option<&'a Path>,
    /// Whether the eroded map goes to standard output.
    piped: bool,
}

impl<'a> Outputs<'a> {
    fn of(console: &Console, a: &'a Arguments) -> Result<Self> {
        let height = match a.program.engine {
            Some(_) => None,
            None => Some((a.output.as_path(), a.to.of(&a.output)?)),
        };
        let piped = height.is_some() && is_standard(&a.output);
        if piped {
            a.to.refuse(&a.output, console)?;
        }
        let flow = match a.flow.as_deref() {
            Some(path) => Some((path, MapFormat::from_path(path)?)),
            None => None,
        };
        Ok(Self { height, flow, preview: a.preview.as_deref(), piped })
    }

    /// The maps that become files.
    fn map_files(&self) -> impl Iterator<Item = Target<'a>> {
        self.height.filter(|_| !self.piped).into_iter().chain(self.flow)
    }

    /// The files of maps and of the preview.
    fn paths(&self) -> Vec<PathBuf> {
        self.map_files().map(|(path, _)| path).chain(self.preview).map(PathBuf::from).collect()
    }

    /// Refuses what cannot be written, before the work.
    fn refuse(
        &self,
        input: &Path,
        timelapse: Option<&TimelapseOptions>,
        force: bool,
    ) -> Result<()> {
        self.preview.map_or(Ok(()), picture_path)?;
        // By the files that they lead to, since one file may have several names.
        let is_input = |path: &&Path| {
            let (path, input) = (path.canonicalize(), input.canonicalize());
            path.is_ok_and(|path| input.is_ok_and(|input| input == path))
        };
        let others = self.flow.map(|(path, _)| path).into_iter().chain(self.preview);
        if let Some(path) = others.into_iter().find(is_input) {
            return Err(Error::param(format!(
                "{}: this is the input, which only the eroded map may replace",
                path.display()
            )));
        }
        let mut all = self.paths();
        all.extend(self.map_files().filter_map(|(path, format)| header_path(path, format)));
        all.extend(timelapse.iter().flat_map(|timelapse| timelapse.names()).map(PathBuf::from));
        refuse(&all, force)
    }

    /// Refuses maps that cannot say which cells have no height.
    fn admit_missing(&self, count: usize) -> Result<()> {
        let mut maps = self.height.into_iter().chain(self.flow);
        match maps.find(|(_, format)| count > 0 && format.is_quantised()) {
            None => Ok(()),
            Some((path, _)) => Err(Error::param(format!(
                "{}: such a file cannot say that {count} cells of the input have no height; use \
                 {}, or give these cells a height with --nodata",
                path.display(),
                either(&MapFormat::names(|format| !format.is_quantised()))
            ))),
        }
    }
}

/// The stage of the preset with its settings changed, and the levels on which it runs.
fn erosion(a: &Arguments) -> Result<(Step, Option<Levels>)> {
    let usual = if a.reference { "article" } else { "default" };
    let preset = Preset::find(a.preset.as_deref().unwrap_or(usual))?;
    // A preset that is for a land as it is has levels only where they are asked for.
    let as_it_is = a.reference || a.levels == "auto" && !preset.has_levels();
    let levels = levels(&a.levels)?.filter(|_| !as_it_is);
    let mut step = preset.step(levels.is_some())?;
    for text in &a.set {
        let (key, value) = parted(text, "erodibility=0.03")?;
        step.assign(key, value).map_err(|e| option("--set", text, e))?;
    }
    Ok((step, levels))
}

/// The recipe of the command line, for the heights of a file.
fn recipe(a: &Arguments, step: Step, levels: Option<Levels>) -> Result<Recipe> {
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
    Ok(recipe)
}

/// Finds out, before the work, whether folders can be written to, and makes that of the pictures.
fn probe(
    folder: &mut Folder,
    paths: &[PathBuf],
    timelapse: Option<&TimelapseOptions>,
) -> Result<()> {
    let animation = timelapse.map(|timelapse| Path::new(&timelapse.animation));
    for path in paths.iter().map(PathBuf::as_path).chain(animation) {
        folder.files().probe(path.parent().unwrap_or(Path::new("")))?;
    }
    if let Some(pictures) = timelapse.and_then(|timelapse| timelapse.folder.as_deref()) {
        folder.files().make_folder(Path::new(pictures))?;
        folder.files().probe(Path::new(pictures))?;
    }
    Ok(())
}

/// Runs the job. With a time-lapse, stores it meanwhile.
fn run(
    console: &Console,
    job: &Job,
    timelapse: Option<&TimelapseOptions>,
    folder: &mut Folder,
) -> Result<(Outcome, Vec<Stored>)> {
    let Some(options) = timelapse else {
        return Ok((console.watch(job, |watch| job.run(watch))?, vec![]));
    };
    let mut film = Timelapse::new(options, &job.recipe().output);
    let outcome = console.watch(job, |watch| {
        job.run(&mut |event| match event {
            Event::Frame(frame) => film.add(frame, folder),
            event => watch(event),
        })
    })?;
    Ok((outcome, film.finish(folder)?))
}

/// Writes what a run has made, and keeps what there is to say of it.
struct Writer<'a> {
    console: &'a Console,
    folder: Folder,
    /// The cells that have no height.
    missing: &'a [usize],
    stored: Vec<Stored>,
    /// What the steps of 16-bit files stand for.
    quantised: Vec<(String, (f64, f64))>,
    warnings: Vec<String>,
}

impl Writer<'_> {
    fn map(
        &mut self,
        outcome: &Outcome,
        name: &str,
        (path, format): Target,
        range: Option<(f64, f64)>,
    ) -> Result<()> {
        self.console.check()?;
        let map = outcome.map(name)?;
        let encoded = encode_within(&map, format, range, self.missing)?;
        self.quantised.extend(encoded.quantised.map(|steps| (name.to_string(), steps)));
        tell(self.console, path, &encoded.warnings);
        let stored = store(path, &map, format, &encoded, self.console, &mut self.folder)?;
        self.stored.extend(stored.into_iter().flatten());
        self.warnings.extend(encoded.warnings);
        Ok(())
    }

    fn preview(&mut self, outcome: &Outcome, path: &Path) -> Result<()> {
        self.console.check()?;
        let picture = encode_picture(outcome.picture()?)?;
        self.stored.push(self.folder.files().write(path, &picture)?);
        Ok(())
    }

    /// The files for a program, which stand in a folder of their own.
    fn program(&mut self, outcome: &Outcome, engine: Engine, a: &Arguments) -> Result<()> {
        let height = outcome.map("height")?;
        let range_m = a.range.pair()?;
        let land = Land { range_m, ..Land::of(&height) };
        let (files, more) = hand_over(self.console, engine, &a.output, &stem(&a.input), &land)?;
        self.stored.extend(files);
        self.warnings.extend(more);
        Ok(())
    }
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let outputs = Outputs::of(console, a)?;
    let (step, levels) = erosion(a)?;
    let timelapse = timelapse(a)?;
    outputs.refuse(&a.input, timelapse.as_ref(), console.options.force)?;
    let mut folder = Folder::new("", console.options.force);
    timelapse.as_ref().map(|timelapse| folder.refuse_leftovers(timelapse)).transpose()?;

    let keeps = a.keep_nodata || a.reading.nodata.is_none();
    let reading = a.reading.read_land(console, &a.input, keeps)?;
    let missing = if keeps { &reading.missing[..] } else { &[] };
    outputs.admit_missing(missing.len())?;
    // Some programs take certain sizes alone, and the size is known only now.
    a.program.announce(console, &a.output, [reading.map.width, reading.map.height])?;
    let heights = Heights::from(&reading.map).without(missing);
    let with_heights = |recipe| Ok(console.configure(Job::with_heights(recipe, heights)?));
    let recipe = recipe(a, step, levels)?;
    let job =
        if a.reference { classic(console, recipe, with_heights)? } else { with_heights(recipe)? };
    let job = match &timelapse {
        Some(timelapse) => job.frames(timelapse.frames)?,
        None => job,
    };
    probe(&mut folder, &outputs.paths(), timelapse.as_ref())?;
    let (outcome, filmed) = run(console, &job, timelapse.as_ref(), &mut folder)?;

    let mut writer = Writer {
        console,
        folder,
        missing,
        stored: vec![],
        quantised: vec![],
        warnings: reading.warnings.clone(),
    };
    if let Some(target) = outputs.height {
        writer.map(&outcome, "height", target, a.range.pair()?)?;
    }
    if let Some(target) = outputs.flow {
        // The range is one of heights, and flow is measured otherwise.
        writer.map(&outcome, "flow", target, None)?;
    }
    if let Some(path) = outputs.preview {
        writer.preview(&outcome, path)?;
    }
    console.check()?;
    if let Some(engine) = a.program.engine {
        writer.program(&outcome, engine, a)?;
    }
    writer.folder.keep()?;
    if !outputs.piped {
        report(&job, &outcome, &filmed, &writer)?;
    }
    Ok(true)
}

/// Says what was done.
fn report(job: &Job, outcome: &Outcome, filmed: &[Stored], written: &Writer) -> Result<()> {
    let Writer { console, stored, quantised, warnings, .. } = written;
    let window = job.window();
    console.result(
        || {
            json!({
                "device": outcome.device, "width": window.width, "height": window.height,
                "spacing_m": job.scale().spacing_m, "seed": outcome.recipe.seed,
                "stages": outcome.stages,
                "seconds": console.seconds(), "files": files_json(filmed.iter().chain(stored)),
                "quantised": steps_json(quantised),
                "warnings": warnings,
            })
        },
        || {
            let (head, stages) = (title(job), stages_text(&outcome.stages));
            format!(
                "{head}\n{}\n{stages}{:.2} s in all\n{}{}{}",
                outcome.device,
                console.seconds(),
                timelapse_text(filmed),
                files_text(stored),
                steps_text(quantised)
            )
        },
    )
}
