//! K.jpg's three tables of biome blending, and the article's figures.

use super::common::{seconds, settings};
use super::measure::{Bench, short};
use super::{probes, store};
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use thalweg::Job;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::image::{Rgb, RgbImage, imageops};
use thalweg::lattice::FARTHEST;
use thalweg::params::{Settings, Value};
use thalweg::plan::{Kernel, Pass, Plan};
use thalweg::recipe::{Recipe, assignment};
use thalweg::site::{Site, Window};
use thalweg::stage::biomes::STAGE;
use thalweg::{Error, Result};

const METHODS: [&str; 4] = ["full", "scattered", "convolved", "lerped"];
/// Interval of the grid, radius, and the article's nanoseconds for each method. Full resolution has
/// no interval.
type Row = (i64, f64, [Option<f64>; 4]);
/// The article's tables: side of a chunk, whether chunks with a single biome are skipped, rows. The
/// last two rows of the second table are from the article's text.
const ARTICLE: [(&str, bool, &[Row]); 3] = [
    (
        "16",
        false,
        &[
            (8, 24.0, [Some(6818.692), Some(305.745), Some(148.508), Some(23.895)]),
            (4, 24.0, [None, Some(1114.819), Some(463.857), Some(89.579)]),
            (8, 48.0, [Some(25049.832), Some(763.721), Some(442.121), Some(40.518)]),
            (4, 48.0, [None, Some(2904.640), Some(1624.995), Some(220.749)]),
        ],
    ),
    (
        "16",
        true,
        &[
            (8, 24.0, [Some(4851.143), Some(195.662), Some(97.646), Some(21.511)]),
            (4, 24.0, [None, Some(805.298), Some(329.614), Some(77.301)]),
            (8, 48.0, [Some(23136.046), Some(664.923), Some(397.046), Some(40.174)]),
            (4, 48.0, [None, Some(2662.248), Some(1499.852), Some(209.106)]),
            (2, 24.0, [None, None, None, Some(594.905)]),
            (2, 48.0, [None, None, None, Some(2025.882)]),
        ],
    ),
    (
        "32",
        true,
        &[
            (8, 24.0, [Some(5502.449), Some(235.809), Some(113.434), Some(21.378)]),
            (4, 24.0, [None, Some(989.238), Some(392.225), Some(73.194)]),
            (8, 48.0, [Some(24351.690), Some(768.681), Some(432.915), Some(34.134)]),
            (4, 48.0, [None, Some(2900.521), Some(1594.159), Some(173.820)]),
        ],
    ),
];
/// Side of the article's maps, and of one that is large enough for a graphics card.
const SIDES: [u32; 2] = [768, 4096];

/// A measurement that would take more minutes than this is left out.
const MINUTES_MAX: f64 = 5.0;

/// A measurement.
#[derive(Serialize)]
struct Cell {
    side: u32,
    chunk: &'static str,
    skip: bool,
    interval: i64,
    radius: f64,
    method: &'static str,
    executor: String,
    /// Nanoseconds per cell, from the settings to the weights: the median, the least and the most.
    ns: f64,
    min_ns: f64,
    max_ns: f64,
    /// Nanoseconds per cell of the passes alone.
    passes_ns: f64,
    article_ns: Option<f64>,
    /// Bytes per cell that the passes move: see [`moved`].
    bytes: f64,
    /// These bytes over the time of the passes.
    gb_per_s: f64,
    /// Bandwidth of a plain copy on the same executor.
    copy_gb_per_s: f64,
}

fn text(c: &Cell) -> String {
    let Cell {
        side,
        chunk,
        skip,
        interval,
        radius,
        method,
        ns,
        min_ns,
        max_ns,
        passes_ns,
        article_ns,
        bytes,
        gb_per_s,
        copy_gb_per_s,
        ..
    } = c;
    let executor = short(&c.executor);
    let factor = article_ns.map_or(String::new(), |a| format!("  article {a:.1}, {:.1} x", a / ns));
    let skip = if *skip { "skip" } else { "all" };
    format!(
        "{side} chunk {chunk} {skip:<4} interval {interval} radius {radius} {method:<9} \
         {executor:<16} {ns:>9.2} ns per cell ({min_ns:.2} to {max_ns:.2}), passes {passes_ns:.2}, \
         {bytes:.0} bytes per cell, {gb_per_s:.2} GB/s, {:.1} % of a copy{factor}",
        100.0 * gb_per_s / copy_gb_per_s
    )
}

/// The article's biomes with three octaves of noise, blended by one of the methods with the same
/// radius.
fn blend(method: &str, chunk: &str, skip: bool, interval: i64, radius: f64) -> Result<Settings> {
    let word = |w: &str| Value::Word(w.into());
    // As many points as the grid has, and the same radius, with a padding of at least 4 cells.
    let frequency = 0.7598356856515925 / interval as f64;
    let values = [
        ("method", word(method)),
        ("chunk_cells", word(chunk)),
        ("skip", Value::Switch(skip)),
        ("interval_cells", Value::Integer(interval)),
        ("radius_cells", Value::Number(radius)),
        ("frequency", Value::Number(frequency)),
        ("padding_cells", Value::Number((radius - FARTHEST / frequency).max(4.0))),
        ("octaves", Value::Integer(3)),
    ];
    settings(&STAGE, &values)
}

/// Bytes of the buffers that the kernels read and write, each counted once per kernel: what must
/// move if no kernel finds anything in a cache.
fn moved(plan: &Plan) -> u64 {
    let mut kernels: Vec<&Kernel> = vec![];
    let mut words = 0;
    for Pass { kernel, .. } in &plan.passes {
        if kernels.iter().any(|known| known.entry == kernel.entry) {
            continue;
        }
        // A buffer that an earlier kernel has written is read before it is written again.
        let changed = |name: &str| {
            kernels.iter().any(|known| known.owns.iter().any(|(owned, _)| *owned == name))
        };
        let size = |name: &str| plan.buffer(name).words as u64;
        words += kernel.reads.iter().map(|name| size(name)).sum::<u64>();
        words += kernel
            .owns
            .iter()
            .map(|(name, _)| size(name) * (1 + u64::from(changed(name))))
            .sum::<u64>();
        kernels.push(kernel);
    }
    words * 4
}

/// The plan from the settings to the weights.
fn weights(s: &Settings, site: &Site) -> Plan {
    let mut plan = (STAGE.plan)(s, site);
    let uses = plan
        .passes
        .iter()
        .position(|pass| pass.kernel.entry == "dominate")
        .unwrap_or(plan.passes.len());
    plan.passes.truncate(uses);
    plan
}

/// Seconds from the settings to the weights: of everything, and of the passes alone.
fn weigh(executor: &mut dyn Executor, s: &Settings, site: &Site) -> Result<[f64; 2]> {
    let begun = Instant::now();
    let plan = weights(s, site);
    executor.admits(&plan)?;
    executor.begin(&plan)?;
    let passes = seconds(executor, &plan, 0..plan.passes.len())?;
    executor.end(&plan);
    Ok([begun.elapsed().as_secs_f64(), passes])
}

/// The bandwidth of a plain copy, read and written, in GB/s: the median of the rounds.
fn copy_speed(bench: &Bench, executor: &mut dyn Executor, words: usize) -> Result<f64> {
    let plan = probes::plan(words);
    executor.admits(&plan)?;
    executor.begin(&plan)?;
    // The first run warms up.
    seconds(executor, &plan, 0..probes::COPIES)?;
    let speeds = (0..bench.rounds)
        .map(|_| Ok(probes::copied_gb(words) / seconds(executor, &plan, 0..probes::COPIES)?));
    let mut speeds = speeds.collect::<Result<Vec<f64>>>()?;
    executor.end(&plan);
    executor.release();
    speeds.sort_by(f64::total_cmp);
    Ok(speeds[speeds.len() / 2])
}

/// Measures the tables on one core and on the graphics adapter, then a large map on all cores and
/// on the adapter.
pub fn table(
    bench: &Bench,
    executors: &mut [&mut dyn Executor],
    quick: bool,
    picture: Option<&Path>,
    warmup: u32,
) -> Result<serde_json::Value> {
    let mut core = Cpu::new(1, Order::default())?;
    let words = if quick { 1 << 20 } else { 1 << 24 };
    let core_copy = copy_speed(bench, &mut core, words)?;
    let copies = executors
        .iter_mut()
        .map(|executor| copy_speed(bench, &mut **executor, words))
        .collect::<Result<Vec<f64>>>()?;
    let mut cells: Vec<Cell> = vec![];
    let mut row = |executor: &mut dyn Executor,
                   copy_gb_per_s,
                   side: u32,
                   chunk,
                   skip,
                   (interval, radius, article): Row|
     -> Result<()> {
        let site = Site::bare(Window { origin: [0, 0], width: side, height: side }, 1.0, 99999);
        let count = site.window.cells() as f64;
        executor.write("height", &vec![0; site.window.cells()])?;
        for (method, article_ns) in METHODS.into_iter().zip(article) {
            if article_ns.is_none() {
                continue;
            }
            let s = blend(method, chunk, skip, interval, radius)?;
            (STAGE.check)(&s, &site)?;
            // The first runs warm up. A large map at full resolution takes so long that its
            // first run is the only one.
            let cold = side > SIDES[0] && method == "full";
            let [warmup, rounds] =
                if cold { [0, 1] } else { [warmup, bench.rounds].map(|n| n as usize) };
            let mut figures = vec![];
            for _ in 0..warmup + rounds {
                figures.push(weigh(executor, &s, &site)?.map(|seconds| seconds * 1e9 / count));
            }
            figures.drain(..warmup);
            figures.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let [ns, passes_ns] = figures[figures.len() / 2];
            let bytes = moved(&weights(&s, &site)) as f64 / count;
            cells.push(Cell {
                side,
                chunk,
                skip,
                interval,
                radius,
                method,
                executor: executor.name(),
                ns,
                min_ns: figures[0][0],
                max_ns: figures[figures.len() - 1][0],
                passes_ns,
                article_ns: article_ns.filter(|_| side == SIDES[0]),
                bytes,
                gb_per_s: bytes / passes_ns,
                copy_gb_per_s,
            });
            bench.note(text(&cells[cells.len() - 1]));
        }
        Ok(())
    };
    let tables = if quick { &ARTICLE[1..2] } else { &ARTICLE[..] };
    for (chunk, skip, rows) in tables {
        for line in rows.iter().take(if quick { 1 } else { rows.len() }) {
            row(&mut core, core_copy, SIDES[0], chunk, *skip, *line)?;
            if let Some(gpu) = executors.get_mut(1) {
                row(&mut **gpu, copies[1], SIDES[0], chunk, *skip, *line)?;
            }
        }
    }
    if !quick {
        for (executor, copy) in executors.iter_mut().zip(&copies) {
            let mut large = (8, 48.0, [Some(0.0); 4]);
            let minutes = full_minutes(&mut **executor)?;
            if minutes > MINUTES_MAX {
                let (side, name) = (SIDES[1], executor.name());
                bench.note(format!(
                    "full at {side} x {side} cells is left out: on {name} it would take about \
                     {minutes:.0} minutes"
                ));
                large.2[0] = None;
            }
            match row(&mut **executor, *copy, SIDES[1], "16", true, large) {
                Err(e @ Error::Limit(_)) => bench.note(e),
                done => done?,
            }
        }
    }
    if let (Some(path), Some(executor)) = (picture, executors.last_mut()) {
        store(path, sheet(&mut **executor)?)?;
    }
    Ok(json!({ "rows": cells }))
}

/// Minutes that the large map would take at full resolution, estimated from a map of 256 x 256
/// cells.
fn full_minutes(executor: &mut dyn Executor) -> Result<f64> {
    let site = Site::bare(Window { origin: [0, 0], width: 256, height: 256 }, 1.0, 99999);
    executor.write("height", &vec![0; site.window.cells()])?;
    let [seconds, _] = weigh(executor, &blend("full", "16", true, 8, 48.0)?, &site)?;
    Ok(seconds / 60.0 * f64::from(SIDES[1] / 256).powi(2))
}

/// The recipes of the figures.
const BIOMES: &str = include_str!("../../../examples/biomes.toml");
const PLATEAUS: &str = include_str!("../../../examples/plateaus.toml");
const CLIMATE: &str = include_str!("../../../examples/climate.toml");
/// The figures: a recipe, and the settings that are changed in it.
const FIGURES: [[(&str, &[&str]); 4]; 3] = [
    [
        (BIOMES, &["heights=keep", "feature_cells=250", "padding_cells=16"]),
        (BIOMES, &["heights=keep", "feature_cells=250", "padding_cells=16", "frequency=0.08"]),
        (BIOMES, &["heights=keep", "feature_cells=250"]),
        (BIOMES, &["heights=keep", "feature_cells=250", "frequency=0.08"]),
    ],
    [
        (PLATEAUS, &[]),
        (PLATEAUS, &["method=full"]),
        (PLATEAUS, &["method=convolved"]),
        (PLATEAUS, &["method=lerped"]),
    ],
    [
        (PLATEAUS, &["method=convolved", "interval_cells=4"]),
        (PLATEAUS, &["method=lerped", "interval_cells=4"]),
        (BIOMES, &[]),
        (CLIMATE, &[]),
    ],
];
/// Side of a figure, and the white space between two of them, in pixels.
const FIGURE: u32 = 384;
const GAP: u32 = 8;

/// The figures on one sheet.
fn sheet(executor: &mut dyn Executor) -> Result<RgbImage> {
    let side = |count: usize| count as u32 * (FIGURE + GAP) - GAP;
    let [width, height] = [side(FIGURES[0].len()), side(FIGURES.len())];
    let mut sheet = RgbImage::from_pixel(width, height, Rgb([255; 3]));
    for (j, figures) in FIGURES.iter().enumerate() {
        for (i, (text, changes)) in figures.iter().enumerate() {
            let picture = figure(executor, text, changes)?;
            let at = |n: usize| i64::from(n as u32 * (FIGURE + GAP));
            imageops::replace(&mut sheet, &picture, at(i), at(j));
        }
    }
    Ok(sheet)
}

/// One figure: a recipe, and what is changed in its stage `biomes`.
fn figure(executor: &mut dyn Executor, text: &str, changes: &[&str]) -> Result<RgbImage> {
    let mut recipe = Recipe::from_toml(text, "", "figure")?;
    (recipe.window.width, recipe.window.height) = (FIGURE, FIGURE);
    for step in recipe.stages.iter_mut().filter(|step| step.stage.name == STAGE.name) {
        for change in changes {
            let (name, value) = assignment(change)?;
            step.settings.set(step.stage.params, &name, &value)?;
        }
    }
    recipe.check()?;
    Job::new(recipe)?.run_on(executor, &mut |_| Ok(()))?.picture()
}
