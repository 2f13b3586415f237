//! Pictures that a stage looks into: rasters of shares, beside the land's lattice, and what is left
//! of them on coarser lattices.
//!
//! Sources: L. Williams, *Pyramidal parametrics*, 1983, for pictures of half the size; P. J. Burt,
//! E. H. Adelson, *The Laplacian pyramid as a compact image code*, 1983, for their weights.

use crate::map::Map;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A picture in exact words: 0 for its lowest sample, 65536 for its highest.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Samples in a row, 2 to [`Picture::SIDE_MAX`].
    pub width: u32,
    /// Rows, 2 to [`Picture::SIDE_MAX`].
    pub height: u32,
    /// The shares, 2⁻¹⁶, row by row from the north.
    pub words: Vec<i32>,
    /// The picture of half as many samples a side, once it was asked for.
    coarser: OnceLock<Arc<Picture>>,
}

impl PartialEq for Picture {
    fn eq(&self, other: &Self) -> bool {
        (self.width, self.height, &self.words) == (other.width, other.height, &other.words)
    }
}

/// The taps and weights, 2⁻³, of a sample of the coarser line: a tent two samples wide to both
/// sides. Its samples lie on those of a line of an odd number of samples, and between those of
/// another.
fn taps(count: u32, at: u32) -> [(usize, i64); 4] {
    let (first, weights) = if count % 2 == 1 { (-1, [2, 4, 2, 0]) } else { (-2, [1, 3, 3, 1]) };
    std::array::from_fn(|n| {
        let tap = i64::from(2 * at) + first + n as i64;
        (tap.clamp(0, i64::from(count) - 1) as usize, weights[n])
    })
}

/// Pictures by the names that settings have for them.
pub type Pictures = BTreeMap<String, Arc<Picture>>;

impl Picture {
    /// Most samples of a side: places in a picture are 12 bits of samples and 16 of fraction.
    pub const SIDE_MAX: u32 = 4096;
    /// Most samples of all pictures of a stage: 64 MiB of words.
    pub const SAMPLES_MAX: usize = 1 << 24;

    /// A picture of words, 0 to 65536, row by row from the north.
    pub fn new(width: u32, height: u32, words: Vec<i32>) -> Self {
        Self { width, height, words, coarser: OnceLock::new() }
    }

    /// The picture with samples twice as far apart: means of those around, with the middle of the
    /// picture where it was. Of n samples a side ⌈(n − 1) / 2⌉ + 1 are left, so it may reach up to
    /// half a sample beyond the picture's rim.
    pub fn coarser(&self) -> &Arc<Picture> {
        self.coarser.get_or_init(|| {
            let [width, height] = [self.width, self.height].map(|side| (side - 1).div_ceil(2) + 1);
            let columns: Vec<_> = (0..width).map(|x| taps(self.width, x)).collect();
            let row = |y: u32| {
                let lines =
                    taps(self.height, y).map(|(tap, weight)| (tap * self.width as usize, weight));
                let sample = move |columns: &[(usize, i64); 4]| {
                    let along = |line: usize| {
                        columns
                            .iter()
                            .map(|(x, w)| w * i64::from(self.words[line + x]))
                            .sum::<i64>()
                    };
                    let sum = lines
                        .iter()
                        .map(|&(line, w)| if w == 0 { 0 } else { w * along(line) })
                        .sum::<i64>();
                    ((sum + 32) >> 6) as i32
                };
                columns.iter().map(sample).collect::<Vec<_>>()
            };
            Arc::new(Self::new(width, height, (0..height).flat_map(row).collect()))
        })
    }

    /// The picture of a map, whatever its unit: its lowest sample becomes 0 and its highest 1.
    ///
    /// # Errors
    /// What is wrong with the map: its size, or that it has no relief.
    pub fn of(map: &Map) -> Result<Self, String> {
        let (width, height, most) = (map.width, map.height, Self::SIDE_MAX);
        if ![width, height].iter().all(|side| (2..=most).contains(side))
            || map.data.len() != width as usize * height as usize
        {
            return Err(format!(
                "{width} x {height} samples: a picture has 2 to {most} a side; give one of fewer \
                 samples"
            ));
        }
        let (low, high) = map.data.iter().fold((f64::MAX, f64::MIN), |(low, high), v| {
            (low.min((*v).into()), high.max((*v).into()))
        });
        if let Some(at) = map.data.iter().position(|v| !v.is_finite()) {
            let (x, y) = (at % width as usize, at / width as usize);
            return Err(format!(
                "{} in column {x}, row {y}: a picture has finite samples",
                map.data[at]
            ));
        }
        if low == high {
            return Err(format!(
                "all samples are {low}: a picture needs a lowest and a highest one"
            ));
        }
        let share = |v: &f32| ((f64::from(*v) - low) / (high - low) * 65536.0).round() as i32;
        Ok(Self::new(width, height, map.data.iter().map(share).collect()))
    }

    /// Its size and the digest of its words.
    pub fn describe(&self) -> serde_json::Value {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let digest = blake3::hash(&bytes).to_hex().to_string();
        serde_json::json!({ "width": self.width, "height": self.height, "words_blake3": digest })
    }

    /// Stands for a picture that is not known yet: it is level.
    pub fn blank() -> Self {
        Self::new(2, 2, vec![0; 4])
    }
}
