//! A stage's schedule as data: which buffers there are, and which kernels run over them in which order.
//!
//! There are two shapes of kernel and no third, so that no order of threads can matter:
//!
//! - a **gather** owns a few words of its own cell and reads buffers that nobody writes in that pass;
//! - a **scatter** owns one record, reads buffers that nobody writes, and may *add* integers to others.
//!
//! The same [`Pass`] is run by either executor: [`Kernel::entry`] names the WGSL entry point, [`Kernel::cpu`] is its twin.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

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
#[derive(Clone)]
pub struct Pass {
    /// What runs.
    pub kernel: &'static Kernel,
    /// WGSL source that has the kernel, without `spec.wgsl`; none: the plan's.
    pub shader: Option<&'static str>,
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
    /// After how many passes each step is done: there the heights are whole, and other stages or pictures may come between.
    pub steps: Vec<usize>,
}

impl Plan {
    /// Puts `other(n)` into this plan after its n-th step, where it gives a plan. The other's scratch buffers are made once, so
    /// it must not depend on what they hold ([`crate::stage::Stage::nests`]).
    pub fn interleave(&mut self, mut other: impl FnMut(usize) -> Option<Plan>) {
        let mut passes = Vec::with_capacity(self.passes.len());
        let mut rest = std::mem::take(&mut self.passes).into_iter();
        let mut taken = 0;
        for (n, end) in self.steps.iter_mut().enumerate() {
            passes.extend(rest.by_ref().take(*end - taken));
            taken = *end;
            if let Some(plan) = other(n + 1) {
                let shader = plan.shader;
                passes.extend(plan.passes.into_iter().map(|pass| Pass { shader: pass.shader.or(Some(shader)), ..pass }));
                for buffer in plan.buffers {
                    match self.buffers.iter_mut().find(|b| b.name == buffer.name) {
                        // A layer that one of the two does without is a single word there.
                        Some(mine) if mine.words < buffer.words => *mine = buffer,
                        Some(_) => {}
                        None => self.buffers.push(buffer),
                    }
                }
            }
            *end = passes.len();
        }
        passes.extend(rest);
        self.passes = passes;
    }

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
    /// Where the buffers that it reads, then those that it owns, were added to.
    pub touched: &'a [Touched<'a>],
}

/// Where a buffer was added to since a pass owned it last, or since it was made: a kernel that has nothing to do elsewhere need
/// not look there. A matter of speed alone, so it is not on the GPU.
#[derive(Clone, Copy)]
pub struct Touched<'a>(pub Option<&'a [Range<usize>]>);

impl<'a> Touched<'a> {
    /// Words to a mark.
    pub const BLOCK: usize = 32;

    /// The parts of `records`, of `each` words, that were touched, in order and apart; all of them where that is not known.
    pub fn within(&self, records: Range<usize>, each: usize) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let whole = self.0.is_none().then_some(records.clone());
        let spans = self.0.unwrap_or_default();
        let spans = &spans[spans.partition_point(|span| span.end <= records.start * each)..];
        let near = spans.iter().take_while({
            let end = records.end * each;
            move |span| span.start < end
        });
        let records = move |span: &Range<usize>| (span.start / each).max(records.start)..span.end.div_ceil(each).min(records.end);
        // A record at the seam of two blocks belongs to the first.
        let mut done = 0;
        let apart = move |span: Range<usize>| {
            let span = span.start.max(done)..span.end;
            done = done.max(span.end);
            span
        };
        whole.into_iter().chain(near.map(records).map(apart).filter(|span| !span.is_empty()))
    }
}

/// A buffer that may only be added to.
#[derive(Clone, Copy)]
pub struct Adder<'a> {
    words: &'a [AtomicI32],
    marks: &'a [AtomicBool],
    alone: bool,
}

impl<'a> Adder<'a> {
    /// `alone` promises that no other thread adds to the same words meanwhile. (A broken promise loses additions, which
    /// the tests find, but is no data race in Rust's sense.) `marks` has a mark for each [`Touched::BLOCK`] words.
    pub fn new(words: &'a [AtomicI32], marks: &'a [AtomicBool], alone: bool) -> Self {
        Self { words, marks, alone }
    }

    /// Whether plain additions will do.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Adds `n` to the word at `i`, wrapping.
    #[inline(always)]
    pub fn add<const ALONE: bool>(&self, i: usize, n: i32) {
        self.add_all::<ALONE, 1>(i, [(0, n)]);
    }

    /// Adds each `n` to the word at `i + k` of the record that begins at `i`, wrapping: (k, n).
    #[inline(always)]
    pub fn add_all<const ALONE: bool, const N: usize>(&self, i: usize, parts: [(usize, i32); N]) {
        for (k, n) in parts {
            let word = &self.words[i + k];
            if ALONE {
                word.store(word.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
            } else {
                word.fetch_add(n, Ordering::Relaxed);
            }
        }
        self.marks[i / Touched::BLOCK].store(true, Ordering::Relaxed);
    }
}

/// What a stage is told about the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// The part of the world to make.
    pub window: Window,
    /// Metres a cell.
    pub spacing_m: f64,
    /// Metres of the height 0.
    pub datum_m: f64,
    /// The seed of this stage.
    pub seed: u64,
    /// The maps beside the height that exist when the stage starts.
    pub layers: Layers,
}

impl Site {
    /// A place with height 0 at 0 m and no map but the height.
    pub fn bare(window: Window, spacing_m: f64, seed: u64) -> Self {
        Self { window, spacing_m, datum_m: 0.0, seed, layers: Layers::default() }
    }

    /// A height in units for one in metres, to the nearest, within ±8191 cells.
    pub fn height_of(&self, metres: f64) -> i32 {
        let cells = ((metres - self.datum_m) / self.spacing_m).clamp(-8191.0, 8191.0);
        (cells * crate::spec::CELL as f64).round() as i32
    }
}

/// Maps beside the height, one word a cell where not said otherwise. A stage binds each that it can use, and one that is not
/// there as a buffer of a single word ([`Buffer::layer`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// `rain`: chance that a droplet meant for the cell falls, 0 to 65536 for 0 to 1.
    pub rain: bool,
    /// `hardness` of the bedrock, 0 to 65536 for 0 to 1: 1 is not worn at all.
    pub hardness: bool,
    /// `vegetation`: how much of the ground is held by roots, 0 to 65536 for 0 to 1.
    pub vegetation: bool,
    /// `ledger`, whose four words a cell are: the height when it was last entered, the thickness of loose sediment, the sum of
    /// all lowering and that of all raising so far (height units). Entered after every step of every stage.
    pub ledger: bool,
    /// Whether the sediment of the ledger is told apart from bedrock.
    pub sediment: bool,
}

impl Layers {
    /// Those of either.
    pub fn and(self, other: Self) -> Self {
        Self {
            rain: self.rain || other.rain,
            hardness: self.hardness || other.hardness,
            vegetation: self.vegetation || other.vegetation,
            ledger: self.ledger || other.ledger,
            sediment: self.sediment || other.sediment,
        }
    }
}

impl Buffer {
    /// A layer: kept from before if it is there, else a single word that no kernel looks at.
    pub fn layer(name: &'static str, words: usize, there: bool) -> Self {
        if there {
            Self { name, words, fill: Fill::Keep, keep: Some(name) }
        } else {
            Self { name, words: 1, fill: Fill::Word(0), keep: None }
        }
    }
}
