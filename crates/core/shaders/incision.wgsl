// Twin of src/stage/incision.rs, which states the rule.

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

// By how much fresh ground is higher than the coarser level says, `depth` under water.
fn roughness_at(at: vec2<i32>, h: i32, depth: i32) -> i32 {
    if keeps(at) || h < params.sea { return 0; }
    let die = hash(params.key, params.origin.x + u32(at.x), params.origin.y + u32(at.y));
    let signed = i32(die >> 16u) - 32768;
    let ground = ground_around(at);
    let slope = u32(h - min(h, min(lowest(ground.sides), lowest(ground.diagonals))));
    let dry = mul_q16(params.rough, u32(WET - clamp(depth, 0, WET)));
    let most = mul_q16(dry, clamp(slope, FLAT, STEEP));
    return mul_q16(most, u32(abs(signed))) * 2 * sign(signed);
}

// The water level of a vertex, which rose by `rise` in this step, whose height was `before` and is
// now `after`, among neighbours whose lowest level is `low`.
fn settles(at: vec2<i32>, before: i32, after: i32, low: i32, rise: i32) -> i32 {
    if before < params.sea || keeps(at) { return max(after, params.sea); }
    let above = params.least + rise;
    let runs_off = min(low, HEIGHT_END - above) + above;
    let holds = after + min(params.deepest, gap(HEIGHT_END, after));
    return max(after, min(runs_off, holds));
}

// Words of the eight neighbours of a vertex: north, south, west, east; north-west, south-east,
// north-east, south-west. Each is next to the one that lies opposite. No loop goes over them:
// drivers keep an array that a loop indexes in slow memory.
struct Around {
    sides: vec4<i32>,
    diagonals: vec4<i32>,
}

// Where the neighbours lie. −1: outside.
fn places_around(at: vec2<i32>) -> Around {
    let size = params.size;
    let here = at.y * size.x;
    if all(at > vec2<i32>(0)) && all(at < size - 1) {
        let i = here + at.x;
        return Around(
            vec4<i32>(i - size.x, i + size.x, i - 1, i + 1),
            vec4<i32>(i - size.x - 1, i + size.x + 1, i - size.x + 1, i + size.x - 1),
        );
    }
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
    let s = y.y * size.x;
    let sides = vec4<i32>(n + at.x, s + at.x, here + x.x, here + x.y);
    let diagonals = vec4<i32>(n + x.x, s + x.y, n + x.y, s + x.x);
    return Around(
        select(vec4<i32>(-1), sides, vec4<bool>(north, south, west, east)),
        select(
            vec4<i32>(-1),
            diagonals,
            vec4<bool>(north && west, south && east, north && east, south && west),
        ),
    );
}

// The water levels at these places.
fn water_at(q: vec4<i32>) -> vec4<i32> {
    let levels = vec4<i32>(surface[q.x], surface[q.y], surface[q.z], surface[q.w]);
    return select(levels, vec4<i32>(HIGHEST), q < vec4<i32>(0));
}

fn water_around(at: vec2<i32>) -> Around {
    let q = places_around(at);
    return Around(water_at(q.sides), water_at(q.diagonals));
}

fn heights_at(q: vec4<i32>) -> vec4<i32> {
    return vec4<i32>(height[q.x], height[q.y], height[q.z], height[q.w]);
}

// The heights round a vertex, or beyond the borders those of the vertices at the edge.
fn ground_around(at: vec2<i32>) -> Around {
    let size = params.size;
    var west = at.x - 1;
    var east = at.x + 1;
    var n = at.y - 1;
    var s = at.y + 1;
    if any(at == vec2<i32>(0)) || any(at == size - 1) {
        let torus = params.torus == 1u;
        west = fold(west, size.x, torus);
        east = fold(east, size.x, torus);
        n = fold(n, size.y, torus);
        s = fold(s, size.y, torus);
    }
    n *= size.x;
    s *= size.x;
    let here = at.y * size.x;
    return Around(
        heights_at(vec4<i32>(n + at.x, s + at.x, here + west, here + east)),
        heights_at(vec4<i32>(n + west, s + east, n + east, s + west)),
    );
}

fn lowest(words: vec4<i32>) -> i32 {
    return min(min(words.x, words.y), min(words.z, words.w));
}

fn highest(words: vec4<i32>) -> i32 {
    return max(max(words.x, words.y), max(words.z, words.w));
}

@compute @workgroup_size(WORKGROUP)
fn begin(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let before = height[i];
    own_next[i] = before;
    if params.continues == 1u {
        let depth = min(gap(own_surface[i], before), params.deepest);
        let after = height_within(add_within(before, roughness_at(place_of(i), before, depth)));
        own_next[i] = after;
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
    let water = water_around(at);
    let low = min(lowest(water.sides), lowest(water.diagonals));
    own_surface_next[i] = settles(at, height[i], height[i], low, 0);
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
    f = mul_q16(mul_q16(f, soft), params.length);
    if receiver >= 4 { f = mul_q16(f, DIAGONAL); }
    return 65536u - div_small(1073741824u, u32(f) + 16384u);
}

// The hardness of the stratum at a height.
fn stratum(h: i32) -> u32 {
    let number = u32(mul_q16(h, params.strata_rate) >> 16u);
    let die = mix_bits(number ^ params.strata_key) >> 16u;
    let part = (clamp(die, 24576u, 40960u) - 24576u) << 2u;
    return u32(mul_q16(i32(params.strata_hard), select(part, 32768u, params.strata_rate == 0u)));
}

// How far water falls to these levels, at most 64 cells.
fn drops_to(levels: vec4<i32>, here: i32) -> vec4<u32> {
    let drops = min(vec4<u32>(vec4<i32>(here) - levels), vec4<u32>(16777215u));
    return select(drops, vec4<u32>(0u), levels >= vec4<i32>(here));
}

// The neighbour with the larger weight, as weight and number: that which was found, or number k.
fn larger(found: vec2<u32>, weight: u32, k: u32) -> vec2<u32> {
    return select(found, vec2<u32>(weight, k), weight > found.x);
}

@compute @workgroup_size(WORKGROUP)
fn route(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = place_of(i);
    let water = water_around(at);
    let here = surface[i];
    let die = vec4<u32>(hash(params.key, params.origin.x + u32(at.x), params.origin.y + u32(at.y)));
    let side_dice = (die >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u);
    let diagonal_dice = (die >> vec4<u32>(16u, 20u, 24u, 28u)) & vec4<u32>(15u);
    let sides = drops_to(water.sides, here) * (SPREAD + side_dice);
    let diagonals =
        ((drops_to(water.diagonals, here) * 9u) >> vec4<u32>(4u)) * (SPREAD + diagonal_dice);
    var found = larger(vec2<u32>(0u, u32(STAYS)), sides.x, 0u);
    found = larger(found, sides.y, 1u);
    found = larger(found, sides.z, 2u);
    found = larger(found, sides.w, 3u);
    found = larger(found, diagonals.x, 4u);
    found = larger(found, diagonals.y, 5u);
    found = larger(found, diagonals.z, 6u);
    found = larger(found, diagonals.w, 7u);
    let to = i32(found.y);
    var soft = 65536u;
    if params.hard == 1u { soft = 65536u - u32(hardness[i]); }
    if params.rooted == 1u { soft = u32(mul_q16(i32(soft), 65536u - (u32(vegetation[i]) >> 1u))); }
    if params.strata_hard > 0u { soft = u32(mul_q16(i32(soft), 65536u - stratum(here))); }
    own_way[i] = to | i32(share_of(area[i], to, soft) << 4u);
}

// The sum with the area of the vertex at q, if its water goes to its neighbour `to`.
fn with_area(sum: u32, q: i32, to: i32) -> u32 {
    if q < 0 || (way[q] & 15) != to { return sum; }
    return min(sum + u32(area[q]), 2147483647u);
}

@compute @workgroup_size(WORKGROUP)
fn drain(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let q = places_around(place_of(i));
    var sum = u32(VERTEX);
    if params.rained == 1u { sum = u32(rain[i] * VERTEX + 32768) >> 16u; }
    sum = with_area(sum, q.sides.x, 1);
    sum = with_area(sum, q.sides.y, 0);
    sum = with_area(sum, q.sides.z, 3);
    sum = with_area(sum, q.sides.w, 2);
    sum = with_area(sum, q.diagonals.x, 5);
    sum = with_area(sum, q.diagonals.y, 4);
    sum = with_area(sum, q.diagonals.z, 7);
    sum = with_area(sum, q.diagonals.w, 6);
    own_area_next[i] = i32(sum);
}

// The water level of neighbour k, or `here` where water stays.
fn level_at(water: Around, k: i32, here: i32) -> i32 {
    var level = select(here, water.sides.x, k == 0);
    level = select(level, water.sides.y, k == 1);
    level = select(level, water.sides.z, k == 2);
    level = select(level, water.sides.w, k == 3);
    level = select(level, water.diagonals.x, k == 4);
    level = select(level, water.diagonals.y, k == 5);
    level = select(level, water.diagonals.z, k == 6);
    return select(level, water.diagonals.w, k == 7);
}

@compute @workgroup_size(WORKGROUP)
fn cut(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = place_of(i);
    let h = height[i];
    let water = water_around(at);
    let low_water = min(lowest(water.sides), lowest(water.diagonals));
    let is_base = h < params.sea || keeps(at);
    var next = h;
    if !is_base {
        let ground = ground_around(at);
        let low_side = lowest(ground.sides);
        let low_diagonal = lowest(ground.diagonals);
        let high = max(h, max(highest(ground.sides), highest(ground.diagonals)));
        let sides = dot((ground.sides >> vec4<u32>(4u)) - (h >> 4u), vec4<i32>(1));
        let diagonals = dot((ground.diagonals >> vec4<u32>(4u)) - (h >> 4u), vec4<i32>(1));
        let low = min(h, min(low_side, low_diagonal));
        let depth = gap(surface[i], h);
        if depth > params.least {
            // The sum of silt has 31 bits. Where it is full, no more is laid down.
            let silt = min(mul_q16(depth, params.silt), 2147483647 - own_silted[i]);
            next += silt;
            own_silted[i] += silt;
        } else {
            let to = way[i] & 15;
            let receiver = level_at(water, to, surface[i]);
            next -= mul_q16(gap(h, receiver), u32(way[i]) >> 4u);
        }
        var part = 65536u;
        if params.strata_hard > 0u { part -= ((params.strata_hard - stratum(h)) >> 2u) * 3u; }
        let stands = mul_q16(params.stands, part);
        let stands_diagonal = mul_q16(params.stands_diagonal, part);
        let excess = max(max(gap(h, low_side) - stands, gap(h, low_diagonal) - stands_diagonal), 0);
        next -= min(excess >> 2u, gap(next, low));
        let creep = mul_q16(sides + (diagonals >> 2u), params.creep) * 2;
        next += min(max(creep, 0), gap(high, next));
        next -= min(-min(creep, 0), gap(next, low));
        next = max(next, min(h, params.floor));
    }
    var share = 65536;
    if params.lifted == 1u { share = uplift[i]; }
    let rise = min(rises(at, h, share), gap(HEIGHT_END, next));
    next += rise;
    own_next[i] = next;
    own_surface_next[i] = settles(at, h, next, low_water, rise);
}
