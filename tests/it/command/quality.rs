//! `thalweg quality`: figures beside those of real land, as text, JSON and a page.

use super::{Folder, hills, npy};
use serde_json::Value;
use std::path::Path;
use thalweg::io::{ReadOptions, read};
use thalweg::quality::{FIGURES, Grid, in_cells, statistics};

/// A file of real land.
fn land(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

#[test]
fn quality_holds_lands_against_real_land() {
    let folder = Folder::new("quality-land");
    let (tujunga, edge) = (land("big-tujunga.tif"), land("meghalaya.tif"));
    let ran = folder.thalweg(&format!("quality {tujunga} {edge} -o report.html --json")).ok();
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let lands = json["lands"].as_array().unwrap();
    assert_eq!(
        (&lands[0]["width"], &lands[0]["spacing_m"], &lands[0]["missing"]),
        (&320.into(), &30.0.into(), &0.into())
    );
    assert_eq!((&lands[1]["spacing_m"], &lands[1]["missing"]), (&50.0.into(), &35833.into()));
    // The figures are those of the library.
    let reading =
        read(Path::new(&edge), &ReadOptions { keep_missing: true, ..ReadOptions::default() })
            .unwrap();
    let figures =
        statistics(Grid::new(&in_cells(&reading.map, &reading.missing), 320, 320).unwrap())
            .unwrap();
    let expected: Value = serde_json::from_str(&serde_json::json!(figures).to_string()).unwrap();
    assert_eq!(lands[1]["figures"], expected);
    // What lies outside of real land is named.
    for land in lands {
        let outside: Vec<&str> =
            land["outside"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        for figure in FIGURES {
            let value = land["figures"][figure.name].as_f64();
            let (low, high) =
                (json["real"][figure.name][0].as_f64(), json["real"][figure.name][1].as_f64());
            assert_eq!(low.zip(high), Some(figure.real));
            let is_outside = value.is_some_and(|v| v < figure.real.0 || v > figure.real.1);
            assert_eq!(outside.contains(&figure.name), is_outside, "{}", figure.name);
        }
    }
    // The page needs nothing beside it, has a picture of each land and a row for each figure.
    let page = String::from_utf8(folder.read("report.html")).unwrap();
    assert_eq!(
        (page.matches("data:image/png;base64,").count(), page.matches("<tr>").count()),
        (2, FIGURES.len() + 1)
    );
    assert!(
        !page.contains("src=\"http")
            && page.contains("big-tujunga.tif")
            && page.ends_with("</html>\n"),
        "{page}"
    );
    let text = folder.thalweg(&format!("quality {tujunga} {edge}")).ok().stdout;
    assert!(text.contains("320 x 320 cells of 50 m, 35833 of them without a value"), "{text}");
    assert!(
        FIGURES.iter().all(|figure| text.contains(figure.label)) && text.contains(" *"),
        "{text}"
    );
}

/// A margin is cut off before anything is measured, and what a height for missing samples fills is
/// land.
#[test]
fn quality_takes_margins_and_heights_for_missing_samples() {
    let folder = Folder::new("quality-margin");
    let figures = |line: &str| -> Value {
        let ran = folder.thalweg(&format!("quality {line} --json")).ok();
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        json["lands"][0].clone()
    };
    let edge = land("meghalaya.tif");
    // The same part as a file, with NaN where there is no height.
    let reading =
        read(Path::new(&edge), &ReadOptions { keep_missing: true, ..ReadOptions::default() })
            .unwrap();
    let part = reading.map.crop([20, 20], [280, 280]).unwrap();
    let mut bytes = npy(&part);
    let first = bytes.len() - 4 * part.data.len();
    for at in reading
        .missing
        .iter()
        .filter(|at| (20..300).contains(&(*at % 320)) && (20..300).contains(&(*at / 320)))
    {
        let at = first + 4 * ((at / 320 - 20) * 280 + at % 320 - 20);
        bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    }
    folder.file("part.npy", bytes);
    let (cut, part) = (figures(&format!("{edge} --margin 20")), figures("part.npy --spacing 50"));
    assert_eq!(
        (&cut["width"], &cut["missing"], &cut["figures"]),
        (&280.into(), &part["missing"], &part["figures"])
    );
    assert!(part["missing"].as_u64().unwrap() > 0);
    assert_eq!(figures(&format!("{edge} --nodata 0"))["missing"], 0);
    folder.file("h.npy", npy(&hills(50, 40)));
    for (line, words) in [
        ("h.npy --margin 5", &["h.npy", "50x40", "margin of 5", "32x32"][..]),
        ("h.npy --margin 4000000000", &["--margin", "16777216"]),
        ("h.npy -o page.txt", &["page.txt", ".html"]),
        ("none.tif", &["none.tif"]),
    ] {
        folder.thalweg(&format!("quality {line}")).refused(1, words);
    }
    folder.file("page.html", "mine");
    folder
        .thalweg("quality h.npy -o page.html")
        .refused(1, &["page.html", "already exists", "--force"]);
    assert_eq!(folder.read("page.html"), b"mine");
}
