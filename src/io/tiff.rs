//! TIFF and GeoTIFF: reads one band of any number type; writes 32-bit floats in tiles or strips.

mod patched;

use std::io::Cursor;
use std::sync::Arc;

use geotiff_core::GeoKeyValue;
use geotiff_core::geokeys::{GT_RASTER_TYPE, PROJ_LINEAR_UNITS};
use geotiff_writer::{Compression, GeoTiffBuilder, Predictor, RasterType};
use ndarray::ArrayView2;
use rayon::prelude::*;
use tiff_reader::ifd::{Ifd, ParseBudgets};
use tiff_reader::source::{BytesSource, FileSource, SharedSource};
use tiff_reader::{ExtraSample, OpenOptions, RasterLayout, TiffError, TiffFile};
use tiff_writer::compress::{BlockEncodingOptions, compress_block};
use tiff_writer::{ImageBuilder, TiffWriter, WriteOptions};

use self::patched::{Patch, Patched};
use super::geo::{self, Geo};
use super::nodata::VOID;
use super::units::METRE;
use super::{Bytes, Raster, Source};
use crate::map::Map;
use crate::{Error, Result, memory};

/// Larger maps are written in tiles of this side, smaller ones in strips.
pub(super) const TILE: u32 = 512;
/// How samples are compressed: quickly.
const COMPRESSION: Compression = Compression::Deflate;
const LEVEL: u32 = 1;
/// Predictor 3 (Adobe, TIFF Technical Note 3) sorts the bytes of a row by their weight, and of
/// heights next to each other the high ones hardly differ.
const PREDICTOR: Predictor = Predictor::FloatingPoint;
/// The first of the tags that GeoTIFF and GDAL have added to those of TIFF.
const ADDED: u16 = 32768;
/// What a file may hold besides its samples: pictures, and bytes of their tags. A tag of each tile
/// takes eight bytes.
const PICTURES_MAX: usize = 256;
const TAGS_MAX: usize = 64 << 20;
/// The tag that says what a picture is to the first one, and its bit for a mask of samples that
/// have a value.
const SUBFILE: u16 = 254;
const SAMPLE_FORMAT: u16 = 339;
const MASK: u32 = 4;
/// Colours of a palette.
const PALETTE: u16 = 3;
/// Bands one after the other, and not the bands of a sample.
const PLANES_APART: u16 = 2;

/// The numbers of samples, by the tag `SampleFormat`.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Unsigned,
    Signed,
    Float,
}

pub(super) fn read(source: &Source) -> Result<Raster> {
    // Tags are parts of the file, so they cannot be longer than it.
    let longest = usize::try_from(source.len).unwrap_or(usize::MAX).min(TAGS_MAX);
    let budgets = ParseBudgets {
        max_ifds: PICTURES_MAX,
        max_tag_value_bytes: longest,
        max_metadata_value_bytes: longest,
        ..ParseBudgets::default()
    };
    // Each tile or strip is read once. The decoder's buffers are limited below, when the size is
    // known.
    let options = OpenOptions {
        block_cache_bytes: 0,
        block_cache_slots: 0,
        parse_budgets: budgets,
        ..OpenOptions::default()
    };
    let (bytes, kind) = opened(source, options)?;
    let open = |options| TiffFile::from_source_with_options(bytes.clone(), options);
    let file = open(options).map_err(|e| fault(source, e))?;
    let ifd = file.ifd(0).map_err(|e| fault(source, e))?;
    let (width, height, cells) = source.cells(ifd.width().into(), ifd.height().into())?;
    let layout = ifd.raster_layout().map_err(|e| fault(source, e))?;
    let alpha = alpha_bands(ifd, layout.samples_per_pixel);
    let band = choose_band(layout.samples_per_pixel, &alpha, source)?;
    let across = layout.samples_per_pixel.saturating_mul(layout.bytes_per_sample);
    let block_rows =
        if ifd.is_tiled() { ifd.tile_height().unwrap_or(0) } else { ifd.rows_per_strip() };
    if block_rows == 0 || (ifd.is_tiled() && ifd.tile_width().unwrap_or(0) == 0) {
        return Err(source.damaged("its tiles or strips are empty"));
    }
    admit_block(ifd, &layout, block_rows, cells, source)?;
    // A tile or strip with all its bands, and a row of them.
    let decode_output_bytes = cells.saturating_mul(across).max(1 << 24);
    let file =
        open(OpenOptions { decode_output_bytes, ..options }).map_err(|e| fault(source, e))?;
    let ifd = file.ifd(0).map_err(|e| fault(source, e))?;
    let geo = geo::read(ifd, band);
    let bits = layout.bits_per_sample;

    let blocks = Blocks { file: &file, source, width, height, rows: block_rows };
    let mut data: Vec<f32> = source.room(cells)?;
    blocks.read(band, |first, samples, bytes| {
        append(&mut data, bytes, kind, bits, &geo).ok_or_else(|| source.error(unread(bits)))?;
        if data.len() != first + samples {
            return Err(source.damaged("a tile or strip is too short"));
        }
        Ok(())
    })?;
    let mut notes = vec![];
    // The first picture was read above, so the list has one at least.
    if let Some(mask) = file.ifds()[1..].iter().find(|other| is_mask_of(other, ifd)) {
        let bytes = file
            .read_window_bytes_from_ifd(mask, 0, 0, height as usize, width as usize)
            .map_err(|e| fault(source, e))?;
        if bytes.len() != cells {
            return Err(source.damaged("its mask has another size than its samples"));
        }
        void_where_zero(&mut data, &bytes);
    }
    if let Some(alpha) = alpha.into_iter().find(|alpha| *alpha != band) {
        let clear = void_where_clear(&mut data, &blocks, alpha, bits)?;
        notes.push(format!(
            "band {} is transparency: the {clear} samples where it is 0 have no value",
            alpha + 1
        ));
    }
    // The decoder gives zeros for absent blocks, which no test of samples above could tell from
    // land at 0 m.
    void_absent_blocks(&mut data, ifd, &geo, band);
    let mut raster = describe(Raster::new(width, height, data), geo, kind, bits);
    if layout.samples_per_pixel > 1 {
        let count = layout.samples_per_pixel;
        raster.warnings.insert(
            0,
            format!("the file has {count} bands, and heights are read from band {}", band + 1),
        );
    }
    raster.warnings.extend(notes);
    Ok(raster)
}

/// Refuses a file whose tiles or strips would take too much memory: the decoder makes room for one
/// with all its bands, also where the file does not hold it. Of its samples the map keeps one band.
fn admit_block(
    ifd: &Ifd,
    layout: &RasterLayout,
    rows: u32,
    cells: usize,
    source: &Source,
) -> Result<()> {
    let (wide, high) = match ifd.tile_width().filter(|_| ifd.is_tiled()) {
        Some(width) => (width, rows),
        None => (ifd.width(), rows.min(ifd.height())),
    };
    let apart = ifd.planar_configuration() == PLANES_APART;
    let bands = if apart { 1 } else { layout.samples_per_pixel };
    let bytes = [wide as u64, high.into(), bands as u64, layout.bytes_per_sample as u64]
        .into_iter()
        .fold(1, u64::saturating_mul);
    let most = (64 << 20) + 64 * cells as u64;
    if bytes > most {
        return Err(Error::limit(format!(
            "{}: tiles or strips of {wide} x {high} samples of {bands} bands take {bytes} bytes: \
             allowed {most} for {cells} samples; save the band of the heights alone, or smaller \
             tiles (gdal_translate -b 1 -co TILED=YES)",
            source.path.display(),
        )));
    }
    memory::admit(source.path.display(), bytes)
}

/// The bytes of a file, in which 16-bit floats call themselves integers, and the numbers of its
/// samples.
fn opened(source: &Source, options: OpenOptions) -> Result<(SharedSource, Kind)> {
    let bytes: SharedSource = match source.bytes {
        Bytes::Memory(bytes) => Arc::new(BytesSource::new(bytes.to_vec())),
        Bytes::File => Arc::new(FileSource::open(source.path).map_err(|e| fault(source, e))?),
    };
    let file =
        TiffFile::from_source_with_options(bytes.clone(), options).map_err(|e| fault(source, e))?;
    let ifd = file.ifd(0).map_err(|e| fault(source, e))?;
    // A size that is refused is the first thing to say of a file.
    source.cells(ifd.width().into(), ifd.height().into())?;
    let kind = kind_of(ifd, source)?;
    // The tag of a single band has a single value, which lies in the entry of the tag itself.
    let halves = kind == Kind::Float && ifd.bits_per_sample().is_ok_and(|bits| bits == [16]);
    let patch = if halves { Patch::halves_as_integers(&file, ifd) } else { None };
    Ok(match patch {
        Some(patch) => (Arc::new(Patched { bytes, patch }), kind),
        None => (bytes, kind),
    })
}

/// The rows of tiles or strips of a picture.
struct Blocks<'a> {
    file: &'a TiffFile,
    source: &'a Source<'a>,
    width: u32,
    height: u32,
    /// Rows of samples in one.
    rows: u32,
}

impl Blocks<'_> {
    /// Reads a band, one row of tiles or strips at a time. `take` gets the number of the first
    /// sample, how many there are, and their bytes.
    fn read(
        &self,
        band: usize,
        mut take: impl FnMut(usize, usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let width = self.width as usize;
        for top in (0..self.height).step_by(self.rows as usize) {
            let (top, rows) = (top as usize, self.rows.min(self.height - top) as usize);
            let bytes = self
                .file
                .read_band_window_bytes(0, band, top, 0, rows, width)
                .map_err(|e| fault(self.source, e))?;
            take(top * width, rows * width, &bytes)?;
        }
        Ok(())
    }
}

/// Samples have no value where a band of transparency is 0. Returns how many these are.
fn void_where_clear(data: &mut [f32], blocks: &Blocks, alpha: usize, bits: u16) -> Result<usize> {
    let size = (bits / 8).max(1) as usize;
    let mut clear = 0;
    blocks.read(alpha, |first, _, bytes| {
        // A sample of any type is 0 where its bytes are.
        let there: Vec<u8> = bytes
            .chunks_exact(size)
            .map(|sample| u8::from(sample.iter().any(|byte| *byte != 0)))
            .collect();
        clear += there.iter().filter(|there| **there == 0).count();
        void_where_zero(&mut data[first..], &there);
        Ok(())
    })?;
    Ok(clear)
}

/// Samples have no value where a mask is 0.
fn void_where_zero(data: &mut [f32], mask: &[u8]) {
    data.iter_mut()
        .zip(mask)
        .filter(|(_, there)| **there == 0)
        .for_each(|(value, _)| *value = f32::NAN);
}

/// The bands that say how transparent a sample is, from 0: they are the last ones, and a tag says
/// what these are.
fn alpha_bands(ifd: &Ifd, count: usize) -> Vec<usize> {
    let extra = ifd.extra_samples().unwrap_or_default();
    // TIFF 6.0, section 18: ExtraSamples counts the bands behind those of the colours.
    let first = count.saturating_sub(extra.len());
    let is_alpha = |kind: &ExtraSample| {
        matches!(kind, ExtraSample::AssociatedAlpha | ExtraSample::UnassociatedAlpha)
    };
    extra.iter().enumerate().filter(|(_, kind)| is_alpha(kind)).map(|(i, _)| first + i).collect()
}

/// Which samples have no value by a mask beside the file, as GDAL writes it: `land.tif.msk` for
/// `land.tif`, a TIFF with a band for all bands of the file, or one for each. True where there is
/// none.
pub(super) fn mask_beside(source: &Source, size: (u32, u32)) -> Result<Option<Vec<bool>>> {
    // The name of bytes in memory may be that of any file, so what lies beside it is not theirs.
    let Bytes::File = source.bytes else { return Ok(None) };
    let mut path = source.path.as_os_str().to_owned();
    path.push(".msk");
    let path = std::path::PathBuf::from(path);
    let Ok(meta) = std::fs::metadata(&path) else { return Ok(None) };
    let source =
        &Source { path: &path, len: meta.len(), bytes: Bytes::File, options: source.options };
    let budget = usize::try_from(meta.len()).unwrap_or(usize::MAX).min(TAGS_MAX);
    let budgets = ParseBudgets {
        max_ifds: PICTURES_MAX,
        max_tag_value_bytes: budget,
        max_metadata_value_bytes: budget,
        ..ParseBudgets::default()
    };
    let options = OpenOptions {
        block_cache_bytes: 0,
        block_cache_slots: 0,
        parse_budgets: budgets,
        ..OpenOptions::default()
    };
    let bytes: SharedSource = Arc::new(FileSource::open(&path).map_err(|e| fault(source, e))?);
    let file =
        TiffFile::from_source_with_options(bytes.clone(), options).map_err(|e| fault(source, e))?;
    let ifd = file.ifd(0).map_err(|e| fault(source, e))?;
    if (ifd.width(), ifd.height()) != size {
        let (width, height) = size;
        return Err(source.error(format!(
            "this mask has {}x{} samples, and the file beside it {width}x{height}; remove it, or \
             make it anew",
            ifd.width(),
            ifd.height()
        )));
    }
    let (.., cells) = source.cells(size.0.into(), size.1.into())?;
    let layout = ifd.raster_layout().map_err(|e| fault(source, e))?;
    let asked = source.options.band.unwrap_or(1) as usize;
    // A band that the mask does not cover has all its values, as in GDAL.
    let Some(band) = geo::mask_band(ifd, asked).filter(|band| *band < layout.samples_per_pixel)
    else {
        return Ok(None);
    };
    let decode_output_bytes = cells.saturating_mul(layout.samples_per_pixel).max(1 << 24);
    let file =
        TiffFile::from_source_with_options(bytes, OpenOptions { decode_output_bytes, ..options })
            .map_err(|e| fault(source, e))?;
    let bytes = file
        .read_band_window_bytes(0, band, 0, 0, size.1 as usize, size.0 as usize)
        .map_err(|e| fault(source, e))?;
    if bytes.len() != cells {
        return Err(source.error("this mask does not have samples of a byte or less"));
    }
    Ok(Some(bytes.iter().map(|there| *there == 0).collect()))
}

/// What a fault of the decoder means for the file.
fn fault(source: &Source, e: TiffError) -> Error {
    use TiffError::{
        DecodeOutputAllocationFailed, Io, UnsupportedBitsPerSample, UnsupportedCompression,
    };
    match e {
        UnsupportedCompression(code) => {
            let name = match code {
                34925 => "LZMA".into(),
                _ => e.to_string().trim_start_matches("unsupported compression: ").to_owned(),
            };
            source.error(format!(
                "its compression, {name}, is not read; save it with Deflate, LZW, ZSTD, PackBits, \
                 LERC or none (gdal_translate -co COMPRESS=DEFLATE)"
            ))
        }
        UnsupportedBitsPerSample(bits) => source.error(unread(bits)),
        DecodeOutputAllocationFailed { requested, .. } => {
            Error::limit(format!("{}: no memory for {requested} bytes", source.path.display()))
        }
        Io(e, _) => source.error(format!("cannot be read: {e}")),
        e => source.damaged(e),
    }
}

fn unread(bits: u16) -> String {
    format!("this TIFF has {bits} bits a sample, which are not read; save it as 32-bit float")
}

/// The numbers that the samples are, if they can be heights.
fn kind_of(ifd: &Ifd, source: &Source) -> Result<Kind> {
    if ifd.photometric_interpretation() == Some(PALETTE) {
        return Err(source.error(
            "this TIFF has a palette, and colours are no heights; save it as 32-bit float",
        ));
    }
    let formats = ifd.sample_format().map_err(|e| fault(source, e))?;
    match formats.first() {
        // TIFF 6.0, section 19: 4 is undefined data, which readers take as if the tag were not
        // there.
        None | Some(1 | 4) => Ok(Kind::Unsigned),
        Some(2) => Ok(Kind::Signed),
        Some(3) => Ok(Kind::Float),
        Some(other) => Err(source.error(format!(
            "the numbers of this TIFF are of kind {other}, which are no \
             heights; save it as 32-bit float"
        ))),
    }
}

/// The band that holds the heights, from 0.
fn choose_band(count: usize, alpha: &[usize], source: &Source) -> Result<usize> {
    match source.options.band {
        Some(band) if (1..=count).contains(&(band as usize)) => Ok(band as usize - 1),
        Some(band) => Err(source.error(format!(
            "band {band}: this TIFF has {count}, counted from \
             1"
        ))),
        None if count == 1 => Ok(0),
        // One that is not transparency.
        None if count == alpha.len() + 1 => {
            Ok((0..count).find(|band| !alpha.contains(band)).unwrap_or(0))
        }
        None => Err(source.error(format!(
            "this TIFF has {count} bands, but a map has one; name it with --band, in a recipe with \
             band, counted from 1"
        ))),
    }
}

/// Appends samples as values, with NaN for missing ones; none if there is no such number.
fn append(data: &mut Vec<f32>, bytes: &[u8], kind: Kind, bits: u16, geo: &Geo) -> Option<()> {
    macro_rules! numbers {
        ($t:ty, $missing:expr) => {{
            let missing = $missing;
            data.extend(bytes.as_chunks().0.iter().map(|b| {
                let v = <$t>::from_ne_bytes(*b);
                if missing(v) {
                    f32::NAN
                } else if geo.is_plain() {
                    v as f32
                } else {
                    // Scaled values are rounded once.
                    geo.value(v as f64) as f32
                }
            }))
        }};
    }
    // An integer is the value for missing ones only if that is one of its type.
    macro_rules! integers {
        ($t:ty) => {{
            let none =
                geo.nodata.filter(|none| none.0 as $t as f64 == none.0).map(|none| none.0 as $t);
            numbers!($t, |v: $t| Some(v) == none)
        }};
    }
    let single = |v: f32| geo.nodata.is_some_and(|none| none.is_single(v));
    match (kind, bits) {
        (Kind::Unsigned, 8) => integers!(u8),
        (Kind::Unsigned, 16) => integers!(u16),
        (Kind::Unsigned, 32) => integers!(u32),
        (Kind::Unsigned, 64) => integers!(u64),
        (Kind::Signed, 8) => integers!(i8),
        (Kind::Signed, 16) => {
            let none = geo.nodata.map_or(f64::NAN, |none| none.0);
            numbers!(i16, |v: i16| v == VOID || f64::from(v) == none)
        }
        (Kind::Signed, 32) => integers!(i32),
        (Kind::Signed, 64) => integers!(i64),
        (Kind::Float, 32) => numbers!(f32, single),
        (Kind::Float, 64) => {
            numbers!(f64, |v: f64| geo.nodata.is_some_and(|none| none.is_double(v)))
        }
        (Kind::Float, 16) => data.extend(bytes.as_chunks().0.iter().map(|b| {
            let v = ::exr::prelude::f16::from_ne_bytes(*b).to_f32();
            if single(v) { f32::NAN } else { geo.value(v.into()) as f32 }
        })),
        _ => return None,
    }
    Some(())
}

/// Whether a picture of the file says which samples of the first one have a value.
fn is_mask_of(other: &Ifd, first: &Ifd) -> bool {
    let subfile = other.tag(SUBFILE).and_then(|tag| tag.value.as_u32()).unwrap_or(0);
    subfile & MASK != 0 && (other.width(), other.height()) == (first.width(), first.height())
}

/// Tiles and strips that a sparse file leaves out have no value where there is a number for that,
/// and are 0 elsewhere.
fn void_absent_blocks(data: &mut [f32], ifd: &Ifd, geo: &Geo, band: usize) {
    if geo.nodata.is_none() {
        return;
    }
    let width = ifd.width() as usize;
    let (block_w, block_h, sizes, places) = match ifd.is_tiled() {
        true => {
            let sides =
                [ifd.tile_width(), ifd.tile_height()].map(|side| side.unwrap_or(0) as usize);
            (sides[0], sides[1], ifd.tile_byte_counts(), ifd.tile_offsets())
        }
        false => {
            (width, ifd.rows_per_strip() as usize, ifd.strip_byte_counts(), ifd.strip_offsets())
        }
    };
    let across = width.div_ceil(block_w.max(1));
    let down = (ifd.height() as usize).div_ceil(block_h.max(1));
    // Bands that lie apart have blocks of their own, one band's after the other's.
    let apart = ifd.planar_configuration() == PLANES_APART;
    let first = if apart { band * across * down } else { 0 };
    let (sizes, places) = (sizes.unwrap_or_default(), places.unwrap_or_default());
    // A sparse file of GDAL has 0 as the place of a block, or as its length.
    let absent = |i: usize| sizes.get(first + i) == Some(&0) || places.get(first + i) == Some(&0);
    for i in (0..across * down).filter(|i| absent(*i)) {
        let (left, top) = (i % across * block_w, i / across * block_h);
        for row in data.chunks_exact_mut(width).skip(top).take(block_h) {
            row[left..(left + block_w).min(width)].fill(f32::NAN);
        }
    }
}

fn describe(mut raster: Raster, geo: Geo, kind: Kind, bits: u16) -> Raster {
    raster.few_bits = Some(8).filter(|_| bits == 8 && geo.is_plain());
    // The highest value of integers that may be heights without a unit.
    let unsigned = match (kind, bits) {
        (Kind::Unsigned, 8) => Some(255.0),
        (Kind::Unsigned, 16) => Some(65535.0),
        _ => None,
    };
    // Integers of a GeoTIFF are metres. Unsigned ones without georeferencing are grey levels, as in
    // a PNG.
    if geo.is_geo || !geo.is_plain() {
        raster.may_scale = unsigned.filter(|_| geo.is_plain());
    } else {
        raster.full_scale = unsigned;
    }
    raster.warnings.extend(geo.applied());
    let void = (kind == Kind::Signed && bits == 16).then_some(f64::from(VOID));
    raster.nodata = geo.nodata.map(|none| none.0).or(void);
    raster.turned = geo.turned();
    let (spacing, georef) = geo.place([raster.width, raster.height], &mut raster.warnings);
    raster.spacing_m = spacing;
    raster.georef = georef;
    raster
}

/// How files of a size are written: compressed without loss, and where on Earth they lie, or at a
/// place of no map.
pub(super) fn builder(
    [width, height]: [u32; 2],
    spacing_m: f64,
    georef: Option<&crate::map::Georef>,
    warnings: &mut Vec<String>,
) -> GeoTiffBuilder {
    let mut builder = GeoTiffBuilder::new(width, height)
        .compression(COMPRESSION)
        .deflate_level(LEVEL)
        .predictor(PREDICTOR)
        .raster_type(RasterType::PixelIsArea);
    if width > TILE || height > TILE {
        builder = builder.tile_size(TILE, TILE);
    }
    match georef {
        Some(g) => {
            let keys = g.keys.as_ref().and_then(geo::keys);
            let builder = match (keys, g.epsg.map(u16::try_from)) {
                // As they were read, but for the meaning of a sample's place.
                (Some(keys), _) => keys
                    .keys
                    .into_iter()
                    .filter(|key| key.id != GT_RASTER_TYPE)
                    .fold(builder, |builder, key| builder.geokey(key.id, without_bars(key.value))),
                (None, Some(Ok(code))) if geo::is_geographic(g, code, spacing_m) => {
                    builder.geographic_epsg(code)
                }
                (None, Some(Ok(code))) => builder.projected_epsg(code),
                (None, Some(Err(_))) => {
                    warnings.push(
                        "the code of the coordinate system does not fit into a GeoTIFF \
                         and is left out"
                            .into(),
                    );
                    builder
                }
                // A place in metres, in a system that nobody knows.
                (None, None) if (g.cell.1 - spacing_m).abs() <= 1e-6 * spacing_m => {
                    in_metres(builder)
                }
                (None, None) => builder,
            };
            builder.pixel_scale(g.cell.0, g.cell.1).origin(g.west, g.north)
        }
        None => {
            let builder = in_metres(builder);
            let (west, north) = geo::local_corner(spacing_m);
            builder.pixel_scale(spacing_m, spacing_m).origin(west, north)
        }
    }
}

/// Says of a plane without a coordinate system that it measures in metres.
fn in_metres(builder: GeoTiffBuilder) -> GeoTiffBuilder {
    builder.geokey(PROJ_LINEAR_UNITS, GeoKeyValue::Short(METRE))
}

pub(super) fn encode(map: &Map, warnings: &mut Vec<String>) -> Result<Vec<u8>> {
    let fail = |e: &dyn std::fmt::Display| {
        Error::limit(format!("this map cannot be written as TIFF: {e}"))
    };
    let has_missing = map.data.iter().any(|v| v.is_nan());
    // A file of some samples, with the place of the whole map.
    let mut file = |[width, height]: [u32; 2], data: &[f32]| {
        let builder = builder([width, height], map.spacing_m, map.georef.as_ref(), warnings);
        let builder = if has_missing { builder.nodata("nan") } else { builder };
        let view = ArrayView2::from_shape((height as usize, width as usize), data)
            .map_err(|e| fail(&e))?;
        let mut out = Cursor::new(Vec::new());
        builder.write_2d_to(&mut out, view).map_err(|e| fail(&e))?;
        Ok::<_, Error>(out.into_inner())
    };
    let mut bytes = if map.width.max(map.height) > TILE {
        let small = TiffFile::from_bytes(file([1, 1], &[0.0])?).map_err(|e| fail(&e))?;
        let tags = small.ifd(0).map_err(|e| fail(&e))?.tags();
        let image = tags
            .iter()
            .filter(|tag| tag.code >= ADDED)
            .fold(ImageBuilder::new(map.width, map.height), |image, tag| image.tag(tag.clone()));
        let missing = if has_missing { f32::NAN } else { 0.0 };
        in_tiles(map, image, missing).map_err(|e| fail(&e))?
    } else {
        file([map.width, map.height], &map.data)?
    };
    if let Some(keys) = map.georef.as_ref().and_then(|g| g.keys.as_ref()).and_then(geo::keys) {
        keys.keys.iter().for_each(|key| restore_bars(&mut bytes, &key.value));
    }
    Ok(bytes)
}

/// A file in tiles, which are compressed on all cores. The bytes are those that
/// `GeoTiffBuilder::write_2d_to` makes of one tile after the other. `image` has the added tags, and
/// `missing` stands where tiles reach beyond the map.
fn in_tiles(map: &Map, image: ImageBuilder, missing: f32) -> tiff_writer::Result<Vec<u8>> {
    let [width, height, side] = [map.width, map.height, TILE].map(|n| n as usize);
    let tile = |i: usize| {
        let across = width.div_ceil(side);
        let [x, y] = [i % across, i / across].map(|n| n * side);
        let wide = side.min(width - x);
        let mut samples = vec![missing; side * side];
        let rows = map.data[y * width..].chunks(width).zip(samples.chunks_mut(side));
        rows.for_each(|(row, samples)| samples[..wide].copy_from_slice(&row[x..x + wide]));
        samples
    };
    let options = WriteOptions::auto();
    let how = BlockEncodingOptions {
        byte_order: options.byte_order,
        compression: COMPRESSION,
        predictor: PREDICTOR,
        samples_per_pixel: 1,
        row_width_pixels: side,
        jpeg_options: None,
        jpeg_sampling: None,
        deflate_level: Some(LEVEL),
    };
    let tiles: Vec<Vec<u8>> = (0..width.div_ceil(side) * height.div_ceil(side))
        .into_par_iter()
        .map(|i| compress_block(&tile(i), how, i))
        .collect::<tiff_writer::Result<_>>()?;
    let image =
        image.sample_type::<f32>().compression(COMPRESSION).predictor(PREDICTOR).tiles(TILE, TILE);
    let mut writer = TiffWriter::new(Cursor::new(vec![]), options)?;
    let image = writer.add_image(image)?;
    for (i, tile) in tiles.into_iter().enumerate() {
        writer.write_block_raw(&image, i, &tile)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Stands for a bar in texts of keys. GDAL's have bars within them, which the encoder refuses,
/// since a bar also ends a text.
const BAR: u8 = 1;

fn without_bars(value: GeoKeyValue) -> GeoKeyValue {
    let plain = |c: char| match c {
        '|' => char::from(BAR),
        c if c.is_ascii() => c,
        _ => '?',
    };
    match value {
        GeoKeyValue::Ascii(text) => GeoKeyValue::Ascii(text.chars().map(plain).collect()),
        other => other,
    }
}

/// Puts the bars of a key's text back where the file has that text.
pub(super) fn restore_bars(bytes: &mut [u8], value: &GeoKeyValue) {
    let GeoKeyValue::Ascii(written) = without_bars(value.clone()) else { return };
    let written = written.as_bytes();
    if !written.contains(&BAR) {
        return;
    }
    if let Some(at) = bytes.windows(written.len()).position(|window| window == written) {
        bytes[at..at + written.len()]
            .iter_mut()
            .filter(|byte| **byte == BAR)
            // The text keeps its length, so every offset in the file stays right.
            .for_each(|byte| *byte = b'|');
    }
}
