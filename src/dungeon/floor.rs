//! Floor plans on the 9 × 8 grid, as Isaac and Rebirth share them: growth, end rooms, special rooms, secret rooms, tiles.

use super::random::{Purpose, Random};
use super::rebirth::Shape;
use super::rooms::{self, Difficulty, Rooms};
use super::{
    Door, Dungeon, Edge, Generator, Grid, Kind, Mark, Rect, Role, Room, Side, Spawn, Step, Tally, Thing, Tile, Tiles, Way, locks,
};
use crate::error::{Error, Result};
use std::collections::VecDeque;

/// Columns of the grid, counted from 1.
pub const COLUMNS: i32 = 9;
/// Rows of the grid, counted from 0.
pub const ROWS: i32 = 8;
/// The cell of the start, 10 · row + column.
pub const START: i32 = 35;
/// Fewest rooms that a floor plan may ask for: a start and four dead ends, the boss's two doors away.
const ROOMS_MIN: u32 = 6;
/// Fewest rooms of a double floor, with six dead ends.
const ROOMS_MIN_LABYRINTH: u32 = 12;
/// Most rooms that a floor plan of single rooms may ask for.
pub const ROOMS_MAX: u32 = 38;
/// Most rooms that a double floor has, without its second boss room and the hidden ones.
pub const LABYRINTH_MAX: u32 = 45;
/// Highest level.
pub const LEVEL_MAX: u32 = 12;
/// Floor plans begun before giving up.
pub const TRIES_MAX: u32 = 10_000;
/// Tiles of a cell, walls included.
pub const CELL: [i32; 2] = [rooms::WIDTH + 2, rooms::HEIGHT + 2];

/// Above so many rooms the start is looked at again and again.
const CROWD: u32 = 16;
/// After so many rooms have been looked at.
const AGAIN: u32 = 8;
/// End rooms of a double floor that may be special.
const FARTHEST: usize = 6;
/// Rooms that a double floor grows at most; the others are wedged in between.
const GROWN_MAX: u32 = 30;
const NONE: u8 = u8::MAX;

/// The order of the article: down, up, right, left.
const SIDES: [Side; 4] = [Side::South, Side::North, Side::East, Side::West];

/// What the step out of a side adds to a cell's number.
pub(super) fn stride(side: Side) -> i32 {
    let [x, y] = side.step();
    10 * y + x
}

fn inside(cell: i32) -> bool {
    (0..10 * ROWS).contains(&cell) && cell % 10 != 0
}

/// A room of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub role: Role,
    pub shape: Shape,
    /// The north-west cell of its bounds.
    pub at: i32,
}

impl Planned {
    fn cells(&self) -> impl Iterator<Item = i32> + use<> {
        let at = self.at;
        self.shape.offsets().iter().map(move |offset| at + offset)
    }

    fn bounds(&self) -> Rect {
        let [width, height] = self.shape.size();
        Rect { x: self.at % 10 - 1, y: self.at.div_euclid(10), width, height }
    }

    /// Boxes that together are the room: a bent one has two, which share a cell.
    fn boxes(&self) -> Vec<Rect> {
        let whole @ Rect { x, y, .. } = self.bounds();
        match self.shape.missing() {
            None => vec![whole],
            Some([east, south]) => {
                vec![Rect { y: y + 1 - south, height: 1, ..whole }, Rect { x: x + 1 - east, width: 1, ..whole }]
            }
        }
    }
}

/// Which rooms there are, and nothing of what is in them.
pub(super) struct Plan {
    pub rooms: Vec<Planned>,
    /// The room of each cell, from cell −10 on.
    at: [u8; 100],
    /// Dead ends, from the nearest to the farthest.
    pub ends: Vec<usize>,
    pub distance: Vec<u32>,
    /// Whether it is of double size.
    double: bool,
}

/// Large rooms that may grow, and how often.
#[derive(Clone)]
pub(super) struct Large {
    /// A room tries to be large in so many of 100 cases.
    pub percent: u32,
    pub pool: Vec<(Shape, u32)>,
}

impl Plan {
    fn new() -> Self {
        let mut plan = Plan { rooms: Vec::with_capacity(64), at: [NONE; 100], ends: vec![], distance: vec![], double: false };
        plan.add(Planned { role: Role::Start, shape: Shape::Single, at: START });
        plan
    }

    fn room(&self, cell: i32) -> Option<usize> {
        let room = *self.at.get((cell + 10) as usize)?;
        (room != NONE).then_some(room as usize)
    }

    fn add(&mut self, room: Planned) -> usize {
        let id = self.rooms.len();
        room.cells().for_each(|cell| self.at[(cell + 10) as usize] = id as u8);
        self.rooms.push(room);
        id
    }

    fn neighbours(&self, cell: i32) -> impl Iterator<Item = (Side, usize)> + '_ {
        SIDES.into_iter().filter_map(move |side| self.room(cell + stride(side)).map(|room| (side, room)))
    }

    /// Whether a room's shape has an exit out of that side of its cell.
    fn exit(&self, room: usize, cell: i32, side: Side) -> bool {
        let planned = &self.rooms[room];
        planned.shape.exit(cell - planned.at, side)
    }

    /// Shared sides that both rooms can open: (room, cell, side, room behind it), from north to south and west to east.
    fn doors(&self) -> impl Iterator<Item = (usize, i32, Side, usize)> + '_ {
        let cells = (0..10 * ROWS).filter(|cell| cell % 10 != 0);
        let pairs = cells.flat_map(|cell| [(cell, Side::East), (cell, Side::South)]);
        pairs.filter_map(|(cell, side)| {
            let (a, b) = (self.room(cell)?, self.room(cell + stride(side))?);
            let both = a != b && self.exit(a, cell, side) && self.exit(b, cell + stride(side), side.opposite());
            both.then_some((a, cell, side, b))
        })
    }

    /// Grows a plan breadth first from the start. It may stay smaller than wanted.
    fn grow(want: u32, large: &Large, random: &mut Random, tally: &mut Tally, tell: &mut Tell) -> Plan {
        let mut plan = Plan::new();
        let mut large = large.clone();
        let mut queue = VecDeque::from([0]);
        let mut looked = 0;
        let mut ends = vec![];
        while let Some(id) = queue.pop_front() {
            looked += 1;
            if want > CROWD && looked % AGAIN == 0 {
                queue.push_back(0);
            }
            let mut placed = false;
            let from = plan.rooms[id];
            for (offset, side) in from.shape.exits() {
                let cell = from.at + offset + stride(side);
                let crowded = || plan.neighbours(cell).count() > 1;
                if !inside(cell) || plan.room(cell).is_some() || crowded() || plan.rooms.len() as u32 >= want {
                    continue;
                }
                tally.coins += 1;
                if random.chance(1, 2) {
                    tell.step("a coin says no", || plan.picture(None, Some((cell, Mark::Refused))));
                    continue;
                }
                tally.grown += 1;
                placed = true;
                let room = plan.fit_large(cell, side, &mut large, random, tally);
                queue.push_back(plan.add(room.unwrap_or(Planned { role: Role::Normal, shape: Shape::Single, at: cell })));
                tell.step("a room grows", || plan.picture(plan.rooms.len().checked_sub(1), None));
            }
            if !placed && id != 0 && from.shape == Shape::Single {
                ends.push(id);
            }
        }
        plan.ends = ends;
        plan.measure();
        plan
    }

    /// A large room whose exit meets the side that is gone out of, if there is space for one of the pool.
    fn fit_large(&self, cell: i32, side: Side, large: &mut Large, random: &mut Random, tally: &mut Tally) -> Option<Planned> {
        if large.pool.is_empty() || !random.chance(large.percent, 100) {
            return None;
        }
        let mut weights: Vec<u32> = large.pool.iter().map(|(_, weight)| *weight).collect();
        while let Some(i) = random.weighted(weights.iter().copied()) {
            weights[i] = 0;
            let shape = large.pool[i].0;
            let mut places: Vec<i32> =
                shape.exits().filter(|(_, out)| *out == side.opposite()).map(|(offset, _)| offset).collect();
            random.shuffle(&mut places);
            let room = |offset: i32| Planned { role: Role::Normal, shape, at: cell - offset };
            let free = |room: &Planned| room.cells().all(|cell| inside(cell) && self.room(cell).is_none());
            if let Some(room) = places.into_iter().map(room).find(free) {
                tally.large += 1;
                if random.chance(95, 100) {
                    tally.removed += 1;
                    large.pool.swap_remove(i);
                }
                return Some(room);
            }
        }
        None
    }

    /// Distances from the start, and the end rooms by them: in the order of growth, but for the start's late branches.
    fn measure(&mut self) {
        let mut joined = vec![[NONE; 12]; self.rooms.len()];
        let mut count = vec![0usize; self.rooms.len()];
        let pairs: Vec<_> = self.doors().map(|(a, _, _, b)| (a, b)).collect();
        for (a, b) in pairs {
            for (a, b) in [(a, b), (b, a)] {
                joined[a][count[a].min(11)] = b as u8;
                count[a] += 1;
            }
        }
        self.distance = vec![u32::MAX; self.rooms.len()];
        self.distance[0] = 0;
        let mut queue = VecDeque::from([0]);
        while let Some(id) = queue.pop_front() {
            for &next in &joined[id][..count[id].min(12)] {
                if self.distance[next as usize] == u32::MAX {
                    self.distance[next as usize] = self.distance[id] + 1;
                    queue.push_back(next as usize);
                }
            }
        }
        // A large room that came later may have opened a second door.
        self.ends.retain(|&id| count[id] == 1);
        self.ends.sort_by_key(|&id| self.distance[id]);
    }

    fn picture(&self, now: Option<usize>, also: Option<(i32, Mark)>) -> Vec<(Rect, Mark)> {
        let mark = |id| if now == Some(id) { Mark::Now } else { Mark::Role(self.rooms[id].role) };
        let rooms = self.rooms.iter().enumerate().flat_map(|(id, r)| r.boxes().into_iter().map(move |b| (b, mark(id))));
        rooms.chain(also.map(|(c, mark)| (Planned { role: Role::Normal, shape: Shape::Single, at: c }.bounds(), mark))).collect()
    }
}

/// Who hears of steps, if anybody.
pub(super) struct Tell<'a>(pub Option<&'a mut dyn FnMut(Step)>);

impl Tell<'_> {
    pub fn step(&mut self, what: &'static str, boxes: impl FnOnce() -> Vec<(Rect, Mark)>) {
        if let Some(tell) = &mut self.0 {
            tell(Step { what, boxes: boxes(), lines: vec![] });
        }
    }
}

/// What a floor is to be.
pub(super) struct Wish {
    pub kind: Kind,
    pub level: u32,
    /// Rooms of the plan, if not by the level.
    pub room_count: Option<u32>,
    /// Curse of the Labyrinth, a floor of double size: in so many of 100 cases.
    pub labyrinth: u32,
    pub full_health: bool,
    pub locks: u32,
    pub large: Large,
    /// A large room for the boss is wanted in so many of 100 cases.
    pub large_boss: u32,
}

impl Wish {
    pub fn check(&self) -> Result<()> {
        if !(1..=LEVEL_MAX).contains(&self.level) {
            return Err(Error::param(format!("level = {}: allowed 1 to {LEVEL_MAX}", self.level)));
        }
        if self.labyrinth > 100 {
            return Err(Error::param(format!("labyrinth = {}: allowed 0 to 100 (per cent)", self.labyrinth)));
        }
        // What may be either must do for both.
        let least = if self.labyrinth > 0 { ROOMS_MIN_LABYRINTH } else { ROOMS_MIN };
        let most = if self.labyrinth == 100 { LABYRINTH_MAX } else { self.rooms_max() };
        if let Some(rooms) = self.room_count.filter(|rooms| !(least..=most).contains(rooms)) {
            return Err(Error::param(format!(
                "room_count = {rooms}: allowed {least} to {most} on the grid of {COLUMNS} x {ROWS} cells, where rooms may not close loops"
            )));
        }
        locks::check(self.locks)
    }

    fn rooms_max(&self) -> u32 {
        match self.kind {
            Kind::Rebirth => super::rebirth::ROOMS_MAX,
            _ => ROOMS_MAX,
        }
    }

    /// random(2) + 5 + level · 2.6, rounded down; 80 % more on double floors, at most 45.
    fn count(&self, double: bool, random: &mut Random) -> u32 {
        let plain = random.below(2) + 5 + self.level * 13 / 5;
        match (self.room_count, double) {
            (Some(rooms), _) => rooms,
            (None, true) => (plain * 9 / 5).min(LABYRINTH_MAX),
            (None, false) => plain.min(self.rooms_max()),
        }
    }

    /// The special rooms of a floor beside boss and secret room: those that must be, then those that there are if dead ends are
    /// left for them. Twice as many on double floors.
    fn roles(&self, double: bool, random: &mut Random) -> [Vec<Role>; 2] {
        let sacrifice = if self.full_health { 3 } else { 7 };
        let [mut must, mut may] = [vec![Role::Treasure, Role::Shop], vec![]];
        if double {
            must.extend([Role::Treasure, Role::Shop]);
        }
        for _ in 0..1 + u32::from(double) {
            // Of the six dead ends of a double floor those that must be leave one.
            let wanted = random.chance(1, sacrifice);
            must.extend((wanted && must.len() + 1 < FARTHEST).then_some(Role::Sacrifice));
            may.extend(random.chance(1, 20).then_some(Role::Library));
            may.extend((random.chance(1, 4) && self.level >= 2).then_some(Role::Challenge));
        }
        [must, may]
    }

    /// Plans until a plan is right.
    pub fn plan(&self, random: &mut Random, tell: &mut Tell) -> Result<(Plan, Tally)> {
        self.check()?;
        let double = random.chance(self.labyrinth, 100);
        let want = self.count(double, random);
        let roles = self.roles(double, random);
        let grown = if double { want.min(GROWN_MAX) } else { want };
        let mut tally = Tally::default();
        for _ in 0..TRIES_MAX {
            tally.tries += 1;
            let mut plan = Plan::grow(grown, &self.large, random, &mut tally, tell);
            plan.double = double;
            if plan.rooms.len() as u32 == grown && self.specials(&mut plan, want, &roles, random, &mut tally).is_some() {
                tell.step("special rooms", || plan.picture(None, None));
                return Ok((plan, tally));
            }
            tell.step("not right: again", || plan.picture(None, None).into_iter().map(|(r, _)| (r, Mark::Refused)).collect());
        }
        let fewer = match self.large.percent {
            0 => String::new(),
            percent => format!(", or for fewer large ones than large = {percent}"),
        };
        Err(Error::Limit(format!(
            "no floor of {want} rooms with {} dead ends for special ones came out of {TRIES_MAX} tries: ask for another number of \
             rooms (a floor of level 4 has 15 or 16){fewer}",
            roles[0].len() + 1
        )))
    }

    /// Gives end rooms their roles and adds the hidden rooms; none if the plan has no place for what there must be.
    fn specials(
        &self,
        plan: &mut Plan,
        want: u32,
        [must, may]: &[Vec<Role>; 2],
        random: &mut Random,
        tally: &mut Tally,
    ) -> Option<()> {
        let mut free = plan.ends.clone();
        if plan.double {
            free.drain(..free.len().saturating_sub(FARTHEST));
        }
        if free.len() < must.len() + 1 {
            return None;
        }
        let boss = free.pop()?;
        if plan.distance[boss] < 2 {
            return None;
        }
        let boss = self.boss(plan, boss, &mut free, random);
        if plan.double {
            let second = plan.beside_only(boss, random)?;
            plan.add(Planned { role: Role::Boss, shape: Shape::Single, at: second });
        }
        if free.len() > must.len() {
            let far = free.pop()?;
            plan.rooms[far].role = Role::SuperSecret;
        }
        for role in must.iter().chain(may) {
            if !free.is_empty() {
                let id = free.remove(random.below(free.len() as u32) as usize);
                plan.rooms[id].role = *role;
            }
        }
        if plan.double {
            let more = random.below(5).min(LABYRINTH_MAX - want);
            for _ in plan.rooms.len() as u32 - 1..want + more {
                let cell = plan.wedge(random, tally)?;
                plan.add(Planned { role: Role::Normal, shape: Shape::Single, at: cell });
            }
        }
        for _ in 0..1 + u32::from(plan.double) {
            let cell = plan.wedge(random, tally).or_else(|| plan.anywhere(random))?;
            plan.add(Planned { role: Role::Secret, shape: Shape::Single, at: cell });
        }
        Some(())
    }

    /// Makes `last`, or another of the farthest end rooms, the boss room: a large one where that is wanted and possible.
    fn boss(&self, plan: &mut Plan, last: usize, free: &mut Vec<usize>, random: &mut Random) -> usize {
        if self.large_boss > 0 && random.chance(self.large_boss, 100) {
            let far = |id: &usize| plan.distance[*id] == plan.distance[last];
            let ends: Vec<usize> = std::iter::once(last).chain(free.iter().rev().copied().filter(far)).collect();
            let mut shapes = [Shape::Big, Shape::Tall, Shape::Wide];
            random.shuffle(&mut shapes);
            for end in ends {
                if let Some((shape, at)) = shapes.iter().find_map(|shape| plan.widen(end, *shape)) {
                    // The other end rooms keep their order.
                    if let Some(place) = free.iter().position(|id| *id == end) {
                        free.remove(place);
                        free.push(last);
                    }
                    plan.rooms[end] = Planned { role: Role::Boss, shape, at };
                    plan.rooms[end].cells().for_each(|cell| plan.at[(cell + 10) as usize] = end as u8);
                    return end;
                }
            }
        }
        plan.rooms[last].role = Role::Boss;
        last
    }
}

impl Plan {
    /// Where a larger room fits in the place of an end room, without another neighbour than the one it has.
    fn widen(&self, end: usize, shape: Shape) -> Option<(Shape, i32)> {
        let here = self.rooms[end].at;
        let parent = self.neighbours(here).next()?.1;
        let place = |offset: &i32| {
            let room = Planned { role: Role::Boss, shape, at: here - offset };
            let free = |cell: i32| inside(cell) && self.room(cell).is_none_or(|id| id == end);
            let alone = |cell: i32| self.neighbours(cell).all(|(_, id)| id == end || id == parent);
            (room.cells().all(free) && room.cells().all(alone)).then_some((shape, room.at))
        };
        shape.offsets().iter().find_map(place)
    }

    /// A free cell beside a room and no other.
    fn beside_only(&self, room: usize, random: &mut Random) -> Option<i32> {
        let around = self.rooms[room].cells().flat_map(|cell| SIDES.map(|side| cell + stride(side)));
        let alone = |cell: i32| self.neighbours(cell).all(|(_, id)| id == room);
        let mut cells: Vec<i32> = around.filter(|&c| inside(c) && self.room(c).is_none() && alone(c)).collect();
        random.shuffle(&mut cells);
        cells.first().copied()
    }

    /// How many rooms a cell could open to; none if it is taken, or beside a hidden room.
    fn touched(&self, cell: i32) -> Option<usize> {
        if self.room(cell).is_some() || self.neighbours(cell).any(|(_, id)| self.rooms[id].role == Role::Secret) {
            return None;
        }
        let mut rooms = [NONE; 4];
        let mut count = 0;
        for (side, id) in self.neighbours(cell) {
            // A room whose shape has no exit here is a wall.
            if self.exit(id, cell + stride(side), side.opposite()) && !rooms.contains(&(id as u8)) {
                rooms[count] = id as u8;
                count += 1;
            }
        }
        Some(count)
    }

    fn beside_end(&self, cell: i32) -> bool {
        self.neighbours(cell).any(|(_, id)| self.ends.contains(&id) || self.rooms[id].role == Role::Boss)
    }

    /// The search for a secret room: cells at random, for 300 tries those beside three rooms or more, then for 300 beside two,
    /// then for 300 beside one; never beside an end room.
    fn wedge(&self, random: &mut Random, tally: &mut Tally) -> Option<i32> {
        for tries in 0..900 {
            tally.hiding = tries + 1;
            let cell = 10 * random.below(ROWS as u32) as i32 + 1 + random.below(COLUMNS as u32) as i32;
            let least = [3, 2, 1][tries as usize / 300];
            if self.touched(cell).is_some_and(|count| count >= least) && !self.beside_end(cell) {
                return Some(cell);
            }
        }
        None
    }

    /// Any cell beside a room that is neither a boss room nor hidden, where the search found nothing.
    fn anywhere(&self, random: &mut Random) -> Option<i32> {
        let shy = |id: usize| matches!(self.rooms[id].role, Role::Boss | Role::SuperSecret);
        let fits = |cell: &i32| self.touched(*cell).is_some_and(|n| n > 0) && self.neighbours(*cell).all(|(_, id)| !shy(id));
        let cells: Vec<i32> = (0..10 * ROWS).filter(|cell| cell % 10 != 0).filter(fits).collect();
        (!cells.is_empty()).then(|| *random.pick(&cells))
    }
}

/// From a plan to a dungeon: doors, furniture, tiles, keys.
pub(super) fn furnish(wish: &Wish, settings: Generator, seed: u64, plan: &Plan, tally: Tally, rooms: &Rooms) -> Dungeon {
    let content = &mut Random::new(seed, Purpose::Content);
    let (set, chapter) = rooms.chapter(wish.level, content);
    let mut dungeon = Dungeon {
        kind: wish.kind,
        seed,
        settings,
        chapter: Some(chapter.to_string()),
        labyrinth: plan.double,
        rooms: plan.rooms.iter().enumerate().map(|(id, room)| room_of(id, room)).collect(),
        edges: vec![],
        grid: Grid { width: COLUMNS as u32, height: ROWS as u32, rows: vec![] },
        doors: plan.doors().enumerate().map(|(id, (a, cell, side, b))| door_of(plan, id, a, cell, side, b)).collect(),
        keys: vec![],
        critical_path: vec![],
        spawns: Vec::with_capacity(64),
        tiles: Tiles::new((COLUMNS * CELL[0]) as u32, (ROWS * CELL[1]) as u32),
        tally,
    };
    let row = |y| (1..=COLUMNS).map(|x| plan.room(10 * y + x).map_or(Grid::EMPTY, |id| id as i32)).collect();
    dungeon.grid.rows = (0..ROWS).map(row).collect();
    dungeon.edges = edges_of(&dungeon);

    // The first floor of a chapter is easier than the second; double floors have everything.
    let difficulties: &[Difficulty] = match (plan.double, wish.level % 2) {
        (true, _) => &[Difficulty::Easy, Difficulty::Medium, Difficulty::Hard],
        (_, 1) => &[Difficulty::Easy, Difficulty::Medium],
        _ => &[Difficulty::Medium, Difficulty::Hard],
    };
    let mut open = [[false; 4]; 100];
    for (_, cell, side, _) in plan.doors() {
        open[(cell + 10) as usize][side as usize] = true;
        open[(cell + stride(side) + 10) as usize][side.opposite() as usize] = true;
    }
    for (id, planned) in plan.rooms.iter().enumerate() {
        for (nth, cell) in planned.cells().enumerate() {
            carve(&mut dungeon.tiles, plan, id, cell);
            if planned.shape.narrow() {
                let [x, y] = origin(cell);
                let at = [x + CELL[0] / 2, y + CELL[1] / 2];
                dungeon.spawns.push(Spawn { thing: Thing::Enemy, room: id as u32, x: at[0], y: at[1], variant: 0 });
                continue;
            }
            let mine = |side: &Side| open[(cell + 10) as usize][*side as usize] || plan.room(cell + stride(*side)) == Some(id);
            // Isaac's rooms can be entered from all sides, Rebirth's where they need to be.
            let ways: Vec<Side> = Side::ALL.into_iter().filter(|side| wish.kind == Kind::Isaac || mine(side)).collect();
            let furniture = rooms.pick(set, planned.role, difficulties, &ways, content);
            dungeon.rooms[id].furniture.push(furniture.name.clone());
            let [x, y] = origin(cell);
            for (i, tile) in furniture.tiles.iter().enumerate().filter(|(_, tile)| **tile != Tile::Floor) {
                dungeon.tiles.set([x + 1 + i as i32 % rooms::WIDTH, y + 1 + i as i32 / rooms::WIDTH], *tile);
            }
            for &([dx, dy], thing) in &furniture.things {
                // Random variations: champions, red fires. A large room has one boss.
                let variant = match thing {
                    Thing::Enemy => content.chance(1, 10) as u32,
                    Thing::Fire => content.chance(1, 8) as u32,
                    Thing::Boss if nth > 0 => continue,
                    _ => 0,
                };
                dungeon.spawns.push(Spawn { thing, room: id as u32, x: x + 1 + dx, y: y + 1 + dy, variant });
            }
        }
    }
    locks::measure(&mut dungeon);
    locks::place(&mut dungeon, wish.locks, &mut Random::new(seed, Purpose::Keys));
    dungeon
}

/// The north-west tile of a cell.
fn origin(cell: i32) -> [i32; 2] {
    [(cell % 10 - 1) * CELL[0], cell / 10 * CELL[1]]
}

fn room_of(id: usize, room: &Planned) -> Room {
    let rect = room.bounds();
    Room {
        id: id as u32,
        role: room.role,
        rect,
        tiles: Rect { x: rect.x * CELL[0], y: rect.y * CELL[1], width: rect.width * CELL[0], height: rect.height * CELL[1] },
        distance: None,
        shape: Some(room.shape),
        cells: room.cells().map(|cell| cell as u8).collect(),
        furniture: vec![],
        hall: None,
    }
}

fn door_of(plan: &Plan, id: usize, a: usize, cell: i32, side: Side, b: usize) -> Door {
    let hidden = plan.rooms[a].role.hidden() || plan.rooms[b].role.hidden();
    let ([x, y], [dx, dy]) = (origin(cell), side.step());
    let at = [x + CELL[0] / 2 * (1 + dx), y + CELL[1] / 2 * (1 + dy)];
    let way = if hidden { Way::Breakable } else { Way::Open };
    Door { id: id as u32, from: a as u32, to: Some(b as u32), hall: None, x: at[0], y: at[1], side, width: 1, way, key: None }
}

/// An edge for each pair of rooms with doors; what closes a loop is extra, hidden rooms come last.
fn edges_of(dungeon: &Dungeon) -> Vec<Edge> {
    let mut edges: Vec<Edge> = vec![];
    for door in &dungeon.doors {
        let to = door.to.unwrap_or(door.from);
        let (a, b) = (door.from.min(to), door.from.max(to));
        match edges.iter_mut().find(|edge| (edge.a, edge.b) == (a, b)) {
            Some(edge) => edge.doors.push(door.id),
            None => edges.push(Edge { a, b, length: 1, extra: false, doors: vec![door.id], path: vec![] }),
        }
    }
    let hidden = |edge: &Edge| dungeon.doors[edge.doors[0] as usize].way == Way::Breakable;
    edges.sort_by_key(|edge| (hidden(edge), edge.a, edge.b));
    let mut group: Vec<usize> = (0..dungeon.rooms.len()).collect();
    for edge in &mut edges {
        let (a, b) = (group[edge.a as usize], group[edge.b as usize]);
        edge.extra = a == b;
        group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
    }
    edges
}

/// Walls and floor of one cell of a room, open to the room's other cells, and the halves of its doors.
fn carve(tiles: &mut Tiles, plan: &Plan, id: usize, cell: i32) {
    let shape = plan.rooms[id].shape;
    let [x, y] = origin(cell);
    let same = |side: Side| plan.room(cell + stride(side)) == Some(id);
    let [[x0, x1], [y0, y1]] = shape.floor();
    let [w, n] = [if same(Side::West) { 0 } else { x0 }, if same(Side::North) { 0 } else { y0 }];
    let [e, s] = [if same(Side::East) { CELL[0] } else { x1 }, if same(Side::South) { CELL[1] } else { y1 }];
    let row = |ty: i32| ((y + ty) * COLUMNS * CELL[0] + x) as usize;
    for ty in 0..CELL[1] {
        let tiles = &mut tiles.data[row(ty)..][..CELL[0] as usize];
        tiles.fill(Tile::Wall);
        if (n..s).contains(&ty) {
            tiles[w as usize..e as usize].fill(Tile::Floor);
        }
    }
    // Where four cells meet, the corner is floor only if all four are the room's.
    for (dx, dy) in [(-1, -1), (1, -1), (-1, 1), (1, 1)] {
        if [dx, 10 * dy, dx + 10 * dy].iter().any(|step| plan.room(cell + step) != Some(id)) {
            let corner = |d: i32, length: i32| if d < 0 { 0 } else { length - 1 };
            tiles.set([x + corner(dx, CELL[0]), y + corner(dy, CELL[1])], Tile::Wall);
        }
    }
    for side in SIDES {
        let Some(other) = plan.room(cell + stride(side)) else { continue };
        if other != id && plan.exit(id, cell, side) && plan.exit(other, cell + stride(side), side.opposite()) {
            let hidden = plan.rooms[id].role.hidden() || plan.rooms[other].role.hidden();
            let [dx, dy] = side.step();
            let at = [x + CELL[0] / 2 * (1 + dx), y + CELL[1] / 2 * (1 + dy)];
            tiles.set(at, if hidden { Tile::Breakable } else { Tile::Door });
        }
    }
}
