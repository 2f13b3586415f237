//! The kernels, twins of `shaders/incision.wgsl`.

use super::lanes::{Block, HALF, Half, LANES, Lanes, ROOM, Run, Runs};
use super::{DIAGONAL, FLAT, HIGHEST, OCTAVES, Params, SPREAD, STAYS, STEEP, VERTEX, WET};
use crate::arith::{self, HEIGHT_END, LEDGER_WORDS, div_small, fold, mix, mul_q16};
use crate::plan::{Call, Kernel};
use multiversion::multiversion;

pub(super) static BEGIN: Kernel = Kernel {
    entry: "begin",
    reads: &["height"],
    owns: &[("next", 1), ("surface", 1), ("area", 1), ("silted", 1)],
    adds: &[],
    cpu: begin,
};

pub(super) static BEGIN_LEDGER: Kernel = Kernel {
    entry: "begin_ledger",
    reads: &["height", "surface"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: begin_ledger,
};

pub(super) static FALL: Kernel = Kernel {
    entry: "fall",
    reads: &["height", "surface"],
    owns: &[("surface_next", 1)],
    adds: &[],
    cpu: fall_rows,
};

pub(super) static ROUTE: Kernel = Kernel {
    entry: "route",
    reads: &["surface", "area", "hardness", "vegetation", "power"],
    owns: &[("way", 1)],
    adds: &[],
    cpu: route,
};

pub(super) static DRAIN: Kernel = Kernel {
    entry: "drain",
    reads: &["way", "area", "rain"],
    owns: &[("area_next", 1)],
    adds: &[],
    cpu: drain,
};

pub(super) static RAISE_LEDGER: Kernel = Kernel {
    entry: "raise_ledger",
    reads: &["height", "uplift"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: raise_ledger,
};

pub(super) static CUT: Kernel = Kernel {
    entry: "cut",
    reads: &["height", "surface", "way", "uplift"],
    owns: &[("next", 1), ("surface_next", 1), ("silted", 1)],
    adds: &[],
    cpu: cut,
};

pub(super) static COUNT: Kernel =
    Kernel { entry: "count", reads: &["area"], owns: &[("way", 1)], adds: &[], cpu: count };

/// How far a is above b, at most 8191 cells.
#[inline(always)]
fn gap(a: i32, b: i32) -> i32 {
    // The difference of any two words is below 2³², so it is exact as an unsigned word, even where
    // it does not fit a signed one.
    (a.max(b).wrapping_sub(b) as u32).min(i32::MAX as u32) as i32
}

impl Params {
    /// Whether a vertex keeps its height, since rivers end there.
    #[inline(always)]
    pub(super) fn keeps(&self, x: i32, y: i32) -> bool {
        (x == self.first.x) | (x == self.last.x) | (y == self.first.y) | (y == self.last.y)
    }

    /// Which vertices of a run keep their height: −1 for those.
    #[inline(always)]
    fn kept<const COLUMN: bool>(&self, run: Run<COLUMN>) -> Lanes {
        let mut kept = [0; LANES];
        if !run.is_inner || self.keeps_inside() {
            let [xs, ys] = run.places(self);
            for l in 0..LANES {
                kept[l] = -i32::from(self.keeps(xs[l], ys[l]));
            }
        }
        kept
    }

    /// Whether rivers end elsewhere than at the edges of the window.
    #[inline(always)]
    fn keeps_inside(&self) -> bool {
        let inside = |ends: [i32; 2], length| ends.iter().any(|i| (1..length - 1).contains(i));
        inside([self.first.x, self.last.x], self.size.x)
            || inside([self.first.y, self.last.y], self.size.y)
    }

    /// What a vertex at height h rises, of which `uplift` is the share; nothing where the height is
    /// kept.
    #[inline(always)]
    fn rises(&self, kept: bool, h: i32, uplift: i32) -> i32 {
        let rise = mul_q16(self.rise, uplift as u32).min(gap(HEIGHT_END, h));
        if kept { 0 } else { rise }
    }

    /// By how much fresh ground is higher than the coarser level says, under so much water, where
    /// the ground falls so far to its lowest neighbour.
    #[inline(always)]
    fn roughens(&self, x: i32, y: i32, depth: i32, slope: u32) -> i32 {
        let die = arith::hash(
            self.key.into(),
            self.origin.x.wrapping_add(x as u32),
            self.origin.y.wrapping_add(y as u32),
        );
        // −32768 to 32767 of 32768.
        let signed = (die >> 16) as i32 - 32768;
        // WET and STEEP are 65536, so both factors are fractions of 65536.
        let most = mul_q16(self.rough, (WET - depth.clamp(0, WET)) as u32);
        let most = mul_q16(most, slope.clamp(FLAT, STEEP));
        // The die is in 2⁻¹⁵, hence twice. The sign comes last, so that hollows and bumps are
        // rounded alike.
        mul_q16(most, signed.unsigned_abs()) * 2 * signed.signum()
    }
}

fn begin(call: &mut Call) {
    let p: &Params = call.params();
    let (&[height], [next, water, area, silted]) = (call.reads, &mut *call.owns) else { return };
    silted.fill(0);
    let here = &height[call.range.start as usize..][..next.len()];
    next.copy_from_slice(here);
    if p.continues == 1 {
        return continue_from(p, call.range.start as i32 / p.size.x, height, next, water, area);
    }
    for ((height, water), area) in here.iter().zip(water.iter_mut()).zip(area.iter_mut()) {
        // The sum stops at the end of the range of heights, so it cannot wrap.
        *water = height + p.deepest.min(gap(HEIGHT_END, *height));
        *area = VERTEX;
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn continue_from(
    p: &Params,
    first: i32,
    height: &[i32],
    next: &mut [i32],
    water: &mut [i32],
    area: &mut [i32],
) {
    let w = p.size.x as usize;
    let mut slopes = vec![0; w];
    let rows =
        next.chunks_exact_mut(w).zip(water.chunks_exact_mut(w)).zip(area.chunks_exact_mut(w));
    for (y, ((next, water), area)) in (first..).zip(rows) {
        p.slopes(height, y, &mut slopes);
        for (x, (((next, water), area), slope)) in
            (0..).zip(next.iter_mut().zip(water.iter_mut()).zip(area.iter_mut()).zip(slopes.iter()))
        {
            // The depth comes from the coarser level, not the level of the water: that moves with
            // the ground.
            let (before, depth) = (*next, gap(*water, *next).min(p.deepest));
            let rough = p.roughness_at(x, y, before, depth, *slope);
            let after = arith::height_within(before.saturating_add(rough));
            *next = after;
            *water = after.wrapping_add(depth.min(gap(HEIGHT_END, after)));
            *area = (*area).max(VERTEX);
        }
    }
}

impl Params {
    /// How far the ground falls to the lowest neighbour, for the vertices of a row.
    #[inline(always)]
    fn slopes(&self, height: &[i32], y: i32, slopes: &mut [u32]) {
        let (w, torus) = (self.size.x, self.torus == 1);
        let row = |y: i32| &height[(fold(y, self.size.y, torus) * w) as usize..][..w as usize];
        let (above, here, below) = (row(y - 1), row(y), row(y + 1));
        let lowest = |x: i32| {
            let x = fold(x, w, torus) as usize;
            above[x].min(here[x]).min(below[x])
        };
        // The lowest of each column of three is found once, and is east, middle and west in turn.
        let (mut west, mut low) = (lowest(-1), lowest(0));
        for (x, (slope, here)) in (0..).zip(slopes.iter_mut().zip(here)) {
            let east = lowest(x + 1);
            // The middle column has the vertex itself, so the lowest is not above it, and this is a
            // drop.
            *slope = here.abs_diff(west.min(low).min(east));
            (west, low) = (low, east);
        }
    }
}

fn begin_ledger(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, water] = call.reads else { return };
    let mut slopes = vec![0; p.size.x as usize];
    for (at, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(LEDGER_WORDS)) {
        let (x, y, h) = (at as i32 % p.size.x, at as i32 / p.size.x, height[at as usize]);
        // Ranges are whole rows, so each row begins here.
        if x == 0 {
            p.slopes(height, y, &mut slopes);
        }
        let depth = gap(water[at as usize], h).min(p.deepest);
        let rough = p.roughness_at(x, y, h, depth, slopes[x as usize]);
        // The height of the last entry moves along, so roughness counts as neither sediment nor
        // loss.
        own[0] = arith::height_within(own[0].saturating_add(rough));
    }
}

fn raise_ledger(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, uplift] = call.reads else { return };
    for (at, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(LEDGER_WORDS)) {
        let (x, y, i) = (at as i32 % p.size.x, at as i32 / p.size.x, at as usize);
        let share = if p.lifted == 1 { uplift[i] } else { 65536 };
        own[0] = own[0].saturating_add(p.rises(p.keeps(x, y), height[i], share));
    }
}

pub(super) fn count(call: &mut Call) {
    let first = call.range.start as usize;
    for (own, area) in call.owns[0].iter_mut().zip(&call.reads[0][first..]) {
        *own = area / VERTEX;
    }
}

fn fall_rows(call: &mut Call) {
    fall_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn fall_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    fall_runs::<false>(p, start, reads, owns);
    fall_runs::<true>(p, start, reads, owns);
}

#[inline(always)]
fn fall_runs<const COLUMN: bool>(
    p: &Params,
    start: usize,
    reads: &[&[i32]],
    owns: &mut [&mut [i32]],
) {
    let (&[height, water], [own]) = (reads, owns) else { return };
    let (mut waters, mut heights) = (ROOM, [0; LANES]);
    for run in Runs::<COLUMN>::new(p, start, own.len()) {
        let h = run.words(p, height, 0, &mut heights);
        let around = Block::of(p, water, run, Some(HIGHEST), &mut waters).around();
        let kept = p.kept(run);
        let mut level: Lanes = [0; LANES];
        for l in 0..LANES {
            let low = around.iter().fold(i32::MAX, |low, q| low.min(q[l]));
            level[l] = p.settles(kept[l] != 0, h[l], h[l], low, 0);
        }
        run.store(p, &level, own, start);
    }
}

pub(super) fn route(call: &mut Call) {
    route_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn route_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    // The first half of the hash is the same in a column. A run may go on in the next row, and in a
    // narrow window in several.
    let w = p.size.x as usize;
    let half = |x: usize| mix(p.origin.x.wrapping_add(x as u32) ^ p.key.x);
    let mut columns = Vec::with_capacity(w + LANES);
    columns.extend((0..w).map(half));
    for x in 0..LANES {
        columns.push(columns[x]);
    }
    route_runs::<false>(p, start, &columns, reads, owns);
    route_runs::<true>(p, start, &columns, reads, owns);
}

/// `columns` has the first half of the hash of each column.
#[inline(always)]
fn route_runs<const COLUMN: bool>(
    p: &Params,
    start: usize,
    columns: &[u32],
    reads: &[&[i32]],
    owns: &mut [&mut [i32]],
) {
    let (&[water, area, hardness, vegetation, power], [own]) = (reads, owns) else { return };
    let power = power.first_chunk().unwrap_or(&[0; OCTAVES]);
    let (mut waters, mut areas, mut layer, mut column) = (ROOM, [0; LANES], [0; LANES], [0; LANES]);
    for run in Runs::<COLUMN>::new(p, start, own.len()) {
        let ys = run.ys(p);
        let column = run.of_columns(p, columns, &mut column);
        let block = Block::of(p, water, run, Some(HIGHEST), &mut waters);
        let (around, here) = (block.around(), block.here());
        let mut way = [STAYS; LANES];
        for l in 0..LANES {
            let y = p.origin.y.wrapping_add(ys[l] as u32);
            let die = mix(column[l].wrapping_add(y) ^ p.key.y);
            let mut best = 0u32;
            for (q, level) in around.iter().enumerate() {
                let (times, shift) = if q < 4 { (1, 0) } else { (9, 4) };
                // At most 64 cells, 24 bits. With the factor 9 it has 28, and with the weight
                // of at most 21 after the shift, 29.
                let drop = (gap(here[l], level[l]) as u32).min((1 << 24) - 1);
                let weight = (drop.wrapping_mul(times) >> shift)
                    .wrapping_mul(SPREAD + (die >> (4 * q) & 15));
                // A weight has 29 bits. Below it stands the direction, so that of equal ones
                // the first wins.
                best = best.max(weight << 3 | (7 - q as u32));
            }
            // Below 8 all weights are 0: no neighbour is lower by more than a unit.
            way[l] = if best < 8 { STAYS } else { 7 - (best & 7) as i32 };
        }
        // The area is that before this step, since `drain` runs later.
        let mut f = powers_of(power, run.words(p, area, 0, &mut areas));
        if p.hard == 1 || p.rooted == 1 || p.strata_hard > 0 {
            let mut soft = [65536; LANES];
            if p.hard == 1 {
                let hard = run.words(p, hardness, 0, &mut layer);
                for l in 0..LANES {
                    soft[l] = 65536i32.wrapping_sub(hard[l]);
                }
            }
            if p.rooted == 1 {
                let roots = run.words(p, vegetation, 0, &mut layer);
                for l in 0..LANES {
                    soft[l] = mul_q16(soft[l], 65536u32.wrapping_sub(roots[l] as u32 >> 1));
                }
            }
            if p.strata_hard > 0 {
                for l in 0..LANES {
                    // The stratum is that of the water level, towards which rivers cut.
                    soft[l] = mul_q16(soft[l], 65536u32.wrapping_sub(p.stratum(here[l])));
                }
            }
            for l in 0..LANES {
                f[l] = mul_q16(f[l], soft[l] as u32);
            }
        }
        if p.length < 65536 {
            for f in &mut f {
                *f = mul_q16(*f, p.length);
            }
        }
        for l in 0..LANES {
            let f = mul_q16(f[l], if way[l] >= 4 { DIAGONAL } else { 65536 });
            // f / (1 + f) is 1 − 1 / (1 + f). With f in 2⁻¹⁴ the quotient is 2³⁰ / (f + 2¹⁴),
            // at most 65536 as `div_small` needs, and f is at most 2³⁰, so the divisor is a
            // signed word.
            let share = 65536u32.wrapping_sub(div_small(1 << 30, (f as u32).wrapping_add(1 << 14)));
            // Above the four bits of the direction: a share has at most 17.
            way[l] |= (share << 4) as i32;
        }
        run.store(p, &way, own, start);
    }
}

pub(super) fn drain(call: &mut Call) {
    drain_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn drain_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    drain_runs::<false>(p, start, reads, owns);
    drain_runs::<true>(p, start, reads, owns);
}

#[inline(always)]
fn drain_runs<const COLUMN: bool>(
    p: &Params,
    start: usize,
    reads: &[&[i32]],
    owns: &mut [&mut [i32]],
) {
    let (&[way, area, rain], [own]) = (reads, owns) else { return };
    let (mut ways, mut areas, mut rains) = (ROOM, ROOM, [0; LANES]);
    for run in Runs::<COLUMN>::new(p, start, own.len()) {
        let mut sum = [VERTEX; LANES];
        if p.rained == 1 {
            let rain = run.words(p, rain, 0, &mut rains);
            for l in 0..LANES {
                // Rain is in 2⁻¹⁶. The product is rounded to the nearest 2⁻⁶ of a vertex.
                sum[l] = ((rain[l].wrapping_mul(VERTEX).wrapping_add(1 << 15) as u32) >> 16) as i32;
            }
        }
        // Beyond a border water stays where it is, so none comes from there.
        let ways = Block::of(p, way, run, Some(STAYS), &mut ways);
        let areas = Block::of(p, area, run, Some(0), &mut areas);
        for (half, sum) in sum.as_chunks_mut().0.iter_mut().enumerate() {
            *sum = drained(*sum, ways.around_half(half), areas.around_half(half));
        }
        run.store(p, &sum, own, start);
    }
}

/// Adds the areas of the neighbours that drain to the vertices of half a run. The sums of a whole
/// run would not stay in registers, which takes twice as long.
#[inline(always)]
fn drained(mut sum: Half, way: [&Half; 8], area: [&Half; 8]) -> Half {
    for q in 0..8 {
        let (way, area) = (way[q], area[q]);
        for l in 0..HALF {
            // Directions that lie opposite are neighbours in `AROUND`, so the way back from q is
            // q ^ 1. By a mask: what is read only where it counts is read one vertex at a time.
            let comes = -i32::from(way[l] & 15 == (q ^ 1) as i32);
            // Two words of 31 bits fit 32. The sum stops at 2³¹ − 1, which is an area of 2²⁵
            // vertices.
            let all = (sum[l] as u32).wrapping_add((area[l] & comes) as u32);
            sum[l] = all.min(i32::MAX as u32) as i32;
        }
    }
    sum
}

pub(super) fn cut(call: &mut Call) {
    cut_some(call.params(), call.range.start as usize, call.reads, call.owns);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn cut_some(p: &Params, start: usize, reads: &[&[i32]], owns: &mut [&mut [i32]]) {
    cut_runs::<false>(p, start, reads, owns);
    cut_runs::<true>(p, start, reads, owns);
}

#[inline(always)]
fn cut_runs<const COLUMN: bool>(
    p: &Params,
    start: usize,
    reads: &[&[i32]],
    owns: &mut [&mut [i32]],
) {
    let (&[height, water, way, uplift], [next, water_next, silted]) = (reads, owns) else { return };
    let (mut heights, mut waters, mut ways, mut uplifts, mut silts) =
        (ROOM, ROOM, [0; LANES], [65536; LANES], [0; LANES]);
    for run in Runs::<COLUMN>::new(p, start, next.len()) {
        // Beyond a border the ground is as high as at it, and no water goes there.
        let grounds = Block::of(p, height, run, None, &mut heights);
        let levels = Block::of(p, water, run, Some(HIGHEST), &mut waters);
        let (around, here) = (grounds.around(), grounds.here());
        let (levels, level) = (levels.around(), levels.here());
        let way = run.words(p, way, 0, &mut ways);
        let uplift = if p.lifted == 1 { run.words(p, uplift, 0, &mut uplifts) } else { &uplifts };
        let before = *run.words(p, silted, start, &mut silts);
        let (kept, repeated) = (p.kept(run), run.repeated(p));
        let (mut ground_next, mut level_next, mut silted_next) =
            ([0; LANES], [0; LANES], [0; LANES]);
        let (mut stands, mut stands_diagonal) = ([p.stands; LANES], [p.stands_diagonal; LANES]);
        if p.strata_hard > 0 {
            for l in 0..LANES {
                let part = p.stands_part(here[l]);
                stands[l] = mul_q16(p.stands, part);
                stands_diagonal[l] = mul_q16(p.stands_diagonal, part);
            }
        }
        // In two loops, since registers do not hold the words of all neighbours at once.
        let (mut low_water, mut receiver) = ([i32::MAX; LANES], *level);
        for l in 0..LANES {
            for (q, level) in levels.iter().enumerate() {
                low_water[l] = low_water[l].min(level[l]);
                // By masks: a choice between two places in memory is made one vertex at a time.
                let is_there = -i32::from(way[l] & 15 == q as i32);
                receiver[l] = receiver[l] & !is_there | level[l] & is_there;
            }
        }
        for l in 0..LANES {
            let (h, kept) = (here[l], kept[l] != 0);
            let is_base = (h < p.sea) | kept;
            let mut ground = [0; 8];
            for q in 0..8 {
                ground[q] = around[q][l];
            }
            let share = way[l] as u32 >> 4;
            let stands = [stands[l], stands_diagonal[l]];
            // The sum of silt has 31 bits. Where it is full, no more is laid down.
            let most = i32::MAX.wrapping_sub(before[l]);
            let water = [level[l], receiver[l]];
            let (worn, silt) = p.worn(h, water, share, most, stands, ground);
            // Ground below the sea is not worn, but rises. A vertex that is kept does neither.
            let new = if is_base { h } else { worn };
            // Silt may have raised the vertex above h, closer to the end of the range.
            let rise = p.rises(kept, h, uplift[l]).min(gap(HEIGHT_END, new));
            ground_next[l] = new.wrapping_add(rise);
            level_next[l] = p.settles(kept, h, ground_next[l], low_water[l], rise);
            // The sums are added to where they lie, by the last run that does the vertex.
            let silt = if is_base | (repeated[l] != 0) { 0 } else { silt };
            silted_next[l] = before[l].wrapping_add(silt);
        }
        run.store(p, &ground_next, next, start);
        run.store(p, &level_next, water_next, start);
        run.store(p, &silted_next, silted, start);
    }
}

/// f of areas. `power` has f of areas of 2ⁿ words.
#[inline(always)]
fn powers_of(power: &[i32; OCTAVES], area: &Lanes) -> Lanes {
    let (mut octave, mut fraction) = ([0u32; LANES], [0u32; LANES]);
    for l in 0..LANES {
        // The exponent and 16 bits of the fraction of an area, of which the first 24 bits count.
        let is_large = area[l] >= 1 << 24;
        // Integers below 2²⁴ are exact as floats, so this is the same everywhere.
        let bits = (if is_large { area[l] >> 8 } else { area[l].max(1) } as f32).to_bits();
        octave[l] = (bits >> 23).wrapping_sub(127).wrapping_add(if is_large { 8 } else { 0 });
        fraction[l] = (bits & 0x7f_ffff) >> 7;
    }
    let mut f = [0; LANES];
    for l in 0..LANES {
        // An area has 31 bits, so octave + 1 is at most 31. The remainder only saves a check of the
        // index.
        let (low, high) =
            (power[octave[l] as usize % OCTAVES], power[(octave[l] as usize + 1) % OCTAVES]);
        f[l] = low.wrapping_add(mul_q16(high.wrapping_sub(low), fraction[l]));
    }
    f
}

impl Params {
    #[inline(always)]
    fn roughness_at(&self, x: i32, y: i32, h: i32, depth: i32, slope: u32) -> i32 {
        if self.keeps(x, y) || h < self.sea { 0 } else { self.roughens(x, y, depth, slope) }
    }

    /// The hardness of the stratum at a height.
    #[inline(always)]
    fn stratum(&self, h: i32) -> u32 {
        // The rate is 2³² over the thickness. Both shifts make 32 bits, so this is the height over
        // the thickness, rounded down.
        let number = mul_q16(h, self.strata_rate) >> 16;
        let die = mix(number as u32 ^ self.strata_key) >> 16;
        // Of 65536 dice 24576 lie below the first bound and give 0, and as many from the second on
        // give 1: three quarters in all.
        let part = die.clamp(24576, 40960).wrapping_sub(24576) << 2;
        mul_q16(self.strata_hard as i32, if self.strata_rate == 0 { 1 << 15 } else { part }) as u32
    }

    /// The steepest drop from a height that stands, as part of that of the hardest rock.
    #[inline(always)]
    fn stands_part(&self, h: i32) -> u32 {
        let soft = self.strata_hard.wrapping_sub(self.stratum(h));
        65536u32.wrapping_sub((soft >> 2).wrapping_mul(3))
    }

    /// The height of a vertex after a step without uplift, and what silt it got: from its height,
    /// its water level and that where its water goes, the share of its drop that is cut, the most
    /// silt that it may get, the steepest drops that stand, along sides and diagonals, and the
    /// heights round it.
    #[inline(always)]
    fn worn(
        &self,
        h: i32,
        [level, receiver]: [i32; 2],
        share: u32,
        most: i32,
        [stands, stands_diagonal]: [i32; 2],
        ground: [i32; 8],
    ) -> (i32, i32) {
        let (mut low_side, mut low_diagonal, mut high) = (HIGHEST, HIGHEST, h);
        let (mut sides, mut diagonals) = (0i32, 0i32);
        for q in 0..4 {
            let (side, diagonal) = (ground[q], ground[q + 4]);
            low_side = low_side.min(side);
            low_diagonal = low_diagonal.min(diagonal);
            high = high.max(side).max(diagonal);
            // A sixteenth of a height has 28 bits with its sign, so the sum of four differences
            // fits 32.
            sides = sides.wrapping_add((side >> 4).wrapping_sub(h >> 4));
            diagonals = diagonals.wrapping_add((diagonal >> 4).wrapping_sub(h >> 4));
        }
        let depth = gap(level, h);
        let is_deep = depth > self.least;
        let silt = mul_q16(if is_deep { depth } else { 0 }, self.silt).min(most);
        let cut = mul_q16(if is_deep { 0 } else { gap(h, receiver) }, share);
        // No part takes the vertex below the lowest of its neighbourhood.
        let low = h.min(low_side).min(low_diagonal);
        let worn = h.wrapping_add(silt).wrapping_sub(cut);
        // What falls, as far as the lowest neighbour.
        let excess = gap(h, low_side).wrapping_sub(stands);
        let excess = excess.max(gap(h, low_diagonal).wrapping_sub(stands_diagonal)).max(0);
        let worn = worn.wrapping_sub((excess >> 2).min(gap(worn, low)));
        // The sums have parts of 1/16 and 1/64, and the factor is 4/3 of `creep`: twice their
        // product has 1/6 and 1/24.
        let creep = mul_q16(sides.wrapping_add(diagonals >> 2), self.creep).wrapping_mul(2);
        let worn = worn.wrapping_add(creep.max(0).min(gap(high, worn)));
        let worn = worn.wrapping_sub(creep.min(0).wrapping_neg().min(gap(worn, low)));
        // Ground that is below the floor already stays as it is.
        (worn.max(h.min(self.floor)), silt)
    }

    /// The water level of a vertex that keeps its height or does not, whose height was `before` and
    /// is `after`, among neighbours whose lowest level is `low`.
    #[inline(always)]
    fn settles(&self, kept: bool, before: i32, after: i32, low: i32, rise: i32) -> i32 {
        let above = self.least.wrapping_add(rise);
        // Where there is no neighbour, `low` is the highest word. It is cut before the sum, which
        // cannot wrap then.
        let runs_off = low.min(HEIGHT_END.wrapping_sub(above)).wrapping_add(above);
        let holds = after.wrapping_add(self.deepest.min(gap(HEIGHT_END, after)));
        let is_base = (before < self.sea) | kept;
        after.max(if is_base { self.sea } else { runs_off.min(holds) })
    }
}
