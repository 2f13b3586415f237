//! Van der Veen's sweeps of number, radius, lifetime and map size of droplets.

use super::common::{seconds, settings};
use super::measure::{Bench, Cell, Law, Line, Report, line_text};
use std::time::Instant;
use thalweg::Result;
use thalweg::arith::CELL;
use thalweg::classic::droplets::{Droplets, erode};
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::plan::Plan;
use thalweg::site::{Site, Window};
use thalweg::stage::{diamond_square, droplets};

/// A row of the article: sweep, value, milliseconds.
const ARTICLE: [(&str, u64, f64); 19] = [
    ("particles", 1000, 17.37),
    ("particles", 5000, 78.62),
    ("particles", 10_000, 156.45),
    ("particles", 50_000, 791.43),
    ("particles", 100_000, 1774.60),
    ("radius_cells", 5, 176.62),
    ("radius_cells", 10, 240.02),
    ("radius_cells", 15, 336.76),
    ("radius_cells", 20, 470.00),
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

const SPACING_M: f64 = 20.0;

/// Measures the four sweeps; with `quick`, the first two values of each. What a sweep does not vary
/// has the article's default, except that the sweep of the radius has 10 000 droplets.
pub fn table(bench: &Bench, executors: &mut [&mut dyn Executor], quick: bool) -> Result<Report> {
    let mut lines: Vec<Line> = vec![];
    for (sweep, value, article_ms) in ARTICLE {
        if quick && lines.iter().filter(|l| l.sweep == sweep).count() == 2 {
            continue;
        }
        let defaults = Droplets::default();
        let (mut count, mut side, mut radius, mut lifetime) =
            (defaults.count, 100u32, defaults.radius, defaults.lifetime);
        match sweep {
            "particles" => count = value,
            "radius_cells" => (count, radius) = (10_000, value as u32),
            "lifetime" => lifetime = value as u32,
            _ => side = value as u32,
        }
        let start = terrain(executors[0], side)?;
        let p = Droplets { count, radius, lifetime, ..defaults };
        let heights: Vec<f32> = start.iter().map(|&w| w as f32 / CELL as f32).collect();
        let mut cells = vec![bench.measure("classic, 1 thread", article_ms, || {
            let mut heights = heights.clone();
            let begun = Instant::now();
            let report = erode(&mut heights, side as usize, side as usize, &p, None);
            Ok((begun.elapsed().as_secs_f64(), count, report.steps))
        })?];
        for executor in executors.iter_mut() {
            cells.push(stage(bench, &mut **executor, article_ms, side, &start, &p)?);
        }
        lines.push(Line { sweep, value, article_ms, cells });
        bench.note(line_text(&lines[lines.len() - 1]));
    }
    let laws = laws(&lines);
    Ok(Report { lines, laws })
}

/// A fractal terrain: the article's is not published.
fn terrain(executor: &mut dyn Executor, side: u32) -> Result<Vec<i32>> {
    let world = (side as u64 * 4).next_power_of_two() as i64;
    let values = [
        ("world_cells", Value::Integer(world)),
        ("feature_cells", Value::Integer(world / 8)),
        ("gain", Value::Number(0.55)),
        ("relief_m", Value::Number(side as f64 * SPACING_M * 0.15)),
    ];
    let stage = &diamond_square::STAGE;
    let plan = (stage.plan)(&settings(stage, &values)?, &site(side, 7));
    executor.admits(&plan)?;
    executor.begin(&plan)?;
    seconds(executor, &plan, 0..plan.passes.len())?;
    executor.end(&plan);
    executor.read("height")
}

fn site(side: u32, seed: u64) -> Site {
    Site::bare(Window { origin: [side as i64; 2], width: side, height: side }, SPACING_M, seed)
}

/// The droplets stage with the settings of the loop, timed from the settings to the heights read
/// back.
fn stage(
    bench: &Bench,
    executor: &mut dyn Executor,
    article_ms: f64,
    side: u32,
    start: &[i32],
    p: &Droplets,
) -> Result<Cell> {
    // As many homes as droplets, or a few more, of which some then have none. If there are more
    // droplets than cells, each home has several.
    let cells = u64::from(side).pow(2);
    let block = (cells / p.count).isqrt().max(1);
    let density = 1.0 / (block * block) as f64;
    let rain = p.count as f64 / cells as f64;
    let number = |v: f32| Value::Number(v as f64);
    let stage = &droplets::STAGE;
    let values = [
        ("density", Value::Number(density)),
        ("rain", Value::Number(rain)),
        ("lifetime", Value::Integer(p.lifetime as i64)),
        ("inertia", number(p.inertia)),
        ("slope_min", number(p.min_slope)),
        ("capacity", number(p.capacity)),
        ("deposition", number(p.deposition_rate)),
        ("erosion", number(p.erosion_rate)),
        ("gravity", number(p.gravity)),
        ("evaporation", number(p.evaporation_rate)),
        ("radius_cells", Value::Number(p.radius as f64)),
    ];
    let s = settings(stage, &values)?;
    let site = site(side, 8);
    (stage.check)(&s, &site)?;
    let homes = (stage.summary)(&s, &site)["droplets"].as_f64().unwrap_or(0.0);
    let droplets = (homes * rain / density).round() as u64;
    let name = executor.name();
    let mut cell = bench.measure(&name, article_ms, || {
        let begun = Instant::now();
        executor.write("height", start)?;
        let plan = (stage.plan)(&s, &site);
        executor.admits(&plan)?;
        executor.begin(&plan)?;
        seconds(executor, &plan, 0..plan.passes.len())?;
        executor.end(&plan);
        std::hint::black_box(executor.read("height")?);
        let seconds = begun.elapsed().as_secs_f64();
        let steps = executor.read("flow")?.iter().map(|&w| w as u32 as u64).sum();
        Ok((seconds, droplets, steps))
    })?;
    cell.parts = parts(executor, start, || (stage.plan)(&s, &site))?;
    Ok(cell)
}

/// Milliseconds of the plan and of each kernel, in a run that waits after every pass.
fn parts(
    executor: &mut dyn Executor,
    start: &[i32],
    plan: impl Fn() -> Plan,
) -> Result<Vec<(&'static str, f64)>> {
    let begun = Instant::now();
    let plan = plan();
    let mut parts = vec![("plan", begun.elapsed().as_secs_f64() * 1e3)];
    executor.write("height", start)?;
    executor.begin(&plan)?;
    for (i, pass) in plan.passes.iter().enumerate() {
        let ms = seconds(executor, &plan, i..i + 1)? * 1e3;
        match parts.iter_mut().find(|(name, _)| *name == pass.kernel.entry) {
            Some((_, sum)) => *sum += ms,
            None => parts.push((pass.kernel.entry, ms)),
        }
    }
    executor.end(&plan);
    Ok(parts)
}

/// What the article says of its sweeps. Its own figures meet the criteria.
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
        law(
            "particles",
            "no steeper than linear",
            "time grows with a power of 1.15 or less",
            power,
            power <= 1.15,
        );
        let radius = of("radius_cells");
        let power = exponent(&radius);
        let convex = radius.windows(3).all(|w| w[2].1 - w[1].1 > w[1].1 - w[0].1);
        law(
            "radius_cells",
            "nearly quadratic, but damped",
            "each 5 cells cost more than the 5 before, with a power below 2",
            power,
            convex && power > 0.0 && power < 2.0,
        );
        let lifetime = of("lifetime");
        let power = exponent(&lifetime[lifetime.len().saturating_sub(2)..]);
        law(
            "lifetime",
            "saturates",
            "over the last two values time grows with a power below 0.5",
            power,
            power < 0.5,
        );
        let cells: Vec<_> = of("map").iter().map(|(side, ms)| (side * side, *ms)).collect();
        let power = exponent(&cells);
        law(
            "map",
            "nearly flat",
            "time grows with a power of the cells below 0.25",
            power,
            power < 0.25,
        );
    }
    laws
}

/// The exponent of a power law through (value, time), by least squares on logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|p| (p.0.ln(), p.1.ln())).collect();
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (top, low) = logs
        .iter()
        .fold((0.0, 0.0), |(t, l), p| (t + (p.0 - x) * (p.1 - y), l + (p.0 - x) * (p.0 - x)));
    top / low
}
