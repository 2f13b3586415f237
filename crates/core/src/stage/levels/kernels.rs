//! The kernels, twins of `shaders/levels.wgsl`.

use super::{PASSED_MAX, Params};
use crate::arith::{HEIGHT_END, LEDGER_WORDS, THICKEST, div_small, fold, mul_q16};
use crate::plan::{Call, Kernel};
use multiversion::multiversion;
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) static HALVE: Kernel =
    Kernel { entry: "halve", reads: &["fine"], owns: &[("coarse", 1)], adds: &[], cpu: halve };

pub(super) static PICK: Kernel =
    Kernel { entry: "pick", reads: &["ledger"], owns: &[("fine", 1)], adds: &[], cpu: pick };

pub(super) static START: Kernel =
    Kernel { entry: "start", reads: &["base"], owns: &[("height", 1)], adds: &[], cpu: start };

pub(super) static START_LEDGER: Kernel = Kernel {
    entry: "start_ledger",
    reads: &["base", "loose"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: start_ledger,
};

pub(super) static RAISE: Kernel = Kernel {
    entry: "raise",
    reads: &["base", "coarse_base", "coarse"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: raise,
};

pub(super) static RAISE_LEDGER: Kernel = Kernel {
    entry: "raise_ledger",
    reads: &["base", "height", "coarse_ledger", "loose", "coarse_loose"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: raise_ledger,
};

pub(super) static RAISE_FLOW: Kernel = Kernel {
    entry: "raise_flow",
    reads: &["coarse_flow"],
    owns: &[("passed", 1)],
    adds: &[],
    cpu: raise_flow,
};

pub(super) static RAISE_WATER: Kernel = Kernel {
    entry: "raise_water",
    reads: &["height", "coarse", "coarse_surface", "coarse_area"],
    owns: &[("surface", 1), ("area", 1)],
    adds: &[],
    cpu: raise_water,
};

/// The mean of two words, rounded down.
#[inline(always)]
fn mean(a: i32, b: i32) -> i32 {
    (a >> 1) + (b >> 1) + (a & b & 1)
}

pub(super) fn halve(call: &mut Call) {
    let p: &Params = call.params();
    let torus = p.torus == 1;
    let fine = call.reads[0];
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) =
            (2 * (i as i32 % p.coarse.x) - p.offset.x, 2 * (i as i32 / p.coarse.x) - p.offset.y);
        let columns = [-1, 0, 1].map(|dx| fold(x + dx, p.fine.x, torus) as usize);
        let [north, here, south] = [-1, 0, 1].map(|dy| {
            let row = (fold(y + dy, p.fine.y, torus) * p.fine.x) as usize;
            let [west, middle, east] = columns.map(|column| fine[row + column]);
            // Weights of 1, 2 and 1 in quarters.
            mean(mean(west, east), middle)
        });
        *own = mean(mean(north, south), here) >> p.halve;
    }
}

fn pick(call: &mut Call) {
    let first = call.range.start as usize * LEDGER_WORDS;
    for (own, record) in
        call.owns[0].iter_mut().zip(call.reads[0][first..].chunks_exact(LEDGER_WORDS))
    {
        *own = record[1];
    }
}

fn start(call: &mut Call) {
    let range = call.range.start as usize..call.range.end as usize;
    call.owns[0].copy_from_slice(&call.reads[0][range]);
}

fn start_ledger(call: &mut Call) {
    let p: &Params = call.params();
    let &[base, loose] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(LEDGER_WORDS)) {
        own.copy_from_slice(&[
            base[i as usize],
            if p.loose == 1 { loose[i as usize] } else { 0 },
            0,
            0,
        ]);
    }
}

/// A map of the coarser lattice as it is at some rows of the finer one.
fn raised(p: &Params, range: &Range<u32>, of: impl Fn(usize) -> i32) -> Vec<i32> {
    let (torus, width) = (p.torus == 1, p.fine.x);
    // A place between two vertices is the mean of both, and one on a vertex has three quarters of
    // it and an eighth of each beside it.
    let between = |a: i32, b: i32| mean(a, b);
    let on = |before: i32, here: i32, after: i32| mean(mean(mean(before, after), here), here);
    let columns: Vec<usize> = (-1..=((width - 1 + p.offset.x) >> 1) + 1)
        .map(|k| fold(k, p.coarse.x, torus) as usize)
        .collect();
    let line = |k: i32| -> Vec<i32> {
        let row = (fold(k, p.coarse.y, torus) * p.coarse.x) as usize;
        let words: Vec<i32> = columns.iter().map(|column| of(row + column)).collect();
        let place = |x: i32| {
            let at = (x + p.offset.x) as usize;
            // The first word is that of column −1.
            let [before, here, after] = [0, 1, 2].map(|n| words[(at >> 1) + n]);
            if at & 1 == 1 { between(here, after) } else { on(before, here, after) }
        };
        (0..width).map(place).collect()
    };
    let mut lines: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let mut all = Vec::with_capacity(range.len());
    for y in range.start as i32 / width..range.end as i32 / width {
        let at = y + p.offset.y;
        let k = at >> 1;
        // Three rows are enough, and the next row of the finer lattice needs at least two of them.
        lines.retain(|row, _| *row >= k - 1);
        for row in k - 1..=k + 1 {
            lines.entry(row).or_insert_with(|| line(row));
        }
        let (before, here, after) = (&lines[&(k - 1)], &lines[&k], &lines[&(k + 1)]);
        if at & 1 == 1 {
            all.extend(here.iter().zip(after).map(|(here, after)| between(*here, *after)));
        } else {
            all.extend(
                before
                    .iter()
                    .zip(here)
                    .zip(after)
                    .map(|((before, here), after)| on(*before, *here, *after)),
            );
        }
    }
    all
}

fn raise(call: &mut Call) {
    let p: &Params = call.params();
    let &[base, coarse_base, coarse] = call.reads else { return };
    let changes = raised(p, &call.range, |k| difference(coarse[k], coarse_base[k]));
    let bases = raised(p, &call.range, |k| coarse_base[k]);
    raise_by(p, &base[call.range.start as usize..], &changes, &bases, call.owns[0]);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn raise_by(p: &Params, base: &[i32], changes: &[i32], bases: &[i32], own: &mut [i32]) {
    for (((own, b), change), coarse) in own.iter_mut().zip(base).zip(changes).zip(bases) {
        let (b, change, coarse) = (*b, *change, *coarse);
        // Half of it is the height in units of the coarser level.
        let detail = (b >> 1).wrapping_sub(coarse);
        // What the detail loses where it is buried or gone. Where much was worn away the land has
        // another shape, and the detail would draw the outline of what stood there.
        let buried = (change.max(change.wrapping_neg() >> 2) as u32 >> p.fade_shift).min(p.fade);
        // Both terms have 15 bits at most, so the shifted one fits 31.
        let left = if p.fade == 0 { 65536 } else { 65536 - div_small(buried << 16, p.fade) };
        let left = mul_q16(mul_q16(left as i32, left), left) as u32;
        let lost = detail.wrapping_sub(mul_q16(detail, left));
        let half = (b >> 1)
            .wrapping_sub(lost)
            .wrapping_add(change)
            .clamp((-HEIGHT_END) >> 1, HEIGHT_END >> 1);
        // With the last bit of b, the height is exactly b where nothing has changed.
        *own = half << 1 | b & 1;
    }
}

/// a − b, at most a quarter of the range either way.
#[inline(always)]
fn difference(a: i32, b: i32) -> i32 {
    // From halves, since the difference of two words may not fit one. The last bits come back in
    // the end.
    (a >> 1)
        .wrapping_sub(b >> 1)
        .clamp(-(1 << 29), (1 << 29) - 1)
        .wrapping_mul(2)
        .wrapping_add((a & 1) - (b & 1))
}

/// Twice a sum that is not negative, as far as it goes.
#[inline(always)]
fn double(sum: i32) -> i32 {
    sum.min((1 << 30) - 1) << 1
}

fn raise_ledger(call: &mut Call) {
    let p: &Params = call.params();
    let &[base, height, coarse_ledger, loose, coarse_loose] = call.reads else { return };
    let record = |k: usize, word: usize| coarse_ledger[k * LEDGER_WORDS + word];
    let gain = |k: usize| {
        if p.loose == 1 { difference(record(k, 1), coarse_loose[k]) } else { record(k, 1) }
    };
    let gains = raised(p, &call.range, gain);
    let [lows, highs] = [2, 3].map(|word| raised(p, &call.range, |k| record(k, word)));
    for (n, (i, own)) in
        call.range.clone().zip(call.owns[0].chunks_exact_mut(LEDGER_WORDS)).enumerate()
    {
        let before = if p.loose == 1 { loose[i as usize] } else { 0 };
        let sediment = (before >> 1).wrapping_add(gains[n]).clamp(0, THICKEST >> 1) << 1;
        // Raising less lowering is the change.
        let change = (height[i as usize] >> 1)
            .wrapping_sub(base[i as usize] >> 1)
            .clamp(-(1 << 30) + 1, (1 << 30) - 1);
        let change = change * 2 + (height[i as usize] & 1) - (base[i as usize] & 1);
        // The sum on the side of the change comes up, and the other follows from both.
        let (lowered, raised) = if change > 0 {
            let raised = double(highs[n]).max(change);
            (raised - change, raised)
        } else {
            let lowered = double(lows[n]).max(-change);
            (lowered, lowered + change)
        };
        own.copy_from_slice(&[height[i as usize], sediment, lowered, raised]);
    }
}

fn raise_flow(call: &mut Call) {
    let p: &Params = call.params();
    let flow = call.reads[0];
    for (own, flow) in call.owns[0].iter_mut().zip(raised(p, &call.range, |k| flow[k])) {
        // A droplet there stands for four here, on a path twice as wide.
        *own = double(flow).min(PASSED_MAX);
    }
}

fn raise_water(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, coarse, coarse_water, coarse_area] = call.reads else { return };
    // Halves, since a depth can be twice the range, and a cell of the coarser level is two of this
    // one.
    let half =
        |k: usize| (coarse_water[k] >> 1).wrapping_sub(coarse[k] >> 1).clamp(0, (1 << 30) - 1);
    let first = call.range.start as usize;
    let halves = raised(p, &call.range, half);
    for ((own, height), half) in call.owns[0].iter_mut().zip(&height[first..]).zip(halves) {
        // Once from halves to wholes, and once to the cells of this level.
        *own = height.saturating_add(double(double(half))).min(HEIGHT_END);
    }
    for (own, area) in call.owns[1].iter_mut().zip(raised(p, &call.range, |k| coarse_area[k])) {
        *own = double(area);
    }
}
