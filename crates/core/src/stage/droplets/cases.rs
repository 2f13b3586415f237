//! The cases for the tests of all stages.

use crate::site::{Layer, Layers};
use crate::stage::Case;
use crate::stage::Surface::{Cone, Flat, Hills, Noise, Valley};
use crate::stage::case::case;

pub(super) fn cases() -> Vec<Case> {
    let brief = |name, surface, origin, size| {
        case(name, surface, origin, size).with("lifetime", 12).with("rain", 1.0)
    };
    vec![
        brief("default", Hills, [0, 0], [96, 80]),
        brief("dense", Hills, [-7, 5], [97, 61]).with("density", 1.0).with("river_threshold", 2.5),
        brief("ninth", Cone, [100, -100], [67, 130]).with("density", 0.11),
        brief("torus", Valley, [0, 0], [64, 48]).with("border", "torus"),
        brief("wall", Valley, [0, 0], [50, 41]).with("border", "wall"),
        brief("high", Cone, [-3, 8], [47, 38]).with("border", "high").with("density", 1.0),
        brief("flat", Flat, [0, 0], [40, 40]).with("slope_min", 0.5),
        brief("wild", Noise, [1 << 40, -(1 << 33)], [73, 59])
            .with("density", 1.0)
            .with("capacity", 16.0)
            .with("erosion", 1.0)
            .with("deposition", 1.0)
            .with("max_step_fraction", 1.0)
            .with("gravity", 16.0)
            .with("radius_cells", 6.5)
            .with("evaporation", 0.0),
        brief("point", Hills, [3, 3], [33, 17]).with("radius_cells", 1.0).with("inertia", 0.9),
        brief("tiny", Noise, [0, 0], [2, 3]).with("density", 1.0),
        brief("layers", Hills, [-9, 20], [83, 57])
            .with("floor_m", 200.0)
            .with("smooth", 3)
            .with("bedrock", 0.4)
            .with("river_threshold", 300.0)
            .with_layers(Layers::ALL),
        brief("hard", Hills, [0, 0], [48, 64])
            .with("border", "torus")
            .with("smooth", 2)
            .with("floor_m", 220.0)
            .with("radius_cells", 7.0)
            .with_layers(Layers::of(&[Layer::Hardness])),
        brief("loose", Hills, [0, 0], [64, 33])
            .with("density", 1.0)
            .with("bedrock", 1.0)
            .with_layers(Layers::of(&[Layer::Ledger, Layer::Sediment])),
        // Loads so large that droplets cannot leave all of them behind.
        brief("overloaded", Valley, [5, -9], [45, 38])
            .with("lifetime", 32)
            .with("rain", 2.0)
            .with("density", 1.0)
            .with("capacity", 16.0)
            .with("erosion", 1.0)
            .with("deposition", 0.0)
            .with("max_step_fraction", 1.0)
            .with("gravity", 16.0)
            .with("evaporation", 0.0)
            .with("radius_cells", 1.0)
            .with("border", "wall"),
        // No whole number of lives.
        brief("some", Hills, [-4, 7], [53, 49]).with("rain", 0.6),
        brief("washed", Hills, [31, 6], [59, 47])
            .with("wash", 0.7)
            .with("density", 1.0)
            .with("erosion", 0.5),
        // Hills of up to 370 m.
        brief("sea", Hills, [-9, 20], [83, 57])
            .with("sea_level_m", 180.0)
            .with("wash", 0.25)
            .with("floor_m", 150.0)
            .with("rain", 2.0),
        brief("estuary", Valley, [0, 0], [70, 43])
            .with("sea_level_m", 60.0)
            .with("border", "wall")
            .with("density", 1.0)
            .with("capacity", 8.0)
            .with("erosion", 0.5)
            .with("river_threshold", 20.0),
        brief("rivers", Valley, [12, -5], [61, 46])
            .with("river_threshold", 40.0)
            .with_layers(Layers::of(&[Layer::Passed])),
    ]
}
