//! Runs, and windows of lands.

use crate::border::{self, ThalwegStatus, c_text, locked};
use crate::land::ThalwegLand;
use crate::recipe::{Read, ThalwegRecipe};
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use thalweg::device::DeviceOptions;
use thalweg::picture::Picture;
use thalweg::tiles::{PoolOptions, WindowPool};
use thalweg::{
    Cancel, Device, Error, Event, Heights, Invalid, Job, Map, ReadOptions, Result, Samples, Window,
};

/// How long a window is waited for before the wait looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// A recipe with its inputs and a device.
pub struct ThalwegJob {
    state: Mutex<State>,
    cancel: Cancel,
}

struct State {
    job: Job,
    options: DeviceOptions,
    /// What makes windows, once one was asked for.
    windows: Option<Arc<Windows>>,
}

/// Workers that make windows.
struct Windows {
    pool: WindowPool,
    /// Wakes those who wait for a window.
    answered: Arc<(Mutex<()>, Condvar)>,
}

/// Samples row by row from the north-west.
#[repr(C)]
pub struct ThalwegGrid {
    /// The samples: metres of heights. A sample of heights that is NaN is a cell outside the land.
    pub values: *const f32,
    /// How many there are: width x height.
    pub count: usize,
    /// Samples in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Metres from a sample to the next. Of heights alone, and only if the recipe has none.
    pub spacing_m: f64,
}

/// A part of a level of a land.
#[repr(C)]
pub struct ThalwegWindow {
    /// Cells from the origin of the world to the first column. They grow to the east.
    pub x: i64,
    /// Cells to the first row. They grow to the south.
    pub y: i64,
    /// Cells in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// 0 is the recipe's own cells. Each next level has cells twice as wide.
    pub level: i32,
    /// Of windows that wait, those of the highest priority are made first.
    pub priority: i32,
}

/// What an event tells.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum ThalwegEventKind {
    /// The run begins. The text is the name of the device.
    Started = 0,
    /// The text is a sentence for people.
    Warning = 1,
    /// Passes are done. It comes several times a second. The text is the name of the stage.
    Progress = 2,
    /// The graphics card failed, and the CPU starts over, for the same bytes.
    Restarted = 3,
}

/// What a run tells on its way. It lasts as long as the call.
#[repr(C)]
pub struct ThalwegEvent {
    /// What it is.
    pub kind: ThalwegEventKind,
    /// What it says, never NULL.
    pub text: *const c_char,
    /// The number of the stage, from 0. A stage that runs on several levels counts on each.
    pub stage: u64,
    /// How many stages there are.
    pub stages: u64,
    /// Passes of the stage that are done.
    pub done: u64,
    /// Passes of the stage.
    pub passes: u64,
}

/// Watches a run, on the thread that called thalweg_job_run. 0 continues it; anything else ends it
/// with THALWEG_STATUS_CANCELLED. It must return: no exception and no longjmp may leave it.
pub type ThalwegWatch =
    Option<unsafe extern "C" fn(event: *const ThalwegEvent, user: *mut c_void) -> c_int>;

impl ThalwegGrid {
    /// The samples.
    ///
    /// # Safety
    /// As the header says of its members.
    unsafe fn samples(&self) -> Result<&[f32]> {
        let wanted = u64::from(self.width) * u64::from(self.height);
        // SAFETY: as this function asks.
        unsafe { border::values("values", self.values, self.count, wanted) }
    }
}

/// A run of a recipe on heights in memory or on those that it makes or names.
fn new_job(read: Read, heights: Option<(&ThalwegGrid, &[f32])>) -> Result<Job> {
    let Read { recipe, has_folder } = read;
    let Some((grid, metres)) = heights else {
        return if has_folder { Job::read(recipe) } else { Job::new(recipe) };
    };
    let missing: Vec<usize> =
        metres.iter().enumerate().filter(|(_, v)| v.is_nan()).map(|(cell, _)| cell).collect();
    let heights = Heights::metres(grid.width, grid.height, grid.spacing_m, metres);
    let mut job = Job::with_heights(recipe, heights.without(&missing))?;
    if has_folder {
        read_files(&mut job)?;
    }
    Ok(job)
}

/// Reads the files of a job's stages.
fn read_files(job: &mut Job) -> Result<()> {
    for (i, path) in job.files().collect::<Vec<_>>() {
        let samples = job.recipe().stages[i].samples().unwrap_or_default();
        let options = ReadOptions { samples, ..ReadOptions::default() };
        job.supply(i, &thalweg::read(path, &options)?.map)?;
    }
    let max_cells = Picture::SAMPLES_MAX as u64;
    let options = ReadOptions { samples: Samples::Shares, max_cells, ..ReadOptions::default() };
    for (_, _, file) in job.pictures().collect::<Vec<_>>() {
        let map = thalweg::read(job.recipe().folder.join(&file), &options)?.map;
        job.supply_picture(&file, &map)?;
    }
    Ok(())
}

/// The names by which a job's stages can be given samples: the stage, and its names.
fn places(job: &Job) -> impl Iterator<Item = (usize, [Option<&str>; 2])> {
    let stages = job.recipe().stages.iter().enumerate();
    stages.filter(|(_, step)| step.samples().is_some()).map(|(i, step)| {
        let own =
            if step.stage.name == "layer" { step.settings.word("map") } else { step.stage.name };
        (i, [step.file(), Some(own)])
    })
}

/// Gives a job a layer or a picture.
fn supply(job: &mut Job, name: &str, map: &Map) -> Result<()> {
    let stages: Vec<usize> =
        places(job).filter(|(_, names)| names.contains(&Some(name))).map(|(i, _)| i).collect();
    let is_picture = job.pictures().any(|(_, _, file)| file == name);
    if stages.is_empty() && !is_picture {
        let mut known: Vec<String> =
            places(job).flat_map(|(_, names)| names).flatten().map(String::from).collect();
        known.extend(job.pictures().map(|(_, _, file)| file));
        known.sort();
        known.dedup();
        let allowed = match known.is_empty() {
            true => "none: no stage of the recipe takes a layer or a picture".into(),
            false => known.join(", "),
        };
        return Err(Invalid::value("name", format!("{name:?}"), allowed).into());
    }
    for stage in stages {
        job.supply(stage, map)?;
    }
    if is_picture { job.supply_picture(name, map) } else { Ok(()) }
}

impl Windows {
    fn new(job: Job, options: &DeviceOptions) -> Result<Self> {
        let answered = Arc::new((Mutex::new(()), Condvar::new()));
        let mut pool = PoolOptions::default();
        pool.answered = Some(Arc::new({
            let answered = answered.clone();
            move |_| {
                let _turn = locked(&answered.0);
                answered.1.notify_all();
            }
        }));
        // On the CPU each worker has a thread.
        let job = if options.threads > 0 && options.is_cpu() {
            pool.workers = options.threads;
            job.threads(1)
        } else {
            job
        };
        Ok(Self { pool: WindowPool::new(job, pool)?, answered })
    }

    /// Makes a window, and waits for it.
    fn window(&self, asked: &ThalwegWindow, map: &str, cancel: &Cancel) -> Result<Map> {
        let &ThalwegWindow { x, y, width, height, level, priority } = asked;
        let window = Window { origin: [x, y], width, height };
        let mut request = self.pool.request(level, window, map, priority.into())?;
        loop {
            let turn = locked(&self.answered.0);
            if let Some(map) = request.poll() {
                return map;
            }
            cancel.check()?;
            let waited = self.answered.1.wait_timeout(turn, LOOK);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl ThalwegJob {
    /// What makes windows of the job as it is now.
    fn windows(&self) -> Result<Arc<Windows>> {
        let mut state = locked(&self.state);
        if let Some(windows) = &state.windows {
            return Ok(windows.clone());
        }
        let windows = Arc::new(Windows::new(state.job.clone(), &state.options)?);
        state.windows = Some(windows.clone());
        Ok(windows)
    }
}

/// A job of a recipe as it is now. `heights` takes the place of the recipe's input; NULL: the
/// recipe makes its heights or names their file. `device` is "cpu", "auto", "gpu", the number of an
/// adapter or a part of its name; NULL is "auto". `threads` are those of the CPU; 0: one a core.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_job_new(
    recipe: *const ThalwegRecipe,
    heights: *const ThalwegGrid,
    device: *const c_char,
    threads: u32,
    out: *mut *mut ThalwegJob,
) -> ThalwegStatus {
    let make = || {
        // SAFETY: the header asks for a handle that was not freed.
        let recipe = unsafe { border::borrowed("recipe", recipe) }?;
        // SAFETY: the header asks for null, or for a grid.
        let grid = unsafe { border::borrowed_or_null("heights", heights) }?;
        // SAFETY: the header asks for a text that ends in a zero, or for null.
        let name = unsafe { border::text_or_null("device", device) }?.unwrap_or("auto");
        let wrong = |what: String| Invalid::of("device", name, "").saying(what);
        let device = name.parse::<Device>().map_err(wrong)?;
        // SAFETY: the header says what the members of a grid are.
        let samples = grid.map(|grid| unsafe { grid.samples() }).transpose()?;
        let job = new_job(recipe.read(), grid.zip(samples))?;
        let options =
            DeviceOptions { device, threads: threads as usize, ..DeviceOptions::default() };
        let job = job.device(options.device.clone()).threads(options.threads);
        let cancel = job.cancel_handle();
        let state = Mutex::new(State { job, options, windows: None });
        Ok(ThalwegJob { state, cancel })
    };
    // SAFETY: the header asks for room for a pointer.
    unsafe { border::put_new(out, make) }
}

/// Gives a job samples from memory: a layer of the size of the land with values from 0 to 1,
/// numbers of biomes, or a picture of any size. `name` is the file that the recipe names, the `map`
/// of a layer, or the kind of another stage. It is copied, and is for runs that begin later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_job_supply(
    job: *mut ThalwegJob,
    name: *const c_char,
    grid: *const ThalwegGrid,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let job = unsafe { border::borrowed("job", job) }?;
        // SAFETY: the header asks for a text that ends in a zero.
        let name = unsafe { border::text("name", name) }?;
        // SAFETY: the header asks for a grid.
        let grid = unsafe { border::borrowed("grid", grid) }?;
        // SAFETY: the header says what the members of a grid are.
        let data = unsafe { grid.samples() }?.to_vec();
        let &ThalwegGrid { width, height, spacing_m, .. } = grid;
        let map = Map { width, height, spacing_m, data, range_m: None, georef: None };
        let mut state = locked(&job.state);
        let mut supplied = state.job.clone();
        supply(&mut supplied, name, &map)?;
        state.job = supplied;
        // Windows that others wait for are made before their workers go.
        let windows = state.windows.take();
        drop(state);
        drop(windows);
        Ok(())
    })
}

/// Runs a job and waits for its land. `watch` may be NULL; `user` is handed to it as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_job_run(
    job: *const ThalwegJob,
    watch: ThalwegWatch,
    user: *mut c_void,
    out: *mut *mut ThalwegLand,
) -> ThalwegStatus {
    let make = || {
        // SAFETY: the header asks for a handle that was not freed.
        let job = unsafe { border::borrowed("job", job) }?;
        let job = locked(&job.state).job.clone();
        let tell = |kind, text: &str, [stage, stages, done, passes]: [usize; 4]| {
            let Some(watch) = watch else { return Ok(()) };
            let text = c_text(text);
            let [stage, stages, done, passes] = [stage, stages, done, passes].map(|n| n as u64);
            let event = ThalwegEvent { kind, text: text.as_ptr(), stage, stages, done, passes };
            // SAFETY: the event lives until the call returns, and `user` is the caller's own.
            match unsafe { watch(&raw const event, user) } {
                0 => Ok(()),
                _ => Err(Error::Cancelled),
            }
        };
        for (file, warning) in job.warnings() {
            let file = file.as_ref().map(|file| format!("{}: ", file.display()));
            let text = file.unwrap_or_default() + warning;
            tell(ThalwegEventKind::Warning, &text, [0; 4])?;
        }
        let land = job.run(&mut |event| match event {
            Event::Started(device) => tell(ThalwegEventKind::Started, device, [0; 4]),
            Event::Warning(warning) => tell(ThalwegEventKind::Warning, warning, [0; 4]),
            Event::Restarted => tell(ThalwegEventKind::Restarted, "", [0; 4]),
            Event::Progress(at) => {
                let counts = [at.stage, at.stages, at.done, at.passes];
                tell(ThalwegEventKind::Progress, at.name, counts)
            }
            _ => Ok(()),
        })?;
        Ok(ThalwegLand::new(land))
    };
    // SAFETY: the header asks for room for a pointer.
    unsafe { border::put_new(out, make) }
}

/// Makes a map of a window of a level of the land and waits for it: what the run of the whole land
/// has there, at the cost of the window. A land that is `endless` has windows everywhere. `values`
/// has room for `count` values: width x height, row by row from the north-west. The job keeps
/// workers and tiles for later windows. Several threads may wait for windows of one job.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_job_window(
    job: *const ThalwegJob,
    map: *const c_char,
    window: *const ThalwegWindow,
    values: *mut f32,
    count: usize,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let job = unsafe { border::borrowed("job", job) }?;
        // SAFETY: the header asks for a text that ends in a zero.
        let map = unsafe { border::text("map", map) }?;
        // SAFETY: the header asks for a window.
        let window = unsafe { border::borrowed("window", window) }?;
        let wanted = u64::from(window.width) * u64::from(window.height);
        // SAFETY: the header asks for room for that many values.
        let room = unsafe { border::room("values", values, count, wanted) }?;
        job.cancel.check()?;
        let made = job.windows()?.window(window, map, &job.cancel)?;
        room.copy_from_slice(&made.data);
        Ok(())
    })
}

/// Cancels the runs and windows of a job, from any thread: they end within about a second. Later
/// ones end at once. `cancelled` = 0 lets them begin again, when those that were cancelled have
/// ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_job_cancel(
    job: *mut ThalwegJob,
    cancelled: c_int,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let job = unsafe { border::borrowed("job", job) }?;
        match cancelled {
            0 => job.cancel.renew(),
            _ => job.cancel.cancel(),
        }
        Ok(())
    })
}

/// Frees a job, and ends its workers. Its lands stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_job_free(job: *mut ThalwegJob) {
    // SAFETY: the header asks for null, or for a handle that was not freed.
    unsafe { border::free(job) }
}
