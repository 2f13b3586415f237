//! The tags of GeoTIFF: where a raster lies and how large its cells are.

use geotiff_core::geokeys::{
    GEOGRAPHIC_TYPE, GT_MODEL_TYPE, GT_RASTER_TYPE, GeoKeyDirectory, PROJ_LINEAR_UNITS, PROJECTED_CS_TYPE, VERTICAL_CITATION,
    VERTICAL_CS_TYPE, VERTICAL_DATUM, VERTICAL_UNITS,
};
use tiff_reader::ifd::Ifd;

use crate::map::{GeoKeys, Georef};
use crate::params::rounded;

/// Metres in a degree of latitude, and of longitude at the equator.
const DEGREE_M: f64 = 111_320.0;

/// Tags of GeoTIFF and of GDAL.
const SCALE: u16 = 33550;
const TIEPOINT: u16 = 33922;
const TRANSFORMATION: u16 = 34264;
const DIRECTORY: u16 = 34735;
const NUMBERS: u16 = 34736;
const TEXT: u16 = 34737;
const METADATA: u16 = 42112;
const NODATA: u16 = 42113;

/// Metres of a foot, and of a foot of the United States' surveys.
pub(super) const FOOT_M: f64 = 0.3048;
pub(super) const SURVEY_FOOT_M: f64 = 1200.0 / 3937.0;

/// The content of the tags.
#[derive(Debug, Default)]
pub(super) struct Geo {
    /// Whether any tag ties the raster to a place or a scale.
    pub is_geo: bool,
    /// The value that stands for a missing one.
    pub nodata: Option<f64>,
    /// Whether nobody declared it.
    pub assumed_nodata: bool,
    /// Whether a mask says which samples have a value.
    pub masked: bool,
    /// What a sample is multiplied by, and what is added then.
    slope: Option<[f64; 2]>,
    /// Metres of a unit of heights, and its name where it is no metre.
    unit: Option<(f64, String)>,
    /// A unit that nobody here knows.
    unknown_unit: Option<String>,
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
    keys: Option<GeoKeys>,
}

/// Reads the tags of a picture, for a band from 0.
pub(super) fn read(ifd: &Ifd, band: usize) -> Result<Geo, String> {
    let bad = |tag: u16, what: &str| format!("tag {tag} has no {what}");
    let floats = |tag| {
        let found = ifd.tag(tag).map(|t| t.value.as_f64_vec().ok_or_else(|| bad(tag, "numbers")));
        found.transpose()
    };
    let text = |tag| ifd.tag(tag).map(|t| t.value.as_str().ok_or_else(|| bad(tag, "text"))).transpose();
    let (scale, tiepoint, matrix) = (floats(SCALE)?, floats(TIEPOINT)?, floats(TRANSFORMATION)?);
    let directory = ifd.tag(DIRECTORY).map(|t| t.value.as_u16_slice().ok_or_else(|| bad(DIRECTORY, "16-bit numbers")));
    let directory = directory.transpose()?.unwrap_or_default();
    let nodata = text(NODATA)?;

    let mut geo = Geo { nodata: nodata.and_then(|s| s.trim_matches(['\0', ' ']).parse().ok()), ..Geo::default() };
    geo.is_geo = scale.is_some() || !directory.is_empty();
    if let Some(&[x, y, ..]) = scale.as_deref() {
        geo.scale = Some((x, y));
    }
    if let Some(&[column, row, _, east, north, ..]) = tiepoint.as_deref() {
        geo.tiepoint = Some([column, row, east, north]);
    }
    // The identity says nothing, and libraries write it for rasters without a place.
    let placed = matrix.as_deref().filter(|m| !matches!(m, [1.0, 0.0, _, 0.0, 0.0, 1.0, _, 0.0, ..]));
    if let Some(&[a, b, _, east, d, e, _, north, ..]) = placed {
        geo.rotated = b != 0.0 || d != 0.0;
        geo.scale = Some((a.hypot(d), if geo.rotated { b.hypot(e) } else { -e }));
        geo.is_geo = true;
        geo.tiepoint = Some([0.0, 0.0, east, north]);
    }
    let raw = GeoKeys {
        directory: directory.to_vec(),
        numbers: floats(NUMBERS)?.unwrap_or_default(),
        text: text(TEXT)?.unwrap_or_default().trim_end_matches('\0').into(),
    };
    let keys = keys(&raw);
    let key = |number| keys.as_ref()?.get_short(number);
    // 0 and 32767 stand for "undefined" and "defined by the user".
    let code = |number| key(number).filter(|c| !matches!(c, 0 | 32767));
    geo.point = key(GT_RASTER_TYPE) == Some(2);
    geo.geographic = match key(GT_MODEL_TYPE) {
        Some(model) => model == 2,
        None => key(PROJECTED_CS_TYPE).is_none() && key(GEOGRAPHIC_TYPE).is_some(),
    };
    geo.has_crs = [GT_MODEL_TYPE, GEOGRAPHIC_TYPE, PROJECTED_CS_TYPE].into_iter().any(|k| key(k).is_some());
    geo.epsg = code(if geo.geographic { GEOGRAPHIC_TYPE } else { PROJECTED_CS_TYPE }).map(u32::from);
    geo.linear_unit = key(PROJ_LINEAR_UNITS);
    let vertical = [VERTICAL_CS_TYPE, VERTICAL_CITATION, VERTICAL_DATUM, VERTICAL_UNITS];
    let is_vertical = keys.as_ref().is_some_and(|keys| vertical.iter().any(|id| keys.get(*id).is_some()));
    geo.keys = (geo.has_crs && (geo.epsg.is_none() || is_vertical)).then_some(raw);
    match code(VERTICAL_UNITS) {
        None | Some(9001) => {}
        Some(9002) => geo.unit = Some((FOOT_M, "feet".into())),
        Some(9003) => geo.unit = Some((SURVEY_FOOT_M, "US survey feet".into())),
        Some(other) => geo.unknown_unit = Some(format!("unit {other}")),
    }
    if let Some(metadata) = text(METADATA)? {
        geo.read_metadata(metadata.trim_end_matches('\0'), band)?;
    }
    Ok(geo)
}

/// The keys of a coordinate system, where they can be read.
pub(super) fn keys(raw: &GeoKeys) -> Option<GeoKeyDirectory> {
    GeoKeyDirectory::parse(&raw.directory, &raw.numbers, &raw.text)
}

impl Geo {
    /// Cells of an unknown coordinate system, and the outer north-west corner.
    pub fn of_corner(cell: (f64, f64), corner: Option<[f64; 2]>) -> Self {
        let tiepoint = corner.map(|[west, north]| [0.0, 0.0, west, north]);
        Self { scale: Some(cell), tiepoint, ..Self::default() }
    }

    /// Cells in degrees of WGS 84, and the outer north-west corner.
    pub fn of_degrees(cell: (f64, f64), corner: [f64; 2]) -> Self {
        Self { geographic: true, has_crs: true, epsg: Some(4326), ..Self::of_corner(cell, Some(corner)) }
    }

    /// GDAL's metadata: `<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.1</Item>…`.
    fn read_metadata(&mut self, xml: &str, band: usize) -> Result<(), String> {
        let document = roxmltree::Document::parse(xml).map_err(|e| format!("the metadata of GDAL: {e}"))?;
        let mut slope = [1.0, 0.0];
        for item in document.descendants().filter(|node| node.has_tag_name("Item")) {
            let text = item.text().unwrap_or_default().trim();
            if item.attribute("sample").and_then(|n| n.parse().ok()) != Some(band) {
                continue;
            }
            let number = || {
                text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or(format!("the metadata of GDAL: {text:?} is no number"))
            };
            match item.attribute("role") {
                Some("scale") => slope[0] = number()?,
                Some("offset") => slope[1] = number()?,
                Some("unittype") => match text.to_ascii_lowercase().as_str() {
                    "" | "m" | "metre" | "meter" | "metres" | "meters" => self.unit = None,
                    "ft" | "foot" | "feet" => self.unit = Some((FOOT_M, "feet".into())),
                    "us survey foot" | "us survey feet" | "sfoot" | "ftus" => {
                        self.unit = Some((SURVEY_FOOT_M, "US survey feet".into()));
                    }
                    "cm" => self.unit = Some((0.01, "centimetres".into())),
                    "dm" => self.unit = Some((0.1, "decimetres".into())),
                    other => self.unknown_unit = Some(format!("{other:?}")),
                },
                _ => {}
            }
        }
        self.slope = (slope != [1.0, 0.0]).then_some(slope);
        Ok(())
    }

    /// Whether samples are what they stand for.
    pub fn is_plain(&self) -> bool {
        self.slope.is_none() && self.unit.is_none()
    }

    /// What a sample stands for, in metres.
    pub fn value(&self, sample: f64) -> f64 {
        let [scale, offset] = self.slope.unwrap_or([1.0, 0.0]);
        (sample * scale + offset) * self.unit.as_ref().map_or(1.0, |unit| unit.0)
    }

    /// What was done to the samples, and what could not be: warnings.
    pub fn applied(&self) -> impl Iterator<Item = String> {
        let [scale, offset] = self.slope.unwrap_or([1.0, 0.0]).map(rounded);
        let sloped = self
            .slope
            .map(|_| format!("the file says that a value is its sample times {scale} plus {offset}, and so it was read"));
        let unit = self.unit.as_ref().map(|(_, name)| {
            let vertical = self.vertical_code().map_or(String::new(), |code| {
                format!("; the vertical coordinate system, EPSG:{code}, is left out of files that are written")
            });
            format!("heights are in {name}, and were made metres{vertical}")
        });
        let unknown = self.unknown_unit.as_ref().map(|name| format!("heights are in {name}, which is taken as metres"));
        [sloped, unit, unknown].into_iter().flatten()
    }

    /// The code of the vertical coordinate system.
    fn vertical_code(&self) -> Option<u16> {
        keys(self.keys.as_ref()?)?.get_short(VERTICAL_CS_TYPE).filter(|code| !matches!(code, 0 | 32767))
    }

    /// The keys for files that are written, whose heights are in metres.
    fn keys_in_metres(&self) -> Option<GeoKeys> {
        let raw = self.keys.as_ref()?;
        if self.unit.is_none() {
            return Some(raw.clone());
        }
        let mut keys = keys(raw)?;
        [VERTICAL_CS_TYPE, VERTICAL_CITATION, VERTICAL_DATUM, VERTICAL_UNITS].into_iter().for_each(|id| keys.remove(id));
        let (directory, numbers, text) = keys.serialize().ok()?;
        self.epsg.is_none().then_some(GeoKeys { directory, numbers, text })
    }

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
            let (west, north) = (east - (column + half) * x, north + (row + half) * y);
            Georef { epsg: self.epsg, west, north, cell: (x, y), keys: self.keys_in_metres() }
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
                 (north-south), and {mean:.2} m is used for both; set it with --spacing (in a recipe, spacing_m), or reproject the file to metres"
            ));
            return mean;
        }
        let unit = match self.linear_unit {
            None | Some(0 | 9001) => 1.0,
            Some(9002) => FOOT_M,
            Some(9003) => SURVEY_FOOT_M,
            Some(other) => {
                warnings.push(format!("the file measures in unit {other}, which is taken as metres; set the metres of a cell with --spacing, or in a recipe with spacing_m"));
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
pub(crate) fn local_corner(spacing_m: f64) -> (f64, f64) {
    (-0.5 * spacing_m, 0.5 * spacing_m)
}

/// Whether a coordinate system is in degrees. Neither a [`Georef`] nor an EPSG code says so in general, but the size of a cell
/// does: a degree is more than a thousand metres.
pub(super) fn is_geographic(georef: &Georef, code: u16, spacing_m: f64) -> bool {
    matches!(code, 4258 | 4267 | 4269 | 4283 | 4326 | 4490 | 4674 | 4979 | 6318 | 7844) || spacing_m > 1000.0 * georef.cell.1
}
