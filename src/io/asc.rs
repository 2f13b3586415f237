//! ESRI ASCII grids: a header of keys, then values as text, the northernmost row first.

use std::fmt::Write as _;
use std::io::BufRead;

use super::geo::Geo;
use super::nodata::Nodata;
use super::{Raster, Source};
use crate::Result;
use crate::map::{Georef, Map};

/// Longest word: a number has fewer characters, also where it is written without an exponent.
const WORD_MAX: usize = 512;

/// Stands for a missing value in files that are written, where no height is that.
const NODATA: f32 = -99999.0;

/// Stands for one in files that do not say what does (ESRI, *ASCII raster format*).
const USUAL_NODATA: f64 = -9999.0;

/// The header.
#[derive(Default)]
struct Header {
    columns: Option<u64>,
    rows: Option<u64>,
    /// The place of the south-western cell, and whether it is its centre.
    x: Option<(f64, bool)>,
    y: Option<(f64, bool)>,
    cell: [Option<f64>; 2],
    nodata: Option<Nodata>,
}

impl Header {
    /// Says where the samples lie, if the header has the size of a cell.
    fn place(&self, raster: &mut Raster) {
        let [Some(dx), Some(dy)] = self.cell else { return };
        let centre = |place: Option<(f64, bool)>| {
            place.map(|(v, centre)| (v, if centre { 0.5 } else { 0.0 }))
        };
        let corner = centre(self.x).zip(centre(self.y)).map(|((x, half_x), (y, half_y))| {
            [x - half_x * dx, y - half_y * dy + f64::from(raster.height) * dy]
        });
        let size = [raster.width, raster.height];
        let (spacing, georef) = Geo::of_corner((dx, dy), corner).place(size, &mut raster.warnings);
        (raster.spacing_m, raster.georef) = (spacing, georef);
    }
}

/// Words of a text, one after the other.
struct Words<'a, R> {
    reader: R,
    source: &'a Source<'a>,
    word: String,
}

impl<R: BufRead> Words<'_, R> {
    /// The next word; empty at the end.
    fn next(&mut self) -> Result<&str> {
        self.word.clear();
        loop {
            let buffer = self.reader.fill_buf().map_err(|e| self.source.damaged(e))?;
            if buffer.is_empty() {
                return Ok(&self.word);
            }
            let mut used = 0;
            let mut ended = false;
            for byte in buffer {
                used += 1;
                match byte {
                    b if b.is_ascii_whitespace() => {
                        ended = !self.word.is_empty();
                        if ended {
                            break;
                        }
                    }
                    b if b.is_ascii_graphic() => self.word.push(char::from(*b)),
                    _ => return Err(self.source.damaged("it has bytes that are no text")),
                }
            }
            // A word may go on in the next buffer, so it is kept, and only what was looked at is
            // consumed.
            self.reader.consume(used);
            if self.word.len() > WORD_MAX {
                return Err(self.source.damaged(format!("{:?}… is no number", &self.word[..16])));
            }
            if ended {
                return Ok(&self.word);
            }
        }
    }

    /// A whole number of at least 1; some programs write it with a point.
    fn count(&mut self, what: &str) -> Result<u64> {
        let number = self.number(what)?;
        if number.fract() != 0.0 || !(1.0..=f64::from(u32::MAX)).contains(&number) {
            let message = format!("{what} = {}: allowed is a whole number from 1", self.word);
            return Err(self.source.damaged(message));
        }
        Ok(number as u64)
    }

    fn number(&mut self, what: &str) -> Result<f64> {
        let parsed = self.next()?.parse::<f64>();
        // Some programs write a comma for the point.
        let parsed = parsed.or_else(|e| self.word.replacen(',', ".", 1).parse().map_err(|_| e));
        parsed.map_err(|_| match self.word.as_str() {
            "" => self.source.damaged(format!("{what} is missing")),
            word => self.source.damaged(format!("{what}: {word:?} is no number")),
        })
    }
}

pub(super) fn read<R: BufRead>(mut reader: R, source: &Source) -> Result<Raster> {
    // A mark of UTF-8, which some programs begin a text with.
    if reader.fill_buf().is_ok_and(|bytes| bytes.starts_with(b"\xef\xbb\xbf")) {
        reader.consume(3);
    }
    let mut words = Words { reader, source, word: String::new() };
    let mut header = Header::default();
    let (mut warnings, mut declared) = (vec![], false);
    let first = loop {
        let key = words.next()?.to_ascii_lowercase();
        if matches!(key.as_str(), "ncols" | "nrows") {
            let count = Some(words.count(&key)?);
            *if key == "ncols" { &mut header.columns } else { &mut header.rows } = count;
            continue;
        }
        let mut number = || words.number(&key);
        match key.as_str() {
            "xllcorner" => header.x = Some((number()?, false)),
            "xllcenter" => header.x = Some((number()?, true)),
            "yllcorner" => header.y = Some((number()?, false)),
            "yllcenter" => header.y = Some((number()?, true)),
            "cellsize" => header.cell = [Some(number()?); 2],
            "dx" => header.cell[0] = Some(number()?),
            "dy" => header.cell[1] = Some(number()?),
            "nodata_value" => {
                let text = words.next()?.to_string();
                header.nodata = Nodata::parse(&text);
                if header.nodata.is_none() {
                    warnings.push(format!(
                        "the file's value for missing samples is {text:?}, which is no number: \
                         none is taken as missing by it"
                    ));
                }
                declared = true;
            }
            _ => break key,
        }
    };
    let side = |name: &str, side: Option<u64>| {
        side.ok_or_else(|| source.damaged(format!("{name} is missing in its header")))
    };
    let (width, height) = (side("ncols", header.columns)?, side("nrows", header.rows)?);
    // A value and what parts it from the next take two bytes.
    if width.saturating_mul(height) > source.len {
        return Err(
            source.damaged(format!("{} bytes cannot hold {width}x{height} values", source.len))
        );
    }
    let (width, height, cells) = source.cells(width, height)?;
    let mut data = source.room(cells)?;
    if !declared {
        header.nodata = Some(Nodata(USUAL_NODATA));
    }
    // Values are written with the digits of single floats.
    let is_missing = |v: f32| header.nodata.is_some_and(|none| none.is_single(v));
    let value = |v: f64| if is_missing(v as f32) { f32::NAN } else { v as f32 };
    let start = first.replacen(',', ".", 1).parse::<f64>();
    data.push(value(start.map_err(|_| {
        source.damaged(format!("{first:?} is neither a key of the header nor a number"))
    })?));
    while data.len() < cells {
        data.push(value(words.number("a value")?));
    }
    if !words.next()?.is_empty() {
        return Err(source.damaged(format!("it has more than {cells} values")));
    }
    let mut raster = Raster::new(width, height, data);
    raster.nodata = header.nodata.map(|none| none.0);
    raster.warnings = warnings;
    header.place(&mut raster);
    Ok(raster)
}

/// Writes every value so that it comes back as it was.
pub(super) fn encode(map: &Map, warnings: &mut Vec<String>) -> Vec<u8> {
    let cell = map.georef.as_ref().map_or((map.spacing_m, map.spacing_m), |g| g.cell);
    let (west, north) = map
        .georef
        .as_ref()
        .map_or_else(|| super::geo::local_corner(map.spacing_m), |g| (g.west, g.north));
    if let Some(name) = map.georef.as_ref().and_then(Georef::name) {
        warnings
            .push(format!("an .asc file does not hold the coordinate system, {name}; a .tif does"));
    }
    let mut out = format!(
        "ncols {}\nnrows {}\nxllcorner {west}\nyllcorner {}\n",
        map.width,
        map.height,
        north - f64::from(map.height) * cell.1
    );
    if cell.0 == cell.1 {
        let _ = writeln!(out, "cellsize {}", cell.0);
    } else {
        let _ = writeln!(out, "dx {}\ndy {}", cell.0, cell.1);
    }
    // Without a word about it readers take the usual value as missing, also where it is a height.
    let is_height = |none: f32| map.data.iter().any(|v| Nodata(none.into()).is_single(*v));
    let nodata = std::iter::successors(Some(NODATA), |none| Some(none * 2.0))
        .find(|none| !is_height(*none))
        .unwrap_or(NODATA);
    if map.data.iter().any(|v| v.is_nan() || Nodata(USUAL_NODATA).is_single(*v)) {
        let _ = writeln!(out, "NODATA_value {nodata}");
    }
    for row in map.data.chunks(map.width as usize) {
        let mut between = "";
        for value in row {
            let _ = if value.is_nan() {
                write!(out, "{between}{nodata}")
            } else {
                write!(out, "{between}{value}")
            };
            between = " ";
        }
        out.push('\n');
    }
    out.into_bytes()
}
