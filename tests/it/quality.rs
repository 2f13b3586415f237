//! Statistics of terrain: planes, cones, waves, noise and small drainage nets, whose figures are
//! known, and real land, whose figures an independent program has printed.

use serde_json::Value;
use std::f64::consts::{SQRT_2, TAU};
use std::path::Path;
use thalweg::arith::hash;
use thalweg::io::{ReadOptions, read};
use thalweg::map::Map;
use thalweg::quality::{
    DIRECTIONS, Drainage, FIGURES, Forms, Grid, Statistics, change, channel_cells, drainage, forms,
    in_cells, network, spectrum, statistics,
};
use thalweg::recipe::Levels;
use thalweg::{Device, Heights, Job, Preset, Recipe};

fn map(w: usize, d: usize, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    (0..w * d).map(|i| f((i % w) as f64, (i / w) as f64)).collect()
}

fn figures(height: &[f64], w: usize) -> Statistics {
    statistics(Grid::new(height, w, height.len() / w).unwrap()).unwrap()
}

#[track_caller]
fn near(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() <= by, "{a} is not {b} to {by}");
}

/// Uniform noise: variance 1/12, and no preferred direction.
fn noise(w: usize, d: usize) -> Vec<f64> {
    map(w, d, |x, y| hash([1, 2], x as u32, y as u32) as f64 / 4294967296.0)
}

#[test]
fn a_plane_is_smooth_drained_and_without_direction() {
    let s = figures(&map(60, 48, |x, y| 0.3 * x + 0.4 * y), 60);
    for slope in [s.slope_p10, s.slope_p50, s.slope_p90, s.slope_p99] {
        near(slope, 0.5, 1e-12);
    }
    near(s.hypsometric_p50, 0.5, 1e-3);
    near(s.hypsometric_integral, 0.5, 1e-12);
    near(s.relief, 0.3 * 59.0 + 0.4 * 47.0, 1e-9);
    near(s.speckle, 0.0, 1e-12);
    assert_eq!(
        (s.pits, s.closed, s.plains, s.hummocks, s.plain_speckle),
        (0.0, 0.0, 0.0, None, None)
    );
    // All slopes are one, and nothing is curved. The height differs by distance times slope, so H
    // is 1.
    near(s.slope_variation.unwrap(), 0.0, 1e-9);
    near(s.hurst.unwrap(), 1.0, 1e-9);
    assert_eq!(
        (s.laplacian_skew, s.forms.unwrap().slope, s.ridges_and_valleys),
        (None, 1.0, Some(0.0))
    );
    assert!(
        s.spectrum.directions.iter().all(|d| (d - 1.0).abs() < 1e-9),
        "{:?}",
        s.spectrum.directions
    );
    // A gentle slope counts as a plain, and has no hummocks.
    let s = figures(&map(60, 48, |x, _| 0.04 * x), 60);
    assert_eq!(s.plains, 1.0);
    near(s.hummocks.unwrap(), 0.0, 1e-12);
}

#[test]
fn a_cone_and_a_funnel() {
    let r = |x: f64, y: f64| ((x - 50.0).powi(2) + (y - 50.0).powi(2)).sqrt();
    let cone = figures(&map(101, 101, |x, y| 100.0 - 0.7 * r(x, y)), 101);
    near(cone.slope_p50, 0.7, 1e-3);
    assert_eq!((cone.pits, cone.closed), (0.0, 0.0));
    // Height over the corners is 0.7 (r of a corner - r), and the mean of r over a square of side 2
    // is (√2 + ln(1 + √2)) / 3. The cells cover a square of side 101, and the corner cells are 50
    // √2 from the centre.
    let integral = 1.0 - (SQRT_2 + (1.0 + SQRT_2).ln()) / 3.0 * 50.5 / (50.0 * SQRT_2);
    near(cone.hypsometric_integral, integral, 1e-4);
    let funnel = figures(&map(101, 101, |x, y| 0.7 * r(x, y)), 101);
    near(funnel.pits * 99.0 * 99.0, 1.0, 1e-9);
    // Water stands up to the midpoints of the sides: a disc of radius 50, except its rim.
    near(funnel.closed * 99.0 * 99.0, TAU / 2.0 * 2500.0, 80.0);
    near(funnel.hypsometric_integral, 1.0 - integral, 1e-4);
    // It is a cone of water 35 cells deep, and more than half a cell deep but for a rim of 0.5 /
    // 0.7 cells. It runs over at the midpoints of the four sides.
    near(funnel.fill * 101.0 * 101.0, TAU / 2.0 * 2500.0 * 35.0 / 3.0, 200.0);
    near(funnel.depressions * 99.0 * 99.0, TAU / 2.0 * (50.0f64 - 0.5 / 0.7).powi(2), 80.0);
    assert_eq!((cone.depressions, cone.fill), (0.0, 0.0));
    near(funnel.catchment, 0.25, 0.01);
}

/// A valley with straight sides drains at one cell, and a roof at as many as it has cells along its
/// eaves.
#[test]
fn a_valley_is_one_catchment() {
    let valley = figures(&map(101, 64, |x, y| 2.0 * (x - 50.0).abs() + 0.01 * y), 101);
    // The cells on the border drain over it at once.
    near(valley.catchment, (99.0 * 62.0 + 1.0) / (101.0 * 64.0), 1e-9);
    let roof = figures(&map(101, 64, |x, _| -(x - 50.0).abs()), 101);
    near(roof.catchment, 51.0 / (101.0 * 64.0), 1e-9);
}

#[test]
fn five_by_five_cells_drain_as_by_hand() {
    let height = [
        [9.0, 9.0, 9.0, 9.0, 9.0], // a closed bowl with its outlet in the middle of the south side
        [9.0, 5.0, 6.0, 5.0, 9.0],
        [9.0, 4.0, 1.0, 4.0, 9.0],
        [9.0, 5.0, 3.0, 5.0, 9.0],
        [9.0, 9.0, 2.0, 9.0, 9.0],
    ]
    .concat();
    let d = drainage(Grid::new(&height, 5, 5).unwrap());
    // The bottom (1) is lower than its outlet (3), so it is filled up to that.
    assert_eq!(d.filled[12], 3.0);
    assert_eq!(d.filled.iter().zip(&height).filter(|(f, h)| f != h).count(), 1);
    // Water leaves the land on the border, and the floor drains to where the flood came from.
    let receiver: Vec<u32> = [
        [0, 1, 2, 3, 4], //
        [5, 12, 12, 12, 9],
        [10, 12, 17, 12, 14],
        [15, 22, 22, 22, 19],
        [20, 21, 22, 23, 24],
    ]
    .concat();
    assert_eq!(d.receiver, receiver);
    let area: Vec<u32> = [
        [1, 1, 1, 1, 1], //
        [1, 1, 1, 1, 1],
        [1, 1, 6, 1, 1],
        [1, 1, 7, 1, 1],
        [1, 1, 10, 1, 1],
    ]
    .concat();
    assert_eq!(d.area, area);
}

#[test]
fn all_cells_drain_over_the_border_once() {
    let height = noise(70, 50);
    let d = drainage(Grid::new(&height, 70, 50).unwrap());
    let out: u32 =
        (0..height.len()).filter(|&i| d.receiver[i] as usize == i).map(|i| d.area[i]).sum();
    assert_eq!(out as usize, height.len());
    for i in 0..height.len() {
        let (x, y, to) = (i % 70, i / 70, d.receiver[i] as usize);
        let border = x == 0 || y == 0 || x == 69 || y == 49;
        assert!((to != i && d.filled[to] <= d.filled[i]) != border, "cell {x}, {y} has no way out");
    }
    assert!(d.upstream.windows(2).all(|p| d.filled[p[0] as usize] <= d.filled[p[1] as usize]));
}

/// A drainage net drawn by hand from paths of (x, y). The first path leads off the map; the others
/// end on an earlier one.
fn net(width: usize, depth: usize, paths: &[&[(usize, usize)]]) -> Drainage {
    let cells = width * depth;
    let mut d = Drainage {
        filled: vec![0.0; cells],
        receiver: (0..cells as u32).collect(),
        area: vec![0; cells],
        upstream: vec![],
    };
    for path in paths {
        for (k, pair) in path.windows(2).rev().enumerate() {
            let [from, to] = [pair[0], pair[1]].map(|(x, y)| y * width + x);
            if d.upstream.is_empty() {
                d.upstream.push(to as u32);
                d.area[to] = 1;
            }
            assert!(k > 0 || d.area[to] == 1, "joins an earlier path");
            (d.receiver[from], d.area[from]) = (to as u32, 1);
            d.upstream.push(from as u32);
        }
    }
    d
}

#[test]
fn orders_and_ratios_are_those_of_strahler() {
    // Two pairs of streams of length 2 join into two of length 4, and these into one of length 8.
    // Another stream of the first order, of length 1, joins the last.
    let d = net(
        12,
        16,
        &[
            &[(2, 4), (2, 5), (2, 6), (2, 7), (2, 8), (2, 9), (2, 10), (2, 11), (2, 12)],
            &[(2, 0), (2, 1), (2, 2), (2, 3), (2, 4)],
            &[(6, 4), (5, 4), (4, 4), (3, 4), (2, 4)],
            &[(1, 1), (1, 0), (2, 0)],
            &[(4, 0), (3, 0), (2, 0)],
            &[(6, 2), (6, 3), (6, 4)],
            &[(8, 4), (7, 4), (6, 4)],
            &[(3, 8), (2, 8)],
        ],
    );
    let n = network(&d, 12, 1);
    let orders: Vec<(u32, f64)> = n.orders.iter().map(|o| (o.streams, o.mean_length)).collect();
    assert_eq!(orders, [(5, 9.0 / 5.0), (2, 4.0), (1, 8.0)]);
    // The line through three logarithms that lie evenly apart has half of the difference between
    // the outer ones.
    near(n.bifurcation_ratio.unwrap(), 5f64.sqrt(), 1e-12);
    near(n.length_ratio.unwrap(), (8.0f64 / (9.0 / 5.0)).sqrt(), 1e-12);
    near(n.area_ratio.unwrap(), 1.0, 1e-12);
    // A diagonal is longer. A single order has no ratio. Where too little water flows there are no
    // streams.
    let n = network(&net(4, 4, &[&[(0, 0), (1, 1), (2, 2)]]), 4, 1);
    near(n.orders[0].mean_length, 2.0 * SQRT_2, 1e-12);
    assert_eq!(
        (n.orders.len(), n.bifurcation_ratio, n.length_ratio, n.concavity),
        (1, None, None, None)
    );
    assert_eq!(network(&net(4, 4, &[&[(0, 0), (1, 1)]]), 4, 2).orders, []);
}

/// Slopes are made to fall with a power of the area, and both statistics find that power.
#[test]
fn concavity_is_the_exponent() {
    let mut d = net(4000, 1, &[&(0..4000).map(|x| (x, 0)).collect::<Vec<_>>()]);
    for x in 0..4000 {
        d.area[x] = x as u32 + 1;
    }
    for x in (0..3999).rev() {
        d.filled[x] = d.filled[x + 1] + (x as f64 + 1.0).powf(-0.45);
    }
    let n = network(&d, 4000, 16);
    // Over eight cells downstream slopes are a little less than at the cell.
    near(n.concavity.unwrap(), 0.45, 0.02);
    assert_eq!(n.chi_concavity, Some(0.45));
    // Where the slope is the same everywhere there is no θ between 0 and 1 that suits best.
    for x in 0..4000 {
        d.filled[x] = 4000.0 - x as f64;
    }
    let even = network(&d, 4000, 16);
    near(even.concavity.unwrap(), 0.0, 1e-9);
    assert_eq!(even.chi_concavity, None);
}

/// Length is made to grow with a power of the area.
#[test]
fn hacks_exponent_is_the_exponent() {
    let mut d = net(4000, 1, &[&(0..4000).map(|x| (x, 0)).collect::<Vec<_>>()]);
    for x in 0..4000 {
        d.area[x] = (1.0 + (x as f64).powf(1.0 / 0.6)).round() as u32;
    }
    near(network(&d, 4000, 200).hack.unwrap(), 0.6, 0.01);
    assert_eq!(network(&net(4, 1, &[&[(0, 0), (1, 0), (2, 0)]]), 4, 1).hack, None);
}

/// Two arms that meet at a right angle, and two along one line.
#[test]
fn rivers_meet_at_angles() {
    let south: Vec<(usize, usize)> = (20..40).map(|y| (20, y)).collect();
    let arm = |step: fn(usize) -> (usize, usize), length: usize| {
        (0..=length).rev().map(step).collect::<Vec<_>>()
    };
    let both = |left: fn(usize) -> (usize, usize),
                right: fn(usize) -> (usize, usize),
                length: usize| {
        let n = network(&net(41, 41, &[&south, &arm(left, length), &arm(right, length)]), 41, 1);
        (n.junctions, n.junction_angle)
    };
    let (count, angle) = both(|k| (20 - k, 20 - k), |k| (20 + k, 20 - k), 15);
    assert_eq!(count, 1);
    near(angle.unwrap(), 90.0, 1e-9);
    let (_, angle) = both(|k| (20 - k, 20), |k| (20 + k, 20), 11);
    near(angle.unwrap(), 180.0, 1e-9);
    // At 45°.
    let (_, angle) = both(|k| (20 - k, 20 - k), |k| (20, 20 - k), 12);
    near(angle.unwrap(), 45.0, 1e-9);
    // An arm of ten cells is too short for a direction.
    assert_eq!(both(|k| (20 - k, 20), |k| (20 + k, 20), 10), (0, None));
    assert_eq!((channel_cells(1000), channel_cells(1 << 20)), (200, 1048));
}

/// Each form on a land that consists of little else.
#[test]
fn forms_are_what_they_look_like() {
    let of =
        |f: &dyn Fn(f64, f64) -> f64| forms(Grid::new(&map(101, 61, f), 101, 61).unwrap()).unwrap();
    assert_eq!(of(&|_, _| 3.0), Forms { flat: 1.0, ..Forms::default() });
    // 1° is level, and a little more is not.
    let tangent = 1f64.to_radians().tan() / 2.0;
    assert_eq!(of(&|x, _| 0.99 * tangent * x).flat, 1.0);
    assert_eq!(of(&|x, _| 1.5 * tangent * x).slope, 1.0);
    // One column of 61 is the crest of a roof, or the bottom of a trough; what lies beside them
    // faces one way.
    let roof = of(&|x, _| -(x - 50.0).abs());
    near(roof.ridge, 1.0 / 61.0, 1e-12);
    near(of(&|x, _| (x - 50.0).abs()).valley, 1.0 / 61.0, 1e-12);
    assert_eq!((roof.valley, roof.pit, roof.peak), (0.0, 0.0, 0.0));
    let cone = |sign: f64| of(&|x, y| sign * ((x - 50.0).powi(2) + (y - 30.0).powi(2)).sqrt());
    near(cone(-1.0).peak, 1.0 / (61.0 * 21.0), 1e-12);
    near(cone(1.0).pit, 1.0 / (61.0 * 21.0), 1e-12);
    assert!(cone(-1.0).spur > 0.1 && cone(1.0).hollow > 0.1, "{:?}", cone(1.0));
    // The brink of a table, and the foot of a wall: level on one side, and falling or rising on the
    // other.
    assert!(of(&|x, _| -(x - 50.0).max(0.0)).shoulder > 0.0);
    assert!(of(&|x, _| (x - 50.0).max(0.0)).footslope > 0.0);
    assert_eq!(forms(Grid::new(&map(40, 61, |x, _| x), 40, 61).unwrap()), None);
}

#[test]
fn roughness_and_skewness_are_known() {
    // Noise has the same variogram at all distances, and the same power in all waves.
    let s = figures(&noise(256, 256), 256);
    near(s.hurst.unwrap(), 0.0, 0.005);
    // Within three standard errors, which follow from the number of waves in each ring.
    near(s.spectrum.beta.unwrap(), 0.0, 0.3);
    // One column of m bends up by 2, the others not at all: a skewness of (1 − 2p) / √(p (1 − p))
    // with p = 1 / m.
    let s = figures(&map(66, 66, |x, _| (x - 30.0).abs()), 66);
    let p: f64 = 1.0 / 64.0;
    near(s.laplacian_skew.unwrap(), (1.0 - 2.0 * p) / (p * (1.0 - p)).sqrt(), 1e-9);
    near(
        figures(&map(66, 66, |x, _| -(x - 30.0).abs()), 66).laplacian_skew.unwrap(),
        -s.laplacian_skew.unwrap(),
        1e-12,
    );
    // Half of the cells stand at 45°, the others at 0: the deviation of angles is their mean.
    let s = figures(&map(65, 65, |x, _| if x < 32.0 { 0.0 } else { x - 32.0 }), 65);
    let angles: Vec<f64> = (1..64)
        .map(|x| if x < 32 { 0.0 } else { if x == 32 { 0.5f64 } else { 1.0 }.atan() })
        .collect();
    let mean = angles.iter().sum::<f64>() / 63.0;
    let deviation = (angles.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 63.0).sqrt();
    near(s.slope_variation.unwrap(), deviation / mean, 1e-12);
}

/// Missing cells are outside of the land: a frame of them changes no figure, whatever lies in it,
/// and water leaves beside them.
#[test]
fn missing_cells_are_outside_the_land() {
    let land = |x: f64, y: f64| {
        9.0 * (x / 9.0).sin() * (y / 7.0).cos()
            + hash([5, 6], x as u32, y as u32) as f64 / 4294967296.0
    };
    let bare = map(90, 70, land);
    let framed = map(102, 83, |x, y| {
        if (4.0..94.0).contains(&x) && (6.0..76.0).contains(&y) {
            land(x - 4.0, y - 6.0)
        } else {
            f64::NAN
        }
    });
    let [mut a, mut b] =
        [serde_json::json!(figures(&bare, 90)), serde_json::json!(figures(&framed, 102))];
    for of in [&mut a, &mut b] {
        // These leave out cells near the border of the map, wherever the land ends.
        for name in ["plains", "hummocks", "plain_speckle"] {
            of.as_object_mut().unwrap().remove(name).unwrap();
        }
    }
    assert_eq!(a, b);
    // A funnel with a hole at its bottom is no depression.
    let r = |x: f64, y: f64| ((x - 32.0).powi(2) + (y - 32.0).powi(2)).sqrt();
    let holed = figures(&map(65, 65, |x, y| if r(x, y) < 2.0 { f64::NAN } else { r(x, y) }), 65);
    assert_eq!((holed.depressions_shallow, holed.fill), (0.0, 0.0));
    assert!(figures(&map(65, 65, r), 65).depressions > 0.5);
    // Where no cell has eight neighbours there is no land to speak of.
    let few = map(40, 40, |x, y| if x % 2.0 == 0.0 { y } else { f64::NAN });
    let e = statistics(Grid::new(&few, 40, 40).unwrap()).unwrap_err();
    assert!(e.to_string().contains("40 x 40") && e.to_string().contains("more land"), "{e}");
}

/// Real land, held against what another program printed: `python3 tests/terrain_stats.py
/// tests/data/jacksboro.tif 84`, and so on. It prints six decimals.
#[test]
fn real_land_has_the_figures_of_another_program() {
    for (file, spacing_m, printed) in [
        ("jacksboro.tif", 84.0, JACKSBORO),
        ("big-tujunga.tif", 30.0, BIG_TUJUNGA),
        ("meghalaya.tif", 50.0, MEGHALAYA),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
        let options = ReadOptions {
            spacing_m: Some(spacing_m),
            keep_missing: true,
            ..ReadOptions::default()
        };
        let reading = read(&path, &options).unwrap();
        let cells = in_cells(&reading.map, &reading.missing);
        let grid =
            Grid::new(&cells, reading.map.width as usize, reading.map.height as usize).unwrap();
        let figures = serde_json::json!(statistics(grid).unwrap());
        let printed: Value = serde_json::from_str(printed).unwrap();
        for (name, value) in printed.as_object().unwrap() {
            let same = |ours: &Value, theirs: &Value| {
                let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
                assert!((ours - theirs).abs() <= 1e-6, "{file}: {name} is {ours}, not {theirs}");
            };
            match name.as_str() {
                "streams" => {
                    let orders = figures["orders"].as_array().unwrap();
                    assert_eq!(
                        &orders.iter().map(|o| o["streams"].clone()).collect::<Value>(),
                        value,
                        "{file}: {name}"
                    );
                }
                "forms" => value
                    .as_object()
                    .unwrap()
                    .iter()
                    .for_each(|(form, share)| same(&figures["forms"][form], share)),
                _ => same(&figures[name], value),
            }
        }
        assert_eq!(reading.missing.len(), if file == "meghalaya.tif" { 35833 } else { 0 });
    }
}

/// What `erode` makes of real land is that land: its rivers meet as they met, their profiles are
/// what they were, no basin is new and nothing is filled, and yet every slope has lost something. θ
/// of Meghalaya, a plateau with a steep edge surveyed in whole metres, changes with any change of
/// its flats, so χ alone is asked there.
#[test]
fn presets_of_erode_do_real_land_no_harm() {
    for (file, spacing_m) in
        [("jacksboro.tif", 84.0), ("big-tujunga.tif", 30.0), ("meghalaya.tif", 50.0)]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
        let options = ReadOptions {
            spacing_m: Some(spacing_m),
            keep_missing: true,
            ..ReadOptions::default()
        };
        let reading = read(&path, &options).unwrap();
        let of = |map: &Map| {
            let cells = in_cells(map, &reading.missing);
            statistics(Grid::new(&cells, map.width as usize, map.height as usize).unwrap()).unwrap()
        };
        let before = of(&reading.map);
        for preset in ["default", "gentle"] {
            let step = Preset::find(preset).unwrap().step(true).unwrap();
            let recipe = Recipe::on_heights_by_level(vec![step], Some(Levels::default())).unwrap();
            let heights = Heights::from(&reading.map).without(&reading.missing);
            let job = Job::with_heights(recipe, heights).unwrap().device(Device::Cpu);
            let made = job.run(&mut |_| Ok(())).unwrap().map("height").unwrap();
            let after = of(&made);
            let like = |name: &str, before: Option<f64>, after: Option<f64>| {
                let (before, after) = (before.unwrap(), after.unwrap());
                println!("{file}, {preset}: {name} {before:.3} -> {after:.3}");
                assert!(
                    (after / before - 1.0).abs() <= 0.1,
                    "{file}, {preset}: {name} {before} -> {after}"
                );
            };
            like("junction_angle", before.network.junction_angle, after.network.junction_angle);
            like("hack", before.network.hack, after.network.hack);
            like("chi_concavity", before.network.chi_concavity, after.network.chi_concavity);
            if file != "meghalaya.tif" {
                like("concavity", before.network.concavity, after.network.concavity);
            }
            assert!(
                after.depressions <= before.depressions,
                "{file}, {preset}: {} basins",
                after.depressions
            );
            let land = (0..made.data.len()).filter(|at| reading.missing.binary_search(at).is_err());
            let changes: Vec<f32> = land.map(|at| made.data[at] - reading.map.data[at]).collect();
            // Heights are words of 2⁻¹⁸ cells, so a height may be off by one.
            let raised = changes.iter().filter(|m| **m > 0.01).count();
            assert_eq!(raised, 0, "{file}, {preset}");
            let mean = changes.iter().map(|m| f64::from(*m)).sum::<f64>() / changes.len() as f64;
            println!("{file}, {preset}: {mean:.2} m");
            assert!(
                mean < if preset == "default" { -1.0 } else { -0.5 },
                "{file}, {preset}: {mean} m"
            );
        }
    }
}

/// Most figures of any real land lie within the ranges of ten squares of it.
#[test]
fn real_land_is_like_real_land() {
    for (file, spacing_m) in [("jacksboro.tif", 84.0), ("big-tujunga.tif", 30.0)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
        let map =
            read(&path, &ReadOptions { spacing_m: Some(spacing_m), ..ReadOptions::default() })
                .unwrap()
                .map;
        let cells = in_cells(&map, &[]);
        let of = statistics(Grid::new(&cells, map.width as usize, map.height as usize).unwrap())
            .unwrap();
        let outside = FIGURES.iter().filter(|figure| figure.is_outside(&of));
        let outside: Vec<&str> = outside.map(|figure| figure.name).collect();
        assert!(outside.len() <= FIGURES.len() / 3, "{file}: {outside:?}");
        // Noise is not.
        let noise: Vec<f64> = noise(256, 256).iter().map(|h| h * 20.0).collect();
        let of = figures(&noise, 256);
        for name in ["hack", "depressions", "hurst", "beta", "slope_variation"] {
            assert!(
                FIGURES.iter().any(|figure| figure.name == name && figure.is_outside(&of)),
                "{name} of noise"
            );
        }
    }
    for figure in FIGURES {
        assert!(figure.real.0 < figure.real.1, "{}", figure.name);
        // Its name is that of its value.
        let of = figures(&noise(256, 256), 256);
        assert_eq!(
            serde_json::json!(of).get(figure.name),
            Some(&serde_json::json!((figure.of)(&of))),
            "{}",
            figure.name
        );
    }
}

#[test]
fn a_wave_has_its_direction_and_its_size() {
    // Wave vectors along x, y, the diagonal, and (2, 1). The last is at 26.6°, so it belongs to the
    // third direction, 22.5°.
    for (kx, ky, direction, octave) in
        [(24.0, 0.0, 0, 1), (0.0, 12.0, 8, 2), (16.0, 16.0, 4, 1), (40.0, 20.0, 2, 0)]
    {
        let s = spectrum(
            Grid::new(
                &map(128, 128, |x, y| 3.0 * (TAU * (kx * x + ky * y) / 128.0).sin()),
                128,
                128,
            )
            .unwrap(),
        );
        let most =
            (0..DIRECTIONS).max_by(|&a, &b| s.directions[a].total_cmp(&s.directions[b])).unwrap();
        assert_eq!(most, direction, "{kx}, {ky}: {:?}", s.directions);
        let sizes = [s.roughness_2_4, s.roughness_4_8, s.roughness_8_16];
        near(sizes[octave], 3.0 / SQRT_2, 0.02);
        assert!(sizes.iter().filter(|r| **r > 0.3).count() == 1, "{sizes:?}");
        assert_eq!(s.axis_share > 1.2, direction % 8 == 0, "{s:?}");
        assert_eq!(s.diagonal_share > 1.2, direction % 8 == 4, "{s:?}");
    }
    // A ripple of two cells along an axis counts, except for 2/9 of its power, which the window
    // spreads beyond the end of the octave: 2/3 of the power stays in the column of the wave
    // vector, and 1/3 of that leaves the row.
    let ripple = map(64, 64, |x, _| if x % 2.0 == 0.0 { 1.0 } else { -1.0 });
    let s = spectrum(Grid::new(&ripple, 64, 64).unwrap());
    near(s.roughness_2_4, (7.0f64 / 9.0).sqrt(), 1e-6);
    assert!(s.axis_share > 1.2, "{s:?}");
}

#[test]
fn noise_has_no_direction_and_a_known_power() {
    let s = spectrum(Grid::new(&noise(256, 192), 256, 192).unwrap());
    // Within three standard errors of 1, which follow from the number of waves in each direction.
    near(s.axis_share, 1.0, 0.12);
    near(s.diagonal_share, 1.0, 0.12);
    // The octave covers π (1/4 - 1/16) of the plane of wave vectors, so it has that share of the
    // variance 1/12.
    near(s.roughness_2_4, (TAU / 2.0 * 3.0 / 16.0 / 12.0).sqrt(), 0.005);
    near(s.roughness_4_8, (TAU / 2.0 * 3.0 / 64.0 / 12.0).sqrt(), 0.005);
    // A street grid shows along the axes.
    let grid = map(128, 128, |x, y| (x % 8.0 == 0.0 || y % 8.0 == 0.0) as u32 as f64);
    assert!(spectrum(Grid::new(&grid, 128, 128).unwrap()).axis_share > 2.0);
}

#[test]
fn speckle_is_that_of_waves() {
    // The Laplacian of a wave along x is -4 sin²(π / length) times the wave.
    let s = figures(&map(66, 66, |x, _| 2.0 * (TAU * (x - 1.0) / 8.0).sin()), 66);
    near(s.speckle, 4.0 * (TAU / 16.0).sin().powi(2) * 2.0 / SQRT_2, 1e-9);
    // Noise: 1/12 · (16 + 4).
    near(figures(&noise(256, 256), 256).speckle, (20.0f64 / 12.0).sqrt(), 0.01);
    // One cell in nine is the lowest of the nine cells around and including it.
    near(figures(&noise(256, 256), 256).pits, 1.0 / 9.0, 0.003);
}

#[test]
fn valley_floors_and_plains_are_told_apart_from_slopes() {
    // A valley along y with rough sides: a smooth floor has no bed roughness, a rough one has.
    let rough = noise(128, 128);
    let valley = |bed: f64| {
        map(128, 128, |x, y| {
            let off = (x - 64.0).abs();
            2.0 * off
                + 0.02 * y
                + if off < 4.0 { bed } else { 0.5 } * rough[y as usize * 128 + x as usize]
        })
    };
    let (smooth, coarse) = (figures(&valley(0.0), 128), figures(&valley(0.5), 128));
    near(smooth.bed_roughness.unwrap(), 0.0, 1e-9);
    assert!(coarse.bed_roughness.unwrap() > 0.1, "{coarse:?}");
    // Both sides rise by 2 per cell from the floor.
    near(smooth.valley_speckle.unwrap(), 4.0, 1e-9);
    // Bumps of 12 cells on a plain, through means of 3 × 3 and of 17 × 17 cells.
    let bumps = map(96, 96, |x, y| 0.3 * (TAU * x / 12.0).sin() * (TAU * y / 12.0).sin());
    let mean = |n: f64| {
        (1..=(n as i32 / 2)).map(|k| 2.0 * (TAU * k as f64 / 12.0).cos()).sum::<f64>() / n + 1.0 / n
    };
    let s = figures(&bumps, 96);
    assert_eq!(s.plains, 1.0);
    let mut bump: Vec<f64> = bumps[..96 * 12].iter().map(|b| b.abs()).collect();
    bump.sort_by(f64::total_cmp);
    let typical = bump[bump.len() / 2];
    near(s.hummocks.unwrap(), typical * (mean(3.0).powi(2) - mean(17.0).powi(2)), 1e-3);
    near(s.plain_speckle.unwrap(), typical * 8.0 * (TAU / 24.0).sin().powi(2), 1e-9);
}

#[test]
fn what_moved_is_counted() {
    let grid = |heights: &'static [f64]| Grid::new(heights, heights.len(), 1).unwrap();
    let c = change(grid(&[1.0, 2.0, 3.0, 4.0]), grid(&[0.0, 2.0, 3.5, 4.0])).unwrap();
    assert_eq!((c.worn, c.laid, c.moved, c.mean_change), (0.25, 0.125, 0.1875, -0.125));
    assert_eq!((c.sediment, c.sediment_speckle), (0.0, None));
    assert_eq!(change(grid(&[1.0]), grid(&[1.0, 2.0])).unwrap_err().code(), "param");
    // A plane. One half of it gets a cell of sediment with ripples of half a cell.
    let before = map(40, 40, |x, y| 0.1 * x + 0.2 * y);
    let ripple = |x: f64, y: f64| if (x + y) % 2.0 == 0.0 { 0.5 } else { -0.5 };
    let after =
        map(40, 40, |x, y| 0.1 * x + 0.2 * y + if x < 20.0 { 1.0 + ripple(x, y) } else { 0.0 });
    let c =
        change(Grid::new(&before, 40, 40).unwrap(), Grid::new(&after, 40, 40).unwrap()).unwrap();
    near(c.sediment, 0.5, 1e-12);
    near(c.sediment_speckle.unwrap(), 4.0, 1e-9);
}

#[test]
fn bad_maps_are_refused() {
    for (data, w, d) in [(vec![0.0; 6], 2, 2), (vec![], 0, 0), (vec![0.0, f64::INFINITY], 2, 1)] {
        assert_eq!(Grid::new(&data, w, d).unwrap_err().code(), "param");
    }
    let e = statistics(Grid::new(&vec![0.0; 31 * 40], 31, 40).unwrap()).unwrap_err();
    assert!(e.to_string().contains("31 x 40") && e.to_string().contains("32 x 32"), "{e}");
    // A level map has figures, and none of them is NaN (which would be null in JSON).
    let flat = figures(&[5.0; 32 * 32], 32);
    assert_eq!((flat.relief, flat.hypsometric_integral, flat.closed), (0.0, 0.0, 0.0));
    let json = serde_json::json!(flat);
    let without: Vec<&str> = json
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.is_null())
        .map(|(name, _)| &name[..])
        .collect();
    // Nothing rises, falls, meets or bends there.
    let expected = [
        "slope_variation",
        "bifurcation_ratio",
        "length_ratio",
        "area_ratio",
        "concavity",
        "chi_concavity",
        "hack",
        "junction_angle",
        "ridges_and_valleys",
        "forms",
        "hurst",
        "laplacian_skew",
        "valley_speckle",
        "bed_roughness",
        "beta",
        "axis_share_long",
        "diagonal_share_long",
    ];
    assert_eq!(
        std::collections::BTreeSet::from_iter(without),
        std::collections::BTreeSet::from(expected)
    );
    drainage(Grid::new(&[1.0], 1, 1).unwrap());
}

/// What `tests/terrain_stats.py` prints of `tests/data/jacksboro.tif` at 84 m.
const JACKSBORO: &str = r#"
{"hypsometric_integral": 0.351228, "depressions": 0.0, "depressions_shallow": 0.022101, "slope_variation":
0.544927, "laplacian_skew": -0.056165, "hurst": 0.562201, "channel_cells": 200, "concavity": 0.450157, "hack":
0.56276, "streams": [187, 34, 7, 1], "bifurcation_ratio": 5.625881, "length_ratio": 2.567377, "area_ratio":
4.677743, "chi_concavity": 0.63, "junctions": 86, "junction_angle": 85.441611, "forms": {"flat": 0.000417,
"footslope": 0.009379, "valley": 0.146413, "pit": 0.050602, "shoulder": 0.004558, "slope": 0.313714, "hollow":
0.128643, "spur": 0.165498, "ridge": 0.14277, "peak": 0.038006}, "ridges_and_valleys": 0.289184, "beta": 3.752935,
"axis_share_long": 0.657293, "diagonal_share_long": 1.171726}
"#;

/// What `tests/terrain_stats.py` prints of `tests/data/big-tujunga.tif` at 30 m.
const BIG_TUJUNGA: &str = r#"
{"hypsometric_integral": 0.472809, "depressions": 0.001038, "depressions_shallow": 0.008208, "slope_variation":
0.365887, "laplacian_skew": 0.039658, "hurst": 0.749873, "channel_cells": 200, "concavity": 0.351624, "hack":
0.50612, "streams": [128, 29, 7, 2, 1], "bifurcation_ratio": 3.448092, "length_ratio": 1.857432, "area_ratio":
3.860391, "chi_concavity": 0.45, "junctions": 63, "junction_angle": 71.694387, "forms": {"flat": 0.0, "footslope":
0.000319, "valley": 0.117321, "pit": 0.014796, "shoulder": 6.4e-05, "slope": 0.375485, "hollow": 0.167768, "spur":
0.210472, "ridge": 0.103457, "peak": 0.010319}, "ridges_and_valleys": 0.220778, "beta": 4.183742,
"axis_share_long": 0.862557, "diagonal_share_long": 1.015497}
"#;

/// What `tests/terrain_stats.py` prints of `tests/data/meghalaya.tif` at 50 m.
const MEGHALAYA: &str = r#"
{"hypsometric_integral": 0.262076, "depressions": 4.6e-05, "depressions_shallow": 0.025834, "slope_variation":
1.103966, "laplacian_skew": 0.461948, "hurst": 0.76039, "channel_cells": 200, "concavity": 0.443071, "hack":
0.500739, "streams": [95, 23, 7, 2], "bifurcation_ratio": 3.586502, "length_ratio": 2.069166, "area_ratio":
3.670202, "chi_concavity": 0.55, "junctions": 46, "junction_angle": 73.447281, "forms": {"flat": 0.033677,
"footslope": 0.06637, "valley": 0.109553, "pit": 0.019825, "shoulder": 0.039715, "slope": 0.353879, "hollow":
0.089663, "spur": 0.168172, "ridge": 0.108525, "peak": 0.010619}, "ridges_and_valleys": 0.218078, "beta": 3.518126,
"axis_share_long": 1.922879, "diagonal_share_long": 0.736491}
"#;
