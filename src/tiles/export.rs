//! Lands that are larger than memory, as files that are written piece by piece.

use super::Tiles;
use crate::error::Result;
use crate::exec::Executor;
use crate::field::Field;
use crate::io::{Cog, Files, MapFormat, Stored, Zarr, encode_within, refuse};
use crate::map::Map;
use crate::site::Window;
use crate::stage::levels::lattice;
use serde_json::json;
use std::path::Path;

/// Called with how many pieces are done, and how many there are.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64) -> Result<()>;

/// Squares that cover a window from its north-west corner on, `side` apart, each with `shared` more cells to the east and the south where there
/// is land: their column and row, and their cells.
#[derive(Clone, Copy)]
struct Squares {
    window: Window,
    side: u32,
    shared: u32,
}

impl Squares {
    fn count(&self) -> u64 {
        u64::from(self.window.width.div_ceil(self.side)) * u64::from(self.window.height.div_ceil(self.side))
    }

    fn at(&self, [x, y]: [u32; 2]) -> Window {
        let [left, top] = [x, y].map(|at| at * self.side);
        let size = [self.window.width - left, self.window.height - top].map(|left| left.min(self.side + self.shared));
        let origin = [self.window.origin[0] + i64::from(left), self.window.origin[1] + i64::from(top)];
        Window { origin, width: size[0], height: size[1] }
    }

    /// All of them, in the order of the tiles that they begin in, so that tiles are not read again and again.
    fn over(self, tiles: &Tiles, level: i32) -> impl Iterator<Item = ([u32; 2], Window)> + use<> {
        let axes = tiles.axes(level);
        tiles.over(level, &self.window).flat_map(move |tile| {
            // The squares whose first cell is one of the tile's.
            let begin = |axis: usize, tile: i64, size: u32| {
                let (first, cells) = axes[axis].cells(tile).unwrap_or_default();
                let place = |at: i64| (at - self.window.origin[axis]).clamp(0, i64::from(size)) as u32;
                place(first).div_ceil(self.side)..place(first + i64::from(cells)).div_ceil(self.side)
            };
            let (columns, rows) = (begin(0, tile.x, self.window.width), begin(1, tile.y, self.window.height));
            rows.flat_map(move |y| columns.clone().map(move |x| ([x, y], self.at([x, y]))))
        })
    }
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
        let squares = Squares { window, side: Cog::BLOCK, shared: 0 };
        for ((at, square), done) in squares.over(self, level).zip(1..) {
            let words = self.words(level, square, field, executor)?;
            cog.put(at.map(|at| at * Cog::BLOCK), square.width as usize, &field.values(&words, &scale))?;
            watch(done, squares.count())?;
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
        replace: bool,
        executor: &mut dyn Executor,
        watch: Watch,
    ) -> Result<Stored> {
        let mut zarr = Zarr::create(path, replace)?;
        let levels = self.levels().map(|level| {
            let window = lattice(&window, level, false);
            (level, Squares { window, side: Zarr::CHUNK, shared: 0 })
        });
        let levels: Vec<(i32, Squares)> = levels.collect();
        let count = levels.iter().map(|(_, squares)| squares.count()).sum::<u64>() * fields.len() as u64;
        let mut done = 0;
        for field in fields {
            for (i, (level, squares)) in levels.iter().enumerate() {
                let (scale, window) = (self.job().scale_on(*level), squares.window);
                let first_m = window.origin.map(|at| at as f64 * scale.spacing_m);
                zarr.level(field.name, field.unit, [window.width, window.height], scale.spacing_m, first_m)?;
                for (at, square) in squares.over(self, *level) {
                    let words = self.words(*level, square, field, executor)?;
                    zarr.put(i, at, square.width as usize, &field.values(&words, &scale))?;
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
        let squares = Squares { window, side: options.side, shared: options.shared as u32 };
        let path =
            |field: &Field, [x, y]: [u32; 2]| folder.join(format!("{}_x{x}_y{y}.{}", field.name, options.format.extension()));
        for field in fields {
            squares.over(self, level).try_for_each(|(at, _)| refuse(&[path(field, at)], options.replace))?;
        }
        let (mut files, mut stored, mut warnings) = (Files::default(), vec![], vec![]);
        files.make_folder(folder)?;
        let count = squares.count() * fields.len() as u64;
        for field in fields {
            for (at, square) in squares.over(self, level) {
                let map = self.map(level, square, field, executor)?;
                let encoded = encode_within(&map, options.format, options.range_m, &[])?;
                let path = path(field, at);
                warnings.extend(encoded.warnings.into_iter().map(|warning| format!("{}: {warning}", path.display())));
                stored.push(files.write(&path, &encoded.bytes)?);
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
    /// Whether files that exist are replaced, or refused before the work.
    pub replace: bool,
}
