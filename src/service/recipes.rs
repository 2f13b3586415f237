//! Recipes that come by HTTP: as JSON, as TOML, or with the files that they name.

use super::problem::{Answer, Problem};
use super::{Limits, Service};
pub use crate::api::RECIPE_BYTES_MAX;
use crate::api::files;
pub use crate::api::recipes::Form;
use crate::api::recipes::{admit, value};
use crate::api::request::Request;
use crate::job::Job;
use axum::body::Body;
use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{FromRequest, Request as HttpRequest};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tower_http::timeout::TimeoutError;

/// Most parts of a request with files.
const PARTS_MAX: usize = 64;

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
    let extension = files::extension(name)?;
    let scratch =
        Scratch(service.store.root().join("uploads").join(format!(".part-{}", service.number())));
    let mut file = std::fs::File::create_new(&scratch.0)?;
    let mut hasher = files::hasher(&extension);
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

impl Sent {
    /// What the client asks for, as it is stored.
    ///
    /// # Errors
    /// A file that the client has not sent.
    pub fn request(self, name: Option<&str>) -> Answer<Request> {
        Request::of(self.recipe, self.files, name)
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
