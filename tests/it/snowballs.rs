//! The physics of snowballs.

use crate::common::{cpu, plan, prepare, run};
use thalweg::arith::CELL;
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::site::{Layers, Window};
use thalweg::stage::{Case, Surface, snowballs::STAGE};

fn eroded(
    settings: Vec<(&'static str, Value)>,
    heights: &[i32],
    width: u32,
) -> (Vec<i32>, Vec<i32>) {
    let window = Window { origin: [0, 0], width, height: heights.len() as u32 / width };
    let case =
        Case { name: "made", settings, window, surface: Surface::Flat, layers: Layers::NONE };
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    prepare(&STAGE, &case, &mut cpu);
    cpu.write("height", heights).unwrap();
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    (cpu.read("height").unwrap(), cpu.read("flow").unwrap())
}

/// On level ground a snowball stops where it starts: it is counted once, and no height changes.
/// Holds A7.
#[test]
fn level_ground_stays_level() {
    let (after, flow) = eroded(
        vec![("rain", Value::Number(1.0)), ("density", Value::Number(1.0))],
        &[CELL; 64 * 64],
        64,
    );
    assert!(after.iter().all(|h| *h == CELL));
    // No particle starts in the homes of the last row and column, which have no ground to all
    // sides, nor one whose first step would be its last: one in 80.
    let homes = 63 * 63;
    let counted = flow.iter().sum::<i32>();
    assert!(counted <= homes && counted > homes - homes / 40, "{counted}");
}

/// Away from its borders a plane stays a plane: erosion and deposition are the same everywhere. Its
/// height falls by the load that snowballs carry at the end of their lives, apart from noise in
/// where they start.
/// Holds A8, A9, A11.
#[test]
fn a_plane_stays_a_plane() {
    let plane: Vec<i32> = (0..128 * 128).map(|i| (i % 128) * CELL / 4).collect();
    let (rain, erosion, deposition, quicken, steps) = (4.0, 0.4, 0.03, 0.04, 20);
    let number = |name, value| (name, Value::Number(value));
    let settings = vec![
        number("rain", rain),
        number("density", 1.0),
        number("erosion", erosion),
        number("deposition", deposition),
        number("quicken", quicken),
        ("lifetime", Value::Integer(steps)),
    ];
    let (after, _) = eroded(settings, &plane, 128);
    let inner = |i: &usize| (24..104).contains(&(i % 128)) && (24..104).contains(&(i / 128));
    let change: Vec<f64> = (0..after.len())
        .filter(inner)
        .map(|i| (after[i] - plane[i]) as f64 / CELL as f64)
        .collect();
    let mean = change.iter().sum::<f64>() / change.len() as f64;
    let spread =
        (change.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / change.len() as f64).sqrt();
    println!("mean change {mean}, spread {spread}");
    assert!(spread < 0.02 && spread > 0.0, "{spread}");
    let up = 1.0 / f64::sqrt(1.0 + 0.25 * 0.25);
    // What a snowball proposes in the last of its steps is never granted.
    let load = (0..steps - 1).fold(0.0, |load, age| {
        load + erosion * (1.0 - up) * f64::min(1.0, age as f64 * quicken) - load * deposition * up
    });
    // None starts whose first step would be its last: one step of each life.
    let law = -rain * load * (1.0 - 1.0 / steps as f64);
    assert!((mean / law - 1.0).abs() < 0.05, "{mean}, not {law}");
}

/// The terminal velocity is speed · n / (1 − friction). On a plane of slope 1/4 a snowball of 24
/// steps comes as far as the sum of its velocities.
/// Holds A12.
#[test]
fn snowballs_run_as_far_as_the_law_says() {
    // One snowball in a block of 16 × 16 cells on a map of that size makes one path down the slope.
    let (speed, friction, steps) = (0.6, 0.5, 24);
    let plane: Vec<i32> = (0..256 * 33).map(|i| -(i % 256) * CELL / 4).collect();
    let settings = vec![
        ("rain", Value::Number(0.00390625)),
        ("density", Value::Number(0.00390625)),
        ("lifetime", Value::Integer(steps)),
        ("speed", Value::Number(speed)),
        ("friction", Value::Number(friction)),
        ("erosion", Value::Number(0.0)),
    ];
    let (_, flow) = eroded(settings, &plane, 256);
    let slope = 0.25f64;
    let gain = speed * slope / (1.0 + slope * slope);
    // v(i) = gain (1 − frictionⁱ) / (1 − friction), summed over the steps a snowball does: all but
    // the last of its life.
    let path: f64 =
        (1..steps).map(|i| gain * (1.0 - f64::powi(friction, i as i32)) / (1.0 - friction)).sum();
    // In each row of homes, snowballs lie 16 cells apart, so the marks of one path are one run of
    // counted cells.
    let row = (0..33).max_by_key(|y| flow[y * 256..(y + 1) * 256].iter().sum::<i32>()).unwrap();
    let marks: Vec<usize> = (0..256).filter(|x| flow[row * 256 + x] > 0).collect();
    let runs: Vec<usize> =
        marks.chunk_by(|a, b| b - a <= 2).map(|run| run[run.len() - 1] - run[0]).collect();
    let longest = *runs.iter().max().unwrap() as f64;
    println!("path {path}, runs {runs:?}");
    // The change is made one step behind, so the last stretch does not show; and cells are whole.
    assert!((longest - path).abs() <= 2.0, "{longest} for {path}");
}
