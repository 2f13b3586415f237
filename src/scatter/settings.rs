//! Things on the land: the tables `[[scatter]]` of a recipe.

use super::{DISTANCES, Method, Shape};
use crate::error::{Error, Invalid, Result};
use crate::format::PointFormat;
use crate::materials;
use crate::params::unknown;
use crate::table::Table;
use serde_json::{Map as Object, Value, json};

/// The keys of a table.
const KEYS: [&str; 9] =
    ["name", "on", "biomes", "distance_m", "slope_deg", "in_water", "size", "shape", "formats"];
/// The maps of water that stands or runs.
pub(crate) const WET: [&str; 2] = ["water_depth", "river_width"];
/// Most tables of a recipe.
const TABLES_MAX: usize = 32;
/// Points of the lattice that stand for one thing: as many as a thinned lattice needs so that
/// hardly another thing has room.
const POINTS: f64 = 1.5;
/// Metres between things where nothing is said.
const USUAL_M: f64 = 8.0;
/// The highest frequency of the lattice.
const FREQUENCY_MAX: f64 = 1.0;
/// Allowed metres between things.
const METRES: [f64; 2] = [0.1, 1e5];
/// Allowed sizes.
const SIZES: [f64; 2] = [0.01, 100.0];

/// Things of one kind, such as spruces.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What they are called: the end of their files' names.
    pub name: String,
    /// Materials of [`materials::NAMES`], and the share of the places that ground all of each
    /// keeps; none: all ground keeps all.
    pub(crate) on: Vec<(usize, f64)>,
    /// The share of the places that biomes keep; 1 where nothing is said.
    pub(crate) biomes: Vec<(String, f64)>,
    /// Metres between any two, at least; none: 8, or a cell where that is longer.
    distance_m: Option<f64>,
    /// The lowest and the highest slope, in degrees.
    pub(crate) slope_deg: [f64; 2],
    /// Whether they stand in rivers, lakes and the sea, too.
    pub(crate) in_water: bool,
    /// The smallest and the largest factor of their size.
    pub(crate) size: [f64; 2],
    /// What stands for each in a file of meshes.
    shape: Shape,
    formats: Vec<PointFormat>,
}

impl Settings {
    /// Reads the tables.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown key, a value that is not allowed, and a name that
    /// two of them have.
    pub(crate) fn parse_all(value: &Value) -> Result<Vec<Self>> {
        let list = value.as_array().filter(|list| list.len() <= TABLES_MAX);
        let Some(list) = list else {
            let allowed = format!("at most {TABLES_MAX} tables [[scatter]]");
            let mut invalid = Invalid::value("scatter", crate::table::shown(value), allowed);
            // The caller adds the pointer of the list.
            invalid.pointer = None;
            return Err(invalid.into());
        };
        let mut all: Vec<Self> = vec![];
        for (i, value) in list.iter().enumerate() {
            let read = Table::new(&format!("scatter {}", i + 1), value)
                .and_then(|table| Self::parse(&table))
                .map_err(|e| e.inside("", &format!("/{i}")))?;
            // Some systems have one file for both.
            if all.iter().any(|known| known.name.eq_ignore_ascii_case(&read.name)) {
                let what = format!(
                    "{:?}: there are two called so; give each table [[scatter]] a name of its own",
                    read.name
                );
                let e = Error::from(Invalid::from(what).about("name"));
                return Err(e.inside("", &format!("/{i}")));
            }
            all.push(read);
        }
        Ok(all)
    }

    fn parse(table: &Table) -> Result<Self> {
        table.known(&KEYS)?;
        let plain = |name: &&str| {
            let word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            (1..=64).contains(&name.len()) && name.chars().all(word)
        };
        let given = table.text("name")?;
        let Some(name) = given.filter(plain) else {
            let allowed = "letters, digits, - and _, at most 64";
            return Err(table.wrong("name", &json!(given), allowed));
        };
        let material = |name: &String, share| match materials::NAMES.iter().position(|n| n == name)
        {
            Some(at) => Ok((at, share)),
            None => {
                let known = materials::NAMES.iter().copied();
                Err(Error::from(unknown("material", name, known).about(name)))
            }
        };
        let mut on = shares(table, "on", material)?;
        on.sort_by_key(|(at, _)| *at);
        let biomes = shares(table, "biomes", |name, share| Ok((name.clone(), share)))?;
        let [least, most] = METRES;
        Ok(Self {
            name: name.into(),
            on,
            biomes,
            distance_m: table.number("distance_m", least, most)?,
            slope_deg: range(table, "slope_deg", [0.0, 90.0])?.unwrap_or([0.0, 90.0]),
            in_water: table.switch("in_water")?.unwrap_or(false),
            size: range(table, "size", SIZES)?.unwrap_or([0.8, 1.25]),
            shape: match table.text("shape")? {
                None => Shape::Tree,
                Some(given) => Shape::of(given).ok_or_else(|| {
                    table.unlisted("shape", "shape", given, Shape::ALL.iter().map(|s| s.name()))
                })?,
            },
            formats: formats(table)?,
        })
    }

    /// The table with every key.
    pub(crate) fn describe(&self) -> Value {
        let shares = |all: Vec<(&str, f64)>| {
            Value::Object(
                all.into_iter().map(|(name, share)| (name.into(), share.into())).collect(),
            )
        };
        let mut table = Object::new();
        table.insert("name".into(), self.name.clone().into());
        if !self.on.is_empty() {
            let on = self.on.iter().map(|(at, share)| (materials::NAMES[*at], *share));
            table.insert("on".into(), shares(on.collect()));
        }
        if !self.biomes.is_empty() {
            let biomes = self.biomes.iter().map(|(name, share)| (name.as_str(), *share));
            table.insert("biomes".into(), shares(biomes.collect()));
        }
        if let Some(distance_m) = self.distance_m {
            table.insert("distance_m".into(), distance_m.into());
        }
        table.insert("slope_deg".into(), json!(self.slope_deg));
        table.insert("in_water".into(), self.in_water.into());
        table.insert("size".into(), json!(self.size));
        table.insert("shape".into(), self.shape.name().into());
        let formats: Vec<&str> = self.formats.iter().map(|format| format.extension()).collect();
        table.insert("formats".into(), json!(formats));
        table.into()
    }

    /// The JSON Schema of the tables.
    pub(crate) fn schema() -> Value {
        let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
        let pair = |[low, high]: [f64; 2], about: &str| {
            json!({ "type": "array", "minItems": 2, "maxItems": 2, "description": about,
                "items": { "type": "number", "minimum": low, "maximum": high } })
        };
        let on: Object<String, Value> =
            materials::NAMES.iter().map(|name| (name.to_string(), share.clone())).collect();
        let formats: Vec<&str> = PointFormat::ALL.iter().map(|f| f.extension()).collect();
        let shapes: Vec<&str> = Shape::ALL.iter().map(|shape| shape.name()).collect();
        let [least, most] = METRES;
        json!({
            "type": "array", "maxItems": TABLES_MAX,
            "items": {
                "type": "object", "additionalProperties": false, "required": ["name"],
                "properties": {
                    "name": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
                        "description": "What they are called: the end of their files' names." },
                    "on": { "type": "object", "properties": on, "additionalProperties": false,
                        "description": "The share of the places that ground all of a material \
                            keeps; without it, all ground keeps all." },
                    "biomes": { "type": "object", "additionalProperties": share,
                        "propertyNames": { "type": "string" },
                        "description": "The share of the places that a biome keeps." },
                    "distance_m": { "type": "number", "minimum": least, "maximum": most,
                        "description": "Metres between any two, at least; without it 8, or a cell \
                            where that is longer." },
                    "slope_deg": pair([0.0, 90.0], "The lowest and the highest slope in degrees."),
                    "in_water": { "type": "boolean", "default": false,
                        "description": "Whether they stand in rivers, lakes and the sea, too." },
                    "size": pair(SIZES, "The smallest and the largest factor of their size."),
                    "shape": { "enum": shapes, "default": Shape::Tree.name(),
                        "description": "What stands for each in a file of meshes." },
                    "formats": { "type": "array", "minItems": 1, "uniqueItems": true,
                        "items": { "enum": formats }, "description": "The formats of the files." },
                },
            },
        })
    }

    /// The names of its files.
    #[cfg(feature = "io")]
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, PointFormat)> + '_ {
        let name = |format: &PointFormat| format!("scatter_{}.{}", self.name, format.extension());
        self.formats.iter().map(move |format| (name(format), *format))
    }

    /// The maps besides the height that its places follow from, in a recipe with water or none.
    pub(crate) fn maps(&self, has_water: bool) -> impl Iterator<Item = &str> {
        let slope = (self.slope_deg != [0.0, 90.0]).then_some("slope");
        let biome = (!self.biomes.is_empty()).then_some("biome");
        let on = self.on.iter().map(|(at, _)| materials::NAMES[*at]);
        let wet = if has_water && !self.in_water { &WET[..] } else { &[] };
        slope.into_iter().chain(biome).chain(on).chain(wet.iter().copied())
    }

    /// Refuses materials and biomes that the recipe has not.
    ///
    /// # Errors
    /// [`crate::Error::Param`] with the names that it has.
    pub(crate) fn check(&self, has_materials: bool, biomes: &[String]) -> Result<()> {
        if !self.on.is_empty() && !has_materials {
            let what = format!(
                "scatter {}: on names materials, and the recipe has no table [materials]; add one, \
                 which may be empty",
                self.name
            );
            return Err(Invalid::from(what).about("on").into());
        }
        match self.biomes.iter().find(|(name, _)| !biomes.contains(name)) {
            Some((name, _)) => {
                let invalid = unknown("biome", name, biomes.iter().map(String::as_str));
                Err(invalid.about("biomes").inside("scatter", "").into())
            }
            None => Ok(()),
        }
    }

    /// Refuses a distance that does not fit the cells of a land's finest level.
    ///
    /// # Errors
    /// [`crate::Error::Param`].
    pub(crate) fn check_distance(&self, spacing_m: f64) -> Result<()> {
        let cells = self.distance(spacing_m) / spacing_m;
        let [least, most] = DISTANCES;
        if (least..=most).contains(&cells) {
            return Ok(());
        }
        let allowed = format!("{} to {}", least * spacing_m, most * spacing_m);
        let given = format!("{} m on cells of {spacing_m} m", self.distance(spacing_m));
        let invalid = Invalid::value("distance_m", given, allowed);
        let message = format!("scatter {}: {}", self.name, invalid.message);
        Err(invalid.saying(message).into())
    }

    /// Metres between any two on cells of this size.
    pub(crate) fn distance(&self, spacing_m: f64) -> f64 {
        self.distance_m.unwrap_or(USUAL_M.max(spacing_m))
    }

    /// A number that follows from the name alone, so that other tables do not move these things.
    pub(crate) fn mark(&self) -> u32 {
        let digest = blake3::hash(self.name.as_bytes());
        u32::from_le_bytes(std::array::from_fn(|i| digest.as_bytes()[i]))
    }

    /// Points of a lattice, so that windows side by side have each of them once. Lattices of
    /// different tables have different frequencies, else some points of both would coincide.
    pub(crate) fn method(&self, spacing_m: f64) -> Method {
        // On a coarse level things lie as near to each other as its cells allow.
        let distance = (self.distance(spacing_m) / spacing_m).max(DISTANCES[0]);
        let finest = (POINTS / distance).min(FREQUENCY_MAX);
        let less = f64::from(self.mark()) / 4294967296.0 / 8.0;
        Method::Lattice { frequency: finest * (1.0 - less), distance }
    }

    /// What stands for each thing in a file of meshes.
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

/// The shares that a table within has, by name.
fn shares<T>(
    table: &Table,
    key: &str,
    named: impl Fn(&String, f64) -> Result<(T, f64)>,
) -> Result<Vec<(T, f64)>> {
    let Some(all) = table.table(key)? else { return Ok(vec![]) };
    let read =
        |(name, _): (&String, &Value)| named(name, all.number(name, 0.0, 1.0)?.unwrap_or(1.0));
    let read: Result<Vec<_>> = all.entries().map(read).collect();
    read.map_err(|e| e.inside("", &format!("/{key}")))
}

/// Two numbers in order.
fn range(table: &Table, key: &str, [low, high]: [f64; 2]) -> Result<Option<[f64; 2]>> {
    let Some(given) = table.get(key) else { return Ok(None) };
    let numbers: Option<Vec<f64>> =
        given.as_array().and_then(|all| all.iter().map(Value::as_f64).collect());
    match numbers.as_deref() {
        Some([from, to]) if low <= *from && from <= to && *to <= high => Ok(Some([*from, *to])),
        _ => {
            let allowed = format!("two numbers, {low} to {high}, the lower first");
            Err(table.wrong(key, given, allowed))
        }
    }
}

/// The formats of a table, each once.
fn formats(table: &Table) -> Result<Vec<PointFormat>> {
    let Some(given) = table.get("formats") else { return Ok(vec![PointFormat::Csv]) };
    let named = |word: &Value| {
        PointFormat::ALL.into_iter().find(|format| word.as_str() == Some(format.extension()))
    };
    let all: Option<Vec<PointFormat>> =
        given.as_array().and_then(|all| all.iter().map(named).collect());
    let once = |all: &Vec<PointFormat>| (1..all.len()).all(|i| !all[..i].contains(&all[i]));
    all.filter(|all| !all.is_empty() && once(all)).ok_or_else(|| {
        let known = PointFormat::ALL.map(|format| format.extension()).join(", ");
        table.wrong("formats", given, format!("a list of {known}, each at most once"))
    })
}
