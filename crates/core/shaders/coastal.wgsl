// Twin of src/stage/coastal.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> hardness: array<i32>;
@group(0) @binding(2) var<storage, read> ledger: array<i32>;
@group(0) @binding(3) var<storage, read_write> own_height: array<i32>;

fn smooth_part(inner: u32) -> u32 {
    let t = div_small(inner << 16u, params.scale) >> 1u;
    return (((t * t) >> 15u) * (98304u - 2u * t)) >> 14u;
}

fn noise(i: u32, j: u32) -> u32 {
    let u = params.inner.x + i;
    let v = params.inner.y + j;
    let x = params.lattice.x + u / params.scale;
    let y = params.lattice.y + v / params.scale;
    let fx = smooth_part(u % params.scale);
    let fy = smooth_part(v % params.scale);
    return u32(value_noise(params.key, x, y, fx, fy));
}

@compute @workgroup_size(WORKGROUP)
fn waves(invocation: Invocation) {
    let at = index_of(invocation);
    if at >= dispatch.end { return; }
    let h = own_height[at];
    if h <= params.sea { return; }
    let above = h - params.sea;
    // A height more than 2³¹ above the sea wraps.
    if above < 0 || above >= params.low + params.span { return; }
    let threshold =
        params.low + mul_q16(params.span, noise(at % u32(params.width), at / u32(params.width)));
    if above >= threshold { return; }
    let shift = max(log2_floor(u32(threshold) >> 8u), 6u) - 6u;
    let part =
        min(div_small(u32(above >> (shift & 31u)) << 16u, u32(threshold >> (shift & 31u))), 65535u);
    var left = 65536u;
    for (var n = 0u; n < params.power; n += 1u) {
        left = (left * part) >> 16u;
    }
    let taken = above - mul_q16(above, left);
    var loose = 0;
    if params.loose == 1u { loose = min(taken, ledger[at * LEDGER_WORDS + 1u]); }
    var hard = 0u;
    if params.hard == 1u { hard = u32(hardness[at]); }
    own_height[at] = h - loose - mul_q16(taken - loose, 65536u - hard);
}
