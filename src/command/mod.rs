//! The command line: a module for each subcommand, and here what all of them share.

mod bench;
mod compare;
mod compare_maps;
mod console;
mod convert;
mod devices;
mod dry_run;
mod dungeon;
mod erode;
mod info;
mod looks;
mod meta;
mod options;
mod probes;
mod quality;
mod render;
mod report;
mod run;
mod scatter;
#[cfg(feature = "serve")]
mod serve;
mod summary;
mod tiles;
mod upgrade;
mod verify;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use console::Console;
use options::{EngineFiles, InputOptions, Options, OutputFormat, OutputRange, TimelapseArguments};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use thalweg::bundle::{Folder, Sink};
use thalweg::format::either;
use thalweg::io::engine::{Engine, Land};
use thalweg::io::{Encoded, MapFormat, ReadOptions, Reading, Stored, header, header_path};
use thalweg::job::classic::prepare;
use thalweg::map::Map;
use thalweg::memory::admit;
use thalweg::params::unknown;
use thalweg::recipe::EXAMPLES;
use thalweg::{Cancel, Error, Job, Recipe, Result, Window};

/// Makes terrain and erodes it, with the same bytes on the GPU and on the CPU.
#[derive(Parser)]
#[command(version, max_term_width = 110, after_long_help = CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

const CODES: &str = "\
                     Exit codes:
  0    done
  1    a setting, an input or an output is wrong or too large; or compare, verify or report
       found a difference
  2    wrong usage, a graphics device that is missing or fails, or a fault of thalweg
  130  interrupted

Example:
  thalweg run examples/mountains.toml -o mountains";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Erode(erode::Arguments),
    Render(render::Arguments),
    Compare(compare::Arguments),
    Convert(convert::Arguments),
    Info(info::Arguments),
    Quality(quality::Arguments),
    Verify(verify::Arguments),
    Upgrade(upgrade::Arguments),
    Tiles(tiles::Arguments),
    Tile(tiles::One),
    Store(tiles::StoreArguments),
    Dungeon(dungeon::Arguments),
    Scatter(scatter::Arguments),
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    Devices(devices::Arguments),
    Report(report::Arguments),
    Bench(bench::Arguments),
    Recipes(meta::Recipes),
    Schema(meta::Schema),
    Completions(meta::Completions),
    Man(meta::Man),
}

/// Refuses standard output where a folder is needed.
fn refuse_standard(folder: &Path) -> Result<()> {
    if folder.components().next().is_some_and(|first| first.as_os_str() == "-") {
        return Err(Error::param("-: standard output is no folder; give the path of one"));
    }
    Ok(())
}

/// Whether a path means standard input or output.
fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// All of standard input.
fn standard_input() -> Result<Vec<u8>> {
    const PIECE: u64 = 1 << 24;
    let (mut bytes, mut input) = (vec![], std::io::stdin().lock());
    loop {
        // What is read becomes values and words, and an input may never end.
        admit("-", bytes.len() as u64 * 2 + PIECE)?;
        if input.by_ref().take(PIECE).read_to_end(&mut bytes).map_err(|e| Error::input("-", e))?
            == 0
        {
            return Ok(bytes);
        }
    }
}

/// A seed as it is typed.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("allowed are whole numbers, 0 to {}", u64::MAX))
}

/// A format by its extension.
fn format(text: &str) -> Result<MapFormat, String> {
    MapFormat::from_path(Path::new(&format!("x.{text}")))
        .map_err(|_| format!("expected {}", either(&MapFormat::names(|_| true))))
}

/// Refuses a picture's path that does not end in `.png`.
fn picture_path(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Ok(());
    }
    Err(Error::param(format!(
        "{}: a picture is written as PNG; give it a name that ends in .png",
        path.display()
    )))
}

/// Stores a map, and beside bare samples the header that says what they are. None if it went to
/// standard output, where nothing else may go.
fn store(
    path: &Path,
    map: &Map,
    format: MapFormat,
    encoded: &Encoded,
    console: &Console,
    folder: &mut Folder,
) -> Result<Option<Vec<Stored>>> {
    if is_standard(path) {
        return console.pipe(&encoded.bytes).map(|()| None);
    }
    let mut stored = vec![folder.files().write(path, &encoded.bytes)?];
    let mut mask = path.as_os_str().to_owned();
    mask.push(".msk");
    if Path::new(&mask).exists() {
        console.warn(format!(
            "{}: readers take it as the mask of the file that was written beside it; remove it if \
             it is an old one's",
            mask.display()
        ));
    }
    if let Some((path, header)) =
        header_path(path, format).zip(header(map, format, encoded.quantised))
    {
        stored.push(folder.files().write(&path, header.as_bytes())?);
    }
    Ok(Some(stored))
}

/// Writes the files for a program into a folder.
fn hand_over(
    console: &Console,
    engine: Engine,
    folder: &Path,
    stem: &str,
    land: &Land,
) -> Result<(Vec<Stored>, Vec<String>)> {
    let (files, warnings) = engine.export(stem, land)?;
    tell(console, folder, &warnings);
    let mut folder = Folder::new(folder, console.options.force);
    folder.announce(&files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())?;
    folder.begin()?;
    let stored =
        files.iter().map(|(name, bytes)| folder.put(name, bytes)).collect::<Result<Vec<_>>>()?;
    console.check()?;
    folder.keep()?;
    Ok((stored, warnings))
}

/// The name of a file without its extension, to begin names with.
fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .filter(|stem| stem != "-")
        .unwrap_or("land".into())
}

/// Reads a map and passes its warnings on.
fn read(console: &Console, path: &Path, options: &ReadOptions) -> Result<Reading> {
    let reading = thalweg::io::read(path, options)?;
    tell(console, path, &reading.warnings);
    console.check()?;
    Ok(reading)
}

/// Passes on the warnings about a file.
fn tell(console: &Console, path: &Path, warnings: &[String]) {
    warnings.iter().for_each(|warning| console.warn(format!("{}: {warning}", path.display())));
}

/// `N` or `WxH`.
fn size(text: &str) -> Result<(u32, u32), String> {
    let (w, h) = text.split_once(['x', 'X']).unwrap_or((text, text));
    match (w.parse(), h.parse()) {
        (Ok(w), Ok(h)) => Ok((w, h)),
        _ => Err("expected cells, as 512 or 640x480".into()),
    }
}

/// What the command line changes in a recipe.
#[derive(Args)]
struct Changes {
    /// Another size than the recipe's, in cells
    #[arg(long, value_name = "N or WxH", value_parser = size, help_heading = "Recipe")]
    size: Option<(u32, u32)>,
    /// The same land with N times the cells a side: 2, 4, 8 … Needs a recipe with levels
    #[arg(long, value_name = "N", help_heading = "Recipe")]
    scale: Option<u32>,
    /// Metres from one cell to the next, in place of the recipe's; heights stay as they are
    #[arg(long, value_name = "METRES", help_heading = "Recipe", conflicts_with = "extent")]
    spacing: Option<f64>,
    /// The length of the longer side from the first to the last cell, such as 2km or 800m: heights,
    /// features, the sea and thresholds follow, so the land keeps its shape
    #[arg(long, value_name = "LENGTH", value_parser = length, help_heading = "Recipe")]
    extent: Option<f64>,
    /// All heights of the recipe times this, such as 0.5 or 2; distances stay
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, help_heading = "Recipe")]
    relief: Option<f64>,
    /// Another setting of a stage, named by its kind or its number from 1; KEY may be `every` for
    /// one between the steps of another. Or of the tables of water and output: water.KEY=VALUE,
    /// output.KEY=VALUE. Or of the top of the recipe, such as levels=4. May be given several times
    #[arg(long = "set", value_name = "[STAGE.]KEY=VALUE", help_heading = "Recipe")]
    set: Vec<String>,
}

/// A run by the published sequential algorithms, with warnings of what they leave out.
fn classic(
    console: &Console,
    mut recipe: Recipe,
    job: impl FnOnce(Recipe) -> Result<Job>,
) -> Result<Job> {
    for left in prepare(&mut recipe)? {
        console.warn(left);
    }
    console.warn("the published algorithms run in floats: other machines may make other bytes");
    Ok(job(recipe)?.classic())
}

/// A part of a land.
#[derive(Args)]
struct RegionArguments {
    /// Only this part of the land, with the bytes that the whole has there: column and row of its
    /// north-west cell in the world, and its size
    #[arg(long, num_args = 4, value_names = ["X", "Y", "WIDTH", "HEIGHT"],
        allow_negative_numbers = true)]
    part: Option<Vec<i64>>,
}

impl RegionArguments {
    fn window(&self) -> Result<Option<Window>> {
        let Some(&[x, y, width, height]) = self.part.as_deref() else { return Ok(None) };
        let side = |n: i64| {
            u32::try_from(n).map_err(|_| Error::param(format!("--part: a side of {n} cells")))
        };
        Ok(Some(Window { origin: [x, y], width: side(width)?, height: side(height)? }))
    }

    /// The same run, of the part.
    fn of(&self, job: Job) -> Result<Job> {
        self.window()?.map_or(Ok(job.clone()), |window| job.part(window))
    }
}

/// The recipe within the program that a path names, where no file has that name.
fn own_recipe(path: &Path) -> Option<&'static (&'static str, &'static str)> {
    let name = path.to_str().filter(|_| !path.exists())?;
    EXAMPLES.iter().find(|(known, _)| *known == name)
}

/// The error of a recipe that is no file: a plain name may be meant for one within the program.
fn no_such_recipe(path: &Path, error: Error) -> Error {
    let name = path.to_str().filter(|name| !path.exists() && !name.contains(['/', '\\', '.']));
    match (name, &error) {
        (Some(name), Error::Input { .. }) => {
            let unknown = unknown(
                "file, nor a recipe within thalweg",
                name,
                EXAMPLES.iter().map(|(known, _)| *known),
            );
            let what = unknown.message.split_once(": ").map_or("no such file", |(_, what)| what);
            Error::input(path, what)
        }
        _ => error,
    }
}

/// A length in metres, with or without m, or in km.
fn length(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix("km") {
        Some(number) => (number, 1000.0),
        None => (text.strip_suffix('m').unwrap_or(text), 1.0),
    };
    let metres = number.trim().parse::<f64>().ok().map(|number| number * unit);
    metres.filter(|metres| *metres > 0.0 && metres.is_finite()).ok_or_else(|| {
        format!("{text:?}: allowed is a length above 0 in m or km, such as 800m or 2km")
    })
}

impl Changes {
    /// Reads a recipe and changes it; `seed` in place of its own.
    fn read(&self, path: &Path, seed: Option<u64>) -> Result<Recipe> {
        let mut recipe = match own_recipe(path) {
            _ if is_standard(path) => Self::standard()?,
            Some((name, text)) => Recipe::from_toml(text, "", name)?,
            None => Recipe::read(path).map_err(|e| no_such_recipe(path, e))?,
        };
        recipe.seed = seed.unwrap_or(recipe.seed);
        for text in &self.set {
            recipe.set(text).map_err(|e| option("--set", text, e))?;
        }
        // Before the size, which checks the whole recipe when it is set.
        recipe.scale = self.scale.unwrap_or(recipe.scale);
        if let Some(size) = self.size {
            resize(&mut recipe, size)?;
        }
        if self.spacing.is_some() {
            (recipe.spacing_m, recipe.extent_m) = (self.spacing, None);
        }
        recipe.check().map_err(|e| {
            self.spacing
                .into_iter()
                .fold(e, |e, spacing| option("--spacing", &spacing.to_string(), e))
        })?;
        if let Some(extent_m) = self.extent {
            recipe.resize_to(extent_m).map_err(|e| option("--extent", &extent_m.to_string(), e))?;
        }
        if let Some(factor) = self.relief {
            recipe
                .multiply_relief(factor)
                .map_err(|e| option("--relief", &factor.to_string(), e))?;
        }
        Ok(recipe)
    }
}

impl Changes {
    /// The recipe that standard input has, TOML or JSON.
    fn standard() -> Result<Recipe> {
        let text = String::from_utf8(standard_input()?)
            .map_err(|_| Error::input("-", "not UTF-8 text: a recipe is TOML or JSON"))?;
        let folder = Path::new("");
        match text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
            true => Recipe::from_json(&text, folder, "recipe"),
            false => Recipe::from_toml(&text, folder, "recipe"),
        }
    }
}

/// The error of an option's value.
fn option(option: &str, value: &str, error: Error) -> Error {
    match error {
        Error::Param(invalid) => {
            let message = format!("{option} {value}: {}", invalid.message);
            Error::param(invalid.saying(message))
        }
        other => other,
    }
}

/// Gives a recipe that makes its own land another size.
fn resize(recipe: &mut Recipe, (width, height): (u32, u32)) -> Result<()> {
    recipe.resize(width, height).map_err(|e| match e {
        Error::Param(invalid) if invalid.pointer.as_deref() == Some("/width") => {
            let message = match recipe.input {
                Some(_) => format!("--size: {}", invalid.message),
                None => format!("--size {}", invalid.message),
            };
            Error::param(invalid.saying(message))
        }
        other => other,
    })
}

/// A number of an option, checked.
fn within(option: &str, value: f64, min: f64, max: f64) -> Result<f64> {
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(Error::param(format!("{option} {value}: allowed {min} to {max}")))
    }
}

/// Takes what follows an option for its value, be it a negative number: the option then says what
/// is allowed.
fn with_negative(command: clap::Command) -> clap::Command {
    let is_option =
        |arg: &clap::Arg| !arg.is_positional() && matches!(arg.get_action(), ArgAction::Set);
    let command = command.mut_args(|arg| match is_option(&arg) {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    command.mut_subcommands(with_negative)
}

/// The whole program.
pub fn main() -> ExitCode {
    let parsed = with_negative(Cli::command()).try_get_matches();
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let Cli { command, options } = match parsed {
        Ok(cli) => cli,
        Err(e) => return console::usage(&e),
    };
    let console = Console::new(options, Cancel::default());
    let cancel = console.cancel.clone();
    let heard = ctrlc::set_handler(move || {
        // The second Ctrl-C does not wait for anything.
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
    });
    if let Err(e) = heard {
        console.warn(format!("Ctrl-C will not be heard: {e}"));
    }
    // A file that outgrows a limit of the process (`ulimit -f`) would end it, and leave a part of
    // the file behind.
    #[cfg(unix)]
    if let Err(e) =
        signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default())
    {
        console.warn(format!("a limit of the size of files will not be heard: {e}"));
    }
    // Pictures are drawn by the global pool.
    let threads = console.options.threads.into();
    if let Err(e) = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
        console.warn(format!("threads for pictures: {e}; ask for fewer with --threads"));
    }
    let done = catch_unwind(AssertUnwindSafe(|| match &command {
        Command::Run(a) => run::main(&console, a),
        Command::Erode(a) => erode::main(&console, a),
        Command::Render(a) => render::main(&console, a),
        Command::Compare(a) => compare::main(&console, a),
        Command::Convert(a) => convert::main(&console, a),
        Command::Info(a) => info::main(&console, a),
        Command::Quality(a) => quality::main(&console, a),
        Command::Verify(a) => verify::main(&console, a),
        Command::Upgrade(a) => upgrade::main(&console, a),
        Command::Tiles(a) => tiles::main(&console, a),
        Command::Tile(a) => tiles::one(&console, a),
        Command::Store(a) => tiles::store(&console, a),
        Command::Dungeon(a) => dungeon::main(&console, a),
        Command::Scatter(a) => scatter::main(&console, a),
        #[cfg(feature = "serve")]
        Command::Serve(a) => serve::main(&console, a),
        Command::Devices(a) => devices::main(&console, a),
        Command::Report(a) => report::main(&console, a),
        Command::Bench(a) => bench::main(&console, a),
        Command::Recipes(a) => meta::recipes(&console, a),
        Command::Schema(_) => meta::schema(&console),
        Command::Completions(a) => meta::completions(&console, a),
        Command::Man(a) => meta::man(&console, a),
    }));
    match done {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::from(1),
        Ok(Err(e)) => {
            console.error(&e);
            ExitCode::from(match e {
                Error::Device(_) => 2,
                Error::Cancelled => 130,
                _ => 1,
            })
        }
        Err(_) => {
            console.fault();
            ExitCode::from(2)
        }
    }
}
