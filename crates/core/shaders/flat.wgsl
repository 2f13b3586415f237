// Twin of src/stage/flat.rs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> own_height: array<i32>;

@compute @workgroup_size(WORKGROUP)
fn lay(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_height[i] = params.level;
}
