//! `convert`, `info`, `verify`, `compare` of two maps, and the texts that the program has within.

use super::{Folder, RECIPE, hills, map, npy};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use thalweg::io;
use thalweg::io::engine::Engine;
use thalweg::map::Map;

fn read(folder: &Folder, name: &str) -> Map {
    io::read(
        folder.0.join(name),
        &io::ReadOptions { nodata_fill: Some(-1.0), ..io::ReadOptions::default() },
    )
    .unwrap()
    .map
}

/// Runs a command with bytes on its standard input. Returns its standard output.
fn piped(folder: &Folder, line: &str, input: &[u8]) -> Vec<u8> {
    let mut child = folder
        .command(line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Every format to every other, in files and in pipes.
/// Holds file F10 in part.
#[test]
fn convert_reads_and_writes_every_format() {
    let folder = Folder::new("convert");
    let map = hills(40, 30);
    folder.file("h.npy", npy(&map));
    for extension in ["png", "tif", "exr", "npy", "asc", "hgt", "r16", "r32"] {
        let size = if ["r16", "r32", "hgt"].contains(&extension) { " --size 40x30" } else { "" };
        folder.thalweg(&format!("convert h.npy {extension}.{extension} --spacing 10")).ok();
        folder
            .thalweg(&format!(
                "convert {extension}.{extension} back-{extension}.npy --spacing \
                 10{size} --range 0 400"
            ))
            .ok();
        let back = read(&folder, &format!("back-{extension}.npy"));
        let most = back.data.iter().zip(&map.data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let allowed = match extension {
            "hgt" => 0.5,
            // Stretched over their own range, and read over a wider one here.
            "r16" | "png" => 3.0,
            _ => 0.0,
        };
        assert!(most <= allowed, "{extension}: {most}");
        let from = if size.is_empty() { String::new() } else { format!(" --from {extension}") };
        let from = if extension == "asc" { " --from asc".into() } else { from };
        let bytes = folder.read(&format!("{extension}.{extension}"));
        let out = piped(
            &folder,
            &format!(
                "convert - - --to {extension} --spacing 10 -q{from}{size} --output-range 0 400 \
                 --range 0 400"
            ),
            &bytes,
        );
        assert!(!out.is_empty(), "{extension}");
        let same = ["tif", "exr", "npy", "asc", "hgt", "r32"].contains(&extension);
        assert!(!same || out == bytes, "{extension}");
    }
    folder.thalweg("convert h.npy - ").refused(1, &["--to"]);
    let both = folder.thalweg("convert h.npy - --to png --json");
    assert!(
        both.code == Some(1) && both.stdout.is_empty() && both.stderr.contains("not both"),
        "{}",
        both.stderr
    );
    folder.thalweg("convert - o.png").refused(1, &["--from"]);
    folder.thalweg("convert h.npy o.xyz").refused(1, &[".xyz"]);
    folder
        .thalweg("convert h.npy o.png --crop 50x10+0+0 --spacing 10")
        .refused(1, &["--crop", "40x30"]);
    folder
        .thalweg("convert h.npy o.png --resample 10x10 --spacing 10")
        .refused(1, &["--resample", "10x8"]);
    folder.thalweg("convert h.npy png.png --spacing 10").refused(1, &["png.png", "--force"]);
    folder.thalweg("convert h.npy coarse.npy --resample 14 --spacing 10").ok();
    assert_eq!((read(&folder, "coarse.npy").width, read(&folder, "coarse.npy").height), (14, 11));
    folder
        .thalweg("convert h.npy a.glb --keep-nodata --nodata 0")
        .refused(1, &["--keep-nodata", "mesh"]);
    folder
        .thalweg("convert h.npy a --engine godot --keep-nodata --nodata 0")
        .refused(1, &["--keep-nodata"]);
    folder.thalweg("convert h.npy a --engine godot --to png").refused(1, &["--to", "godot"]);
    folder.thalweg("convert h.npy - --engine godot").refused(1, &["-: ", "folder"]);
    #[cfg(unix)]
    for format in ["tif", "png", "npy", "asc", "exr", "hgt", "r16"] {
        folder
            .thalweg(&format!("convert /dev/zero o.npy --from {format}"))
            .refused(1, &["/dev/zero", "not a regular file"]);
    }
    folder
        .thalweg("convert h.npy part.tif --crop 10x8+5+6 --flip rows --resample 19x15 --spacing 10")
        .ok();
    assert_eq!((read(&folder, "part.tif").width, read(&folder, "part.tif").spacing_m), (19, 5.0));
}

/// A height map and a recipe come from pipes, and an eroded map goes into one.
/// Holds file F10 in part.
#[test]
fn maps_and_recipes_come_from_pipes() {
    let folder = Folder::new("pipes");
    let out =
        piped(&folder, "erode - -o - --to npy --device cpu --spacing 10", &npy(&hills(32, 32)));
    folder
        .file("h.npy", npy(&hills(32, 32)))
        .thalweg("erode h.npy -o o.npy --device cpu --spacing 10")
        .ok();
    assert_eq!(out, folder.read("o.npy"));
    piped(&folder, "run - -o a --device cpu", RECIPE.as_bytes());
    folder.file("r.toml", RECIPE).thalweg("run r.toml -o b --device cpu").ok();
    assert!(folder.thalweg("compare a b").ok().stdout.contains("equal"));
    let schema = folder
        .thalweg(
            "run r.toml -o c --device cpu --set output.format=exr --set output.formats.flow=png",
        )
        .ok();
    assert!(
        schema.stdout.contains("height.exr") && schema.stdout.contains("flow.png"),
        "{}",
        schema.stdout
    );
    assert_eq!(
        folder.json("c/manifest.json")["recipe"]["output"]["formats"],
        json!({ "flow": "png" })
    );
    folder.thalweg("run r.toml -o d --set output.format=exe").refused(1, &["exe", "exr"]);
    folder.thalweg("run r.toml -o d --set output.formats.slope=png").refused(1, &["slope", "flow"]);
    folder
        .thalweg("run r.toml -o d --set output.colours=ground")
        .refused(1, &["colours", "colour"]);
}

/// What a file holds, its place on Earth and its missing samples with it.
/// Holds file F10 in part.
#[test]
fn info_says_what_a_file_holds() {
    let folder = Folder::new("info");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::copy(data.join("jacksboro.tif"), folder.0.join("j.tif")).unwrap();
    std::fs::copy(data.join("tiff/void.tif"), folder.0.join("void.tif")).unwrap();
    let text = folder.thalweg("info j.tif void.tif").ok().stdout;
    for part in [
        "403 x 344 samples",
        "236 to 1076",
        "EPSG:4326: west -84.4",
        "140 samples without a value",
        "EPSG:32633",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let values: Value =
        serde_json::from_str(&folder.thalweg("info j.tif void.tif --json").ok().stdout).unwrap();
    assert_eq!(
        (&values[0]["min"], &values[0]["max"], &values[1]["missing"]),
        (&json!(236.0), &json!(1076.0), &json!(140))
    );
    // The lowest is that of the samples that have a value.
    assert_eq!(values[1]["min"], json!(100.0));
    folder.thalweg("info nowhere.tif").refused(1, &["nowhere.tif", "no such file"]);
    // Of several files those that can be read are told.
    let told = folder.thalweg("info nowhere.tif void.tif");
    assert_eq!(told.code, Some(1));
    assert!(
        told.stdout.contains("140 samples without a value") && told.stderr.contains("nowhere.tif"),
        "{}",
        told.stderr
    );
}

/// Bare samples have a header beside them, with which they are read as they were written.
/// Holds file F4 in part.
#[test]
fn bare_samples_have_a_header() {
    let folder = Folder::new("header");
    folder.file("h.npy", npy(&Map { spacing_m: 12.5, ..hills(40, 30) }));
    let told =
        folder.thalweg("convert h.npy h.r16 --spacing 12.5 --output-range -3 907.1").ok().stdout;
    assert!(told.contains("h.r16.hdr"), "{told}");
    let text = String::from_utf8(folder.read("h.r16.hdr")).unwrap();
    for line in [
        "ENVI",
        "samples = 40",
        "lines = 30",
        "data type = 12",
        "byte order = 0",
        "thalweg range = {-3, 907.1}",
    ] {
        assert!(text.lines().any(|known| known == line), "{line:?} is not in {text}");
    }
    let back = io::read(folder.0.join("h.r16"), &io::ReadOptions::default()).unwrap();
    assert_eq!((back.map.width, back.map.height, back.map.spacing_m), (40, 30, 12.5));
    assert_eq!((back.map.range_m, back.warnings), (Some((-3.0, 907.1)), vec![]));
    let written = read(&folder, "h.npy");
    assert!(
        written.data.iter().zip(&back.map.data).all(|(a, b)| (a - b).abs() <= 0.008),
        "half a step"
    );
    // Without thalweg's own key, gain and offset say it.
    folder.file("h.r16.hdr", text.replace("thalweg range", "other"));
    let other = io::read(folder.0.join("h.r16"), &io::ReadOptions::default()).unwrap();
    assert_eq!(other.map.data, back.map.data);
    folder.thalweg("convert h.r16 h.r32").ok();
    assert_eq!(read(&folder, "h.r32"), Map { range_m: None, ..back.map.clone() });

    folder.file("other.r16.hdr", "mine");
    folder
        .thalweg("convert h.npy other.r16 --spacing 12.5")
        .refused(1, &["other.r16.hdr", "exists", "--force"]);
    folder
        .thalweg("erode h.npy -o other.r16 --spacing 12.5 --device cpu")
        .refused(1, &["other.r16.hdr", "--force"]);
    assert!(!folder.0.join("other.r16").exists());
    for (from, to, what) in [
        ("ENVI", "ERVI", "the first line is not ENVI"),
        ("lines = 30", "lines = 31", "40x31"),
        ("lines = 30", "", "lines is missing"),
        ("lines = 30", "lines = -1", "lines = -1: expected a whole number"),
        ("data type = 12", "data type = 2", "data type = 2"),
        ("byte order = 0", "byte order = 2", "byte order = 2: allowed 0 or 1"),
        ("bands = 1", "bands = 3", "bands = 3"),
    ] {
        folder.file("h.r16.hdr", text.replace(from, to));
        folder.thalweg("info h.r16").refused(1, &["h.r16", what]);
    }
}

/// A changed file, a missing one and another seed are found.
/// Holds file F10 in part.
#[test]
fn runs_are_verified_and_compared() {
    let folder = Folder::new("verify");
    folder.file("r.toml", RECIPE);
    folder.thalweg("run r.toml -o a --device cpu").ok();
    folder.thalweg("run r.toml -o b --device cpu --seed 6").ok();
    assert!(folder.thalweg("verify a").ok().stdout.contains("all as the manifest says"));
    assert!(folder.thalweg("compare a a").ok().stdout.contains("equal"));
    let differ = folder.thalweg("compare a b --picture d.png");
    assert_eq!(differ.code, Some(1));
    assert!(
        differ.stdout.contains("height: ")
            && differ.stdout.contains("DIFFERENT")
            && folder.0.join("d.png").exists(),
        "{}",
        differ.stdout
    );
    let value: Value = serde_json::from_str(&folder.thalweg("compare a b --json").stdout).unwrap();
    assert_eq!(value["equal"], false);
    folder.thalweg("compare a r.toml").refused(1, &["folders of two runs"]);
    folder.thalweg("compare a/height.png nowhere.png").refused(1, &["nowhere.png"]);

    let mut bytes = folder.read("a/height.png");
    *bytes.last_mut().unwrap() ^= 1;
    folder.file("a/height.png", bytes);
    std::fs::remove_file(folder.0.join("a/flow.png")).unwrap();
    let wrong = folder.thalweg("verify a");
    assert_eq!(wrong.code, Some(1));
    for part in ["height.png: its digest is", "flow.png: ", "2 of "] {
        assert!(wrong.stdout.contains(part), "{}", wrong.stdout);
    }
    folder.thalweg("verify r.toml").refused(1, &["r.toml"]);
    // A manifest of somebody else names what lies elsewhere, or what is no file and may have no
    // end.
    let named = |file: &str| {
        let map = serde_json::json!({ "name": "height", "file": file, "blake3": "0" });
        let json = serde_json::json!({ "schema": 2, "thalweg": "0", "maps": [map] });
        folder.file("a/manifest.json", json.to_string());
        folder.thalweg("verify a").stdout
    };
    let outside = folder.0.join("b/height.png").display().to_string();
    for file in ["/dev/zero", "../b/height.png", "./../b/height.png", &outside, ""] {
        let said = named(file);
        assert!(said.contains("does not lie in this folder"), "{file}: {said}");
        folder.thalweg("compare a b").refused(1, &["does not lie in this folder"]);
    }
    std::fs::create_dir_all(folder.0.join("a/deep")).unwrap();
    assert!(named("deep").contains("it is no file"));
    folder
        .file("a/manifest.json", "{}")
        .thalweg("verify a")
        .refused(1, &["no manifest of thalweg"]);
}

/// The recipes within are those of `examples/`, each runs, and the schema takes them and refuses
/// what the reader refuses.
/// Holds file F10 in part.
#[test]
fn recipes_schema_completions_and_pages() {
    let folder = Folder::new("texts");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(root.join("examples"))
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().to_str().unwrap().strip_suffix(".toml").map(String::from)
        })
        .collect();
    names.sort();
    // It needs a file beside it.
    names.retain(|name| name != "jacksboro");
    let listed: Value =
        serde_json::from_str(&folder.thalweg("recipes --json").ok().stdout).unwrap();
    let found: Vec<&str> =
        listed.as_array().unwrap().iter().map(|recipe| recipe["name"].as_str().unwrap()).collect();
    assert_eq!(found, names);
    assert!(
        listed
            .as_array()
            .unwrap()
            .iter()
            .all(|recipe| recipe["about"].as_str().unwrap().len() > 20),
        "{listed}"
    );

    let text = folder.thalweg("schema").ok().stdout;
    let path = root.join("schemas/recipe.schema.json");
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == text,
        "schemas/recipe.schema.json is old: run this test with THALWEG_BLESS=1"
    );
    let validator = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    for name in &names {
        let recipe = folder.thalweg(&format!("recipes {name}")).ok().stdout;
        assert_eq!(
            recipe,
            std::fs::read_to_string(root.join(format!("examples/{name}.toml"))).unwrap()
        );
        let value: Value =
            serde_json::to_value(toml::from_str::<toml::Table>(&recipe).unwrap()).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{name}");
    }
    for (what, wrong) in [
        ("an unknown key", json!({ "schema": 2, "sead": 3 })),
        ("no schema", json!({ "seed": 3 })),
        (
            "rain beyond its range",
            json!({ "schema": 2, "stage": [{ "kind": "droplets", "rain": 900 }] }),
        ),
        (
            "a setting of another stage",
            json!({ "schema": 2, "stage": [{ "kind": "blur", "rain": 1 }] }),
        ),
        ("an unknown kind", json!({ "schema": 2, "stage": [{ "kind": "drops" }] })),
        ("an unknown map", json!({ "schema": 2, "output": { "maps": ["flows"] } })),
        (
            "a ramp without an end",
            json!({ "schema": 2, "stage": [{ "kind": "droplets", "rain": { "from": 1 } }] }),
        ),
    ] {
        assert!(!validator.is_valid(&wrong), "the schema takes {what}");
    }
    folder.thalweg("recipes iland").refused(1, &["iland", "island"]);
    for (line, key) in
        [("recipes island", "recipe"), ("completions fish", "completions"), ("man erode", "page")]
    {
        let text = folder.thalweg(line).ok().stdout;
        let value: Value =
            serde_json::from_str(&folder.thalweg(&format!("{line} --json")).ok().stdout).unwrap();
        assert_eq!(value, json!({ key: text }), "{line}");
    }
    folder.thalweg("convert h.npy h.obj --max-error -1").refused(1, &["h.npy"]);
    #[cfg(target_os = "linux")]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended =
            folder.command("run --help").stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(ended.code(), Some(1), "help that could not be printed");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.thalweg(&format!("completions {shell}")).ok().stdout;
        assert!(
            script.contains("thalweg")
                && script.contains("erode")
                && script.contains("output-range"),
            "{shell}"
        );
    }
    // Each page that a page names is there, and is that of its command.
    let mut pages = vec!["thalweg".to_owned()];
    let mut at = 0;
    while let Some(name) = pages.get(at) {
        let page =
            folder.thalweg(&name.replacen("thalweg", "man", 1).replace('-', " ")).ok().stdout;
        assert!(page.contains(&format!(".TH {name} 1")), "{name}: {page}");
        let named = page.lines().filter_map(|line| line.strip_suffix("(1)"));
        pages.extend(named.map(|name| name.replace('\\', "")));
        at += 1;
    }
    assert!(pages.contains(&"thalweg-store-list".to_owned()), "{pages:?}");
    assert!(folder.thalweg("man erode").ok().stdout.contains("output\\-range"));
    folder.thalweg("man erod").refused(1, &["erod", "erode"]);
}

/// Files for programs: sizes that they do not take are refused with the nearest, rows, ranges and
/// byte orders are theirs, and the text has the numbers to type, by the vendors' formulas.
/// Holds file F11.
#[test]
fn lands_are_handed_over_to_programs() {
    let folder = Folder::new("for");
    // Heights that are no step of 16 bits, with a corner to tell rows by.
    let land =
        |side: u32| super::map(side, side, |r, c| 100.0 + 0.37 * r as f32 + 0.011 * c as f32);
    folder
        .file("land.npy", npy(&land(127)))
        .file("u.npy", npy(&land(33)))
        .file("odd.npy", npy(&land(100)));
    folder
        .thalweg("convert odd.npy a --engine unreal")
        .refused(1, &["100x100", "127, 253", "nearest is 127", "--resample 127"]);
    folder.thalweg("convert odd.npy a --engine unity").refused(1, &["100x100", "nearest is 129"]);
    folder.file("line.npy", npy(&map(1, 1009, |r, _| r as f32)));
    for engine in Engine::ALL {
        let line = format!("convert line.npy a --engine {}", engine.name());
        folder.thalweg(&line).refused(1, &["1x1009", "2 rows and 2 columns"]);
    }
    folder.thalweg("convert odd.npy a --engine unreal-wp").refused(1, &["a multiple of 1009"]);
    folder
        .thalweg("convert odd.npy a --engine unity-tiles")
        .refused(1, &["100x100", "a multiple of 512 and 1", "513x513", "--resample 513"]);
    folder.thalweg("convert odd.npy a --engine unreel").refused(2, &["unreel", "unreal"]);
    // Options that were renamed say so.
    for (command, new) in [
        ("convert odd.npy a --for unity", "--for is called --engine now"),
        ("run r.toml -o a --classic", "--classic is called --reference now"),
        ("tiles r.toml --side 64", "--side is called --tile-size now"),
        ("tiles r.toml --slab-steps 4", "--slab-steps is called --time-chunk now"),
    ] {
        folder.thalweg(command).refused(2, &[new]);
    }
    assert_eq!(folder.list(""), ["land.npy", "line.npy", "odd.npy", "u.npy"]);
    let words = |name: &str| -> Vec<u16> {
        folder.read(name).as_chunks().0.iter().map(|b| u16::from_le_bytes(*b)).collect()
    };
    let text = |name: &str| String::from_utf8(folder.read(name)).unwrap();

    folder
        .thalweg("convert land.npy unreal --engine unreal --spacing 2 --output-range 50 178")
        .ok();
    let files = ["README.txt", "import.py", "land_height.r16", "land_normal.png"];
    assert_eq!(folder.list("unreal"), files);
    let heights = words("unreal/land_height.r16");
    let level = |h: f32| ((f64::from(h) - 50.0) / 128.0 * 65535.0).round() as u16;
    assert_eq!(heights, land(127).data.iter().map(|h| level(*h)).collect::<Vec<_>>());
    // Unreal makes (level − 32768) / 128 · Z scale of a level, in centimetres, on top of the
    // location.
    let readme = text("unreal/README.txt");
    assert!(
        readme.contains("Scale X and Y: 200, Z: 25") && readme.contains("Location Z: 11400"),
        "{readme}"
    );
    let z = 12800.0 * 128.0 / 65535.0;
    let back = |level: u16| ((f64::from(level) - 32768.0) / 128.0 * z + 5000.0 + 256.0 * z) / 100.0;
    // Half a step.
    assert!(
        heights
            .iter()
            .zip(&land(127).data)
            .all(|(l, h)| (back(*l) - f64::from(*h)).abs() < 64.0 / 65535.0 + 1e-6)
    );

    folder.thalweg("convert u.npy unity --engine unity --spacing 4 --output-range 100 125.6").ok();
    let readme = text("unity/README.txt");
    assert!(
        readme.contains("Terrain Size: X 128, Y 25.6, Z 128") && readme.contains("Position Y: 100"),
        "{readme}"
    );
    let raw = words("unity/u_height.raw");
    // The first row of the file is the south; Unity makes level / 65536 · size.
    let south = land(33).data[32 * 33];
    assert!((f64::from(raw[0]) / 65536.0 * 25.6 + 100.0 - f64::from(south)).abs() < 0.001);

    folder.thalweg("convert odd.npy godot --engine godot --spacing 3").ok();
    let exr = read(&folder, "godot/odd_height.exr");
    assert_eq!(exr.data, land(100).data);
    assert!(text("godot/README.txt").contains("Vertex Spacing: 3"));
    folder.thalweg("convert odd.npy blender --engine blender --spacing 3").ok();
    assert_eq!(read(&folder, "blender/odd_height.exr").data, land(100).data);
    folder.thalweg("convert odd.npy wp --engine worldpainter --spacing 1").ok();
    let blocks = io::read(
        folder.0.join("wp/odd_height.png"),
        &io::ReadOptions { range_m: Some((0.0, 65535.0)), ..Default::default() },
    )
    .unwrap();
    // A level is 1/256 of a block above the lowest, −64.
    let expected: Vec<f32> =
        land(100).data.iter().map(|h| ((f64::from(*h) + 64.0) * 256.0).round() as f32).collect();
    assert_eq!(blocks.map.data, expected);

    // A normal of a plane that rises to the south: away from it, to the north; DirectX has green
    // the other way.
    let green =
        |name: &str, side: usize| super::pixels(folder.read(name))[(20 * side + 20) * 3 + 1];
    let [opengl, directx] = [green("unity/u_normal.png", 33), green("unreal/land_normal.png", 127)];
    assert!(opengl > 128 && directx < 127, "{opengl} {directx}");

    folder.file(
        "r.toml",
        RECIPE.replace("\"height\", \"flow\"", "\"height\", \"flow\", \"erosion\""),
    );
    folder.thalweg("run r.toml -o run --device cpu --size 64 --engine houdini").ok();
    assert_eq!(folder.list("run/houdini"), ["README.txt", "r.usda", "r_layers.exr"]);
    assert!(text("run/houdini/README.txt").contains("Channels: height, flow, erosion"));
    // The manifest lists the program's files: a wrong one is found, and a later run without the
    // program removes them.
    let manifest: Value = serde_json::from_slice(&folder.read("run/manifest.json")).unwrap();
    assert_eq!(manifest["program"]["name"], "houdini");
    assert_eq!(manifest["recipe"]["output"]["program"], "houdini");
    folder.thalweg("verify run").ok();
    let readme = folder.read("run/houdini/README.txt");
    folder.file("run/houdini/README.txt", "no");
    let wrong = folder.thalweg("verify run");
    assert!(
        wrong.code == Some(1) && wrong.stdout.contains("houdini/README.txt: its digest"),
        "{}",
        wrong.stdout
    );
    folder.file("run/houdini/README.txt", readme);
    folder
        .thalweg("run r.toml -o run --device cpu --size 64 --engine houdini")
        .refused(1, &["exists", "--force"]);
    let removed = folder.thalweg("run r.toml -o run --device cpu --size 64 --force").ok().stdout;
    assert!(removed.contains("removed what only the earlier run had: 3 files"), "{removed}");
    folder.thalweg("run r.toml -o run2 --device cpu --size 64 --set output.program=godot").ok();
    assert!(
        folder.list("run2/godot").contains(&"r_height.exr".to_string()),
        "{:?}",
        folder.list("run2/godot")
    );
    for engine in thalweg::io::engine::Engine::ALL {
        let side = if engine.name().starts_with("unity") { 1025 } else { 1009 };
        let line = format!(
            "run r.toml -o run3 --dry-run --size {side} --set output.program={}",
            engine.name()
        );
        let told = folder.thalweg(&line).ok().stdout;
        assert!(told.contains(&format!("run3/{}/README.txt", engine.name())), "{told}");
    }
    folder
        .thalweg("run r.toml -o run3 --set output.program=unreel")
        .refused(1, &["unreel", "unreal"]);
    folder
        .thalweg("run r.toml -o run --device cpu --size 64 --engine unity --force")
        .refused(1, &["64x64", "nearest is 65"]);
    folder.thalweg("erode u.npy -o game --engine unity --spacing 4 --device cpu").ok();
    assert!(folder.list("game").contains(&"u_height.raw".to_string()));
    folder
        .thalweg("erode u.npy -o game --engine unity --spacing 4 --device cpu")
        .refused(1, &["game", "--force"]);
    folder.thalweg("run examples.toml -o x --engine unity").refused(1, &["examples.toml"]);
    folder.file(
        "b.toml",
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/biomes.toml")).unwrap(),
    );
    folder.thalweg("run b.toml -o b --size 65 --device cpu --engine unity").ok();
    assert!(
        folder.list("b/unity").iter().any(|name| name.ends_with("_splat_1.png")),
        "{:?}",
        folder.list("b/unity")
    );
}

/// F12: Blender's Displace modifier looks up pixels between their centres, at the UVs of a grid.
/// With the UVs scaled as the text says, each vertex has the height of its sample; with those of
/// the grid it was metres off.
#[test]
fn a_grid_of_blender_has_the_heights() {
    let folder = Folder::new("blender");
    let data = (0..60 * 45).map(|i| ((i * 7919) % 242) as f32).collect();
    let map = Map { width: 60, height: 45, data, ..hills(60, 45) };
    folder.file("h.npy", npy(&map)).thalweg("convert h.npy b --engine blender --spacing 3").ok();
    let text = String::from_utf8(folder.read("b/README.txt")).unwrap();
    assert!(
        text.contains("X Subdivisions 59, Y Subdivisions 44")
            && text.contains("X 177, Y 132 (metres)"),
        "{text}"
    );
    assert!(
        text.contains("Extension Extend") && text.contains("Pivot Point Bounding Box Center"),
        "{text}"
    );
    let line =
        text.lines().find(|line| line.starts_with("S X ")).unwrap_or_else(|| panic!("{text}"));
    let scales: Vec<f32> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let image = read(&folder, "b/h_height.exr");
    // The pixel at a UV, as Blender has it: between the centres of two by two.
    let sample = |u: f32, v: f32| {
        let [x, y] = [(u, 60), (v, 45)].map(|(share, n)| f64::from(share) * f64::from(n) - 0.5);
        let at = |x: f64, y: f64| {
            f64::from(image.data[(y.clamp(0.0, 44.0) * 60.0 + x.clamp(0.0, 59.0)) as usize])
        };
        let (left, top) = (x.floor(), y.floor());
        let row = |y: f64| at(left, y) * (left + 1.0 - x) + at(left + 1.0, y) * (x - left);
        row(top) * (top + 1.0 - y) + row(top + 1.0) * (y - top)
    };
    let worst = |scales: &[f32]| {
        let uv = |i: u32, n: u32, scale: f32| (i as f32 / (n - 1) as f32 - 0.5) * scale + 0.5;
        let off = |i: u32| {
            (sample(uv(i % 60, 60, scales[0]), uv(i / 60, 45, scales[1]))
                - f64::from(map.data[i as usize]))
            .abs()
        };
        (0..60 * 45).map(off).fold(0.0, f64::max)
    };
    assert!(worst(&scales) < 0.01, "{}", worst(&scales));
    assert!(worst(&[1.0, 1.0]) > 10.0, "{}", worst(&[1.0, 1.0]));
}

/// Help for a reader that has gone is no error, and a map for an output that is closed is one.
/// Holds F13.
#[cfg(target_os = "linux")]
#[test]
fn outputs_that_are_gone() {
    let folder = Folder::new("gone");
    for line in ["--help", "run --help", "--version"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = folder.command(line).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{line}: {ended:?}");
    }
    folder.file("h.npy", npy(&hills(20, 30)));
    let shell = |redirection: &str| {
        let line = format!(
            "{} convert h.npy - --to png --spacing 10 {redirection}",
            env!("CARGO_BIN_EXE_thalweg")
        );
        std::process::Command::new("sh")
            .current_dir(&folder.0)
            .args(["-c", &line])
            .output()
            .unwrap()
    };
    let closed = shell(">&-");
    let told = String::from_utf8_lossy(&closed.stderr);
    assert!(
        closed.status.code() == Some(1) && told.contains("standard output: is closed"),
        "{told}"
    );
    assert!(shell("> /dev/null").status.success());
}

/// What the error of a size says can be done.
#[test]
fn land_that_fits_no_tiles_can_be_cropped() {
    let folder = Folder::new("tiles-cropped");
    folder.file("wide.npy", npy(&map(1200, 800, |r, c| (r + c) as f32)));
    for engine in ["unity-tiles", "unity-tiles --crop 1025x513+0+0"] {
        let line = folder.thalweg(&format!("convert wide.npy wide --spacing 2 --engine {engine}"));
        if engine.contains("crop") {
            line.ok()
        } else {
            line.refused(1, &["--crop 1025x513+0+0"])
        };
    }
}

/// U13: what is called height has no second word in its name.
#[test]
fn files_for_programs_are_named_once() {
    let folder = Folder::new("names");
    for (name, stem) in [("height", "height"), ("my_height", "my_height"), ("land", "land_height")]
    {
        folder.file(&format!("{name}.npy"), npy(&hills(33, 33)));
        folder.thalweg(&format!("convert {name}.npy {name} --engine unity --spacing 10")).ok();
        assert_eq!(
            folder.list(name),
            [
                "Import.cs".into(),
                "README.txt".into(),
                format!("{stem}.raw"),
                format!("{name}_normal.png")
            ]
        );
    }
}

/// A mask that lies beside a file would be that of the new one. Holds F3.
#[test]
fn an_old_mask_is_named() {
    let folder = Folder::new("mask");
    folder.file("h.npy", npy(&hills(20, 30))).file("o.tif.msk", "old");
    let told = folder.thalweg("convert h.npy o.tif --spacing 10").ok().stderr;
    assert!(told.contains("o.tif.msk: readers take it as the mask"), "{told}");
    assert_eq!(folder.thalweg("convert h.npy p.tif --spacing 10").ok().stderr, "");
}
