//! Rooms scattered in an ellipse and moved apart.

use super::super::geometry::Rect;
use super::super::model::Tally;
use super::super::random::Random;
use super::super::steps::{Mark, Observer};
use super::{
    CALM, CLEARANCE, FINE, FOLDED_MEAN, FRAME, GROWTH, MAIN_MIN, MAINS_MIN, PACE, ROUNDS_MAX,
    SIDE_MIN, Settings, TRIES_MAX,
};
use crate::error::{Error, Result};

/// Rounds `n` to a multiple of `m` by the article's formula. A whole number is rounded up.
pub fn roundm(n: f64, m: f64) -> f64 {
    ((n + m - 1.0) / m).floor() * m
}

/// A uniformly distributed point of the `width` × `height` ellipse around the origin.
pub fn point_in_ellipse(random: &mut Random, width: f64, height: f64) -> [f64; 2] {
    let t = std::f64::consts::TAU * random.unit();
    let u = random.unit() + random.unit();
    // Folded at 1, the sum of two has a density that grows with the radius, as the area of a ring
    // does.
    let r = if u > 1.0 { 2.0 - u } else { u };
    [width * r * libm::cos(t) / 2.0, height * r * libm::sin(t) / 2.0]
}

/// Width and height of a room, in tiles. The height is drawn again until it suits the width.
fn size(random: &mut Random, settings: &Settings) -> [i32; 2] {
    let tile = f64::from(settings.tile_px);
    let mut side = |mean: f64| {
        let side = mean + settings.deviation_px * (random.normal().abs() - FOLDED_MEAN);
        ((roundm(side, tile) / tile) as i32).max(SIDE_MIN)
    };
    let w = side(settings.mean_px[0]);
    let most = |short: i32| (settings.ratio_max * f64::from(short)) as i32;
    let mut h = w;
    for _ in 0..32 {
        h = side(settings.mean_px[1]);
        if w != h && w.max(h) <= most(w.min(h)) {
            return [w, h];
        }
    }
    // Still too long, or a square: use the nearest size that is allowed.
    match w.cmp(&h) {
        std::cmp::Ordering::Greater => [w.min(most(h)), h],
        std::cmp::Ordering::Equal => [w + 1, h],
        std::cmp::Ordering::Less => [w, h.min(most(w))],
    }
}

/// A room during separation.
pub(super) struct Body {
    pub(super) rect: Rect,
    pub(super) main: bool,
}

impl Body {
    /// How many tiles must lie between this room and another: none, a wall, or space for a corridor
    /// and its walls.
    fn gap(&self, other: &Body) -> i32 {
        match (self.main, other.main) {
            (true, true) => 2 * CLEARANCE + 1,
            (false, false) => 0,
            _ => 1,
        }
    }

    /// Whether the other room is nearer than it may be.
    fn crowds(&self, other: &Body) -> bool {
        self.rect.grown(self.gap(other)).overlaps(&other.rect)
    }
}

/// The rooms around the origin, before separation.
pub(super) fn scatter_rooms(
    settings: &Settings,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<Vec<Body>> {
    let tile = f64::from(settings.tile_px);
    let [width, height] = settings.ellipse();
    for _ in 0..TRIES_MAX {
        tally.tries += 1;
        let sizes: Vec<[i32; 2]> =
            (0..settings.room_count).map(|_| size(random, settings)).collect();
        let mean = |axis: usize| {
            sizes.iter().map(|s| f64::from(s[axis])).sum::<f64>() / f64::from(settings.room_count)
        };
        let over = match settings.main_px {
            Some(px) => px.map(|px| px / tile),
            None => [0, 1].map(|axis| settings.main_factor * mean(axis)),
        };
        let main = |s: &[i32; 2]| {
            (0..2).all(|axis| f64::from(s[axis]) > over[axis] && s[axis] >= MAIN_MIN)
        };
        if sizes.iter().filter(|s| main(s)).count() < MAINS_MIN as usize {
            continue;
        }
        let body = |s: &[i32; 2]| {
            let [x, y] =
                point_in_ellipse(random, width, height).map(|v| (roundm(v, tile) / tile) as i32);
            Body {
                rect: Rect { x: x - s[0] / 2, y: y - s[1] / 2, width: s[0], height: s[1] },
                main: main(s),
            }
        };
        return Ok(sizes.iter().map(body).collect());
    }
    Err(Error::limit(format!(
        "{TRIES_MAX} draws of {} rooms gave never {MAINS_MIN} main rooms (start, boss, treasure \
         and shop): use more rooms, a larger \
         mean_px or deviation_px, or a smaller main_factor or main_px (a main room also needs \
         {MAIN_MIN} tiles a side)",
        settings.room_count
    )))
}

/// Moves rooms apart until none overlap. The top of this file explains the rule, and why this ends.
pub(super) fn separate(bodies: &mut [Body], observer: &mut Observer) {
    steer(bodies, observer);
    settle(bodies);
    observer.step("rooms move apart", || bodies.iter().map(|b| (b.rect, Mark::Faint)).collect());
}

/// Rounds of steering, until one begins without an overlap.
fn steer(bodies: &mut [Body], observer: &mut Observer) {
    let fine = |tiles: i32| i64::from(tiles) * i64::from(FINE);
    let sizes: Vec<[i64; 2]> =
        bodies.iter().map(|b| [fine(b.rect.width), fine(b.rect.height)]).collect();
    let mut places: Vec<[i64; 2]> =
        bodies.iter().map(|b| [fine(b.rect.x), fine(b.rect.y)]).collect();
    let areas: Vec<f64> = bodies.iter().map(|b| f64::from(b.rect.width * b.rect.height)).collect();
    let mean = areas.iter().sum::<f64>() / bodies.len() as f64;
    // Many rooms have a long way out, so they may go faster as long as they overlap much.
    let haste = libm::sqrt(bodies.len() as f64 / 150.0).max(1.0);
    let widest = fine(2 * CLEARANCE + 1);
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    for round in 0..ROUNDS_MAX {
        // How far each room should go, and from how many others.
        let mut ways = vec![([0.0f64; 2], 0u32); bodies.len()];
        order.sort_unstable_by_key(|&i| (places[i][0], i));
        // Side by side, since most of the time goes into rooms that are near in x alone.
        let sorted: Vec<([i64; 2], [i64; 2])> =
            order.iter().map(|&i| (places[i], sizes[i])).collect();
        for (nth, &([x, y], [width, height])) in sorted.iter().enumerate() {
            for (other, &([left, top], [across, down])) in sorted.iter().enumerate().skip(nth + 1) {
                // Rooms are in order of their western sides, so all that follow lie farther away
                // still.
                if left >= x + width + widest {
                    break;
                }
                if top >= y + height + widest || y >= top + down + widest {
                    continue;
                }
                let (i, j) = (order[nth], order[other]);
                // Twice the way from centre to centre, and how deep the two rooms lie in each
                // other.
                let (dx, dy) = (2 * (x - left) + width - across, 2 * (y - top) + height - down);
                let gap = fine(bodies[i].gap(&bodies[j]));
                let deep = ((width + across - dx.abs()) / 2 + gap)
                    .min((height + down - dy.abs()) / 2 + gap);
                if deep <= 0 {
                    continue;
                }
                let [dx, dy] =
                    if (dx, dy) == (0, 0) { [-1.0, 0.0] } else { [dx as f64, dy as f64] };
                let share = deep as f64 / libm::sqrt(dx * dx + dy * dy);
                for (room, sign) in [(i, share), (j, -share)] {
                    ways[room].0[0] += sign * dx;
                    ways[room].0[1] += sign * dy;
                    ways[room].1 += 1;
                }
            }
        }
        if ways.iter().all(|(_, others)| *others == 0) {
            break;
        }
        for (i, ([x, y], others)) in ways.into_iter().enumerate() {
            let length = libm::sqrt(x * x + y * y);
            if length > 0.0 {
                let slow = PACE * mean / libm::sqrt(areas[i]) * f64::from(FINE);
                // Both rooms of a pair give way, so each goes half of it.
                let step = (length / 2.0).clamp(slow, slow * haste.max(f64::from(others) / 64.0));
                places[i][0] += (x / length * step).round() as i64;
                places[i][1] += (y / length * step).round() as i64;
            }
            if round >= CALM {
                for (at, side) in places[i].iter_mut().zip(sizes[i]) {
                    *at += (*at + side / 2).div_euclid(GROWTH);
                }
            }
        }
        if round % FRAME == FRAME - 1 {
            observer.step("rooms move apart", || shown(bodies, &places));
        }
    }
    for (body, [x, y]) in bodies.iter_mut().zip(places) {
        (body.rect.x, body.rect.y) = (snapped(x), snapped(y));
    }
}

/// Rooms at their places of the moment, as one sees them.
fn shown(bodies: &[Body], places: &[[i64; 2]]) -> Vec<(Rect, Mark)> {
    let moved = |(body, [x, y]): (&Body, &[i64; 2])| {
        (Rect { x: snapped(*x), y: snapped(*y), ..body.rect }, Mark::Faint)
    };
    bodies.iter().zip(places).map(moved).collect()
}

/// The tile nearest to a place of [`steer`].
fn snapped(at: i64) -> i32 {
    (at + i64::from(FINE) / 2).div_euclid(i64::from(FINE)) as i32
}

/// Moves the rooms that still overlap outwards, from the innermost.
fn settle(bodies: &mut [Body]) {
    let middle =
        |r: &Rect| [f64::from(2 * r.x + r.width) / 2.0, f64::from(2 * r.y + r.height) / 2.0];
    let mut order: Vec<(f64, usize)> =
        bodies.iter().map(|b| middle(&b.rect)).map(|[x, y]| x * x + y * y).zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (nth, &(far, i)) in order.iter().enumerate() {
        let from = bodies[i].rect;
        let [x, y] = middle(&from);
        let length = libm::sqrt(far);
        let [ux, uy] = if length > 0.0 { [x / length, y / length] } else { [1.0, 0.0] };
        let mut way = 0.0f64;
        while let Some(&(_, j)) = order[..nth].iter().find(|&&(_, j)| bodies[i].crowds(&bodies[j]))
        {
            // Move along the ray until the overlap ends on one of the two axes.
            let (space, other) = (bodies[i].rect.grown(bodies[i].gap(&bodies[j])), bodies[j].rect);
            let out = |u: f64, (near, far): (i32, i32)| match u {
                u if u > 0.0 => f64::from(far) / u,
                u if u < 0.0 => f64::from(near) / -u,
                _ => f64::INFINITY,
            };
            let x = out(ux, (space.x + space.width - other.x, other.x + other.width - space.x));
            let y = out(uy, (space.y + space.height - other.y, other.y + other.height - space.y));
            // A tile at least, so that rounding cannot leave the room where it is for ever.
            way += x.min(y).max(1.0);
            bodies[i].rect.x = from.x + (way * ux).round() as i32;
            bodies[i].rect.y = from.y + (way * uy).round() as i32;
        }
    }
}

/// The cells of 1 × 1 in the gaps between rooms: those with a room to each of their four sides.
pub(super) fn gaps(bodies: &[Body]) -> Vec<Rect> {
    let Some(all) = bodies.iter().map(|b| b.rect).reduce(Rect::hull) else { return vec![] };
    let index = |x: i32, y: i32| ((y - all.y) * all.width + x - all.x) as usize;
    let mut taken = vec![false; (all.width * all.height) as usize];
    // The first and the last room of each row, and of each column.
    let mut across = vec![[i32::MAX, i32::MIN]; all.height as usize];
    let mut down = vec![[i32::MAX, i32::MIN]; all.width as usize];
    for [x, y] in bodies.iter().flat_map(|b| b.rect.cells()) {
        taken[index(x, y)] = true;
        let wider =
            |[low, high]: &mut [i32; 2], at: i32| (*low, *high) = ((*low).min(at), (*high).max(at));
        wider(&mut across[(y - all.y) as usize], x);
        wider(&mut down[(x - all.x) as usize], y);
    }
    let within = |[low, high]: [i32; 2], at: i32| low < at && at < high;
    let between = |&[x, y]: &[i32; 2]| {
        !taken[index(x, y)]
            && within(across[(y - all.y) as usize], x)
            && within(down[(x - all.x) as usize], y)
    };
    all.cells().filter(between).map(|[x, y]| Rect { x, y, width: 1, height: 1 }).collect()
}
