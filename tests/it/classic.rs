//! The published droplets and fractal terrain. The ids number the statements of the articles: C of
//! van der Veen's, D of Olshin's.

use std::path::Path;
use thalweg::Error;
use thalweg::arith::CELL;
use thalweg::classic::diamond_square::{
    Edge, Lazy, PAIR_DIVISOR, PAIR_MAX, Rand, World, dense, midpoint_1d, rand_from_pair, rand_hash,
};
use thalweg::classic::droplets::{Brush, Droplets, Report, erode, erode_inside, stencil};
use thalweg::exec::Executor;
use thalweg::params::{Settings, Value};
use thalweg::site::{Layers, Window};
use thalweg::stage::{Case, Surface, droplets::STAGE};
use thalweg::{Job, Recipe, Step};

/// Rolling hills of `side`² vertices, up to about 40 cells high.
fn hills(side: u64) -> Vec<f32> {
    let world = World { size: side, seed: 5, ..World::default() };
    dense(&world, Edge::Torus(0.5)).unwrap().iter().map(|v| (*v * 40.0) as f32).collect()
}

fn sum(h: &[f32]) -> f64 {
    h.iter().map(|v| f64::from(*v)).sum()
}

/// FNV-1a over 64-bit words.
fn fold(start: u64, words: impl Iterator<Item = u64>) -> u64 {
    words.fold(start, |s, w| s.wrapping_mul(0x100_0000_01b3) ^ w)
}

/// Runs `p` on hills and returns the heights before, after, and the report.
fn run(side: u64, p: &Droplets) -> (Vec<f32>, Vec<f32>, Report) {
    let before = hills(side);
    let mut after = before.clone();
    let report = erode(&mut after, side as usize, side as usize, p, None);
    (before, after, report)
}

/// Holds C22: the published constants.
#[test]
fn droplet_defaults_are_the_published_ones() {
    let p = Droplets::default();
    assert_eq!((p.count, p.inertia, p.min_slope, p.capacity), (5000, 0.3, 0.01, 10.0));
    assert_eq!(
        (p.deposition_rate, p.erosion_rate, p.gravity, p.evaporation_rate),
        (0.08, 0.7, 9.81, 0.02)
    );
    assert_eq!((p.lifetime, p.radius, p.brush), (300, 5, Brush::Exact));
}

/// Holds C10, C17, C18: what is taken up is laid down or leaves the map with a drop that crosses
/// the border. Both brushes take exactly what they are asked for, at the borders too (C19).
#[test]
fn droplets_keep_the_mass() {
    // Single precision rounds each height by at most 2^-24 of its value, and a step writes up to
    // 441 heights (radius 12). Most of that cancels. 1e-5 of the ground moved is about five times
    // the largest error seen, and far below the effect of a missing term.
    for brush in [Brush::Exact, Brush::Stencil] {
        for (side, radius) in [(4, 5), (64, 1), (64, 3), (64, 5), (64, 7), (64, 12)] {
            let (before, after, r) =
                run(side, &Droplets { count: 2000, radius, brush, ..Droplets::default() });
            let what = format!("{brush:?} side {side} radius {radius} {r:?}");
            let bound = 1e-5 * r.eroded + 1e-5;
            assert!(
                (sum(&before) - sum(&after) - r.exported).abs() < bound,
                "{what}: {}",
                sum(&before) - sum(&after)
            );
            assert!((r.eroded - r.deposited - r.exported).abs() < bound, "{what}");
            assert!(r.eroded > 0.0 && r.exported > 0.0 && r.left > 0 && r.left <= 2000, "{what}");
            assert!(after.iter().all(|v| v.is_finite()), "{what}");
        }
    }
}

/// Holds C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, C16, C17, C18: fixed results of whole
/// runs. They may change only with the algorithm.
#[test]
fn droplets_repeat_to_the_bit() {
    let p = Droplets { count: 3000, seed: 11, radius: 3, lifetime: 30, ..Droplets::default() };
    let print = |brush, sorted| {
        let (_, after, r) = run(128, &Droplets { brush, sorted, ..p.clone() });
        (fold(0, after.iter().map(|v| u64::from(v.to_bits()))), r.steps)
    };
    assert_eq!(print(Brush::Exact, false), EXACT);
    assert_eq!(print(Brush::Stencil, false), STENCIL);
    assert_eq!(print(Brush::Stencil, true), SORTED);
}
const EXACT: (u64, u64) = (7126082588909341137, 82760);
const STENCIL: (u64, u64) = (5015362712565039040, 82362);
const SORTED: (u64, u64) = (8786962128471302735, 82506);

/// Holds C18: the constant brush takes as much as the published one, within a tenth.
#[test]
fn the_two_brushes_agree_in_the_mean() {
    let p = Droplets { count: 20_000, lifetime: 30, radius: 3, ..Droplets::default() };
    let exact = run(128, &p).2;
    let stencil = run(128, &Droplets { brush: Brush::Stencil, ..p }).2;
    assert!((exact.eroded / stencil.eroded - 1.0).abs() < 0.1, "{exact:?} {stencil:?}");
}

/// Holds C8: on a plain a drop walks straight in a random direction and changes nothing.
#[test]
fn flat_ground_stays() {
    let mut h = vec![7.3f32; 100 * 80];
    let mut flow = vec![0; h.len()];
    for brush in [Brush::Exact, Brush::Stencil] {
        let r = erode(
            &mut h,
            100,
            80,
            &Droplets { count: 500, brush, ..Droplets::default() },
            Some(&mut flow),
        );
        assert!(h.iter().all(|v| *v == 7.3));
        assert_eq!((r.left, r.eroded, r.deposited, r.exported), (500, 0.0, 0.0, 0.0));
    }
    assert!(flow.iter().filter(|f| **f > 0).count() > 4000);
}

/// Holds C4, C6, C7, C9, C10: without erosion the path down a plane is straight. Each step is
/// exactly one cell long, so `flow` counts each cell of the path once, and at its end the drop
/// leaves the map.
#[test]
fn a_drop_runs_straight_down_a_plane_cell_by_cell() {
    let (width, depth) = (50, 20);
    let mut h: Vec<f32> = (0..width * depth).map(|i| 0.25 * (i % width) as f32).collect();
    let before = h.clone();
    let p = Droplets { count: 1, seed: 3, erosion_rate: 0.0, ..Droplets::default() };
    let mut flow = vec![0; h.len()];
    let r = erode(&mut h, width, depth, &p, Some(&mut flow));
    assert_eq!(h, before);
    assert_eq!(r.left, 1);
    let met: Vec<usize> = (0..h.len()).filter(|i| flow[*i] > 0).collect();
    assert!(flow.iter().all(|f| *f <= 1));
    assert!(met.windows(2).all(|w| w[1] == w[0] + 1), "one row, without gaps: {met:?}");
    assert_eq!(met.len() as u64, r.steps);
    assert!(met[0] % width <= 1);
}

/// Holds C11, C13, C15: on a slope of 1/8 the capacity is 10/8. Seven tenths of it would be 0.875,
/// but a drop takes no more than the fall,
/// 1/8, and lays it down at the end of its lifetime.
#[test]
fn the_first_step_on_a_plane_is_as_computed_by_hand() {
    let (width, depth) = (64, 64);
    for brush in [Brush::Exact, Brush::Stencil] {
        let mut h: Vec<f32> = (0..width * depth).map(|i| 0.125 * (i % width) as f32).collect();
        let p = Droplets { count: 1, seed: 8, lifetime: 1, brush, ..Droplets::default() };
        let r = erode(&mut h, width, depth, &p, None);
        assert_eq!((r.steps, r.left), (1, 0));
        assert!((r.eroded - 0.125).abs() < 1e-6 && r.eroded == r.deposited, "{r:?}");
        // With a rate of 0.05, 0.0625 of the capacity is taken.
        let r = erode(&mut h, width, depth, &Droplets { seed: 1, erosion_rate: 0.05, ..p }, None);
        assert!((r.eroded - 0.0625).abs() < 1e-6, "{r:?}");
    }
}

/// Holds C13, C16: capacity with the least slope, and speed, which grows downhill and never falls
/// below 0.
#[test]
fn capacity_and_speed_by_hand() {
    let p = Droplets::default();
    assert_eq!(p.capacity_at(-0.5, 2.0, 0.5), 5.0);
    assert_eq!(p.capacity_at(-0.25, 4.0, 0.125), 1.25);
    // On a slope below min_slope, or uphill: 0.01 · 2 · 0.5 · 10.
    assert!((p.capacity_at(-0.001, 2.0, 0.5) - 0.1).abs() < 1e-8);
    assert!((p.capacity_at(0.3, 2.0, 0.5) - 0.1).abs() < 1e-8);
    // √(1 + 0.981) and √(4 - 0.981).
    assert!((p.speed_after(-0.1, 1.0) - 1.407_48).abs() < 1e-6);
    assert!((p.speed_after(0.1, 2.0) - 1.737_527).abs() < 1e-6);
    assert_eq!(p.speed_after(1.0, 1.0), 0.0);
}

/// Holds C18: weights max(0, radius - distance), scaled to sum to 1.
#[test]
fn stencil_weights_sum_to_one() {
    for radius in 0..=20 {
        let cells = stencil(radius);
        let total: f64 = cells.iter().map(|c| f64::from(c.2)).sum();
        assert!((total - 1.0).abs() < 1e-6, "radius {radius}: {total}");
        let r = radius.max(1) as i32;
        assert!(cells.iter().all(|c| c.0 * c.0 + c.1 * c.1 < r * r && c.2 > 0.0));
    }
    assert_eq!(stencil(1), [(0, 0, 1.0)]);
    // Radius 2: the weight is 2 in the centre, 1 next to it, 2 - √2 on the diagonals.
    let total = 2.0 + 4.0 + 4.0 * (2.0 - f64::sqrt(2.0));
    let of = |dx, dy| f64::from(stencil(2).iter().find(|c| (c.0, c.1) == (dx, dy)).unwrap().2);
    for (cell, w) in [((0, 0), 2.0), ((1, 0), 1.0), ((-1, 1), 2.0 - f64::sqrt(2.0))] {
        assert!((of(cell.0, cell.1) - w / total).abs() < 1e-7);
    }
}

/// Holds C5: sorting changes the order of the drops and nothing else.
#[test]
fn the_sorted_order_runs_the_same_drops() {
    // Nothing is eroded, so drops do not influence each other and the order does not matter.
    let p = Droplets { count: 3000, erosion_rate: 0.0, lifetime: 64, ..Droplets::default() };
    let flow = |sorted| {
        let mut flow = vec![0; 256 * 256];
        let r =
            erode(&mut hills(256), 256, 256, &Droplets { sorted, ..p.clone() }, Some(&mut flow));
        assert_eq!(flow.iter().map(|f| u64::from(*f)).sum::<u64>(), r.steps);
        flow
    };
    assert_eq!(flow(false), flow(true));
}

/// Holds D16: the doubles that V8 computes from the published formula, also for 32-bit seeds.
#[test]
#[allow(clippy::type_complexity)]
fn rand_from_pair_gives_the_doubles_of_a_script_engine() {
    let known: [((i64, i64, u32), u64); 9] = [
        ((1, 1, 0), 0x3fc4ae50ef3c9586),
        ((0, 0, 0), 0),
        ((3, 5, 42), 0x3fd961e91db935c7),
        ((64, 32, 12345), 0x3fe6a76dc38fe057),
        ((16777215, 8388608, 1), 0x3fd3945601be64e5),
        ((16777215, 16777215, 4294967295), 0x3fc0856ef973de1d),
        ((4294967295, 4294967294, 4294967295), 0x3feb3c802709b689),
        ((-5, 17, 9), 0x3fed743f52239379),
        ((-1000000, -2000000, 3), 0xbfd92839ea7d52d0),
    ];
    for ((x, y, seed), bits) in known {
        assert_eq!(rand_from_pair(x, y, seed, 80).to_bits(), bits, "{x} {y} {seed}");
    }
}

/// Holds D19: the doubles that V8 computes from the published formula.
#[test]
#[allow(clippy::type_complexity)]
fn rand_hash_gives_the_doubles_of_a_script_engine() {
    let known: [((i64, i64, u32), u64); 8] = [
        ((1, 1, 0), 0x3f9ff210003fe420),
        ((0, 0, 0), 0),
        ((3, 5, 42), 0x3fea78130034f026),
        ((64, 32, 12345), 0x3fedbc48403b7890),
        ((16777215, 8388608, 1), 0x3fedac86403b590c),
        ((16777215, 16777215, 4294967295), 0x3fd0fdf00021fbe0),
        ((4294967295, 4294967294, 4294967295), 0x3fbad6700035ace0),
        ((-5, 17, 9), 0x3fd3800b00270016),
    ];
    for ((x, y, seed), bits) in known {
        assert_eq!(rand_hash(x, y, seed).to_bits(), bits, "{x} {y} {seed}");
    }
}

/// Holds D16: the largest sum of remainders is 1 520 966, so the numbers stay below 1.
#[test]
fn rand_from_pair_stays_in_its_range() {
    // 6 + 12 + 1301080 + 8460 + 105466 + 105942.
    assert_eq!((PAIR_MAX, PAIR_DIVISOR), (1_520_966, 1_520_972));
    let most = f64::from(PAIR_MAX) / f64::from(PAIR_DIVISOR);
    let mut total = 0.0;
    for i in 0..40_000i64 {
        let v = rand_from_pair(i * 7919 % 16_777_216, i * 104_729 % 16_777_216, i as u32, 80);
        assert!((0.0..=most).contains(&v));
        total += v;
    }
    // The sum of six uniform remainders: its mean is half the range, within 5 standard errors
    // (0.25/√40000 each).
    assert!((total / 40_000.0 - 0.5).abs() < 0.007, "{}", total / 40_000.0);
}

/// A world of 64². V8 ran the published program on it: the test has some of its heights, and a hash
/// of all 65².
fn known_world(rand: Rand) -> World {
    World { size: 64, seed: 2718, roughness: 2.5, rounds: 80, rand }
}

/// Holds D12, D13, D14, D15, D16, D19: the heights that V8 computes with the published program.
#[test]
fn the_window_on_demand_gives_the_doubles_of_the_published_program() {
    let pair = [
        (32, 32, 0x3fdbccb8e91496bb),
        (16, 16, 0),
        (32, 16, 0x3fe1367fcc615aec),
        (1, 2, 0x3f9eb2d57742154e),
        (31, 32, 0x3fdb60fce5f85175),
        (33, 47, 0x3fab53a5a5b7d0aa),
        (10, 50, 0x3f9aa01445e44dc2),
        (62, 5, 0x3f74fec5ccf32a6e),
    ];
    let hash = [
        (32, 32, 0x3fd1c17bc0c382fa),
        (16, 16, 0x3fe0794d105cf29b),
        (31, 32, 0x3fd4f54b033f5da7),
        (63, 63, 0x3f9d3013408a6026),
    ];
    for (rand, known, all) in
        [(Rand::Pair, &pair[..], 0xf3ef29d9d741dd6f), (Rand::Hash, &hash, 0x54c9615d0e6c94a0)]
    {
        let mut lazy = Lazy::new(known_world(rand)).unwrap();
        for &(x, y, bits) in known {
            assert_eq!(lazy.value(x, y).to_bits(), bits, "{rand:?} {x} {y}");
        }
        assert_eq!(fold(0, lazy.window(0, 0, 65, 65).iter().map(|v| v.to_bits())), all, "{rand:?}");
    }
    let mut big = Lazy::new(World { seed: 99, roughness: 4.0, ..World::default() }).unwrap();
    for (x, y, bits) in [
        (8388607, 8388609, 0x3f12b9d0b81e9b93),
        (5000001, 9000000, 0x3faa16d8a44a1c9f),
        (12345678, 3456789, 0x3fc9aefa1d900790),
    ] {
        assert_eq!(big.value(x, y).to_bits(), bits, "{x} {y}");
    }
}

/// Holds D12, D17, D18: forwards, backwards, in strides, and each vertex alone, with 32 rounds.
#[test]
fn the_order_of_questions_does_not_matter() {
    for rand in [Rand::Pair, Rand::Hash] {
        let world = World { size: 1 << 20, seed: 17, rand, rounds: 32, ..World::default() };
        let (x0, y0, n) = (524_270i64, 262_130i64, 29usize);
        let forwards = Lazy::new(world).unwrap().window(x0, y0, n, n);
        let at = |i: usize| (x0 + (i % n) as i64, y0 + (i / n) as i64);
        let mut backwards = Lazy::new(world).unwrap();
        let mut strides = Lazy::new(world).unwrap();
        for k in 0..n * n {
            let (i, j) = (n * n - 1 - k, k * 310 % (n * n));
            assert_eq!(backwards.value(at(i).0, at(i).1).to_bits(), forwards[i].to_bits());
            assert_eq!(strides.value(at(j).0, at(j).1).to_bits(), forwards[j].to_bits());
            assert_eq!(
                Lazy::new(world).unwrap().value(at(j).0, at(j).1).to_bits(),
                forwards[j].to_bits()
            );
        }
        assert!(backwards.known() > 0);
        backwards.forget();
        assert_eq!(backwards.known(), 0);
        assert_eq!(backwards.window(x0, y0, n, n), forwards);
    }
}

/// Holds D12: heights are clamped to 0 to 1, and are 0 on the border and outside.
#[test]
fn heights_lie_between_0_and_1_and_sink_at_the_border() {
    let mut lazy =
        Lazy::new(World { size: 256, seed: 3, roughness: 5.0, ..World::default() }).unwrap();
    let all = lazy.window(-3, -3, 263, 263);
    for (i, v) in all.iter().enumerate() {
        let (x, y) = (i as i64 % 263 - 3, i as i64 / 263 - 3);
        assert!((0.0..=1.0).contains(v));
        if x <= 0 || y <= 0 || x >= 256 || y >= 256 {
            assert_eq!(*v, 0.0);
        }
    }
    assert!(all.iter().any(|v| *v > 0.5));
}

/// Holds D11, D20, D21: the number of vertices computed for a window of 64², in worlds of 2⁹ and of
/// 2³² cells.
#[test]
fn work_for_a_window_hardly_depends_on_the_world() {
    let known = |log: u32| {
        let size = 1u64 << log;
        let mut lazy = Lazy::new(World { size, rounds: 1, ..World::default() }).unwrap();
        lazy.window(size as i64 / 3, size as i64 / 5, 64, 64);
        lazy.known()
    };
    let (small, large) = (known(9), known(32));
    assert!(small >= 64 * 64 && large < small + 1500, "{small} {large}");
}

/// Holds D7, D8, D17: diamond-square level by level over the whole world gives the same doubles.
#[test]
fn the_dense_map_equals_the_window_on_demand() {
    for rand in [Rand::Pair, Rand::Hash] {
        let world = World { size: 64, ..known_world(rand) };
        assert_eq!(
            dense(&world, Edge::Constant(0.0)).unwrap(),
            Lazy::new(world).unwrap().window(0, 0, 65, 65)
        );
    }
}

/// Holds D8: a constant border, or a torus.
#[test]
fn a_dense_map_keeps_its_edge() {
    let world = World { size: 64, seed: 21, ..World::default() };
    let h = dense(&world, Edge::Constant(1.0)).unwrap();
    assert_eq!(h.len(), 65 * 65);
    for i in 0..65 {
        assert_eq!([h[i], h[64 * 65 + i], h[i * 65], h[i * 65 + 64]], [1.0; 4]);
    }
    // A torus has no seam. Without shifts it is level, and with them the steps across the seam are
    // as small as elsewhere.
    assert!(
        dense(&World { roughness: 0.0, ..world }, Edge::Torus(0.25))
            .unwrap()
            .iter()
            .all(|v| *v == 0.25)
    );
    let h = dense(&world, Edge::Torus(0.5)).unwrap();
    assert_eq!((h.len(), h[0]), (64 * 64, 0.5));
    let step =
        |x: usize| (0..64).map(|y| (h[y * 64 + x] - h[y * 64 + (x + 1) % 64]).abs()).sum::<f64>();
    let inside = (0..63).map(step).fold(0.0, f64::max);
    assert!(step(63) <= inside, "{} {inside}", step(63));
}

/// Holds D11: sizes that are no power of two, or too large, are errors.
#[test]
fn impossible_worlds_are_refused() {
    for world in [
        World { size: 0, ..World::default() },
        World { size: 1, ..World::default() },
        World { size: 100, ..World::default() },
        World { size: 1 << 33, ..World::default() },
        World { rounds: 0, ..World::default() },
        World { roughness: f64::NAN, ..World::default() },
        World { roughness: -1.0, ..World::default() },
    ] {
        assert!(matches!(Lazy::new(world), Err(Error::Param(_))), "{world:?}");
    }
    assert!(matches!(dense(&World::default(), Edge::Torus(0.0)), Err(Error::Limit(_))));
}

/// Holds D5: h = (hL + hR)/2 + random(-R·l, R·l).
#[test]
fn midpoints_of_a_line_stay_within_their_reach() {
    let (levels, roughness) = (10, 1.5);
    let h = midpoint_1d(4, levels, roughness);
    assert_eq!((h.len(), h[0], h[1024]), (1025, 0.0, 0.0));
    let mut step = 1024;
    while step > 1 {
        let reach = roughness * step as f64 / 1024.0;
        let shifts: Vec<f64> = (step / 2..1024)
            .step_by(step)
            .map(|i| h[i] - (h[i - step / 2] + h[i + step / 2]) / 2.0)
            .collect();
        assert!(shifts.iter().all(|s| s.abs() <= reach), "step {step}");
        if shifts.len() >= 32 {
            assert!(
                shifts.iter().any(|s| *s > 0.5 * reach) && shifts.iter().any(|s| *s < -0.5 * reach),
                "step {step}"
            );
        }
        step /= 2;
    }
    assert_eq!(midpoint_1d(4, levels, roughness), h);
    assert_ne!(midpoint_1d(5, levels, roughness), h);
    assert!(midpoint_1d(4, 6, 0.0).iter().all(|v| *v == 0.0));
    assert_eq!(midpoint_1d(4, 0, 1.0), [0.0, 0.0]);
}

/// What the stage makes of ground in cells.
fn staged(ground: &[f64], width: usize, settings: Vec<(&'static str, Value)>) -> Vec<f64> {
    let window = Window::sized(width as u32, (ground.len() / width) as u32);
    let case =
        Case { name: "loop", settings, window, surface: Surface::Flat, layers: Layers::NONE };
    let plan = crate::common::plan(&STAGE, &case);
    let mut cpu = crate::common::cpu();
    cpu.write(
        "height",
        &ground.iter().map(|h| (h * f64::from(CELL)).round() as i32).collect::<Vec<_>>(),
    )
    .unwrap();
    cpu.begin(&plan).unwrap();
    crate::common::run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.read("height").unwrap().iter().map(|h| f64::from(*h) / f64::from(CELL)).collect()
}

/// What was moved, worn and laid, in cells a cell.
fn volumes(before: &[f64], after: &[f64]) -> [f64; 3] {
    let cells = before.len() as f64;
    let change = || before.iter().zip(after).map(|(before, after)| (after - before) / cells);
    [
        change().map(f64::abs).sum::<f64>(),
        change().map(|c| (-c).max(0.0)).sum(),
        change().map(|c| c.max(0.0)).sum(),
    ]
}

/// On drawn block-outs the stage moves about as much ground as the published loop with the same
/// constants: sheer steps need large proposals and loads. It moves less, since its limit slows it
/// on sheer steps.
/// Holds C13, C15.
#[test]
fn the_stage_moves_what_the_loop_moves() {
    let block_out = |of: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
        (0..160 * 160).map(|i| of((i % 160) as f64 - 79.5, (i / 160) as f64 - 79.5)).collect()
    };
    let steps = |x: f64, y: f64| match x.abs().max(y.abs()) {
        far if far < 20.0 => 40.0,
        far if far < 40.0 => 20.0,
        _ => 0.0,
    };
    for (name, ground) in [
        ("steps", block_out(&steps)),
        ("cone", block_out(&|x, y| (60.0 - x.hypot(y)).max(0.0) * 0.8)),
        ("plateau", block_out(&|x, y| if x.hypot(y) < 50.0 { 25.0 } else { 0.0 })),
    ] {
        let mut looped: Vec<f32> = ground.iter().map(|h| *h as f32).collect();
        // The published constants are the loop's defaults.
        let constants = Droplets { count: ground.len() as u64 / 2, ..Default::default() };
        erode(&mut looped, 160, 160, &constants, None);
        let article = thalweg::Preset::find("article").unwrap().step(false).unwrap().settings;
        let settings = article
            .iter()
            .filter(|(name, _)| *name != "max_step_fraction")
            .map(|(name, value)| (name, value.clone()));
        let stage = staged(
            &ground,
            160,
            settings.chain([("max_step_fraction", Value::Number(0.5))]).collect(),
        );
        let (by_loop, by_stage) = (
            volumes(&ground, &looped.iter().map(|h| f64::from(*h)).collect::<Vec<_>>()),
            volumes(&ground, &stage),
        );
        let ratios = [0, 1, 2].map(|n| by_stage[n] / by_loop[n]);
        println!(
            "{name}: moved, worn, laid: {ratios:.3?} of the loop's {by_loop:.3?} cells a cell"
        );
        assert!(ratios[..2].iter().all(|ratio| (0.33..3.0).contains(ratio)), "{name}: {ratios:?}");
        // What the loop leaves on four nodes the stage spreads.
        assert!((0.2..5.0).contains(&ratios[2]), "{name}: {ratios:?}");
    }
}

/// On fractal land and on a survey the stage moves nearly as much as the loop, with the defaults of
/// the stage. The loop digs drains under an open border, up to 16 cells deep in the mean, so its
/// border is put back after every 256 drops, as in `compare --quality`. Many droplets share what a
/// vertex may lose in a step, so the stage moves somewhat less.
/// Holds C13, C15.
#[cfg(feature = "io")]
#[test]
fn the_stage_moves_nearly_what_the_loop_moves_on_land() {
    for path in ["docs/quality.toml", "examples/jacksboro.toml"] {
        let mut recipe = Recipe::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        if recipe.input.is_none() {
            recipe.resize(256, 256).unwrap();
        }
        // The land as it is.
        recipe.levels = None;
        recipe.stages.retain(|step| step.stage.is_generator);
        recipe.stages.push(Step::new("droplets", &[("rain", Value::Number(0.0))]).unwrap());
        let outcome =
            Job::read(recipe).unwrap().run_on(&mut crate::common::cpu(), &mut |_| Ok(())).unwrap();
        let ground: Vec<f64> = outcome
            .words("height")
            .unwrap()
            .iter()
            .map(|h| f64::from(*h) / f64::from(CELL))
            .collect();
        let width = outcome.window.width as usize;
        let depth = ground.len() / width;
        let mut looped: Vec<f32> = ground.iter().map(|h| *h as f32).collect();
        let drops = Droplets {
            count: ground.len() as u64,
            seed: 0,
            ..Droplets::with(&Settings::defaults(STAGE.params))
        };
        erode_inside(&mut looped, width, depth, &drops, None, || Ok(())).unwrap();
        // Away from the border.
        let inner = |heights: &[f64]| -> Vec<f64> {
            let rows = heights.chunks(width).take(depth - 48).skip(48);
            rows.flat_map(|row| row[48..width - 48].to_vec()).collect()
        };
        let looped: Vec<f64> = looped.iter().map(|h| f64::from(*h)).collect();
        let (before, looped, stage) =
            (inner(&ground), inner(&looped), inner(&staged(&ground, width, vec![])));
        let (by_loop, by_stage) = (volumes(&before, &looped), volumes(&before, &stage));
        let ratios = [0, 1, 2].map(|n| by_stage[n] / by_loop[n]);
        println!(
            "{path}: moved, worn, laid: {ratios:.3?} of the loop's {by_loop:.3?} cells a cell"
        );
        assert!(ratios.iter().all(|ratio| (0.6..1.67).contains(ratio)), "{path}: {ratios:?}");
    }
}
