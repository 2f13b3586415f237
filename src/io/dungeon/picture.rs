//! Pictures of dungeons: a list of rectangles is drawn as SVG or as pixels. Also contact sheets,
//! and animations of the layout.

use crate::dungeon::floor_grid::{CELL_TILES, origin};
use crate::dungeon::{
    Dungeon, Generator, GeneratorKind, Grid, Mark, Rect, Role, Room, Side, Step, Tally, Thing,
    Tile, Tiles,
};
use crate::render::digits;
use crate::{Error, Result};
use image::{Rgb, RgbImage};

/// The most steps that an animation shows. If there are more, it shows the last ones.
pub const FRAMES_MAX: usize = 400;

type Colour = [u8; 3];

/// The side of a tile in drawing units.
const UNITS: i32 = 8;
const BACKGROUND: Colour = [0x14, 0x15, 0x1b];
const WALL: Colour = [0x3b, 0x3f, 0x50];
/// The background of a dungeon on a contact sheet.
const FIELD: Colour = [0x1c, 0x1e, 0x27];
const LABEL: Colour = [0x8b, 0x90, 0xa5];
const PIT: Colour = [0x5a, 0x3d, 0x2b];
const DARK: Colour = [0x1f, 0x21, 0x2b];

/// The colour of the floor of a room.
fn floor_colour(role: Role) -> Colour {
    match role {
        Role::Start => [0x8e, 0xca, 0xe6],
        Role::Normal => [0xc8, 0xc1, 0xb0],
        Role::Boss => [0xd6, 0x5f, 0x5f],
        Role::Treasure => [0xf0, 0xcf, 0x52],
        Role::Shop => [0x7b, 0xc4, 0x8e],
        Role::Sacrifice => [0xc0, 0x7b, 0xc9],
        Role::Library => [0x86, 0x9f, 0xd4],
        Role::Challenge => [0xe8, 0x9b, 0x5b],
        Role::Secret => [0x70, 0x75, 0x87],
        Role::SuperSecret => [0x76, 0x62, 0x8f],
        Role::Hallway => [0xa3, 0x9d, 0x90],
    }
}

const CORRIDOR: Colour = [0x8a, 0x86, 0x7d];

fn thing_colour(thing: Thing) -> Colour {
    match thing {
        Thing::Player => [0x1d, 0x4e, 0x89],
        Thing::Enemy => [0x6b, 0x3a, 0x3a],
        Thing::Boss => [0x5c, 0x10, 0x1c],
        Thing::Item => [0xff, 0xff, 0xff],
        Thing::Ware => [0xf6, 0xe0, 0x5e],
        Thing::Fire => [0xf0, 0x7b, 0x2e],
        Thing::Key => [0xff, 0xd4, 0x3b],
    }
}

fn shade(colour: Colour, percent: u16) -> Colour {
    colour.map(|c| (u16::from(c) * percent / 100).min(255) as u8)
}

/// Rectangles in drawing units. Later ones cover earlier ones.
type Scene = Vec<(Rect, Colour)>;

/// The role of the room on each tile.
fn roles(dungeon: &Dungeon) -> Vec<Role> {
    let width = dungeon.tiles.width as usize;
    let mut roles = vec![Role::Hallway; dungeon.tiles.data.len()];
    for room in &dungeon.rooms {
        let [width_tiles, height_tiles] = CELL_TILES;
        let pieces: Vec<Rect> = match room.cells.is_empty() {
            true => vec![room.tiles],
            false => {
                let origins = room.cells.iter().map(|cell| origin(i32::from(*cell)));
                origins
                    .map(|[x, y]| Rect { x, y, width: width_tiles, height: height_tiles })
                    .collect()
            }
        };
        for [x, y] in pieces.into_iter().flat_map(Rect::cells) {
            if let Some(role) = roles.get_mut(y as usize * width + x as usize) {
                *role = room.role;
            }
        }
    }
    roles
}

/// The background and the ground of all tiles.
fn floors(tiles: &Tiles, roles: &[Role]) -> Scene {
    let width = tiles.width as usize;
    let base = |i: usize| match tiles.data[i] {
        Tile::Void => None,
        Tile::Wall | Tile::Breakable => Some(WALL),
        Tile::Corridor => Some(CORRIDOR),
        Tile::Pit => Some(shade(floor_colour(roles[i]), 65)),
        Tile::Door | Tile::Locked => Some(CORRIDOR),
        Tile::Floor | Tile::Rock | Tile::Spikes => Some(floor_colour(roles[i])),
    };
    let mut scene = vec![(
        Rect { x: 0, y: 0, width: tiles.width as i32 * UNITS, height: tiles.height as i32 * UNITS },
        BACKGROUND,
    )];
    for y in 0..tiles.height as usize {
        let mut x = 0;
        while x < width {
            let colour = base(y * width + x);
            // Tiles of one colour in a row become one rectangle, so that an SVG stays small.
            let run = (x..width).take_while(|&x| base(y * width + x) == colour).count();
            if let Some(colour) = colour {
                let at = Rect {
                    x: x as i32 * UNITS,
                    y: y as i32 * UNITS,
                    width: run as i32 * UNITS,
                    height: UNITS,
                };
                scene.push((at, colour));
            }
            x += run;
        }
    }
    scene
}

fn scene(dungeon: &Dungeon) -> Scene {
    let tiles = &dungeon.tiles;
    let width = tiles.width as usize;
    let roles = roles(dungeon);
    let mut scene = floors(tiles, &roles);
    for (i, tile) in tiles.data.iter().enumerate() {
        let at = [(i % width) as i32, (i / width) as i32];
        match tile {
            Tile::Rock => {
                scene.push((inner(at, 0), shade(floor_colour(roles[i]), 88)));
                scene.push((inner(at, 1), [0x6e, 0x6a, 0x66]));
                scene.push((
                    Rect { x: at[0] * UNITS + 2, y: at[1] * UNITS + 2, width: 3, height: 2 },
                    [0x8b, 0x87, 0x82],
                ));
            }
            // The base is the rim of the pit. It shows where the pit ends, so a pit looks like no
            // gap in the map.
            Tile::Pit => {
                let [n, e, s, w] = Side::ALL.map(|side| {
                    let [dx, dy] = side.step();
                    if tiles.at([at[0] + dx, at[1] + dy]) == Tile::Pit { 0 } else { 2 }
                });
                let [x, y] = [at[0] * UNITS + w, at[1] * UNITS + n];
                scene.push((Rect { x, y, width: UNITS - w - e, height: UNITS - n - s }, PIT));
            }
            Tile::Spikes => {
                for (dx, dy) in [(1, 1), (5, 1), (3, 3), (1, 5), (5, 5)] {
                    scene.push((
                        Rect { x: at[0] * UNITS + dx, y: at[1] * UNITS + dy, width: 2, height: 2 },
                        [0x55, 0x57, 0x63],
                    ));
                }
            }
            Tile::Door => scene.push((inner(at, 0), [0x9c, 0x6b, 0x3f])),
            Tile::Locked => {
                scene.push((inner(at, 0), [0xb8, 0x86, 0x1f]));
                scene.push((inner(at, 2), [0x33, 0x25, 0x09]));
            }
            Tile::Breakable => {
                scene.push((inner(at, 1), [0x62, 0x67, 0x7a]));
                scene.push((inner(at, 3), WALL));
            }
            _ => {}
        }
    }
    dungeon
        .spawns
        .iter()
        .for_each(|spawn| put(spawn.thing, spawn.variant, [spawn.x, spawn.y], &mut scene));
    scene
}

/// The square of a tile in drawing units, smaller by `by` on each side.
fn inner([x, y]: [i32; 2], by: i32) -> Rect {
    Rect { x: x * UNITS, y: y * UNITS, width: UNITS, height: UNITS }.grown(-by)
}

/// Draws a thing on a tile.
fn put(what: Thing, variant: u32, at: [i32; 2], scene: &mut Scene) {
    let colour = match what {
        Thing::Enemy | Thing::Fire if variant > 0 => [0xd0, 0x2f, 0x2f],
        _ => thing_colour(what),
    };
    match what {
        Thing::Enemy => scene.push((inner(at, 2), colour)),
        Thing::Fire => {
            scene.push((inner(at, 1), colour));
            scene.push((inner(at, 3), [0xff, 0xe0, 0x8a]));
        }
        Thing::Boss => {
            scene.push((inner(at, -6), shade(colour, 60)));
            scene.push((inner(at, -5), colour));
            for dx in [-2, 5] {
                scene.push((
                    Rect { x: at[0] * UNITS + dx, y: at[1] * UNITS + 1, width: 5, height: 4 },
                    [0xf4, 0xe8, 0xe0],
                ));
            }
        }
        Thing::Player => {
            scene.push((inner(at, -4), colour));
            scene.push((inner(at, 0), [0xff, 0xff, 0xff]));
        }
        Thing::Key => {
            scene.push((inner(at, -3), DARK));
            scene.push((
                Rect { x: at[0] * UNITS - 1, y: at[1] * UNITS, width: 5, height: 7 },
                colour,
            ));
            scene.push((
                Rect { x: at[0] * UNITS + 1, y: at[1] * UNITS + 2, width: 1, height: 3 },
                DARK,
            ));
            scene.push((
                Rect { x: at[0] * UNITS + 4, y: at[1] * UNITS + 3, width: 5, height: 2 },
                colour,
            ));
            scene.push((
                Rect { x: at[0] * UNITS + 7, y: at[1] * UNITS + 5, width: 2, height: 2 },
                colour,
            ));
        }
        Thing::Item | Thing::Ware => {
            scene.push((inner(at, 0), DARK));
            scene.push((inner(at, 1), colour));
        }
    }
}

/// The side of a tile in pixels for a picture whose longer side has about a thousand.
pub(super) fn scale(dungeon: &Dungeon) -> u32 {
    (1100 / dungeon.tiles.width.max(dungeon.tiles.height).max(1)).clamp(1, 16)
}

/// Draws a dungeon. `tile_px` is the side of a tile in pixels, 1 to 64.
///
/// # Errors
/// [`Error::Limit`] if the picture would have more than 2²⁸ pixels.
pub fn picture(dungeon: &Dungeon, tile_px: u32) -> Result<RgbImage> {
    let tile_px = tile_px.clamp(1, 64);
    let mut canvas = Canvas::new(
        u64::from(dungeon.tiles.width * tile_px),
        u64::from(dungeon.tiles.height * tile_px),
    )?;
    canvas.draw(&scene(dungeon), tile_px, [0, 0]);
    Ok(canvas.0)
}

/// The bounds of the tiles that are not void.
fn drawn(dungeon: &Dungeon) -> Rect {
    let width = dungeon.tiles.width as usize;
    let there = dungeon.tiles.data.iter().enumerate().filter(|(_, tile)| **tile != Tile::Void);
    let (mut low, mut high) = ([i32::MAX; 2], [0; 2]);
    for at in there.map(|(i, _)| [(i % width) as i32, (i / width) as i32]) {
        for axis in 0..2 {
            (low[axis], high[axis]) = (low[axis].min(at[axis]), high[axis].max(at[axis] + 1));
        }
    }
    Rect {
        // Without any tile `low` is still the largest number.
        x: low[0].min(high[0]),
        y: low[1].min(high[1]),
        width: (high[0] - low[0]).max(0),
        height: (high[1] - low[1]).max(0),
    }
}

/// Draws several dungeons on a contact sheet that is about as many rows high as columns wide. The
/// seed is written above each.
///
/// # Errors
/// [`Error::Param`] if there are no dungeons. [`Error::Limit`] if the picture would have more than
/// 2²⁸ pixels.
pub fn sheet(dungeons: &[Dungeon], tile_px: u32) -> Result<RgbImage> {
    const GAP: u32 = 8;
    const BORDER: u32 = 8;
    /// The height of the line with the seed.
    const HEAD: u32 = 20;
    let bounds: Vec<Rect> = dungeons.iter().map(drawn).collect();
    let (Some(w), Some(h)) =
        (bounds.iter().map(|b| b.width as u32).max(), bounds.iter().map(|b| b.height as u32).max())
    else {
        return Err(Error::param("a sheet needs at least one dungeon"));
    };
    let tile_px = tile_px.clamp(1, 64);
    let columns =
        (1..).find(|n: &u32| u64::from(*n) * u64::from(*n) >= dungeons.len() as u64).unwrap_or(1);
    let rows = (dungeons.len() as u32).div_ceil(columns);
    let side = |n: u32, pixels: u32| u64::from(n) * u64::from(pixels + GAP) + u64::from(GAP);
    let [field_w, field_h] = [w * tile_px + 2 * BORDER, h * tile_px + 2 * BORDER + HEAD];
    let mut canvas = Canvas::new(side(columns, field_w), side(rows, field_h))?;
    for ((dungeon, at), i) in dungeons.iter().zip(bounds).zip(0u32..) {
        let (left, top) = (
            (GAP + i % columns * (field_w + GAP)) as i32,
            (GAP + i / columns * (field_h + GAP)) as i32,
        );
        canvas.fill(Rect { x: left, y: top, width: field_w as i32, height: field_h as i32 }, FIELD);
        canvas.number(dungeon.seed, 3, [left + BORDER as i32, top + BORDER as i32], LABEL);
        let middle = |whole: u32, part: i32, first: i32| {
            BORDER as i32 + ((whole as i32 - part) / 2 - first) * tile_px as i32
        };
        let x = left + middle(w, at.width, at.x);
        let y = top + HEAD as i32 + middle(h, at.height, at.y);
        // The first rectangle is the background, which would cover the neighbours.
        canvas.draw(&scene(dungeon)[1..], tile_px, [x, y]);
    }
    Ok(canvas.0)
}

/// An SVG drawing in units of an eighth of a tile. Pointing at a room shows its role.
pub(super) fn svg(dungeon: &Dungeon) -> String {
    let (width, height) = (dungeon.tiles.width as i32 * UNITS, dungeon.tiles.height as i32 * UNITS);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" shape-rendering=\"crispEdges\">\n\
         <title>{}, seed {}</title>\n",
        dungeon.kind.name(),
        dungeon.seed
    );
    let rect = |r: &Rect| {
        format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", r.x, r.y, r.width, r.height)
    };
    for (at, [r, g, b]) in scene(dungeon) {
        out += &format!("<rect {} fill=\"#{r:02x}{g:02x}{b:02x}\"/>\n", rect(&at));
    }
    for room in &dungeon.rooms {
        let Rect { x, y, width, height } = room.tiles;
        let at = Rect { x: x * UNITS, y: y * UNITS, width: width * UNITS, height: height * UNITS };
        out += &format!(
            "<rect {} fill-opacity=\"0\"><title>room {}: {}</title></rect>\n",
            rect(&at),
            room.id,
            room.role.name()
        );
    }
    out + "</svg>\n"
}

/// A picture that rectangles are drawn on.
pub(super) struct Canvas(pub(super) RgbImage);

impl Canvas {
    fn new(width: u64, height: u64) -> Result<Self> {
        if width.saturating_mul(height) > 1 << 28 {
            return Err(Error::over(
                format!(
                    "the picture would have {width} x {height} pixels: allowed at most 268435456; \
                     draw \
                 fewer or smaller dungeons"
                ),
                width.saturating_mul(height),
                1u64 << 28,
                "pixels",
            ));
        }
        Ok(Self(RgbImage::from_pixel(width as u32, height as u32, Rgb(BACKGROUND))))
    }

    /// Writes a number. Each digit consists of 3 × 5 squares with a side of `size` pixels.
    fn number(&mut self, number: u64, size: i32, [x, y]: [i32; 2], colour: Colour) {
        for [dx, dy] in digits(number) {
            let [dx, dy] = [dx, dy].map(|n| n as i32 * size);
            self.fill(Rect { x: x + dx, y: y + dy, width: size, height: size }, colour);
        }
    }

    fn fill(&mut self, at: Rect, colour: Colour) {
        let (width, height) = (self.0.width() as i32, self.0.height() as i32);
        let bytes: &mut [u8] = &mut self.0;
        let (x0, x1) = (at.x.clamp(0, width), (at.x + at.width).clamp(0, width));
        for y in at.y.clamp(0, height)..(at.y + at.height).clamp(0, height) {
            let row = (y * width) as usize;
            for pixel in bytes[3 * (row + x0 as usize)..3 * (row + x1 as usize)].chunks_exact_mut(3)
            {
                pixel.copy_from_slice(&colour);
            }
        }
    }

    fn draw(&mut self, scene: &[(Rect, Colour)], tile_px: u32, [left, top]: [i32; 2]) {
        // Edges are rounded, not sizes, so neighbouring rectangles meet.
        let pixel = |u: i32| (u * tile_px as i32 + UNITS / 2).div_euclid(UNITS);
        for (r, colour) in scene {
            let (x, y) = (pixel(r.x), pixel(r.y));
            let at = Rect {
                x: left + x,
                y: top + y,
                width: pixel(r.x + r.width) - x,
                height: pixel(r.y + r.height) - y,
            };
            self.fill(at, *colour);
        }
    }

    /// Draws a line `wide` pixels across.
    fn line(&mut self, from: [i32; 2], to: [i32; 2], wide: i32, colour: Colour) {
        let steps = (to[0] - from[0]).abs().max((to[1] - from[1]).abs()).max(1);
        for i in 0..=steps {
            let along = |axis: usize| {
                from[axis]
                    + (i64::from(to[axis] - from[axis]) * i64::from(i) / i64::from(steps)) as i32
            };
            self.fill(
                Rect { x: along(0) - wide / 2, y: along(1) - wide / 2, width: wide, height: wide },
                colour,
            );
        }
    }
}

fn mark_colour(mark: Mark) -> Colour {
    match mark {
        Mark::Faint => [0x4a, 0x4f, 0x63],
        Mark::Now => [0xff, 0xe0, 0x8a],
        Mark::Refused => [0x7a, 0x3b, 0x3b],
        Mark::Role(role) => floor_colour(role),
        Mark::Corridor => CORRIDOR,
        Mark::Cell => [0x6b, 0x6d, 0x78],
        Mark::Triangulation => [0x5f, 0x7e, 0xa8],
        Mark::Tree => [0x5f, 0xd3, 0x8d],
        Mark::Extra => [0xff, 0xb3, 0x47],
    }
}

/// An animated PNG with a frame for each step of the layout and a last frame with the finished
/// dungeon.
///
/// # Errors
/// [`Error::Limit`] if the picture is too large.
pub fn animation(dungeon: &Dungeon, steps: &[Step]) -> Result<Vec<u8>> {
    let [wide, high] = match dungeon.kind {
        GeneratorKind::TinyKeep => [1, 1],
        _ => CELL_TILES,
    };
    let tile_px = (720 / dungeon.tiles.width.max(dungeon.tiles.height).max(1)).clamp(1, 8);
    let last = picture(dungeon, tile_px)?;
    let (width, height) = last.dimensions();
    let steps = &steps[steps.len().saturating_sub(FRAMES_MAX)..];
    let error =
        |e: png::EncodingError| Error::limit(format!("the animation cannot be encoded: {e}"));
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    encoder.set_animated(steps.len() as u32 + 1, 0).map_err(error)?;
    let pace = if steps.len() > 100 { 5 } else { 14 };
    encoder.set_frame_delay(pace, 100).map_err(error)?;
    let mut writer = encoder.write_header().map_err(error)?;
    let (wide, high) = (wide * tile_px as i32, high * tile_px as i32);
    for step in steps {
        let mut canvas = Canvas::new(width.into(), height.into())?;
        let at = |r: &Rect| Rect {
            x: r.x * wide,
            y: r.y * high,
            width: r.width * wide,
            height: r.height * high,
        };
        // On a floor plan all borders are drawn first, so no border divides the two boxes of an
        // L-shaped room.
        let plan = dungeon.kind != GeneratorKind::TinyKeep;
        if plan {
            step.boxes
                .iter()
                .for_each(|(r, mark)| canvas.fill(at(r), shade(mark_colour(*mark), 55)));
        }
        for (r, mark) in &step.boxes {
            if !plan && *mark != Mark::Corridor {
                canvas.fill(at(r), shade(mark_colour(*mark), 55));
            }
            let inside = if *mark == Mark::Corridor { at(r) } else { at(r).grown(-1) };
            canvas.fill(inside, mark_colour(*mark));
        }
        for (a, b, mark) in &step.lines {
            let at = |[x, y]: [i32; 2]| [x * wide + wide / 2, y * high + high / 2];
            canvas.line(
                at(*a),
                at(*b),
                if *mark == Mark::Triangulation { 1 } else { 3 },
                mark_colour(*mark),
            );
        }
        writer.write_image_data(&canvas.0).map_err(error)?;
    }
    writer.set_frame_delay(4, 1).map_err(error)?;
    writer.write_image_data(&last).map_err(error)?;
    writer.finish().map_err(error)?;
    Ok(out)
}

/// Draws a thing for the tileset, as large as fits into a tile, without a background.
pub(super) fn one_thing(
    thing: Thing,
    variant: u32,
    canvas: &mut Canvas,
    tile_px: u32,
    [x, y]: [i32; 2],
) {
    let mut scene = vec![];
    put(thing, variant, [0, 0], &mut scene);
    let all = scene.iter().map(|(r, _)| *r).reduce(Rect::hull).unwrap_or_default();
    // Small things keep a margin around them.
    let scale = tile_px as i32 * UNITS / all.width.max(all.height).max(UNITS - 2);
    let first = |at: i32, near: i32, length: i32| {
        at + (tile_px as i32 - length * scale / UNITS) / 2 - near * scale / UNITS
    };
    let corner = [first(x, all.x, all.width), first(y, all.y, all.height)];
    canvas.draw(&scene, scale as u32, corner);
}

/// Draws a tile in a room of a role for the tileset, as [`picture`] draws it.
pub(super) fn one_tile(tile: Tile, role: Role, canvas: &mut Canvas, tile_px: u32, at: [i32; 2]) {
    let room = Room {
        id: 0,
        role,
        rect: Rect { x: 0, y: 0, width: 1, height: 1 },
        tiles: Rect { x: 0, y: 0, width: 1, height: 1 },
        distance: None,
        shape: None,
        cells: vec![],
        furniture: vec![],
        hall: None,
    };
    let dungeon = Dungeon {
        kind: GeneratorKind::TinyKeep,
        seed: 0,
        settings: Generator::TinyKeep(Default::default()),
        chapter: None,
        labyrinth: false,
        rooms: vec![room],
        unused: vec![],
        edges: vec![],
        grid: Grid { width: 1, height: 1, rows: vec![vec![0]] },
        doors: vec![],
        keys: vec![],
        critical_path: vec![],
        spawns: vec![],
        tiles: Tiles { width: 1, height: 1, data: vec![tile] },
        tally: Tally::default(),
    };
    canvas.draw(&scene(&dungeon), tile_px, at);
}
