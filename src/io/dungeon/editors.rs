//! Maps for the editors Tiled and LDtk, and the tileset that both use.

use super::picture::{Canvas, one_thing, one_tile};
use crate::dungeon::floor_grid::{CELL_TILES, cell_at};
use crate::dungeon::{Dungeon, Rect, Role, Room, Thing, Tile};
use image::{Pixel, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::{Value, json};

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

/// A map in the JSON map format 1.10 of Tiled: a tile layer, and layers of objects with classes for
/// rooms, doors and things.
pub(super) fn tiled(dungeon: &Dungeon) -> Value {
    let (width, height) = (dungeon.tiles.width, dungeon.tiles.height);
    let mut next = 1;
    let mut object = |name: String, class: &str, at: Rect, properties: Vec<(&str, Value)>| {
        let properties: Vec<_> = properties
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| {
                json!({ "name": name,
                    "type": if value.is_string() { "string" } else { "int" }, "value": value })
            })
            .collect();
        next += 1;
        json!({
            "id": next - 1, "name": name, "type": class, "x": pixels(at.x), "y": pixels(at.y),
            "width": pixels(at.width),
            "height": pixels(at.height), "rotation": 0, "visible": true, "properties": properties,
        })
    };
    let rooms: Vec<_> = dungeon
        .rooms
        .iter()
        .map(|r| {
            let properties = vec![("room", r.id.into()), ("distance", word(r.distance))];
            let mut object = object(format!("room {}", r.id), r.role.name(), r.tiles, properties);
            if let Some(corners) = corners(r) {
                let corners = corners.map(|[x, y]| json!({ "x": pixels(x), "y": pixels(y) }));
                (object["polygon"], object["width"], object["height"]) =
                    (json!(corners), 0.into(), 0.into());
            }
            object
        })
        .collect();
    let doors: Vec<_> = dungeon
        .doors
        .iter()
        .map(|d| {
            let properties = vec![
                ("door", d.id.into()),
                ("from", d.from.into()),
                ("to", word(d.to)),
                ("way", word(d.state)),
                ("key", word(d.key)),
            ];
            object(format!("door {}", d.id), "door", bounds(d.tiles()), properties)
        })
        .collect();
    let things: Vec<_> = dungeon
        .spawns
        .iter()
        .map(|s| {
            let at = Rect { x: s.x, y: s.y, width: 1, height: 1 };
            let name = if s.thing == Thing::Key {
                format!("key {}", s.variant)
            } else {
                s.thing.name().to_string()
            };
            let mut object = object(
                name,
                s.thing.name(),
                at,
                vec![("room", s.room.into()), ("variant", s.variant.into())],
            );
            // Tiled positions an object that shows a tile by its south-west corner.
            (object["gid"], object["y"]) =
                ((1 + tile_of(s.thing, s.variant)).into(), pixels(at.y + 1).into());
            object
        })
        .collect();
    let group = |id: u32, name: &str, color: &str, objects: Vec<Value>| {
        json!({
            "color": color, "draworder": "topdown", "id": id, "name": name, "objects": objects,
            "opacity": 1, "type": "objectgroup",
            "visible": true, "x": 0, "y": 0,
        })
    };
    let data: Vec<u32> = indices(dungeon).into_iter().map(|n| n.map_or(0, |n| n + 1)).collect();
    let solid =
        |tile: Tile| json!([{ "name": "walkable", "type": "bool", "value": tile.walkable() }]);
    let kinds = Tile::ALL
        .into_iter()
        .zip(0u32..)
        .map(|(t, id)| json!({ "id": id, "type": t.name(), "properties": solid(t) }));
    let floors = Role::ALL.into_iter().zip(COLUMNS..).map(|(role, id)| {
        json!({ "id": id, "type": format!("floor_{}", role.name()),
            "properties": solid(Tile::Floor) })
    });
    let icons = THINGS
        .into_iter()
        .map(|(t, variant)| json!({ "id": tile_of(t, variant), "type": t.name() }));
    json!({
        "compressionlevel": -1,
        "height": height,
        "infinite": false,
        "layers": [
            {
                "data": data, "height": height, "id": 1, "name": "tiles", "opacity": 1,
                "type": "tilelayer", "visible": true,
                "width": width, "x": 0, "y": 0,
            },
            group(2, "rooms", "#8ecae6", rooms),
            group(3, "doors", "#f0cf52", doors),
            group(4, "things", "#d65f5f", things),
        ],
        "nextlayerid": 5,
        "nextobjectid": next,
        "orientation": "orthogonal",
        "properties": [
            { "name": "kind", "type": "string", "value": dungeon.kind.name() },
            { "name": "seed", "type": "string", "value": dungeon.seed.to_string() },
        ],
        "renderorder": "right-down",
        "tiledversion": "1.10.2",
        "tileheight": TILE,
        "tilesets": [{
            "columns": COLUMNS, "firstgid": 1, "image": TILESET, "imageheight": ROWS * TILE,
            "imagewidth": COLUMNS * TILE,
            "margin": 0, "name": "thalweg-dungeon", "spacing": 0, "tilecount": COLUMNS * ROWS,
            "tileheight": TILE,
            "tiles": kinds.chain(floors).chain(icons).collect::<Vec<_>>(), "tilewidth": TILE,
        }],
        "tilewidth": TILE,
        "type": "map",
        "version": "1.10",
        "width": width,
    })
}

/// The uids of definitions in an LDtk project. Those of entities follow.
const TILESET_UID: u32 = 1;
const LAYER_TILES: u32 = 2;
const LAYER_THINGS: u32 = 3;
const LEVEL: u32 = 4;
const FIRST_ENTITY: u32 = 10;

/// A project in the format of LDtk 1.5.3: one level with a layer of tiles, and a layer of entities
/// for things, doors and rooms.
pub(super) fn ldtk(dungeon: &Dungeon) -> Value {
    let (width, height) = (dungeon.tiles.width, dungeon.tiles.height);
    let mut count = 0u64;
    let mut iid = || {
        count += 1;
        // LDtk needs distinct UUIDs. These are the same for the same seed.
        format!("{:08x}-0000-4000-8000-{count:012x}", dungeon.seed as u32)
    };
    let (project, world, level, layer_tiles, layer_things) = (iid(), iid(), iid(), iid(), iid());

    let things = [
        Thing::Player,
        Thing::Enemy,
        Thing::Boss,
        Thing::Item,
        Thing::Ware,
        Thing::Fire,
        Thing::Key,
    ];
    let colours = [
        "#1D4E89", "#6B3A3A", "#5C101C", "#FFFFFF", "#F6E05E", "#F07B2E", "#FFD43B", "#9C6B3F",
        "#C8C1B0",
    ];
    let names: Vec<String> = things
        .iter()
        .map(|thing| capital(thing.name()))
        .chain(["Door".into(), "Room".into()])
        .collect();
    let fields: Vec<[(&str, &str); 2]> = things
        .iter()
        .map(|_| [("room", "Int"), ("variant", "Int")])
        .chain([[("way", "String"), ("key", "Int")], [("room", "Int"), ("role", "String")]])
        .collect();
    // Each entity takes one uid, and its two fields take the next two.
    let uid = |kind: usize| FIRST_ENTITY + 3 * kind as u32;
    let entities: Vec<Value> = (0..names.len())
        .map(|kind| {
            let field_defs: Vec<_> = fields[kind]
                .iter()
                .zip(1..)
                .map(|((name, type_), i)| field(name, type_, uid(kind) + i))
                .collect();
            let tile = things.get(kind).map(|thing| tile_rect(tile_of(*thing, 0)));
            entity(&names[kind], colours[kind], tile, uid(kind), field_defs)
        })
        .collect();
    let mut instance = |kind: usize, at: Rect, values: [Value; 2]| {
        let instances: Vec<_> = fields[kind]
            .iter()
            .zip(values)
            .zip(1..)
            .map(|(((name, type_), value), i)| {
                let raw = match &value {
                    Value::Null => json!([]),
                    Value::String(text) => json!([{ "id": "V_String", "params": [text] }]),
                    number => json!([{ "id": "V_Int", "params": [number] }]),
                };
                json!({ "__identifier": name, "__type": type_, "__value": value, "__tile": null,
                "defUid": uid(kind) + i, "realEditorValues": raw })
            })
            .collect();
        json!({
            "__identifier": names[kind], "__grid": [at.x, at.y], "__pivot": [0, 0], "__tags": [],
            "__tile": things.get(kind).map(|thing| tile_rect(tile_of(*thing, 0))),
            "__smartColor": colours[kind], "iid": iid(), "width": pixels(at.width),
            "height": pixels(at.height),
            "defUid": uid(kind), "px": [pixels(at.x), pixels(at.y)], "fieldInstances": instances,
            "__worldX": pixels(at.x), "__worldY": pixels(at.y),
        })
    };
    let mut placed: Vec<Value> = vec![];
    for room in &dungeon.rooms {
        placed.push(instance(
            things.len() + 1,
            room.tiles,
            [room.id.into(), room.role.name().into()],
        ));
    }
    for door in &dungeon.doors {
        placed.push(instance(
            things.len(),
            bounds(door.tiles()),
            [word(door.state), word(door.key)],
        ));
    }
    for spawn in &dungeon.spawns {
        let kind = things.iter().position(|thing| *thing == spawn.thing).unwrap_or(0);
        placed.push(instance(
            kind,
            Rect { x: spawn.x, y: spawn.y, width: 1, height: 1 },
            [spawn.room.into(), spawn.variant.into()],
        ));
    }

    let painted: Vec<Value> = indices(dungeon)
        .into_iter()
        .enumerate()
        .filter_map(|(i, number)| {
            let (number, x, y) = (number?, i as u32 % width * TILE, i as u32 / width * TILE);
            let source = [number % COLUMNS * TILE, number / COLUMNS * TILE];
            Some(json!({ "px": [x, y], "src": source, "f": 0, "t": number, "d": [i], "a": 1 }))
        })
        .collect();
    let layer = |identifier: &str,
                 type_: &str,
                 iid: &str,
                 def: u32,
                 csv: Vec<u32>,
                 painted: Vec<Value>,
                 placed: Vec<Value>| {
        let tileset = (type_ == "Tiles").then_some(TILESET_UID);
        json!({
            "__identifier": identifier, "__type": type_, "__cWid": width, "__cHei": height,
            "__gridSize": TILE, "__opacity": 1,
            "__pxTotalOffsetX": 0, "__pxTotalOffsetY": 0, "__tilesetDefUid": tileset,
            "__tilesetRelPath": tileset.map(|_| TILESET), "iid": iid, "levelId": LEVEL,
            "layerDefUid": def, "pxOffsetX": 0,
            "pxOffsetY": 0, "visible": true, "optionalRules": [], "intGridCsv": csv,
            "autoLayerTiles": [], "seed": 0,
            "overrideTilesetUid": null, "gridTiles": painted, "entityInstances": placed,
        })
    };
    let mut all = json!({
        "__header__": {
            "fileType": "LDtk Project JSON", "app": "LDtk", "doc": "https://ldtk.io/json",
            "schema": "https://ldtk.io/files/JSON_SCHEMA.json", "appAuthor": "Sebastien \
                                                                              'deepnight' Benard",
            "appVersion": "1.5.3", "url": "https://ldtk.io",
        },
        "iid": project,
        "jsonVersion": "1.5.3",
        "appBuildId": 473703,
        "nextUid": FIRST_ENTITY + 3 * names.len() as u32,
        "identifierStyle": "Free",
        "toc": [],
        "worldLayout": "Free",
        "worldGridWidth": 256,
        "worldGridHeight": 256,
        "defaultLevelWidth": 256,
        "defaultLevelHeight": 256,
        "defaultPivotX": 0,
        "defaultPivotY": 0,
        "defaultGridSize": TILE,
        "defaultEntityWidth": TILE,
        "defaultEntityHeight": TILE,
        "bgColor": "#14151B",
        "defaultLevelBgColor": "#14151B",
        "minifyJson": true,
        "externalLevels": false,
        "exportTiled": false,
        "simplifiedExport": false,
        "imageExportMode": "None",
        "exportLevelBg": true,
        "pngFilePattern": null,
        "backupOnSave": false,
        "backupLimit": 10,
        "backupRelPath": null,
        "levelNamePattern": "Level_%idx",
        "tutorialDesc": null,
        "customCommands": [],
        "flags": [],
        "worlds": [],
        "dummyWorldIid": world,
    });
    all["defs"] = json!({
            "layers": [layer_def("Things", "Entities", LAYER_THINGS),
                layer_def("Tiles", "Tiles", LAYER_TILES)],
            "entities": entities,
            "tilesets": [{
                "__cWid": COLUMNS, "__cHei": ROWS, "identifier": "Dungeon", "uid": TILESET_UID,
                "relPath": TILESET,
                "embedAtlas": null, "pxWid": COLUMNS * TILE, "pxHei": ROWS * TILE,
                "tileGridSize": TILE, "spacing": 0,
                "padding": 0, "tags": [], "tagsSourceEnumUid": null, "enumTags": [],
                "savedSelections": [],
                "customData": Tile::ALL.into_iter().zip(0u32..).map(|(t,
                    id)| json!({ "tileId": id, "data": t.name() })).collect::<Vec<_>>(),
                "cachedPixelData": null,
            }],
            "enums": [],
            "externalEnums": [],
            "levelFields": [],
    });
    all["levels"] = json!([{
            "identifier": format!("{}_{}", dungeon.kind.name(), dungeon.seed), "iid": level,
            "uid": LEVEL, "worldX": 0, "worldY": 0,
            "worldDepth": 0, "pxWid": width * TILE, "pxHei": height * TILE, "__bgColor": "#14151B",
            "bgColor": null,
            "useAutoIdentifier": false, "bgRelPath": null, "bgPos": null, "bgPivotX": 0.5,
            "bgPivotY": 0.5,
            "__smartColor": "#8A8B8D", "__bgPos": null, "externalRelPath": null,
            "fieldInstances": [],
            "layerInstances": [
                layer("Things", "Entities", &layer_things, LAYER_THINGS, vec![], vec![], placed),
                layer("Tiles", "Tiles", &layer_tiles, LAYER_TILES, vec![], painted, vec![]),
            ],
            "__neighbours": [],
    }]);
    all
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}

fn layer_def(identifier: &str, type_: &str, uid: u32) -> Value {
    let tileset = (type_ == "Tiles").then_some(TILESET_UID);
    json!({
        "__type": type_, "identifier": identifier, "type": type_, "uid": uid, "doc": null,
        "uiColor": null, "gridSize": TILE,
        "guideGridWid": 0, "guideGridHei": 0, "displayOpacity": 1, "inactiveOpacity": 1,
        "hideInList": false,
        "hideFieldsWhenInactive": false, "canSelectWhenInactive": true, "renderInWorldView": true,
        "pxOffsetX": 0, "pxOffsetY": 0,
        "parallaxFactorX": 0, "parallaxFactorY": 0, "parallaxScaling": true, "requiredTags": [],
        "excludedTags": [],
        "autoTilesKilledByOtherLayerUid": null, "uiFilterTags": [], "useAsyncRender": false,
        "intGridValues": [],
        "intGridValuesGroups": [], "autoRuleGroups": [], "autoSourceLayerDefUid": null,
        "tilesetDefUid": tileset,
        "tilePivotX": 0, "tilePivotY": 0, "biomeFieldUid": null,
    })
}

fn tile_rect(number: u32) -> Value {
    let [x, y] = [number % COLUMNS * TILE, number / COLUMNS * TILE];
    json!({ "tilesetUid": TILESET_UID, "x": x, "y": y, "w": TILE, "h": TILE })
}

/// The definition of an entity. It shows a tile if it has one; otherwise it covers an area.
fn entity(
    identifier: &str,
    color: &str,
    tile: Option<Value>,
    uid: u32,
    field_defs: Vec<Value>,
) -> Value {
    let hollow = tile.is_none();
    json!({
        "identifier": identifier, "uid": uid, "tags": [], "exportToToc": false,
        "allowOutOfBounds": false, "doc": null,
        "width": TILE, "height": TILE, "resizableX": hollow, "resizableY": hollow,
        "minWidth": null, "maxWidth": null,
        "minHeight": null, "maxHeight": null, "keepAspectRatio": false, "tileOpacity": 1,
        "fillOpacity": if hollow { 0.1 } else { 1.0 }, "lineOpacity": 1, "hollow": hollow,
        "color": color,
        "renderMode": if hollow { "Rectangle" } else { "Tile" }, "showName": false,
        "tilesetId": tile.as_ref().map(|_| TILESET_UID), "tileRenderMode": "FitInside",
        "tileRect": tile, "uiTileRect": null, "nineSliceBorders": [], "maxCount": 0,
        "limitScope": "PerLevel", "limitBehavior": "MoveLastOne", "pivotX": 0, "pivotY": 0,
        "fieldDefs": field_defs,
    })
}

fn field(identifier: &str, type_: &str, uid: u32) -> Value {
    json!({
        "identifier": identifier, "doc": null, "__type": type_, "uid": uid,
        "type": format!("F_{type_}"), "isArray": false,
        "canBeNull": true, "arrayMinLength": null, "arrayMaxLength": null,
        "editorDisplayMode": "Hidden", "editorDisplayScale": 1,
        "editorDisplayPos": "Above", "editorLinkStyle": "StraightArrow",
        "editorDisplayColor": null, "editorAlwaysShow": false,
        "editorShowInWorld": true, "editorCutLongValues": true, "editorTextSuffix": null,
        "editorTextPrefix": null,
        "useForSmartColor": false, "exportToToc": false, "searchable": false, "min": null,
        "max": null, "regex": null,
        "acceptFileTypes": null, "defaultOverride": null, "textLanguageMode": null,
        "symmetricalRef": false,
        "autoChainRef": true, "allowOutOfLevelRef": true, "allowedRefs": "OnlySame",
        "allowedRefsEntityUid": null,
        "allowedRefTags": [], "tilesetUid": null,
    })
}
