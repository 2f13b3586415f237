//! What the command refuses, and how an interrupted run ends.

use super::{Folder, RECIPE, hills, map, npy, ran, spoilt};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use thalweg::image::{GrayImage, Luma};
use thalweg::io;

#[test]
fn wrong_recipes_are_named() {
    let folder = Folder::new("recipes");
    let refused = |change: [&str; 2], words: &[&str]| {
        assert!(RECIPE.contains(change[0]), "{change:?}");
        folder
            .file("r.toml", RECIPE.replace(change[0], change[1]))
            .thalweg("run r.toml -o a --device cpu")
            .refused(1, words);
        assert_eq!(folder.list(""), ["r.toml"]);
    };
    refused(["spacing_m", "spacing"], &["r.toml", "spacing", "spacing_m"]);
    refused(["lifetime", "lifetimes"], &["droplets", "lifetimes", "did you mean \"lifetime\""]);
    refused(["lifetime = 16", "lifetime = 9000"], &["lifetime = 9000", "2 to 8192"]);
    refused(["rain = 2", "rain = nan"], &["rain", "0 to 511"]);
    refused(["relief_m = 200", "relief_m = inf"], &["relief_m", "0 to 1000000"]);
    refused(["spacing_m = 10", "spacing_m = nan"], &["spacing_m", "0.001 to 1000000"]);
    refused(["width = 64", "width = 0"], &["width = 0", "1 to 16777216"]);
    refused(
        ["world_cells = 1024", "world_cells = 1000"],
        &["world_cells = 1000", "powers of two", "1024"],
    );
    refused(["\"flow\"", "\"flows\""], &["flows", "flow"]);
    refused(["\"flow\"", "\"height\""], &["height", "twice"]);
    refused(["\"png\"", "\"../png\""], &["../png", "tif"]);
    refused(["schema = 2", "schema = 3"], &["schema = 3", "2"]);
    refused(["schema = 2", "schema = 1"], &["schema = 1", "thalweg upgrade FILE"]);
    refused(["world_cells", "world"], &["\"world\" is called \"world_cells\" since schema 2"]);
    refused(["seed = 5", "seed = -5"], &["seed", "18446744073709551615"]);
    // Nested stages; the droplets take 128 steps.
    let nested = |table: &str, words: &[&str]| {
        let table = format!("rain = 2\n[[stage.interleave]]\n{table}");
        refused(["rain = 2", table.as_str()], &[&["stage 2"], words].concat());
    };
    nested("kind = \"thermal\"", &["interleave 1", "every is missing"]);
    nested("kind = \"thermal\"\nevery = 0", &["interleave 1", "every = 0", "1 to 262144"]);
    nested("kind = \"thermal\"\nevery = 2.5", &["interleave 1", "every = 2.5", "whole number"]);
    nested(
        "kind = \"thermal\"\nevery = 129",
        &["interleave 1, thermal", "every = 129", "1 to 128", "never"],
    );
    nested(
        "kind = \"thermal\"\nevery = 9\nrepose_deg = 90",
        &["interleave 1, thermal", "repose_deg = 90", "0 to 89"],
    );
    nested(
        "kind = \"snowballs\"\nevery = 9",
        &["snowballs cannot run between", "thermal, coastal"],
    );
    nested("kind = \"island\"\nevery = 9", &["island cannot run between"]);
    nested(
        "kind = \"thermal\"\nevery = 9\n[[stage.interleave.interleave]]\nkind = \"blur\"\nevery = \
         1",
        &["none between its own"],
    );
    refused(["rain = 2", "interleave = 3"], &["stage 2", "[[stage.interleave]]"]);
    let sliding = RECIPE
        .replace("rain = 2", "rain = 2\n[[stage.interleave]]\nkind = \"thermal\"\nevery = 128");
    folder.file("r.toml", sliding);
    for size in ["64x48", "64x1"] {
        folder.thalweg(&format!("run r.toml --dry-run --size {size}")).ok();
    }

    // Angles, the loose sediment that wind needs, and layers.
    for angle in ["90", "-1", "nan", "89.5"] {
        let said = format!("repose_deg = {}", angle.replace("nan", "NaN"));
        let thermal = format!("[[stage]]\nkind = \"thermal\"\nrepose_deg = {angle}\n[output]");
        refused(["[output]", thermal.as_str()], &["stage 3, thermal", &said, "0 to 89"]);
    }
    refused(
        ["[output]", "[[stage]]\nkind = \"wind\"\n[output]"],
        &["stage 3, wind", "loose sediment", "map = \"sediment\""],
    );
    refused(
        ["[output]", "[[stage]]\nkind = \"layer\"\nlow = 1.5\n[output]"],
        &["stage 3, layer", "low = 1.5", "0 to 1"],
    );
    refused(
        ["[output]", "[[stage]]\nkind = \"layer\"\nhigh = -0.1\n[output]"],
        &["stage 3, layer", "high = -0.1", "0 to 1"],
    );
    refused(
        ["[output]", "[[stage]]\nkind = \"layer\"\nmap = \"snow\"\n[output]"],
        &["map = \"snow\"", "hardness, rain"],
    );
    refused(
        ["[output]", "[[stage]]\nkind = \"layer\"\nstart = 1\n[output]"],
        &["start = end = 1", "differ"],
    );

    // Margins.
    refused(["seed = 5", "seed = 5\nmargin_cells = 9000"], &["margin_cells = 9000", "0 to 8192"]);
    refused(["seed = 5", "seed = 5\nmargin_cells = -1"], &["margin_cells = -1", "0 to 8192"]);
    refused(
        ["width = 64", "width = 30000\nmargin_cells = 2000"],
        &["30000 x 48", "margin of 2000", "32767"],
    );

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
    for (dir, name) in [
        ("file", "file"),
        ("file/under", "file"),
        ("file/far/under", "file"),
        ("/proc/nothing/here", "/proc"),
    ] {
        folder.thalweg(&format!("run r.toml -o {dir} --device cpu")).refused(1, &[name]);
        assert_eq!(folder.list(""), ["file", "hills.npy", "r.toml"]);
    }
    folder.thalweg("erode hills.npy -o file/out.tif").refused(1, &["file"]);
    folder.thalweg("erode hills.npy -o none/out.tif").refused(1, &["none"]);
    folder
        .thalweg("erode hills.npy -o out.tif --flow out.tif")
        .refused(1, &["out.tif", "two outputs"]);
    folder.thalweg("erode hills.npy -o out.bmp").refused(1, &["out.bmp", ".png"]);
    folder.thalweg("erode hills.npy -o . ").refused(1, &["extension"]);
    assert_eq!(folder.list(""), ["file", "hills.npy", "r.toml"]);
    assert_eq!(folder.read("file"), b"mine");
}

/// A PNG whose header claims `side` x `side` pixels, with valid checksums.
fn png_header(side: u32) -> Vec<u8> {
    let mut bytes = vec![0x89, b'P', b'N', b'G', 13, 10, 26, 10];
    let mut chunk = |name: &[u8], data: &[u8]| {
        let content = [name, data].concat();
        let crc = content.iter().fold(!0u32, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |c, _| {
                if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 }
            })
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
    let whole = io::encode(&hills(32, 32), io::MapFormat::Png).unwrap().0;
    let spoilt = |value| spoilt(&hills(32, 32), 7, value);
    let recipe = "schema = 2\nspacing_m = 10\ninput = \"NAME\"\n[[stage]]\nkind = \"droplets\"\n";
    for (name, bytes, word) in [
        ("empty.png", vec![], "empty"),
        ("cut.png", whole[..whole.len() / 2].to_vec(), "cut.png"),
        ("text.png", b"these are words and not samples".to_vec(), "PNG"),
        ("huge.png", png_header(1 << 31), "huge.png"),
        ("large.png", png_header((1 << 31) - 1), "samples"),
        ("odd.r16", vec![0; 30], "--size"),
    ] {
        folder.file(name, bytes);
        folder.thalweg(&format!("erode {name} -o out.tif --device cpu")).refused(1, &[name, word]);
        folder
            .file("r.toml", recipe.replace("NAME", name))
            .thalweg("run r.toml -o out --device cpu")
            .refused(1, &[name]);
        assert_eq!(folder.list("").len(), 2);
        std::fs::remove_file(folder.0.join(name)).unwrap();
        std::fs::remove_file(folder.0.join("r.toml")).unwrap();
        assert_eq!(folder.list(""), [""; 0]);
    }
    folder.thalweg("erode none.png -o out.tif").refused(1, &["none.png", "no such file"]);
    folder
        .file("nan.npy", spoilt(f32::NAN))
        .thalweg("erode nan.npy -o out.tif --device cpu --nodata -5")
        .ok();
    // Without a height for them such cells lie outside the land, which not every format can say.
    folder
        .file("inf.npy", spoilt(f32::NEG_INFINITY))
        .thalweg("erode inf.npy -o holed.tif --device cpu")
        .ok();
    folder
        .thalweg("erode inf.npy -o holed.png --device cpu")
        .refused(1, &["holed.png", "--nodata"]);
    folder.file("r.toml", recipe.replace("NAME", "nan.npy") + "[output]\nformat = \"png\"\n");
    folder.thalweg("run r.toml -o out --device cpu").refused(1, &["height.png", "nodata_m"]);
}

/// Layers from files: whatever is wrong with a file, the error names it before any work.
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
            let stage = format!(
                "[[stage]]\nkind = \"layer\"\nmap = \"{layer}\"\nfrom = \"file\"\n\
                 file = \"{name}\"\n[output]"
            );
            folder.file(name, &bytes).file("r.toml", RECIPE.replace("[output]", &stage));
            let ran = folder
                .thalweg("run r.toml -o a --device cpu")
                .refused(1, &[&[name], words].concat());
            assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
            assert_eq!(folder.list("").len(), 2, "{:?}", folder.list(""));
        }
        std::fs::remove_file(folder.0.join(name)).unwrap();
        folder.thalweg("run r.toml -o a --device cpu").refused(1, &[name]);
        folder.thalweg("run r.toml --dry-run").refused(1, &[name]);
    }
    let missing =
        RECIPE.replace("[output]", "[[stage]]\nkind = \"layer\"\nfrom = \"file\"\n[output]");
    folder
        .file("r.toml", missing)
        .thalweg("run r.toml -o a")
        .refused(1, &["stage 3, layer", "file = \"\"", "from = \"file\""]);
    // 8 bits are enough for a layer, so there is no warning. White is 1.
    folder
        .file("white.png", io::encode_picture(GrayImage::from_pixel(64, 48, Luma([255]))).unwrap());
    let stage = "[[stage]]\nkind = \"layer\"\nfrom = \"file\"\nfile = \"white.png\"\n[output]";
    let hard = RECIPE
        .replace("[output]", stage)
        .replace("\"flow\"", "\"hardness\"")
        .replace("\"png\"", "\"npy\"");
    let ran = folder.file("r.toml", hard).thalweg("run r.toml -o a --device cpu").ok();
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let hardness =
        io::read(folder.0.join("a/hardness.npy"), &io::ReadOptions::default()).unwrap().map;
    assert_eq!(hardness.min_max(), (1.0, 1.0));
}

#[cfg(unix)]
#[test]
fn interrupt_ends_the_run_and_leaves_nothing() {
    // The folder is created right before the work begins.
    interrupted("interrupt", "", "a/b");
}

#[cfg(unix)]
#[test]
fn interrupt_ends_a_film_and_leaves_nothing() {
    interrupted("interruptfilm", "--frames 10000 --frame-size 64", "a/b/frames/0003.png");
}

/// Interrupts a run once the file or folder `sign` exists.
#[cfg(unix)]
fn interrupted(name: &str, options: &str, sign: &str) {
    let folder = Folder::new(name);
    // An hour of work.
    let long = RECIPE
        .replace("width = 64", "width = 1024")
        .replace("lifetime = 16\nrain = 2", "lifetime = 4096\nrain = 4");
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
    crate::common::signal("INT", child.id());
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

/// One run at a time writes to a folder: a second one is refused while the first is at it, with and
/// without --force, and goes ahead afterwards, even if the first was killed.
/// Holds file F3: both ended well and left a manifest that matched neither.
#[cfg(unix)]
#[test]
fn one_run_at_a_time_owns_a_folder() {
    let folder = Folder::new("lock");
    let long = RECIPE
        .replace("width = 64", "width = 512")
        .replace("height = 64", "height = 512")
        .replace("rain = 2", "rain = 64");
    folder.file("long.toml", &long).file("r.toml", RECIPE);
    let mut first = folder
        .command("run long.toml -o a --device cpu --force")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !folder.0.join("a").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the first run has not made its folder");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The folder is locked right after it is made.
    std::thread::sleep(Duration::from_millis(100));
    folder
        .thalweg("run r.toml -o a --device cpu --force")
        .refused(1, &["another run", "another folder"]);
    folder.thalweg("run r.toml -o a --device cpu").refused(1, &["another run"]);
    first.kill().unwrap();
    first.wait().unwrap();
    folder.thalweg("run r.toml -o a --device cpu --force").ok();
    let manifest = folder.json("a/manifest.json");
    for map in manifest["maps"].as_array().unwrap() {
        assert_eq!(
            map["blake3"],
            super::hash(&folder.read(&format!("a/{}", map["file"].as_str().unwrap())))
        );
    }
}

/// What a user cannot see should not happen: pictures under names of other formats, inputs
/// overwritten, keys given twice, names that rule the terminal, rain that becomes more, files that
/// never end; and usage errors are JSON where that is asked for.
/// Holds file F9 and F6.
#[test]
fn nothing_happens_in_silence() {
    let folder = Folder::new("silence");
    folder.file("h.npy", npy(&hills(32, 32)));
    folder.thalweg("erode h.npy -o o.npy --preview p.jpg").refused(1, &["p.jpg", ".png"]);
    folder.thalweg("erode h.npy -o o.npy --flow ./h.npy --force").refused(1, &["./h.npy", "input"]);
    folder.file(
        "twice.json",
        r#"{"schema": 2,"width":64,"height":64,"spacing_m":1,"seed":1,"seed":2,"stage":[]}"#,
    );
    folder.thalweg("run twice.json -o a").refused(1, &["twice.json", "\"seed\"", "given twice"]);
    folder.file("name.toml", RECIPE.replace("seed = 5", "seed = 5\nname = \"a\\u001b[31mb\""));
    let refused = folder.thalweg("run name.toml -o a").refused(1, &["name", "control characters"]);
    assert!(!refused.stderr.contains('\u{1b}'));
    let refused = folder.thalweg("run \u{1b}[31m.toml -o a").refused(1, &["[31m.toml"]);
    assert!(!refused.stderr.contains('\u{1b}'), "{:?}", refused.stderr);
    #[cfg(unix)]
    folder.thalweg("run /dev/zero -o a").refused(1, &["/dev/zero", "not a regular file"]);
    for line in ["run --json", "--json nonsense", "erode --json h.npy -o o.npy --frames"] {
        let wrong = folder.thalweg(line);
        assert_eq!(wrong.code, Some(2));
        let error: Value = serde_json::from_str(&wrong.stderr)
            .unwrap_or_else(|e| panic!("{line}: {e}: {}", wrong.stderr));
        assert_eq!(error["error"]["code"], "usage");
        assert!(error["error"]["message"].as_str().unwrap().len() > 20, "{}", wrong.stderr);
    }
    assert!(folder.thalweg("--help --json").ok().stdout.contains("Usage"));
}

/// Heights of 16 bits over a range of one's own: files of neighbouring lands fit together, what
/// lies beyond is counted, and the numbers are in the file, in JSON, on the terminal and in the
/// manifest.
/// Holds file F4.
#[test]
fn an_output_range_is_kept_and_said() {
    let folder = Folder::new("range");
    folder.file("h.npy", npy(&hills(32, 32))).file("r.toml", RECIPE);
    let line = "erode h.npy -o o.png --device cpu --spacing 10 --output-range -100 900";
    let ran = folder.thalweg(line).ok();
    assert!(ran.stdout.contains("height: 0 to 65535 stand for -100 to 900"), "{}", ran.stdout);
    let read = |name: &str| io::read(folder.0.join(name), &io::ReadOptions::default()).unwrap().map;
    assert_eq!(read("o.png").range_m, Some((-100.0, 900.0)));
    let json: Value =
        serde_json::from_str(&folder.thalweg(&format!("{line} --force --json")).ok().stdout)
            .unwrap();
    assert_eq!(json["quantised"]["height"], serde_json::json!([-100.0, 900.0]));
    let clipped = folder
        .thalweg("erode h.npy -o c.png --device cpu --spacing 10 --output-range 200 300")
        .ok();
    assert!(
        clipped.stderr.contains("of 1024 values") && clipped.stderr.contains("200 to 300"),
        "{}",
        clipped.stderr
    );
    let ran = folder.thalweg("run r.toml -o a --device cpu --output-range -50 500").ok();
    assert!(ran.stdout.contains("height: 0 to 65535 stand for -50 to 500"), "{}", ran.stdout);
    let manifest = folder.json("a/manifest.json");
    assert_eq!(manifest["maps"][0]["quantised"], serde_json::json!([-50.0, 500.0]));
    assert_eq!(manifest["recipe"]["output"]["range_m"], serde_json::json!([-50.0, 500.0]));
    // Two pictures of parts of one land have the same colours.
    for range in ["5 1", "nan 1", "0 inf"] {
        folder
            .thalweg(&format!("run r.toml -o b --output-range {range}"))
            .refused(1, &["--output-range", "lower one first"]);
    }
}

/// A file that may not grow is an error, and leaves nothing behind.
/// Holds file F9: a hidden part of it was left.
#[cfg(unix)]
#[test]
fn a_limit_of_the_size_of_files_is_an_error() {
    let folder = Folder::new("limit");
    folder.file("h.npy", npy(&hills(64, 64)));
    let program = env!("CARGO_BIN_EXE_thalweg");
    let line = format!("ulimit -f 4; exec {program} convert h.npy o.r32 --spacing 10");
    let output = Command::new("sh").args(["-c", &line]).current_dir(&folder.0).output().unwrap();
    let ran = ran(output).refused(1, &["o.r32"]);
    assert!(ran.stderr.contains("too large") || ran.stderr.contains("File"), "{}", ran.stderr);
    // Nobody has given the name of the file that was to become it.
    assert!(!ran.stderr.contains(".o.r32"), "{}", ran.stderr);
    assert_eq!(folder.list(""), ["h.npy"]);
}

/// Where memory does not suffice for a map, the size that is said to fit does.
/// Holds file F7: it did not.
#[cfg(target_os = "linux")]
#[test]
fn the_size_that_is_said_to_fit_fits() {
    let folder = Folder::new("fits");
    folder.file("r.toml", RECIPE.replace("spacing_m = 10", "spacing_m = 10\nlevels = \"auto\""));
    let dry = |size: &str| {
        let line = format!(
            "ulimit -v 600000; exec {} run r.toml --dry-run --device cpu --threads 2 --size {size}",
            env!("CARGO_BIN_EXE_thalweg")
        );
        ran(Command::new("sh").args(["-c", &line]).current_dir(&folder.0).output().unwrap())
    };
    let refused = dry("30000").refused(1, &["MiB are free", "a map of about"]);
    let fits =
        refused.stderr.split("about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!((500..5000).contains(&fits.parse::<u32>().unwrap()), "{fits}");
    dry(fits).ok();
}

/// P6: recipes of a hundred bytes that ask for more than any plan holds are refused by name, with
/// no more memory than small ones take.
#[cfg(target_os = "linux")]
#[test]
fn recipes_beyond_a_limit_end_within_64_mib() {
    let folder = Folder::new("counted");
    let slide = r#"{ "kind": "thermal", "steps": 262144"#;
    let recipe = |name: &str, stages: String| {
        let head = r#"{ "schema": 2, "spacing_m": 10, "width": 64, "height": 64, "stage": [{ "kind": "noise" }, "#;
        folder.file(name, format!("{head}{stages}] }}"));
    };
    recipe(
        "nest.json",
        format!(
            r#"{slide}, "interleave": [{{ "kind": "thermal", "every": 1, "steps": 262144 }}] }}"#
        ),
    );
    recipe("many.json", vec![format!("{slide} }}"); 60].join(", "));
    recipe("stages.json", vec![r#"{ "kind": "thermal" }"#; 20_000].join(", "));
    let program = env!("CARGO_BIN_EXE_thalweg");
    // Memory that the process writes to, stacks of its threads among it.
    let run = |arguments: &str| {
        let line = format!("ulimit -d 65536; exec {program} {arguments} --device cpu --threads 2");
        ran(Command::new("sh").args(["-c", &line]).current_dir(&folder.0).output().unwrap())
    };
    for command in [
        "run FILE --dry-run",
        "run FILE -o out",
        "compare FILE",
        "tiles FILE -o out.tif --dry-run",
        "tiles FILE -o out.tif",
    ] {
        let command = |file: &str| command.replace("FILE", file);
        run(&command("nest.json"))
            .refused(1, &["stage 2, thermal", "68719738881 passes", "4194304"]);
        run(&command("many.json")).refused(1, &["stage 61, thermal", "15728641 passes", "4194304"]);
        run(&command("stages.json")).refused(1, &["20001 stages", "1000"]);
    }
    assert_eq!(folder.list(""), ["many.json", "nest.json", "stages.json"]);
}
