//! Small runs of the stages, which their tests and the vectors share.

use crate::arith::{CELL, hash, key};
use crate::params::Value;
use crate::site::{Layers, Window};

/// A small run of a stage, for tests and vectors.
pub struct Case {
    /// Its name in reports.
    pub name: &'static str,
    /// Parameters that are not at their defaults.
    pub settings: Vec<(&'static str, Value)>,
    /// The window.
    pub window: Window,
    /// The heights to start from.
    pub surface: Surface,
    /// The layers. Their words are noise.
    pub layers: Layers,
}

/// A case with the default settings and without layers: its name, the ground, the first cell of its
/// window, and the width and the height of that.
pub(super) fn case(
    name: &'static str,
    surface: Surface,
    origin: [i64; 2],
    [width, height]: [u32; 2],
) -> Case {
    let window = Window { origin, width, height };
    Case { name, settings: vec![], window, surface, layers: Layers::NONE }
}

impl Case {
    /// This case with a parameter set, in the place of what it was.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value.into()));
        self
    }

    /// This case with these layers.
    pub(super) fn with_layers(self, layers: Layers) -> Self {
        Self { layers, ..self }
    }
}

/// A synthetic terrain to run stages on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Surface {
    /// Level ground at 10 cells.
    Flat,
    /// A cone of slope 0.5 round the middle.
    Cone,
    /// A valley of V section along the x axis, sides of slope 1, falling to the east by 0.1.
    Valley,
    /// Smoothed noise, hills of about 20 cells.
    Hills,
    /// Uncorrelated words over the whole allowed range: the worst possible input.
    Noise,
}

impl Surface {
    /// All of them.
    pub const ALL: [Surface; 5] =
        [Surface::Flat, Surface::Cone, Surface::Valley, Surface::Hills, Surface::Noise];

    /// Heights in units, row-major.
    pub fn heights(self, window: &Window) -> Vec<i32> {
        let (w, h) = (window.width as i64, window.height as i64);
        let noise_key = key(1, 0);
        // Value noise: hashes on a lattice, smoothstep between them, in f64 on the host (the result
        // is input, not a kernel).
        let noise = |x: i64, y: i64, scale: i64| {
            let (cx, cy) = (x.div_euclid(scale), y.div_euclid(scale));
            let at = |i: i64, j: i64| {
                hash(noise_key, (cx + i) as u32, (cy + j) as u32) as f64 / 4294967296.0
            };
            let smooth = |t: i64| {
                let t = t as f64 / scale as f64;
                t * t * (3.0 - 2.0 * t)
            };
            let (fx, fy) = (smooth(x.rem_euclid(scale)), smooth(y.rem_euclid(scale)));
            let (top, low) =
                (at(0, 0) + (at(1, 0) - at(0, 0)) * fx, at(0, 1) + (at(1, 1) - at(0, 1)) * fx);
            top + (low - top) * fy
        };
        let mut out = Vec::with_capacity(window.cells());
        for j in 0..h {
            for i in 0..w {
                let (x, y) = (window.origin[0] + i, window.origin[1] + j);
                out.push(match self {
                    Surface::Flat => 10 * CELL,
                    Surface::Cone => {
                        let (dx, dy) =
                            ((2 * i - (w - 1)) as f64 / 2.0, (2 * j - (h - 1)) as f64 / 2.0);
                        ((w.max(h) as f64 / 2.0 - (dx * dx + dy * dy).sqrt()) * 0.5 * CELL as f64)
                            as i32
                    }
                    Surface::Valley => {
                        let side = ((2 * j - (h - 1)) as f64 / 2.0).abs();
                        ((side - i as f64 * 0.1) * CELL as f64) as i32
                    }
                    Surface::Hills => {
                        let sum = [(64, 24.0), (23, 9.0), (9, 3.0), (4, 1.0)]
                            .iter()
                            .map(|&(s, a)| noise(x, y, s) * a)
                            .sum::<f64>();
                        (sum * CELL as f64) as i32
                    }
                    Surface::Noise => {
                        (hash(noise_key, x as u32, y as u32) as i32 / 8192).wrapping_mul(8000)
                    }
                });
            }
        }
        out
    }
}
