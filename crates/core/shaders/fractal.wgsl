// Twin of src/stage/fractal.rs. Goes before the shaders of the stages that use it.

@group(0) @binding(51) var<storage, read> waves: array<i32>;
@group(0) @binding(52) var<storage, read> places: array<i32>;

struct Spot {
    square: vec2<i32>,
    part: vec2<i32>,
}

fn spot(size: vec2<i32>, n: u32, x: i32, y: i32) -> Spot {
    let first = i32(n) * 2 * (size.x + size.y);
    let column = first + 2 * x;
    let row = first + 2 * (size.x + y);
    return Spot(
        vec2<i32>(places[column], places[row]),
        vec2<i32>(places[column + 1], places[row + 1]),
    );
}

fn moved(at: Spot, by: vec2<i32>) -> Spot {
    let part = at.part + (by & vec2<i32>(0xfffff)) * 256;
    let square = at.square
        + vec2<i32>(by.x >> 20u, by.y >> 20u)
        + vec2<i32>(part.x >> 28u, part.y >> 28u);
    return Spot(square, part & vec2<i32>(ONE - 1));
}

fn quintic(t: i32) -> i32 {
    let outer = (t >> 2u) * 6 - 1006632960;
    let inner = mul_q28(outer, t) + 671088640;
    return clamp(mul_q28(mul_q28(mul_q28(inner, t), t), t) << 2u, 0, ONE);
}

fn between(a: i32, b: i32, t: i32) -> i32 {
    return a + mul_q28(b - a, t);
}

fn word(key: vec2<u32>, at: Spot, dx: i32, dy: i32) -> u32 {
    return hash(key, u32(at.square.x + dx), u32(at.square.y + dy));
}

fn slope(key: vec2<u32>, at: Spot, dx: i32, dy: i32) -> i32 {
    let random = word(key, at, dx, dy);
    let gx = i32((random & 0xffffu) << 12u) - HALF;
    let gy = i32((random >> 16u) << 12u) - HALF;
    return mul_q28(gx, at.part.x) + mul_q28(gy, at.part.y) - (gx * dx + gy * dy);
}

fn gradient(key: vec2<u32>, at: Spot) -> i32 {
    let tx = quintic(at.part.x);
    let ty = quintic(at.part.y);
    let north = between(slope(key, at, 0, 0), slope(key, at, 1, 0), tx);
    let south = between(slope(key, at, 0, 1), slope(key, at, 1, 1), tx);
    let n = between(north, south, ty);
    return clamp(HALF + n + (n >> 1u), 0, ONE);
}

fn value_at(key: vec2<u32>, at: Spot) -> i32 {
    let tx = quintic(at.part.x);
    let ty = quintic(at.part.y);
    let north = between(i32(word(key, at, 0, 0) >> 4u), i32(word(key, at, 1, 0) >> 4u), tx);
    let south = between(i32(word(key, at, 0, 1) >> 4u), i32(word(key, at, 1, 1) >> 4u), tx);
    return between(north, south, ty);
}

fn root(n: u32) -> i32 {
    let whole = isqrt(n);
    let rest = n - whole * whole;
    return i32((whole << 14u) + (rest << 14u) / (2u * whole + 1u));
}

fn nearest(key: vec2<u32>, at: Spot) -> vec2<u32> {
    var near = vec2<u32>(2147483647u);
    for (var dy = -2; dy < 3; dy += 1) {
        let wide = select(2, 1, abs(dy) == 2);
        for (var dx = -wide; dx <= wide; dx += 1) {
            let random = word(key, at, dx, dy);
            let px = (dx << 14u) + i32((random & 0xffffu) >> 2u) - (at.part.x >> 14u);
            let py = (dy << 14u) + i32(random >> 18u) - (at.part.y >> 14u);
            let squared = u32(px * px) + u32(py * py);
            near.y = min(near.y, max(squared, near.x));
            near.x = min(near.x, squared);
        }
    }
    return near;
}

fn noise(pattern: u32, key: vec2<u32>, at: Spot) -> i32 {
    if pattern == VALUE { return value_at(key, at); }
    if pattern == CELLULAR { return min(root(nearest(key, at).x), ONE); }
    if pattern == BORDERS {
        let near = nearest(key, at);
        return clamp(root(near.y) - root(near.x), 0, ONE);
    }
    return gradient(key, at);
}

fn key_of(n: u32) -> vec2<u32> {
    return vec2<u32>(u32(waves[n * WAVE_WORDS]), u32(waves[n * WAVE_WORDS + 1u]));
}

// The sum of octaves of gradient noise, -1 to 1.
fn shift(size: vec2<i32>, first: u32, end: u32, x: i32, y: i32) -> i32 {
    var sum = 0;
    for (var n = first; n < end; n += 1u) {
        let noise = gradient(key_of(n), spot(size, n, x, y));
        sum += mul_q28((noise - HALF) << 1u, waves[n * WAVE_WORDS + 2u]);
    }
    return sum;
}

fn in_squares(n: u32, by: i32) -> i32 {
    let size = mul_q28(waves[n * WAVE_WORDS + 3u], min(abs(by), ONE));
    return select(size, -size, by < 0);
}
