// Twin of src/stage/random_raise.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> hits: array<i32>;
@group(0) @binding(2) var<storage, read_write> own_height: array<i32>;
@group(0) @binding(3) var<storage, read_write> add_hits: array<atomic<i32>>;

fn place(axis: u32, corner: i32, point: u32, first: u32, second: u32) -> i32 {
    let middle = mul_q16(params.extent, hash(params.key, point, 2u + axis) >> 16u);
    let half = 16u * axis;
    let sum = ((first >> (half & 31u)) & 0xffffu) + ((second >> (half & 31u)) & 0xffffu);
    let more = mix_bits(first + (axis + 5u) * 0x9e3779b9u);
    let mean = (sum + (more & 0xffffu) + (more >> 16u)) >> 2u;
    let at = corner + middle + mul_q16(params.width_of_sum, mean) - (params.width_of_sum >> 1u);
    let cell = (at + 8) >> 4u;
    return (cell + ((1 << (params.level & 31u)) >> 1u)) >> (params.level & 31u);
}

@compute @workgroup_size(WORKGROUP)
fn hit(invocation: Invocation) {
    let n = index_of(invocation);
    if n >= dispatch.end { return; }
    let first = hash(params.key, n, 0u);
    let second = hash(params.key, n, 1u);
    let point = mix_bits(first ^ second) % params.points;
    let x = place(0u, params.corner.x, point, first, second);
    let y = place(1u, params.corner.y, point, first, second);
    if x >= 0 && x < params.width && y >= 0 && y < params.height {
        atomicAdd(&add_hits[y * params.width + x], 1);
    }
}

@compute @workgroup_size(WORKGROUP)
fn raise(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let down = 2u * params.level;
    let count = hits[i];
    let whole = count >> (down & 31u);
    let up = 28u - down;
    let part = (count & ((1 << (down & 31u)) - 1)) << (up & 31u);
    let most = HIGHEST / max(params.raise, 1);
    var height = HIGHEST;
    if whole < most { height = add_within(whole * params.raise, mul_q28(params.raise, part)); }
    own_height[i] = min(add_within(params.start, height), HIGHEST);
}
