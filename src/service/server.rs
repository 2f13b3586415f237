//! The socket: connections with limits on how many there are and how long their headers take, and
//! an orderly end.

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
use tokio_io_timeout::TimeoutStream;
use tower::Service as _;

/// Most headers of a request.
const HEADERS_MAX: usize = 100;
/// How long requests that are under way have when the service ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves connections until `end` comes, and then ends what is under way.
pub async fn serve(
    service: Shared,
    listener: TcpListener,
    router: Router,
    end: impl Future<Output = ()>,
) {
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
        // Events are short, and would wait for the answer to the last ones otherwise (Nagle's
        // algorithm).
        let _ = stream.set_nodelay(true);
        unsent_is_little(&stream);
        let (router, service) = (router.clone(), service.clone());
        let patience = service.limits.patience;
        // Else clients that read nothing would keep their places, and those of previews, for ever.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(patience));
        let answers = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
            router.clone().call(request.map(Body::new))
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
            .max_headers(HEADERS_MAX)
            .serve_connection(TokioIo::new(Box::pin(stream)), answers);
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
    // From here on new connections are refused, and no longer wait in vain.
    drop(listener);
    tracing::info!("ending: requests under way have {} s", DRAIN.as_secs());
    service.ending.send_replace(true);
    service.interrupt();
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections were cut");
    }
}

/// Keeps little in the system's buffer of what is sent next. With megabytes in it, a client that
/// reads slowly but steadily frees too little in time, and counts as one that reads nothing.
fn unsent_is_little(stream: &tokio::net::TcpStream) {
    /// Bytes.
    const UNSENT: u32 = 1 << 16;
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
    #[cfg(not(target_os = "linux"))]
    let _ = (stream, UNSENT);
}

/// How many connections there may be: those that were asked for, or fewer where the process may
/// open fewer files.
fn connections(service: &Service) -> usize {
    // Jobs, results and the index need some.
    const OTHERS: usize = 128;
    let files = open_files(service.limits.connections.saturating_add(OTHERS));
    let places = service.limits.connections.min(files.saturating_sub(OTHERS).max(16));
    if places < service.limits.connections {
        tracing::warn!(
            places,
            files,
            "fewer connections than --connections: the process may open no more files (ulimit -n)"
        );
    }
    places
}

/// How many files the process may open, after it has asked for as many as `wanted`.
#[cfg(target_os = "linux")]
fn open_files(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return usize::MAX };
    let goal = limit.maximum.unwrap_or(u64::MAX).min(wanted as u64).max(current);
    let raised = goal > current
        && setrlimit(Resource::Nofile, Rlimit { current: Some(goal), ..limit }).is_ok();
    if raised { goal as usize } else { current as usize }
}

/// Elsewhere the system says so when there are too many.
#[cfg(not(target_os = "linux"))]
fn open_files(_: usize) -> usize {
    usize::MAX
}
