//! `thalweg bench --table`: the tables that the articles print, measured again beside the articles' figures.

use super::bench::{Bench, settings, terrain};
use super::bench_biomes;
use super::files::{Files, refuse};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg::classic::droplets::{self as classic_droplets, Droplets};
use thalweg::classic::snowballs::{self as classic_snowballs, Snowballs};
use thalweg::exec::Executor;
use thalweg::io::{Picture, encode_picture};
use thalweg::map::Map;
use thalweg::params::Value;
use thalweg::plan::Plan;
use thalweg::render::{Style, shaded};
use thalweg::site::{Site, Window};
use thalweg::spec::CELL;
use thalweg::stage::{Stage, blur, droplets, island, snowballs as balls};
use thalweg::{Error, Result};

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Table {
    /// 0, 35 000, 50 000 and 100 000 snowballs on an island of 251 x 501 samples, after Talle
    #[value(alias = "seed000")]
    Snowballs,
    /// Sweeps of number, radius, lifetime and map size of droplets, after van der Veen
    #[value(alias = "seed002")]
    Droplets,
    /// Blending biomes by four methods, after K.jpg: nanoseconds a cell (seed003 names it, too)
    #[value(alias = "seed003")]
    Biomes,
}

/// How the loop over snowballs shares a change of height.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Splat {
    /// The nearer a vertex, the more it gets
    Bilinear,
    /// As Talle's program has it: each vertex gets the share of the one opposite
    Published,
}

/// Milliseconds of several runs, and the work of one.
#[derive(Clone, Serialize)]
struct Cell {
    executor: String,
    mean_ms: f64,
    min_ms: f64,
    max_ms: f64,
    /// Particles that were really let loose.
    particles: u64,
    /// Steps that they took.
    steps: u64,
    /// The article's milliseconds over ours, where there is anything to time.
    factor: Option<f64>,
    /// Milliseconds of the plan and of each kernel, in one more run that waits after every pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<(&'static str, f64)>,
}

/// A line of a table.
#[derive(Serialize)]
struct Line {
    sweep: &'static str,
    value: u64,
    article_ms: f64,
    cells: Vec<Cell>,
}

/// A law that an article states, and whether an executor's column obeys.
#[derive(Serialize)]
struct Law {
    sweep: &'static str,
    law: &'static str,
    criterion: &'static str,
    executor: String,
    figure: f64,
    holds: bool,
}

/// Measures a table. `picture`: where to draw the islands of the table of snowballs, or the figures of biomes.
pub fn main(
    bench: &Bench,
    table: Table,
    executors: &mut [&mut dyn Executor],
    quick: bool,
    picture: Option<&Path>,
    splat: Option<Splat>,
) -> Result<bool> {
    if picture.is_some() && table == Table::Droplets {
        return Err(Error::Param("--picture: only --table snowballs and --table biomes have one".into()));
    }
    if splat.is_some() && table != Table::Snowballs {
        return Err(Error::Param("--splat: only --table snowballs has one".into()));
    }
    let (lines, laws) = match table {
        Table::Biomes => return bench_biomes::main(bench, executors, quick, picture),
        Table::Snowballs => snowballs(bench, executors, picture, splat.unwrap_or(Splat::Bilinear))?,
        Table::Droplets => {
            let lines = sweeps(bench, executors, quick)?;
            let laws = laws(&lines);
            (lines, laws)
        }
    };
    let names: Vec<String> = executors.iter().map(|e| e.name()).collect();
    bench.console.result(
        || json!({ "devices": names, "rounds": bench.rounds, "lines": lines, "laws": laws }),
        || {
            let mut text: Vec<String> = names.clone();
            text.extend(lines.iter().map(line_text));
            text.extend(laws.iter().map(law_text));
            text.join("\n") + "\n"
        },
    )?;
    Ok(true)
}

fn line_text(line: &Line) -> String {
    let cells = line.cells.iter().map(|c| {
        let Cell { executor, mean_ms, min_ms, max_ms, particles, steps, factor, parts } = c;
        let executor = executor.split(" (").next().unwrap_or_default();
        let millions = *steps as f64 / 1e6;
        let parts: Vec<_> = parts.iter().map(|(name, ms)| format!("{name} {ms:.2}")).collect();
        let parts = if parts.is_empty() { String::new() } else { format!("  [{}]", parts.join(", ")) };
        let factor = factor.map_or("-".into(), |factor| format!("{factor:.1} x"));
        format!(
            "    {executor:<24} {mean_ms:>9.2} ms ({min_ms:.2} to {max_ms:.2})  {factor:>8}  {particles} particles, {millions:.2} M steps{parts}"
        )
    });
    let head = format!("{} {}: {} ms in the article", line.sweep, line.value, line.article_ms);
    std::iter::once(head).chain(cells).collect::<Vec<_>>().join("\n")
}

fn law_text(law: &Law) -> String {
    let Law { sweep, law, criterion, executor, figure, holds } = law;
    let executor = executor.split(" (").next().unwrap_or_default();
    format!("{sweep}: {law} ({criterion}): {executor}: {figure:.2}, {}", if *holds { "holds" } else { "does not hold" })
}

/// Times `rounds` runs, each of which says how many particles took how many steps.
fn measure(bench: &Bench, executor: &str, article_ms: f64, mut run: impl FnMut() -> Result<(f64, u64, u64)>) -> Result<Cell> {
    let mut ms = vec![];
    let (mut particles, mut steps) = (0, 0);
    for _ in 0..bench.rounds {
        bench.console.check()?;
        let seconds;
        (seconds, particles, steps) = run()?;
        ms.push(seconds * 1e3);
    }
    let mean_ms = ms.iter().sum::<f64>() / ms.len() as f64;
    let (min_ms, max_ms) = ms.iter().fold((f64::MAX, 0f64), |(lo, hi), &v| (lo.min(v), hi.max(v)));
    let factor = (particles > 0).then_some(article_ms / mean_ms);
    Ok(Cell { executor: executor.into(), mean_ms, min_ms, max_ms, particles, steps, factor, parts: vec![] })
}

/// A row of the article's droplets: sweep, value, milliseconds.
const ARTICLE: [(&str, u64, f64); 19] = [
    ("particles", 1000, 17.37),
    ("particles", 5000, 78.62),
    ("particles", 10_000, 156.45),
    ("particles", 50_000, 791.43),
    ("particles", 100_000, 1774.60),
    ("radius", 5, 176.62),
    ("radius", 10, 240.02),
    ("radius", 15, 336.76),
    ("radius", 20, 470.00),
    ("lifetime", 100, 36.04),
    ("lifetime", 500, 139.37),
    ("lifetime", 1000, 228.54),
    ("lifetime", 1500, 325.33),
    ("lifetime", 2000, 417.68),
    ("lifetime", 6000, 448.52),
    ("map", 100, 79.61),
    ("map", 200, 93.98),
    ("map", 400, 91.79),
    ("map", 1000, 130.20),
];

/// The four sweeps. Whatever a sweep does not change has the article's default, but for the 10 000 droplets of the radius.
fn sweeps(bench: &Bench, executors: &mut [&mut dyn Executor], quick: bool) -> Result<Vec<Line>> {
    let mut lines: Vec<Line> = vec![];
    for (sweep, value, article_ms) in ARTICLE {
        if quick && lines.iter().filter(|l| l.sweep == sweep).count() == 2 {
            continue;
        }
        let defaults = Droplets::default();
        let (mut count, mut side, mut radius, mut lifetime) = (defaults.count, 100u32, defaults.radius, defaults.lifetime);
        match sweep {
            "particles" => count = value,
            "radius" => (count, radius) = (10_000, value as u32),
            "lifetime" => lifetime = value as u32,
            _ => side = value as u32,
        }
        let start = terrain(bench, executors[0], side)?;
        let p = Droplets { count, radius, lifetime, ..defaults };
        let heights: Vec<f32> = start.iter().map(|&w| w as f32 / CELL as f32).collect();
        let mut cells = vec![measure(bench, "classic, 1 thread", article_ms, || {
            let mut heights = heights.clone();
            let begun = Instant::now();
            let report = classic_droplets::erode(&mut heights, side as usize, side as usize, &p, None);
            Ok((begun.elapsed().as_secs_f64(), count, report.steps))
        })?];
        for executor in executors.iter_mut() {
            cells.push(together(bench, &mut **executor, article_ms, side, &start, &p)?);
        }
        lines.push(Line { sweep, value, article_ms, cells });
        bench.console.note(line_text(&lines[lines.len() - 1]));
    }
    Ok(lines)
}

/// Side of a home block and lives of each particle for `count` particles on a map of so many cells by axis.
///
/// A stage has one particle for b × b cells, and each has a whole number of lives, `least` or more. Of the pairs that come to
/// 95 to 130 % of `count` that with fewest lives is taken, since each costs `lifetime` steps; else the nearest.
fn density(count: u64, sides: [u32; 2], least: u64) -> (u32, u64) {
    let all = (1..=16).flat_map(|b| {
        let homes: u64 = sides.iter().map(|s| s.div_ceil(b) as u64).product();
        let most = (count / homes + 1).max(least);
        [(most - 1).max(least), most].map(|lives| (b, lives, (homes * lives) as f64 / count as f64))
    });
    let off = |c: &(u32, u64, f64)| (c.2 - 1.0).abs();
    let near = all.clone().filter(|c| (0.95..=1.3).contains(&c.2));
    let best = near.min_by(|a, b| a.1.cmp(&b.1).then(off(a).total_cmp(&off(b))));
    let (b, lives, _) = best.or_else(|| all.min_by(|a, b| off(a).total_cmp(&off(b)))).unwrap_or((1, 1, 1.0));
    (b, lives)
}

/// The droplets stage with the settings of the loop: from the settings to the last pass, and the heights read back.
fn together(bench: &Bench, executor: &mut dyn Executor, article_ms: f64, side: u32, start: &[i32], p: &Droplets) -> Result<Cell> {
    let (block, lives) = density(p.count, [side, side], 1);
    let density = 1.0 / (block * block) as f64;
    let number = |v: f32| Value::Number(v as f64);
    let stage = &droplets::STAGE;
    let values = [
        ("density", Value::Number(density)),
        ("rain", Value::Number(lives as f64 * density)),
        ("lifetime", Value::Integer(p.lifetime as i64)),
        ("inertia", number(p.inertia)),
        ("slope_min", number(p.min_slope)),
        ("capacity", number(p.capacity)),
        ("deposition", number(p.deposition_rate)),
        ("erosion", number(p.erosion_rate)),
        ("gravity", number(p.gravity)),
        ("evaporation", number(p.evaporation_rate)),
        ("radius", Value::Number(p.radius as f64)),
    ];
    let s = settings(stage, &values)?;
    let site = Site::bare(Window { origin: [side as i64, side as i64], width: side, height: side }, 20.0, 8);
    (stage.check)(&s, &site).map_err(Error::Param)?;
    let droplets = (stage.summary)(&s, &site)["droplets"].as_u64().unwrap_or(0) * lives;
    let name = executor.name();
    let mut cell = measure(bench, &name, article_ms, || {
        let begun = Instant::now();
        executor.write("height", start)?;
        let plan = (stage.plan)(&s, &site);
        executor.admits(&plan)?;
        executor.begin(&plan)?;
        bench.run(executor, &plan, 0..plan.passes.len())?;
        executor.end(&plan);
        std::hint::black_box(executor.read("height")?);
        let seconds = begun.elapsed().as_secs_f64();
        let steps = executor.read("flow")?.iter().map(|&w| w as u32 as u64).sum();
        Ok((seconds, droplets, steps))
    })?;
    cell.parts = parts(bench, executor, start, || (stage.plan)(&s, &site))?;
    Ok(cell)
}

/// Where the time of a run goes.
fn parts(bench: &Bench, executor: &mut dyn Executor, start: &[i32], plan: impl Fn() -> Plan) -> Result<Vec<(&'static str, f64)>> {
    let begun = Instant::now();
    let plan = plan();
    let mut parts = vec![("plan", begun.elapsed().as_secs_f64() * 1e3)];
    executor.write("height", start)?;
    executor.begin(&plan)?;
    for (i, pass) in plan.passes.iter().enumerate() {
        let ms = bench.run(executor, &plan, i..i + 1)? * 1e3;
        match parts.iter_mut().find(|(name, _)| *name == pass.kernel.entry) {
            Some((_, sum)) => *sum += ms,
            None => parts.push((pass.kernel.entry, ms)),
        }
    }
    executor.end(&plan);
    Ok(parts)
}

/// What the article says of its sweeps, with criteria that its own figures meet.
fn laws(lines: &[Line]) -> Vec<Law> {
    let mut laws = vec![];
    let columns = lines.first().map_or(0, |l| l.cells.len());
    for column in 0..columns {
        let executor = &lines[0].cells[column].executor;
        let of = |sweep: &str| -> Vec<(f64, f64)> {
            let lines = lines.iter().filter(|l| l.sweep == sweep);
            lines.map(|l| (l.value as f64, l.cells[column].mean_ms)).collect()
        };
        let mut law = |sweep, law, criterion, figure: f64, holds: bool| {
            laws.push(Law { sweep, law, criterion, executor: executor.clone(), figure, holds })
        };
        let power = exponent(&of("particles"));
        law("particles", "linear", "time grows with a power of 0.85 to 1.15", power, (0.85..=1.15).contains(&power));
        let radius = of("radius");
        let power = exponent(&radius);
        let convex = radius.windows(3).all(|w| w[2].1 - w[1].1 > w[1].1 - w[0].1);
        law(
            "radius",
            "nearly quadratic, but damped",
            "each 5 cells cost more than the 5 before, with a power below 2",
            power,
            convex && power > 0.0 && power < 2.0,
        );
        let lifetime = of("lifetime");
        let power = exponent(&lifetime[lifetime.len().saturating_sub(2)..]);
        law("lifetime", "saturates", "over the last two values time grows with a power below 0.5", power, power < 0.5);
        let cells: Vec<_> = of("map").iter().map(|(side, ms)| (side * side, *ms)).collect();
        let power = exponent(&cells);
        law("map", "nearly flat", "time grows with a power of the cells below 0.25", power, power < 0.25);
    }
    laws
}

/// The power of a power law through (value, time) by least squares on logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|p| (p.0.ln(), p.1.ln())).collect();
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (top, low) = logs.iter().fold((0.0, 0.0), |(t, l), p| (t + (p.0 - x) * (p.1 - y), l + (p.0 - x) * (p.0 - x)));
    top / low
}

/// The published map, at 10 m a cell.
const ISLAND: Window = Window { origin: [0, 0], width: 251, height: 501 };
const SPACING_M: f64 = 10.0;
/// An island that shows much of what can happen.
const SEED: u64 = 6;
/// What the article says of the time of each of its images: within half a second.
const IMAGE_MS: f64 = 500.0;

/// The article's series of images; each is an island made, eroded and blurred.
///
/// The stage's first lives are on their way when the run starts, so that it has two or more: only then are most of them whole.
fn snowballs(
    bench: &Bench,
    executors: &mut [&mut dyn Executor],
    picture: Option<&Path>,
    splat: Splat,
) -> Result<(Vec<Line>, Vec<Law>)> {
    if let Some(path) = picture {
        refuse(&[PathBuf::from(path)], bench.console.options.force)?;
    }
    let s = settings(&island::STAGE, &[])?;
    let site = Site::bare(ISLAND, SPACING_M, SEED);
    let floor = site.height_of(s.number("base_m"));
    let (width, depth) = (ISLAND.width as usize, ISLAND.height as usize);
    let run = |executor: &mut dyn Executor, stage: &Stage, values: &[(&str, Value)]| -> Result<()> {
        let plan = (stage.plan)(&settings(stage, values)?, &site);
        executor.admits(&plan)?;
        executor.begin(&plan)?;
        bench.run(executor, &plan, 0..plan.passes.len())?;
        executor.end(&plan);
        Ok(())
    };
    let cells = |words: Vec<i32>| words.into_iter().map(|w| (w - floor) as f64 / CELL as f64).collect::<Vec<f64>>();
    let mut lines = vec![];
    let (splat, loop_name) = match splat {
        Splat::Bilinear => (classic_snowballs::Splat::Bilinear, "classic, 1 thread"),
        Splat::Published => (classic_snowballs::Splat::Published, "classic, published splat"),
    };
    // Images of the loop, then of each executor.
    let mut images = vec![vec![]; 1 + executors.len()];
    for count in [0, 35_000, 50_000, 100_000] {
        let mut image = vec![];
        let mut columns = vec![measure(bench, loop_name, IMAGE_MS, || {
            let begun = Instant::now();
            run(executors[0], &island::STAGE, &[])?;
            image = cells(executors[0].read("height")?);
            let p = Snowballs { count, seed: SEED, splat, ..Snowballs::published() };
            let report = classic_snowballs::erode(&mut image, width, depth, &p, None);
            if count > 0 {
                classic_snowballs::blur(&mut image, width, depth);
            }
            Ok((begun.elapsed().as_secs_f64(), count, report.steps))
        })?];
        images[0].push(std::mem::take(&mut image));
        for (executor, images) in executors.iter_mut().zip(&mut images[1..]) {
            let (block, lives) = density(count.max(1), [ISLAND.width, ISLAND.height], 2);
            let density = 1.0 / (block * block) as f64;
            let values = [("density", Value::Number(density)), ("rain", Value::Number(lives as f64 * density))];
            let fallen =
                (balls::STAGE.summary)(&settings(&balls::STAGE, &values)?, &site)["droplets"].as_u64().unwrap_or(0) * lives;
            let name = executor.name();
            columns.push(measure(bench, &name, IMAGE_MS, || {
                let begun = Instant::now();
                run(&mut **executor, &island::STAGE, &[])?;
                if count > 0 {
                    run(&mut **executor, &balls::STAGE, &values)?;
                    run(&mut **executor, &blur::STAGE, &[])?;
                }
                let words = executor.read("height")?;
                let seconds = begun.elapsed().as_secs_f64();
                image = cells(words);
                let flow = if count > 0 { executor.read("flow")? } else { vec![] };
                Ok((seconds, if count > 0 { fallen } else { 0 }, flow.iter().map(|&w| w as u32 as u64).sum()))
            })?);
            images.push(std::mem::take(&mut image));
        }
        lines.push(Line { sweep: "snowballs", value: count, article_ms: IMAGE_MS, cells: columns });
        bench.console.note(line_text(&lines[lines.len() - 1]));
    }
    if let Some(path) = picture {
        let mut files = Files::default();
        files.probe(path.parent().unwrap_or(Path::new("")))?;
        files.write(path, &encode_picture(&sheet([&images[0], &images[images.len() - 1]], s.number("base_m")))?)?;
        files.keep();
    }
    let laws = series(&lines, &images, -s.number("base_m") / SPACING_M);
    Ok((lines, laws))
}

/// What the article says of its series of images: what the snowballs carve, and how long it takes. It has pictures and no figures but
/// the time, so that the criteria are ours. `sea`: in cells over the floor.
fn series(lines: &[Line], images: &[Vec<Vec<f64>>], sea: f64) -> Vec<Law> {
    let mut laws = vec![];
    for (column, images) in images.iter().enumerate() {
        let executor = &lines[0].cells[column].executor;
        let start = &images[0];
        let land: Vec<usize> = (0..start.len()).filter(|&i| start[i] > sea).collect();
        let carved: Vec<f64> = images.iter().map(|image| roughness(&land, |i| image[i] - start[i])).collect();
        let teeth: Vec<usize> = images.iter().map(|image| teeth(image, sea)).collect();
        let mut law = |law, criterion, figure: f64, holds: bool| {
            laws.push(Law { sweep: "snowballs", law, criterion, executor: executor.clone(), figure, holds })
        };
        let valleys = carved[1] / roughness(&land, |i| start[i]);
        law("35 000 carve valleys", "what they change is as rough as a fifth of the land was", valleys, valleys >= 0.2);
        let same = likeness(start, &images[1], &images[2]);
        law("50 000 add no new features", "what both change is alike, by a correlation of 0.9", same, same >= 0.9);
        let clearer = carved[2] / carved[1];
        law("but they are more pronounced", "what they change is rougher than under 35 000", clearer, clearer > 1.0);
        let deeper = carved[3] / carved[2];
        law(
            "100 000 are too many: deep ridges",
            "what they change is rougher by a quarter than under 50 000",
            deeper,
            deeper >= 1.25,
        );
        let ragged = teeth[3] as f64 / teeth[2].max(1) as f64;
        law("and a ragged coast", "half as many teeth again as under 50 000", ragged, ragged >= 1.5);
        let slowest = lines.iter().map(|line| line.cells[column].mean_ms).fold(0.0, f64::max);
        law("an image takes half a second", "the slowest, in milliseconds: up to 500", slowest, slowest <= IMAGE_MS);
    }
    laws
}

/// The mean, over the cells of the land, of how far a value is from the mean of those 4 cells away on either axis.
fn roughness(land: &[usize], value: impl Fn(usize) -> f64) -> f64 {
    const FAR: usize = 4;
    let (width, depth) = (ISLAND.width as usize, ISLAND.height as usize);
    let within = |at: usize, side: usize| (FAR..side - FAR).contains(&at);
    let inner = || land.iter().copied().filter(|i| within(i % width, width) && within(i / width, depth));
    let around = |i: usize| [i - FAR, i + FAR, i - FAR * width, i + FAR * width].map(&value).iter().sum::<f64>() / 4.0;
    inner().map(|i| (value(i) - around(i)).abs()).sum::<f64>() / inner().count().max(1) as f64
}

/// Teeth of the coast: cells of land with mostly sea in the 5 × 5 cells round them, and cells of sea with mostly land.
fn teeth(image: &[f64], sea: f64) -> usize {
    let (width, depth) = (ISLAND.width as usize, ISLAND.height as usize);
    let land = |x: usize, y: usize| image[y * width + x] > sea;
    let alike = |x: usize, y: usize| {
        let near = (y - 2..=y + 2).flat_map(|j| (x - 2..=x + 2).map(move |i| (i, j)));
        near.filter(|&(i, j)| land(i, j) == land(x, y)).count()
    };
    (2..depth - 2).flat_map(|y| (2..width - 2).map(move |x| (x, y))).filter(|&(x, y)| alike(x, y) <= 12).count()
}

/// The correlation of what two runs changed.
fn likeness(start: &[f64], a: &[f64], b: &[f64]) -> f64 {
    let changes = || start.iter().zip(a.iter().zip(b)).map(|(start, (a, b))| (a - start, b - start));
    let n = start.len() as f64;
    let (mean_a, mean_b) = changes().fold((0.0, 0.0), |(s, t), (a, b)| (s + a / n, t + b / n));
    let sum = |f: fn(f64, f64) -> f64| changes().map(|(a, b)| f(a - mean_a, b - mean_b)).sum::<f64>();
    sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt()
}

/// The islands side by side, in the same colours; a row for each set.
fn sheet(sets: [&Vec<Vec<f64>>; 2], base_m: f64) -> Picture {
    let map = |heights: &Vec<f64>| Map {
        width: ISLAND.width,
        height: ISLAND.height,
        spacing_m: SPACING_M,
        data: heights.iter().map(|h| (h * SPACING_M + base_m) as f32).collect(),
        range_m: None,
        georef: None,
    };
    let (low, high) = map(&sets[0][0]).min_max();
    let style = Style { range_m: Some((low as f64, high as f64)), sea_level_m: Some(0.0), ..Style::default() };
    let row = ISLAND.width as usize * 3;
    let mut data = vec![];
    for set in sets {
        let pictures: Vec<Picture> = set.iter().map(|heights| shaded(&map(heights), &style)).collect();
        for y in 0..ISLAND.height as usize {
            pictures.iter().for_each(|p| data.extend(&p.data[y * row..(y + 1) * row]));
        }
    }
    Picture { width: ISLAND.width * sets[0].len() as u32, height: ISLAND.height * sets.len() as u32, channels: 3, data }
}
