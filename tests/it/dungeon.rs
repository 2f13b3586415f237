//! Dungeons: every published rule on many seeds, keys that can always be reached, chances, bad input, formats.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt::Write;
use thalweg::dungeon::random::{Purpose, Random};
use thalweg::dungeon::rooms::{Rooms, STANDARD};
use thalweg::dungeon::{
    Door, DoorState, Dungeon, Generator, Grid, Mark, Rect, Role, Shape, Side, Thing, Tile, isaac, rebirth, tinykeep,
};
use thalweg::io::dungeon::{DungeonFormat, document, encode, read_rooms};

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
    generator.make(seed, Rooms::standard()).unwrap_or_else(|e| panic!("{generator:?}, seed {seed}: {e}"))
}

fn refused(generator: Generator, words: &[&str]) {
    let error = generator.make(1, Rooms::standard()).expect_err(&format!("{generator:?} is refused")).to_string();
    words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
}

fn many(role: Role, dungeon: &Dungeon) -> usize {
    dungeon.rooms.iter().filter(|room| room.role == role).count()
}

fn steps([x, y]: [i32; 2]) -> [[i32; 2]; 4] {
    Side::ALL.map(|side| [x + side.step()[0], y + side.step()[1]])
}

/// Walks over the tiles from the player, takes keys that it comes to, and opens their doors, until there is nothing new.
/// Returns what was reached and which keys were found.
fn walk(dungeon: &Dungeon) -> (HashSet<[i32; 2]>, BTreeSet<u32>) {
    let player = dungeon.spawns.iter().find(|spawn| spawn.thing == Thing::Player).expect("a player");
    let mut keys = BTreeSet::new();
    loop {
        let opened: BTreeSet<[i32; 2]> =
            dungeon.doors.iter().filter(|door| door.key.is_some_and(|key| keys.contains(&key))).flat_map(Door::tiles).collect();
        let mut reached = HashSet::from([[player.x, player.y]]);
        let mut queue = VecDeque::from([[player.x, player.y]]);
        while let Some(at) = queue.pop_front() {
            for next in steps(at) {
                if (dungeon.tiles.at(next).walkable() || opened.contains(&next)) && reached.insert(next) {
                    queue.push_back(next);
                }
            }
        }
        let found = dungeon.spawns.iter().filter(|s| s.thing == Thing::Key && reached.contains(&[s.x, s.y]));
        let found: BTreeSet<u32> = found.map(|spawn| spawn.variant).collect();
        if found == keys {
            return (reached, keys);
        }
        keys = found;
    }
}

/// What holds for every dungeon.
fn check_common(dungeon: &Dungeon) {
    let what = format!("{} {}", dungeon.kind.name(), dungeon.seed);
    for (i, room) in dungeon.rooms.iter().enumerate() {
        assert_eq!(room.id, i as u32, "{what}: ids are indices");
    }
    assert_eq!(many(Role::Start, dungeon), 1, "{what}");
    let boss = dungeon.rooms.iter().filter(|room| room.role == Role::Boss).max_by_key(|room| room.distance).expect("a boss room");
    assert_eq!(dungeon.spawns.iter().filter(|s| s.thing == Thing::Boss).count(), many(Role::Boss, dungeon), "{what}");

    // The way to the boss goes along edges and is a shortest one.
    let path = &dungeon.critical_path;
    assert_eq!((dungeon.rooms[path[0] as usize].role, path.last()), (Role::Start, Some(&boss.id)), "{what}");
    let joined = |a: u32, b: u32| dungeon.edges.iter().find(|e| (e.a, e.b) == (a.min(b), a.max(b)));
    let length: u32 = path.windows(2).map(|w| joined(w[0], w[1]).unwrap_or_else(|| panic!("{what}: {w:?}")).length).sum();
    let mut far: Vec<u32> = vec![u32::MAX; dungeon.rooms.len()];
    far[path[0] as usize] = 0;
    for _ in &dungeon.rooms {
        for edge in dungeon.edges.iter().filter(|e| !hidden(dungeon, e.a) && !hidden(dungeon, e.b)) {
            for (a, b) in [(edge.a as usize, edge.b as usize), (edge.b as usize, edge.a as usize)] {
                far[b] = far[b].min(far[a].saturating_add(edge.length));
            }
        }
    }
    assert_eq!(length, far[boss.id as usize], "{what}");

    // Every key can be collected, then every room that is not hidden be entered; and each lock keeps something shut.
    let (reached, keys) = walk(dungeon);
    assert_eq!(keys.len(), dungeon.keys.len(), "{what}: all keys are found");
    for room in dungeon.rooms.iter().filter(|room| !room.role.hidden()) {
        assert!(room.tiles.cells().any(|at| reached.contains(&at)), "{what}: room {} is reached", room.id);
    }
    for spawn in dungeon.spawns.iter().filter(|s| !dungeon.rooms[s.room as usize].role.hidden()) {
        assert!(reached.contains(&[spawn.x, spawn.y]), "{what}: {spawn:?} is reached");
        assert!(dungeon.rooms[spawn.room as usize].tiles.contains([spawn.x, spawn.y]), "{what}: {spawn:?} is in its room");
    }
    // In the order of their numbers: with the keys below k, key k is reached and its room is not.
    for key in &dungeon.keys {
        let mut without = dungeon.clone();
        without.spawns.retain(|s| s.thing != Thing::Key || s.variant < key.id);
        let (reached, _) = walk(&without);
        let place = dungeon.spawns.iter().find(|s| s.thing == Thing::Key && s.variant == key.id).unwrap();
        assert!(reached.contains(&[place.x, place.y]), "{what}: {key:?}");
        let opens = &dungeon.rooms[key.opens as usize];
        // Of bent rooms the bounds are not all theirs: the furniture's own middle is not enough, so ask for its doors.
        assert!(key.doors.iter().all(|&door| dungeon.doors[door as usize].state == DoorState::Locked), "{what}: {key:?}");
        if opens.cells.len() <= 1 {
            assert!(!opens.tiles.cells().any(|at| reached.contains(&at)), "{what}: {key:?} opens what was open");
        }
    }
    let rooms: Vec<u32> =
        dungeon.keys.iter().map(|key| key.room).filter(|&id| dungeon.rooms[id as usize].role != Role::Start).collect();
    assert_eq!(rooms.iter().collect::<BTreeSet<_>>().len(), rooms.len(), "{what}: no room but the start has two keys");
    if let Some(key) = dungeon.keys.last() {
        assert_eq!(dungeon.rooms[key.opens as usize].role, Role::Boss, "{what}: the last key is the boss's");
    }

    // Doors are where the tiles have them, and nowhere else.
    let mut doors = BTreeMap::new();
    for door in &dungeon.doors {
        let tile = match door.state {
            DoorState::Open => Tile::Door,
            DoorState::Locked => Tile::Locked,
            DoorState::Breakable => Tile::Breakable,
        };
        door.tiles().for_each(|at| assert!(doors.insert(at, tile).is_none(), "{what}: two doors at {at:?}"));
    }
    let whole = Rect { x: 0, y: 0, width: dungeon.tiles.width as i32, height: dungeon.tiles.height as i32 };
    for at in whole.cells() {
        let tile = dungeon.tiles.at(at);
        let is_door = matches!(tile, Tile::Door | Tile::Locked | Tile::Breakable);
        assert_eq!(doors.get(&at).copied(), is_door.then_some(tile), "{what}: {at:?}");
        if !matches!(tile, Tile::Void | Tile::Wall) && !is_door {
            assert!(steps(at).iter().all(|next| dungeon.tiles.at(*next) != Tile::Void), "{what}: a hole in the wall at {at:?}");
        }
    }
}

/// Pairs of grid cells that touch, of different rooms.
fn touching(dungeon: &Dungeon) -> Vec<(i32, i32, [i32; 2], Side)> {
    let whole = Rect { x: 0, y: 0, width: 9, height: 8 };
    let pairs = whole.cells().flat_map(|at| [(at, Side::East), (at, Side::South)]);
    pairs
        .filter_map(|(at, side)| {
            let [dx, dy] = side.step();
            let (a, b) = (dungeon.grid.at(at), dungeon.grid.at([at[0] + dx, at[1] + dy]));
            (a >= 0 && b >= 0 && a != b).then_some((a, b, at, side))
        })
        .collect()
}

fn hidden(dungeon: &Dungeon, id: u32) -> bool {
    dungeon.rooms[id as usize].role.hidden()
}

/// Doors that lead to rooms which are not hidden.
fn ways(dungeon: &Dungeon, id: u32) -> usize {
    dungeon.doors.iter().filter(|d| d.state != DoorState::Breakable && (d.from == id || d.to == Some(id))).count()
}

/// What holds for floors of Isaac and Rebirth.
fn check_floor(dungeon: &Dungeon) {
    let what = format!("{} {}", dungeon.kind.name(), dungeon.seed);
    check_common(dungeon);
    assert_eq!((dungeon.grid.width, dungeon.grid.height), (9, 8));
    assert_eq!(dungeon.grid.at([4, 3]), 0, "{what}: the start is in cell 35");
    assert_eq!(dungeon.rooms[0].cells, [35], "{what}");
    for room in &dungeon.rooms {
        let shape = room.shape.unwrap();
        for cell in &room.cells {
            let at = [i32::from(*cell) % 10 - 1, i32::from(*cell) / 10];
            assert!(at[0] >= 0 && at[1] < 8, "{what}: cell {cell}");
            assert_eq!(dungeon.grid.at(at), room.id as i32, "{what}: the grid knows cell {cell}");
            assert!(room.rect.contains(at), "{what}");
        }
        assert_eq!(room.cells.len(), shape.offsets().len(), "{what}");
        assert!(room.role == Role::Boss || room.role == Role::Normal || room.cells.len() == 1, "{what}: {room:?}");
    }
    let filled = dungeon.grid.rows.iter().flatten().filter(|id| **id >= 0).count();
    assert_eq!(filled, dungeon.rooms.iter().map(|room| room.cells.len()).sum::<usize>(), "{what}: no overlaps");
    // A door in the middle of every shared side that both shapes can open, and no other.
    let mut expected = BTreeSet::new();
    for (a, b, at, side) in touching(dungeon) {
        let cell = 10 * at[1] + at[0] + 1;
        let exit = |id: i32, cell: i32, side| {
            let room = &dungeon.rooms[id as usize];
            room.shape.unwrap().exit(cell - (10 * room.rect.y + room.rect.x + 1), side)
        };
        let [dx, dy] = side.step();
        if exit(a, cell, side) && exit(b, cell + dx + 10 * dy, side.opposite()) {
            expected.insert([at[0] * 15 + 7 * (1 + dx), at[1] * 9 + 4 * (1 + dy)]);
        }
    }
    let found: BTreeSet<[i32; 2]> = dungeon.doors.iter().map(|door| [door.x, door.y]).collect();
    assert_eq!(found, expected, "{what}");
    for door in &dungeon.doors {
        let hidden = [Some(door.from), door.to].into_iter().flatten().any(|id| dungeon.rooms[id as usize].role.hidden());
        assert_eq!(door.state == DoorState::Breakable, hidden, "{what}");
    }
    // The boss: not beside the start, at a dead end, and no dead end is farther.
    let bosses: Vec<_> = dungeon.rooms.iter().filter(|room| room.role == Role::Boss).collect();
    let first = bosses.iter().min_by_key(|room| room.distance).unwrap();
    assert!(first.distance >= Some(2), "{what}");
    assert!(many(Role::Treasure, dungeon) >= 1 && many(Role::Shop, dungeon) >= 1 && many(Role::Secret, dungeon) >= 1, "{what}");
    for room in dungeon.rooms.iter().filter(|room| room.distance.is_none()) {
        assert!(room.role.hidden(), "{what}: every room that is not hidden is reached");
    }
    // Secret rooms touch a room, no boss room and no other hidden room.
    for secret in dungeon.rooms.iter().filter(|room| room.role == Role::Secret) {
        let beside: Vec<_> = touching(dungeon)
            .into_iter()
            .filter_map(|(a, b, ..)| match secret.id as i32 {
                id if id == a => Some(b),
                id if id == b => Some(a),
                _ => None,
            })
            .map(|id| dungeon.rooms[id as usize].role)
            .collect();
        assert!(!beside.contains(&Role::Boss) && !beside.iter().any(|role| role.hidden()), "{what}: {beside:?}");
        assert!(dungeon.doors.iter().any(|d| d.from == secret.id || d.to == Some(secret.id)), "{what}");
    }
}

#[test]
fn dungeons_of_isaac_keep_the_published_rules() {
    let (mut used, mut late) = (BTreeSet::new(), [0, 0]);
    for level in 1..=8 {
        let mut counts = BTreeSet::new();
        for seed in 0..250 {
            let dungeon = make(&isaac(level), seed);
            check_floor(&dungeon);
            used.extend(dungeon.rooms.iter().flat_map(|room| room.cells.clone()));
            let what = format!("level {level}, seed {seed}");
            let plan = dungeon.rooms.iter().filter(|room| room.role != Role::Secret).count();
            counts.insert(plan);
            // No loops: the plan without secret rooms is a tree, and touching rooms are joined.
            let open =
                dungeon.edges.iter().filter(|e| [e.a, e.b].iter().all(|&id| dungeon.rooms[id as usize].role != Role::Secret));
            assert_eq!(open.clone().count(), plan - 1, "{what}");
            assert!(open.clone().all(|e| e.doors.len() == 1 && !e.extra), "{what}");
            // Breadth first: rooms come in the order of the rooms that they grew from. Only the start may come again, where more
            // than 16 rooms are wanted.
            let grown: Vec<u32> =
                (1..plan as u32).map(|id| open.clone().find(|e| e.b == id).unwrap_or_else(|| panic!("{what}: {id}")).a).collect();
            let mut last = 0;
            for &from in &grown {
                late[usize::from(plan > 16)] += usize::from(from == 0 && last > 0);
                assert!(from >= last || from == 0, "{what}: {grown:?}");
                last = last.max(from);
            }
            // All special rooms are dead ends; the boss has one of the farthest.
            let degree = |id: u32| open.clone().filter(|e| e.a == id || e.b == id).count();
            let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss).unwrap();
            for room in dungeon.rooms.iter().filter(|room| room.role != Role::Secret) {
                if !matches!(room.role, Role::Start | Role::Normal) {
                    assert_eq!(degree(room.id), 1, "{what}: {room:?}");
                }
                assert!(degree(room.id) > 1 || room.distance <= boss.distance, "{what}: {room:?} is farther than the boss");
                assert_eq!(room.cells.len(), 1);
            }
            // The secret room: beside three and no dead end in the first 300 places looked at, then two, then one.
            let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
            let beside: Vec<u32> = dungeon
                .edges
                .iter()
                .filter_map(|e| (e.a == secret.id).then_some(e.b).or((e.b == secret.id).then_some(e.a)))
                .collect();
            let searched = dungeon.tally.hiding;
            if searched < 900 {
                let least = [3, 2, 1][(searched as usize - 1) / 300];
                assert!(beside.len() >= least, "{what}: {searched} places looked at, {beside:?}");
                assert!(beside.iter().all(|&id| degree(id) > 1 || id == 0), "{what}: beside a dead end");
            }
        }
        // 5 + random(2) + 2.6 a level, rounded down: 7 or 8, 10 or 11, ...
        let least = (5.0 + 2.6 * f64::from(level)) as usize;
        assert_eq!(counts, BTreeSet::from([least, least + 1]), "level {level}");
    }
    // Cells 01 to 79 but for the column 0, which has none.
    assert_eq!(used, (1..80).filter(|cell| cell % 10 != 0).collect(), "the whole grid is used");
    assert!(late[0] == 0 && late[1] > 100, "the start comes again where more than 16 rooms are wanted: {late:?}");
}

#[test]
fn dungeon_secret_rooms_relax_in_order() {
    // Small floors seldom have a cell beside three rooms.
    let (mut seen, mut first) = ([0; 4], [u32::MAX; 3]);
    for seed in 0..1000 {
        let settings = isaac::Settings { room_count: Some(6 + seed as u32 % 8), ..Default::default() };
        let dungeon = make(&Generator::Isaac(settings), seed);
        check_floor(&dungeon);
        let plan = |id: u32| dungeon.rooms[id as usize].role != Role::Secret;
        let degree = |id: u32| dungeon.edges.iter().filter(|e| (e.a == id && plan(e.b)) || (e.b == id && plan(e.a))).count();
        let dead = |id: u32| id > 0 && degree(id) == 1;
        // How many rooms every free cell touches, but for those beside a dead end.
        let mut most = 0;
        for at in (Rect { x: 0, y: 0, width: 9, height: 8 }).cells() {
            let room = |at| u32::try_from(dungeon.grid.at(at)).ok().filter(|&id| plan(id));
            let around: Vec<u32> = steps(at).into_iter().filter_map(room).collect();
            if room(at).is_none() && !around.iter().any(|&id| dead(id)) {
                most = most.max(around.len());
            }
        }
        let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
        let beside = dungeon.edges.iter().filter(|e| e.a == secret.id || e.b == secret.id).count();
        let stage = (dungeon.tally.hiding as usize - 1) / 300;
        let what = format!("seed {seed}: beside {beside} after {}, at most {most}", dungeon.tally.hiding);
        match dungeon.tally.hiding {
            900 => assert!(beside >= 1, "{what}"),
            _ => assert!(beside >= 3 - stage && beside <= most, "{what}"),
        }
        // What is there is nearly always found: a stage that cannot be fulfilled is gone through to its end.
        assert!(stage + most.min(3) >= 3 || dungeon.tally.hiding == 900, "{what}");
        seen[if dungeon.tally.hiding == 900 { 3 } else { stage }] += 1;
        first[stage] = first[stage].min(dungeon.tally.hiding);
    }
    // Where there is no better place, the search succeeds soon after it has relaxed: after 300 and after 600.
    assert!(first[1] < 310 && first[2] < 610, "{first:?}");
    assert!(seen[..3].iter().all(|n| *n > 20), "all stages occur: {seen:?}");
}

#[test]
fn dungeon_plans_do_not_depend_on_what_is_in_the_rooms() {
    let other =
        Rooms::from_toml(&STANDARD.replace("weight = 2", "weight = 9").replace("\"two crawlers\"", "\"others\"")).unwrap();
    let mut differ = 0;
    for seed in 0..200 {
        for generator in [isaac(1 + seed as u32 % 8), rebirth(1 + seed as u32 % 8)] {
            let (a, b) = (make(&generator, seed), generator.make(seed, &other).unwrap());
            let plan = |d: &Dungeon| d.rooms.iter().map(|r| (r.role, r.cells.clone(), r.distance)).collect::<Vec<_>>();
            assert_eq!((plan(&a), &a.edges, &a.grid), (plan(&b), &b.edges, &b.grid), "seed {seed}");
            differ += usize::from(a.spawns != b.spawns);
        }
    }
    assert!(differ > 300, "{differ} of 400");
}

#[test]
fn dungeons_of_double_size_keep_their_rules() {
    for level in 1..=8 {
        for seed in 0..40 {
            let dungeon = make(&labyrinth(level), seed);
            check_floor(&dungeon);
            let what = format!("level {level}, seed {seed}");
            assert_eq!([Role::Boss, Role::Treasure, Role::Shop, Role::Secret].map(|role| many(role, &dungeon)), [2; 4], "{what}");
            let bosses: Vec<u32> = dungeon.rooms.iter().filter(|r| r.role == Role::Boss).map(|r| r.id).collect();
            assert!(dungeon.edges.iter().any(|e| [e.a, e.b] == bosses[..]), "{what}: the boss rooms are beside each other");
            assert_eq!(bosses.iter().map(|&id| ways(&dungeon, id)).sum::<usize>(), 3, "{what}");
            // The plan that was grown, before the second boss room and what came after it: special rooms have the farthest ends.
            let grown = |e: &&thalweg::dungeon::Edge| e.b < bosses[1];
            let degree = |id: u32| dungeon.edges.iter().filter(grown).filter(|e| e.a == id || e.b == id).count();
            let mut far = vec![0u32; bosses[1] as usize];
            for edge in dungeon.edges.iter().filter(grown) {
                assert_eq!(far[edge.b as usize], 0, "{what}: a tree");
                far[edge.b as usize] = far[edge.a as usize] + 1;
            }
            for room in dungeon.rooms.iter().filter(|r| r.id < bosses[1] && !matches!(r.role, Role::Start | Role::Normal)) {
                assert_eq!(degree(room.id), 1, "{what}: {room:?}");
                let farther = (1..bosses[1]).filter(|&id| degree(id) == 1 && far[id as usize] > far[room.id as usize]).count();
                assert!(farther < 6, "{what}: {farther} dead ends are farther than {room:?}");
                assert!(room.role != Role::Boss || farther == 0, "{what}: the first boss has the farthest");
            }
            assert!(dungeon.labyrinth, "{what}");
            // 80 % more, at most 45, and up to four more; the second boss and the secret rooms on top.
            let least = ((5 + level * 13 / 5) * 9 / 5).min(45);
            let rooms = dungeon.rooms.len() as u32 - 3;
            assert!((least..=45.min(least + 6)).contains(&rooms), "{what}: {rooms}, {least}");
        }
    }
    // All three pools of difficulty are used.
    let used: BTreeSet<String> = (0..40).flat_map(|seed| make(&labyrinth(1), seed).rooms).flat_map(|r| r.furniture).collect();
    let rooms = Rooms::standard();
    let levels: BTreeSet<String> = rooms
        .furniture()
        .iter()
        .filter(|f| used.contains(&f.name))
        .filter_map(|f| f.difficulty.map(|d| format!("{d:?}")))
        .collect();
    assert_eq!(levels.len(), 3);
}

/// The rule of neighbours holds for the cell beyond the door: each room has one that touched a single room when it came, and a
/// door there. Returns how many rooms have another cell that touched more.
fn check_growth(dungeon: &Dungeon) -> usize {
    let mut crowded = 0;
    for room in dungeon.rooms.iter().filter(|room| !matches!(room.role, Role::Start | Role::Secret | Role::Boss)) {
        let before = |cell: &u8| -> Vec<i32> {
            let at = [i32::from(*cell) % 10 - 1, i32::from(*cell) / 10];
            steps(at).into_iter().map(|at| dungeon.grid.at(at)).filter(|id| (0..room.id as i32).contains(id)).collect()
        };
        let joined = |id: i32| dungeon.edges.iter().any(|e| [e.a as i32, e.b as i32] == [id, room.id as i32]);
        let first = |cell: &u8| matches!(before(cell)[..], [id] if joined(id));
        assert!(room.cells.iter().any(first), "seed {}: {room:?}", dungeon.seed);
        crowded += usize::from(room.cells.iter().any(|cell| before(cell).len() > 1));
    }
    crowded
}

/// The boss has one of the farthest single dead ends, and a large room if it was wanted and any of them could have it.
fn check_large_boss(dungeon: &Dungeon, boss: &thalweg::dungeon::Room) {
    let what = format!("seed {}", dungeon.seed);
    let plan = |id: u32| dungeon.rooms[id as usize].role != Role::Secret;
    let degree = |id: u32| dungeon.edges.iter().filter(|e| (e.a == id && plan(e.b)) || (e.b == id && plan(e.a))).count();
    let ends: Vec<_> =
        dungeon.rooms.iter().filter(|r| r.id > 0 && plan(r.id) && r.cells.len() == 1 && degree(r.id) == 1).collect();
    let far = |id: u32| -> u32 {
        // Hidden ends count too, so distances are measured here.
        let mut far = vec![u32::MAX; dungeon.rooms.len()];
        far[0] = 0;
        for _ in &dungeon.rooms {
            for e in dungeon.edges.iter().filter(|e| plan(e.a) && plan(e.b)) {
                let (a, b) = (e.a as usize, e.b as usize);
                far[a] = far[a].min(far[b].saturating_add(1));
                far[b] = far[b].min(far[a].saturating_add(1));
            }
        }
        far[id as usize]
    };
    let single = |r: &&&thalweg::dungeon::Room| r.shape == Some(Shape::Single);
    for end in ends.iter().filter(single) {
        assert!(far(end.id) <= far(boss.id), "{what}: {end:?} is farther than the boss");
    }
    let Generator::Rebirth(settings) = &dungeon.settings else { panic!("a floor of Rebirth") };
    if settings.large_boss < 100 || boss.cells.len() > 1 {
        return;
    }
    let room = |cell: i32| {
        let at = [cell % 10 - 1, cell / 10];
        let inside = (1..80).contains(&cell) && cell % 10 != 0;
        inside.then(|| u32::try_from(dungeon.grid.at(at)).ok().filter(|&id| plan(id)))
    };
    for end in ends.iter().filter(single).filter(|end| far(end.id) == far(boss.id)) {
        let here = i32::from(end.cells[0]);
        let around = |cell: i32| [cell - 10, cell + 10, cell - 1, cell + 1].into_iter().filter_map(room).flatten();
        let neighbours: BTreeSet<u32> = around(here).collect();
        for shape in [Shape::Big, Shape::Tall, Shape::Wide] {
            for offset in shape.offsets() {
                let cells: Vec<i32> = shape.offsets().iter().map(|o| here - offset + o).collect();
                let free = cells.iter().all(|&c| room(c).is_some_and(|id| id.is_none_or(|id| id == end.id)));
                let alone = cells.iter().flat_map(|&c| around(c)).all(|id| id == end.id || neighbours.contains(&id));
                assert!(!(free && alone && neighbours.len() == 1), "{what}: {shape:?} fits at {here}, but the boss has one cell");
            }
        }
    }
}

#[test]
fn dungeon_shapes_have_their_exits() {
    let exits: Vec<(String, usize)> =
        Shape::ALL.iter().map(|s| (serde_json::to_value(s).unwrap().as_str().unwrap().into(), s.exits().count())).collect();
    let expected = [
        ("1x1", 4),
        ("IH", 2),
        ("IV", 2),
        ("1x2", 6),
        ("IIV", 2),
        ("2x1", 6),
        ("IIH", 2),
        ("2x2", 8),
        ("LTL", 8),
        ("LTR", 8),
        ("LBL", 8),
        ("LBR", 8),
    ];
    assert_eq!(exits, expected.map(|(name, n)| (name.to_string(), n)));
}

#[test]
fn dungeons_of_rebirth_give_the_boss_a_large_room_where_one_fits() {
    let (mut large, mut given_up) = (0, 0);
    for seed in 0..600 {
        let settings = rebirth::Settings { level: 1 + seed as u32 % 8, large_boss: 100, ..Default::default() };
        let dungeon = make(&Generator::Rebirth(settings), seed);
        check_floor(&dungeon);
        let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss).unwrap();
        check_large_boss(&dungeon, boss);
        large += usize::from(boss.cells.len() > 1);
        given_up += usize::from(boss.cells.len() == 1);
        // Among many large rooms the single dead ends may all be beside the start: then the plan is made again.
        let near = rebirth::Settings { room_count: Some(7), large: 80, large_boss: 0, ..Default::default() };
        check_floor(&make(&Generator::Rebirth(near), seed));
        let none = rebirth::Settings { large_boss: 0, ..Default::default() };
        assert!(make(&Generator::Rebirth(none), seed).rooms.iter().all(|r| r.role != Role::Boss || r.cells.len() == 1));
    }
    assert!(large > 300 && given_up > 10, "{large} large bosses, {given_up} given up");
}

#[test]
fn dungeons_of_rebirth_have_large_rooms_and_loops() {
    let (mut shapes, mut loops, mut double, mut large_bosses, mut crowded) = (BTreeSet::new(), 0, 0, 0, 0);
    for level in 1..=8 {
        for seed in 0..150 {
            let dungeon = make(&rebirth(level), seed);
            check_floor(&dungeon);
            let what = format!("level {level}, seed {seed}");
            shapes.extend(dungeon.rooms.iter().map(|room| format!("{:?}", room.shape)));
            let plan = dungeon.rooms.iter().filter(|room| room.role != Role::Secret).count();
            assert!([5 + level * 13 / 5, 6 + level * 13 / 5].contains(&(plan as u32)), "{what}: {plan}");
            let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss).unwrap();
            large_bosses += usize::from(boss.cells.len() > 1);
            let beside = |(a, b, ..): &(i32, i32, [i32; 2], Side)| [*a, *b].contains(&(boss.id as i32));
            let neighbours: BTreeSet<i32> = touching(&dungeon).iter().filter(|t| beside(t)).map(|(a, b, ..)| a + b).collect();
            // A small one may have the wall of a corridor beside it.
            assert!(boss.cells.len() == 1 || neighbours.len() == 1, "{what}: a large boss room touches one room");
            assert_eq!(dungeon.edges.iter().filter(|e| [e.a, e.b].contains(&boss.id)).count(), 1, "{what}: a dead end");
            crowded += check_growth(&dungeon);
            check_large_boss(&dungeon, boss);
            // The search for the secret room counts rooms whose shape can have a door there.
            let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
            let beside = dungeon.edges.iter().filter(|e| e.a == secret.id || e.b == secret.id).count();
            assert!(dungeon.tally.hiding == 900 || beside >= 3 - (dungeon.tally.hiding as usize - 1) / 300, "{what}");
            for edge in &dungeon.edges {
                loops += usize::from(
                    edge.extra
                        && dungeon.rooms[edge.a as usize].role != Role::Secret
                        && dungeon.rooms[edge.b as usize].role != Role::Secret,
                );
                let large = [edge.a, edge.b].iter().all(|&id| dungeon.rooms[id as usize].cells.len() > 1);
                double += usize::from(large && edge.doors.len() == 2);
                assert!(
                    edge.doors.len() == 1 || [edge.a, edge.b].iter().any(|&id| dungeon.rooms[id as usize].cells.len() > 1),
                    "{what}"
                );
            }
        }
    }
    assert_eq!(shapes.len(), 12, "all shapes occur: {shapes:?}");
    assert!(crowded > 100, "the rule of neighbours is for the first cell alone: {crowded}");
    assert!(
        loops > 100 && double > 100 && large_bosses > 200,
        "{loops} loops, {double} double doors, {large_bosses} large bosses"
    );
}

#[test]
fn dungeon_chances_are_the_published_ones() {
    // k of n is within five deviations of what p gives.
    let within = |what: &str, k: u64, n: u64, p: f64| {
        let off = (k as f64 - n as f64 * p).abs();
        let bound = 5.0 * (n as f64 * p * (1.0 - p)).sqrt();
        assert!(n > 500 && off <= bound, "{what}: {k} of {n}, expected {p}, off by {off:.0}, bound {bound:.0}");
    };
    let (mut coins, mut grown, mut large, mut removed) = (0, 0, 0, 0);
    let (mut sacrifices, mut floors) = ([0u64; 2], 0);
    let (mut cursed, mut more, mut other_chapters) = (0, 0, 0);
    let (mut things, mut rare) = ([0u64; 2], [0u64; 2]);
    for seed in 3000..16_000 {
        for (i, full_health) in [false, true].into_iter().enumerate() {
            let settings = isaac::Settings { level: 1 + seed as u32 % 8, full_health, locks: 0, ..Default::default() };
            sacrifices[i] += many(Role::Sacrifice, &make(&Generator::Isaac(settings), seed)) as u64;
        }
    }
    for seed in 0..3000 {
        // On all levels alike, the first with its few dead ends too.
        let level = 1 + seed as u32 % 8;
        floors += 1;
        for (i, full_health) in [false, true].into_iter().enumerate() {
            let settings = isaac::Settings { level, full_health, locks: 0, ..Default::default() };
            let dungeon = make(&Generator::Isaac(settings), seed);
            coins += u64::from(dungeon.tally.coins);
            grown += u64::from(dungeon.tally.grown);
            sacrifices[i] += many(Role::Sacrifice, &dungeon) as u64;
            if i == 0 {
                let plan = dungeon.rooms.iter().filter(|room| room.role != Role::Secret).count() as u32;
                more += u64::from(plan - 5 - level * 13 / 5);
                let chapter = &Rooms::standard().chapters()[(level as usize - 1) / 2];
                other_chapters += u64::from(dungeon.chapter == chapter.alternative);
                for (i, thing) in [Thing::Enemy, Thing::Fire].into_iter().enumerate() {
                    things[i] += dungeon.spawns.iter().filter(|s| s.thing == thing).count() as u64;
                    rare[i] += dungeon.spawns.iter().filter(|s| s.thing == thing && s.variant == 1).count() as u64;
                }
            }
        }
        let curse = isaac::Settings { level, labyrinth: 30, ..Default::default() };
        let dungeon = make(&Generator::Isaac(curse), seed);
        assert_eq!(many(Role::Boss, &dungeon), 1 + usize::from(dungeon.labyrinth), "seed {seed}");
        cursed += u64::from(dungeon.labyrinth);
        let dungeon = make(&rebirth(5), seed);
        large += u64::from(dungeon.tally.large);
        removed += u64::from(dungeon.tally.removed);
    }
    within("growth", grown, coins, 0.5);
    within("sacrifice", sacrifices[0], 16_000, 1.0 / 7.0);
    within("sacrifice at full health", sacrifices[1], 16_000, 1.0 / 3.0);
    within("curse", cursed, floors, 0.3);
    within("one room more", more, floors, 0.5);
    within("alternative chapter", other_chapters, floors, 0.5);
    within("champions", rare[0], things[0], 0.1);
    within("red fires", rare[1], things[1], 0.125);
    within("removal", removed, large, 0.95);
}

/// Whether every walkable cell of the corridors lies in some 3 × 3 block of floor.
fn corridors_are_wide(dungeon: &Dungeon) -> bool {
    let floor = |at| dungeon.grid.at(at) != Grid::EMPTY;
    let whole = Rect { x: 0, y: 0, width: dungeon.grid.width as i32, height: dungeon.grid.height as i32 };
    let block = |[x, y]: [i32; 2]| (Rect { x, y, width: 3, height: 3 }).cells().all(floor);
    whole.cells().filter(|&at| floor(at)).all(|[x, y]| (Rect { x: x - 2, y: y - 2, width: 3, height: 3 }).cells().any(block))
}

fn check_keep(dungeon: &Dungeon, settings: &tinykeep::Settings) {
    check_common(dungeon);
    let what = format!("seed {}", dungeon.seed);
    let mains = dungeon.rooms.iter().filter(|room| room.role != Role::Hallway).count();
    assert!(dungeon.rooms[..mains].iter().all(|room| room.role != Role::Hallway), "{what}: main rooms come first");
    for (i, room) in dungeon.rooms.iter().enumerate() {
        assert!(dungeon.rooms[..i].iter().all(|other| !other.rect.overlaps(&room.rect)), "{what}: room {i} overlaps");
        assert!(room.rect.cells().all(|at| dungeon.grid.at(at) == room.id as i32), "{what}: the grid has room {i}");
        let (long, short) = (room.rect.width.max(room.rect.height), room.rect.width.min(room.rect.height));
        assert!(long != short && f64::from(long) <= settings.ratio_max * f64::from(short), "{what}: {long} x {short}");
        assert_eq!(room.hall.is_some(), room.role == Role::Hallway);
    }
    let area: i32 = dungeon.rooms.iter().map(|room| room.rect.width * room.rect.height).sum();
    let cells = dungeon.grid.rows.iter().flatten().filter(|id| **id >= 0).count();
    assert_eq!(cells as i32, area, "{what}: the grid has rooms and nothing else");
    assert!(corridors_are_wide(dungeon), "{what}: corridors are three wide");

    // The graph: a tree over the main rooms, and of the other edges as many as were asked for.
    let tree: Vec<_> = dungeon.edges.iter().filter(|edge| !edge.extra).collect();
    assert_eq!(tree.len(), mains - 1, "{what}");
    let mut group: Vec<usize> = (0..mains).collect();
    for edge in &tree {
        let (a, b) = (group[edge.a as usize], group[edge.b as usize]);
        assert_ne!(a, b, "{what}: the tree has no loop");
        group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
    }
    // Each edge is a corridor in the grid, from a door of one room to a door of the other, past all other main rooms.
    for edge in &dungeon.edges {
        let doors: Vec<&Door> = edge.doors.iter().map(|&id| &dungeon.doors[id as usize]).collect();
        assert_eq!([doors[0].from, doors[1].from], [edge.a, edge.b], "{what}: {edge:?}");
        assert_eq!(doors[0].hall, doors[1].hall, "{what}");
        assert!(
            doors[0].tiles().any(|at| at == edge.path[0]) && doors[1].tiles().any(|at| Some(&at) == edge.path.last()),
            "{what}"
        );
        let mut at = edge.path[0];
        let mut length = 1;
        for corner in &edge.path[1..] {
            let step = [(corner[0] - at[0]).signum(), (corner[1] - at[1]).signum()];
            assert_eq!(step[0].abs() + step[1].abs(), 1, "{what}: {edge:?} is made of straight pieces");
            while at != *corner {
                at = [at[0] + step[0], at[1] + step[1]];
                length += 1;
                for near in (Rect { x: at[0] - 1, y: at[1] - 1, width: 3, height: 3 }).cells() {
                    let id = dungeon.grid.at(near);
                    assert!(id != Grid::EMPTY, "{what}: {edge:?} is three wide at {at:?}");
                    let foreign = id >= 0 && id < mains as i32 && ![edge.a as i32, edge.b as i32].contains(&id);
                    assert!(!foreign, "{what}: {edge:?} cuts through room {id}");
                }
            }
        }
        assert_eq!(length, edge.length, "{what}");
    }
    // And no door without an edge: what touches main rooms are the ends of corridors.
    let used: BTreeSet<u32> = dungeon.edges.iter().flat_map(|edge| edge.doors.clone()).collect();
    assert_eq!(used.len(), dungeon.doors.len(), "{what}");
    assert!(dungeon.doors.iter().all(|door| door.width >= 3), "{what}");
    // The cells of corridors are those of the bands, but for rooms.
    let bands: BTreeSet<[i32; 2]> =
        dungeon.edges.iter().flat_map(|edge| edge.path.windows(2)).flat_map(|w| band(w).cells()).collect();
    let whole = Rect { x: 0, y: 0, width: dungeon.grid.width as i32, height: dungeon.grid.height as i32 };
    for at in whole.cells() {
        let id = dungeon.grid.at(at);
        assert!(id >= 0 || bands.contains(&at) == (id == Grid::CORRIDOR), "{what}: {id} at {at:?}");
    }
    check_graph(dungeon, mains);
    check_corners(dungeon, mains);
}

/// A piece of a corridor, three wide.
fn band(ends: &[[i32; 2]]) -> Rect {
    let ([a, b], [c, d]) = (ends[0], ends[1]);
    Rect { x: a.min(c), y: b.min(d), width: (a - c).abs() + 1, height: (b - d).abs() + 1 }.grown(1)
}

/// The middle of a room, doubled so that it is whole.
fn middle(dungeon: &Dungeon, id: usize) -> [i64; 2] {
    let Rect { x, y, width, height } = dungeon.rooms[id].rect;
    [(2 * x + width).into(), (2 * y + height).into()]
}

fn squared([ax, ay]: [i64; 2], [bx, by]: [i64; 2]) -> i64 {
    (ax - bx).pow(2) + (ay - by).pow(2)
}

/// Whether two points are joined in a Delaunay triangulation: positive if they must be, 0 if they may be, as four are on a circle.
/// The angles under which two others, one on each side, see them add up to half a turn at most: so do their cotangents to 0.
fn delaunay(points: &[[i64; 2]], a: usize, b: usize) -> i128 {
    // The smallest cotangent on either side, as a fraction with a positive denominator.
    let mut least = [None::<(i128, i128)>; 2];
    let [[ax, ay], [bx, by]] = [points[a], points[b]];
    for (_, &[cx, cy]) in points.iter().enumerate().filter(|(i, _)| *i != a && *i != b) {
        let (ux, uy, vx, vy) = (ax - cx, ay - cy, bx - cx, by - cy);
        let (dot, cross) = (i128::from(ux * vx + uy * vy), i128::from(ux * vy - uy * vx));
        if cross == 0 {
            // On their line: between them or not.
            if dot < 0 {
                return -1;
            }
            continue;
        }
        let (side, cot) = (usize::from(cross > 0), (dot, cross.abs()));
        if least[side].is_none_or(|(n, d)| cot.0 * d < n * cot.1) {
            least[side] = Some(cot);
        }
    }
    match least {
        [Some((p, q)), Some((r, s))] => (p * s + r * q).signum(),
        _ => 1,
    }
}

/// The tree is the shortest there is, found here by Prim's way from all pairs; other edges are of the triangulation.
fn check_graph(dungeon: &Dungeon, mains: usize) {
    let what = format!("seed {}", dungeon.seed);
    let points: Vec<[i64; 2]> = (0..mains).map(|id| middle(dungeon, id)).collect();
    let mut near: Vec<i64> = points.iter().map(|p| squared(*p, points[0])).collect();
    let mut left: BTreeSet<usize> = (1..mains).collect();
    let mut shortest = vec![];
    while let Some(&next) = left.iter().min_by_key(|&&i| near[i]) {
        left.remove(&next);
        shortest.push(near[next]);
        left.iter().for_each(|&i| near[i] = near[i].min(squared(points[i], points[next])));
    }
    let length = |e: &thalweg::dungeon::Edge| squared(points[e.a as usize], points[e.b as usize]);
    let mut tree: Vec<i64> = dungeon.edges.iter().filter(|e| !e.extra).map(length).collect();
    shortest.sort_unstable();
    tree.sort_unstable();
    assert_eq!(tree, shortest, "{what}: the shortest tree");
    for edge in &dungeon.edges {
        assert!(delaunay(&points, edge.a as usize, edge.b as usize) >= 0, "{what}: {edge:?} is of the triangulation");
    }
}

/// Where no third room is in the way, a corridor is straight if the middle of two rooms lies within both, and has one bend in
/// line with both middles if it lies within neither.
fn check_corners(dungeon: &Dungeon, mains: usize) {
    for edge in &dungeon.edges {
        let (a, b) = (dungeon.rooms[edge.a as usize].rect, dungeon.rooms[edge.b as usize].rect);
        let (left, top) = (a.x.min(b.x), a.y.min(b.y));
        let (right, bottom) = ((a.x + a.width).max(b.x + b.width), (a.y + a.height).max(b.y + b.height));
        let around = Rect { x: left, y: top, width: right - left, height: bottom - top }.grown(4);
        let third = |id: usize| id != edge.a as usize && id != edge.b as usize && around.overlaps(&dungeon.rooms[id].rect);
        if (0..mains).any(third) {
            continue;
        }
        let what = format!("seed {}: {edge:?}, {a:?}, {b:?}", dungeon.seed);
        // Four times the middle between the two; a tile from the border of a room its rounding does not matter.
        let four = [2 * a.x + a.width + 2 * b.x + b.width, 2 * a.y + a.height + 2 * b.y + b.height];
        let spans = |r: &Rect| [(r.x, r.width), (r.y, r.height)];
        let within = |by: i32| {
            [0, 1].map(|i| {
                [&a, &b].iter().all(|r| {
                    let (p, n) = spans(r)[i];
                    (4 * (p + by)..=4 * (p + n - by)).contains(&four[i])
                })
            })
        };
        let apart = |i: usize| {
            let ((p, n), (q, m)) = (spans(&a)[i], spans(&b)[i]);
            p + n + 4 < q || q + m + 4 < p
        };
        if within(2).contains(&true) {
            assert_eq!(edge.path.len(), 2, "{what}: straight");
        } else if apart(0) && apart(1) {
            let corners = [[b.centre()[0], a.centre()[1]], [a.centre()[0], b.centre()[1]]];
            assert!(edge.path.len() == 3 && corners.contains(&edge.path[1]), "{what}: one bend");
        } else if !within(0).contains(&true) {
            assert!(edge.path.len() > 2, "{what}: not straight");
        }
    }
}

#[test]
fn dungeons_of_tinykeep_keep_the_published_rules() {
    let standard = tinykeep::Settings::default();
    for seed in 0..300 {
        check_keep(&make(&keep(standard.clone()), seed), &standard);
    }
    for seed in 0..40 {
        for settings in [
            tinykeep::Settings { ellipse_px: Some([400.0, 20.0]), locks: 8, ..standard.clone() },
            tinykeep::Settings { room_count: 12, main_factor: 0.9, loops: 1.0, ..standard.clone() },
            tinykeep::Settings { room_count: 60, main_px: Some([0.0, 0.0]), loops: 0.1, ..standard.clone() },
            tinykeep::Settings {
                room_count: 80,
                ellipse_px: Some([1.0, 1.0]),
                tile_px: 1,
                mean_px: [9.0, 14.0],
                deviation_px: 6.0,
                ratio_max: 3.0,
                ..standard.clone()
            },
        ] {
            check_keep(&make(&keep(settings.clone()), seed), &settings);
        }
    }
}

#[test]
fn dungeons_of_tinykeep_follow_their_numbers() {
    // Main rooms have both sides over 1.25 times the mean; a narrower deviation is asked for here so that few hallways are lost.
    let mut narrow = 0;
    let mut wide = 0;
    let (mut small, mut all) = (0, 0);
    for seed in 0..100 {
        let mut sizes = vec![];
        let mut marked = vec![];
        let generator = keep(tinykeep::Settings::default());
        let dungeon = generator
            .make_step_by_step(seed, Rooms::standard(), &mut |step| match step.what {
                "rooms appear" => sizes = step.boxes.iter().map(|(r, _)| [r.width, r.height]).collect(),
                "main rooms" => marked = step.boxes.clone(),
                _ => {}
            })
            .unwrap();
        assert_eq!(sizes.len(), 150);
        let mean = |axis: usize| sizes.iter().map(|s| f64::from(s[axis])).sum::<f64>() / 150.0;
        let over = [1.25 * mean(0), 1.25 * mean(1)];
        let mains = sizes.iter().filter(|s| (0..2).all(|axis| f64::from(s[axis]) > over[axis])).count();
        assert_eq!(mains, dungeon.rooms.iter().filter(|room| room.role != Role::Hallway).count(), "seed {seed}");
        // Of the others, those that a corridor crosses are hallways, and no more.
        let bands: Vec<Rect> = dungeon.edges.iter().flat_map(|edge| edge.path.windows(2)).map(band).collect();
        let crossed: BTreeSet<_> = marked
            .iter()
            .filter(|(r, mark)| *mark == Mark::Faint && bands.iter().any(|band| band.overlaps(r)))
            .map(|(r, _)| (r.x, r.y, r.width, r.height))
            .collect();
        let hallways = dungeon.rooms.iter().filter(|room| room.role == Role::Hallway).map(|room| room.rect);
        assert_eq!(hallways.map(|r| (r.x, r.y, r.width, r.height)).collect::<BTreeSet<_>>(), crossed, "seed {seed}");
        // Separated: nothing overlaps, and nothing was lost.
        assert_eq!(marked.len(), 150);
        for (i, (a, _)) in marked.iter().enumerate() {
            assert!(marked[..i].iter().all(|(b, _)| !a.overlaps(b)), "seed {seed}");
        }
        small += sizes.iter().filter(|s| f64::from(s[0]) < mean(0)).count();
        all += sizes.len();
        let extent = |d: &Dungeon| (d.grid.width as usize, d.grid.height as usize);
        let flat = make(&keep(tinykeep::Settings { ellipse_px: Some([400.0, 20.0]), ..Default::default() }), seed);
        narrow += extent(&flat).1;
        wide += extent(&flat).0;
    }
    assert!(small * 100 > all * 52, "small rooms are likelier: {small} of {all} below the mean");
    assert!(wide > 2 * narrow, "a flat ellipse makes a long dungeon: {wide} : {narrow}");
    // A narrower deviation and a stricter ratio make more even corridors: sides of hallways differ less.
    let spread = |deviation_px: f64, ratio_max: f64| {
        let settings = tinykeep::Settings { deviation_px, ratio_max, main_factor: 1.1, ..Default::default() };
        let rooms = (0..60).flat_map(|seed| make(&keep(settings.clone()), seed).rooms);
        let sides: Vec<f64> = rooms
            .filter(|room| room.role == Role::Hallway)
            .flat_map(|room| [f64::from(room.rect.width), f64::from(room.rect.height)])
            .collect();
        let mean = sides.iter().sum::<f64>() / sides.len() as f64;
        (sides.iter().map(|side| (side - mean).powi(2)).sum::<f64>() / sides.len() as f64).sqrt() / mean
    };
    let (even, uneven) = (spread(7.0, 1.5), spread(15.0, 3.0));
    assert!(even < 0.7 * uneven, "{even} : {uneven}");
    // As many edges come back as the part says, of those that the triangulation has and the tree does not.
    for (loops, seed) in [(0.08, 1), (0.1, 2), (0.15, 3), (1.0, 4), (0.0, 5)] {
        let mut lines = 0;
        let settings = tinykeep::Settings { room_count: 400, loops, ..Default::default() };
        let dungeon = keep(settings)
            .make_step_by_step(seed, Rooms::standard(), &mut |step| {
                if step.what == "triangulation" {
                    lines = step.lines.len();
                }
            })
            .unwrap();
        // The triangulation has all edges that it must have, and of those on circles some.
        let mains = dungeon.rooms.iter().filter(|room| room.role != Role::Hallway).count();
        let points: Vec<[i64; 2]> = (0..mains).map(|id| middle(&dungeon, id)).collect();
        let signs: Vec<i128> =
            (0..mains).flat_map(|b| (0..b).map(move |a| (a, b))).map(|(a, b)| delaunay(&points, a, b)).collect();
        let least = signs.iter().filter(|sign| **sign > 0).count();
        assert!((least..=signs.iter().filter(|sign| **sign >= 0).count()).contains(&lines), "{lines} edges, {least} or more");
        let left = lines - dungeon.edges.iter().filter(|e| !e.extra).count();
        let back = dungeon.edges.iter().filter(|e| e.extra).count();
        assert_eq!(back, (loops * left as f64 + 0.5) as usize, "{loops} of {left}");
    }
}

#[test]
fn dungeon_points_and_sizes_are_the_articles() {
    assert_eq!(
        [-4.0, -3.9, -0.1, 0.0, 0.1, 0.9, 1.0, 4.0, 5.0].map(|n| tinykeep::roundm(n, 4.0)),
        [-4.0, -4.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 8.0]
    );
    let random = &mut Random::new(3, Purpose::Layout);
    let mut inner = 0;
    for _ in 0..20_000 {
        let [x, y] = tinykeep::point_in_ellipse(random, 400.0, 20.0);
        let far = (x / 200.0).powi(2) + (y / 10.0).powi(2);
        assert!(far <= 1.0);
        inner += usize::from(far < 0.25);
    }
    // The sum of two, folded at 1, is as spread as radii of an even disc: a quarter within half of the radius.
    assert!((4600..5400).contains(&inner), "{inner}");
    let normals: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
    let mean = normals.iter().sum::<f64>() / 2e4;
    let spread = normals.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 2e4;
    assert!(mean.abs() < 0.03 && (spread - 1.0).abs() < 0.05, "{mean} {spread}");
}

#[test]
fn dungeons_from_bad_input_end_in_an_error_that_helps() {
    let i = isaac::Settings::default;
    refused(Generator::Isaac(isaac::Settings { level: 0, ..i() }), &["level = 0", "1 to 12"]);
    refused(Generator::Isaac(isaac::Settings { level: 13, ..i() }), &["level = 13", "1 to 12"]);
    refused(Generator::Isaac(isaac::Settings { room_count: Some(99), ..i() }), &["room_count = 99", "6 to 38", "9 x 8"]);
    refused(Generator::Isaac(isaac::Settings { room_count: Some(1), ..i() }), &["room_count = 1", "6 to 38"]);
    refused(Generator::Isaac(isaac::Settings { room_count: Some(46), labyrinth: 100, ..i() }), &["room_count = 46", "12 to 45"]);
    refused(Generator::Isaac(isaac::Settings { locks: 9, ..i() }), &["locks = 9", "0 to 8"]);
    let r = rebirth::Settings::default;
    refused(Generator::Rebirth(rebirth::Settings { large: 101, ..r() }), &["large = 101", "0 to 100"]);
    refused(Generator::Rebirth(rebirth::Settings { room_count: Some(33), ..r() }), &["room_count = 33", "6 to 32"]);
    let k = tinykeep::Settings::default;
    refused(keep(tinykeep::Settings { room_count: 0, ..k() }), &["room_count = 0", "2 to 4000"]);
    refused(keep(tinykeep::Settings { room_count: 100_000, ..k() }), &["room_count = 100000", "2 to 4000"]);
    refused(keep(tinykeep::Settings { ellipse_px: Some([400.0, 0.0]), ..k() }), &["ellipse_px (height) = 0", "1 to"]);
    refused(keep(tinykeep::Settings { ellipse_px: Some([f64::NAN, 20.0]), ..k() }), &["ellipse_px (width) = NaN", "1 to"]);
    refused(keep(tinykeep::Settings { deviation_px: 16.0, ..k() }), &["deviation_px = 16", "0 to 15"]);
    refused(keep(tinykeep::Settings { deviation_px: 0.0, ..k() }), &["never two main rooms", "deviation_px"]);
    refused(keep(tinykeep::Settings { main_px: Some([900.0, 900.0]), ..k() }), &["never two main rooms", "main_px"]);
    refused(keep(tinykeep::Settings { ratio_max: 1.0, ..k() }), &["ratio_max = 1", "1.5 to 10"]);
    refused(keep(tinykeep::Settings { loops: f64::INFINITY, ..k() }), &["loops = inf", "0 to 1"]);
    refused(keep(tinykeep::Settings { room_count: 4000, mean_px: [250.0, 250.0], ..k() }), &["tiles", "fewer or smaller rooms"]);
    // Six large rooms leave no single dead end for shop and treasure.
    let crowded = rebirth::Settings { room_count: Some(6), large: 100, ..r() };
    refused(
        Generator::Rebirth(crowded),
        &["no floor of 6 rooms", "10000 tries", "a smaller share of large rooms than large = 100"],
    );
    // The smallest and the largest that are allowed come to an end.
    for seed in 0..40 {
        for room_count in [Some(12), Some(45)] {
            make(&Generator::Isaac(isaac::Settings { room_count, labyrinth: 100, full_health: true, ..i() }), seed);
        }
        make(&Generator::Isaac(isaac::Settings { room_count: Some(6), full_health: true, ..i() }), seed);
        make(&Generator::Rebirth(rebirth::Settings { room_count: Some(6), full_health: true, ..r() }), seed);
    }
    make(&Generator::Isaac(isaac::Settings { level: 12, room_count: Some(38), ..i() }), 1);
    make(&Generator::Rebirth(rebirth::Settings { level: 12, room_count: Some(32), ..r() }), 1);
    make(&keep(tinykeep::Settings { room_count: 2000, ..k() }), 1);
    make(&keep(tinykeep::Settings { room_count: 2, main_factor: 0.0, ..k() }), 1);
}

#[test]
fn dungeon_rooms_from_bad_files_end_in_an_error_that_helps() {
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
    refused("role = \"shop\"", "role = \"shop\"\ndifficulty = \"easy\"", &["stall", "difficulty is for normal rooms"]);
    refused("chapters = [\"mines\"]", "chapters = [\"mine\"]", &["did you mean \"mines\""]);
    refused("weight = 2", "weight = 0", &["weight = 0", "1 to 1000"]);
    refused("......@......\n", "......@.....\n", &["hearth", "row 4", "12 letters", "13"]);
    refused("......@......\n", "......?......\n", &["hearth", "'?'", "row 4, column 7", "(floor)"]);
    refused("......@......\n", "", &["hearth", "6 rows", "7"]);
    refused("......@......\n", "o.....@......\n", &["hearth", "west door", "row 4, column 1"]);
    refused("doors = [\"north\", \"east\", \"west\"]", "doors = []", &["ledge", "at least one side"]);
    refused(".............\n.o.........o.", ".o...........\noo.........o.", &["corners", "row 1, column 1", "cannot be reached"]);
    refused("role = \"library\"", "role = \"secret\"", &["has no library room", "add one"]);
    // Contradicting pools: a chapter without hard rooms.
    let none: String = STANDARD.replace("difficulty = \"hard\"", "difficulty = \"easy\"");
    let error = Rooms::from_toml(&none).unwrap_err().to_string();
    assert!(error.contains("has no hard normal room"), "{error}");
    for damage in ["", "\u{0}", "[[room]]", "[[chapter]]\nname = 3"] {
        assert!(Rooms::from_toml(damage).is_err());
    }
    let missing = read_rooms(std::path::Path::new("no/such/rooms.toml")).unwrap_err().to_string();
    assert!(missing.contains("no/such/rooms.toml"), "{missing}");
}

#[test]
fn dungeon_rooms_of_chapters_follow_the_level() {
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
    // In Rebirth a room with fewer doors is taken where they are enough.
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

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dungeon_vectors.txt");

#[test]
fn dungeon_vectors_are_what_they_were() {
    use rand_pcg::rand_core::Rng;
    // The reference program of PCG64 prints these for the seed 42 and the stream 54.
    let mut reference = rand_pcg::Pcg64::new(42, 54);
    let words: Vec<u64> = (0..4).map(|_| reference.next_u64()).collect();
    assert_eq!(words, [0x86b1_da1d_7206_2b68, 0x1304_aa46_c985_3d39, 0xa367_0e9e_0dd5_0358, 0xf909_0e52_9a7d_ae00]);

    let mut text =
        String::from("# What the seed gives: words and numbers of the generator, then BLAKE3 of the JSON of dungeons.\n");
    let random = &mut Random::new(7, Purpose::Layout);
    let words: Vec<String> = (0..4).map(|_| format!("{:016x}", random.word())).collect();
    let below: Vec<u32> = (1..12).map(|n| random.below(n)).collect();
    let mut order: Vec<u32> = (0..9).collect();
    random.shuffle(&mut order);
    let normal: Vec<String> = (0..3).map(|_| format!("{:016x}", random.normal().to_bits())).collect();
    writeln!(text, "words {}\nbelow {below:?}\nshuffle {order:?}\nnormal {}", words.join(" "), normal.join(" ")).unwrap();
    let generators = [
        ("isaac", isaac(1)),
        ("isaac-8", isaac(8)),
        ("labyrinth", labyrinth(4)),
        ("rebirth", rebirth(6)),
        ("tinykeep", keep(tinykeep::Settings::default())),
        ("tinykeep-flat", keep(tinykeep::Settings { ellipse_px: Some([400.0, 20.0]), ..Default::default() })),
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
        "dungeons changed. If this was meant, look at pictures, run\n    THALWEG_BLESS=1 cargo test --test it dungeon\nand say so in CHANGELOG.md under Dungeons."
    );
}

#[test]
fn dungeon_steps_change_nothing() {
    for generator in [isaac(4), rebirth(4), keep(tinykeep::Settings::default())] {
        let mut steps = vec![];
        let told = generator.make_step_by_step(3, Rooms::standard(), &mut |step| steps.push(step)).unwrap();
        assert_eq!(told, make(&generator, 3));
        assert!(steps.len() > 5);
        let animation = thalweg::io::dungeon::animation(&told, &steps).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(&animation)).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames as usize, steps.len() + 1);
    }
}

#[test]
fn dungeon_files_hold_what_they_say() {
    let schema: serde_json::Value = serde_json::from_str(
        &std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/dungeon.schema.json")).unwrap(),
    )
    .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for generator in [isaac(3), labyrinth(3), rebirth(7), keep(tinykeep::Settings::default())] {
        for seed in 0..8 {
            let dungeon = make(&generator, seed);
            let document = document(&dungeon).unwrap();
            let faults: Vec<String> = validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
            assert!(faults.is_empty(), "{faults:#?}");
            let mut wrong = document.clone();
            wrong["rooms"][0]["role"] = "kitchen".into();
            assert!(!validator.is_valid(&wrong), "the schema refuses something");

            let text = String::from_utf8(encode(&dungeon, DungeonFormat::Text).unwrap()).unwrap();
            assert_eq!(text.matches('@').count(), 1);
            assert_eq!(text.matches('k').count(), dungeon.keys.len());

            // A map for Tiled has the tiles by number, and an object for each room, door and thing.
            let map: serde_json::Value = serde_json::from_slice(&encode(&dungeon, DungeonFormat::Tiled).unwrap()).unwrap();
            let data = map["layers"][0]["data"].as_array().unwrap();
            assert_eq!(data.len(), dungeon.tiles.data.len());
            let tiles = map["tilesets"][0]["tiles"].as_array().unwrap();
            for (number, tile) in data.iter().zip(&dungeon.tiles.data) {
                let number = number.as_u64().unwrap() as usize;
                assert_eq!(number == 0, *tile == Tile::Void);
                if number > 0 {
                    let kind = tiles.iter().find(|t| t["id"] == number - 1).unwrap()["type"].as_str().unwrap();
                    assert!(kind.starts_with(tile.name()), "{kind} for {tile:?}");
                }
            }
            let counts = [dungeon.rooms.len(), dungeon.doors.len(), dungeon.spawns.len()];
            assert_eq!([1, 2, 3].map(|i| map["layers"][i]["objects"].as_array().unwrap().len()), counts);
            // Things show their tile, and a bent room has the outline of its three cells.
            for (object, spawn) in map["layers"][3]["objects"].as_array().unwrap().iter().zip(&dungeon.spawns) {
                let tile = tiles.iter().find(|t| t["id"] == object["gid"].as_u64().unwrap() - 1).unwrap();
                assert_eq!(tile["type"], spawn.thing.name());
                // Their place is the south-west corner.
                assert_eq!([&object["x"], &object["y"]], [spawn.x * 16, (spawn.y + 1) * 16]);
            }
            for (object, room) in map["layers"][1]["objects"].as_array().unwrap().iter().zip(&dungeon.rooms) {
                let bent = room.cells.len() == 3;
                assert_eq!(object.get("polygon").is_some(), bent);
                let corner = |p: &serde_json::Value| [p["x"].as_i64().unwrap(), p["y"].as_i64().unwrap()];
                let corners: Vec<[i64; 2]> = object["polygon"].as_array().into_iter().flatten().map(corner).collect();
                let next = corners.iter().cycle().skip(1);
                let area: i64 = corners.iter().zip(next).map(|([ax, ay], [bx, by])| ax * by - bx * ay).sum();
                assert_eq!(area.abs() / 2, if bent { 3 * 15 * 9 * 256 } else { 0 });
                // Of the four corners of the bounds, the one of the missing cell is not among them.
                for (i, [x, y]) in [[0, 0], [1, 0], [0, 1], [1, 1]].into_iter().enumerate() {
                    let cell = (10 * (room.rect.y + y) + room.rect.x + x + 1) as u8;
                    let there = corners.contains(&[[0, 480, 0, 480][i], [0, 0, 288, 288][i]]);
                    assert!(!bent || there == room.cells.contains(&cell), "{room:?}");
                }
            }
            // A project for LDtk has the same, and no number twice.
            let project: serde_json::Value = serde_json::from_slice(&encode(&dungeon, DungeonFormat::Ldtk).unwrap()).unwrap();
            let layers = &project["levels"][0]["layerInstances"];
            let entities = layers[0]["entityInstances"].as_array().unwrap();
            assert_eq!(entities.len(), counts.iter().sum::<usize>());
            assert_eq!(entities.iter().map(|e| e["iid"].as_str().unwrap()).collect::<BTreeSet<_>>().len(), entities.len());
            let painted = dungeon.tiles.data.iter().filter(|tile| **tile != Tile::Void).count();
            assert_eq!(layers[1]["gridTiles"].as_array().unwrap().len(), painted);

            let png = encode(&dungeon, DungeonFormat::Png).unwrap();
            let reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().unwrap();
            assert_eq!(reader.info().width % dungeon.tiles.width, 0);
            assert!(encode(&dungeon, DungeonFormat::Svg).unwrap().starts_with(b"<svg xmlns"));
        }
    }
}
