//! PNG: reads grey heights and numbers; writes 16-bit grey heights, 8-bit pictures, and numbers
//! with a palette.

use std::io::{BufRead, Seek, Write};
use std::path::Path;

use png::{
    BitDepth, ColorType, Compression, Decoder, Encoder, EncodingError, Filter, Limits,
    Transformations, Writer, text_metadata::TEXtChunk,
};

use super::{Raster, Samples, Source};
use crate::map::Map;
use crate::{Error, Result};

/// Keywords of the texts that say what 0 and the highest level stand for, lowest first, and how
/// many metres lie between samples.
const RANGE: &str = "thalweg range";
const SPACING: &str = "thalweg spacing_m";

pub(super) fn read<R: BufRead + Seek>(reader: R, source: &Source) -> Result<Raster> {
    let mut decoder = Decoder::new(reader);
    let (width, height, bits, color) = {
        let info = decoder.read_header_info().map_err(|e| source.damaged(e))?;
        (info.width, info.height, info.bit_depth as u8, info.color_type)
    };
    let (width, height, cells) = source.cells(width.into(), height.into())?;
    let alpha = has_alpha(color, bits, source)?;
    let raw_bytes = cells as u64 * u64::from(bits) * (1 + u64::from(alpha)) / 8;
    // Deflate makes at most 1032 bytes of one, so a smaller file lies about its size.
    if raw_bytes / 1040 > source.len {
        return Err(
            source.damaged(format!("{} bytes cannot hold {width}x{height} samples", source.len))
        );
    }
    // The pixels are in our own buffer; this limits the decoder's other buffers.
    decoder.set_limits(Limits { bytes: (64 << 20) + 16 * width as usize });
    let palette = color == ColorType::Indexed;
    decoder.set_transformations(if palette {
        Transformations::IDENTITY
    } else {
        Transformations::EXPAND
    });
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(|e| source.damaged(e))?;
    let (color, depth) = reader.output_color_type();
    let stride = match (color, depth) {
        (ColorType::Indexed, _) if palette => 1,
        (ColorType::Grayscale, BitDepth::Eight) => 1,
        (ColorType::GrayscaleAlpha, BitDepth::Eight)
        | (ColorType::Grayscale, BitDepth::Sixteen) => 2,
        (ColorType::GrayscaleAlpha, BitDepth::Sixteen) => 4,
        _ => return Err(source.damaged("the header changed while reading")),
    };
    // Indices of fewer than 8 bits share bytes, and each row begins a new byte.
    let row = if palette {
        (width as usize * usize::from(bits)).div_ceil(8)
    } else {
        width as usize * stride
    };
    let size = reader.output_buffer_size().filter(|&n| n == row * height as usize);
    let size = size.ok_or_else(|| source.damaged("the header contradicts itself"))?;
    let mut pixels = source.room(size)?;
    pixels.resize(size, 0u8);
    let frame = reader.next_frame(&mut pixels).map_err(|e| source.damaged(e))?;
    if (frame.width, frame.height) != (width, height) {
        return Err(source.error(
            "this is an animation whose first frame does not fill it; save one plain picture",
        ));
    }
    // Texts may come behind the pixels.
    reader.finish().map_err(|e| source.damaged(e))?;
    let texts = reader.info().uncompressed_latin1_text.clone();
    let wide = depth == BitDepth::Sixteen;
    let mut data = source.room(cells)?;
    if palette {
        let rows = pixels.chunks_exact(row);
        data.extend(rows.flat_map(|row| indices(row, width as usize, usize::from(bits))));
    } else {
        data.extend(pixels.chunks_exact(stride).map(|p| {
            if wide { f32::from(u16::from_be_bytes([p[0], p[1]])) } else { f32::from(p[0]) }
        }));
    }
    let mut raster = Raster::new(width, height, data);
    read_texts(&mut raster, &texts);
    // The decoder has stretched 1, 2 and 4 bits to 8 already.
    raster.full_scale = Some(if wide { 65535.0 } else { 255.0 });
    raster.few_bits = Some(bits).filter(|bits| *bits <= 8);
    if color == ColorType::GrayscaleAlpha {
        raster.warnings.push("the transparency of the PNG is ignored".into());
    }
    Ok(raster)
}

/// Whether samples have an alpha channel beside them. Refuses samples that are not what is wanted.
fn has_alpha(color: ColorType, bits: u8, source: &Source) -> Result<bool> {
    let numbers = source.options.samples == Samples::Numbers;
    Ok(match color {
        ColorType::Grayscale | ColorType::GrayscaleAlpha if numbers && bits == 16 => {
            return Err(source.error(
                "this PNG has 16 bits a sample, but numbers have 8; save it as 8-bit \
                 greyscale, or with a palette",
            ));
        }
        ColorType::Indexed if numbers => false,
        ColorType::Grayscale => false,
        ColorType::GrayscaleAlpha => true,
        _ if numbers => {
            return Err(source.error(
                "this PNG has colours, which are no numbers; save it with a palette, whose indices \
                 are, or as 8-bit greyscale",
            ));
        }
        ColorType::Rgb | ColorType::Rgba | ColorType::Indexed => {
            return Err(source.error(
                "this PNG is coloured, and colours are no heights; save it as 16-bit \
                 greyscale without a palette",
            ));
        }
    })
}
/// What the texts of a picture say of its heights and its spacing.
fn read_texts(raster: &mut Raster, texts: &[TEXtChunk]) {
    let text = |keyword: &str| {
        let found = texts.iter().find(|text| text.keyword == keyword)?;
        let number = |part: &str| part.parse::<f64>().ok().filter(|v| v.is_finite());
        found.text.split(' ').map(number).collect::<Option<Vec<_>>>()
    };
    if let Some(&[low, high]) =
        text(RANGE).as_deref().filter(|range| range.len() == 2 && range[0] < range[1])
    {
        raster.range = Some((low, high));
    }
    if let Some(&[spacing_m]) =
        text(SPACING).as_deref().filter(|spacing| spacing.iter().all(|v| *v > 0.0))
    {
        raster.spacing_m = Some(spacing_m);
    }
}

/// The indices of a row of a palette's picture: the first of a byte is in its highest bits.
fn indices(row: &[u8], width: usize, bits: usize) -> impl Iterator<Item = f32> {
    let index =
        move |x: usize| (row[x * bits / 8] >> (8 - bits - x * bits % 8)) & (0xff >> (8 - bits));
    (0..width).map(move |x| f32::from(index(x)))
}

fn error(e: png::EncodingError) -> Error {
    Error::limit(format!("this size cannot be written as PNG: {e}"))
}

/// Big-endian bytes of 16-bit samples, or bytes of 8-bit ones.
pub(super) fn encode(
    width: u32,
    height: u32,
    color: ColorType,
    depth: BitDepth,
    bytes: &[u8],
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut writer =
        encoder(&mut out, width, height, color, depth).write_header().map_err(error)?;
    writer.write_image_data(bytes).map_err(error)?;
    writer.finish().map_err(error)?;
    Ok(out)
}

/// Encodes indices of a palette.
pub(super) fn encode_indices(
    width: u32,
    height: u32,
    palette: &[[u8; 3]],
    indices: &[u8],
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = encoder(&mut out, width, height, ColorType::Indexed, BitDepth::Eight);
    // Neighbouring indices are unrelated, so a filter only makes the file larger.
    encoder.set_filter(Filter::NoFilter);
    encoder.set_palette(palette.as_flattened().to_vec());
    let mut writer = encoder.write_header().map_err(error)?;
    writer.write_image_data(indices).map_err(error)?;
    writer.finish().map_err(error)?;
    Ok(out)
}

fn encoder<W: Write>(
    to: W,
    width: u32,
    height: u32,
    color: ColorType,
    depth: BitDepth,
) -> Encoder<'static, W> {
    let mut encoder = Encoder::new(to, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    // The encoder's default is 16 times slower on heights and saves a tenth. Setting the
    // compression also sets a filter, so the filter comes after it.
    encoder.set_compression(Compression::Fast);
    encoder.set_filter(Filter::Paeth);
    encoder
}

/// Begins an endless animation of `frames` coloured pictures. Each is shown for the same fraction
/// of a second.
pub(super) fn animate<W: Write>(
    to: W,
    (width, height): (u32, u32),
    frames: u32,
    (numerator, denominator): (u16, u16),
) -> Result<Writer<W>, EncodingError> {
    let mut encoder = encoder(to, width, height, ColorType::Rgb, BitDepth::Eight);
    encoder.set_animated(frames, 0)?;
    encoder.set_frame_delay(numerator, denominator)?;
    encoder.write_header()
}

/// The error of an encoder that writes to a file.
pub(super) fn failed(path: &Path, e: EncodingError) -> Error {
    match e {
        EncodingError::IoError(e) => Error::output(path, e),
        e => error(e),
    }
}

/// Encodes grey levels, with texts that say what they stand for.
pub(super) fn encode16(map: &Map, (low, high): (f64, f64), samples: &[u16]) -> Result<Vec<u8>> {
    let bytes: Vec<u8> = samples.iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut out = Vec::new();
    let mut encoder =
        encoder(&mut out, map.width, map.height, ColorType::Grayscale, BitDepth::Sixteen);
    encoder.add_text_chunk(RANGE.into(), format!("{low} {high}")).map_err(error)?;
    encoder.add_text_chunk(SPACING.into(), map.spacing_m.to_string()).map_err(error)?;
    let mut writer = encoder.write_header().map_err(error)?;
    writer.write_image_data(&bytes).map_err(error)?;
    writer.finish().map_err(error)?;
    Ok(out)
}
