//! Snapshots: all that the stages so far leave to those that follow, in exact words.

use super::Job;
use super::report::StageReport;
use crate::error::{Error, Invalid, Result};
use crate::field::{FIELDS, Resample, Source};
use crate::identity;
#[cfg(feature = "io")]
use crate::io::Pieces;
use crate::map::Georef;
use crate::recipe::{Recipe, Unit};
use crate::schedule::Schedule;
use crate::site::{Scale, Window};
use crate::stage::biomes;
use crate::stage::levels::{LEVELS_MAX, lattice};
use serde::{Deserialize, Serialize};
#[cfg(feature = "io")]
use std::fs::File;
#[cfg(feature = "io")]
use std::io::BufReader;
use std::io::{ErrorKind, Read, Write};
#[cfg(feature = "io")]
use std::path::Path;

/// All that the stages so far leave to those that follow, in exact words: [`Job::resume`] goes on
/// from it with the bytes of a run that was not interrupted.
///
/// Written, it is the text `thalweg snapshot 4`, a line end, the length of a JSON header as 8
/// bytes, the header, the words of each buffer and each level in the header's order, and the BLAKE3
/// digest of all before it; numbers are little-endian.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    header: Header,
    buffers: Vec<Vec<i32>>,
    /// The heights of levels that are done.
    levels: Vec<Vec<i32>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// The edition of the program that made it.
    engine: String,
    /// Digest of the part of the recipe that made it.
    recipe: String,
    origin: [i64; 2],
    width: u32,
    height: u32,
    spacing_m: f64,
    datum_m: f64,
    /// The level after which the run ends.
    until_level: i32,
    /// Digest of the heights that the run began with, where it had an input.
    start: Option<String>,
    /// Digest of the samples and pictures that its stages have read.
    read: String,
    /// The input's range and place on Earth, for the files of the run.
    range_m: Option<(f64, f64)>,
    georef: Option<Georef>,
    /// Whether cells of the input have no height.
    #[serde(default)]
    missing: bool,
    stages: Vec<StageReport>,
    /// Names and lengths in words.
    buffers: Vec<(String, u64)>,
    /// Levels that are done, and their lengths in words.
    levels: Vec<(i32, u64)>,
}

const MAGIC: &[u8; 19] = b"thalweg snapshot 4\n";
/// Longest header, in bytes.
const HEADER_MAX: u64 = 1 << 20;
/// Most words of a buffer: the ledger of the largest window has four words a cell.
const WORDS_MAX: u64 = 16 * (Window::SIDE_MAX as u64) * (Window::SIDE_MAX as u64);

/// The digest of all that decides what the first `stages` stages of a recipe leave.
fn fingerprint(recipe: &Recipe, stages: usize) -> String {
    let mut described = recipe.describe();
    if let Some(object) = described.as_object_mut() {
        // What stages leave does not depend on these, but for the layers, which are added below.
        for key in ["name", "output", "dungeons", "scatter"] {
            object.shift_remove(key);
        }
        if let Some(serde_json::Value::Array(list)) = object.get_mut("stage") {
            // What comes after the snapshot may have been changed since.
            list.truncate(stages);
        }
        // Whether a ledger is kept follows from what is written and from later stages.
        let layers = recipe.layers()[stages.saturating_sub(1)];
        object.insert("layers".into(), format!("{layers:?}").into());
    }
    blake3::hash(described.to_string().as_bytes()).to_hex().to_string()
}

impl Snapshot {
    pub(super) fn new(
        job: &Job,
        stages: Vec<StageReport>,
        buffers: Vec<(String, Vec<i32>)>,
        levels: Vec<(i32, Vec<i32>)>,
    ) -> Self {
        let (window, scale) = (job.schedule.region(), job.schedule.scale_on(0));
        let involved = job.recipe().involved(&job.schedule.units, stages.len());
        let header = Header {
            engine: identity::engine().into(),
            recipe: fingerprint(job.recipe(), involved),
            origin: window.origin,
            width: window.width,
            height: window.height,
            spacing_m: scale.spacing_m,
            datum_m: scale.datum_m,
            until_level: job.schedule.until_level(),
            start: job.start_digest(),
            read: job.read_digest(involved),
            range_m: job.range_m,
            georef: job.georef.clone(),
            missing: job.missing.is_some(),
            stages,
            buffers: buffers
                .iter()
                .map(|(name, words)| (name.clone(), words.len() as u64))
                .collect(),
            levels: levels.iter().map(|(level, words)| (*level, words.len() as u64)).collect(),
        };
        let words = |(_, words)| words;
        Self {
            header,
            buffers: buffers.into_iter().map(|(_, words)| words).collect(),
            levels: levels.into_iter().map(words).collect(),
        }
    }

    /// The level after which its run ends.
    pub fn until_level(&self) -> i32 {
        self.header.until_level
    }

    /// Refuses a run that ends with another level, which does other things.
    pub(super) fn check_end(&self, schedule: &Schedule) -> Result<()> {
        let (level, own) = (self.until_level(), schedule.until_level());
        if level == own {
            return Ok(());
        }
        let message = format!(
            "the snapshot is of a run that ends with level {level}, and this one ends with level \
             {own}: end with level {level}, or begin anew"
        );
        Err(Invalid::from(message).about("snapshot").into())
    }

    /// The digest of the samples and pictures that its stages have read.
    pub(super) fn read_digest(&self) -> &str {
        &self.header.read
    }

    /// How many stages have been done.
    pub fn stages(&self) -> usize {
        self.header.stages.len()
    }

    /// Whether cells of the land lie outside it.
    pub(super) fn has_missing(&self) -> bool {
        self.header.missing
    }

    /// The land.
    pub fn window(&self) -> Window {
        Window { origin: self.header.origin, width: self.header.width, height: self.header.height }
    }

    /// Metres of a cell and of the word 0.
    pub fn scale(&self) -> Scale {
        Scale { spacing_m: self.header.spacing_m, datum_m: self.header.datum_m }
    }

    pub(super) fn reports(&self) -> &[StageReport] {
        &self.header.stages
    }

    pub(super) fn range_m(&self) -> Option<(f64, f64)> {
        self.header.range_m
    }

    pub(super) fn georef(&self) -> Option<Georef> {
        self.header.georef.clone()
    }

    pub(super) fn start_digest(&self) -> Option<String> {
        self.header.start.clone()
    }

    pub(super) fn buffers(&self) -> impl Iterator<Item = (&str, &[i32])> {
        self.header
            .buffers
            .iter()
            .zip(&self.buffers)
            .map(|((name, _), words)| (name.as_str(), words.as_slice()))
    }

    /// The levels that are done, and their heights.
    pub(super) fn levels(&self) -> impl Iterator<Item = (i32, &[i32])> {
        self.header
            .levels
            .iter()
            .zip(&self.levels)
            .map(|((level, _), words)| (*level, words.as_slice()))
    }

    /// Refuses a recipe that would not have made it.
    pub(super) fn check(&self, recipe: &Recipe) -> Result<()> {
        let (made, own) = (&self.header.engine, identity::engine());
        if made != own {
            let message = format!(
                "the snapshot was made by thalweg {made}, and this is {own}, whose bytes may be \
                 others: make it anew"
            );
            return Err(Invalid::from(message).about("snapshot").into());
        }
        // A recipe that suits no such land made no such snapshot.
        let schedule = Schedule::of(recipe.clone(), self.window(), self.scale());
        if let Ok(schedule) = schedule.and_then(|schedule| schedule.until(self.until_level())) {
            let (units, done) = (&schedule.units, self.stages());
            // A run that ends with another level does them in another order.
            let alike = |(stage, unit): (&StageReport, &Unit)| {
                stage.stage == unit.step.stage.name
                    && stage.level.is_none_or(|level| level == unit.level)
            };
            if done <= units.len()
                && self.header.stages.iter().zip(units).all(alike)
                && fingerprint(recipe, recipe.involved(units, done)) == self.header.recipe
            {
                return self.check_buffers(&schedule);
            }
        }
        let names: Vec<&str> =
            self.header.stages.iter().map(|stage| stage.stage.as_str()).collect();
        let message = format!(
            "the snapshot is of another recipe: it was taken after {}; resume with a recipe that \
             begins with the same stages and \
             settings, seed, size, margin and layers",
            names.join(", ")
        );
        Err(Invalid::from(message).about("snapshot").into())
    }

    /// Refuses buffers that are missing or shorter than the land: a digest proves that nothing was
    /// damaged, not who made it.
    fn check_buffers(&self, schedule: &Schedule) -> Result<()> {
        let wrong = |what: String| Error::input("snapshot", format!("{what}; make it anew"));
        let (recipe, units) = (schedule.recipe(), &schedule.units);
        let level = self.stages().checked_sub(1).map_or(0, |last| units[last].level);
        let cells_at = |level: i32| schedule.level_window(level).cells();
        if recipe.input.is_none() && self.window() != recipe.window {
            return Err(wrong("its window is not the recipe's".into()));
        }
        // On its way to coarser levels, the land waits under its level's name.
        if self.buffers().all(|(name, _)| name.split(' ').next() != Some("height")) {
            return Err(wrong("it has no heights".into()));
        }
        let kinds = recipe
            .biomes()
            .map(|(_, settings)| biomes::biomes(settings))
            .transpose()?
            .unwrap_or_default();
        for (level, words) in self.levels() {
            let there = (recipe.finest()..=LEVELS_MAX as i32).contains(&level);
            if !there || words.len() != lattice(&self.window(), level, recipe.is_torus()).cells() {
                return Err(wrong(format!("level {level} has {} heights", words.len())));
            }
        }
        for (name, words) in self.buffers() {
            let each = FIELDS.iter().find_map(|field| match field.source {
                Source::Word { buffer, each, .. } if buffer == name => Some(each),
                _ => None,
            });
            let each = each.unwrap_or(match name {
                "splat" => recipe.textures(),
                "weights" => kinds.len().div_ceil(2),
                _ => 1,
            });
            // A map that waits for its level has the level in its name. Biomes, and maps that do
            // not travel between levels, are those of the level on which they were made last:
            // where each level's land is made on its own lattice, that is a coarse one until the
            // finest has its turn.
            let waits = name.split_once(' ').and_then(|(_, level)| level.parse().ok());
            let of_biomes = name.starts_with("biome") || ["splat", "weights"].contains(&name);
            let makes = |unit: &&Unit| {
                unit.named
                    && (unit.step.stage.maps.contains(&name)
                        || of_biomes && unit.step.stage.name == biomes::STAGE.name)
            };
            let made = || {
                units[..self.header.stages.len().min(units.len())]
                    .iter()
                    .rev()
                    .find(makes)
                    .map(|unit| unit.level)
            };
            let stays = of_biomes || stays_on_its_level(name);
            let most = LEVELS_MAX as i32;
            let cells = cells_at(match stays {
                true => made().unwrap_or(recipe.finest()),
                false => waits.unwrap_or(level).clamp(recipe.finest(), most),
            });
            if words.len() < cells * each {
                return Err(wrong(format!("{name} has {} words for {cells} cells", words.len())));
            }
            if name == "biome"
                && words.iter().any(|word| !(0..kinds.len().max(1) as i32).contains(word))
            {
                return Err(wrong("biome has numbers of no biome".into()));
            }
        }
        Ok(())
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn write(&self, to: &mut dyn Write) -> Result<()> {
        let wrong = |e| Error::output("snapshot", e);
        self.put(&mut |bytes| to.write_all(bytes).map_err(wrong))?;
        to.flush().map_err(wrong)
    }

    /// Writes it to a file, in whose place another one stays until all is written.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    #[cfg(feature = "io")]
    pub fn store(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut file = Pieces::create(path.as_ref())?;
        self.put(&mut |bytes| file.add(bytes))?;
        file.finish().map(drop)
    }

    /// Its bytes, piece by piece.
    fn put(&self, to: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut hasher = blake3::Hasher::new();
        let mut put = |bytes: &[u8]| {
            hasher.update(bytes);
            to(bytes)
        };
        let header =
            serde_json::to_vec(&self.header).map_err(|e| Error::output("snapshot", e.into()))?;
        put(MAGIC)?;
        put(&(header.len() as u64).to_le_bytes())?;
        put(&header)?;
        for piece in self.buffers.iter().chain(&self.levels).flat_map(|words| words.chunks(1 << 16))
        {
            put(&piece.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        let digest = hasher.finalize();
        to(digest.as_bytes())
    }

    /// Reads what [`Snapshot::write`] has written.
    ///
    /// # Errors
    /// [`Error::Input`] for bytes that are cut off, damaged or no snapshot.
    pub fn read(from: &mut dyn Read) -> Result<Self> {
        let damaged = |what: &str| {
            let what = format!("{what}; give another path, or remove it to begin anew");
            Error::input("snapshot", what)
        };
        let mut hasher = blake3::Hasher::new();
        let mut take = |bytes: &mut [u8]| {
            from.read_exact(bytes).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => damaged("cut off, or no snapshot"),
                _ => damaged(&e.to_string()),
            })?;
            hasher.update(bytes);
            Ok::<_, Error>(())
        };
        let mut magic = [0; MAGIC.len()];
        take(&mut magic)?;
        if magic != *MAGIC {
            return Err(damaged("not a snapshot of this version of thalweg"));
        }
        let mut length = [0; 8];
        take(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_MAX {
            return Err(damaged("damaged: its header is too long"));
        }
        let mut header = vec![0; length as usize];
        take(&mut header)?;
        let header: Header =
            serde_json::from_slice(&header).map_err(|e| damaged(&format!("damaged: {e}")))?;
        let sides = [header.width, header.height];
        let sane = sides.iter().all(|side| (1..=Window::SIDE_MAX).contains(side))
            && header.spacing_m.is_finite()
            && header.spacing_m > 0.0
            && header.datum_m.is_finite();
        // The digest comes last, so lengths are not proven yet when memory is taken for them.
        let lengths = header
            .buffers
            .iter()
            .map(|(_, words)| *words)
            .chain(header.levels.iter().map(|(_, words)| *words));
        if !sane || lengths.clone().any(|words| words > WORDS_MAX) {
            return Err(damaged("damaged: its sizes are impossible"));
        }
        let mut buffers = vec![];
        for words in lengths {
            // Grown piece by piece: a length that lies does not take memory that the file does not
            // fill.
            let mut buffer: Vec<i32> = vec![];
            let mut piece = vec![0; 1 << 18];
            let mut left = words as usize * 4;
            while left > 0 {
                let part = &mut piece[..left.min(1 << 18)];
                take(part)?;
                buffer.extend(part.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)));
                left -= part.len();
            }
            buffers.push(buffer);
        }
        // The digest is of all before it, so its own bytes are not hashed.
        let mut digest = [0; 32];
        let expected = hasher.finalize();
        from.read_exact(&mut digest).map_err(|e| damaged(&format!("cut off: {e}")))?;
        if digest != *expected.as_bytes() {
            return Err(damaged("damaged: its digest is wrong"));
        }
        // The lengths of levels came after those of buffers.
        let levels = buffers.split_off(header.buffers.len());
        Ok(Self { header, buffers, levels })
    }

    /// Reads it from a file; none if there is no such file.
    ///
    /// # Errors
    /// [`Error::Input`] for a file that cannot be read, is cut off, damaged or no snapshot.
    #[cfg(feature = "io")]
    pub fn load(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        let read = match File::open(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => Err(Error::input(path, e)),
            Ok(file) => Self::read(&mut BufReader::new(file)),
        };
        read.map(Some).map_err(|e| match e {
            Error::Input { what, .. } => Error::input(path, what),
            other => other,
        })
    }
}

/// Whether the words of a buffer are not brought to the next level, since they follow from the
/// heights of their own.
fn stays_on_its_level(buffer: &str) -> bool {
    FIELDS.iter().any(|field| {
        field.resample == Resample::Derived
            && matches!(field.source, Source::Word { buffer: own, .. } if own == buffer)
    })
}
