//! OpenEXR: reads one channel of a flat layer; writes one 32-bit channel.

use std::collections::HashSet;
use std::io::{BufRead, Cursor, Seek};

use exr::block::UncompressedBlock;
use exr::block::reader::ChunksReader;
use exr::meta::header::Header;
use exr::meta::{BlockDescription, MetaData};
use exr::prelude::{
    AnyChannel, AnyChannels, Compression, Encoding, FlatSamples, Image, SampleType,
    SpecificChannels, Text, Vec2, WritableImage, f16,
};

use super::{Raster, Source};
use crate::map::Map;
use crate::{Error, Result, memory};

/// Channels that hold heights, best first.
const CHANNELS: [&str; 3] = ["Y", "height", "R"];

pub(super) fn read<R: BufRead + Seek>(reader: R, source: &Source) -> Result<Raster> {
    let reader = exr::block::read(reader, false).map_err(|e| fault(&e, source))?;
    let (layer, channel) = choose(reader.headers(), source)?;
    let header = &reader.headers()[layer];
    let Vec2(width, height) = header.layer_size;
    let (width, height, cells) = source.cells(width as u64, height as u64)?;
    let count = header.channels.list.len();
    admit_blocks(reader.headers(), cells, source)?;
    admit(header, source)?;
    let name = header.channels.list[channel].name.to_string();
    let mut warnings = Vec::new();
    if count > 1 {
        warnings.push(format!("the file has {count} channels, and heights are read from {name}"));
    }
    let meta = reader.meta_data().clone();
    let chunks = reader.all_chunks(false).map_err(|e| source.damaged(e))?;
    let data = samples(chunks, &meta, (layer, channel), cells, source)?;
    Ok(Raster { warnings, ..Raster::new(width, height, data) })
}

/// No compression that is read makes more bytes of one: 1032 by Deflate, and 4 of 3 by PXR24.
const RATIO: u64 = 1400;

/// Refuses a file whose blocks would take too much memory. The decoder makes room for a block as
/// large as the header says, with all channels. A header can name tiles beyond the picture, and
/// parts that are not wanted are read, too.
fn admit_blocks(headers: &[Header], cells: usize, source: &Source) -> Result<()> {
    let most = (64 << 20) + RATIO * source.len;
    let mut largest = 0;
    for header in headers {
        let [wide, high] = match header.blocks {
            BlockDescription::ScanLines => {
                [header.layer_size.x(), header.compression.scan_lines_per_block()]
            }
            BlockDescription::Tiles(tiles) => [tiles.tile_size.x(), tiles.tile_size.y()],
        };
        let bytes = [wide, high, header.channels.bytes_per_pixel]
            .into_iter()
            .fold(1, |bytes: u64, n| bytes.saturating_mul(n as u64));
        if bytes > most {
            return Err(Error::limit(format!(
                "{}: blocks of {wide} x {high} samples, channels {}, take {bytes} bytes: allowed \
                 {most} for a file of {} bytes; save only the heights, as channel Y, in lines or \
                 in smaller tiles",
                source.path.display(),
                header.channels.list.len(),
                source.len
            )));
        }
        largest = largest.max(bytes);
    }
    // A block is there as it was read and decompressed, and the heights as they are and as words.
    memory::admit(source.path.display(), 2 * largest + 8 * cells as u64)
}

/// Refuses a picture whose samples are not the heights that were written.
fn admit(header: &Header, source: &Source) -> Result<()> {
    if header.channels.list.iter().any(|c| c.sampling != Vec2(1, 1)) {
        return Err(source
            .error("its channels have different resolutions; save it without chroma subsampling"));
    }
    use Compression::{HTJ2K32, HTJ2K256, PIZ, PXR24, RLE, Uncompressed, ZIP1, ZIP16};
    let why = match header.compression {
        Uncompressed | RLE | ZIP1 | ZIP16 | PIZ | PXR24 => None,
        HTJ2K32 | HTJ2K256 => Some("is not read"),
        _ => Some("is lossy and made for colours"),
    };
    if let Some(why) = why {
        let name = header.compression.to_string();
        let name = name.trim_end_matches(" compression");
        return Err(
            source.error(format!("its compression, {name}, {why}; save it with ZIP, PIZ or none"))
        );
    }
    Ok(())
}

/// The samples of a channel of a layer, at full size.
fn samples(
    chunks: impl ChunksReader,
    meta: &MetaData,
    (layer, channel): (usize, usize),
    cells: usize,
    source: &Source,
) -> Result<Vec<f32>> {
    let header = &meta.headers[layer];
    let kind = header.channels.list[channel].sample_type;
    let width = header.layer_size.x();
    // Zeroed memory takes no room until it is written to.
    let mut data: Vec<f32> = bytemuck::allocation::try_zeroed_slice_box(cells)
        .map_err(|()| {
            Error::limit(format!("{}: no memory for {cells} samples", source.path.display()))
        })?
        .into_vec();
    let (mut filled, mut blocks) = (0, HashSet::new());
    for chunk in chunks {
        let chunk = chunk.map_err(|e| source.damaged(e))?;
        if chunk.layer_index != layer {
            continue;
        }
        let block = UncompressedBlock::decompress_chunk(chunk, meta, false)
            .map_err(|e| source.damaged(e))?;
        // A tiled file may hold smaller copies of the picture. Level 0, 0 is the picture itself.
        if block.index.level != Vec2(0, 0) {
            continue;
        }
        if !blocks.insert(block.index.pixel_position) {
            return Err(source.damaged("it has a block twice"));
        }
        for line in block.lines(&header.channels) {
            if line.location.channel != channel {
                continue;
            }
            let Vec2(x, y) = line.location.position;
            let start = y * width + x;
            let inside = x + line.location.sample_count <= width;
            let target = data.get_mut(start..start + line.location.sample_count).filter(|_| inside);
            let target =
                target.ok_or_else(|| source.damaged("a block lies outside the picture"))?;
            filled += target.len();
            match kind {
                SampleType::F16 => convert(target, line.value, |b| f16::from_ne_bytes(b).to_f32()),
                SampleType::F32 => convert(target, line.value, f32::from_ne_bytes),
                SampleType::U32 => convert(target, line.value, |b| u32::from_ne_bytes(b) as f32),
            }
        }
    }
    // What no block held would be zeros, which are heights, too.
    if filled != cells {
        return Err(source.damaged(format!("it has {filled} of {cells} samples")));
    }
    Ok(data)
}

fn convert<const N: usize>(target: &mut [f32], bytes: &[u8], value: impl Fn([u8; N]) -> f32) {
    target.iter_mut().zip(bytes.as_chunks().0).for_each(|(t, b)| *t = value(*b));
}

/// What a fault of the decoder means for the file.
fn fault(e: &exr::error::Error, source: &Source) -> Error {
    match e {
        exr::error::Error::NotSupported(what) if what.contains("deep") => source.error(DEEP),
        exr::error::Error::NotSupported(what) => source.error(format!(
            "this kind of EXR is not read ({what}); save it flat, with one \
             channel Y of 32-bit floats"
        )),
        e => source.damaged(e),
    }
}

const DEEP: &str =
    "it has deep data, which are not read; save it flat, with one channel Y of 32-bit floats";

/// How well a name suits heights: of a part, or of a channel, which may have the name of its layer
/// in front.
fn suits(part: Option<&Text>, channel: &Text, only: bool) -> Option<usize> {
    let part = part.map(|name| name.to_string().to_ascii_lowercase()).unwrap_or_default();
    let channel = channel.to_string();
    // OpenEXR: the name of a channel has that of its layer in front, parted by the last point.
    let (layer, own) = channel.rsplit_once('.').unwrap_or(("", &channel));
    let rank = CHANNELS.iter().position(|name| own == *name);
    let is_height =
        [&part, &layer.to_ascii_lowercase()].iter().any(|name| name.as_str() == "height");
    match (is_height, rank) {
        // A part or a layer that says it, before channels that do, before the red of anything.
        (true, rank) if rank.is_some() || only => Some(rank.unwrap_or(CHANNELS.len())),
        (_, Some(rank)) => Some(10 + rank),
        (_, None) => only.then_some(10 + CHANNELS.len()),
    }
}

/// The layer and the channel that hold heights.
fn choose(headers: &[Header], source: &Source) -> Result<(usize, usize)> {
    let flat = || headers.iter().enumerate().filter(|(_, h)| !h.deep);
    let channels = || {
        flat().flat_map(|(layer, header)| {
            let list = &header.channels.list;
            let part = header.own_attributes.layer_name.as_ref();
            list.iter()
                .enumerate()
                .map(move |(at, c)| ((layer, at), &c.name, suits(part, &c.name, list.len() == 1)))
        })
    };
    if flat().next().is_none() {
        return Err(source.error(DEEP));
    }
    let listed =
        || channels().map(|(_, name, _)| name.to_string()).take(8).collect::<Vec<_>>().join(", ");
    if let Some(band) = source.options.band {
        let count = channels().count();
        return (band as usize)
            .checked_sub(1)
            .and_then(|at| channels().nth(at))
            .map(|(at, ..)| at)
            .ok_or_else(|| {
                source.error(format!(
                    "band {band}: this EXR has {count} channels, counted from 1: {}",
                    listed()
                ))
            });
    }
    let best = channels().filter_map(|(at, _, rank)| Some((rank?, at))).min();
    best.map(|(_, at)| at).ok_or_else(|| {
        source.error(format!(
            "it has no channel Y, height or R, but {}; save the heights as channel Y",
            listed()
        ))
    })
}

pub(super) fn encode(map: &Map) -> Result<Vec<u8>> {
    let width = map.width as usize;
    let channel = SpecificChannels::build()
        .with_channel::<f32>(Text::from("Y"))
        .with_pixel_fn(|Vec2(x, y): Vec2<usize>| (map.data[y * width + x],));
    let image =
        Image::from_encoded_channels((width, map.height as usize), Encoding::UNCOMPRESSED, channel);
    let mut out = Cursor::new(Vec::new());
    image
        .write()
        .non_parallel()
        .to_buffered(&mut out)
        .map_err(|e| Error::limit(format!("this map cannot be written as EXR: {e}")))?;
    Ok(out.into_inner())
}

/// Layers of whole numbers, each as a channel of its name.
pub(super) fn encode_layers(
    [width, height]: [u32; 2],
    names: &[String],
    values: &[u16],
) -> Result<Vec<u8>> {
    let size = Vec2(width as usize, height as usize);
    let channel = |(name, layer): (&String, &[u16])| {
        let text = Text::new_or_none(name).ok_or_else(|| {
            Error::limit(format!(
                "{name:?} cannot be the name of an EXR channel, which has only Latin letters"
            ))
        })?;
        Ok(AnyChannel::new(text, FlatSamples::U32(layer.iter().map(|v| (*v).into()).collect())))
    };
    let channels =
        names.iter().zip(values.chunks(size.area().max(1))).map(channel).collect::<Result<_>>()?;
    let image =
        Image::from_encoded_channels(size, Encoding::UNCOMPRESSED, AnyChannels::sort(channels));
    let mut out = Cursor::new(Vec::new());
    let written = image.write().non_parallel().to_buffered(&mut out);
    written.map_err(|e| Error::limit(format!("these layers cannot be written as EXR: {e}")))?;
    Ok(out.into_inner())
}
