//! Waves that move to the coast (J. Talle, *Simulating hydraulic erosion*, 2020, and the program
//! that it links, for the formulas and constants).
//!
//! d is the distance to the coast as a share of the shore's length, t the time as a share of a
//! period. A wave is w = ½ + ½ · cos(4 · (d^0.65 + t/4) · 2π), so its crests move to where d is
//! less. Waves are split along the coast by a = ½ + ½ · cos(24u) · sin(48v), with u and v the place
//! on a sheet of 31 by 56 units, three of which are the shore's length. They are 0.1 · w² · (1 − d)
//! · (1 − a) units high, and foam lies where d < 0.03 or w > 0.75 + 0.4a. Floats decide here, with
//! the functions of `libm`, but for the nearest coast.

use std::f64::consts::TAU;

use glam::Vec3;
use image::{Rgb, RgbImage};
use rayon::prelude::*;

use super::{Light, Style, rgb, vec};
use crate::map::Map;
use crate::{Error, Result};

/// Seconds until the waves are again where they were, as a fraction: a quarter of a turn of the
/// phase, which grows by 0.08 a second.
pub const PERIOD_S: [u16; 2] = [25, 8];
/// Units of a shore's length, and pixels of a unit.
const SHORE_UNITS: f64 = 3.0;
const UNIT_PIXELS: f64 = 24.0;
/// Cells of a shore's length where it is not given: a unit of the published islands is 10 cells.
const SHORE_CELLS: f64 = 30.0;
/// Units of the published sheet, with the shore's length on every side.
const SHEET: [f64; 2] = [31.0, 56.0];
/// Height of the highest wave in units.
const HIGHEST: f64 = 0.1;
/// Most pixels of a picture.
const PIXELS_MAX: u64 = 1 << 26;

/// How waves are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waves {
    /// How far from the coast waves begin, in metres, over 0. None: 30 cells.
    pub shore_length_m: Option<f64>,
    /// Pixels from a sample of the map to the next, 1 to 16. None: as many as make the shore's
    /// length 72 pixels, the published figure.
    pub pixels: Option<u32>,
}

/// What is drawn of the sea: the stages by which waves come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaveView {
    /// The part of the sea that is nearest to each cell of the coast.
    Shapes,
    /// The direction to the coast in red and green, ½ where it is 0, darker with the distance and
    /// black from the shore's length on.
    Direction,
    /// The distance in red and the direction in green and blue, each as 0 to 1, ½ for a direction
    /// of 0.
    Texture,
    /// The wave itself, before it is split.
    Sinusoid,
    /// Normals of its surface: east, north and up in red, green and blue.
    Normals,
    /// Split waves with light and foam.
    Waves,
}

/// The wave at a share of the shore's length and of a period: 0 to 1.
pub fn wave(d: f64, t: f64) -> f64 {
    0.5 + 0.5 * libm::cos((4.0 * libm::pow(d, 0.65) + t) * TAU)
}

/// How far waves are held down at a place in units to the east and to the south: 0 to 1.
pub fn split(east: f64, south: f64) -> f64 {
    0.5 + 0.5 * libm::cos(24.0 * east / SHEET[0]) * libm::sin(48.0 * south / SHEET[1])
}

/// The height of the sea in units, at a share of the shore's length and of a period, where waves
/// are held down by `a`.
pub fn swell(d: f64, t: f64, a: f64) -> f64 {
    HIGHEST * wave(d, t).powi(2) * (1.0 - d) * (1.0 - a)
}

/// How much higher the sea is a unit farther from the coast, if `a` is the same there.
pub fn steepness(d: f64, t: f64, a: f64) -> f64 {
    // The factor d^-0.35 has no bound at the coast itself.
    let d = d.max(1e-3);
    let (w, turn) = (wave(d, t), (4.0 * libm::pow(d, 0.65) + t) * TAU);
    let rise = -0.5 * libm::sin(turn) * 4.0 * TAU * 0.65 * libm::pow(d, -0.35);
    // The derivative of `swell` by d, divided by the units of the shore's length.
    HIGHEST * (1.0 - a) * (2.0 * w * rise * (1.0 - d) - w * w) / SHORE_UNITS
}

/// The coast of a map, seen from its sea, in pixels of a picture that is larger than the map:
/// finer, and wider by the shore's length where all of a side is sea.
#[derive(Clone, Debug)]
pub struct Coast {
    map: Map,
    /// Pixels from sample to sample, and pixels round the map: west, east, north, south.
    pixels: u32,
    round: [u32; 4],
    /// Pixels of the shore's length.
    length: f64,
    /// Columns to the east and rows to the south to the nearest land; none on land and beyond the
    /// shore's length.
    nearest: Vec<Option<[i32; 2]>>,
    land: Vec<bool>,
    /// The samples that are land.
    samples: Vec<bool>,
}

impl Coast {
    /// The coast of a map whose sea is what lies below `sea_level_m`. A map without sea, or without
    /// land, has none.
    ///
    /// # Errors
    /// [`Error::Param`] for a shore's length or pixels that are not allowed, [`Error::Limit`] for a
    /// picture of more than 2²⁶ pixels.
    pub fn of(map: &Map, sea_level_m: f64, waves: &Waves) -> Result<Self> {
        let shore_m = waves.shore_length_m.unwrap_or(SHORE_CELLS * map.spacing_m);
        if !(shore_m.is_finite() && shore_m > 0.0) {
            return Err(Error::param(format!("a shore's length of {shore_m} m: allowed over 0")));
        }
        let cells = shore_m / map.spacing_m;
        let usual = (SHORE_UNITS * UNIT_PIXELS / cells).round().clamp(1.0, 16.0) as u32;
        let pixels = waves.pixels.unwrap_or(usual);
        if !(1..=16).contains(&pixels) {
            return Err(Error::param(format!("{pixels} pixels a sample: allowed 1 to 16")));
        }
        let length = (cells * f64::from(pixels)).max(1.0);
        let pad = length.ceil().min(f64::from(u16::MAX)) as u32;
        let sea = |x: u32, y: u32| f64::from(map.data[(y * map.width + x) as usize]) < sea_level_m;
        let (w, h) = (map.width, map.height);
        let sides = [
            (0..h).all(|y| sea(0, y)),
            (0..h).all(|y| sea(w - 1, y)),
            (0..w).all(|x| sea(x, 0)),
            (0..w).all(|x| sea(x, h - 1)),
        ];
        let round = sides.map(|sea| if sea { pad } else { 0 });
        let side = |count: u32, [a, b]: [u32; 2]| {
            u64::from(count - 1) * u64::from(pixels) + 1 + u64::from(a) + u64::from(b)
        };
        let [width, height] = [side(w, [round[0], round[1]]), side(h, [round[2], round[3]])];
        if width * height > PIXELS_MAX {
            return Err(Error::over(
                format!(
                    "a picture of {width}x{height} pixels: waves are drawn on up to {PIXELS_MAX}; \
                     take \
                 fewer pixels a sample, a shorter shore, or a part of the map"
                ),
                width * height,
                PIXELS_MAX,
                "pixels",
            ));
        }
        let empty = Map { width: 0, height: 0, data: vec![], ..map.clone() };
        let mut coast = Self {
            map: empty,
            pixels,
            round,
            length,
            nearest: vec![],
            land: vec![],
            samples: vec![],
        };
        coast.map = coast.enlarged(map);
        // The lowest number of the map's type that is land.
        let level = sea_level_m as f32;
        let level = if f64::from(level) < sea_level_m { level.next_up() } else { level };
        coast.samples = map.data.iter().map(|z| f64::from(*z) >= sea_level_m).collect();
        let above = coast.enlarged(&above_sea(map, sea_level_m, &coast.samples));
        coast.land = above.data.iter().map(|above| *above >= 0.0).collect();
        for (z, land) in coast.map.data.iter_mut().zip(&coast.land) {
            *z = if *land { z.max(level) } else { z.min(level.next_down()) };
        }
        coast.nearest = nearest(coast.map.width as usize, &coast.land, length);
        Ok(coast)
    }

    /// The map as large as the picture.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Another map of the same land as large as the picture: straight lines between samples, and
    /// the samples of the rim beyond it.
    pub fn enlarged(&self, map: &Map) -> Map {
        let [west, east, north, south] = self.round;
        let (w, h, n) = (map.width as usize, map.height as usize, self.pixels as usize);
        let [width, height] =
            [(w - 1) * n + 1 + (west + east) as usize, (h - 1) * n + 1 + (north + south) as usize];
        let mut data = vec![0.0; width * height];
        data.par_chunks_mut(width).enumerate().for_each(|(y, line)| {
            let (top, low, part) = self.between(y, north, h);
            for (x, value) in line.iter_mut().enumerate() {
                let (a, b, share) = self.between(x, west, w);
                let across = |row: usize| {
                    map.data[row * w + a] + (map.data[row * w + b] - map.data[row * w + a]) * share
                };
                *value = across(top) + (across(low) - across(top)) * part;
            }
        });
        let (width, height) = (width as u32, height as u32);
        Map {
            width,
            height,
            spacing_m: map.spacing_m / f64::from(self.pixels),
            data,
            georef: None,
            ..*map
        }
    }

    /// The samples on both sides of a pixel, and how far it is from the first: of `count` samples,
    /// with so many pixels before the first.
    fn between(&self, at: usize, before: u32, count: usize) -> (usize, usize, f32) {
        let n = self.pixels as usize;
        let at = at.saturating_sub(before as usize).min((count - 1) * n);
        (at / n, (at / n + 1).min(count - 1), (at % n) as f32 / n as f32)
    }

    /// A map of what lies on the ground, such as beaches and lakes, as large as the picture:
    /// straight lines between samples, but on land those of land alone, so that the sea's depth
    /// does not run up the shore.
    pub fn enlarged_ground(&self, map: &Map) -> Map {
        let [west, _, north, _] = self.round;
        let mut ground = self.enlarged(map);
        let (w, h, width) = (map.width as usize, map.height as usize, ground.width as usize);
        ground
            .data
            .par_iter_mut()
            .enumerate()
            .filter(|(at, _)| self.land.get(*at) == Some(&true))
            .for_each(|(at, value)| {
                let ((a, b, share), (top, low, part)) =
                    (self.between(at % width, west, w), self.between(at / width, north, h));
                let corners = [
                    (a, top, (1.0 - share) * (1.0 - part)),
                    (b, top, share * (1.0 - part)),
                    (a, low, (1.0 - share) * part),
                    (b, low, share * part),
                ];
                let of_land = corners
                    .into_iter()
                    .filter(|(x, y, _)| self.samples.get(y * w + x) == Some(&true));
                let [sum, weights] = of_land.fold([0.0; 2], |[sum, all], (x, y, weight)| {
                    [sum + weight * map.data[y * w + x], all + weight]
                });
                // There is some land near what is land.
                *value = if weights > 0.0 { sum / weights } else { *value };
            });
        ground
    }

    /// A map of lines one sample wide, such as the widths of rivers, as large as the picture:
    /// straight lines between samples beside each other that are over 0, and 0 elsewhere.
    pub fn enlarged_lines(&self, map: &Map) -> Map {
        let [west, _, north, _] = self.round;
        let mut lines = Map { data: vec![0.0; self.map.data.len()], ..self.map.clone() };
        let on = |x: u32, y: u32| {
            (x < map.width && y < map.height).then(|| map.data[(y * map.width + x) as usize])
        };
        let samples = (0..map.height).flat_map(|y| (0..map.width).map(move |x| (x, y)));
        for (x, y, from) in samples
            .filter_map(|(x, y)| on(x, y).filter(|from| *from > 0.0).map(|from| (x, y, from)))
        {
            // To itself, to the east, and to the three on the next row, so that each pair is drawn
            // once.
            for (dx, dy) in [(0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
                let Some(to) = on(x.wrapping_add_signed(dx), y + dy).filter(|to| *to > 0.0) else {
                    continue;
                };
                for step in 0..self.pixels {
                    let at = |start: u32, before: u32, way: i32| {
                        (before + start * self.pixels).wrapping_add_signed(way * step as i32)
                    };
                    let pixel = at(y, north, dy as i32) * lines.width + at(x, west, dx);
                    let value = &mut lines.data[pixel as usize];
                    *value = value.max(from + (to - from) * (step as f32 / self.pixels as f32));
                }
            }
        }
        lines
    }

    /// The distance to the coast as a share of the shore's length, and the direction to the east
    /// and to the south, of length 1; none on land and farther away.
    pub fn at(&self, x: u32, y: u32) -> Option<(f64, [f64; 2])> {
        let [east, south] = self.nearest[(y * self.map.width + x) as usize]?.map(f64::from);
        let far = (east * east + south * south).sqrt();
        Some((far / self.length, [east / far, south / far]))
    }
}

/// Heights above the sea by which the coast lies between samples. Where the land is level with the
/// sea, straight lines would reach the sea at the last sample of land, which makes stairs; so a
/// sample beside the coast is at least as far from the sea's level as the ground beyond the coast
/// leads to, or where that leads nowhere, as far as the sample there. On an even slope nothing
/// changes.
fn above_sea(map: &Map, sea_level_m: f64, land: &[bool]) -> Map {
    let (width, height) = (map.width as usize, map.height as usize);
    let above: Vec<f32> = map.data.iter().map(|z| (f64::from(*z) - sea_level_m) as f32).collect();
    let beyond = |x: usize, y: usize, [dx, dy]: [isize; 2]| {
        let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
        (x < width && y < height).then_some((x, y))
    };
    let value = |x: usize, y: usize| {
        let at = y * width + x;
        let (mut sum, mut count) = (0.0, 0.0);
        for way in [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]] {
            let Some((u, v)) = beyond(x, y, way).filter(|&(u, v)| land[v * width + u] != land[at])
            else {
                continue;
            };
            let first = above[v * width + u];
            let Some((u, v)) = beyond(u, v, way) else { continue };
            let second = above[v * width + u];
            let rise = if land[at] { (first - second).max(0.0) } else { (first - second).min(0.0) };
            sum += (first + rise).abs();
            count += 1.0f32;
        }
        let least = if count > 0.0 { sum / count } else { 0.0 };
        // A difference too small for its type is none, and stays on its side.
        if land[at] { above[at].max(least) } else { above[at].min(-least).min(-f32::MIN_POSITIVE) }
    };
    let data = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .map(|(x, y)| value(x, y))
        .collect();
    Map { data, georef: None, ..*map }
}

/// The nearest land of each cell of the sea, exact, of equally near ones the northernmost, of these
/// the westernmost: first along columns, then along rows.
fn nearest(width: usize, land: &[bool], within: f64) -> Vec<Option<[i32; 2]>> {
    let height = land.len() / width.max(1);
    // Squares of whole distances, so that equal distances are equal and no rounding decides.
    let most = (within * within).floor() as i64;
    let mut rows = vec![-1i32; land.len()];
    for x in 0..width {
        let mut last = None;
        for y in 0..height {
            last = if land[y * width + x] { Some(y) } else { last };
            rows[y * width + x] = last.map_or(-1, |y| y as i32);
        }
        let mut last = None;
        for y in (0..height).rev() {
            last = if land[y * width + x] { Some(y) } else { last };
            let before = rows[y * width + x];
            if let Some(after) = last
                && (before < 0 || after - y < y - before as usize)
            {
                rows[y * width + x] = after as i32;
            }
        }
    }
    let mut found = vec![None; land.len()];
    found.par_chunks_mut(width.max(1)).enumerate().for_each(|(y, line)| {
        for (x, found) in line.iter_mut().enumerate().filter(|(x, _)| !land[y * width + x]) {
            let mut best = (most, i32::MAX, i32::MAX);
            let mut look = |u: usize| {
                let row = rows[y * width + u];
                if row >= 0 {
                    let (dx, dy) = (u as i64 - x as i64, i64::from(row) - y as i64);
                    best = best.min((dx * dx + dy * dy, row, u as i32));
                }
            };
            look(x);
            let mut k = 1;
            loop {
                let square = (k * k) as i64;
                if square > most || (k > x && x + k >= width) {
                    break;
                }
                if k <= x {
                    look(x - k);
                }
                if x + k < width {
                    look(x + k);
                }
                k += 1;
            }
            if best.1 != i32::MAX {
                *found = Some([best.2 - x as i32, best.1 - y as i32]);
            }
        }
    });
    found
}

/// A colour of its own for each cell of the coast.
fn tint([x, y]: [i32; 2]) -> Vec3 {
    let h = crate::arith::mix(x as u32 ^ crate::arith::mix(y as u32));
    Vec3::new((h & 255) as f32, (h >> 8 & 255) as f32, (h >> 16 & 255) as f32) / 255.0 * 0.7 + 0.2
}

/// The colour of land, which is at no distance, in no direction, and level.
fn on_land(view: WaveView) -> Option<Rgb<u8>> {
    match view {
        WaveView::Texture => Some(Rgb([0, 128, 128])),
        WaveView::Normals => Some(Rgb([128, 128, 255])),
        _ => None,
    }
}

/// The colour beyond the shore's length: the sea is as it is, and data are black, or 1 and no
/// direction.
fn far_out(view: WaveView) -> Option<Rgb<u8>> {
    match view {
        WaveView::Waves => None,
        WaveView::Texture => Some(Rgb([255, 128, 128])),
        WaveView::Normals => Some(Rgb([128, 128, 255])),
        _ => Some(Rgb([0; 3])),
    }
}

/// Draws waves over a picture of [`Coast::map`], at a share of [`PERIOD_S`], 0 to 1: at 1 they are
/// as at 0.
///
/// # Errors
/// [`Error::Param`] if the picture has another size.
pub fn draw_waves(
    picture: &mut RgbImage,
    coast: &Coast,
    t: f64,
    view: WaveView,
    style: &Style,
) -> Result<()> {
    let Map { width, height, .. } = coast.map;
    if picture.dimensions() != (width, height) {
        let (x, y) = picture.dimensions();
        return Err(Error::param(format!(
            "a picture of {x}x{y} pixels is none of a coast of {width}x{height}: give that of the \
             coast"
        )));
    }
    let light = Light::new(&coast.map, style);
    let unit = coast.length / SHORE_UNITS;
    let paint = |x: u32, y: u32, old: [u8; 3]| -> Option<Rgb<u8>> {
        if coast.land[(y * width + x) as usize] {
            return on_land(view);
        }
        let Some((d, [east, south])) = coast.at(x, y) else { return far_out(view) };
        let a = split(f64::from(x) / unit, f64::from(y) / unit);
        let w = wave(d, t);
        let half = |v: f64| (v * 0.5 + 0.5) as f32;
        // Rise per run to the east and to the north: away from the coast is up by the steepness.
        let rise = steepness(d, t, a);
        let slope = (-east * rise, south * rise);
        Some(match view {
            WaveView::Shapes => {
                let [dx, dy] = coast.nearest[(y * width + x) as usize].unwrap_or_default();
                rgb(tint([x as i32 + dx, y as i32 + dy]))
            }
            WaveView::Direction => {
                rgb(Vec3::new(half(east), half(-south), 0.0) * (1.0 - d.min(1.0)) as f32)
            }
            WaveView::Texture => rgb(Vec3::new(d as f32, half(east), half(south))),
            WaveView::Sinusoid => rgb(Vec3::splat(w as f32)),
            WaveView::Normals => {
                let normal = Vec3::new(-slope.0 as f32, -slope.1 as f32, 1.0).normalize();
                rgb(normal * 0.5 + 0.5)
            }
            WaveView::Waves => {
                let shown = 1.0 - d as f32;
                let crest = (swell(d, t, a) / HIGHEST) as f32;
                let water = vec(old).lerp(Vec3::new(0.66, 0.86, 0.88), 0.5 * crest);
                let lit = vec(light.on(slope, water, 1.0).0);
                let foam = if d < 0.03 {
                    0.9
                } else {
                    smooth_step((w - (0.75 + 0.4 * a)) * 12.0) as f32 * shown
                };
                rgb(lit.lerp(Vec3::splat(0.97), foam * 0.85))
            }
        })
    };
    picture.par_chunks_mut((width as usize * 3).max(1)).zip((0..height).into_par_iter()).for_each(
        |(line, y)| {
            for (x, pixel) in (0u32..).zip(line.chunks_exact_mut(3)) {
                if let Some(colour) = paint(x, y, [pixel[0], pixel[1], pixel[2]]) {
                    pixel.copy_from_slice(&colour.0);
                }
            }
        },
    );
    Ok(())
}

/// 0 up to 0, 1 from 1 on: the rim of foam is soft.
fn smooth_step(v: f64) -> f64 {
    let v = v.clamp(0.0, 1.0);
    v * v * (3.0 - 2.0 * v)
}
