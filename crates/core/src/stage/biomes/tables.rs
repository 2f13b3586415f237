//! The tables that kernels read: of biomes, of their noises, and of climates.

use super::layout::Layout;
use super::{Biome, BiomeShape, GRADIENTS, WAVE_WORDS, table};
use crate::arith;
use crate::params::Settings;
use crate::site::Site;

/// All tables.
pub(super) struct Tables {
    pub forms: Vec<i32>,
    pub waves: Vec<i32>,
    pub gradients: Vec<i32>,
    /// The numbers of biomes by climate, row by row.
    pub climates: Vec<i32>,
    /// Columns and rows of that.
    pub shape: [usize; 2],
}

impl Tables {
    pub fn of(s: &Settings, site: &Site, layout: &Layout, all: &[Biome]) -> Self {
        let (forms, waves) = forms(s, site, layout, all);
        let (climates, columns) = match s.word("from") {
            "climate" => table(s, all).unwrap_or_default(),
            _ => (vec![0], 1),
        };
        let shape = [columns, climates.len() / columns.max(1)];
        Self { forms, waves, gradients: gradients(), climates, shape }
    }
}

/// The tables of biomes and of their noises: see [`FORM_WORDS`] and [`WAVE_WORDS`].
fn forms(s: &Settings, site: &Site, layout: &Layout, all: &[Biome]) -> (Vec<i32>, Vec<i32>) {
    let q16 = |v: f64| (v * 65536.0).round() as i32;
    // World coordinates, in cells of the recipe, of the first cell that can hold points.
    let first = site.window.origin.map(|o| (o - layout.margin) * layout.stride);
    let skew = (3f64.sqrt() - 1.0) / 2.0;
    let (mut forms, mut waves): (Vec<i32>, Vec<i32>) = (vec![], vec![]);
    let mut wave = |frequency: f64, amplitude: i32| {
        let purpose = 1 + (waves.len() / WAVE_WORDS) as u32;
        let [along, across] =
            [1.0 + skew, skew].map(|v| (v * frequency * 4294967296.0).round() as u64 & 0xffff_ffff);
        // Places count modulo 2⁶⁴: 32 bits for the rhombus and 32 for the place in it.
        let [x, y] = first.map(|v| v as u64);
        let start = [(x, y), (y, x)]
            .map(|(a, b)| a.wrapping_mul(along).wrapping_add(b.wrapping_mul(across)));
        waves.extend(arith::key(site.world.seed, purpose).map(|k| k as i32));
        waves.extend([along as i32, across as i32]);
        waves.extend(start.map(|v| [v as i32, (v >> 32) as i32]).as_flattened());
        waves.push(amplitude);
        (waves.len() / WAVE_WORDS - 1) as i32
    };
    let octaves = s.integer("octaves") as i32;
    let octaves_of = |wave: &mut dyn FnMut(f64, i32) -> i32| {
        let frequency = |n: i32| (1.0 / s.number("feature_cells") * (1 << n) as f64).min(0.5);
        let numbers: Vec<i32> = (0..octaves).map(|n| wave(frequency(n), 65536 >> n)).collect();
        numbers[0]
    };
    // The noise of moisture, then that of temperature.
    octaves_of(&mut wave);
    octaves_of(&mut wave);
    for biome in all {
        let list = biome.waves();
        let numbers: Vec<i32> = list
            .iter()
            .enumerate()
            .map(|(n, (frequency, amplitude))| match (biome.shape, n) {
                (BiomeShape::Dunes, 1) => wave(*frequency, 65536),
                _ => wave(*frequency, site.units(amplitude * biome.relief_m)),
            })
            .collect();
        let candidate = octaves_of(&mut wave);
        let base = site.units(
            biome.base_m - if s.word("heights") == "replace" { site.datum_m() } else { 0.0 },
        );
        forms.extend([biome.shape as i32, base, numbers[0], list.len() as i32]);
        forms.extend([
            q16(biome.hardness.unwrap_or(0.0)),
            q16(biome.rain.unwrap_or(1.0)),
            q16(biome.vegetation.unwrap_or(0.0)),
        ]);
        let [red, green, blue] = biome.colour.map(i32::from);
        forms.extend([candidate, octaves, red << 16 | green << 8 | blue]);
    }
    (forms, waves)
}

/// Unit vectors in 24 directions, 2⁻¹⁴.
fn gradients() -> Vec<i32> {
    let turn = |n: usize| (n as f64 + 0.5) * (2.0 * std::f64::consts::PI / GRADIENTS as f64);
    (0..GRADIENTS)
        .flat_map(|n| [libm::cos(turn(n)), libm::sin(turn(n))])
        .map(|c| (c * 16384.0).round() as i32)
        .collect()
}
