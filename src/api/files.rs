//! Files that come with recipes: heights, masks and pictures. Each is kept under the digest of its
//! format and its bytes.

use super::problem::{Answer, Problem};
use super::recipes::file_places;
use http::StatusCode;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest name of a file, in bytes.
pub const NAME_MAX: usize = 128;

/// The extension of a file's name, which says its format, in lower case.
///
/// # Errors
/// 400 for a name without one, with folders, or longer than [`NAME_MAX`].
pub fn extension(name: &str) -> Answer<String> {
    let plain = !name.is_empty()
        && name.len() <= NAME_MAX
        && !name.contains(['/', '\\', '\0'])
        && !name.starts_with('.');
    let extension = Path::new(name).extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    let short =
        |e: &String| (1..=5).contains(&e.len()) && e.bytes().all(|c| c.is_ascii_alphanumeric());
    match extension.filter(|e| plain && short(e)) {
        Some(extension) => Ok(extension),
        None => Err(Problem::bad(format!(
            "the name of a file is up to {NAME_MAX} bytes without folders and with an extension \
             that says its format, such as \
             land.tif; this one is {:?}",
            name.chars().take(40).collect::<String>()
        ))),
    }
}

/// What digests the bytes of a file of this extension.
pub fn hasher(extension: &str) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(extension.as_bytes());
    // Between extension and bytes, so that `ti` and a file that begins with `f` are not `tif`.
    hasher.update(&[0]);
    hasher
}

/// Whether a word is a digest, which makes it safe in a path.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
}

/// A file that was sent: where it lies, or its bytes.
#[derive(Clone, Debug)]
pub struct Upload {
    /// Its path, or for one in memory a name with its extension.
    pub path: PathBuf,
    /// What is in one in memory.
    pub bytes: Option<Arc<Vec<u8>>>,
}

impl Upload {
    /// A file on the disk.
    pub fn at(path: PathBuf) -> Self {
        Self { path, bytes: None }
    }

    /// A file in memory.
    pub fn of(name: &str, bytes: Arc<Vec<u8>>) -> Self {
        Self { path: name.into(), bytes: Some(bytes) }
    }
}

/// Finds a file by its digest.
pub type Find<'a> = dyn Fn(&str) -> Answer<Option<Upload>> + 'a;

/// Files by the names that a recipe has for them: their digests.
pub type Names = [(String, String)];

/// Puts names in place of `{ upload = "DIGEST" }`, and refuses names of files that were not sent.
///
/// # Errors
/// 422 at the key that names the file.
pub fn name_files(recipe: &mut Value, names: &mut Vec<(String, String)>) -> Answer<()> {
    for (pointer, value) in file_places(recipe) {
        let refused = |what: String| {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "param", what).at(pointer.clone())
        };
        let name = match &value {
            Value::String(name) if name.is_empty() => continue,
            Value::String(name) => name.clone(),
            Value::Object(object) => match object.get("upload").and_then(Value::as_str) {
                Some(digest) if object.len() == 1 && is_digest(digest) => {
                    if let Some(place) = recipe.pointer_mut(&pointer) {
                        *place = digest.into();
                    }
                    names.push((digest.into(), digest.into()));
                    continue;
                }
                _ => {
                    return Err(refused(format!(
                        "{value}: expected the name of a part of this request, or \
                         {{\"upload\": \"DIGEST\"}} with the digest that \
                         POST /v1/inputs has answered"
                    )));
                }
            },
            // The reader of recipes says what is wrong with it.
            _ => continue,
        };
        if !names.iter().any(|(known, _)| *known == name) {
            return Err(refused(format!(
                "{name:?}: a recipe that comes by HTTP cannot name files of the server: send the \
                 file as a part called {name:?}, or \
                 with POST /v1/inputs and name it by {{\"upload\": \"DIGEST\"}}"
            )));
        }
    }
    Ok(())
}
