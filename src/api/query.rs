//! What requests say in their addresses behind the question mark.

use super::problem::{Answer, Problem};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads what stands behind the question mark of an address.
///
/// # Errors
/// 400 that names the key.
pub fn read<T: DeserializeOwned>(text: &str) -> Answer<T> {
    let pairs = form_urlencoded::parse(text.as_bytes());
    serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs))
        .map_err(|e| Problem::bad(format!("the query: {e}")))
}

/// Of a preview.
#[derive(Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::IntoParams))]
pub struct Preview {
    /// Most cells of the longer side, 64 to 1024.
    #[cfg_attr(feature = "serve", param(minimum = 64, maximum = 1024, default = 512))]
    pub cells: Option<u32>,
    /// The maps to send, parted by commas: names of fields.
    #[cfg_attr(feature = "serve", param(default = "height"))]
    pub fields: Option<String>,
    /// Whether the first record is to be the land before any stage changes it, as fine as the last
    /// one. Its header has `"draft": true`.
    #[cfg_attr(feature = "serve", param(default = false))]
    pub draft: Option<bool>,
}

/// Of a sheet of variants.
#[derive(Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::IntoParams))]
pub struct Sheet {
    /// Most cells of the longer side of a land, 64 to 512.
    #[cfg_attr(feature = "serve", param(minimum = 64, maximum = 512, default = 128))]
    pub cells: Option<u32>,
    /// How many lands, of consecutive seeds, 1 to 36. A single one is drawn without its number.
    #[cfg_attr(feature = "serve", param(minimum = 1, maximum = 36, default = 12))]
    pub count: Option<u32>,
    /// The first seed; left out: the recipe's.
    pub seed: Option<u64>,
    /// What the colours show: height, ground or biomes; left out: what the recipe says.
    pub colour: Option<String>,
}

/// Of a job.
#[derive(Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::IntoParams))]
pub struct Job {
    /// The name of a recipe that has none of its own.
    pub name: Option<String>,
    /// Pictures of a time-lapse.
    pub frames: Option<usize>,
    /// Longest side of these pictures in pixels, 16 to 8192.
    #[cfg_attr(feature = "serve", param(minimum = 16, maximum = 8192, default = 1080))]
    pub frame_size: Option<u32>,
    /// Stop after this level.
    pub level: Option<i32>,
}

impl Job {
    /// The pictures of its time-lapse and their longest side.
    ///
    /// # Errors
    /// 400 for a side that is not allowed.
    pub fn frames(&self) -> Answer<Option<(usize, u32)>> {
        let side = self.frame_size.unwrap_or(1080);
        if !(16..=8192).contains(&side) {
            return Err(Problem::bad(format!("frame_size = {side}: allowed 16 to 8192")));
        }
        Ok(self.frames.map(|frames| (frames, side)))
    }
}

/// Of a file that is sent.
#[derive(Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::IntoParams))]
pub struct Input {
    /// The name of the file; its extension says its format.
    pub name: String,
}

/// Of a dungeon.
#[derive(Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::IntoParams))]
pub struct Dungeon {
    /// `json`, `txt`, `svg`, `png`, `tmj`, `ldtk`, or `steps`.
    #[cfg_attr(feature = "serve", param(default = "json"))]
    pub format: Option<String>,
}
