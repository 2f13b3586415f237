//! Recipes: what to make, as data. TOML or JSON with the same keys, and the same bytes from every
//! front door.

mod check;
mod describe;
mod edit;
mod examples;
mod levels;
mod output;
mod parse;
mod presets;
mod rules;
mod schema;
mod top;
mod units;
#[cfg(feature = "cli")]
mod upgrade;

use crate::arith;
use crate::error::Result;
use crate::field::{self, FIELDS, Field, Origin};
use crate::map::Samples;
use crate::materials;
use crate::params::{ParamKind, Settings};
use crate::scatter;
use crate::site::{Layer, Layers, Scale, Site, Window, World};
use crate::stage::{self, Stage, biomes, combine, ranges, strokes};
use crate::water;
use std::path::PathBuf;

#[cfg(feature = "dungeon")]
use crate::dungeon::placed::Placing;

pub use edit::{assignment, parted};
pub use examples::{EXAMPLES, title};
pub use levels::{ByLevel, Levels};
pub use output::{Colour, Output};
#[cfg(feature = "dungeon")]
pub use parse::dungeons::dungeon;
pub use presets::{PRESETS, Preset};
pub use schema::{RELATIONS, file_places};
#[cfg(feature = "api")]
pub(crate) use top::keys;
pub(crate) use units::Unit;
#[cfg(feature = "cli")]
pub use upgrade::upgrade;

/// What to make: a checked list of stages, with the size, the place and the seed of the land.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Its name, for people.
    pub name: String,
    /// The seed from which the stages' seeds come.
    pub seed: u64,
    /// Where the land lies and how large it is. A recipe with an input has the input's size.
    pub window: Window,
    /// Metres a cell, 0.001 to 1 000 000; none: the input's.
    pub spacing_m: Option<f64>,
    /// Metres from the first to the last vertex of the longer side, where the recipe was given
    /// that in place of `spacing_m`: another size then has other cells.
    pub extent_m: Option<f64>,
    /// The heights to start from; none: the first stage makes them.
    pub input: Option<Input>,
    /// Cells round the map, 0 to 8192, that are made and eroded with it and then cut off, so that
    /// no border shows in what is left. Round an input they are its mirror image.
    pub margin: u32,
    /// Whether the land continues beyond its window: there is no border, and every two windows of
    /// it agree.
    pub endless: bool,
    /// The file that it was read from.
    pub file: Option<PathBuf>,
    /// The folder that paths in the recipe are relative to.
    pub folder: PathBuf,
    /// How the stages that change heights run from coarse to fine; none: on the land as it is.
    pub levels: Option<Levels>,
    /// How many cells a side the land has for each of the recipe's, a power of two up to 64: the
    /// same land with more detail.
    pub scale: u32,
    /// The stages, in order.
    pub stages: Vec<Step>,
    /// Whether the first of them is level ground, for a recipe that begins with biomes. Whoever
    /// wrote the recipe did not write that stage, so it is neither counted nor described.
    pub on_level_ground: bool,
    /// Dungeons on the land.
    #[cfg(feature = "dungeon")]
    pub dungeons: Option<Placing>,
    /// Rivers, lakes and the sea of the final height; none: they are not looked for.
    pub water: Option<water::Settings>,
    /// What the ground is made of, where that is asked for.
    pub materials: Option<materials::Settings>,
    /// What stands on the land.
    pub scatter: Vec<scatter::Settings>,
    /// What a run leaves.
    pub output: Output,
}

/// The heights that a recipe starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// Metres that the lowest and the highest integer of a 16-bit picture stand for, or 0 and 1
        /// of a file of floats from 0 to 1.
        range_m: Option<(f64, f64)>,
        /// Height in metres of cells without one; none: they lie outside the land.
        nodata_m: Option<f64>,
        /// The band of a TIFF that holds the heights, counted from 1; none: it has one.
        band: Option<u32>,
    },
    /// Heights in memory, which the [`Job`](crate::Job) is given.
    Memory,
}

/// A stage with its settings.
#[derive(Clone, Debug)]
pub struct Step {
    /// The stage.
    pub stage: &'static Stage,
    /// Its settings.
    pub settings: Settings,
    /// Its seed, if it has one of its own.
    pub seed: Option<u64>,
    /// Stages that run between its steps.
    pub with: Vec<Nested>,
    /// Settings that differ by level, where the recipe has levels: names and values.
    pub by_level: Vec<(String, ByLevel)>,
    /// Whether it runs on the finest level alone, where the recipe has levels.
    pub finest: bool,
}

/// A stage that runs between the steps of another.
#[derive(Clone, Debug)]
pub struct Nested {
    /// It runs after every `every` steps of its host, 1 to [`EVERY_MAX`].
    pub every: u32,
    /// The stage.
    pub step: Step,
}

/// Most steps between two runs of a nested stage.
pub const EVERY_MAX: i64 = 1 << 18;

/// Most stages of a recipe.
pub const STAGES_MAX: usize = 1000;
/// Most stages between the steps of another.
pub const NESTED_MAX: usize = 16;

/// Widest margin, in cells.
const MARGIN_MAX: i64 = 8192;
/// Most cells of a side of a land. A run makes up to [`Window::SIDE_MAX`] at once; larger lands are
/// made by parts.
pub const LAND_MAX: u32 = 1 << 24;

impl Recipe {
    /// A recipe for heights in memory: these stages change them.
    ///
    /// # Errors
    /// [`Error::Param`](crate::Error::Param) for a list without stages, or with one that makes
    /// heights from nothing.
    pub fn on_heights(stages: Vec<Step>) -> Result<Self> {
        Self::on_heights_by_level(stages, None)
    }

    /// The same, from coarse to fine where it has levels.
    ///
    /// # Errors
    /// As [`Recipe::on_heights`]; [`Error::Param`](crate::Error::Param) for what is wrong with the
    /// levels.
    pub fn on_heights_by_level(stages: Vec<Step>, levels: Option<Levels>) -> Result<Self> {
        let recipe = Self {
            name: String::new(),
            seed: 0,
            window: Window::sized(1, 1),
            spacing_m: None,
            extent_m: None,
            input: Some(Input::Memory),
            margin: 0,
            endless: false,
            file: None,
            folder: PathBuf::new(),
            levels,
            scale: 1,
            stages,
            on_level_ground: false,
            #[cfg(feature = "dungeon")]
            dungeons: None,
            water: None,
            materials: None,
            scatter: vec![],
            output: Output::default(),
        };
        recipe.check()?;
        Ok(recipe)
    }

    /// How many stages at the beginning of the list are not of whoever wrote the recipe.
    pub(crate) fn unwritten(&self) -> usize {
        usize::from(self.on_level_ground).min(self.stages.len())
    }

    /// The stages that the recipe was written with.
    pub(crate) fn written(&self) -> &[Step] {
        &self.stages[self.unwritten()..]
    }

    /// The number of stage `i` of the list, from 1, as whoever wrote the recipe counts them. Level
    /// ground that nobody wrote has the number 0.
    pub(crate) fn number(&self, i: usize) -> usize {
        i + usize::from(!self.on_level_ground)
    }

    /// Where stage `i` of the list stands: in words, and as a JSON pointer into the recipe as it
    /// was written.
    pub(crate) fn place(&self, i: usize) -> (String, String) {
        let number = self.number(i);
        let place = format!("stage {number}, {}", self.stages[i].stage.name);
        (place, format!("/stage/{}", number.saturating_sub(1)))
    }

    /// The layers that exist before each stage, and after the last.
    pub(crate) fn layers(&self) -> Vec<Layers> {
        let mut all = vec![Layers::NONE.with(Layer::Ledger, self.keeps_ledger())];
        for step in &self.stages {
            all.push(all[all.len() - 1].union((step.stage.layers)(&step.settings)));
        }
        all
    }

    /// The site of stage `i`, where these layers exist, on a land with these bounds.
    fn site(&self, i: usize, layers: Layers, bounds: Window, scale: Scale) -> Site {
        // Two stages of one kind must not rain on the same spots.
        let seed = self.stages[i].seed.unwrap_or(arith::seed(self.seed, i as u32));
        let endless = self.endless;
        Site {
            world: World { bounds, scale, seed, endless },
            window: bounds,
            homes: None,
            layers,
            own: bounds,
            level: 0,
            draft: false,
        }
    }

    /// Whether anything needs the ledger of what was laid down and worn.
    fn keeps_ledger(&self) -> bool {
        self.wanted()
            .filter_map(field::find)
            // Materials follow what was laid down.
            .any(|field| [Origin::Ledger, Origin::Materials].contains(&field.origin))
            || self.stages.iter().any(|step| (step.stage.layers)(&step.settings).has(Layer::Ledger))
    }

    /// The names of the maps that a run reads at its end: the height, those to be written, and
    /// those that colour the picture.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &str> {
        let asked = self.output.maps.iter().map(String::as_str);
        // The picture has water, and files of rivers need what these maps do.
        let wet = self
            .water
            .as_ref()
            .is_some_and(|water| self.output.preview || water.carve || water.has_vectors());
        let water: &[&str] = if wet { &["water_depth", "river_width"] } else { &[] };
        // What one sees is what a program gets.
        let shown = self.output.colour == Colour::Ground && self.output.preview;
        let ground: &[&str] = match self.materials.is_some() {
            true if shown || self.output.program.is_some() => &materials::NAMES,
            _ => &[],
        };
        std::iter::once("height")
            .chain(asked)
            .chain(self.output.colour.maps().iter().copied())
            .chain(water.iter().copied())
            .chain(ground.iter().copied())
            .chain(self.scatter.iter().flat_map(|things| things.maps(self.water.is_some())))
    }

    /// The rivers that are drawn.
    pub(crate) fn rivers(&self) -> Vec<strokes::River> {
        let drawn = self.stages.iter().filter(|step| step.stage.name == strokes::STAGE.name);
        drawn.flat_map(|step| strokes::rivers(&step.settings)).collect()
    }

    /// The files that a run of it reads: its input, and those of its stages and strokes.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let input = match &self.input {
            Some(Input::File { path, .. }) => Some(path.clone()),
            _ => None,
        };
        let read = self.stages.iter().filter_map(Step::file).map(|file| self.folder.join(file));
        let shown = self.stages.iter().flat_map(Step::pictures);
        input.into_iter().chain(read).chain(shown.map(|(_, file)| self.folder.join(file)))
    }

    /// Whether a stage makes a layer of rain.
    pub(crate) fn has_rain(&self) -> bool {
        self.stages.iter().any(|step| (step.stage.layers)(&step.settings).has(Layer::Rain))
    }

    /// A window with the margin.
    pub(crate) fn padded(&self, window: Window) -> Window {
        let [width, height] =
            [window.width, window.height].map(|side| side.saturating_add(2 * self.margin));
        Window { origin: window.origin.map(|o| o - self.margin as i64), width, height }
    }

    /// The last stage that makes biomes: its number from 0, and its settings.
    pub fn biomes(&self) -> Option<(usize, &Settings)> {
        let found =
            self.stages.iter().enumerate().rfind(|(_, step)| step.stage.name == biomes::STAGE.name);
        found.map(|(i, step)| (i, &step.settings))
    }

    /// The names of its biomes, by their numbers.
    pub(crate) fn biome_names(&self) -> Vec<String> {
        let listed = self.biomes().and_then(|(_, settings)| biomes::biomes(settings).ok());
        listed.unwrap_or_default().into_iter().map(|biome| biome.name).collect()
    }

    /// How many textures the weights of its biomes become; four biomes share one.
    pub fn textures(&self) -> usize {
        self.biomes().map_or(0, |(_, settings)| biomes::textures(settings))
    }

    /// The format of the file with the weights of all biomes, where a stage is asked for it.
    pub fn weights(&self) -> Option<&str> {
        self.biomes()
            .map(|(_, settings)| settings.word("weights"))
            .filter(|format| *format != "none")
    }

    /// The maps that a run of the recipe can leave.
    pub fn fields(&self) -> Vec<&'static Field> {
        let stages: Vec<&Stage> = self.stages.iter().flat_map(Step::stages).collect();
        let layers = self
            .stages
            .iter()
            .map(|step| (step.stage.layers)(&step.settings))
            .fold(Layers::NONE, Layers::union);
        let there = |field: &&Field| match field.origin {
            Origin::Every => true,
            Origin::Stage => stages.iter().any(|stage| stage.maps.contains(&field.name)),
            Origin::Layer(layer) => layers.has(layer),
            Origin::Ledger => stages.iter().any(|stage| !stage.is_generator),
            Origin::Water => self.water.is_some(),
            Origin::Materials => self.materials.is_some(),
        };
        FIELDS.iter().filter(there).collect()
    }
}

impl Step {
    /// A stage at its defaults, but for these settings.
    ///
    /// # Errors
    /// [`Error::Param`](crate::Error::Param) for an unknown stage or setting, or a value that is
    /// not allowed.
    pub fn new(kind: &str, settings: &[(&str, crate::params::Value)]) -> Result<Self> {
        let stage = stage::find(kind)?;
        let given: Vec<_> =
            settings.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        Ok(Self::of(stage, Settings::new(stage.params, &given)?))
    }

    /// A stage with these settings and nothing else.
    pub(crate) fn of(stage: &'static Stage, settings: Settings) -> Self {
        Self { stage, settings, seed: None, with: vec![], by_level: vec![], finest: false }
    }

    /// Whether it makes the first heights of a land.
    pub(crate) fn makes_first(&self) -> bool {
        self.stage.is_generator && combine::is_first(&self.settings)
    }

    /// What the samples are that it reads, if it reads some.
    pub fn samples(&self) -> Option<Samples> {
        (self.stage.samples)(&self.settings)
    }

    /// The file that it reads, relative to the recipe, where it reads one.
    pub fn file(&self) -> Option<&str> {
        self.named_file().filter(|_| self.stage.name != ranges::STAGE.name)
    }

    /// The pictures that its strokes stamp, or by which its `ranges` rise: the number of the
    /// stroke, from 0, and the file, relative to the recipe.
    pub(crate) fn pictures(&self) -> impl Iterator<Item = (usize, String)> {
        let strokes = match self.stage.name == strokes::STAGE.name {
            true => strokes::strokes(&self.settings).unwrap_or_default(),
            false => vec![],
        };
        let stamped =
            strokes.into_iter().enumerate().filter_map(|(j, stroke)| Some((j, stroke.file?)));
        let own = self.named_file().filter(|_| self.stage.name == ranges::STAGE.name);
        stamped.chain(own.map(|file| (0, file.to_string())))
    }

    fn named_file(&self) -> Option<&str> {
        let path = self
            .stage
            .params
            .iter()
            .find(|p| p.kind == ParamKind::File)
            .map(|p| self.settings.word(p.name));
        path.filter(|path| !path.is_empty())
    }
}
