//! The files of a run: refused before the work begins, or complete at its end.

use super::write::write_bytes;
use super::{Animation, Pieces, Stored};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Files under way. What was written is removed again unless [`Files::keep`] is called.
#[derive(Debug, Default)]
pub struct Files {
    /// Folders that were made, innermost first.
    folders: Vec<PathBuf>,
    written: Vec<PathBuf>,
    kept: bool,
}

/// Refuses files that exist, unless they may be replaced, and those that cannot be. Touches nothing.
///
/// # Errors
/// [`Error::Output`] for the first such file, [`Error::Param`] for two of one path.
pub fn refuse(paths: &[PathBuf], replace: bool) -> Result<()> {
    let mut seen = HashSet::new();
    for path in paths {
        if !seen.insert(path) {
            return Err(Error::param(format!("{}: two outputs cannot have the same file", path.display())));
        }
        let meta = match path.symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            meta => meta.map_err(|e| Error::output(path, e))?,
        };
        let refused = |kind, what: &str| Err(Error::output(path, std::io::Error::new(kind, what)));
        if path.is_dir() {
            return refused(ErrorKind::IsADirectory, "is a folder; give the path of a file");
        }
        if !replace {
            return refused(ErrorKind::AlreadyExists, "exists already; replace it with --force, or give another path");
        }
        if meta.is_file() && meta.permissions().readonly() {
            return refused(ErrorKind::PermissionDenied, "is read-only; remove it or give another path");
        }
    }
    Ok(())
}

impl Files {
    /// Makes a folder where it is missing, and those above it.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn make_folder(&mut self, folder: &Path) -> Result<()> {
        let missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        self.folders.splice(0..0, folder.ancestors().take_while(missing).map(PathBuf::from));
        std::fs::create_dir_all(folder).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => {
                Error::output(folder, std::io::Error::new(ErrorKind::NotADirectory, "is a file; give a folder"))
            }
            _ => Error::output(folder, e),
        })
    }

    /// Proves that files can be written in a folder.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn probe(&self, folder: &Path) -> Result<()> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let path = folder.join(format!(".thalweg-{}", std::process::id()));
        std::fs::File::create_new(&path)
            .and_then(|_| std::fs::remove_file(&path))
            .map_err(|e| Error::output(folder, std::io::Error::new(e.kind(), format!("no file can be written here: {e}"))))
    }

    /// Writes a file.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<Stored> {
        let stored = write_bytes(path, bytes)?;
        self.written.push(path.into());
        Ok(stored)
    }

    /// Writes several files at once, on all cores: most of the time goes into waiting for the disk.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn write_many<P: AsRef<Path> + Sync>(&mut self, files: &[(P, Vec<u8>)]) -> Result<Vec<Stored>> {
        let results: Vec<Result<Stored>> = files.par_iter().map(|(path, bytes)| write_bytes(path.as_ref(), bytes)).collect();
        self.written.extend(results.iter().flatten().map(|stored| stored.path.clone()));
        results.into_iter().collect()
    }

    /// Puts an animation in its place.
    ///
    /// # Errors
    /// As [`Animation::finish`].
    pub fn finish(&mut self, animation: Animation) -> Result<Stored> {
        let stored = animation.finish()?;
        self.written.push(stored.path.clone());
        Ok(stored)
    }

    /// Puts a file that was written piece by piece in its place.
    ///
    /// # Errors
    /// As [`Pieces::finish`].
    pub fn finish_pieces(&mut self, pieces: Pieces) -> Result<Stored> {
        let stored = pieces.finish()?;
        self.written.push(stored.path.clone());
        Ok(stored)
    }

    /// Removes those of the files of an earlier run that this one has neither written nor read, and says which. A folder that is
    /// left empty goes with its last file.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn clear(&self, old: Vec<PathBuf>, read: &[PathBuf]) -> Result<Vec<PathBuf>> {
        // By what is on disk: two names may be one file.
        let needed: HashSet<PathBuf> = self.written.iter().chain(read).filter_map(|path| path.canonicalize().ok()).collect();
        let mut removed = vec![];
        for path in old {
            let there = path.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
            if there && !path.canonicalize().is_ok_and(|path| needed.contains(&path)) {
                std::fs::remove_file(&path).map_err(|e| Error::output(&path, e))?;
                removed.push(path);
            }
        }
        for folder in removed.iter().filter_map(|path| path.parent()).collect::<HashSet<_>>() {
            // This fails while anything is left in it.
            let _ = std::fs::remove_dir(folder);
        }
        Ok(removed)
    }

    /// The run ended well: what was written stays.
    pub fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed stays; the error that led here is what the user must see.
            self.written.iter().for_each(|path| drop(std::fs::remove_file(path)));
            self.folders.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
        }
    }
}
