//! Places: how far apart, how many, and what lies under them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg::Map;
use thalweg::io::points::{PointFormat, encode};
use thalweg::scatter::{Method, Place, places};
use thalweg::site::Window;

fn map(window: &Window, value: impl Fn(i64, i64) -> f32) -> Map {
    let [x, y] = window.origin;
    let rows = (0..window.height as i64)
        .flat_map(|j| (0..window.width as i64).map(move |i| (x + i, y + j)));
    let data = rows.map(|(x, y)| value(x, y)).collect();
    Map {
        width: window.width,
        height: window.height,
        spacing_m: 2.0,
        data,
        range_m: None,
        georef: None,
    }
}

fn scattered(method: Method, window: &Window, densities: &[f64]) -> Vec<Place> {
    let height = map(window, |x, y| x as f32 * 0.5 - y as f32);
    let biome = map(window, |x, _| (x.rem_euclid(100) / 50) as f32);
    places(method, 9, window, &height, Some(&biome), densities, &GO).unwrap()
}

static GO: AtomicBool = AtomicBool::new(false);
const WINDOW: Window = Window { origin: [-30, 700], width: 300, height: 200 };

fn nearest(all: &[Place]) -> f64 {
    let apart = |n: usize, m: usize| (all[n].x - all[m].x).hypot(all[n].y - all[m].y);
    (0..all.len())
        .flat_map(|n| (0..n).map(move |m| (n, m)))
        .map(|(n, m)| apart(n, m))
        .fold(f64::INFINITY, f64::min)
}

/// Places are at least the given distance apart and fill the ground.
/// Holds E19.
#[test]
fn places_keep_their_distance() {
    for distance in [3.0, 7.5, 20.0] {
        let lattice = scattered(Method::Lattice { frequency: 0.2, distance }, &WINDOW, &[]);
        let poisson = scattered(Method::Poisson { distance }, &WINDOW, &[]);
        for (all, least) in [(&lattice, 0.2f64), (&poisson, 0.45)] {
            assert!(nearest(all) >= distance, "{}", nearest(all));
            // Circles of half the distance cover this share of the ground at least.
            let share = all.len() as f64 * std::f64::consts::PI * distance * distance
                / 4.0
                / (300.0 * 200.0);
            let thick = 0.2 * 0.2 * 3f64.sqrt() * distance * distance;
            assert!(
                share > least.min(thick * 0.3),
                "distance {distance}: {} places, {share}",
                all.len()
            );
        }
    }
}

/// Places of the lattice are the same in any window, with or without a distance.
/// Holds E19.
#[test]
fn lattice_places_belong_to_the_world() {
    for distance in [0.0, 9.0] {
        let method = Method::Lattice { frequency: 0.15, distance };
        let part = Window { origin: [10, 731], width: 120, height: 90 };
        let inside = |p: &&Place| (9.5..129.5).contains(&p.x) && (730.5..820.5).contains(&p.y);
        let bits = |p: &Place| [p.x.to_bits(), p.y.to_bits()];
        let whole: BTreeSet<_> =
            scattered(method, &WINDOW, &[]).iter().filter(inside).map(bits).collect();
        assert_eq!(whole, scattered(method, &part, &[]).iter().map(bits).collect());
        assert!(whole.len() > 30);
    }
}

/// The density of a biome thins out its places, and each place has the height and the biome of the
/// ground there.
/// Holds E19.
#[test]
fn densities_and_what_lies_under() {
    let method = Method::Lattice { frequency: 0.3, distance: 0.0 };
    let all = scattered(method, &WINDOW, &[]);
    let thin = scattered(method, &WINDOW, &[0.0, 0.25]);
    let count = |all: &[Place], b| all.iter().filter(|p| p.biome == Some(b)).count();
    assert_eq!(count(&thin, 0), 0);
    let kept = count(&thin, 1) as f64 / count(&all, 1) as f64;
    assert!((kept - 0.25).abs() < 0.03, "{kept}");
    assert!(
        all.windows(2).all(|p| p[0].y < p[1].y || p[0].y == p[1].y && p[0].x < p[1].x),
        "north to south"
    );
    for p in &all {
        // Beyond the outermost samples lies the border's height.
        let (x, y) = (p.x.clamp(-30.0, 269.0), p.y.clamp(700.0, 899.0));
        assert!((p.height_m - (x * 0.5 - y)).abs() < 1e-3, "{p:?}");
        assert_eq!(p.biome, Some((x.round() as i64).rem_euclid(100) as usize / 50));
    }
}

/// Places reach half a cell beyond the outermost samples, on all sides alike: to the edges of the
/// map's file.
/// Holds F13: they went half a cell beyond two edges, and left half a cell at the others empty.
#[test]
fn places_fill_the_cells_of_the_map() {
    for method in [
        Method::Lattice { frequency: 0.9, distance: 0.0 },
        Method::Lattice { frequency: 0.9, distance: 0.5 },
        Method::Poisson { distance: 0.5 },
    ] {
        let all = scattered(method, &WINDOW, &[]);
        for (axis, first, last) in [(0, -30.5, 269.5), (1, 699.5, 899.5)] {
            let at = |p: &Place| if axis == 0 { p.x } else { p.y };
            assert!(all.iter().all(|p| (first..last).contains(&at(p))), "{method:?}");
            for edge in [first, last - 0.5] {
                assert!(
                    all.iter().any(|p| (edge..edge + 0.5).contains(&at(p))),
                    "{method:?}: nothing from {edge}"
                );
            }
        }
    }
}

#[test]
fn bad_places_are_named() {
    let height = map(&WINDOW, |_, _| 0.0);
    let refused = |method, densities: &[f64]| {
        places(method, 0, &WINDOW, &height, None, densities, &GO).unwrap_err().to_string()
    };
    assert!(
        refused(Method::Lattice { frequency: 0.0, distance: 0.0 }, &[]).contains("frequency = 0")
    );
    assert!(
        refused(Method::Lattice { frequency: 0.1, distance: -1.0 }, &[]).contains("distance = -1")
    );
    assert!(refused(Method::Poisson { distance: 0.0 }, &[]).contains("0.5 to 4096"));
    assert!(refused(Method::Poisson { distance: f64::NAN }, &[]).contains("distance"));
    assert!(refused(Method::Poisson { distance: 5.0 }, &[2.0]).contains("density 2"));
    assert!(
        PointFormat::from_path("a.txt".as_ref())
            .unwrap_err()
            .to_string()
            .contains(".csv or .geojson")
    );
}

#[test]
fn files_hold_what_was_found() {
    let all = vec![
        Place { x: -29.5, y: 700.25, height_m: 12.5, biome: Some(1) },
        Place { x: 3.0, y: 701.0, height_m: -1.0, biome: None },
    ];
    let height = map(&WINDOW, |_, _| 0.0);
    let names = ["oak", "birch, \"white\""];
    let csv =
        String::from_utf8(encode(&all, &height, WINDOW.origin, &names, PointFormat::Csv)).unwrap();
    assert_eq!(
        csv,
        "x,y,east,north,height_m,biome,biome_name\r\n\
         -29.5,700.25,-59,-1400.5,12.5,1,\"birch, \"\"white\"\"\"\r\n3,701,6,-1402,-1,,\r\n"
    );
    let json: serde_json::Value =
        serde_json::from_slice(&encode(&all, &height, WINDOW.origin, &names, PointFormat::GeoJson))
            .unwrap();
    assert_eq!(
        json["features"][0]["geometry"],
        serde_json::json!({ "type": "Point", "coordinates": [-59.0, -1400.5] })
    );
    assert_eq!(json["features"][0]["properties"]["biome_name"], names[1]);
    assert_eq!(json["features"][1]["properties"]["biome"], serde_json::Value::Null);
}

/// So far out that places are rounded to whole cells and beyond.
#[test]
fn the_end_of_the_world_has_places() {
    let far = Window { origin: [-(1 << 62), 1 << 62], width: 40, height: 30 };
    for method in
        [Method::Lattice { frequency: 0.3, distance: 2.0 }, Method::Poisson { distance: 4.0 }]
    {
        let height = map(&far, |_, _| 7.0);
        let all = places(method, 9, &far, &height, None, &[], &GO).unwrap();
        assert!(
            all.len() > 20 && all.iter().all(|p| p.height_m == 7.0),
            "{method:?}: {}",
            all.len()
        );
    }
}

/// A search of millions of points can be stopped at any stage.
#[test]
fn a_search_can_be_stopped() {
    let window = Window { origin: [0, 0], width: 3000, height: 3000 };
    let height = map(&window, |_, _| 0.0);
    let dense = Method::Lattice { frequency: 0.9, distance: 0.0 };
    for method in [
        dense,
        Method::Lattice { frequency: 0.9, distance: 2.0 },
        Method::Poisson { distance: 1.0 },
    ] {
        let stop = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let search = scope.spawn(|| places(method, 0, &window, &height, None, &[], &stop));
            std::thread::sleep(std::time::Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
            search.join().unwrap()
        });
        assert!(matches!(ended, Err(thalweg::Error::Cancelled)), "{method:?}");
    }
}

/// A file in pieces is the file.
#[test]
fn long_files_come_in_pieces() {
    let height = map(&WINDOW, |_, _| 0.0);
    let all: Vec<Place> =
        (0..10_000).map(|n| Place { x: n as f64, y: 0.5, height_m: 1.0, biome: Some(0) }).collect();
    let bytes = encode(&all, &height, WINDOW.origin, &["a"], PointFormat::GeoJson);
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let features = json["features"].as_array().unwrap();
    assert_eq!(features.len(), all.len());
    assert!(features.iter().enumerate().all(|(n, f)| f["properties"]["x"] == n as f64));
    let csv =
        String::from_utf8(encode(&all, &height, WINDOW.origin, &["a"], PointFormat::Csv)).unwrap();
    assert_eq!(csv.lines().count(), 10_001);
}
