//! Rivers as splines for programs: whole rivers, from their source to where they end, broken where
//! they cross lakes.

use crate::map::Map;
use crate::params::rounded;
use crate::water::Splines;
use crate::water::vectors::Vectors;
use crate::water::{Reach, Vertex};
use serde_json::json;
use std::fmt::Write;

/// A river, or a piece of one between lakes.
pub(super) struct Spline<'a> {
    /// The number of its river, which its other pieces have, too.
    pub river: u32,
    order: i32,
    /// From its source to its mouth.
    pub points: Vec<&'a Vertex>,
}

/// The rivers, by the first cells of their sources.
pub(super) fn splines(vectors: &Vectors) -> Vec<Spline<'_>> {
    let reaches = &vectors.reaches;
    let below = |reach: &Reach| reach.downstream.and_then(|id| reaches.get(id as usize - 1));
    let goes_on = |reach: &Reach| {
        below(reach).filter(|next| next.river == reach.river && next.lake.is_none())
    };
    let mut continues = vec![false; reaches.len()];
    for next in reaches.iter().filter(|reach| reach.lake.is_none()).filter_map(goes_on) {
        continues[next.id as usize - 1] = true;
    }
    let firsts =
        reaches.iter().filter(|reach| reach.lake.is_none() && !continues[reach.id as usize - 1]);
    firsts
        .map(|first| {
            let (mut at, mut points) = (first, first.vertices.iter().collect::<Vec<_>>());
            while let Some(next) = goes_on(at) {
                // A reach begins where the one above ends.
                points.extend(&next.vertices[1..]);
                at = next;
            }
            Spline { river: first.river, order: at.order, points }
        })
        .collect()
}

/// The file of a program: its name and bytes. `map` is any map of the land.
pub fn encode(vectors: &Vectors, map: &Map, program: Splines) -> (String, Vec<u8>) {
    let splines = splines(vectors);
    match program {
        Splines::Unreal => {
            ("rivers_unreal.json".into(), unreal(&splines, map.spacing_m).into_bytes())
        }
        Splines::Godot => ("rivers_godot.tscn".into(), godot(&splines, map.spacing_m).into_bytes()),
    }
}

/// Metres to the east, to the south and up from the north-west sample at height 0.
pub(super) fn place(vertex: &Vertex, spacing_m: f64) -> [f64; 3] {
    let [east, south] = vertex.at.map(|half| f64::from(half) / 2.0 * spacing_m);
    [east, south, f64::from(vertex.height_m)]
}

/// JSON in Unreal's units: centimetres, x to the east, y to the south, z up; velocities in
/// centimetres a second.
fn unreal(splines: &[Spline], spacing_m: f64) -> String {
    let mut text = String::from(
        "{\"unit\":\"cm\",\"axes\":\"x east, y south, z up, from the north-west \
         sample\",\"rivers\":[",
    );
    for (n, spline) in splines.iter().enumerate() {
        let point = |vertex: &&Vertex| {
            let [x, y, z] = place(vertex, spacing_m).map(|metres| rounded(metres * 100.0));
            let river = vertex.channel;
            let [width, depth, velocity] =
                [river.width_m, river.depth_m, river.velocity].map(|v| rounded(v * 100.0));
            json!({ "x": x, "y": y, "z": z, "width": width, "depth": depth, "velocity": velocity })
        };
        let points: Vec<_> = spline.points.iter().map(point).collect();
        let river = json!({ "name": format!("river_{}_{}", spline.river, n + 1),
            "river": spline.river, "strahler": spline.order, "points": points });
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\n{river}", if n > 0 { "," } else { "" });
    }
    text += "\n]}\n";
    text
}

/// A scene of Godot 4: a `Path3D` for each river, in metres, x to the east, y up, z to the south.
/// Width, depth and velocity of each point are metadata of the node.
fn godot(splines: &[Spline], spacing_m: f64) -> String {
    let mut text = format!("[gd_scene load_steps={} format=3]\n", splines.len() + 1);
    let list = |values: &mut dyn Iterator<Item = f64>| {
        values.map(|v| rounded(v).to_string()).collect::<Vec<_>>().join(", ")
    };
    for (n, spline) in splines.iter().enumerate() {
        let point = |vertex: &&Vertex| {
            let [east, south, up] = place(vertex, spacing_m);
            // Handles before and after, and the place.
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, east, up, south]
        };
        let points = list(&mut spline.points.iter().flat_map(point));
        let tilts = list(&mut spline.points.iter().map(|_| 0.0));
        let _ = write!(
            text,
            "\n[sub_resource type=\"Curve3D\" id=\"{}\"]\n_data = {{\n\
             \"points\": PackedVector3Array({points}),\n\"tilts\": PackedFloat32Array({tilts})\n\
             }}\npoint_count = {}\n",
            n + 1,
            spline.points.len()
        );
    }
    text += "\n[node name=\"rivers\" type=\"Node3D\"]\n";
    for (n, spline) in splines.iter().enumerate() {
        let metadata =
            |of: fn(&Vertex) -> f64| list(&mut spline.points.iter().map(|vertex| of(vertex)));
        let _ = write!(
            text,
            "\n[node name=\"river_{}_{}\" type=\"Path3D\" parent=\".\"]\n\
             curve = SubResource(\"{}\")\nmetadata/strahler = {}\n\
             metadata/width_m = PackedFloat32Array({})\nmetadata/depth_m = PackedFloat32Array({})\n\
             metadata/velocity_ms = PackedFloat32Array({})\n",
            spline.river,
            n + 1,
            n + 1,
            spline.order,
            metadata(|vertex| vertex.channel.width_m),
            metadata(|vertex| vertex.channel.depth_m),
            metadata(|vertex| vertex.channel.velocity)
        );
    }
    text
}
