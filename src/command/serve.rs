//! `thalweg serve`: recipes over HTTP, and the editor.

use super::console::Console;
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use thalweg::service::{Limits, Options, Origins, Token, run};
use thalweg::{Error, Result};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Serve recipes over HTTP, and the editor
///
/// Prints its address and answers until it is interrupted. Jobs that run then resume when it is
/// started again. RUST_LOG says what is logged.
#[derive(Args)]
#[command(after_help = "Example: thalweg serve --open")]
pub struct Arguments {
    /// The port; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 7373)]
    port: u16,
    /// The address to listen on; others than this machine's own need --token-file
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    address: IpAddr,
    /// Open the editor in the browser
    #[arg(long)]
    open: bool,
    /// The folder for jobs and results [default: thalweg in the system's folder for the state of
    /// programs]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// A file with a token of 16 characters or more, which clients must give as a bearer
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    token_file: Option<PathBuf>,
    /// Another name by which the service is called; requests to names that it does not know are
    /// refused
    #[arg(long = "host", value_name = "NAME", help_heading = "Access")]
    hosts: Vec<String>,
    /// A site whose pages may use the service, such as http://localhost:8000; * lets pages of all
    /// sites read, not send
    #[arg(long = "allow-origin", value_name = "ORIGIN", help_heading = "Access")]
    origins: Vec<String>,
    /// Log lines as JSON
    #[arg(long)]
    log_json: bool,
    /// Most cells of a land, with its margin
    #[arg(long, value_name = "N", default_value_t = Limits::default().cells,
        help_heading = "Limits")]
    max_cells: u64,
    /// Most work of a run, in steps of a cell
    #[arg(long, value_name = "N", default_value_t = Limits::default().work,
        help_heading = "Limits")]
    max_work: f64,
    /// Largest file that is sent, in MiB
    #[arg(long, value_name = "MIB", default_value_t = Limits::default().upload_bytes >> 20,
        help_heading = "Limits")]
    max_upload: u64,
    /// Disk for results and uploads, in MiB; what was wanted longest ago is removed
    #[arg(long, value_name = "MIB", default_value_t = Limits::default().disk_bytes >> 20,
        help_heading = "Limits")]
    disk: u64,
    /// Most jobs that wait
    #[arg(long, value_name = "N", default_value_t = Limits::default().queue,
        help_heading = "Limits")]
    queue: usize,
    /// Most connections
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections as u16,
        value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    connections: u16,
    /// Most previews at a time
    #[arg(long, value_name = "N", default_value_t = Limits::default().previews as u16,
        value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Limits")]
    previews: u16,
    /// Seconds that the headers of a request may take, a connection may be idle, and a body or an
    /// answer may stand still
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().patience.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Limits")]
    header_seconds: u64,
    /// Seconds between snapshots of a job that runs
    #[arg(long, value_name = "SECONDS", default_value_t = 10, help_heading = "Limits")]
    snapshots: u64,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let level = match (console.options.quiet, console.options.verbose) {
        (true, _) => "error",
        (_, 0) => "thalweg=warn",
        (_, 1) => "thalweg=info",
        _ => "thalweg=debug",
    };
    let wanted = std::env::var("RUST_LOG").ok().filter(|wanted| !wanted.trim().is_empty());
    let wanted = wanted.and_then(|wanted| match wanted.parse::<Targets>() {
        Ok(targets) => Some(targets),
        Err(e) => {
            console.warn(format!(
                "RUST_LOG = {wanted:?}: {e}; allowed targets and levels, such as thalweg=debug"
            ));
            None
        }
    });
    let filter = wanted.unwrap_or_else(|| level.parse().expect("targets and levels"));
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let log = if a.log_json { log.json().boxed() } else { log.with_ansi(false).boxed() };
    let _ = tracing_subscriber::registry().with(log.with_filter(filter)).try_init();
    let state = match &a.state {
        Some(folder) => folder.clone(),
        None => dirs::state_dir()
            .or_else(dirs::data_local_dir)
            .map(|folder| folder.join("thalweg"))
            .ok_or_else(|| {
                Error::param(
                    "this system has no folder for the state of programs: give one with --state",
                )
            })?,
    };
    let token = a.token_file.as_deref().map(token).transpose()?;
    let options = Options {
        address: SocketAddr::new(a.address, a.port),
        state,
        device: console.device(),
        token,
        hosts: a.hosts.clone(),
        origins: Origins::of(&a.origins)?,
        limits: Limits {
            cells: a.max_cells,
            work: a.max_work,
            upload_bytes: a.max_upload << 20,
            disk_bytes: a.disk << 20,
            queue: a.queue,
            connections: a.connections.into(),
            previews: a.previews.into(),
            patience: Duration::from_secs(a.header_seconds),
        },
        snapshot_every: Duration::from_secs(a.snapshots),
    };
    // Said by a callback that has no result, so an error waits until the service has ended.
    let mut told = Ok(());
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/");
        told = console
            .result(|| serde_json::json!({ "url": url }), || format!("thalweg listens on {url}\n"));
        if a.open
            && let Err(e) = open::that_detached(&url)
        {
            console.warn(format!("no browser was opened: {e}"));
        }
    };
    let cancel = console.cancel.clone();
    let end = async move {
        // A signal handler can only set a flag, so the flag is looked at.
        while !cancel.is_cancelled() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    run(options, ready, end)?;
    told?;
    // It was asked to end, and has.
    Ok(true)
}

/// The token of a file.
fn token(path: &std::path::Path) -> Result<Token> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::input(path, e))?;
    let token = text.trim();
    let plain = token.len() >= 16 && token.bytes().all(|c| c.is_ascii_graphic());
    if plain {
        Ok(Token::of(token))
    } else {
        Err(Error::input(path, "a token is one line of 16 or more letters, digits and signs"))
    }
}
