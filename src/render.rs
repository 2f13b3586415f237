//! Pictures of maps, for people: relief, grey, differences and skylines.
//!
//! Every function is pure: the same map and style give the same picture.

use glam::Vec3;
use rayon::prelude::*;

use crate::io::Picture;
use crate::map::Map;
use crate::relief;
use crate::{Error, Result};

/// How [`shaded`] lights and colours a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Where the light comes from, in degrees clockwise from north. 315, the north-west, is the cartographers' habit: lit
    /// from below, mountains look like valleys.
    pub azimuth_deg: f64,
    /// How high the light stands, in degrees over the horizon, 0 to 90.
    pub altitude_deg: f64,
    /// Factor on heights before they are lit; 1 is true to scale, 2 to 5 brings out flat land. Printed maps exaggerate a
    /// little, and so does the default, 1.5.
    pub z_factor: f64,
    /// Share of the light that comes from the directions around the main one, 0 to 1; it opens slopes that face away.
    pub multidirectional: f32,
    /// Share of the light that reaches everything, 0 to 1.
    pub ambient: f32,
    /// How much of the relief is mixed into the colours, 0 (colours only) to 1.
    pub relief: f32,
    /// Metres of the lowest and the highest colour. Without it, the lowest and the highest value of the map.
    pub range_m: Option<(f64, f64)>,
    /// Height of the sea in metres; what lies below is coloured by depth.
    pub sea_level_m: Option<f64>,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            azimuth_deg: 315.0,
            altitude_deg: 45.0,
            z_factor: 1.5,
            multidirectional: 0.3,
            ambient: 0.25,
            relief: 0.9,
            range_m: None,
            sea_level_m: None,
        }
    }
}

/// Position from 0 to 1 and colour, lowest first.
type Ramp = [(f32, [u8; 3])];

/// The house ramp: lowland greens, tan, brown, grey rock, snow.
const HYPSO: &Ramp = &[
    (0.00, [112, 150, 110]),
    (0.16, [148, 175, 122]),
    (0.32, [190, 197, 146]),
    (0.46, [217, 202, 150]),
    (0.60, [199, 165, 116]),
    (0.74, [161, 129, 101]),
    (0.85, [155, 144, 136]),
    (0.94, [208, 206, 204]),
    (1.00, [250, 250, 250]),
];

/// From the shore down.
const SEA: &Ramp =
    &[(0.00, [176, 214, 222]), (0.12, [134, 190, 211]), (0.40, [80, 142, 184]), (0.75, [46, 96, 147]), (1.00, [28, 62, 108])];

/// Colour of full shadow and of full light: cool and warm, as printed maps have it.
const SHADOW: Vec3 = Vec3::new(0.22, 0.22, 0.31);
const SUN: Vec3 = Vec3::new(1.0, 0.985, 0.94);

fn rgb(c: [u8; 3]) -> Vec3 {
    Vec3::new(c[0].into(), c[1].into(), c[2].into()) / 255.0
}

fn bytes(c: Vec3) -> [u8; 3] {
    (c.clamp(Vec3::ZERO, Vec3::ONE) * 255.0).round().to_array().map(|v| v as u8)
}

fn ramp(ramp: &Ramp, t: f32) -> Vec3 {
    let after = ramp.partition_point(|(p, _)| *p <= t).clamp(1, ramp.len() - 1);
    let ((a, from), (b, to)) = (ramp[after - 1], ramp[after]);
    rgb(from).lerp(rgb(to), ((t - a) / (b - a)).clamp(0.0, 1.0))
}

/// Where `v` lies between `lo` and `hi`, 0 to 1; 0 if they are the same.
fn share(v: f64, lo: f64, hi: f64) -> f32 {
    if hi > lo { ((v - lo) / (hi - lo)).clamp(0.0, 1.0) as f32 } else { 0.0 }
}

fn limits(map: &Map, range: Option<(f64, f64)>) -> (f64, f64) {
    range.unwrap_or_else(|| {
        let (lo, hi) = map.min_max();
        (lo.into(), hi.into())
    })
}

/// Fills a picture of a map's size, rows in parallel; `paint` gets row and column.
fn paint<const N: usize>(map: &Map, paint: impl Fn(usize, usize) -> [u8; N] + Sync) -> Picture {
    let width = map.width as usize;
    let mut data = vec![0; map.data.len() * N];
    data.par_chunks_mut((width * N).max(1)).enumerate().for_each(|(row, line)| {
        line.as_chunks_mut::<N>().0.iter_mut().enumerate().for_each(|(col, pixel)| *pixel = paint(row, col));
    });
    Picture { width: map.width, height: map.height, channels: N as u8, data }
}

/// Metres of rise per metre to the east and to the north.
fn gradient(map: &Map, row: usize, col: usize) -> (f64, f64) {
    let (width, height) = (map.width as usize, map.height as usize);
    let near = relief::neighbours(width, height, row, col, |r, c| f64::from(map.data[r * width + c]));
    let (east, north) = relief::gradient(&near);
    (east / map.spacing_m, north / map.spacing_m)
}

/// The unit vector towards a light: east, north, up.
fn towards(azimuth_deg: f64, altitude_deg: f64) -> Vec3 {
    let (a, h) = (azimuth_deg.to_radians(), altitude_deg.to_radians());
    Vec3::new((a.sin() * h.cos()) as f32, (a.cos() * h.cos()) as f32, h.sin() as f32)
}

/// A relief map in colour, as a printed one: heights by colour, slopes by light from one main direction.
///
/// The picture has the map's size. A map with one row, one column or one sample works.
pub fn shaded(map: &Map, style: &Style) -> Picture {
    let (lo, hi) = limits(map, style.range_m);
    let shore = style.sea_level_m.unwrap_or(f64::NEG_INFINITY);
    let base = if shore > lo { shore } else { lo };
    let main = towards(style.azimuth_deg, style.altitude_deg);
    let around = [-90.0, -45.0, 45.0].map(|turn| towards(style.azimuth_deg + turn, style.altitude_deg));
    let level = main.z.max(1e-3);
    paint(map, |row, col| {
        let z = f64::from(map.data[row * map.width as usize + col]);
        let (east, north) = gradient(map, row, col);
        let sea = z < shore;
        let slope = |s: f64| (-s * style.z_factor).clamp(-1e6, 1e6) as f32;
        let normal = Vec3::new(slope(east), slope(north), 1.0).normalize();
        let lit = |light: &Vec3| normal.dot(*light).max(0.0) / level;
        let diffuse = around.iter().map(lit).sum::<f32>() / around.len() as f32;
        let direct = lit(&main);
        // 1 on level ground, less on slopes that face away, more on those that face the light.
        let light = style.ambient + (1.0 - style.ambient) * (direct + (diffuse - direct) * style.multidirectional);
        let color = if sea { ramp(SEA, share(-z, -shore, -lo)) } else { ramp(HYPSO, share(z, base, hi)) };
        // Water shows its bed faintly.
        let strength = style.relief * if sea { 0.35 } else { 1.0 };
        let relief = if light < 1.0 {
            let t = light.max(0.0);
            color * SHADOW.lerp(Vec3::ONE, t * (1.5 - 0.5 * t))
        } else {
            color.lerp(SUN, ((light - 1.0) * 0.85).min(0.6))
        };
        bytes(color.lerp(relief, strength))
    })
}

/// A map in grey: black for the lowest value and white for the highest, of `range` or of the map.
///
/// With `log`, equal ratios make equal steps, for values such as discharge that span decades: the scale starts at the
/// lowest value, or where that is 0 or less at a millionth of the span.
pub fn grey(map: &Map, range: Option<(f64, f64)>, log: bool) -> Picture {
    let (lo, hi) = limits(map, range);
    let unit = lo.max((hi - lo) * 1e-6);
    let full = ((hi - lo) / unit).ln_1p();
    paint(map, |row, col| {
        let v = f64::from(map.data[row * map.width as usize + col]);
        let t = if log && full > 0.0 { share(((v - lo) / unit).max(0.0).ln_1p(), 0.0, full) } else { share(v, lo, hi) };
        [(t * 255.0).round() as u8]
    })
}

/// Where `b` differs from `a`: red where `b` is higher, blue where it is lower, white where they are equal. The largest
/// difference has the full colour, and the smallest is still seen.
///
/// # Errors
/// [`Error::Param`] if the maps differ in size.
pub fn difference(a: &Map, b: &Map) -> Result<Picture> {
    if (a.width, a.height) != (b.width, b.height) || a.data.len() != b.data.len() {
        return Err(Error::Param(format!(
            "maps of {}x{} and {}x{} samples cannot be compared; both need one size",
            a.width, a.height, b.width, b.height
        )));
    }
    let diff = |i: usize| f64::from(b.data[i]) - f64::from(a.data[i]);
    let most = (0..a.data.len()).into_par_iter().map(|i| diff(i).abs()).reduce(|| 0.0, f64::max);
    let (up, down) = (Vec3::new(0.70, 0.02, 0.10), Vec3::new(0.02, 0.22, 0.65));
    Ok(paint(a, |row, col| {
        let d = diff(row * a.width as usize + col);
        if d == 0.0 {
            return [255; 3];
        }
        // The root lifts small differences, the floor keeps even the smallest off white.
        let t = 0.15 + 0.85 * (share(d.abs(), 0.0, most)).sqrt();
        bytes(Vec3::ONE.lerp(if d > 0.0 { up } else { down }, t))
    }))
}

/// The profile of the first row as a dark silhouette before a sky: as wide as the map, a third as high (48 to 512 pixels).
pub fn skyline(map: &Map) -> Picture {
    let width = map.width as usize;
    let rows = (width / 3).clamp(48, 512);
    let row = &map.data[..width];
    let (lo, hi) = row.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v.into()), h.max(v.into())));
    // The top sixth stays sky, the bottom sixth ground.
    let tops: Vec<f32> = row.iter().map(|&v| rows as f32 * (1.0 - (1.0 + 4.0 * share(v.into(), lo, hi)) / 6.0)).collect();
    let (zenith, horizon) = (Vec3::new(0.60, 0.74, 0.88), Vec3::new(0.98, 0.92, 0.84));
    let (crest, foot) = (Vec3::new(0.27, 0.31, 0.38), Vec3::new(0.15, 0.18, 0.23));
    let mut data = vec![0; width * rows * 3];
    data.par_chunks_mut(width * 3).enumerate().for_each(|(y, line)| {
        let depth = y as f32 / rows as f32;
        let (sky, ground) = (zenith.lerp(horizon, depth), crest.lerp(foot, depth));
        for (pixel, top) in line.as_chunks_mut::<3>().0.iter_mut().zip(&tops) {
            // The pixel that the crest crosses is mixed, so that the line is smooth.
            *pixel = bytes(sky.lerp(ground, (y as f32 + 1.0 - top).clamp(0.0, 1.0)));
        }
    });
    Picture { width: map.width, height: rows as u32, channels: 3, data }
}
