//! Floor plans of Isaac and Rebirth on the 9 × 8 grid: growth, dead ends, special rooms and secret
//! rooms.

use super::floor_grid::{COLUMNS, ROWS, SIDES, START, cells, column_and_row, inside, stride};
use super::geometry::{Rect, Side};
use super::locks;
use super::model::{Role, Tally};
use super::random::Random;
use super::shape::Shape;
use super::steps::{Mark, Observer};
use crate::error::{Error, Result};
use std::collections::VecDeque;

/// The fewest rooms of a floor plan: a start and four dead ends, with the boss two doors away.
pub const ROOMS_MIN: u32 = 6;
/// The fewest rooms of a Labyrinth floor, which has five dead ends or more.
const LABYRINTH_ROOMS_MIN: u32 = 12;
/// The most rooms of a Labyrinth floor, not counting the second boss room and the secret rooms.
const LABYRINTH_ROOMS_MAX: u32 = 45;
/// The highest level.
pub const LEVEL_MAX: u32 = 12;
/// The fewest and the most rooms of a floor that is under the Curse of the Labyrinth, or may be.
pub const LABYRINTH_ROOMS: [u32; 2] = [LABYRINTH_ROOMS_MIN, LABYRINTH_ROOMS_MAX];
/// How many floor plans are begun before the generator gives up.
pub const TRIES_MAX: u32 = 10_000;

/// If more rooms than this are wanted, the start is queued again from time to time.
const REQUEUE_ABOVE: u32 = 16;
/// The start is queued again each time this many rooms have been taken from the queue.
const REQUEUE_EVERY: u32 = 8;
/// How many dead ends of a Labyrinth floor may be special, apart from that of the boss: the
/// farthest ones.
const LABYRINTH_ENDS: usize = 6;
/// Of this many rooms of a Labyrinth floor, one is placed like a secret room. The others grow.
const LABYRINTH_EXTRA: u32 = 10;
/// How often all rooms of a Labyrinth floor are queued again if too few have grown.
const LABYRINTH_ROUNDS: u32 = 8;
/// A Labyrinth floor gets no more large rooms when it would have more cells than this. There would
/// be too few dead ends, and no space for a second boss room.
const LABYRINTH_CELLS_MAX: u32 = 48;
/// In [`Plan::at`]: no room.
const NONE: u8 = u8::MAX;

/// A room of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRoom {
    pub role: Role,
    pub shape: Shape,
    /// The north-west cell of its bounds.
    pub at: i32,
}

impl PlannedRoom {
    fn single(role: Role, at: i32) -> Self {
        Self { role, shape: Shape::Single, at }
    }

    pub fn cells(&self) -> impl Iterator<Item = i32> + use<> {
        let at = self.at;
        self.shape.offsets().iter().map(move |offset| at + offset)
    }

    pub fn bounds(&self) -> Rect {
        let ([x, y], [width, height]) = (column_and_row(self.at), self.shape.size());
        Rect { x, y, width, height }
    }

    /// Boxes that together cover the room. An L-shaped room has two, which share a cell.
    fn boxes(&self) -> Vec<Rect> {
        let whole @ Rect { x, y, .. } = self.bounds();
        match self.shape.missing() {
            None => vec![whole],
            Some([east, south]) => {
                vec![
                    Rect { y: y + 1 - south, height: 1, ..whole },
                    Rect { x: x + 1 - east, width: 1, ..whole },
                ]
            }
        }
    }
}

/// Which rooms a floor has and where, without their contents.
pub(super) struct Plan {
    pub rooms: Vec<PlannedRoom>,
    /// The room in each cell. Index 0 is cell −10, so that the neighbours of every cell have an
    /// index.
    at: [u8; 100],
    /// The dead ends of all shapes: rooms other than the start that are joined to a single room.
    /// The nearest come first.
    ends: Vec<usize>,
    distance: Vec<u32>,
    /// Whether the floor is under the Curse of the Labyrinth.
    pub labyrinth: bool,
}

/// Which large rooms may grow, and how often.
#[derive(Clone)]
pub(super) struct LargeRooms {
    /// How often a new room tries to be large, per cent.
    pub percent: u32,
    /// The shapes and their weights.
    pub pool: Vec<(Shape, u32)>,
    /// How many cells the large rooms of a floor may have together, not counting one for each.
    pub spare: u32,
}

impl Plan {
    fn new() -> Self {
        let mut plan = Plan {
            rooms: Vec::with_capacity(64),
            at: [NONE; 100],
            ends: vec![],
            distance: vec![],
            labyrinth: false,
        };
        plan.add(PlannedRoom::single(Role::Start, START));
        plan
    }

    /// The room in a cell.
    pub fn room(&self, cell: i32) -> Option<usize> {
        let room = *self.at.get((cell + 10) as usize)?;
        (room != NONE).then_some(room as usize)
    }

    fn add(&mut self, room: PlannedRoom) -> usize {
        let id = self.rooms.len();
        room.cells().for_each(|cell| self.at[(cell + 10) as usize] = id as u8);
        self.rooms.push(room);
        id
    }

    fn neighbours(&self, cell: i32) -> impl Iterator<Item = (Side, usize)> + '_ {
        SIDES
            .into_iter()
            .filter_map(move |side| self.room(cell + stride(side)).map(|room| (side, room)))
    }

    /// Whether the shape of a room has an exit through this side of its cell.
    pub fn exit(&self, room: usize, cell: i32, side: Side) -> bool {
        let planned = &self.rooms[room];
        planned.shape.exit(cell - planned.at, side)
    }

    /// The shared sides where both rooms have an exit, as (room, cell, side, other room), row by
    /// row.
    pub fn doors(&self) -> impl Iterator<Item = (usize, i32, Side, usize)> + '_ {
        let pairs = cells().flat_map(|cell| [(cell, Side::East), (cell, Side::South)]);
        pairs.filter_map(|(cell, side)| {
            let (a, b) = (self.room(cell)?, self.room(cell + stride(side))?);
            let both = a != b
                && self.exit(a, cell, side)
                && self.exit(b, cell + stride(side), side.opposite());
            both.then_some((a, cell, side, b))
        })
    }

    /// Grows a plan breadth first from the start. If the queue runs empty too soon, all rooms are
    /// queued again, at most `rounds` times. The result may still have fewer rooms than wanted.
    fn grow(
        want: u32,
        mut rounds: u32,
        large: &LargeRooms,
        random: &mut Random,
        tally: &mut Tally,
        observer: &mut Observer,
    ) -> Plan {
        let mut plan = Plan::new();
        let mut large = large.clone();
        let mut queue = VecDeque::from([0]);
        let mut taken = 0;
        while (plan.rooms.len() as u32) < want {
            let Some(id) = queue.pop_front() else {
                if rounds == 0 {
                    break;
                }
                rounds -= 1;
                queue.extend(0..plan.rooms.len());
                continue;
            };
            taken += 1;
            if want > REQUEUE_ABOVE && taken % REQUEUE_EVERY == 0 {
                queue.push_back(0);
            }
            let from = plan.rooms[id];
            for (offset, side) in from.shape.exits() {
                let cell = from.at + offset + stride(side);
                let crowded = || plan.neighbours(cell).count() > 1;
                if !inside(cell)
                    || plan.room(cell).is_some()
                    || crowded()
                    || plan.rooms.len() as u32 >= want
                {
                    continue;
                }
                tally.coins += 1;
                if random.chance(1, 2) {
                    observer.step("a coin refuses a room", || {
                        plan.picture(None, Some((cell, Mark::Refused)))
                    });
                    continue;
                }
                tally.grown += 1;
                let room = plan.fit_large(cell, side, &mut large, random, tally);
                queue.push_back(plan.add(room.unwrap_or(PlannedRoom::single(Role::Normal, cell))));
                observer
                    .step("a room grows", || plan.picture(plan.rooms.len().checked_sub(1), None));
            }
        }
        plan.measure();
        plan
    }

    /// A large room with an exit that meets the door through `side` into `cell`, if a shape of the
    /// pool fits.
    fn fit_large(
        &self,
        cell: i32,
        side: Side,
        large: &mut LargeRooms,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Option<PlannedRoom> {
        if large.pool.is_empty() || !random.chance(large.percent, 100) {
            return None;
        }
        let more = |shape: Shape| shape.offsets().len() as u32 - 1;
        let weight =
            |&(shape, weight): &(Shape, u32)| if more(shape) <= large.spare { weight } else { 0 };
        let mut weights: Vec<u32> = large.pool.iter().map(weight).collect();
        while let Some(i) = random.weighted(weights.iter().copied()) {
            weights[i] = 0;
            let shape = large.pool[i].0;
            let mut offsets: Vec<i32> = shape
                .exits()
                .filter(|(_, out)| *out == side.opposite())
                .map(|(offset, _)| offset)
                .collect();
            random.shuffle(&mut offsets);
            let room = |offset: i32| PlannedRoom { role: Role::Normal, shape, at: cell - offset };
            let free = |room: &PlannedRoom| {
                room.cells().all(|cell| inside(cell) && self.room(cell).is_none())
            };
            if let Some(room) = offsets.into_iter().map(room).find(free) {
                tally.large += 1;
                large.spare -= more(shape);
                if random.chance(95, 100) {
                    tally.removed += 1;
                    large.pool.swap_remove(i);
                }
                return Some(room);
            }
        }
        None
    }

    /// Measures the distances from the start, finds the dead ends, and sorts them by distance. Dead
    /// ends at the same distance keep the order in which they grew.
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
        let dead_end = |id: &usize| {
            joined[*id][..count[*id].min(12)].iter().all(|other| *other == joined[*id][0])
        };
        self.ends = (1..self.rooms.len()).filter(dead_end).collect();
        self.ends.sort_by_key(|&id| self.distance[id]);
    }

    fn picture(&self, now: Option<usize>, also: Option<(i32, Mark)>) -> Vec<(Rect, Mark)> {
        let mark = |id| if now == Some(id) { Mark::Now } else { Mark::Role(self.rooms[id].role) };
        let rooms = self
            .rooms
            .iter()
            .enumerate()
            .flat_map(|(id, r)| r.boxes().into_iter().map(move |b| (b, mark(id))));
        rooms
            .chain(
                also.map(|(cell, mark)| (PlannedRoom::single(Role::Normal, cell).bounds(), mark)),
            )
            .collect()
    }

    /// Whether a room touches a single other room. The wall of a narrow room counts too.
    fn touches_one(&self, id: usize) -> bool {
        let around =
            self.rooms[id].cells().flat_map(|cell| self.neighbours(cell)).map(|(_, other)| other);
        let mut others = around.filter(|other| *other != id);
        others.next().is_some_and(|first| others.all(|other| other == first))
    }

    /// A place for a larger boss room over a dead end, where it has no other neighbour than the
    /// dead end had.
    fn fit_boss(&self, end: usize, shape: Shape) -> Option<PlannedRoom> {
        let here = self.rooms[end].at;
        let parent = self.neighbours(here).next()?.1;
        let place = |offset: &i32| {
            let room = PlannedRoom { role: Role::Boss, shape, at: here - offset };
            let free = |cell: i32| inside(cell) && self.room(cell).is_none_or(|id| id == end);
            let alone = |cell: i32| self.neighbours(cell).all(|(_, id)| id == end || id == parent);
            (room.cells().all(free) && room.cells().all(alone)).then_some(room)
        };
        shape.offsets().iter().find_map(place)
    }

    /// A random free cell next to a room and next to no other room.
    fn cell_next_to_only(&self, room: usize, random: &mut Random) -> Option<i32> {
        let around =
            self.rooms[room].cells().flat_map(|cell| SIDES.map(|side| cell + stride(side)));
        let alone = |cell: i32| self.neighbours(cell).all(|(_, id)| id == room);
        let mut cells: Vec<i32> =
            around.filter(|&c| inside(c) && self.room(c).is_none() && alone(c)).collect();
        random.shuffle(&mut cells);
        cells.first().copied()
    }

    /// How many rooms have an exit into a cell. A cell that is taken or next to a secret room gives
    /// `None`.
    fn touching_rooms(&self, cell: i32) -> Option<usize> {
        if self.room(cell).is_some()
            || self.neighbours(cell).any(|(_, id)| self.rooms[id].role == Role::Secret)
        {
            return None;
        }
        let mut rooms = [NONE; 4];
        let mut count = 0;
        for (side, id) in self.neighbours(cell) {
            // A room without an exit on this side is only a wall.
            if self.exit(id, cell + stride(side), side.opposite()) && !rooms.contains(&(id as u8)) {
                rooms[count] = id as u8;
                count += 1;
            }
        }
        Some(count)
    }

    /// Whether a dead end has an exit into a cell, or a boss room is next to it.
    fn next_to_end(&self, cell: i32) -> bool {
        let opens = |side: Side, id: usize| {
            self.ends.contains(&id) && self.exit(id, cell + stride(side), side.opposite())
        };
        self.neighbours(cell).any(|(side, id)| self.rooms[id].role == Role::Boss || opens(side, id))
    }

    /// Whether a room in this cell would complete a block of 2 × 2 cells.
    fn completes_block(&self, cell: i32) -> bool {
        let corners = [(-1, -10), (1, -10), (-1, 10), (1, 10)];
        corners
            .into_iter()
            .any(|(dx, dy)| [dx, dy, dx + dy].iter().all(|step| self.room(cell + step).is_some()))
    }

    /// Searches for the place of a secret room among the cells that `allowed` admits. For 300 tries
    /// the cell must touch three rooms or more, for the next 300 tries two, and for the last 300
    /// tries one. It is never next to a dead end. The cells are tried in random order, again and
    /// again, so 300 tries miss no cell.
    fn search_secret(
        &self,
        allowed: impl Fn(i32) -> bool,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Option<i32> {
        let mut order: Vec<i32> = cells().collect();
        random.shuffle(&mut order);
        let fits = |cell: i32| {
            self.touching_rooms(cell).filter(|_| !self.next_to_end(cell) && allowed(cell))
        };
        let touched: Vec<Option<usize>> = order.iter().map(|&cell| fits(cell)).collect();
        for (least, before) in [(3, 0), (2, 300), (1, 600)] {
            // The first round over all cells finds what the others would find.
            if let Some(at) =
                touched.iter().position(|touched| touched.is_some_and(|count| count >= least))
            {
                tally.hiding = before + at as u32 + 1;
                return Some(order[at]);
            }
        }
        tally.hiding = 900;
        None
    }

    /// A random one of the cells that touch most rooms and are next to no boss room and no hidden
    /// room, for when the search has failed.
    fn any_secret(&self, random: &mut Random) -> Option<i32> {
        let avoided = |id: usize| matches!(self.rooms[id].role, Role::Boss | Role::SuperSecret);
        let fits = |cell: &i32| self.neighbours(*cell).all(|(_, id)| !avoided(id));
        let touched = |cell: i32| Some((self.touching_rooms(cell)?, cell));
        let found: Vec<(usize, i32)> = cells().filter(fits).filter_map(touched).collect();
        let most = found.iter().map(|(count, _)| *count).max().filter(|most| *most > 0)?;
        let best: Vec<i32> =
            found.into_iter().filter(|(count, _)| *count == most).map(|(_, cell)| cell).collect();
        Some(*random.pick(&best))
    }
}

/// The settings of a floor plan that Isaac and Rebirth share.
pub(super) struct PlanSettings {
    pub level: u32,
    /// How many rooms; `None` leaves it to the level.
    pub room_count: Option<u32>,
    /// The most rooms of a floor that is not under the Curse of the Labyrinth.
    pub rooms_max: u32,
    /// How often the floor is under the Curse of the Labyrinth, per cent.
    pub labyrinth: u32,
    pub full_health: bool,
    pub large: LargeRooms,
    /// How often a large boss room is tried, per cent.
    pub large_boss: u32,
    pub locks: u32,
}

impl PlanSettings {
    pub fn check(&self) -> Result<()> {
        if !(1..=LEVEL_MAX).contains(&self.level) {
            return Err(Error::param(format!("level = {}: allowed 1 to {LEVEL_MAX}", self.level)));
        }
        if self.labyrinth > 100 {
            return Err(Error::param(format!(
                "labyrinth = {}: allowed 0 to 100 (per cent)",
                self.labyrinth
            )));
        }
        // If the curse is left to chance, the number must be possible with and without it.
        let least = if self.labyrinth > 0 { LABYRINTH_ROOMS_MIN } else { ROOMS_MIN };
        let most = if self.labyrinth == 100 { LABYRINTH_ROOMS_MAX } else { self.rooms_max };
        if let Some(rooms) = self.room_count.filter(|rooms| !(least..=most).contains(rooms)) {
            return Err(Error::param(format!(
                "room_count = {rooms}: allowed {least} to {most} on the grid of {COLUMNS} x {ROWS} \
                 cells"
            )));
        }
        locks::check(self.locks)
    }

    /// The number of rooms: random(2) + 5 + 2.6 · level, rounded down. A Labyrinth floor has 80 %
    /// more, at most 45.
    fn count(&self, labyrinth: bool, random: &mut Random) -> u32 {
        let plain = random.below(2) + 5 + self.level * 13 / 5;
        match (self.room_count, labyrinth) {
            (Some(rooms), _) => rooms,
            (None, true) => (plain * 9 / 5).min(LABYRINTH_ROOMS_MAX),
            (None, false) => plain.min(self.rooms_max),
        }
    }

    /// The special rooms apart from boss and hidden rooms: those that the floor must have, and
    /// those that take dead ends that are left. A Labyrinth floor has two of each. Its six dead
    /// ends have space for one pair besides treasures and shops.
    fn roles(&self, labyrinth: bool, random: &mut Random) -> [Vec<Role>; 2] {
        let sacrifice = random.chance(1, if self.full_health { 3 } else { 7 });
        let library = random.chance(1, 20);
        let challenge = random.chance(1, 4) && self.level >= 2;
        let drawn =
            [(sacrifice, Role::Sacrifice), (library, Role::Library), (challenge, Role::Challenge)];
        let drawn = drawn.into_iter().filter(|(drawn, _)| *drawn).map(|(_, role)| role);
        let [mut must, mut may] = [vec![Role::Treasure, Role::Shop], vec![]];
        if labyrinth {
            must.extend([Role::Treasure, Role::Shop]);
            may.extend(drawn.take(1).flat_map(|role| [role; 2]));
        } else {
            drawn.for_each(
                |role| if role == Role::Sacrifice { must.push(role) } else { may.push(role) },
            );
        }
        [must, may]
    }

    /// Makes plans until one satisfies all rules.
    pub fn plan(&self, random: &mut Random, observer: &mut Observer) -> Result<(Plan, Tally)> {
        self.check()?;
        let labyrinth = random.chance(self.labyrinth, 100);
        let want = self.count(labyrinth, random);
        let roles = self.roles(labyrinth, random);
        let mut large = self.large.clone();
        let (mut grown, mut rounds) = (want, 0);
        if labyrinth {
            (grown, rounds) = (want - want / LABYRINTH_EXTRA, LABYRINTH_ROUNDS);
            large.spare = large.spare.min(LABYRINTH_CELLS_MAX.saturating_sub(want));
        }
        let mut tally = Tally::default();
        for _ in 0..TRIES_MAX {
            tally.tries += 1;
            let mut plan = Plan::grow(grown, rounds, &large, random, &mut tally, observer);
            plan.labyrinth = labyrinth;
            let whole = plan.rooms.len() as u32 == grown;
            if whole
                && self
                    .place_specials(&mut plan, want - grown, &roles, random, &mut tally)
                    .is_some()
            {
                observer.step("special rooms", || plan.picture(None, None));
                return Ok((plan, tally));
            }
            observer.step("the plan is rejected", || {
                plan.picture(None, None).into_iter().map(|(r, _)| (r, Mark::Refused)).collect()
            });
        }
        let fewer = match self.large.percent {
            0 => String::new(),
            percent => format!(", or a smaller share of large rooms than large = {percent}"),
        };
        Err(Error::limit(format!(
            "{TRIES_MAX} tries gave no floor of {want} rooms with {} dead ends for special rooms: \
             use another room_count (level 4 \
             has 15 or 16 rooms){fewer}",
            roles[0].len() + 1
        )))
    }

    /// Adds `extra` rooms, gives the dead ends their roles, and adds the hidden rooms. `None` means
    /// that the plan lacks a place for a required room.
    fn place_specials(
        &self,
        plan: &mut Plan,
        extra: u32,
        [must, may]: &[Vec<Role>; 2],
        random: &mut Random,
        tally: &mut Tally,
    ) -> Option<()> {
        // They may close loops, but nothing solid.
        for _ in 0..extra {
            let cell = plan.search_secret(|cell| !plan.completes_block(cell), random, tally)?;
            plan.add(PlannedRoom::single(Role::Normal, cell));
            plan.measure();
        }
        let boss = self.place_boss(plan, random)?;
        let other = |id: &usize| *id != boss && plan.rooms[*id].shape == Shape::Single;
        let mut free: Vec<usize> = plan.ends.iter().copied().filter(other).collect();
        if plan.labyrinth {
            let second = plan.cell_next_to_only(boss, random)?;
            plan.add(PlannedRoom::single(Role::Boss, second));
            free.drain(..free.len().saturating_sub(LABYRINTH_ENDS));
        }
        if free.len() < must.len() {
            return None;
        }
        // On a Labyrinth floor, rooms that not every floor has come in pairs or not at all.
        let together = if plan.labyrinth { 2 } else { 1 };
        if !plan.labyrinth && free.len() > must.len() {
            let end = free.pop()?;
            plan.rooms[end].role = Role::SuperSecret;
        }
        for roles in must.chunks(together).chain(may.chunks(together)) {
            if free.len() < roles.len() {
                continue;
            }
            for role in roles {
                let id = free.remove(random.below(free.len() as u32) as usize);
                plan.rooms[id].role = *role;
            }
        }
        if plan.labyrinth && free.len() >= together {
            free.iter()
                .rev()
                .take(together)
                .for_each(|&end| plan.rooms[end].role = Role::SuperSecret);
        }
        for _ in 0..together {
            let cell =
                plan.search_secret(|_| true, random, tally).or_else(|| plan.any_secret(random))?;
            plan.add(PlannedRoom::single(Role::Secret, cell));
        }
        Some(())
    }

    /// Gives the boss a dead end at the largest distance of all rooms that touches no second room.
    /// If a large boss room is wanted, it is the first such dead end that is large or has space for
    /// a large room; otherwise, and if there is none, it is the first single one. Returns the boss
    /// room.
    fn place_boss(&self, plan: &mut Plan, random: &mut Random) -> Option<usize> {
        let farthest = plan.distance.iter().copied().max().filter(|far| *far >= 2)?;
        let suits = |id: &usize| {
            plan.distance[*id] == farthest
                && !plan.rooms[*id].shape.narrow()
                && plan.touches_one(*id)
        };
        let ends: Vec<usize> = plan.ends.iter().rev().copied().filter(suits).collect();
        let single = |id: &usize| plan.rooms[*id].shape == Shape::Single;
        let mut chosen = ends.iter().copied().find(single).map(|end| (end, plan.rooms[end]));
        if self.large_boss > 0 && random.chance(self.large_boss, 100) {
            let mut shapes = [Shape::Big, Shape::Tall, Shape::Wide];
            random.shuffle(&mut shapes);
            let large = |end: usize| match single(&end) {
                true => shapes.iter().find_map(|shape| plan.fit_boss(end, *shape)),
                false => Some(plan.rooms[end]),
            };
            chosen = ends.into_iter().find_map(|end| Some((end, large(end)?))).or(chosen);
        }
        let (end, room) = chosen?;
        plan.rooms[end] = PlannedRoom { role: Role::Boss, ..room };
        room.cells().for_each(|cell| plan.at[(cell + 10) as usize] = end as u8);
        Some(end)
    }
}
