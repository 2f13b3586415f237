//! Dungeons for games: floors of rooms on a grid after *The Binding of Isaac* and its remake *Rebirth*, and layouts of many
//! rooms and corridors after *TinyKeep*.
//!
//! A [`Generator`] and a seed make a [`Dungeon`]: plain data, with the graph of its rooms, doors, keys, and what stands where.
//! Nothing here reads files or knows of terminals; [`crate::io::dungeon`] turns dungeons into bytes.
//!
//! ```
//! use thalweg::dungeon::{Generator, Role, isaac, rooms::Rooms};
//!
//! let floor = Generator::Isaac(isaac::Settings { level: 3, ..Default::default() });
//! let dungeon = floor.make(7, &Rooms::standard())?;
//! let boss = dungeon.rooms.iter().find(|room| room.role == Role::Boss).expect("every floor has one");
//! println!("{} rooms, the boss {} doors away", dungeon.rooms.len(), boss.distance.unwrap_or(0));
//! # assert!(dungeon.rooms.len() >= 12 && boss.distance > Some(1));
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! Sources: BorisTheBrave, *Dungeon Generation in Binding of Isaac*, 2020; Phi Dinh, *Procedural Dungeon Generation Algorithm
//! Explained*, 2013, and A. Adonaac, *Procedural Dungeon Generation Algorithm*, 2015. `docs/dungeons.md` in the repository has
//! the rules, and what was chosen where they are silent.

mod floor;
pub mod isaac;
pub mod locks;
pub mod placed;
pub mod random;
pub mod rebirth;
pub mod rooms;
pub mod tinykeep;

use crate::error::Result;
use serde::Serialize;

/// Which dungeons to make, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Generator {
    /// A floor of single rooms without loops.
    Isaac(isaac::Settings),
    /// A floor with large rooms.
    Rebirth(rebirth::Settings),
    /// Rooms pushed apart, and corridors between the large ones.
    TinyKeep(tinykeep::Settings),
}

impl Generator {
    /// Makes the dungeon of a seed. `rooms` furnishes the floors of Isaac and Rebirth; TinyKeep does not need it.
    ///
    /// The same settings, rooms and seed give the same dungeon on every platform.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for settings that contradict each other and [`crate::Error::Limit`] for those that no dungeon
    /// fulfils within the tries that are allowed; both say what would be possible.
    pub fn make(&self, seed: u64, rooms: &rooms::Rooms) -> Result<Dungeon> {
        self.run(seed, rooms, None)
    }

    /// As [`Generator::make`], and tells every step of the layout.
    ///
    /// # Errors
    /// As [`Generator::make`].
    pub fn make_step_by_step(&self, seed: u64, rooms: &rooms::Rooms, tell: &mut dyn FnMut(Step)) -> Result<Dungeon> {
        self.run(seed, rooms, Some(tell))
    }

    fn run(&self, seed: u64, rooms: &rooms::Rooms, tell: Option<&mut dyn FnMut(Step)>) -> Result<Dungeon> {
        match self {
            Self::Isaac(settings) => isaac::make(settings, seed, rooms, tell),
            Self::Rebirth(settings) => rebirth::make(settings, seed, rooms, tell),
            Self::TinyKeep(settings) => tinykeep::make(settings, seed, tell),
        }
    }

    /// Which kind it makes.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Isaac(_) => Kind::Isaac,
            Self::Rebirth(_) => Kind::Rebirth,
            Self::TinyKeep(_) => Kind::TinyKeep,
        }
    }
}

/// The kinds of dungeon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// See [`isaac`].
    Isaac,
    /// See [`rebirth`].
    Rebirth,
    /// See [`tinykeep`].
    TinyKeep,
}

impl Kind {
    /// Its name in the command, in recipes and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isaac => "isaac",
            Self::Rebirth => "rebirth",
            Self::TinyKeep => "tinykeep",
        }
    }
}

/// A finished dungeon: three structures (rooms, graph, grid), and what a game puts on top of them.
///
/// Coordinates are whole numbers, x to the east and y to the south. *Grid cells* count rooms' places: cells of the floor plan
/// in Isaac and Rebirth, tiles in TinyKeep. *Tiles* are what people walk on; a cell of a floor plan has 15 × 9 of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dungeon {
    /// How it was made.
    pub kind: Kind,
    /// The seed it was made from.
    pub seed: u64,
    /// All settings it was made with.
    pub settings: Generator,
    /// The chapter whose rooms were used, where there are chapters.
    pub chapter: Option<String>,
    /// Whether it is under the Curse of the Labyrinth.
    pub labyrinth: bool,
    /// The rooms; a room's id is its index.
    pub rooms: Vec<Room>,
    /// The graph: pairs of rooms that are joined.
    pub edges: Vec<Edge>,
    /// Which room lies where.
    pub grid: Grid,
    /// Openings between rooms, or between a room and the corridors; a door's id is its index.
    pub doors: Vec<Door>,
    /// Keys, in an order in which they can be collected; a key's id is its index.
    pub keys: Vec<Key>,
    /// The rooms on the shortest way from the start to the boss, both included.
    pub critical_path: Vec<u32>,
    /// Where things stand.
    pub spawns: Vec<Spawn>,
    /// What there is on every tile.
    pub tiles: Tiles,
    /// How the making went.
    pub tally: Tally,
}

/// What a room is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Where the player begins.
    Start,
    /// Nothing special.
    Normal,
    /// The end of the floor.
    Boss,
    /// An item for nothing.
    Treasure,
    /// Items for money.
    Shop,
    /// Spikes that give for what they take.
    Sacrifice,
    /// Books.
    Library,
    /// Several waves of enemies for an item.
    Challenge,
    /// Hidden between as many rooms as possible.
    Secret,
    /// Hidden at a dead end.
    SuperSecret,
    /// A room that is part of the corridors.
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

    /// Its name in JSON and room files.
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

    /// Whether its doors are walls that have to be broken.
    pub fn hidden(self) -> bool {
        matches!(self, Role::Secret | Role::SuperSecret)
    }
}

/// A rectangle of cells or tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Rect {
    /// Its westernmost column.
    pub x: i32,
    /// Its northernmost row.
    pub y: i32,
    /// Columns.
    pub width: i32,
    /// Rows.
    pub height: i32,
}

impl Rect {
    /// Whether a cell lies in it.
    pub fn contains(&self, [x, y]: [i32; 2]) -> bool {
        (self.x..self.x + self.width).contains(&x) && (self.y..self.y + self.height).contains(&y)
    }

    /// Whether two rectangles share a cell.
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// The cell in the middle, or the one before it.
    pub fn centre(&self) -> [i32; 2] {
        [self.x + (self.width - 1) / 2, self.y + (self.height - 1) / 2]
    }

    /// It with a border of `by` cells more.
    pub fn grown(&self, by: i32) -> Rect {
        Rect { x: self.x - by, y: self.y - by, width: self.width + 2 * by, height: self.height + 2 * by }
    }

    /// Its cells, row by row.
    pub fn cells(self) -> impl Iterator<Item = [i32; 2]> {
        (self.y..self.y + self.height).flat_map(move |y| (self.x..self.x + self.width).map(move |x| [x, y]))
    }
}

/// A room.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Room {
    /// Its index among the rooms.
    pub id: u32,
    /// What it is for.
    pub role: Role,
    /// Its bounds in grid cells.
    #[serde(flatten)]
    pub rect: Rect,
    /// Its bounds in tiles: walls included in Isaac and Rebirth, the floor alone in TinyKeep.
    pub tiles: Rect,
    /// Doors on the shortest way from the start, locks aside; none for what no door leads to (a hallway) and for hidden rooms.
    pub distance: Option<u32>,
    /// Its shape on the floor plan (Isaac, Rebirth).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<rebirth::Shape>,
    /// Its cells on the floor plan, each as 10 · row + column (Isaac, Rebirth).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<u8>,
    /// The furniture of each of its cells, by name (Isaac, Rebirth).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub furniture: Vec<String>,
    /// The corridors it belongs to, for a hallway (TinyKeep).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hall: Option<u32>,
}

/// Two rooms that are joined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// The room with the lower id.
    pub a: u32,
    /// The other one.
    pub b: u32,
    /// How far it is, in grid cells: 1 on a floor plan, the corridor's cells from door to door in TinyKeep.
    pub length: u32,
    /// Whether the rooms would be joined without it: it was given back after the spanning tree (TinyKeep), or closes a loop.
    pub extra: bool,
    /// Its doors: one or more between the two rooms, or one at each end of the corridor, first that of `a`.
    pub doors: Vec<u32>,
    /// The middle of the corridor in grid cells, from door to door, where it starts, turns and ends (TinyKeep).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<[i32; 2]>,
}

/// Which room lies where: the third of the structures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Rows of cells: a room's id, [`Grid::EMPTY`] or [`Grid::CORRIDOR`].
    pub rows: Vec<Vec<i32>>,
}

impl Grid {
    /// A cell of nothing.
    pub const EMPTY: i32 = -1;
    /// A cell of a corridor that belongs to no room.
    pub const CORRIDOR: i32 = -2;

    /// What is at a cell; nothing outside.
    pub fn at(&self, [x, y]: [i32; 2]) -> i32 {
        let row = usize::try_from(y).ok().and_then(|y| self.rows.get(y));
        let cell = row.and_then(|row| usize::try_from(x).ok().and_then(|x| row.get(x)));
        cell.copied().unwrap_or(Self::EMPTY)
    }
}

/// A side of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where y is smallest.
    North,
    /// Where x is largest.
    East,
    /// Where y is largest.
    South,
    /// Where x is smallest.
    West,
}

impl Side {
    /// All sides, clockwise.
    pub const ALL: [Side; 4] = [Side::North, Side::East, Side::South, Side::West];

    /// One step out of that side.
    pub fn step(self) -> [i32; 2] {
        match self {
            Side::North => [0, -1],
            Side::East => [1, 0],
            Side::South => [0, 1],
            Side::West => [-1, 0],
        }
    }

    /// The other side.
    pub fn opposite(self) -> Side {
        match self {
            Side::North => Side::South,
            Side::East => Side::West,
            Side::South => Side::North,
            Side::West => Side::East,
        }
    }
}

/// How a door opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// It is open.
    Open,
    /// With its key.
    Locked,
    /// It is a wall that can be broken; no way to any other room leads through it alone.
    Breakable,
}

/// An opening in a room's wall.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Door {
    /// Its index among the doors.
    pub id: u32,
    /// The room whose wall it is in.
    pub from: u32,
    /// The room behind it; none where it leads to corridors.
    pub to: Option<u32>,
    /// The corridors behind it, counted from 0 (TinyKeep).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hall: Option<u32>,
    /// The tile in the middle of it, in the wall of `from`. Behind it lies the wall of `to`, with the door's other half.
    pub x: i32,
    /// See `x`.
    pub y: i32,
    /// The side of `from` that it is in.
    pub side: Side,
    /// Tiles that it is wide, along the wall; as many on either side of the middle.
    pub width: u32,
    /// How it opens.
    pub way: Way,
    /// The key it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
}

/// A key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// Its index among the keys.
    pub id: u32,
    /// The room it lies in.
    pub room: u32,
    /// The room that it opens.
    pub opens: u32,
    /// The doors that it opens.
    pub doors: Vec<u32>,
}

/// What stands somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Thing {
    /// The player, at the beginning.
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
    /// A key; `variant` is its id.
    Key,
}

impl Thing {
    /// Its name in JSON.
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

    /// Its letter on text maps.
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

/// A place where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spawn {
    /// What.
    pub thing: Thing,
    /// In which room.
    pub room: u32,
    /// On which tile.
    pub x: i32,
    /// See `x`.
    pub y: i32,
    /// 0 for the ordinary kind, 1 for the rare one (a champion among enemies, a red fire); the id of a key.
    pub variant: u32,
}

/// What a tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Tile {
    /// Nothing.
    Void,
    /// A wall.
    Wall,
    /// The floor of a room.
    Floor,
    /// The floor of a corridor.
    Corridor,
    /// An open door.
    Door,
    /// A locked door.
    Locked,
    /// A wall that can be broken, between a hidden room and others.
    Breakable,
    /// A rock.
    Rock,
    /// A pit.
    Pit,
    /// Spikes: they hurt, but can be walked on.
    Spikes,
}

impl Tile {
    /// All of them, in the order of the tileset.
    pub const ALL: [Tile; 10] = [
        Tile::Void,
        Tile::Wall,
        Tile::Floor,
        Tile::Corridor,
        Tile::Door,
        Tile::Locked,
        Tile::Breakable,
        Tile::Rock,
        Tile::Pit,
        Tile::Spikes,
    ];

    /// Its letter in JSON and on text maps.
    pub fn letter(self) -> char {
        match self {
            Tile::Void => ' ',
            Tile::Wall => '#',
            Tile::Floor => '.',
            Tile::Corridor => ',',
            Tile::Door => '+',
            Tile::Locked => '=',
            Tile::Breakable => '%',
            Tile::Rock => 'o',
            Tile::Pit => '~',
            Tile::Spikes => '^',
        }
    }

    /// Its name for people and editors.
    pub fn name(self) -> &'static str {
        match self {
            Tile::Void => "void",
            Tile::Wall => "wall",
            Tile::Floor => "floor",
            Tile::Corridor => "corridor",
            Tile::Door => "door",
            Tile::Locked => "locked",
            Tile::Breakable => "breakable",
            Tile::Rock => "rock",
            Tile::Pit => "pit",
            Tile::Spikes => "spikes",
        }
    }

    /// Whether one can walk on it without a key or a bomb.
    pub fn walkable(self) -> bool {
        matches!(self, Tile::Floor | Tile::Corridor | Tile::Door | Tile::Spikes)
    }
}

/// What there is on every tile of a dungeon.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiles {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The tiles, row by row.
    pub data: Vec<Tile>,
}

impl Tiles {
    /// Nothing, everywhere.
    fn new(width: u32, height: u32) -> Self {
        Self { width, height, data: vec![Tile::Void; width as usize * height as usize] }
    }

    fn index(&self, [x, y]: [i32; 2]) -> Option<usize> {
        let inside = (0..self.width as i32).contains(&x) && (0..self.height as i32).contains(&y);
        inside.then(|| y as usize * self.width as usize + x as usize)
    }

    /// The tile at a place; [`Tile::Void`] outside.
    pub fn at(&self, place: [i32; 2]) -> Tile {
        self.index(place).map_or(Tile::Void, |i| self.data[i])
    }

    /// Changes a tile; what lies outside is left alone.
    fn set(&mut self, place: [i32; 2], tile: Tile) {
        if let Some(i) = self.index(place) {
            self.data[i] = tile;
        }
    }

    /// Rows of letters; see [`Tile::letter`].
    pub fn rows(&self) -> Vec<String> {
        self.data.chunks(self.width.max(1) as usize).map(|row| row.iter().map(|tile| tile.letter()).collect()).collect()
    }
}

impl Serialize for Tiles {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut object = serializer.serialize_struct("Tiles", 3)?;
        object.serialize_field("width", &self.width)?;
        object.serialize_field("height", &self.height)?;
        object.serialize_field("rows", &self.rows())?;
        object.end()
    }
}

/// How the making of a dungeon went: what chances were taken, and how often. The tests of distributions read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Floor plans begun, the last one included (Isaac, Rebirth); times that the sizes of rooms were drawn (TinyKeep).
    pub tries: u32,
    /// Coins that decided whether a room grows, in all tries.
    pub coins: u32,
    /// Those of them that said yes.
    pub grown: u32,
    /// Large rooms placed, in all tries.
    pub large: u32,
    /// Those of them whose shape then left the pool.
    pub removed: u32,
    /// Places looked at for secret rooms on the last plan.
    pub hiding: u32,
}

/// A step of the making, as something to look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What happens.
    pub what: &'static str,
    /// Boxes in grid cells, the later ones over the earlier ones.
    pub boxes: Vec<(Rect, Mark)>,
    /// Lines between grid cells' middles, over the boxes.
    pub lines: Vec<([i32; 2], [i32; 2], Mark)>,
}

/// How a box or a line of a [`Step`] is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Not decided yet, or not used.
    Faint,
    /// What is looked at in this step.
    Now,
    /// Refused in this step.
    Refused,
    /// A room of this role.
    Role(Role),
    /// A corridor.
    Corridor,
    /// An edge of the triangulation.
    Triangulation,
    /// An edge of the spanning tree.
    Tree,
    /// An edge that was given back.
    Extra,
}
