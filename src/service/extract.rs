//! What requests say in their addresses. Where it is wrong, the answer is a problem like all
//! others, which axum's own extractors do not give.

use super::problem::Problem;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The query of a request.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        crate::api::query::read(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

/// What a route has between its slashes.
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = axum::extract::Path::from_request_parts(parts, state).await;
        found
            .map(|axum::extract::Path(found)| Self(found))
            .map_err(|e| Problem::bad(format!("the address: {}", e.body_text())))
    }
}
