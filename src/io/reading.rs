//! Files that hold heights: what they are, and how they become a map.

use super::{Format, MapFormat, ReadOptions, Reading, unreadable};
use super::{asc, envi, exr, hgt, mask, npy, png, raw, tiff};
use crate::map::Samples;
use crate::map::{Georef, Map};
use crate::memory;
use crate::{Error, Result};
use image::ImageFormat;
use std::io::{BufRead, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What every format's reader gets.
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    /// Bytes in the file.
    pub(super) len: u64,
    pub(super) bytes: Bytes<'a>,
    pub(super) options: &'a ReadOptions,
}

/// Where a decoder that reads here and there finds the bytes.
pub(super) enum Bytes<'a> {
    /// At the path.
    File,
    /// In memory, and the path is only a name.
    Memory(&'a [u8]),
}

impl Source<'_> {
    pub(super) fn error(&self, what: impl ToString) -> Error {
        Error::input(self.path, what)
    }

    /// A decoder's error: the file breaks the rules of its format.
    pub(super) fn damaged(&self, e: impl std::fmt::Display) -> Error {
        self.error(format!("damaged or cut off: {e}"))
    }

    /// Width × height, if a map of that size may be read.
    pub(super) fn cells(&self, width: u64, height: u64) -> Result<(u32, u32, usize)> {
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
    pub(super) fn header(&self, format: MapFormat) -> Result<Option<envi::Header>> {
        match self.bytes {
            Bytes::File => envi::beside(self.path, format),
            Bytes::Memory(_) => Ok(None),
        }
    }

    /// An empty vector with room for `n` values, or an error where memory is short.
    pub(super) fn room<T>(&self, n: usize) -> Result<Vec<T>> {
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
pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) data: Vec<f32>,
    /// The highest integer, where the values are integers without a unit.
    pub(super) full_scale: Option<f64>,
    /// What 0 and that integer stand for, where the file says so.
    pub(super) range: Option<(f64, f64)>,
    /// The highest value of unsigned integers that are metres, unless [`ReadOptions::range_m`]
    /// gives them a range.
    pub(super) may_scale: Option<f64>,
    pub(super) spacing_m: Option<f64>,
    pub(super) georef: Option<Georef>,
    /// The value that stands for a missing one in this file.
    pub(super) nodata: Option<f64>,
    /// Whether columns go to the west, and rows to the north, on Earth.
    pub(super) turned: [bool; 2],
    /// Bits per sample, where there are 8 or fewer: such coarse heights erode into terraces.
    pub(super) few_bits: Option<u8>,
    pub(super) warnings: Vec<String>,
}

impl Raster {
    pub(super) fn new(width: u32, height: u32, data: Vec<f32>) -> Self {
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
                // The split lies where the lower row begins, so the two rows can be borrowed at
                // once.
                upper[row * width..][..width].swap_with_slice(&mut lower[..width]);
            }
        }
        self.turned = [false; 2];
    }
}

pub(super) fn read_source<R: BufRead + Seek>(
    mut reader: R,
    source: &Source,
    format: Format,
) -> Result<Reading> {
    if source.len == 0 {
        return Err(source.error("the file is empty"));
    }
    // The longest signature, that of WebP, has 12 bytes.
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
    // These formats ignore `band`, so a wrong one would give the only map without a word.
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
    // The mask beside a file has its rows and columns in the same order, so it is applied before
    // samples are turned.
    .and_then(|raster| {
        let masked = |mut raster: Raster| raster.mask(source).map(|()| raster);
        catch_unwind(AssertUnwindSafe(|| raster.and_then(masked)))
    })
    .unwrap_or_else(|_| Err(source.damaged("the decoder met an internal error")))?;
    raster.turn();
    finish(raster, source)
}

/// The kind of a file by its first bytes, and its format where that is read.
pub(super) fn kind_of(head: &[u8]) -> Option<(&'static str, Option<Format>)> {
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
fn finish(mut raster: Raster, source: &Source) -> Result<Reading> {
    let options = source.options;
    let (width, height) = (raster.width, raster.height);
    if let Some((w, h)) = options.size
        && (w, h) != (width, height)
    {
        return Err(source.error(format!(
            "the file holds {width}x{height} samples, but the size given is {w}x{h}"
        )));
    }
    // The range that is assumed below is a part of the map's length, so the spacing comes first.
    let spacing_m = spacing_of(&mut raster, source)?;
    let georef = place_of(&mut raster, spacing_m);
    if let Some(bits) = raster.few_bits.filter(|_| options.samples == Samples::Heights) {
        raster.warnings.push(format!(
            "the file has only {bits} bits a sample: its {} steps of height show as terraces; a \
             16-bit or float file avoids them",
            1u32 << bits
        ));
    }
    let range_m = scale_to_metres(&mut raster, options, spacing_m);
    // Values that fill gaps are metres, so they come after integers have become metres.
    let missing = fill_missing(&mut raster, source)?;
    let Raster { data, warnings, .. } = raster;
    debug_assert_eq!(
        data.len() as u64,
        u64::from(width) * u64::from(height),
        "{}",
        source.path.display()
    );
    Ok(Reading { map: Map { width, height, spacing_m, data, range_m, georef }, warnings, missing })
}

/// Metres from a sample to the next: those asked for, those of the file, or 1.
fn spacing_of(raster: &mut Raster, source: &Source) -> Result<f64> {
    let options = source.options;
    let spacing_m = match (options.spacing_m, raster.spacing_m) {
        (Some(s), _) | (None, Some(s)) => s,
        (None, None) if options.samples != Samples::Heights => 1.0,
        (None, None) => {
            raster.warnings.push(
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
    Ok(spacing_m)
}

/// Where the map lies. Where other metres are asked for, it no longer lies where the file says.
fn place_of(raster: &mut Raster, spacing_m: f64) -> Option<Georef> {
    let (file_spacing_m, georef) = (raster.spacing_m, raster.georef.take());
    georef.filter(|g| {
        // Cells in degrees have no metres of their own.
        let metres = spacing_m <= 1000.0 * g.cell.1 && g.cell.1 >= 1e-3;
        let kept =
            file_spacing_m.is_none_or(|own| !metres || (own - spacing_m).abs() <= 1e-6 * own);
        if !kept {
            raster.warnings.push(format!(
                "cells measure {} m on Earth and {spacing_m} m are asked for: the place on Earth \
                 is left out",
                g.cell.1
            ));
        }
        kept
    })
}

/// Turns integers and shares into metres. Returns the range that they stand for, if there is one.
fn scale_to_metres(
    raster: &mut Raster,
    options: &ReadOptions,
    spacing_m: f64,
) -> Option<(f64, f64)> {
    let Raster { width, height, full_scale, range, may_scale, data, warnings, .. } = raster;
    let given = match options.samples {
        Samples::Shares => (*range).or(Some((0.0, 1.0))),
        _ => options.range_m.or(*range),
    };
    let scale = match options.samples {
        Samples::Numbers => None,
        _ => full_scale.or(may_scale.filter(|_| given.is_some())),
    };
    let mut range_m = scale.map(|_| {
        given.unwrap_or_else(|| {
            let hi = (0.2 * f64::from((*width).max(*height) - 1) * spacing_m).max(1.0);
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
    range_m
}

/// Fills samples without a value, and returns their numbers.
fn fill_missing(raster: &mut Raster, source: &Source) -> Result<Vec<usize>> {
    let (options, width_us) = (source.options, raster.width as usize);
    let Raster { data, nodata, warnings, .. } = raster;
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
        // Where no sample has a value there is no lowest one, and only a given height helps.
        let Some(fill) = options.nodata_fill.or(lowest) else {
            return Err(source.error(format!(
                "{count} of {} samples {} no value ({what}), the first in row {row}, column {col} \
                 (from 0); \
                 fill them first, or give them a value: nodata_m for the input of a recipe, \
                 --nodata for a map that a command reads",
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
        // Numbered before they are filled, since then they look like the others.
        missing = (0..data.len()).filter(|i| !data[*i].is_finite()).collect();
        data.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = fill);
    }
    Ok(missing)
}
