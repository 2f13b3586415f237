// Twin of src/stage/layer.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> height: array<i32>;
@group(0) @binding(2) var<storage, read> mask: array<i32>;
@group(0) @binding(4) var<storage, read_write> own_rain: array<i32>;
@group(0) @binding(5) var<storage, read_write> own_hardness: array<i32>;
@group(0) @binding(6) var<storage, read_write> own_vegetation: array<i32>;
@group(0) @binding(7) var<storage, read_write> own_ledger: array<i32>;
@group(0) @binding(12) var<storage, read_write> own_uplift: array<i32>;

fn height_at(x: i32, y: i32) -> i32 {
    return height[fold(y, params.height, false) * params.width + fold(x, params.width, false)]
        >> 10u;
}

fn slope(x: i32, y: i32) -> i32 {
    let dx = clamp(height_at(x + 1, y) - height_at(x - 1, y), -32767, 32767);
    let dy = clamp(height_at(x, y + 1) - height_at(x, y - 1), -32767, 32767);
    return i32(isqrt(u32(dx * dx + dy * dy)) << 7u);
}

fn ramp(value: i32) -> u32 {
    let over = u32(max(value, params.start) - params.start) >> (params.shift & 31u);
    return (min(over, params.span) << 16u) / params.span;
}

fn ramp_at(i: u32) -> u32 {
    let x = i32(i) % params.width;
    let y = i32(i) / params.width;
    var value = 2147483647;
    if params.source == NOISE {
        value = noise(0u, params.octaves, params.step, x, y);
    } else if params.source == SLOPE {
        value = slope(x, y);
    } else if params.source == HEIGHT {
        value = clamp(height[i], -1073741824, 1073741824);
    } else if params.source != CONSTANT {
        value = mask[i];
    }
    return ramp(value);
}

fn combined(old: i32, fresh: i32, most: i32) -> i32 {
    if params.combine == MULTIPLY { return mul_q16(old, u32(clamp(fresh, 0, 65536))); }
    if params.combine == ADD { return min(old + fresh, most); }
    if params.combine == MIN { return min(old, fresh); }
    if params.combine == MAX { return max(old, fresh); }
    return fresh;
}

fn fraction(i: u32, old: i32) -> i32 {
    return combined(old, lerp(params.low, params.high, ramp_at(i)), 65536);
}

@compute @workgroup_size(WORKGROUP)
fn paint_rain(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_rain[i] = fraction(i, own_rain[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_hardness(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_hardness[i] = fraction(i, own_hardness[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_vegetation(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_vegetation[i] = fraction(i, own_vegetation[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_uplift(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_uplift[i] = fraction(i, own_uplift[i]);
}

@compute @workgroup_size(WORKGROUP)
fn paint_sediment(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let t = ramp_at(i);
    var fresh = lerp(params.thick_low, params.thick_high, t);
    if params.combine == MULTIPLY { fresh = lerp(params.low, params.high, t); }
    own_ledger[i * LEDGER_WORDS + 1u] =
        combined(own_ledger[i * LEDGER_WORDS + 1u], fresh, THICKEST);
}

@compute @workgroup_size(WORKGROUP)
fn open(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_ledger[i * LEDGER_WORDS] = height[i];
    own_ledger[i * LEDGER_WORDS + 1u] = 0;
    own_ledger[i * LEDGER_WORDS + 2u] = 0;
    own_ledger[i * LEDGER_WORDS + 3u] = 0;
}

@compute @workgroup_size(WORKGROUP)
fn enter(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = i * LEDGER_WORDS;
    let change = max(sub_within(height[i], own_ledger[at]), -2147483647);
    own_ledger[at] = height[i];
    if params.sediment == 1u {
        own_ledger[at + 1u] = clamp(add_within(own_ledger[at + 1u], change), 0, THICKEST);
    }
    let lowered = own_ledger[at + 2u];
    let raised = own_ledger[at + 3u];
    let down = max(-change, 0);
    let up = max(change, 0);
    let below = min(down, 2147483647 - lowered);
    let above = min(up, 2147483647 - raised);
    own_ledger[at + 2u] = lowered + below - min(up - above, lowered);
    own_ledger[at + 3u] = raised + above - min(down - below, raised);
}
