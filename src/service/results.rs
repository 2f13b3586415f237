//! Results: what a job has left, by the digest of its bytes. Their addresses never change their
//! meaning.

use super::extract::Path as Place;
use super::problem::{Answer, Problem};
use super::recipes::Scratch;
use super::store::Record;
use super::{Service, Shared, blocking};
use crate::api::files::is_digest;
pub use crate::api::media_type;
use crate::api::result;
use crate::bundle::{Bundle, encode_field};
use crate::identity;
use crate::io::MapFormat;
use crate::job::{Job, Maps};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tower::ServiceExt;
use tower_http::services::ServeFile;
use utoipa::ToSchema;

/// What addresses that hold a digest say of themselves.
pub const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// A result.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "the form of result.json, for the OpenAPI document")]
pub struct ResultForm {
    /// BLAKE3 of the names and digests of its files.
    digest: String,
    /// Its address.
    href: String,
    /// The files of `thalweg run`, the manifest among them.
    files: Vec<FileForm>,
    /// The maps that can be had from it.
    fields: Vec<String>,
    /// Lowest and highest height.
    range_m: [f64; 2],
    width: u32,
    height: u32,
    spacing_m: f64,
    /// Pictures of its time-lapse.
    frames: Option<u32>,
}

/// A file of a result.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "as ResultForm")]
pub struct FileForm {
    name: String,
    href: String,
    bytes: u64,
    media_type: String,
    blake3: String,
}

/// Completes the folder of a job that has run: words of its maps, and `result.json`. Returns its
/// digest.
pub fn complete(
    record: &Record,
    recipe_digest: &str,
    job: &Job,
    bundle: &Bundle,
    folder: &Path,
) -> Answer<String> {
    let words = folder.join("words");
    std::fs::create_dir_all(&words)?;
    bundle.outcome.store_maps(&words)?;
    let fields: Vec<&str> = Maps::open(&words)?.fields().map(|field| field.name).collect();
    let mut meta = result::about(job, bundle, &folder.join("files"), &fields)?;
    meta["recipe_digest"] = recipe_digest.into();
    meta["thalweg"] = identity::engine().into();
    meta["frames"] = json!(record.request.frames.map(|(frames, _)| frames));
    let digest = meta["digest"].as_str().unwrap_or_default().to_string();
    // The result comes last: a folder with `result.json` is whole, and needs its snapshot no more.
    let _ = std::fs::remove_file(folder.join("snapshot"));
    std::fs::write(folder.join("result.json"), meta.to_string())?;
    Ok(digest)
}

/// A result as clients see it; none if it is not there any more.
pub fn form(service: &Service, digest: &str) -> Option<Value> {
    let mut meta = service.store.result(digest)?;
    let href = format!("/v1/results/{digest}/");
    for file in meta["files"].as_array_mut().into_iter().flatten() {
        file["href"] = format!("{href}{}", file["name"].as_str().unwrap_or_default()).into();
    }
    meta["href"] = href.into();
    meta.as_object_mut()?.retain(|key, _| !["recipe_digest", "thalweg"].contains(&key.as_str()));
    Some(meta)
}

fn gone() -> Problem {
    Problem::missing("there is no such result, or not any more: post its recipe again")
}

/// Whether a request has what it would get.
fn has(headers: &HeaderMap, tag: &str) -> bool {
    let given =
        headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    given
        .flat_map(|value| value.split(','))
        // RFC 9110, section 13.1.2: If-None-Match compares weakly, so the mark of a weak tag does
        // not count.
        .map(|value| value.trim().trim_start_matches("W/"))
        .any(|v| v == tag || v == "*")
}

/// Bytes whose address never changes its meaning.
pub fn unchanging(
    headers: &HeaderMap,
    tag: &str,
    media_type: &'static str,
    bytes: impl Into<Body>,
) -> Response {
    let tag = format!("\"{tag}\"");
    let shared = [(header::ETAG, tag.clone()), (header::CONTENT_TYPE, media_type.into())];
    let cache = [(header::CACHE_CONTROL, IMMUTABLE)];
    if has(headers, &tag) {
        return (StatusCode::NOT_MODIFIED, shared, cache).into_response();
    }
    (shared, cache, bytes.into()).into_response()
}

/// A file whose address never changes its meaning, or the range of it that was asked for.
pub async fn file(
    path: &Path,
    media_type: &'static str,
    digest: &str,
    request: Request<Body>,
) -> Answer<Response> {
    let tag = format!("\"{digest}\"");
    if has(request.headers(), &tag) {
        return Ok(unchanging(request.headers(), digest, media_type, Body::empty()));
    }
    let mut inner = Request::new(Body::empty());
    *inner.method_mut() = request.method().clone();
    // A range of another file's bytes is no use, but for one of this digest it is.
    let same = request
        .headers()
        .get(header::IF_RANGE)
        .is_none_or(|given| given.as_bytes() == tag.as_bytes());
    if let Some(range) = request.headers().get(header::RANGE).filter(|_| same) {
        inner.headers_mut().insert(header::RANGE, range.clone());
    }
    let served = ServeFile::new(path).oneshot(inner).await.unwrap_or_else(|never| match never {});
    let mut response = served.map(Body::new);
    let status = response.status();
    if status == StatusCode::RANGE_NOT_SATISFIABLE {
        let allowed = response.headers().get(header::CONTENT_RANGE).cloned();
        let mut refused =
            Problem::new(status, "range", "Range: allowed one range of bytes within the file")
                .into_response();
        allowed
            .into_iter()
            .for_each(|range| drop(refused.headers_mut().insert(header::CONTENT_RANGE, range)));
        return Ok(refused);
    }
    if !status.is_success() {
        return Err(gone());
    }
    let headers = response.headers_mut();
    // The time of a file here says nothing of its bytes, which its digest names.
    headers.remove(header::LAST_MODIFIED);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, IMMUTABLE);
    headers.insert(header::ETAG, HeaderValue::from_str(&tag).map_err(Problem::fault)?);
    Ok(response)
}

/// Says how large a map is.
pub fn sizes(response: &mut Response, [width, height]: [u32; 2], spacing_m: f64) {
    let headers = response.headers_mut();
    headers.insert("thalweg-width", width.into());
    headers.insert("thalweg-height", height.into());
    if let Ok(value) = HeaderValue::from_str(&spacing_m.to_string()) {
        headers.insert("thalweg-spacing", value);
    }
}

/// The folder of a result that is there, and what it is.
pub fn open(service: &Service, digest: &str) -> Answer<(PathBuf, Value)> {
    let meta =
        is_digest(digest).then(|| service.store.result(digest)).flatten().ok_or_else(gone)?;
    service.store.touch(digest);
    Ok((service.store.result_folder(digest), meta))
}

/// Tell of a result
#[utoipa::path(get, path = "/v1/results/{digest}/", params(("digest" = String, Path)),
    tag = "results", responses((status = 200, description = "The result.", body = ResultForm),
        (status = 404, description = "It is not there, or not any more.", body = Problem,
            content_type = "application/problem+json")))]
pub async fn listing(
    State(service): State<Shared>,
    Place(digest): Place<String>,
    headers: HeaderMap,
) -> Answer<Response> {
    blocking(move || {
        open(&service, &digest)?;
        let form = form(&service, &digest).ok_or_else(gone)?;
        Ok(unchanging(&headers, &digest, "application/json", form.to_string()))
    })
    .await
}

/// A file of a result: one of those that its listing names, or `bundle.zip`
#[utoipa::path(get, path = "/v1/results/{digest}/{file}",
    params(("digest" = String, Path), ("file" = String, Path)), tag = "results",
    responses((status = 200, description = "The file.", content_type = "application/octet-stream",
        body = Vec<u8>), (status = 206, description = "The range that was asked for.",
        content_type = "application/octet-stream", body = Vec<u8>),
        (status = 304, description = "It is what the client has."),
        (status = 404, description = "It is not there, or not any more.", body = Problem,
            content_type = "application/problem+json"),
            (status = 416, description = "No such range.", body = Problem,
                content_type = "application/problem+json")))]
pub async fn one(
    State(service): State<Shared>,
    Place((digest, name)): Place<(String, String)>,
    request: Request<Body>,
) -> Answer<Response> {
    named(service, digest, name, request).await
}

/// A picture of a result's time-lapse
#[utoipa::path(get, path = "/v1/results/{digest}/timelapse/{picture}",
    params(("digest" = String, Path), ("picture" = String, Path,
        description = "A number from 0 with .png, such as 12.png.")), tag = "results",
        responses((status = 200, description = "The picture.", content_type = "image/png",
            body = Vec<u8>), (status = 404, description = "It is not there, or not any more.",
            body = Problem, content_type = "application/problem+json")))]
pub async fn picture(
    State(service): State<Shared>,
    Place((digest, picture)): Place<(String, String)>,
    request: Request<Body>,
) -> Answer<Response> {
    let number: u32 = picture
        .strip_suffix(".png")
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| Problem::missing("pictures are numbered from 0, such as 12.png"))?;
    named(service, digest, format!("frames/{number:04}.png"), request).await
}

/// A picture of a result's time-lapse, by the name of its file
#[utoipa::path(get, path = "/v1/results/{digest}/frames/{file}",
    params(("digest" = String, Path), ("file" = String, Path)), tag = "results",
    responses((status = 200, description = "The picture.", content_type = "image/png",
        body = Vec<u8>), (status = 404, description = "It is not there, or not any more.",
        body = Problem, content_type = "application/problem+json")))]
pub async fn frame(
    State(service): State<Shared>,
    Place((digest, file)): Place<(String, String)>,
    request: Request<Body>,
) -> Answer<Response> {
    named(service, digest, format!("frames/{file}"), request).await
}

async fn named(
    service: Shared,
    digest: String,
    name: String,
    request: Request<Body>,
) -> Answer<Response> {
    let kind = media_type(&name);
    let (found, blake3) = blocking(move || {
        let (folder, meta) = open(&service, &digest)?;
        if name == ARCHIVE {
            // The digest names the files, and the archive follows from them.
            return Ok((archive(&service, &digest, &folder, &meta)?, format!("{digest}.zip")));
        }
        // Only names that the result lists become paths.
        let listed = meta["files"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|file| file["name"] == name.as_str());
        let listed = listed.ok_or_else(|| {
            Problem::missing(format!(
                "the result has no file {name:?}; it has those of its listing"
            ))
        })?;
        Ok((
            Found::File(folder.join("files").join(&name)),
            listed["blake3"].as_str().unwrap_or_default().to_string(),
        ))
    })
    .await?;
    found.answer(kind, &blake3, request).await
}

/// What is sent.
enum Found {
    /// A file.
    File(PathBuf),
    /// What was made just now, where there is no room on the disk to keep it.
    Bytes(Vec<u8>),
}

impl Found {
    async fn answer(
        self,
        kind: &'static str,
        tag: &str,
        request: Request<Body>,
    ) -> Answer<Response> {
        match self {
            Self::File(path) => file(&path, kind, tag, request).await,
            Self::Bytes(bytes) => Ok(unchanging(request.headers(), tag, kind, bytes)),
        }
    }
}

const ARCHIVE: &str = "bundle.zip";

/// The archive of a result's files, which is made when it is first wanted.
fn archive(service: &Service, digest: &str, folder: &Path, meta: &Value) -> Answer<Found> {
    let path = folder.join(ARCHIVE);
    if path.exists() {
        return Ok(Found::File(path));
    }
    let listed = || meta["files"].as_array().into_iter().flatten();
    let names = || listed().filter_map(|file| file["name"].as_str());
    let files = folder.join("files");
    let new = Scratch(folder.join(format!("{ARCHIVE}.{}", service.number())));
    let make = || -> Answer<()> {
        crate::bundle::archive(&files, names(), std::fs::File::create(&new.0)?)?;
        Ok(std::fs::rename(&new.0, &path)?)
    };
    match make() {
        Err(problem) if problem.is_full() => {
            let bytes = listed().filter_map(|file| file["bytes"].as_u64()).sum::<u64>();
            crate::memory::admit(ARCHIVE, bytes.saturating_mul(2))?;
            let mut made = std::io::Cursor::new(vec![]);
            crate::bundle::archive(&files, names(), &mut made)?;
            return Ok(Found::Bytes(made.into_inner()));
        }
        made => made?,
    }
    service.store.grown(digest, service.limits.disk_bytes);
    Ok(Found::File(path))
}

/// A map of a result in any format that the command writes
///
/// `height.r32` has the heights as float32, row by row from the north; `.r16`, `.png`, `.tif`,
/// `.exr`, `.npy` and `.asc` are the bytes that a run with that output has.
#[utoipa::path(get, path = "/v1/results/{digest}/fields/{file}",
    params(("digest" = String, Path), ("file" = String, Path,
        description = "The name of a map and an extension, such as flow.tif.")), tag = "results",
        responses((status = 200, description = "The file.",
            content_type = "application/octet-stream", body = Vec<u8>),
            (status = 304, description = "It is what the client has."),
            (status = 404, description = "It is not there, or not any more.", body = Problem,
                content_type = "application/problem+json"),
                (status = 422,
                    description = "The result has no such map, or the format cannot hold it.",
                    body = Problem, content_type = "application/problem+json")))]
pub async fn field(
    State(service): State<Shared>,
    Place((digest, name)): Place<(String, String)>,
    request: Request<Body>,
) -> Answer<Response> {
    let place = service.clone();
    // A map and its file are large: not many at a time.
    let slot = service.encoders.acquire().await.map_err(Problem::fault)?;
    let (found, kind, tag, size, spacing_m) = blocking(move || {
        let (folder, _) = open(&place, &digest)?;
        let (map, extension) = name
            .rsplit_once('.')
            .ok_or_else(|| Problem::missing("a map has an extension, such as height.r32"))?;
        let format = MapFormat::from_path(Path::new(&name))?;
        let maps = Maps::open(folder.join("words"))?;
        let field = maps.field(map)?;
        let cache = folder.join("fields");
        let path = cache.join(format!("{}.{}", field.name, format.extension()));
        let mut found = Found::File(path.clone());
        if !path.exists() {
            let encoded = encode_field(
                field,
                &maps.map(field.name)?,
                format,
                maps.palette(),
                maps.output_range_m(),
                &maps.missing(),
            )?;
            let new = Scratch(cache.join(format!("{}.{extension}", place.number())));
            let keep = || -> Answer<()> {
                std::fs::create_dir_all(&cache)?;
                std::fs::write(&new.0, &encoded.bytes)?;
                Ok(std::fs::rename(&new.0, &path)?)
            };
            match keep() {
                Err(problem) if problem.is_full() => found = Found::Bytes(encoded.bytes),
                kept => {
                    kept?;
                    place.store.grown(&digest, place.limits.disk_bytes);
                }
            }
        }
        let tag = format!("{digest}/{}.{}", field.name, format.extension());
        Ok((found, media_type(format.extension()), tag, maps.size(), maps.spacing_m()))
    })
    .await?;
    drop(slot);
    let mut response = found.answer(kind, &tag, request).await?;
    sizes(&mut response, size, spacing_m);
    Ok(response)
}

/// The address of a result without its last slash leads to it.
pub async fn slash(Place(digest): Place<String>) -> Answer<Response> {
    if !is_digest(&digest) {
        return Err(gone());
    }
    Ok((StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, format!("/v1/results/{digest}/"))])
        .into_response())
}
