//! The maps of a run on disk, in exact words: any of them can be made into any file later.

use super::outcome::{Outcome, map_of};
use crate::error::{Error, Result};
use crate::field::{self, FIELDS, Field, Origin, Source};
use crate::map::{Georef, Globe, Map};
use crate::morphometry::HeightGrid;
use crate::site::{Scale, Window};
use crate::stage::biomes;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The maps that a run has left in a folder: `maps.json`, and the words of each map, little-endian.
#[derive(Clone, Debug)]
pub struct Maps {
    folder: PathBuf,
    header: Header,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    origin: [i64; 2],
    width: u32,
    height: u32,
    spacing_m: f64,
    datum_m: f64,
    range_m: Option<(f64, f64)>,
    /// The range of files of 16 bits that the recipe asks for.
    output_range_m: Option<(f64, f64)>,
    sea_level_m: Option<f64>,
    georef: Option<Georef>,
    /// What tells the sizes of cells of each row, where rows differ; which row of the input is the
    /// first, and how many of its rows one is.
    #[serde(default)]
    globe: Option<(Globe, f64, f64)>,
    /// The runs of cells without a value: the first, and how many there are.
    #[serde(default)]
    missing: Vec<[usize; 2]>,
    /// The colours of the biomes.
    palette: Vec<[u8; 3]>,
    fields: Vec<String>,
}

/// Ascending numbers as runs: the first, and how many follow each other.
fn runs(numbers: &[usize]) -> Vec<[usize; 2]> {
    let mut runs: Vec<[usize; 2]> = vec![];
    for &number in numbers {
        match runs.last_mut() {
            Some([first, count]) if *first + *count == number => *count += 1,
            _ => runs.push([number, 1]),
        }
    }
    runs
}

const HEADER: &str = "maps.json";

impl Outcome {
    /// The colours of biomes, by their numbers.
    pub(crate) fn palette(&self) -> Result<Vec<[u8; 3]>> {
        let biomes = self.recipe.biomes().map(|(_, settings)| biomes::biomes(settings));
        Ok(biomes.transpose()?.iter().flatten().map(|biome| biome.colour).collect())
    }

    /// Stores the maps that were read, in exact words, in a folder that exists.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn store_maps(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let (range_m, georef) = self.place();
        let header = Header {
            origin: self.window.origin,
            width: self.window.width,
            height: self.window.height,
            spacing_m: self.scale.spacing_m,
            datum_m: self.scale.datum_m,
            range_m,
            output_range_m: self.recipe.output.range_m,
            sea_level_m: self.recipe.output.sea_level_m,
            georef,
            globe: self.globe,
            missing: runs(self.missing()),
            palette: self.palette()?,
            fields: self.names().map(String::from).collect(),
        };
        for name in self.names() {
            let path = folder.join(format!("{name}.i32"));
            let store = || -> std::io::Result<()> {
                let mut file = std::fs::File::create(&path)?;
                for piece in self.words(name).unwrap_or_default().chunks(1 << 16) {
                    file.write_all(
                        &piece.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>(),
                    )?;
                }
                file.sync_all()
            };
            store().map_err(|e| Error::output(&path, e))?;
        }
        // The header comes last, and without it a folder has no maps.
        let path = folder.join(HEADER);
        let text = serde_json::to_vec(&header).map_err(|e| Error::output(&path, e.into()))?;
        std::fs::write(&path, text).map_err(|e| Error::output(&path, e))
    }
}

impl Maps {
    /// Opens a folder of maps.
    ///
    /// # Errors
    /// [`Error::Input`] for a folder that has none.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let path = folder.join(HEADER);
        let text = std::fs::read(&path).map_err(|e| Error::input(&path, e))?;
        let header: Header = serde_json::from_slice(&text).map_err(|e| Error::input(&path, e))?;
        if u64::from(header.width) * u64::from(header.height) == 0
            || header.width.max(header.height) > Window::SIDE_MAX
        {
            return Err(Error::input(&path, "damaged: its size is impossible"));
        }
        Ok(Self { folder: folder.into(), header })
    }

    /// The size in cells.
    pub fn size(&self) -> [u32; 2] {
        [self.header.width, self.header.height]
    }

    /// Metres of a cell.
    pub fn spacing_m(&self) -> f64 {
        self.header.spacing_m
    }

    /// Heights that 0 and 65535 stand for, where the recipe says so.
    pub fn output_range_m(&self) -> Option<(f64, f64)> {
        self.header.output_range_m
    }

    /// The sea level, where the recipe has one.
    pub fn sea_level_m(&self) -> Option<f64> {
        self.header.sea_level_m
    }

    /// The colours of the biomes, by number.
    pub fn palette(&self) -> &[[u8; 3]] {
        &self.header.palette
    }

    /// The maps that can be had: those that the run has read, and those that follow from the
    /// height.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> {
        FIELDS.iter().filter(|field| self.has(field))
    }

    fn has(&self, field: &Field) -> bool {
        let derived = matches!(field.source, Source::Grid(_)) && field.origin == Origin::Every;
        derived || self.header.fields.iter().any(|known| known == field.name)
    }

    /// The field of a name, if it can be had.
    ///
    /// # Errors
    /// [`Error::Param`] that lists those that can.
    pub fn field(&self, name: &str) -> Result<&'static Field> {
        let found = field::find(name).filter(|field| self.has(field));
        found.ok_or_else(|| {
            crate::params::unknown("map of this run", name, self.fields().map(|field| field.name))
                .into()
        })
    }

    fn words(&self, name: &str) -> Result<Vec<i32>> {
        let path = self.folder.join(format!("{name}.i32"));
        let cells = self.header.width as usize * self.header.height as usize;
        // The bytes of the file, the words, and the values of a map have four bytes a cell each.
        crate::memory::admit(name, cells as u64 * 12)?;
        let bytes = std::fs::read(&path).map_err(|e| Error::input(&path, e))?;
        if bytes.len() != cells * 4 {
            return Err(Error::input(&path, format!("{} bytes for {cells} words", bytes.len())));
        }
        Ok(bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect())
    }

    /// The cells that have no value in any map, from the north-west corner, in ascending order.
    pub fn missing(&self) -> Vec<usize> {
        self.header.missing.iter().flat_map(|[first, count]| *first..first + count).collect()
    }

    /// A map in the unit of its field.
    ///
    /// # Errors
    /// [`Error::Param`] for a map that the run has not left, [`Error::Input`] for a file that is
    /// damaged.
    pub fn map(&self, name: &str) -> Result<Map> {
        let field = self.field(name)?;
        let Header { origin, width, height, spacing_m, datum_m, range_m, .. } = self.header;
        let (window, scale) = (Window { origin, width, height }, Scale { spacing_m, datum_m });
        let words = match field.source {
            // From the height, unless the run has read it.
            Source::Grid(of) if !self.header.fields.iter().any(|known| known == name) => {
                let heights = self.words("height")?;
                let cell = self.header.globe.map(|(_, _, cell)| cell);
                let first = self.header.globe.map_or(0.0, |(_, first, _)| first);
                let rows = (0..height).map(|row| first + f64::from(row) * cell.unwrap_or(1.0));
                let metric = self.header.globe.map(|(globe, ..)| globe.metric(rows));
                let values =
                    of(&HeightGrid::new(&heights, width as usize, spacing_m).on(metric.as_ref()));
                // Such a map is of floats, whose bits are its words.
                values.into_iter().map(|v| v.to_bits() as i32).collect()
            }
            _ => self.words(name)?,
        };
        Ok(map_of(field, &words, window, &scale, range_m, self.header.georef.clone()))
    }
}
