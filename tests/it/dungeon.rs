//! Dungeons: what holds for all of them, bad settings, vectors.
//!
//! "Holds" and an id name the published rule that a test checks: F for floors of Isaac and Rebirth,
//! G for layouts of TinyKeep.

mod files;
mod floors;
mod furniture;
mod layouts;

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt::Write;
use thalweg::dungeon::random::{Purpose, Random};
use thalweg::dungeon::rooms::Rooms;
use thalweg::dungeon::{
    Door, DoorState, Dungeon, Generator, Rect, Role, Side, Thing, Tile, isaac, rebirth, tinykeep,
};

fn isaac(level: u32) -> Generator {
    Generator::Isaac(isaac::Settings { level, locks: level % 5, ..Default::default() })
}

fn labyrinth(level: u32) -> Generator {
    Generator::Isaac(isaac::Settings { level, labyrinth: 100, locks: 4, ..Default::default() })
}

fn rebirth(level: u32) -> Generator {
    Generator::Rebirth(rebirth::Settings { level, locks: level % 5, ..Default::default() })
}

fn keep(settings: tinykeep::Settings) -> Generator {
    Generator::TinyKeep(settings)
}

fn make(generator: &Generator, seed: u64) -> Dungeon {
    generator
        .make(seed, Rooms::standard())
        .unwrap_or_else(|e| panic!("{generator:?}, seed {seed}: {e}"))
}

fn refused(generator: Generator, words: &[&str]) {
    let error = generator
        .make(1, Rooms::standard())
        .expect_err(&format!("{generator:?} is refused"))
        .to_string();
    words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
}

fn many(role: Role, dungeon: &Dungeon) -> usize {
    dungeon.rooms.iter().filter(|room| room.role == role).count()
}

fn steps([x, y]: [i32; 2]) -> [[i32; 2]; 4] {
    Side::ALL.map(|side| [x + side.step()[0], y + side.step()[1]])
}

/// Walks over the tiles from the player, collects keys and opens their doors, until nothing new is
/// reached. Returns the tiles that were reached and the keys that were found.
fn walk(dungeon: &Dungeon) -> (HashSet<[i32; 2]>, BTreeSet<u32>) {
    let player =
        dungeon.spawns.iter().find(|spawn| spawn.thing == Thing::Player).expect("a player");
    let mut keys = BTreeSet::new();
    loop {
        let opened: BTreeSet<[i32; 2]> = dungeon
            .doors
            .iter()
            .filter(|door| door.key.is_some_and(|key| keys.contains(&key)))
            .flat_map(Door::tiles)
            .collect();
        let mut reached = HashSet::from([[player.x, player.y]]);
        let mut queue = VecDeque::from([[player.x, player.y]]);
        while let Some(at) = queue.pop_front() {
            for next in steps(at) {
                if (dungeon.tiles.at(next).walkable() || opened.contains(&next))
                    && reached.insert(next)
                {
                    queue.push_back(next);
                }
            }
        }
        let found = dungeon
            .spawns
            .iter()
            .filter(|s| s.thing == Thing::Key && reached.contains(&[s.x, s.y]));
        let found: BTreeSet<u32> = found.map(|spawn| spawn.variant).collect();
        if found == keys {
            return (reached, keys);
        }
        keys = found;
    }
}

/// Checks what holds for every dungeon.
///
/// Holds G9: ids are unique, being indices.
/// Holds G15: rooms, graph and grid are there; F11, G16: doors, keys and spawns stand on top of
/// them and can be reached.
fn check_common(dungeon: &Dungeon) {
    let what = format!("{} {}", dungeon.kind.name(), dungeon.seed);
    for (i, room) in dungeon.rooms.iter().enumerate() {
        assert_eq!(room.id, i as u32, "{what}: ids are indices");
    }
    assert_eq!(many(Role::Start, dungeon), 1, "{what}");
    let boss = dungeon
        .rooms
        .iter()
        .filter(|room| room.role == Role::Boss)
        .max_by_key(|room| room.distance)
        .expect("a boss room");
    assert_eq!(
        dungeon.spawns.iter().filter(|s| s.thing == Thing::Boss).count(),
        many(Role::Boss, dungeon),
        "{what}"
    );

    // The critical path follows edges and is a shortest path.
    let path = &dungeon.critical_path;
    assert_eq!(
        (dungeon.rooms[path[0] as usize].role, path.last()),
        (Role::Start, Some(&boss.id)),
        "{what}"
    );
    let joined = |a: u32, b: u32| dungeon.edges.iter().find(|e| (e.a, e.b) == (a.min(b), a.max(b)));
    let length: u32 = path
        .windows(2)
        .map(|w| joined(w[0], w[1]).unwrap_or_else(|| panic!("{what}: {w:?}")).length)
        .sum();
    let mut far: Vec<u32> = vec![u32::MAX; dungeon.rooms.len()];
    far[path[0] as usize] = 0;
    for _ in &dungeon.rooms {
        for edge in dungeon.edges.iter().filter(|e| !hidden(dungeon, e.a) && !hidden(dungeon, e.b))
        {
            for (a, b) in [(edge.a as usize, edge.b as usize), (edge.b as usize, edge.a as usize)] {
                far[b] = far[b].min(far[a].saturating_add(edge.length));
            }
        }
    }
    assert_eq!(length, far[boss.id as usize], "{what}");

    // Every key can be collected, and then every room that is not hidden can be entered.
    let (reached, keys) = walk(dungeon);
    assert_eq!(keys.len(), dungeon.keys.len(), "{what}: all keys are found");
    for room in dungeon.rooms.iter().filter(|room| !room.role.hidden()) {
        assert!(
            room.tiles.cells().any(|at| reached.contains(&at)),
            "{what}: room {} is reached",
            room.id
        );
    }
    for spawn in dungeon.spawns.iter().filter(|s| !dungeon.rooms[s.room as usize].role.hidden()) {
        assert!(reached.contains(&[spawn.x, spawn.y]), "{what}: {spawn:?} is reached");
        assert!(
            dungeon.rooms[spawn.room as usize].tiles.contains([spawn.x, spawn.y]),
            "{what}: {spawn:?} is in its room"
        );
    }
    // With the keys below k, key k can be reached, and the room that it opens cannot.
    for key in &dungeon.keys {
        let mut without = dungeon.clone();
        without.spawns.retain(|s| s.thing != Thing::Key || s.variant < key.id);
        let (reached, _) = walk(&without);
        let place =
            dungeon.spawns.iter().find(|s| s.thing == Thing::Key && s.variant == key.id).unwrap();
        assert!(reached.contains(&[place.x, place.y]), "{what}: {key:?}");
        let opens = &dungeon.rooms[key.opens as usize];
        assert!(
            key.doors.iter().all(|&door| dungeon.doors[door as usize].state == DoorState::Locked),
            "{what}: {key:?}"
        );
        // The bounds of a large room may contain cells of others.
        if opens.cells.len() <= 1 {
            assert!(
                !opens.tiles.cells().any(|at| reached.contains(&at)),
                "{what}: {key:?} opens a room that was open"
            );
        }
    }
    let rooms: Vec<u32> = dungeon
        .keys
        .iter()
        .map(|key| key.room)
        .filter(|&id| dungeon.rooms[id as usize].role != Role::Start)
        .collect();
    assert_eq!(
        rooms.iter().collect::<BTreeSet<_>>().len(),
        rooms.len(),
        "{what}: no room but the start has two keys"
    );
    if let Some(key) = dungeon.keys.last() {
        assert_eq!(
            dungeon.rooms[key.opens as usize].role,
            Role::Boss,
            "{what}: the last key opens the boss room"
        );
    }

    // The tile map has the doors, and no others.
    let mut doors = BTreeMap::new();
    for door in &dungeon.doors {
        let tile = match door.state {
            DoorState::Open => Tile::Door,
            DoorState::Locked => Tile::Locked,
            DoorState::Breakable => Tile::Breakable,
        };
        door.tiles().for_each(|at| {
            assert!(doors.insert(at, tile).is_none(), "{what}: two doors at {at:?}")
        });
    }
    let whole =
        Rect { x: 0, y: 0, width: dungeon.tiles.width as i32, height: dungeon.tiles.height as i32 };
    for at in whole.cells() {
        let tile = dungeon.tiles.at(at);
        let is_door = matches!(tile, Tile::Door | Tile::Locked | Tile::Breakable);
        assert_eq!(doors.get(&at).copied(), is_door.then_some(tile), "{what}: {at:?}");
        if !matches!(tile, Tile::Void | Tile::Wall) && !is_door {
            assert!(
                steps(at).iter().all(|next| dungeon.tiles.at(*next) != Tile::Void),
                "{what}: the wall has a hole at {at:?}"
            );
        }
    }
}
fn hidden(dungeon: &Dungeon, id: u32) -> bool {
    dungeon.rooms[id as usize].role.hidden()
}

#[test]
fn dungeons_from_bad_settings_end_in_an_error_that_helps() {
    let i = isaac::Settings::default;
    refused(Generator::Isaac(isaac::Settings { level: 0, ..i() }), &["level = 0", "1 to 12"]);
    refused(Generator::Isaac(isaac::Settings { level: 13, ..i() }), &["level = 13", "1 to 12"]);
    refused(
        Generator::Isaac(isaac::Settings { room_count: Some(99), ..i() }),
        &["room_count = 99", "6 to 38", "9 x 8"],
    );
    refused(
        Generator::Isaac(isaac::Settings { room_count: Some(1), ..i() }),
        &["room_count = 1", "6 to 38"],
    );
    refused(
        Generator::Isaac(isaac::Settings { room_count: Some(46), labyrinth: 100, ..i() }),
        &["room_count = 46", "12 to 45"],
    );
    refused(Generator::Isaac(isaac::Settings { locks: 9, ..i() }), &["locks = 9", "0 to 8"]);
    let r = rebirth::Settings::default;
    refused(
        Generator::Rebirth(rebirth::Settings { large: 101, ..r() }),
        &["large = 101", "0 to 100"],
    );
    refused(
        Generator::Rebirth(rebirth::Settings { room_count: Some(33), ..r() }),
        &["room_count = 33", "6 to 32"],
    );
    refused(
        Generator::Rebirth(rebirth::Settings { labyrinth: 101, ..r() }),
        &["labyrinth = 101", "0 to 100"],
    );
    let k = tinykeep::Settings::default;
    refused(keep(tinykeep::Settings { room_count: 3, ..k() }), &["room_count = 3", "4 to 4000"]);
    refused(
        keep(tinykeep::Settings { room_count: 100_000, ..k() }),
        &["room_count = 100000", "4 to 4000"],
    );
    refused(
        keep(tinykeep::Settings { ellipse_px: Some([400.0, 0.0]), ..k() }),
        &["ellipse_px (height) = 0", "1 to"],
    );
    refused(
        keep(tinykeep::Settings { ellipse_px: Some([f64::NAN, 20.0]), ..k() }),
        &["ellipse_px (width) = NaN", "1 to"],
    );
    refused(
        keep(tinykeep::Settings { deviation_px: 16.0, ..k() }),
        &["deviation_px = 16", "0 to 15"],
    );
    refused(
        keep(tinykeep::Settings { deviation_px: 0.0, ..k() }),
        &["never 4 main rooms", "deviation_px"],
    );
    refused(
        keep(tinykeep::Settings { main_px: Some([900.0, 900.0]), ..k() }),
        &["never 4 main rooms", "main_px"],
    );
    refused(keep(tinykeep::Settings { ratio_max: 1.0, ..k() }), &["ratio_max = 1", "1.5 to 10"]);
    refused(keep(tinykeep::Settings { loops: f64::INFINITY, ..k() }), &["loops = inf", "0 to 1"]);
    refused(
        keep(tinykeep::Settings { room_count: 4000, mean_px: [250.0, 250.0], ..k() }),
        &["tiles", "fewer or smaller rooms"],
    );
    // Six large rooms leave no single dead end for shop and treasure.
    let crowded = rebirth::Settings { room_count: Some(6), large: 100, ..r() };
    refused(
        Generator::Rebirth(crowded),
        &["no floor of 6 rooms", "10000 tries", "a smaller share of large rooms than large = 100"],
    );
    // The smallest and the largest allowed settings give dungeons.
    for seed in 0..40 {
        for room_count in [Some(12), Some(45)] {
            make(
                &Generator::Isaac(isaac::Settings {
                    room_count,
                    labyrinth: 100,
                    full_health: true,
                    ..i()
                }),
                seed,
            );
            make(
                &Generator::Rebirth(rebirth::Settings {
                    room_count,
                    labyrinth: 100,
                    full_health: true,
                    ..r()
                }),
                seed,
            );
        }
        make(
            &Generator::Isaac(isaac::Settings { room_count: Some(6), full_health: true, ..i() }),
            seed,
        );
        make(
            &Generator::Rebirth(rebirth::Settings {
                room_count: Some(6),
                full_health: true,
                ..r()
            }),
            seed,
        );
    }
    make(&Generator::Isaac(isaac::Settings { level: 12, room_count: Some(38), ..i() }), 1);
    make(&Generator::Rebirth(rebirth::Settings { level: 12, room_count: Some(32), ..r() }), 1);
    make(&keep(tinykeep::Settings { room_count: 2000, ..k() }), 1);
    make(&keep(tinykeep::Settings { room_count: 4, main_factor: 0.0, ..k() }), 1);
}

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dungeon_vectors.txt");

#[test]
fn dungeon_vectors_are_what_they_were() {
    use rand_pcg::rand_core::Rng;
    // The reference program of PCG64 prints these words for seed 42 and stream 54.
    let mut reference = rand_pcg::Pcg64::new(42, 54);
    let words: Vec<u64> = (0..4).map(|_| reference.next_u64()).collect();
    assert_eq!(
        words,
        [
            0x86b1_da1d_7206_2b68,
            0x1304_aa46_c985_3d39,
            0xa367_0e9e_0dd5_0358,
            0xf909_0e52_9a7d_ae00
        ]
    );

    let mut text = String::from(
        "# What the seed gives: words and numbers of the generator, then BLAKE3 of the JSON of \
         dungeons.\n",
    );
    let random = &mut Random::new(7, Purpose::Layout);
    let words: Vec<String> = (0..4).map(|_| format!("{:016x}", random.word())).collect();
    let below: Vec<u32> = (1..12).map(|n| random.below(n)).collect();
    let mut order: Vec<u32> = (0..9).collect();
    random.shuffle(&mut order);
    let normal: Vec<String> =
        (0..3).map(|_| format!("{:016x}", random.normal().to_bits())).collect();
    writeln!(
        text,
        "words {}\nbelow {below:?}\nshuffle {order:?}\nnormal {}",
        words.join(" "),
        normal.join(" ")
    )
    .unwrap();
    let generators = [
        ("isaac", isaac(1)),
        ("isaac-8", isaac(8)),
        ("labyrinth", labyrinth(4)),
        ("rebirth", rebirth(6)),
        (
            "rebirth-labyrinth",
            Generator::Rebirth(rebirth::Settings {
                level: 5,
                labyrinth: 100,
                ..Default::default()
            }),
        ),
        ("tinykeep", keep(tinykeep::Settings::default())),
        (
            "tinykeep-flat",
            keep(tinykeep::Settings { ellipse_px: Some([400.0, 20.0]), ..Default::default() }),
        ),
    ];
    for (name, generator) in &generators {
        for seed in [0, 1, 7, u64::MAX] {
            let json = serde_json::to_vec(&make(generator, seed)).unwrap();
            writeln!(text, "{name} {seed} {}", blake3::hash(&json).to_hex()).unwrap();
        }
    }
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(VECTORS, &text).unwrap();
    }
    let stored = std::fs::read_to_string(VECTORS).unwrap_or_default();
    assert_eq!(
        text, stored,
        "dungeons have changed. If this is intended, look at pictures, run\n    THALWEG_BLESS=1 \
         cargo test --test it dungeon\nand describe the change in CHANGELOG.md under Dungeons."
    );
}
