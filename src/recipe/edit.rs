//! Changes to a recipe that was read: another size, other settings.

use super::{EVERY_MAX, LAND_MAX, Nested, Output, Recipe, Step};
use crate::error::{Error, Invalid, Result};
use crate::params::{Value, unknown};
use serde_json::json;

/// Parses `KEY=VALUE` as a person types it.
///
/// # Errors
/// [`Error::Param`] for a text without `=`.
pub fn assignment(text: &str) -> Result<(String, Value)> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Error::param(format!("{text:?}: expected KEY=VALUE, such as rain=4")));
    };
    let value = value.trim();
    let parsed = match (value, value.parse::<i64>(), value.parse::<f64>()) {
        ("true", ..) => Value::Switch(true),
        ("false", ..) => Value::Switch(false),
        (_, Ok(i), _) => Value::Integer(i),
        (_, _, Ok(f)) => Value::Number(f),
        _ => Value::Word(value.into()),
    };
    Ok((key.trim().into(), parsed))
}

impl Recipe {
    /// Applies `STAGE.KEY=VALUE`, such as `droplets.rain=4`, `water.KEY=VALUE`, such as `water.river_km2=1`, or `output.KEY=VALUE`, such as
    /// `output.format=png` or `output.formats.flow=exr`. A recipe without a table of water gets one. STAGE is a stage's number from 1, or its kind, which also means
    /// stages of that kind between the steps of others; of these, KEY may be `every`.
    ///
    /// The settings are not checked against each other: call [`Recipe::check`] when all are set.
    ///
    /// # Errors
    /// [`Error::Param`] for a stage that the recipe does not have, an unknown setting, or a value that is not allowed.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let Some((stage, assigned)) = text.split_once('.').filter(|(stage, _)| !stage.contains('=')) else {
            return Err(Error::param("expected STAGE.KEY=VALUE, such as droplets.rain=4"));
        };
        if stage == "output" {
            return self.output.set(assigned).map_err(|e| e.inside("", "/output"));
        }
        if stage == "water" {
            let Some((key, value)) = assigned.split_once('=') else {
                return Err(Error::param(format!("{assigned:?}: expected KEY=VALUE, such as river_km2=1")));
            };
            let mut water = self.water.take().unwrap_or_default();
            water.set(key.trim(), value.trim()).map_err(|e| e.inside("", "/water"))?;
            self.water = Some(water);
            return Ok(());
        }
        let (key, value) = assignment(assigned)?;
        let number = stage.parse::<usize>().ok();
        let (mut found, mut nests) = (false, false);
        for (i, step) in self.stages.iter_mut().enumerate() {
            if number == Some(i + 1) || step.stage.name == stage {
                found = true;
                if key != "every" {
                    step.set(&key, &value).map_err(|e| e.inside("", &format!("/stage/{i}")))?;
                }
            }
            for (j, Nested { every, step }) in
                step.with.iter_mut().enumerate().filter(|(_, nested)| nested.step.stage.name == stage)
            {
                (found, nests) = (true, true);
                let at = |e: Error| e.inside("", &format!("/stage/{i}/with/{j}"));
                match (key.as_str(), &value) {
                    ("every", Value::Integer(steps @ 1..=EVERY_MAX)) => *every = *steps as u32,
                    ("every", _) => {
                        return Err(at(
                            Invalid::value("every", &value, format!("a whole number, 1 to {EVERY_MAX} (steps)")).into()
                        ));
                    }
                    _ => step.set(&key, &value).map_err(at)?,
                }
            }
        }
        if !found {
            let mut names: Vec<&str> = vec![];
            let nested = |step: &Step| step.with.iter().map(|nested| nested.step.stage.name).collect::<Vec<_>>();
            for name in self.stages.iter().flat_map(|step| [vec![step.stage.name], nested(step)].concat()) {
                names.extend((!names.contains(&name)).then_some(name));
            }
            let invalid = unknown("stage of this recipe", stage, names.into_iter());
            let message = format!("{}; or a stage's number, 1 to {}, water, or output", invalid.message, self.stages.len());
            return Err(invalid.saying(message).into());
        }
        if key == "every" && !nests {
            return Err(Error::param(format!(
                "\"every\": only a stage between the steps of another has it, as [[stage.with]] makes one; in this recipe no \
                 {stage} runs between the steps of another"
            )));
        }
        Ok(())
    }

    /// Gives a recipe that makes its own land another size, in cells.
    ///
    /// # Errors
    /// [`Error::Param`] for a recipe with an input and for a size that is not allowed, and what [`Recipe::check`] finds.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let allowed = format!("1 to {LAND_MAX} cells a side");
        if self.input.is_some() {
            return Err(Invalid::from("a recipe with an input has the input's size").about("width").into());
        }
        if !(1..=LAND_MAX).contains(&width) || !(1..=LAND_MAX).contains(&height) {
            let message = format!("{width}x{height}: allowed {allowed}");
            return Err(Invalid::of("width", format!("{width}x{height}"), allowed).saying(message).into());
        }
        (self.window.width, self.window.height) = (width, height);
        self.check()
    }
}

impl Output {
    /// Applies `KEY=VALUE`. Maps are parted by commas, and the ends of a range by a space or a comma.
    fn set(&mut self, text: &str) -> Result<()> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(Error::param(format!("{text:?}: expected KEY=VALUE, such as format=png")));
        };
        let (key, value) = (key.trim(), value.trim());
        let words = || value.split([',', ' ']).filter(|word| !word.is_empty());
        let json = match key {
            "maps" => words().collect(),
            "range_m" => words().map(|word| word.parse::<f64>().map_or_else(|_| json!(word), |v| json!(v))).collect(),
            "preview" => value.parse::<bool>().map_or_else(|_| json!(value), |v| json!(v)),
            "sea_level_m" => value.parse::<f64>().map_or_else(|_| json!(value), |v| json!(v)),
            _ => json!(value),
        };
        // The reader of recipes checks it, beside what is there.
        let mut described = self.describe();
        match key.split_once('.') {
            Some(("formats", map)) => described["formats"][map] = json,
            _ => described[key] = json,
        }
        *self = Self::parse(Some(&described))?;
        Ok(())
    }
}

impl Step {
    /// Sets one parameter of the stage.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown setting, or a value that is not allowed.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        let (name, params) = (self.stage.name, self.stage.params);
        if ["kind", "seed", "with", "levels"].contains(&key) {
            return Err(Error::param(format!(
                "{key:?} can be set in a recipe's file only; here the parameters of {name} can be set"
            )));
        }
        if !params.iter().any(|param| param.name == key) {
            return Err(unknown(&format!("parameter of {name}"), key, params.iter().map(|p| p.name)).about(key).into());
        }
        self.settings.set(params, key, value)?;
        // One value is that of all levels.
        self.by_level.retain(|(name, _)| name != key);
        Ok(())
    }
}
