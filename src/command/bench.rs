//! `thalweg bench`: measures each stage on each executor, the bounds of the machine, and the
//! sequential loop.

mod runs;

use super::console::Console;
use clap::Args;
use runs::{classic, encoding, far_window, machine, pyramid, runs, stage, terrain, transfers};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;
use thalweg::device::automatic;
use thalweg::exec::Adapter;
use thalweg::exec::Executor;
use thalweg::job::digest;
use thalweg::params::{Settings, Value};
use thalweg::plan::Plan;
use thalweg::site::Window;
use thalweg::stage::Stage;
use thalweg::{Device, Error, Result, adapters};

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
    /// The steps that particles made on the map in a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
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
    /// GB/s, counting once each word that it reads or owns, except in the part of the map that it
    /// passed over. What it adds is left out.
    model_gb_s: f64,
    /// That as a part of what a copy reaches on the executor.
    of_copy: f64,
    /// Millions of additions a second, if every particle makes all that it can in a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    additions_m_s: Option<f64>,
    /// That as a part of what random additions reach on the executor.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_additions: Option<f64>,
    /// The mean part of the map that its passes had no need to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_over: Option<f64>,
}

impl KernelRow {
    /// Its seconds, the part of a bound that it reaches, and the part of the map that it passed
    /// over. The bound is that of additions for a kernel that adds, else that of the copy.
    fn text(&self) -> String {
        let (part, bound) = match self.of_additions {
            Some(part) => (part, "additions"),
            None => (self.of_copy, "copy"),
        };
        let quiet = self.passed_over.filter(|part| *part >= 0.005);
        let quiet = quiet.map_or(String::new(), |part| {
            format!(", {:.0} % of the map passed over", part * 100.0)
        });
        format!("{} {:.3} s, {:.0} % of {bound}{quiet}", self.name, self.seconds, part * 100.0)
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
    /// Seconds in which this measurement warmed the device up and timed its kernels.
    beside_s: f64,
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
        // Of an odd number of figures these two are the same one.
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
            steps: None,
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
            // Work grows with the cells, and these with the square of the side.
            seconds * (f64::from(side) / f64::from(*before)).powi(2)
        });
        // A run that warms up, and one that counts; a long run does both.
        let seconds = if run_s > ROW_S { run_s } else { 2.0 * run_s } + WARM_S;
        let alone = self.left_out.iter().any(|other| other.bench == bench && other.side == side);
        if alone || self.console.seconds() + seconds > self.within_s && run_s > 0.0 {
            let (bench, executor) = key;
            self.left_out.push(LeftOut { bench, side, executor, seconds });
            self.console.note(self.left_out[self.left_out.len() - 1].text());
            return Ok(());
        }
        let (begun, rows) = (Instant::now(), self.rows.len());
        self.beside_s = 0.0;
        match measure(self) {
            Err(e @ Error::Limit(_)) => self.console.warn(format!("{bench}: {e}")),
            done => done?,
        }
        // The run that warms up has no figure, but took its time.
        let runs = self.rows[rows..].iter().map(|row| row.rounds).sum::<usize>() + 1;
        let seconds = begun.elapsed().as_secs_f64() - self.beside_s;
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
    let steps = row.steps.map(|steps| format!("{:.1} M steps", steps as f64 / 1e6));
    let parts: Vec<_> = steps
        .into_iter()
        .chain(row.kernels.iter().map(KernelRow::text))
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
        beside_s: 0.0,
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
        bench.in_time("files", side, &names[0], |bench| encoding(bench, side, &start))?;
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
