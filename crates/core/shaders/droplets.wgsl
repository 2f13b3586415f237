// Twin of src/stage/droplets.rs, which states the rule. Goes after stepper.wgsl.

@group(0) @binding(40) var<storage, read> water: array<i32>;

fn turn(u: i32, g: i32) -> i32 {
    return mul_q16_near(u << 2u, params.law.inertia) - mul_q16_near(g, 65536u - params.law.inertia);
}

// Proposal and new speed. It is `wet` where it has come below the sea.
fn weigh(d: i32, wet: bool, load: i32, fast: i32, age: u32, stream: u32) -> vec2<i32> {
    let speed = select(fast, fast >> 1u, wet);
    let carry =
        min((u32(water[2u * age]) * u32(water[2u * params.lifetime + stream])) >> 8u, CARRY_MAX);
    let lay = max(u32(water[2u * age + 1u]), select(0u, u32(SEA_LAY), wet));
    let drop = clamp(-d, 0, DROP_MAX);
    let steep = max(drop, params.law.slope_min);
    let capacity =
        min(mul_q16(mul_q16(steep << 8u, carry), u32(speed)) << 2u, LOAD_MAX >> 2u) << 2u;
    let room = capacity - load;
    let take = min(mul_q16(max(room, 0), params.law.erosion), drop << 2u);
    let over = max(-room, 0);
    // Rounded up in the sea.
    let crumb = select(0, 3, wet && over > 0);
    let surplus = mul_q16(over + crumb, lay) + crumb;
    let fill = min(load, clamp(d, 0, DROP_MAX) << 2u);
    var want = min(take >> 2u, WANT_MAX) - min(surplus >> 2u, WANT_MAX);
    if d >= 0 { want = -min(fill >> 2u, WANT_MAX); }
    if wet { want = -min(surplus >> 2u, WANT_MAX); }
    let energy = speed * speed - select(clamp(d, -DROP_MAX, DROP_MAX), 0, wet) * params.law.gravity;
    return vec2<i32>(want, i32(isqrt(u32(clamp(energy, 0, SPEED_MAX * SPEED_MAX)))));
}

// The part of a heading along an axis: turned round where it leads off the map, and none on a map
// too narrow for both.
fn turned_back(x: i32, heading: i32, span: i32) -> i32 {
    if u32(x + (heading << 2u)) < u32(span) { return heading; }
    if u32(x - (heading << 2u)) < u32(span) { return -heading; }
    return 0;
}

@compute @workgroup_size(WORKGROUP)
fn drops(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let home = home_of(i);
    if !exists(home) { return; }
    let word = first_word(i);

    var x = own_drop[word] ^ NOWHERE;
    var y = own_drop[word + TILE_DROPS] & 0x7fffffff;
    var spent = own_drop[word + TILE_DROPS] < 0;
    var packed = own_drop[word + 2u * TILE_DROPS];
    var heading = vec2<i32>((packed << 16u) >> 16u, packed >> 16u);
    var load = own_drop[word + 3u * TILE_DROPS] & LOAD_MASK;
    let upper = own_drop[word + 3u * TILE_DROPS] >> 24u;
    packed = own_drop[word + 4u * TILE_DROPS];
    var fills = packed < 0;
    var speed = (packed >> 16u) & SPEED_MAX;
    var want = (upper << 16u) | (packed & 0xffff);

    let span = span_of_map();

    // Where it was a step ago, and the stream there.
    var before = vec2<i32>(x - (heading.x << 2u), y - (heading.y << 2u));
    if params.border == TORUS {
        before = vec2<i32>(wrap(before.x, span.x), wrap(before.y, span.y));
    }
    let at = vertex_of(before.x, before.y);
    var stream = 0u;
    if x != NOWHERE { stream = u32(grant[at]) >> 28u; }

    // Settle what was granted of the last proposal. Then deaths and births.
    if x != NOWHERE && want != 0 {
        var amount = granted(at, want);
        if want > 0 {
            load += wash_out(home.tile, amount);
            atomicAdd(&add_moved[at * i32(MOVED_WORDS)], amount);
        } else {
            amount = min(amount, load);
            load -= amount;
            if fills {
                atomicAdd(&add_moved[at * i32(MOVED_WORDS) + 1], amount);
            } else {
                atomicAdd(&add_moved[at * i32(MOVED_WORDS)], -amount);
            }
        }
        want = 0;
    }
    if home.dies { spent = x != NOWHERE; }
    // In the last step there is no time left to lay a load down.
    let last = (params.flags & LAST) != 0u;
    if (home.born || last) && load > 0 {
        let left = select(min(load, LEFT_MAX / (2 * i32(params.lifetime) + 5)), 0, last);
        atomicAdd(&add_moved[vertex_of(x, y) * i32(MOVED_WORDS)], -left);
        lose_load(home.tile, load - left);
        load = 0;
    }
    if home.born {
        let spot = spot_of(home, home.life);
        if home.lives && is_on_map(spot.x, spot.y, span) && is_rained_on(spot) {
            x = spot.x;
            y = spot.y;
            heading = vec2<i32>(0, 0);
            speed = 1024;
            spent = false;
            stream = u32(grant[vertex_of(x, y)]) >> 28u;
        }
    }
    if spent && load == 0 {
        x = NOWHERE;
        spent = false;
    }

    if spent {
        heading = vec2<i32>(0, 0);
        speed = 0;
        fills = false;
        want = -min((load + 3) >> 2u, WANT_MAX);
        propose(vertex_of(x, y), want);
    } else if x != NOWHERE {
        let old = vertex_of(x, y);
        var corner = corners(x, y);
        let fx = u32(x & 0xffff);
        let fy = u32(y & 0xffff);
        let h = height_at(corner, fx, fy);
        let g = gradient(corner, fx, fy);
        var wish = vec2<i32>(turn(heading.x, g.x), turn(heading.y, g.y));
        if wish.x == 0 && wish.y == 0 {
            wish = wander(hash_of(home));
        }
        heading = unit(wish.x, wish.y);
        var nx = x + (heading.x << 2u);
        var ny = y + (heading.y << 2u);
        atomicAdd(&add_want[old * i32(WANT_WORDS) + 2], 1);
        if !is_on_map(nx, ny, span) {
            if params.border == TORUS {
                nx = wrap(nx, span.x);
                ny = wrap(ny, span.y);
            } else if params.border == WALL {
                nx = x;
                ny = y;
                heading = vec2<i32>(0, 0);
            } else if params.border == HIGH {
                heading = vec2<i32>(
                    turned_back(x, heading.x, span.x),
                    turned_back(y, heading.y, span.y),
                );
                nx = x + (heading.x << 2u);
                ny = y + (heading.y << 2u);
            } else {
                export_load(home.tile, load);
                nx = NOWHERE;
            }
        }
        x = nx;
        y = ny;
        if x != NOWHERE {
            corner = corners(x, y);
            let there = height_at(corner, u32(x & 0xffff), u32(y & 0xffff));
            let d = there - h;
            let sea = params.sea >> 2u;
            let wet = there < sea;
            let wish_and_speed = weigh(d, wet, load, speed, home.age, stream);
            want = wish_and_speed.x;
            fills = d >= 0 && !wet;
            speed = wish_and_speed.y;
            if want != 0 { propose(old, want); }
            // An empty droplet in the sea is gone.
            if wet && load == 0 { x = NOWHERE; }
        }
    }
    let alive = x != NOWHERE;
    own_drop[word] = x ^ NOWHERE;
    own_drop[word + TILE_DROPS] = select(0, y | (i32(spent) << 31u), alive);
    own_drop[word + 2u * TILE_DROPS] = select(0, (heading.x & 0xffff) | (heading.y << 16u), alive);
    own_drop[word + 3u * TILE_DROPS] = select(0, load | ((want >> 16u) << 24u), alive);
    own_drop[word + 4u * TILE_DROPS] =
        select(0, (i32(fills) << 31u) | (speed << 16u) | (want & 0xffff), alive);
}
