//! Figures for those who run the service, in the form of OpenMetrics.

use super::Service;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    method: String,
    route: String,
    status: u16,
}

/// The figures.
pub struct Metrics {
    registry: Registry,
    jobs: Family<Ended, Counter>,
    answered: Counter,
    job_seconds: Histogram,
    stood_back: Counter<f64, AtomicU64>,
    previews: Family<Ended, Counter>,
    preview_seconds: Histogram,
    requests: Family<Route, Counter>,
    request_seconds: Histogram,
    queued: Gauge,
    running: Gauge,
    stored_bytes: Gauge,
    connections: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        // Twenty buckets from a millisecond on, each twice the one before: up to about nine
        // minutes.
        let seconds = || Histogram::new(exponential_buckets(0.001, 2.0, 20));
        let mut registry = Registry::with_prefix("thalweg");
        let metrics = Self {
            jobs: Family::default(),
            answered: Counter::default(),
            job_seconds: seconds(),
            stood_back: Counter::default(),
            previews: Family::default(),
            preview_seconds: seconds(),
            requests: Family::default(),
            request_seconds: seconds(),
            queued: Gauge::default(),
            running: Gauge::default(),
            stored_bytes: Gauge::default(),
            connections: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("jobs", "Jobs that have ended, by how", metrics.jobs.clone());
        registry.register(
            "jobs_from_store",
            "Jobs whose result was there already",
            metrics.answered.clone(),
        );
        registry.register_with_unit(
            "job_duration",
            "Time that jobs ran",
            Unit::Seconds,
            metrics.job_seconds.clone(),
        );
        registry.register_with_unit(
            "jobs_stood_back",
            "Time of it that jobs stood back for previews",
            Unit::Seconds,
            metrics.stood_back.clone(),
        );
        registry.register("previews", "Previews, by how they ended", metrics.previews.clone());
        registry.register_with_unit(
            "preview_duration",
            "Time that previews ran",
            Unit::Seconds,
            metrics.preview_seconds.clone(),
        );
        registry.register("requests", "Requests, by route and status", metrics.requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time until the head of an answer",
            Unit::Seconds,
            metrics.request_seconds.clone(),
        );
        registry.register("jobs_queued", "Jobs that wait", metrics.queued.clone());
        registry.register("jobs_running", "Jobs that run", metrics.running.clone());
        registry.register_with_unit(
            "stored",
            "Results and uploads on disk",
            Unit::Bytes,
            metrics.stored_bytes.clone(),
        );
        registry.register("connections", "Open connections", metrics.connections.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// A job has ended.
    pub fn ended(&self, state: &'static str, ran: Duration) {
        self.jobs.get_or_create(&Ended { state }).inc();
        self.job_seconds.observe(ran.as_secs_f64());
    }

    /// A job has stood back for previews.
    pub fn stood_back(&self, time: Duration) {
        self.stood_back.inc_by(time.as_secs_f64());
    }

    /// A job's result was there already.
    pub fn answered(&self) {
        self.answered.inc();
    }

    /// A preview has ended.
    pub fn previewed(&self, ran: Duration, cancelled: bool) {
        self.previews
            .get_or_create(&Ended { state: if cancelled { "cancelled" } else { "ended" } })
            .inc();
        self.preview_seconds.observe(ran.as_secs_f64());
    }

    /// A request has been answered.
    pub fn asked(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.requests
            .get_or_create(&Route { method: method.into(), route: route.into(), status })
            .inc();
        self.request_seconds.observe(took.as_secs_f64());
    }

    /// The open connections.
    pub fn connections(&self) -> &Gauge {
        &self.connections
    }

    /// The figures as text.
    pub fn text(&self, service: &Service) -> String {
        self.queued.set(service.store.count("queued").unwrap_or(0) as i64);
        self.running.set(service.store.count("running").unwrap_or(0) as i64);
        self.stored_bytes.set(service.store.bytes().unwrap_or(0) as i64);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
