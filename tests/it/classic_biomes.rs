//! The published biome blending in f64. The ids, such as E21, number the statements of K.jpg's
//! article and program.

use thalweg::classic::biomes::{FARTHEST, Gatherer, convolution, convolved, lerped, scattered};

/// Stripes of two biomes, 40 cells wide, and a third beyond.
fn stripes([x, _]: [f64; 2]) -> usize {
    if x > 300.0 { 2 } else { (x / 40.0).floor().rem_euclid(2.0) as usize }
}

/// Holds E7, E8, E21: points are moved by √½ in directions out of 24, of which the published hash
/// reaches 9 with this seed. No place is farther from a point than √½·5/3.
#[test]
fn the_points_are_as_published() {
    let points = Gatherer { frequency: 1.0, seed: 1234 };
    let mut directions = std::collections::BTreeSet::new();
    for i in -40..40 {
        for j in -40..40 {
            let back = (i + j) as f64 * 0.211324865405187;
            let [x, y] = points.point([i, j]);
            let [dx, dy] = [x - i as f64 + back, y - j as f64 + back];
            assert!((dx.hypot(dy) - 0.5f64.sqrt()).abs() < 1e-12);
            directions.insert((dy.atan2(dx).to_degrees() * 2.0).round() as i64);
        }
    }
    assert_eq!(directions.len(), 9);
    assert!(directions.iter().all(|d| (d - 15).rem_euclid(30) == 0), "{directions:?}");
    for n in 0..2000 {
        let at = [(n % 50) as f64 * 0.37, (n / 50) as f64 * 0.41];
        let nearest = points
            .near(at, 3.0)
            .iter()
            .map(|p| (p[0] - at[0]).hypot(p[1] - at[1]))
            .fold(f64::INFINITY, f64::min);
        assert!(nearest <= FARTHEST, "{at:?}: {nearest}");
    }
}

/// Holds E1, E3, E4, E5, E6, E11: by all four methods the weights add up to one, and far from a
/// border there is a single biome.
#[test]
fn weights_add_up_to_one() {
    let points = Gatherer { frequency: 0.1, seed: 5 };
    for x in 0..200 {
        let at = [x, 17];
        let place = at.map(|v| v as f64);
        for weights in [
            scattered(&points, 12.0, place, 3, stripes),
            convolved(1, 15.0, at, 3, stripes),
            convolved(5, 15.0, at, 3, stripes),
            lerped(5, 15.0, at, 3, stripes),
        ] {
            assert!(
                (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12
                    && weights.iter().all(|w| *w >= 0.0),
                "{x}: {weights:?}"
            );
        }
    }
    assert_eq!(scattered(&points, 12.0, [400.0, 0.0], 3, stripes), [0.0, 0.0, 1.0]);
    assert_eq!(convolved(1, 15.0, [20, 0], 3, stripes), [1.0, 0.0, 0.0]);
}

/// Holds E2, E11: computed by hand: with r = 5, points at distances of 3 and 4 cells weigh 16² and
/// 9².
#[test]
fn a_sum_by_hand() {
    let points = [([3.0, 0.0], 0), ([0.0, -4.0], 1), ([5.0, 1.0], 1)];
    let weights = convolution(points.into_iter(), 5.0, [0.0, 0.0], 2);
    assert!(
        (weights[0] - 256.0 / 337.0).abs() < 1e-15 && (weights[1] - 81.0 / 337.0).abs() < 1e-15,
        "{weights:?}"
    );
}

/// Holds E4, E5: between the points of the grid the weights are linear; on them they are those of
/// the convolved grid.
#[test]
fn lerped_weights_are_linear() {
    let at = |x| lerped(8, 24.0, [x, 16], 3, stripes)[0];
    for x in (0..160).step_by(8) {
        assert!((at(x) - convolved(8, 24.0, [x, 16], 3, stripes)[0]).abs() < 1e-15);
        (0..8).for_each(|n| {
            assert!((at(x + n) - at(x) - (at(x + 8) - at(x)) * n as f64 / 8.0).abs() < 1e-12)
        });
    }
}
