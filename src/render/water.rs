//! Rivers, lakes and the sea over a picture of the land.

use glam::Vec3;
use image::RgbImage;

use super::{BED, DEEP, Light, RIVER, SEA, Style, gradient, same_size, vec};
use crate::Result;
use crate::map::Map;

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

/// How much of its colour the narrowest river has, and how wide it is drawn at least, in cells.
const NARROWEST: f64 = 0.45;

/// Half the width in cells that the widest river has.
const WIDEST: f64 = 32.0;

/// Draws water over a picture of a map. Lakes and the sea have colours of their depth and a line along their shores. A river is as wide as it is, and
/// paler where it is narrower than a cell.
///
/// # Errors
/// [`crate::Error::Param`] if the maps differ in size.
pub fn draw_water(picture: &mut RgbImage, map: &Map, waters: &Waters, style: &Style) -> Result<()> {
    for other in [waters.depth, waters.width].into_iter().flatten() {
        same_size(map, other)?;
    }
    let (width, height) = (map.width as usize, map.height as usize);
    let light = Light::new(map, style);
    let (ramp, river) = if waters.as_from_the_air { (DEEP, RIVER) } else { (SEA, PRINTED) };
    let wet = |x: usize, y: usize| waters.depth.map_or(0.0, |depth| f64::from(depth.data[y * width + x]));
    let cover = waters.width.map(|widths| covered(widths, map.spacing_m));
    let deepest = waters.depth.map_or(0.0, |depth| f64::from(depth.min_max().1));
    for y in 0..height {
        for x in 0..width {
            let depth = wet(x, y);
            let pixel = picture.get_pixel_mut(x as u32, y as u32);
            let old = vec(pixel.0);
            if depth > 0.0 {
                // By the root of the depth: lakes are shallow beside the sea.
                let color = super::ramp(ramp, (depth / deepest).sqrt() as f32);
                let near = (y.saturating_sub(1)..(y + 2).min(height))
                    .flat_map(|v| (x.saturating_sub(1)..(x + 2).min(width)).map(move |u| (u, v)));
                let dry = near.filter(|&(u, v)| (u == x || v == y) && wet(u, v) == 0.0).count();
                let color = if dry > 0 { color.lerp(vec(SHORE), 0.45) } else { color };
                *pixel = light.on(gradient(map, y, x), color, BED);
            } else if let Some(cover) = &cover {
                let share = cover[y * width + x];
                if share > 0.0 {
                    let blended: Vec3 = old.lerp(vec(river), share);
                    *pixel = super::rgb(blended);
                }
            }
        }
    }
    Ok(())
}

/// How much of each cell rivers cover, 0 to 1.
fn covered(widths: &Map, spacing_m: f64) -> Vec<f32> {
    let (width, height) = (widths.width as usize, widths.height as usize);
    let mut cover = vec![0.0f32; widths.data.len()];
    for (cell, &metres) in widths.data.iter().enumerate().filter(|(_, metres)| **metres > 0.0) {
        let cells = f64::from(metres) / spacing_m;
        let strength = (NARROWEST + (1.0 - NARROWEST) * cells).min(1.0);
        let radius = (cells / 2.0).clamp(0.5, WIDEST);
        let far = (radius + 0.5).ceil() as usize;
        let (x, y) = (cell % width, cell / width);
        for v in y.saturating_sub(far)..(y + far + 1).min(height) {
            for u in x.saturating_sub(far)..(x + far + 1).min(width) {
                let [dx, dy] = [u.abs_diff(x), v.abs_diff(y)].map(|d| d as f64);
                let share = ((radius + 0.5 - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0) * strength) as f32;
                let old = &mut cover[v * width + u];
                *old = old.max(share);
            }
        }
    }
    cover
}
