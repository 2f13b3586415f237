// Twin of src/stage/island.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> octave: array<i32>;
@group(0) @binding(2) var<storage, read> power: array<i32>;
@group(0) @binding(3) var<storage, read> dome: array<i32>;
@group(0) @binding(4) var<storage, read_write> own_height: array<i32>;

fn cubic(v: vec4<i32>, x: i32) -> i32 {
    let p = v.w - v.z - v.x + v.y;
    let slope = mul_q28(mul_q28(p, x) + (v.x - v.y - p), x) + (v.z - v.x);
    return mul_q28(slope, x) + v.y;
}

fn locate(d: i32, rate: vec2<i32>, moved: vec2<i32>) -> vec2<i32> {
    let low = d * rate.x + moved.x;
    let high = d * rate.y + moved.y + (low >> 14u);
    return vec2<i32>(high >> 14u, ((high & 0x3fff) << 14u) | (low & 0x3fff));
}

fn value(key: vec2<u32>, x: i32, y: i32) -> i32 {
    return i32(hash(key, u32(x), u32(y)) >> 4u);
}

fn between_rows(key: vec2<u32>, x: i32, y: i32, f: i32) -> i32 {
    return cubic(
        vec4<i32>(
            value(key, x, y - 1),
            value(key, x, y),
            value(key, x, y + 1),
            value(key, x, y + 2),
        ),
        f,
    );
}

// The noise of octave n at d cells from the middle.
fn noise(n: u32, d: vec2<i32>) -> i32 {
    let o = n * OCTAVE_WORDS;
    let rate = vec2<i32>(octave[o], octave[o + 1u]);
    let key = vec2<u32>(u32(octave[o + 2u]), u32(octave[o + 3u]));
    let x = locate(d.x, rate, vec2<i32>(octave[o + 4u], octave[o + 5u]));
    let y = locate(d.y, rate, vec2<i32>(octave[o + 6u], octave[o + 7u]));
    return cubic(
        vec4<i32>(
            between_rows(key, x.x - 1, y.x, y.y),
            between_rows(key, x.x, y.x, y.y),
            between_rows(key, x.x + 1, y.x, y.y),
            between_rows(key, x.x + 2, y.x, y.y),
        ),
        x.y,
    );
}

fn squared(d: i32, inverse: i32) -> i32 {
    let part = abs(d * inverse);
    return mul_q28(part, part);
}

fn crater(ground: i32, rim: i32) -> i32 {
    if params.craters == 0u { return ground; }
    let above =
        max(ground - params.crater_rim - mul_q28(params.crater_relief, clamp(rim, 0, ONE)), 0);
    return ground - above - mul_q16(above, params.crater_slope);
}

@compute @workgroup_size(WORKGROUP)
fn raise(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let d = params.origin + vec2<i32>(i32(at) % params.width, i32(at) / params.width) * params.step;
    if abs(d.x) > params.radius.x || abs(d.y) > params.radius.y {
        own_height[at] = params.base;
        return;
    }
    var sum = 0;
    for (var n = 0u; n < params.octaves; n += 1u) {
        sum += mul_q28((noise(n, d) >> 1u) + (ONE >> 2u), octave[n * OCTAVE_WORDS + 8u]);
    }
    var rim = 0;
    if params.craters == 1u { rim = noise(params.octaves, d); }
    let v = clamp(sum, 0, ONE);
    let q = min(squared(d.x, params.inverse.x) + squared(d.y, params.inverse.y), ONE);
    let v_at = min(v >> 16u, INTERVALS - 1);
    let q_at = min(q >> 16u, INTERVALS - 1);
    let raised = power[v_at] + mul_q16(power[v_at + 1] - power[v_at], u32(v - (v_at << 16u)));
    let shape = dome[q_at] + mul_q16(dome[q_at + 1] - dome[q_at], u32(q - (q_at << 16u)));
    let ground = mul_q28(params.relief, mul_q28(raised, shape));
    own_height[at] = params.base + crater(ground, rim);
}
