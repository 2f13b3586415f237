//! The cases for the tests of all stages.

use crate::params::Value;
use crate::site::{Layers, Window};
use crate::stage::{Case, Surface};

pub(super) fn cases() -> Vec<Case> {
    let i = Value::Integer;
    let n = Value::Number;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let case = |name, settings, window| Case {
        name,
        settings,
        window,
        surface: Surface::Flat,
        layers: Layers::NONE,
    };
    vec![
        case("default", vec![], window(0, 0, 65, 65)),
        case(
            "window",
            vec![("world_cells", i(1 << 24)), ("gain", n(0.6))],
            window(8_000_001, 5_000_000, 61, 47),
        ),
        case(
            "largest",
            vec![("world_cells", i(1 << 32)), ("feature_cells", i(64))],
            window((1 << 32) - 40, (1 << 32) - 33, 70, 53),
        ),
        case(
            "torus",
            vec![
                ("world_cells", i(64)),
                ("edge", word("torus")),
                ("normalise", Value::Switch(true)),
            ],
            window(-20, 30, 131, 70),
        ),
        case(
            "outside",
            vec![("world_cells", i(32)), ("edge_height", n(0.25)), ("square", Value::Switch(true))],
            window(-9, -5, 60, 51),
        ),
        case(
            "midpoint",
            vec![("mode", word("midpoint")), ("base_m", n(-50.0))],
            window(0, 0, 65, 65),
        ),
        case("skyline", vec![("mode", word("skyline"))], window(3, 0, 100, 7)),
        case(
            "pair",
            vec![("random", word("pair")), ("world_cells", i(64)), ("rounds", i(32))],
            window(1, 2, 40, 33),
        ),
        case(
            "pair_largest",
            vec![("random", word("pair")), ("world_cells", i(1 << 32)), ("rounds", i(80))],
            window((1 << 32) - 40, (1 << 32) - 33, 34, 21),
        ),
        case(
            "mul",
            vec![("random", word("mul")), ("world_cells", i(1 << 26)), ("feature_cells", i(16))],
            window((1 << 26) - 30, 50, 41, 33),
        ),
        case("point", vec![("world_cells", i(1 << 30))], window(123_456_789, 987_654, 1, 1)),
        case("highest", vec![("combine", word("max"))], window(0, 0, 40, 33)),
    ]
}
