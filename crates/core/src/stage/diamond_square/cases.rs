//! The cases for the tests of all stages.

use crate::stage::Case;
use crate::stage::Surface::Flat;
use crate::stage::case::case;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("default", Flat, [0, 0], [65, 65]),
        case("window", Flat, [8_000_001, 5_000_000], [61, 47])
            .with("world_cells", 1 << 24)
            .with("gain", 0.6),
        case("largest", Flat, [(1 << 32) - 40, (1 << 32) - 33], [70, 53])
            .with("world_cells", 1i64 << 32)
            .with("feature_cells", 64),
        case("torus", Flat, [-20, 30], [131, 70])
            .with("world_cells", 64)
            .with("edge", "torus")
            .with("normalise", true),
        case("outside", Flat, [-9, -5], [60, 51])
            .with("world_cells", 32)
            .with("edge_height", 0.25)
            .with("square", true),
        case("midpoint", Flat, [0, 0], [65, 65]).with("mode", "midpoint").with("base_m", -50.0),
        case("skyline", Flat, [3, 0], [100, 7]).with("mode", "skyline"),
        case("skyline_pair", Flat, [3, 0], [60, 7]).with("mode", "skyline").with("random", "pair"),
        case("skyline_mul", Flat, [3, 0], [60, 7]).with("mode", "skyline").with("random", "mul"),
        case("pair", Flat, [1, 2], [40, 33])
            .with("random", "pair")
            .with("world_cells", 64)
            .with("rounds", 32),
        case("pair_largest", Flat, [(1 << 32) - 40, (1 << 32) - 33], [34, 21])
            .with("random", "pair")
            .with("world_cells", 1i64 << 32)
            .with("rounds", 80),
        case("mul", Flat, [(1 << 26) - 30, 50], [41, 33])
            .with("random", "mul")
            .with("world_cells", 1 << 26)
            .with("feature_cells", 16),
        case("point", Flat, [123_456_789, 987_654], [1, 1]).with("world_cells", 1 << 30),
        case("highest", Flat, [0, 0], [40, 33]).with("combine", "max"),
    ]
}
