//! `thalweg dungeon`: makes dungeons as data, maps and pictures.

use super::console::Console;
use super::summary::{files_json, files_text};
use clap::{Args, Subcommand};
use rayon::prelude::*;
use serde_json::json;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg::dungeon::{Dungeon, Generator, isaac, locks, rebirth, rooms::Rooms, tinykeep};
use thalweg::io::dungeon::{DungeonFormat, TILESET, animation, encode, read_rooms, sheet, tileset};
use thalweg::io::{Files, Pieces, Stored, encode_picture, refuse};
use thalweg::{Error, Result};

/// Make dungeons: rooms, doors, keys, and what stands where
///
/// The extension of the file selects the format: .json (everything), .jsonl (the same, one dungeon
/// per line), .txt (letters), .svg, .png, .tmj (Tiled) or .ldtk (LDtk). The same seed gives the
/// same dungeon on every platform.
#[derive(Args)]
#[command(after_help = "Examples:
  thalweg dungeon isaac --seed 7 --level 3 -o floor.json
  thalweg dungeon rebirth --seed 7 --level 6 -o floor.tmj
  thalweg dungeon tinykeep --seed 7 -o keep.png --animation keep-steps.png
  thalweg dungeon isaac --seed 1 --count 10000 -o floors.jsonl")]
pub struct Arguments {
    #[command(subcommand)]
    generator: GeneratorCommand,
}

#[derive(Subcommand)]
enum GeneratorCommand {
    /// Make floors of single rooms without loops, after The Binding of Isaac
    Isaac(Isaac),
    /// Make floors with large rooms and loops, after Rebirth
    Rebirth(Rebirth),
    /// Make layouts of many rooms with corridors between the large ones, after TinyKeep
    #[command(name = "tinykeep")]
    TinyKeep(TinyKeep),
}

#[derive(Args)]
struct Common {
    /// The output file. With --count, the seed of each dungeon is added to the name
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The seed. With --count, the first of consecutive seeds
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = super::seed)]
    seed: u64,
    /// The number of dungeons to make, on all cores. A .jsonl file holds all of them
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// The most rooms to lock. Their keys can always be reached
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(..=i64::from(locks::LOCKS_MAX)))]
    locks: u32,
    /// Draw all dungeons of --count in one .png
    #[arg(long)]
    sheet: bool,
    /// Also write an animated PNG that shows the layout step by step
    #[arg(long, value_name = "PNG", conflicts_with = "count")]
    animation: Option<PathBuf>,
}

#[derive(Args)]
struct Floor {
    #[command(flatten)]
    common: Common,
    /// The level in the game, 1 to 12. It decides the number of rooms and their difficulty. Each
    /// level of a seed has another floor
    #[arg(long, value_name = "N", default_value_t = 1)]
    level: u32,
    /// The number of rooms, instead of the number that the level gives
    #[arg(long, value_name = "N")]
    room_count: Option<u32>,
    /// How often a floor is under the Curse of the Labyrinth, with 80 % more rooms and two rooms of
    /// everything special. Without a number: always
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_value_t = 0,
        default_missing_value = "100")]
    labyrinth: u32,
    /// The player has full health, which makes sacrifice rooms more likely
    #[arg(long)]
    full_health: bool,
    /// A TOML file of furniture for rooms, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    rooms: Option<PathBuf>,
}

#[derive(Args)]
struct Isaac {
    #[command(flatten)]
    floor: Floor,
}

#[derive(Args)]
struct Rebirth {
    #[command(flatten)]
    floor: Floor,
    /// How often a new room tries to be large
    #[arg(long, value_name = "PERCENT", default_value_t = rebirth::Settings::default().large)]
    large: u32,
    /// How often a large boss room is tried
    #[arg(long, value_name = "PERCENT", default_value_t = rebirth::Settings::default().large_boss)]
    large_boss: u32,
}

#[derive(Args)]
struct TinyKeep {
    #[command(flatten)]
    common: Common,
    /// The number of rooms before separation
    #[arg(long, value_name = "N", default_value_t = tinykeep::Settings::default().room_count)]
    room_count: u32,
    /// The side of a tile in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = tinykeep::Settings::default().tile_px)]
    tile_px: u32,
    /// The ellipse in which rooms appear, such as 400 20. Without it: a circle sized to fit the
    /// rooms
    #[arg(long, num_args = 2, value_names = ["WIDTH", "HEIGHT"], allow_negative_numbers = true)]
    ellipse_px: Option<Vec<f64>>,
    /// The mean width and height of rooms in pixels
    #[arg(long, num_args = 2, value_names = ["WIDTH", "HEIGHT"], allow_negative_numbers = true)]
    mean_px: Option<Vec<f64>>,
    /// The deviation of width and height in pixels. A smaller one gives more uniform rooms and
    /// corridors
    #[arg(long, value_name = "PIXELS",
        default_value_t = tinykeep::Settings::default().deviation_px,
        allow_negative_numbers = true)]
    deviation_px: f64,
    /// The largest ratio of the longer side of a room to the shorter one
    #[arg(long, value_name = "N", default_value_t = tinykeep::Settings::default().ratio_max,
        allow_negative_numbers = true)]
    ratio_max: f64,
    /// In main rooms both sides are longer than this factor times their mean
    #[arg(long, value_name = "N", default_value_t = tinykeep::Settings::default().main_factor,
        allow_negative_numbers = true, conflicts_with = "main_px")]
    main_factor: f64,
    /// In main rooms both sides are longer than this width and height in pixels, instead of
    /// --main-factor
    #[arg(long, num_args = 2, value_names = ["WIDTH", "HEIGHT"], allow_negative_numbers = true)]
    main_px: Option<Vec<f64>>,
    /// The share of the edges outside the spanning tree that is added back, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = tinykeep::Settings::default().loops,
        allow_negative_numbers = true)]
    loops: f64,
}

impl GeneratorCommand {
    fn common(&self) -> &Common {
        match self {
            GeneratorCommand::Isaac(a) => &a.floor.common,
            GeneratorCommand::Rebirth(a) => &a.floor.common,
            GeneratorCommand::TinyKeep(a) => &a.common,
        }
    }

    fn rooms(&self) -> Result<Cow<'static, Rooms>> {
        let file = match self {
            GeneratorCommand::Isaac(a) => a.floor.rooms.as_deref(),
            GeneratorCommand::Rebirth(a) => a.floor.rooms.as_deref(),
            GeneratorCommand::TinyKeep(_) => None,
        };
        Ok(match file {
            Some(path) => Cow::Owned(read_rooms(path)?),
            None => Cow::Borrowed(Rooms::standard()),
        })
    }

    fn generator(&self) -> Generator {
        let pair = |v: &Option<Vec<f64>>| v.as_deref().map(|v| [v[0], v[1]]);
        let locks = self.common().locks;
        match self {
            GeneratorCommand::Isaac(Isaac { floor }) => Generator::Isaac(isaac::Settings {
                level: floor.level,
                room_count: floor.room_count,
                labyrinth: floor.labyrinth,
                full_health: floor.full_health,
                locks,
            }),
            GeneratorCommand::Rebirth(Rebirth { floor, large, large_boss }) => {
                Generator::Rebirth(rebirth::Settings {
                    level: floor.level,
                    room_count: floor.room_count,
                    labyrinth: floor.labyrinth,
                    full_health: floor.full_health,
                    locks,
                    large: *large,
                    large_boss: *large_boss,
                })
            }
            GeneratorCommand::TinyKeep(a) => Generator::TinyKeep(tinykeep::Settings {
                room_count: a.room_count,
                tile_px: a.tile_px,
                ellipse_px: pair(&a.ellipse_px),
                mean_px: pair(&a.mean_px).unwrap_or(tinykeep::Settings::default().mean_px),
                deviation_px: a.deviation_px,
                ratio_max: a.ratio_max,
                main_factor: a.main_factor,
                main_px: pair(&a.main_px),
                loops: a.loops,
                locks,
            }),
        }
    }
}

/// The most dungeons on a sheet.
const SHEET_MAX: u32 = 1024;

/// The path with the seed added to the name: `floor.json` and 7 give `floor-7.json`.
fn numbered(path: &Path, seed: u64) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension =
        path.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{seed}{extension}"))
}

/// Refuses options that do not go together.
fn check(common: &Common, format: DungeonFormat) -> Result<()> {
    if common.sheet && format != DungeonFormat::Png {
        return Err(Error::param(format!(
            "--sheet: {}: a sheet is a picture; use a name that ends in .png",
            common.output.display()
        )));
    }
    if common.seed.checked_add(u64::from(common.count) - 1).is_none() {
        return Err(Error::param(format!(
            "--seed {} --count {}: the largest seed is {}",
            common.seed,
            common.count,
            u64::MAX
        )));
    }
    let is_png = |path: &&PathBuf| {
        let ending = path.extension().unwrap_or_default();
        ending.eq_ignore_ascii_case("png") || ending.eq_ignore_ascii_case("apng")
    };
    if let Some(path) = common.animation.as_ref().filter(|path| !is_png(path)) {
        return Err(Error::param(format!(
            "--animation: {}: use a name that ends in .png",
            path.display()
        )));
    }
    if common.sheet && common.count > SHEET_MAX {
        return Err(Error::over(
            format!(
                "--sheet --count {}: allowed at most {SHEET_MAX} dungeons on a sheet",
                common.count
            ),
            common.count,
            SHEET_MAX,
            "dungeons",
        ));
    }
    Ok(())
}

impl Common {
    /// The seeds, of which the last one was checked.
    fn seeds(&self) -> std::ops::RangeInclusive<u64> {
        self.seed..=self.seed + (u64::from(self.count) - 1)
    }

    /// Whether all dungeons go into one file.
    fn is_single(&self, format: DungeonFormat) -> bool {
        self.count == 1 || self.sheet || format == DungeonFormat::JsonLines
    }

    /// The file of each dungeon, or the one of all.
    fn paths(&self, format: DungeonFormat) -> Vec<PathBuf> {
        match self.is_single(format) {
            true => vec![self.output.clone()],
            false => self.seeds().map(|seed| numbered(&self.output, seed)).collect(),
        }
    }
}

/// The dungeons of the command line, and where they go.
struct Batch<'a> {
    common: &'a Common,
    generator: Generator,
    rooms: Cow<'static, Rooms>,
    format: DungeonFormat,
}

impl Batch<'_> {
    fn make(&self, seed: u64) -> Result<Dungeon> {
        self.generator.make(seed, &self.rooms)
    }

    /// Writes a picture of all dungeons.
    fn write_sheet(&self, files: &mut Files) -> Result<Stored> {
        let dungeons = self
            .common
            .seeds()
            .into_par_iter()
            .map(|seed| self.make(seed))
            .collect::<Result<Vec<_>>>()?;
        let largest = dungeons.iter().map(|d| d.tiles.width.max(d.tiles.height)).max().unwrap_or(1);
        // The largest dungeon takes some 600 pixels, and a tile at most 16.
        let bytes = encode_picture(sheet(&dungeons, (600 / largest).clamp(1, 16))?)?;
        files.write(&self.common.output, &bytes)
    }

    /// Writes the dungeons, as one file or as many.
    fn write_all(&self, console: &Console, files: &mut Files) -> Result<Vec<Stored>> {
        let (mut stored, paths) = (vec![], self.common.paths(self.format));
        let mut pieces = match self.common.is_single(self.format) {
            true => Some(Pieces::create(&self.common.output)?),
            false => None,
        };
        // Small batches keep memory small and let Ctrl-C take effect.
        let seeds: Vec<u64> = self.common.seeds().collect();
        // A file of all has one name and many batches, and the zip would end with the names.
        let names = paths.chunks(1024).chain(std::iter::repeat(&[][..]));
        for (batch, names) in seeds.chunks(1024).zip(names) {
            console.check()?;
            let encoded: Vec<Vec<u8>> = batch
                .par_iter()
                .map(|seed| encode(&self.make(*seed)?, self.format))
                .collect::<Result<_>>()?;
            match &mut pieces {
                Some(pieces) => encoded.iter().try_for_each(|bytes| pieces.add(bytes))?,
                None => {
                    let named: Vec<_> = names.iter().map(PathBuf::as_path).zip(encoded).collect();
                    stored.extend(files.write_many(&named)?);
                }
            }
        }
        if let Some(pieces) = pieces {
            stored.push(files.finish_pieces(pieces)?);
        }
        Ok(stored)
    }

    /// Writes an animation of how the first dungeon is laid out.
    fn write_animation(&self, path: &Path, files: &mut Files) -> Result<Stored> {
        let mut steps = vec![];
        let dungeon =
            self.generator
                .make_step_by_step(self.common.seed, &self.rooms, &mut |step| steps.push(step))?;
        files.write(path, &animation(&dungeon, &steps)?)
    }
}

/// Writes the tileset that maps for editors expect beside them.
fn write_tileset(console: &Console, folder: &Path, files: &mut Files) -> Result<Stored> {
    let path = folder.join(TILESET);
    let bytes = encode_picture(tileset())?;
    // All maps of a folder share this file. It is always the same, so it may exist already.
    if std::fs::read(&path).is_ok_and(|there| there != bytes) && !console.options.force {
        refuse(std::slice::from_ref(&path), false)?;
    }
    files.write(&path, &bytes)
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let (common, generator) = (a.generator.common(), a.generator.generator());
    let format = DungeonFormat::from_path(&common.output)?;
    check(common, format)?;
    let mut paths = common.paths(format);
    paths.extend(common.animation.clone());
    refuse(&paths, console.options.force)?;
    let batch = Batch { common, generator, rooms: a.generator.rooms()?, format };
    let mut files = Files::default();
    let folder = common.output.parent().unwrap_or(Path::new(""));
    files.probe(folder)?;

    let begun = Instant::now();
    let mut stored = match common.sheet {
        true => vec![batch.write_sheet(&mut files)?],
        false => batch.write_all(console, &mut files)?,
    };
    if let Some(path) = &common.animation {
        stored.push(batch.write_animation(path, &mut files)?);
    }
    if format.needs_tileset() {
        stored.push(write_tileset(console, folder, &mut files)?);
    }
    files.keep();
    let (seconds, generator) = (begun.elapsed().as_secs_f64(), &batch.generator);
    console.result(
        || {
            json!({
                "kind": generator.kind(), "settings": generator, "seed": common.seed,
                "count": common.count, "seconds": seconds,
                "files": files_json(&stored),
            })
        },
        || {
            format!(
                "{} x {}, seed {}: {seconds:.2} s\n{}",
                common.count,
                generator.kind().name(),
                common.seed,
                files_text(&stored)
            )
        },
    )?;
    Ok(true)
}
