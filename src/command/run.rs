//! `thalweg run`: a recipe's maps, a picture and a manifest, in a folder.

mod variants;

use super::console::{Console, count};
use super::dry_run;
use super::summary::{
    files_json, files_text, stages_text, steps_json, steps_text, timelapse_text, title,
};
use super::tiles::{usual_memory, waiting_beside};
use super::{
    Changes, EngineFiles, OutputRange, RegionArguments, TimelapseArguments, classic,
    refuse_standard,
};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thalweg::bundle::{Bundle, Folder, TimelapseOptions, names};
use thalweg::io::FilmFormat;
use thalweg::job::AfterStage;
use thalweg::job::{Event, Snapshot};
use thalweg::schedule::Schedule;
use thalweg::tiles::{Cost, Store, Tiles};
use thalweg::{Error, Job, Limit, Recipe, Result, Window};

/// Make the maps of a recipe
///
/// Writes each map of the recipe's output.maps, a shaded preview.png, and last manifest.json, which
/// says what the files hold and has their digests. Maps and manifest are the same bytes on every
/// device (the colours of the preview are for people).
#[derive(Args)]
#[command(
    after_help = "Example: thalweg run examples/mountains.toml -o mountains --size 512 --set \
                  incision.creep=0\n\
                  Example: thalweg run game-small -o lands.png --count 16 --sheet --level 2"
)]
pub struct Arguments {
    /// The recipe, TOML or JSON; - for standard input; or the name of one that `thalweg recipes`
    /// lists
    recipe: PathBuf,
    /// Folder for the files; made if it is missing
    #[arg(short, long, value_name = "DIR", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Print what would be done: size, passes, memory, files
    #[arg(long)]
    dry_run: bool,
    /// Stop after a level, where the recipe has levels: 0 has the recipe's cells, and each next one
    /// is half as fine. A quick preview, whose heights are those that the whole run has there
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    level: Option<i32>,
    /// With the published sequential algorithms in place of the stages that have one
    /// (diamond_square, droplets, snowballs, blur), to hold beside the exact ones: in floats and
    /// one after another. Other machines may make other bytes
    #[arg(long, conflicts_with_all = ["level", "part", "frames"])]
    reference: bool,
    /// Seed in place of the recipe's
    #[arg(long, value_parser = super::seed, value_name = "N", help_heading = "Recipe")]
    seed: Option<u64>,
    /// Make this many lands of consecutive seeds, each in a folder of its own: DIR/seed-7,
    /// DIR/seed-8 …
    #[arg(long, value_name = "N", conflicts_with = "snapshot",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Recipe")]
    count: Option<u32>,
    /// With --count: also draw all lands on a contact sheet, DIR/sheet.png; with a picture for the
    /// output, such as -o lands.png, only that sheet
    #[arg(long, requires = "count", help_heading = "Recipe")]
    sheet: bool,
    #[command(flatten)]
    part: RegionArguments,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    range: OutputRange,
    #[command(flatten)]
    program: EngineFiles,
    /// Keep a snapshot of the run in this file, between stages, and go on from it where it is there
    /// already. It goes when the run is done
    #[arg(long, value_name = "FILE", conflicts_with_all = ["part", "frames", "reference"])]
    snapshot: Option<PathBuf>,
    /// Seconds from one snapshot to the next, at least
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "snapshot")]
    snapshot_every: u64,
    #[command(flatten)]
    timelapse: TimelapseArguments,
    /// The file of the time-lapse: timelapse.apng, which holds every pixel as it is, or
    /// timelapse.gif, half as large
    #[arg(long, value_name = "FORMAT", requires = "frames", help_heading = "Time-lapse")]
    film: Option<Film>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Film {
    Apng,
    Gif,
}

impl From<Film> for FilmFormat {
    fn from(film: Film) -> Self {
        match film {
            Film::Apng => Self::Apng,
            Film::Gif => Self::Gif,
        }
    }
}

/// The run that the command line asks for.
fn job_of(
    console: &Console,
    a: &Arguments,
    recipe: Recipe,
    timelapse: Option<&TimelapseOptions>,
) -> Result<Job> {
    let mut job = match a.reference {
        true => classic(console, recipe, |recipe| console.read(recipe))?,
        false => console.read(recipe)?,
    };
    if let Some(level) = a.level {
        job = job.until_level(level)?;
    }
    if let Some(timelapse) = timelapse {
        job = job.frames(timelapse.frames)?;
    }
    a.part.of(job)
}

/// The run from its snapshot on, if there is one, and what keeps the next ones.
fn kept(console: &Console, a: &Arguments, job: Job) -> Result<(Job, Option<Keeper>)> {
    let Some(path) = &a.snapshot else { return Ok((job, None)) };
    let every = Duration::from_secs(a.snapshot_every);
    let (job, keeper) = Keeper::of(job, path, every, a.output.as_deref())?;
    if let Some(stage) = keeper.stage {
        let done = count(stage as u64 + 1, "stage");
        console.note(format!("continues from {}, after {done}", path.display()));
    }
    Ok((job, Some(keeper)))
}

/// Why a land that does not fit into memory cannot be made by tiles.
fn untileable(a: &Arguments, job: &Job) -> Option<String> {
    // What the command line asks for comes first: people can change it at once.
    if a.part.part.is_some() {
        return Some("`thalweg tiles --part` does".into());
    }
    if a.reference {
        return Some("the published algorithms run on whole lands".into());
    }
    if a.snapshot.is_some() {
        let what = "--snapshot keeps runs of whole lands; use `thalweg tiles` with --store";
        return Some(what.into());
    }
    let of_a_film = || a.timelapse.frames.map(|_| "a time-lapse is of a whole land".into());
    job.untileable().or_else(of_a_film)
}

/// How a land is cut into tiles, where it does not fit into memory for the reason `why`.
fn cut(
    console: &Console,
    a: &Arguments,
    job: &Job,
    (level, window): (i32, &Window),
    why: String,
) -> Result<Cost> {
    if let Some(cannot) = untileable(a, job) {
        return Err(Error::limit(format!(
            "{why} (`run` does not make tiles by itself here: {cannot})"
        )));
    }
    let cost = job.schedule().choose(level, window, usual_memory(), None)?;
    console.warn(format!("{why}; the land is made by tiles: {}", cost.cut));
    Ok(cost)
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    a.output.as_deref().map_or(Ok(()), refuse_standard)?;
    let mut recipe = a.changes.read(&a.recipe, a.seed)?;
    recipe.output.range_m = a.range.pair()?.or(recipe.output.range_m);
    recipe.output.program = a.program.engine.or(recipe.output.program);
    let film = a.film.map_or(FilmFormat::Apng, FilmFormat::from);
    let timelapse =
        a.timelapse.frames.map(|frames| TimelapseOptions::of(frames, a.timelapse.frame_size, film));
    if a.count.is_some() {
        return variants::main(console, a, recipe, timelapse);
    }
    let mut folder =
        Folder::for_bundle(a.output.clone().unwrap_or_default(), console.options.force);
    if !a.dry_run {
        folder.announce_bundle(&recipe, timelapse.as_ref())?;
    }
    let begun = Instant::now();
    let (job, mut keeper) = kept(console, a, job_of(console, a, recipe, timelapse.as_ref())?)?;
    job.admit_program()?;
    let input_seconds = begun.elapsed().as_secs_f64();
    let level = a.level.unwrap_or(job.recipe().finest());
    let window = Schedule::on_level(&job.schedule().world(), level);
    let by_tiles = |limit: Limit| cut(console, a, &job, (level, &window), limit.message);
    if a.dry_run {
        let paths: Vec<PathBuf> =
            names(job.recipe(), timelapse.as_ref()).iter().map(|name| folder.path(name)).collect();
        return match dry_run::whole(console, &job, &paths, timelapse.as_ref()) {
            Err(Error::Limit(limit)) => {
                dry_run::by_tiles(console, &job, &by_tiles(limit)?, &window)
            }
            done => done,
        };
    }
    // A limit that is met later, in the middle of the work, is no reason to begin anew by tiles.
    let mut started = false;
    let done = console.watch(&job, |watch| {
        job.run_into(&mut folder, timelapse.as_ref(), &mut |mut event| {
            started |= matches!(event, Event::Started(_));
            if let (Some(keeper), Event::Stage(after)) = (&mut keeper, &mut event) {
                keeper.keep(after, console)?;
            }
            watch(event)
        })
    });
    let bundle = match done {
        // It does not fit, and no work was lost.
        Err(Error::Limit(limit)) if !started => {
            let cost = by_tiles(limit)?;
            // The tiles announce the same folder again.
            drop(folder);
            return run_by_tiles(console, a, &job, level, &cost);
        }
        done => done?,
    };
    if let Some(keeper) = keeper {
        keeper.finish(console);
    }
    report(console, &job, &bundle, input_seconds)?;
    Ok(true)
}

/// Says what was done.
fn report(console: &Console, job: &Job, bundle: &Bundle, input_seconds: f64) -> Result<()> {
    let Bundle { outcome, files, removed, run_seconds, output_seconds, encoding_seconds, .. } =
        bundle;
    let removed: Vec<_> = removed.iter().map(|path| path.to_string_lossy()).collect();
    let (window, scale) = job.schedule().land();
    console.result(
        || {
            json!({
                "device": outcome.device, "name": outcome.recipe.name, "seed": outcome.recipe.seed,
                "width": window.width,
                "height": window.height, "spacing_m": scale.spacing_m, "stages": outcome.stages,
                "seconds": {
                    "input": input_seconds, "stages": run_seconds, "output": output_seconds,
                    "encoding": encoding_seconds,
                    "all": console.seconds(),
                },
                "files": files_json(bundle.timelapse.iter().chain(files)), "removed": removed,
                "quantised": steps_json(&bundle.quantised), "warnings": bundle.warnings,
            })
        },
        || {
            let head = title(job);
            let times = format!(
                "input {input_seconds:.2} s, stages {run_seconds:.2} s, output {output_seconds:.2} \
                 s (encoding {encoding_seconds:.2} s), {:.2} s in all",
                console.seconds()
            );
            let stages = stages_text(&outcome.stages);
            let gone = match removed.len() {
                0 => String::new(),
                n => {
                    format!("removed what only the earlier run had: {}\n", count(n as u64, "file"))
                }
            };
            format!(
                "{head}\n{}\n{stages}{times}\n{}{}{}{gone}",
                outcome.device,
                timelapse_text(&bundle.timelapse),
                files_text(files),
                steps_text(&bundle.quantised)
            )
        },
    )
}

/// Keeps snapshots of a run in a file.
struct Keeper {
    path: PathBuf,
    every: Duration,
    last: Instant,
    /// The stage after which the run is that the file has.
    stage: Option<usize>,
}

impl Keeper {
    /// A keeper, and the run from the file's snapshot on, if it is there.
    fn of(job: Job, path: &Path, every: Duration, output: Option<&Path>) -> Result<(Job, Self)> {
        let wrong = |e: std::io::Error| Error::output(path, e);
        let place = std::path::absolute(path).map_err(wrong)?;
        if let Some(output) = output
            && place.starts_with(std::path::absolute(output).map_err(wrong)?)
        {
            let what = "it lies in the folder of the output: name a file beside that folder";
            return Err(Error::output(path, std::io::Error::other(what)));
        }
        let found = Snapshot::load(path)?;
        let stage = found.as_ref().and_then(|snapshot| snapshot.stages().checked_sub(1));
        let job = match found {
            Some(snapshot) => job.resume_from(snapshot).map_err(|e| {
                Error::input(path, format!("{e}; name another file, or remove it to begin anew"))
            })?,
            None => job,
        };
        // Whether a file can be there is known now, not when hours of work are to be kept.
        thalweg::io::Pieces::create(path)?;
        Ok((job, Self { path: path.into(), every, last: Instant::now(), stage }))
    }

    /// Keeps a snapshot when it is due. A run that starts over does not lose what it had.
    fn keep(&mut self, after: &mut AfterStage, console: &Console) -> Result<()> {
        let is_new = self.stage.is_none_or(|stage| stage < after.stage());
        if is_new && self.last.elapsed() >= self.every {
            match after.snapshot()?.store(&self.path) {
                Ok(()) => self.stage = Some(after.stage()),
                Err(e) => console.warn(format!("no snapshot was kept: {e}")),
            }
            // Also after a failure: a full disk is tried again after the same time, and not at
            // every stage.
            self.last = Instant::now();
        }
        Ok(())
    }

    /// Removes the snapshot of a run that is done.
    fn finish(self, console: &Console) {
        if self.stage.is_some()
            && let Err(e) = std::fs::remove_file(&self.path)
        {
            console.warn(Error::output(&self.path, e));
        }
    }
}

/// Makes a land that does not fit into memory.
fn run_by_tiles(
    console: &Console,
    a: &Arguments,
    job: &Job,
    level: i32,
    cost: &Cost,
) -> Result<bool> {
    let output = a.output.clone().unwrap_or_default();
    let mut folder = Folder::for_bundle(output.clone(), console.options.force);
    folder.announce_bundle(job.recipe(), None)?;
    let waiting = waiting_beside(&output)?;
    let mut tiles =
        Tiles::new(job.clone(), cost.cut.clone())?.stored_in(Store::open(waiting.path(), None)?);
    let mut progress = console.progress(vec!["tiles"]);
    let mut watch = |done: u64, all: u64| {
        progress.at(0, done as usize, all as usize);
        console.check()
    };
    let bundle =
        tiles.write_bundle(level, &mut folder, &mut |warning| console.warn(warning), &mut watch)?;
    drop(progress);
    let removed: Vec<_> = bundle.removed.iter().map(|path| path.to_string_lossy()).collect();
    let window = Schedule::on_level(&job.schedule().world(), level);
    let made = tiles.counts()[0];
    console.result(
        || {
            json!({
                "name": job.recipe().name, "seed": job.recipe().seed, "width": window.width,
                "height": window.height, "by_tiles": true,
                "side": cost.cut.side(), "made": made, "seconds": { "all": console.seconds() },
                "files": files_json(&bundle.files),
                "removed": removed,
            })
        },
        || {
            format!(
                "{}\n{}, {made} made, {:.2} s\n{}",
                title(job),
                cost.cut,
                console.seconds(),
                files_text(&bundle.files)
            )
        },
    )?;
    Ok(true)
}
