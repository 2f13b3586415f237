//! Two kernels that do only what bounds all others: a copy, and additions to random words of a buffer.
//!
//! They run through the same executors as the stages. The articles' bench includes this file as well.

use thalweg::plan::{Buffer, Call, Fill, Kernel, Pass, Plan, Uniform};
use thalweg::site::Window;
use thalweg::spec::mix;

const SHADER: &str = "
    struct Params { mask: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> source: array<i32>;
    @group(0) @binding(2) var<storage, read_write> own_height: array<i32>;
    @group(0) @binding(3) var<storage, read_write> add_height: array<atomic<i32>>;
    @compute @workgroup_size(WORKGROUP)
    fn copy(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { own_height[i] = source[i]; }
    }
    @compute @workgroup_size(WORKGROUP)
    fn scatter(invocation: Invocation) {
        let i = index_of(invocation);
        if i < dispatch.end { atomicAdd(&add_height[mix_bits(i) & params.mask], 1); }
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

/// The first passes of [`plan`] are copies: enough of them that the cost of a submission does not count.
pub const COPIES: usize = 8;

/// [`COPIES`] passes that each copy `words` words, then one that makes `words / 4` additions. `words` is a power of two.
pub fn plan(words: usize) -> Plan {
    // Filled with ones, because the system only provides the pages of a zeroed buffer once they are written to.
    let buffer = |name| Buffer { fill: Fill::Word(1), ..Buffer::scratch(name, words) };
    let params = Uniform::of(Params { mask: words as u32 - 1 });
    let pass = |kernel, count: usize| Pass::new(kernel, params.clone(), count, 1);
    let mut passes: Vec<Pass> = (0..COPIES).map(|_| pass(&COPY, words)).collect();
    passes.push(pass(&SCATTER, words / 4));
    Plan::new(SHADER, Window::sized(1, 1), vec![buffer("height"), buffer("source")], passes)
}

/// What the copies read and write together, in GB.
pub fn copied_gb(words: usize) -> f64 {
    (COPIES * words * 8) as f64 / 1e9
}
