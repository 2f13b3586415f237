//! The cases for the tests of all stages.

use crate::params::Value;
use crate::site::{Layers, Window};
use crate::stage::{Case, Surface};

pub(super) fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let brief = vec![("lifetime", i(14)), ("rain", n(1.0)), ("quicken", n(0.3))];
    let case = |name, more: Vec<(&'static str, Value)>, window, surface, layers| Case {
        name,
        settings: [brief.clone(), more].concat(),
        window,
        surface,
        layers,
    };
    let none = Layers::NONE;
    vec![
        case("default", vec![], window(0, 0, 96, 80), Surface::Hills, none),
        case(
            "dense",
            vec![("density", n(1.0)), ("radius_cells", n(1.0))],
            window(-7, 5, 97, 61),
            Surface::Hills,
            none,
        ),
        case(
            "fast",
            vec![("speed", n(3.0)), ("friction", n(0.8)), ("offset_cells", n(4.0))],
            window(9, 9, 90, 70),
            Surface::Cone,
            none,
        ),
        case(
            "torus",
            vec![("border", word("torus")), ("speed", n(2.0))],
            window(0, 0, 48, 64),
            Surface::Valley,
            none,
        ),
        case(
            "wall",
            vec![("border", word("wall")), ("speed", n(2.0))],
            window(0, 0, 50, 41),
            Surface::Valley,
            none,
        ),
        case(
            "wild",
            vec![
                ("density", n(1.0)),
                ("erosion", n(16.0)),
                ("deposition", n(1.0)),
                ("max_step_fraction", n(1.0)),
                ("speed", n(8.0)),
                ("friction", n(0.99)),
            ],
            window(1 << 40, -(1 << 33), 73, 59),
            Surface::Noise,
            none,
        ),
        case(
            "left",
            vec![("loads", word("left")), ("density", n(1.0)), ("rain", n(2.0))],
            window(-7, 5, 61, 47),
            Surface::Hills,
            none,
        ),
        case(
            "heaps",
            vec![
                ("loads", word("left")),
                ("border", word("wall")),
                ("speed", n(2.0)),
                ("erosion", n(9.0)),
                ("max_step_fraction", n(1.0)),
            ],
            window(0, 0, 50, 41),
            Surface::Valley,
            none,
        ),
        case(
            "sea",
            vec![
                ("sea_level_m", n(180.0)),
                ("wash", n(0.3)),
                ("speed", n(1.0)),
                ("density", n(1.0)),
            ],
            window(-9, 20, 83, 57),
            Surface::Hills,
            none,
        ),
        case(
            "shore",
            vec![
                ("sea_level_m", n(120.0)),
                ("loads", word("left")),
                ("border", word("torus")),
                ("deposition", n(0.5)),
            ],
            window(0, 0, 64, 48),
            Surface::Valley,
            none,
        ),
        case("some", vec![("rain", n(0.28))], window(-4, 7, 53, 49), Surface::Hills, none),
        case(
            "layers",
            vec![("floor_m", n(200.0)), ("smooth", i(2))],
            window(-9, 20, 83, 57),
            Surface::Hills,
            Layers::ALL,
        ),
    ]
}
