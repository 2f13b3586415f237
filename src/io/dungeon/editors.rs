//! Maps for the editors Tiled and LDtk, and the tileset that both use.

mod ldtk;
mod tiled;

use super::picture::{Canvas, one_thing, one_tile};
use crate::dungeon::floor_grid::{CELL_TILES, cell_at};
use crate::dungeon::{Dungeon, Rect, Role, Room, Thing, Tile};
use image::{Pixel, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::Value;

pub(super) use ldtk::ldtk;
pub(super) use tiled::tiled;

/// The side of a tile in the tileset, in pixels.
pub const TILE: u32 = 16;
/// The file name of the tileset, which maps expect in their own folder.
pub const TILESET: &str = "thalweg-dungeon.png";

/// Columns of the tileset. The first row has the kinds of tile, the second the floor of each role,
/// the third the things.
const COLUMNS: u32 = 11;
const ROWS: u32 = 3;

/// The things and their variants, in the order of the tileset.
const THINGS: [(Thing, u32); 9] = [
    (Thing::Player, 0),
    (Thing::Enemy, 0),
    (Thing::Enemy, 1),
    (Thing::Boss, 0),
    (Thing::Item, 0),
    (Thing::Ware, 0),
    (Thing::Fire, 0),
    (Thing::Fire, 1),
    (Thing::Key, 0),
];

/// The index of the tile of a thing. The variant of a key is its id, and all keys share one tile.
fn tile_of(thing: Thing, variant: u32) -> u32 {
    let variant = if thing == Thing::Key { 0 } else { variant };
    let place = THINGS.iter().position(|one| *one == (thing, variant)).unwrap_or(0);
    2 * COLUMNS + place as u32
}

/// The tileset: 11 × 3 tiles of 16 pixels, with a transparent background behind the things.
pub fn tileset() -> RgbaImage {
    /// A colour that no tile uses. It becomes transparent.
    const NOTHING: Rgb<u8> = Rgb([0xff, 0x00, 0xff]);
    let (width, height) = (COLUMNS * TILE, ROWS * TILE);
    let mut canvas = Canvas(RgbImage::from_pixel(width, height, NOTHING));
    let place = |i: usize, row: usize| [i as i32 * TILE as i32, row as i32 * TILE as i32];
    for (i, tile) in Tile::ALL.into_iter().enumerate() {
        one_tile(tile, Role::Normal, &mut canvas, TILE, place(i, 0));
    }
    for (i, role) in Role::ALL.into_iter().enumerate() {
        one_tile(Tile::Floor, role, &mut canvas, TILE, place(i, 1));
    }
    for (i, (thing, variant)) in THINGS.into_iter().enumerate() {
        one_thing(thing, variant, &mut canvas, TILE, place(i, 2));
    }
    RgbaImage::from_fn(width, height, |x, y| match canvas.0[(x, y)] {
        NOTHING => Rgba([0; 4]),
        colour => colour.to_rgba(),
    })
}

/// The index in the tileset of each tile of a dungeon. Void tiles have none.
fn indices(dungeon: &Dungeon) -> Vec<Option<u32>> {
    let width = dungeon.tiles.width as usize;
    let mut indices: Vec<Option<u32>> = dungeon
        .tiles
        .data
        .iter()
        .map(|tile| (*tile != Tile::Void).then_some(*tile as u32))
        .collect();
    for room in &dungeon.rooms {
        let role = Role::ALL.iter().position(|role| *role == room.role).unwrap_or(0) as u32;
        for [x, y] in room.tiles.cells() {
            let i = y as usize * width + x as usize;
            // The bounds of an L-shaped room contain a cell of another room.
            let own = room.cells.is_empty() || room.occupies(cell_at([x, y]));
            if own && indices.get(i) == Some(&Some(Tile::Floor as u32)) {
                indices[i] = Some(COLUMNS + role);
            }
        }
    }
    indices
}

fn pixels(tiles: i32) -> i64 {
    i64::from(tiles) * i64::from(TILE)
}

/// The smallest rectangle around some tiles.
fn bounds(tiles: impl Iterator<Item = [i32; 2]>) -> Rect {
    tiles.map(|[x, y]| Rect { x, y, width: 1, height: 1 }).reduce(Rect::hull).unwrap_or_default()
}

/// The corners of an L-shaped room, in tiles from the north-west corner of its bounds.
fn corners(room: &Room) -> Option<[[i32; 2]; 6]> {
    let [east, south] = room.shape?.missing()?;
    let [w, h] = CELL_TILES;
    // The corners of a room without its south-east cell, mirrored.
    let flip = |mirrored: bool, v: i32, whole: i32| if mirrored { whole - v } else { v };
    let corners = [[0, 0], [2 * w, 0], [2 * w, h], [w, h], [w, 2 * h], [0, 2 * h]];
    Some(corners.map(|[x, y]| [flip(east == 0, x, 2 * w), flip(south == 0, y, 2 * h)]))
}

fn word(value: impl serde::Serialize) -> Value {
    // Cannot fail: all values are plain enums and numbers.
    serde_json::to_value(value).unwrap_or_default()
}
