//! How much memory is free: what control groups of Linux leave, by folders such as the system
//! shows.

use std::path::PathBuf;
use thalweg::memory::left_in_groups;

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
