//! `thalweg dungeon`, and dungeons in recipes.

use super::{Folder, RECIPE, hash};
use serde_json::Value;

/// The command writes dungeons in every format, a sheet of many floors and an animation, and
/// refuses wrong options by name.
/// Holds F19.
/// Holds G17 in part.
#[test]
fn dungeons_come_as_files_of_every_kind() {
    let folder = Folder::new("dungeon");
    for extension in ["json", "txt", "svg", "png", "tmj", "ldtk"] {
        folder.thalweg(&format!("dungeon rebirth --seed 7 --level 5 -o floor.{extension}")).ok();
        assert!(!folder.read(&format!("floor.{extension}")).is_empty());
    }
    assert!(
        folder.list(".").contains(&"thalweg-dungeon.png".to_string()),
        "the tiles lie beside the maps"
    );
    // Many dungeons, in one file or in one file each, are the same and in order with any number of
    // threads.
    folder.thalweg("dungeon isaac --seed 20 --count 40 --threads 2 -o many.jsonl").ok();
    folder.thalweg("dungeon isaac --seed 20 --count 40 --threads 1 -o again.jsonl").ok();
    assert_eq!(folder.read("many.jsonl"), folder.read("again.jsonl"));
    folder.thalweg("dungeon isaac --seed 20 --count 3 -o one.json").ok();
    let many = String::from_utf8(folder.read("many.jsonl")).unwrap();
    let lines: Vec<Value> = many.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 40);
    for (i, line) in lines.iter().take(3).enumerate() {
        assert_eq!(*line, folder.json(&format!("one-{}.json", 20 + i)));
    }
    folder.thalweg("dungeon tinykeep --seed 3 -o keep.png --animation steps.png --json").ok();
    folder.thalweg("dungeon isaac --count 4 --sheet -o sheet.png").ok();
    folder.thalweg("dungeon isaac --labyrinth -o double.json").ok();
    assert_eq!(folder.json("double.json")["labyrinth"], true);
    // D-2: Rebirth has the curse too. D-1: two levels of a seed are two floors.
    folder.thalweg("dungeon rebirth --labyrinth --level 2 -o large.json").ok();
    assert_eq!(folder.json("large.json")["labyrinth"], true);
    folder.thalweg("dungeon isaac --level 2 -o first.json").ok();
    folder.thalweg("dungeon isaac --level 2 --seed 1 -o other.json").ok();
    folder.thalweg("dungeon isaac --level 3 -o second.json").ok();
    assert_ne!(folder.json("first.json")["grid"], folder.json("second.json")["grid"]);
    assert_ne!(folder.json("first.json")["grid"], folder.json("other.json")["grid"]);

    folder.thalweg("dungeon isaac -o floor.json").refused(1, &["floor.json", "--force"]);
    folder.thalweg("dungeon isaac -o floor.docx").refused(1, &["floor.docx", ".ldtk"]);
    folder.thalweg("dungeon isaac --level 0 -o x.json").refused(1, &["level = 0", "1 to 12"]);
    folder
        .thalweg("dungeon isaac --room-count 99 -o x.json")
        .refused(1, &["room_count = 99", "9 x 8"]);
    folder
        .thalweg("dungeon tinykeep --ellipse-px 400 0 -o x.json")
        .refused(1, &["ellipse_px (height) = 0"]);
    folder
        .thalweg("dungeon isaac --labyrinth 101 -o x.json")
        .refused(1, &["labyrinth = 101", "0 to 100"]);
    folder
        .thalweg("dungeon rebirth --labyrinth --room-count 46 -o x.json")
        .refused(1, &["room_count = 46", "12 to 45"]);
    folder
        .thalweg("dungeon tinykeep --room-count 3 -o x.json")
        .refused(1, &["room_count = 3", "4 to 4000"]);
    folder
        .thalweg("dungeon isaac --labyrinth 20 --room-count 8 -o x.json")
        .refused(1, &["room_count = 8", "12 to 38"]);
    folder
        .thalweg("dungeon isaac -o x.json --animation steps.gif")
        .refused(1, &["steps.gif", ".png"]);
    folder
        .thalweg("dungeon isaac --count 5000 --sheet -o x.png")
        .refused(1, &["--count 5000", "1024"]);
    folder.thalweg("dungeon isaac --sheet -o x.json").refused(1, &["--sheet", ".png"]);
    folder.file("rooms.toml", "schema = 1\nchapter = []\nroom = []\n");
    folder
        .thalweg("dungeon isaac --rooms rooms.toml -o x.json")
        .refused(1, &["rooms.toml", "no chapters"]);
    assert!(!folder.list(".").contains(&"x.json".to_string()));
}

#[test]
fn a_recipe_places_dungeons_on_its_terrain() {
    let folder = Folder::new("placed");
    let dungeons = "\n[dungeons]\nkind = \"isaac\"\nspacing_cells = 20\nradius_cells = \
                    1\nslope_max = 4\n\
                    format = \"tmj\"\n";
    folder.file("r.toml", format!("{RECIPE}{dungeons}"));
    folder.thalweg("run r.toml -o out --device cpu").ok();
    let manifest = folder.json("out/manifest.json");
    let entrances = manifest["dungeons"].as_array().unwrap();
    assert!(!entrances.is_empty());
    for entrance in entrances {
        let bytes = folder.read(&format!("out/{}", entrance["file"].as_str().unwrap()));
        assert_eq!(entrance["blake3"], hash(&bytes));
        assert!(
            (100..164).contains(&entrance["x"].as_i64().unwrap())
                && (200..248).contains(&entrance["y"].as_i64().unwrap())
        );
    }
    assert!(folder.list("out").contains(&"thalweg-dungeon.png".to_string()));
}
