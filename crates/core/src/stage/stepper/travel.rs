//! Particles on their way from one window to another, in the middle of a stage.
//!
//! A particle in a list has its home, as the cells from the window's north-west cell to the home's,
//! and its record, in which places count from that cell too and the number of a vertex is a pair of
//! 16-bit numbers: columns, and 2¹⁶ times rows.

use super::{NOWHERE, Params, TILE};
use crate::plan::{Plan, Shape};
use crate::site::Window;
use std::any::Any;

/// Particles that stand within this distance, in cells, of an edge where a window was cut are lost:
/// the vertex that they came from may lie beyond it.
pub const EDGE: u32 = 2;

/// Words of a particle in a list before its record: its home.
const HOME_WORDS: usize = 2;

/// Particles that stand in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Travellers {
    /// Words of a record.
    pub record: usize,
    /// Which of them is the number of a vertex, if one is.
    pub vertex: Option<usize>,
    /// Home and record of each.
    pub words: Vec<i32>,
}

/// The particles of a plan: their words, words of a record, which of them is a vertex, and how many
/// a tile has.
fn tiles_of(plan: &Plan) -> Option<(&'static str, usize, Option<usize>, usize)> {
    plan.buffers.iter().find_map(|buffer| match buffer.shape {
        Shape::Tiles { tile, record, vertex, .. } => Some((buffer.name, record, vertex, tile)),
        _ => None,
    })
}

/// The name of the buffer of particles of a plan that has some.
pub fn buffer(plan: &Plan) -> Option<&'static str> {
    tiles_of(plan).map(|(name, ..)| name)
}

/// The stepper's block of a plan of particles.
fn params(plan: &Plan) -> Option<&Params> {
    plan.passes
        .iter()
        .flat_map(|pass| pass.uniform.blocks())
        .find_map(|block| (block as &dyn Any).downcast_ref())
}

/// Whether a place in another window, which lies some cells away, is in a window. The place is
/// the first two words of a record.
fn is_in(window: &Window, away: [i64; 2], place: [i32; 2]) -> bool {
    let cell = [(place[0] ^ NOWHERE) >> 16, (place[1] & i32::MAX) >> 16].map(i64::from);
    let sides = [window.width, window.height].map(i64::from);
    (0..2).all(|axis| (0..sides[axis]).contains(&(cell[axis] + away[axis])))
}

impl Travellers {
    /// Words of one in the list.
    pub fn each(&self) -> usize {
        HOME_WORDS + self.record
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.words.len() / self.each()
    }

    /// Those of a plan's particles that stand in a part of its window.
    pub fn of(plan: &Plan, words: &[i32], part: &Window) -> Self {
        let (Some((_, record, vertex, tile)), Some(p)) = (tiles_of(plan), params(plan)) else {
            return Self::default();
        };
        let mut list = Self { record, vertex, words: vec![] };
        let away = [0, 1].map(|axis| plan.window.origin[axis] - part.origin[axis]);
        let standing = words
            .chunks_exact(tile * record)
            .flat_map(|words| words[..tile].iter().zip(&words[tile..2 * tile]));
        list.room_for(standing.filter(|(x, y)| **x != 0 && is_in(part, away, [**x, **y])).count());
        let mut one = vec![0; record];
        for (number, words) in words.chunks_exact(tile * record).enumerate() {
            let first = [number as u32 % p.tiles_wide * TILE, number as u32 / p.tiles_wide * TILE];
            // A particle that does not exist has an x of 0.
            for slot in (0..tile).filter(|slot| words[*slot] != 0) {
                one.iter_mut().enumerate().for_each(|(k, word)| *word = words[k * tile + slot]);
                let home = [first[0] + slot as u32 % TILE, first[1] + slot as u32 / TILE];
                let home = [0, 1].map(|axis| p.corner[axis] + (home[axis] * p.block) as i32);
                if let Some(at) = vertex {
                    one[at] = ((one[at] % p.width) & 0xffff) | (one[at] / p.width) << 16;
                }
                list.push(home, &one, vertex, away, part);
            }
        }
        list
    }

    /// Makes room for as many more and no others, since lists are long and are kept.
    fn room_for(&mut self, count: usize) {
        self.words.reserve_exact(count * self.each());
    }

    /// Adds a particle of a window that lies some cells away, if it stands in the window of the
    /// list.
    fn push(
        &mut self,
        home: [i32; 2],
        record: &[i32],
        vertex: Option<usize>,
        away: [i64; 2],
        window: &Window,
    ) {
        if !is_in(window, away, [record[0], record[1]]) {
            return;
        }
        // It stands in both windows, so the way from one to the other is shorter than a window.
        let away = away.map(|cells| cells as i32);
        let [home_x, home_y] = [0, 1].map(|axis| home[axis] + away[axis]);
        self.words.extend([home_x, home_y]);
        let first = self.words.len();
        self.words.extend_from_slice(record);
        let record = &mut self.words[first..];
        // The top bit of y says whether the particle is spent, and stays.
        record[0] = (record[0] ^ NOWHERE).wrapping_add(away[0] << 16) ^ NOWHERE;
        record[1] = (record[1] & i32::MAX).wrapping_add(away[1] << 16) | record[1] & NOWHERE;
        if let Some(at) = vertex {
            let [x, y] = unpacked(record[at]);
            record[at] = ((x + away[0]) & 0xffff) | (y + away[1]) << 16;
        }
    }

    /// Adds those of another window that stand in this one.
    pub fn take(&mut self, other: &Self, from: &Window, to: &Window) {
        if other.words.is_empty() {
            return;
        }
        (self.record, self.vertex) = (other.record, other.vertex);
        let away = [0, 1].map(|axis| from.origin[axis] - to.origin[axis]);
        let standing = other
            .words
            .chunks_exact(other.each())
            .filter(|one| is_in(to, away, [one[HOME_WORDS], one[HOME_WORDS + 1]]));
        self.room_for(standing.count());
        for one in other.words.chunks_exact(other.each()) {
            let (home, record) = one.split_at(HOME_WORDS);
            self.push([home[0], home[1]], record, other.vertex, away, to);
        }
    }

    /// The smallest window that holds their homes' north-west cells and their window.
    pub fn homes(&self, window: &Window) -> Window {
        let mut low = [0i64; 2];
        let mut high = [i64::from(window.width), i64::from(window.height)];
        for one in self.words.chunks_exact(self.each()) {
            // A home can lie outside the window that its particle stands in.
            for axis in 0..2 {
                low[axis] = low[axis].min(one[axis].into());
                high[axis] = high[axis].max(i64::from(one[axis]) + 1);
            }
        }
        let size = [0, 1].map(|axis| (high[axis] - low[axis]) as u32);
        Window {
            origin: [0, 1].map(|axis| window.origin[axis] + low[axis]),
            width: size[0],
            height: size[1],
        }
    }

    /// The words of a plan's particles, on whose window they stand. `is_cut` says of the west,
    /// north, east and south whether the land goes on there.
    pub fn to_words(&self, plan: &Plan, is_cut: [bool; 4]) -> Vec<i32> {
        let Some((name, record, vertex, tile)) = tiles_of(plan) else { return vec![] };
        let mut words = vec![0; plan.buffer(name).words];
        let Some(p) = params(plan) else { return words };
        let sides = [p.width, p.height];
        let rim = |cut: bool| if cut { (EDGE as i32) << 16 } else { 0 };
        for one in self.words.chunks_exact(self.each()) {
            let (home, own) = one.split_at(HOME_WORDS);
            let home = [0, 1].map(|axis| ((home[axis] - p.corner[axis]) / p.block as i32) as u32);
            let at = [own[0] ^ NOWHERE, own[1] & i32::MAX];
            let stays = |axis: usize| {
                // At the last column or row there is no square of four corners to stand on.
                let last = (sides[axis] - 1) << 16;
                (rim(is_cut[axis])..last - rim(is_cut[axis + 2])).contains(&at[axis])
            };
            if !(stays(0) && stays(1)) {
                continue;
            }
            let place = home[1] / TILE * p.tiles_wide + home[0] / TILE;
            let slot = (home[1] % TILE * TILE + home[0] % TILE) as usize;
            let first = place as usize * tile * record + slot;
            let number = vertex.map(|at| unpacked(own[at]));
            if number
                .is_some_and(|[x, y]| !(0..p.width).contains(&x) || !(0..p.height).contains(&y))
            {
                continue;
            }
            for (k, word) in own.iter().enumerate() {
                words[first + k * tile] = *word;
            }
            if let (Some(at), Some([x, y])) = (vertex, number) {
                words[first + at * tile] = y * p.width + x;
            }
        }
        words
    }
}

/// Column and row of a vertex in a list.
fn unpacked(word: i32) -> [i32; 2] {
    [(word << 16) >> 16, word >> 16]
}
