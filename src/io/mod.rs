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
#[rustfmt::skip]
mod epsg;
mod exr;
mod feature;
mod files;
mod film;
pub(crate) mod geo;
mod gpkg;
mod hgt;
mod mask;
pub mod mesh;
mod nodata;
mod npy;
mod png;
pub mod points;
mod raw;
pub mod splines;
mod tiff;
mod units;
pub mod vector;
mod write;
mod zarr;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use image::ImageFormat;

use crate::map::{Georef, Map};
use crate::memory;
use crate::{Error, Result};

pub use crate::map::Samples;

pub use cog::Cog;
pub use elevation::Elevation;
pub use envi::{header, header_path};
pub use files::{Files, refuse};
pub use film::{Animation, FilmFormat};
pub use write::{
    Encoded, Part, Pieces, Stored, encode, encode_all, encode_colours, encode_layers,
    encode_numbers, encode_picture, encode_within,
};
pub(crate) use write::{pending_of, pending_stem};
pub use zarr::{Level as ZarrLevel, Zarr};

/// A file format for maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapFormat {
    /// Grey PNG; written with 16 bits a sample.
    Png,
    /// TIFF and GeoTIFF; written with 32-bit floats.
    Tiff,
    /// OpenEXR; written with 32-bit floats in one channel, `Y`.
    Exr,
    /// A NumPy array of rows; written with 32-bit floats.
    Npy,
    /// Bare 16-bit unsigned samples, little-endian, row by row.
    R16,
    /// Bare 32-bit floats, little-endian, row by row.
    R32,
    /// An ESRI ASCII grid: text.
    Asc,
    /// A tile of SRTM: bare 16-bit signed metres, big-endian, row by row.
    Hgt,
}

impl MapFormat {
    /// The format that the file name's extension stands for: `png`, `tif`, `tiff`, `exr`, `npy`,
    /// `r16`, `raw`, `r32`, `asc` or `hgt`, in any case.
    ///
    /// # Errors
    /// [`Error::Param`] for any other extension, or none.
    pub fn from_path(path: &Path) -> Result<Self> {
        let extension = extension(path);
        Self::from_extension(extension.as_deref())
            .ok_or_else(|| Error::param(unknown(path, extension, KNOWN)))
    }

    fn from_extension(extension: Option<&str>) -> Option<Self> {
        Some(match extension? {
            "png" => Self::Png,
            "tif" | "tiff" => Self::Tiff,
            "exr" => Self::Exr,
            "npy" => Self::Npy,
            "r16" | "raw" => Self::R16,
            "r32" => Self::R32,
            "asc" => Self::Asc,
            "hgt" => Self::Hgt,
            _ => return None,
        })
    }

    /// The format that the first bytes of a file are of; raw and text formats cannot be told so.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match kind_of(bytes)?.1? {
            Format::Map(format) => Some(format),
            Format::Mask(_) => None,
        }
    }

    /// The usual extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Tiff => "tif",
            Self::Exr => "exr",
            Self::Npy => "npy",
            Self::R16 => "r16",
            Self::R32 => "r32",
            Self::Asc => "asc",
            Self::Hgt => "hgt",
        }
    }

    /// Whether samples are stored as 16-bit integers, so that heights are rounded to 65536 steps.
    pub fn is_quantised(self) -> bool {
        matches!(self, Self::Png | Self::R16)
    }
}

/// The extensions of formats that maps are read from and written to.
const KNOWN: &str = ".png, .tif, .exr, .npy, .asc, .hgt, .r16 (or .raw) or .r32";

/// The extension of a path in lower case.
fn extension(path: &Path) -> Option<String> {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase())
}

/// What to say of a path whose extension stands for no format.
fn unknown(path: &Path, extension: Option<String>, known: &str) -> String {
    let given = extension
        .map_or("there is no extension".into(), |e| format!("the extension .{e} is unknown"));
    format!("{}: {given}; use {known}", path.display())
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
                let masks = match samples {
                    Samples::Heights => "",
                    Samples::Shares => ", .bmp, .jpg, .webp",
                    Samples::Numbers => ", .bmp, .webp",
                };
                Err(Error::param(unknown(path, extension, &format!("{KNOWN}{masks}"))))
            }
        }
    }

    /// Whether the samples lie in the file without a header.
    fn is_raw(self) -> bool {
        matches!(self, Self::Map(MapFormat::R16 | MapFormat::R32 | MapFormat::Hgt))
    }

    /// Whether a file may have several bands, of which one is read.
    fn has_bands(self) -> bool {
        matches!(self, Self::Map(MapFormat::Tiff | MapFormat::Exr))
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

fn unreadable(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file".into(),
        _ => format!("cannot be read: {e}"),
    }
}

/// What every format's reader gets.
struct Source<'a> {
    path: &'a Path,
    /// Bytes in the file.
    len: u64,
    bytes: Bytes<'a>,
    options: &'a ReadOptions,
}

/// Where a decoder that reads here and there finds the bytes.
enum Bytes<'a> {
    /// At the path.
    File,
    /// In memory, and the path is only a name.
    Memory(&'a [u8]),
}

impl Source<'_> {
    fn error(&self, what: impl ToString) -> Error {
        Error::input(self.path, what)
    }

    /// A decoder's error: the file breaks the rules of its format.
    fn damaged(&self, e: impl std::fmt::Display) -> Error {
        self.error(format!("damaged or cut off: {e}"))
    }

    /// Width × height, if a map of that size may be read.
    fn cells(&self, width: u64, height: u64) -> Result<(u32, u32, usize)> {
        let max = self.options.max_cells;
        if width == 0 || height == 0 {
            return Err(
                self.error(format!("the size is {width}x{height}; both sides must be 1 or more"))
            );
        }
        let cells = width.checked_mul(height).filter(|&n| n <= max);
        match (
            cells.and_then(|n| usize::try_from(n).ok()),
            u32::try_from(width),
            u32::try_from(height),
        ) {
            (Some(n), Ok(w), Ok(h)) => Ok((w, h, n)),
            _ => Err(Error::over(
                format!(
                    "{}: {width}x{height} samples are more than the {max} accepted; crop the map",
                    self.path.display()
                ),
                width.saturating_mul(height),
                max,
                "samples",
            )),
        }
    }

    /// The header beside bare samples.
    fn header(&self, format: MapFormat) -> Result<Option<envi::Header>> {
        match self.bytes {
            Bytes::File => envi::beside(self.path, format),
            Bytes::Memory(_) => Ok(None),
        }
    }

    /// An empty vector with room for `n` values, or an error where memory is short.
    fn room<T>(&self, n: usize) -> Result<Vec<T>> {
        // The values, and the words that they become.
        memory::admit(self.path.display(), (n as u64).saturating_mul(2 * size_of::<T>() as u64))?;
        let mut v = Vec::new();
        v.try_reserve_exact(n).map_err(|_| {
            Error::limit(format!("{}: no memory for {n} samples", self.path.display()))
        })?;
        Ok(v)
    }
}

/// What a format's reader returns: values before units are applied. NaN stands for a sample without
/// a value.
struct Raster {
    width: u32,
    height: u32,
    data: Vec<f32>,
    /// The highest integer, where the values are integers without a unit.
    full_scale: Option<f64>,
    /// What 0 and that integer stand for, where the file says so.
    range: Option<(f64, f64)>,
    /// The highest value of unsigned integers that are metres, unless [`ReadOptions::range_m`]
    /// gives them a range.
    may_scale: Option<f64>,
    spacing_m: Option<f64>,
    georef: Option<Georef>,
    /// The value that stands for a missing one in this file.
    nodata: Option<f64>,
    /// Whether columns go to the west, and rows to the north, on Earth.
    turned: [bool; 2],
    /// Bits per sample, where there are 8 or fewer: such coarse heights erode into terraces.
    few_bits: Option<u8>,
    warnings: Vec<String>,
}

impl Raster {
    fn new(width: u32, height: u32, data: Vec<f32>) -> Self {
        Self {
            width,
            height,
            data,
            full_scale: None,
            range: None,
            may_scale: None,
            spacing_m: None,
            georef: None,
            nodata: None,
            turned: [false; 2],
            few_bits: None,
            warnings: Vec::new(),
        }
    }

    /// Leaves out the values that a mask beside the file does.
    fn mask(&mut self, source: &Source) -> Result<()> {
        if let Some(missing) = tiff::mask_beside(source, (self.width, self.height))? {
            self.data
                .iter_mut()
                .zip(missing)
                .filter(|(_, missing)| *missing)
                .for_each(|(value, _)| *value = f32::NAN);
        }
        Ok(())
    }

    /// Turns the samples so that the first one is that in the north-west.
    fn turn(&mut self) {
        let [columns, rows] = self.turned;
        if columns {
            self.data.chunks_exact_mut(self.width as usize).for_each(|row| row.reverse());
        }
        if rows {
            let (width, height) = (self.width as usize, self.height as usize);
            for row in 0..height / 2 {
                let (upper, lower) = self.data.split_at_mut((height - 1 - row) * width);
                upper[row * width..][..width].swap_with_slice(&mut lower[..width]);
            }
        }
        self.turned = [false; 2];
    }
}

fn read_source<R: BufRead + Seek>(
    mut reader: R,
    source: &Source,
    format: Format,
) -> Result<Reading> {
    if source.len == 0 {
        return Err(source.error("the file is empty"));
    }
    let mut head = [0; 12];
    let mut known = 0;
    while known < head.len() {
        match reader.read(&mut head[known..]) {
            Ok(0) => break,
            Ok(n) => known += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(source.error(unreadable(&e))),
        }
    }
    reader.seek(SeekFrom::Start(0)).map_err(|e| source.error(unreadable(&e)))?;
    check_magic(source, &head[..known], format)?;
    if let Some(band) = source.options.band.filter(|band| *band != 1 && !format.has_bands()) {
        return Err(source.error(format!(
            "band {band}: a .{} file has one, counted from 1",
            format.extension()
        )));
    }
    // A panic in another crate's decoder is a fault of the file that caused it, and must not end
    // the program.
    let mut raster = catch_unwind(AssertUnwindSafe(|| match format {
        Format::Map(MapFormat::Png) => png::read(reader, source),
        Format::Map(MapFormat::Tiff) => tiff::read(source),
        Format::Map(MapFormat::Exr) => exr::read(reader, source),
        Format::Map(MapFormat::Npy) => npy::read(reader, source),
        Format::Map(MapFormat::R16) => raw::read16(reader, source),
        Format::Map(MapFormat::R32) => raw::read32(reader, source),
        Format::Map(MapFormat::Asc) => asc::read(reader, source),
        Format::Map(MapFormat::Hgt) => hgt::read(reader, source),
        Format::Mask(format) => mask::read(reader, source, format),
    }))
    .and_then(|raster| {
        let masked = |mut raster: Raster| raster.mask(source).map(|()| raster);
        catch_unwind(AssertUnwindSafe(|| raster.and_then(masked)))
    })
    .unwrap_or_else(|_| Err(source.damaged("the decoder met an internal error")))?;
    raster.turn();
    finish(raster, source)
}

/// The kind of a file by its first bytes, and its format where that is read.
fn kind_of(head: &[u8]) -> Option<(&'static str, Option<Format>)> {
    Some(match head {
        [0x89, b'P', b'N', b'G', ..] => ("a PNG", Some(Format::Map(MapFormat::Png))),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => {
            ("a TIFF", Some(Format::Map(MapFormat::Tiff)))
        }
        [0x76, 0x2f, 0x31, 0x01, ..] => ("an OpenEXR", Some(Format::Map(MapFormat::Exr))),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            ("a NumPy array", Some(Format::Map(MapFormat::Npy)))
        }
        [0xff, 0xd8, 0xff, ..] => ("a JPEG", Some(Format::Mask(ImageFormat::Jpeg))),
        [b'B', b'M', ..] => ("a BMP", Some(Format::Mask(ImageFormat::Bmp))),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            ("a WebP", Some(Format::Mask(ImageFormat::WebP)))
        }
        [b'G', b'I', b'F', b'8', ..] => ("a GIF", None),
        [b'P', b'K', 3, 4, ..] => ("a ZIP archive", None),
        [0x1f, 0x8b, 8, ..] => ("a gzip archive", None),
        [b'%', b'P', b'D', b'F', ..] => ("a PDF", None),
        [0x89, b'H', b'D', b'F', ..] => ("an HDF5", None),
        _ => return None,
    })
}

/// Refuses a file whose content is of another format, and heights of few bits.
fn check_magic(source: &Source, head: &[u8], format: Format) -> Result<()> {
    let heights = source.options.samples == Samples::Heights;
    match kind_of(head) {
        // These signatures are short enough to occur in raw samples.
        Some((_, None | Some(Format::Mask(_)))) | None if format.is_raw() => Ok(()),
        // A text has no signature.
        None if format == Format::Map(MapFormat::Asc) => Ok(()),
        Some((name, Some(Format::Mask(_)))) if heights => Err(source.error(format!(
            "by its content this is {name} file, which is not read as heights; convert it to \
             16-bit PNG, TIFF, EXR or NPY"
        ))),
        Some((_, Some(found))) if found == format => Ok(()),
        Some((name, Some(found))) => Err(source.error(format!(
            "by its content this is {name} file; name it .{0}, or say so with \
             --from {0}",
            found.extension()
        ))),
        Some((name, None)) => Err(source.error(format!(
            "by its content this is {name} file, which is not read; convert it to \
             16-bit PNG, TIFF, EXR or NPY"
        ))),
        None => Err(source.error(format!(
            "the first bytes are not those of a .{} file; give a PNG, TIFF, EXR or NPY, or name \
             raw samples .r16 or .r32",
            format.extension()
        ))),
    }
}

/// Applies units, then fills or refuses samples without a value.
fn finish(raster: Raster, source: &Source) -> Result<Reading> {
    let Raster {
        width,
        height,
        mut data,
        full_scale,
        range,
        may_scale,
        spacing_m,
        georef,
        nodata,
        few_bits,
        mut warnings,
        ..
    } = raster;
    let options = source.options;
    if let Some((w, h)) = options.size
        && (w, h) != (width, height)
    {
        return Err(source.error(format!(
            "the file holds {width}x{height} samples, but the size given is {w}x{h}"
        )));
    }
    let file_spacing_m = spacing_m;
    let spacing_m = match (options.spacing_m, spacing_m) {
        (Some(s), _) | (None, Some(s)) => s,
        (None, None) if options.samples != Samples::Heights => 1.0,
        (None, None) => {
            warnings.push(
                "the file does not say how far apart its samples are: 1 m is assumed; \
                 set it with --spacing, or in a recipe with spacing_m"
                    .into(),
            );
            1.0
        }
    };
    if !(spacing_m.is_finite() && spacing_m > 0.0) {
        return Err(source.error(format!(
            "the file says that samples are {spacing_m} m apart; correct it with --spacing, or in \
             a recipe with spacing_m"
        )));
    }

    let georef = georef.filter(|g| {
        // Cells in degrees have no metres of their own.
        let metres = spacing_m <= 1000.0 * g.cell.1 && g.cell.1 >= 1e-3;
        let kept =
            file_spacing_m.is_none_or(|own| !metres || (own - spacing_m).abs() <= 1e-6 * own);
        if !kept {
            warnings.push(format!(
                "cells measure {} m on Earth and {spacing_m} m are asked for: the place on Earth \
                 is left out",
                g.cell.1
            ));
        }
        kept
    });

    if let Some(bits) = few_bits.filter(|_| options.samples == Samples::Heights) {
        warnings.push(format!(
            "the file has only {bits} bits a sample: its {} steps of height show as terraces; a \
             16-bit or float file avoids them",
            1u32 << bits
        ));
    }
    let given = match options.samples {
        Samples::Shares => range.or(Some((0.0, 1.0))),
        _ => options.range_m.or(range),
    };
    let scale = match options.samples {
        Samples::Numbers => None,
        _ => full_scale.or(may_scale.filter(|_| given.is_some())),
    };
    let mut range_m = scale.map(|_| {
        given.unwrap_or_else(|| {
            let hi = (0.2 * f64::from(width.max(height) - 1) * spacing_m).max(1.0);
            warnings.push(format!(
                "the file does not say what its integers mean: 0 to {} m is assumed; set it with \
                 --range, or in a recipe with range_m",
                (hi * 1000.0).round() / 1000.0
            ));
            (0.0, hi)
        })
    });
    if let (Some(full), Some((lo, hi))) = (scale, range_m) {
        data.iter_mut().for_each(|v| *v = (lo + f64::from(*v) / full * (hi - lo)) as f32);
    } else if options.range_m.is_some() && options.samples == Samples::Heights {
        let whole = |v: &f32| !v.is_finite() || (0.0..=1.0).contains(v);
        match (options.range_m, data.iter().all(whole)) {
            // Programs that draw save heights as shares of what they span.
            (Some((lo, hi)), true) => {
                data.iter_mut().for_each(|v| *v = (lo + f64::from(*v) * (hi - lo)) as f32);
                range_m = Some((lo, hi));
            }
            _ => warnings.push(
                "the range is ignored: it is for integers and for values from 0 to 1, and the \
                 file's values, some of which lie beyond, are metres"
                    .into(),
            ),
        }
    }

    let width_us = width as usize;
    let mut missing = vec![];
    if let Some(first) = data.iter().position(|v| !v.is_finite()) {
        let count = data.iter().filter(|v| !v.is_finite()).count();
        let (row, col) = (first / width_us, first % width_us);
        let what = match nodata {
            Some(n) => format!("NaN, infinite or the file's nodata value {n}"),
            None => "NaN or infinite".into(),
        };
        let lowest = data
            .iter()
            .copied()
            .filter(|v| v.is_finite())
            .reduce(f32::min)
            .filter(|_| options.keep_missing);
        let Some(fill) = options.nodata_fill.or(lowest) else {
            return Err(source.error(format!(
                "{count} of {} samples {} no value ({what}), the first in row {row}, column {col} \
                 (from 0); \
                 fill them first, or give a value for them (--nodata of the commands, nodata_m of \
                 a recipe)",
                data.len(),
                if count == 1 { "has" } else { "have" }
            )));
        };
        let samples =
            if count == 1 { "sample without a height" } else { "samples without a height" };
        warnings.push(match (options.keep_missing, count) {
            (true, 1) => format!("{count} {samples} lies outside the land ({what})"),
            (true, _) => format!("{count} {samples} lie outside the land ({what})"),
            (false, 1) => format!("{count} {samples} is set to {fill} m ({what})"),
            (false, _) => format!("{count} {samples} are set to {fill} m ({what})"),
        });
        missing = (0..data.len()).filter(|i| !data[*i].is_finite()).collect();
        data.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = fill);
    }
    debug_assert_eq!(
        data.len() as u64,
        u64::from(width) * u64::from(height),
        "{}",
        source.path.display()
    );
    Ok(Reading { map: Map { width, height, spacing_m, data, range_m, georef }, warnings, missing })
}
