//! Projects in the format of LDtk 1.5.3.

use super::{COLUMNS, ROWS, TILE, TILESET, bounds, indices, pixels, tile_of, word};
use crate::dungeon::{Dungeon, Rect, Thing, Tile};
use serde_json::{Value, json};

/// The uids of definitions. Those of entities follow.
const TILESET_UID: u32 = 1;
const LEVEL: u32 = 4;
const FIRST_ENTITY: u32 = 10;

/// A layer of the level.
struct Layer {
    name: &'static str,
    /// The type in the format.
    kind: &'static str,
    uid: u32,
}

const TILES_LAYER: Layer = Layer { name: "Tiles", kind: "Tiles", uid: 2 };
const THINGS_LAYER: Layer = Layer { name: "Things", kind: "Entities", uid: 3 };

/// What an entity can be.
struct Kind {
    name: &'static str,
    colour: &'static str,
    /// The thing whose tile it shows. Doors and rooms have none, and cover an area.
    thing: Option<Thing>,
    /// The names and types of its fields.
    fields: [(&'static str, &'static str); 2],
}

impl Kind {
    const fn thing(thing: Thing, name: &'static str, colour: &'static str) -> Self {
        let fields = [("room", "Int"), ("variant", "Int")];
        Self { name, colour, thing: Some(thing), fields }
    }

    fn tile(&self) -> Option<Value> {
        self.thing.map(|thing| tile_rect(tile_of(thing, 0)))
    }
}

const KINDS: [Kind; 9] = [
    Kind::thing(Thing::Player, "Player", "#1D4E89"),
    Kind::thing(Thing::Enemy, "Enemy", "#6B3A3A"),
    Kind::thing(Thing::Boss, "Boss", "#5C101C"),
    Kind::thing(Thing::Item, "Item", "#FFFFFF"),
    Kind::thing(Thing::Ware, "Ware", "#F6E05E"),
    Kind::thing(Thing::Fire, "Fire", "#F07B2E"),
    Kind::thing(Thing::Key, "Key", "#FFD43B"),
    Kind {
        name: "Door",
        colour: "#9C6B3F",
        thing: None,
        fields: [("way", "String"), ("key", "Int")],
    },
    Kind {
        name: "Room",
        colour: "#C8C1B0",
        thing: None,
        fields: [("room", "Int"), ("role", "String")],
    },
];
/// The indices of doors and rooms among the kinds.
const DOOR: usize = 7;
const ROOM: usize = 8;

/// The uid of a kind of entity. Its two fields take the next two.
fn uid(kind: usize) -> u32 {
    FIRST_ENTITY + 3 * kind as u32
}

/// Gives instances their ids. LDtk needs distinct UUIDs. These are the same for the same seed.
struct Iids {
    seed: u32,
    count: u64,
}

impl Iids {
    fn next(&mut self) -> String {
        self.count += 1;
        // RFC 9562: the 4 and the 8 mark a random UUID, which readers may check.
        format!("{:08x}-0000-4000-8000-{:012x}", self.seed, self.count)
    }
}

/// A project: one level with a layer of tiles, and a layer of entities for things, doors and rooms.
pub(in crate::io::dungeon) fn ldtk(dungeon: &Dungeon) -> Value {
    let mut iids = Iids { seed: dungeon.seed as u32, count: 0 };
    let [project, world, level, tiles, things] = std::array::from_fn(|_| iids.next());
    // The layer on top comes first.
    let layers = [
        THINGS_LAYER.instance(dungeon, &things, vec![], entities(dungeon, &mut iids)),
        TILES_LAYER.instance(dungeon, &tiles, painted(dungeon), vec![]),
    ];
    let mut all = settings(&project, &world);
    all["defs"] = definitions();
    all["levels"] = json!([level_of(dungeon, &level, layers)]);
    all
}

/// All of a project but its definitions and levels.
fn settings(iid: &str, world: &str) -> Value {
    json!({
        "__header__": {
            "fileType": "LDtk Project JSON", "app": "LDtk", "doc": "https://ldtk.io/json",
            "schema": "https://ldtk.io/files/JSON_SCHEMA.json",
            "appAuthor": "Sebastien 'deepnight' Benard",
            "appVersion": "1.5.3", "url": "https://ldtk.io",
        },
        "iid": iid,
        "jsonVersion": "1.5.3",
        "appBuildId": 473703,
        "nextUid": uid(KINDS.len()),
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
    })
}

fn definitions() -> Value {
    let names: Vec<Value> = Tile::ALL
        .into_iter()
        .zip(0u32..)
        .map(|(tile, id)| json!({ "tileId": id, "data": tile.name() }))
        .collect();
    json!({
        "layers": [THINGS_LAYER.definition(), TILES_LAYER.definition()],
        "entities": KINDS.iter().enumerate().map(entity).collect::<Vec<_>>(),
        "tilesets": [{
            "__cWid": COLUMNS, "__cHei": ROWS, "identifier": "Dungeon", "uid": TILESET_UID,
            "relPath": TILESET, "embedAtlas": null, "pxWid": COLUMNS * TILE,
            "pxHei": ROWS * TILE, "tileGridSize": TILE, "spacing": 0, "padding": 0, "tags": [],
            "tagsSourceEnumUid": null, "enumTags": [], "savedSelections": [], "customData": names,
            "cachedPixelData": null,
        }],
        "enums": [],
        "externalEnums": [],
        "levelFields": [],
    })
}

fn level_of(dungeon: &Dungeon, iid: &str, layers: [Value; 2]) -> Value {
    let (width, height) = (dungeon.tiles.width * TILE, dungeon.tiles.height * TILE);
    json!({
        "identifier": format!("{}_{}", dungeon.kind.name(), dungeon.seed), "iid": iid,
        "uid": LEVEL, "worldX": 0, "worldY": 0, "worldDepth": 0, "pxWid": width, "pxHei": height,
        "__bgColor": "#14151B", "bgColor": null, "useAutoIdentifier": false, "bgRelPath": null,
        "bgPos": null, "bgPivotX": 0.5, "bgPivotY": 0.5, "__smartColor": "#8A8B8D",
        "__bgPos": null, "externalRelPath": null, "fieldInstances": [],
        "layerInstances": layers, "__neighbours": [],
    })
}

/// The tiles of a level's layer. The background shows where there are none.
fn painted(dungeon: &Dungeon) -> Vec<Value> {
    let width = dungeon.tiles.width;
    let tile = |(i, number): (usize, Option<u32>)| {
        let (number, x, y) = (number?, i as u32 % width * TILE, i as u32 / width * TILE);
        let source = [number % COLUMNS * TILE, number / COLUMNS * TILE];
        Some(json!({ "px": [x, y], "src": source, "f": 0, "t": number, "d": [i], "a": 1 }))
    };
    indices(dungeon).into_iter().enumerate().filter_map(tile).collect()
}

/// The entities of a level. Their ids follow this order: rooms, doors, things.
fn entities(dungeon: &Dungeon, iids: &mut Iids) -> Vec<Value> {
    let mut placed = vec![];
    for room in &dungeon.rooms {
        let fields = [room.id.into(), room.role.name().into()];
        placed.push(instance(ROOM, &iids.next(), room.tiles, fields));
    }
    for door in &dungeon.doors {
        let fields = [word(door.state), word(door.key)];
        placed.push(instance(DOOR, &iids.next(), bounds(door.tiles()), fields));
    }
    for spawn in &dungeon.spawns {
        let kind = KINDS.iter().position(|kind| kind.thing == Some(spawn.thing)).unwrap_or(0);
        let at = Rect { x: spawn.x, y: spawn.y, width: 1, height: 1 };
        let fields = [spawn.room.into(), spawn.variant.into()];
        placed.push(instance(kind, &iids.next(), at, fields));
    }
    placed
}

/// An entity in a level, with the values of its fields.
fn instance(number: usize, iid: &str, at: Rect, values: [Value; 2]) -> Value {
    let kind = &KINDS[number];
    let fields: Vec<Value> = kind
        .fields
        .iter()
        .zip(values)
        .zip(uid(number) + 1..)
        .map(|(((name, type_), value), uid)| {
            // LDtk shows these, and takes the value beside them for a copy that it makes anew.
            let raw = match &value {
                Value::Null => json!([]),
                Value::String(text) => json!([{ "id": "V_String", "params": [text] }]),
                number => json!([{ "id": "V_Int", "params": [number] }]),
            };
            json!({ "__identifier": name, "__type": type_, "__value": value, "__tile": null,
                "defUid": uid, "realEditorValues": raw })
        })
        .collect();
    json!({
        "__identifier": kind.name, "__grid": [at.x, at.y], "__pivot": [0, 0], "__tags": [],
        "__tile": kind.tile(), "__smartColor": kind.colour, "iid": iid,
        "width": pixels(at.width), "height": pixels(at.height), "defUid": uid(number),
        "px": [pixels(at.x), pixels(at.y)], "fieldInstances": fields,
        "__worldX": pixels(at.x), "__worldY": pixels(at.y),
    })
}

impl Layer {
    /// The tileset that it shows. Entities have theirs in their own definitions.
    fn tileset(&self) -> Option<u32> {
        (self.uid == TILES_LAYER.uid).then_some(TILESET_UID)
    }

    /// The layer in the level of a dungeon.
    fn instance(
        &self,
        dungeon: &Dungeon,
        iid: &str,
        tiles: Vec<Value>,
        entities: Vec<Value>,
    ) -> Value {
        let tileset = self.tileset();
        json!({
            "__identifier": self.name, "__type": self.kind, "__cWid": dungeon.tiles.width,
            "__cHei": dungeon.tiles.height, "__gridSize": TILE, "__opacity": 1,
            "__pxTotalOffsetX": 0, "__pxTotalOffsetY": 0, "__tilesetDefUid": tileset,
            "__tilesetRelPath": tileset.map(|_| TILESET), "iid": iid, "levelId": LEVEL,
            "layerDefUid": self.uid, "pxOffsetX": 0, "pxOffsetY": 0, "visible": true,
            "optionalRules": [], "intGridCsv": [], "autoLayerTiles": [], "seed": 0,
            "overrideTilesetUid": null, "gridTiles": tiles, "entityInstances": entities,
        })
    }

    fn definition(&self) -> Value {
        json!({
            "__type": self.kind, "identifier": self.name, "type": self.kind, "uid": self.uid,
            "doc": null, "uiColor": null, "gridSize": TILE, "guideGridWid": 0, "guideGridHei": 0,
            "displayOpacity": 1, "inactiveOpacity": 1, "hideInList": false,
            "hideFieldsWhenInactive": false, "canSelectWhenInactive": true,
            "renderInWorldView": true, "pxOffsetX": 0, "pxOffsetY": 0, "parallaxFactorX": 0,
            "parallaxFactorY": 0, "parallaxScaling": true, "requiredTags": [], "excludedTags": [],
            "autoTilesKilledByOtherLayerUid": null, "uiFilterTags": [], "useAsyncRender": false,
            "intGridValues": [], "intGridValuesGroups": [], "autoRuleGroups": [],
            "autoSourceLayerDefUid": null, "tilesetDefUid": self.tileset(), "tilePivotX": 0,
            "tilePivotY": 0, "biomeFieldUid": null,
        })
    }
}

fn tile_rect(number: u32) -> Value {
    let [x, y] = [number % COLUMNS * TILE, number / COLUMNS * TILE];
    json!({ "tilesetUid": TILESET_UID, "x": x, "y": y, "w": TILE, "h": TILE })
}

/// The definition of a kind of entity. It shows a tile if it has one; otherwise it covers an area.
fn entity((number, kind): (usize, &Kind)) -> Value {
    let fields: Vec<Value> = kind
        .fields
        .iter()
        .zip(uid(number) + 1..)
        .map(|((name, type_), uid)| field(name, type_, uid))
        .collect();
    let tile = kind.tile();
    let hollow = tile.is_none();
    json!({
        "identifier": kind.name, "uid": uid(number), "tags": [], "exportToToc": false,
        "allowOutOfBounds": false, "doc": null, "width": TILE, "height": TILE,
        "resizableX": hollow, "resizableY": hollow, "minWidth": null, "maxWidth": null,
        "minHeight": null, "maxHeight": null, "keepAspectRatio": false, "tileOpacity": 1,
        "fillOpacity": if hollow { 0.1 } else { 1.0 }, "lineOpacity": 1, "hollow": hollow,
        "color": kind.colour, "renderMode": if hollow { "Rectangle" } else { "Tile" },
        "showName": false, "tilesetId": tile.as_ref().map(|_| TILESET_UID),
        "tileRenderMode": "FitInside", "tileRect": tile, "uiTileRect": null,
        "nineSliceBorders": [], "maxCount": 0, "limitScope": "PerLevel",
        "limitBehavior": "MoveLastOne", "pivotX": 0, "pivotY": 0, "fieldDefs": fields,
    })
}

/// The definition of an entity's field.
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
