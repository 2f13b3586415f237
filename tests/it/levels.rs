//! Coarse to fine: levels are the same land on coarser lattices, what they do comes up, previews
//! are prefixes, and the land drains.

use crate::common::{config, cpu, gpu};
use proptest::prelude::*;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::recipe::Recipe;
use thalweg::site::Window;
use thalweg::stage::levels::{coarser, lattice};
use thalweg::{Error, Event, Job, Outcome};

/// A recipe of 130 × 97 cells, with what stands on top and after the stage that makes the land.
fn recipe(top: &str, stages: &str) -> Result<Recipe, Error> {
    let text = format!(
        "schema = 2\nseed = 7\nwidth = 130\nheight = 97\norigin = [-35, 60]\nspacing_m = 20\n\
         {top}\n[[stage]]\nkind = \"diamond_square\"\n\
         world_cells = 4096\nfeature_cells = 128\nrelief_m = 900\n{stages}"
    );
    Recipe::from_toml(&text, "", "levels")
}

const RAIN: &str = "[[stage]]\nkind = \"droplets\"\nlifetime = 24\nrain = 0.5\n";

/// Everything that goes from level to level.
const ALL: &str = "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\nfrom = \"noise\"\n\
                   feature_cells = 16\nthickness_m = 30\n\
    [[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"noise\"\nfeature_cells = 30\nlow = 0.3\n\
    [[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"noise\"\nfeature_cells = 20\n\
    [[stage]]\nkind = \"layer\"\nmap = \"vegetation\"\nfrom = \"noise\"\nfeature_cells = 40\n\
                   [[stage]]\nkind = \"droplets\"\nlifetime = 16\nrain = [0.5, 0.25, 0.25]\n\
    [[stage.interleave]]\nkind = \"thermal\"\nevery = 8\nsteps = 1\nrepose_deg = { from = 60, to = \
                                   40 }\n\
                   cliff_deg = 70\n\
                   [[stage]]\nkind = \"thermal\"\nsteps = 3\n\
                   [[stage]]\nkind = \"blur\"\nfinest_only = true\n\
    [output]\nmaps = [\"height\", \"flow\", \"erosion\", \"deposition\", \"change\", \"sediment\", \
                   \"rain\"]\n";

/// Rivers that cut, and what they hand on: water, areas, uplift.
const RIVERS: &str = "[[stage]]\nkind = \"layer\"\nmap = \"uplift\"\nfrom = \"height\"\nstart = 0\n\
                      end = 500\n\
                      [[stage]]\nkind = \"incision\"\nsteps = [9, 5]\nuplift_m = 2\n\
                      [[stage]]\nkind = \"droplets\"\nlifetime = 8\nrain = 0.25\n\
    [output]\nmaps = [\"height\", \"flow\", \"uplift\", \"erosion\", \"deposition\", \"change\"]\n";

fn run_on(job: &Job, executor: &mut dyn Executor) -> Outcome {
    job.run_on(executor, &mut |_| Ok(())).unwrap()
}

/// A level covers the finer one, and its vertices are every second vertex of it.
#[test]
fn a_level_covers_the_finer_one() {
    for origin in [-5i64, -4, -1, 0, 1, 1 << 40, -(1 << 61) - 1] {
        for side in 2..9u32 {
            let fine = Window { origin: [origin, origin + 3], width: side, height: side + 1 };
            let coarse = coarser(&fine, false);
            for axis in 0..2 {
                let [fine_side, coarse_side] =
                    [[fine.width, fine.height], [coarse.width, coarse.height]]
                        .map(|s| i64::from(s[axis]));
                let (first, last) =
                    (2 * coarse.origin[axis], 2 * (coarse.origin[axis] + coarse_side - 1));
                assert!((fine.origin[axis] - 1..=fine.origin[axis]).contains(&first));
                assert!(
                    (fine.origin[axis] + fine_side - 1..=fine.origin[axis] + fine_side)
                        .contains(&last)
                );
            }
        }
    }
}

/// On a torus a level has half of the finer one's vertices, so that it repeats with the land. The
/// other way, vertices stay where they are.
#[test]
fn levels_of_a_torus_repeat_with_it() {
    let own = Window { origin: [-64, 128], width: 64, height: 96 };
    assert_eq!(lattice(&own, 3, true), Window { origin: [-8, 16], width: 8, height: 12 });
    for torus in [false, true] {
        for level in 1..4 {
            assert_eq!(lattice(&lattice(&own, -level, torus), level, torus), own);
        }
    }
    // Water and land go over the border of a torus as if it were not there: moved by half of the
    // land, it is the same land.
    let made = |origin: [i64; 2]| {
        let text = format!(
            "schema = 2\nseed = 3\nwidth = 64\nheight = 64\norigin = {origin:?}\nspacing_m = 10\n\
             levels = 2\n[[stage]]\n\
             kind = \"diamond_square\"\nworld_cells = 64\nfeature_cells = 16\nedge = \"torus\"\n\
             relief_m = 200\n[[stage]]\nkind = \"thermal\"\n\
             steps = 9\nrepose_deg = 15\nborder = \"torus\"\n"
        );
        run_on(&Job::new(Recipe::from_toml(&text, "", "torus").unwrap()).unwrap(), &mut cpu())
    };
    let (here, there) = (made([0, 0]), made([32, 32]));
    let (here, there) = (here.words("height").unwrap(), there.words("height").unwrap());
    for (i, there) in there.iter().enumerate() {
        let (x, y) = (i % 64, i / 64);
        assert_eq!(*there, here[(y + 32) % 64 * 64 + (x + 32) % 64], "({x}, {y})");
    }
}

/// A land with a scale is the same land: as far as the recipe's own lattice its words are those
/// without the scale. Its finer levels keep every vertex's place.
#[test]
fn more_detail_is_the_same_land() {
    let island = "[[stage]]\nkind = \"island\"\nradius_x_cells = 60\nradius_y_cells = \
                  40\nfeature_cells = 30\n\
                  centre_x = 20\ncentre_y = 100\n";
    let layers = ALL.replace("[[stage]]\nkind = \"blur\"\nfinest_only = true\n", "");
    let layers = layers.split("[output]").next().unwrap();
    for makes in ["", island] {
        let recipe = |top: &str| {
            let made = recipe(top, layers).unwrap();
            let text = Recipe::describe(&made);
            let mut made = Recipe::from_json(&text.to_string(), "", "scale").unwrap();
            if !makes.is_empty() {
                let other = format!("schema = 2\nwidth = 9\nheight = 9\nspacing_m = 20\n{makes}");
                made.stages[0] = Recipe::from_toml(&other, "", "island").unwrap().stages.remove(0);
            }
            made.output.maps =
                ["height", "flow", "erosion", "deposition", "change", "sediment", "rain"]
                    .map(String::from)
                    .to_vec();
            Job::new(made).unwrap()
        };
        let plain = run_on(&recipe("margin_cells = 9\nlevels = 3"), &mut cpu());
        let fine = recipe("margin_cells = 9\nlevels = 3\nscale = 4");
        assert_eq!(
            (
                fine.schedule().levels(),
                fine.schedule().land().0.width,
                fine.schedule().land().1.spacing_m
            ),
            (5, 129 * 4 + 1, 5.0)
        );
        let whole = run_on(&fine, &mut cpu());
        let preview = run_on(&fine.clone().until_level(0).unwrap(), &mut cpu());
        for name in plain.names() {
            // The flow of all levels is summed up on the finest.
            if name != "flow" {
                assert_eq!(preview.words(name).unwrap(), plain.words(name).unwrap(), "{name}");
            }
        }
        assert_eq!(whole.levels[2].words, plain.words("height").unwrap());
        // Every fourth vertex is where it was, but for what finer rain moves.
        let (coarse, map) = (plain.map("height").unwrap(), whole.map("height").unwrap());
        let (low, high) = coarse.min_max();
        let relief = high - low;
        let off = |i: usize| {
            (map.data[i / 130 * 4 * map.width as usize + i % 130 * 4] - coarse.data[i]).abs()
        };
        let mean = (0..130 * 97).map(|i| f64::from(off(i))).sum::<f64>() / (130.0 * 97.0);
        println!("{mean} m of {relief} m");
        assert!(mean > 0.0 && mean < 0.02 * f64::from(relief), "{mean} m of {relief} m");
    }
}

/// What makes a land makes each level of it at the level's own cost: every second vertex of the
/// finer level, to a unit of rounding.
#[test]
fn lands_are_made_by_level() {
    let made = |stages: &str, scale: u32| {
        let still = "[[stage]]\nkind = \"droplets\"\nrain = 0\n";
        let top = format!(
            "schema = 2\nseed = 7\nwidth = 130\nheight = 97\norigin = [-35, 60]\nspacing_m = 20\n\
             levels = 3\nscale = {scale}\n"
        );
        let text = format!("{top}{stages}{still}[output]\nmaps = [\"height\", \"rain\"]\n");
        Job::new(Recipe::from_toml(&text, "", "made").unwrap()).unwrap()
    };
    let noise = "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"noise\"\nfeature_cells = \
                 30\nlow = 0.3\n";
    let squares = "[[stage]]\nkind = \"diamond_square\"\nrelief_m = 900\n";
    for stage in [
        format!("{squares}feature_cells = 128\n{noise}"),
        format!("{squares}world_cells = 256\nnormalise = true\n{noise}"),
        format!("{squares}world_cells = 64\nedge = \"torus\"\nrandom = \"pair\"\n{noise}"),
        format!(
            "[[stage]]\nkind = \"island\"\nradius_x_cells = 60\nradius_y_cells = 40\nfeature_cells \
             = 30\n{noise}"
        ),
    ] {
        let job = made(&stage, 4);
        let levels: Vec<Outcome> = [-2, -1, 0, 1, 2]
            .map(|level| run_on(&job.clone().until_level(level).unwrap(), &mut cpu()))
            .into_iter()
            .collect();
        for (n, pair) in levels.windows(2).enumerate() {
            let [fine, coarse] = pair else { unreachable!() };
            let offset = [0, 1].map(|a| fine.window.origin[a] - 2 * coarse.window.origin[a]);
            let mut compared = 0;
            for (i, [height, rain]) in (0..).zip(
                coarse
                    .words("height")
                    .unwrap()
                    .iter()
                    .zip(coarse.words("rain").unwrap())
                    .map(|(a, b)| [*a, *b]),
            ) {
                let (x, y) = (
                    2 * (i % coarse.window.width as i64) - offset[0],
                    2 * (i / coarse.window.width as i64) - offset[1],
                );
                if (0..fine.window.width as i64).contains(&x)
                    && (0..fine.window.height as i64).contains(&y)
                {
                    let at = (y * fine.window.width as i64 + x) as usize;
                    let there = fine.words("height").unwrap()[at];
                    // The island's powers and noises are rounded to 2⁻²⁸ of the relief, which is
                    // some 900 m.
                    let most = if n < 2 && stage.contains("island") { 16 } else { 2 };
                    assert!(
                        (there / 2 - height).abs() <= most,
                        "level {n}, ({x}, {y}): {there} {height}, {stage}"
                    );
                    assert_eq!(fine.words("rain").unwrap()[at], rain);
                    compared += 1;
                }
            }
            assert!(compared > 300);
        }
        // A preview does not make the finest land.
        let cells = |level: i32| {
            let job = job.clone().until_level(level).unwrap();
            (0..job.schedule().names().count())
                .map(|i| job.schedule().site(i).window.cells())
                .max()
                .unwrap()
        };
        assert!(cells(0) * 15 < cells(-2), "{} {}", cells(0), cells(-2));
    }
}

/// Where no stage does anything, every level has the land that it began with, and the finest is the
/// land itself.
#[test]
fn where_nothing_happens_nothing_changes() {
    let still = "[[stage]]\nkind = \"droplets\"\nrain = 0\n";
    let flat = run_on(&Job::new(recipe("", still).unwrap()).unwrap(), &mut cpu());
    for fade in ["0", "1", "1000"] {
        let top = format!("levels = {{ count = 3, fade = {fade} }}");
        let made = run_on(&Job::new(recipe(&top, still).unwrap()).unwrap(), &mut cpu());
        assert_eq!(made.words("height").unwrap(), flat.words("height").unwrap());
        assert_eq!(made.levels.iter().map(|level| level.level).collect::<Vec<_>>(), [2, 1, 0]);
    }
}

/// With one level a recipe is what it is without.
#[test]
fn one_level_is_the_land_as_it_is() {
    let flat = run_on(&Job::new(recipe("", RAIN).unwrap()).unwrap(), &mut cpu());
    let one = run_on(&Job::new(recipe("levels = 1", RAIN).unwrap()).unwrap(), &mut cpu());
    assert_eq!(one.words("height").unwrap(), flat.words("height").unwrap());
    assert!(one.levels.is_empty());
    let three = run_on(&Job::new(recipe("levels = 3", RAIN).unwrap()).unwrap(), &mut cpu());
    assert_ne!(three.words("height").unwrap(), flat.words("height").unwrap());
}

/// All that goes from level to level has equal words on both devices, and the ledger tells the
/// whole story: raising less lowering is the change since before the coarsest level.
#[test]
fn the_whole_state_goes_up_alike_on_both_devices() {
    let job = Job::new(recipe("margin_cells = 9\nlevels = 3", ALL).unwrap()).unwrap();
    let made = run_on(&job, &mut cpu());
    let still = ALL.replace("rain = [0.5, 0.25, 0.25]", "rain = 0").replace(
        "[[stage.interleave]]\nkind = \"thermal\"\nevery = 8\nsteps = 1\n\
         repose_deg = { from = 60, to = 40 }\ncliff_deg = 70\n",
        "",
    );
    let before = still
        .replace("[[stage]]\nkind = \"thermal\"\nsteps = 3\n", "")
        .replace("[[stage]]\nkind = \"blur\"\nfinest_only = true\n", "");
    let before =
        run_on(&Job::new(recipe("margin_cells = 9", &before).unwrap()).unwrap(), &mut cpu());
    let words = |outcome: &Outcome, name: &str| outcome.words(name).unwrap().to_vec();
    let change = words(&made, "change");
    let moved = words(&made, "height")
        .into_iter()
        .zip(words(&before, "height"))
        .map(|(after, before)| after - before);
    assert_eq!(change, moved.collect::<Vec<_>>());
    assert_eq!(
        words(&made, "rain"),
        words(&before, "rain"),
        "the layers of the finest level are what they were"
    );
    assert!(words(&made, "flow").iter().filter(|flow| **flow > 3).count() > 1000);
    assert!(words(&made, "sediment").iter().any(|thick| *thick > 0));
    let Some(mut gpu) = gpu("levels::the_whole_state_goes_up_alike_on_both_devices", 64, None)
    else {
        return;
    };
    let other = run_on(&job, &mut gpu);
    for name in made.names() {
        assert_eq!(words(&made, name), words(&other, name), "{name}");
    }
    assert!(made.levels.iter().zip(&other.levels).all(|(a, b)| a.words == b.words));
}

/// A preview is a prefix: a run that ends after a level has the words that the whole run has there.
#[test]
fn a_preview_is_a_prefix() {
    let job = Job::new(recipe("levels = 3", ALL).unwrap()).unwrap();
    let whole = run_on(&job, &mut cpu());
    for level in [2, 1, 0] {
        let made = run_on(&job.clone().until_level(level).unwrap(), &mut cpu());
        let there = &whole.levels[2 - level as usize];
        assert_eq!(made.window, there.window);
        assert_eq!(made.scale.spacing_m, 20.0 * f64::from(1 << level));
        if level > 0 {
            assert_eq!(made.words("height").unwrap(), there.words, "level {level}");
        }
    }
    let rained = run_on(&Job::new(recipe("levels = 3", RAIN).unwrap()).unwrap(), &mut cpu());
    let distances: Vec<f64> =
        rained.level_distances().into_iter().map(|(_, rms_m, _)| rms_m).collect();
    println!("{distances:?}");
    assert!(
        distances[0] > distances[1]
            && distances[1] > 0.0
            && distances[2] == 0.0
            && distances[0] < 45.0,
        "{distances:?}"
    );
    let wrong = job.until_level(3).unwrap_err().to_string();
    assert!(wrong.contains("level = 3: the land has levels 0 to 2, of which 0"), "{wrong}");
}

/// A run goes on from a snapshot between any two of its units, with the words of one that was not
/// interrupted.
#[test]
fn a_run_by_levels_resumes_anywhere() {
    for stages in [ALL, RIVERS] {
        let recipe = recipe("levels = 3", stages).unwrap();
        let job = Job::new(recipe.clone()).unwrap();
        let mut snapshots = vec![];
        let whole = job
            .run_on(&mut cpu(), &mut |event| {
                if let Event::Stage(after) = event {
                    let mut bytes = vec![];
                    after.snapshot()?.write(&mut bytes)?;
                    snapshots.push(bytes);
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(snapshots.len(), job.schedule().names().count());
        for bytes in snapshots {
            let snapshot = thalweg::Snapshot::read(&mut bytes.as_slice()).unwrap();
            let resumed = run_on(&Job::resume(recipe.clone(), snapshot).unwrap(), &mut cpu());
            for name in whole.names() {
                assert_eq!(resumed.words(name).unwrap(), whole.words(name).unwrap(), "{name}");
            }
        }
    }
}

/// A run to another level does other things: a snapshot is of runs to its own level alone.
#[test]
fn a_snapshot_is_of_runs_to_its_level() {
    let recipe = recipe("levels = 3", ALL).unwrap();
    for (own, other) in [(0, 1), (1, 0), (1, 2)] {
        let job = |level| Job::new(recipe.clone()).unwrap().until_level(level).unwrap();
        let mut snapshots = vec![];
        let whole = job(own)
            .run_on(&mut cpu(), &mut |event| {
                if let Event::Stage(after) = event {
                    snapshots.push(after.snapshot()?);
                }
                Ok(())
            })
            .unwrap();
        for snapshot in snapshots {
            let refused = job(other).resume_from(snapshot.clone()).unwrap_err().to_string();
            assert!(refused.contains(&format!("ends with level {own}")), "{refused}");
            let resumed = Job::resume(recipe.clone(), snapshot).unwrap();
            assert!(resumed.clone().until_level(other).is_err());
            let resumed = run_on(&resumed, &mut cpu());
            assert_eq!(resumed.words("height").unwrap(), whole.words("height").unwrap());
        }
    }
}

/// The film of a run goes through the levels, and its frames are of one size.
#[test]
fn the_film_goes_through_the_levels() {
    let job = Job::new(recipe("levels = 3", RAIN).unwrap()).unwrap().frames(7).unwrap();
    let mut sizes = vec![];
    job.run_on(&mut cpu(), &mut |event| {
        if let Event::Frame(frame) = event {
            let height = &frame.maps["height"];
            sizes.push([height.width, height.height, height.data.len() as u32 / 97]);
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(sizes, [[130, 97, 130]; 7]);
}

/// Windows of one world agree beyond the reach of all levels, wherever their vertices fall on the
/// coarser lattice.
#[test]
fn windows_of_a_world_agree_beyond_the_reach() {
    let made = |x: i64, y: i64, side: u32| {
        let text = format!(
            "schema = 2\nseed = 7\nwidth = {side}\nheight = {side}\norigin = [{x}, {y}]\n\
             spacing_m = 20\nlevels = 2\n[[stage]]\n\
             kind = \"diamond_square\"\nworld_cells = 65536\nfeature_cells = 128\nrelief_m = \
                      900\n[[stage]]\n\
             kind = \"droplets\"\nlifetime = 2\n\
             rain = 1\ndensity = 1\nradius_cells = 1\n"
        );
        let job = Job::new(Recipe::from_toml(&text, "", "window").unwrap()).unwrap();
        // The reach of a level, in finest cells, is that of its own units and what comes up from
        // the coarser one.
        let reach: u64 = job
            .schedule()
            .names()
            .enumerate()
            .map(|(i, _)| {
                job.schedule().reach(i, job.schedule().plan(i).steps.len())
                    << job.schedule().site(i).level
            })
            .sum();
        (job, reach as usize)
    };
    let (_, reach) = made(0, 0, 64);
    let side = 2 * reach + 40;
    let words = |x: i64, y: i64| {
        run_on(&made(x, y, side as u32).0, &mut cpu()).words("height").unwrap().to_vec()
    };
    let reference = words(1000, 2000);
    for (dx, dy) in [(7usize, 4usize), (2, 1)] {
        let other = words(1000 + dx as i64, 2000 + dy as i64);
        let mut compared = 0;
        for y in reach..side - dy - reach {
            for x in reach..side - dx - reach {
                assert_eq!(other[y * side + x], reference[(y + dy) * side + x + dx], "({x}, {y})");
                compared += 1;
            }
        }
        println!("reach {reach}, {compared} cells");
        assert!(compared > 200);
        assert_ne!(other[0], reference[dy * side + dx], "and near the border they may differ");
    }
}

/// The last value of a list is that of the finest level: values of levels that a land has not are
/// left out, and coarser levels than a list has values for have its first one.
#[test]
fn lists_end_with_the_finest_level() {
    let land = |levels: u32, rain: &str| {
        let stages = format!("[[stage]]\nkind = \"droplets\"\nlifetime = 8\nrain = {rain}\n");
        let job = Job::new(recipe(&format!("levels = {levels}"), &stages).unwrap()).unwrap();
        run_on(&job, &mut cpu()).words("height").unwrap().to_vec()
    };
    for (levels, given, same) in [
        (2, "[3, 0.5, 0.25]", "[0.5, 0.25]"),
        (3, "[0.5, 0.25]", "[0.5, 0.5, 0.25]"),
        (1, "[1, 0.5]", "0.5"),
    ] {
        assert!(land(levels, given) == land(levels, same), "{given} on {levels} levels");
    }
    assert!(land(2, "[0.5, 0.25]") != land(2, "[0.25, 0.5]"));
}

/// What the settings of levels may not be, each with the place and what is allowed.
#[test]
fn wrong_levels_are_named() {
    let wrong = |top: &str, stages: &str, words: &[&str]| {
        let e = match recipe(top, stages) {
            Err(e) => e.to_string(),
            Ok(recipe) => {
                Job::new(recipe).map(|_| ()).expect_err(&format!("{top} {stages}")).to_string()
            }
        };
        words.iter().for_each(|word| assert!(e.contains(word), "no {word:?} in {e}"));
    };
    let rain =
        |value: &str| format!("[[stage]]\nkind = \"droplets\"\nlifetime = 8\nrain = {value}\n");
    wrong("levels = 5", RAIN, &["levels = 5: allowed 1 to 3", "at least 16 cells", "97"]);
    wrong("levels = 0", RAIN, &["levels = 0: allowed \"auto\", a whole number from 1 to 12"]);
    wrong("levels = \"many\"", RAIN, &["levels = \"many\": allowed \"auto\""]);
    wrong("levels = { count = 2, faded = 3 }", RAIN, &["faded"]);
    wrong(
        "levels = { count = 2, max = 3 }",
        RAIN,
        &["max = 3 with count = 2", "leave one of the two out"],
    );
    wrong("levels = { max = 13 }", RAIN, &["max = 13", "1 to 12"]);
    wrong("levels = { count = 2, fade = -1 }", RAIN, &["fade = -1"]);
    wrong("levels = 2", &rain("[]"), &["rain", "empty list"]);
    wrong("levels = 2", &rain("[1, 600]"), &["rain = 600", "0 to 511"]);
    wrong("levels = 2", &rain("{ from = 1 }"), &["to is missing"]);
    wrong("levels = 2", &rain("{ from = 1, to = 2, by = 3 }"), &["by"]);
    wrong("levels = 2", &rain("1\nborder = { from = 1, to = 2 }"), &["border", "only a number"]);
    wrong("", &rain("[1, 1]"), &["rain differs by level, and the recipe has no levels"]);
    wrong("", &rain("1\nfinest_only = true"), &["finest_only = true: the recipe has no levels"]);
    wrong("levels = 2", &rain("1\nfinest_only = 1"), &["finest_only = 1: allowed true, false"]);
    wrong("levels = 2", "", &["no stage of this recipe changes heights"]);
    wrong(
        "levels = 2",
        &format!("{}[[stage]]\nkind = \"layer\"\n{RAIN}", rain("1")),
        &["stage 4, droplets", "stands behind stage 3"],
    );
    wrong(
        "levels = 3",
        &rain("1\nborder = \"torus\""),
        &["levels = 3: allowed 1 to 1", "multiples"],
    );
    wrong(
        "levels = 2",
        &format!("{RAIN}[[stage]]\nkind = \"blur\"\nfinest_only = true\npasses = [1, 2]\n"),
        &["runs on the finest level alone"],
    );
    wrong("levels = 2\nscale = 3", RAIN, &["scale = 3: allowed a power of two, 1 to 64"]);
    wrong("levels = 2\nscale = 0", RAIN, &["scale = 0"]);
    wrong("levels = 2\nscale = 128", RAIN, &["scale = 128", "64"]);
    wrong("scale = 2", RAIN, &["scale = 2", "put levels = \"auto\" on top"]);
    wrong(
        "levels = 2\nscale = 2",
        &format!("[[stage]]\nkind = \"biomes\"\n{RAIN}"),
        &["scale = 2: biomes cannot be asked"],
    );
    // It can be made by parts, and not at once.
    let large =
        Job::new(recipe("levels = 3\nscale = 64\nmargin_cells = 8000", RAIN).unwrap()).unwrap();
    let message = large.run(&mut |_| Ok(())).unwrap_err().to_string();
    assert!(message.contains("scale = 64") && message.contains("at most 32767"), "{message}");
    // A torus whose sides suit has as many levels as they allow.
    let text = "schema = 2\nwidth = 192\nheight = 192\nspacing_m = 5\nlevels = \"auto\"\n\
                [[stage]]\nkind = \"diamond_square\"\nworld_cells = 64\n\
                feature_cells = 32\nedge = \"torus\"\n[[stage]]\nkind = \"droplets\"\nlifetime = \
                                             8\n\
                border = \"torus\"\n";
    let job = Job::new(Recipe::from_toml(text, "", "torus").unwrap()).unwrap();
    assert_eq!(job.schedule().levels(), 3);
    // "auto" has as many levels as leave the shorter side 48 to 95 cells, and `most` as many as
    // leave 16, up to a limit.
    for (top, side, count) in [
        ("\"auto\"", 1024, 5),
        ("{ max = 3 }", 1024, 3),
        ("{ count = \"auto\", max = 3 }", 50, 2),
        ("{ max = 9 }", 1024, 7),
    ] {
        let text = format!(
            "schema = 2\nwidth = {side}\nheight = {side}\nspacing_m = 5\nlevels = {top}\n\
             [[stage]]\nkind = \"flat\"\n{RAIN}"
        );
        let recipe = Recipe::from_toml(&text, "", "auto").unwrap();
        let again = Recipe::from_json(&recipe.describe().to_string(), "", "again").unwrap();
        assert_eq!(
            (again.levels, Job::new(again).unwrap().schedule().levels()),
            (recipe.levels, count),
            "{top} of {side} cells"
        );
    }
}

/// U7: the steps of particles are those of their own level: none where it does not rain, and
/// elsewhere at most those of all lives.
#[test]
fn steps_of_particles_are_those_of_their_level() {
    let stages = "[[stage]]\nkind = \"droplets\"\nlifetime = 16\nrain = [2, 0.25, 0]\n[[stage]]\n\
                  kind = \"droplets\"\nlifetime = 16\nrain = 0.25\n";
    let outcome = run_on(&Job::new(recipe("levels = 3", stages).unwrap()).unwrap(), &mut cpu());
    let steps: Vec<u64> = outcome.stages.iter().filter_map(|stage| stage.droplet_steps).collect();
    let cells: Vec<f64> = outcome.levels.iter().map(|level| level.window.cells() as f64).collect();
    assert_eq!((steps.len(), cells.len()), (6, 3));
    let rains = [2.0, 0.25, 0.25, 0.25, 0.0, 0.25];
    for (n, (steps, rain)) in steps.iter().zip(rains).enumerate() {
        // Droplets are whole lives in squares of the density.
        let most = rain * 16.0 * (cells[n / 2].sqrt() + 16.0).powi(2);
        assert!(*steps as f64 <= most && (*steps > 0) == (rain > 0.0), "{n}: {steps} of {most}");
    }
}

/// The described recipe of a run by levels is a recipe again, for the same maps.
#[test]
fn a_described_recipe_runs_the_same() {
    let given = recipe("levels = { count = 3, fade = 2 }", ALL).unwrap();
    let again = Recipe::from_json(&given.describe().to_string(), "", "again").unwrap();
    let [a, b] = [given, again].map(|recipe| run_on(&Job::new(recipe).unwrap(), &mut cpu()));
    assert_eq!(a.words("height").unwrap(), b.words("height").unwrap());
}

/// From coarse to fine the land drains: hardly a cell lies in a depression over half a cell deep.
/// On the land as it is many times more do.
#[cfg(feature = "classic")]
#[test]
fn the_land_drains() {
    let share_closed = |outcome: &Outcome, side: usize| {
        let height: Vec<f64> = outcome
            .words("height")
            .unwrap()
            .iter()
            .map(|h| f64::from(*h) / f64::from(thalweg::arith::CELL))
            .collect();
        let drained =
            thalweg::quality::drainage(thalweg::quality::Grid::new(&height, side, side).unwrap());
        height.iter().zip(&drained.filled).filter(|(h, filled)| *filled - *h > 0.5).count() as f64
            / height.len() as f64
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/mountains.toml");
    let side = 512usize;
    let (mut flat_share, mut share) = (0.0, 0.0);
    for seed in [1, 3, 5] {
        let mut recipe = Recipe::read(path).unwrap();
        recipe.seed = seed;
        recipe.margin = 0;
        recipe.resize(side as u32, side as u32).unwrap();
        share += share_closed(&run_on(&Job::new(recipe.clone()).unwrap(), &mut cpu()), side) / 3.0;
        recipe.levels = None;
        recipe.stages.truncate(1);
        recipe.stages.push(thalweg::Preset::find("fans").unwrap().step(false).unwrap());
        flat_share += share_closed(&run_on(&Job::new(recipe).unwrap(), &mut cpu()), side) / 3.0;
    }
    println!(
        "in depressions: {share:.5} from coarse to fine, {flat_share:.5} on the land as it is"
    );
    assert!(share < 0.002 && flat_share > 20.0 * share, "{share} {flat_share}");
}

proptest! {
    #![proptest_config(config(16))]

    /// Any stages on any land with levels: the order of work does not matter, a preview is a
    /// prefix, and the change is that of the height.
    #[test]
    fn no_recipe_breaks_a_promise_of_levels(
        (width, height) in (64u32..96, 64u32..96),
        origin in (any::<i32>(), any::<i32>()),
        (margin, count, halvings) in (0u32..12, 1u32..4, 0u32..2),
        fade in 0.0..8.0f64,
        erosion in proptest::collection::vec((0usize..5, 0.0..1.0f64, 2i64..20, 1.0..4.0f64,
            0usize..2), 1..3),
        maker in 0usize..2,
        seed: u32,
    ) {
        let makers = ["diamond_square\"\nfeature_cells = 64\nrelief_m = 900",
            "island\"\nradius_x_cells = 90\n\
            radius_y_cells = 50\ncrater_rim_m = 500"];
        let sand = "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\nfrom = \"noise\"\n\
                    feature_cells = 16\nthickness_m = 30\n";
        let stage = |(kind, rain, lifetime, radius, border): &(usize, f64, i64, f64, usize)| {
            let border = ["open", "wall"][*border];
            let rained = |kind: &str| format!("[[stage]]\nkind = \"{kind}\"\nrain = {rain}\n\
                lifetime = {lifetime}\nradius_cells = {radius}\nborder = \"{border}\"\n");
            match kind {
                0 if *radius < 2.5 => format!("{}sea_level_m = {}\nwash = {rain}\n",
                    rained("droplets"), 90.0 * radius),
                0 => format!("{}river_threshold = {}\n", rained("droplets"), 3.0 * (radius - 1.0)),
                1 if *radius < 2.5 => format!("{}sea_level_m = {}\nloads = \"left\"\n",
                    rained("snowballs"), 90.0 * radius),
                1 => rained("snowballs"),
                2 => format!("[[stage]]\nkind = \"thermal\"\n\
                              steps = {{ from = 2, to = {lifetime} }}\n\
                              repose_deg = {{ from = 60, \
                 to = {} }}\ncliff_deg = 80\n", 10.0 * radius),
                3 => "[[stage]]\nkind = \"blur\"\n".into(),
                _ => format!("[[stage]]\nkind = \"wind\"\nrain = {rain}\nlifetime = {lifetime}\n\
                              border = \"{border}\"\n"),
            }
        };
        let text = |erosion: &str, scale: u32| format!(
            "schema = 2\nseed = {seed}\nwidth = {width}\nheight = {height}\norigin = [{}, {}]\n\
             spacing_m = 20\nmargin_cells = {margin}\nscale = {scale}\n\
             levels = {{ count = {count}, fade = {fade} }}\n[[stage]]\nkind = \"{}\n{sand}{erosion}\
             [output]\nmaps = [\"height\", \"change\", \"sediment\"]\n",
            origin.0, origin.1, makers[maker]
        );
        let erosion: String = erosion.iter().map(stage).collect();
        let job = |erosion: &str,
        scale| Job::new(Recipe::from_toml(&text(erosion, scale), "", "drawn").unwrap()).unwrap();
        let scale = 1 << halvings;
        let whole = run_on(&job(&erosion, scale), &mut cpu());
        let mut other = Cpu::new(3, Order { shuffle: Some(seed.into()), portion: Some(97),
            atomic: true }).unwrap();
        // The recipe of a manifest is the same recipe. P5
        let described = Recipe::from_toml(&text(&erosion, scale), "",
            "drawn").unwrap().describe().to_string();
        let described = Recipe::from_json(&described, "", "described").unwrap();
        let again = run_on(&Job::new(described).unwrap(), &mut other);
        for name in whole.names() {
            prop_assert_eq!(whole.words(name).unwrap(), again.words(name).unwrap(), "{}", name);
        }
        for level in &whole.levels {
            let preview = run_on(&job(&erosion, scale).until_level(level.level).unwrap(),
                &mut cpu());
            prop_assert!(preview.words("height").unwrap() == level.words, "level {}", level.level);
        }
        let plain = run_on(&job(&erosion, 1), &mut cpu());
        let preview = run_on(&job(&erosion, scale).until_level(0).unwrap(), &mut cpu());
        prop_assert_eq!(plain.words("height").unwrap(), preview.words("height").unwrap());
        let before = run_on(&job("[[stage]]\nkind = \"droplets\"\nrain = 0\n", scale), &mut cpu());
        let moved = whole.words("height").unwrap().iter().zip(before.words("height").unwrap()).map(|(after, before)| after - before);
        prop_assert_eq!(whole.words("change").unwrap(), moved.collect::<Vec<_>>());
        prop_assert!(whole.words("sediment").unwrap().iter().all(|thick| *thick >= 0));
    }
}

/// A coarser lattice has the same biomes: the points and noises of the recipe at its own places, at
/// the cost of its own cells, and the same words on both executors.
#[test]
fn biomes_are_made_by_level() {
    let table =
        "table = [[\"mountains\", \"forest\"], [\"plains\", \"forest\"], [\"desert\", \"plains\"]]";
    let climate = format!(
        "from = \"climate\"\npole_cells = 150\ninland_cells = 40\nsea_level_m = 100\n{table}"
    );
    let adapter = gpu("biomes_are_made_by_level", 64, None);
    let mut compared = 0;
    for (settings, least) in [
        ("frequency = 0.05\npadding_cells = 20\nfeature_cells = 120", 0.97),
        ("frequency = 0.3\npadding_cells = 3\nfeature_cells = 60", 0.95),
        (&format!("frequency = 0.05\npadding_cells = 20\nfeature_cells = 120\n{climate}"), 0.95),
        // A grid that is coarser than the lattice keeps its points; on the coarsest level there are
        // fewer.
        (
            "method = \"convolved\"\ninterval_cells = 8\nradius_cells = 20\nfeature_cells = 120",
            0.95,
        ),
        ("method = \"lerped\"\ninterval_cells = 8\nradius_cells = 20\nfeature_cells = 120", 0.95),
    ] {
        let text = format!(
            "schema = 2\nseed = 7\nwidth = 220\nheight = 180\norigin = [-1000035, 60]\n\
             spacing_m = 20\nlevels = 4\n\
             [[stage]]\nkind = \"diamond_square\"\nrelief_m = 300\nfeature_cells = 128\n[[stage]]\n\
             kind = \"biomes\"\nheights = \"add\"\n\
             {settings}\n[[stage]]\nkind = \"droplets\"\nrain = 0\n[output]\n\
             maps = [\"height\", \"biome\"]\n"
        );
        let job = Job::new(Recipe::from_toml(&text, "", "biomes").unwrap()).unwrap();
        let at = |level: i32| job.clone().until_level(level).unwrap();
        let finest = run_on(&at(0), &mut cpu());
        for level in 1..4 {
            let coarse = run_on(&at(level), &mut cpu());
            let step = 1i64 << level;
            let (mut equal, mut all, mut off) = (0, 0, 0.0);
            let maps = [&coarse, &finest]
                .map(|outcome| [outcome.map("height").unwrap(), outcome.map("biome").unwrap()]);
            let (width, across) = (coarse.window.width as i64, finest.window.width as i64);
            for i in 0..coarse.window.cells() as i64 {
                let [x, y] = [i % width, i / width];
                let [x, y] = [
                    (coarse.window.origin[0] + x) * step - finest.window.origin[0],
                    (coarse.window.origin[1] + y) * step - finest.window.origin[1],
                ];
                if (0..across).contains(&x) && (0..finest.window.height as i64).contains(&y) {
                    let there = (y * across + x) as usize;
                    equal += usize::from(maps[0][1].data[i as usize] == maps[1][1].data[there]);
                    off += f64::from((maps[0][0].data[i as usize] - maps[1][0].data[there]).abs());
                    all += 1;
                }
            }
            let (low, high) = maps[1][0].min_max();
            let (share, mean) =
                (equal as f64 / f64::from(all), off / f64::from(all) / f64::from(high - low));
            println!(
                "{settings:?}, level {level}: {share:.4} of {all} cells, heights off by {mean:.5} \
                 of the relief"
            );
            assert!(
                all > 500 && share > least && mean < 0.01,
                "{settings:?}, level {level}: {share} of {all}, {mean}"
            );
            compared += 1;
        }
        let cells = |level: i32| {
            let job = at(level);
            (0..job.schedule().names().count())
                .map(|i| job.schedule().site(i).window.cells())
                .max()
                .unwrap()
        };
        assert!(cells(2) * 12 < cells(0), "a preview does not make the finest land");
        if let Some(mut adapter) =
            adapter.as_ref().map(|_| gpu("biomes_are_made_by_level", 64, None).unwrap())
        {
            let other = run_on(&at(0), &mut adapter);
            for name in ["height", "biome"] {
                assert_eq!(
                    finest.words(name).unwrap(),
                    other.words(name).unwrap(),
                    "{settings:?}: {name}"
                );
            }
            assert!(
                finest.levels.iter().zip(&other.levels).all(|(a, b)| a.words == b.words),
                "{settings:?}"
            );
        }
    }
    assert_eq!(compared, 15);
}
