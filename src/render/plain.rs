//! The land in plain grey light, which flatters nothing.

use super::paint;
use crate::arith::CELL;
use crate::map::Map;
use crate::morphometry::{HeightGrid, gradient, neighbours};
use image::{GrayImage, Luma};

/// How [`plain`] lights a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plain {
    /// Where the light comes from, in degrees clockwise from north. None: two fifths of it from the
    /// north-west and a fifth each from the south-west, the west and the north, so that no slope
    /// hides along the one light.
    pub azimuth_deg: Option<f64>,
    /// Angle of the light above the horizon in degrees, 0 to 90.
    pub altitude_deg: f64,
    /// Factor on heights: 1 is true to scale.
    pub z_factor: f64,
    /// Share of the light that comes from the whole sky, 0 to 1: gorges, of which little of it is
    /// seen, are darker.
    pub sky: f32,
    /// Height of the sea in metres. Its surface is drawn, and not its bed.
    pub sea_level_m: Option<f64>,
}

impl Default for Plain {
    fn default() -> Self {
        Self { azimuth_deg: None, altitude_deg: 45.0, z_factor: 1.0, sky: 0.0, sea_level_m: None }
    }
}

/// The azimuths of the lights of [`Plain`], in degrees, and their shares.
const SIDES: [(f64, f64); 4] = [(225.0, 0.2), (270.0, 0.2), (315.0, 0.4), (360.0, 0.2)];

/// The land lit in grey, without colours: white faces the light, black turns away from it. The
/// picture has the map's size.
pub fn plain(map: &Map, style: &Plain) -> GrayImage {
    let (width, height) = (map.width as usize, map.height as usize);
    let shore = style.sea_level_m.unwrap_or(f64::NEG_INFINITY);
    let cells = |i: usize| f64::from(map.data[i]).max(shore) * style.z_factor / map.spacing_m;
    let sky = (style.sky > 0.0).then(|| {
        // Heights beyond are cut off, so that differences of two words still fit into 32 bits.
        let most = f64::from(i32::MAX / 4);
        let word = |i: usize| (cells(i) * f64::from(CELL)).clamp(-most, most) as i32;
        let words: Vec<i32> = (0..map.data.len()).map(word).collect();
        HeightGrid::new(&words, width, map.spacing_m).sky()
    });
    let (sine, cosine) = libm::sincos(style.altitude_deg.to_radians());
    let share = f64::from(style.sky);
    paint(map.width, map.height, |row, col| {
        let (east, north) =
            gradient(&neighbours(width, height, row, col, |r, c| cells(r * width + c)));
        // Very steep ground is lit from the side alone.
        let (east, north) = (east.clamp(-1e6, 1e6), north.clamp(-1e6, 1e6));
        let length = (1.0 + east * east + north * north).sqrt();
        let lit = |azimuth: f64| {
            let (x, y) = libm::sincos(azimuth.to_radians());
            // Lambert: the product of the light's direction and the normal, (-east, -north, 1) /
            // length.
            ((sine - cosine * (x * east + y * north)) / length).max(0.0)
        };
        let light = match style.azimuth_deg {
            Some(azimuth) => lit(azimuth),
            None => SIDES.iter().map(|&(azimuth, share)| share * lit(azimuth)).sum(),
        };
        let sky = sky.as_ref().map_or(0.0, |sky| f64::from(sky[row * width + col]));
        Luma([(255.0 * (light + (sky - light) * share)).round() as u8])
    })
}
