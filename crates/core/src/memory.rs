//! How much memory there is.

use crate::clock::Moment;
use crate::error::{Error, Result};
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Refuses what needs more bytes than are free; `what` begins the message.
///
/// # Errors
/// [`Error::Limit`].
pub fn admit(what: impl std::fmt::Display, needed: u64) -> Result<()> {
    match lacking(needed) {
        Some(free) => Err(Error::over(
            format!(
                "{what}: {} MiB of memory are needed, and {} MiB are free",
                needed >> 20,
                free >> 20
            ),
            needed,
            free,
            "bytes",
        )),
        None => Ok(()),
    }
}

/// Bytes of memory that are free, if more than those are `needed`.
///
/// To ask the system takes a tenth of a millisecond, and a run asks for each of its stages on each
/// level. So an answer of the last ten milliseconds admits what needs less than half of it. Only a
/// fresh answer refuses.
pub(crate) fn lacking(needed: u64) -> Option<u64> {
    const FRESH: Duration = Duration::from_millis(10);
    static LAST: Mutex<Option<(Moment, u64)>> = Mutex::new(None);
    // A panic elsewhere leaves a whole answer.
    let mut last = LAST.lock().unwrap_or_else(|e| e.into_inner());
    if last.is_some_and(|(at, free)| !at.is_past(FRESH) && needed < free / 2) {
        return None;
    }
    let free = available();
    *last = free.map(|free| (Moment::now(), free));
    free.filter(|free| needed > *free)
}

/// Bytes of memory that a module can still have: of the 4 GiB that 32 bits can address. What is
/// free within is not counted.
#[cfg(target_arch = "wasm32")]
pub fn available() -> Option<u64> {
    let used = core::arch::wasm32::memory_size(0) as u64 * (64 << 10);
    Some((4 << 30) - used)
}

/// Bytes of memory that this process can still have: what the system has free, and what limits of
/// the process (`ulimit -v`) and of its container leave. None on systems that do not say.
#[cfg(not(target_arch = "wasm32"))]
pub fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
    // A line such as "MemAvailable:   1234 kB".
    let kib = |text: &str, key: &str| {
        number(text.lines().find_map(|line| line.strip_prefix(key))?).map(|kib| kib << 10)
    };
    let free = kib(&read("/proc/meminfo")?, "MemAvailable:")?;
    let limits = read("/proc/self/limits").unwrap_or_default();
    let limit =
        limits.lines().find_map(|line| line.strip_prefix("Max address space")).and_then(number);
    let used = kib(&read("/proc/self/status").unwrap_or_default(), "VmSize:").unwrap_or(0);
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let contained = left_in_groups(&groups, Path::new("/sys/fs/cgroup"));
    Some(
        free.min(limit.map_or(u64::MAX, |limit| limit.saturating_sub(used)))
            .min(contained.unwrap_or(u64::MAX)),
    )
}

/// Bytes that control groups of Linux leave to a process: the least of its own group and of all
/// that contain it. None if no group has a limit. `groups` is the text of `/proc/self/cgroup`, and
/// `root` the folder in which the system shows them, of either version.
///
/// Containers and units of systemd set such limits. Page cache that was not used lately counts as
/// free, since the system takes it back before it refuses memory.
#[cfg(not(target_arch = "wasm32"))]
pub fn left_in_groups(groups: &str, root: &Path) -> Option<u64> {
    let left = |folder: &Path, most: &str, now: &str, cached: &str| {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        // Without a limit the second version says "max", and the first some number near 2⁶³.
        let most: u64 = read(most)?.trim().parse().ok().filter(|most| *most < 1 << 62)?;
        let now: u64 = read(now)?.trim().parse().ok()?;
        let stat = read("memory.stat").unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix(cached)?.strip_prefix(' '));
        let cached: u64 = line.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
        Some(most.saturating_sub(now.saturating_sub(cached)))
    };
    // A line is "0::PATH" of the second version, and "NUMBER:CONTROLLERS:PATH" of the first.
    let of_line = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (root, [most, now, cached]) = if controllers.is_empty() {
            (root.to_path_buf(), ["memory.max", "memory.current", "inactive_file"])
        } else if controllers.split(',').any(|controller| controller == "memory") {
            let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
            (root.join("memory"), names)
        } else {
            return None;
        };
        // Within a container the path can be that of the host, which is not there.
        let inner = Path::new(path.trim_start_matches('/'));
        inner.ancestors().filter_map(|at| left(&root.join(at), most, now, cached)).min()
    };
    groups.lines().filter_map(of_line).min()
}
