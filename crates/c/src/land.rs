//! What a run leaves.

use crate::border::{self, ThalwegStatus, c_text};
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::OnceLock;
use thalweg::io::vector;
use thalweg::water::{LAYERS, VectorFormat};
use thalweg::{Invalid, Outcome, Result};

/// Room for a digest in hexadecimal with the zero at its end.
pub const THALWEG_DIGEST_SIZE: usize = 65;

/// The maps that a run has left.
pub struct ThalwegLand {
    land: Outcome,
    names: Vec<CString>,
    /// The layers of water as GeoJSON, once one was asked for.
    layers: OnceLock<Vec<CString>>,
}

/// The size of a land and where it lies.
#[repr(C)]
pub struct ThalwegLandInfo {
    /// Cells in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Cells from the origin of the world to the first column.
    pub x: i64,
    /// Cells to the first row.
    pub y: i64,
    /// Metres of a cell.
    pub spacing_m: f64,
    /// Metres of the word 0 of `height`: a height is word / 2^18 * spacing_m + datum_m.
    pub datum_m: f64,
    /// How many maps it has.
    pub maps: usize,
}

impl ThalwegLand {
    pub(crate) fn new(land: Outcome) -> Self {
        let names = land.names().map(c_text).collect();
        Self { land, names, layers: OnceLock::new() }
    }

    fn cells(&self) -> u64 {
        self.land.window.cells() as u64
    }

    /// A layer of the water as GeoJSON.
    fn geojson(&self, name: &str) -> Result<&CStr> {
        let known = || LAYERS.join(", ");
        let at = LAYERS.iter().position(|layer| *layer == name);
        let at = at.ok_or_else(|| Invalid::value("layer", format!("{name:?}"), known()))?;
        let Some(vectors) = &self.land.vectors else {
            let message =
                "the recipe asks for no lines of water: set water.vectors = [\"geojson\"]";
            return Err(Invalid::from(message).about("vectors").inside("", "/water").into());
        };
        if self.layers.get().is_none() {
            let files = vector::encode(vectors, &self.land.map("height")?, VectorFormat::GeoJson)?;
            let texts = files.iter().map(|(_, bytes)| c_text(&String::from_utf8_lossy(bytes)));
            // Another thread may have been first, with the same texts.
            let _ = self.layers.set(texts.collect());
        }
        let layers = self.layers.get().map_or(&[][..], Vec::as_slice);
        Ok(layers.get(at).map_or(c"", CString::as_c_str))
    }
}

/// The size of a land, its place, and how many maps it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_land_info(
    land: *const ThalwegLand,
    out: *mut ThalwegLandInfo,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let own = unsafe { border::borrowed("land", land) }?;
        let (window, scale) = (own.land.window, own.land.scale);
        let info = ThalwegLandInfo {
            width: window.width,
            height: window.height,
            x: window.origin[0],
            y: window.origin[1],
            spacing_m: scale.spacing_m,
            datum_m: scale.datum_m,
            maps: own.names.len(),
        };
        // SAFETY: the header asks for room for the structure.
        unsafe { border::put("out", out, info) }
    })
}

/// The name of a map, by its number from 0. The land owns it. NULL if there is no such map.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_land_map_name(
    land: *const ThalwegLand,
    index: usize,
) -> *const c_char {
    border::or(ptr::null(), || {
        // SAFETY: the header asks for a handle that was not freed.
        let own = unsafe { border::borrowed("land", land) }?;
        let allowed = || format!("0 to {}", own.names.len().saturating_sub(1));
        let name = own.names.get(index).ok_or_else(|| Invalid::value("index", index, allowed()))?;
        Ok(name.as_ptr())
    })
}

/// The values of a map in its unit, which of `height` is the metre, row by row from the north-west.
/// `values` has room for `count` of them: width x height. Cells outside the land become NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_land_values(
    land: *const ThalwegLand,
    map: *const c_char,
    values: *mut f32,
    count: usize,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let own = unsafe { border::borrowed("land", land) }?;
        // SAFETY: the header asks for a text that ends in a zero.
        let map = unsafe { border::text("map", map) }?;
        own.land.words(map)?;
        // SAFETY: the header asks for room for that many values.
        let room = unsafe { border::room("values", values, count, own.cells()) }?;
        own.land.map_into(map, room)?;
        own.land.missing().iter().for_each(|cell| room[*cell] = f32::NAN);
        Ok(())
    })
}

/// The exact words of a map, which are equal on every device. `words` has room for `count` of
/// them: width x height.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_land_words(
    land: *const ThalwegLand,
    map: *const c_char,
    words: *mut i32,
    count: usize,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let own = unsafe { border::borrowed("land", land) }?;
        // SAFETY: the header asks for a text that ends in a zero.
        let map = unsafe { border::text("map", map) }?;
        let made = own.land.words(map)?;
        // SAFETY: the header asks for room for that many words.
        let room = unsafe { border::room("words", words, count, made.len() as u64) }?;
        room.copy_from_slice(made);
        Ok(())
    })
}

/// The digest of the words of a map, in hexadecimal with a zero at its end. `digest` has room for
/// `size` bytes: THALWEG_DIGEST_SIZE or more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_land_digest(
    land: *const ThalwegLand,
    map: *const c_char,
    digest: *mut c_char,
    size: usize,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let own = unsafe { border::borrowed("land", land) }?;
        // SAFETY: the header asks for a text that ends in a zero.
        let map = unsafe { border::text("map", map) }?;
        let text = c_text(own.land.digest(map)?);
        let bytes = text.as_bytes_with_nul();
        if size < THALWEG_DIGEST_SIZE.max(bytes.len()) {
            let allowed = format!("{THALWEG_DIGEST_SIZE} or more");
            return Err(Invalid::value("size", size, allowed).into());
        }
        if digest.is_null() {
            return Err(border::null("digest"));
        }
        // SAFETY: not null, and the header asks for room for `size` bytes, which are enough.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr().cast(), digest, bytes.len()) };
        Ok(())
    })
}

/// A layer of the land's water as GeoJSON: "rivers", "lakes", "basins" or "water_points". The
/// recipe has to ask for it: water.vectors = ["geojson"]. The land owns the text. NULL on error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_land_geojson(
    land: *const ThalwegLand,
    layer: *const c_char,
) -> *const c_char {
    border::or(ptr::null(), || {
        // SAFETY: the header asks for a handle that was not freed.
        let own = unsafe { border::borrowed("land", land) }?;
        // SAFETY: the header asks for a text that ends in a zero.
        let layer = unsafe { border::text("layer", layer) }?;
        Ok(own.geojson(layer)?.as_ptr())
    })
}

/// Frees a land with its texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_land_free(land: *mut ThalwegLand) {
    // SAFETY: the header asks for null, or for a handle that was not freed.
    unsafe { border::free(land) }
}
