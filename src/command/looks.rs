//! `thalweg compare --quality`: statistics and pictures of what droplets and the sequential
//! algorithm make of a terrain.

use super::console::Console;
use super::summary::{files_json, files_text, title};
use clap::Args;
use serde_json::{Map as Object, Value, json};
use std::path::{Path, PathBuf};
use thalweg::classic::droplets::{Droplets, HELD, erode_inside};
use thalweg::image::{Rgb, RgbImage, imageops};
use thalweg::io::{Files, Stored, encode_picture, refuse};
use thalweg::map::Map;
use thalweg::params::{self, Settings};
use thalweg::quality::{Grid, SIDE_MIN, change, statistics};
use thalweg::recipe::Recipe;
use thalweg::render::{Style, shaded};
use thalweg::stage::droplets;
use thalweg::stage::stepper::Walk;
use thalweg::{Error, Job, Result};

/// The settings that the stage shares with the sequential algorithm.
const SHARED: &[&str] = &[
    "rain",
    "lifetime",
    "inertia",
    "capacity",
    "slope_min",
    "erosion",
    "deposition",
    "evaporation",
    "gravity",
    "radius_cells",
];

/// Largest side of a tile of the contact sheet, in pixels: of the reduced map, and of the detail
/// below it.
const TILE: u32 = 256;
/// White space between the pictures of the contact sheet, in pixels.
const GAP: u32 = 4;

#[derive(Args)]
pub struct Options {
    /// Compare how the terrain looks: before erosion, after the recipe's first droplets stage, and
    /// after the sequential algorithm
    #[arg(long, conflicts_with_all = ["every", "picture"], help_heading = "Quality")]
    pub quality: bool,
    /// Densities to compare, in droplets per cell
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "0.0625,0.25,1",
        requires = "quality",
        help_heading = "Quality"
    )]
    densities: Vec<f64>,
    /// Folder for shaded pictures, a contact sheet, report.json and report.md; created if missing
    #[arg(short, long, value_name = "DIR", requires = "quality", help_heading = "Quality")]
    output: Option<PathBuf>,
}

/// One map of the comparison.
struct Column {
    /// Its name in tables.
    name: String,
    /// Droplets per cell over the whole run; `None` if not eroded.
    rain: Option<f64>,
    map: Map,
    figures: Object<String, Value>,
}

/// The file name of a column's picture.
fn file(column: &str) -> String {
    format!("{}.png", column.replace([' ', '/'], "-"))
}

/// Compares, for the recipe that was read from `path`.
pub fn main(console: &Console, options: &Options, path: &Path, mut recipe: Recipe) -> Result<bool> {
    let at = settle(path, &mut recipe)?;
    let runs = densities(&recipe, &options.densities)?;
    let job = console.read(recipe.clone())?;
    let window = job.window();
    if window.width.min(window.height) < SIDE_MIN as u32 {
        return Err(Error::param(format!(
            "a map of {} x {} cells is too small for --quality, which needs {SIDE_MIN} x \
             {SIDE_MIN} or more",
            window.width, window.height
        )));
    }
    let mut files = Files::default();
    if let Some(folder) = &options.output {
        let columns =
            ["input", "classic"].into_iter().chain(runs.iter().map(|(name, _)| name.as_str()));
        let others = ["sheet.png", "report.json", "report.md"].map(String::from);
        let paths: Vec<PathBuf> =
            columns.map(file).chain(others).map(|name| folder.join(name)).collect();
        refuse(&paths, console.options.force)?;
        files.make_folder(folder)?;
        files.probe(folder)?;
    }

    let (columns, device) = columns(console, &job, at, &runs)?;
    let settings = &recipe.stages[at].settings;
    let (shared, alone): (Vec<_>, Vec<_>) =
        settings.iter().partition(|(name, _)| SHARED.contains(name));
    let [shared, alone] = [shared, alone]
        .map(|l| l.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", "));
    let head = title(&job);
    let maps: Vec<Value> = columns
        .iter()
        .map(|c| json!({ "name": c.name, "rain": c.rain, "figures": c.figures }))
        .collect();
    let mut report = json!({
        "recipe": recipe.describe(), "width": window.width, "height": window.height,
        "spacing_m": job.scale().spacing_m,
        "in_both": shared, "in_droplets_alone": alone, "maps": maps,
    });
    let mut stored: Vec<Stored> = vec![];
    if let Some(folder) = &options.output {
        stored = pictures(console, &columns, recipe.output.sea_level_m, folder, &mut files)?;
        let path = folder.join("report.json");
        let text =
            serde_json::to_string_pretty(&report).map_err(|e| Error::output(&path, e.into()))?;
        stored.push(files.write(&path, format!("{text}\n").as_bytes())?);
        stored.push(
            files.write(
                &folder.join("report.md"),
                page(&head, &shared, &alone, &columns).as_bytes(),
            )?,
        );
    }
    files.keep();
    console.result(
        || {
            report["device"] = json!(device);
            report["files"] = files_json(&stored);
            report
        },
        || format!("{head}\n{device}\n{}{}", table(&columns, false), files_text(&stored)),
    )?;
    Ok(true)
}

/// Cuts the recipe off after its first droplets stage. Returns that stage's index.
fn settle(path: &Path, recipe: &mut Recipe) -> Result<usize> {
    let Some(at) = recipe.stages.iter().position(|s| s.stage.name == droplets::STAGE.name) else {
        return Err(Error::param(format!(
            "{}: the recipe has no droplets stage, which --quality needs; add [[stage]] with kind \
             = \"droplets\"",
            path.display()
        )));
    };
    recipe.output.maps = vec!["height".into()];
    recipe.stages.truncate(at + 1);
    Ok(at)
}

/// Runs another recipe with the inputs of a job. Returns its heights, the rain of its last stage,
/// and the name of the executor.
fn made(console: &Console, job: &Job, recipe: &Recipe) -> Result<(Map, Option<f64>, String)> {
    let job = job.with_recipe(recipe.clone())?;
    let outcome = console.watch(&job, |watch| job.run(watch))?;
    let rain = outcome.stages.last().and_then(|s| s.derived["rain"].as_f64());
    Ok((outcome.map("height")?, rain, outcome.device))
}

/// Makes and measures every map. Also returns the name of the executor.
fn columns(
    console: &Console,
    job: &Job,
    at: usize,
    runs: &[(String, Recipe)],
) -> Result<(Vec<Column>, String)> {
    let recipe = job.recipe();
    let start = match job.input() {
        Some(map) if at == 0 => map,
        _ => {
            let mut before = recipe.clone();
            before.stages.truncate(at);
            made(console, job, &before)?.0
        }
    };
    let spacing_m = job.scale().spacing_m;
    let cells =
        |map: &Map| -> Vec<f64> { map.data.iter().map(|&m| m as f64 / spacing_m).collect() };
    let ground = cells(&start);
    let column = |name: &str, map: Map, rain: Option<f64>| -> Result<Column> {
        console.check()?;
        let after = cells(&map);
        let grid = |heights| Grid::new(heights, map.width as usize, map.height as usize);
        let (ground, after) = (grid(&ground)?, grid(&after)?);
        let mut figures = Object::new();
        for part in
            [json!(rain.map(|_| change(ground, after)).transpose()?), json!(statistics(after)?)]
        {
            figures.extend(
                part.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())),
            );
        }
        console.note(format!("{name}: measured"));
        Ok(Column { name: name.into(), rain, map, figures })
    };

    let settings = &recipe.stages[at].settings;
    let rain = settings.number("rain");
    let seed = job.schedule().site(at).world.seed;
    let heights = sequential(console, settings, seed, &ground, job.window().width as usize)?;
    let data = heights.iter().map(|&h| (h as f64 * spacing_m) as f32).collect();
    let classic = column("classic", Map { data, ..start.clone() }, Some(rain))?;
    let mut columns = vec![column("input", start, None)?, classic];
    let mut device = String::new();
    for (name, run) in runs {
        let (map, fell, by) = made(console, job, run)?;
        device = by;
        columns.push(column(name, map, fell)?);
    }
    Ok((columns, device))
}

/// Writes the pictures of all maps, with the first map's colour scale, and the contact sheet.
fn pictures(
    console: &Console,
    columns: &[Column],
    sea_level_m: Option<f64>,
    folder: &Path,
    files: &mut Files,
) -> Result<Vec<Stored>> {
    let (lowest, highest) = columns[0].map.min_max();
    let style =
        Style { range_m: Some((lowest.into(), highest.into())), sea_level_m, ..Style::default() };
    let pictures: Vec<RgbImage> = columns.iter().map(|c| shaded(&c.map, &style)).collect();
    let sheet = sheet(&pictures);
    let mut stored = vec![];
    for (column, picture) in columns.iter().zip(pictures) {
        console.check()?;
        stored.push(files.write(&folder.join(file(&column.name)), &encode_picture(picture)?)?);
    }
    stored.push(files.write(&folder.join("sheet.png"), &encode_picture(sheet)?)?);
    Ok(stored)
}

/// The recipe at each density, with the name of its column. A density that differs by level comes
/// first, as it is.
fn densities(recipe: &Recipe, densities: &[f64]) -> Result<Vec<(String, Recipe)>> {
    let last = recipe.stages.len() - 1;
    let mut runs: Vec<(String, Recipe)> = vec![];
    if recipe.stages[last].by_level.iter().any(|(name, _)| name == "density") {
        runs.push(("density by level".into(), recipe.clone()));
    }
    for &density in densities {
        let wrong = |e: Error| Error::param(format!("--densities: {e}"));
        let mut run = recipe.clone();
        let step = &mut run.stages[last];
        step.set("density", &params::Value::Number(density)).map_err(wrong)?;
        run.check().map_err(wrong)?;
        let block = Walk::of(&run.stages[last].settings, 1).block;
        let name =
            if block == 1 { "density 1".into() } else { format!("density 1/{}", block * block) };
        if runs.iter().any(|(n, _)| *n == name) {
            return Err(Error::param(format!(
                "--densities: two of them round to {name}; give each once"
            )));
        }
        runs.push((name, run));
    }
    Ok(runs)
}

/// What the sequential algorithm makes of the ground, with the settings that both share.
fn sequential(
    console: &Console,
    s: &Settings,
    seed: u64,
    ground: &[f64],
    width: usize,
) -> Result<Vec<f32>> {
    let count = (s.number("rain") * ground.len() as f64).round() as u64;
    let settings = Droplets { count, seed, ..Droplets::with(s) };
    let mut heights: Vec<f32> = ground.iter().map(|&h| h as f32).collect();
    let depth = heights.len() / width;
    erode_inside(&mut heights, width, depth, &settings, None, || console.check())?;
    if heights.iter().any(|h| !h.is_finite()) {
        return Err(Error::param(
            "the sequential algorithm diverges with these settings, so there is nothing to \
             compare; lower erosion or capacity",
        ));
    }
    Ok(heights)
}

/// A figure with four significant digits; a dash for `None`.
fn number(v: Option<f64>) -> String {
    match v {
        None => "–".into(),
        Some(0.0) => "0".into(),
        Some(v) if v.abs() < 1e-3 => format!("{v:.2e}"),
        // As many digits behind the point as leave four in all.
        Some(v) => format!("{v:.*}", (3 - v.abs().log10().floor() as i32).clamp(0, 5) as usize),
    }
}

/// All figures side by side, as aligned text or as Markdown.
fn table(columns: &[Column], markdown: bool) -> String {
    let mut names: Vec<&String> = vec![];
    for name in columns.iter().flat_map(|c| {
        c.figures.iter().filter(|(_, v)| v.is_number() || v.is_null()).map(|(k, _)| k)
    }) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let line = |head: &str, of: &dyn Fn(&Column) -> String| -> Vec<String> {
        std::iter::once(head.into()).chain(columns.iter().map(of)).collect()
    };
    let mut lines = vec![line("", &|c| c.name.clone()), line("rain", &|c| number(c.rain))];
    lines.extend(
        names
            .iter()
            .map(|name| line(name, &|c| number(c.figures.get(*name).and_then(Value::as_f64)))),
    );
    let streams = |c: &Column| {
        let orders = c.figures["orders"].as_array().into_iter().flatten();
        orders.map(|o| o["streams"].to_string()).collect::<Vec<_>>().join(" ")
    };
    lines.push(line("streams by order", &streams));
    if markdown {
        lines.insert(1, line("---", &|_| "---:".into()));
        return lines.iter().map(|l| format!("| {} |\n", l.join(" | "))).collect();
    }
    let wide = lines.iter().flat_map(|l| &l[1..]).map(|v| v.chars().count()).max().unwrap_or(0) + 2;
    lines
        .iter()
        .map(|l| {
            format!(
                "{:<22}{}\n",
                l[0],
                l[1..].iter().map(|v| format!("{v:>wide$}")).collect::<String>()
            )
        })
        .collect()
}

/// The report as Markdown.
fn page(head: &str, shared: &str, alone: &str, columns: &[Column]) -> String {
    let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
    format!(
        "# {head}\n\nSettings of both algorithms: {shared}.\n\n\
         The droplets stage alone has {alone}, and its droplets fade in the last quarter \
         of their lives. In classic, the border is put back after every {HELD} drops, radius + 1 \
         cells wide, and the radius is \
         rounded to a whole number.\n\n![{0}](sheet.png)\n\n\
         From left to right: {0}. Top: the whole map. Bottom: its centre, \
         one pixel per cell.\n\n{1}",
        names.join(", "),
        table(columns, true)
    )
}

/// All pictures in a row: each one reduced, and below it its centre at full size.
fn sheet(pictures: &[RgbImage]) -> RgbImage {
    let (w, h) = pictures[0].dimensions();
    let by = w.max(h).div_ceil(TILE);
    let (small, detail) = ((w / by, h / by), (w.min(TILE), h.min(TILE)));
    let column = small.0.max(detail.0) + GAP;
    let (width, height) = (pictures.len() as u32 * column - GAP, small.1 + GAP + detail.1);
    let mut sheet = RgbImage::from_pixel(width, height, Rgb([255; 3]));
    for (picture, k) in pictures.iter().zip(0u32..) {
        let left = i64::from(k * column);
        imageops::replace(&mut sheet, &imageops::thumbnail(picture, small.0, small.1), left, 0);
        let centre =
            imageops::crop_imm(picture, (w - detail.0) / 2, (h - detail.1) / 2, detail.0, detail.1);
        imageops::replace(&mut sheet, &*centre, left, i64::from(small.1 + GAP));
    }
    sheet
}
