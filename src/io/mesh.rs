//! Land as triangles: glTF (`.glb`), Wavefront (`.obj`) and STL for printers.
//!
//! # Sources
//! Khronos Group, *glTF 2.0 Specification*; M. Garland and P. Heckbert, *Fast Polygonal
//! Approximation of Terrains and Height Fields*, 1995 (by the crate `delatin`).

use std::fmt::Write as _;
use std::path::Path;

use glam::Vec3;
use serde_json::json;

use crate::map::Map;
use crate::{Error, Result};

/// A file format for meshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// Binary glTF, with normals and places on a texture.
    Glb,
    /// Wavefront text.
    Obj,
    /// Binary STL: a closed body with walls and a base, for printers.
    Stl,
}

impl MeshFormat {
    /// The format that the file name's extension stands for, if it is one of a mesh: `glb`, `obj`
    /// or `stl`, in any case.
    pub fn from_path(path: &Path) -> Option<Self> {
        match super::extension(path)?.as_str() {
            "glb" => Some(Self::Glb),
            "obj" => Some(Self::Obj),
            "stl" => Some(Self::Stl),
            _ => None,
        }
    }
}

/// Most vertices of a mesh: programs that read them have 32-bit indices and the memory of a desk.
const VERTICES_MAX: usize = 1 << 26;
/// The base of an STL lies below the lowest place by this part of the longer side.
const BASE: f32 = 0.02;

/// A land as triangles.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// Columns, rows and heights in metres of the vertices.
    vertices: Vec<([u32; 2], f32)>,
    /// Numbers of vertices, counter-clockwise seen from above.
    triangles: Vec<[u32; 3]>,
    width: u32,
    height: u32,
    spacing_m: f64,
}

impl Mesh {
    /// The triangles of a map: two for each cell, or with `max_error_m` as few as keep within so
    /// many metres of every sample.
    ///
    /// # Errors
    /// [`Error::Param`] for a map of one row or column and for an error that is not a positive
    /// number; [`Error::Limit`] for too many vertices.
    pub fn of(map: &Map, max_error_m: Option<f64>) -> Result<Self> {
        let (width, height) = (map.width, map.height);
        if width < 2 || height < 2 {
            return Err(Error::param(format!(
                "{width}x{height} samples have no triangles; a mesh needs 2 rows and 2 columns"
            )));
        }
        let at = |[x, y]: [u32; 2]| map.data[y as usize * width as usize + x as usize];
        let place = |i: u32| [i % width, i / width];
        let (places, triangles): (Vec<[u32; 2]>, Vec<[u32; 3]>) = match max_error_m {
            None => {
                let cells =
                    (0..height - 1).flat_map(|y| (0..width - 1).map(move |x| y * width + x));
                let two = |i: u32| [[i, i + width, i + 1], [i + 1, i + width, i + width + 1]];
                admit(map.data.len())?;
                // At most 2^26 vertices were admitted, so the product fits into 32 bits.
                ((0..width * height).map(place).collect(), cells.flat_map(two).collect())
            }
            Some(error) if error.is_finite() && error > 0.0 => {
                let heights: Vec<f64> = map.data.iter().map(|h| f64::from(*h)).collect();
                let size = (width as usize, height as usize);
                let made = delatin::triangulate(&heights, size, delatin::Error(error));
                let (points, triangles) =
                    made.map_err(|e| Error::limit(format!("no triangles could be made: {e}")))?;
                let places: Vec<[u32; 2]> =
                    points.iter().map(|&(x, y)| [x as u32, y as u32]).collect();
                admit(places.len())?;
                let upward = |(a, b, c): (usize, usize, usize)| {
                    let [p, q, r] = [a, b, c].map(|i| places[i].map(i64::from));
                    // Rows grow to the south, so counter-clockwise from above is clockwise on the
                    // map.
                    let area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
                    if area < 0 {
                        [a as u32, b as u32, c as u32]
                    } else {
                        [a as u32, c as u32, b as u32]
                    }
                };
                let triangles = triangles.into_iter().map(upward).collect();
                (places, triangles)
            }
            Some(error) => {
                return Err(Error::param(format!("an error of {error}: allowed metres over 0")));
            }
        };
        let vertices = places.into_iter().map(|place| (place, at(place))).collect();
        Ok(Self { vertices, triangles, width, height, spacing_m: map.spacing_m })
    }

    /// Number of vertices and of triangles.
    pub fn counts(&self) -> [usize; 2] {
        [self.vertices.len(), self.triangles.len()]
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// [`Error::Limit`] for more than a format can hold.
    pub fn encode(&self, format: MeshFormat, name: &str) -> Result<Vec<u8>> {
        match format {
            MeshFormat::Glb => self.glb(name),
            MeshFormat::Obj => Ok(self.obj(name)),
            MeshFormat::Stl => Ok(self.stl()),
        }
    }

    /// Metres to the east, up and to the south from the north-west corner at height 0.
    fn position(&self, i: usize) -> Vec3 {
        let ([x, y], height) = self.vertices[i];
        Vec3::new(
            (f64::from(x) * self.spacing_m) as f32,
            height,
            (f64::from(y) * self.spacing_m) as f32,
        )
    }

    /// The mean direction in which the triangles at each vertex face, by their areas.
    fn normals(&self) -> Vec<Vec3> {
        let mut normals = vec![Vec3::ZERO; self.vertices.len()];
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|i| self.position(i as usize));
            // The product is twice as long as the triangle is large, so larger ones count for more.
            let normal = (b - a).cross(c - a);
            triangle.iter().for_each(|i| normals[*i as usize] += normal);
        }
        normals.into_iter().map(|n| n.try_normalize().unwrap_or(Vec3::Y)).collect()
    }

    fn glb(&self, name: &str) -> Result<Vec<u8>> {
        let [vertices, triangles] = self.counts();
        let positions: Vec<Vec3> = (0..vertices).map(|i| self.position(i)).collect();
        let [low, high] =
            positions.iter().fold([positions[0]; 2], |[low, high], p| [low.min(*p), high.max(*p)]);
        let mut binary: Vec<u8> = vec![];
        let mut put = |words: &mut dyn Iterator<Item = [u8; 4]>| {
            let start = binary.len();
            words.for_each(|word| binary.extend(word));
            (start, binary.len() - start)
        };
        let floats = |all: &[Vec3]| {
            all.iter()
                .flat_map(|v| v.to_array())
                .map(f32::to_le_bytes)
                .collect::<Vec<_>>()
                .into_iter()
        };
        // There are two rows and columns at least, so this divides by no 0.
        let part = |n: u32, all: u32| (f64::from(n) / f64::from(all - 1)) as f32;
        let corners = self
            .vertices
            .iter()
            .flat_map(|([x, y], _)| [part(*x, self.width), part(*y, self.height)]);
        let views = [
            put(&mut floats(&positions)),
            put(&mut floats(&self.normals())),
            put(&mut corners.map(f32::to_le_bytes)),
            put(&mut self.triangles.as_flattened().iter().map(|i| i.to_le_bytes())),
        ];
        let view = |(n, (start, length)): (usize, (usize, usize))| {
            // The last one has indices.
            json!({ "buffer": 0, "byteOffset": start, "byteLength": length,
                "target": if n == 3 { 34963 } else { 34962 } })
        };
        let text = json!({
            "asset": { "version": "2.0", "generator": concat!("thalweg ",
                env!("CARGO_PKG_VERSION")) },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0, "name": name }],
            "meshes": [{ "name": name,
                "primitives": [{ "attributes": { "POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2 },
                    "indices": 3 }] }],
            "buffers": [{ "byteLength": binary.len() }],
            "bufferViews": views.into_iter().enumerate().map(view).collect::<Vec<_>>(),
            "accessors": [
                {
                    "bufferView": 0, "componentType": 5126, "count": vertices, "type": "VEC3",
                    "min": low.to_array(),
                    "max": high.to_array(),
                },
                { "bufferView": 1, "componentType": 5126, "count": vertices, "type": "VEC3" },
                { "bufferView": 2, "componentType": 5126, "count": vertices, "type": "VEC2" },
                { "bufferView": 3, "componentType": 5125, "count": triangles * 3,
                    "type": "SCALAR" },
            ],
        })
        .to_string()
        .into_bytes();
        container(text, &binary)
    }

    fn obj(&self, name: &str) -> Vec<u8> {
        let mut out = format!("# thalweg: metres, y up, z to the south\no {name}\n");
        for i in 0..self.vertices.len() {
            let [x, y, z] = self.position(i).to_array();
            let _ = writeln!(out, "v {x} {y} {z}");
        }
        for triangle in &self.triangles {
            // OBJ counts vertices from 1.
            let [a, b, c] = triangle.map(|i| i + 1);
            let _ = writeln!(out, "f {a} {b} {c}");
        }
        out.into_bytes()
    }

    /// Printers have z up, and need a body that is closed.
    fn stl(&self) -> Vec<u8> {
        let lowest = self.vertices.iter().map(|(_, height)| *height).fold(f32::INFINITY, f32::min);
        let base = lowest
            - BASE * f64::from(self.width.max(self.height) - 1) as f32 * self.spacing_m as f32;
        let top = |i: u32| {
            let p = self.position(i as usize);
            Vec3::new(p.x, -p.z, p.y)
        };
        let bottom = |i: u32| top(i).with_z(base);
        let mut faces: Vec<[Vec3; 3]> = vec![];
        let mut edges = std::collections::HashSet::new();
        for &[a, b, c] in &self.triangles {
            faces.push([top(a), top(b), top(c)]);
            faces.push([bottom(a), bottom(c), bottom(b)]);
            edges.extend([(a, b), (b, c), (c, a)]);
        }
        // Walls stand where an edge has no triangle on its other side. In order, since a set has
        // none.
        let mut rim: Vec<(u32, u32)> =
            edges.iter().filter(|(a, b)| !edges.contains(&(*b, *a))).copied().collect();
        rim.sort_unstable();
        for (a, b) in rim {
            faces.push([top(b), top(a), bottom(a)]);
            faces.push([top(b), bottom(a), bottom(b)]);
        }
        // STL: 80 bytes of any text but "solid", which begins a text file, then faces of 50 bytes.
        let mut out = vec![0; 80];
        out[..7].copy_from_slice(b"thalweg");
        out.extend((faces.len() as u32).to_le_bytes());
        for [a, b, c] in faces {
            let normal = (b - a).cross(c - a).try_normalize().unwrap_or(Vec3::Z);
            out.extend(
                [normal, a, b, c]
                    .map(|v| v.to_array().map(f32::to_le_bytes))
                    .as_flattened()
                    .as_flattened(),
            );
            // Two bytes of attributes, which most readers want to be 0.
            out.extend([0, 0]);
        }
        out
    }
}

fn admit(vertices: usize) -> Result<()> {
    if vertices <= VERTICES_MAX {
        return Ok(());
    }
    Err(Error::over(
        format!(
            "{vertices} vertices: a mesh has at most {VERTICES_MAX}; allow an error with \
             --max-error, \
         or crop the map"
        ),
        vertices as u64,
        VERTICES_MAX as u64,
        "vertices",
    ))
}

/// A file of glTF 2.0 with its JSON and its binary data.
pub(super) fn container(mut text: Vec<u8>, binary: &[u8]) -> Result<Vec<u8>> {
    // glTF 2.0: a chunk ends at a multiple of four bytes, and JSON is filled up with spaces.
    // The binary one consists of words of four bytes.
    text.resize(text.len().next_multiple_of(4), b' ');
    // The head of the file has 12 bytes, and that of each of its two chunks 8.
    let length = 12 + 8 + text.len() + 8 + binary.len();
    let too_long = |_| {
        Error::limit(format!(
            "a .glb has at most 4 GiB, and this mesh needs {length} bytes; allow a larger error"
        ))
    };
    let words = [length, text.len(), binary.len()].map(u32::try_from);
    let [Ok(length), Ok(text_length), Ok(binary_length)] = words else {
        return Err(too_long(()));
    };
    let mut out = b"glTF".to_vec();
    out.extend([2, length, text_length].map(u32::to_le_bytes).as_flattened());
    out.extend(b"JSON");
    out.extend(text);
    out.extend(binary_length.to_le_bytes());
    out.extend(b"BIN\0");
    out.extend(binary);
    Ok(out)
}
