//! NumPy arrays of two dimensions, `[row, column]`.

use std::io::{BufRead, Cursor};

use exr::prelude::f16;
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, WriteOptions, WriterBuilder};

use super::nodata::VOID;
use super::{Raster, Source};
use crate::map::Map;
use crate::{Error, Result};

/// The longest header that NumPy itself accepts.
const MAX_HEADER: u64 = 10_000;

/// The most brackets that a header may open. An array of numbers opens 2, and one of records with a
/// single field 4.
///
/// The parser of the header goes over what is within a bracket up to three times, so that its time
/// grows as the power of this, and its stack as this.
const MAX_BRACKETS: usize = 4;

pub(super) fn read<R: BufRead>(mut reader: R, source: &Source) -> Result<Raster> {
    let (header, header_len) = header(&mut reader, source)?;
    let kind = match header.dtype() {
        DType::Plain(t) => t,
        DType::Array(..) | DType::Record(_) => {
            return Err(source
                .error("this array has records, not numbers; save one field of it as float32"));
        }
    };
    let (char, size) = (kind.type_char(), kind.size_field() as usize);
    if header.uses_pickled_array() {
        return Err(source
            .error("this array holds Python objects, which are never loaded; save it as float32"));
    }
    let value = decoder(char, size).ok_or_else(|| {
        source.error(format!(
            "numbers of type {kind} are not read; save the array as float32 (numpy: a.astype('f4'))"
        ))
    })?;
    let &[rows, cols] = header.shape() else {
        return Err(source.error(format!(
            "this array has {} dimensions; a map has 2, rows and columns",
            header.shape().len()
        )));
    };
    let (width, height, cells) = source.cells(cols, rows)?;
    let (present, needed) = (source.len.saturating_sub(header_len), cells as u64 * size as u64);
    if present < needed {
        return Err(source.damaged(format!(
            "{rows}x{cols} numbers of {size} bytes take {needed} bytes, but there are {present}"
        )));
    }

    // One line of the file at a time: a row, or a column in Fortran order.
    let fortran = header.order() == Order::Fortran;
    let (lines, length) =
        if fortran { (width as usize, height as usize) } else { (height as usize, width as usize) };
    let mut data: Vec<f32> = source.room(cells)?;
    if fortran {
        // A column's values lie apart, so all places must be there before the first.
        data.resize(cells, 0.0);
    }
    let mut line: Vec<u8> = source.room(length * size)?;
    line.resize(length * size, 0);
    for i in 0..lines {
        reader.read_exact(&mut line).map_err(|e| source.damaged(e))?;
        let values = line.chunks_exact_mut(size).map(|bytes| {
            if kind.endianness() == Endianness::Big {
                bytes.reverse();
            }
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            value(word)
        });
        if fortran {
            values.enumerate().for_each(|(row, v)| data[row * lines + i] = v);
        } else {
            data.extend(values);
        }
    }

    let mut raster = Raster::new(width, height, data);
    if present > needed {
        raster.warnings.push(format!("{} bytes after the array are ignored", present - needed));
    }
    raster.may_scale = match (char, size) {
        (TypeChar::Uint, 1) => Some(255.0),
        (TypeChar::Uint, 2) => Some(65535.0),
        _ => None,
    };
    raster.nodata = Some(f64::from(VOID)).filter(|_| matches!((char, size), (TypeChar::Int, 2)));
    raster.few_bits =
        Some(8).filter(|_| matches!(char, TypeChar::Int | TypeChar::Uint) && size == 1);
    Ok(raster)
}

/// The header, and its length in bytes.
fn header<R: BufRead>(reader: &mut R, source: &Source) -> Result<(NpyHeader, u64)> {
    let cut = |e: std::io::Error| source.damaged(e);
    let mut start = [0; 12];
    reader.read_exact(&mut start[..10]).map_err(cut)?;
    // NPY: version 1 has a length of two bytes, and later ones have four.
    let (known, text_len) = if start[6] == 1 {
        (10, u64::from(u16::from_le_bytes([start[8], start[9]])))
    } else {
        reader.read_exact(&mut start[10..]).map_err(cut)?;
        (12, u64::from(u32::from_le_bytes([start[8], start[9], start[10], start[11]])))
    };
    if text_len > MAX_HEADER {
        return Err(source
            .error(format!("its header claims {text_len} bytes; at most {MAX_HEADER} are read")));
    }
    let mut bytes = start[..known].to_vec();
    bytes.resize(known + text_len as usize, 0);
    reader.read_exact(&mut bytes[known..]).map_err(cut)?;
    let brackets = bytes[known..].iter().filter(|b| b"([{".contains(b)).count();
    if brackets > MAX_BRACKETS {
        return Err(source.error(format!(
            "its header opens {brackets} brackets; that of an array of numbers opens 2, and at \
             most {MAX_BRACKETS} are read; if this array has records, save one field of it as \
             float32"
        )));
    }
    let header = NpyHeader::from_reader(bytes.as_slice()).map_err(|e| source.damaged(e))?;
    Ok((header, bytes.len() as u64))
}

/// Converts a number from little-endian bytes, padded with zeros.
fn decoder(char: TypeChar, size: usize) -> Option<fn([u8; 8]) -> f32> {
    fn low<const N: usize>(w: [u8; 8]) -> [u8; N] {
        std::array::from_fn(|i| w[i])
    }
    Some(match (char, size) {
        (TypeChar::Float, 2) => |w| f16::from_le_bytes(low(w)).to_f32(),
        (TypeChar::Float, 4) => |w| f32::from_le_bytes(low(w)),
        (TypeChar::Float, 8) => |w| f64::from_le_bytes(w) as f32,
        (TypeChar::Int, 1) => |w| f32::from(w[0] as i8),
        (TypeChar::Int, 2) => |w| match i16::from_le_bytes(low(w)) {
            VOID => f32::NAN,
            metres => f32::from(metres),
        },
        (TypeChar::Int, 4) => |w| i32::from_le_bytes(low(w)) as f32,
        (TypeChar::Int, 8) => |w| i64::from_le_bytes(w) as f32,
        (TypeChar::Uint, 1) => |w| f32::from(w[0]),
        (TypeChar::Uint, 2) => |w| f32::from(u16::from_le_bytes(low(w))),
        (TypeChar::Uint, 4) => |w| u32::from_le_bytes(low(w)) as f32,
        (TypeChar::Uint, 8) => |w| u64::from_le_bytes(w) as f32,
        _ => return None,
    })
}

pub(super) fn encode(map: &Map) -> Result<Vec<u8>> {
    let mut out = head::<f32>("<f4", &[map.height.into(), map.width.into()])?;
    out.reserve_exact(map.data.len() * 4);
    out.extend(map.data.iter().flat_map(|v| v.to_le_bytes()));
    Ok(out)
}

/// Layers of whole numbers, as an array of layers, rows and columns.
pub(super) fn encode_layers(
    [width, height]: [u32; 2],
    layers: usize,
    values: &[u16],
) -> Result<Vec<u8>> {
    let mut out = head::<u16>("<u2", &[layers as u64, height.into(), width.into()])?;
    out.reserve_exact(values.len() * 2);
    out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    Ok(out)
}

/// What comes before the values.
fn head<T: npyz::Serialize>(kind: &str, shape: &[u64]) -> Result<Vec<u8>> {
    let fail =
        |e: &dyn std::fmt::Display| Error::limit(format!("this map cannot be written as NPY: {e}"));
    let kind = kind.parse().map_err(|e| fail(&e))?;
    let mut out = Cursor::new(Vec::new());
    let options = WriteOptions::<T>::new().dtype(DType::Plain(kind)).shape(shape).writer(&mut out);
    options.write_header_only().map_err(|e| fail(&e))?;
    Ok(out.into_inner())
}
