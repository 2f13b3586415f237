//! `thalweg bench`: the rows of its report.

use super::Folder;
use serde_json::Value;
use thalweg::stage::STAGES;

/// The report has a row for each stage, the bounds of the machine, the sequential loop and a window
/// of a world of 2³⁰ cells.
/// Holds D20 in part.
#[test]
fn bench_measures_each_stage_the_bounds_and_the_loop() {
    let folder = Folder::new("bench");
    let report: Value =
        serde_json::from_str(&folder.thalweg("bench --quick --json --device cpu").ok().stdout)
            .unwrap();
    let rows = report["rows"].as_array().unwrap();
    for row in rows {
        assert!(row["median"].as_f64().unwrap() > 0.0, "{row}");
    }
    let has = |executor: &str, bench: &str| {
        rows.iter().any(|r| {
            r["executor"].as_str().unwrap().starts_with(executor)
                && r["bench"].as_str().unwrap().starts_with(bench)
        })
    };
    for stage in STAGES {
        assert!(has("CPU", stage.name), "no row of {}", stage.name);
        let row =
            rows.iter().find(|row| row["bench"].as_str().unwrap().starts_with(stage.name)).unwrap();
        assert!(
            row["digests"].as_object().unwrap().values().all(|digest| digest
                .as_str()
                .unwrap()
                .len()
                >= 64),
            "{row}"
        );
    }
    for (executor, bench) in [
        ("CPU", "copy (read + write)"),
        ("CPU", "random atomic additions"),
        ("CPU", "strided reads"),
        ("CPU", "random reads"),
        ("CPU", "additions within 64 words"),
        ("CPU", "additions to one word"),
        ("CPU", "pass after pass"),
        ("CPU", "submit and wait"),
        ("CPU", "droplets, density 1/4"),
        ("CPU", "window of a 2^9 world"),
        ("CPU", "window of a 2^30 world"),
        ("CPU", "read a map back"),
        ("classic", "droplets"),
        ("1 thread", "encode 16-bit PNG"),
    ] {
        assert!(has(executor, bench), "no row of {bench} by {executor}");
    }
    // Stages that erode are measured on land that they change. On level land they would have
    // little to do.
    let height = |bench: &str| {
        let row = rows.iter().find(|row| row["bench"] == bench).unwrap();
        row["digests"]["height"].as_str().unwrap()
    };
    let eroding = ["droplets, density 1", "snowballs", "wind", "thermal", "incision", "blur"];
    for (i, bench) in eroding.iter().enumerate() {
        for other in eroding[..i].iter().chain(&["diamond_square"]) {
            assert_ne!(height(bench), height(other), "{bench}, {other}");
        }
    }
    // Steps are those of particles, as many however fast they are.
    for row in rows.iter().filter(|row| row["executor"].as_str().unwrap().starts_with("CPU")) {
        let is_of_particles = row["unit"] == "M particle-steps/s";
        assert_eq!(row["steps"].as_u64().is_some_and(|steps| steps > 0), is_of_particles, "{row}");
    }
    // A kernel's share of a copy follows from its bytes and seconds.
    let row = rows.iter().find(|row| row["bench"] == "droplets, density 1").unwrap();
    let copy = rows.iter().find(|row| row["bench"] == "copy (read + write)").unwrap()["median"]
        .as_f64()
        .unwrap();
    for kernel in row["kernels"].as_array().unwrap() {
        let number = |key: &str| kernel[key].as_f64().unwrap();
        assert!(
            kernel["clock"] == "host" && number("seconds") > 0.0 && number("passes") >= 1.0,
            "{kernel}"
        );
        // `settle` is the only kernel that passes over quiet cells.
        assert_eq!(kernel["passed_over"].is_f64(), kernel["name"] == "settle", "{kernel}");
        assert!((number("of_copy") * copy / number("model_gb_s") - 1.0).abs() < 1e-9, "{kernel}");
        // Of a cell that it looks at, `settle` reads `moved`, of two words, `height` and `carry`,
        // and writes `next` and `carried`. It reads one brush for all.
        if kernel["name"] == "settle" {
            let cells = 256.0 * 256.0 * (1.0 - number("passed_over")) * number("passes");
            let words = number("model_gb_s") * number("seconds") * 1e9 / 4.0 / cells;
            assert!((6.0..6.01).contains(&words), "{words} words a cell: {kernel}");
        }
    }
    folder.thalweg("bench --table droplets").refused(2, &["--table"]);
}

/// What would take too long by what it took on a smaller map is left out and named.
#[test]
fn bench_leaves_out_what_would_take_too_long() {
    let folder = Folder::new("bench-within");
    let report = |within: u32| -> Value {
        let command =
            format!("bench --size 16,32 --rounds 1 --within {within} --json --device cpu");
        serde_json::from_str(&folder.thalweg(&command).ok().stdout).unwrap()
    };
    let sides =
        |list: &Value| list.as_array().unwrap().iter().filter(|row| row["side"] == 32).count();
    let (short, long) = (report(0), report(3600));
    assert_eq!(sides(&short["rows"]), 0, "{short}");
    assert!(sides(&long["rows"]) > STAGES.len() && sides(&long["left_out"]) == 0, "{long}");
    for stage in STAGES {
        let named = |row: &&Value| row["bench"].as_str().unwrap().starts_with(stage.name);
        let row = short["left_out"]
            .as_array()
            .unwrap()
            .iter()
            .find(named)
            .unwrap_or_else(|| panic!("{}: {short}", stage.name));
        assert!(row["side"] == 32 && row["seconds"].as_f64().unwrap() > 0.0, "{row}");
    }
}
