//! Lakes and rivers that are drawn: they are there at the end, whatever the stages after them do.

use crate::common::{config, cpu, made};
use proptest::prelude::*;
use serde_json::{Value, json};
use thalweg::Recipe;

const SPACING: f64 = 10.0;
const SIZE: [usize; 2] = [150, 110];

/// Stages that change a land, each in its way.
fn stages() -> Vec<Value> {
    vec![
        json!([{ "kind": "thermal", "steps": 2 }]),
        json!([{ "kind": "incision", "steps": 60, "fall": 40, "uplift_m": 0.6, "silt": 0.2 }]),
        json!([{ "kind": "droplets", "lifetime": 24, "rain": 1, "capacity": 6 }]),
        json!([{ "kind": "thermal", "steps": 20, "repose_deg": 15 }]),
        json!([{ "kind": "snowballs", "lifetime": 20 }]),
        json!([{ "kind": "layer", "map": "sediment", "from": "noise", "feature_cells": 16,
            "thickness_m": 30 }, { "kind": "wind", "lifetime": 12 }]),
        json!([{ "kind": "coastal", "sea_level_m": 40 }, { "kind": "blur", "passes": 9 }]),
        json!([{ "kind": "hills", "combine": "add" }, { "kind": "shore", "sea_level_m": 60 },
            { "kind": "thermal", "steps": 2 }]),
        json!([{ "kind": "incision", "steps": 30, "uplift_m": 1 }, { "kind": "droplets",
            "lifetime": 16, "rain": 0.5, "interleave": [{ "kind": "thermal", "every": 4 }] }]),
    ]
}

/// A land with strokes on it, which a number of stages changes afterwards.
fn recipe(seed: u64, levels: Option<u32>, strokes: &Value, then: &Value) -> Recipe {
    let mut stages = vec![
        json!({ "kind": "noise", "feature_cells": 60, "relief_m": 300 }),
        json!({ "kind": "strokes", "stroke": strokes }),
    ];
    stages.extend(then.as_array().unwrap().iter().cloned());
    let mut recipe = json!({
        "schema": 2, "seed": seed, "width": SIZE[0], "height": SIZE[1], "spacing_m": SPACING,
        "stage": stages, "water": {},
        "output": { "maps": ["height", "water_level", "water_depth", "river_width"] },
    });
    if let Some(count) = levels {
        recipe["levels"] = json!({ "count": count });
    }
    Recipe::from_json(&recipe.to_string(), "", "water").unwrap_or_else(|e| panic!("{e}"))
}

/// The word of a height.
fn word(metres: f64) -> i32 {
    (metres / SPACING * f64::from(1 << 18)).round() as i32
}

fn at(x: usize, y: usize) -> usize {
    y * SIZE[0] + x
}

proptest! {
    #![proptest_config(config(18))]

    /// The water of a lake with an outlet stands at its level, to the word, and no other water does
    /// within its outline, and a river has the bed that was drawn and water all along it.
    #[test]
    fn water_that_was_drawn_is_there_at_the_end(
        seed in 0u64..1 << 40,
        kind in 0usize..9,
        levels in prop::option::of(1u32..3),
        place in [400f64..480.0, 350.0..700.0],
        (radius, level, depth) in (120f64..260.0, 20f64..260.0, 2f64..60.0),
        is_outline in any::<bool>(),
        (from, to) in (60f64..280.0, -100f64..60.0),
        (start, end) in ([950f64..1400.0, -80.0..200.0], [950f64..1400.0, 1120.0..1300.0]),
        (width, valley) in (1f64..60.0, prop::option::of(0f64..200.0)),
    ) {
        let [x, y] = place;
        let mut lake = json!({ "tool": "lake", "level_m": level, "depth_m": depth,
            "outlet_m": [-50, y], "seed": seed });
        if is_outline {
            let corner = |n: u32| {
                let turn = f64::from(n) / 7.0 * std::f64::consts::TAU;
                json!([x + radius * turn.cos(), y + radius * turn.sin()])
            };
            lake["at_m"] = (0..7).map(corner).collect();
        } else {
            (lake["at_m"], lake["radius_m"]) = (json!([place]), radius.into());
        }
        let mut river = json!({ "tool": "river", "at_m": [start, end], "height_m": [from, to],
            "width_m": width });
        if let Some(valley) = valley {
            river["radius_m"] = valley.into();
        }
        let recipe = recipe(seed, levels, &json!([lake, river]), &stages()[kind]);
        let made = made(&recipe, &mut cpu());
        let [height, deep, rivers] =
            ["height", "water_depth", "river_width"].map(|name| &made.maps[name].data);
        let levels = made.outcome.words("water_level").unwrap();
        for (i, water) in levels.iter().enumerate() {
            let (cx, cy) = ((i % SIZE[0]) as f64 * SPACING, (i / SIZE[0]) as f64 * SPACING);
            let far = ((cx - x).powi(2) + (cy - y).powi(2)).sqrt();
            // The bays of a shore reach no farther in than this.
            if far < 0.5 * radius {
                prop_assert_eq!(*water, word(level), "at {}, {}", cx, cy);
                prop_assert!(deep[i] > 0.0, "{cx}, {cy} is dry");
            }
        }
        // Along the river, from cell to cell.
        let along = [end[0] - start[0], end[1] - start[1]];
        let long = (along[0].powi(2) + along[1].powi(2)).sqrt();
        let slope = (from - to) / long;
        let mut seen = 0;
        for n in 0..(long / SPACING) as usize {
            let way = n as f64 * SPACING;
            let [px, py] = [0, 1].map(|k| (start[k] + along[k] * way / long) / SPACING);
            let (cx, cy) = (px.round(), py.round());
            if cx < 2.0 || cy < 2.0 || cx > SIZE[0] as f64 - 3.0 || cy > SIZE[1] as f64 - 3.0 {
                continue;
            }
            seen += 1;
            let (cx, cy) = (cx as usize, cy as usize);
            let bed = f64::from(height[at(cx, cy)]);
            // The cell's place along the river is that of the point, to half a cell's diagonal.
            prop_assert!((bed - (from - slope * way)).abs() <= slope * SPACING * 0.75 + 0.05,
                "the bed at {cx}, {cy} is at {bed}, not at {}", from - slope * way);
            let half = (width / 2.0 / SPACING).max(0.75).ceil() as usize;
            let is_river = (cy - half.min(cy)..(cy + half + 1).min(SIZE[1])).any(|y| {
                (cx - half.min(cx)..(cx + half + 1).min(SIZE[0])).any(|x| rivers[at(x, y)] > 0.0)
            });
            prop_assert!(is_river, "no river at {cx}, {cy}");
        }
        prop_assert!(seen > 20);
    }
}

/// What holds keeps its height through all stages, where its brush does not fade, and also where
/// later strokes go over it.
#[test]
fn what_holds_stays_level() {
    let over = json!([{ "kind": "strokes", "stroke": [{ "tool": "raise", "at_m": [[700, 500]],
        "radius_m": 300, "amount_m": 90 }] }]);
    for (seed, then) in (0..).zip(stages().into_iter().chain([over])) {
        let strokes = json!([
            { "tool": "flatten", "at_m": [[700, 500], [760, 520]], "radius_m": 160,
                "falloff": 0.5, "height_m": 70, "hold": true },
            { "tool": "lake", "at_m": [[300, 700]], "radius_m": 150, "level_m": 40 },
        ]);
        let made = made(&recipe(seed, None, &strokes, &then), &mut cpu());
        let height = made.outcome.words("height").unwrap();
        for (x, y) in [(70, 50), (73, 51), (76, 52), (70, 56), (64, 50), (72, 44)] {
            let here = height[at(x, y)];
            assert_eq!(here, word(70.0), "{then}: at {x}, {y}");
        }
        assert!(height[at(30, 70)] < word(35.0), "{then}: the lake has no bed");
    }
}

/// A river that begins in a lake is its outlet: the lake stands at its level, and its water, with
/// that of the river that comes in, goes down the bed.
#[test]
fn a_river_out_of_a_lake_is_its_outlet() {
    for (seed, then) in (0..).zip(stages()) {
        let strokes = json!([
            { "tool": "river", "at_m": [[200, 100], [500, 400]], "height_m": [160, 90],
                "catchment_km2": 3 },
            { "tool": "lake", "at_m": [[600, 500]], "radius_m": 200, "level_m": 90 },
            { "tool": "river", "at_m": [[640, 520], [1100, 800], [1200, 1300]],
                "height_m": [90, 60, 20], "catchment_km2": 0 },
        ]);
        let made = made(&recipe(seed, None, &strokes, &then), &mut cpu());
        let surface = made.outcome.words("water_level").unwrap();
        let rivers = &made.maps["river_width"].data;
        assert_eq!(surface[at(60, 50)], word(90.0), "{then}");
        // Where the path ends at the map's edge, all water of the spring arrives.
        let widest = |y: usize| (0..SIZE[0]).map(|x| rivers[at(x, y)]).fold(0.0, f32::max);
        let near = (112..118).map(|x| rivers[at(x, 105)]).fold(0.0, f32::max);
        assert!(near > 0.0 && near == widest(105), "{then}: {near} and {}", widest(105));
    }
}

/// What cannot be a lake or a river is refused by the key that is wrong.
#[test]
fn lakes_and_rivers_that_cannot_be_are_refused() {
    let lake = json!({ "tool": "lake", "at_m": [[100, 100], [400, 100], [200, 400]],
        "level_m": 50 });
    let river = json!({ "tool": "river", "at_m": [[0, 0], [300, 300], [900, 600]],
        "height_m": [90, 20] });
    let of = |strokes: Value| {
        let recipe = json!({ "schema": 2, "width": 100, "height": 100, "spacing_m": 10,
            "stage": [{ "kind": "flat" }, { "kind": "strokes", "stroke": strokes }] });
        Recipe::from_json(&recipe.to_string(), "", "refused").and_then(thalweg::Job::new)
    };
    of(json!([lake, river])).unwrap_or_else(|e| panic!("{e}"));
    let flat = json!({ "tool": "flatten", "at_m": [[500, 500]], "radius_m": 100,
        "height_m": 10, "hold": true, "falloff": 0.5 });
    of(json!([flat])).unwrap_or_else(|e| panic!("{e}"));
    let changed = |stroke: &Value, changes: Value| {
        let mut stroke = stroke.clone();
        for (key, value) in changes.as_object().unwrap() {
            if value.is_null() {
                stroke.as_object_mut().unwrap().remove(key);
            } else {
                stroke[key] = value.clone();
            }
        }
        let error = of(json!([stroke])).unwrap_err();
        let thalweg::Error::Param(invalid) = error else { panic!("{error}") };
        (invalid.message, invalid.pointer.unwrap_or_default())
    };
    for (stroke, changes, expected, pointer) in [
        (&flat, json!({ "falloff": 1 }), "falloff below 1", "hold"),
        (&flat, json!({ "falloff": null }), "falloff below 1", "hold"),
        (&flat, json!({ "strength": 0.5 }), "strength = 1", "hold"),
        (&flat, json!({ "at_m": [[1, 1, 0.5]] }), "without a pressure", "hold"),
        (&flat, json!({ "hold": 1 }), "hold = 1: allowed true or false", "hold"),
        (&lake, json!({ "shore_m": 700 }), "twice its length", "shore_m"),
        (&lake, json!({ "level_m": null }), "level_m is missing", "level_m"),
        (&lake, json!({ "level_m": 90000 }), "level_m = 90000 at spacing_m = 10", "level_m"),
        (&lake, json!({ "depth_m": 90000 }), "-80000 to 80000 m", "depth_m"),
        (&lake, json!({ "at_m": [[1, 1]] }), "radius_m is missing", "radius_m"),
        (&lake, json!({ "at_m": [[1, 1], [9, 9]] }), "three or more", "at_m"),
        (
            &lake,
            json!({ "at_m": [[1, 1], [9, 9], [9, 1]] }),
            "60 to 327670 m, 6 to 32767 cells",
            "at_m",
        ),
        (&lake, json!({ "at_m": [[1, 1], [9, 9], [9, 9, 1]] }), "points of two numbers", "at_m"),
        (&lake, json!({ "at_m": [[1, 1]], "radius_m": 5 }), "6 to 32767 cells", "radius_m"),
        (&lake, json!({ "radius_m": 50 }), "nothing for a lake with an outline", "radius_m"),
        (&lake, json!({ "at_m": vec![[5, 5]; 1025] }), "at_m has 1025 points", "at_m"),
        (&lake, json!({ "outlet_m": [1] }), "outlet_m = [1]: allowed two numbers", "outlet_m"),
        (&lake, json!({ "layer": "rain" }), "\"layer\": no such key", "layer"),
        (&lake, json!({ "falloff": 2 }), "falloff = 2: allowed 0 to 1", "falloff"),
        (&river, json!({ "height_m": null }), "height_m is missing", "height_m"),
        (&river, json!({ "height_m": [20, 90] }), "a river runs downhill", "height_m"),
        (&river, json!({ "height_m": [90, 50, 60] }), "rises from 50 to 60", "height_m"),
        (
            &river,
            json!({ "height_m": [90, 50, 40, 3] }),
            "or one for each of the 3 points",
            "height_m",
        ),
        (&river, json!({ "height_m": [90000, 50] }), "height_m = 90000", "height_m"),
        (&river, json!({ "at_m": [[1, 1]] }), "two points or more", "at_m"),
        (&river, json!({ "width_m": 0 }), "width_m = 0: allowed", "width_m"),
        (&river, json!({ "width_m": 1e6 }), "up to 327670 m, 32767 cells", "width_m"),
        (&river, json!({ "radius_m": 1e6 }), "up to 327670 m, 32767 cells", "radius_m"),
        (&river, json!({ "catchment_km2": -1 }), "catchment_km2 = -1: allowed", "catchment_km2"),
    ] {
        let (message, at) = changed(stroke, changes);
        assert!(message.contains(expected), "{message}\nlacks {expected}");
        assert!(at.ends_with(pointer), "{at} does not end with {pointer}: {message}");
    }
}

/// The water of a spring is what the recipe says that it drains.
#[test]
fn a_spring_has_the_water_of_its_catchment() {
    let river = |catchment: f64| {
        json!([{ "tool": "river", "at_m": [[700, 300], [700, 1200]], "height_m": [50, 10],
            "width_m": 5, "catchment_km2": catchment }])
    };
    let largest = |catchment: f64| {
        let recipe = recipe(3, None, &river(catchment), &json!([]));
        let made = made(&recipe, &mut cpu());
        made.outcome.water.unwrap()["largest_catchment_km2"].as_f64().unwrap()
    };
    let without = largest(0.0);
    // Where more than the whole map comes out of a spring, its river is the largest.
    let with = largest(40.0);
    assert!((with - 40.0 - without).abs() < 1.7 && with > 40.0, "{without} and {with} km²");
}
