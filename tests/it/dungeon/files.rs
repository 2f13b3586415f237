//! Dungeons as files: JSON, text, pictures, maps for editors, animations and sheets.

use super::{isaac, keep, labyrinth, make, rebirth};
use std::collections::BTreeSet;
use thalweg::dungeon::rooms::Rooms;
use thalweg::dungeon::{Generator, Tile, rebirth as rebirth_floors, tinykeep};
use thalweg::io::dungeon::{DungeonFormat, animation, document, encode, sheet};

/// Holds G17: the layout can be watched step by step, as an animation; watching changes nothing.
#[test]
fn dungeon_steps_change_nothing() {
    for generator in [isaac(4), rebirth(4), keep(tinykeep::Settings::default())] {
        let mut steps = vec![];
        let watched = generator
            .make_step_by_step(3, Rooms::standard(), &mut |step| steps.push(step))
            .unwrap();
        assert_eq!(watched, make(&generator, 3));
        assert!(steps.len() > 5);
        let animation = animation(&watched, &steps).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(&animation)).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames as usize, steps.len() + 1);
    }
}

/// Holds F19: a sheet shows many floors at a glance, each in its own field.
#[test]
fn dungeon_sheets_have_a_field_for_each() {
    let floors: Vec<_> = (0..5).map(|seed| make(&isaac(1), seed)).collect();
    let picture = sheet(&floors, 2).unwrap();
    let [width, height] = [picture.width() as usize / 3, picture.height() as usize / 2];
    let start = [0x8e, 0xca, 0xe6];
    for i in 0..6 {
        let (left, top) = (i % 3 * width, i / 3 * height);
        let mut row = (top..top + height)
            .map(|y| &picture.as_raw()[3 * (y * picture.width() as usize + left)..][..3 * width]);
        assert_eq!(row.any(|row| row.chunks(3).any(|pixel| pixel == start)), i < 5, "field {i}");
    }
    assert!(sheet(&[], 2).is_err());
}

/// D-4: a pit is a hole in the floor, with a rim where it ends, and no gap in the map. Its colour
/// is that of nothing else around.
#[test]
fn dungeon_pits_look_like_pits() {
    let mut seen = 0;
    for seed in 0..20 {
        let dungeon = make(&isaac(8), seed);
        let (picture, tile_px) = (thalweg::io::dungeon::picture(&dungeon, 16).unwrap(), 16);
        let svg = String::from_utf8(encode(&dungeon, DungeonFormat::Svg).unwrap()).unwrap();
        let pixel = |at: [i32; 2], dx: i32, dy: i32| {
            picture.get_pixel((at[0] * tile_px + dx) as u32, (at[1] * tile_px + dy) as u32).0
        };
        let differ = |a: [u8; 3], b: [u8; 3]| {
            a.iter().zip(b).map(|(a, b)| a.abs_diff(b) as u32).sum::<u32>()
        };
        let all = thalweg::dungeon::Rect {
            x: 0,
            y: 0,
            width: dungeon.tiles.width as i32,
            height: dungeon.tiles.height as i32,
        };
        let tile = |wanted: Tile| all.cells().find(|at| dungeon.tiles.at(*at) == wanted).unwrap();
        let (void, wall) = (pixel(tile(Tile::Void), 8, 8), pixel(tile(Tile::Wall), 8, 8));
        for at in all.cells().filter(|at| dungeon.tiles.at(*at) == Tile::Pit) {
            let hole = pixel(at, 8, 8);
            assert!(
                differ(hole, void) > 90 && differ(hole, wall) > 60,
                "{hole:?}, {void:?}, {wall:?}"
            );
            assert!(
                svg.contains(&format!("fill=\"#{:02x}{:02x}{:02x}\"", hole[0], hole[1], hole[2]))
            );
            for (side, [x, y]) in
                [([0, -1], [8, 0]), ([1, 0], [15, 8]), ([0, 1], [8, 15]), ([-1, 0], [0, 8])]
            {
                let more = dungeon.tiles.at([at[0] + side[0], at[1] + side[1]]) == Tile::Pit;
                assert_eq!(
                    pixel(at, x, y) == hole,
                    more,
                    "seed {seed}: a rim at {at:?} towards {side:?}"
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen} pits");
}

/// Holds G15: the JSON has the rooms, the graph with lengths and the grid, as the schema says; the
/// other formats have the same dungeon.
#[test]
fn dungeon_files_hold_what_they_say() {
    let schema: serde_json::Value = serde_json::from_str(
        &std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/schemas/dungeon.schema.json"
        ))
        .unwrap(),
    )
    .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let double = Generator::Rebirth(rebirth_floors::Settings {
        level: 3,
        labyrinth: 100,
        ..Default::default()
    });
    for generator in
        [isaac(3), labyrinth(3), rebirth(7), double, keep(tinykeep::Settings::default())]
    {
        for seed in 0..8 {
            let dungeon = make(&generator, seed);
            let document = document(&dungeon).unwrap();
            let faults: Vec<String> = validator
                .iter_errors(&document)
                .map(|e| format!("{}: {e}", e.instance_path()))
                .collect();
            assert!(faults.is_empty(), "{faults:#?}");
            let mut wrong = document.clone();
            wrong["rooms"][0]["role"] = "kitchen".into();
            assert!(!validator.is_valid(&wrong), "the schema rejects an unknown role");

            let text = String::from_utf8(encode(&dungeon, DungeonFormat::Text).unwrap()).unwrap();
            assert_eq!(text.matches('@').count(), 1);
            assert_eq!(text.matches('k').count(), dungeon.keys.len());

            // A map for Tiled has a number for each tile, and an object for each room, door and
            // thing.
            let map: serde_json::Value =
                serde_json::from_slice(&encode(&dungeon, DungeonFormat::Tiled).unwrap()).unwrap();
            let data = map["layers"][0]["data"].as_array().unwrap();
            assert_eq!(data.len(), dungeon.tiles.data.len());
            let tiles = map["tilesets"][0]["tiles"].as_array().unwrap();
            for (number, tile) in data.iter().zip(&dungeon.tiles.data) {
                let number = number.as_u64().unwrap() as usize;
                assert_eq!(number == 0, *tile == Tile::Void);
                if number > 0 {
                    let kind = tiles.iter().find(|t| t["id"] == number - 1).unwrap()["type"]
                        .as_str()
                        .unwrap();
                    assert!(kind.starts_with(tile.name()), "{kind} for {tile:?}");
                }
            }
            let counts = [dungeon.rooms.len(), dungeon.doors.len(), dungeon.spawns.len()];
            assert_eq!(
                [1, 2, 3].map(|i| map["layers"][i]["objects"].as_array().unwrap().len()),
                counts
            );
            // Things show their tile, and an L-shaped room has the outline of its three cells.
            for (object, spawn) in
                map["layers"][3]["objects"].as_array().unwrap().iter().zip(&dungeon.spawns)
            {
                let tile =
                    tiles.iter().find(|t| t["id"] == object["gid"].as_u64().unwrap() - 1).unwrap();
                assert_eq!(tile["type"], spawn.thing.name());
                // Tiled positions such objects by their south-west corner.
                assert_eq!([&object["x"], &object["y"]], [spawn.x * 16, (spawn.y + 1) * 16]);
            }
            for (object, room) in
                map["layers"][1]["objects"].as_array().unwrap().iter().zip(&dungeon.rooms)
            {
                let l_shaped = room.cells.len() == 3;
                assert_eq!(object.get("polygon").is_some(), l_shaped);
                let corner =
                    |p: &serde_json::Value| [p["x"].as_i64().unwrap(), p["y"].as_i64().unwrap()];
                let corners: Vec<[i64; 2]> =
                    object["polygon"].as_array().into_iter().flatten().map(corner).collect();
                let next = corners.iter().cycle().skip(1);
                let area: i64 =
                    corners.iter().zip(next).map(|([ax, ay], [bx, by])| ax * by - bx * ay).sum();
                assert_eq!(area.abs() / 2, if l_shaped { 3 * 15 * 9 * 256 } else { 0 });
                // The outline has the four corners of the bounds, except that of the missing cell.
                for (i, [x, y]) in [[0, 0], [1, 0], [0, 1], [1, 1]].into_iter().enumerate() {
                    let cell = (10 * (room.rect.y + y) + room.rect.x + x + 1) as u8;
                    let there = corners.contains(&[[0, 480, 0, 480][i], [0, 0, 288, 288][i]]);
                    assert!(!l_shaped || there == room.cells.contains(&cell), "{room:?}");
                }
            }
            // A project for LDtk has the same, with unique ids.
            let project: serde_json::Value =
                serde_json::from_slice(&encode(&dungeon, DungeonFormat::Ldtk).unwrap()).unwrap();
            let layers = &project["levels"][0]["layerInstances"];
            let entities = layers[0]["entityInstances"].as_array().unwrap();
            assert_eq!(entities.len(), counts.iter().sum::<usize>());
            assert_eq!(
                entities.iter().map(|e| e["iid"].as_str().unwrap()).collect::<BTreeSet<_>>().len(),
                entities.len()
            );
            let painted = dungeon.tiles.data.iter().filter(|tile| **tile != Tile::Void).count();
            assert_eq!(layers[1]["gridTiles"].as_array().unwrap().len(), painted);

            let png = encode(&dungeon, DungeonFormat::Png).unwrap();
            let reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().unwrap();
            assert_eq!(reader.info().width % dungeon.tiles.width, 0);
            assert!(encode(&dungeon, DungeonFormat::Svg).unwrap().starts_with(b"<svg xmlns"));
        }
    }
}
