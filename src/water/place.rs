//! Where water is looked for.

use super::RAIN;
use super::directions::Size;
use crate::map::Metric;

/// What is known of the cells of a land beside their heights.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Widths and heights of the cells of each row, where rows differ.
    pub metric: Option<Metric>,
    /// The cells that are outside the land, in ascending order: water that comes to one has left.
    pub missing: Vec<usize>,
    /// The map `flow`, where rivers are by it.
    pub flow: Option<Vec<i32>>,
}

impl Place {
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
