//! Random raise: every hit counts once, hits lie round the points as they should, and the same land
//! everywhere.

use crate::common::generated;
use thalweg::arith::CELL;
use thalweg::params::Value;
use thalweg::site::{Site, Window};
use thalweg::stage::random_raise::STAGE;

fn settings(points: i64, hits: i64, spread: f64) -> Vec<(&'static str, Value)> {
    vec![
        ("points", Value::Integer(points)),
        ("hits", Value::Integer(hits)),
        ("spread_cells", Value::Number(spread)),
    ]
}

/// How often each cell of a window was hit.
fn hits(given: &[(&str, Value)], window: Window, seed: u64) -> Vec<i64> {
    let words = generated(&STAGE, given, &Site::bare(window, 10.0, seed));
    // From −10 cells on, half a cell a hit.
    words
        .iter()
        .map(|word| (i64::from(*word) + 10 * i64::from(CELL)) / (i64::from(CELL) / 2))
        .collect()
}

/// All hits lie within the square and the farthest that one can go, and each raises one cell by 5
/// m.
/// Holds D23.
#[test]
fn every_hit_raises_one_cell() {
    let window = Window { origin: [-50, -50], width: 250, height: 250 };
    for seed in 0..3 {
        assert_eq!(hits(&settings(50, 20_000, 12.0), window, seed).iter().sum::<i64>(), 20_000);
    }
}

/// No hits leave level ground.
#[test]
fn without_hits_nothing_is_raised() {
    let window = Window { origin: [-50, -50], width: 250, height: 250 };
    assert!(hits(&settings(50, 0, 12.0), window, 1).iter().all(|hits| *hits == 0));
}

/// Round a single point, the spread is the one asked for, along both axes alike, and more hits lie
/// near.
#[test]
fn hits_are_spread_as_asked() {
    let window = Window { origin: [-150, -150], width: 450, height: 450 };
    let all = hits(&settings(1, 40_000, 20.0), window, 5);
    let sum = |f: &dyn Fn(f64, f64) -> f64| {
        all.iter()
            .enumerate()
            .map(|(i, n)| *n as f64 * f((i % 450) as f64, (i / 450) as f64))
            .sum::<f64>()
            / 40_000.0
    };
    let (mx, my) = (sum(&|x, _| x), sum(&|_, y| y));
    let deviation = |variance: f64| variance.sqrt();
    let (sx, sy) =
        (deviation(sum(&|x, _| (x - mx).powi(2))), deviation(sum(&|_, y| (y - my).powi(2))));
    assert!((sx - 20.0).abs() < 0.5 && (sy - 20.0).abs() < 0.5, "{sx} {sy}");
    assert!(
        sum(&|x, y| (x - mx) * (y - my)).abs() < 8.0,
        "the axes have nothing to do with each other"
    );
    // Of a Gaussian, 39 % lie within one deviation in the plane.
    let near = sum(&|x, y| ((x - mx).hypot(y - my) < 20.0) as u8 as f64);
    assert!((near - 0.393).abs() < 0.02, "{near}");
}

/// Windows agree, and a coarse vertex has the mean of the cells nearest to it.
#[test]
fn windows_and_levels_agree() {
    let given = settings(50, 9000, 8.0);
    let window = Window { origin: [0, 0], width: 128, height: 128 };
    let whole = hits(&given, window, 77);
    let part = hits(&given, Window { origin: [31, 60], width: 50, height: 40 }, 77);
    for (i, n) in part.iter().enumerate() {
        assert_eq!(*n, whole[(60 + i / 50) * 128 + 31 + i % 50]);
    }
    let site = Site {
        own: window,
        level: 2,
        ..Site::bare(Window { origin: [1, 1], width: 30, height: 30 }, 40.0, 77)
    };
    for (i, word) in generated(&STAGE, &given, &site).iter().enumerate() {
        let (x, y) = (4 * (1 + i % 30), 4 * (1 + i / 30));
        let mean: i64 = (0..16).map(|k| whole[(y - 2 + k / 4) * 128 + x - 2 + k % 4]).sum();
        let metres = f64::from(*word) / f64::from(CELL) * 40.0;
        assert!((metres - (-100.0 + 5.0 * mean as f64 / 16.0)).abs() < 1e-3, "{metres} {mean}");
    }
}
