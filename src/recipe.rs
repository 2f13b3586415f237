//! Recipes: what to make, as data. TOML or JSON, the same keys, the same bytes from every front door.

use crate::dungeon::Generator;
use crate::dungeon::placed::{self, Placing};
use crate::error::{Error, Result};
use crate::params::{Kind, Settings, Value, unknown};
use crate::relief::Derived;
use crate::site::{Layer, Layers, Scale, Site, Window, World};
use crate::spec;
use crate::stage::{self, Stage};
use serde::{Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};

/// A checked recipe.
#[derive(Clone)]
pub struct Recipe {
    /// Its name, for people.
    pub name: String,
    /// The seed that the stages' seeds come from.
    pub seed: u64,
    /// Where and how large. For a recipe with an input, the size is the input's.
    pub window: Window,
    /// Metres a cell; none: the input's.
    pub spacing_m: Option<f64>,
    /// A height map to start from.
    pub input: Option<Input>,
    /// Cells round the map that are made and eroded with it, and then cut off, so that no border shows in what is left. Round
    /// an input lies its mirror image.
    pub margin: u32,
    /// What paths are relative to.
    pub folder: PathBuf,
    /// The stages, in order.
    pub stages: Vec<Step>,
    /// Dungeons on the terrain.
    pub dungeons: Option<Placing>,
    /// What to write.
    pub output: Output,
}

/// The height map that a recipe starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// Metres that the lowest and highest integer of a 16-bit picture stand for.
    pub range_m: Option<(f64, f64)>,
}

/// A stage with its settings.
#[derive(Clone)]
pub struct Step {
    /// Which.
    pub stage: &'static Stage,
    /// How.
    pub settings: Settings,
    /// Its seed, if it has one of its own.
    pub seed: Option<u64>,
    /// Stages that run between its steps.
    pub with: Vec<Nested>,
}

/// A stage that runs between the steps of another.
#[derive(Clone)]
pub struct Nested {
    /// After how many steps, again and again.
    pub every: u32,
    /// Which and how.
    pub step: Step,
}

/// What `run` writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Data maps by name; `height` is one.
    pub maps: Vec<String>,
    /// File extension of the maps.
    pub format: String,
    /// Whether to write the shaded picture.
    pub preview: bool,
    /// Sea level in metres, for the picture.
    pub sea_level_m: Option<f64>,
    /// What the picture's colours show.
    pub colour: Colour,
}

/// What the colours of a picture show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The height, as on printed maps.
    #[default]
    Height,
    /// The ground, as from the air: see [`crate::render::Ground`].
    Ground,
    /// The biomes, in the shares of their weights.
    Biomes,
}

impl Colour {
    const ALL: [Self; 3] = [Self::Height, Self::Ground, Self::Biomes];

    /// Its name in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Height => "height",
            Self::Ground => "ground",
            Self::Biomes => "biomes",
        }
    }

    /// The maps that it wants to see beside the height, where a run makes them.
    pub fn wants(self) -> &'static [&'static str] {
        match self {
            Self::Height => &[],
            Self::Ground => &["flow", "wear", "deposit", "sediment"],
            Self::Biomes => &["biome_colour"],
        }
    }
}

/// A preset: its name, what it makes, the settings that are not at their defaults.
pub type Preset = (&'static str, &'static str, &'static [(&'static str, f64)]);

/// Named settings of the droplets stage.
pub const PRESETS: &[Preset] = &[
    ("default", "valleys that branch, fans at their mouths", &[]),
    ("gentle", "old hills: half the rain, little carried", &[("rain", 0.5), ("capacity", 1.0)]),
    ("deep", "far-travelled water and more of it: mature valleys with smooth floors", &[("rain", 3.0), ("lifetime", 256.0)]),
    (
        "article",
        "the constants of van der Veen's article, at its half droplet a cell",
        &[
            ("rain", 0.5),
            ("density", 0.25),
            ("lifetime", 300.0),
            ("inertia", 0.3),
            ("slope_min", 0.01),
            ("capacity", 10.0),
            ("deposition", 0.08),
            ("erosion", 0.7),
            ("gravity", 9.81),
            ("evaporation", 0.02),
            ("radius", 5.0),
        ],
    ),
];

/// The droplets stage with a preset's settings.
pub fn preset(name: &str) -> Result<Step> {
    let Some((_, _, values)) = PRESETS.iter().find(|(n, _, _)| *n == name) else {
        return Err(unknown("preset", name, PRESETS.iter().map(|(n, _, _)| *n)));
    };
    let stage = &stage::droplets::STAGE;
    let mut settings = Settings::defaults(stage.params);
    for (name, v) in *values {
        let value = if v.fract() == 0.0 { Value::Integer(*v as i64) } else { Value::Number(*v) };
        settings.set(stage.params, name, &value)?;
    }
    Ok(Step { stage, settings, seed: None, with: vec![] })
}

/// Parses `key=value` as a person types it.
pub fn assignment(text: &str) -> Result<(String, Value)> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Error::Param(format!("{text:?}: expected KEY=VALUE, such as rain=4")));
    };
    let value = value.trim();
    let parsed = match (value, value.parse::<i64>(), value.parse::<f64>()) {
        ("true", ..) => Value::Switch(true),
        ("false", ..) => Value::Switch(false),
        (_, Ok(i), _) => Value::Integer(i),
        (_, _, Ok(f)) => Value::Number(f),
        _ => Value::Word(value.into()),
    };
    Ok((key.trim().into(), parsed))
}

/// Most steps after which a stage between the steps of another has its turn.
pub const EVERY_MAX: i64 = 1 << 18;

/// Widest margin, in cells.
const MARGIN_MAX: i64 = 8192;

/// Largest recipe file, in bytes.
const SIZE_MAX: u64 = 1 << 20;

impl Recipe {
    /// Reads a recipe file: JSON if its name ends in `.json`, else TOML. Paths in it are relative to it.
    pub fn read(path: &Path) -> Result<Self> {
        let size = std::fs::metadata(path).map_err(|e| Error::input(path, e))?.len();
        if size > SIZE_MAX {
            return Err(Error::Limit(format!("{}: {size} bytes: a recipe has at most {SIZE_MAX}", path.display())));
        }
        let bytes = std::fs::read(path).map_err(|e| Error::input(path, e))?;
        let text = String::from_utf8(bytes).map_err(|_| Error::input(path, "not UTF-8 text: a recipe is TOML or JSON"))?;
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let recipe = if json { Self::from_json(&text, folder, &stem) } else { Self::from_toml(&text, folder, &stem) };
        recipe.map_err(|e| match e {
            Error::Param(what) => Error::Param(format!("{}: {what}", path.display())),
            other => other,
        })
    }

    /// Parses TOML. `folder` is what paths are relative to, `name` the name where the recipe has none.
    pub fn from_toml(text: &str, folder: &Path, name: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let wrong = |e: toml::de::Error| Error::Param(e.to_string().trim_end().to_string());
        let mut value = toml::from_str(text).map_err(wrong)?;
        mark(&mut value, &toml::from_str(text).map_err(wrong)?);
        Self::from_value(&value, folder, name)
    }

    /// Parses JSON, as [`Recipe::from_toml`] does TOML.
    pub fn from_json(text: &str, folder: &Path, name: &str) -> Result<Self> {
        let value = serde_json::from_str(text).map_err(|e| Error::Param(e.to_string()))?;
        Self::from_value(&value, folder, name)
    }

    fn from_value(value: &serde_json::Value, folder: &Path, name: &str) -> Result<Self> {
        let table = Table::new("", value)?;
        table.known(&[
            "schema",
            "name",
            "seed",
            "width",
            "height",
            "spacing_m",
            "origin",
            "margin",
            "input",
            "range_m",
            "stage",
            "dungeons",
            "output",
        ])?;
        match table.integer("schema", 1, 1)? {
            Some(_) => {}
            None => return Err(Error::Param("schema is missing: put schema = 1 on top".into())),
        }
        let input = table.text("input")?.map(|path| Input { path: folder.join(path), range_m: None });
        let range = table.pair("range_m")?;
        let input = match (input, range) {
            (Some(input), range_m) => Some(Input { range_m, ..input }),
            (None, Some(_)) => return Err(Error::Param("range_m: only a recipe with an input has one".into())),
            (None, None) => None,
        };
        let side = |key| table.integer(key, 1, Window::SIDE_MAX as i64);
        let (width, height) = match (&input, side("width")?, side("height")?) {
            (None, Some(w), Some(h)) => (w, h),
            (None, ..) => return Err(Error::Param("width and height are missing (in cells), or an input".into())),
            (Some(_), None, None) => (1, 1),
            (Some(_), ..) => return Err(Error::Param("width, height: a recipe with an input has the input's size".into())),
        };
        let far = 1i64 << 62;
        let origin = match table.get("origin") {
            None => [0, 0],
            Some(v) => match v.as_array().map(|a| a.iter().map(|v| v.as_i64()).collect::<Vec<_>>()).as_deref() {
                Some([Some(x), Some(y)]) if x.abs() <= far && y.abs() <= far => [*x, *y],
                _ => {
                    return Err(Error::Param(format!(
                        "origin = {}: expected two whole numbers of cells, such as [0, 0]",
                        shown(v)
                    )));
                }
            },
        };
        let spacing_m = table.number("spacing_m", 1e-3, 1e6)?;
        if input.is_none() && spacing_m.is_none() {
            return Err(Error::Param("spacing_m is missing: metres a cell, 0.001 to 1000000".into()));
        }
        let mut recipe = Self {
            name: table.text("name")?.unwrap_or(name).into(),
            seed: table.seed()?.unwrap_or(0),
            window: Window { origin, width: width as u32, height: height as u32 },
            spacing_m,
            input,
            margin: table.integer("margin", 0, MARGIN_MAX)?.unwrap_or(0) as u32,
            folder: folder.to_path_buf(),
            stages: vec![],
            dungeons: table.get("dungeons").map(placing).transpose()?,
            output: Output::parse(table.get("output"))?,
        };
        let stages = match table.get("stage") {
            None => &vec![],
            Some(serde_json::Value::Array(stages)) => stages,
            Some(_) => return Err(Error::Param("stage: write each as [[stage]]".into())),
        };
        for (i, value) in stages.iter().enumerate() {
            recipe.stages.push(Step::parse(value, &format!("stage {}", i + 1))?);
        }
        recipe.check()?;
        Ok(recipe)
    }

    /// Checks what no single key can tell.
    pub fn check(&self) -> Result<()> {
        if self.stages.is_empty() {
            return Err(Error::Param(format!("no stages: add [[stage]] with kind = one of {}", names())));
        }
        self.suited()?;
        for (i, step) in self.stages.iter().enumerate() {
            let first = i == 0 && self.input.is_none();
            if first && !step.stage.makes {
                return Err(Error::Param(format!(
                    "stage 1, {}, changes heights and there are none yet: begin with a stage that makes them, or give an input",
                    step.stage.name
                )));
            }
            if !first && step.stage.makes {
                return Err(Error::Param(format!(
                    "stage {}, {}, makes heights from nothing: it must be the first",
                    i + 1,
                    step.stage.name
                )));
            }
            for Nested { step: nested, .. } in &step.with {
                if !step.stage.hosts || !nested.stage.nests {
                    let list = |of: fn(&Stage) -> bool| {
                        stage::STAGES.iter().filter(|s| of(s)).map(|s| s.name).collect::<Vec<_>>().join(", ")
                    };
                    return Err(Error::Param(format!(
                        "stage {}, {}: {} cannot run between its steps: {} can, between those of {}",
                        i + 1,
                        step.stage.name,
                        nested.stage.name,
                        list(|s| s.nests),
                        list(|s| s.hosts)
                    )));
                }
            }
            if self.input.is_none() {
                self.check_step(i, self.grown(self.window)?, Scale::of(self.spacing_m.unwrap_or(1.0)))?;
            }
        }
        if let Some((last, _)) = self.biomes()
            && let Some(i) = self.stages[..last]
                .iter()
                .position(|step| step.stage.name == stage::biomes::STAGE.name && step.settings.switch("splat"))
        {
            return Err(Error::Param(format!(
                "stage {}, biomes: splat = true: of several stages of biomes the last one makes the textures, as it does the maps and \
                 the list, and that is stage {}: set splat there",
                i + 1,
                last + 1
            )));
        }
        if self.output.colour == Colour::Biomes && self.biomes().is_none() {
            return Err(Error::Param("output.colour = \"biomes\": no stage of this recipe makes biomes".into()));
        }
        if self.output.format == "r16" && self.output.maps.iter().any(|map| map == "biome_colour") {
            return Err(Error::Param(
                "output: format = \"r16\": biome_colour has 24 bits and does not fit; allowed for it: png, tif, exr, npy, r32"
                    .into(),
            ));
        }
        for (i, map) in self.output.maps.iter().enumerate() {
            if self.output.maps[..i].contains(map) {
                return Err(Error::Param(format!("output.maps: {map:?} is there twice")));
            }
            let known = self.maps();
            if !known.iter().any(|(name, _)| name == map) {
                let e = unknown("map of this recipe", map, known.iter().map(|(name, _)| *name));
                return Err(Error::Param(format!("output.maps: {e}")));
            }
        }
        Ok(())
    }

    /// Checks the settings of a stage, and of those between its steps, against each other and the place.
    ///
    /// # Errors
    /// [`Error::Param`] for settings that do not go together, and for a stage that would never get its turn.
    pub fn check_step(&self, i: usize, window: Window, scale: Scale) -> Result<()> {
        let step = &self.stages[i];
        let site = self.site(i, window, scale);
        let named = step.with.iter().zip(1..).map(|(nested, j)| (format!(", with {j}"), &nested.step));
        for (place, Step { stage, settings, .. }) in std::iter::once((String::new(), step)).chain(named) {
            (stage.check)(settings, &site).map_err(|e| Error::Param(format!("stage {}{place}, {}: {e}", i + 1, stage.name)))?;
        }
        if step.with.is_empty() {
            return Ok(());
        }
        let steps = (step.stage.plan)(&step.settings, &site).steps.len();
        // On a map of one row nothing flows and there are no steps.
        let flat = window.width < 2 || window.height < 2;
        match step.with.iter().enumerate().find(|(_, nested)| !flat && nested.every as usize > steps) {
            None => Ok(()),
            Some((j, Nested { every, step: nested })) => {
                let (i, j, name, host) = (i + 1, j + 1, nested.stage.name, step.stage.name);
                let what = match steps {
                    0 => format!(
                        "{host} takes no step here (rain = 0): it would never run; raise rain, or make {name} a stage of its own"
                    ),
                    _ => format!("every = {every}: allowed 1 to {steps}, the steps of {host} here: it would never run"),
                };
                Err(Error::Param(format!("stage {i}, with {j}, {name}: {what}")))
            }
        }
    }

    /// What stage `i` is told.
    pub fn site(&self, i: usize, window: Window, scale: Scale) -> Site {
        // Two stages of one kind must not rain on the same spots.
        let seed = self.stages[i].seed.unwrap_or(spec::seed(self.seed, i as u32));
        let made = self.stages[..i].iter().map(|step| (step.stage.layers)(&step.settings));
        let ledger = Layers::NONE.with(Layer::Ledger, self.keeps_ledger());
        Site { world: World { bounds: window, scale, seed }, window, layers: made.fold(ledger, Layers::union) }
    }

    /// What the `n`-th run of the stage `j` of those between the steps of stage `i` is told; `site` is stage `i`'s.
    pub fn nested_site(&self, i: usize, j: usize, n: usize, site: &Site) -> Site {
        let seed = self.stages[i].with[j].step.seed.unwrap_or(spec::seed(site.world.seed, j as u32));
        Site { world: World { seed: spec::seed(seed, n as u32), ..site.world }, ..*site }
    }

    /// Whether anything wants to know what was laid down and worn.
    fn keeps_ledger(&self) -> bool {
        ["wear", "deposit", "change"].iter().any(|name| self.reads(name))
            || self.stages.iter().any(|step| (step.stage.layers)(&step.settings).has(Layer::Ledger))
    }

    /// Whether a map is wanted after a run, to be written or to colour the picture.
    pub fn reads(&self, name: &str) -> bool {
        self.output.maps.iter().any(|asked| asked == name) || self.output.colour.wants().contains(&name)
    }

    /// A window with the margin.
    pub fn grown(&self, window: Window) -> Result<Window> {
        let [width, height] = [window.width, window.height].map(|side| side + 2 * self.margin);
        if width.max(height) > Window::SIDE_MAX {
            return Err(Error::Limit(format!(
                "{} x {} cells with a margin of {}: a side with its margins has at most {}",
                window.width,
                window.height,
                self.margin,
                Window::SIDE_MAX
            )));
        }
        Ok(Window { origin: window.origin.map(|o| o - self.margin as i64), width, height })
    }

    /// The last stage that makes biomes: its number, and how.
    pub fn biomes(&self) -> Option<(usize, &Settings)> {
        let found = self.stages.iter().enumerate().rfind(|(_, step)| step.stage.name == stage::biomes::STAGE.name);
        found.map(|(i, step)| (i, &step.settings))
    }

    /// By number, whether dungeons may be entered in a biome of the recipe; none: wherever the ground is right.
    pub fn suited(&self) -> Result<Option<Vec<bool>>> {
        let wanted = self.dungeons.iter().flat_map(|placing| &placing.biomes).map(String::as_str).collect::<Vec<_>>();
        let Some(first) = wanted.first() else { return Ok(None) };
        let Some((_, settings)) = self.biomes() else {
            return Err(Error::Param(format!("dungeons: biomes: there is no {first} without a stage of kind = \"biomes\"")));
        };
        let all = stage::biomes::biomes(settings)?;
        match wanted.iter().find(|name| all.iter().all(|biome| biome.name != **name)) {
            Some(name) => {
                Err(Error::Param(format!("dungeons: biomes: {}", unknown("biome", name, all.iter().map(|b| b.name.as_str())))))
            }
            None => Ok(Some(all.iter().map(|biome| wanted.contains(&biome.name.as_str())).collect())),
        }
    }

    /// How many textures the weights of its biomes become; four biomes are one.
    pub fn textures(&self) -> usize {
        self.biomes().map_or(0, |(_, settings)| stage::biomes::textures(settings))
    }

    /// The maps that the recipe makes, with their units.
    pub fn maps(&self) -> Vec<(&'static str, &'static str)> {
        let mut maps = vec![("height", "m")];
        let steps =
            || self.stages.iter().flat_map(|step| std::iter::once(step).chain(step.with.iter().map(|nested| &nested.step)));
        for step in steps() {
            for map in step.stage.maps {
                if !maps.iter().any(|(name, _)| *name == map.0) {
                    maps.push(*map);
                }
            }
        }
        let layers = self.stages.iter().map(|step| (step.stage.layers)(&step.settings)).fold(Layers::NONE, Layers::union);
        let there = [
            ("rain", layers.has(Layer::Rain)),
            ("hardness", layers.has(Layer::Hardness)),
            ("vegetation", layers.has(Layer::Vegetation)),
        ];
        maps.extend(there.iter().filter(|(_, there)| *there).map(|(name, _)| (*name, "0 to 1")));
        if layers.has(Layer::Sediment) {
            maps.push(("sediment", "m"));
        }
        if steps().any(|step| !step.stage.makes) {
            maps.extend([("wear", "m"), ("deposit", "m"), ("change", "m")]);
        }
        maps.extend(Derived::ALL.map(|(name, unit, _)| (name, unit)));
        maps
    }

    /// The recipe as JSON with every setting spelled out. Without an input it is a recipe again, for the same maps.
    pub fn describe(&self) -> serde_json::Value {
        let stages: Vec<_> = self.stages.iter().map(Step::describe).collect();
        let mut object = serde_json::Map::new();
        let mut put = |key: &str, value: serde_json::Value| object.insert(key.into(), value);
        put("schema", 1.into());
        put("name", self.name.as_str().into());
        put("seed", self.seed.into());
        if self.input.is_none() {
            put("width", self.window.width.into());
            put("height", self.window.height.into());
        }
        if let Some(spacing_m) = self.spacing_m {
            put("spacing_m", spacing_m.into());
        }
        put("origin", serde_json::json!(self.window.origin));
        put("margin", self.margin.into());
        if let Some((low, high)) = self.input.as_ref().and_then(|input| input.range_m) {
            put("range_m", serde_json::json!([low, high]));
        }
        put("stage", stages.into());
        if let Some(dungeons) = &self.dungeons {
            put("dungeons", describe_placing(dungeons));
        }
        let Output { maps, format, preview, sea_level_m, colour } = &self.output;
        let mut output = serde_json::json!({ "maps": maps, "format": format, "preview": preview, "colour": colour.name() });
        if let Some(level) = sea_level_m {
            output["sea_level_m"] = serde_json::json!(level);
        }
        put("output", output);
        object.into()
    }
}

/// The table of dungeons: their kind, what all of them share, and the settings of the kind by the names that they have there.
fn placing(value: &serde_json::Value) -> Result<Placing> {
    let table = Table::new("dungeons", value)?;
    let wrong = |what: String| Error::Param(format!("dungeons: {what}"));
    let kind = table.text("kind")?.ok_or_else(|| wrong("kind is missing: isaac, rebirth or tinykeep".into()))?;
    let generator = match kind {
        "isaac" => Generator::Isaac(settings(&table)?),
        "rebirth" => Generator::Rebirth(settings(&table)?),
        "tinykeep" => Generator::TinyKeep(settings(&table)?),
        other => return Err(wrong(format!("kind = {}", unknown("kind", other, ["isaac", "rebirth", "tinykeep"].into_iter())))),
    };
    let format = table.text("format")?.unwrap_or("json");
    // The word becomes part of a path, so it is taken from a list.
    let formats = ["json", "txt", "svg", "png", "tmj", "ldtk"];
    if !formats.contains(&format) {
        return Err(wrong(format!("format = {}", unknown("format", format, formats.into_iter()))));
    }
    let placing = Placing {
        generator,
        spacing: table.integer("spacing", 5, placed::SPACING_MAX)?.unwrap_or(128),
        radius: table.integer("radius", 1, placed::RADIUS_MAX)?.unwrap_or(4),
        slope_max: table.number("slope_max", 0.0, 64.0)?.unwrap_or(0.5),
        lowest_m: table.number("lowest_m", -1e6, 1e6)?.unwrap_or(-1e6),
        highest_m: table.number("highest_m", -1e6, 1e6)?.unwrap_or(1e6),
        biomes: match table.get("biomes") {
            None => vec![],
            Some(list) => serde_json::from_value(list.clone()).ok().filter(|names: &Vec<String>| !names.is_empty()).ok_or_else(|| {
                wrong(format!(
                    "biomes = {list}: allowed a list of names of one or more of the recipe's biomes, such as [\"forest\", \"steppe\"]; without the line any will do"
                ))
            })?,
        },
        format: format.into(),
    };
    placing.check().map_err(|e| wrong(e.to_string()))?;
    Ok(placing)
}

/// Keys of the table of dungeons that are the same for all kinds.
const PLACING: [&str; 8] = ["kind", "spacing", "radius", "slope_max", "lowest_m", "highest_m", "biomes", "format"];

/// The settings of a kind of dungeon: its defaults, but for what the table has.
fn settings<T: Default + Serialize + DeserializeOwned>(table: &Table) -> Result<T> {
    let all = serde_json::to_value(T::default()).unwrap_or_default();
    let keys: Vec<&str> = all.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    table.known(&[&PLACING[..], &keys].concat())?;
    let given = keys.iter().filter_map(|key| Some((key.to_string(), table.get(key)?.clone())));
    let object = given.collect::<serde_json::Map<_, _>>();
    for (key, value) in &object {
        let alone = serde_json::json!({ key: value });
        serde_json::from_value::<T>(alone).map_err(|e| Error::Param(format!("dungeons: {key} = {}: {e}", shown(value))))?;
    }
    serde_json::from_value(object.into()).map_err(|e| Error::Param(format!("dungeons: {e}")))
}

/// The same table, spelled out.
fn describe_placing(placing: &Placing) -> serde_json::Value {
    let Placing { generator, spacing, radius, slope_max, lowest_m, highest_m, biomes, format } = placing;
    let mut table = serde_json::json!({ "kind": generator.kind().name() });
    let settings = serde_json::to_value(generator).unwrap_or_default();
    for (key, value) in settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        table[key] = value.clone();
    }
    table["spacing"] = (*spacing).into();
    table["radius"] = (*radius).into();
    for (key, value) in [("slope_max", slope_max), ("lowest_m", lowest_m), ("highest_m", highest_m)] {
        table[key] = serde_json::json!(value);
    }
    if !biomes.is_empty() {
        table["biomes"] = biomes.as_slice().into();
    }
    table["format"] = format.as_str().into();
    table
}

/// JSON has no numbers that are not finite. Here each is a table with this key alone, which nothing in a recipe takes, so that
/// errors can show it.
const NOT_FINITE: &str = "not finite";

/// Marks the numbers that are not finite.
fn mark(value: &mut serde_json::Value, written: &toml::Value) {
    use serde_json::Value::{Array, Object};
    match (value, written) {
        (value, toml::Value::Float(v)) if !v.is_finite() => *value = serde_json::json!({ NOT_FINITE: v.to_string() }),
        (Array(values), toml::Value::Array(written)) => values.iter_mut().zip(written).for_each(|(v, w)| mark(v, w)),
        (Object(values), toml::Value::Table(written)) => {
            values.iter_mut().filter_map(|(key, v)| Some((v, written.get(key)?))).for_each(|(v, w)| mark(v, w));
        }
        _ => {}
    }
}

/// A value as it was written.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    match (value, value.get(NOT_FINITE).and_then(|v| v.as_str())) {
        (_, Some(number)) => number.into(),
        (serde_json::Value::Array(values), _) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(",")),
        _ => value.to_string(),
    }
}

fn names() -> String {
    stage::STAGES.iter().map(|s| s.name).collect::<Vec<_>>().join(", ")
}

impl Step {
    /// The file that it reads, relative to the recipe, where it reads one.
    pub fn file(&self) -> Option<&str> {
        let path = self.stage.params.iter().find(|p| p.kind == Kind::File).map(|p| self.settings.word(p.name));
        path.filter(|path| !path.is_empty())
    }

    /// As a table of a recipe, with every setting spelled out.
    fn describe(&self) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        object.insert("kind".into(), self.stage.name.into());
        if let Some(seed) = self.seed {
            object.insert("seed".into(), seed.into());
        }
        for (name, value) in self.settings.iter() {
            let value = match value {
                Value::Number(v) => serde_json::json!(v),
                Value::Integer(v) => serde_json::json!(v),
                Value::Word(v) => serde_json::json!(v),
                Value::Switch(v) => serde_json::json!(v),
                Value::List(v) => serde_json::json!(v),
            };
            object.insert(name.into(), value);
        }
        if self.stage.name == stage::biomes::STAGE.name {
            object.insert("biome".into(), stage::biomes::describe(&self.settings));
        }
        if !self.with.is_empty() {
            let nested = self.with.iter().map(|nested| {
                let mut value = nested.step.describe();
                value["every"] = nested.every.into();
                value
            });
            object.insert("with".into(), nested.collect());
        }
        object.into()
    }

    fn parse(value: &serde_json::Value, place: &str) -> Result<Self> {
        let table = Table::new(place, value)?;
        let Some(kind) = table.text("kind")? else {
            return Err(Error::Param(format!("{place}: kind is missing: one of {}", names())));
        };
        let stage = stage::find(kind).map_err(|e| Error::Param(format!("{place}: kind = {e}")))?;
        let mut given = vec![];
        let mut with = vec![];
        if let Some(value) = table.get("with") {
            let Some(nested) = value.as_array() else {
                return Err(Error::Param(format!("{place}: with: write each stage between the steps as [[stage.with]]")));
            };
            for (j, value) in nested.iter().enumerate() {
                let place = format!("{place}, with {}", j + 1);
                let every = Table::new(&place, value)?.integer("every", 1, EVERY_MAX)?;
                let every = every.ok_or_else(|| Error::Param(format!("{place}: every is missing: after how many steps")))? as u32;
                let mut value = value.clone();
                value.as_object_mut().map(|object| object.shift_remove("every"));
                let step = Step::parse(&value, &place)?;
                if !step.with.is_empty() {
                    return Err(Error::Param(format!("{place}: a stage between the steps of another has none between its own")));
                }
                with.push(Nested { every, step });
            }
        }
        for (key, value) in table.object.iter().filter(|(k, _)| !matches!(k.as_str(), "kind" | "seed" | "with")) {
            let value = match value {
                serde_json::Value::Bool(v) => Value::Switch(*v),
                serde_json::Value::String(v) => Value::Word(v.clone()),
                serde_json::Value::Number(v) => match (v.as_i64(), v.as_f64()) {
                    (Some(v), _) => Value::Integer(v),
                    (_, v) => Value::Number(v.unwrap_or(f64::NAN)),
                },
                serde_json::Value::Array(v) => Value::List(v.clone()),
                other => match other.get(NOT_FINITE).and_then(|v| v.as_str()?.parse().ok()) {
                    Some(v) => Value::Number(v),
                    None => {
                        let list = stage.params.iter().any(|p| p.name == key && matches!(p.kind, Kind::List(_)));
                        let wanted =
                            if list { format!("write each as [[stage.{key}]]") } else { "expected a number or a word".into() };
                        return Err(Error::Param(format!("{place}, {kind}: {key} = {other}: {wanted}")));
                    }
                },
            };
            given.push((key.clone(), value));
        }
        let settings = Settings::new(stage.params, &given).map_err(|e| Error::Param(format!("{place}, {kind}: {e}")))?;
        Ok(Self { stage, settings, seed: table.seed()?, with })
    }
}

impl Output {
    /// Heights and every data map as GeoTIFF, and a picture.
    pub fn standard() -> Self {
        Self { maps: vec!["height".into()], format: "tif".into(), preview: true, sea_level_m: None, colour: Colour::Height }
    }

    fn parse(value: Option<&serde_json::Value>) -> Result<Self> {
        let mut output = Self::standard();
        let Some(value) = value else { return Ok(output) };
        let table = Table::new("output", value)?;
        table.known(&["maps", "format", "preview", "sea_level_m", "colour"])?;
        if let Some(v) = table.get("maps") {
            let words = v.as_array().map(|a| a.iter().map(|v| v.as_str().map(String::from)).collect::<Option<Vec<_>>>());
            output.maps = words
                .flatten()
                .ok_or_else(|| Error::Param(format!("output: maps = {v}: expected names, such as [\"height\", \"flow\"]")))?;
        }
        if let Some(format) = table.text("format")? {
            // The word becomes part of a path, so it is taken from a list.
            let formats = ["png", "tif", "exr", "npy", "r16", "r32"];
            if !formats.contains(&format) {
                return Err(Error::Param(format!("output: format = {}", unknown("output format", format, formats.into_iter()))));
            }
            output.format = format.into();
        }
        if let Some(v) = table.get("preview") {
            output.preview = v.as_bool().ok_or_else(|| Error::Param(format!("output: preview = {v}: allowed true, false")))?;
        }
        if let Some(name) = table.text("colour")? {
            let colours = Colour::ALL;
            output.colour = colours.into_iter().find(|c| c.name() == name).ok_or_else(|| {
                Error::Param(format!("output: colour = {}", unknown("colour", name, colours.into_iter().map(Colour::name))))
            })?;
        }
        output.sea_level_m = table.number("sea_level_m", -1e6, 1e6)?;
        Ok(output)
    }
}

/// A table of a recipe, with the place to name in errors.
pub(crate) struct Table<'a> {
    place: String,
    object: &'a serde_json::Map<String, serde_json::Value>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(place: &str, value: &'a serde_json::Value) -> Result<Self> {
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        match value.as_object() {
            Some(object) => Ok(Self { place, object }),
            None => Err(Error::Param(format!("{place}{}: expected a table of keys and values", shown(value)))),
        }
    }

    pub(crate) fn known(&self, keys: &[&str]) -> Result<()> {
        match self.object.keys().find(|k| !keys.contains(&k.as_str())) {
            None => Ok(()),
            Some(key) => Err(Error::Param(format!("{}{}", self.place, unknown("key", key, keys.iter().copied())))),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a serde_json::Value> {
        self.object.get(key)
    }

    fn wrong<T>(&self, key: &str, value: &serde_json::Value, allowed: String) -> Result<T> {
        Err(Error::Param(format!("{}{key} = {}: allowed {allowed}", self.place, shown(value))))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(serde_json::Value::String(v)) => Ok(Some(v)),
            Some(v) => self.wrong(key, v, "text in quotes".into()),
        }
    }

    pub(crate) fn integer(&self, key: &str, min: i64, max: i64) -> Result<Option<i64>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => match v.as_i64() {
                Some(i) if (min..=max).contains(&i) => Ok(Some(i)),
                _ => self.wrong(key, v, if min == max { format!("{min}") } else { format!("a whole number, {min} to {max}") }),
            },
        }
    }

    pub(crate) fn number(&self, key: &str, min: f64, max: f64) -> Result<Option<f64>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => match v.as_f64() {
                Some(n) if (min..=max).contains(&n) => Ok(Some(n)),
                _ => self.wrong(key, v, format!("{min} to {max}")),
            },
        }
    }

    pub(crate) fn pair(&self, key: &str) -> Result<Option<(f64, f64)>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => match v.as_array().map(|a| a.iter().map(|v| v.as_f64()).collect::<Vec<_>>()).as_deref() {
                Some([Some(a), Some(b)]) if a < b => Ok(Some((*a, *b))),
                _ => self.wrong(key, v, "two numbers, the lower first, such as [0, 1200]".into()),
            },
        }
    }

    /// A seed: any whole number of 64 bits; TOML has no larger ones than 2⁶³ − 1, so a text is taken as well.
    fn seed(&self) -> Result<Option<u64>> {
        match self.get("seed") {
            None => Ok(None),
            Some(v) => match v.as_u64().or_else(|| v.as_str().and_then(|s| s.parse().ok())) {
                Some(seed) => Ok(Some(seed)),
                None => self.wrong(
                    "seed",
                    v,
                    "a whole number, 0 to 18446744073709551615 (in quotes above 9223372036854775807)".into(),
                ),
            },
        }
    }
}
