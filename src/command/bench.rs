//! `thalweg bench`: measures each stage on each executor, the bounds of the machine, and the
//! sequential loop.

use super::console::Console;
use super::probes;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;
use thalweg::arith::CELL;
use thalweg::classic::droplets::{Brush, Droplets, erode};
use thalweg::device::automatic;
use thalweg::exec::Adapter;
use thalweg::exec::{Control, Executor};
use thalweg::io::{MapFormat, encode};
use thalweg::job::{Event, digest};
use thalweg::map::Map;
use thalweg::params::{Settings, Value};
use thalweg::plan::Plan;
use thalweg::recipe::EXAMPLES;
use thalweg::schedule::Schedule;
use thalweg::site::{Layer, Layers, Site, Window};
use thalweg::stage::{STAGES, Stage, diamond_square, droplets, incision, island, layer, wind};
use thalweg::{Device, Error, Job, Recipe, Result, adapters};

/// Measure the speed of this machine
///
/// Prints the median of several rounds with the lowest and the highest figure, for each stage on
/// the CPU and on the graphics adapter that `--device` selects (auto: a hardware adapter, if there
/// is one), and for a whole recipe from coarse to fine. "classic" is the published sequential loop,
/// which runs one droplet after another on one thread, on the same terrain. The adapter's words are
/// held against the CPU's: where they differ there is no figure but an error. What would not be
/// done in time is left out and named.
#[derive(Args)]
#[command(after_help = "Example: thalweg bench --size 512,1024 --device gpu")]
pub struct Arguments {
    /// Sides of the square maps, in cells
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "64,256,1024,4096",
        value_parser = clap::value_parser!(u32).range(16..=Window::SIDE_MAX as i64))]
    size: Vec<u32>,
    /// Rounds of each measurement, fewer where one takes seconds
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds that all of it may take, by what the same takes on smaller maps. The first size is
    /// measured whatever it takes
    #[arg(long, value_name = "SECONDS", default_value_t = 100)]
    within: u32,
    /// One round at 256 cells: checks that the bench works; the figures mean little
    #[arg(long, conflicts_with_all = ["size", "rounds"])]
    quick: bool,
}

const SPACING_M: f64 = 20.0;
const CELLS: &str = "M cells/s";
const STEPS: &str = "M particle-steps/s";
const COPY: &str = "copy (read + write)";
const ADDITIONS: &str = "random atomic additions";
/// Seconds that a bound is measured for at least.
const LONG_ENOUGH_S: f64 = 0.02;
/// Seconds of work after which a card that had waited runs at its full rate.
const WARM_S: f64 = 0.3;
/// Seconds after which no further round of a row begins, its warming up included. A run that takes
/// longer is its own only round.
const ROW_S: f64 = 5.0;
/// Additions of a particle in a step, at most: it counts its passage, proposes, and settles what it
/// was granted. It rarely leaves the map.
const PARTICLE_ADDITIONS: u64 = 3;
/// Most droplets of the sequential loop, which is no faster on large maps.
const CLASSIC_MAX: u64 = 1 << 20;
/// The recipe of [`pyramid`].
const PYRAMID: &str = "mountains";

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
    /// How many figures these are of.
    rounds: usize,
    /// The kernels, in a run that waits after every pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<KernelRow>,
    /// The levels of a recipe, the coarsest first, in the last round.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    levels: Vec<LevelRow>,
    /// Digests of the maps that a stage has left, the same on every executor.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    digests: BTreeMap<&'static str, String>,
}

/// What a kernel took.
#[derive(Serialize)]
struct KernelRow {
    name: &'static str,
    passes: u64,
    seconds: f64,
    /// `device` or `host`.
    clock: &'static str,
    /// GB/s, if it reads every word of what it reads once and writes all that it owns. What it adds
    /// is left out.
    model_gb_s: f64,
    /// That as a part of what a copy reaches on the executor.
    of_copy: f64,
    /// Millions of additions a second, if every particle makes all that it can in a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    additions_m_s: Option<f64>,
    /// That as a part of what random additions reach on the executor.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_additions: Option<f64>,
}

impl KernelRow {
    /// Its seconds, and what part of a bound it reaches: that of additions for a kernel that adds,
    /// else that of the copy.
    fn text(&self) -> String {
        let (part, bound) = match self.of_additions {
            Some(part) => (part, "additions"),
            None => (self.of_copy, "copy"),
        };
        format!("{} {:.3} s, {:.0} % of {bound}", self.name, self.seconds, part * 100.0)
    }
}

/// What the units of a level took.
#[derive(Serialize)]
struct LevelRow {
    level: i32,
    side: u32,
    passes: usize,
    seconds: f64,
}

impl LevelRow {
    fn text(&self) -> String {
        format!("{} cells: {} passes, {:.3} s", self.side, self.passes, self.seconds)
    }
}

/// A measurement that would have taken too long.
#[derive(Serialize)]
struct LeftOut {
    bench: String,
    side: u32,
    executor: String,
    /// What it would have taken, about.
    seconds: f64,
}

impl LeftOut {
    fn text(&self) -> String {
        let Self { bench, side, executor, seconds } = self;
        let executor = executor.split(" (").next().unwrap_or_default();
        format!("left out: {bench}, {side}, {executor}: some {seconds:.0} s")
    }
}

/// The rows so far, and how often to measure.
struct Bench<'a> {
    console: &'a Console,
    rounds: u32,
    within_s: f64,
    rows: Vec<Row>,
    left_out: Vec<LeftOut>,
    /// Of each measurement and executor, the last side and the seconds of a run there.
    took: BTreeMap<(String, String), (u32, f64)>,
    /// Seconds in which this measurement only warmed the device up.
    warm_s: f64,
    /// When the last row was done.
    begun: Instant,
}

/// The digests of the maps that a plan has left.
fn left(executor: &mut dyn Executor, plan: &Plan) -> Result<BTreeMap<&'static str, String>> {
    plan.kept()
        .filter_map(|buffer| buffer.keep)
        .map(|name| Ok((name, digest(&executor.read(name)?))))
        .collect()
}

impl Bench<'_> {
    /// Adds a row. Each call of `round` returns one figure.
    fn row(
        &mut self,
        bench: &str,
        side: u32,
        executor: &str,
        unit: &'static str,
        mut round: impl FnMut() -> Result<f64>,
    ) -> Result<&mut Row> {
        let mut figures = vec![];
        while figures.is_empty()
            || figures.len() < self.rounds as usize && self.begun.elapsed().as_secs_f64() < ROW_S
        {
            self.console.check()?;
            figures.push(round()?);
        }
        let rounds = figures.len();
        figures.sort_by(f64::total_cmp);
        let (min, max) = (figures[0], figures[figures.len() - 1]);
        let median = (figures[(figures.len() - 1) / 2] + figures[figures.len() / 2]) / 2.0;
        let (bench, executor) = (bench.into(), executor.into());
        let (kernels, levels, digests) = (vec![], vec![], BTreeMap::new());
        self.rows.push(Row {
            bench,
            side,
            executor,
            unit,
            median,
            min,
            max,
            rounds,
            kernels,
            levels,
            digests,
        });
        self.begun = Instant::now();
        let last = self.rows.len() - 1;
        self.console.note(text(&self.rows[last]));
        Ok(&mut self.rows[last])
    }

    /// Makes a measurement, unless it would take too long by what it took at a smaller side: then
    /// that is noted. What an executor could not be held against is left out with it.
    fn in_time(
        &mut self,
        bench: &str,
        side: u32,
        executor: &str,
        measure: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let key = (bench.to_string(), executor.to_string());
        let run_s = self.took.get(&key).map_or(0.0, |(before, seconds)| {
            seconds * (f64::from(side) / f64::from(*before)).powi(2)
        });
        // A run that warms up, and one that counts; a long run does both.
        let seconds = if run_s > ROW_S { run_s } else { 2.0 * run_s } + 2.0 * WARM_S;
        let alone = self.left_out.iter().any(|other| other.bench == bench && other.side == side);
        if alone || self.console.seconds() + seconds > self.within_s && run_s > 0.0 {
            let (bench, executor) = key;
            self.left_out.push(LeftOut { bench, side, executor, seconds });
            self.console.note(self.left_out[self.left_out.len() - 1].text());
            return Ok(());
        }
        let (begun, rows) = (Instant::now(), self.rows.len());
        self.warm_s = 0.0;
        match measure(self) {
            Err(e @ Error::Limit(_)) => self.console.warn(format!("{bench}: {e}")),
            done => done?,
        }
        let runs = self.rows[rows..].iter().map(|row| row.rounds).sum::<usize>() + 1;
        let seconds = begun.elapsed().as_secs_f64() - self.warm_s;
        self.took.insert(key, (side, seconds / runs as f64));
        self.begun = Instant::now();
        Ok(())
    }

    /// The median of a row of an executor, if it is there.
    fn median(&self, bench: &str, executor: &str) -> Option<f64> {
        self.rows
            .iter()
            .find(|row| row.bench == bench && row.executor == executor)
            .map(|row| row.median)
    }

    /// Refuses other words than those of the first executor: no time is given for them.
    fn agrees(
        &self,
        bench: &str,
        side: u32,
        executor: &str,
        digests: &BTreeMap<&'static str, String>,
    ) -> Result<()> {
        let first = self
            .rows
            .iter()
            .find(|row| row.bench == bench && row.side == side && !row.digests.is_empty());
        match first.filter(|first| first.digests != *digests) {
            None => Ok(()),
            Some(first) => Err(Error::device(format!(
                "{executor} makes other words of {bench} at {side} x {side} cells than {}: its \
                 times would mean nothing; report it with `thalweg compare`",
                first.executor
            ))),
        }
    }
}

fn text(row: &Row) -> String {
    let Row { bench, side, executor, unit, median, min, max, .. } = row;
    // The driver is in the list of devices above the rows.
    let executor = executor.split(" (").next().unwrap_or_default();
    let parts: Vec<_> = row
        .kernels
        .iter()
        .map(KernelRow::text)
        .chain(row.levels.iter().map(LevelRow::text))
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!("  [{}]", parts.join("; ")) };
    format!(
        "{bench:<24} {side:>6}  {executor:<24} {median:>10.2} {unit}  ({min:.2} to {max:.2}){parts}"
    )
}

fn settings(stage: &Stage, values: &[(&str, Value)]) -> Result<Settings> {
    Settings::new(
        stage.params,
        &values.iter().map(|(k, v)| (k.to_string(), v.clone())).collect::<Vec<_>>(),
    )
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let (sizes, rounds) = if a.quick { (vec![256], 1) } else { (a.size.clone(), a.rounds) };
    let device = console.device();
    let mut cpu = device.cpu()?;
    let adapter = match &device.device {
        Device::Auto => automatic(&adapters()).map(Adapter::Index),
        Device::Cpu => None,
        Device::Adapter(adapter) => Some(adapter.clone()),
    };
    // With its limits, which say what bounds it.
    let found = adapter.as_ref().and_then(|adapter| adapter.of(&adapters()).cloned());
    let mut gpu = adapter.map(|adapter| device.gpu(&adapter)).transpose()?;
    let names: Vec<String> =
        [Some(cpu.name()), gpu.as_ref().map(|g| g.name())].into_iter().flatten().collect();
    let (rows, left_out, took, within_s) = (vec![], vec![], BTreeMap::new(), f64::from(a.within));
    let mut bench = Bench {
        console,
        rounds,
        within_s,
        rows,
        left_out,
        took,
        warm_s: 0.0,
        begun: Instant::now(),
    };
    let words = if a.quick { 1 << 20 } else { 1 << 24 };
    machine(&mut bench, &mut cpu, words)?;
    if let Some(gpu) = &mut gpu {
        machine(&mut bench, &mut **gpu, words)?;
    }
    for side in sizes {
        let start = terrain(console, &mut cpu, side)?;
        let mut executors: Vec<&mut dyn Executor> = vec![&mut cpu];
        if let Some(gpu) = &mut gpu {
            executors.push(&mut **gpu);
        }
        // Each on all executors before the next, so that what is done in time can be compared.
        let mut on_each =
            |label: &str, measure: &mut dyn FnMut(&mut Bench, &mut dyn Executor) -> Result<()>| {
                executors.iter_mut().try_for_each(|executor| {
                    let name = executor.name();
                    bench.in_time(label, side, &name, |bench| measure(bench, *executor))
                })
            };
        for run in runs(side) {
            on_each(run.label, &mut |bench, executor| stage(bench, executor, side, &run, &start))?;
        }
        let label = format!("levels of {PYRAMID}");
        on_each(&label, &mut |bench, executor| pyramid(bench, executor, side, &label))?;
        on_each("far windows", &mut |bench, executor| far_window(bench, executor))?;
        on_each("transfers", &mut |bench, executor| transfers(bench, executor, side, &start))?;
        executors.iter_mut().for_each(|executor| executor.release());
        bench.in_time("the sequential loop", side, "classic, 1 thread", |bench| {
            classic(bench, side, &start)
        })?;
        bench.in_time("files", side, "1 thread", |bench| encoding(bench, side, &start))?;
    }
    let left_out = bench.left_out;
    let rows = bench.rows;
    console.result(
        || {
            json!({
                "thalweg": env!("CARGO_PKG_VERSION"), "devices": names, "adapter": found,
                "rounds": rounds, "seconds": console.seconds(), "rows": rows, "left_out": left_out
            })
        },
        || {
            let lines = rows.iter().map(text).chain(left_out.iter().map(LeftOut::text));
            format!("{}\n{}\n", names.join("\n"), lines.collect::<Vec<_>>().join("\n"))
        },
    )?;
    Ok(true)
}

/// Seconds that an executor takes for some passes of a plan.
fn seconds(
    console: &Console,
    executor: &mut dyn Executor,
    plan: &Plan,
    passes: Range<usize>,
) -> Result<f64> {
    let begun = Instant::now();
    executor.run(
        plan,
        passes,
        &mut Control { stop: console.cancel.flag(), progress: &mut |_| Ok(()) },
    )?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Seconds of all passes of a plan: filling its buffers is not measured.
fn whole(console: &Console, executor: &mut dyn Executor, plan: &Plan) -> Result<f64> {
    executor.begin(plan)?;
    let seconds = seconds(console, executor, plan, 0..plan.passes.len());
    executor.end(plan);
    seconds
}

/// A stage as it is measured.
struct Run {
    label: &'static str,
    stage: &'static Stage,
    /// The settings that differ from the defaults.
    settings: Vec<(&'static str, Value)>,
    layers: Layers,
}

fn window(side: u32) -> Window {
    Window { origin: [side as i64; 2], width: side, height: side }
}

/// Each stage, with its default settings where nothing else is said, and droplets at two densities.
fn runs(side: u32) -> Vec<Run> {
    let integer = |v: i64| Value::Integer(v);
    let number = Value::Number;
    let mut runs = vec![];
    for stage in STAGES {
        let mut run = |label, settings: &[(&'static str, Value)], layers| {
            runs.push(Run { label, stage, settings: settings.to_vec(), layers })
        };
        let none = Layers::NONE;
        match stage.name {
            name if name == diamond_square::STAGE.name => {
                let world = (side as u64 * 4).next_power_of_two() as i64;
                let relief_m = number(side as f64 * SPACING_M * 0.15);
                let feature = integer(world / 8);
                run(
                    name,
                    &[
                        ("world_cells", integer(world)),
                        ("feature_cells", feature),
                        ("gain", number(0.55)),
                        ("relief_m", relief_m),
                    ],
                    none,
                );
            }
            name if name == island::STAGE.name => {
                // An island that fills the window.
                let (radius, centre) = (integer(side as i64 / 2), integer(side as i64 * 3 / 2));
                let centres = [("centre_x", centre.clone()), ("centre_y", centre)];
                run(
                    name,
                    &[
                        &centres[..],
                        &[("radius_x_cells", radius.clone()), ("radius_y_cells", radius)],
                    ]
                    .concat(),
                    none,
                );
            }
            name if name == layer::STAGE.name => {
                run("layer, noise", &[("from", Value::Word("noise".into()))], none)
            }
            name if name == droplets::STAGE.name => {
                for (label, density) in
                    [("droplets, density 1", 1.0), ("droplets, density 1/4", 0.25)]
                {
                    // Four lives of each droplet.
                    let rain = ("rain", number(4.0 * density));
                    run(
                        label,
                        &[("density", number(density)), rain, ("lifetime", integer(64))],
                        none,
                    );
                }
            }
            name if name == incision::STAGE.name => {
                // Without a count water falls for twice the map's side before anything is cut.
                run(name, &[("fall", integer(40))], none);
            }
            name if name == wind::STAGE.name => {
                // One life of each grain.
                run(name, &[("rain", number(1.0))], Layers::of(&[Layer::Ledger, Layer::Sediment]));
            }
            name => run(name, &[], none),
        }
    }
    runs
}

/// The plan of a run, checked.
fn plan(run: &Run, side: u32) -> Result<Plan> {
    let site = Site { layers: run.layers, ..Site::bare(window(side), SPACING_M, 7) };
    let settings = settings(run.stage, &run.settings)?;
    (run.stage.check)(&settings, &site)?;
    Ok((run.stage.plan)(&settings, &site))
}

/// The terrain that the stages run on: the first of [`runs`] makes it.
fn terrain(console: &Console, cpu: &mut dyn Executor, side: u32) -> Result<Vec<i32>> {
    let plan = plan(&runs(side)[0], side)?;
    cpu.admits(&plan)?;
    whole(console, cpu, &plan)?;
    cpu.read("height")
}

/// Measures a stage: the steps of particles where it has them, cells of the map otherwise.
fn stage(
    bench: &mut Bench,
    executor: &mut dyn Executor,
    side: u32,
    run: &Run,
    start: &[i32],
) -> Result<()> {
    let console = bench.console;
    let plan = plan(run, side)?;
    executor.admits(&plan)?;
    // Two cells of loose sediment everywhere.
    let ledger: Option<Vec<i32>> = run
        .layers
        .has(Layer::Ledger)
        .then(|| start.iter().flat_map(|&height| [height, 2 * CELL, 0, 0]).collect());
    let prepare = |executor: &mut dyn Executor| {
        executor.write("height", start)?;
        ledger.as_ref().map_or(Ok(()), |ledger| executor.write("ledger", ledger))
    };
    // A run that looks at the clock after every pass, for the seconds of the kernels. It also warms
    // up, and leaves the words.
    prepare(executor)?;
    executor.begin(&plan)?;
    let begun = Instant::now();
    let mut kernels: Vec<KernelRow> = vec![];
    // Of each kernel, its additions that do not depend on the particles, and whether it moves
    // these.
    let mut adds: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    let mut by_device = executor.clocked(&plan, 0..plan.passes.len())?;
    let is_clocked = by_device.is_some();
    while is_clocked && begun.elapsed().as_secs_f64() < WARM_S {
        console.check()?;
        bench.warm_s = begun.elapsed().as_secs_f64();
        executor.end(&plan);
        prepare(executor)?;
        executor.begin(&plan)?;
        by_device = executor.clocked(&plan, 0..plan.passes.len())?;
    }
    for (i, pass) in plan.passes.iter().enumerate() {
        // By the host's clock a kernel's first pass has its compilation in it.
        let (clock, seconds) = match &by_device {
            Some(seconds) => ("device", seconds[i]),
            None => ("host", seconds(console, executor, &plan, i..i + 1)?),
        };
        let read: usize = pass.kernel.reads.iter().map(|name| plan.buffer(name).words).sum();
        let written: usize =
            pass.kernel.owns.iter().map(|(_, each)| pass.count() as usize * each).sum();
        let gb = (read + written) as f64 * 4.0 / 1e9;
        let (name, passes, of_copy) = (pass.kernel.entry, 1, 0.0);
        if pass.disjoint.is_some() {
            adds.insert(name, (0, true));
        } else if pass.kernel.owns.is_empty() {
            adds.entry(name).or_default().0 += u64::from(pass.count());
        }
        match kernels.iter_mut().find(|kernel| kernel.name == name) {
            Some(kernel) => {
                kernel.passes += 1;
                kernel.seconds += seconds;
                kernel.model_gb_s += gb;
            }
            None => {
                let (additions_m_s, of_additions) = (None, None);
                kernels.push(KernelRow {
                    name,
                    passes,
                    seconds,
                    clock,
                    model_gb_s: gb,
                    of_copy,
                    additions_m_s,
                    of_additions,
                });
            }
        }
    }
    let mut first = Some(begun.elapsed().as_secs_f64()).filter(|seconds| *seconds > ROW_S);
    executor.end(&plan);
    let unit = if run.stage.work.is_some() { STEPS } else { CELLS };
    let name = executor.name();
    let digests = left(executor, &plan)?;
    bench.agrees(run.label, side, &name, &digests)?;
    let work: u64 = match run.stage.work {
        Some(buffer) => executor.sum(buffer, false)? as u64,
        None => start.len() as u64,
    };
    // While words were compared, the card waited.
    let warm = Instant::now();
    while is_clocked && first.is_none() && warm.elapsed().as_secs_f64() < WARM_S {
        prepare(executor)?;
        whole(console, executor, &plan)?;
    }
    bench.warm_s += warm.elapsed().as_secs_f64();
    let row = bench.row(run.label, side, &name, unit, || {
        if let Some(seconds) = first.take() {
            return Ok(work as f64 / seconds / 1e6);
        }
        prepare(executor)?;
        Ok(work as f64 / whole(console, executor, &plan)? / 1e6)
    })?;
    row.digests = digests;
    let [copy, additions] =
        [COPY, ADDITIONS].map(|bound| bench.median(bound, &name).unwrap_or(f64::INFINITY));
    for kernel in &mut kernels {
        let seconds = kernel.seconds.max(1e-9);
        kernel.model_gb_s /= seconds;
        kernel.of_copy = kernel.model_gb_s / copy;
        kernel.additions_m_s = adds.get(kernel.name).map(|&(fixed, moves)| {
            let all = fixed + if moves { PARTICLE_ADDITIONS * work } else { 0 };
            all as f64 / seconds / 1e6
        });
        kernel.of_additions = kernel.additions_m_s.map(|rate| rate / additions);
    }
    bench.rows.last_mut().into_iter().for_each(|row| row.kernels = std::mem::take(&mut kernels));
    Ok(())
}

/// A whole recipe from coarse to fine, as `thalweg run` computes it: with what it reads after each
/// stage, and without files.
fn pyramid(bench: &mut Bench, executor: &mut dyn Executor, side: u32, label: &str) -> Result<()> {
    let (console, name) = (bench.console, executor.name());
    let text = EXAMPLES.iter().find(|(known, _)| *known == PYRAMID).map_or("", |(_, text)| *text);
    let mut recipe = Recipe::from_toml(text, "", PYRAMID)?;
    (recipe.window.width, recipe.window.height) = (side, side);
    let job = console.configure(Job::new(recipe)?);
    let run = |executor: &mut dyn Executor| -> Result<Vec<LevelRow>> {
        let mut levels: Vec<LevelRow> = vec![];
        let mut begun = Instant::now();
        job.compute_on(executor, &mut |event| {
            if let Event::Stage(done) = event {
                let (level, passes, seconds) =
                    (done.on_level(), done.report().passes, begun.elapsed().as_secs_f64());
                begun = Instant::now();
                match levels.iter_mut().find(|row| row.level == level) {
                    Some(row) => {
                        (row.passes, row.seconds) = (row.passes + passes, row.seconds + seconds)
                    }
                    None => {
                        let side = Schedule::on_level(&job.schedule().world(), level).width;
                        levels.push(LevelRow { level, side, passes, seconds });
                    }
                }
            }
            Ok(())
        })?;
        Ok(levels)
    };
    // The first run warms up, and leaves the words.
    let begun = Instant::now();
    let mut first = Some(run(executor)?).filter(|_| begun.elapsed().as_secs_f64() > ROW_S);
    let digests = ["height", "flow"]
        .into_iter()
        .map(|map| Ok((map, digest(&executor.read(map)?))))
        .collect::<Result<_>>()?;
    bench.agrees(label, side, &name, &digests)?;
    let mut levels = vec![];
    let row = bench.row(label, side, &name, "ms", || {
        levels = first.take().map_or_else(|| run(executor), Ok)?;
        Ok(levels.iter().map(|level| level.seconds).sum::<f64>() * 1e3)
    })?;
    (row.digests, row.levels) = (digests, levels);
    executor.clear();
    Ok(())
}

/// The same window of worlds of 2⁹ to 2³⁰ cells a side: it takes as long in all of them.
fn far_window(bench: &mut Bench, executor: &mut dyn Executor) -> Result<()> {
    let stage = &diamond_square::STAGE;
    let rows = [
        (9, "window of a 2^9 world"),
        (16, "window of a 2^16 world"),
        (23, "window of a 2^23 world"),
        (30, "window of a 2^30 world"),
    ];
    for (bits, label) in rows {
        let origin = [((1i64 << bits) - 512) / 2; 2];
        let window = Window { origin, width: 512, height: 512 };
        let settings = settings(stage, &[("world_cells", Value::Integer(1 << bits))])?;
        let plan = (stage.plan)(&settings, &Site::bare(window, SPACING_M, 7));
        executor.admits(&plan)?;
        let (console, name) = (bench.console, executor.name());
        // The first run warms up.
        whole(console, executor, &plan)?;
        let round = || Ok(whole(console, executor, &plan)? * 1e9 / window.cells() as f64);
        bench.row(label, 512, &name, "ns/cell", round)?;
    }
    Ok(())
}

/// What it costs to write a map to the executor and to read it back.
fn transfers(
    bench: &mut Bench,
    executor: &mut dyn Executor,
    side: u32,
    start: &[i32],
) -> Result<()> {
    let name = executor.name();
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
    })?;
    Ok(())
}

/// The loop over one droplet after another, with half as many droplets as the stage at density 1/4.
fn classic(bench: &mut Bench, side: u32, start: &[i32]) -> Result<()> {
    let heights: Vec<f32> = start.iter().map(|&w| w as f32 / CELL as f32).collect();
    let p = Droplets {
        count: (start.len() as u64 / 2).min(CLASSIC_MAX),
        seed: 8,
        lifetime: 64,
        radius: 3,
        brush: Brush::Stencil,
        sorted: true,
        ..Droplets::default()
    };
    bench.row("droplets", side, "classic, 1 thread", STEPS, || {
        let mut heights = heights.clone();
        let begun = Instant::now();
        let report = erode(&mut heights, side as usize, side as usize, &p, None);
        Ok(report.steps as f64 / begun.elapsed().as_secs_f64() / 1e6)
    })?;
    Ok(())
}

/// Encodes files in memory, without writing them to the disk.
fn encoding(bench: &mut Bench, side: u32, start: &[i32]) -> Result<()> {
    let data = start.iter().map(|&w| (w as f64 / CELL as f64 * SPACING_M) as f32).collect();
    let map =
        Map { width: side, height: side, spacing_m: SPACING_M, data, range_m: None, georef: None };
    for (name, format) in [("encode 16-bit PNG", MapFormat::Png), ("encode TIFF", MapFormat::Tiff)]
    {
        bench.row(name, side, "1 thread", CELLS, || {
            let begun = Instant::now();
            std::hint::black_box(encode(&map, format)?);
            Ok(start.len() as f64 / begun.elapsed().as_secs_f64() / 1e6)
        })?;
    }
    Ok(())
}

/// The bounds of the machine: what a gather (the copy) and a scatter (the additions) can reach at
/// most.
fn machine(bench: &mut Bench, executor: &mut dyn Executor, words: usize) -> Result<()> {
    let (console, name, side) = (bench.console, executor.name(), words.isqrt() as u32);
    let plan = probes::plan(words);
    let (copies, additions) = (0..probes::COPIES, probes::COPIES..plan.passes.len());
    executor.admits(&plan)?;
    executor.begin(&plan)?;
    // The first run warms up.
    seconds(console, executor, &plan, 0..plan.passes.len())?;
    bench.row(COPY, side, &name, "GB/s", || {
        Ok(probes::copied_gb(words) / seconds(console, executor, &plan, copies.clone())?)
    })?;
    bench.row(ADDITIONS, side, &name, "M/s", || {
        Ok(words as f64 / 4.0 / seconds(console, executor, &plan, additions.clone())? / 1e6)
    })?;
    executor.end(&plan);
    let (plan, floors) = probes::floors(words);
    executor.begin(&plan)?;
    for (floor, unit, passes, work) in floors {
        // The first run warms up. Then as many as take long enough to be measured.
        seconds(console, executor, &plan, passes.clone())?;
        let once = seconds(console, executor, &plan, passes.clone())?.max(1e-9);
        let times = (LONG_ENOUGH_S / once).ceil().clamp(1.0, 1e5) as u32;
        bench.row(floor, side, &name, unit, || {
            let begun = Instant::now();
            for _ in 0..times {
                seconds(console, executor, &plan, passes.clone())?;
            }
            let each = begun.elapsed().as_secs_f64() / f64::from(times);
            Ok(if work > 0.0 { work / each } else { each * 1e6 / passes.len() as f64 })
        })?;
    }
    let tiny = plan.passes.len() - probes::TINY..plan.passes.len();
    // A CPU writes nothing down.
    if executor.recorded(&plan, tiny.clone())?.is_some() {
        bench.row("encode a pass", side, &name, "us", || {
            let (mut seconds, mut times) = (0.0, 0);
            while seconds < LONG_ENOUGH_S {
                seconds += executor.recorded(&plan, tiny.clone())?.unwrap_or(f64::INFINITY);
                times += tiny.len();
            }
            Ok(seconds * 1e6 / times as f64)
        })?;
    }
    executor.end(&plan);
    executor.release();
    Ok(())
}
