//! Reads the files that come with recipes.

use super::files::{Find, Names, Upload, is_digest};
use super::problem::{Answer, Problem};
use super::recipes::file_places;
use super::text;
use crate::bundle::{Sink, Zip};
use crate::error::Error;
use crate::io::{ReadOptions, Reading, Samples, decode_file, read};
use crate::job::Job;
use crate::recipe::Recipe;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

impl Upload {
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
