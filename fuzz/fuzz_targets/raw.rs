//! Reads bare samples, alone and with an ENVI header beside them.
#![no_main]

use std::sync::LazyLock;
use tempfile::TempDir;
use thalweg_fuzz::{check, folder, options, put, read};

static FOLDER: LazyLock<TempDir> = LazyLock::new(folder);

thalweg_fuzz::target!(256, |data| {
    let Some(([kind, first @ ..], rest)) = data.split_first_chunk::<5>() else { return };
    let name = if kind & 1 == 0 { "land.r16" } else { "land.r32" };
    if kind & 2 == 0 {
        return read(name, &data[1..]);
    }
    // A header up to a byte of 0, and then samples.
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (header, samples) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    put(FOLDER.path(), &format!("{name}.hdr"), header);
    put(FOLDER.path(), name, samples);
    if let Ok(reading) = thalweg::io::read(FOLDER.path().join(name), &options(*first)) {
        check(&reading);
    }
});
