// Twin of src/stage/thermal.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read> hardness: array<i32>;
@group(0) @binding(3) var<storage, read> vegetation: array<i32>;
@group(0) @binding(4) var<storage, read> ledger: array<i32>;
@group(0) @binding(5) var<storage, read_write> own_next: array<i32>;

// What slides down `drop` (half a difference of heights). Along the edge the ground falls by
// `across`. It is stable up to the slope whose square, after `shift`, is `repose`.
fn slides(drop: i32, across: i32, shift: u32, repose: u32) -> i32 {
    let d = u32(min(drop >> (shift & 31u), SLOPE_SEEN));
    let c = u32(min(across >> (shift & 31u), SLOPE_SEEN));
    let square = d * d + c * c;
    let excess = max(square, repose) - repose;
    let part = min(div_small(excess, max(square >> 15u, 1u)), 32768u);
    return mul_q16(drop, (part * params.rate) >> 17u);
}

// What slides from cell i, at height a, to its neighbour k, at height b, where the ground falls by
// `across_either` along the edge.
fn flux(i: i32, a: i32, k: i32, b: i32, across_either: i32) -> i32 {
    let low = min(a, b);
    let drop = max((max(a, b) >> 1u) - (low >> 1u) - (low & 1), 0);
    let across = abs(across_either);
    let upper = select(k, i, a > b);
    var repose = params.repose;
    if params.rooted == 1u { repose += u32(mul_q16(i32(repose * 3u), u32(vegetation[upper]))); }
    let soil = slides(drop, across, params.shift, repose);
    var first = 0;
    var rock = soil;
    if params.loose == 1u {
        first = min(soil, ledger[u32(upper) * LEDGER_WORDS + 1u] >> 2u);
        rock = slides(drop, across, params.cliff_shift, params.cliff);
    }
    var hard = 0u;
    if params.hard == 1u { hard = u32(hardness[upper]); }
    let sum = first + mul_q16(max(rock - first, 0), 65536u - hard);
    return select(sum, -sum, a < b);
}

// How far the ground falls from one side of a cell to the other, in 2⁻¹⁵ cells.
fn fall(a: i32, b: i32) -> i32 {
    return (a >> 3u) - (b >> 3u);
}

@compute @workgroup_size(WORKGROUP)
fn slide(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let torus = params.torus == 1u;
    let width = u32(params.width);
    let y = i32(i / width);
    let x = i32(i - u32(y) * width);
    var west = x - 1;
    var east = x + 1;
    var n = (y - 1) * params.width;
    var s = (y + 1) * params.width;
    if x == 0 || y == 0 || x == params.width - 1 || y == params.height - 1 {
        west = fold(x - 1, params.width, torus);
        east = fold(x + 1, params.width, torus);
        n = fold(y - 1, params.height, torus) * params.width;
        s = fold(y + 1, params.height, torus) * params.width;
    }
    let h = height[i];
    let row = y * params.width;
    let h_nw = height[n + west];
    let h_n = height[n + x];
    let h_ne = height[n + east];
    let h_w = height[row + west];
    let h_e = height[row + east];
    let h_sw = height[s + west];
    let h_s = height[s + x];
    let h_se = height[s + east];
    let south = fall(h_n, h_s);
    let across = fall(h_w, h_e);
    own_next[i] = h
        + flux(row + west, h_w, row + x, h, fall(h_nw, h_sw) + south)
        - flux(row + x, h, row + east, h_e, south + fall(h_ne, h_se))
        + flux(n + x, h_n, row + x, h, fall(h_nw, h_ne) + across)
        - flux(row + x, h, s + x, h_s, across + fall(h_sw, h_se));
}
