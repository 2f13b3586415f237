//! The island of polygons: Lloyd's relaxation, distances by brute force, water round and within,
//! the same land everywhere.

use crate::common::{generated, same_everywhere};
use thalweg::arith::CELL;
use thalweg::params::{Settings, Value};
use thalweg::site::{Site, Window};
use thalweg::stage::voronoi_island::{STAGE, distances, joined, nodes, polygons};

const SIDE: usize = 257;

fn i(name: &'static str, v: i64) -> (&'static str, Value) {
    (name, Value::Integer(v))
}

fn n(name: &'static str, v: f64) -> (&'static str, Value) {
    (name, Value::Number(v))
}

/// The relaxation makes polygons more alike, and each is all that is nearest to its own middle in
/// the end.
/// Holds D4 in part.
#[test]
fn relaxation_evens_polygons() {
    let spread = |lloyd: i64| {
        let mut areas = vec![0f64; 200];
        polygons(200, lloyd, 4).into_iter().for_each(|polygon| areas[polygon] += 1.0);
        let mean = areas.iter().sum::<f64>() / 200.0;
        (areas.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 200.0).sqrt() / mean
    };
    let [none, some, many] = [0, 3, 16].map(spread);
    assert!(none > 0.45 && some < 0.65 * none && many < some, "{none} {some} {many}");
    // After many rounds the polygons are those of their own middles.
    let all = polygons(60, 16, 9);
    let mut sums = vec![[0f64; 3]; 60];
    for (k, polygon) in all.iter().enumerate() {
        let sum = &mut sums[*polygon];
        *sum = [sum[0] + (k % SIDE) as f64, sum[1] + (k / SIDE) as f64, sum[2] + 1.0];
    }
    let middles: Vec<[f64; 2]> = sums.iter().map(|s| [s[0] / s[2], s[1] / s[2]]).collect();
    let nearest = |k: usize| {
        let away = |m: &[f64; 2]| (m[0] - (k % SIDE) as f64).hypot(m[1] - (k / SIDE) as f64);
        (0..60).min_by(|a, b| away(&middles[*a]).total_cmp(&away(&middles[*b]))).unwrap()
    };
    let same = all.iter().enumerate().filter(|(k, polygon)| nearest(*k) == **polygon).count();
    assert!(same as f64 > 0.97 * all.len() as f64, "{same} of {}", all.len());
}

/// Distances are the smallest of all, cell by cell.
/// Holds D4 in part.
#[test]
fn distances_are_those_of_brute_force() {
    let marked: Vec<bool> = (0..SIDE * SIDE).map(|k| k * 7919 % 3001 == 5).collect();
    let all = distances(&marked);
    let places: Vec<usize> = (0..marked.len()).filter(|k| marked[*k]).collect();
    for k in (0..marked.len()).step_by(97) {
        let away = |m: &usize| {
            ((m % SIDE) as i64 - (k % SIDE) as i64).pow(2)
                + ((m / SIDE) as i64 - (k / SIDE) as i64).pow(2)
        };
        assert_eq!(all[k], places.iter().map(away).min().unwrap());
    }
}

/// Sea lies round the island, polygons within are sea by the share asked for, and what is farthest
/// from it is highest.
/// Holds D4 in part.
#[test]
fn the_farther_from_the_sea_the_higher() {
    let site = Site::bare(Window { origin: [0, 0], width: 257, height: 257 }, 10.0, 3);
    // A node a cell, so that words are those of nodes, smoothed.
    let given = [
        i("centre_x", 128),
        i("centre_y", 128),
        i("extent_cells", 256),
        n("warp_cells", 0.0),
        n("rough", 0.0),
        n("relief_m", 1000.0),
    ];
    let words = generated(&STAGE, &given, &site);
    let metres: Vec<f64> = words.iter().map(|w| f64::from(*w) / f64::from(CELL) * 10.0).collect();
    for k in 0..SIDE {
        assert!(metres[k] < 0.0 && metres[k * SIDE] < 0.0 && metres[SIDE * SIDE - 1 - k] < 0.0);
    }
    let wet: Vec<bool> = metres.iter().map(|m| *m < 0.0).collect();
    let to_sea = distances(&wet);
    let top = *to_sea.iter().max().unwrap() as f64;
    for (k, m) in metres.iter().enumerate().filter(|(_, m)| **m > 0.0) {
        let share = (to_sea[k] as f64).sqrt() / top.sqrt();
        assert!((m / 1000.0 - share).abs() < 1.6 / top.sqrt(), "{m} m at {share}");
    }
    let share = |water: f64| {
        let given: Vec<(String, Value)> =
            [i("lloyd", 3), n("water", water)].map(|(n, v)| (n.to_string(), v)).to_vec();
        let nodes = nodes(&Settings::new(STAGE.params, &given).unwrap(), 3);
        nodes.iter().filter(|v| **v < 0).count() as f64 / nodes.len() as f64
    };
    let [none, half, all] = [0.0, 0.5, 1.0].map(share);
    assert!(none < 0.6 && half > none + 0.02 && all == 1.0, "{none} {half} {all}");
}

/// All sea is joined to the rim, so there are no pits below it inland: by repeated passes over all
/// nodes, until nothing changes.
#[test]
fn the_sea_is_one() {
    let by_passes = |wet: &[bool]| {
        let rim = |k: usize| {
            !(SIDE..SIDE * (SIDE - 1)).contains(&k)
                || k.is_multiple_of(SIDE)
                || k % SIDE == SIDE - 1
        };
        let mut sea: Vec<bool> = wet.iter().enumerate().map(|(k, wet)| *wet && rim(k)).collect();
        loop {
            let before = sea.clone();
            for k in (0..wet.len()).chain((0..wet.len()).rev()) {
                let near = [k.wrapping_sub(SIDE), k + SIDE, k.wrapping_sub(1), k + 1];
                // Those at the ends of a row are on the rim, and known.
                sea[k] |= wet[k] && !rim(k) && near.into_iter().any(|other| sea[other]);
                sea[k] |= wet[k] && rim(k);
            }
            if sea == before {
                return sea;
            }
        }
    };
    for (parts, modulus) in [(1237, 3), (7919, 2)] {
        let wet: Vec<bool> = (0..SIDE * SIDE).map(|k| (k * parts / 97) % modulus != 1).collect();
        let sea = joined(wet.clone());
        assert!(sea == by_passes(&wet), "{parts}, {modulus}");
        assert!(sea.iter().any(|sea| *sea) && sea != wet, "{parts}, {modulus}: nothing was inland");
    }
    for seed in 0..8 {
        let given: Vec<(String, Value)> =
            [i("lloyd", 2), n("water", 0.3)].map(|(n, v)| (n.to_string(), v)).to_vec();
        let wet: Vec<bool> = nodes(&Settings::new(STAGE.params, &given).unwrap(), seed)
            .iter()
            .map(|v| *v < 0)
            .collect();
        assert!(by_passes(&wet) == wet, "seed {seed}");
    }
}

/// Noise moves the coast, but not farther than the warp, and roughens heights, but not the sea.
#[test]
fn noise_is_on_borders_and_heights() {
    let window = Window { origin: [0, 0], width: 512, height: 512 };
    let site = Site::bare(window, 10.0, 8);
    let [plain, moved, rough] = [(0.0, 0.0), (20.0, 0.0), (0.0, 0.6)]
        .map(|(warp, rough)| generated(&STAGE, &[n("warp_cells", warp), n("rough", rough)], &site));
    let other =
        |a: &[i32], b: &[i32]| a.iter().zip(b).filter(|(a, b)| (**a < 0) != (**b < 0)).count();
    assert!(other(&plain, &moved) > 2000);
    assert_eq!(other(&plain, &rough), 0);
    for (k, (a, b)) in plain.iter().zip(&moved).enumerate() {
        // A cell that is land now has land within the warp along each axis.
        if *b >= 0 && *a < 0 && k % 13 == 0 {
            let (x, y) = (k as i32 % 512, k as i32 / 512);
            let near = (-22..=22).flat_map(|dy| (-22..=22).map(move |dx| (x + dx, y + dy)));
            let land = |(x, y): (i32, i32)| {
                (0..512).contains(&x) && (0..512).contains(&y) && plain[(y * 512 + x) as usize] >= 0
            };
            assert!(near.into_iter().any(land), "{x} {y}");
        }
    }
    for (a, b) in plain.iter().zip(&rough) {
        assert!(if *a < 0 {
            a == b
        } else {
            i64::from(*b) * 10 >= i64::from(*a) * 4 - 50
                && i64::from(*b) * 10 <= i64::from(*a) * 16 + 50
        });
    }
}

#[test]
fn the_land_is_the_same_everywhere() {
    let window = Window { origin: [190, 200], width: 90, height: 71 };
    same_everywhere(&STAGE, &[], window, true, 4);
    let far = [i("centre_x", 1 << 60), i("centre_y", 1 << 59)];
    same_everywhere(
        &STAGE,
        &far,
        Window { origin: [(1 << 60) - 60, (1 << 59) - 30], ..window },
        true,
        4,
    );
    // All sea, and nothing but sea far away.
    let site = Site::bare(Window { origin: [-(1 << 61), 5], width: 9, height: 9 }, 10.0, 1);
    let deep = (-10.0 * f64::from(CELL)) as i32;
    assert!(generated(&STAGE, &[n("warp_cells", 9.0)], &site).iter().all(|word| *word == deep));
}
