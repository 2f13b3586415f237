//! House rules, as tests.

use std::path::{Path, PathBuf};
use thalweg::stage::STAGES;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(under: &str, extension: &str) -> Vec<(String, String)> {
    fn walk(at: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(at).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                walk(&entry, extension, found);
            } else if entry.extension().is_some_and(|e| e == extension) {
                found.push(entry);
            }
        }
    }
    let mut found = vec![];
    walk(&root().join(under), extension, &mut found);
    assert!(!found.is_empty(), "no .{extension} under {under}");
    found.into_iter().map(|p| (p.strip_prefix(root()).unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(p).unwrap())).collect()
}

#[test]
fn a_stage_has_one_stem() {
    let shaders: Vec<String> = files("shaders", "wgsl").into_iter().map(|(p, _)| p).collect();
    for stage in STAGES {
        assert!(root().join(format!("src/stage/{}.rs", stage.name)).exists(), "src/stage/{}.rs", stage.name);
        assert!(shaders.contains(&format!("shaders/{}.wgsl", stage.name)), "shaders/{}.wgsl", stage.name);
        assert!(root().join(format!("tests/it/{}.rs", stage.name)).exists(), "tests/it/{}.rs: the physics of the stage", stage.name);
        assert!(!(stage.cases)().is_empty(), "{} has cases", stage.name);
    }
    assert_eq!(shaders.len(), STAGES.len() + 1, "one shader a stage, and spec.wgsl");
}

#[test]
fn source_files_begin_with_what_they_are_for() {
    for (path, text) in files("src", "rs").into_iter().chain(files("tests", "rs")) {
        assert!(text.starts_with("//! "), "{path} begins with a //! line");
    }
}

#[test]
fn each_thing_is_named_in_one_place() {
    for (path, text) in files("src", "rs") {
        let code: String = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let names = |word: &str| code.contains(word);
        assert!(!names("wgpu::") || path == "src/exec/gpu.rs", "{path} names wgpu");
        assert!(!names("unsafe {") || path == "src/exec/cpu.rs", "{path} has unsafe code");
        assert!(!path.starts_with("src/stage/") || !names("std::fs") && !names("println!"), "{path} talks to the world");
        assert!(!path.starts_with("src/stage/") || !names("Instant"), "{path} reads the clock");
        for rule in ["keep in sync", "todo!", "unimplemented!", "1e-6", "f32::EPSILON", "f64::EPSILON"] {
            assert!(!text.to_lowercase().contains(&rule.to_lowercase()) || path.starts_with("src/classic/"), "{path} says {rule:?}");
        }
    }
}

#[test]
fn every_parameter_is_documented() {
    for stage in STAGES {
        let page = std::fs::read_to_string(root().join("docs/stages.md")).expect("docs/stages.md");
        for p in stage.params {
            assert!(p.doc.ends_with('.') && p.doc.len() > 10, "{}.{}: a sentence", stage.name, p.name);
            let row = format!("| `{}` | {} | {} | {} |", p.name, p.default().to_string().trim_matches('"'), p.allowed(), if p.unit.is_empty() { "–" } else { p.unit });
            assert!(page.contains(&row), "docs/stages.md has no row {row:?}");
        }
    }
}
