//! Biomes: the weights and what is made of them.

use crate::common::{anywhere, config, cpu, everything, gpu, plan, prepare, run, site};
use proptest::prelude::*;
use std::collections::BTreeMap;
use thalweg::classic::biomes as classic;
use thalweg::exec::Executor;
use thalweg::lattice::{FARTHEST, Lattice, Point};
use thalweg::params::{Settings, Value};
use thalweg::plan::Plan;
use thalweg::site::{Layers, Window};
use thalweg::stage::biomes::{self, STAGE};
use thalweg::stage::{Case, Surface};
use thalweg::{Device, Error, Job, Recipe};

fn case(settings: Vec<(&'static str, Value)>, window: Window) -> Case {
    Case { name: "made", settings, window, surface: Surface::Flat, layers: Layers::NONE }
}

fn word(w: &str) -> Value {
    Value::Word(w.into())
}

/// Biome and weight, row-major, in the order of biomes; zeros left out.
type Weights = Vec<Vec<(u32, u32)>>;

fn weights(case: &Case) -> Weights {
    let listed = Case {
        settings: [case.settings.clone(), vec![("weights", word("npy"))]].concat(),
        ..*case
    };
    let words = everything(&STAGE, &listed, &mut cpu())
        .into_iter()
        .find(|(name, _)| *name == "weights")
        .expect("weights")
        .1;
    let cells = case.window.cells();
    let cell = |i: usize| {
        let pairs = words[i..]
            .iter()
            .step_by(cells)
            .flat_map(|word| [*word as u32 & 0xffff, *word as u32 >> 16]);
        let mut found: Vec<(u32, u32)> =
            (0..).zip(pairs).filter(|(_, weight)| *weight > 0).collect();
        if let [(_, weight)] = &mut found[..] {
            // 16 bits cannot hold the whole.
            assert_eq!(*weight, 65535);
            *weight = 65536;
        }
        found
    };
    (0..cells).map(cell).collect()
}

/// So many biomes of one height each, whose order has nothing to do with their heights.
fn many(count: usize) -> Value {
    let biome = |n: usize| {
        serde_json::json!({ "name": format!("b{n}"), "colour": "#000000",
        "base_m": n * 37 % count, "relief_m": 0 })
    };
    Value::List((0..count).map(biome).collect())
}

fn named(name: &str) -> Case {
    (STAGE.cases)().into_iter().find(|c| c.name == name).expect("the case")
}

/// The weights of every cell add up to exactly 1, and near borders there are several.
/// Holds E1.
#[test]
fn weights_add_up_to_one_everywhere() {
    for case in (STAGE.cases)() {
        let all = weights(&case);
        for (i, cell) in all.iter().enumerate() {
            assert_eq!(
                cell.iter().map(|(_, w)| w).sum::<u32>(),
                65536,
                "{} cell {i}: {cell:?}",
                case.name
            );
        }
        assert!(all.iter().any(|cell| cell.len() > 1), "{}: nothing is blended", case.name);
    }
}

/// In one of the stage's cases, some chunks have one biome and are skipped, and others are not.
/// Holds E14.
#[test]
fn a_case_leaves_chunks_out() {
    let all: BTreeMap<_, _> =
        everything(&STAGE, &named("convolved"), &mut cpu()).into_iter().collect();
    let kinds =
        all["sets"].chunks(8).map(|set| set.iter().map(|word| word.count_ones()).sum::<u32>());
    let alone = kinds.clone().filter(|n| *n == 1).count();
    assert!(alone > 5 && kinds.len() - alone > 5, "{alone} of {}", kinds.len());
}

/// Weights do not depend on the size of chunks, on skipping chunks of one biome, or on the window.
/// Holds E10, E14.
#[test]
fn chunks_and_windows_do_not_show() {
    for method in ["scattered", "full", "convolved", "lerped"] {
        let settings = |more: Vec<(&'static str, Value)>| {
            let mut all = vec![
                ("method", word(method)),
                ("frequency", Value::Number(0.15)),
                ("padding_cells", Value::Number(5.0)),
                ("radius_cells", Value::Number(11.0)),
                ("interval_cells", Value::Integer(5)),
                ("feature_cells", Value::Number(250.0)),
            ];
            all.extend(more);
            all
        };
        let window = Window { origin: [-70, 1000], width: 83, height: 70 };
        let whole = weights(&case(settings(vec![]), window));
        let alone = whole.iter().filter(|cell| cell.len() == 1).count();
        assert!(
            alone > 300 && alone < whole.len() - 300,
            "{method}: {alone} of {} cells have one biome",
            whole.len()
        );
        let slow = weights(&case(settings(vec![("skip", Value::Switch(false))]), window));
        assert_eq!(whole, slow, "{method}: without skip");
        for side in [8, 32] {
            let other = settings(vec![("chunk_cells", word(&side.to_string()))]);
            assert_eq!(whole, weights(&case(other, window)), "{method}: chunks of {side}");
            // A radius of which the squares fit 32 bits with more bits of fraction in small chunks
            // than in large ones.
            let wide = |side: usize| {
                let wide = vec![
                    ("padding_cells", Value::Number(80.0)),
                    ("radius_cells", Value::Number(99.0)),
                    ("chunk_cells", word(&side.to_string())),
                ];
                weights(&case(settings(wide), Window { width: 40, height: 35, ..window }))
            };
            assert_eq!(wide(16), wide(side), "{method}: chunks of {side}, a wide radius");
        }
        let part = Window { origin: [-70 + 9, 1000 + 13], width: 40, height: 31 };
        let part = weights(&case(settings(vec![]), part));
        for (i, cell) in part.iter().enumerate() {
            assert_eq!(
                *cell,
                whole[(i / 40 + 13) * 83 + i % 40 + 9],
                "{method}: another window, cell {i}"
            );
        }
    }
}

/// The biome of every point as the stage found it, with the points where they are.
fn kinds(case: &Case) -> Vec<i32> {
    everything(&STAGE, case, &mut cpu())
        .into_iter()
        .find(|(name, _)| *name == "kinds")
        .expect("kinds")
        .1
}

/// The weights of every method are those of the published formula in f64 over the same points, to 4
/// parts in 65536, however many biomes are near: none is left out (B-1).
/// Holds E2, E3, E4, E5, E6, E8, E11.
#[test]
fn weights_are_those_of_the_formula() {
    let (frequency, padding, interval, size) = (0.08, 12.0, 6i64, [90u32, 60]);
    let window = Window { origin: [123, -77], width: size[0], height: size[1] };
    let methods = ["scattered", "full", "convolved", "lerped"];
    for (method, count, feature) in
        methods.into_iter().flat_map(|method| [(method, 4, 60.0), (method, 255, 9.0)])
    {
        let settings = vec![
            ("method", word(method)),
            ("frequency", Value::Number(frequency)),
            ("padding_cells", Value::Number(padding)),
            ("radius_cells", Value::Number(17.5)),
            ("interval_cells", Value::Integer(interval)),
            ("feature_cells", Value::Number(feature)),
            ("octaves", Value::Integer(1)),
            ("biome", many(count)),
        ];
        let case = case(settings, window);
        let found = weights(&case);
        let (plan, kinds) = (plan(&STAGE, &case), kinds(&case));
        let scattered = method == "scattered";
        let radius = if scattered { padding + FARTHEST / frequency } else { 17.5 };
        let reach = radius.ceil() as i64 + if method == "lerped" { 2 * interval } else { 0 };
        let margin = (reach + 15) / 16 * 16;
        let words = points_of(&plan);
        // Where a point lies in the world: positions have 8 bits of fraction here, and 7 where work
        // is done by nodes, which lie apart.
        let one = if method == "lerped" { 128.0 } else { 256.0 };
        let place = |n: usize| {
            [0, 1].map(|a| words[n * 2 + a] as f64 / one + (window.origin[a] - margin) as f64)
        };
        let samples: Vec<([f64; 2], usize)> =
            kinds.iter().enumerate().map(|(n, kind)| (place(n), *kind as usize)).collect();
        let of: std::collections::HashMap<[i64; 2], usize> =
            samples.iter().map(|(p, kind)| (p.map(|v| v.floor() as i64), *kind)).collect();
        let biome_at = |p: [f64; 2]| of[&p.map(|v| v as i64)];
        let mut worst = 0.0f64;
        for (i, cell) in found.iter().enumerate() {
            let at = [window.origin[0] + i as i64 % 90, window.origin[1] + i as i64 / 90];
            let expected = match method {
                "scattered" => classic::convolution(
                    samples.iter().copied(),
                    radius,
                    at.map(|v| v as f64),
                    count,
                ),
                "full" => classic::convolved(1, radius, at, count, biome_at),
                "convolved" => classic::convolved(interval, radius, at, count, biome_at),
                _ => classic::lerped(interval, radius, at, count, biome_at),
            };
            for (biome, share) in expected.iter().enumerate() {
                let weight = cell.iter().find(|(b, _)| *b as usize == biome).map_or(0, |(_, w)| *w);
                worst = worst.max((weight as f64 - share * 65536.0).abs());
            }
        }
        assert!(worst < 4.0, "{method}, {count} biomes: off by {worst} of 65536");
        let most = found.iter().map(Vec::len).max().unwrap_or(0);
        assert!(count == 4 || most > 16, "{method}: no more than {most} of {count} biomes meet");
        if scattered {
            let lattice = Lattice::new(frequency, 12345).unwrap();
            let size = size.map(|n| n.div_ceil(16) * 16 + 2 * margin as u32);
            let local = |p: &Point| {
                [0, 1].map(|a| {
                    ((p.cell[a] - window.origin[a] + margin) << 8) + (p.fraction[a] >> 8) as i64
                })
            };
            let mut theirs: Vec<[i64; 2]> =
                lattice.within(window.origin.map(|o| o - margin), size).iter().map(local).collect();
            let mut ours: Vec<[i64; 2]> =
                words.chunks(2).map(|p| [p[0] as i64, p[1] as i64]).collect();
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs, "the points are the lattice's");
        }
    }
}

proptest! {
    #![proptest_config(config(40))]

    /// Few biomes on a lerped grid are weighed in a shorter way than many. A biome that is nowhere
    /// on the land takes the other way, and changes no weight.
    #[test]
    fn few_biomes_are_weighed_as_many_are(
        interval in 2i64..=16, more in 1.0..30.0f64, feature in 4.0..60.0f64, count in 2usize..=8,
        origin in (-1000i64..1000, -1000i64..1000), width in 1u32..70, height in 1u32..50,
    ) {
        let window = Window { origin: [origin.0, origin.1], width, height };
        let of = |count: usize, named: usize| {
            let row = |names: std::ops::Range<usize>| {
                serde_json::json!(names.map(|n| format!("b{n}")).collect::<Vec<_>>())
            };
            let settings = vec![
                ("method", word("lerped")),
                ("interval_cells", Value::Integer(interval)),
                ("radius_cells", Value::Number(interval as f64 + more)),
                ("from", word("climate")),
                ("feature_cells", Value::Number(feature)),
                ("sea_level_m", Value::Number(-1000.0)),
                ("stir", Value::Number(1.0)),
                ("table", Value::List(vec![row(0..named)])),
                ("biome", many(count)),
            ];
            Case { surface: Surface::Hills, ..case(settings, window) }
        };
        let few = weights(&of(count, count));
        prop_assert_eq!(&few, &weights(&of(9, count)));
        prop_assert!(few.iter().flatten().all(|(biome, _)| (*biome as usize) < count));
    }
}

/// Power of the roughness of blended heights by direction, in 18 sectors of 10°, over the waves
/// shorter than 10 cells: six maps of 256 cells, three biomes of one height each.
fn spectrum(method: &str) -> Vec<f64> {
    use rustfft::num_complex::Complex;
    const SIDE: usize = 254;
    let biome = |name: &str, base: i64| {
        serde_json::json!({ "name": name, "colour": "#000000", "base_m": base,
        "relief_m": 0 })
    };
    let mut sums = vec![(0.0, 0); 18];
    for seed in 1..=6 {
        let settings = vec![
            ("method", word(method)),
            ("frequency", Value::Number(0.095)),
            ("padding_cells", Value::Number(11.6)),
            ("feature_cells", Value::Number(120.0)),
            ("heights", word("replace")),
            ("biome", Value::List(vec![biome("a", 50_000), biome("b", 0), biome("c", 0)])),
        ];
        let window = Window { origin: [seed * 10_000, 0], width: 256, height: 256 };
        let all: BTreeMap<_, _> =
            everything(&STAGE, &case(settings, window), &mut cpu()).into_iter().collect();
        let at =
            |x: usize, y: usize| all["height"][y * 256 + x] as f64 / thalweg::arith::CELL as f64;
        let hann =
            |n: usize| 0.5 - 0.5 * (n as f64 / (SIDE - 1) as f64 * std::f64::consts::TAU).cos();
        let mut field: Vec<Complex<f64>> = (0..SIDE * SIDE)
            .map(|i| {
                let (x, y) = (i % SIDE, i / SIDE);
                let rough = at(x, y + 1) + at(x + 2, y + 1) + at(x + 1, y) + at(x + 1, y + 2)
                    - 4.0 * at(x + 1, y + 1);
                Complex::new(rough * hann(x) * hann(y), 0.0)
            })
            .collect();
        let plan = rustfft::FftPlanner::new().plan_fft_forward(SIDE);
        for _ in 0..2 {
            field.chunks_mut(SIDE).for_each(|row| plan.process(row));
            field = (0..SIDE * SIDE).map(|i| field[i % SIDE * SIDE + i / SIDE]).collect();
        }
        for (i, value) in field.iter().enumerate() {
            let wave = |n: usize| {
                let n = n as f64;
                if n > SIDE as f64 / 2.0 { n / SIDE as f64 - 1.0 } else { n / SIDE as f64 }
            };
            let (kx, ky) = (wave(i % SIDE), wave(i / SIDE));
            if (0.1..0.5).contains(&kx.hypot(ky)) {
                let sector = ((ky.atan2(kx).to_degrees() + 365.0) % 180.0 / 10.0) as usize;
                sums[sector].0 += value.norm_sqr();
                sums[sector].1 += 1;
            }
        }
    }
    sums.iter().map(|(power, count)| power / *count as f64).collect()
}

/// The borders of scattered biomes have no preferred direction. Those of a lerped grid do, by
/// orders of magnitude.
/// Holds E4, E6.
#[test]
fn borders_have_no_favourite_direction() {
    let peak = |method| {
        let mut powers = spectrum(method);
        powers.sort_by(f64::total_cmp);
        powers[17] / powers[9]
    };
    let (scattered, convolved, lerped) = (peak("scattered"), peak("convolved"), peak("lerped"));
    println!(
        "highest sector over the median: scattered {scattered:.2}, convolved {convolved:.2}, \
         lerped {lerped:.0}"
    );
    assert!(scattered < 2.0, "scattered: {scattered}");
    assert!(convolved > 3.0 && lerped > 100.0, "the measure sees no grid: {convolved}, {lerped}");
}

fn points_of(plan: &thalweg::plan::Plan) -> &[i32] {
    match &plan.buffer("points").fill {
        thalweg::plan::Fill::Words(words) => words,
        other => panic!("{other:?}"),
    }
}

/// At full resolution, a radius of one cell blends nothing, and a radius of 512 follows the
/// formula.
/// Holds E2, E3, E11.
#[test]
fn radii_from_one_cell_to_512() {
    let window = Window { origin: [0, 0], width: 40, height: 30 };
    let sharp = case(
        vec![
            ("method", word("full")),
            ("radius_cells", Value::Number(1.0)),
            ("feature_cells", Value::Number(10.0)),
        ],
        window,
    );
    assert!(weights(&sharp).iter().all(|cell| cell.len() == 1));
    let window = Window { origin: [0, 0], width: 3, height: 2 };
    let wide = case(
        vec![
            ("method", word("full")),
            ("radius_cells", Value::Number(512.0)),
            ("feature_cells", Value::Number(400.0)),
            ("chunk_cells", word("8")),
        ],
        window,
    );
    let found = weights(&wide);
    // By hand, from the stage's own points.
    let (plan, kinds) = (plan(&STAGE, &wide), kinds(&wide));
    let fraction = 6;
    let margin = 512i64;
    let points = points_of(&plan);
    for (i, cell) in found.iter().enumerate() {
        let mut sums = [0.0; 4];
        for (n, kind) in kinds.iter().enumerate() {
            let d = |a: usize| {
                ((points[2 * n + a] >> fraction) as i64 - margin - [i as i64 % 3, i as i64 / 3][a])
                    as f64
            };
            let t = (512.0 * 512.0 - d(0) * d(0) - d(1) * d(1)).max(0.0);
            sums[*kind as usize] += t * t;
        }
        let total: f64 = sums.iter().sum();
        for (biome, weight) in cell {
            let expected = sums[*biome as usize] / total * 65536.0;
            assert!(
                (*weight as f64 - expected).abs() < 8.0,
                "biome {biome}: {weight} for {expected}"
            );
        }
    }
}

/// The largest difference of a biome's weight, of 1, and of height, in words, between cells 1, 2
/// and 4 apart in a row or column.
fn steepest(method: &str, count: usize, feature: f64) -> [[f64; 2]; 3] {
    let settings = vec![
        ("method", word(method)),
        ("frequency", Value::Number(0.05)),
        ("padding_cells", Value::Number(80.0)),
        ("radius_cells", Value::Number(80.0)),
        ("interval_cells", Value::Integer(16)),
        ("feature_cells", Value::Number(feature)),
        ("octaves", Value::Integer(1)),
        ("heights", word("replace")),
        ("biome", many(count)),
    ];
    let case = case(settings, Window { origin: [0, 0], width: 96, height: 80 });
    let all = weights(&case);
    let heights = everything(&STAGE, &case, &mut cpu())
        .into_iter()
        .find(|(name, _)| *name == "height")
        .expect("height")
        .1;
    let most = all.iter().map(Vec::len).max().unwrap_or(0);
    assert!(most > 12, "{method}: no more than {most} of {count} biomes meet");
    let of = |cell: &[(u32, u32)], biome| {
        cell.iter().find(|(b, _)| *b == biome).map_or(0.0, |(_, w)| f64::from(*w) / 65536.0)
    };
    [1, 2, 4].map(|apart| {
        let mut worst = [0.0f64; 2];
        let east = (0..all.len()).filter(|i| i % 96 + apart < 96).map(|i| (i, i + apart));
        let south = (0..all.len() - apart * 96).map(|i| (i, i + apart * 96));
        for (i, j) in east.chain(south) {
            for (biome, _) in all[i].iter().chain(&all[j]) {
                worst[0] = worst[0].max((of(&all[i], *biome) - of(&all[j], *biome)).abs());
            }
            worst[1] = worst[1].max((f64::from(heights[i]) - f64::from(heights[j])).abs());
        }
        worst
    })
}

/// Weights and heights have no steps, with any number of biomes near (B-1): between cells half as
/// far apart, the largest difference is half as large. A step would be as large at every distance.
/// Holds E1, E10 in part.
#[test]
fn any_number_of_biomes_meets_without_a_step() {
    let cases =
        [("scattered", 20), ("scattered", 255), ("full", 255), ("convolved", 255), ("lerped", 255)];
    for (method, count) in cases {
        let apart = steepest(method, count, if count == 20 { 80.0 } else { 40.0 });
        println!(
            "{method}, {count} biomes: of weights and words, 1, 2 and 4 cells apart: {apart:?}"
        );
        for (near, far) in [(apart[0], apart[1]), (apart[1], apart[2])] {
            for n in 0..2 {
                // Weights have steps of 2⁻¹⁶, and a group's share is rounded as well.
                let rounding = [4.0 / 65536.0, 64.0][n];
                assert!(
                    near[n] <= far[n] * 0.55 + rounding,
                    "{method}, {count} biomes: {near:?} and {far:?}"
                );
            }
        }
    }
}

/// The channels of textures add up to 255 and are the weights to within one step. The biome of a
/// cell is the one with the largest weight.
/// Holds E15.
#[test]
fn textures_add_up_to_255() {
    for name in ["default", "many", "image"] {
        let mut case = named(name);
        case.settings.push(("splat", Value::Switch(true)));
        let found = weights(&case);
        let all: BTreeMap<_, _> = everything(&STAGE, &case, &mut cpu()).into_iter().collect();
        let splat = &all["splat"];
        assert_eq!(splat.len() % found.len(), 0);
        for (i, cell) in found.iter().enumerate() {
            let shares: Vec<i32> = splat[i..]
                .iter()
                .step_by(found.len())
                .flat_map(|w| w.to_le_bytes())
                .map(i32::from)
                .collect();
            assert_eq!(shares.iter().sum::<i32>(), 255, "{name} cell {i}");
            for (biome, share) in shares.iter().enumerate() {
                let weight = cell.iter().find(|(b, _)| *b as usize == biome).map_or(0, |(_, w)| *w);
                assert!(
                    (weight as f64 * 255.0 / 65536.0 - *share as f64).abs() < 1.0,
                    "{name} cell {i} biome {biome}"
                );
            }
        }
        let heaviest = |cell: &Vec<(u32, u32)>| {
            cell.iter().rev().max_by_key(|(_, w)| *w).map(|(b, _)| *b as i32)
        };
        for (i, biome) in all["biome"].iter().enumerate() {
            assert_eq!(Some(*biome), heaviest(&found[i]), "{name} cell {i}");
        }
    }
}

/// A layer is the blend of the biomes' values.
#[test]
fn layers_are_blended() {
    let case = named("many");
    let found = weights(&case);
    let all: BTreeMap<_, _> = everything(&STAGE, &case, &mut cpu()).into_iter().collect();
    for (i, cell) in found.iter().enumerate() {
        let expected: f64 = cell.iter().map(|(b, w)| *b as f64 / 40.0 * *w as f64).sum();
        let rain: f64 = cell.iter().map(|(b, w)| (*b % 7) as f64 / 7.0 * *w as f64).sum();
        // What each biome adds is rounded down.
        let rounding = cell.len() as f64 + 1.0;
        assert!((all["hardness"][i] as f64 - expected).abs() < rounding, "cell {i}");
        assert!((all["rain"][i] as f64 - rain).abs() < rounding, "cell {i}");
    }
}

/// A land whose biome is `wet` where water is, and `dry` elsewhere: every cell is a point of its
/// own.
fn wet_or_dry(top: &str, water: &str, table: &str) -> Result<Recipe, Error> {
    let text = format!(
        "schema = 2\nseed = 9\nwidth = 150\nheight = 120\nspacing_m = 20\n{top}\n\
         [[stage]]\nkind = \"diamond_square\"\nworld_cells = 4096\nfeature_cells = 256\nrelief_m = \
                             900\n\
         [[stage]]\nkind = \"droplets\"\nlifetime = 16\nrain = 0.5\n\
         [[stage]]\nkind = \"biomes\"\nfrom = \"climate\"\nmethod = \"full\"\nradius_cells = 1\n\
         water = \"{water}\"\n\
         sea_level_m = -100000\ninland_cells = 1\ncoast = 1\ntable = [[\"dry\", \"wet\"]]\n\
         biome = [{{ name = \"dry\", colour = \"#aa9966\" }}, {{ name = \"wet\", colour = \
         \"#336622\" }}]\n{table}"
    );
    Recipe::from_toml(&text, "", "wet")
}

/// A climate that asks for rivers feels those of the table of water, and lakes and the sea: its
/// ground is wet exactly where the map of distances is 0.
#[test]
fn a_climate_feels_rivers_and_lakes() {
    let table = "[water]\nsea_level_m = 30\nchannel_area_km2 = 0.02\n[output]\n\
                 maps = [\"biome\", \"distance_to_water\", \"water_depth\"]\n";
    let run = |top: &str, water: &str, level: i32| {
        let job = Job::new(wet_or_dry(top, water, table).unwrap())
            .unwrap()
            .device(Device::Cpu)
            .until_level(level)
            .unwrap();
        job.run(&mut |_| Ok(())).unwrap()
    };
    for top in ["", "margin_cells = 9\norigin = [70, -31]", "levels = 2"] {
        let outcome = run(top, "rivers", 0);
        let words = |name| outcome.words(name).unwrap();
        let wet: Vec<bool> = words("biome").iter().map(|biome| *biome == 1).collect();
        let near: Vec<bool> =
            words("distance_to_water").iter().map(|metres| *metres == 0).collect();
        assert!(wet == near, "{top}");
        let deep = words("water_depth").iter().filter(|depth| **depth > 0).count();
        let count = wet.iter().filter(|wet| **wet).count();
        assert!(
            deep > 20 && count > deep + 20 && 4 * count < 3 * wet.len(),
            "{top}: {count} wet, {deep} deep of {}",
            wet.len()
        );
    }
    // A coarser level has no biomes, since their stage runs behind all levels.
    let job = |table: &str| {
        Job::new(wet_or_dry("levels = 2", "rivers", table).unwrap()).unwrap().until_level(1)
    };
    let why = job(table).unwrap_err().to_string();
    assert!(
        why.contains(
            "biome: level 1 has no such map: stage 3, biomes, runs on the finest level alone"
        ),
        "{why}"
    );
    let coarse = job(&table.replace("\"biome\", ", "")).unwrap().run(&mut |_| Ok(())).unwrap();
    assert!(coarse.words("biome").is_err() && coarse.words("distance_to_water").is_ok());
    assert!(run("", "sea", 0).words("biome").unwrap().iter().all(|biome| *biome == 0));
}

/// Rivers are of the whole land and of the table that says where they begin.
#[test]
fn rivers_of_a_climate_need_their_table_and_the_whole_land() {
    let refused = |recipe: Result<Recipe, Error>, parts: &[&str]| {
        let text = recipe.expect_err("refused").to_string();
        parts.iter().for_each(|part| assert!(text.contains(part), "{text}: {part}"));
    };
    refused(
        wet_or_dry("", "rivers", ""),
        &["stage 3, biomes", "water = \"rivers\"", "table [water]"],
    );
    refused(
        wet_or_dry("endless = true", "rivers", "[water]\n"),
        &["stage 3, biomes", "all of the land"],
    );
    let job = Job::new(wet_or_dry("", "rivers", "[water]\n").unwrap()).unwrap();
    let part = job.part(Window { origin: [5, 5], width: 20, height: 20 });
    assert!(part.unwrap_err().to_string().contains("rivers depend on all of the land"));
}

type Setting<'a> = (&'a str, Value);

fn refused(settings: &[Setting]) -> String {
    let given: Vec<(String, Value)> =
        settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let site = thalweg::site::Site::bare(Window { origin: [0, 0], width: 64, height: 64 }, 1.0, 0);
    match Settings::new(STAGE.params, &given) {
        Err(e) => e.to_string(),
        Ok(settings) => (STAGE.check)(&settings, &site).expect_err("refused").to_string(),
    }
}

/// Wrong settings, and what the error says.
type Refused = (Vec<Setting<'static>>, &'static [&'static str]);

#[test]
fn what_cannot_be_is_refused_by_name() {
    let n = Value::Number;
    let list = |v: serde_json::Value| Value::List(v.as_array().unwrap().clone());
    let one = |v: serde_json::Value| list(serde_json::json!([v]));
    let cases: Vec<Refused> = vec![
        (vec![("frequency", n(0.0))], &["frequency = 0", "0.002 to 1"]),
        (vec![("frequency", n(f64::NAN))], &["frequency"]),
        (vec![("frequency", n(0.002)), ("padding_cells", n(512.0))], &["radius of 1101.3", "1024"]),
        (
            vec![("method", word("full")), ("radius_cells", n(0.5))],
            &["radius_cells = 0.5", "1 to 512"],
        ),
        (
            vec![("method", word("lerped")), ("radius_cells", n(4.0))],
            &["radius_cells = 4", "interval_cells = 8"],
        ),
        (vec![("file", word("a.png"))], &["from = \"noise\""]),
        (vec![("weights", word("png"))], &["weights = \"png\"", "none, npy, exr"]),
        (
            vec![(
                "biome",
                list(serde_json::json!((0..256).map(|i| format!("b{i}")).collect::<Vec<_>>())),
            )],
            &["256 biomes", "255"],
        ),
        (
            vec![("biome", one(serde_json::json!({ "colour": "#000000" })))],
            &["biome 1", "name is missing"],
        ),
        (
            vec![("biome", one(serde_json::json!({ "name": "a", "colour": "red" })))],
            &["biome 1", "\"red\"", "#087020"],
        ),
        (
            vec![("biome", one(serde_json::json!({ "name": "a", "color": "#000000" })))],
            &["color", "did you mean \"colour\""],
        ),
        (
            vec![(
                "biome",
                one(serde_json::json!({ "name": "a", "colour": "#000000", "shape": "ridge" })),
            )],
            &["did you mean \"ridged\""],
        ),
        (
            vec![(
                "biome",
                one(serde_json::json!({ "name": "a", "colour": "#000000", "amplitudes": [2] })),
            )],
            &["amplitudes = [2]", "1 to 8"],
        ),
        (
            vec![
                (
                    "biome",
                    one(serde_json::json!({ "name": "a", "colour": "#000000", "base_m": 9000 })),
                ),
                ("heights", word("add")),
            ],
            &["\"a\"", "9000", "8000 cells"],
        ),
        (vec![("from", word("climate"))], &["table: 0 rows"]),
        (
            vec![
                ("from", word("climate")),
                ("table", list(serde_json::json!([["forest", "plains"], ["desert"]]))),
            ],
            &["table, row 2: 1 names", "row 1: 2"],
        ),
        (
            vec![
                ("from", word("climate")),
                ("table", list(serde_json::json!([["forest", ""], ["desert", "plains"]]))),
            ],
            &["table, row 1, column 2", "no such biome"],
        ),
        (
            vec![
                ("from", word("climate")),
                ("table", list(serde_json::json!([["forest", "dessert"]]))),
            ],
            &["table, row 1, column 2", "did you mean \"desert\""],
        ),
        (
            vec![(
                "biome",
                list(serde_json::json!([{ "name": "a", "colour": "#000000" },
                        { "name": "a", "colour": "#000001" }])),
            )],
            &["biome 2", "two called \"a\""],
        ),
    ];
    for (settings, parts) in cases {
        let text = refused(&settings);
        for part in parts {
            assert!(text.contains(part), "{text:?} says nothing of {part:?}");
        }
    }
}

/// A window that is too large is refused.
#[test]
fn too_many_points_are_refused() {
    let site =
        thalweg::site::Site::bare(Window { origin: [0, 0], width: 32767, height: 32767 }, 1.0, 0);
    let refused = |given: &[(&str, Value)]| {
        let given: Vec<(String, Value)> =
            given.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
        (STAGE.check)(&Settings::new(STAGE.params, &given).unwrap(), &site)
    };
    assert!(
        refused(&[("method", word("full"))]).unwrap_err().to_string().contains("1073676289 points")
    );
    assert!(
        refused(&[("frequency", Value::Number(1.0))])
            .unwrap_err()
            .to_string()
            .contains("allowed up to 268435456")
    );
    refused(&[("splat", Value::Switch(true))]).unwrap();
    let biome = |n: usize| serde_json::json!({ "name": format!("b{n}"), "colour": "#000000" });
    let many = Value::List((0..17).map(biome).collect());
    assert!(
        refused(&[("splat", Value::Switch(true)), ("biome", many)])
            .unwrap_err()
            .to_string()
            .contains("5 textures")
    );
}

/// The climate, which chooses the biome, depends on water as far away as the stage says, and no
/// farther.
/// Holds D1 in part.
#[test]
fn a_climate_reaches_as_far_as_stated() {
    use thalweg::exec::Executor;
    let case = Case {
        window: Window { origin: [0, 0], width: 260, height: 40 },
        settings: [
            named("climate").settings,
            vec![("inland_cells", Value::Integer(20)), ("stir", Value::Number(0.0))],
        ]
        .concat(),
        ..named("climate")
    };
    let given: Vec<(String, Value)> =
        case.settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let reach = (STAGE.reach)(&Settings::new(STAGE.params, &given).unwrap(), &anywhere()) as usize;
    let plan = plan(&STAGE, &case);
    let colours = |water: bool| {
        let mut cpu = cpu();
        // Land at 25 cells of 10 m, the sea at 18; a column of water at the western border.
        let height =
            |i: usize| if water && i.is_multiple_of(260) { 0 } else { 25 * thalweg::arith::CELL };
        cpu.write("height", &(0..260 * 40).map(height).collect::<Vec<_>>()).unwrap();
        cpu.begin(&plan).unwrap();
        crate::common::run(&mut cpu, &plan, 0..plan.passes.len());
        cpu.read("biome_colour").unwrap()
    };
    let changed =
        colours(true).into_iter().zip(colours(false)).enumerate().filter(|(_, (a, b))| a != b);
    let farthest = changed.map(|(i, _)| i % 260).max().expect("water changes something");
    // The column of water, how far inland it counts, and the radius from there.
    assert!(farthest <= reach && farthest > 20, "{farthest} of {reach}");
}

/// A picture with a number that no biome has is refused, with the place.
#[test]
fn a_number_without_a_biome_is_named() {
    let settings = Settings::defaults(STAGE.params);
    let picture = |numbers: [f32; 4]| {
        let map = thalweg::Map {
            width: 2,
            height: 2,
            spacing_m: 1.0,
            data: numbers.to_vec(),
            range_m: None,
            georef: None,
        };
        biomes::mask(&settings, &map)
    };
    assert_eq!(picture([0.0, 1.0, 2.0, 3.0]).unwrap().len(), 4);
    for (number, shown) in [(200.0, "200"), (4.0, "4"), (-1.0, "-1"), (0.5, "0.5")] {
        let error = picture([0.0, 1.0, 2.0, number]).unwrap_err();
        assert!(
            error.contains(&format!("{shown} in column 1, row 1"))
                && error.contains("whole numbers 0 to 3"),
            "{error}"
        );
    }
}

/// A map that is made strip by strip has the words of one that is made at once.
#[test]
fn strips_change_nothing() {
    let kept = |plan: &Plan,
                executor: &mut dyn Executor,
                case: &Case|
     -> Vec<(&'static str, Vec<i32>)> {
        prepare(&STAGE, case, executor);
        executor.begin(plan).unwrap();
        run(executor, plan, 0..plan.passes.len());
        let read =
            plan.kept().map(|buffer| (buffer.name, executor.read(buffer.name).unwrap())).collect();
        executor.end(plan);
        read
    };
    let (mut cpu, mut gpu) = (cpu(), gpu("biomes::strips_change_nothing", 64, None));
    for case in (STAGE.cases)() {
        let given: Vec<_> =
            case.settings.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let settings = Settings::new(STAGE.params, &given).unwrap();
        let whole = kept(&plan(&STAGE, &case), &mut cpu, &case);
        // One row of chunks, and what is not a whole number of rows.
        for records in [1, 23_000] {
            let strips_of = |records| biomes::plan_of(&settings, &site(&case), records).with_junk();
            let strips = strips_of(records);
            let all = plan(&STAGE, &case);
            let rows =
                case.window.height.div_ceil(settings.word("chunk_cells").parse().unwrap_or(16))
                    as usize;
            if records == 1 && rows > 1 {
                assert!(
                    strips.passes.len() > all.passes.len() && strips.bytes() < all.bytes(),
                    "{}",
                    case.name
                );
            }
            assert!(kept(&strips, &mut cpu, &case) == whole, "{}, {records} words", case.name);
            if records == 1 && case.name == "default" {
                // The check bites: without the last strip it finds a difference.
                let short = Plan {
                    passes: strips.passes[..strips.passes.len() - 4].to_vec(),
                    ..strips_of(records)
                };
                assert!(kept(&short, &mut cpu, &case) != whole);
            }
            if let Some(gpu) = &mut gpu {
                assert!(kept(&strips, gpu, &case) == whole, "{}, {records} words", case.name);
            }
        }
    }
}
