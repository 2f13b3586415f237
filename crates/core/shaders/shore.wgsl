// Twin of src/stage/shore.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read> mask: array<i32>;
@group(0) @binding(3) var<storage, read> near: array<i32>;
@group(0) @binding(4) var<storage, read> found: array<i32>;
@group(0) @binding(5) var<storage, read_write> own_near: array<i32>;
@group(0) @binding(6) var<storage, read_write> own_spare: array<i32>;
@group(0) @binding(7) var<storage, read_write> own_coast: array<i32>;
@group(0) @binding(8) var<storage, read_write> own_beach: array<i32>;

fn is_land(at: i32) -> bool {
    if params.masked == 1u { return mask[at] >= 32768; }
    return height[at] >= params.sea;
}

@compute @workgroup_size(WORKGROUP)
fn mark(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let cell = i32(at);
    let x = cell % params.width;
    let y = cell / params.width;
    var coast = false;
    if is_land(cell) {
        if x > 0 { coast = !is_land(cell - 1); }
        if x + 1 < params.width { coast = coast || !is_land(cell + 1); }
        if y > 0 { coast = coast || !is_land(cell - params.width); }
        if y + 1 < params.height { coast = coast || !is_land(cell + params.width); }
    }
    own_near[at] = select(-1, y, coast);
}

@compute @workgroup_size(WORKGROUP)
fn fall(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let x = i32(at) % params.width;
    let y = i32(at) / params.width;
    var best = 2147483647;
    var row = -1;
    for (var n = -1; n < 2; n += 1) {
        let from_row = y + n * params.step;
        if from_row < 0 || from_row >= params.height { continue; }
        let other = near[from_row * params.width + x];
        let far = abs(other - y);
        if other >= 0 && (far < best || (far == best && other < row)) {
            best = far;
            row = other;
        }
    }
    own_spare[at] = row;
}

@compute @workgroup_size(WORKGROUP)
fn spread(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let x = i32(at) % params.width;
    let y = i32(at) / params.width;
    if params.coarse > 0 && x % params.coarse == 0 {
        own_spare[at] = found[at];
        return;
    }
    if x % params.step != 0 {
        own_spare[at] = -1;
        return;
    }
    var low = max(x - params.within, 0);
    var high = min(x + params.within, params.width - 1);
    if params.coarse > 0 {
        let west = x - params.step;
        let east = x + params.step;
        let before = found[i32(at) - params.step];
        low = max(low, select(west + params.within + 1, before, before >= 0));
        if east < params.width {
            let after = found[i32(at) + params.step];
            high = min(high, select(east - params.within - 1, after, after >= 0));
        }
    }
    var best = 2147483647;
    var row = -1;
    var column = -1;
    for (var u = low; u <= high; u += 1) {
        let other = near[y * params.width + u];
        if other < 0 { continue; }
        let far = (u - x) * (u - x) + (other - y) * (other - y);
        if far < best || (far == best && other < row) {
            best = far;
            row = other;
            column = u;
        }
    }
    own_spare[at] = column;
}

// How far apart two heights are. The difference may have 32 bits.
fn between(a: i32, b: i32) -> u32 {
    return u32(max(a, b)) - u32(min(a, b));
}

fn share(value: u32, limit: u32) -> u32 {
    var shift = 0u;
    if limit >= 16777216u { shift = log2_floor(limit) - 23u; }
    let most = limit >> (shift & 31u);
    if most == 0u { return 0u; }
    return min(2u * (128u - (min(value, limit) >> (shift & 31u)) * 128u / most), 128u);
}

@compute @workgroup_size(WORKGROUP)
fn measure(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let cell = i32(at);
    let x = cell % params.width;
    let y = cell / params.width;
    own_coast[at] = NOWHERE;
    own_beach[at] = 0;
    let column = found[at];
    if column < 0 { return; }
    let east = column - x;
    let south = near[y * params.width + column] - y;
    let square = east * east + south * south;
    if square > params.within * params.within { return; }
    own_coast[at] = (south << 16u) | (east & 0xffff);
    if !is_land(cell) { return; }
    let here = height[at];
    var steepest = 0u;
    if x > 0 { steepest = between(here, height[cell - 1]); }
    if x + 1 < params.width { steepest = max(steepest, between(here, height[cell + 1])); }
    if y > 0 { steepest = max(steepest, between(here, height[cell - params.width])); }
    if y + 1 < params.height {
        steepest = max(steepest, between(here, height[cell + params.width]));
    }
    let above = between(max(here, params.sea), params.sea);
    own_beach[at] = i32((share(u32(square), params.wide)
        * share(above, params.high)
        * share(steepest, params.steep))
        >> 5u);
}
