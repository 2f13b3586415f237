//! Zarr version 3: a folder of arrays in chunks, of which levels of one land make a multiscale group.
//!
//! The metadata is that of the *Zarr core specification, version 3* (2024) and of *OME-NGFF 0.5*. Chunks are 32-bit floats,
//! little-endian, without compression.

use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Stored;
use crate::{Error, Result};

/// A folder of arrays that is written chunk by chunk, in any order. Until it is [finished](Zarr::finish), the path keeps what was there before.
pub struct Zarr {
    path: PathBuf,
    /// Where it is written: beside its place.
    root: TempDir,
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

    /// Begins a folder. With `replace` it takes the place of another Zarr folder.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be made, for a path where something is that may not be replaced, and for a folder that is no Zarr folder.
    pub fn create(path: &Path, replace: bool) -> Result<Self> {
        let refused = |kind, what: &str| Err(Error::output(path, IoError::new(kind, what)));
        if path.symlink_metadata().is_ok() {
            if !path.join(METADATA).is_file() {
                return refused(ErrorKind::AlreadyExists, "exists and is no Zarr folder; give another path");
            }
            if !replace {
                return refused(ErrorKind::AlreadyExists, "already exists; replace it with --force, or give another path");
            }
        }
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        {
            // As any new folder.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o777));
        }
        let root = builder.tempdir_in(beside).map_err(|e| Error::output(path, e))?;
        Ok(Self { path: path.into(), root, maps: vec![] })
    }

    /// Adds a level of a map, whose chunks follow. The first level of a map is its finest, and each next one is half as fine.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
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
        self.metadata(&path, &array).map(|_| ())
    }

    /// Adds a chunk of a level of the last map, by its column and row. One at the rim of the land has fewer cells than others.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn put(&mut self, level: usize, [x, y]: [u32; 2], width: usize, values: &[f32]) -> Result<()> {
        let Some((map, ..)) = self.maps.last() else { return Ok(()) };
        let side = Self::CHUNK as usize;
        let mut chunk = vec![f32::NAN; side * side];
        for (row, values) in chunk.chunks_mut(side).zip(values.chunks(width.max(1))) {
            row[..values.len()].copy_from_slice(values);
        }
        let bytes: Vec<u8> = chunk.into_iter().flat_map(f32::to_le_bytes).collect();
        self.write(&format!("{map}/{level}/c/{y}/{x}"), &bytes)
    }

    /// Writes what ties the arrays together.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
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
        let text = self.metadata("", &root)?;
        let fail = |e: IoError| Error::output(&self.path, e);
        if self.path.exists() {
            std::fs::remove_dir_all(&self.path).map_err(fail)?;
        }
        std::fs::rename(self.root.path(), &self.path).map_err(fail)?;
        Ok(Stored {
            path: self.path.join(METADATA),
            bytes: text.len() as u64,
            blake3: blake3::hash(text.as_bytes()).to_hex().to_string(),
        })
    }

    fn metadata(&self, path: &str, value: &Value) -> Result<String> {
        let text = format!("{value:#}\n");
        let name = if path.is_empty() { METADATA.into() } else { format!("{path}/{METADATA}") };
        self.write(&name, text.as_bytes())?;
        Ok(text)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root.path().join(name);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.and_then(|()| std::fs::write(&path, bytes)).map_err(|e| Error::output(self.path.join(name), e))
    }
}

/// The name of the files of metadata.
const METADATA: &str = "zarr.json";
