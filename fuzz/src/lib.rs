//! What the fuzz targets share: how a target begins, bounds of memory, and properties of maps.

pub use libfuzzer_sys;
use peak_alloc::PeakAlloc;
use std::backtrace::Backtrace;
use std::path::Path;
use tempfile::TempDir;
use thalweg::io::{self, MapFormat, ReadOptions, Reading};
use thalweg::map::{Map, Samples};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Most samples of a map that is read.
pub const CELLS_MAX: u64 = 1 << 16;
/// Most samples of a map that is also written.
const WRITTEN_MAX: usize = 1 << 12;

/// A fuzz target: what is done with the bytes of an input, which may take this many mebibytes.
#[macro_export]
macro_rules! target {
    ($mebibytes:expr, |$data:ident| $body:expr) => {
        $crate::libfuzzer_sys::fuzz_target!(init: $crate::begin(), |$data: &[u8]| {
            $crate::within($mebibytes, || $body);
        });
    };
}

/// Ends the process where thalweg panics, even where something would catch it. A decoder of another
/// package may panic as long as thalweg catches that, as it promises; else libFuzzer ends the
/// process.
pub fn begin() {
    std::panic::set_hook(Box::new(|panic| {
        let foreign = panic.location().is_some_and(|place| place.file().contains("/registry/src/"));
        if foreign {
            eprintln!("{panic}");
        } else {
            eprintln!("{panic}\n{}", Backtrace::force_capture());
            std::process::abort();
        }
    }));
}

/// Does work that may take this much memory at once, beside what was taken before.
pub fn within(mebibytes: usize, work: impl FnOnce()) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    let taken = MEMORY.peak_usage().saturating_sub(before) >> 20;
    assert!(taken < mebibytes, "{taken} MiB at once: allowed are {mebibytes}");
}

/// The text of an input.
pub fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// A folder for the files of a target.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a target needs a folder")
}

/// Writes a file in a folder.
pub fn put(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).expect("a target writes files");
}

/// A file of a header and words as thalweg writes it: after its first line come the length of the
/// header, the header, the words and the digest of all that. Of an input the first line is the
/// header.
pub fn sealed(magic: &[u8], data: &[u8]) -> Vec<u8> {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (header, words) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let length = (header.len() as u64).to_le_bytes();
    let file = [magic, &length, header, words].concat();
    let digest = blake3::hash(&file);
    [&file[..], digest.as_bytes()].concat()
}

/// The input of which [`sealed`] makes a file.
pub fn unsealed(magic: &[u8], file: &[u8]) -> Vec<u8> {
    let rest = &file[magic.len()..file.len() - 32];
    let (length, rest) = rest.split_first_chunk().expect("a file has a header");
    let (header, words) = rest.split_at(u64::from_le_bytes(*length) as usize);
    [header, b"\n", words].concat()
}

/// The first line of a snapshot, and of a tile.
pub const SNAPSHOT: &[u8] = b"thalweg snapshot 4\n";
/// See [`SNAPSHOT`].
pub const TILE: &[u8] = b"thalweg tile 1\n";
/// The key of all tiles.
pub const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The recipe of snapshots and tiles.
pub const RECIPE: &str = r#"
schema = 2
name = "fuzz"
width = 32
height = 32
spacing_m = 10
levels = 2
[[stage]]
kind = "diamond_square"
relief_m = 300
[[stage]]
kind = "droplets"
lifetime = 8
[[stage]]
kind = "thermal"
steps = 4
[output]
maps = ["height", "flow"]
"#;

/// How a file is read, by the first bytes of an input.
pub fn options([flags, width, height, band]: [u8; 4]) -> ReadOptions {
    let has = |bit: u8| flags >> bit & 1 == 1;
    ReadOptions {
        spacing_m: has(0).then_some(30.0),
        range_m: has(1).then_some((-10.0, 500.0)),
        samples: match (has(2), has(3)) {
            (false, _) => Samples::Heights,
            (true, false) => Samples::Shares,
            (true, true) => Samples::Numbers,
        },
        size: has(4).then_some((width.into(), height.into())),
        nodata_fill: has(5).then_some(-1.0),
        keep_missing: has(6),
        band: has(7).then_some(band.into()),
        max_cells: CELLS_MAX,
    }
}

/// Reads a file: four bytes for the options, and its content.
pub fn read(name: &str, data: &[u8]) {
    let Some((first, content)) = data.split_first_chunk() else { return };
    if let Ok(reading) = io::decode_file(Path::new(name), content, &options(*first)) {
        check(&reading);
    }
}

/// What holds for every map that was read, and for the files that are written of it.
pub fn check(reading: &Reading) {
    let Reading { map, missing, .. } = reading;
    let cells = map.width as usize * map.height as usize;
    assert!(cells > 0 && cells as u64 <= CELLS_MAX);
    assert_eq!(map.data.len(), cells, "as many values as cells");
    assert!(map.data.iter().all(|value| value.is_finite()), "every value is finite");
    assert!(map.spacing_m.is_finite() && map.spacing_m > 0.0, "cells have a size");
    assert!(missing.is_sorted_by(|a, b| a < b), "numbers of cells ascend");
    assert!(missing.last().is_none_or(|last| *last < cells), "numbers are those of cells");
    if cells <= WRITTEN_MAX {
        use MapFormat::{Asc, Exr, Npy, R32, Tiff};
        [Asc, Exr, Npy, R32, Tiff].into_iter().for_each(|format| write(map, format));
    }
}

/// A map that is written in a format of floats comes back as it was, and once more.
fn write(map: &Map, format: MapFormat) {
    let again = |map: &Map| {
        let (file, _) = io::encode(map, format).expect("a map that was read can be written");
        // Bare samples that begin as a file of another format does are refused.
        if format.is_raw() && MapFormat::from_bytes(&file).is_some() {
            return map.clone();
        }
        let options = ReadOptions {
            spacing_m: Some(map.spacing_m),
            size: Some((map.width, map.height)),
            ..ReadOptions::default()
        };
        let name = format!("again.{}", format.extension());
        let reading = io::decode_file(Path::new(&name), &file, &options);
        reading.expect("what was written can be read").map
    };
    let first = again(map);
    assert_eq!(first.data, map.data, "{format:?} keeps every value");
    // A grid has its southern edge, from which the northern one follows but for the last bits.
    if format != MapFormat::Asc {
        assert_eq!(again(&first), first, "{format:?} keeps its own files");
    }
}
