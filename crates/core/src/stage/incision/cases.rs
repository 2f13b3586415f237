//! The cases for the tests of all stages.

use crate::params::Value;
use crate::site::{Layer, Layers, Window};
use crate::stage::{Case, Surface};

pub(super) fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let case = |name, more: Vec<(&'static str, Value)>, window, surface, layers| Case {
        name,
        settings: [vec![("steps", i(12)), ("fall", i(20))], more].concat(),
        window,
        surface,
        layers,
    };
    let none = Layers::NONE;
    let all = Layers::ALL;
    let water = Layers::of(&[Layer::Water, Layer::WaterOn]);
    vec![
        case("default", vec![("fall", i(0))], window(0, 0, 97, 61), Surface::Hills, none),
        case(
            "torus",
            vec![("border", word("torus")), ("uplift_m", n(3.0)), ("creep", n(0.2))],
            window(-7, 5, 50, 33),
            Surface::Valley,
            none,
        ),
        case(
            "wild",
            vec![
                ("border", word("wall")),
                ("erodibility", n(100.0)),
                ("creep", n(0.5)),
                ("silt", n(1.0)),
                ("repose_deg", n(0.0)),
            ],
            window(1 << 40, 0, 73, 59),
            Surface::Noise,
            none,
        ),
        case(
            "sea",
            vec![
                ("sea_level_m", n(150.0)),
                ("floor_m", n(170.0)),
                ("erodibility", n(0.5)),
                ("uplift_m", n(5.0)),
            ],
            window(0, 0, 70, 65),
            Surface::Hills,
            none,
        ),
        case(
            "cone",
            vec![("area_exponent", n(0.35)), ("repose_deg", n(20.0)), ("slope_min", n(0.0003))],
            window(0, 0, 64, 65),
            Surface::Cone,
            none,
        ),
        case(
            "strata",
            vec![("strata_m", n(25.0)), ("strata_hardness", n(1.0)), ("repose_deg", n(60.0))],
            window(3, -5, 75, 50),
            Surface::Hills,
            none,
        ),
        case(
            "thin_strata",
            vec![("strata_m", n(0.5)), ("strata_hardness", n(0.7))],
            window(0, 0, 40, 40),
            Surface::Hills,
            all,
        ),
        case(
            "last_step",
            vec![("steps", i(37)), ("last_step", n(0.05)), ("uplift_m", n(6.0))],
            window(0, 7, 60, 52),
            Surface::Hills,
            none,
        ),
        case(
            "last_step_layers",
            vec![("last_step", n(0.02)), ("uplift_m", n(0.0005)), ("strata_m", n(25.0))],
            window(0, 7, 47, 40),
            Surface::Hills,
            all.with(Layer::Ledger, true),
        ),
        case(
            "finer_torus",
            vec![("roughness_cells", n(2.0)), ("border", word("torus")), ("uplift_m", n(3.0))],
            window(-9, 4, 51, 40),
            Surface::Noise,
            water,
        ),
        case(
            "finer_row",
            vec![("roughness_cells", n(2.0)), ("border", word("wall"))],
            window(-9, 4, 1, 37),
            Surface::Noise,
            water.with(Layer::Ledger, true),
        ),
        case(
            "finer_sea",
            vec![("roughness_cells", n(16.0)), ("sea_level_m", n(150.0)), ("border", word("wall"))],
            window(3, 4, 70, 31),
            Surface::Hills,
            water,
        ),
        case("tiny", vec![("uplift_m", n(2.0))], window(0, 0, 2, 3), Surface::Noise, none),
        case(
            "row",
            vec![("uplift_m", n(2.0)), ("border", word("wall"))],
            window(3, 0, 40, 1),
            Surface::Noise,
            none,
        ),
        case(
            "layers",
            vec![("uplift_m", n(4.0)), ("erodibility", n(0.3))],
            window(0, 0, 81, 50),
            Surface::Hills,
            all,
        ),
        case(
            "finer",
            vec![("roughness_cells", n(1.5)), ("lake_depth_m", n(40.0))],
            window(-9, 4, 51, 40),
            Surface::Hills,
            water,
        ),
        case(
            "booked",
            vec![("roughness_cells", n(3.0)), ("uplift_m", n(9.0))],
            window(5, 5, 40, 41),
            Surface::Valley,
            water.with(Layer::Ledger, true),
        ),
    ]
}
