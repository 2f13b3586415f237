// Twin of src/stage/strokes.rs, which states the rule. noise.wgsl goes before it.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> strokes: array<i32>;
@group(0) @binding(2) var<storage, read> pieces: array<i32>;
@group(0) @binding(3) var<storage, read> lists: array<i32>;
@group(0) @binding(4) var<storage, read> height: array<i32>;
@group(0) @binding(5) var<storage, read> soft: array<i32>;
@group(0) @binding(6) var<storage, read_write> own_height: array<i32>;
@group(0) @binding(7) var<storage, read_write> own_rain: array<i32>;
@group(0) @binding(8) var<storage, read_write> own_hardness: array<i32>;
@group(0) @binding(9) var<storage, read_write> own_vegetation: array<i32>;
@group(0) @binding(10) var<storage, read_write> own_soft: array<i32>;
@group(0) @binding(11) var<storage, read_write> own_softer: array<i32>;
@group(0) @binding(12) var<storage, read> pictures: array<i32>;
@group(0) @binding(13) var<storage, read_write> own_uplift: array<i32>;

fn fade(stroke: u32, d2: i32) -> i32 {
    let over = u32(max(d2 - strokes[stroke + 5u], 0)) >> 9u;
    let rest = 65536u - min((over << 16u) / u32(strokes[stroke + 6u]), 65536u);
    return mul_q16(i32(rest), rest);
}

// So many cells times the samples to a cell, which stand at `at`.
fn times(cells: i32, at: u32) -> i32 {
    return cells * pieces[at] + mul_q16(cells, u32(pieces[at + 1u]));
}

fn from_middle(stroke: u32, at: i32, last: i32) -> i32 {
    let d = i32(u32(abs(2 * at - (last << 16u))) / u32(16 * last));
    return fade(stroke, d * d);
}

fn line(first: u32, part: u32) -> i32 {
    return lerp(pictures[first], pictures[first + 1u], part);
}

fn stamp(piece: u32, stroke: u32, x: i32, y: i32) -> vec3<i32> {
    let dx = x - pieces[piece + 1u];
    let dy = y - pieces[piece + 2u];
    let far = pieces[piece + 6u];
    if abs(dx) > far || abs(dy) > far { return vec3<i32>(0, 0, 2147483647); }
    let u = times(dx, piece + 7u) + times(dy, piece + 9u) + pieces[piece + 3u];
    let v = times(dy, piece + 7u) - times(dx, piece + 9u) + pieces[piece + 4u];
    let width = strokes[stroke + 12u];
    let right = width - 1;
    let bottom = strokes[stroke + 13u] - 1;
    if u < 0 || v < 0 || u > (right << 16u) || v > (bottom << 16u) {
        return vec3<i32>(0, 0, 2147483647);
    }
    let both = mul_q16(from_middle(stroke, u, right), u32(from_middle(stroke, v, bottom)));
    let column = min(u >> 16u, right - 1);
    let row = min(v >> 16u, bottom - 1);
    let fx = u32(u - (column << 16u));
    let first = u32(strokes[stroke + 11u] + row * width + column);
    let height_there = lerp(line(first, fx), line(first + u32(width), fx), u32(v - (row << 16u)));
    return vec3<i32>(mul_q16(both, u32(pieces[piece + 11u])), height_there, 0);
}

fn weight(piece: u32, stroke: u32, x: i32, y: i32) -> vec3<i32> {
    let dx = x - pieces[piece + 1u];
    let dy = y - pieces[piece + 2u];
    let far = pieces[piece + 6u];
    if abs(dx) > far || abs(dy) > far { return vec3<i32>(0, 0, 2147483647); }
    let px = ((dx * pieces[piece + 5u]) >> 16u) - pieces[piece + 3u];
    let py = ((dy * pieces[piece + 5u]) >> 16u) - pieces[piece + 4u];
    let along =
        clamp((px * pieces[piece + 7u] + py * pieces[piece + 8u]) >> 14u, 0, pieces[piece + 9u]);
    let rx = px - ((along * pieces[piece + 7u] + 8192) >> 14u);
    let ry = py - ((along * pieces[piece + 8u] + 8192) >> 14u);
    let d2 = rx * rx + ry * ry;
    if d2 >= 16777216 { return vec3<i32>(0, 0, 2147483647); }
    let t = u32((along * pieces[piece + 10u]) >> 10u);
    let pressure = lerp(pieces[piece + 11u], pieces[piece + 12u], t);
    let here = mul_q16(fade(stroke, d2), u32(pressure));
    return vec3<i32>(here, lerp(pieces[piece + 13u], pieces[piece + 14u], t), d2);
}

fn towards(start: i32, end: i32, w: i32) -> i32 {
    return mul_q16(start, u32(65536 - w)) - mul_q16(-end, u32(w));
}

// What a lake makes of a height, where its picture has `share`.
fn lake(stroke: u32, share: i32, value: i32) -> i32 {
    let far = share - 32768;
    if far >= 0 && u32(strokes[stroke]) == LIP { return value; }
    if far >= 0 {
        let rest = u32(65536 - min(2 * far, 65536));
        let part = u32(65536 - mul_q16(i32(rest), rest));
        return add_within(strokes[stroke + 2u], -mul_q16(strokes[stroke + 1u], part));
    }
    let u = ((2u * u32(-far)) << 15u) / max(u32(strokes[stroke + 4u]), 1u);
    let rest = 32768u - min(u, 32768u);
    let w = (((rest * rest) >> 15u) * (98304u - 2u * rest)) >> 14u;
    let shore = towards(value, strokes[stroke + 2u], i32(w));
    let rim = add_within(strokes[stroke + 3u], mul_q16(strokes[stroke + 15u], 2u * u32(-far)));
    if far >= -strokes[stroke + 14u] { return max(shore, rim); }
    return shore;
}

fn drawn(stroke: u32, best: vec3<i32>, value: i32, x: i32, y: i32) -> i32 {
    let tool = u32(strokes[stroke]);
    var made = 0;
    if tool == FLATTEN {
        let goal = towards(strokes[stroke + 2u], strokes[stroke + 3u], best.y);
        made = towards(value, goal, mul_q16(strokes[stroke + 4u], u32(best.x)));
    } else if tool == PRESS {
        let goal = strokes[stroke + 2u] + mul_q16(strokes[stroke + 1u], u32(best.y));
        made = towards(value, goal, mul_q16(strokes[stroke + 4u], u32(best.x)));
    } else if tool == STAMP {
        made = add_within(value, mul_q16(mul_q16(strokes[stroke + 1u], u32(best.y)), u32(best.x)));
    } else if tool == LAKE || tool == LIP {
        made = lake(stroke, best.y, value);
    } else if tool == BED {
        made = min(value, towards(strokes[stroke + 2u], strokes[stroke + 3u], best.y));
    } else if tool == BANK {
        let bed = towards(strokes[stroke + 2u], strokes[stroke + 3u], best.y);
        made = max(value, add_within(bed, strokes[stroke + 1u]));
    } else {
        var by = mul_q16(strokes[stroke + 1u], u32(best.x));
        if tool == NOISE {
            let n = noise(u32(strokes[stroke + 9u]), u32(strokes[stroke + 10u]), params.step, x, y);
            by = (mul_q16(by, u32(n)) - (by >> 1u)) * 2;
        }
        made = add_within(value, by);
    }
    return clamp(made, strokes[stroke + 7u], strokes[stroke + 8u]);
}

// The list of a cell's square: its first word and the word after its last.
fn list_of(x: i32, y: i32) -> vec2<u32> {
    let square =
        params.lists + (u32(y) >> (TILE_BITS & 31u)) * params.tiles + (u32(x) >> (TILE_BITS & 31u));
    return vec2<u32>(u32(lists[square]), u32(lists[square + 1u]));
}

// The largest weight of the pieces that belong to the stroke of the first of them, and how many
// they are.
struct Best {
    stroke: u32,
    weight: vec3<i32>,
    after: u32,
}

fn best_of(first: u32, end: u32, x: i32, y: i32) -> Best {
    let own = pieces[u32(lists[first])];
    let tool = u32(strokes[own]);
    if tool >= STAMP && tool <= LIP {
        return Best(u32(own), stamp(u32(lists[first]), u32(own), x, y), first + 1u);
    }
    var best = vec3<i32>(0, 0, 2147483647);
    var at = first;
    while at < end {
        let piece = u32(lists[at]);
        if pieces[piece] != own { break; }
        let here = weight(piece, u32(own), x, y);
        if here.x > best.x || (here.x == best.x && here.z < best.z) { best = here; }
        at += 1u;
    }
    return Best(u32(own), best, at);
}

fn painted(i: u32, start: i32) -> i32 {
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let list = list_of(x, y);
    var value = start;
    var at = list.x;
    while at < list.y {
        let best = best_of(at, list.y, x, y);
        if best.weight.x > 0 { value = drawn(best.stroke, best.weight, value, x, y); }
        at = best.after;
    }
    return value;
}

@compute @workgroup_size(WORKGROUP)
fn paint_height(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_height[i] = painted(i, own_height[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_rain(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_rain[i] = painted(i, own_rain[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_hardness(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_hardness[i] = painted(i, own_hardness[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_vegetation(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_vegetation[i] = painted(i, own_vegetation[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_uplift(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_uplift[i] = painted(i, own_uplift[i]);
}

@compute @workgroup_size(WORKGROUP)
fn lift(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_soft[i] = height[i];
}

@compute @workgroup_size(WORKGROUP)
fn soften(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let here = soft[i];
    var sum = here - ((here >> 3u) << 2u) - ((here >> 4u) << 2u);
    for (var dy = -1; dy <= 1; dy += 1) {
        for (var dx = -1; dx <= 1; dx += 1) {
            let row = fold(y + dy * params.apart, params.height, false) * params.width;
            let h = soft[row + fold(x + dx * params.apart, params.width, false)];
            if dx != 0 && dy != 0 {
                sum += h >> 4u;
            } else if dx != 0 || dy != 0 {
                sum += h >> 3u;
            }
        }
    }
    own_softer[i] = sum;
}

@compute @workgroup_size(WORKGROUP)
fn blend(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let list = list_of(x, y);
    if list.x == list.y { return; }
    // A smoothing stroke is alone in its pass.
    let best = best_of(list.x, list.y, x, y);
    if best.weight.x > 0 {
        own_height[i] =
            towards(own_height[i], soft[i], mul_q16(strokes[best.stroke + 4u], u32(best.weight.x)));
    }
}
