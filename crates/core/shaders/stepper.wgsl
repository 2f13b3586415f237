// Twin of src/stage/stepper, which states the rule. Goes before the shader of each particle law,
// which has `struct Law` and `DROP_WORDS`.

// Taps of the brush to each side, where the pipeline knows them. Otherwise it is `params.radius`.
override TAPS: i32 = -1;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read> grant: array<i32>;
@group(0) @binding(3) var<storage, read> moved: array<i32>;
@group(0) @binding(4) var<storage, read> brush: array<i32>;
@group(0) @binding(5) var<storage, read> want: array<i32>;
@group(0) @binding(6) var<storage, read> rain: array<i32>;
@group(0) @binding(7) var<storage, read> hardness: array<i32>;
@group(0) @binding(8) var<storage, read> vegetation: array<i32>;
@group(0) @binding(9) var<storage, read> ledger: array<i32>;
@group(0) @binding(10) var<storage, read> soft: array<i32>;
@group(0) @binding(11) var<storage, read> before: array<i32>;
@group(0) @binding(12) var<storage, read> delta: array<i32>;
@group(0) @binding(13) var<storage, read_write> own_drop: array<i32>;
@group(0) @binding(14) var<storage, read_write> own_height: array<i32>;
@group(0) @binding(15) var<storage, read_write> own_grant: array<i32>;
@group(0) @binding(16) var<storage, read_write> own_want: array<i32>;
@group(0) @binding(17) var<storage, read_write> own_moved: array<i32>;
@group(0) @binding(18) var<storage, read_write> own_soft: array<i32>;
@group(0) @binding(19) var<storage, read_write> own_before: array<i32>;
@group(0) @binding(20) var<storage, read_write> own_delta: array<i32>;
@group(0) @binding(21) var<storage, read_write> own_smoothed: array<i32>;
@group(0) @binding(22) var<storage, read_write> add_moved: array<atomic<i32>>;
@group(0) @binding(23) var<storage, read_write> add_want: array<atomic<i32>>;
@group(0) @binding(24) var<storage, read_write> add_exported: array<atomic<i32>>;
@group(0) @binding(25) var<storage, read> carry: array<i32>;
@group(0) @binding(26) var<storage, read_write> own_next: array<i32>;
@group(0) @binding(27) var<storage, read_write> own_carried: array<i32>;
@group(0) @binding(28) var<storage, read_write> add_spilled: array<atomic<i32>>;
@group(0) @binding(29) var<storage, read> passed: array<i32>;
@group(0) @binding(30) var<storage, read_write> own_exported: array<i32>;
@group(0) @binding(31) var<storage, read_write> own_banked: array<i32>;

fn row_phase(hy: u32) -> u32 {
    return mix_bits(hy ^ params.key.y);
}

fn phase(row: u32, hx: u32) -> u32 {
    return (((row + hx * 0x9e3779b9u) >> 16u) * params.lifetime) >> 16u;
}

// The home of a particle in a step, and where in its life the particle is.
struct Home {
    tile: u32,
    // Column and row among the homes of the map.
    place: vec2<u32>,
    // World index.
    world: vec2<u32>,
    age: u32,
    life: u32,
    // Whether this step is the last of its life.
    dies: bool,
    // Whether its next life is due in this step.
    born: bool,
    // Whether it lives that life, if it starts on the map and rain falls there.
    lives: bool,
}

// Whether a home is among those whose particle lives the last life: those without a first one, and
// a share of the others.
fn lives_last(world: vec2<u32>) -> bool {
    let number = world.x * 0xc13fa9a9u + world.y * 0x91e10da5u;
    let late = phase(row_phase(world.y), world.x) == params.lifetime - 1u;
    return late || number + mix_bits(params.key.x ^ params.last_life) <= params.last_share;
}

fn home_of(i: u32) -> Home {
    let tile = i / TILE_DROPS;
    let inner = i % TILE_DROPS;
    let place = vec2<u32>(
        tile % params.tiles_wide * TILE + inner % TILE,
        tile / params.tiles_wide * TILE + inner / TILE,
    );
    let world = params.home + place;
    var age = params.step_rest + phase(row_phase(world.y), world.x);
    var life = params.step_life;
    if age >= params.lifetime {
        age -= params.lifetime;
        life += 1u;
    }
    let dies = age == params.lifetime - 1u;
    let born = params.rains == 1u && (age == 0u || params.step == 0u) && !dies;
    let lives = life != params.last_life || lives_last(world);
    return Home(tile, place, world, age, life, dies, born, lives);
}

// Whether the map has this home. The last tiles have places for homes that it does not have.
fn exists(home: Home) -> bool {
    return home.place.x < params.homes.x && home.place.y < params.homes.y;
}

// The first word of the particle of invocation i. Its next words follow at a distance of
// TILE_DROPS.
fn first_word(i: u32) -> u32 {
    return i / TILE_DROPS * TILE_DROPS * DROP_WORDS + i % TILE_DROPS;
}

fn hash_of(home: Home) -> u32 {
    return hash(params.key, home.world.x, home.world.y);
}

// Where the map ends, in 2⁻¹⁶ cells.
fn span_of_map() -> vec2<i32> {
    let last = select(1, 0, params.border == TORUS);
    return vec2<i32>((params.width - last) << 16u, (params.height - last) << 16u);
}

fn is_on_map(x: i32, y: i32, span: vec2<i32>) -> bool {
    return u32(x) < u32(span.x) && u32(y) < u32(span.y);
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

// A random place in a home, and 16 random bits to compare with the rain.
fn spot_of(home: Home, life: u32) -> vec3<i32> {
    let spot = mix_bits(hash_of(home) + life * 0x9e3779b9u);
    return vec3<i32>(
        ((params.corner.x + i32(home.place.x * params.block)) << 16u)
            + i32((spot & 0xffffu) * params.block),
        ((params.corner.y + i32(home.place.y * params.block)) << 16u)
            + i32((spot >> 16u) * params.block),
        i32(mix_bits(spot + 0x85ebca6bu) >> 16u),
    );
}

fn is_rained_on(spot: vec3<i32>) -> bool {
    if (params.flags & RAIN) == 0u { return true; }
    return spot.z < rain[(spot.y >> 16u) * params.width + (spot.x >> 16u)];
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

fn corners(x: i32, y: i32) -> vec4<i32> {
    let x0 = x >> 16u;
    let y0 = y >> 16u;
    // Only on the torus can there be a point beyond the last column or row.
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

// Takes a coordinate back to the torus from any distance: the map may be narrower than a step.
fn around(x: i32, span: i32) -> i32 {
    return ((x % span) + span) % span;
}

// What is granted of a proposal to a vertex, in height units and not negative.
fn granted(at: i32, want: i32) -> i32 {
    let shares = u32(grant[at]);
    return mul_q16(
        abs(want) << 2u,
        (select(shares, shares >> 14u, want < 0) & (2u * WHOLE - 1u)) << 3u,
    );
}

// Books what is granted of a proposal, of which no more than `most` is given. Returns the change of
// the load.
fn settle_granted(at: i32, want: i32, most: i32) -> i32 {
    let amount = granted(at, want);
    if want >= 0 {
        atomicAdd(&add_moved[at * i32(MOVED_WORDS)], amount);
        return amount;
    }
    let given = min(amount, most);
    atomicAdd(&add_moved[at * i32(MOVED_WORDS) + 1], given);
    return -given;
}

// Adds a proposal, rounded up and shortened, to what is wanted of a vertex.
fn propose(at: i32, want: i32) {
    let shift = params.want_shift;
    let shortened = (abs(want) + (1 << (shift & 31u)) - 1) >> (shift & 31u);
    atomicAdd(&add_want[at * i32(WANT_WORDS) + select(0, 1, want < 0)], shortened);
}

// Exports the part of what a particle has taken that leaves the land at once. Returns what is left.
fn wash_out(tile: u32, taken: i32) -> i32 {
    if params.wash == 0u { return taken; }
    let washed = mul_q16(max(taken, 0), params.wash);
    export_load(tile, washed);
    return taken - washed;
}

// Counts a load as carried over the border, by the tile of its particle.
fn export_load(tile: u32, load: i32) {
    atomicAdd(&add_exported[tile * 4u], load & 0xfff);
    atomicAdd(&add_exported[tile * 4u + 1u], load >> 12u);
}

// Counts a load as lost on the map, by the tile of its particle.
fn lose_load(tile: u32, load: i32) {
    atomicAdd(&add_exported[tile * 4u + 2u], load & 0xfff);
    atomicAdd(&add_exported[tile * 4u + 3u], load >> 12u);
}

fn spread(g: i32, dx: i32, dy: i32) -> i32 {
    let part = g * 7;
    if dx == 0 && dy == 0 { return g - ((part >> 7u) << 2u) - ((part >> 6u) << 2u); }
    if dx == 0 || dy == 0 { return part >> 6u; }
    return part >> 7u;
}

fn binomial(n: i32, dx: i32, dy: i32) -> i32 {
    if dx == 0 && dy == 0 { return n - ((n >> 4u) << 2u) - ((n >> 3u) << 2u); }
    if dx == 0 || dy == 0 { return n >> 3u; }
    return n >> 4u;
}

// The drop from `high` to `low` in whole 2⁻¹⁶ cells, rounded down.
fn drop_between(high: i32, low: i32) -> i32 {
    return max((high >> 1u) - ((low + 1) >> 1u), 0) >> 1u;
}

// Column and row of a vertex.
fn place_of(i: u32) -> vec2<i32> {
    let width = u32(params.width);
    let row = i / width;
    return vec2<i32>(i32(i - row * width), i32(row));
}

// Whether there are `reach` vertices on each side of a vertex, so that nothing folds.
fn is_inside(x: i32, y: i32, reach: i32) -> bool {
    return min(x, y) >= reach && x + reach < params.width && y + reach < params.height;
}

// The lowest and highest of three vertices in a row.
fn range_in_row(i: i32) -> vec2<i32> {
    let a = height[i - 1];
    let b = height[i];
    let c = height[i + 1];
    return vec2<i32>(min(min(a, b), c), max(max(a, b), c));
}

// The lowest and highest of 3 × 3 vertices round one inside.
fn range_inside(i: i32) -> vec2<i32> {
    let north = range_in_row(i - params.width);
    let here = range_in_row(i);
    let south = range_in_row(i + params.width);
    return vec2<i32>(min(min(north.x, here.x), south.x), max(max(north.y, here.y), south.y));
}

// The same anywhere.
fn range_round(x: i32, y: i32) -> vec2<i32> {
    if is_inside(x, y, 1) { return range_inside(y * params.width + x); }
    let torus = params.border == TORUS;
    var range = vec2<i32>(2147483647, -2147483647 - 1);
    for (var dy = -1; dy <= 1; dy += 1) {
        let row = fold(y + dy, params.height, torus) * params.width;
        for (var dx = -1; dx <= 1; dx += 1) {
            let n = height[row + fold(x + dx, params.width, torus)];
            range = vec2<i32>(min(range.x, n), max(range.y, n));
        }
    }
    return range;
}

fn is_rim(x: i32, y: i32) -> bool {
    return params.border == OPEN
        && (x == 0 || y == 0 || x == params.width - 1 || y == params.height - 1);
}

// How far a vertex of height `h` may fall and rise in this step, 2⁻¹⁶ cells, where the lowest and
// highest round it are `range`.
fn room_of(h: i32, range: vec2<i32>, rim: bool) -> vec2<i32> {
    let fall = min(mul_q16(drop_between(h, max(range.x, params.floor)), params.limit), ROOM_MAX);
    if rim { return vec2<i32>(fall, RIM); }
    let rise = min(mul_q16(drop_between(range.y, h), params.limit), ROOM_MAX);
    let slack = min(SLACK - drop_between(h, range.x) - 2, drop_between(HEIGHT_END, h));
    return vec2<i32>(fall, max(rise, slack));
}

// The loose sediment on a vertex now: the ledger's thickness, and the change of height since its
// last entry.
fn loose_at(i: i32) -> i32 {
    let record = u32(i) * LEDGER_WORDS;
    return max(ledger[record + 1u] + (height[i] - ledger[record]), 0);
}

fn room_of_sand(i: i32) -> vec2<i32> {
    return vec2<i32>(loose_at(i) >> 2u, min(drop_between(HEIGHT_END, height[i]), 65536));
}

// By how much of `wish` a vertex of height `h` changes.
fn change_of(wish: i32, h: i32, room: vec2<i32>) -> i32 {
    if (params.flags & LAST) == 0u {
        return max(min(wish, max(room.y, 0) << 2u), -(room.x << 2u));
    }
    let up = select(max(room.y << 2u, CRUMB), 0, room.y == RIM);
    let down = min(max(room.x << 2u, CRUMB), min(drop_between(h, params.floor), ROOM_MAX) << 2u);
    return max(min(wish, up), -down);
}

// What a rim cannot hold leaves the map.
fn spill(x: i32, y: i32, amount: i32) {
    var place = 2 * params.width + params.height + y;
    if x == 0 { place = 2 * params.width + y; }
    if y == params.height - 1 { place = params.width + x; }
    if y == 0 { place = x; }
    atomicAdd(&add_spilled[2 * place], amount & 0xfff);
    atomicAdd(&add_spilled[2 * place + 1], amount >> 12u);
}

// In the last step, what a vertex still carries is lost.
fn close(x: i32, y: i32, amount: i32) {
    let place = y * ((params.width - 1) / i32(PART) + 1) + x / i32(PART);
    let at = 4 * (params.width + params.height) + 1 + 2 * place;
    atomicAdd(&add_spilled[at], amount & 0xfff);
    atomicAdd(&add_spilled[at + 1], amount >> 12u);
}

// The part of its carry that a vertex passes on to each neighbour: an eighth, cut towards zero.
fn share_carried(i: i32) -> i32 {
    let carried = carry[i];
    return (carried + ((carried >> 31u) & 7)) >> 3u;
}

fn low_part(a: i32, weight: u32) -> i32 {
    return i32((u32(a & 0xffff) * weight) >> 16u);
}

// The sum of `mul_q16` of what was taken at four vertices. The high parts of the products have the
// weight in common.
fn taken_at(i: i32, j: i32, k: i32, l: i32, weight: u32) -> i32 {
    let a = moved[i * i32(MOVED_WORDS)];
    let b = moved[j * i32(MOVED_WORDS)];
    let c = moved[k * i32(MOVED_WORDS)];
    let d = moved[l * i32(MOVED_WORDS)];
    return ((a >> 16u) + (b >> 16u) + (c >> 16u) + (d >> 16u)) * i32(weight)
        + low_part(a, weight) + low_part(b, weight) + low_part(c, weight) + low_part(d, weight);
}

// The weight of the brush at a distance. It is the same in eight directions.
fn weight_at(dx: i32, dy: i32, r: i32) -> u32 {
    return u32(brush[(r + dy) * (2 * r + 1) + r + dx]) & 0xffffu;
}

// What a vertex inside loses by what was taken at the eight along the axes and the diagonals, `a`
// columns or rows away.
fn lose_to_ring(i: i32, here: i32, a: i32, r: i32) -> i32 {
    let row = a * params.width;
    let beside = weight_at(a, 0, r);
    let across = weight_at(a, a, r);
    return taken_at(i - a, i + a, i - row, i + row, beside)
        + taken_at(i - row - a, i - row + a, i + row - a, i + row + a, across)
        - ((mul_q16(here, beside) + mul_q16(here, across)) << 2u);
}

// The same by the eight that are `a` away along one axis and `b` along the other.
fn lose_to_eight(i: i32, here: i32, a: i32, b: i32, r: i32) -> i32 {
    let weight = weight_at(a, b, r);
    let flat = b * params.width;
    let steep = a * params.width;
    return taken_at(i - flat - a, i - flat + a, i + flat - a, i + flat + a, weight)
        + taken_at(i - steep - b, i - steep + b, i + steep - b, i + steep + b, weight)
        - (mul_q16(here, weight) << 3u);
}

// What a vertex inside loses by what was taken round it, less what the others have of its own.
fn lose_inside(i: i32, here: i32) -> i32 {
    if TAPS == 2 {
        return lose_to_ring(i, here, 1, 2)
            + lose_to_ring(i, here, 2, 2)
            + lose_to_eight(i, here, 2, 1, 2);
    }
    let r = params.radius;
    var loss = 0;
    for (var a = 1; a <= r; a += 1) {
        loss += lose_to_ring(i, here, a, r);
        for (var b = 1; b < a; b += 1) { loss += lose_to_eight(i, here, a, b, r); }
    }
    return loss;
}

fn given_at(i: i32) -> i32 {
    return moved[i * i32(MOVED_WORDS) + 1] * 7;
}

// What a vertex inside gains by what was given on 3 × 3 vertices, and by what its neighbours pass
// on.
fn gain_inside(i: i32) -> i32 {
    let n = i - params.width;
    let s = i + params.width;
    return spread(moved[i * i32(MOVED_WORDS) + 1], 0, 0)
        + (given_at(n) >> 6u)
        + (given_at(s) >> 6u)
        + (given_at(i - 1) >> 6u)
        + (given_at(i + 1) >> 6u)
        + (given_at(n - 1) >> 7u)
        + (given_at(n + 1) >> 7u)
        + (given_at(s - 1) >> 7u)
        + (given_at(s + 1) >> 7u)
        + share_carried(n - 1)
        + share_carried(n)
        + share_carried(n + 1)
        + share_carried(i - 1)
        + share_carried(i)
        + share_carried(i + 1)
        + share_carried(s - 1)
        + share_carried(s)
        + share_carried(s + 1);
}

// The same as `gain_inside` less `lose_inside`, near the border.
fn gain_folded(x: i32, y: i32, here: i32) -> i32 {
    let torus = params.border == TORUS;
    let r = params.radius;
    var wish = 0;
    var tap = 0;
    for (var dy = -r; dy <= r; dy += 1) {
        let row = fold(y + dy, params.height, torus) * params.width;
        for (var dx = -r; dx <= r; dx += 1) {
            let weight = u32(brush[tap]);
            tap += 1;
            let near = row + fold(x + dx, params.width, torus);
            let taken = moved[near * i32(MOVED_WORDS)];
            wish -= mul_q16(taken, weight) - mul_q16(here, weight);
        }
    }
    for (var dy = -1; dy <= 1; dy += 1) {
        let row = fold(y + dy, params.height, torus) * params.width;
        for (var dx = -1; dx <= 1; dx += 1) {
            let near = row + fold(x + dx, params.width, torus);
            wish += spread(moved[near * i32(MOVED_WORDS) + 1], dx, dy) + carry[near] / 8;
        }
    }
    return wish;
}

@compute @workgroup_size(WORKGROUP)
fn settle(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let place = place_of(i);
    let x = place.x;
    let y = place.y;
    let here = moved[i32(i) * i32(MOVED_WORDS)];
    var wish = carry[i] - share_carried(i32(i)) * 9 - here;
    var range = vec2<i32>(0, 0);
    var rim = false;
    if is_inside(x, y, max(params.radius, 1)) {
        wish += gain_inside(i32(i)) - lose_inside(i32(i), here);
        range = range_inside(i32(i));
    } else {
        wish += gain_folded(x, y, here);
        range = range_round(x, y);
        rim = is_rim(x, y);
    }
    if wish < -OVERRUN || wish >= OVERRUN {
        atomicAdd(&add_spilled[4 * (params.width + params.height)], 1);
    }
    let h = height[i];
    var change = 0;
    var rest = 0;
    if (params.flags & SAND) != 0u {
        change = change_of(wish, h, room_of_sand(i32(i)));
        rest = wish - change;
    } else {
        change = change_of(wish, h, room_of(h, range, rim));
        rest = wish - change;
        if rim && rest > 0 {
            spill(x, y, rest);
            rest = 0;
        }
    }
    if (params.flags & LAST) != 0u && rest != 0 {
        close(x, y, rest);
        rest = 0;
    }
    own_next[i] = h + change;
    own_carried[i] = rest;
}

// How much a vertex may be asked to lose and to gain, 2⁻¹⁴ cells.
fn allowed(room: vec2<i32>, carried: i32) -> vec2<i32> {
    let owed = min(carried, 0) >> 2u;
    let due = (max(carried, 0) + 3) >> 2u;
    let least = select(SLACK, ALLOW_MAX, (params.flags & EBB) != 0u);
    return vec2<i32>(
        clamp(room.x + owed, 0, ALLOW_MAX) >> 2u,
        clamp(max(room.y, least) - due, 0, ALLOW_MAX) >> 2u,
    );
}

// The share of `want` that is granted where `allow` may be moved, in 2⁻¹³.
fn share_of(allow: i32, want: i32) -> u32 {
    let shift = params.want_shift - 2u;
    if want <= allow >> (shift & 31u) { return WHOLE; }
    return div_small((u32(allow) << 13u) >> (shift & 31u), u32(max(want, 1)));
}

// The shares of what is to be taken and given: a word of `grant`, where all streams are alike.
fn shares_of(taken: u32, given: u32) -> i32 {
    return i32(taken | (given << 14u));
}

// The class of a stream by its count, where it is in a word of `grant`.
fn class_of(passages: i32) -> i32 {
    let count = max(u32(passages), 2u);
    let octave = 31u - countLeadingZeros(count);
    let half = octave - 1u;
    let number = 2u * octave + ((count >> (half & 31u)) & 1u);
    return i32(min(number - min(number, params.stream), STREAMS - 1u) << 28u);
}

// How much is taken at most where `want` is wanted.
fn asked_of(allow: i32, want: i32) -> i32 {
    let shift = params.want_shift - 2u;
    if want <= allow >> (shift & 31u) { return want << (shift & 31u); }
    return allow;
}

// The erodibility of a vertex when `asked` is taken from it, in 2⁻¹⁵. Loose sediment is taken
// first.
fn erodibility(i: u32, asked: i32) -> u32 {
    var rock = SOFTEST;
    var loose = SOFTEST;
    if (params.flags & SOFT) != 0u {
        let word = u32(soft[i]);
        rock = word & 0xffffu;
        loose = word >> 16u;
    }
    if (params.flags & SEDIMENT) == 0u { return rock; }
    let thick = ledger[i * LEDGER_WORDS + 1u] >> 4u;
    if thick >= asked { return loose; }
    let part = div_small(u32(thick) << 15u, u32(asked));
    return (loose * part + rock * (SOFTEST - part)) >> 15u;
}

@compute @workgroup_size(WORKGROUP)
fn limit(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let record = i32(i) * i32(WANT_WORDS);
    own_moved[i32(i) * i32(MOVED_WORDS)] = 0;
    own_moved[i32(i) * i32(MOVED_WORDS) + 1] = 0;
    if (own_want[record] | own_want[record + 1]) == 0 { return; }
    let place = place_of(i);
    let allow = allowed(room_of(height[i], range_round(place.x, place.y), false), carry[i]);
    var taken = share_of(allow.x, own_want[record]);
    if (params.flags & (SOFT | SEDIMENT)) != 0u {
        taken = (taken * erodibility(i, asked_of(allow.x, own_want[record]))) >> 15u;
    }
    own_grant[i] =
        shares_of(taken, share_of(allow.y, own_want[record + 1])) | class_of(own_want[record + 2]);
    own_want[record] = 0;
    own_want[record + 1] = 0;
}

@compute @workgroup_size(WORKGROUP)
fn soften(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    var hard = 0;
    var held = 0;
    if arrayLength(&hardness) > 1u { hard = clamp(hardness[i], 0, 65536); }
    if arrayLength(&vegetation) > 1u { held = clamp(vegetation[i], 0, 65536); }
    let loose = 65536 - mul_q16(held, params.roots);
    let rock = mul_q16(mul_q16(loose, u32(65536 - hard)), params.bedrock);
    own_soft[i] = i32((u32(rock) >> 1u) | ((u32(loose) >> 1u) << 16u));
}

@compute @workgroup_size(WORKGROUP)
fn remember(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_before[i] = height[i];
}

@compute @workgroup_size(WORKGROUP)
fn differ(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_delta[i] = sub_within(height[i], before[i]);
}

@compute @workgroup_size(WORKGROUP)
fn smoothen(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let place = place_of(i);
    let x = place.x;
    let y = place.y;
    if is_inside(x, y, 1) {
        let at = i32(i);
        let n = at - params.width;
        let s = at + params.width;
        own_smoothed[i] = binomial(delta[at], 0, 0)
            + (delta[n] >> 3u)
            + (delta[s] >> 3u)
            + (delta[at - 1] >> 3u)
            + (delta[at + 1] >> 3u)
            + (delta[n - 1] >> 4u)
            + (delta[n + 1] >> 4u)
            + (delta[s - 1] >> 4u)
            + (delta[s + 1] >> 4u);
        return;
    }
    let torus = params.border == TORUS;
    var sum = 0;
    for (var dy = -1; dy <= 1; dy += 1) {
        let row = fold(y + dy, params.height, torus) * params.width;
        for (var dx = -1; dx <= 1; dx += 1) {
            sum += binomial(delta[row + fold(x + dx, params.width, torus)], dx, dy);
        }
    }
    own_smoothed[i] = sum;
}

@compute @workgroup_size(WORKGROUP)
fn apply(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_height[i] = height_within(add_within(before[i], delta[i]));
}

// Puts away what the particles of a tile have exported.
@compute @workgroup_size(WORKGROUP)
fn bank(invocation: Invocation) {
    let tile = index_of(invocation);
    if tile >= dispatch.end { return; }
    let low = u32(own_exported[tile * 4u]);
    let rest = own_exported[tile * 4u + 1u];
    let once = u32(own_banked[tile * 2u]) + low;
    let twice = once + (u32(rest) << 12u);
    let carried = select(0, 1, once < low) + select(0, 1, twice < once);
    own_banked[tile * 2u] = i32(twice);
    own_banked[tile * 2u + 1u] += (rest >> 20u) + carried;
    own_exported[tile * 4u] = 0;
    own_exported[tile * 4u + 1u] = 0;
}

@compute @workgroup_size(WORKGROUP)
fn recall(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_grant[i] = passed[i];
}

@compute @workgroup_size(WORKGROUP)
fn begin(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let passed = own_grant[i];
    own_want[i32(i) * i32(WANT_WORDS) + 2] = passed;
    own_grant[i] = class_of(passed);
}

@compute @workgroup_size(WORKGROUP)
fn tally(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_grant[i] = want[i32(i) * i32(WANT_WORDS) + 2];
}
