//! `thalweg run`: what it writes, and that threads and order do not change a byte.

use super::{Folder, RECIPE, hash, hills, npy, ran};
use serde_json::Value;
use std::path::Path;
use thalweg::io;

#[test]
fn run_writes_maps_picture_and_a_manifest_that_matches() {
    let folder = Folder::new("run");
    let ran = folder.file("r.toml", RECIPE).thalweg("run r.toml -o a/b --device cpu").ok();
    assert!(
        ran.stdout.contains("64 x 48") && ran.stdout.contains("droplet-steps/s"),
        "{}",
        ran.stdout
    );
    assert_eq!(folder.list("a/b"), ["flow.png", "height.png", "manifest.json", "preview.png"]);
    let manifest = folder.json("a/b/manifest.json");
    assert_eq!(
        (&manifest["schema"], &manifest["seed"], &manifest["width"], &manifest["height"]),
        (&2.into(), &5.into(), &64.into(), &48.into())
    );
    assert_eq!(manifest["origin"], serde_json::json!([100, 200]));
    assert_eq!(manifest["sea_level_m"], 60.0);
    assert_eq!(manifest["maps"].as_array().unwrap().len(), 2);
    for entry in manifest["maps"].as_array().unwrap() {
        let bytes = folder.read(&format!("a/b/{}", entry["file"].as_str().unwrap()));
        assert_eq!(entry["blake3"], hash(&bytes));
        assert_eq!(entry["bytes"], bytes.len());
        let (low, high) = (entry["min"].as_f64().unwrap(), entry["max"].as_f64().unwrap());
        assert!(low < high);
        // A picture has no metres; the manifest has.
        assert_eq!(entry["quantised"], serde_json::json!([low, high]));
        assert_eq!(entry["words_blake3"].as_str().unwrap().len(), 64);
    }
    assert_eq!(manifest["stages"][1]["derived"]["steps"], 8 * 16);
}

#[test]
fn a_manifests_recipe_makes_the_same_maps() {
    let folder = Folder::new("describe");
    folder
        .file("r.toml", RECIPE)
        .thalweg("run r.toml -o a --device cpu --seed 18446744073709551615")
        .ok();
    folder.file("r.json", folder.json("a/manifest.json")["recipe"].to_string());
    folder.thalweg("run r.json -o b --device cpu").ok();
    for name in folder.list("a") {
        assert_eq!(folder.read(&format!("a/{name}")), folder.read(&format!("b/{name}")), "{name}");
    }
    // P5: with ramps of whole numbers, strokes and biomes, too.
    for example in ["mountains", "block-out", "plateaus"] {
        folder.thalweg(&format!("run {example} -o {example} --device cpu --size 80")).ok();
        let manifest = folder.json(&format!("{example}/manifest.json"));
        folder.file("again.json", manifest["recipe"].to_string());
        folder.thalweg("run again.json -o again --device cpu --force").ok();
        assert_eq!(folder.json("again/manifest.json")["maps"], manifest["maps"], "{example}");
        assert_eq!(folder.json("again/manifest.json")["recipe"], manifest["recipe"], "{example}");
    }
}

/// The number of threads and the order of work do not change a byte of any file, and another seed
/// changes every file.
/// Holds C25.
/// Holds A17 in part.
#[test]
fn threads_and_order_change_no_byte_and_the_seed_does() {
    let folder = Folder::new("threads");
    folder.file("r.toml", RECIPE).thalweg("run r.toml -o a --device cpu --threads 1").ok();
    folder.thalweg("run r.toml -o b --device cpu --threads 2").ok();
    folder.thalweg("run r.toml -o c --device cpu --threads 2 --shuffle 9").ok();
    folder.thalweg("run r.toml -o d --device cpu --seed 6").ok();
    for name in folder.list("a") {
        let a = folder.read(&format!("a/{name}"));
        assert_eq!(a, folder.read(&format!("b/{name}")), "{name}");
        assert_eq!(a, folder.read(&format!("c/{name}")), "{name}");
        assert_ne!(a, folder.read(&format!("d/{name}")), "{name}");
    }
}

#[test]
fn settings_and_size_can_be_overridden() {
    let folder = Folder::new("set");
    let line = "run r.toml -o a --device cpu --json --size 33x17 --set droplets.rain=4 --set \
                1.relief_m=150.5";
    let ran = folder.file("r.toml", RECIPE).thalweg(line).ok();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["width"], &report["height"]), (&33.into(), &17.into()));
    assert!(report["stages"][1]["seconds"].as_f64().unwrap() > 0.0);
    assert!(
        report["seconds"]["encoding"].as_f64().unwrap()
            <= report["seconds"]["output"].as_f64().unwrap()
    );
    let manifest = folder.json("a/manifest.json");
    assert_eq!(manifest["recipe"]["stage"][1]["rain"], 4.0);
    assert_eq!(manifest["recipe"]["stage"][0]["relief_m"], 150.5);
    let refused = |line: &str, words: &[&str]| {
        drop(folder.thalweg(&format!("run r.toml -o b {line}")).refused(1, words))
    };
    refused("--set droplets.rian=4", &["droplets.rian=4", "rain"]);
    refused("--set dropletts.rain=4", &["dropletts", "droplets"]);
    refused("--set rain=4", &["STAGE.KEY=VALUE"]);
    refused("--set droplets.rain=900", &["rain = 900", "0 to 511"]);
    refused("--set droplets.rain=nan", &["rain = NaN", "0 to 511"]);
    refused("--size 0", &["0x0", "1 to 16777216"]);
    refused("--spacing 0", &["--spacing 0", "spacing_m = 0"]);
    let bad = |line: &str, words: &[&str]| {
        drop(folder.thalweg(&format!("run r.toml -o b {line}")).refused(2, words))
    };
    bad("--extent 0", &["--extent", "2km"]);
    bad("--extent wide", &["wide", "2km"]);
    bad("--extent 2km --spacing 5", &["--extent", "--spacing"]);
    refused("--extent 1e9km", &["--extent", "spacing_m"]);
    assert_eq!(folder.list(""), ["a", "r.toml"]);
}

#[test]
fn settings_of_nested_stages_are_set_and_wrong_ones_refused() {
    let folder = Folder::new("set-nested");
    let nested = "rain = 2\n[[stage.interleave]]\nkind = \"coastal\"\nevery = 32\n[[stage]]\nkind \
                  = \"blur\"";
    folder.file("r.toml", RECIPE.replace("rain = 2", nested));
    folder
        .thalweg("run r.toml -o a --device cpu --set coastal.every=16 --set coastal.power=2")
        .ok();
    let with = &folder.json("a/manifest.json")["recipe"]["stage"][1]["interleave"][0];
    assert_eq!((&with["every"], &with["power"]), (&16.into(), &2.into()));
    let refused = |set: &str, words: &[&str]| {
        let ran = folder.thalweg(&format!("run r.toml --dry-run --device cpu --set {set}"));
        ran.refused(1, &[&[set.split('=').next_back().unwrap()], words].concat());
    };
    refused(
        "coastal.every=129",
        &["stage 2, interleave 1, coastal: every = 129: allowed 1 to 128, the steps of droplets"],
    );
    refused(
        "coastal.every=0.5",
        &["--set coastal.every=0.5: every = 0.5: allowed a whole number, 1 to 262144"],
    );
    refused(
        "blur.every=2",
        &["\"every\"", "[[stage.interleave]]", "no blur runs between the steps of another"],
    );
    refused("coastal.evry=2", &["\"evry\": no such parameter of coastal", "wave_height_max_m"]);
    refused("droplets.seed=2", &["\"seed\" can be set in a recipe's file only"]);
    refused(
        "9.rain=2",
        &[
            "\"9\": no such stage",
            "diamond_square, droplets, coastal, blur; or a stage's number, 1 to 3, water, or \
             output",
        ],
    );
    refused("droplets.rain=inf", &["rain = inf: allowed 0 to 511"]);
    refused(
        "droplets.rain=0",
        &["stage 2, interleave 1, coastal: droplets takes no step here (rain = 0)"],
    );
}

/// The table of water is set as stages are, and a recipe without one gets it.
#[test]
fn settings_of_water_are_set() {
    let folder = Folder::new("set-water");
    folder.file("r.toml", RECIPE.replace("\"png\"", "\"tif\""));
    let sets = "--set water.channel_area_km2=0.01 --set water.vectors=geojson,gpkg --set \
                water.simplify_m=15 --set water.law=moody-troutman --set \
                output.maps=height,stream_order";
    folder.thalweg(&format!("run r.toml -o a --device cpu {sets}")).ok();
    let water = &folder.json("a/manifest.json")["recipe"]["water"];
    assert_eq!(
        (&water["channel_area_km2"], &water["simplify_m"], &water["width_m"]),
        (&0.01.into(), &15.0.into(), &7.2.into())
    );
    let files = folder.list("a");
    assert!(
        ["rivers.geojson", "water.gpkg", "stream_order.tif"]
            .iter()
            .all(|file| files.iter().any(|name| name == file)),
        "{files:?}"
    );
    // In any order, also what says something only later.
    let turned = sets.split(" --").collect::<Vec<_>>();
    let turned: String =
        turned.iter().rev().map(|set| format!(" --{}", set.trim_start_matches("--"))).collect();
    folder.thalweg(&format!("run r.toml -o b --device cpu{turned}")).ok();
    assert_eq!(&folder.json("b/manifest.json")["recipe"]["water"], water);
    // A cell of 10 m has 0.0001 km².
    let tiny = folder
        .thalweg(
            "run r.toml -o d --device cpu --set water.channel_area_km2=0.00009 --set \
             output.maps=height",
        )
        .ok();
    assert!(
        tiny.stderr
            .contains("water.channel_area_km2 = 0.00009 is less than a cell, which has 0.0001 km²"),
        "{}",
        tiny.stderr
    );
    assert!(
        !folder
            .thalweg("run r.toml -o e --device cpu --set water.channel_area_km2=0.0001")
            .ok()
            .stderr
            .contains("less than a cell")
    );
    // What is there stays.
    folder.file("w.toml", format!("{RECIPE}[water]\nwidth_m = 9\ndepressions = \"breach\"\n"));
    folder
        .thalweg(
            "run w.toml -o c --device cpu --set water.law=moody-troutman --set water.carve=true",
        )
        .ok();
    let water = &folder.json("c/manifest.json")["recipe"]["water"];
    assert_eq!(
        (&water["width_m"], &water["depth_m"], &water["depressions"]),
        (&9.0.into(), &0.3.into(), &"breach".into())
    );
    assert_eq!(water["carve"], true);
    let refused = |set: &str, words: &[&str]| {
        folder
            .thalweg(&format!("run r.toml --dry-run --device cpu --set {set}"))
            .refused(1, &[&[set], words].concat());
    };
    refused("water.rivr_km2=1", &["channel_area_km2"]);
    refused("water.channel_area_km2=0", &["channel_area_km2 = 0", "above 0"]);
    refused("water.channel_area_km2=far", &["channel_area_km2", "far"]);
    refused("water.depressions=dig", &["dig", "breach"]);
    refused("water.vectors=shp", &["shp", "geojson"]);
    refused("water.carve", &["KEY=VALUE", "channel_area_km2=1"]);
}

/// A recipe with an input and a table of water needs no stage: the water of a map as it is, whose
/// heights stay to the bit.
#[test]
fn the_rivers_of_a_map_need_no_stage() {
    let folder = Folder::new("no-stage");
    folder
        .file("r.toml", RECIPE.replace("\"png\"", "\"tif\""))
        .thalweg("run r.toml -o land --device cpu")
        .ok();
    let head = "schema = 2\ninput = \"land/height.tif\"\n";
    let water = "[water]\nchannel_area_km2 = 0.01\nvectors = [\"geojson\"]\n[output]\n\
                 maps = [\"height\", \"stream_order\"]\nformat = \"tif\"\n";
    folder.file("rivers.toml", format!("{head}{water}"));
    // The stage that changes nothing.
    folder.file("strokes.toml", format!("{head}[[stage]]\nkind = \"strokes\"\n{water}"));
    folder.thalweg("run rivers.toml -o a --device cpu").ok();
    folder.thalweg("run strokes.toml -o b --device cpu").ok();
    for name in folder.list("a").into_iter().filter(|name| name != "manifest.json") {
        assert_eq!(folder.read(&format!("a/{name}")), folder.read(&format!("b/{name}")), "{name}");
    }
    let height =
        |file: &str| io::read(folder.0.join(file), &io::ReadOptions::default()).unwrap().map.data;
    assert_eq!(height("a/height.tif"), height("land/height.tif"));
    assert!(folder.json("a/rivers.geojson")["features"].as_array().unwrap().len() > 1);
    let plan = folder.thalweg("run rivers.toml --dry-run --json --device cpu").ok();
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert_eq!(plan["bytes"], plan["water_bytes"]);
    folder
        .file("dry.toml", head)
        .thalweg("run dry.toml -o c --device cpu")
        .refused(1, &["no stages", "[water]"]);
}

#[test]
fn no_rain_leaves_the_land_alone() {
    let folder = Folder::new("norain");
    folder.file(
        "r.toml",
        RECIPE
            .replace("format = \"png\"", "format = \"npy\"")
            .replace("\"flow\"", "\"flow\", \"erosion\""),
    );
    let dry = folder.thalweg("run r.toml -o dry --device cpu --set droplets.rain=0").ok();
    assert!(
        dry.stdout.contains("0.0 M droplet-steps/s") && !dry.stdout.contains("NaN"),
        "{}",
        dry.stdout
    );
    let derived = &folder.json("dry/manifest.json")["stages"][1]["derived"];
    assert_eq!(
        (&derived["steps"], &derived["lives"], &derived["rain"]),
        (&0.into(), &0.into(), &0.0.into())
    );
    let alone = RECIPE.split("[[stage]]\nkind = \"droplets\"").next().unwrap();
    folder
        .file("land.toml", format!("{alone}[output]\nformat = \"npy\"\n"))
        .thalweg("run land.toml -o land --device cpu")
        .ok();
    assert_eq!(folder.read("dry/height.npy"), folder.read("land/height.npy"));
    for name in ["flow", "erosion"] {
        let map = io::read(folder.0.join(format!("dry/{name}.npy")), &io::ReadOptions::default())
            .unwrap()
            .map;
        assert!(map.data.iter().all(|v| *v == 0.0), "{name}");
    }
}

#[test]
fn dry_run_prints_memory_and_writes_nothing() {
    let folder = Folder::new("dry");
    let ran = folder.file("r.toml", RECIPE).thalweg("run r.toml -o a --dry-run --json").ok();
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
    let bytes = plan["bytes"].as_f64().unwrap();
    assert_eq!(plan["bytes_per_cell"].as_f64().unwrap(), bytes / (64.0 * 48.0));
    // Three passes a step, of which the first step lacks one and 32 follow the rain, and one for
    // the flow.
    assert_eq!(plan["stages"][1]["passes"], 3 * (8 * 16 + 32) - 1 + 1);
    assert_eq!(plan["files"].as_array().unwrap().len(), 4);
    assert_eq!(folder.list(""), ["r.toml"]);
    assert!(plan["water_bytes"].is_null());
    // Water is found when the stages are done: it takes most where little is left to do.
    let level = "schema = 2\nwidth = 64\nheight = 48\nspacing_m = 10\n[[stage]]\n\
                 kind = \"diamond_square\"\n[water]\n";
    for (more, a_cell) in
        [("", 4 + 28), ("evaporation_mm = 100\n", 4 + 44), ("area_routing = \"mfd\"\n", 4 + 44)]
    {
        let ran = folder
            .file("w.toml", format!("{level}{more}"))
            .thalweg("run w.toml -o a --dry-run --json")
            .ok();
        let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            (&plan["water_bytes"], &plan["bytes"]),
            (&(a_cell * 64 * 48).into(), &(a_cell * 64 * 48).into()),
            "{more}"
        );
    }
}

#[test]
fn outputs_are_replaced_only_when_forced() {
    let folder = Folder::new("force");
    folder.file("r.toml", RECIPE).thalweg("run r.toml -o a --device cpu").ok();
    std::fs::remove_file(folder.0.join("a/manifest.json")).unwrap();
    let before = folder.read("a/height.png");
    folder
        .thalweg("run r.toml -o a --device cpu --seed 6")
        .refused(1, &["height.png", "exists", "--force"]);
    assert_eq!(folder.read("a/height.png"), before);
    folder.thalweg("run r.toml -o a --device cpu --seed 6 --force").ok();
    assert_ne!(folder.read("a/height.png"), before);
    assert_eq!(folder.json("a/manifest.json")["seed"], 6);
}

/// A forced run removes the files of an earlier run that it does not write itself, and touches
/// nothing else.
#[test]
fn a_forced_run_replaces_an_earlier_one() {
    let folder = Folder::new("replaced");
    let splat = "[[stage]]\nkind = \"biomes\"\nsplat = true\n[output]";
    folder.file("r.toml", RECIPE).file("splat.toml", RECIPE.replace("[output]", splat));
    folder.thalweg("run splat.toml -o a --device cpu --frames 6").ok();
    folder
        .file("a/splat_2.png", "mine")
        .file("a/frames/mine.png", "mine")
        .file("a/notes.txt", "mine");
    let report: Value = serde_json::from_str(
        &folder.thalweg("run r.toml -o a --device cpu --force --json").ok().stdout,
    )
    .unwrap();
    assert_eq!(report["removed"].as_array().unwrap().len(), 1 + 1 + 6);
    let left = [
        "flow.png",
        "frames",
        "height.png",
        "manifest.json",
        "notes.txt",
        "preview.png",
        "splat_2.png",
    ];
    assert_eq!(folder.list("a"), left);
    assert_eq!(folder.list("a/frames"), ["mine.png"]);
    // Files that it reads stay, whichever run wrote them. So do files outside the folder that a
    // manifest lists.
    folder.file(
        "in.toml",
        "schema = 2\ninput = \"b/height.tif\"\n[[stage]]\nkind = \"blur\"\n\
         [output]\nformat = \"png\"\n",
    );
    folder
        .file("t.toml", RECIPE.replace("\"png\"", "\"tif\""))
        .thalweg("run t.toml -o b --device cpu")
        .ok();
    let mut manifest = folder.json("b/manifest.json");
    for file in ["../r.toml", "..", ".", "", "frames/../../r.toml", "/r.toml"] {
        manifest["maps"].as_array_mut().unwrap().push(serde_json::json!({ "file": file }));
    }
    folder.file("b/manifest.json", manifest.to_string());
    folder.thalweg("run in.toml -o b --device cpu --force").ok();
    assert_eq!(folder.list("b"), ["height.png", "height.tif", "manifest.json", "preview.png"]);
    assert_eq!(folder.read("r.toml"), RECIPE.as_bytes());
    // A folder behind a symbolic link is outside, too.
    #[cfg(unix)]
    {
        folder.thalweg("run r.toml -o c --device cpu --frames 4").ok();
        std::fs::rename(folder.0.join("c/frames"), folder.0.join("film")).unwrap();
        std::os::unix::fs::symlink("../film", folder.0.join("c/frames")).unwrap();
        folder.thalweg("run r.toml -o c --device cpu --force").ok();
        assert_eq!(folder.list("film").len(), 4);
    }
}

#[test]
fn the_examples_are_good_recipes() {
    let folder = Folder::new("examples");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut count = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            count += 1;
            ran(folder.command("run --dry-run").arg(&path).output().unwrap()).ok();
        }
    }
    assert!(count >= 4);
}

/// The published algorithms leave the same files, and the manifest says whose they are; what they
/// lack is said.
#[test]
fn published_algorithms_leave_the_same_files() {
    let folder = Folder::new("classic");
    let recipe = RECIPE;
    folder.file("r.toml", recipe).thalweg("run r.toml -o exact --device cpu").ok();
    let ran = folder.thalweg("run r.toml -o classic --reference --set droplets.border=open").ok();
    assert!(
        ran.stdout.contains("classic: the published") && ran.stderr.contains("other machines"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert_eq!(folder.list("classic"), folder.list("exact"));
    let [exact, classic] =
        ["exact", "classic"].map(|name| folder.json(&format!("{name}/manifest.json")));
    assert!(exact["classic"].is_null() && classic["classic"].as_str().unwrap().contains("floats"));
    assert_ne!(exact["maps"][0]["words_blake3"], classic["maps"][0]["words_blake3"]);
    assert!(classic["stages"][1]["derived"]["drops"].as_u64().unwrap() > 0);
    folder.file(
        "t.toml",
        recipe.replace(
            "[[stage]]\nkind = \"droplets\"",
            "[[stage]]\nkind = \"layer\"\n[[stage]]\nkind = \"droplets\"",
        ),
    );
    let ran = folder.thalweg("run t.toml -o t --reference").ok();
    assert!(
        ran.stderr.contains("stage 3, droplets: layers of earlier stages are left out (hardness)"),
        "{}",
        ran.stderr
    );
    folder.file("d.toml", &recipe[..recipe.rfind("[[stage]]").unwrap()]);
    folder
        .thalweg("run d.toml -o d --reference")
        .refused(1, &["no stage of this recipe", "diamond_square, droplets, snowballs, blur"]);
    folder.file("h.npy", npy(&hills(48, 40)));
    folder.thalweg("erode h.npy -o e.npy --spacing 10 --reference --set rain=0.25").ok();
    folder
        .thalweg(
            "erode h.npy -o f.npy --spacing 10 --device cpu --levels 1 --preset article \
             --set rain=0.25",
        )
        .ok();
    assert_ne!(folder.read("e.npy"), folder.read("f.npy"));
    assert_ne!(folder.read("e.npy"), folder.read("h.npy"));
}

/// U12: settings are typed as recipes have them, in TOML or JSON.
#[test]
fn typed_settings_may_be_lists_and_tables() {
    let folder = Folder::new("typed");
    folder.file("r.toml", RECIPE.replace("spacing_m = 10", "spacing_m = 10\nlevels = 2"));
    let set = |sets: &[&str]| {
        let mut command = folder.command("run r.toml -o a --force --device cpu");
        ran(command.args(sets.iter().flat_map(|set| ["--set", *set])).output().unwrap())
    };
    for rain in ["droplets.rain={from=2,to=1}", "droplets.rain={ \"from\": 2, \"to\": 1.0 }"] {
        set(&[
            "output.maps=[\"height\",\"slope\"]",
            rain,
            "droplets.lifetime=[32, 16]",
            "water.vectors=[\"geojson\"]",
        ])
        .ok();
        let recipe = &folder.json("a/manifest.json")["recipe"];
        assert_eq!(recipe["output"]["maps"], serde_json::json!(["height", "slope"]));
        assert_eq!(recipe["stage"][1]["rain"], serde_json::json!({ "from": 2.0, "to": 1.0 }));
        assert_eq!(recipe["stage"][1]["lifetime"], serde_json::json!([32, 16]));
        assert_eq!(recipe["water"]["vectors"], serde_json::json!(["geojson"]));
    }
    set(&["droplets.rain={from=2,to=1}", "droplets.rain=0.25", "droplets.border=\"wall\""]).ok();
    let recipe = &folder.json("a/manifest.json")["recipe"];
    assert_eq!(
        (&recipe["stage"][1]["rain"], &recipe["stage"][1]["border"]),
        (&0.25.into(), &"wall".into())
    );
    set(&["droplets.rain={from=2"]).refused(1, &["droplets.rain={from=2", "neither TOML nor JSON"]);
    set(&["droplets.rain={from=2,too=1}"]).refused(1, &["too", "from"]);
    set(&["droplets.rain=[2, \"much\"]"]).refused(1, &["much", "0 to 511"]);
    set(&["output.maps=[1]"]).refused(1, &["maps", "names"]);
    // A mistyped key is named, whatever it has.
    for value in ["{ from = 2, to = 1 }", "[2, 1]", "inf", "2"] {
        folder.file("typo.toml", RECIPE.replace("rain = 2", &format!("rian = {value}")));
        folder
            .thalweg("run typo.toml --dry-run")
            .refused(1, &["stage 2, droplets: \"rian\"", "did you mean \"rain\""]);
    }
}

/// U12: the recipes within the program have names, which files of one's own go before.
#[test]
fn recipes_within_the_program_are_run_by_name() {
    let folder = Folder::new("within");
    let named = folder.thalweg("run island --dry-run --size 128").ok();
    assert!(named.stdout.starts_with("island: 128 x 128 cells"), "{}", named.stdout);
    folder.thalweg("run island -o a --size 64 --device cpu --level 0").ok();
    folder.thalweg("tiles mountains --dry-run -o t.tif --size 300").ok();
    folder.thalweg("run iland --dry-run").refused(
        1,
        &["iland: no such file, nor a recipe within thalweg", "did you mean \"island\""],
    );
    folder.thalweg("run iland.toml --dry-run").refused(1, &["iland.toml: No such file"]);
    folder.file("island", RECIPE);
    assert!(folder.thalweg("run island --dry-run").ok().stdout.contains("64 x 48 cells"));
}

/// U8: a land without rivers says how large its largest catchment is, and U13: a script is told all
/// that people are.
#[test]
fn no_rivers_are_warned_of_with_the_largest_catchment() {
    let folder = Folder::new("no-river");
    folder.file(
        "r.toml",
        RECIPE.replace("\"png\"", "\"npy\"").replace("\"flow\"", "\"drainage_area\"") + "[water]\n",
    );
    let run = |more: &str| {
        let ran =
            folder.thalweg(&format!("run r.toml -o a --force --device cpu --json {more}")).ok();
        let told: Vec<String> = ran
            .stderr
            .lines()
            .filter_map(|line| line.strip_prefix("warning: "))
            .map(String::from)
            .collect();
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["warnings"], serde_json::json!(told));
        told
    };
    let told = run("--set water.channel_area_km2=5 --set water.vectors=geojson");
    let area = io::read(folder.0.join("a/drainage_area.npy"), &io::ReadOptions::default())
        .unwrap()
        .map
        .min_max()
        .1;
    let largest = f64::from(area) / 1e6;
    assert!(largest > 0.01 && largest < 0.3072, "{largest}");
    let said = format!(
        "water.channel_area_km2 = 5 is more than the largest catchment of the land has, {largest} \
         km²"
    );
    assert!(told.iter().any(|warning| warning.contains(&said)), "{told:?}: {said}");
    let manifest = folder.json("a/manifest.json");
    assert_eq!(
        (&manifest["water"]["largest_catchment_km2"], &manifest["water"]["has_rivers"]),
        (&largest.into(), &false.into())
    );
    assert!(manifest["warnings"].to_string().contains("there is no river"));
    assert_eq!(folder.json("a/rivers.geojson")["features"], serde_json::json!([]));
    // From the area of the largest catchment on there is one.
    assert!(
        run(&format!("--set water.channel_area_km2={largest}"))
            .iter()
            .all(|warning| !warning.contains("no river"))
    );
    assert_eq!(folder.json("a/manifest.json")["water"]["has_rivers"], true);
    let told = run(&format!("--set water.channel_area_km2={}", largest + 0.0001));
    assert!(told.iter().any(|warning| warning.contains("there is no river")), "{told:?}");
    // Without rain there is nothing to warn of.
    assert!(
        run("--set water.channel_area_km2=5 --set water.runoff_mm=0")
            .iter()
            .all(|warning| !warning.contains("no river"))
    );
    assert!(run("--reference").iter().any(|warning| warning.contains("other machines")));
}

/// U13: a run that only looks for water has no stage to tell of, and no driver's errors are passed
/// on.
#[test]
fn what_is_printed_makes_sense() {
    let folder = Folder::new("sense");
    folder.file("h.npy", npy(&hills(64, 48)));
    folder.file(
        "w.toml",
        "schema = 2\ninput = \"h.npy\"\nspacing_m = 10\n[water]\nchannel_area_km2 = 0.01\n",
    );
    let ran = folder.thalweg("run w.toml -o w --device cpu").ok();
    assert!(!ran.stdout.contains("strokes") && !ran.stdout.contains("-0.0"), "{}", ran.stdout);
    let dry = folder.thalweg("run w.toml --dry-run --device cpu").ok();
    assert!(!dry.stdout.contains("strokes"), "{}", dry.stdout);
    // A stage without a pass has done no work, and not less than none.
    folder.file("r.toml", RECIPE);
    let ran = folder.thalweg("run r.toml -o r --device cpu --json --set droplets.rain=0").ok();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(!report["stages"][1]["cells_per_s"].to_string().starts_with('-'));
    let strokes = format!("{RECIPE}\n[[stage]]\nkind = \"strokes\"\nfinest_only = true\n");
    for levels in ["", "levels = 2\n"] {
        folder.file("s.toml", strokes.replace("seed = 5\n", &format!("seed = 5\n{levels}")));
        let said = folder.thalweg("run s.toml --dry-run");
        said.refused(
            1,
            &["stage 3, strokes: finest_only = true: strokes does not erode", "leave it out"],
        );
    }
    let mut quiet = folder.command("devices");
    let quiet = ran_of(quiet.env_remove("XDG_RUNTIME_DIR").env_remove("NODEVICE_SELECT"));
    assert!(!quiet.ok().stderr.contains("XDG_RUNTIME_DIR"));
}

/// A run that was killed goes on from its snapshot, to the bytes of one that was not.
#[test]
fn a_killed_run_goes_on_from_its_snapshot() {
    let recipe = "schema = 2\nseed = 3\nwidth = 97\nheight = 80\nspacing_m = 20\nlevels = 2\n\
                  [[stage]]\nkind = \"diamond_square\"\nrelief_m = 900\n\
                  [[stage]]\nkind = \"incision\"\nsteps = [4000, 3000]\nuplift_m = 1\n\
                  [output]\nmaps = [\"height\", \"flow\"]\nformat = \"npy\"\n";
    let folder = Folder::new("run-snapshot");
    folder.file("r.toml", recipe);
    folder.thalweg("run r.toml -o whole --device cpu").ok();

    let line = "run r.toml -o out --device cpu --snapshot kept --snapshot-every 0";
    let mut killed = folder.command(line).spawn().unwrap();
    let kept = folder.0.join("kept");
    while !kept.exists() && killed.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    killed.kill().unwrap();
    assert!(!killed.wait().unwrap().success() && kept.exists());
    let snapshot = folder.read("kept");

    // Neither another recipe's nor a damaged one is taken, and each stays where it is.
    folder.file("other.toml", recipe.replace("seed = 3", "seed = 4"));
    let other = folder.thalweg("run other.toml -o other --device cpu --snapshot kept");
    other.refused(1, &["kept", "another recipe", "remove it"]);
    folder.file("damaged", &snapshot[..snapshot.len() - 40]);
    let damaged = folder.thalweg("run r.toml -o other --device cpu --snapshot damaged");
    damaged.refused(1, &["damaged", "cut off"]);
    // A run to another level does other things.
    let level = folder.thalweg("run r.toml -o other --device cpu --snapshot kept --level 1");
    level.refused(1, &["kept", "ends with level 0", "ends with level 1"]);
    // No map is taken for a snapshot at the end, and none is begun that cannot be kept.
    let inside = folder.thalweg("run r.toml -o other --device cpu --snapshot other/height.npy");
    inside.refused(1, &["other/height.npy", "folder of the output"]);
    folder.file("no-folder", "");
    let nowhere = folder.thalweg("run r.toml -o other --device cpu --snapshot no-folder/kept");
    nowhere.refused(1, &["no-folder/kept"]);
    assert!(folder.read("kept") == snapshot && !folder.0.join("other").exists());

    let resumed = folder.thalweg(&format!("{line} -v")).ok();
    assert!(resumed.stderr.contains("continues from kept, after"), "{}", resumed.stderr);
    for map in ["height.npy", "flow.npy"] {
        assert!(
            folder.read(&format!("out/{map}")) == folder.read(&format!("whole/{map}")),
            "{map}"
        );
    }
    assert!(!kept.exists());
}

fn ran_of(command: &mut std::process::Command) -> super::Ran {
    ran(command.output().unwrap())
}
