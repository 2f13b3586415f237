// Twin of src/stage/noise.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> own_height: array<i32>;

@compute @workgroup_size(WORKGROUP)
fn sum(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    let size = vec2<i32>(params.width, params.height);
    var by = vec2<i32>(0);
    if params.warped == 1u {
        let middle = params.octaves + WARP_OCTAVES;
        by = vec2<i32>(
            shift(size, params.octaves, middle, x, y),
            shift(size, middle, middle + WARP_OCTAVES, x, y),
        );
    }
    var total = 0;
    var strength = ONE;
    for (var n = 0u; n < params.octaves; n += 1u) {
        var at = spot(size, n, x, y);
        if params.warped == 1u {
            at = moved(at, vec2<i32>(in_squares(n, by.x), in_squares(n, by.y)));
        }
        var part = noise(params.pattern, key_of(n), at);
        let fold = abs((part << 1u) - ONE);
        if params.form == BILLOW {
            part = fold;
        } else if params.form == RIDGED {
            part = mul_q28(mul_q28(ONE - fold, ONE - fold), strength);
            strength = min(part << 1u, ONE);
        }
        total += mul_q28(part, waves[n * WAVE_WORDS + 2u]);
    }
    own_height[i] = params.base + mul_q28(params.relief, clamp(total, 0, ONE));
}
