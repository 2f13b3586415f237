//! The cases for the tests of all stages.

use crate::params::Value;
use crate::site::{Layer, Layers, Window};
use crate::stage::{Case, Surface};

pub(super) fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let brief = vec![("lifetime", i(12)), ("rain", n(1.0))];
    let with = |more: Vec<(&'static str, Value)>| [brief.clone(), more].concat();
    vec![
        Case {
            name: "default",
            settings: brief.clone(),
            window: window(0, 0, 96, 80),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        Case {
            name: "dense",
            settings: with(vec![("density", n(1.0)), ("river_threshold", n(2.5))]),
            window: window(-7, 5, 97, 61),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        Case {
            name: "ninth",
            settings: with(vec![("density", n(0.11))]),
            window: window(100, -100, 67, 130),
            surface: Surface::Cone,
            layers: Layers::NONE,
        },
        Case {
            name: "torus",
            settings: with(vec![("border", word("torus"))]),
            window: window(0, 0, 64, 48),
            surface: Surface::Valley,
            layers: Layers::NONE,
        },
        Case {
            name: "wall",
            settings: with(vec![("border", word("wall"))]),
            window: window(0, 0, 50, 41),
            surface: Surface::Valley,
            layers: Layers::NONE,
        },
        Case {
            name: "high",
            settings: with(vec![("border", word("high")), ("density", n(1.0))]),
            window: window(-3, 8, 47, 38),
            surface: Surface::Cone,
            layers: Layers::NONE,
        },
        Case {
            name: "flat",
            settings: with(vec![("slope_min", n(0.5))]),
            window: window(0, 0, 40, 40),
            surface: Surface::Flat,
            layers: Layers::NONE,
        },
        Case {
            name: "wild",
            settings: with(vec![
                ("density", n(1.0)),
                ("capacity", n(16.0)),
                ("erosion", n(1.0)),
                ("deposition", n(1.0)),
                ("max_step_fraction", n(1.0)),
                ("gravity", n(16.0)),
                ("radius_cells", n(6.5)),
                ("evaporation", n(0.0)),
            ]),
            window: window(1 << 40, -(1 << 33), 73, 59),
            surface: Surface::Noise,
            layers: Layers::NONE,
        },
        Case {
            name: "point",
            settings: with(vec![("radius_cells", n(1.0)), ("inertia", n(0.9))]),
            window: window(3, 3, 33, 17),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        Case {
            name: "tiny",
            settings: with(vec![("density", n(1.0))]),
            window: window(0, 0, 2, 3),
            surface: Surface::Noise,
            layers: Layers::NONE,
        },
        Case {
            name: "layers",
            settings: with(vec![
                ("floor_m", n(200.0)),
                ("smooth", i(3)),
                ("bedrock", n(0.4)),
                ("river_threshold", n(300.0)),
            ]),
            window: window(-9, 20, 83, 57),
            surface: Surface::Hills,
            layers: Layers::ALL,
        },
        Case {
            name: "hard",
            settings: with(vec![
                ("border", word("torus")),
                ("smooth", i(2)),
                ("floor_m", n(220.0)),
                ("radius_cells", n(7.0)),
            ]),
            window: window(0, 0, 48, 64),
            surface: Surface::Hills,
            layers: Layers::of(&[Layer::Hardness]),
        },
        Case {
            name: "loose",
            settings: with(vec![("density", n(1.0)), ("bedrock", n(1.0))]),
            window: window(0, 0, 64, 33),
            surface: Surface::Hills,
            layers: Layers::of(&[Layer::Ledger, Layer::Sediment]),
        },
        // Loads so large that droplets cannot leave all of them behind.
        Case {
            name: "overloaded",
            settings: vec![
                ("lifetime", i(32)),
                ("rain", n(2.0)),
                ("density", n(1.0)),
                ("capacity", n(16.0)),
                ("erosion", n(1.0)),
                ("deposition", n(0.0)),
                ("max_step_fraction", n(1.0)),
                ("gravity", n(16.0)),
                ("evaporation", n(0.0)),
                ("radius_cells", n(1.0)),
                ("border", word("wall")),
            ],
            window: window(5, -9, 45, 38),
            surface: Surface::Valley,
            layers: Layers::NONE,
        },
        // No whole number of lives.
        Case {
            name: "some",
            settings: with(vec![("rain", n(0.6))]),
            window: window(-4, 7, 53, 49),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        Case {
            name: "washed",
            settings: with(vec![("wash", n(0.7)), ("density", n(1.0)), ("erosion", n(0.5))]),
            window: window(31, 6, 59, 47),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        // Hills of up to 370 m.
        Case {
            name: "sea",
            settings: with(vec![
                ("sea_level_m", n(180.0)),
                ("wash", n(0.25)),
                ("floor_m", n(150.0)),
                ("rain", n(2.0)),
            ]),
            window: window(-9, 20, 83, 57),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        Case {
            name: "estuary",
            settings: with(vec![
                ("sea_level_m", n(60.0)),
                ("border", word("wall")),
                ("density", n(1.0)),
                ("capacity", n(8.0)),
                ("erosion", n(0.5)),
                ("river_threshold", n(20.0)),
            ]),
            window: window(0, 0, 70, 43),
            surface: Surface::Valley,
            layers: Layers::NONE,
        },
        Case {
            name: "rivers",
            settings: with(vec![("river_threshold", n(40.0))]),
            window: window(12, -5, 61, 46),
            surface: Surface::Valley,
            layers: Layers::of(&[Layer::Passed]),
        },
    ]
}
