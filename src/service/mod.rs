//! `thalweg serve`: recipes over HTTP. Jobs that wait, run and are kept; previews that are
//! streamed; results by digest; tiles.
//!
//! ```text
//! requests ──► tokio's threads ──► index (SQLite) ──► a thread for each device ──► results
//!                    └──► a thread for each preview ──► records, as levels are done
//! ```
//! What a job leaves is what `thalweg run` leaves, by the same code:
//! [`Job::run_into`](crate::Job::run_into).

mod assets;
mod engine;
mod events;
mod extract;
mod guard;
mod jobs;
mod metrics;
mod parity;
mod preview;
mod problem;
mod recipes;
mod results;
mod server;
mod sheets;
mod store;
mod tables;
mod tiles;
mod worlds;
mod xyz;

use crate::device::{Device, DeviceOptions};
use crate::error::{Error, Result};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use events::Track;
use metrics::Metrics;
use problem::{Answer, Problem};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::Store;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, watch};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How a service is started.
pub struct Options {
    /// Where it listens. A port of 0 picks one.
    pub address: SocketAddr,
    /// The folder of its state.
    pub state: PathBuf,
    /// Where it computes.
    pub device: DeviceOptions,
    /// What clients must give as a bearer.
    pub token: Option<Token>,
    /// Names by which it is called, besides those of the machine itself.
    pub hosts: Vec<String>,
    /// Sites whose pages may use it, besides its own.
    pub origins: Origins,
    /// What it refuses.
    pub limits: Limits,
    /// How often a job that runs keeps a snapshot, where it comes to the end of a stage.
    pub snapshot_every: Duration,
}

pub use guard::{Origins, Token};

/// What a service refuses.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most cells of a land, with its margin.
    pub cells: u64,
    /// Most work of a run, in steps of a cell.
    pub work: f64,
    /// Largest file that is sent, in bytes.
    pub upload_bytes: u64,
    /// Results and uploads on disk, in bytes. What was wanted longest ago is removed.
    pub disk_bytes: u64,
    /// Most jobs that wait.
    pub queue: usize,
    /// Most connections.
    pub connections: usize,
    /// Most previews at a time.
    pub previews: usize,
    /// How long the headers of a request may take, a connection may be idle, and a body or an
    /// answer may stand still.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cells: 1 << 28,
            work: 1e14,
            upload_bytes: 1 << 30,
            disk_bytes: 20 << 30,
            queue: 1000,
            connections: 4096,
            previews: 4,
            patience: Duration::from_secs(15),
        }
    }
}

/// A service.
struct Service {
    token: Option<Token>,
    hosts: Vec<String>,
    origins: Origins,
    limits: Limits,
    device: DeviceOptions,
    snapshot_every: Duration,
    store: Store,
    metrics: Metrics,
    wakeup: engine::Wakeup,
    idle: engine::Idle,
    /// Places for previews, and how many run.
    previews: Arc<Semaphore>,
    previewing: AtomicUsize,
    /// Places for work on whole maps: reading and encoding them.
    encoders: Arc<Semaphore>,
    /// Places for making tiles, and those that were made.
    tile_permits: Arc<Semaphore>,
    tiles: xyz::Kept,
    /// Worlds without an end.
    worlds: worlds::Worlds,
    /// The place for making a tile of a world.
    worlders: Arc<Semaphore>,
    /// Held while a pyramid is made.
    pyramids: Mutex<()>,
    tracks: Mutex<HashMap<i64, Arc<Track>>>,
    /// The devices of its engine, when they have been checked.
    devices: OnceLock<Vec<Device>>,
    /// When it was started, which numbers of events begin with.
    started: String,
    ending: watch::Sender<bool>,
    numbers: AtomicU64,
}

type Shared = Arc<Service>;

impl Service {
    fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// A number that no other has, for names of files that are being written.
    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// The events of a job, which begin now if there are none yet.
    fn track(&self, id: i64) -> Arc<Track> {
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone()
    }

    /// The events of a job that has not ended.
    fn known(&self, id: i64) -> Option<Arc<Track>> {
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    fn forget(&self, id: i64) {
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Where previews compute: on the first device that was checked, else on the CPU.
    fn preview_device(&self) -> DeviceOptions {
        let device =
            self.devices.get().and_then(|devices| devices.first().cloned()).unwrap_or(Device::Cpu);
        DeviceOptions { device, ..self.device.clone() }
    }
}

/// Does work that waits for the disk or takes long on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.map_err(Problem::fault)?
}

/// Lives
#[utoipa::path(get, path = "/healthz", tag = "service", responses((status = 200, description = "It \
    answers.", content_type = "text/plain", body = String)))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Is ready to take jobs
#[utoipa::path(get, path = "/readyz", tag = "service", responses((status = 200, description = "It \
    takes jobs.", body = serde_json::Value), (status = 503, description = "Not now.", body = serde_json::Value)))]
async fn readyz(State(service): State<Shared>) -> Answer<Response> {
    blocking(move || {
        let devices: Option<Vec<String>> =
            service.devices.get().map(|all| all.iter().map(ToString::to_string).collect());
        let queued = service.store.count("queued")?;
        // Without a name, so that many can ask at once, and nothing is left behind.
        let probe = tempfile::tempfile_in(service.store.root());
        let writes = probe.and_then(|mut probe| probe.write_all(b"ready")).is_ok();
        let ready =
            devices.is_some() && queued < service.limits.queue && writes && !service.is_ending();
        let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let told = json!({ "ready": ready, "devices": devices, "queued": queued, "disk": writes,
            "ending": service.is_ending() });
        Ok((status, axum::Json(told)).into_response())
    })
    .await
}

/// The figures of the service
#[utoipa::path(get, path = "/metrics", tag = "service",
    responses((status = 200, description = "OpenMetrics.",
        content_type = "application/openmetrics-text", body = String)))]
async fn figures(State(service): State<Shared>) -> Answer<Response> {
    blocking(move || {
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        Ok(([(header::CONTENT_TYPE, kind)], service.metrics.text(&service)).into_response())
    })
    .await
}

/// Counts and logs a request.
async fn count(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    // The pattern and not the path, which would give every job a row of its own.
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none".into(), |path| path.as_str().to_string());
    let path = request.uri().path().to_string();
    let response = next.run(request).await;
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    // An unknown method is a client's word, which must not fill the table.
    let word = if ["GET", "HEAD", "POST", "DELETE"].contains(&method.as_str()) {
        method.as_str()
    } else {
        "other"
    };
    service.metrics.asked(word, &route, status, took);
    tracing::info!(%method, path, status, ms = took.as_secs_f64() * 1e3, "request");
    response
}

/// The routes that the OpenAPI document has.
fn described() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(jobs::submit, jobs::list))
        .routes(routes!(jobs::one, jobs::cancel))
        .routes(routes!(jobs::events))
        .routes(routes!(jobs::level))
        .routes(routes!(preview::preview))
        .routes(routes!(sheets::variants))
        .routes(routes!(results::listing))
        .routes(routes!(results::one))
        .routes(routes!(results::picture))
        .routes(routes!(results::frame))
        .routes(routes!(results::field))
        .routes(routes!(tiles::tile))
        .routes(routes!(tiles::tilejson))
        .routes(routes!(worlds::submit))
        .routes(routes!(worlds::tile))
        .routes(routes!(worlds::tilejson))
        .routes(routes!(tables::stages))
        .routes(routes!(tables::schema))
        .routes(routes!(tables::presets))
        .routes(routes!(tables::examples))
        .routes(routes!(tables::check))
        .routes(routes!(tables::input))
        .routes(routes!(tables::input_heights))
        .routes(routes!(tables::dungeon))
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(figures))
}

/// The OpenAPI document of the service.
pub fn openapi() -> serde_json::Value {
    let mut document = serde_json::to_value(described().into_openapi()).unwrap_or_default();
    document["info"] = json!({
        "title": "thalweg", "version": env!("CARGO_PKG_VERSION"), "description": "Recipes over \
            HTTP: docs/service.md.",
        "license": { "name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE") },
    });
    document
}

fn router(service: &Shared) -> Router {
    let (described, _) = described().split_for_parts();
    let document = openapi().to_string();
    let router = described
        .route(
            "/openapi.json",
            get(move || async move { ([(header::CONTENT_TYPE, "application/json")], document) }),
        )
        .route("/v1/results/{digest}", get(results::slash))
        .route("/", get(assets::index))
        .fallback(assets::file)
        .method_not_allowed_fallback(guard::no_method)
        // Each route has its own.
        .layer(axum::extract::DefaultBodyLimit::disable())
        .layer(RequestBodyTimeoutLayer::new(service.limits.patience))
        .layer(service.origins.sending().with_rejection_response(|_| guard::cross_site()))
        .layer(from_fn_with_state(service.clone(), guard::guard))
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| {
            Problem::fault("a request panicked").into_response()
        }));
    // Outside of all that refuses, so that pages can read why, and that no token is asked of what
    // browsers ask beforehand.
    let router = match service.origins.shared() {
        Some(shared) => router.layer(shared),
        None => router,
    };
    router.layer(from_fn_with_state(service.clone(), count)).with_state(service.clone())
}

/// Listens, with room for many who wait for a place.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Else a service that is started again would have to wait for old connections. Elsewhere this
    // means something else.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// Runs a service until `end` comes. `ready` is told the address, when it listens.
///
/// # Errors
/// [`Error::Param`] for options that contradict each other, [`Error::Output`] for a folder or an
/// address that cannot be had.
pub fn run(
    options: Options,
    ready: impl FnOnce(SocketAddr),
    end: impl Future<Output = ()>,
) -> Result<()> {
    let Options { address, state, device, token, hosts, origins, limits, snapshot_every } = options;
    if !address.ip().is_loopback() && token.is_none() {
        return Err(Error::param(format!(
            "--address {}: others than this machine can reach it: give --token-file, or an address \
             such as 127.0.0.1",
            address.ip()
        )));
    }
    let store = Store::open(&state)?;
    let waiting = store
        .requeue()
        .map_err(|problem| Error::output(&state, std::io::Error::other(problem.detail)))?;
    if waiting > 0 {
        tracing::info!(jobs = waiting, "jobs that were interrupted go on");
    }
    let started = store::now();
    let service = Arc::new(Service {
        token,
        hosts,
        origins,
        device,
        snapshot_every,
        store,
        metrics: Metrics::default(),
        wakeup: engine::Wakeup::default(),
        idle: engine::Idle::default(),
        previews: Arc::new(Semaphore::new(limits.previews)),
        previewing: AtomicUsize::new(0),
        encoders: Arc::new(Semaphore::new(2)),
        tile_permits: Arc::new(Semaphore::new(
            std::thread::available_parallelism().map_or(2, usize::from),
        )),
        tiles: xyz::kept(),
        worlds: worlds::kept(),
        worlders: Arc::new(Semaphore::new(1)),
        pyramids: Mutex::default(),
        tracks: Mutex::default(),
        devices: OnceLock::new(),
        started: format!("{started:x}"),
        ending: watch::Sender::new(false),
        numbers: AtomicU64::new(0),
        limits,
    });
    let failed = |e: std::io::Error| Error::output(address.to_string(), e);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    // Before the engine starts: an address that is taken ends the service without any work.
    let listener = runtime.block_on(async { listen(address) }).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let engine = {
        let service = service.clone();
        std::thread::Builder::new().name("engine".into()).spawn(move || {
            let devices = service.devices.get_or_init(|| parity::devices(&service));
            std::thread::scope(|scope| {
                for device in devices {
                    let service = &service;
                    scope.spawn(move || engine::work(service, device));
                }
            });
        })
    };
    let engine = engine.map_err(failed)?;
    ready(address);
    let router = router(&service);
    runtime.block_on(server::serve(service.clone(), listener, router, end));
    // The engine may be waiting for a job; it wakes and sees that the service ends.
    service.wakeup.ring();
    let _ = engine.join();
    // What blocks still has its time, and no more.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}
