//! Biomes: the weights and what is made of them.

use crate::common::{cpu, everything, plan, prepare, run};
use std::collections::BTreeMap;
use thalweg::exec::Executor;
use thalweg::lattice::{FARTHEST, Lattice};
use thalweg::params::{Settings, Value};
use thalweg::plan::{Layers, Window};
use thalweg::stage::biomes::{self, KEPT, RECORD_WORDS, STAGE};
use thalweg::stage::{Case, Surface};

fn case(settings: Vec<(&'static str, Value)>, window: Window) -> Case {
    Case { name: "made", settings, window, surface: Surface::Flat, layers: Layers::default() }
}

fn word(w: &str) -> Value {
    Value::Word(w.into())
}

/// Biome and weight, row-major, in the order of biomes; zeros left out.
type Weights = Vec<Vec<(u32, u32)>>;

fn weights(case: &Case, side: usize) -> Weights {
    let all: BTreeMap<_, _> = everything(&STAGE, case, &mut cpu()).into_iter().collect();
    let records = &all["records"];
    let (w, h) = (case.window.width as usize, case.window.height as usize);
    let across = w.div_ceil(side);
    let cell = |i: usize| {
        let (x, y) = (i % w, i / w);
        let at = ((y / side * across + x / side) * side * side + y % side * side + x % side) * RECORD_WORDS;
        let record = &records[at..at + RECORD_WORDS];
        let mut found: Vec<(u32, u32)> = (0..KEPT)
            .map(|n| ((record[n / 4] as u32 >> (n % 4 * 8)) & 0xff, record[2 + n] as u32))
            .filter(|(_, weight)| *weight > 0)
            .collect();
        found.sort();
        found
    };
    (0..w * h).map(cell).collect()
}

fn named(name: &str) -> Case {
    (STAGE.cases)().into_iter().find(|c| c.name == name).expect("the case")
}

#[test]
fn weights_add_up_to_one_everywhere() {
    for case in (STAGE.cases)() {
        let side = match case.name {
            "many" => 8,
            "convolved" => 32,
            _ => 16,
        };
        let all = weights(&case, side);
        for (i, cell) in all.iter().enumerate() {
            assert_eq!(cell.iter().map(|(_, w)| w).sum::<u32>(), 65536, "{} cell {i}: {cell:?}", case.name);
        }
        assert!(all.iter().any(|cell| cell.len() > 1), "{}: nothing is blended", case.name);
    }
}

/// Neither the chunks nor leaving out what needs no sums changes a weight; another window of the same place has the same.
#[test]
fn chunks_and_windows_do_not_show() {
    for method in ["scattered", "full", "convolved", "lerped"] {
        let settings = |more: Vec<(&'static str, Value)>| {
            let mut all = vec![
                ("method", word(method)),
                ("frequency", Value::Number(0.15)),
                ("padding", Value::Number(5.0)),
                ("radius", Value::Number(11.0)),
                ("interval", Value::Integer(5)),
                ("feature", Value::Number(250.0)),
            ];
            all.extend(more);
            all
        };
        let window = Window { origin: [-70, 1000], width: 83, height: 70 };
        let whole = weights(&case(settings(vec![]), window), 16);
        let alone = whole.iter().filter(|cell| cell.len() == 1).count();
        assert!(alone > 300 && alone < whole.len() - 300, "{method}: {alone} of {} cells have one biome", whole.len());
        let slow = weights(&case(settings(vec![("skip", Value::Switch(false))]), window), 16);
        assert_eq!(whole, slow, "{method}: without skip");
        for side in [8, 32] {
            let other = settings(vec![("chunk", word(&side.to_string()))]);
            assert_eq!(whole, weights(&case(other, window), side), "{method}: chunks of {side}");
        }
        let part = Window { origin: [-70 + 9, 1000 + 13], width: 40, height: 31 };
        let part = weights(&case(settings(vec![]), part), 16);
        for (i, cell) in part.iter().enumerate() {
            assert_eq!(*cell, whole[(i / 40 + 13) * 83 + i % 40 + 9], "{method}: another window, cell {i}");
        }
    }
}

/// The biome of every point as the stage found it, with the points where they are.
fn kinds(case: &Case) -> Vec<i32> {
    everything(&STAGE, case, &mut cpu()).into_iter().find(|(name, _)| *name == "kinds").expect("kinds").1
}

/// The weights of the scattered method are those of the formula in f64 over the same points, to 4 parts in 65536.
#[test]
fn weights_are_those_of_the_formula() {
    let (frequency, padding) = (0.08, 12.0);
    let window = Window { origin: [123, -77], width: 90, height: 60 };
    let settings =
        vec![("frequency", Value::Number(frequency)), ("padding", Value::Number(padding)), ("feature", Value::Number(60.0))];
    let case = case(settings, window);
    let found = weights(&case, 16);
    let radius = padding + FARTHEST / frequency;
    // The stage's own points, and those of the lattice: they are the same to the fraction that positions have.
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    prepare(&STAGE, &case, &mut cpu);
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..1);
    let margin = (radius.ceil() as i64 + 15) / 16 * 16;
    let lattice = Lattice::new(frequency, 12345).unwrap();
    let size = [90u32, 60].map(|n| n.div_ceil(16) * 16 + 2 * margin as u32);
    let points = lattice.within(window.origin.map(|o| o - margin), size);
    let place = |n: usize, a: usize| cpu_points(&plan)[n * 2 + a] as f64 / 256.0 - margin as f64;
    let kinds = kinds(&case);
    assert_eq!(points.len(), kinds.len());
    let mut worst = 0.0f64;
    for (i, cell) in found.iter().enumerate() {
        let (x, y) = ((i % 90) as f64, (i / 90) as f64);
        let mut sums = [0.0; 4];
        for (n, kind) in kinds.iter().enumerate() {
            let (dx, dy) = (place(n, 0) - x, place(n, 1) - y);
            let t = (radius * radius - dx * dx - dy * dy).max(0.0);
            sums[*kind as usize] += t * t;
        }
        let total: f64 = sums.iter().sum();
        for (biome, sum) in sums.iter().enumerate() {
            let weight = cell.iter().find(|(b, _)| *b as usize == biome).map_or(0, |(_, w)| *w);
            worst = worst.max((weight as f64 - sum / total * 65536.0).abs());
        }
    }
    assert!(worst < 4.0, "off by {worst} of 65536");
    // And the points are the lattice's.
    let mut ours: Vec<[i64; 2]> = (0..kinds.len()).map(|n| [0, 1].map(|a| cpu_points(&plan)[n * 2 + a] as i64)).collect();
    let mut theirs: Vec<[i64; 2]> = points
        .iter()
        .map(|p| [0, 1].map(|a| ((p.cell[a] - window.origin[a] + margin) << 8) + (p.fraction[a] >> 8) as i64))
        .collect();
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs);
}

fn cpu_points(plan: &thalweg::plan::Plan) -> &[i32] {
    match &plan.buffer("points").fill {
        thalweg::plan::Fill::Words(words) => words,
        other => panic!("{other:?}"),
    }
}

/// A radius of one cell blends nothing at full resolution; one of 512 is done to the same rule.
#[test]
fn radii_from_one_cell_to_512() {
    let window = Window { origin: [0, 0], width: 40, height: 30 };
    let sharp = case(vec![("method", word("full")), ("radius", Value::Number(1.0)), ("feature", Value::Number(10.0))], window);
    assert!(weights(&sharp, 16).iter().all(|cell| cell.len() == 1));
    let window = Window { origin: [0, 0], width: 3, height: 2 };
    let wide = case(
        vec![("method", word("full")), ("radius", Value::Number(512.0)), ("feature", Value::Number(400.0)), ("chunk", word("8"))],
        window,
    );
    let found = weights(&wide, 8);
    // By hand, from the stage's own points.
    let (plan, kinds) = (plan(&STAGE, &wide), kinds(&wide));
    let fraction = 6;
    let margin = 512i64;
    let points = cpu_points(&plan);
    for (i, cell) in found.iter().enumerate() {
        let mut sums = [0.0; 4];
        for (n, kind) in kinds.iter().enumerate() {
            let d = |a: usize| ((points[2 * n + a] >> fraction) as i64 - margin - [i as i64 % 3, i as i64 / 3][a]) as f64;
            let t = (512.0 * 512.0 - d(0) * d(0) - d(1) * d(1)).max(0.0);
            sums[*kind as usize] += t * t;
        }
        let total: f64 = sums.iter().sum();
        for (biome, weight) in cell {
            let expected = sums[*biome as usize] / total * 65536.0;
            assert!((*weight as f64 - expected).abs() < 8.0, "biome {biome}: {weight} for {expected}");
        }
    }
}

/// Of many biomes the eight heaviest are kept, and they alone share the cell.
#[test]
fn the_heaviest_are_kept() {
    let case = named("many");
    let found = weights(&case, 8);
    assert!(found.iter().any(|cell| cell.len() == KEPT), "no cell has so many");
}

/// Colours of textures add up to 255, and are the weights to one part.
#[test]
fn textures_add_up_to_255() {
    for (name, side) in [("default", 16), ("many", 8)] {
        let case = named(name);
        let found = weights(&case, side);
        let all: BTreeMap<_, _> = everything(&STAGE, &case, &mut cpu()).into_iter().collect();
        let splat = &all["splat"];
        assert_eq!(splat.len() % found.len(), 0);
        for (i, cell) in found.iter().enumerate() {
            let shares: Vec<i32> = splat[i..].iter().step_by(found.len()).flat_map(|w| w.to_le_bytes()).map(i32::from).collect();
            assert_eq!(shares.iter().sum::<i32>(), 255, "{name} cell {i}");
            for (biome, share) in shares.iter().enumerate() {
                let weight = cell.iter().find(|(b, _)| *b as usize == biome).map_or(0, |(_, w)| *w);
                assert!((weight as f64 * 255.0 / 65536.0 - *share as f64).abs() < 1.0, "{name} cell {i} biome {biome}");
            }
        }
        let heaviest = |cell: &Vec<(u32, u32)>| cell.iter().rev().max_by_key(|(_, w)| *w).map(|(b, _)| *b as i32);
        for (i, biome) in all["biome"].iter().enumerate() {
            assert_eq!(Some(*biome), heaviest(&found[i]), "{name} cell {i}");
        }
    }
}

/// A layer is the blend of the biomes' values.
#[test]
fn layers_are_blended() {
    let case = named("many");
    let found = weights(&case, 8);
    let all: BTreeMap<_, _> = everything(&STAGE, &case, &mut cpu()).into_iter().collect();
    for (i, cell) in found.iter().enumerate() {
        let expected: f64 = cell.iter().map(|(b, w)| *b as f64 / 40.0 * *w as f64).sum();
        let rain: f64 = cell.iter().map(|(b, w)| (*b % 7) as f64 / 7.0 * *w as f64).sum();
        assert!((all["hardness"][i] as f64 - expected).abs() < 9.0, "cell {i}");
        assert!((all["rain"][i] as f64 - rain).abs() < 9.0, "cell {i}");
    }
}

fn refused(settings: &[(&str, Value)]) -> String {
    let given: Vec<(String, Value)> = settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let site = thalweg::plan::Site::bare(Window { origin: [0, 0], width: 64, height: 64 }, 1.0, 0);
    match Settings::new(STAGE.params, &given) {
        Err(e) => e.to_string(),
        Ok(settings) => (STAGE.check)(&settings, &site).expect_err("refused"),
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let n = Value::Number;
    let list = |v: serde_json::Value| Value::List(v.as_array().unwrap().clone());
    let one = |v: serde_json::Value| list(serde_json::json!([v]));
    let cases: Vec<(Vec<(&str, Value)>, &[&str])> = vec![
        (vec![("frequency", n(0.0))], &["frequency = 0", "0.002 to 1"]),
        (vec![("frequency", n(f64::NAN))], &["frequency"]),
        (vec![("frequency", n(0.002)), ("padding", n(512.0))], &["radius of 1101.3", "1024"]),
        (vec![("method", word("full")), ("radius", n(0.5))], &["radius = 0.5", "1 to 512"]),
        (vec![("method", word("lerped")), ("radius", n(4.0))], &["radius = 4", "interval = 8"]),
        (vec![("from", word("image"))], &["file = \"\"", "from = \"image\""]),
        (vec![("file", word("a.png"))], &["from = \"noise\""]),
        (vec![("biome", list(serde_json::json!((0..256).map(|i| format!("b{i}")).collect::<Vec<_>>())))], &["256 biomes", "255"]),
        (vec![("biome", one(serde_json::json!({ "colour": "#000000" })))], &["biome 1", "name is missing"]),
        (vec![("biome", one(serde_json::json!({ "name": "a", "colour": "red" })))], &["biome 1", "\"red\"", "#087020"]),
        (vec![("biome", one(serde_json::json!({ "name": "a", "color": "#000000" })))], &["color", "did you mean \"colour\""]),
        (
            vec![("biome", one(serde_json::json!({ "name": "a", "colour": "#000000", "shape": "ridge" })))],
            &["did you mean \"ridged\""],
        ),
        (
            vec![("biome", one(serde_json::json!({ "name": "a", "colour": "#000000", "amplitudes": [2] })))],
            &["amplitudes = [2]", "1 to 8"],
        ),
        (
            vec![
                ("biome", one(serde_json::json!({ "name": "a", "colour": "#000000", "base_m": 9000 }))),
                ("heights", word("add")),
            ],
            &["\"a\"", "9000", "8000 cells"],
        ),
        (vec![("from", word("climate"))], &["table: 0 rows"]),
        (
            vec![("from", word("climate")), ("table", list(serde_json::json!([["forest", "plains"], ["desert"]])))],
            &["table, row 2: 1 names", "row 1: 2"],
        ),
        (
            vec![("from", word("climate")), ("table", list(serde_json::json!([["forest", ""], ["desert", "plains"]])))],
            &["table, row 1, column 2", "no such biome"],
        ),
        (
            vec![("from", word("climate")), ("table", list(serde_json::json!([["forest", "dessert"]])))],
            &["table, row 1, column 2", "did you mean \"desert\""],
        ),
        (
            vec![(
                "biome",
                list(serde_json::json!([{ "name": "a", "colour": "#000000" }, { "name": "a", "colour": "#000001" }])),
            )],
            &["biome 2", "two called \"a\""],
        ),
    ];
    for (settings, parts) in cases {
        let text = refused(&settings);
        for part in parts {
            assert!(text.contains(part), "{text:?} says nothing of {part:?}");
        }
    }
}

/// A picture with a level that no biome has is refused, with the place.
#[test]
fn a_level_without_a_biome_is_named() {
    let settings = Settings::defaults(STAGE.params);
    let level = |n: f64| (n / 255.0 * 65536.0).round() as i32;
    assert_eq!(biomes::check_image(&settings, &[0.0, 1.0, 2.0, 3.0].map(level), 2), Ok(()));
    let error = biomes::check_image(&settings, &[0.0, 1.0, 2.0, 200.0].map(level), 2).unwrap_err();
    assert!(error.contains("grey level 200 in column 1, row 1") && error.contains("0 to 3"), "{error}");
}
