//! What a client asks for: a recipe, its files, and the query.

use super::files;
use super::problem::Answer;
#[cfg(not(feature = "io"))]
use super::problem::Problem;
#[cfg(feature = "io")]
use super::uploads;
use crate::identity;
use crate::job::Job;
use crate::recipe::Recipe;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a client asks for: enough to make its land again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The recipe as it came.
    pub recipe: Value,
    /// Its name, where it has none of its own.
    pub name: String,
    /// The files that it names, by the names that it has for them: their digests.
    #[serde(default)]
    pub files: Vec<(String, String)>,
    /// The pictures of its time-lapse and their longest side.
    #[serde(default)]
    pub frames: Option<(usize, u32)>,
    /// The level that it ends with.
    #[serde(default)]
    pub level: Option<i32>,
}

impl Request {
    /// Of a recipe and the files that came with it, by their names. `name` is for a recipe that has
    /// none.
    ///
    /// # Errors
    /// A file that the client has not sent.
    pub fn of(
        mut recipe: Value,
        mut files: Vec<(String, String)>,
        name: Option<&str>,
    ) -> Answer<Self> {
        files::name_files(&mut recipe, &mut files)?;
        // A recipe of standard input has this name, too.
        let name = name.unwrap_or("recipe").into();
        Ok(Self { recipe, name, files, frames: None, level: None })
    }

    /// The recipe.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn recipe(&self) -> Answer<Recipe> {
        super::recipes::recipe(&self.recipe, &self.name)
    }

    /// The run of a recipe, which is this one or one that follows from it.
    ///
    /// # Errors
    /// What is wrong with the recipe and its files; 501 for files without the feature `io`.
    pub fn job(&self, recipe: Recipe, find: &files::Find) -> Answer<Job> {
        #[cfg(feature = "io")]
        let job = uploads::job(recipe, &self.files, find)?;
        #[cfg(not(feature = "io"))]
        let job = {
            // There is none to be found.
            let _ = find;
            let reads = recipe.files().next().is_some();
            if reads { Err(Problem::lacking())? } else { Job::new(recipe)? }
        };
        let job = match self.level {
            Some(level) => job.until_level(level)?,
            None => job,
        };
        if let Some((frames, _)) = self.frames {
            job.clone().frames(frames)?;
        }
        Ok(job)
    }

    /// The recipe and its files as an archive: see [`uploads::archive`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "io")]
    pub fn archive(&self, find: &files::Find) -> Answer<Vec<u8>> {
        uploads::archive(&self.recipe, &self.files, find)
    }

    /// The digest of all that decides the bytes of the run: the recipe with every setting, its
    /// files, and the edition of the program.
    pub fn digest(&self, job: &Job) -> String {
        let all = json!({
            "thalweg": identity::engine(), "recipe": job.recipe().describe(), "files": self.files,
            "frames": self.frames,
            "level": self.level,
        });
        super::hash(all.to_string().as_bytes())
    }
}
