//! What a run has left: its files by name and digest, and its maps.

use super::media_type;
use crate::bundle::Bundle;
use crate::io::Stored;
use crate::job::Job;
use serde_json::{Value, json};
use std::path::Path;

/// The result of a job as JSON: its files, those below `root` by their names there, the maps that
/// can be had, and the digest of all files.
///
/// # Errors
/// As [`crate::Outcome::map`].
pub fn about(job: &Job, bundle: &Bundle, root: &Path, maps: &[&str]) -> crate::Result<Value> {
    let name = |file: &Stored| -> String {
        let path = file.path.strip_prefix(root).unwrap_or(&file.path);
        path.components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect::<Vec<_>>()
            .join("/")
    };
    let mut files: Vec<(String, &Stored)> =
        bundle.timelapse.iter().chain(&bundle.files).map(|file| (name(file), file)).collect();
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut hasher = blake3::Hasher::new();
    for (name, file) in &files {
        // No name has a 0, so no two lists of files run together to the same bytes.
        hasher.update(format!("{name}\0{}\0", file.blake3).as_bytes());
    }
    let (low, high) = bundle.outcome.map("height")?.min_max();
    let (land, scale) = job.schedule().land();
    let entry = |(name, file): &(String, &Stored)| {
        json!({ "name": name, "bytes": file.bytes,
        "media_type": media_type(name), "blake3": file.blake3 })
    };
    Ok(json!({
        "digest": hasher.finalize().to_hex().as_str(),
        "files": files.iter().map(entry).collect::<Vec<_>>(), "fields": maps,
        "range_m": [low, high], "width": land.width, "height": land.height,
        "spacing_m": scale.spacing_m,
    }))
}
