//! A stage's schedule as data: which buffers there are, and which kernels run over them in which order.
//!
//! There are two shapes of kernel and no third, so that no order of threads can matter:
//!
//! - a **gather** owns a few words of its own cell and reads buffers that nobody writes in that pass;
//! - a **scatter** owns one record, reads buffers that nobody writes, and may *add* integers to others.
//!
//! The same [`Pass`] is run by either executor: [`Kernel::entry`] names the WGSL entry point, [`Kernel::cpu`] is its twin.

use std::ops::Range;
use std::sync::atomic::{AtomicI32, Ordering};

/// A rectangle of the unbounded lattice of world coordinates: x to the east, y to the south.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// World coordinates of the north-west sample.
    pub origin: [i64; 2],
    /// Samples in a row, 1 to [`Window::SIDE_MAX`].
    pub width: u32,
    /// Rows, 1 to [`Window::SIDE_MAX`].
    pub height: u32,
}

impl Window {
    /// Longest side of one window: positions are 15 bits of cells and 16 of fraction.
    pub const SIDE_MAX: u32 = 32767;

    /// Number of samples.
    pub fn cells(&self) -> usize {
        self.width as usize * self.height as usize
    }
}

/// What a buffer holds when its stage starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// What it held before (the height of the stage before this one).
    Keep,
    /// The same word everywhere.
    Word(i32),
    /// These words.
    Words(Vec<i32>),
}

/// A named array of 32-bit words.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name in plans, shaders, vectors and reports.
    pub name: &'static str,
    /// Its length in words.
    pub words: usize,
    /// Its contents at the start.
    pub fill: Fill,
    /// The name under which it outlives the stage: `height`, or a data map's.
    pub keep: Option<&'static str>,
}

/// A kernel's two implementations and what it touches.
pub struct Kernel {
    /// Entry point in the stage's shader, and the pass's name in reports.
    pub entry: &'static str,
    /// Buffers it reads; nobody writes them during the pass. In WGSL: `var<storage, read> NAME`.
    pub reads: &'static [&'static str],
    /// Buffers it writes, each invocation its own words alone, and how many these are. In WGSL:
    /// `var<storage, read_write> own_NAME`.
    pub owns: &'static [(&'static str, usize)],
    /// Buffers it may only add to. In WGSL: `var<storage, read_write> add_NAME: array<atomic<i32>>`.
    pub adds: &'static [&'static str],
    /// The twin on the CPU: does all invocations of [`Call::range`].
    pub cpu: fn(&mut Call),
}

/// One dispatch of a kernel.
pub struct Pass {
    /// What runs.
    pub kernel: &'static Kernel,
    /// The uniform struct `params`, as words.
    pub params: Vec<u32>,
    /// Invocations: 0..count.
    pub count: u32,
    /// Invocations are handed to threads in multiples of this many.
    pub granule: u32,
    /// Sets of invocations which cannot add to the same word (a scatter may then add without atomics); none: unknown.
    pub apart: Option<std::sync::Arc<Apart>>,
    /// Two buffers that exchange their names after the pass.
    pub swap: Option<[&'static str; 2]>,
}

/// Rounds of groups of ranges of invocations. Within a round no two groups add to the same word.
pub type Apart = Vec<Vec<Vec<Range<u32>>>>;

/// A stage's whole schedule.
pub struct Plan {
    /// WGSL source of the kernels, without `spec.wgsl`.
    pub shader: &'static str,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The passes, in order.
    pub passes: Vec<Pass>,
}

impl Plan {
    /// The buffer called `name`. Plans and kernels are checked against each other by the tests.
    pub fn buffer(&self, name: &str) -> &Buffer {
        self.buffers.iter().find(|b| b.name == name).unwrap_or_else(|| panic!("the plan has no buffer {name}"))
    }

    /// Bytes of all its buffers.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(|b| b.words as u64 * 4).sum()
    }

    /// Its largest buffer.
    pub fn largest(&self) -> &Buffer {
        self.buffers.iter().max_by_key(|b| b.words).expect("a plan has buffers")
    }
}

/// What the CPU twin of a kernel gets: everything its invocations may touch, and nothing else.
pub struct Call<'a> {
    /// The uniform struct, as words.
    pub params: &'a [u32],
    /// The invocations to do.
    pub range: Range<u32>,
    /// The frozen buffers, in the order of [`Kernel::reads`].
    pub reads: &'a [&'a [i32]],
    /// The words that these invocations own, in the order of [`Kernel::owns`]; the first invocation's come first.
    pub owns: &'a mut [&'a mut [i32]],
    /// The buffers to add to, in the order of [`Kernel::adds`].
    pub adds: &'a [Adder<'a>],
}

/// A buffer that may only be added to.
#[derive(Clone, Copy)]
pub struct Adder<'a> {
    words: &'a [AtomicI32],
    alone: bool,
}

impl<'a> Adder<'a> {
    /// `alone` promises that no other thread adds to the same words meanwhile. (A broken promise loses additions, which
    /// the tests find, but is no data race in Rust's sense.)
    pub fn new(words: &'a [AtomicI32], alone: bool) -> Self {
        Self { words, alone }
    }

    /// Whether plain additions will do.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Adds `n` to the word at `i`, wrapping.
    #[inline(always)]
    pub fn add<const ALONE: bool>(&self, i: usize, n: i32) {
        let word = &self.words[i];
        if ALONE {
            word.store(word.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        } else {
            word.fetch_add(n, Ordering::Relaxed);
        }
    }
}

/// What a stage is told about the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// The part of the world to make.
    pub window: Window,
    /// Metres a cell.
    pub spacing_m: f64,
    /// The seed of this stage.
    pub seed: u64,
}
