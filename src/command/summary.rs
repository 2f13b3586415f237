//! What commands say of runs and files.

use super::console::{bytes, plural};
use thalweg::Job;
use thalweg::io::Stored;
use thalweg::job::StageReport;
use thalweg::params::rounded;
use thalweg::stage::levels::KEEP;
use thalweg::stage::strokes;

/// A line that says what is made.
pub fn title(job: &Job) -> String {
    let (recipe, (window, scale)) = (job.recipe(), job.schedule().land());
    let spacing_m = rounded(scale.spacing_m);
    format!(
        "{}: {} x {} cells of {spacing_m} m, seed {}",
        recipe.name, window.width, window.height, recipe.seed
    )
}

/// Whether people want to know of a unit: not where a map is only put aside, nor where no
/// stroke is drawn.
pub fn tells(stage: &str, passes: usize) -> bool {
    passes > 0 || ![KEEP.name, strokes::STAGE.name].contains(&stage)
}

/// A line for each stage.
pub fn stages_text(stages: &[StageReport]) -> String {
    let line = |s: &StageReport| {
        let (pace, unit) = match s.droplet_steps {
            Some(steps) => (steps as f64 / s.seconds, "M droplet-steps/s"),
            None => (s.cells_per_s, "M cells/s"),
        };
        let passes = plural(s.passes as u64, "pass");
        let name = match s.level {
            Some(level) => format!("{}, level {level}", s.stage),
            None => s.stage.clone(),
        };
        let lost = s.lost_m3.unwrap_or(0.0);
        // What was lost is a part of what was exported, and has a place of its own in the line.
        let left = s.exported_m3.unwrap_or(0.0) - lost;
        let part = |m3: f64, what: &str| match m3 {
            1e7.. => format!(", {:.3} km³ {what}", m3 / 1e9),
            0.5.. => format!(", {m3:.0} m³ {what}"),
            _ => String::new(),
        };
        let left = part(left, "left the map")
            + &part(lost, "lost with particles or without a place")
            + &part(-lost, "more laid down than taken")
            + &part(s.risen_m3.unwrap_or(0.0), "risen")
            + &part(s.silted_m3.unwrap_or(0.0), "silted up");
        format!(
            "  {name:<24} {:>6} {passes:<6}  {:>8.2} s  {:>8.1} {unit}{left}\n",
            s.passes,
            s.seconds,
            pace / 1e6
        )
    };
    stages.iter().filter(|s| tells(&s.stage, s.passes)).map(line).collect()
}

/// A line for each file.
pub fn files_text(files: &[Stored]) -> String {
    files.iter().map(|f| format!("{:>12}  {}\n", bytes(f.bytes), f.path.display())).collect()
}

/// The files for scripts.
pub fn files_json<'a>(files: impl IntoIterator<Item = &'a Stored>) -> serde_json::Value {
    files
        .into_iter()
        .map(|f| {
            serde_json::json!({ "path": f.path.to_string_lossy(), "bytes": f.bytes,
            "blake3": f.blake3 })
        })
        .collect()
}

/// What the steps of 16-bit files stand for, for people.
pub fn steps_text(quantised: &[(String, (f64, f64))]) -> String {
    let line = |(name, (low, high)): &(String, (f64, f64))| {
        format!("{name}: 0 to 65535 stand for {} to {}\n", rounded(*low), rounded(*high))
    };
    quantised.iter().map(line).collect()
}

/// What the steps of 16-bit files stand for, for scripts.
pub fn steps_json(quantised: &[(String, (f64, f64))]) -> serde_json::Value {
    quantised
        .iter()
        .map(|(name, (low, high))| (name.clone(), serde_json::json!([low, high])))
        .collect()
}

/// A line for the animation of a time-lapse and one for its pictures.
pub fn timelapse_text(stored: &[Stored]) -> String {
    let Some((animation, pictures)) = stored.split_first() else { return String::new() };
    let size = bytes(pictures.iter().map(|file| file.bytes).sum());
    let line = match pictures {
        [first, .., last] => {
            format!("{size:>12}  {} to {}\n", first.path.display(), last.path.display())
        }
        _ => String::new(),
    };
    files_text(std::slice::from_ref(animation)) + &line
}
