//! `thalweg report`: the edition, the system, and the fixed cases on each device.

use super::{Folder, Ran, adapter, ran};
use serde_json::Value;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

/// How many cases there are, by the file of their digests.
fn cases() -> usize {
    include_str!("../../vectors.txt").lines().filter(|line| !line.starts_with('#')).count()
}

/// The digest of them all: the lines of the file but its first, which is a comment.
fn digest() -> String {
    let (_, lines) = include_str!("../../vectors.txt").split_once('\n').unwrap();
    blake3::hash(lines.as_bytes()).to_string()
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
    assert_eq!(devices[0]["digest"], digest());
    let text = folder.thalweg("report --device cpu").ok().stdout;
    let said = format!("all {} fixed cases have the right words\n   {}\n", cases(), digest());
    assert!(text.contains(&said), "{text}");
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
            (&device["cases"], &device["digest"], &device["differing"]),
            (&cases().into(), &digest().into(), &Value::Array(vec![]))
        );
    }
    let best = report("report --json --device gpu");
    assert_eq!(best["devices"].as_array().unwrap(), &all[1..2]);
    folder.thalweg("report --device no-such").refused(2, &["no-such"]);
}

/// Runs a copy of the program in which a text is replaced by one as long, wherever it stands.
fn damaged(folder: &Folder, text: &str, by: &str, arguments: &[&str]) -> Ran {
    let mut program = std::fs::read(env!("CARGO_BIN_EXE_thalweg")).unwrap();
    let [text, by] = [text, by].map(str::as_bytes);
    assert_eq!(text.len(), by.len());
    let places: Vec<usize> =
        (0..program.len() - text.len()).filter(|at| program[*at..].starts_with(text)).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| program[at..at + by.len()].copy_from_slice(by));
    let path = folder.0.join("damaged");
    // A copy can be run, as the program can.
    std::fs::copy(env!("CARGO_BIN_EXE_thalweg"), &path).unwrap();
    std::fs::write(&path, program).unwrap();
    let mut command = Command::new(path);
    command.args(arguments);
    loop {
        match command.output() {
            // A process that another test begins has the file open until it runs its own program.
            Err(e) if e.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10))
            }
            output => return ran(output.unwrap()),
        }
    }
}

/// By a program whose stored digest of one case is another.
#[test]
fn a_case_with_other_words_is_named() {
    let folder = Folder::new("report-other");
    let vectors = include_str!("../../vectors.txt");
    let line = vectors.lines().find(|line| line.starts_with("thermal ")).unwrap();
    let (case, made) = line.rsplit_once(' ').unwrap();
    let other: String = made.chars().rev().collect();
    let run = |arguments: &[&str]| damaged(&folder, made, &other, arguments);
    let report = run(&["report", "--json", "--device", "cpu"]);
    assert_eq!(report.code, Some(1), "{}", report.stderr);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let device = &report["devices"][0];
    let differing = serde_json::json!([{ "case": case, "made": made, "stored": other }]);
    // The words are the right ones: what is stored was changed.
    assert_eq!((&device["differing"], &device["digest"]), (&differing, &digest().into()));
    let text = run(&["report", "--device", "cpu"]);
    let said = format!("1 of {} fixed cases have other words\n   {}\n", cases(), digest())
        + &format!("   {case}: {made}, where {other} is stored\n");
    assert!(text.code == Some(1) && text.stdout.contains(&said), "{}", text.stdout);
}

/// By a program whose kernels for cards are no WGSL, on which its library panics.
#[test]
fn an_adapter_that_fails_is_in_the_report() {
    if !adapter("report::an_adapter_that_fails_is_in_the_report") {
        return;
    }
    let folder = Folder::new("report-fails");
    for device in ["auto", "gpu"] {
        let arguments = ["report", "--json", "--device", device];
        let report = damaged(&folder, "@compute", "@compote", &arguments);
        assert_eq!(report.code, Some(1), "{}", report.stderr);
        let report: Value = serde_json::from_str(&report.stdout).unwrap();
        let devices = report["devices"].as_array().unwrap();
        let (right, failed) = devices.split_at(usize::from(device == "auto"));
        assert!(right.iter().all(|cpu| cpu["differing"] == serde_json::json!([])));
        assert!(!failed.is_empty());
        assert!(failed.iter().all(|one| one["error"].as_str().unwrap().contains("panicked")));
    }
}
