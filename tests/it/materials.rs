//! Materials: the rules in plain floats, sums, and what is refused.

use crate::common::{config, cpu, made};
use proptest::prelude::*;
use serde_json::{Value, json};
use thalweg::materials::{NAMES, WHOLE, textures};
use thalweg::{Recipe, Result};

fn recipe(seed: u64, materials: &Value, more: &Value) -> Result<Recipe> {
    let maps = [
        "slope",
        "height",
        "change",
        "erosion",
        "curvature",
        "aspect",
        "water_depth",
        "drainage_area",
    ];
    let mut recipe = json!({
        "schema": 2, "seed": seed, "width": 60, "height": 45, "spacing_m": 30,
        "stage": [{ "kind": "noise", "feature_cells": 25, "octaves": 4, "relief_m": 1500, "base_m": 800 },
            { "kind": "thermal", "steps": 4, "repose_deg": 30 }],
        "water": { "sea_level_m": 900 }, "materials": materials,
        "output": { "maps": maps.iter().chain(&NAMES).collect::<Vec<_>>(), "preview": false },
    });
    for (key, value) in more.as_object().unwrap() {
        recipe[key] = value.clone();
    }
    Recipe::from_json(&recipe.to_string(), "", "materials")
}

/// How far a condition holds, as the page of materials says it.
fn holds(values: &[f64], value: f64) -> f64 {
    let risen = |from: f64, to: f64| match from == to {
        true => f64::from(u8::from(value >= to)),
        false => ((value - from) / (to - from)).clamp(0.0, 1.0),
    };
    match values {
        [from, to] => risen(*from, *to),
        [from, to, back, end] => risen(*from, *to) * (1.0 - risen(*back, *end)),
        _ => unreachable!(),
    }
}

/// The topographic index of a cell of 60 × 45 cells of 30 m, as the page of materials says it: of
/// the mean area of the cell and its neighbours.
fn wetness(areas_m2: &[f32], slope: &[f32], cell: usize) -> f64 {
    let (x, y) = (cell as i64 % 60, cell as i64 / 60);
    let near = (y - 1..=y + 1).flat_map(|y| (x - 1..=x + 1).map(move |x| (x, y)));
    let near: Vec<f64> = near
        .filter(|(x, y)| (0..60).contains(x) && (0..45).contains(y))
        .map(|(x, y)| f64::from(areas_m2[(y * 60 + x) as usize]))
        .collect();
    let mean = near.iter().sum::<f64>() / near.len() as f64;
    let fall = libm::tan(f64::from(slope[cell]).to_radians()).max(0.001);
    f64::from(libm::log((mean / 30.0 / fall).max(1e-9)) as f32)
}

proptest! {
    #![proptest_config(config(24))]

    /// Each cell has the weights of the rules, worked out here from the maps that the run leaves,
    /// and they add up to one.
    #[test]
    fn weights_follow_from_the_maps_by_the_rules(
        seed in any::<u32>(),
        rules in prop::collection::vec((1usize..8, prop::collection::vec(
            (0usize..8, prop::collection::vec(-40f64..60.0, 2), any::<bool>()), 0..3,
        ), 0f64..=1.0), 0..12),
    ) {
        const KEYS: [(&str, &str, f64); 8] = [
            ("slope_deg", "slope", 1.0), ("height_m", "height", 30.0), ("change_m", "change", 1.0),
            ("erosion_m", "erosion", 1.0), ("curvature", "curvature", 0.001),
            ("aspect_deg", "aspect", 6.0), ("water_depth_m", "water_depth", 5.0),
            ("wetness", "", 0.3),
        ];
        let mut table = json!({});
        let mut own = vec![vec![]; 8];
        for name in &NAMES[1..] {
            table[name] = json!([]);
        }
        for (material, conditions, share) in &rules {
            let mut rule = json!({ "share": share });
            let mut kept: Vec<(usize, Vec<f64>)> = vec![];
            for (key, ends, falls) in conditions {
                let mut values: Vec<f64> = ends.iter().map(|v| v * KEYS[*key].2).collect();
                if *falls {
                    values.extend([values[1] + 3.0, values[1] + 20.0]);
                }
                rule[KEYS[*key].0] = json!(values);
                kept.retain(|(known, _)| known != key);
                kept.push((*key, values));
            }
            kept.sort_by_key(|(key, _)| *key);
            table[NAMES[*material]].as_array_mut().unwrap().push(rule);
            own[*material].push((kept, *share));
        }
        let made = made(&recipe(seed.into(), &table, &json!({})).unwrap(), &mut cpu());
        let words = NAMES.map(|name| made.outcome.words(name).unwrap());
        for cell in 0..60 * 45 {
            prop_assert_eq!(words.iter().map(|all| all[cell]).sum::<i32>(), WHOLE);
            let value = |key: usize| {
                if KEYS[key].0 == "wetness" {
                    return wetness(&made.maps["drainage_area"].data, &made.maps["slope"].data, cell);
                }
                let height = if KEYS[key].1 == "height" { 900.0f32 } else { 0.0 };
                f64::from(made.maps[KEYS[key].1].data[cell] - height)
            };
            let mut left = f64::from(WHOLE);
            for material in (1..8).rev() {
                let strength = own[material].iter().map(|(conditions, share)| {
                    // In the order of the keys of the page, so that the product is the same.
                    let order = [0, 1, 4, 5, 2, 3, 6, 7];
                    order.iter().filter_map(|key| conditions.iter().find(|(of, _)| of == key))
                        .fold(*share, |all, (key, values)| all * holds(values, value(*key)))
                }).fold(0.0, f64::max);
                let weight = (left * strength).round();
                prop_assert_eq!(f64::from(words[material][cell]), weight, "{}", NAMES[material]);
                left -= weight;
            }
        }
    }

    /// The bytes of two textures add up to 255 in each cell, and each is its share to one step.
    #[test]
    fn textures_add_up(cuts in prop::collection::vec(0i32..=WHOLE, 7)) {
        let mut cuts = [cuts, vec![0, WHOLE]].concat();
        cuts.sort_unstable();
        let weights: Vec<i32> = cuts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let columns: Vec<[i32; 1]> = weights.iter().map(|weight| [*weight]).collect();
        let all: [&[i32]; 8] = std::array::from_fn(|i| &columns[i][..]);
        let bytes = textures(&all).concat();
        prop_assert_eq!(bytes.iter().map(|b| u32::from(*b)).sum::<u32>(), 255);
        for (byte, weight) in bytes.iter().zip(&weights) {
            let exact = f64::from(*weight) / f64::from(WHOLE) * 255.0;
            prop_assert!((f64::from(*byte) - exact).abs() < 1.0, "{byte} for {exact}");
        }
    }
}

/// On a biome that a rule names a material has its factor, and on others all of it.
#[test]
fn biomes_multiply_materials() {
    let stages = json!([{ "kind": "biomes", "feature_cells": 20, "biome": [
        { "name": "meadow", "colour": "#408020" }, { "name": "dunes", "colour": "#d0c080" }] }]);
    let rules = json!({ "forest": [{ "share": 0.5, "biomes": { "dunes": 0.25 } }], "gravel": [],
        "sand": [], "wet": [], "scree": [], "rock": [], "snow": [] });
    let made = made(
        &recipe(4, &rules, &json!({ "stage": stages, "output": { "maps": ["biome", "forest"] } }))
            .unwrap(),
        &mut cpu(),
    );
    let (biome, forest) = (&made.maps["biome"].data, &made.maps["forest"].data);
    let mut seen = [0; 2];
    for (biome, forest) in biome.iter().zip(forest) {
        seen[*biome as usize] += 1;
        assert!(*forest <= [0.5, 0.125][*biome as usize]);
    }
    let most = |of: f32| {
        let own = biome.iter().zip(forest).filter(|(biome, _)| **biome == of);
        own.map(|(_, forest)| *forest).fold(0.0, f32::max)
    };
    assert_eq!([most(0.0), most(1.0)], [0.5, 0.125], "{seen:?}");
}

/// A part, and the tiles of a land, have the materials of the whole, also at their edges.
#[test]
fn parts_have_the_materials_of_the_whole() {
    use thalweg::site::Window;
    use thalweg::tiles::Tiles;
    let text = |endless: bool| {
        let window = if endless { [90, 80] } else { [120, 100] };
        format!(
            "schema = 2\nseed = 3\nwidth = {}\nheight = {}\nspacing_m = 20\nendless = {endless}\n\
             [[stage]]\nkind = \"noise\"\nfeature_cells = 40\noctaves = 4\nrelief_m = 900\n\
             [[stage]]\nkind = \"thermal\"\nsteps = 3\n[materials]\n[output]\n\
             maps = [\"rock\", \"forest\"]\npreview = false\n",
            window[0], window[1]
        )
    };
    let job = |endless| {
        let recipe = Recipe::from_toml(&text(endless), "", "parts").unwrap();
        thalweg::Job::new(recipe).unwrap().device(thalweg::Device::Cpu)
    };
    let whole = job(false).run(&mut |_| Ok(())).unwrap();
    let part = Window { origin: [31, 22], width: 40, height: 33 };
    let made = job(false).part(part).unwrap().run(&mut |_| Ok(())).unwrap();
    for name in ["rock", "forest"] {
        let all = whole.words(name).unwrap();
        let cut: Vec<i32> =
            (0..33).flat_map(|y| all[(y + 22) * 120 + 31..(y + 22) * 120 + 71].to_vec()).collect();
        assert_eq!(made.words(name).unwrap(), cut, "{name} of a part");
        let mut tiles = Tiles::new(job(false), 32).unwrap();
        let field = thalweg::field::find(name).unwrap();
        assert_eq!(tiles.words(0, part, field, &mut cpu()).unwrap(), cut, "{name} of tiles");
    }
    assert!(job(true).run(&mut |_| Ok(())).is_ok());
}

/// The picture of the ground and the files for a program show the same weights.
#[test]
fn what_one_sees_is_what_a_program_gets() {
    let output = json!({ "maps": ["height"], "colour": "ground", "program": "unity" });
    let recipe = recipe(9, &json!({}), &json!({ "output": output })).unwrap();
    let made = made(&recipe, &mut cpu());
    assert!(NAMES.iter().all(|name| made.maps.contains_key(name)), "all are there unasked");
    let drawn = made.outcome.picture().unwrap();
    let none = json!({ "forest": [], "gravel": [], "sand": [], "wet": [], "scree": [], "rock": [],
        "snow": [] });
    let all_grass = self::recipe(9, &none, &json!({ "output": output })).unwrap();
    let grass = crate::common::made(&all_grass, &mut cpu()).outcome.picture().unwrap();
    let other = drawn.pixels().zip(grass.pixels()).filter(|(a, b)| a != b).count();
    assert!(other > 500, "only {other} pixels show what the rules say");
}

/// The distance to water is that to lakes, to the sea and to rivers of a metre or more: brooks have
/// no banks.
#[test]
fn brooks_have_no_banks() {
    let none = json!({ "gravel": [{ "distance_to_water_m": [15, 14] }], "forest": [], "sand": [],
        "wet": [], "scree": [], "rock": [], "snow": [] });
    let maps = ["gravel", "river_width", "water_depth"];
    let water = json!({ "sea_level_m": 900, "channel_area_km2": 0.01, "width_m": 40 });
    let more = json!({ "water": water, "output": { "maps": maps, "preview": false } });
    let made = made(&recipe(4, &none, &more).unwrap(), &mut cpu());
    let [wide, deep] = ["river_width", "water_depth"].map(|name| &made.maps[name].data);
    let (mut brooks, mut rivers) = (0, 0);
    for (cell, gravel) in made.outcome.words("gravel").unwrap().iter().enumerate() {
        let has_banks = deep[cell] > 0.0 || wide[cell] >= 1.0;
        assert_eq!(*gravel, if has_banks { WHOLE } else { 0 }, "{} m", wide[cell]);
        let is_dry = deep[cell] == 0.0;
        brooks += usize::from(is_dry && wide[cell] > 0.0 && wide[cell] < 1.0);
        rivers += usize::from(is_dry && wide[cell] >= 1.0);
    }
    assert!(brooks > 20 && rivers > 20, "{brooks} cells of brooks, {rivers} of rivers");
}

/// What cannot be a table of materials is refused by the key that is wrong.
#[test]
fn tables_that_cannot_be_are_refused() {
    for (table, expected, pointer) in [
        (json!({ "rocks": [] }), "did you mean \"rock\"?", "/materials/rocks"),
        (json!({ "grass": [] }), "it is what the others leave", "/materials/grass"),
        (json!({ "rock": 3 }), "allowed a list of at most 16 tables", "/materials/rock"),
        (json!({ "rock": [3] }), "rock, rule 1", "/materials/rock/0"),
        (json!({ "rock": [{ "slope": [1, 2] }] }), "slope_deg", "/materials/rock/0/slope"),
        (json!({ "rock": [{ "slope_deg": [1] }] }), "two numbers", "/materials/rock/0/slope_deg"),
        (json!({ "rock": [{}, { "share": 2 }] }), "allowed 0 to 1", "/materials/rock/1/share"),
        (json!({ "snow": [{ "biomes": { "tundra": 0.5 } }] }), "tundra", "/materials"),
        (json!({ "snow": vec![json!({}); 17] }), "at most 16", "/materials/snow"),
    ] {
        let error = recipe(1, &table, &json!({})).unwrap_err();
        let thalweg::Error::Param(invalid) = error else { panic!("{error}") };
        let message = &invalid.message;
        assert!(message.contains(expected), "{message}\nlacks {expected}");
        assert_eq!(invalid.pointer.as_deref(), Some(pointer), "{message}");
    }
}
