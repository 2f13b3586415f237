//! A table of a recipe: typed access to its keys, with errors that say where it stands.

use crate::error::{Error, Invalid, Result};
use crate::params::{self, unknown};

/// A table of a recipe.
pub struct Table<'a> {
    place: String,
    object: &'a serde_json::Map<String, serde_json::Value>,
}

impl<'a> Table<'a> {
    /// The table that a value is. `place` says in errors where it stands; it may be empty.
    pub fn new(place: &str, value: &'a serde_json::Value) -> Result<Self> {
        let before = if place.is_empty() { String::new() } else { format!("{place}: ") };
        match value.as_object() {
            Some(object) => Ok(Self { place: before, object }),
            None => Err(Error::param(format!(
                "{before}{}: expected a table of keys and values",
                shown(value)
            ))),
        }
    }

    /// Its keys and their values, as they were written.
    pub fn entries(&self) -> impl Iterator<Item = (&'a String, &'a serde_json::Value)> {
        self.object.iter()
    }

    /// Refuses keys other than these.
    pub fn known(&self, keys: &[&str]) -> Result<()> {
        match self.object.keys().find(|k| !keys.contains(&k.as_str())) {
            None => Ok(()),
            Some(key) => {
                let invalid = unknown("key", key, keys.iter().copied()).about(key.as_str());
                let message = format!("{}{}", self.place, invalid.message);
                Err(invalid.saying(message).into())
            }
        }
    }

    /// The value of a key, as it was written.
    pub fn get(&self, key: &str) -> Option<&'a serde_json::Value> {
        self.object.get(key)
    }

    /// The error for a value that is not allowed.
    pub fn wrong(&self, key: &str, value: &serde_json::Value, allowed: impl Into<String>) -> Error {
        let invalid = Invalid::value(key, shown(value), allowed);
        let message = format!("{}{}", self.place, invalid.message);
        invalid.saying(message).into()
    }

    /// The error for a word that is not in the list for its key.
    pub fn unlisted<'b>(
        &self,
        key: &str,
        what: &str,
        given: &str,
        known: impl Iterator<Item = &'b str>,
    ) -> Error {
        let invalid = unknown(what, given, known).about(key);
        let message = format!("{}{key} = {}", self.place, invalid.message);
        invalid.saying(message).into()
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(serde_json::Value::String(v)) => Ok(Some(v)),
            Some(v) => Err(self.wrong(key, v, "text in quotes")),
        }
    }

    /// The table of a key.
    pub fn table(&self, key: &str) -> Result<Option<Table<'a>>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => match v.as_object() {
                Some(object) => {
                    let place = self
                        .place
                        .strip_suffix(": ")
                        .map_or(key.into(), |place| format!("{place}, {key}"));
                    Ok(Some(Self { place: format!("{place}: "), object }))
                }
                None => Err(self.wrong(key, v, "a table of keys and values")),
            },
        }
    }

    /// The switch of a key: true or false.
    pub fn switch(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => v.as_bool().map(Some).ok_or_else(|| self.wrong(key, v, "true, false")),
        }
    }

    /// The whole number of a key, from `min` to `max`.
    pub fn integer(&self, key: &str, min: i64, max: i64) -> Result<Option<i64>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => match whole(v) {
                Some(i) if (min..=max).contains(&i) => Ok(Some(i)),
                _ if min == max => Err(self.wrong(key, v, min.to_string())),
                _ => Err(self.wrong(key, v, format!("a whole number, {min} to {max}"))),
            },
        }
    }

    /// The number of a key, from `min` to `max`.
    pub fn number(&self, key: &str, min: f64, max: f64) -> Result<Option<f64>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => match v.as_f64() {
                Some(n) if (min..=max).contains(&n) => Ok(Some(n)),
                _ => Err(self.wrong(key, v, format!("{min} to {max}"))),
            },
        }
    }

    /// The two numbers of a key, the lower first.
    pub fn pair(&self, key: &str) -> Result<Option<(f64, f64)>> {
        match self.get(key) {
            None => Ok(None),
            Some(v) => match v
                .as_array()
                .map(|a| a.iter().map(|v| v.as_f64()).collect::<Vec<_>>())
                .as_deref()
            {
                Some([Some(a), Some(b)]) if a < b => Ok(Some((*a, *b))),
                _ => Err(self.wrong(key, v, "two numbers, the lower first, such as [0, 1200]")),
            },
        }
    }

    /// A seed: any whole number of 64 bits. TOML has none larger than 2⁶³ − 1, so a text is taken
    /// as well.
    pub fn seed(&self) -> Result<Option<u64>> {
        match self.get("seed") {
            None => Ok(None),
            Some(v) => match unsigned(v).or_else(|| v.as_str().and_then(|s| s.parse().ok())) {
                Some(seed) => Ok(Some(seed)),
                None => Err(self.wrong(
                    "seed",
                    v,
                    "a whole number, 0 to 18446744073709551615 (in \
                     quotes above 9223372036854775807)",
                )),
            },
        }
    }
}

/// The whole number that a value is, if it is one: 512 and 512.0 are the same.
pub fn whole(value: &serde_json::Value) -> Option<i64> {
    value.as_i64().or_else(|| params::whole(value.as_f64()?))
}

/// The same for the numbers of seeds.
fn unsigned(value: &serde_json::Value) -> Option<u64> {
    const END: f64 = 18_446_744_073_709_551_616.0;
    let float =
        || value.as_f64().filter(|v| v.fract() == 0.0 && (0.0..END).contains(v)).map(|v| v as u64);
    value.as_u64().or_else(float)
}

/// A value whose whole numbers are integers, for readers that want them so.
pub fn with_integers(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Array(list) => list.iter().map(with_integers).collect(),
        other => whole(other).map_or_else(|| other.clone(), serde_json::Value::from),
    }
}

/// JSON has no numbers that are not finite. Each becomes a table with this key alone, which nothing
/// in a recipe takes, so that errors can show it.
const NOT_FINITE: &str = "not finite";

/// Puts the numbers that are not finite back into what serde made of a TOML text.
pub fn restore_not_finite(value: &mut serde_json::Value, written: &toml::Value) {
    use serde_json::Value::{Array, Object};
    match (value, written) {
        (value, toml::Value::Float(v)) if !v.is_finite() => {
            *value = serde_json::json!({ NOT_FINITE: v.to_string() })
        }
        (Array(values), toml::Value::Array(written)) => {
            values.iter_mut().zip(written).for_each(|(v, w)| restore_not_finite(v, w));
        }
        (Object(values), toml::Value::Table(written)) => {
            let pairs = values.iter_mut().filter_map(|(key, v)| Some((v, written.get(key)?)));
            pairs.for_each(|(v, w)| restore_not_finite(v, w));
        }
        _ => {}
    }
}

/// The number that is not finite which a value stands for.
pub fn not_finite(value: &serde_json::Value) -> Option<f64> {
    value.get(NOT_FINITE)?.as_str()?.parse().ok()
}

/// A value as it was written.
pub fn shown(value: &serde_json::Value) -> String {
    match (value, value.get(NOT_FINITE).and_then(|v| v.as_str())) {
        (_, Some(number)) => number.into(),
        (serde_json::Value::Array(values), _) => {
            format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(","))
        }
        _ => value.to_string(),
    }
}
