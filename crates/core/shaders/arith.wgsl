// The arithmetic that both executors share. Twin of src/arith.rs. Goes before the shader of every
// stage, after the line `const WORKGROUP: u32 = …;`.

fn height_within(height: i32) -> i32 {
    return clamp(height, -HEIGHT_END, HEIGHT_END);
}

// A sum that stops at the ends of 32 bits.
fn add_within(a: i32, b: i32) -> i32 {
    let sum = a + b;
    if ((a ^ sum) & (b ^ sum)) >= 0 { return sum; }
    return select(2147483647, -2147483647 - 1, a < 0);
}

fn sub_within(a: i32, b: i32) -> i32 {
    let rest = a - b;
    if ((a ^ b) & (a ^ rest)) >= 0 { return rest; }
    return select(2147483647, -2147483647 - 1, a < 0);
}

fn mul_q16(a: i32, b: u32) -> i32 {
    return (a >> 16u) * i32(b) + i32((u32(a & 0xffff) * b) >> 16u);
}

fn mul_q16_near(a: i32, b: u32) -> i32 {
    return (a >> 16u) * i32(b) + i32((u32(a & 0xffff) * b + 0x8000u) >> 16u);
}

fn mul_q28(a: i32, v: i32) -> i32 {
    return mul_q16(a, u32(v >> 12u)) + (mul_q16(a, u32(v & 0xfff)) >> 12u);
}

fn lerp(a: i32, b: i32, f: u32) -> i32 {
    return a + mul_q16_near(b - a, f);
}

fn div_small(n: u32, d: u32) -> u32 {
    var guess = u32(f32(i32(n)) / f32(i32(d)));
    let rest = i32(n - guess * d);
    if rest < 0 { guess -= 1u; }
    if rest >= i32(d) { guess += 1u; }
    return guess;
}

fn isqrt(n: u32) -> u32 {
    var guess = u32(sqrt(f32(i32(n))));
    if guess * guess > n { guess -= 1u; }
    let next = guess + 1u;
    if next * next <= n { guess = next; }
    return guess;
}

fn log2_floor(n: u32) -> u32 {
    return firstLeadingBit(n | 1u);
}

fn unit(x: i32, y: i32) -> vec2<i32> {
    let ax = u32(abs(x));
    let ay = u32(abs(y));
    let top = log2_floor(max(ax, ay));
    let up = 14u - min(top, 14u);
    let down = max(top, 14u) - 14u;
    let sx = (ax << (up & 31u)) >> (down & 31u);
    let sy = (ay << (up & 31u)) >> (down & 31u);
    let length = isqrt(sx * sx + sy * sy);
    let ux = i32(div_small(sx << 14u, length));
    let uy = i32(div_small(sy << 14u, length));
    return vec2<i32>(select(ux, -ux, x < 0), select(uy, -uy, y < 0));
}

fn mix_bits(n: u32) -> u32 {
    var m = (n ^ (n >> 16u)) * 0x7feb352du;
    m = (m ^ (m >> 15u)) * 0x846ca68bu;
    return m ^ (m >> 16u);
}

fn hash(key: vec2<u32>, x: u32, y: u32) -> u32 {
    return mix_bits((mix_bits(x ^ key.x) + y) ^ key.y);
}

fn value_noise(key: vec2<u32>, x: u32, y: u32, fx: u32, fy: u32) -> i32 {
    let top = lerp(i32(hash(key, x, y) >> 16u), i32(hash(key, x + 1u, y) >> 16u), fx);
    let low = lerp(i32(hash(key, x, y + 1u) >> 16u), i32(hash(key, x + 1u, y + 1u) >> 16u), fx);
    return lerp(top, low, fy);
}

fn fold(i: i32, n: i32, torus: bool) -> i32 {
    if i >= 0 && i < n {
        return i;
    }
    if torus {
        return ((i % n) + n) % n;
    }
    let m = ((i % (2 * n)) + 2 * n) % (2 * n);
    return select(2 * n - 1 - m, m, m < n);
}

// The invocations of this dispatch, `first..end`. The executor fills it in.
struct Dispatch {
    first: u32,
    end: u32,
}

@group(0) @binding(100) var<uniform> dispatch: Dispatch;

// The place of an invocation in its dispatch, which has one or two dimensions.
struct Invocation {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
}

// The number of an invocation in its pass. At or after `dispatch.end` there is nothing to do.
fn index_of(at: Invocation) -> u32 {
    return dispatch.first + (at.group.y * at.groups.x + at.group.x) * WORKGROUP + at.local;
}
