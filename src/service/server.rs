//! The socket: connections with limits on how many there are and how long their headers take, and an orderly end.

use super::{Service, Shared};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::Service as _;

/// Most headers of a request.
const HEADERS_MAX: usize = 100;
/// How long requests that are under way have when the service ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves connections until `end` comes, and then ends what is under way.
pub async fn serve(service: Shared, listener: TcpListener, router: Router, end: impl Future<Output = ()>) {
    let connections = Arc::new(Semaphore::new(connections(&service)));
    let graceful = GracefulShutdown::new();
    let mut end = std::pin::pin!(end);
    loop {
        let accepted = async {
            // Those who come when all places are taken wait in the system's queue.
            let place = connections.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut end => break,
        };
        let (stream, _) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                // Too many open files, or a connection that was gone at once.
                tracing::warn!(reason = %e, "accept");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let (router, service) = (router.clone(), service.clone());
        let patience = service.limits.patience;
        let answers = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
            router.clone().call(request.map(Body::new))
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
            .max_headers(HEADERS_MAX)
            .serve_connection(TokioIo::new(stream), answers);
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            service.metrics.connections().inc();
            if let Err(e) = watched.await {
                tracing::debug!(reason = %e, "connection");
            }
            service.metrics.connections().dec();
            drop(place);
        });
    }
    drop(listener);
    tracing::info!("ending: requests under way have {} s", DRAIN.as_secs());
    service.ending.send_replace(true);
    service.interrupt();
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections were cut");
    }
}

/// How many connections there may be: those that were asked for, or fewer where the process may open fewer files.
fn connections(service: &Service) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = files.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok()).unwrap_or(usize::MAX);
    // Jobs, results and the index need some.
    service.limits.connections.min(files.saturating_sub(128).max(16))
}
