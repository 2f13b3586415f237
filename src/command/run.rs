//! `thalweg run`: a recipe's maps, a picture and a manifest, in a folder.

use super::console::{Console, bytes, count, plural};
use super::files::{Files, refuse};
use super::film::{self, Film};
use super::{Changes, device, read_files, read_input};
use clap::Args;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg::dungeon::{placed::Entrance, rooms::Rooms};
use thalweg::io::{Encoded, Format, Stored, encode_all, encode_colours, encode_numbers, encode_picture};
use thalweg::params::rounded;
use thalweg::recipe::{Recipe, Step};
use thalweg::render::Style;
use thalweg::world::{FRAMES_MAX, StageReport, World, digest};
use thalweg::{Error, Result};

/// Make the maps of a recipe
///
/// Writes each map of the recipe's output.maps, a shaded preview.png, and last manifest.json, which says what the files hold
/// and has their digests. Maps and manifest are the same bytes on every device (the colours of the preview are for people).
#[derive(Args)]
#[command(after_help = "Example: thalweg run examples/mountains.toml -o mountains --size 512 --set droplets.rain=4")]
pub struct Arguments {
    /// The recipe, TOML or JSON
    recipe: PathBuf,
    /// Folder for the files; made if it is not there
    #[arg(short, long, value_name = "DIR", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Print what would be done: size, passes, memory, files
    #[arg(long)]
    dry_run: bool,
    /// Another seed than the recipe's
    #[arg(long, value_name = "N", help_heading = "Recipe")]
    seed: Option<u64>,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    film: film::Options,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let recipe = a.changes.read(&a.recipe, a.seed)?;
    let folder = a.output.clone().unwrap_or_default();
    let format = Format::from_path(format!("x.{}", recipe.output.format).as_ref())?;
    let mut paths: Vec<PathBuf> =
        recipe.output.maps.iter().map(|name| folder.join(format!("{name}.{}", recipe.output.format))).collect();
    if recipe.output.preview {
        paths.push(folder.join("preview.png"));
    }
    paths.extend((1..=recipe.textures()).map(|n| folder.join(texture(n))));
    let manifest_path = folder.join("manifest.json");
    let old = if console.options.force { listed(&folder, &manifest_path) } else { vec![] };
    let reel = a.film.reel(folder.join(film::ANIMATION), Some(folder.join(film::FOLDER)));
    if let Some(reel) = &reel {
        paths.extend(reel.paths());
        if !a.dry_run {
            reel.refuse_longer(&old)?;
        }
    }
    paths.push(manifest_path.clone());
    if !a.dry_run {
        refuse(&paths, console.options.force)?;
    }

    let begun = Instant::now();
    let reading = read_input(console, &recipe)?;
    let mut world = World::new(&recipe, reading.as_ref().map(|r| &r.map))?;
    read_files(console, &mut world)?;
    a.film.frames.map(|frames| world.check_frames(frames)).transpose()?;
    let input_seconds = begun.elapsed().as_secs_f64();
    let opened = device::open(console, &recipe, &world)?;
    if a.dry_run {
        return dry_run(console, &recipe, &world, &opened.name(), &paths);
    }
    let mut files = Files::default();
    files.make_folder(&folder)?;
    files.probe(&folder)?;

    let begun = Instant::now();
    let mut filmed = vec![];
    let (made, device) = match &reel {
        None => device::run(console, opened, &recipe, &world, None)?,
        Some(reel) => {
            reel.prepare(&mut files)?;
            remove(&manifest_path)?;
            let mut film = Film::new(&mut files, reel, &recipe.output);
            let made = device::run(console, opened, &recipe, &world, Some(&mut film))?;
            filmed = film.finish()?;
            made
        }
    };
    let stage_seconds = begun.elapsed().as_secs_f64();

    let begun = Instant::now();
    let mut encode_seconds = 0.0;
    let mut warnings = reading.map(|r| r.warnings).unwrap_or_default();
    let mut entries = vec![];
    let mut stored: Vec<Stored> = vec![];
    remove(&manifest_path)?;
    let biomes = recipe.biomes().map(|(_, settings)| thalweg::stage::biomes::biomes(settings)).transpose()?;
    let palette: Vec<[u8; 3]> = biomes.iter().flatten().map(|biome| biome.colour).collect();
    for (name, path) in recipe.output.maps.iter().zip(&paths) {
        console.check()?;
        let map = &made.maps[name.as_str()];
        let encoding = Instant::now();
        let Encoded { bytes, quantised, warnings: more } = match name.as_str() {
            "biome" => encode_numbers(map, &palette, format)?,
            "biome_colour" => encode_colours(map, format)?,
            _ => encode_all(map, format)?,
        };
        encode_seconds += encoding.elapsed().as_secs_f64();
        for warning in more {
            console.warn(format!("{name}: {warning}"));
            warnings.push(format!("{name}: {warning}"));
        }
        let file = files.write(path, &bytes)?;
        let (min, max) = map.min_max();
        let unit = recipe.maps().iter().find(|(n, _)| n == name).map(|(_, unit)| *unit);
        let mut entry = json!({
            "name": name, "file": path.file_name().map(|n| n.to_string_lossy()), "unit": unit, "bytes": file.bytes,
            "blake3": file.blake3, "min": min, "max": max,
        });
        if let Some((low, high)) = quantised {
            entry["quantised"] = json!([low, high]);
        }
        entry["words_blake3"] = json!(made.digests[name.as_str()]);
        entries.push(entry);
        stored.push(file);
    }
    if recipe.output.preview {
        console.check()?;
        let style = Style { sea_level_m: recipe.output.sea_level_m, ..Style::default() };
        let encoding = Instant::now();
        let picture = film::picture(&recipe.output, &made.maps["height"], |name| made.maps.get(name), &style)?;
        let bytes = encode_picture(&picture)?;
        encode_seconds += encoding.elapsed().as_secs_f64();
        stored.push(files.write(&folder.join("preview.png"), &bytes)?);
    }
    let mut textures = vec![];
    for (n, picture) in made.textures.iter().enumerate() {
        console.check()?;
        let file = files.write(&folder.join(texture(n + 1)), &encode_picture(picture)?)?;
        let names: Vec<&str> = made.biomes.iter().skip(n * 4).take(4).map(|biome| biome.name.as_str()).collect();
        textures.push(json!({ "file": texture(n + 1), "biomes": names, "bytes": file.bytes, "blake3": file.blake3 }));
        stored.push(file);
    }
    let (mut dungeons, mut tileset) = (vec![], None);
    if let Some(placing) = &recipe.dungeons {
        let kind = thalweg::io::dungeon::DungeonFormat::from_path(format!("x.{}", placing.format).as_ref())?;
        let named = |e: &Entrance| folder.join(format!("dungeon_x{}_y{}.{}", e.x, e.y, placing.format));
        let paths: Vec<PathBuf> = made.entrances.iter().map(named).collect();
        refuse(&paths, console.options.force)?;
        for (entrances, paths) in made.entrances.chunks(256).zip(paths.chunks(256)) {
            console.check()?;
            let make = |e: &Entrance| thalweg::io::dungeon::encode(&placing.generator.make(e.seed, Rooms::standard())?, kind);
            let encoded = entrances.par_iter().map(make).collect::<Result<Vec<_>>>()?;
            let named: Vec<_> = paths.iter().map(PathBuf::as_path).zip(encoded).collect();
            let written = files.write_many(&named)?;
            for ((entrance, path), file) in entrances.iter().zip(paths).zip(&written) {
                dungeons.push(json!({
                    "x": entrance.x, "y": entrance.y, "height_m": world.scale().to_metres(&[entrance.height])[0],
                    "seed": entrance.seed, "file": path.file_name().map(|n| n.to_string_lossy()), "bytes": file.bytes,
                    "blake3": file.blake3,
                }));
            }
            stored.extend(written);
        }
        if kind.needs_tileset() && !made.entrances.is_empty() {
            tileset = Some(thalweg::io::dungeon::TILESET);
            let bytes = encode_picture(&thalweg::io::dungeon::tileset())?;
            stored.push(files.write(&folder.join(thalweg::io::dungeon::TILESET), &bytes)?);
        }
    }
    console.check()?;
    let mut manifest = manifest(&recipe, &world, &made.stages, entries, &warnings);
    if let Some(frames) = a.film.frames {
        // Without digests, as the preview.
        manifest["timelapse"] = film::describe(frames);
    }
    if recipe.biomes().is_some() {
        manifest["biomes"] = json!(made.biomes);
        manifest["textures"] = textures.into();
    }
    if recipe.dungeons.is_some() {
        manifest["dungeons"] = dungeons.into();
    }
    if let Some(file) = tileset {
        manifest["tileset"] = file.into();
    }
    let read = recipe.input.iter().map(|input| input.path.clone()).chain(world.files().map(|(_, path)| path));
    let removed = files.clear(old, &read.chain([a.recipe.clone()]).collect::<Vec<_>>())?;
    let removed: Vec<_> = removed.iter().map(|path| path.to_string_lossy()).collect();
    let text = serde_json::to_string_pretty(&manifest).map_err(|e| Error::output(&manifest_path, e.into()))?;
    stored.push(files.write(&manifest_path, format!("{text}\n").as_bytes())?);
    let output_seconds = begun.elapsed().as_secs_f64();
    files.keep();

    let window = world.window();
    console.result(
        || {
            json!({
                "device": device, "name": recipe.name, "seed": recipe.seed, "width": window.width, "height": window.height,
                "spacing_m": world.scale().spacing_m, "stages": made.stages,
                "seconds": {
                    "input": input_seconds, "stages": stage_seconds, "output": output_seconds, "encoding": encode_seconds,
                },
                "files": files_json(filmed.iter().chain(&stored)), "removed": removed, "warnings": warnings,
            })
        },
        || {
            let head = title(&recipe, &world);
            let times = format!(
                "input {input_seconds:.2} s, stages {stage_seconds:.2} s, output {output_seconds:.2} s (encoding {encode_seconds:.2} s)"
            );
            let stages = stages_text(&made.stages);
            let gone = match removed.len() {
                0 => String::new(),
                n => format!("removed, since only the run before had them: {}\n", count(n as u64, "file")),
            };
            format!("{head}\n{device}\n{stages}{times}\n{}{}{gone}", film::text(&filmed), files_text(&stored))
        },
    )?;
    Ok(true)
}

/// The file of a texture, from 1.
fn texture(n: usize) -> String {
    format!("splat_{n}.png")
}

/// The files that the manifest of an earlier run lists, as far as they lie in the folder itself or in that of its time-lapse.
fn listed(folder: &Path, manifest: &Path) -> Vec<PathBuf> {
    let text = std::fs::read(manifest).unwrap_or_default();
    let old: Value = serde_json::from_slice(&text).unwrap_or_default();
    if old["schema"] != 1 || !old["thalweg"].is_string() {
        return vec![];
    }
    // A name and no path: what lies elsewhere is not this run's.
    let plain = |name: &&str| Path::new(name).file_name().is_some_and(|last| last == *name);
    let many = ["maps", "textures", "dungeons"].into_iter().flat_map(|key| old[key].as_array().into_iter().flatten());
    let single = [&old["preview"], &old["tileset"], &old["timelapse"]["file"]];
    let names = many.map(|entry| &entry["file"]).chain(single).filter_map(Value::as_str).filter(plain);
    let mut files: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    let pictures = folder.join(film::FOLDER);
    let film = old["timelapse"]["folder"] == film::FOLDER && pictures.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let count = old["timelapse"]["frames"].as_u64().filter(|_| film).unwrap_or(0).min(FRAMES_MAX as u64);
    files.extend((0..count).map(|n| pictures.join(film::numbered(n as usize))));
    files
}

/// A manifest vouches for its files, so it goes before the first of them changes.
fn remove(manifest: &Path) -> Result<()> {
    match std::fs::remove_file(manifest) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::output(manifest, e)),
        _ => Ok(()),
    }
}

/// What the files hold: nothing in it depends on the device, the day or the place.
fn manifest(
    recipe: &Recipe,
    world: &World,
    stages: &[StageReport],
    maps: Vec<serde_json::Value>,
    warnings: &[String],
) -> serde_json::Value {
    let (window, scale) = (world.window(), world.scale());
    let stages: Vec<_> = stages.iter().map(|s| json!({ "stage": s.stage, "passes": s.passes, "derived": s.derived })).collect();
    let mut manifest = json!({
        "schema": 1,
        "thalweg": env!("CARGO_PKG_VERSION"),
        "recipe": recipe.describe(),
        "seed": recipe.seed,
        "width": window.width,
        "height": window.height,
        "spacing_m": scale.spacing_m,
        "datum_m": scale.datum_m,
        "origin": window.origin,
        "order": "rows from north to south, in a row from west to east; samples are vertices",
    });
    if let Some(level) = recipe.output.sea_level_m {
        manifest["sea_level_m"] = json!(level);
    }
    if let Some(start) = world.start() {
        manifest["input"] = json!({ "words_blake3": digest(start) });
    }
    manifest["stages"] = stages.into();
    manifest["maps"] = maps.into();
    if recipe.output.preview {
        // Without a digest: it is for people, and colours pass through the sine of the system.
        manifest["preview"] = json!("preview.png");
    }
    manifest["warnings"] = json!(warnings);
    manifest
}

fn dry_run(console: &Console, recipe: &Recipe, world: &World, device: &str, paths: &[PathBuf]) -> Result<bool> {
    let window = world.window();
    let plans: Vec<_> = recipe
        .stages
        .iter()
        .enumerate()
        .map(|(i, step)| {
            let plan = world.plan(i);
            let reach = |step: &Step| (step.stage.reach)(&step.settings);
            let turns = |every: u32| plan.steps.len() as u64 / u64::from(every);
            let nested: u64 = step.with.iter().map(|nested| turns(nested.every) * reach(&nested.step)).sum();
            (step.stage.name, plan.passes.len(), plan.bytes(), reach(step) + nested)
        })
        .collect();
    let memory = plans.iter().map(|(_, _, bytes, _)| *bytes).max().unwrap_or(0);
    let per_cell = memory as f64 / window.cells() as f64;
    console.result(
        || {
            let stage = |(name, passes, bytes, reach): &(&str, usize, u64, u64)| {
                json!({ "stage": name, "passes": passes, "bytes": bytes, "reach_cells": reach })
            };
            let stages: Vec<_> = plans.iter().map(stage).collect();
            json!({
                "device": device, "name": recipe.name, "seed": recipe.seed, "width": window.width, "height": window.height,
                "spacing_m": world.scale().spacing_m, "stages": stages, "bytes": memory, "bytes_per_cell": per_cell,
                "files": paths.iter().map(|p| p.to_string_lossy()).collect::<Vec<_>>(),
            })
        },
        || {
            let mut text = format!("{}\n{device}\n", title(recipe, world));
            for (name, passes, size, reach) in &plans {
                let (word, reach) = (plural(*passes as u64, "pass"), count(*reach, "cell"));
                text += &format!("  {name:<16} {passes:>6} {word:<6}  {:>12}  reach up to {reach}\n", bytes(*size));
            }
            text += &format!("memory {}, {per_cell:.1} bytes a cell\n", bytes(memory));
            // Numbered pictures are as many as was asked for.
            let numbered = |path: &&PathBuf| path.parent().is_some_and(|p| p.ends_with(film::FOLDER));
            for path in paths.iter().filter(|path| !numbered(path)) {
                text += &format!("{}\n", path.display());
            }
            let pictures: Vec<_> = paths.iter().filter(numbered).collect();
            if let [first, .., last] = pictures[..] {
                text += &format!("{} to {}\n", first.display(), last.display());
            }
            text
        },
    )?;
    Ok(true)
}

/// A line that says what is made.
pub fn title(recipe: &Recipe, world: &World) -> String {
    let window = world.window();
    let spacing_m = rounded(world.scale().spacing_m);
    format!("{}: {} x {} cells of {spacing_m} m, seed {}", recipe.name, window.width, window.height, recipe.seed)
}

/// A line for each stage.
pub fn stages_text(stages: &[StageReport]) -> String {
    let line = |s: &StageReport| {
        let (pace, unit) = match s.droplet_steps {
            Some(steps) => (steps as f64 / s.seconds, "M droplet-steps/s"),
            None => (s.cells_per_s, "M cells/s"),
        };
        let passes = plural(s.passes as u64, "pass");
        format!("  {:<16} {:>6} {passes:<6}  {:>8.2} s  {:>8.1} {unit}\n", s.stage, s.passes, s.seconds, pace / 1e6)
    };
    stages.iter().map(line).collect()
}

/// A line for each file.
pub fn files_text(files: &[Stored]) -> String {
    files.iter().map(|f| format!("{:>12}  {}\n", bytes(f.bytes), f.path.display())).collect()
}

/// The files for scripts.
pub fn files_json<'a>(files: impl IntoIterator<Item = &'a Stored>) -> serde_json::Value {
    files.into_iter().map(|f| json!({ "path": f.path.to_string_lossy(), "bytes": f.bytes, "blake3": f.blake3 })).collect()
}
