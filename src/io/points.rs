//! Places as CSV and GeoJSON.

use super::feature::Frame;
use crate::map::Map;
use crate::scatter::Place;
use crate::{Error, Result};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Places in each piece of a file.
const PIECE: usize = 4096;

/// A file of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointFormat {
    /// One line for each place: x, y (cells of the world), east, north, height in metres, the
    /// biome's number and name.
    Csv,
    /// One feature for each place, with the same data as properties.
    GeoJson,
}

impl PointFormat {
    /// The format that a path's extension names.
    pub fn from_path(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("geojson" | "json") => Ok(Self::GeoJson),
            _ => Err(Error::param(format!(
                "{}: places are written as .csv or .geojson",
                path.display()
            ))),
        }
    }
}

/// The bytes of a file of places on a map whose north-west sample has the world coordinates
/// `origin`; `biomes` are the biomes' names.
///
/// East and north are those of the map's coordinate system, where it has one; else metres from the
/// world's origin.
pub fn encode(
    places: &[Place],
    map: &Map,
    origin: [i64; 2],
    biomes: &[&str],
    format: PointFormat,
) -> Vec<u8> {
    encode_pieces(places, map, origin, biomes, format).flatten().collect()
}

/// As [`encode`], piece by piece, so that a file of millions of places need not fit in memory.
pub fn encode_pieces<'a>(
    places: &'a [Place],
    map: &'a Map,
    origin: [i64; 2],
    biomes: &'a [&str],
    format: PointFormat,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let coordinates = move |p: &Place| match &map.georef {
        Some(g) => {
            let [x, y] = [p.x - origin[0] as f64, p.y - origin[1] as f64];
            [g.west + (x + 0.5) * g.cell.0, g.north - (y + 0.5) * g.cell.1]
        }
        // A difference and not a negation, which would make -0 of 0.
        None => [p.x * map.spacing_m, 0.0 - p.y * map.spacing_m],
    };
    let name = move |p: &Place| p.biome.and_then(|b| biomes.get(b)).copied();
    let (head, tail) = match format {
        PointFormat::Csv => ("x,y,east,north,height_m,biome,biome_name\r\n".to_string(), ""),
        PointFormat::GeoJson => {
            let crs = Frame::of(map.spacing_m, map.georef.as_ref()).crs_member();
            (format!("{{\"type\":\"FeatureCollection\",{crs}\"features\":["), "]}\n")
        }
    };
    let line = move |text: &mut String, n: usize, p: &Place| match format {
        PointFormat::Csv => {
            let [east, north] = coordinates(p);
            let biome = p.biome.map(|b| b.to_string()).unwrap_or_default();
            let name = name(p).map(quoted).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ =
                write!(text, "{},{},{east},{north},{},{biome},{name}\r\n", p.x, p.y, p.height_m);
        }
        PointFormat::GeoJson => {
            let feature = json!({
                "type": "Feature",
                "geometry": { "type": "Point", "coordinates": coordinates(p) },
                "properties": { "x": p.x, "y": p.y, "height_m": p.height_m, "biome": p.biome,
                    "biome_name": name(p) },
            });
            let _ = write!(text, "{}{feature}", if n > 0 { "," } else { "" });
        }
    };
    let piece = move |(n, places): (usize, &[Place])| {
        let mut text = String::new();
        places.iter().enumerate().for_each(|(m, p)| line(&mut text, n * PIECE + m, p));
        text.into_bytes()
    };
    let [head, tail] = [head.into_bytes(), tail.into()].map(std::iter::once);
    head.chain(places.chunks(PIECE).enumerate().map(piece)).chain(tail)
}

/// A field of CSV, in quotes where RFC 4180 requires them.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
