// Twin of src/stage/wind.rs, which states the rule. Goes after stepper.wgsl.

struct Law {
    east: i32,
    south: i32,
    gust: u32,
    grain: i32,
    sand: u32,
    rock: u32,
    talus: i32,
    lift: i32,
    hold: u32,
    spare: vec2<u32>,
    spare_more: u32,
}

const DROP_WORDS: u32 = 6u;
const LOOKS: u32 = 8u;
const FACING: u32 = 2u;
const LOOK_WORDS: u32 = 3u;

@group(0) @binding(40) var<storage, read> lee: array<i32>;

fn sheltered(at: i32) -> bool {
    let torus = params.border == TORUS;
    let x = at % params.width;
    let y = at / params.width;
    let here = height[at] >> 1u;
    for (var k = 0u; k < LOOKS * LOOK_WORDS; k += LOOK_WORDS) {
        let i = fold(x + lee[k], params.width, torus);
        let j = fold(y + lee[k + 1u], params.height, torus);
        if (height[j * params.width + i] >> 1u) - here > lee[k + 2u] >> 1u { return true; }
    }
    return false;
}

fn scaled(v: i32, by: i32) -> i32 {
    return ((v >> 4u) * (by >> 4u)) >> 8u;
}

// How fast the wind is at a vertex, 0 to 2 in 2⁻¹⁶.
fn exposure(at: i32) -> i32 {
    let torus = params.border == TORUS;
    let i = fold(at % params.width + lee[FACING * LOOK_WORDS], params.width, torus);
    let j = fold(at / params.width + lee[FACING * LOOK_WORDS + 1u], params.height, torus);
    let rise = (height[at] >> 2u) - (height[j * params.width + i] >> 2u);
    return clamp(65536 + scaled(clamp(rise, -262144, 262144), params.law.lift), 0, 131072);
}

fn hop(draw: u32) -> vec2<i32> {
    let long = 49152 + i32((draw & 0xffffu) >> 1u);
    let astray = mul_q16(2 * i32(draw >> 16u) - 65535, params.law.gust);
    return vec2<i32>(
        scaled(params.law.east, long) - scaled(params.law.south, astray),
        scaled(params.law.south, long) + scaled(params.law.east, astray),
    );
}

// Round the torus as often as it takes: the map may be narrower than a hop.
fn around(x: i32, span: i32) -> i32 {
    return ((x % span) + span) % span;
}

@compute @workgroup_size(WORKGROUP)
fn blow(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = params.first + place(group, groups, local);
    if i >= params.count { return; }
    let tile = i / TILE_DROPS;
    let inner = i % TILE_DROPS;
    let column = tile % params.tiles_wide * TILE + inner % TILE;
    let row = tile / params.tiles_wide * TILE + inner / TILE;
    if column >= params.homes.x || row >= params.homes.y { return; }
    let word = tile * TILE_DROPS * DROP_WORDS + inner;

    let hx = params.home.x + column;
    let hy = params.home.y + row;
    var age = params.step_rest + phase(row_phase(hy), hx);
    if age >= params.lifetime {
        age -= params.lifetime;
    }
    let last = age == params.lifetime - 1u;
    let born = params.rains == 1u && (age == 0u || params.step == 0u) && !last;
    var x = own_drop[word] ^ NOWHERE;
    if x == NOWHERE && !born { return; }
    var y = own_drop[word + TILE_DROPS];
    var load = own_drop[word + 3u * TILE_DROPS];
    var want = own_drop[word + 4u * TILE_DROPS];
    var vertex = own_drop[word + 5u * TILE_DROPS];
    var span = vec2<i32>((params.width - 1) << 16u, (params.height - 1) << 16u);
    if params.border == TORUS {
        span = vec2<i32>(params.width << 16u, params.height << 16u);
    }

    // What was granted of the last proposal; deaths.
    if want > 0 {
        let got = (want * (grant[vertex] & 0xffff)) >> 13u;
        load += got;
        atomicAdd(&add_moved[vertex * MOVED_WORDS], got);
    } else if want < 0 {
        let laid = (-want * i32(u32(grant[vertex]) >> 16u)) >> 13u;
        load -= laid;
        atomicAdd(&add_moved[vertex * MOVED_WORDS + 1], laid);
    }
    want = 0;
    if last {
        if x != NOWHERE {
            atomicAdd(&add_moved[vertex_of(x, y) * MOVED_WORDS], -load);
        }
        load = 0;
        x = NOWHERE;
    }
    let home = hash(params.key, hx, hy);
    let draw = mix_bits(home ^ (params.step * 0x85ebca6bu + 1u));
    if !last && load == 0 {
        // Idle, or new: another place of its home.
        let spot = spot_of(home, column, row, draw);
        x = NOWHERE;
        y = 0;
        if spot.x >= 0 && spot.y >= 0 && spot.x < span.x && spot.y < span.y {
            x = spot.x;
            y = spot.y;
        }
    }

    if x != NOWHERE {
        vertex = vertex_of(x, y);
        atomicAdd(&add_want[vertex * WANT_WORDS + 2], 1);
        let lee_side = sheltered(vertex);
        let loose = ledger[u32(vertex) * LEDGER_WORDS + 1u] > 0;
        let wind = exposure(vertex);
        var chance = params.law.rock;
        if loose { chance = params.law.sand; }
        let rests = load > 0 && (lee_side || i32(mix_bits(draw) >> 16u) < scaled(i32(chance), 131072 - wind));
        if rests {
            want = -min((load + 3) >> 2u, WANT_MAX);
        } else if load == 0 && loose && !lee_side {
            want = min(scaled(params.law.grain, wind), WANT_MAX);
        }
        let shift = params.want_shift;
        let rounded = (abs(want) + (1 << (shift & 31u)) - 1) >> (shift & 31u);
        atomicAdd(&add_want[vertex * WANT_WORDS + select(0, 1, want < 0)], rounded);
        if !rests && (load > 0 || want > 0) {
            let by = hop(mix_bits(draw + 0x9e3779b9u));
            let nx = x + by.x;
            let ny = y + by.y;
            if u32(nx) < u32(span.x) && u32(ny) < u32(span.y) {
                x = nx;
                y = ny;
            } else if params.border == TORUS {
                x = around(nx, span.x);
                y = around(ny, span.y);
            } else if params.border != WALL && load > 0 {
                atomicAdd(&add_exported[tile * 2u], load & 0xfff);
                atomicAdd(&add_exported[tile * 2u + 1u], load >> 12u);
                load = 0;
                want = 0;
                x = NOWHERE;
            }
        }
    }
    let alive = x != NOWHERE;
    own_drop[word] = x ^ NOWHERE;
    own_drop[word + TILE_DROPS] = select(0, y, alive);
    own_drop[word + 3u * TILE_DROPS] = select(0, load, alive);
    own_drop[word + 4u * TILE_DROPS] = select(0, want, alive);
    own_drop[word + 5u * TILE_DROPS] = select(0, vertex, alive);
}

// Room up to the angle of repose, in 2⁻¹⁶ cells.
fn slack(high: i32, low: i32) -> i32 {
    return max((params.law.talus >> 1u) - ((high >> 1u) - (low >> 1u)), 0) >> 1u;
}

// The part of `want` that may be had where there is `room`, in 2⁻¹⁵.
fn part(room: i32, want: i32) -> u32 {
    let allow = u32(min(mul_q16(room, params.limit), ALLOW_MAX) >> (params.want_shift & 31u));
    if u32(want) <= allow { return WHOLE; }
    return div_small(allow << 15u, u32(max(want, 1)));
}

@compute @workgroup_size(WORKGROUP)
fn limit_sand(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
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
    var taken = min(slack(highest, h), ledger[i * LEDGER_WORDS + 1u] >> 2u);
    if params.law.hold == 1u {
        taken = mul_q16(taken, u32(65536 - mul_q16(clamp(vegetation[i], 0, 65536), params.roots)));
    }
    let record = i32(i) * WANT_WORDS;
    own_grant[i] = i32(part(taken, own_want[record]) | (part(slack(h, lowest), own_want[record + 1]) << 16u));
    own_want[record] = 0;
    own_want[record + 1] = 0;
    own_moved[i32(i) * MOVED_WORDS] = 0;
    own_moved[i32(i) * MOVED_WORDS + 1] = 0;
}
