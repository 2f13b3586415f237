//! Strokes: the formula of the brush in floats, the same land through every window and on every
//! lattice, and what is refused.

use crate::common::{Made, config, cpu};
use proptest::prelude::*;
use serde_json::{Value, json};
use thalweg::{Job, Map, Recipe};

/// Level ground with strokes on it.
fn recipe(
    origin: [i64; 2],
    [width, height]: [u32; 2],
    spacing: f64,
    strokes: &Value,
) -> thalweg::Result<Recipe> {
    let recipe = json!({
        "schema": 2, "origin": origin, "width": width, "height": height, "spacing_m": spacing,
        "output": { "maps": ["height"] },
        "stage": [{ "kind": "flat" }, { "kind": "strokes", "stroke": strokes }],
    });
    Recipe::from_json(&recipe.to_string(), "", "drawn")
}

/// A map in memory.
fn picture(width: u32, height: u32, data: Vec<f32>) -> Map {
    Map { width, height, spacing_m: 1.0, data, range_m: None, georef: None }
}

/// A run of a recipe whose stamps all have a picture.
fn job(recipe: &Recipe) -> Job {
    let mut job = Job::new(recipe.clone()).unwrap();
    let uneven = picture(5, 4, (0..20).map(|i| (i * 7 % 11) as f32 - 3.0).collect());
    for (_, _, file) in job.pictures().collect::<Vec<_>>() {
        job.supply_picture(&file, &uneven).unwrap();
    }
    job
}

fn made(recipe: &Recipe, executor: &mut dyn thalweg::exec::Executor) -> Made {
    Made::of(job(recipe).run_on(executor, &mut |_| Ok(())).unwrap())
}

fn heights(origin: [i64; 2], size: [u32; 2], spacing: f64, strokes: &Value) -> Vec<f32> {
    let recipe = recipe(origin, size, spacing, strokes).unwrap_or_else(|e| panic!("{e}"));
    made(&recipe, &mut cpu()).maps["height"].data.clone()
}

/// The weight of a brush at a place, as the stage's rule has it, and the share of the path there.
fn weight(path: &[[f64; 3]], radius: f64, falloff: f64, place: [f64; 2]) -> [f64; 2] {
    let length = |a: [f64; 2], b: [f64; 2]| ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt();
    let whole: f64 = path.windows(2).map(|p| length([p[0][0], p[0][1]], [p[1][0], p[1][1]])).sum();
    let (mut best, mut way) = ([0.0, 0.0], 0.0);
    let mut pieces = if path.len() == 1 { vec![[path[0]; 2]] } else { vec![] };
    for pair in path.windows(2) {
        let parts = (length([pair[0][0], pair[0][1]], [pair[1][0], pair[1][1]]) / (2.0 * radius))
            .ceil()
            .max(1.0);
        let at =
            |n: usize| [0, 1, 2].map(|k| pair[0][k] + (pair[1][k] - pair[0][k]) * n as f64 / parts);
        pieces.extend((0..parts as usize).map(|n| [at(n), at(n + 1)]));
    }
    for [a, b] in pieces {
        let long = length([a[0], a[1]], [b[0], b[1]]);
        let along = (place[0] - a[0]) * (b[0] - a[0]) + (place[1] - a[1]) * (b[1] - a[1]);
        let t = if long > 0.0 { (along / (long * long)).clamp(0.0, 1.0) } else { 0.0 };
        let near = [0, 1].map(|k| a[k] + (b[k] - a[k]) * t);
        let inner = (1.0 - falloff) * (1.0 - falloff);
        let q = length(place, near).powi(2) / (radius * radius);
        let q = if q <= inner { 0.0 } else { ((q - inner) / (1.0 - inner)).min(1.0) };
        let w = (a[2] + (b[2] - a[2]) * t) * (1.0 - q) * (1.0 - q);
        if w > best[0] {
            best = [w, if whole > 0.0 { (way + long * t) / whole } else { 0.0 }];
        }
        way += long;
    }
    best
}

fn paths() -> impl Strategy<Value = Vec<[f64; 3]>> {
    let point = (-300.0..900.0, -300.0..900.0, 0.0..=1.0).prop_map(|(x, y, p)| [x, y, p]);
    prop::collection::vec(point, 1..6)
}

proptest! {
    #![proptest_config(config(200))]

    /// Every cell has the height of the rule, to what 2⁻¹² radii of distance and 2⁻¹⁶ of weight can
    /// be off.
    #[test]
    fn a_stroke_is_that_of_the_rule(path in paths(), radius in 20.0..800.0f64,
        falloff in 0.1..=1.0f64, amount in 1.0..5000.0f64) {
        let spacing = 20.0;
        let strokes = json!([{ "tool": "raise", "at_m": path, "radius_m": radius,
            "falloff": falloff, "amount_m": amount }]);
        let made = heights([0, 0], [31, 29], spacing, &strokes);
        // The weight changes by at most 2 · 2 / (1 − inner) for a radius of distance.
        let inner = (1.0 - falloff) * (1.0 - falloff);
        // The pressure goes along a piece of a path, whose place is known to two units.
        let length = |p: &[[f64; 3]]| (p[1][0] - p[0][0]).hypot(p[1][1] - p[0][1]);
        let units = path.windows(2).map(|p| length(p) / radius * 4096.0);
        let units = units.fold(f64::MAX, f64::min);
        let bound = amount * (4.0 / (1.0 - inner) * 3.0 / 4096.0 + 3.0 / units + 1e-3);
        for (i, height) in made.iter().enumerate() {
            let place = [i % 31, i / 31].map(|n| n as f64 * spacing);
            let [w, _] = weight(&path, radius, falloff, place);
            let off: f64 = f64::from(*height) - amount * w;
            prop_assert!(off.abs() <= bound, "{place:?}: {height} for {}", amount * w);
        }
    }

    /// The strokes lie in the world: another window shows the same land, wherever in the world it
    /// is.
    #[test]
    fn windows_agree(
        path in paths(),
        far in prop::bool::ANY,
        [x, y] in [0i64..12, 0i64..12],
        // One cell to the most.
        radius in (0.0..=1.0f64).prop_map(|t| 32767f64.powf(t)),
        falloff in prop_oneof![Just(0.0), 0.0..=1.0f64],
        spacing in prop::sample::select(vec![0.01, 10.0, 1000.0]),
        tool in 0usize..6,
    ) {
        let corner: [i64; 2] = if far { [-(1 << 33) + 5, (1 << 31) - 7] } else { [0, 0] };
        let path: Vec<_> =
            path.iter().map(|p| [(p[0] / 10.0 + corner[0] as f64) * spacing,
                (p[1] / 10.0 + corner[1] as f64) * spacing, p[2]]).collect();
        let mut stroke = json!({ "at_m": path, "radius_m": radius * spacing, "falloff": falloff });
        let settings = [
            json!({ "tool": "raise", "amount_m": 7.77 * spacing }),
            json!({ "tool": "noise", "amount_m": 5.0 * spacing, "feature_m": 12.0 * spacing,
                "seed": 3 }),
            json!({ "tool": "flatten", "height_m": -3.15 * spacing, "strength": 0.6 }),
            json!({ "tool": "ramp", "height_m": [-10.0 * spacing, 30.0 * spacing] }),
            json!({ "tool": "stamp", "file": "p.png", "amount_m": 12.3 * spacing,
                "turn_deg": 77.7 }),
            json!({ "tool": "stamp", "file": "p.png", "amount_m": -9.0 * spacing,
                "height_m": 4.5 * spacing, "turn_deg": -190 }),
        ];
        stroke.as_object_mut().unwrap().extend(settings[tool].as_object().unwrap().clone());
        let strokes = json!([stroke]);
        let (wide, narrow) = ([80, 70], [41, 39]);
        let whole = heights(corner, wide, spacing, &strokes);
        let part = heights([corner[0] + x, corner[1] + y], narrow, spacing, &strokes);
        for row in 0..narrow[1] as usize {
            let from = (row + y as usize) * wide[0] as usize + x as usize;
            prop_assert_eq!(&part[row * 41..][..41], &whole[from..][..41]);
        }
    }
}

/// A picture of shares and how far its samples are apart, in metres.
struct Shares {
    width: usize,
    height: usize,
    data: Vec<f64>,
    metres: f64,
}

/// What a stroke stamps where cells are so far apart: a picture with more than √2 samples to a cell
/// is halved. Each sample of the half is the mean of the old ones less than two of their distances
/// away, the nearer the heavier; beyond the rim are the samples of the rim.
fn shares(picture: &Map, stroke: &Value, spacing: f64) -> Shares {
    let (low, high) = picture
        .data
        .iter()
        .fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let data = picture.data.iter().map(|v| f64::from(v - low) / f64::from(high - low)).collect();
    let (width, height) = (picture.width as usize, picture.height as usize);
    let metres = 2.0 * stroke["radius_m"].as_f64().unwrap() / (width.max(height) - 1) as f64;
    let mut shown = Shares { width, height, data, metres };
    while spacing / shown.metres > 2f64.sqrt() && shown.width.min(shown.height) > 2 {
        let Shares { width, height, data, metres } = shown;
        let half = |count: usize| count / 2 + 1;
        // Places in the old samples, with the same middle.
        let place = |n: usize, count: usize| {
            (count - 1) as f64 / 2.0 + 2.0 * n as f64 - (half(count) - 1) as f64
        };
        let mean = |n: usize, count: usize, of: &dyn Fn(usize) -> f64| {
            let near = (-2..count as i64 + 2)
                .map(|at| (at, 2.0 - (at as f64 - place(n, count)).abs()))
                .filter(|(_, w)| *w > 0.0);
            let (sum, all) = near.fold((0.0, 0.0), |(sum, all), (at, w)| {
                (sum + w * of(at.clamp(0, count as i64 - 1) as usize), all + w)
            });
            sum / all
        };
        let sample = |x: usize, y: usize| {
            mean(y, height, &|row| mean(x, width, &|column| data[row * width + column]))
        };
        let made = (0..half(height))
            .flat_map(|y| (0..half(width)).map(move |x| (x, y)))
            .map(|(x, y)| sample(x, y))
            .collect();
        shown =
            Shares { width: half(width), height: half(height), data: made, metres: 2.0 * metres };
    }
    shown
}

/// The height of a place after a stamp at a point, as the stage's rule has it; none near the
/// picture's rim, where roundings decide.
fn stamped(
    h: f64,
    place: [f64; 2],
    [x, y, p]: [f64; 3],
    picture: &Shares,
    stroke: &Value,
) -> Option<f64> {
    let number = |key: &str| stroke[key].as_f64().unwrap_or_default();
    let (falloff, turn) = (number("falloff"), number("turn_deg").to_radians());
    let sides = [picture.width, picture.height].map(|side| (side - 1) as f64);
    // Metres along the rows and the columns of the picture, which is turned back, and those in
    // halves of its sides.
    let [dx, dy] = [place[0] - x, place[1] - y];
    let own = [dx * turn.cos() + dy * turn.sin(), dy * turn.cos() - dx * turn.sin()];
    let at = [0, 1].map(|k| own[k] / (picture.metres * sides[k] / 2.0));
    if at.iter().any(|v| (v.abs() - 1.0).abs() < 0.002) {
        return None;
    }
    if at.iter().any(|v| v.abs() > 1.0) {
        return Some(h);
    }
    let inner = (1.0 - falloff) * (1.0 - falloff);
    let fade =
        |v: f64| if v * v <= inner { 1.0 } else { (1.0 - (v * v - inner) / (1.0 - inner)).powi(2) };
    let w = p * fade(at[0]) * fade(at[1]);
    let [u, v] = [0, 1].map(|k| (at[k] + 1.0) / 2.0 * sides[k]);
    let sample = |x: usize, y: usize| picture.data[y * picture.width + x];
    let (column, row) = (u.floor().min(sides[0] - 1.0), v.floor().min(sides[1] - 1.0));
    let (fx, fy, column, row) = (u - column, v - row, column as usize, row as usize);
    let line = |row: usize| sample(column, row) * (1.0 - fx) + sample(column + 1, row) * fx;
    let s = line(row) * (1.0 - fy) + line(row + 1) * fy;
    Some(match stroke["height_m"].as_f64() {
        None => h + w * number("amount_m") * s,
        Some(from) => h + (from + number("amount_m") * s - h) * w * number("strength"),
    })
}

fn pictures() -> impl Strategy<Value = Map> {
    let side = || prop_oneof![2u32..9, 2u32..80];
    (side(), side()).prop_flat_map(|(width, height)| {
        prop::collection::vec(-1e4f32..1e4, (width * height) as usize).prop_map(move |mut data| {
            data[0] = 1e4;
            picture(width, height, data)
        })
    })
}

proptest! {
    #![proptest_config(config(200))]

    /// Every cell has the height of the rule after all points of a stamp, whatever the picture's
    /// size and however it is turned.
    #[test]
    fn a_stamp_is_its_picture(
        picture in pictures(),
        path in paths(),
        radius in 20.0..800.0f64,
        falloff in prop_oneof![Just(0.0), 0.1..=1.0f64],
        turn in prop_oneof![prop::sample::select(vec![-90.0, 0.0, 90.0, 180.0]), -360.0..=360.0f64],
        amount in -5000.0..5000.0f64,
        onto in prop::option::of((-3000.0..3000.0f64, 0.0..=1.0f64)),
    ) {
        let spacing = 20.0;
        let mut stroke = json!({
            "tool": "stamp", "file": "p.png", "at_m": path, "radius_m": radius, "falloff": falloff,
            "amount_m": amount, "turn_deg": turn,
        });
        if let Some((height, strength)) = onto {
            (stroke["height_m"], stroke["strength"]) = (height.into(), strength.into());
        }
        let mut job = Job::new(recipe([0, 0], [31, 29], spacing,
            &json!([stroke])).unwrap()).unwrap();
        job.supply_picture("p.png", &picture).unwrap();
        let made = job.run_on(&mut cpu(), &mut |_| Ok(())).unwrap();
        // As of a path, for two factors, at every point; and places in the picture to some 2⁻¹⁵
        // samples.
        let inner = (1.0 - falloff) * (1.0 - falloff);
        let slope = if falloff > 0.0 { 8.0 / (1.0 - inner) * 3.0 / 4096.0 } else { 0.0 };
        let shown = shares(&picture, &stroke, spacing);
        let most = amount.abs() + onto.map_or(0.0, |(height, _)| height.abs()) + 5000.0;
        let bound = most * path.len() as f64 * (slope + 1e-3);
        for (i, height) in made.map("height").unwrap().data.iter().enumerate() {
            let place = [i % 31, i / 31].map(|n| n as f64 * spacing);
            let expected = path.iter().try_fold(0.0, |h,
                point| stamped(h, place, *point, &shown, &stroke));
            let Some(expected) = expected else { continue };
            prop_assert!((f64::from(*height) - expected).abs() <= bound, "{place:?}: {height} for \
                                                                          {expected}, to {bound}");
        }
    }
}

/// A picture of much finer stripes than cells is grey, not stripes of another width: none of its
/// samples is passed over, however it is turned.
#[test]
fn a_stamp_with_more_samples_than_cells_has_their_means() {
    for (side, turn) in [(256, 0.0), (255, 30.0), (97, -45.0)] {
        let stripes =
            picture(side, side, (0..side * side).map(|i| (i % side % 3 / 2) as f32).collect());
        let strokes = json!([{ "tool": "stamp", "file": "p", "at_m": [[320, 320]], "radius_m": 120,
            "amount_m": 300, "turn_deg": turn, "falloff": 0 }]);
        let mut job = Job::new(recipe([0, 0], [64, 64], 10.0, &strokes).unwrap()).unwrap();
        job.supply_picture("p", &stripes).unwrap();
        let made = job.run_on(&mut cpu(), &mut |_| Ok(())).unwrap();
        let data = made.map("height").unwrap().data;
        // A third of the samples are 1.
        for (x, y) in (26..39).flat_map(|y| (26..39).map(move |x| (x, y))) {
            let height = data[y * 64 + x];
            assert!(
                (height - 100.0).abs() < 15.0,
                "{side} samples, {turn}°, {x}, {y}: {height} m for 100"
            );
        }
    }
}

/// A picture of a slope, in any unit, is a slope from 0 to the amount across the stamp, also on a
/// coarser level.
#[test]
fn a_stamp_of_a_slope_is_that_slope() {
    let text = |levels: &str| {
        format!(
            "schema = 2\nseed = 3\nwidth = 128\nheight = 128\nspacing_m = 10\n{levels}\n[[stage]]\n\
             kind = \"flat\"\n[[stage]]\nkind = \"strokes\"\n\
             [[stage.stroke]]\ntool = \"stamp\"\nfile = \"slope.npy\"\nat_m = [[640, 640]]\n\
             radius_m = 304\nfalloff = 0\namount_m = 608\n\
             [[stage]]\nkind = \"droplets\"\nrain = 0\n[output]\nmaps = [\"height\"]\n"
        )
    };
    let slope = picture(4, 2, vec![-7.0, -5.0, -3.0, -1.0, -7.0, -5.0, -3.0, -1.0]);
    for (level, levels) in [(0, ""), (1, "levels = 3"), (2, "levels = 3")] {
        let mut job = Job::new(Recipe::from_toml(&text(levels), "", "slope").unwrap()).unwrap();
        job.supply_picture("slope.npy", &slope).unwrap();
        let job = if level > 0 { job.until_level(level).unwrap() } else { job };
        let made = job.run_on(&mut cpu(), &mut |_| Ok(())).unwrap();
        let map = made.map("height").unwrap();
        let step = 10.0 * f64::from(1 << level);
        let mut inside = 0;
        for (i, height) in map.data.iter().enumerate() {
            let (x, y) =
                ((i as u32 % map.width) as f64 * step, (i as u32 / map.width) as f64 * step);
            // The longer side is two radii, the other a third of it.
            let (dx, dy) = (x - 640.0, y - 640.0);
            let expected =
                if dx.abs() <= 304.0 && dy.abs() <= 304.0 / 3.0 { 304.0 + dx } else { 0.0 };
            inside += usize::from(expected > 0.0);
            assert!(
                (f64::from(*height) - expected).abs() < 0.05,
                "level {level}, {x}, {y}: {height} for {expected}"
            );
        }
        assert!(inside > 70, "{inside}");
    }
}

#[test]
fn a_ramp_goes_evenly_along_its_path() {
    let path = [[50.0, 300.0, 1.0], [350.0, 300.0, 1.0], [350.0, 900.0, 1.0]];
    let strokes = json!([{ "tool": "ramp", "at_m": path, "radius_m": 60, "falloff": 0.5,
        "height_m": [100, 400] }]);
    let made = heights([0, 0], [50, 100], 10.0, &strokes);
    let at = |x: usize, y: usize| made[y * 50 + x];
    // A third of the way is the bend's end of the first part: 300 of 900 m.
    for (x, y, expected) in
        [(5, 30, 100.0), (20, 30, 150.0), (35, 30, 200.0), (35, 60, 300.0), (35, 90, 400.0)]
    {
        assert!((at(x, y) - expected).abs() < 1.0, "{x}, {y}: {}", at(x, y));
    }
    assert_eq!(at(20, 60), 0.0, "beyond the brush");
}

/// Under the plateau of a brush all pieces of a path weigh the same, and the nearest one says how
/// high it is: no steps.
#[test]
fn a_ramp_has_no_steps() {
    let strokes = json!([{ "tool": "ramp", "at_m": [[100, 100], [900, 100]], "radius_m": 80,
        "falloff": 0, "height_m": [0, 800] }]);
    let made = heights([0, 0], [101, 20], 10.0, &strokes);
    for y in [6, 10, 13] {
        for x in 11..=90 {
            let expected = (x as f32 - 10.0) * 10.0;
            assert!(
                (made[y * 101 + x] - expected).abs() < 1.0,
                "{x}, {y}: {} for {expected}",
                made[y * 101 + x]
            );
        }
    }
}

/// However slowly a path is drawn, and however often it crosses itself, it counts once.
#[test]
fn a_stroke_counts_once() {
    let stroke =
        |at: Value| json!([{ "tool": "raise", "at_m": at, "radius_m": 70, "amount_m": 90 }]);
    let once = heights([0, 0], [40, 40], 10.0, &stroke(json!([[100, 100], [300, 100]])));
    // Its pieces begin elsewhere, and are off by less than 2⁻¹⁰ radii.
    for at in [
        json!([[100, 100], [100, 100], [300, 100], [300, 100]]),
        json!([[100, 100], [300, 100], [100, 100]]),
    ] {
        let again = heights([0, 0], [40, 40], 10.0, &stroke(at));
        assert!(once.iter().zip(&again).all(|(a, b)| (a - b).abs() < 0.2));
    }
    let top = once.iter().copied().fold(0.0, f32::max);
    assert!((89.9..=90.0).contains(&top), "{top}");
}

/// Smoothing leaves level ground alone to the bit, takes the top off a spike, and does nothing
/// beyond the brush.
#[test]
fn smoothing_levels_what_is_rough() {
    let smooth = json!({ "tool": "smooth", "at_m": [[300, 300]], "radius_m": 200 });
    let level = json!({ "tool": "flatten", "at_m": [[300, 300]], "radius_m": 4000, "falloff": 0,
        "height_m": 123.4 });
    let before = heights([0, 0], [61, 61], 10.0, &json!([level]));
    assert_eq!(before, heights([0, 0], [61, 61], 10.0, &json!([level, smooth])));
    let spike = |x: f64| {
        json!({ "tool": "raise", "at_m": [[x, 300]], "radius_m": 10, "falloff": 0,
        "amount_m": 100 })
    };
    let made = heights([0, 0], [61, 61], 10.0, &json!([spike(300.0), spike(30.0), smooth]));
    // Taps 1, 2 and 4 cells apart, each 1/4 in the middle: the convolution of the three kernels is
    // highest there.
    let kernel = |apart: i64| [(-apart, 0.25), (0, 0.5), (apart, 0.25)];
    let middle: f64 = kernel(1)
        .iter()
        .flat_map(|(a, v)| kernel(2).map(|(b, w)| (a + b, v * w)))
        .flat_map(|(a, v)| kernel(4).map(|(b, w)| (a + b, v * w)))
        .filter(|(at, _)| *at == 0)
        .map(|(_, weight)| weight)
        .sum();
    let expected = 100.0 * middle * middle;
    assert!(
        (f64::from(made[30 * 61 + 30]) - expected).abs() < 0.01,
        "{} for {expected}",
        made[30 * 61 + 30]
    );
    assert!(
        (made[30 * 61 + 3] - 100.0).abs() < 0.01,
        "{}: a spike beyond the brush",
        made[30 * 61 + 3]
    );
}

/// A coarser lattice shows the same strokes at its own places, and leaves out brushes narrower than
/// its cells.
#[test]
fn a_coarser_lattice_has_the_same_strokes() {
    let recipe = |levels: &str| {
        let text = format!(
            "schema = 2\nseed = 3\nwidth = 256\nheight = 256\nspacing_m = 10\n{levels}\n[[stage]]\n\
             kind = \"flat\"\n[[stage]]\nkind = \"strokes\"\n\
             [[stage.stroke]]\ntool = \"raise\"\nat_m = [[400, 700], [1900, 1500, 0.4]]\n\
             radius_m = 600\namount_m = 700\n\
             [[stage.stroke]]\ntool = \"lower\"\nat_m = [[1200, 1200]]\nradius_m = 15\n\
             falloff = 0\namount_m = 300\n\
             [[stage]]\nkind = \"droplets\"\nrain = 0\n[output]\nmaps = [\"height\"]\n"
        );
        Recipe::from_toml(&text, "", "levels").unwrap()
    };
    let fine = made(&recipe(""), &mut cpu());
    let coarse = Job::new(recipe("levels = 2"))
        .unwrap()
        .until_level(1)
        .unwrap()
        .run_on(&mut cpu(), &mut |_| Ok(()))
        .unwrap();
    let (fine, coarse) = (&fine.maps["height"].data, coarse.map("height").unwrap());
    let across = coarse.width as usize;
    let mut narrow = 0;
    for (i, height) in coarse.data.iter().enumerate() {
        let (x, y) = (i % across * 2, i / across * 2);
        if x > 255 || y > 255 {
            continue;
        }
        let whole = fine[y * 256 + x];
        // Cells of the two lattices are of different height: the words of one are half as fine. The
        // small brush is not there.
        let small = (x as f64 * 10.0 - 1200.0).hypot(y as f64 * 10.0 - 1200.0) < 15.0;
        narrow += usize::from(small);
        assert!(small || (height - whole).abs() < 1.0, "{x}, {y}: {height} for {whole}");
        assert!(!small || height - whole > 250.0, "{x}, {y}: {height} for {whole}");
    }
    assert_eq!(narrow, 1);
}

/// Painted layers begin as what stages take for granted without them.
#[test]
fn layers_are_painted() {
    let stroke = |layer: &str, tool: &str, amount: f64| {
        json!({ "tool": tool, "layer": layer, "at_m": [[100, 100]], "radius_m": 50,
        "falloff": 0, "amount": amount })
    };
    let recipe = json!({
        "schema": 2, "width": 30, "height": 30, "spacing_m": 10,
        "output": { "maps": ["height", "rain", "hardness", "vegetation"] },
        "stage": [
            { "kind": "flat" },
            { "kind": "strokes", "stroke": [
                stroke("rain", "lower", 0.25), stroke("hardness", "raise", 0.5),
                stroke("vegetation", "raise", 0.75),
                stroke("vegetation", "raise", 0.75),
            ] },
            { "kind": "droplets", "rain": 0.1 },
        ],
    });
    let made = made(&Recipe::from_json(&recipe.to_string(), "", "painted").unwrap(), &mut cpu());
    let at = |map: &str, x: usize| made.maps[map].data[10 * 30 + x];
    assert_eq!([at("rain", 10), at("hardness", 10), at("vegetation", 10)], [0.75, 0.5, 1.0]);
    assert_eq!([at("rain", 25), at("hardness", 25), at("vegetation", 25)], [1.0, 0.0, 0.0]);
}

/// A layer that no stroke paints is there afterwards as it was before.
#[test]
fn layers_that_are_not_painted_stay() {
    let recipe = json!({
        "schema": 2, "width": 30, "height": 30, "spacing_m": 10,
        "output": { "maps": ["height", "hardness", "rain"] },
        "stage": [
            { "kind": "flat" },
            { "kind": "layer", "map": "hardness", "low": 0.25, "high": 0.25 },
            { "kind": "strokes", "stroke": [
                { "tool": "raise", "at_m": [[100, 100]], "radius_m": 50, "amount_m": 40 },
                { "tool": "lower", "layer": "rain", "at_m": [[100, 100]], "radius_m": 50,
                    "amount": 0.5, "falloff": 0 },
            ] },
            { "kind": "droplets", "rain": 0.1 },
        ],
    });
    let made = made(&Recipe::from_json(&recipe.to_string(), "", "painted").unwrap(), &mut cpu());
    assert!(made.maps["hardness"].data.iter().all(|v| *v == 0.25));
    assert_eq!([10, 25].map(|x| made.maps["rain"].data[10 * 30 + x]), [0.5, 1.0]);
}

/// The text of a recipe and the recipe that is described from it make the same land.
#[test]
fn a_recipe_with_strokes_survives_its_description() {
    let strokes = json!([
        { "tool": "lower", "at_m": [[10, 10]], "radius_m": 50, "amount_m": 5 },
        { "tool": "noise", "at_m": [[10, 10], [90, 40, 0.5]], "radius_m": 50, "amount_m": 5,
            "feature_m": 40, "seed": 8 },
        { "tool": "ramp", "at_m": [[10, 10], [90, 40]], "radius_m": 20, "height_m": [3, 9],
            "strength": 0.5 },
        { "tool": "flatten", "layer": "rain", "at_m": [[10, 10]], "radius_m": 50, "value": 0.5 },
        { "tool": "smooth", "at_m": [[50, 50]], "radius_m": 40 },
        { "tool": "stamp", "file": "a.png", "at_m": [[60, 50], [90, 70, 0.5]], "radius_m": 40,
            "amount_m": -9, "turn_deg": 30 },
        { "tool": "stamp", "file": "b.png", "at_m": [[60, 50]], "radius_m": 40, "amount_m": 9,
            "height_m": 3, "strength": 0.5 },
        { "tool": "stamp", "file": "a.png", "layer": "rain", "at_m": [[60, 50]], "radius_m": 40,
            "amount": -0.5 },
    ]);
    let first = recipe([0, 0], [20, 20], 10.0, &strokes).unwrap();
    let text = first.describe().to_string();
    let second = Recipe::from_json(&text, "", "drawn").unwrap();
    assert_eq!(text, second.describe().to_string());
    let digest = |recipe: &Recipe| made(recipe, &mut cpu()).digests["height"].clone();
    assert_eq!(digest(&first), digest(&second));
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name() {
    let usual = json!({ "tool": "raise", "at_m": [[5, 5]], "radius_m": 50, "amount_m": 5 });
    let refused = |changes: Value| {
        let mut stroke = usual.clone();
        for (key, value) in changes.as_object().unwrap() {
            match value.is_null() {
                true => drop(stroke.as_object_mut().unwrap().remove(key)),
                false => stroke[key] = value.clone(),
            }
        }
        let error =
            recipe([0, 0], [20, 20], 10.0, &json!([usual, stroke])).and_then(Job::new).unwrap_err();
        let thalweg::Error::Param(invalid) = error else { panic!("{error}") };
        let pointer = invalid.pointer.clone().unwrap_or_default();
        assert!(pointer.starts_with("/stage/1/stroke"), "{pointer}: {}", invalid.message);
        invalid.message
    };
    for (changes, expected) in [
        (json!({ "tool": "rais" }), "tool = \"rais\": no such tool; did you mean \"raise\"?"),
        (json!({ "tool": null }), "tool is missing"),
        (json!({ "amount": 1 }), "\"amount\": no such key"),
        (json!({ "amount_m": null }), "amount_m is missing, such as amount_m = 50"),
        (
            json!({ "amount_m": 80001 }),
            "amount_m = 80001 at spacing_m = 10: allowed up to 80000 m, 8000 cells",
        ),
        (
            json!({ "radius_m": 9 }),
            "radius_m = 9 at spacing_m = 10: allowed 10 to 327670 m, one cell to 32767",
        ),
        (
            json!({ "radius_m": 400000 }),
            "radius_m = 400000 at spacing_m = 10: allowed 10 to 327670 m",
        ),
        (json!({ "radius_m": -1 }), "radius_m = -1: allowed 0.001 to 1000000000"),
        (json!({ "falloff": 1.5 }), "falloff = 1.5: allowed 0 to 1"),
        (json!({ "at_m": [] }), "at_m = []: allowed a list of points"),
        (json!({ "at_m": [[1]] }), "at_m = [1]: allowed two metres"),
        (json!({ "at_m": [[1, 2, 3]] }), "at_m = [1,2,3]: allowed two metres"),
        (json!({ "at_m": [[1, 1e16]] }), "allowed two metres up to 1e15 either way"),
        (json!({ "at_m": [["a", 2]] }), "at_m = [\"a\",2]: allowed"),
        (json!({ "layer": "snow" }), "layer = \"snow\": no such layer"),
        (json!({ "layer": "rain" }), "\"amount_m\": no such key"),
        (
            json!({ "tool": "smooth", "layer": "rain", "amount_m": null }),
            "it smooths the height alone",
        ),
        (
            json!({ "tool": "ramp", "amount_m": null, "height_m": 5 }),
            "height_m = 5: allowed two numbers",
        ),
        (
            json!({ "tool": "flatten", "amount_m": null, "height_m": 90000 }),
            "height_m = 90000 at spacing_m = 10: allowed -80000 to 80000 m",
        ),
        (
            json!({ "at_m": [[0, 0], [1e12, 0]] }),
            "stroke 2: a path of 10000000000 pieces: allowed 1048576 pieces",
        ),
        (json!({ "file": "a.png" }), "\"file\": no such key"),
        (json!({ "tool": "stamp" }), "file is missing, such as file = \"crater.png\""),
        (json!({ "tool": "stamp", "file": "" }), "file is missing"),
        (json!({ "tool": "stamp", "file": 3 }), "file = 3: allowed text"),
        (json!({ "tool": "stamp", "file": "a", "amount_m": null }), "amount_m is missing"),
        (
            json!({ "tool": "stamp", "file": "a", "amount_m": -80001 }),
            "amount_m = -80001 at spacing_m = 10: allowed up to 80000 m",
        ),
        (
            json!({ "tool": "stamp", "file": "a", "turn_deg": 361 }),
            "turn_deg = 361: allowed -360 to 360",
        ),
        (json!({ "tool": "stamp", "file": "a", "strength": 1 }), "\"strength\": no such key"),
        (
            json!({ "tool": "stamp", "file": "a", "height_m": 79999 }),
            "height_m = 80004 at spacing_m = 10: allowed",
        ),
        (
            json!({ "tool": "stamp", "file": "a", "layer": "rain", "amount_m": null,
                "amount": -1.5 }),
            "amount = -1.5: allowed -1 to 1",
        ),
    ] {
        let message = refused(changes);
        assert!(
            message.contains(expected) && message.contains("stroke 2"),
            "{message}\nlacks {expected}"
        );
    }
}

/// A picture that is missing, or that cannot be stamped, is refused where the recipe names it.
#[test]
fn pictures_that_cannot_be_stamped_are_refused_by_name() {
    let stroke = |file: &str| {
        json!({ "tool": "stamp", "file": file, "at_m": [[50, 50]],
        "radius_m": 50, "amount_m": 5 })
    };
    let raise = json!({ "tool": "raise", "at_m": [[50, 50]], "radius_m": 50, "amount_m": 5 });
    let recipe = recipe(
        [0, 0],
        [20, 20],
        10.0,
        &json!([raise, stroke("a.png"), stroke("b.png"), stroke("a.png")]),
    )
    .unwrap();
    let job = Job::new(recipe).unwrap();
    let named: Vec<_> = job.pictures().collect();
    assert_eq!(
        named,
        [(1, 1, "a.png".to_string()), (1, 2, "b.png".into()), (1, 3, "a.png".into())]
    );
    let pointer = |error: thalweg::Error, expected: &str| match error {
        thalweg::Error::Param(invalid) => {
            assert!(invalid.message.contains(expected), "{}\nlacks {expected}", invalid.message);
            invalid.pointer.clone().unwrap_or_default()
        }
        other => panic!("{other}"),
    };
    let level = |width: u32, height: u32| {
        picture(width, height, (0..width * height).map(|i| i as f32).collect())
    };
    for (map, expected) in [
        (level(1, 5), "1 x 5 samples: a picture has 2 to 4096 a side"),
        (level(4097, 2), "4097 x 2 samples: a picture has 2 to 4096 a side"),
        (picture(3, 3, vec![0.5; 9]), "all samples are 0.5"),
        (picture(3, 3, vec![0.5; 8]), "3 x 3 samples"),
        (picture(2, 2, vec![0.0, f32::NAN, 1.0, 2.0]), "NaN in column 1, row 0"),
    ] {
        let error = job.clone().supply_picture("a.png", &map).unwrap_err();
        assert_eq!(
            pointer(error, &format!("file = \"a.png\": {expected}")),
            "/stage/1/stroke/1/file"
        );
    }
    let mut job = job;
    job.supply_picture("a.png", &level(2, 2)).unwrap();
    let error = job.clone().run_on(&mut cpu(), &mut |_| Ok(())).unwrap_err();
    assert_eq!(pointer(error, "its picture, b.png, was not read"), "/stage/1/stroke/2/file");
    let error = job.clone().supply_picture("b.png", &level(4096, 4096)).unwrap_err();
    assert_eq!(pointer(error, "have 16777220 samples: allowed 16777216"), "/stage/1/stroke/2/file");
    assert!(
        job.supply_picture("c.png", &level(2, 2))
            .unwrap_err()
            .to_string()
            .contains("no stage of the recipe has it as a picture")
    );
}

/// Some extremes that are allowed: the steepest scale of a picture, one that is much larger than
/// the land, and a point far beyond it.
#[test]
fn stamps_of_any_size_stay_within_their_words() {
    let large = picture(4096, 3, (0..4096 * 3).map(|i| (i % 4096) as f32).collect());
    for (radius, at) in [
        (10.0, [100.0, 100.0]),
        (327_670.0, [300_000.0, -50_000.0]),
        (20.0, [55.5, 44.4]),
        (14.9, [104.0, 97.0]),
    ] {
        for turn in [0.0, 45.0, 137.0] {
            let strokes = json!([{ "tool": "stamp", "file": "p", "at_m": [at], "radius_m": radius,
                "amount_m": 80_000, "turn_deg": turn, "falloff": 0.5 }]);
            let mut job = Job::new(recipe([0, 0], [64, 64], 10.0, &strokes).unwrap()).unwrap();
            job.supply_picture("p", &large).unwrap();
            let made = job.run_on(&mut cpu(), &mut |_| Ok(())).unwrap();
            let shown = shares(&large, &strokes[0], 10.0);
            for (i, height) in made.map("height").unwrap().data.iter().enumerate() {
                let place = [i % 64, i / 64].map(|n| n as f64 * 10.0);
                let Some(expected) = stamped(0.0, place, [at[0], at[1], 1.0], &shown, &strokes[0])
                else {
                    continue;
                };
                assert!(
                    (f64::from(*height) - expected).abs() < 1500.0,
                    "radius {radius}, {turn}°, {place:?}: {height} for {expected}"
                );
            }
        }
    }
}

/// As many pieces of paths as are allowed are drawn, and one more is refused before anything is
/// made of it.
#[test]
fn pieces_are_counted() {
    let path = |count: usize| {
        json!([{ "tool": "raise", "at_m": vec![[5.0, 5.0]; count + 1],
        "radius_m": 10, "amount_m": 7 }])
    };
    let most = 1 << 20;
    let made = heights([0, 0], [2, 2], 10.0, &path(most));
    assert!(made.iter().all(|h| *h > 0.0));
    let error =
        recipe([0, 0], [2, 2], 10.0, &path(most + 1)).and_then(Job::new).unwrap_err().to_string();
    assert!(
        error.contains("1048577 pieces of paths up to stroke 1: allowed 1048576 pieces"),
        "{error}"
    );
}
