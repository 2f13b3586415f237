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
    let top = vec3<i32>(height[n + west], height[n + x], height[n + east]);
    let mid = vec3<i32>(height[row + west], h, height[row + east]);
    let low = vec3<i32>(height[s + west], height[s + x], height[s + east]);
    // How far the ground falls to the south in each column, and to the east in each row.
    let south = (top >> vec3<u32>(3u)) - (low >> vec3<u32>(3u));
    let rows = (vec3<i32>(top.x, mid.x, low.x) >> vec3<u32>(3u)) - (vec3<i32>(top.z, mid.z, low.z) >> vec3<u32>(3u));
    own_next[i] = h
        + slides(mid.x, h, south.x + south.y) - slides(h, mid.z, south.y + south.z)
        + slides(top.y, h, rows.x + rows.y) - slides(h, low.y, rows.y + rows.z);
}
