//! Dungeons in a world: the same in every window, on level ground, as the recipe says.

use std::collections::BTreeSet;
use thalweg::dungeon::placed::{Entrance, Placing};
use thalweg::dungeon::{Generator, isaac};
use thalweg::plan::Window;
use thalweg::recipe::Recipe;
use thalweg::spec::CELL;
use thalweg::world::World;

/// Heights of a window on a world of hills with cliffs in it.
fn ground(window: Window) -> Vec<i32> {
    let Window { origin: [left, top], width, height } = window;
    let cells = (0..i64::from(height)).flat_map(|y| (0..i64::from(width)).map(move |x| (left + x, top + y)));
    let wave = |v: i64, n: i64| ((v.rem_euclid(2 * n) - n).abs() * i64::from(CELL) / 8) as i32;
    cells.map(|(x, y)| wave(x, 90) + wave(y, 70) + if x.div_euclid(150) % 2 == 0 { 30 * CELL } else { 0 }).collect()
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
        format: "json".into(),
    };
    let find = |window: Window| {
        let mut words = ground(window);
        let found = placing.entrances(9, window, &mut words, f64::from(CELL), 0.0);
        (found, words)
    };
    let large = Window { origin: [-700, -400], width: 1400, height: 900 };
    let (all, levelled) = find(large);
    assert!(all.len() > 60, "{}", all.len());
    let before = ground(large);
    let at = |e: &Entrance, dx: i64, dy: i64| ((e.y - large.origin[1] + dy) * 1400 + e.x - large.origin[0] + dx) as usize;
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
    assert_eq!(all.iter().map(|e| e.seed).collect::<BTreeSet<_>>().len(), all.len(), "each has its own seed");
    // Another window finds no others, and all that lie deeper than the reach.
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
            assert_eq!(words[((e.y - origin[1]) * 500 + e.x - origin[0]) as usize], levelled[at(e, 0, 0)]);
        }
    }
}

#[test]
fn dungeons_in_a_recipe_are_checked_and_spelled_out() {
    let recipe = |dungeons: &str| {
        let text = format!(
            "schema = 1\nwidth = 256\nheight = 200\nspacing_m = 10\n[[stage]]\nkind = \"diamond_square\"\nrelief_m = 300\n[dungeons]\n{dungeons}"
        );
        Recipe::from_toml(&text, std::path::Path::new(""), "test")
    };
    let refused = |dungeons: &str, words: &[&str]| {
        let error = recipe(dungeons).err().unwrap_or_else(|| panic!("{dungeons} is accepted")).to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
    };
    refused("spacing = 90", &["dungeons: kind is missing"]);
    refused("kind = \"isac\"", &["did you mean \"isaac\""]);
    refused("kind = \"isaac\"\nradius = 32\nspacing = 128", &["spacing = 128", "129"]);
    refused("kind = \"isaac\"\nlevel = 0", &["level = 0", "1 to 12"]);
    refused("kind = \"isaac\"\nlowest_m = 3\nhighest_m = 2", &["lowest_m = 3"]);
    refused("kind = \"tinykeep\"\nlevel = 3", &["room_count"]);
    refused("kind = \"isaac\"\nformat = \"../x\"", &["format", "json"]);
    let checked = recipe("kind = \"rebirth\"\nlevel = 4\nspacing = 40\nslope_max = 2").unwrap();
    let again = Recipe::from_json(&checked.describe().to_string(), std::path::Path::new(""), "test").unwrap();
    assert_eq!(again.dungeons, checked.dungeons);

    // Run, the ground is level at every entrance, and only heights know of them.
    let run = |recipe: &Recipe| {
        let stop = std::sync::atomic::AtomicBool::new(false);
        World::new(recipe, None).unwrap().run(&mut crate::common::cpu(), &stop, &mut |_, _, _| {}).unwrap()
    };
    let made = run(&checked);
    assert!(!made.entrances.is_empty());
    for e in &made.entrances {
        let at = |dx: i64, dy: i64| made.maps["height"].data[((e.y + dy) * 256 + e.x + dx) as usize];
        assert!((-2..=2).all(|d| at(d, 0) == at(0, 0) && at(0, d) == at(0, 0)), "{e:?}");
    }
    let mut plain = checked.clone();
    plain.dungeons = None;
    assert!(run(&plain).entrances.is_empty());
}
