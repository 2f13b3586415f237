//! Where files go: a folder, a ZIP archive, memory.

use crate::error::{Error, Result};
use crate::io::{Files, Part, Pieces, Stored, pending_of, pending_stem, refuse};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Where the files of a run go. Names are relative, with `/` between folders.
pub trait Sink {
    /// Learns which files will come, before the work begins, and refuses those that cannot be
    /// stored. Stores nothing.
    ///
    /// # Errors
    /// [`Error::Output`] for a file that cannot be stored, [`Error::Param`] for two of one name.
    fn announce(&mut self, names: &[String]) -> Result<()> {
        let _ = names;
        Ok(())
    }

    /// Prepares for the first file, after all checks.
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

    /// Removes a file of an earlier run that describes other files, before those change.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    fn withdraw(&mut self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Removes the files of an earlier run that this one has neither stored nor read, and says
    /// which.
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

/// Files in memory, by name. A run that fails may leave some of its files; the next one begins with
/// none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The files.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Sink for Memory {
    fn begin(&mut self) -> Result<()> {
        self.files.clear();
        Ok(())
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<Stored> {
        self.files.insert(name.into(), bytes.into());
        Ok(Stored::of(name, bytes))
    }
}

/// A ZIP archive, written to a file or to memory when all files are there: a run that fails writes
/// nothing. Until then they are in memory. Files are stored as they are, since maps hardly
/// compress; the same files give the same bytes.
pub struct Zip<W: Write + Seek> {
    to: Option<W>,
    files: Memory,
}

impl<W: Write + Seek> Zip<W> {
    /// An archive that is written to `to`.
    pub fn new(to: W) -> Self {
        Self { to: Some(to), files: Memory::default() }
    }
}

impl<W: Write + Seek> Sink for Zip<W> {
    fn begin(&mut self) -> Result<()> {
        self.files.begin()
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<Stored> {
        self.files.put(name, bytes)
    }

    fn keep(&mut self) -> Result<()> {
        let Some(to) = self.to.take() else { return Ok(()) };
        let mut archive = Archive(zip::ZipWriter::new(to));
        for (name, bytes) in std::mem::take(&mut self.files.files) {
            archive.add(&name, bytes.len() as u64, &mut bytes.as_slice())?;
        }
        archive.finish()
    }
}

/// An archive being written. Files are stored as they are.
struct Archive<W: Write + Seek>(zip::ZipWriter<W>);

impl<W: Write + Seek> Archive<W> {
    fn failed(e: zip::result::ZipError) -> Error {
        let reason = match e {
            zip::result::ZipError::Io(reason) => reason,
            other => std::io::Error::other(other.to_string()),
        };
        Error::output("archive", reason)
    }

    fn add(&mut self, name: &str, length: u64, from: &mut dyn Read) -> Result<()> {
        // Without the time of day, which would make every archive different.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default())
            // Longer files need ZIP64.
            .large_file(length >= u32::MAX as u64);
        self.0.start_file(name, options).map_err(Self::failed)?;
        std::io::copy(from, &mut self.0).map(drop).map_err(|e| Error::output(name, e))
    }

    fn finish(self) -> Result<()> {
        self.0.finish().map_err(Self::failed)?.flush().map_err(|e| Error::output("archive", e))
    }
}

/// Writes the archive of a bundle that lies in a folder: the bytes that [`Zip`] has for the same
/// files.
///
/// # Errors
/// [`Error::Input`] for a file that is missing, [`Error::Output`] with the system's reason.
pub fn archive<'a>(
    folder: &Path,
    names: impl Iterator<Item = &'a str>,
    to: impl Write + Seek,
) -> Result<()> {
    let mut names: Vec<&str> = names.collect();
    // In the order of names, as the files of `Zip` are.
    names.sort_unstable();
    let mut archive = Archive(zip::ZipWriter::new(to));
    for name in names {
        let path = folder.join(name);
        let mut file = File::open(&path).map_err(|e| Error::input(&path, e))?;
        let length = file.metadata().map_err(|e| Error::input(&path, e))?.len();
        archive.add(name, length, &mut file)?;
    }
    archive.finish()
}

/// A folder on disk. Each file appears whole or not at all, and what was stored is removed again
/// unless [`Sink::keep`] is called.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    replace: bool,
    /// Files that the manifest of an earlier run lists.
    earlier: Vec<PathBuf>,
    files: Files,
    /// What was announced last.
    announced: Vec<String>,
    /// Locked while this run writes here. The system frees it when the process ends, however it
    /// ends.
    lock: Option<File>,
}

/// What is locked so that one run at a time writes to a folder: the folder itself, which leaves no
/// file behind.
#[cfg(unix)]
fn open_to_lock(folder: &Path) -> std::io::Result<File> {
    File::open(folder)
}

/// Here folders cannot be locked, so a file in it is.
#[cfg(not(unix))]
fn open_to_lock(folder: &Path) -> std::io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(folder.join(".thalweg-lock"))
}

impl Folder {
    /// A folder, which is made before the first file. With `replace` files that exist are replaced,
    /// else they are refused.
    pub fn new(root: impl Into<PathBuf>, replace: bool) -> Self {
        Self {
            root: root.into(),
            replace,
            earlier: vec![],
            files: Files::default(),
            announced: vec![],
            lock: None,
        }
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Its files.
    pub fn files(&mut self) -> &mut Files {
        &mut self.files
    }

    /// Says which files an earlier run has left, so that [`Sink::clear`] removes those that are out
    /// of date.
    pub(super) fn set_earlier(&mut self, files: Vec<PathBuf>) {
        self.earlier = files;
    }

    /// Whether a file is there that no known earlier run has left.
    pub(super) fn has_foreign(&self, name: &str) -> bool {
        let path = self.path(name);
        path.exists() && !self.earlier.contains(&path)
    }

    /// Removes what a run that was killed had begun to write: of the files of this run and of the
    /// earlier one. The folder is locked.
    fn remove_pending(&self) -> Result<()> {
        let paths: BTreeSet<PathBuf> = self
            .announced
            .iter()
            .map(|name| self.path(name))
            .chain(self.earlier.iter().cloned())
            .collect();
        let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
        let begun: BTreeSet<PathBuf> = paths
            .iter()
            .filter_map(|path| Some(path.with_file_name(pending_stem(path.file_name()?))))
            .collect();
        for folder in folders {
            let Ok(entries) = std::fs::read_dir(if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            }) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let whole = name.to_str().and_then(pending_of).map(|whole| folder.join(whole));
                // What others have begun in the folder stays.
                if whole.is_some_and(|whole| begun.contains(&whole)) {
                    std::fs::remove_file(entry.path())
                        .map_err(|e| Error::output(entry.path(), e))?;
                }
            }
        }
        Ok(())
    }

    /// Makes the folders that a file lies in, below the root.
    fn make_parent(&mut self, path: &Path) -> Result<()> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
                self.files.make_folder(parent)
            }
            _ => Ok(()),
        }
    }
}

impl Sink for Folder {
    fn announce(&mut self, names: &[String]) -> Result<()> {
        refuse(&names.iter().map(|name| self.path(name)).collect::<Vec<_>>(), self.replace)?;
        self.announced = names.into();
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        if !self.root.as_os_str().is_empty() {
            self.files.make_folder(&self.root)?;
            let file = open_to_lock(&self.root).map_err(|e| Error::output(&self.root, e))?;
            match file.try_lock() {
                Ok(()) => self.lock = Some(file),
                Err(TryLockError::WouldBlock) => {
                    let what = "another run is writing to this folder; wait for it, or give \
                                another folder";
                    return Err(Error::output(
                        &self.root,
                        std::io::Error::new(ErrorKind::ResourceBusy, what),
                    ));
                }
                // Some network drives have no locks.
                Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {}
                Err(TryLockError::Error(e)) => return Err(Error::output(&self.root, e)),
            }
            // The other run may have ended between the first look and now.
            let announced = std::mem::take(&mut self.announced);
            self.announce(&announced)?;
            // Without a lock these may be files that another run is writing.
            if self.lock.is_some() {
                self.remove_pending()?;
            }
        }
        // Whether files can be written here is known before the work.
        self.files.probe(&self.root)
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<Stored> {
        let path = self.path(name);
        self.make_parent(&path)?;
        self.files.write(&path, bytes)
    }

    fn put_all(&mut self, files: Vec<(String, Vec<u8>)>) -> Result<Vec<Stored>> {
        let files: Vec<(PathBuf, Vec<u8>)> =
            files.into_iter().map(|(name, bytes)| (self.path(&name), bytes)).collect();
        files.iter().try_for_each(|(path, _)| self.make_parent(path))?;
        self.files.write_many(&files)
    }

    fn part(&mut self, name: &str) -> Result<Part> {
        let path = self.path(name);
        self.make_parent(&path)?;
        Ok(Part::File(Box::new(Pieces::create(&path)?)))
    }

    fn put_part(&mut self, part: Part) -> Result<Stored> {
        match part {
            Part::Memory { name, bytes } => self.put(&name, &bytes),
            Part::File(pieces) => self.files.finish_pieces(*pieces),
        }
    }

    fn withdraw(&mut self, name: &str) -> Result<()> {
        let path = self.path(name);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::output(path, e)),
            _ => Ok(()),
        }
    }

    fn clear(&mut self, read: &[PathBuf]) -> Result<Vec<PathBuf>> {
        self.files.clear(std::mem::take(&mut self.earlier), read)
    }

    fn keep(&mut self) -> Result<()> {
        self.files.keep();
        Ok(())
    }
}
