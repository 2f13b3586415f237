//! Runs of vertices and their neighbours, in arrays of a fixed length.

use super::Params;
use crate::arith::fold;
use std::ops::Range;

/// Vertices that are done together.
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

/// Vertices that are done together: [`LANES`], or fewer where a row, or a column of the portion,
/// has no more. With `COLUMN` they lie in the first or the last column, else in rows.
#[derive(Clone, Copy)]
pub(super) struct Run<const COLUMN: bool> {
    /// The first vertex, counted from the first of the window.
    pub(super) at: usize,
    count: usize,
    /// How many of its last vertices belong to the next run, too. The last run of a span ends where
    /// the span ends.
    again: usize,
    /// Whether the neighbours of all vertices are read where they lie.
    pub(super) is_inner: bool,
}

/// Vertices that are shared out among runs, at equal distances.
struct Span {
    at: usize,
    end: usize,
    /// Vertices of a run.
    count: usize,
}

/// The runs of whole rows. Those with `COLUMN` do the ends of the rows that others go across.
///
/// In short rows, such as those of coarse levels, many vertices would be done twice. So where
/// there is a row above and one below, a run can begin in one row and end in the next. At the ends
/// of rows it takes wrong vertices for neighbours. What it stores there is replaced by the runs of
/// the first and the last column, which therefore come later.
pub(super) struct Runs<const COLUMN: bool> {
    step: usize,
    /// Vertices around which all words that a run reads lie in the map, from the first to the last.
    inner: Range<usize>,
    span: Span,
    to_come: Vec<Span>,
}

impl<const COLUMN: bool> Runs<COLUMN> {
    /// The runs of a number of vertices from `start` on.
    pub(super) fn new(p: &Params, start: usize, number: usize) -> Self {
        let (w, h) = (p.size.x as usize, p.size.y as usize);
        let step = Run::<COLUMN>::step(p);
        let span = |at: usize, number: usize| {
            let (end, count) = (at + number * step, LANES.min(number));
            Span { at, end, count }
        };
        let rows = start / w..(start + number) / w;
        let mut within = rows.start.max(1)..rows.end.min(h - 1);
        // In a window of one column both columns would be the same, and what is less than a run
        // is done by rows.
        if w == 1 || within.len() * w < LANES + 2 {
            within = 0..0;
        }
        let mut to_come = vec![];
        // The map may lack neighbours of the first and the last vertex.
        let inner = within.start * w + 1..(within.end * w).saturating_sub(1);
        if !inner.is_empty() {
            if COLUMN {
                to_come.extend([0, w - 1].map(|x| span(within.start * w + x, within.len())));
            } else {
                to_come.push(span(inner.start, inner.len()));
            }
        }
        if !COLUMN {
            to_come.extend(rows.filter(|y| !within.contains(y)).map(|y| span(y * w, w)));
        }
        Self { step, inner, span: span(0, 0), to_come }
    }
}

impl<const COLUMN: bool> Iterator for Runs<COLUMN> {
    type Item = Run<COLUMN>;

    #[inline(always)]
    fn next(&mut self) -> Option<Run<COLUMN>> {
        if self.span.at >= self.span.end {
            self.span = self.to_come.pop()?;
        }
        let Span { at: next, end, count } = self.span;
        let length = count * self.step;
        let at = next.min(end - length);
        let after = at + length;
        let is_inner = !COLUMN && self.inner.start <= at && after <= self.inner.end;
        self.span.at = after;
        let again = if after < end { (after + length).saturating_sub(end) / self.step } else { 0 };
        Some(Run { at, count, again, is_inner })
    }
}

impl<const COLUMN: bool> Run<COLUMN> {
    /// Where each vertex lies.
    #[inline(always)]
    pub(super) fn places(&self, p: &Params) -> [Lanes; 2] {
        let w = p.size.x;
        let [x, y] = [self.at as i32 % w, self.at as i32 / w];
        let (mut xs, mut ys) = ([x; LANES], [y; LANES]);
        if COLUMN {
            (0..).zip(&mut ys).for_each(|(l, y)| *y += l);
            return [xs, ys];
        }
        for l in 0..LANES {
            let x = x + l as i32;
            let is_next = -i32::from(x >= w);
            xs[l] = x - (w & is_next);
            ys[l] -= is_next;
        }
        if w < LANES as i32 {
            // A run can have several ends of rows.
            for (l, (x_, y_)) in (0..).zip(xs.iter_mut().zip(&mut ys)) {
                (*x_, *y_) = ((x + l) % w, y + (x + l) / w);
            }
        }
        [xs, ys]
    }

    /// The y of each vertex.
    #[inline(always)]
    pub(super) fn ys(&self, p: &Params) -> Lanes {
        let [x, y] = [self.at as i32 % p.size.x, self.at as i32 / p.size.x];
        if COLUMN || x + LANES as i32 > p.size.x { self.places(p)[1] } else { [y; LANES] }
    }

    /// Which vertices a later run does again, −1 for those.
    #[inline(always)]
    pub(super) fn repeated(&self, p: &Params) -> Lanes {
        let mut repeated = [0; LANES];
        let x = self.at as i32 % p.size.x;
        if self.again > 0 || self.is_inner && (x == 0 || x + LANES as i32 >= p.size.x) {
            let [xs, _] = self.places(p);
            let own = self.count - self.again;
            for l in 0..LANES {
                let is_end = (xs[l] == 0) | (xs[l] == p.size.x - 1);
                repeated[l] = -i32::from((l >= own) | self.is_inner & is_end);
            }
        }
        repeated
    }

    /// The words of the vertices in a table that has a word for each x and then goes on with
    /// [`LANES`] words from the first.
    #[inline(always)]
    pub(super) fn of_columns<'a>(
        &self,
        p: &Params,
        table: &'a [u32],
        room: &'a mut [u32; LANES],
    ) -> &'a [u32; LANES] {
        let table = &table[self.at % p.size.x as usize..];
        match table.first_chunk() {
            Some(words) if !COLUMN => words,
            _ => {
                room.fill(table[0]);
                room
            }
        }
    }

    /// The words of a map whose first vertex is `start`: where they lie, or in `room`.
    #[inline(always)]
    pub(super) fn words<'a>(
        &self,
        p: &Params,
        map: &'a [i32],
        start: usize,
        room: &'a mut Lanes,
    ) -> &'a Lanes {
        let map = &map[self.at - start..];
        match map.first_chunk() {
            Some(words) if self.is_whole() => words,
            _ => {
                copy(map.iter().step_by(Self::step(p)), room[..self.count].iter_mut());
                room
            }
        }
    }

    /// Stores the words of the vertices in a map whose first vertex is `start`.
    #[inline(always)]
    pub(super) fn store(&self, p: &Params, words: &Lanes, map: &mut [i32], start: usize) {
        let map = &mut map[self.at - start..];
        match map.first_chunk_mut() {
            // Only a whole run may be stored so. One of a narrower window, or of a column, would
            // reach other vertices.
            Some(own) if self.is_whole() => *own = *words,
            _ => copy(words[..self.count].iter(), map.iter_mut().step_by(Self::step(p))),
        }
    }

    /// Whether the vertices are as many as lanes, one beside the other.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.count == LANES && !COLUMN
    }

    /// From each vertex to the next.
    #[inline(always)]
    fn step(p: &Params) -> usize {
        if COLUMN { p.size.x as usize } else { 1 }
    }
}

/// Copies any number of words. It stands apart, so that runs that need no copy are compiled well.
#[cold]
#[inline(never)]
fn copy<'a>(from: impl Iterator<Item = &'a i32>, to: impl Iterator<Item = &'a mut i32>) {
    from.zip(to).for_each(|(from, to)| *to = *from);
}

/// The words of a run and of all its neighbours: the run's own line and those beside it.
pub(super) struct Block<'a, const COLUMN: bool>([&'a Wide; 3]);

impl<'a, const COLUMN: bool> Block<'a, COLUMN> {
    /// Reads them where they lie, or in `room` at the edges of the window. Beyond these lies
    /// `outside`, or the vertex at the edge where that is none.
    #[inline(always)]
    pub(super) fn of(
        p: &Params,
        map: &'a [i32],
        run: Run<COLUMN>,
        outside: Option<i32>,
        room: &'a mut Room,
    ) -> Self {
        if run.is_inner {
            let w = p.size.x as usize;
            let row = |k: usize| map[run.at + k * w - w - 1..].first_chunk().unwrap_or(&EMPTY);
            return Self([row(0), row(1), row(2)]);
        }
        fill(p, map, run, outside, room);
        Self(room.each_ref())
    }

    /// The words of the neighbours in a direction.
    #[inline(always)]
    pub(super) fn lanes(&self, [dx, dy]: [usize; 2]) -> &'a Lanes {
        let [line, along] = if COLUMN { [dx, dy] } else { [dy, dx] };
        self.0[line][along..].first_chunk().unwrap_or(&[0; LANES])
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
        let at =
            |n: usize| self.lanes(AROUND[n])[half * HALF..].first_chunk().unwrap_or(&[0; HALF]);
        [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)]
    }

    #[inline(always)]
    pub(super) fn here(&self) -> &'a Lanes {
        self.lanes([1, 1])
    }
}

/// Copies the vertices of a run and one more at both ends, and those of the rows or columns beside
/// it.
#[inline(always)]
fn fill<const COLUMN: bool>(
    p: &Params,
    map: &[i32],
    run: Run<COLUMN>,
    outside: Option<i32>,
    room: &mut Room,
) {
    let (w, h, torus) = (p.size.x, p.size.y, p.torus == 1);
    let [x, y] = [run.at as i32 % w, run.at as i32 / w];
    // On the torus nothing is outside: it is folded back.
    let outside = outside.filter(|_| !torus);
    // Along the run and across: where it begins, and the length and the step of the axis.
    let [(first, length, step), (at, breadth, stride)] =
        if COLUMN { [(y, h, w), (x, w, 1)] } else { [(x, w, 1), (y, h, w)] };
    let end = first + run.count as i32;
    for (words, across) in room.iter_mut().zip(at - 1..) {
        if let Some(word) = outside.filter(|_| !(0..breadth).contains(&across)) {
            words.fill(word);
            continue;
        }
        let line = &map[(fold(across, breadth, torus) * stride) as usize..];
        let from = &line[(first * step) as usize..];
        match (from.first_chunk::<LANES>(), words[1..].first_chunk_mut()) {
            // Of a length that is known, this is no call.
            (Some(from), Some(to)) if run.is_whole() => *to = *from,
            _ => copy(from.iter().step_by(step as usize), words[1..=run.count].iter_mut()),
        }
        let beyond = |i: i32| match outside {
            Some(word) if !(0..length).contains(&i) => word,
            _ => line[(fold(i, length, torus) * step) as usize],
        };
        (words[0], words[run.count + 1]) = (beyond(first - 1), beyond(end));
    }
}

/// Room for a [`Block`].
pub(super) type Room = [Wide; 3];

pub(super) const ROOM: Room = [EMPTY; 3];

const EMPTY: Wide = [0; LANES + 2];
