//! ENVI headers: the text beside bare samples that says what they are. GDAL, and so QGIS, reads it
//! too.
//!
//! # Source
//! NV5 Geospatial, *ENVI Header Files*.

use std::path::{Path, PathBuf};

use super::MapFormat;
use crate::map::Map;
use crate::{Error, Result};

/// Longest header that is read, in bytes.
const LONGEST: u64 = 1 << 16;

/// What a header says of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Header {
    /// Width and height.
    pub size: (u32, u32),
    /// Values that 0 and 65535 stand for.
    pub range: Option<(f64, f64)>,
    /// Metres between samples.
    pub spacing_m: Option<f64>,
    /// Whether the first byte of a sample is its highest.
    pub big_endian: bool,
}

/// Where the header of bare samples lies: beside them. None for other formats, which say themselves
/// what they hold.
pub fn header_path(path: &Path, format: MapFormat) -> Option<PathBuf> {
    data_type(format)?;
    let mut name = path.as_os_str().to_owned();
    name.push(".hdr");
    Some(name.into())
}

/// The header for a map that is written as bare samples, with the values that 0 and 65535 stand
/// for. None for other formats.
pub fn header(map: &Map, format: MapFormat, quantised: Option<(f64, f64)>) -> Option<String> {
    let kind = data_type(format)?;
    let Map { width, height, spacing_m, .. } = map;
    let mut text = format!(
        "ENVI\nsamples = {width}\nlines = {height}\nbands = 1\nheader offset = 0\n\
         file type = ENVI Standard\ndata type = {kind}\n\
         interleave = bsq\nbyte order = 0\n\
         map info = {{Arbitrary, 1, 1, 0, 0, {spacing_m}, {spacing_m}, 0, units=Meters}}\n"
    );
    if let Some((low, high)) = quantised {
        text += &format!(
            "data gain values = {{{}}}\ndata offset values = {{{low}}}\n\
             thalweg range = {{{low}, {high}}}\n",
            (high - low) / 65535.0
        );
    }
    Some(text)
}

fn data_type(format: MapFormat) -> Option<u32> {
    match format {
        MapFormat::R16 => Some(12),
        MapFormat::R32 => Some(4),
        _ => None,
    }
}

/// The header beside a file of samples, if there is one: `land.r32.hdr`, or else `land.hdr`, which
/// may be that of another file.
pub(super) fn beside(path: &Path, format: MapFormat) -> Result<Option<Header>> {
    let Some((own, kind)) = header_path(path, format).zip(data_type(format)) else {
        return Ok(None);
    };
    let at = |path: &Path| -> Result<Option<Result<Header, String>>> {
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() && meta.len() <= LONGEST => {}
            Ok(_) => return Ok(Some(Err(format!("it is no header of at most {LONGEST} bytes")))),
            Err(_) => return Ok(None),
        }
        let text = std::fs::read_to_string(path).map_err(|e| Error::input(path, e))?;
        Ok(Some(parse(&text, kind)))
    };
    match at(&own)? {
        Some(header) => header.map(Some).map_err(|what| Error::input(&own, what)),
        None => Ok(at(&path.with_extension("hdr"))?.and_then(Result::ok)),
    }
}

fn parse(text: &str, kind: u32) -> Result<Header, String> {
    if !text.starts_with("ENVI") {
        return Err("it is no ENVI header: the first line is not ENVI".into());
    }
    // A value in braces may go over several lines.
    let mut pairs: Vec<(&str, String)> = vec![];
    let mut is_open = false;
    for line in text.lines().skip(1) {
        match (line.split_once('='), pairs.last_mut()) {
            (_, Some((_, value))) if is_open => *value = format!("{value} {}", line.trim()),
            (Some((name, value)), _) => pairs.push((name.trim(), value.trim().into())),
            _ => continue,
        }
        is_open =
            pairs.last().is_some_and(|(_, value)| value.contains('{') && !value.contains('}'));
    }
    let value =
        |key: &str| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str());
    let number = |key: &str, usual: Option<u32>| match value(key) {
        None => usual.ok_or_else(|| format!("{key} is missing")),
        Some(given) => {
            given.parse::<u32>().map_err(|_| format!("{key} = {given}: expected a whole number"))
        }
    };
    for (key, expected) in [("bands", 1), ("header offset", 0), ("data type", kind)] {
        let given = number(key, Some(expected))?;
        if given != expected {
            return Err(format!("{key} = {given}: such samples are not read, only {expected}"));
        }
    }
    let big_endian = match number("byte order", Some(0))? {
        order @ (0 | 1) => order == 1,
        other => return Err(format!("byte order = {other}: allowed 0 or 1")),
    };
    let list = |key: &str| {
        let inner = value(key)?.trim_start_matches('{').trim_end_matches('}');
        Some(inner.split(',').map(|word| word.trim().to_string()).collect::<Vec<_>>())
    };
    let floats = |words: Vec<String>| {
        words.iter().map(|word| word.parse::<f64>().ok()).collect::<Option<Vec<_>>>()
    };
    let exact = list("thalweg range").and_then(floats);
    let scaled =
        list("data gain values").and_then(floats).zip(list("data offset values").and_then(floats));
    // A gain and an offset do not give the upper end back to the last bit.
    let range = match (exact.as_deref(), scaled) {
        (Some(&[low, high]), _) => Some((low, high)),
        (_, Some((gain, offset))) => gain
            .first()
            .zip(offset.first())
            .map(|(gain, offset)| (*offset, offset + 65535.0 * gain)),
        _ => None,
    };
    // Projection, column and row of a point, its east and north, and then the width of a cell.
    // Other projections than this one may be in degrees.
    let map_info = list("map info").unwrap_or_default();
    let arbitrary = map_info.first().is_some_and(|name| name == "Arbitrary");
    let spacing_m = map_info.get(5).filter(|_| arbitrary).and_then(|word| word.parse::<f64>().ok());
    Ok(Header {
        size: (number("samples", None)?, number("lines", None)?),
        range: range.filter(|(low, high)| low < high && (high - low).is_finite() && kind == 12),
        spacing_m: spacing_m.filter(|m| m.is_finite() && *m > 0.0),
        big_endian,
    })
}
