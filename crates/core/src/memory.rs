//! How much memory there is.

use crate::error::{Error, Result};

/// Refuses what needs more bytes than are free; `what` begins the message.
///
/// # Errors
/// [`Error::Limit`].
pub fn admit(what: impl std::fmt::Display, needed: u64) -> Result<()> {
    match available() {
        Some(free) if needed > free => Err(Error::over(
            format!(
                "{what}: {} MiB of memory are needed, and {} MiB are free",
                needed >> 20,
                free >> 20
            ),
            needed,
            free,
            "bytes",
        )),
        _ => Ok(()),
    }
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
    let contained = || {
        let most = number(&read("/sys/fs/cgroup/memory.max")?)?;
        Some(most.saturating_sub(number(&read("/sys/fs/cgroup/memory.current")?)?))
    };
    Some(
        free.min(limit.map_or(u64::MAX, |limit| limit.saturating_sub(used)))
            .min(contained().unwrap_or(u64::MAX)),
    )
}
