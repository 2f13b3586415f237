//! Heights as colours: what web maps read from the tiles of elevation.

/// How heights become the red, green and blue of a pixel. Heights are rounded before they are split, and those beyond the ends are the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elevation {
    /// Steps of 1/256 m from -32768 m to 32767.996 m (*Mapzen terrain tiles*, 2016).
    Terrarium,
    /// Steps of 0.1 m from -10000 m to 1667721.5 m (*Mapbox Terrain-RGB*, 2017).
    TerrainRgb,
}

impl Elevation {
    /// The colour of a height in metres: red, green, blue.
    pub fn rgb(self, metres: f32) -> [u8; 3] {
        let metres = f64::from(metres);
        let steps = match self {
            Self::Terrarium => (metres + 32768.0) * 256.0,
            Self::TerrainRgb => (metres + 10000.0) * 10.0,
        };
        // The conversion stops at 0.
        let [_, red, green, blue] = (steps.round().min(16_777_215.0) as u32).to_be_bytes();
        [red, green, blue]
    }

    /// Its name in TileJSON, as MapLibre reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terrarium => "terrarium",
            Self::TerrainRgb => "mapbox",
        }
    }
}
