//! What a run leaves of biomes: how much land each has, and their weights.

use super::Job;
use crate::error::{Error, Result};
use crate::exec::{Executor, Selection};
use crate::params::Settings;
use crate::site::Window;
use crate::stage::biomes;
use serde::Serialize;

/// How much there is of a biome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BiomeShare {
    /// Its name.
    pub name: String,
    /// Its colour, as #RRGGBB.
    pub colour: String,
    /// Cells in which it has the most weight.
    pub cells: usize,
    /// Their share of the land.
    pub share: f64,
    /// Mean height of these cells, in metres, where there are any.
    pub mean_m: Option<f64>,
}

/// The weights of four biomes, red, green, blue and alpha. All textures of a cell add up to 255.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Four bytes a pixel, row by row from the north.
    pub rgba: Vec<u8>,
    /// The names of its biomes, one to four.
    pub biomes: Vec<String>,
}

/// The weights of all biomes in every cell. 65535 is 1, and the weights of a cell add up to exactly
/// that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BiomeWeights {
    /// Cells in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The names of the biomes.
    pub biomes: Vec<String>,
    /// Biome after biome, and for each biome its weight in all cells, row by row from the north.
    pub values: Vec<u16>,
}

impl BiomeWeights {
    /// The weight of one biome, by its number, in all cells, row by row from the north. None if
    /// there is no such biome.
    pub fn of(&self, biome: usize) -> Option<&[u16]> {
        self.values.chunks((self.width as usize * self.height as usize).max(1)).nth(biome)
    }

    /// The numbers of the biomes that have weight in the cell of a column and a row, in their
    /// order, and their weights. Empty for a cell beyond the land.
    pub fn at(&self, x: u32, y: u32) -> impl Iterator<Item = (usize, u16)> {
        let cells = self.width as usize * self.height as usize;
        let first = y as usize * self.width as usize + x as usize;
        let inside = x < self.width && y < self.height;
        let planes = if inside { &self.values[first..] } else { &[] };
        // The weights of a cell lie a whole map apart.
        planes.iter().copied().step_by(cells.max(1)).enumerate().filter(|(_, weight)| *weight > 0)
    }

    /// The weights of a part of the land, such as a chunk of a game: `width` x `height` cells, from
    /// a column and a row on. Biomes without weight there are kept, so that numbers stay.
    ///
    /// # Errors
    /// [`Error::Param`] for a part that reaches beyond the land.
    pub fn part(&self, [x, y]: [u32; 2], [width, height]: [u32; 2]) -> Result<Self> {
        let ends = |from: u32, side: u32, all: u32| {
            side > 0 && from.checked_add(side).is_some_and(|end| end <= all)
        };
        if !ends(x, width, self.width) || !ends(y, height, self.height) {
            return Err(Error::param(format!(
                "{width} x {height} cells from column {x}, row {y} on: allowed parts of the {} x \
                 {} cells of the land",
                self.width, self.height
            )));
        }
        let planes = self.values.chunks(self.width as usize * self.height as usize);
        let rows = planes.flat_map(|plane| {
            plane.chunks(self.width as usize).skip(y as usize).take(height as usize)
        });
        let values = rows.flat_map(|row| &row[x as usize..][..width as usize]).copied().collect();
        Ok(Self { width, height, biomes: self.biomes.clone(), values })
    }
}

impl Job {
    /// How much of the land each biome has.
    pub(super) fn shares(
        &self,
        settings: &Settings,
        executor: &mut dyn Executor,
    ) -> Result<Vec<BiomeShare>> {
        let kinds = self.read_at(self.schedule.until_level(), "biome", 1, 0, executor)?;
        let heights = self.read_at(self.schedule.until_level(), "height", 1, 0, executor)?;
        let all = biomes::biomes(settings)?;
        let mut sums = vec![(0usize, 0i64); all.len()];
        for (kind, height) in kinds.iter().zip(&heights) {
            let (cells, sum) = &mut sums[*kind as usize];
            *cells += 1;
            *sum += *height as i64;
        }
        let share = |(biome, (cells, sum)): (biomes::Biome, (usize, i64))| BiomeShare {
            colour: biome.code(),
            name: biome.name,
            cells,
            share: cells as f64 / kinds.len() as f64,
            mean_m: (cells > 0).then(|| self.schedule.land().1.height_m(sum as f64 / cells as f64)),
        };
        Ok(all.into_iter().zip(sums).map(share).collect())
    }

    /// Where the n-th map is in a buffer of several, one after another, without the margin.
    fn stacked(&self, n: usize) -> Selection {
        Selection {
            first: n * self.schedule.level_window(self.schedule.until_level()).cells(),
            ..self.selection_at(self.schedule.until_level(), 1, 0)
        }
    }

    /// The textures of the weights, without the margin.
    pub(super) fn textures(
        &self,
        shares: &[BiomeShare],
        executor: &mut dyn Executor,
    ) -> Result<Vec<Texture>> {
        let Window { width, height, .. } = self.schedule.land().0;
        let mut texture = |(n, biomes): (usize, &[BiomeShare])| {
            Ok(Texture {
                width,
                height,
                rgba: executor
                    .read_selection("splat", &self.stacked(n))?
                    .into_iter()
                    // The first weight of a pixel is in the lowest byte of its word.
                    .flat_map(i32::to_le_bytes)
                    .collect(),
                biomes: biomes.iter().map(|biome| biome.name.clone()).collect(),
            })
        };
        shares
            .chunks(4)
            .enumerate()
            .take(self.schedule.recipe.textures())
            .map(&mut texture)
            .collect()
    }

    /// The weights of all biomes, without the margin.
    pub(super) fn weights(
        &self,
        shares: &[BiomeShare],
        executor: &mut dyn Executor,
    ) -> Result<Option<BiomeWeights>> {
        if self.schedule.recipe.weights().is_none() {
            return Ok(None);
        }
        let land = self.schedule.land().0;
        let Window { width, height, .. } = land;
        let (cells, pairs) = (land.cells(), shares.len().div_ceil(2));
        let mut values = Vec::with_capacity(cells * 2 * pairs);
        for n in 0..pairs {
            let pair = executor.read_selection("weights", &self.stacked(n))?;
            // A word has the weights of two biomes, the first in its lower half.
            values.extend(pair.iter().map(|word| *word as u16));
            values.extend(pair.iter().map(|word| (*word >> 16) as u16));
        }
        // An odd number of biomes leaves a place empty.
        values.truncate(cells * shares.len());
        // The kernels' weights add up to 65536, so the heaviest biome (of equal ones, that of
        // lowest number) gives up one.
        let mut heaviest = vec![(0u16, 0usize); cells];
        let mut totals = vec![0u32; cells];
        for (biome, plane) in values.chunks(cells).enumerate() {
            for ((heaviest, total), weight) in heaviest.iter_mut().zip(&mut totals).zip(plane) {
                *total += u32::from(*weight);
                if *weight > heaviest.0 {
                    *heaviest = (*weight, biome);
                }
            }
        }
        for (cell, ((_, biome), total)) in heaviest.into_iter().zip(totals).enumerate() {
            // Where one biome has all, the kernel has done so.
            values[biome * cells + cell] -= (total > 65535) as u16;
        }
        let biomes = shares.iter().map(|biome| biome.name.clone()).collect();
        Ok(Some(BiomeWeights { width, height, biomes, values }))
    }
}
