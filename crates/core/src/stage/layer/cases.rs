//! The cases for the tests of all stages.

use crate::site::{Layer, Layers};
use crate::stage::Case;
use crate::stage::Surface::{Flat, Hills, Noise};
use crate::stage::case::case;

pub(super) fn cases() -> Vec<Case> {
    let all = Layers::ALL;
    vec![
        case("default", Hills, [0, 0], [30, 20]),
        case("opened", Hills, [0, 0], [31, 21])
            .with("map", "sediment")
            .with_layers(Layers::of(&[Layer::Ledger])),
        case("noise", Flat, [-(1 << 40) - 3, 77], [61, 47])
            .with("map", "rain")
            .with("from", "noise")
            .with("feature_cells", 24)
            .with("octaves", 6),
        case("slope", Hills, [0, 0], [50, 41])
            .with("from", "slope")
            .with("end", 2.0)
            .with("low", 0.25)
            .with("combine", "multiply")
            .with_layers(all),
        case("height", Hills, [0, 0], [45, 33])
            .with("map", "vegetation")
            .with("from", "height")
            .with("start", 200.0)
            .with("end", -10.0)
            .with("combine", "max")
            .with_layers(all),
        case("sediment", Noise, [5, 5], [40, 40])
            .with("map", "sediment")
            .with("from", "noise")
            .with("thickness_m", 30.0)
            .with("combine", "add")
            .with_layers(all),
        case("thinned", Hills, [5, 5], [40, 40])
            .with("map", "sediment")
            .with("from", "slope")
            .with("high", 0.5)
            .with("combine", "multiply")
            .with_layers(all),
        case("uplift", Hills, [-3, 8], [40, 33])
            .with("map", "uplift")
            .with("from", "height")
            .with("start", -5.0)
            .with("end", 90.0)
            .with("combine", "add")
            .with_layers(all),
        case("least", Flat, [0, 0], [40, 40])
            .with("map", "rain")
            .with("from", "noise")
            .with("combine", "min")
            .with_layers(all),
        case("file", Flat, [0, 0], [40, 40])
            .with("from", "file")
            .with("file", "mask.png")
            .with("start", 0.2)
            .with("end", 0.7),
        case("weather", Hills, [-9, 4], [70, 53])
            .with("map", "rain")
            .with("from", "weather")
            .with("from_deg", 250.0)
            .with("carry_m", 90.0)
            .with("fetch_m", 160.0)
            .with("shadow", 0.75)
            .with("moisture", 1.5)
            .with("sea_level_m", 180.0),
        case("gale", Noise, [0, 0], [41, 60])
            .with("from", "weather")
            .with("from_deg", 35.0)
            .with("fetch_m", 500.0)
            .with("moisture", 128.0)
            .with("sea_level_m", -1e6)
            .with("veer_deg", 0.0)
            .with("combine", "max")
            .with_layers(all),
    ]
}
