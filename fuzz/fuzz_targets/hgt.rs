//! Reads tiles of SRTM, whose names say where they lie.
#![no_main]

use thalweg_fuzz::{read, text};

thalweg_fuzz::target!(256, |data| {
    // A name of seven characters, and then a file.
    let (name, rest) = data.split_at(data.len().min(7));
    if let Some(name) = text(name) {
        read(&format!("{name}.hgt"), rest);
    }
});
