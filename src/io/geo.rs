//! The tags of GeoTIFF: where a raster lies and how large its cells are.

use std::io::{Read, Seek};

use tiff::TiffResult;
use tiff::decoder::Decoder;
use tiff::tags::Tag;

use crate::map::Georef;
use crate::params::rounded;

/// Metres in a degree of latitude, and of longitude at the equator.
const DEGREE_M: f64 = 111_320.0;

const KEY_MODEL: u16 = 1024;
const KEY_RASTER: u16 = 1025;
const KEY_GEOGRAPHIC: u16 = 2048;
const KEY_PROJECTED: u16 = 3072;
const KEY_LINEAR_UNIT: u16 = 3076;

/// The content of the tags.
#[derive(Debug, Default)]
pub(super) struct Geo {
    /// Whether any tag ties the raster to a place or a scale.
    pub is_geo: bool,
    /// The value that stands for a missing one.
    pub nodata: Option<f64>,
    scale: Option<(f64, f64)>,
    /// Raster column and row, then easting and northing of one point.
    tiepoint: Option<[f64; 4]>,
    rotated: bool,
    geographic: bool,
    /// Whether samples are points rather than areas.
    point: bool,
    has_crs: bool,
    epsg: Option<u32>,
    linear_unit: Option<u16>,
}

pub(super) fn read<R: Read + Seek>(decoder: &mut Decoder<R>) -> TiffResult<Geo> {
    let mut floats = |tag| decoder.find_tag(tag)?.map(|v| v.into_f64_vec()).transpose();
    let scale = floats(Tag::ModelPixelScaleTag)?;
    let tiepoint = floats(Tag::ModelTiepointTag)?;
    let matrix = floats(Tag::ModelTransformationTag)?;
    let keys = decoder.find_tag(Tag::GeoKeyDirectoryTag)?.map(|v| v.into_u16_vec()).transpose()?.unwrap_or_default();
    let nodata = decoder.find_tag(Tag::GdalNodata)?.map(|v| v.into_string()).transpose()?;

    let mut geo = Geo { nodata: nodata.and_then(|s| s.trim_matches(['\0', ' ']).parse().ok()), ..Geo::default() };
    geo.is_geo = scale.is_some() || matrix.is_some() || !keys.is_empty();
    if let Some(&[x, y, ..]) = scale.as_deref() {
        geo.scale = Some((x, y));
    }
    if let Some(&[column, row, _, east, north, ..]) = tiepoint.as_deref() {
        geo.tiepoint = Some([column, row, east, north]);
    }
    if let Some(&[a, b, _, east, d, e, _, north, ..]) = matrix.as_deref() {
        geo.rotated = b != 0.0 || d != 0.0;
        geo.scale = Some((a.hypot(d), if geo.rotated { b.hypot(e) } else { -e }));
        geo.tiepoint = Some([0.0, 0.0, east, north]);
    }
    // Four words of header, then four for each key: its number, where its value is (0: here), the count, and the value.
    let key = |number| keys.get(4..)?.chunks_exact(4).find(|k| k[0] == number && k[1] == 0).map(|k| k[3]);
    // 0 and 32767 stand for "undefined" and "defined by the user".
    let code = |number| key(number).filter(|c| !matches!(c, 0 | 32767));
    geo.point = key(KEY_RASTER) == Some(2);
    geo.geographic = match key(KEY_MODEL) {
        Some(model) => model == 2,
        None => key(KEY_PROJECTED).is_none() && key(KEY_GEOGRAPHIC).is_some(),
    };
    geo.has_crs = [KEY_MODEL, KEY_GEOGRAPHIC, KEY_PROJECTED].into_iter().any(|k| key(k).is_some());
    geo.epsg = code(if geo.geographic { KEY_GEOGRAPHIC } else { KEY_PROJECTED }).map(u32::from);
    geo.linear_unit = key(KEY_LINEAR_UNIT);
    Ok(geo)
}

impl Geo {
    /// Metres between samples and the place on Earth, where the tags have them. Assumptions go to `warnings`.
    pub fn place(&self, height: u32, warnings: &mut Vec<String>) -> (Option<f64>, Option<Georef>) {
        let Some((x, y)) = self.scale else { return (None, None) };
        if !(x.is_finite() && y.is_finite() && x != 0.0 && y != 0.0) {
            warnings.push(format!("the file says that a cell measures {x} by {y}, which is ignored"));
            return (None, None);
        }
        let upright = x > 0.0 && y > 0.0 && !self.rotated;
        if !upright {
            warnings.push(
                "the raster is rotated or mirrored on Earth: its place is dropped, and its rows are read in their order".into(),
            );
        }
        let georef = self.tiepoint.filter(|t| upright && t.iter().all(|v| v.is_finite())).map(|[column, row, east, north]| {
            // A point is the centre of its cell.
            let half = if self.point { 0.5 } else { 0.0 };
            Georef { epsg: self.epsg, west: east - (column + half) * x, north: north + (row + half) * y, cell: (x, y) }
        });
        let spacing = self.spacing((x.abs(), y.abs()), georef.as_ref(), height, warnings);
        // A map without a place is written with its first sample at 0, 0, so that is not taken for a place.
        let local = |g: &Georef| !self.has_crs && x == y && (g.west, g.north) == local_corner(x);
        let georef = georef.filter(|g| !local(g));
        (Some(spacing), georef)
    }

    fn spacing(&self, (x, y): (f64, f64), georef: Option<&Georef>, height: u32, warnings: &mut Vec<String>) -> f64 {
        if self.geographic {
            let middle = georef.map_or(0.0, |g| g.north - y * f64::from(height) / 2.0).clamp(-89.0, 89.0);
            let (east, north) = (x * DEGREE_M * middle.to_radians().cos(), y * DEGREE_M);
            // Rounded to a micrometre: the last bits of a cosine differ between systems, and terrain must not.
            let mean = ((east + north) / 2.0 * 1e6).round() / 1e6;
            warnings.push(format!(
                "cells are in degrees: at latitude {middle:.2} they measure {east:.2} m (east-west) by {north:.2} m \
                 (north-south), and {mean:.2} m is used for both; set it with --spacing, or reproject the file to metres"
            ));
            return mean;
        }
        let unit = match self.linear_unit {
            None | Some(0 | 9001) => 1.0,
            Some(9002) => 0.3048,
            Some(9003) => 1200.0 / 3937.0,
            Some(other) => {
                warnings.push(format!("the file measures in unit {other}, which is taken as metres; set it with --spacing"));
                1.0
            }
        };
        let (x, y) = (x * unit, y * unit);
        if (x - y).abs() <= 1e-6 * x.max(y) {
            return x;
        }
        let mean = f64::midpoint(x, y);
        let (x, y, used) = (rounded(x), rounded(y), rounded(mean));
        warnings.push(format!("cells are not square: {x} m by {y} m, and {used} m is used for both; resample for exact slopes"));
        mean
    }
}

/// The outer north-west corner of a map without a place, whose first sample is at 0, 0.
pub(super) fn local_corner(spacing_m: f64) -> (f64, f64) {
    (-0.5 * spacing_m, 0.5 * spacing_m)
}

/// Whether a coordinate system is in degrees. Neither a [`Georef`] nor an EPSG code says so in general, but the size of a cell
/// does: a degree is more than a thousand metres.
pub(super) fn is_geographic(georef: &Georef, code: u16, spacing_m: f64) -> bool {
    matches!(code, 4258 | 4267 | 4269 | 4283 | 4326 | 4490 | 4674 | 4979 | 6318 | 7844) || spacing_m > 1000.0 * georef.cell.1
}
