// Twin of src/stage/levels.rs, which states the rule.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> fine: array<i32>;
@group(0) @binding(2) var<storage, read> ledger: array<i32>;
@group(0) @binding(3) var<storage, read> base: array<i32>;
@group(0) @binding(4) var<storage, read> loose: array<i32>;
@group(0) @binding(5) var<storage, read> coarse_base: array<i32>;
@group(0) @binding(6) var<storage, read> coarse: array<i32>;
@group(0) @binding(7) var<storage, read> height: array<i32>;
@group(0) @binding(8) var<storage, read> coarse_ledger: array<i32>;
@group(0) @binding(9) var<storage, read> coarse_loose: array<i32>;
@group(0) @binding(10) var<storage, read> coarse_flow: array<i32>;
@group(0) @binding(11) var<storage, read_write> own_coarse: array<i32>;
@group(0) @binding(12) var<storage, read_write> own_fine: array<i32>;
@group(0) @binding(13) var<storage, read_write> own_height: array<i32>;
@group(0) @binding(14) var<storage, read_write> own_ledger: array<i32>;
@group(0) @binding(15) var<storage, read_write> own_passed: array<i32>;
@group(0) @binding(16) var<storage, read> coarse_surface: array<i32>;
@group(0) @binding(17) var<storage, read> coarse_area: array<i32>;
@group(0) @binding(18) var<storage, read_write> own_surface: array<i32>;
@group(0) @binding(19) var<storage, read_write> own_area: array<i32>;

fn mean(a: i32, b: i32) -> i32 {
    return (a >> 1u) + (b >> 1u) + (a & b & 1);
}

// Column and row of an invocation on a lattice of `width` columns.
fn place_of(i: u32, width: i32) -> vec2<i32> {
    let row = i / u32(width);
    return vec2<i32>(i32(i - row * u32(width)), i32(row));
}

// The three places round `i`, folded where one is beyond `n`.
fn three(i: i32, n: i32) -> vec3<i32> {
    let torus = params.torus == 1u;
    if i > 0 && i + 1 < n { return vec3<i32>(i - 1, i, i + 1); }
    return vec3<i32>(fold(i - 1, n, torus), fold(i, n, torus), fold(i + 1, n, torus));
}

fn row_mean(columns: vec3<i32>, y: i32) -> i32 {
    let row = y * params.fine.x;
    return mean(mean(fine[row + columns.x], fine[row + columns.z]), fine[row + columns.y]);
}

@compute @workgroup_size(WORKGROUP)
fn halve(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let place = 2 * place_of(i, params.coarse.x) - params.offset;
    let x = three(place.x, params.fine.x);
    let y = three(place.y, params.fine.y);
    own_coarse[i] =
        mean(mean(row_mean(x, y.x), row_mean(x, y.z)), row_mean(x, y.y)) >> (params.halve & 31u);
}

@compute @workgroup_size(WORKGROUP)
fn pick(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_fine[i] = ledger[i * LEDGER_WORDS + 1u];
}

@compute @workgroup_size(WORKGROUP)
fn start(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    own_height[i] = base[i];
}

@compute @workgroup_size(WORKGROUP)
fn start_ledger(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let at = i * LEDGER_WORDS;
    own_ledger[at] = base[i];
    own_ledger[at + 1u] = 0;
    if params.loose == 1u { own_ledger[at + 1u] = loose[i]; }
    own_ledger[at + 2u] = 0;
    own_ledger[at + 3u] = 0;
}

// The 3 × 3 vertices of the coarser lattice round a cell of the finer one, and whether it lies
// between columns and rows.
struct Around {
    at: array<i32, 9>,
    odd: vec2<bool>,
}

fn around(i: u32) -> Around {
    let place = place_of(i, params.fine.x) + params.offset;
    let x = three(place.x >> 1u, params.coarse.x);
    let y = three(place.y >> 1u, params.coarse.y) * params.coarse.x;
    var a: Around;
    a.at = array<i32, 9>(
        y.x + x.x,
        y.x + x.y,
        y.x + x.z,
        y.y + x.x,
        y.y + x.y,
        y.y + x.z,
        y.z + x.x,
        y.z + x.y,
        y.z + x.z,
    );
    a.odd = vec2<bool>((place.x & 1) == 1, (place.y & 1) == 1);
    return a;
}

fn spread(before: i32, here: i32, after: i32, odd: bool) -> i32 {
    if odd { return mean(here, after); }
    return mean(mean(mean(before, after), here), here);
}

fn up(v: array<i32, 9>, odd: vec2<bool>) -> i32 {
    return spread(
        spread(v[0], v[1], v[2], odd.x),
        spread(v[3], v[4], v[5], odd.x),
        spread(v[6], v[7], v[8], odd.x),
        odd.y,
    );
}

fn difference(a: i32, b: i32) -> i32 {
    return clamp((a >> 1u) - (b >> 1u), -536870912, 536870911) * 2 + ((a & 1) - (b & 1));
}

fn double(sum: i32) -> i32 {
    return min(sum, 1073741823) << 1u;
}

@compute @workgroup_size(WORKGROUP)
fn raise(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let a = around(i);
    var changes: array<i32, 9>;
    var bases: array<i32, 9>;
    for (var n = 0; n < 9; n += 1) {
        let k = a.at[n];
        bases[n] = coarse_base[k];
        changes[n] = difference(coarse[k], bases[n]);
    }
    let b = base[i];
    let change = up(changes, a.odd);
    let detail = (b >> 1u) - up(bases, a.odd);
    let buried = min(u32(max(change, -change >> 2u)) >> (params.fade_shift & 31u), params.fade);
    var left = 65536u;
    if params.fade > 0u { left = 65536u - div_small(buried << 16u, params.fade); }
    left = u32(mul_q16(mul_q16(i32(left), left), left));
    let lost = detail - mul_q16(detail, left);
    let half = clamp((b >> 1u) - lost + change, (-HEIGHT_END) >> 1u, HEIGHT_END >> 1u);
    own_height[i] = (half << 1u) | (b & 1);
}

@compute @workgroup_size(WORKGROUP)
fn raise_ledger(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let a = around(i);
    var gains: array<i32, 9>;
    var lows: array<i32, 9>;
    var highs: array<i32, 9>;
    for (var n = 0; n < 9; n += 1) {
        let k = a.at[n];
        let record = u32(k) * LEDGER_WORDS;
        gains[n] = coarse_ledger[record + 1u];
        if params.loose == 1u { gains[n] = difference(gains[n], coarse_loose[k]); }
        lows[n] = coarse_ledger[record + 2u];
        highs[n] = coarse_ledger[record + 3u];
    }
    var before = 0;
    if params.loose == 1u { before = loose[i]; }
    let h = height[i];
    let at = i * LEDGER_WORDS;
    own_ledger[at] = h;
    own_ledger[at + 1u] = clamp((before >> 1u) + up(gains, a.odd), 0, THICKEST >> 1u) << 1u;
    let change =
        clamp((h >> 1u) - (base[i] >> 1u), -1073741823, 1073741823) * 2 + (h & 1) - (base[i] & 1);
    if change > 0 {
        let raised = max(double(up(highs, a.odd)), change);
        own_ledger[at + 2u] = raised - change;
        own_ledger[at + 3u] = raised;
    } else {
        let lowered = max(double(up(lows, a.odd)), -change);
        own_ledger[at + 2u] = lowered;
        own_ledger[at + 3u] = lowered + change;
    }
}

@compute @workgroup_size(WORKGROUP)
fn raise_flow(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let a = around(i);
    var flows: array<i32, 9>;
    for (var n = 0; n < 9; n += 1) { flows[n] = coarse_flow[a.at[n]]; }
    own_passed[i] = min(double(up(flows, a.odd)), PASSED_MAX);
}

@compute @workgroup_size(WORKGROUP)
fn raise_water(invocation: Invocation) {
    let i = index_of(invocation);
    if i >= dispatch.end { return; }
    let a = around(i);
    var halves: array<i32, 9>;
    var areas: array<i32, 9>;
    for (var n = 0; n < 9; n += 1) {
        let k = a.at[n];
        halves[n] = clamp((coarse_surface[k] >> 1u) - (coarse[k] >> 1u), 0, 1073741823);
        areas[n] = coarse_area[k];
    }
    let depth = double(double(up(halves, a.odd)));
    own_surface[i] = min(add_within(height[i], depth), HEIGHT_END);
    own_area[i] = double(up(areas, a.odd));
}
