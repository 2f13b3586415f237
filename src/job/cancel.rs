//! The end of a run, asked for from elsewhere.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels a run from anywhere: another thread, a signal handler. Clones cancel the same runs.
#[derive(Clone, Debug, Default)]
pub struct Cancel(pub(super) Arc<AtomicBool>);

impl Cancel {
    /// Runs end with [`Error::Cancelled`] within a second, and leave nothing.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Lets runs begin again. Call it when those that were cancelled have ended: one that has not
    /// seen the cancel yet would go on.
    pub fn renew(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether runs are to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// [`Error::Cancelled`] if runs are to end.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// The flag itself, for an executor's [`Control`](crate::exec::Control).
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
