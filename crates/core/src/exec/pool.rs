//! The threads of the CPU executor.
//!
//! A target without threads, such as WebAssembly in a page, has one: that which calls. There rayon
//! does all work in it, in order.

use crate::error::{Error, Result};
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Threads that do work together.
pub(super) struct Pool {
    /// None where the target has no threads: rayon's global pool is the calling thread then.
    own: Option<rayon::ThreadPool>,
}

impl Pool {
    /// A pool of this many threads, or with 0 of as many as the machine has cores.
    pub fn new(threads: usize) -> Result<Self> {
        let own = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
            Ok(pool) => pool,
            Err(_) if cfg!(target_family = "wasm") => return Ok(Self { own: None }),
            Err(e) => {
                let asked = match threads {
                    0 => "a thread for each core".into(),
                    _ => format!("{threads} threads"),
                };
                return Err(Error::limit(format!("{asked}: {e}; ask for fewer with --threads")));
            }
        };
        // A thread reserves address space when it first allocates, so what is free is known only
        // when all have.
        own.broadcast(|_| std::hint::black_box(Box::new(0u8)));
        Ok(Self { own: Some(own) })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.own.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Does something on a thread of the pool.
    fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.own {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Adds this many words to a buffer, by all threads.
    pub fn extend(&self, buffer: &mut Vec<i32>, more: usize, fill: i32) {
        self.install(|| buffer.par_extend(rayon::iter::repeat_n(fill, more)));
    }

    /// Does something on a thread of the pool, while others of `useful` threads stay awake and
    /// take what it has for them: to wake a thread that sleeps takes longer than its part of a
    /// small pass.
    pub fn attended(&self, useful: usize, work: impl FnOnce() + Send) {
        /// Sets a mark when it goes, be it in a panic.
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let useful = useful.min(self.threads());
        let Some(pool) = self.own.as_ref().filter(|_| useful > 1) else {
            return self.install(work);
        };
        let (is_over, others) = (&AtomicBool::new(false), &AtomicUsize::new(useful - 1));
        pool.scope(|scope| {
            let over = Over(is_over);
            let own = rayon::current_thread_index();
            scope.spawn_broadcast(move |_, at| {
                let is_wanted = || {
                    others
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                            left.checked_sub(1)
                        })
                        .is_ok()
                };
                if Some(at.index()) != own && is_wanted() {
                    attend(is_over);
                }
            });
            work();
            drop(over);
        });
    }
}

/// Takes the work that other threads of the pool have, until it is over.
fn attend(is_over: &AtomicBool) {
    let mut idle = 0u32;
    while !is_over.load(Ordering::Relaxed) {
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            idle = 0;
        } else {
            idle += 1;
            // Other programs may need the core.
            if idle.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

/// Does things on the threads of a pool, on one of which it is called. Each thread begins with its
/// own part of the list, so that from pass to pass the same cells are in the same core's caches,
/// and then takes what others have not begun.
pub(super) fn share_out<T: Send>(things: Vec<T>, threads: usize, each: impl Fn(T) + Sync) {
    let workers = threads.min(things.len()).max(1);
    let things: Vec<Mutex<Option<T>>> =
        things.into_iter().map(|thing| Mutex::new(Some(thing))).collect();
    let work = || {
        let first = rayon::current_thread_index().unwrap_or(0) % workers * things.len() / workers;
        let (before, own) = things.split_at(first);
        for thing in own.iter().chain(before) {
            // One that is locked is being taken.
            if let Some(thing) = thing.try_lock().ok().and_then(|mut thing| thing.take()) {
                each(thing);
            }
        }
    };
    side_by_side(workers, &work);
}

/// Does some work this many times side by side. What it takes for that lies on the stack, so it is
/// faster than a scope, whose tasks are allocated.
fn side_by_side(times: usize, work: &(impl Fn() + Sync)) {
    if times < 2 {
        return work();
    }
    let half = times / 2;
    rayon::join(|| side_by_side(times - half, work), || side_by_side(half, work));
}
