// What the GPU executor runs when words are read back. Twin of src/exec/selection.rs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> own_picked: array<u32>;

// Brings wanted words together. Invocations are counted on from piece to piece, and each piece is
// written from the beginning.
@compute @workgroup_size(WORKGROUP)
fn pick(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let cell = i / params.words;
    let at = params.first
        + cell / params.across * params.row
        + cell % params.across * params.each
        + i % params.words;
    own_picked[i - dispatch.first] = source[at];
}

// Adds words up as unsigned numbers, some bits flipped: the low and the high word of each sum.
// Neighbours add neighbours.
@compute @workgroup_size(WORKGROUP)
fn add_up(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    var low = 0u;
    var high = 0u;
    for (var at = i; at < arrayLength(&source); at += dispatch.end) {
        let word = source[at] ^ params.flip;
        low += word;
        if low < word { high += 1u; }
    }
    own_picked[2u * i] = low;
    own_picked[2u * i + 1u] = high;
}
