//! A stage's schedule as data: its buffers, and the kernels that run over them, in order.
//!
//! There are only two shapes of kernel, so that the order of threads cannot matter:
//!
//! - a **gather** owns a few words of its own cell and reads buffers that the pass does not write;
//! - a **scatter** owns one record, reads buffers that the pass does not write, and can *add*
//!   integers to others.
//!
//! Both executors run the same [`Pass`]: [`Kernel::entry`] names the WGSL entry point,
//! [`Kernel::cpu`] is its twin.

mod builder;
mod call;

use crate::site::{Site, Window};
pub use builder::{Count, PASS_BYTES, PASSES_MAX, PlanBuilder, stop, stoppable};
pub use call::{Adder, Call, Calm, Touched};
use encase::{ShaderType, UniformBuffer, internal::WriteInto};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// What a buffer holds when its stage starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// What it held before, such as the height that the last stage left.
    Keep,
    /// The same word everywhere.
    Word(i32),
    /// These words.
    Words(Vec<i32>),
    /// What the kept buffer of this name holds. It loses that name when the plan begins.
    Taken(&'static str),
    /// Anything: the plan writes every word before it reads it.
    Unset,
}

/// What [`Plan::with_junk`] puts into buffers whose words are unset.
pub const JUNK: i32 = 0xdead_beef_u32 as i32;

/// What the words of a buffer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// This many words for each cell of the window, row by row. The words of a cell are adjacent.
    Cells(usize),
    /// Particles in tiles: `record` words for each of `tile` particles. A tile holds the first
    /// words of all its particles, then all second words, and so on.
    Tiles {
        /// Particles of a tile.
        tile: usize,
        /// Words of a particle. The first two are its place: see [`crate::stage::stepper`].
        record: usize,
        /// Which of them is the number of a vertex, if one is.
        vertex: Option<usize>,
        /// Cells along each axis that a particle can be away from its home.
        walk: u32,
    },
    /// Words that belong to no cell and no particle: constants, lists, sums.
    Table,
    /// A layer or an option that this run does not have: a single word, which kernels never use.
    Absent,
}

/// A named array of 32-bit words.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name in plans, shaders, vectors and reports.
    pub name: &'static str,
    /// What its words are.
    pub shape: Shape,
    /// Its length in words.
    pub words: usize,
    /// Its contents at the start.
    pub fill: Fill,
    /// The name under which it outlives the stage: `height`, a layer's or a data map's.
    pub keep: Option<&'static str>,
}

impl Buffer {
    /// A scratch buffer of `each` words a cell of `window`, zeroed.
    pub fn cells(name: &'static str, window: &Window, each: usize) -> Self {
        Self {
            name,
            shape: Shape::Cells(each),
            words: window.cells() * each,
            fill: Fill::Word(0),
            keep: None,
        }
    }

    /// The buffer `height`, which holds what the stage before left and outlives this one.
    pub fn height(window: &Window) -> Self {
        Self::layer("height", window, 1, true)
    }

    /// A map of `each` words a cell that exists before the stage and outlives it. If it is not
    /// `there`, a single unused word.
    pub fn layer(name: &'static str, window: &Window, each: usize, there: bool) -> Self {
        if there {
            Self { fill: Fill::Keep, keep: Some(name), ..Self::cells(name, window, each) }
        } else {
            Self::absent(name)
        }
    }

    /// Stands for a buffer that this run does not have.
    pub fn absent(name: &'static str) -> Self {
        Self { name, shape: Shape::Absent, words: 1, fill: Fill::Word(0), keep: None }
    }

    /// A table of constants.
    pub fn table(name: &'static str, words: Vec<i32>) -> Self {
        Self { name, shape: Shape::Table, words: words.len(), fill: Fill::Words(words), keep: None }
    }

    /// A table that takes the host long to make, which a draft does not have made.
    pub fn long_table(
        name: &'static str,
        words: usize,
        site: &Site,
        make: impl FnOnce() -> Vec<i32>,
    ) -> Self {
        Self { words, ..Self::table(name, if site.draft { vec![] } else { make() }) }
    }

    /// A scratch buffer of words that belong to no cell, zeroed.
    pub fn scratch(name: &'static str, words: usize) -> Self {
        Self { name, shape: Shape::Table, words, fill: Fill::Word(0), keep: None }
    }

    /// Particles of a shape in `tiles` tiles, zeroed.
    pub fn tiles(name: &'static str, tiles: usize, shape: Shape) -> Self {
        let each = if let Shape::Tiles { tile, record, .. } = shape { tile * record } else { 0 };
        Self { name, shape, words: tiles * each, fill: Fill::Word(0), keep: None }
    }

    /// The same buffer, every word of which the plan writes before it reads it.
    pub fn unset(self) -> Self {
        Self { fill: Fill::Unset, ..self }
    }

    /// The same buffer, but it outlives its stage under its name.
    pub fn kept(self) -> Self {
        Self { keep: Some(self.name), ..self }
    }

    /// Column and row of the cell that a word belongs to, on a map of `width` columns, or none if
    /// it belongs to no cell.
    pub fn cell_of(&self, word: usize, width: usize) -> Option<[usize; 2]> {
        match self.shape {
            Shape::Cells(each) => Some([word / each % width, word / each / width]),
            Shape::Tiles { .. } | Shape::Table | Shape::Absent => None,
        }
    }
}

/// Where a map is kept while the stage that makes it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interim {
    /// The map.
    pub field: &'static str,
    /// The buffer that holds it.
    pub buffer: &'static str,
    /// Its place among the words of a cell.
    pub word: usize,
    /// By how many bits the words are finer than the map's.
    pub shift: u32,
}

/// A kernel's two implementations and what it touches.
pub struct Kernel {
    /// Entry point in the stage's shader, and the pass's name in reports.
    pub entry: &'static str,
    /// Buffers that it reads. The pass does not write them. In WGSL: `var<storage, read> NAME`.
    pub reads: &'static [&'static str],
    /// Buffers that it writes, with the number of words that each invocation owns. In WGSL:
    /// `var<storage, read_write> own_NAME`.
    pub owns: &'static [(&'static str, usize)],
    /// Buffers that it can only add to. In WGSL: `var<storage, read_write> add_NAME:
    /// array<atomic<i32>>`.
    pub adds: &'static [&'static str],
    /// The twin on the CPU, which does all invocations of [`Call::range`].
    pub cpu: fn(&mut Call),
}

/// A struct of uniform data. Every type that derives [`encase::ShaderType`] is one.
pub trait Block: Any + Debug + Send + Sync {
    /// Appends its bytes, laid out as WGSL lays out the struct of the same members.
    fn write(&self, bytes: &mut Vec<u8>);
}

impl<T: ShaderType + WriteInto + Any + Debug + Send + Sync> Block for T {
    fn write(&self, bytes: &mut Vec<u8>) {
        let mut own = UniformBuffer::new(vec![]);
        own.write(self).unwrap_or_else(|e| panic!("{self:?}: {e}"));
        bytes.append(&mut own.into_inner());
    }
}

/// The uniform struct of a pass: one block, or several that WGSL sees as members of one struct. The
/// default has none.
#[derive(Clone, Debug, Default)]
pub struct Uniform(Arc<[Arc<dyn Block>]>);

impl Uniform {
    /// Blocks start at multiples of this many bytes, as WGSL asks of structs in a uniform struct.
    const ALIGNMENT: usize = 16;

    /// A single block.
    pub fn of(block: impl Block) -> Self {
        Self(Arc::new([Arc::new(block)]))
    }

    /// These blocks and then those of `more`.
    pub fn followed_by(&self, more: &Self) -> Self {
        Self(self.0.iter().chain(&*more.0).cloned().collect())
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &dyn Block> {
        self.0.iter().map(|block| &**block)
    }

    /// The block of type `T`. Asking for one that is not there is a programming error, which the
    /// tests find.
    pub fn get<T: Any>(&self) -> &T {
        let mut found = self.blocks().filter_map(|block| (block as &dyn Any).downcast_ref());
        found.next().unwrap_or_else(|| panic!("{self:?} has no {}", std::any::type_name::<T>()))
    }

    /// Its bytes, for a GPU.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![];
        for block in self.blocks() {
            bytes.resize(bytes.len().next_multiple_of(Self::ALIGNMENT), 0);
            block.write(&mut bytes);
        }
        bytes
    }
}

/// One dispatch of a kernel.
#[derive(Clone)]
pub struct Pass {
    /// What runs.
    pub kernel: &'static Kernel,
    /// WGSL source of the kernel without `arith.wgsl`, if it is not the plan's.
    pub shader: Option<&'static str>,
    /// The uniform struct `params`.
    pub uniform: Uniform,
    /// The invocations.
    pub range: Range<u32>,
    /// Threads get invocations in multiples of this many.
    pub granule: u32,
    /// Groups of invocations that cannot add to the same word, so that a scatter needs no atomics,
    /// where such groups are known.
    pub disjoint: Option<Arc<Disjoint>>,
    /// Pairs of buffers that exchange their names after the pass.
    pub swaps: &'static [[&'static str; 2]],
    /// A value of an `override` of the shader, which the kernel is compiled for. It says what the
    /// uniform struct says too, so a kernel without it does the same.
    pub constant: Option<(&'static str, i32)>,
    /// Whether the kernel keeps notes for its next pass of where nothing happens: see [`Calm`]. The
    /// granule of such a pass is a row.
    pub calm: bool,
    /// Whether it may run side by side with the pass before it, and with those that this one may
    /// run beside: none touches what another writes, and it touches no buffer that has another name
    /// after one of them. Such a pass keeps no notes.
    pub beside: bool,
}

impl Pass {
    /// A pass with invocations `0..count`, shared out in multiples of `granule`.
    pub fn new(kernel: &'static Kernel, uniform: Uniform, count: usize, granule: u32) -> Self {
        let range = 0..count as u32;
        Self {
            kernel,
            shader: None,
            uniform,
            range,
            granule,
            disjoint: None,
            swaps: &[],
            constant: None,
            calm: false,
            beside: false,
        }
    }

    /// A gather with one invocation for each cell of `window`, shared out by rows.
    pub fn over(kernel: &'static Kernel, uniform: Uniform, window: &Window) -> Self {
        Self::new(kernel, uniform, window.cells(), window.width)
    }

    /// The same pass with only these of its invocations.
    pub fn within(self, range: Range<usize>) -> Self {
        Self { range: range.start as u32..range.end as u32, ..self }
    }

    /// How many invocations it has.
    pub fn count(&self) -> u32 {
        self.range.len() as u32
    }

    /// The same pass, after which pairs of buffers exchange their names.
    pub fn swapping(self, swaps: &'static [[&'static str; 2]]) -> Self {
        Self { swaps, ..self }
    }

    /// The same pass, which may run side by side with the pass before it: see [`Self::beside`].
    pub fn beside_the_last(self) -> Self {
        Self { beside: true, ..self }
    }

    /// The buffers that it writes, by the names they have after it.
    pub fn written(&self) -> impl Iterator<Item = &'static str> {
        let swaps = self.swaps;
        let rename = move |name: &'static str| match swaps.iter().find(|pair| pair.contains(&name))
        {
            Some([a, b]) => {
                if name == *a {
                    *b
                } else {
                    *a
                }
            }
            None => name,
        };
        self.kernel
            .owns
            .iter()
            .map(|(name, _)| *name)
            .chain(self.kernel.adds.iter().copied())
            .map(rename)
    }
}

/// Rounds of groups of ranges of invocations. Within a round no two groups add to the same word.
pub type Disjoint = Vec<Vec<Vec<Range<u32>>>>;

/// A stage's whole schedule.
pub struct Plan {
    /// WGSL source of the kernels, without `arith.wgsl`.
    pub shader: &'static str,
    /// The window whose cells the buffers of [`Shape::Cells`] have words for.
    pub window: Window,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The passes, in order.
    pub passes: Vec<Pass>,
    /// How many passes are done after each step. There the heights are complete, so other stages
    /// can run and pictures can be taken. Empty if the plan has no passes.
    pub steps: Vec<usize>,
    /// Maps that are kept in other buffers until the plan ends.
    pub interim: Vec<Interim>,
    /// Bytes that the run holds beside the buffers.
    pub beside: u64,
    /// What the whole plan has, if this is a draft that has its passes only in part.
    pub draft: Option<Count>,
}

impl Plan {
    /// A plan that is a single step, or none where it has no passes.
    pub fn new(
        shader: &'static str,
        window: Window,
        buffers: Vec<Buffer>,
        passes: Vec<Pass>,
    ) -> Self {
        let steps = if passes.is_empty() { vec![] } else { vec![passes.len()] };
        Self { shader, window, buffers, passes, steps, interim: vec![], beside: 0, draft: None }
    }

    /// What it has. Of a draft: what the whole plan will have.
    pub fn count(&self) -> Count {
        self.draft.unwrap_or_else(|| Count {
            steps: self.steps.len() as u64,
            passes: self.passes.len() as u64,
            invocations: self.passes.iter().map(|pass| f64::from(pass.count())).sum(),
        })
    }

    /// Bytes that the plan made from this draft will take for itself; 0 if it is no draft.
    pub fn bytes_to_come(&self) -> u64 {
        if self.draft.is_some() { self.own_bytes() } else { 0 }
    }

    /// Bytes of memory that it takes itself while it is put together: its passes, and the words of
    /// its tables in three places.
    pub fn own_bytes(&self) -> u64 {
        let tables = self.buffers.iter().filter(|buffer| matches!(buffer.fill, Fill::Words(_)));
        let tables: u64 = tables.map(|buffer| buffer.words as u64 * 12).sum();
        self.count().passes.saturating_mul(PASS_BYTES).saturating_add(tables)
    }

    /// Inserts the plan `other(n)` after the n-th step for each n that is a multiple of `every`.
    /// They differ in nothing but their uniform structs. Their scratch buffers are filled only
    /// once, so they must not depend on what these hold ([`crate::stage::Stage::can_interleave`]).
    pub fn interleave(&mut self, every: u32, mut other: impl FnMut(usize) -> Plan) {
        if let Some(count) = &mut self.draft {
            // One insertion stands for all, which have the same passes.
            let runs = count.steps / u64::from(every);
            if runs > 0 {
                let mut plan = other(every as usize);
                let more = Count { steps: 0, ..plan.count().times(runs) };
                *count = count.plus(more);
                self.passes.extend(plan.passes_elsewhere());
                self.merge(plan.buffers);
            }
            return;
        }
        let mut passes = Vec::with_capacity(self.passes.len());
        let mut rest = std::mem::take(&mut self.passes).into_iter();
        let mut steps = std::mem::take(&mut self.steps);
        let mut taken = 0;
        for (n, end) in steps.iter_mut().enumerate() {
            passes.extend(rest.by_ref().take(*end - taken));
            taken = *end;
            if (n + 1) % every as usize == 0 {
                let mut plan = other(n + 1);
                passes.extend(plan.passes_elsewhere());
                self.merge(plan.buffers);
            }
            // What is inserted belongs to the step before it.
            *end = passes.len();
        }
        passes.extend(rest);
        (self.passes, self.steps) = (passes, steps);
    }

    /// Takes its passes for a plan that may have another shader.
    fn passes_elsewhere(&mut self) -> impl Iterator<Item = Pass> + use<> {
        let shader = self.shader;
        std::mem::take(&mut self.passes)
            .into_iter()
            .map(move |pass| Pass { shader: pass.shader.or(Some(shader)), ..pass })
    }

    /// Adds the buffers of another plan that it has not.
    fn merge(&mut self, buffers: Vec<Buffer>) {
        for buffer in buffers {
            match self.buffers.iter_mut().find(|b| b.name == buffer.name) {
                Some(mine) if mine.shape == Shape::Absent => *mine = buffer,
                Some(_) => {}
                None => self.buffers.push(buffer),
            }
        }
    }

    /// Inserts a pass before all others, which belongs to the first step.
    pub fn begin_with(&mut self, pass: Pass) {
        if let Some(count) = &mut self.draft {
            *count = count.plus(Count { steps: 0, passes: 1, invocations: pass.count().into() });
        }
        self.steps.iter_mut().for_each(|end| *end += 1);
        self.passes.insert(0, pass);
    }

    /// The same plan with junk in the buffers that are unset, so that a word that is not written
    /// differs from one that is set to 0. For tests.
    pub fn with_junk(mut self) -> Self {
        for buffer in self.buffers.iter_mut().filter(|buffer| buffer.fill == Fill::Unset) {
            buffer.fill = Fill::Word(JUNK);
        }
        self
    }

    /// The buffer called `name`. The tests check plans and kernels against each other.
    pub fn buffer(&self, name: &str) -> &Buffer {
        self.buffers
            .iter()
            .find(|b| b.name == name)
            .unwrap_or_else(|| panic!("the plan has no buffer {name}"))
    }

    /// Bytes of all its buffers, and of what the run holds beside them.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(|b| b.words as u64 * 4).sum::<u64>() + self.beside
    }

    /// Bytes that lie in memory while it runs: its buffers, and those that earlier plans `kept` and
    /// that it neither takes nor replaces. `kept` becomes what lies there afterwards.
    pub fn bytes_beside(&self, kept: &mut BTreeMap<&'static str, u64>) -> u64 {
        kept.retain(|name, _| !self.has(name));
        let bytes = self.bytes() + kept.values().sum::<u64>();
        kept.extend(self.kept().filter_map(|buffer| Some((buffer.keep?, buffer.words as u64 * 4))));
        bytes
    }

    /// Whether what lies under a name before it begins becomes one of its buffers, or makes way for
    /// one.
    pub fn has(&self, name: &str) -> bool {
        self.buffers.iter().any(|b| {
            b.name == name
                || b.keep == Some(name)
                || matches!(b.fill, Fill::Taken(from) if from == name)
        })
    }

    /// The buffers that outlive the plan.
    pub fn kept(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter().filter(|buffer| buffer.keep.is_some())
    }

    /// Whether a pass writes the buffer called `name` or exchanges its name.
    pub fn writes(&self, name: &str) -> bool {
        self.passes.iter().any(|pass| {
            pass.written()
                .chain(pass.swaps.iter().flatten().copied())
                .any(|written| written == name)
        })
    }

    /// Whether what a buffer holds after the first `after` passes is of use later: to another pass,
    /// or to what comes after the plan.
    pub fn needs(&self, name: &str, after: usize) -> bool {
        let Some(buffer) = self.buffers.iter().find(|buffer| buffer.name == name) else {
            return false;
        };
        // Its words change names with the passes, so they are followed from name to name.
        let mut name = buffer.name;
        for pass in &self.passes[after..] {
            let Kernel { reads, owns, adds, .. } = *pass.kernel;
            if reads.contains(&name) || adds.contains(&name) {
                return true;
            }
            if owns.iter().any(|(owned, _)| *owned == name) {
                // One that is unset is written whole before it is read.
                return buffer.fill != Fill::Unset;
            }
            for [a, b] in pass.swaps {
                name = if name == *a {
                    b
                } else if name == *b {
                    a
                } else {
                    name
                };
            }
        }
        self.buffers.iter().any(|buffer| buffer.name == name && buffer.keep.is_some())
    }

    /// Its largest buffer.
    pub fn largest(&self) -> &Buffer {
        self.buffers.iter().max_by_key(|b| b.words).expect("a plan has buffers")
    }
}
