// Twin of src/stage/voronoi_island.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> own_height: array<i32>;

@compute @workgroup_size(WORKGROUP)
fn rise(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let window = vec2<i32>(params.width, params.height);
    let value = surveyed(vec2<i32>(NODES, NODES), window, params.warped == 1u, x, y);
    if value < 0 {
        own_height[i] = params.sea - mul_q28(params.depth, -value);
        return;
    }
    var total = 0;
    for (var n = ROUGH_FROM; n < ROUGH_FROM + params.octaves; n += 1u) {
        total += mul_q28(gradient(key_of(n), spot(window, n, x, y)), waves[n * WAVE_WORDS + 2u]);
    }
    let height = mul_q28(params.relief, value);
    let rough = mul_q28(height, params.rough);
    own_height[i] = params.sea + height - rough + (mul_q28(rough, clamp(total, 0, ONE)) << 1u);
}
