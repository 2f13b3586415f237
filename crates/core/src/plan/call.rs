//! What a kernel is given on the CPU.

use super::Uniform;
use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, Ordering};

/// What the CPU twin of a kernel gets: everything that its invocations can touch, and nothing else.
pub struct Call<'a> {
    /// The uniform struct.
    pub uniform: &'a Uniform,
    /// The invocations to do.
    pub range: Range<u32>,
    /// The frozen buffers, in the order of [`Kernel::reads`](super::Kernel::reads).
    pub reads: &'a [&'a [i32]],
    /// The words that these invocations own, in the order of [`Kernel::owns`](super::Kernel::owns);
    /// the first invocation's come first.
    pub owns: &'a mut [&'a mut [i32]],
    /// The buffers to add to, in the order of [`Kernel::adds`](super::Kernel::adds).
    pub adds: &'a [Adder<'a>],
    /// Where the buffers that it reads were added to, then the same of those that it owns.
    pub touched: &'a [Touched<'a>],
    /// The kernel's notes on its last pass, if the pass keeps any.
    pub calm: Option<Calm<'a>>,
}

impl<'a> Call<'a> {
    /// The block of type `T` of the uniform struct.
    pub fn params<T: Any>(&self) -> &'a T {
        self.uniform.get()
    }
}

/// Where passes have added to a buffer since it was made or a pass last owned it. A kernel can skip
/// the rest. This only saves time, and on the GPU it would not.
#[derive(Clone, Copy)]
pub struct Touched<'a>(pub Option<&'a [Range<usize>]>);

impl<'a> Touched<'a> {
    /// Words that share a mark.
    pub const BLOCK: usize = 32;

    /// Parts of `records`, of `each` words, that hold all that were touched, and some that were
    /// not: in order, without overlaps. All of them if nothing is known.
    pub fn within(
        &self,
        records: Range<usize>,
        each: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let whole = self.0.is_none().then_some(records.clone());
        let spans = self.0.unwrap_or_default();
        let spans = &spans[spans.partition_point(|span| span.end <= records.start * each)..];
        let near = spans.iter().take_while({
            let end = records.end * each;
            move |span| span.start < end
        });
        let records = move |span: &Range<usize>| {
            (span.start / each).max(records.start)..span.end.div_ceil(each).min(records.end)
        };
        // A record that two blocks share belongs to the first.
        let mut done = 0;
        let separate = move |span: Range<usize>| {
            let span = span.start.max(done)..span.end;
            done = done.max(span.end);
            span
        };
        whole.into_iter().chain(near.map(records).map(separate).filter(|span| !span.is_empty()))
    }
}

/// What a kernel knows of the map from its last pass: a byte for each [`Calm::CELLS`] cells of a
/// row, in which it may write whatever helps it to pass over them the next time. All bytes are
/// [`Calm::UNKNOWN`] in the first pass of a plan, and again once another pass has written to one of
/// the buffers that the pass exchanges, or the host to any. This only saves time, and on the GPU it
/// would not.
#[derive(Clone, Copy)]
pub struct Calm<'a> {
    /// What the last pass of the kernel wrote.
    pub before: &'a [u8],
    /// What the next one is to know, 0 where nothing is written. An invocation writes the bytes of
    /// its own rows.
    pub after: &'a [AtomicU8],
}

impl Calm<'_> {
    /// Cells that share a byte: the records of `moved` that share a mark.
    pub const CELLS: usize = 16;
    /// A row has a multiple of this many bytes, which fill a vector register.
    pub const ROW: usize = 16;
    /// Nothing is known.
    pub const UNKNOWN: u8 = u8::MAX;
    /// Set in the byte of cells that a pass did not pass over, so that these can be counted.
    pub const DONE: u8 = 32;

    /// The bytes that a row of this many cells has.
    pub fn row_bytes(cells: usize) -> usize {
        cells.div_ceil(Self::CELLS).next_multiple_of(Self::ROW)
    }
}

/// A buffer that a kernel can only add to.
#[derive(Clone, Copy)]
pub struct Adder<'a> {
    pub(super) words: &'a [AtomicI32],
    marks: &'a [AtomicBool],
    peak: &'a AtomicU32,
    alone: bool,
}

impl<'a> Adder<'a> {
    /// `alone` promises that no other thread adds to the same words at the same time. (Breaking the
    /// promise loses additions, which the tests find, but it is no data race in Rust's sense.)
    /// `marks` has a mark for each [`Touched::BLOCK`] words. With debug assertions `peak` becomes
    /// the largest sum that there was at any time, either way.
    pub fn new(
        words: &'a [AtomicI32],
        marks: &'a [AtomicBool],
        peak: &'a AtomicU32,
        alone: bool,
    ) -> Self {
        Self { words, marks, peak, alone }
    }

    /// Whether plain additions suffice.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// The word at `i`, or 0 beyond the end.
    #[inline(always)]
    pub fn at(&self, i: usize) -> i32 {
        self.words.get(i).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Adds `n` to the word at `i`. The laws bound what can meet at a word, so that no sum wraps; a
    /// build with debug assertions sees to it.
    #[inline(always)]
    pub fn add<const ALONE: bool>(&self, i: usize, n: i32) {
        self.add_all::<ALONE, 1>(i, [(0, n)]);
    }

    /// Adds each `n` to the word at `i + k` of the record that begins at `i`: (k, n).
    #[inline(always)]
    pub fn add_all<const ALONE: bool, const N: usize>(&self, i: usize, parts: [(usize, i32); N]) {
        for (k, n) in parts {
            let word = &self.words[i + k];
            let before = if ALONE {
                let before = word.load(Ordering::Relaxed);
                word.store(before.wrapping_add(n), Ordering::Relaxed);
                before
            } else {
                word.fetch_add(n, Ordering::Relaxed)
            };
            debug_assert!(before.checked_add(n).is_some(), "word {i} + {k}: {before} + {n} wraps");
            if cfg!(debug_assertions) {
                let sum = (before + n).unsigned_abs();
                // Most sums are smaller, and a load is cheaper than what follows.
                if sum > self.peak.load(Ordering::Relaxed) {
                    self.peak.fetch_max(sum, Ordering::Relaxed);
                }
            }
        }
        // A record that reaches into the next block is found by its first word.
        self.marks[i / Touched::BLOCK].store(true, Ordering::Relaxed);
    }
}
