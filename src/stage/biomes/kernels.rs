//! The kernels, twins of `shaders/biomes.wgsl`: the biome of each point, the biomes of each chunk, sums and weights, and the maps that
//! follow from them.

use super::{ADD, DUNES, FORM_WORDS, GRADIENTS, KEPT, POINT_WORDS, Params, RECORD_WORDS, RIDGED, SET_WORDS, WAVE_WORDS};
use crate::plan::Call;
use crate::spec::{fold, hash, height_within, isqrt, lerp, mul_q16, mul_q16_near};
use multiversion::multiversion;

/// Noise on triangles at a cell, in the coordinates of points: −65536 to 65536.
#[inline(always)]
fn noise(wave: &[i32], gradients: &[i32], x: i32, y: i32) -> i32 {
    let key = [wave[0] as u32, wave[1] as u32];
    let [along, across] = [wave[2] as u32 as u64, wave[3] as u32 as u64];
    let start = |n: usize| wave[n] as u32 as u64 | (wave[n + 1] as u32 as u64) << 32;
    let (x, y) = (x as u32 as u64, y as u32 as u64);
    // Skewed coordinates, 2⁻³²: the rhombus and the place in it.
    let u = start(4).wrapping_add(x * along).wrapping_add(y * across);
    let v = start(6).wrapping_add(y * along).wrapping_add(x * across);
    let (i, j) = ((u >> 32) as u32, (v >> 32) as u32);
    let (fu, fv) = ((u as u32 >> 16) as i32, (v as u32 >> 16) as i32);
    let mut sum = 0i32;
    for corner in 0..4 {
        let (a, b) = (corner & 1, corner >> 1);
        let (du, dv) = (fu - (a << 16), fv - (b << 16));
        // Skewed back, 2⁻¹⁴: (3 − √3)/6 is 13849 in 2⁻¹⁶.
        let back = ((du + dv) * 13849) >> 16;
        let (dx, dy) = ((du - back) >> 2, (dv - back) >> 2);
        let near = (1 << 27) - dx * dx - dy * dy;
        if near > 0 {
            let t = near >> 12;
            let t2 = (t * t) >> 15;
            let t4 = (t2 * t2) >> 15;
            let at =
                (((hash(key, i.wrapping_add(a as u32), j.wrapping_add(b as u32)) >> 16) * GRADIENTS as u32) >> 16) as usize * 2;
            sum += t4 * ((gradients[at] * dx + gradients[at + 1] * dy) >> 14);
        }
    }
    // The factor 6.24 scales the extremes to 1.
    (((sum >> 12) * 25558) >> 13).clamp(-65536, 65536)
}

/// a · n / 2¹⁶ for n of −65536 to 65536.
#[inline(always)]
fn times(a: i32, n: i32) -> i32 {
    let product = mul_q16_near(a, n.unsigned_abs());
    if n < 0 { -product } else { product }
}

/// The cell nearest to a point.
#[inline(always)]
fn cell_of(p: &Params, points: &[i32], i: usize) -> [i32; 2] {
    let half = (1 << p.fraction) >> 1;
    [0, 1].map(|a| (points[i * POINT_WORDS + a] + half) >> p.fraction)
}

fn parameters<'a>(call: &Call<'a>) -> &'a Params {
    call.params()
}

pub(super) fn by_noise(call: &mut Call) {
    let p = parameters(call);
    let &[points, forms, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = cell_of(p, points, i as usize);
        let mut highest = i32::MIN;
        for (b, form) in forms.chunks_exact(FORM_WORDS).enumerate() {
            let mut value = 0;
            for wave in waves.chunks_exact(WAVE_WORDS).skip(form[7] as usize).take(form[8] as usize) {
                value += times(wave[8], noise(wave, gradients, x, y));
            }
            if value > highest {
                highest = value;
                *own = b as i32;
            }
        }
    }
}

/// Where the water is: cells below the sea are their own nearest water, stored as 2¹⁶·y + x. The others have none yet.
pub(super) fn shore(call: &mut Call) {
    let p = parameters(call);
    let height = call.reads[0];
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let i = i as i32;
        *own = if height[i as usize] < p.sea { ((i / p.width) << 16) | (i % p.width) } else { -1 };
    }
}

/// The square of the distance from a cell to a cell of water, or the largest integer if there is none.
#[inline(always)]
fn distance(water: i32, x: i32, y: i32) -> i32 {
    let (dx, dy) = ((water & 0xffff) - x, (water >> 16) - y);
    if water < 0 { i32::MAX } else { dx * dx + dy * dy }
}

/// The nearest water that nine cells know, which are `leap` apart (of equally near ones, that of lower number).
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
fn mixed(p: &Params, waves: &[i32], gradients: &[i32], first: u32, x: i32, y: i32) -> i32 {
    let mine = waves.chunks_exact(WAVE_WORDS).skip(first as usize).take(p.octaves as usize);
    mine.map(|wave| times(wave[8], noise(wave, gradients, x, y))).sum::<i32>().clamp(-65536, 65536)
}

pub(super) fn by_climate(call: &mut Call) {
    let p = parameters(call);
    let &[points, height, water, table, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = cell_of(p, points, i as usize);
        let (column, row) = (fold(x - p.margin, p.width, false), fold(y - p.margin, p.height, false));
        let at = (row * p.width + column) as usize;
        let above = height[at].clamp(-(1 << 30), 1 << 30) - p.sea;
        if above < 0 && p.below >= 0 {
            *own = p.below;
            continue;
        }
        let cold = ((((y - p.equator).abs().min(p.pole)) as u32) << 16) / p.pole as u32;
        let high = (((above.max(0) as u32) >> p.lapse_shift).min(p.lapse) << 16) / p.lapse;
        let stirred = times(p.stir, mixed(p, waves, gradients, p.octaves, x, y));
        let temperature = (65536 - cold as i32 - high as i32 + stirred).clamp(0, 65535) as u32;
        let near = distance(water[at], column, row);
        let far = isqrt(near as u32).min(p.inland);
        let damp = ((p.inland - far) << 16) / p.inland;
        let rain = (mixed(p, waves, gradients, 0, x, y) + 65536) >> 1;
        let moisture = (lerp(rain, damp as i32, p.coast)).clamp(0, 65535) as u32;
        let place = ((temperature * p.rows) >> 16) * p.columns + ((moisture * p.columns) >> 16);
        *own = table[place as usize];
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

/// The biome of that rank in a set, counted from 0, or −1 if the set has fewer.
#[inline(always)]
fn ranked(set: &[i32], rank: u32) -> i32 {
    let mut rest = rank;
    for (n, &word) in set.iter().enumerate() {
        let mut bits = word as u32;
        if rest >= bits.count_ones() {
            rest -= bits.count_ones();
            continue;
        }
        for _ in 0..rest {
            bits &= bits.wrapping_sub(1);
        }
        return n as i32 * 32 + bits.trailing_zeros() as i32;
    }
    -1
}

/// The number of the biome in a place of a record.
#[inline(always)]
fn kind(record: &[i32], place: usize) -> i32 {
    (record[place >> 2] >> ((place & 3) * 8)) & 0xff
}

/// Puts a biome in a place of a record.
#[inline(always)]
fn put(record: &mut [i32], place: usize, biome: i32, sum: u32) {
    let shift = (place & 3) * 8;
    record[place >> 2] = record[place >> 2] & !(0xff << shift) | biome << shift;
    record[2 + place] = sum as i32;
}

/// Enters the `rank`-th biome into a record: in the next place, or in place of the lightest biome (of equally light ones, that of higher
/// number) if that is lighter.
#[inline(always)]
fn enter(record: &mut [i32], rank: usize, biome: i32, sum: u32) {
    if rank < KEPT {
        return put(record, rank, biome, sum);
    }
    let mut lightest = 0;
    for n in 1..KEPT {
        let (a, b) = (record[2 + n], record[2 + lightest]);
        if a < b || a == b && kind(record, n) > kind(record, lightest) {
            lightest = n;
        }
    }
    if (record[2 + lightest] as u32) < sum {
        put(record, lightest, biome, sum);
    }
}

pub(super) fn convolve(call: &mut Call) {
    let p = parameters(call);
    let &[points, kinds, buckets, sets] = call.reads else { return };
    let area = 1usize << (2 * p.bits);
    let first = call.range.start as usize / area;
    let [sums, records] = call.owns else { return };
    let mut near = vec![];
    for (n, (sums, records)) in sums.chunks_exact_mut(area).zip(records.chunks_exact_mut(area * RECORD_WORDS)).enumerate() {
        let chunk = first + n;
        let set = &sets[chunk * SET_WORDS..][..SET_WORDS];
        let biome = ranked(set, p.rank);
        if biome < 0 {
            continue;
        }
        if p.opens == 1 {
            sums.fill(0);
        }
        let alone = p.skip == 1 && p.rank == 0 && ranked(set, 1) < 0;
        if alone {
            // This is already the weight.
            sums.fill(65536);
        } else {
            let corner = corner(p, chunk as i32);
            near.clear();
            for row in p.rows_from..p.rows_to {
                let [from, to] = run(p, buckets, corner, row);
                let mine = |i: &usize| kinds[*i] == biome;
                near.extend((from as usize..to as usize).filter(mine).map(|i| [points[i * 2], points[i * 2 + 1]]));
            }
            sum_up(p, corner, &near, sums);
        }
        if p.closes == 1 {
            for (record, sum) in records.chunks_exact_mut(RECORD_WORDS).zip(sums) {
                enter(record, p.rank as usize, biome, *sum as u32);
            }
        }
    }
}

/// Adds to the sums of a chunk's cells what the points give them.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
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

/// Turns a record's sums into weights that add up to 65536.
#[inline(always)]
fn weigh(record: &mut [i32]) {
    // Places without a sum do not count.
    let (mut places, mut count, mut total) = ([0; KEPT], 0, 0u32);
    for n in 0..KEPT {
        places[count] = n;
        count += (record[2 + n] != 0) as usize;
        total += record[2 + n] as u32;
    }
    let places = &places[..count];
    if let [only] = *places {
        record[2 + only] = 65536;
        return;
    }
    // Shortened to 24 bits, which leaves room for eight more.
    let shift = 8u32.saturating_sub(total.leading_zeros());
    let total: u32 = places.iter().map(|n| record[2 + n] as u32 >> shift).sum();
    let mut rest = [0u32; KEPT];
    let mut left = 65536;
    for &n in places {
        let sum = (record[2 + n] as u32 >> shift) << 8;
        let next = (sum % total) << 8;
        let weight = ((sum / total) << 8) + next / total;
        rest[n] = next % total;
        record[2 + n] = weight as i32;
        left -= weight;
    }
    for &n in places {
        let before = |m: &&usize| rest[**m] > rest[n] || rest[**m] == rest[n] && kind(record, **m) < kind(record, n);
        if (places.iter().filter(before).count() as u32) < left {
            record[2 + n] += 1;
        }
    }
}

pub(super) fn share(call: &mut Call) {
    let p = parameters(call);
    let area = 1usize << (2 * p.bits);
    let first = call.range.start as usize / area;
    for (n, records) in call.owns[0].chunks_exact_mut(area * RECORD_WORDS).enumerate() {
        let set = &call.reads[0][(first + n) * SET_WORDS..][..SET_WORDS];
        if p.skip != 1 || ranked(set, 1) >= 0 {
            records.chunks_exact_mut(RECORD_WORDS).for_each(weigh);
        }
    }
}

pub(super) fn interpolate(call: &mut Call) {
    let p = parameters(call);
    let nodes = call.reads[0];
    let side = 1i32 << p.bits;
    // The biomes of the four nodes round a cell and their weights, kept for one square of nodes at a time.
    let (mut square, mut met) = (usize::MAX, vec![]);
    for (i, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(RECORD_WORDS)) {
        let (chunk, local) = (i as i32 >> (2 * p.bits), i as i32 & (side * side - 1));
        let x = p.margin + ((chunk % p.chunks_across) << p.bits) + (local & (side - 1)) - p.node_start[0];
        let y = p.margin + ((chunk / p.chunks_across) << p.bits) + (local >> p.bits) - p.node_start[1];
        let (fx, fy) = ((x % p.interval) as u32, (y % p.interval) as u32);
        let at = [0, 1, 2, 3].map(|c| node(p, x / p.interval + (c & 1), y / p.interval + (c >> 1)));
        if at[0] != square {
            square = at[0];
            meet(at.map(|at| &nodes[at..][..RECORD_WORDS]), &mut met);
        }
        own.fill(0);
        if let [(biome, _)] = met[..] {
            put(own, 0, biome, 65536);
            continue;
        }
        let (gx, gy) = (p.interval as u32 - fx, p.interval as u32 - fy);
        let part = [gx * gy, fx * gy, gx * fy, fx * fy];
        let mut rank = 0;
        for (biome, weights) in &met {
            let sum = (0..4).map(|c| weights[c] * part[c]).sum();
            if sum > 0 {
                enter(own, rank, *biome, sum);
                rank += 1;
            }
        }
        weigh(own);
    }
}

/// The biomes of four records in order of appearance, and their weights in each.
fn meet(records: [&[i32]; 4], met: &mut Vec<(i32, [u32; 4])>) {
    met.clear();
    for (c, record) in records.iter().enumerate() {
        for n in (0..KEPT).filter(|n| record[2 + n] > 0) {
            let biome = kind(record, n);
            let at = met.iter().position(|(b, _)| *b == biome).unwrap_or_else(|| {
                met.push((biome, [0; 4]));
                met.len() - 1
            });
            met[at].1[c] = record[2 + n] as u32;
        }
    }
}

/// Where a node's record begins.
#[inline(always)]
fn node(p: &Params, x: i32, y: i32) -> usize {
    let side = (1 << p.bits) - 1;
    let chunk = (y >> p.bits) * p.node_chunks_across + (x >> p.bits);
    ((chunk << (2 * p.bits)) + ((y & side) << p.bits) + (x & side)) as usize * RECORD_WORDS
}

/// The record of a cell.
#[inline(always)]
fn record_of<'a>(p: &Params, records: &'a [i32], i: u32) -> &'a [i32] {
    let side = (1 << p.bits) - 1;
    let (x, y) = (i as i32 % p.width, i as i32 / p.width);
    let chunk = (y >> p.bits) * p.chunks_across + (x >> p.bits);
    let at = (chunk << (2 * p.bits)) + ((y & side) << p.bits) + (x & side);
    &records[at as usize * RECORD_WORDS..][..RECORD_WORDS]
}

pub(super) fn dominate(call: &mut Call) {
    let p = parameters(call);
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, call.reads[0], i);
        let mut heaviest = 0;
        for n in 1..KEPT {
            let (a, b) = (record[2 + n], record[2 + heaviest]);
            if a > b || a == b && kind(record, n) < kind(record, heaviest) && a > 0 {
                heaviest = n;
            }
        }
        *own = kind(record, heaviest);
    }
}

/// The mean of the colours by weight.
pub(super) fn paint(call: &mut Call) {
    let p = parameters(call);
    let &[records, forms] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, records, i);
        let mut sums = [0x8000u32; 3];
        for n in (0..KEPT).filter(|n| record[2 + n] > 0) {
            let colour = forms[kind(record, n) as usize * FORM_WORDS + 9];
            sums.iter_mut()
                .zip([16, 8, 0])
                .for_each(|(sum, shift)| *sum += (colour >> shift & 0xff) as u32 * record[2 + n] as u32);
        }
        let [red, green, blue] = sums.map(|sum| sum as i32 >> 16);
        *own = red << 16 | green << 8 | blue;
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
    let &[records, forms, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, records, i);
        let (x, y) = (p.margin + i as i32 % p.width, p.margin + i as i32 / p.width);
        let mut sum = 0i32;
        for n in 0..KEPT {
            if record[2 + n] > 0 {
                let form = &forms[kind(record, n) as usize * FORM_WORDS..][..FORM_WORDS];
                sum = sum.wrapping_add(mul_q16_near(height_of(form, waves, gradients, x, y), record[2 + n] as u32));
            }
        }
        *own = height_within(if p.heights == ADD { own.saturating_add(sum) } else { sum });
    }
}

/// A layer: the mean of the biomes' values by weight.
pub(super) fn assign<const VALUE: usize>(call: &mut Call) {
    let p = parameters(call);
    let &[records, forms] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, records, i);
        let value = |n| forms[kind(record, n) as usize * FORM_WORDS + VALUE];
        *own = (0..KEPT).map(|n| mul_q16(value(n), record[2 + n] as u32)).sum();
    }
}

pub(super) fn texture(call: &mut Call) {
    let p = parameters(call);
    let cells = (p.width * p.height) as u32;
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, call.reads[0], i % cells);
        let scaled = |n: usize| record[2 + n] as u32 * 255;
        let left = 255 - (0..KEPT).map(|n| scaled(n) >> 16).sum::<u32>();
        let mut word = 0;
        for n in 0..KEPT {
            let biome = kind(record, n) as u32;
            if biome / 4 != i / cells || record[2 + n] == 0 {
                continue;
            }
            let rest = scaled(n) & 0xffff;
            let before = |m: &usize| {
                let other = scaled(*m) & 0xffff;
                other > rest || other == rest && kind(record, *m) < biome as i32 && other > 0
            };
            let more = ((0..KEPT).filter(before).count() as u32) < left;
            word |= ((scaled(n) >> 16) + more as u32) << ((biome & 3) * 8);
        }
        *own = word as i32;
    }
}
