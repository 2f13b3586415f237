//! Pictures of maps: relief in colours and in plain grey, values, differences and skylines.
//!
//! Every function is pure: the same map and style give the same picture.

mod plain;
mod sheet;
mod water;
mod waves;

pub use plain::{Plain, plain};
pub use sheet::{PICTURES_MAX, admit_sheet, digits, sheet, thumbnail};
pub use water::{Waters, draw_water};
pub use waves::{Coast, PERIOD_S, WaveView, Waves, draw_waves, split, steepness, swell, wave};

use glam::Vec3;
use image::{GrayImage, ImageBuffer, Luma, Pixel, Rgb, RgbImage, imageops};
use rayon::prelude::*;

use crate::map::Map;
use crate::morphometry;
use crate::{Error, Result};

/// How [`shaded`] lights and colours a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Where the light comes from, in degrees clockwise from north. Cartographers use 315, the
    /// north-west: where light comes from below, mountains look like valleys.
    pub azimuth_deg: f64,
    /// Angle of the light above the horizon in degrees, 0 to 90.
    pub altitude_deg: f64,
    /// Vertical exaggeration of the relief: 1 is true to scale, and 2 to 5 brings out flat land.
    /// Printed maps exaggerate a little, and so does the default, 1.5.
    pub z_factor: f64,
    /// Share of the light that comes from other directions than the main one, 0 to 1. It brightens
    /// slopes that face away.
    pub multidirectional: f32,
    /// Share of the light that is the same everywhere, 0 to 1.
    pub ambient: f32,
    /// How much of the relief is mixed into the colours, 0 (colours only) to 1.
    pub relief: f32,
    /// Heights in metres of the lowest and the highest colour. Without it, these are the lowest and
    /// the highest of the map.
    pub range_m: Option<(f64, f64)>,
    /// Height of the sea in metres. Below it, colours show the depth.
    pub sea_level_m: Option<f64>,
    /// Height from which on snow lies where it is not too steep, in metres above the sea, or above
    /// 0 without one. From a tenth below it to a tenth above it there is more and more. Infinite:
    /// there is none.
    pub snow_line_m: f64,
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
            snow_line_m: 2600.0,
        }
    }
}

/// Position from 0 to 1 and colour, lowest first.
type Ramp = [(f32, [u8; 3])];

/// From the lowest land to the highest: green, tan, brown, pale brown. Rock and snow are not among
/// them: they lie where it is steep, and where it is high above the sea.
const HYPSO: &Ramp = &[
    (0.00, [112, 150, 110]),
    (0.16, [148, 175, 122]),
    (0.32, [190, 197, 146]),
    (0.46, [217, 202, 150]),
    (0.60, [199, 165, 116]),
    (0.80, [168, 136, 104]),
    (1.00, [182, 158, 132]),
];
const BARE: [u8; 3] = [150, 143, 136];
const SNOW: [u8; 3] = [248, 249, 251];

/// From the shore down.
const SEA: &Ramp = &[
    (0.00, [176, 214, 222]),
    (0.12, [134, 190, 211]),
    (0.40, [80, 142, 184]),
    (0.75, [46, 96, 147]),
    (1.00, [28, 62, 108]),
];

/// Colours of full shadow and of full light: cool and warm, as in printed maps.
const SHADOW: Vec3 = Vec3::new(0.22, 0.22, 0.31);
const SUN: Vec3 = Vec3::new(1.0, 0.985, 0.94);

fn vec(c: [u8; 3]) -> Vec3 {
    Vec3::new(c[0].into(), c[1].into(), c[2].into()) / 255.0
}

fn rgb(c: Vec3) -> Rgb<u8> {
    Rgb((c.clamp(Vec3::ZERO, Vec3::ONE) * 255.0).round().to_array().map(|v| v as u8))
}

fn ramp(ramp: &Ramp, t: f32) -> Vec3 {
    // Clamped, so that a position beyond an end has a colour on both sides.
    let after = ramp.partition_point(|(p, _)| *p <= t).clamp(1, ramp.len() - 1);
    let ((a, from), (b, to)) = (ramp[after - 1], ramp[after]);
    vec(from).lerp(vec(to), ((t - a) / (b - a)).clamp(0.0, 1.0))
}

/// Position of `v` between `lo` and `hi`, 0 to 1; 0 if they are equal.
fn share(v: f64, lo: f64, hi: f64) -> f32 {
    if hi > lo { ((v - lo) / (hi - lo)).clamp(0.0, 1.0) as f32 } else { 0.0 }
}

fn limits(map: &Map, range: Option<(f64, f64)>) -> (f64, f64) {
    range.unwrap_or_else(|| {
        let (lo, hi) = map.min_max();
        (lo.into(), hi.into())
    })
}

/// Fills a picture, its rows in parallel; `paint` gets row and column.
fn paint<P: Pixel<Subpixel = u8>>(
    width: u32,
    height: u32,
    paint: impl Fn(usize, usize) -> P + Sync,
) -> ImageBuffer<P, Vec<u8>> {
    let mut picture = ImageBuffer::new(width, height);
    let channels = usize::from(P::CHANNEL_COUNT);
    picture.par_chunks_mut((width as usize * channels).max(1)).enumerate().for_each(
        |(row, line)| {
            let pixels = line.chunks_exact_mut(channels).enumerate();
            pixels.for_each(|(col, pixel)| pixel.copy_from_slice(paint(row, col).channels()));
        },
    );
    picture
}

/// Metres of rise per metre to the east and to the north.
fn gradient(map: &Map, row: usize, col: usize) -> (f64, f64) {
    let (width, height) = (map.width as usize, map.height as usize);
    let near =
        morphometry::neighbours(width, height, row, col, |r, c| f64::from(map.data[r * width + c]));
    let (east, north) = morphometry::gradient(&near);
    (east / map.spacing_m, north / map.spacing_m)
}

/// The unit vector towards a light: east, north, up.
fn towards(azimuth_deg: f64, altitude_deg: f64) -> Vec3 {
    let (a, h) = (azimuth_deg.to_radians(), altitude_deg.to_radians());
    let ((east, north), (up, level)) = (libm::sincos(a), libm::sincos(h));
    Vec3::new((east * level) as f32, (north * level) as f32, up as f32)
}

/// The light on a map: most from the main direction, some from around it.
struct Light<'a> {
    map: &'a Map,
    style: &'a Style,
    main: Vec3,
    around: [Vec3; 3],
}

impl<'a> Light<'a> {
    fn new(map: &'a Map, style: &'a Style) -> Self {
        let from = |turn| towards(style.azimuth_deg + turn, style.altitude_deg);
        Self { map, style, main: from(0.0), around: [-90.0, -45.0, 45.0].map(from) }
    }

    /// A colour in the light of its slope; `strength` is how much of the relief shows, 0 to 1.
    fn on(&self, (east, north): (f64, f64), color: Vec3, strength: f32) -> Rgb<u8> {
        let Self { style, main, .. } = self;
        // A light that lies on the horizon would leave level ground black, and this would divide by
        // 0.
        let level = main.z.max(1e-3);
        let slope = |s: f64| (-s * style.z_factor).clamp(-1e6, 1e6) as f32;
        let normal = Vec3::new(slope(east), slope(north), 1.0).normalize();
        let lit = |light: &Vec3| normal.dot(*light).max(0.0) / level;
        let diffuse = self.around.iter().map(lit).sum::<f32>() / self.around.len() as f32;
        let direct = lit(main);
        // 1 on level ground, less on slopes that face away, more on those that face the light.
        let light = style.ambient
            + (1.0 - style.ambient) * (direct + (diffuse - direct) * style.multidirectional);
        let relief = if light < 1.0 {
            let t = light.max(0.0);
            // The curve is 1 at 1, so that shadow sets in gently beside level ground.
            color * SHADOW.lerp(Vec3::ONE, t * (1.5 - 0.5 * t))
        } else {
            // Never all of it, or steep slopes in the sun would lose the colour of their height.
            color.lerp(SUN, ((light - 1.0) * 0.85).min(0.6))
        };
        rgb(color.lerp(relief, style.relief * strength))
    }

    /// A picture of the map; `color` gets row, column, height and gradient, and returns the colour
    /// and how much relief shows.
    fn paint(
        &self,
        color: impl Fn(usize, usize, f64, (f64, f64)) -> (Vec3, f32) + Sync,
    ) -> RgbImage {
        paint(self.map.width, self.map.height, |row, col| {
            let z = f64::from(self.map.data[row * self.map.width as usize + col]);
            let gradient = gradient(self.map, row, col);
            let (color, strength) = color(row, col, z, gradient);
            self.on(gradient, color, strength)
        })
    }
}

/// How much relief of its bed shows through water.
const BED: f32 = 0.35;

/// A relief map in the style of printed ones: colours show heights, and light from one main
/// direction shows slopes. Steep ground is rock, and there is snow above [`Style::snow_line_m`].
///
/// The picture has the map's size. A map with one row, one column or one sample works.
pub fn shaded(map: &Map, style: &Style) -> RgbImage {
    let (lo, hi) = limits(map, style.range_m);
    let shore = style.sea_level_m.unwrap_or(f64::NEG_INFINITY);
    // The lowest land is the shore, and not the bed of the sea.
    let base = if shore > lo { shore } else { lo };
    Light::new(map, style).paint(|_, _, z, gradient| match z < shore {
        true => (ramp(SEA, share(-z, -shore, -lo)), BED),
        false => {
            let steep = steepness_of(gradient);
            let land = ramp(HYPSO, share(z, base, hi)).lerp(vec(BARE), smooth(steep, ROCK_SLOPE));
            (land.lerp(vec(SNOW), snow(z, steep, style)), 1.0)
        }
    })
}

/// Rise per run.
fn steepness_of((east, north): (f64, f64)) -> f64 {
    (east * east + north * north).sqrt()
}

/// How much of the ground is under snow, 0 to 1.
fn snow(z: f64, steep: f64, style: &Style) -> f32 {
    let line = style.snow_line_m;
    let about = (0.1 * line.abs()).max(1.0);
    let above = z - style.sea_level_m.unwrap_or(0.0);
    let high = if line.is_finite() { smooth(above, (line - about, line + about)) } else { 0.0 };
    high * (1.0 - smooth(steep, SNOW_SLOPE))
}

/// The relief in the colours of another map of the same size, whose values are 65536·red +
/// 256·green + blue.
///
/// # Errors
/// [`Error::Param`] if the maps differ in size.
pub fn coloured(map: &Map, colours: &Map, style: &Style) -> Result<RgbImage> {
    same_size(map, colours)?;
    let width = map.width as usize;
    let shore = style.sea_level_m.unwrap_or(f64::NEG_INFINITY);
    Ok(Light::new(map, style).paint(|row, col, z, _| {
        let word = colours.data[row * width + col] as u32;
        (
            vec([(word >> 16) as u8, (word >> 8) as u8, word as u8]),
            if z < shore { BED } else { 1.0 },
        )
    }))
}

/// The maps besides the height that [`ground`] is coloured by, where they are known. All have the
/// size of the height.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ground<'a> {
    /// How often water passed. Where it did [`WATER`] times as often as on the average cell, there
    /// is a river or a lake.
    pub flow: Option<&'a Map>,
    /// Metres worn away.
    pub erosion: Option<&'a Map>,
    /// Metres laid down. Gentle slopes where much more was laid down than worn away are sand. Steep
    /// slopes are bare rock, and where much more was worn away, less steep ones are, too.
    pub deposition: Option<&'a Map>,
    /// Metres of loose sediment. Where there is much of it, there is sand on any slope.
    pub sediment: Option<&'a Map>,
    /// How much of the ground is beach, 0 to 1: sand.
    pub beach: Option<&'a Map>,
}

/// Flow at which water begins to show, and at which nothing else does, as multiples of the mean
/// flow of the map.
///
/// An absolute flow would not do, because flow grows with the rain, the lifetime of droplets and
/// the size of the map. Nor would a fixed share of the cells, because not every land has rivers.
pub const WATER: (f64, f64) = (5.0, 8.0);

/// Net change at which sand or rock begins to show, and at which nothing else does, as shares of
/// the range of heights.
pub const MOVED: (f64, f64) = (0.01, 0.06);

/// Depth of loose sediment at which sand begins to show, and at which nothing else does, in cells.
const LOOSE: (f64, f64) = (0.05, 0.5);

/// Slopes at which sand, grass on worn ground and other grass begin to give way to rock, and at
/// which none is left, as rise per run. Level ground grows soil again, however much was worn away.
const SAND_SLOPE: (f64, f64) = (0.12, 0.35);
const WORN_SLOPE: (f64, f64) = (0.35, 0.9);
const GRASS_SLOPE: (f64, f64) = (0.6, 1.1);

/// Slopes at which rock begins to show in a map of heights, and at which nothing else does: 39° and
/// 52°.
const ROCK_SLOPE: (f64, f64) = (0.8, 1.3);

/// Slopes at which snow begins to slide off, and at which none is left: 37° and 50°.
const SNOW_SLOPE: (f64, f64) = (0.75, 1.2);

/// From the lowest land to the highest: meadow to dry grass, and dark rock to pale.
const GRASS: &Ramp =
    &[(0.0, [96, 118, 62]), (0.35, [112, 124, 70]), (0.65, [134, 130, 86]), (1.0, [146, 138, 108])];
const ROCK: &Ramp = &[(0.0, [128, 116, 102]), (1.0, [150, 146, 140])];
const SAND: [u8; 3] = [200, 182, 138];
const FOREST: [u8; 3] = [62, 84, 50];
const GRAVEL: [u8; 3] = [150, 144, 130];
const WET: [u8; 3] = [84, 100, 62];
const SCREE: [u8; 3] = [142, 132, 116];
const RIVER: [u8; 3] = [62, 104, 128];
/// From the shore down, as from the air.
const DEEP: &Ramp =
    &[(0.0, [120, 178, 182]), (0.06, [74, 140, 160]), (0.3, [38, 92, 130]), (1.0, [18, 48, 88])];

/// 0 up to the first value, 1 from the second on, smooth between.
fn smooth(v: f64, (from, to): (f64, f64)) -> f32 {
    let t = share(v, from, to);
    t * t * (3.0 - 2.0 * t)
}

/// The land as seen from the air: grass, sand where much was laid down or lies loose, bare rock on
/// steep slopes and on less steep ones where much was worn away, snow above the snow line where it
/// is not too steep, water where much water passed, and the sea.
///
/// # Errors
/// [`Error::Param`] if the maps differ in size, or another map than the height has a value below 0.
pub fn ground(map: &Map, ground: &Ground, style: &Style) -> Result<RgbImage> {
    let Ground { flow, erosion, deposition, sediment, beach } = *ground;
    for (name, other) in [
        ("flow", flow),
        ("erosion", erosion),
        ("deposition", deposition),
        ("sediment", sediment),
        ("beach", beach),
    ] {
        let Some(other) = other else { continue };
        same_size(map, other)?;
        if let Some(i) = other.data.iter().position(|v| *v < 0.0) {
            let (x, y) = (i % other.width as usize, i / other.width as usize);
            return Err(Error::param(format!(
                "{name} = {} in column {x}, row {y}: allowed 0 or more; check that this is the map \
                 of {name}",
                other.data[i]
            )));
        }
    }
    let (lo, hi) = limits(map, style.range_m);
    let shore = style.sea_level_m.unwrap_or(f64::NEG_INFINITY);
    let base = if shore > lo { shore } else { lo };
    let width = map.width as usize;
    let mean = flow.map_or(0.0, |flow| {
        flow.data.iter().map(|&v| f64::from(v)).sum::<f64>() / flow.data.len() as f64
    });
    // Single droplets look like puddles, so the flow is smoothed over 3 × 3 cells with weights 1,
    // 2, 1.
    let passed = |row: usize, col: usize| {
        let Some(flow) = flow.filter(|_| mean > 0.0) else { return 0.0 };
        let near = morphometry::neighbours(width, map.height as usize, row, col, |r, c| {
            f64::from(flow.data[r * width + c])
        });
        let [top, mid, low] = near.map(|[a, b, c]| a + 2.0 * b + c);
        (top + 2.0 * mid + low) / 16.0 / mean
    };
    let value = |other: Option<&Map>, i: usize| other.map_or(0.0, |other| f64::from(other.data[i]));
    Ok(Light::new(map, style).paint(|row, col, z, (east, north)| {
        if z < shore {
            return (ramp(DEEP, share(-z, -shore, -lo)), BED);
        }
        let i = row * width + col;
        let steep = steepness_of((east, north));
        let raised =
            if hi > lo { (value(deposition, i) - value(erosion, i)) / (hi - lo) } else { 0.0 };
        let high = share(z, base, hi);
        let worn = smooth(-raised, MOVED) * smooth(steep, WORN_SLOPE);
        let bare = worn.max(smooth(steep, GRASS_SLOPE));
        let loose = smooth(value(sediment, i) / map.spacing_m, LOOSE);
        let fine = (smooth(raised, MOVED) * (1.0 - smooth(steep, SAND_SLOPE)))
            .max(loose)
            .max(value(beach, i).min(1.0) as f32);
        let wet = smooth(passed(row, col), WATER);
        let land = ramp(GRASS, high).lerp(ramp(ROCK, high), bare).lerp(vec(SAND), fine);
        let land = land.lerp(vec(SNOW), snow(z, steep, style));
        (land.lerp(vec(RIVER), wet), 1.0 + (BED - 1.0) * wet)
    }))
}

/// The land as seen from the air, in the colours of what its ground is made of: `weights` has the
/// shares of the materials of [`crate::materials::NAMES`], 0 to 1.
///
/// # Errors
/// [`Error::Param`] if the maps differ in size, or are not as many.
pub fn made_of(map: &Map, weights: &[&Map], style: &Style) -> Result<RgbImage> {
    let count = crate::materials::NAMES.len();
    if weights.len() != count {
        return Err(Error::param(format!("{} maps of materials: allowed {count}", weights.len())));
    }
    weights.iter().try_for_each(|other| same_size(map, other))?;
    let (lo, hi) = limits(map, style.range_m);
    let shore = style.sea_level_m.unwrap_or(f64::NEG_INFINITY);
    let base = if shore > lo { shore } else { lo };
    let width = map.width as usize;
    Ok(Light::new(map, style).paint(|row, col, z, _| {
        if z < shore {
            return (ramp(DEEP, share(-z, -shore, -lo)), BED);
        }
        let high = share(z, base, hi);
        let colours =
            [ramp(GRASS, high), vec(FOREST), vec(GRAVEL), vec(SAND), vec(WET), vec(SCREE)];
        let colours = colours.into_iter().chain([ramp(ROCK, high), vec(SNOW)]);
        let mixed = colours
            .zip(weights)
            .map(|(colour, weights)| colour * weights.data[row * width + col])
            .fold(Vec3::ZERO, |sum, part| sum + part);
        (mixed, 1.0)
    }))
}

/// A map reduced, if it is larger, so that its longer side has `longest` samples (1 or more). Each
/// sample is the mean of the area that it covers.
pub fn reduced(map: &Map, longest: u32) -> Map {
    let (width, height) = (map.width as usize, map.height as usize);
    let side = width.max(height);
    let longest = longest.max(1) as usize;
    if side <= longest {
        return map.clone();
    }
    let fewer = |n: usize| (n * longest / side).max(1);
    let (w, h) = (fewer(width), fewer(height));
    let (columns, rows) = (areas(width, w), areas(height, h));
    let mut data = vec![0.0; w * h];
    data.par_chunks_mut(w).zip(&rows).for_each(|(line, rows)| {
        for (value, columns) in line.iter_mut().zip(&columns) {
            let across = |r: usize| {
                columns
                    .iter()
                    .map(|&(c, share)| f64::from(map.data[r * width + c]) * share)
                    .sum::<f64>()
            };
            *value = rows.iter().map(|&(r, share)| across(r) * share).sum::<f64>() as f32;
        }
    });
    Map {
        width: w as u32,
        height: h as u32,
        spacing_m: map.spacing_m * side as f64 / longest as f64,
        data,
        ..map.clone()
    }
}

/// A map of the size of [`reduced`], each sample of which is one of the map's: for numbers and
/// packed colours, which have no mean.
pub fn thinned(map: &Map, longest: u32) -> Map {
    let (width, height) = (map.width as usize, map.height as usize);
    let (side, longest) = (width.max(height), longest.max(1) as usize);
    if side <= longest {
        return map.clone();
    }
    let [w, h] = [width, height].map(|n| (n * longest / side).max(1));
    // The sample in the middle of the area.
    let at = |i: usize, n: usize, m: usize| (2 * i + 1) * n / (2 * m);
    let data = (0..h)
        .flat_map(|y| (0..w).map(move |x| at(y, height, h) * width + at(x, width, w)))
        .map(|i| map.data[i])
        .collect();
    Map {
        width: w as u32,
        height: h as u32,
        spacing_m: map.spacing_m * side as f64 / longest as f64,
        data,
        ..map.clone()
    }
}

/// For each of `m` samples, which of `n` finer ones it covers, and with which weights. The weights
/// of a sample add up to 1.
fn areas(n: usize, m: usize) -> Vec<Vec<(usize, f64)>> {
    // In units of a sample divided by m, so that borders are whole numbers.
    let area = |i: usize| {
        let (from, to) = (i * n, (i + 1) * n);
        let part = |j: usize| (to.min((j + 1) * m) - from.max(j * m)) as f64 / n as f64;
        (from / m..to.div_ceil(m)).map(|j| (j, part(j))).collect()
    };
    (0..m).map(area).collect()
}

/// Two pictures of one size side by side with a white line between them: before and after.
///
/// # Errors
/// [`Error::Param`] if the pictures differ in size.
pub fn beside<P: Pixel<Subpixel = u8>>(
    left: &ImageBuffer<P, Vec<u8>>,
    right: &ImageBuffer<P, Vec<u8>>,
) -> Result<ImageBuffer<P, Vec<u8>>> {
    let (width, height) = left.dimensions();
    if right.dimensions() != (width, height) {
        return Err(Error::param(format!(
            "pictures of {width}x{height} and {}x{} pixels do not fit side by side; give two of \
             the same size",
            right.width(),
            right.height()
        )));
    }
    let gap = width / 128 + 2;
    let mut both = ImageBuffer::new(2 * width + gap, height);
    both.fill(u8::MAX);
    imageops::replace(&mut both, left, 0, 0);
    imageops::replace(&mut both, right, i64::from(width + gap), 0);
    Ok(both)
}

fn same_size(a: &Map, b: &Map) -> Result<()> {
    if (a.width, a.height) == (b.width, b.height) && a.data.len() == b.data.len() {
        return Ok(());
    }
    Err(Error::param(format!(
        "maps of {}x{} and {}x{} samples do not match; both need one size",
        a.width, a.height, b.width, b.height
    )))
}

/// A map in grey: black for the lowest value and white for the highest, of `range` or of the map.
///
/// With `log`, the scale is logarithmic, for values such as discharge that span decades. It starts
/// at the lowest value, or at a millionth of the range if the lowest value is smaller.
pub fn grey(map: &Map, range: Option<(f64, f64)>, log: bool) -> GrayImage {
    let (lo, hi) = limits(map, range);
    let unit = lo.max((hi - lo) * 1e-6);
    let full = libm::log1p((hi - lo) / unit);
    paint(map.width, map.height, |row, col| {
        let v = f64::from(map.data[row * map.width as usize + col]);
        let t = if log && full > 0.0 {
            share(libm::log1p(((v - lo) / unit).max(0.0)), 0.0, full)
        } else {
            share(v, lo, hi)
        };
        Luma([(t * 255.0).round() as u8])
    })
}

/// Where `b` differs from `a`: red where `b` is higher, blue where it is lower, white where they
/// are equal. The largest difference has the full colour, and even the smallest is visible.
///
/// # Errors
/// [`Error::Param`] if the maps differ in size.
pub fn difference(a: &Map, b: &Map) -> Result<RgbImage> {
    same_size(a, b)?;
    let diff = |i: usize| f64::from(b.data[i]) - f64::from(a.data[i]);
    let most = (0..a.data.len()).into_par_iter().map(|i| diff(i).abs()).reduce(|| 0.0, f64::max);
    let (up, down) = (Vec3::new(0.70, 0.02, 0.10), Vec3::new(0.02, 0.22, 0.65));
    Ok(paint(a.width, a.height, |row, col| {
        let d = diff(row * a.width as usize + col);
        if d == 0.0 {
            return Rgb([255; 3]);
        }
        // The root strengthens small differences, and the offset keeps even the smallest visible.
        let t = 0.15 + 0.85 * (share(d.abs(), 0.0, most)).sqrt();
        rgb(Vec3::ONE.lerp(if d > 0.0 { up } else { down }, t))
    }))
}

/// The profile of the first row as a dark silhouette against the sky, as wide as the map and a
/// third as high (48 to 512 pixels).
pub fn skyline(map: &Map) -> RgbImage {
    let width = map.width as usize;
    let rows = (width / 3).clamp(48, 512);
    let row = &map.data[..width];
    let (lo, hi) = row
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v.into()), h.max(v.into())));
    // The top sixth stays sky, the bottom sixth ground.
    let tops: Vec<f32> = row
        .iter()
        .map(|&v| rows as f32 * (1.0 - (1.0 + 4.0 * share(v.into(), lo, hi)) / 6.0))
        .collect();
    let (zenith, horizon) = (Vec3::new(0.60, 0.74, 0.88), Vec3::new(0.98, 0.92, 0.84));
    let (crest, foot) = (Vec3::new(0.27, 0.31, 0.38), Vec3::new(0.15, 0.18, 0.23));
    paint(map.width, rows as u32, |y, x| {
        let depth = y as f32 / rows as f32;
        let (sky, ground) = (zenith.lerp(horizon, depth), crest.lerp(foot, depth));
        // The pixel on the crest is a mixture, so that the line is smooth.
        rgb(sky.lerp(ground, (y as f32 + 1.0 - tops[x]).clamp(0.0, 1.0)))
    })
}
