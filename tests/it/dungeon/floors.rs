//! Floors of Isaac and Rebirth: the published rules on many seeds.

use super::{check_common, isaac, labyrinth, make, many, rebirth, steps};
use std::collections::BTreeSet;
use thalweg::dungeon::rooms::{Rooms, STANDARD};
use thalweg::dungeon::{DoorState, Dungeon, Edge, Generator, Rect, Role, Room, Shape, Side, Thing};

/// The pairs of neighbouring grid cells that belong to different rooms, as (room, other room, cell, side).
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

/// The number of doors to rooms that are not hidden.
fn open_doors(dungeon: &Dungeon, id: u32) -> usize {
    dungeon.doors.iter().filter(|d| d.state != DoorState::Breakable && (d.from == id || d.to == Some(id))).count()
}

/// Checks what holds for every floor of Isaac and Rebirth.
///
/// F1: the grid has 9 × 8 cells numbered 10 · row + column, and the start is cell 35.
/// F7: the boss is not next to the start.
/// F9: there is always a secret room; it touches no boss room and no hidden room.
/// F10: there are always a shop, a treasure and a boss.
/// F11: there is a door in the middle of every shared side that both shapes can open; it is a breakable wall if it is hidden.
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
    // Doors are exactly in the middle of the shared sides that both shapes can open.
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
    // No boss room is next to the start.
    let bosses: Vec<_> = dungeon.rooms.iter().filter(|room| room.role == Role::Boss).collect();
    let first = bosses.iter().min_by_key(|room| room.distance).unwrap();
    assert!(first.distance >= Some(2), "{what}");
    assert!(many(Role::Treasure, dungeon) >= 1 && many(Role::Shop, dungeon) >= 1 && many(Role::Secret, dungeon) >= 1, "{what}");
    for room in dungeon.rooms.iter().filter(|room| room.distance.is_none()) {
        assert!(room.role.hidden(), "{what}: only hidden rooms have no distance");
    }
    // A secret room touches some room, but no boss room and no hidden room.
    for secret in dungeon.rooms.iter().filter(|room| room.role == Role::Secret) {
        let touched: Vec<_> = touching(dungeon)
            .into_iter()
            .filter_map(|(a, b, ..)| match secret.id as i32 {
                id if id == a => Some(b),
                id if id == b => Some(a),
                _ => None,
            })
            .map(|id| dungeon.rooms[id as usize].role)
            .collect();
        assert!(!touched.contains(&Role::Boss) && !touched.iter().any(|role| role.hidden()), "{what}: {touched:?}");
        assert!(dungeon.doors.iter().any(|d| d.from == secret.id || d.to == Some(secret.id)), "{what}");
    }
}

/// F1: all cells from 01 to 79 are used, and none in column 0.
/// F2: a floor has random(2) + 5 + 2.6 · level rooms, rounded down.
/// F3, F4: a new cell has one filled neighbour; the special rooms are dead ends.
/// F5: the start is queued again if more than 16 rooms are wanted, and only then.
/// F6: rooms grow breadth first, and only secret rooms close loops.
/// F8: the boss room is a dead end at the largest distance.
/// F9: a secret room found in the first 300 tries touches three rooms, in the next 300 two, in the last 300 one, and no dead end.
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
            // Without the secret room, the plan is a tree.
            let open =
                dungeon.edges.iter().filter(|e| [e.a, e.b].iter().all(|&id| dungeon.rooms[id as usize].role != Role::Secret));
            assert_eq!(open.clone().count(), plan - 1, "{what}");
            assert!(open.clone().all(|e| e.doors.len() == 1 && !e.extra), "{what}");
            assert_eq!(check_growth(&dungeon), 0, "{what}: every new room has one filled neighbour");
            // Breadth first: rooms are numbered in the order of the rooms from which they grew. Only the start may return.
            let grown: Vec<u32> =
                (1..plan as u32).map(|id| open.clone().find(|e| e.b == id).unwrap_or_else(|| panic!("{what}: {id}")).a).collect();
            let mut last = 0;
            for &from in &grown {
                late[usize::from(plan > 16)] += usize::from(from == 0 && last > 0);
                assert!(from >= last || from == 0, "{what}: {grown:?}");
                last = last.max(from);
            }
            // All special rooms are dead ends, and none is farther than the boss.
            let degree = |id: u32| open.clone().filter(|e| e.a == id || e.b == id).count();
            let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss).unwrap();
            for room in dungeon.rooms.iter().filter(|room| room.role != Role::Secret) {
                if !matches!(room.role, Role::Start | Role::Normal) {
                    assert_eq!(degree(room.id), 1, "{what}: {room:?}");
                }
                assert!(degree(room.id) > 1 || room.distance <= boss.distance, "{what}: {room:?} is farther than the boss");
                assert_eq!(room.cells.len(), 1);
            }
            // The secret room touches as many rooms as its number of tries demands, and no dead end.
            let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
            let touched: Vec<u32> = dungeon
                .edges
                .iter()
                .filter_map(|e| (e.a == secret.id).then_some(e.b).or((e.b == secret.id).then_some(e.a)))
                .collect();
            let searched = dungeon.tally.hiding;
            if searched < 900 {
                let least = [3, 2, 1][(searched as usize - 1) / 300];
                assert!(touched.len() >= least, "{what}: {touched:?} after {searched} tries");
                assert!(touched.iter().all(|&id| degree(id) > 1 || id == 0), "{what}: next to a dead end");
            }
        }
        // 5 + random(2) + 2.6 a level, rounded down: 7 or 8, 10 or 11, ...
        let least = (5.0 + 2.6 * f64::from(level)) as usize;
        assert_eq!(counts, BTreeSet::from([least, least + 1]), "level {level}");
    }
    assert_eq!(used, (1..80).filter(|cell| cell % 10 != 0).collect(), "the whole grid is used");
    assert!(late[0] == 0 && late[1] > 100, "the start returns if more than 16 rooms are wanted: {late:?}");
}

/// F9: the search for the secret room relaxes after 300 tries and again after 600, and the room is placed even if it fails.
#[test]
fn dungeon_secret_rooms_relax_in_order() {
    // Small floors rarely have a cell that touches three rooms.
    let (mut seen, mut first) = ([0; 4], [u32::MAX; 3]);
    for seed in 0..1000 {
        let settings = isaac::Settings { room_count: Some(6 + seed as u32 % 8), ..Default::default() };
        let dungeon = make(&Generator::Isaac(settings), seed);
        check_floor(&dungeon);
        let plan = |id: u32| dungeon.rooms[id as usize].role != Role::Secret;
        let degree = |id: u32| dungeon.edges.iter().filter(|e| (e.a == id && plan(e.b)) || (e.b == id && plan(e.a))).count();
        let dead = |id: u32| id > 0 && degree(id) == 1;
        // The most rooms that any free cell touches, apart from cells next to a dead end.
        let mut most = 0;
        for at in (Rect { x: 0, y: 0, width: 9, height: 8 }).cells() {
            let room = |at| u32::try_from(dungeon.grid.at(at)).ok().filter(|&id| plan(id));
            let around: Vec<u32> = steps(at).into_iter().filter_map(room).collect();
            if room(at).is_none() && !around.iter().any(|&id| dead(id)) {
                most = most.max(around.len());
            }
        }
        let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
        let touched = dungeon.edges.iter().filter(|e| e.a == secret.id || e.b == secret.id).count();
        let stage = (dungeon.tally.hiding as usize - 1) / 300;
        let what = format!("seed {seed}: touches {touched} after {} tries, at most {most}", dungeon.tally.hiding);
        match dungeon.tally.hiding {
            900 => assert!(touched >= 1, "{what}"),
            _ => assert!(touched >= 3 - stage && touched <= most, "{what}"),
        }
        // A demand that no cell can meet is kept to the end of its 300 tries.
        assert!(stage + most.min(3) >= 3 || dungeon.tally.hiding == 900, "{what}");
        seen[if dungeon.tally.hiding == 900 { 3 } else { stage }] += 1;
        first[stage] = first[stage].min(dungeon.tally.hiding);
    }
    // If no cell meets the first demand, the search succeeds soon after it relaxes.
    assert!(first[1] < 310 && first[2] < 610, "{first:?}");
    assert!(seen[..3].iter().all(|n| *n > 20), "all stages occur: {seen:?}");
}

/// F18: the floor plan does not depend on the contents of the rooms.
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

/// F14: a Labyrinth floor has 80 % more rooms, at most 45, and up to four more; two adjacent boss rooms; two treasures, shops and
/// secret rooms; special rooms only in the six farthest dead ends; furniture of all difficulties.
///
/// The boss, two treasures and two shops take five of these dead ends. A sixth has a sacrifice room or a super-secret room, so
/// libraries and challenge rooms never occur.
#[test]
fn dungeons_of_double_size_keep_their_rules() {
    for level in 1..=8 {
        for seed in 0..40 {
            let dungeon = make(&labyrinth(level), seed);
            check_floor(&dungeon);
            let what = format!("level {level}, seed {seed}");
            assert_eq!([Role::Boss, Role::Treasure, Role::Shop, Role::Secret].map(|role| many(role, &dungeon)), [2; 4], "{what}");
            let bosses: Vec<u32> = dungeon.rooms.iter().filter(|r| r.role == Role::Boss).map(|r| r.id).collect();
            assert!(dungeon.edges.iter().any(|e| [e.a, e.b] == bosses[..]), "{what}: the boss rooms are adjacent");
            assert_eq!(bosses.iter().map(|&id| open_doors(&dungeon, id)).sum::<usize>(), 3, "{what}");
            // In the plan that was grown, before the second boss room was added, special rooms are in the farthest dead ends.
            let grown = |e: &&Edge| e.b < bosses[1];
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
                assert!(room.role != Role::Boss || farther == 0, "{what}: the first boss room is the farthest");
            }
            assert!(dungeon.labyrinth, "{what}");
            assert_eq!(many(Role::Library, &dungeon) + many(Role::Challenge, &dungeon), 0, "{what}");
            assert!(many(Role::Sacrifice, &dungeon) + many(Role::SuperSecret, &dungeon) <= 1, "{what}");
            // The second boss room and the two secret rooms do not count.
            let least = ((5 + level * 13 / 5) * 9 / 5).min(45);
            let rooms = dungeon.rooms.len() as u32 - 3;
            assert!((least..=45.min(least + 6)).contains(&rooms), "{what}: {rooms}, {least}");
        }
    }
    // All three difficulties are used.
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

/// Checks that each room had, when it grew, a cell that touched a single room and has a door to it. Returns how many rooms have a
/// cell that touched more than one room.
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

/// Checks that the boss room is at one of the farthest single dead ends, and that it is large if that was wanted and one of them
/// has space for a large room.
fn check_large_boss(dungeon: &Dungeon, boss: &Room) {
    let what = format!("seed {}", dungeon.seed);
    let plan = |id: u32| dungeon.rooms[id as usize].role != Role::Secret;
    let degree = |id: u32| dungeon.edges.iter().filter(|e| (e.a == id && plan(e.b)) || (e.b == id && plan(e.a))).count();
    let ends: Vec<_> =
        dungeon.rooms.iter().filter(|r| r.id > 0 && plan(r.id) && r.cells.len() == 1 && degree(r.id) == 1).collect();
    let far = |id: u32| -> u32 {
        // Super-secret rooms count too, and have no distance in the dungeon.
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
    let single = |r: &&&Room| r.shape == Some(Shape::Single);
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

/// F15: a room of 2 × 2 cells has eight exits, and a narrow room has two. F20: the shapes have the names of the public program.
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

/// F16: a large boss room replaces the single one if any dead end at the largest distance has space for it.
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
        // With many large rooms, all single dead ends may be next to the start. The plan is then made again.
        let near = rebirth::Settings { room_count: Some(7), large: 80, large_boss: 0, ..Default::default() };
        check_floor(&make(&Generator::Rebirth(near), seed));
        let none = rebirth::Settings { large_boss: 0, ..Default::default() };
        assert!(make(&Generator::Rebirth(none), seed).rooms.iter().all(|r| r.role != Role::Boss || r.cells.len() == 1));
    }
    assert!(large > 300 && given_up > 10, "{large} large bosses, {given_up} given up");
}

/// F2: a large room counts once.
/// F15: all shapes occur; the neighbour rule holds only for the first cell beyond the door; loops occur; two adjacent large rooms
/// have a door on each shared side.
/// F16: a large boss room touches one room.
/// F17: the secret room counts only rooms whose shape can have a door on that side.
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
            let touched = |(a, b, ..): &(i32, i32, [i32; 2], Side)| [*a, *b].contains(&(boss.id as i32));
            let neighbours: BTreeSet<i32> = touching(&dungeon).iter().filter(|t| touched(t)).map(|(a, b, ..)| a + b).collect();
            // A small boss room may touch the wall of a narrow room.
            assert!(boss.cells.len() == 1 || neighbours.len() == 1, "{what}: a large boss room touches one room");
            assert_eq!(dungeon.edges.iter().filter(|e| [e.a, e.b].contains(&boss.id)).count(), 1, "{what}: a dead end");
            crowded += check_growth(&dungeon);
            check_large_boss(&dungeon, boss);
            let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
            let touched = dungeon.edges.iter().filter(|e| e.a == secret.id || e.b == secret.id).count();
            assert!(dungeon.tally.hiding == 900 || touched >= 3 - (dungeon.tally.hiding as usize - 1) / 300, "{what}");
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
    assert!(crowded > 100, "the neighbour rule is for the first cell alone: {crowded}");
    assert!(
        loops > 100 && double > 100 && large_bosses > 200,
        "{loops} loops, {double} double doors, {large_bosses} large bosses"
    );
}

/// F2: one more room in half of the floors.
/// F3: a coin decides whether a room grows.
/// F10: a sacrifice room on 1 of 7 floors, on 1 of 3 at full health.
/// F12: alternative chapters in half of the games; one enemy of ten is a champion, one fire of eight is red.
/// F14: the Curse of the Labyrinth comes as often as asked for.
/// F15: a shape leaves the pool in 95 of 100 cases after it was placed.
#[test]
fn dungeon_chances_are_the_published_ones() {
    // Fails if k of n is more than five standard deviations away from the probability p.
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
        // On all levels, including the first with its few dead ends.
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
