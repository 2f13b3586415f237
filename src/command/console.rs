//! What people and scripts see: results on stdout, everything else on stderr.

use super::Options;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thalweg::{Error, Result};

/// The two streams and the options that rule them.
pub struct Console {
    pub options: Options,
    /// Set to stop everything.
    pub stop: &'static AtomicBool,
}

impl Console {
    pub fn new(options: Options, stop: &'static AtomicBool) -> Self {
        Self { options, stop }
    }

    /// [`Error::Cancelled`] once Ctrl-C was heard.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Prints the result: `json` if asked for, else the text. A reader that has gone away is no error.
    pub fn result(&self, json: impl FnOnce() -> serde_json::Value, text: impl FnOnce() -> String) -> Result<()> {
        let out = match (self.options.json, self.options.quiet) {
            (true, _) => format!("{}\n", json()),
            (false, true) => return Ok(()),
            (false, false) => text(),
        };
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(out.as_bytes()).and_then(|()| stdout.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::output("standard output", e)),
            _ => Ok(()),
        }
    }

    pub fn warn(&self, what: impl Display) {
        if !self.options.quiet {
            stderr_line(format_args!("warning: {what}"));
        }
    }

    /// For `-v`.
    pub fn note(&self, what: impl Display) {
        if self.options.verbose > 0 {
            stderr_line(what);
        }
    }

    pub fn error(&self, code: &str, message: &str) {
        if self.options.json {
            stderr_line(serde_json::json!({ "error": { "code": code, "message": message } }));
        } else {
            stderr_line(format_args!("error: {message}"));
        }
    }

    /// Shows how far a run of these stages is.
    pub fn progress(&self, stages: Vec<&'static str>) -> Progress {
        let o = &self.options;
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !o.quiet && !o.no_progress).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} passes, {eta} left") {
                bar.set_style(style);
            }
            bar
        });
        let lines = (!terminal && o.verbose > 0 && !o.no_progress).then(|| (Instant::now(), Duration::from_secs(1)));
        Progress { bar, lines, stages, stage: None }
    }
}

/// `eprintln!` panics where stderr is closed.
fn stderr_line(what: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{what}");
}

/// A bar on a terminal, or lines ever further apart.
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: Option<(Instant, Duration)>,
    stages: Vec<&'static str>,
    stage: Option<usize>,
}

impl Progress {
    /// `done` of `count` passes of stage `stage` are done.
    pub fn at(&mut self, stage: usize, done: usize, count: usize) {
        let place = || format!("{} ({} of {})", self.stages[stage], stage + 1, self.stages.len());
        if let Some(bar) = &self.bar {
            if self.stage != Some(stage) {
                bar.set_length(count as u64);
                bar.set_prefix(place());
                bar.reset();
            }
            bar.set_position(done as u64);
        }
        if let Some((start, next)) = &mut self.lines
            && start.elapsed() >= *next
        {
            stderr_line(format_args!("{}: {done} of {count} passes", place()));
            *next *= 2;
        }
        self.stage = Some(stage);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A number of things: 1 pass, 2 passes.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {}", plural(n, noun))
}

/// The noun for so many.
pub fn plural(n: u64, noun: &str) -> String {
    match (n, noun.ends_with('s')) {
        (1, _) => noun.into(),
        (_, true) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Bytes for people.
pub fn bytes(n: u64) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..1048576 => format!("{:.1} KiB", n as f64 / 1024.0),
        _ => format!("{:.1} MiB", n as f64 / 1048576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_is_not_many() {
        let said = [(0, "pass"), (1, "pass"), (2, "pass"), (1, "word"), (9, "word")].map(|(n, noun)| count(n, noun));
        assert_eq!(said, ["0 passes", "1 pass", "2 passes", "1 word", "9 words"]);
    }
}
