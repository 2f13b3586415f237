//! The cases for the tests of all stages.

use crate::params::Value;
use crate::site::{Layer, Layers, Window};
use crate::stage::{Case, Surface};

pub(super) fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let sediment = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    let brief = vec![("lifetime", i(16)), ("rain", n(2.0))];
    let case = |name, more: Vec<(&'static str, Value)>, window, surface, layers| Case {
        name,
        settings: [brief.clone(), more].concat(),
        window,
        surface,
        layers,
    };
    vec![
        case("default", vec![], window(0, 0, 96, 80), Surface::Flat, sediment),
        case(
            "hills",
            vec![("border", word("open")), ("density", n(0.25)), ("from_deg", n(200.0))],
            window(-7, 5, 97, 61),
            Surface::Hills,
            sediment,
        ),
        case(
            "torus",
            vec![("hop_cells", n(12.0)), ("gust", n(1.0))],
            window(0, 0, 14, 64),
            Surface::Flat,
            sediment,
        ),
        case(
            "wall",
            vec![("border", word("wall"))],
            window(3, 3, 50, 41),
            Surface::Valley,
            sediment,
        ),
        case(
            "wild",
            vec![
                ("border", word("open")),
                ("grain_cells", n(0.5)),
                ("creep", n(0.0)),
                ("lift", n(2.0)),
                ("repose_deg", n(80.0)),
                ("sand", n(0.0)),
                ("rock", n(1.0)),
            ],
            window(1 << 40, -(1 << 33), 73, 59),
            Surface::Noise,
            sediment,
        ),
        // So much comes down at once that grains leave a part of their loads.
        Case {
            settings: vec![
                ("lifetime", i(2)),
                ("rain", n(8.0)),
                ("hop_cells", n(1.0)),
                ("gust", n(1.0)),
                ("grain_cells", n(0.5)),
                ("sand", n(0.0)),
                ("rock", n(0.0)),
                ("creep", n(0.0)),
                ("repose_deg", n(5.0)),
                ("border", word("wall")),
            ],
            ..case("crowd", vec![], window(9, -4, 45, 38), Surface::Hills, sediment)
        },
        case("some", vec![("rain", n(2.3))], window(-4, 7, 53, 49), Surface::Hills, sediment),
        case(
            "rooted",
            vec![("root_strength", n(0.7))],
            window(0, 0, 64, 33),
            Surface::Flat,
            sediment.with(Layer::Vegetation, true),
        ),
    ]
}
