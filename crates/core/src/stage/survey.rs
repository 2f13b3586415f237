//! Lands that are worked out on a coarse lattice of their own and looked up between its nodes. Twin
//! of `shaders/survey.wgsl`.
//!
//! The host works such a land out once, in whole numbers or in IEEE doubles with + − × ÷ and √ in a
//! fixed order. Kernels take the quadratic B-spline of its nodes at a place, which has no creases,
//! after a noise has moved the place: so that neither borders nor valleys show the lattice.

use super::fractal::{ONE, Tables, WAVE_WORDS, in_squares, moved, shift, spots};
use super::noise::warping;
use crate::arith::mul_q28;
use crate::site::Site;
use crate::twin::constants;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

constants! {
    const WGSL: &str;

    /// Octaves of the warp, along each axis.
    pub const SHIFT_OCTAVES: usize = 3;
}

/// The WGSL twin.
pub(super) const SHADER: &str = constcat::concat!(WGSL, include_str!("../../shaders/survey.wgsl"));

/// Squares beyond this are beyond every survey.
const FAR: i128 = 1 << 30;

/// The tables of a survey whose first node is at `corner`, in cells, with a warp in cells.
pub fn tables(site: &Site, corner: [i64; 2], spacing: f64, warp: f64, feature: f64) -> Tables {
    const PART: i128 = 1 << 16;
    let size = (spacing * PART as f64).round() as i128;
    let [step, parts] = site.stride().map(i128::from);
    let window = &site.window;
    let axis = |a: usize, count: u32| {
        (0..i128::from(count)).flat_map(move |i| {
            // Half a square on, so that the nearest node is the square's.
            let cells = (i128::from(window.origin[a]) + i) * step * (PART / parts)
                - i128::from(corner[a]) * PART;
            let at = cells + size / 2;
            [
                at.div_euclid(size).clamp(-FAR, FAR) as i32,
                ((at.rem_euclid(size) << 28) / size) as i32,
            ]
        })
    };
    let mut tables = Tables {
        waves: vec![0, 0, 0, (warp / spacing * (1 << 20) as f64).round() as i32],
        places: axis(0, window.width).chain(axis(1, window.height)).collect(),
    };
    if warp > 0.0 {
        tables.add(&warping(feature), 0.0, 1, site);
        tables.add(&warping(feature), 0.0, 2, site);
    }
    tables
}

/// Shares of a node and of those before and after it, at a place in its square.
#[inline(always)]
fn shares(t: i32) -> [i32; 3] {
    let (before, after) = (mul_q28(ONE - t, ONE - t) >> 1, mul_q28(t, t) >> 1);
    [before, ONE - before - after, after]
}

/// A survey, with its columns and rows, on a land.
pub struct Surveyed<'a> {
    /// Its nodes, row by row.
    pub survey: &'a [i32],
    /// Columns and rows.
    pub lattice: [i32; 2],
    /// Waves and places.
    pub tables: [&'a [i32]; 2],
    /// Whether a noise moves the places.
    pub warped: bool,
}

impl Surveyed<'_> {
    /// The values at the places of row `y` of a window. `by` is scratch memory.
    #[inline(always)]
    pub fn row(&self, window: [i32; 2], y: i32, own: &mut [i32], by: &mut [Vec<i32>; 2]) {
        let Self { survey, lattice, tables, warped } = *self;
        let [waves, places] = tables;
        for (first, by) in [1, 1 + SHIFT_OCTAVES].into_iter().zip(&mut *by) {
            let last = if warped { first + SHIFT_OCTAVES } else { first };
            shift(tables, window, first..last, y, by);
        }
        let by = by[0].iter().zip(&by[1]);
        for ((own, by), mut at) in own.iter_mut().zip(by).zip(spots(places, window, 0, y)) {
            if warped {
                let wave = &waves[..WAVE_WORDS];
                at = moved(at, [in_squares(wave, *by.0), in_squares(wave, *by.1)]);
            }
            let (across, down) = (shares(at.part[0]), shares(at.part[1]));
            let columns = [-1, 0, 1].map(|i| (at.square[0] + i).clamp(0, lattice[0] - 1));
            let row = |j: i32| {
                let row = (at.square[1] + j).clamp(0, lattice[1] - 1) * lattice[0];
                let node = |i: usize| mul_q28(survey[(row + columns[i]) as usize], across[i]);
                node(0).wrapping_add(node(1)).wrapping_add(node(2))
            };
            *own = mul_q28(row(-1), down[0])
                .wrapping_add(mul_q28(row(0), down[1]))
                .wrapping_add(mul_q28(row(1), down[2]));
        }
    }
}

/// What was worked out last, such as surveys: each level and tile of a land asks for the same.
/// `MOST` of them are kept, each with its key.
pub struct Memory<K, T, const MOST: usize = 4>(Mutex<VecDeque<(K, Arc<T>)>>);

impl<K: PartialEq, T, const MOST: usize> Memory<K, T, MOST> {
    /// One that has none yet.
    pub const fn empty() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// What is kept under a key, which says all that it follows from, or what the work makes.
    pub fn get(&self, key: K, work: impl FnOnce() -> T) -> Arc<T> {
        let lock = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, known)) = lock().iter().find(|(known, _)| *known == key) {
            return known.clone();
        }
        let made = Arc::new(work());
        let mut kept = lock();
        kept.push_back((key, made.clone()));
        while kept.len() > MOST {
            kept.pop_front();
        }
        made
    }
}
