//! The cases for the tests of all stages.

use crate::site::{Layer, Layers};
use crate::stage::Case;
use crate::stage::Surface::{Flat, Hills, Noise, Valley};
use crate::stage::case::case;

pub(super) fn cases() -> Vec<Case> {
    let sediment = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    let brief = |name, surface, origin, size| {
        case(name, surface, origin, size)
            .with("lifetime", 16)
            .with("rain", 2.0)
            .with_layers(sediment)
    };
    vec![
        brief("default", Flat, [0, 0], [96, 80]),
        brief("hills", Hills, [-7, 5], [97, 61])
            .with("border", "open")
            .with("density", 0.25)
            .with("from_deg", 200.0),
        brief("torus", Flat, [0, 0], [14, 64]).with("hop_cells", 12.0).with("gust", 1.0),
        brief("wall", Valley, [3, 3], [50, 41]).with("border", "wall"),
        brief("wild", Noise, [1 << 40, -(1 << 33)], [73, 59])
            .with("border", "open")
            .with("grain_cells", 0.5)
            .with("creep", 0.0)
            .with("lift", 2.0)
            .with("repose_deg", 80.0)
            .with("sand", 0.0)
            .with("rock", 1.0),
        // So much comes down at once that grains leave a part of their loads.
        brief("crowd", Hills, [9, -4], [45, 38])
            .with("lifetime", 2)
            .with("rain", 8.0)
            .with("hop_cells", 1.0)
            .with("gust", 1.0)
            .with("grain_cells", 0.5)
            .with("sand", 0.0)
            .with("rock", 0.0)
            .with("creep", 0.0)
            .with("repose_deg", 5.0)
            .with("border", "wall"),
        brief("some", Hills, [-4, 7], [53, 49]).with("rain", 2.3),
        brief("rooted", Flat, [0, 0], [64, 33])
            .with("root_strength", 0.7)
            .with_layers(sediment.with(Layer::Vegetation, true)),
    ]
}
