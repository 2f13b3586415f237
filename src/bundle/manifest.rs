//! The manifest: what the files of a bundle hold. Nothing in it depends on the device, the day or
//! the place.

use super::{MANIFEST, PREVIEW, TimelapseOptions};
use crate::io::FilmFormat;
use crate::io::engine::Engine;
use crate::job::{FRAMES_MAX, Job, Level, Outcome, StageReport};
use crate::params::rounded;
use crate::site::{Scale, Window};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};

/// What a manifest begins with: the recipe and the land.
pub fn head(job: &Job, window: Window, scale: Scale) -> Value {
    let recipe = job.recipe();
    let mut manifest = json!({
        "schema": 2,
        "thalweg": env!("CARGO_PKG_VERSION"),
        "recipe": recipe.describe(),
        "seed": recipe.seed,
        "width": window.width,
        "height": window.height,
        "spacing_m": scale.spacing_m,
        "datum_m": scale.datum_m,
        "origin": window.origin,
        "order": "rows from north to south, in a row from west to east; samples are vertices",
    });
    #[cfg(feature = "classic")]
    if job.is_classic() {
        manifest["classic"] = json!(
            "the stages that say sequential were made by the published sequential algorithms in \
             floats: other machines may make other bytes"
        );
    }
    if let Some(level) = recipe.output.sea_level_m {
        manifest["sea_level_m"] = json!(level);
    }
    if let Some(digest) = job.start_digest() {
        manifest["input"] = json!({ "words_blake3": digest });
        if job.missing_cells() > 0 {
            manifest["input"]["missing_cells"] = job.missing_cells().into();
        }
    }
    manifest
}

/// The manifest of a run, but for what its files are.
pub fn of(job: &Job, outcome: &Outcome) -> Value {
    let mut manifest = head(job, outcome.window, outcome.scale);
    manifest["stages"] = outcome.stages.iter().map(stage).collect();
    if !outcome.levels.is_empty() {
        manifest["levels"] = levels(outcome);
    }
    if let Some(water) = &outcome.water {
        manifest["water"] = water.clone();
    }
    manifest["maps"] = json!([]);
    if job.recipe().output.preview {
        // No digest: a later version may draw it otherwise.
        manifest["preview"] = json!(PREVIEW);
    }
    // Here, so that keys have one order.
    manifest["warnings"] = json!([]);
    manifest
}

/// What a stage did.
fn stage(s: &StageReport) -> Value {
    let mut entry = json!({ "stage": s.stage, "passes": s.passes, "derived": s.derived });
    if let Some(exported_m3) = s.exported_m3 {
        entry["exported_m3"] = json!(rounded(exported_m3));
    }
    if let Some(lost_m3) = s.lost_m3 {
        entry["lost_m3"] = json!(rounded(lost_m3));
    }
    for (name, m3) in [("risen_m3", s.risen_m3), ("silted_m3", s.silted_m3)] {
        if let Some(m3) = m3 {
            entry[name] = json!(rounded(m3));
        }
    }
    if let Some(level) = s.level {
        entry["level"] = level.into();
    }
    entry
}

/// The land of each level, the coarsest first: its size, the digest of its heights, and how far it
/// is from the last one's.
fn levels(outcome: &Outcome) -> Value {
    let distances = outcome.level_distances();
    let relief = outcome
        .map("height")
        .map(|map| map.min_max())
        .map_or(0.0, |(low, high)| f64::from(high - low));
    let level = |(land, (level, rms_m, digest)): (&Level, &(i32, f64, String))| {
        json!({
            "level": level, "width": land.window.width, "height": land.window.height,
            "origin": land.window.origin,
            "spacing_m": land.scale.spacing_m, "words_blake3": digest, "rms_m": rounded(*rms_m),
            "rms_of_relief": rounded(if relief > 0.0 { rms_m / relief } else { 0.0 }),
        })
    };
    outcome.levels.iter().zip(&distances).map(level).collect()
}

/// The path of a file that a manifest names, if the name leads into the folder of the manifest.
/// Others are no files of the run. Links within the folder are followed.
pub fn file_within(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut parts = Path::new(name).components().peekable();
    let is_named = parts.peek().is_some();
    let is_inside = parts.all(|part| matches!(part, Component::Normal(_)));
    (is_named && is_inside).then(|| folder.join(name))
}

/// The files that the manifest of an earlier run lists, as far as they lie in the folder itself or
/// in that of its time-lapse.
pub fn listed(folder: &Path) -> Vec<PathBuf> {
    let text = std::fs::read(folder.join(MANIFEST)).unwrap_or_default();
    let old: Value = serde_json::from_slice(&text).unwrap_or_default();
    if ![1, 2].iter().any(|schema| old["schema"] == *schema) || !old["thalweg"].is_string() {
        return vec![];
    }
    // A name, or one in the folder of the program, and not any path: what lies elsewhere is not
    // that run's.
    let program = old["program"]["name"].as_str().filter(|name| name.parse::<Engine>().is_ok());
    let plain = |name: &&str| {
        let name = program
            .and_then(|program| name.strip_prefix(program)?.strip_prefix('/'))
            .unwrap_or(name);
        Path::new(name).file_name().is_some_and(|last| last == name)
    };
    let lists = [
        &old["maps"],
        &old["textures"],
        &old["vectors"],
        &old["dungeons"],
        &old["scatter"],
        &old["program"]["files"],
    ];
    let many = lists.into_iter().flat_map(|list| list.as_array().into_iter().flatten());
    let single =
        [&old["preview"], &old["tileset"], &old["weights"]["file"], &old["timelapse"]["file"]];
    let names =
        many.map(|entry| &entry["file"]).chain(single).filter_map(Value::as_str).filter(plain);
    let mut files: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    // A manifest may say any number, and each would be a path to look at.
    let count = old["timelapse"]["frames"].as_u64().unwrap_or(0).min(FRAMES_MAX as u64) as usize;
    let usual = TimelapseOptions::of(count, 1, FilmFormat::Apng);
    let pictures = usual.folder.as_ref().map(|name| folder.join(name));
    // A link is not followed, since it may lead out of the folder.
    let there =
        pictures.is_some_and(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir()));
    if there && old["timelapse"]["folder"] == json!(usual.folder) {
        files.extend((0..count).filter_map(|n| usual.numbered(n)).map(|name| folder.join(name)));
    }
    files
}
