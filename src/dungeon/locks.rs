//! Distances, the path to the boss, and locks whose keys can always be reached.
//!
//! **Invariant.** Keys are numbered. The room of key *k* can be reached from the start through open
//! doors and doors whose keys have lower numbers. So the keys can be collected in order, and after
//! the last one every room that is not hidden can be reached. This holds by construction: the locks
//! are chosen first, and key *k* is then put into a room that can be reached while lock *k* and all
//! higher locks are closed. The start is always such a room.

use super::floor_grid;
use super::model::{Door, DoorState, Dungeon, Key, Role, Room, Spawn, Thing};
use super::random::Random;
use super::tiles::Tile;
use crate::error::{Error, Result};
use petgraph::algo::astar;
use petgraph::graph::{NodeIndex, UnGraph};
use std::collections::VecDeque;

/// The most rooms that can be locked.
pub const LOCKS_MAX: u32 = 8;

pub(super) fn check(locks: u32) -> Result<()> {
    if locks > LOCKS_MAX {
        return Err(Error::param(format!("locks = {locks}: allowed 0 to {LOCKS_MAX}")));
    }
    Ok(())
}

/// Fills in the distances of the rooms and the critical path.
pub(super) fn measure(dungeon: &mut Dungeon) {
    let visible = |id: u32| !dungeon.rooms[id as usize].role.hidden();
    let edges: Vec<_> = dungeon
        .edges
        .iter()
        .filter(|e| visible(e.a) && visible(e.b))
        .map(|e| (e.a, e.b, e.length))
        .collect();
    let Some(start) = dungeon.rooms.iter().position(|room| room.role == Role::Start) else {
        return;
    };
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
    // Of two boss rooms the farther one ends the path.
    let bosses = dungeon.rooms.iter().filter(|room| room.role == Role::Boss);
    let Some(boss) = bosses.max_by_key(|room| room.distance).map(|room| room.id) else { return };
    let graph = UnGraph::<(), u32>::from_edges(edges);
    // With an estimate of 0 the search is Dijkstra's.
    let path = astar(
        &graph,
        NodeIndex::new(start),
        |n| n.index() == boss as usize,
        |e| *e.weight(),
        |_| 0,
    );
    dungeon.critical_path = path
        .map(|(_, rooms)| rooms.into_iter().map(|n| n.index() as u32).collect())
        .unwrap_or_default();
}

/// The graph of doors. Its nodes are the rooms, followed by the connected sets of corridors.
struct DoorGraph {
    nodes: usize,
    /// The two nodes that each door joins.
    doors: Vec<(usize, usize)>,
    /// The doors of each node.
    at: Vec<Vec<usize>>,
    start: usize,
}

impl DoorGraph {
    fn new(dungeon: &Dungeon) -> Self {
        let rooms = dungeon.rooms.len();
        let behind = |door: &Door| match (door.to, door.hall) {
            (Some(room), _) => room as usize,
            (None, hall) => rooms + hall.unwrap_or(0) as usize,
        };
        let doors: Vec<_> =
            dungeon.doors.iter().map(|door| (door.from as usize, behind(door))).collect();
        let nodes = doors.iter().map(|(_, b)| b + 1).max().unwrap_or(0).max(rooms);
        let mut at = vec![vec![]; nodes];
        for (i, &(a, b)) in doors.iter().enumerate() {
            at[a].push(i);
            at[b].push(i);
        }
        let start = dungeon.rooms.iter().position(|room| room.role == Role::Start).unwrap_or(0);
        Self { nodes, doors, at, start }
    }

    /// Which nodes can be reached from the start without passing a closed door or the node
    /// `without`.
    fn reached(&self, closed: &[bool], without: Option<usize>) -> Vec<bool> {
        let mut reached = vec![false; self.nodes];
        let mut open = vec![self.start];
        while let Some(node) = open.pop() {
            if Some(node) == without || std::mem::replace(&mut reached[node], true) {
                continue;
            }
            let doors =
                self.at[node].iter().filter(|door| !closed[**door]).map(|&door| self.doors[door]);
            open.extend(doors.map(|(a, b)| if a == node { b } else { a }).filter(|&b| !reached[b]));
        }
        reached
    }
}

/// Locks up to `count` rooms, among them the boss room, and puts their keys where they can be
/// reached.
pub(super) fn place(dungeon: &mut Dungeon, count: u32, random: &mut Random) {
    let graph = DoorGraph::new(dungeon);
    // Breakable walls count as closed, so no key lies behind one.
    let walls: Vec<bool> =
        dungeon.doors.iter().map(|door| door.state == DoorState::Breakable).collect();
    let lockable = |room: &&Room| room.role != Role::Start && room.distance.is_some();
    let mut rooms: Vec<usize> =
        dungeon.rooms.iter().filter(lockable).map(|room| room.id as usize).collect();
    random.shuffle(&mut rooms);
    // The boss room is chosen first. If there are two, the nearer one comes first.
    rooms.sort_by_key(|&id| match dungeon.rooms[id].role {
        Role::Boss => dungeon.rooms[id].distance.unwrap_or(u32::MAX),
        _ => u32::MAX,
    });
    let mut locks: Vec<(usize, Vec<usize>)> = vec![];
    for room in rooms {
        if locks.len() as u32 >= count {
            break;
        }
        // Only the doors that lead to the room from the start are locked, not those that lead on
        // from it.
        let outside = graph.reached(&walls, Some(room));
        let enters = |door: &usize| {
            let (a, b) = graph.doors[*door];
            !walls[*door] && outside[if a == room { b } else { a }]
        };
        let doors: Vec<usize> = graph.at[room].iter().copied().filter(enters).collect();
        // A door has one key, so two rooms that share a door are not both locked.
        let apart = locks.iter().all(|(_, others)| doors.iter().all(|door| !others.contains(door)));
        if apart && !doors.is_empty() {
            locks.push((room, doors));
        }
    }
    // In the order in which their keys are found, with the boss last.
    locks.sort_by_key(|(room, _)| {
        (dungeon.rooms[*room].role == Role::Boss, dungeon.rooms[*room].distance, *room)
    });

    let mut before = vec![false; graph.nodes];
    let mut taken = vec![false; graph.nodes];
    for k in 0..locks.len() {
        // A key lies where one comes without it and without those that follow, so that it can be
        // found.
        let mut closed = walls.clone();
        locks[k..].iter().flat_map(|(_, doors)| doors).for_each(|&door| closed[door] = true);
        let reached = graph.reached(&closed, None);
        let fits = |id: &usize| {
            reached[*id]
                && !taken[*id]
                && *id != graph.start
                && dungeon.rooms[*id].distance.is_some()
        };
        let all: Vec<usize> = (0..dungeon.rooms.len()).filter(fits).collect();
        // A room behind the previous lock is preferred.
        let new: Vec<usize> = all.iter().copied().filter(|&id| !before[id]).collect();
        let room = match (new.is_empty(), all.is_empty()) {
            (false, _) => *random.pick(&new),
            (_, false) => *random.pick(&all),
            _ => graph.start,
        };
        taken[room] = true;
        before = reached;
        let doors = locks[k].1.iter().map(|&door| door as u32).collect();
        dungeon.keys.push(Key { id: k as u32, room: room as u32, opens: locks[k].0 as u32, doors });
        let [x, y] = free_tile(dungeon, room as u32, random);
        dungeon.spawns.push(Spawn {
            thing: Thing::Key,
            room: room as u32,
            x,
            y,
            variant: k as u32,
        });
        for &door in &locks[k].1 {
            lock(dungeon, door, k as u32);
        }
    }
}

/// A floor tile of the room on which nothing stands, or the middle of the room if there is none.
pub(super) fn free_tile(dungeon: &Dungeon, room: u32, random: &mut Random) -> [i32; 2] {
    let Some(room) = dungeon.rooms.get(room as usize) else { return [0, 0] };
    // The bounds of an L-shaped room contain a cell of another room.
    let inside = |at: [i32; 2]| room.cells.is_empty() || room.occupies(floor_grid::cell_at(at));
    let taken = |[x, y]: [i32; 2]| dungeon.spawns.iter().any(|spawn| [spawn.x, spawn.y] == [x, y]);
    let free = |at: &[i32; 2]| dungeon.tiles.at(*at) == Tile::Floor && inside(*at) && !taken(*at);
    // A few random tiles are nearly always enough. If not, the first free tile is taken.
    let bounds = room.tiles;
    for _ in 0..32 {
        let at = [
            bounds.x + random.below(bounds.width as u32) as i32,
            bounds.y + random.below(bounds.height as u32) as i32,
        ];
        if free(&at) {
            return at;
        }
    }
    bounds.cells().find(|at| free(at)).unwrap_or(bounds.centre())
}

/// Locks a door and all its tiles.
fn lock(dungeon: &mut Dungeon, door: usize, key: u32) {
    let door = &mut dungeon.doors[door];
    (door.state, door.key) = (DoorState::Locked, Some(key));
    for at in door.tiles() {
        dungeon.tiles.set(at, Tile::Locked);
    }
}
