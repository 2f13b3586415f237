// Twin of src/stage/droplets.rs, which states the rule.

struct Params {
    first: u32,
    count: u32,
    width: i32,
    height: i32,
    key: vec2<u32>,
    home: vec2<u32>,
    homes: vec2<u32>,
    corner: vec2<i32>,
    tiles_wide: u32,
    block: u32,
    step: u32,
    step_rest: u32,
    step_life: u32,
    lifetime: u32,
    rains: u32,
    border: u32,
    inertia: u32,
    erosion: u32,
    gravity: i32,
    slope_min: i32,
    load_max: i32,
    want_shift: u32,
    limit: u32,
    radius: i32,
}

const TILE: u32 = 32u;
const TILE_DROPS: u32 = 1024u;
const DROP_WORDS: u32 = 5u;
const WANT_WORDS: i32 = 3;
const MOVED_WORDS: i32 = 2;
const NOWHERE: i32 = -2147483647 - 1;
const SPEED_MAX: i32 = 32767;
const DROP_MAX: i32 = 1048576;
const WANT_MAX: i32 = 32767;
const WHOLE: u32 = 32768u;
const ALLOW_MAX: i32 = 65535;
const TORUS: u32 = 1u;
const WALL: u32 = 2u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read> grant: array<i32>;
@group(0) @binding(3) var<storage, read> water: array<i32>;
@group(0) @binding(4) var<storage, read> moved: array<i32>;
@group(0) @binding(5) var<storage, read> brush: array<i32>;
@group(0) @binding(6) var<storage, read> want: array<i32>;
@group(0) @binding(7) var<storage, read_write> own_drop: array<i32>;
@group(0) @binding(8) var<storage, read_write> own_height: array<i32>;
@group(0) @binding(9) var<storage, read_write> own_grant: array<i32>;
@group(0) @binding(10) var<storage, read_write> own_want: array<i32>;
@group(0) @binding(11) var<storage, read_write> own_moved: array<i32>;
@group(0) @binding(12) var<storage, read_write> add_moved: array<atomic<i32>>;
@group(0) @binding(13) var<storage, read_write> add_want: array<atomic<i32>>;
@group(0) @binding(14) var<storage, read_write> add_exported: array<atomic<i32>>;

fn row_phase(hy: u32) -> u32 {
    return mix_bits(hy ^ params.key.y);
}

fn phase(row: u32, hx: u32) -> u32 {
    return (((row + hx * 0x9e3779b9u) >> 16u) * params.lifetime) >> 16u;
}

fn slope(a: i32, b: i32) -> i32 {
    return clamp(b - a, -SLOPE_MAX, SLOPE_MAX);
}

fn gradient(corner: vec4<i32>, fx: u32, fy: u32) -> vec2<i32> {
    let h = corner >> vec4<u32>(2u);
    return vec2<i32>(
        lerp(slope(h.x, h.y), slope(h.z, h.w), fy),
        lerp(slope(h.x, h.z), slope(h.y, h.w), fx),
    );
}

fn height_at(corner: vec4<i32>, fx: u32, fy: u32) -> i32 {
    let h = corner >> vec4<u32>(2u);
    return lerp(lerp(h.x, h.y, fx), lerp(h.z, h.w, fx), fy);
}

fn turn(u: i32, g: i32) -> i32 {
    return mul_q16_near(u << 2u, params.inertia) - mul_q16_near(g, 65536u - params.inertia);
}

fn byte_sum(r: u32) -> i32 {
    return i32((r & 255u) + ((r >> 8u) & 255u) + ((r >> 16u) & 255u) + (r >> 24u)) - 510;
}

fn wander(home: u32) -> vec2<i32> {
    let rx = mix_bits(home ^ (params.step * 0x85ebca6bu + 1u));
    let ry = mix_bits(rx + 0x9e3779b9u);
    var x = byte_sum(rx);
    let y = byte_sum(ry);
    if x == 0 && y == 0 { x = 1; }
    return vec2<i32>(x, y);
}

// Proposal and new speed.
fn weigh(d: i32, load: i32, speed: i32, age: u32) -> vec2<i32> {
    let carry = water[2u * age];
    let lay = u32(water[2u * age + 1u]);
    let drop = clamp(-d, 0, DROP_MAX);
    let steep = max(drop, params.slope_min);
    let capacity = min(mul_q16(mul_q16(steep << 8u, u32(carry)), u32(speed)) << 2u, params.load_max >> 2u) << 2u;
    let room = capacity - load;
    let take = min(mul_q16(max(room, 0), params.erosion), drop << 2u);
    let surplus = mul_q16(max(-room, 0), lay);
    let fill = min(load, clamp(d, 0, DROP_MAX) << 2u);
    var want = min(take >> 2u, WANT_MAX) - min(surplus >> 2u, WANT_MAX);
    if d >= 0 { want = -min(fill >> 2u, WANT_MAX); }
    let energy = speed * speed - clamp(d, -DROP_MAX, DROP_MAX) * params.gravity;
    return vec2<i32>(want, i32(isqrt(u32(clamp(energy, 0, SPEED_MAX * SPEED_MAX)))));
}

fn corners(x: i32, y: i32) -> vec4<i32> {
    let x0 = x >> 16u;
    let y0 = y >> 16u;
    // Beyond the last column or row only on the torus.
    let x1 = select(x0 + 1, 0, x0 + 1 >= params.width);
    let y1 = select(y0 + 1, 0, y0 + 1 >= params.height);
    let top = y0 * params.width;
    let low = y1 * params.width;
    return vec4<i32>(height[top + x0], height[top + x1], height[low + x0], height[low + x1]);
}

fn vertex_of(x: i32, y: i32) -> i32 {
    var vx = (x + 0x8000) >> 16u;
    var vy = (y + 0x8000) >> 16u;
    if vx >= params.width { vx -= params.width; }
    if vy >= params.height { vy -= params.height; }
    return vy * params.width + vx;
}

fn wrap(x: i32, span: i32) -> i32 {
    if x < 0 { return x + span; }
    if x >= span { return x - span; }
    return x;
}

@compute @workgroup_size(WORKGROUP)
fn drops(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = params.first + place(group, groups, local);
    if i >= params.count { return; }
    let tile = i / TILE_DROPS;
    let inner = i % TILE_DROPS;
    let column = tile % params.tiles_wide * TILE + inner % TILE;
    let row = tile / params.tiles_wide * TILE + inner / TILE;
    if column >= params.homes.x || row >= params.homes.y { return; }
    let word = tile * TILE_DROPS * DROP_WORDS + inner;

    var x = own_drop[word] ^ NOWHERE;
    var y = own_drop[word + TILE_DROPS];
    var packed = own_drop[word + 2u * TILE_DROPS];
    var heading = vec2<i32>((packed << 16u) >> 16u, packed >> 16u);
    var load = own_drop[word + 3u * TILE_DROPS];
    packed = own_drop[word + 4u * TILE_DROPS];
    var speed = packed >> 16u;
    var want = (packed << 16u) >> 16u;

    let hx = params.home.x + column;
    let hy = params.home.y + row;
    var age = params.step_rest + phase(row_phase(hy), hx);
    var life = params.step_life;
    if age >= params.lifetime {
        age -= params.lifetime;
        life += 1u;
    }
    var span = vec2<i32>((params.width - 1) << 16u, (params.height - 1) << 16u);
    if params.border == TORUS {
        span = vec2<i32>(params.width << 16u, params.height << 16u);
    }

    // What was granted of the last proposal; deaths; births.
    if x != NOWHERE && want != 0 {
        var before = vec2<i32>(x - (heading.x << 2u), y - (heading.y << 2u));
        if params.border == TORUS {
            before = vec2<i32>(wrap(before.x, span.x), wrap(before.y, span.y));
        }
        let at = vertex_of(before.x, before.y);
        let share = u32(grant[at]);
        if want > 0 {
            let got = (want * i32(share & 0xffffu)) >> 13u;
            load += got;
            atomicAdd(&add_moved[at * MOVED_WORDS], got);
        } else {
            let laid = (-want * i32(share >> 16u)) >> 13u;
            load -= laid;
            atomicAdd(&add_moved[at * MOVED_WORDS + 1], laid);
        }
        want = 0;
    }
    if x != NOWHERE && age == params.lifetime - 1u {
        atomicAdd(&add_moved[vertex_of(x, y) * MOVED_WORDS], -load);
        load = 0;
        x = NOWHERE;
    }
    let home = hash(params.key, hx, hy);
    if params.rains == 1u && (age == 0u || params.step == 0u) && age != params.lifetime - 1u {
        let spot = mix_bits(home + life * 0x9e3779b9u);
        let sx = ((params.corner.x + i32(column * params.block)) << 16u) + i32((spot & 0xffffu) * params.block);
        let sy = ((params.corner.y + i32(row * params.block)) << 16u) + i32((spot >> 16u) * params.block);
        if sx >= 0 && sy >= 0 && sx < span.x && sy < span.y {
            x = sx;
            y = sy;
            heading = vec2<i32>(0, 0);
            speed = 1024;
        }
    }

    if x != NOWHERE {
        let old = vertex_of(x, y);
        var corner = corners(x, y);
        let fx = u32(x & 0xffff);
        let fy = u32(y & 0xffff);
        let h = height_at(corner, fx, fy);
        let g = gradient(corner, fx, fy);
        var wish = vec2<i32>(turn(heading.x, g.x), turn(heading.y, g.y));
        if wish.x == 0 && wish.y == 0 {
            wish = wander(home);
        }
        heading = unit(wish.x, wish.y);
        var nx = x + (heading.x << 2u);
        var ny = y + (heading.y << 2u);
        atomicAdd(&add_want[old * WANT_WORDS + 2], 1);
        if u32(nx) >= u32(span.x) || u32(ny) >= u32(span.y) {
            if params.border == TORUS {
                nx = wrap(nx, span.x);
                ny = wrap(ny, span.y);
            } else if params.border == WALL {
                nx = x;
                ny = y;
                heading = vec2<i32>(0, 0);
            } else {
                atomicAdd(&add_exported[tile * 2u], load & 0xfff);
                atomicAdd(&add_exported[tile * 2u + 1u], load >> 12u);
                nx = NOWHERE;
            }
        }
        x = nx;
        y = ny;
        if x != NOWHERE {
            corner = corners(x, y);
            let d = height_at(corner, u32(x & 0xffff), u32(y & 0xffff)) - h;
            let wish_and_speed = weigh(d, load, speed, age);
            want = wish_and_speed.x;
            speed = wish_and_speed.y;
            let shift = params.want_shift;
            let round_up = (1 << (shift & 31u)) - 1;
            if want > 0 {
                atomicAdd(&add_want[old * WANT_WORDS], (want + round_up) >> (shift & 31u));
            } else if want < 0 {
                atomicAdd(&add_want[old * WANT_WORDS + 1], (-want + round_up) >> (shift & 31u));
            }
        }
    }
    let alive = x != NOWHERE;
    own_drop[word] = x ^ NOWHERE;
    own_drop[word + TILE_DROPS] = select(0, y, alive);
    own_drop[word + 2u * TILE_DROPS] = select(0, (heading.x & 0xffff) | (heading.y << 16u), alive);
    own_drop[word + 3u * TILE_DROPS] = select(0, load, alive);
    own_drop[word + 4u * TILE_DROPS] = select(0, (speed << 16u) | (want & 0xffff), alive);
}

fn spread(g: i32, dx: i32, dy: i32) -> i32 {
    if dx == 0 && dy == 0 { return g - ((g >> 4u) << 2u) - ((g >> 3u) << 2u); }
    if dx == 0 || dy == 0 { return g >> 3u; }
    return g >> 4u;
}

@compute @workgroup_size(WORKGROUP)
fn settle(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = params.first + place(group, groups, local);
    if i >= params.count { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let torus = params.border == TORUS;
    let r = params.radius;
    let here = moved[i32(i) * MOVED_WORDS];
    var sum = 0;
    var rest = here;
    var tap = 0;
    for (var dy = -r; dy <= r; dy += 1) {
        let row = fold(y + dy, params.height, torus) * params.width;
        for (var dx = -r; dx <= r; dx += 1) {
            let weight = u32(brush[tap]);
            tap += 1;
            sum -= mul_q16(moved[(row + fold(x + dx, params.width, torus)) * MOVED_WORDS], weight);
            rest -= mul_q16(here, weight);
        }
    }
    for (var dy = -1; dy <= 1; dy += 1) {
        let row = fold(y + dy, params.height, torus) * params.width;
        for (var dx = -1; dx <= 1; dx += 1) {
            sum += spread(moved[(row + fold(x + dx, params.width, torus)) * MOVED_WORDS + 1], dx, dy);
        }
    }
    own_height[i] += sum - rest;
}

fn room_between(high: i32, low: i32) -> i32 {
    return max((high >> 1u) - ((low + 1) >> 1u), 0) >> 1u;
}

// The part of `want` that may be had where the ground falls or rises by `room`, in 2⁻¹⁵.
fn share_of(room: i32, want: i32) -> u32 {
    let allow = u32(min(mul_q16(room, params.limit), ALLOW_MAX) >> (params.want_shift & 31u));
    if u32(want) <= allow { return WHOLE; }
    return div_small(allow << 15u, u32(max(want, 1)));
}

@compute @workgroup_size(WORKGROUP)
fn limit(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = params.first + place(group, groups, local);
    if i >= params.count { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let torus = params.border == TORUS;
    let h = height[i];
    var lowest = h;
    var highest = h;
    for (var dy = -1; dy <= 1; dy += 1) {
        let row = fold(y + dy, params.height, torus) * params.width;
        for (var dx = -1; dx <= 1; dx += 1) {
            let n = height[row + fold(x + dx, params.width, torus)];
            lowest = min(lowest, n);
            highest = max(highest, n);
        }
    }
    let fall = room_between(h, lowest);
    let rise = room_between(highest, h);
    let record = i32(i) * WANT_WORDS;
    own_grant[i] = i32(share_of(fall, own_want[record]) | (share_of(rise, own_want[record + 1]) << 16u));
    own_want[record] = 0;
    own_want[record + 1] = 0;
    own_moved[i32(i) * MOVED_WORDS] = 0;
    own_moved[i32(i) * MOVED_WORDS + 1] = 0;
}

@compute @workgroup_size(WORKGROUP)
fn tally(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = params.first + place(group, groups, local);
    if i >= params.count { return; }
    own_grant[i] = want[i32(i) * WANT_WORDS + 2];
}
