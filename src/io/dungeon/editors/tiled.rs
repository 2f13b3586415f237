//! Maps in the JSON map format 1.10 of the editor Tiled.

use super::{
    COLUMNS, ROWS, THINGS, TILE, TILESET, bounds, corners, indices, pixels, tile_of, word,
};
use crate::dungeon::{Door, Dungeon, Rect, Role, Room, Spawn, Thing, Tile};
use serde_json::{Value, json};

/// A map: a tile layer, and layers of objects with classes for rooms, doors and things.
pub(in crate::io::dungeon) fn tiled(dungeon: &Dungeon) -> Value {
    let mut objects = Objects { next: 1 };
    // Ids follow this order.
    let rooms: Vec<Value> = dungeon.rooms.iter().map(|room| objects.room(room)).collect();
    let doors: Vec<Value> = dungeon.doors.iter().map(|door| objects.door(door)).collect();
    let things: Vec<Value> = dungeon.spawns.iter().map(|spawn| objects.thing(spawn)).collect();
    json!({
        "compressionlevel": -1,
        "height": dungeon.tiles.height,
        "infinite": false,
        "layers": [
            tile_layer(dungeon),
            object_layer(2, "rooms", "#8ecae6", rooms),
            object_layer(3, "doors", "#f0cf52", doors),
            object_layer(4, "things", "#d65f5f", things),
        ],
        "nextlayerid": 5,
        "nextobjectid": objects.next,
        "orientation": "orthogonal",
        "properties": [
            { "name": "kind", "type": "string", "value": dungeon.kind.name() },
            { "name": "seed", "type": "string", "value": dungeon.seed.to_string() },
        ],
        "renderorder": "right-down",
        "tiledversion": "1.10.2",
        "tileheight": TILE,
        "tilesets": [tileset()],
        "tilewidth": TILE,
        "type": "map",
        "version": "1.10",
        "width": dungeon.tiles.width,
    })
}

/// Makes objects, and counts them.
struct Objects {
    /// The id of the next object. Tiled counts from 1, over all layers.
    next: u32,
}

impl Objects {
    fn room(&mut self, room: &Room) -> Value {
        let properties = vec![("room", room.id.into()), ("distance", word(room.distance))];
        let name = format!("room {}", room.id);
        let mut object = self.object(name, room.role.name(), room.tiles, properties);
        if let Some(corners) = corners(room) {
            let corners = corners.map(|[x, y]| json!({ "x": pixels(x), "y": pixels(y) }));
            object["polygon"] = json!(corners);
            // The polygon says how large the object is.
            (object["width"], object["height"]) = (0.into(), 0.into());
        }
        object
    }

    fn door(&mut self, door: &Door) -> Value {
        let properties = vec![
            ("door", door.id.into()),
            ("from", door.from.into()),
            ("to", word(door.to)),
            ("way", word(door.state)),
            ("key", word(door.key)),
        ];
        self.object(format!("door {}", door.id), "door", bounds(door.tiles()), properties)
    }

    fn thing(&mut self, spawn: &Spawn) -> Value {
        let name = match spawn.thing {
            Thing::Key => format!("key {}", spawn.variant),
            thing => thing.name().to_string(),
        };
        let at = Rect { x: spawn.x, y: spawn.y, width: 1, height: 1 };
        let properties = vec![("room", spawn.room.into()), ("variant", spawn.variant.into())];
        let mut object = self.object(name, spawn.thing.name(), at, properties);
        object["gid"] = (1 + tile_of(spawn.thing, spawn.variant)).into();
        // Tiled positions an object that shows a tile by its south-west corner.
        object["y"] = pixels(at.y + 1).into();
        object
    }

    /// An object with those of the properties that have a value.
    fn object(
        &mut self,
        name: String,
        class: &str,
        at: Rect,
        properties: Vec<(&str, Value)>,
    ) -> Value {
        let id = self.next;
        self.next += 1;
        let properties: Vec<Value> = properties
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| {
                let kind = if value.is_string() { "string" } else { "int" };
                json!({ "name": name, "type": kind, "value": value })
            })
            .collect();
        json!({
            "id": id, "name": name, "type": class, "x": pixels(at.x), "y": pixels(at.y),
            "width": pixels(at.width), "height": pixels(at.height), "rotation": 0,
            "visible": true, "properties": properties,
        })
    }
}

fn tile_layer(dungeon: &Dungeon) -> Value {
    // 0 stands for no tile, so the tiles of the tileset count from 1.
    let data: Vec<u32> = indices(dungeon).into_iter().map(|n| n.map_or(0, |n| n + 1)).collect();
    json!({
        "data": data, "height": dungeon.tiles.height, "id": 1, "name": "tiles", "opacity": 1,
        "type": "tilelayer", "visible": true, "width": dungeon.tiles.width, "x": 0, "y": 0,
    })
}

fn object_layer(id: u32, name: &str, color: &str, objects: Vec<Value>) -> Value {
    json!({
        "color": color, "draworder": "topdown", "id": id, "name": name, "objects": objects,
        "opacity": 1, "type": "objectgroup", "visible": true, "x": 0, "y": 0,
    })
}

/// The tileset, with a class for each tile, and for floors and walls whether one can walk there.
fn tileset() -> Value {
    let walkable =
        |tile: Tile| json!([{ "name": "walkable", "type": "bool", "value": tile.walkable() }]);
    let kinds = Tile::ALL
        .into_iter()
        .zip(0u32..)
        .map(|(tile, id)| json!({ "id": id, "type": tile.name(), "properties": walkable(tile) }));
    let floors = Role::ALL.into_iter().zip(COLUMNS..).map(|(role, id)| {
        let class = format!("floor_{}", role.name());
        json!({ "id": id, "type": class, "properties": walkable(Tile::Floor) })
    });
    let things = THINGS
        .into_iter()
        .map(|(thing, variant)| json!({ "id": tile_of(thing, variant), "type": thing.name() }));
    json!({
        "columns": COLUMNS, "firstgid": 1, "image": TILESET, "imageheight": ROWS * TILE,
        "imagewidth": COLUMNS * TILE, "margin": 0, "name": "thalweg-dungeon", "spacing": 0,
        "tilecount": COLUMNS * ROWS, "tileheight": TILE,
        "tiles": kinds.chain(floors).chain(things).collect::<Vec<_>>(), "tilewidth": TILE,
    })
}
