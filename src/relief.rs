//! What follows from the final height alone: slope, aspect, curvature.
//!
//! Computed in f64 from the words of the height, with nothing but + − × ÷, √ and the portable arcs of the libm crate, so that
//! the maps are the same bytes everywhere. Beyond the edge of a map the surface goes on straight.

use crate::spec::CELL;
use rayon::prelude::*;

/// A map that follows from the height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// Steepness in degrees, 0 (level) to 90, by the gradient of B. K. P. Horn, *Hill shading and the reflectance map*, 1981.
    Slope,
    /// Where the ground falls to, by the same gradient: degrees clockwise from north, 0 to below 360; −1 where it is level.
    Aspect,
    /// Minus the Laplacian of the quadric of L. W. Zevenbergen and C. R. Thorne, *Quantitative analysis of land surface
    /// topography*, 1987, 1/m: positive where the ground is convex (ridges, tops), negative where it is concave (valleys, pits).
    Curvature,
}

impl Derived {
    /// Each with its name and unit.
    pub const ALL: [(&'static str, &'static str, Self); 3] = [
        ("slope", "degrees", Self::Slope),
        ("aspect", "degrees clockwise from north, -1 where level", Self::Aspect),
        ("curvature", "1/m", Self::Curvature),
    ];

    /// The one called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, ..)| *known == name).map(|(.., derived)| *derived)
    }

    /// Its map of a `width` × `height` map of heights in units, row-major from the north, with cells of `spacing_m` metres.
    pub fn of(self, words: &[i32], width: usize, height: usize, spacing_m: f64) -> Vec<f32> {
        let mut data = vec![0.0; words.len()];
        data.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, line)| {
            for (col, value) in line.iter_mut().enumerate() {
                let near = neighbours(width, height, row, col, |r, c| f64::from(words[r * width + c]) / f64::from(CELL));
                *value = self.at(&near, spacing_m) as f32;
                // The largest of angles may round to a whole turn.
                if *value >= 360.0 {
                    *value = 0.0;
                }
            }
        });
        data
    }

    /// Its value amid 3 × 3 heights in cells. Signs are turned by subtraction from nought, so that no nought has a minus.
    fn at(self, near: &[[f64; 3]; 3], spacing_m: f64) -> f64 {
        let (east, north) = gradient(near);
        let degrees = 180.0 / std::f64::consts::PI;
        match self {
            Self::Slope => libm::atan((east * east + north * north).sqrt()) * degrees,
            Self::Aspect if east == 0.0 && north == 0.0 => -1.0,
            Self::Aspect => {
                let turn = libm::atan2(0.0 - east, 0.0 - north) * degrees;
                if turn < 0.0 { turn + 360.0 } else { turn }
            }
            Self::Curvature => {
                let [[_, n, _], [w, here, e], [_, s, _]] = *near;
                0.0 - ((w + e - 2.0 * here) + (n + s - 2.0 * here)) / spacing_m
            }
        }
    }
}

/// Rise per cell to the east and to the north: differences over 3 × 3 heights, the nearer ones twice (Horn).
pub(crate) fn gradient([[nw, n, ne], [w, _, e], [sw, s, se]]: &[[f64; 3]; 3]) -> (f64, f64) {
    let east = (ne + 2.0 * e + se) - (nw + 2.0 * w + sw);
    let north = (nw + 2.0 * n + ne) - (sw + 2.0 * s + se);
    (east / 8.0, north / 8.0)
}

/// The heights round a place, north-west first. Beyond the edge the surface goes on straight; in a map of one row or column it
/// is level across.
pub(crate) fn neighbours(width: usize, height: usize, row: usize, col: usize, z: impl Fn(usize, usize) -> f64) -> [[f64; 3]; 3] {
    let step = |at: usize, by: isize, n: usize| at.checked_add_signed(by).filter(|&i| i < n);
    // Along a row that lies inside, then across rows.
    let on_row = |r: usize, by: isize| match (step(col, by, width), step(col, -by, width)) {
        (Some(c), _) => z(r, c),
        (None, Some(opposite)) => 2.0 * z(r, col) - z(r, opposite),
        (None, None) => z(r, col),
    };
    [-1, 0, 1].map(|down| {
        [-1, 0, 1].map(|by| match (step(row, down, height), step(row, -down, height)) {
            (Some(r), _) => on_row(r, by),
            (None, Some(opposite)) => 2.0 * on_row(row, by) - on_row(opposite, by),
            (None, None) => on_row(row, by),
        })
    })
}
