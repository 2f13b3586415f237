//! The JSON Schema of recipes, made from the tables of the stages.

use super::levels::SCALE_MAX;
use super::parse::{MAP_FORMATS, PROGRAMS};
use super::{Colour, EVERY_MAX, LAND_MAX, MARGIN_MAX, Recipe};
use crate::field::FIELDS;
use crate::params::{Param, ParamKind};
use crate::stage::levels::LEVELS_MAX;
use crate::stage::{STAGES, Stage};
use serde_json::{Map, Value, json};

/// One value of a parameter.
fn one(param: &Param) -> Value {
    match param.kind {
        ParamKind::Number { min, max, .. } => json!({ "type": "number", "minimum": min, "maximum": max }),
        ParamKind::Integer { min, max, .. } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        // A word that is a number may be written as one.
        ParamKind::Choice(words) => {
            let numbers = words.iter().filter_map(|word| word.parse::<i64>().ok()).map(Value::from);
            json!({ "enum": words.iter().map(|word| json!(word)).chain(numbers).collect::<Vec<_>>() })
        }
        ParamKind::Switch(_) => json!({ "type": "boolean" }),
        ParamKind::File => json!({ "type": "string" }),
        ParamKind::List(what) => json!({ "type": "array", "description": what }),
    }
}

/// A parameter of a stage, with its unit, default and text. It may differ by level, unless it is a list itself.
fn parameter(param: &Param) -> Value {
    let mut schema = match param.kind {
        ParamKind::List(_) => one(param),
        ParamKind::Number { .. } | ParamKind::Integer { .. } => {
            let ramp = json!({
                "type": "object", "properties": { "from": one(param), "to": one(param) }, "required": ["from", "to"],
                "additionalProperties": false,
            });
            json!({ "anyOf": [one(param), { "type": "array", "items": one(param), "minItems": 1 }, ramp] })
        }
        _ => json!({ "anyOf": [one(param), { "type": "array", "items": one(param), "minItems": 1 }] }),
    };
    schema["description"] = param.doc.into();
    if !param.unit.is_empty() {
        schema["unit"] = param.unit.into();
    }
    schema["default"] = default(param);
    schema
}

/// The table of a stage; `every` for one between the steps of another.
fn stage(stage: &Stage, nested: bool) -> Value {
    let mut properties = Map::new();
    let mut required = vec!["kind"];
    properties.insert("kind".into(), json!({ "const": stage.name }));
    if nested {
        let steps = json!({ "type": "integer", "minimum": 1, "maximum": EVERY_MAX, "description": "It runs after so many steps of its host." });
        properties.insert("every".into(), steps);
        required.push("every");
    } else {
        let nests = json!({ "type": "array", "items": { "$ref": "#/$defs/nested" }, "description": "Stages between its steps." });
        properties.insert("with".into(), nests);
        let finest = json!({ "const": false, "description": "It runs on the finest level alone, where the recipe has levels." });
        properties.insert("levels".into(), finest);
    }
    properties.insert("seed".into(), json!({ "$ref": "#/$defs/seed" }));
    properties.extend(stage.params.iter().map(|param| (param.name.to_string(), parameter(param))));
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The default of a parameter.
fn default(param: &Param) -> Value {
    match param.default() {
        crate::params::Value::Number(v) => json!(v),
        crate::params::Value::Integer(v) => json!(v),
        crate::params::Value::Word(v) => json!(v),
        crate::params::Value::Switch(v) => json!(v),
        crate::params::Value::List(v) => json!(v),
    }
}

/// Where a stage of a recipe, which need not be checked, names files: JSON pointers within it.
pub fn file_places(stage: &Value) -> Vec<String> {
    let known = stage.get("kind").and_then(Value::as_str).and_then(|kind| crate::stage::find(kind).ok());
    let params = known.into_iter().flat_map(|stage| stage.params);
    let own = params.filter(|param| param.kind == ParamKind::File).map(|param| format!("/{}", param.name));
    let strokes = stage.get("stroke").and_then(Value::as_array).map_or(0, Vec::len);
    own.chain((0..strokes).map(|j| format!("/stroke/{j}/file"))).collect()
}

impl Recipe {
    /// The stages with their parameters, and the maps, as forms need them: names, units, types, ranges, defaults, texts.
    pub fn tables() -> Value {
        let parameter = |param: &Param| {
            let mut entry = json!({ "name": param.name, "unit": param.unit, "text": param.doc, "default": default(param) });
            match param.kind {
                ParamKind::Number { min, max, .. } => {
                    (entry["type"], entry["min"], entry["max"]) = ("number".into(), json!(min), json!(max));
                }
                ParamKind::Integer { min, max, .. } => {
                    (entry["type"], entry["min"], entry["max"]) = ("integer".into(), json!(min), json!(max));
                }
                ParamKind::Choice(words) => (entry["type"], entry["choices"]) = ("choice".into(), json!(words)),
                ParamKind::Switch(_) => entry["type"] = "switch".into(),
                ParamKind::File => entry["type"] = "file".into(),
                ParamKind::List(what) => (entry["type"], entry["items"]) = ("list".into(), what.into()),
            }
            entry
        };
        let stage = |stage: &Stage| {
            json!({
                "kind": stage.name, "text": stage.about, "makes": stage.makes, "nests": stage.nests, "hosts": stage.hosts(),
                "maps": stage.maps, "parameters": stage.params.iter().map(parameter).collect::<Vec<_>>(),
            })
        };
        let field = |field: &crate::field::Field| json!({ "name": field.name, "unit": field.unit, "text": field.about });
        json!({
            "stages": STAGES.into_iter().map(stage).collect::<Vec<_>>(),
            "fields": FIELDS.iter().map(field).collect::<Vec<_>>(),
        })
    }

    /// The JSON Schema (draft 2020-12) of recipes: every key with its range, default, unit and text. What keys mean for each other only
    /// reading a recipe checks.
    pub fn schema() -> Value {
        let side = json!({ "type": "integer", "minimum": 1, "maximum": LAND_MAX });
        let formats = json!({ "enum": MAP_FORMATS });
        let levels = json!({ "type": "integer", "minimum": 1, "maximum": LEVELS_MAX });
        let count = json!({ "anyOf": [{ "const": "auto" }, levels] });
        let range = json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 });
        let stages = STAGES.into_iter();
        let nested = STAGES.into_iter().filter(|s| s.changes() && !s.makes);
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A recipe of thalweg",
            "description": "What thalweg makes: a land, the stages that form it, and the maps to write. TOML has the same keys. docs/recipes.md explains it.",
            "type": "object",
            "properties": {
                "schema": { "const": 1 },
                "name": { "type": "string" },
                "seed": { "$ref": "#/$defs/seed" },
                "width": side, "height": side,
                "spacing_m": { "type": "number", "minimum": 1e-3, "maximum": 1e6, "description": "Metres a cell." },
                "origin": {
                    "type": "array", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2,
                    "description": "World coordinates of the north-west cell.",
                },
                "margin": {
                    "type": "integer", "minimum": 0, "maximum": MARGIN_MAX,
                    "description": "Cells round the land that are made with it and cut off.",
                },
                "endless": {
                    "type": "boolean", "default": false,
                    "description": "Whether the land goes on beyond its window, without a border: every two windows of it agree.",
                },
                "input": { "type": "string", "description": "The file of the heights that it begins with." },
                "range_m": range,
                "levels": {
                    "anyOf": [count, {
                        "type": "object",
                        "properties": {
                            "count": count,
                            "most": { "type": "integer", "minimum": 1, "maximum": LEVELS_MAX },
                            "fade": { "type": "number", "minimum": 0, "maximum": 1000 },
                        },
                        "additionalProperties": false,
                    }],
                    "description": "Erode from coarse to fine.",
                },
                "scale": { "type": "integer", "minimum": 1, "maximum": SCALE_MAX, "description": "So many times the cells a side; a power of two." },
                "stage": { "type": "array", "items": { "$ref": "#/$defs/stage" } },
                "dungeons": { "type": "object", "description": "Dungeons on the land: docs/dungeons.md." },
                "water": crate::water::Settings::schema(),
                "output": {
                    "type": "object",
                    "properties": {
                        "maps": { "type": "array", "items": { "enum": FIELDS.iter().map(|field| field.name).collect::<Vec<_>>() } },
                        "format": formats,
                        "formats": { "type": "object", "additionalProperties": formats, "description": "Formats of single maps, by name." },
                        "program": { "enum": PROGRAMS, "description": "Adds files as a program takes them, in a folder of its name." },
                        "preview": { "type": "boolean" },
                        "colour": { "enum": Colour::ALL.map(Colour::name) },
                        "sea_level_m": { "type": "number", "minimum": -1e6, "maximum": 1e6 },
                        "range_m": range,
                    },
                    "additionalProperties": false,
                },
            },
            "required": ["schema"],
            "additionalProperties": false,
            "$defs": {
                "seed": { "type": "integer", "minimum": 0, "maximum": u64::MAX },
                "stage": { "oneOf": stages.map(|s| stage(s, false)).collect::<Vec<_>>() },
                "nested": { "oneOf": nested.map(|s| stage(s, true)).collect::<Vec<_>>() },
            },
        })
    }
}
