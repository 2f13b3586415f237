//! Recipes that come by HTTP: as JSON, as TOML, or with the files that they name.

use super::problem::{Answer, Problem};
use super::store::{Request, Store, is_digest};
use super::{Limits, Service};
pub use crate::api::RECIPE_BYTES_MAX;
pub use crate::api::recipes::Form;
use crate::api::recipes::{admit, file_places, recipe, value};
use crate::api::text;
use crate::bundle::{Sink, Zip};
use crate::error::Error;
use crate::identity;
use crate::job::Job;
use crate::recipe::Recipe;
use axum::body::Body;
use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{FromRequest, Request as HttpRequest};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tower_http::timeout::TimeoutError;

/// Most parts of a request with files.
const PARTS_MAX: usize = 64;
/// Longest name of a file, in bytes.
const NAME_MAX: usize = 128;

/// A recipe as it came.
pub struct Sent {
    /// Its tables and values, which are not checked yet.
    pub recipe: Value,
    /// Files that came with it: their names in the recipe, and their digests.
    pub files: Vec<(String, String)>,
}

/// The form of a text by its content type; none without one.
fn form(content_type: Option<&str>) -> Answer<Option<Form>> {
    let Some(content_type) = content_type else { return Ok(None) };
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" | "text/json" => Ok(Some(Form::Json)),
        // What curl says of any text.
        "application/x-www-form-urlencoded" => Ok(None),
        "application/toml" | "text/x-toml" | "text/toml" => Ok(Some(Form::Toml)),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media-type",
            format!(
                "Content-Type: {essence}: allowed application/json, application/toml, \
                 multipart/form-data with a part recipe"
            ),
        )),
    }
}

/// Reads a body up to a limit.
///
/// # Errors
/// 413 for a longer one.
pub async fn bytes(body: Body, most: usize, what: &str) -> Answer<Vec<u8>> {
    match Limited::new(body, most).collect().await {
        Ok(all) => Ok(all.to_bytes().to_vec()),
        Err(e) if e.is::<LengthLimitError>() => {
            Err(Problem::large(format!("{what} has at most {most} bytes")))
        }
        Err(e) => Err(broken(&*e)),
    }
}

/// What is wrong with a body that does not come to its end.
fn broken(e: &(dyn std::error::Error + 'static)) -> Problem {
    let mut causes = std::iter::successors(Some(e), |e| e.source());
    if causes.any(|e| e.is::<TimeoutError>()) {
        return Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow",
            "the rest of the body did not come in time",
        );
    }
    Problem::bad(format!("the body broke off: {e}"))
}

/// What is wrong with a body of parts.
fn broken_part(e: MultipartError) -> Problem {
    match e.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::large(e.body_text()),
        _ => match broken(&e) {
            slow if slow.status == 408 => slow,
            _ => Problem::bad(format!("multipart/form-data: {}", e.body_text())),
        },
    }
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok())
}

/// Reads the recipe of a request, and stores the files that come with it.
///
/// # Errors
/// What is wrong with the request.
pub async fn receive(service: &Arc<Service>, request: HttpRequest) -> Answer<Sent> {
    let kind = content_type(request.headers()).map(str::to_ascii_lowercase);
    if kind.as_deref().is_some_and(|kind| kind.starts_with("multipart/form-data")) {
        return parts(service, request).await;
    }
    let form = form(kind.as_deref())?;
    let bytes = bytes(request.into_body(), RECIPE_BYTES_MAX, "a recipe").await?;
    let form = form.unwrap_or(Form::guess(&bytes));
    Ok(Sent { recipe: value(&bytes, form)?, files: vec![] })
}

async fn parts(service: &Arc<Service>, request: HttpRequest) -> Answer<Sent> {
    let mut parts =
        Multipart::from_request(request, &()).await.map_err(|e| Problem::bad(e.body_text()))?;
    let (mut recipe, mut files, mut count) = (None, vec![], 0);
    while let Some(part) = parts.next_field().await.map_err(broken_part)? {
        count += 1;
        if count > PARTS_MAX {
            return Err(Problem::large(format!("a request has at most {PARTS_MAX} parts")));
        }
        let name = part.name().unwrap_or_default().to_string();
        if name == "recipe" {
            let kind = form(part.content_type())?;
            let (mut bytes, mut chunks) = (vec![], Chunks::Part(Box::new(part)));
            while let Some(chunk) = chunks.next().await? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > RECIPE_BYTES_MAX {
                    return Err(Problem::large(format!(
                        "a recipe has at most {RECIPE_BYTES_MAX} bytes"
                    )));
                }
            }
            let form = kind.unwrap_or(Form::guess(&bytes));
            recipe = Some(value(&bytes, form)?);
        } else {
            let digest = upload(service, &name, Chunks::Part(Box::new(part))).await?;
            files.push((name, digest));
        }
    }
    let Some(recipe) = recipe else {
        return Err(Problem::bad("multipart/form-data: a part called recipe is missing"));
    };
    Ok(Sent { recipe, files })
}

/// What a file comes in.
pub enum Chunks<'a> {
    /// A part of a request.
    Part(Box<Field<'a>>),
    /// All of a request.
    Body(Body),
}

impl Chunks<'_> {
    async fn next(&mut self) -> Answer<Option<axum::body::Bytes>> {
        match self {
            Self::Part(part) => part.chunk().await.map_err(broken_part),
            Self::Body(body) => loop {
                match body.frame().await {
                    None => return Ok(None),
                    Some(Err(e)) => return Err(broken(&e)),
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Ok(Some(data));
                        }
                    }
                }
            },
        }
    }
}

/// The extension of a file's name, which says its format, in lower case.
fn extension(name: &str) -> Answer<String> {
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

/// Removes a file that did not come whole.
pub struct Scratch(pub PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Stores a file under the digest of its format and its bytes, which is returned.
///
/// # Errors
/// A name without an extension, too many bytes, a full disk.
pub async fn upload(service: &Arc<Service>, name: &str, mut chunks: Chunks<'_>) -> Answer<String> {
    let extension = extension(name)?;
    let scratch =
        Scratch(service.store.root().join("uploads").join(format!(".part-{}", service.number())));
    let mut file = std::fs::File::create_new(&scratch.0)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(extension.as_bytes());
    // Between extension and bytes, so that `ti` and a file that begins with `f` are not `tif`.
    hasher.update(&[0]);
    let mut length = 0u64;
    while let Some(chunk) = chunks.next().await? {
        length += chunk.len() as u64;
        if length > service.limits.upload_bytes {
            return Err(Problem::large(format!(
                "{name}: a file has at most {} bytes here",
                service.limits.upload_bytes
            )));
        }
        hasher.update(&chunk);
        // A disk may be slow, and others wait for this thread.
        file = tokio::task::spawn_blocking(move || file.write_all(&chunk).map(|()| file))
            .await
            .map_err(Problem::fault)??;
    }
    let digest = hasher.finalize().to_hex().to_string();
    let service = service.clone();
    let kept = digest.clone();
    super::blocking(move || {
        // The index must not know of a file that a loss of power would take.
        file.sync_all()?;
        drop(file);
        service.store.keep_upload(&scratch.0, &kept, &extension)?;
        service.store.evict(service.limits.disk_bytes, None)
    })
    .await?;
    Ok(digest)
}

/// Puts names in place of `{ upload = "DIGEST" }`, and refuses names of files that the client has
/// not sent.
fn name_files(sent: &mut Sent) -> Answer<()> {
    for (pointer, value) in file_places(&sent.recipe) {
        let refused = |what: String| {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "param", what).at(pointer.clone())
        };
        let name = match &value {
            Value::String(name) if name.is_empty() => continue,
            Value::String(name) => name.clone(),
            Value::Object(object) => match object.get("upload").and_then(Value::as_str) {
                Some(digest) if object.len() == 1 && is_digest(digest) => {
                    if let Some(place) = sent.recipe.pointer_mut(&pointer) {
                        *place = digest.into();
                    }
                    sent.files.push((digest.into(), digest.into()));
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
        if !sent.files.iter().any(|(known, _)| *known == name) {
            return Err(refused(format!(
                "{name:?}: a recipe that comes by HTTP cannot name files of the server: send the \
                 file as a part called {name:?}, or \
                 with POST /v1/inputs and name it by {{\"upload\": \"DIGEST\"}}"
            )));
        }
    }
    Ok(())
}

impl Sent {
    /// What the client asks for, as it is stored.
    ///
    /// # Errors
    /// A file that the client has not sent.
    pub fn request(mut self, name: Option<&str>) -> Answer<Request> {
        name_files(&mut self)?;
        // A recipe of standard input has this name, too.
        let name = name.unwrap_or("recipe").into();
        Ok(Request { recipe: self.recipe, name, files: self.files, frames: None, level: None })
    }
}

impl Request {
    /// The recipe and its files as an archive, from which the command makes the same land:
    /// `recipe.toml`, or `recipe.json` for numbers that TOML does not have, names the files beside
    /// it.
    ///
    /// # Errors
    /// A file that is not here any more, and too little memory.
    pub fn bundle(&self, store: &Store) -> Answer<Vec<u8>> {
        let (mut recipe, mut files, mut length) = (self.recipe.clone(), BTreeMap::new(), 0);
        for (name, digest) in &self.files {
            let gone = || {
                Problem::missing(format!("{name}: the file is not here any more: send it again"))
            };
            let path = store.upload(digest)?.ok_or_else(gone)?;
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            let plain =
                // A file that is named by its digest has no name of its own; sixteen digits keep it
                // short and apart.
                if is_digest(name) { format!("{}.{extension}", &name[..16]) } else { name.clone() };
            length += std::fs::metadata(&path)?.len();
            files.insert(name.as_str(), (plain, path));
        }
        // The files, and the archive of them.
        crate::memory::admit("the archive", 2 * length)?;
        for (pointer, value) in file_places(&self.recipe) {
            if let Some(((plain, _), place)) =
                value.as_str().and_then(|name| files.get(name)).zip(recipe.pointer_mut(&pointer))
            {
                *place = plain.as_str().into();
            }
        }
        let mut archive = Cursor::new(vec![]);
        let mut zip = Zip::new(&mut archive);
        match text::toml(&recipe) {
            Some(text) => zip.put("recipe.toml", text.as_bytes())?,
            None => zip.put("recipe.json", format!("{recipe:#}\n").as_bytes())?,
        };
        for (plain, path) in files.values() {
            zip.put(plain, &std::fs::read(path)?)?;
        }
        zip.keep()?;
        Ok(archive.into_inner())
    }

    /// The recipe.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn recipe(&self) -> Answer<Recipe> {
        recipe(&self.recipe, &self.name)
    }

    /// The run.
    ///
    /// # Errors
    /// What is wrong with the recipe and its files.
    pub fn job(&self, store: &Store, recipe: Recipe) -> Answer<Job> {
        let place = |path: &Path| -> crate::Result<PathBuf> {
            let name = path.to_string_lossy();
            let digest =
                self.files.iter().find(|(known, _)| *known == name).map(|(_, digest)| digest);
            let found = digest.and_then(|digest| store.upload(digest).ok().flatten());
            found.ok_or_else(|| {
                Error::input(path, "the file is not here, or not any more: send it again")
            })
        };
        // Files are stored by digest, and clients know them by their names.
        let named = |problem: Problem| {
            self.files.iter().fold(problem, |problem, (name, digest)| match store.upload(digest) {
                Ok(Some(stored)) => problem.of_file(&stored, name),
                _ => problem,
            })
        };
        let job = Job::read_by(recipe, &place).map_err(|e| named(e.into()))?;
        let job = match self.level {
            Some(level) => job.until_level(level)?,
            None => job,
        };
        if let Some((frames, _)) = self.frames {
            job.clone().frames(frames)?;
        }
        Ok(job)
    }

    /// The digest of all that decides the bytes of the run: the recipe with every setting, its
    /// files, and the edition of the program.
    pub fn digest(&self, job: &Job) -> String {
        let all = serde_json::json!({
            "thalweg": identity::engine(), "recipe": job.recipe().describe(), "files": self.files,
            "frames": self.frames,
            "level": self.level,
        });
        blake3::hash(all.to_string().as_bytes()).to_hex().to_string()
    }
}

impl Limits {
    /// Refuses a run that is too large, before memory is taken. Returns the work of each of its
    /// parts.
    ///
    /// # Errors
    /// 413 with what is too large.
    pub fn admit(&self, job: &Job) -> Answer<Vec<f64>> {
        let cells = job.schedule().cells();
        if cells > self.cells {
            return Err(Problem::large(format!(
                "the land has {cells} cells with its margin, allowed here {}: make it smaller, or \
                 start the service with --max-cells",
                self.cells
            )));
        }
        let costs = job.schedule().costs();
        let all: f64 = costs.iter().map(|(_, work)| work).sum();
        if all > self.work {
            return Err(Problem::large(format!(
                "the run takes {all:.3e} steps of a cell, allowed here {:.3e}: ask for less rain, \
                 steps or cells, or start the service \
                 with --max-work",
                self.work
            )));
        }
        admit(job, &costs)
    }
}
