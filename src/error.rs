//! What can go wrong, sorted by whose fault it is.

use std::path::{Path, PathBuf};

/// Every failure of the library. The text of each says what was given, what is allowed and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter or a key of a recipe is not allowed.
    #[error("{0}")]
    Param(String),
    /// An input file is missing, damaged, or of a kind that is not read.
    #[error("{}: {what}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// Something is larger than the machine, the device or the format can hold.
    #[error("{0}")]
    Limit(String),
    /// The graphics device refused, failed or is not there.
    #[error("{0}")]
    Device(String),
    /// An output could not be written.
    #[error("{}: {source}", path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The run was asked to stop.
    #[error("interrupted")]
    Cancelled,
}

impl Error {
    /// An [`Error::Input`] about `path`.
    pub fn input(path: impl AsRef<Path>, what: impl ToString) -> Self {
        Self::Input { path: path.as_ref().into(), what: what.to_string() }
    }

    /// An [`Error::Output`] about `path`.
    pub fn output(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Output { path: path.as_ref().into(), source }
    }

    /// A word for machines: `param`, `input`, `limit`, `device`, `output` or `cancelled`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Param(_) => "param",
            Self::Input { .. } => "input",
            Self::Limit(_) => "limit",
            Self::Device(_) => "device",
            Self::Output { .. } => "output",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
