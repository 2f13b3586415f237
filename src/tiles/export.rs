//! Lands that are larger than memory, as files that are written piece by piece.

use super::Tiles;
use crate::error::Result;
use crate::exec::Executor;
use crate::field::Field;
use crate::io::{Cog, Files, MapFormat, Stored, Zarr, encode_within};
use crate::map::Map;
use crate::site::Window;
use crate::stage::levels::lattice;
use serde_json::json;
use std::path::Path;

/// Called with how many pieces are done, and how many there are.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64) -> Result<()>;

/// Squares that cover a window from its north-west corner on, `side` apart, each with `shared` more cells to the east and the south where there
/// is land. They come in the order of the tiles that they begin in, so that tiles are not read again and again.
fn squares(tiles: &Tiles, level: i32, window: &Window, side: u32, shared: u32) -> Vec<([u32; 2], Window)> {
    let mut squares = vec![];
    for row in (0..window.height).step_by(side as usize) {
        for column in (0..window.width).step_by(side as usize) {
            let size = [window.width - column, window.height - row].map(|left| left.min(side + shared));
            let origin = [window.origin[0] + i64::from(column), window.origin[1] + i64::from(row)];
            squares.push(([column / side, row / side], Window { origin, width: size[0], height: size[1] }));
        }
    }
    // The tile that a square begins in, row by row.
    squares.sort_by_key(|(_, square)| {
        let corner = Window { width: 1, height: 1, ..*square };
        tiles.over(level, &corner).next().map(|tile| (tile.y, tile.x))
    });
    squares
}

impl Tiles {
    /// A map of a window of a level, in the unit of its field.
    ///
    /// # Errors
    /// As [`Tiles::words`].
    pub fn map(&mut self, level: i32, window: Window, field: &'static Field, executor: &mut dyn Executor) -> Result<Map> {
        let words = self.words(level, window, field, executor)?;
        let scale = self.job().scale_on(level);
        Ok(Map {
            width: window.width,
            height: window.height,
            spacing_m: scale.spacing_m,
            data: field.values(&words, &scale),
            range_m: None,
            georef: None,
        })
    }

    /// Writes a map of a window of a level as one cloud-optimised GeoTIFF.
    ///
    /// # Errors
    /// As [`Tiles::words`] and [`Cog`].
    pub fn write_cog(
        &mut self,
        level: i32,
        window: Window,
        field: &'static Field,
        path: &Path,
        executor: &mut dyn Executor,
        watch: Watch,
    ) -> Result<Stored> {
        let scale = self.job().scale_on(level);
        let whole = level == self.job().recipe().finest() && window == self.job().window();
        let georef = if whole { self.job().georef() } else { None };
        let mut cog = Cog::create(path, [window.width, window.height], scale.spacing_m, georef, &mut vec![])?;
        let squares = squares(self, level, &window, Cog::BLOCK, 0);
        for (i, (at, square)) in squares.iter().enumerate() {
            let words = self.words(level, *square, field, executor)?;
            cog.put(at.map(|at| at * Cog::BLOCK), square.width as usize, &field.values(&words, &scale))?;
            watch(i as u64 + 1, squares.len() as u64)?;
        }
        cog.finish()
    }

    /// Writes maps of a window of the recipe's lattice as a Zarr folder: for each map a multiscale group, whose arrays are the map's levels. Coarser
    /// arrays are the land of coarser levels, not means of finer ones.
    ///
    /// # Errors
    /// As [`Tiles::words`] and [`Zarr`].
    pub fn write_zarr(
        &mut self,
        window: Window,
        fields: &[&'static Field],
        path: &Path,
        executor: &mut dyn Executor,
        watch: Watch,
    ) -> Result<Stored> {
        let mut zarr = Zarr::create(path)?;
        let levels: Vec<i32> = self.levels().collect();
        let squares: Vec<_> = levels
            .iter()
            .map(|level| (*level, lattice(&window, *level, false)))
            .map(|(level, window)| (level, window, squares(self, level, &window, Zarr::CHUNK, 0)))
            .collect();
        let count = (squares.iter().map(|(.., squares)| squares.len()).sum::<usize>() * fields.len()) as u64;
        let mut done = 0;
        for field in fields {
            for (i, (level, window, squares)) in squares.iter().enumerate() {
                let scale = self.job().scale_on(*level);
                let first_m = window.origin.map(|at| at as f64 * scale.spacing_m);
                zarr.level(field.name, field.unit, [window.width, window.height], scale.spacing_m, first_m)?;
                for (at, square) in squares {
                    let words = self.words(*level, *square, field, executor)?;
                    zarr.put(i, *at, square.width as usize, &field.values(&words, &scale))?;
                    done += 1;
                    watch(done, count)?;
                }
            }
        }
        let recipe = self.job().recipe();
        zarr.finish(&json!({ "program": super::engine(), "recipe": recipe.describe() }))
    }

    /// Writes maps of a window of a level as squares of files, such as `height_x3_y0.tif`: 0, 0 is the north-west one. With `shared`, neighbours have
    /// their last and first row or column in common. 16-bit formats need a `range` in metres, which is that of all files.
    ///
    /// # Errors
    /// As [`Tiles::words`], [`crate::io::encode`] and [`Files::write`].
    #[allow(clippy::too_many_arguments)]
    pub fn write_files(
        &mut self,
        level: i32,
        window: Window,
        fields: &[&'static Field],
        folder: &Path,
        options: &FileOptions,
        executor: &mut dyn Executor,
        watch: Watch,
    ) -> Result<(Vec<Stored>, Vec<String>)> {
        let (mut files, mut stored, mut warnings) = (Files::default(), vec![], vec![]);
        files.make_folder(folder)?;
        let squares = squares(self, level, &window, options.side, options.shared as u32);
        let count = (squares.len() * fields.len()) as u64;
        for field in fields {
            for ([x, y], square) in &squares {
                let map = self.map(level, *square, field, executor)?;
                let encoded = encode_within(&map, options.format, options.range_m, &[])?;
                let name = format!("{}_x{x}_y{y}.{}", field.name, options.format.extension());
                warnings.extend(encoded.warnings.into_iter().map(|warning| format!("{name}: {warning}")));
                stored.push(files.write(&folder.join(name), &encoded.bytes)?);
                watch(stored.len() as u64, count)?;
            }
        }
        files.keep();
        Ok((stored, warnings))
    }
}

/// How squares of files are written.
#[derive(Clone, Debug, PartialEq)]
pub struct FileOptions {
    /// Cells of a side.
    pub side: u32,
    /// Whether neighbours share a row or a column of cells.
    pub shared: bool,
    /// Their format.
    pub format: MapFormat,
    /// What 0 and 65535 stand for in 16-bit formats.
    pub range_m: Option<(f64, f64)>,
}
