//! Lakes that lose water: how far depressions fill where their water dries up.
//!
//! Each cell of a lake loses `dry` a year, in the unit of the rain, and each cell of the land sends
//! its rain to the pit that it runs to on the ground. What comes into a depression, m, keeps a lake
//! of at most m / `dry` cells. So the lake is as high as it can be with that many cells below its
//! level. If all cells below the rim of the depression do not take m, the rest runs over the rim
//! into the next basin. Two depressions on both sides of a rim that are full are one from then on.
//! In a steady state no time passes, so no volumes are needed.
//!
//! Source of the tree and of the way of what runs over: R. Barnes, K. L. Callaghan, A. D. Wickert,
//! *Computing water flow through complex landscapes – Part 3: Fill–Spill–Merge: flow routing in
//! depression hierarchies*, 2021. There a given volume of water comes to rest once; here as much
//! evaporates each year as comes. All is integers, and no level depends on the order of cells of
//! one height.

use super::directions::{Full, OUT, SEA, SINK, Size, opposite};
use super::flood::{Basins, Depressions, OUTSIDE, root};
use rayon::prelude::*;

/// How full the depressions of a land are.
pub struct Levels {
    /// For each basin, the level of the water in it; in a dry one that of its pit; the lowest
    /// number for the outside.
    of: Vec<i32>,
    /// The depressions that have one level, their levels, and where their water goes. Together they
    /// have every basin.
    pools: Vec<(u32, i32, Exit)>,
    shape: Shape,
}

/// Where the water of a depression goes.
#[derive(Clone, Copy, Debug)]
enum Exit {
    /// Over a pass, by its number.
    Over(u32),
    /// Into the air, at the deepest cell.
    Air(u32),
}

/// The tree of depressions from its roots to its leaves.
struct Shape {
    /// The halves of each depression; none for a basin.
    halves: Vec<[u32; 2]>,
    /// The places of the first and behind the last basin of each depression, in an order in which
    /// those of a depression lie together.
    ranges: Vec<[usize; 2]>,
    /// The basins in that order.
    order: Vec<u32>,
    /// And the place of each.
    place: Vec<usize>,
}

impl Shape {
    fn of(tree: &Depressions, count: usize) -> Self {
        let nodes = tree.all.len();
        let mut halves = vec![[OUTSIDE; 2]; nodes];
        for (node, depression) in tree.all.iter().enumerate().skip(1) {
            if depression.parent != OUTSIDE {
                let pair = &mut halves[depression.parent as usize];
                pair[usize::from(pair[0] != OUTSIDE)] = node as u32;
            }
        }
        let mut ranges = vec![[0usize; 2]; nodes];
        let mut order: Vec<u32> = Vec::with_capacity(count);
        for top in (1..nodes).rev().filter(|&node| tree.all[node].parent == OUTSIDE) {
            // Depth first, so that the basins of each depression lie together in `order`.
            let mut ways = vec![(top as u32, false)];
            while let Some((node, done)) = ways.pop() {
                let range = &mut ranges[node as usize];
                if done {
                    range[1] = order.len();
                    continue;
                }
                range[0] = order.len();
                ways.push((node, true));
                match halves[node as usize] {
                    [OUTSIDE, _] => order.push(node),
                    [first, second] => ways.extend([(second, false), (first, false)]),
                }
            }
        }
        let mut place = vec![0usize; count];
        order.iter().enumerate().for_each(|(at, &basin)| place[basin as usize] = at);
        Self { halves, ranges, order, place }
    }

    /// The basins of a depression.
    fn basins(&self, node: u32) -> &[u32] {
        let [from, to] = self.ranges[node as usize];
        &self.order[from..to]
    }

    /// Whether a basin is one of a depression.
    fn within(&self, basin: u32, node: u32) -> bool {
        let [from, to] = self.ranges[node as usize];
        basin != OUTSIDE && (from..to).contains(&self.place[basin as usize])
    }
}

/// Sums of a list of numbers that change (P. M. Fenwick, *A new data structure for cumulative
/// frequency tables*, 1994).
struct Sums(Vec<i64>);

impl Sums {
    fn add(&mut self, at: usize, amount: i64) {
        let mut i = at + 1;
        while let Some(sum) = self.0.get_mut(i) {
            *sum += amount;
            i += i & i.wrapping_neg();
        }
    }

    /// Of all before a place.
    fn before(&self, mut end: usize) -> i64 {
        let mut sum = 0;
        while end > 0 {
            sum += self.0[end];
            end &= end - 1;
        }
        sum
    }
}

/// The cells that full depressions have under water, from the lowest up, as keys of
/// [`cell_of`].
fn under_water(surface: &[i32], basins: &Basins, full: &[i32]) -> Vec<u64> {
    let under = |cell: &usize| {
        basins.of[*cell] != OUTSIDE && surface[*cell] < full[basins.of[*cell] as usize]
    };
    // With the sign turned, unsigned words have the order of heights. Cells decide equal ones.
    let key = |cell: usize| u64::from((surface[cell] as u32) ^ 0x8000_0000) << 32 | cell as u64;
    let mut cells: Vec<u64> = (0..surface.len()).into_par_iter().filter(under).map(key).collect();
    cells.par_sort_unstable();
    cells
}

fn cell_of(key: u64) -> usize {
    (key & 0xffff_ffff) as usize
}

/// How many cells of each depression lie below its rim. Each is counted in the first depression
/// whose rim is above it, and in all that have that.
fn wet_cells(cells: &[u64], surface: &[i32], basins: &Basins, tree: &Depressions) -> Vec<i64> {
    let nodes = tree.all.len();
    let mut wet = vec![0i64; nodes];
    let mut next: Vec<u32> = (0..nodes as u32).collect();
    for &key in cells {
        let cell = cell_of(key);
        let node = above(&mut next, tree, basins.of[cell], surface[cell]);
        wet[node as usize] += 1;
    }
    // Halves come before what they join to, so one sweep is enough.
    for node in 1..nodes {
        let parent = tree.all[node].parent;
        if parent != OUTSIDE {
            wet[parent as usize] += wet[node];
        }
    }
    wet
}

/// The level of each lake, none where it has water for all of its cells, and its deepest cell.
/// `lakes` have the cells that they have water for, `lake_of` the lake of each basin.
fn lake_levels(
    cells: &[u64],
    surface: &[i32],
    basins: &Basins,
    lakes: &[(u32, usize)],
    lake_of: &[u32],
) -> (Vec<Option<i32>>, Vec<u32>) {
    // The level of a lake is the height of the first cell that it has no water for.
    let mut left: Vec<usize> = lakes.iter().map(|(_, cells)| *cells).collect();
    let mut deepest = vec![u32::MAX; lakes.len()];
    let mut level: Vec<Option<i32>> = vec![None; lakes.len()];
    for &key in cells {
        let cell = cell_of(key);
        let Some(lake) = lake_of
            .get(basins.of[cell] as usize)
            .map(|&lake| lake as usize)
            .filter(|&lake| lake < lakes.len())
        else {
            continue;
        };
        if deepest[lake] == u32::MAX {
            deepest[lake] = cell as u32;
        }
        if level[lake].is_none() {
            match left[lake] {
                0 => level[lake] = Some(surface[cell]),
                _ => left[lake] -= 1,
            }
        }
    }
    (level, deepest)
}

/// How full depressions are where each cell of a lake loses `dry` of the rain's unit. `rain` is
/// that of each cell.
pub fn levels(
    surface: &[i32],
    basins: &Basins,
    tree: &Depressions,
    rain: impl Fn(usize) -> i64 + Sync,
    dry: i64,
) -> Levels {
    let count = basins.pits.len() + 1;
    let shape = Shape::of(tree, count);
    let cells = under_water(surface, basins, &tree.full(count));
    let wet = wet_cells(&cells, surface, basins, tree);
    // What comes into each basin, and later what runs over into it.
    let mut sums = Sums(vec![0; count]);
    let mut own = vec![0i64; count];
    for (cell, &basin) in basins.of.iter().enumerate() {
        own[basin as usize] += rain(cell);
    }
    (1..count).for_each(|basin| sums.add(shape.place[basin], own[basin]));
    let loss = |node: u32| dry.saturating_mul(wet[node as usize]);
    // Of depressions that end outside, those that joined last run over into earlier ones.
    let mut of = vec![i32::MIN; count];
    let mut pools = vec![];
    let mut lakes: Vec<(u32, usize)> = vec![];
    let mut lake_of = vec![u32::MAX; count];
    let inflow = |sums: &Sums, node: u32| {
        let [from, to] = shape.ranges[node as usize];
        sums.before(to) - sums.before(from)
    };
    for &(top, pass) in tree.ends.iter().rev() {
        let mut open = vec![(top, pass)];
        while let Some((node, pass)) = open.pop() {
            let water = inflow(&sums, node);
            if water >= loss(node) {
                let level = tree.all[node as usize].spill;
                pools.push((node, level, Exit::Over(pass)));
                shape.basins(node).iter().for_each(|&basin| of[basin as usize] = level);
                let beyond = tree.passes[pass as usize]
                    .basins
                    .into_iter()
                    .find(|&basin| !shape.within(basin, node));
                if let Some(basin) = beyond.filter(|&basin| basin != OUTSIDE) {
                    sums.add(shape.place[basin as usize], water - loss(node));
                }
                continue;
            }
            let [first, second] = shape.halves[node as usize];
            let joined = first == OUTSIDE || water >= loss(first).saturating_add(loss(second));
            if joined {
                // No more cells than the water keeps.
                let id = lakes.len() as u32;
                lakes.push((node, (water / dry) as usize));
                shape.basins(node).iter().for_each(|&basin| lake_of[basin as usize] = id);
                continue;
            }
            // The fuller half comes last here, so it is taken first: it may run over into the
            // other.
            let between = tree.between[node as usize - count];
            let spare = |node: u32| inflow(&sums, node).saturating_sub(loss(node));
            let pair =
                if spare(first) >= spare(second) { [second, first] } else { [first, second] };
            open.extend(pair.map(|half| (half, between)));
        }
    }
    let (level, deepest) = lake_levels(&cells, surface, basins, &lakes, &lake_of);
    for ((node, _), (level, deepest)) in lakes.iter().zip(level.into_iter().zip(deepest)) {
        if let Some(level) = level {
            pools.push((*node, level, Exit::Air(deepest)));
            shape.basins(*node).iter().for_each(|&basin| of[basin as usize] = level);
        }
    }
    Levels { of, pools, shape }
}

impl Levels {
    /// The directions on the land and its lakes, and the lakes; [`SINK`] in the deepest cell of a
    /// lake without an outlet, and in the pit of a dry depression. `surface` becomes that of the
    /// water.
    ///
    /// Land keeps the directions that it has on the ground, by which its water was counted. A lake
    /// has one outlet, where it was counted to run over.
    pub fn routed(
        &self,
        size: Size,
        ground: &[i32],
        surface: &mut [i32],
        basins: &Basins,
        tree: &Depressions,
    ) -> (Vec<u8>, Vec<Full>) {
        surface
            .par_iter_mut()
            .zip(&basins.of)
            .for_each(|(surface, &basin)| *surface = (*surface).max(self.of[basin as usize]));
        let surface = &*surface;
        let mut directions = basins.directions.clone();
        let under = |cell: usize, directions: &[u8]| {
            surface[cell] > ground[cell] && directions[cell] != SEA
        };
        let towards = |from: usize, to: usize| {
            size.around(from).find(|&(_, n)| n == to).map_or(OUT, |(d, _)| d)
        };
        let (mut lakes, mut seen) = (vec![], vec![false; ground.len()]);
        for (node, exit) in self.lakes(basins, tree) {
            let (first, outlet) = match exit {
                Exit::Air(deepest) if under(deepest as usize, &directions) => {
                    directions[deepest as usize] = SINK;
                    (deepest as usize, None)
                }
                // Without any water there is no lake.
                Exit::Air(_) => continue,
                Exit::Over(pass) => {
                    let pass = &tree.passes[pass as usize];
                    let side = usize::from(!self.shape.within(pass.basins[0], node));
                    let [mut at, mut to] =
                        [pass.cells[side], pass.cells[1 - side]].map(|cell| cell as usize);
                    // On the way from the rim down to the water, which is level, water turns round.
                    loop {
                        let down = size.target(at, directions[at]);
                        directions[at] = towards(at, to);
                        match down.filter(|_| !under(at, &directions)) {
                            Some(down) => (at, to) = (down, at),
                            None => break (at, Some(to as u32)),
                        }
                    }
                }
            };
            let (mut cells, mut next) = (vec![first as u32], 0);
            seen[first] = true;
            while let Some(&at) = cells.get(next) {
                next += 1;
                for (d, n) in size.around(at as usize) {
                    if surface[n] == surface[first]
                        && under(n, &directions)
                        && !std::mem::replace(&mut seen[n], true)
                    {
                        directions[n] = opposite(d);
                        cells.push(n as u32);
                    }
                }
            }
            lakes.push(Full { outlet, cells });
        }
        // In the order of the map.
        lakes.sort_by_cached_key(|lake| lake.cells.iter().min().copied());
        (directions, lakes)
    }

    /// A depression of each lake, or of each dry depression, and where its water goes. Halves that
    /// join at their level are two lakes: one runs over into the other.
    fn lakes(&self, basins: &Basins, tree: &Depressions) -> Vec<(u32, Exit)> {
        let count = basins.pits.len() + 1;
        let mut all = vec![];
        for &(node, level, exit) in &self.pools {
            let mut open = vec![(node, exit)];
            while let Some((lake, exit)) = open.pop() {
                let mut parts = vec![lake];
                while let Some(node) = parts.pop() {
                    let halves = self.shape.halves[node as usize];
                    if halves[0] == OUTSIDE {
                        continue;
                    }
                    // Water above the rim between them covers both halves, so they are one lake.
                    if tree.all[halves[0] as usize].spill < level {
                        parts.extend(halves);
                        continue;
                    }
                    // That which has the exit goes on as this lake.
                    let leads = |half: u32| match exit {
                        Exit::Air(cell) => self.shape.within(basins.of[cell as usize], half),
                        Exit::Over(pass) => tree.passes[pass as usize]
                            .basins
                            .into_iter()
                            .any(|basin| self.shape.within(basin, half)),
                    };
                    let [on, off] = if leads(halves[1]) { [halves[1], halves[0]] } else { halves };
                    parts.push(on);
                    open.push((off, Exit::Over(tree.between[node as usize - count])));
                }
                all.push((lake, exit));
            }
        }
        all
    }
}

/// The first depression round a basin whose rim is above a height. Heights must come from the
/// lowest up: what is passed is left out later.
fn above(next: &mut [u32], tree: &Depressions, basin: u32, height: i32) -> u32 {
    let mut at = root(next, basin);
    while tree.all[at as usize].spill <= height && tree.all[at as usize].parent != OUTSIDE {
        next[at as usize] = tree.all[at as usize].parent;
        at = root(next, at);
    }
    at
}

/// What each lake loses of the water that leaves it: `dry` for each of its cells, and no more than
/// there is. (Land whose water runs to a lake through the cell where that runs over has its water
/// counted there too, and it does not come in.) `rain` is that of all cells upstream of one, itself
/// included.
pub fn lost(
    size: Size,
    directions: &[u8],
    lakes: &[Full],
    rain: impl Fn(usize) -> i64,
    dry: i64,
) -> Vec<i64> {
    // The lake that each cell comes to first, its own in a lake; none if it comes to none.
    const NONE: u32 = u32::MAX;
    const UNSEEN: u32 = u32::MAX - 1;
    let mut first = vec![UNSEEN; directions.len()];
    for (lake, id) in lakes.iter().zip(0..) {
        lake.cells.iter().for_each(|&cell| first[cell as usize] = id);
    }
    let mut way = vec![];
    let mut next_of = |cell: usize| {
        let mut at = cell;
        while first[at] == UNSEEN {
            way.push(at);
            match size.target(at, directions[at]) {
                Some(to) => at = to,
                None => first[at] = NONE,
            }
        }
        let found = first[at];
        way.drain(..).for_each(|cell| first[cell] = found);
        found
    };
    // A lake comes after those above it.
    let next: Vec<u32> = lakes
        .iter()
        .map(|lake| lake.outlet.map_or(NONE, |outlet| next_of(outlet as usize)))
        .collect();
    let mut above = vec![0u32; lakes.len()];
    next.iter().filter(|&&to| to != NONE).for_each(|&to| above[to as usize] += 1);
    let mut ready: Vec<usize> = (0..lakes.len()).filter(|&lake| above[lake] == 0).collect();
    let (mut lost, mut lost_above) = (vec![0i64; lakes.len()], vec![0i64; lakes.len()]);
    while let Some(lake) = ready.pop() {
        let Full { outlet: Some(outlet), cells } = &lakes[lake] else { continue };
        let leaves = |&&cell: &&u32| {
            size.target(cell as usize, directions[cell as usize]) == Some(*outlet as usize)
        };
        let leaving = cells.iter().filter(leaves).map(|&cell| rain(cell as usize)).sum::<i64>()
            - lost_above[lake];
        // No lake loses more than comes to it.
        lost[lake] = dry.saturating_mul(cells.len() as i64).min(leaving);
        if next[lake] != NONE {
            let to = next[lake] as usize;
            lost_above[to] += lost_above[lake] + lost[lake];
            above[to] -= 1;
            if above[to] == 0 {
                ready.push(to);
            }
        }
    }
    lost
}
