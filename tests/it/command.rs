//! The command: what it writes, what it refuses, how it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use thalweg::io;
use thalweg::map::Map;

const RECIPE: &str = r#"
schema = 1
seed = 5
width = 64
height = 48
spacing_m = 10
origin = [100, 200]
[[stage]]
kind = "diamond_square"
world = 1024
feature = 64
relief_m = 200
[[stage]]
kind = "droplets"
lifetime = 16
rain = 2
[output]
maps = ["height", "flow"]
format = "png"
sea_level_m = 60
"#;

/// A folder of its own that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("command-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.0.join(name), content).unwrap();
        self
    }

    /// Runs `thalweg` here, with words parted by blanks.
    fn thalweg(&self, line: &str) -> Ran {
        ran(self.command(line).output().unwrap())
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.current_dir(&self.0).args(line.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Names of everything in a folder here, hidden files too.
    fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Ended with `code`, with an error that has all of `words` and no panic.
    #[track_caller]
    fn refused(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        // Drivers write to stderr as well; ours is the last word.
        let error = self.stderr.rfind("error: ").map(|at| &self.stderr[at..]).unwrap_or_default();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in {:?}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        self
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn map(width: u32, height: u32, value: impl Fn(u32, u32) -> f32) -> Map {
    let data = (0..height).flat_map(|r| (0..width).map(move |c| (r, c))).map(|(r, c)| value(r, c)).collect();
    Map { width, height, spacing_m: 10.0, data, range_m: None, georef: None }
}

/// Hills, 0 to 400 m.
fn hills(width: u32, height: u32) -> Map {
    map(width, height, |r, c| 200.0 + 100.0 * ((r as f32 * 0.3).sin() + (c as f32 * 0.2).cos()))
}

fn npy(map: &Map) -> Vec<u8> {
    io::encode(map, io::Format::Npy).unwrap().0
}

/// The same with another value at a cell, which need not be one that we write.
fn spoilt(map: &Map, cell: usize, value: f32) -> Vec<u8> {
    let mut bytes = npy(map);
    let at = bytes.len() - 4 * (map.data.len() - cell);
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn run_writes_maps_picture_and_a_manifest_that_matches() {
    let folder = Folder::new("run");
    let ran = folder.file("r.toml", RECIPE).thalweg("run r.toml -o a/b --device cpu").ok();
    assert!(ran.stdout.contains("64 x 48") && ran.stdout.contains("droplet-steps/s"), "{}", ran.stdout);
    assert_eq!(folder.list("a/b"), ["flow.png", "height.png", "manifest.json", "preview.png"]);
    let manifest = folder.json("a/b/manifest.json");
    assert_eq!(
        (&manifest["schema"], &manifest["seed"], &manifest["width"], &manifest["height"]),
        (&1.into(), &5.into(), &64.into(), &48.into())
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
        // A picture says no metres: the manifest does.
        assert_eq!(entry["quantised"], serde_json::json!([low, high]));
        assert_eq!(entry["words_blake3"].as_str().unwrap().len(), 64);
    }
    assert_eq!(manifest["stages"][1]["derived"]["steps"], 8 * 16);
}

#[test]
fn a_manifests_recipe_makes_the_same_maps() {
    let folder = Folder::new("describe");
    folder.file("r.toml", RECIPE).thalweg("run r.toml -o a --device cpu --seed 18446744073709551615").ok();
    folder.file("r.json", folder.json("a/manifest.json")["recipe"].to_string());
    folder.thalweg("run r.json -o b --device cpu").ok();
    for name in folder.list("a") {
        assert_eq!(folder.read(&format!("a/{name}")), folder.read(&format!("b/{name}")), "{name}");
    }
}

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
    let line = "run r.toml -o a --device cpu --json --size 33x17 --set droplets.rain=4 --set 1.relief_m=150.5";
    let ran = folder.file("r.toml", RECIPE).thalweg(line).ok();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["width"], &report["height"]), (&33.into(), &17.into()));
    assert!(report["stages"][1]["seconds"].as_f64().unwrap() > 0.0);
    assert!(report["seconds"]["encoding"].as_f64().unwrap() <= report["seconds"]["output"].as_f64().unwrap());
    let manifest = folder.json("a/manifest.json");
    assert_eq!(manifest["recipe"]["stage"][1]["rain"], 4.0);
    assert_eq!(manifest["recipe"]["stage"][0]["relief_m"], 150.5);
    let refused = |line: &str, words: &[&str]| drop(folder.thalweg(&format!("run r.toml -o b {line}")).refused(1, words));
    refused("--set droplets.rian=4", &["droplets.rian=4", "rain"]);
    refused("--set dropletts.rain=4", &["dropletts", "droplets"]);
    refused("--set rain=4", &["STAGE.KEY=VALUE"]);
    refused("--set droplets.rain=900", &["rain = 900", "0 to 511"]);
    refused("--set droplets.rain=nan", &["rain = NaN", "0 to 511"]);
    refused("--size 0", &["0x0", "1 to 32767"]);
    assert_eq!(folder.list(""), ["a", "r.toml"]);
}

#[test]
fn settings_of_nested_stages_and_wrong_ones_are_told_apart() {
    let folder = Folder::new("set");
    let nested = "rain = 2\n[[stage.with]]\nkind = \"coastal\"\nevery = 32\n[[stage]]\nkind = \"blur\"";
    folder.file("r.toml", RECIPE.replace("rain = 2", nested));
    folder.thalweg("run r.toml -o a --device cpu --set coastal.every=16 --set coastal.power=2").ok();
    let with = &folder.json("a/manifest.json")["recipe"]["stage"][1]["with"][0];
    assert_eq!((&with["every"], &with["power"]), (&16.into(), &2.into()));
    let refused = |set: &str, words: &[&str]| {
        let ran = folder.thalweg(&format!("run r.toml --dry-run --device cpu --set {set}"));
        ran.refused(1, &[&[set.split('=').next_back().unwrap()], words].concat());
    };
    refused("coastal.every=129", &["stage 2, with 1, coastal: every = 129: allowed 1 to 128, the steps of droplets"]);
    refused("coastal.every=0.5", &["--set coastal.every=0.5: every = 0.5: allowed a whole number, 1 to 262144"]);
    refused("blur.every=2", &["\"every\"", "[[stage.with]]", "blur is none in this recipe"]);
    refused("coastal.evry=2", &["\"evry\": no such parameter of coastal", "wave_height_max_m"]);
    refused("droplets.seed=2", &["\"seed\" can be set in a recipe's file only"]);
    refused("9.rain=2", &["\"9\": no such stage", "diamond_square, droplets, coastal, blur; or a stage's number, 1 to 3"]);
    refused("droplets.rain=inf", &["rain = inf: allowed 0 to 511"]);
    refused("droplets.rain=0", &["stage 2, with 1, coastal: droplets takes no step here (rain = 0)"]);
}

#[test]
fn no_rain_leaves_the_land_alone() {
    let folder = Folder::new("norain");
    folder.file("r.toml", RECIPE.replace("format = \"png\"", "format = \"npy\"").replace("\"flow\"", "\"flow\", \"wear\""));
    let dry = folder.thalweg("run r.toml -o dry --device cpu --set droplets.rain=0").ok();
    assert!(dry.stdout.contains("0.0 M droplet-steps/s") && !dry.stdout.contains("NaN"), "{}", dry.stdout);
    let derived = &folder.json("dry/manifest.json")["stages"][1]["derived"];
    assert_eq!((&derived["steps"], &derived["lives"], &derived["rain"]), (&0.into(), &0.into(), &0.0.into()));
    let alone = RECIPE.split("[[stage]]\nkind = \"droplets\"").next().unwrap();
    folder.file("land.toml", format!("{alone}[output]\nformat = \"npy\"\n")).thalweg("run land.toml -o land --device cpu").ok();
    assert_eq!(folder.read("dry/height.npy"), folder.read("land/height.npy"));
    for name in ["flow", "wear"] {
        let map = io::read(&folder.0.join(format!("dry/{name}.npy")), &io::ReadOptions::default()).unwrap().map;
        assert!(map.data.iter().all(|v| *v == 0.0), "{name}");
    }
}

#[test]
fn dry_run_tells_memory_and_writes_nothing() {
    let folder = Folder::new("dry");
    let ran = folder.file("r.toml", RECIPE).thalweg("run r.toml -o a --dry-run --json").ok();
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
    let bytes = plan["bytes"].as_f64().unwrap();
    assert_eq!(plan["bytes_per_cell"].as_f64().unwrap(), bytes / (64.0 * 48.0));
    assert_eq!(plan["stages"][1]["passes"], 3 * 8 * 16 + 1);
    assert_eq!(plan["files"].as_array().unwrap().len(), 4);
    assert_eq!(folder.list(""), ["r.toml"]);
}

#[test]
fn outputs_are_replaced_only_when_forced() {
    let folder = Folder::new("force");
    folder.file("r.toml", RECIPE).thalweg("run r.toml -o a --device cpu").ok();
    std::fs::remove_file(folder.0.join("a/manifest.json")).unwrap();
    let before = folder.read("a/height.png");
    folder.thalweg("run r.toml -o a --device cpu --seed 6").refused(1, &["height.png", "exists", "--force"]);
    assert_eq!(folder.read("a/height.png"), before);
    folder.thalweg("run r.toml -o a --device cpu --seed 6 --force").ok();
    assert_ne!(folder.read("a/height.png"), before);
    assert_eq!(folder.json("a/manifest.json")["seed"], 6);
}

#[test]
fn wrong_recipes_are_named() {
    let folder = Folder::new("recipes");
    let refused = |change: [&str; 2], words: &[&str]| {
        assert!(RECIPE.contains(change[0]), "{change:?}");
        folder.file("r.toml", RECIPE.replace(change[0], change[1])).thalweg("run r.toml -o a --device cpu").refused(1, words);
        assert_eq!(folder.list(""), ["r.toml"]);
    };
    refused(["spacing_m", "spacing"], &["r.toml", "spacing", "spacing_m"]);
    refused(["lifetime", "lifetimes"], &["droplets", "lifetimes", "did you mean \"lifetime\""]);
    refused(["lifetime = 16", "lifetime = 9000"], &["lifetime = 9000", "2 to 8192"]);
    refused(["rain = 2", "rain = nan"], &["rain", "0 to 511"]);
    refused(["relief_m = 200", "relief_m = inf"], &["relief_m", "0 to 1000000"]);
    refused(["spacing_m = 10", "spacing_m = nan"], &["spacing_m", "0.001 to 1000000"]);
    refused(["width = 64", "width = 0"], &["width = 0", "1 to 32767"]);
    refused(["world = 1024", "world = 1000"], &["world = 1000", "powers of two", "1024"]);
    refused(["\"flow\"", "\"flows\""], &["flows", "flow"]);
    refused(["\"flow\"", "\"height\""], &["height", "twice"]);
    refused(["\"png\"", "\"../png\""], &["../png", "tif"]);
    refused(["schema = 1", "schema = 2"], &["schema = 2", "1"]);
    refused(["seed = 5", "seed = -5"], &["seed", "18446744073709551615"]);
    // Stages between the steps of others; there are 128 steps.
    let nested = |table: &str, words: &[&str]| {
        let table = format!("rain = 2\n[[stage.with]]\n{table}");
        refused(["rain = 2", table.as_str()], &[&["stage 2"], words].concat());
    };
    nested("kind = \"thermal\"", &["with 1", "every is missing"]);
    nested("kind = \"thermal\"\nevery = 0", &["with 1", "every = 0", "1 to 262144"]);
    nested("kind = \"thermal\"\nevery = 2.5", &["with 1", "every = 2.5", "whole number"]);
    nested("kind = \"thermal\"\nevery = 129", &["with 1, thermal", "every = 129", "1 to 128", "never"]);
    nested("kind = \"thermal\"\nevery = 9\nrepose_deg = 90", &["with 1, thermal", "repose_deg = 90", "0 to 89"]);
    nested("kind = \"snowballs\"\nevery = 9", &["snowballs cannot run between", "thermal, coastal"]);
    nested("kind = \"island\"\nevery = 9", &["island cannot run between"]);
    nested("kind = \"thermal\"\nevery = 9\n[[stage.with.with]]\nkind = \"blur\"\nevery = 1", &["none between its own"]);
    refused(["rain = 2", "with = 3"], &["stage 2", "[[stage.with]]"]);
    let sliding = RECIPE.replace("rain = 2", "rain = 2\n[[stage.with]]\nkind = \"thermal\"\nevery = 128");
    folder.file("r.toml", sliding);
    for size in ["64x48", "64x1"] {
        folder.thalweg(&format!("run r.toml --dry-run --size {size}")).ok();
    }

    // Angles, and what wind needs.
    for angle in ["90", "-1", "nan", "89.5"] {
        let said = format!("repose_deg = {}", angle.replace("nan", "NaN"));
        let thermal = format!("[[stage]]\nkind = \"thermal\"\nrepose_deg = {angle}\n[output]");
        refused(["[output]", thermal.as_str()], &["stage 3, thermal", &said, "0 to 89"]);
    }
    refused(["[output]", "[[stage]]\nkind = \"wind\"\n[output]"], &["stage 3, wind", "loose sediment", "map = \"sediment\""]);
    refused(["[output]", "[[stage]]\nkind = \"layer\"\nlow = 1.5\n[output]"], &["stage 3, layer", "low = 1.5", "0 to 1"]);
    refused(["[output]", "[[stage]]\nkind = \"layer\"\nhigh = -0.1\n[output]"], &["stage 3, layer", "high = -0.1", "0 to 1"]);
    refused(["[output]", "[[stage]]\nkind = \"layer\"\nmap = \"snow\"\n[output]"], &["map = \"snow\"", "hardness, rain"]);
    refused(["[output]", "[[stage]]\nkind = \"layer\"\nstart = 1\n[output]"], &["start = end = 1", "differ"]);

    // Margins.
    refused(["seed = 5", "seed = 5\nmargin = 9000"], &["margin = 9000", "0 to 8192"]);
    refused(["seed = 5", "seed = 5\nmargin = -1"], &["margin = -1", "0 to 8192"]);
    refused(["width = 64", "width = 30000\nmargin = 2000"], &["30000 x 48", "margin of 2000", "32767"]);

    folder.thalweg("run none.toml -o a").refused(1, &["none.toml"]);
    folder.thalweg("run r.toml").refused(2, &["--output"]);
    folder.thalweg("run r.toml -o a --divice cpu").refused(2, &["--divice"]);
}

#[test]
fn errors_are_objects_for_scripts() {
    let folder = Folder::new("json");
    let ran = folder.thalweg("run none.toml -o a --json");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let error: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(error["error"]["code"], "input");
    assert!(error["error"]["message"].as_str().unwrap().contains("none.toml"));
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_the_work() {
    let folder = Folder::new("unwritable");
    // The recipe would run for minutes.
    let long = RECIPE.replace("width = 64", "width = 4096").replace("height = 48", "height = 4096");
    folder.file("r.toml", long).file("file", "mine").file("hills.npy", npy(&hills(32, 32)));
    for (dir, name) in [("file", "file"), ("file/under", "file"), ("file/far/under", "file"), ("/proc/nothing/here", "/proc")] {
        folder.thalweg(&format!("run r.toml -o {dir} --device cpu")).refused(1, &[name]);
        assert_eq!(folder.list(""), ["file", "hills.npy", "r.toml"]);
    }
    folder.thalweg("erode hills.npy -o file/out.tif").refused(1, &["file"]);
    folder.thalweg("erode hills.npy -o none/out.tif").refused(1, &["none"]);
    folder.thalweg("erode hills.npy -o out.tif --flow out.tif").refused(1, &["out.tif", "two outputs"]);
    folder.thalweg("erode hills.npy -o out.bmp").refused(1, &["out.bmp", ".png"]);
    folder.thalweg("erode hills.npy -o . ").refused(1, &["extension"]);
    assert_eq!(folder.list(""), ["file", "hills.npy", "r.toml"]);
    assert_eq!(folder.read("file"), b"mine");
}

#[test]
fn erode_keeps_size_range_and_place() {
    let folder = Folder::new("erode");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jacksboro.tif"), folder.0.join("in.tif")).unwrap();
    let line = "erode in.tif -o out.tif --flow flow.npy --preview p.png --device cpu --set rain=0.25 --set lifetime=16";
    let ran = folder.thalweg(line).ok();
    assert!(ran.stdout.contains("403 x 344"), "{}", ran.stdout);
    let read = |name: &str| io::read(&folder.0.join(name), &io::ReadOptions::default()).unwrap().map;
    let (before, after, flow) = (read("in.tif"), read("out.tif"), read("flow.npy"));
    assert_eq!((after.width, after.height), (before.width, before.height));
    assert!(before.georef.is_some() && after.georef.is_some());
    assert_ne!(after.data, before.data);
    assert!(flow.data.iter().sum::<f32>() > 403.0 * 344.0);
    assert_eq!(folder.list(""), ["flow.npy", "in.tif", "out.tif", "p.png"]);
}

#[test]
fn erode_replaces_its_own_input_when_forced() {
    let folder = Folder::new("self");
    let before = npy(&hills(40, 30));
    folder.file("h.npy", &before);
    folder.thalweg("erode h.npy -o h.npy --device cpu").refused(1, &["h.npy", "--force"]);
    assert_eq!(folder.read("h.npy"), before);
    folder.thalweg("erode h.npy -o h.npy --device cpu --spacing 10 --force").ok();
    assert_ne!(folder.read("h.npy"), before);
    let after = io::read(&folder.0.join("h.npy"), &io::ReadOptions::default()).unwrap().map;
    assert_eq!((after.width, after.height), (40, 30));
}

#[test]
fn presets_and_settings_of_erode_are_checked() {
    let folder = Folder::new("presets");
    folder.file("h.npy", npy(&hills(16, 16)));
    folder.thalweg("erode h.npy -o o.npy --preset depe").refused(1, &["depe", "deep"]);
    folder.thalweg("erode h.npy -o o.npy --set rian=1").refused(1, &["rian", "rain"]);
    folder.thalweg("erode h.npy -o o.npy --set rain").refused(1, &["KEY=VALUE"]);
    folder.thalweg("erode h.npy -o o.npy --spacing 0").refused(1, &["spacing"]);
    folder.thalweg("erode h.npy -o o.npy --spacing nan").refused(1, &["spacing"]);
    assert_eq!(folder.list(""), ["h.npy"]);
    folder.thalweg("erode h.npy -o o.npy --preset gentle --spacing 10 --device cpu").ok();
    folder.thalweg("erode h.npy -o p.npy --spacing 10 --device cpu").ok();
    assert_ne!(folder.read("o.npy"), folder.read("p.npy"));
}

/// A PNG whose header tells of `side` x `side` pixels, with true checksums.
fn png_header(side: u32) -> Vec<u8> {
    let mut bytes = vec![0x89, b'P', b'N', b'G', 13, 10, 26, 10];
    let mut chunk = |name: &[u8], data: &[u8]| {
        let content = [name, data].concat();
        let crc = content.iter().fold(!0u32, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
        });
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(content);
        bytes.extend((!crc).to_be_bytes());
    };
    let side = side.to_be_bytes();
    chunk(b"IHDR", &[&side[..], &side[..], &[16, 0, 0, 0, 0]].concat());
    chunk(b"IDAT", &[0x78, 0x9c, 3, 0, 0, 0, 0, 1]);
    chunk(b"IEND", &[]);
    bytes
}

#[test]
fn bad_inputs_are_refused_by_name_and_leave_nothing() {
    let folder = Folder::new("inputs");
    let whole = io::encode(&hills(32, 32), io::Format::Png).unwrap().0;
    let spoilt = |value| spoilt(&hills(32, 32), 7, value);
    let recipe = "schema = 1\nspacing_m = 10\ninput = \"NAME\"\n[[stage]]\nkind = \"droplets\"\n";
    for (name, bytes, word) in [
        ("empty.png", vec![], "empty"),
        ("cut.png", whole[..whole.len() / 2].to_vec(), "cut.png"),
        ("text.png", b"these are words and not samples".to_vec(), "PNG"),
        ("nan.npy", spoilt(f32::NAN), "--nodata"),
        ("inf.npy", spoilt(f32::NEG_INFINITY), "--nodata"),
        ("huge.png", png_header(1 << 31), "huge.png"),
        ("large.png", png_header((1 << 31) - 1), "samples"),
        ("odd.r16", vec![0; 30], "--size"),
    ] {
        folder.file(name, bytes);
        folder.thalweg(&format!("erode {name} -o out.tif --device cpu")).refused(1, &[name, word]);
        folder.file("r.toml", recipe.replace("NAME", name)).thalweg("run r.toml -o out --device cpu").refused(1, &[name]);
        assert_eq!(folder.list("").len(), 2);
        std::fs::remove_file(folder.0.join(name)).unwrap();
        std::fs::remove_file(folder.0.join("r.toml")).unwrap();
        assert_eq!(folder.list(""), [""; 0]);
    }
    folder.thalweg("erode none.png -o out.tif").refused(1, &["none.png", "no such file"]);
    folder.file("nan.npy", spoilt(f32::NAN)).thalweg("erode nan.npy -o out.tif --device cpu --nodata -5").ok();
}

/// Hardness, rain and the rest as files: whatever is wrong with one is said with its name, before the work.
#[test]
fn bad_layers_are_refused_by_name_and_leave_nothing() {
    let folder = Folder::new("layers");
    let spoilt = |value| spoilt(&map(64, 48, |_, _| 0.5), 2 * 64 + 3, value);
    for (name, bytes, words) in [
        ("small.npy", npy(&map(32, 48, |_, _| 0.5)), &["32 x 48", "64 x 48", "same size"][..]),
        ("nan.npy", spoilt(f32::NAN), &["NaN", "row 2, column 3"]),
        ("inf.npy", spoilt(f32::INFINITY), &["infinite", "row 2, column 3"]),
        ("high.npy", spoilt(1.5), &["1.5 in column 3, row 2", "0 to 1"]),
        ("low.npy", spoilt(-0.25), &["-0.25 in column 3, row 2", "0 to 1"]),
        ("cut.png", png_header(64)[..40].to_vec(), &["damaged or cut off"]),
        ("mask.docx", vec![1], &[".docx", ".png, .tif"]),
        ("mask", vec![1], &["no extension", ".png, .tif"]),
    ] {
        for layer in ["hardness", "rain", "vegetation", "sediment"] {
            let stage = format!("[[stage]]\nkind = \"layer\"\nmap = \"{layer}\"\nfrom = \"file\"\nfile = \"{name}\"\n[output]");
            folder.file(name, &bytes).file("r.toml", RECIPE.replace("[output]", &stage));
            let ran = folder.thalweg("run r.toml -o a --device cpu").refused(1, &[&[name], words].concat());
            assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
            assert_eq!(folder.list("").len(), 2, "{:?}", folder.list(""));
        }
        std::fs::remove_file(folder.0.join(name)).unwrap();
        folder.thalweg("run r.toml -o a --device cpu").refused(1, &[name]);
        folder.thalweg("run r.toml --dry-run").refused(1, &[name]);
    }
    let missing = RECIPE.replace("[output]", "[[stage]]\nkind = \"layer\"\nfrom = \"file\"\n[output]");
    folder.file("r.toml", missing).thalweg("run r.toml -o a").refused(1, &["stage 3, layer", "file = \"\"", "from = \"file\""]);
    // A picture of 8 bits holds shares: nothing to warn of, and its whites are 1.
    let picture = io::Picture { width: 64, height: 48, channels: 1, data: vec![255; 64 * 48] };
    folder.file("white.png", io::encode_picture(&picture).unwrap());
    let stage = "[[stage]]\nkind = \"layer\"\nfrom = \"file\"\nfile = \"white.png\"\n[output]";
    let hard = RECIPE.replace("[output]", stage).replace("\"flow\"", "\"hardness\"").replace("\"png\"", "\"npy\"");
    let ran = folder.file("r.toml", hard).thalweg("run r.toml -o a --device cpu").ok();
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let hardness = io::read(&folder.0.join("a/hardness.npy"), &io::ReadOptions::default()).unwrap().map;
    assert_eq!(hardness.min_max(), (1.0, 1.0));
}

#[test]
fn odd_sizes_erode() {
    let folder = Folder::new("sizes");
    for (width, height) in [(1, 1), (1, 37), (41, 1), (2, 2), (31, 67), (101, 103)] {
        folder.file("h.npy", npy(&hills(width, height)));
        folder.thalweg("erode h.npy -o o.npy --force --device cpu --spacing 10 --set lifetime=16").ok();
        let map = io::read(&folder.0.join("o.npy"), &io::ReadOptions::default()).unwrap().map;
        assert_eq!((map.width, map.height), (width, height));
        let (low, high) = map.min_max();
        assert!(low >= -1.0 && high <= 401.0, "{width}x{height}: {low} to {high}");
    }
}

#[test]
fn eight_bits_work_with_a_warning() {
    let folder = Folder::new("eight");
    let data = (0..32 * 32).map(|i| (i / 8) as u8).collect();
    let picture = io::Picture { width: 32, height: 32, channels: 1, data };
    folder.file("h.png", io::encode_picture(&picture).unwrap());
    let ran = folder.thalweg("erode h.png -o o.png --device cpu --range -50 300.5 --spacing 10").ok();
    assert!(ran.stderr.contains("warning: ") && ran.stderr.contains("8 bits"), "{}", ran.stderr);
    let quiet = folder.thalweg("erode h.png -o q.png --device cpu --range -50 300.5 --spacing 10 -q").ok();
    assert!(!quiet.stderr.contains("warning: ") && quiet.stdout.is_empty(), "{}", quiet.stderr);
}

#[test]
fn render_draws_each_picture() {
    let folder = Folder::new("render");
    folder.file("h.npy", npy(&hills(60, 40)));
    let options = ["", "--sea-level 100", "--z-factor 3 --azimuth -45 --altitude 30", "--mask", "--mask --log", "--skyline"];
    let mut seen = vec![];
    for (i, option) in options.iter().enumerate() {
        folder.thalweg(&format!("render h.npy -o {i}.png --spacing 10 {option}")).ok();
        seen.push(folder.read(&format!("{i}.png")));
    }
    for i in 0..seen.len() {
        assert!((0..i).all(|j| seen[i] != seen[j]), "{} looks like another", options[i]);
    }
    folder.thalweg("render h.npy -o 0.png").refused(1, &["0.png", "--force"]);
    folder.thalweg("render h.npy -o x.png --altitude 91").refused(1, &["--altitude 91", "0 to 90"]);
    folder.thalweg("render h.npy -o x.png --z-factor nan").refused(1, &["--z-factor", "1000"]);
    folder.thalweg("render h.npy -o x.png --log").refused(2, &["--mask"]);
}

#[test]
fn render_draws_the_ground_and_before_and_after() {
    let folder = Folder::new("ground");
    folder.file("h.npy", npy(&hills(60, 40))).file("b.npy", npy(&map(60, 40, |r, c| (r + c) as f32)));
    let flow = |high: f32| map(60, 40, move |r, _| if r > 36 { high } else { 1.0 });
    for (name, high) in [("flow", 900.0), ("wear", 40.0), ("deposit", 30.0)] {
        folder.file(&format!("{name}.npy"), npy(&flow(high)));
    }
    let maps = ["", "--flow flow.npy", "--wear wear.npy", "--deposit deposit.npy"];
    let mut seen = vec![];
    for (i, option) in maps.iter().enumerate() {
        folder.thalweg(&format!("render h.npy -o {i}.png --spacing 100 --ground {option}")).ok();
        seen.push(folder.read(&format!("{i}.png")));
        assert!((0..i).all(|j| seen[i] != seen[j]), "{option} looks like another");
    }
    for option in ["", "--ground --flow flow.npy"] {
        let line = format!("render h.npy -o both.png --spacing 10 --force --json --before b.npy {option}");
        let report: Value = serde_json::from_str(&folder.thalweg(&line).ok().stdout).unwrap();
        assert_eq!((&report["width"], &report["height"]), (&122.into(), &40.into()));
    }
    folder.file("small.npy", npy(&hills(30, 40)));
    folder.file("nan.npy", spoilt(&hills(60, 40), 7 * 60, f32::NAN));
    for option in ["--before", "--ground --flow", "--ground --wear", "--ground --deposit"] {
        let refused = |file: &str, words: &[&str]| {
            folder.thalweg(&format!("render h.npy -o x.png {option} {file}")).refused(1, &[&[file], words].concat());
        };
        refused("small.npy", &["30x40", "h.npy has 60x40", "same size"]);
        refused("nan.npy", &["NaN", "row 7, column 0"]);
        refused("none.npy", &["no such file"]);
    }
    assert!(!folder.list("").contains(&"x.png".to_string()));
    folder.thalweg("render h.npy -o x.png --flow flow.npy").refused(2, &["--ground"]);
    folder.file("below.npy", npy(&map(60, 40, |r, c| if (r, c) == (7, 3) { -2.5 } else { 1.0 })));
    for name in ["flow", "wear", "deposit", "sediment"] {
        let line = format!("render h.npy -o x.png --spacing 10 --ground --{name} below.npy");
        folder.thalweg(&line).refused(1, &[&format!("{name} = -2.5 in column 3, row 7: allowed 0 or more")]);
    }
}

/// The pictures of an animation, and their size.
fn film(bytes: Vec<u8>) -> (Vec<Vec<u8>>, (u32, u32)) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let (count, size) = (reader.info().animation_control.unwrap().num_frames, reader.info().size());
    let mut next = || {
        let mut data = vec![0; (size.0 * size.1 * 3) as usize];
        reader.next_frame(&mut data).unwrap();
        data
    };
    ((0..count).map(|_| next()).collect(), size)
}

/// The pixels of a picture.
fn pixels(bytes: Vec<u8>) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut data).unwrap();
    data
}

#[test]
fn run_films_the_erosion() {
    let folder = Folder::new("film");
    let ground = RECIPE.replace("sea_level_m", "colour = \"ground\"\nsea_level_m");
    folder.file("r.toml", RECIPE).file("g.toml", ground).thalweg("run r.toml -o plain --device cpu").ok();
    let ran = folder.thalweg("run r.toml -o film --device cpu --frames 7 --json").ok();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let numbers: Vec<String> = (0..7).map(|n| format!("{n:04}.png")).collect();
    assert_eq!(folder.list("film/frames"), numbers);
    assert_eq!(folder.list("film"), ["flow.png", "frames", "height.png", "manifest.json", "preview.png", "timelapse.apng"]);
    assert_eq!(report["files"].as_array().unwrap().len(), 12);
    for file in report["files"].as_array().unwrap() {
        assert_eq!(file["blake3"], hash(&folder.read(file["path"].as_str().unwrap())));
    }
    // Watching changes nothing.
    for name in ["flow.png", "height.png", "preview.png"] {
        assert_eq!(folder.read(&format!("film/{name}")), folder.read(&format!("plain/{name}")), "{name}");
    }
    let (mut watched, plain) = (folder.json("film/manifest.json"), folder.json("plain/manifest.json"));
    let said = watched.as_object_mut().unwrap().shift_remove("timelapse").unwrap();
    assert_eq!(said, serde_json::json!({ "file": "timelapse.apng", "folder": "frames", "frames": 7 }));
    assert_eq!(watched, plain);
    let (pictures, size) = film(folder.read("film/timelapse.apng"));
    assert_eq!(size, (64, 48));
    for (picture, name) in pictures.iter().zip(&numbers) {
        assert_eq!(*picture, pixels(folder.read(&format!("film/frames/{name}"))), "{name}");
    }
    assert!(pictures.windows(2).all(|pair| pair[0] != pair[1]));
    // Smaller pictures, in the colours of the ground.
    folder.thalweg("run g.toml -o small --device cpu --frames 2 --frame-size 16").ok();
    let (small, size) = film(folder.read("small/timelapse.apng"));
    assert_eq!((small.len(), size), (2, (16, 12)));
    assert_eq!(folder.read("small/height.png"), folder.read("plain/height.png"));
    assert_ne!(folder.read("small/preview.png"), folder.read("plain/preview.png"));
    assert_eq!(folder.list("small").len(), 6, "maps that only colour the picture are not written");

    // Forced, but not over a longer one.
    folder.thalweg("run r.toml -o film --device cpu --frames 7").refused(1, &["exists", "--force"]);
    folder.thalweg("run r.toml -o film --device cpu --frames 8 --force").ok();
    assert_eq!(folder.list("film/frames").len(), 8);
    // A longer one gives way if the manifest lists it.
    folder.thalweg("run r.toml -o film --device cpu --frames 5 --force").ok();
    assert_eq!(folder.list("film/frames"), numbers[..5]);
    folder.file("film/frames/0005.png", "");
    folder.thalweg("run r.toml -o film --device cpu --frames 5 --force").refused(1, &["0005.png", "longer"]);
    let dry = folder.thalweg("run r.toml -o dry --device cpu --frames 9 --dry-run --json").ok();
    let plan: Value = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!(plan["files"].as_array().unwrap().len(), 4 + 1 + 9);
}

#[test]
fn films_that_cannot_be_are_refused_before_the_work() {
    let folder = Folder::new("nofilm");
    let level = RECIPE.replace("[[stage]]\nkind = \"droplets\"\nlifetime = 16\nrain = 2\n", "").replace(", \"flow\"", "");
    folder.file("r.toml", RECIPE).file("level.toml", level).file("h.npy", npy(&hills(32, 32)));
    for frames in ["0", "1", "130", "1000000"] {
        let line = format!("run r.toml -o a --device cpu --frames {frames}");
        folder.thalweg(&line).refused(1, &[&format!("frames = {frames}"), "2 to 129"]);
    }
    folder.thalweg("run level.toml -o a --device cpu --frames 3").refused(1, &["nothing to watch"]);
    folder.thalweg("run r.toml -o a --frames 3 --frame-size 15").refused(2, &["--frame-size", "16"]);
    folder.thalweg("run r.toml -o a --frame-size 100").refused(2, &["--frames"]);
    folder.thalweg("erode h.npy -o o.npy --spacing 10 --frames 3").refused(1, &["--timelapse"]);
    folder.thalweg("erode h.npy -o o.npy --spacing 10 --frames 3 --timelapse t.gif").refused(1, &["t.gif", ".apng"]);
    folder.thalweg("erode h.npy -o o.npy --spacing 10 --timelapse t.apng").refused(2, &["--frames"]);
    folder.thalweg("erode h.npy -o o.npy --spacing 10 --frames 9999999 --timelapse t.apng").refused(1, &["9999999", "2 to"]);
    assert_eq!(folder.list(""), ["h.npy", "level.toml", "r.toml"]);
}

#[test]
fn erode_films_too() {
    let folder = Folder::new("erodefilm");
    // Quarters of a cell, so that no height is rounded.
    folder.file("h.npy", npy(&map(50, 40, |r, c| 2.5 * ((r * r / 9 + c * 3) % 90) as f32)));
    let line = "erode h.npy -o OUT --device cpu --spacing 10 --margin 5 --set lifetime=16";
    folder.thalweg(&line.replace("OUT", "plain.npy")).ok();
    folder.thalweg(&format!("{} --frames 4 --timelapse t.apng", line.replace("OUT", "o.npy"))).ok();
    assert_eq!(folder.list(""), ["h.npy", "o.npy", "plain.npy", "t.apng"]);
    assert_eq!(folder.read("o.npy"), folder.read("plain.npy"));
    let (pictures, size) = film(folder.read("t.apng"));
    assert_eq!((pictures.len(), size), (4, (50, 40)));
    // The first is the map that came, in its own colours.
    folder.thalweg("render h.npy -o h.png --spacing 10").ok();
    assert_eq!(pictures[0], pixels(folder.read("h.png")));
}

#[test]
fn erode_has_the_colours_and_pictures_of_run() {
    let folder = Folder::new("erodeground");
    folder.file("h.npy", npy(&map(50, 40, |r, c| 2.5 * ((r * r / 9 + c * 3) % 90) as f32)));
    let line = "erode h.npy -o o.npy --device cpu --spacing 10 --margin 5 --set lifetime=16 --force --preview";
    folder.thalweg(&format!("{line} height.png")).ok();
    let film = "--frames 4 --timelapse t.apng --pictures shots";
    folder.thalweg(&format!("{line} ground.png --colour ground {film}")).ok();
    let recipe = "schema = 1\nspacing_m = 10\nmargin = 5\ninput = \"h.npy\"\n[[stage]]\nkind = \"droplets\"\nlifetime = 16\n\
                  [output]\nformat = \"npy\"\ncolour = \"ground\"\n";
    folder.file("r.toml", recipe).thalweg("run r.toml -o run --device cpu --frames 4").ok();
    assert_eq!(folder.read("ground.png"), folder.read("run/preview.png"));
    assert_ne!(folder.read("ground.png"), folder.read("height.png"));
    assert_eq!(folder.read("o.npy"), folder.read("run/height.npy"));
    assert_eq!(folder.read("t.apng"), folder.read("run/timelapse.apng"));
    assert_eq!(folder.list("shots"), folder.list("run/frames"));
    for name in folder.list("shots") {
        assert_eq!(folder.read(&format!("shots/{name}")), folder.read(&format!("run/frames/{name}")), "{name}");
    }
    let shorter = film.replace("frames 4", "frames 3");
    folder.thalweg(&format!("{line} ground.png {shorter}")).refused(1, &["0003.png", "longer time-lapse"]);
    folder.thalweg("erode h.npy -o x.npy --pictures shots").refused(2, &["--frames"]);
    folder.thalweg("erode h.npy -o x.npy --colour biomes").refused(2, &["height, ground"]);
}

/// Environment in which no Vulkan driver is found.
fn without_driver(command: &mut Command) -> &mut Command {
    command.env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent")
}

// Elsewhere the drivers are found in other ways.
#[cfg(target_os = "linux")]
#[test]
fn without_a_driver_gpu_is_an_error_and_auto_is_the_cpu() {
    let folder = Folder::new("nodriver");
    folder.file("r.toml", RECIPE);
    let run = |line: &str| ran(without_driver(&mut folder.command(line)).output().unwrap());
    for device in ["gpu", "0", "llvmpipe"] {
        run(&format!("run r.toml -o a --device {device}")).refused(2, &["no graphics adapter", "--device cpu"]);
    }
    run("compare r.toml").refused(2, &["no graphics adapter"]);
    assert_eq!(folder.list(""), ["r.toml"]);
    assert!(run("run r.toml -o auto").ok().stdout.contains("CPU"));
    folder.thalweg("run r.toml -o cpu --device cpu").ok();
    assert_eq!(folder.read("auto/manifest.json"), folder.read("cpu/manifest.json"));
    let devices: Value = serde_json::from_str(&run("devices --json").ok().stdout).unwrap();
    assert_eq!(devices["auto"], "cpu");
    assert_eq!(devices["adapters"], serde_json::json!([]));
}

/// Whether to use a graphics adapter; `THALWEG_GPU` is `off`, `require`, or not there, which means if there is one.
fn adapter(test: &str) -> bool {
    let wish = std::env::var("THALWEG_GPU").unwrap_or_default();
    let there =
        wish != "off" && Folder::new(&format!("adapter-{test}")).thalweg("devices --json").ok().stdout.contains("\"index\":0");
    assert!(there || wish != "require", "THALWEG_GPU=require and there is no adapter");
    if !there {
        crate::common::left_out(&format!("command::{test}"), &wish);
    }
    there
}

#[test]
fn compare_finds_no_difference() {
    if !adapter("compare_finds_no_difference") {
        return;
    }
    let folder = Folder::new("compare");
    folder.file("r.toml", RECIPE).file("h.npy", npy(&hills(50, 40)));
    folder.file("input.toml", "schema = 1\nspacing_m = 10\ninput = \"h.npy\"\n[[stage]]\nkind = \"droplets\"\nlifetime = 16\n");
    let lines = ["compare r.toml --size 64", "compare r.toml --every stage --workgroup-size 32", "compare input.toml"];
    for (i, line) in lines.into_iter().enumerate() {
        let ran = folder.thalweg(&format!("{line} --json --picture p.png --force")).ok();
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((&report["equal"], &report["changed"]), (&true.into(), &true.into()), "{report}");
        let stages = report["stages"].as_array().unwrap();
        assert_eq!(stages.last().unwrap()["stage"], "droplets");
        assert!(stages.iter().all(|s| s["words"].as_u64().unwrap() > 1000));
        // White all over.
        let (width, height) = [(64, 64), (64, 48), (50, 40)][i];
        let data = vec![255; width as usize * height as usize * 3];
        let white = io::encode_picture(&io::Picture { width, height, channels: 3, data }).unwrap();
        assert_eq!(folder.read("p.png"), white);
    }
    let text = folder.thalweg("compare r.toml").ok().stdout;
    assert!(text.contains("equal") && text.contains("drops") && text.contains("64 x 48"), "{text}");
    folder.thalweg("compare r.toml --device cpu").refused(1, &["--device cpu"]);
}

#[test]
fn gpu_and_cpu_write_the_same_files() {
    if !adapter("gpu_and_cpu_write_the_same_files") {
        return;
    }
    let folder = Folder::new("gpu");
    folder.file("r.toml", RECIPE).thalweg("run r.toml -o cpu --device cpu").ok();
    folder.thalweg("run r.toml -o gpu --device gpu").ok();
    assert_eq!(folder.list("cpu"), folder.list("gpu"));
    for name in folder.list("cpu") {
        assert_eq!(folder.read(&format!("cpu/{name}")), folder.read(&format!("gpu/{name}")), "{name}");
    }
    // A dry run says no to what the run would say no to.
    for size in ["32767", "64"] {
        let line = format!("run r.toml --size {size} --device gpu --set droplets.density=1 --set diamond_square.world=65536");
        let [dry, wet] = [format!("{line} --dry-run"), format!("{line} -o big")].map(|line| folder.thalweg(&line));
        match size {
            "64" => assert!(dry.ok().stdout.contains("memory") && wet.ok().code == Some(0)),
            _ => [dry, wet].map(|ran| ran.refused(1, &["binds", "fits", "--device cpu"])).into_iter().for_each(drop),
        }
    }
    std::fs::remove_dir_all(folder.0.join("big")).unwrap();
    folder.thalweg("run r.toml -o x --device 99").refused(2, &["99", "0: "]);
    folder.thalweg("run r.toml -o x --device nonesuch").refused(2, &["nonesuch", "0: "]);
    assert_eq!(folder.list(""), ["cpu", "gpu", "r.toml"]);
}

#[cfg(unix)]
#[test]
fn interrupt_ends_the_run_and_leaves_nothing() {
    // The folder appears right before the work begins.
    interrupted("interrupt", "", "a/b");
}

#[cfg(unix)]
#[test]
fn interrupt_ends_a_film_and_leaves_nothing() {
    interrupted("interruptfilm", "--frames 10000 --frame-size 64", "a/b/frames/0003.png");
}

/// Interrupts a run once there is a file.
#[cfg(unix)]
fn interrupted(name: &str, options: &str, sign: &str) {
    let folder = Folder::new(name);
    // An hour of work.
    let long = RECIPE.replace("width = 64", "width = 1024").replace("lifetime = 16\nrain = 2", "lifetime = 4096\nrain = 4");
    folder.file("r.toml", long);
    let mut child = folder
        .command(&format!("run r.toml -o a/b --device cpu {options}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !folder.0.join(sign).exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not begin");
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let asked = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if asked.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("the run does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    ran(child.wait_with_output().unwrap()).refused(130, &["interrupted"]);
    assert_eq!(folder.list(""), ["r.toml"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new("pipe");
    folder.file("r.toml", RECIPE);
    for line in ["devices", "devices --json", "run r.toml -o a --dry-run"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        folder.command(line).stdout(writer).output().map(ran).unwrap().ok();
    }
}

#[test]
fn bench_measures_every_executor() {
    let folder = Folder::new("bench");
    let report: Value = serde_json::from_str(&folder.thalweg("bench --quick --json --device cpu").ok().stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    for bench in ["diamond_square", "droplets, density 1/4", "droplets", "encode 16-bit PNG", "random atomic additions"] {
        let row = rows.iter().find(|r| r["bench"] == bench).unwrap_or_else(|| panic!("no {bench}"));
        assert!(row["median"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn bench_measures_the_tables_of_the_articles() {
    let folder = Folder::new("tables");
    let table = |more: &str| -> Value {
        serde_json::from_str(&folder.thalweg(&format!("bench --quick --json --device cpu --table {more}")).ok().stdout).unwrap()
    };
    for name in ["droplets", "seed002"] {
        let report = table(name);
        let lines = report["lines"].as_array().unwrap();
        let sweeps: Vec<&str> = lines.iter().map(|l| l["sweep"].as_str().unwrap()).collect();
        assert_eq!(sweeps, ["particles", "particles", "radius", "radius", "lifetime", "lifetime", "map", "map"]);
        assert_eq!((&lines[1]["value"], &lines[1]["article_ms"]), (&Value::from(5000), &Value::from(78.62)));
        for line in lines {
            let cells = line["cells"].as_array().unwrap();
            let wanted = match line["sweep"].as_str().unwrap() {
                "particles" => line["value"].as_f64().unwrap(),
                "radius" => 10_000.0,
                _ => 5000.0,
            };
            assert_eq!(cells.len(), 2, "the loop and the CPU");
            for cell in cells {
                let number = |key: &str| cell[key].as_f64().unwrap();
                assert!((0.95..=1.3).contains(&(number("particles") / wanted)), "{line}");
                assert!(number("steps") > number("particles") && number("mean_ms") > 0.0, "{line}");
                assert!((number("factor") * number("mean_ms") / line["article_ms"].as_f64().unwrap() - 1.0).abs() < 1e-9);
            }
        }
        assert_eq!(report["laws"].as_array().unwrap().len(), 8, "four laws for each column");
    }
    let report = table("seed000 --picture sheet.png");
    let counts: Vec<u64> = report["lines"].as_array().unwrap().iter().map(|l| l["value"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 35_000, 50_000, 100_000]);
    let png = folder.read("sheet.png");
    // Width and height of the picture: four islands of 251 x 501 by the loop, and below by the stage.
    assert_eq!(png[16..24], [1004u32.to_be_bytes(), 1002u32.to_be_bytes()].concat());
    for line in report["lines"].as_array().unwrap() {
        let of = |column: usize, key: &str| line["cells"][column][key].as_f64().unwrap();
        let wanted = line["value"].as_f64().unwrap();
        assert_eq!(of(0, "particles"), wanted);
        assert!((0.95 * wanted..=1.3 * wanted).contains(&of(1, "particles")), "{line}");
    }
    // Nobody falls on the first island, so that there is no factor; six sayings of the article for each column.
    let factors = |line: &Value| [0, 1].map(|column| line["cells"][column]["factor"].is_f64());
    assert_eq!(
        report["lines"].as_array().unwrap().iter().map(factors).collect::<Vec<_>>(),
        [[false; 2], [true; 2], [true; 2], [true; 2]]
    );
    let laws = report["laws"].as_array().unwrap();
    assert_eq!(laws.len(), 12);
    for law in laws.iter().filter(|law| !law["law"].as_str().unwrap().contains("half a second")) {
        assert_eq!(law["holds"], true, "{law}");
    }
    // The published splat changes the loop's islands alone, and not the one that nothing fell on.
    let published = table("snowballs --splat published --picture published.png");
    assert!(published["lines"][0]["cells"][0]["executor"].as_str().unwrap().contains("published splat"));
    let [sheet, other] = ["sheet.png", "published.png"].map(|name| pixels(folder.read(name)));
    let differs = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        rows.flat_map(|y| columns.clone().map(move |x| (y * 1004 + x) * 3)).any(|i| sheet[i..i + 3] != other[i..i + 3])
    };
    assert!(differs(0..501, 251..1004) && !differs(0..501, 0..251) && !differs(501..1002, 0..1004));
    folder.thalweg("bench --quick --table droplets --splat published --device cpu").refused(1, &["--splat", "snowballs"]);
    // The row that the quick table has of the article's, by four methods, and the figures.
    let report = table("seed003 --picture figures.png");
    let rows = report["rows"].as_array().unwrap();
    let methods: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["full", "scattered", "convolved", "lerped"]);
    for row in rows {
        let of = |key: &str| row[key].as_f64().unwrap();
        // A record written, changed, and the sums at least.
        assert!(of("bytes") > if row["method"] == "lerped" { 40.0 } else { 124.0 } && of("copy_gb_per_s") > 0.0, "{row}");
        assert!((of("bytes") / of("passes_ns") / of("gb_per_s") - 1.0).abs() < 1e-9, "{row}");
    }
    assert_eq!(folder.read("figures.png")[16..24], [1560u32.to_be_bytes(), 1168u32.to_be_bytes()].concat());
    folder.thalweg("bench --quick --table snowballs --picture sheet.png --device cpu").refused(1, &["sheet.png", "--force"]);
    folder.thalweg("bench --quick --table droplets --picture other.png --device cpu").refused(1, &["--picture"]);
}

#[test]
fn help_shows_an_example_everywhere() {
    let folder = Folder::new("help");
    for command in ["", "run", "erode", "render", "compare", "devices", "bench"] {
        let text = folder.thalweg(&format!("{command} --help")).ok().stdout;
        assert!(text.contains(&format!("thalweg {}", if command.is_empty() { "run" } else { command })), "{text}");
        assert!(text.contains("Example") && text.contains("--device"), "{command}");
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

#[test]
fn dungeons_come_as_files_of_every_kind() {
    let folder = Folder::new("dungeon");
    for extension in ["json", "txt", "svg", "png", "tmj", "ldtk"] {
        folder.thalweg(&format!("dungeon rebirth --seed 7 --level 5 -o floor.{extension}")).ok();
        assert!(!folder.read(&format!("floor.{extension}")).is_empty());
    }
    assert!(folder.list(".").contains(&"thalweg-dungeon.png".to_string()), "the tiles lie beside the maps");
    // Many: in one file or one each, the same, in order, whatever the threads.
    folder.thalweg("dungeon isaac --seed 20 --count 40 --threads 2 -o many.jsonl").ok();
    folder.thalweg("dungeon isaac --seed 20 --count 40 --threads 1 -o again.jsonl").ok();
    assert_eq!(folder.read("many.jsonl"), folder.read("again.jsonl"));
    folder.thalweg("dungeon isaac --seed 20 --count 3 -o one.json").ok();
    let many = String::from_utf8(folder.read("many.jsonl")).unwrap();
    let lines: Vec<Value> = many.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 40);
    for (i, line) in lines.iter().take(3).enumerate() {
        assert_eq!(*line, folder.json(&format!("one-{}.json", 20 + i)));
    }
    folder.thalweg("dungeon tinykeep --seed 3 -o keep.png --animation steps.png --json").ok();
    folder.thalweg("dungeon isaac --count 4 --sheet -o sheet.png").ok();
    folder.thalweg("dungeon isaac --labyrinth -o double.json").ok();
    assert_eq!(folder.json("double.json")["labyrinth"], true);

    folder.thalweg("dungeon isaac -o floor.json").refused(1, &["floor.json", "--force"]);
    folder.thalweg("dungeon isaac -o floor.docx").refused(1, &["floor.docx", ".ldtk"]);
    folder.thalweg("dungeon isaac --level 0 -o x.json").refused(1, &["level = 0", "1 to 12"]);
    folder.thalweg("dungeon isaac --room-count 99 -o x.json").refused(1, &["room_count = 99", "9 x 8"]);
    folder.thalweg("dungeon tinykeep --ellipse-px 400 0 -o x.json").refused(1, &["ellipse_px (height) = 0"]);
    folder.thalweg("dungeon isaac --labyrinth 101 -o x.json").refused(1, &["labyrinth = 101", "0 to 100"]);
    folder.thalweg("dungeon isaac --labyrinth 20 --room-count 8 -o x.json").refused(1, &["room_count = 8", "12 to 38"]);
    folder.thalweg("dungeon isaac -o x.json --animation steps.gif").refused(1, &["steps.gif", ".png"]);
    folder.thalweg("dungeon isaac --count 5000 --sheet -o x.png").refused(1, &["--count 5000", "1024"]);
    folder.thalweg("dungeon isaac --sheet -o x.json").refused(1, &["--sheet", ".png"]);
    folder.file("rooms.toml", "schema = 1\nchapter = []\nroom = []\n");
    folder.thalweg("dungeon isaac --rooms rooms.toml -o x.json").refused(1, &["rooms.toml", "no chapters"]);
    assert!(!folder.list(".").contains(&"x.json".to_string()));
}

#[test]
fn a_recipe_places_dungeons_on_its_terrain() {
    let folder = Folder::new("placed");
    let dungeons = "\n[dungeons]\nkind = \"isaac\"\nspacing = 20\nradius = 1\nslope_max = 4\nformat = \"tmj\"\n";
    folder.file("r.toml", format!("{RECIPE}{dungeons}"));
    folder.thalweg("run r.toml -o out --device cpu").ok();
    let manifest = folder.json("out/manifest.json");
    let entrances = manifest["dungeons"].as_array().unwrap();
    assert!(!entrances.is_empty());
    for entrance in entrances {
        let bytes = folder.read(&format!("out/{}", entrance["file"].as_str().unwrap()));
        assert_eq!(entrance["blake3"], hash(&bytes));
        assert!((100..164).contains(&entrance["x"].as_i64().unwrap()) && (200..248).contains(&entrance["y"].as_i64().unwrap()));
    }
    assert!(folder.list("out").contains(&"thalweg-dungeon.png".to_string()));
}

#[test]
fn biomes_from_a_picture_become_maps_textures_and_a_list() {
    let folder = Folder::new("biomes");
    let picture = |name: &str, width: u32, level: &dyn Fn(u32) -> u8| {
        let data = (0..width * 40).map(|i| level(i % width)).collect();
        thalweg::io::write_picture(&folder.0.join(name), &thalweg::io::Picture { width, height: 40, channels: 1, data }).unwrap();
    };
    picture("halves.png", 60, &|x| (x / 30) as u8);
    picture("narrow.png", 50, &|_| 0);
    picture("nine.png", 60, &|x| if x == 7 { 9 } else { 0 });
    let recipe = |file: &str, colour: &str| {
        format!(
            "schema = 1\nseed = 1\nwidth = 60\nheight = 40\nspacing_m = 2\n[[stage]]\nkind = \"diamond_square\"\nrelief_m = 0\n\
             [[stage]]\nkind = \"biomes\"\nfrom = \"image\"\nfile = \"{file}\"\nfrequency = 0.5\npadding = 2\nheights = \"replace\"\n\
             splat = true\nbiome = [{{ name = \"low\", colour = \"#102030\", relief_m = 0 }}, \
             {{ name = \"high\", colour = \"#a0b0c0\", base_m = 8, relief_m = 0, hardness = 0.5 }}]\n\
             [output]\nmaps = [\"height\", \"biome\", \"hardness\", \"biome_colour\"]\nformat = \"npy\"\ncolour = \"{colour}\"\n"
        )
    };
    folder.file("r.toml", recipe("halves.png", "biomes"));
    folder.thalweg("run r.toml -o out --device cpu").ok();
    let manifest = folder.json("out/manifest.json");
    let biomes = manifest["biomes"].as_array().unwrap();
    assert_eq!((&biomes[0]["name"], &biomes[1]["colour"]), (&"low".into(), &"#a0b0c0".into()));
    let share = biomes[1]["share"].as_f64().unwrap();
    assert!((share - 0.5).abs() < 0.05, "{share}");
    assert_eq!(biomes.iter().map(|b| b["cells"].as_u64().unwrap()).sum::<u64>(), 60 * 40);
    let texture = &manifest["textures"][0];
    assert_eq!((texture["file"].as_str(), texture["biomes"][1].as_str()), (Some("splat_1.png"), Some("high")));
    assert_eq!(texture["blake3"], hash(&folder.read("out/splat_1.png")));
    let read = |name: &str| thalweg::io::read(&folder.0.join(name), &io::ReadOptions::default()).unwrap().map.data;
    let (height, hardness, colour) = (read("out/height.npy"), read("out/hardness.npy"), read("out/biome_colour.npy"));
    assert_eq!((height[0], height[59], colour[0] as u32, colour[59] as u32), (0.0, 8.0, 0x102030, 0xa0b0c0));
    for (height, hardness) in height.iter().zip(&hardness) {
        assert!((height / 16.0 - hardness).abs() < 1e-4, "{height} m and {hardness}");
    }

    folder.file("narrow.toml", recipe("narrow.png", "height"));
    folder.thalweg("run narrow.toml -o no --device cpu").refused(1, &["50 x 40", "60 x 40"]);
    folder.file("nine.toml", recipe("nine.png", "height"));
    folder.thalweg("run nine.toml -o no --device cpu").refused(1, &["9 in column 7, row 0", "whole numbers 0 to 1"]);
    folder.file(
        "plain.toml",
        "schema = 1\nwidth = 9\nheight = 9\nspacing_m = 1\n[[stage]]\nkind = \"diamond_square\"\n[output]\ncolour = \"biomes\"\n",
    );
    folder.thalweg("run plain.toml -o no --device cpu").refused(1, &["colour = \"biomes\"", "no stage"]);

    folder.thalweg("scatter r.toml -o a.csv --frequency 0.4 --density low=0 --device cpu").ok();
    let text = String::from_utf8(folder.read("a.csv")).unwrap();
    assert!(text.lines().count() > 50 && text.lines().skip(1).all(|line| line.ends_with(",1,high")), "{text}");
    folder.thalweg("scatter r.toml -o a.geojson --method poisson --distance 4 --device cpu").ok();
    assert_eq!(folder.json("a.geojson")["type"], "FeatureCollection");
    folder.thalweg("scatter r.toml -o a.csv --device cpu").refused(1, &["a.csv", "--force"]);
    folder.thalweg("scatter r.toml -o a.shp --device cpu").refused(1, &["a.shp", ".geojson"]);
    folder.thalweg("scatter r.toml -o b.csv --density hihg=1 --device cpu").refused(1, &["did you mean \"high\""]);
    folder.thalweg("scatter r.toml -o b.csv --density high=x --device cpu").refused(1, &["high=x", "0 to 1"]);
    for density in ["high=2", "high=nan", "high=-0.5"] {
        folder.thalweg(&format!("scatter r.toml -o b.csv --density {density}")).refused(1, &[density, "0 to 1"]);
    }
    folder.thalweg("scatter r.toml -o b.csv --density high=1 --density high=0").refused(1, &["high=0", "has a density already"]);
    folder.thalweg("scatter plain.toml -o b.csv --density high=1").refused(1, &["colour = \"biomes\""]);
    folder.thalweg("scatter r.toml -o b.csv --method poisson --frequency 0.1").refused(1, &["--frequency 0.1", "lattice"]);
    // Options are looked at before any work: this recipe has a file that is not there.
    folder.file("lost.toml", recipe("lost.png", "height"));
    folder.thalweg("scatter lost.toml -o b.csv --frequency 7").refused(1, &["frequency = 7", "0.002 to 1"]);
    folder.thalweg("scatter lost.toml -o b.csv --distance 5000").refused(1, &["distance = 5000", "0.5 to 4096"]);
    folder.thalweg("scatter lost.toml -o b.csv").refused(1, &["lost.png", "no such file"]);
    // Many points are refused before the stages run.
    let limit = "scatter big.toml -o b.csv --frequency 1 --size 4096 --device cpu";
    folder.file("big.toml", RECIPE).thalweg(limit).refused(1, &["points: allowed 16777216"]);
    folder.thalweg("scatter big.toml -o b.csv --density high=1").refused(1, &["no stage of this recipe makes biomes"]);
    // As `run` has them.
    folder.thalweg("scatter r.toml -o b.csv --size 30 --device cpu").refused(1, &["60 x 40 cells, the terrain has 30 x 30"]);
    let line = "scatter r.toml -o c.csv --frequency 0.4 --set biomes.from=noise --set biomes.file= --size 30x20 --device cpu";
    folder.thalweg(line).ok();
    let text = String::from_utf8(folder.read("c.csv")).unwrap();
    let places = text.lines().skip(1).map(|line| line.split(',').map(|v| v.parse().unwrap_or(0.0)).collect::<Vec<f64>>());
    let places: Vec<Vec<f64>> = places.collect();
    assert!(places.iter().all(|p| (0.0..30.0).contains(&p[0]) && (0.0..20.0).contains(&p[1])), "{text}");
    // To the end of the last cell, beyond its sample.
    assert!(places.iter().any(|p| p[0] > 29.0) && places.iter().any(|p| p[1] > 19.0), "{text}");
    folder.thalweg("scatter r.toml -o b.csv --frequency 0 --device cpu").refused(1, &["frequency = 0", "0.002 to 1"]);
    folder.thalweg("scatter r.toml -o b.csv --method poisson --distance -1 --device cpu").refused(1, &["distance = -1"]);
}

/// A picture of biomes is 8-bit grey or has a palette; everything else is refused by name.
#[test]
fn pictures_of_biomes_are_levels_or_indices() {
    use png::{BitDepth, ColorType};
    let folder = Folder::new("indices");
    let recipe = "schema = 1\nwidth = 11\nheight = 5\nspacing_m = 1\n[[stage]]\nkind = \"diamond_square\"\nrelief_m = 0\n\
                  [[stage]]\nkind = \"biomes\"\nfrom = \"image\"\nfile = \"p.png\"\nmethod = \"full\"\nradius = 1\n\
                  [output]\nmaps = [\"biome\"]\nformat = \"npy\"\npreview = false\n";
    folder.file("r.toml", recipe);
    let index = |i: usize, most: usize| (i * 7 / 3) % most;
    let draw = |color: ColorType, depth: BitDepth, row: &dyn Fn(usize) -> Vec<u8>| {
        let mut bytes = vec![];
        let mut encoder = png::Encoder::new(&mut bytes, 11, 5);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            // All alike: it is not the colours that count.
            encoder.set_palette(vec![99; if depth == BitDepth::One { 6 } else { 12 }]);
        }
        encoder.write_header().unwrap().write_image_data(&(0..5).flat_map(row).collect::<Vec<_>>()).unwrap();
        folder.file("p.png", bytes);
    };
    let run = |most: usize| {
        folder.thalweg("run r.toml -o a --device cpu --force").ok();
        let map = io::read(&folder.0.join("a/biome.npy"), &io::ReadOptions::default()).unwrap().map;
        let expected: Vec<f32> = (0..55).map(|i| index(i, most) as f32).collect();
        assert_eq!(map.data, expected, "{most}");
    };
    let row = |y: usize, bits: usize, most: usize| -> Vec<u8> {
        let mut row = vec![0u8; (11 * bits).div_ceil(8)];
        (0..11).for_each(|x| row[x * bits / 8] |= (index(y * 11 + x, most) << (8 - bits - x * bits % 8)) as u8);
        row
    };
    for (depth, bits, most) in [(BitDepth::One, 1, 2), (BitDepth::Two, 2, 4), (BitDepth::Four, 4, 4), (BitDepth::Eight, 8, 4)] {
        draw(ColorType::Indexed, depth, &|y| row(y, bits, most));
        run(most);
    }
    draw(ColorType::Grayscale, BitDepth::Eight, &|y| row(y, 8, 4));
    run(4);
    let refused = |words: &[&str]| drop(folder.thalweg("run r.toml -o b --device cpu").refused(1, words));
    draw(ColorType::Grayscale, BitDepth::Sixteen, &|y| row(y, 8, 4).into_iter().flat_map(|v| [v, v]).collect());
    refused(&["p.png", "16 bits", "save it as 8-bit greyscale"]);
    draw(ColorType::Rgb, BitDepth::Eight, &|_| vec![1; 33]);
    refused(&["p.png", "colours", "palette"]);
    draw(ColorType::Indexed, BitDepth::Eight, &|_| vec![3; 11]);
    folder.file("r.toml", recipe.replace("radius = 1\n", "radius = 1\nbiome = [{ name = \"a\", colour = \"#000000\" }]\n"));
    refused(&["3 in column 0, row 0", "there are 1 biomes"]);
}

/// The map of biomes that a run writes is a picture of biomes, in every format; that of colours shows them.
#[test]
fn maps_of_biomes_can_be_read_back() {
    let folder = Folder::new("argmax");
    let recipe = |from: &str, more: &str, format: &str| {
        format!(
            "schema = 1\nseed = 3\nwidth = 70\nheight = 50\nspacing_m = 1\n[[stage]]\nkind = \"diamond_square\"\nrelief_m = 0\n\
             [[stage]]\nkind = \"biomes\"\nfeature = 20\n{from}{more}[output]\nmaps = [\"biome\", \"biome_colour\"]\nformat = \"{format}\"\n"
        )
    };
    folder
        .file("first.toml", recipe("", "frequency = 0.3\npadding = 3\n", "npy"))
        .thalweg("run first.toml -o first --device cpu")
        .ok();
    let words = |run: &str| -> Vec<Value> {
        let manifest = folder.json(&format!("{run}/manifest.json"));
        manifest["maps"].as_array().unwrap().iter().map(|map| map["words_blake3"].clone()).collect()
    };
    for format in ["png", "tif", "exr", "npy"] {
        folder.file("r.toml", recipe("", "frequency = 0.3\npadding = 3\n", format));
        folder.thalweg(&format!("run r.toml -o {format} --device cpu")).ok();
        let from = format!("from = \"image\"\nfile = \"{format}/biome.{format}\"\n");
        // A point in every cell, which is felt nowhere else.
        folder.file("back.toml", recipe(&from, "method = \"full\"\nradius = 1\n", format));
        folder.thalweg(&format!("run back.toml -o {format}-back --device cpu")).ok();
        assert_eq!(words(&format!("{format}-back"))[0], words("first")[0], "{format}");
    }
    // Viewers show the colours of the biomes: a palette, and colours.
    let number = io::read(&folder.0.join("first/biome.npy"), &io::ReadOptions::default()).unwrap().map.data;
    let colour = io::read(&folder.0.join("first/biome_colour.npy"), &io::ReadOptions::default()).unwrap().map.data;
    let mut shown = png::Decoder::new(std::io::Cursor::new(folder.read("png/biome.png"))).read_info().unwrap();
    let palette = shown.info().palette.clone().unwrap().into_owned();
    assert_eq!(palette[..6], [8, 112, 32, 133, 161, 90]);
    let mut indices = vec![0; 70 * 50];
    shown.next_frame(&mut indices).unwrap();
    assert!(indices.iter().zip(&number).all(|(index, number)| f32::from(*index) == *number));
    let pixels = pixels(folder.read("png/biome_colour.png"));
    assert!(pixels.chunks(3).zip(&colour).all(|(p, c)| u32::from_be_bytes([0, p[0], p[1], p[2]]) == *c as u32));
    // Raw 16-bit samples hold numbers as they are, and no colours.
    folder.file("r.toml", recipe("", "frequency = 0.3\npadding = 3\n", "r16"));
    folder.thalweg("run r.toml -o r16 --device cpu").refused(1, &["r16", "biome_colour has 24 bits", "r32"]);
    folder.file("r.toml", recipe("", "frequency = 0.3\npadding = 3\n", "r16").replace(", \"biome_colour\"", ""));
    folder.thalweg("run r.toml -o r16 --device cpu").ok();
    let raw: Vec<f32> = folder.read("r16/biome.r16").chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]]).into()).collect();
    assert_eq!(raw, number);
}

/// The manifest's recipe has every biome with every setting, in one order whatever the recipe's.
#[test]
fn a_manifest_spells_out_biomes() {
    let folder = Folder::new("spelled");
    let recipe = "schema = 1\nseed = 3\nname = \"r\"\nwidth = 40\nheight = 30\nspacing_m = 1\n[[stage]]\nkind = \"diamond_square\"\nrelief_m = 0\n\
                  [[stage]]\nkind = \"biomes\"\nheights = \"replace\"\nchunk = 32\nsplat = true\n";
    folder.file("r.toml", recipe).thalweg("run r.toml -o a --device cpu").ok();
    let stage = folder.json("a/manifest.json")["recipe"]["stage"][1].clone();
    let names: Vec<&str> = stage["biome"].as_array().unwrap().iter().map(|b| b["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["forest", "plains", "mountains", "desert"]);
    assert_eq!(stage["biome"][2]["amplitudes"], serde_json::json!([1.0, 0.5, 0.25, 0.0625]));
    assert_eq!((&stage["biome"][0]["colour"], &stage["biome"][3]["shape"]), (&"#087020".into(), &"dunes".into()));
    folder.file("r.json", folder.json("a/manifest.json")["recipe"].to_string()).thalweg("run r.json -o b --device cpu").ok();
    for name in folder.list("a") {
        assert_eq!(folder.read(&format!("a/{name}")), folder.read(&format!("b/{name}")), "{name}");
    }
    let toml = "biome = [{ rain = 0.5, colour = \"#ABCDEF\", name = \"a\" }]\n";
    let json = r##"{"schema":1,"seed":3,"name":"r","width":40,"height":30,"spacing_m":1,"stage":[{"kind":"diamond_square","relief_m":0},
        {"kind":"biomes","heights":"replace","chunk":"32","splat":true,"biome":[{"name":"a","rain":0.5,"colour":"#abcdef"}]}]}"##;
    folder.file("one.toml", recipe.to_string() + toml).file("one.json", json);
    folder.thalweg("run one.toml -o c --device cpu").ok();
    folder.thalweg("run one.json -o d --device cpu").ok();
    assert_eq!(folder.read("c/manifest.json"), folder.read("d/manifest.json"));
}

#[test]
fn settings_of_biomes_are_refused_by_name() {
    let folder = Folder::new("biomesettings");
    let head = "schema = 1\nwidth = 40\nheight = 30\nspacing_m = 1\n[[stage]]\nkind = \"diamond_square\"\n[[stage]]\nkind = \"biomes\"\n";
    let refused = |more: &str, words: &[&str]| {
        folder.file("r.toml", head.to_string() + more).thalweg("run r.toml -o a --device cpu").refused(1, words);
    };
    let biome = |more: &str| format!("biome = [{{ name = \"a\", colour = \"#000000\", {more} }}]\n");
    refused("chunk = 12\n", &["chunk = 12", "16, 8, 32"]);
    folder.file("r.toml", head).thalweg("run r.toml -o set --device cpu --set biomes.chunk=8").ok();
    refused("biome = [{ name = \"a\", colour = \"#+12345\" }]\n", &["colour = \"#+12345\"", "#087020"]);
    refused(&biome("relief_m = nan"), &["relief_m = NaN", "0 to 1000000"]);
    refused(&biome("amplitudes = [1, inf]"), &["amplitudes = [1,inf]", "-1 to 1"]);
    refused("biome = [7]\n", &["biome 1: 7: expected a table"]);
    refused("[stage.biome]\nname = \"a\"\n", &["biome", "write each as [[stage.biome]]"]);
    refused("from = \"climate\"\ntable = [[1]]\n", &["table, row 1, column 1: 1: expected a name"]);
    refused("from = \"climate\"\ntable = [[]]\n", &["table, row 1: 0 names: allowed 1 to 64"]);
    refused("splat = true\n[[stage]]\nkind = \"biomes\"\n", &["stage 2, biomes: splat = true", "stage 3"]);
    refused("[dungeons]\nkind = \"isaac\"\nbiomes = []\n", &["biomes = []", "a list of names of one or more"]);
}

/// A forced run leaves nothing of what an earlier one wrote and it does not write, and touches nothing else.
#[test]
fn a_forced_run_takes_the_place_of_another() {
    let folder = Folder::new("replaced");
    let splat = "[[stage]]\nkind = \"biomes\"\nsplat = true\n[output]";
    folder.file("r.toml", RECIPE).file("splat.toml", RECIPE.replace("[output]", splat));
    folder.thalweg("run splat.toml -o a --device cpu --frames 6").ok();
    folder.file("a/splat_2.png", "mine").file("a/frames/mine.png", "mine").file("a/notes.txt", "mine");
    let report: Value = serde_json::from_str(&folder.thalweg("run r.toml -o a --device cpu --force --json").ok().stdout).unwrap();
    assert_eq!(report["removed"].as_array().unwrap().len(), 1 + 1 + 6);
    let left = ["flow.png", "frames", "height.png", "manifest.json", "notes.txt", "preview.png", "splat_2.png"];
    assert_eq!(folder.list("a"), left);
    assert_eq!(folder.list("a/frames"), ["mine.png"]);
    // What it reads stays, whoever wrote it; so does what a manifest lists elsewhere.
    folder.file("in.toml", "schema = 1\ninput = \"b/height.tif\"\n[[stage]]\nkind = \"blur\"\n[output]\nformat = \"png\"\n");
    folder.file("t.toml", RECIPE.replace("\"png\"", "\"tif\"")).thalweg("run t.toml -o b --device cpu").ok();
    let mut manifest = folder.json("b/manifest.json");
    for file in ["../r.toml", "..", ".", "", "frames/../../r.toml", "/r.toml"] {
        manifest["maps"].as_array_mut().unwrap().push(serde_json::json!({ "file": file }));
    }
    folder.file("b/manifest.json", manifest.to_string());
    folder.thalweg("run in.toml -o b --device cpu --force").ok();
    assert_eq!(folder.list("b"), ["height.png", "height.tif", "manifest.json", "preview.png"]);
    assert_eq!(folder.read("r.toml"), RECIPE.as_bytes());
    // A folder that a link leads to is elsewhere, too.
    #[cfg(unix)]
    {
        folder.thalweg("run r.toml -o c --device cpu --frames 4").ok();
        std::fs::rename(folder.0.join("c/frames"), folder.0.join("film")).unwrap();
        std::os::unix::fs::symlink("../film", folder.0.join("c/frames")).unwrap();
        folder.thalweg("run r.toml -o c --device cpu --force").ok();
        assert_eq!(folder.list("film").len(), 4);
    }
}
