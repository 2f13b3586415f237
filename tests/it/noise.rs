//! Noise: its formulas in doubles, the nearest points by brute force, the same land in every window
//! and on every level.

use crate::common::{generated, same_everywhere};
use thalweg::arith::{CELL, hash, key};
use thalweg::params::{Settings, Value};
use thalweg::site::{Site, Window};
use thalweg::stage::noise::STAGE;

fn n(name: &'static str, v: f64) -> (&'static str, Value) {
    (name, Value::Number(v))
}

fn w(name: &'static str, v: &str) -> (&'static str, Value) {
    (name, Value::Word(v.into()))
}

const SEED: u64 = 77;
const WINDOW: Window = Window { origin: [-30, 1000], width: 75, height: 60 };

/// A noise in doubles: the lattice's hashes, the page's formulas.
fn noise(pattern: &str, key: [u32; 2], x: f64, y: f64) -> f64 {
    let (i, j) = (x.floor(), y.floor());
    let (fx, fy) = (x - i, y - j);
    let word = |dx: i64, dy: i64| hash(key, (i as i64 + dx) as u32, (j as i64 + dy) as u32);
    let curve = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let mix = |f: &dyn Fn(i64, i64) -> f64| {
        let row = |dy| f(0, dy) + (f(1, dy) - f(0, dy)) * curve(fx);
        row(0) + (row(1) - row(0)) * curve(fy)
    };
    let near = || {
        // More squares than the kernel looks into.
        let point = |dx: i64, dy: i64| {
            let place = |r: u32| f64::from(r & 0xffff) / 65536.0;
            (dx as f64 + place(word(dx, dy)) - fx).hypot(dy as f64 + place(word(dx, dy) >> 16) - fy)
        };
        let mut all: Vec<f64> = (-3..=3)
            .flat_map(|dy| (-3..=3).map(move |dx| (dx, dy)))
            .map(|(dx, dy)| point(dx, dy))
            .collect();
        all.sort_by(f64::total_cmp);
        [all[0], all[1]]
    };
    match pattern {
        "value" => mix(&|dx, dy| f64::from(word(dx, dy)) / 4294967296.0),
        "cellular" => near()[0].min(1.0),
        "borders" => (near()[1] - near()[0]).clamp(0.0, 1.0),
        _ => {
            let slope = |dx: i64, dy: i64| {
                let g = |r: u32| f64::from(r & 0xffff) / 65536.0 - 0.5;
                g(word(dx, dy)) * (fx - dx as f64) + g(word(dx, dy) >> 16) * (fy - dy as f64)
            };
            (0.5 + 1.5 * mix(&slope)).clamp(0.0, 1.0)
        }
    }
}

/// The whole rule in doubles.
fn formula(given: &[(&str, Value)], x: f64, y: f64) -> f64 {
    let given: Vec<(String, Value)> =
        given.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let s = Settings::new(STAGE.params, &given).unwrap();
    let octave = |purpose: u32, n: u32, spacing: f64, x: f64, y: f64, pattern: &str| {
        let key = key(SEED, (purpose << 8) + n);
        let moved = |axis: u32| f64::from(hash(key, axis, u32::MAX)) / 4294967296.0;
        noise(pattern, key, x / spacing + moved(0), y / spacing + moved(1))
    };
    let warp = s.number("warp_cells");
    let shift = |purpose: u32| -> f64 {
        let feature = if s.number("warp_feature_cells") > 0.0 {
            s.number("warp_feature_cells")
        } else {
            s.number("feature_cells") / 2.0
        };
        (0..3)
            .map(|i| {
                (octave(purpose, i, feature / 2f64.powi(i as i32), x, y, "gradient") * 2.0 - 1.0)
                    * [4.0, 2.0, 1.0][i as usize]
                    / 7.0
            })
            .sum()
    };
    let (px, py) = if warp > 0.0 { (x + warp * shift(1), y + warp * shift(2)) } else { (x, y) };
    let count = s.integer("octaves") as u32;
    let weights: Vec<f64> = (0..count).map(|i| s.number("gain").powi(i as i32)).collect();
    let sum: f64 = weights.iter().sum();
    let mut strength = 1.0;
    let mut total = 0.0;
    for (i, weight) in weights.iter().enumerate() {
        let v = octave(
            0,
            i as u32,
            s.number("feature_cells") / s.number("lacunarity").powi(i as i32),
            px,
            py,
            s.word("pattern"),
        );
        let fold = (2.0 * v - 1.0).abs();
        total += weight / sum
            * match s.word("form") {
                "billow" => fold,
                "ridged" => {
                    let ridge = (1.0 - fold) * (1.0 - fold) * strength;
                    strength = (2.0 * ridge).min(1.0);
                    ridge
                }
                _ => v,
            };
    }
    (s.number("base_m") + s.number("relief_m") * total.clamp(0.0, 1.0)) / 10.0
}

/// The sum of octaves, ridges, heaps, cells, borders and the warp are those of the formulas, in
/// doubles.
#[test]
fn heights_are_those_of_the_formulas() {
    let site = Site::bare(WINDOW, 10.0, SEED);
    let sets: [(&[(&str, Value)], f64); 6] = [
        (&[n("feature_cells", 40.0)], 1e-4),
        (
            &[
                w("pattern", "value"),
                w("form", "billow"),
                n("feature_cells", 33.3),
                n("lacunarity", 1.7),
            ],
            3e-2,
        ),
        (&[w("form", "ridged"), n("feature_cells", 50.0), n("base_m", -300.0)], 1e-3),
        (&[n("feature_cells", 64.0), n("warp_cells", 25.0)], 2e-3),
        // Points within a square have 14 bits.
        (
            &[w("pattern", "cellular"), n("feature_cells", 17.0), ("octaves", Value::Integer(2))],
            2e-2,
        ),
        (
            &[
                w("pattern", "borders"),
                n("feature_cells", 19.0),
                ("octaves", Value::Integer(1)),
                n("warp_cells", 6.0),
            ],
            2e-2,
        ),
    ];
    for (given, bound) in sets {
        let words = generated(&STAGE, given, &site);
        let mut worst = 0f64;
        for (i, word) in words.iter().enumerate() {
            let (x, y) = (
                WINDOW.origin[0] as f64 + (i % 75) as f64,
                WINDOW.origin[1] as f64 + (i / 75) as f64,
            );
            worst = worst.max((f64::from(*word) / f64::from(CELL) - formula(given, x, y)).abs());
        }
        assert!(worst < bound, "{given:?}: off by {worst} cells of 100");
    }
}

#[test]
fn the_land_is_the_same_everywhere() {
    for given in [
        vec![n("feature_cells", 100.0), n("warp_cells", 30.0)],
        vec![w("pattern", "borders"), n("feature_cells", 60.5), ("octaves", Value::Integer(3))],
        vec![w("form", "ridged"), w("pattern", "value")],
    ] {
        same_everywhere(&STAGE, &given, WINDOW, true, 2);
        // Where 32 bits of cells end, and 59.
        let far = Window { origin: [(1 << 59) - 7, -(1 << 32) - 5], ..WINDOW };
        same_everywhere(&STAGE, &given, far, true, 2);
    }
}

/// Noise has its mean at ½ and stays within its relief; more gain is rougher, more octaves have the
/// same large forms.
#[test]
fn noise_is_spread_round_its_middle() {
    let window = Window { origin: [0, 0], width: 600, height: 500 };
    let site = Site::bare(window, 10.0, 3);
    let mean_and_ends = |given: &[(&str, Value)]| {
        let words = generated(&STAGE, given, &site);
        let value = |word: i32| f64::from(word) / f64::from(CELL) / 100.0;
        let mean = words.iter().map(|w| value(*w)).sum::<f64>() / words.len() as f64;
        (mean, value(*words.iter().min().unwrap()), value(*words.iter().max().unwrap()))
    };
    for pattern in ["gradient", "value"] {
        let (mean, low, high) = mean_and_ends(&[
            w("pattern", pattern),
            n("feature_cells", 24.0),
            ("octaves", Value::Integer(4)),
        ]);
        assert!((mean - 0.5).abs() < 0.02, "{pattern}: {mean}");
        assert!(
            (0.0..0.3).contains(&low) && high > 0.7 && high <= 1.0,
            "{pattern}: {low} to {high}"
        );
    }
    let rough = |gain: f64| {
        let words = generated(&STAGE, &[n("feature_cells", 64.0), n("gain", gain)], &site);
        words.windows(2).map(|w| f64::from(w[1].abs_diff(w[0]))).sum::<f64>()
    };
    assert!(rough(0.7) > 2.0 * rough(0.3));
}

/// Cells do not show the lattice of their points: columns of one place within its squares are as
/// high, on average, as those of any other.
#[test]
fn cells_have_no_grid() {
    let site = Site::bare(Window { origin: [5, 9], width: 2048, height: 512 }, 10.0, 11);
    for pattern in ["cellular", "borders"] {
        let words = generated(
            &STAGE,
            &[w("pattern", pattern), n("feature_cells", 16.0), ("octaves", Value::Integer(1))],
            &site,
        );
        let value = |word: i32| f64::from(word) / f64::from(CELL);
        let mean = words.iter().map(|word| value(*word)).sum::<f64>() / words.len() as f64;
        let deviation = (words.iter().map(|word| (value(*word) - mean).powi(2)).sum::<f64>()
            / words.len() as f64)
            .sqrt();
        let of_place = |place: usize| {
            let some = words
                .iter()
                .enumerate()
                .filter(|(i, _)| i % 2048 % 16 == place)
                .map(|(_, word)| value(*word));
            some.sum::<f64>() / (words.len() / 16) as f64
        };
        let means: Vec<f64> = (0..16).map(of_place).collect();
        let spread = means.iter().fold(f64::MIN, |a, b| a.max(*b))
            - means.iter().fold(f64::MAX, |a, b| a.min(*b));
        println!("{pattern}: {:.3} of the deviation", spread / deviation);
        assert!(spread < 0.4 * deviation, "{pattern}: {spread} of {deviation}");
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |given: &[(&str, Value)]| {
        let given: Vec<(String, Value)> =
            given.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
        let s = Settings::new(STAGE.params, &given).unwrap();
        (STAGE.check)(&s, &Site::bare(WINDOW, 10.0, 0)).unwrap_err().to_string()
    };
    assert!(
        refused(&[n("feature_cells", 20.0)])
            .starts_with("octaves = 6 of lacunarity = 2 under feature_cells = 20 cells")
    );
    assert!(
        refused(&[n("warp_feature_cells", 2.0)])
            .starts_with("warp_feature_cells = 2 cells: allowed 0, for half of feature")
    );
    assert!(refused(&[n("relief_m", 1e6)]).contains("allowed up to 8000 cells, 80000 m"));
}
