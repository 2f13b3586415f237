//! What holds between the keys of a recipe, as JSON Schema.

use crate::field::{self, Decode, FIELDS, Field, Origin};
use crate::format::MapFormat;
use crate::site::Layer;
use crate::stage::{STAGES, Stage};
use serde_json::{Map, Value, json};

/// `if` and `then` of a schema.
pub(super) fn when(condition: Value, then: Value) -> Value {
    json!({ "if": condition, "then": then })
}

/// A table whose key has one of these values; where it is the default, the key may be missing.
pub(super) fn having(key: &str, values: &[&str], default: bool) -> Value {
    let required: &[&str] = if default { &[] } else { std::slice::from_ref(&key) };
    json!({ "properties": { key: { "enum": values } }, "required": required })
}

/// The table of dungeons.
#[cfg(feature = "dungeon")]
pub(super) fn dungeons() -> Value {
    use super::parse::dungeons::FORMATS;
    use crate::dungeon::placed::{RADIUS_MAX, SPACING_MAX};
    use crate::dungeon::{isaac, locks::LOCKS_MAX, rebirth, tinykeep};
    let whole = |low: u32, high: u32| json!({ "type": "integer", "minimum": low, "maximum": high });
    let [labyrinth_min, labyrinth_max] = isaac::LABYRINTH_ROOMS;
    let floor = |rooms_max: u32| {
        let table = json!({
            "level": whole(1, isaac::LEVEL_MAX),
            "room_count": whole(isaac::ROOMS_MIN, labyrinth_max), "labyrinth": whole(0, 100),
            "full_health": { "type": "boolean" }, "locks": whole(0, LOCKS_MAX),
        });
        let labyrinth = |least: u32| {
            json!({ "properties": { "labyrinth": { "minimum": least } },
            "required": ["labyrinth"] })
        };
        let rooms =
            |key: &str, count: u32| json!({ "properties": { "room_count": { key: count } } });
        let mut always = when(labyrinth(100), json!(true));
        always["else"] = rooms("maximum", rooms_max);
        (table, vec![when(labyrinth(1), rooms("minimum", labyrinth_min)), always])
    };
    let positive = json!({ "type": "number", "minimum": 0 });
    let pair = |low: f64| {
        json!({ "type": "array", "items": { "type": "number", "minimum": low },
        "minItems": 2, "maxItems": 2 })
    };
    let (isaac_table, isaac_rules) = floor(isaac::ROOMS_MAX);
    let (mut rebirth_table, rebirth_rules) = floor(rebirth::ROOMS_MAX);
    (rebirth_table["large"], rebirth_table["large_boss"]) = (whole(0, 100), whole(0, 100));
    let tinykeep_table = json!({
        "room_count": whole(tinykeep::MAINS_MIN, tinykeep::ROOMS_MAX), "tile_px": whole(1, 64),
        "ellipse_px": pair(1.0),
        "mean_px": pair(tinykeep::SIDE_MIN.into()), "deviation_px": positive,
        "ratio_max": number(1.5, 10.0),
        "main_factor": number(0.0, 4.0), "main_px": pair(0.0), "loops": number(0.0, 1.0),
        "locks": whole(0, LOCKS_MAX),
    });
    let kind = |kind: &str, own: Value, rules: Vec<Value>| {
        let mut properties = json!({
            "kind": { "const": kind },
            "spacing_cells": { "type": "integer", "minimum": 5, "maximum": SPACING_MAX },
            "radius_cells": { "type": "integer", "minimum": 1, "maximum": RADIUS_MAX },
            "slope_max": number(0.0, 64.0), "lowest_m": number(-1e6, 1e6),
            "highest_m": number(-1e6, 1e6),
            "biomes": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            "format": { "enum": FORMATS },
        });
        own.as_object()
            .into_iter()
            .flatten()
            .for_each(|(key, schema)| properties[key] = schema.clone());
        let mut table = json!({ "type": "object", "properties": properties, "required": ["kind"],
            "additionalProperties": false });
        if !rules.is_empty() {
            table["allOf"] = rules.into();
        }
        table
    };
    json!({
        "oneOf": [
            kind("isaac", isaac_table, isaac_rules), kind("rebirth", rebirth_table, rebirth_rules),
            kind("tinykeep", tinykeep_table, vec![]),
        ],
    })
}

/// A recipe in which some stage is like this.
pub(super) fn with_stage(stage: &Value) -> Value {
    json!({ "properties": { "stage": { "contains": stage } }, "required": ["stage"] })
}

/// A recipe whose output names a map.
pub(super) fn asking_for(map: &str) -> Value {
    json!({
        "properties": { "output": { "properties": { "maps": { "contains": { "const": map } } },
            "required": ["maps"] } },
        "required": ["output"],
    })
}

/// What a recipe needs to have a map; none: nothing.
pub(super) fn source(field: &Field) -> Option<Value> {
    let kinds = |has: &dyn Fn(&Stage) -> bool| {
        STAGES.into_iter().filter(|s| has(s)).map(|s| s.name).collect::<Vec<_>>()
    };
    match field.origin {
        Origin::Every => None,
        Origin::Water => Some(json!({ "required": ["water"] })),
        Origin::Materials => Some(json!({ "required": ["materials"] })),
        Origin::Stage => {
            let own = having("kind", &kinds(&|stage| stage.maps.contains(&field.name)), false);
            let nested = json!({ "properties": { "interleave": { "contains": own } },
                "required": ["interleave"] });
            Some(with_stage(&json!({ "anyOf": [own, nested] })))
        }
        Origin::Ledger => {
            // Water alone is looked for on a map that no stroke changes.
            let none = json!({ "properties": { "stage": { "maxItems": 0 } } });
            Some(json!({ "anyOf": [with_stage(&having("kind", &kinds(&|stage| !stage.is_generator),
                    false)), none] }))
        }
        Origin::Layer(layer) => {
            let is_default = layer == Layer::Hardness;
            let mut painted = having("map", &[field.name], is_default);
            painted["properties"]["kind"] = json!({ "const": "layer" });
            let listed = |kind: &str, list: &str, item: Value| {
                json!({ "properties": { "kind": { "const": kind },
                list: { "contains": item } }, "required": ["kind", list] })
            };
            painted["required"] = if is_default { json!(["kind"]) } else { json!(["kind", "map"]) };
            let drawn = listed("strokes", "stroke", having("layer", &[field.name], false));
            let lived_in = listed("biomes", "biome", json!({ "required": [field.name] }));
            Some(with_stage(&json!({ "anyOf": [painted, drawn, lived_in] })))
        }
    }
}

/// What the parts of a recipe mean for each other, as far as it can be said.
pub(super) fn rules_of_recipes() -> Vec<Value> {
    let mut rules = vec![beginnings(), by_level(), scaled(), endless()];
    // Biomes.
    let of_biomes = |key: &str, value: &str| having(key, &[value], false);
    rules.push(when(with_stage(&rivers_of_climate()), json!({ "required": ["water"] })));
    let coloured = json!({ "properties": { "output": of_biomes("colour", "biomes") },
        "required": ["output"] });
    rules.push(when(coloured, with_stage(&of_biomes("kind", "biomes"))));
    // Things on materials.
    let on_materials = json!({
        "properties": { "scatter": { "contains": {
            "properties": { "on": { "minProperties": 1 } }, "required": ["on"] } } },
        "required": ["scatter"],
    });
    rules.push(when(on_materials, json!({ "required": ["materials"] })));
    // Rivers by traffic.
    let by_flow = json!({
        "properties": { "water": { "type": "object", "required": ["channel_flow"] } },
        "required": ["water"],
    });
    rules.extend(field::find("flow").and_then(source).map(|flow| when(by_flow, flow)));
    // Maps.
    rules.extend(
        FIELDS.iter().filter_map(|field| Some(when(asking_for(field.name), source(field)?))),
    );
    rules
}

/// The names of the stages that have something.
fn names(has: &dyn Fn(&Stage) -> bool) -> Vec<&'static str> {
    STAGES.into_iter().filter(|s| has(s)).map(|s| s.name).collect()
}

/// A recipe begins from a file, from nothing, or with heights in memory.
fn beginnings() -> Value {
    let makers = names(&|stage| stage.is_generator);
    let mut first = having("combine", &["none"], true);
    first["properties"]["kind"] = json!({ "enum": makers });
    first["required"] = json!(["kind"]);
    let later = json!({ "not": first });
    // Biomes bring level ground of their own.
    let begun = json!({ "anyOf": [first, having("kind", &["biomes"], false)] });
    let changed = json!({ "properties": { "stage": { "items": later } } });
    let some = json!({ "properties": { "stage": { "minItems": 1 } }, "required": ["stage"] });
    let no_size = json!({ "properties": { "width": false, "height": false, "extent_m": false } });
    let mut beginnings = when(
        json!({ "required": ["input"] }),
        json!({ "allOf": [changed, no_size, { "anyOf": [some, { "required": ["water"] }] }] }),
    );
    beginnings["else"] = json!({
        "properties": { "range_m": false, "nodata_m": false, "band": false },
        "anyOf": [
            {
                "properties": { "stage": { "prefixItems": [begun], "items": later,
                    "minItems": 1 } },
                "required": ["width", "height", "stage"],
                "oneOf": [{ "required": ["spacing_m"] }, { "required": ["extent_m"] }],
            },
            { "allOf": [changed, no_size, some] },
        ],
    });
    beginnings
}

/// Settings by level are for recipes with levels.
fn by_level() -> Value {
    let lists = ["stroke", "biome", "table"].map(|key| (key.to_string(), json!(true)));
    let alike = json!({ "not": { "type": ["array", "object"] } });
    let mut keys = Map::from_iter(lists);
    keys.insert("finest_only".into(), json!({ "const": false }));
    keys.insert("interleave".into(), json!({ "items": { "additionalProperties": alike } }));
    let mut by_level = when(
        json!({ "required": ["levels"] }),
        with_stage(&having("kind", &names(&Stage::erodes), false)),
    );
    by_level["else"] = json!({ "properties": { "stage": { "items": { "properties": keys,
        "additionalProperties": alike } }, "scale": { "const": 1 } } });
    by_level
}

/// Which recipes have more detail than their own cells.
fn scaled() -> Value {
    let scaled =
        json!({ "properties": { "scale": { "exclusiveMinimum": 1 } }, "required": ["scale"] });
    let detailed = json!({ "not": { "anyOf": [
        having("kind", &["biomes", "random_raise", "shore"], false),
        { "properties": { "kind": { "const": "layer" }, "from": { "const": "file" } },
            "required": ["kind", "from"] },
    ] } });
    when(
        scaled,
        json!({
            "required": ["width"], "properties": { "input": false, "dungeons": false,
                "stage": { "items": detailed } },
        }),
    )
}

/// A stage of biomes whose climate has rivers: where a climate is asked where there is water.
fn rivers_of_climate() -> Value {
    json!({
        "properties": {
            "kind": { "const": "biomes" }, "from": { "const": "climate" },
            "water": { "const": "rivers" },
        },
        "required": ["kind", "from", "water"],
    })
}

/// Which recipes have no end.
fn endless() -> Value {
    let endless =
        json!({ "properties": { "endless": { "const": true } }, "required": ["endless"] });
    let torus = json!({
        "properties": { "border": { "anyOf": [{ "const": "torus" },
            { "type": "array", "contains": { "const": "torus" } }] } },
        "required": ["border"],
    });
    let usually = |stage: &Stage| {
        stage.params.iter().any(|p| {
            p.name == "border" && p.default() == crate::params::Value::Word("torus".into())
        })
    };
    let mut unsaid = having("kind", &names(&usually), false);
    unsaid["not"] = json!({ "required": ["border"] });
    let of_place = json!({ "not": { "anyOf": [
        torus, unsaid, { "properties": { "interleave": { "contains": torus } },
            "required": ["interleave"] },
        having("from", &["file", "image"], false),
        rivers_of_climate(),
        { "properties": { "kind": { "const": "diamond_square" }, "world_cells": { "const": 0 } },
            "required": ["kind"] },
    ] } });
    when(
        endless,
        json!({
            "required": ["width"],
            "properties": {
                "input": false, "margin_cells": { "const": 0 },
                "water": { "properties": { "carve": { "const": false } } },
                "stage": { "items": of_place },
            },
        }),
    )
}

/// What the keys of an output mean for each other.
pub(super) fn rules_of_outputs() -> Vec<Value> {
    let asked = |map: &str| {
        json!({ "properties": { "maps": { "contains": { "const": map } } },
        "required": ["maps"] })
    };
    let formatted = |map: &str| {
        json!({ "properties": { "formats": { "required": [map] } },
        "required": ["formats"] })
    };
    let mut rules: Vec<Value> = FIELDS
        .iter()
        .map(|field| {
            // Without a list there is the height.
            let usual = if field.name == "height" {
                json!({ "properties": { "maps": { "contains": { "const": "height" } } } })
            } else {
                asked(field.name)
            };
            when(formatted(field.name), usual)
        })
        .collect();
    for colours in FIELDS.iter().filter(|field| field.decode == Decode::Colour) {
        let colourless = MapFormat::names(|format| !format.holds_colours());
        let not_16 = json!({ "not": { "enum": colourless } });
        let mut choice = when(
            formatted(colours.name),
            json!({ "properties": { "formats": { "properties": { colours.name: not_16 } } } }),
        );
        choice["else"] = json!({ "properties": { "format": not_16 } });
        rules.push(when(asked(colours.name), choice));
    }
    rules
}

/// A number in a range.
pub(super) fn number(low: f64, high: f64) -> Value {
    json!({ "type": "number", "minimum": low, "maximum": high })
}
