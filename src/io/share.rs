//! One output that several processes write at once, each its own share.

use std::fs;
use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::write::{write_bytes, write_new};
use crate::{Error, Result};

/// Which of several processes this is, that write one output together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    number: u32,
    of: u32,
}

impl Share {
    /// The most processes.
    pub const MAX: u32 = 65536;

    /// How many processes there are.
    pub(crate) fn of(self) -> u32 {
        self.of
    }

    /// Whether it writes the piece `at` of `count`. Each piece belongs to one share, and those of a
    /// share follow each other.
    pub(crate) fn takes(self, at: u64, count: u64) -> bool {
        at * u64::from(self.of) / count == u64::from(self.number - 1)
    }
}

impl FromStr for Share {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            let [number, of] = [number, of].map(|part| part.parse::<u32>().ok());
            Some(Self { number: number?, of: of? })
        });
        let fits = |share: &Self| (1..=share.of).contains(&share.number) && share.of <= Self::MAX;
        numbers.filter(fits).ok_or_else(|| {
            Error::param(format!(
                "share {text:?}: allowed is K/N, with K from 1 to N and N at most {}",
                Self::MAX
            ))
        })
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// A folder that shares fill. It lies beside its place until the last of them is done, and stays
/// there when one fails, so that the share can be run again.
pub(super) struct Meeting {
    path: PathBuf,
    share: Share,
}

impl Meeting {
    /// Enters the folder for a path, or makes it. `what` says what is written there, the same for
    /// all shares.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason, and for a folder in which shares of something
    /// else meet.
    pub fn enter(place: &Path, share: Share, what: &str) -> Result<Self> {
        let mut name = std::ffi::OsString::from(".");
        name.push(place.file_name().unwrap_or_default());
        name.push(".shares");
        let meeting = Self { path: place.with_file_name(name), share };
        for folder in [meeting.content(), meeting.done()] {
            fs::create_dir_all(&folder).map_err(|e| Error::output(&folder, e))?;
        }
        let (plan, what) = (meeting.path.join("plan.json"), format!("{what}\n"));
        // Whoever comes first writes the plan. A file that is new has all of its bytes at once, so
        // nobody reads half of it.
        let there = match write_new(&plan, what.as_bytes()) {
            Ok(()) => return Ok(meeting),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => fs::read_to_string(&plan),
            Err(e) => Err(e),
        };
        if there.map_err(|e| Error::output(&plan, e))? == what {
            return Ok(meeting);
        }
        let message = "has shares of another land or of another number of processes; give all the \
                       same options, or remove this folder";
        Err(Error::output(&meeting.path, IoError::new(ErrorKind::AlreadyExists, message)))
    }

    /// Where the content is written.
    pub fn content(&self) -> PathBuf {
        self.path.join("content")
    }

    fn done(&self) -> PathBuf {
        self.path.join("done")
    }

    /// Notes that this share is complete, and says whether all are.
    pub fn leave(&self) -> Result<bool> {
        write_bytes(&self.done().join(self.share.number.to_string()), &[])?;
        Ok((1..=self.share.of).all(|number| self.done().join(number.to_string()).exists()))
    }

    /// Removes what is left when the content is in its place.
    pub fn close(&self) -> Result<()> {
        match fs::remove_dir_all(&self.path) {
            // Another process that was last, too, removes it at the same time.
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::output(&self.path, e)),
            _ => Ok(()),
        }
    }
}
