//! The keys of a table of a recipe, a line for each: as it says, a value is read, checked, set,
//! written down, and put into the schema.

use crate::error::{Invalid, Result};
use crate::table::Table;
use serde_json::{Value, json};

/// A key of a table, whose values lie in a `T`.
pub(crate) struct Key<T: 'static> {
    pub name: &'static str,
    pub kind: Kind<T>,
    pub told: Told<T>,
    pub about: &'static str,
}

/// What values a key has, and where they lie.
pub(crate) enum Kind<T: 'static> {
    /// A number in a range.
    Number([f64; 2], fn(&mut T) -> &mut f64),
    /// One whose default follows from another key.
    Following([f64; 2], fn(&mut T) -> &mut f64),
    /// One that may be missing.
    Maybe([f64; 2], fn(&mut T) -> &mut Option<f64>),
    /// The same, above the lower end of its range.
    Above([f64; 2], fn(&mut T) -> &mut Option<f64>),
    /// A whole number that may be missing.
    Whole([u32; 2], fn(&mut T) -> &mut Option<u32>),
    /// Two numbers, the lower first, that may be missing.
    Range(fn(&mut T) -> &mut Option<(f64, f64)>),
    Switch(fn(&mut T) -> &mut bool),
    /// A word of a list.
    Word(Words<T>),
    /// Some words of a list, each once.
    List(Words<T>),
    /// What has rules of its own.
    Own(Own<T>),
}

/// Words that stand for values.
pub(crate) struct Words<T> {
    /// What they are, for errors.
    pub what: &'static str,
    pub all: fn() -> Vec<&'static str>,
    pub get: fn(&T) -> Vec<String>,
    /// Sets the values of the words with these numbers.
    pub set: fn(&mut T, &[usize]),
}

/// A key with rules of its own.
pub(crate) struct Own<T> {
    pub read: fn(&Table, &mut T) -> Result<()>,
    /// Its value as recipes have it; null where it has none.
    pub value: fn(&T) -> Value,
    pub schema: fn() -> Value,
    /// Whether a person types it as words that commas part.
    pub is_list: bool,
}

/// When settings that are spelled out have a key.
pub(crate) enum Told<T> {
    Always,
    /// When it differs from the default.
    Changed,
    /// When it differs, or this holds.
    Or(fn(&T) -> bool),
}

/// A word for a value of a field.
macro_rules! word {
    ($what:literal, $list:expr, $field:ident) => {
        $crate::keys::Kind::Word($crate::keys::Words {
            what: $what,
            all: || $list.map(|(name, _)| name).to_vec(),
            get: |s| vec![$crate::keys::name_of(&$list, s.$field).into()],
            set: |s, words| words.iter().for_each(|word| s.$field = $list[*word].1),
        })
    };
}

/// Words for the values of a list.
macro_rules! list {
    ($what:literal, $list:expr, $field:ident) => {
        $crate::keys::Kind::List($crate::keys::Words {
            what: $what,
            all: || $list.map(|(name, _)| name).to_vec(),
            get: |s| s.$field.iter().map(|v| $crate::keys::name_of(&$list, *v).into()).collect(),
            set: |s, words| s.$field = words.iter().map(|word| $list[*word].1).collect(),
        })
    };
}

pub(crate) use {list, word};

/// The name of a value in a list that has it.
pub(crate) fn name_of<V: Copy + PartialEq>(known: &[(&'static str, V)], value: V) -> &'static str {
    known.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

impl<T> Key<T> {
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind<T>,
        told: Told<T>,
        about: &'static str,
    ) -> Self {
        Self { name, kind, told, about }
    }

    /// Reads it from a table, if it is there.
    fn read(&self, table: &Table, s: &mut T) -> Result<()> {
        let name = self.name;
        match &self.kind {
            Kind::Number([low, high], of) | Kind::Following([low, high], of) => {
                *of(s) = table.number(name, *low, *high)?.unwrap_or(*of(s));
            }
            Kind::Maybe([low, high], of) | Kind::Above([low, high], of) => {
                *of(s) = table.number(name, *low, *high)?;
            }
            Kind::Whole([low, high], of) => {
                let read = table.integer(name, (*low).into(), (*high).into())?;
                *of(s) = read.map(|number| number as u32);
            }
            Kind::Range(of) => *of(s) = table.pair(name)?,
            Kind::Switch(of) => *of(s) = table.switch(name)?.unwrap_or(*of(s)),
            Kind::Word(words) => {
                if let Some(given) = table.text(name)? {
                    (words.set)(s, &[words.number(table, name, given)?]);
                }
            }
            Kind::List(words) => {
                if let Some(given) = table.get(name) {
                    (words.set)(s, &words.numbers(table, name, given)?);
                }
            }
            Kind::Own(own) => (own.read)(table, s)?,
        }
        Ok(())
    }

    /// Its value as recipes have it; null where it has none.
    fn value(&self, s: &mut T) -> Value {
        match &self.kind {
            Kind::Number(_, of) | Kind::Following(_, of) => json!(*of(s)),
            Kind::Maybe(_, of) | Kind::Above(_, of) => json!(*of(s)),
            Kind::Whole(_, of) => json!(*of(s)),
            Kind::Range(of) => json!(*of(s)),
            Kind::Switch(of) => json!(*of(s)),
            Kind::Word(words) => (words.get)(s).into_iter().next().into(),
            Kind::List(words) => match (words.get)(s) {
                none if none.is_empty() => Value::Null,
                some => json!(some),
            },
            Kind::Own(own) => (own.value)(s),
        }
    }

    /// Its JSON Schema. `usual` has its default.
    fn schema(&self, usual: &mut T) -> Value {
        let mut schema = match &self.kind {
            Kind::Number([low, high], _)
            | Kind::Following([low, high], _)
            | Kind::Maybe([low, high], _) => {
                json!({ "type": "number", "minimum": low, "maximum": high })
            }
            Kind::Above([low, high], _) => {
                json!({ "type": "number", "exclusiveMinimum": low, "maximum": high })
            }
            Kind::Whole([low, high], _) => {
                json!({ "type": "integer", "minimum": low, "maximum": high })
            }
            Kind::Range(_) => {
                let number = json!({ "type": "number" });
                json!({ "type": "array", "items": number, "minItems": 2, "maxItems": 2 })
            }
            Kind::Switch(_) => json!({ "type": "boolean" }),
            Kind::Word(words) => json!({ "enum": (words.all)() }),
            Kind::List(words) => {
                json!({ "type": "array", "items": { "enum": (words.all)() }, "uniqueItems": true })
            }
            Kind::Own(own) => (own.schema)(),
        };
        if let Kind::Number(..) | Kind::Switch(_) | Kind::Word(_) = self.kind {
            let default = self.value(usual);
            if !default.is_null() {
                schema["default"] = default;
            }
        }
        schema["description"] = self.about.into();
        schema
    }

    /// A value as a person types it: a switch, a number, or words that commas or spaces part.
    fn typed(&self, value: &str) -> Value {
        let words = || value.split([',', ' ']).filter(|word| !word.is_empty());
        let number = |word: &str| word.parse::<f64>().map_or_else(|_| json!(word), |v| json!(v));
        match &self.kind {
            Kind::Own(Own { is_list: true, .. }) | Kind::List(_) => words().collect(),
            Kind::Range(_) => words().map(number).collect(),
            Kind::Whole(..) => value.parse::<u32>().map_or_else(|_| json!(value), |v| json!(v)),
            Kind::Switch(_) => value.parse::<bool>().map_or_else(|_| json!(value), |v| json!(v)),
            Kind::Word(_) | Kind::Own(_) => value.into(),
            _ => number(value),
        }
    }

    /// Refuses a number out of its range: fields are public, so they may have come otherwise than
    /// from a table.
    fn check(&self, s: &mut T) -> Result<()> {
        let (value, [low, high]) = match &self.kind {
            Kind::Number(range, of) | Kind::Following(range, of) => (Some(*of(s)), *range),
            Kind::Maybe(range, of) | Kind::Above(range, of) => (*of(s), *range),
            _ => return Ok(()),
        };
        match value {
            Some(value) if !(low..=high).contains(&value) => {
                Err(Invalid::value(self.name, value, format!("{low} to {high}")).into())
            }
            _ => Ok(()),
        }
    }
}

impl<T> Words<T> {
    /// The number of a word.
    fn number(&self, table: &Table, key: &str, given: &str) -> Result<usize> {
        let all = (self.all)();
        let found = all.iter().position(|known| *known == given);
        found.ok_or_else(|| table.unlisted(key, self.what, given, all.into_iter()))
    }

    /// The numbers of the words of a list, in which none stands twice.
    fn numbers(&self, table: &Table, key: &str, given: &Value) -> Result<Vec<usize>> {
        let wrong = || {
            let all = (self.all)().join(", ");
            table.wrong(key, given, format!("a list of some of {all}, each once"))
        };
        let mut found = vec![];
        for name in given.as_array().ok_or_else(wrong)? {
            let number = self.number(table, key, name.as_str().ok_or_else(wrong)?)?;
            if found.contains(&number) {
                return Err(wrong());
            }
            found.push(number);
        }
        Ok(found)
    }
}

/// Reads the keys of a table into `s`, which has the defaults.
///
/// # Errors
/// [`crate::Error::Param`] for an unknown key or a value that is not allowed.
pub(crate) fn read<T>(keys: &[Key<T>], table: &Table, s: &mut T) -> Result<()> {
    table.known(&names(keys))?;
    keys.iter().try_for_each(|key| key.read(table, s))
}

/// The names of keys.
pub(crate) fn names<T>(keys: &[Key<T>]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Refuses numbers that are out of range.
///
/// # Errors
/// [`crate::Error::Param`] with the first of them.
pub(crate) fn check<T: Clone>(keys: &[Key<T>], s: &T) -> Result<()> {
    let mut own = s.clone();
    keys.iter().try_for_each(|key| key.check(&mut own))
}

/// The table, spelled out. `usual` has the defaults.
pub(crate) fn describe<T: Clone>(keys: &[Key<T>], s: &T, mut usual: T) -> Value {
    let mut own = s.clone();
    let told = keys.iter().filter_map(|key| {
        let value = key.value(&mut own);
        let is_told = match &key.told {
            Told::Always => true,
            Told::Or(holds) if holds(s) => true,
            Told::Changed | Told::Or(_) => value != key.value(&mut usual),
        };
        (is_told && !value.is_null()).then(|| (key.name.to_string(), value))
    });
    Value::Object(told.collect())
}

/// The JSON Schemas of keys, by name. `usual` has the defaults.
pub(crate) fn schema<T>(keys: &[Key<T>], mut usual: T) -> Value {
    keys.iter().map(|key| (key.name.to_string(), key.schema(&mut usual))).collect()
}

/// A value as a person types it, as recipes have it. A key that is unknown has texts.
pub(crate) fn typed<T>(keys: &[Key<T>], key: &str, value: &str) -> Value {
    keys.iter().find(|known| known.name == key).map_or(value.into(), |key| key.typed(value))
}
