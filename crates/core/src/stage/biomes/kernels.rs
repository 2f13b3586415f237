//! The kernels, twins of `shaders/biomes.wgsl`: the biome of each point, the biomes of each chunk,
//! sums and weights, and the maps that follow from them.

mod triangles;

use super::{
    ADD, DUNES, FORM_WORDS, GROUP, POINT_WORDS, Params, RECORD_WORDS, RIDGED, SET_WORDS, SO_FAR,
    TOTAL, WAVE_WORDS, WET,
};
use crate::arith::{fold, height_within, isqrt, lerp, mul_q16, mul_q16_near};
use crate::plan::Call;
use multiversion::multiversion;
use std::ops::Range;
use triangles::{noise, times};

/// The cell nearest to a point.
#[inline(always)]
fn cell_of(p: &Params, points: &[i32], i: usize) -> [i32; 2] {
    let half = (1 << p.fraction) >> 1;
    [0, 1].map(|a| (points[i * POINT_WORDS + a] + half) >> p.fraction)
}

/// The cell of the recipe's lattice that is nearest to a point.
#[inline(always)]
fn place_of(p: &Params, points: &[i32], i: usize) -> [i32; 2] {
    let half = (1 << p.fraction) >> 1;
    [0, 1].map(|a| ((points[i * POINT_WORDS + a] << p.level) + half) >> p.fraction)
}

fn parameters<'a>(call: &Call<'a>) -> &'a Params {
    call.params()
}

pub(super) fn by_noise(call: &mut Call) {
    let p = parameters(call);
    let &[points, forms, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = place_of(p, points, i as usize);
        let mut highest = i32::MIN;
        for (b, form) in forms.chunks_exact(FORM_WORDS).enumerate() {
            let mut value = 0;
            for wave in waves.chunks_exact(WAVE_WORDS).skip(form[7] as usize).take(form[8] as usize)
            {
                value += times(wave[8], noise(wave, gradients, x, y));
            }
            // Not for an equal one, so that of these the lower number wins.
            if value > highest {
                highest = value;
                *own = b as i32;
            }
        }
    }
}

/// Where the water is: cells below the sea, and those that the mask calls wet, are their own
/// nearest water, stored as 2¹⁶·y + x. The others have none yet.
pub(super) fn shore(call: &mut Call) {
    let p = parameters(call);
    let &[height, mask] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let wet = height[i as usize] < p.sea || p.wet == 1 && mask[i as usize] >= WET;
        let i = i as i32;
        *own = if wet { ((i / p.width) << 16) | (i % p.width) } else { -1 };
    }
}

/// The square of the distance from a cell to a cell of water, or the largest integer if there is
/// none.
#[inline(always)]
fn distance(water: i32, x: i32, y: i32) -> i32 {
    let (dx, dy) = ((water & 0xffff) - x, (water >> 16) - y);
    if water < 0 { i32::MAX } else { dx * dx + dy * dy }
}

/// The nearest water that nine cells know, which are `leap` apart (of equally near ones, that of
/// lower number).
pub(super) fn flood(call: &mut Call) {
    let p = parameters(call);
    let before = call.reads[0];
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) = (i as i32 % p.width, i as i32 / p.width);
        let mut best = (i32::MAX, -1);
        for n in 0..9 {
            let (nx, ny) = (x + (n % 3 - 1) * p.leap, y + (n / 3 - 1) * p.leap);
            if nx < 0 || ny < 0 || nx >= p.width || ny >= p.height {
                continue;
            }
            let water = before[(ny * p.width + nx) as usize];
            let far = distance(water, x, y);
            if far < best.0 || far == best.0 && water < best.1 {
                best = (far, water);
            }
        }
        *own = best.1;
    }
}

/// Noise of several sizes, from the wave `first` on.
#[inline(always)]
fn mixed(p: &Params, waves: &[i32], gradients: &[i32], first: u32, [x, y]: [i32; 2]) -> i32 {
    let mine = waves.chunks_exact(WAVE_WORDS).skip(first as usize).take(p.octaves as usize);
    mine.map(|wave| times(wave[8], noise(wave, gradients, x, y))).sum::<i32>().clamp(-65536, 65536)
}

pub(super) fn by_climate(call: &mut Call) {
    let p = parameters(call);
    let &[points, height, water, table, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = cell_of(p, points, i as usize);
        let (column, row) =
            (fold(x - p.margin, p.width, false), fold(y - p.margin, p.height, false));
        let at = (row * p.width + column) as usize;
        // The sea is within 1 − 2³⁰ and 2³⁰, so the difference fits a word.
        let above = height[at].clamp(-(1 << 30), 1 << 30) - p.sea;
        if above < 0 && p.below >= 0 {
            *own = p.below;
            continue;
        }
        let place = place_of(p, points, i as usize);
        let cold = ((((place[1] - p.equator).abs().min(p.pole)) as u32) << 16) / p.pole as u32;
        let high = (((above.max(0) as u32) >> p.lapse_shift).min(p.lapse) << 16) / p.lapse;
        let stirred = times(p.stir, mixed(p, waves, gradients, p.octaves, place));
        let temperature = (65536 - cold as i32 - high as i32 + stirred).clamp(0, 65535) as u32;
        let near = distance(water[at], column, row);
        let far = isqrt(near as u32).min(p.inland);
        let damp = ((p.inland - far) << 16) / p.inland;
        let rain = (mixed(p, waves, gradients, 0, place) + 65536) >> 1;
        let moisture = (lerp(rain, damp as i32, p.coast)).clamp(0, 65535) as u32;
        // Both are below 65536, so the entry is inside the table.
        let entry = ((temperature * p.rows) >> 16) * p.columns + ((moisture * p.columns) >> 16);
        *own = table[entry as usize];
    }
}

/// The number that a sample stands for.
#[inline(always)]
fn level(mask: i32) -> i32 {
    (mask * 255 + 32768) >> 16
}

pub(super) fn by_image(call: &mut Call) {
    let p = parameters(call);
    let &[points, mask] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = cell_of(p, points, i as usize);
        let at = fold(y - p.margin, p.height, false) * p.width + fold(x - p.margin, p.width, false);
        *own = level(mask[at as usize]).min(p.biomes as i32 - 1);
    }
}

/// The first cell or node of a chunk.
#[inline(always)]
fn corner(p: &Params, chunk: i32) -> [i32; 2] {
    let across = p.step << p.bits;
    [p.start[0] + chunk % p.chunks_across * across, p.start[1] + chunk / p.chunks_across * across]
}

/// The points in row `row` of the buckets near a chunk, as a range.
#[inline(always)]
fn run(p: &Params, buckets: &[i32], corner: [i32; 2], row: i32) -> [i32; 2] {
    let far = p.reach + p.step * ((1 << p.bits) - 1);
    let y = ((corner[1] - p.reach) >> p.bits) + row;
    let x = (corner[0] - p.reach) >> p.bits;
    let end = ((corner[0] + far) >> p.bits).min(p.buckets_across - 1) + 1;
    if y >= p.buckets_down || y > (corner[1] + far) >> p.bits || x >= end {
        return [0, 0];
    }
    // Buckets of a row are adjacent, so their points are one range.
    let first = y * p.buckets_across;
    [buckets[(first + x) as usize], buckets[(first + end) as usize]]
}

pub(super) fn census(call: &mut Call) {
    let p = parameters(call);
    let &[points, kinds, buckets] = call.reads else { return };
    for (chunk, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(SET_WORDS)) {
        if p.opens == 1 {
            own.fill(0);
        }
        let corner = corner(p, chunk as i32);
        let low = corner.map(|c| c << p.fraction);
        let high = corner.map(|c| (c + p.step * ((1 << p.bits) - 1)) << p.fraction);
        for row in p.rows_from..p.rows_to {
            let [from, to] = run(p, buckets, corner, row);
            for i in from as usize..to as usize {
                // From the point to the nearest place of the chunk.
                let [dx, dy] = [0, 1].map(|a| {
                    let at = points[i * POINT_WORDS + a];
                    (low[a] - at).max(at - high[a]).max(0)
                });
                if ((dx * dx) as u32).wrapping_add((dy * dy) as u32) < p.square {
                    own[(kinds[i] >> 5) as usize] |= 1 << (kinds[i] & 31);
                }
            }
        }
    }
}

/// Which of the eight biomes of a group are in a set, as bits.
#[inline(always)]
fn present(set: &[i32], group: u32) -> u32 {
    (set[(group >> 2) as usize] as u32 >> ((group & 3) * 8)) & 0xff
}

/// Whether nothing is done for a chunk with this set: the group adds nothing there. The first
/// group's records are always written.
#[inline(always)]
fn is_left(p: &Params, set: &[i32]) -> bool {
    p.sparse == 1 && p.group > 0 && present(set, p.group) == 0
}

pub(super) fn convolve(call: &mut Call) {
    let p = parameters(call);
    let &[points, kinds, buckets, sets] = call.reads else { return };
    let area = 1usize << (2 * p.bits);
    let first = p.strip as usize + call.range.start as usize / area;
    // The sums of one biome after the other, so that cells are neighbours.
    let mut sums = vec![0; GROUP * area];
    let mut near = [const { vec![] }; GROUP];
    for (n, records) in call.owns[0].chunks_exact_mut(area * RECORD_WORDS).enumerate() {
        let chunk = first + n;
        let set = &sets[chunk * SET_WORDS..][..SET_WORDS];
        let mine = present(set, p.group);
        if is_left(p, set) {
            continue;
        }
        let alone = p.skip == 1 && set.iter().map(|word| word.count_ones()).sum::<u32>() == 1;
        if mine != 0 && !alone {
            let corner = corner(p, chunk as i32);
            near.iter_mut().for_each(Vec::clear);
            for row in p.rows_from..p.rows_to {
                let [from, to] = run(p, buckets, corner, row);
                for i in from as usize..to as usize {
                    if kinds[i] as u32 >> 3 == p.group {
                        near[kinds[i] as usize & 7]
                            .push([points[i * POINT_WORDS], points[i * POINT_WORDS + 1]]);
                    }
                }
            }
        }
        if p.opens == 1 {
            let words = records.as_chunks_mut::<RECORD_WORDS>().0.iter_mut();
            words.for_each(|record| record[..GROUP].fill(0));
        }
        for (n, (sums, near)) in sums.chunks_exact_mut(area).zip(&near).enumerate() {
            if mine >> n & 1 == 0 {
                continue;
            }
            if alone {
                // One biome has any weight, whatever its sums are.
                let words = records.iter_mut().skip(n).step_by(RECORD_WORDS);
                words.for_each(|word| *word = 65536);
                continue;
            }
            if p.opens == 1 {
                sums.fill(0);
            } else {
                sums.iter_mut()
                    .zip(records.iter().skip(n).step_by(RECORD_WORDS))
                    .for_each(|(sum, word)| *sum = *word);
            }
            sum_up(p, corner(p, chunk as i32), near, sums);
            records
                .iter_mut()
                .skip(n)
                .step_by(RECORD_WORDS)
                .zip(sums)
                .for_each(|(word, sum)| *word = *sum);
        }
        if p.closes == 1 {
            records.chunks_exact_mut(RECORD_WORDS).for_each(|record| close(p, record));
        }
    }
}

/// What follows when the sums of a group are complete.
#[inline(always)]
fn close(p: &Params, record: &mut [i32]) {
    let sum: i32 = record[..GROUP].iter().sum();
    if p.counts == 1 {
        record[TOTAL] = sum + if p.group == 0 { 0 } else { record[TOTAL] };
    }
    if p.weighs == 1 {
        let before = if p.group == 0 { 0 } else { record[SO_FAR] };
        weigh(record, before as u32);
    }
}

/// Adds to the sums of a chunk's cells what the points give them.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn sum_up(p: &Params, corner: [i32; 2], points: &[[i32; 2]], sums: &mut [i32]) {
    let side = 1usize << p.bits;
    let half = (1u32 << p.halve) >> 1;
    let step = p.step << p.fraction;
    for &[px, py] in points {
        let (x, y) = ((corner[0] << p.fraction) - px, (corner[1] << p.fraction) - py);
        for (n, row) in sums.chunks_exact_mut(side).enumerate() {
            let dy = y + n as i32 * step;
            let dy = (dy * dy) as u32;
            if dy >= p.square {
                continue;
            }
            let mut dx = x;
            for sum in row {
                let d = (dx * dx) as u32 + dy;
                let t = p.square.max(d).wrapping_sub(d) >> p.shorten;
                *sum += ((t * t + half) >> p.halve) as i32;
                dx += step;
            }
        }
    }
}

/// How many bits a total loses to have 24, which leaves room for eight more.
#[inline(always)]
fn surplus(total: u32) -> u32 {
    8u32.saturating_sub(total.leading_zeros())
}

/// The share of a total that is reached, 2⁻¹⁶.
#[inline(always)]
fn part(sum: u32, total: u32) -> u32 {
    let shift = surplus(total);
    divided(((sum >> shift) as u64) << 16, (total >> shift).max(1)).0
}

/// Quotient and remainder. The totals of the lerped grid often are powers of two, which need no
/// division.
#[inline(always)]
fn divided(sum: u64, total: u32) -> (u32, u32) {
    if total.is_power_of_two() {
        return ((sum >> total.trailing_zeros()) as u32, sum as u32 & (total - 1));
    }
    ((sum / total as u64) as u32, (sum % total as u64) as u32)
}

/// The weights of all biomes up to the last of a record's group.
#[inline(always)]
fn reached(record: &[i32]) -> u32 {
    part(record[SO_FAR] as u32, record[TOTAL] as u32)
}

/// Turns the sums of a record into weights. `before` is the sum of the groups before.
#[inline(always)]
fn weigh(record: &mut [i32], before: u32) {
    let sum: u32 = record[..GROUP].iter().map(|&sum| sum as u32).sum();
    let total = record[TOTAL] as u32;
    record[SO_FAR] = (before + sum) as i32;
    if sum == 0 {
        return;
    }
    // One group has all biomes, mostly.
    let units = match before {
        0 if sum == total => 65536,
        _ => part(before + sum, total) - part(before, total),
    };
    let (mut places, mut count) = ([0; GROUP], 0);
    for (n, sum) in record[..GROUP].iter().enumerate() {
        // Without a branch: a place that has no sum is overwritten by the next.
        places[count] = n;
        count += (*sum != 0) as usize;
    }
    let places = &places[..count];
    if let [only] = *places {
        record[only] = units as i32;
        return;
    }
    let shift = surplus(sum);
    let total: u32 = places.iter().map(|n| record[*n] as u32 >> shift).sum();
    let mut rest = [0u32; GROUP];
    let mut left = units;
    for &n in places {
        let (weight, rest_of) = divided((record[n] as u32 >> shift) as u64 * units as u64, total);
        rest[n] = rest_of;
        record[n] = weight as i32;
        left -= weight;
    }
    // A weight gets one of what is left if fewer weights than that come before it.
    for &n in places {
        let before = |m: &&usize| rest[**m] > rest[n] || rest[**m] == rest[n] && **m < n;
        if (places.iter().filter(before).count() as u32) < left {
            record[n] += 1;
        }
    }
}

pub(super) fn interpolate(call: &mut Call) {
    let p = parameters(call);
    let nodes = call.reads[0];
    let area = 1usize << (2 * p.bits);
    let first = call.range.start as i32 >> (2 * p.bits);
    for (chunk, records) in (p.strip + first..).zip(call.owns[0].chunks_mut(area * RECORD_WORDS)) {
        let corner = [chunk % p.chunks_across, chunk / p.chunks_across];
        let corner = [0, 1].map(|a| p.margin + (corner[a] << p.bits) - p.node_start[a]);
        interpolate_chunk(p, nodes, corner, records);
    }
}

/// The records of a chunk whose corner lies `left` and `top` cells from the first node.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn interpolate_chunk(p: &Params, nodes: &[i32], [left, top]: [i32; 2], records: &mut [i32]) {
    let interval = p.interval as u32;
    for (y, row) in (top..).zip(records.chunks_mut(RECORD_WORDS << p.bits)) {
        let lower = (y % p.interval) as u32;
        // What a column of nodes has at this row, as a sum: the groups before, and each biome.
        let at = |column: i32| {
            let mut sums = [0u32; GROUP + 1];
            for (n, part) in [(0, interval - lower), (1, lower)] {
                let node = &nodes[node(p, column, y / p.interval + n)..][..RECORD_WORDS];
                let weights = node[..GROUP].iter().map(|weight| *weight as u32);
                sums[GROUP] += (reached(node) - weights.clone().sum::<u32>()) * part;
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight * part);
            }
            sums
        };
        interpolate_row(p, left, at, row);
    }
}

/// The records of a row of cells, the first of which is `left` cells from the first column of
/// nodes. `at` has the sums of a column there: of each biome, and of the groups before.
#[inline(always)]
fn interpolate_row(p: &Params, left: i32, at: impl Fn(i32) -> [u32; GROUP + 1], row: &mut [i32]) {
    let interval = p.interval as u32;
    // The weights of a node add up to 65536, and the parts of four nodes to the square of the
    // interval.
    let total = (interval * interval) << 16;
    let simple = p.biomes <= GROUP as u32 && total.is_power_of_two() && surplus(total) == 0;
    let mut column = left / p.interval;
    let mut ends = [at(column), at(column + 1)];
    let mut rest = row;
    let mut x = left;
    while !rest.is_empty() {
        let right = (x % p.interval) as u32;
        // The cells up to the next column of nodes.
        let cells = ((interval - right) as usize).min(rest.len() / RECORD_WORDS);
        let (own, others) = rest.split_at_mut(cells * RECORD_WORDS);
        let own = own.as_chunks_mut::<RECORD_WORDS>().0;
        if ends[0] == ends[1] {
            // One record for all of them.
            let record = record_between(&ends, [interval, 0], total, simple);
            own.fill(record);
        } else {
            for (own, right) in own.iter_mut().zip(right..) {
                *own = record_between(&ends, [interval - right, right], total, simple);
            }
        }
        (rest, x) = (others, x + cells as i32);
        column += 1;
        if !rest.is_empty() {
            ends = [ends[1], at(column + 1)];
        }
    }
}

/// The record between two columns of nodes, which have these parts in it.
#[inline(always)]
fn record_between(
    ends: &[[u32; GROUP + 1]; 2],
    parts: [u32; 2],
    total: u32,
    simple: bool,
) -> [i32; RECORD_WORDS] {
    let mut sums = [0; GROUP + 1];
    for (n, sum) in sums.iter_mut().enumerate() {
        *sum = ends[0][n] * parts[0] + ends[1][n] * parts[1];
    }
    let mut record = [0; RECORD_WORDS];
    if simple {
        let weights = weights_of_all(&sums, total.trailing_zeros() - 16);
        record.iter_mut().zip(weights).for_each(|(word, weight)| *word = weight);
        (record[TOTAL], record[SO_FAR]) = (total as i32, total as i32);
    } else {
        record.iter_mut().zip(&sums[..GROUP]).for_each(|(word, sum)| *word = *sum as i32);
        record[TOTAL] = total as i32;
        weigh(&mut record, sums[GROUP]);
    }
    record
}

/// The weights of sums of all biomes, whose total is 2¹⁶⁺ᵇⁱᵗˢ: what [`weigh`] makes of them, in
/// vector registers.
#[inline(always)]
fn weights_of_all(sums: &[u32; GROUP + 1], bits: u32) -> [i32; GROUP] {
    let (mut weights, mut keys) = ([0i32; GROUP], [0i32; GROUP]);
    let mut left = 65536;
    for n in 0..GROUP {
        weights[n] = (sums[n] >> bits) as i32;
        left -= weights[n];
        // The remainder; among equal ones the lower number comes first.
        keys[n] = ((sums[n] & ((1 << bits) - 1)) as i32) << 3 | (GROUP - 1 - n) as i32;
    }
    if left > 0 {
        let mut before = [0i32; GROUP];
        for other in keys {
            for n in 0..GROUP {
                before[n] += (other > keys[n]) as i32;
            }
        }
        for n in 0..GROUP {
            weights[n] += (before[n] < left) as i32;
        }
    }
    weights
}

/// Where a node's record begins.
#[inline(always)]
fn node(p: &Params, x: i32, y: i32) -> usize {
    let side = (1 << p.bits) - 1;
    let chunk = (y >> p.bits) * p.node_chunks_across + (x >> p.bits);
    ((chunk << (2 * p.bits)) + ((y & side) << p.bits) + (x & side)) as usize * RECORD_WORDS
}

/// Runs of cells of a range that lie in one row of one chunk, from the first of the range on, with
/// their records. None where the group has no weight.
fn runs<'a>(
    p: &'a Params,
    records: &'a [i32],
    sets: &'a [i32],
    range: Range<u32>,
) -> impl Iterator<Item = (Range<usize>, Option<&'a [[i32; RECORD_WORDS]]>)> {
    let (side, width) = (1 << p.bits, p.width as u32);
    let mut next = range.start;
    std::iter::from_fn(move || {
        let first = next;
        if first == range.end {
            return None;
        }
        let (x, y) = (first % width, first / width);
        let cells = (side - x % side).min(width - x).min(range.end - first);
        next = first + cells;
        let chunk = (y >> p.bits) as i32 * p.chunks_across + (x >> p.bits) as i32;
        // Where no chunk is passed over, there may be no sets of chunks of cells.
        let is_left = p.sparse == 1 && is_left(p, &sets[chunk as usize * SET_WORDS..][..SET_WORDS]);
        let records = (!is_left).then(|| {
            let at = ((chunk - p.strip) << (2 * p.bits)) as u32 + y % side * side + x % side;
            &records.as_chunks().0[at as usize..][..cells as usize]
        });
        let from = (first - range.start) as usize;
        Some((from..from + cells as usize, records))
    })
}

/// The records of a range of cells, without weights where the group has none.
fn records_of<'a>(
    p: &'a Params,
    records: &'a [i32],
    sets: &'a [i32],
    range: Range<u32>,
) -> impl Iterator<Item = &'a [i32; RECORD_WORDS]> {
    runs(p, records, sets, range).flat_map(|(cells, records)| {
        let empty = records.is_none().then_some(&[0; RECORD_WORDS]);
        let empty = empty.into_iter().cycle().take(cells.len());
        records.unwrap_or_default().iter().chain(empty)
    })
}

/// The plane of a range, which a pass has for itself, and the range's cells there.
fn plane_of(p: &Params, range: &Range<u32>) -> (u32, Range<u32>) {
    let cells = (p.width * p.height) as u32;
    let plane = range.start / cells;
    (plane, range.start - plane * cells..range.end - plane * cells)
}

/// The number of the biome in a place of a record.
#[inline(always)]
fn kind(p: &Params, place: usize) -> usize {
    p.group as usize * GROUP + place
}

/// The places of a record whose biomes have weight, and the weights.
#[inline(always)]
fn weighty(record: &[i32]) -> impl Iterator<Item = (usize, u32)> {
    record[..GROUP]
        .iter()
        .map(|&weight| weight as u32)
        .enumerate()
        .filter(|(_, weight)| *weight > 0)
}

/// Whether this pass is about the last group of biomes.
#[inline(always)]
fn ends(p: &Params) -> bool {
    p.group == (p.biomes - 1) / GROUP as u32
}

/// The heaviest biome so far is kept as 256 times its weight, plus 255 less its number.
pub(super) fn dominate(call: &mut Call) {
    let p = parameters(call);
    let own = &mut *call.owns[0];
    if p.group == 0 {
        own.fill(255);
    }
    for (cells, records) in runs(p, call.reads[0], call.reads[1], call.range.clone()) {
        find_heaviest(255 - kind(p, 0) as i32, records.unwrap_or_default(), &mut own[cells]);
    }
    if ends(p) {
        own.iter_mut().for_each(|best| *best = 255 - (*best & 255));
    }
}

/// `first`: 255 less the number of the group's first biome.
#[inline(always)]
fn find_heaviest(first: i32, records: &[[i32; RECORD_WORDS]], own: &mut [i32]) {
    for (record, best) in records.iter().zip(own) {
        for (n, weight) in record[..GROUP].iter().enumerate() {
            // Without a weight this is at most 255, which is the least there is.
            *best = (*best).max((weight << 8) | (first - n as i32).max(0));
        }
    }
}

/// The mean of the colours by weight. The sums of red and green have buffers of their own; that of
/// blue is kept in the map.
pub(super) fn paint(call: &mut Call) {
    let p = parameters(call);
    let &[records, sets, forms] = call.reads else { return };
    let [reds, greens, colours] = call.owns else { return };
    if p.group == 0 {
        // A half, so that the mean is rounded to the nearest.
        [&mut **reds, greens, colours].into_iter().for_each(|sums| sums.fill(0x8000));
    }
    let mut parts = [[0; GROUP]; 3];
    for (n, form) in forms.chunks_exact(FORM_WORDS).skip(kind(p, 0)).take(GROUP).enumerate() {
        [16, 8, 0].iter().zip(&mut parts).for_each(|(by, part)| part[n] = form[9] >> by & 0xff);
    }
    for (cells, records) in runs(p, records, sets, call.range.clone()) {
        let sums = [&mut **reds, greens, colours].map(|sums| &mut sums[cells.clone()]);
        add_colours(&parts, records.unwrap_or_default(), sums);
    }
    if ends(p) {
        for ((red, green), own) in reds.iter().zip(&**greens).zip(&mut **colours) {
            *own = red >> 16 << 16 | green >> 16 << 8 | *own >> 16;
        }
    }
}

/// `parts`: red, green and blue of each biome of the group.
#[inline(always)]
fn add_colours(
    parts: &[[i32; GROUP]; 3],
    records: &[[i32; RECORD_WORDS]],
    [reds, greens, blues]: [&mut [i32]; 3],
) {
    let sums = reds.iter_mut().zip(greens).zip(blues);
    for (record, ((red, green), blue)) in records.iter().zip(sums) {
        for (n, weight) in weighty(record) {
            for (sum, parts) in [&mut *red, &mut *green, &mut *blue].into_iter().zip(parts) {
                *sum += weight as i32 * parts[n];
            }
        }
    }
}

/// The height of a biome at a cell.
#[inline(always)]
fn height_of(form: &[i32], waves: &[i32], gradients: &[i32], x: i32, y: i32) -> i32 {
    let mut height = form[1];
    let mut mine = waves.chunks_exact(WAVE_WORDS).skip(form[2] as usize);
    if form[0] == DUNES {
        let (Some(first), Some(second)) = (mine.next(), mine.next()) else { return height };
        let ridge = 65536 - noise(first, gradients, x, y).abs();
        let swell = (65536 + noise(second, gradients, x, y)) >> 1;
        return height + mul_q16_near(mul_q16_near(first[8], ridge as u32), swell as u32);
    }
    for wave in mine.take(form[3] as usize) {
        let n = noise(wave, gradients, x, y);
        height += times(wave[8], if form[0] == RIDGED { 65536 - n.abs() } else { n });
    }
    height
}

pub(super) fn raise(call: &mut Call) {
    let p = parameters(call);
    let &[records, sets, forms, waves, gradients] = call.reads else { return };
    let [lift, heights] = call.owns else { return };
    let cells = records_of(p, records, sets, call.range.clone()).zip(call.range.clone());
    for ((record, i), (lift, own)) in cells.zip(lift.iter_mut().zip(heights.iter_mut())) {
        // Noise has the places of the recipe's lattice on all levels.
        let [x, y] = [i as i32 % p.width, i as i32 / p.width].map(|n| (p.margin + n) << p.level);
        let mut sum = if p.group == 0 { 0 } else { *lift };
        for (n, weight) in weighty(record) {
            let form = &forms[kind(p, n) * FORM_WORDS..][..FORM_WORDS];
            sum = sum.wrapping_add(mul_q16_near(height_of(form, waves, gradients, x, y), weight));
        }
        *lift = sum;
        if ends(p) {
            *own = height_within(if p.heights == ADD { own.saturating_add(sum) } else { sum });
        }
    }
}

/// A layer: the mean of the biomes' values by weight.
pub(super) fn assign<const VALUE: usize>(call: &mut Call) {
    let p = parameters(call);
    let &[records, sets, forms] = call.reads else { return };
    let cells = records_of(p, records, sets, call.range.clone());
    for (record, own) in cells.zip(call.owns[0].iter_mut()) {
        let values = weighty(record)
            .map(|(n, weight)| mul_q16(forms[kind(p, n) * FORM_WORDS + VALUE], weight));
        *own = values.sum::<i32>() + if p.group == 0 { 0 } else { *own };
    }
}

/// Of all 255 of a cell, a group gets those between the rounded shares up to its first and up to
/// its last biome.
#[inline(always)]
fn bound(weights: u32) -> u32 {
    (weights * 255 + 0x8000) >> 16
}

pub(super) fn texture(call: &mut Call) {
    let p = parameters(call);
    let &[records, sets] = call.reads else { return };
    let (plane, cells) = plane_of(p, &call.range);
    for (record, own) in records_of(p, records, sets, cells).zip(call.owns[0].iter_mut()) {
        *own = channels(record, plane & 1);
    }
}

/// The channels of four biomes of a record: the first four, or the last.
#[inline(always)]
fn channels(record: &[i32; RECORD_WORDS], half: u32) -> i32 {
    let after = reached(record);
    let before = after - weighty(record).map(|(_, weight)| weight).sum::<u32>();
    let left = bound(after)
        - bound(before)
        - weighty(record).map(|(_, weight)| (weight * 255) >> 16).sum::<u32>();
    let mut word = 0;
    for (n, weight) in weighty(record).filter(|(n, _)| *n as u32 >> 2 == half) {
        let rest = (weight * 255) & 0xffff;
        let before = |&(m, weight): &(usize, u32)| {
            let other = (weight * 255) & 0xffff;
            other > rest || other == rest && m < n && other > 0
        };
        let more = (weighty(record).filter(before).count() as u32) < left;
        word |= (((weight * 255) >> 16) + more as u32) << ((n & 3) * 8);
    }
    word as i32
}

/// The weights of two biomes in a word. Where one biome has all, 65535 stands for 65536.
pub(super) fn list(call: &mut Call) {
    let p = parameters(call);
    let &[records, sets] = call.reads else { return };
    let (plane, cells) = plane_of(p, &call.range);
    let pair = (plane & 3) as usize * 2;
    for (record, own) in records_of(p, records, sets, cells).zip(call.owns[0].iter_mut()) {
        *own = record[pair].min(65535) | record[pair + 1].min(65535) << 16;
    }
}
