//! Where a stage runs: the world, the window of it that is made, the scale of its heights, and the
//! layers that are there.

use crate::arith::CELL;
use crate::error::{Error, Result};
use crate::params::rounded;

/// A rectangle of the unbounded lattice of world coordinates: x to the east, y to the south.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// World coordinates of the north-west sample.
    pub origin: [i64; 2],
    /// Samples in a row, 1 to [`Window::SIDE_MAX`].
    pub width: u32,
    /// Rows, 1 to [`Window::SIDE_MAX`].
    pub height: u32,
}

impl Window {
    /// Longest side of one window: positions are 15 bits of cells and 16 of fraction.
    pub const SIDE_MAX: u32 = 32767;

    /// A window whose north-west sample is the origin of the world.
    pub const fn sized(width: u32, height: u32) -> Self {
        Self { origin: [0, 0], width, height }
    }

    /// Number of samples.
    pub const fn cells(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Whether a cell of the world lies in the window.
    pub fn contains(&self, x: i64, y: i64) -> bool {
        let [left, top] = self.origin;
        (0..self.width.into()).contains(&x.wrapping_sub(left))
            && (0..self.height.into()).contains(&y.wrapping_sub(top))
    }
}

/// Highest and lowest height that a run may start from, in cells either way: [`crate::arith`]'s
/// range less room to deposit.
pub const HEIGHT_MAX: i32 = 8000;

/// How heights in metres become 32-bit words and back: the one place where floats meet fixed point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Metres a cell.
    pub spacing_m: f64,
    /// Height in metres of the word 0.
    pub datum_m: f64,
}

impl Scale {
    /// A scale whose word 0 is 0 m.
    pub fn of(spacing_m: f64) -> Self {
        Self { spacing_m, datum_m: 0.0 }
    }

    /// A scale for heights from `lowest` to `highest` metres. The datum is 0 m if the heights fit
    /// round it, else their middle, to the metre if they fit round that.
    ///
    /// # Errors
    /// [`Error::Limit`] for heights that span more than twice [`HEIGHT_MAX`] cells.
    pub fn fitting(spacing_m: f64, lowest: f64, highest: f64) -> Result<Self> {
        let most = HEIGHT_MAX as f64 * spacing_m;
        if lowest.abs().max(highest.abs()) <= most {
            return Ok(Self { spacing_m, datum_m: 0.0 });
        }
        if highest - lowest > 2.0 * most {
            return Err(Error::limit(format!(
                "heights from {} to {} m at {} m a cell: a map may span {} cells of height, {} m; \
                 check the spacing and the unit",
                rounded(lowest),
                rounded(highest),
                rounded(spacing_m),
                2 * HEIGHT_MAX,
                rounded(2.0 * most)
            )));
        }
        let middle = (lowest + highest) / 2.0;
        let fits = |datum_m: &f64| lowest >= datum_m - most && highest <= datum_m + most;
        Ok(Self { spacing_m, datum_m: Some(middle.round()).filter(fits).unwrap_or(middle) })
    }

    /// The words of heights in metres, to the nearest.
    pub fn to_words(&self, metres: &[f32]) -> Vec<i32> {
        metres
            .iter()
            .map(|&m| ((m as f64 - self.datum_m) / self.spacing_m * CELL as f64).round() as i32)
            .collect()
    }

    /// The metres of words that are heights.
    pub fn to_metres(&self, words: &[i32]) -> Vec<f32> {
        words.iter().map(|&w| self.height_m(w as f64) as f32).collect()
    }

    /// The height in metres of a word, or of a mean of words.
    pub fn height_m(&self, word: f64) -> f64 {
        word / CELL as f64 * self.spacing_m + self.datum_m
    }
}

/// The land that a run is about: what is the same for every window of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct World {
    /// The part of the lattice that has land. Borders lie round it: particles leave the land there,
    /// come in again on the other side, or are held.
    pub bounds: Window,
    /// Metres of a cell and of the word 0.
    pub scale: Scale,
    /// The seed of the stage.
    pub seed: u64,
    /// Whether the land goes on beyond the bounds without an end.
    pub endless: bool,
}

/// What a stage is given to make its plan from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// The land.
    pub world: World,
    /// The part of it to make: [`World::bounds`] in a run of a whole land, and less where a part or
    /// a tile is made.
    pub window: Window,
    /// The window whose homes have particles, where that is more than `window`: in the middle of a
    /// stage particles from beyond may be in it.
    pub homes: Option<Window>,
    /// The layers that exist when the stage starts.
    pub layers: Layers,
    /// The land with its margin on the lattice of the recipe, whatever the level.
    pub own: Window,
    /// How much coarser the lattice is than that of the recipe, as a power of two; negative: finer.
    pub level: i32,
    /// Whether the plan is only counted: long tables then have their lengths and no words, and each
    /// round of passes is there once.
    pub draft: bool,
}

impl Site {
    /// A site whose window is all of its land, with height 0 at 0 m and no layer.
    pub fn bare(window: Window, spacing_m: f64, seed: u64) -> Self {
        let world = World { bounds: window, scale: Scale::of(spacing_m), seed, endless: false };
        Self {
            world,
            window,
            homes: None,
            layers: Layers::NONE,
            own: window,
            level: 0,
            draft: false,
        }
    }

    /// Cells of the recipe's lattice from vertex to vertex, and vertices to such a cell: one of the
    /// two is 1.
    pub fn stride(&self) -> [i64; 2] {
        [1 << self.level.clamp(0, 31), 1 << self.level.saturating_neg().clamp(0, 31)]
    }

    /// Metres a cell.
    pub fn spacing_m(&self) -> f64 {
        self.world.scale.spacing_m
    }

    /// Height in metres of the word 0.
    pub fn datum_m(&self) -> f64 {
        self.world.scale.datum_m
    }

    /// The word of a height in metres, to the nearest, within ±8191 cells.
    pub fn height_of(&self, metres: f64) -> i32 {
        let cells = ((metres - self.datum_m()) / self.spacing_m()).clamp(-8191.0, 8191.0);
        (cells * CELL as f64).round() as i32
    }

    /// The words of a length in metres, to the nearest.
    pub fn units(&self, metres: f64) -> i32 {
        (metres / self.spacing_m() * CELL as f64).round() as i32
    }
}

/// A map beside the height that outlives the stage that made it and that other stages use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `rain`: the chance that a droplet meant for a cell falls, 0 to 65536 for 0 to 1.
    Rain,
    /// `hardness` of the bedrock, 0 to 65536 for 0 to 1: 1 is not worn at all.
    Hardness,
    /// `vegetation`: how much of the ground roots hold, 0 to 65536 for 0 to 1.
    Vegetation,
    /// `ledger`, four words a cell: the height when the cell was last entered, the thickness of
    /// loose sediment, and the sums of all lowering and of all raising so far (height units). Cells
    /// are entered after every step of every stage.
    Ledger,
    /// The ledger's sediment is told apart from bedrock.
    Sediment,
    /// `passed`: how often particles have passed on coarser levels, in their number here.
    Passed,
    /// `passed` is still there for a later stage of the level.
    PassedOn,
    /// `uplift`: how much of what a stage raises a land by a vertex rises, 0 to 65536 for 0 to 1.
    Uplift,
    /// `surface` and `area`: the water level, and how many vertices' rain passes, as an earlier
    /// unit of the run left them.
    Water,
    /// `surface` and `area` are of use to a later unit.
    WaterOn,
}

impl Layer {
    /// The layers that are fractions and can be painted: their names, and the word that stages take
    /// for granted where there is none.
    pub const PAINTED: [(&'static str, Layer, i32); 4] = [
        ("rain", Layer::Rain, 65536),
        ("hardness", Layer::Hardness, 0),
        ("vegetation", Layer::Vegetation, 0),
        ("uplift", Layer::Uplift, 0),
    ];
}

/// A set of layers.
///
/// A stage binds each layer that it can use. It binds one that does not exist as a buffer of a
/// single word ([`crate::plan::Shape::Absent`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers(u16);

impl Layers {
    /// No layer.
    pub const NONE: Self = Self(0);
    /// Every layer.
    pub const ALL: Self = Self::of(&[
        Layer::Rain,
        Layer::Hardness,
        Layer::Vegetation,
        Layer::Ledger,
        Layer::Sediment,
        Layer::Passed,
        Layer::PassedOn,
        Layer::Uplift,
        Layer::Water,
        Layer::WaterOn,
    ]);

    /// These layers.
    pub const fn of(layers: &[Layer]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < layers.len() {
            bits |= 1 << layers[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// These layers, and one more if it is `there`.
    pub const fn with(self, layer: Layer, there: bool) -> Self {
        if there { self.union(Self::of(&[layer])) } else { self }
    }

    /// Whether a layer is one of them.
    pub const fn has(self, layer: Layer) -> bool {
        self.0 >> layer as u8 & 1 == 1
    }

    /// The layers of either set.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
