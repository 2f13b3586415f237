//! Talle's series of images: an island under 0, 35 000, 50 000 and 100 000 snowballs.

use super::common::{seconds, settings};
use super::measure::{Bench, Law, Line, Report, density, line_text};
use super::store;
use clap::ValueEnum;
use std::path::Path;
use std::time::Instant;
use thalweg::Result;
use thalweg::arith::CELL;
use thalweg::classic::snowballs::{self as classic, Snowballs, Splat};
use thalweg::exec::Executor;
use thalweg::image::{RgbImage, imageops};
use thalweg::map::Map;
use thalweg::params::Value;
use thalweg::render::{Style, shaded};
use thalweg::site::{Site, Window};
use thalweg::stage::{Stage, blur, island, snowballs};

/// How the loop shares a change of height among four vertices.
#[derive(Clone, Copy, Default, ValueEnum)]
pub enum Share {
    /// The nearer a vertex, the more it gets
    #[default]
    Bilinear,
    /// As in Talle's program: each vertex gets the share of the opposite one
    Published,
}

/// The published map; a cell is 10 m.
const ISLAND: Window = Window { origin: [0, 0], width: 251, height: 501 };
const SPACING_M: f64 = 10.0;
/// A seed whose island shows most of what the article describes.
const SEED: u64 = 6;
/// The article's time for each of its images: within half a second.
const IMAGE_MS: f64 = 500.0;

/// Measures the article's series of images. Each image is an island that is made, eroded and
/// blurred.
///
/// The stage's snowballs are of all ages when a run starts, so each has two or more lives here:
/// with fewer, too few lives would be whole.
pub fn table(
    bench: &Bench,
    executors: &mut [&mut dyn Executor],
    picture: Option<&Path>,
    share: Share,
) -> Result<Report> {
    let s = settings(&island::STAGE, &[])?;
    let site = Site::bare(ISLAND, SPACING_M, SEED);
    let floor = site.height_of(s.number("base_m"));
    let (width, depth) = (ISLAND.width as usize, ISLAND.height as usize);
    let run =
        |executor: &mut dyn Executor, stage: &Stage, values: &[(&str, Value)]| -> Result<()> {
            let plan = (stage.plan)(&settings(stage, values)?, &site);
            executor.admits(&plan)?;
            executor.begin(&plan)?;
            seconds(executor, &plan, 0..plan.passes.len())?;
            executor.end(&plan);
            Ok(())
        };
    let cells = |words: Vec<i32>| {
        words.into_iter().map(|w| (w - floor) as f64 / CELL as f64).collect::<Vec<f64>>()
    };
    let mut lines = vec![];
    let (splat, loop_name) = match share {
        Share::Bilinear => (Splat::Bilinear, "classic, 1 thread"),
        Share::Published => (Splat::Published, "classic, published splat"),
    };
    // The images of the loop, then those of each executor.
    let mut images = vec![vec![]; 1 + executors.len()];
    for count in [0, 35_000, 50_000, 100_000] {
        let mut image = vec![];
        let mut columns = vec![bench.measure(loop_name, IMAGE_MS, || {
            let begun = Instant::now();
            run(executors[0], &island::STAGE, &[])?;
            image = cells(executors[0].read("height")?);
            let p = Snowballs { count, seed: SEED, splat, ..Snowballs::published() };
            let report = classic::erode(&mut image, width, depth, &p, None);
            if count > 0 {
                classic::blur(&mut image, width, depth);
            }
            Ok((begun.elapsed().as_secs_f64(), count, report.steps))
        })?];
        images[0].push(std::mem::take(&mut image));
        for (executor, images) in executors.iter_mut().zip(&mut images[1..]) {
            let (block, lives) = density(count.max(1), [ISLAND.width, ISLAND.height], 2);
            let density = 1.0 / (block * block) as f64;
            let values = [
                ("density", Value::Number(density)),
                ("rain", Value::Number(lives as f64 * density)),
            ];
            let balls = &snowballs::STAGE;
            let fallen = (balls.summary)(&settings(balls, &values)?, &site)["droplets"]
                .as_u64()
                .unwrap_or(0)
                * lives;
            let name = executor.name();
            columns.push(bench.measure(&name, IMAGE_MS, || {
                let begun = Instant::now();
                run(&mut **executor, &island::STAGE, &[])?;
                if count > 0 {
                    run(&mut **executor, balls, &values)?;
                    run(&mut **executor, &blur::STAGE, &[])?;
                }
                let words = executor.read("height")?;
                let seconds = begun.elapsed().as_secs_f64();
                image = cells(words);
                let flow = if count > 0 { executor.read("flow")? } else { vec![] };
                Ok((
                    seconds,
                    if count > 0 { fallen } else { 0 },
                    flow.iter().map(|&w| w as u32 as u64).sum(),
                ))
            })?);
            images.push(std::mem::take(&mut image));
        }
        lines.push(Line { sweep: "snowballs", value: count, article_ms: IMAGE_MS, cells: columns });
        bench.note(line_text(&lines[lines.len() - 1]));
    }
    if let Some(path) = picture {
        store(path, sheet([&images[0], &images[images.len() - 1]], s.number("base_m")))?;
    }
    let laws = laws(&lines, &images, -s.number("base_m") / SPACING_M);
    Ok(Report { lines, laws })
}

/// What the article says of its series of images: what the snowballs carve, and how long it takes.
/// The article has pictures and no figures except the time, so the criteria are ours. `sea` is the
/// level of the sea over its floor, in cells.
fn laws(lines: &[Line], images: &[Vec<Vec<f64>>], sea: f64) -> Vec<Law> {
    let mut laws = vec![];
    for (column, images) in images.iter().enumerate() {
        let executor = &lines[0].cells[column].executor;
        let start = &images[0];
        let land: Vec<usize> = (0..start.len()).filter(|&i| start[i] > sea).collect();
        let carved: Vec<f64> =
            images.iter().map(|image| roughness(&land, |i| image[i] - start[i])).collect();
        let teeth: Vec<usize> = images.iter().map(|image| teeth(image, sea)).collect();
        let mut law = |law, criterion, figure: f64, holds: bool| {
            laws.push(Law {
                sweep: "snowballs",
                law,
                criterion,
                executor: executor.clone(),
                figure,
                holds,
            })
        };
        let valleys = carved[1] / roughness(&land, |i| start[i]);
        law(
            "35 000 carve valleys",
            "what they change is as rough as a fifth of the land was",
            valleys,
            valleys >= 0.2,
        );
        let same = likeness(start, &images[1], &images[2]);
        law(
            "50 000 add no new features",
            "what both change is alike, by a correlation of 0.9",
            same,
            same >= 0.9,
        );
        let clearer = carved[2] / carved[1];
        law(
            "but they are more pronounced",
            "what they change is rougher than under 35 000",
            clearer,
            clearer > 1.0,
        );
        let deeper = carved[3] / carved[2];
        law(
            "100 000 are too many: deep ridges",
            "what they change is rougher by a quarter than under 50 000",
            deeper,
            deeper >= 1.25,
        );
        let ragged = teeth[3] as f64 / teeth[2].max(1) as f64;
        law(
            "and a ragged coast",
            "half as many teeth again as under 50 000",
            ragged,
            ragged >= 1.5,
        );
        let slowest = lines.iter().map(|line| line.cells[column].mean_ms).fold(0.0, f64::max);
        law(
            "an image takes half a second",
            "the slowest, in milliseconds: up to 500",
            slowest,
            slowest <= IMAGE_MS,
        );
    }
    laws
}

/// The mean, over the cells of the land, of the distance of a value from the mean of the four
/// values 4 cells away along the axes.
fn roughness(land: &[usize], value: impl Fn(usize) -> f64) -> f64 {
    const FAR: usize = 4;
    let (width, depth) = (ISLAND.width as usize, ISLAND.height as usize);
    let within = |at: usize, side: usize| (FAR..side - FAR).contains(&at);
    let inner =
        || land.iter().copied().filter(|i| within(i % width, width) && within(i / width, depth));
    let around = |i: usize| {
        [i - FAR, i + FAR, i - FAR * width, i + FAR * width].map(&value).iter().sum::<f64>() / 4.0
    };
    inner().map(|i| (value(i) - around(i)).abs()).sum::<f64>() / inner().count().max(1) as f64
}

/// How ragged the coast is: the number of land cells with mostly sea in the 5 × 5 cells around
/// them, and of sea cells with mostly land.
fn teeth(image: &[f64], sea: f64) -> usize {
    let (width, depth) = (ISLAND.width as usize, ISLAND.height as usize);
    let land = |x: usize, y: usize| image[y * width + x] > sea;
    let alike = |x: usize, y: usize| {
        let near = (y - 2..=y + 2).flat_map(|j| (x - 2..=x + 2).map(move |i| (i, j)));
        near.filter(|&(i, j)| land(i, j) == land(x, y)).count()
    };
    (2..depth - 2)
        .flat_map(|y| (2..width - 2).map(move |x| (x, y)))
        .filter(|&(x, y)| alike(x, y) <= 12)
        .count()
}

/// The correlation between the changes that two runs made.
fn likeness(start: &[f64], a: &[f64], b: &[f64]) -> f64 {
    let changes =
        || start.iter().zip(a.iter().zip(b)).map(|(start, (a, b))| (a - start, b - start));
    let n = start.len() as f64;
    let (mean_a, mean_b) = changes().fold((0.0, 0.0), |(s, t), (a, b)| (s + a / n, t + b / n));
    let sum =
        |f: fn(f64, f64) -> f64| changes().map(|(a, b)| f(a - mean_a, b - mean_b)).sum::<f64>();
    sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt()
}

/// The islands side by side with one colour scale, one row for each set.
fn sheet(sets: [&Vec<Vec<f64>>; 2], base_m: f64) -> RgbImage {
    let map = |heights: &Vec<f64>| Map {
        width: ISLAND.width,
        height: ISLAND.height,
        spacing_m: SPACING_M,
        data: heights.iter().map(|h| (h * SPACING_M + base_m) as f32).collect(),
        range_m: None,
        georef: None,
    };
    let (low, high) = map(&sets[0][0]).min_max();
    let style = Style {
        range_m: Some((low as f64, high as f64)),
        sea_level_m: Some(0.0),
        ..Style::default()
    };
    let mut sheet =
        RgbImage::new(ISLAND.width * sets[0].len() as u32, ISLAND.height * sets.len() as u32);
    for (set, y) in sets.into_iter().zip(0..) {
        for (heights, x) in set.iter().zip(0..) {
            let picture = shaded(&map(heights), &style);
            imageops::replace(
                &mut sheet,
                &picture,
                x * i64::from(ISLAND.width),
                y * i64::from(ISLAND.height),
            );
        }
    }
    sheet
}
