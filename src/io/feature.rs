//! Features of vector files: shapes with values, in the coordinates of the file.

use super::crs::{self, System};
use crate::map::Georef;
use serde_json::{Value, json};

/// The name that readers based on GDAL take for a plane in metres without a place on Earth. Without
/// one they would take degrees.
pub const LOCAL: &str =
    "LOCAL_CS[\"local metres\",UNIT[\"metre\",1],AXIS[\"Easting\",EAST],AXIS[\"Northing\",NORTH]]";

/// Where half cells lie.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// Of the middle of the north-west cell.
    origin: [f64; 2],
    /// Of a cell to the east and to the south.
    cell: [f64; 2],
    /// The code of the coordinate system.
    pub epsg: Option<u32>,
    /// The coordinate system, where it has no code.
    #[cfg_attr(not(feature = "gpkg"), allow(dead_code, reason = "GeoPackages have it"))]
    pub system: Option<System>,
    /// What GeoJSON calls it.
    pub name: String,
}

impl Frame {
    pub fn of(spacing_m: f64, georef: Option<&Georef>) -> Self {
        match georef {
            Some(g) => Self {
                origin: [g.west + 0.5 * g.cell.0, g.north - 0.5 * g.cell.1],
                cell: [g.cell.0, -g.cell.1],
                epsg: g.epsg,
                system: crs::system(g),
                name: crs::name(g).unwrap_or_else(|| LOCAL.into()),
            },
            None => Self {
                origin: [0.0; 2],
                cell: [spacing_m, -spacing_m],
                epsg: None,
                system: None,
                name: LOCAL.into(),
            },
        }
    }

    /// The member `crs` of GeoJSON with a comma, or nothing for WGS 84: RFC 7946 knows no other
    /// system. So others are named as its predecessor of 2008 has it, which readers still take.
    pub fn crs_member(&self) -> String {
        if self.epsg == Some(4326) {
            return String::new();
        }
        let crs = json!({ "type": "name", "properties": { "name": self.name } });
        format!("\"crs\":{crs},")
    }

    pub fn at(&self, half: [i32; 2]) -> [f64; 2] {
        // Adding 0 makes a plain zero of a negative one, which JSON would write as -0.0.
        [0, 1].map(|axis| self.origin[axis] + f64::from(half[axis]) / 2.0 * self.cell[axis] + 0.0)
    }
}

/// The shape of a feature: coordinates to the east, to the north and up.
pub(super) enum Shape {
    Point([f64; 3]),
    Line(Vec<[f64; 3]>),
    /// Polygons, each its rings, each closed.
    Polygons(Vec<Vec<Vec<[f64; 3]>>>),
}

/// A feature, with a value for each column of its layer.
pub(super) struct Feature {
    pub shape: Shape,
    pub values: Vec<Value>,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Integer,
    Real,
    Text,
}

/// Features of one kind.
pub(super) struct Layer {
    pub name: &'static str,
    #[cfg_attr(not(feature = "gpkg"), allow(dead_code, reason = "GeoPackages have it"))]
    pub about: &'static str,
    /// The type of its shapes.
    pub shapes: &'static str,
    /// Whether they have heights.
    pub has_z: bool,
    pub columns: &'static [(&'static str, Column)],
    pub features: Vec<Feature>,
}
