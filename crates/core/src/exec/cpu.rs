//! The CPU executor: runs passes on all cores.

mod division;

use super::pool::{Pool, share_out};
use super::{Control, Executor, Selection};
use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::memory;
use crate::plan::{Adder, Call, Calm, Fill, Kernel, Pass, Plan, Touched};
use division::{ALONE, Division, portions};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

/// The order and the portions in which the invocations of a pass are done. The results do not
/// depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Order {
    /// Shuffle the portions by this seed.
    pub shuffle: Option<u64>,
    /// Invocations of a portion, rounded up to the pass's granule. By default it depends on the
    /// number of threads.
    pub portion: Option<u32>,
    /// Add with atomics even where plain additions suffice.
    pub atomic: bool,
}

/// Runs passes on the processor.
pub struct Cpu {
    pool: Pool,
    order: Order,
    memory: Memory,
}

/// The buffers.
#[derive(Default)]
struct Memory {
    buffers: BTreeMap<&'static str, Vec<i32>>,
    // Where passes have added to buffers.
    marks: BTreeMap<&'static str, Marks>,
    // What a kernel keeps from one of its passes to the next.
    known: Option<Known>,
    // Memory of released buffers, to be reused: fresh pages cost more than the kernels that fill
    // them.
    spare: Vec<Vec<i32>>,
}

/// What a kernel keeps from pass to pass: see [`Calm`].
struct Known {
    kernel: &'static Kernel,
    /// The buffers that it describes: those that the pass exchanges.
    buffers: Vec<&'static str>,
    before: Vec<u8>,
    after: Vec<AtomicU8>,
    /// How many blocks of cells the last pass did, and how many there are.
    done: [usize; 2],
}

impl Known {
    fn nothing(pass: &Pass, bytes: usize, blocks: usize) -> Self {
        let after = std::iter::repeat_with(AtomicU8::default).take(bytes);
        Self {
            kernel: pass.kernel,
            buffers: pass.swaps.iter().flatten().copied().collect(),
            before: vec![Calm::UNKNOWN; bytes],
            after: after.collect(),
            done: [0, blocks],
        }
    }

    /// Whether a pass writes to one of its buffers.
    fn is_written_by(&self, pass: &Pass) -> bool {
        let Kernel { owns, adds, .. } = pass.kernel;
        let mut written =
            owns.iter().map(|(name, _)| name).chain(*adds).chain(pass.swaps.iter().flatten());
        written.any(|name| self.buffers.contains(name))
    }

    /// Hands on what a pass has written.
    fn hand_on(&mut self) {
        for (before, after) in self.before.iter_mut().zip(&mut self.after) {
            *before = std::mem::take(after.get_mut());
        }
        self.done[0] = self.before.iter().filter(|byte| **byte & Calm::DONE != 0).count();
    }
}

/// Where a buffer was added to: see [`Touched`].
#[derive(Default)]
struct Marks {
    /// A mark for each block.
    blocks: Vec<AtomicBool>,
    /// Words of blocks with a mark, and of short gaps between such.
    spans: Vec<Range<usize>>,
    /// See [`Cpu::peaks`].
    peak: AtomicU32,
}

impl Marks {
    /// Everything counts as touched.
    fn set_all(&mut self) {
        self.blocks.iter_mut().for_each(|mark| *mark.get_mut() = true);
        self.spans.clear();
        self.spans.push(0..self.blocks.len() * Touched::BLOCK);
    }

    /// Nothing counts as touched. All marks lie in spans.
    fn clear(&mut self) {
        for span in self.spans.drain(..) {
            let blocks = &mut self.blocks[span.start / Touched::BLOCK..span.end / Touched::BLOCK];
            blocks.iter_mut().for_each(|mark| *mark.get_mut() = false);
        }
    }

    /// Brings the spans up to the marks.
    fn collect(&mut self) {
        self.spans.clear();
        // If a sample says that most is touched, a list would be long and useless, so everything
        // counts as touched.
        let sample = || (0..self.blocks.len()).step_by(61);
        if sample().filter(|i| self.blocks[*i].load(Ordering::Relaxed)).count() * 2
            > sample().count()
        {
            self.spans.push(0..self.blocks.len() * Touched::BLOCK);
            return;
        }
        let spans = &mut self.spans;
        let mut span = |blocks: Range<usize>| match spans.last_mut() {
            Some(last) if last.end + GAP * Touched::BLOCK >= blocks.start * Touched::BLOCK => {
                last.end = blocks.end * Touched::BLOCK
            }
            _ => spans.push(blocks.start * Touched::BLOCK..blocks.end * Touched::BLOCK),
        };
        for (c, blocks) in self.blocks.chunks_mut(64).enumerate() {
            let first = c * 64;
            // There are at most 64 marks, so a byte can count them.
            match blocks.iter_mut().map(|mark| *mark.get_mut() as u8).sum::<u8>() as usize {
                0 => {}
                all if all == blocks.len() => span(first..first + all),
                _ => {
                    let marked = blocks
                        .iter_mut()
                        .enumerate()
                        .filter_map(|(i, mark)| mark.get_mut().then_some(first + i));
                    marked.for_each(|block| span(block..block + 1));
                }
            }
        }
    }
}

/// Gaps of up to this many blocks without a mark are joined to the spans beside them: to read on is
/// faster than to begin again, since processors read ahead. (Measured at 1024²: 13 % of a run with
/// a droplet for nine cells, nothing where droplets are much fewer.)
const GAP: usize = 16;

/// A buffer that gets at least this number of new words is filled by all threads.
const PARALLEL_FILL: usize = 1 << 17;
/// Passes run in the pool for this long before progress is reported. Entering the pool costs as
/// much as a pass over a small map.
const SPELL: Duration = Duration::from_millis(20);
impl Cpu {
    /// An executor with this many threads, or with 0 as many as the machine has cores.
    pub fn new(threads: usize, order: Order) -> Result<Self> {
        Ok(Self { pool: Pool::new(threads)?, order, memory: Memory::default() })
    }

    /// The largest sum that there was since the plan began in each buffer that passes add to,
    /// either way. A build without debug assertions does not look at sums, and has zeros.
    pub fn peaks(&self) -> BTreeMap<&'static str, u32> {
        let marks = self.memory.marks.iter();
        marks.map(|(name, marks)| (*name, marks.peak.load(Ordering::Relaxed))).collect()
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }
}

/// The buffers that a pass writes, with their names.
struct Written {
    own: Vec<(&'static str, Vec<i32>)>,
    add: Vec<(&'static str, Vec<i32>)>,
}

/// What all portions of a pass see.
struct Shared<'a> {
    pass: &'a Pass,
    rounds: Cow<'a, [Vec<Vec<Range<u32>>>]>,
    reads: Vec<&'a [i32]>,
    adders: Vec<Adder<'a>>,
    touched: Vec<Touched<'a>>,
}

impl Memory {
    /// The smallest piece of spare memory that holds this many words; none that has room for
    /// many more, since a few words would hold it.
    fn spared(&mut self, words: usize) -> Option<Vec<i32>> {
        let fits = |i: &usize| (words..=2 * words).contains(&self.spare[*i].capacity());
        let fits = (0..self.spare.len()).filter(fits).min_by_key(|&i| self.spare[i].capacity());
        fits.map(|i| self.spare.swap_remove(i))
    }

    /// Runs a pass, and those that run beside it, on a thread of the pool.
    fn run_passes(&mut self, passes: &[Pass], order: Order, stop: &AtomicBool) {
        debug_assert!(passes.iter().skip(1).all(|pass| pass.beside && !pass.calm));
        // Buffers that passes write leave the table while they run, so that nothing can read them.
        let mut written: Vec<Written> = passes.iter().map(|pass| self.take_written(pass)).collect();
        let threads = rayon::current_num_threads();
        let mut shared: Vec<Shared> = vec![];
        let mut owned = vec![];
        for (pass, Written { own, add }) in passes.iter().zip(&mut written) {
            let Kernel { reads, owns, adds, .. } = *pass.kernel;
            let Division { rounds, alone } = Division::of(pass, order, threads);
            let adders = adds.iter().zip(add).map(|(name, (_, words))| {
                let marks = &self.marks[name];
                Adder::new(atomics(words), &marks.blocks, &marks.peak, alone)
            });
            let known = reads.iter().chain(owns.iter().map(|(name, _)| name));
            let touched = |name| Touched(self.marks.get(name).map(|m| m.spans.as_slice()));
            shared.push(Shared {
                pass,
                rounds,
                reads: reads.iter().map(|name| self.buffers[name].as_slice()).collect(),
                adders: adders.collect(),
                touched: known.map(touched).collect(),
            });
            owned.push(own);
        }
        let mut known = passes[0].calm.then(|| {
            let row = passes[0].granule as usize;
            let rows = owned[0].first().map_or(0, |(_, words)| words.len() / row);
            let bytes = rows * Calm::row_bytes(row);
            let blocks = rows * row.div_ceil(Calm::CELLS);
            let fits = |last: &Known| {
                std::ptr::eq(last.kernel, passes[0].kernel) && last.after.len() == bytes
            };
            let nothing = || Known::nothing(&passes[0], bytes, blocks);
            self.known.take().filter(fits).unwrap_or_else(nothing)
        });
        let calm = known.as_ref().map(|Known { before, after, .. }| Calm { before, after });
        for k in 0..shared.iter().map(|shared| shared.rounds.len()).max().unwrap_or(0) {
            let mut groups = vec![];
            for (shared, own) in shared.iter().zip(&mut owned) {
                let Some(round) = shared.rounds.get(k) else { continue };
                let mut slices: Vec<&mut [i32]> =
                    own.iter_mut().map(|(_, words)| words.as_mut_slice()).collect();
                let portions = portions(round, shared.pass.kernel.owns, &mut slices);
                groups.extend(portions.into_iter().map(|group| (shared, group)));
            }
            if let Some(seed) = order.shuffle {
                let key = crate::arith::key(seed, 0);
                groups.sort_by_key(|(_, group)| crate::arith::hash(key, group[0].0.start, 0));
            } else if shared.len() > 1 {
                // Each thread gets its part of each pass.
                groups.sort_by_key(|(_, group)| group[0].0.start);
            }
            share_out(groups, threads, |(shared, group)| {
                for (range, mut own) in group {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    (shared.pass.kernel.cpu)(&mut Call {
                        uniform: &shared.pass.uniform,
                        range,
                        reads: &shared.reads,
                        owns: &mut own,
                        adds: &shared.adders,
                        touched: &shared.touched,
                        calm,
                    });
                }
            });
        }
        for Written { own, add } in written {
            self.buffers.extend(own);
            self.buffers.extend(add);
        }
        match known.as_mut() {
            Some(known) => known.hand_on(),
            None => {
                let is_left = |last: &Known| !passes.iter().any(|pass| last.is_written_by(pass));
                known = self.known.take().filter(is_left);
            }
        }
        self.known = known;
        for pass in passes {
            self.bring_up_marks(pass);
            pass.swaps.iter().for_each(|names| self.exchange(*names));
        }
    }

    /// Takes what a pass writes, with marks for what it adds to.
    fn take_written(&mut self, pass: &Pass) -> Written {
        let Kernel { owns, adds, .. } = *pass.kernel;
        let own = owns.iter().map(|(name, _)| self.take(name)).collect();
        let add: Vec<_> = adds.iter().map(|name| self.take(name)).collect();
        for (name, words) in &add {
            let blocks = words.len().div_ceil(Touched::BLOCK);
            self.marks.entry(name).or_default().blocks.resize_with(blocks, Default::default);
        }
        Written { own, add }
    }

    /// A buffer that leaves the table.
    fn take(&mut self, name: &str) -> (&'static str, Vec<i32>) {
        self.buffers.remove_entry(name).unwrap_or_else(|| panic!("no buffer {name}"))
    }

    /// Brings the marks up to what a pass has done.
    fn bring_up_marks(&mut self, pass: &Pass) {
        let Kernel { owns, adds, .. } = pass.kernel;
        for (name, marks) in &mut self.marks {
            if adds.contains(name) {
                marks.collect();
            } else if owns.iter().any(|(owned, _)| owned == name) {
                // The pass has dealt with all of it, and additions count from here.
                marks.clear();
            }
            if pass.swaps.iter().flatten().any(|swapped| swapped == name) {
                // Other words have its name now.
                marks.set_all();
            }
        }
    }

    /// Two buffers exchange their names. The second may be missing, and then the first is alone.
    fn exchange(&mut self, [a, b]: [&'static str; 2]) {
        let (a, mut first) = self.take(a);
        if let Some(second) = self.buffers.get_mut(b) {
            std::mem::swap(&mut first, second);
        }
        self.buffers.insert(a, first);
    }
}

/// Gives a buffer this number of words. Old ones keep whatever they hold; new ones are `fill`.
fn lengthen(pool: &Pool, buffer: &mut Vec<i32>, words: usize, fill: i32) -> Result<()> {
    buffer.truncate(words);
    let more = words - buffer.len();
    buffer.try_reserve_exact(more).map_err(|_| {
        Error::limit(format!(
            "no memory for a buffer of {} MiB: make the map smaller",
            words as u64 * 4 / (1 << 20)
        ))
    })?;
    if more < PARALLEL_FILL {
        buffer.resize(words, fill);
    } else {
        // Fresh memory is found page by page, which takes longer than the work of many a pass.
        pool.extend(buffer, more, fill);
    }
    Ok(())
}

/// Words as atomics.
fn atomics(words: &mut [i32]) -> &[AtomicI32] {
    // SAFETY: AtomicI32 has the size, alignment and bit validity of i32, and the exclusive borrow,
    // which lasts as long as the result, means that nothing else can see the words as plain
    // integers. (The standard library's own `AtomicI32::from_mut_slice` does the same and is not
    // stable yet.)
    unsafe { &*(std::ptr::from_mut(words) as *const [AtomicI32]) }
}

impl Executor for Cpu {
    fn name(&self) -> String {
        let threads = self.pool.threads();
        format!("CPU, {threads} thread{}", if threads == 1 { "" } else { "s" })
    }

    fn admits(&self, plan: &Plan) -> Result<()> {
        // Something for all else that is made meanwhile.
        let bytes = plan.bytes() + plan.bytes() / 8 + plan.bytes_to_come();
        let Memory { buffers, spare, .. } = &self.memory;
        let reused = spare
            .iter()
            .chain(buffers.iter().filter(|(name, _)| plan.has(name)).map(|(_, words)| words));
        let held: u64 = reused.map(|words| words.capacity() as u64 * 4).sum();
        match memory::lacking(bytes.saturating_sub(held)).map(|free| free + held) {
            Some(free) => {
                let cells = plan.window.cells() as f64;
                // A little less, since what is free changes.
                let side = (0.95 * cells * free as f64 / bytes as f64).sqrt() as u64;
                Err(Error::over(
                    format!(
                        "the map needs {} MiB and {} MiB are free: a map of about {side} x {side} \
                         fits",
                        bytes >> 20,
                        free >> 20
                    ),
                    bytes,
                    free,
                    "bytes",
                ))
            }
            None => Ok(()),
        }
    }

    fn begin(&mut self, plan: &Plan) -> Result<()> {
        let Self { pool, memory, .. } = self;
        super::check_kept(plan, |name| memory.buffers.get(name).map(Vec::len))?;
        let taken = super::taken(plan, |from| memory.buffers.remove(from));
        for buffer in plan.buffers.iter().filter(|b| b.fill != Fill::Keep) {
            let old = [Some(buffer.name), buffer.keep]
                .map(|name| name.and_then(|name| memory.buffers.remove(name)));
            memory.spare.extend(old.into_iter().flatten());
        }
        let mut wanted: Vec<_> = plan
            .buffers
            .iter()
            .filter(|b| !matches!(b.fill, Fill::Keep | Fill::Taken(_)))
            .collect();
        // The largest first, so that a smaller one does not take what a larger one needs.
        wanted.sort_by_key(|buffer| Reverse(buffer.words));
        let found: Vec<_> = wanted.iter().map(|buffer| memory.spared(buffer.words)).collect();
        // What fits nothing must not lie beside what is new.
        if found.contains(&None) {
            memory.spare.clear();
        }
        for (buffer, spare) in wanted.into_iter().zip(found) {
            let mut words = spare.unwrap_or_default();
            match &buffer.fill {
                Fill::Word(word) => {
                    words.clear();
                    lengthen(pool, &mut words, buffer.words, *word)?;
                }
                Fill::Words(from) => {
                    lengthen(pool, &mut words, from.len(), 0)?;
                    words.copy_from_slice(from);
                }
                // Safe Rust has no cheaper way to make words than to set them.
                Fill::Unset | Fill::Keep | Fill::Taken(_) => {
                    lengthen(pool, &mut words, buffer.words, 0)?
                }
            }
            memory.buffers.insert(buffer.name, words);
        }
        memory.buffers.extend(taken);
        // Of buffers without marks nothing is known, so they count as touched everywhere.
        memory.marks.clear();
        memory.known = None;
        Ok(())
    }

    fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
        let Self { pool, memory, order } = self;
        let mut next = passes.start;
        while next < passes.end {
            let (begun, stop) = (Moment::now(), control.stop);
            // As many threads as the larger passes have portions for.
            let useful = (plan.passes[next].count() / ALONE[0]) as usize + 1;
            pool.attended(useful, || {
                while next < passes.end && !stop.load(Ordering::Relaxed) {
                    let others = &plan.passes[next + 1..passes.end];
                    let end = next + 1 + others.iter().take_while(|pass| pass.beside).count();
                    memory.run_passes(&plan.passes[next..end], *order, stop);
                    next = end;
                    if begun.is_past(SPELL) {
                        break;
                    }
                }
            });
            control.check()?;
            (control.progress)(next)?;
        }
        Ok(())
    }

    fn passed_over(&self) -> Option<f64> {
        let [done, all] = self.memory.known.as_ref()?.done;
        Some(1.0 - done as f64 / all.max(1) as f64)
    }

    fn end(&mut self, plan: &Plan) {
        let memory = &mut self.memory;
        for buffer in &plan.buffers {
            let words = memory.buffers.remove(buffer.name);
            match (buffer.keep, words) {
                (Some(name), Some(words)) => drop(memory.buffers.insert(name, words)),
                (_, words) => memory.spare.extend(words),
            }
        }
    }

    fn release(&mut self) {
        self.memory.spare.clear();
    }

    fn clear(&mut self) {
        self.memory = Memory::default();
    }

    fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
        let Self { pool, memory, .. } = self;
        let mut fresh = memory.spared(words.len()).unwrap_or_default();
        lengthen(pool, &mut fresh, words.len(), 0)?;
        fresh.copy_from_slice(words);
        if let Some(old) = memory.buffers.insert(name, fresh) {
            memory.spare.push(old);
        }
        memory.marks.get_mut(name).into_iter().for_each(|marks| marks.set_all());
        memory.known = None;
        Ok(())
    }

    fn read(&mut self, name: &str) -> Result<Vec<i32>> {
        self.memory.buffers.get(name).cloned().ok_or_else(|| super::absent(name))
    }

    fn read_selection(&mut self, name: &str, selection: &Selection) -> Result<Vec<i32>> {
        self.memory
            .buffers
            .get(name)
            .map(|words| selection.of(words))
            .ok_or_else(|| super::absent(name))
    }

    fn sum(&mut self, name: &str, signed: bool) -> Result<i64> {
        self.memory
            .buffers
            .get(name)
            .map(|words| super::sum_of(words, signed))
            .ok_or_else(|| super::absent(name))
    }
}
