//! The table `[output]` of a recipe: one line for each key.

use super::edit::{parted, written};
use crate::engine::Engine;
use crate::error::{Invalid, Result};
use crate::field::FIELDS;
use crate::format::MapFormat;
use crate::keys::{self, Key, Kind, Own, Told, Words};
use crate::table::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// File extensions of maps. The word becomes part of a path, so it is taken from a list.
pub(super) fn map_formats() -> Vec<&'static str> {
    MapFormat::names(MapFormat::is_of_recipes)
}

/// What a run leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The maps to write, by the names of their [`Field`](crate::Field)s.
    pub maps: Vec<String>,
    /// File extension of the maps: `png`, `tif`, `exr`, `npy`, `r16`, `r32` or `asc`.
    pub format: String,
    /// File extensions of maps that have another one, by their names.
    pub formats: BTreeMap<String, String>,
    /// The program whose files are added, in a folder of its name.
    pub program: Option<Engine>,
    /// Whether to write the shaded picture.
    pub preview: bool,
    /// Sea level in metres, for the picture.
    pub sea_level_m: Option<f64>,
    /// What the picture's colours show.
    pub colour: Colour,
    /// Heights in metres that 0 and 65535 stand for in files of 16 bits, and the ends of the
    /// picture's colours. Without it, these are the lowest and the highest of the map, or the range
    /// that the input had.
    pub range_m: Option<(f64, f64)>,
}

/// What the colours of a picture show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The height, as on printed maps.
    #[default]
    Height,
    /// The ground, as from the air: grass, sand, rock and water.
    Ground,
    /// The biomes, mixed by their weights.
    Biomes,
}

impl Colour {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Height, Self::Ground, Self::Biomes];

    /// Its name in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Height => "height",
            Self::Ground => "ground",
            Self::Biomes => "biomes",
        }
    }

    /// The maps besides the height that the picture is drawn from, where a run makes them.
    pub fn maps(self) -> &'static [&'static str] {
        match self {
            Self::Height => &[],
            Self::Ground => &["flow", "erosion", "deposition", "sediment", "beach"],
            Self::Biomes => &["biome_colour"],
        }
    }
}

/// The keys of the table. Formats of single maps stand behind the maps.
static KEYS: [Key<Output>; 8] = {
    use Told::{Always, Changed};
    [
        Key::new("maps", Kind::Own(MAPS), Always, "The maps to write, by name."),
        Key::new("format", Kind::Word(FORMAT), Always, "The format of maps."),
        Key::new(
            "preview",
            Kind::Switch(|o| &mut o.preview),
            Always,
            "Whether there is a picture.",
        ),
        Key::new("colour", Kind::Word(COLOUR), Always, "What the colours of the picture show."),
        Key::new("formats", Kind::Own(FORMATS), Changed, "Formats of single maps, by name."),
        Key::new(
            "program",
            Kind::Word(PROGRAM),
            Changed,
            "Adds files as a program takes them, in a folder of its name.",
        ),
        Key::new(
            "sea_level_m",
            Kind::Maybe([-1e6, 1e6], |o| &mut o.sea_level_m),
            Changed,
            "Height of the sea in the picture, metres; without it there is none.",
        ),
        Key::new(
            "range_m",
            Kind::Range(|o| &mut o.range_m),
            Changed,
            "Heights in metres that 0 and 65535 stand for in files of 16 bits, and the ends of the \
             picture's colours; without it, those of the map or of the input.",
        ),
    ]
};

const MAPS: Own<Output> = Own {
    read: |table, output| {
        let Some(given) = table.get("maps") else { return Ok(()) };
        let name = |value: &Value| value.as_str().map(String::from);
        let names = given.as_array().and_then(|names| names.iter().map(name).collect());
        output.maps = names.ok_or_else(|| {
            let message =
                format!("output: maps = {given}: expected names, such as [\"height\", \"flow\"]");
            Invalid::of("maps", given, "a list of names").saying(message)
        })?;
        Ok(())
    },
    value: |output| json!(output.maps),
    schema: || json!({ "type": "array", "items": { "enum": names() }, "uniqueItems": true }),
    is_list: true,
};

/// Reads the formats of single maps.
fn read_formats(formats: &Table, output: &mut Output) -> Result<()> {
    // Formats come behind the maps in KEYS, so the maps of the table have been read.
    formats.known(&output.maps.iter().map(String::as_str).collect::<Vec<_>>())?;
    for name in &output.maps {
        if let Some(format) = formats.text(name)? {
            let known = map_formats();
            if !known.contains(&format) {
                return Err(formats.unlisted(name, "output format", format, known.into_iter()));
            }
            output.formats.insert(name.clone(), format.into());
        }
    }
    Ok(())
}

const FORMATS: Own<Output> = Own {
    read: |table, output| {
        let Some(formats) = table.table("formats")? else { return Ok(()) };
        read_formats(&formats, output).map_err(|e| e.inside("", "/formats"))
    },
    value: |output| json!(output.formats),
    schema: || {
        let formats = json!({ "enum": map_formats() });
        json!({ "type": "object", "propertyNames": { "enum": names() },
            "additionalProperties": formats })
    },
    is_list: false,
};

const FORMAT: Words<Output> = Words {
    what: "output format",
    all: map_formats,
    get: |output| vec![output.format.clone()],
    set: |output, words| words.iter().for_each(|word| output.format = map_formats()[*word].into()),
};

const PROGRAM: Words<Output> = Words {
    what: "program",
    all: Engine::names,
    get: |output| output.program.iter().map(|program| program.name().into()).collect(),
    set: |output, words| output.program = words.first().map(|word| Engine::ALL[*word]),
};

const COLOUR: Words<Output> = Words {
    what: "colour",
    all: || Colour::ALL.map(Colour::name).to_vec(),
    get: |output| vec![output.colour.name().into()],
    set: |output, words| words.iter().for_each(|word| output.colour = Colour::ALL[*word]),
};

/// The names of all maps.
fn names() -> Vec<&'static str> {
    FIELDS.iter().map(|field| field.name).collect()
}

/// The height as GeoTIFF, and a picture.
impl Default for Output {
    fn default() -> Self {
        Self {
            maps: vec!["height".into()],
            format: "tif".into(),
            formats: BTreeMap::new(),
            program: None,
            preview: true,
            sea_level_m: None,
            colour: Colour::Height,
            range_m: None,
        }
    }
}

impl Output {
    /// The name of a map's file.
    pub fn file_of(&self, map: &str) -> String {
        format!("{map}.{}", self.formats.get(map).unwrap_or(&self.format))
    }

    /// Reads the table.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown key or a value that is not allowed.
    pub(super) fn parse(value: Option<&Value>) -> Result<Self> {
        let mut output = Self::default();
        if let Some(value) = value {
            keys::read(&KEYS, &Table::new("output", value)?, &mut output)?;
        }
        Ok(output)
    }

    /// As a table of a recipe.
    pub(super) fn describe(&self) -> Value {
        keys::describe(&KEYS, self, Self::default())
    }

    /// Applies `KEY=VALUE`. Maps are parted by commas, and the ends of a range by a space or a
    /// comma.
    pub(super) fn set(&mut self, text: &str) -> Result<()> {
        let (key, value) = parted(text, "format=png")?;
        let given = written(value)?.unwrap_or_else(|| keys::typed(&KEYS, key, value));
        // The reader of recipes checks it, beside what is there.
        let mut described = self.describe();
        match key.split_once('.') {
            Some(("formats", map)) => described["formats"][map] = given,
            _ => described[key] = given,
        }
        *self = Self::parse(Some(&described))?;
        Ok(())
    }

    /// The JSON Schemas of its keys, by name.
    pub(super) fn schema() -> Value {
        keys::schema(&KEYS, Self::default())
    }
}
