//! `thalweg report`: the edition, the system, and the fixed cases on each device.

use super::{Folder, adapter};
use serde_json::Value;

/// How many cases there are, by the file of their digests.
fn cases() -> usize {
    include_str!("../../vectors.txt").lines().filter(|line| !line.starts_with('#')).count()
}

#[test]
fn the_cpu_makes_the_right_words_of_all_fixed_cases() {
    let folder = Folder::new("report");
    let line = "report --json --device cpu --threads 3";
    let report: Value = serde_json::from_str(&folder.thalweg(line).ok().stdout).unwrap();
    assert_eq!(report["identity"], thalweg::identity::engine());
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["processor"], std::env::consts::ARCH);
    let devices = report["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1);
    assert_eq!(devices[0]["name"], "CPU, 3 threads");
    assert_eq!(devices[0]["cases"], cases());
    assert_eq!(devices[0]["differing"], serde_json::json!([]));
    let text = folder.thalweg("report --device cpu").ok().stdout;
    assert!(text.contains(&format!("all {} fixed cases have the right words", cases())), "{text}");
    assert!(folder.list("").is_empty());
}

#[test]
fn an_adapter_makes_the_right_words_of_all_fixed_cases() {
    if !adapter("report::an_adapter_makes_the_right_words_of_all_fixed_cases") {
        return;
    }
    let folder = Folder::new("report-adapter");
    let report =
        |line: &str| -> Value { serde_json::from_str(&folder.thalweg(line).ok().stdout).unwrap() };
    let devices = report("devices --json")["adapters"].as_array().unwrap().len();
    let all = report("report --json");
    let all = all["devices"].as_array().unwrap();
    assert_eq!(all.len(), 1 + devices);
    for device in all {
        assert_eq!(
            (&device["cases"], &device["differing"]),
            (&cases().into(), &Value::Array(vec![]))
        );
    }
    let best = report("report --json --device gpu");
    assert_eq!(best["devices"].as_array().unwrap(), &all[1..2]);
    folder.thalweg("report --device no-such").refused(2, &["no-such"]);
}
