//! Rivers, lakes and the sea over a picture of the land.

use image::RgbImage;
use rayon::prelude::*;

use super::{BED, DEEP, Light, RIVER, SEA, Style, gradient, rgb, same_size, vec};
use crate::map::Map;
use crate::{Error, Result};

/// The water of a land: maps of its size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waters<'a> {
    /// How deep the sea and lakes are in metres, 0 where it is dry.
    pub depth: Option<&'a Map>,
    /// How wide rivers are in metres, 0 where there are none.
    pub width: Option<&'a Map>,
    /// Whether the picture shows the land as from the air; else as a printed map.
    pub as_from_the_air: bool,
}

/// Colours of printed rivers and shores.
const PRINTED: [u8; 3] = [62, 122, 176];
const SHORE: [u8; 3] = [58, 96, 128];

/// How much of its colour the narrowest river has.
const NARROWEST: f64 = 0.7;

/// The longest side of a picture, in cells, in which the narrowest river is one cell wide. It is
/// wider in larger ones, which are looked at from as far away.
const WHOLE_VIEW: f64 = 512.0;

/// Where lakes are on the ramp of depths at least: beside the sea they are shallow, and would be as
/// pale as ice.
const SHALLOW: f64 = 0.35;

/// Half the width in cells that the widest river has.
const WIDEST: f64 = 32.0;

/// Draws water over a picture of a map. Lakes and the sea have colours of their depth and a line
/// along their shores; puddles that are one cell wide are left out. A river is as wide as it is,
/// but no narrower than a pixel of the whole picture at 512 pixels, and paler where it would be;
/// where a bed is cut into the ground, its water is the river's and no lake.
///
/// # Errors
/// [`Error::Param`] if the picture and the maps differ in size.
pub fn draw_water(picture: &mut RgbImage, map: &Map, waters: &Waters, style: &Style) -> Result<()> {
    let maps: Vec<&Map> = [waters.depth, waters.width].into_iter().flatten().collect();
    if maps.is_empty() {
        return Ok(());
    }
    maps.iter().try_for_each(|other| same_size(map, other))?;
    let (width, height) = (map.width as usize, map.height as usize);
    if picture.dimensions() != (map.width, map.height) {
        let (x, y) = picture.dimensions();
        return Err(Error::param(format!(
            "a picture of {x}x{y} pixels is none of a map of {width}x{height}: give that of the map"
        )));
    }
    let light = Light::new(map, style);
    let (ramp, river) = if waters.as_from_the_air { (DEEP, RIVER) } else { (SEA, PRINTED) };
    let wet =
        |x: usize, y: usize| waters.depth.map_or(0.0, |depth| f64::from(depth.data[y * width + x]));
    let deepest = waters.depth.map_or(0.0, |depth| f64::from(depth.min_max().1));
    // Puddles that are one cell wide would be speckle.
    let is_wide = |x: usize, y: usize| {
        let sides =
            |at: usize, count: usize| [[at.saturating_sub(1), at], [at, (at + 1).min(count - 1)]];
        let all_wet = |[a, b]: [usize; 2], [c, d]: [usize; 2]| {
            [(a, c), (b, c), (a, d), (b, d)].iter().all(|&(u, v)| wet(u, v) > 0.0)
        };
        sides(x, width)
            .into_iter()
            .any(|columns| sides(y, height).into_iter().any(|rows| all_wet(columns, rows)))
    };
    let is_lake = |x: usize, y: usize| wet(x, y) > 0.0 && is_wide(x, y);
    let is_below_sea = |x: usize, y: usize| {
        style.sea_level_m.is_some_and(|level| f64::from(map.data[y * width + x]) < level)
    };
    let cover = waters.width.map(|widths| covered(widths, map.spacing_m, is_lake));
    let paint = |x: usize, y: usize, pixel: &mut [u8]| {
        let depth = wet(x, y);
        let (share, is_bed) = cover.as_ref().map_or((0.0, false), |cover| cover[y * width + x]);
        // What lies below the level of the sea has its colour already.
        if depth > 0.0 && !is_bed && (is_wide(x, y) || is_below_sea(x, y)) {
            // By the root of the depth: lakes are shallow beside the sea.
            let share = (depth / deepest).sqrt();
            let share = if is_below_sea(x, y) { share } else { share.max(SHALLOW) };
            let color = super::ramp(ramp, share as f32);
            let beside = [
                (x.saturating_sub(1), y),
                ((x + 1).min(width - 1), y),
                (x, y.saturating_sub(1)),
                (x, (y + 1).min(height - 1)),
            ];
            let color = if beside.iter().any(|&(u, v)| wet(u, v) == 0.0) {
                color.lerp(vec(SHORE), 0.45)
            } else {
                color
            };
            pixel.copy_from_slice(&light.on(gradient(map, y, x), color, BED).0);
        } else if share > 0.0 {
            let old = vec([pixel[0], pixel[1], pixel[2]]);
            pixel.copy_from_slice(&rgb(old.lerp(vec(river), share)).0);
        }
    };
    picture.par_chunks_mut((width * 3).max(1)).enumerate().for_each(|(y, line)| {
        line.chunks_exact_mut(3).enumerate().for_each(|(x, pixel)| paint(x, y, pixel));
    });
    Ok(())
}

/// How much of each cell rivers cover, 0 to 1, and whether its water is a river's. A bed has water
/// no farther out than its river is wide. So where there is more beside a river, or nothing dry
/// since other rivers are near, the river crosses a lake.
fn covered(
    widths: &Map,
    spacing_m: f64,
    is_lake: impl Fn(usize, usize) -> bool,
) -> Vec<(f32, bool)> {
    let (width, height) = (widths.width as usize, widths.height as usize);
    let mut cover = vec![(0.0f32, false); widths.data.len()];
    let rivers = || widths.data.iter().enumerate().filter(|(_, metres)| **metres > 0.0);
    let least = (width.max(height) as f64 / WHOLE_VIEW).clamp(1.0, 2.0 * WIDEST);
    let radius = |metres: f32| (f64::from(metres) / spacing_m).max(least).min(2.0 * WIDEST) / 2.0;
    // The cells round a river up to a distance, each with its own.
    let round = |cell: usize, far: f64| {
        let (x, y, steps) = (cell % width, cell / width, far.ceil() as usize);
        let rows = y.saturating_sub(steps)..(y + steps + 1).min(height);
        let cells = rows.flat_map(move |v| {
            (x.saturating_sub(steps)..(x + steps + 1).min(width)).map(move |u| (u, v))
        });
        let away = move |(u, v): (usize, usize)| {
            let [dx, dy] = [u.abs_diff(x), v.abs_diff(y)].map(|d| d as f64);
            (u, v, (dx * dx + dy * dy).sqrt())
        };
        cells.map(away).filter(move |(_, _, away)| *away < far)
    };
    for (cell, &metres) in rivers() {
        let radius = radius(metres);
        let strength =
            (NARROWEST + (1.0 - NARROWEST) * f64::from(metres) / spacing_m / least).min(1.0);
        for (u, v, away) in round(cell, radius + 0.5) {
            let share = ((radius + 0.5 - away).min(1.0) * strength) as f32;
            let old = &mut cover[v * width + u].0;
            *old = old.max(share);
        }
    }
    for (cell, &metres) in rivers() {
        let radius = radius(metres);
        let in_lake =
            |(u, v, _): (usize, usize, f64)| cover[v * width + u].0 == 0.0 && is_lake(u, v);
        let is_surrounded = || round(cell, radius + 2.0).all(|(u, v, _)| is_lake(u, v));
        if !round(cell, radius + 2.0).any(in_lake) && !is_surrounded() {
            round(cell, radius + 0.5).for_each(|(u, v, _)| cover[v * width + u].1 = true);
        }
    }
    cover
}
