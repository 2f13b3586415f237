//! The cases for the tests of all stages.

use crate::site::Layers;
use crate::stage::Case;
use crate::stage::Surface::{Cone, Hills, Noise, Valley};
use crate::stage::case::case;

pub(super) fn cases() -> Vec<Case> {
    let brief = |name, surface, origin, size| {
        case(name, surface, origin, size)
            .with("lifetime", 14)
            .with("rain", 1.0)
            .with("quicken", 0.3)
    };
    vec![
        brief("default", Hills, [0, 0], [96, 80]),
        brief("dense", Hills, [-7, 5], [97, 61]).with("density", 1.0).with("radius_cells", 1.0),
        brief("fast", Cone, [9, 9], [90, 70])
            .with("speed", 3.0)
            .with("friction", 0.8)
            .with("offset_cells", 4.0),
        brief("torus", Valley, [0, 0], [48, 64]).with("border", "torus").with("speed", 2.0),
        brief("wall", Valley, [0, 0], [50, 41]).with("border", "wall").with("speed", 2.0),
        brief("wild", Noise, [1 << 40, -(1 << 33)], [73, 59])
            .with("density", 1.0)
            .with("erosion", 16.0)
            .with("deposition", 1.0)
            .with("max_step_fraction", 1.0)
            .with("speed", 8.0)
            .with("friction", 0.99),
        brief("left", Hills, [-7, 5], [61, 47])
            .with("loads", "left")
            .with("density", 1.0)
            .with("rain", 2.0),
        brief("heaps", Valley, [0, 0], [50, 41])
            .with("loads", "left")
            .with("border", "wall")
            .with("speed", 2.0)
            .with("erosion", 9.0)
            .with("max_step_fraction", 1.0),
        brief("sea", Hills, [-9, 20], [83, 57])
            .with("sea_level_m", 180.0)
            .with("wash", 0.3)
            .with("speed", 1.0)
            .with("density", 1.0),
        brief("shore", Valley, [0, 0], [64, 48])
            .with("sea_level_m", 120.0)
            .with("loads", "left")
            .with("border", "torus")
            .with("deposition", 0.5),
        brief("some", Hills, [-4, 7], [53, 49]).with("rain", 0.28),
        brief("layers", Hills, [-9, 20], [83, 57])
            .with("floor_m", 200.0)
            .with("smooth", 2)
            .with_layers(Layers::ALL),
    ]
}
