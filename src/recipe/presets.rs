//! Named settings of the droplets stage.

use super::{ByLevel, Nested, Step};
use crate::error::Result;
use crate::params::{Settings, Value, unknown};
use crate::stage;

/// A preset: its name, what it makes, the settings that are not at their defaults.
pub type Preset = (&'static str, &'static str, &'static [(&'static str, f64)]);

/// Named settings of the droplets stage.
pub const PRESETS: &[Preset] = &[
    ("default", "valleys that branch, fans at their mouths", &[]),
    ("gentle", "old hills: half the rain, little carried", &[("rain", 0.5), ("capacity", 1.0)]),
    ("deep", "far-travelled water and more of it: mature valleys with smooth floors", &[("rain", 3.0), ("lifetime", 256.0)]),
    (
        "article",
        "the algorithm of van der Veen's article: its constants and its half droplet a cell, on the land as it is",
        &[
            ("rain", 0.5),
            // Fewer droplets at a time, and all that the ground allows in a step: so as much is moved as by one droplet after another.
            ("density", 0.0625),
            ("limit", 1.0),
            ("lifetime", 300.0),
            ("inertia", 0.3),
            ("slope_min", 0.01),
            ("capacity", 10.0),
            ("deposition", 0.08),
            ("erosion", 0.7),
            ("gravity", 9.81),
            ("evaporation", 0.02),
            ("radius", 5.0),
        ],
    ),
];

/// The droplets stage with a preset's settings.
pub fn preset(name: &str) -> Result<Step> {
    let Some((_, _, values)) = PRESETS.iter().find(|(n, _, _)| *n == name) else {
        return Err(unknown("preset", name, PRESETS.iter().map(|(n, _, _)| *n)).into());
    };
    let stage = &stage::droplets::STAGE;
    let mut settings = Settings::defaults(stage.params);
    for (name, v) in *values {
        let value = if v.fract() == 0.0 { Value::Integer(*v as i64) } else { Value::Number(*v) };
        settings.set(stage.params, name, &value)?;
    }
    Ok(Step::of(stage, settings))
}

/// A setting, and its values on the coarsest and the finest level.
type Ends = (&'static str, [f64; 2]);

/// What the settings of a preset become where a land has levels, from the coarsest to the finest. Water that comes from afar has done most of its
/// work on coarse levels, and more of it would drown the land in sediment. A preset that is not here is for a land as it is.
const BY_LEVEL: &[(&str, &[Ends])] = &[
    ("default", &[("lifetime", [192.0, 80.0]), ("rain", [1.5, 0.5]), ("capacity", [1.0, 1.0])]),
    ("gentle", &[("lifetime", [192.0, 80.0]), ("rain", [0.75, 0.25]), ("capacity", [0.5, 0.5])]),
    ("deep", &[("rain", [1.5, 1.0]), ("lifetime", [256.0, 128.0]), ("capacity", [1.0, 1.0])]),
];

/// What a preset becomes where a land has levels; none for one that is for a land as it is.
fn by_level(name: &str) -> Option<&'static [Ends]> {
    BY_LEVEL.iter().find(|(known, _)| *known == name).map(|(_, ends)| *ends)
}

/// Whether a preset is for a land with levels. That of the published algorithm, which has none, is not.
pub fn preset_has_levels(name: &str) -> bool {
    by_level(name).is_some()
}

/// Slopes slide after so many steps, down to an angle that is steeper on coarse levels: sliding there would melt the ridges.
const SLIDES: (u32, [f64; 2]) = (16, [60.0, 40.0]);

/// The droplets stage with a preset's settings, for a land with levels: slopes slide between its steps. For a preset that is for a land as it is, the
/// same as [`preset`].
pub fn preset_by_level(name: &str) -> Result<Step> {
    let mut step = preset(name)?;
    let Some(values) = by_level(name) else { return Ok(step) };
    step.by_level = values.iter().map(|&(key, [from, to])| (key.to_string(), ByLevel::Ramp { from, to })).collect();
    let (every, [from, to]) = SLIDES;
    let mut slide = Step::new("thermal", &[("steps", Value::Integer(1))])?;
    slide.by_level.push(("repose_deg".into(), ByLevel::Ramp { from, to }));
    step.with.push(Nested { every, step: slide });
    Ok(step)
}

/// A preset as a stage of a recipe has it, for a land as it is or for one with levels.
pub fn preset_stage((name, _, settings): &Preset, levels: bool) -> serde_json::Value {
    let mut stage = serde_json::json!({ "kind": "droplets" });
    let levels = by_level(name).filter(|_| levels);
    let ends = levels.unwrap_or_default();
    for (key, value) in settings.iter().filter(|(key, _)| ends.iter().all(|(other, _)| other != key)) {
        stage[*key] = number(*value);
    }
    for (key, [from, to]) in ends {
        stage[*key] = if from == to { number(*from) } else { serde_json::json!({ "from": number(*from), "to": number(*to) }) };
    }
    if levels.is_some() {
        let (every, [from, to]) = SLIDES;
        let angle = serde_json::json!({ "from": number(from), "to": number(to) });
        stage["with"] = serde_json::json!([{ "kind": "thermal", "every": every, "steps": 1, "repose_deg": angle }]);
    }
    stage
}

/// A number as people write it: whole ones without a point.
fn number(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 { (value as i64).into() } else { value.into() }
}
