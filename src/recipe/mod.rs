//! Recipes: what to make, as data. TOML or JSON with the same keys, and the same bytes from every
//! front door.

mod describe;
mod edit;
mod examples;
mod levels;
mod output;
mod parse;
mod presets;
mod schema;
mod top;
mod units;
#[cfg(feature = "cli")]
mod upgrade;

use crate::arith;
use crate::error::{Error, Invalid, Result};
use crate::field::{self, Decode, FIELDS, Field, Origin};
use crate::map::Samples;
use crate::params::{ParamKind, Settings, unknown};
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
    /// Dungeons on the land.
    #[cfg(feature = "dungeon")]
    pub dungeons: Option<Placing>,
    /// Rivers, lakes and the sea of the final height; none: they are not looked for.
    pub water: Option<water::Settings>,
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
    /// [`Error::Param`] for a list without stages, or with one that makes heights from nothing.
    pub fn on_heights(stages: Vec<Step>) -> Result<Self> {
        Self::on_heights_by_level(stages, None)
    }

    /// The same, from coarse to fine where it has levels.
    ///
    /// # Errors
    /// As [`Recipe::on_heights`]; [`Error::Param`] for what is wrong with the levels.
    pub fn on_heights_by_level(stages: Vec<Step>, levels: Option<Levels>) -> Result<Self> {
        let recipe = Self {
            name: String::new(),
            seed: 0,
            window: Window::sized(1, 1),
            spacing_m: None,
            input: Some(Input::Memory),
            margin: 0,
            endless: false,
            file: None,
            folder: PathBuf::new(),
            levels,
            scale: 1,
            stages,
            #[cfg(feature = "dungeon")]
            dungeons: None,
            water: None,
            output: Output::default(),
        };
        recipe.check()?;
        Ok(recipe)
    }

    /// Checks what no single key can tell. Call it after changing a recipe's fields.
    ///
    /// # Errors
    /// [`Error::Param`] for stages that cannot stand where they stand, settings that contradict
    /// each other, and maps that the recipe does not make; [`Error::Limit`] for a land that is too
    /// large.
    pub fn check(&self) -> Result<()> {
        if self.stages.is_empty() {
            return Err(Error::param(format!(
                "no stages: add [[stage]] with kind = one of {}, or an input and a table [water] \
                 for the rivers and lakes of a map as it is",
                stage::names(|_| true)
            )));
        }
        check_count(self.stages.iter().map(|step| step.with.len()))?;
        self.check_ranges()?;
        self.check_order()?;
        self.check_levels()?;
        self.check_scale()?;
        self.check_endless()?;
        if self.input.is_none() {
            self.check_on(self.window, Scale::of(self.spacing_m.unwrap_or(1.0)))?;
        }
        self.check_lists()?;
        self.check_biomes()?;
        self.water.iter().try_for_each(water::Settings::check)?;
        self.check_traffic()?;
        self.check_output()
    }

    /// Checks the values that parsing checks, since fields are public.
    fn check_ranges(&self) -> Result<()> {
        let wrong = |field: &str, given: String, allowed: String| {
            Err(Invalid::value(field, given, allowed).into())
        };
        let Window { origin, width, height } = self.window;
        let side = format!("1 to {LAND_MAX} cells a side");
        if ![width, height].iter().all(|n| (1..=LAND_MAX).contains(n)) {
            return wrong("width", format!("{width} x {height}"), side);
        }
        if origin.iter().any(|o| o.unsigned_abs() > 1 << 62) {
            return wrong(
                "origin",
                format!("{origin:?}"),
                "two whole numbers of cells, at most 2^62 either way".into(),
            );
        }
        if i64::from(self.margin) > MARGIN_MAX {
            return wrong("margin_cells", self.margin.to_string(), format!("0 to {MARGIN_MAX}"));
        }
        if let Some(spacing_m) = self.spacing_m.filter(|m| !(1e-3..=1e6).contains(m)) {
            return wrong("spacing_m", spacing_m.to_string(), "0.001 to 1000000".into());
        }
        let nested = self.stages.iter().flat_map(|step| &step.with);
        if let Some(nested) =
            nested.into_iter().find(|nested| !(1..=EVERY_MAX).contains(&nested.every.into()))
        {
            return wrong("every", nested.every.to_string(), format!("1 to {EVERY_MAX}"));
        }
        let formats = std::iter::once(&self.output.format).chain(self.output.formats.values());
        if let Some(format) =
            formats.into_iter().find(|format| !output::MAP_FORMATS.contains(&format.as_str()))
        {
            return wrong("format", format!("{format:?}"), output::MAP_FORMATS.join(", "));
        }
        if let Some(program) =
            self.output.program.iter().find(|program| !output::PROGRAMS.contains(&program.as_str()))
        {
            return wrong("program", format!("{program:?}"), output::PROGRAMS.join(", "));
        }
        Ok(())
    }

    /// Which stages may stand where.
    fn check_order(&self) -> Result<()> {
        for (i, step) in self.stages.iter().enumerate() {
            let (number, name) = (i + 1, step.stage.name);
            let wrong = |message: String| {
                Invalid::of("kind", format!("{name:?}"), "")
                    .saying(message)
                    .inside("", &format!("/stage/{i}"))
            };
            let first = i == 0 && self.input.is_none();
            if first && step.stage.is_generator && !step.makes_first() {
                return Err(wrong(format!(
                    "stage 1, {name}: combine = {}: there are no heights yet to combine with: \
                     leave it out, or give an input",
                    step.settings.word("combine")
                ))
                .into());
            }
            if first && !step.stage.is_generator {
                return Err(wrong(format!(
                    "stage 1, {name}, changes heights and there are none yet: begin with a stage \
                     that makes them, or give an input"
                ))
                .into());
            }
            if !first && step.makes_first() {
                return Err(wrong(format!(
                    "stage {number}, {name}, makes heights from nothing: it must be the first, or \
                     say with combine what becomes of those that are there: {}",
                    &combine::COMBINE.allowed()["none, ".len()..]
                ))
                .into());
            }
            for Nested { step: nested, .. } in &step.with {
                if !step.stage.hosts() || !nested.stage.can_interleave {
                    return Err(wrong(format!(
                        "stage {number}, {name}: {} cannot run between its steps: {} can, between \
                         those of {}",
                        nested.stage.name,
                        stage::names(|s| s.can_interleave),
                        stage::names(Stage::hosts)
                    ))
                    .into());
                }
            }
        }
        Ok(())
    }

    /// Checks lists of tables, which need no land to be wrong.
    fn check_lists(&self) -> Result<()> {
        for (i, Step { stage, settings, .. }) in self.stages.iter().enumerate() {
            let at = |e: Error| {
                e.inside(&format!("stage {}, {}", i + 1, stage.name), &format!("/stage/{i}"))
            };
            match stage.name {
                name if name == strokes::STAGE.name => {
                    drop(strokes::strokes(settings).map_err(at)?)
                }
                name if name == biomes::STAGE.name => {
                    drop(biomes::check_lists(settings).map_err(at)?)
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses rivers by the map `flow` that are asked for before a stage leaves it.
    fn check_traffic(&self) -> Result<()> {
        let Some(given) = self.water.as_ref().and_then(|water| water.channel_flow) else {
            return Ok(());
        };
        let wrong = |why: String| {
            let message = format!("channel_flow = {given}: {why}");
            Err(Invalid::of("channel_flow", given, "")
                .saying(message)
                .inside("water", "/water")
                .into())
        };
        let makers = || {
            self.stages
                .iter()
                .enumerate()
                .filter(|(_, step)| step.stages().any(|stage| stage.maps.contains(&"flow")))
        };
        if makers().next().is_none() {
            return wrong(
                "no stage of the recipe leaves flow: add incision, droplets, snowballs or wind, or \
                 leave it out".into(),
            );
        }
        let group = self.group();
        match self.thirsty() {
            // What is made whole before the levels has the finest cells.
            Some(i)
                if !makers().any(|(j, _)| j < i && (group.contains(&j) || !group.contains(&i))) =>
            {
                wrong(format!(
                    "stage {}, biomes, has water = \"rivers\", and no stage before this one makes \
                     flow: move it behind one that does, or use channel_area_km2",
                    i + 1
                ))
            }
            _ => Ok(()),
        }
    }

    /// The first stage of biomes that are told by rivers.
    fn thirsty(&self) -> Option<usize> {
        self.stages.iter().position(|step| {
            step.stage.name == biomes::STAGE.name && biomes::takes_water(&step.settings)
        })
    }

    /// What stages, dungeons and pictures ask of biomes.
    fn check_biomes(&self) -> Result<()> {
        #[cfg(feature = "dungeon")]
        self.suited()?;
        let Some((last, _)) = self.biomes() else {
            return match self.output.colour {
                Colour::Biomes => Err(Invalid::of("colour", "\"biomes\"", "height, ground")
                    .saying("output.colour = \"biomes\": no stage of this recipe makes biomes")
                    .inside("", "/output")
                    .into()),
                Colour::Height | Colour::Ground => Ok(()),
            };
        };
        if let Some(i) = self.thirsty().filter(|_| self.water.is_none()) {
            let message = "water = \"rivers\": the recipe has no table [water], which says where \
                           rivers begin; an empty one will do";
            return Err(Invalid::of("water", "\"rivers\"", "sea, or rivers with a table [water]")
                .saying(message)
                .inside(&format!("stage {}, biomes", i + 1), &format!("/stage/{i}"))
                .into());
        }
        let early = || {
            self.stages[..last]
                .iter()
                .enumerate()
                .filter(|(_, step)| step.stage.name == biomes::STAGE.name)
        };
        let splat = early().find(|(_, step)| step.settings.switch("splat"));
        let weights = early().find(|(_, step)| step.settings.word("weights") != "none");
        let refused = |i: usize, (name, given, usual): (&str, serde_json::Value, &str)| {
            let message = format!(
                "{name} = {given}: of several stages of biomes the last one makes the textures and \
                 the file of weights, as it does the \
                 maps and the list, and that is stage {}: set {name} there",
                last + 1
            );
            let invalid = Invalid::of(name, given, usual).saying(message);
            Err(invalid.inside(&format!("stage {}, biomes", i + 1), &format!("/stage/{i}")).into())
        };
        match (splat, weights) {
            (Some((i, _)), _) => refused(i, ("splat", true.into(), "false")),
            (_, Some((i, step))) => {
                refused(i, ("weights", step.settings.word("weights").into(), "none"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the maps that are asked for exist and fit their format.
    fn check_output(&self) -> Result<()> {
        let Output { maps, format, .. } = &self.output;
        let known = self.fields();
        for (i, map) in maps.iter().enumerate() {
            let place = format!("/output/maps/{i}");
            let Some(field) = known.iter().find(|field| field.name == map) else {
                let mut invalid =
                    unknown("map of this recipe", map, known.iter().map(|field| field.name));
                if field::find(map).is_some_and(|field| field.origin == Origin::Water) {
                    invalid.message = format!(
                        "{map:?}: a recipe has this map if it has a table [water]; see \
                         docs/water.md"
                    );
                } else if stage::STAGES.iter().any(|stage| stage.maps.contains(&map.as_str())) {
                    let kinds = stage::names(|stage| stage.maps.contains(&map.as_str()));
                    invalid.message = format!(
                        "{map:?}: a recipe has this map if it has a stage with kind = one of \
                         {kinds}"
                    );
                }
                invalid.field = Some("maps".into());
                return Err(invalid.inside("output.maps", &place).into());
            };
            if maps[..i].contains(map) {
                let mut invalid = Invalid::from(format!("output.maps: {map:?} is there twice"));
                invalid.field = Some("maps".into());
                return Err(invalid.inside("", &place).into());
            }
            let (key, format) = match self.output.formats.get(map) {
                Some(format) => (format!("formats.{map}"), format),
                None => ("format".into(), format),
            };
            if field.decode == Decode::Colour && format == "r16" {
                return Err(Invalid::of(key.as_str(), "\"r16\"", "png, tif, exr, npy, r32")
                    .saying(format!(
                        "output: {key} = \"r16\": {map} has 24 bits and does not fit; allowed for \
                         it: png, tif, exr, npy, r32"
                    ))
                    .inside("", "/output")
                    .into());
            }
        }
        Ok(())
    }

    /// Checks the settings of a stage, and of those between its steps, against each other and the
    /// place.
    ///
    /// # Errors
    /// [`Error::Param`] for settings that do not go together, and for a nested stage that would
    /// never run.
    pub(crate) fn check_step(&self, i: usize, step: &Step, site: &Site) -> Result<()> {
        let window = site.window;
        let nested = step.with.iter().enumerate().map(|(j, nested)| {
            (
                format!("stage {}, interleave {}, {}", i + 1, j + 1, nested.step.stage.name),
                format!("/stage/{i}/interleave/{j}"),
                &nested.step,
            )
        });
        let own = (format!("stage {}, {}", i + 1, step.stage.name), format!("/stage/{i}"), step);
        for (place, pointer, Step { stage, settings, .. }) in
            std::iter::once(own).chain(nested.clone())
        {
            let combined = if stage.is_generator { combine::check(settings, site) } else { Ok(()) };
            combined.and_then(|()| (stage.check)(settings, site)).map_err(|e| match e {
                Error::Param(mut invalid) => {
                    let of_field = |field: &String| settings.get(field).map(|v| v.to_string());
                    invalid.given =
                        invalid.given.or_else(|| invalid.field.as_ref().and_then(of_field));
                    Error::Param(invalid).inside(&place, &pointer)
                }
                other => other,
            })?;
        }
        // On a map of one row nothing flows and there are no steps.
        if step.with.is_empty() || window.width < 2 || window.height < 2 {
            return Ok(());
        }
        // How many there are does not depend on the window.
        let window = Window { width: 2, height: 2, ..window };
        let steps =
            (step.stage.plan)(&step.settings, &Site { window, draft: true, ..*site }).count().steps;
        let Some(((place, pointer, nested), every)) = nested
            .zip(step.with.iter().map(|nested| nested.every))
            .find(|(_, every)| u64::from(*every) > steps)
        else {
            return Ok(());
        };
        let (name, host) = (nested.stage.name, step.stage.name);
        let message = match steps {
            0 => format!(
                "{host} takes no step here (rain = 0), so it would never run; raise rain, or make \
                 {name} a stage of its own"
            ),
            _ => format!(
                "every = {every}: allowed 1 to {steps}, the steps of {host} here: it would never \
                 run"
            ),
        };
        Err(Invalid::of("every", every, format!("1 to {steps}"))
            .saying(message)
            .inside(&place, &pointer)
            .into())
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

    /// The site of the `n`-th run of the stage `j` between the steps of stage `i`, whose own site
    /// is `site`.
    pub(crate) fn nested_site(&self, i: usize, j: usize, n: usize, site: &Site) -> Site {
        let seed =
            self.stages[i].with[j].step.seed.unwrap_or(arith::seed(site.world.seed, j as u32));
        Site { world: World { seed: arith::seed(seed, n as u32), ..site.world }, ..*site }
    }

    /// Whether anything needs the ledger of what was laid down and worn.
    fn keeps_ledger(&self) -> bool {
        self.wanted()
            .any(|name| field::find(name).is_some_and(|field| field.origin == Origin::Ledger))
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
        std::iter::once("height")
            .chain(asked)
            .chain(self.output.colour.maps().iter().copied())
            .chain(water.iter().copied())
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

    /// For each biome, by number, whether dungeons may have their entrance in it; none: all may.
    #[cfg(feature = "dungeon")]
    pub(crate) fn suited(&self) -> Result<Option<Vec<bool>>> {
        let wanted = self
            .dungeons
            .iter()
            .flat_map(|placing| &placing.biomes)
            .map(String::as_str)
            .collect::<Vec<_>>();
        let Some(first) = wanted.first() else { return Ok(None) };
        let Some((_, settings)) = self.biomes() else {
            return Err(Error::param(format!(
                "dungeons: biomes: there is no {first} without a stage of kind = \"biomes\""
            )));
        };
        let all = biomes::biomes(settings)?;
        match wanted.iter().find(|name| all.iter().all(|biome| biome.name != **name)) {
            Some(name) => {
                let invalid =
                    unknown("biome", name, all.iter().map(|b| b.name.as_str())).about("biomes");
                Err(invalid.inside("dungeons: biomes", "/dungeons").into())
            }
            None => {
                Ok(Some(all.iter().map(|biome| wanted.contains(&biome.name.as_str())).collect()))
            }
        }
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
        };
        FIELDS.iter().filter(there).collect()
    }
}

/// Refuses too many stages: how many run between the steps of each.
fn check_count(stages: impl ExactSizeIterator<Item = usize>) -> Result<()> {
    let count = stages.len();
    if count > STAGES_MAX {
        let what = format!(
            "stage: {count} stages: a recipe has at most {STAGES_MAX}; put strokes into one stage, \
             or make several recipes, each with the \
             last one's land as its input"
        );
        return Err(Invalid::of("stage", count, format!("1 to {STAGES_MAX} stages"))
            .saying(what)
            .into());
    }
    if let Some((i, nested)) = stages.enumerate().find(|(_, nested)| *nested > NESTED_MAX) {
        let what = format!(
            "stage {}: with: {nested} stages: at most {NESTED_MAX} run between the steps of \
             another",
            i + 1
        );
        let invalid =
            Invalid::of("interleave", nested, format!("1 to {NESTED_MAX} stages")).saying(what);
        return Err(invalid.inside("", &format!("/stage/{i}")).into());
    }
    Ok(())
}

impl Step {
    /// A stage at its defaults, but for these settings.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown stage or setting, or a value that is not allowed.
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

    /// The picture that it lays over its land, where it names one.
    pub(crate) fn picture(&self) -> Option<&str> {
        self.named_file().filter(|_| self.stage.name == ranges::STAGE.name)
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
