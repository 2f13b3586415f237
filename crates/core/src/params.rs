//! The parameter table: a stage declares each of its parameters once, and recipes, checks, help and
//! schema follow from that.

use crate::error::{Invalid, Result};
use crate::picture::{Picture, Pictures};
use std::fmt;
use std::sync::Arc;

/// A parameter of a stage: the one declaration that recipes, checks, help and schema read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The key in a recipe.
    pub name: &'static str,
    /// Its unit, or "" for a pure number.
    pub unit: &'static str,
    /// Its type, range and default.
    pub kind: ParamKind,
    /// One sentence.
    pub doc: &'static str,
}

/// The type, range and default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A finite number from `min` to `max`.
    Number {
        /// Smallest allowed.
        min: f64,
        /// Largest allowed.
        max: f64,
        /// Used if the recipe does not set it.
        default: f64,
    },
    /// An integer from `min` to `max`.
    Integer {
        /// Smallest allowed.
        min: i64,
        /// Largest allowed.
        max: i64,
        /// Used if the recipe does not set it.
        default: i64,
    },
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
    /// Yes or no.
    Switch(bool),
    /// The path of a file, relative to the recipe. Empty means none.
    File,
    /// A list of tables or of lists, described in words; the stage checks its form. Empty means the
    /// stage's own list.
    List(&'static str),
}

/// A value given for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// An integer.
    Integer(i64),
    /// A word.
    Word(String),
    /// Yes or no.
    Switch(bool),
    /// A list.
    List(Vec<serde_json::Value>),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<i32> for Value {
    fn from(integer: i32) -> Self {
        Self::Integer(integer.into())
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self::Word(word.into())
    }
}

impl From<bool> for Value {
    fn from(switch: bool) -> Self {
        Self::Switch(switch)
    }
}

impl From<Vec<serde_json::Value>> for Value {
    fn from(list: Vec<serde_json::Value>) -> Self {
        Self::List(list)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(v) => write!(f, "{v}"),
            Value::Integer(v) => write!(f, "{v}"),
            Value::Word(v) => write!(f, "{v:?}"),
            Value::Switch(v) => write!(f, "{v}"),
            Value::List(v) => write!(f, "{}", serde_json::Value::from(v.clone())),
        }
    }
}

/// The integer that a float is, if it is a whole number: people and programs write 512 and 512.0
/// alike.
pub(crate) fn whole(v: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (v.fract() == 0.0 && (-END..END).contains(&v)).then_some(v as i64)
}

impl Value {
    /// The whole number that it is, if it is one, however it was written.
    pub fn whole(&self) -> Option<i64> {
        match self {
            Self::Integer(v) => Some(*v),
            Self::Number(v) => whole(*v),
            _ => None,
        }
    }

    /// As a recipe has it in JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Number(v) => (*v).into(),
            Self::Integer(v) => (*v).into(),
            Self::Word(v) => v.as_str().into(),
            Self::Switch(v) => (*v).into(),
            Self::List(v) => v.clone().into(),
        }
    }
}

impl Param {
    /// A number: smallest, largest, default.
    pub const fn number(
        name: &'static str,
        unit: &'static str,
        [min, max, default]: [f64; 3],
        doc: &'static str,
    ) -> Self {
        Self { name, unit, kind: ParamKind::Number { min, max, default }, doc }
    }

    /// An integer: smallest, largest, default.
    pub const fn integer(
        name: &'static str,
        unit: &'static str,
        [min, max, default]: [i64; 3],
        doc: &'static str,
    ) -> Self {
        Self { name, unit, kind: ParamKind::Integer { min, max, default }, doc }
    }

    /// One of these words; the first is the default.
    pub const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> Self {
        Self { name, unit: "", kind: ParamKind::Choice(words), doc }
    }

    /// Yes or no.
    pub const fn switch(name: &'static str, default: bool, doc: &'static str) -> Self {
        Self { name, unit: "", kind: ParamKind::Switch(default), doc }
    }

    /// The path of a file.
    pub const fn file(name: &'static str, doc: &'static str) -> Self {
        Self { name, unit: "", kind: ParamKind::File, doc }
    }

    /// A list whose elements have this form, in words.
    pub const fn list(name: &'static str, form: &'static str, doc: &'static str) -> Self {
        Self { name, unit: "", kind: ParamKind::List(form), doc }
    }

    /// The default.
    pub fn default(&self) -> Value {
        match self.kind {
            ParamKind::Number { default, .. } => Value::Number(default),
            ParamKind::Integer { default, .. } => Value::Integer(default),
            ParamKind::Choice(words) => Value::Word(words[0].into()),
            ParamKind::Switch(default) => Value::Switch(default),
            ParamKind::File => Value::Word(String::new()),
            ParamKind::List(_) => Value::List(vec![]),
        }
    }

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        match self.kind {
            ParamKind::Number { min, max, .. } => format!("{min} to {max}"),
            ParamKind::Integer { min, max, .. } => format!("a whole number, {min} to {max}"),
            ParamKind::Choice(words) => words.join(", "),
            ParamKind::Switch(_) => "true, false".into(),
            ParamKind::File => "a path".into(),
            ParamKind::List(what) => what.into(),
        }
    }

    /// The number that kernels get for a word of a choice: its place among the words.
    #[doc(hidden)]
    pub fn number_of(&self, word: &str) -> u32 {
        let ParamKind::Choice(words) = self.kind else { panic!("{} is no choice", self.name) };
        let place = words.iter().position(|known| *known == word);
        place.unwrap_or_else(|| panic!("{} has no word {word}", self.name)) as u32
    }

    /// Checks a value and gives it its type.
    pub fn accept(&self, value: &Value) -> Result<Value> {
        match (self.kind, value) {
            (ParamKind::Number { min, max, .. }, &Value::Number(v)) if (min..=max).contains(&v) => {
                Ok(Value::Number(v))
            }
            (ParamKind::Number { min, max, .. }, &Value::Integer(v))
                if (min..=max).contains(&(v as f64)) =>
            {
                Ok(Value::Number(v as f64))
            }
            (ParamKind::Choice(words), Value::Word(v)) if words.contains(&v.as_str()) => {
                Ok(value.clone())
            }
            (ParamKind::Switch(_), Value::Switch(_))
            | (ParamKind::File, Value::Word(_))
            | (ParamKind::List(_), Value::List(_)) => Ok(value.clone()),
            (kind, value) => {
                match (kind, value.whole()) {
                    (ParamKind::Integer { min, max, .. }, Some(v)) if (min..=max).contains(&v) => {
                        return Ok(Value::Integer(v));
                    }
                    // A word that is a number may be written as one.
                    (ParamKind::Choice(words), Some(v))
                        if words.contains(&v.to_string().as_str()) =>
                    {
                        return Ok(Value::Word(v.to_string()));
                    }
                    _ => {}
                }
                if let (ParamKind::Choice(words), Value::Word(v)) = (kind, value)
                    && let Some(new) = renamed(v).find(|new| words.contains(new))
                {
                    let message =
                        format!("{} = {v:?}: it is called {new:?} since schema 2", self.name);
                    return Err(Invalid::of(self.name, value, self.allowed())
                        .saying(message)
                        .into());
                }
                let unit =
                    if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
                Err(Invalid::value(self.name, value, format!("{}{unit}", self.allowed())).into())
            }
        }
    }
}

/// Checked values for every parameter of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    values: Vec<(&'static Param, Value)>,
    /// The pictures that values name, as far as they are known.
    pictures: Pictures,
}

impl Settings {
    /// The defaults of a table.
    pub fn defaults(table: &'static [Param]) -> Self {
        Self { values: table.iter().map(|p| (p, p.default())).collect(), pictures: Pictures::new() }
    }

    /// The defaults of a table, replaced by the values in `given`. An unknown name or a value that
    /// is not allowed is an error.
    pub fn new(table: &'static [Param], given: &[(String, Value)]) -> Result<Self> {
        let mut settings = Self::defaults(table);
        for (name, value) in given {
            settings.set(table, name, value)?;
        }
        Ok(settings)
    }

    /// Sets one parameter, as [`Settings::new`] would.
    pub fn set(&mut self, table: &'static [Param], name: &str, value: &Value) -> Result<()> {
        let Some(at) = table.iter().position(|p| p.name == name) else {
            return Err(unknown("parameter", name, table.iter().map(|p| p.name))
                .about(name)
                .into());
        };
        self.values[at].1 = table[at].accept(value)?;
        Ok(())
    }

    /// Names and values, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(p, v)| (p.name, v))
    }

    fn entry(&self, name: &str) -> &(&'static Param, Value) {
        // A stage asks for its own parameters only, and the tests run every stage.
        self.values
            .iter()
            .find(|(p, _)| p.name == name)
            .unwrap_or_else(|| panic!("no parameter {name}"))
    }

    /// The value of the parameter called `name`, if there is one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(p, _)| p.name == name).map(|(_, value)| value)
    }

    fn value(&self, name: &str) -> &Value {
        &self.entry(name).1
    }

    /// Gives the picture that values name so.
    #[doc(hidden)]
    pub fn show(&mut self, name: &str, picture: Arc<Picture>) {
        self.pictures.insert(name.into(), picture);
    }

    /// The picture that values name so, if it was given.
    #[doc(hidden)]
    pub fn picture(&self, name: &str) -> Option<&Arc<Picture>> {
        self.pictures.get(name)
    }

    /// The number that kernels get for the choice called `name`: the place of its word in the
    /// table.
    #[doc(hidden)]
    pub fn choice(&self, name: &str) -> u32 {
        self.entry(name).0.number_of(self.word(name))
    }

    /// The number called `name`.
    #[doc(hidden)]
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(v) => *v,
            other => panic!("{name} is {other}"),
        }
    }

    /// The integer called `name`.
    #[doc(hidden)]
    pub fn integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Integer(v) => *v,
            other => panic!("{name} is {other}"),
        }
    }

    /// The word called `name`.
    #[doc(hidden)]
    pub fn word(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Word(v) => v,
            other => panic!("{name} is {other}"),
        }
    }

    /// The list called `name`.
    #[doc(hidden)]
    pub fn list(&self, name: &str) -> &[serde_json::Value] {
        match self.value(name) {
            Value::List(v) => v,
            other => panic!("{name} is {other}"),
        }
    }

    /// The switch called `name`.
    #[doc(hidden)]
    pub fn switch(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Switch(v) => *v,
            other => panic!("{name} is {other}"),
        }
    }
}

/// A number as people read it: rounded to seven significant digits, which is the precision of maps.
pub fn rounded(v: f64) -> f64 {
    format!("{v:.6e}").parse().unwrap_or(v)
}

/// The error for a name that is not in a list. It suggests the most similar name that is.
pub fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Invalid {
    let known: Vec<&str> = known.collect();
    let all = known.join(", ");
    if let Some(new) = renamed(name).find(|new| known.contains(new)) {
        let message = format!("{name:?} is called {new:?} since schema 2");
        return Invalid {
            message,
            given: Some(name.into()),
            allowed: Some(all),
            ..Invalid::default()
        };
    }
    let near = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    let message = match near {
        Some(near) if strsim::jaro_winkler(near, name) > 0.75 => {
            format!("{name:?}: no such {what}; did you mean {near:?}? Known: {all}")
        }
        _ => format!("{name:?}: no such {what}; known: {all}"),
    };
    Invalid { message, given: Some(name.into()), allowed: Some(all), ..Invalid::default() }
}

/// Keys, words and maps of recipes that had another name in schema 1. To be dropped with 1.0.
#[rustfmt::skip]
const RENAMED: [(&str, &str); 44] = [
    // Keys of a recipe and of its tables.
    ("margin", "margin_cells"), ("most", "max"), ("with", "interleave"),
    ("spacing", "spacing_cells"), ("radius", "radius_cells"),
    ("hollows", "depressions"), ("descent", "routing"), ("drainage", "area_routing"),
    ("river_km2", "channel_area_km2"), ("river_flow", "channel_flow"),
    // Parameters of stages.
    ("feature", "feature_cells"), ("warp", "warp_cells"), ("warp_feature", "warp_feature_cells"),
    ("crater_feature", "crater_feature_cells"), ("extent", "extent_cells"),
    ("extent_x", "extent_x_cells"), ("extent_y", "extent_y_cells"),
    ("radius_x", "radius_x_cells"), ("radius_y", "radius_y_cells"), ("spread", "spread_cells"),
    ("interval", "interval_cells"), ("padding", "padding_cells"), ("pole", "pole_cells"),
    ("inland", "inland_cells"), ("within", "within_cells"), ("hop", "hop_cells"),
    ("grain", "grain_cells"), ("offset", "offset_cells"), ("world", "world_cells"),
    ("chunk", "chunk_cells"), ("roughness", "roughness_cells"), ("share", "opacity"),
    ("one_m", "unit_m"), ("limit", "max_step_fraction"), ("roots", "root_strength"),
    ("discharge", "river_threshold"),
    // Words.
    ("least", "min"), ("steepest", "d8"), ("single", "d8"), ("multiple", "mfd"),
    // Maps.
    ("wear", "erosion"), ("deposit", "deposition"), ("sky", "sky_view"),
    ("water", "water_depth"),
];

/// The names that an old name may have now.
pub fn renamed(old: &str) -> impl Iterator<Item = &'static str> {
    RENAMED.iter().filter(move |(before, _)| *before == old).map(|(_, new)| *new)
}
