//! A folder of tiles under their keys, shared by recipes and by processes.

use crate::error::{Error, Invalid, Result};
use crate::io::{Files, Pieces, pending_of};
use crate::job::piece::{After, Piece};
use crate::site::Window;
use crate::stage::stepper::Travellers;
use serde::{Deserialize, Serialize};
use std::fs::{File, FileTimes};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Tiles in a folder, each in a file under its key. What is there is checked when it is read; a
/// tile that is damaged is made again. Tiles appear whole or not at all, and the same tile has the
/// same bytes whoever makes it, so any number of processes may share a store.
///
/// Where several keys lead to one tile, the others have a file that names its key, with the BLAKE3
/// digest of both keys.
///
/// A tile's file is the text `thalweg tile 1`, a line end, the length of a JSON header as 8 bytes,
/// the header, the words of its maps in the header's order, and the BLAKE3 digest of all before it;
/// numbers are little-endian.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    /// Bytes that it may have; none: no limit.
    limit: Option<u64>,
}

/// What a look at a store found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Tiles, and their bytes.
    pub tiles: (u64, u64),
    /// Files that are no tiles, or are damaged.
    pub damaged: Vec<PathBuf>,
    /// Files that were begun and never ended, by a process that was killed.
    pub begun: Vec<PathBuf>,
}

/// A tile that a store has. The store does not know its number: that depends on how a level is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its level.
    pub level: i32,
    /// Its cells, on the level's lattice.
    pub window: Window,
    /// Bytes of its file.
    pub bytes: u64,
    /// Of a state between two slabs, when that is. None for what a level leaves.
    pub after: Option<After>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    key: String,
    level: i32,
    origin: [i64; 2],
    width: u32,
    height: u32,
    /// In the middle of a stage: how much of it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<After>,
    /// Names of buffers, words for each cell.
    maps: Vec<(String, usize)>,
    /// The particles that follow them, in the middle of a stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    particles: Option<Particles>,
}

#[derive(Serialize, Deserialize)]
struct Particles {
    count: usize,
    /// Words of a record, and which of them is the number of a vertex.
    record: usize,
    vertex: Option<usize>,
}

const MAGIC: &[u8; 15] = b"thalweg tile 1\n";
/// What marks a folder as a store, and its version.
const MARK: &str = "thalweg-store";
const VERSION: &str = "thalweg store 1\n";
/// Longest header, in bytes.
const HEADER_MAX: u64 = 1 << 16;
/// A file that has not been added to for so long belongs to a process that is gone.
const FORGOTTEN: Duration = Duration::from_secs(3600);

impl Store {
    /// The store in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// [`Error::Output`] for a folder that cannot be made, [`Error::Param`] for one with other
    /// files and for a store of another version.
    pub fn open(root: impl Into<PathBuf>, limit: Option<u64>) -> Result<Self> {
        let root = root.into();
        let mark = root.join(MARK);
        let wrong = |what: String| {
            Err(Invalid::from(format!("{}: {what}", root.display())).about("store").into())
        };
        match std::fs::read_to_string(&mark) {
            Ok(text) if text == VERSION => {
                let store = Self { root, limit };
                limit.map_or(Ok((0, 0)), |limit| store.prune(limit))?;
                return Ok(store);
            }
            Ok(text) => {
                return wrong(format!(
                    "a store of another version, {:?}; this program reads {:?}: give another \
                     folder",
                    text.trim_end().chars().take(40).collect::<String>(),
                    VERSION.trim_end()
                ));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(Error::input(&mark, e)),
        }
        std::fs::create_dir_all(&root).map_err(|e| Error::output(&root, e))?;
        let others = std::fs::read_dir(&root).map_err(|e| Error::input(&root, e))?;
        let foreign = others.flatten().find(|entry| {
            let name = entry.file_name();
            // Another process may be writing the mark at this moment.
            !name.to_str().is_some_and(|name| name == MARK || pending_of(name) == Some(MARK))
        });
        if let Some(entry) = foreign {
            return wrong(format!(
                "holds {:?} and is no store: give an empty folder or a new one",
                entry.file_name()
            ));
        }
        store(&mark, VERSION.as_bytes())?;
        Ok(Self { root, limit })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, key: &str, ending: &str) -> PathBuf {
        self.root.join(file(key, ending))
    }

    /// Whether there is a file for a key. It may be damaged.
    pub(super) fn has(&self, key: &str) -> bool {
        ["tile", "same"].iter().any(|ending| self.path(key, ending).exists())
    }

    /// The tile of a key, if it is there and whole. One that is damaged is removed.
    ///
    /// # Errors
    /// [`Error::Input`] for a store that cannot be read.
    pub fn get(&self, key: &str) -> Result<Option<Piece>> {
        let alias = self.path(key, "same");
        match std::fs::read(&alias) {
            Ok(bytes) => match named(key, &bytes) {
                Some(other) => self.get_whole(other),
                None => {
                    let _ = std::fs::remove_file(&alias);
                    Ok(None)
                }
            },
            Err(e) if e.kind() == ErrorKind::NotFound => self.get_whole(key),
            Err(e) => Err(Error::input(&alias, e)),
        }
    }

    /// Says that a key's tile has the words of another's.
    pub(super) fn alias(&self, key: &str, other: &str) -> Result<()> {
        if key == other {
            return Ok(());
        }
        let path = self.path(key, "same");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, e))?;
        }
        store(&path, naming(key, other).as_bytes())
    }

    fn get_whole(&self, key: &str) -> Result<Option<Piece>> {
        let path = self.path(key, "tile");
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::input(&path, e)),
        };
        match decode(&mut file, key) {
            Ok(piece) => {
                // What was used last is removed last. The time of change stays, since `make`
                // makes a file again that is older than its source. A store that cannot be
                // written is read all the same.
                let _ = file.set_times(FileTimes::new().set_accessed(SystemTime::now()));
                Ok(Some(piece))
            }
            Err(e) if is_damage(&e) => {
                let _ = std::fs::remove_file(&path);
                Ok(None)
            }
            Err(e) => Err(Error::input(&path, e)),
        }
    }

    /// Keeps a tile.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn put(&self, key: &str, piece: &Piece) -> Result<()> {
        let path = self.path(key, "tile");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, e))?;
        }
        if let Some(limit) = self.limit {
            self.prune(limit.saturating_sub(piece.bytes()))?;
        }
        encode(&path, key, piece)
    }

    /// The files of its tiles, the one that was used longest ago first: when it was, its bytes, its
    /// path.
    fn files(&self) -> Result<Vec<(Option<SystemTime>, u64, PathBuf)>> {
        let mut files = vec![];
        for path in self.entries()? {
            if path.extension().is_some_and(|end| end == "tile")
                && let Ok(meta) = path.metadata()
            {
                let used = meta.accessed().ok().max(meta.modified().ok());
                files.push((used, meta.len(), path));
            }
        }
        files.sort();
        Ok(files)
    }

    /// Everything in its folders.
    fn entries(&self) -> Result<Vec<PathBuf>> {
        let mut entries = vec![];
        for folder in
            std::fs::read_dir(&self.root).map_err(|e| Error::input(&self.root, e))?.flatten()
        {
            if let Ok(inside) = std::fs::read_dir(folder.path()) {
                entries.extend(inside.flatten().map(|entry| entry.path()));
            }
        }
        entries.sort();
        Ok(entries)
    }

    /// How many tiles it has, and their bytes.
    ///
    /// # Errors
    /// [`Error::Input`] for a store that cannot be read.
    pub fn size(&self) -> Result<(u64, u64)> {
        let files = self.files()?;
        Ok((files.len() as u64, files.iter().map(|(_, bytes, _)| bytes).sum()))
    }

    /// Removes the tiles that were used longest ago until the others have at most `bytes` bytes,
    /// and what killed processes have begun. Says how many tiles went, and their bytes.
    ///
    /// # Errors
    /// [`Error::Input`] for a store that cannot be read, [`Error::Output`] for one that cannot be
    /// changed.
    pub fn prune(&self, bytes: u64) -> Result<(u64, u64)> {
        for path in self.begun()? {
            // A file whose age cannot be told is left alone.
            let old = path
                .metadata()
                .and_then(|meta| meta.modified())
                .ok()
                .and_then(|at| at.elapsed().ok());
            if old.is_some_and(|age| age > FORGOTTEN) {
                let _ = std::fs::remove_file(path);
            }
        }
        let files = self.files()?;
        let mut left: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        let mut gone = (0, 0);
        for (_, size, path) in files {
            if left <= bytes {
                break;
            }
            match std::fs::remove_file(&path) {
                Ok(()) => gone = (gone.0 + 1, gone.1 + size),
                // Another process was faster.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(Error::output(path, e)),
            }
            left -= size;
        }
        // What stands for a tile that is gone goes with it.
        let others = if gone.0 > 0 { self.entries()? } else { vec![] };
        for path in
            others.into_iter().filter(|path| path.extension().is_some_and(|end| end == "same"))
        {
            let (key, bytes) = (key_of(&path, "same"), std::fs::read(&path).unwrap_or_default());
            let other = key.as_deref().and_then(|key| named(key, &bytes));
            if !other.is_some_and(|other| self.path(other, "tile").exists()) {
                let _ = std::fs::remove_file(path);
            }
        }
        Ok(gone)
    }

    fn begun(&self) -> Result<Vec<PathBuf>> {
        let begun = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| pending_of(name).is_some())
        };
        Ok(self.entries()?.into_iter().filter(begun).collect())
    }

    /// Reads every tile, and every file that names one, and checks their digests.
    ///
    /// # Errors
    /// [`Error::Input`] for a store that cannot be read.
    pub fn verify(&self) -> Result<Checked> {
        let mut checked = Checked { begun: self.begun()?, ..Checked::default() };
        for path in self.entries()? {
            if checked.begun.contains(&path) {
                continue;
            }
            let wrong = |e| Error::input(&path, e);
            // A folder is no tile.
            let whole = if path.is_dir() {
                false
            } else if let Some(key) = key_of(&path, "tile") {
                let mut file = File::open(&path).map_err(wrong)?;
                match decode(&mut file, &key) {
                    Ok(_) => {
                        let bytes = file.metadata().map_err(wrong)?.len();
                        checked.tiles = (checked.tiles.0 + 1, checked.tiles.1 + bytes);
                        true
                    }
                    Err(e) if is_damage(&e) => false,
                    Err(e) => return Err(wrong(e)),
                }
            } else {
                let bytes = std::fs::read(&path).map_err(wrong)?;
                key_of(&path, "same").is_some_and(|key| named(&key, &bytes).is_some())
            };
            if !whole {
                checked.damaged.push(path);
            }
        }
        Ok(checked)
    }

    /// The tiles that it has, by level, time and place.
    ///
    /// # Errors
    /// [`Error::Input`] for a store that cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>> {
        let mut tiles = vec![];
        for (_, bytes, path) in self.files()? {
            let Ok(mut file) = File::open(&path) else { continue };
            if let Ok(header) = read_header(&mut file) {
                let Header { key, level, origin, width, height, after, .. } = header;
                tiles.push(Listed {
                    key,
                    level,
                    window: Window { origin, width, height },
                    bytes,
                    after,
                });
            }
        }
        tiles.sort_by_cached_key(|tile| {
            let [x, y] = tile.window.origin;
            (
                tile.level,
                tile.after.as_ref().map(|after| (after.unit, after.done)),
                y,
                x,
                tile.key.clone(),
            )
        });
        Ok(tiles)
    }
}

/// The file of a key with an ending, from the store's folder on.
pub(super) fn file(key: &str, ending: &str) -> String {
    // The first two digits choose one of 256 folders, so that none has too many files.
    format!("{}/{}.{ending}", &key[..2], &key[2..])
}

/// The key of a file with such an ending.
fn key_of(path: &Path, ending: &str) -> Option<String> {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(String::from);
    let start = path.parent().and_then(name)?;
    let name = name(path)?;
    Some(format!("{start}{}", name.strip_suffix(ending)?.strip_suffix('.')?))
}

/// What a file has that says that a key's tile is another's: the other key and the digest of both.
fn naming(key: &str, other: &str) -> String {
    format!("{other} {}", blake3::hash(format!("{key} {other}").as_bytes()).to_hex())
}

/// The other key in such a file, if the file is whole.
fn named<'a>(key: &str, bytes: &'a [u8]) -> Option<&'a str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (other, _) = text.split_once(' ')?;
    // The other key becomes a path, so a word that has not the length of a digest is refused.
    (text == naming(key, other) && other.len() == 64).then_some(other)
}

/// Writes a file that stays.
fn store(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut files = Files::default();
    files.write(path, bytes)?;
    files.keep();
    Ok(())
}

/// What is wrong with a file that is no tile, or is not that of its key.
fn damage(what: &str) -> std::io::Error {
    std::io::Error::new(ErrorKind::InvalidData, what)
}

/// Whether an error of [`decode`] says that the file is damaged, and not that it cannot be read.
fn is_damage(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
}

fn read_header(from: &mut impl Read) -> std::io::Result<Header> {
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic)?;
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if magic != *MAGIC || length > HEADER_MAX {
        return Err(damage("no tile"));
    }
    let mut header = vec![0; length as usize];
    from.read_exact(&mut header)?;
    Ok(serde_json::from_slice(&header)?)
}

/// Words that are turned into bytes at a time.
const PORTION: usize = 1 << 16;

/// Writes a tile's file, without a second copy of its words in memory.
fn encode(path: &Path, key: &str, piece: &Piece) -> Result<()> {
    let header = Header {
        key: key.into(),
        level: piece.level,
        origin: piece.window.origin,
        width: piece.window.width,
        height: piece.window.height,
        after: piece.after.clone(),
        maps: piece.words.iter().map(|(name, (each, _))| (name.clone(), *each)).collect(),
        particles: (!piece.particles.words.is_empty()).then(|| Particles {
            count: piece.particles.count(),
            record: piece.particles.record,
            vertex: piece.particles.vertex,
        }),
    };
    let header = serde_json::to_vec(&header).map_err(|e| Error::output(path, e.into()))?;
    let (mut file, mut hasher) = (Pieces::create(path)?, blake3::Hasher::new());
    let mut add = |bytes: &[u8]| {
        hasher.update(bytes);
        file.add(bytes)
    };
    add(MAGIC)?;
    add(&(header.len() as u64).to_le_bytes())?;
    add(&header)?;
    let mut bytes = Vec::with_capacity(4 * PORTION);
    for words in piece.words.values().map(|(_, words)| words).chain([&piece.particles.words]) {
        for words in words.chunks(PORTION) {
            bytes.clear();
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            add(&bytes)?;
        }
    }
    file.add(hasher.finalize().as_bytes())?;
    file.finish().map(drop)
}

/// What is read, and the digest of it.
struct Hashed<'a, R> {
    from: &'a mut R,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashed<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(into)?;
        self.hasher.update(&into[..count]);
        Ok(count)
    }
}

/// The piece of a file, if it is whole and has the key. No memory is taken for words that the file
/// has not.
fn decode(file: &mut File, key: &str) -> std::io::Result<Piece> {
    let length = file.metadata()?.len();
    let mut from = Hashed { from: file, hasher: blake3::Hasher::new() };
    let header = read_header(&mut from)?;
    if header.key != key {
        return Err(damage("the tile of another key"));
    }
    let window = Window { origin: header.origin, width: header.width, height: header.height };
    // This is the most that there can be: the header and the digest take some of it.
    let mut left = (length / 4) as usize;
    let mut take = |count: Option<usize>| {
        let count =
            count.filter(|count| *count <= left).ok_or_else(|| damage("words are missing"))?;
        left -= count;
        let (mut words, mut bytes) = (Vec::with_capacity(count), vec![0; 4 * PORTION.min(count)]);
        while words.len() < count {
            let bytes = &mut bytes[..4 * PORTION.min(count - words.len())];
            from.read_exact(bytes)?;
            words.extend(bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)));
        }
        Ok::<_, std::io::Error>(words)
    };
    let mut piece = Piece { after: header.after, ..Piece::empty(header.level, window) };
    for (name, each) in header.maps {
        piece.words.insert(name, (each, take(window.cells().checked_mul(each))?));
    }
    if let Some(Particles { count, record, vertex }) = header.particles {
        if vertex.is_some_and(|vertex| vertex >= record) {
            return Err(damage("particles have no such word"));
        }
        piece.particles = Travellers { record, vertex, words: vec![] };
        piece.particles.words =
            // Two words of a home come before each record.
            take(record.checked_add(2).and_then(|each| each.checked_mul(count)))?;
    }
    let mut rest = vec![];
    // One byte more than the digest has, so that what follows it is noticed.
    from.from.take(33).read_to_end(&mut rest)?;
    if rest != from.hasher.finalize().as_bytes() {
        return Err(damage("the digest is another one"));
    }
    Ok(piece)
}
