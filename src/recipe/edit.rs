//! Changes to a recipe that was read: another size, other settings.

use super::{ByLevel, EVERY_MAX, LAND_MAX, Nested, Recipe, Step};
use crate::error::{Error, Invalid, Result};
use crate::params::{Param, ParamKind, Value, unknown};
use serde_json::Value as Json;

/// Parses `KEY=VALUE` as a person types it.
///
/// # Errors
/// [`Error::Param`] for a text without `=`.
pub fn assignment(text: &str) -> Result<(String, Value)> {
    let (key, value) = parted(text, "rain=4")?;
    Ok((key.into(), typed(value)))
}

/// A value without quotes.
fn typed(value: &str) -> Value {
    match (value, value.parse::<i64>(), value.parse::<f64>()) {
        ("true", ..) => Value::Switch(true),
        ("false", ..) => Value::Switch(false),
        (_, Ok(i), _) => Value::Integer(i),
        (_, _, Ok(f)) => Value::Number(f),
        _ => Value::Word(value.into()),
    }
}

/// The list, the table or the text in quotes that a person typed, as a recipe in TOML or in JSON
/// has it; none for any other value.
///
/// # Errors
/// [`Error::Param`] for one that does not end, and the like.
pub(crate) fn written(value: &str) -> Result<Option<serde_json::Value>> {
    if !value.starts_with(['[', '{', '"', '\'']) {
        return Ok(None);
    }
    if let Ok(json) = Recipe::value_of_json(value) {
        return Ok(Some(json));
    }
    let mut table = Recipe::value_of_toml(&format!("value = {value}")).map_err(|_| {
        let such = "[1, 2], [\"height\", \"flow\"] or { from = 2, to = 1 }";
        Error::param(format!(
            "{value}: neither TOML nor JSON; write a list or a table as a recipe \
             has it, such as {such}"
        ))
    })?;
    Ok(table.as_object_mut().and_then(|table| table.shift_remove("value")))
}

/// `KEY=VALUE` in two.
///
/// # Errors
/// [`Error::Param`] for a text without `=`.
pub fn parted<'a>(text: &'a str, such: &str) -> Result<(&'a str, &'a str)> {
    let parts = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    parts.ok_or_else(|| Error::param(format!("{text:?}: expected KEY=VALUE, such as {such}")))
}

impl Recipe {
    /// Applies `KEY=VALUE` of a key at the top of a recipe that is no table, such as `spacing_m=5`;
    /// `STAGE.KEY=VALUE`, such as `droplets.rain=4`; `water.KEY=VALUE`, such as
    /// `water.channel_area_km2=1`; or `output.KEY=VALUE`, such as `output.format=png` or
    /// `output.formats.flow=exr`. A recipe without a table of water gets one. STAGE is a stage's
    /// number from 1, or its kind, which also means stages of that kind between the steps of
    /// others; of these, KEY may be `every`.
    ///
    /// The settings are not checked against each other: call [`Recipe::check`] when all are set.
    ///
    /// # Errors
    /// [`Error::Param`] for a stage that the recipe does not have, an unknown setting, or a value
    /// that is not allowed.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let Some((stage, assigned)) =
            text.split_once('.').filter(|(stage, _)| !stage.contains('='))
        else {
            let (key, value) = parted(text, "droplets.rain=4 or spacing_m=5")?;
            return self.set_top(key, value);
        };
        if stage == "output" {
            return self.output.set(assigned).map_err(|e| e.inside("", "/output"));
        }
        if stage == "water" {
            let (key, value) = parted(assigned, "channel_area_km2=1")?;
            let mut water = self.water.take().unwrap_or_default();
            water.set(key, value, written(value)?).map_err(|e| e.inside("", "/water"))?;
            self.water = Some(water);
            return Ok(());
        }
        let (key, value) = parted(assigned, "rain=4")?;
        let number = stage.parse::<usize>().ok();
        let (mut found, mut nests) = (false, false);
        let first = self.unwritten();
        let places: Vec<_> = (first..self.stages.len()).map(|i| self.place(i).1).collect();
        for ((i, place), step) in (1..).zip(&places).zip(&mut self.stages[first..]) {
            if number == Some(i) || step.stage.name == stage {
                found = true;
                if key != "every" {
                    step.assign(key, value).map_err(|e| e.inside("", place))?;
                }
            }
            for (j, Nested { every, step }) in step
                .with
                .iter_mut()
                .enumerate()
                .filter(|(_, nested)| nested.step.stage.name == stage)
            {
                (found, nests) = (true, true);
                let at = |e: Error| e.inside("", &format!("{place}/interleave/{j}"));
                match (key, typed(value).whole()) {
                    ("every", Some(steps @ 1..=EVERY_MAX)) => *every = steps as u32,
                    ("every", _) => {
                        let allowed = format!("a whole number, 1 to {EVERY_MAX} (steps)");
                        return Err(at(Invalid::value("every", typed(value), allowed).into()));
                    }
                    _ => step.assign(key, value).map_err(at)?,
                }
            }
        }
        if !found {
            let mut names: Vec<&str> = vec![];
            let nested = |step: &Step| {
                step.with.iter().map(|nested| nested.step.stage.name).collect::<Vec<_>>()
            };
            for name in self
                .written()
                .iter()
                .flat_map(|step| [vec![step.stage.name], nested(step)].concat())
            {
                names.extend((!names.contains(&name)).then_some(name));
            }
            let invalid = unknown("stage of this recipe", stage, names.into_iter());
            let message = format!(
                "{}; or a stage's number, 1 to {}, water, or output",
                invalid.message,
                self.written().len()
            );
            return Err(invalid.saying(message).into());
        }
        if key == "every" && !nests {
            return Err(Error::param(format!(
                "\"every\": only a stage between the steps of another has it, as \
                 [[stage.interleave]] \
                 makes one; in this recipe no \
                 {stage} runs between the steps of another"
            )));
        }
        Ok(())
    }

    /// Gives a recipe that makes its own land another size, in cells.
    ///
    /// # Errors
    /// [`Error::Param`] for a recipe with an input and for a size that is not allowed, and what
    /// [`Recipe::check`] finds.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let allowed = format!("1 to {LAND_MAX} cells a side");
        if self.input.is_some() {
            return Err(Invalid::from("a recipe with an input has the input's size")
                .about("width")
                .into());
        }
        if !(1..=LAND_MAX).contains(&width) || !(1..=LAND_MAX).contains(&height) {
            let message = format!("{width}x{height}: allowed {allowed}");
            return Err(Invalid::of("width", format!("{width}x{height}"), allowed)
                .saying(message)
                .into());
        }
        (self.window.width, self.window.height) = (width, height);
        self.keep_extent()?;
        self.check()
    }

    /// Gives a recipe that makes its own land another extent: metres from the first to the last
    /// vertex of its longer side. All that is in metres follows, areas by the square: heights,
    /// features, strokes, the sea, thresholds. So the land has the same shape in as many cells, but
    /// for rounding. Widths and depths of rivers follow from the water that smaller land has.
    ///
    /// # Errors
    /// [`Error::Param`] for a recipe with an input, for an extent that is not above 0, and for a
    /// key that would leave its range.
    pub fn resize_to(&mut self, extent_m: f64) -> Result<()> {
        let wrong = |message: &str| {
            Invalid::of("extent", extent_m, "metres above 0")
                .saying(format!("extent = {extent_m}: {message}"))
        };
        let Some(spacing_m) = self.spacing_m.filter(|_| self.input.is_none()) else {
            return Err(wrong("a recipe with an input has the input's extent").into());
        };
        let cells = self.window.width.max(self.window.height) - 1;
        if !(extent_m > 0.0 && extent_m.is_finite()) || cells == 0 {
            return Err(wrong("allowed metres above 0, for a land of at least 2 cells").into());
        }
        let factor = extent_m / (f64::from(cells) * spacing_m);
        let mut described = self.describe();
        stretch(&mut described, Factors { across: factor, up: factor, is_water: false });
        described["spacing_m"] = (extent_m / f64::from(cells)).into();
        self.become_described(&described)
    }

    /// After another size: cells as large as the extent says, which the recipe was given.
    pub(super) fn keep_extent(&mut self) -> Result<()> {
        let size = [self.window.width, self.window.height];
        if let Some(extent_m) = self.extent_m {
            self.spacing_m = Some(cell_of(extent_m, size)?);
        }
        Ok(())
    }

    /// Multiplies the heights of a recipe that makes its own land: of what makes land, strokes, the
    /// sea, and thresholds in metres of height. Distances and slopes that are allowed stay, so the
    /// land is steeper or flatter before it is eroded, and rivers find other ways here and there.
    ///
    /// # Errors
    /// [`Error::Param`] for a recipe with an input, for a factor that is not above 0, and for a key
    /// that would leave its range.
    pub fn multiply_relief(&mut self, factor: f64) -> Result<()> {
        let wrong = |message: &str| {
            Invalid::of("relief", factor, "a factor above 0")
                .saying(format!("relief = {factor}: {message}"))
        };
        if self.input.is_some() {
            return Err(wrong("a recipe with an input has the input's heights").into());
        }
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(wrong("allowed is a factor above 0").into());
        }
        let mut described = self.describe();
        stretch(&mut described, Factors { across: 1.0, up: factor, is_water: false });
        self.become_described(&described)
    }

    fn become_described(&mut self, described: &Json) -> Result<()> {
        let file = self.file.take();
        *self = Self { file, ..Self::from_value(described, &self.folder, &self.name)? };
        Ok(())
    }
}

/// What lengths are multiplied by.
#[derive(Clone, Copy)]
struct Factors {
    /// Those on the ground, and areas by the square.
    across: f64,
    /// Heights and depths.
    up: f64,
    /// Whether the table is that of water.
    is_water: bool,
}

/// Multiplies the lengths of a described recipe, which the ends of their names tell.
fn stretch(value: &mut Json, factors: Factors) {
    /// What the land's size does not change: how far apart trees stand, and what lies by rivers.
    const KEPT: [&str; 2] = ["distance_to_water_m", "distance_m"];
    /// Nor rivers with a discharge of 1 m³/s.
    const OF_RIVERS: [&str; 2] = ["width_m", "depth_m"];
    /// Heights of a sea, a floor or a bound that is not there.
    const NONE_M: [(&str, f64); 4] =
        [("sea_level_m", -1e6), ("floor_m", -1e6), ("lowest_m", -1e6), ("highest_m", 1e6)];
    /// Lengths on the ground. All others are heights.
    const ACROSS: [&str; 12] = [
        "at_m",
        "beach_width_m",
        "carry_m",
        "feature_m",
        "fetch_m",
        "noise_size_m",
        "outlet_m",
        "radius_m",
        "shore_m",
        "simplify_m",
        "spacing_m",
        "width_m",
    ];
    let Factors { across, up, is_water } = factors;
    match value {
        Json::Object(object) => {
            // Only `multiply` uses `unit_m`. Elsewhere it stays.
            let has_unit = object.get("combine").is_some_and(|how| how == "multiply");
            // A layer by height has the ends of its ramp in metres.
            let is_by_height = object.get("from").is_some_and(|from| from == "height");
            for (key, value) in object {
                if NONE_M.iter().any(|(name, none)| name == key && value.as_f64() == Some(*none)) {
                    continue;
                }
                let is_kept = KEPT.contains(&key.as_str())
                    || is_water && OF_RIVERS.contains(&key.as_str())
                    || key == "unit_m" && !has_unit;
                let by = match key.rsplit('_').next() {
                    Some("start" | "end") if is_by_height => Some(up),
                    Some("m") if is_kept => None,
                    Some("m") if ACROSS.contains(&key.as_str()) => Some(across),
                    Some("m") => Some(up),
                    Some("m2" | "km2") => Some(across * across),
                    _ => None,
                };
                match (by, value) {
                    // What follows the place of a stroke's point is how hard it presses.
                    (Some(by), Json::Array(points)) if key == "at_m" => points
                        .iter_mut()
                        .flat_map(|point| point.as_array_mut().into_iter().flatten().take(2))
                        .for_each(|metres| multiply(metres, by)),
                    (Some(by), value) => multiply(value, by),
                    (None, value) => {
                        stretch(value, Factors { is_water: is_water || key == "water", ..factors })
                    }
                }
            }
        }
        Json::Array(list) => list.iter_mut().for_each(|value| stretch(value, factors)),
        _ => {}
    }
}

/// Multiplies all numbers of a value, of its lists and of its ramps.
fn multiply(value: &mut Json, by: f64) {
    match value {
        Json::Number(number) => *value = number.as_f64().map_or(0.0, |number| number * by).into(),
        Json::Array(list) => list.iter_mut().for_each(|value| multiply(value, by)),
        Json::Object(object) => object.values_mut().for_each(|value| multiply(value, by)),
        _ => {}
    }
}

impl Step {
    /// Sets one parameter to a value as a person types it, which may be a list or a table as in a
    /// recipe.
    ///
    /// # Errors
    /// As [`Step::set`].
    pub fn assign(&mut self, key: &str, value: &str) -> Result<()> {
        let Some(written) = written(value)? else { return self.set(key, &typed(value)) };
        let param = self.stage.params.iter().find(|param| param.name == key);
        match (param, written) {
            (_, serde_json::Value::String(word)) => self.set(key, &Value::Word(word)),
            (Some(Param { kind: ParamKind::List(_), .. }), serde_json::Value::Array(list)) => {
                self.set(key, &Value::List(list))
            }
            (Some(param), written) if !matches!(param.kind, ParamKind::List(_)) => {
                let values = ByLevel::parse(param, &written)?;
                self.set(key, &values.finest(param))?;
                // `set` has just removed the values by level that were there.
                self.by_level.push((key.into(), values));
                Ok(())
            }
            _ => self.set(key, &Value::Word(value.into())),
        }
    }

    /// Sets one parameter of the stage.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown setting, or a value that is not allowed.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        let (name, params) = (self.stage.name, self.stage.params);
        if ["kind", "seed", "interleave", "finest_only"].contains(&key) {
            return Err(Error::param(format!(
                "{key:?} can be set in a recipe's file only; here the parameters of {name} can be \
                 set"
            )));
        }
        if !params.iter().any(|param| param.name == key) {
            return Err(unknown(
                &format!("parameter of {name}"),
                key,
                params.iter().map(|p| p.name),
            )
            .about(key)
            .into());
        }
        self.settings.set(params, key, value)?;
        // One value is that of all levels.
        self.by_level.retain(|(name, _)| name != key);
        Ok(())
    }
}

/// Metres a cell may have.
pub(super) const CELL_M: [f64; 2] = [1e-3, 1e6];

/// Metres a cell of a land whose longer side is that long.
pub(super) fn cell_of(extent_m: f64, size: [u32; 2]) -> Result<f64> {
    let steps = size[0].max(size[1]).saturating_sub(1);
    let wrong = |why: String| Err(Invalid::from(why).about("extent_m").into());
    if steps == 0 {
        return wrong("extent_m: a land of one cell has none: give spacing_m".into());
    }
    let cell_m = extent_m / f64::from(steps);
    if !(CELL_M[0]..=CELL_M[1]).contains(&cell_m) {
        let [low, high] = CELL_M;
        return wrong(format!(
            "extent_m = {extent_m}: cells of {cell_m} m; allowed {low} to {high} m a cell"
        ));
    }
    Ok(cell_m)
}
