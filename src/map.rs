//! A raster in physical units: what files hold and what people look at.

/// A raster of `width` × `height` samples, row-major, row 0 in the north.
///
/// Samples are vertices: the map spans `(width - 1) * spacing_m` metres from west to east.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Samples in a row, 1 or more.
    pub width: u32,
    /// Rows, 1 or more.
    pub height: u32,
    /// Metres from a sample to the next, over 0.
    pub spacing_m: f64,
    /// `width * height` finite values: heights in metres, or the unit of another data map.
    pub data: Vec<f32>,
    /// Metres that the lowest and the highest integer of the file stood for, where the map came from an integer format
    /// without a unit of its own; the same range is used when it is written to such a format.
    pub range_m: Option<(f64, f64)>,
    /// Where on Earth the map lies, where the file said so.
    pub georef: Option<Georef>,
}

/// A north-up georeference, as GeoTIFF states it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Georef {
    /// EPSG code of the coordinate system, where known.
    pub epsg: Option<u32>,
    /// Easting or longitude of the outer corner (not the centre) of the north-west sample's cell.
    pub west: f64,
    /// Northing or latitude of the same corner.
    pub north: f64,
    /// Width and height of a cell in units of the coordinate system, both over 0.
    pub cell: (f64, f64),
    /// The coordinate system where a code does not say it all: one without a code, or with a vertical part.
    pub keys: Option<GeoKeys>,
}

/// A coordinate system as the three tags of a GeoTIFF have it, so that one that nobody here understands is still passed on.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GeoKeys {
    /// The directory of keys.
    pub directory: Vec<u16>,
    /// Numbers that keys refer to.
    pub numbers: Vec<f64>,
    /// Texts that keys refer to.
    pub text: String,
}

impl Georef {
    /// The name of the coordinate system, for people: its code, or else the first text of its keys.
    pub fn name(&self) -> Option<String> {
        let text = self.keys.as_ref().and_then(|keys| keys.text.split('|').find(|part| !part.trim().is_empty()));
        self.epsg.map(|code| format!("EPSG:{code}")).or(text.map(|text| text.trim_end_matches('\0').into()))
    }
}

impl Map {
    /// Lowest and highest value.
    pub fn min_max(&self) -> (f32, f32) {
        self.data.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)))
    }
}

/// What the samples of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// Heights, in metres or steps of them.
    #[default]
    Heights,
    /// Shares: the lowest and the highest integer stand for 0 and 1, other values for themselves. Neither `range_m` nor `spacing_m`
    /// is asked for.
    Shares,
    /// Numbers of things, which stand for themselves. Of a PNG with a palette they are the indices; one of 16 bits is refused,
    /// since programs that make one of 8 bits multiply its levels by 257.
    Numbers,
}
