//! The cases for the tests of all stages.

use super::BiomeShape;
use crate::params::Value;
use crate::site::{Layers, Window};
use crate::stage::{Case, Surface};
use serde_json::json;

pub(super) fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let case = |name, settings, window, surface| Case {
        name,
        settings,
        window,
        surface,
        layers: Layers::NONE,
    };
    let many = |count: usize| {
        Value::List(
            (0..count)
                .map(|n| {
                    json!({
                        "name": format!("b{n}"), "colour": "#102030", "base_m": 10 * n,
                        "relief_m": 30,
                        "shape": BiomeShape::ALL[n % 3].0, "hardness": n as f64 / count as f64,
                        "rain": (n % 7) as f64 / 7.0, "vegetation": 1.0 - n as f64 / count as f64,
                        "frequency": 0.05,
                    })
                })
                .collect(),
        )
    };
    vec![
        case(
            "default",
            vec![
                ("feature_cells", n(60.0)),
                ("heights", word("replace")),
                ("splat", Value::Switch(true)),
            ],
            window(0, 0, 90, 70),
            Surface::Flat,
        ),
        case(
            "many",
            vec![
                ("frequency", n(0.3)),
                ("padding_cells", n(9.0)),
                ("feature_cells", n(4.0)),
                ("octaves", i(1)),
                ("heights", word("add")),
                ("splat", Value::Switch(true)),
                ("biome", many(40)),
                ("chunk_cells", word("8")),
            ],
            window(-(1 << 40) - 3, 77, 61, 47),
            Surface::Hills,
        ),
        case(
            "full",
            vec![
                ("method", word("full")),
                ("radius_cells", n(7.5)),
                ("feature_cells", n(30.0)),
                ("skip", Value::Switch(false)),
                ("chunk_cells", word("32")),
            ],
            window(5, -9, 50, 41),
            Surface::Flat,
        ),
        case(
            "convolved",
            vec![
                ("method", word("convolved")),
                ("interval_cells", i(5)),
                ("radius_cells", n(9.0)),
                ("feature_cells", n(150.0)),
                ("chunk_cells", word("8")),
            ],
            window(-7, 3, 70, 45),
            Surface::Flat,
        ),
        case(
            "lerped",
            vec![
                ("method", word("lerped")),
                ("interval_cells", i(6)),
                ("radius_cells", n(14.0)),
                ("feature_cells", n(12.0)),
                ("biome", many(12)),
                ("heights", word("replace")),
            ],
            window(-20, 31, 65, 50),
            Surface::Flat,
        ),
        case(
            "image",
            vec![
                ("from", word("image")),
                ("file", word("biomes.png")),
                ("frequency", n(0.2)),
                ("padding_cells", n(4.0)),
                ("biome", many(255)),
            ],
            window(0, 0, 40, 33),
            Surface::Flat,
        ),
        case(
            "climate",
            vec![
                ("from", word("climate")),
                ("frequency", n(0.1)),
                ("padding_cells", n(6.0)),
                ("feature_cells", n(40.0)),
                ("sea_level_m", n(180.0)),
                ("equator", i(30)),
                ("pole_cells", i(90)),
                ("lapse_m", n(300.0)),
                ("inland_cells", i(11)),
                ("stir", n(0.5)),
                ("table", Value::List(vec![json!(["b0", "b1", "b2"]), json!(["b3", "b4", "b5"])])),
                (
                    "biome",
                    Value::List(
                        ["b0", "b1", "b2", "b3", "b4", "b5", "sea"]
                            .iter()
                            .enumerate()
                            .map(|(n, name)| {
                                json!({ "name": name,
                                "colour": format!("#{n}0f0{n}0") })
                            })
                            .collect(),
                    ),
                ),
            ],
            window(-9, 5, 75, 60),
            Surface::Hills,
        ),
        case(
            "rivers",
            vec![
                ("from", word("climate")),
                ("water", word("rivers")),
                ("frequency", n(0.2)),
                ("padding_cells", n(3.0)),
                ("sea_level_m", n(150.0)),
                ("inland_cells", i(5)),
                ("coast", n(0.7)),
                ("table", Value::List(vec![json!(["b0", "b1", "b2"])])),
                ("biome", many(3)),
            ],
            window(3, -8, 61, 47),
            Surface::Hills,
        ),
        case(
            "wide",
            vec![
                ("frequency", n(0.05)),
                ("padding_cells", n(512.0)),
                ("feature_cells", n(300.0)),
                ("biome", many(3)),
            ],
            window(0, 0, 20, 17),
            Surface::Flat,
        ),
    ]
}
