// Twin of src/stage/incision.rs, which states the rule.

const VERTEX: i32 = 64;
const SPREAD: u32 = 6u;
const DIAGONAL: u32 = 46341u;
const WET: i32 = 65536;
const STAYS: i32 = 8;
const HIGHEST: i32 = 2147483647;

struct Params {
    size: vec2<i32>,
    origin: vec2<u32>,
    key: vec2<u32>,
    torus: u32,
    rained: u32,
    hard: u32,
    rooted: u32,
    lifted: u32,
    continues: u32,
    first: vec2<i32>,
    last: vec2<i32>,
    rise: i32,
    stands: i32,
    stands_diagonal: i32,
    creep: u32,
    silt: u32,
    rough: i32,
    deepest: i32,
    least: i32,
    sea: i32,
    floor: i32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read> surface: array<i32>;
@group(0) @binding(3) var<storage, read> area: array<i32>;
@group(0) @binding(4) var<storage, read> way: array<i32>;
@group(0) @binding(5) var<storage, read> rain: array<i32>;
@group(0) @binding(6) var<storage, read> hardness: array<i32>;
@group(0) @binding(7) var<storage, read> vegetation: array<i32>;
@group(0) @binding(8) var<storage, read> uplift: array<i32>;
@group(0) @binding(18) var<storage, read> power: array<i32>;
@group(0) @binding(9) var<storage, read_write> own_height: array<i32>;
@group(0) @binding(10) var<storage, read_write> own_surface: array<i32>;
@group(0) @binding(11) var<storage, read_write> own_area: array<i32>;
@group(0) @binding(12) var<storage, read_write> own_silted: array<i32>;
@group(0) @binding(13) var<storage, read_write> own_ledger: array<i32>;
@group(0) @binding(14) var<storage, read_write> own_surface_next: array<i32>;
@group(0) @binding(15) var<storage, read_write> own_way: array<i32>;
@group(0) @binding(16) var<storage, read_write> own_area_next: array<i32>;
@group(0) @binding(17) var<storage, read_write> own_next: array<i32>;

// How far a is above b, at most 8191 cells.
fn gap(a: i32, b: i32) -> i32 {
    if a <= b { return 0; }
    return i32(min(u32(a - b), 2147483647u));
}

fn place_of(i: u32) -> vec2<i32> {
    let row = i / u32(params.size.x);
    return vec2<i32>(i32(i - row * u32(params.size.x)), i32(row));
}

fn keeps(at: vec2<i32>) -> bool {
    return any(at == params.first) || any(at == params.last);
}

fn rises(at: vec2<i32>, h: i32, share: i32) -> i32 {
    if keeps(at) { return 0; }
    var rise = params.rise;
    rise = mul_q16(rise, u32(share));
    return min(rise, gap(HEIGHT_END, h));
}

fn roughness_at(at: vec2<i32>, h: i32, depth: i32) -> i32 {
    if keeps(at) || h < params.sea { return 0; }
    let die = hash(params.key, params.origin.x + u32(at.x), params.origin.y + u32(at.y));
    let signed = i32(die >> 16u) - 32768;
    let most = mul_q16(params.rough, u32(WET - clamp(depth, 0, WET)));
    return mul_q16(most, u32(abs(signed))) * 2 * sign(signed);
}

// The water level of a vertex whose height was `before` and is `after`, among neighbours whose lowest level is `low`.
fn settles(at: vec2<i32>, before: i32, after: i32, low: i32) -> i32 {
    if before < params.sea || keeps(at) { return max(after, params.sea); }
    let runs_off = min(low, HEIGHT_END - params.least) + params.least;
    let holds = after + min(params.deepest, gap(HEIGHT_END, after));
    return max(after, min(runs_off, holds));
}

// The neighbours of a vertex: the four sides, then the four diagonals, each next to the one that lies opposite. −1: outside.
fn around(at: vec2<i32>) -> array<i32, 8> {
    let size = params.size;
    var x = vec2<i32>(at.x - 1, at.x + 1);
    var y = vec2<i32>(at.y - 1, at.y + 1);
    if params.torus == 1u {
        x = (x + size.x) % size.x;
        y = (y + size.y) % size.y;
    }
    let west = x.x >= 0;
    let east = x.y < size.x;
    let north = y.x >= 0;
    let south = y.y < size.y;
    let n = y.x * size.x;
    let here = at.y * size.x;
    let s = y.y * size.x;
    return array<i32, 8>(
        select(-1, n + at.x, north),
        select(-1, s + at.x, south),
        select(-1, here + x.x, west),
        select(-1, here + x.y, east),
        select(-1, n + x.x, north && west),
        select(-1, s + x.y, south && east),
        select(-1, n + x.y, north && east),
        select(-1, s + x.x, south && west),
    );
}

// The heights round a vertex, in the same order, or beyond the borders those of the vertices at the edge.
fn ground_around(at: vec2<i32>) -> array<i32, 8> {
    let size = params.size;
    let torus = params.torus == 1u;
    let west = fold(at.x - 1, size.x, torus);
    let east = fold(at.x + 1, size.x, torus);
    let n = fold(at.y - 1, size.y, torus) * size.x;
    let here = at.y * size.x;
    let s = fold(at.y + 1, size.y, torus) * size.x;
    return array<i32, 8>(
        height[n + at.x],
        height[s + at.x],
        height[here + west],
        height[here + east],
        height[n + west],
        height[s + east],
        height[n + east],
        height[s + west],
    );
}

fn water_at(q: i32) -> i32 {
    if q < 0 { return HIGHEST; }
    return surface[q];
}

@compute @workgroup_size(WORKGROUP)
fn begin(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let before = own_height[i];
    if params.continues == 1u {
        let depth = min(gap(own_surface[i], before), params.deepest);
        let after = height_within(before + roughness_at(place_of(i), before, depth));
        own_height[i] = after;
        own_surface[i] = after + min(depth, gap(HEIGHT_END, after));
        own_area[i] = max(own_area[i], VERTEX);
    } else {
        own_surface[i] = before + min(params.deepest, gap(HEIGHT_END, before));
        own_area[i] = VERTEX;
    }
    own_silted[i] = 0;
}

@compute @workgroup_size(WORKGROUP)
fn begin_ledger(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let h = height[i];
    let rough = roughness_at(place_of(i), h, min(gap(surface[i], h), params.deepest));
    let at = i * LEDGER_WORDS;
    own_ledger[at] = height_within(add_within(own_ledger[at], rough));
}

@compute @workgroup_size(WORKGROUP)
fn raise_ledger(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    var share = 65536;
    if params.lifted == 1u { share = uplift[i]; }
    let at = i * LEDGER_WORDS;
    own_ledger[at] = add_within(own_ledger[at], rises(place_of(i), height[i], share));
}

@compute @workgroup_size(WORKGROUP)
fn count(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_way[i] = area[i] / VERTEX;
}

@compute @workgroup_size(WORKGROUP)
fn fall(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = place_of(i);
    let q = around(at);
    var low = HIGHEST;
    for (var k = 0; k < 8; k += 1) { low = min(low, water_at(q[k])); }
    own_surface_next[i] = settles(at, height[i], height[i], low);
}

// The part of its drop that a vertex is cut by in a step, 2⁻¹⁶.
fn share_of(words: i32, receiver: i32, soft: u32) -> u32 {
    let is_large = words >= 16777216;
    let seen = u32(select(max(words, 1), words >> 8u, is_large));
    let octave = firstLeadingBit(seen);
    let up = 23u - octave;
    let fraction = ((seen << (up & 31u)) & 0x7fffffu) >> 7u;
    let n = octave + select(0u, 8u, is_large);
    let low = power[n & 31u];
    var f = low + mul_q16(power[(n + 1u) & 31u] - low, fraction);
    f = mul_q16(f, soft);
    if receiver >= 4 { f = mul_q16(f, DIAGONAL); }
    return 65536u - div_small(1073741824u, u32(f) + 16384u);
}

@compute @workgroup_size(WORKGROUP)
fn route(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = place_of(i);
    let q = around(at);
    let here = surface[i];
    let die = hash(params.key, params.origin.x + u32(at.x), params.origin.y + u32(at.y));
    var best = 0u;
    var to = STAYS;
    for (var k = 0; k < 8; k += 1) {
        var drop = min(u32(gap(here, water_at(q[k]))), 16777215u);
        if k >= 4 { drop = (drop * 5u) >> 3u; }
        let bits = u32(4 * k);
        let weight = drop * (SPREAD + ((die >> (bits & 31u)) & 15u));
        if weight > best {
            best = weight;
            to = k;
        }
    }
    var soft = 65536u;
    if params.hard == 1u { soft = 65536u - u32(hardness[i]); }
    if params.rooted == 1u { soft = u32(mul_q16(i32(soft), 65536u - (u32(vegetation[i]) >> 1u))); }
    own_way[i] = to | i32(share_of(area[i], to, soft) << 4u);
}

@compute @workgroup_size(WORKGROUP)
fn drain(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let q = around(place_of(i));
    var sum = u32(VERTEX);
    if params.rained == 1u { sum = u32(rain[i] * VERTEX + 32768) >> 16u; }
    for (var k = 0; k < 8; k += 1) {
        if q[k] >= 0 && (way[q[k]] & 15) == (k ^ 1) {
            sum = min(sum + u32(area[q[k]]), 2147483647u);
        }
    }
    own_area_next[i] = i32(sum);
}

@compute @workgroup_size(WORKGROUP)
fn cut(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = place_of(i);
    let q = around(at);
    let h = height[i];
    let ground = ground_around(at);
    let to = way[i] & 15;
    var low_water = HIGHEST;
    var receiver = surface[i];
    for (var k = 0; k < 8; k += 1) {
        let level = water_at(q[k]);
        low_water = min(low_water, level);
        if k == to { receiver = level; }
    }
    let is_base = h < params.sea || keeps(at);
    var next = h;
    if !is_base {
        var low_side = HIGHEST;
        var low_diagonal = HIGHEST;
        var high = h;
        var sides = 0;
        var diagonals = 0;
        let one = h >> 4u;
        for (var k = 0; k < 4; k += 1) {
            low_side = min(low_side, ground[k]);
            low_diagonal = min(low_diagonal, ground[k + 4]);
            high = max(high, max(ground[k], ground[k + 4]));
            sides += (ground[k] >> 4u) - one;
            diagonals += (ground[k + 4] >> 4u) - one;
        }
        let low = min(h, min(low_side, low_diagonal));
        let depth = gap(surface[i], h);
        if depth > params.least {
            let silt = mul_q16(depth, params.silt);
            next += silt;
            own_silted[i] = add_within(own_silted[i], silt);
        } else {
            next -= mul_q16(gap(h, receiver), u32(way[i]) >> 4u);
        }
        let excess = max(max(gap(h, low_side) - params.stands, gap(h, low_diagonal) - params.stands_diagonal), 0);
        next -= min(excess >> 2u, gap(next, low));
        let creep = mul_q16(sides + (diagonals >> 2u), params.creep) * 2;
        next += min(max(creep, 0), gap(high, next));
        next -= min(-min(creep, 0), gap(next, low));
        next = max(next, min(h, params.floor));
    }
    var share = 65536;
    if params.lifted == 1u { share = uplift[i]; }
    next += min(rises(at, h, share), gap(HEIGHT_END, next));
    own_next[i] = next;
    own_surface_next[i] = settles(at, h, next, low_water);
}
