//! Whether the files of a bundle are those that its manifest names.

use super::MANIFEST;
use super::manifest::file_within;
use crate::error::{Error, Result};
use serde_json::Value;
use std::fs::File;
use std::io;
use std::path::Path;

/// A file that the manifest of a bundle names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Its name.
    pub file: String,
    /// What is wrong with it, if anything.
    pub fault: Option<String>,
}

/// Holds the files of a folder against its manifest: those with digests by these, others by their
/// presence.
///
/// # Errors
/// [`Error::Input`] for a manifest that is missing or is none.
pub fn verify(folder: impl AsRef<Path>) -> Result<Vec<Checked>> {
    let folder = folder.as_ref();
    let path = folder.join(MANIFEST);
    let text = std::fs::read(&path).map_err(|e| Error::input(&path, e))?;
    let manifest: Value = serde_json::from_slice(&text)
        .map_err(|e| Error::input(&path, format!("it is no manifest: {e}")))?;
    if ![1, 2].iter().any(|schema| manifest["schema"] == *schema)
        || !manifest["thalweg"].is_string()
    {
        return Err(Error::input(
            &path,
            "it is no manifest of thalweg: schema = 2 and thalweg are missing",
        ));
    }
    let lists = [
        &manifest["maps"],
        &manifest["textures"],
        &manifest["vectors"],
        &manifest["dungeons"],
        &manifest["scatter"],
        &manifest["program"]["files"],
    ];
    let listed = lists.into_iter().flat_map(|list| list.as_array().into_iter().flatten());
    let digested =
        listed.chain([&manifest["weights"]]).map(|entry| (&entry["file"], &entry["blake3"]));
    let others = [&manifest["preview"], &manifest["tileset"], &manifest["timelapse"]["file"]]
        .map(|file| (file, &Value::Null));
    let mut checked = vec![];
    for (file, digest) in digested.chain(others) {
        let Some(name) = file.as_str() else { continue };
        checked.push(Checked { file: name.into(), fault: fault(folder, name, digest.as_str()) });
    }
    Ok(checked)
}

/// What is wrong with a file, if anything. One without a digest only has to be there.
fn fault(folder: &Path, name: &str, digest: Option<&str>) -> Option<String> {
    let Some(path) = file_within(folder, name) else {
        return Some("it does not lie in this folder, and is not looked at".into());
    };
    let found = (|| {
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        // Piece by piece, since a map can be larger than the memory.
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(&path)?)?;
        Ok(hasher.finalize().to_hex().to_string())
    })();
    match found {
        Err(e) => Some(e.to_string()),
        Ok(found) => digest.filter(|digest| *digest != found).map(|digest| {
            format!(
                "its digest is {}… and the manifest has {}…",
                &found[..12],
                digest.get(..12).unwrap_or(digest)
            )
        }),
    }
}
