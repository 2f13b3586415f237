//! The cases for the tests of all stages.

use crate::params::Value;
use crate::site::{Layers, Window};
use crate::stage::{Case, Surface};

pub(super) fn cases() -> Vec<Case> {
    let (i, n) = (Value::Integer, Value::Number);
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let case = |name, settings, window| Case {
        name,
        settings,
        window,
        surface: Surface::Flat,
        layers: Layers::NONE,
    };
    vec![
        case("default", vec![], window(60, 180, 97, 83)),
        case(
            "whole",
            vec![
                ("centre_x", i(40)),
                ("centre_y", i(30)),
                ("radius_x_cells", i(38)),
                ("radius_y_cells", i(27)),
                ("feature_cells", n(20.0)),
                ("crater_rim_m", n(40.0)),
                ("crater_relief_m", n(30.0)),
                ("crater_depth_m", n(80.0)),
            ],
            window(0, 0, 81, 61),
        ),
        case(
            "plain",
            vec![("craters", Value::Switch(false)), ("octaves", i(1)), ("base_m", n(0.0))],
            window(100, 200, 41, 70),
        ),
        case(
            "far",
            vec![
                ("centre_x", i(-(1 << 60))),
                ("centre_y", i(1 << 60)),
                ("radius_x_cells", i(32767)),
                ("radius_y_cells", i(20000)),
                ("feature_cells", n(3000.5)),
                ("crater_feature_cells", n(777.0)),
                ("crater_slope", n(0.0)),
                ("crater_rim_m", n(20.0)),
                ("relief_m", n(79000.0)),
                ("height_power", n(1.0)),
                ("shape_power", n(8.0)),
                ("octaves", i(12)),
                ("gain", n(1.0)),
            ],
            window(-(1 << 60) - 32790, (1 << 60) + 50, 60, 33),
        ),
    ]
}
