//! Files that come with recipes: heights, masks and pictures. Each is kept under the digest of its
//! format and its bytes.

use super::problem::{Answer, Problem};
use super::recipes::file_places;
use super::text;
use crate::bundle::{Sink, Zip};
use crate::error::Error;
use crate::io::{ReadOptions, Reading, Samples, decode_file, read};
use crate::job::Job;
use crate::recipe::Recipe;
use http::StatusCode;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Cursor;
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
    path: PathBuf,
    bytes: Option<Arc<Vec<u8>>>,
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

    fn read(&self, options: &ReadOptions) -> crate::Result<Reading> {
        match &self.bytes {
            Some(bytes) => decode_file(&self.path, bytes, options),
            None => read(&self.path, options),
        }
    }

    fn len(&self) -> Answer<u64> {
        Ok(match &self.bytes {
            Some(bytes) => bytes.len() as u64,
            None => std::fs::metadata(&self.path).map_err(|e| Error::input(&self.path, e))?.len(),
        })
    }

    fn bytes(&self) -> Answer<Cow<'_, [u8]>> {
        Ok(match &self.bytes {
            Some(bytes) => Cow::Borrowed(bytes.as_slice()),
            None => Cow::Owned(crate::io::bytes(&self.path)?),
        })
    }

    /// The heights of the file, or the shares of a mask in a format that heights do not come in.
    /// `name` is what its sender calls it.
    ///
    /// # Errors
    /// What is wrong with it, and more than `max_cells` samples.
    pub fn map(&self, name: &str, max_cells: u64) -> Answer<Reading> {
        let options = ReadOptions { max_cells, ..ReadOptions::default() };
        let mask = || self.read(&ReadOptions { samples: Samples::Shares, ..options });
        let found = self.read(&options).or_else(|first| mask().map_err(|_| first));
        found.map_err(|e| Problem::from(e).of_file(&self.path, name))
    }
}

/// The answer to the sender of a file.
pub fn about(digest: &str, reading: &Reading) -> Value {
    let (low, high) = reading.map.min_max();
    json!({
        "digest": digest, "width": reading.map.width, "height": reading.map.height,
        "spacing_m": reading.map.spacing_m,
        "min_m": low, "max_m": high, "warnings": reading.warnings,
        "href": format!("/v1/inputs/{digest}/height.r32"),
    })
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

/// The run of a recipe and its files.
///
/// # Errors
/// What is wrong with the recipe and its files.
pub fn job(recipe: Recipe, names: &Names, find: &Find) -> Answer<Job> {
    let read = |path: &Path, options: &ReadOptions| {
        let name = path.to_string_lossy();
        let digest = names.iter().find(|(known, _)| *known == name).map(|(_, digest)| digest);
        let found = digest.and_then(|digest| find(digest).ok().flatten());
        let gone = || Error::input(path, "the file is not here, or not any more: send it again");
        found.ok_or_else(gone)?.read(options)
    };
    // Files are stored by digest, and clients know them by their names.
    let named = |problem: Problem| {
        names.iter().fold(problem, |problem, (name, digest)| match find(digest) {
            Ok(Some(stored)) => problem.of_file(&stored.path, name),
            _ => problem,
        })
    };
    Job::read_by(recipe, &read).map_err(|e| named(e.into()))
}

/// A recipe and its files as an archive, from which the command makes the same land: `recipe.toml`,
/// or `recipe.json` for numbers that TOML does not have, names the files beside it.
///
/// # Errors
/// A file that is not here any more, and too little memory.
pub fn archive(recipe: &Value, names: &Names, find: &Find) -> Answer<Vec<u8>> {
    let (mut changed, mut files, mut length) = (recipe.clone(), BTreeMap::new(), 0);
    for (name, digest) in names {
        let gone =
            || Problem::missing(format!("{name}: the file is not here any more: send it again"));
        let stored = find(digest)?.ok_or_else(gone)?;
        let extension = stored.path.extension().unwrap_or_default().to_string_lossy();
        let plain =
            // A file that is named by its digest has no name of its own; sixteen digits keep it
            // short and apart.
            if is_digest(name) { format!("{}.{extension}", &name[..16]) } else { name.clone() };
        length += stored.len()?;
        files.insert(name.as_str(), (plain, stored));
    }
    // The files, and the archive of them.
    crate::memory::admit("the archive", 2 * length)?;
    for (pointer, value) in file_places(recipe) {
        if let Some(((plain, _), place)) =
            value.as_str().and_then(|name| files.get(name)).zip(changed.pointer_mut(&pointer))
        {
            *place = plain.as_str().into();
        }
    }
    let mut archive = Cursor::new(vec![]);
    let mut zip = Zip::new(&mut archive);
    match text::toml(&changed) {
        Some(text) => zip.put("recipe.toml", text.as_bytes())?,
        None => zip.put("recipe.json", format!("{changed:#}\n").as_bytes())?,
    };
    for (plain, stored) in files.values() {
        zip.put(plain, &stored.bytes()?)?;
    }
    zip.keep()?;
    Ok(archive.into_inner())
}
