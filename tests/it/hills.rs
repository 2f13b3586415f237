//! Hills: their formula in doubles over more squares than the kernel sees, and the same land
//! everywhere.

use crate::common::{generated, same_everywhere};
use thalweg::arith::{CELL, hash, key};
use thalweg::params::{Settings, Value};
use thalweg::site::{Site, Window};
use thalweg::stage::hills::STAGE;

const WINDOW: Window = Window { origin: [-20, 300], width: 66, height: 58 };

fn settings(spacing: f64, merge: &str, chance: f64) -> Vec<(&'static str, Value)> {
    vec![
        ("spacing_cells", Value::Number(spacing)),
        ("merge", Value::Word(merge.into())),
        ("chance", Value::Number(chance)),
    ]
}

/// All hills near a place, in doubles.
/// Holds D3.
#[test]
fn heights_are_those_of_the_formula() {
    let seed = 77;
    for (spacing, merge, chance) in [(20.0, "add", 0.7), (13.5, "max", 1.0), (30.0, "add", 0.1)] {
        let given = settings(spacing, merge, chance);
        let words = generated(&STAGE, &given, &Site::bare(WINDOW, 10.0, seed));
        let (key, lattice) = (key(seed, 7), key(seed, 0));
        let moved = |axis: u32| f64::from(hash(lattice, axis, u32::MAX)) / 4294967296.0;
        for (i, word) in words.iter().enumerate() {
            let x = (WINDOW.origin[0] as f64 + (i % 66) as f64) / spacing + moved(0);
            let y = (WINDOW.origin[1] as f64 + (i / 66) as f64) / spacing + moved(1);
            let mut height = 0f64;
            for (dx, dy) in (-3..=3).flat_map(|dy| (-3..=3).map(move |dx| (dx, dy))) {
                let (a, b) = ((x.floor() as i64 + dx) as u32, (y.floor() as i64 + dy) as u32);
                let (place, kind) = (hash(key, a, b), hash([key[1], key[0]], a, b));
                if f64::from(kind & 0xffff) / 65536.0 >= chance {
                    continue;
                }
                let part = |r: u32| f64::from(r & 0xffff) / 65536.0;
                let d = (x.floor() + dx as f64 + part(place) - x)
                    .hypot(y.floor() + dy as f64 + part(place >> 16) - y);
                let radius = 0.3 + 0.7 * f64::from(kind >> 16 & 0xff) / 255.0;
                let top = 1.0 + 9.0 * f64::from(hash(key, kind, place) >> 16) / 65536.0;
                let hill = top * (1.0 - (d / radius).powi(2)).max(0.0).powi(2);
                height = if merge == "add" { height + hill } else { height.max(hill) };
            }
            let off = f64::from(*word) / f64::from(CELL) - height;
            assert!(off.abs() < 1e-3, "{merge} {spacing}: off by {off} of {height} cells");
        }
        assert!(words.iter().any(|word| *word > CELL));
    }
}

#[test]
fn the_land_is_the_same_everywhere() {
    same_everywhere(&STAGE, &settings(17.25, "add", 0.8), WINDOW, true, 12);
    same_everywhere(
        &STAGE,
        &settings(9.0, "max", 1.0),
        Window { origin: [1 << 59, -(1 << 33)], ..WINDOW },
        true,
        12,
    );
}

#[test]
fn no_hill_and_no_range_that_is_turned() {
    let words = generated(&STAGE, &settings(20.0, "add", 0.0), &Site::bare(WINDOW, 10.0, 1));
    assert!(words.iter().all(|word| *word == 0));
    let given =
        [("smallest".to_string(), Value::Number(0.9)), ("largest".to_string(), Value::Number(0.5))];
    let s = Settings::new(STAGE.params, &given).unwrap();
    let error = (STAGE.check)(&s, &Site::bare(WINDOW, 10.0, 1)).unwrap_err().to_string();
    assert_eq!(error, "smallest = 0.9 and largest = 0.5: allowed is a smallest up to largest");
}
