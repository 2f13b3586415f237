//! Named settings of the droplets stage.

use super::Step;
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
        "the constants of van der Veen's article, at its half droplet a cell",
        &[
            ("rain", 0.5),
            ("density", 0.25),
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
    Ok(Step { stage, settings, seed: None, with: vec![], by_level: vec![], finest: false })
}
