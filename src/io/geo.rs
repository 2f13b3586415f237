//! The tags of GeoTIFF: where a raster lies and how large its cells are.

use geotiff_core::geokeys::{
    GEOG_ANGULAR_UNITS, GEOGRAPHIC_TYPE, GT_MODEL_TYPE, GT_RASTER_TYPE, GeoKeyDirectory,
    PROJ_LINEAR_UNITS, PROJECTED_CS_TYPE, VERTICAL_CITATION, VERTICAL_CS_TYPE, VERTICAL_DATUM,
    VERTICAL_UNITS,
};
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use tiff_reader::ifd::Ifd;

use super::nodata::Nodata;
use super::units::{self, Unit};
use crate::map::{GeoKeys, Georef, mercator_scale};
use crate::params::rounded;

/// Metres in a degree of latitude, and of longitude at the equator.
const DEGREE_M: f64 = 111_320.0;

/// The key of half the greatest width of an ellipsoid, in metres, and that of the Earth: others of
/// the Earth differ by less than a thousandth.
const SEMI_MAJOR_AXIS: u16 = 2057;
const EARTH_M: f64 = 6_378_137.0;

/// Largest cell that is in degrees where nothing says so.
const DEGREES_MAX: f64 = 5.0;

/// Tags of GeoTIFF and of GDAL.
const SCALE: u16 = 33550;
const TIEPOINT: u16 = 33922;
const TRANSFORMATION: u16 = 34264;
const DIRECTORY: u16 = 34735;
const NUMBERS: u16 = 34736;
const TEXT: u16 = 34737;
const METADATA: u16 = 42112;
const NODATA: u16 = 42113;

/// Keys that the library has no names for: radians and metres of a unit without a code.
const ANGULAR_UNIT_SIZE: u16 = 2055;
const LINEAR_UNIT_SIZE: u16 = 3077;

/// Stands for "defined by the user" among codes. 0 stands for "undefined".
pub(super) const USER: u16 = 32767;

/// So much of a cell may a rotation move the farthest sample: it is what is left of a program's
/// sums.
const ROTATION_MAX: f64 = 1e-3;

/// The content of the tags.
#[derive(Debug, Default)]
pub(super) struct Geo {
    /// Whether any tag ties the raster to a place or a scale.
    pub is_geo: bool,
    /// The value that is declared to stand for a missing one.
    pub nodata: Option<Nodata>,
    /// What a sample is multiplied by, and what is added then.
    slope: Option<[f64; 2]>,
    /// The unit of heights, where it is no metre.
    unit: Option<Unit>,
    /// Whether the keys say that it is none, whatever other tags say.
    keyed_unit: bool,
    /// A unit that nobody here knows.
    unknown_unit: Option<String>,
    /// Whether heights count downwards.
    depth: bool,
    /// Width and height of a cell. One below 0: columns go to the west, rows to the north.
    scale: Option<(f64, f64)>,
    /// Raster column and row, then easting and northing of one point.
    tiepoint: Option<[f64; 4]>,
    rotated: bool,
    geographic: bool,
    /// Whether samples are points rather than areas.
    point: bool,
    has_crs: bool,
    epsg: Option<u32>,
    /// The unit of places on a plane, where it is no metre.
    linear: Option<Unit>,
    /// Degrees in the unit of places on a globe, where it is no degree.
    degrees: Option<f64>,
    /// Half of the greatest width of the body that it lies on, in metres.
    radius_m: Option<f64>,
    keys: Option<GeoKeys>,
    /// What is wrong with the tags: warnings.
    faults: Vec<String>,
}

/// Reads the tags of a picture, for a band from 0. What cannot be read of them is a warning: the
/// samples do not need it.
pub(super) fn read(ifd: &Ifd, band: usize) -> Geo {
    let mut geo = Geo::default();
    let mut bad = |tag: u16, what: &str| {
        geo.faults.push(format!("tag {tag} of the file has no {what} and is ignored"))
    };
    let mut floats = |tag| {
        let tag_of = ifd.tag(tag)?;
        let found = tag_of.value.as_f64_vec();
        if found.is_none() {
            bad(tag, "numbers");
        }
        found
    };
    let (scale, tiepoint, matrix, numbers) =
        (floats(SCALE), floats(TIEPOINT), floats(TRANSFORMATION), floats(NUMBERS));
    let directory = ifd.tag(DIRECTORY).and_then(|tag| {
        let found = tag.value.as_u16_slice();
        if found.is_none() {
            bad(DIRECTORY, "16-bit numbers");
        }
        found
    });
    let mut text = |tag| {
        let found = ifd.tag(tag)?.value.as_str();
        if found.is_none() {
            bad(tag, "text");
        }
        found
    };
    let (texts, metadata, nodata) = (text(TEXT), text(METADATA), text(NODATA));
    geo.read_nodata(nodata);
    geo.is_geo = scale.is_some() || directory.is_some_and(|keys| !keys.is_empty());
    geo.read_place(ifd, [scale.as_deref(), tiepoint.as_deref(), matrix.as_deref()]);
    geo.read_system(GeoKeys {
        directory: directory.unwrap_or_default().to_vec(),
        numbers: numbers.unwrap_or_default(),
        text: texts.unwrap_or_default().trim_end_matches('\0').into(),
    });
    if let Some(metadata) = metadata
        && let Err(what) = geo.read_metadata(metadata.trim_end_matches('\0'), band)
    {
        geo.faults.push(format!(
            "the metadata of GDAL cannot be read, and what it says of scale, offset \
             and unit is ignored: {what}"
        ));
    }
    geo
}

impl Geo {
    /// The value of samples that are missing.
    fn read_nodata(&mut self, nodata: Option<&str>) {
        if let Some(nodata) = nodata.filter(|text| !text.trim_matches(['\0', ' ']).is_empty()) {
            self.nodata = Nodata::parse(nodata);
            if self.nodata.is_none() {
                self.faults.push(format!(
                "the file's value for missing samples is {nodata:?}, which is no number: none is \
                 taken as missing by it"
            ));
            }
        }
    }

    /// The size of a cell and the place of one point: scale, tie point and matrix.
    fn read_place(&mut self, ifd: &Ifd, [scale, tiepoint, matrix]: [Option<&[f64]>; 3]) {
        if let Some(&[x, y, ..]) = scale {
            if y < 0.0 {
                self.faults.push(format!(
                    "the file says that a cell is {y} high, and it is read as {}, as GDAL does",
                    -y
                ));
            }
            self.scale = Some((x, y.abs()));
        }
        if let Some(&[column, row, _, east, north, ..]) = tiepoint {
            self.tiepoint = Some([column, row, east, north]);
        }
        // The identity says nothing, and libraries write it for rasters without a place.
        let placed = matrix.filter(|m| !matches!(m, [1.0, 0.0, _, 0.0, 0.0, 1.0, _, 0.0, ..]));
        if let Some(&[a, b, _, east, d, e, _, north, ..]) = placed {
            let moved = f64::from(ifd.width()) * d.abs() + f64::from(ifd.height()) * b.abs();
            // OGC 19-008r4: a sample lies at a·column + b·row + east and d·column + e·row + north,
            // so b and d turn the raster, and e is below 0 where rows go to the south.
            self.rotated = moved > ROTATION_MAX * a.abs().min(e.abs()) || moved.is_nan();
            self.scale =
                Some(if self.rotated { (libm::hypot(a, d), libm::hypot(b, e)) } else { (a, -e) });
            self.is_geo = true;
            self.tiepoint = Some([0.0, 0.0, east, north]);
        }
    }

    /// The coordinate system.
    fn read_system(&mut self, raw: GeoKeys) {
        let keys = keys(&raw);
        let key = |number| keys.as_ref()?.get_short(number);
        let code = |number| key(number).filter(|c| !matches!(*c, 0 | USER));
        // OGC 19-008r4: raster type 2 is PixelIsPoint, and model type 2 a geographic system.
        self.point = key(GT_RASTER_TYPE) == Some(2);
        self.geographic = match key(GT_MODEL_TYPE) {
            Some(model) => model == 2,
            None => key(PROJECTED_CS_TYPE).is_none() && key(GEOGRAPHIC_TYPE).is_some(),
        };
        self.has_crs = [GT_MODEL_TYPE, GEOGRAPHIC_TYPE, PROJECTED_CS_TYPE]
            .into_iter()
            .any(|k| key(k).is_some());
        self.epsg =
            code(if self.geographic { GEOGRAPHIC_TYPE } else { PROJECTED_CS_TYPE }).map(u32::from);
        let radius =
            keys.as_ref().and_then(|keys| keys.get_double(SEMI_MAJOR_AXIS)?.first().copied());
        self.radius_m = radius.filter(|radius| radius.is_finite() && *radius > 0.0);
        let vertical = [VERTICAL_CS_TYPE, VERTICAL_CITATION, VERTICAL_DATUM, VERTICAL_UNITS];
        let is_vertical =
            keys.as_ref().is_some_and(|keys| vertical.iter().any(|id| keys.get(*id).is_some()));
        if let Some(keys) = &keys {
            self.read_units(keys);
        }
        // A code says all that is needed of a plane or a globe, but nothing of heights.
        self.keys = (self.has_crs && (self.epsg.is_none() || is_vertical)).then_some(raw);
    }
}

/// The band of a mask's file, from 0, that goes with a band from 1 of the file beside it; none
/// where that band has no mask.
pub(super) fn mask_band(ifd: &Ifd, band: usize) -> Option<usize> {
    /// One mask for all bands.
    const PER_DATASET: u32 = 2;
    let xml = ifd.tag(METADATA).and_then(|tag| tag.value.as_str()).unwrap_or_default();
    let Ok(items) = items(xml.trim_end_matches('\0')) else { return Some(0) };
    let flags = |band: usize| {
        let name = format!("INTERNAL_MASK_FLAGS_{band}");
        items.iter().find(|item| item.name == name)?.text.trim().parse::<u32>().ok()
    };
    match flags(band) {
        // GDAL numbers bands from 1 in the names of flags, also where a mask is for all of them.
        Some(flags) if flags & PER_DATASET != 0 => Some(0),
        Some(_) => Some(band - 1),
        // A file without flags is not GDAL's, and its one band is taken for all. Flags for other
        // bands alone say that this one has no mask.
        None => Some(0).filter(|_| flags(1).is_none()),
    }
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
        Self {
            geographic: true,
            has_crs: true,
            epsg: Some(4326),
            ..Self::of_corner(cell, Some(corner))
        }
    }

    /// The units that keys have, and where they are silent those of the systems' codes.
    fn read_units(&mut self, keys: &GeoKeyDirectory) {
        let code = |id| keys.get_short(id).filter(|code| *code != 0);
        let size = |id| {
            keys.get_double(id)?.first().copied().filter(|size| size.is_finite() && *size > 0.0)
        };
        let linear = match code(PROJ_LINEAR_UNITS) {
            Some(USER) => size(LINEAR_UNIT_SIZE).map(Unit::of_metres),
            Some(unit) => units::length(unit),
            None => self.epsg.map_or_else(|| units::length(units::METRE), units::of_plane),
        };
        if linear.is_none() {
            let unit = code(PROJ_LINEAR_UNITS).unwrap_or_default();
            self.faults.push(format!(
                "the file measures in unit {unit}, which is taken as metres; \
                 set the metres of a cell with --spacing, or in a recipe with \
                 spacing_m"
            ));
        }
        self.linear = linear.filter(|unit| !unit.is_metre());
        let degrees = match code(GEOG_ANGULAR_UNITS) {
            Some(USER) => size(ANGULAR_UNIT_SIZE).map(units::degrees_of),
            Some(unit) => units::degrees(unit),
            None => self.epsg.filter(|_| self.geographic).map(units::degrees_of_globe),
        };
        self.degrees = degrees.filter(|degrees| *degrees != 1.0);
        // A vertical system, or else the code of a compound one.
        let system =
            code(VERTICAL_CS_TYPE).filter(|code| *code != USER).map(u32::from).or(self.epsg);
        self.depth = system.is_some_and(units::is_depth);
        let heights = match code(VERTICAL_UNITS) {
            Some(unit) => units::length(unit),
            None => system.map_or_else(|| units::length(units::METRE), units::of_heights),
        };
        if heights.is_none() {
            self.unknown_unit = code(VERTICAL_UNITS).map(|unit| format!("unit {unit}"));
        }
        self.unit = heights.filter(|unit| !unit.is_metre());
        self.keyed_unit = self.unit.is_some() || self.epsg.and_then(units::horizontal).is_some();
    }

    /// GDAL's metadata.
    fn read_metadata(&mut self, xml: &str, band: usize) -> Result<(), String> {
        let mut slope = [1.0, 0.0];
        for item in items(xml)?.iter().filter(|item| item.sample.parse() == Ok(band)) {
            let text = item.text.trim();
            let number = || {
                text.parse::<f64>()
                    .ok()
                    .filter(|v| v.is_finite())
                    .ok_or(format!("{text:?} is no number"))
            };
            match item.role.as_str() {
                "scale" => slope[0] = number()?,
                "offset" => slope[1] = number()?,
                "unittype" => match units::named(text) {
                    Some(unit) => self.unit = Some(unit).filter(|unit| !unit.is_metre()),
                    None if text.is_empty() => {}
                    None => self.unknown_unit = Some(format!("{text:?}")),
                },
                _ => {}
            }
        }
        // GDAL also writes a scale of 1 and an offset of 0, which would only cost the rounding of
        // large integers.
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
        (sample * scale + offset) * self.unit.as_ref().map_or(1.0, |unit| unit.metres)
    }

    /// What was done to the samples, and what could not be: warnings.
    pub fn applied(&self) -> impl Iterator<Item = String> {
        let [scale, offset] = self.slope.unwrap_or([1.0, 0.0]).map(rounded);
        let sloped = self.slope.map(|_| {
            format!(
                "the file says that a value is its sample times {scale} plus \
                 {offset}, and so it was read"
            )
        });
        let unit = self.unit.as_ref().map(|Unit { name, metres, .. }| {
            let vertical = self.vertical_code().map_or(String::new(), |code| {
                format!(
                    "; the vertical coordinate system, EPSG:{code}, is left out of files that \
                     are written"
                )
            });
            format!(
                "the unit of heights is the {name}, {} m, and they were made metres{vertical}",
                rounded(*metres)
            )
        });
        let compound = self.epsg.and_then(|code| Some((code, units::horizontal(code)?)));
        let compound = compound.map(|(code, part)| {
            format!(
                "the heights of the coordinate system EPSG:{code} are not in metres: files that \
                 are written have its horizontal part, EPSG:{part}"
            )
        });
        let unknown = self
            .unknown_unit
            .as_ref()
            .map(|name| format!("heights are in {name}, which is taken as metres"));
        let depth = self.depth.then(|| {
            "the vertical coordinate system counts downwards, and values are read as \
             heights all the same"
                .into()
        });
        self.faults
            .iter()
            .cloned()
            .chain([sloped, unit, compound, unknown, depth].into_iter().flatten())
    }

    /// The code of the vertical coordinate system.
    fn vertical_code(&self) -> Option<u16> {
        keys(self.keys.as_ref()?)?
            .get_short(VERTICAL_CS_TYPE)
            .filter(|code| !matches!(code, 0 | 32767))
    }

    /// The keys for files that are written, whose heights are in metres.
    fn keys_in_metres(&self) -> Option<GeoKeys> {
        let raw = self.keys.as_ref()?;
        if self.unit.is_none() && !self.keyed_unit {
            return Some(raw.clone());
        }
        let mut keys = keys(raw)?;
        [VERTICAL_CS_TYPE, VERTICAL_CITATION, VERTICAL_DATUM, VERTICAL_UNITS]
            .into_iter()
            .for_each(|id| keys.remove(id));
        let (directory, numbers, text) = keys.serialize().ok()?;
        // Without its heights a system that has a code needs no keys beside it.
        self.epsg.is_none().then_some(GeoKeys { directory, numbers, text })
    }

    /// Whether columns go to the west, and whether rows go to the north: so the samples have to be
    /// turned.
    pub fn turned(&self) -> [bool; 2] {
        let (x, y) = self.scale.filter(|_| !self.rotated).unwrap_or((1.0, 1.0));
        [x < 0.0, y < 0.0]
    }

    /// Metres between samples and the place on Earth of a map of `width` x `height` samples that is
    /// turned upright, where the tags have them. Assumptions go to `warnings`.
    pub fn place(
        &self,
        [width, height]: [u32; 2],
        warnings: &mut Vec<String>,
    ) -> (Option<f64>, Option<Georef>) {
        let Some((x, y)) = self.scale else { return (None, None) };
        if !(x.is_finite() && y.is_finite() && x != 0.0 && y != 0.0) {
            warnings
                .push(format!("the file says that a cell measures {x} by {y}, which is ignored"));
            return (None, None);
        }
        if self.rotated {
            warnings.push(
                "the raster is rotated on Earth: its place is dropped, and its rows are \
                 read in their order"
                    .into(),
            );
        }
        let georef = self
            .tiepoint
            .filter(|t| !self.rotated && t.iter().all(|v| v.is_finite()))
            .map(|[column, row, east, north]| {
                // A point is the centre of its cell.
                let half = if self.point { 0.5 } else { 0.0 };
                let (first, top) = (east - (column + half) * x, north + (row + half) * y);
                // Of a raster that is turned, the first sample lies at the other end.
                let (west, north) = (
                    first + (f64::from(width) * x).min(0.0),
                    top - (f64::from(height) * y).min(0.0),
                );
                Georef {
                    epsg: self.epsg.map(|code| units::horizontal(code).unwrap_or(code)),
                    west,
                    north,
                    cell: (x.abs(), y.abs()),
                    keys: self.keys_in_metres(),
                }
            })
            .filter(|at| {
                let south = at.north - f64::from(height) * at.cell.1;
                let is_finite = [at.west, at.north, south].iter().all(|side| side.is_finite());
                if !is_finite {
                    warnings.push(
                        "its corners lie beyond the largest number: its place is dropped".into(),
                    );
                }
                is_finite
            });
        // A map without a place is written with its first sample at 0, 0, so that is not taken for
        // a place.
        let local = |g: &Georef| !self.has_crs && x == y && (g.west, g.north) == local_corner(x);
        let spacing = self.spacing((x.abs(), y.abs()), georef.as_ref(), height, warnings);
        // These only give a warning: a map in metres may lie near the origin of its plane, too.
        let may_be_degrees = |g: &&Georef| {
            let south = g.north - g.cell.1 * f64::from(height);
            !self.has_crs
                && g.cell.1 <= DEGREES_MAX
                && g.west.abs() <= 360.0
                && g.north <= 90.0
                && south >= -90.0
                && !local(g)
        };
        if georef.as_ref().filter(may_be_degrees).is_some() {
            let cell = rounded(y.abs());
            warnings.push(format!(
                "the file names no coordinate system, and its cells of {cell} are taken as {cell} \
                 m; its corner may be a longitude and a latitude: if its \
                 cells are degrees, say so in a GeoTIFF (gdal_translate -a_srs EPSG:4326), or give \
                 metres with --spacing, in a recipe with spacing_m"
            ));
        }
        let georef = georef.filter(|g| !local(g));
        (Some(spacing), georef)
    }

    fn spacing(
        &self,
        (x, y): (f64, f64),
        georef: Option<&Georef>,
        height: u32,
        warnings: &mut Vec<String>,
    ) -> f64 {
        if self.geographic {
            let degrees = self.degrees.unwrap_or(1.0);
            let middle = georef
                .map_or(0.0, |g| (g.north - y * f64::from(height) / 2.0) * degrees)
                // At a pole a degree of longitude has no length, and cells must have some.
                .clamp(-89.0, 89.0);
            let (x, y) = (x * degrees, y * degrees);
            // Other bodies are spheres, as their maps have them.
            let other = self.radius_m.filter(|radius| (radius - EARTH_M).abs() > 1e-3 * EARTH_M);
            let degree_m = other.map_or(DEGREE_M, f64::to_radians);
            let (east, north) = (x * degree_m * libm::cos(middle.to_radians()), y * degree_m);
            // Rounded to a micrometre, since people read it.
            let mean = ((east + north) / 2.0 * 1e6).round() / 1e6;
            warnings.push(format!(
                "cells are in degrees: at latitude {middle:.2} they measure {east:.2} m \
                 (east-west) by {north:.2} m \
                 (north-south), and {mean:.2} m is used for both; maps of slope, aspect and \
                 curvature, the ways of water, areas and lengths of rivers \
                 take each row's own, but erosion and other stages do not: for these reproject the \
                 file to metres (gdalwarp -t_srs EPSG:CODE), or set \
                 --spacing (in a recipe, spacing_m)"
            ));
            return mean;
        }
        let unit = self.linear.as_ref().map_or(1.0, |unit| unit.metres);
        let mercator = georef
            .filter(|g| g.is_web_mercator())
            .map(|g| mercator_scale(g.north - y * f64::from(height) / 2.0));
        let (x, y) = (x * unit / mercator.unwrap_or(1.0), y * unit / mercator.unwrap_or(1.0));
        if let Some(scale) = mercator.filter(|scale| *scale > 1.001) {
            warnings.push(format!(
                "Web Mercator shows the ground {scale:.3} times too large here: cells measure {} m \
                 on it; reproject the file for exact erosion (gdalwarp \
                 -t_srs EPSG:CODE)",
                rounded(f64::midpoint(x, y))
            ));
        }
        if (x - y).abs() <= 1e-6 * x.max(y) {
            return x;
        }
        let mean = f64::midpoint(x, y);
        let (x, y, used) = (rounded(x), rounded(y), rounded(mean));
        warnings.push(format!(
            "cells are not square: {x} m by {y} m, and {used} m is used for \
             both; resample for exact slopes"
        ));
        mean
    }
}

/// The outer north-west corner of a map without a place, whose first sample is at 0, 0.
pub(crate) fn local_corner(spacing_m: f64) -> (f64, f64) {
    (-0.5 * spacing_m, 0.5 * spacing_m)
}

/// Whether a coordinate system is in degrees: by the register, or where that does not have its code
/// by the size of a cell.
pub(super) fn is_geographic(georef: &Georef, code: u16, spacing_m: f64) -> bool {
    units::is_globe(code.into()) || georef.is_in_degrees(spacing_m)
}

/// An item of GDAL's metadata. A field is empty where the item lacks it.
#[derive(Default)]
struct Item {
    name: String,
    sample: String,
    role: String,
    text: String,
}

impl Item {
    /// An item without its text.
    fn of(tag: &BytesStart) -> Result<Self, String> {
        let mut item = Self::default();
        // Without a check for names that occur twice, which takes the square of their number.
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|e| e.to_string())?;
            let to = match attribute.key.as_ref() {
                "name" => &mut item.name,
                "sample" => &mut item.sample,
                "role" => &mut item.role,
                _ => continue,
            };
            *to = unescape(&attribute.value).map_err(|e| e.to_string())?.into_owned();
        }
        Ok(item)
    }
}

/// The items of GDAL's metadata, in a time that grows as the text:
/// `<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.1</Item>…`.
fn items(xml: &str) -> Result<Vec<Item>, String> {
    let mended = with_entities(xml);
    let mut reader = quick_xml::Reader::from_str(&mended);
    let (mut items, mut open, mut depth, mut elements) = (vec![], None::<Item>, 0, 0);
    let add = |open: &mut Option<Item>, text: &str| {
        if let Some(item) = open {
            item.text.push_str(text);
        }
    };
    loop {
        match reader.read_event().map_err(|e| e.to_string())? {
            Event::Start(tag) => {
                (depth, elements) = (depth + 1, elements + 1);
                if tag.name().as_ref() == "Item" {
                    open = Some(Item::of(&tag)?);
                }
            }
            Event::Empty(_) => elements += 1,
            Event::End(tag) => {
                depth -= 1;
                if tag.name().as_ref() == "Item" {
                    items.extend(open.take());
                }
            }
            Event::Text(text) => add(&mut open, &text),
            Event::CData(text) => add(&mut open, &text),
            Event::GeneralRef(name) => {
                add(&mut open, &unescape(&format!("&{};", &*name)).map_err(|e| e.to_string())?);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match (elements, depth) {
        (0, _) => Err("it has no element".into()),
        (_, 0) => Ok(items),
        _ => Err("an element does not end".into()),
    }
}

/// A text of XML in which an ampersand may stand for itself, as GDAL reads it, and without
/// characters that XML cannot have.
fn with_entities(xml: &str) -> String {
    let mut mended = String::with_capacity(xml.len());
    let mut rest = xml;
    while let Some(at) = rest.find('&') {
        let (before, after) = rest.split_at(at);
        mended.push_str(before);
        // The longest is `&#x10FFFF;`.
        let end = after.bytes().take(12).position(|byte| byte == b';');
        let name = end.map_or("", |end| &after[1..end]);
        let is_entity =
            matches!(name, "amp" | "lt" | "gt" | "quot" | "apos") || name.starts_with('#');
        mended.push_str(if is_entity { "&" } else { "&amp;" });
        rest = &after[1..];
    }
    mended.push_str(rest);
    mended.retain(|c| matches!(c, '\t' | '\n' | '\r') || !c.is_control());
    mended
}
