//! `thalweg erode`: a height map in, an eroded one out.

use super::{Folder, hills, map, npy};
use std::path::Path;
use thalweg::image::GrayImage;
use thalweg::io;
use thalweg::map::Map;

/// A height map is eroded by one command, keeps its size and its place on Earth, and gets a map of
/// flow.
/// Holds C1 in part.
#[test]
fn erode_keeps_size_range_and_place() {
    let folder = Folder::new("erode");
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jacksboro.tif"),
        folder.0.join("in.tif"),
    )
    .unwrap();
    let line = "erode in.tif -o out.tif --flow flow.npy --preview p.png --device cpu --preset fans \
                --set rain=0.25 --set lifetime=16";
    let ran = folder.thalweg(line).ok();
    assert!(ran.stdout.contains("403 x 344"), "{}", ran.stdout);
    let read = |name: &str| io::read(folder.0.join(name), &io::ReadOptions::default()).unwrap().map;
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
    let after = io::read(folder.0.join("h.npy"), &io::ReadOptions::default()).unwrap().map;
    assert_eq!((after.width, after.height), (40, 30));
}

#[test]
fn presets_and_settings_of_erode_are_checked() {
    let folder = Folder::new("presets");
    folder.file("h.npy", npy(&hills(16, 16)));
    folder.thalweg("erode h.npy -o o.npy --preset depe").refused(1, &["depe", "deep"]);
    folder.thalweg("erode h.npy -o o.npy --preset fans --set rian=1").refused(1, &["rian", "rain"]);
    folder
        .thalweg("erode h.npy -o o.npy --set rain=1")
        .refused(1, &["rain", "incision", "erodibility"]);
    folder.thalweg("erode h.npy -o o.npy --set rain").refused(1, &["KEY=VALUE"]);
    folder.thalweg("erode h.npy -o o.npy --spacing 0").refused(1, &["spacing"]);
    folder.thalweg("erode h.npy -o o.npy --spacing nan").refused(1, &["spacing"]);
    assert_eq!(folder.list(""), ["h.npy"]);
    folder.thalweg("erode h.npy -o o.npy --preset gentle --spacing 10 --device cpu").ok();
    folder.thalweg("erode h.npy -o p.npy --spacing 10 --device cpu").ok();
    assert_ne!(folder.read("o.npy"), folder.read("p.npy"));
}

#[test]
fn odd_sizes_erode() {
    let folder = Folder::new("sizes");
    for (width, height) in [(1, 1), (1, 37), (41, 1), (2, 2), (31, 67), (101, 103)] {
        folder.file("h.npy", npy(&hills(width, height)));
        folder.thalweg("erode h.npy -o o.npy --force --device cpu --spacing 10").ok();
        folder
            .thalweg(
                "erode h.npy -o f.npy --force --device cpu --spacing 10 --preset fans --set \
                 lifetime=16",
            )
            .ok();
        let map = io::read(folder.0.join("o.npy"), &io::ReadOptions::default()).unwrap().map;
        assert_eq!((map.width, map.height), (width, height));
        let (low, high) = map.min_max();
        assert!(low >= -1.0 && high <= 401.0, "{width}x{height}: {low} to {high}");
    }
}

#[test]
fn eight_bits_work_with_a_warning() {
    let folder = Folder::new("eight");
    let data = (0..32 * 32).map(|i| (i / 8) as u8).collect();
    folder.file("h.png", io::encode_picture(GrayImage::from_raw(32, 32, data).unwrap()).unwrap());
    let ran =
        folder.thalweg("erode h.png -o o.png --device cpu --range -50 300.5 --spacing 10").ok();
    assert!(ran.stderr.contains("warning: ") && ran.stderr.contains("8 bits"), "{}", ran.stderr);
    let quiet =
        folder.thalweg("erode h.png -o q.png --device cpu --range -50 300.5 --spacing 10 -q").ok();
    assert!(!quiet.stderr.contains("warning: ") && quiet.stdout.is_empty(), "{}", quiet.stderr);
}

/// The preview, the time-lapse and the single pictures of `erode` are those of `run`.
/// Holds C1 in part.
#[test]
fn erode_has_the_colours_and_pictures_of_run() {
    let folder = Folder::new("erodeground");
    folder.file("h.npy", npy(&map(50, 40, |r, c| 2.5 * ((r * r / 9 + c * 3) % 90) as f32)));
    let line = "erode h.npy -o o.npy --device cpu --spacing 10 --margin 5 --levels 1 --preset fans \
                --set lifetime=16 --force --preview";
    folder.thalweg(&format!("{line} height.png")).ok();
    let film = "--frames 4 --timelapse t.apng --pictures shots";
    folder.thalweg(&format!("{line} ground.png --colour ground {film}")).ok();
    let recipe = "schema = 2\nspacing_m = 10\nmargin_cells = 5\ninput = \"h.npy\"\n[[stage]]\n\
                  kind = \"droplets\"\nlifetime = 16\n\
                  [output]\nformat = \"npy\"\ncolour = \"ground\"\n";
    folder.file("r.toml", recipe).thalweg("run r.toml -o run --device cpu --frames 4").ok();
    assert_eq!(folder.read("ground.png"), folder.read("run/preview.png"));
    assert_ne!(folder.read("ground.png"), folder.read("height.png"));
    assert_eq!(folder.read("o.npy"), folder.read("run/height.npy"));
    assert_eq!(folder.read("t.apng"), folder.read("run/timelapse.apng"));
    assert_eq!(folder.list("shots"), folder.list("run/frames"));
    for name in folder.list("shots") {
        assert_eq!(
            folder.read(&format!("shots/{name}")),
            folder.read(&format!("run/frames/{name}")),
            "{name}"
        );
    }
    let shorter = film.replace("frames 4", "frames 3");
    folder
        .thalweg(&format!("{line} ground.png {shorter}"))
        .refused(1, &["0003.png", "longer time-lapse"]);
    folder.thalweg("erode h.npy -o x.npy --pictures shots").refused(2, &["--frames"]);
    folder.thalweg("erode h.npy -o x.npy --colour biomes").refused(2, &["height, ground"]);
}

/// F5, F6: files with missing cells erode without a cliff, come out with the same cells missing,
/// and compare; recipes take them, with a height for them and a band.
#[test]
fn cells_without_a_height_stay_without_one() {
    let folder = Folder::new("missing");
    let whole = map(64, 64, |r, c| {
        900.0 + 3.0 * c as f32 + 40.0 * ((r as f32 * 0.3).sin() + (c as f32 * 0.2).cos())
    });
    let missing: Vec<usize> = (0..64 * 64)
        .filter(|at| (24..40).contains(&(at % 64)) && (24..40).contains(&(at / 64)))
        .collect();
    let bytes = io::encode_within(&whole, io::MapFormat::Tiff, None, &missing).unwrap().bytes;
    folder.file("hole.tif", bytes).file("whole.npy", npy(&whole));
    folder.thalweg("erode hole.tif -o out.tif --nodata 0 --keep-nodata --device cpu").ok();
    folder.thalweg("erode hole.tif -o bare.tif --device cpu").ok();
    folder.thalweg("erode whole.npy -o all.npy --device cpu --spacing 10").ok();
    let read = |name: &str| {
        let options = io::ReadOptions { keep_missing: true, ..io::ReadOptions::default() };
        io::read(folder.0.join(name), &options).unwrap()
    };
    let (out, all) = (read("out.tif"), read("all.npy"));
    assert_eq!(out.missing, missing);
    assert_eq!(folder.read("out.tif"), folder.read("bare.tif"));
    // On the rim the ground sinks as it does without the hole; as a cliff it sank by hundreds of
    // metres.
    let rim = |at: &usize| {
        (22..42).contains(&(at % 64))
            && (22..42).contains(&(at / 64))
            && missing.binary_search(at).is_err()
    };
    let sunk = |made: &Map| {
        (0..64 * 64).filter(rim).map(|at| f64::from(whole.data[at] - made.data[at])).sum::<f64>()
            / 144.0
    };
    let (holed, plain) = (sunk(&out.map), sunk(&all.map));
    assert!((holed - plain).abs() < 20.0, "{holed} {plain}");

    folder.thalweg("compare out.tif bare.tif").ok();
    folder
        .thalweg("compare out.tif all.npy")
        .refused_with_output(1, "only one of the two has a value");
    let recipe =
        "schema = 2\ninput = \"hole.tif\"\nKEYS\n[[stage]]\nkind = \"thermal\"\nsteps = 2\n";
    folder.file("r.toml", recipe.replace("KEYS", "")).thalweg("run r.toml -o r --device cpu").ok();
    assert_eq!(read("r/height.tif").missing, missing);
    assert_eq!(folder.json("r/manifest.json")["input"]["missing_cells"], 256);
    folder
        .file("f.toml", recipe.replace("KEYS", "nodata_m = 900\nband = 1"))
        .thalweg("run f.toml -o f --device cpu")
        .ok();
    assert_eq!(read("f/height.tif").missing, [0usize; 0]);
    assert_eq!(folder.json("f/manifest.json")["recipe"]["nodata_m"], 900.0);
    let other = recipe.replace("KEYS", "band = 2");
    folder
        .file("b.toml", other)
        .thalweg("run b.toml -o b --device cpu")
        .refused(1, &["hole.tif", "band"]);
    // Nothing stands where there is no land: a sixteenth of the map.
    folder.thalweg("scatter r.toml -o places.json --frequency 0.5 --device cpu").ok();
    let places = folder.json("places.json")["features"].as_array().unwrap().clone();
    let cell = |place: &serde_json::Value| {
        ["y", "x"].map(|key| (place["properties"][key].as_f64().unwrap() + 0.5).floor() as usize)
    };
    assert!(
        places.len() > 100
            && places.iter().map(cell).all(|[y, x]| missing.binary_search(&(y * 64 + x)).is_err())
    );
    let none = "schema = 2\nspacing_m = 1\nnodata_m = 3\nwidth = 9\nheight = 9\n[[stage]]\n\
                kind = \"flat\"\n";
    folder
        .file("n.toml", none)
        .thalweg("run n.toml -o n --device cpu")
        .refused(1, &["nodata_m", "input"]);
}

/// Two outputs that lead to the same file are refused, however their paths are written.
#[test]
fn outputs_of_one_place_are_refused() {
    let folder = Folder::new("one_place");
    folder.file("h.npy", npy(&map(9, 9, |r, c| (r * c) as f32)));
    std::fs::create_dir(folder.0.join("there")).unwrap();
    let place = folder.0.display();
    let same = "cannot be the same file";
    folder.thalweg("erode h.npy -o x.tif --flow ./x.tif").refused(1, &[same]);
    folder.thalweg("erode h.npy -o there/../x.tif --flow x.tif").refused(1, &[same]);
    folder.thalweg(&format!("erode h.npy -o x.png --preview {place}/x.png")).refused(1, &[same]);
    folder.thalweg("dungeon isaac -o a.png --animation ./a.png").refused(1, &[same]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("there", folder.0.join("link")).unwrap();
        folder.thalweg("erode h.npy -o there/x.tif --flow link/x.tif").refused(1, &[same]);
    }
    folder.thalweg("erode h.npy -o there/x.tif --flow x.tif").ok();
}

/// A negative number is the value of an option, which says what it allows.
#[test]
fn numbers_that_are_not_allowed_are_named() {
    let folder = Folder::new("numbers");
    for (line, given) in [
        ("run r.toml --seed -1", "-1"),
        ("run r.toml --seed 18446744073709551616", "18446744073709551616"),
        ("run r.toml --seed 1e3", "1e3"),
        ("run r.toml --shuffle x", "x"),
        ("dungeon isaac --seed -1", "-1"),
    ] {
        folder.thalweg(line).refused(2, &[given, "0 to 18446744073709551615"]);
    }
    folder.thalweg("run r.toml --threads -1").refused(2, &["'-1'", "--threads"]);
    folder.thalweg("render h.npy -o p.png --altitude -5").refused(1, &["-5"]);
}
