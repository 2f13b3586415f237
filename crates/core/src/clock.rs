//! A clock for durations, which some targets lack.
//!
//! WebAssembly without an operating system (`wasm32-unknown-unknown`) has no clock: asking the
//! standard library for the time ends the program there. On such a target every duration is zero.

use std::time::Duration;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant;

/// A point in time, from which durations are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    at: Instant,
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        Self {
            #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
            at: Instant::now(),
        }
    }

    /// The time since an earlier moment; zero where there is no clock.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn since(&self, earlier: Self) -> Duration {
        self.at.saturating_duration_since(earlier.at)
    }

    /// The time since an earlier moment; zero where there is no clock.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    pub fn since(&self, _: Self) -> Duration {
        Duration::ZERO
    }

    /// The time that has passed since then; zero where there is no clock.
    pub fn elapsed(&self) -> Duration {
        Self::now().since(*self)
    }

    /// Whether a period has passed since then. Where there is no clock, it always has.
    pub fn is_past(&self, period: Duration) -> bool {
        cfg!(all(target_family = "wasm", target_os = "unknown")) || self.elapsed() >= period
    }
}
