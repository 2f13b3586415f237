//! Masks in BMP, JPEG and WebP: 8-bit grey levels, decoded by the crate `image`.

use std::io::{Cursor, Read};

use image::codecs::{bmp::BmpDecoder, jpeg::JpegDecoder, webp::WebPDecoder};
use image::{ColorType, DynamicImage, GrayImage, ImageDecoder, ImageFormat, Limits, Pixel, Rgb};

use super::{Raster, Samples, Source};
use crate::{Error, Result};

/// The format that an extension in lower case stands for.
pub(super) fn format(extension: &str) -> Option<ImageFormat> {
    Some(match extension {
        "bmp" => ImageFormat::Bmp,
        "jpg" | "jpeg" => ImageFormat::Jpeg,
        "webp" => ImageFormat::WebP,
        _ => return None,
    })
}

pub(super) fn read(mut reader: impl Read, source: &Source, format: ImageFormat) -> Result<Raster> {
    // No picture needs more than eight bytes a pixel, beside its palette, its colour profile and
    // its thumbnail.
    let most = source.options.max_cells.saturating_mul(8).saturating_add(16 << 20);
    if source.len > most {
        return Err(Error::over(
            format!(
                "{}: {} bytes are more than the {most} that are accepted: cut the picture",
                source.path.display(),
                source.len
            ),
            source.len,
            most,
            "bytes",
        ));
    }
    let mut bytes = source.room(usize::try_from(source.len).unwrap_or(usize::MAX))?;
    reader.read_to_end(&mut bytes).map_err(|e| source.damaged(e))?;
    let file = Cursor::new(bytes.as_slice());
    match format {
        ImageFormat::Bmp => levels(
            BmpDecoder::new(file).map_err(|e| source.damaged(e))?,
            source,
            bmp_cells_max(&bytes),
        ),
        ImageFormat::Jpeg => {
            if source.options.samples == Samples::Numbers {
                return Err(source.error(
                    "JPEG is lossy, and changed levels are other numbers; save \
                     it as 8-bit greyscale PNG",
                ));
            }
            // For its missing part, the decoder would give grey.
            if !jpeg_ends(&bytes) {
                return Err(source.damaged("the end of the JPEG is missing"));
            }
            // A block of 64 pixels takes at least a bit.
            levels(
                JpegDecoder::new(file).map_err(|e| source.damaged(e))?,
                source,
                source.len.saturating_mul(512),
            )
        }
        ImageFormat::WebP => {
            check_webp(&bytes, source)?;
            levels(WebPDecoder::new(file).map_err(|e| source.damaged(e))?, source, u64::MAX)
        }
        other => Err(source.error(format!("{other:?} is not read; save it as greyscale PNG"))),
    }
}

/// The grey levels of a picture of which the file can hold at most `cells_max` pixels.
fn levels(mut decoder: impl ImageDecoder, source: &Source, cells_max: u64) -> Result<Raster> {
    let (width, height) = decoder.dimensions();
    let (width, height, cells) = source.cells(width.into(), height.into())?;
    if cells as u64 > cells_max {
        return Err(
            source.damaged(format!("{} bytes cannot hold {width}x{height} pixels", source.len))
        );
    }
    let color = decoder.color_type();
    let channels = match color {
        ColorType::L8 | ColorType::Rgb8 | ColorType::Rgba8 => usize::from(color.channel_count()),
        other => {
            return Err(source.error(format!(
                "its pixels are {other:?}, which are not read; save it as greyscale PNG"
            )));
        }
    };
    let mut limits = Limits::no_limits();
    (limits.max_image_width, limits.max_image_height) = (Some(width), Some(height));
    limits.max_alloc = Some((cells as u64).saturating_mul(16).saturating_add(64 << 20));
    decoder.set_limits(limits).map_err(|e| source.damaged(e))?;
    // Cameras store rows as the sensor reads them, and say in Exif how to turn them.
    let orientation = decoder.orientation().map_err(|e| source.damaged(e))?;
    let mut pixels: Vec<u8> = source.room(cells * channels)?;
    pixels.resize(cells * channels, 0);
    decoder.read_image(&mut pixels).map_err(|e| source.damaged(e))?;

    let coloured = |p: &[u8]| channels > 1 && (p[0] != p[1] || p[1] != p[2]);
    if source.options.samples == Samples::Numbers && pixels.chunks_exact(channels).any(coloured) {
        return Err(source.error(
            "this picture has colours, which are no numbers; save it as 8-bit \
             greyscale, or as PNG with a palette",
        ));
    }
    let transparent = channels == 4 && pixels.chunks_exact(4).any(|p| p[3] != u8::MAX);
    let mut grey: Vec<u8> = source.room(cells)?;
    grey.extend(
        pixels
            .chunks_exact(channels)
            .map(|p| if channels == 1 { p[0] } else { Rgb([p[0], p[1], p[2]]).to_luma().0[0] }),
    );
    drop(pixels);
    let grey = GrayImage::from_raw(width, height, grey)
        .ok_or_else(|| source.damaged("the header contradicts itself"))?;
    let mut upright = DynamicImage::from(grey);
    upright.apply_orientation(orientation);
    let mut data = source.room(cells)?;
    data.extend(upright.as_bytes().iter().map(|level| f32::from(*level)));
    let mut raster = Raster::new(upright.width(), upright.height(), data);
    raster.full_scale = Some(255.0);
    if transparent {
        raster.warnings.push("the transparency of the picture is ignored".into());
    }
    Ok(raster)
}

/// Whether the mark of a JPEG's end follows its last scan.
fn jpeg_ends(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        match bytes.get(at..) {
            Some([0xff, 0xd9, ..]) => return true,
            // A byte of a scan, a mark without a length.
            Some([0xff, 0x00 | 0x01 | 0xd0..=0xd7, ..]) => at += 2,
            // A segment, with its length. A thumbnail inside it has an end of its own.
            Some([0xff, 0x02..=0xfe, high, low, ..]) => {
                at += 2 + usize::from(u16::from_be_bytes([*high, *low]))
            }
            Some([_, _, ..]) => at += 1,
            _ => return false,
        }
    }
}

/// The most pixels that a BMP of these bytes can have.
fn bmp_cells_max(bytes: &[u8]) -> u64 {
    let short =
        |at: usize| bytes.get(at..at + 2).map_or(0, |b| u64::from(b[0]) | u64::from(b[1]) << 8);
    // The oldest header has 12 bytes and knows no compression.
    let (bits, compression) = if short(14) == 12 { (short(24), 0) } else { (short(28), short(30)) };
    match compression {
        // Run lengths: a file may leave out pixels.
        1 | 2 => u64::MAX,
        _ => bytes.len() as u64 * 8 / bits.max(1),
    }
}

/// Refuses a WebP that is cut off or animated, and for numbers a lossy one.
fn check_webp(bytes: &[u8], source: &Source) -> Result<()> {
    let long = |at: usize| {
        bytes.get(at..at + 4).map(|b| b.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b)))
    };
    let cut = || source.damaged("a part of the WebP is missing");
    let end = long(4)
        .map(|size| size.saturating_add(8))
        .filter(|end| *end <= bytes.len())
        .ok_or_else(cut)?;
    // Chunks begin behind "RIFF", the length of the rest, and "WEBP".
    let mut at = 12;
    while at < end {
        let size =
            long(at + 4).filter(|size| size.saturating_add(at + 8) <= end).ok_or_else(cut)?;
        let chunk = &bytes[at + 8..at + 8 + size];
        match &bytes[at..at + 4] {
            b"ANMF" => return Err(source.error("this is an animation; save one plain picture")),
            b"VP8 " => {
                if source.options.samples == Samples::Numbers {
                    return Err(source.error(
                        "this WebP is lossy, and changed levels are other numbers; \
                         save it as lossless WebP",
                    ));
                }
                // A picture with a canvas says its size twice, and the decoder takes memory for
                // this one.
                if let Some(&[a, b, c, d]) = chunk.get(6..10) {
                    source.cells(
                        (u16::from_le_bytes([a, b]) & 0x3fff).into(),
                        (u16::from_le_bytes([c, d]) & 0x3fff).into(),
                    )?;
                }
            }
            _ => {}
        }
        // RIFF: a chunk of odd length is followed by a byte that its length does not count.
        at += 8 + size.next_multiple_of(2);
    }
    Ok(())
}
