//! How much of the land drains through each cell.

use super::directions::{OUT, SEA, Size, opposite};
use rayon::prelude::*;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU32, Ordering};

/// Nothing drains into such a cell, so a walk begins there.
const SPRING: u8 = 255;

/// Sums over the cells upstream of each cell, itself included. Sums of integers have no order, so
/// any number of threads makes the same.
pub struct Sums {
    /// How many cells there are upstream.
    pub cells: Vec<u32>,
    /// For each given weight, its sum upstream.
    pub weights: Vec<Vec<i64>>,
    /// The least of the given levels upstream.
    pub least: Option<Vec<i32>>,
}

/// Sums cells and weights down all directions, which must not run in circles, and finds the least
/// level upstream. Cells of the sea keep their level.
pub fn sums(
    size: Size,
    directions: &[u8],
    weights: Vec<Vec<i64>>,
    levels: Option<Vec<i32>>,
) -> Sums {
    let row = |y: usize| {
        (0..size.width).map(move |x| {
            let mut into = 0;
            size.look_around([x, y], |d, n| into += u8::from(directions[n] == opposite(d)));
            AtomicU8::new(if into == 0 { SPRING } else { into })
        })
    };
    let waits: Vec<AtomicU8> = (0..size.height).into_par_iter().flat_map_iter(row).collect();
    let cells: Vec<AtomicU32> = directions.par_iter().map(|_| AtomicU32::new(1)).collect();
    let weights: Vec<Vec<AtomicI64>> = weights
        .into_iter()
        .map(|weight| weight.into_par_iter().map(AtomicI64::new).collect())
        .collect();
    let least: Option<Vec<AtomicI32>> =
        levels.map(|levels| levels.into_par_iter().map(AtomicI32::new).collect());
    (0..directions.len()).into_par_iter().with_min_len(4096).for_each(|spring| {
        if waits[spring].load(Ordering::Relaxed) != SPRING {
            return;
        }
        let mut at = spring;
        while let Some(to) = size.target(at, directions[at]) {
            cells[to].fetch_add(cells[at].load(Ordering::Relaxed), Ordering::Relaxed);
            for weight in &weights {
                weight[to].fetch_add(weight[at].load(Ordering::Relaxed), Ordering::Relaxed);
            }
            if let Some(least) = least.as_ref().filter(|_| directions[to] != SEA) {
                least[to].fetch_min(least[at].load(Ordering::Relaxed), Ordering::Relaxed);
            }
            // Whoever comes last goes on, and sees what the others have added.
            if waits[to].fetch_sub(1, Ordering::AcqRel) != 1 {
                return;
            }
            at = to;
        }
    });
    Sums {
        cells: cells.into_par_iter().map(AtomicU32::into_inner).collect(),
        weights: weights
            .into_iter()
            .map(|weight| weight.into_par_iter().map(AtomicI64::into_inner).collect())
            .collect(),
        least: least.map(|least| least.into_par_iter().map(AtomicI32::into_inner).collect()),
    }
}

/// The amounts of the cells upstream of each cell, itself included, where water spreads over all
/// lower neighbours (P. Quinn, K. Beven, P. Chevallier, O. Planchon, *The prediction of hillslope
/// flow paths for distributed hydrological modelling using digital terrain models*, 1991): by slope
/// times the length of contour, ½ along axes and √2 / 4 along diagonals, which makes whole weights
/// of 2 and 1 for each unit of fall. Where no neighbour is lower, the water takes its direction,
/// and a cell that drains over the border does so with all. What does not divide goes the first of
/// the heaviest ways, so nothing is lost.
pub fn spread(size: Size, directions: &[u8], surface: &[i32], mut amounts: Vec<i64>) -> Vec<i64> {
    // The falls to lower neighbours, and where there is none the way of the direction.
    let ways = |cell: usize| {
        let mut ways = [(0i64, 0usize); 8];
        let mut count = 0;
        if directions[cell] != SEA && directions[cell] != OUT {
            for (d, n) in size.around(cell) {
                let fall = i64::from(surface[cell]) - i64::from(surface[n]);
                if fall > 0 {
                    // A diagonal weighs half as much, so the others are doubled.
                    ways[count] = (fall << (1 - (d & 1)), n);
                    count += 1;
                }
            }
            if let Some(to) = size.target(cell, directions[cell]).filter(|_| count == 0) {
                ways[0] = (1, to);
                count = 1;
            }
        }
        (ways, count)
    };
    let mut waits = vec![0u8; directions.len()];
    for cell in 0..directions.len() {
        let (ways, count) = ways(cell);
        ways[..count].iter().for_each(|&(_, to)| waits[to] += 1);
    }
    let mut ready: Vec<u32> =
        (0..directions.len() as u32).filter(|&cell| waits[cell as usize] == 0).collect();
    // Sums of integers have no order, and a cell goes on when all has come.
    while let Some(cell) = ready.pop() {
        let cell = cell as usize;
        let (ways, count) = ways(cell);
        let ways = &ways[..count];
        let whole: i128 = ways.iter().map(|(weight, _)| i128::from(*weight)).sum();
        let share = |weight: i64| (i128::from(amounts[cell]) * i128::from(weight) / whole) as i64;
        let shares: [i64; 8] =
            std::array::from_fn(|i| ways.get(i).map_or(0, |(weight, _)| share(*weight)));
        // What rounding leaves follows the heaviest, so no water is lost.
        let rest = amounts[cell] - shares.iter().sum::<i64>();
        // The heaviest, and of equal ones the first.
        let first = (0..count).max_by_key(|&i| (ways[i].0, std::cmp::Reverse(i)));
        for (i, &(_, to)) in ways.iter().enumerate() {
            amounts[to] += shares[i] + if Some(i) == first { rest } else { 0 };
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to as u32);
            }
        }
    }
    amounts
}
