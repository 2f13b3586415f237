//! Land as triangles: glTF (`.glb`), Wavefront (`.obj`), USD (`.usda`), and STL for printers.
//!
//! # Sources
//! Khronos Group, *glTF 2.0 Specification*; Pixar, *UsdGeomMesh*; M. Garland and P. Heckbert,
//! *Fast Polygonal Approximation of Terrains and Height Fields*, 1995 (by the crate `delatin`).

use std::fmt::Write as _;
use std::path::Path;

use glam::Vec3;
use image::RgbImage;
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
    /// USD as text, with normals and places on a texture.
    Usda,
    /// Binary STL: a closed body with walls and a base, for printers.
    Stl,
}

impl MeshFormat {
    /// The format that the file name's extension stands for, if it is one of a mesh: `glb`, `obj`,
    /// `usda` or `stl`, in any case.
    pub fn from_path(path: &Path) -> Option<Self> {
        match super::extension(path)?.as_str() {
            "glb" => Some(Self::Glb),
            "obj" => Some(Self::Obj),
            "usda" => Some(Self::Usda),
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
    /// The colour of each vertex, sRGB; empty: none.
    colours: Vec<[u8; 3]>,
    /// How far the skirts round the border hang down, in metres, where there are some.
    skirt_m: Option<f32>,
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
        let (spacing_m, colours) = (map.spacing_m, vec![]);
        Ok(Self { vertices, triangles, width, height, spacing_m, colours, skirt_m: None })
    }

    /// With the colours of a picture of the map, a pixel a sample. Formats that know colours of
    /// vertices have them.
    ///
    /// # Errors
    /// [`Error::Param`] for a picture of another size.
    pub fn coloured(mut self, picture: &RgbImage) -> Result<Self> {
        if picture.dimensions() != (self.width, self.height) {
            let (width, height) = picture.dimensions();
            return Err(Error::param(format!(
                "a picture of {width}x{height} pixels for a map of {}x{} samples: give one of its \
                 size",
                self.width, self.height
            )));
        }
        self.colours =
            self.vertices.iter().map(|([x, y], _)| picture.get_pixel(*x, *y).0).collect();
        Ok(self)
    }

    /// With walls round the border that hang down, so that no gap is seen between pieces or levels
    /// of detail. glTF has them.
    pub fn with_skirt(mut self, metres: f64) -> Self {
        self.skirt_m = Some(metres as f32);
        self
    }

    /// The edges that have a triangle on one side alone, in order.
    fn rim(&self) -> Vec<(u32, u32)> {
        let edges: std::collections::HashSet<(u32, u32)> =
            self.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
        // In order, since a set has none.
        let mut rim: Vec<(u32, u32)> =
            edges.iter().filter(|(a, b)| !edges.contains(&(*b, *a))).copied().collect();
        rim.sort_unstable();
        rim
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
            MeshFormat::Usda => Ok(self.usda(name)),
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

    /// Places on a texture that covers the map, from its north-west corner.
    fn corner(&self, i: usize) -> [f32; 2] {
        let [x, y] = self.vertices[i].0;
        // There are two rows and columns at least, so this divides by no 0.
        let part = |n: u32, all: u32| (f64::from(n) / f64::from(all - 1)) as f32;
        [part(x, self.width), part(y, self.height)]
    }

    fn glb(&self, name: &str) -> Result<Vec<u8>> {
        let mut triangles = self.triangles.clone();
        // The vertex above each one, itself but for those of skirts, and how far that hangs down.
        let mut above: Vec<(usize, f32)> = (0..self.vertices.len()).map(|i| (i, 0.0)).collect();
        if let Some(skirt_m) = self.skirt_m {
            let mut below = std::collections::HashMap::new();
            let mut hung = |top: u32| {
                *below.entry(top).or_insert_with(|| {
                    above.push((top as usize, skirt_m));
                    above.len() as u32 - 1
                })
            };
            for (a, b) in self.rim() {
                let [low_a, low_b] = [hung(a), hung(b)];
                triangles.extend([[b, a, low_a], [b, low_a, low_b]]);
            }
        }
        let vertices = above.len();
        let position = |&(i, down): &(usize, f32)| self.position(i) - Vec3::Y * down;
        let positions: Vec<Vec3> = above.iter().map(position).collect();
        let [low, high] =
            positions.iter().fold([positions[0]; 2], |[low, high], p| [low.min(*p), high.max(*p)]);
        let normals = self.normals();
        let floats = |all: &mut dyn Iterator<Item = f32>| -> Vec<u8> {
            all.flat_map(f32::to_le_bytes).collect()
        };
        let mut views = vec![
            floats(&mut positions.iter().flat_map(|v| v.to_array())),
            floats(&mut above.iter().flat_map(|(i, _)| normals[*i].to_array())),
            floats(&mut above.iter().flat_map(|(i, _)| self.corner(*i))),
            triangles.as_flattened().iter().flat_map(|i| i.to_le_bytes()).collect(),
        ];
        let mut attributes = json!({ "POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2 });
        let mut accessors = vec![
            json!({
                "bufferView": 0, "componentType": 5126, "count": vertices, "type": "VEC3",
                "min": low.to_array(),
                "max": high.to_array(),
            }),
            json!({ "bufferView": 1, "componentType": 5126, "count": vertices, "type": "VEC3" }),
            json!({ "bufferView": 2, "componentType": 5126, "count": vertices, "type": "VEC2" }),
            json!({ "bufferView": 3, "componentType": 5125, "count": triangles.len() * 3,
                "type": "SCALAR" }),
        ];
        if !self.colours.is_empty() {
            // glTF has linear light, which in 8 bits would have too few dark shades.
            let shade = |byte: u8| (linear(byte) * 65535.0).round() as u16;
            let colour = |(i, _): &(usize, f32)| {
                let [r, g, b] = self.colours[*i].map(shade);
                [r, g, b, u16::MAX]
            };
            let colours = above.iter().flat_map(colour);
            views.push(colours.flat_map(u16::to_le_bytes).collect());
            attributes["COLOR_0"] = 4.into();
            accessors.push(json!({ "bufferView": 4, "componentType": 5123, "count": vertices,
                "type": "VEC4", "normalized": true }));
        }
        let mut start = 0;
        let view = |(n, bytes): (usize, &Vec<u8>)| {
            // The fourth one has indices.
            let view = json!({ "buffer": 0, "byteOffset": start, "byteLength": bytes.len(),
                "target": if n == 3 { 34963 } else { 34962 } });
            start += bytes.len();
            view
        };
        let told: Vec<_> = views.iter().enumerate().map(view).collect();
        let binary = views.concat();
        let text = json!({
            "asset": { "version": "2.0", "generator": concat!("thalweg ",
                env!("CARGO_PKG_VERSION")) },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0, "name": name }],
            "materials": [{ "pbrMetallicRoughness": { "metallicFactor": 0.0,
                "roughnessFactor": 1.0 } }],
            "meshes": [{ "name": name,
                "primitives": [{ "attributes": attributes, "indices": 3, "material": 0 }] }],
            "buffers": [{ "byteLength": binary.len() }],
            "bufferViews": told,
            "accessors": accessors,
        })
        .to_string()
        .into_bytes();
        container(text, &binary)
    }

    fn usda(&self, name: &str) -> Vec<u8> {
        // USD has names as programs have them.
        let mut word: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            word.insert(0, '_');
        }
        let three = |v: Vec3| format!("({}, {}, {})", v.x, v.y, v.z);
        let count = self.vertices.len();
        let all = || (0..count).map(|i| self.position(i));
        let [low, high] =
            all().fold([self.position(0); 2], |[low, high], p| [low.min(p), high.max(p)]);
        // USD has the first row of a texture at its top.
        let corner = |i: usize| {
            let [u, v] = self.corner(i);
            format!("({u}, {})", 1.0 - v)
        };
        let mut out = format!(
            "#usda 1.0\n(\n    defaultPrim = \"{word}\"\n    metersPerUnit = 1\n    \
             upAxis = \"Y\"\n)\n\
             \ndef Mesh \"{word}\"\n{{\n    float3[] extent = [{}, {}]\n",
            three(low),
            three(high)
        );
        // Item by item, since texts of all would be larger than the file.
        let mut line = |what: &str, values: &mut dyn Iterator<Item = String>, more: &str| {
            let _ = write!(out, "    {what} = [");
            for (n, value) in values.enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                out.push_str(&value);
            }
            let _ = writeln!(out, "]{more}");
        };
        let vertex = " (\n        interpolation = \"vertex\"\n    )";
        line("int[] faceVertexCounts", &mut self.triangles.iter().map(|_| "3".into()), "");
        let corners = self.triangles.as_flattened().iter();
        line("int[] faceVertexIndices", &mut corners.map(u32::to_string), "");
        line("normal3f[] normals", &mut self.normals().into_iter().map(three), vertex);
        line("point3f[] points", &mut all().map(three), "");
        if !self.colours.is_empty() {
            let colour = |c: &[u8; 3]| three(Vec3::from(c.map(linear)));
            let colours = &mut self.colours.iter().map(colour);
            line("color3f[] primvars:displayColor", colours, vertex);
        }
        line("texCoord2f[] primvars:st", &mut (0..count).map(corner), vertex);
        out.push_str("    uniform token subdivisionScheme = \"none\"\n}\n");
        out.into_bytes()
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
        for &[a, b, c] in &self.triangles {
            faces.push([top(a), top(b), top(c)]);
            faces.push([bottom(a), bottom(c), bottom(b)]);
        }
        // Walls stand where an edge has no triangle on its other side.
        for (a, b) in self.rim() {
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

/// The light of a byte of sRGB, 0 to 1.
///
/// # Source
/// IEC 61966-2-1.
fn linear(byte: u8) -> f32 {
    let c = f64::from(byte) / 255.0;
    (if c <= 0.04045 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) }) as f32
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
