// Twin of src/stage/diamond_square.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> coarse: array<i32>;
@group(0) @binding(2) var<storage, read_write> own_height: array<i32>;

fn remainder(low: u32, high: u32, prime: u32, wrap: u32) -> u32 {
    let r = low % prime + high * wrap;
    return min(r, r - prime);
}

fn rand_from_pair(x0: u32, y0: u32) -> u32 {
    var x = x0;
    var y = y0;
    var sum = 0u;
    var xh = 0u;
    var yh = 0u;
    for (var round = 0u; round < params.rounds; round += 1u) {
        sum = remainder(x, xh, 7u, 4u)
            + remainder(x, xh, 13u, 9u)
            + remainder(x, xh, 1301081u, 98915u)
            + remainder(y, yh, 8461u, 2937u)
            + remainder(y, yh, 105467u, 34655u)
            + remainder(y, yh, 105943u, 38076u);
        y = x + params.key.x;
        yh = xh + u32(y < x);
        x += sum;
        xh += u32(x < sum);
    }
    let q = (sum << 11u) / 1520972u;
    let r = (sum << 11u) % 1520972u;
    return (q << 5u) + (r << 5u) / 1520972u;
}

fn rand_by_products(x: u32, y: u32) -> u32 {
    let s = (params.key.x * 1972854929u) ^ (x * 2971902361u) ^ (y * 3572953751u);
    return ((s * 0x6c078965u) >> 15u) & 0xffffu;
}

fn random(i: i32, j: i32) -> u32 {
    let x = (params.origin.x + u32(i) * params.step) & params.mask;
    var y = (params.origin.y + u32(j) * params.step) & params.mask;
    if params.mode == SKYLINE { y = 0u; }
    if params.random == PAIR { return rand_from_pair(x, y); }
    if params.random == MUL { return rand_by_products(x, y); }
    return hash(params.key, x, y) >> 16u;
}

fn displace(mean: i32, i: i32, j: i32) -> i32 {
    return clamp(mean + mul_q16(params.amplitude, random(i, j)) - (params.amplitude >> 1u), 0, ONE);
}

fn inside(i: i32, j: i32) -> bool {
    let x = i >= params.inner_low.x && i < params.inner_high.x;
    let y = j >= params.inner_low.y && j < params.inner_high.y;
    return x && (y || params.mode == SKYLINE);
}

// The coarse point at an even u and v, or before an odd one.
fn coarse_at(k: i32, m: i32) -> i32 {
    return coarse[(m + 1) * params.coarse_width + k + 1];
}

// The square centre at u = 2k + 1, v = 2m + 1.
fn centre(k: i32, m: i32) -> i32 {
    let i = 2 * k + 1 - params.odd.x;
    let j = 2 * m + 1 - params.odd.y;
    if !inside(i, j) { return params.edge; }
    let sum =
        coarse_at(k, m) + coarse_at(k + 1, m) + coarse_at(k, m + 1) + coarse_at(k + 1, m + 1);
    return displace(sum >> 2u, i, j);
}

@compute @workgroup_size(WORKGROUP)
fn start(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let i = i32(at) % params.width;
    let j = i32(at) / params.width;
    var value = params.edge;
    if params.amplitude != 0 && inside(i, j) { value = i32(random(i, j)) << 12u; }
    own_height[at] = value;
}

@compute @workgroup_size(WORKGROUP)
fn refine(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let i = i32(at) % params.width;
    let j = i32(at) / params.width;
    let u = i + params.odd.x;
    let v = j + params.odd.y;
    let k = u >> 1u;
    let m = v >> 1u;
    let odd_u = (u & 1) == 1;
    let odd_v = (v & 1) == 1;
    var value = params.edge;
    if params.mode == SKYLINE {
        if !odd_u {
            value = coarse_at(k, m);
        } else if inside(i, j) {
            value = displace((coarse_at(k, m) + coarse_at(k + 1, m)) >> 1u, i, j);
        }
    } else if !odd_u && !odd_v {
        value = coarse_at(k, m);
    } else if odd_u && odd_v {
        value = centre(k, m);
    } else if inside(i, j) {
        var ends = coarse_at(k, m);
        if odd_u { ends += coarse_at(k + 1, m); } else { ends += coarse_at(k, m + 1); }
        if params.mode == MIDPOINT {
            value = ends >> 1u;
        } else {
            if odd_u {
                ends += centre(k, m - 1) + centre(k, m);
            } else {
                ends += centre(k - 1, m) + centre(k, m);
            }
            value = displace(ends >> 2u, i, j);
        }
    }
    own_height[at] = value;
}

@compute @workgroup_size(WORKGROUP)
fn shape(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    var v = clamp(own_height[at] - params.low, 0, params.range);
    v = min(v * params.stretch + mul_q16(v, params.stretch_fraction), ONE);
    if params.square == 1u { v = mul_q28(v, v); }
    own_height[at] = params.base + mul_q28(params.relief, v);
}
