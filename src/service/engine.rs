//! The engine: a thread for each device that takes jobs from the queue, and threads for previews.
//! None of them is one of tokio's.

use super::events::Track;
use super::problem::{Answer, Problem};
use super::store::Record;
use super::{Service, results};
use crate::Executor;
use crate::bundle::{Folder, TimelapseOptions};
use crate::device::{Device, DeviceOptions};
use crate::error::Error;
use crate::io::FilmFormat;
use crate::job::{AfterStage, Cancel, Event, Job, Level, Progress, Snapshot};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a job stands back for previews at a time.
const STAND_BACK: Duration = Duration::from_millis(500);
/// It goes on for the time that it stood back, divided by this, before it stands back again: a
/// fifth of the time is its own.
const SHARE: u32 = 4;
/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(100);

/// How far threads that compute stand back behind those that answer: previews, and jobs behind
/// them.
pub const NICE: [i32; 2] = [5, 10];

/// Lets other threads go before this one and those that it starts.
#[cfg(target_os = "linux")]
pub fn be_nice(nice: i32) {
    // Where this is not allowed, all are equal.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), nice);
}

/// Elsewhere all threads of a process are equal.
#[cfg(not(target_os = "linux"))]
pub fn be_nice(_: i32) {}

/// What wakes the engine.
#[derive(Default)]
pub struct Wakeup {
    rung: Mutex<u64>,
    heard: Condvar,
}

impl Wakeup {
    /// Wakes all that wait.
    pub fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.heard.notify_all();
    }

    fn count(&self) -> u64 {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it has been rung after `seen`.
    fn wait(&self, seen: u64) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.heard.wait_timeout_while(rung, Duration::from_secs(5), |rung| *rung == seen);
    }
}

/// Executors for previews that are open and idle, with their devices.
#[derive(Default)]
pub struct Idle(Mutex<Vec<(Device, Box<dyn Executor>)>>);

impl Idle {
    /// Does `work` on an executor of the pool, or on one that is opened.
    pub fn with<T>(
        &self,
        options: &DeviceOptions,
        work: impl FnOnce(&mut dyn Executor) -> crate::Result<T>,
    ) -> crate::Result<T> {
        // The lock is held for the choice alone, and not for the work.
        let idle = {
            let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = idle.iter().position(|(device, _)| *device == options.device);
            place.map(|place| idle.swap_remove(place).1)
        };
        let mut executor = match (idle, &options.device) {
            (Some(executor), _) => executor,
            (None, Device::Adapter(adapter)) => options.gpu(adapter)?,
            (None, _) => Box::new(options.cpu()?),
        };
        let done = work(&mut *executor);
        match &done {
            // Closing a device that hangs would wait for ever.
            Err(Error::Device(_)) => std::mem::forget(executor),
            _ => {
                executor.clear();
                self.0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((options.device.clone(), executor));
            }
        }
        done
    }
}

/// Takes jobs from the queue until the service ends.
pub fn work(service: &Arc<Service>, device: &Device) {
    be_nice(NICE[1]);
    loop {
        // Counted before the look at the queue, so that a job that comes in between is heard.
        let seen = service.wakeup.count();
        if service.is_ending() {
            return;
        }
        match service.store.claim() {
            Ok(Some(record)) => run(service, device, &record),
            Ok(None) => service.wakeup.wait(seen),
            Err(problem) => {
                tracing::error!(detail = problem.detail, "the queue");
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
}

/// Runs a job to its end, and enters how it ended.
fn run(service: &Arc<Service>, device: &Device, record: &Record) {
    let track = service.track(record.id);
    let span = tracing::info_span!("job", id = record.id);
    let _inside = span.enter();
    tracing::info!(name = record.name, device = %device, "running");
    track.add("job", service.job_json(record.id));
    let begun = Instant::now();
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        make(service, device, record, &track)
    }));
    // The work folder goes before the end is announced.
    let goes_on = track.is_interrupted() && matches!(ran, Ok(Err(_)));
    if !goes_on && !matches!(ran, Ok(Ok(_))) {
        let _ = std::fs::remove_dir_all(service.store.work_folder(record.id));
    }
    let (state, digest, problem) = match ran {
        Ok(Ok(digest)) => ("succeeded", Some(digest), None),
        Ok(Err(_)) if goes_on => ("interrupted", None, None),
        Ok(Err(problem)) if problem.kind.ends_with(":cancelled") => ("cancelled", None, None),
        Ok(Err(problem)) => ("failed", None, Some(problem)),
        Err(_) => ("failed", None, Some(Problem::fault("the engine panicked"))),
    };
    // The figures count it before its end is announced.
    service.metrics.ended(state, begun.elapsed());
    let entered =
        service.insist(|| service.store.end(record.id, state, digest.as_deref(), problem.as_ref()));
    if let Err(e) = entered {
        tracing::error!(detail = e.detail, state, "the end of the job could not be entered");
    }
    tracing::info!(state, seconds = begun.elapsed().as_secs_f64(), "ended");
    // The index has the end by now, so whoever hears of it finds it there.
    let job = service.job_json(record.id);
    track.add("job", job.clone());
    track.add("end", job);
    service.forget(record.id);
}

/// Makes the result of a job. Returns its digest.
fn make(
    service: &Arc<Service>,
    device: &Device,
    record: &Record,
    track: &Arc<Track>,
) -> Answer<String> {
    let request = &record.request;
    let folder = service.store.work_folder(record.id);
    std::fs::create_dir_all(folder.join("levels"))?;
    let job = request.job(request.recipe()?, &service.store.files())?;
    // Another edition may have taken the job.
    let recipe_digest = request.digest(&job);
    let work = service.limits.admit(&job)?;
    let options = &service.device;
    let job =
        job.device(device.clone()).threads(options.threads).workgroup_size(options.workgroup_size);
    let job = job.shuffle(options.shuffle).cancel_by(track.cancel.clone());
    let timelapse =
        request.frames.map(|(frames, side)| TimelapseOptions::of(frames, side, FilmFormat::Apng));
    // The pictures of a time-lapse that are done are not in a snapshot.
    let job = match snapshot(&snapshot_of(&folder)).filter(|_| timelapse.is_none()) {
        Some(snapshot) => resumed(job, snapshot),
        None => job,
    };
    let files = folder.join("files");
    // Files of a run that was cut off are of no use: a snapshot has none of them.
    let _ = std::fs::remove_dir_all(&files);
    // A run that begins anew makes its levels again, and one that continues needs those it has.
    if job.done() == 0 {
        let _ = std::fs::remove_dir_all(folder.join("levels"));
        std::fs::create_dir_all(folder.join("levels"))?;
    }
    for level in levels(&folder) {
        track.add("level", hrefs(level, record.id));
    }
    let attempt = |job: &Job| {
        track.begin(work.clone(), job.done());
        let mut sink = Folder::for_bundle(&files, true);
        let mut listener = Listener::new(service, record, track, &folder, job);
        job.run_into(&mut sink, timelapse.as_ref(), &mut |event| listener.hear(event))
    };
    let bundle = match attempt(&job) {
        // Only a device that nobody named may be replaced.
        Err(e) if e.is_of_device() && options.device == Device::Auto && *device != Device::Cpu => {
            tracing::warn!(detail = e.to_string(), "the CPU starts over, for the same bytes");
            attempt(&job.clone().device(Device::Cpu))?
        }
        done => done?,
    };
    track.cancel.check()?;
    let digest = results::complete(record, &recipe_digest, &job, &bundle, &folder)?;
    service.insist(|| service.store.keep(record.id, &digest, &recipe_digest))?;
    if let Err(problem) = service.store.evict(service.limits.disk_bytes, Some(&digest)) {
        // The result is in its place all the same.
        tracing::warn!(detail = problem.detail, "what is beyond the quota is not evicted yet");
    }
    Ok(digest)
}

/// Hears what a run tells: enters it for those who watch the job, and keeps snapshots.
struct Listener<'a> {
    service: &'a Service,
    record: &'a Record,
    track: &'a Track,
    folder: &'a Path,
    job: &'a Job,
    /// When progress was told last.
    told: Option<Instant>,
    /// When a snapshot was kept last.
    kept: Instant,
    /// Until when the device is the job's own, before it stands back for previews again.
    own: Instant,
}

impl<'a> Listener<'a> {
    fn new(
        service: &'a Service,
        record: &'a Record,
        track: &'a Track,
        folder: &'a Path,
        job: &'a Job,
    ) -> Self {
        let now = Instant::now();
        Self { service, record, track, folder, job, told: None, kept: now, own: now }
    }

    fn hear(&mut self, event: Event) -> crate::Result<()> {
        match event {
            Event::Started(device) => tracing::info!(device, "device"),
            Event::Warning(warning) => tracing::warn!(warning, "warning"),
            Event::Progress(at) => self.progress(at),
            Event::Stage(after) => return self.stage(after),
            _ => {}
        }
        Ok(())
    }

    fn progress(&mut self, at: Progress) {
        if Instant::now() >= self.own {
            let stood = self.service.stand_back(&self.track.cancel);
            self.service.metrics.stood_back(stood);
            self.own = Instant::now() + stood / SHARE;
        }
        // The last pass of a stage is told in any case.
        let due = self.told.is_none_or(|told| told.elapsed() >= PROGRESS);
        if due || at.done == at.passes {
            let level = self.job.schedule().level_of(at.stage);
            self.track.step(at.stage, at.name, level, at.done, at.passes);
            self.told = Some(Instant::now());
        }
    }

    fn stage(&mut self, after: &mut AfterStage) -> crate::Result<()> {
        if let Some(level) = after.level() {
            let entry =
                store_level(self.folder, level).map_err(|e| Error::output(self.folder, e))?;
            self.track.add("level", hrefs(entry, self.record.id));
        }
        // Levels are stored first, so those that a snapshot has are all there.
        if self.kept.elapsed() >= self.service.snapshot_every {
            after.snapshot()?.store(snapshot_of(self.folder))?;
            self.kept = Instant::now();
        }
        Ok(())
    }
}

/// The snapshot in a job's folder.
fn snapshot_of(folder: &Path) -> PathBuf {
    folder.join("snapshot")
}

/// The job from its snapshot on, or from its beginning if that is of another recipe.
fn resumed(job: Job, snapshot: Snapshot) -> Job {
    match job.clone().resume_from(snapshot) {
        Ok(resumed) => {
            tracing::info!(stages = resumed.done(), "resumes from a snapshot");
            resumed
        }
        Err(e) => {
            tracing::warn!(reason = %e, "starts over");
            job
        }
    }
}

/// The last snapshot of a job, if there is one that is whole.
fn snapshot(path: &Path) -> Option<Snapshot> {
    Snapshot::load(path)
        .inspect_err(|e| tracing::warn!(reason = %e, "the snapshot is not used"))
        .ok()
        .flatten()
}

/// Stores the heights of a level in metres. Returns what it is.
fn store_level(folder: &Path, level: &Level) -> std::io::Result<Value> {
    let name = folder.join("levels").join(level.level.to_string());
    let metres = level.scale.to_metres(&level.words);
    let bytes: Vec<u8> = metres.iter().flat_map(|v| v.to_le_bytes()).collect();
    let entry = json!({
        "level": level.level, "width": level.window.width, "height": level.window.height,
        "spacing_m": level.scale.spacing_m,
        "origin": level.window.origin, "blake3": blake3::hash(&bytes).to_hex().to_string(),
    });
    let mut file = File::create(name.with_extension("r32"))?;
    file.write_all(&bytes)?;
    // What names the heights comes after them.
    let new = name.with_extension("new");
    std::fs::write(&new, entry.to_string())?;
    std::fs::rename(new, name.with_extension("json"))?;
    Ok(entry)
}

/// The levels in a folder, the coarsest first.
pub fn levels(folder: &Path) -> Vec<Value> {
    let entries = std::fs::read_dir(folder.join("levels"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let texts = entries
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .filter_map(|path| std::fs::read(path).ok());
    let mut all: Vec<Value> = texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect();
    all.sort_by_key(|level: &Value| std::cmp::Reverse(level["level"].as_i64()));
    all
}

/// A level with its address.
pub fn hrefs(mut level: Value, id: i64) -> Value {
    level["href"] = format!("/v1/jobs/{id}/levels/{}/height.r32", level["level"]).into();
    level
}

impl Service {
    /// Repeats what needs the index while others hold it: a job that has been computed is not lost
    /// for that. If the service ends first, the job is run again.
    fn insist<T>(&self, work: impl Fn() -> Answer<T>) -> Answer<T> {
        loop {
            match work() {
                Err(problem) if problem.is_of_others() && !self.is_ending() => {
                    tracing::warn!(detail = problem.detail, "a job waits for the index");
                    std::thread::sleep(Duration::from_secs(1));
                }
                done => return done,
            }
        }
    }

    /// Ends the jobs that run, so that they go on when the service starts again.
    pub fn interrupt(&self) {
        for track in self.tracks.lock().unwrap_or_else(PoisonError::into_inner).values() {
            track.interrupted.store(true, Ordering::Relaxed);
            track.cancel.cancel();
        }
        self.wakeup.ring();
    }
}

/// Jobs stand back while it lives.
pub struct PreviewPriority<'a>(&'a Service);

impl Drop for PreviewPriority<'_> {
    fn drop(&mut self) {
        self.0.previewing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Service {
    /// A person waits for a preview, so jobs stand back.
    pub fn first(&self) -> PreviewPriority<'_> {
        self.previewing.fetch_add(1, Ordering::Relaxed);
        PreviewPriority(self)
    }

    /// Waits while previews run, but not for long: a job goes on, however many of them there are.
    /// Returns how long it waited.
    fn stand_back(&self, cancel: &Cancel) -> Duration {
        let begun = Instant::now();
        while self.previewing.load(Ordering::Relaxed) > 0
            && begun.elapsed() < STAND_BACK
            && !cancel.is_cancelled()
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        begun.elapsed()
    }
}

/// Cancels when it is dropped, as when a client hangs up.
pub struct CancelOnDrop(pub Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
