//! Recipes of schema 1 as recipes of schema 2: the same run, under the names of today. To be
//! dropped with 1.0.

use super::parse::OWN_KEYS;
use super::top;
use crate::error::{Error, Invalid, Result};
use crate::field::FIELDS;
use crate::params::{Param, ParamKind, renamed};
use crate::stage;
use crate::table::whole;
use serde_json::Value;
use std::ops::Range;

/// A key or a value of a recipe that has another name now.
struct Change {
    /// Keys and numbers of list items, down to the key or the item.
    place: Vec<String>,
    /// The key's new name.
    key: Option<&'static str>,
    /// The new value.
    value: Option<Value>,
}

/// Rewrites a recipe of schema 1, TOML or JSON, in the names of schema 2. In TOML nothing else
/// changes: names are replaced where they stand. Returns the text, and a sentence for each change;
/// none for a recipe that has schema 2.
///
/// # Errors
/// [`Error::Param`] for a text that is neither TOML nor JSON, for a recipe of another schema, and
/// for a table that has a key under its old and its new name.
pub fn upgrade(text: &str) -> Result<(String, Vec<String>)> {
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let is_json = start.starts_with('{');
    let recipe = if is_json {
        super::Recipe::value_of_json(text)?
    } else {
        super::Recipe::value_of_toml(text)?
    };
    match recipe.get("schema").map(|schema| (schema, whole(schema))) {
        Some((_, Some(1))) => {}
        Some((_, Some(2))) => return Ok((text.into(), vec![])),
        schema => {
            let given = schema.map_or("missing".into(), |(schema, _)| schema.to_string());
            let message = format!("schema = {given}: recipes of schema 1 can be rewritten");
            return Err(Invalid::of("schema", given, "1").saying(message).into());
        }
    }
    let changes = changes(&recipe)?;
    let text = if is_json {
        let mut recipe = recipe;
        changes.iter().for_each(|change| change.in_json(&mut recipe));
        let pretty = serde_json::to_string_pretty(&recipe);
        pretty.map_err(|e| Error::param(e.to_string()))? + "\n"
    } else {
        let bare = text.trim_start_matches('\u{feff}');
        let wrong = |e: toml_edit::TomlError| Error::param(e.to_string());
        let document = toml_edit::Document::parse(bare).map_err(wrong)?;
        let mut words: Vec<(Range<usize>, String)> =
            changes.iter().flat_map(|change| change.in_toml(document.as_item())).collect();
        // From the end, so that places before stay what they are.
        words.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        let mut new = bare.to_string();
        words.iter().for_each(|(place, word)| new.replace_range(place.clone(), word));
        // A mark of UTF-8 in front stays, since places were counted behind it.
        text[..text.len() - bare.len()].to_string() + &new
    };
    Ok((text, changes.iter().map(Change::to_string).collect()))
}

/// All that has another name now. Keys come behind what lies within them.
fn changes(recipe: &Value) -> Result<Vec<Change>> {
    let mut all = vec![Change { place: vec!["schema".into()], key: None, value: Some(2.into()) }];
    let stages = recipe.get("stage").and_then(Value::as_array);
    for (i, stage) in stages.into_iter().flatten().enumerate() {
        let at = [String::from("stage"), i.to_string()];
        let nested = stage.get("with").and_then(Value::as_array);
        for (j, nested) in nested.into_iter().flatten().enumerate() {
            let own = [String::from("with"), j.to_string()];
            of_stage(&[&at[..], &own].concat(), nested, &mut all)?;
        }
        of_stage(&at, stage, &mut all)?;
    }
    of_keys(&["levels".into()], recipe.get("levels"), &["count", "max", "fade"], &mut all)?;
    let dungeons = ["kind", "spacing_cells", "radius_cells"];
    of_keys(&["dungeons".into()], recipe.get("dungeons"), &dungeons, &mut all)?;
    for key in ["descent", "drainage"] {
        let word = recipe.pointer(&format!("/water/{key}")).and_then(Value::as_str);
        of_word(&["water".into(), key.into()], word, &["d8", "mfd"], &mut all);
    }
    let water = crate::water::Settings::keys();
    of_keys(&["water".into()], recipe.get("water"), &water, &mut all)?;
    let maps: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
    let wanted = recipe.pointer("/output/maps").and_then(Value::as_array);
    for (i, map) in wanted.into_iter().flatten().enumerate() {
        let place = ["output", "maps", &i.to_string()].map(String::from);
        of_word(&place, map.as_str(), &maps, &mut all);
    }
    let formats = ["output", "formats"].map(String::from);
    of_keys(&formats, recipe.pointer("/output/formats"), &maps, &mut all)?;
    // The top keys come last: a change is found by old names, and would find nothing within a table
    // that has a new one.
    of_keys(&[], Some(recipe), &top::keys(), &mut all)?;
    Ok(all)
}

/// What is renamed of a stage.
fn of_stage(place: &[String], stage: &Value, all: &mut Vec<Change>) -> Result<()> {
    let kind = stage.get("kind").and_then(Value::as_str).unwrap_or_default();
    let params: &[Param] = stage::find(kind).map_or(&[], |stage| stage.params);
    for param in params {
        if let ParamKind::Choice(words) = param.kind {
            let word = stage.get(param.name).and_then(Value::as_str);
            of_word(&[place, &[param.name.into()]].concat(), word, words, all);
        }
    }
    if let Some(runs) = stage.get("levels").and_then(Value::as_bool) {
        let place = [place, &["levels".into()]].concat();
        all.push(Change { place, key: Some("finest_only"), value: Some((!runs).into()) });
    }
    let known: Vec<&str> =
        params.iter().map(|param| param.name).chain(OWN_KEYS).chain(["every"]).collect();
    of_keys(place, Some(stage), &known, all)
}

/// The keys of a table that are not known, but were.
fn of_keys(
    place: &[String],
    table: Option<&Value>,
    known: &[&str],
    all: &mut Vec<Change>,
) -> Result<()> {
    let Some(table) = table.and_then(Value::as_object) else { return Ok(()) };
    for key in table.keys().filter(|key| !known.contains(&key.as_str())) {
        let Some(new) = renamed(key).find(|new| known.contains(new)) else { continue };
        let place = [place, std::slice::from_ref(key)].concat();
        if table.contains_key(new) {
            let message =
                format!("{} and {new} are both given: leave one of them out", shown(&place));
            return Err(Invalid::from(message).about(key.as_str()).into());
        }
        all.push(Change { place, key: Some(new), value: None });
    }
    Ok(())
}

/// A word that is not known, but was.
fn of_word(place: &[String], word: Option<&str>, known: &[&str], all: &mut Vec<Change>) {
    let Some(word) = word.filter(|word| !known.contains(word)) else { return };
    if let Some(new) = renamed(word).find(|new| known.contains(new)) {
        all.push(Change { place: place.to_vec(), key: None, value: Some(new.into()) });
    }
}

impl Change {
    fn in_json(&self, recipe: &mut Value) {
        let Some((last, path)) = self.place.split_last() else { return };
        let mut at = Some(recipe);
        for step in path {
            at = at.and_then(|value| match value {
                Value::Array(list) => step.parse().ok().and_then(|i: usize| list.get_mut(i)),
                value => value.get_mut(step),
            });
        }
        match (at, last.parse::<usize>()) {
            (Some(Value::Array(list)), Ok(i)) => {
                if let (Some(item), Some(value)) = (list.get_mut(i), &self.value) {
                    *item = value.clone();
                }
            }
            (Some(Value::Object(table)), _) => {
                if let (Some(item), Some(value)) = (table.get_mut(last), &self.value) {
                    *item = value.clone();
                }
                if let Some(new) = self.key {
                    // In its place among the others.
                    let renamed = |(key, value): (String, Value)| {
                        (if key == *last { new.into() } else { key }, value)
                    };
                    *table = std::mem::take(table).into_iter().map(renamed).collect();
                }
            }
            _ => {}
        }
    }

    /// Where the text of a TOML document changes, and what stands there then.
    fn in_toml(&self, document: &toml_edit::Item) -> Vec<(Range<usize>, String)> {
        use toml_edit::{Item, TableLike};
        /// A table, or a list, on the way.
        enum At<'a> {
            Table(&'a dyn TableLike),
            Tables(&'a toml_edit::ArrayOfTables),
            List(&'a toml_edit::Array),
        }
        fn of(item: &Item) -> Option<At<'_>> {
            match item {
                Item::ArrayOfTables(list) => Some(At::Tables(list)),
                Item::Value(toml_edit::Value::Array(list)) => Some(At::List(list)),
                item => item.as_table_like().map(At::Table),
            }
        }
        let Some((last, path)) = self.place.split_last() else { return vec![] };
        let mut at = of(document);
        for step in path {
            let number = step.parse::<usize>().ok();
            at = match at {
                Some(At::Table(table)) => table.get(step).and_then(of),
                Some(At::Tables(list)) => {
                    number.and_then(|i| list.get(i)).map(|table| At::Table(table))
                }
                Some(At::List(list)) => number
                    .and_then(|i| list.get(i))
                    .and_then(|value| value.as_inline_table())
                    .map(|table| At::Table(table)),
                None => None,
            };
        }
        let (key, value) = match at {
            Some(At::Table(table)) => (
                table.key(last).and_then(toml_edit::Key::span),
                table.get(last).and_then(Item::span),
            ),
            Some(At::List(list)) => {
                (None, last.parse().ok().and_then(|i: usize| list.get(i)).and_then(|v| v.span()))
            }
            _ => (None, None),
        };
        let key = key.zip(self.key.map(String::from));
        let value = value.zip(self.value.as_ref().map(Value::to_string));
        key.into_iter().chain(value).collect()
    }
}

/// A place for people: stages are counted from 1.
fn shown(place: &[String]) -> String {
    let counted =
        |step: &String| step.parse::<usize>().map_or(step.clone(), |n| format!("{}", n + 1));
    place.iter().map(counted).collect::<Vec<_>>().join(" ")
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", shown(&self.place))?;
        self.key.map_or(Ok(()), |key| write!(f, " is {key}"))?;
        self.value.as_ref().map_or(Ok(()), |value| write!(f, " = {value}"))
    }
}
