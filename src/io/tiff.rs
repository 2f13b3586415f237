//! TIFF and GeoTIFF: reads one band of any number type; writes 32-bit floats in tiles or strips.

use std::io::{BufRead, Cursor, Seek};

use geotiff_writer::{Compression, GeoTiffBuilder, Predictor, RasterType};
use ndarray::ArrayView2;
use tiff::decoder::{ChunkType, Decoder, DecodingResult, Limits};
use tiff::{ColorType, TiffError};

use super::geo::{self, Geo};
use super::{Raster, Source};
use crate::map::Map;
use crate::{Error, Result};

/// Larger maps are written in tiles of this side, smaller ones in strips.
const TILE: u32 = 512;

pub(super) fn read<R: BufRead + Seek>(reader: R, source: &Source) -> Result<Raster> {
    let bad = |e: TiffError| source.damaged(e);
    let mut decoder = Decoder::new(reader).map_err(bad)?;
    let (width, height) = decoder.dimensions().map_err(bad)?;
    let (width, height, cells) = source.cells(width.into(), height.into())?;
    match decoder.colortype().map_err(bad)? {
        ColorType::Gray(8 | 16 | 32 | 64) => {}
        ColorType::Gray(bits) => {
            return Err(source.error(format!("this TIFF has {bits} bits a sample, which are not read; save it as 32-bit float")));
        }
        ColorType::Palette(_) => {
            return Err(source.error("this TIFF has a palette, and colours are no heights; save it as 32-bit float"));
        }
        other => {
            return Err(source.error(format!(
                "this TIFF has several bands ({other:?}), but a map has one; extract it first (gdal_translate -b 1)"
            )));
        }
    }
    let longest = usize::try_from(source.len).unwrap_or(usize::MAX);
    let mut limits = Limits::default();
    limits.decoding_buffer_size = cells.saturating_mul(8).max(1 << 24);
    // Compressed data and tag values are parts of the file, so neither can be longer than it.
    limits.intermediate_buffer_size = longest;
    limits.ifd_value_size = longest;
    let mut decoder = decoder.with_limits(limits);
    let geo = geo::read(&mut decoder).map_err(bad)?;

    let (chunk_w, chunk_h) = decoder.chunk_dimensions();
    let (chunk_w, chunk_h) = (chunk_w.min(width) as usize, chunk_h.min(height) as usize);
    if chunk_w == 0 || chunk_h == 0 {
        return Err(source.damaged("its tiles or strips are empty"));
    }
    let (width_us, height_us) = (width as usize, height as usize);
    let across = if decoder.get_chunk_type() == ChunkType::Tile { width_us.div_ceil(chunk_w) } else { 1 };
    let mut data: Vec<f32> = source.room(cells)?;
    let mut kind = None;
    // One row of chunks at a time, so that memory is only allocated for data that the file really holds.
    for top in (0..height_us).step_by(chunk_h) {
        let rows = chunk_h.min(height_us - top);
        data.resize((top + rows) * width_us, f32::NAN);
        for i in 0..across {
            let left = i * chunk_w;
            let cols = chunk_w.min(width_us - left);
            let index = u32::try_from(top / chunk_h * across + i).map_err(|_| source.damaged("it has too many tiles"))?;
            let chunk = decoder.read_chunk(index).map_err(bad)?;
            let target = data[top * width_us..].chunks_exact_mut(width_us).map(|row| &mut row[left..left + cols]);
            let this = place(target, &chunk, cols, geo.nodata);
            if this.is_none_or(|k| k.samples < rows * cols) {
                return Err(source.damaged("a tile or strip is too short"));
            }
            kind = this;
        }
    }
    let kind = kind.ok_or_else(|| source.damaged("it holds no samples"))?;
    Ok(describe(Raster::new(width, height, data), geo, &kind))
}

/// What the samples of a chunk are.
#[derive(Clone, Copy)]
struct Kind {
    samples: usize,
    bits: u8,
    /// The highest value of 8 and 16-bit unsigned integers, which may be heights without a unit.
    unsigned: Option<f64>,
}

/// Copies the rows of a chunk into the map, with NaN for missing values.
fn place<'a>(
    target: impl Iterator<Item = &'a mut [f32]>,
    chunk: &DecodingResult,
    cols: usize,
    nodata: Option<f64>,
) -> Option<Kind> {
    fn copy<'a, T: Copy + PartialEq>(
        target: impl Iterator<Item = &'a mut [f32]>,
        values: &[T],
        cols: usize,
        nodata: Option<T>,
        height: impl Fn(T) -> f32,
    ) {
        for (row, values) in target.zip(values.chunks_exact(cols)) {
            row.iter_mut().zip(values).for_each(|(t, &v)| *t = if Some(v) == nodata { f32::NAN } else { height(v) });
        }
    }
    // An integer equals the nodata value only if that is an integer of its type.
    macro_rules! integers {
        ($v:expr, $t:ty, $bits:expr, $unsigned:expr) => {{
            let none = nodata.filter(|n| *n as $t as f64 == *n).map(|n| n as $t);
            copy(target, $v, cols, none, |v| v as f32);
            Kind { samples: $v.len(), bits: $bits, unsigned: $unsigned }
        }};
    }
    Some(match chunk {
        DecodingResult::U8(v) => integers!(v, u8, 8, Some(255.0)),
        DecodingResult::U16(v) => integers!(v, u16, 16, Some(65535.0)),
        DecodingResult::U32(v) => integers!(v, u32, 32, None),
        DecodingResult::U64(v) => integers!(v, u64, 64, None),
        DecodingResult::I8(v) => integers!(v, i8, 8, None),
        DecodingResult::I16(v) => integers!(v, i16, 16, None),
        DecodingResult::I32(v) => integers!(v, i32, 32, None),
        DecodingResult::I64(v) => integers!(v, i64, 64, None),
        DecodingResult::F16(v) => {
            let none = nodata.map(|n| n as f32);
            copy(target, v, cols, v.iter().copied().find(|h| Some(h.to_f32()) == none), |v| v.to_f32());
            Kind { samples: v.len(), bits: 16, unsigned: None }
        }
        DecodingResult::F32(v) => {
            copy(target, v, cols, nodata.map(|n| n as f32), |v| v);
            Kind { samples: v.len(), bits: 32, unsigned: None }
        }
        DecodingResult::F64(v) => {
            copy(target, v, cols, nodata, |v| v as f32);
            Kind { samples: v.len(), bits: 64, unsigned: None }
        }
    })
}

fn describe(mut raster: Raster, geo: Geo, kind: &Kind) -> Raster {
    raster.few_bits = Some(8).filter(|bits| kind.bits == *bits);
    // Integers of a GeoTIFF are metres. Unsigned ones without georeferencing are grey levels, as in a PNG.
    if geo.is_geo {
        raster.may_scale = kind.unsigned
    } else {
        raster.full_scale = kind.unsigned
    }
    raster.nodata = geo.nodata;
    let (spacing, georef) = geo.place(raster.height, &mut raster.warnings);
    raster.spacing_m = spacing;
    raster.georef = georef;
    raster
}

pub(super) fn encode(map: &Map, warnings: &mut Vec<String>) -> Result<Vec<u8>> {
    let fail = |e: &dyn std::fmt::Display| Error::Limit(format!("this map cannot be written as TIFF: {e}"));
    let mut builder = GeoTiffBuilder::new(map.width, map.height)
        .compression(Compression::Deflate)
        .deflate_level(1)
        .predictor(Predictor::FloatingPoint)
        .raster_type(RasterType::PixelIsArea);
    if map.width > TILE || map.height > TILE {
        builder = builder.tile_size(TILE, TILE);
    }
    builder = match &map.georef {
        Some(g) => {
            let builder = match g.epsg.map(u16::try_from) {
                Some(Ok(code)) if geo::is_geographic(g, code, map.spacing_m) => builder.geographic_epsg(code),
                Some(Ok(code)) => builder.projected_epsg(code),
                Some(Err(_)) => {
                    warnings.push("the code of the coordinate system does not fit into a GeoTIFF and is left out".into());
                    builder
                }
                None => builder,
            };
            builder.pixel_scale(g.cell.0, g.cell.1).origin(g.west, g.north)
        }
        None => {
            let (west, north) = geo::local_corner(map.spacing_m);
            builder.pixel_scale(map.spacing_m, map.spacing_m).origin(west, north)
        }
    };
    let view = ArrayView2::from_shape((map.height as usize, map.width as usize), &map.data).map_err(|e| fail(&e))?;
    let mut out = Cursor::new(Vec::new());
    builder.write_2d_to(&mut out, view).map_err(|e| fail(&e))?;
    Ok(out.into_inner())
}
