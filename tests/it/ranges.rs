//! Ranges: every node drains, slopes follow the area by the power asked for, sides and steepness,
//! the same land everywhere.

use crate::common::{generated, same_everywhere};
use std::sync::Arc;
use thalweg::map::Map;
use thalweg::params::{Settings, Value};
use thalweg::picture::Picture;
use thalweg::site::{Site, Window};
use thalweg::stage::ranges::{STAGE, worked_out};

fn i(name: &'static str, v: i64) -> (&'static str, Value) {
    (name, Value::Integer(v))
}

fn n(name: &'static str, v: f64) -> (&'static str, Value) {
    (name, Value::Number(v))
}

fn w(name: &'static str, v: &str) -> (&'static str, Value) {
    (name, Value::Word(v.into()))
}

fn settings(given: &[(&str, Value)]) -> Settings {
    Settings::new(
        STAGE.params,
        &given.iter().map(|(n, v)| (n.to_string(), v.clone())).collect::<Vec<_>>(),
    )
    .unwrap()
}

/// The heights of nodes, 0 to 1.
fn nodes(given: &[(&str, Value)], seed: u64) -> Vec<f64> {
    let site = Site::bare(Window::sized(2, 2), 10.0, seed);
    worked_out(&settings(given), &site)
        .iter()
        .map(|v| f64::from(*v) / (1u32 << 28) as f64)
        .collect()
}

const SIDE: usize = 129;

/// An area of 129 × 129 nodes without what hides the law: cut mountainsides and rock that varies.
fn bare(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let all = [
        i("extent_x_cells", 512),
        i("extent_y_cells", 512),
        n("slope_max", 8.0),
        n("relief_m", 1000.0),
    ];
    [&all, more].concat()
}

/// The lowest neighbour of an inner node, by slope, with the distances of the lattice.
fn receiver(z: &[f64], k: usize) -> Option<(usize, f64)> {
    let (x, y) = ((k % SIDE) as i32, (k / SIDE) as i32);
    let near = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))).filter(|d| *d != (0, 0));
    let slopes = near.map(|(dx, dy)| {
        let m = ((y + dy) * SIDE as i32 + x + dx) as usize;
        (m, (z[k] - z[m]) / f64::from(dx * dx + dy * dy).sqrt())
    });
    slopes.filter(|(_, slope)| *slope > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))
}

fn inner(k: usize) -> bool {
    let (x, y) = (k % SIDE, k / SIDE);
    x > 0 && y > 0 && x < SIDE - 1 && y < SIDE - 1
}

/// Nodes that a path of the steepest descent from each node goes through: area in nodes.
fn areas(z: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..z.len()).collect();
    order.sort_by(|a, b| z[*b].total_cmp(&z[*a]));
    let mut area = vec![1.0; z.len()];
    for k in order.into_iter().filter(|k| inner(*k)) {
        if let Some((m, _)) = receiver(z, k) {
            area[m] += area[k];
        }
    }
    area
}

/// Water finds its way from every node to a side: rivers have no depressions.
#[test]
fn every_node_drains() {
    for (seed, more) in [
        (1, vec![]),
        (2, vec![w("uplift", "constant")]),
        (3, vec![n("plain", 0.01), n("concavity", 0.6)]),
    ] {
        let z = nodes(&bare(&more), seed);
        let depressions = (0..z.len()).filter(|k| inner(*k) && receiver(&z, *k).is_none()).count();
        assert_eq!(depressions, 0, "seed {seed}");
        assert!((0..z.len()).all(|k| inner(k) || z[k] == 0.0), "the sides are at the base");
        assert!((z.iter().copied().fold(0.0, f64::max) - 1.0).abs() < 1e-6);
    }
}

/// At rest U = K Aᵐ S, so that log S falls with log A by m: the concavity that was asked for. Areas
/// and slopes are found anew here, with the plain distances of the lattice.
#[test]
fn slopes_follow_areas_by_the_concavity() {
    for concavity in [0.375, 0.5, 0.625] {
        let given = bare(&[w("uplift", "constant"), n("hardness", 0.0), n("concavity", concavity)]);
        let mut sums = [0f64; 5];
        for seed in 0..3 {
            let z = nodes(&given, seed);
            let area = areas(&z);
            for k in (0..z.len()).filter(|k| inner(*k) && area[*k] >= 4.0) {
                let (_, slope) = receiver(&z, k).unwrap();
                let (a, s) = (area[k].ln(), slope.ln());
                let more = [1.0, a, s, a * a, a * s];
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
        }
        let [count, a, s, aa, sa] = sums;
        let found = -(count * sa - a * s) / (count * aa - a * a);
        assert!((found - concavity).abs() < 0.04, "{concavity} asked for, {found} found");
    }
}

/// Rivers gather: the largest basins drain a good part of the land, and half of all nodes drain
/// next to nothing.
#[test]
fn valleys_are_trees() {
    for seed in 0..3 {
        let area = areas(&nodes(&bare(&[w("uplift", "constant")]), seed));
        let largest = area.iter().copied().fold(0.0, f64::max) / area.len() as f64;
        assert!(largest > 0.04, "seed {seed}: {largest}");
        // Of random binary trees half of the links are sources.
        let sources = area.iter().filter(|a| **a == 1.0).count() as f64 / area.len() as f64;
        assert!((0.3..0.7).contains(&sources), "seed {seed}: {sources}");
    }
}

/// No mountainside is steeper than asked for, but by what nodes off their places and diagonal steps
/// make.
#[test]
fn mountainsides_are_cut() {
    let given = [
        i("extent_x_cells", 512),
        i("extent_y_cells", 512),
        n("slope_max", 0.5),
        n("relief_m", 3000.0),
    ];
    let z = nodes(&given, 5);
    // 4 cells of 10 m from node to node.
    let slope = |k: usize| receiver(&z, k).map_or(0.0, |(_, slope)| slope * 3000.0 / 40.0);
    let steepest = (0..z.len()).filter(|k| inner(*k)).map(slope).fold(0.0, f64::max);
    // Nodes are at most 0.4 off their places along each axis, so neighbours that seem to be 1 apart
    // are at most √(1.8² + 0.8²) apart.
    assert!((0.45..0.5 * 1.97).contains(&steepest), "{steepest}");
}

/// Rock rises where a picture is bright.
/// Holds D24 in part.
#[test]
fn a_picture_says_where_rock_rises() {
    let data: Vec<f32> = (0..16).map(|k| if k % 4 >= 2 { 1.0 } else { 0.0 }).collect();
    let picture = Picture::of(&Map {
        width: 4,
        height: 4,
        spacing_m: 1.0,
        data,
        range_m: None,
        georef: None,
    })
    .unwrap();
    let mut s =
        settings(&bare(&[w("uplift", "picture"), w("file", "bright.png"), n("plain", 0.02)]));
    s.show("bright.png", Arc::new(picture));
    let z = worked_out(&s, &Site::bare(Window::sized(2, 2), 10.0, 1));
    let mean = |from: usize, to: usize| {
        let half = z
            .iter()
            .enumerate()
            .filter(|(k, _)| (from..to).contains(&(k % SIDE)))
            .map(|(_, v)| f64::from(*v));
        half.sum::<f64>()
    };
    assert!(mean(SIDE / 2, SIDE) > 4.0 * mean(0, SIDE / 2));
}

#[test]
fn the_land_is_the_same_everywhere() {
    let small = |x: i64, y: i64| {
        [
            i("centre_x", x),
            i("centre_y", y),
            i("extent_x_cells", 90),
            i("extent_y_cells", 80),
            i("spacing_cells", 3),
            n("feature_cells", 50.0),
        ]
    };
    let window = Window { origin: [-5, -4], width: 100, height: 90 };
    same_everywhere(&STAGE, &small(45, 40), window, true, 4);
    let far = Window { origin: [(1 << 60) - 50, -(1 << 60) + 3], ..window };
    same_everywhere(&STAGE, &small(1 << 60, -(1 << 60) + 40), far, true, 4);
    // Outside is the base.
    let site = Site::bare(Window { origin: [1 << 61, -(1 << 61)], width: 9, height: 9 }, 10.0, 1);
    assert!(generated(&STAGE, &small(0, 0), &site).iter().all(|word| *word == 0));
    // Seeds make different land.
    assert_ne!(nodes(&bare(&[]), 1), nodes(&bare(&[]), 2));
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |given: &[(&str, Value)]| {
        (STAGE.check)(&settings(given), &Site::bare(Window::sized(9, 9), 10.0, 0))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&[i("spacing_cells", 400)]),
        "extent_x_cells = 1024 at spacing_cells = 400: 3 nodes: allowed are 4 to 1025: change \
         spacing_cells or \
         extent_x_cells"
    );
    assert!(
        refused(&[i("extent_y_cells", 1 << 24)])
            .starts_with("extent_y_cells = 16777216 at spacing_cells = 4: 4194305 nodes")
    );
    assert_eq!(
        refused(&[w("uplift", "picture")]),
        "uplift = \"picture\", file = \"\": name the picture"
    );
    assert!(
        refused(&[w("file", "a.png")]).contains("a file is read only with uplift = \"picture\"")
    );
    assert!(refused(&[n("relief_m", 1e6)]).contains("allowed up to 8000 cells"));
}
