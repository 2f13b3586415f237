//! Heights as colours: what web maps read from the tiles of elevation.

/// How heights become the red, green and blue of a pixel. Heights are rounded before they are
/// split, and those beyond the ends are the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elevation {
    /// Steps of 1/256 m from -32768 m to 32767.996 m (*Mapzen terrain tiles*, 2016).
    Terrarium,
    /// Steps of 0.1 m from -10000 m to 1667721.5 m (*Mapbox Terrain-RGB*, 2017).
    TerrainRgb,
}

/// The number of the last colour.
const LAST: f64 = 16_777_215.0;

impl Elevation {
    /// The colour of a height in metres: red, green, blue.
    pub fn rgb(self, metres: f32) -> [u8; 3] {
        let (lowest, steps) = self.code();
        // The conversion stops at 0.
        let [_, red, green, blue] =
            (((f64::from(metres) - lowest) * steps).round().min(LAST) as u32).to_be_bytes();
        [red, green, blue]
    }

    /// The lowest and the highest height that it holds, in metres.
    pub fn range_m(self) -> [f64; 2] {
        let (lowest, steps) = self.code();
        [lowest, lowest + LAST / steps]
    }

    /// The height of the first colour in metres, and how many steps a metre has.
    fn code(self) -> (f64, f64) {
        match self {
            Self::Terrarium => (-32768.0, 256.0),
            Self::TerrainRgb => (-10000.0, 10.0),
        }
    }

    /// Its name in TileJSON, as MapLibre reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terrarium => "terrarium",
            Self::TerrainRgb => "mapbox",
        }
    }
}
