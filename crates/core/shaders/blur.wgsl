// Twin of src/stage/blur.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read_write> own_blurred: array<i32>;

@compute @workgroup_size(WORKGROUP)
fn smooth_cells(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let width = u32(params.width);
    let y = i32(at / width);
    let x = i32(at - u32(y) * width);
    let here = height[at];
    var sum = here - ((here >> 3u) << 2u) - ((here >> 4u) << 2u);
    if min(x, y) > 0 && x + 1 < params.width && y + 1 < params.height {
        // Nothing folds.
        let n = i32(at) - params.width;
        let s = i32(at) + params.width;
        own_blurred[at] = sum
            + (height[n] >> 3u)
            + (height[s] >> 3u)
            + (height[at - 1u] >> 3u)
            + (height[at + 1u] >> 3u)
            + (height[n - 1] >> 4u)
            + (height[n + 1] >> 4u)
            + (height[s - 1] >> 4u)
            + (height[s + 1] >> 4u);
        return;
    }
    for (var dy = -1; dy <= 1; dy += 1) {
        for (var dx = -1; dx <= 1; dx += 1) {
            let h = height[fold(y + dy, params.height, params.torus == 1u) * params.width
                + fold(x + dx, params.width, params.torus == 1u)];
            if dx != 0 && dy != 0 {
                sum += h >> 4u;
            } else if dx != 0 || dy != 0 {
                sum += h >> 3u;
            }
        }
    }
    own_blurred[at] = sum;
}
