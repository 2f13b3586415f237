//! Pieces: what a level leaves in a window of it.

use crate::exec;
use crate::site::Window;
use crate::stage::stepper::Travellers;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// What a level leaves in a window of it, in exact words: all that the next finer level starts
/// from, and the maps that are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The level.
    pub level: i32,
    /// The window, on the level's lattice.
    pub window: Window,
    /// Words by the names of their buffers, and how many there are for each cell.
    pub(crate) words: BTreeMap<String, (usize, Vec<i32>)>,
    /// The particles that stand in it, in the middle of a stage.
    pub(crate) particles: Travellers,
    /// When that is.
    pub(crate) after: Option<After>,
}

/// When a state is, for people: after a number of a stage's steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// The stage's number among the units of the run.
    #[serde(rename = "part")]
    pub unit: usize,
    /// The stage.
    pub stage: String,
    /// How many of its steps are done.
    pub done: u32,
    /// How many it has.
    pub of: u32,
}

impl std::fmt::Display for After {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "after {} of {} steps of {}", self.done, self.of, self.stage)
    }
}

impl Piece {
    /// A piece of a window into which others are put.
    pub(crate) fn empty(level: i32, window: Window) -> Self {
        Self {
            level,
            window,
            words: BTreeMap::new(),
            particles: Travellers::default(),
            after: None,
        }
    }

    /// Puts what another piece has in the window into it, of the maps that are `wanted`.
    pub(crate) fn put(&mut self, piece: &Self, wanted: impl Fn(&str) -> bool) {
        let window = self.window;
        self.particles.take(&piece.particles, &piece.window, &window);
        let end = |of: &Window, a: usize| of.origin[a] + i64::from([of.width, of.height][a]);
        let first = [0, 1].map(|a| piece.window.origin[a].max(window.origin[a]));
        let last = [0, 1].map(|a| end(&piece.window, a).min(end(&window, a)));
        // They have no cell in common.
        if (0..2).any(|a| first[a] >= last[a]) {
            return;
        }
        for (name, (each, words)) in piece.words.iter().filter(|(name, _)| wanted(name)) {
            let (_, all) = self
                .words
                .entry(name.clone())
                .or_insert_with(|| (*each, vec![0; window.cells() * each]));
            let count = (last[0] - first[0]) as usize * each;
            for y in first[1]..last[1] {
                let at = |of: &Window| {
                    ((y - of.origin[1]) as usize * of.width as usize
                        + (first[0] - of.origin[0]) as usize)
                        * each
                };
                all[at(&window)..][..count].copy_from_slice(&words[at(&piece.window)..][..count]);
            }
        }
    }

    /// A digest of its words.
    #[cfg(feature = "io")]
    pub(crate) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, (each, words)) in &self.words {
            hasher.update(format!("{name} {each} {}\n", super::digest(words)).as_bytes());
        }
        if !self.particles.words.is_empty() {
            hasher
                .update(format!("particles {}\n", super::digest(&self.particles.words)).as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Bytes of its words.
    pub(crate) fn bytes(&self) -> u64 {
        let cells = self.words.values().map(|(_, words)| words.len() as u64).sum::<u64>();
        4 * (cells + self.particles.words.len() as u64)
    }
}

/// The lands of all levels of an input, before any stage changes them: what coarser lattices are
/// restricted from is all of it.
pub(crate) type Bases = BTreeMap<i32, Piece>;

/// In a map of `each` words for each cell of a window, the words `of` each cell of another window
/// within it.
pub(crate) fn within(from: &Window, to: &Window, each: usize, of: Range<usize>) -> exec::Selection {
    let [left, top] = [0, 1].map(|a| (to.origin[a] - from.origin[a]) as usize);
    let (columns, rows) = (left..left + to.width as usize, top..top + to.height as usize);
    exec::Selection { first: 0, width: from.width as usize, each, columns, rows, of }
}

/// The words of all cells of a window in maps of another window, one map after the other.
pub(super) fn cut_all(words: &[i32], from: &Window, to: &Window, each: usize) -> Vec<i32> {
    words
        .chunks((from.cells() * each).max(1))
        .flat_map(|map| cut(map, from, to, each, 0..each))
        .collect()
}

/// These words of a map.
pub(crate) fn cut(
    words: &[i32],
    from: &Window,
    to: &Window,
    each: usize,
    of: Range<usize>,
) -> Vec<i32> {
    within(from, to, each, of).of(words)
}
