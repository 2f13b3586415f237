//! Exact distances to the nearest cell of a set (A. Meijster, J. B. T. M. Roerdink, W. H.
//! Hesselink, *A general algorithm for computing distance transforms in linear time*, 2000):
//! integers, first along columns, then along rows.

use super::directions::Size;
use rayon::prelude::*;

/// The squared distance of each cell to the nearest cell of the set, in cells; [`u64::MAX`] if the
/// set is empty.
pub fn squares(size: Size, of: impl Fn(usize) -> bool + Sync) -> Vec<u64> {
    let Size { width, height } = size;
    // Distances within columns; `far` if a column has none.
    let far = (width + height) as i64;
    let mut near = vec![far; size.cells()];
    for y in 0..height {
        for x in 0..width {
            let cell = y * width + x;
            near[cell] = if of(cell) {
                0
            } else if y > 0 {
                (near[cell - width] + 1).min(far)
            } else {
                far
            };
        }
    }
    for y in (0..height.saturating_sub(1)).rev() {
        for x in 0..width {
            let cell = y * width + x;
            near[cell] = near[cell].min(near[cell + width] + 1);
        }
    }
    let row = |line: &[i64]| {
        let at = |x: i64, i: i64| (x - i) * (x - i) + line[i as usize] * line[i as usize];
        // Where the parabola over `u` comes below that over `i`, for i < u.
        let meet = |i: i64, u: i64| {
            let [g, h] = [i, u].map(|i| line[i as usize] * line[i as usize]);
            (u * u - i * i + h - g).div_euclid(2 * (u - i))
        };
        let mut lowest: Vec<(i64, i64)> = vec![(0, 0)];
        for u in 1..width as i64 {
            while lowest.last().is_some_and(|&(i, from)| at(from, i) > at(from, u)) {
                lowest.pop();
            }
            let from = lowest.last().map_or(0, |&(i, _)| 1 + meet(i, u));
            if from < width as i64 {
                lowest.push((u, from));
            }
        }
        let mut squares = vec![0; width];
        for x in (0..width as i64).rev() {
            while lowest.len() > 1 && lowest.last().is_some_and(|&(_, from)| from > x) {
                lowest.pop();
            }
            let nearest = lowest.last().map_or(0, |&(i, _)| i);
            squares[x as usize] = match line[nearest as usize] {
                // No two cells are so far apart, so no column has a cell of the set.
                none if none >= far => u64::MAX,
                _ => at(x, nearest) as u64,
            };
        }
        squares
    };
    near.par_chunks(width).flat_map_iter(row).collect()
}
