//! `thalweg render`: each picture differs from the others, and bad maps are refused.

use super::{Folder, hills, map, npy, spoilt};
use serde_json::Value;

#[test]
fn render_draws_each_picture() {
    let folder = Folder::new("render");
    folder.file("h.npy", npy(&hills(60, 40)));
    let options = [
        "",
        "--sea-level 100",
        "--z-factor 3 --azimuth -45 --altitude 30",
        "--snow-line 10",
        "--mask",
        "--mask --log",
        "--skyline",
        "--plain",
        "--plain --azimuth 315",
        "--plain --sky 0.5",
        "--plain --z-factor 1.5",
        "--plain --sea-level 100",
        "--plain --before h.npy",
    ];
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
    folder.thalweg("render h.npy -o x.png --plain --sky 1.5").refused(1, &["--sky 1.5", "0 to 1"]);
    folder.thalweg("render h.npy -o x.png --log").refused(2, &["--mask"]);
    folder.thalweg("render h.npy -o x.png --sky 1").refused(2, &["--plain"]);
    folder.thalweg("render h.npy -o x.png --plain --ground").refused(2, &["--ground"]);
}

/// Maps of flow, wear and deposit change the colours of the ground, and `--before` puts two
/// pictures side by side.
/// Holds A19, C1 in part.
#[test]
fn render_draws_the_ground_and_before_and_after() {
    let folder = Folder::new("ground");
    folder
        .file("h.npy", npy(&hills(60, 40)))
        .file("b.npy", npy(&map(60, 40, |r, c| (r + c) as f32)));
    let flow = |high: f32| map(60, 40, move |r, _| if r > 36 { high } else { 1.0 });
    for (name, high) in [("flow", 900.0), ("erosion", 40.0), ("deposition", 30.0)] {
        folder.file(&format!("{name}.npy"), npy(&flow(high)));
    }
    let maps = ["", "--flow flow.npy", "--erosion erosion.npy", "--deposition deposition.npy"];
    let mut seen = vec![];
    for (i, option) in maps.iter().enumerate() {
        folder.thalweg(&format!("render h.npy -o {i}.png --spacing 10 --ground {option}")).ok();
        seen.push(folder.read(&format!("{i}.png")));
        assert!((0..i).all(|j| seen[i] != seen[j]), "{option} looks like another");
    }
    // Maps of water say where it is, and flow then draws none.
    folder.file("dry.npy", npy(&map(60, 40, |_, _| 0.0)));
    for (i, option) in ["", "--flow flow.npy"].iter().enumerate() {
        let line = "render h.npy --spacing 10 --ground --water dry.npy";
        folder.thalweg(&format!("{line} -o dry{i}.png {option}")).ok();
    }
    assert_eq!(folder.read("dry0.png"), folder.read("dry1.png"));
    assert_eq!(folder.read("dry0.png"), seen[0]);
    for option in ["", "--ground --flow flow.npy"] {
        let line =
            format!("render h.npy -o both.png --spacing 10 --force --json --before b.npy {option}");
        let report: Value = serde_json::from_str(&folder.thalweg(&line).ok().stdout).unwrap();
        assert_eq!((&report["width"], &report["height"]), (&122.into(), &40.into()));
    }
    folder.file("small.npy", npy(&hills(30, 40)));
    folder.file("nan.npy", spoilt(&hills(60, 40), 7 * 60, f32::NAN));
    for option in ["--before", "--ground --flow", "--ground --erosion", "--ground --deposition"] {
        let refused = |file: &str, words: &[&str]| {
            folder
                .thalweg(&format!("render h.npy -o x.png {option} {file}"))
                .refused(1, &[&[file], words].concat());
        };
        refused("small.npy", &["30x40", "h.npy has 60x40", "same size"]);
        refused("nan.npy", &["NaN", "row 7, column 0"]);
        refused("none.npy", &["no such file"]);
    }
    assert!(!folder.list("").contains(&"x.png".to_string()));
    folder.thalweg("render h.npy -o x.png --flow flow.npy").refused(2, &["--ground"]);
    folder.file("below.npy", npy(&map(60, 40, |r, c| if (r, c) == (7, 3) { -2.5 } else { 1.0 })));
    for name in ["flow", "erosion", "deposition", "sediment"] {
        let line = format!("render h.npy -o x.png --spacing 10 --ground --{name} below.npy");
        folder
            .thalweg(&line)
            .refused(1, &[&format!("{name} = -2.5 in column 3, row 7: allowed 0 or more")]);
    }
}
