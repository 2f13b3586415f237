//! Distances, the way to the boss, and keys and locks that can always be opened.
//!
//! **Invariant.** Keys are numbered. The room of key *k* can be reached from the start through doors that are open or whose
//! keys have lower numbers. So the keys can be collected in their order, and after the last one every room that is not
//! hidden can be reached. It holds by construction: locks are chosen first, and key *k* is then put into what can be reached
//! while the locks *k* and higher are closed, which holds the start at least.

use super::random::Random;
use super::{Dungeon, Key, Role, Spawn, Thing, Tile, Way};
use crate::error::{Error, Result};
use petgraph::algo::astar;
use petgraph::graph::{NodeIndex, UnGraph};
use std::collections::VecDeque;

/// Most rooms that may be locked.
pub const LOCKS_MAX: u32 = 8;

pub(super) fn check(locks: u32) -> Result<()> {
    if locks > LOCKS_MAX {
        return Err(Error::param(format!("locks = {locks}: allowed 0 to {LOCKS_MAX}")));
    }
    Ok(())
}

/// Fills in the distances of rooms and the critical path.
pub(super) fn measure(dungeon: &mut Dungeon) {
    let known = |id: u32| !dungeon.rooms[id as usize].role.hidden();
    let edges: Vec<_> = dungeon.edges.iter().filter(|e| known(e.a) && known(e.b)).map(|e| (e.a, e.b, e.length)).collect();
    let Some(start) = dungeon.rooms.iter().position(|room| room.role == Role::Start) else { return };
    let mut next = vec![vec![]; dungeon.rooms.len()];
    for &(a, b, _) in &edges {
        next[a as usize].push(b as usize);
        next[b as usize].push(a as usize);
    }
    let mut queue = VecDeque::from([start]);
    dungeon.rooms[start].distance = Some(0);
    while let Some(room) = queue.pop_front() {
        for &other in &next[room] {
            if dungeon.rooms[other].distance.is_none() {
                dungeon.rooms[other].distance = dungeon.rooms[room].distance.map(|d| d + 1);
                queue.push_back(other);
            }
        }
    }
    let bosses = dungeon.rooms.iter().filter(|room| room.role == Role::Boss);
    let Some(boss) = bosses.max_by_key(|room| room.distance).map(|room| room.id) else { return };
    let graph = UnGraph::<(), u32>::from_edges(edges);
    let way = astar(&graph, NodeIndex::new(start), |n| n.index() == boss as usize, |e| *e.weight(), |_| 0);
    dungeon.critical_path = way.map(|(_, rooms)| rooms.into_iter().map(|n| n.index() as u32).collect()).unwrap_or_default();
}

/// Rooms, then corridors, as nodes, and what each door joins.
struct Ways {
    nodes: usize,
    doors: Vec<(usize, usize)>,
    /// Of each node: its doors.
    at: Vec<Vec<usize>>,
    start: usize,
}

impl Ways {
    fn new(dungeon: &Dungeon) -> Self {
        let rooms = dungeon.rooms.len();
        let behind = |door: &super::Door| match (door.to, door.hall) {
            (Some(room), _) => room as usize,
            (None, hall) => rooms + hall.unwrap_or(0) as usize,
        };
        let doors: Vec<_> = dungeon.doors.iter().map(|door| (door.from as usize, behind(door))).collect();
        let nodes = doors.iter().map(|(_, b)| b + 1).max().unwrap_or(0).max(rooms);
        let mut at = vec![vec![]; nodes];
        for (i, &(a, b)) in doors.iter().enumerate() {
            at[a].push(i);
            at[b].push(i);
        }
        let start = dungeon.rooms.iter().position(|room| room.role == Role::Start).unwrap_or(0);
        Self { nodes, doors, at, start }
    }

    /// What can be reached from the start without the doors that are closed and without a node.
    fn reached(&self, closed: &[bool], without: Option<usize>) -> Vec<bool> {
        let mut reached = vec![false; self.nodes];
        let mut open = vec![self.start];
        while let Some(node) = open.pop() {
            if Some(node) == without || std::mem::replace(&mut reached[node], true) {
                continue;
            }
            let doors = self.at[node].iter().filter(|door| !closed[**door]).map(|&door| self.doors[door]);
            open.extend(doors.map(|(a, b)| if a == node { b } else { a }).filter(|&b| !reached[b]));
        }
        reached
    }
}

/// Locks up to `count` rooms, the boss's last, and puts their keys where they can be reached.
pub(super) fn place(dungeon: &mut Dungeon, count: u32, random: &mut Random) {
    let ways = Ways::new(dungeon);
    let walls: Vec<bool> = dungeon.doors.iter().map(|door| door.way == Way::Breakable).collect();
    let reach = |room: &super::Room| room.distance;
    let lockable = |room: &&super::Room| room.role != Role::Start && room.distance.is_some();
    let mut rooms: Vec<usize> = dungeon.rooms.iter().filter(lockable).map(|room| room.id as usize).collect();
    random.shuffle(&mut rooms);
    // The first boss room comes before all others.
    rooms.sort_by_key(|&id| match dungeon.rooms[id].role {
        Role::Boss => reach(&dungeon.rooms[id]).unwrap_or(u32::MAX),
        _ => u32::MAX,
    });
    let mut locks: Vec<(usize, Vec<usize>)> = vec![];
    for room in rooms {
        if locks.len() as u32 >= count {
            break;
        }
        // The doors by which one comes to the room, not those by which one goes on.
        let outside = ways.reached(&walls, Some(room));
        let enters = |door: &usize| {
            let (a, b) = ways.doors[*door];
            !walls[*door] && outside[if a == room { b } else { a }]
        };
        let doors: Vec<usize> = ways.at[room].iter().copied().filter(enters).collect();
        let apart = locks.iter().all(|(_, others)| doors.iter().all(|door| !others.contains(door)));
        if apart && !doors.is_empty() {
            locks.push((room, doors));
        }
    }
    locks.sort_by_key(|(room, _)| (dungeon.rooms[*room].role == Role::Boss, dungeon.rooms[*room].distance, *room));

    let mut before = vec![false; ways.nodes];
    let mut taken = vec![false; ways.nodes];
    for k in 0..locks.len() {
        let mut closed = walls.clone();
        locks[k..].iter().flat_map(|(_, doors)| doors).for_each(|&door| closed[door] = true);
        let reached = ways.reached(&closed, None);
        let fits = |id: &usize| reached[*id] && !taken[*id] && *id != ways.start && dungeon.rooms[*id].distance.is_some();
        let all: Vec<usize> = (0..dungeon.rooms.len()).filter(fits).collect();
        // Rather where the lock before this one has led to.
        let new: Vec<usize> = all.iter().copied().filter(|&id| !before[id]).collect();
        let room = match (new.is_empty(), all.is_empty()) {
            (false, _) => *random.pick(&new),
            (_, false) => *random.pick(&all),
            _ => ways.start,
        };
        taken[room] = true;
        before = reached;
        let doors = locks[k].1.iter().map(|&door| door as u32).collect();
        dungeon.keys.push(Key { id: k as u32, room: room as u32, opens: locks[k].0 as u32, doors });
        let [x, y] = free_tile(dungeon, room as u32, random);
        dungeon.spawns.push(Spawn { thing: Thing::Key, room: room as u32, x, y, variant: k as u32 });
        for &door in &locks[k].1 {
            shut(dungeon, door, k as u32);
        }
    }
}

/// A tile of floor on which nothing stands; the room's middle if there is none.
pub(super) fn free_tile(dungeon: &Dungeon, room: u32, random: &mut Random) -> [i32; 2] {
    let Some(at) = dungeon.rooms.get(room as usize) else { return [0, 0] };
    let inside = |&[x, y]: &[i32; 2]| match at.shape {
        // Of a bent room the bounds hold cells of others.
        Some(_) => {
            let [width, height] = super::floor::CELL;
            at.cells.contains(&((y / height * 10 + x / width + 1) as u8))
        }
        None => true,
    };
    let taken = |[x, y]: [i32; 2]| dungeon.spawns.iter().any(|spawn| [spawn.x, spawn.y] == [x, y]);
    let free = |place: &[i32; 2]| dungeon.tiles.at(*place) == Tile::Floor && inside(place) && !taken(*place);
    // A few throws are nearly always enough, and a look at every tile always is.
    for _ in 0..32 {
        let place =
            [at.tiles.x + random.below(at.tiles.width as u32) as i32, at.tiles.y + random.below(at.tiles.height as u32) as i32];
        if free(&place) {
            return place;
        }
    }
    at.tiles.cells().find(|place| free(place)).unwrap_or(at.tiles.centre())
}

/// Locks a door, on all of its tiles.
fn shut(dungeon: &mut Dungeon, door: usize, key: u32) {
    let door = &mut dungeon.doors[door];
    (door.way, door.key) = (Way::Locked, Some(key));
    for place in door.tiles() {
        dungeon.tiles.set(place, Tile::Locked);
    }
}

impl super::Door {
    /// Its tiles: along the wall of `from`, and those in the wall of `to` behind it.
    pub fn tiles(&self) -> impl Iterator<Item = [i32; 2]> + use<> {
        let [dx, dy] = self.side.step();
        let (x, y, half) = (self.x, self.y, self.width as i32 / 2);
        let deep = if self.to.is_some() { 2 } else { 1 };
        let width = self.width as i32;
        // Along the wall is across the step.
        (0..width)
            .flat_map(move |i| (0..deep).map(move |j| [x + (i - half) * dy.abs() + j * dx, y + (i - half) * dx.abs() + j * dy]))
    }
}
