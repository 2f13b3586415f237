//! The cases for the tests of all stages.

use super::BiomeShape;
use crate::stage::Case;
use crate::stage::Surface::{Flat, Hills};
use crate::stage::case::case;
use serde_json::{Value as Json, json};

/// This many biomes of all shapes, called b0, b1 …
fn many(count: usize) -> Vec<Json> {
    let biome = |n: usize| {
        json!({
            "name": format!("b{n}"), "colour": "#102030", "base_m": 10 * n, "relief_m": 30,
            "shape": BiomeShape::ALL[n % 3].0, "hardness": n as f64 / count as f64,
            "rain": (n % 7) as f64 / 7.0, "vegetation": 1.0 - n as f64 / count as f64,
            "frequency": 0.05,
        })
    };
    (0..count).map(biome).collect()
}

/// Biomes for a table of climates, and a sea.
fn with_sea() -> Vec<Json> {
    let biome =
        |(n, name): (usize, &str)| json!({ "name": name, "colour": format!("#{n}0f0{n}0") });
    ["b0", "b1", "b2", "b3", "b4", "b5", "sea"].into_iter().enumerate().map(biome).collect()
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("default", Flat, [0, 0], [90, 70])
            .with("feature_cells", 60.0)
            .with("heights", "replace")
            .with("splat", true),
        case("many", Hills, [-(1 << 40) - 3, 77], [61, 47])
            .with("frequency", 0.3)
            .with("padding_cells", 9.0)
            .with("feature_cells", 4.0)
            .with("octaves", 1)
            .with("heights", "add")
            .with("splat", true)
            .with("biome", many(40))
            .with("chunk_cells", "8"),
        case("full", Flat, [5, -9], [50, 41])
            .with("method", "full")
            .with("radius_cells", 7.5)
            .with("feature_cells", 30.0)
            .with("skip", false)
            .with("chunk_cells", "32"),
        case("convolved", Flat, [-7, 3], [70, 45])
            .with("method", "convolved")
            .with("interval_cells", 5)
            .with("radius_cells", 9.0)
            .with("feature_cells", 150.0)
            .with("chunk_cells", "8"),
        case("weights", Hills, [9, -4], [40, 33])
            .with("frequency", 0.3)
            .with("feature_cells", 8.0)
            .with("biome", many(11))
            .with("weights", "npy"),
        // Wide biomes: most records lie between four nodes that are the same.
        case("lerped_wide", Flat, [-20, 31], [65, 50])
            .with("method", "lerped")
            .with("interval_cells", 8)
            .with("radius_cells", 9.0)
            .with("feature_cells", 200.0)
            .with("skip", false)
            .with("chunk_cells", "32"),
        case("lerped", Flat, [-20, 31], [65, 50])
            .with("method", "lerped")
            .with("interval_cells", 6)
            .with("radius_cells", 14.0)
            .with("feature_cells", 12.0)
            .with("biome", many(12))
            .with("heights", "replace"),
        case("lerped_few", Flat, [-20, 31], [65, 50])
            .with("method", "lerped")
            .with("interval_cells", 8)
            .with("radius_cells", 20.0)
            .with("feature_cells", 25.0)
            .with("biome", many(8)),
        case("image", Flat, [0, 0], [40, 33])
            .with("from", "image")
            .with("file", "biomes.png")
            .with("frequency", 0.2)
            .with("padding_cells", 4.0)
            .with("biome", many(255)),
        case("climate", Hills, [-9, 5], [75, 60])
            .with("from", "climate")
            .with("frequency", 0.1)
            .with("padding_cells", 6.0)
            .with("feature_cells", 40.0)
            .with("sea_level_m", 180.0)
            .with("equator", 30)
            .with("pole_cells", 90)
            .with("lapse_m", 300.0)
            .with("inland_cells", 11)
            .with("stir", 0.5)
            .with("table", vec![json!(["b0", "b1", "b2"]), json!(["b3", "b4", "b5"])])
            .with("biome", with_sea()),
        case("rivers", Hills, [3, -8], [61, 47])
            .with("from", "climate")
            .with("water", "rivers")
            .with("frequency", 0.2)
            .with("padding_cells", 3.0)
            .with("sea_level_m", 150.0)
            .with("inland_cells", 5)
            .with("coast", 0.7)
            .with("table", vec![json!(["b0", "b1", "b2"])])
            .with("biome", many(3)),
        case("wide", Flat, [0, 0], [20, 17])
            .with("frequency", 0.05)
            .with("padding_cells", 512.0)
            .with("feature_cells", 300.0)
            .with("biome", many(3)),
    ]
}
