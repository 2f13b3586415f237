//! Contact sheets of variants: the coarse levels of a recipe's land for consecutive seeds, as small
//! pictures. Nothing is stored, and a client that hangs up ends the work.

use super::engine::{self, CancelOnDrop};
use super::extract::Query;
use super::preview::run;
use super::problem::{Answer, Problem};
use super::recipes::receive;
use super::{Service, Shared};
use crate::api::query;
use crate::api::request::Request;
use crate::api::sheet::Variants;
use crate::job::Cancel;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::time::Instant;
use tokio::sync::oneshot;

/// Draw variants of a recipe's land, of consecutive seeds, on a contact sheet
///
/// Each land is the coarse level that the whole run has on its way.
#[utoipa::path(
    post, path = "/v1/sheet", params(query::Sheet), tag = "previews",
    request_body(content((Value = "application/json"), (String = "application/toml")),
        description = "A recipe."),
    responses(
        (status = 200, description = "The picture.", content_type = "image/png", body = Vec<u8>),
        (status = 413, description = "The land is larger than a preview may be.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The recipe is wrong.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn variants(
    State(service): State<Shared>,
    Query(asked): Query<query::Sheet>,
    request: HttpRequest,
) -> Answer<Response> {
    let variants = Variants::of(&asked)?;
    let request = receive(&service, request).await?.request(None)?;
    let cancel = Cancel::default();
    // From here on a client that hangs up drops this.
    let _cancel_on_drop = CancelOnDrop(cancel.clone());
    let slot = service.previews.clone().acquire_owned().await.map_err(Problem::fault)?;
    let (answer, answered) = oneshot::channel();
    let span = tracing::Span::current();
    let work = move || {
        let _inside = span.enter();
        engine::be_nice(engine::NICE[0]);
        let begun = Instant::now();
        let drawn = draw(&service, &request, &variants, &cancel);
        service.metrics.previewed(begun.elapsed(), cancel.is_cancelled());
        drop(answer.send(drawn));
        drop(slot);
    };
    // A thread of its own, since it stays as nice as it is made here.
    std::thread::Builder::new().name("sheet".into()).spawn(work)?;
    // Who panics does not answer.
    let bytes = answered.await.map_err(Problem::fault)??;
    let head = [(header::CONTENT_TYPE, "image/png"), (header::CACHE_CONTROL, "no-store")];
    Ok((head, bytes).into_response())
}

/// The picture, as PNG.
fn draw(
    service: &Service,
    request: &Request,
    variants: &Variants,
    cancel: &Cancel,
) -> Answer<Vec<u8>> {
    let job_of = |recipe| request.job(recipe, &service.store.files());
    variants.draw(request.recipe()?, job_of, |job| {
        service.limits.admit(&job)?;
        Ok(run(service, &job.cancel_by(cancel.clone()), &mut |_| Ok(()))?)
    })
}
