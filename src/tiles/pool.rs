//! Windows of a land for programs that walk through it: several workers make them in the
//! background, the most urgent first.

use super::pieces::Pieces;
use super::{Cut, Store, Tiles, check_window};
use crate::error::{Error, Result};
use crate::exec::Executor;
use crate::field::Field;
use crate::job::{Cancel, Job};
use crate::map::Map;
use crate::memory;
use crate::schedule::PIECES_BYTES;
use crate::site::Window;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How a [`WindowPool`] works.
#[derive(Clone)]
#[non_exhaustive]
pub struct PoolOptions {
    /// Threads that make windows, each with an executor of its own. 0: one for each core on the
    /// CPU, and one on a graphics card.
    pub workers: usize,
    /// How the land is cut into tiles. Windows have the same words whatever this is.
    pub cut: Cut,
    /// Bytes of tiles that stay in memory, for all workers together.
    pub memory_bytes: u64,
    /// Where tiles are kept.
    pub store: Option<Store>,
    /// Called by a worker with the [number](WindowRequest::number) of a request that it has
    /// answered, so that a program need not look. Requests that are cancelled while they wait are
    /// not told. It must not drop the pool, which waits for the worker.
    pub answered: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            workers: 0,
            cut: Cut::from(128),
            memory_bytes: PIECES_BYTES,
            store: None,
            answered: None,
        }
    }
}

impl fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("PoolOptions")
            .field("workers", &self.workers)
            .field("cut", &self.cut)
            .field("memory_bytes", &self.memory_bytes)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// Workers that make windows of a land in the background, from tiles that they share. What they
/// make is what one run of the whole land has there.
///
/// ```
/// use thalweg::tiles::{PoolOptions, WindowPool};
/// use thalweg::{Device, Job, Recipe, Window};
///
/// let recipe: Recipe = "schema = 2\nseed = 5\nwidth = 64\nheight = 64\nspacing_m = 20\n\
///                       endless = true\n[[stage]]\nkind = \"noise\"\nrelief_m = 900\n".parse()?;
/// let job = Job::new(recipe)?.device(Device::Cpu);
/// let pool = WindowPool::new(job, PoolOptions::default())?;
/// let chunk = Window { origin: [1_000_000, -64], width: 65, height: 65 };
/// let mut near = pool.request(0, chunk, "height", 10)?;
/// let far = pool.request(0, Window { origin: [1_000_640, -64], ..chunk }, "height", 1)?;
/// if near.poll().is_none() {
///     // It is not there yet: draw a frame, and look again.
/// }
/// drop(far); // Nobody wants it any more.
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// When the pool is dropped, its requests end with [`Error::Cancelled`] and its threads are waited
/// for.
#[derive(Debug)]
pub struct WindowPool {
    job: Job,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// A window that was asked for. To drop it is to cancel it.
#[derive(Debug)]
pub struct WindowRequest {
    asked: Arc<Asked>,
    shared: Arc<Shared>,
}

/// What the workers and those who ask share.
struct Shared {
    queue: Mutex<Queue>,
    /// Something was asked for, or the pool ends.
    woken: Condvar,
    /// How many tiles were made, and how many the store had.
    counts: [AtomicU64; 2],
    answered: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Shared").field("counts", &self.counts).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<Asked>>,
    /// What workers are making.
    working: Vec<Arc<Asked>>,
    /// How many were asked for so far.
    count: u64,
    has_ended: bool,
}

/// A request, as it lies in the queue.
struct Asked {
    number: u64,
    level: i32,
    window: Window,
    field: &'static Field,
    priority: AtomicI64,
    cancel: Cancel,
    answer: Mutex<Answer>,
    done: Condvar,
}

/// What became of a request. Each is answered: by its worker, by who cancels it, or when the pool
/// ends.
enum Answer {
    Pending,
    There(Result<Map>),
    Taken,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Asked")
            .field("number", &self.number)
            .field("level", &self.level)
            .field("window", &self.window)
            .field("field", &self.field.name)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl WindowPool {
    /// A pool for a land that has tiles. The job says the device and its threads; without a number
    /// of threads each worker of the CPU has one. Each request has a [`Cancel`] of its own, and the
    /// job's ends none of them. Each worker follows the water of a land for itself.
    ///
    /// # Errors
    /// As [`Tiles::new`]; [`Error::Limit`] where threads cannot be started.
    pub fn new(job: Job, options: PoolOptions) -> Result<Self> {
        let is_cpu = job.options().is_cpu();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = match options.workers {
            0 if is_cpu => cores,
            0 => 1,
            workers => workers,
        };
        let threads = job.options().threads;
        // Unless the job says how many, the workers share the cores.
        let threads = if threads == 0 { (cores / workers).max(1) } else { threads };
        let job = job.threads(threads);
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            woken: Condvar::new(),
            counts: Default::default(),
            answered: options.answered,
        });
        let pieces = Arc::new(Pieces::new(options.memory_bytes));
        let mut pool = Self { job, shared, threads: vec![] };
        for number in 0..workers {
            let mut tiles =
                Tiles::new(pool.job.clone(), options.cut.clone())?.sharing(pieces.clone());
            if let Some(store) = &options.store {
                tiles = tiles.stored_in(store.clone());
            }
            let shared = pool.shared.clone();
            let started = std::thread::Builder::new()
                .name(format!("window {number}"))
                .spawn(move || shared.work(tiles));
            let refused = |e| Error::limit(format!("{workers} workers: {e}; ask for fewer"));
            // Where one cannot be started, the pool is dropped, which ends the others.
            pool.threads.push(started.map_err(refused)?);
        }
        Ok(pool)
    }

    /// Asks for a map of a window of a level. Of those that wait, the one of the highest priority
    /// is made first, and of equals the one that was asked for first.
    ///
    /// # Errors
    /// [`Error::Param`] for a level or a map that the land does not have, and for a window without
    /// cells or beyond the land; [`Error::Limit`] for one that does not fit into memory.
    pub fn request(
        &self,
        level: i32,
        window: Window,
        map: &str,
        priority: i64,
    ) -> Result<WindowRequest> {
        self.job.schedule().check_level(level)?;
        check_window(&self.job, level, &window)?;
        let field = Tiles::fields_on(&self.job, level, Some(map))?[0];
        memory::admit(format!("the window of {map}"), 16 * window.cells() as u64)?;
        let mut queue = self.shared.queue();
        let asked = Arc::new(Asked {
            number: queue.count,
            level,
            window,
            field,
            priority: priority.into(),
            cancel: Cancel::default(),
            answer: Mutex::new(Answer::Pending),
            done: Condvar::new(),
        });
        queue.count += 1;
        queue.waiting.push(asked.clone());
        drop(queue);
        self.shared.woken.notify_one();
        Ok(WindowRequest { asked, shared: self.shared.clone() })
    }

    /// How many tiles were made so far, and how many the store had.
    pub fn counts(&self) -> [u64; 2] {
        self.shared.counts.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// How many windows wait or are being made.
    pub fn pending(&self) -> usize {
        let queue = self.shared.queue();
        queue.waiting.len() + queue.working.len()
    }
}

impl Drop for WindowPool {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.has_ended = true;
        let waiting = std::mem::take(&mut queue.waiting);
        queue.working.iter().for_each(|asked| asked.cancel.cancel());
        // Nobody is answered while the queue is locked.
        drop(queue);
        waiting.iter().for_each(|asked| asked.answer(Err(Error::Cancelled)));
        self.shared.woken.notify_all();
        for thread in self.threads.drain(..) {
            // A worker that panicked has answered its request.
            let _ = thread.join();
        }
    }
}

impl WindowRequest {
    /// Its number: 0 for the first of a pool.
    pub fn number(&self) -> u64 {
        self.asked.number
    }

    /// The window that was asked for.
    pub fn window(&self) -> Window {
        self.asked.window
    }

    /// The map, once, as soon as it is there. It does not wait.
    pub fn poll(&mut self) -> Option<Result<Map>> {
        self.asked.answer_mut().take()
    }

    /// Waits for the map.
    ///
    /// # Errors
    /// [`Error::Cancelled`] for a request that was cancelled, or whose pool is gone or whose map
    /// was taken; and those of a run.
    pub fn wait(self) -> Result<Map> {
        let mut answer = self.asked.answer_mut();
        while matches!(*answer, Answer::Pending) {
            answer = self.asked.done.wait(answer).unwrap_or_else(PoisonError::into_inner);
        }
        answer.take().unwrap_or(Err(Error::Cancelled))
    }

    /// Another priority, while it waits.
    pub fn set_priority(&self, priority: i64) {
        self.asked.priority.store(priority, Ordering::Relaxed);
    }

    /// Ends this request alone, with [`Error::Cancelled`] if it is not answered yet. Tiles that
    /// were made for it stay.
    pub fn cancel(&self) {
        // This comes first, so that a worker that takes the request meanwhile sees it.
        self.asked.cancel.cancel();
        let mut queue = self.shared.queue();
        let at = queue.waiting.iter().position(|asked| Arc::ptr_eq(asked, &self.asked));
        let waited = at.map(|at| queue.waiting.swap_remove(at));
        drop(queue);
        if let Some(asked) = waited {
            asked.answer(Err(Error::Cancelled));
        }
    }
}

impl Drop for WindowRequest {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Answer {
    /// The map, if it is there and was not taken.
    fn take(&mut self) -> Option<Result<Map>> {
        match std::mem::replace(self, Self::Taken) {
            Self::There(map) => Some(map),
            Self::Taken => None,
            Self::Pending => {
                *self = Self::Pending;
                None
            }
        }
    }
}

impl Asked {
    fn answer_mut(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, map: Result<Map>) {
        *self.answer_mut() = Answer::There(map);
        self.done.notify_all();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most urgent request, when there is one; none when the pool ends.
    fn next(&self) -> Option<Arc<Asked>> {
        let mut queue = self.queue();
        loop {
            if queue.has_ended {
                return None;
            }
            let urgency = |asked: &Arc<Asked>| {
                (asked.priority.load(Ordering::Relaxed), std::cmp::Reverse(asked.number))
            };
            // Priorities change while requests wait, so the queue is looked through and not kept in
            // order.
            let most = queue.waiting.iter().map(urgency).enumerate().max_by_key(|(_, of)| *of);
            if let Some((at, _)) = most {
                let asked = queue.waiting.swap_remove(at);
                queue.working.push(asked.clone());
                return Some(asked);
            }
            queue = self.woken.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Answers a request that a worker has in hand.
    fn answer(&self, asked: &Arc<Asked>, map: Result<Map>) {
        // When the answer is there, the request is no longer pending.
        self.queue().working.retain(|other| !Arc::ptr_eq(other, asked));
        asked.answer(map);
        if let Some(answered) = &self.answered {
            // What goes wrong there is no fault of the worker.
            let _ = catch_unwind(AssertUnwindSafe(|| answered(asked.number)));
        }
    }

    /// What a worker does until the pool ends.
    fn work(&self, mut tiles: Tiles) {
        let job = tiles.job().clone();
        while let Some(first) = self.next() {
            // Where a device fails, the request in hand goes to the one that takes over.
            let mut in_hand = Some(first);
            let mut devices = 0;
            let mut make_all = |executor: &mut dyn Executor| {
                devices += 1;
                while let Some(asked) = in_hand.take().or_else(|| self.next()) {
                    in_hand = Some(asked.clone());
                    let made = self.make(&asked, &mut tiles, executor);
                    let Some(made) = made else {
                        // It may have left anything behind, so the device is opened anew.
                        let what = format!("{}: the worker panicked", executor.name());
                        self.answer(&asked, Err(Error::device(what)));
                        in_hand = None;
                        return Ok(());
                    };
                    match made {
                        Err(e @ (Error::Device(_) | Error::Limit(_))) => return Err(e),
                        map => self.answer(&asked, map),
                    }
                    in_hand = None;
                    if devices > 1 {
                        // One window was too much for the card, and the next may not be.
                        return Ok(());
                    }
                }
                Ok(())
            };
            let done =
                catch_unwind(AssertUnwindSafe(|| job.with_device(&mut |_| {}, &mut make_all)));
            let failed = match done {
                Ok(Ok(())) => None,
                Ok(Err(e)) => Some(e),
                Err(_) => Some(Error::device("a worker's device panicked")),
            };
            if let Some((asked, e)) = in_hand.take().zip(failed) {
                self.answer(&asked, Err(e));
            }
        }
    }

    /// Makes what was asked for; nothing if that panics.
    fn make(
        &self,
        asked: &Asked,
        tiles: &mut Tiles,
        executor: &mut dyn Executor,
    ) -> Option<Result<Map>> {
        if let Err(e) = asked.cancel.check() {
            return Some(Err(e));
        }
        // Who cancels this request ends the work on its tiles, too.
        tiles.cancel_by(&asked.cancel);
        let before = tiles.counts();
        let map = catch_unwind(AssertUnwindSafe(|| {
            tiles.map(asked.level, asked.window, asked.field, executor)
        }));
        for (count, (after, before)) in self.counts.iter().zip(tiles.counts().iter().zip(before)) {
            count.fetch_add(after - before, Ordering::Relaxed);
        }
        map.ok()
    }
}
