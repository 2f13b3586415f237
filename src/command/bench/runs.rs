//! What is run and timed.

use super::super::console::Console;
use super::super::probes;
use super::{
    ADDITIONS, Bench, CELLS, CLASSIC_MAX, COPY, KernelRow, LONG_ENOUGH_S, LevelRow,
    PARTICLE_ADDITIONS, PYRAMID, ROW_S, SPACING_M, STEPS, WARM_S, left, settings,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;
use thalweg::arith::CELL;
use thalweg::classic::droplets::{Brush, Droplets, erode};
use thalweg::exec::{Control, Executor};
use thalweg::io::{MapFormat, encode};
use thalweg::job::{Event, digest};
use thalweg::map::Map;
use thalweg::params::Value;
use thalweg::plan::{Pass, Plan};
use thalweg::recipe::EXAMPLES;
use thalweg::schedule::Schedule;
use thalweg::site::{Layer, Layers, Site, Window};
use thalweg::stage::{STAGES, Stage, diamond_square, droplets, incision, island, layer, wind};
use thalweg::{Job, Recipe, Result};

/// Seconds that an executor takes for some passes of a plan.
pub(super) fn seconds(
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
pub(super) struct Run {
    pub(super) label: &'static str,
    pub(super) stage: &'static Stage,
    /// The settings that differ from the defaults.
    pub(super) settings: Vec<(&'static str, Value)>,
    layers: Layers,
}

fn window(side: u32) -> Window {
    Window { origin: [side as i64; 2], width: side, height: side }
}

/// Each stage, with its default settings where nothing else is said, and droplets at two densities.
pub(super) fn runs(side: u32) -> Vec<Run> {
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
pub(super) fn plan(run: &Run, side: u32) -> Result<Plan> {
    let site = Site { layers: run.layers, ..Site::bare(window(side), SPACING_M, 7) };
    let settings = settings(run.stage, &run.settings)?;
    (run.stage.check)(&settings, &site)?;
    Ok((run.stage.plan)(&settings, &site))
}

/// The terrain that the stages run on: `diamond_square` makes it.
pub(super) fn terrain(console: &Console, cpu: &mut dyn Executor, side: u32) -> Result<Vec<i32>> {
    let run = runs(side).into_iter().find(|run| run.stage.name == diamond_square::STAGE.name);
    let plan = plan(&run.expect("a row of diamond_square"), side)?;
    cpu.admits(&plan)?;
    whole(console, cpu, &plan)?;
    cpu.read("height")
}

/// The plan of a stage, and what is written before each run of it.
struct Trial<'a> {
    plan: Plan,
    start: &'a [i32],
    ledger: Option<Vec<i32>>,
}

impl<'a> Trial<'a> {
    fn of(run: &Run, side: u32, start: &'a [i32]) -> Result<Self> {
        // Two cells of loose sediment everywhere.
        let ledger = run
            .layers
            .has(Layer::Ledger)
            .then(|| start.iter().flat_map(|&height| [height, 2 * CELL, 0, 0]).collect());
        Ok(Self { plan: plan(run, side)?, start, ledger })
    }

    fn prepare(&self, executor: &mut dyn Executor) -> Result<()> {
        executor.write("height", self.start)?;
        self.ledger.as_ref().map_or(Ok(()), |ledger| executor.write("ledger", ledger))
    }
}

/// What the kernels of a plan do.
#[derive(Default)]
struct Kernels {
    /// Until [`Kernels::rates`], `model_gb_s` has gigabytes.
    rows: Vec<KernelRow>,
    /// Of each kernel, its additions that do not depend on the particles, and whether it moves
    /// these.
    adds: BTreeMap<&'static str, (u64, bool)>,
}

impl Kernels {
    fn add(&mut self, plan: &Plan, pass: &Pass, (clock, seconds): (&'static str, f64)) {
        let read: usize = pass.kernel.reads.iter().map(|name| plan.buffer(name).words).sum();
        let written: usize =
            pass.kernel.owns.iter().map(|(_, each)| pass.count() as usize * each).sum();
        let gb = (read + written) as f64 * 4.0 / 1e9;
        let name = pass.kernel.entry;
        if pass.disjoint.is_some() {
            self.adds.insert(name, (0, true));
        } else if pass.kernel.owns.is_empty() {
            self.adds.entry(name).or_default().0 += u64::from(pass.count());
        }
        match self.rows.iter_mut().find(|kernel| kernel.name == name) {
            Some(kernel) => {
                kernel.passes += 1;
                kernel.seconds += seconds;
                kernel.model_gb_s += gb;
            }
            None => self.rows.push(KernelRow {
                name,
                passes: 1,
                seconds,
                clock,
                model_gb_s: gb,
                of_copy: 0.0,
                additions_m_s: None,
                of_additions: None,
                passed_over: None,
            }),
        }
    }

    /// The seconds of all passes.
    fn seconds(&self) -> f64 {
        self.rows.iter().map(|kernel| kernel.seconds).sum()
    }

    /// Takes note of the part of the map that a pass had no need to look at.
    fn pass_over(&mut self, pass: &Pass, part: f64) {
        let is_its = |kernel: &&mut KernelRow| kernel.name == pass.kernel.entry;
        if let Some(kernel) = self.rows.iter_mut().find(is_its) {
            let mean = kernel.passed_over.unwrap_or(0.0);
            kernel.passed_over = Some(mean + (part - mean) / kernel.passes as f64);
        }
    }

    /// The rows, with rates and their shares of what the machine can do. `work` is that of the
    /// whole stage.
    fn rates(mut self, work: u64, [copy, additions]: [f64; 2]) -> Vec<KernelRow> {
        for kernel in &mut self.rows {
            let seconds = kernel.seconds.max(1e-9);
            kernel.model_gb_s *= (1.0 - kernel.passed_over.unwrap_or(0.0)) / seconds;
            kernel.of_copy = kernel.model_gb_s / copy;
            kernel.additions_m_s = self.adds.get(kernel.name).map(|&(fixed, moves)| {
                let all = fixed + if moves { PARTICLE_ADDITIONS * work } else { 0 };
                all as f64 / seconds / 1e6
            });
            kernel.of_additions = kernel.additions_m_s.map(|rate| rate / additions);
        }
        self.rows
    }
}

/// A run that looks at the clock after every pass.
struct ByPass {
    kernels: Kernels,
    /// Whether the executor has a clock of its own.
    is_clocked: bool,
    /// Seconds of the run, where it is so long that it is not repeated.
    long_s: Option<f64>,
}

/// Runs a stage and measures its kernels. This also warms up, and leaves the words.
fn by_pass(console: &Console, executor: &mut dyn Executor, trial: &Trial) -> Result<ByPass> {
    console.check()?;
    let plan = &trial.plan;
    trial.prepare(executor)?;
    executor.begin(plan)?;
    let begun = Instant::now();
    let by_device = executor.clocked(plan, 0..plan.passes.len())?;
    let mut kernels = Kernels::default();
    for (i, pass) in plan.passes.iter().enumerate() {
        // By the host's clock a kernel's first pass has its compilation in it.
        let clocked = match &by_device {
            Some(seconds) => ("device", seconds[i]),
            None => ("host", seconds(console, executor, plan, i..i + 1)?),
        };
        kernels.add(plan, pass, clocked);
        if let Some(part) = executor.passed_over().filter(|_| pass.calm) {
            kernels.pass_over(pass, part);
        }
    }
    let long_s = Some(begun.elapsed().as_secs_f64()).filter(|seconds| *seconds > ROW_S);
    executor.end(plan);
    Ok(ByPass { kernels, is_clocked: by_device.is_some(), long_s })
}

/// Measures a stage: the steps of particles where it has them, cells of the map otherwise.
pub(super) fn stage(
    bench: &mut Bench,
    executor: &mut dyn Executor,
    side: u32,
    run: &Run,
    start: &[i32],
) -> Result<()> {
    let console = bench.console;
    let trial = Trial::of(run, side, start)?;
    let plan = &trial.plan;
    executor.admits(plan)?;
    let ByPass { mut kernels, is_clocked, mut long_s } = by_pass(console, executor, &trial)?;
    let is_repeated = long_s.is_none();
    let unit = if run.stage.work.is_some() { STEPS } else { CELLS };
    let name = executor.name();
    let digests = left(executor, plan)?;
    bench.agrees(run.label, side, &name, &digests)?;
    let work: u64 = match run.stage.work {
        Some(buffer) => executor.sum(buffer, false)? as u64,
        None => start.len() as u64,
    };
    // A card that has waited is slower for a while.
    let warm = Instant::now();
    while is_clocked && is_repeated && warm.elapsed().as_secs_f64() < WARM_S {
        trial.prepare(executor)?;
        whole(console, executor, plan)?;
    }
    bench.beside_s += warm.elapsed().as_secs_f64();
    let row = bench.row(run.label, side, &name, unit, || {
        if let Some(seconds) = long_s.take() {
            return Ok(work as f64 / seconds / 1e6);
        }
        trial.prepare(executor)?;
        Ok(work as f64 / whole(console, executor, plan)? / 1e6)
    })?;
    row.digests = digests;
    row.steps = run.stage.work.map(|_| work);
    // Only now its kernels are as fast as in the rounds, and of as many runs the quickest counts.
    let (rounds, clocked) = (row.rounds, Instant::now());
    if is_clocked && is_repeated {
        kernels = by_pass(console, executor, &trial)?.kernels;
        for _ in 1..rounds {
            let again = by_pass(console, executor, &trial)?.kernels;
            if again.seconds() < kernels.seconds() {
                kernels = again;
            }
        }
    }
    bench.beside_s += clocked.elapsed().as_secs_f64();
    let bounds = [COPY, ADDITIONS].map(|bound| bench.median(bound, &name).unwrap_or(f64::INFINITY));
    if let Some(row) = bench.rows.last_mut() {
        row.kernels = kernels.rates(work, bounds);
    }
    Ok(())
}

/// A whole recipe from coarse to fine, as `thalweg run` computes it: with what it reads after each
/// stage, and without files.
pub(super) fn pyramid(
    bench: &mut Bench,
    executor: &mut dyn Executor,
    side: u32,
    label: &str,
) -> Result<()> {
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
pub(super) fn far_window(bench: &mut Bench, executor: &mut dyn Executor) -> Result<()> {
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
pub(super) fn transfers(
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
pub(super) fn classic(bench: &mut Bench, side: u32, start: &[i32]) -> Result<()> {
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
pub(super) fn encoding(bench: &mut Bench, side: u32, start: &[i32]) -> Result<()> {
    let data = start.iter().map(|&w| (w as f64 / CELL as f64 * SPACING_M) as f32).collect();
    let map =
        Map { width: side, height: side, spacing_m: SPACING_M, data, range_m: None, georef: None };
    // The tiles of a TIFF are compressed side by side.
    let all = match rayon::current_num_threads() {
        1 => "1 thread".into(),
        threads => format!("{threads} threads"),
    };
    for (name, format, threads) in [
        ("encode 16-bit PNG", MapFormat::Png, "1 thread"),
        ("encode TIFF", MapFormat::Tiff, all.as_str()),
    ] {
        bench.row(name, side, threads, CELLS, || {
            let begun = Instant::now();
            std::hint::black_box(encode(&map, format)?);
            Ok(start.len() as f64 / begun.elapsed().as_secs_f64() / 1e6)
        })?;
    }
    Ok(())
}

/// The bounds of the machine: what a gather (the copy) and a scatter (the additions) can reach at
/// most.
pub(super) fn machine(bench: &mut Bench, executor: &mut dyn Executor, words: usize) -> Result<()> {
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
