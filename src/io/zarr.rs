//! Zarr version 3: a folder with a group for each level of a land, and in it an array in chunks for
//! each map.
//!
//! The metadata is that of the *Zarr core specification, version 3* (2024), with what tools look
//! for: the maps as multiscale pictures (*OME-NGFF 0.5*), and the names, coordinates and coordinate
//! systems of the *CF conventions 1.12*. Levels come before maps, since all arrays of a group share
//! their sizes: so xarray opens each level as one data set. Chunks are 32-bit floats,
//! little-endian, in gzip. Each group has the metadata of all that it holds.

use std::collections::BTreeMap;
use std::io::{Error as IoError, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::share::{Meeting, Share};
use super::write::write_bytes;
use super::{Stored, crs, geo};
use crate::map::Georef;
use crate::{Error, Result};

/// A folder of arrays that is written chunk by chunk, in any order, by one process or by several.
/// Until it is [finished](Zarr::finish), the path keeps what was there before.
pub struct Zarr {
    path: PathBuf,
    /// Whether it takes the place of another.
    replace: bool,
    /// Where it is written: beside its place.
    root: Root,
    levels: Vec<Level>,
    /// The maps of each level, in the order in which they came.
    maps: Vec<String>,
    /// The metadata of arrays, by their paths.
    arrays: BTreeMap<String, Value>,
}

/// A folder beside the place of a Zarr folder.
enum Root {
    /// Of this process. It is removed unless it gets its place.
    Own(TempDir),
    /// Of all that write a share.
    Shared(Meeting),
}

impl Root {
    fn path(&self) -> PathBuf {
        match self {
            Self::Own(folder) => folder.path().into(),
            Self::Shared(meeting) => meeting.content(),
        }
    }
}

/// A level of a land: what all its maps have in common.
pub struct Level {
    /// Cells.
    pub size: [u32; 2],
    /// Metres of a cell.
    pub spacing_m: f64,
    /// Metres of its first vertex to the east and the south of the world's origin.
    pub first_m: [f64; 2],
    /// Where it lies; none: its first sample is at 0, 0, in metres.
    pub georef: Option<Georef>,
}

impl Level {
    /// The place of its first sample, and the steps to the next ones, to the east and the north.
    fn axes(&self) -> [[f64; 2]; 2] {
        match &self.georef {
            Some(at) => {
                // A place is that of the corner of a cell, and axes go through the middles.
                [[at.west + 0.5 * at.cell.0, at.cell.0], [at.north - 0.5 * at.cell.1, -at.cell.1]]
            }
            None => [[0.0, self.spacing_m], [0.0, -self.spacing_m]],
        }
    }

    /// Whether its axes are in degrees.
    fn is_geographic(&self) -> bool {
        self.georef.as_ref().is_some_and(|at| {
            // Codes that are wider than those of GeoTIFF are of no system that it knows.
            let code = at.epsg.and_then(|code| u16::try_from(code).ok());
            geo::is_geographic(at, code.unwrap_or(0), self.spacing_m)
        })
    }

    /// The attributes of its coordinate system, where that is known.
    fn system(&self) -> Option<Value> {
        let georef = self.georef.as_ref()?;
        if let Some(code) = georef.epsg {
            return Some(json!({ "spatial_ref": format!("EPSG:{code}") }));
        }
        crs::system(georef)
            .map(|system| json!({ "crs_wkt": system.text, "spatial_ref": system.text }))
    }
}

/// Refuses a path where something is that may not be replaced.
fn admit(path: &Path, replace: bool) -> Result<()> {
    let refused =
        |what: &str| Err(Error::output(path, IoError::new(ErrorKind::AlreadyExists, what)));
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    if !path.join(METADATA).is_file() {
        return refused("exists and is no Zarr folder; give another path");
    }
    if !replace {
        return refused("already exists; replace it with --force, or give another path");
    }
    Ok(())
}

/// A folder beside a path, which is removed again unless it is renamed.
fn hidden_beside(path: &Path) -> Result<TempDir> {
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    let beside =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        // As any new folder.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    builder.tempdir_in(beside).map_err(|e| Error::output(path, e))
}

impl Zarr {
    /// Cells of a side of a chunk.
    pub const CHUNK: u32 = 512;

    /// Begins a folder. With `replace` it takes the place of another Zarr folder.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be made, for a path where something is that may not be
    /// replaced, and for a folder that is no Zarr folder.
    pub fn create(path: &Path, replace: bool) -> Result<Self> {
        admit(path, replace)?;
        Ok(Self::of(path, replace, Root::Own(hidden_beside(path)?)))
    }

    /// Begins a share of a folder, or resumes one that did not end. Each process adds all
    /// levels and maps, and of the chunks its own; the last to [finish](Zarr::finish) puts the
    /// folder in its place. `what` names what is written, and is the same for all.
    ///
    /// # Errors
    /// As [`Zarr::create`], and where shares of something else are.
    pub fn join(path: &Path, replace: bool, share: Share, what: &str) -> Result<Self> {
        admit(path, replace)?;
        Ok(Self::of(path, replace, Root::Shared(Meeting::enter(path, share, what)?)))
    }

    fn of(path: &Path, replace: bool, root: Root) -> Self {
        let path = path.into();
        Self { path, replace, root, levels: vec![], maps: vec![], arrays: BTreeMap::new() }
    }

    /// Adds a level, whose maps follow. The first is the finest, and each next one is half as fine.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn level(&mut self, level: Level) -> Result<()> {
        let of = self.levels.len();
        let degrees = level.is_geographic();
        let names = if degrees {
            ["longitude", "latitude"]
        } else {
            ["projection_x_coordinate", "projection_y_coordinate"]
        };
        let units = if degrees { ["degrees_east", "degrees_north"] } else { ["m"; 2] };
        for (axis, [first, step]) in level.axes().into_iter().enumerate() {
            let (name, count) = (AXES[axis], level.size[axis]);
            let attributes = json!({ "axis": name.to_uppercase(), "standard_name": names[axis],
                "units": units[axis] });
            self.array(
                &format!("{of}/{name}"),
                &[(name, count)],
                &[count.max(1)],
                ("float64", json!("NaN")),
                attributes,
            )?;
            // A product and a sum for each, not a sum of sums.
            let places: Vec<u8> =
                (0..count).flat_map(|i| (first + f64::from(i) * step).to_le_bytes()).collect();
            self.chunk(&format!("{of}/{name}/c/0"), &places)?;
        }
        if let Some(system) = level.system() {
            self.array(&format!("{of}/{SYSTEM}"), &[], &[], ("int32", json!(0)), system)?;
            self.chunk(&format!("{of}/{SYSTEM}/c"), &0i32.to_le_bytes())?;
        }
        self.levels.push(level);
        Ok(())
    }

    /// Adds a map of the last level, whose chunks follow.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn map(&mut self, name: &str, unit: &str, about: &str) -> Result<()> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let ([width, height], of) = (level.size, self.levels.len() - 1);
        let mut attributes = json!({
            "long_name": name.replace('_', " "), "units": unit, "comment": about,
            "spacing_m": level.spacing_m,
        });
        if self.arrays.contains_key(&format!("{of}/{SYSTEM}")) {
            // Where readers of the CF conventions look for the coordinate system.
            attributes["grid_mapping"] = json!(SYSTEM);
        }
        if of == 0 {
            self.maps.push(name.into());
        }
        // Zarr: arrays are in C order, so the axis that changes slowest comes first.
        let axes = [(AXES[1], height), (AXES[0], width)];
        self.array(
            &format!("{of}/{name}"),
            &axes,
            &[Self::CHUNK; 2],
            ("float32", json!("NaN")),
            attributes,
        )
    }

    /// Whether a chunk of a map of the last level is there, from a share that was run before.
    pub fn has(&self, map: &str, at: [u32; 2]) -> bool {
        self.root.path().join(self.name_of(map, at)).is_file()
    }

    /// The file of a chunk of a map of the last level.
    fn name_of(&self, map: &str, at: [u32; 2]) -> String {
        chunk_name(&format!("{}/{map}", self.levels.len().saturating_sub(1)), at)
    }

    /// Adds a chunk of a map of the last level, by its column and row. One at the rim of the land
    /// has fewer cells than others.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn put(&mut self, map: &str, at: [u32; 2], width: usize, values: &[f32]) -> Result<()> {
        let side = Self::CHUNK as usize;
        // Beyond the land there is no value.
        let mut chunk = vec![f32::NAN; side * side];
        for (row, values) in chunk.chunks_mut(side).zip(values.chunks(width.max(1))) {
            row[..values.len()].copy_from_slice(values);
        }
        let bytes: Vec<u8> = chunk.into_iter().flat_map(f32::to_le_bytes).collect();
        self.chunk(&self.name_of(map, at), &bytes)
    }

    /// Writes what ties the arrays together, and puts the folder in its place. None if other shares
    /// are not done yet.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason, for a path where something has come to be that
    /// may not be replaced, and for a chunk that no share has written.
    pub fn finish(self, attributes: &Value) -> Result<Option<Stored>> {
        let transforms = |level: &Level| {
            json!([
                { "type": "scale", "scale": [level.spacing_m, level.spacing_m] },
                { "type": "translation", "translation": [level.first_m[1], level.first_m[0]] },
            ])
        };
        let axis = |name: &str| json!({ "name": name, "type": "space", "unit": "meter" });
        let multiscale = |map: &String| {
            // Some maps are on the first level alone.
            let there = |(i, _): &(usize, &Level)| self.arrays.contains_key(&format!("{i}/{map}"));
            let levels = self.levels.iter().enumerate().filter(there);
            let datasets: Vec<Value> = levels
                .map(|(i, level)| {
                    json!({ "path": format!("{i}/{map}"),
                    "coordinateTransformations": transforms(level) })
                })
                .collect();
            json!({ "name": map, "axes": [axis(AXES[1]), axis(AXES[0])], "datasets": datasets })
        };
        let multiscales: Vec<Value> = self.maps.iter().map(multiscale).collect();
        let mut attributes = attributes.clone();
        attributes["ome"] = json!({ "version": "0.5", "multiscales": multiscales });
        let mut all = Map::new();
        for (i, level) in self.levels.iter().enumerate() {
            let prefix = format!("{i}/");
            let own = self.arrays.iter().filter_map(|(path, array)| {
                Some((path.strip_prefix(&prefix)?.to_string(), array.clone()))
            });
            let attributes = json!({ "Conventions": "CF-1.12", "spacing_m": level.spacing_m });
            // The members of a level are listed by their whole paths below, so its own list is
            // empty here.
            all.insert(i.to_string(), group(&attributes, &Map::new()));
            self.metadata(&i.to_string(), &group(&attributes, &own.collect()))?;
        }
        all.extend(self.arrays.clone());
        let text = self.metadata("", &group(&attributes, &all))?;
        let meeting = match &self.root {
            Root::Own(_) => None,
            Root::Shared(meeting) => Some(meeting),
        };
        // Two shares may end at once, each find that all are done, and one be a moment later.
        let is_settled = || {
            let there = std::fs::read_to_string(self.path.join(METADATA));
            !self.root.path().exists() && there.is_ok_and(|there| there == text)
        };
        if let Some(meeting) = meeting
            && !meeting.leave()?
            && !is_settled()
        {
            return Ok(None);
        }
        self.settle().or_else(|e| if is_settled() { Ok(()) } else { Err(e) })?;
        meeting.map_or(Ok(()), Meeting::close)?;
        Ok(Some(Stored::of(self.path.join(METADATA), text.as_bytes())))
    }

    /// Puts the folder in its place.
    fn settle(&self) -> Result<()> {
        let fail = |e: IoError| Error::output(&self.path, e);
        self.check_chunks()?;
        // Another program may have made one while this was written.
        admit(&self.path, self.replace)?;
        // A folder is only renamed over an empty one. So the old one waits beside until the new one
        // is in its place, and goes with `aside`.
        let aside = if self.path.exists() { Some(hidden_beside(&self.path)?) } else { None };
        let old = aside.as_ref().map(|aside| aside.path().join("old"));
        old.as_ref().map_or(Ok(()), |old| std::fs::rename(&self.path, old)).map_err(fail)?;
        // The folder has another name when `root` is dropped, so it is not removed.
        std::fs::rename(self.root.path(), &self.path).map_err(|e| {
            let _ = old.map(|old| std::fs::rename(old, &self.path));
            fail(e)
        })
    }

    /// Refuses a folder that lacks a chunk, which somebody else has removed.
    fn check_chunks(&self) -> Result<()> {
        let root = self.root.path();
        for (i, level) in self.levels.iter().enumerate() {
            let maps = self.maps.iter().map(|map| format!("{i}/{map}"));
            let [columns, rows] = level.size.map(|cells| cells.div_ceil(Self::CHUNK));
            for map in maps.filter(|map| self.arrays.contains_key(map)) {
                let mut names = (0..rows).flat_map(|y| (0..columns).map(move |x| [x, y]));
                if let Some(at) = names.find(|at| !root.join(chunk_name(&map, *at)).is_file()) {
                    let message =
                        "is missing; run all shares again: they write what is missing alone";
                    let missing = IoError::new(ErrorKind::NotFound, message);
                    return Err(Error::output(root.join(chunk_name(&map, at)), missing));
                }
            }
        }
        Ok(())
    }

    /// Writes the metadata of an array: its axes with their lengths, the shape of a chunk, the type
    /// and what stands for nothing.
    fn array(
        &mut self,
        path: &str,
        axes: &[(&str, u32)],
        chunk: &[u32],
        (kind, nothing): (&str, Value),
        attributes: Value,
    ) -> Result<()> {
        let (names, shape): (Vec<&str>, Vec<u32>) = axes.iter().copied().unzip();
        let array = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": kind,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": nothing,
            "codecs": [
                { "name": "bytes", "configuration": { "endian": "little" } },
                { "name": "gzip", "configuration": { "level": GZIP } },
            ],
            "dimension_names": names,
            "attributes": attributes,
        });
        self.metadata(path, &array)?;
        self.arrays.insert(path.into(), array);
        Ok(())
    }

    fn chunk(&self, name: &str, bytes: &[u8]) -> Result<()> {
        // No time and no system: the same chunk has the same bytes.
        let mut gzip = GzBuilder::new().operating_system(255).write(vec![], Compression::new(GZIP));
        let packed = gzip.write_all(bytes).and_then(|()| gzip.finish());
        self.write(name, &packed.map_err(|e| Error::output(self.path.join(name), e))?)
    }

    fn metadata(&self, path: &str, value: &Value) -> Result<String> {
        let text = format!("{value:#}\n");
        let name = if path.is_empty() { METADATA.into() } else { format!("{path}/{METADATA}") };
        self.write(&name, text.as_bytes())?;
        Ok(text)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root.path().join(name);
        let fail = |e| Error::output(self.path.join(name), e);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(fail)?;
        match self.root {
            Root::Own(_) => std::fs::write(&path, bytes).map_err(fail),
            // Others write the same metadata, and this share may be ended in the middle of a chunk.
            Root::Shared(_) => write_bytes(&path, bytes).map(drop),
        }
    }
}

/// The file of a chunk of a map, by its column and row.
fn chunk_name(map: &str, [x, y]: [u32; 2]) -> String {
    format!("{map}/c/{y}/{x}")
}

/// The metadata of a group, with that of what is in it.
fn group(attributes: &Value, members: &Map<String, Value>) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": attributes,
        "consolidated_metadata": { "kind": "inline", "must_understand": false,
            "metadata": members },
    })
}

/// The name of the files of metadata.
const METADATA: &str = "zarr.json";
/// The names of the axes, to the east and the north.
const AXES: [&str; 2] = ["x", "y"];
/// The array whose attributes are the coordinate system.
const SYSTEM: &str = "spatial_ref";
/// The level of gzip: higher ones take several times as long for a few percent of noise. At 1 the
/// library has one fixed table of codes, with which heights grow.
const GZIP: u32 = 2;
