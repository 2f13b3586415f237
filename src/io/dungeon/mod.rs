//! Encodes dungeons as JSON, text maps, pictures, and maps for the editors Tiled and LDtk.
//!
//! The same dungeon always gives the same bytes. `schemas/dungeon.schema.json` in the repository
//! describes the JSON.

mod editors;
mod picture;

use crate::dungeon::Dungeon;
use crate::dungeon::rooms::Rooms;
use crate::{Error, Result};
use serde::Serialize;
use std::path::Path;

pub use editors::{TILE, TILESET, tileset};
pub use picture::{FRAMES_MAX, animation, picture, sheet};

/// A file format for dungeons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DungeonFormat {
    /// JSON: everything, as one object.
    Json,
    /// JSON Lines: one object on each line. A file can have many dungeons.
    JsonLines,
    /// Text: a letter for each tile, or for what stands on it.
    Text,
    /// An SVG drawing.
    Svg,
    /// A PNG picture.
    Png,
    /// A map for Tiled 1.8 or later. It needs the picture [`TILESET`] in the same folder.
    Tiled,
    /// A project for LDtk 1.5. It needs the picture [`TILESET`] in the same folder.
    Ldtk,
}

impl DungeonFormat {
    /// The format for the extension of a path: `json`, `jsonl`, `txt`, `svg`, `png`, `tmj` or
    /// `ldtk`, in upper or lower case.
    ///
    /// # Errors
    /// [`Error::Param`] for any other extension, and for a path without one.
    pub fn from_path(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        Ok(match extension.as_deref() {
            Some("json") => Self::Json,
            Some("jsonl") => Self::JsonLines,
            Some("txt") => Self::Text,
            Some("svg") => Self::Svg,
            Some("png") => Self::Png,
            Some("tmj") => Self::Tiled,
            Some("ldtk") => Self::Ldtk,
            other => {
                let given = other.map_or("there is no extension".into(), |e| {
                    format!("the extension .{e} is unknown")
                });
                return Err(Error::param(format!(
                    "{}: {given}; use .json, .jsonl (many in one file), .txt, .svg, .png, .tmj \
                     (Tiled) \
                     or .ldtk (LDtk)",
                    path.display()
                )));
            }
        })
    }

    /// Whether the file needs the tileset in the same folder.
    pub fn needs_tileset(self) -> bool {
        matches!(self, Self::Tiled | Self::Ldtk)
    }
}

/// Encodes a dungeon.
///
/// # Errors
/// [`Error::Limit`] if the dungeon is too large for the format.
pub fn encode(dungeon: &Dungeon, format: DungeonFormat) -> Result<Vec<u8>> {
    match format {
        DungeonFormat::Json => text(serde_json::to_string_pretty(&Document::new(dungeon))),
        DungeonFormat::JsonLines => text(serde_json::to_string(&Document::new(dungeon))),
        DungeonFormat::Text => Ok(letters(dungeon).into_bytes()),
        DungeonFormat::Svg => Ok(picture::svg(dungeon).into_bytes()),
        DungeonFormat::Png => crate::io::encode_picture(picture(dungeon, picture::scale(dungeon))?),
        DungeonFormat::Tiled => text(serde_json::to_string(&editors::tiled(dungeon))),
        DungeonFormat::Ldtk => text(serde_json::to_string(&editors::ldtk(dungeon))),
    }
}

/// Reads a furniture file and checks it.
///
/// # Errors
/// [`Error::Input`] that names the file and the fault.
pub fn read_rooms(path: &Path) -> Result<Rooms> {
    const SIZE_MAX: u64 = 4 << 20;
    let size = std::fs::metadata(path).map_err(|e| Error::input(path, e))?.len();
    if size > SIZE_MAX {
        return Err(Error::input(
            path,
            format!("the file has {size} bytes: a furniture file has at most {SIZE_MAX}"),
        ));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::input(path, e))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::input(path, "the file is not UTF-8 text: a furniture file is TOML"))?;
    Rooms::from_toml(&text).map_err(|e| Error::input(path, e))
}

fn text(json: serde_json::Result<String>) -> Result<Vec<u8>> {
    json.map(|text| format!("{text}\n").into_bytes())
        .map_err(|e| Error::limit(format!("the dungeon cannot be encoded: {e}")))
}

/// The content of a JSON file: the version of the format, the version of the program, and the
/// fields of [`Dungeon`].
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    thalweg: &'static str,
    #[serde(flatten)]
    dungeon: &'a Dungeon,
}

impl<'a> Document<'a> {
    fn new(dungeon: &'a Dungeon) -> Self {
        Self { schema: 1, thalweg: env!("CARGO_PKG_VERSION"), dungeon }
    }
}

/// The content of a JSON file, as data.
///
/// # Errors
/// [`Error::Limit`] if the dungeon cannot be encoded as JSON.
pub fn document(dungeon: &Dungeon) -> Result<serde_json::Value> {
    serde_json::to_value(Document::new(dungeon))
        .map_err(|e| Error::limit(format!("the dungeon cannot be encoded: {e}")))
}

/// A text map; see [`crate::dungeon::Tile::letter`] and [`crate::dungeon::Thing::letter`]. Empty
/// rows and columns at the border are left out.
fn letters(dungeon: &Dungeon) -> String {
    let mut rows: Vec<Vec<char>> =
        dungeon.tiles.rows().iter().map(|row| row.chars().collect()).collect();
    for spawn in &dungeon.spawns {
        if let Some(letter) =
            rows.get_mut(spawn.y as usize).and_then(|row| row.get_mut(spawn.x as usize))
        {
            *letter = spawn.thing.letter();
        }
    }
    let blank = |row: &Vec<char>| row.iter().all(|c| *c == ' ');
    let first = rows.iter().position(|row| !blank(row)).unwrap_or(0);
    let last = rows.iter().rposition(|row| !blank(row)).map_or(0, |i| i + 1);
    let left = rows.iter().filter_map(|row| row.iter().position(|c| *c != ' ')).min().unwrap_or(0);
    rows[first..last]
        .iter()
        .map(|row| format!("{}\n", row[left..].iter().collect::<String>().trim_end()))
        .collect()
}
