//! Recipes as text: TOML and JSON.

use super::{ByLevel, EVERY_MAX, Nested, Recipe, Step};
use crate::error::{Error, Invalid, Result};
use crate::params::{ParamKind, Settings, Value, unknown};
use crate::stage::{self, Stage};
use crate::table::{Table, not_finite, restore_not_finite, shown, whole};
use std::path::Path;
use std::str::FromStr;

/// Largest recipe file, in bytes.
const SIZE_MAX: u64 = 1 << 20;

/// Keys of a stage beside its parameters.
pub(super) const OWN_KEYS: [&str; 4] = ["kind", "seed", "interleave", "finest_only"];

/// Parses a recipe: JSON if it begins with a brace, else TOML. Paths in it are relative to the
/// working folder, and its name is `land` where it has none of its own.
impl FromStr for Recipe {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        // A text of TOML cannot begin with a brace.
        if start.starts_with('{') {
            Self::from_json(text, "", "land")
        } else {
            Self::from_toml(text, "", "land")
        }
    }
}

impl Recipe {
    /// Reads a recipe file: JSON if its name ends in `.json`, else TOML. Paths in it are relative
    /// to it.
    ///
    /// # Errors
    /// [`Error::Input`] for a file that cannot be read, [`Error::Limit`] for one over a mebibyte,
    /// [`Error::Param`] for what is not a recipe.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = Self::text_of(path)?;
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let recipe = if json {
            Self::from_json(&text, folder, &stem)
        } else {
            Self::from_toml(&text, folder, &stem)
        };
        match recipe {
            Ok(recipe) => Ok(Self { file: Some(path.into()), ..recipe }),
            Err(Error::Param(mut invalid)) => {
                invalid.file = Some(path.into());
                Err(Error::Param(invalid))
            }
            Err(other) => Err(other),
        }
    }

    /// The text of a recipe's file.
    ///
    /// # Errors
    /// [`Error::Input`] for a file that cannot be read or is no text, [`Error::Limit`] for one that
    /// is too large.
    pub fn text_of(path: impl AsRef<Path>) -> Result<String> {
        let path = path.as_ref();
        let meta = std::fs::metadata(path).map_err(|e| Error::input(path, e))?;
        // A pipe might never end.
        if !meta.is_file() {
            let what = if meta.is_dir() { "a folder" } else { "not a regular file" };
            return Err(Error::input(path, format!("this is {what}; give the path of a recipe")));
        }
        let size = meta.len();
        if size > SIZE_MAX {
            return Err(Error::over(
                format!("{}: {size} bytes: a recipe has at most {SIZE_MAX} bytes", path.display()),
                size,
                SIZE_MAX,
                "bytes",
            ));
        }
        let bytes = std::fs::read(path).map_err(|e| Error::input(path, e))?;
        String::from_utf8(bytes)
            .map_err(|_| Error::input(path, "not UTF-8 text: a recipe is TOML or JSON"))
    }

    /// Parses TOML. Paths in the recipe are relative to `folder`; `name` is its name where it has
    /// none of its own.
    ///
    /// # Errors
    /// [`Error::Param`] for what is not a recipe, [`Error::Limit`] for a land that is too large.
    pub fn from_toml(text: &str, folder: impl AsRef<Path>, name: &str) -> Result<Self> {
        Self::from_value(&Self::value_of_toml(text)?, folder.as_ref(), name)
    }

    /// The tables and values of a TOML text, which are not checked yet.
    pub(crate) fn value_of_toml(text: &str) -> Result<serde_json::Value> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let wrong = |e: toml::de::Error| Error::param(e.to_string().trim_end().to_string());
        let mut value = toml::from_str(text).map_err(wrong)?;
        // JSON has no numbers that are not finite, so a second reading puts them back.
        restore_not_finite(&mut value, &toml::from_str(text).map_err(wrong)?);
        Ok(value)
    }

    /// Parses JSON, as [`Recipe::from_toml`] does TOML.
    ///
    /// # Errors
    /// As [`Recipe::from_toml`].
    pub fn from_json(text: &str, folder: impl AsRef<Path>, name: &str) -> Result<Self> {
        Self::from_value(&Self::value_of_json(text)?, folder.as_ref(), name)
    }

    /// The tables and values of a JSON text, which are not checked yet.
    pub(crate) fn value_of_json(text: &str) -> Result<serde_json::Value> {
        // Some editors of Windows begin a text with the mark of its coding.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: Distinct =
            serde_json::from_str(text).map_err(|e| Error::param(e.to_string()))?;
        Ok(value.0)
    }
}

/// The world coordinates of the north-west cell.
pub(super) fn origin(table: &Table) -> Result<[i64; 2]> {
    let far = |n: i64| n.unsigned_abs() > 1 << 62;
    let Some(value) = table.get("origin") else { return Ok([0, 0]) };
    match value.as_array().map(|a| a.iter().map(whole).collect::<Vec<_>>()).as_deref() {
        Some([Some(x), Some(y)]) if !far(*x) && !far(*y) => Ok([*x, *y]),
        _ => {
            let message = format!(
                "origin = {}: expected two whole numbers of cells, such as [0, 0]",
                shown(value)
            );
            Err(Invalid::of("origin", shown(value), "two whole numbers of cells")
                .saying(message)
                .into())
        }
    }
}

pub(super) fn stages(table: &Table) -> Result<Vec<Step>> {
    let list = match table.get("stage") {
        None => return Ok(vec![]),
        Some(serde_json::Value::Array(list)) => list,
        Some(_) => {
            return Err(Invalid::from("stage: write each as [[stage]]").about("stage").into());
        }
    };
    // Counted before any is read.
    let with = |value: &serde_json::Value| {
        value.get("interleave").and_then(serde_json::Value::as_array).map_or(0, Vec::len)
    };
    super::check::check_count(list.iter().map(with))?;
    list.iter()
        .enumerate()
        .map(|(i, value)| Step::parse(value, &format!("stage {}", i + 1), &format!("/stage/{i}")))
        .collect()
}

impl Step {
    /// Parses a table of a recipe. `place` and `pointer` say in errors where it stands.
    fn parse(value: &serde_json::Value, place: &str, pointer: &str) -> Result<Self> {
        // Messages of tables name the place themselves.
        let at = |e: Error| e.inside("", pointer);
        let table = Table::new(place, value).map_err(at)?;
        let Some(kind) = table.text("kind").map_err(at)? else {
            let message = format!("{place}: kind is missing: one of {}", stage::names(|_| true));
            return Err(at(Invalid::from(message).about("kind").into()));
        };
        let stage = stage::find(kind).map_err(|e| match e {
            Error::Param(invalid) => {
                let message = format!("{place}: kind = {invalid}");
                at(invalid.about("kind").saying(message).into())
            }
            other => other,
        })?;
        let with = match table.get("interleave") {
            None => vec![],
            Some(list) => nested(list, place, pointer)?,
        };
        if with.is_empty() && table.get("interleave").is_some() && !stage.hosts() {
            let message = format!(
                "{place}, {kind}: interleave: it has no steps for others to run between: {}",
                stage::names(Stage::hosts)
            );
            return Err(at(Invalid::from(message).about("interleave").into()));
        }
        let finest = table.switch("finest_only").map_err(at)?.unwrap_or(false);
        let (mut given, mut by_level) = (vec![], vec![]);
        for (key, value) in table.entries().filter(|(k, _)| !OWN_KEYS.contains(&k.as_str())) {
            let Some(param) = stage.params.iter().find(|p| p.name == key) else {
                if key == "levels" {
                    let message = "levels = false is finest_only = true since schema 2";
                    let invalid = Invalid::from(message).about("levels");
                    return Err(invalid.inside(&format!("{place}, {kind}"), pointer).into());
                }
                let known = stage.params.iter().map(|p| p.name).chain(OWN_KEYS);
                let invalid = unknown("parameter", key, known).about(key.as_str());
                return Err(invalid.inside(&format!("{place}, {kind}"), pointer).into());
            };
            let is_list = matches!(param.kind, ParamKind::List(_));
            // In place of a value, a list or a table says what the value is on each level.
            if !is_list
                && matches!(value, serde_json::Value::Array(_) | serde_json::Value::Object(_))
                && not_finite(value).is_none()
            {
                let values = ByLevel::parse(param, value)
                    .map_err(|e| e.inside(&format!("{place}, {kind}"), pointer))?;
                // The value of the finest level, for a recipe without levels and for what is said
                // of the stage.
                given.push((key.clone(), values.finest(param)));
                by_level.push((key.clone(), values));
                continue;
            }
            let Some(value) = value_of(value) else {
                let wanted = if is_list {
                    format!("write each as [[stage.{key}]]")
                } else {
                    "expected a number or a word".into()
                };
                let message = format!("{place}, {kind}: {key} = {value}: {wanted}");
                return Err(at(Invalid::of(key.as_str(), value, wanted).saying(message).into()));
            };
            given.push((key.clone(), value));
        }
        let settings = Settings::new(stage.params, &given)
            .map_err(|e| e.inside(&format!("{place}, {kind}"), pointer))?;
        Ok(Self { stage, settings, seed: table.seed().map_err(at)?, with, by_level, finest })
    }
}

/// The value of a parameter; none for null and for a table.
fn value_of(value: &serde_json::Value) -> Option<Value> {
    Some(match value {
        serde_json::Value::Bool(v) => Value::Switch(*v),
        serde_json::Value::String(v) => Value::Word(v.clone()),
        serde_json::Value::Number(v) => match (v.as_i64(), v.as_f64()) {
            (Some(v), _) => Value::Integer(v),
            (_, v) => Value::Number(v.unwrap_or(f64::NAN)),
        },
        serde_json::Value::Array(v) => Value::List(v.clone()),
        other => Value::Number(not_finite(other)?),
    })
}

/// The stages between the steps of another.
fn nested(list: &serde_json::Value, place: &str, pointer: &str) -> Result<Vec<Nested>> {
    let wrong =
        |message: String, pointer: &str| Error::param(Invalid::from(message).inside("", pointer));
    let Some(list) = list.as_array() else {
        return Err(wrong(
            format!(
                "{place}: interleave: write each stage between the steps as [[stage.interleave]]"
            ),
            &format!("{pointer}/interleave"),
        ));
    };
    let parse = |(j, value): (usize, &serde_json::Value)| {
        let (place, pointer) =
            (format!("{place}, interleave {}", j + 1), format!("{pointer}/interleave/{j}"));
        let at = |e: Error| e.inside("", &pointer);
        let every =
            Table::new(&place, value).map_err(at)?.integer("every", 1, EVERY_MAX).map_err(at)?;
        let every = every.ok_or_else(|| {
            at(Invalid::from(format!("{place}: every is missing: after how many steps"))
                .about("every")
                .into())
        })? as u32;
        let mut value = value.clone();
        // Without this key the rest is a stage like any other.
        value.as_object_mut().map(|object| object.shift_remove("every"));
        if value.get("interleave").is_some() {
            return Err(wrong(
                format!("{place}: a stage between the steps of another has none between its own"),
                &pointer,
            ));
        }
        if value.get("finest_only").is_some() {
            let message = format!(
                "{place}: finest_only: it runs on the levels of the stage between whose steps it \
                 runs; \
                 leave it out"
            );
            return Err(at(Invalid::from(message).about("finest_only").into()));
        }
        let step = Step::parse(&value, &place, &pointer)?;
        Ok(Nested { every, step })
    };
    list.iter().enumerate().map(parse).collect()
}

/// A name without control characters, which could rule a terminal.
pub(super) fn plain(name: &str) -> Result<String> {
    if name.chars().any(char::is_control) {
        let allowed = "text without control characters";
        let shown = format!("{name:?}");
        return Err(Invalid::of("name", &shown, allowed)
            .saying(format!("name = {shown}: allowed {allowed}"))
            .into());
    }
    Ok(name.into())
}

/// A value of JSON whose objects have no key twice: elsewhere the last one would win in silence.
struct Distinct(serde_json::Value);

impl<'de> serde::Deserialize<'de> for Distinct {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(DistinctVisitor)
    }
}

struct DistinctVisitor;

impl<'de> serde::de::Visitor<'de> for DistinctVisitor {
    type Value = Distinct;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Distinct, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let Distinct(value) = map.next_value()?;
            if object.insert(key.clone(), value).is_some() {
                return Err(serde::de::Error::custom(format!("the key {key:?} is given twice")));
            }
        }
        Ok(Distinct(object.into()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Distinct, A::Error> {
        let mut values = vec![];
        while let Some(Distinct(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Distinct(values.into()))
    }

    fn visit_bool<E>(self, v: bool) -> Result<Distinct, E> {
        Ok(Distinct(v.into()))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Distinct, E> {
        Ok(Distinct(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Distinct, E> {
        Ok(Distinct(v.into()))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Distinct, E> {
        Ok(Distinct(v.into()))
    }

    fn visit_str<E>(self, v: &str) -> Result<Distinct, E> {
        Ok(Distinct(v.into()))
    }

    fn visit_unit<E>(self) -> Result<Distinct, E> {
        Ok(Distinct(serde_json::Value::Null))
    }
}

/// The table of dungeons.
#[cfg(feature = "dungeon")]
pub(super) mod dungeons {
    use crate::dungeon::Generator;
    use crate::dungeon::placed::{self, Placing};
    use crate::error::{Invalid, Result};
    use crate::table::{Table, shown, with_integers};
    use serde::{Serialize, de::DeserializeOwned};

    /// Keys of the table that are the same for all kinds.
    const SHARED: [&str; 8] = [
        "kind",
        "spacing_cells",
        "radius_cells",
        "slope_max",
        "lowest_m",
        "highest_m",
        "biomes",
        "format",
    ];
    const KINDS: [&str; 3] = ["isaac", "rebirth", "tinykeep"];
    /// Extensions of a dungeon's file. The word becomes part of a path, so it is taken from a list.
    pub(crate) const FORMATS: [&str; 6] = ["json", "txt", "svg", "png", "tmj", "ldtk"];

    /// The dungeons' kind, what all kinds share, and the settings of the kind.
    pub fn placing(value: &serde_json::Value) -> Result<Placing> {
        let table = Table::new("dungeons", value)?;
        let missing =
            || Invalid::from("dungeons: kind is missing: isaac, rebirth or tinykeep").about("kind");
        let generator = generator(&table, table.text("kind")?.ok_or_else(missing)?, &SHARED)?;
        let format = table.text("format")?.unwrap_or("json");
        if !FORMATS.contains(&format) {
            return Err(table.unlisted("format", "format", format, FORMATS.into_iter()));
        }
        let biomes = match table.get("biomes") {
            None => vec![],
            Some(list) => serde_json::from_value(list.clone())
                .ok()
                .filter(|names: &Vec<String>| !names.is_empty())
                .ok_or_else(|| {
                    table.wrong(
                    "biomes",
                    list,
                    "a list of names of one or more of the recipe's biomes, such as [\"forest\", \
                     \"steppe\"]; without the line any will do",
                )
                })?,
        };
        let placing = Placing {
            generator,
            spacing: table.integer("spacing_cells", 5, placed::SPACING_MAX)?.unwrap_or(128),
            radius: table.integer("radius_cells", 1, placed::RADIUS_MAX)?.unwrap_or(4),
            slope_max: table.number("slope_max", 0.0, 64.0)?.unwrap_or(0.5),
            lowest_m: table.number("lowest_m", -1e6, 1e6)?.unwrap_or(-1e6),
            highest_m: table.number("highest_m", -1e6, 1e6)?.unwrap_or(1e6),
            biomes,
            format: format.into(),
        };
        placing.check().map_err(|e| e.inside("dungeons", ""))?;
        Ok(placing)
    }

    /// A dungeon on its own: its generator and its seed.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown kind or setting, or a value that is not allowed.
    pub fn dungeon(value: &serde_json::Value) -> Result<(Generator, u64)> {
        let table = Table::new("dungeon", value)?;
        let missing = || {
            Invalid::from(format!("dungeon: kind is missing: {}", KINDS.join(", "))).about("kind")
        };
        let seed = table.seed()?.unwrap_or(0);
        let generator =
            generator(&table, table.text("kind")?.ok_or_else(missing)?, &["kind", "seed"])?;
        Ok((generator, seed))
    }

    fn generator(table: &Table, kind: &str, shared: &[&str]) -> Result<Generator> {
        Ok(match kind {
            "isaac" => Generator::Isaac(settings(table, shared)?),
            "rebirth" => Generator::Rebirth(settings(table, shared)?),
            "tinykeep" => Generator::TinyKeep(settings(table, shared)?),
            other => return Err(table.unlisted("kind", "kind", other, KINDS.into_iter())),
        })
    }

    /// The settings of a kind of dungeon: its defaults, but for what the table has.
    fn settings<T: Default + Serialize + DeserializeOwned>(
        table: &Table,
        shared: &[&str],
    ) -> Result<T> {
        let all = serde_json::to_value(T::default()).unwrap_or_default();
        let keys: Vec<&str> =
            all.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        table.known(&[shared, &keys].concat())?;
        if let Some((key, value)) =
            keys.iter().find_map(|key| table.get(key).filter(|v| v.is_null()).map(|v| (key, v)))
        {
            return Err(table.wrong(key, value, "a value, or leave the line out"));
        }
        let given =
            keys.iter().filter_map(|key| Some((key.to_string(), with_integers(table.get(key)?))));
        let object = given.collect::<serde_json::Map<_, _>>();
        // One by one first, so that an error names its key.
        for (key, value) in &object {
            let alone = serde_json::json!({ key: value });
            serde_json::from_value::<T>(alone).map_err(|e| {
                let message = format!("dungeons: {key} = {}: {e}", shown(value));
                Invalid::of(key.as_str(), shown(value), e.to_string()).saying(message)
            })?;
        }
        serde_json::from_value(object.into())
            .map_err(|e| Invalid::from(format!("dungeons: {e}")).into())
    }
}
