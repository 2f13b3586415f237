//! Bare samples: 16-bit unsigned integers or 32-bit floats, row by row, little-endian unless a
//! header beside them says otherwise.

use std::io::BufRead;

use super::envi::Header;
use super::{MapFormat, Raster, Source};
use crate::Result;
use crate::map::Map;

pub(super) fn read16<R: BufRead>(reader: R, source: &Source) -> Result<Raster> {
    let header = source.header(MapFormat::R16)?;
    let Header { range, spacing_m, big_endian, .. } = header.unwrap_or_default();
    let value = if big_endian {
        |b| f32::from(u16::from_be_bytes(b))
    } else {
        |b| f32::from(u16::from_le_bytes(b))
    };
    let raster = read(reader, source, header.map(|h| h.size), value)?;
    Ok(Raster { full_scale: Some(65535.0), range, spacing_m, ..raster })
}

pub(super) fn read32<R: BufRead>(reader: R, source: &Source) -> Result<Raster> {
    let header = source.header(MapFormat::R32)?;
    let Header { spacing_m, big_endian, .. } = header.unwrap_or_default();
    let value = if big_endian { f32::from_be_bytes } else { f32::from_le_bytes };
    let raster = read(reader, source, header.map(|h| h.size), value)?;
    Ok(Raster { spacing_m, ..raster })
}

/// Samples of `N` bytes, which make values. Their size is the one asked for, else the one that
/// something beside them says, else a square.
pub(super) fn read<R: BufRead, const N: usize>(
    mut reader: R,
    source: &Source,
    said: Option<(u32, u32)>,
    value: fn([u8; N]) -> f32,
) -> Result<Raster> {
    let len = source.len;
    let samples = len / N as u64;
    let size = source.options.size.or(said);
    let (width, height) = match size {
        Some((w, h)) => (u64::from(w), u64::from(h)),
        // A number that is no square fails below, like a length that is no multiple of a sample.
        None => (samples.isqrt(), samples.isqrt()),
    };
    let fits = width.checked_mul(height).and_then(|n| n.checked_mul(N as u64)) == Some(len);
    if !fits {
        return Err(source.error(match size {
            Some((w, h)) => {
                format!(
                    "{w}x{h} samples of {N} bytes take {} bytes, but the file has {len}",
                    u128::from(width * height) * N as u128
                )
            }
            None => format!(
                "{len} bytes are not a square map of {N}-byte samples; give the width \
                 and height with --size"
            ),
        }));
    }
    let (width, height, cells) = source.cells(width, height)?;
    let mut data = source.room(cells)?;
    let mut row = source.room(width as usize * N)?;
    row.resize(width as usize * N, 0);
    for _ in 0..height {
        reader.read_exact(&mut row).map_err(|e| source.damaged(e))?;
        data.extend(row.as_chunks::<N>().0.iter().map(|b| value(*b)));
    }
    Ok(Raster::new(width, height, data))
}

pub(super) fn encode16(samples: &[u16]) -> Vec<u8> {
    samples.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub(super) fn encode32(map: &Map) -> Vec<u8> {
    map.data.iter().flat_map(|v| v.to_le_bytes()).collect()
}
