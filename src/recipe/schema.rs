//! The JSON Schema of recipes, made from the tables of the stages.

use super::rules::{having, number, rules_of_recipes, when};
use super::top::Top;
use super::{EVERY_MAX, NESTED_MAX, Recipe};
use crate::engine::Engine;
use crate::field::FIELDS;
use crate::params::{Param, ParamKind};
use crate::site::Layer;
use crate::stage::{STAGES, Stage, biomes, strokes};
use serde_json::{Map, Value, json};

/// What a schema cannot say of a recipe, and reading one still refuses: names, and what they mean.
pub const RELATIONS: &[(&str, &str)] = &[
    (
        "arithmetic",
        "sums, products and orders of several numbers, such as heights against 8000 cells, the lower \
         of two first, or as many heights as points",
    ),
    (
        "names",
        "names that another part of the recipe gives: biomes in tables and of dungeons, each once",
    ),
    (
        "order",
        "what stands before what: a layer before those that need it, and which stages run on \
         levels",
    ),
    (
        "size",
        "what the size of the land allows: levels, points, nodes, particles, and a nested stage \
         that would never run",
    ),
    ("work", "recipes that are more work than is done"),
];

/// One value of a parameter.
fn one(param: &Param) -> Value {
    match param.kind {
        ParamKind::Number { min, max, .. } => {
            json!({ "type": "number", "minimum": min, "maximum": max })
        }
        ParamKind::Integer { min, max, .. } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
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

/// A parameter of a stage, with its unit, default and text. Those of stages that run on levels may
/// differ by level, but for lists.
fn parameter(stage: &Stage, param: &Param) -> Value {
    let list = || json!({ "type": "array", "items": one(param), "minItems": 1 });
    let mut schema = match param.kind {
        ParamKind::List(_) => match (stage.name, param.name) {
            (_, "stroke") => json!({ "type": "array", "items": { "$ref": "#/$defs/stroke" } }),
            (_, "biome") => {
                json!({ "type": "array", "items": { "$ref": "#/$defs/biome" },
                    "maxItems": biomes::BIOMES_MAX })
            }
            (_, "table") => json!({
                "type": "array", "maxItems": 64,
                "items": { "type": "array", "items": { "type": "string" }, "minItems": 1,
                    "maxItems": 64 },
            }),
            _ => one(param),
        },
        _ if !stage.erodes() => one(param),
        ParamKind::Number { .. } | ParamKind::Integer { .. } => {
            let ramp = json!({
                "type": "object", "properties": { "from": one(param), "to": one(param) },
                "required": ["from", "to"],
                "additionalProperties": false,
            });
            json!({ "anyOf": [one(param), list(), ramp] })
        }
        _ => json!({ "anyOf": [one(param), list()] }),
    };
    schema["description"] = param.doc.into();
    if !param.unit.is_empty() {
        schema["unit"] = param.unit.into();
    }
    schema["default"] = param.default().to_json();
    schema
}

/// The table of a stage; `nested` for one between the steps of another.
fn stage(stage: &Stage, nested: bool) -> Value {
    let mut properties = Map::new();
    let mut required = vec!["kind"];
    properties.insert("kind".into(), json!({ "const": stage.name }));
    if nested {
        let steps = json!({ "type": "integer", "minimum": 1, "maximum": EVERY_MAX,
            "description": "Number of steps of its host from one of its runs to the next." });
        properties.insert("every".into(), steps);
        required.push("every");
    } else {
        if stage.hosts() {
            let nests = json!({
                "type": "array", "items": { "$ref": "#/$defs/nested" }, "maxItems": NESTED_MAX,
                "description": "Stages between its steps.",
            });
            properties.insert("interleave".into(), nests);
        }
        {
            let allowed = if stage.erodes() { json!([true, false]) } else { json!([false]) };
            let finest = json!({ "enum": allowed, "description": "Whether it runs on the finest \
                level alone, where the recipe has levels." });
            properties.insert("finest_only".into(), finest);
        }
    }
    properties.insert("seed".into(), json!({ "$ref": "#/$defs/seed" }));
    properties
        .extend(stage.params.iter().map(|param| (param.name.to_string(), parameter(stage, param))));
    let mut table = json!({ "type": "object", "properties": properties, "required": required,
        "additionalProperties": false });
    let rules = rules(stage);
    if !rules.is_empty() {
        table["allOf"] = rules.into();
    }
    table
}

/// What the settings of a stage mean for each other, as far as it can be said.
fn rules(stage: &Stage) -> Vec<Value> {
    let mut rules = vec![];
    let named = json!({ "minLength": 1 });
    let unnamed = json!({ "maxLength": 0 });
    let unless = |key: &str, word: &str| {
        let rule = when(
            json!({ "not": having(key, &[word], false) }),
            json!({ "properties": { "file": unnamed } }),
        );
        (rule, having(key, &[word], false))
    };
    let needs_file = json!({ "properties": { "file": named }, "required": ["file"] });
    match stage.name {
        "layer" => rules.push(unless("from", "file").0),
        "biomes" => rules.push(unless("from", "image").0),
        "shore" => {
            let (rule, with) = unless("from", "file");
            rules.extend([rule, when(with, needs_file)]);
        }
        "ranges" => {
            let (rule, with) = unless("uplift", "picture");
            rules.extend([rule, when(with, needs_file)]);
        }
        "noise" => rules.push(json!({ "properties": { "warp_feature_cells": { "anyOf": [{ "const": 0 }, { "minimum": 4 }] } } })),
        "diamond_square" => {
            let powers = (1..=32).map(|bits| 1u64 << bits);
            let powers: Vec<u64> = std::iter::once(0).chain(powers).collect();
            rules.push(json!({ "properties": { "world_cells": { "enum": powers },
                "feature_cells": { "enum": powers } } }));
            let most = json!({ "properties": { "world_cells": { "maximum": 1u32 << 26 } } });
            rules.push(when(having("random", &["mul"], false), most));
        }
        _ => {}
    }
    if stage.name == "biomes" {
        let climate = having("from", &["climate"], false);
        rules.push(when(
            climate,
            json!({ "properties": { "table": { "minItems": 1 } }, "required": ["table"] }),
        ));
    }
    if stage.is_generator {
        // With no heights to combine with there is nothing to mask.
        rules.push(when(
            having("combine", &["none"], true),
            json!({ "properties": { "mask": { "const": "none" } } }),
        ));
    }
    rules
}

/// A stroke: for each tool, on the height and on a layer, the keys that it has.
fn stroke() -> Value {
    let layers: Vec<&str> = Layer::PAINTED.iter().map(|(name, ..)| *name).collect();
    let place = number(-strokes::FARTHEST_M, strokes::FARTHEST_M);
    let point = json!({ "type": "array", "prefixItems": [place, place, number(0.0, 1.0)],
        "minItems": 2, "maxItems": 3 });
    let path = json!({ "type": "array", "items": point, "minItems": 1 });
    let tool = |tool: &str, is_layer: bool| {
        let [amount_key, height_key] =
            if is_layer { ["amount", "value"] } else { ["amount_m", "height_m"] };
        let most = if is_layer { 1.0 } else { 1e9 };
        let height = if is_layer { number(0.0, 1.0) } else { number(-1e9, 1e9) };
        let strength = ("strength", number(0.0, 1.0), false);
        let hold = (!is_layer).then(|| ("hold", json!({ "type": "boolean" }), false));
        let own = match tool {
            "raise" | "lower" => vec![(amount_key, number(0.0, most), true)],
            "noise" => vec![
                (amount_key, number(-most, most), true),
                ("feature_m", number(0.001, 1e9), true),
                ("seed", json!({ "$ref": "#/$defs/seed" }), false),
            ],
            "flatten" => [(height_key, height, true), strength].into_iter().chain(hold).collect(),
            "ramp" => {
                let heights = json!({ "type": "array", "items": height, "minItems": 2 });
                [(height_key, heights, true), strength].into_iter().chain(hold).collect()
            }
            "lake" | "river" => return water_stroke(tool),
            "stamp" => vec![
                ("file", json!({ "type": "string", "minLength": 1 }), true),
                (amount_key, number(-most, most), true),
                ("turn_deg", number(-360.0, 360.0), false),
                (height_key, height, false),
                strength,
            ],
            _ => vec![strength],
        };
        let mut properties = json!({
            "tool": { "const": tool }, "at_m": path, "radius_m": number(0.001, 1e9),
            "falloff": number(0.0, 1.0),
        });
        let mut required = vec!["tool", "at_m", "radius_m"];
        if is_layer {
            properties["layer"] = json!({ "enum": layers });
            required.push("layer");
        }
        for (key, schema, is_required) in own {
            properties[key] = schema;
            required.extend(is_required.then_some(key));
        }
        let mut table = json!({ "type": "object", "properties": properties, "required": required,
            "additionalProperties": false });
        if tool == "stamp" {
            table["dependentRequired"] = json!({ "strength": [height_key] });
        }
        table
    };
    let on_height = strokes::TOOLS.iter().map(|name| tool(name, false));
    let on_layers = strokes::LAYER_TOOLS.iter().map(|name| tool(name, true));
    json!({ "oneOf": on_height.chain(on_layers).collect::<Vec<_>>() })
}

/// A stroke that makes a lake or a river.
fn water_stroke(tool: &str) -> Value {
    let place = || number(-strokes::FARTHEST_M, strokes::FARTHEST_M);
    let point = json!({ "type": "array", "prefixItems": [place(), place()], "minItems": 2,
        "maxItems": 2 });
    let path = |least: u32| json!({ "type": "array", "items": point, "minItems": least });
    let mut own = match tool {
        "lake" => json!({
            "level_m": number(-1e9, 1e9), "depth_m": number(0.0, 1e9), "shore_m": number(0.0, 1e9),
            "outlet_m": point, "seed": { "$ref": "#/$defs/seed" }, "falloff": number(0.0, 1.0),
        }),
        _ => json!({
            "at_m": path(2), "radius_m": number(0.0, 1e9), "falloff": number(0.0, 1.0),
            "height_m": { "type": "array", "items": number(-1e9, 1e9), "minItems": 2 },
            "width_m": number(0.001, 1e9), "catchment_km2": number(0.0, 1e7),
        }),
    };
    own["tool"] = json!({ "const": tool });
    if tool == "river" {
        return json!({ "type": "object", "properties": own, "additionalProperties": false,
            "required": ["tool", "at_m", "height_m"] });
    }
    // By an outline, or by a place and a radius.
    let mut round = own.clone();
    own["at_m"] = path(3);
    own["at_m"]["maxItems"] = strokes::OUTLINE_MAX.into();
    round["at_m"] = json!({ "type": "array", "items": point, "minItems": 1, "maxItems": 1 });
    round["radius_m"] = number(0.001, 1e9);
    json!({ "oneOf": [
        { "type": "object", "properties": own, "required": ["tool", "at_m", "level_m"],
            "additionalProperties": false },
        { "type": "object", "properties": round,
            "required": ["tool", "at_m", "radius_m", "level_m"], "additionalProperties": false },
    ] })
}

/// A biome of a list.
fn biome() -> Value {
    let shapes: Vec<&str> = biomes::BiomeShape::ALL.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 1 },
            "colour": { "type": "string", "pattern": "^#[0-9a-fA-F]{6}$" },
            "shape": { "enum": shapes },
            "base_m": number(-1e6, 1e6),
            "relief_m": number(0.0, 1e6),
            "frequency": number(0.000_001, 0.5),
            "amplitudes": { "type": "array", "items": number(-1.0, 1.0), "minItems": 1,
                "maxItems": 8 },
            "hardness": number(0.0, 1.0), "rain": number(0.0, 1.0), "vegetation": number(0.0, 1.0),
        },
        "required": ["name", "colour"],
        "additionalProperties": false,
    })
}

/// The seeds: whole numbers of 64 bits, also in quotes.
fn seed() -> Value {
    // Numbers of fewer digits than the largest, and those that are less from some digit on.
    let most = u64::MAX.to_string();
    let less = most.char_indices().filter_map(|(i, digit)| {
        let below = u32::from(digit).checked_sub(u32::from('1')).filter(|_| digit != '0')?;
        Some(format!("{}[0-{below}][0-9]{{{}}}", &most[..i], most.len() - i - 1))
    });
    let all: Vec<String> =
        less.chain([most.clone(), format!("[0-9]{{1,{}}}", most.len() - 1)]).collect();
    json!({ "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": u64::MAX },
        { "type": "string", "pattern": format!("^\\+?0*({})$", all.join("|")) },
    ] })
}

/// Where a stage of a recipe, which need not be checked, names files: JSON pointers within it.
pub fn file_places(stage: &Value) -> Vec<String> {
    let known =
        stage.get("kind").and_then(Value::as_str).and_then(|kind| crate::stage::find(kind).ok());
    let params = known.into_iter().flat_map(|stage| stage.params);
    let own = params
        .filter(|param| param.kind == ParamKind::File)
        .map(|param| format!("/{}", param.name));
    let strokes = stage.get("stroke").and_then(Value::as_array).map_or(0, Vec::len);
    own.chain((0..strokes).map(|j| format!("/stroke/{j}/file"))).collect()
}

impl Recipe {
    /// The stages with their parameters, and the maps, as forms need them: names, units, types,
    /// ranges, defaults, texts.
    pub fn tables() -> Value {
        let parameter = |param: &Param| {
            let mut entry = json!({ "name": param.name, "unit": param.unit, "text": param.doc,
                "default": param.default().to_json() });
            match param.kind {
                ParamKind::Number { min, max, .. } => {
                    (entry["type"], entry["min"], entry["max"]) =
                        ("number".into(), json!(min), json!(max));
                }
                ParamKind::Integer { min, max, .. } => {
                    (entry["type"], entry["min"], entry["max"]) =
                        ("integer".into(), json!(min), json!(max));
                }
                ParamKind::Choice(words) => {
                    (entry["type"], entry["choices"]) = ("choice".into(), json!(words))
                }
                ParamKind::Switch(_) => entry["type"] = "switch".into(),
                ParamKind::File => entry["type"] = "file".into(),
                ParamKind::List(what) => {
                    (entry["type"], entry["items"]) = ("list".into(), what.into())
                }
            }
            entry
        };
        let stage = |stage: &Stage| {
            json!({
                "kind": stage.name, "text": stage.about, "is_generator": stage.is_generator,
                "changes": stage.changes, "can_interleave": stage.can_interleave,
                "hosts": stage.hosts(),
                "maps": stage.maps,
                "parameters": stage.params.iter().map(parameter).collect::<Vec<_>>(),
            })
        };
        let field = |field: &crate::field::Field| {
            json!({ "name": field.name, "unit": field.unit,
            "text": field.about })
        };
        json!({
            "stages": STAGES.into_iter().map(stage).collect::<Vec<_>>(),
            "fields": FIELDS.iter().map(field).collect::<Vec<_>>(),
            "programs": Engine::names(),
        })
    }

    /// The JSON Schema (draft 2020-12) of recipes: every key with its range, default, unit and
    /// text. It takes what reading takes, but for a few relations, which its description lists.
    pub fn schema() -> Value {
        let stages = STAGES.into_iter();
        let nested = STAGES.into_iter().filter(|s| s.can_interleave);
        let beyond = RELATIONS
            .iter()
            .map(|(name, text)| format!("{name} ({text})"))
            .collect::<Vec<_>>()
            .join("; ");
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A recipe of thalweg",
            "description": format!(
                "What thalweg makes: a land, the stages that form it, and the maps to write. TOML \
                 has the same keys. docs/recipes.md explains it. \
                 Besides, reading a recipe checks what a schema cannot say: {beyond}."
            ),
            "type": "object",
            "properties": Top::schema(),
            "required": ["schema"],
            "additionalProperties": false,
            "allOf": rules_of_recipes(),
            "$defs": {
                "seed": seed(),
                "stroke": stroke(),
                "biome": biome(),
                "stage": { "oneOf": stages.map(|s| stage(s, false)).collect::<Vec<_>>() },
                "nested": { "oneOf": nested.map(|s| stage(s, true)).collect::<Vec<_>>() },
            },
        })
    }
}
