// Twin of src/stage/weather.rs, which states the rule. Goes before shaders/layer.wgsl, which has
// the struct of its settings.

@group(0) @binding(8) var<storage, read> lift: array<i32>;
@group(0) @binding(9) var<storage, read_write> own_lift: array<i32>;
@group(0) @binding(10) var<storage, read_write> own_carried: array<i32>;
@group(0) @binding(11) var<storage, read_write> own_mask: array<i32>;

fn along(slope: i32, part: i32) -> i32 {
    let product = mul_q16(slope, u32(abs(part)));
    return select(product, -product, part < 0);
}

fn half_at(x: i32, y: i32) -> i32 {
    let at = fold(y, params.height, false) * params.width + fold(x, params.width, false);
    return max(height[at], params.sea) >> 1u;
}

@compute @workgroup_size(WORKGROUP)
fn rise(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let dx = clamp(half_at(x + 1, y) - half_at(x - 1, y), -16777216, 16777216);
    let dy = clamp(half_at(x, y + 1) - half_at(x, y - 1), -16777216, 16777216);
    let lifted = along(dx, params.wind_x) + along(dy, params.wind_y);
    own_lift[i] = select(lifted, mul_q16(lifted, params.shadow), lifted < 0);
}

fn lift_at(x: i32, y: i32) -> i32 {
    if x < 0 || y < 0 || x >= params.width || y >= params.height { return 0; }
    return lift[y * params.width + x];
}

@compute @workgroup_size(WORKGROUP)
fn carry(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let x = i32(i) % params.width + params.up_x;
    let y = i32(i) / params.width + params.up_y;
    let sides = lift_at(x + params.across_x, y + params.across_y)
        + lift_at(x - params.across_x, y - params.across_y);
    own_carried[i] = lerp(lift[i], (sides + 2 * lift_at(x, y) + 2) >> 2u, params.share);
}

@compute @workgroup_size(WORKGROUP)
fn fall(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_mask[i] = max(params.background + (mul_q16(lift[i], params.moisture) << 5u), 0);
}
