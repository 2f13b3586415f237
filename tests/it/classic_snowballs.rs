//! The published snowballs. The ids, such as A10, number the statements of Talle's article and
//! program.

use thalweg::classic::snowballs::{Report, Snowballs, Splat, blur, erode, trace};

const W: usize = 64;
const D: usize = 48;

fn map(f: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..W * D).map(|i| f(i % W, i / W)).collect()
}

/// A smooth hill on a level floor at 0.
fn hill() -> Vec<f64> {
    map(|x, y| {
        let (dx, dy) = ((x as f64 - 31.0) / 24.0, (y as f64 - 23.0) / 20.0);
        let q = (1.0 - dx * dx - dy * dy).max(0.0);
        12.0 * q * q
    })
}

fn sum(h: &[f64]) -> f64 {
    h.iter().sum()
}

/// Holds A13, A21, A22: the published constants. The erosion of 0.04 units in the program is 0.4 of
/// its cells of 0.1 units.
#[test]
fn defaults_are_the_published_ones() {
    let p = Snowballs::default();
    assert_eq!(
        (p.count, p.erosion_rate, p.deposition_rate, p.speed, p.friction),
        (50_000, 0.4, 0.03, 0.15, 0.7)
    );
    assert_eq!(
        (p.radius, p.iterations, p.iteration_scale, p.splat, p.outside),
        (0.8, 80, 0.04, Splat::Bilinear, 0.0)
    );
    assert_eq!(Snowballs::count_for(251, 501), 50_000);
}

/// Holds A5, A6, A8, A9, A10, A11, A12, A18, A25, A29: on a plane of slope s the normal is (−s, 1)
/// / √(1 + s²) everywhere, so everything has a closed form. With c = 1/√(1 + s²), the speed after k
/// steps is −0.15·s·c·(1 − 0.7ᵏ)/0.3 (A12), the erosion of step i is E·(1 − c)·min(1, 0.04·i) (A9),
/// the deposit is a share 0.03·c of the sediment (A8), and both change the ground at the previous
/// position (A10). The erosion is so small that the plane stays a plane. `traffic` counts the steps
/// (A18).
#[test]
fn a_snowball_on_a_plane_is_as_computed_by_hand() {
    let slope = 0.75; // c = 0.8
    let (c, rate) = (0.8, 1e-9);
    for splat in [Splat::Bilinear, Splat::Published] {
        let p = Snowballs { erosion_rate: rate, iterations: 40, splat, ..Snowballs::published() };
        let plane = map(|x, _| slope * x as f64);
        let mut h = plane.clone();
        let mut traffic = vec![0; W * D];
        let [x0, y0] = [50.3, 20.25];
        let report = trace(&mut h, W, D, &p, [x0, y0], [0.4, -0.7], Some(&mut traffic));

        let mut expected = vec![0.0; W * D];
        let (mut sediment, mut eroded, mut deposited) = (0.0, 0.0, 0.0);
        // Position after k steps: x0 − 0.15·s·c/0.3·(k − 0.7·(1 − 0.7ᵏ)/0.3).
        let x =
            |k: i32| x0 - 0.15 * slope * c / 0.3 * (k as f64 - 0.7 * (1.0 - 0.7f64.powi(k)) / 0.3);
        for i in 0..40 {
            let erosion = rate * (1.0 - c) * (0.04 * i as f64).min(1.0);
            let deposit = sediment * 0.03 * c;
            let at: f64 = x(if i == 0 { 0 } else { i - 1 });
            let (fx, fy) = (at - at.floor(), y0 - y0.floor());
            let corners = [
                (0, 0, (1.0 - fx) * (1.0 - fy)),
                (1, 0, fx * (1.0 - fy)),
                (0, 1, (1.0 - fx) * fy),
                (1, 1, fx * fy),
            ];
            for (dx, dy, w) in corners {
                let (dx, dy) = if splat == Splat::Published { (1 - dx, 1 - dy) } else { (dx, dy) };
                expected[(y0 as usize + dy) * W + at as usize + dx] += w * (deposit - erosion);
            }
            sediment += erosion - deposit;
            eroded += erosion;
            deposited += deposit;
        }
        // Heights near 40 are rounded by up to 7e-15 each time they are written.
        for i in 0..h.len() {
            assert!(
                (h[i] - plane[i] - expected[i]).abs() < 3e-13,
                "{splat:?} {i}: {} {}",
                h[i] - plane[i],
                expected[i]
            );
        }
        assert!(expected.iter().any(|v| *v < -1e-10), "a change well above the rounding");
        assert_eq!(report.steps, 40);
        assert!(
            (report.eroded - eroded).abs() < 1e-6 * eroded
                && (report.deposited - deposited).abs() < 1e-6 * deposited
        );
        assert!((report.lost - sediment).abs() < 1e-6 * sediment);
        assert_eq!(traffic.iter().sum::<u32>(), 40);
        let last = (x(39) + 0.5) as usize;
        assert!(traffic[20 * W + last] > 0 && traffic[20 * W + last - 1] == 0, "{last}");
    }
}

/// Holds A7, A25: on level ground a snowball stops.
#[test]
fn flat_ground_stops_a_snowball() {
    let mut h = vec![3.5; W * D];
    let r = trace(&mut h, W, D, &Snowballs::default(), [20.5, 20.5], [0.1, 0.1], None);
    assert_eq!((r, h), (Report::default(), vec![3.5; W * D]));
    // Outside the map everything is level: nothing happens, however far away the snowball is. At
    // the rim there is a cliff.
    for start in [[-3.0, 5.0], [200.0, 5.0], [5.0, -2.0], [5.0, 99.0]] {
        assert_eq!(
            trace(&mut hill(), W, D, &Snowballs::default(), start, [0.0, 0.0], None).steps,
            0
        );
    }
    let mut edge = vec![3.5; W * D];
    assert!(
        trace(&mut edge, W, D, &Snowballs::default(), [62.5, 20.0], [0.0, 0.0], None).steps > 0
    );
    let level = Snowballs { outside: 3.5, ..Snowballs::default() };
    assert_eq!(trace(&mut vec![3.5; W * D], W, D, &level, [62.5, 20.0], [0.0, 0.0], None).steps, 0);
}

/// Holds A10, A29: the shares of the four corners when a snowball takes 1 at (1/4, 1/8) of a
/// square.
#[test]
fn a_change_goes_to_the_nearest_corner_unless_published() {
    let near = [0.75 * 0.875, 0.25 * 0.875, 0.75 * 0.125, 0.25 * 0.125];
    let far = [near[3], near[2], near[1], near[0]];
    for (splat, weights) in [(Splat::Bilinear, near), (Splat::Published, far)] {
        // The upward part of the normal is 0.8. The second step takes 5 · (1 − 0.8) = 1, still at
        // the first place.
        let p = Snowballs {
            erosion_rate: 5.0,
            deposition_rate: 0.0,
            iteration_scale: 1.0,
            iterations: 2,
            splat,
            ..Snowballs::default()
        };
        let mut h = map(|x, _| 0.75 * x as f64);
        trace(&mut h, W, D, &p, [30.25, 20.125], [0.0, 0.0], None);
        let at = |dx: usize, dy: usize| 0.75 * (30 + dx) as f64 - h[(20 + dy) * W + 30 + dx];
        let got = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
        for (g, w) in got.iter().zip(weights) {
            assert!((g - w).abs() < 1e-12, "{splat:?} {got:?} {weights:?}");
        }
        assert!((got.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

/// Holds A11: what is taken up is laid down or counted as lost.
#[test]
fn the_books_balance() {
    for splat in [Splat::Bilinear, Splat::Published] {
        // The hill, and ground that ends in a cliff at the border, where snowballs leave the map.
        for before in [hill(), map(|x, y| 9.0 + (x * y % 5) as f64)] {
            let p = Snowballs { count: 1000, splat, ..Snowballs::default() };
            let mut after = before.clone();
            let mut traffic = vec![0; W * D];
            let r = erode(&mut after, W, D, &p, Some(&mut traffic));
            let bound = 1e-12 * (r.eroded + sum(&before));
            assert!((sum(&before) - sum(&after) - r.lost).abs() < bound, "{r:?}");
            assert!((r.eroded - r.deposited - r.lost).abs() < bound, "{r:?}");
            assert!(r.eroded > 1.0 && r.deposited > 0.1 && r.lost != 0.0, "{r:?}");
            let counted: u64 = traffic.iter().map(|&t| t as u64).sum();
            assert!(counted > 0 && counted <= r.steps);
        }
    }
}

/// Holds A4: on a ridge, where a snowball looks at the ground decides to which side it rolls.
#[test]
fn the_offset_turns_snowballs_aside() {
    let ridge = map(|_, y| 20.0 - (y as f64 - 24.0).abs());
    for (beside, south) in [(0.5, true), (-0.5, false)] {
        let mut traffic = vec![0; W * D];
        trace(
            &mut ridge.clone(),
            W,
            D,
            &Snowballs::default(),
            [30.0, 24.0],
            [0.0, beside],
            Some(&mut traffic),
        );
        let rows = |r: std::ops::Range<usize>| traffic[r.start * W..r.end * W].iter().sum::<u32>();
        assert_eq!((rows(0..24) == 0, rows(25..D) == 0), (south, !south));
    }
}

/// Holds A14, A26: the kernel [1 2 1; 2 4 2; 1 2 1] / 16, except on the rim.
#[test]
fn the_blur_of_an_impulse_is_its_kernel() {
    let mut h = vec![0.0; W * D];
    h[20 * W + 30] = 16.0;
    h[0] = 16.0;
    blur(&mut h, W, D);
    for dy in 0..5 {
        for dx in 0..5 {
            let weight = |d: usize| [0.0, 1.0, 2.0, 1.0, 0.0][d];
            assert_eq!(h[(18 + dy) * W + 28 + dx], weight(dx) * weight(dy));
        }
    }
    // Vertices of the rim stay as they are, and contribute to their neighbours.
    assert_eq!((h[0], h[1], h[W], h[W + 1]), (16.0, 0.0, 0.0, 1.0));
}

/// Holds A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A29: fixed results of whole runs. The
/// article's own program gives them too, with the same random numbers on the same hill.
#[test]
fn snowballs_repeat_to_the_bit() {
    let print = |splat| {
        let mut h = hill();
        let r = erode(
            &mut h,
            W,
            D,
            &Snowballs { count: 2000, seed: 11, splat, ..Snowballs::default() },
            None,
        );
        blur(&mut h, W, D);
        (h.iter().fold(0u64, |s, v| s.wrapping_mul(0x100_0000_01b3) ^ v.to_bits()), r.steps)
    };
    assert_eq!(print(Splat::Bilinear), BILINEAR);
    assert_eq!(print(Splat::Published), PUBLISHED);
}
const BILINEAR: (u64, u64) = (8172522316751469838, 120400);
const PUBLISHED: (u64, u64) = (498047372453103541, 122160);
