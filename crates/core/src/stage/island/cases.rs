//! The cases for the tests of all stages.

use crate::stage::Case;
use crate::stage::Surface::Flat;
use crate::stage::case::case;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("default", Flat, [60, 180], [97, 83]),
        case("whole", Flat, [0, 0], [81, 61])
            .with("centre_x", 40)
            .with("centre_y", 30)
            .with("radius_x_cells", 38)
            .with("radius_y_cells", 27)
            .with("feature_cells", 20.0)
            .with("crater_rim_m", 40.0)
            .with("crater_relief_m", 30.0)
            .with("crater_depth_m", 80.0),
        case("plain", Flat, [100, 200], [41, 70])
            .with("craters", false)
            .with("octaves", 1)
            .with("base_m", 0.0),
        case("far", Flat, [-(1 << 60) - 32790, (1 << 60) + 50], [60, 33])
            .with("centre_x", -(1i64 << 60))
            .with("centre_y", 1i64 << 60)
            .with("radius_x_cells", 32767)
            .with("radius_y_cells", 20000)
            .with("feature_cells", 3000.5)
            .with("crater_feature_cells", 777.0)
            .with("crater_slope", 0.0)
            .with("crater_rim_m", 20.0)
            .with("relief_m", 79000.0)
            .with("height_power", 1.0)
            .with("shape_power", 8.0)
            .with("octaves", 12)
            .with("gain", 1.0),
    ]
}
