//! Exact outlines of sets of cells.

use super::directions::Size;
use std::collections::HashMap;

/// A closed line through corners of cells, in half cells from the middle of the north-west cell to
/// the east and to the south. The first corner is not repeated, and no three in a row lie on one
/// line.
pub type Ring = Vec<[i32; 2]>;

/// A part that hangs together by sides of cells: its outer ring, counterclockwise as seen with
/// north up, then its holes, clockwise.
pub type Polygon = Vec<Ring>;

/// North, east, south, west: the sides of a cell, and the steps over them.
const SIDES: [(isize, isize); 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];

/// The neighbour over a side, and of that one the neighbour over another.
fn over(size: Size, cell: usize, steps: &[usize]) -> Option<usize> {
    let (mut x, mut y) = (cell % size.width, cell / size.width);
    for side in steps {
        let (dx, dy) = SIDES[*side];
        (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
    }
    (x < size.width && y < size.height).then_some(y * size.width + x)
}

/// For each label from 1 to `count` the outlines of its cells. Cells of label 0 have none. Rings
/// touch themselves and each other at corners at most, and no ring touches itself.
pub fn outlines(size: Size, labels: &[i32], count: usize) -> Vec<Vec<Polygon>> {
    let (parts, of) = parts(size, labels);
    let mut polygons: Vec<Polygon> = vec![vec![]; of.len()];
    let mut seen = vec![0u8; labels.len()];
    let same = |cell: Option<usize>, part: u32| cell.is_some_and(|cell| parts[cell] == part);
    for first in 0..labels.len() {
        let part = parts[first];
        if part == NONE {
            continue;
        }
        for side in 0..4 {
            if seen[first] & 1 << side != 0 || same(over(size, first, &[side]), part) {
                continue;
            }
            // Along the sides with the part on the right.
            let mut ring: Ring = vec![];
            let mut pinched = false;
            let (mut at, mut along) = (first, side);
            loop {
                seen[at] |= 1 << along;
                let heading = (along + 1) % 4;
                let (ahead, left) = (over(size, at, &[heading]), over(size, at, &[heading, along]));
                // Without a cell ahead the line turns round this one's corner. With one it goes
                // straight on, or to the left where the cell across belongs to the part, too.
                let (next, turned) = match (same(ahead, part), same(left, part)) {
                    (false, beyond) => {
                        // Where the cell across the corner belongs to the part, the line meets
                        // itself.
                        pinched |= beyond;
                        (at, heading)
                    }
                    (true, true) => (left.unwrap_or(at), (along + 3) % 4),
                    (true, false) => (ahead.unwrap_or(at), along),
                };
                if turned != along {
                    ring.push(corner(size, at, along));
                }
                (at, along) = (next, turned);
                if (at, along) == (first, side) {
                    break;
                }
            }
            for mut ring in if pinched { simple(ring) } else { vec![ring] } {
                let outer = twice_area(&ring) > 0;
                // The walk was clockwise round the outside, and rings go the other way round.
                ring.reverse();
                let polygon = &mut polygons[part as usize];
                if outer { polygon.insert(0, ring) } else { polygon.push(ring) }
            }
        }
    }
    let mut all = vec![vec![]; count];
    for (polygon, label) in polygons.into_iter().zip(of) {
        if let Some(of) = all.get_mut(label as usize - 1) {
            of.push(polygon);
        }
    }
    all
}

/// Not in any part.
const NONE: u32 = u32::MAX;

/// The number of the part of each cell, in the order of the map, and the label of each part. Parts
/// hang together by sides.
fn parts(size: Size, labels: &[i32]) -> (Vec<u32>, Vec<i32>) {
    let mut parts = vec![NONE; labels.len()];
    let mut of = vec![];
    let mut queue = vec![];
    for first in 0..labels.len() {
        if labels[first] <= 0 || parts[first] != NONE {
            continue;
        }
        parts[first] = of.len() as u32;
        queue.push(first);
        while let Some(at) = queue.pop() {
            for n in (0..4).filter_map(|side| over(size, at, &[side])) {
                if parts[n] == NONE && labels[n] == labels[first] {
                    parts[n] = of.len() as u32;
                    queue.push(n);
                }
            }
        }
        of.push(labels[first]);
    }
    (parts, of)
}

/// The corner at which a side of a cell ends, clockwise.
fn corner(size: Size, cell: usize, side: usize) -> [i32; 2] {
    let (x, y) = ((cell % size.width) as i32 * 2, (cell / size.width) as i32 * 2);
    let (east, south) = ([true, true, false, false][side], [false, true, true, false][side]);
    [if east { x + 1 } else { x - 1 }, if south { y + 1 } else { y - 1 }]
}

/// A closed line that meets itself at corners, as rings that do not.
fn simple(line: Ring) -> Vec<Ring> {
    let mut rings = vec![];
    let mut way: Ring = vec![];
    let mut places: HashMap<[i32; 2], usize> = HashMap::new();
    for corner in line {
        // A corner that is met again closes a ring, which leaves the way.
        if let Some(&from) = places.get(&corner) {
            let ring = way.split_off(from);
            for corner in &ring {
                places.remove(corner);
            }
            rings.push(ring);
        }
        places.insert(corner, way.len());
        way.push(corner);
    }
    rings.push(way);
    rings
}

/// Twice the area within a ring; over 0 if it runs clockwise as seen with north up.
fn twice_area(ring: &Ring) -> i64 {
    let next = ring.iter().cycle().skip(1);
    ring.iter()
        .zip(next)
        .map(|(a, b)| i64::from(a[0]) * i64::from(b[1]) - i64::from(b[0]) * i64::from(a[1]))
        .sum()
}
