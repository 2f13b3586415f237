//! The cases for the tests of all stages.

use crate::params::Value;
use crate::site::{Layer, Layers, Window};
use crate::stage::{Case, Surface};

pub(super) fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let all = Layers::ALL;
    vec![
        Case {
            name: "default",
            settings: vec![],
            window: window(0, 0, 30, 20),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        Case {
            name: "opened",
            settings: vec![("map", word("sediment"))],
            window: window(0, 0, 31, 21),
            surface: Surface::Hills,
            layers: Layers::of(&[Layer::Ledger]),
        },
        Case {
            name: "noise",
            settings: vec![
                ("map", word("rain")),
                ("from", word("noise")),
                ("feature_cells", i(24)),
                ("octaves", i(6)),
            ],
            window: window(-(1 << 40) - 3, 77, 61, 47),
            surface: Surface::Flat,
            layers: Layers::NONE,
        },
        Case {
            name: "slope",
            settings: vec![
                ("from", word("slope")),
                ("end", n(2.0)),
                ("low", n(0.25)),
                ("combine", word("multiply")),
            ],
            window: window(0, 0, 50, 41),
            surface: Surface::Hills,
            layers: all,
        },
        Case {
            name: "height",
            settings: vec![
                ("map", word("vegetation")),
                ("from", word("height")),
                ("start", n(200.0)),
                ("end", n(-10.0)),
                ("combine", word("max")),
            ],
            window: window(0, 0, 45, 33),
            surface: Surface::Hills,
            layers: all,
        },
        Case {
            name: "sediment",
            settings: vec![
                ("map", word("sediment")),
                ("from", word("noise")),
                ("thickness_m", n(30.0)),
                ("combine", word("add")),
            ],
            window: window(5, 5, 40, 40),
            surface: Surface::Noise,
            layers: all,
        },
        Case {
            name: "thinned",
            settings: vec![
                ("map", word("sediment")),
                ("from", word("slope")),
                ("high", n(0.5)),
                ("combine", word("multiply")),
            ],
            window: window(5, 5, 40, 40),
            surface: Surface::Hills,
            layers: all,
        },
        Case {
            name: "uplift",
            settings: vec![
                ("map", word("uplift")),
                ("from", word("height")),
                ("start", n(-5.0)),
                ("end", n(90.0)),
                ("combine", word("add")),
            ],
            window: window(-3, 8, 40, 33),
            surface: Surface::Hills,
            layers: all,
        },
        Case {
            name: "least",
            settings: vec![
                ("map", word("rain")),
                ("from", word("noise")),
                ("combine", word("min")),
            ],
            window: window(0, 0, 40, 40),
            surface: Surface::Flat,
            layers: all,
        },
        Case {
            name: "file",
            settings: vec![
                ("from", word("file")),
                ("file", word("mask.png")),
                ("start", n(0.2)),
                ("end", n(0.7)),
            ],
            window: window(0, 0, 40, 40),
            surface: Surface::Flat,
            layers: Layers::NONE,
        },
        Case {
            name: "weather",
            settings: vec![
                ("map", word("rain")),
                ("from", word("weather")),
                ("from_deg", n(250.0)),
                ("carry_m", n(90.0)),
                ("fetch_m", n(160.0)),
                ("shadow", n(0.75)),
                ("moisture", n(1.5)),
                ("sea_level_m", n(180.0)),
            ],
            window: window(-9, 4, 70, 53),
            surface: Surface::Hills,
            layers: Layers::NONE,
        },
        Case {
            name: "gale",
            settings: vec![
                ("from", word("weather")),
                ("from_deg", n(35.0)),
                ("fetch_m", n(500.0)),
                ("moisture", n(128.0)),
                ("sea_level_m", n(-1e6)),
                ("veer_deg", n(0.0)),
                ("combine", word("max")),
            ],
            window: window(0, 0, 41, 60),
            surface: Surface::Noise,
            layers: all,
        },
    ]
}
