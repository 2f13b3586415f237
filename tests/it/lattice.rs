//! The jittered lattice: which points it has, in any window.

use std::collections::BTreeSet;
use thalweg::lattice::{FARTHEST, Lattice, Point};

/// All points in a rectangle, by trying every vertex that could have one there.
fn all(lattice: &Lattice, frequency: f64, origin: [i64; 2], size: [u32; 2]) -> BTreeSet<Point> {
    let corners = [0, 1, 2, 3]
        .map(|c| [0, 1].map(|a| (origin[a] as f64 + ((c >> a & 1) * size[a]) as f64) * frequency));
    // Skewed coordinates: the inverse of the lattice's two vectors.
    let skew = (3f64.sqrt() - 1.0) / 2.0;
    let skewed = corners.map(|[x, y]| [x + (x + y) * skew, y + (x + y) * skew]);
    let range = |a: usize| {
        let of = |c: [f64; 2]| c[a];
        let low = skewed.map(of).into_iter().fold(f64::INFINITY, f64::min).floor() as i64 - 3;
        let high = skewed.map(of).into_iter().fold(f64::NEG_INFINITY, f64::max).ceil() as i64 + 3;
        low..=high
    };
    let points =
        range(0).flat_map(|i| range(1).map(move |j| [i, j])).map(|vertex| lattice.point(vertex));
    points
        .filter(|p| (0..2).all(|a| (0..size[a] as i64).contains(&(p.cell[a] - origin[a]))))
        .collect()
}

/// The search by layers finds exactly the points that a test of every vertex finds.
/// Holds E9.
#[test]
fn layers_find_what_trying_every_vertex_finds() {
    for (frequency, origin, size) in [
        (0.04, [0, 0], [300, 200]),
        (0.04, [-517, 88], [1, 900]),
        (0.095, [-100_003, 70_001], [131, 77]),
        (1.0, [-9, -9], [20, 21]),
        (0.7, [1000, -1000], [64, 64]),
        (0.002, [-3000, 0], [4000, 2500]),
    ] {
        let lattice = Lattice::new(frequency, 77).unwrap();
        let found = lattice.within(origin, size);
        let unique: BTreeSet<Point> = found.iter().copied().collect();
        assert_eq!(unique.len(), found.len(), "{frequency}: a point is there twice");
        assert_eq!(unique, all(&lattice, frequency, origin, size), "{frequency} {origin:?}");
        assert!(!unique.is_empty());
    }
}

/// Overlapping windows have the same points, in the middle of the world as at its ends, with the
/// density of the triangular grid.
/// Holds E7.
#[test]
fn points_belong_to_the_world() {
    let lattice = Lattice::new(0.06, 3).unwrap();
    for far in [0, -(1 << 40), (1 << 62) - 500] {
        let whole: BTreeSet<Point> = lattice.within([far, -far], [400, 300]).into_iter().collect();
        let inside = |p: &&Point| {
            (37..250).contains(&(p.cell[0] - far)) && (11..200).contains(&(p.cell[1] + far))
        };
        let expected: BTreeSet<Point> = whole.iter().filter(inside).copied().collect();
        let part: BTreeSet<Point> =
            lattice.within([far + 37, 11 - far], [213, 189]).into_iter().collect();
        assert_eq!(part, expected);
        // f²·√3 points a cell, here 748.
        assert!(
            (whole.len() as f64 / (400.0 * 300.0 * 0.06 * 0.06 * 3f64.sqrt()) - 1.0).abs() < 0.05,
            "{}",
            whole.len()
        );
    }
}

/// All points are moved by the same length, √½/f, in 24 directions, each of which occurs. So no
/// place is farther from a point than stated.
/// Holds E7, E8.
/// Holds E21 in part.
#[test]
fn no_place_is_far_from_a_point() {
    let frequency = 0.05;
    let lattice = Lattice::new(frequency, 5).unwrap();
    let points = lattice.within([-200, -200], [600, 600]);
    let place = |p: &Point| [0, 1].map(|a| p.cell[a] as f64 + p.fraction[a] as f64 / 65536.0);
    let shrink = (3.0 - 3f64.sqrt()) / 6.0;
    let mut directions = BTreeSet::new();
    for p in &points {
        let [i, j] = p.vertex.map(|v| v as f64);
        let still = [i - (i + j) * shrink, j - (i + j) * shrink].map(|v| v / frequency);
        let [x, y] = [0, 1].map(|a| place(p)[a] - still[a]);
        assert!((x.hypot(y) - 0.5f64.sqrt() / frequency).abs() < 1e-2, "{p:?}");
        directions.insert((y.atan2(x).to_degrees() / 15.0).floor() as i64);
    }
    assert_eq!(directions.len(), 24);
    let mut farthest: f64 = 0.0;
    for y in 0..200 {
        for x in 0..200 {
            let near = |p: &Point| (place(p)[0] - x as f64).hypot(place(p)[1] - y as f64);
            farthest = farthest.max(points.iter().map(near).fold(f64::INFINITY, f64::min));
        }
    }
    assert!(
        farthest <= FARTHEST / frequency && farthest > 0.5 * FARTHEST / frequency,
        "{farthest}"
    );
}

#[test]
fn frequencies_out_of_range_are_named() {
    for frequency in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.5, 0.001] {
        let error = Lattice::new(frequency, 0).unwrap_err().to_string();
        assert!(error.contains("frequency") && error.contains("0.002 to 1"), "{error}");
    }
}
