//! The cases for the tests of all stages.

use crate::site::{Layer, Layers};
use crate::stage::Case;
use crate::stage::Surface::{Cone, Hills, Noise, Valley};
use crate::stage::case::case;

pub(super) fn cases() -> Vec<Case> {
    let brief = |name, surface, origin, size| {
        case(name, surface, origin, size).with("steps", 12).with("fall", 20)
    };
    let all = Layers::ALL;
    let water = Layers::of(&[Layer::Water, Layer::WaterOn]);
    vec![
        brief("default", Hills, [0, 0], [97, 61]).with("fall", 0),
        brief("torus", Valley, [-7, 5], [50, 33])
            .with("border", "torus")
            .with("uplift_m", 3.0)
            .with("creep", 0.2),
        brief("wild", Noise, [1 << 40, 0], [73, 59])
            .with("border", "wall")
            .with("erodibility", 100.0)
            .with("creep", 0.5)
            .with("silt", 1.0)
            .with("repose_deg", 0.0),
        brief("sea", Hills, [0, 0], [70, 65])
            .with("sea_level_m", 150.0)
            .with("floor_m", 170.0)
            .with("erodibility", 0.5)
            .with("uplift_m", 5.0),
        brief("cone", Cone, [0, 0], [64, 65])
            .with("area_exponent", 0.35)
            .with("repose_deg", 20.0)
            .with("slope_min", 0.0003),
        brief("strata", Hills, [3, -5], [75, 50])
            .with("strata_m", 25.0)
            .with("strata_hardness", 1.0)
            .with("repose_deg", 60.0),
        brief("thin_strata", Hills, [0, 0], [40, 40])
            .with("strata_m", 0.5)
            .with("strata_hardness", 0.7)
            .with_layers(all),
        brief("last_step", Hills, [0, 7], [60, 52])
            .with("steps", 37)
            .with("last_step", 0.05)
            .with("uplift_m", 6.0),
        brief("last_step_layers", Hills, [0, 7], [47, 40])
            .with("last_step", 0.02)
            .with("uplift_m", 0.0005)
            .with("strata_m", 25.0)
            .with_layers(all.with(Layer::Ledger, true)),
        brief("finer_torus", Noise, [-9, 4], [51, 40])
            .with("roughness_cells", 2.0)
            .with("border", "torus")
            .with("uplift_m", 3.0)
            .with_layers(water),
        brief("finer_row", Noise, [-9, 4], [1, 37])
            .with("roughness_cells", 2.0)
            .with("border", "wall")
            .with_layers(water.with(Layer::Ledger, true)),
        brief("finer_sea", Hills, [3, 4], [70, 31])
            .with("roughness_cells", 16.0)
            .with("sea_level_m", 150.0)
            .with("border", "wall")
            .with_layers(water),
        brief("tiny", Noise, [0, 0], [2, 3]).with("uplift_m", 2.0),
        brief("row", Noise, [3, 0], [40, 1]).with("uplift_m", 2.0).with("border", "wall"),
        brief("narrow", Noise, [-9, 4], [9, 140]).with("border", "wall").with("silt", 1.0),
        brief("layers", Hills, [0, 0], [81, 50])
            .with("uplift_m", 4.0)
            .with("erodibility", 0.3)
            .with_layers(all),
        brief("finer", Hills, [-9, 4], [51, 40])
            .with("roughness_cells", 1.5)
            .with("lake_depth_m", 40.0)
            .with_layers(water),
        brief("booked", Valley, [5, 5], [40, 41])
            .with("roughness_cells", 3.0)
            .with("uplift_m", 9.0)
            .with_layers(water.with(Layer::Ledger, true)),
    ]
}
