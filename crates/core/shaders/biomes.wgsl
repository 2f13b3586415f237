// Twin of src/stage/biomes.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> points: array<i32>;
@group(0) @binding(2) var<storage, read> kinds: array<i32>;
@group(0) @binding(3) var<storage, read> buckets: array<i32>;
@group(0) @binding(4) var<storage, read> sets: array<u32>;
@group(0) @binding(5) var<storage, read> mask: array<i32>;
@group(0) @binding(6) var<storage, read> forms: array<i32>;
@group(0) @binding(7) var<storage, read> waves: array<i32>;
@group(0) @binding(8) var<storage, read> gradients: array<i32>;
@group(0) @binding(9) var<storage, read> records: array<u32>;
@group(0) @binding(10) var<storage, read> nodes: array<u32>;
@group(0) @binding(11) var<storage, read_write> own_kinds: array<i32>;
@group(0) @binding(12) var<storage, read_write> own_sets: array<u32>;
@group(0) @binding(13) var<storage, read_write> own_red: array<u32>;
@group(0) @binding(14) var<storage, read_write> own_records: array<u32>;
@group(0) @binding(15) var<storage, read_write> own_biome: array<i32>;
@group(0) @binding(16) var<storage, read_write> own_height: array<i32>;
@group(0) @binding(17) var<storage, read_write> own_hardness: array<i32>;
@group(0) @binding(18) var<storage, read_write> own_rain: array<i32>;
@group(0) @binding(19) var<storage, read_write> own_vegetation: array<i32>;
@group(0) @binding(20) var<storage, read_write> own_splat: array<u32>;
@group(0) @binding(21) var<storage, read_write> own_biome_colour: array<u32>;
@group(0) @binding(22) var<storage, read_write> own_water: array<i32>;
@group(0) @binding(23) var<storage, read> height: array<i32>;
@group(0) @binding(24) var<storage, read> before: array<i32>;
@group(0) @binding(25) var<storage, read> water: array<i32>;
@group(0) @binding(26) var<storage, read> table: array<i32>;
@group(0) @binding(27) var<storage, read_write> own_lift: array<i32>;
@group(0) @binding(28) var<storage, read_write> own_weights: array<u32>;
@group(0) @binding(29) var<storage, read_write> own_green: array<u32>;

// Products of 16 and 32 bits, and sums, as two words with the low one first.
fn wide(a: u32, b: u32) -> vec2<u32> {
    let low = a * (b & 0xffffu);
    let high = a * (b >> 16u);
    let sum = low + (high << 16u);
    return vec2<u32>(sum, (high >> 16u) + select(0u, 1u, sum < low));
}

fn plus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let sum = a.x + b.x;
    return vec2<u32>(sum, a.y + b.y + select(0u, 1u, sum < a.x));
}

fn noise(wave: u32, x: i32, y: i32) -> i32 {
    let key = vec2<u32>(u32(waves[wave]), u32(waves[wave + 1u]));
    let along = u32(waves[wave + 2u]);
    let across = u32(waves[wave + 3u]);
    let start_u = vec2<u32>(u32(waves[wave + 4u]), u32(waves[wave + 5u]));
    let start_v = vec2<u32>(u32(waves[wave + 6u]), u32(waves[wave + 7u]));
    let u = plus(plus(start_u, wide(u32(x), along)), wide(u32(y), across));
    let v = plus(plus(start_v, wide(u32(y), along)), wide(u32(x), across));
    let fu = i32(u.x >> 16u);
    let fv = i32(v.x >> 16u);
    var sum = 0;
    for (var corner = 0; corner < 4; corner += 1) {
        let a = corner & 1;
        let b = corner >> 1u;
        let du = fu - (a << 16u);
        let dv = fv - (b << 16u);
        let back = ((du + dv) * 13849) >> 16u;
        let dx = (du - back) >> 2u;
        let dy = (dv - back) >> 2u;
        let near = 134217728 - dx * dx - dy * dy;
        if near > 0 {
            let t = near >> 12u;
            let t2 = (t * t) >> 15u;
            let t4 = (t2 * t2) >> 15u;
            let at = (((hash(key, u.y + u32(a), v.y + u32(b)) >> 16u) * GRADIENTS) >> 16u) * 2u;
            sum += t4 * ((gradients[at] * dx + gradients[at + 1u] * dy) >> 14u);
        }
    }
    return clamp(((sum >> 12u) * 25558) >> 13u, -65536, 65536);
}

fn times(a: i32, n: i32) -> i32 {
    let product = mul_q16_near(a, u32(abs(n)));
    return select(product, -product, n < 0);
}

fn cell_of(i: u32) -> vec2<i32> {
    let half = (1 << (params.fraction & 31u)) >> 1u;
    let at = i * POINT_WORDS;
    return vec2<i32>(
        (points[at] + half) >> (params.fraction & 31u),
        (points[at + 1u] + half) >> (params.fraction & 31u),
    );
}

fn place_of(i: u32) -> vec2<i32> {
    let half = (1 << (params.fraction & 31u)) >> 1u;
    let at = i * POINT_WORDS;
    let x = (points[at] << (params.level & 31u)) + half;
    let y = (points[at + 1u] << (params.level & 31u)) + half;
    return vec2<i32>(x >> (params.fraction & 31u), y >> (params.fraction & 31u));
}

@compute @workgroup_size(WORKGROUP)
fn by_noise(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let cell = place_of(i);
    var highest = -2147483647 - 1;
    for (var b = 0u; b < params.biomes; b += 1u) {
        let first = u32(forms[b * FORM_WORDS + 7u]);
        let count = u32(forms[b * FORM_WORDS + 8u]);
        var value = 0;
        for (var n = 0u; n < count; n += 1u) {
            let wave = (first + n) * WAVE_WORDS;
            value += times(waves[wave + 8u], noise(wave, cell.x, cell.y));
        }
        if value > highest {
            highest = value;
            own_kinds[i] = i32(b);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn shore(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let packed = ((i32(i) / params.width) << 16u) | (i32(i) % params.width);
    let wet = height[i] < params.sea || (params.wet == 1u && mask[i] >= WET);
    own_water[i] = select(-1, packed, wet);
}

fn distance_to(nearest: i32, x: i32, y: i32) -> i32 {
    let dx = (nearest & 0xffff) - x;
    let dy = (nearest >> 16u) - y;
    return select(dx * dx + dy * dy, 2147483647, nearest < 0);
}

@compute @workgroup_size(WORKGROUP)
fn flood(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    var best = 2147483647;
    var nearest = -1;
    for (var n = 0; n < 9; n += 1) {
        let nx = x + (n % 3 - 1) * params.leap;
        let ny = y + (n / 3 - 1) * params.leap;
        if nx < 0 || ny < 0 || nx >= params.width || ny >= params.height { continue; }
        let other = before[ny * params.width + nx];
        let far = distance_to(other, x, y);
        if far < best || (far == best && other < nearest) {
            best = far;
            nearest = other;
        }
    }
    own_water[i] = nearest;
}

fn mixed(first: u32, x: i32, y: i32) -> i32 {
    var sum = 0;
    for (var n = 0u; n < params.octaves; n += 1u) {
        let wave = (first + n) * WAVE_WORDS;
        sum += times(waves[wave + 8u], noise(wave, x, y));
    }
    return clamp(sum, -65536, 65536);
}

@compute @workgroup_size(WORKGROUP)
fn by_climate(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let cell = cell_of(i);
    let place = place_of(i);
    let column = fold(cell.x - params.margin, params.width, false);
    let row = fold(cell.y - params.margin, params.height, false);
    let at = row * params.width + column;
    let above = clamp(height[at], -1073741824, 1073741824) - params.sea;
    if above < 0 && params.below >= 0 {
        own_kinds[i] = params.below;
        return;
    }
    let cold = (u32(min(abs(place.y - params.equator), params.pole)) << 16u) / u32(params.pole);
    let high =
        (min(u32(max(above, 0)) >> (params.lapse_shift & 31u), params.lapse) << 16u) / params.lapse;
    let stirred = times(params.stir, mixed(params.octaves, place.x, place.y));
    let temperature = u32(clamp(65536 - i32(cold) - i32(high) + stirred, 0, 65535));
    let far = min(isqrt(u32(distance_to(water[at], column, row))), params.inland);
    let damp = ((params.inland - far) << 16u) / params.inland;
    let rain = (mixed(0u, place.x, place.y) + 65536) >> 1u;
    let moisture = u32(clamp(lerp(rain, i32(damp), params.coast), 0, 65535));
    own_kinds[i] = table[((temperature * params.rows) >> 16u) * params.columns
        + ((moisture * params.columns) >> 16u)];
}

@compute @workgroup_size(WORKGROUP)
fn by_image(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let cell = cell_of(i);
    let y = fold(cell.y - params.margin, params.height, false);
    let x = fold(cell.x - params.margin, params.width, false);
    own_kinds[i] = min((mask[y * params.width + x] * 255 + 32768) >> 16u, i32(params.biomes) - 1);
}

fn corner_of(chunk: i32) -> vec2<i32> {
    let across = params.step << (params.bits & 31u);
    return vec2<i32>(
        params.start.x + chunk % params.chunks_across * across,
        params.start.y + chunk / params.chunks_across * across,
    );
}

fn run(corner: vec2<i32>, row: i32) -> vec2<u32> {
    let bits = params.bits;
    let far = params.reach + params.step * ((1 << (bits & 31u)) - 1);
    let y = ((corner.y - params.reach) >> (bits & 31u)) + row;
    let x = (corner.x - params.reach) >> (bits & 31u);
    let end = min((corner.x + far) >> (bits & 31u), params.buckets_across - 1) + 1;
    if y >= params.buckets_down || y > (corner.y + far) >> (bits & 31u) || x >= end {
        return vec2<u32>(0u, 0u);
    }
    let first = y * params.buckets_across;
    return vec2<u32>(u32(buckets[first + x]), u32(buckets[first + end]));
}

@compute @workgroup_size(WORKGROUP)
fn census(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let own = i * SET_WORDS;
    if params.opens == 1u {
        for (var n = 0u; n < SET_WORDS; n += 1u) { own_sets[own + n] = 0u; }
    }
    let corner = corner_of(i32(i));
    let wide_side = params.step * ((1 << (params.bits & 31u)) - 1);
    let low = vec2<i32>(corner.x << (params.fraction & 31u), corner.y << (params.fraction & 31u));
    let high = vec2<i32>(
        (corner.x + wide_side) << (params.fraction & 31u),
        (corner.y + wide_side) << (params.fraction & 31u),
    );
    for (var row = params.rows_from; row < params.rows_to; row += 1) {
        let range = run(corner, row);
        for (var n = range.x; n < range.y; n += 1u) {
            let at = vec2<i32>(points[n * POINT_WORDS], points[n * POINT_WORDS + 1u]);
            let d = max(max(low - at, at - high), vec2<i32>(0, 0));
            if u32(d.x * d.x) + u32(d.y * d.y) < params.square {
                let biome = u32(kinds[n]);
                own_sets[own + (biome >> 5u)] |= 1u << (biome & 31u);
            }
        }
    }
}

// Which of the eight biomes of a group are in a chunk's set, as bits.
fn present(chunk: u32, group: u32) -> u32 {
    let shift = (group & 3u) * 8u;
    return (sets[chunk * SET_WORDS + (group >> 2u)] >> (shift & 31u)) & 0xffu;
}

// Whether nothing is done for a chunk: the group adds nothing there. The first group's records are
// always written.
fn is_left(chunk: u32) -> bool {
    return params.sparse == 1u && params.group > 0u && present(chunk, params.group) == 0u;
}

fn is_alone(chunk: u32) -> bool {
    var count = 0u;
    for (var n = 0u; n < SET_WORDS; n += 1u) { count += countOneBits(sets[chunk * SET_WORDS + n]); }
    return params.skip == 1u && count == 1u;
}

// A record in registers.
alias Record = array<u32, 10>;

@compute @workgroup_size(WORKGROUP)
fn convolve(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let twice = 2u * params.bits;
    let chunk = u32(params.strip) + (i >> (twice & 31u));
    if is_left(chunk) { return; }
    let mine = present(chunk, params.group);
    var record = Record();
    if params.opens != 1u {
        for (var n = 0u; n < GROUP; n += 1u) { record[n] = own_records[i * RECORD_WORDS + n]; }
    }
    if is_alone(chunk) {
        for (var n = 0u; n < GROUP; n += 1u) { record[n] = ((mine >> (n & 31u)) & 1u) * 65536u; }
    } else if mine != 0u {
        let corner = corner_of(i32(chunk));
        let side = (1 << (params.bits & 31u)) - 1;
        let inside = i32(i & ((1u << (twice & 31u)) - 1u));
        let x = (corner.x + params.step * (inside & side)) << (params.fraction & 31u);
        let y =
            (corner.y + params.step * (inside >> (params.bits & 31u))) << (params.fraction & 31u);
        let half = (1u << (params.halve & 31u)) >> 1u;
        for (var row = params.rows_from; row < params.rows_to; row += 1) {
            let range = run(corner, row);
            for (var n = range.x; n < range.y; n += 1u) {
                let biome = u32(kinds[n]);
                if biome >> 3u == params.group {
                    let dx = x - points[n * POINT_WORDS];
                    let dy = y - points[n * POINT_WORDS + 1u];
                    let d = u32(dx * dx) + u32(dy * dy);
                    let t = (max(params.square, d) - d) >> (params.shorten & 31u);
                    record[biome & 7u] += (t * t + half) >> (params.halve & 31u);
                }
            }
        }
    }
    if params.closes == 1u {
        var sum = 0u;
        for (var n = 0u; n < GROUP; n += 1u) { sum += record[n]; }
        var before = 0u;
        if params.group > 0u {
            before = own_records[i * RECORD_WORDS + SO_FAR];
            record[TOTAL] = own_records[i * RECORD_WORDS + TOTAL];
        }
        if params.counts == 1u { record[TOTAL] += sum; }
        if params.weighs == 1u {
            if params.counts == 0u { record[TOTAL] = own_records[i * RECORD_WORDS + TOTAL]; }
            weigh(&record, before);
            own_records[i * RECORD_WORDS + SO_FAR] = record[SO_FAR];
        }
        own_records[i * RECORD_WORDS + TOTAL] = record[TOTAL];
    }
    for (var n = 0u; n < GROUP; n += 1u) { own_records[i * RECORD_WORDS + n] = record[n]; }
}

fn surplus(total: u32) -> u32 {
    return 8u - min(countLeadingZeros(total), 8u);
}

fn part(sum: u32, total: u32) -> u32 {
    let shift = surplus(total);
    let all = max(total >> (shift & 31u), 1u);
    let short = (sum >> (shift & 31u)) << 8u;
    return ((short / all) << 8u) + ((short % all) << 8u) / all;
}

fn weigh(record: ptr<function, Record>, before: u32) {
    var sum = 0u;
    for (var n = 0u; n < GROUP; n += 1u) { sum += (*record)[n]; }
    (*record)[SO_FAR] = before + sum;
    if sum == 0u { return; }
    let units = part(before + sum, (*record)[TOTAL]) - part(before, (*record)[TOTAL]);
    let shift = surplus(sum);
    var total = 0u;
    for (var n = 0u; n < GROUP; n += 1u) { total += (*record)[n] >> (shift & 31u); }
    var rest = array<u32, 8>();
    var left = units;
    for (var n = 0u; n < GROUP; n += 1u) {
        // The product with units has up to 41 bits: those above the lowest eight of units first,
        // then these.
        let short = (*record)[n] >> (shift & 31u);
        let high = short * (units >> 8u);
        let next = (high % total) << 8u;
        let low = short * (units & 0xffu);
        var weight = ((high / total) << 8u) + next / total + low / total;
        rest[n] = next % total + low % total;
        if rest[n] >= total {
            rest[n] -= total;
            weight += 1u;
        }
        (*record)[n] = weight;
        left -= weight;
    }
    for (var n = 0u; n < GROUP; n += 1u) {
        var heavier = 0u;
        for (var m = 0u; m < GROUP; m += 1u) {
            if rest[m] > rest[n] || (rest[m] == rest[n] && m < n) { heavier += 1u; }
        }
        if heavier < left { (*record)[n] += 1u; }
    }
}

fn node(x: i32, y: i32) -> u32 {
    let side = (1 << (params.bits & 31u)) - 1;
    let chunk = (y >> (params.bits & 31u)) * params.node_chunks_across + (x >> (params.bits & 31u));
    let twice = 2u * params.bits;
    return u32((chunk << (twice & 31u)) + ((y & side) << (params.bits & 31u)) + (x & side))
        * RECORD_WORDS;
}

@compute @workgroup_size(WORKGROUP)
fn interpolate(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let bits = params.bits;
    let twice = 2u * bits;
    let side = (1 << (bits & 31u)) - 1;
    let chunk = params.strip + i32(i >> (twice & 31u));
    let inside = i32(i & ((1u << (twice & 31u)) - 1u));
    let x = params.margin + ((chunk % params.chunks_across) << (bits & 31u)) + (inside & side)
        - params.node_start.x;
    let y =
        params.margin + ((chunk / params.chunks_across) << (bits & 31u)) + (inside >> (bits & 31u))
            - params.node_start.y;
    let fx = x % params.interval;
    let fy = y % params.interval;
    var record = Record();
    var before = 0u;
    for (var c = 0; c < 4; c += 1) {
        let at = node(x / params.interval + (c & 1), y / params.interval + (c >> 1u));
        let share = u32(select(params.interval - fx, fx, (c & 1) == 1)
            * select(params.interval - fy, fy, c > 1));
        before += part(nodes[at + SO_FAR], nodes[at + TOTAL]) * share;
        for (var n = 0u; n < GROUP; n += 1u) {
            before -= nodes[at + n] * share;
            record[n] += nodes[at + n] * share;
        }
    }
    record[TOTAL] = u32(params.interval * params.interval) << 16u;
    weigh(&record, before);
    for (var n = 0u; n < RECORD_WORDS; n += 1u) { own_records[i * RECORD_WORDS + n] = record[n]; }
}

// The record of a cell, without weights where the group has none.
fn fetch(i: u32) -> Record {
    let side = (1 << (params.bits & 31u)) - 1;
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let chunk = (y >> (params.bits & 31u)) * params.chunks_across + (x >> (params.bits & 31u));
    let twice = 2u * params.bits;
    var record = Record();
    if is_left(u32(chunk)) { return record; }
    let at = u32(((chunk - params.strip) << (twice & 31u))
        + ((y & side) << (params.bits & 31u))
        + (x & side))
        * RECORD_WORDS;
    for (var n = 0u; n < RECORD_WORDS; n += 1u) { record[n] = records[at + n]; }
    return record;
}

// Whether this pass is about the last group of biomes.
fn ends() -> bool {
    return params.group == (params.biomes - 1u) / GROUP;
}

@compute @workgroup_size(WORKGROUP)
fn dominate(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    var record = fetch(i);
    var best = 255u;
    if params.group > 0u { best = u32(own_biome[i]); }
    for (var n = 0u; n < GROUP; n += 1u) {
        if record[n] > 0u {
            best = max(best, (record[n] << 8u) | (255u - (params.group * GROUP + n)));
        }
    }
    own_biome[i] = i32(select(best, 255u - (best & 255u), ends()));
}

@compute @workgroup_size(WORKGROUP)
fn paint(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    var record = fetch(i);
    var sum = vec3<u32>(0x8000u, 0x8000u, 0x8000u);
    if params.group > 0u { sum = vec3<u32>(own_red[i], own_green[i], own_biome_colour[i]); }
    for (var n = 0u; n < GROUP; n += 1u) {
        if record[n] > 0u {
            let colour = u32(forms[(params.group * GROUP + n) * FORM_WORDS + 9u]);
            sum += vec3<u32>(colour >> 16u, (colour >> 8u) & 0xffu, colour & 0xffu) * record[n];
        }
    }
    own_red[i] = sum.x;
    own_green[i] = sum.y;
    own_biome_colour[i] =
        select(sum.z, (sum.x & 0xffff0000u) | ((sum.y >> 16u) << 8u) | (sum.z >> 16u), ends());
}

fn height_of(biome: u32, x: i32, y: i32) -> i32 {
    let form = biome * FORM_WORDS;
    let shape = forms[form];
    let first = u32(forms[form + 2u]) * WAVE_WORDS;
    var height = forms[form + 1u];
    if shape == DUNES {
        let ridge = 65536 - abs(noise(first, x, y));
        let swell = (65536 + noise(first + WAVE_WORDS, x, y)) >> 1u;
        return height + mul_q16_near(mul_q16_near(waves[first + 8u], u32(ridge)), u32(swell));
    }
    for (var n = 0u; n < u32(forms[form + 3u]); n += 1u) {
        let wave = first + n * WAVE_WORDS;
        var value = noise(wave, x, y);
        if shape == RIDGED { value = 65536 - abs(value); }
        height += times(waves[wave + 8u], value);
    }
    return height;
}

@compute @workgroup_size(WORKGROUP)
fn raise(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    var record = fetch(i);
    let x = (params.margin + i32(i) % params.width) << (params.level & 31u);
    let y = (params.margin + i32(i) / params.width) << (params.level & 31u);
    var sum = 0;
    if params.group > 0u { sum = own_lift[i]; }
    for (var n = 0u; n < GROUP; n += 1u) {
        if record[n] > 0u {
            sum += mul_q16_near(height_of(params.group * GROUP + n, x, y), record[n]);
        }
    }
    own_lift[i] = sum;
    if ends() {
        if params.heights == ADD { sum = add_within(own_height[i], sum); }
        own_height[i] = height_within(sum);
    }
}

// What the biomes of a group give a layer.
fn assigned(i: u32, value: u32) -> i32 {
    var record = fetch(i);
    var sum = 0;
    for (var n = 0u; n < GROUP; n += 1u) {
        if record[n] > 0u {
            sum += mul_q16(forms[(params.group * GROUP + n) * FORM_WORDS + value], record[n]);
        }
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP)
fn assign_hardness(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_hardness[i] = assigned(i, 4u) + select(0, own_hardness[i], params.group > 0u);
}

@compute @workgroup_size(WORKGROUP)
fn assign_rain(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_rain[i] = assigned(i, 5u) + select(0, own_rain[i], params.group > 0u);
}

@compute @workgroup_size(WORKGROUP)
fn assign_vegetation(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_vegetation[i] = assigned(i, 6u) + select(0, own_vegetation[i], params.group > 0u);
}

fn bound(weights: u32) -> u32 {
    return (weights * 255u + 0x8000u) >> 16u;
}

@compute @workgroup_size(WORKGROUP)
fn texture(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let cells = u32(params.width * params.height);
    var record = fetch(i % cells);
    let after = part(record[SO_FAR], record[TOTAL]);
    var before = after;
    for (var n = 0u; n < GROUP; n += 1u) { before -= record[n]; }
    var left = bound(after) - bound(before);
    for (var n = 0u; n < GROUP; n += 1u) { left -= (record[n] * 255u) >> 16u; }
    var word = 0u;
    for (var n = 0u; n < GROUP; n += 1u) {
        if n >> 2u != ((i / cells) & 1u) || record[n] == 0u { continue; }
        let scaled = record[n] * 255u;
        let rest = scaled & 0xffffu;
        var heavier = 0u;
        for (var m = 0u; m < GROUP; m += 1u) {
            let other = (record[m] * 255u) & 0xffffu;
            if other > rest || (other == rest && m < n && other > 0u) { heavier += 1u; }
        }
        let shift = (n & 3u) * 8u;
        word |= ((scaled >> 16u) + select(0u, 1u, heavier < left)) << (shift & 31u);
    }
    own_splat[i] = word;
}

@compute @workgroup_size(WORKGROUP)
fn list(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let cells = u32(params.width * params.height);
    var record = fetch(i % cells);
    let pair = ((i / cells) & 3u) * 2u;
    own_weights[i] = min(record[pair], 65535u) | (min(record[pair + 1u], 65535u) << 16u);
}
