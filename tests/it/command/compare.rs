//! `thalweg compare`: the executors word for word, and the quality of the droplets.

use super::{Folder, RECIPE, adapter, hills, map, npy};
use serde_json::Value;
use thalweg::image::{Rgb, RgbImage};
use thalweg::io;
use thalweg::quality::{Grid, statistics};

/// All stages of a recipe give the same words on the CPU and on the GPU.
/// Holds C26, M5.
#[test]
fn compare_finds_no_difference() {
    if !adapter("compare::compare_finds_no_difference") {
        return;
    }
    let folder = Folder::new("compare");
    folder.file("r.toml", RECIPE).file("h.npy", npy(&hills(50, 40)));
    folder.file(
        "input.toml",
        "schema = 2\nspacing_m = 10\ninput = \"h.npy\"\n[[stage]]\n\
         kind = \"droplets\"\nlifetime = 16\n",
    );
    let lines = [
        "compare r.toml --size 64",
        "compare r.toml --every stage --workgroup-size 32",
        "compare input.toml",
    ];
    for (i, line) in lines.into_iter().enumerate() {
        let ran = folder.thalweg(&format!("{line} --json --picture p.png --force")).ok();
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            (&report["equal"], &report["changed"]),
            (&true.into(), &true.into()),
            "{report}"
        );
        let stages = report["stages"].as_array().unwrap();
        assert_eq!(stages.last().unwrap()["stage"], "droplets");
        assert!(stages.iter().all(|s| s["words"].as_u64().unwrap() > 1000));
        // The picture is white everywhere.
        let (width, height) = [(64, 64), (64, 48), (50, 40)][i];
        let white = io::encode_picture(RgbImage::from_pixel(width, height, Rgb([255; 3]))).unwrap();
        assert_eq!(folder.read("p.png"), white);
    }
    // One is not many.
    let blurred =
        folder.file("blur.toml", format!("{HILLS}[[stage]]\nkind = \"blur\"\npasses = 1\n"));
    let text = blurred.thalweg("compare blur.toml").ok().stdout;
    assert!(
        text.contains("blur: 1 pass, 3072 words") && text.contains("diamond_square: 8 passes, "),
        "{text}"
    );
    assert!(text.contains("equal") && text.contains("drops") && text.contains("64 x 48"), "{text}");
    folder.file("levels.toml", HILLS.replace("spacing_m = 10\n", "spacing_m = 10\nlevels = 2\n"));
    folder.thalweg("compare levels.toml --scale 2 --picture finer.png").ok();
    folder.thalweg("scatter levels.toml --scale 2 --device cpu -o places.csv").ok();
    folder.thalweg("compare r.toml --device cpu").refused(1, &["--device cpu"]);
}

const HILLS: &str = "schema = 2\nname = \"hills\"\nseed = 3\nwidth = 64\nheight = 48\n\
                     spacing_m = 10\n\
                     [[stage]]\nkind = \"diamond_square\"\nrelief_m = 200\n[[stage]]\n\
                     kind = \"droplets\"\nlifetime = 16\n";

#[test]
fn compare_quality_reports_figures_and_pictures() {
    let folder = Folder::new("quality");
    folder
        .file("r.toml", HILLS)
        .file("dry.toml", HILLS.split("[[stage]]\nkind = \"droplets\"").next().unwrap());
    let ran = folder
        .thalweg("compare --quality r.toml --device cpu -o looks --json --densities 1,0.25")
        .ok();
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let maps = json["maps"].as_array().unwrap();
    let names: Vec<_> = maps.iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["input", "classic", "density 1", "density 1/4"]);
    // The figures of a column are those of the map that `run` makes.
    folder.thalweg("run r.toml --device cpu -o made").ok();
    let made = io::read(folder.0.join("made/height.tif"), &io::ReadOptions::default()).unwrap().map;
    let cells: Vec<f64> = made.data.iter().map(|&m| m as f64 / 10.0).collect();
    let figures = statistics(Grid::new(&cells, 64, 48).unwrap()).unwrap();
    // Through text, like the report.
    let expected: Value = serde_json::from_str(&serde_json::json!(figures).to_string()).unwrap();
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&maps[3]["figures"][name], value, "{name}");
    }
    assert!(maps[0]["figures"].get("worn").is_none());
    assert!(
        maps[1]["figures"]["worn"].as_f64().unwrap() > 0.0
            && maps[1]["figures"] != maps[3]["figures"]
    );
    let report = folder.read("looks/report.json");
    let page = String::from_utf8(folder.read("looks/report.md")).unwrap();
    assert!(
        page.contains("max_step_fraction = 0.25")
            && page.contains("| slope_p50 |")
            && page.contains("sheet.png"),
        "{page}"
    );
    for name in ["input.png", "classic.png", "density-1.png", "density-1-4.png", "sheet.png"] {
        assert!(folder.read(&format!("looks/{name}")).starts_with(b"\x89PNG"), "{name}");
    }
    let again = folder
        .thalweg(
            "compare --quality r.toml --device cpu -o looks --densities 1,0.25 --force --threads 1",
        )
        .ok();
    assert!(again.stdout.contains("bifurcation_ratio"), "{}", again.stdout);
    folder.file("levels.toml", HILLS.replace("spacing_m = 10\n", "spacing_m = 10\nlevels = 2\n"));
    let levels = folder.thalweg("compare --quality levels.toml --device cpu --densities 0.25").ok();
    assert!(levels.stdout.contains("depressions"), "{}", levels.stdout);
    let finer = folder
        .thalweg("compare --quality levels.toml --device cpu --densities 0.25 --scale 2")
        .ok();
    assert!(finer.stdout.contains("127 x 95 cells of 5 m"), "{}", finer.stdout);
    assert_eq!(folder.read("looks/report.json"), report);
    // U6: a density that is a ramp is the first column as it is, and each that is asked for holds
    // on all levels. (All columns were the ramp.)
    let land = HILLS.replace("spacing_m = 10\n", "spacing_m = 10\nlevels = 2\n");
    folder.file("ramp.toml", land.clone() + "density = { from = 1, to = 0.0625 }\n");
    let ran = folder
        .thalweg("compare --quality ramp.toml --device cpu -o ramps --json --densities 1,0.25")
        .ok();
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let columns: Vec<_> = json["maps"].as_array().unwrap()[2..]
        .iter()
        .map(|m| (m["name"].as_str().unwrap(), &m["figures"]))
        .collect();
    assert_eq!(
        columns.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["density by level", "density 1", "density 1/4"]
    );
    for (k, density) in ["{ from = 1, to = 0.0625 }", "1", "0.25"].into_iter().enumerate() {
        folder.file("one.toml", land.clone() + &format!("density = {density}\n"));
        folder.thalweg("run one.toml --device cpu -o one --force").ok();
        let made =
            io::read(folder.0.join("one/height.tif"), &io::ReadOptions::default()).unwrap().map;
        let cells: Vec<f64> = made.data.iter().map(|&m| m as f64 / 10.0).collect();
        let figures: Value = serde_json::from_str(
            &serde_json::json!(statistics(Grid::new(&cells, 64, 48).unwrap()).unwrap()).to_string(),
        )
        .unwrap();
        for (name, value) in figures.as_object().unwrap() {
            assert_eq!(&columns[k].1[name], value, "{name} of {density}");
        }
    }
    assert_ne!(folder.read("ramps/density-1.png"), folder.read("ramps/density-1-4.png"));
    for (line, words) in [
        ("r.toml --size 31", &["31 x 31", "32 x 32"][..]),
        ("r.toml --densities 0.25,0.26", &["density 1/4", "once"]),
        ("r.toml --densities 7", &["--densities", "density = 7", "1"]),
        ("r.toml --set droplets.raim=1", &["--set droplets.raim=1", "rain"]),
        ("r.toml --set droplets.rain=511", &["lives"]),
        ("r.toml -o looks", &["already exists", "--force"]),
        ("dry.toml", &["dry.toml", "no droplets stage"]),
    ] {
        folder.thalweg(&format!("compare --quality {line}")).refused(1, words);
    }
}

/// A picture is a PNG, by its name too.
#[test]
fn a_picture_of_a_comparison_is_a_png() {
    let folder = Folder::new("compare_png");
    folder.file("a.npy", npy(&map(9, 9, |r, c| (r * c) as f32)));
    folder.file("b.npy", npy(&map(9, 9, |r, c| (r + c) as f32)));
    let line = "compare a.npy b.npy --spacing 10 --picture p.jpg";
    folder.thalweg(line).refused(1, &["p.jpg", ".png"]);
    assert_eq!(folder.list(""), ["a.npy", "b.npy"]);
}
