//! Previews: the coarse levels of a land, sent as they are made. Nothing is stored, and a client
//! that hangs up ends the work.

use super::engine::CancelOnDrop;
use super::extract::Query;
use super::problem::{Answer, Problem};
use super::recipes::receive;
use super::{Service, Shared, engine};
use crate::api::preview::Wanted;
use crate::api::query;
use crate::api::request::Request;
use crate::device::{Device, DeviceOptions};
use crate::error::Error;
use crate::job::{Cancel, Event, Job, Outcome};
use crate::map::Map;
use axum::body::{Body, Bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;

/// How long a client may take to read a record.
const READ: Duration = Duration::from_secs(30);

/// Stream the coarse levels of a recipe as they are made
///
/// The body is a sequence of records. A record is the length of a JSON header as a little-endian
/// u32, the header, and for each of its `fields` width * height little-endian float32 values, row
/// by row from the north. Where a level has no such map, `missing` says why. The last record has
/// `"final": true`. An error in mid-stream is a record whose header is `{"error": problem}`.
/// Hanging up cancels the work.
#[utoipa::path(
    post, path = "/v1/preview", params(query::Preview), tag = "previews",
    request_body(content((Value = "application/json"), (String = "application/toml")),
        description = "A recipe."),
    responses(
        (status = 200, description = "The records.", content_type = "application/octet-stream",
            body = Vec<u8>),
        (status = 413, description = "The land is larger than a preview may be.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The recipe is wrong.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn preview(
    State(service): State<Shared>,
    Query(asked): Query<query::Preview>,
    request: HttpRequest,
) -> Answer<Response> {
    let wanted = Wanted::of(&asked)?;
    let request = receive(&service, request).await?.request(None)?;
    let cancel = Cancel::default();
    // From here on a client that hangs up drops this.
    let cancel_on_drop = CancelOnDrop(cancel.clone());
    // Who hangs up while waiting here is dropped from the queue of the semaphore.
    let slot = service.previews.clone().acquire_owned().await.map_err(Problem::fault)?;
    let (records, received) = mpsc::channel(4);
    let (admitted, answer) = oneshot::channel();
    let (place, span) = (service.clone(), tracing::Span::current());
    let work = move || {
        let _inside = span.enter();
        engine::be_nice(engine::NICE[0]);
        let sender = Sender { records, cancel: cancel.clone() };
        let begun = Instant::now();
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            send(&place, &request, &wanted, &sender, admitted)
        }));
        match ran {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => drop(sender.send(&json!({ "error": problem }), &[])),
            Err(_) => {
                drop(sender.send(&json!({ "error": Problem::fault("the engine panicked") }), &[]))
            }
        }
        place.metrics.previewed(begun.elapsed(), cancel.is_cancelled());
        drop(slot);
    };
    std::thread::Builder::new().name("preview".into()).spawn(work)?;
    // Up to here an error is the answer, and later it is a record of the body.
    answer.await.map_err(Problem::fault)??;
    let body = Body::from_stream(Records { received, _cancel_on_drop: cancel_on_drop });
    Ok((
        [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")],
        body,
    )
        .into_response())
}

/// The body of a preview.
struct Records {
    received: mpsc::Receiver<Bytes>,
    _cancel_on_drop: CancelOnDrop,
}

impl Stream for Records {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.received.poll_recv(context).map(|record| record.map(Ok))
    }
}

/// Where the engine's thread puts records.
struct Sender {
    records: mpsc::Sender<Bytes>,
    cancel: Cancel,
}

impl Sender {
    /// Sends a record. A client that does not read is one that has gone.
    fn send(&self, head: &Value, maps: &[&Map]) -> crate::Result<()> {
        let head = head.to_string();
        let cells: usize = maps.iter().map(|map| map.data.len()).sum();
        let mut record = Vec::with_capacity(4 + head.len() + cells * 4);
        record.extend((head.len() as u32).to_le_bytes());
        record.extend(head.as_bytes());
        for map in maps {
            record.extend(map.data.iter().flat_map(|v| v.to_le_bytes()));
        }
        let mut record = Bytes::from(record);
        let begun = Instant::now();
        // A send that blocks could not be cancelled.
        loop {
            match self.records.try_send(record) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Full(back))
                    if begun.elapsed() < READ && !self.cancel.is_cancelled() =>
                {
                    record = back;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => {
                    self.cancel.cancel();
                    return Err(Error::Cancelled);
                }
            }
        }
    }
}

/// Runs a job of [`crate::api::preview`] on the device for previews.
pub fn run(
    service: &Service,
    job: &Job,
    watch: &mut dyn FnMut(Event) -> crate::Result<()>,
) -> crate::Result<Outcome> {
    let _first = service.first();
    let mut attempt = |options: &DeviceOptions| {
        service.idle.with(options, |executor| job.run_on(executor, watch))
    };
    let options = service.preview_device();
    match attempt(&options) {
        // Only a device that nobody named may be replaced. Levels that were sent come again, with
        // the same words.
        Err(e)
            if e.is_of_device()
                && service.device.device == Device::Auto
                && options.device != Device::Cpu =>
        {
            attempt(&DeviceOptions { device: Device::Cpu, ..options })
        }
        done => done,
    }
}

fn send(
    service: &Service,
    request: &Request,
    wanted: &Wanted,
    sender: &Sender,
    admitted: oneshot::Sender<Answer<()>>,
) -> Answer<()> {
    let made = request.recipe().and_then(|recipe| {
        let job = wanted.job(recipe, |recipe| request.job(recipe, &service.store.files()))?;
        service.limits.admit(&job)?;
        Ok(job)
    });
    let job = match made {
        Ok(job) => job.cancel_by(sender.cancel.clone()),
        Err(problem) => {
            let _ = admitted.send(Err(problem));
            return Ok(());
        }
    };
    let _ = admitted.send(Ok(()));
    let mut put = |head: &Value, maps: &[&Map]| sender.send(head, maps);
    wanted.stream(&job, &mut put, |watch| run(service, &job, watch))
}
