//! The programs in `examples/` run and say what they promise.

use std::path::PathBuf;
use std::process::Command;

/// What an example prints. `cargo test` builds the examples beside this binary; `cargo test --test
/// it` alone does not.
fn printed(name: &str) -> String {
    let here = std::env::current_exe().unwrap();
    let path: PathBuf = here.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: run cargo build --examples", path.display());
    let output = Command::new(&path).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn heights_in_memory_are_eroded_with_progress() {
    let text = printed("heights_in_memory");
    for word in ["incision: ", "incision: 100 %", "256 x 256 heights, moved by", "digest "] {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
    assert!(!text.contains("moved by 0.00 m"), "{text}");
}

#[test]
fn a_resumed_run_has_equal_words() {
    assert!(printed("resume").contains("the resumed run has equal words"));
}

/// As many points as the lattice's density √3·f² gives the square and the circle, whose radius is
/// padding + √½·5/3 / f.
/// Holds E18 in part.
#[test]
fn points_are_counted_and_drawn() {
    let text = printed("points");
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [all, .., near, radius] = numbers[..] else { panic!("{text}") };
    let density = 3f64.sqrt() * 0.04 * 0.04;
    assert!((radius - 32.0 - 0.5f64.sqrt() * 5.0 / 3.0 / 0.04).abs() < 0.01, "{text}");
    assert!((all / (512.0 * 512.0 * density) - 1.0).abs() < 0.05, "{text}");
    assert!(
        (near / (std::f64::consts::PI * radius * radius * density) - 1.0).abs() < 0.25,
        "{text}"
    );
}

#[cfg(feature = "gpu")]
#[test]
fn a_device_of_ones_own_keeps_the_heights() {
    if crate::common::gpu("examples::a_device_of_ones_own_keeps_the_heights", 64, None).is_some() {
        let text = printed("own_device");
        let steepest = text
            .strip_prefix("steepest step between neighbours: ")
            .and_then(|rest| rest.trim().strip_suffix(" m"));
        assert!(steepest.is_some_and(|metres| metres.parse::<f64>().unwrap() > 1.0), "{text}");
    }
}
