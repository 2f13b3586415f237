//! Encodes maps and pictures, and writes files atomically.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use image::DynamicImage;
use tempfile::NamedTempFile;

use super::{MapFormat, asc, exr, hgt, npy, png, raw, tiff};
use crate::format::either;
use crate::map::Map;
use crate::{Error, Result};

/// A file that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its path.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its BLAKE3 digest in hexadecimal.
    pub blake3: String,
}

/// A map as the bytes of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// The file.
    pub bytes: Vec<u8>,
    /// Metres that 0 and 65535 stand for, where the format holds 16-bit integers.
    pub quantised: Option<(f64, f64)>,
    /// Warnings for people, one sentence each.
    pub warnings: Vec<String>,
}

/// A map as the bytes of a file, and warnings for people. The same map always gives the same bytes.
///
/// 16-bit formats round heights to 65536 steps over [`Map::range_m`]. Without a range, the steps
/// span the heights, and a range that does not cover the heights is widened. The other formats keep
/// every bit.
///
/// # Errors
/// [`Error::Param`] for a map that contradicts itself or has values that are not finite,
/// [`Error::Limit`] for one that the format cannot hold.
pub fn encode(map: &Map, format: MapFormat) -> Result<(Vec<u8>, Vec<String>)> {
    encode_all(map, format).map(|e| (e.bytes, e.warnings))
}

/// As [`encode`], and says how heights were rounded.
///
/// # Errors
/// As [`encode`].
pub fn encode_all(map: &Map, format: MapFormat) -> Result<Encoded> {
    encode_within(map, format, None, &[])
}

/// As [`encode_all`], with the values that 0 and 65535 stand for in 16-bit formats, lowest first.
/// Values beyond them are cut off, and a warning says how many. The samples with the numbers
/// `missing`, from the north-west corner, are written as having no value.
///
/// # Errors
/// As [`encode`], and [`Error::Param`] for a range that is empty or not finite, and for missing
/// samples in a format that holds none.
pub fn encode_within(
    map: &Map,
    format: MapFormat,
    range: Option<(f64, f64)>,
    missing: &[usize],
) -> Result<Encoded> {
    check(map)?;
    if !missing.is_empty() && format.is_quantised() {
        return Err(Error::param(format!(
            "a .{} file cannot say that {} samples have no value; use {}",
            format.extension(),
            missing.len(),
            either(&MapFormat::names(|format| !format.is_quantised()))
        )));
    }
    // Holes are made in a copy, after the check that refuses a NaN of the map's own.
    let holed = (!missing.is_empty()).then(|| {
        let mut holed = map.clone();
        missing.iter().for_each(|at| holed.data[*at] = f32::NAN);
        holed
    });
    let map = holed.as_ref().unwrap_or(map);
    let mut warnings = Vec::new();
    let mut quantised = None;
    let bytes = match format {
        MapFormat::Png | MapFormat::R16 => {
            let range = match range {
                Some(range) => cut(map, range, &mut warnings)?,
                None => steps(map, &mut warnings),
            };
            quantised = Some(range);
            let samples = quantise(map, range);
            if format == MapFormat::Png {
                png::encode16(map, range, &samples)?
            } else {
                raw::encode16(&samples)
            }
        }
        MapFormat::Tiff => tiff::encode(map, &mut warnings)?,
        MapFormat::Exr => exr::encode(map)?,
        MapFormat::Npy => npy::encode(map)?,
        MapFormat::R32 => raw::encode32(map),
        MapFormat::Asc => asc::encode(map, &mut warnings),
        MapFormat::Hgt => hgt::encode(map, &mut warnings),
    };
    warnings.extend(raw_size(map, format));
    warnings.extend(placeless(map, format));
    Ok(Encoded { bytes, quantised, warnings })
}

/// A warning for a map with a place on Earth, in a format that holds none.
fn placeless(map: &Map, format: MapFormat) -> Option<String> {
    let georef = map.georef.as_ref().filter(|_| !format.is_placed())?;
    let name = georef.name().map_or(String::new(), |name| format!(", {name}"));
    Some(format!(
        "a .{} file does not hold where on Earth the map lies{name}; a .tif does",
        format.extension()
    ))
}

/// A range that was asked for. Counts the values beyond it.
fn cut(map: &Map, (low, high): (f64, f64), warnings: &mut Vec<String>) -> Result<(f64, f64)> {
    if !(low.is_finite() && high.is_finite() && low < high && (high - low).is_finite()) {
        return Err(Error::param(format!(
            "range {low} to {high}: both ends must be finite, the lower one first"
        )));
    }
    // What lies less than half a step beyond is rounded to the end as other values are to a step.
    let half = (high - low) / 131_070.0;
    let outside =
        map.data.iter().filter(|v| !(low - half..=high + half).contains(&f64::from(**v))).count();
    if outside > 0 {
        let (min, max) = map.min_max();
        warnings.push(format!(
            "{outside} of {} values, which reach from {min} to {max}, lie beyond the range of \
             {low} to {high} and were cut off there",
            map.data.len()
        ));
    }
    Ok((low, high))
}

/// A warning for raw samples of a map that is not square.
fn raw_size(map: &Map, format: MapFormat) -> Option<String> {
    let silent = format.is_raw() && map.width != map.height;
    silent.then(|| {
        format!(
            "a raw file does not store the size of this map, {}x{}, and readers need it",
            map.width, map.height
        )
    })
}

/// Encodes a map of numbers, such as those of biomes; `palette` has the colour of each. PNG stores
/// them as indices of the palette, raw 16-bit samples as integers, and the other formats as floats.
///
/// # Errors
/// As [`encode`], and [`Error::Param`] for a value that is not the number of a colour; PNG has at
/// most 256.
pub fn encode_numbers(map: &Map, palette: &[[u8; 3]], format: MapFormat) -> Result<Encoded> {
    // Numbers are whole, so metres hold them too.
    if !format.is_quantised() {
        return encode_all(map, format);
    }
    check(map)?;
    // PNG: the chunk PLTE has at most 256 colours.
    let count = palette.len().min(256);
    if let Some(value) =
        map.data.iter().find(|v| v.fract() != 0.0 || !(0.0..count as f32).contains(*v))
    {
        return Err(Error::param(format!(
            "the map's value {value} is not the number of a colour: allowed whole numbers from 0 \
             to below {count}"
        )));
    }
    let bytes = match format {
        MapFormat::Png => {
            let indices: Vec<u8> = map.data.iter().map(|&v| v as u8).collect();
            png::encode_indices(map.width, map.height, &palette[..count], &indices)?
        }
        _ => raw::encode16(&map.data.iter().map(|&v| v as u16).collect::<Vec<_>>()),
    };
    Ok(Encoded { bytes, quantised: None, warnings: raw_size(map, format).into_iter().collect() })
}

/// Encodes layers of `[width, height]` cells, one after the other in `values`. NPY has an array of
/// layers, rows and columns of 16 bits; EXR has a channel of whole numbers for each of `names`.
///
/// # Errors
/// [`Error::Param`] for values that are not as many as the cells of the layers, and for the other
/// formats; [`Error::Limit`] for a name that EXR cannot hold.
pub fn encode_layers(
    size: [u32; 2],
    names: &[String],
    values: &[u16],
    format: MapFormat,
) -> Result<Vec<u8>> {
    let [width, height] = size;
    if values.len() != width as usize * height as usize * names.len() {
        return Err(Error::param(format!(
            "{} values for {} layers of {width} x {height} cells",
            values.len(),
            names.len()
        )));
    }
    match format {
        MapFormat::Npy => npy::encode_layers(size, names.len(), values),
        MapFormat::Exr => exr::encode_layers(size, names, values),
        other => Err(Error::param(format!(
            "a .{} file cannot hold layers; use npy or exr",
            other.extension()
        ))),
    }
}

/// Encodes a map of colours, each 65536·red + 256·green + blue. PNG stores them as colours, and the
/// formats of floats as numbers.
///
/// # Errors
/// As [`encode`], and [`Error::Param`] for raw 16-bit samples, which cannot hold them.
pub fn encode_colours(map: &Map, format: MapFormat) -> Result<Encoded> {
    match format {
        MapFormat::Png => {
            check(map)?;
            let data: Vec<u8> = map
                .data
                .iter()
                // A colour has 24 bits, so the first of four bytes is left out.
                .flat_map(|&v| (v as u32).to_be_bytes().into_iter().skip(1))
                .collect();
            let bytes = png::encode(
                map.width,
                map.height,
                ::png::ColorType::Rgb,
                ::png::BitDepth::Eight,
                &data,
            )?;
            Ok(Encoded { bytes, quantised: None, warnings: vec![] })
        }
        _ if !format.holds_colours() => Err(Error::param(format!(
            "colours have 24 bits, which do not fit into raw 16-bit samples; use {}",
            either(&MapFormat::names(MapFormat::holds_colours))
        ))),
        _ => encode_all(map, format),
    }
}

fn check(map: &Map) -> Result<()> {
    let cells = u64::from(map.width) * u64::from(map.height);
    if cells == 0 || cells != map.data.len() as u64 {
        return Err(Error::param(format!(
            "the map claims {}x{} samples but holds {}",
            map.width,
            map.height,
            map.data.len()
        )));
    }
    if !(map.spacing_m.is_finite() && map.spacing_m > 0.0) {
        return Err(Error::param(format!(
            "the map's samples are {} m apart; that must be finite and over 0",
            map.spacing_m
        )));
    }
    if let Some(i) = map.data.iter().position(|v| !v.is_finite()) {
        let (row, col) = (i / map.width as usize, i % map.width as usize);
        return Err(Error::param(format!(
            "the map's value in row {row}, column {col} (from 0) is {}; it must be finite",
            map.data[i]
        )));
    }
    Ok(())
}

/// Metres for the integers 0 and 65535.
fn steps(map: &Map, warnings: &mut Vec<String>) -> (f64, f64) {
    let (min, max) = map.min_max();
    let (min, max) = (f64::from(min), f64::from(max));
    let valid = |&(lo, hi): &(f64, f64)| {
        lo.is_finite() && hi.is_finite() && lo < hi && (hi - lo).is_finite()
    };
    match map.range_m.filter(valid) {
        Some((lo, hi)) if lo <= min && max <= hi => (lo, hi),
        Some((lo, hi)) => {
            let wide = (lo.min(min), hi.max(max));
            warnings.push(format!(
                "heights of {min} to {max} m exceed the range of {lo} to {hi} m, so 0 and 65535 \
                 stand for {} and {} m",
                wide.0, wide.1
            ));
            wide
        }
        None if min < max => (min, max),
        // On level ground any range that is not empty will do.
        None => (min, min + (min.abs() * 1e-6).max(1.0)),
    }
}

fn quantise(map: &Map, (lo, hi): (f64, f64)) -> Vec<u16> {
    // The conversion stops at 0 and 65535.
    map.data.iter().map(|&h| ((f64::from(h) - lo) / (hi - lo) * 65535.0).round() as u16).collect()
}

/// A picture of 8 bits a channel as the bytes of a PNG. The same picture gives the same bytes.
///
/// # Errors
/// [`Error::Param`] for a picture without pixels or with more than 8 bits a channel,
/// [`Error::Limit`] for one too large for PNG.
pub fn encode_picture(picture: impl Into<DynamicImage>) -> Result<Vec<u8>> {
    let picture = picture.into();
    let color = match picture.color() {
        image::ColorType::L8 => ::png::ColorType::Grayscale,
        image::ColorType::La8 => ::png::ColorType::GrayscaleAlpha,
        image::ColorType::Rgb8 => ::png::ColorType::Rgb,
        image::ColorType::Rgba8 => ::png::ColorType::Rgba,
        other => {
            return Err(Error::param(format!(
                "the picture's pixels are {other:?}; allowed 8 bits a channel"
            )));
        }
    };
    let (width, height) = (picture.width(), picture.height());
    if width == 0 || height == 0 {
        return Err(Error::param(format!(
            "the picture is {width}x{height} pixels; both sides must be 1 or more"
        )));
    }
    png::encode(width, height, color, ::png::BitDepth::Eight, picture.as_bytes())
}

/// Writes a file. The path then holds all of `bytes` on disk, or what was there before; the folder
/// must exist.
///
/// A symbolic link is followed and kept. A read-only file is not replaced, nor is anything that is
/// not a regular file.
///
/// # Errors
/// [`Error::Output`] with the system's reason.
pub(super) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<Stored> {
    store(path, bytes).map_err(|e| Error::output(path, e))?;
    Ok(Stored::of(path, bytes))
}

fn store(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let path = target(path)?;
    let mut file = pending(&path)?;
    file.as_file_mut().write_all(bytes)?;
    commit(file, &path)
}

/// Writes a file that is not there yet. The path then holds all of `bytes`; if something is there,
/// the error is [`AlreadyExists`](std::io::ErrorKind::AlreadyExists).
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = pending(path)?;
    file.as_file_mut().write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map(drop).map_err(|e| e.error)
}

/// An empty file beside a path, which goes again if it is not [committed](commit). It may be used
/// as the file that is there may, and a new one as any new file.
///
/// Write to the file within: errors of this one have its name, which nobody has given.
pub(super) fn pending(path: &Path) -> std::io::Result<NamedTempFile> {
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut prefix = OsString::from(".");
    prefix.push(pending_stem(name));
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).rand_bytes(PENDING_RANDOM);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask takes from this what the user does not give.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder(path)).map_err(|e| reason(e, folder(path)))?;
    // The new file gets the mode of the one that it replaces, which may be narrower than the umask.
    if let Ok(there) = std::fs::metadata(path) {
        file.as_file().set_permissions(there.permissions())?;
    }
    Ok(file)
}

/// Why a file cannot be made in a folder: the system's reason, without the name of the file, which
/// nobody has given.
pub(super) fn reason(e: std::io::Error, folder: &Path) -> std::io::Error {
    use std::error::Error as _;
    if e.kind() == std::io::ErrorKind::NotFound {
        return std::io::Error::new(
            e.kind(),
            format!(
                "the folder {} does not exist; make it, or give another path",
                folder.display()
            ),
        );
    }
    // The library's error names the file, and the system's within it does not.
    let code = e
        .source()
        .and_then(|inner| inner.downcast_ref::<std::io::Error>())
        .and_then(std::io::Error::raw_os_error);
    code.map_or(e, std::io::Error::from_raw_os_error)
}

/// Puts a file in its place, and waits until the disk has it.
pub(super) fn commit(file: NamedTempFile, path: &Path) -> std::io::Result<()> {
    // The bytes are on disk before the name leads to them.
    file.as_file().sync_all()?;
    file.persist(path)?;
    // Elsewhere folders cannot be opened as files.
    let synced = if cfg!(unix) {
        File::open(folder(path)).and_then(|folder| folder.sync_all())
    } else {
        Ok(())
    };
    synced.inspect_err(|_| {
        // A file that may be gone after a loss of power was not stored.
        let _ = std::fs::remove_file(path);
    })
}

/// The folder that a file lies in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Letters and digits behind the name of a file that is not in its place yet.
const PENDING_RANDOM: usize = 6;

/// The file that a path leads to, if it may be replaced.
pub(super) fn target(path: &Path) -> std::io::Result<PathBuf> {
    use std::io::{Error, ErrorKind};
    // Renaming over the path would replace the link, the device or the protected file itself.
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            Err(Error::new(ErrorKind::IsADirectory, "is a folder; give the path of a file"))
        }
        Ok(meta) if !meta.is_file() => {
            Err(Error::other("is not a regular file; give another path"))
        }
        Ok(meta) if meta.permissions().readonly() => Err(Error::new(
            ErrorKind::PermissionDenied,
            "is read-only; remove it or give another path",
        )),
        // So the rename replaces the file behind a symbolic link, and the link stays.
        Ok(_) => std::fs::canonicalize(path),
        Err(e) if e.kind() == ErrorKind::NotFound => match path.read_link() {
            // A link to a file that is not there yet. One that leads to itself is another error.
            Ok(to) => target(&folder(path).join(to)),
            Err(_) => Ok(path.to_path_buf()),
        },
        Err(e) => Err(e),
    }
}

/// The longest name of a file, in bytes, on the systems that people use.
const NAME_MAX: usize = 255;

/// A name as [`pending_of`] has it again: cut off where the dots and the random end would make it
/// too long.
pub(crate) fn pending_stem(name: &OsStr) -> OsString {
    let longest = NAME_MAX - PENDING_RANDOM - 2;
    if name.len() <= longest {
        return name.to_owned();
    }
    let text = name.to_string_lossy();
    // A cut within a letter of several bytes would panic.
    text[..text.floor_char_boundary(longest)].into()
}

/// The name of the file that is being written under a name, if it is one of ours: `land.tif` for
/// `.land.tif.x7Ah2c`.
pub(crate) fn pending_of(name: &str) -> Option<&str> {
    let (whole, random) = name.strip_prefix('.')?.rsplit_once('.')?;
    (random.len() == PENDING_RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .then_some(whole)
}

/// A file being written, which its path does not show yet.
struct Pending {
    file: NamedTempFile,
    /// Its place, where links lead.
    target: PathBuf,
    // Boxed, since it has two thousand bytes.
    hasher: Box<blake3::Hasher>,
    bytes: u64,
}

impl Pending {
    fn open(path: &Path) -> Result<Self> {
        let file = target(path).and_then(|target| Ok((pending(&target)?, target)));
        let (file, target) = file.map_err(|e| Error::output(path, e))?;
        Ok(Self { file, target, hasher: Box::default(), bytes: 0 })
    }

    fn add(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.as_file_mut().write_all(bytes)?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn commit(self, path: PathBuf) -> Result<Stored> {
        commit(self.file, &self.target).map_err(|e| Error::output(&path, e))?;
        Ok(Stored { path, bytes: self.bytes, blake3: self.hasher.finalize().to_hex().to_string() })
    }
}

/// A file that is written piece by piece. Until it is [finished](Pieces::finish), the path keeps
/// what was there before.
pub struct Pieces {
    path: PathBuf,
    pending: Pending,
}

impl Pieces {
    /// Begins a file.
    ///
    /// # Errors
    /// [`Error::Output`] if no file can be written there.
    pub fn create(path: &Path) -> Result<Self> {
        Ok(Self { path: path.into(), pending: Pending::open(path)? })
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.add(bytes).map_err(|e| Error::output(&self.path, e))
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn finish(self) -> Result<Stored> {
        self.pending.commit(self.path)
    }
}

/// A file written in pieces, on disk or in memory.
#[non_exhaustive]
pub enum Part {
    /// A file on disk.
    File(Box<Pieces>),
    /// Bytes in memory, and the name of their file.
    Memory {
        /// The name.
        name: String,
        /// The pieces so far.
        bytes: Vec<u8>,
    },
}

impl Part {
    /// An empty file in memory.
    pub fn memory(name: &str) -> Self {
        Self::Memory { name: name.into(), bytes: vec![] }
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn add(&mut self, piece: &[u8]) -> Result<()> {
        match self {
            Self::File(pieces) => pieces.add(piece),
            Self::Memory { bytes, .. } => {
                bytes.extend_from_slice(piece);
                Ok(())
            }
        }
    }

    /// Its name, for errors.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(pieces) => &pieces.path,
            Self::Memory { name, .. } => Path::new(name),
        }
    }
}

impl Stored {
    /// The record of bytes that were stored under a name.
    pub fn of(path: impl Into<PathBuf>, bytes: &[u8]) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        }
    }
}
