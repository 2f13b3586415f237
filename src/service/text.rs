//! Recipes as TOML, in the form that people write.

use serde_json::{Map, Value};

/// What comes first in a recipe. The rest follows in the order given.
const FIRST: [&str; 13] = [
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
    "nodata_m",
    "band",
    "levels",
];

/// A recipe as TOML: stages, what lies within them and the output as tables, all else in one line each. None for what TOML does not have:
/// null, and whole numbers above 2⁶³.
pub fn toml(recipe: &Value) -> Option<String> {
    let mut text = String::new();
    table(recipe.as_object()?, "", &mut text)?;
    Some(text)
}

/// Whether a value has tables of its own rather than a line.
fn is_table(at: &str, key: &str, value: &Value) -> bool {
    let tables = value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_object));
    tables || (at.is_empty() && value.is_object() && matches!(key, "output" | "dungeons"))
}

fn table(all: &Map<String, Value>, at: &str, text: &mut String) -> Option<()> {
    let rank = |key: &str| match at {
        "" => FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len()),
        _ => usize::from(!matches!(key, "kind" | "tool" | "name")),
    };
    let mut entries: Vec<_> = all.iter().collect();
    entries.sort_by_key(|(key, _)| rank(key));
    for (key, value) in entries.iter().filter(|(key, value)| !is_table(at, key, value)) {
        text.push_str(&format!("{} = {}\n", name(key), line(value)?));
    }
    // The output comes last, as in the examples.
    entries.sort_by_key(|(key, _)| at.is_empty() && *key == "output");
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
    let bare = !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-');
    if bare { key.into() } else { toml::Value::from(key).to_string() }
}

fn line(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(one) => one.to_string(),
        Value::Number(one) if one.is_u64() && one.as_i64().is_none() => return None,
        Value::Number(one) => one.to_string(),
        Value::String(one) => toml::Value::from(one.as_str()).to_string(),
        Value::Array(all) => format!("[{}]", all.iter().map(line).collect::<Option<Vec<_>>>()?.join(", ")),
        Value::Object(all) => {
            let pair = |(key, value): (&String, &Value)| Some(format!("{} = {}", name(key), line(value)?));
            format!("{{ {} }}", all.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{EXAMPLES, Recipe};

    /// What is written reads as what it was.
    #[test]
    fn toml_reads_as_it_was() {
        for (name, text) in EXAMPLES {
            let value = Recipe::value_of_toml(text).unwrap();
            let written = toml(&value).unwrap();
            assert_eq!(Recipe::value_of_toml(&written).unwrap(), value, "{name}: {written}");
            assert!(written.starts_with("schema = 1\n"), "{written}");
        }
        let odd = serde_json::json!({ "schema": 1, "name": "a \"b\"\n\\c", "stage": [
            { "kind": "layer", "file": { "upload": "00" }, "start": -1.5e-7, "end": 1e300, "table": [["a"], []], "no bare key": [] },
        ] });
        assert_eq!(Recipe::value_of_toml(&toml(&odd).unwrap()).unwrap(), odd);
        assert_eq!(toml(&serde_json::json!({ "seed": u64::MAX })), None);
        assert_eq!(toml(&serde_json::json!({ "seed": null })), None);
    }
}
