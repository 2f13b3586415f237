//! Maps and pictures in files: PNG, TIFF, OpenEXR, NumPy and raw samples.
//!
//! Reading trusts nothing: sizes are checked against [`ReadOptions::max_cells`] before memory is
//! allocated, every value of a map is finite, and a damaged file is an [`Error::Input`]. Writing is
//! atomic: a path holds either the old file or the complete new one. The same map gives the same
//! bytes.

mod asc;
mod cog;
pub mod crs;
#[cfg(feature = "dungeon")]
pub mod dungeon;
mod elevation;
pub mod engine;
mod envi;
mod reading;
#[rustfmt::skip]
mod epsg;
mod exr;
mod feature;
mod files;
mod film;
pub(crate) mod geo;
#[cfg(feature = "gpkg")]
mod gpkg;
mod hgt;
mod mask;
pub mod mesh;
mod nodata;
mod npy;
mod png;
pub mod points;
mod raw;
mod shapes;
mod share;
pub mod splines;
mod tiff;
mod units;
pub mod vector;
mod write;
mod zarr;

use reading::{Bytes, Raster, Source, kind_of, read_source};
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;

use image::ImageFormat;

use crate::format::{extension, unknown};
use crate::map::Map;
use crate::memory;
use crate::{Error, Result};

pub use crate::format::MapFormat;
pub use crate::map::Samples;

pub use cog::Cog;
pub use elevation::Elevation;
pub use envi::{header, header_path};
pub use files::{Files, is_same_place, refuse};
pub use film::{Animation, FilmFormat};
pub use share::Share;
pub use write::{
    Encoded, Part, Pieces, Stored, encode, encode_all, encode_colours, encode_layers,
    encode_numbers, encode_picture, encode_within,
};
pub(crate) use write::{pending_of, pending_stem};
pub use zarr::{Level as ZarrLevel, Zarr};

impl MapFormat {
    /// The format that the first bytes of a file are of; raw and text formats cannot be told so.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match kind_of(bytes)?.1? {
            Format::Map(format) => Some(format),
            Format::Mask(_) => None,
        }
    }
}

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Map(MapFormat),
    /// BMP, JPEG or WebP, for masks.
    Mask(ImageFormat),
}

impl Format {
    /// The format that a path's extension stands for.
    fn from_path(path: &Path, samples: Samples) -> Result<Self> {
        let extension = extension(path);
        if let Some(format) = MapFormat::from_extension(extension.as_deref()) {
            return Ok(Self::Map(format));
        }
        match extension.as_deref().and_then(mask::format) {
            Some(format) => Ok(Self::Mask(format)),
            None => {
                let masks: &[&str] = match samples {
                    Samples::Heights => &[],
                    Samples::Shares => &["bmp", "jpg", "webp"],
                    // JPEG is lossy, and changed numbers are other numbers.
                    Samples::Numbers => &["bmp", "webp"],
                };
                Err(Error::param(unknown(path, extension, masks)))
            }
        }
    }

    /// Whether the samples lie in the file without a header.
    fn is_raw(self) -> bool {
        matches!(self, Self::Map(format) if format.is_raw())
    }

    /// Whether a file may have several bands, of which one is read.
    fn has_bands(self) -> bool {
        matches!(self, Self::Map(format) if format.has_bands())
    }

    /// The usual extension, without the dot.
    fn extension(self) -> &'static str {
        match self {
            Self::Map(format) => format.extension(),
            Self::Mask(format) => format.extensions_str()[0],
        }
    }
}

/// How to read what a file does not say itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// Metres between samples, over 0. It takes precedence over what the file says. Where both are
    /// missing, 1 m is assumed with a warning.
    pub spacing_m: Option<f64>,
    /// Metres that the lowest and the highest integer stand for, lowest first, for formats whose
    /// integers have no unit. Without it, 0 to a fifth of the longer side (at least 1 m) is assumed
    /// with a warning.
    pub range_m: Option<(f64, f64)>,
    /// What the samples are.
    pub samples: Samples,
    /// Width and height of a raw file that is not square, in samples.
    pub size: Option<(u32, u32)>,
    /// Height in metres for samples without a value (NaN, infinite, or the nodata value of a
    /// GeoTIFF). Without it, such samples are an error.
    pub nodata_fill: Option<f32>,
    /// Whether samples without a value are no error: [`Reading::missing`] has them. They are filled
    /// with [`ReadOptions::nodata_fill`], or with the lowest value that is there.
    pub keep_missing: bool,
    /// The band of a TIFF or the channel of an OpenEXR that holds the heights, counted from 1.
    /// Without it a TIFF must have one that is not transparency, and the channel of an OpenEXR
    /// follows from its name.
    pub band: Option<u32>,
    /// The most samples accepted. A larger file is refused before memory is allocated for it. The
    /// default is 2^30: 4 GiB for the map, and up to as much again while it is read.
    pub max_cells: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            spacing_m: None,
            range_m: None,
            samples: Samples::Heights,
            size: None,
            nodata_fill: None,
            keep_missing: false,
            band: None,
            max_cells: 1 << 30,
        }
    }
}

impl ReadOptions {
    fn check(&self) -> Result<()> {
        if let Some(s) = self.spacing_m
            && !(s.is_finite() && s > 0.0)
        {
            return Err(Error::param(format!(
                "spacing is {s}; it must be a finite number of metres over 0"
            )));
        }
        if let Some((lo, hi)) = self.range_m
            && !(lo.is_finite() && hi.is_finite() && lo < hi && (hi - lo).is_finite())
        {
            return Err(Error::param(format!(
                "range is {lo} to {hi}; both ends must be finite metres, the lower one first"
            )));
        }
        if let Some((w, h)) = self.size
            && (w == 0 || h == 0)
        {
            return Err(Error::param(format!("size is {w}x{h}; both sides must be 1 or more")));
        }
        if let Some(fill) = self.nodata_fill
            && !fill.is_finite()
        {
            return Err(Error::param(format!(
                "the height for cells without a value is {fill}; it must be finite"
            )));
        }
        Ok(())
    }
}

/// A map that was read, and warnings about the reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The map, of which every value is finite.
    pub map: Map,
    /// Warnings for people, one sentence each.
    pub warnings: Vec<String>,
    /// Which samples had no value and were filled, by their number from the north-west corner.
    pub missing: Vec<usize>,
}

/// Reads a map from a file in the format that its extension stands for: one of [`MapFormat`], or
/// for a mask also `bmp`, `jpg`, `jpeg` or `webp`, whose colours are read as grey.
///
/// A mask is a file whose [`ReadOptions::samples`] are shares or numbers. Numbers are not read from
/// lossy formats.
///
/// # Errors
/// [`Error::Param`] for options or an extension that are not allowed, [`Error::Input`] for a file
/// that is missing, damaged or of a kind that is not read, [`Error::Limit`] for one with more than
/// [`ReadOptions::max_cells`] samples.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Reading> {
    let path = path.as_ref();
    options.check()?;
    let format = match Format::from_path(path, options.samples) {
        Err(e) if !path.is_dir() => return Err(e),
        format => format,
    };
    let (meta, format) = (regular(path)?, format?);
    let file = File::open(path).map_err(|e| Error::input(path, unreadable(&e)))?;
    read_source(
        BufReader::with_capacity(1 << 16, file),
        &Source { path, len: meta.len(), bytes: Bytes::File, options },
        format,
    )
}

/// The bytes of a file, for [`decode`].
///
/// # Errors
/// [`Error::Input`] for what is no regular file, [`Error::Limit`] for more than there is memory
/// for.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    memory::admit(path.display(), regular(path)?.len().saturating_mul(2))?;
    std::fs::read(path).map_err(|e| Error::input(path, unreadable(&e)))
}

/// What is known of a file, if it is one: a folder has no samples, and a pipe might never have any.
fn regular(path: &Path) -> Result<std::fs::Metadata> {
    let meta = std::fs::metadata(path).map_err(|e| Error::input(path, unreadable(&e)))?;
    if !meta.is_file() {
        let what = if meta.is_dir() { "a folder" } else { "not a regular file" };
        return Err(Error::input(path, format!("this is {what}; give the path of a file")));
    }
    Ok(meta)
}

/// Reads a map from a file's bytes; `name` is only used in messages.
///
/// # Errors
/// As [`read`].
pub fn decode(
    name: &Path,
    bytes: &[u8],
    format: MapFormat,
    options: &ReadOptions,
) -> Result<Reading> {
    options.check()?;
    read_source(
        Cursor::new(bytes),
        &Source { path: name, len: bytes.len() as u64, bytes: Bytes::Memory(bytes), options },
        Format::Map(format),
    )
}

/// Reads a mask from the bytes of a BMP, JPEG or WebP; `name` is only used in messages.
///
/// # Errors
/// As [`read`].
pub fn decode_mask(
    name: &Path,
    bytes: &[u8],
    format: ImageFormat,
    options: &ReadOptions,
) -> Result<Reading> {
    options.check()?;
    read_source(
        Cursor::new(bytes),
        &Source { path: name, len: bytes.len() as u64, bytes: Bytes::Memory(bytes), options },
        Format::Mask(format),
    )
}

/// Reads a map from a file's bytes, in the format that the extension of `name` stands for. Masks
/// may be of all formats that [`read`] takes. A header that lies beside a file is not looked for.
///
/// # Errors
/// As [`read`].
pub fn decode_file(name: &Path, bytes: &[u8], options: &ReadOptions) -> Result<Reading> {
    match Format::from_path(name, options.samples)? {
        Format::Map(format) => decode(name, bytes, format, options),
        Format::Mask(format) => decode_mask(name, bytes, format, options),
    }
}

fn unreadable(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file".into(),
        _ => format!("cannot be read: {e}"),
    }
}
