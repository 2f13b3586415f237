//! The furniture of rooms by role, difficulty and chapter, from a file that users can replace.

use super::floor_grid::INTERIOR_TILES;
use super::geometry::Side;
use super::model::{Role, Thing};
use super::random::Random;
use super::tiles::Tile;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::OnceLock;

/// Columns of the interior of a cell.
pub const WIDTH: i32 = INTERIOR_TILES[0];
/// Rows of the interior of a cell.
pub const HEIGHT: i32 = INTERIOR_TILES[1];
const TILES: usize = (WIDTH * HEIGHT) as usize;
/// Most chapters of a furniture file. A level draws from one, by its number.
const CHAPTERS_MAX: usize = 100;

/// The furniture file that is used by default.
pub const STANDARD: &str = include_str!("rooms.toml");

/// How hard a normal room is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Difficulty {
    /// Used on the first floor of a chapter.
    Easy,
    /// Used on both floors of a chapter.
    Medium,
    /// Used on the second floor of a chapter.
    Hard,
}

/// The furniture of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Furniture {
    /// Its name.
    pub name: String,
    /// The role of the rooms it is for.
    pub role: Role,
    /// The difficulty, for normal rooms.
    pub difficulty: Option<Difficulty>,
    /// The chapters it is for. An empty list means all.
    pub chapters: Vec<String>,
    /// The sides that may have a door or be open to another cell of the same room.
    pub doors: Vec<Side>,
    /// How likely it is compared with other furniture: 1 to 1000.
    pub weight: u32,
    /// `13 × 7` tiles, row by row.
    pub tiles: Vec<Tile>,
    /// What stands where, relative to the north-west tile.
    pub things: Vec<([i32; 2], Thing)>,
}

/// A chapter of the game: two floors, of which the second is harder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// Its name.
    pub name: String,
    /// The chapter that replaces it in half of all games.
    pub alternative: Option<String>,
}

/// A furniture file that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Rooms {
    chapters: Vec<Chapter>,
    furniture: Vec<Furniture>,
    /// The chapters, alternatives included.
    sets: Vec<Set>,
}

/// The furniture of a chapter.
#[derive(Clone, Debug, PartialEq)]
struct Set {
    chapter: String,
    /// The indices of its furniture for each role.
    roles: [Vec<usize>; Role::ALL.len()],
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

    /// Parses and checks the text of a furniture file. `docs/dungeons.md` describes the format, and
    /// `io::dungeon::read_rooms` reads such a file.
    ///
    /// # Errors
    /// [`Error::Param`] that names the room and the fault: a map of the wrong size, an unknown
    /// letter, floor that cannot be reached, or a chapter that lacks a room for some role or
    /// difficulty.
    pub fn from_toml(text: &str) -> Result<Rooms> {
        let file: File =
            toml::from_str(text).map_err(|e| Error::param(e.to_string().trim_end().to_string()))?;
        if file.schema != 1 {
            return wrong(format!("schema = {}: allowed 1", file.schema));
        }
        // Alternatives are chapters of their own, so their names count, too.
        let mut names: Vec<&str> = vec![];
        if file.chapter.len() > CHAPTERS_MAX {
            return wrong(format!(
                "there are {} chapters: allowed are at most {CHAPTERS_MAX}",
                file.chapter.len()
            ));
        }
        for chapter in &file.chapter {
            for name in std::iter::once(&chapter.name).chain(&chapter.alternative) {
                if names.contains(&name.as_str()) {
                    return wrong(format!(
                        "chapter {name:?} is defined twice: give each chapter its own name"
                    ));
                }
                names.push(name);
            }
        }
        if names.is_empty() {
            return wrong("there are no chapters: add a [[chapter]] with a name".into());
        }
        let furniture =
            file.room.into_iter().map(|entry| entry.check(&names)).collect::<Result<Vec<_>>>()?;
        let mut known = HashSet::new();
        for one in &furniture {
            if !known.insert(&one.name) {
                return wrong(format!(
                    "room {:?} is defined twice: give each room its own name",
                    one.name
                ));
            }
        }
        let set = |name: &&str| {
            let has = |f: &Furniture| {
                f.chapters.is_empty() || f.chapters.iter().any(|chapter| chapter == name)
            };
            let of = |role| {
                (0..furniture.len())
                    .filter(|&i| furniture[i].role == role && has(&furniture[i]))
                    .collect()
            };
            Set { chapter: name.to_string(), roles: Role::ALL.map(of) }
        };
        let rooms =
            Rooms { sets: names.iter().map(set).collect(), chapters: file.chapter, furniture };
        rooms.check_pools()?;
        Ok(rooms)
    }

    /// Checks that every chapter has furniture with doors on all four sides for every role and
    /// difficulty.
    fn check_pools(&self) -> Result<()> {
        // Normal rooms are looked at by difficulty below, and hallways have no furniture.
        let kinds = Role::ALL
            .iter()
            .filter(|role| !matches!(role, Role::Normal | Role::Hallway))
            .map(|role| (*role, None));
        let levels = [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard]
            .map(|d| (Role::Normal, Some(d)));
        for (role, difficulty) in kinds.chain(levels) {
            for Set { chapter, roles } in &self.sets {
                let pool = roles[role as usize].iter().map(|&i| &self.furniture[i]);
                if pool.filter(|f| f.difficulty == difficulty).all(|f| f.doors.len() < 4) {
                    let which = match difficulty {
                        Some(Difficulty::Easy) => "easy ",
                        Some(Difficulty::Medium) => "medium ",
                        Some(Difficulty::Hard) => "hard ",
                        None => "",
                    };
                    return wrong(format!(
                        "chapter {chapter:?} has no {which}{} room with doors on all four sides: \
                         add one, or add the missing doors to a room \
                         for all chapters",
                        role.name()
                    ));
                }
            }
        }
        Ok(())
    }

    /// The chapters.
    pub fn chapters(&self) -> &[Chapter] {
        &self.chapters
    }

    /// All furniture.
    pub fn furniture(&self) -> &[Furniture] {
        &self.furniture
    }

    /// The number of the chapter of a level, counted from 0. A chapter has two levels, and the last
    /// one has all the levels that follow.
    pub(super) fn chapter_number(&self, level: u32) -> u32 {
        (level.saturating_sub(1) / 2).min(self.chapters.len() as u32 - 1)
    }

    /// The set of furniture of a chapter, and its name. If `alternative`, that of its alternative,
    /// if it has one.
    pub(super) fn chapter(&self, number: u32, alternative: bool) -> (usize, &str) {
        let chapter = &self.chapters[number as usize];
        let name = chapter.alternative.as_ref().filter(|_| alternative).unwrap_or(&chapter.name);
        (self.sets.iter().position(|set| set.chapter == *name).unwrap_or(0), name)
    }

    /// Draws furniture for a cell from what the floor has used least, by weight. The sides in
    /// `open` have doors or are open to other cells. A normal room gets one of the difficulties.
    /// `used` counts how often the floor has each piece, and has one number for each.
    pub(super) fn pick(
        &self,
        set: usize,
        role: Role,
        difficulties: &[Difficulty],
        open: &[Side],
        used: &mut [u32],
        random: &mut Random,
    ) -> &Furniture {
        let fits = |&i: &usize| {
            let f = &self.furniture[i];
            f.difficulty.is_none_or(|d| difficulties.contains(&d))
                && open.iter().all(|side| f.doors.contains(side))
        };
        // `check_pools` made sure that every pool has furniture with doors on all sides.
        let pool: Vec<usize> =
            self.sets[set].roles[role as usize].iter().copied().filter(fits).collect();
        let least = pool.iter().map(|&i| used[i]).min().unwrap_or(0);
        let weight = |i: &usize| if used[*i] == least { self.furniture[*i].weight } else { 0 };
        let drawn = random.weighted(pool.iter().map(weight)).map_or(0, |at| pool[at]);
        used[drawn] += 1;
        &self.furniture[drawn]
    }
}

impl Entry {
    fn check(self, chapters: &[&str]) -> Result<Furniture> {
        let place = format!("room {:?}", self.name);
        let role = self.role.unwrap_or(Role::Normal);
        if role == Role::Hallway {
            return wrong(format!("{place}: hallways have no furniture: use another role"));
        }
        match (role, self.difficulty) {
            (Role::Normal, None) => {
                return wrong(format!("{place}: difficulty is missing: easy, medium or hard"));
            }
            (Role::Normal, Some(_)) | (_, None) => {}
            (_, Some(_)) => {
                return wrong(format!(
                    "{place}: difficulty is for normal rooms, and this is a {} room",
                    role.name()
                ));
            }
        }
        if let Some(name) = self.chapters.iter().find(|name| !chapters.contains(&name.as_str())) {
            let e = crate::params::unknown("chapter", name, chapters.iter().copied());
            return wrong(format!("{place}: chapters: {e}"));
        }
        let weight = self.weight.unwrap_or(1);
        if !(1..=1000).contains(&weight) {
            return wrong(format!("{place}: weight = {weight}: allowed 1 to 1000"));
        }
        let (tiles, things) = drawn(&self.map, &place)?;
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
        made.check_reachable(&place)?;
        Ok(made)
    }
}

/// The tiles of a room, and its things with their column and row.
type Drawn = (Vec<Tile>, Vec<([i32; 2], Thing)>);

/// What the letters of a map draw. `place` names the room in errors.
fn drawn(map: &str, place: &str) -> Result<Drawn> {
    let rows: Vec<Vec<char>> =
        map.trim_matches('\n').lines().map(|line| line.chars().collect()).collect();
    if rows.len() != HEIGHT as usize {
        return wrong(format!("{place}: the map has {} rows: it needs {HEIGHT}", rows.len()));
    }
    let mut tiles = Vec::with_capacity(TILES);
    let mut things = vec![];
    for (y, row) in rows.iter().enumerate() {
        if row.len() != WIDTH as usize {
            return wrong(format!(
                "{place}: row {} of the map has {} letters: it needs {WIDTH}",
                y + 1,
                row.len()
            ));
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
                        "{place}: {other:?} in row {}, column {} of the map: allowed . \
                             (floor), o (rock), ~ (pit), ^ (spikes), \
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
    Ok((tiles, things))
}

/// The interior tile in front of the door on a side.
fn entry(side: Side) -> [i32; 2] {
    match side {
        Side::North => [WIDTH / 2, 0],
        Side::East => [WIDTH - 1, HEIGHT / 2],
        Side::South => [WIDTH / 2, HEIGHT - 1],
        Side::West => [0, HEIGHT / 2],
    }
}

impl Furniture {
    /// Whether the player can walk on this tile. A fire blocks it.
    fn free(&self, [x, y]: [i32; 2]) -> bool {
        let inside = (0..WIDTH).contains(&x) && (0..HEIGHT).contains(&y);
        inside
            && self.tiles[(y * WIDTH + x) as usize].walkable()
            && !self.things.contains(&([x, y], Thing::Fire))
    }

    /// Checks that every walkable tile can be reached from every door.
    fn check_reachable(&self, place: &str) -> Result<()> {
        let Some(&first) = self.doors.first() else {
            return wrong(format!(
                "{place}: doors = []: name at least one side (north, east, south, west)"
            ));
        };
        let twice = |(i, side): &(usize, &Side)| self.doors[..*i].contains(side);
        if let Some((_, side)) = self.doors.iter().enumerate().find(twice) {
            return wrong(format!("{place}: doors: {side:?} stands there twice"));
        }
        if let Some(side) = self.doors.iter().find(|side| !self.free(entry(**side))) {
            let [x, y] = entry(*side);
            return wrong(format!(
                "{place}: the tile in front of the {} door (row {}, column {}) is blocked: clear \
                 it, or list only the other sides \
                 in doors",
                format!("{side:?}").to_lowercase(),
                y + 1,
                x + 1
            ));
        }
        // A flood from the first door has to come to all floor, and so to the other doors.
        let mut reached = [false; TILES];
        let mut open = vec![entry(first)];
        while let Some(at) = open.pop() {
            if self.free(at)
                && !std::mem::replace(&mut reached[(at[1] * WIDTH + at[0]) as usize], true)
            {
                open.extend(Side::ALL.map(|side| [at[0] + side.step()[0], at[1] + side.step()[1]]));
            }
        }
        let lost =
            (0..TILES).find(|&i| self.free([i as i32 % WIDTH, i as i32 / WIDTH]) && !reached[i]);
        match lost {
            None => Ok(()),
            Some(i) => wrong(format!(
                "{place}: the floor in row {}, column {} of the map cannot be reached from the {} \
                 door: open a path, or make it a \
                 rock or a pit",
                i / WIDTH as usize + 1,
                i % WIDTH as usize + 1,
                format!("{first:?}").to_lowercase()
            )),
        }
    }
}
