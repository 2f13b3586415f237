//! `thalweg tiles`, `thalweg tile` and `thalweg store`: lands that are larger than memory.

mod store;
mod workflow;

use super::console::Console;
use super::dry_run;
use super::summary::{files_json, files_text};
use super::{Changes, OutputRange, RegionArguments, format, option, refuse_standard};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
pub use store::{StoreArguments, store};
use thalweg::field::Origin;
use thalweg::io::{Elevation, Files, MapFormat, Share, Stored, encode, is_same_place, refuse};
use thalweg::schedule::Schedule;
use thalweg::tiles::{Cost, Cut, FileOptions, Store, Tile, Tiles, XyzOptions, ZarrOptions};
use thalweg::{Error, Executor, FIELDS, Field, Job, Result, Window};
use workflow::Workflow;

/// Which tiles, and where they are kept.
#[derive(Args)]
struct Which {
    /// The recipe, TOML or JSON; - for standard input; or the name of one that `thalweg recipes`
    /// lists
    recipe: PathBuf,
    /// Seed in place of the recipe's
    #[arg(long, value_parser = super::seed, value_name = "N", help_heading = "Recipe")]
    seed: Option<u64>,
    #[command(flatten)]
    changes: Changes,
    /// Keep tiles in this folder and take them from there, so that a run that was ended resumes,
    /// and a change makes only the tiles that it touches again
    #[arg(long, value_name = "DIR", help_heading = "Tiles")]
    store: Option<PathBuf>,
    /// Bytes that the store may have, such as 20G; the tiles that were used longest ago go first
    #[arg(long, value_name = "BYTES", value_parser = size, requires = "store",
        help_heading = "Tiles")]
    store_limit: Option<u64>,
    /// Cells of a side of a tile, 16 to 16384; the words do not depend on it. Chosen from the
    /// memory and the work, if not said
    #[arg(long, value_name = "CELLS", help_heading = "Tiles")]
    tile_size: Option<u32>,
    /// Cut a level's time into slabs of at most this many steps of a stage, for levels whose steps
    /// reach far; the words do not depend on it
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Tiles")]
    time_chunk: Option<u32>,
    /// Bytes of memory to work in, such as 2G; three quarters of what is free, and at least 256 MiB
    /// less than that, if not said
    #[arg(long, value_name = "BYTES", value_parser = size, help_heading = "Tiles")]
    memory: Option<u64>,
}

/// Make a land of any size by tiles
///
/// Writes maps of a land that may be larger than memory. OUT ending in .tif is one cloud-optimised
/// GeoTIFF of one map (its overviews are means); OUT ending in .zarr is a Zarr folder with every
/// level of every map; any other OUT is a folder of files, height_x0_y0.tif and so on. The words
/// are those of one run of the whole land.
#[derive(Args)]
#[command(
    after_help = "Example: thalweg tiles examples/world.toml --part 100000 -7000 4096 4096 -o \
                  there.tif --store tiles"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// File or folder
    #[arg(short, long, value_name = "OUT", required_unless_present_any = ["dry_run", "list"])]
    output: Option<PathBuf>,
    /// Only this map; for a .tif, height if not said
    #[arg(long, value_name = "NAME")]
    map: Option<String>,
    #[command(flatten)]
    part: RegionArguments,
    /// Cells of a level in place of the recipe's: each next level is half as fine
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    level: Option<i32>,
    /// Cells of a side of each file, where OUT is a folder of files; 1024 if not said
    #[arg(long, value_name = "CELLS", value_parser = clap::value_parser!(u32).range(2..=32766),
        help_heading = "Files")]
    file_side: Option<u32>,
    /// Files have their first row and column in common with their neighbours
    #[arg(long, help_heading = "Files")]
    shared_edge: bool,
    /// Format of the files: the recipe's, if not said
    #[arg(long, value_name = "FORMAT", value_parser = format, help_heading = "Files")]
    format: Option<MapFormat>,
    /// Write OUT as the tiles of a web map: Z/X/Y.png and tilejson.json, with heights as colours.
    /// Each zoom is a level
    #[arg(long, value_name = "ENCODING", value_parser = ["terrarium", "terrain-rgb"],
        conflicts_with_all = ["format", "shared_edge", "output_range", "file_side"],
        help_heading = "Files")]
    xyz: Option<String>,
    /// Pixels of a side of a web map's tiles
    #[arg(long, value_name = "PIXELS", default_value = "256", value_parser = ["256", "512"],
        requires = "xyz", help_heading = "Files")]
    xyz_side: String,
    #[command(flatten)]
    range: OutputRange,
    /// Print what would be done: tiles, halos, memory, the work that halos cost
    #[arg(long)]
    dry_run: bool,
    /// Print the tiles, what each is made from and what it costs, as JSON, for a program that runs
    /// them by `thalweg tile`
    #[arg(long, conflicts_with = "dry_run", help_heading = "Many machines")]
    list: bool,
    /// Make nothing yet, but write what makes the tiles and then OUT, for a program that runs jobs
    /// in parallel: make, snakemake or slurm. Tiles that are in the store are not made again
    #[arg(long = "for", value_name = "PROGRAM", requires = "store",
        conflicts_with_all = ["dry_run", "list"], hide_possible_values = true,
        help_heading = "Many machines")]
    workflow: Option<Workflow>,
    /// Write the K-th of N shares of OUT, a .zarr or a folder of files. Each of N processes, on any
    /// machines, writes its own, and a Zarr folder appears when the last one ends
    #[arg(long, value_name = "K/N", requires = "store",
        conflicts_with_all = ["dry_run", "list", "workflow", "xyz"],
        help_heading = "Many machines")]
    share: Option<Share>,
    /// The file for --for, or the folder of Slurm's; Makefile, Snakefile or slurm, if not said
    #[arg(long, value_name = "PATH", requires = "workflow", help_heading = "Many machines")]
    script: Option<PathBuf>,
}

/// Make one tile and those that it needs, and keep them in a store
///
/// A tile that is there is not made again, so any program may run any tiles in any order, at the
/// same time and as often as it likes.
#[derive(Args)]
#[command(
    after_help = "Example: thalweg tile examples/mountains.toml 0 3 -1 --tile-size 512 --store \
                  tiles"
)]
pub struct One {
    #[command(flatten)]
    which: Which,
    /// The level: 0 has the recipe's cells
    #[arg(allow_negative_numbers = true)]
    level: i32,
    /// Tiles to the east of the land's north-west corner, or of the origin of a world without an
    /// end
    #[arg(allow_negative_numbers = true)]
    x: i64,
    /// Tiles to the south
    #[arg(allow_negative_numbers = true)]
    y: i64,
    /// Slabs of the level's time that are left to do: 0 for what the level leaves
    #[arg(long, value_name = "N", default_value = "0")]
    slab: u32,
    /// Refuse a tile that has another key than this, as `thalweg tiles --list` prints it: if the
    /// recipe or the program has changed since
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Write a map of the tile to this file, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Which map
    #[arg(long, value_name = "NAME", default_value = "height")]
    map: String,
}

/// A number of bytes, with K, M, G or T for 2^10, 2^20, 2^30 or 2^40.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?}: allowed is a number of bytes, such as 500M or 20G");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1u64,
        "K" | "KIB" => 1 << 10,
        "M" | "MIB" => 1 << 20,
        "G" | "GIB" => 1 << 30,
        "T" | "TIB" => 1 << 40,
        _ => return Err(wrong()),
    };
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(wrong)
}

impl Which {
    fn job(&self, console: &Console) -> Result<Job> {
        console.read(self.changes.read(&self.recipe, self.seed)?)
    }

    fn memory(&self) -> u64 {
        self.memory.unwrap_or_else(usual_memory)
    }

    /// What the tiles over a window cost, of the side that was asked for or of the best. For a
    /// graph of tiles a part is not made in one piece.
    fn cost(&self, job: &Job, level: i32, window: &Window, is_graph: bool) -> Result<Cost> {
        match self.tile_size {
            Some(side) => job.schedule().cost(self.cut(side), level, window),
            None if is_graph => {
                job.schedule().choose_side(level, window, self.memory(), self.time_chunk)
            }
            None => job.schedule().choose(level, window, self.memory(), self.time_chunk),
        }
    }

    /// Squares of a side, and slabs if they were asked for.
    fn cut(&self, side: u32) -> Cut {
        Cut { slab: self.time_chunk, ..side.into() }
    }

    /// Refuses an output that is the store.
    fn check_apart(&self, output: &Path) -> Result<()> {
        match &self.store {
            Some(store) if is_same_place(store, output) => Err(Error::param(format!(
                "--store {} is where -o {} goes: give the store a folder of its own",
                store.display(),
                output.display()
            ))),
            _ => Ok(()),
        }
    }

    fn keep(&self, tiles: Tiles, otherwise: Option<&Path>) -> Result<Tiles> {
        Ok(match self.store.as_deref().or(otherwise) {
            Some(folder) => tiles.stored_in(Store::open(folder, self.store_limit)?),
            None => tiles,
        })
    }
}

/// Bytes that the allocator reserves for its threads, a few of 64 MiB each. They hardly count as
/// memory, but `ulimit -v` counts them.
const RESERVED: u64 = 256 << 20;

/// Bytes of memory to work in, where nobody says.
pub fn usual_memory() -> u64 {
    thalweg::memory::available()
        .map_or(4 << 30, |free| (free / 4 * 3).min(free.saturating_sub(RESERVED)))
}

/// A hidden folder beside the output, in which tiles wait while they are needed.
pub fn waiting_beside(output: &Path) -> Result<tempfile::TempDir> {
    let beside =
        output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new().prefix(".thalweg-tiles-").tempdir_in(beside);
    folder.map_err(|e| Error::Output { path: beside.into(), source: e })
}

/// The maps of a level that are asked for: one, or those that the recipe names.
fn fields(job: &Job, name: Option<&str>, level: i32) -> Result<Vec<&'static Field>> {
    if job.recipe().endless {
        let maps = job.recipe().output.maps.iter().map(String::as_str);
        let is_water = |name: &&str| {
            FIELDS.iter().any(|field| field.name == *name && field.origin == Origin::Water)
        };
        let asked: Vec<&str> = name.map_or_else(|| maps.collect(), |name| vec![name]);
        if let Some(water) = asked.iter().find(|name| is_water(name)) {
            return Err(Error::param(format!(
                "{water}: drainage depends on all of the land, and this land has no end; name \
                 another map with --map"
            )));
        }
    }
    Tiles::fields_on(job, level, name)
        .map_err(|e| name.into_iter().fold(e, |e, name| option("--map", name, e)))
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    a.output.as_deref().map_or(Ok(()), refuse_standard)?;
    a.output.as_deref().map_or(Ok(()), |output| a.which.check_apart(output))?;
    a.workflow.map_or(Ok(()), |_| workflow::check_recipe(&a.which.recipe))?;
    let job = a.which.job(console)?;
    let level = a.level.unwrap_or(job.recipe().finest());
    let own = region(&a.part, job.schedule(), level)?;
    let cost = a.which.cost(&job, level, &own, a.list || a.workflow.is_some())?;
    let output = a.output.clone().unwrap_or_default();
    if a.list {
        return workflow::list(console, &job, &cost, level, &own);
    }
    if job.recipe().water.as_ref().is_some_and(thalweg::water::Settings::has_vectors) {
        console.warn(
            "tiles are maps: the files of rivers that water.vectors and water.splines ask \
             for come with `thalweg run`",
        );
    }
    // One file, and a web map, are of one map.
    let one = (ends(&output, "tif") || a.xyz.is_some()).then_some("height");
    let wanted = fields(&job, a.map.as_deref().or(one), level)?;
    if a.dry_run {
        return dry_run::by_tiles(console, &job, &cost, &own);
    }
    // Before the tiles are made, which may take hours.
    if ends(&output, "tif") {
        refuse(std::slice::from_ref(&output), console.options.force)?;
    }
    let tiles = Tiles::new(job.clone(), cost.cut.clone())?;
    let form = Form::of(console, a, &job, &output)?;
    if let Some(program) = a.workflow {
        return workflow::write(console, a, program, &job, &cost, (level, &own));
    }
    let folder = match &a.which.store {
        Some(_) => None,
        None => Some(waiting_beside(&output)?),
    };
    let mut tiles = a.which.keep(tiles, folder.as_ref().map(tempfile::TempDir::path))?;
    let mut progress = console.progress(vec!["tiles"]);
    let mut watch = |done: u64, all: u64| {
        progress.at(0, done as usize, all as usize);
        console.check()
    };
    let land = Land { level, window: own, fields: &wanted, output: &output };
    let (files, warnings) = job
        .with_device(&mut |warning| console.warn(warning), &mut |executor| {
            form.write(&mut tiles, &land, executor, &mut watch)
        })?;
    // A bar that is still there would be drawn over the warnings.
    drop(progress);
    warnings.iter().for_each(|warning| console.warn(warning));
    let [made, found] = tiles.counts();
    let written = match a.share.filter(|_| files.is_empty() && ends(&output, "zarr")) {
        Some(share) => format!("share {share} is done; {} waits for others\n", output.display()),
        None => files_text(&files),
    };
    console.result(
        || {
            json!({
                "width": own.width, "height": own.height, "level": level, "side": cost.cut.side(),
                "made": made, "found": found,
                "files": files_json(&files), "warnings": warnings,
                "seconds": { "all": console.seconds() },
            })
        },
        || {
            format!(
                "{}: {} x {} cells in {}, {made} made, {found} found, {:.2} s\n{}",
                job.recipe().name,
                own.width,
                own.height,
                cost.cut,
                console.seconds(),
                written
            )
        },
    )?;
    Ok(true)
}

/// What is wanted, on a level.
fn region(part: &RegionArguments, schedule: &Schedule, level: i32) -> Result<Window> {
    let part = part.window()?;
    part.as_ref().map_or(Ok(()), |part| schedule.check_region(part))?;
    schedule.check_level(level)?;
    Ok(Schedule::on_level(&part.unwrap_or(schedule.world()), level))
}

fn ends(output: &Path, extension: &str) -> bool {
    output.extension().is_some_and(|e| e == extension)
}

/// What the output is.
enum Form {
    /// One GeoTIFF.
    Cog,
    /// A Zarr folder.
    Zarr(ZarrOptions),
    /// A folder of tiles of a web map.
    Xyz(XyzOptions),
    /// A folder of files.
    Files(FileOptions),
}

/// The maps of a land, and where they go.
struct Land<'a> {
    level: i32,
    window: Window,
    fields: &'a [&'static Field],
    output: &'a Path,
}

impl Form {
    /// What the options ask for. Refuses those that do not go together.
    fn of(console: &Console, a: &Arguments, job: &Job, output: &Path) -> Result<Self> {
        let range_m = a.range.pair()?.or(job.recipe().output.range_m);
        let usual =
            || MapFormat::from_path(Path::new(&format!("map.{}", job.recipe().output.format)));
        let format = a.format.map_or_else(usual, Ok)?;
        let is_folder = !ends(output, "tif") && !ends(output, "zarr");
        let place = output.display();
        let of_folders = [
            ("--file-side", a.file_side.is_some()),
            ("--shared-edge", a.shared_edge),
            ("--format", a.format.is_some()),
        ];
        if let Some((option, _)) = of_folders.into_iter().find(|(_, given)| *given && !is_folder) {
            return Err(Error::param(format!(
                "{option} is for a folder of files; {place} is one output"
            )));
        }
        let single = MapFormat::from_path(output).ok();
        if let Some(format) = single.filter(|_| is_folder && output.extension().is_some()) {
            let ending = format.extension();
            return Err(Error::param(format!(
                "{place}: one file of all tiles is a GeoTIFF, .tif; for files of .{ending} give a \
                 folder and --format {ending}"
            )));
        }
        if let Some(share) = a.share.filter(|_| ends(output, "tif")) {
            return Err(Error::param(format!(
                "--share {share}: {place} is one file; give a .zarr or a folder of files"
            )));
        }
        if let Some(encoding) = a.xyz.as_ref().filter(|_| !is_folder) {
            return Err(Error::param(format!(
                "--xyz {encoding}: OUT is the folder of the tiles; {place} names a file"
            )));
        }
        if is_folder && a.xyz.is_none() && format.is_quantised() && range_m.is_none() {
            return Err(Error::param(format!(
                "files of .{} hold 16 bits, and all need one range: give --output-range LOW HIGH, \
                 in metres, or another --format",
                format.extension()
            )));
        }
        let replace = console.options.force;
        Ok(match &a.xyz {
            _ if ends(output, "tif") => Self::Cog,
            _ if ends(output, "zarr") => Self::Zarr(ZarrOptions { replace, share: a.share }),
            Some(encoding) => Self::Xyz(XyzOptions {
                // The values that are allowed are numbers.
                side: a.xyz_side.parse().unwrap_or(256),
                elevation: match &**encoding {
                    "terrarium" => Elevation::Terrarium,
                    _ => Elevation::TerrainRgb,
                },
                replace,
            }),
            None => Self::Files(FileOptions {
                side: a.file_side.unwrap_or(1024),
                shared: a.shared_edge,
                format,
                range_m,
                replace,
                share: a.share,
            }),
        })
    }

    /// Makes what is missing, and writes it. Returns the files, and warnings about them.
    fn write(
        &self,
        tiles: &mut Tiles,
        land: &Land,
        executor: &mut dyn Executor,
        watch: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<(Vec<Stored>, Vec<String>)> {
        let &Land { level, window, fields, output } = land;
        let one = fields[0];
        match self {
            Self::Cog => {
                let stored = tiles.write_cog(level, window, one, output, executor, watch)?;
                Ok((vec![stored], vec![]))
            }
            Self::Zarr(options) => {
                let stored =
                    tiles.write_zarr(level, window, fields, output, options, executor, watch)?;
                Ok((stored.into_iter().collect(), vec![]))
            }
            Self::Xyz(options) => {
                tiles.write_xyz(level, window, one, output, options, executor, watch)
            }
            Self::Files(options) => {
                tiles.write_files(level, window, fields, output, options, executor, watch)
            }
        }
    }
}

pub fn one(console: &Console, a: &One) -> Result<bool> {
    let job = a.which.job(console)?;
    if a.which.store.is_none() && a.output.is_none() {
        return Err(Error::param(
            "a tile goes into a store: give --store DIR, or -o FILE for a map of it",
        ));
    }
    if let Some(path) = &a.output {
        a.which.check_apart(path)?;
        refuse(std::slice::from_ref(path), console.options.force)?;
        if a.slab > 0 {
            return Err(Error::param(format!(
                "-o {}: maps are of slab 0; slab {} is in the middle of the level's time",
                path.display(),
                a.slab
            )));
        }
    }
    let level = a.level;
    let cut = match a.which.tile_size {
        Some(side) => a.which.cut(side),
        None => {
            let whole = Schedule::on_level(&job.schedule().world(), level);
            job.schedule().choose_side(level, &whole, a.which.memory(), a.which.time_chunk)?.cut
        }
    };
    let mut tiles = Tiles::new(job.clone(), cut.clone())?;
    let tile = Tile { level, slab: a.slab, x: a.x, y: a.y };
    let (window, key) = (tiles.window(tile)?, tiles.key(tile)?);
    if let Some(expected) = a.key.as_ref().filter(|expected| **expected != key) {
        return Err(Error::param(format!(
            "--key {expected}: tile {}, {} of level {level} has the key {key}: the recipe, one of \
             its files or the program has changed since the tiles were listed; list them again",
            a.x, a.y
        )));
    }
    let field = fields(&job, Some(&a.map), level)?;
    let folder = match (&a.which.store, &a.output) {
        (None, Some(output)) => Some(waiting_beside(output)?),
        _ => None,
    };
    let mut tiles = a.which.keep(tiles, folder.as_ref().map(tempfile::TempDir::path))?;
    let mut files = vec![];
    job.with_device(&mut |warning| console.warn(warning), &mut |executor| {
        tiles.piece(tile, executor)?;
        if let Some(path) = &a.output {
            let format = MapFormat::from_path(path)?;
            let (encoded, warnings) =
                encode(&tiles.map(level, window, field[0], executor)?, format)?;
            warnings.iter().for_each(|warning| console.warn(warning));
            let mut output = Files::default();
            files.push(output.write(path, &encoded)?);
            output.keep();
        }
        Ok(())
    })?;
    let [made, found] = tiles.counts();
    let (Window { width, height, origin: [west, north] }, One { x, y, .. }) = (window, a);
    let slab = if a.slab > 0 { format!(", slab {}", a.slab) } else { String::new() };
    console.result(
        || {
            json!({
                "level": level, "slab": a.slab, "x": a.x, "y": a.y, "key": key,
                "tile_size": cut.side(), "origin": window.origin,
                "width": window.width, "height": window.height,
                "made": made, "found": found, "files": files_json(&files),
            })
        },
        || {
            format!(
                "tile {x}, {y} of level {level}{slab}: {width} x {height} cells from {west}, \
                 {north} on, {made} made, {found} found\n{key}\n{}",
                files_text(&files)
            )
        },
    )?;
    Ok(true)
}
