//! The editor's files, which are within the program.

use super::problem::{Answer, Problem};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

/// The folder `web/`. A debug build reads it from the disk.
#[derive(RustEmbed)]
#[folder = "web/"]
struct Web;

fn answer(headers: &HeaderMap, file: EmbeddedFile) -> Response {
    let digest = blake3::hash(&file.data).to_hex();
    let tag = format!("\"{digest}\"");
    // Its address stays when its bytes change, so browsers ask each time.
    let head = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, "no-cache".into())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|given| given.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    let kind = file.metadata.mimetype().to_string();
    (head, [(header::CONTENT_TYPE, kind)], file.data).into_response()
}

/// The page of the editor.
pub async fn index(headers: HeaderMap) -> Answer<Response> {
    let file = Web::get("index.html").ok_or_else(|| Problem::missing("this build has no page"))?;
    Ok(answer(&headers, file))
}

/// A file of the editor at its own path: pages name their files, and the service, by relative
/// addresses.
pub async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let name = uri.path().trim_start_matches('/');
    let found =
        // Only names of the list, since a debug build would look for any other on the disk.
        (method == Method::GET || method == Method::HEAD) && Web::iter().any(|known| known == name);
    match found.then(|| Web::get(name)).flatten() {
        Some(file) => answer(&headers, file),
        None => super::guard::nowhere(method, uri).await.into_response(),
    }
}
