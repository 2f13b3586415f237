// Twin of src/stage/hills.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sizes: array<i32>;
@group(0) @binding(2) var<storage, read_write> own_height: array<i32>;

fn hill(at: Spot, dx: i32, dy: i32) -> i32 {
    let x = u32(at.square.x + dx);
    let y = u32(at.square.y + dy);
    let place = hash(params.key, x, y);
    let kind = hash(params.key.yx, x, y);
    if (kind & 0xffffu) >= params.chance { return 0; }
    let px = abs((dx << 28u) + i32((place & 0xffffu) << 12u) - at.part.x);
    let py = abs((dy << 28u) + i32((place >> 16u) << 12u) - at.part.y);
    if px >= ONE || py >= ONE { return 0; }
    let squared = mul_q28(px, px) + mul_q28(py, py);
    let size = ((kind >> 16u) & 0xffu) * SIZE_WORDS;
    if squared >= sizes[size] { return 0; }
    let part = clamp(squared * sizes[size + 1u] + mul_q28(squared, sizes[size + 2u]), 0, ONE);
    let profile = mul_q28(ONE - part, ONE - part);
    let share = hash(params.key, kind, place) >> 16u;
    return mul_q28(params.lowest + mul_q16(params.relief - params.lowest, share), profile);
}

@compute @workgroup_size(WORKGROUP)
fn heap(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = spot(
        vec2<i32>(params.width, params.height),
        0u,
        i32(i) % params.width,
        i32(i) / params.width,
    );
    var height = 0;
    for (var dy = -1; dy < 2; dy += 1) {
        for (var dx = -1; dx < 2; dx += 1) {
            let more = hill(at, dx, dy);
            if params.merge == ADDED {
                height = add_within(height, more);
            } else {
                height = max(height, more);
            }
        }
    }
    own_height[i] = min(add_within(params.base, height), HIGHEST);
}
