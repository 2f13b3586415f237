//! From a floor plan to a dungeon: doors, edges, furniture, tiles, distances and keys.

use super::floor_grid::{CELL_TILES, COLUMNS, ROWS, SIDES, cells, origin, stride};
use super::floor_plan::{Plan, PlannedRoom};
use super::geometry::{Rect, Side};
use super::model::{Door, DoorState, Dungeon, Edge, Grid, Room, Spawn, Tally, Thing};
use super::random::{self, Purpose, Random};
use super::rooms::{self, Difficulty, Furniture, Rooms};
use super::tiles::{Tile, Tiles};
use super::{Generator, GeneratorKind, locks};

/// What a plan is furnished with.
pub(super) struct Furnishing {
    pub generator: Generator,
    /// The seed of the run.
    pub seed: u64,
    /// The seed of the floor.
    pub floor: u64,
    pub level: u32,
    /// How many rooms to lock.
    pub locks: u32,
}

/// Makes the dungeon of a plan.
pub(super) fn furnish(furnishing: Furnishing, plan: &Plan, tally: Tally, rooms: &Rooms) -> Dungeon {
    let Furnishing { generator, seed, floor, level, locks } = furnishing;
    let kind = generator.kind();
    let number = rooms.chapter_number(level);
    // The seed of the run and not of the floor, so that both floors of a chapter agree.
    let alternative =
        Random::new(random::derived(seed, &[kind as u32, number]), Purpose::Chapter).chance(1, 2);
    let (set, chapter) = rooms.chapter(number, alternative);
    let random = &mut Random::new(random::derived(floor, &[set as u32]), Purpose::Content);
    let mut dungeon = Dungeon {
        kind,
        seed,
        settings: generator,
        chapter: Some(chapter.to_string()),
        labyrinth: plan.labyrinth,
        rooms: plan.rooms.iter().enumerate().map(|(id, room)| room_of(id, room)).collect(),
        unused: vec![],
        edges: vec![],
        grid: Grid { width: COLUMNS as u32, height: ROWS as u32, rows: vec![] },
        doors: plan
            .doors()
            .enumerate()
            .map(|(id, (a, cell, side, b))| door_of(plan, id, a, cell, side, b))
            .collect(),
        keys: vec![],
        critical_path: vec![],
        spawns: Vec::with_capacity(64),
        tiles: Tiles::new((COLUMNS * CELL_TILES[0]) as u32, (ROWS * CELL_TILES[1]) as u32),
        tally,
    };
    let occupied: Vec<i32> =
        cells().map(|cell| plan.room(cell).map_or(Grid::EMPTY, |id| id as i32)).collect();
    dungeon.grid.rows = occupied.chunks(COLUMNS as usize).map(<[i32]>::to_vec).collect();
    dungeon.edges = edges_of(&dungeon);

    // The first floor of a chapter is easier than the second. Labyrinth floors use all
    // difficulties.
    let difficulties: &[Difficulty] = match (plan.labyrinth, level % 2) {
        (true, _) => &[Difficulty::Easy, Difficulty::Medium, Difficulty::Hard],
        (_, 1) => &[Difficulty::Easy, Difficulty::Medium],
        _ => &[Difficulty::Medium, Difficulty::Hard],
    };
    let open = open_sides(plan);
    let mut drawn = vec![0; rooms.furniture().len()];
    for (id, planned) in plan.rooms.iter().enumerate() {
        for (nth, cell) in planned.cells().enumerate() {
            carve(&mut dungeon.tiles, plan, id, cell);
            let [x, y] = origin(cell);
            // No furniture fits into three tiles, so an enemy stands in the middle.
            if planned.shape.narrow() {
                let [x, y] = [x + CELL_TILES[0] / 2, y + CELL_TILES[1] / 2];
                let room = id as u32;
                dungeon.spawns.push(Spawn { thing: Thing::Enemy, room, x, y, variant: 0 });
                continue;
            }
            let used = |side: &Side| {
                open[(cell + 10) as usize][*side as usize]
                    || plan.room(cell + stride(*side)) == Some(id)
            };
            // A room of Isaac can be entered from all sides, a room of Rebirth only from those that
            // are used.
            let entered: Vec<Side> = Side::ALL
                .into_iter()
                .filter(|side| kind == GeneratorKind::Isaac || used(side))
                .collect();
            let furniture =
                rooms.pick(set, planned.role, difficulties, &entered, &mut drawn, random);
            dungeon.rooms[id].furniture.push(furniture.name.clone());
            put(&mut dungeon, furniture, id as u32, nth, [x + 1, y + 1], random);
        }
    }
    // Only rooms with a distance can be locked or get a key, so distances come first.
    locks::measure(&mut dungeon);
    locks::place(&mut dungeon, locks, &mut Random::new(floor, Purpose::Keys));
    dungeon
}

/// The sides of each cell that have doors. Cells are numbered from −10, that of a door beyond the
/// first row.
fn open_sides(plan: &Plan) -> [[bool; 4]; 100] {
    let mut open = [[false; 4]; 100];
    for (_, cell, side, _) in plan.doors() {
        open[(cell + 10) as usize][side as usize] = true;
        open[(cell + stride(side) + 10) as usize][side.opposite() as usize] = true;
    }
    open
}

/// Puts furniture into the `nth` cell of a room, whose first tile inside its walls is at `corner`.
fn put(
    dungeon: &mut Dungeon,
    furniture: &Furniture,
    room: u32,
    nth: usize,
    [x, y]: [i32; 2],
    random: &mut Random,
) {
    for (i, tile) in furniture.tiles.iter().enumerate().filter(|(_, tile)| **tile != Tile::Floor) {
        let at = [x + i as i32 % rooms::WIDTH, y + i as i32 / rooms::WIDTH];
        dungeon.tiles.set(at, *tile);
    }
    for &([dx, dy], thing) in &furniture.things {
        let variant = match thing {
            Thing::Enemy => random.chance(1, 10) as u32,
            Thing::Fire => random.chance(1, 8) as u32,
            // A large boss room has one boss, in its first cell.
            Thing::Boss if nth > 0 => continue,
            _ => 0,
        };
        dungeon.spawns.push(Spawn { thing, room, x: x + dx, y: y + dy, variant });
    }
}

fn room_of(id: usize, room: &PlannedRoom) -> Room {
    let rect = room.bounds();
    let [w, h] = CELL_TILES;
    Room {
        id: id as u32,
        role: room.role,
        rect,
        tiles: Rect {
            x: rect.x * w,
            y: rect.y * h,
            width: rect.width * w,
            height: rect.height * h,
        },
        distance: None,
        shape: Some(room.shape),
        cells: room.cells().map(|cell| cell as u8).collect(),
        furniture: vec![],
        hall: None,
    }
}

/// The tile of a door in the wall of a cell.
fn door_tile(cell: i32, side: Side) -> [i32; 2] {
    let ([x, y], [dx, dy]) = (origin(cell), side.step());
    // Half a side times 0, 1 or 2 is the first tile, the middle one or the last.
    [x + CELL_TILES[0] / 2 * (1 + dx), y + CELL_TILES[1] / 2 * (1 + dy)]
}

fn door_of(plan: &Plan, id: usize, a: usize, cell: i32, side: Side, b: usize) -> Door {
    let hidden = plan.rooms[a].role.hidden() || plan.rooms[b].role.hidden();
    let [x, y] = door_tile(cell, side);
    let state = if hidden { DoorState::Breakable } else { DoorState::Open };
    Door {
        id: id as u32,
        from: a as u32,
        to: Some(b as u32),
        hall: None,
        x,
        y,
        side,
        width: 1,
        state,
        key: None,
    }
}

/// One edge for each pair of rooms with doors. Edges of hidden rooms come last, and an edge that
/// closes a loop is extra.
fn edges_of(dungeon: &Dungeon) -> Vec<Edge> {
    let mut edges: Vec<Edge> = vec![];
    for door in &dungeon.doors {
        let to = door.to.unwrap_or(door.from);
        let (a, b) = (door.from.min(to), door.from.max(to));
        match edges.iter_mut().find(|edge| (edge.a, edge.b) == (a, b)) {
            Some(edge) => edge.doors.push(door.id),
            None => edges.push(Edge {
                a,
                b,
                length: 1,
                extra: false,
                doors: vec![door.id],
                path: vec![],
            }),
        }
    }
    let hidden = |edge: &Edge| dungeon.doors[edge.doors[0] as usize].state == DoorState::Breakable;
    edges.sort_by_key(|edge| (hidden(edge), edge.a, edge.b));
    // Rooms that the edges so far join have one number (Kruskal): an edge within a group closes a
    // loop.
    let mut group: Vec<usize> = (0..dungeon.rooms.len()).collect();
    for edge in &mut edges {
        let (a, b) = (group[edge.a as usize], group[edge.b as usize]);
        edge.extra = a == b;
        group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
    }
    edges
}

/// Draws one cell of a room: walls, floor open to the other cells of the room, and this room's half
/// of each door.
fn carve(tiles: &mut Tiles, plan: &Plan, id: usize, cell: i32) {
    let shape = plan.rooms[id].shape;
    let [x, y] = origin(cell);
    let same = |side: Side| plan.room(cell + stride(side)) == Some(id);
    let [[x0, x1], [y0, y1]] = shape.floor();
    // Towards a cell of the same room there is no wall.
    let [w, n] = [if same(Side::West) { 0 } else { x0 }, if same(Side::North) { 0 } else { y0 }];
    let [e, s] = [
        if same(Side::East) { CELL_TILES[0] } else { x1 },
        if same(Side::South) { CELL_TILES[1] } else { y1 },
    ];
    let row = |ty: i32| ((y + ty) * COLUMNS * CELL_TILES[0] + x) as usize;
    for ty in 0..CELL_TILES[1] {
        let tiles = &mut tiles.data[row(ty)..][..CELL_TILES[0] as usize];
        tiles.fill(Tile::Wall);
        if (n..s).contains(&ty) {
            tiles[w as usize..e as usize].fill(Tile::Floor);
        }
    }
    // Where four cells meet, the corner is floor only if all four belong to the room.
    for (dx, dy) in [(-1, -1), (1, -1), (-1, 1), (1, 1)] {
        if [dx, 10 * dy, dx + 10 * dy].iter().any(|step| plan.room(cell + step) != Some(id)) {
            let corner = |d: i32, length: i32| if d < 0 { 0 } else { length - 1 };
            tiles.set([x + corner(dx, CELL_TILES[0]), y + corner(dy, CELL_TILES[1])], Tile::Wall);
        }
    }
    for side in SIDES {
        let Some(other) = plan.room(cell + stride(side)) else { continue };
        if other != id
            && plan.exit(id, cell, side)
            && plan.exit(other, cell + stride(side), side.opposite())
        {
            let hidden = plan.rooms[id].role.hidden() || plan.rooms[other].role.hidden();
            tiles.set(door_tile(cell, side), if hidden { Tile::Breakable } else { Tile::Door });
        }
    }
}
