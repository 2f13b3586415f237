// Twin of src/stage/snowballs.rs, which states the rule. Goes after stepper.wgsl.

fn at(column: i32, row: i32) -> i32 {
    return height[row * params.width + column] >> 2u;
}

fn steep(a: i32, b: i32) -> i32 {
    return clamp(b - a, -917504, 917504) >> 1u;
}

fn feel(x: i32, y: i32) -> vec2<i32> {
    let torus = params.border == TORUS;
    let x0 = x >> 16u;
    let y0 = y >> 16u;
    let fx = u32(x & 0xffff);
    let fy = u32(y & 0xffff);
    let c = vec4<i32>(
        fold(x0 - 1, params.width, torus),
        fold(x0, params.width, torus),
        fold(x0 + 1, params.width, torus),
        fold(x0 + 2, params.width, torus),
    );
    let r = vec4<i32>(
        fold(y0 - 1, params.height, torus),
        fold(y0, params.height, torus),
        fold(y0 + 1, params.height, torus),
        fold(y0 + 2, params.height, torus),
    );
    let across_top = lerp(steep(at(c.x, r.y), at(c.z, r.y)), steep(at(c.y, r.y), at(c.w, r.y)), fx);
    let across_low = lerp(steep(at(c.x, r.z), at(c.z, r.z)), steep(at(c.y, r.z), at(c.w, r.z)), fx);
    let along_left = lerp(steep(at(c.y, r.x), at(c.y, r.z)), steep(at(c.y, r.y), at(c.y, r.w)), fy);
    let along_right =
        lerp(steep(at(c.z, r.x), at(c.z, r.z)), steep(at(c.z, r.y), at(c.z, r.w)), fy);
    return vec2<i32>(lerp(across_top, across_low, fy), lerp(along_left, along_right, fx));
}

// 1 − n_y of the normal, in 2⁻¹⁶.
fn tilt_of(gx: i32, gy: i32) -> u32 {
    let square = u32(gx * gx + gy * gy);
    let root = isqrt(square + 0x1000000u);
    return square / ((root * (4096u + root)) >> 16u);
}

fn pace(v: i32, g: i32, up: u32) -> i32 {
    let gain = mul_q16(mul_q16(-g << 4u, up), u32(params.law.speed));
    return clamp(mul_q16(v, params.law.friction) + gain, -params.law.fastest, params.law.fastest);
}

@compute @workgroup_size(WORKGROUP)
fn roll(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let home = home_of(i);
    if !exists(home) { return; }
    let word = first_word(i);

    var x = own_drop[word] ^ NOWHERE;
    if x == NOWHERE && !home.born { return; }
    var y = own_drop[word + TILE_DROPS] & 0x7fffffff;
    var spent = own_drop[word + TILE_DROPS] < 0;
    let packed = own_drop[word + 2u * TILE_DROPS];
    var v = vec2<i32>((packed << 16u) >> 16u, packed >> 16u);
    var load = own_drop[word + 3u * TILE_DROPS];
    var want = own_drop[word + 4u * TILE_DROPS];
    var vertex = own_drop[word + 5u * TILE_DROPS];
    let spot = spot_of(home, home.life);
    let span = span_of_map();

    // Settle what was granted of the last proposal. Then deaths and births.
    if spent {
        let amount = min(granted(vertex, want), load);
        atomicAdd(&add_moved[vertex * i32(MOVED_WORDS)], -amount);
        load -= amount;
    } else if want != 0 {
        load += wash_out(home.tile, settle_granted(vertex, want, load));
    }
    want = 0;
    if x != NOWHERE && home.dies {
        if params.law.left >= 0 {
            spent = true;
        } else {
            lose_load(home.tile, load);
            load = 0;
            x = NOWHERE;
        }
    }
    // A spent one leaves behind what it has when the next one is due. In the last step there is no
    // time left to lay it down.
    let last = (params.flags & LAST) != 0u;
    if spent && (home.born || last) && load > 0 {
        let left = select(min(load, params.law.left), 0, last);
        atomicAdd(&add_moved[vertex_of(x, y) * i32(MOVED_WORDS)], -left);
        lose_load(home.tile, load - left);
        load = 0;
    }
    if spent && load == 0 {
        x = NOWHERE;
        spent = false;
    }
    if home.born && home.lives && is_on_map(spot.x, spot.y, span) && is_rained_on(spot) {
        x = spot.x;
        y = spot.y;
        v = vec2<i32>(0, 0);
    }

    if x != NOWHERE && !spent {
        let wet = height[vertex_of(x, y)] < params.sea;
        // It changes the ground where it was before this step.
        var back = vec2<i32>(x - (v.x << 5u), y - (v.y << 5u));
        if params.border == TORUS {
            back = vec2<i32>(around(back.x, span.x), around(back.y, span.y));
        }
        vertex = vertex_of(back.x, back.y);
        atomicAdd(&add_want[vertex * i32(WANT_WORDS) + 2], 1);
        let draw = mix_bits((u32(spot.z) + home.world.x * 0x9e3779b9u) ^ home.world.y);
        let ox = mul_q16(2 * params.law.offset, draw & 0xffffu) - params.law.offset;
        let oy = mul_q16(2 * params.law.offset, draw >> 16u) - params.law.offset;
        let felt = feel(x + ox, y + oy);
        let g = vec2<i32>(felt.x >> 4u, felt.y >> 4u);
        if wet && load == 0 {
            x = NOWHERE;
        } else if g.x == 0 && g.y == 0 && !wet {
            if params.law.left >= 0 {
                spent = true;
            } else {
                lose_load(home.tile, load);
                load = 0;
                x = NOWHERE;
            }
        } else {
            let tilt = tilt_of(g.x, g.y);
            let up = 65536u - tilt;
            let quick = min(home.age * params.law.quicken, 65536u);
            let room = max(LOAD_MAX - load, 0) >> 2u;
            var take = min(mul_q16(mul_q16(params.law.erosion, tilt), quick), room);
            var give = mul_q16(mul_q16(load >> 2u, params.law.deposition), up);
            if wet {
                take = 0;
                give = max(give, (load + 15) >> 4u);
            }
            want = clamp(take - give, -WANT_MAX, WANT_MAX);
            v = vec2<i32>(pace(v.x, g.x, up), pace(v.y, g.y, up)) / select(1, 2, wet);
            propose(vertex, want);
            let nx = x + (v.x << 5u);
            let ny = y + (v.y << 5u);
            if is_on_map(nx, ny, span) {
                x = nx;
                y = ny;
            } else if params.border == TORUS {
                x = around(nx, span.x);
                y = around(ny, span.y);
            } else if params.border == WALL {
                v = vec2<i32>(0, 0);
            } else {
                export_load(home.tile, load);
                x = NOWHERE;
            }
        }
    }
    if spent && load == 0 {
        x = NOWHERE;
        spent = false;
    }
    if spent {
        v = vec2<i32>(0, 0);
        vertex = vertex_of(x, y);
        want = -min((load + 3) >> 2u, WANT_MAX);
        propose(vertex, want);
    }
    let alive = x != NOWHERE;
    own_drop[word] = x ^ NOWHERE;
    own_drop[word + TILE_DROPS] = select(0, y | (i32(spent) << 31u), alive);
    own_drop[word + 2u * TILE_DROPS] = select(0, (v.x & 0xffff) | (v.y << 16u), alive);
    own_drop[word + 3u * TILE_DROPS] = select(0, load, alive);
    own_drop[word + 4u * TILE_DROPS] = select(0, want, alive);
    own_drop[word + 5u * TILE_DROPS] = select(0, vertex, alive);
}
