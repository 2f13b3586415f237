//! Furniture: bad files, and which rooms get which furniture.

use super::{isaac, make, rebirth};
use std::collections::BTreeSet;
use thalweg::dungeon::rooms::{Rooms, STANDARD};
use thalweg::dungeon::{Door, Side};
use thalweg::io::dungeon::read_rooms;

#[test]
fn furniture_from_bad_files_end_in_an_error_that_helps() {
    let refused = |from: &str, to: &str, words: &[&str]| {
        assert!(STANDARD.contains(from), "{from}");
        let error =
            Rooms::from_toml(&STANDARD.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to:?} is accepted")).to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
    };
    refused("schema = 1", "schema = 2", &["schema = 2", "allowed 1"]);
    refused("schema = 1", "schema = ", &["schema"]);
    refused("name = \"arena\"", "nmae = \"arena\"", &["nmae"]);
    refused("name = \"threshold\"", "name = \"hearth\"", &["\"hearth\"", "twice"]);
    refused("alternative = \"roots\"", "alternative = \"burrow\"", &["chapter \"burrow\"", "twice"]);
    refused("difficulty = \"easy\"\n", "", &["two crawlers", "difficulty is missing"]);
    refused(
        "role = \"shop\"",
        "role = \"shop\"\ndifficulty = \"easy\"",
        &["stall", "difficulty is for normal rooms", "shop room"],
    );
    refused("chapters = [\"mines\"]", "chapters = [\"mine\"]", &["did you mean \"mines\""]);
    refused("weight = 2", "weight = 0", &["weight = 0", "1 to 1000"]);
    refused("......@......\n", "......@.....\n", &["hearth", "row 4", "12 letters", "13"]);
    refused("......@......\n", "......?......\n", &["hearth", "'?'", "row 4, column 7", "(floor)"]);
    refused("......@......\n", "", &["hearth", "6 rows", "7"]);
    refused("......@......\n", "o.....@......\n", &["hearth", "west door", "row 4, column 1"]);
    refused("doors = [\"north\", \"east\", \"west\"]", "doors = []", &["ledge", "at least one side"]);
    refused(".............\n.o.........o.", ".o...........\noo.........o.", &["corners", "row 1, column 1", "cannot be reached"]);
    refused("role = \"library\"", "role = \"secret\"", &["has no library room", "add one"]);
    // A chapter without hard rooms.
    let none: String = STANDARD.replace("difficulty = \"hard\"", "difficulty = \"easy\"");
    let error = Rooms::from_toml(&none).unwrap_err().to_string();
    assert!(error.contains("has no hard normal room"), "{error}");
    for damage in ["", "\u{0}", "[[room]]", "[[chapter]]\nname = 3"] {
        assert!(Rooms::from_toml(damage).is_err());
    }
    let missing = read_rooms(std::path::Path::new("no/such/rooms.toml")).unwrap_err().to_string();
    assert!(missing.contains("no/such/rooms.toml"), "{missing}");
}

/// F11: a room of Isaac can be entered from all four sides.
/// F12: the first floor of a chapter uses easy and medium furniture, the second medium and hard; alternative chapters have their own.
/// F13: two levels make a chapter.
/// F17: a room of Rebirth gets furniture that allows the doors it has.
#[test]
fn furniture_of_chapters_follows_the_level() {
    let rooms = Rooms::standard();
    let mut chapters = BTreeSet::new();
    for seed in 0..60 {
        for level in 1..=8 {
            let dungeon = make(&isaac(level), seed);
            let chapter = dungeon.chapter.clone().unwrap();
            let own = &rooms.chapters()[(level as usize - 1) / 2];
            assert!(chapter == own.name || Some(&chapter) == own.alternative.as_ref(), "level {level}: {chapter}");
            for name in dungeon.rooms.iter().flat_map(|room| &room.furniture) {
                let furniture = rooms.furniture().iter().find(|f| f.name == *name).unwrap();
                assert!(furniture.chapters.is_empty() || furniture.chapters.contains(&chapter), "{name} in {chapter}");
                let out = if level % 2 == 1 { "Hard" } else { "Easy" };
                assert!(furniture.difficulty.is_none_or(|d| format!("{d:?}") != out), "{name} on level {level}");
                assert_eq!(furniture.doors.len(), 4, "{name}: a room of Isaac can be entered from all sides");
            }
            chapters.insert(chapter);
        }
    }
    assert_eq!(chapters.len(), 8, "chapters and their alternatives: {chapters:?}");
    // In Rebirth, furniture with fewer doors is used where these suffice.
    let ledges =
        (0..300).map(|seed| make(&rebirth(5), seed)).flat_map(|d| d.rooms.into_iter().map(move |r| (r, d.doors.clone())));
    let mut found = 0;
    for (room, doors) in ledges.filter(|(room, _)| room.cells.len() == 1 && room.furniture == ["ledge"]) {
        let south = |d: &Door| (d.from == room.id && d.side == Side::South) || (d.to == Some(room.id) && d.side == Side::North);
        assert!(!doors.iter().any(south), "{room:?}");
        found += 1;
    }
    assert!(found > 20, "{found}");
}
