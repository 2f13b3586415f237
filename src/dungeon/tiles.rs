//! The tile map of a dungeon.

use serde::Serialize;

/// What occupies a tile.
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
    /// A breakable wall between a hidden room and another room.
    Breakable,
    /// A rock.
    Rock,
    /// A pit.
    Pit,
    /// Spikes. They hurt, but can be walked on.
    Spikes,
}

impl Tile {
    /// All tiles, in the order of the tileset.
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

    /// The letter for this tile in JSON and on text maps.
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

    /// The name of this tile in editors.
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

    /// Whether the player can walk on this tile without a key or a bomb.
    pub fn walkable(self) -> bool {
        matches!(self, Tile::Floor | Tile::Corridor | Tile::Door | Tile::Spikes)
    }
}

/// The tile map of a dungeon.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiles {
    /// The number of columns.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// The tiles, row by row.
    pub data: Vec<Tile>,
}

impl Tiles {
    /// A map of [`Tile::Void`].
    pub(super) fn new(width: u32, height: u32) -> Self {
        Self { width, height, data: vec![Tile::Void; width as usize * height as usize] }
    }

    fn index(&self, [x, y]: [i32; 2]) -> Option<usize> {
        let inside = (0..self.width as i32).contains(&x) && (0..self.height as i32).contains(&y);
        inside.then(|| y as usize * self.width as usize + x as usize)
    }

    /// The tile at `[x, y]`. Outside the map it is [`Tile::Void`].
    pub fn at(&self, at: [i32; 2]) -> Tile {
        self.index(at).map_or(Tile::Void, |i| self.data[i])
    }

    /// Sets the tile at `[x, y]`. Outside the map this does nothing.
    pub(super) fn set(&mut self, at: [i32; 2], tile: Tile) {
        if let Some(i) = self.index(at) {
            self.data[i] = tile;
        }
    }

    /// The rows as letters; see [`Tile::letter`].
    pub fn rows(&self) -> Vec<String> {
        self.data
            .chunks(self.width.max(1) as usize)
            .map(|row| row.iter().map(|tile| tile.letter()).collect())
            .collect()
    }
}

impl Serialize for Tiles {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut object = serializer.serialize_struct("Tiles", 3)?;
        object.serialize_field("width", &self.width)?;
        object.serialize_field("height", &self.height)?;
        object.serialize_field("rows", &self.rows())?;
        object.end()
    }
}
