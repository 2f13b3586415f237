//! Recipes as JSON with every setting spelled out, as manifests have them.

use super::Step;
use crate::stage::{biomes, strokes};
#[cfg(feature = "dungeon")]
use serde_json::json;

impl Step {
    /// As a table of a recipe, with every setting spelled out.
    pub(crate) fn describe(&self) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        object.insert("kind".into(), self.stage.name.into());
        if let Some(seed) = self.seed {
            object.insert("seed".into(), seed.into());
        }
        for (name, value) in self.settings.iter() {
            object.insert(name.into(), value.to_json());
        }
        for (name, values) in &self.by_level {
            if let Some(param) = self.stage.params.iter().find(|param| param.name == name) {
                object.insert(name.clone(), values.describe(param));
            }
        }
        if self.finest {
            object.insert("finest_only".into(), true.into());
        }
        if self.stage.name == biomes::STAGE.name {
            object.insert("biome".into(), biomes::describe(&self.settings));
        }
        if self.stage.name == strokes::STAGE.name {
            object.insert("stroke".into(), strokes::describe(&self.settings));
        }
        if !self.with.is_empty() {
            let nested = self.with.iter().map(|nested| {
                let mut value = nested.step.describe();
                value["every"] = nested.every.into();
                value
            });
            object.insert("interleave".into(), nested.collect());
        }
        object.into()
    }
}

/// The table of dungeons, spelled out.
#[cfg(feature = "dungeon")]
pub(super) fn describe_placing(placing: &crate::dungeon::placed::Placing) -> serde_json::Value {
    let crate::dungeon::placed::Placing {
        generator,
        spacing,
        radius,
        slope_max,
        lowest_m,
        highest_m,
        biomes,
        format,
    } = placing;
    let mut table = json!({ "kind": generator.kind().name() });
    let settings = serde_json::to_value(generator).unwrap_or_default();
    for (key, value) in
        settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null())
    {
        table[key] = value.clone();
    }
    table["spacing_cells"] = (*spacing).into();
    table["radius_cells"] = (*radius).into();
    for (key, value) in [("slope_max", slope_max), ("lowest_m", lowest_m), ("highest_m", highest_m)]
    {
        table[key] = json!(value);
    }
    if !biomes.is_empty() {
        table["biomes"] = biomes.as_slice().into();
    }
    table["format"] = format.as_str().into();
    table
}
