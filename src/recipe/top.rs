//! The keys at the top of a recipe.

use super::edit::{CELL_M, cell_of, written};
use super::parse::{origin, plain, stages};
use super::{Input, LAND_MAX, Levels, MARGIN_MAX, Output, Recipe, STAGES_MAX, Step, levels, rules};
use crate::error::{Invalid, Result};
use crate::keys::{self, Key, Kind, Own, Told};
use crate::materials;
use crate::params::unknown;
use crate::scatter;
use crate::site::Window;
use crate::stage::{biomes, flat, strokes};
use crate::table::{Table, whole};
use crate::water;
use serde_json::{Value, json};
use std::path::Path;

#[cfg(feature = "dungeon")]
use crate::dungeon::placed::Placing;

/// What a recipe says, key by key. What follows from several keys is checked when it becomes a
/// [`Recipe`].
#[derive(Clone, Default)]
pub(super) struct Top {
    schema: Option<u32>,
    pub name: Option<String>,
    pub seed: u64,
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub spacing_m: Option<f64>,
    pub extent_m: Option<f64>,
    pub origin: [i64; 2],
    pub margin: Option<u32>,
    pub endless: bool,
    pub input: Option<String>,
    pub range_m: Option<(f64, f64)>,
    pub nodata_m: Option<f64>,
    pub band: Option<u32>,
    pub levels: Option<Levels>,
    pub scale: u32,
    pub stages: Vec<Step>,
    #[cfg(feature = "dungeon")]
    pub dungeons: Option<Placing>,
    pub water: Option<water::Settings>,
    pub materials: Option<materials::Settings>,
    pub scatter: Vec<scatter::Settings>,
    pub output: Output,
}

/// Longest side of a land.
const EXTENT_MAX_M: f64 = CELL_M[1] * LAND_MAX as f64;

/// The keys, in the order in which a recipe is written.
static KEYS: [Key<Top>; 22] = {
    use Kind::{Maybe, Own, Range, Switch, Whole};
    use Told::Always;
    [
        Key::new("schema", Own(SCHEMA), Always, "The edition of the format."),
        Key::new("name", Own(NAME), Always, "What the land is called."),
        Key::new("seed", Own(SEED), Always, "The number from which all chance follows."),
        Key::new(
            "width",
            Whole([1, LAND_MAX], |t| &mut t.width),
            Always,
            "Cells from west to east.",
        ),
        Key::new(
            "height",
            Whole([1, LAND_MAX], |t| &mut t.height),
            Always,
            "Cells from north to south.",
        ),
        Key::new("spacing_m", Maybe(CELL_M, |t| &mut t.spacing_m), Always, "Metres a cell."),
        Key::new(
            "extent_m",
            Maybe([1e-3, EXTENT_MAX_M], |t| &mut t.extent_m),
            Told::Changed,
            "Metres from the first to the last vertex of the longer side, in place of spacing_m.",
        ),
        Key::new("origin", Own(ORIGIN), Always, "World coordinates of the north-west cell."),
        Key::new(
            "margin_cells",
            Whole([0, MARGIN_MAX as u32], |t| &mut t.margin),
            Always,
            "Cells round the land that are made with it and cut off.",
        ),
        Key::new(
            "endless",
            Switch(|t| &mut t.endless),
            Always,
            "Whether the land continues beyond its window, without a border: every two windows of \
             it agree.",
        ),
        Key::new("input", Own(INPUT), Always, "The file of the heights that it begins with."),
        Key::new(
            "range_m",
            Range(|t| &mut t.range_m),
            Always,
            "Heights in metres of the lowest and the highest value of an input of integers, or of \
             the values 0 and 1.",
        ),
        Key::new(
            "nodata_m",
            Maybe([-1e6, 1e6], |t| &mut t.nodata_m),
            Always,
            "Height of the input's cells without one; without it they lie outside the land.",
        ),
        Key::new(
            "band",
            Whole([1, 65535], |t| &mut t.band),
            Always,
            "The band of a TIFF that holds the heights.",
        ),
        Key::new("levels", Own(LEVELS), Always, "Erode from coarse to fine."),
        Key::new("scale", Own(SCALE), Always, "This many times the cells a side."),
        Key::new("stage", Own(STAGE), Always, "What forms the land, in order."),
        Key::new("dungeons", Own(DUNGEONS), Always, "Dungeons on the land: docs/dungeons.md."),
        Key::new("water", Own(WATER), Always, "Rivers, lakes and the sea: docs/water.md."),
        Key::new(
            "materials",
            Own(MATERIALS),
            Always,
            "What the ground is made of: docs/materials.md.",
        ),
        Key::new("scatter", Own(SCATTER), Told::Changed, "Trees and rocks: docs/scatter.md."),
        Key::new("output", Own(OUTPUT), Always, "The maps to write, and how."),
    ]
};

const SCHEMA: Own<Top> = Own {
    read: |table, t| {
        if table.integer("schema", 2, 2)?.is_none() {
            let missing = Invalid::from("schema is missing: put schema = 2 on top");
            return Err(missing.about("schema").into());
        }
        t.schema = Some(2);
        Ok(())
    },
    value: |_| 2.into(),
    schema: || json!({ "const": 2 }),
    is_list: false,
};

const NAME: Own<Top> = Own {
    read: |table, t| {
        t.name = table.text("name")?.map(plain).transpose()?;
        Ok(())
    },
    value: |t| t.name.as_deref().into(),
    schema: || json!({ "type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" }),
    is_list: false,
};

const SEED: Own<Top> = Own {
    read: |table, t| {
        t.seed = table.seed()?.unwrap_or(0);
        Ok(())
    },
    value: |t| t.seed.into(),
    schema: || json!({ "$ref": "#/$defs/seed" }),
    is_list: false,
};

const ORIGIN: Own<Top> = Own {
    read: |table, t| {
        t.origin = origin(table)?;
        Ok(())
    },
    value: |t| json!(t.origin),
    schema: || {
        let far = 1i64 << 62;
        let whole = json!({ "type": "integer", "minimum": -far, "maximum": far });
        json!({ "type": "array", "items": whole, "minItems": 2, "maxItems": 2 })
    },
    is_list: true,
};

const INPUT: Own<Top> = Own {
    read: |table, t| {
        t.input = table.text("input")?.map(Into::into);
        Ok(())
    },
    // A path says nothing elsewhere: what is read has a digest of its own.
    value: |_| Value::Null,
    schema: || json!({ "type": "string" }),
    is_list: false,
};

const LEVELS: Own<Top> = Own {
    read: |table, t| {
        t.levels = table.get("levels").map(Levels::parse).transpose()?;
        Ok(())
    },
    value: |t| t.levels.as_ref().map_or(Value::Null, Levels::describe),
    schema: || {
        json!({ "anyOf": [Levels::count(), {
            "type": "object",
            "properties": Levels::schema(),
            "additionalProperties": false,
            "not": { "properties": { "count": { "type": "integer" } },
                "required": ["count", "max"] },
        }] })
    },
    is_list: false,
};

const SCALE: Own<Top> = Own {
    read: |table, t| {
        t.scale = table.integer("scale", 1, levels::SCALE_MAX.into())?.unwrap_or(1) as u32;
        Ok(())
    },
    value: |t| t.scale.into(),
    schema: || {
        let all = (0..).map(|bits| 1u32 << bits).take_while(|scale| *scale <= levels::SCALE_MAX);
        json!({ "enum": all.collect::<Vec<_>>() })
    },
    is_list: false,
};

const STAGE: Own<Top> = Own {
    read: |table, t| {
        t.stages = stages(table)?;
        Ok(())
    },
    value: |t| t.stages.iter().map(Step::describe).collect(),
    schema: || json!({ "type": "array", "items": { "$ref": "#/$defs/stage" }, "maxItems": STAGES_MAX }),
    is_list: false,
};

#[cfg(feature = "dungeon")]
const DUNGEONS: Own<Top> = Own {
    read: |table, t| {
        let placing = table.get("dungeons").map(super::parse::dungeons::placing).transpose();
        t.dungeons = placing.map_err(|e| e.inside("", "/dungeons"))?;
        Ok(())
    },
    value: |t| t.dungeons.as_ref().map_or(Value::Null, super::describe::describe_placing),
    schema: rules::dungeons,
    is_list: false,
};

#[cfg(not(feature = "dungeon"))]
const DUNGEONS: Own<Top> = Own {
    read: |table, _| match table.get("dungeons") {
        None => Ok(()),
        Some(_) => {
            let message = "dungeons: this thalweg was built without its feature dungeon";
            Err(Invalid::from(message).about("dungeons").into())
        }
    },
    value: |_| Value::Null,
    schema: || json!({ "not": {} }),
    is_list: false,
};

const WATER: Own<Top> = Own {
    read: |table, t| {
        let water = table.get("water").map(water::Settings::parse).transpose();
        t.water = water.map_err(|e| e.inside("", "/water"))?;
        Ok(())
    },
    value: |t| t.water.as_ref().map_or(Value::Null, water::Settings::describe),
    schema: water::Settings::schema,
    is_list: false,
};

const MATERIALS: Own<Top> = Own {
    read: |table, t| {
        let materials = table.get("materials").map(materials::Settings::parse).transpose();
        t.materials = materials.map_err(|e| e.inside("", "/materials"))?;
        Ok(())
    },
    value: |t| t.materials.as_ref().map_or(Value::Null, materials::Settings::describe),
    schema: materials::Settings::schema,
    is_list: false,
};

const SCATTER: Own<Top> = Own {
    read: |table, t| {
        let given = table.get("scatter").map(scatter::Settings::parse_all).transpose();
        t.scatter = given.map_err(|e| e.inside("", "/scatter"))?.unwrap_or_default();
        Ok(())
    },
    value: |t| t.scatter.iter().map(scatter::Settings::describe).collect(),
    schema: scatter::Settings::schema,
    is_list: false,
};

const OUTPUT: Own<Top> = Own {
    read: |table, t| {
        let output = Output::parse(table.get("output"));
        t.output = output.map_err(|e| e.inside("", "/output"))?;
        Ok(())
    },
    value: |t| t.output.describe(),
    schema: || {
        json!({
            "type": "object",
            "properties": Output::schema(),
            "additionalProperties": false,
            "allOf": rules::rules_of_outputs(),
        })
    },
    is_list: false,
};

impl Top {
    /// Reads a recipe's table.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown key or a value that is not allowed.
    pub fn read(table: &Table) -> Result<Self> {
        let mut top = Self::default();
        keys::read(&KEYS, table, &mut top)?;
        Ok(top)
    }

    /// What a recipe says, but for the input's path.
    fn of(recipe: &Recipe) -> Self {
        let made = recipe.input.is_none();
        let (range_m, nodata_m, band) = match recipe.input {
            Some(Input::File { range_m, nodata_m, band, .. }) => (range_m, nodata_m, band),
            _ => (None, None, None),
        };
        Self {
            schema: Some(2),
            name: Some(recipe.name.clone()),
            seed: recipe.seed,
            width: made.then_some(recipe.window.width),
            height: made.then_some(recipe.window.height),
            spacing_m: recipe.spacing_m,
            extent_m: None,
            origin: recipe.window.origin,
            margin: Some(recipe.margin),
            endless: recipe.endless,
            input: None,
            range_m,
            nodata_m,
            band,
            levels: recipe.levels,
            scale: recipe.scale,
            stages: recipe.written().to_vec(),
            #[cfg(feature = "dungeon")]
            dungeons: recipe.dungeons.clone(),
            water: recipe.water.clone(),
            materials: recipe.materials.clone(),
            scatter: recipe.scatter.clone(),
            output: recipe.output.clone(),
        }
    }

    /// The JSON Schemas of the keys, by name.
    pub fn schema() -> Value {
        keys::schema(&KEYS, Self::default())
    }
}

impl Recipe {
    /// The recipe as JSON with every setting spelled out. Without an input it is a recipe again,
    /// for the same maps.
    pub fn describe(&self) -> Value {
        keys::describe(&KEYS, &Top::of(self), Top::default())
    }

    /// Sets one key to a value as a person types it.
    pub(super) fn set_top(&mut self, key: &str, value: &str) -> Result<()> {
        const SETTABLE: [&str; 10] = [
            "name",
            "seed",
            "width",
            "height",
            "spacing_m",
            "extent_m",
            "origin",
            "margin_cells",
            "endless",
            "levels",
        ];
        if !SETTABLE.contains(&key) {
            let unknown = unknown("key at the top of a recipe", key, SETTABLE.into_iter());
            let message = match keys::names(&KEYS).contains(&key) {
                true => format!(
                    "{key}: only the file of a recipe can set it; these can be set here: {}",
                    SETTABLE.join(", ")
                ),
                false => format!("{}; a stage's setting is STAGE.KEY=VALUE", unknown.message),
            };
            return Err(Invalid::of(key, value, SETTABLE.join(", ")).saying(message).into());
        }
        if self.input.is_some() && ["width", "height", "extent_m"].contains(&key) {
            let message = format!("{key}: a recipe with an input has the input's size");
            return Err(Invalid::of(key, value, "").saying(message).into());
        }
        let given = match (written(value)?, serde_json::from_str(value)) {
            (Some(given), _) => given,
            // A name may look like a number.
            (None, Ok(number)) if key != "name" => number,
            (None, _) => value.into(),
        };
        let top = Top::read(&Table::new("", &json!({ "schema": 2, key: given }))?)?;
        match key {
            "name" => self.name = top.name.unwrap_or_default(),
            "seed" => self.seed = top.seed,
            "width" => self.window.width = top.width.unwrap_or(1),
            "height" => self.window.height = top.height.unwrap_or(1),
            "spacing_m" => (self.spacing_m, self.extent_m) = (top.spacing_m, None),
            "extent_m" => self.extent_m = top.extent_m,
            "origin" => self.window.origin = top.origin,
            "margin_cells" => self.margin = top.margin.unwrap_or(0),
            "endless" => self.endless = top.endless,
            _ => self.levels = top.levels,
        }
        self.keep_extent()
    }

    pub(crate) fn from_value(value: &Value, folder: &Path, name: &str) -> Result<Self> {
        let table = Table::new("", value)?;
        if table.get("schema").and_then(whole) == Some(1) {
            let message = "schema = 1: this version reads schema 2, in which some keys and maps \
                           have other names: `thalweg upgrade FILE` rewrites a recipe";
            return Err(Invalid::of("schema", 1, "2").saying(message).into());
        }
        let top = Top::read(&table)?;
        let Top { width, height, range_m, nodata_m, band, mut stages, .. } = top;
        if stages.is_empty() && top.input.is_some() && top.water.is_some() {
            // The water of a map as it is: no stroke changes nothing.
            stages.push(Step::new(strokes::STAGE.name, &[])?);
        }
        // One of the two is enough to mean a land of its own: `size_of` then asks for the other.
        let sized = width.or(height).is_some();
        let on_level_ground = top.input.is_none()
            && sized
            && stages.first().is_some_and(|step| step.stage.name == biomes::STAGE.name);
        if on_level_ground {
            // Biomes may bring the heights of a land of their own. They have level ground to begin
            // with.
            stages.insert(0, Step::new(flat::STAGE.name, &[])?);
        }
        // An absolute path replaces the folder in this join.
        let file = top.input.map(|path| folder.join(path));
        let input = match (file, key_of_input(range_m, nodata_m, band)) {
            (Some(path), _) => Some(Input::File { path, range_m, nodata_m, band }),
            (None, Some(key)) => {
                let message = format!("{key}: only a recipe with an input has one");
                return Err(Invalid::from(message).about(key).into());
            }
            // A recipe that neither makes heights nor says where to find them is for those in
            // memory.
            (None, None) => {
                let changes = stages.first().is_some_and(|step| !step.makes_first());
                (changes && !sized).then_some(Input::Memory)
            }
        };
        let (width, height) = size_of(input.as_ref(), width, height)?;
        let spacing_m = spacing_of(input.as_ref(), [width, height], top.spacing_m, top.extent_m)?;
        let recipe = Self {
            name: top.name.map_or_else(|| plain(name), Ok)?,
            seed: top.seed,
            window: Window { origin: top.origin, width, height },
            spacing_m,
            extent_m: top.extent_m,
            input,
            margin: top.margin.unwrap_or(0),
            endless: top.endless,
            file: None,
            folder: folder.to_path_buf(),
            levels: top.levels,
            scale: top.scale,
            stages,
            on_level_ground,
            #[cfg(feature = "dungeon")]
            dungeons: top.dungeons,
            water: top.water,
            materials: top.materials,
            scatter: top.scatter,
            output: top.output,
        };
        recipe.check()?;
        Ok(recipe)
    }
}

/// Metres a cell, which a recipe gives, or by the land's extent.
fn spacing_of(
    input: Option<&Input>,
    size: [u32; 2],
    spacing_m: Option<f64>,
    extent_m: Option<f64>,
) -> Result<Option<f64>> {
    let wrong = |why: &str| Err(Invalid::from(format!("extent_m: {why}")).about("extent_m").into());
    match (spacing_m, extent_m) {
        (None, None) if input.is_none() => {
            let invalid = Invalid::from(
                "spacing_m is missing: metres a cell, 0.001 to 1000000; or extent_m, metres from \
                 the first to the last vertex of the longer side",
            );
            Err(invalid.about("spacing_m").into())
        }
        (Some(_), Some(_)) => wrong("the recipe has spacing_m too: leave out one of the two"),
        (None, Some(_)) if input.is_some() => {
            wrong("a recipe with an input has the input's size: give spacing_m")
        }
        (None, Some(extent_m)) => cell_of(extent_m, size).map(Some),
        (given, None) => Ok(given),
    }
}

/// The first key that is given and says how an input is read.
fn key_of_input(
    range_m: Option<(f64, f64)>,
    nodata_m: Option<f64>,
    band: Option<u32>,
) -> Option<&'static str> {
    let given = [
        ("range_m", range_m.is_some()),
        ("nodata_m", nodata_m.is_some()),
        ("band", band.is_some()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
}

/// The size of a land in cells: that which is given, or one cell until an input says it.
fn size_of(input: Option<&Input>, width: Option<u32>, height: Option<u32>) -> Result<(u32, u32)> {
    let wrong = |message: &str| Err(Invalid::from(message).about("width").into());
    match (input, width, height) {
        (None, Some(width), Some(height)) => Ok((width, height)),
        (None, ..) => wrong("width and height are missing (in cells), or an input"),
        (Some(_), None, None) => Ok((1, 1)),
        (Some(_), ..) => wrong("width, height: a recipe with an input has the input's size"),
    }
}

/// The names of the keys, in the order in which a recipe is written.
#[cfg(any(feature = "api", feature = "cli"))]
pub(crate) fn keys() -> Vec<&'static str> {
    keys::names(&KEYS)
}
