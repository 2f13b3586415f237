// Twin of src/stage/wind.rs, which states the rule. Goes after stepper.wgsl.

@group(0) @binding(40) var<storage, read> lee: array<i32>;
@group(0) @binding(41) var<storage, read> wind: array<i32>;
@group(0) @binding(42) var<storage, read_write> own_wind: array<i32>;

fn scaled(v: i32, by: i32) -> i32 {
    return ((v >> 4u) * (by >> 4u)) >> 8u;
}

fn hop(draw: u32) -> vec2<i32> {
    let long = 49152 + i32((draw & 0xffffu) >> 1u);
    let aside = mul_q16(2 * i32(draw >> 16u) - 65535, params.law.gust);
    return vec2<i32>(
        scaled(params.law.east, long) - scaled(params.law.south, aside),
        scaled(params.law.south, long) + scaled(params.law.east, aside),
    );
}

@compute @workgroup_size(WORKGROUP)
fn blow(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let home = home_of(i);
    if !exists(home) { return; }
    let word = first_word(i);

    var x = own_drop[word] ^ NOWHERE;
    if x == NOWHERE && !home.born { return; }
    var y = own_drop[word + TILE_DROPS];
    var spent = own_drop[word + 2u * TILE_DROPS] != 0;
    var load = own_drop[word + 3u * TILE_DROPS];
    var want = own_drop[word + 4u * TILE_DROPS];
    var vertex = own_drop[word + 5u * TILE_DROPS];
    let span = span_of_map();

    // Settle what was granted of the last proposal.
    if want != 0 {
        load += settle_granted(vertex, want, load);
        if want < 0 && load == 0 { x = NOWHERE; }
    }
    want = 0;
    // Deaths and births.
    spent = home.dies || (spent && !home.born);
    // In the last step there is no time left for that.
    let last = (params.flags & LAST) != 0u;
    if (home.born || last) && load > 0 {
        let left = select(min(load, params.law.left), 0, last);
        atomicAdd(&add_moved[vertex * i32(MOVED_WORDS)], -left);
        lose_load(home.tile, load - left);
        load = 0;
    }
    if spent && load == 0 { x = NOWHERE; }
    if home.born && !home.lives { x = NOWHERE; }
    let draw = mix_bits(hash_of(home) ^ (params.step * 0x85ebca6bu + 1u));
    if ((home.born && home.lives) || x != NOWHERE) && !spent && load == 0 {
        // Idle or new: another place in its home.
        let spot = spot_of(home, draw);
        x = NOWHERE;
        y = 0;
        if is_on_map(spot.x, spot.y, span) {
            x = spot.x;
            y = spot.y;
        }
    }

    if x != NOWHERE {
        vertex = vertex_of(x, y);
        atomicAdd(&add_want[vertex * i32(WANT_WORDS) + 2], 1);
        let sheltered = wind[vertex] == SHELTERED;
        let loose = (wind[vertex] & 1) == 1;
        let speed = wind[vertex] >> 1u;
        var chance = params.law.rock;
        if loose { chance = params.law.sand; }
        let rests = spent
            || (load > 0
                && (sheltered || i32(mix_bits(draw) >> 16u) < scaled(i32(chance), 131072 - speed)));
        if rests {
            want = -min((load + 3) >> 2u, WANT_MAX);
        } else if load == 0 && loose && !sheltered {
            want = min(scaled(params.law.grain, speed), WANT_MAX);
        }
        if want != 0 { propose(vertex, want); }
        if !rests && (load > 0 || want > 0) {
            let by = hop(mix_bits(draw + 0x9e3779b9u));
            let nx = x + by.x;
            let ny = y + by.y;
            if is_on_map(nx, ny, span) {
                x = nx;
                y = ny;
            } else if params.border == TORUS {
                x = around(nx, span.x);
                y = around(ny, span.y);
            } else if params.border != WALL && load > 0 {
                export_load(home.tile, load);
                load = 0;
                want = 0;
                x = NOWHERE;
            }
        }
    }
    let alive = x != NOWHERE;
    own_drop[word] = x ^ NOWHERE;
    own_drop[word + TILE_DROPS] = select(0, y, alive);
    own_drop[word + 2u * TILE_DROPS] = select(0, i32(spent), alive);
    own_drop[word + 3u * TILE_DROPS] = select(0, load, alive);
    own_drop[word + 4u * TILE_DROPS] = select(0, want, alive);
    own_drop[word + 5u * TILE_DROPS] = select(0, vertex, alive);
}

// What slides from cell i to its neighbour k, where the ground falls by `across` along the edge.
fn flux(i: i32, k: i32, across: i32) -> i32 {
    let a = height[i];
    let b = height[k];
    let low = min(a, b);
    let drop = max((max(a, b) >> 1u) - (low >> 1u) - (low & 1), 0);
    let d = u32(min(drop >> (params.law.shift & 31u), SLOPE_SEEN));
    let c = u32(min(abs(across) >> (params.law.shift & 31u), SLOPE_SEEN));
    let square = d * d + c * c;
    let steep = min(
        div_small(max(square, params.law.repose) - params.law.repose, max(square >> 15u, 1u)),
        32768u,
    );
    let most = mul_q16(drop, max(steep, params.law.creep) >> 1u);
    if a < b { return -min(most, loose_at(k) >> 2u); }
    return min(most, loose_at(i) >> 2u);
}

// How far the ground falls from one cell to another, in 2⁻¹⁵ cells.
fn fall(i: i32, k: i32) -> i32 {
    return (height[i] >> 3u) - (height[k] >> 3u);
}

@compute @workgroup_size(WORKGROUP)
fn slide(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let torus = params.border == TORUS;
    let place = place_of(i);
    let x = place.x;
    let y = place.y;
    var west = x - 1;
    var east = x + 1;
    var n = (y - 1) * params.width;
    var s = (y + 1) * params.width;
    if !is_inside(x, y, 1) {
        west = fold(x - 1, params.width, torus);
        east = fold(x + 1, params.width, torus);
        n = fold(y - 1, params.height, torus) * params.width;
        s = fold(y + 1, params.height, torus) * params.width;
    }
    let row = y * params.width;
    let south = fall(n + x, s + x);
    let across = fall(row + west, row + east);
    own_next[i] = height[i]
        + flux(row + west, row + x, fall(n + west, s + west) + south)
        - flux(row + x, row + east, south + fall(n + east, s + east))
        + flux(n + x, row + x, fall(n + west, n + east) + across)
        - flux(row + x, s + x, across + fall(s + west, s + east));
}

// The height at a place upwind of (x, y).
fn upwind(x: i32, y: i32, look: u32) -> i32 {
    let torus = params.border == TORUS;
    let i = fold(x + lee[look], params.width, torus);
    return height[fold(y + lee[look + 1u], params.height, torus) * params.width + i];
}

@compute @workgroup_size(WORKGROUP)
fn shade(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let place = place_of(i);
    let x = place.x;
    let y = place.y;
    let h = height[i];
    var word = SHELTERED;
    var open = true;
    for (var k = 0u; k < LOOKS * LOOK_WORDS; k += LOOK_WORDS) {
        if (upwind(x, y, k) >> 1u) - (h >> 1u) > lee[k + 2u] >> 1u { open = false; }
    }
    if open {
        let rise = clamp((h >> 2u) - (upwind(x, y, FACING * LOOK_WORDS) >> 2u), -262144, 262144);
        let speed = clamp(65536 + scaled(rise, params.law.lift), 0, 131072);
        word = (speed << 1u) | select(0, 1, loose_at(i32(i)) > 0);
    }
    own_wind[i] = word;
}

@compute @workgroup_size(WORKGROUP)
fn limit_sand(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    var room = loose_at(i32(i)) >> 2u;
    if params.law.hold == 1u {
        room = mul_q16(room, u32(65536 - mul_q16(clamp(vegetation[i], 0, 65536), params.roots)));
    }
    let record = i32(i) * i32(WANT_WORDS);
    let due = (max(carry[i], 0) + 3) >> 2u;
    let take = clamp(room, 0, ALLOW_MAX) >> 2u;
    let give = clamp(65536 - due, 0, ALLOW_MAX) >> 2u;
    own_grant[i] =
        shares_of(share_of(take, own_want[record]), share_of(give, own_want[record + 1]));
    own_want[record] = 0;
    own_want[record + 1] = 0;
    own_moved[i32(i) * i32(MOVED_WORDS)] = 0;
    own_moved[i32(i) * i32(MOVED_WORDS) + 1] = 0;
}
