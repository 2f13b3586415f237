//! What goes wrong, as RFC 9457 says it.

use crate::error::Error;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An error, for programs and people.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `urn:thalweg:problem:` and a word.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was given, what is allowed, and what to do.
    pub detail: String,
    /// The fields of the recipe that are at fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// Seconds after which to try again.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

/// A field that is at fault.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Fault {
    /// Where it stands in the recipe, as a JSON pointer: `/stage/1/rain`.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
    /// The value that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// What is allowed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
}

/// The result of a request.
pub type Answer<T> = std::result::Result<T, Problem>;

impl Problem {
    /// A problem of a kind.
    pub fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:thalweg:problem:{kind}"),
            title: status.canonical_reason().unwrap_or("Error").into(),
            status: status.as_u16(),
            detail: detail.into(),
            errors: vec![],
            retry_after: None,
        }
    }

    /// What was asked for is not there.
    pub fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "missing", detail)
    }

    /// The request is not one that is understood.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// More was asked for than is allowed.
    pub fn large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "limit", detail)
    }

    /// This build lacks what was asked for.
    pub fn lacking() -> Self {
        let what = "this build reads and writes no files: it was made without the feature io";
        Self::new(StatusCode::NOT_IMPLEMENTED, "lacking", what)
    }

    /// There is too much to do.
    pub fn busy(detail: impl Into<String>, retry_after: u64) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail)
        }
    }

    /// Whether another program holds the index, which it will let go of.
    pub fn is_of_others(&self) -> bool {
        self.kind.ends_with(":index")
    }

    /// Whether the disk has no room.
    pub fn is_full(&self) -> bool {
        self.status == StatusCode::INSUFFICIENT_STORAGE.as_u16()
    }

    /// The same problem with the name that a client has for a file in place of where the service
    /// has it.
    pub fn of_file(self, stored: &Path, name: &str) -> Self {
        let place = stored.to_string_lossy();
        let file = stored.file_name().unwrap_or_default().to_string_lossy();
        // The whole path comes first: with the file's name replaced in it, it would not be found
        // any more.
        let known = |text: String| text.replace(&*place, name).replace(&*file, name);
        let errors = self.errors.into_iter();
        let errors = errors
            .map(|e| Fault { detail: known(e.detail), given: e.given.map(known), ..e })
            .collect();
        Self { detail: known(self.detail), errors, ..self }
    }

    /// The same problem, at a field.
    pub fn at(self, pointer: impl Into<String>) -> Self {
        let detail = self.detail.clone();
        let fault = Fault { pointer: pointer.into(), detail, given: None, allowed: None };
        Self { errors: vec![fault], ..self }
    }
}

/// The name of a file without its folders, which are the server's.
fn name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.to_string_lossy().into_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Whether there is no room for more bytes: on the disk, for this user, or in a file of this
/// process.
pub(crate) fn is_full(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let code = error.code();
        match error {
            Error::Param(invalid) => {
                let fault = invalid.pointer.clone().map(|pointer| Fault {
                    pointer,
                    detail: invalid.message.clone(),
                    given: invalid.given.clone(),
                    allowed: invalid.allowed.clone(),
                });
                let errors = fault.into_iter().collect();
                Self {
                    errors,
                    ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, invalid.message)
                }
            }
            Error::Input { path, what } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                code,
                format!("{}: {what}", name(&path)),
            ),
            Error::Limit(limit) => Self::new(StatusCode::PAYLOAD_TOO_LARGE, code, limit.message),
            Error::Device(fault) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, code, fault.to_string())
            }
            Error::Output { path, source } => {
                let status = if is_full(source.kind()) {
                    StatusCode::INSUFFICIENT_STORAGE
                } else {
                    StatusCode::INTERNAL_SERVER_ERROR
                };
                Self::new(status, code, format!("{}: {source}", name(&path)))
            }
            Error::Cancelled => Self::new(StatusCode::CONFLICT, code, "cancelled"),
            other => Self::new(StatusCode::INTERNAL_SERVER_ERROR, code, other.to_string()),
        }
    }
}
