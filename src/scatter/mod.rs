//! Places for things: points of the jittered lattice or of a Poisson disc, with the biome and the
//! height under each, and the size and the turn of what stands there.

mod settings;
mod shape;

pub use settings::Settings;
pub(crate) use settings::WET;
pub use shape::Shape;

use crate::arith;
use crate::error::{Error, Result};
use crate::lattice::{Lattice, Point};
use crate::map::Map;
use crate::site::Window;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Those of a [`Lattice`] of that frequency which are `distance` cells or more from all others,
    /// or were drawn before those that are not: the same in any window.
    Lattice {
        /// Points a cell of length.
        frequency: f64,
        /// Cells between any two, at least; 0: no matter.
        distance: f64,
    },
    /// As many as fit, `distance` cells or more apart: for a finite map, which they depend on.
    Poisson {
        /// Cells between any two, at least.
        distance: f64,
    },
}

impl Method {
    /// Checks its numbers.
    ///
    /// # Errors
    /// [`Error::Param`] for a frequency or a distance out of range.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Lattice { frequency, distance } => {
                Lattice::new(frequency, 0)?;
                if distance == 0.0 { Ok(()) } else { check_distance(distance) }
            }
            Self::Poisson { distance } => check_distance(distance),
        }
    }

    /// Checks that a window does not have too many points.
    ///
    /// # Errors
    /// [`Error::Limit`] for more than 16 million.
    pub fn admits(self, window: &Window) -> Result<()> {
        let what = match self {
            Self::Lattice { frequency, .. } => format!("frequency = {frequency}"),
            Self::Poisson { distance } => format!("distance = {distance}"),
        };
        check_count(self.points(window), &what)
    }

    /// About how many points there are in a window, before they are thinned.
    pub(crate) fn points(self, window: &Window) -> f64 {
        match self {
            Self::Lattice { frequency, distance } => {
                let [width, height] = [window.width, window.height]
                    .map(|n| f64::from(n) + 2.0 * (distance.ceil() + 1.0));
                width * height * frequency * frequency * 3f64.sqrt()
            }
            Self::Poisson { distance } => {
                let cells = f64::from(window.width) * f64::from(window.height);
                cells / (distance * distance) * 0.8
            }
        }
    }
}

/// A place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// World coordinates in cells: to the east, to the south. The sample of a cell lies at whole
    /// numbers, in its middle.
    pub x: f64,
    /// See `x`.
    pub y: f64,
    /// Height of the ground in metres, between samples linear.
    pub height_m: f64,
    /// Number of the biome of the nearest sample, where there are biomes.
    pub biome: Option<usize>,
    /// The factor of the size of what stands there.
    pub size: f64,
    /// How far it is turned clockwise, seen from above: 0 up to 360 degrees.
    pub turn_deg: f64,
}

/// Which share of the places is kept, and how large things are.
#[derive(Clone, Copy, Debug)]
pub struct Growth<'a> {
    /// The share of the places that each biome keeps, by its number; 1 beyond the list's end.
    pub densities: &'a [f64],
    /// Maps of weights from 0 to 1, such as those of materials, and the share that ground with a
    /// weight of 1 keeps; shares of several add up. None: the ground does not matter.
    pub on: &'a [(Map, f64)],
    /// A map of slopes, and the lowest and the highest at which anything stands.
    pub slope: Option<(&'a Map, [f64; 2])>,
    /// Maps that are 0 where anything stands, such as the depth of water.
    pub clear_of: &'a [Map],
    /// The lowest height at which anything stands, in metres.
    pub above_m: Option<f64>,
    /// The smallest and the largest factor of size.
    pub size: [f64; 2],
}

impl Default for Growth<'_> {
    fn default() -> Self {
        Self {
            densities: &[],
            on: &[],
            slope: None,
            clear_of: &[],
            above_m: None,
            size: [1.0, 1.0],
        }
    }
}

impl Growth<'_> {
    /// The share of the places that a cell keeps.
    fn share(&self, cell: usize, height_m: f64, biome: Option<usize>) -> f64 {
        if self.above_m.is_some_and(|least| height_m < least) {
            return 0.0;
        }
        if let Some((slope, [low, high])) = self.slope
            && !(low..=high).contains(&f64::from(slope.data[cell]))
        {
            return 0.0;
        }
        if self.clear_of.iter().any(|map| map.data[cell] != 0.0) {
            return 0.0;
        }
        let density = biome.and_then(|b| self.densities.get(b)).copied().unwrap_or(1.0);
        let kept = |(weight, share): &(Map, f64)| f64::from(weight.data[cell]) * share;
        let ground = if self.on.is_empty() { 1.0 } else { self.on.iter().map(kept).sum::<f64>() };
        density * ground
    }
}

/// Shortest and longest distance between places, in cells.
pub const DISTANCES: [f64; 2] = [0.5, 4096.0];
/// Most points of a lattice or a disc, and of all tables of a recipe.
pub(crate) const POINTS_MAX: f64 = (1 << 24) as f64;
/// Purposes of random numbers.
const ORDER: u32 = 0x5ca1;
const THIN: u32 = 0x5ca2;
const SIZE: u32 = 0x5ca3;
const TURN: u32 = 0x5ca4;
/// Tries of Bridson's algorithm before a place is given up.
const TRIES: usize = 30;

/// Places in a window, from north to south and from west to east; `growth` says which of them are
/// kept.
///
/// A window has the places to which one of its samples is the nearest, so windows side by side have
/// each place of the lattice once. Half a cell of that lies beyond the outermost samples, on all
/// sides alike: there height and biome are those of the border.
///
/// # Errors
/// [`Error::Param`] for a frequency, a distance or a density out of range; [`Error::Limit`] for
/// more than 16 million points; [`Error::Cancelled`] soon after `stop` is set.
pub fn places(
    method: Method,
    seed: u64,
    window: &Window,
    height: &Map,
    biome: Option<&Map>,
    growth: &Growth,
    stop: &AtomicBool,
) -> Result<Vec<Place>> {
    method.check()?;
    method.admits(window)?;
    let others = growth.on.iter().map(|(map, _)| map).chain(growth.slope.map(|(map, _)| map));
    let others = others.chain(growth.clear_of);
    for map in std::iter::once(height).chain(biome).chain(others) {
        let whole = map.width == window.width
            && map.height == window.height
            && map.data.len() == window.cells();
        if !whole || window.cells() == 0 {
            return Err(Error::param(format!(
                "{} x {} cells for a window of {} x {}: give maps of the window's size",
                map.width, map.height, window.width, window.height
            )));
        }
    }
    let shares = growth.on.iter().map(|(_, share)| share);
    if let Some(density) = growth.densities.iter().chain(shares).find(|d| !(0.0..=1.0).contains(*d))
    {
        return Err(Error::param(format!("density {density}: allowed 0 to 1")));
    }
    let spots = match method {
        Method::Lattice { frequency, distance } => {
            lattice(frequency, distance, seed, window, stop)?
        }
        Method::Poisson { distance } => poisson(distance, seed, window, stop)?,
    };
    let [thin, size, turn] = [THIN, SIZE, TURN].map(|purpose| arith::key(seed, purpose));
    let [smallest, largest] = growth.size;
    let (width, last) =
        (window.width as usize, [window.width - 1, window.height - 1].map(f64::from));
    let mut places: Vec<Place> = vec![];
    for spot in sorted(spots, window, stop)? {
        check_stop(stop)?;
        let [x, y] = [0, 1].map(|a| spot[a] + window.origin[a] as f64);
        let [u, v] = [0, 1].map(|a| spot[a].clamp(0.0, last[a]));
        let nearest = v.round() as usize * width + u.round() as usize;
        let biome = biome.map(|map| map.data[nearest] as usize);
        // The draw belongs to the place, to 2⁻⁸ cells.
        let [i, j] = [0, 1]
            .map(|a| ((spot[a] * 256.0).floor() as i64).wrapping_add(window.origin[a] << 8) as u32);
        // A hash is below 2³², so a share of 1 keeps all places.
        let drawn = |key| f64::from(arith::hash(key, i, j)) / 4294967296.0;
        // By the nearest sample, which a part of the land has as the whole does.
        let ground_m = f64::from(height.data[nearest]);
        if drawn(thin) < growth.share(nearest, ground_m, biome) {
            places.push(Place {
                x,
                y,
                height_m: between(height, u, v),
                biome,
                // Files have them as texts, which are short so.
                size: thousandths(smallest + (largest - smallest) * drawn(size)),
                turn_deg: thousandths(360.0 * drawn(turn)) % 360.0,
            });
        }
    }
    Ok(places)
}

/// From north to south and from west to east; places count from the window's origin.
fn sorted(spots: Vec<[f64; 2]>, window: &Window, stop: &AtomicBool) -> Result<Vec<[f64; 2]>> {
    // Row by row, since one sort of millions would not hear that it is to stop.
    let mut rows = vec![vec![]; window.height as usize];
    spots.into_iter().for_each(|spot| rows[(spot[1] + 0.5) as usize].push(spot));
    for row in &mut rows {
        check_stop(stop)?;
        row.sort_by(|a, b| a[1].total_cmp(&b[1]).then(a[0].total_cmp(&b[0])));
    }
    Ok(rows.concat())
}

/// Leaves out places outside the land, whose cells are `missing`, in order.
pub fn keep_land(places: &mut Vec<Place>, window: &Window, missing: &[usize]) {
    let nearest = |at: f64, origin: i64, side: u32| {
        ((at + 0.5).floor() as i64 - origin).clamp(0, i64::from(side) - 1) as usize
    };
    places.retain(|place| {
        let row = nearest(place.y, window.origin[1], window.height);
        let cell = row * window.width as usize + nearest(place.x, window.origin[0], window.width);
        missing.binary_search(&cell).is_err()
    });
}

fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn check_stop(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
}

fn check_distance(distance: f64) -> Result<()> {
    let [low, high] = DISTANCES;
    if (low..=high).contains(&distance) {
        return Ok(());
    }
    Err(Error::param(format!("distance = {distance}: allowed {low} to {high} cells")))
}

fn check_count(count: f64, what: &str) -> Result<()> {
    if count <= POINTS_MAX {
        return Ok(());
    }
    Err(Error::over(
        format!(
            "{what} makes about {count:.0} points: allowed 16777216; take fewer or a smaller window"
        ),
        count as u64,
        1u64 << 24,
        "points",
    ))
}

/// A value of a map between its samples.
fn between(map: &Map, u: f64, v: f64) -> f64 {
    let (w, h) = (map.width as usize, map.height as usize);
    let (x, y) = (u as usize, v as usize);
    let at = |i: usize, j: usize| map.data[j.min(h - 1) * w + i.min(w - 1)] as f64;
    let (fx, fy) = (u - x as f64, v - y as f64);
    let (top, low) = (
        at(x, y) + (at(x + 1, y) - at(x, y)) * fx,
        at(x, y + 1) + (at(x + 1, y + 1) - at(x, y + 1)) * fx,
    );
    top + (low - top) * fy
}

/// The points of the lattice in a window, from its origin: so distances are exact as far out as the
/// world goes.
fn lattice(
    frequency: f64,
    distance: f64,
    seed: u64,
    window: &Window,
    stop: &AtomicBool,
) -> Result<Vec<[f64; 2]>> {
    let lattice = Lattice::new(frequency, seed)?;
    // A point is told apart from those beyond the window that it might have to give way to.
    // The cells of points begin half a cell before those of samples.
    let margin = distance.ceil() as u32 + 1;
    let origin = window.origin.map(|o| o - margin as i64);
    let size = [window.width, window.height].map(|n| n + 2 * margin);
    let mut points = vec![];
    let strip = lattice.side();
    for top in (0..size[1]).step_by(strip as usize) {
        check_stop(stop)?;
        points.extend(
            lattice
                .within([origin[0], origin[1] + top as i64], [size[0], strip.min(size[1] - top)]),
        );
    }
    let place = |p: &Point| {
        [0, 1].map(|a| (p.cell[a] - window.origin[a]) as f64 + p.fraction[a] as f64 / 65536.0)
    };
    let inside = |p: &Point| {
        let [x, y] =
            [0, 1].map(|a| p.cell[a] - window.origin[a] + i64::from(p.fraction[a] >= 1 << 15));
        (0..window.width as i64).contains(&x) && (0..window.height as i64).contains(&y)
    };
    if distance == 0.0 {
        return Ok(points.iter().filter(|p| inside(p)).map(place).collect());
    }
    let key = arith::key(seed, ORDER);
    let rank = |p: &Point| (arith::hash(key, p.vertex[0] as u32, p.vertex[1] as u32), p.vertex);
    // No cell is narrower than the distance, so the points that matter lie in those next to it.
    let side = distance.max(1.0);
    let cell = |p: &Point| place(p).map(|v| ((v + margin as f64) / side) as usize);
    let across = [0, 1].map(|a| (size[a] as f64 / side) as usize + 1);
    let mut grid: Vec<Vec<u32>> = vec![vec![]; across[0] * across[1]];
    for (n, p) in points.iter().enumerate() {
        let [x, y] = cell(p);
        grid[y * across[0] + x].push(n as u32);
    }
    let kept = |p: &Point| {
        let [x, y] = cell(p);
        let rows = y.saturating_sub(1)..(y + 2).min(across[1]);
        let mut near = rows.flat_map(|j| {
            (x.saturating_sub(1)..(x + 2).min(across[0])).map(move |i| j * across[0] + i)
        });
        let [px, py] = place(p);
        !near.any(|at| {
            grid[at].iter().map(|n| &points[*n as usize]).any(|q| {
                let [dx, dy] = [place(q)[0] - px, place(q)[1] - py];
                dx * dx + dy * dy < distance * distance && rank(q) < rank(p)
            })
        })
    };
    let mut all = vec![];
    for p in points.iter().filter(|p| inside(p)) {
        check_stop(stop)?;
        all.extend(kept(p).then(|| place(p)));
    }
    Ok(all)
}

/// R. Bridson, *Fast Poisson disk sampling in arbitrary dimensions*, 2007.
fn poisson(distance: f64, seed: u64, window: &Window, stop: &AtomicBool) -> Result<Vec<[f64; 2]>> {
    let size = [window.width, window.height].map(f64::from);
    // A cell of the grid holds one point at most.
    let side = distance / std::f64::consts::SQRT_2;
    let across = size.map(|n| (n / side) as i64 + 1);
    let mut grid = vec![u32::MAX; (across[0] * across[1]) as usize];
    let (key, mut draws) = (arith::key(seed, ORDER), 0u32);
    // From 0 to 1, without 1.
    let mut random = || {
        draws = draws.wrapping_add(1);
        arith::hash(key, draws, 0) as f64 / 4294967296.0
    };
    let cell = |p: &[f64; 2]| p.map(|v| (v / side) as i64);
    let mut points = vec![[random() * size[0], random() * size[1]]];
    let [x, y] = cell(&points[0]);
    grid[(y * across[0] + x) as usize] = 0;
    let mut active = vec![0u32];
    while !active.is_empty() {
        check_stop(stop)?;
        let n = (random() * active.len() as f64) as usize;
        let from = points[active[n] as usize];
        let mut found = None;
        for _ in 0..TRIES {
            let turn = random() * 2.0 * std::f64::consts::PI;
            // Evenly over the ring, since areas grow with the square of the radius.
            let far = distance * (1.0 + 3.0 * random()).sqrt();
            let p = [from[0] + libm::cos(turn) * far, from[1] + libm::sin(turn) * far];
            if !(0..2).all(|a| (0.0..size[a]).contains(&p[a])) {
                continue;
            }
            let [x, y] = cell(&p);
            let free = |i: i64, j: i64| {
                let taken = (0..across[0]).contains(&i) && (0..across[1]).contains(&j);
                let other = if taken { grid[(j * across[0] + i) as usize] } else { u32::MAX };
                points.get(other as usize).is_none_or(|q| {
                    let [dx, dy] = [q[0] - p[0], q[1] - p[1]];
                    dx * dx + dy * dy >= distance * distance
                })
            };
            // Points three cells away are more than √2 distances away.
            if (y - 2..=y + 2).all(|j| (x - 2..=x + 2).all(|i| free(i, j))) {
                found = Some(p);
                break;
            }
        }
        match found {
            Some(p) => {
                let [x, y] = cell(&p);
                grid[(y * across[0] + x) as usize] = points.len() as u32;
                active.push(points.len() as u32);
                points.push(p);
            }
            None => drop(active.swap_remove(n)),
        }
    }
    // The first sample lies half a cell from the edge.
    Ok(points.into_iter().map(|p| p.map(|v| v - 0.5)).collect())
}
