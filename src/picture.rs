//! Pictures that a stage looks into: rasters of shares, beside the land's lattice.

use crate::map::Map;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A picture in exact words: 0 for its lowest sample, 65536 for its highest.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Samples in a row, 2 to [`Picture::SIDE_MAX`].
    pub width: u32,
    /// Rows, 2 to [`Picture::SIDE_MAX`].
    pub height: u32,
    /// The shares, 2⁻¹⁶, row by row from the north.
    pub words: Vec<i32>,
}

/// Pictures by the names that settings have for them.
pub type Pictures = BTreeMap<String, Arc<Picture>>;

impl Picture {
    /// Most samples of a side: places in a picture are 12 bits of samples and 16 of fraction.
    pub const SIDE_MAX: u32 = 4096;
    /// Most samples of all pictures of a stage: 64 MiB of words.
    pub const SAMPLES_MAX: usize = 1 << 24;

    /// The picture of a map, whatever its unit: its lowest sample becomes 0 and its highest 1.
    ///
    /// # Errors
    /// What is wrong with the map: its size, or that it has no relief.
    pub fn of(map: &Map) -> Result<Self, String> {
        let (width, height, most) = (map.width, map.height, Self::SIDE_MAX);
        if ![width, height].iter().all(|side| (2..=most).contains(side)) || map.data.len() != width as usize * height as usize {
            return Err(format!("{width} x {height} samples: a picture has 2 to {most} a side; give one of fewer samples"));
        }
        let (low, high) =
            map.data.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min((*v).into()), high.max((*v).into())));
        if let Some(at) = map.data.iter().position(|v| !v.is_finite()) {
            let (x, y) = (at % width as usize, at / width as usize);
            return Err(format!("{} in column {x}, row {y}: a picture has finite samples", map.data[at]));
        }
        if low == high {
            return Err(format!("all samples are {low}: a picture needs a lowest and a highest one"));
        }
        let share = |v: &f32| ((f64::from(*v) - low) / (high - low) * 65536.0).round() as i32;
        Ok(Self { width, height, words: map.data.iter().map(share).collect() })
    }

    /// Its size and the digest of its words.
    pub fn describe(&self) -> serde_json::Value {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let digest = blake3::hash(&bytes).to_hex().to_string();
        serde_json::json!({ "width": self.width, "height": self.height, "words_blake3": digest })
    }

    /// Stands for a picture that is not known yet: it is level.
    pub fn blank() -> Self {
        Self { width: 2, height: 2, words: vec![0; 4] }
    }
}
