//! Problems as answers of HTTP: `application/problem+json`; and those that only a service has.

use crate::api::problem::is_full;
pub use crate::api::problem::{Answer, Problem};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

impl Problem {
    /// A fault of the service. The reason goes to the log, since it may name what clients must not
    /// know.
    pub fn fault(reason: impl std::fmt::Display) -> Self {
        tracing::error!(%reason, "fault");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "fault",
            "a fault of the service, which its log explains",
        )
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::missing("there is no such file"),
            kind if is_full(kind) => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "output",
                "the disk of the service is full",
            ),
            _ => Self::fault(error),
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull, SystemIoFailure};
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => {
                tracing::error!(reason = %error, "the index");
                let what = "another program holds the service's index, index.sqlite: try again, or \
                            end that program";
                Self {
                    retry_after: Some(5),
                    ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "index", what)
                }
            }
            Some(DiskFull) => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "output",
                "the disk of the service is full",
            ),
            // So a file system says it that has no room for what the index shares with itself, and
            // a limit of the size of files.
            Some(SystemIoFailure) => {
                tracing::error!(reason = %error, "the index");
                let what = "the disk of the service is full, or cannot be written";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "output", what)
            }
            _ => Self::fault(format!("the index: {error}")),
        }
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::fault(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
