//! Maps that follow from the final height alone: slope, aspect, curvature, sky view.
//!
//! They are computed in f64 from the words of the height, with nothing but + − × ÷, √ and the
//! portable functions of the libm crate, so that they are the same bytes everywhere.

use crate::arith::CELL;
use crate::map::Metric;
use rayon::prelude::*;

/// The final height: `width` columns of words, row by row from the north, with cells of `spacing_m`
/// metres.
#[derive(Clone, Copy, Debug)]
pub struct HeightGrid<'a> {
    words: &'a [i32],
    width: usize,
    height: usize,
    spacing_m: f64,
    /// Widths and heights of the cells of each row, where rows differ.
    metric: Option<&'a Metric>,
}

impl<'a> HeightGrid<'a> {
    /// A surface of heights in units, `width` to a row.
    pub fn new(words: &'a [i32], width: usize, spacing_m: f64) -> Self {
        Self {
            words,
            width: width.max(1),
            height: words.len() / width.max(1),
            spacing_m,
            metric: None,
        }
    }

    /// The same surface, where rows have cells of their own sizes.
    pub fn on(self, metric: Option<&'a Metric>) -> Self {
        Self { metric, ..self }
    }

    /// Width and height of the cells of a row, in cells.
    fn cell(&self, row: usize) -> [f64; 2] {
        self.metric.map_or([1.0; 2], |metric| metric.cell(row))
    }

    /// Rise per cell to the east and to the north, cells being squares.
    fn gradient(&self, row: usize, col: usize) -> (f64, f64) {
        let (east, north) = gradient(&self.near(row, col));
        let [width, height] = self.cell(row);
        (east / width, north / height)
    }

    /// A value for each cell, by its row and column.
    fn map(&self, of: impl Fn(usize, usize) -> f64 + Sync) -> Vec<f32> {
        let mut data = vec![0.0; self.words.len()];
        data.par_chunks_mut(self.width).enumerate().for_each(|(row, line)| {
            line.iter_mut().enumerate().for_each(|(col, value)| *value = of(row, col) as f32);
        });
        data
    }

    /// The height of a cell, in cells.
    fn at(&self, row: usize, col: usize) -> f64 {
        f64::from(self.words[row * self.width + col]) / f64::from(CELL)
    }

    fn near(&self, row: usize, col: usize) -> [[f64; 3]; 3] {
        neighbours(self.width, self.height, row, col, |r, c| self.at(r, c))
    }

    /// Steepness in degrees, 0 (level) to 90, by the gradient of B. K. P. Horn, *Hill shading and
    /// the reflectance map*, 1981.
    pub fn slope(&self) -> Vec<f32> {
        self.map(|row, col| {
            let (east, north) = self.gradient(row, col);
            libm::atan((east * east + north * north).sqrt()) * DEGREES
        })
    }

    /// The direction in which the ground falls, by the same gradient: degrees clockwise from north,
    /// 0 to below 360; −1 where it is level.
    pub fn aspect(&self) -> Vec<f32> {
        self.map(|row, col| {
            let (east, north) = self.gradient(row, col);
            if east == 0.0 && north == 0.0 {
                return -1.0;
            }
            // Subtraction from 0 turns signs without making a −0.
            let turn = libm::atan2(0.0 - east, 0.0 - north) * DEGREES;
            let turn = if turn < 0.0 { turn + 360.0 } else { turn };
            // The largest angles round to a whole turn.
            if turn as f32 >= 360.0 { 0.0 } else { turn }
        })
    }

    /// Minus the Laplacian of the quadric of L. W. Zevenbergen and C. R. Thorne, *Quantitative
    /// analysis of land surface topography*, 1987, 1/m: positive where the ground is convex
    /// (ridges, tops), negative where it is concave (valleys, pits).
    pub fn curvature(&self) -> Vec<f32> {
        self.map(|row, col| {
            let [[_, n, _], [w, here, e], [_, s, _]] = self.near(row, col);
            let [width, height] = self.cell(row);
            let (across, down) =
                ((w + e - 2.0 * here) / (width * width), (n + s - 2.0 * here) / (height * height));
            // From 0, so that level ground has no −0.
            0.0 - (across + down) / self.spacing_m
        })
    }

    /// The part of the sky that can be seen, 0 to 1: one minus the mean, over 16 directions, of the
    /// sine of the horizon's angle within [`SKY_REACH`] cells (K. Zakšek, K. Oštir, Ž. Kokalj,
    /// *Sky-view factor as a relief visualization technique*, 2011).
    ///
    /// The directions are those of the lattice itself, to the neighbours and a knight's move away,
    /// so that no height is interpolated. Each counts by the angle that it stands for. Beyond the
    /// edge of the map nothing hides the sky.
    pub fn sky(&self) -> Vec<f32> {
        self.map(|row, col| {
            let here = self.at(row, col);
            let [width, height] = self.cell(row);
            let mut hidden = 0.0;
            for &(across, down, share) in &DIRECTIONS {
                let cells = f64::from(across * across + down * down).sqrt();
                let (x, y) = (f64::from(across) * width, f64::from(down) * height);
                let length = (x * x + y * y).sqrt();
                let mut steepest = 0.0f64;
                for n in 1..=(f64::from(SKY_REACH) / cells) as i32 {
                    let (r, c) = (row as i32 + down * n, col as i32 + across * n);
                    if r < 0 || c < 0 || r >= self.height as i32 || c >= self.width as i32 {
                        break;
                    }
                    steepest = steepest
                        .max((self.at(r as usize, c as usize) - here) / (length * f64::from(n)));
                }
                // The sine of the angle whose tangent is `steepest`.
                hidden += share * (steepest / (1.0 + steepest * steepest).sqrt());
            }
            1.0 - hidden
        })
    }
}

/// How far the horizon is searched for [`HeightGrid::sky`], in cells.
pub const SKY_REACH: u32 = 32;

const DEGREES: f64 = 180.0 / std::f64::consts::PI;
/// The angle, as part of a whole turn, between an axis and a knight's move: arctan ½; and between a
/// knight's move and a diagonal.
const AXIS_TO_KNIGHT: f64 = 0.073_791_808_825_216_66;
const KNIGHT_TO_DIAGONAL: f64 = 0.125 - AXIS_TO_KNIGHT;
const AXIS: f64 = AXIS_TO_KNIGHT;
const KNIGHT: f64 = (AXIS_TO_KNIGHT + KNIGHT_TO_DIAGONAL) / 2.0;
const DIAGONAL: f64 = KNIGHT_TO_DIAGONAL;
/// Cells to the east and to the south from one sample of a direction to the next, and the part of a
/// turn that is nearer to this direction than to the others.
const DIRECTIONS: [(i32, i32, f64); 16] = [
    (1, 0, AXIS),
    (2, 1, KNIGHT),
    (1, 1, DIAGONAL),
    (1, 2, KNIGHT),
    (0, 1, AXIS),
    (-1, 2, KNIGHT),
    (-1, 1, DIAGONAL),
    (-2, 1, KNIGHT),
    (-1, 0, AXIS),
    (-2, -1, KNIGHT),
    (-1, -1, DIAGONAL),
    (-1, -2, KNIGHT),
    (0, -1, AXIS),
    (1, -2, KNIGHT),
    (1, -1, DIAGONAL),
    (2, -1, KNIGHT),
];

/// Rise per cell to the east and to the north: differences over 3 × 3 heights, the nearer ones
/// twice (Horn).
pub(crate) fn gradient([[nw, n, ne], [w, _, e], [sw, s, se]]: &[[f64; 3]; 3]) -> (f64, f64) {
    let east = (ne + 2.0 * e + se) - (nw + 2.0 * w + sw);
    let north = (nw + 2.0 * n + ne) - (sw + 2.0 * s + se);
    (east / 8.0, north / 8.0)
}

/// The heights round a place, north-west first. Beyond the edge the surface goes on straight; in a
/// map of one row or column it is level across.
pub(crate) fn neighbours(
    width: usize,
    height: usize,
    row: usize,
    col: usize,
    z: impl Fn(usize, usize) -> f64,
) -> [[f64; 3]; 3] {
    if row > 0 && row + 1 < height && col > 0 && col + 1 < width {
        let on_row = |r: usize| [z(r, col - 1), z(r, col), z(r, col + 1)];
        return [on_row(row - 1), on_row(row), on_row(row + 1)];
    }
    let step = |at: usize, by: isize, n: usize| at.checked_add_signed(by).filter(|&i| i < n);
    // Along a row that lies inside, then across rows.
    let on_row = |r: usize, by: isize| match (step(col, by, width), step(col, -by, width)) {
        (Some(c), _) => z(r, c),
        (None, Some(opposite)) => 2.0 * z(r, col) - z(r, opposite),
        (None, None) => z(r, col),
    };
    [-1, 0, 1].map(|down| {
        [-1, 0, 1].map(|by| match (step(row, down, height), step(row, -down, height)) {
            (Some(r), _) => on_row(r, by),
            (None, Some(opposite)) => 2.0 * on_row(row, by) - on_row(opposite, by),
            (None, None) => on_row(row, by),
        })
    })
}
