//! Runs of vertices of a row and the rows around them, in arrays of a fixed length.

use super::Params;
use crate::arith::fold;

/// Vertices of a row that are done together.
pub(super) const LANES: usize = 32;

/// A word of each.
pub(super) type Lanes = [i32; LANES];

/// Half as many vertices.
pub(super) const HALF: usize = LANES / 2;

/// A word of each.
pub(super) type Half = [i32; HALF];

/// The words of a run, and a word more at both ends.
pub(super) type Wide = [i32; LANES + 2];

/// Where the neighbours are: the four sides, then the four diagonals. The way back from each is the
/// next or the one before.
pub(super) const AROUND: [[usize; 2]; 8] =
    [[1, 0], [1, 2], [0, 1], [2, 1], [0, 0], [2, 2], [2, 0], [0, 2]];

/// Vertices of a row that are done together: [`LANES`], or all of a narrower window's.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) count: usize,
    /// How many of its first vertices belong to the run before it, too. The last run ends with the
    /// row.
    pub(super) again: usize,
}

impl Run {
    /// The runs of a row.
    #[inline(always)]
    pub(super) fn all(y: usize, width: usize) -> impl Iterator<Item = Self> {
        let count = LANES.min(width);
        (0..width).step_by(LANES).map(move |start| {
            let x = start.min(width - count);
            Self { x, y, count, again: start - x }
        })
    }

    /// The words of a map from `at` on: where they lie, or in `room` if the window is narrow.
    #[inline(always)]
    pub(super) fn words<'a>(&self, map: &'a [i32], at: usize, room: &'a mut Lanes) -> &'a Lanes {
        match map[at..].first_chunk() {
            Some(words) if self.count == LANES => words,
            _ => {
                copy(&map[at..at + self.count], &mut room[..self.count]);
                room
            }
        }
    }

    /// Stores the words of the run's vertices from `at` on.
    #[inline(always)]
    pub(super) fn store(&self, words: &Lanes, map: &mut [i32], at: usize) {
        match map[at..].first_chunk_mut() {
            // Only a whole run may be stored so: that of a narrower window would reach into the
            // next row.
            Some(own) if self.count == LANES => *own = *words,
            _ => copy(&words[..self.count], &mut map[at..at + self.count]),
        }
    }

    /// Stores the words of the vertices that no run before it has.
    #[inline(always)]
    pub(super) fn store_once(&self, words: &Lanes, map: &mut [i32], at: usize) {
        match self.again {
            0 => self.store(words, map, at),
            again => copy(&words[again..self.count], &mut map[at + again..at + self.count]),
        }
    }
}

/// Copies words of any number. It stands apart, since a compiler would do copies of a known length
/// in the same way.
#[cold]
#[inline(never)]
fn copy(from: &[i32], to: &mut [i32]) {
    to.copy_from_slice(from);
}

/// The words of a run and of all its neighbours.
pub(super) struct Block<'a>([&'a Wide; 3]);

impl<'a> Block<'a> {
    /// Reads them where they lie, or in `room` at the edges of the window. Beyond these lies
    /// `outside`, or the vertex at the edge where that is none.
    #[inline(always)]
    pub(super) fn of(
        p: &Params,
        map: &'a [i32],
        run: Run,
        outside: Option<i32>,
        room: &'a mut [Wide; 3],
    ) -> Self {
        let (w, h) = (p.size.x as usize, p.size.y as usize);
        // Where there is a vertex more on all sides, rows of LANES + 2 words lie in the map as they
        // are needed.
        if run.x > 0 && run.x + LANES < w && run.y > 0 && run.y + 1 < h {
            let row = |k: usize| {
                map[(run.y + k - 1) * w + run.x - 1..].first_chunk().unwrap_or(&[0; LANES + 2])
            };
            return Self([row(0), row(1), row(2)]);
        }
        fill(p, map, run, outside, room);
        let [above, here, below] = room;
        Self([above, here, below])
    }

    /// The words of the neighbours in a direction.
    #[inline(always)]
    pub(super) fn lanes(&self, [dx, dy]: [usize; 2]) -> &'a Lanes {
        self.0[dy][dx..].first_chunk().unwrap_or(&[0; LANES])
    }

    #[inline(always)]
    pub(super) fn around(&self) -> [&'a Lanes; 8] {
        // Spelled out: a closure over an array is not compiled for vectors.
        let at = |n: usize| self.lanes(AROUND[n]);
        [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)]
    }

    /// The words of the neighbours of the first half of the run, or of the second.
    #[inline(always)]
    pub(super) fn around_half(&self, half: usize) -> [&'a Half; 8] {
        let at = |n: usize| {
            let [dx, dy] = AROUND[n];
            self.0[dy][dx + half * HALF..].first_chunk().unwrap_or(&[0; HALF])
        };
        [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)]
    }

    #[inline(always)]
    pub(super) fn here(&self) -> &'a Lanes {
        self.lanes([1, 1])
    }
}

/// Copies a run at an edge of the window, and its neighbours.
#[inline(always)]
pub(super) fn fill(p: &Params, map: &[i32], run: Run, outside: Option<i32>, room: &mut [Wide; 3]) {
    let (w, h, torus) = (p.size.x as usize, p.size.y, p.torus == 1);
    // On the torus nothing is outside: it is folded back.
    let outside = outside.filter(|_| !torus);
    let end = run.x + run.count;
    for (k, words) in room.iter_mut().enumerate() {
        let y = run.y as i32 + k as i32 - 1;
        let is_inside = (0..h).contains(&y);
        if let Some(word) = outside.filter(|_| !is_inside) {
            words.fill(word);
            continue;
        }
        let y = if is_inside { y } else { fold(y, h, torus) };
        let row = &map[y as usize * w..][..w];
        match (row[run.x..].first_chunk::<LANES>(), words[1..].first_chunk_mut::<LANES>()) {
            // Of a length that is known, this is no call.
            (Some(from), Some(to)) => *to = *from,
            _ => copy(&row[run.x..end], &mut words[1..=run.count]),
        }
        let beyond = |x: i32| outside.unwrap_or(row[fold(x, w as i32, torus) as usize]);
        // The two ends can lie in the window, where the run is not at that edge.
        words[0] = if run.x > 0 { row[run.x - 1] } else { beyond(-1) };
        words[run.count + 1] = if end < w { row[end] } else { beyond(w as i32) };
    }
}

/// Room for a [`Block`].
pub(super) const ROOM: [Wide; 3] = [[0; LANES + 2]; 3];
