//! Lands that are larger than memory, as files that are written piece by piece.

use super::Tiles;
use crate::error::Result;
use crate::exec::Executor;
use crate::field::{Field, Source};
use crate::io::geo::local_corner;
use crate::io::{
    Cog, Elevation, Files, MapFormat, Share, Stored, Zarr, ZarrLevel, encode_picture,
    encode_within, refuse,
};
use crate::map::{Georef, Map};
use crate::site::Window;
use crate::stage::levels::lattice;
use image::{Rgb, RgbImage};
use serde_json::json;
use std::f64::consts::PI;
use std::path::Path;

/// Called with how many pieces are done, and how many there are.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64) -> Result<()>;

/// Squares that cover a window from its north-west corner on, `side` apart, each with `shared` more
/// cells to the east and the south where there is land: their column and row, and their cells.
#[derive(Clone, Copy)]
struct Squares {
    window: Window,
    side: u32,
    shared: u32,
}

impl Squares {
    fn count(&self) -> u64 {
        u64::from(self.window.width.div_ceil(self.side))
            * u64::from(self.window.height.div_ceil(self.side))
    }

    fn at(&self, [x, y]: [u32; 2]) -> Window {
        let [left, top] = [x, y].map(|at| at * self.side);
        let size = [self.window.width - left, self.window.height - top]
            .map(|left| left.min(self.side + self.shared));
        let origin =
            [self.window.origin[0] + i64::from(left), self.window.origin[1] + i64::from(top)];
        Window { origin, width: size[0], height: size[1] }
    }

    /// All of them, in the order of the tiles that they begin in, so that tiles are not read again
    /// and again.
    fn over(self, tiles: &Tiles, level: i32) -> impl Iterator<Item = ([u32; 2], Window)> + use<> {
        let axes = tiles.layout.axes(level, 0);
        tiles.over(level, &self.window).flat_map(move |tile| {
            // The squares whose first cell is one of the tile's.
            let begin = |axis: usize, tile: i64, size: u32| {
                let (first, cells) = axes[axis].cells(tile).unwrap_or_default();
                let place =
                    |at: i64| (at - self.window.origin[axis]).clamp(0, i64::from(size)) as u32;
                // Each square begins in one tile, so every square comes once.
                place(first).div_ceil(self.side)
                    ..place(first + i64::from(cells)).div_ceil(self.side)
            };
            let (columns, rows) =
                (begin(0, tile.x, self.window.width), begin(1, tile.y, self.window.height));
            rows.flat_map(move |y| columns.clone().map(move |x| ([x, y], self.at([x, y]))))
        })
    }
}

impl Tiles {
    /// A map of a window of a level, in the unit of its field.
    ///
    /// # Errors
    /// As [`Tiles::words`].
    pub fn map(
        &mut self,
        level: i32,
        window: Window,
        field: &'static Field,
        executor: &mut dyn Executor,
    ) -> Result<Map> {
        Ok(Map {
            width: window.width,
            height: window.height,
            spacing_m: self.job().schedule().scale_on(level).spacing_m,
            data: self.values(level, window, field, executor)?,
            range_m: None,
            georef: self.place_of(level, &window),
        })
    }

    /// The values of a map in a window of a level, in the unit of its field.
    fn values(
        &mut self,
        level: i32,
        window: Window,
        field: &Field,
        executor: &mut dyn Executor,
    ) -> Result<Vec<f32>> {
        let words = self.words(level, window, field, executor)?;
        // What is measured of water has the scale of the level on which it was followed.
        let of =
            if matches!(field.source, Source::Water(_)) { self.water_level(level)? } else { level };
        Ok(field.values(&words, &self.job().schedule().scale_on(of)))
    }

    /// The same, with NaN in cells that have no value.
    fn known_values(
        &mut self,
        level: i32,
        window: Window,
        field: &Field,
        executor: &mut dyn Executor,
    ) -> Result<Vec<f32>> {
        let mut values = self.values(level, window, field, executor)?;
        self.job().missing_at(level, &window).into_iter().for_each(|at| values[at] = f32::NAN);
        Ok(values)
    }

    /// Where on Earth a window lies, where that is known. Others lie in metres from the land's
    /// north-west sample; none for the window that begins there.
    fn place_of(&self, level: i32, window: &Window) -> Option<Georef> {
        let (land, finest) = (self.job().window().origin, self.job().recipe().finest());
        let place = self.job().place_of(level, window);
        if place.is_some() {
            return place;
        }
        let [cell, fine] =
            [level, finest].map(|level| self.job().schedule().scale_on(level).spacing_m);
        let [east, south] =
            [0, 1].map(|axis| window.origin[axis] as f64 * cell - land[axis] as f64 * fine);
        let (west, north) = local_corner(cell);
        let georef = Georef {
            epsg: None,
            west: west + east,
            north: north - south,
            cell: (cell, cell),
            keys: None,
        };
        ((east, south) != (0.0, 0.0)).then_some(georef)
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
        self.fill_cog(level, window, field, path, executor, watch)?.finish()
    }

    /// The same, but for putting the file in its place.
    pub(crate) fn fill_cog(
        &mut self,
        level: i32,
        window: Window,
        field: &'static Field,
        path: &Path,
        executor: &mut dyn Executor,
        watch: Watch,
    ) -> Result<Cog> {
        let scale = self.job().schedule().scale_on(level);
        let georef = self.place_of(level, &window);
        let mut cog = Cog::create(
            path,
            [window.width, window.height],
            scale.spacing_m,
            georef,
            self.job().missing_cells() > 0,
            &mut vec![],
        )?;
        let squares = Squares { window, side: Cog::BLOCK, shared: 0 };
        for ((at, square), done) in squares.over(self, level).zip(1..) {
            let values = self.known_values(level, square, field, executor)?;
            cog.put(at.map(|at| at * Cog::BLOCK), square.width as usize, &values)?;
            watch(done, squares.count())?;
        }
        Ok(cog)
    }

    /// Writes maps of a window of a level as a Zarr folder: a group for that level, and one for
    /// each coarser one, with an array for each map. Coarser arrays are the land of coarser levels,
    /// not means of finer ones. None if the folder waits for other shares.
    ///
    /// # Errors
    /// As [`Tiles::words`] and [`Zarr`].
    #[allow(clippy::too_many_arguments)]
    pub fn write_zarr(
        &mut self,
        level: i32,
        window: Window,
        fields: &[&'static Field],
        path: &Path,
        options: &ZarrOptions,
        executor: &mut dyn Executor,
        watch: Watch,
    ) -> Result<Option<Stored>> {
        let about = json!({ "program": super::engine(), "recipe": self.job().recipe().describe() });
        let mut zarr = match options.share {
            None => Zarr::create(path, options.replace)?,
            Some(share) => {
                let maps: Vec<&str> = fields.iter().map(|field| field.name).collect();
                let job = self.job();
                // A recipe names its files, and not what was in them.
                let read = [job.start_digest(), Some(job.read_digest(job.recipe().stages.len()))];
                let what = json!({ "of": about, "read": read, "level": level,
                    "origin": window.origin,
                    "size": [window.width, window.height], "maps": maps, "shares": share.of() });
                Zarr::join(path, options.replace, share, &what.to_string())?
            }
        };
        let levels = (0..).zip(level..=*self.levels().end()).map(|(coarser, level)| {
            let window = lattice(&window, coarser, false);
            (level, Squares { window, side: Zarr::CHUNK, shared: 0 })
        });
        let levels: Vec<(i32, Squares)> = levels.collect();
        let (first, mut count) = (level, 0);
        for field in fields {
            let there =
                levels.iter().filter(|(level, _)| *level == first || self.has(field, *level));
            count += there.map(|(_, squares)| squares.count()).sum::<u64>();
        }
        let mut done = 0;
        for (level, squares) in &levels {
            let (scale, window) = (self.job().schedule().scale_on(*level), squares.window);
            zarr.level(ZarrLevel {
                size: [window.width, window.height],
                spacing_m: scale.spacing_m,
                first_m: window.origin.map(|at| at as f64 * scale.spacing_m),
                georef: self.place_of(*level, &window),
            })?;
            // The first level is that which was asked for, whatever it has.
            let has = |field: &&&'static Field| *level == first || self.has(field, *level);
            for field in fields.iter().filter(has).collect::<Vec<_>>() {
                zarr.map(field.name, field.unit, field.about)?;
                for ((at, square), piece) in squares.over(self, *level).zip(0..) {
                    let is_own = options.share.is_none_or(|s| s.takes(piece, squares.count()));
                    if is_own && !zarr.has(field.name, at) {
                        let values = self.known_values(*level, square, field, executor)?;
                        zarr.put(field.name, at, square.width as usize, &values)?;
                    }
                    done += 1;
                    watch(done, count)?;
                }
            }
        }
        zarr.finish(&about)
    }

    /// Writes maps of a window of a level as squares of files, such as `height_x3_y0.tif`: 0, 0 is
    /// the north-west one. With `shared`, neighbours have their last and first row or column in
    /// common. 16-bit formats need a `range` in metres, which is that of all files.
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
        let path = |field: &Field, [x, y]: [u32; 2]| {
            folder.join(format!("{}_x{x}_y{y}.{}", field.name, options.format.extension()))
        };
        let is_own = |(piece, _): &(u64, _)| {
            options.share.is_none_or(|share| share.takes(*piece, squares.count()))
        };
        // A file that is in the way is found before the work begins.
        for field in fields {
            (0..)
                .zip(squares.over(self, level))
                .filter(is_own)
                .try_for_each(|(_, (at, _))| refuse(&[path(field, at)], options.replace))?;
        }
        let (mut files, mut stored, mut warnings) = (Files::default(), vec![], vec![]);
        files.make_folder(folder)?;
        let own = (0..).zip(squares.over(self, level)).filter(is_own).count();
        let count = (own * fields.len()) as u64;
        for field in fields {
            for (_, (at, square)) in (0..).zip(squares.over(self, level)).filter(is_own) {
                let map = self.map(level, square, field, executor)?;
                let encoded = encode_within(
                    &map,
                    options.format,
                    options.range_m,
                    &self.job().missing_at(level, &square),
                )?;
                let path = path(field, at);
                warnings.extend(
                    encoded
                        .warnings
                        .into_iter()
                        .map(|warning| format!("{}: {warning}", path.display())),
                );
                stored.push(files.write(&path, &encoded.bytes)?);
                watch(stored.len() as u64, count)?;
            }
        }
        files.keep();
        Ok((stored, warnings))
    }
}

impl Tiles {
    /// Writes a map of a window of a level as the tiles of a web map: `Z/X/Y.png`, X from the
    /// window's western edge and Y from its northern one, and `tilejson.json`. At the last zoom a
    /// pixel is a cell of the level, and each zoom before it shows the land of the next coarser
    /// level, as far as there are levels. Pixels beyond the land are as its edge. The texts are
    /// warnings, such as of heights that the colours cannot hold.
    ///
    /// # Errors
    /// As [`Tiles::words`], [`Files::write`] and [`refuse`].
    #[allow(clippy::too_many_arguments)]
    pub fn write_xyz(
        &mut self,
        level: i32,
        window: Window,
        field: &'static Field,
        folder: &Path,
        options: &XyzOptions,
        executor: &mut dyn Executor,
        watch: Watch,
    ) -> Result<(Vec<Stored>, Vec<String>)> {
        let side = options.side;
        // Zoom 0 has one tile, and each next zoom has twice as many a side.
        let last = window.width.max(window.height).div_ceil(side).next_power_of_two().ilog2();
        let levels = (0..).zip(level..=*self.levels().end());
        let zooms = (0..=last).rev().zip(levels).map(|(zoom, (coarser, level))| {
            (zoom, level, Squares { window: lattice(&window, coarser, false), side, shared: 0 })
        });
        // A map that only the finest level has is one zoom.
        let has = |(_, shown, _): &(u32, i32, Squares)| *shown == level || self.has(field, *shown);
        let zooms: Vec<(u32, i32, Squares)> = zooms.take_while(has).collect();
        let path = |zoom: u32, [x, y]: [u32; 2]| folder.join(format!("{zoom}/{x}/{y}.png"));
        let described = folder.join("tilejson.json");
        refuse(std::slice::from_ref(&described), options.replace)?;
        for (zoom, level, squares) in &zooms {
            squares
                .over(self, *level)
                .try_for_each(|(at, _)| refuse(&[path(*zoom, at)], options.replace))?;
        }
        let (mut files, mut stored) = (Files::default(), vec![]);
        let [lowest, highest] = options.elevation.range_m();
        let mut beyond = 0u64;
        let count = zooms.iter().map(|(.., squares)| squares.count()).sum();
        for (zoom, level, squares) in &zooms {
            for (at, square) in squares.over(self, *level) {
                let map = self.map(*level, square, field, executor)?;
                beyond += map
                    .data
                    .iter()
                    .filter(|&&metres| !(lowest..=highest).contains(&f64::from(metres)))
                    .count() as u64;
                let pixel = |x: u32, y: u32| {
                    // A tile of a web map is whole, so the land's edge goes on to its sides.
                    let (x, y) = (x.min(map.width - 1), y.min(map.height - 1));
                    Rgb(options.elevation.rgb(map.data[(y * map.width + x) as usize]))
                };
                let path = path(*zoom, at);
                path.parent().map_or(Ok(()), |folder| files.make_folder(folder))?;
                stored.push(
                    files.write(&path, &encode_picture(RgbImage::from_fn(side, side, pixel))?)?,
                );
                watch(stored.len() as u64, count)?;
            }
        }
        // Zooms go down from the last one, so the first of them comes at the end.
        let first = zooms.last().map_or(last, |(zoom, ..)| *zoom);
        let mut json = tilejson([0; 2], [window.width, window.height], side, [first, last]);
        json["name"] = json!(format!("{} ({})", field.name, field.unit));
        json["tiles"] = json!(["{z}/{x}/{y}.png"]);
        json["encoding"] = json!(options.elevation.name());
        json["spacing_m"] = json!(self.job().schedule().scale_on(level).spacing_m);
        stored.push(files.write(&described, format!("{json:#}\n").as_bytes())?);
        files.keep();
        let warning = format!(
            "{beyond} samples of {} lie beyond {lowest} to {highest:.3} m, which is what {} holds, \
             and are at its ends",
            field.name,
            options.elevation.name()
        );
        Ok((stored, if beyond > 0 { vec![warning] } else { vec![] }))
    }
}

/// What the tiles of a land are, as TileJSON 3.0.0, but for their addresses. A land is a plane and
/// has no place on Earth, so it is laid on the square of the Web Mercator map from a pixel of its
/// last zoom on.
pub fn tilejson(
    from: [u32; 2],
    size: [u32; 2],
    side: u32,
    [first, last]: [u32; 2],
) -> serde_json::Value {
    let all = f64::from(side) * f64::from(1u32 << last);
    let longitude = |pixel: f64| pixel / all * 360.0 - 180.0;
    // The inverse of the Mercator projection.
    let latitude = |pixel: f64| libm::atan(libm::sinh(PI * (1.0 - 2.0 * pixel / all))).to_degrees();
    let [[west, east], [north, south]] =
        [0, 1].map(|axis| [f64::from(from[axis]), f64::from(from[axis]) + f64::from(size[axis])]);
    let [west, east, north, south] =
        [longitude(west), longitude(east), latitude(north), latitude(south)];
    json!({
        "tilejson": "3.0.0", "scheme": "xyz", "minzoom": first, "maxzoom": last,
        "bounds": [west, south, east, north],
        "center": [f64::midpoint(west, east), f64::midpoint(south, north), first],
        "tileSize": side, "width": size[0], "height": size[1],
    })
}

/// How the tiles of a web map are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XyzOptions {
    /// Pixels of a side.
    pub side: u32,
    /// How heights become colours.
    pub elevation: Elevation,
    /// Whether files that exist are replaced, or refused before the work.
    pub replace: bool,
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
    /// Which of the files this process writes; none: all.
    pub share: Option<Share>,
}

/// How a Zarr folder is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZarrOptions {
    /// Whether a folder that exists is replaced, or refused before the work.
    pub replace: bool,
    /// Which of the chunks this process writes; none: all.
    pub share: Option<Share>,
}
