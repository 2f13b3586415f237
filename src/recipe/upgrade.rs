//! Recipes of schema 1 as recipes of schema 2: the same run, under the names of today. To be
//! dropped with 1.0.

use super::parse::{KEYS, OWN_KEYS};
use crate::error::{Error, Invalid, Result};
use crate::field::FIELDS;
use crate::params::{Param, ParamKind, renamed};
use crate::stage;
use serde_json::Value;

/// A key or a value of a recipe that has another name now.
struct Change {
    /// Keys and numbers of list items, down to the key or the item.
    place: Vec<String>,
    /// The key's new name.
    key: Option<&'static str>,
    /// The new value.
    value: Option<Value>,
}

/// Rewrites a recipe of schema 1, TOML or JSON, in the names of schema 2. Comments and order stay
/// in TOML. Returns the text, and a sentence for each change.
///
/// # Errors
/// [`Error::Param`] for a text that is neither TOML nor JSON, and for a recipe of another schema.
pub fn upgrade(text: &str) -> Result<(String, Vec<String>)> {
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let is_json = start.starts_with('{');
    let recipe = if is_json {
        super::Recipe::value_of_json(text)?
    } else {
        super::Recipe::value_of_toml(text)?
    };
    match recipe.get("schema") {
        Some(schema) if *schema == 1 => {}
        schema => {
            let given = schema.map_or("missing".into(), Value::to_string);
            let message = format!("schema = {given}: only recipes of schema 1 are rewritten");
            return Err(Invalid::of("schema", given, "1").saying(message).into());
        }
    }
    let changes = changes(&recipe);
    let text = if is_json {
        let mut recipe = recipe;
        changes.iter().for_each(|change| change.in_json(&mut recipe));
        let pretty = serde_json::to_string_pretty(&recipe);
        pretty.map_err(|e| Error::param(e.to_string()))? + "\n"
    } else {
        let document: toml_edit::DocumentMut =
            text.trim_start_matches('\u{feff}').parse().map_err(wrong)?;
        let mut document = document;
        changes.iter().for_each(|change| change.in_toml(document.as_item_mut()));
        document.to_string()
    };
    Ok((text, changes.iter().map(Change::to_string).collect()))
}

fn wrong(e: toml_edit::TomlError) -> Error {
    Error::param(e.to_string())
}

/// All that has another name now. Keys come behind what lies within them.
fn changes(recipe: &Value) -> Vec<Change> {
    let mut all = vec![Change { place: vec!["schema".into()], key: None, value: Some(2.into()) }];
    let stages = recipe.get("stage").and_then(Value::as_array);
    for (i, stage) in stages.into_iter().flatten().enumerate() {
        let at = [String::from("stage"), i.to_string()];
        let nested = stage.get("with").and_then(Value::as_array);
        for (j, nested) in nested.into_iter().flatten().enumerate() {
            let own = [String::from("with"), j.to_string()];
            of_stage(&[&at[..], &own].concat(), nested, &mut all);
        }
        of_stage(&at, stage, &mut all);
    }
    of_keys(&["levels".into()], recipe.get("levels"), &["count", "max", "fade"], &mut all);
    let dungeons = ["kind", "spacing_cells", "radius_cells"];
    of_keys(&["dungeons".into()], recipe.get("dungeons"), &dungeons, &mut all);
    for key in ["descent", "drainage"] {
        let word = recipe.pointer(&format!("/water/{key}")).and_then(Value::as_str);
        of_word(&["water".into(), key.into()], word, &["d8", "mfd"], &mut all);
    }
    let water = crate::water::Settings::keys();
    of_keys(&["water".into()], recipe.get("water"), &water, &mut all);
    let maps: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
    let wanted = recipe.pointer("/output/maps").and_then(Value::as_array);
    for (i, map) in wanted.into_iter().flatten().enumerate() {
        let place = ["output", "maps", &i.to_string()].map(String::from);
        of_word(&place, map.as_str(), &maps, &mut all);
    }
    let formats = ["output", "formats"].map(String::from);
    of_keys(&formats, recipe.pointer("/output/formats"), &maps, &mut all);
    of_keys(&[], Some(recipe), &KEYS, &mut all);
    all
}

/// What is renamed of a stage.
fn of_stage(place: &[String], stage: &Value, all: &mut Vec<Change>) {
    let kind = stage.get("kind").and_then(Value::as_str).unwrap_or_default();
    let params: &[Param] = stage::find(kind).map_or(&[], |stage| stage.params);
    for param in params {
        if let ParamKind::Choice(words) = param.kind {
            let word = stage.get(param.name).and_then(Value::as_str);
            of_word(&[place, &[param.name.into()]].concat(), word, words, all);
        }
    }
    // Where it was said that a stage does not run on levels, it runs on the finest alone.
    if stage.get("levels").is_some_and(|levels| *levels == false) {
        let place = [place, &["levels".into()]].concat();
        all.push(Change { place, key: None, value: Some(true.into()) });
    }
    let known: Vec<&str> =
        params.iter().map(|param| param.name).chain(OWN_KEYS).chain(["every"]).collect();
    of_keys(place, Some(stage), &known, all);
}

/// The keys of a table that are not known, but were.
fn of_keys(place: &[String], table: Option<&Value>, known: &[&str], all: &mut Vec<Change>) {
    let keys = table.and_then(Value::as_object).into_iter().flat_map(|table| table.keys());
    for key in keys.filter(|key| !known.contains(&key.as_str())) {
        if let Some(new) = renamed(key).find(|new| known.contains(new)) {
            let place = [place, std::slice::from_ref(key)].concat();
            all.push(Change { place, key: Some(new), value: None });
        }
    }
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

    fn in_toml(&self, recipe: &mut toml_edit::Item) {
        use toml_edit::{Item, TableLike};
        let Some((last, path)) = self.place.split_last() else { return };
        let mut table: Option<&mut dyn TableLike> = recipe.as_table_like_mut();
        let mut path = path.iter().peekable();
        while let Some(step) = path.next() {
            let item = table.and_then(|table| table.get_mut(step));
            let number = path.peek().and_then(|next| next.parse::<usize>().ok());
            table = match (item, number) {
                (Some(Item::ArrayOfTables(list)), Some(i)) => {
                    path.next();
                    list.get_mut(i).map(|table| table as &mut dyn TableLike)
                }
                // `stage = [{ … }]`.
                (Some(Item::Value(toml_edit::Value::Array(list))), Some(i)) => {
                    path.next();
                    let inline = list.get_mut(i).and_then(|value| value.as_inline_table_mut());
                    inline.map(|table| table as &mut dyn TableLike)
                }
                (Some(Item::Value(toml_edit::Value::Array(list))), None)
                    if path.peek().is_none() =>
                {
                    // An item of a list of words.
                    if let (Ok(i), Some(word)) =
                        (last.parse::<usize>(), self.value.as_ref().and_then(Value::as_str))
                        && let Some(item) = list.get_mut(i)
                    {
                        let decor = item.decor().clone();
                        *item = word.into();
                        *item.decor_mut() = decor;
                    }
                    return;
                }
                (Some(item), _) => item.as_table_like_mut(),
                (None, _) => None,
            };
        }
        let Some(table) = table else { return };
        if let (Some(Item::Value(item)), Some(value)) = (table.get_mut(last), &self.value) {
            let decor = item.decor().clone();
            *item = match value {
                Value::Bool(v) => (*v).into(),
                Value::String(v) => v.as_str().into(),
                value => value.as_i64().unwrap_or_default().into(),
            };
            *item.decor_mut() = decor;
        }
        let Some(new) = self.key else { return };
        // All keys are put in again, so that each keeps its place.
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_string()).collect();
        for key in keys {
            let entry = table.key(&key).cloned();
            if let (Some(old), Some(item)) = (entry, table.remove(&key)) {
                let name = if key == *last { new } else { &key };
                let renamed = toml_edit::Key::new(name).with_leaf_decor(old.leaf_decor().clone());
                table.entry_format(&renamed).or_insert(item);
            }
        }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.place.join("."))?;
        self.key.map_or(Ok(()), |key| write!(f, " is {key}"))?;
        self.value.as_ref().map_or(Ok(()), |value| write!(f, " = {value}"))
    }
}
