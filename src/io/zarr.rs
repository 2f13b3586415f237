//! Zarr version 3: a folder of arrays in chunks, of which levels of one land make a multiscale group.
//!
//! The metadata is that of the *Zarr core specification, version 3* (2024) and of *OME-NGFF 0.5*. Chunks are 32-bit floats,
//! little-endian, without compression.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Files, Stored};
use crate::Result;

/// A folder of arrays that is written chunk by chunk, in any order. What was stored is removed again unless [`Zarr::finish`] is called.
pub struct Zarr {
    root: PathBuf,
    files: Files,
    maps: Vec<(String, String, Vec<Level>)>,
}

struct Level {
    /// Metres of a cell, and of its first vertex to the east and the south of the world's origin.
    spacing_m: f64,
    first_m: [f64; 2],
}

impl Zarr {
    /// Cells of a side of a chunk.
    pub const CHUNK: u32 = 512;

    /// Begins a folder.
    ///
    /// # Errors
    /// [`crate::Error::Output`] if it cannot be made.
    pub fn create(root: &Path) -> Result<Self> {
        let mut files = Files::default();
        files.make_folder(root)?;
        Ok(Self { root: root.into(), files, maps: vec![] })
    }

    /// Adds a level of a map, whose chunks follow. The first level of a map is its finest, and each next one is half as fine.
    ///
    /// # Errors
    /// [`crate::Error::Output`] with the system's reason.
    pub fn level(&mut self, map: &str, unit: &str, size: [u32; 2], spacing_m: f64, first_m: [f64; 2]) -> Result<()> {
        if self.maps.last().is_none_or(|(name, ..)| name != map) {
            self.maps.push((map.into(), unit.into(), vec![]));
        }
        let Some((_, _, levels)) = self.maps.last_mut() else { return Ok(()) };
        levels.push(Level { spacing_m, first_m });
        let array = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": [size[1], size[0]],
            "data_type": "float32",
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [Self::CHUNK, Self::CHUNK] } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": "NaN",
            "codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }],
            "dimension_names": ["y", "x"],
            "attributes": { "units": unit, "spacing_m": spacing_m },
        });
        let path = format!("{map}/{}", levels.len() - 1);
        self.metadata(&path, &array)
    }

    /// Adds a chunk of a level of the last map, by its column and row. One at the rim of the land has fewer cells than others.
    ///
    /// # Errors
    /// [`crate::Error::Output`] with the system's reason.
    pub fn put(&mut self, level: usize, [x, y]: [u32; 2], width: usize, values: &[f32]) -> Result<()> {
        let Some((map, ..)) = self.maps.last() else { return Ok(()) };
        let side = Self::CHUNK as usize;
        let mut chunk = vec![f32::NAN; side * side];
        for (row, values) in chunk.chunks_mut(side).zip(values.chunks(width.max(1))) {
            row[..values.len()].copy_from_slice(values);
        }
        let bytes: Vec<u8> = chunk.into_iter().flat_map(f32::to_le_bytes).collect();
        let folder = self.root.join(format!("{map}/{level}/c/{y}"));
        self.files.make_folder(&folder)?;
        self.files.write(&folder.join(x.to_string()), &bytes).map(|_| ())
    }

    /// Writes what ties the arrays together.
    ///
    /// # Errors
    /// [`crate::Error::Output`] with the system's reason.
    pub fn finish(mut self, attributes: &Value) -> Result<Stored> {
        for (map, _, levels) in std::mem::take(&mut self.maps) {
            let transforms = |level: &Level| {
                json!([
                    { "type": "scale", "scale": [level.spacing_m, level.spacing_m] },
                    { "type": "translation", "translation": [level.first_m[1], level.first_m[0]] },
                ])
            };
            let datasets: Vec<_> = levels
                .iter()
                .enumerate()
                .map(|(i, level)| json!({ "path": i.to_string(), "coordinateTransformations": transforms(level) }))
                .collect();
            let axis = |name: &str| json!({ "name": name, "type": "space", "unit": "meter" });
            let ome = json!({
                "version": "0.5",
                "multiscales": [{ "name": map, "axes": [axis("y"), axis("x")], "datasets": datasets }],
            });
            let group = json!({ "zarr_format": 3, "node_type": "group", "attributes": { "ome": ome } });
            self.metadata(&map, &group)?;
        }
        let root = json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes });
        let stored = self.metadata_stored("", &root)?;
        self.files.keep();
        Ok(stored)
    }

    fn metadata(&mut self, path: &str, value: &Value) -> Result<()> {
        self.metadata_stored(path, value).map(|_| ())
    }

    fn metadata_stored(&mut self, path: &str, value: &Value) -> Result<Stored> {
        let folder = if path.is_empty() { self.root.clone() } else { self.root.join(path) };
        self.files.make_folder(&folder)?;
        self.files.write(&folder.join("zarr.json"), format!("{value:#}\n").as_bytes())
    }
}
