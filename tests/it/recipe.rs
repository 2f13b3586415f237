//! Recipes: the same from TOML and JSON, and errors that help.

use crate::common::config;
use proptest::prelude::*;
use serde_json::{Value, json};
use thalweg::params::{self, ParamKind};
use thalweg::recipe::{Input, PRESETS, Preset, Recipe, Step, assignment};
use thalweg::site::Scale;
use thalweg::stage::{biomes, strokes};
use thalweg::{Device, Job};

const GOOD: &str = r#"
schema = 2
seed = 9
width = 40
height = 30
spacing_m = 25.0
[[stage]]
kind = "diamond_square"
world_cells = 64
[[stage]]
kind = "droplets"
rain = 1
"#;

fn toml(text: &str) -> Result<Recipe, String> {
    Recipe::from_toml(text, "", "test").map_err(|e| e.to_string())
}

#[test]
fn toml_and_json_are_the_same() {
    let json = r#"{"schema": 2,"seed":9,"width":40,"height":30,"spacing_m":25.0,
        "stage":[{"kind":"diamond_square","world_cells":64},{"kind":"droplets","rain":1}]}"#;
    let (a, b) = (toml(GOOD).unwrap(), Recipe::from_json(json, "", "test").unwrap());
    assert_eq!(a.describe(), b.describe());
    assert_eq!(a.window, b.window);
    assert_eq!(a.describe()["stage"][1]["rain"], 1.0);
    // Parsed, it is TOML or JSON by its first letter.
    for text in [GOOD, json, &format!("\u{feff}\n {json}")] {
        let parsed: Recipe = text.parse().unwrap();
        assert_eq!(parsed.describe()["stage"], a.describe()["stage"]);
    }
    assert!(
        "[schema = 2".parse::<Recipe>().is_err() && "{\"schema\": 1".parse::<Recipe>().is_err()
    );
}

#[test]
fn examples_are_recipes() {
    let mut count = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap() {
        let path = entry.unwrap().path();
        let dungeons = path.file_stem().is_some_and(|stem| stem == "dungeons");
        if path.extension().is_some_and(|e| e == "toml") && (cfg!(feature = "dungeon") || !dungeons)
        {
            Recipe::read(&path).unwrap();
            count += 1;
        }
    }
    assert!(count >= 2);
    for preset in PRESETS {
        // What the editor writes is what the command runs.
        for levels in [false, true] {
            let mut written = serde_json::json!({ "schema": 2, "input": "land.tif",
                "stage": [preset.written(levels)] });
            if levels && preset.has_levels() {
                written["levels"] = "auto".into();
            }
            let recipe = Recipe::from_json(&written.to_string(), "", "preset").unwrap();
            let own = (levels && preset.has_levels()).then(thalweg::recipe::Levels::default);
            let own = Recipe::on_heights_by_level(vec![preset.step(levels).unwrap()], own).unwrap();
            assert_eq!(recipe.describe()["stage"], own.describe()["stage"], "{}", preset.name);
        }
    }
    assert!(Preset::find("depe").unwrap_err().to_string().contains("did you mean \"deep\""));
}

/// The recipes of `examples/`.
fn examples() -> Vec<Recipe> {
    let entries = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    let paths = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let there = |path: &std::path::PathBuf| {
        cfg!(feature = "dungeon") || path.file_stem().is_some_and(|s| s != "dungeons")
    };
    paths.filter(there).map(|path| Recipe::read(&path).unwrap()).collect()
}

/// A land of an eighth of the extent has the same words: its cells, heights and all other lengths
/// are an eighth, which floats hold exactly.
#[test]
fn another_extent_is_the_same_land() {
    let mut seen = 0;
    for recipe in examples().into_iter().filter(|r| r.input.is_none() && !r.endless) {
        // Thresholds of a climate are degrees, of which a lower mountain has others.
        if recipe.stages.iter().any(|step| step.stage.name == "biomes") {
            continue;
        }
        let words = |mut recipe: Recipe| {
            recipe.output.maps = vec!["height".into()];
            recipe.water = None;
            let job = Job::new(recipe).unwrap().device(Device::Cpu);
            job.run(&mut |_| Ok(())).unwrap().words("height").unwrap().to_vec()
        };
        let mut own = recipe.clone();
        own.resize(96, 64).unwrap();
        // Trees do not stand as far apart as the land is larger.
        own.scatter.clear();
        let known = words(own.clone());
        for factor in [1.0 / 8.0, 8.0] {
            let mut other = own.clone();
            other.resize_to(95.0 * own.spacing_m.unwrap() * factor).unwrap();
            assert_eq!(other.spacing_m, own.spacing_m.map(|metres| metres * factor));
            assert!(words(other) == known, "{} times {factor}", recipe.name);
        }
        // Half as high and twice as high again is the same recipe, and no key leaves its range.
        let mut same = own.clone();
        same.multiply_relief(0.5).unwrap();
        same.multiply_relief(2.0).unwrap();
        assert_eq!(same.describe(), own.describe());
        seen += 1;
    }
    assert!(seen > 10, "{seen} examples");
    // Trees do not grow with the land, nor do rivers of as much water.
    let mut game = examples().into_iter().find(|recipe| recipe.name == "game-small").unwrap();
    let kept = |recipe: &Recipe| {
        let told = recipe.describe();
        let at = ["/scatter/0/distance_m", "/water/width_m", "/water/depth_m"];
        at.map(|pointer| told.pointer(pointer).unwrap().clone())
    };
    let before = kept(&game);
    game.resize_to(500.0).unwrap();
    assert_eq!(kept(&game), before);
}

/// Where a value has another number or word than it had, and which.
fn differences(at: &str, before: &Value, after: &Value, out: &mut Vec<(String, Value)>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            assert!(before.keys().eq(after.keys()), "{at}");
            let pairs = before.iter().zip(after.values());
            pairs.for_each(|((key, a), b)| differences(&format!("{at}/{key}"), a, b, out));
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len(), "{at}");
            let pairs = before.iter().zip(after).enumerate();
            pairs.for_each(|(i, (a, b))| differences(&format!("{at}/{i}"), a, b, out));
        }
        (a, b) if a.as_f64().is_some() && a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        (_, b) => out.push((at.into(), b.clone())),
    }
}

/// All numbers of a described recipe, with the keys that have them.
fn numbers<'a>(key: &'a str, value: &'a Value, out: &mut Vec<(&'a str, f64)>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| numbers(key, value, out)),
        Value::Array(list) => list.iter().for_each(|value| numbers(key, value, out)),
        value => out.extend(value.as_f64().map(|number| (key, number))),
    }
}

proptest! {
    #![proptest_config(config(400))]

    /// Any extent and any relief, of every example that makes its own land: each number is
    /// multiplied or stays, what stands for no sea or no floor stays, and an error is about a
    /// number that leaves its range.
    #[test]
    fn any_extent_and_relief_scale_or_say_why(
        which in any::<prop::sample::Index>(),
        power in -40..40i32,
        is_relief: bool,
    ) {
        let all: Vec<_> = examples().into_iter().filter(|r| r.input.is_none()).collect();
        let own = which.get(&all);
        let described = own.describe();
        let (mut other, factor) = (own.clone(), f64::from(power).exp2());
        let cells = f64::from(own.window.width.max(own.window.height) - 1);
        let done = match is_relief {
            true => other.multiply_relief(factor),
            // Powers of two, by which floats are multiplied exactly.
            false => other.resize_to(cells * own.spacing_m.unwrap() * factor),
        };
        let mut before = vec![];
        numbers("", &described, &mut before);
        let none = |key: &str, number: f64| number.abs() == 1e6 && key.ends_with("_m");
        match done {
            Ok(()) => {
                let described = other.describe();
                let mut after = vec![];
                numbers("", &described, &mut after);
                prop_assert_eq!(before.len(), after.len());
                let mut changed = 0;
                for ((key, a), (_, b)) in before.into_iter().zip(after) {
                    let area = if is_relief { 1.0 } else { factor * factor };
                    prop_assert!([a, a * factor, a * area].contains(&b), "{}: {} {}", key, a, b);
                    prop_assert!(!none(key, a) || a == b, "{}: {} {}", key, a, b);
                    changed += u32::from(a != b);
                }
                prop_assert!(changed > 0 || power == 0, "{} numbers changed", changed);
            }
            Err(thalweg::Error::Param(why)) => {
                let field = why.field.clone().unwrap_or_default();
                let given = why.given.as_deref().and_then(|text| text.parse::<f64>().ok());
                let is_scaled = |(key, number): &(&str, f64)| {
                    let scaled = [number * factor, number * factor * factor];
                    *key == field && !none(key, *number) && scaled.iter().any(|v| given == Some(*v))
                };
                let is_told = before.iter().any(is_scaled) || given.is_none();
                prop_assert!(is_told && why.message.contains("allowed"), "{:?}", why);
            }
            Err(other) => prop_assert!(matches!(other, thalweg::Error::Limit(_)), "{}", other),
        }
    }
}

/// The height that multiplies by 1 matters where heights are multiplied, and nowhere else: it
/// neither refuses other lands nor follows their relief.
#[test]
fn a_unit_is_of_lands_that_multiply() {
    for how in ["add", "subtract", "min", "max", "blend", "multiply"] {
        let text = format!(
            "schema = 2\nwidth = 9\nheight = 9\nspacing_m = 0.1\n[[stage]]\nkind = \"flat\"\n\
             [[stage]]\nkind = \"noise\"\ncombine = \"{how}\"\nrelief_m = 1\n"
        );
        let read = Recipe::from_toml(&text, "", "r");
        if how == "multiply" {
            let why = read.unwrap_err();
            let why = why.invalid().unwrap();
            assert_eq!(why.pointer.as_deref(), Some("/stage/1/unit_m"));
            let within = toml(&format!("{text}unit_m = 1\n")).unwrap();
            let mut other = within.clone();
            other.multiply_relief(2.0).unwrap();
            assert_eq!(other.describe()["stage"][1]["unit_m"], 2.0);
        } else {
            let mut other = read.unwrap();
            other.multiply_relief(200.0).unwrap();
            assert_eq!(other.describe()["stage"][1]["unit_m"], 1000.0, "{how}");
        }
    }
}

/// The pointer of an error leads to a key of the recipe, or to one that its table lacks.
#[test]
fn pointers_lead_into_the_recipe() {
    let land = "schema = 2\nwidth = 33\nheight = 33\nspacing_m = 10\n";
    let stage = "[[stage]]\nkind = \"noise\"\n";
    let things = "[[scatter]]\nname = \"a\"\n[[scatter]]\nname = \"b\"\n";
    let pointer = |e: thalweg::Error| e.invalid().unwrap().pointer.clone().unwrap();
    for (before, after, expected) in [
        ("scatter = 5\n", "", "/scatter"),
        ("water = 5\n", "", "/water"),
        ("", "[water]\nchannel_flow = 5\nchannel_area_km2 = 1\n", "/water/channel_flow"),
        ("", "[water]\nchannel_area_km2 = 0\n", "/water/channel_area_km2"),
        ("", "[water]\nevaporation_mm = 5\ndepressions = \"breach\"\n", "/water/evaporation_mm"),
        ("", &format!("{things}on = {{ rock = 1 }}\n"), "/scatter/1/on"),
        ("", &format!("{things}biomes = {{ steppe = 1 }}\n"), "/scatter/1/biomes"),
        (
            "",
            "[dungeons]\nkind = \"isaac\"\nspacing_cells = 9\nradius_cells = 4\n",
            "/dungeons/spacing_cells",
        ),
        ("", "[dungeons]\nkind = \"isaac\"\nlowest_m = 9\nhighest_m = 4\n", "/dungeons/lowest_m"),
    ] {
        if after.starts_with("[dungeons]") && !cfg!(feature = "dungeon") {
            continue;
        }
        let text = format!("{land}{before}{stage}{after}");
        assert_eq!(pointer(Recipe::from_toml(&text, "", "r").unwrap_err()), expected, "{text}");
    }
    let read = |more: &str| Recipe::from_toml(&format!("{land}{stage}{more}"), "", "r").unwrap();
    let near = read(&format!("{things}distance_m = 1\n"));
    let job = Job::new(near).unwrap();
    assert_eq!(pointer(job.admit_things().unwrap_err()), "/scatter/1/distance_m");
    for (more, expected) in [
        ("[[stage]]\nkind = \"droplets\"\nborder = \"torus\"\n", "/stage/1/border"),
        ("[water]\ncarve = true\n", "/water/carve"),
    ] {
        let job = Job::new(read(more)).unwrap();
        let why = thalweg::tiles::Tiles::new(job, 64).map(|_| ()).unwrap_err();
        assert_eq!(pointer(why), expected);
    }
    // A recipe that begins with biomes has a stage that it does not name, which does not count.
    let biomes = "[[stage]]\nkind = \"biomes\"\n[[stage.biome]]\nname = \"fen\"\ncolour = \
        \"#087020\"\n";
    let begun = |more: &str| Recipe::from_toml(&format!("{land}{biomes}{more}"), "", "r");
    let windy = begun("[[stage]]\nkind = \"wind\"\n").unwrap_err();
    assert!(windy.to_string().starts_with("stage 2, wind: "), "{windy}");
    assert_eq!(pointer(windy), "/stage/1");
    let mut recipe = begun("[[stage]]\nkind = \"thermal\"\n").unwrap();
    recipe.set("2.steps=7").unwrap();
    recipe.set("1.stir=0.5").unwrap();
    assert_eq!(recipe.stages[2].settings.integer("steps"), 7);
    assert!(recipe.set("3.steps=7").unwrap_err().to_string().contains("number, 1 to 2"));
    assert_eq!(pointer(recipe.set("2.steps=-1").unwrap_err()), "/stage/1/steps");
    assert!(recipe.set("flat.height_m=7").unwrap_err().to_string().contains("biomes, thermal"));
    // It is not described, and so the recipe that is read again counts as it does.
    assert_eq!(recipe.describe()["stage"][0]["kind"], "biomes");
    recipe.multiply_relief(2.0).unwrap();
    recipe.set("2.steps=9").unwrap();
    assert_eq!(recipe.stages[2].settings.integer("steps"), 9);
    let thermal = "[[stage]]\nkind = \"thermal\"\n";
    assert_eq!(begun(&thermal.repeat(999)).unwrap().stages.len(), 1001);
    let late = "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"height\"\n\
        start = 0\nend = 9\n";
    let behind = begun(&format!("{thermal}{late}{thermal}[levels]\nmax = 2\n")).unwrap_err();
    let behind = behind.to_string();
    assert!(behind.starts_with("stage 4, thermal: ") && behind.contains("stage 3, "), "{behind}");
    let mut recipe = read("[water]\nchannel_area_km2 = 1\n");
    assert_eq!(pointer(recipe.set("water.channel_flow=5").unwrap_err()), "/water/channel_flow");
    #[cfg(feature = "classic")]
    assert_eq!(pointer(thalweg::job::classic::prepare(&mut recipe).unwrap_err()), "/stage");
}

/// Heights that are twice as high: what is known of a land before and after it is eroded, by hand
/// from the meaning of each key.
#[test]
fn another_relief_changes_heights_alone() {
    let text = "schema = 2\nseed = 1\nwidth = 33\nheight = 33\nspacing_m = 10\nlevels = 1\n\
        [[stage]]\nkind = \"noise\"\nbase_m = -40\nrelief_m = 300\n\
        [[stage]]\nkind = \"strokes\"\n[[stage.stroke]]\ntool = \"lake\"\n\
        at_m = [[100, 100], [200, 100], [200, 200]]\nlevel_m = 12\ndepth_m = 3\nshore_m = 60\n\
        [[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"height\"\n\
        start = 100\nend = 200\n\
        [[stage]]\nkind = \"incision\"\nuplift_m = 0.5\n\
        [water]\nsea_level_m = 7\ndepth_m = 0.5\nlake_min_m2 = 500\n\
        [materials]\nsnow = [{ height_m = [250, 300], distance_to_water_m = [5, 10] }]\n\
        [[scatter]]\nname = \"trees\"\ndistance_m = 20\non = { grass = 1 }\n";
    let mut recipe = Recipe::from_toml(text, "", "r").unwrap();
    let before = recipe.describe();
    recipe.multiply_relief(2.0).unwrap();
    let mut changed = vec![];
    differences("", &before, &recipe.describe(), &mut changed);
    let changed: Vec<_> =
        changed.iter().map(|(pointer, value)| (pointer.as_str(), value.clone())).collect();
    let expected = [
        ("/stage/0/relief_m", json!(600.0)),
        ("/stage/0/base_m", json!(-80.0)),
        ("/stage/1/stroke/0/level_m", json!(24.0)),
        ("/stage/1/stroke/0/depth_m", json!(6.0)),
        ("/stage/2/start", json!(200.0)),
        ("/stage/2/end", json!(400.0)),
        ("/stage/2/thickness_m", json!(2.0)),
        ("/stage/3/uplift_m", json!(1.0)),
        ("/stage/3/lake_depth_m", json!(2000.0)),
        ("/water/sea_level_m", json!(14.0)),
        // The usual rules: no forest above 1300 to 1700 m, beaches up to 2.5 m.
        ("/materials/forest/0/height_m/0", json!(3400.0)),
        ("/materials/forest/0/height_m/1", json!(2600.0)),
        ("/materials/sand/0/height_m/0", json!(5.0)),
        ("/materials/sand/0/height_m/1", json!(2.0)),
        ("/materials/sand/1/change_m/0", json!(30.0)),
        ("/materials/sand/1/change_m/1", json!(80.0)),
        ("/materials/snow/0/height_m/0", json!(500.0)),
        ("/materials/snow/0/height_m/1", json!(600.0)),
    ];
    assert_eq!(changed, expected);
    // A key of another table may have the name of one that stays, and a value that of none.
    let text = "schema = 2\nwidth = 65\nheight = 65\nspacing_m = 10\n\
        [[stage]]\nkind = \"voronoi_island\"\ndepth_m = 100\n\
        [water]\nlake_min_m2 = 1000000\nwidth_m = 4\n";
    let island = Recipe::from_toml(text, "", "r").unwrap();
    let at = |recipe: &Recipe, pointer: &str| recipe.describe().pointer(pointer).unwrap().clone();
    let mut higher = island.clone();
    higher.multiply_relief(3.0).unwrap();
    assert_eq!(at(&higher, "/stage/0/depth_m"), json!(300.0));
    let mut larger = island.clone();
    larger.resize_to(1280.0).unwrap();
    assert_eq!(at(&larger, "/stage/0/depth_m"), json!(200.0));
    assert_eq!(at(&larger, "/water/lake_min_m2"), json!(4e6));
    assert_eq!(at(&larger, "/water/width_m"), json!(4.0));
    let wrong = |factor: f64| recipe.clone().multiply_relief(factor).unwrap_err().to_string();
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(wrong(factor).contains("a factor above 0"));
    }
    assert!(wrong(1e9).contains("relief_m"), "{}", wrong(1e9));
}

/// An extent in the place of metres a cell, in all ways in which it can be wrong.
#[test]
fn a_recipe_may_have_an_extent() {
    let text = |keys: &str| {
        format!("schema = 2\n{keys}\n[[stage]]\nkind = \"noise\"\n[output]\nmaps = [\"height\"]\n")
    };
    let read = |keys: &str| Recipe::from_toml(&text(keys), "", "r");
    let recipe = read("width = 33\nheight = 65\nextent_m = 2000").unwrap();
    assert_eq!(recipe.spacing_m, Some(31.25));
    assert_eq!(
        recipe.describe(),
        read("width = 33\nheight = 65\nspacing_m = 31.25").unwrap().describe()
    );
    for (keys, expected) in [
        ("width = 33\nheight = 65\nextent_m = 2000\nspacing_m = 1", "leave out one"),
        ("width = 1\nheight = 1\nextent_m = 2000", "a land of one cell has none"),
        ("width = 33\nheight = 65\nextent_m = 0", "allowed 0.001 to"),
        ("width = 33\nheight = 65\nextent_m = 1e9", "extent_m = 1000000000: cells of 15625000 m"),
        ("width = 33\nheight = 65", "or extent_m"),
    ] {
        let error = read(keys).unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}: {error}");
    }
    // Another size has the same extent, as long as nobody says otherwise.
    let mut recipe = read("width = 33\nheight = 65\nextent_m = 2000").unwrap();
    recipe.resize(129, 129).unwrap();
    assert_eq!(recipe.spacing_m, Some(15.625));
    recipe.set("width=257").unwrap();
    assert_eq!(recipe.spacing_m, Some(7.8125));
    recipe.set("extent_m=256").unwrap();
    assert_eq!(recipe.spacing_m, Some(1.0));
    recipe.set("spacing_m=3").unwrap();
    recipe.resize(65, 65).unwrap();
    assert_eq!(recipe.spacing_m, Some(3.0));
    let other = "schema = 2\ninput = \"a.tif\"\nextent_m = 3\n[[stage]]\nkind = \"droplets\"\n";
    let error = Recipe::from_toml(other, "", "r").unwrap_err().to_string();
    assert!(error.contains("the input's size"), "{error}");
}

/// What another extent scales it knows by the ends of names: each parameter in metres has that end,
/// and no other has it.
#[test]
fn parameters_in_metres_are_named_so() {
    let mut seen = 0;
    for stage in thalweg::STAGES {
        for param in stage.params {
            let ends = param.name.ends_with("_m");
            let metres = param.unit == "m" || param.unit.starts_with("m ");
            assert_eq!(metres, ends, "{}: {} in {}", stage.name, param.name, param.unit);
            seen += u32::from(ends);
        }
    }
    assert!(seen > 10, "{seen}");
}

/// A key at the top that is set has the value that a file with it has.
#[test]
fn keys_at_the_top_are_set() {
    for (key, value, written) in [
        ("name", "west", "\"west\""),
        ("seed", "7", "7"),
        ("width", "65", "65"),
        ("height", "33", "33"),
        ("spacing_m", "2.5", "2.5"),
        ("origin", "[-7, 1000000]", "[-7, 1000000]"),
        ("margin_cells", "4", "4"),
        ("levels", "1", "1"),
        ("levels", "auto", "\"auto\""),
        ("levels", "{ count = 1, fade = 0.5 }", "{ count = 1, fade = 0.5 }"),
    ] {
        let line = |text: &str| text.split(' ').next() != Some(key);
        let lines: Vec<&str> = GOOD.lines().filter(|text| line(text)).collect();
        let edited =
            lines.join("\n").replacen("schema = 2", &format!("schema = 2\n{key} = {written}"), 1);
        let mut set = toml(GOOD).unwrap();
        set.set(&format!("{key}={value}")).unwrap();
        assert_eq!(set.describe(), toml(&edited).unwrap().describe(), "{key} = {value}");
    }
    for (text, why) in [
        ("width=0", "width = 0"),
        ("spacing_m=wide", "spacing_m"),
        ("spacing=5", "spacing_m"),
        ("stage=[]", "only the file"),
        ("input=a.png", "only the file"),
        ("rain=4", "STAGE.KEY=VALUE"),
        ("levels=often", "levels"),
        ("seed", "KEY=VALUE"),
    ] {
        let error = toml(GOOD).unwrap().set(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// The recipe that a manifest has, read again. It has no paths of inputs.
fn reread(recipe: &Recipe, mut described: Value) -> Recipe {
    if let Some(Input::File { path, .. }) = &recipe.input {
        described["input"] = path.to_str().unwrap().into();
    }
    let again = Recipe::from_json(&described.to_string(), "", "again");
    let again = again.unwrap_or_else(|e| panic!("{}: {e}\n{described}", recipe.name));
    Recipe { file: recipe.file.clone(), folder: recipe.folder.clone(), ..again }
}

/// All that decides what a run does, to the last setting.
fn all_of(recipe: &Recipe) -> String {
    // Lists of tables may leave out what is usual, so what they say is compared.
    let lists = |step: &Step| match step.stage.name {
        "strokes" => format!("{:?}", strokes::strokes(&step.settings).unwrap()),
        "biomes" => format!("{:?}", biomes::biomes(&step.settings).unwrap()),
        _ => String::new(),
    };
    let mut rest = recipe.clone();
    let lists: Vec<String> = rest.stages.iter().map(lists).collect();
    let usual = |step: &mut Step| {
        let keys: Vec<String> = step.by_level.iter().map(|(key, _)| key.clone()).collect();
        let params =
            step.stage.params.iter().filter(|param| keys.iter().any(|key| key == param.name));
        params.for_each(|param| {
            step.settings.set(step.stage.params, param.name, &param.default()).unwrap()
        });
    };
    for step in &mut rest.stages {
        // The order of keys says nothing.
        step.by_level.sort_by(|a, b| a.0.cmp(&b.0));
        // What differs by level has no other value.
        usual(step);
        step.with.iter_mut().for_each(|nested| usual(&mut nested.step));
        let tables = step
            .stage
            .params
            .iter()
            .filter(|p| matches!(p.kind, ParamKind::List(_)) && p.name != "table");
        tables.for_each(|p| {
            step.settings.set(step.stage.params, p.name, &params::Value::List(vec![])).unwrap()
        });
    }
    format!("{rest:#?}{lists:#?}")
}

/// A value whose whole numbers are written as floats, as far as these hold them.
fn floats(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(floats).collect(),
        Value::Object(table) => {
            table.iter().map(|(key, value)| (key.clone(), floats(value))).collect()
        }
        Value::Number(n) if n.as_i64().is_some_and(|n| n.unsigned_abs() < 1 << 53) => {
            n.as_f64().into()
        }
        other => other.clone(),
    }
}

/// The `recipe` of a manifest is a recipe, to the last setting the same, for all examples and all
/// presets. P5
#[test]
fn a_described_recipe_is_the_recipe() {
    let mut recipes = examples();
    assert!(recipes.len() > 15);
    for preset in PRESETS {
        let levels = Some(thalweg::recipe::Levels::default());
        recipes
            .push(Recipe::on_heights_by_level(vec![preset.step(true).unwrap()], levels).unwrap());
        recipes.push(Recipe::on_heights(vec![preset.step(false).unwrap()]).unwrap());
    }
    for recipe in &recipes {
        let described = recipe.describe();
        let again = reread(recipe, described.clone());
        assert_eq!(all_of(&again), all_of(recipe), "{}", recipe.name);
        assert_eq!(again.describe(), described, "{}", recipe.name);
        // Numbers that are whole are the same with a point: P5
        assert_eq!(all_of(&reread(recipe, floats(&described))), all_of(recipe), "{}", recipe.name);
    }
    // A ramp of whole numbers is written in whole numbers.
    let step = Preset::find("fans").unwrap().step(true).unwrap();
    let fans = Recipe::on_heights_by_level(vec![step], Some(thalweg::recipe::Levels::default()))
        .unwrap()
        .describe();
    assert_eq!(fans["stage"][0]["lifetime"].to_string(), "{\"from\":192,\"to\":80}");
    let step = Step::new("droplets", &[("lifetime", params::Value::Number(60.0))]).unwrap();
    assert_eq!(step.settings.get("lifetime"), Some(&params::Value::Integer(60)));
    let half = Step::new("droplets", &[("lifetime", params::Value::Number(60.5))])
        .unwrap_err()
        .to_string();
    assert!(half.contains("lifetime = 60.5: allowed a whole number"), "{half}");
}

/// An error names the setting, its place and the allowed values.
#[test]
fn errors_say_what_where_and_what_is_allowed() {
    let change = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        toml(&GOOD.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to} is accepted"))
    };
    for (from, to, words) in [
        ("schema = 2", "", vec!["schema is missing"]),
        ("schema = 2", "schema = 3", vec!["schema = 3", "allowed 2"]),
        ("seed = 9", "sead = 9", vec!["\"sead\"", "did you mean \"seed\""]),
        ("seed = 9", "seed = -1", vec!["seed = -1", "18446744073709551615"]),
        ("width = 40", "width = 0", vec!["width = 0", "1 to 16777216"]),
        ("width = 40", "width = 16777217", vec!["width = 16777217", "16777216"]),
        ("width = 40", "", vec!["width and height are missing"]),
        ("spacing_m = 25.0", "spacing_m = nan", vec!["spacing_m = NaN: allowed"]),
        ("spacing_m = 25.0", "spacing_m = -inf", vec!["spacing_m = -inf: allowed 0.001"]),
        ("rain = 1", "rain = inf", vec!["stage 2, droplets: rain = inf: allowed 0 to 511"]),
        ("rain = 1", "border = inf", vec!["border = inf: allowed open"]),
        ("seed = 9", "name = inf", vec!["name = inf: allowed text"]),
        ("seed = 9", "origin = [inf, 0]", vec!["origin = [inf,0]: expected"]),
        (
            "rain = 1",
            "rain = 0\n[[stage.interleave]]\nkind = \"thermal\"\nevery = 1",
            vec!["stage 2, interleave 1, thermal", "rain = 0"],
        ),
        (
            "rain = 1",
            "[[stage.interleave]]\nkind = \"thermal\"\nevery = 1\ncliff_deg = 20",
            vec!["interleave 1, thermal: cliff_deg = 20"],
        ),
        (
            "world_cells = 64",
            "relief_m = 1e6",
            vec!["1000000 m at spacing_m = 25: allowed up to 8000 cells, 200000 m"],
        ),
        ("spacing_m = 25.0", "spacing_m = 0", vec!["spacing_m = 0", "0.001 to 1000000"]),
        ("spacing_m = 25.0", "spacing_m = 1e999", vec!["spacing_m"]),
        (
            "rain = 1",
            "rain = 1000",
            vec!["stage 2, droplets", "rain = 1000", "0 to 511", "particles a cell"],
        ),
        ("rain = 1", "rain = nan", vec!["rain", "0 to 511"]),
        ("rain = 1", "rain = \"much\"", vec!["rain = \"much\"", "0 to 511"]),
        ("rain = 1", "rian = 1", vec!["\"rian\"", "did you mean \"rain\""]),
        ("rain = 1", "rain = 500\ndensity = 0.004", vec!["lives of each particle", "0 to 511"]),
        (
            "rain = 1",
            "rain = 511\ndensity = 1\nlifetime = 4096",
            vec!["511 · 4096 steps", "262144"],
        ),
        ("rain = 1", "lifetime = 2.5", vec!["lifetime = 2.5", "whole number", "steps"]),
        ("rain = 1", "border = \"opne\"", vec!["border = \"opne\"", "open, torus, wall"]),
        ("world_cells = 64", "world_cells = 65", vec!["world_cells = 65", "powers of two", "128"]),
        (
            "world_cells = 64",
            "world_cells = 64\nfeature_cells = 128",
            vec!["feature_cells = 128", "64"],
        ),
        ("world_cells = 64", "relief_m = 500000", vec!["relief_m", "8000 cells"]),
        ("kind = \"droplets\"", "kind = \"droplet\"", vec!["did you mean \"droplets\""]),
        (
            "rain = 1",
            "[[stage]]\nkind = \"diamond_square\"",
            vec!["stage 3", "diamond_square", "must be the first"],
        ),
        ("seed = 9", "[output]\nmaps = [\"flwo\"]", vec!["did you mean \"flow\""]),
        ("seed = 9", "seed = 9\nseed = 10", vec!["seed"]),
        ("[[stage]]\nkind = \"diamond_square\"\nworld_cells = 64", "", vec!["droplets", "no"]),
    ] {
        let text = if to.starts_with("[output]") {
            toml(&format!("{GOOD}\n{to}")).expect_err("an error")
        } else {
            change(from, to)
        };
        for word in words {
            assert!(text.contains(word), "{to:?} says {text:?}, not {word:?}");
        }
    }
    assert!(toml("").is_err() && toml("schema = 2").is_err() && toml("][").is_err());
}

#[test]
fn assignments_have_types() {
    assert!(assignment("rain").unwrap_err().to_string().contains("KEY=VALUE"));
    for (text, shown) in [
        ("rain=4", "4"),
        ("rain = 0.5", "0.5"),
        ("border=wall", "\"wall\""),
        ("normalise=true", "true"),
    ] {
        assert_eq!(assignment(text).unwrap().1.to_string(), shown);
    }
}

#[test]
fn numbers_for_people_are_short() {
    use thalweg::params::rounded;
    let spacing_m = 25.400000000000002;
    for (v, text) in [
        (spacing_m, "25.4"),
        (0.1f32 as f64, "0.1"),
        (8000.0 * spacing_m, "203200"),
        (1e-9, "0.000000001"),
    ] {
        assert_eq!(rounded(v).to_string(), text);
    }
    let said = Scale::fitting(spacing_m, 0.0, 0.1f32 as f64 + 1e6).unwrap_err().to_string();
    assert!(said.contains("0 to 1000000 m at 25.4 m") && said.contains("406400 m"), "{said}");
}

#[test]
fn metres_and_units_are_exact_to_half_a_unit() {
    let scale = Scale::fitting(30.0, -400.0, 8848.0).unwrap();
    assert_eq!(scale.datum_m, 0.0);
    let metres = [0.0f32, 30.0, -400.0, 8848.0, 1234.567];
    assert_eq!(scale.to_words(&metres)[..2], [0, 1 << 18]);
    for (m, back) in metres.iter().zip(scale.to_metres(&scale.to_words(&metres))) {
        assert!((*m as f64 - back as f64).abs() <= 30.0 / 524288.0 + *m as f64 * 6e-8);
    }
    // Half-metre cells in high mountains: the datum moves.
    let high = Scale::fitting(0.5, 3000.0, 8848.0).unwrap();
    assert_eq!(high.datum_m, 5924.0);
    assert!(Scale::fitting(0.5, 0.0, 8848.0).unwrap_err().to_string().contains("16000 cells"));
}

/// A recipe of schema 1 is rewritten in the names of schema 2: keys, words and maps, on every level
/// of tables and in both formats, with comments and order. What it then says is what it said, and
/// what was never a name stays as it was.
#[test]
#[cfg(feature = "cli")]
fn recipes_of_schema_1_are_rewritten() {
    let old = "# A land.\nschema = 1 # the old one\nwidth = 64\nheight = 64\nspacing_m = 20\n\
               margin = 4 # cells\nlevels = { most = 2 }\n\n[[stage]]\nkind = \"noise\"\n\
               feature = 32 # wide\nwarp = 2\noctaves = 3\n\n[[stage]]\nkind = \"hills\"\n\
               spacing = 20\nmerge = \"most\"\ncombine = \"least\"\nshare = 0.5\none_m = 90\n\n\
               [[stage]]\nkind = \"droplets\"\nlimit = 0.2\nradius = 2\ndischarge = 3\n\n\
               # Slides.\n[[stage.with]]\nkind = \"thermal\"\nevery = 4\n\n[[stage]]\n\
               kind = \"thermal\"\nlevels = false # as it is\n\n[water]\nhollows = \"breach\"\n\
               descent = \"lowest\"\ndrainage = \"multiple\"\nriver_km2 = 0.1 # small\n\n[output]\n\
               maps = [\"height\", \"wear\", \"deposit\", \"sky\", \"water\", \"water_level\"]\n\n\
               [output.formats]\nwear = \"png\"\n";
    let new = "# A land.\nschema = 2 # the old one\nwidth = 64\nheight = 64\nspacing_m = 20\n\
               margin_cells = 4 # cells\nlevels = { max = 2 }\n\n[[stage]]\nkind = \"noise\"\n\
               feature_cells = 32 # wide\nwarp_cells = 2\noctaves = 3\n\n[[stage]]\n\
               kind = \"hills\"\nspacing_cells = 20\nmerge = \"max\"\ncombine = \"min\"\n\
               opacity = 0.5\nunit_m = 90\n\n[[stage]]\nkind = \"droplets\"\n\
               max_step_fraction = 0.2\nradius_cells = 2\nriver_threshold = 3\n\n\
               # Slides.\n[[stage.interleave]]\nkind = \"thermal\"\nevery = 4\n\n[[stage]]\n\
               kind = \"thermal\"\nfinest_only = true # as it is\n\n[water]\n\
               depressions = \"breach\"\nrouting = \"lowest\"\narea_routing = \"mfd\"\n\
               channel_area_km2 = 0.1 # small\n\n[output]\nmaps = [\"height\", \"erosion\", \
               \"deposition\", \"sky_view\", \"water_depth\", \"water_level\"]\n\n\
               [output.formats]\nerosion = \"png\"\n";
    let (text, changes) = thalweg::recipe::upgrade(old).unwrap();
    assert_eq!(text, new);
    assert_eq!(changes.len(), 25, "{changes:?}");
    for change in ["stage 3 with is interleave", "stage 4 levels is finest_only = true"] {
        assert!(changes.contains(&change.into()), "{changes:?}");
    }
    let upgraded = toml(new).unwrap();

    let inline = "schema = 1\nwidth = 64\nheight = 64\nspacing_m = 20\nstage = [{ kind = \
                  \"noise\", feature = 32 }, { kind = \"thermal\" }]\n";
    let (text, _) = thalweg::recipe::upgrade(inline).unwrap();
    assert_eq!(
        text,
        inline.replace("schema = 1", "schema = 2").replace("feature", "feature_cells")
    );

    // The same recipe as JSON becomes the same recipe.
    let mut json: serde_json::Value = upgraded.describe();
    json["schema"] = 1.into();
    let old_json = json
        .to_string()
        .replace("\"margin_cells\"", "\"margin\"")
        .replace("\"erosion\",\"deposition\"", "\"wear\",\"deposit\"")
        .replace("\"routing\"", "\"descent\"")
        .replace("\"interleave\"", "\"with\"");
    let (text, _) = thalweg::recipe::upgrade(&old_json).unwrap();
    assert_eq!(Recipe::from_json(&text, "", "x").unwrap().describe(), upgraded.describe());

    // What has the names already stays; line ends, marks, dotted keys and inline tables do, too.
    assert_eq!(thalweg::recipe::upgrade(new).unwrap(), (new.into(), vec![]));
    let windows = "\u{feff}schema = 1.0\r\nwidth = 9\r\nwater.hollows = 'fill' # full\r\n\
                   stage = [\r\n  # the land\r\n  { kind = \"noise\", # first\r\n    feature = 5 \
                       },\r\n]\r\n";
    let (text, _) = thalweg::recipe::upgrade(windows).unwrap();
    let expected = windows
        .replace("1.0", "2")
        .replace("hollows", "depressions")
        .replace("feature", "feature_cells");
    assert_eq!(text, expected);

    let both = old.replace("margin = 4", "margin_cells = 3\nmargin = 4");
    let ran = old.replace("levels = false", "levels = true");
    assert!(thalweg::recipe::upgrade(&ran).unwrap().0.contains("finest_only = false"));
    let wrong = [
        ("schema = 3\n", "schema = 3"),
        ("width = 3\n", "missing"),
        ("][", "TOML"),
        (&*both, "margin and margin_cells are both given"),
    ];
    for (text, word) in wrong {
        let error = thalweg::recipe::upgrade(text).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    // Names of old are refused by their new ones.
    let error = toml(&old.replace("schema = 1", "schema = 2")).unwrap_err().to_string();
    assert!(error.contains("\"margin\" is called \"margin_cells\" since schema 2"), "{error}");
}
