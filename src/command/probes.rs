//! Kernels that do only what bounds all others: copies, reads and additions of several patterns,
//! and passes that are nearly nothing.
//!
//! They run through the same executors as the stages. The articles' bench includes this file as
//! well.

use std::ops::Range;
use thalweg::arith::mix;
use thalweg::plan::{Buffer, Call, Fill, Kernel, Pass, Plan, Uniform};
use thalweg::site::Window;

const SHADER: &str = "
    struct Params { mask: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> source: array<i32>;
    @group(0) @binding(2) var<storage, read_write> own_height: array<i32>;
    @group(0) @binding(3) var<storage, read_write> add_height: array<atomic<i32>>;
    @group(0) @binding(4) var<storage, read> some: array<i32>;
    @group(0) @binding(5) var<storage, read_write> own_others: array<i32>;
    @compute @workgroup_size(WORKGROUP)
    fn hand_on(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { own_others[i] = some[i]; }
    }
    @compute @workgroup_size(WORKGROUP)
    fn copy(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { own_height[i] = source[i]; }
    }
    @compute @workgroup_size(WORKGROUP)
    fn scatter(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { atomicAdd(&add_height[mix_bits(i) & params.mask], 1); }
    }
    @compute @workgroup_size(WORKGROUP)
    fn stride(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { own_height[i] = source[(i * 17u) & params.mask]; }
    }
    @compute @workgroup_size(WORKGROUP)
    fn gather(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { own_height[i] = source[mix_bits(i) & params.mask]; }
    }
    @compute @workgroup_size(WORKGROUP)
    fn near(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { atomicAdd(&add_height[(i & 0xffffffc0u) | (mix_bits(i) & 63u)], 1); }
    }
    @compute @workgroup_size(WORKGROUP)
    fn same(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { atomicAdd(&add_height[0], 1); }
    }";

#[derive(Debug, encase::ShaderType)]
struct Params {
    /// Words of a buffer, a power of two, less one.
    mask: u32,
}

static COPY: Kernel = Kernel {
    entry: "copy",
    reads: &["source"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: |call| {
        let Call { range, reads, owns, .. } = call;
        owns[0].copy_from_slice(&reads[0][range.start as usize..range.end as usize]);
    },
};

/// A copy of [`FEW`] words, in buffers of their own: those of the others are large, and an executor
/// may keep account of where they were added to.
static HAND_ON: Kernel =
    Kernel { entry: "hand_on", reads: &["some"], owns: &[("others", 1)], adds: &[], cpu: COPY.cpu };

static SCATTER: Kernel = Kernel {
    entry: "scatter",
    reads: &[],
    owns: &[],
    adds: &["height"],
    cpu: |call| {
        let Params { mask } = call.params();
        for i in call.range.clone() {
            call.adds[0].add::<false>((mix(i) & mask) as usize, 1);
        }
    },
};

macro_rules! reads {
    ($name:ident, $entry:literal, $from:expr) => {
        static $name: Kernel = Kernel {
            entry: $entry,
            reads: &["source"],
            owns: &[("height", 1)],
            adds: &[],
            cpu: |call| {
                let Params { mask } = *call.params();
                let Call { range, reads, owns, .. } = call;
                let from: fn(u32) -> u32 = $from;
                owns[0]
                    .iter_mut()
                    .zip(range.clone())
                    .for_each(|(own, i)| *own = reads[0][(from(i) & mask) as usize]);
            },
        };
    };
}
// 17 words are 68 bytes: each read lies in another line of 64 bytes than the one before.
reads!(STRIDE, "stride", |i| i.wrapping_mul(17));
reads!(GATHER, "gather", mix);

macro_rules! adds {
    ($name:ident, $entry:literal, $to:expr) => {
        static $name: Kernel = Kernel {
            entry: $entry,
            reads: &[],
            owns: &[],
            adds: &["height"],
            cpu: |call| {
                let to: fn(u32) -> u32 = $to;
                for i in call.range.clone() {
                    call.adds[0].add::<false>(to(i) as usize, 1);
                }
            },
        };
    };
}
adds!(NEAR, "near", |i| i & !63 | mix(i) & 63);
adds!(SAME, "same", |_| 0);

/// A bound of a machine: what it is called, its unit, the passes of [`floors`] that show it, and
/// how much of the unit a run of them does. 0: the figure is the microseconds of a pass.
pub type Floor = (&'static str, &'static str, Range<usize>, f64);

/// Passes that are nearly nothing, the last of [`floors`].
pub const TINY: usize = 256;
/// Words that each of them copies.
const FEW: usize = 64;

/// The bounds that a kernel can meet, and a plan with passes for each of them: reads and additions
/// of several patterns, and passes that wait for each other.
pub fn floors(words: usize) -> (Plan, Vec<Floor>) {
    let mut all = plan(words);
    let params = all.passes[0].uniform.clone();
    let pass = |kernel, count: usize| Pass::new(kernel, params.clone(), count, 1);
    let (gb, few) = (words as f64 * 8.0 / 1e9, words / 64);
    let kernels = [
        ("strided reads", "GB/s", &STRIDE, words, gb),
        ("random reads", "GB/s", &GATHER, words, gb),
        ("additions within 64 words", "M/s", &NEAR, words / 4, words as f64 / 4e6),
        ("additions to one word", "M/s", &SAME, few, few as f64 / 1e6),
    ];
    let mut floors: Vec<Floor> = vec![];
    for (name, unit, kernel, count, work) in kernels {
        floors.push((name, unit, all.passes.len()..all.passes.len() + 1, work));
        all.passes.push(pass(kernel, count));
    }
    let first = all.passes.len();
    all.passes.extend((0..TINY).map(|_| pass(&HAND_ON, FEW).swapping(&[["some", "others"]])));
    floors.push(("pass after pass", "us", first..first + TINY, 0.0));
    floors.push(("submit and wait", "us", first..first + 1, 0.0));
    (all, floors)
}

/// The first passes of [`plan`] are copies: enough of them that the cost of a submission does not
/// count.
pub const COPIES: usize = 8;

/// [`COPIES`] passes that each copy `words` words, then one that makes `words / 4` additions.
/// `words` is a power of two.
pub fn plan(words: usize) -> Plan {
    // Filled with ones, because the system only provides the pages of a zeroed buffer once they are
    // written to.
    let buffer = |(name, words)| Buffer { fill: Fill::Word(1), ..Buffer::scratch(name, words) };
    let params = Uniform::of(Params { mask: words as u32 - 1 });
    let pass = |kernel, count: usize| Pass::new(kernel, params.clone(), count, 1);
    let mut passes: Vec<Pass> = (0..COPIES).map(|_| pass(&COPY, words)).collect();
    passes.push(pass(&SCATTER, words / 4));
    let buffers = [("height", words), ("source", words), ("some", FEW), ("others", FEW)];
    Plan::new(SHADER, Window::sized(1, 1), buffers.map(buffer).into(), passes)
}

/// What the copies read and write together, in GB.
pub fn copied_gb(words: usize) -> f64 {
    (COPIES * words * 8) as f64 / 1e9
}
