//! How much memory is free: what control groups of Linux leave, by folders such as the system
//! shows.

use crate::common::config;
use proptest::prelude::*;
use std::path::PathBuf;
use thalweg::memory::{admit, available, left_in_groups};

/// A folder of files, removed at the end.
struct Groups(PathBuf);

impl Groups {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("groups-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn left(&self, groups: &str) -> Option<u64> {
        left_in_groups(groups, &self.0)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A unit of systemd, and the slice that contains it: the tighter of both counts.
#[test]
fn the_least_of_a_group_and_those_that_contain_it_is_left() {
    let files = |slice: &'static str| {
        Groups::new(
            "unit",
            &[
                ("system.slice/memory.max", slice),
                ("system.slice/memory.current", "700\n"),
                ("system.slice/thalweg.service/memory.max", "500\n"),
                ("system.slice/thalweg.service/memory.current", "100\n"),
                ("system.slice/thalweg.service/memory.stat", "anon 60\ninactive_file 30\nx 1\n"),
            ],
        )
    };
    let group = "0::/system.slice/thalweg.service\n";
    // 500 less what is used but for files that were not used lately.
    assert_eq!(files("max\n").left(group), Some(500 - (100 - 30)));
    assert_eq!(files("1000\n").left(group), Some(300));
    assert_eq!(files("600\n").left(group), Some(0));
    assert_eq!(files("1000\n").left("0::/system.slice/other.service\n"), Some(300));
    assert_eq!(files("1000\n").left("0::/user.slice\n"), None);
}

/// Within a container its own group is the root, and the path can be one of the host.
#[test]
fn a_container_has_its_limit_at_the_root() {
    let groups = Groups::new("container", &[("memory.max", "4096\n"), ("memory.current", "96\n")]);
    for path in ["0::/\n", "0::/docker/0123\n", "0::/../../machine\n"] {
        assert_eq!(groups.left(path), Some(4000), "{path}");
    }
}

#[test]
fn the_first_version_has_files_of_other_names() {
    let groups = Groups::new(
        "first",
        &[
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/memory.usage_in_bytes", "5000\n"),
            ("memory/a/memory.limit_in_bytes", "2000\n"),
            ("memory/a/memory.usage_in_bytes", "1500\n"),
            ("memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 400\n"),
            // Of another controller.
            ("cpu/a/memory.limit_in_bytes", "7\n"),
            ("cpu/a/memory.usage_in_bytes", "0\n"),
        ],
    );
    assert_eq!(groups.left("9:cpu,cpuacct:/a\n4:memory:/a\n1:name=systemd:/\n0::/\n"), Some(900));
    assert_eq!(groups.left("4:hugetlb,memory:/a/b\n"), Some(900));
    assert_eq!(groups.left("4:memory:/\n"), None);
}

#[test]
fn what_is_not_there_or_not_understood_is_no_limit() {
    let groups = Groups::new("odd", &[("memory.max", "a lot\n"), ("memory.current", "1\n")]);
    for text in ["", "\n", "0:", "0::", "memory", "4:memory", ":::", "0::/"] {
        assert_eq!(groups.left(text), None, "{text:?}");
    }
    assert_eq!(left_in_groups("0::/", "/nonexistent".as_ref()), None);
}

/// What is free is remembered for a moment, and that admits small needs only.
#[test]
fn more_than_is_free_is_refused_right_after_less_was_admitted() {
    let Some(free) = available() else { panic!("this system does not say what is free") };
    for needed in [free + free / 2, u64::MAX] {
        admit("a byte", 1).unwrap();
        let error = admit("all", needed).unwrap_err().to_string();
        assert!(error.starts_with("all: ") && error.contains("MiB are free"), "{error}");
    }
}

proptest! {
    #![proptest_config(config(128))]

    /// Nested groups of either version, each with a limit or without, and whatever they use: the
    /// least of what the limits leave. No text of the system makes it panic.
    #[test]
    fn any_groups_leave_the_least(
        nested in proptest::collection::vec(
            (proptest::option::of(0..1u64 << 62), any::<u64>(), any::<u64>()),
            1..5,
        ),
        is_first in any::<bool>(),
        text in "[0-9a-z:/.,=\\n]{0,60}",
    ) {
        let [root, line, most, now, cached] = if is_first {
            ["memory", "4:cpu,memory:", "memory.limit_in_bytes", "memory.usage_in_bytes",
                "total_inactive_file"]
        } else {
            ["", "0::", "memory.max", "memory.current", "inactive_file"]
        };
        let (mut folder, mut files, mut least) = (root.to_string(), vec![], None);
        for (limit, used, files_used) in nested {
            folder += "/a";
            let unlimited = if is_first { "9223372036854771712" } else { "max" };
            let limit_text = limit.map_or(unlimited.to_string(), |limit| limit.to_string());
            files.push((format!("{folder}/{most}"), limit_text));
            files.push((format!("{folder}/{now}"), used.to_string()));
            files.push((format!("{folder}/memory.stat"), format!("anon 1\n{cached} {files_used}\n")));
            // In whole numbers without bounds, and then what is below 0 is nothing.
            let held = (used as i128 - files_used as i128).max(0);
            let left = limit.map(|limit| (limit as i128 - held).max(0) as u64);
            least = [least, left].into_iter().flatten().min();
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.trim_start_matches('/'), &**text)).collect();
        let groups = Groups::new("drawn", &files);
        let path = folder.strip_prefix(root).unwrap_or(&folder);
        prop_assert_eq!(groups.left(&format!("{line}{path}\n")), least);
        groups.left(&text);
    }
}
