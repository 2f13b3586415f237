//! Floor plans of Isaac and Rebirth on the 9 × 8 grid: growth, dead ends, special rooms and secret
//! rooms.

mod settings;

use super::floor_grid::{SIDES, START, cells, column_and_row, inside, stride};
use super::geometry::{Rect, Side};
use super::model::{Role, Tally};
use super::random::Random;
use super::shape::Shape;
use super::steps::{Mark, Observer};
pub(super) use settings::PlanSettings;
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
                // The row and the column that lack no cell.
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
        // The grid has 72 cells, so the number of a room fits into a byte and is never that of
        // none.
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
        // Of the two cells at a side, the western or the northern one finds it.
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
                // The room that it grows from is one neighbour, and another one would close a loop.
                let crowded = || plan.neighbours(cell).count() > 1;
                if !inside(cell)
                    || plan.room(cell).is_some()
                    || crowded()
                    || plan.rooms.len() as u32 >= want
                {
                    continue;
                }
                // The coin comes last, so that `coins` counts only cells that could have become
                // rooms.
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
            // A shape that does not fit is not drawn again.
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
        // Twelve places are enough, since no shape has more than eight exits.
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
        // A large room may be joined to another one by several doors, and is a dead end all the
        // same.
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
        // `touches_one` holds for the dead end, so its first neighbour is its only one.
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
