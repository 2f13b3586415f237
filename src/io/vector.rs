//! Rivers, lakes, basins and points as GeoJSON and GeoPackage.
//!
//! Coordinates are those of the map's coordinate system, where it has one; else metres to the east
//! and to the north of the north-west sample, as in GeoTIFFs of the same land. Heights are the
//! third coordinate, in metres.

pub use super::feature::LOCAL;
use super::feature::{Column, Feature, Frame, Layer, Shape};
#[cfg(feature = "gpkg")]
use super::gpkg;
use crate::Result;
use crate::map::Map;
use crate::params::rounded;
use crate::water::outline::Polygon;
use crate::water::reach::Reach;
use crate::water::vectors::{Basin, Lake, Point, PointKind, Vectors};
use crate::water::{LAYERS, VectorFormat};
use serde_json::{Value, json};
use std::fmt::Write;

use Column::{Integer, Real, Text};

const RIVERS: &[(&str, Column)] = &[
    ("id", Integer),
    ("river", Integer),
    ("downstream", Integer),
    ("lake", Integer),
    ("strahler", Integer),
    ("length_m", Real),
    ("drainage_km2", Real),
    ("discharge_m3s", Real),
    ("width_m", Real),
    ("depth_m", Real),
    ("velocity_ms", Real),
];
const LAKES: &[(&str, Column)] = &[
    ("id", Integer),
    ("kind", Text),
    ("level_m", Real),
    ("depth_m", Real),
    ("area_km2", Real),
    ("volume_m3", Real),
    ("outlet_reach", Integer),
];
const BASINS: &[(&str, Column)] = &[
    ("id", Integer),
    ("ends", Text),
    ("area_km2", Real),
    ("drainage_km2", Real),
    ("reach", Integer),
];
const POINTS: &[(&str, Column)] = &[
    ("id", Integer),
    ("kind", Text),
    ("reach", Integer),
    ("lake", Integer),
    ("fall_m", Real),
    ("discharge_m3s", Real),
    ("width_m", Real),
];

/// A height as files have it: the digits of the 32-bit number, which maps have too.
fn height(metres: f32) -> f64 {
    metres.to_string().parse().unwrap_or_else(|_| f64::from(metres))
}

fn polygons(frame: &Frame, polygons: &[Polygon], z: f64) -> Shape {
    let ring = |ring: &Vec<[i32; 2]>| {
        // RFC 7946, section 3.1.6: the first place of a ring is also its last.
        ring.iter()
            .chain(ring.first())
            .map(|&half| frame.at(half))
            .map(|[x, y]| [x, y, z])
            .collect::<Vec<_>>()
    };
    Shape::Polygons(polygons.iter().map(|rings| rings.iter().map(ring).collect()).collect())
}

/// The layers of a land's water, in the order of [`LAYERS`].
fn layers(vectors: &Vectors, frame: &Frame) -> [Layer; 4] {
    let layer = |n: usize, about, shapes, has_z, columns, features| Layer {
        name: LAYERS[n],
        about,
        shapes,
        has_z,
        columns,
        features,
    };
    let about = "Rivers, from confluence to confluence";
    let rivers = layer(0, about, "LineString", true, RIVERS, rivers(vectors, frame));
    let about = "Lakes and the sea";
    let lakes = layer(1, about, "MultiPolygon", true, LAKES, lakes(vectors, frame));
    let about = "What drains to one mouth";
    let basins = layer(2, about, "MultiPolygon", false, BASINS, basins(vectors, frame));
    let about = "Springs, mouths, waterfalls and outlets of lakes";
    let points = layer(3, about, "Point", true, POINTS, points(vectors, frame));
    [rivers, lakes, basins, points]
}

/// A point of a half cell at a height in metres.
fn point(frame: &Frame, half: [i32; 2], metres: f32) -> [f64; 3] {
    let [x, y] = frame.at(half);
    [x, y, height(metres)]
}

fn number(value: f64) -> Value {
    json!(rounded(value))
}

fn km2(m2: f64) -> Value {
    number(m2 / 1e6)
}

/// Values are in the order of [`RIVERS`].
fn rivers(vectors: &Vectors, frame: &Frame) -> Vec<Feature> {
    let river = |r: &Reach| Feature {
        shape: Shape::Line(r.vertices.iter().map(|v| point(frame, v.at, v.height_m)).collect()),
        values: vec![
            r.id.into(),
            r.river.into(),
            json!(r.downstream),
            json!(r.lake),
            r.order.into(),
            number(r.length_m),
            km2(r.drainage_m2),
            number(r.channel.discharge),
            number(r.channel.width_m),
            number(r.channel.depth_m),
            number(r.channel.velocity),
        ],
    };
    vectors.reaches.iter().map(river).collect()
}

/// Values are in the order of [`LAKES`].
fn lakes(vectors: &Vectors, frame: &Frame) -> Vec<Feature> {
    let lake = |l: &Lake| Feature {
        shape: polygons(frame, &l.polygons, height(l.level_m)),
        values: vec![
            l.id.into(),
            match (l.id, l.outlet) {
                (0, _) => "sea",
                (_, Some(_)) => "lake",
                (_, None) => "closed lake",
            }
            .into(),
            height(l.level_m).into(),
            number(l.depth_m),
            km2(l.area_m2),
            number(l.volume_m3),
            json!(l.reach),
        ],
    };
    vectors.lakes.iter().map(lake).collect()
}

/// Values are in the order of [`BASINS`].
fn basins(vectors: &Vectors, frame: &Frame) -> Vec<Feature> {
    let basin = |b: &Basin| Feature {
        shape: polygons(frame, &b.polygons, 0.0),
        values: vec![
            b.id.into(),
            match (b.to_sea, b.is_closed) {
                (true, _) => "sea",
                (_, true) => "depression",
                _ => "border",
            }
            .into(),
            km2(b.area_m2),
            km2(b.drainage_m2),
            json!(b.reach),
        ],
    };
    vectors.basins.iter().map(basin).collect()
}

/// Values are in the order of [`POINTS`].
fn points(vectors: &Vectors, frame: &Frame) -> Vec<Feature> {
    let point = |(p, id): (&Point, i32)| Feature {
        shape: Shape::Point(point(frame, p.at, p.height_m)),
        values: vec![
            Value::from(id),
            p.kind.name().into(),
            json!(p.reach),
            json!(p.lake),
            p.fall_m.filter(|_| p.kind == PointKind::Waterfall).map_or(Value::Null, number),
            number(p.channel.discharge),
            number(p.channel.width_m),
        ],
    };
    vectors.points.iter().zip(1..).map(point).collect()
}

/// The files of a land's water in a format: their names and bytes. `map` is any map of the land.
///
/// # Errors
/// [`crate::Error::Output`] if the library of the format fails.
pub fn encode(
    vectors: &Vectors,
    map: &Map,
    format: VectorFormat,
) -> Result<Vec<(String, Vec<u8>)>> {
    let frame = Frame::of(map.spacing_m, map.georef.as_ref());
    let layers = layers(vectors, &frame);
    Ok(match format {
        VectorFormat::GeoJson => layers
            .iter()
            .map(|layer| (format!("{}.geojson", layer.name), geojson(layer, &frame).into_bytes()))
            .collect(),
        #[cfg(feature = "gpkg")]
        VectorFormat::Gpkg => vec![("water.gpkg".into(), gpkg::encode(&layers, &frame)?)],
        #[cfg(not(feature = "gpkg"))]
        VectorFormat::Gpkg => {
            return Err(crate::Error::param(
                "water.vectors: gpkg: this build of thalweg has no GeoPackages: take geojson",
            ));
        }
    })
}

/// A layer as GeoJSON, a feature a line.
fn geojson(layer: &Layer, frame: &Frame) -> String {
    let mut text = format!(
        "{{\"type\":\"FeatureCollection\",\"name\":{},{}\"features\":[",
        json!(layer.name),
        frame.crs_member()
    );
    for (n, feature) in layer.features.iter().enumerate() {
        let at = |p: &[f64; 3]| if layer.has_z { json!(p) } else { json!(p[..2]) };
        let line = |line: &Vec<[f64; 3]>| line.iter().map(at).collect::<Value>();
        let coordinates = match &feature.shape {
            Shape::Point(p) => at(p),
            Shape::Line(vertices) => line(vertices),
            Shape::Polygons(all) => {
                all.iter().map(|rings| rings.iter().map(line).collect::<Value>()).collect()
            }
        };
        let properties: serde_json::Map<String, Value> = layer
            .columns
            .iter()
            .map(|(name, _)| name.to_string())
            .zip(feature.values.iter().cloned())
            .collect();
        let feature = json!({
            "type": "Feature", "id": feature.values[0], "properties": properties,
            "geometry": { "type": layer.shapes, "coordinates": coordinates },
        });
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\n{feature}", if n > 0 { "," } else { "" });
    }
    text += "\n]}\n";
    text
}
