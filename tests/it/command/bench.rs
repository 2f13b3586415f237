//! `thalweg bench`: the rows of its report.

use super::{Folder, pixels};
use serde_json::Value;

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
