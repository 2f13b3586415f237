// Twin of src/stage/thermal.rs, which states the rule.

struct Params {
    first: u32,
    count: u32,
    width: i32,
    height: i32,
    torus: u32,
    shift: u32,
    repose: u32,
    rate: u32,
}

const SLOPE_SEEN: i32 = 32767;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read_write> own_next: array<i32>;

// What slides from a to its neighbour b, where the ground falls by `across` along the edge between them.
fn slides(a: i32, b: i32, across: i32) -> i32 {
    let low = min(a, b);
    let drop = max((max(a, b) >> 1u) - (low >> 1u) - (low & 1), 0);
    let d = u32(min(drop >> (params.shift & 31u), SLOPE_SEEN));
    let c = u32(min(abs(across) >> (params.shift & 31u), SLOPE_SEEN));
    let square = d * d + c * c;
    let excess = max(square, params.repose) - params.repose;
    let part = min(div_small(excess, max(square >> 15u, 1u)), 32768u);
    let flux = mul_q16(drop, (part * params.rate) >> 17u);
    return select(-flux, flux, a > b);
}

// How far the ground falls from one side of a cell to the other, in 2⁻¹⁵ cells.
fn fall(a: i32, b: i32) -> i32 {
    return (a >> 3u) - (b >> 3u);
}

@compute @workgroup_size(WORKGROUP)
fn slide(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = params.first + place(group, groups, local);
    if i >= params.count { return; }
    let torus = params.torus == 1u;
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let west = fold(x - 1, params.width, torus);
    let east = fold(x + 1, params.width, torus);
    let n = fold(y - 1, params.height, torus) * params.width;
    let s = fold(y + 1, params.height, torus) * params.width;
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
        + slides(h_w, h, fall(h_nw, h_sw) + south) - slides(h, h_e, south + fall(h_ne, h_se))
        + slides(h_n, h, fall(h_nw, h_ne) + across) - slides(h, h_s, across + fall(h_sw, h_se));
}
