//! Recipes as TOML, in the form that people write.

use crate::recipe::keys;
use serde_json::{Map, Value};

/// A recipe as TOML: stages and what lies within them, dungeons, water and the output as tables,
/// all else in one line each. None for what TOML does not have: null, and whole numbers above 2⁶³.
pub fn toml(recipe: &Value) -> Option<String> {
    let mut text = String::new();
    table(recipe.as_object()?, "", &mut text)?;
    Some(text)
}

/// Whether a value has tables of its own rather than a line.
fn is_table(at: &str, key: &str, value: &Value) -> bool {
    let tables =
        value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_object));
    let named = matches!(key, "dungeons" | "water" | "materials" | "output");
    tables || (at.is_empty() && value.is_object() && named)
}

fn table(all: &Map<String, Value>, at: &str, text: &mut String) -> Option<()> {
    let rank = |key: &str| match at {
        "" => keys().iter().position(|known| *known == key).unwrap_or(usize::MAX),
        _ => usize::from(!matches!(key, "kind" | "tool" | "name")),
    };
    let mut entries: Vec<_> = all.iter().collect();
    entries.sort_by_key(|(key, _)| rank(key));
    for (key, value) in entries.iter().filter(|(key, value)| !is_table(at, key, value)) {
        text.push_str(&format!("{} = {}\n", name(key), line(value)?));
    }
    // In TOML a line behind the head of a table belongs to that table, so plain values come first.
    for (key, value) in entries.iter().filter(|(key, value)| is_table(at, key, value)) {
        let path = if at.is_empty() { name(key) } else { format!("{at}.{}", name(key)) };
        if let Some(one) = value.as_object() {
            text.push_str(&format!("\n[{path}]\n"));
            table(one, &path, text)?;
        }
        for one in value.as_array().into_iter().flatten().filter_map(Value::as_object) {
            text.push_str(&format!("\n[[{path}]]\n"));
            table(one, &path, text)?;
        }
    }
    Some(())
}

fn name(key: &str) -> String {
    let bare =
        !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-');
    if bare { key.into() } else { toml::Value::from(key).to_string() }
}

fn line(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(one) => one.to_string(),
        Value::Number(one) if one.is_u64() && one.as_i64().is_none() => return None,
        Value::Number(one) => one.to_string(),
        Value::String(one) => toml::Value::from(one.as_str()).to_string(),
        Value::Array(all) => {
            format!("[{}]", all.iter().map(line).collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Object(all) => {
            let pair =
                |(key, value): (&String, &Value)| Some(format!("{} = {}", name(key), line(value)?));
            format!("{{ {} }}", all.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", "))
        }
    })
}
