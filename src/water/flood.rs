//! Depressions: how they lie within each other, how full they are, and ways through their rims.
//!
//! Every cell runs down to a pit, the sea or the border, which divides the land into basins. Taken
//! from the lowest up, the passes between basins join them into larger depressions until all are
//! joined to the outside: a tree whose leaves are the pits. From it follow the levels of a priority
//! flood (R. Barnes, C. Lehman, D. Mulla, *Priority-flood*, 2014), and the ways that cut rims
//! instead (G. Cordonnier, B. Bovy, J. Braun, *A versatile, linear complexity algorithm for flow
//! routing in topographies with depressions*, 2019). Everything is integers.

use super::directions::{
    Full, OUT, SEA, SINK, Size, UNKNOWN, Way, across_flats, descend, opposite,
};
use rayon::prelude::*;

/// The number of the outside: the sea and what lies beyond the border.
pub(super) const OUTSIDE: u32 = 0;
/// Not known yet.
const NONE: u32 = u32::MAX;

/// The land divided into basins. Basin 0 is the outside.
pub struct Basins {
    /// Where the water of each cell goes before any depression is filled; [`SINK`] in pits.
    pub directions: Vec<u8>,
    /// The basin of each cell.
    pub of: Vec<u32>,
    /// The pit of each basin, but for the outside.
    pub pits: Vec<u32>,
}

/// Divides a land into basins. `directions` has [`SEA`] in the cells of the sea and [`UNKNOWN`]
/// elsewhere; `surface` is the level of the sea there.
pub fn basins(size: Size, surface: &[i32], way: Way, mut directions: Vec<u8>) -> Basins {
    descend(size, surface, way, &mut directions);
    across_flats(size, surface, &mut directions, |_| false);
    // What is left are floors without an exit. The first cell of each is its pit.
    let mut pits = vec![];
    let mut queue: Vec<u32> = vec![];
    for cell in 0..directions.len() {
        if directions[cell] != UNKNOWN {
            continue;
        }
        directions[cell] = SINK;
        pits.push(cell as u32);
        queue.push(cell as u32);
        while let Some(at) = queue.pop() {
            for (d, n) in size.around(at as usize) {
                if directions[n] == UNKNOWN && surface[n] == surface[cell] {
                    directions[n] = opposite(d);
                    queue.push(n as u32);
                }
            }
        }
    }
    let mut of = vec![NONE; directions.len()];
    for (i, pit) in pits.iter().enumerate() {
        of[*pit as usize] = i as u32 + 1;
    }
    let mut way: Vec<usize> = vec![];
    for cell in 0..of.len() {
        let mut at = cell;
        while of[at] == NONE {
            way.push(at);
            match size.target(at, directions[at]) {
                Some(to) => at = to,
                None => of[at] = OUTSIDE,
            }
        }
        // All cells on the way have the basin that it ends in.
        let basin = of[at];
        way.drain(..).for_each(|cell| of[cell] = basin);
    }
    Basins { directions, of, pits }
}

/// A depression: a basin, or two depressions that join.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depression {
    /// The height at which it runs over.
    pub(super) spill: i32,
    /// The depression of which it is a half, or [`OUTSIDE`].
    pub(super) parent: u32,
}

/// A pass between two basins: a cell of each, neighbours. On the border the second is the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) basins: [u32; 2],
    pub(super) cells: [u32; 2],
}

/// All depressions, each before the one that it is a half of. Depression 0 is the outside, the
/// basins come next.
pub struct Depressions {
    pub(super) all: Vec<Depression>,
    pub(super) passes: Vec<Pass>,
    /// The number of the pass between the halves of each depression that has some.
    pub(super) between: Vec<u32>,
    /// The depressions that run over to the outside, as they were joined to it, and their passes.
    pub(super) ends: Vec<(u32, u32)>,
}

/// The root of a tree of joined sets, with its way shortened.
pub(super) fn root(of: &mut [u32], mut at: u32) -> u32 {
    while of[at as usize] != at {
        let next = of[of[at as usize] as usize];
        of[at as usize] = next;
        at = next;
    }
    at
}

/// Joins basins from the lowest pass up. Of passes of one height the first on the map comes first.
pub fn depressions(size: Size, surface: &[i32], basins: &Basins) -> Depressions {
    let of = &basins.of;
    let lower = |a: usize, b: usize| (surface[a], a) < (surface[b], b);
    // With the sign turned, unsigned words have the order of heights. Cells decide equal ones.
    let key = |cell: usize| u64::from((surface[cell] as u32) ^ 0x8000_0000) << 32 | cell as u64;
    // With their basins, so that joining them touches nothing as large as the map.
    let row = |y: usize| {
        let mut rims: Vec<(u64, Pass)> = vec![];
        for x in 0..size.width {
            let cell = y * size.width + x;
            let mine = of[cell];
            if mine != OUTSIDE && size.on_border(cell) {
                rims.push((key(cell), Pass { basins: [mine, OUTSIDE], cells: [cell as u32; 2] }));
            }
            size.look_around([x, y], |_, n| {
                // Of the passes between two basins only the lowest joins them. So one is left out
                // where another leads from the same lower cell to a cell that is lower than this
                // one: that is most.
                if of[n] != mine
                    && lower(n, cell)
                    && !size.around(n).any(|(_, m)| of[m] == mine && lower(m, cell))
                {
                    rims.push((
                        key(cell),
                        Pass { basins: [mine, of[n]], cells: [cell as u32, n as u32] },
                    ));
                }
            });
        }
        rims
    };
    let mut rims: Vec<(u64, Pass)> = (0..size.height).into_par_iter().flat_map_iter(row).collect();
    // Stable: the passes of a cell stay in the order of its neighbours.
    rims.par_sort_by_key(|(key, _)| *key);
    let count = basins.pits.len() + 1;
    let fresh = Depression { spill: i32::MAX, parent: OUTSIDE };
    let mut tree =
        Depressions { all: vec![fresh; count], passes: vec![], between: vec![], ends: vec![] };
    // Joined basins, and the depression that a set of them is.
    let mut sets: Vec<u32> = (0..count as u32).collect();
    let mut tops: Vec<u32> = sets.clone();
    for (key, pass) in rims {
        tree.join(&mut sets, &mut tops, pass, surface[(key & 0xffff_ffff) as usize]);
    }
    tree
}

impl Depressions {
    /// Joins the depressions on both sides of a pass, unless they are one already.
    fn join(&mut self, sets: &mut [u32], tops: &mut [u32], pass: Pass, level: i32) {
        let [a, b] = pass.basins.map(|basin| root(sets, basin));
        if a == b {
            return;
        }
        self.passes.push(pass);
        let [ta, tb] = [a, b].map(|set| tops[set as usize]);
        let joined = self.all.len() as u32;
        let parent = if ta == OUTSIDE || tb == OUTSIDE { OUTSIDE } else { joined };
        let pass = self.passes.len() as u32 - 1;
        for top in [ta, tb] {
            if top != OUTSIDE {
                if parent == OUTSIDE {
                    self.ends.push((top, pass));
                }
                self.all[top as usize] = Depression { spill: level, parent };
            }
        }
        sets[b as usize] = a;
        tops[a as usize] = parent;
        if parent == joined {
            self.between.push(pass);
            self.all.push(Depression { spill: i32::MAX, parent: OUTSIDE });
        }
    }

    /// For each of `count` basins, the level of water in it if every depression is full to its rim;
    /// the lowest number for the outside.
    pub fn full(&self, count: usize) -> Vec<i32> {
        let mut of: Vec<i32> = self.all.iter().map(|depression| depression.spill).collect();
        // Parents come after their halves, so from the end on each parent is known.
        for i in (1..of.len()).rev() {
            let parent = self.all[i].parent;
            if parent != OUTSIDE {
                of[i] = of[parent as usize];
            }
        }
        of.truncate(count);
        of[0] = i32::MIN;
        of
    }

    /// Turns the way from every pit to the pass of its basin round, so that all water leaves
    /// through rims. Pits have directions then.
    pub fn breach(&self, size: Size, basins: &mut Basins) {
        let count = basins.pits.len() + 1;
        let mut near: Vec<Vec<(u32, [u32; 2])>> = vec![vec![]; count];
        for &Pass { basins: [a, b], cells: [x, y] } in &self.passes {
            near[a as usize].push((b, [x, y]));
            near[b as usize].push((a, [y, x]));
        }
        let mut met = vec![false; count];
        met[0] = true;
        // From the outside on, so that each way turns towards a basin that has one.
        let mut queue = vec![OUTSIDE];
        let mut first = 0;
        while first < queue.len() {
            let from = queue[first] as usize;
            first += 1;
            for &(basin, [out, inside]) in &near[from] {
                if std::mem::replace(&mut met[basin as usize], true) {
                    continue;
                }
                queue.push(basin);
                // From the pass down to the pit, each cell takes the way back.
                let mut way = match size
                    .around(inside as usize)
                    .find(|&(_, n)| n == out as usize && out != inside)
                {
                    Some((d, _)) => d,
                    None => OUT,
                };
                let mut at = inside as usize;
                loop {
                    let old = std::mem::replace(&mut basins.directions[at], way);
                    let Some(to) = size.target(at, old) else { break };
                    (at, way) = (to, opposite(old));
                }
            }
        }
    }
}

/// The directions on the surface of the land and its lakes, and the lakes; [`SEA`] in cells of the
/// sea. `surface` becomes that of the water.
pub fn routed(
    size: Size,
    ground: &[i32],
    surface: &mut [i32],
    way: Way,
    basins: &Basins,
    levels: &[i32],
) -> (Vec<u8>, Vec<Full>) {
    surface
        .par_iter_mut()
        .zip(&basins.of)
        .for_each(|(surface, &basin)| *surface = (*surface).max(levels[basin as usize]));
    let mut directions = unrouted(&basins.directions);
    descend(size, surface, way, &mut directions);
    let lakes = across_flats(size, surface, &mut directions, |cell| surface[cell] > ground[cell]);
    (directions, lakes)
}

/// The directions on a surface whose rims are cut, so that it never rises along `old` ones but into
/// the sea. The ways through rims are ground like any other then: water beside them runs into them.
pub fn routed_again(size: Size, surface: &[i32], way: Way, old: &[u8]) -> Vec<u8> {
    let mut directions = unrouted(old);
    descend(size, surface, way, &mut directions);
    across_flats(size, surface, &mut directions, |_| false);
    // What has no way down is a depression deeper than the sea that it is cut through to. Its cells
    // are level, and old directions lead from one to the next and into the sea.
    directions.par_iter_mut().zip(old).for_each(|(direction, &old)| {
        if *direction == UNKNOWN {
            *direction = old;
        }
    });
    directions
}

/// [`SEA`] where a cell is of the sea, else [`UNKNOWN`].
fn unrouted(directions: &[u8]) -> Vec<u8> {
    directions.par_iter().map(|&direction| if direction == SEA { SEA } else { UNKNOWN }).collect()
}
