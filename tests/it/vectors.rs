//! Terrain changes only on purpose: the digest of every case, as it was when last looked at.

use crate::common::{cases, cpu, everything, plan};
use std::fmt::Write;
use thalweg::job::digest;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors.txt");
const HEAD: &str =
    "# stage case digest: BLAKE3 of the words of the buffers that outlive the stage, little-endian, in the order of the plan.\n";

#[test]
fn terrain_is_what_it_was() {
    let mut text = HEAD.to_string();
    for (stage, case) in cases() {
        let plan = plan(stage, &case);
        let kept: Vec<&str> = plan.kept().map(|buffer| buffer.name).collect();
        let all = everything(stage, &case, &mut cpu());
        let words: Vec<i32> = all.into_iter().filter(|(name, _)| kept.contains(name)).flat_map(|(_, words)| words).collect();
        assert!(!words.is_empty(), "{} {} leaves nothing", stage.name, case.name);
        writeln!(text, "{} {} {}", stage.name, case.name, digest(&words)).unwrap();
    }
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(PATH, &text).unwrap();
    }
    let stored = std::fs::read_to_string(PATH).unwrap_or_default();
    let changed: Vec<&str> = text.lines().filter(|l| !stored.lines().any(|s| s == *l)).collect();
    let gone: Vec<&str> = stored.lines().filter(|l| !text.lines().any(|s| s == *l)).collect();
    assert!(
        changed.is_empty() && gone.is_empty(),
        "terrain changed: now {changed:#?}, stored {gone:#?}\nIf this was meant, look at pictures, run\n    THALWEG_BLESS=1 cargo test --test it vectors\nand say so in CHANGELOG.md under Terrain."
    );
}
