//! Floors of Isaac and Rebirth: the published rules on many seeds.

use super::{check_common, isaac, labyrinth, make, many, rebirth, steps};
use std::collections::BTreeSet;
use thalweg::dungeon::random::{Purpose, Random};
use thalweg::dungeon::rooms::{Rooms, STANDARD};
use thalweg::dungeon::{
    DoorState, Dungeon, Edge, Generator, GeneratorKind, Rect, Role, Room, Shape, Side, Thing,
};

/// The pairs of neighbouring grid cells that belong to different rooms, as (room, other room, cell,
/// side).
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

/// Checks what holds for every floor of Isaac and Rebirth.
///
/// Holds F1: the grid has 9 × 8 cells numbered 10 · row + column, and the start is cell 35.
/// Holds F7: the boss is not next to the start.
/// Holds F9: there is always a secret room; it touches no boss room and no hidden room.
/// Holds F10: there are always a shop, a treasure and a boss.
/// Holds F11: there is a door in the middle of every shared side that both shapes can open; it is a
/// breakable wall if it is hidden. Holds F8, F16, D-4: see `check_boss`. F9, F17, D-2: see
/// `check_secrets`.
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
        assert!(
            room.role == Role::Boss || room.role == Role::Normal || room.cells.len() == 1,
            "{what}: {room:?}"
        );
    }
    let filled = dungeon.grid.rows.iter().flatten().filter(|id| **id >= 0).count();
    assert_eq!(
        filled,
        dungeon.rooms.iter().map(|room| room.cells.len()).sum::<usize>(),
        "{what}: no overlaps"
    );
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
        let hidden = [Some(door.from), door.to]
            .into_iter()
            .flatten()
            .any(|id| dungeon.rooms[id as usize].role.hidden());
        assert_eq!(door.state == DoorState::Breakable, hidden, "{what}");
    }
    // No boss room is next to the start.
    let bosses: Vec<_> = dungeon.rooms.iter().filter(|room| room.role == Role::Boss).collect();
    let first = bosses.iter().min_by_key(|room| room.distance).unwrap();
    assert!(first.distance >= Some(2), "{what}");
    assert!(
        many(Role::Treasure, dungeon) >= 1
            && many(Role::Shop, dungeon) >= 1
            && many(Role::Secret, dungeon) >= 1,
        "{what}"
    );
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
        assert!(
            !touched.contains(&Role::Boss) && !touched.iter().any(|role| role.hidden()),
            "{what}: {touched:?}"
        );
        assert!(
            dungeon.doors.iter().any(|d| d.from == secret.id || d.to == Some(secret.id)),
            "{what}"
        );
    }
    check_secrets(dungeon);
    check_boss(dungeon);
}

/// Checks by brute force that each secret room touches three rooms, or as many as any cell would
/// have let it when it was placed. Rooms count if their shape has an exit there. No dead end may
/// have one, and no boss room and no secret room may be next to the cell; only if no cell is left
/// do dead ends without a boss or a hidden room count too.
/// Holds F9, F17, D-2.
fn check_secrets(dungeon: &Dungeon) {
    let what = format!("{} {}", dungeon.kind.name(), dungeon.seed);
    let role = |id: u32| dungeon.rooms[id as usize].role;
    let plan = |id: u32| role(id) != Role::Secret;
    let joined = |id: u32| -> BTreeSet<u32> {
        let edges =
            dungeon.edges.iter().filter(|e| plan(e.a) && plan(e.b) && (e.a == id || e.b == id));
        edges.map(|e| e.a + e.b - id).collect()
    };
    let dead: BTreeSet<u32> =
        (1..dungeon.rooms.len() as u32).filter(|&id| plan(id) && joined(id).len() == 1).collect();
    for secret in dungeon.rooms.iter().filter(|room| room.role == Role::Secret) {
        let (mut strict, mut loose) = (0, 0);
        for at in (Rect { x: 0, y: 0, width: 9, height: 8 }).cells() {
            let before = |at| u32::try_from(dungeon.grid.at(at)).ok().filter(|&id| id < secret.id);
            if before(at).is_some() {
                continue;
            }
            let next =
                Side::ALL.map(|side| (side, [at[0] + side.step()[0], at[1] + side.step()[1]]));
            let around: Vec<(u32, bool)> = next
                .into_iter()
                .filter_map(|(side, at)| {
                    let room = &dungeon.rooms[before(at)? as usize];
                    let offset = 10 * (at[1] - room.rect.y) + at[0] - room.rect.x;
                    Some((room.id, room.shape.unwrap().exit(offset, side.opposite())))
                })
                .collect();
            let open: BTreeSet<u32> =
                around.iter().filter(|(_, exit)| *exit).map(|(id, _)| *id).collect();
            let near = |other: Role| around.iter().any(|(id, _)| role(*id) == other);
            if near(Role::Boss) || near(Role::Secret) {
                continue;
            }
            if open.is_disjoint(&dead) {
                strict = strict.max(open.len());
            }
            if !near(Role::SuperSecret) {
                loose = loose.max(open.len());
            }
        }
        let touched: BTreeSet<u32> = dungeon
            .edges
            .iter()
            .filter_map(|e| (e.a == secret.id).then_some(e.b).or((e.b == secret.id).then_some(e.a)))
            .collect();
        match strict {
            0 => assert_eq!(touched.len(), loose, "{what}: {secret:?}"),
            most => assert!(
                touched.len() >= most.min(3) && touched.is_disjoint(&dead),
                "{what}: {secret:?}, {most}"
            ),
        }
    }
}

/// How many blocks of 2 × 2 cells belong to four different rooms that are not secret.
fn solid_blocks(dungeon: &Dungeon) -> usize {
    let room = |x, y| {
        u32::try_from(dungeon.grid.at([x, y]))
            .ok()
            .filter(|&id| dungeon.rooms[id as usize].role != Role::Secret)
    };
    let block = |[x, y]: [i32; 2]| {
        let rooms: BTreeSet<_> = [room(x, y), room(x + 1, y), room(x, y + 1), room(x + 1, y + 1)]
            .into_iter()
            .flatten()
            .collect();
        rooms.len() == 4
    };
    (Rect { x: 0, y: 0, width: 8, height: 7 }).cells().filter(|at| block(*at)).count()
}

/// The number of edges from the start to each room, without secret rooms and without rooms from the
/// id `end` on.
fn distances(dungeon: &Dungeon, end: u32) -> Vec<u32> {
    let plan = |id: u32| id < end && dungeon.rooms[id as usize].role != Role::Secret;
    let mut far = vec![u32::MAX; dungeon.rooms.len()];
    far[0] = 0;
    for _ in &dungeon.rooms {
        for e in dungeon.edges.iter().filter(|e| plan(e.a) && plan(e.b)) {
            let (a, b) = (e.a as usize, e.b as usize);
            far[a] = far[a].min(far[b].saturating_add(1));
            far[b] = far[b].min(far[a].saturating_add(1));
        }
    }
    far
}

/// Checks that no room is farther than the boss, that the boss room touches no second room, not
/// even through a wall, and that it is large if that was wanted and a dead end as far away is large
/// or has space for a large room.
/// Holds F8, F16, D-4.
fn check_boss(dungeon: &Dungeon) {
    let what = format!("{} {}", dungeon.kind.name(), dungeon.seed);
    let bosses: Vec<&Room> = dungeon.rooms.iter().filter(|room| room.role == Role::Boss).collect();
    let (boss, second) = (bosses[0], bosses.get(1).map_or(u32::MAX, |room| room.id));
    let plan = |id: u32| id != second && dungeon.rooms[id as usize].role != Role::Secret;
    let far = distances(dungeon, second.min(dungeon.rooms.len() as u32));
    let farthest = *far.iter().filter(|far| **far < u32::MAX).max().unwrap();
    assert_eq!(far[boss.id as usize], farthest, "{what}: no room is farther than the boss");
    let touched = |id: u32| -> BTreeSet<u32> {
        let pairs = touching(dungeon).into_iter().map(|(a, b, ..)| [a as u32, b as u32]);
        pairs.filter(|pair| pair.contains(&id)).map(|[a, b]| a + b - id).collect()
    };
    let others = touched(boss.id).into_iter().filter(|&id| id != second).count();
    assert_eq!(others, 1, "{what}: the boss room touches one room");
    assert!(
        bosses.len() == 1 || touched(second) == BTreeSet::from([boss.id]),
        "{what}: the second boss room touches the first"
    );

    let wanted = match &dungeon.settings {
        Generator::Rebirth(settings) => settings.large_boss,
        _ => 0,
    };
    assert!(wanted > 0 || boss.cells.len() == 1, "{what}: a single boss room");
    if wanted < 100 || boss.cells.len() > 1 {
        return;
    }
    let room = |cell: i32| {
        let at = [cell % 10 - 1, cell / 10];
        let inside = (1..80).contains(&cell) && cell % 10 != 0;
        inside.then(|| u32::try_from(dungeon.grid.at(at)).ok().filter(|&id| plan(id)))
    };
    for end in
        dungeon.rooms.iter().filter(|room| plan(room.id) && far[room.id as usize] == farthest)
    {
        let around = |cell: i32| {
            [cell - 10, cell + 10, cell - 1, cell + 1].into_iter().filter_map(room).flatten()
        };
        let neighbours: BTreeSet<u32> = end
            .cells
            .iter()
            .flat_map(|&cell| around(cell.into()))
            .filter(|id| *id != end.id)
            .collect();
        if neighbours.len() > 1 || end.shape.unwrap().narrow() {
            continue;
        }
        assert_eq!(end.cells.len(), 1, "{what}: {end:?} is large and could be the boss room");
        for shape in [Shape::Big, Shape::Tall, Shape::Wide] {
            for offset in shape.offsets() {
                let cells: Vec<i32> =
                    shape.offsets().iter().map(|o| i32::from(end.cells[0]) - offset + o).collect();
                let free = cells
                    .iter()
                    .all(|&c| room(c).is_some_and(|id| id.is_none_or(|id| id == end.id)));
                let alone = cells
                    .iter()
                    .flat_map(|&c| around(c))
                    .all(|id| id == end.id || neighbours.contains(&id));
                assert!(
                    !(free && alone),
                    "{what}: {shape:?} fits over {end:?}, but the boss has one cell"
                );
            }
        }
    }
}

/// Holds F1: all cells from 01 to 79 are used, and none in column 0.
/// Holds F2: a floor has random(2) + 5 + 2.6 · level rooms, rounded down.
/// Holds F3, F4: a new cell has one filled neighbour; the special rooms are dead ends.
/// Holds F5: the start is queued again if more than 16 rooms are wanted, and only then.
/// Holds F6: rooms grow breadth first, and only secret rooms close loops.
/// Holds F8: the boss room is a dead end at the largest distance.
/// Holds F9: a secret room found in the first 300 tries touches three rooms, in the next 300 two,
/// in the last 300 one, and no dead end.
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
            let open = dungeon.edges.iter().filter(|e| {
                [e.a, e.b].iter().all(|&id| dungeon.rooms[id as usize].role != Role::Secret)
            });
            assert_eq!(open.clone().count(), plan - 1, "{what}");
            assert!(open.clone().all(|e| e.doors.len() == 1 && !e.extra), "{what}");
            assert_eq!(
                check_growth(&dungeon),
                0,
                "{what}: every new room has one filled neighbour"
            );
            // Breadth first: rooms are numbered in the order of the rooms from which they grew.
            // Only the start may return.
            let grown: Vec<u32> = (1..plan as u32)
                .map(|id| {
                    open.clone().find(|e| e.b == id).unwrap_or_else(|| panic!("{what}: {id}")).a
                })
                .collect();
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
                assert!(
                    degree(room.id) > 1 || room.distance <= boss.distance,
                    "{what}: {room:?} is farther than the boss"
                );
                assert_eq!(room.cells.len(), 1);
            }
            // The secret room touches as many rooms as its number of tries demands, and no dead
            // end.
            let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
            let touched: Vec<u32> = dungeon
                .edges
                .iter()
                .filter_map(|e| {
                    (e.a == secret.id).then_some(e.b).or((e.b == secret.id).then_some(e.a))
                })
                .collect();
            let searched = dungeon.tally.hiding;
            if searched < 900 {
                let least = [3, 2, 1][(searched as usize - 1) / 300];
                assert!(touched.len() >= least, "{what}: {touched:?} after {searched} tries");
                assert!(
                    touched.iter().all(|&id| degree(id) > 1 || id == 0),
                    "{what}: next to a dead end"
                );
            }
        }
        // 5 + random(2) + 2.6 a level, rounded down: 7 or 8, 10 or 11, ...
        let least = (5.0 + 2.6 * f64::from(level)) as usize;
        assert_eq!(counts, BTreeSet::from([least, least + 1]), "level {level}");
    }
    assert_eq!(used, (1..80).filter(|cell| cell % 10 != 0).collect(), "the whole grid is used");
    assert!(
        late[0] == 0 && late[1] > 100,
        "the start returns if more than 16 rooms are wanted: {late:?}"
    );
}

/// Holds F9: the search for the secret room relaxes after 300 tries and again after 600, and the
/// room is placed even if it fails.
#[test]
fn dungeon_secret_rooms_relax_in_order() {
    // Small floors rarely have a cell that touches three rooms.
    let (mut seen, mut first) = ([0; 4], [u32::MAX; 3]);
    for seed in 0..1000 {
        let settings =
            isaac::Settings { room_count: Some(6 + seed as u32 % 8), ..Default::default() };
        let dungeon = make(&Generator::Isaac(settings), seed);
        check_floor(&dungeon);
        let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
        let touched = dungeon.edges.iter().filter(|e| e.a == secret.id || e.b == secret.id).count();
        let stage = (dungeon.tally.hiding as usize - 1) / 300;
        let what = format!("seed {seed}: touches {touched} after {} tries", dungeon.tally.hiding);
        // The first demand that some cell meets is met, so the room touches as many rooms as the
        // demand says.
        match dungeon.tally.hiding {
            900 => assert!(touched >= 1, "{what}"),
            _ => assert!(touched == 3 - stage || stage == 0 && touched == 4, "{what}"),
        }
        seen[if dungeon.tally.hiding == 900 { 3 } else { stage }] += 1;
        first[stage] = first[stage].min(dungeon.tally.hiding);
    }
    // If no cell meets a demand, the search succeeds soon after it relaxes.
    assert!(
        first[0] < 10 && (301..310).contains(&first[1]) && (601..610).contains(&first[2]),
        "{first:?}"
    );
    assert!(seen[..3].iter().all(|n| *n > 20), "all stages occur: {seen:?}");
}

/// Holds F18: the floor plan does not depend on the contents of the rooms.
#[test]
fn dungeon_plans_do_not_depend_on_what_is_in_the_rooms() {
    let other = Rooms::from_toml(
        &STANDARD.replace("weight = 2", "weight = 9").replace("\"two crawlers\"", "\"others\""),
    )
    .unwrap();
    let mut differ = 0;
    for seed in 0..200 {
        for generator in [isaac(1 + seed as u32 % 8), rebirth(1 + seed as u32 % 8)] {
            let (a, b) = (make(&generator, seed), generator.make(seed, &other).unwrap());
            let plan = |d: &Dungeon| {
                d.rooms.iter().map(|r| (r.role, r.cells.clone(), r.distance)).collect::<Vec<_>>()
            };
            assert_eq!((plan(&a), &a.edges, &a.grid), (plan(&b), &b.edges, &b.grid), "seed {seed}");
            differ += usize::from(a.spawns != b.spawns);
        }
    }
    assert!(differ > 300, "{differ} of 400");
}

/// Holds F14, D-2: under the Curse of the Labyrinth a floor of either kind has exactly 80 % more
/// rooms, at most 45, besides the second boss room and two secret rooms. Every special role has two
/// rooms or none, and each role occurs; the boss rooms are adjacent and the farthest; the other
/// special rooms are in the six farthest single dead ends that the boss leaves; furniture of all
/// difficulties is used. Some rooms are placed like secret rooms and close loops, but nothing is
/// solid.
#[test]
fn dungeons_of_double_size_keep_their_rules() {
    let isaac = |level| {
        Generator::Isaac(isaac::Settings { level, labyrinth: 100, locks: 4, ..Default::default() })
    };
    let rebirth = |level| {
        Generator::Rebirth(rebirth::Settings {
            level,
            labyrinth: 100,
            locks: 4,
            ..Default::default()
        })
    };
    for double in [&isaac as &dyn Fn(u32) -> Generator, &rebirth] {
        let (mut loops, mut roles) = (0, BTreeSet::new());
        for level in 1..=12 {
            for seed in 0..12 {
                let dungeon = make(&double(level), seed);
                check_floor(&dungeon);
                assert!(dungeon.labyrinth);
                let what = format!("{} {seed}, level {level}", dungeon.kind.name());
                for role in [Role::Boss, Role::Treasure, Role::Shop, Role::Secret] {
                    assert_eq!(many(role, &dungeon), 2, "{what}: {role:?}");
                }
                for role in [Role::Sacrifice, Role::Library, Role::Challenge, Role::SuperSecret] {
                    assert!([0, 2].contains(&many(role, &dungeon)), "{what}: {role:?}");
                    roles.extend((many(role, &dungeon) > 0).then_some(role));
                }
                let plain = 5 + level * 13 / 5;
                let rooms = dungeon.rooms.len() as u32 - 3;
                assert!(
                    [plain, plain + 1].map(|plain| (plain * 9 / 5).min(45)).contains(&rooms),
                    "{what}: {rooms}"
                );

                let bosses: Vec<u32> =
                    dungeon.rooms.iter().filter(|r| r.role == Role::Boss).map(|r| r.id).collect();
                assert!(
                    dungeon.edges.iter().any(|e| [e.a, e.b] == bosses[..]),
                    "{what}: the boss rooms are adjacent"
                );
                // The special rooms are dead ends of the plan to which the second boss room and the
                // secret rooms were added.
                let plan: Vec<&Edge> = dungeon.edges.iter().filter(|e| e.b < bosses[1]).collect();
                let degree = |id: u32| plan.iter().filter(|e| e.a == id || e.b == id).count();
                let far = distances(&dungeon, bosses[1]);
                let ends: Vec<&Room> = dungeon.rooms[1..bosses[1] as usize]
                    .iter()
                    .filter(|r| {
                        degree(r.id) == 1 && r.shape == Some(Shape::Single) && r.id != bosses[0]
                    })
                    .collect();
                for room in dungeon
                    .rooms
                    .iter()
                    .filter(|r| r.id < bosses[1] && !matches!(r.role, Role::Start | Role::Normal))
                {
                    assert_eq!(degree(room.id), 1, "{what}: {room:?}");
                    let farther = ends
                        .iter()
                        .filter(|end| far[end.id as usize] > far[room.id as usize])
                        .count();
                    assert!(farther < 6, "{what}: {farther} dead ends are farther than {room:?}");
                }
                loops += plan.iter().filter(|e| e.extra).count();
                assert!(
                    dungeon.kind == GeneratorKind::Rebirth || solid_blocks(&dungeon) == 0,
                    "{what}: a solid block"
                );
            }
        }
        assert!(loops > 40, "{loops} loops");
        assert_eq!(roles.len(), 4, "every special role occurs: {roles:?}");
    }
    // Large rooms may be part of blocks, and they are no commoner than on ordinary floors with as
    // many rooms: 27 or 28.
    let blocks = |labyrinth, room_count| -> usize {
        let settings = |seed| rebirth::Settings {
            level: 4,
            labyrinth,
            room_count: Some(room_count + seed as u32 % 2),
            locks: 0,
            ..Default::default()
        };
        (0..400).map(|seed| solid_blocks(&make(&Generator::Rebirth(settings(seed)), seed))).sum()
    };
    let (double, plain) = (blocks(100, 27), blocks(0, 27));
    assert!(double <= plain, "{double} blocks on labyrinths, {plain} on ordinary floors");
    // All three difficulties are used.
    let used: BTreeSet<String> = (0..40)
        .flat_map(|seed| make(&labyrinth(1), seed).rooms)
        .flat_map(|r| r.furniture)
        .collect();
    let rooms = Rooms::standard();
    let levels: BTreeSet<String> = rooms
        .furniture()
        .iter()
        .filter(|f| used.contains(&f.name))
        .filter_map(|f| f.difficulty.map(|d| format!("{d:?}")))
        .collect();
    assert_eq!(levels.len(), 3);
}

/// D-1: kind and level are mixed into the seed, so two floors of a run overlap no more than floors
/// of different runs do, and are nested no more often.
#[test]
fn dungeons_of_one_run_are_no_more_alike_than_those_of_others() {
    const RUNS: u64 = 200;
    let cells = |generator: &Generator, seed: u64| -> BTreeSet<u8> {
        let rooms = make(generator, seed).rooms;
        rooms
            .into_iter()
            .filter(|room| room.role != Role::Secret)
            .flat_map(|room| room.cells)
            .collect()
    };
    for kind in [isaac as fn(u32) -> Generator, rebirth] {
        let generators: Vec<Generator> = (1..=8).map(kind).collect();
        let floors: Vec<Vec<BTreeSet<u8>>> = generators
            .iter()
            .map(|generator| (0..RUNS).map(|seed| cells(generator, seed)).collect())
            .collect();
        let overlap = |a: &BTreeSet<u8>, b: &BTreeSet<u8>| {
            a.intersection(b).count() as f64 / a.union(b).count() as f64
        };
        let (mut excess, mut nested) = (vec![], [0i64; 2]);
        for i in 0..floors.len() {
            for j in i + 1..floors.len() {
                for run in 0..RUNS as usize {
                    let (a, b, other) =
                        (&floors[i][run], &floors[j][run], &floors[j][(run + 1) % RUNS as usize]);
                    excess.push(overlap(a, b) - overlap(a, other));
                    nested[0] += i64::from(a.is_subset(b));
                    nested[1] += i64::from(a.is_subset(other));
                }
            }
        }
        let n = excess.len() as f64;
        let mean = excess.iter().sum::<f64>() / n;
        let error = (excess.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / n / n).sqrt();
        assert!(
            mean < 4.0 * error,
            "{:?}: overlap within runs is {mean} above that between runs, ± {error}",
            generators[0]
        );
        let bound = 4.0 * ((nested[0] + nested[1]) as f64).sqrt() + 4.0;
        assert!(((nested[0] - nested[1]) as f64) < bound, "{:?}: nested {nested:?}", generators[0]);
    }
    // Nor do two levels of a run, or the two kinds, have the same special rooms: on 1 of 49 both
    // have a sacrifice room.
    for pair in [[isaac(3), isaac(5)], [isaac(5), rebirth(5)]] {
        let both = (0..2000)
            .filter(|&seed| pair.iter().all(|floor| many(Role::Sacrifice, &make(floor, seed)) > 0))
            .count();
        assert!((10..80).contains(&both), "{both} of 2000");
    }
}

/// Holds F13, D-1: whether the alternative replaces a chapter is drawn once for both of its levels,
/// and anew for each chapter.
#[test]
fn dungeon_chapters_have_two_levels_that_agree() {
    for kind in [isaac as fn(u32) -> Generator, rebirth] {
        let mut patterns = BTreeSet::new();
        for seed in 0..200 {
            let chapter = |level: u32| make(&kind(level), seed).chapter.unwrap();
            let pattern: Vec<bool> = (1..=4)
                .map(|number: u32| {
                    let name = chapter(2 * number);
                    assert_eq!(chapter(2 * number - 1), name, "seed {seed}: chapter {number}");
                    name != Rooms::standard().chapters()[number as usize - 1].name
                })
                .collect();
            patterns.insert(pattern);
        }
        assert_eq!(patterns.len(), 16, "chapters are replaced independently");
    }
}

/// D-2, D-4, F7 to F11: floors from any settings that users can give keep the rules, or end in an
/// error that names a way out.
#[test]
fn dungeons_from_any_settings_keep_the_rules() {
    let mut refused = 0;
    for case in 0..300 {
        let random = &mut Random::new(case, Purpose::Layout);
        let (level, full_health, locks) =
            (1 + random.below(12), random.chance(1, 2), random.below(9));
        let labyrinth = [0, 100, random.below(101)][random.below(3) as usize];
        let percent = |random: &mut Random| [0, 100, random.below(101)][random.below(3) as usize];
        let [least, most] =
            [if labyrinth > 0 { 12 } else { 6 }, if labyrinth == 100 { 45 } else { 38 }];
        let room_count = random.chance(1, 2).then(|| least + random.below(most - least + 1));
        let generator = match random.chance(1, 3) {
            true => Generator::Isaac(isaac::Settings {
                level,
                room_count,
                labyrinth,
                full_health,
                locks,
            }),
            false => {
                let room_count =
                    room_count.map(|rooms| if labyrinth == 100 { rooms } else { rooms.min(32) });
                let (large, large_boss) = (percent(random), percent(random));
                Generator::Rebirth(rebirth::Settings {
                    level,
                    room_count,
                    labyrinth,
                    full_health,
                    locks,
                    large,
                    large_boss,
                })
            }
        };
        match generator.make(case, Rooms::standard()) {
            Ok(dungeon) => check_floor(&dungeon),
            Err(error) => {
                // Only floors of mostly large rooms, and the largest ordinary ones.
                let Generator::Rebirth(settings) = &generator else {
                    panic!("{generator:?}: {error}")
                };
                assert!(settings.large > 35, "{generator:?}: {error}");
                assert!(error.to_string().contains("a smaller share of large rooms"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused < 60, "{refused} of 300 are refused");
}

/// Checks that each room had, when it grew, a cell that touched a single room and has a door to it.
/// Returns how many rooms have a cell that touched more than one room.
fn check_growth(dungeon: &Dungeon) -> usize {
    let mut crowded = 0;
    for room in dungeon
        .rooms
        .iter()
        .filter(|room| !matches!(room.role, Role::Start | Role::Secret | Role::Boss))
    {
        let before = |cell: &u8| -> Vec<i32> {
            let at = [i32::from(*cell) % 10 - 1, i32::from(*cell) / 10];
            steps(at)
                .into_iter()
                .map(|at| dungeon.grid.at(at))
                .filter(|id| (0..room.id as i32).contains(id))
                .collect()
        };
        let joined = |id: i32| {
            dungeon.edges.iter().any(|e| [e.a as i32, e.b as i32] == [id, room.id as i32])
        };
        let first = |cell: &u8| matches!(before(cell)[..], [id] if joined(id));
        assert!(room.cells.iter().any(first), "seed {}: {room:?}", dungeon.seed);
        crowded += usize::from(room.cells.iter().any(|cell| before(cell).len() > 1));
    }
    crowded
}

/// Holds F15: a room of 2 × 2 cells has eight exits, and a narrow room has two.
/// Holds F20: the shapes have the names of the public program.
#[test]
fn dungeon_shapes_have_their_exits() {
    let exits: Vec<(String, usize)> = Shape::ALL
        .iter()
        .map(|s| (serde_json::to_value(s).unwrap().as_str().unwrap().into(), s.exits().count()))
        .collect();
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

/// Holds F16, D-4: a large boss room replaces the single one if any dead end at the largest
/// distance has space for it, and a large dead end may be the boss room.
#[test]
fn dungeons_of_rebirth_give_the_boss_a_large_room_where_one_fits() {
    let (mut large, mut given_up, mut l_shaped) = (0, 0, 0);
    for seed in 0..600 {
        let settings = rebirth::Settings {
            level: 1 + seed as u32 % 12,
            large_boss: 100,
            ..Default::default()
        };
        let dungeon = make(&Generator::Rebirth(settings), seed);
        check_floor(&dungeon);
        let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss).unwrap();
        large += usize::from(boss.cells.len() > 1);
        given_up += usize::from(boss.cells.len() == 1);
        // No boss room is built in this shape, so it was there before.
        l_shaped += usize::from(boss.cells.len() == 3);
        // With many large rooms, all single dead ends may be next to the start. The plan is then
        // made again.
        let near = rebirth::Settings {
            room_count: Some(8),
            large: 60,
            large_boss: 0,
            ..Default::default()
        };
        check_floor(&make(&Generator::Rebirth(near), seed));
    }
    assert!(large > 300 && given_up > 10, "{large} large bosses, {given_up} given up");
    assert!(l_shaped > 10, "{l_shaped} large dead ends became boss rooms");
}

/// Holds F2: a large room counts once.
/// Holds F15: all shapes occur; the neighbour rule holds only for the first cell beyond the door;
/// loops occur; two adjacent large rooms have a door on each shared side. Holds F17: the secret
/// room counts only rooms whose shape can have a door on that side.
#[test]
fn dungeons_of_rebirth_have_large_rooms_and_loops() {
    let (mut shapes, mut loops, mut double, mut large_bosses, mut crowded) =
        (BTreeSet::new(), 0, 0, 0, 0);
    for level in 1..=8 {
        for seed in 0..150 {
            let dungeon = make(&rebirth(level), seed);
            check_floor(&dungeon);
            let what = format!("level {level}, seed {seed}");
            shapes.extend(dungeon.rooms.iter().map(|room| format!("{:?}", room.shape)));
            let plan = dungeon.rooms.iter().filter(|room| room.role != Role::Secret).count();
            assert!(
                [5 + level * 13 / 5, 6 + level * 13 / 5].contains(&(plan as u32)),
                "{what}: {plan}"
            );
            let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss).unwrap();
            large_bosses += usize::from(boss.cells.len() > 1);
            assert_eq!(
                dungeon.edges.iter().filter(|e| [e.a, e.b].contains(&boss.id)).count(),
                1,
                "{what}: a dead end"
            );
            crowded += check_growth(&dungeon);
            let secret = dungeon.rooms.iter().find(|room| room.role == Role::Secret).unwrap();
            let touched =
                dungeon.edges.iter().filter(|e| e.a == secret.id || e.b == secret.id).count();
            assert!(
                dungeon.tally.hiding == 900
                    || touched >= 3 - (dungeon.tally.hiding as usize - 1) / 300,
                "{what}"
            );
            for edge in &dungeon.edges {
                loops += usize::from(
                    edge.extra
                        && dungeon.rooms[edge.a as usize].role != Role::Secret
                        && dungeon.rooms[edge.b as usize].role != Role::Secret,
                );
                let large =
                    [edge.a, edge.b].iter().all(|&id| dungeon.rooms[id as usize].cells.len() > 1);
                double += usize::from(large && edge.doors.len() == 2);
                assert!(
                    edge.doors.len() == 1
                        || [edge.a, edge.b]
                            .iter()
                            .any(|&id| dungeon.rooms[id as usize].cells.len() > 1),
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

/// Holds F2: one more room in half of the floors.
/// Holds F3: a coin decides whether a room grows.
/// Holds F10: a sacrifice room on 1 of 7 floors, on 1 of 3 at full health.
/// Holds F12: alternative chapters in half of the games; one enemy of ten is a champion, one fire
/// of eight is red. Holds F14: the Curse of the Labyrinth comes as often as asked for. Holds F15: a
/// shape leaves the pool in 95 of 100 cases after it was placed.
#[test]
fn dungeon_chances_are_the_published_ones() {
    // Fails if k of n is more than five standard deviations away from the probability p.
    let within = |what: &str, k: u64, n: u64, p: f64| {
        let off = (k as f64 - n as f64 * p).abs();
        let bound = 5.0 * (n as f64 * p * (1.0 - p)).sqrt();
        assert!(
            n > 500 && off <= bound,
            "{what}: {k} of {n}, expected {p}, off by {off:.0}, bound {bound:.0}"
        );
    };
    let (mut coins, mut grown, mut large, mut removed) = (0, 0, 0, 0);
    let (mut sacrifices, mut floors) = ([0u64; 2], 0);
    let (mut cursed, mut more, mut other_chapters) = (0, 0, 0);
    let (mut things, mut rare) = ([0u64; 2], [0u64; 2]);
    for seed in 3000..16_000 {
        for (i, full_health) in [false, true].into_iter().enumerate() {
            let settings = isaac::Settings {
                level: 1 + seed as u32 % 8,
                full_health,
                locks: 0,
                ..Default::default()
            };
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
                let plan =
                    dungeon.rooms.iter().filter(|room| room.role != Role::Secret).count() as u32;
                more += u64::from(plan - 5 - level * 13 / 5);
                let chapter = &Rooms::standard().chapters()[(level as usize - 1) / 2];
                other_chapters += u64::from(dungeon.chapter == chapter.alternative);
                for (i, thing) in [Thing::Enemy, Thing::Fire].into_iter().enumerate() {
                    things[i] += dungeon.spawns.iter().filter(|s| s.thing == thing).count() as u64;
                    rare[i] += dungeon
                        .spawns
                        .iter()
                        .filter(|s| s.thing == thing && s.variant == 1)
                        .count() as u64;
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
