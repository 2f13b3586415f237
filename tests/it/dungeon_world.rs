//! Dungeons in a world: entrances are the same in every window, lie on level ground, and follow the
//! recipe.

use crate::common::{Made, cpu, made};
use std::collections::BTreeSet;
use thalweg::Job;
use thalweg::arith::CELL;
use thalweg::dungeon::placed::{Entrance, Placing};
use thalweg::dungeon::{Generator, isaac};
use thalweg::recipe::Recipe;
use thalweg::site::Window;

/// The heights of a window on a world of hills with cliffs.
fn ground(window: Window) -> Vec<i32> {
    let Window { origin: [left, top], width, height } = window;
    let cells = (0..i64::from(height))
        .flat_map(|y| (0..i64::from(width)).map(move |x| (left + x, top + y)));
    let wave = |v: i64, n: i64| ((v.rem_euclid(2 * n) - n).abs() * i64::from(CELL) / 8) as i32;
    cells
        .map(|(x, y)| {
            wave(x, 90) + wave(y, 70) + if x.div_euclid(150) % 2 == 0 { 30 * CELL } else { 0 }
        })
        .collect()
}

#[test]
fn dungeons_in_a_world_are_the_same_in_every_window() {
    let placing = Placing {
        generator: Generator::Isaac(isaac::Settings::default()),
        spacing: 60,
        radius: 4,
        slope_max: 0.3,
        lowest_m: 5.0,
        highest_m: 45.0,
        biomes: vec![],
        format: "json".into(),
    };
    let find = |window: Window| {
        let mut words = ground(window);
        let found = placing.entrances(9, window, &mut words, f64::from(CELL), 0.0, &|_| true);
        (found, words)
    };
    let large = Window { origin: [-700, -400], width: 1400, height: 900 };
    let (all, levelled) = find(large);
    assert!(all.len() > 60, "{}", all.len());
    let before = ground(large);
    let at = |e: &Entrance, dx: i64, dy: i64| {
        ((e.y - large.origin[1] + dy) * 1400 + e.x - large.origin[0] + dx) as usize
    };
    for (i, e) in all.iter().enumerate() {
        let far = |o: &Entrance| (o.x - e.x).pow(2) + (o.y - e.y).pow(2);
        assert!(all[..i].iter().all(|o| far(o) >= 60 * 60), "{e:?}: entrances keep their distance");
        assert!((5 * CELL..=45 * CELL).contains(&before[at(e, 0, 0)]));
        for (dx, dy) in (-9..=9).flat_map(|dy| (-9..=9).map(move |dx| (dx, dy))) {
            let [old, new] = [before[at(e, dx, dy)], levelled[at(e, dx, dy)]];
            match dx * dx + dy * dy {
                0..=16 => assert_eq!(new, e.height, "{e:?}: level"),
                64.. => assert_eq!(new, old, "{e:?}: as it was"),
                _ => assert!((old.min(e.height)..=old.max(e.height)).contains(&new)),
            }
        }
    }
    assert_eq!(
        all.iter().map(|e| e.seed).collect::<BTreeSet<_>>().len(),
        all.len(),
        "every entrance has its own seed"
    );
    // Another window finds no other entrances, and all those that lie deeper than the reach.
    for origin in [[-650, -390], [-333, -217], [11, 5]] {
        let small = Window { origin, width: 500, height: 380 };
        let (some, words) = find(small);
        let reach = placing.reach();
        let deep = |e: &&Entrance| {
            (origin[0] + reach..origin[0] + 500 - reach).contains(&e.x)
                && (origin[1] + reach..origin[1] + 380 - reach).contains(&e.y)
        };
        assert!(some.iter().all(|e| all.contains(e)), "{origin:?}");
        assert!(all.iter().filter(deep).all(|e| some.contains(e)), "{origin:?}");
        assert!(all.iter().filter(deep).count() > 2);
        for e in &some {
            assert_eq!(
                words[((e.y - origin[1]) * 500 + e.x - origin[0]) as usize],
                levelled[at(e, 0, 0)]
            );
        }
    }
}

#[test]
fn dungeons_in_a_recipe_are_checked_and_spelled_out() {
    let recipe = |dungeons: &str| {
        let text = format!(
            "schema = 2\nwidth = 256\nheight = 200\nspacing_m = 10\n[[stage]]\n\
             kind = \"diamond_square\"\nrelief_m = 300\n[dungeons]\n{dungeons}"
        );
        Recipe::from_toml(&text, "", "test")
    };
    let refused = |dungeons: &str, words: &[&str]| {
        let error =
            recipe(dungeons).err().unwrap_or_else(|| panic!("{dungeons} is accepted")).to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
    };
    refused("spacing_cells = 90", &["dungeons: kind is missing"]);
    refused("kind = \"isac\"", &["did you mean \"isaac\""]);
    refused(
        "kind = \"isaac\"\nradius_cells = 32\nspacing_cells = 128",
        &["spacing_cells = 128", "129"],
    );
    refused("kind = \"isaac\"\nlevel = 0", &["level = 0", "1 to 12"]);
    refused("kind = \"isaac\"\nlowest_m = 3\nhighest_m = 2", &["lowest_m = 3"]);
    refused("kind = \"tinykeep\"\nlevel = 3", &["room_count"]);
    refused("kind = \"isaac\"\nformat = \"../x\"", &["format", "json"]);
    refused("kind = \"isaac\"\nbiomes = [\"moor\"]", &["no moor", "kind = \"biomes\""]);
    refused("kind = \"isaac\"\nlabrinth = 3", &["did you mean \"labyrinth\""]);
    refused("kind = \"isaac\"\nlabyrinth = true", &["labyrinth = true", "u32"]);
    refused("kind = \"isaac\"\nlabyrinth = 101", &["labyrinth = 101", "0 to 100"]);
    refused("kind = \"rebirth\"\nroom_count = -1", &["room_count = -1"]);
    refused("kind = \"tinykeep\"\nellipse_px = [400]", &["ellipse_px = [400]", "length 2"]);
    refused("kind = \"tinykeep\"\nellipse_px = [400, 0]", &["ellipse_px (height) = 0"]);
    for all in [
        "kind = \"isaac\"\nlevel = 3\nlabyrinth = 20\nfull_health = true\nlocks = 0",
        "kind = \"rebirth\"\nlevel = 4\nspacing_cells = 40\nslope_max = 2\nlarge = 80\nlarge_boss \
         = 100",
        "kind = \"tinykeep\"\nroom_count = 90\nellipse_px = [400, 20]\nloops = 0.08\n\
         ratio_max = 2\nmain_px = [28, 28]",
    ] {
        let checked = recipe(all).unwrap();
        let again = Recipe::from_json(&checked.describe().to_string(), "", "test").unwrap();
        assert_eq!(again.dungeons, checked.dungeons);
        assert_ne!(
            recipe(all.split_once('\n').unwrap().0).unwrap().dungeons,
            checked.dungeons,
            "the settings are used"
        );
    }
    // Too many files are refused before the run.
    let mut crowded = recipe("kind = \"isaac\"\nspacing_cells = 5\nradius_cells = 1").unwrap();
    crowded.window = Window { origin: [0, 0], width: 16384, height: 16384 };
    let error = Job::new(crowded).expect_err("too many").to_string();
    assert!(error.contains("spacing_cells = 5") && error.contains("allowed 65 or more"), "{error}");
    let checked =
        recipe("kind = \"rebirth\"\nlevel = 4\nspacing_cells = 40\nslope_max = 2").unwrap();

    // After a run the ground is level at every entrance.
    let made = run(&checked);
    assert!(!made.outcome.entrances.is_empty());
    for e in &made.outcome.entrances {
        let at =
            |dx: i64, dy: i64| made.maps["height"].data[((e.y + dy) * 256 + e.x + dx) as usize];
        assert!((-2..=2).all(|d| at(d, 0) == at(0, 0) && at(0, d) == at(0, 0)), "{e:?}");
    }
    let mut plain = checked.clone();
    plain.dungeons = None;
    assert!(run(&plain).outcome.entrances.is_empty());
}

/// Entrances lie in the biomes of the recipe. An entrance that all biomes allow is also one if only
/// its own biome is allowed.
#[test]
fn dungeons_may_be_of_some_biomes_alone() {
    let recipe = |biomes: &str| {
        let text = format!(
            "schema = 2\nseed = 3\nwidth = 300\nheight = 280\nspacing_m = 10\n[[stage]]\n\
             kind = \"diamond_square\"\nrelief_m = 0\n\
             [[stage]]\nkind = \"biomes\"\n[[stage.biome]]\nname = \"fen\"\ncolour = \"#087020\"\n\
             [[stage.biome]]\nname = \"moor\"\ncolour = \"#806030\"\n\
             [dungeons]\nkind = \"isaac\"\nspacing_cells = 30\nradius_cells = 3\nslope_max = \
                                  64\n{biomes}\n\
             [output]\nmaps = [\"biome\"]\n"
        );
        Recipe::from_toml(&text, "", "test")
    };
    let entrances = |biomes: &str| {
        let made = run(&recipe(biomes).unwrap());
        let kind = |e: &Entrance| made.maps["biome"].data[(e.y * 300 + e.x) as usize];
        made.outcome.entrances.iter().map(|e| (e.x, e.y, kind(e))).collect::<Vec<_>>()
    };
    let (any, fen, moor) =
        (entrances(""), entrances("biomes = [\"fen\"]"), entrances("biomes = [\"moor\"]"));
    assert!(fen.len() > 3 && fen.iter().all(|e| e.2 == 0.0), "{fen:?}");
    assert!(moor.len() > 3 && moor.iter().all(|e| e.2 == 1.0), "{moor:?}");
    assert!(any.iter().all(|e| fen.contains(e) || moor.contains(e)));
    assert_eq!(entrances("biomes = [\"moor\", \"fen\"]"), any);
    let error = |biomes: &str| recipe(biomes).expect_err("refused").to_string();
    assert!(
        error("biomes = [\"mor\"]").contains("did you mean \"moor\""),
        "{}",
        error("biomes = [\"mor\"]")
    );
    assert!(
        error("biomes = \"moor\"").contains("a list of names"),
        "{}",
        error("biomes = \"moor\"")
    );
}

fn run(recipe: &Recipe) -> Made {
    made(recipe, &mut cpu())
}

/// A recipe with dungeons for a window of one large world.
fn window(origin: [i64; 2], side: i64, margin: i64) -> Recipe {
    let text = format!(
        "schema = 2\nseed = 3\nwidth = {side}\nheight = {side}\nspacing_m = 10\n\
         origin = {origin:?}\nmargin_cells = {margin}\n\
         [[stage]]\nkind = \"diamond_square\"\nworld_cells = 65536\nfeature_cells = 512\nrelief_m \
                             = 400\n\
         [dungeons]\nkind = \"isaac\"\nspacing_cells = 30\nradius_cells = 3\nslope_max = 1\n\
         [output]\nmaps = [\"height\", \"slope\", \"aspect\", \"curvature\"]\n"
    );
    Recipe::from_toml(&text, "", "test").unwrap()
}

#[test]
fn dungeons_of_a_world_do_not_depend_on_the_window_that_is_made() {
    let all = run(&window([1000, 5000], 400, 0));
    assert!(all.outcome.entrances.len() > 30, "{}", all.outcome.entrances.len());
    let reach = 30 + 2 * 3 + 1;
    // A margin as wide as the reach brings in the entrances at the border, so windows agree up to
    // the last cell.
    for (origin, side, margin) in
        [([1050, 5060], 280, 0), ([1061, 5043], 250, reach), ([1200, 5200], 150, reach)]
    {
        let some = run(&window(origin, side, margin));
        let deep = if margin > 0 { 0 } else { reach };
        let inside = |e: &&Entrance| {
            (0..2).all(|i| (origin[i] + deep..origin[i] + side - deep).contains(&[e.x, e.y][i]))
        };
        assert!(
            some.outcome.entrances.iter().all(|e| all.outcome.entrances.contains(e)),
            "{origin:?}: no other entrances"
        );
        assert!(
            all.outcome.entrances.iter().filter(inside).all(|e| some.outcome.entrances.contains(e)),
            "{origin:?}: all entrances"
        );
        assert!(all.outcome.entrances.iter().filter(inside).count() > 3);
        // The level ground is the same too, where it is far enough from the border of the map.
        let height = |made: &Made, [x, y]: [i64; 2], [left, top]: [i64; 2], side: i64| {
            made.maps["height"].data[((y - top) * side + x - left) as usize].to_bits()
        };
        let deep = if margin > 0 { 0 } else { reach + 6 };
        for y in origin[1] + deep..origin[1] + side - deep {
            for x in origin[0] + deep..origin[0] + side - deep {
                assert_eq!(
                    height(&some, [x, y], origin, side),
                    height(&all, [x, y], [1000, 5000], 400),
                    "{x}, {y}"
                );
            }
        }
    }
}

#[test]
fn maps_of_the_relief_are_those_of_the_levelled_ground() {
    let recipe = window([1000, 5000], 400, 0);
    let mut plain = recipe.clone();
    plain.dungeons = None;
    let (made, before) = (run(&recipe), run(&plain));
    let at = |made: &Made, name: &str, x: i64, y: i64| made.maps[name].data[(y * 400 + x) as usize];
    let mut changed = 0;
    for y in 0..400 {
        for x in 0..400 {
            let far = made
                .outcome
                .entrances
                .iter()
                .map(|e| (e.x - 1000 - x).pow(2) + (e.y - 5000 - y).pow(2))
                .min()
                .unwrap();
            // Gradients reach one cell. So they are those of level ground up to one cell inside the
            // border of the disc, and unchanged from two cells outside the ramp.
            match far {
                0..=2 => {
                    assert_eq!(
                        [
                            at(&made, "slope", x, y),
                            at(&made, "aspect", x, y),
                            at(&made, "curvature", x, y)
                        ],
                        [0.0, -1.0, 0.0]
                    );
                    changed += usize::from(at(&before, "slope", x, y) != 0.0);
                }
                64.. => ["slope", "aspect", "curvature"].iter().for_each(|name| {
                    assert_eq!(
                        at(&made, name, x, y).to_bits(),
                        at(&before, name, x, y).to_bits(),
                        "{name}"
                    )
                }),
                _ => {}
            }
        }
    }
    assert!(changed > 100, "{changed}");
    assert_ne!(made.digests["height"], before.digests["height"]);
    assert_ne!(made.digests["slope"], before.digests["slope"]);
}
