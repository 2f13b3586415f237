//! Places as CSV, GeoJSON, and meshes that stand in each (glTF).
//!
//! # Source
//! Khronos Group, *EXT_mesh_gpu_instancing*, an extension of glTF 2.0.

use super::feature::Frame;
use super::shapes::Part;
use crate::error::Result;
pub use crate::format::PointFormat;
use crate::map::Map;
use crate::scatter::{Place, Shape};
use glam::Vec3;
use serde_json::json;
use std::fmt::Write;

/// Places in each piece of a file.
const PIECE: usize = 4096;

/// The land under places.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// Its heights.
    pub map: &'a Map,
    /// World coordinates of the north-west sample.
    pub origin: [i64; 2],
    /// The names of its biomes, by their numbers.
    pub biomes: &'a [&'a str],
}

/// The bytes of a file of places. A file of meshes has a `shape` at each.
///
/// East and north are those of the map's coordinate system, where it has one; else metres from the
/// north-west sample, as in all files of a run. Meshes stand in metres to the east, up and to the
/// south from that sample at height 0, as [`super::mesh::MeshFormat::Glb`] has the land.
///
/// # Errors
/// [`crate::Error::Limit`] for a glTF of more than 4 GiB.
pub fn encode(
    places: &[Place],
    ground: &Ground,
    shape: Shape,
    format: PointFormat,
) -> Result<Vec<u8>> {
    Ok(encode_pieces(places, ground, shape, format)?.flatten().collect())
}

/// As [`encode`], piece by piece, so that a text of millions of places need not fit in memory.
///
/// # Errors
/// As [`encode`].
pub fn encode_pieces<'a>(
    places: &'a [Place],
    ground: &'a Ground,
    shape: Shape,
    format: PointFormat,
) -> Result<Box<dyn Iterator<Item = Vec<u8>> + 'a>> {
    Ok(match format {
        PointFormat::Glb => Box::new(std::iter::once(glb(places, ground, shape)?)),
        format => Box::new(texts(places, ground, format)),
    })
}

fn texts<'a>(
    places: &'a [Place],
    ground: &'a Ground,
    format: PointFormat,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let Ground { map, origin, biomes } = *ground;
    let coordinates = move |p: &Place| {
        let [x, y] = [p.x - origin[0] as f64, p.y - origin[1] as f64];
        match &map.georef {
            Some(g) => [g.west + (x + 0.5) * g.cell.0, g.north - (y + 0.5) * g.cell.1],
            // A difference and not a negation, which would make -0 of 0.
            None => [x * map.spacing_m, 0.0 - y * map.spacing_m],
        }
    };
    let name = move |p: &Place| p.biome.and_then(|b| biomes.get(b)).copied();
    let (head, tail) = match format {
        PointFormat::Csv => {
            ("x,y,east,north,height_m,biome,biome_name,size,turn_deg\r\n".to_string(), "")
        }
        _ => {
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
            let _ = write!(
                text,
                "{},{},{east},{north},{},{biome},{name},{},{}\r\n",
                p.x, p.y, p.height_m, p.size, p.turn_deg
            );
        }
        _ => {
            let feature = json!({
                "type": "Feature",
                "geometry": { "type": "Point", "coordinates": coordinates(p) },
                "properties": { "x": p.x, "y": p.y, "height_m": p.height_m, "biome": p.biome,
                    "biome_name": name(p), "size": p.size, "turn_deg": p.turn_deg },
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

/// A glTF that draws its mesh at every place.
fn glb(places: &[Place], ground: &Ground, shape: Shape) -> Result<Vec<u8>> {
    let mut binary: Vec<u8> = vec![];
    let mut views = vec![];
    let mut accessors = vec![];
    let mut put = |values: &[f32], kind: &str, width: usize| {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes());
        views.push(json!({ "buffer": 0, "byteOffset": binary.len(),
            "byteLength": values.len() * 4 }));
        binary.extend(bytes);
        let of = |axis: usize, better: fn(f32, f32) -> f32| {
            values.iter().skip(axis).step_by(width).copied().reduce(better)
        };
        let [low, high] = [f32::min, f32::max]
            .map(|better| (0..width).filter_map(|axis| of(axis, better)).collect::<Vec<_>>());
        accessors.push(json!({ "bufferView": views.len() - 1, "componentType": 5126,
            "count": values.len() / width, "type": kind, "min": low, "max": high }));
        accessors.len() - 1
    };
    let (mut primitives, mut materials) = (vec![], vec![]);
    for part in Part::of(shape) {
        let faces = |face: &[Vec3; 3]| {
            let [a, b, c] = *face;
            let normal = (b - a).cross(c - a).try_normalize().unwrap_or(Vec3::Y);
            [normal; 3].into_iter().flat_map(|n| n.to_array()).collect::<Vec<_>>()
        };
        let normals: Vec<f32> = part.triangles.iter().flat_map(faces).collect();
        let corners: Vec<f32> =
            part.triangles.as_flattened().iter().flat_map(|v| v.to_array()).collect();
        let attributes =
            json!({ "POSITION": put(&corners, "VEC3", 3), "NORMAL": put(&normals, "VEC3", 3) });
        primitives.push(json!({ "attributes": attributes, "material": materials.len() }));
        let [r, g, b] = part.colour;
        materials.push(json!({ "doubleSided": part.is_thin,
            "pbrMetallicRoughness": { "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0,
                "roughnessFactor": 1.0 } }));
    }
    let spacing_m = ground.map.spacing_m;
    let away = |at: f64, axis: usize| ((at - ground.origin[axis] as f64) * spacing_m) as f32;
    let feet: Vec<f32> =
        places.iter().flat_map(|p| [away(p.x, 0), p.height_m as f32, away(p.y, 1)]).collect();
    // Clockwise from above is a negative turn about the axis that points up.
    let turned = |p: &Place| {
        let half = -p.turn_deg.to_radians() / 2.0;
        [0.0, libm::sin(half) as f32, 0.0, libm::cos(half) as f32]
    };
    let turns: Vec<f32> = places.iter().flat_map(turned).collect();
    let sizes: Vec<f32> = places.iter().flat_map(|p| [p.size as f32; 3]).collect();
    const EXTENSION: &str = "EXT_mesh_gpu_instancing";
    let mut text = json!({
        "asset": { "version": "2.0", "generator": concat!("thalweg ", env!("CARGO_PKG_VERSION")) },
        "scene": 0, "scenes": [{ "nodes": [] }],
        "meshes": [{ "name": shape.name(), "primitives": primitives }],
        "materials": materials,
    });
    // An accessor of nothing is not allowed.
    if !places.is_empty() {
        let attributes = json!({ "TRANSLATION": put(&feet, "VEC3", 3),
            "ROTATION": put(&turns, "VEC4", 4), "SCALE": put(&sizes, "VEC3", 3) });
        let instancing = json!({ EXTENSION: { "attributes": attributes } });
        text["nodes"] = json!([{ "mesh": 0, "name": shape.name(), "extensions": instancing }]);
        text["scenes"][0]["nodes"] = json!([0]);
        text["extensionsUsed"] = json!([EXTENSION]);
        text["extensionsRequired"] = json!([EXTENSION]);
    } else {
        text["scenes"] = json!([{ "name": "nothing" }]);
    }
    text["accessors"] = accessors.into();
    text["bufferViews"] = views.into();
    text["buffers"] = json!([{ "byteLength": binary.len() }]);
    super::mesh::container(text.to_string().into_bytes(), &binary)
}
