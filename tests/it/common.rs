//! What the tests share: the cases of all stages, executors, and the adapter, if there is one.

use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence, RngSeed};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::exec::{Control, Executor};
use thalweg::params::{Settings, Value};
use thalweg::plan::Plan;
use thalweg::site::{Site, Window};
use thalweg::stage::{Case, Stage};
pub use thalweg::vectors::{cases, site};
use thalweg::{Job, Map, Outcome, Recipe, vectors};

/// The plan of a case, with junk in the buffers that are unset.
pub fn plan(stage: &Stage, case: &Case) -> Plan {
    vectors::plan(stage, case).unwrap_or_else(|e| panic!("{} {}: {e}", stage.name, case.name))
}

/// Writes the surface and the layers of a case, unless the stage makes heights from nothing.
pub fn prepare(stage: &Stage, case: &Case, executor: &mut dyn Executor) {
    vectors::prepare(stage, case, executor).unwrap();
}

/// Runs a case and reads every buffer of its plan.
pub fn everything(
    stage: &Stage,
    case: &Case,
    executor: &mut dyn Executor,
) -> Vec<(&'static str, Vec<i32>)> {
    vectors::everything(stage, case, executor).unwrap()
}

/// A site for what does not depend on one.
pub fn anywhere() -> Site {
    Site::bare(Window::sized(8, 8), 10.0, 1)
}

/// How property tests draw their cases: always the same ones, so that a run can be repeated.
/// `THALWEG_SOAK=CASES` draws that many new ones instead. Cases that failed are kept in
/// `tests/regressions.txt` and run first.
pub fn config(cases: u32) -> ProptestConfig {
    let soak = std::env::var("THALWEG_SOAK")
        .ok()
        .map(|cases| cases.parse().expect("THALWEG_SOAK is a number of cases"));
    ProptestConfig {
        cases: soak.unwrap_or(cases),
        rng_seed: if soak.is_some() { RngSeed::Random } else { RngSeed::Fixed(1) },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..ProptestConfig::default()
    }
}

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regressions.txt");

pub fn run(executor: &mut dyn Executor, plan: &Plan, passes: std::ops::Range<usize>) {
    static STOP: AtomicBool = AtomicBool::new(false);
    executor.run(plan, passes, &mut Control { stop: &STOP, progress: &mut |_| Ok(()) }).unwrap();
}

pub fn cpu() -> Cpu {
    Cpu::new(2, Order::default()).unwrap()
}

/// The recipe of a manifest is a recipe again, and the same: P5
#[cfg(feature = "io")]
pub fn survives_description(recipe: &Recipe) {
    let described = recipe.describe();
    let again = Recipe::from_json(&described.to_string(), &recipe.folder, "again")
        .unwrap_or_else(|e| panic!("{e}: {described}"));
    assert_eq!(again.describe(), described);
}

/// Hills, 0 to 400 m, at 10 m a cell.
#[cfg(feature = "cli")]
pub fn hills(width: u32, height: u32) -> Map {
    let height_at = |row: u32, column: u32| {
        200.0 + 100.0 * ((row as f32 * 0.3).sin() + (column as f32 * 0.2).cos())
    };
    let data =
        (0..height).flat_map(|row| (0..width).map(move |column| height_at(row, column))).collect();
    Map { width, height, spacing_m: 10.0, data, range_m: None, georef: None }
}

/// What a run leaves, with its maps as values and the digests of their words.
pub struct Made {
    pub maps: BTreeMap<&'static str, Map>,
    pub digests: BTreeMap<&'static str, String>,
    pub outcome: Outcome,
}

impl Made {
    pub fn of(outcome: Outcome) -> Self {
        let maps = outcome.names().map(|name| (name, outcome.map(name).unwrap())).collect();
        let digests =
            outcome.names().map(|name| (name, outcome.digest(name).unwrap().to_string())).collect();
        Self { maps, digests, outcome }
    }
}

/// Runs a recipe that makes its own heights.
pub fn made(recipe: &Recipe, executor: &mut dyn Executor) -> Made {
    Made::of(Job::new(recipe.clone()).unwrap().run_on(executor, &mut |_| Ok(())).unwrap())
}

/// Names a test that is left out. Writes to the stream itself, because the test harness captures
/// what macros print.
pub fn left_out(test: &str, mode: &str) {
    let line = format!("LEFT OUT (THALWEG_GPU={mode}, no adapter used): {test}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The adapter for a test. Without one, prints that the test is left out. `THALWEG_GPU=require`
/// makes a missing adapter a failure, and `off` leaves all GPU tests out.
#[cfg(feature = "gpu")]
pub fn gpu(test: &str, workgroup: u32, split: Option<u32>) -> Option<thalweg::Gpu> {
    let mode = std::env::var("THALWEG_GPU").unwrap_or_else(|_| "auto".into());
    assert!(
        ["require", "auto", "off"].contains(&mode.as_str()),
        "THALWEG_GPU={mode}: allowed require, auto, off"
    );
    if mode == "off" || (mode == "auto" && thalweg::adapters().is_empty()) {
        left_out(test, &mode);
        return None;
    }
    Some(
        thalweg::Gpu::open(&thalweg::Adapter::Best, workgroup, split)
            .unwrap_or_else(|e| panic!("{test}: {e}")),
    )
}

/// There is none in a build without the feature.
#[cfg(not(feature = "gpu"))]
pub fn gpu(test: &str, _: u32, _: Option<u32>) -> Option<Cpu> {
    left_out(test, "built without the feature");
    None
}

/// The words that a generator makes on a site.
pub fn generated(stage: &Stage, settings: &[(&str, Value)], site: &Site) -> Vec<i32> {
    let given: Vec<(String, Value)> =
        settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let settings = Settings::new(stage.params, &given).unwrap();
    (stage.check)(&settings, site).unwrap();
    let plan = (stage.plan)(&settings, site);
    let mut cpu = cpu();
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    let mut words = cpu.read("height").unwrap();
    words.truncate(site.window.cells());
    words
}

/// A generator's land is the same in every window and on every level: heights in metres of a
/// coarser level, and of a finer one if it has some, are those of the recipe's lattice at the same
/// places, to within so many words.
pub fn same_everywhere(
    stage: &Stage,
    settings: &[(&str, Value)],
    whole: Window,
    finer: bool,
    within: i64,
) {
    let site = |window: Window, level: i32| {
        let spacing = 10.0 * 2f64.powi(level);
        Site { own: whole, level, ..Site::bare(window, spacing, 77) }
    };
    let all = generated(stage, settings, &site(whole, 0));
    assert!(all.iter().any(|h| *h != all[0]), "{}: level", stage.name);
    let (w, h) = (whole.width as i64, whole.height as i64);
    let at =
        |x: i64, y: i64| i64::from(all[((y - whole.origin[1]) * w + x - whole.origin[0]) as usize]);
    let [left, top] = whole.origin;
    let part = Window {
        origin: [left + w / 3, top + h / 4],
        width: whole.width / 2,
        height: whole.height / 3,
    };
    for (i, word) in generated(stage, settings, &site(part, 0)).into_iter().enumerate() {
        let (x, y) = (
            part.origin[0] + i as i64 % i64::from(part.width),
            part.origin[1] + i as i64 / i64::from(part.width),
        );
        assert_eq!(i64::from(word), at(x, y), "{} at {x} {y}", stage.name);
    }
    for level in [1, 3] {
        let step = 1i64 << level;
        let first = whole.origin.map(|o| o.div_euclid(step) + 1);
        let window =
            Window { origin: first, width: (w / step - 2) as u32, height: (h / step - 2) as u32 };
        for (i, word) in generated(stage, settings, &site(window, level)).into_iter().enumerate() {
            let (x, y) = (
                first[0] + i as i64 % i64::from(window.width),
                first[1] + i as i64 / i64::from(window.width),
            );
            let off = i64::from(word) * step - at(x * step, y * step);
            assert!(
                off.abs() <= within * step,
                "{} level {level} at {x} {y}: off by {off}",
                stage.name
            );
        }
    }
    if finer {
        let window = Window { origin: whole.origin.map(|o| (o + 2) * 4), width: 33, height: 21 };
        for (i, word) in generated(stage, settings, &site(window, -2)).into_iter().enumerate() {
            let (x, y) = (window.origin[0] + i as i64 % 33, window.origin[1] + i as i64 / 33);
            if x % 4 == 0 && y % 4 == 0 {
                let off = i64::from(word) - at(x / 4, y / 4) * 4;
                assert!(
                    off.abs() <= within * 4,
                    "{} of scale 4 at {x} {y}: off by {off}",
                    stage.name
                );
            }
        }
    }
}

/// Every place in a value.
pub fn places(value: &serde_json::Value, at: String, found: &mut Vec<String>) {
    found.push(at.clone());
    match value {
        serde_json::Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| places(value, format!("{at}/{i}"), found))
        }
        serde_json::Value::Object(table) => {
            table.iter().for_each(|(key, value)| places(value, format!("{at}/{key}"), found))
        }
        _ => {}
    }
}

/// The number of rounds of a randomised test; `THALWEG_ROUNDS` multiplies it for a long search.
pub fn rounds(n: u32) -> u32 {
    let times = std::env::var("THALWEG_ROUNDS").ok().and_then(|v| v.parse().ok()).unwrap_or(1u32);
    n.saturating_mul(times.max(1))
}

/// Sends a signal to a process, by the shell: a bare system has no program `kill`.
#[cfg(all(unix, feature = "cli"))]
pub fn signal(name: &str, process: u32) {
    let line = format!("kill -{name} {process}");
    assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
}
