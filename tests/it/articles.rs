//! The articles' bench: each table is measured once, in its short form, and its report is checked.

#[path = "../../benches/articles/tables/mod.rs"]
mod tables;

use crate::command::{Folder, pixels};
use clap::Parser;
use serde_json::Value;

fn arguments(line: &str) -> tables::Arguments {
    tables::Arguments::try_parse_from(format!("articles {line}").split_whitespace()).unwrap()
}

/// A table as JSON and as text.
fn measured(line: &str) -> (Value, String) {
    tables::measured(&arguments(&format!("{line} --quick --json --device cpu"))).unwrap()
}

fn report(line: &str) -> Value {
    measured(line).0
}

/// Holds C23, C24: the four sweeps of the article, and its four laws, with which the text ends.
#[test]
fn the_table_of_droplets_has_the_articles_sweeps() {
    let (report, text) = measured("droplets");
    let lines = report["lines"].as_array().unwrap();
    let sweeps: Vec<&str> = lines.iter().map(|l| l["sweep"].as_str().unwrap()).collect();
    assert_eq!(
        sweeps,
        [
            "particles",
            "particles",
            "radius_cells",
            "radius_cells",
            "lifetime",
            "lifetime",
            "map",
            "map"
        ]
    );
    assert_eq!(
        (&lines[1]["value"], &lines[1]["article_ms"]),
        (&Value::from(5000), &Value::from(78.62))
    );
    for line in lines {
        let cells = line["cells"].as_array().unwrap();
        let wanted = match line["sweep"].as_str().unwrap() {
            "particles" => line["value"].as_f64().unwrap(),
            "radius_cells" => 10_000.0,
            _ => 5000.0,
        };
        assert_eq!(cells.len(), 2, "the loop and the CPU");
        for cell in cells {
            let number = |key: &str| cell[key].as_f64().unwrap();
            assert!((0.95..=1.3).contains(&(number("particles") / wanted)), "{line}");
            assert!(number("steps") > number("particles") && number("mean_ms") > 0.0, "{line}");
            assert!(
                (number("factor") * number("mean_ms") / line["article_ms"].as_f64().unwrap() - 1.0)
                    .abs()
                    < 1e-9
            );
        }
    }
    assert_eq!(report["laws"].as_array().unwrap().len(), 8, "four laws for each column");
    assert_eq!(text.lines().count(), 8, "{text}");
    assert!(
        text.starts_with("particles: no steeper than linear (")
            && text.lines().all(|line| line.contains("hold")),
        "{text}"
    );
}

/// Holds A14, A15, A16, A29: the series of images, its pictures, and what the article says of them.
#[test]
fn the_table_of_snowballs_has_the_articles_series() {
    let folder = Folder::new("articles-snowballs");
    let path = |name: &str| folder.0.join(name).display().to_string();
    let series = report(&format!("snowballs --picture {}", path("sheet.png")));
    let lines = series["lines"].as_array().unwrap();
    let counts: Vec<u64> = lines.iter().map(|l| l["value"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 35_000, 50_000, 100_000]);
    // Four islands of 251 x 501 samples in two rows: the loop, then the stage.
    assert_eq!(
        folder.read("sheet.png")[16..24],
        [1004u32.to_be_bytes(), 1002u32.to_be_bytes()].concat()
    );
    for line in lines {
        let particles = |column: usize| line["cells"][column]["particles"].as_f64().unwrap();
        let wanted = line["value"].as_f64().unwrap();
        assert_eq!(particles(0), wanted);
        assert!((0.95 * wanted..=1.3 * wanted).contains(&particles(1)), "{line}");
        // On the first island nothing falls, so there is no factor.
        let factors = [0, 1].map(|column| line["cells"][column]["factor"].is_f64());
        assert_eq!(factors, [wanted > 0.0; 2], "{line}");
    }
    let laws = series["laws"].as_array().unwrap();
    assert_eq!(laws.len(), 12, "six statements for each column");
    for law in laws.iter().filter(|law| !law["law"].as_str().unwrap().contains("half a second")) {
        assert_eq!(law["holds"], true, "{law}");
    }
    // The published splat changes the islands of the loop alone, except the first, on which nothing
    // fell.
    let published =
        report(&format!("snowballs --splat published --picture {}", path("published.png")));
    assert!(
        published["lines"][0]["cells"][0]["executor"].as_str().unwrap().contains("published splat")
    );
    let [sheet, other] = ["sheet.png", "published.png"].map(|name| pixels(folder.read(name)));
    let differs = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        rows.flat_map(|y| columns.clone().map(move |x| (y * 1004 + x) * 3))
            .any(|i| sheet[i..i + 3] != other[i..i + 3])
    };
    assert!(differs(0..501, 251..1004) && !differs(0..501, 0..251) && !differs(501..1002, 0..1004));
}

/// Holds E13, E17: a row of the article's tables by four methods, and its figures.
#[test]
fn the_table_of_biomes_has_the_articles_methods() {
    let folder = Folder::new("articles-biomes");
    let report = report(&format!("biomes --picture {}", folder.0.join("figures.png").display()));
    let rows = report["rows"].as_array().unwrap();
    let methods: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["full", "scattered", "convolved", "lerped"]);
    for row in rows {
        let of = |key: &str| row[key].as_f64().unwrap();
        // At least a record, written or read.
        assert!(of("bytes") > 40.0 && of("copy_gb_per_s") > 0.0, "{row}");
        assert!((of("bytes") / of("passes_ns") / of("gb_per_s") - 1.0).abs() < 1e-9, "{row}");
    }
    assert_eq!(
        folder.read("figures.png")[16..24],
        [1560u32.to_be_bytes(), 1168u32.to_be_bytes()].concat()
    );
}

#[test]
fn options_of_another_table_are_refused() {
    for (line, words) in [
        ("droplets --splat published", ["--splat", "snowballs"]),
        ("droplets --warmup 16", ["--warmup", "biomes"]),
        ("droplets --picture other.png", ["--picture", "snowballs and biomes"]),
        ("biomes --picture none/other.png", ["none/other.png", "no folder"]),
    ] {
        let error = tables::run(&arguments(line)).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}
