//! Blur: binomial weights, exact sums, planes that stay planes.

use crate::common::{cpu, plan, run};
use thalweg::arith::CELL;
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::site::{Layers, Window};
use thalweg::stage::{Case, Surface, blur::STAGE};

const W: usize = 61;
const H: usize = 43;

/// `heights` after that many passes.
fn blurred(heights: &[i32], width: usize, passes: i64, border: &str) -> Vec<i32> {
    let case = Case {
        name: "made",
        settings: vec![("passes", Value::Integer(passes)), ("border", Value::Word(border.into()))],
        window: Window {
            origin: [0, 0],
            width: width as u32,
            height: (heights.len() / width) as u32,
        },
        surface: Surface::Flat,
        layers: Layers::NONE,
    };
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    cpu.write("height", heights).unwrap();
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    cpu.read("height").unwrap()
}

fn map(f: impl Fn(i64, i64) -> i32) -> Vec<i32> {
    (0..W * H).map(|i| f((i % W) as i64, (i / W) as i64)).collect()
}

fn sum(heights: &[i32]) -> i64 {
    heights.iter().map(|&h| h as i64).sum()
}

/// A row of Pascal's triangle.
fn binomial(n: i64, k: i64) -> i64 {
    if k < 0 || k > n { 0 } else { (1..=k).fold(1, |c, i| c * (n + 1 - i) / i) }
}

/// Passes spread a single height by binomial weights; one pass is the kernel [1 2 1; 2 4 2; 1 2 1]
/// / 16.
/// Holds A14, A26.
#[test]
fn an_impulse_becomes_the_binomial_coefficients() {
    // 16ⁿ is shared without remainders n times.
    for n in 1..=7 {
        for (border, x0) in [("mirror", 30), ("torus", 2)] {
            let after = blurred(
                &map(|x, y| if (x, y) == (x0, 20) { 1 << (4 * n) } else { 0 }),
                W,
                n,
                border,
            );
            let weight = |d: i64| binomial(2 * n, n + d);
            let expected = map(|x, y| {
                (weight((x - x0 + 30).rem_euclid(W as i64) - 30) * weight(y - 20)) as i32
            });
            assert!(after == expected, "{n} passes, {border}");
        }
    }
}

#[test]
fn what_would_leave_comes_back() {
    // Folded at a corner: the weights 1 2 1 of what lies beyond are added to those inside.
    let after = blurred(&map(|x, y| if (x, y) == (0, 0) { 16 } else { 0 }), W, 1, "mirror");
    assert_eq!([after[0], after[1], after[W], after[W + 1]], [9, 3, 3, 1]);
    let after = blurred(&map(|x, y| if (x, y) == (0, 0) { 16 } else { 0 }), W, 1, "torus");
    assert_eq!([after[0], after[W - 1], after[W * H - 1], after[W + 1]], [4, 2, 1, 1]);
}

#[test]
fn the_sum_stays_to_the_unit() {
    for surface in Surface::ALL {
        let before = surface.heights(&Window { origin: [0, 0], width: W as u32, height: H as u32 });
        for (border, passes) in [("mirror", 1), ("mirror", 64), ("torus", 5)] {
            let after = blurred(&before, W, passes, border);
            assert_eq!(sum(&after), sum(&before), "{surface:?} {border} {passes}");
            assert!(surface == Surface::Flat || after != before);
        }
    }
    for (width, height) in [(1, 1), (1, 50), (50, 1), (2, 2), (3, 2)] {
        let before: Vec<i32> =
            (0..width * height).map(|i| (i as i32 * 7919) % 1000 - 300).collect();
        for border in ["mirror", "torus"] {
            assert_eq!(
                sum(&blurred(&before, width, 5, border)),
                sum(&before),
                "{width}x{height} {border}"
            );
        }
    }
}

#[test]
fn a_plane_stays_a_plane() {
    let passes = 8usize;
    let inner = |after: &[i32], before: &[i32], most: i32| {
        for y in passes..H - passes {
            for x in passes..W - passes {
                assert!((after[y * W + x] - before[y * W + x]).abs() <= most, "{x} {y}");
            }
        }
    };
    // Without remainders exactly; else a cell can gain or lose at most 7 units of remainders a
    // pass.
    let whole = map(|x, y| (x as i32 * 3 - y as i32 * 5) * (CELL / 4));
    inner(&blurred(&whole, W, passes as i64, "mirror"), &whole, 0);
    let odd = map(|x, y| x as i32 * 31_337 - y as i32 * 77_777 + 13);
    inner(&blurred(&odd, W, passes as i64, "mirror"), &odd, 7 * passes as i32);
}

#[test]
fn a_change_comes_as_far_as_the_reach_and_no_farther() {
    let before = map(|x, y| (x * x * 999 + y * 12_345) as i32);
    let mut other = before.clone();
    other[20 * W + 30] += CELL;
    for passes in [1, 6] {
        let (a, b) = (blurred(&before, W, passes, "mirror"), blurred(&other, W, passes, "mirror"));
        let far = (0..W * H)
            .filter(|i| a[*i] != b[*i])
            .map(|i| (i as i64 % W as i64 - 30).abs().max((i as i64 / W as i64 - 20).abs()));
        assert_eq!(far.max(), Some(passes));
    }
}
