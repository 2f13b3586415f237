//! Dungeons as bytes: JSON, text maps, pictures, and maps for the editors Tiled and LDtk.
//!
//! The same dungeon gives the same bytes. `schemas/dungeon.schema.json` in the repository describes the JSON.

mod editors;
mod picture;

use crate::dungeon::Dungeon;
use crate::dungeon::rooms::Rooms;
use crate::{Error, Result};
use std::path::Path;

pub use editors::{TILE, TILESET, tileset};
pub use picture::{FRAMES_MAX, animation, picture, sheet};

/// A form of dungeons in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// All of it, as one object.
    Json,
    /// The same on one line; a file may have many.
    JsonLines,
    /// The tiles as letters, with what stands on them.
    Text,
    /// A drawing.
    Svg,
    /// A picture.
    Png,
    /// A map for Tiled 1.8 and later, which needs the picture [`TILESET`] beside it.
    Tiled,
    /// A project for LDtk 1.5, which needs the picture [`TILESET`] beside it.
    Ldtk,
}

impl Format {
    /// The format of a file's extension: `json`, `jsonl`, `txt`, `svg`, `png`, `tmj` or `ldtk`, in any case.
    ///
    /// # Errors
    /// [`Error::Param`] for any other, or none.
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
                let given = other.map_or("no extension".into(), |e| format!("extension .{e} is not known"));
                return Err(Error::param(format!(
                    "{}: {given}; use .json, .jsonl (many in one file), .txt, .svg, .png, .tmj (Tiled) \
                     or .ldtk (LDtk)",
                    path.display()
                )));
            }
        })
    }

    /// Whether the file shows nothing without the picture of the tiles beside it.
    pub fn needs_tileset(self) -> bool {
        matches!(self, Self::Tiled | Self::Ldtk)
    }
}

/// A dungeon as the bytes of a file.
///
/// # Errors
/// [`Error::Limit`] for one that is too large for the format.
pub fn encode(dungeon: &Dungeon, format: Format) -> Result<Vec<u8>> {
    match format {
        Format::Json => text(serde_json::to_string_pretty(&document(dungeon)?)),
        Format::JsonLines => text(serde_json::to_string(&document(dungeon)?)),
        Format::Text => Ok(letters(dungeon).into_bytes()),
        Format::Svg => Ok(picture::svg(dungeon).into_bytes()),
        Format::Png => crate::io::encode_picture(&picture(dungeon, picture::scale(dungeon))?),
        Format::Tiled => text(serde_json::to_string(&editors::tiled(dungeon))),
        Format::Ldtk => text(serde_json::to_string(&editors::ldtk(dungeon))),
    }
}

/// Reads and checks a file of furniture for rooms.
///
/// # Errors
/// [`Error::Input`] that names the file and the fault.
pub fn read_rooms(path: &Path) -> Result<Rooms> {
    const SIZE_MAX: u64 = 4 << 20;
    let size = std::fs::metadata(path).map_err(|e| Error::input(path, e))?.len();
    if size > SIZE_MAX {
        return Err(Error::input(path, format!("{size} bytes: a file of rooms has at most {SIZE_MAX}")));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::input(path, e))?;
    let text = String::from_utf8(bytes).map_err(|_| Error::input(path, "not UTF-8 text: a file of rooms is TOML"))?;
    Rooms::from_toml(&text).map_err(|e| Error::input(path, e))
}

fn text(json: serde_json::Result<String>) -> Result<Vec<u8>> {
    json.map(|text| format!("{text}\n").into_bytes()).map_err(|e| Error::Limit(format!("the dungeon cannot be written: {e}")))
}

/// What JSON files hold: the format's version and the program's, then the fields of [`Dungeon`].
///
/// # Errors
/// [`Error::Limit`] if it cannot be put into JSON.
pub fn document(dungeon: &Dungeon) -> Result<serde_json::Value> {
    let mut object = serde_json::Map::new();
    object.insert("schema".into(), 1.into());
    object.insert("thalweg".into(), env!("CARGO_PKG_VERSION").into());
    match serde_json::to_value(dungeon) {
        Ok(serde_json::Value::Object(fields)) => object.extend(fields),
        Ok(_) => {}
        Err(e) => return Err(Error::Limit(format!("the dungeon cannot be written: {e}"))),
    }
    Ok(object.into())
}

/// Rows of letters; see [`crate::dungeon::Tile::letter`] and [`crate::dungeon::Thing::letter`]. A hallway's floor is a
/// corridor's, and empty rows and columns around are left out.
fn letters(dungeon: &Dungeon) -> String {
    let mut rows: Vec<Vec<char>> = dungeon.tiles.rows().iter().map(|row| row.chars().collect()).collect();
    for spawn in &dungeon.spawns {
        if let Some(letter) = rows.get_mut(spawn.y as usize).and_then(|row| row.get_mut(spawn.x as usize)) {
            *letter = spawn.thing.letter();
        }
    }
    let blank = |row: &Vec<char>| row.iter().all(|c| *c == ' ');
    let first = rows.iter().position(|row| !blank(row)).unwrap_or(0);
    let last = rows.iter().rposition(|row| !blank(row)).map_or(0, |i| i + 1);
    let left = rows.iter().filter_map(|row| row.iter().position(|c| *c != ' ')).min().unwrap_or(0);
    rows[first..last].iter().map(|row| format!("{}\n", row[left..].iter().collect::<String>().trim_end())).collect()
}
