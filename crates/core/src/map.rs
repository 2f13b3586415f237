//! A raster in physical units: what files hold and what people look at.

use crate::error::{Error, Result};

/// A raster of `width` × `height` samples, row-major, row 0 in the north.
///
/// Samples are vertices: the map spans `(width - 1) * spacing_m` metres from west to east.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Samples in a row, 1 or more.
    pub width: u32,
    /// Rows, 1 or more.
    pub height: u32,
    /// Metres from a sample to the next, over 0.
    pub spacing_m: f64,
    /// `width * height` finite values: heights in metres, or the unit of another data map.
    pub data: Vec<f32>,
    /// Metres that the lowest and the highest integer of the file stood for, where the map came
    /// from an integer format without a unit of its own; the same range is used when it is written
    /// to such a format.
    pub range_m: Option<(f64, f64)>,
    /// Where on Earth the map lies, where the file said so.
    pub georef: Option<Georef>,
}

/// A north-up georeference, as GeoTIFF states it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Georef {
    /// EPSG code of the coordinate system, where known.
    pub epsg: Option<u32>,
    /// Easting or longitude of the outer corner (not the centre) of the north-west sample's cell.
    pub west: f64,
    /// Northing or latitude of the same corner.
    pub north: f64,
    /// Width and height of a cell in units of the coordinate system, both over 0.
    pub cell: (f64, f64),
    /// The coordinate system where a code does not say it all: one without a code, or with a
    /// vertical part.
    pub keys: Option<GeoKeys>,
}

/// Metres of the radius of the sphere of Web Mercator.
const MERCATOR_M: f64 = 6_378_137.0;
/// Farthest latitude at which a cell has a width.
const LATITUDE_MAX: f64 = 89.9;

/// By how much a cell of Web Mercator is larger than the ground that it shows.
pub fn mercator_scale(northing: f64) -> f64 {
    libm::cosh(northing / MERCATOR_M)
}

/// Cells whose size differs from row to row: those in degrees, which are narrower towards the
/// poles, and those of Web Mercator.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Globe {
    /// Whether cells are in degrees, or of Web Mercator.
    degrees: bool,
    /// Metres on the ground of a unit along a meridian; of Web Mercator, at the equator.
    unit_m: f64,
    /// Of the north-west cell: its outer northern edge.
    north: f64,
    /// Width and height of a cell in units.
    cell: (f64, f64),
    /// Metres from cell to cell that the map as a whole is said to have.
    spacing_m: f64,
}

impl Globe {
    /// The metric of a map with this number of rows; none where all rows are alike. `spacing_m` is
    /// the mean width and height of a cell in its middle.
    pub fn of(georef: &Georef, spacing_m: f64, rows: u32) -> Option<Self> {
        let &Georef { north, cell, .. } = georef;
        let middle = north - cell.1 * f64::from(rows) / 2.0;
        let degrees = georef.is_in_degrees(spacing_m);
        let unit_m = if degrees {
            2.0 * spacing_m / (cell.0 * cosine(middle) + cell.1)
        } else if georef.is_web_mercator() {
            spacing_m * mercator_scale(middle) / f64::midpoint(cell.0, cell.1)
        } else {
            return None;
        };
        Some(Self { degrees, unit_m, north, cell, spacing_m })
    }

    /// The sizes of cells, by the rows of their middles: 0 is that of the north-west cell.
    pub fn metric(&self, rows: impl Iterator<Item = f64>) -> Metric {
        let size = |row: f64| {
            let north = self.north - (row + 0.5) * self.cell.1;
            let scale =
                if self.degrees { [cosine(north), 1.0] } else { [1.0 / mercator_scale(north); 2] };
            [self.cell.0 * scale[0], self.cell.1 * scale[1]]
                .map(|units| units * self.unit_m / self.spacing_m)
        };
        Metric { rows: rows.map(size).collect() }
    }
}

/// The cosine of a latitude.
fn cosine(latitude: f64) -> f64 {
    libm::cos(latitude.clamp(-LATITUDE_MAX, LATITUDE_MAX).to_radians())
}

/// Widths and heights of the cells of each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metric {
    rows: Vec<[f64; 2]>,
}

impl Metric {
    /// Width and height of a cell of a row, in metres of the map's spacing; of a row that is not
    /// there, that spacing.
    pub fn cell(&self, row: usize) -> [f64; 2] {
        self.rows.get(row).copied().unwrap_or([1.0; 2])
    }

    /// The area of a cell of a row, in squares of the map's spacing.
    pub fn area(&self, row: usize) -> f64 {
        let [width, height] = self.cell(row);
        width * height
    }
}

/// A coordinate system as the three tags of a GeoTIFF have it, so that one that nobody here
/// understands is still passed on.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GeoKeys {
    /// The directory of keys.
    pub directory: Vec<u16>,
    /// Numbers that keys refer to.
    pub numbers: Vec<f64>,
    /// Texts that keys refer to.
    pub text: String,
}

impl Georef {
    /// The name of the coordinate system, for people: its code, or else the first text of its keys.
    pub fn name(&self) -> Option<String> {
        let text = self
            .keys
            .as_ref()
            .and_then(|keys| keys.text.split('|').find(|part| !part.trim().is_empty()));
        self.epsg
            .map(|code| format!("EPSG:{code}"))
            .or(text.map(|text| text.trim_end_matches('\0').into()))
    }

    /// Whether the coordinate system is in degrees, for cells of `spacing_m` metres. Neither a code
    /// nor keys say so in general, but the size of a cell does: a degree is more than a thousand
    /// metres.
    pub fn is_in_degrees(&self, spacing_m: f64) -> bool {
        spacing_m > 1000.0 * self.cell.1
    }

    /// Whether it is Web Mercator, whose metres are those of the ground at the equator alone.
    pub fn is_web_mercator(&self) -> bool {
        matches!(self.epsg, Some(3857 | 3785 | 900_913 | 102_100 | 102_113))
    }

    /// The place of a map that begins some columns to the east and rows to the south.
    pub fn from(self, columns: i64, rows: i64) -> Self {
        let (west, north) =
            (self.west + columns as f64 * self.cell.0, self.north - rows as f64 * self.cell.1);
        Self { west, north, ..self }
    }

    /// The place of a map of the same land whose cells are `times` as wide, and whose first sample
    /// lies `columns` of this one's cells to the east and `rows` to the south of this one's first.
    pub fn on_lattice(self, times: f64, columns: f64, rows: f64) -> Self {
        // From this one's outer corner to the other's: samples lie in the middle of their cells.
        let corner = |first: f64| first + (0.5 - times / 2.0);
        let west = self.west + corner(columns) * self.cell.0;
        let north = self.north - corner(rows) * self.cell.1;
        Self { west, north, cell: (self.cell.0 * times, self.cell.1 * times), ..self }
    }
}

impl Map {
    /// A part of the map: `width` × `height` samples from a column and row on.
    ///
    /// # Errors
    /// [`Error::Param`] for a part that is empty or reaches beyond the map.
    pub fn crop(&self, [column, row]: [u32; 2], [width, height]: [u32; 2]) -> Result<Self> {
        let inside = |from: u32, count: u32, all: u32| {
            count > 0 && u64::from(from) + u64::from(count) <= u64::from(all)
        };
        if !inside(column, width, self.width) || !inside(row, height, self.height) {
            return Err(Error::param(format!(
                "{width}x{height} samples from column {column}, row {row} are not all in the map, \
                 which has {}x{}",
                self.width, self.height
            )));
        }
        let rows = self.data.chunks(self.width as usize).skip(row as usize).take(height as usize);
        let data = rows
            .flat_map(|line| line[column as usize..][..width as usize].iter().copied())
            .collect();
        let georef = self.georef.clone().map(|georef| georef.from(column.into(), row.into()));
        Ok(Self { width, height, data, georef, ..*self })
    }

    /// The map with its rows in the other order. It has no place on Earth then.
    pub fn flip_rows(&self) -> Self {
        let data = self.data.chunks(self.width as usize).rev().flatten().copied().collect();
        Self { data, georef: None, ..*self }
    }

    /// The map with its columns in the other order. It has no place on Earth then.
    pub fn flip_columns(&self) -> Self {
        let data = self
            .data
            .chunks(self.width as usize)
            .flat_map(|line| line.iter().rev().copied())
            .collect();
        Self { data, georef: None, ..*self }
    }

    /// The same land with another number of samples: straight lines between samples where there are
    /// more, weighted means where there are fewer. Samples are vertices, so the first and the last
    /// stay where they are.
    ///
    /// # Errors
    /// [`Error::Param`] for an empty map, and where cells would be less square than they need to
    /// be.
    pub fn resample(&self, width: u32, height: u32) -> Result<Self> {
        let step = |old: u32, new: u32| f64::from(old.max(1) - 1) / f64::from(new.max(2) - 1);
        let (x, y) = (step(self.width, width), step(self.height, height));
        let (along, down) = (self.width > 1 && width > 1, self.height > 1 && height > 1);
        if width == 0
            || height == 0
            || (self.width == 1) != (width == 1)
            || (self.height == 1) != (height == 1)
        {
            return Err(Error::param(format!(
                "{width}x{height} samples cannot be made of {}x{}: a side of one sample stays one, \
                 and others have at least 2",
                self.width, self.height
            )));
        }
        let fitting = ((f64::from(self.height - 1) / x.max(1e-9)).round() as u32).max(1) + 1;
        // Nothing is seen of cells that are a hundredth longer than wide, and few samples allow no
        // better.
        if along && down && height != fitting && (x - y).abs() > 0.01 * x.max(y) {
            return Err(Error::param(format!(
                "{width}x{height} samples would make cells that are not square: {width}x{fitting} \
                 suits a map of {}x{}",
                self.width, self.height
            )));
        }
        let factor = match (along, down) {
            (true, true) => f64::midpoint(x, y),
            (true, false) => x,
            (false, true) => y,
            (false, false) => 1.0,
        };
        let (wider, longer) = (if along { x } else { factor }, if down { y } else { factor });
        let rows: Vec<f32> = self
            .data
            .chunks(self.width as usize)
            .flat_map(|line| resampled(line, 1, width, x))
            .collect();
        let columns: Vec<Vec<f32>> = (0..width as usize)
            .map(|c| resampled(&rows[c..], width as usize, height, y).collect())
            .collect();
        let data = (0..height as usize)
            .flat_map(|r| columns.iter().map(move |column| column[r]))
            .collect();
        let georef = self.georef.clone().map(|g| {
            // The centre of the first cell stays.
            let (half_x, half_y) =
                (g.cell.0 * (wider - 1.0) / 2.0, g.cell.1 * (longer - 1.0) / 2.0);
            Georef {
                west: g.west - half_x,
                north: g.north + half_y,
                cell: (g.cell.0 * wider, g.cell.1 * longer),
                ..g
            }
        });
        Ok(Self { width, height, spacing_m: self.spacing_m * factor, data, georef, ..*self })
    }

    /// Lowest and highest value.
    pub fn min_max(&self) -> (f32, f32) {
        self.data
            .iter()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)))
    }
}

/// A line of samples, every `each`-th of `data`, as `count` samples, `step` old ones apart. Each is
/// the mean of the old ones nearer than the larger of a step and 1, weighted by nearness. Beyond
/// its ends the line goes on as it came, turned by half a circle, so that a slope stays one.
fn resampled(data: &[f32], each: usize, count: u32, step: f64) -> impl Iterator<Item = f32> {
    let last = ((data.len() - 1) / each) as i64;
    let value = move |at: i64| f64::from(data[at.clamp(0, last) as usize * each]);
    let beyond = move |at: i64| match at {
        at if at < 0 => 2.0 * value(0) - value(-at),
        at if at > last => 2.0 * value(last) - value(2 * last - at),
        at => value(at),
    };
    let reach = step.max(1.0);
    (0..count).map(move |i| {
        let place = f64::from(i) * step;
        let (mut sum, mut weights) = (0.0, 0.0);
        for at in (place - reach).ceil() as i64..=(place + reach).floor() as i64 {
            let weight = 1.0 - (at as f64 - place).abs() / reach;
            sum += weight * beyond(at);
            weights += weight;
        }
        (sum / weights) as f32
    })
}

/// What the samples of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// Heights, in metres or steps of them.
    #[default]
    Heights,
    /// Shares: the lowest and the highest integer stand for 0 and 1, other values for themselves.
    /// Neither `range_m` nor `spacing_m` is asked for.
    Shares,
    /// Numbers of things, which stand for themselves. Of a PNG with a palette they are the
    /// indices; one of 16 bits is refused, since programs that make one of 8 bits multiply its
    /// levels by 257.
    Numbers,
}
