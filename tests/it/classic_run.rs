//! Runs by the published algorithms: that they are what runs, what they leave out and say so, and
//! what they refuse.

use std::path::Path;
use thalweg::arith::CELL;
use thalweg::classic::diamond_square::{Lazy, Rand, World};
use thalweg::classic::droplets::{Droplets, erode_inside};
use thalweg::classic::snowballs::{self, Snowballs};
use thalweg::job::classic::prepare;
use thalweg::map::Map;
use thalweg::quality::{Grid, change};
use thalweg::recipe::Recipe;
use thalweg::recipe::{Levels, PRESETS};
use thalweg::{Job, Outcome};

const LAND: &str = "schema = 2\nseed = 77\nwidth = 49\nheight = 33\nspacing_m = 10\n\
                    origin = [5, 9]\n[[stage]]\nkind = \"diamond_square\"\n\
                    world_cells = 64\nrandom = \"pair\"\nrelief_m = 200\nbase_m = -30\n";

fn read(text: &str) -> Recipe {
    Recipe::from_toml(text, "", "made").unwrap()
}

fn run(mut recipe: Recipe) -> (Outcome, Vec<String>) {
    let left = prepare(&mut recipe).unwrap();
    (Job::new(recipe).unwrap().classic().run(&mut |_| Ok(())).unwrap(), left)
}

/// The article's own land, which is also the exact stage's, but for its rounding.
#[test]
fn the_land_is_that_of_the_article() {
    let (made, left) = run(read(LAND));
    assert!(left.is_empty(), "{left:?}");
    assert!(made.device.starts_with("classic"), "{}", made.device);
    let exact = Job::new(read(LAND)).unwrap().run(&mut |_| Ok(())).unwrap();
    let mut world = Lazy::new(World {
        size: 64,
        seed: seed(&exact),
        roughness: 1.0,
        rounds: 80,
        rand: Rand::Pair,
    })
    .unwrap();
    for (i, (word, exact)) in
        made.words("height").unwrap().iter().zip(exact.words("height").unwrap()).enumerate()
    {
        let metres = world.value(5 + i as i64 % 49, 9 + i as i64 / 49) * 200.0 - 30.0;
        assert_eq!(*word, (metres / 10.0 * f64::from(CELL)).round() as i32, "{i}");
        assert!((word - exact).abs() < CELL / 100, "{i}: {word} {exact}");
    }
}

/// The seed of the first stage, 31 bits.
fn seed(made: &Outcome) -> u32 {
    Job::new(made.recipe.clone()).unwrap().schedule().site(0).world.seed as u32 & 0x7fff_ffff
}

/// A cone of heights in memory, 40 x 30 cells of 5 m.
fn cone() -> Map {
    let height =
        |i: i32| 60.0 - 2.0 * f64::from((i % 40 - 20).pow(2) + (i / 40 - 15).pow(2)).sqrt();
    let data = (0..40 * 30).map(|i| height(i) as f32).collect();
    Map { width: 40, height: 30, spacing_m: 5.0, data, range_m: None, georef: None }
}

fn on_cone(stage: &str) -> Job {
    let maps = if stage.contains("blur") { "" } else { ", \"flow\", \"erosion\"" };
    let text =
        format!("schema = 2\nseed = 5\n{stage}\n[output]\nmaps = [\"height\", \"change\"{maps}]\n");
    let mut recipe = read(&text);
    prepare(&mut recipe).unwrap();
    Job::with_heights(recipe, &cone()).unwrap().classic()
}

/// Droplets and snowballs do what the sequential algorithms do when they are called, and `change`
/// is theirs.
#[test]
fn droplets_and_snowballs_run_one_after_another() {
    let ground: Vec<f64> =
        Job::with_heights(on_cone("[[stage]]\nkind = \"blur\"\n").recipe().clone(), &cone())
            .map(|job| job.scale())
            .map(|scale| {
                scale
                    .to_words(&cone().data)
                    .into_iter()
                    .map(|word| f64::from(word) / f64::from(CELL))
                    .collect()
            })
            .unwrap();
    let word = |height: f64| (height * f64::from(CELL)).round() as i32;
    let check = |stage: &str, heights: Vec<f64>, flow: Vec<u32>| {
        let made = on_cone(stage).run(&mut |_| Ok(())).unwrap();
        let expected: Vec<i32> = heights.into_iter().map(word).collect();
        assert!(made.words("height").unwrap() == expected, "{stage}");
        assert_eq!(made.words("flow").unwrap().iter().map(|n| *n as u32).collect::<Vec<_>>(), flow);
        let change: Vec<i32> =
            expected.iter().zip(&ground).map(|(after, before)| after - word(*before)).collect();
        assert!(change.iter().any(|change| *change != 0));
        assert_eq!(made.words("change").unwrap(), change, "{stage}");
    };
    let job = on_cone("[[stage]]\nkind = \"droplets\"\nrain = 0.75\nlifetime = 30\n");
    let drops = Droplets {
        count: 900,
        seed: job.schedule().site(0).world.seed,
        ..Droplets::with(&job.recipe().stages[0].settings)
    };
    let (mut heights, mut flow) =
        (ground.iter().map(|h| *h as f32).collect::<Vec<f32>>(), vec![0; 1200]);
    erode_inside(&mut heights, 40, 30, &drops, Some(&mut flow), || Ok(())).unwrap();
    check(
        "[[stage]]\nkind = \"droplets\"\nrain = 0.75\nlifetime = 30\n",
        heights.into_iter().map(f64::from).collect(),
        flow,
    );
    let lowest = (0..1200)
        .filter(|i| [i % 40, 39 - i % 40, i / 40, 29 - i / 40].contains(&0))
        .map(|i| ground[i])
        .fold(f64::MAX, f64::min);
    let balls = Snowballs {
        count: 480,
        seed: job.schedule().site(0).world.seed,
        outside: lowest,
        ..Snowballs::published()
    };
    let (mut heights, mut flow) = (ground.clone(), vec![0; 1200]);
    snowballs::erode(&mut heights, 40, 30, &balls, Some(&mut flow));
    check("[[stage]]\nkind = \"snowballs\"\n", heights, flow);
}

/// Stages without a published algorithm run as ever: a blur of the article's land is that of the
/// exact stages' words, and what noise makes is the same land.
#[test]
fn other_stages_run_as_ever() {
    let text = |blur: &str| {
        LAND.replace("random = \"pair\"", "feature_cells = 16")
            + &format!("[[stage]]\nkind = \"thermal\"\nsteps = 3\n{blur}")
    };
    let exact = Job::new(read(&text("")))
        .unwrap()
        .run_on(&mut crate::common::cpu(), &mut |_| Ok(()))
        .unwrap();
    let (made, left) = run(read(&text("[[stage]]\nkind = \"blur\"\n")));
    assert!(
        left[0].contains("feature_cells = 16, random = \"hash\"; the exact stage makes the land"),
        "{left:?}"
    );
    let mut heights: Vec<f64> = exact
        .words("height")
        .unwrap()
        .iter()
        .map(|word| f64::from(*word) / f64::from(CELL))
        .collect();
    snowballs::blur(&mut heights, 49, 33);
    let expected: Vec<i32> =
        heights.into_iter().map(|height| (height * f64::from(CELL)).round() as i32).collect();
    assert!(made.words("height").unwrap() == expected);
    let sequential: Vec<bool> =
        made.stages.iter().map(|stage| !stage.derived["sequential"].is_null()).collect();
    assert_eq!(sequential, [false, false, true]);
}

/// What is left out is said, and what cannot be is refused by name.
#[test]
fn what_is_not_published_is_named() {
    let none = LAND.replace("random = \"pair\"", "") + "[[stage]]\nkind = \"thermal\"\n";
    let said = prepare(&mut read(&none)).unwrap_err().to_string();
    assert!(said.contains("diamond_square, droplets, snowballs, blur"), "{said}");
    let made = |rest: &str| {
        prepare(&mut read(&LAND.replace("relief_m", &format!("{rest}\nrelief_m"))))
            .map_err(|e| e.to_string())
    };
    assert!(made("gain = 0.6").is_err() && made("feature_cells = 16").is_err());
    assert_eq!(made("feature_cells = 64"), Ok(vec![]));
    let text = LAND.replace("[[stage]]", "levels = 2\n[[stage]]");
    let mut recipe = read(&format!(
        "{text}[[stage]]\nkind = \"droplets\"\nrain = {{ from = 2, to = 0.5 }}\nmax_step_fraction \
         = 0.5\n"
    ));
    let left = prepare(&mut recipe).unwrap();
    assert!(
        left[0].starts_with("levels")
            && left[1].contains("max_step_fraction = 0.5")
            && left.len() == 2,
        "{left:?}"
    );
    assert!(recipe.levels.is_none() && recipe.stages[1].settings.number("rain") == 0.5);
}

/// Stages between the steps of one that has none then are left out: the land is that of the recipe
/// without them.
#[test]
fn stages_between_steps_are_left_out() {
    let eroded = format!("{LAND}[[stage]]\nkind = \"droplets\"\n");
    let thermal = "[[stage.interleave]]\nkind = \"thermal\"\nevery = 9\n";
    let blur = "[[stage.interleave]]\nkind = \"blur\"\nevery = 30\n";
    let (with, left) = run(read(&format!("{eroded}{thermal}{blur}")));
    let (without, none) = run(read(&eroded));
    assert!(none.is_empty() && with.recipe.stages[1].with.is_empty(), "{none:?}");
    assert!(with.words("height").unwrap() == without.words("height").unwrap());
    let said = |nested: &str| {
        format!(
            "stage 2, droplets: {nested} between its steps is left out: the published algorithm \
             has no steps"
        )
    };
    assert_eq!(left, [said("thermal"), said("blur")]);
    // Between the steps of a stage that runs as ever they stay.
    let loose = "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\n";
    let mut recipe = read(&format!("{LAND}{loose}[[stage]]\nkind = \"wind\"\n{thermal}"));
    assert_eq!((prepare(&mut recipe).unwrap().len(), recipe.stages[2].with.len()), (0, 1));
}

/// Layers change nothing: heights are those of the recipe without them. They stay what they were,
/// and what is laid down becomes loose.
#[test]
fn layers_change_nothing() {
    for kind in ["droplets", "snowballs"] {
        let text = |layer: &str, map: &str| {
            format!(
                "{LAND}{layer}[[stage]]\nkind = {kind:?}\nseed = 4\n[output]\n\
                 maps = [\"height\", \"change\"{map}]\n"
            )
        };
        let (bare, none) = run(read(&text("", "")));
        assert!(none.is_empty(), "{none:?}");
        let change = bare.words("change").unwrap();
        assert!(
            change.iter().any(|change| *change < -CELL / 4)
                && change.iter().any(|change| *change > 0)
        );
        for map in ["rain", "hardness", "vegetation", "sediment"] {
            // A half, or 2.5 m of cells of 10 m.
            let layer = format!(
                "[[stage]]\nkind = \"layer\"\nmap = {map:?}\nhigh = 0.5\nthickness_m = 5\n"
            );
            let (made, left) = run(read(&text(&layer, &format!(", {map:?}"))));
            let said = "the published algorithm knows none";
            assert_eq!(
                left,
                [format!("stage 3, {kind}: layers of earlier stages are left out ({map}): {said}")]
            );
            for heights in ["height", "change"] {
                assert!(
                    made.words(heights).unwrap() == bare.words(heights).unwrap(),
                    "{kind}, {map}: {heights}"
                );
            }
            let expected =
                |change: &i32| if map == "sediment" { (CELL / 4 + change).max(0) } else { 1 << 15 };
            assert!(
                made.words(map).unwrap() == change.iter().map(expected).collect::<Vec<_>>(),
                "{kind}, {map}"
            );
        }
        // Behind the stage they are not mentioned, nor with a stage that uses none.
        let layer = "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\n";
        for rest in [
            format!("[[stage]]\nkind = {kind:?}\n{layer}"),
            format!("{layer}[[stage]]\nkind = \"blur\"\n"),
        ] {
            assert!(prepare(&mut read(&format!("{LAND}{rest}"))).unwrap().is_empty());
        }
    }
}

/// Every example runs so, but for those in which nothing is published.
#[test]
fn examples_have_published_stages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut refused = vec![];
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        if let Err(error) = prepare(&mut Recipe::read(&file).unwrap()) {
            assert!(
                error.to_string().contains("no stage of this recipe has a published"),
                "{}: {error}",
                file.display()
            );
            refused.push(file.file_stem().unwrap().to_str().unwrap().to_string());
        }
    }
    refused.sort();
    let nothing_published = [
        "archipelago",
        "badlands",
        "biomes",
        "block-out",
        "canyon",
        "climate",
        "coast",
        "desert",
        "downs",
        "fjords",
        "game-large",
        "game-medium",
        "game-small",
        "island",
        "jacksboro",
        "mountains",
        "oasis",
        "plateaus",
        "rain-shadow",
        "ranges",
        "rivers",
        "valley",
        "world",
    ];
    assert_eq!(refused, nothing_published);
}

/// The plan says what memory floats take beside the words: 32 bytes a cell, and 8 for the height
/// and the flow.
#[test]
fn memory_counts_floats() {
    let job = on_cone("[[stage]]\nkind = \"droplets\"\n");
    let bytes = job.schedule().costs().into_iter().map(|(bytes, _)| bytes).max().unwrap();
    assert!((40 * 1200..70 * 1200).contains(&bytes), "{bytes}");
}

/// What the presets move, wear away and lay down is what the published algorithm does with the same
/// constants, to within a stated factor, on a cone, on noise and on real hills (M1). `article` is
/// for the land as it is, and the nearest.
/// Holds C22.
#[test]
fn presets_move_as_much_as_the_published_algorithm() {
    let noise = read(
        "schema = 2\nseed = 3\nwidth = 112\nheight = 112\nspacing_m = 10\n[[stage]]\n\
         kind = \"noise\"\nrelief_m = 1000\nfeature_cells = 64\n",
    );
    let hills = thalweg::io::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jacksboro.tif"),
        &thalweg::io::ReadOptions::default(),
    );
    let hills = hills.unwrap().map;
    let (left, top, side) = (150usize, 120usize, 112usize);
    let crop = (0..side * side)
        .map(|i| hills.data[(top + i / side) * hills.width as usize + left + i % side])
        .collect();
    let peak = |i: usize| 600.0 - 9.0 * ((i % side) as f32 - 55.5).hypot((i / side) as f32 - 55.5);
    let map = |data: Vec<f32>, spacing_m| Map {
        width: side as u32,
        height: side as u32,
        spacing_m,
        data,
        range_m: None,
        georef: None,
    };
    let lands = [
        ("cone", map((0..side * side).map(peak).collect(), 10.0)),
        ("noise", Job::new(noise).unwrap().run(&mut |_| Ok(())).unwrap().map("height").unwrap()),
        ("Jacksboro", map(crop, hills.spacing_m)),
    ];
    let mut wrong = vec![];
    for (land, map) in &lands {
        let cells = |map: &Map| -> Vec<f64> {
            map.data.iter().map(|m| f64::from(*m) / map.spacing_m).collect()
        };
        let moved = |after: Map| {
            let (before, after) = (cells(map), cells(&after));
            let change = change(
                Grid::new(&before, side, side).unwrap(),
                Grid::new(&after, side, side).unwrap(),
            )
            .unwrap();
            [change.moved, change.worn, change.laid]
        };
        for preset in PRESETS.iter().filter(|preset| preset.stage == "droplets") {
            let name = preset.name;
            let on = |recipe: Recipe| Job::with_heights(recipe, map).unwrap();
            let height = |job: Job| moved(job.run(&mut |_| Ok(())).unwrap().map("height").unwrap());
            let mut published = Recipe::on_heights(vec![preset.step(false).unwrap()]).unwrap();
            prepare(&mut published).unwrap();
            let published = height(on(published).classic());
            let flat = height(on(Recipe::on_heights(vec![preset.step(false).unwrap()]).unwrap()));
            let mut runs = vec![(flat, if name == "article" { 1.25 } else { 1.6 }, "as it is")];
            if preset.has_levels() {
                let recipe = Recipe::on_heights_by_level(
                    vec![preset.step(true).unwrap()],
                    Some(Levels::default()),
                )
                .unwrap();
                runs.push((height(on(recipe)), 2.6, "by levels"));
            } else {
                assert_eq!(preset.step(true).unwrap().with.len(), 0, "{name}: no slides");
            }
            for (made, within, how) in runs {
                for ((made, published), what) in
                    made.into_iter().zip(published).zip(["moved", "worn", "laid"])
                {
                    // Next to nothing is laid down on a cone.
                    if published < 0.1 {
                        continue;
                    }
                    let within = if what == "laid" { 1.8 } else { within };
                    let ratio = made / published;
                    println!(
                        "{land}, {name}, {how}: {what} {published:.3} cells, and {ratio:.2} times \
                         as much"
                    );
                    if !(1.0 / within..within).contains(&ratio) {
                        wrong.push(format!("{land}, {name}, {how}: {what} {ratio:.2}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
