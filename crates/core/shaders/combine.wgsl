// Twin of src/stage/combine.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> ground: array<i32>;
@group(0) @binding(2) var<storage, read> mask: array<i32>;
@group(0) @binding(3) var<storage, read_write> own_height: array<i32>;

fn times(a: i32, made: i32) -> i32 {
    let n = u32(max(made, 0));
    let whole = n / params.one;
    var rest = n % params.one;
    var part = 0;
    for (var bit = 0u; bit < FACTOR_BITS; bit += 1u) {
        rest = rest << 1u;
        part = part << 1u;
        if rest >= params.one {
            rest -= params.one;
            part |= 1;
        }
    }
    if whole >= FACTOR_MAX {
        let most = HIGHEST / i32(FACTOR_MAX);
        return clamp(a, -most, most) * i32(FACTOR_MAX);
    }
    let most = HIGHEST / i32(max(whole, 1u));
    return add_within(clamp(a, -most, most) * i32(whole), mul_q28(a, part));
}

@compute @workgroup_size(WORKGROUP)
fn join(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let old = ground[i];
    let made = own_height[i];
    var both = made;
    if params.how == ADD {
        both = add_within(old, made);
    } else if params.how == SUBTRACT {
        both = sub_within(old, made);
    } else if params.how == MULTIPLY {
        both = times(old, made);
    } else if params.how == MIN {
        both = min(old, made);
    } else if params.how == MAX {
        both = max(old, made);
    }
    both = clamp(both, -HIGHEST, HIGHEST);
    var share = params.share;
    if params.masked == 1u { share = u32(mul_q16(i32(share), u32(clamp(mask[i], 0, 65536)))); }
    own_height[i] = mul_q16_near(old, 65536u - share) + mul_q16_near(both, share);
}
