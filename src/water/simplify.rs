//! Lines with fewer vertices, whose network stays what it is.
//!
//! Vertices go one after the other, those first whose loss moves the line least (M. Visvalingam, J.
//! D. Whyatt, *Line generalisation by repeated elimination of points*, 1993). One stays if the line
//! would come to lie farther from a vertex that it had than is allowed, beside it, above or below,
//! or if any other vertex lies within the triangle that the line would be drawn across: then no two
//! lines can come to cross that did not before.

use super::reach::Reach;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Removes vertices of all reaches but their first and last ones. No vertex that goes was farther
/// than `most` half cells from the new line, and no more than `most_m` metres higher or lower than
/// the line is where it is nearest.
pub(super) fn simplify(reaches: &mut [Reach], most: f64, most_m: f64) {
    // Vertices that are there, by place. Several lines end at one.
    let mut there: BTreeMap<[i32; 2], u32> = BTreeMap::new();
    for vertex in reaches.iter().flat_map(|reach| &reach.vertices) {
        // Rows come first, so that those of a row are one range.
        *there.entry([vertex.at[1], vertex.at[0]]).or_default() += 1;
    }
    let mut lines: Vec<Line> = reaches.iter().map(Line::of).collect();
    let mut queue: BinaryHeap<Reverse<(i64, usize, usize)>> = BinaryHeap::new();
    for (i, line) in lines.iter().enumerate() {
        queue.extend((1..line.at.len() - 1).map(|k| Reverse((line.area(k), i, k))));
    }
    while let Some(Reverse((area, i, k))) = queue.pop() {
        let line = &mut lines[i];
        // An entry is out of date when a vertex beside it has gone.
        if line.gone[k] || line.area(k) != area {
            continue;
        }
        let (before, after) = (line.before[k], line.after[k]);
        let corners = [line.at[before], line.at[k], line.at[after]];
        if !line.is_near(before, after, most, most_m) || is_crowded(corners, &there) {
            continue;
        }
        line.gone[k] = true;
        (line.after[before], line.before[after]) = (after, before);
        let place = [corners[1][1], corners[1][0]];
        if let Some(count) = there.get_mut(&place) {
            *count -= 1;
            if *count == 0 {
                there.remove(&place);
            }
        }
        for near in [before, after] {
            if near != 0 && near + 1 != line.at.len() {
                queue.push(Reverse((line.area(near), i, near)));
            }
        }
    }
    for (reach, line) in reaches.iter_mut().zip(lines) {
        let mut gone = line.gone.into_iter();
        reach.vertices.retain(|_| !gone.next().unwrap_or(false));
    }
}

/// A line from which vertices are taken.
struct Line {
    at: Vec<[i32; 2]>,
    height_m: Vec<f64>,
    before: Vec<usize>,
    after: Vec<usize>,
    gone: Vec<bool>,
}

/// Twice the area of a triangle; its sign says which way round it goes.
fn turn(a: [i32; 2], b: [i32; 2], c: [i32; 2]) -> i64 {
    let [bx, by] = [0, 1].map(|axis| i64::from(b[axis]) - i64::from(a[axis]));
    let [cx, cy] = [0, 1].map(|axis| i64::from(c[axis]) - i64::from(a[axis]));
    bx * cy - by * cx
}

impl Line {
    fn of(reach: &Reach) -> Self {
        let at: Vec<[i32; 2]> = reach.vertices.iter().map(|vertex| vertex.at).collect();
        let count = at.len();
        Self {
            before: (0..count).map(|k| k.saturating_sub(1)).collect(),
            after: (1..=count).collect(),
            gone: vec![false; count],
            at,
            height_m: reach.vertices.iter().map(|vertex| f64::from(vertex.height_m)).collect(),
        }
    }

    /// Twice the area of the triangle that goes with a vertex.
    fn area(&self, k: usize) -> i64 {
        turn(self.at[self.before[k]], self.at[k], self.at[self.after[k]]).abs()
    }

    /// Whether all vertices of the first line between two that stay are near the straight line
    /// between these, `most` beside it and `most_m` above or below.
    fn is_near(&self, from: usize, to: usize, most: f64, most_m: f64) -> bool {
        let (a, b) = (self.at[from], self.at[to]);
        let square = |a: [i32; 2], b: [i32; 2]| {
            let [x, y] = [0, 1].map(|axis| i64::from(a[axis]) - i64::from(b[axis]));
            x * x + y * y
        };
        let length = square(a, b);
        let (high, low) = (self.height_m[from], self.height_m[to]);
        (from + 1..to).all(|k| {
            let p = self.at[k];
            let (near, far) = (square(a, p), square(b, p));
            // Beside the middle the distance is that from the line, else that from an end.
            let beside = length > 0 && near + length >= far && far + length >= near;
            let is_near = if beside {
                let across = turn(a, b, p) as f64;
                across * across <= most * most * length as f64
            } else {
                near.min(far) as f64 <= most * most
            };
            // How much of the way has gone, by the law of cosines.
            let share = match beside {
                true => (near - far + length) as f64 / (2 * length) as f64,
                false => f64::from(u8::from(near > far)),
            };
            is_near && (high + (low - high) * share - self.height_m[k]).abs() <= most_m
        })
    }
}

/// Whether a vertex that is there lies within a triangle or on its sides, other than its corners.
/// Of the corners one that lines share counts as well, where it is the middle one.
fn is_crowded(corners: [[i32; 2]; 3], there: &BTreeMap<[i32; 2], u32>) -> bool {
    let [a, b, c] = corners;
    if there.get(&[b[1], b[0]]).is_some_and(|count| *count > 1) || a == c {
        return true;
    }
    let sort = |axis: usize| {
        corners
            .map(|corner| corner[axis])
            .into_iter()
            .fold((i32::MAX, i32::MIN), |(l, h), v| (l.min(v), h.max(v)))
    };
    let ((west, east), (north, south)) = (sort(0), sort(1));
    (north..=south).any(|y| {
        there.range([y, west]..=[y, east]).any(|(&[y, x], _)| {
            let p = [x, y];
            let sides = [turn(a, b, p), turn(b, c, p), turn(c, a, p)];
            let within = sides.iter().all(|side| *side >= 0) || sides.iter().all(|side| *side <= 0);
            within && !corners.contains(&p)
        })
    })
}
