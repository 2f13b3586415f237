//! How much of the land drains through each cell.

use super::directions::{SEA, Size, opposite};
use rayon::prelude::*;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU32, Ordering};

/// Nothing drains into such a cell, so a walk begins there.
const SPRING: u8 = 255;

/// Sums over the cells upstream of each cell, itself included. Sums of integers have no order, so any number of threads makes the same.
pub struct Sums {
    /// How many cells there are upstream.
    pub cells: Vec<u32>,
    /// For each given weight, its sum upstream.
    pub weights: Vec<Vec<i64>>,
    /// The least of the given levels upstream.
    pub least: Option<Vec<i32>>,
}

/// Sums cells and weights down all directions, which must not run in circles, and finds the least level upstream. Cells of the sea keep their level.
pub fn sums(size: Size, directions: &[u8], weights: Vec<Vec<i64>>, levels: Option<Vec<i32>>) -> Sums {
    let into = |cell: usize| match size.around(cell).filter(|&(d, n)| directions[n] == opposite(d)).count() as u8 {
        0 => SPRING,
        count => count,
    };
    let waits: Vec<AtomicU8> =
        (0..directions.len()).into_par_iter().with_min_len(4096).map(|cell| AtomicU8::new(into(cell))).collect();
    let cells: Vec<AtomicU32> = directions.par_iter().map(|_| AtomicU32::new(1)).collect();
    let weights: Vec<Vec<AtomicI64>> =
        weights.into_iter().map(|weight| weight.into_par_iter().map(AtomicI64::new).collect()).collect();
    let least: Option<Vec<AtomicI32>> = levels.map(|levels| levels.into_par_iter().map(AtomicI32::new).collect());
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
        weights: weights.into_iter().map(|weight| weight.into_par_iter().map(AtomicI64::into_inner).collect()).collect(),
        least: least.map(|least| least.into_par_iter().map(AtomicI32::into_inner).collect()),
    }
}
