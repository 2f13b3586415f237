//! `thalweg bench --table biomes`: the article's three tables of blending, measured again.

use super::bench::{Bench, copy_speed, settings};
use super::files::{Files, refuse};
use super::{film, resize, set};
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::io::{Picture, encode_picture};
use thalweg::lattice::FARTHEST;
use thalweg::params::{Settings, Value};
use thalweg::plan::{Kernel, Pass, Plan};
use thalweg::recipe::Recipe;
use thalweg::render::Style;
use thalweg::site::{Site, Window};
use thalweg::stage::biomes::STAGE;
use thalweg::world::World;
use thalweg::{Error, Result};

const METHODS: [&str; 4] = ["full", "scattered", "convolved", "lerped"];
/// Interval of the grid, radius, and the article's nanoseconds for each method. Full resolution knows no interval.
type Row = (i64, f64, [Option<f64>; 4]);
/// The article's tables: side of a chunk, whether chunks of one biome are left out, rows. Its text has the last two of the second.
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
/// Side of the article's maps, and of one that fills a card.
const SIDES: [u32; 2] = [768, 4096];

/// Minutes that one measurement may take.
const PATIENCE: f64 = 5.0;

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
    /// Nanoseconds a cell, from the settings to the weights: the median, the least and the most.
    ns: f64,
    min_ns: f64,
    max_ns: f64,
    /// Of these, those of the passes alone.
    passes_ns: f64,
    article_ns: Option<f64>,
    /// Bytes a cell that the passes move: see [`moved`].
    bytes: f64,
    /// These by the time of the passes.
    gb_per_s: f64,
    /// What the executor copies, measured here.
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
    let executor = c.executor.split(" (").next().unwrap_or_default();
    let factor = article_ns.map_or(String::new(), |a| format!("  article {a:.1}, {:.1} x", a / ns));
    let skip = if *skip { "skip" } else { "all" };
    format!(
        "{side} chunk {chunk} {skip:<4} interval {interval} radius {radius} {method:<9} {executor:<16} {ns:>9.2} ns a cell ({min_ns:.2} to {max_ns:.2}), passes {passes_ns:.2}, {bytes:.0} bytes a cell, {gb_per_s:.2} GB/s, {:.1} % of a copy's{factor}",
        100.0 * gb_per_s / copy_gb_per_s
    )
}

/// The article's biomes with three octaves, and its radius by any method.
fn blend(method: &str, chunk: &str, skip: bool, interval: i64, radius: f64) -> Result<Settings> {
    let word = |w: &str| Value::Word(w.into());
    // As many points as the grid has, and the same radius with a padding of 4 cells at least.
    let frequency = 0.7598356856515925 / interval as f64;
    let values = [
        ("method", word(method)),
        ("chunk", word(chunk)),
        ("skip", Value::Switch(skip)),
        ("interval", Value::Integer(interval)),
        ("radius", Value::Number(radius)),
        ("frequency", Value::Number(frequency)),
        ("padding", Value::Number((radius - FARTHEST / frequency).max(4.0))),
        ("octaves", Value::Integer(3)),
    ];
    settings(&STAGE, &values)
}

/// Bytes of the buffers that kernels read and write, each once a kernel: what must move if each leaves nothing behind for the next.
fn moved(plan: &Plan) -> u64 {
    let mut kernels: Vec<&Kernel> = vec![];
    let mut words = 0;
    for Pass { kernel, .. } in &plan.passes {
        if kernels.iter().any(|known| known.entry == kernel.entry) {
            continue;
        }
        // What an earlier kernel has written is read before it is changed.
        let changed = |name: &str| kernels.iter().any(|known| known.owns.iter().any(|(owned, _)| *owned == name));
        let size = |name: &str| plan.buffer(name).words as u64;
        words += kernel.reads.iter().map(|name| size(name)).sum::<u64>();
        words += kernel.owns.iter().map(|(name, _)| size(name) * (1 + u64::from(changed(name)))).sum::<u64>();
        kernels.push(kernel);
    }
    words * 4
}

/// The plan from the settings to the weights.
fn weights(s: &Settings, site: &Site) -> Plan {
    let mut plan = (STAGE.plan)(s, site);
    let uses = plan.passes.iter().position(|pass| pass.kernel.entry == "dominate").unwrap_or(plan.passes.len());
    plan.passes.truncate(uses);
    plan
}

/// From the settings to the weights: seconds in all, and of the passes.
fn weigh(bench: &Bench, executor: &mut dyn Executor, s: &Settings, site: &Site) -> Result<[f64; 2]> {
    let begun = Instant::now();
    let plan = weights(s, site);
    executor.admits(&plan)?;
    executor.begin(&plan)?;
    let passes = bench.run(executor, &plan, 0..plan.passes.len())?;
    executor.end(&plan);
    Ok([begun.elapsed().as_secs_f64(), passes])
}

/// Measures the tables on one core and on the graphics adapter, and then a large map on all of both. `picture`: where to draw the
/// article's figures.
pub fn main(bench: &Bench, executors: &mut [&mut dyn Executor], quick: bool, picture: Option<&Path>) -> Result<bool> {
    if let Some(path) = picture {
        refuse(&[path.into()], bench.console.options.force)?;
    }
    let mut core = Cpu::new(1, Order::default())?;
    let words = if quick { 1 << 20 } else { 1 << 24 };
    let core_copy = copy_speed(bench, &mut core, words)?;
    let copies = executors.iter_mut().map(|executor| copy_speed(bench, &mut **executor, words)).collect::<Result<Vec<f64>>>()?;
    let mut cells: Vec<Cell> = vec![];
    let mut row =
        |executor: &mut dyn Executor, copy_gb_per_s, side: u32, chunk, skip, (interval, radius, article): Row| -> Result<()> {
            let site = Site::bare(Window { origin: [0, 0], width: side, height: side }, 1.0, 99999);
            let count = site.window.cells() as f64;
            executor.write("height", &vec![0; site.window.cells()])?;
            for (method, article_ns) in METHODS.into_iter().zip(article) {
                if article_ns.is_none() {
                    continue;
                }
                let s = blend(method, chunk, skip, interval, radius)?;
                (STAGE.check)(&s, &site).map_err(Error::Param)?;
                // The first run warms up. That of a large map at full resolution is long enough to be the only one.
                let runs = if side > SIDES[0] && method == "full" { 1 } else { bench.rounds as usize + 1 };
                let mut figures = vec![];
                for _ in 0..runs {
                    bench.console.check()?;
                    figures.push(weigh(bench, executor, &s, &site)?.map(|seconds| seconds * 1e9 / count));
                }
                figures.drain(..(runs - 1).min(1));
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
                bench.console.note(text(&cells[cells.len() - 1]));
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
            let minutes = full_minutes(bench, &mut **executor)?;
            if minutes > PATIENCE {
                let (side, name) = (SIDES[1], executor.name());
                bench.console.warn(format!(
                    "full at {side} x {side} cells is left out: on {name} it would take about {minutes:.0} minutes"
                ));
                large.2[0] = None;
            }
            match row(&mut **executor, *copy, SIDES[1], "16", true, large) {
                Err(e @ Error::Limit(_)) => bench.console.warn(e),
                done => done?,
            }
        }
    }
    if let Some(path) = picture {
        let mut files = Files::default();
        files.probe(path.parent().unwrap_or(Path::new("")))?;
        let sheet = sheet(bench, executors)?;
        files.write(path, &encode_picture(&sheet)?)?;
        files.keep();
    }
    let names: Vec<String> = executors.iter().map(|e| e.name()).collect();
    bench.console.result(
        || json!({ "devices": names, "rounds": bench.rounds, "rows": cells }),
        || format!("{}\n{}\n", names.join("\n"), cells.iter().map(text).collect::<Vec<_>>().join("\n")),
    )?;
    Ok(true)
}

/// How long the large map would take at full resolution, by one of 256 x 256 cells.
fn full_minutes(bench: &Bench, executor: &mut dyn Executor) -> Result<f64> {
    let site = Site::bare(Window { origin: [0, 0], width: 256, height: 256 }, 1.0, 99999);
    executor.write("height", &vec![0; site.window.cells()])?;
    let [seconds, _] = weigh(bench, executor, &blend("full", "16", true, 8, 48.0)?, &site)?;
    Ok(seconds / 60.0 * f64::from(SIDES[1] / 256).powi(2))
}

/// The recipes of the figures.
const BIOMES: &str = include_str!("../../examples/biomes.toml");
const PLATEAUS: &str = include_str!("../../examples/plateaus.toml");
const CLIMATE: &str = include_str!("../../examples/climate.toml");
/// The figures: a recipe, and what is set in it.
const FIGURES: [[(&str, &[&str]); 4]; 3] = [
    [
        (BIOMES, &["heights=keep", "feature=250", "padding=16"]),
        (BIOMES, &["heights=keep", "feature=250", "padding=16", "frequency=0.08"]),
        (BIOMES, &["heights=keep", "feature=250"]),
        (BIOMES, &["heights=keep", "feature=250", "frequency=0.08"]),
    ],
    [(PLATEAUS, &[]), (PLATEAUS, &["method=full"]), (PLATEAUS, &["method=convolved"]), (PLATEAUS, &["method=lerped"])],
    [
        (PLATEAUS, &["method=convolved", "interval=4"]),
        (PLATEAUS, &["method=lerped", "interval=4"]),
        (BIOMES, &[]),
        (CLIMATE, &[]),
    ],
];
/// Side of a figure, and white between two of them, in pixels.
const FIGURE: u32 = 384;
const GAP: u32 = 8;

/// The figures on one sheet.
fn sheet(bench: &Bench, executors: &mut [&mut dyn Executor]) -> Result<Picture> {
    let side = |count: usize| count as u32 * (FIGURE + GAP) - GAP;
    let [width, height] = [side(FIGURES[0].len()), side(FIGURES.len())];
    let row = width as usize * 3;
    let mut data = vec![255; row * height as usize];
    let Some(executor) = executors.last_mut() else { return Err(Error::Param("--picture: no executor".into())) };
    for (j, figures) in FIGURES.iter().enumerate() {
        for (i, (text, changes)) in figures.iter().enumerate() {
            let mut recipe = Recipe::from_toml(text, Path::new(""), "figure")?;
            for change in *changes {
                set(&mut recipe.stages[1], change)?;
            }
            resize(&mut recipe, (FIGURE, FIGURE))?;
            let world = World::new(&recipe, None)?;
            let made = world.run(&mut **executor, bench.console.stop, &mut |_, _, _| {})?;
            let style = Style { sea_level_m: recipe.output.sea_level_m, ..Style::default() };
            let picture = film::picture(&recipe.output, &made.maps["height"], |name| made.maps.get(name), &style)?;
            let corner = j * (FIGURE + GAP) as usize * row + i * (FIGURE + GAP) as usize * 3;
            for (y, line) in picture.data.chunks(FIGURE as usize * 3).enumerate() {
                data[corner + y * row..][..line.len()].copy_from_slice(line);
            }
        }
    }
    Ok(Picture { width, height, channels: 3, data })
}
