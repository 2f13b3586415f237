//! What rooms look like inside: furniture by role, difficulty and chapter, from a file that users can replace.

use super::random::Random;
use super::{Role, Side, Thing, Tile};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Columns of the inside of a cell.
pub const WIDTH: i32 = 13;
/// Rows of the inside of a cell.
pub const HEIGHT: i32 = 7;
const TILES: usize = (WIDTH * HEIGHT) as usize;

/// The file that is used where there is no other.
pub const STANDARD: &str = include_str!("rooms.toml");

/// How hard a normal room is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Difficulty {
    /// On the first floor of a chapter.
    Easy,
    /// On both.
    Medium,
    /// On the second floor of a chapter.
    Hard,
}

/// Furniture of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Furniture {
    /// Its name.
    pub name: String,
    /// For which rooms.
    pub role: Role,
    /// How hard, for normal rooms.
    pub difficulty: Option<Difficulty>,
    /// The chapters it is for; all where there is none.
    pub chapters: Vec<String>,
    /// The sides that may have a door, or be open to another cell of the same room.
    pub doors: Vec<Side>,
    /// How often it is taken, compared with others: 1 to 1000.
    pub weight: u32,
    /// `13 × 7` tiles, row by row.
    pub tiles: Vec<Tile>,
    /// What stands where, from the north-west tile.
    pub things: Vec<([i32; 2], Thing)>,
}

/// A part of the game: two floors, the second one harder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// Its name.
    pub name: String,
    /// The chapter that takes its place in one of two games.
    pub alternative: Option<String>,
}

/// All furniture, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Rooms {
    chapters: Vec<Chapter>,
    furniture: Vec<Furniture>,
    /// Of each chapter, by name: the furniture it has, by number.
    sets: Vec<(String, Vec<usize>)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    chapter: Vec<Chapter>,
    room: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    role: Option<Role>,
    difficulty: Option<Difficulty>,
    #[serde(default)]
    chapters: Vec<String>,
    doors: Option<Vec<Side>>,
    weight: Option<u32>,
    map: String,
}

fn wrong<T>(what: String) -> Result<T> {
    Err(Error::param(what))
}

impl Rooms {
    /// The furniture that comes with the program.
    pub fn standard() -> &'static Rooms {
        static ROOMS: OnceLock<Rooms> = OnceLock::new();
        ROOMS.get_or_init(|| Rooms::from_toml(STANDARD).expect("the file is checked by a test"))
    }

    /// Checks the text of a file of furniture; `docs/dungeons.md` describes it, `io::dungeon::read_rooms` reads it.
    ///
    /// # Errors
    /// [`Error::Param`] with the room and the fault: a map of the wrong size, an unknown letter, floor that cannot be
    /// reached, a chapter without a room of some kind.
    pub fn from_toml(text: &str) -> Result<Rooms> {
        let file: File = toml::from_str(text).map_err(|e| Error::param(e.to_string().trim_end().to_string()))?;
        if file.schema != 1 {
            return wrong(format!("schema = {}: allowed 1", file.schema));
        }
        let mut names: Vec<&str> = vec![];
        for chapter in &file.chapter {
            for name in std::iter::once(&chapter.name).chain(&chapter.alternative) {
                if names.contains(&name.as_str()) {
                    return wrong(format!("chapter {name:?} is there twice; give each another name"));
                }
                names.push(name);
            }
        }
        if names.is_empty() {
            return wrong("no chapters: add [[chapter]] with a name".into());
        }
        let furniture = file.room.into_iter().map(|entry| entry.check(&names)).collect::<Result<Vec<_>>>()?;
        for (i, one) in furniture.iter().enumerate() {
            if furniture[..i].iter().any(|other| other.name == one.name) {
                return wrong(format!("room {:?} is there twice; give each another name", one.name));
            }
        }
        let set = |name: &&str| {
            let has = |f: &Furniture| f.chapters.is_empty() || f.chapters.iter().any(|chapter| chapter == name);
            (name.to_string(), (0..furniture.len()).filter(|&i| has(&furniture[i])).collect::<Vec<_>>())
        };
        let rooms = Rooms { sets: names.iter().map(set).collect(), chapters: file.chapter, furniture };
        rooms.check_pools()?;
        Ok(rooms)
    }

    /// Every chapter must have a room for every purpose, whatever its doors.
    fn check_pools(&self) -> Result<()> {
        let kinds = Role::ALL.iter().filter(|role| !matches!(role, Role::Normal | Role::Hallway)).map(|role| (*role, None));
        let levels = [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard].map(|d| (Role::Normal, Some(d)));
        for (role, difficulty) in kinds.chain(levels) {
            for (set, (name, _)) in self.sets.iter().enumerate() {
                if self.pool(set, role, difficulty).all(|(_, f)| f.doors.len() < 4) {
                    let which = match difficulty {
                        Some(Difficulty::Easy) => "easy ",
                        Some(Difficulty::Medium) => "medium ",
                        Some(Difficulty::Hard) => "hard ",
                        None => "",
                    };
                    return wrong(format!(
                        "chapter {name:?} has no {which}{} room with doors on all four sides: add one, or let one for all chapters have them",
                        role.name()
                    ));
                }
            }
        }
        Ok(())
    }

    fn pool(&self, set: usize, role: Role, difficulty: Option<Difficulty>) -> impl Iterator<Item = (usize, &Furniture)> + Clone {
        let all = self.sets[set].1.iter().map(|&i| (i, &self.furniture[i]));
        all.filter(move |(_, f)| f.role == role && (difficulty.is_none() || f.difficulty == difficulty))
    }

    /// The chapters.
    pub fn chapters(&self) -> &[Chapter] {
        &self.chapters
    }

    /// All furniture.
    pub fn furniture(&self) -> &[Furniture] {
        &self.furniture
    }

    /// The chapter of a level (two levels each, the last chapter for all that follow): itself or its alternative.
    pub(super) fn chapter(&self, level: u32, random: &mut Random) -> (usize, &str) {
        let chapter = &self.chapters[(level.saturating_sub(1) as usize / 2).min(self.chapters.len() - 1)];
        let name = match &chapter.alternative {
            Some(other) if random.chance(1, 2) => other,
            _ => &chapter.name,
        };
        let set = self.sets.iter().position(|(set, _)| set == name).unwrap_or(0);
        (set, name)
    }

    /// Furniture for a cell whose sides in `open` have doors or are open. Normal rooms have one of the difficulties.
    pub(super) fn pick(
        &self,
        set: usize,
        role: Role,
        difficulties: &[Difficulty],
        open: &[Side],
        random: &mut Random,
    ) -> &Furniture {
        // The pools were checked: something with doors on all sides is always there.
        let difficulty = (role == Role::Normal).then(|| *random.pick(difficulties));
        let fits = move |f: &Furniture| open.iter().all(|side| f.doors.contains(side));
        let pool = self.pool(set, role, difficulty).filter(move |(_, f)| fits(f));
        let at = random.weighted(pool.clone().map(|(_, f)| f.weight)).unwrap_or(0);
        pool.clone().nth(at).map_or(&self.furniture[0], |(_, f)| f)
    }
}

impl Entry {
    fn check(self, chapters: &[&str]) -> Result<Furniture> {
        let place = format!("room {:?}", self.name);
        let role = self.role.unwrap_or(Role::Normal);
        if role == Role::Hallway {
            return wrong(format!("{place}: hallways are not furnished; take another role"));
        }
        match (role, self.difficulty) {
            (Role::Normal, None) => return wrong(format!("{place}: difficulty is missing: easy, medium or hard")),
            (Role::Normal, Some(_)) | (_, None) => {}
            (_, Some(_)) => return wrong(format!("{place}: difficulty is for normal rooms; this one is a {}", role.name())),
        }
        if let Some(name) = self.chapters.iter().find(|name| !chapters.contains(&name.as_str())) {
            let e = crate::params::unknown("chapter", name, chapters.iter().copied());
            return wrong(format!("{place}: chapters: {e}"));
        }
        let weight = self.weight.unwrap_or(1);
        if !(1..=1000).contains(&weight) {
            return wrong(format!("{place}: weight = {weight}: allowed 1 to 1000"));
        }
        let rows: Vec<Vec<char>> = self.map.trim_matches('\n').lines().map(|line| line.chars().collect()).collect();
        if rows.len() != HEIGHT as usize {
            return wrong(format!("{place}: the map has {} rows, and {HEIGHT} are needed", rows.len()));
        }
        let mut tiles = Vec::with_capacity(TILES);
        let mut things = vec![];
        for (y, row) in rows.iter().enumerate() {
            if row.len() != WIDTH as usize {
                return wrong(format!("{place}: row {} of the map has {} letters, and {WIDTH} are needed", y + 1, row.len()));
            }
            for (x, letter) in row.iter().enumerate() {
                let thing = match letter {
                    '.' | 'o' | '~' | '^' => None,
                    '@' => Some(Thing::Player),
                    'e' => Some(Thing::Enemy),
                    'B' => Some(Thing::Boss),
                    'i' => Some(Thing::Item),
                    '$' => Some(Thing::Ware),
                    'f' => Some(Thing::Fire),
                    other => {
                        return wrong(format!(
                            "{place}: {other:?} in row {}, column {} of the map: allowed . (floor), o (rock), ~ (pit), ^ (spikes), \
                             @ (player), e (enemy), B (boss), i (item), $ (ware), f (fire)",
                            y + 1,
                            x + 1
                        ));
                    }
                };
                things.extend(thing.map(|thing| ([x as i32, y as i32], thing)));
                tiles.push(match letter {
                    'o' => Tile::Rock,
                    '~' => Tile::Pit,
                    '^' => Tile::Spikes,
                    _ => Tile::Floor,
                });
            }
        }
        let doors = self.doors.unwrap_or(Side::ALL.to_vec());
        let made = Furniture {
            name: self.name,
            role,
            difficulty: self.difficulty,
            chapters: self.chapters,
            doors,
            weight,
            tiles,
            things,
        };
        made.check_ways(&place)?;
        Ok(made)
    }
}

/// The inner tile before the door of a side.
fn entry(side: Side) -> [i32; 2] {
    match side {
        Side::North => [WIDTH / 2, 0],
        Side::East => [WIDTH - 1, HEIGHT / 2],
        Side::South => [WIDTH / 2, HEIGHT - 1],
        Side::West => [0, HEIGHT / 2],
    }
}

impl Furniture {
    /// Whether one can walk here, a fire being in the way.
    fn free(&self, [x, y]: [i32; 2]) -> bool {
        let inside = (0..WIDTH).contains(&x) && (0..HEIGHT).contains(&y);
        inside && self.tiles[(y * WIDTH + x) as usize].walkable() && !self.things.contains(&([x, y], Thing::Fire))
    }

    /// Every door must lead to every walkable tile, past rocks, pits and fires.
    fn check_ways(&self, place: &str) -> Result<()> {
        let Some(&first) = self.doors.first() else {
            return wrong(format!("{place}: doors = []: name at least one side (north, east, south, west)"));
        };
        if let Some(side) = self.doors.iter().find(|side| !self.free(entry(**side))) {
            let [x, y] = entry(*side);
            return wrong(format!(
                "{place}: something stands before the {} door (row {}, column {}): leave that tile free, or list the doors \
                 that the room may have",
                format!("{side:?}").to_lowercase(),
                y + 1,
                x + 1
            ));
        }
        let mut reached = [false; TILES];
        let mut open = vec![entry(first)];
        while let Some(at) = open.pop() {
            if self.free(at) && !std::mem::replace(&mut reached[(at[1] * WIDTH + at[0]) as usize], true) {
                open.extend(Side::ALL.map(|side| [at[0] + side.step()[0], at[1] + side.step()[1]]));
            }
        }
        let lost = (0..TILES).find(|&i| self.free([i as i32 % WIDTH, i as i32 / WIDTH]) && !reached[i]);
        match lost {
            None => Ok(()),
            Some(i) => wrong(format!(
                "{place}: the floor in row {}, column {} of the map cannot be reached from the {} door: open a way, or make \
                 it a rock or a pit",
                i / WIDTH as usize + 1,
                i % WIDTH as usize + 1,
                format!("{first:?}").to_lowercase()
            )),
        }
    }
}
