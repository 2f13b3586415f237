//! The fixed cases: small runs of every stage whose digests are in `tests/vectors.txt`. Every
//! executor, processor and page leaves the same words.

use crate::arith::{CELL, HEIGHT_BITS, mix};
use crate::error::Result;
use crate::exec::{Control, Executor};
use crate::job;
use crate::params::{Settings, Value};
use crate::plan::{Buffer, Plan};
use crate::site::{Layer, Site};
use crate::stage::{Case, INNER, STAGES, Stage, layer, levels, strokes};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

/// The stored digests: a line of the stage, the case and the digest for each.
pub const DIGESTS: &str = include_str!("../tests/vectors.txt");

/// Every stage, those between levels too.
pub fn stages() -> impl Iterator<Item = &'static Stage> {
    STAGES.into_iter().chain(INNER)
}

/// Every case of every stage.
pub fn cases() -> impl Iterator<Item = (&'static Stage, Case)> {
    stages().flat_map(|stage| (stage.cases)().into_iter().map(move |case| (stage, case)))
}

/// The site of a case.
pub fn site(case: &Case) -> Site {
    Site { layers: case.layers, ..Site::bare(case.window, 10.0, 12345) }
}

/// The plan of a case, with junk in the buffers that are unset.
///
/// # Errors
/// [`crate::Error::Param`] for a case that the stage refuses.
pub fn plan(stage: &Stage, case: &Case) -> Result<Plan> {
    let given: Vec<(String, Value)> =
        case.settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let mut settings = Settings::new(stage.params, &given)?;
    strokes::pictures().into_iter().for_each(|(name, picture)| settings.show(&name, picture));
    (stage.check)(&settings, &site(case))?;
    let mut plan = (stage.plan)(&settings, &site(case));
    if case.layers.has(Layer::Ledger) && !INNER.iter().any(|inner| inner.name == stage.name) {
        layer::keep_ledger(&mut plan, &site(case), case.name == "opened");
    }
    Ok(plan.with_junk())
}

/// Writes what a plan between levels takes: heights and changes up to the limits, and sums that are
/// not negative.
fn prepare_levels(stage: &Stage, case: &Case, executor: &mut dyn Executor) -> Result<()> {
    for (n, (name, _, words)) in levels::waiting(&plan(stage, case)?).into_iter().enumerate() {
        let noise = |i: usize| mix(i as u32 ^ mix(100 + n as u32)) as i32;
        // The ground and the mask of a generator are those of the case.
        if (stage.is_generator || stage.name == "combine") && name != "ground" {
            continue;
        }
        let word = |i: usize| match name.split(' ').next() {
            // Half of the range, since cells of the coarser level are twice as high.
            Some("ground") => noise(i) / 8192 * 8000,
            Some("height") => (noise(i) >> 1) / 8192 * 8000,
            Some("ledger") if i % 7 == 2 => i32::MAX,
            Some("ledger") if i % 4 == 1 => noise(i) & 0xfff_ffff,
            Some("rain" | "hardness" | "vegetation" | "uplift") => noise(i) & 0xffff,
            Some("loose") => noise(i) & 0xfff_ffff,
            _ => noise(i) & i32::MAX,
        };
        executor.write(name, &(0..words).map(word).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Writes the surface and the layers of a case, unless the stage makes heights from nothing.
///
/// # Errors
/// What the executor has.
pub fn prepare(stage: &Stage, case: &Case, executor: &mut dyn Executor) -> Result<()> {
    if stage.is_generator && case.settings.iter().all(|(name, _)| *name != "combine") {
        return Ok(());
    }
    let heights = case.surface.heights(&case.window);
    executor.write("height", &heights)?;
    // Noise in every layer that the case has, and in the mask.
    let noise = |purpose, i| mix(i as u32 ^ mix(purpose));
    let fractions = |purpose| {
        (0..heights.len()).map(|i| (noise(purpose, i) % 65537) as i32).collect::<Vec<_>>()
    };
    for (name, layer, purpose) in [
        ("rain", Layer::Rain, 1),
        ("hardness", Layer::Hardness, 2),
        ("vegetation", Layer::Vegetation, 3),
        ("uplift", Layer::Uplift, 8),
    ] {
        if case.layers.has(layer) {
            executor.write(name, &fractions(purpose))?;
        }
    }
    if case.layers.has(Layer::Passed) {
        // Brooks and rivers, up to the most that comes up.
        let passed = |i| (noise(7, i) >> 2 >> (i % 31)) as i32;
        executor.write("passed", &(0..heights.len()).map(passed).collect::<Vec<_>>())?;
    }
    if case.layers.has(Layer::Water) {
        // Some of it deep, some below the ground, and areas up to the most there can be.
        let level = |(i, h): (usize, &i32)| h.saturating_add((noise(9, i) as i32) >> (8 + i % 16));
        executor.write("surface", &heights.iter().enumerate().map(level).collect::<Vec<_>>())?;
        let area = |i| (noise(10, i) >> 1 >> (i % 31)) as i32;
        executor.write("area", &(0..heights.len()).map(area).collect::<Vec<_>>())?;
    }
    executor.write("mask", &fractions(4))?;
    executor.write("flow", &heights.iter().map(|h| h & i32::MAX).collect::<Vec<_>>())?;
    if case.layers.has(Layer::Ledger) {
        // A third of the cells are bare, the height has changed since the last entry, and some sums
        // are at their maximum.
        let record = |(i, h): (usize, &i32)| {
            let thick = (noise(5, i) % (3 << HEIGHT_BITS)) as i32 - CELL;
            [
                h.wrapping_add(thick / 2),
                thick.max(0),
                (noise(6, i) >> 1) as i32 | 1 << 30,
                if i % 7 == 0 { i32::MAX } else { 3 },
            ]
        };
        let words: Vec<i32> = heights.iter().enumerate().flat_map(record).collect();
        executor.write("ledger", &words)?;
    }
    prepare_levels(stage, case, executor)
}

/// Runs a case and reads every buffer of its plan.
///
/// # Errors
/// What the executor has.
pub fn everything(
    stage: &Stage,
    case: &Case,
    executor: &mut dyn Executor,
) -> Result<Vec<(&'static str, Vec<i32>)>> {
    static STOP: AtomicBool = AtomicBool::new(false);
    let plan = plan(stage, case)?;
    prepare(stage, case, executor)?;
    executor.begin(&plan)?;
    let control = &mut Control { stop: &STOP, progress: &mut |_| Ok(()) };
    executor.run(&plan, 0..plan.passes.len(), control)?;
    let read = |buffer: &Buffer| Ok((buffer.name, executor.read(buffer.name)?));
    let all = plan.buffers.iter().map(read).collect();
    executor.end(&plan);
    all
}

/// Runs a case and digests the words that it leaves, as the vectors have them.
///
/// # Errors
/// What the executor has.
pub fn digest(stage: &Stage, case: &Case, executor: &mut dyn Executor) -> Result<String> {
    let plan = plan(stage, case)?;
    let kept: Vec<&str> = plan.kept().map(|buffer| buffer.name).collect();
    let all = everything(stage, case, executor)?;
    let words = all.into_iter().filter(|(name, _)| kept.contains(name));
    Ok(job::digest(&words.flat_map(|(_, words)| words).collect::<Vec<i32>>()))
}

/// A case whose words are not those that are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// The stage and the case.
    pub name: String,
    /// The digest of the words that the executor made.
    pub made: String,
    /// The digest that is stored, if one is.
    pub stored: Option<String>,
}

/// What an executor makes of all cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// How many cases there are.
    pub cases: usize,
    /// BLAKE3 of a line for each case, as [`DIGESTS`] has them: the same wherever all words are.
    pub digest: String,
    /// The cases with other words.
    pub differing: Vec<Differing>,
}

/// Runs every case, calls `each` before it, and holds its words against `stored`, which has lines
/// as [`DIGESTS`].
///
/// # Errors
/// What the executor and `each` have.
pub fn check(
    executor: &mut dyn Executor,
    stored: &str,
    each: &mut dyn FnMut() -> Result<()>,
) -> Result<Checked> {
    let stored: HashMap<&str, &str> =
        stored.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    let (mut cases, mut lines, mut differing) = (0, blake3::Hasher::new(), vec![]);
    for (stage, case) in self::cases() {
        each()?;
        let made = digest(stage, &case, executor)?;
        let name = format!("{} {}", stage.name, case.name);
        cases += 1;
        lines.update(format!("{name} {made}\n").as_bytes());
        let stored = stored.get(&*name).map(|digest| digest.to_string());
        if stored.as_ref() != Some(&made) {
            differing.push(Differing { name, made, stored });
        }
    }
    Ok(Checked { cases, digest: lines.finalize().to_hex().to_string(), differing })
}
