//! The data of a finished dungeon: rooms, the graph that joins them, the grid, doors, keys, spawns
//! and tiles.

use super::geometry::{Rect, Side};
use super::shape::Shape;
use super::tiles::Tiles;
use super::{Generator, GeneratorKind};
use serde::{Deserialize, Serialize};

/// A finished dungeon: the rooms, the graph and the grid of the published algorithms, and what a
/// game puts on top of them.
///
/// Coordinates are whole numbers, x to the east and y to the south. A *grid cell* is a cell of the
/// floor plan in Isaac and Rebirth, and a tile in TinyKeep. A *tile* is the unit in which the
/// player moves; a cell of a floor plan has 15 × 9 tiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dungeon {
    /// Which generator made it.
    pub kind: GeneratorKind,
    /// The seed it was made from.
    pub seed: u64,
    /// All settings it was made with.
    pub settings: Generator,
    /// The chapter whose furniture was used (Isaac, Rebirth).
    pub chapter: Option<String>,
    /// Whether the floor is under the Curse of the Labyrinth.
    pub labyrinth: bool,
    /// The rooms. A room's id is its index.
    pub rooms: Vec<Room>,
    /// The other rooms that were made: no corridor crosses them, and they are neither in the grid
    /// nor in the tile map (TinyKeep).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<UnusedRoom>,
    /// The graph: pairs of rooms that are joined.
    pub edges: Vec<Edge>,
    /// Which room occupies which cell.
    pub grid: Grid,
    /// Openings between two rooms, or between a room and a corridor. A door's id is its index.
    pub doors: Vec<Door>,
    /// The keys, in an order in which they can be collected. A key's id is its index.
    pub keys: Vec<Key>,
    /// The rooms on the shortest path from the start to the boss, both included.
    pub critical_path: Vec<u32>,
    /// Where things stand.
    pub spawns: Vec<Spawn>,
    /// The tile map.
    pub tiles: Tiles,
    /// Counts of the attempts and random choices that led to this dungeon.
    pub tally: Tally,
}

/// The purpose of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Where the player begins.
    Start,
    /// No special purpose.
    Normal,
    /// The end of the floor.
    Boss,
    /// A free item.
    Treasure,
    /// Items for sale.
    Shop,
    /// Spikes that trade health for rewards.
    Sacrifice,
    /// Books.
    Library,
    /// Several waves of enemies that guard an item.
    Challenge,
    /// Hidden, preferably between three rooms or more. On small floors it may touch only one.
    Secret,
    /// Hidden at a dead end.
    SuperSecret,
    /// A room that corridors pass through.
    Hallway,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 11] = [
        Role::Start,
        Role::Normal,
        Role::Boss,
        Role::Treasure,
        Role::Shop,
        Role::Sacrifice,
        Role::Library,
        Role::Challenge,
        Role::Secret,
        Role::SuperSecret,
        Role::Hallway,
    ];

    /// The name of this role in JSON and in furniture files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Start => "start",
            Role::Normal => "normal",
            Role::Boss => "boss",
            Role::Treasure => "treasure",
            Role::Shop => "shop",
            Role::Sacrifice => "sacrifice",
            Role::Library => "library",
            Role::Challenge => "challenge",
            Role::Secret => "secret",
            Role::SuperSecret => "super_secret",
            Role::Hallway => "hallway",
        }
    }

    /// Whether the doors of the room are breakable walls.
    pub fn hidden(self) -> bool {
        matches!(self, Role::Secret | Role::SuperSecret)
    }
}

/// A room.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Room {
    /// Its index among the rooms.
    pub id: u32,
    /// Its purpose.
    pub role: Role,
    /// Its bounds in grid cells.
    #[serde(flatten)]
    pub rect: Rect,
    /// Its bounds in tiles: walls included in Isaac and Rebirth, the floor alone in TinyKeep.
    pub tiles: Rect,
    /// The number of edges on the shortest path from the start, locks ignored. Hidden rooms and
    /// hallways have none.
    pub distance: Option<u32>,
    /// Its shape on the floor plan (Isaac, Rebirth).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Its cells on the floor plan, each as 10 · row + column (Isaac, Rebirth).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<u8>,
    /// The names of the furniture in its cells (Isaac, Rebirth).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub furniture: Vec<String>,
    /// The connected set of corridors that it belongs to, if it is a hallway (TinyKeep).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hall: Option<u32>,
}

impl Room {
    /// Whether a grid cell belongs to the room. The bounds of an L-shaped room contain one that
    /// does not.
    pub fn occupies(&self, cell: i32) -> bool {
        u8::try_from(cell).is_ok_and(|cell| self.cells.contains(&cell))
    }
}

/// A room that is not part of the finished dungeon.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnusedRoom {
    /// Its number; the first follows the last of [`Dungeon::rooms`].
    pub id: u32,
    /// Its bounds in grid cells. It may lie outside the grid.
    #[serde(flatten)]
    pub rect: Rect,
}

/// Two rooms that are joined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// The room with the lower id.
    pub a: u32,
    /// The other room.
    pub b: u32,
    /// The length in grid cells: 1 on a floor plan; in TinyKeep, the cells of the corridor from
    /// door to door.
    pub length: u32,
    /// Whether the two rooms are connected without this edge. In TinyKeep these are the edges added
    /// back after the spanning tree.
    pub extra: bool,
    /// The doors: all doors between the two rooms, or the two ends of the corridor, with the door
    /// of `a` first.
    pub doors: Vec<u32>,
    /// The centre line of the corridor in grid cells, from door to door: its start, its bends and
    /// its end (TinyKeep).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<[i32; 2]>,
}

/// Which room occupies which cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    /// The number of columns.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// The rows of cells. Each cell is the id of a room, [`Grid::EMPTY`] or [`Grid::CORRIDOR`].
    pub rows: Vec<Vec<i32>>,
}

impl Grid {
    /// An empty cell.
    pub const EMPTY: i32 = -1;
    /// A cell of a corridor that belongs to no room.
    pub const CORRIDOR: i32 = -2;

    /// The value of a cell. Outside the grid it is [`Grid::EMPTY`].
    pub fn at(&self, [x, y]: [i32; 2]) -> i32 {
        let row = usize::try_from(y).ok().and_then(|y| self.rows.get(y));
        let cell = row.and_then(|row| usize::try_from(x).ok().and_then(|x| row.get(x)));
        cell.copied().unwrap_or(Self::EMPTY)
    }
}

/// How a door can be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DoorState {
    /// The door is open.
    Open,
    /// The door needs its key.
    Locked,
    /// The door is a breakable wall. It leads to a hidden room, and no other room is reached only
    /// through it.
    Breakable,
}

/// An opening in the wall of a room.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Door {
    /// Its index among the doors.
    pub id: u32,
    /// The room whose wall it is in.
    pub from: u32,
    /// The room behind it. A door to a corridor has none.
    pub to: Option<u32>,
    /// The connected set of corridors behind it, counted from 0 (TinyKeep).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hall: Option<u32>,
    /// The middle tile, in the wall of `from`. A door between two rooms also has a tile in the wall
    /// of `to`, behind this one.
    pub x: i32,
    /// See `x`.
    pub y: i32,
    /// The side of `from` that it is in.
    pub side: Side,
    /// Its width along the wall, in tiles. The middle tile is at index `width / 2`.
    pub width: u32,
    /// How it can be passed. JSON calls this field `way`.
    #[serde(rename = "way")]
    pub state: DoorState,
    /// The key it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
}

impl Door {
    /// Its tiles: those in the wall of `from`, and those behind them in the wall of `to`.
    pub fn tiles(&self) -> impl Iterator<Item = [i32; 2]> + use<> {
        let [dx, dy] = self.side.step();
        let (x, y, width) = (self.x, self.y, self.width as i32);
        let deep = if self.to.is_some() { 2 } else { 1 };
        // The wall runs at right angles to the step.
        (0..width).map(move |i| i - width / 2).flat_map(move |i| {
            (0..deep).map(move |j| [x + i * dy.abs() + j * dx, y + i * dx.abs() + j * dy])
        })
    }
}

/// A key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// Its index among the keys.
    pub id: u32,
    /// The room it lies in.
    pub room: u32,
    /// The room it opens.
    pub opens: u32,
    /// The doors it opens.
    pub doors: Vec<u32>,
}

/// What stands on a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Thing {
    /// The player at the beginning.
    Player,
    /// An enemy.
    Enemy,
    /// The boss.
    Boss,
    /// An item.
    Item,
    /// Something for sale.
    Ware,
    /// A fire.
    Fire,
    /// A key.
    Key,
}

impl Thing {
    /// The name of this thing in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Thing::Player => "player",
            Thing::Enemy => "enemy",
            Thing::Boss => "boss",
            Thing::Item => "item",
            Thing::Ware => "ware",
            Thing::Fire => "fire",
            Thing::Key => "key",
        }
    }

    /// The letter for this thing on text maps.
    pub fn letter(self) -> char {
        match self {
            Thing::Player => '@',
            Thing::Enemy => 'e',
            Thing::Boss => 'B',
            Thing::Item => 'i',
            Thing::Ware => '$',
            Thing::Fire => 'f',
            Thing::Key => 'k',
        }
    }
}

/// Something that stands on a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spawn {
    /// What it is.
    pub thing: Thing,
    /// The room it stands in.
    pub room: u32,
    /// The tile it stands on.
    pub x: i32,
    /// See `x`.
    pub y: i32,
    /// For a key, its id. Otherwise 0 for the ordinary variant and 1 for the rare one: a champion
    /// among enemies, a red fire.
    pub variant: u32,
}

/// Counts of the attempts and random choices that led to a dungeon. The tests of probabilities read
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Floor plans begun, including the last one (Isaac, Rebirth), or times the sizes of all rooms
    /// were drawn (TinyKeep).
    pub tries: u32,
    /// Candidate cells for which a coin was tossed, in all tries.
    pub coins: u32,
    /// How many of these coins allowed a room.
    pub grown: u32,
    /// Large rooms placed, in all tries.
    pub large: u32,
    /// How many of these removed their shape from the pool.
    pub removed: u32,
    /// Cells drawn in the search for a place for the last secret room, at most 900.
    pub hiding: u32,
}
