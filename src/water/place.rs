//! Where water is looked for.

use super::directions::Size;
use super::{RAIN, Settings, drained};
use crate::map::Metric;
use crate::site::Scale;

/// What is known of the cells of a land beside their heights.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Widths and heights of the cells of each row, where rows differ.
    pub metric: Option<Metric>,
    /// The cells that are outside the land, in ascending order: water that comes to one has left.
    pub missing: Vec<usize>,
    /// The map `flow`, where rivers are by it.
    pub flow: Option<Vec<i32>>,
    /// The cells where rivers spring that were drawn, and the area, in m², that each drains; none:
    /// as much as makes a river.
    pub springs: Vec<(usize, Option<f64>)>,
    /// The land that the map is a part or a coarser level of; none: the map is the land.
    pub land: Option<Extent>,
}

/// How large a land is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Cells of its finest level.
    pub cells: u64,
    /// The area of one, in m².
    pub cell_m2: f64,
}

impl Extent {
    /// A land without an end has brooks and rivers as one of this many cells.
    pub(crate) const ENDLESS_CELLS: u64 = 1_000_000;

    /// The drainage area of a river, in m², where no other is asked for: a thousandth of the land,
    /// so small lands have brooks and large ones rivers, and at least 100 cells, since less is
    /// the shape of a slope.
    pub(super) fn channel_m2(self) -> f64 {
        (self.cells as f64 / 1000.0).max(100.0) * self.cell_m2
    }

    /// The area of a lake, in m², where no other is asked for: 10 cells.
    pub(super) fn lake_m2(self) -> f64 {
        10.0 * self.cell_m2
    }
}

impl Place {
    /// The land of a map.
    pub(super) fn extent(&self, size: Size, scale: &Scale) -> Extent {
        let cell_m2 = scale.spacing_m * scale.spacing_m;
        self.land.unwrap_or(Extent { cells: size.cells() as u64, cell_m2 })
    }

    /// The cells where rivers spring, and what comes out there, in the unit of the rain.
    pub(super) fn springs_of(
        &self,
        size: Size,
        scale: &Scale,
        water: &Settings,
    ) -> Vec<(usize, i64)> {
        let usual_m2 = water.channel_m2(self.extent(size, scale));
        let more = |area: &Option<f64>| drained(area.unwrap_or(usual_m2), scale);
        // All of them together, and the rain, fit the words of sums.
        let most = (1i64 << 60) / self.springs.len().max(1) as i64;
        self.springs.iter().map(|(cell, area)| (*cell, more(area).min(most))).collect()
    }

    /// The rain on each cell, weighted by its area.
    pub(super) fn rain(&self, rain: Option<Vec<i32>>, size: Size) -> Vec<i32> {
        let mut rain = rain.unwrap_or_else(|| vec![RAIN as i32; size.cells()]);
        if let Some(metric) = &self.metric {
            for (y, row) in rain.chunks_mut(size.width).enumerate() {
                let area = metric.area(y);
                // A float above the range becomes the end of it.
                row.iter_mut().for_each(|rain| *rain = (f64::from(*rain) * area).round() as i32);
            }
        }
        self.missing.iter().for_each(|&cell| rain[cell] = 0);
        rain
    }

    /// Whether a cell is outside the land.
    pub(super) fn is_missing(&self, cell: usize) -> bool {
        self.missing.binary_search(&cell).is_ok()
    }

    /// The area of some cells, in squares of the land's spacing.
    pub(super) fn area(&self, cells: &[u32], size: Size) -> f64 {
        match &self.metric {
            None => cells.len() as f64,
            Some(metric) => cells.iter().map(|&cell| metric.area(cell as usize / size.width)).sum(),
        }
    }
}
