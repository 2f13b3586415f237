//! What stages did, as reports and snapshots keep it.

use serde::{Deserialize, Serialize};

/// What a stage did, and how long it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageReport {
    /// Its name.
    pub stage: String,
    /// Passes run.
    pub passes: usize,
    /// Seconds, from making its plan to its last pass.
    pub seconds: f64,
    /// Cells of the map a second, counted once for each pass over it.
    pub cells_per_s: f64,
    /// Steps that particles took, for stages with particles.
    pub droplet_steps: Option<u64>,
    /// Cubic metres of ground that the land lost in all: what left over its borders, what came to
    /// lie on cells of the input without a height, and what is in `lost_m3`. Negative if more came
    /// in. For stages with particles; where the input has cells without a height, for `thermal`,
    /// too. For rivers that cut: what they carried away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported_m3: Option<f64>,
    /// How much of that did not leave over a border, if any: loads that ended with their particles,
    /// and what found no place on the ground when the stage ended. Negative if more was laid down
    /// than taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_m3: Option<f64>,
    /// Cubic metres by which the land rose, for stages that raise it; what they lost is in
    /// `exported_m3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risen_m3: Option<f64>,
    /// Cubic metres of silt that water laid down, for stages with lakes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silted_m3: Option<f64>,
    /// The level that it ran on, where the land has levels: see [`crate::Job::until_level`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<i32>,
    /// What follows from its settings.
    pub derived: serde_json::Value,
}
