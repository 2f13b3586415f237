//! The comparison can fail: it finds shaders that are broken on purpose.

use crate::agree::outcome;
use crate::common::{cpu, gpu, plan, prepare};
use thalweg::stage::{Case, Stage};
use thalweg::vectors::stages;

/// The shader with `from` replaced by `to`. Fails if the shader does not have that text.
pub fn mutant(shader: &str, from: &str, to: &str) -> &'static str {
    assert!(shader.contains(from), "the shader no longer says {from:?}: choose another mutation");
    Box::leak(shader.replacen(from, to, 1).into_boxed_str())
}

/// Stage, case, text, replacement. Each is a mistake that could happen.
const MUTANTS: &[(&str, &str, &str, &str)] = &[
    (
        "droplets",
        "default",
        "mul_q16_near(g, 65536u - params.law.inertia)",
        "mul_q16(g, 65536u - params.law.inertia)",
    ),
    (
        "droplets",
        "default",
        "return lerp(lerp(h.x, h.y, fx), lerp(h.z, h.w, fx), fy);",
        "return lerp(lerp(h.x, h.z, fy), lerp(h.y, h.w, fy), fx);",
    ),
    (
        "droplets",
        "default",
        "max(drop, params.law.slope_min)",
        "max(drop, params.law.slope_min + 1)",
    ),
    ("droplets", "default", "(x + 0x8000) >> 16u", "x >> 16u"),
    ("droplets", "default", "params.step == 0u) && !dies", "params.step == 0u)"),
    (
        "droplets",
        "default",
        "if dx == 0 || dy == 0 { return part >> 6u; }",
        "if dx == 0 { return part >> 6u; }",
    ),
    ("droplets", "default", "if fills {", "if !fills {"),
    (
        "droplets",
        "layers",
        "if dx == 0 || dy == 0 { return n >> 3u; }",
        "if dx == 0 { return n >> 3u; }",
    ),
    ("droplets", "default", "wish -= mul_q16(taken", "wish -= mul_q16_near(taken"),
    ("droplets", "default", "max(range.y, n)", "n"),
    ("droplets", "default", "own_want[record + 1] = 0;", ""),
    ("droplets", "default", "atomicAdd(&add_exported[tile * 4u + 1u], load >> 12u);", ""),
    ("droplets", "overloaded", "lose_load(home.tile, load - left);", ""),
    (
        "droplets",
        "overloaded",
        "add_moved[vertex_of(x, y) * i32(MOVED_WORDS)], -left",
        "add_moved[vertex_of(x, y) * i32(MOVED_WORDS)], -load",
    ),
    ("droplets", "overloaded", "atomicAdd(&add_exported[tile * 4u + 3u], load >> 12u);", ""),
    ("droplets", "hard", "atomicAdd(&add_spilled[at + 1], amount >> 12u);", ""),
    ("droplets", "some", "world.y * 0x91e10da5u", "world.y * 0x81e10da5u"),
    ("snowballs", "some", "home.born && home.lives && ", "home.born && "),
    (
        "wind",
        "some",
        "if ((home.born && home.lives) || x != NOWHERE)",
        "if (home.born || x != NOWHERE)",
    ),
    (
        "droplets",
        "torus",
        "select(x0 + 1, 0, x0 + 1 >= params.width)",
        "min(x0 + 1, params.width - 1)",
    ),
    ("droplets", "wall", "heading = vec2<i32>(0, 0);\n            } else", "} else"),
    ("droplets", "flat", "params.step * 0x85ebca6bu + 1u", "params.step * 0x85ebca6bu"),
    ("droplets", "default", "max(room.y, least) - due", "room.y - due"),
    ("droplets", "default", "carry[near] / 8;", "(carry[near] >> 3u);"),
    ("droplets", "default", "drop_between(h, range.x) - 2", "drop_between(h, range.x)"),
    ("droplets", "default", "x + reach < params.width", "x + reach <= params.width"),
    ("droplets", "default", "(mul_q16(here, weight) << 3u)", "(mul_q16(here, weight) << 2u)"),
    ("droplets", "default", "taken_at(i - steep - b, ", "taken_at(i - steep + b, "),
    ("droplets", "default", "lose_to_ring(i, here, 2, 2)", "lose_to_ring(i, here, 1, 2)"),
    ("droplets", "default", "((carried >> 31u) & 7)", "0"),
    ("droplets", "default", "low_part(c, weight)", "low_part(b, weight)"),
    ("droplets", "default", "range = range_round(x, y);", "range = range_inside(i32(i));"),
    ("droplets", "default", "rim = is_rim(x, y);", ""),
    ("droplets", "default", "(given_at(s - 1) >> 7u)", "(given_at(s - 1) >> 6u)"),
    ("droplets", "default", "max(max(a, b), c)", "max(a, b)"),
    ("droplets", "wild", "for (var b = 1; b < a; b += 1)", "for (var b = 1; b <= a; b += 1)"),
    ("droplets", "layers", "(delta[n - 1] >> 4u)", "(delta[n] >> 4u)"),
    ("droplets", "default", "if home.dies { spent = x != NOWHERE; }", ""),
    ("droplets", "default", "amount = min(amount, load);", ""),
    ("droplets", "default", "if rim && rest > 0 {", "if rim && rest > 9 {"),
    ("droplets", "default", "max(room.y << 2u, CRUMB)", "(room.y << 2u)"),
    ("island", "default", "mul_q28(slope, x) + v.y", "mul_q28(slope, x) + v.z"),
    ("island", "default", "+ (low >> 14u)", ""),
    ("island", "whole", "if params.craters == 1u { rim =", "if params.craters == 2u { rim ="),
    ("island", "whole", "u32(q - (q_at << 16u))", "u32(q & 0xff00)"),
    ("blur", "many", "sum += h >> 4u;", "sum += (h + 8) >> 4u;"),
    ("blur", "many", "(height[s + 1] >> 4u)", "(height[s] >> 4u)"),
    ("blur", "torus", "params.torus == 1u)];", "false)];"),
    ("shore", "default", "(far == best && other < row)) {", "(far == best && other > row)) {"),
    ("shore", "near", "(far == best && other < row) {", "(far == best && other > row) {"),
    ("shore", "near", "west + params.within + 1", "west + params.within + 2"),
    (
        "shore",
        "near",
        "square > params.within * params.within",
        "square >= params.within * params.within",
    ),
    ("coastal", "default", "value_noise(params.key, x, y, ", "value_noise(params.key, y, x, "),
    ("coastal", "default", "if above >= threshold { return; }", ""),
    (
        "coastal",
        "window",
        "params.lattice.y + v / params.scale",
        "params.lattice.y + u / params.scale",
    ),
    ("incision", "default", "here) * 9u) >> vec4<u32>(4u)", "here) * 5u) >> vec4<u32>(3u)"),
    ("incision", "default", "q.diagonals.x, 5", "q.diagonals.x, 4"),
    ("incision", "default", "weight > found.x", "weight >= found.x"),
    ("incision", "torus", "(ground.diagonals >> ", "(ground.sides >> "),
    ("incision", "wild", "min(excess >> 2u, gap(next, low))", "(excess >> 2u)"),
    ("incision", "wild", "if depth > params.least {", "if depth >= 0 {"),
    ("incision", "sea", "next = max(next, min(h, params.floor));", ""),
    ("incision", "sea", "if before < params.sea || keeps(at) {", "if keeps(at) {"),
    ("incision", "cone", "if receiver >= 4 {", "if receiver > 4 {"),
    ("incision", "strata", "clamp(die, 24576u, 40960u)", "clamp(die, 24576u, 40961u)"),
    ("incision", "strata", "- stratum(h)) >> 2u) * 3u", "- stratum(h)) >> 2u) * 4u"),
    ("incision", "strata", "65536u - stratum(here)", "65536u - stratum(height[i])"),
    ("incision", "thin_strata", "select(part, 32768u, ", "select(part, part, "),
    ("incision", "layers", "(u32(vegetation[i]) >> 1u)", "u32(vegetation[i])"),
    ("incision", "layers", "rain[i] * VERTEX + 32768", "rain[i] * VERTEX"),
    ("incision", "finer", "WET - clamp(depth, 0, WET)", "WET"),
    ("incision", "finer", "words >= 16777216", "words > 2147483646"),
    ("incision", "finer", "clamp(slope, FLAT, STEEP)", "min(slope, STEEP)"),
    ("incision", "finer", "lowest(ground.diagonals))))", "lowest(ground.sides))))"),
    ("incision", "last_step", "params.least + rise", "params.least"),
    ("incision", "last_step", "mul_q16(mul_q16(f, soft), params.length)", "mul_q16(f, soft)"),
    ("incision", "booked", "add_within(own_ledger[at], rises(", "(own_ledger[at] + 0 * rises("),
    ("thermal", "default", "- (low & 1), 0)", ", 0)"),
    ("thermal", "torus", "south + fall(h_ne, h_se)", "south + fall(h_nw, h_sw)"),
    ("thermal", "torus", "if x == 0 || y == 0 || x == ", "if y == 0 || x == "),
    ("thermal", "steep", "select(sum, -sum, a < b)", "sum"),
    ("thermal", "layers", "select(k, i, a > b)", "i"),
    ("coastal", "loose", "loose = min(taken, ", "loose = max(taken, "),
    ("droplets", "layers", "own_grant[i] = class_of(passed);", "own_grant[i] = 0;"),
    ("droplets", "layers", "own_want[i32(i) * i32(WANT_WORDS) + 2] = passed;", ""),
    ("droplets", "layers", "STREAMS - 1u) << 28u", "STREAMS - 2u) << 28u"),
    ("droplets", "dense", "| class_of(own_want[record + 2])", ""),
    ("droplets", "dense", "(count >> (half & 31u)) & 1u", "(count >> (half & 31u))"),
    ("droplets", "layers", "mix_bits(spot + 0x85ebca6bu)", "mix_bits(spot)"),
    ("droplets", "layers", "mul_q16(held, params.roots)", "mul_q16_near(held, params.roots)"),
    ("droplets", "layers", "max(range.x, params.floor)", "range.x"),
    ("droplets", "layers", "if thick >= asked { return loose; }", ""),
    (
        "droplets",
        "hard",
        "height_within(add_within(before[i], delta[i]))",
        "height_within(add_within(own_height[i], delta[i]))",
    ),
    (
        "droplets",
        "estuary",
        "max(u32(water[2u * age + 1u]), select(0u, u32(SEA_LAY), wet))",
        "u32(water[2u * age + 1u])",
    ),
    ("droplets", "estuary", "let crumb = select(0, 3, wet && over > 0);", "let crumb = 0;"),
    ("droplets", "sea", "if wet && load == 0 { x = NOWHERE; }", ""),
    ("droplets", "sea", "select(fast, fast >> 1u, wet)", "fast"),
    ("droplets", "estuary", "fills = d >= 0 && !wet;", "fills = d >= 0;"),
    ("droplets", "sea", "max(range.x, params.floor)", "max(range.x, params.sea - 9000000)"),
    ("droplets", "estuary", "let sea = params.sea >> 2u;", "let sea = params.sea >> 3u;"),
    ("droplets", "estuary", "if wet { want = ", "if wet && d < 0 { want = "),
    (
        "droplets",
        "washed",
        "mul_q16(max(taken, 0), params.wash)",
        "mul_q16_near(taken, params.wash)",
    ),
    ("droplets", "washed", "return taken - washed;", "return taken;"),
    ("droplets", "washed", "(u32(rest) << 12u)", "(u32(rest) << 11u)"),
    ("droplets", "washed", "own_exported[tile * 4u] = 0;", ""),
    (
        "snowballs",
        "left",
        "if spent && (home.born || last) && load > 0 {",
        "if spent && last && load > 0 {",
    ),
    (
        "snowballs",
        "left",
        "add_moved[vertex * i32(MOVED_WORDS)], -amount",
        "add_moved[vertex * i32(MOVED_WORDS) + 1], amount",
    ),
    ("snowballs", "left", "min(granted(vertex, want), load)", "granted(vertex, want)"),
    ("snowballs", "heaps", "min(load, params.law.left)", "load"),
    ("snowballs", "shore", "give = max(give, (load + 15) >> 4u);", "give = max(give, load >> 4u);"),
    ("snowballs", "sea", " / select(1, 2, wet)", ""),
    ("snowballs", "sea", "if wet && load == 0 {", "if wet {"),
    (
        "snowballs",
        "sea",
        "load += wash_out(home.tile, settle_granted(vertex, want, load));",
        "load += settle_granted(vertex, want, load);",
    ),
    ("snowballs", "default", "params.law.quicken, 65536u", "params.law.quicken, 65535u"),
    ("snowballs", "default", "vertex = vertex_of(back.x, back.y);", "vertex = vertex_of(x, y);"),
    ("snowballs", "fast", "-params.law.fastest, params.law.fastest", "-params.law.fastest, 1000"),
    ("snowballs", "torus", "((x % span) + span) % span", "x % span"),
    (
        "wind",
        "default",
        "settle_granted(vertex, want, load)",
        "settle_granted(vertex, want, load + 3)",
    ),
    ("wind", "default", "if want < 0 && load == 0 { x = NOWHERE; }", ""),
    ("wind", "default", "if ((home.born && home.lives) || x != NOWHERE) && !spent", "if !spent"),
    (
        "wind",
        "crowd",
        "add_moved[vertex * i32(MOVED_WORDS)], -left",
        "add_moved[vertex * i32(MOVED_WORDS)], left",
    ),
    (
        "wind",
        "default",
        "ledger[record + 1u] + (height[i] - ledger[record])",
        "ledger[record + 1u]",
    ),
    (
        "wind",
        "crowd",
        "flux(n + x, row + x, fall(n + west, n + east)",
        "flux(n + x, row + x, fall(row + west, n + east)",
    ),
    (
        "wind",
        "torus",
        "fold(x + lee[look], params.width, torus)",
        "fold(x + lee[look], params.width, false)",
    ),
    ("layer", "noise", "3u * square - 2u", "3u * square - 1u"),
    (
        "layer",
        "slope",
        "height_at(x, y + 1) - height_at(x, y - 1)",
        "height_at(x, y + 1) - height_at(x, y)",
    ),
    ("layer", "sediment", "own_ledger[at] = height[i];\n    if", "if"),
    ("layer", "file", "value = mask[i];", "value = mask[i] + 1;"),
    ("layer", "weather", "y - params.across_y)", "y + params.across_y)"),
    ("layer", "weather", "select(product, -product, part < 0)", "product"),
    ("layer", "weather", ", params.sea) >> 1u", ", -2147221504) >> 1u"),
    ("layer", "gale", "x >= params.width || y >= params.height", "y >= params.height"),
    ("diamond_square", "default", "return displace(sum >> 2u", "return displace(1 + (sum >> 2u)"),
    ("diamond_square", "torus", "u32(i) * params.step) & params.mask", "u32(i) * params.step)"),
    ("diamond_square", "outside", "if !inside(i, j) { return params.edge; }", ""),
    ("diamond_square", "pair", "(q << 5u) + (r << 5u) / 1520972u", "(q << 5u)"),
    ("diamond_square", "pair_largest", "xh += u32(x < sum);", ""),
    ("diamond_square", "mul", "(y * 3572953751u)", "(x * 3572953751u)"),
    ("diamond_square", "skyline", "if params.mode == SKYLINE { y = 0u; }", ""),
    (
        "restrict",
        "odd",
        "mean(fine[row + columns.x], fine[row + columns.z])",
        "mean(fine[row + columns.y], fine[row + columns.z])",
    ),
    ("restrict", "torus", "vec3<i32>(fold(i - 1, n, torus)", "vec3<i32>(fold(i - 1, n, false)"),
    ("restrict", "odd", "if i > 0 && i + 1 < n {", "if i > 0 {"),
    ("restrict", "layer", "(a & b & 1)", "((a | b) & 1)"),
    (
        "refine",
        "default",
        "if odd { return mean(here, after); }",
        "if odd { return mean(before, here); }",
    ),
    ("refine", "default", "min(u32(max(change, -change >> 2u))", "min(u32(max(change, -change))"),
    (
        "refine",
        "torus",
        "fold(i, n, torus), fold(i + 1, n, torus)",
        "fold(i, n, torus), fold(i + 1, n, false)",
    ),
    (
        "refine",
        "loose",
        "clamp((before >> 1u) + up(gains, a.odd), 0, THICKEST >> 1u)",
        "max((before >> 1u) + up(gains, a.odd), 0)",
    ),
    ("strokes", "stamps", "- times(dx, piece + 9u)", "+ times(dx, piece + 9u)"),
    ("strokes", "stamps", "line(first + u32(width), fx)", "line(first + 1u, fx)"),
    (
        "strokes",
        "water",
        "i32(rest), rest));\n        return",
        "i32(rest), rest)) + 1u;\n        return",
    ),
    ("strokes", "water", "(98304u - 2u * rest)", "(98304u - rest)"),
    ("strokes", "water", "if far >= -strokes[stroke + 14u]", "if far > 0"),
    ("strokes", "water", "mul_q16(strokes[stroke + 15u], 2u * u32(-far))", "0"),
    ("strokes", "water", "made = min(value, towards(", "made = max(value, towards("),
    ("strokes", "water", "add_within(bed, strokes[stroke + 1u])", "bed"),
    (
        "strokes",
        "water",
        "u32(strokes[stroke]) == LIP { return value; }",
        "false { return value; }",
    ),
    ("strokes", "stamps", "from_middle(stroke, v, bottom)", "from_middle(stroke, v, right)"),
    ("noise", "default", "HALF + n + (n >> 1u)", "HALF + n"),
    ("noise", "far", "vec2<i32>(by.x >> 20u, by.y >> 20u)", "vec2<i32>(0)"),
    ("noise", "ridged", "strength = min(part << 1u, ONE);", ""),
    ("noise", "cells", "near.x = min(near.x, squared);", "near.x = min(near.x, squared + 1u);"),
    ("noise", "borders", "min(near.y, max(squared, near.x))", "min(near.y, squared)"),
    ("hills", "default", "hash(params.key.yx, x, y)", "hash(params.key, x, y)"),
    ("hills", "most", "squared * sizes[size + 1u]", "squared"),
    ("random_raise", "default", "(at + 8) >> 4u", "at >> 4u"),
    ("random_raise", "high", "if whole < most {", "if whole >= 0 {"),
    ("voronoi_island", "default", "height - rough + (", "height + ("),
    ("voronoi_island", "plain", "mul_q28(params.depth, -value)", "mul_q28(params.relief, -value)"),
    ("ranges", "default", "in_squares(0u, shift(window, 1u, middle, x, y))", "0"),
    ("ranges", "constant", "mul_q28(ONE - t, ONE - t) >> 1u", "mul_q28(t, t) >> 1u"),
    ("combine", "multiply", "rest -= params.one;", ""),
    ("combine", "far", "let most = HIGHEST / i32(FACTOR_MAX);", "let most = HIGHEST / 32;"),
    ("combine", "blend", "mul_q16_near(old, 65536u - share)", "mul_q16(old, 65536u - share)"),
    ("biomes", "default", "if heavier < left { (*record)", "if heavier <= left { (*record)"),
    ("biomes", "default", "a.y + b.y + select(0u, 1u, sum < a.x)", "a.y + b.y"),
    (
        "biomes",
        "many",
        "weigh(&record, before);\n            own",
        "weigh(&record, 0u);\n            own",
    ),
    ("biomes", "many", "+ next / total + low / total", "+ next / total"),
    ("biomes", "many", "select(best, 255u - (best & 255u), ends())", "255u - (best & 255u)"),
    ("biomes", "lerped", "before -= nodes[at + n] * share;", ""),
    ("biomes", "wide", "if params.opens != 1u {\n        for", "if false {\n        for"),
    ("biomes", "image", "if is_left(u32(chunk)) { return record; }", ""),
    ("biomes", "image", "if is_left(chunk) { return; }", ""),
    ("biomes", "climate", "far == best && other < nearest", "far == best && other > nearest"),
    ("biomes", "climate", "/ u32(params.pole)", "/ u32(params.pole + 1)"),
    (
        "biomes",
        "climate",
        "fold(cell.x - params.margin, params.width, false)",
        "fold(cell.x - params.margin, params.width, true)",
    ),
];

#[test]
fn broken_shaders_are_found() {
    let Some(mut gpu) = gpu("mutants::broken_shaders_are_found", 64, None) else { return };
    let mut cpu = cpu();
    let mut notices = |stage: &'static Stage, case: &Case, from: &str, to: &str| {
        let mut plan = plan(stage, case);
        plan.shader = mutant(plan.shader, from, to);
        // In a plan that keeps the ledger, passes name their own shader.
        plan.passes
            .iter_mut()
            .filter(|p| p.shader == Some(stage.shader))
            .for_each(|p| p.shader = Some(plan.shader));
        prepare(stage, case, &mut cpu);
        prepare(stage, case, &mut gpu);
        outcome(&plan, [&mut cpu, &mut gpu]).difference.is_some()
    };
    let mut survivors = vec![];
    for (name, case, from, to) in MUTANTS {
        let stage = stages().find(|stage| stage.name == *name).expect("the stage");
        let cases = (stage.cases)();
        if !notices(stage, cases.iter().find(|c| c.name == *case).expect("the case"), from, to) {
            let by: Vec<&str> = cases
                .iter()
                .filter(|case| notices(stage, case, from, to))
                .map(|case| case.name)
                .collect();
            survivors.push(format!(
                "{name}, {case}: {from:?} became {to:?}, which the cases {by:?} notice"
            ));
        }
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}
