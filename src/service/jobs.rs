//! Jobs: recipes that wait, run and end, and what happens to them.

use super::engine::levels;
use super::events::{Event, Track};
use super::extract::{Path, Query};
use super::problem::{Answer, Problem};
use super::recipes::receive;
use super::store::Record;
use super::{Service, Shared, blocking, engine, results};
use crate::api::query;
use axum::Json;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use utoipa::{IntoParams, ToSchema};

/// A job.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "the form of what Service::job_json makes, for the OpenAPI document")]
pub struct JobForm {
    /// Its number.
    id: String,
    /// `queued`, `running`, `succeeded`, `failed`, `cancelled` or `interrupted`.
    state: String,
    /// The name of its recipe.
    name: String,
    /// The digest of its recipe, with every setting and file.
    recipe_digest: String,
    /// Seconds since 1970.
    submitted_at: i64,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    progress: Option<ProgressForm>,
    /// The levels that are done, the coarsest first.
    levels: Vec<LevelForm>,
    result: Option<results::ResultForm>,
    error: Option<Problem>,
}

/// How far a job is.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "as JobForm")]
pub struct ProgressForm {
    /// 0 to 1.
    fraction: f64,
    /// The stage that runs.
    stage: String,
    /// The level on which it runs.
    level: Option<i32>,
    /// Passes of the stage that are done.
    step: u64,
    /// Passes of the stage.
    steps: u64,
    /// Seconds that are left, by the pace so far.
    eta_s: Option<f64>,
}

/// A level that is done.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "as JobForm")]
pub struct LevelForm {
    /// 0 is the recipe's lattice, and each next one is half as fine.
    level: i32,
    width: u32,
    height: u32,
    spacing_m: f64,
    blake3: String,
    /// Its heights as float32.
    href: String,
}

fn id(text: &str) -> Answer<i64> {
    // A sign would be parsed, too, and no address has one.
    let number =
        text.parse::<i64>().ok().filter(|id| *id > 0 && text.bytes().all(|c| c.is_ascii_digit()));
    number.ok_or_else(|| Problem::missing("there is no such job"))
}

fn get(service: &Service, id: i64) -> Answer<Record> {
    service.store.job(id)?.ok_or_else(|| Problem::missing("there is no such job"))
}

/// Whether a job in this state will go on.
fn goes_on(state: &str) -> bool {
    matches!(state, "queued" | "running" | "interrupted")
}

impl Service {
    /// The events of a job; none of one that has ended.
    ///
    /// # Errors
    /// 404 for a job that there is not.
    fn live(&self, id: i64) -> Answer<Option<Arc<Track>>> {
        // In this order: a job that ends in between has its end among these events, or has ended
        // below.
        let track = self.track(id);
        match self.store.job(id) {
            Ok(Some(record)) if goes_on(&record.state) => Ok(Some(track)),
            found => {
                self.forget(id);
                found?.map(|_| None).ok_or_else(|| Problem::missing("there is no such job"))
            }
        }
    }

    /// A job as clients see it.
    pub fn job_form(&self, record: &Record) -> Value {
        // What has ended is told alike before and after its events are forgotten.
        let track = self.known(record.id).filter(|_| goes_on(&record.state));
        let levels = match (&track, &record.result) {
            (_, Some(digest)) => levels(&self.store.result_folder(digest))
                .into_iter()
                .map(|level| engine::hrefs(level, record.id))
                .collect(),
            (Some(track), None) => track.levels(),
            (None, None) => vec![],
        };
        let progress = match record.state.as_str() {
            "succeeded" => {
                json!({ "fraction": 1.0, "stage": null, "level": null, "step": 0, "steps": 0,
                    "eta_s": null })
            }
            _ => track.and_then(|track| track.progress()).unwrap_or_default(),
        };
        json!({
            "id": record.id.to_string(), "state": record.state, "name": record.name,
            "recipe_digest": record.recipe_digest,
            "submitted_at": record.submitted_at, "started_at": record.started_at,
            "ended_at": record.ended_at,
            "progress": progress, "levels": levels,
            "result": record.result.as_deref().and_then(|digest| results::form(self, digest)),
            "error": record.error,
        })
    }

    /// A job as clients see it, by its number.
    pub fn job_json(&self, id: i64) -> Value {
        match self.store.job(id) {
            Ok(Some(record)) => self.job_form(&record),
            _ => Value::Null,
        }
    }
}

fn answer(status: StatusCode, job: Value) -> Response {
    let place = format!("/v1/jobs/{}", job["id"].as_str().unwrap_or_default());
    (status, [(header::LOCATION, place)], Json(job)).into_response()
}

/// Run a recipe
///
/// Its files are the bytes of `thalweg run`. A recipe that was run before is answered at once with
/// the result that is there. With an `Idempotency-Key` the same request again is answered with the
/// same job.
#[utoipa::path(
    post, path = "/v1/jobs", params(query::Job), tag = "jobs",
    request_body(
        content((Value = "application/json"), (String = "application/toml"),
            (String = "multipart/form-data")),
        description = "A recipe; as multipart/form-data a part `recipe` and a part for each file \
                       that it names."
    ),
    responses(
        (status = 202, description = "The job waits.", body = JobForm),
        (status = 200, description = "The result is there already.", body = JobForm),
        (status = 413, description = "The land, the work or a file is too large.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The recipe is wrong.", body = Problem,
            content_type = "application/problem+json"),
        (status = 429, description = "Too many jobs wait.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn submit(
    State(service): State<Shared>,
    Query(asked): Query<query::Job>,
    headers: HeaderMap,
    request: HttpRequest,
) -> Answer<Response> {
    let key = idempotency_key(&headers)?;
    let frames = asked.frames()?;
    let mut request = receive(&service, request).await?.request(asked.name.as_deref())?;
    request.frames = frames;
    request.level = asked.level;
    blocking(move || {
        let recipe = request.recipe()?;
        let name = recipe.name.clone();
        let job = request.job(recipe, &service.store.files())?;
        service.limits.admit(&job)?;
        let recipe_digest = request.digest(&job);
        // The engine makes it anew, so its inputs need not stay in memory.
        drop(job);
        let _held = key.as_ref().map(|_| service.store.hold_keys());
        if let Some(known) =
            key.as_deref().map(|key| service.store.by_key(key)).transpose()?.flatten()
        {
            // The same answer to another question would be wrong, and a second job under the key,
            // too.
            if known.recipe_digest != recipe_digest {
                let what = "this Idempotency-Key was used with another recipe: give another key";
                return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "key", what));
            }
            return Ok(answer(StatusCode::OK, service.job_form(&known)));
        }
        if let Some(digest) = service.store.find(&recipe_digest)? {
            service.store.touch(&digest);
            let job = match service.store.submit_done(
                &recipe_digest,
                &name,
                &request,
                &digest,
                key.as_deref(),
            ) {
                Ok(id) => service.job_json(id),
                // There is no room for another job, and the one that made the result tells as much.
                // But a key must not lead to two jobs, and there is no room to remember it.
                Err(problem) if problem.is_full() && key.is_none() => {
                    service.job_form(&service.store.job_with(&digest)?.ok_or(problem)?)
                }
                Err(problem) => return Err(problem),
            };
            service.metrics.answered();
            return Ok(answer(StatusCode::OK, job));
        }
        if service.is_ending() {
            return Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "ending",
                "the service ends: try again when it is back",
            ));
        }
        // After the look for a result: what is there already needs no place in the queue.
        if service.store.count("queued")? >= service.limits.queue {
            return Err(Problem::busy(
                format!("{} jobs wait already: try again later", service.limits.queue),
                10,
            ));
        }
        let id = service.store.submit(&recipe_digest, &name, &request, key.as_deref())?;
        let job = service.job_json(id);
        if let Some(track) = service.live(id)? {
            track.add("job", job.clone());
        }
        service.wakeup.ring();
        Ok(answer(StatusCode::ACCEPTED, job))
    })
    .await
}

/// The key by which a client knows its own request again.
fn idempotency_key(headers: &HeaderMap) -> Answer<Option<String>> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) => Ok(Some(key.into())),
        _ => Err(Problem::bad("Idempotency-Key: allowed 1 to 255 characters of ASCII")),
    }
}

#[derive(Deserialize, IntoParams)]
pub struct Page {
    /// Jobs before this one.
    before: Option<i64>,
    /// The most jobs to list, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    most: Option<usize>,
}

/// List jobs, newest first
#[utoipa::path(get, path = "/v1/jobs", params(Page), tag = "jobs",
    responses((status = 200, description = "{\"jobs\": [job …]}", body = Value)))]
pub async fn list(State(service): State<Shared>, Query(page): Query<Page>) -> Answer<Json<Value>> {
    let most = page.most.unwrap_or(100);
    if !(1..=1000).contains(&most) {
        return Err(Problem::bad(format!("most = {most}: allowed 1 to 1000")));
    }
    blocking(move || {
        let records = service.store.jobs(page.before.unwrap_or(i64::MAX), most)?;
        let jobs: Vec<Value> = records.iter().map(|record| service.job_form(record)).collect();
        Ok(Json(json!({ "jobs": jobs })))
    })
    .await
}

/// Tell of a job
#[utoipa::path(get, path = "/v1/jobs/{id}", params(("id" = String, Path)), tag = "jobs",
    responses((status = 200, description = "The job.", body = JobForm),
        (status = 404, description = "There is none.", body = Problem,
            content_type = "application/problem+json")))]
pub async fn one(State(service): State<Shared>, Path(text): Path<String>) -> Answer<Json<Value>> {
    let id = id(&text)?;
    blocking(move || Ok(Json(service.job_form(&get(&service, id)?)))).await
}

/// Cancel a job
///
/// It may be cancelled more than once, and when it has ended.
#[utoipa::path(delete, path = "/v1/jobs/{id}", params(("id" = String, Path)), tag = "jobs",
    responses((status = 200, description = "The job.", body = JobForm),
        (status = 404, description = "There is none.", body = Problem,
            content_type = "application/problem+json")))]
pub async fn cancel(
    State(service): State<Shared>,
    Path(text): Path<String>,
) -> Answer<Json<Value>> {
    let id = id(&text)?;
    let waiting = service.clone();
    let track = blocking(move || {
        let Some(track) = service.live(id)? else { return Ok(None) };
        // This comes first, so that a job that starts meanwhile sees it.
        track.cancel.cancel();
        if service.store.cancel_queued(id)? {
            let job = service.job_json(id);
            track.add("job", job.clone());
            track.add("end", job);
            service.forget(id);
            let _ = std::fs::remove_dir_all(service.store.work_folder(id));
            service.metrics.ended("cancelled", Duration::ZERO);
            return Ok(None);
        }
        Ok(Some(track))
    })
    .await?;
    // The engine hears it within a second.
    if let Some(track) = track {
        // Before the look at the events, so that none is missed in between.
        let mut news = track.watch();
        let ended = async {
            while !track.after(0).iter().any(|event| event.kind == "end") {
                if news.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), ended).await;
    }
    blocking(move || Ok(Json(waiting.job_form(&get(&waiting, id)?)))).await
}

/// Watch a job
///
/// Server-sent events: `job` on each change of state, `progress`, `level` when a level is done, and
/// last `end` with the job. With `Last-Event-ID` they continue after that event.
#[utoipa::path(get, path = "/v1/jobs/{id}/events",
    params(("id" = String, Path), ("Last-Event-ID" = Option<String>, Header)), tag = "jobs",
    responses((status = 200, description = "The events.", content_type = "text/event-stream",
        body = String), (status = 404, description = "There is none.", body = Problem,
        content_type = "application/problem+json")))]
pub async fn events(
    State(service): State<Shared>,
    Path(text): Path<String>,
    headers: HeaderMap,
) -> Answer<Response> {
    let id = id(&text)?;
    let place = service.clone();
    let (track, series) = blocking(move || {
        if let Some(track) = place.live(id)? {
            return Ok((track, place.started.clone()));
        }
        // It has ended: its events are told again, without those of its progress.
        let track = Arc::new(Track::default());
        let job = place.job_form(&get(&place, id)?);
        track.add("job", job.clone());
        let levels = job["levels"].as_array().cloned().unwrap_or_default();
        levels.into_iter().for_each(|level| track.add("level", level));
        track.add("end", job);
        Ok((track, format!("{}.ended", place.started)))
    })
    .await?;
    // Numbers of another start of the service are of other events, and so are those that were given
    // before the job's end.
    let seen = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once('-'));
    let seen = seen
        .filter(|(of, _)| *of == series)
        .and_then(|(_, number)| number.parse::<u64>().ok())
        .unwrap_or(0);
    // A browser that has seen the end comes again, unless it is told not to.
    if track.after(0).last().is_some_and(|last| last.kind == "end" && last.number == seen) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    // A few lines: a client that reads slowly holds up its own events alone.
    let (lines, received) = mpsc::channel::<Result<Line, Infallible>>(4);
    let ending = service.ending.clone();
    tokio::spawn(async move {
        let (mut news, mut seen, mut ending) = (track.watch(), seen, ending.subscribe());
        // One that is ahead of us has seen other events.
        if track.after(0).last().is_some_and(|last| last.number < seen) {
            seen = 0;
        }
        loop {
            // Before the events are read, so that one that comes meanwhile counts as new.
            news.mark_unchanged();
            for Event { number, kind, data } in track.after(seen) {
                seen = number;
                let line = Line::default()
                    .event(kind)
                    .id(format!("{series}-{number}"))
                    .data(data.to_string());
                if lines.send(Ok(line)).await.is_err() || kind == "end" {
                    return;
                }
            }
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = lines.closed() => return,
                () = ended(&mut ending) => {
                    // The job's end comes still, if it comes soon.
                    if tokio::time::timeout(Duration::from_secs(2),
                        news.changed()).await.is_err() { return }
                },
            }
        }
    });
    let stream = Sse::new(ReceiverStream::new(received));
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    // Without this header nginx would collect events before it sends them.
    Ok(([(HeaderName::from_static("x-accel-buffering"), "no")], stream.keep_alive(alive))
        .into_response())
}

/// Waits until the service ends.
async fn ended(ending: &mut watch::Receiver<bool>) {
    // What it borrows must not be held.
    drop(ending.wait_for(|ending| *ending).await);
}

/// The file of a level, and what is known of it. When a job ends, its levels move to its result:
/// what is not here may be there by now.
fn place_of_level(service: &Service, id: i64, level: i32) -> Answer<(PathBuf, Value)> {
    for attempt in 0..5 {
        let record = get(service, id)?;
        let folder = match &record.result {
            Some(digest) => service.store.result_folder(digest),
            None => service.store.work_folder(id),
        };
        let path = folder.join("levels").join(format!("{level}.r32"));
        let entry = levels(&folder).into_iter().find(|entry| entry["level"] == level);
        if let Some(entry) = entry.filter(|_| path.is_file()) {
            return Ok((path, entry));
        }
        if record.result.is_some() || folder.is_dir() && attempt > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Problem::missing(format!("level {level} is not there, or not yet")))
}

/// The heights of a level of a job
///
/// Little-endian float32 metres, row by row from the north. `Thalweg-Width`, `Thalweg-Height` and
/// `Thalweg-Spacing` say what they are.
#[utoipa::path(get, path = "/v1/jobs/{id}/levels/{level}/height.r32",
    params(("id" = String, Path), ("level" = i32, Path)), tag = "jobs",
    responses((status = 200, description = "The heights.",
        content_type = "application/octet-stream", body = Vec<u8>),
        (status = 404, description = "There are none, or not yet.", body = Problem,
            content_type = "application/problem+json")))]
pub async fn level(
    State(service): State<Shared>,
    Path((text, level)): Path<(String, String)>,
    request: axum::http::Request<Body>,
) -> Answer<Response> {
    let id = id(&text)?;
    let level: i32 = level.parse().map_err(|_| Problem::missing("there is no such level"))?;
    let (parts, _) = request.into_parts();
    let mut tries = 0;
    let (mut response, entry) = loop {
        let at = service.clone();
        let (path, entry) = blocking(move || place_of_level(&at, id, level)).await?;
        let mut request = axum::http::Request::new(Body::empty());
        *request.method_mut() = parts.method.clone();
        *request.headers_mut() = parts.headers.clone();
        let digest = entry["blake3"].as_str().unwrap_or_default().to_string();
        let answer = results::file(&path, "application/octet-stream", &digest, request).await;
        let is_gone = match &answer {
            Ok(response) => response.status() == StatusCode::NOT_FOUND,
            Err(_) => true,
        };
        tries += 1;
        // It may have moved to the result meanwhile.
        if !is_gone || tries > 2 {
            break (answer?, entry);
        }
    };
    results::sizes(
        &mut response,
        [entry["width"].as_u64().unwrap_or(0) as u32, entry["height"].as_u64().unwrap_or(0) as u32],
        entry["spacing_m"].as_f64().unwrap_or(0.0),
    );
    Ok(response)
}
