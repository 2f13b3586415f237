//! The executor for machines without a graphics card: the same passes on every core.

use super::{Control, Executor};
use crate::error::{Error, Result};
use crate::plan::{Adder, Call, Fill, Kernel, Pass, Plan};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// In which order, and in what portions, the invocations of a pass are done. The results are the same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Shuffle the portions by this seed.
    pub shuffle: Option<u64>,
    /// Invocations a portion (rounded up to the pass's granule); none: by the number of threads.
    pub portion: Option<u32>,
    /// Add with atomics even where plain additions would do.
    pub atomic: bool,
}

/// Runs passes on the processor.
pub struct Cpu {
    pool: rayon::ThreadPool,
    schedule: Schedule,
    buffers: BTreeMap<&'static str, Vec<i32>>,
    // Memory of buffers let go, used again: fresh pages cost more than the kernels that fill them.
    spare: Vec<Vec<i32>>,
}

impl Cpu {
    /// An executor with so many threads; 0: as many as the machine has cores.
    pub fn new(threads: usize, schedule: Schedule) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| Error::Limit(format!("{threads} threads: {e}; ask for fewer with --threads")))?;
        Ok(Self { pool, schedule, buffers: BTreeMap::new(), spare: vec![] })
    }

    /// The pool, for other work in the same threads.
    pub fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }

    /// A zeroed buffer from spare memory where some fits.
    fn fresh(&mut self, words: usize, fill: i32) -> Result<Vec<i32>> {
        let fits = (0..self.spare.len()).filter(|&i| self.spare[i].capacity() >= words).min_by_key(|&i| self.spare[i].capacity());
        let mut buffer = fits.map(|i| self.spare.swap_remove(i)).unwrap_or_default();
        buffer.clear();
        buffer.try_reserve_exact(words).map_err(|_| {
            Error::Limit(format!("no memory for a buffer of {} MiB: make the map smaller", words as u64 * 4 / (1 << 20)))
        })?;
        buffer.resize(words, fill);
        Ok(buffer)
    }

    fn run_pass(&mut self, pass: &Pass, stop: &AtomicBool) {
        let Kernel { reads, owns, adds, cpu, .. } = *pass.kernel;
        let mut take = |name: &str| self.buffers.remove_entry(name).unwrap_or_else(|| panic!("no buffer {name}"));
        // What the pass writes leaves the table while it runs, so that nothing can read it.
        let mut own: Vec<_> = owns.iter().map(|(name, _)| take(name)).collect();
        let mut add: Vec<_> = adds.iter().map(|name| take(name)).collect();
        let frozen: Vec<&[i32]> = reads.iter().map(|name| self.buffers[name].as_slice()).collect();
        let targets: Vec<&[AtomicI32]> = add.iter_mut().map(|(_, words)| atomics(words)).collect();
        let threads = self.pool.current_num_threads();

        let apart = pass.apart.as_deref().filter(|rounds| {
            !self.schedule.atomic && (threads == 1 || rounds.iter().map(Vec::len).sum::<usize>() >= threads * 2 * rounds.len())
        });
        let alone = threads == 1 && !self.schedule.atomic || apart.is_some();
        let adders: Vec<Adder> = targets.iter().map(|words| Adder::new(words, alone)).collect();
        let portion =
            self.schedule.portion.unwrap_or((pass.count / (threads as u32 * 16)).max(4096)).next_multiple_of(pass.granule.max(1));
        let everything = || {
            let starts = (0..pass.count).step_by(portion as usize);
            vec![starts.map(|start| std::iter::once(start..pass.count.min(start.saturating_add(portion))).collect()).collect()]
        };
        let rounds = match apart {
            Some(rounds) if threads > 1 => rounds.clone(),
            _ => everything(),
        };
        for round in rounds {
            let mut slices: Vec<&mut [i32]> = own.iter_mut().map(|(_, words)| words.as_mut_slice()).collect();
            let mut groups = portions(round, owns, &mut slices);
            if let Some(seed) = self.schedule.shuffle {
                let key = crate::spec::key(seed, 0);
                groups.sort_by_key(|group| crate::spec::hash(key, group[0].0.start, 0));
            }
            self.pool.install(|| {
                groups.into_par_iter().with_max_len(1).for_each(|group| {
                    for (range, mut own) in group {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        cpu(&mut Call { params: &pass.params, range, reads: &frozen, owns: &mut own, adds: &adders });
                    }
                });
            });
        }
        self.buffers.extend(own);
        self.buffers.extend(add);
        if let Some([a, b]) = pass.swap {
            let (a, mut first) = self.buffers.remove_entry(a).unwrap_or_else(|| panic!("no buffer {a}"));
            if let Some(second) = self.buffers.get_mut(b) {
                std::mem::swap(&mut first, second);
            }
            self.buffers.insert(a, first);
        }
    }
}

/// A group of ranges with the words that their invocations own.
type Group<'a> = Vec<(Range<u32>, Vec<&'a mut [i32]>)>;

/// Cuts the owned buffers so that each range gets its words.
fn portions<'a>(round: Vec<Vec<Range<u32>>>, owns: &[(&str, usize)], slices: &mut [&'a mut [i32]]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = round.iter().map(|_| vec![]).collect();
    let mut ranges: Vec<(Range<u32>, usize)> =
        round.into_iter().enumerate().flat_map(|(group, ranges)| ranges.into_iter().map(move |r| (r, group))).collect();
    ranges.sort_by_key(|(range, _)| range.start);
    let mut at = 0;
    for (range, group) in ranges {
        let mine = slices
            .iter_mut()
            .zip(owns)
            .map(|(slice, &(_, words))| {
                let rest = std::mem::take(slice);
                let (_, rest) = rest.split_at_mut((range.start - at) as usize * words);
                let (mine, rest) = rest.split_at_mut(range.len() * words);
                *slice = rest;
                mine
            })
            .collect();
        at = range.end;
        groups[group].push((range, mine));
    }
    groups
}

/// Words as atomics.
fn atomics(words: &mut [i32]) -> &[AtomicI32] {
    // SAFETY: AtomicI32 has the size, alignment and bit validity of i32, and the exclusive borrow, which the result keeps for
    // its whole life, means that nobody sees the words as plain integers meanwhile. (The standard library's own
    // `AtomicI32::from_mut_slice` does the same and is not stable yet.)
    unsafe { &*(std::ptr::from_mut(words) as *const [AtomicI32]) }
}

impl Executor for Cpu {
    fn name(&self) -> String {
        let threads = self.pool.current_num_threads();
        format!("CPU, {threads} thread{}", if threads == 1 { "" } else { "s" })
    }

    fn admits(&self, plan: &Plan) -> Result<()> {
        let bytes = plan.bytes();
        match available_memory() {
            Some(free) if bytes > free => {
                let cells = plan.buffer("height").words as f64;
                let side = (cells * free as f64 / bytes as f64).sqrt() as u64;
                Err(Error::Limit(format!(
                    "the map needs {} MiB and {} MiB are free: a map of about {side} x {side} fits",
                    bytes >> 20,
                    free >> 20
                )))
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, plan: &Plan) -> Result<()> {
        for buffer in plan.buffers.iter().filter(|b| b.fill != Fill::Keep) {
            let old = [Some(buffer.name), buffer.keep].map(|name| name.and_then(|name| self.buffers.remove(name)));
            self.spare.extend(old.into_iter().flatten());
        }
        for buffer in &plan.buffers {
            let words = match &buffer.fill {
                Fill::Keep => continue,
                Fill::Word(word) => self.fresh(buffer.words, *word)?,
                Fill::Words(words) => {
                    let mut fresh = self.fresh(words.len(), 0)?;
                    fresh.copy_from_slice(words);
                    fresh
                }
            };
            self.buffers.insert(buffer.name, words);
        }
        Ok(())
    }

    fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
        for i in passes {
            self.run_pass(&plan.passes[i], control.stop);
            control.check()?;
            (control.progress)(i + 1);
        }
        Ok(())
    }

    fn end(&mut self, plan: &Plan) {
        for buffer in &plan.buffers {
            let words = self.buffers.remove(buffer.name);
            match (buffer.keep, words) {
                (Some(name), Some(words)) => drop(self.buffers.insert(name, words)),
                (_, words) => self.spare.extend(words),
            }
        }
    }

    fn release(&mut self) {
        self.spare.clear();
    }

    fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
        let mut fresh = self.fresh(words.len(), 0)?;
        fresh.copy_from_slice(words);
        if let Some(old) = self.buffers.insert(name, fresh) {
            self.spare.push(old);
        }
        Ok(())
    }

    fn read(&mut self, name: &str) -> Result<Vec<i32>> {
        Ok(self.buffers[name].clone())
    }
}

/// Bytes that the system can still give, where it tells.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}
