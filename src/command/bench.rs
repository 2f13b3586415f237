//! `thalweg bench`: every stage on every executor in one run, beside the sequential loop and the bounds of the machine.

use super::bench_tables::{self, Splat, Table};
use super::console::Console;
use super::device::{self, Device};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use std::time::Instant;
use thalweg::classic::droplets::{Brush, Droplets, erode};
use thalweg::exec::{Control, Executor};
use thalweg::io::{Format, encode};
use thalweg::map::Map;
use thalweg::params::{Settings, Value};
use thalweg::plan::{Buffer, Call, Fill, Kernel, Pass, Plan, Uniform};
use thalweg::site::{Site, Window};
use thalweg::spec::{CELL, mix};
use thalweg::stage::{diamond_square, droplets};
use thalweg::{Error, Result};

/// Measure the speed of this machine
///
/// Medians of several rounds with the lowest and the highest. The CPU is always measured, and a graphics adapter if
/// `--device` finds one (auto: hardware only). "classic" is the published sequential loop over one droplet after another, on
/// one thread, on the same terrain.
#[derive(Args)]
#[command(
    after_help = "Example: thalweg bench --size 512,1024 --device gpu\n         thalweg bench --table droplets --device cpu"
)]
pub struct Arguments {
    /// Sides of the square maps, in cells
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1024", value_parser = clap::value_parser!(u32).range(16..=Window::SIDE_MAX as i64))]
    size: Vec<u32>,
    /// Rounds of each measurement: 3, or 5 for a table if not said otherwise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// One round of 256 cells, or of the first values of a table: to see that it works, not how fast it is
    #[arg(long, conflicts_with_all = ["size", "rounds"])]
    quick: bool,
    /// Measure a table that an article prints instead, and say by how much each line is faster
    #[arg(long, value_enum, value_name = "TABLE", conflicts_with = "size")]
    table: Option<Table>,
    /// With --table snowballs: draw its islands side by side; with --table biomes: draw the article's figures
    #[arg(long, value_name = "PNG", requires = "table")]
    picture: Option<std::path::PathBuf>,
    /// With --table snowballs: how the sequential loop shares a change of height among four vertices (bilinear if not said)
    #[arg(long, value_enum, value_name = "SPLAT", requires = "table")]
    splat: Option<Splat>,
}

/// One measurement.
#[derive(Serialize)]
struct Row {
    bench: String,
    side: u32,
    executor: String,
    unit: &'static str,
    median: f64,
    min: f64,
    max: f64,
    /// Seconds of each kernel in a run that waits after every pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<(&'static str, f64)>,
}

/// Rows as they come, and how often to measure.
pub struct Bench<'a> {
    pub console: &'a Console,
    pub rounds: u32,
    rows: Vec<Row>,
}

impl Bench<'_> {
    /// Adds a row: `round` gives one figure.
    fn row(
        &mut self,
        bench: &str,
        side: u32,
        executor: &str,
        unit: &'static str,
        mut round: impl FnMut() -> Result<f64>,
    ) -> Result<()> {
        let mut figures = vec![];
        for _ in 0..self.rounds {
            self.console.check()?;
            figures.push(round()?);
        }
        figures.sort_by(f64::total_cmp);
        let (min, max) = (figures[0], figures[figures.len() - 1]);
        let median = (figures[(figures.len() - 1) / 2] + figures[figures.len() / 2]) / 2.0;
        self.rows.push(Row { bench: bench.into(), side, executor: executor.into(), unit, median, min, max, kernels: vec![] });
        self.console.note(text(&self.rows[self.rows.len() - 1]));
        Ok(())
    }

    pub fn run(&self, executor: &mut dyn Executor, plan: &Plan, passes: std::ops::Range<usize>) -> Result<f64> {
        let begun = Instant::now();
        executor.run(plan, passes, &mut Control { stop: self.console.stop, progress: &mut |_| {} })?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

fn text(row: &Row) -> String {
    let Row { bench, side, executor, unit, median, min, max, .. } = row;
    // The driver is named on top.
    let executor = executor.split(" (").next().unwrap_or_default();
    let kernels: Vec<_> = row.kernels.iter().map(|(name, s)| format!("{name} {s:.3} s")).collect();
    let kernels = if kernels.is_empty() { String::new() } else { format!("  [{}]", kernels.join(", ")) };
    format!("{bench:<24} {side:>6}  {executor:<24} {median:>10.2} {unit}  ({min:.2} to {max:.2}){kernels}")
}

pub fn settings(stage: &thalweg::stage::Stage, values: &[(&str, Value)]) -> Result<Settings> {
    Settings::new(stage.params, &values.iter().map(|(k, v)| (k.to_string(), v.clone())).collect::<Vec<_>>())
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let usual = if a.table.is_some() { 5 } else { 3 };
    let (sizes, rounds) = if a.quick { (vec![256], 1) } else { (a.size.clone(), a.rounds.unwrap_or(usual)) };
    let mut cpu = device::cpu(console)?;
    let adapter = match &console.options.device {
        Device::Auto => device::automatic(&device::adapters()).map(Device::Index),
        Device::Cpu => None,
        named => Some(named.clone()),
    };
    let mut gpu = adapter.map(|adapter| device::gpu(console, &adapter)).transpose()?;
    let names: Vec<String> = [Some(cpu.name()), gpu.as_ref().map(|g| g.name())].into_iter().flatten().collect();
    let mut bench = Bench { console, rounds, rows: vec![] };
    if let Some(table) = a.table {
        let mut executors: Vec<&mut dyn Executor> = vec![&mut cpu];
        executors.extend(gpu.as_deref_mut().map(|g| g as &mut dyn Executor));
        return bench_tables::main(&bench, table, &mut executors, a.quick, a.picture.as_deref(), a.splat);
    }
    let words = if a.quick { 1 << 20 } else { 1 << 24 };
    machine(&mut bench, &mut cpu, words)?;
    if let Some(gpu) = &mut gpu {
        machine(&mut bench, &mut **gpu, words)?;
    }
    for side in sizes {
        let start = terrain(&bench, &mut cpu, side)?;
        let mut executors: Vec<&mut dyn Executor> = vec![&mut cpu];
        if let Some(gpu) = &mut gpu {
            executors.push(&mut **gpu);
        }
        for executor in executors {
            match stages(&mut bench, executor, side, &start) {
                Err(e @ Error::Limit(_)) => console.warn(e),
                done => done?,
            }
        }
        classic(&mut bench, side, &start)?;
        encoding(&mut bench, side, &start)?;
    }
    let rows = bench.rows;
    console.result(
        || json!({ "devices": names, "rounds": rounds, "rows": rows }),
        || format!("{}\n{}\n", names.join("\n"), rows.iter().map(text).collect::<Vec<_>>().join("\n")),
    )?;
    Ok(true)
}

/// The plan of the terrain that everything runs on.
fn terrain_plan(side: u32) -> Result<Plan> {
    let spacing_m = 20.0;
    let world = (side as u64 * 4).next_power_of_two() as i64;
    let values = [
        ("world", Value::Integer(world)),
        ("feature", Value::Integer(world / 8)),
        ("gain", Value::Number(0.55)),
        ("relief_m", Value::Number(side as f64 * spacing_m * 0.15)),
    ];
    let window = Window { origin: [side as i64, side as i64], width: side, height: side };
    let stage = &diamond_square::STAGE;
    Ok((stage.plan)(&settings(stage, &values)?, &Site::bare(window, spacing_m, 7)))
}

/// The heights of [`terrain_plan`].
pub fn terrain(bench: &Bench, cpu: &mut dyn Executor, side: u32) -> Result<Vec<i32>> {
    let plan = terrain_plan(side)?;
    cpu.admits(&plan)?;
    cpu.begin(&plan)?;
    bench.run(cpu, &plan, 0..plan.passes.len())?;
    cpu.end(&plan);
    cpu.read("height")
}

/// Every stage, and the way to the device and back.
fn stages(bench: &mut Bench, executor: &mut dyn Executor, side: u32, start: &[i32]) -> Result<()> {
    let name = executor.name();
    let cells = start.len() as f64;
    let plan = terrain_plan(side)?;
    executor.admits(&plan)?;
    let mut run = |bench: &Bench, plan: &Plan| {
        executor.begin(plan)?;
        let seconds = bench.run(executor, plan, 0..plan.passes.len());
        executor.end(plan);
        seconds
    };
    let (console, rounds) = (bench.console, bench.rounds);
    let quiet = Bench { console, rounds, rows: vec![] };
    // The first run compiles and warms up.
    run(&quiet, &plan)?;
    bench.row("diamond_square", side, &name, "M cells/s", || Ok(cells / run(&quiet, &plan)? / 1e6))?;
    let stage = &diamond_square::STAGE;
    let window = Window { origin: [123_456_789, 987_654_321], width: 512, height: 512 };
    let site = Site::bare(window, 20.0, 7);
    let far = (stage.plan)(&settings(stage, &[("world", Value::Integer(1 << 30))])?, &site);
    run(&quiet, &far)?;
    bench.row("window of a 2^30 world", 512, &name, "ns/cell", || Ok(run(&quiet, &far)? * 1e9 / window.cells() as f64))?;

    let window = Window { origin: [side as i64, side as i64], width: side, height: side };
    let site = Site::bare(window, 20.0, 8);
    for (label, density) in [("droplets, density 1", 1.0), ("droplets, density 1/4", 0.25)] {
        // Four lives of each droplet.
        let values =
            [("density", Value::Number(density)), ("rain", Value::Number(4.0 * density)), ("lifetime", Value::Integer(64))];
        let stage = &droplets::STAGE;
        let plan = (stage.plan)(&settings(stage, &values)?, &site);
        executor.admits(&plan)?;
        // The row of figures, then once more with a wait after every pass, for the kernels.
        bench.row(label, side, &name, "M droplet-steps/s", || {
            executor.write("height", start)?;
            executor.begin(&plan)?;
            let seconds = quiet.run(executor, &plan, 0..plan.passes.len())?;
            executor.end(&plan);
            let steps: u64 = executor.read("flow")?.iter().map(|&w| w as u32 as u64).sum();
            Ok(steps as f64 / seconds / 1e6)
        })?;
        executor.write("height", start)?;
        executor.begin(&plan)?;
        let mut kernels: Vec<(&'static str, f64)> = vec![];
        for (i, pass) in plan.passes.iter().enumerate() {
            let seconds = quiet.run(executor, &plan, i..i + 1)?;
            match kernels.iter_mut().find(|(name, _)| *name == pass.kernel.entry) {
                Some((_, sum)) => *sum += seconds,
                None => kernels.push((pass.kernel.entry, seconds)),
            }
        }
        executor.end(&plan);
        if let Some(row) = bench.rows.last_mut() {
            row.kernels = kernels;
        }
    }
    let gigabytes = start.len() as f64 * 4.0 / 1e9;
    bench.row("write a map", side, &name, "GB/s", || {
        let begun = Instant::now();
        executor.write("height", start)?;
        Ok(gigabytes / begun.elapsed().as_secs_f64())
    })?;
    bench.row("read a map back", side, &name, "GB/s", || {
        let begun = Instant::now();
        std::hint::black_box(executor.read("height")?);
        Ok(gigabytes / begun.elapsed().as_secs_f64())
    })
}

/// The loop over one droplet after another, with the work of density 1/4.
fn classic(bench: &mut Bench, side: u32, start: &[i32]) -> Result<()> {
    let heights: Vec<f32> = start.iter().map(|&w| w as f32 / CELL as f32).collect();
    let p = Droplets {
        count: start.len() as u64 / 2,
        seed: 8,
        lifetime: 64,
        radius: 3,
        brush: Brush::Stencil,
        sorted: true,
        ..Droplets::default()
    };
    bench.row("droplets", side, "classic, 1 thread", "M droplet-steps/s", || {
        let mut heights = heights.clone();
        let begun = Instant::now();
        let report = erode(&mut heights, side as usize, side as usize, &p, None);
        Ok(report.steps as f64 / begun.elapsed().as_secs_f64() / 1e6)
    })
}

/// Files, without the disk.
fn encoding(bench: &mut Bench, side: u32, start: &[i32]) -> Result<()> {
    let data = start.iter().map(|&w| (w as f64 / CELL as f64 * 20.0) as f32).collect();
    let map = Map { width: side, height: side, spacing_m: 20.0, data, range_m: None, georef: None };
    for (name, format) in [("encode 16-bit PNG", Format::Png), ("encode TIFF", Format::Tiff)] {
        bench.row(name, side, "1 thread", "M cells/s", || {
            let begun = Instant::now();
            std::hint::black_box(encode(&map, format)?);
            Ok(start.len() as f64 / begun.elapsed().as_secs_f64() / 1e6)
        })?;
    }
    Ok(())
}

/// Two kernels that do nothing but what bounds the others: a copy, and additions to words anywhere in a buffer.
const PROBES: &str = "
    struct Params { mask: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> source: array<i32>;
    @group(0) @binding(2) var<storage, read_write> own_height: array<i32>;
    @group(0) @binding(3) var<storage, read_write> add_height: array<atomic<i32>>;
    @compute @workgroup_size(WORKGROUP)
    fn copy(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { own_height[i] = source[i]; }
    }
    @compute @workgroup_size(WORKGROUP)
    fn scatter(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { atomicAdd(&add_height[mix_bits(i) & params.mask], 1); }
    }";

#[derive(Debug, encase::ShaderType)]
struct Probe {
    /// Words of a buffer, a power of two, less one.
    mask: u32,
}

static COPY: Kernel = Kernel {
    entry: "copy",
    reads: &["source"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: |call| {
        let Call { range, reads, owns, .. } = call;
        owns[0].copy_from_slice(&reads[0][range.start as usize..range.end as usize]);
    },
};

static SCATTER: Kernel = Kernel {
    entry: "scatter",
    reads: &[],
    owns: &[],
    adds: &["height"],
    cpu: |call| {
        for i in call.range.clone() {
            call.adds[0].add::<false>((mix(i) & call.params::<Probe>().mask) as usize, 1);
        }
    },
};

/// Passes of [`COPY`] in the plan of the probes.
const COPIES: usize = 8;

/// The plan of the probes: the copy over and over, so that what a submission costs does not count, and then the additions.
fn probes(words: usize) -> Plan {
    // Ones, because pages of zeros are not there before they are written to.
    let buffer = |name| Buffer { fill: Fill::Word(1), ..Buffer::scratch(name, words) };
    let pass = |kernel, count: usize| Pass::new(kernel, Uniform::of(Probe { mask: words as u32 - 1 }), count, 1);
    let mut passes: Vec<Pass> = (0..COPIES).map(|_| pass(&COPY, words)).collect();
    passes.push(pass(&SCATTER, words / 4));
    Plan::new(PROBES, Window::sized(1, 1), vec![buffer("height"), buffer("source")], passes)
}

/// Bytes that the copies of the probes read and write, in GB.
fn copied(words: usize) -> f64 {
    (COPIES * words * 8) as f64 / 1e9
}

/// What an executor copies at most, read and written, in GB/s: the median of the rounds.
pub fn copy_speed(bench: &Bench, executor: &mut dyn Executor, words: usize) -> Result<f64> {
    let plan = probes(words);
    executor.admits(&plan)?;
    executor.begin(&plan)?;
    // The first run warms up.
    bench.run(executor, &plan, 0..COPIES)?;
    let speeds = (0..bench.rounds).map(|_| Ok(copied(words) / bench.run(executor, &plan, 0..COPIES)?));
    let mut speeds = speeds.collect::<Result<Vec<f64>>>()?;
    executor.end(&plan);
    executor.release();
    speeds.sort_by(f64::total_cmp);
    Ok(speeds[speeds.len() / 2])
}

/// What the machine itself can do, through the same executor as everything else: the bounds of gathers and of scatters.
fn machine(bench: &mut Bench, executor: &mut dyn Executor, words: usize) -> Result<()> {
    let name = executor.name();
    let plan = probes(words);
    executor.admits(&plan)?;
    executor.begin(&plan)?;
    let quiet = Bench { console: bench.console, rounds: 1, rows: vec![] };
    quiet.run(executor, &plan, 0..COPIES + 1)?;
    let side = words.isqrt() as u32;
    bench.row("copy (read + write)", side, &name, "GB/s", || Ok(copied(words) / quiet.run(executor, &plan, 0..COPIES)?))?;
    bench.row("random atomic additions", side, &name, "M/s", || {
        Ok(words as f64 / 4.0 / quiet.run(executor, &plan, COPIES..COPIES + 1)? / 1e6)
    })?;
    executor.end(&plan);
    executor.release();
    Ok(())
}
