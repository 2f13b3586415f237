//! Cloud-optimised GeoTIFF, written block by block.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use geotiff_writer::{CogBuilder, CogTileWriter, Resampling};
use ndarray::ArrayView2;
use tempfile::NamedTempFile;

use super::write::{Stored, commit, pending, target};
use super::{geo, tiff};
use crate::map::Georef;
use crate::{Error, Result};

/// A cloud-optimised GeoTIFF of 32-bit floats that is written block by block, in any order, so that
/// it may be larger than memory. (What waits lies in the system's folder for temporary files.) Its
/// overviews are means of 2 x 2 to 16 x 16 cells. Until it is [finished](Cog::finish), the path
/// keeps what was there before.
pub struct Cog {
    path: PathBuf,
    target: PathBuf,
    georef: Option<Georef>,
    range: (f32, f32),
    writer: CogTileWriter<f32, BufWriter<NamedTempFile>>,
}

/// Most overviews: the last is a sixteenth as wide. The library makes each from the blocks of the
/// whole map and keeps 16 of them in memory, so the next one, with 32 to a row, would read every
/// block 512 times.
const OVERVIEWS_MAX: usize = 4;

/// Bytes at the start of a file that hold all of its keys.
const HEAD: u64 = 1 << 20;

impl Cog {
    /// Cells of a side of a block.
    pub const BLOCK: u32 = tiff::TILE;

    /// Begins a file with this number of columns and rows. Where it has missing values, NaN stands
    /// for them.
    ///
    /// # Errors
    /// [`Error::Output`] if no file can be written there, [`Error::Limit`] for a size that the
    /// format cannot hold.
    pub fn create(
        path: &Path,
        size: [u32; 2],
        spacing_m: f64,
        georef: Option<Georef>,
        has_missing: bool,
        warnings: &mut Vec<String>,
    ) -> Result<Self> {
        let mut overviews = vec![];
        while overviews.len() < OVERVIEWS_MAX
            && size[0].max(size[1]).div_ceil(1 << overviews.len()) > Self::BLOCK
        {
            overviews.push(2 << overviews.len());
        }
        // A COG always has tiles, even where a plain TIFF of its size has strips.
        let builder = tiff::builder(size, spacing_m, georef.as_ref(), warnings)
            .tile_size(Self::BLOCK, Self::BLOCK);
        let builder = if has_missing { builder.nodata("nan") } else { builder };
        let target = target(path).map_err(|e| Error::output(path, e))?;
        let file = pending(&target).map_err(|e| Error::output(path, e))?;
        let cog =
            CogBuilder::new(builder).overview_levels(overviews).resampling(Resampling::Average);
        let writer = cog.tile_writer(BufWriter::new(file)).map_err(|e| fault(path, &e))?;
        Ok(Self {
            path: path.into(),
            target,
            georef,
            range: (f32::INFINITY, f32::NEG_INFINITY),
            writer,
        })
    }

    /// Adds the block whose north-west cell is in a column and a row: multiples of [`Cog::BLOCK`].
    ///
    /// # Errors
    /// [`Error::Output`] for a block that was there already or has another size than its place, and
    /// with the system's reason.
    pub fn put(&mut self, [x, y]: [u32; 2], width: usize, values: &[f32]) -> Result<()> {
        let fail = |e: &dyn std::fmt::Display| fault(&self.path, e);
        // `min` and `max` pass over NaN, so missing values do not count.
        self.range = values.iter().fold(self.range, |(low, high), v| (low.min(*v), high.max(*v)));
        let view = ArrayView2::from_shape((values.len() / width.max(1), width), values)
            .map_err(|e| fail(&e))?;
        self.writer.write_tile(x as usize, y as usize, &view).map_err(|e| fail(&e))
    }

    /// The lowest and the highest value so far.
    pub fn range(&self) -> (f32, f32) {
        self.range
    }

    /// Makes the overviews and puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Output`] with the system's reason.
    pub fn finish(self) -> Result<Stored> {
        let Self { path, target, georef, writer, .. } = self;
        let system = |e: std::io::Error| Error::output(&path, e);
        let file = writer.finish().map_err(|e| fault(&path, &e))?;
        let mut file = file.into_inner().map_err(|e| system(e.into_error()))?;
        if let Some(keys) = georef.as_ref().and_then(|g| g.keys.as_ref()).and_then(geo::keys) {
            let mut head = vec![];
            file.rewind()
                .and_then(|()| file.as_file_mut().take(HEAD).read_to_end(&mut head))
                .map_err(system)?;
            keys.keys.iter().for_each(|key| tiff::restore_bars(&mut head, &key.value));
            file.rewind().and_then(|()| file.write_all(&head)).map_err(system)?;
        }
        // Blocks came in any order, and the head has just changed: only now is there a digest to
        // take.
        let (bytes, blake3) = digest(file.as_file_mut()).map_err(system)?;
        commit(file, &target).map_err(system)?;
        Ok(Stored { path, bytes, blake3 })
    }
}

/// The length of a file and its digest.
fn digest(file: &mut File) -> std::io::Result<(u64, String)> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 1 << 20];
    let mut bytes = 0;
    file.seek(SeekFrom::Start(0))?;
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((bytes, hasher.finalize().to_hex().to_string())),
            n => {
                hasher.update(&piece[..n]);
                bytes += n as u64;
            }
        }
    }
}

/// An error of the writer, which does not say which of its files it met it in.
fn fault(path: &Path, e: &dyn std::fmt::Display) -> Error {
    let waiting = std::env::temp_dir();
    let waiting = waiting.display();
    Error::output(
        path,
        std::io::Error::other(format!(
            "{e} (blocks wait in {waiting}, which TMPDIR names, and need room there, too)"
        )),
    )
}
