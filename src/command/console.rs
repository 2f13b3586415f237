//! What people and scripts see: results on stdout, everything else on stderr.

use super::Options;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg::device::DeviceOptions;
use thalweg::{Cancel, Event, Job, Recipe};
use thalweg::{Error, Result};

/// The two streams and the options that rule them.
pub struct Console {
    pub options: Options,
    /// Cancels everything.
    pub cancel: Cancel,
    begun: Instant,
    /// The warnings so far, for scripts.
    warned: Mutex<Vec<String>>,
}

impl Console {
    pub fn new(options: Options, cancel: Cancel) -> Self {
        Self { options, cancel, begun: Instant::now(), warned: Mutex::default() }
    }

    /// Seconds since the program began.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// [`Error::Cancelled`] after Ctrl-C.
    pub fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Reads the files of a recipe, prints warnings about them, and makes a job for the device that
    /// was asked for.
    pub fn read(&self, recipe: Recipe) -> Result<Job> {
        let job = Job::read(recipe)?;
        for (path, warning) in job.warnings() {
            self.warn(match path {
                Some(path) => format!("{}: {warning}", path.display()),
                None => warning.clone(),
            });
        }
        self.check()?;
        Ok(self.configure(job))
    }

    /// A run on the device that was asked for, which Ctrl-C cancels.
    pub fn configure(&self, job: Job) -> Job {
        let o = &self.options;
        let job =
            job.device(o.device.clone()).threads(o.threads.into()).workgroup_size(o.workgroup_size);
        job.shuffle(o.shuffle).cancel_by(self.cancel.clone())
    }

    /// The device that was asked for, and how to use it.
    pub fn device(&self) -> DeviceOptions {
        let o = &self.options;
        let (threads, workgroup_size) = (o.threads.into(), o.workgroup_size);
        DeviceOptions { device: o.device.clone(), threads, workgroup_size, shuffle: o.shuffle }
    }

    /// Runs a job, and shows its progress and warnings.
    pub fn watch<T>(
        &self,
        job: &Job,
        run: impl FnOnce(&mut dyn FnMut(Event) -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        let bar = || self.progress(job.schedule().names().collect());
        let mut progress = bar();
        run(&mut |event| {
            match event {
                Event::Started(device) => self.note(device),
                Event::Warning(warning) => self.warn(warning),
                Event::Restarted => progress = bar(),
                Event::Progress(at) => progress.at(at.stage, at.done, at.passes),
                _ => {}
            }
            Ok(())
        })
    }

    /// Prints the result: `json` if asked for, with all warnings so far, else the text. A reader
    /// that has gone away is no error.
    pub fn result(
        &self,
        json: impl FnOnce() -> serde_json::Value,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        let out = match (self.options.json, self.options.quiet) {
            (true, _) => {
                let mut result = json();
                let warned = self.warned().clone();
                // What cannot warn has no such list.
                let has_list = !warned.is_empty() || result.get("warnings").is_some();
                if let Some(object) = result.as_object_mut().filter(|_| has_list) {
                    object.insert("warnings".into(), warned.into());
                }
                format!("{result}\n")
            }
            (false, true) => return Ok(()),
            (false, false) => harmless(&text()),
        };
        self.pipe(out.as_bytes())
    }

    /// Refuses to write data where standard output is closed. The runtime then puts the device that
    /// forgets all in its place, opened for reading too, which no redirection of a shell does.
    pub fn open_output(&self) -> Result<()> {
        let leads_to = std::fs::read_link("/proc/self/fd/1").unwrap_or_default();
        let state = std::fs::read_to_string("/proc/self/fdinfo/1").unwrap_or_default();
        let flags = state
            .lines()
            .find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
        // The bits of what a file may be used for, and those of reading and writing.
        let (access, both) = (3, 2);
        if leads_to == std::path::Path::new("/dev/null")
            && flags.is_some_and(|flags| flags & access == both)
        {
            let what = std::io::Error::new(
                ErrorKind::NotConnected,
                "is closed; give the path of a file, or leave it open",
            );
            return Err(Error::output("standard output", what));
        }
        Ok(())
    }

    /// Writes data to standard output. A reader that has gone away is no error.
    pub fn pipe(&self, bytes: &[u8]) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::output("standard output", e)),
            _ => Ok(()),
        }
    }

    fn warned(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.warned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn warn(&self, what: impl Display) {
        self.warned().push(what.to_string());
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

    /// Prints an error: a line, or a JSON object with what is known of it.
    pub fn error(&self, error: &Error) {
        if !self.options.json {
            return stderr_line(format_args!("error: {error}"));
        }
        let mut object = serde_json::json!({ "code": error.code(), "message": error.to_string() });
        if let Some(serde_json::Value::Object(data)) = error.data() {
            data.into_iter()
                // The text of the error stays, which names the file as well.
                .filter(|(key, _)| key != "message")
                .for_each(|(key, value)| object[key] = value);
        }
        stderr_line(serde_json::json!({ "error": object }));
    }

    /// Prints that the program itself is at fault.
    pub fn fault(&self) {
        let message = "a fault of thalweg (above); please report it with the command line";
        if self.options.json {
            stderr_line(serde_json::json!({ "error": { "code": "internal", "message": message } }));
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
            if let Ok(style) =
                ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} passes, {eta} left")
            {
                bar.set_style(style);
            }
            bar
        });
        let lines = (!terminal && o.verbose > 0 && !o.no_progress)
            .then(|| (Instant::now(), Duration::from_secs(1)));
        Progress { bar, lines, stages, stage: None }
    }
}

/// Options that have another name than in early builds. To be dropped at 1.0.
const RENAMED: [(&str, &str); 4] = [
    ("--for", "--engine"),
    ("--classic", "--reference"),
    ("--side", "--tile-size"),
    ("--slab-steps", "--time-chunk"),
];

/// The error for an option that has another name now.
fn renamed(e: &clap::Error) -> Option<clap::Error> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let given = match e.get(ContextKind::InvalidArg)? {
        ContextValue::String(given) if e.kind() == ErrorKind::UnknownArgument => given,
        _ => return None,
    };
    let (old, new) = RENAMED.iter().find(|(old, _)| old == given)?;
    let message = format!("{old} is called {new} now\n");
    Some(clap::Error::raw(ErrorKind::UnknownArgument, message))
}

/// What is wrong with a command line, or the help that was asked for.
pub fn usage(e: &clap::Error) -> ExitCode {
    let renamed = renamed(e);
    let e = renamed.as_ref().unwrap_or(e);
    // The options could not be read, so this one is looked for.
    let json = std::env::args_os()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json");
    if json && e.use_stderr() {
        let text = e.render().to_string();
        let message = text.trim().trim_start_matches("error: ");
        stderr_line(serde_json::json!({ "error": { "code": "usage", "message": message } }));
    } else if let Err(reason) = e.print()
        && reason.kind() != ErrorKind::BrokenPipe
    {
        stderr_line(format!("error: standard output: {reason}"));
        return ExitCode::from(1);
    }
    ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(2))
}

/// `eprintln!` panics where stderr is closed.
fn stderr_line(what: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(&what.to_string()));
}

/// Text without control characters: names of files and settings could rule the terminal otherwise.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
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
        // A part that puts a map aside has no passes, and none of the last part's are its own.
        if count == 0 {
            return;
        }
        let place = || format!("{} ({} of {})", self.stages[stage], stage + 1, self.stages.len());
        if let Some(bar) = &self.bar {
            if self.stage != Some(stage) {
                // First, or the last stage's passes are shown beside this one's.
                bar.reset();
                bar.set_length(count as u64);
                bar.set_prefix(place());
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

/// The noun in the number that `n` asks for.
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
