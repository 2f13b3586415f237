//! SRTM tiles: 16-bit signed metres, big-endian, row by row from the north, and the place in the
//! file's name: `N47E008.hgt`.

use std::io::BufRead;
use std::path::Path;

use super::geo::Geo;
use super::nodata::VOID;
use super::{Raster, Source, raw};
use crate::Result;
use crate::map::Map;

pub(super) fn read<R: BufRead>(reader: R, source: &Source) -> Result<Raster> {
    let mut raster =
        raw::read(reader, source, None, |bytes: [u8; 2]| match i16::from_be_bytes(bytes) {
            VOID => f32::NAN,
            metres => f32::from(metres),
        })?;
    let (width, height) = (raster.width, raster.height);
    raster.nodata = Some(f64::from(VOID));
    if let Some([south, west]) = corner(source.path).filter(|_| width > 1 && height > 1) {
        // The samples are points, and the last row and column are those of the next tiles.
        let cell = (1.0 / f64::from(width - 1), 1.0 / f64::from(height - 1));
        let geo = Geo::of_degrees(cell, [west - cell.0 / 2.0, south + 1.0 + cell.1 / 2.0]);
        (raster.spacing_m, raster.georef) = geo.place([width, height], &mut raster.warnings);
    }
    Ok(raster)
}

/// The latitude and longitude of a tile's south-western sample, by its name.
fn corner(path: &Path) -> Option<[f64; 2]> {
    let name = path.file_stem()?.to_str()?.to_ascii_uppercase();
    let (latitude, longitude) = name.get(..7).filter(|name| name.is_ascii())?.split_at(3);
    let degrees = |text: &str, signs: [char; 2]| {
        let sign = if text.starts_with(signs[0]) { 1.0 } else { -1.0 };
        text.strip_prefix(signs)?.parse::<u16>().ok().map(|v| sign * f64::from(v))
    };
    Some([degrees(latitude, ['N', 'S'])?, degrees(longitude, ['E', 'W'])?])
}

/// Rounds heights to metres.
pub(super) fn encode(map: &Map, warnings: &mut Vec<String>) -> Vec<u8> {
    // -32768 stands for a missing height, so the lowest is one more.
    let outside = map.data.iter().filter(|v| v.round().abs() > 32767.0).count();
    if outside > 0 {
        warnings.push(format!(
            "{outside} values lie beyond -32767 to 32767 m, which an .hgt file \
             holds, and were cut off there"
        ));
    }
    let metres =
        |v: &f32| if v.is_nan() { VOID } else { v.round().clamp(-32767.0, 32767.0) as i16 };
    map.data.iter().flat_map(|v| metres(v).to_be_bytes()).collect()
}
