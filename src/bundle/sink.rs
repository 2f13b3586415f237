//! Where files go: a folder, a ZIP archive, memory.

use crate::error::{Error, Result};
use crate::io::{Part, Pieces, Stored, write_bytes};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::io::{ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

/// Where the files of a run go. Names are relative, with `/` between folders.
pub trait Sink {
    /// Hears of files to come, before the work begins, and refuses those that cannot be stored. Stores nothing that would stay.
    ///
    /// # Errors
    /// [`Error::Output`] for a file that cannot be stored, [`Error::Param`] for two of one name.
    fn expect(&mut self, names: &[String]) -> Result<()> {
        let _ = names;
        Ok(())
    }

    /// Prepares for the first file, when all that could be refused has been.
    ///
    /// # Errors
    /// [`Error::Output`] if nothing can be stored.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    /// Stores a file whole.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<Stored>;

    /// Stores several files.
    ///
    /// # Errors
    /// As [`Sink::put`].
    fn put_all(&mut self, files: Vec<(String, Vec<u8>)>) -> Result<Vec<Stored>> {
        files.iter().map(|(name, bytes)| self.put(name, bytes)).collect()
    }

    /// Begins a file that comes in pieces. Others may be stored meanwhile.
    ///
    /// # Errors
    /// As [`Sink::put`].
    fn part(&mut self, name: &str) -> Result<Part> {
        Ok(Part::memory(name))
    }

    /// Stores a file whose pieces are all there.
    ///
    /// # Errors
    /// As [`Sink::put`].
    fn put_part(&mut self, part: Part) -> Result<Stored> {
        match part {
            Part::Memory { name, bytes } => self.put(&name, &bytes),
            Part::File(pieces) => pieces.finish(),
        }
    }

    /// Removes a file of an earlier run that vouches for others, before these change.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    fn withdraw(&mut self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Removes the files of an earlier run that this one has neither stored nor read, and says which.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    fn clear(&mut self, read: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let _ = read;
        Ok(vec![])
    }

    /// All went well: what was stored stays. A sink that is dropped before leaves nothing.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    fn keep(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Files in memory, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The files.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Sink for Memory {
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<Stored> {
        self.files.insert(name.into(), bytes.into());
        Ok(Stored::of(name, bytes))
    }
}

/// A ZIP archive, written to a file or to memory. Files are stored as they are, since maps hardly compress; the same files give
/// the same bytes. Without [`Sink::keep`] it has no directory, and no program opens it.
pub struct Zip<W: Write + Seek> {
    archive: Option<zip::ZipWriter<W>>,
}

impl<W: Write + Seek> Zip<W> {
    /// An archive that is written to `to`.
    pub fn new(to: W) -> Self {
        Self { archive: Some(zip::ZipWriter::new(to)) }
    }
}

impl<W: Write + Seek> Sink for Zip<W> {
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<Stored> {
        let failed = |e: zip::result::ZipError| Error::output(name, std::io::Error::other(e.to_string()));
        let Some(archive) = &mut self.archive else {
            return Err(Error::output(name, std::io::Error::other("the archive is closed")));
        };
        // Without the time of the day, which would make every archive another.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default())
            .large_file(bytes.len() as u64 >= u32::MAX as u64);
        archive.start_file(name, options).map_err(failed)?;
        archive.write_all(bytes).map_err(|e| Error::output(name, e))?;
        Ok(Stored::of(name, bytes))
    }

    fn keep(&mut self) -> Result<()> {
        let Some(archive) = self.archive.take() else { return Ok(()) };
        let mut to = archive.finish().map_err(|e| Error::output("archive", std::io::Error::other(e.to_string())))?;
        to.flush().map_err(|e| Error::output("archive", e))
    }
}

/// A folder on disk. Each file appears whole or not at all; and what was stored goes away again unless [`Sink::keep`] is called.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    replace: bool,
    /// Files that the manifest of an earlier run lists.
    earlier: Vec<PathBuf>,
    /// Folders that were made, innermost first.
    made: Vec<PathBuf>,
    written: Vec<PathBuf>,
    /// Folders of the files to come, where these exist already.
    parents: HashSet<PathBuf>,
    kept: bool,
}

impl Folder {
    /// A folder, which is made when the first file comes. With `replace` files that exist are replaced, else they are refused.
    pub fn new(root: impl Into<PathBuf>, replace: bool) -> Self {
        Self { root: root.into(), replace, earlier: vec![], made: vec![], written: vec![], parents: HashSet::new(), kept: false }
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Says which files an earlier run has left, so that [`Sink::clear`] removes those that are out of date.
    pub(super) fn set_earlier(&mut self, files: Vec<PathBuf>) {
        if self.replace {
            self.earlier = files;
        }
    }

    /// Whether a file is there that no known earlier run has left.
    pub(super) fn has_foreign(&self, name: &str) -> bool {
        let path = self.path(name);
        path.exists() && !self.earlier.contains(&path)
    }

    /// Makes a folder where it is missing, and those above it.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn make_folder(&mut self, name: &str) -> Result<()> {
        let folder = self.path(name);
        self.make(&folder)?;
        Self::probe(&folder)
    }

    fn make(&mut self, folder: &Path) -> Result<()> {
        let missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        self.made.splice(0..0, folder.ancestors().take_while(missing).map(PathBuf::from));
        std::fs::create_dir_all(folder).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => {
                Error::output(folder, std::io::Error::new(ErrorKind::NotADirectory, "is a file; give a folder"))
            }
            _ => Error::output(folder, e),
        })
    }

    /// Proves that files can be written in a folder.
    fn probe(folder: &Path) -> Result<()> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let path = folder.join(format!(".thalweg-{}", std::process::id()));
        std::fs::File::create_new(&path)
            .and_then(|_| std::fs::remove_file(&path))
            .map_err(|e| Error::output(folder, std::io::Error::new(e.kind(), format!("no file can be written here: {e}"))))
    }

    /// Makes the folders that a file lies in below the root.
    fn make_parents(&mut self, path: &Path) -> Result<()> {
        match path.parent() {
            Some(parent) if !self.root.as_os_str().is_empty() && parent.starts_with(&self.root) && !parent.exists() => {
                let parent = parent.to_path_buf();
                self.make(&parent)
            }
            _ => Ok(()),
        }
    }

}

/// Refuses files that exist, unless they may be replaced, and those that cannot be.
fn refuse(paths: &[PathBuf], replace: bool) -> Result<()> {
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

impl Sink for Folder {
    fn expect(&mut self, names: &[String]) -> Result<()> {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        let inside = |parent: &&Path| !self.root.as_os_str().is_empty() && parent.starts_with(&self.root);
        let parents = paths.iter().filter_map(|path| path.parent()).filter(|parent| !inside(parent));
        self.parents.extend(parents.map(PathBuf::from).collect::<Vec<_>>());
        refuse(&paths, self.replace)
    }

    fn begin(&mut self) -> Result<()> {
        let root = self.root.clone();
        if root.as_os_str().is_empty() {
            return self.parents.iter().try_for_each(|parent| Self::probe(parent));
        }
        self.make(&root)?;
        Self::probe(&root)
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<Stored> {
        let path = self.path(name);
        self.make_parents(&path)?;
        let stored = write_bytes(&path, bytes)?;
        self.written.push(path);
        Ok(stored)
    }

    /// On all cores: most of the time goes into waiting for the disk.
    fn put_all(&mut self, files: Vec<(String, Vec<u8>)>) -> Result<Vec<Stored>> {
        files.iter().try_for_each(|(name, _)| self.make_parents(&self.path(name)))?;
        let results: Vec<Result<Stored>> =
            files.par_iter().map(|(name, bytes)| write_bytes(&self.path(name), bytes)).collect();
        self.written.extend(results.iter().flatten().map(|stored| stored.path.clone()));
        results.into_iter().collect()
    }

    fn part(&mut self, name: &str) -> Result<Part> {
        let path = self.path(name);
        self.make_parents(&path)?;
        Ok(Part::File(Pieces::create(&path)?))
    }

    fn put_part(&mut self, part: Part) -> Result<Stored> {
        match part {
            Part::Memory { name, bytes } => self.put(&name, &bytes),
            Part::File(pieces) => {
                let stored = pieces.finish()?;
                self.written.push(stored.path.clone());
                Ok(stored)
            }
        }
    }

    fn withdraw(&mut self, name: &str) -> Result<()> {
        let path = self.path(name);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::output(path, e)),
            _ => Ok(()),
        }
    }

    /// A folder below that is left empty goes with its last file.
    fn clear(&mut self, read: &[PathBuf]) -> Result<Vec<PathBuf>> {
        // By what is on disk: two names may be one file.
        let needed: HashSet<PathBuf> = self.written.iter().chain(read).filter_map(|path| path.canonicalize().ok()).collect();
        let mut removed = vec![];
        for path in std::mem::take(&mut self.earlier) {
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

    fn keep(&mut self) -> Result<()> {
        self.kept = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed stays; the error that led here is what the user must see.
            self.written.iter().for_each(|path| drop(std::fs::remove_file(path)));
            self.made.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
        }
    }
}
