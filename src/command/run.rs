//! `thalweg run`: a recipe's maps, a picture and a manifest, in a folder.

use super::console::{Console, bytes, count, plural};
use super::files::{Files, refuse};
use super::film::{self, Film};
use super::{device, read_files, read_input, resize, set, size};
use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg::dungeon::{placed::Entrance, rooms::Rooms};
use thalweg::io::{Encoded, Format, Stored, encode_all, encode_picture};
use thalweg::params::{Value, rounded, unknown};
use thalweg::recipe::{EVERY_MAX, Nested, Recipe, Step, assignment};
use thalweg::render::Style;
use thalweg::world::{StageReport, World, digest};
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
    /// Another size than the recipe's, in cells
    #[arg(long, value_name = "N or WxH", value_parser = size, help_heading = "Recipe")]
    size: Option<(u32, u32)>,
    /// Another setting of a stage, named by its kind or its number from 1; KEY may be `every` for one between the steps of
    /// another; may be given several times
    #[arg(long = "set", value_name = "STAGE.KEY=VALUE", help_heading = "Recipe")]
    set: Vec<String>,
    #[command(flatten)]
    film: film::Options,
}

/// The recipe, with what the command line changes in it.
fn recipe(a: &Arguments) -> Result<Recipe> {
    let mut recipe = Recipe::read(&a.recipe)?;
    recipe.seed = a.seed.unwrap_or(recipe.seed);
    for text in &a.set {
        assign(&mut recipe, text).map_err(|e| match e {
            Error::Param(what) => Error::Param(format!("--set {text}: {what}")),
            other => other,
        })?;
    }
    if let Some(size) = a.size {
        resize(&mut recipe, size)?;
    }
    recipe.check()?;
    Ok(recipe)
}

/// Applies `STAGE.KEY=VALUE` to the stages of a recipe, those between the steps of others too.
fn assign(recipe: &mut Recipe, text: &str) -> Result<()> {
    let Some((stage, assigned)) = text.split_once('.').filter(|(stage, _)| !stage.contains('=')) else {
        return Err(Error::Param("expected STAGE.KEY=VALUE, such as droplets.rain=4".into()));
    };
    let (key, value) = assignment(assigned)?;
    let number = stage.parse::<usize>().ok();
    let (mut found, mut nests) = (false, false);
    for (i, step) in recipe.stages.iter_mut().enumerate() {
        if number == Some(i + 1) || step.stage.name == stage {
            found = true;
            if key != "every" {
                set(step, assigned)?;
            }
        }
        for Nested { every, step } in step.with.iter_mut().filter(|nested| nested.step.stage.name == stage) {
            (found, nests) = (true, true);
            match (key.as_str(), &value) {
                ("every", Value::Integer(steps @ 1..=EVERY_MAX)) => *every = *steps as u32,
                ("every", _) => {
                    return Err(Error::Param(format!("every = {value}: allowed a whole number, 1 to {EVERY_MAX} (steps)")));
                }
                _ => set(step, assigned)?,
            }
        }
    }
    if found && key == "every" && !nests {
        return Err(Error::Param(format!(
            "\"every\": only a stage between the steps of another has it, as [[stage.with]] makes one; {stage} is none in this recipe"
        )));
    }
    if !found {
        let mut names: Vec<&str> = vec![];
        let with = |step: &Step| step.with.iter().map(|nested| nested.step.stage.name).collect::<Vec<_>>();
        for name in recipe.stages.iter().flat_map(|step| [vec![step.stage.name], with(step)].concat()) {
            names.extend((!names.contains(&name)).then_some(name));
        }
        let numbers = format!("; or a stage's number, 1 to {}", recipe.stages.len());
        return Err(Error::Param(format!("{}{numbers}", unknown("stage of this recipe", stage, names.into_iter()))));
    }
    Ok(())
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let recipe = recipe(a)?;
    let folder = a.output.clone().unwrap_or_default();
    let format = Format::from_path(format!("x.{}", recipe.output.format).as_ref())?;
    let mut paths: Vec<PathBuf> =
        recipe.output.maps.iter().map(|name| folder.join(format!("{name}.{}", recipe.output.format))).collect();
    if recipe.output.preview {
        paths.push(folder.join("preview.png"));
    }
    paths.extend((1..=recipe.textures()).map(|n| folder.join(texture(n))));
    let reel = a.film.reel(folder.join(film::ANIMATION), Some(folder.join(film::FOLDER)));
    if let Some(reel) = &reel {
        paths.extend(reel.paths());
        if !a.dry_run {
            reel.refuse_longer()?;
        }
    }
    let manifest_path = folder.join("manifest.json");
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
    for (name, path) in recipe.output.maps.iter().zip(&paths) {
        console.check()?;
        let map = &made.maps[name.as_str()];
        let encoding = Instant::now();
        let Encoded { bytes, quantised, warnings: more } = encode_all(map, format)?;
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
    let mut dungeons = vec![];
    if let Some(placing) = &recipe.dungeons {
        let kind = thalweg::io::dungeon::Format::from_path(format!("x.{}", placing.format).as_ref())?;
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
                "files": files_json(filmed.iter().chain(&stored)), "warnings": warnings,
            })
        },
        || {
            let head = title(&recipe, &world);
            let times = format!(
                "input {input_seconds:.2} s, stages {stage_seconds:.2} s, output {output_seconds:.2} s (encoding {encode_seconds:.2} s)"
            );
            let stages = stages_text(&made.stages);
            format!("{head}\n{device}\n{stages}{times}\n{}{}", film::text(&filmed), files_text(&stored))
        },
    )?;
    Ok(true)
}

/// The file of a texture, from 1.
fn texture(n: usize) -> String {
    format!("splat_{n}.png")
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
