//! Furniture: bad files, and which rooms get which furniture.

use super::{isaac, labyrinth, make, rebirth, steps};
use std::collections::{BTreeMap, BTreeSet};
use thalweg::dungeon::rooms::{Difficulty, HEIGHT, Rooms, STANDARD, WIDTH};
use thalweg::dungeon::{
    Door, Dungeon, Generator, Rect, Role, Side, Thing, rebirth as rebirth_floors,
};
use thalweg::io::dungeon::read_rooms;

#[test]
fn furniture_from_bad_files_end_in_an_error_that_helps() {
    let refused = |from: &str, to: &str, words: &[&str]| {
        assert!(STANDARD.contains(from), "{from}");
        let error = Rooms::from_toml(&STANDARD.replacen(from, to, 1))
            .err()
            .unwrap_or_else(|| panic!("{to:?} is accepted"))
            .to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
    };
    refused("schema = 1", "schema = 2", &["schema = 2", "allowed 1"]);
    refused("schema = 1", "schema = ", &["schema"]);
    refused("name = \"arena\"", "nmae = \"arena\"", &["nmae"]);
    refused("name = \"threshold\"", "name = \"hearth\"", &["\"hearth\"", "twice"]);
    refused(
        "alternative = \"roots\"",
        "alternative = \"burrow\"",
        &["chapter \"burrow\"", "twice"],
    );
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
    refused(
        "doors = [\"north\", \"east\", \"west\"]",
        "doors = []",
        &["ledge", "at least one side"],
    );
    refused(
        "doors = [\"north\", \"east\", \"west\"]",
        "doors = [\"north\", \"east\", \"east\"]",
        &["ledge", "East stands there twice"],
    );
    refused(
        ".............\n.o.........o.",
        ".o...........\noo.........o.",
        &["corners", "row 1, column 1", "cannot be reached"],
    );
    refused("role = \"library\"", "role = \"secret\"", &["has no library room", "add one"]);
    // A chapter without hard rooms.
    let none: String = STANDARD.replace("difficulty = \"hard\"", "difficulty = \"easy\"");
    let error = Rooms::from_toml(&none).unwrap_err().to_string();
    assert!(error.contains("has no hard normal room"), "{error}");
    let chapters: String = (0..101).map(|i| format!("[[chapter]]\nname = \"{i}\"\n")).collect();
    let error = Rooms::from_toml(&format!("schema = 1\nroom = []\n{chapters}")).unwrap_err();
    assert!(error.to_string().contains("101 chapters: allowed are at most 100"), "{error}");
    for damage in ["", "\u{0}", "[[room]]", "[[chapter]]\nname = 3"] {
        assert!(Rooms::from_toml(damage).is_err());
    }
    let missing = read_rooms(std::path::Path::new("no/such/rooms.toml")).unwrap_err().to_string();
    assert!(missing.contains("no/such/rooms.toml"), "{missing}");
}

/// Holds F11: a room of Isaac can be entered from all four sides.
/// Holds F12: the first floor of a chapter uses easy and medium furniture, the second medium and
/// hard; alternative chapters have their own. Holds F13: two levels make a chapter. Holds F17: a
/// room of Rebirth gets furniture that allows the doors it has.
#[test]
fn furniture_of_chapters_follows_the_level() {
    let rooms = Rooms::standard();
    let mut chapters = BTreeSet::new();
    for seed in 0..60 {
        for level in 1..=8 {
            let dungeon = make(&isaac(level), seed);
            let chapter = dungeon.chapter.clone().unwrap();
            let own = &rooms.chapters()[(level as usize - 1) / 2];
            assert!(
                chapter == own.name || Some(&chapter) == own.alternative.as_ref(),
                "level {level}: {chapter}"
            );
            for name in dungeon.rooms.iter().flat_map(|room| &room.furniture) {
                let furniture = rooms.furniture().iter().find(|f| f.name == *name).unwrap();
                assert!(
                    furniture.chapters.is_empty() || furniture.chapters.contains(&chapter),
                    "{name} in {chapter}"
                );
                let out = if level % 2 == 1 { "Hard" } else { "Easy" };
                assert!(
                    furniture.difficulty.is_none_or(|d| format!("{d:?}") != out),
                    "{name} on level {level}"
                );
                assert_eq!(
                    furniture.doors.len(),
                    4,
                    "{name}: a room of Isaac can be entered from all sides"
                );
            }
            chapters.insert(chapter);
        }
    }
    assert_eq!(chapters.len(), 8, "chapters and their alternatives: {chapters:?}");
    // In Rebirth, furniture with fewer doors is used where these suffice.
    let ledges = (0..900)
        .map(|seed| make(&rebirth(5), seed))
        .flat_map(|d| d.rooms.into_iter().map(move |r| (r, d.doors.clone())));
    let mut found = 0;
    for (room, doors) in
        ledges.filter(|(room, _)| room.cells.len() == 1 && room.furniture == ["ledge"])
    {
        let south = |d: &Door| {
            (d.from == room.id && d.side == Side::South)
                || (d.to == Some(room.id) && d.side == Side::North)
        };
        assert!(!doors.iter().any(south), "{room:?}");
        found += 1;
    }
    assert!(found > 20, "{found}");
}

/// Holds F12, D-4: there are 60 normal rooms or more, 20 or more of each difficulty, all different.
/// In every room every door can be reached from every other, and so can all floor and everything
/// that stands on it.
#[test]
fn furniture_is_rich_and_open() {
    let rooms = Rooms::standard();
    let normal: Vec<_> = rooms.furniture().iter().filter(|f| f.role == Role::Normal).collect();
    assert!(normal.len() >= 60, "{} normal rooms", normal.len());
    for difficulty in [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard] {
        let count = normal.iter().filter(|f| f.difficulty == Some(difficulty)).count();
        assert!(count >= 20, "{difficulty:?}: {count}");
    }
    let mirrored = |f: &&thalweg::dungeon::rooms::Furniture, x: bool, y: bool| -> Vec<char> {
        let at = |i: i32, n: i32, flip: bool| if flip { n - 1 - i } else { i };
        let cells = (Rect { x: 0, y: 0, width: WIDTH, height: HEIGHT }).cells();
        cells
            .map(|[cx, cy]| {
                f.tiles[(at(cy, HEIGHT, y) * WIDTH + at(cx, WIDTH, x)) as usize].letter()
            })
            .collect()
    };
    // A room with rocks, pits or spikes has them where no other room has, not even mirrored.
    for (i, one) in normal.iter().enumerate() {
        let bare = one.tiles.iter().all(|tile| tile.letter() == '.');
        for other in normal[..i].iter().filter(|_| !bare) {
            for (x, y) in [(false, false), (true, false), (false, true), (true, true)] {
                let same = mirrored(one, false, false) == mirrored(other, x, y)
                    && one.things == other.things;
                assert!(!same, "{} is {}", one.name, other.name);
            }
        }
    }
    for f in rooms.furniture() {
        let fire = |at| f.things.contains(&(at, Thing::Fire));
        let whole = Rect { x: 0, y: 0, width: WIDTH, height: HEIGHT };
        let free = |at: [i32; 2]| {
            whole.contains(at)
                && ".^".contains(f.tiles[(at[1] * WIDTH + at[0]) as usize].letter())
                && !fire(at)
        };
        let door = |side: &Side| match side {
            Side::North => [6, 0],
            Side::East => [12, 3],
            Side::South => [6, 6],
            Side::West => [0, 3],
        };
        let mut reached = BTreeSet::from([door(&f.doors[0])]);
        let mut open: Vec<[i32; 2]> = reached.iter().copied().collect();
        while let Some(at) = open.pop() {
            open.extend(steps(at).into_iter().filter(|next| free(*next) && reached.insert(*next)));
        }
        assert!(
            f.doors.iter().all(|side| free(door(side)) && reached.contains(&door(side))),
            "{}: doors",
            f.name
        );
        assert!(whole.cells().all(|at| !free(at) || reached.contains(&at)), "{}: floor", f.name);
        assert!(
            f.things.iter().all(|(at, thing)| *thing == Thing::Fire || reached.contains(at)),
            "{}: things",
            f.name
        );
    }
}

/// D-4: no floor has a normal room twice. If there are too few, all have been used before one comes
/// again.
#[test]
fn furniture_comes_again_only_when_all_was_used() {
    let used = |dungeon: &Dungeon| {
        let mut used: BTreeMap<String, usize> = BTreeMap::new();
        let normal = dungeon.rooms.iter().filter(|room| room.role == Role::Normal);
        normal
            .flat_map(|room| &room.furniture)
            .for_each(|name| *used.entry(name.clone()).or_default() += 1);
        used
    };
    let double = |level| {
        Generator::Rebirth(rebirth_floors::Settings { level, labyrinth: 100, ..Default::default() })
    };
    for level in 1..=12 {
        for generator in [isaac(level), labyrinth(level), rebirth(level), double(level)] {
            for seed in 0..25 {
                let used = used(&make(&generator, seed));
                assert!(
                    used.values().all(|times| *times == 1),
                    "{generator:?}, seed {seed}: {used:?}"
                );
            }
        }
    }
    // Without the rooms that are composed of parts, a large labyrinth has more cells than there are
    // rooms.
    let few = Rooms::from_toml(STANDARD.split("# The rooms from here on").next().unwrap()).unwrap();
    for seed in 0..40 {
        let dungeon = labyrinth(8).make(seed, &few).unwrap();
        let (used, chapter) = (used(&dungeon), dungeon.chapter.unwrap());
        let fits = few.furniture().iter().filter(|f| f.role == Role::Normal && f.doors.len() == 4);
        let here = fits.filter(|f| f.chapters.is_empty() || f.chapters.contains(&chapter));
        let times: Vec<usize> = here.map(|f| used.get(&f.name).copied().unwrap_or(0)).collect();
        let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        assert!(*most > 1 && most - least <= 1, "seed {seed}: {used:?}");
    }
}
