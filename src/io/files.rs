//! The files of a run: refused before the work begins, or complete at its end.

use super::write::{reason, write_bytes};
use super::{Animation, Cog, Pieces, Stored};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The files of a run. They are removed again unless [`Files::keep`] is called.
#[derive(Debug, Default)]
pub struct Files {
    /// Folders that were created, innermost first.
    folders: Vec<PathBuf>,
    written: Vec<PathBuf>,
    kept: bool,
}

/// Where a path leads, however it is written: dots and links are followed as far as there is
/// something.
fn place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let there = path.ancestors().find_map(|at| Some((at, at.canonicalize().ok()?)));
    match there.map(|(at, real)| (path.strip_prefix(at), real)) {
        Some((Ok(rest), real)) => real.join(rest),
        _ => path,
    }
}

/// Whether two paths lead to the same place, however they are written.
pub fn is_same_place(a: &Path, b: &Path) -> bool {
    place(a) == place(b)
}

/// Refuses files that exist, unless `replace` is set, and paths that cannot be replaced. Changes
/// nothing on disk.
///
/// # Errors
/// [`Error::Output`] for the first such file, [`Error::Param`] if two paths are the same.
pub fn refuse(paths: &[PathBuf], replace: bool) -> Result<()> {
    let mut seen = HashSet::new();
    for path in paths {
        if !seen.insert(place(path)) {
            return Err(Error::param(format!(
                "{}: two outputs cannot be the same file",
                path.display()
            )));
        }
        let meta = match path.symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                let what = "lies in what is a file; give a folder";
                return Err(Error::output(
                    path,
                    std::io::Error::new(ErrorKind::NotADirectory, what),
                ));
            }
            meta => meta.map_err(|e| Error::output(path, e))?,
        };
        let refused = |kind, what: &str| Err(Error::output(path, std::io::Error::new(kind, what)));
        if path.is_dir() {
            return refused(ErrorKind::IsADirectory, "is a folder; give the path of a file");
        }
        if !replace {
            return refused(
                ErrorKind::AlreadyExists,
                "already exists; replace it with --force, or give another path",
            );
        }
        if meta.is_file() && meta.permissions().readonly() {
            return refused(
                ErrorKind::PermissionDenied,
                "is read-only; remove it or give another path",
            );
        }
    }
    Ok(())
}

impl Files {
    /// Creates a folder and those above it, where they are missing.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn make_folder(&mut self, folder: &Path) -> Result<()> {
        let missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        // Noted before they are made: if the third of four fails, the first two still go again.
        self.folders.splice(0..0, folder.ancestors().take_while(missing).map(PathBuf::from));
        std::fs::create_dir_all(folder).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::output(
                folder,
                std::io::Error::new(ErrorKind::NotADirectory, "is a file; give a folder"),
            ),
            _ => Error::output(folder, e),
        })
    }

    /// Checks that files can be written in a folder.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn probe(&self, folder: &Path) -> Result<()> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // Without a name where the system has such files, so that a process that is killed here
        // leaves nothing.
        tempfile::tempfile_in(folder).map(drop).map_err(|e| {
            let e = reason(e, folder);
            Error::output(
                folder,
                std::io::Error::new(e.kind(), format!("files cannot be written here: {e}")),
            )
        })
    }

    /// Writes a file. The path then holds all of `bytes`, or after an error what was there before;
    /// the folder must exist.
    ///
    /// A symbolic link is followed and kept. A read-only file is not replaced, nor is anything that
    /// is not a regular file.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<Stored> {
        let stored = write_bytes(path, bytes)?;
        self.written.push(path.into());
        Ok(stored)
    }

    /// Writes several files in parallel, since most of the time is spent waiting for the disk.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn write_many<P: AsRef<Path> + Sync>(
        &mut self,
        files: &[(P, Vec<u8>)],
    ) -> Result<Vec<Stored>> {
        let results: Vec<Result<Stored>> =
            files.par_iter().map(|(path, bytes)| write_bytes(path.as_ref(), bytes)).collect();
        // Those that succeeded are noted before an error of others ends the function.
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

    /// Puts a GeoTIFF that was written block by block in its place.
    ///
    /// # Errors
    /// As [`Cog::finish`].
    pub fn finish_cog(&mut self, cog: Cog) -> Result<Stored> {
        let stored = cog.finish()?;
        self.written.push(stored.path.clone());
        Ok(stored)
    }

    /// Removes files of an earlier run that this one has neither written nor read, and returns
    /// their paths. A folder that this leaves empty is removed too.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn clear(&self, old: Vec<PathBuf>, read: &[PathBuf]) -> Result<Vec<PathBuf>> {
        // Canonical paths, since two names may be one file.
        let needed: HashSet<PathBuf> =
            self.written.iter().chain(read).filter_map(|path| path.canonicalize().ok()).collect();
        let mut removed = vec![];
        for path in old {
            // A link is removed itself, even one that leads nowhere.
            let there = path.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
            if there && !path.canonicalize().is_ok_and(|path| needed.contains(&path)) {
                std::fs::remove_file(&path).map_err(|e| Error::output(&path, e))?;
                removed.push(path);
            }
        }
        for folder in removed.iter().filter_map(|path| path.parent()).collect::<HashSet<_>>() {
            // This fails, as it should, while the folder has other files.
            let _ = std::fs::remove_dir(folder);
        }
        Ok(removed)
    }

    /// Keeps the files: the run has succeeded.
    pub fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if !self.kept {
            // A failure here is ignored, so that the user sees the error that led here.
            self.written.iter().for_each(|path| drop(std::fs::remove_file(path)));
            self.folders.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
        }
    }
}
