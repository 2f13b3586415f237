//! Halls between rooms, and their doors.

use super::super::geometry::{Rect, Side};
use super::super::model::{Door, DoorState, Dungeon, Grid, Role};
use super::super::random::Random;
use super::CLEARANCE;

/// Extends a path in straight lines to a cell, first along x, then along y.
pub(super) fn line(path: &mut Vec<[i32; 2]>, to: [i32; 2]) {
    while let Some(&[x, y]) = path.last()
        && [x, y] != to
    {
        path.push(if x != to[0] {
            [x + (to[0] - x).signum(), y]
        } else {
            [x, y + (to[1] - y).signum()]
        });
    }
}

/// Which main room has a cell within its clearance. Corridors are routed on this map.
pub(super) struct Clearances<'a> {
    pub(super) mains: &'a [Rect],
    pub(super) width: i32,
    pub(super) of: Vec<u16>,
}

impl<'a> Clearances<'a> {
    const FREE: u16 = u16::MAX;

    pub(super) fn new(mains: &'a [Rect], width: i32, height: i32) -> Self {
        let mut of = vec![Self::FREE; (width * height) as usize];
        for (i, room) in mains.iter().enumerate() {
            let Rect { x, y, width: across, height: down } = room.grown(CLEARANCE);
            // The margin of the grid is wider than the clearance, so no row runs over an end.
            for row in y..y + down {
                of[(row * width + x) as usize..][..across as usize].fill(i as u16);
            }
        }
        Self { mains, width, of }
    }

    pub(super) fn at(&self, [x, y]: [i32; 2]) -> Option<usize> {
        let room = self.of[(y * self.width + x) as usize];
        (room != Self::FREE).then_some(room as usize)
    }

    /// The centre line of a corridor from the wall of main room `a` to the wall of main room `b`.
    pub(super) fn route(&self, a: usize, b: usize, random: &mut Random) -> Vec<[i32; 2]> {
        let ([ax, ay], [bx, by]) = (self.mains[a].centre(), self.mains[b].centre());
        let middle = [(ax + bx).div_euclid(2), (ay + by).div_euclid(2)];
        // Whether a straight corridor three tiles wide through the middle can enter the room.
        let within = |room: &Rect, axis: usize| match axis {
            0 => (room.x + 1..room.x + room.width - 1).contains(&middle[0]),
            _ => (room.y + 1..room.y + room.height - 1).contains(&middle[1]),
        };
        let both = |axis| within(&self.mains[a], axis) && within(&self.mains[b], axis);
        let mut straight;
        if both(0) {
            straight = vec![[middle[0], ay]];
            line(&mut straight, [middle[0], by]);
        } else if both(1) {
            straight = vec![[ax, middle[1]]];
            line(&mut straight, [bx, middle[1]]);
        } else {
            let corner = if random.chance(1, 2) { [bx, ay] } else { [ax, by] };
            straight = vec![[ax, ay]];
            line(&mut straight, corner);
            line(&mut straight, [bx, by]);
        }
        let left = straight.iter().rposition(|&c| self.at(c) == Some(a)).map_or(0, |i| i + 1);
        let entered = straight[left..]
            .iter()
            .position(|&c| self.at(c) == Some(b))
            .map_or(straight.len(), |i| left + i);
        // Main rooms are 2·CLEARANCE + 1 tiles apart or more, so there is a cell between the
        // clearances of two.
        let free = &straight[left..entered];

        let mut path = self.port(a, free[0]);
        line(&mut path, free[0]);
        let mut i = 1;
        while i < free.len() {
            match self.at(free[i]) {
                None => path.push(free[i]),
                Some(third) => {
                    i = free
                        .iter()
                        .rposition(|&c| self.at(c) == Some(third))
                        .map_or(i, |last| last + 1);
                    self.follow_ring(third, free[i], &mut path);
                }
            }
            i += 1;
        }
        let mut end = self.port(b, free[free.len() - 1]);
        end.reverse();
        line(&mut path, end[0]);
        path.extend(&end[1..]);
        path.dedup();
        path
    }

    /// Three cells from the wall of a room to the ring around it, as near to a cell of the ring as
    /// possible.
    fn port(&self, room: usize, near: [i32; 2]) -> Vec<[i32; 2]> {
        let Rect { x, y, width, height } = self.mains[room];
        let px = near[0].clamp(x + 1, x + width - 2);
        let py = near[1].clamp(y + 1, y + height - 2);
        let out = |side: Side, [x, y]: [i32; 2]| {
            let [dx, dy] = side.step();
            (0..=CLEARANCE).map(|i| [x + i * dx, y + i * dy]).collect()
        };
        match near {
            [nx, _] if nx < x - CLEARANCE => out(Side::West, [x - 1, py]),
            [nx, _] if nx >= x + width + CLEARANCE => out(Side::East, [x + width, py]),
            [_, ny] if ny < y - CLEARANCE => out(Side::North, [px, y - 1]),
            _ => out(Side::South, [px, y + height]),
        }
    }

    /// Extends a path along the ring around a room, from its last cell to another cell of the ring,
    /// in the shorter direction.
    fn follow_ring(&self, room: usize, to: [i32; 2], path: &mut Vec<[i32; 2]>) {
        let ring = self.mains[room].grown(CLEARANCE + 1);
        let (x1, y1) = (ring.x + ring.width - 1, ring.y + ring.height - 1);
        let mut cells = vec![[ring.x, ring.y]];
        for corner in [[x1, ring.y], [x1, y1], [ring.x, y1], [ring.x, ring.y]] {
            line(&mut cells, corner);
        }
        cells.pop();
        let place = |cell| cells.iter().position(|c| *c == cell).unwrap_or(0);
        let (from, n) = (path.last().map_or(0, |c| place(*c)), cells.len());
        let ahead = (place(to) + n - from) % n;
        match ahead <= n / 2 {
            true => path.extend((1..=ahead).map(|i| cells[(from + i) % n])),
            false => path.extend((1..=n - ahead).map(|i| cells[(from + n - i) % n])),
        }
    }
}

/// A cell of a centre line, widened to the three tiles of a corridor.
pub(super) fn widened(&[x, y]: &[i32; 2]) -> Rect {
    Rect { x, y, width: 1, height: 1 }.grown(1)
}

/// The straight pieces of corridors.
pub(super) fn pieces(routes: &[Vec<[i32; 2]>]) -> Vec<Rect> {
    let piece = |ends: &[[i32; 2]]| widened(&ends[0]).hull(widened(&ends[1]));
    routes.iter().flat_map(|route| turns(route).windows(2).map(piece).collect::<Vec<_>>()).collect()
}

/// The cells where a path starts, bends and ends.
pub(super) fn turns(path: &[[i32; 2]]) -> Vec<[i32; 2]> {
    let straight = |i: usize| {
        let step = |a: [i32; 2], b: [i32; 2]| [b[0] - a[0], b[1] - a[1]];
        i > 0 && i + 1 < path.len() && step(path[i - 1], path[i]) == step(path[i], path[i + 1])
    };
    (0..path.len()).filter(|&i| !straight(i)).map(|i| path[i]).collect()
}

/// Numbers the connected sets of corridors and hallways, and finds the doors: runs of corridor
/// along the walls of main rooms.
pub(super) fn halls_and_doors(dungeon: &mut Dungeon) {
    let (width, height) = (dungeon.grid.width as i32, dungeon.grid.height as i32);
    let mains = dungeon.rooms.iter().filter(|room| room.role != Role::Hallway).count() as i32;
    let mut hall = vec![u32::MAX; (width * height) as usize];
    let index = |[x, y]: [i32; 2]| (y * width + x) as usize;
    let floor =
        // Main rooms have the first numbers, so those from `mains` on are hallways.
        |grid: &Grid, cell: [i32; 2]| grid.at(cell) == Grid::CORRIDOR || grid.at(cell) >= mains;
    let mut count = 0;
    for start in (Rect { x: 0, y: 0, width, height }).cells() {
        if !floor(&dungeon.grid, start) || hall[index(start)] != u32::MAX {
            continue;
        }
        let mut open = vec![start];
        hall[index(start)] = count;
        while let Some([x, y]) = open.pop() {
            let around = Side::ALL.map(|side| [x + side.step()[0], y + side.step()[1]]);
            for next in around.into_iter().filter(|&next| floor(&dungeon.grid, next)) {
                if hall[index(next)] == u32::MAX {
                    hall[index(next)] = count;
                    open.push(next);
                }
            }
        }
        count += 1;
    }
    for room in dungeon.rooms.iter_mut().filter(|room| room.role == Role::Hallway) {
        room.hall = Some(hall[index([room.rect.x, room.rect.y])]);
    }
    for room in dungeon.rooms.iter().filter(|room| room.role != Role::Hallway) {
        let Rect { x, y, width, height } = room.rect;
        for side in Side::ALL {
            let (first, step, length) = match side {
                Side::North => ([x, y - 1], [1, 0], width),
                Side::South => ([x, y + height], [1, 0], width),
                Side::West => ([x - 1, y], [0, 1], height),
                Side::East => ([x + width, y], [0, 1], height),
            };
            let cell = |i: i32| [first[0] + i * step[0], first[1] + i * step[1]];
            let open = |i: i32| i < length && dungeon.grid.at(cell(i)) == Grid::CORRIDOR;
            let mut i = 0;
            while i < length {
                let run = (i..).take_while(|&i| open(i)).count() as i32;
                if run > 0 {
                    let [x, y] = cell(i + run / 2);
                    let id = dungeon.doors.len() as u32;
                    let hall = Some(hall[index([x, y])]);
                    let (state, key) = (DoorState::Open, None);
                    dungeon.doors.push(Door {
                        id,
                        from: room.id,
                        to: None,
                        hall,
                        x,
                        y,
                        side,
                        width: run as u32,
                        state,
                        key,
                    });
                }
                i += run.max(1);
            }
        }
    }
}
