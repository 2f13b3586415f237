// Twin of src/stage/ranges.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> own_height: array<i32>;

@compute @workgroup_size(WORKGROUP)
fn lift(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let window = vec2<i32>(params.width, params.height);
    let height = surveyed(
        params.nodes,
        window,
        params.warped == 1u,
        i32(i) % params.width,
        i32(i) / params.width,
    );
    own_height[i] = params.base + mul_q28(params.relief, height);
}
