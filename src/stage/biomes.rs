//! Biomes: how much of each there is at every cell, and what follows from that: heights, hardness, rain, textures.
//!
//! # Rule
//! Points lie about the world, each in one biome. A cell gives every biome the sum of max(0, r² − d²)² over the biome's points at
//! distances d, and the sums of a cell, divided by their total, are the weights. The methods differ in the points:
//! - `scattered`: the jittered triangular lattice of [`crate::lattice`] with `frequency`; r is `padding` and the distance in which
//!   there always is a point. No direction shows.
//! - `full`: a point in every cell; r is `radius`. The truth, and slow.
//! - `convolved`: points on a square grid of `interval` cells.
//! - `lerped`: the same points, weights at the points of the grid only, linear between them. Fast, and the grid shows.
//!
//! The eight heaviest biomes of a cell count (the lower number first among equals), and their weights add up to 65536: each is
//! rounded down, and what is left goes by ones to the largest remainders (the lower number first).
//!
//! A point's biome comes from the cell nearest to it:
//! - `noise`: each biome has noise of its own (`feature`, `octaves`), and the highest wins (the lower number among equals);
//! - `climate`: temperature and moisture, each 0 to 1, look up `table`. Temperature falls from 1 at the `equator` to 0 in `pole`
//!   cells, and by 1 in `lapse_m` metres above the sea, and noise moves it by up to `stir`; moisture is noise, but `coast` of it
//!   nearness to water, which is felt for `inland` cells. What lies below `sea_level_m` is the biome `sea`, if there is one;
//! - `image`: the number 0 in `file` is the first biome, 1 the second. Beyond the border lies the mirror image.
//!
//! Then the weights are used: the biomes' own heights are blended over the ground or added to it; `hardness`, `rain` and
//! `vegetation` of the biomes become layers; `biome` is the heaviest biome of each cell (the lower number among equals).
//!
//! # Shape
//! Work goes by square chunks of cells. One whose points are all of one biome needs no sums (`skip`). No result depends on chunks.
//!
//! # Units
//! Weights 2⁻¹⁶; positions 2⁻³ to 2⁻⁸ cells, by the radius and the chunk; one point's share 2⁻³¹ of the total there could be; noise 2⁻¹⁶.
//!
//! # Limits
//! 255 biomes; r up to 1024 cells. Sums are shortened to 24 bits before they are divided. The climate takes what lies more than
//! 4096 cells above or below the datum for that high or low.
//!
//! # Reach
//! None for noise; for climate and image r, and how far water is felt.
//!
//! # Keeps
//! The height, with `heights = "keep"`.
//!
//! # Differs
//! From the article: integers for floats; records of cells for lists of maps of chunks; the grids' radius as it is given, where its
//! program has one cell more; noise of three points of the triangle, where OpenSimplex2S has four. Its hash reaches 9 of the jitter's
//! 24 directions, this one all.
//!
//! # Source
//! K.jpg, *Fast Biome Blending, Without Squareness*, 2021. R. H. Whittaker, *Communities and Ecosystems*, 1975, for the table of
//! temperature and moisture. K. Perlin, *Noise hardware*, 2001, for noise on triangles.
//!
//! # Costs
//! For each biome of a chunk one look at every point near it, and for each of the biome's a handful of operations a cell; 11 words.

use super::{Case, HEIGHT_MAX, Stage, Surface};
use crate::lattice::{FARTHEST, FREQUENCIES, Lattice};
use crate::map::Map;
use crate::params::{Kind, Param, Settings, Value};
use crate::plan::{Buffer, Call, Fill, Kernel, Layers, Pass, Plan, Site, Window};
use crate::recipe::{Table, shown};
use crate::spec::{self, CELL, fold, hash, isqrt, lerp, mul_q16, mul_q16_near};
use bytemuck::{Pod, Zeroable};
use multiversion::multiversion;
use rayon::prelude::*;
use serde_json::json;

/// Most biomes of a recipe.
pub const BIOMES_MAX: usize = 255;
/// Biomes that count in a cell.
pub const KEPT: usize = 8;
/// Words of a cell: the numbers of its biomes, four in a word, and for each its sum or weight.
pub const RECORD_WORDS: usize = 10;
/// Words of the set of a chunk's biomes.
const SET_WORDS: usize = 8;
/// Words of a point.
const POINT_WORDS: usize = 2;
/// Words of a biome: shape, base, first wave, waves, hardness, rain, vegetation, the first and the number of its waves as a
/// candidate at a point, colour.
const FORM_WORDS: usize = 10;
/// Words of a wave: key (2), steps along and across (2), start (4), amplitude.
const WAVE_WORDS: usize = 9;
/// Directions of gradients.
const GRADIENTS: usize = 24;
/// Side of the largest chunks.
const SIDE_MAX: i64 = 32;
/// Largest radius, in cells.
const RADIUS_MAX: f64 = 1024.0;
/// Most points of a window, about.
const POINTS_MAX: f64 = 268_435_456.0;
/// Points that one invocation looks at in one pass, about.
const GULP: usize = 16384;

const RIDGED: i32 = 1;
const DUNES: i32 = 2;

const ADD: u32 = 2;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "biomes",
    about: "Biomes, blended without a grid that shows: their heights, layers, textures and map.",
    makes: false,
    nests: false,
    hosts: false,
    layers,
    params: PARAMS,
    shader: include_str!("../../shaders/biomes.wgsl"),
    kernels: &[
        &SHORE,
        &FLOOD,
        &BY_NOISE,
        &BY_CLIMATE,
        &BY_IMAGE,
        &CENSUS,
        &CONVOLVE,
        &SHARE,
        &INTERPOLATE,
        &DOMINATE,
        &PAINT,
        &RAISE,
        &ASSIGN_RAIN,
        &ASSIGN_HARDNESS,
        &ASSIGN_VEGETATION,
        &TEXTURE,
    ],
    maps: &[("biome", "number"), ("biome_colour", "0xRRGGBB")],
    check,
    plan,
    reach,
    derived,
    work: None,
    cases,
};

const PARAMS: &[Param] = &[
    Param {
        name: "method",
        unit: "",
        kind: Kind::Choice(&["scattered", "full", "convolved", "lerped"]),
        doc: "Where weights come from: scattered points, every cell, a square grid, or a square grid and lines between.",
    },
    Param {
        name: "frequency",
        unit: "1/cells",
        kind: Kind::Number { min: FREQUENCIES[0], max: FREQUENCIES[1], default: 0.04 },
        doc: "Scattered only: how densely points lie; 1.73 times its square is their number a cell.",
    },
    Param {
        name: "padding",
        unit: "cells",
        kind: Kind::Number { min: 1.0, max: 512.0, default: 32.0 },
        doc: "Scattered only: what the radius has beyond 1.18 / frequency, within which there always is a point.",
    },
    Param {
        name: "radius",
        unit: "cells",
        kind: Kind::Number { min: 1.0, max: 512.0, default: 24.0 },
        doc: "The other methods only: how far a point is felt.",
    },
    Param {
        name: "interval",
        unit: "cells",
        kind: Kind::Integer { min: 2, max: 128, default: 8 },
        doc: "Convolved and lerped only: from a point of the grid to the next.",
    },
    Param {
        name: "chunk",
        unit: "cells",
        kind: Kind::Choice(&["16", "8", "32"]),
        doc: "Side of the squares in which the work is done: speed alone depends on it.",
    },
    Param {
        name: "skip",
        unit: "",
        kind: Kind::Switch(true),
        doc: "Leave out the sums where there is one biome only: speed alone depends on it.",
    },
    Param {
        name: "from",
        unit: "",
        kind: Kind::Choice(&["noise", "climate", "image"]),
        doc: "How the biome at a point is found: noise of each biome, the highest wins; temperature and moisture; or a picture.",
    },
    Param {
        name: "file",
        unit: "",
        kind: Kind::File,
        doc: "A picture of the terrain's size in 8 bits: the index of a palette or the grey level 0 is the first biome, 1 the second.",
    },
    Param {
        name: "feature",
        unit: "cells",
        kind: Kind::Number { min: 2.0, max: 1e6, default: 500.0 },
        doc: "Noise and climate only: size of the largest features.",
    },
    Param {
        name: "octaves",
        unit: "",
        kind: Kind::Integer { min: 1, max: 8, default: 2 },
        doc: "Noise and climate only: how many sizes of features, each half the one before and half as strong.",
    },
    Param {
        name: "table",
        unit: "",
        kind: Kind::List("rows from cold to hot, each with the same number of names of biomes from dry to wet"),
        doc: "Climate only: the biome of each temperature and moisture.",
    },
    Param {
        name: "sea_level_m",
        unit: "m",
        kind: Kind::Number { min: -1e6, max: 1e6, default: 0.0 },
        doc: "Climate only: ground below it is water, and the biome called sea, if there is one.",
    },
    Param {
        name: "equator",
        unit: "cells",
        kind: Kind::Integer { min: -(1 << 40), max: 1 << 40, default: 0 },
        doc: "Climate only: the row of the world where it is hottest.",
    },
    Param {
        name: "pole",
        unit: "cells",
        kind: Kind::Integer { min: 1, max: 65535, default: 8192 },
        doc: "Climate only: how far from the equator temperature has fallen from 1 to 0.",
    },
    Param {
        name: "lapse_m",
        unit: "m",
        kind: Kind::Number { min: 1.0, max: 1e6, default: 5000.0 },
        doc: "Climate only: how far above the sea temperature has fallen by 1.",
    },
    Param {
        name: "inland",
        unit: "cells",
        kind: Kind::Integer { min: 1, max: 2048, default: 128 },
        doc: "Climate only: how far from water its nearness is felt.",
    },
    Param {
        name: "coast",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.3 },
        doc: "Climate only: share of the moisture that comes from nearness to water; the rest is noise.",
    },
    Param {
        name: "stir",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 0.1 },
        doc: "Climate only: how much noise moves the temperature either way.",
    },
    Param {
        name: "heights",
        unit: "",
        kind: Kind::Choice(&["keep", "replace", "add"]),
        doc: "What becomes of the ground: nothing, the blended heights of the biomes, or these on top of it.",
    },
    Param {
        name: "splat",
        unit: "",
        kind: Kind::Switch(false),
        doc: "Make textures of the weights: red, green, blue and alpha are four biomes, and all textures of a cell add up to 255.",
    },
    Param {
        name: "biome",
        unit: "",
        kind: Kind::List(
            "1 to 255 tables: name, colour, shape, base_m, relief_m, frequency, amplitudes, hardness, rain, vegetation",
        ),
        doc: "The biomes; without any the article's four: forest, plains, mountains, desert.",
    },
];

/// A biome of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Biome {
    /// Its name, unlike all others.
    pub name: String,
    /// Its colour: red, green, blue.
    pub colour: [u8; 3],
    /// How its height is made of noise.
    pub shape: Shape,
    /// Metres of its height without noise.
    pub base_m: f64,
    /// Metres that its noise is multiplied by.
    pub relief_m: f64,
    /// Features a cell of its first noise; of each further one twice the one before.
    pub frequency: f64,
    /// What its noises are multiplied by.
    pub amplitudes: Vec<f64>,
    /// Layers, 0 to 1.
    pub hardness: Option<f64>,
    /// See `hardness`.
    pub rain: Option<f64>,
    /// See `hardness`.
    pub vegetation: Option<f64>,
}

/// How a height is made of noises n of −1 to 1 and their amplitudes a.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Σ a·n.
    Fractal,
    /// Σ a·(1 − |n|).
    Ridged,
    /// a·(1 − |n|)·(1 + n′)/2 with two noises of one frequency.
    Dunes,
}

impl Shape {
    const ALL: [(&'static str, Self); 3] = [("fractal", Self::Fractal), ("ridged", Self::Ridged), ("dunes", Self::Dunes)];
}

impl Biome {
    fn new(name: &str, colour: [u8; 3]) -> Self {
        Self {
            name: name.into(),
            colour,
            shape: Shape::Fractal,
            base_m: 0.0,
            relief_m: 0.0,
            frequency: 0.01,
            amplitudes: vec![1.0, 0.5],
            hardness: None,
            rain: None,
            vegetation: None,
        }
    }

    /// The article's four, as its program has them.
    pub fn published() -> Vec<Self> {
        let made = |name, colour, shape, base_m, relief_m, frequency, amplitudes: &[f64]| Self {
            shape,
            base_m,
            relief_m,
            frequency,
            amplitudes: amplitudes.to_vec(),
            ..Self::new(name, colour)
        };
        vec![
            made("forest", [8, 112, 32], Shape::Fractal, 49.0, 40.0 / 3.0, 0.01, &[1.0, 0.5]),
            made("plains", [133, 161, 90], Shape::Fractal, 35.0, 40.0 / 3.0, 0.015, &[1.0, 0.5]),
            made("mountains", [104, 112, 112], Shape::Ridged, 0.0, 859.0 / 7.0, 0.005, &[1.0, 0.5, 0.25, 0.0625]),
            made("desert", [242, 232, 52], Shape::Dunes, 0.0, 88.0 / 7.0, 0.015, &[1.0]),
        ]
    }

    fn parse(value: &serde_json::Value, place: &str) -> crate::Result<Self> {
        let wrong = |what: String| crate::Error::Param(format!("{place}: {what}"));
        let table = Table::new(place, value)?;
        table.known(&[
            "name",
            "colour",
            "shape",
            "base_m",
            "relief_m",
            "frequency",
            "amplitudes",
            "hardness",
            "rain",
            "vegetation",
        ])?;
        let name = table.text("name")?.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("name is missing".into()))?;
        let colour = table.text("colour")?.ok_or_else(|| wrong("colour is missing, such as \"#087020\"".into()))?;
        // A number may begin with a sign, a colour may not.
        let digits = colour.strip_prefix('#').filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()));
        let digits = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let digits = digits.ok_or_else(|| wrong(format!("colour = {colour:?}: expected red, green and blue as \"#087020\"")))?;
        let usual = Self::new(name, [(digits >> 16) as u8, (digits >> 8) as u8, digits as u8]);
        let shape = table.text("shape")?.unwrap_or("fractal");
        let shape = Shape::ALL.iter().find(|(n, _)| *n == shape).map(|(_, shape)| *shape).ok_or_else(|| {
            wrong(format!("shape = {}", crate::params::unknown("shape", shape, Shape::ALL.iter().map(|(n, _)| *n))))
        })?;
        let amplitudes = match table.get("amplitudes") {
            None => usual.amplitudes.clone(),
            Some(v) => v
                .as_array()
                .filter(|all| (1..=8).contains(&all.len()))
                .and_then(|all| all.iter().map(|a| a.as_f64().filter(|a| (-1.0..=1.0).contains(a))).collect())
                .ok_or_else(|| {
                    wrong(format!("amplitudes = {}: allowed 1 to 8 numbers from -1 to 1, such as [1, 0.5]", shown(v)))
                })?,
        };
        Ok(Self {
            shape,
            base_m: table.number("base_m", -1e6, 1e6)?.unwrap_or(usual.base_m),
            relief_m: table.number("relief_m", 0.0, 1e6)?.unwrap_or(usual.relief_m),
            frequency: table.number("frequency", 0.000_001, 0.5)?.unwrap_or(usual.frequency),
            amplitudes,
            hardness: table.number("hardness", 0.0, 1.0)?,
            rain: table.number("rain", 0.0, 1.0)?,
            vegetation: table.number("vegetation", 0.0, 1.0)?,
            ..usual
        })
    }

    /// Its colour, as #rrggbb.
    pub fn code(&self) -> String {
        let [red, green, blue] = self.colour;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// As a table of a recipe.
    fn describe(&self) -> serde_json::Value {
        let shape = Shape::ALL.iter().find(|(_, shape)| *shape == self.shape).map(|(name, _)| *name);
        let mut table = json!({
            "name": self.name, "colour": self.code(), "shape": shape, "base_m": self.base_m,
            "relief_m": self.relief_m, "frequency": self.frequency, "amplitudes": self.amplitudes,
        });
        for (layer, value) in [("hardness", self.hardness), ("rain", self.rain), ("vegetation", self.vegetation)] {
            value.into_iter().for_each(|value| table[layer] = json!(value));
        }
        table
    }

    /// Metres that its height may lie above or below 0, at most.
    fn extreme_m(&self) -> f64 {
        self.base_m.abs() + self.relief_m * self.amplitudes.iter().map(|a| a.abs()).sum::<f64>()
    }

    /// Noises that its height is made of: frequency and amplitude.
    fn waves(&self) -> Vec<(f64, f64)> {
        let mut frequency = self.frequency;
        let mut waves = vec![];
        for amplitude in &self.amplitudes {
            waves.push((frequency, *amplitude));
            if self.shape == Shape::Dunes {
                waves.push((frequency, 1.0));
                break;
            }
            frequency *= 2.0;
        }
        waves
    }
}

/// The biomes of a stage, in the order of their numbers from 0.
pub fn biomes(s: &Settings) -> crate::Result<Vec<Biome>> {
    let list = s.list("biome");
    if list.is_empty() {
        return Ok(Biome::published());
    }
    if list.len() > BIOMES_MAX {
        return Err(crate::Error::Param(format!("{} biomes: allowed 1 to {BIOMES_MAX}", list.len())));
    }
    let all = list.iter().enumerate().map(|(i, v)| Biome::parse(v, &format!("biome {}", i + 1)));
    let all = all.collect::<crate::Result<Vec<_>>>()?;
    for (i, biome) in all.iter().enumerate() {
        if all[..i].iter().any(|other| other.name == biome.name) {
            return Err(crate::Error::Param(format!("biome {}: there are two called {:?}", i + 1, biome.name)));
        }
    }
    Ok(all)
}

/// The biomes of a stage as the list of a recipe, with every setting spelled out, in one order.
pub fn describe(s: &Settings) -> serde_json::Value {
    biomes(s).unwrap_or_default().iter().map(Biome::describe).collect()
}

/// Textures that the weights become, if the stage is asked to make them: each of four biomes.
pub fn textures(s: &Settings) -> usize {
    if s.switch("splat") { biomes(s).map_or(0, |all| all.len().div_ceil(4)) } else { 0 }
}

/// How far a point is felt, in cells.
pub fn radius(s: &Settings) -> f64 {
    match s.word("method") {
        "scattered" => s.number("padding") + FARTHEST / s.number("frequency"),
        _ => s.number("radius"),
    }
}

fn layers(s: &Settings) -> Layers {
    let all = biomes(s).unwrap_or_default();
    let any = |of: fn(&Biome) -> Option<f64>| all.iter().any(|b| of(b).is_some());
    Layers { rain: any(|b| b.rain), hardness: any(|b| b.hardness), vegetation: any(|b| b.vegetation), ..Layers::default() }
}

fn check(s: &Settings, site: &Site) -> Result<(), String> {
    let (from, file) = (s.word("from"), s.word("file"));
    if (from == "image") == file.is_empty() {
        return Err(format!("from = {from:?}, file = {file:?}: a file is given if and only if from = \"image\""));
    }
    let all = biomes(s).map_err(|e| e.to_string())?;
    if radius(s) > RADIUS_MAX {
        return Err(format!(
            "padding = {} and frequency = {} make a radius of {:.1} cells: allowed up to {RADIUS_MAX}",
            s.number("padding"),
            s.number("frequency"),
            radius(s)
        ));
    }
    let Window { width, height, .. } = site.window;
    let (cells, method) = (width as f64 * height as f64, s.word("method"));
    let every = if method == "full" { 1.0 } else { s.integer("interval") as f64 };
    let dense =
        if method == "scattered" { s.number("frequency") * s.number("frequency") * 3f64.sqrt() } else { 1.0 / (every * every) };
    if cells * dense > POINTS_MAX {
        return Err(format!(
            "{width} x {height} cells have about {:.0} points by this method: allowed {POINTS_MAX}; take fewer or a smaller window",
            cells * dense
        ));
    }
    if cells * textures(s) as f64 > u32::MAX as f64 {
        return Err(format!("{} textures of {width} x {height} cells: allowed 4294967295 texels in all", textures(s)));
    }
    let gridded = ["convolved", "lerped"].contains(&method);
    if gridded && radius(s) < s.integer("interval") as f64 {
        return Err(format!(
            "radius = {} and interval = {}: the radius must be as large as the interval, so that it always holds a point",
            radius(s),
            s.integer("interval")
        ));
    }
    if from == "climate" {
        table(s, &all)?;
    }
    let most = HEIGHT_MAX as f64 * site.spacing_m;
    if let Some(high) = all.iter().find(|b| s.word("heights") != "keep" && b.extreme_m() > most) {
        return Err(format!(
            "biome {:?}: heights up to {} m at {} m a cell: allowed up to {HEIGHT_MAX} cells, {most} m, either way",
            high.name,
            high.extreme_m(),
            site.spacing_m
        ));
    }
    Ok(())
}

/// The numbers of the biomes in the table of climates, row by row, and its columns.
fn table(s: &Settings, all: &[Biome]) -> Result<(Vec<i32>, usize), String> {
    let rows = s.list("table");
    if !(1..=64).contains(&rows.len()) {
        return Err(format!(
            "table: {} rows: from = \"climate\" wants 1 to 64 lists of names of biomes, cold to hot",
            rows.len()
        ));
    }
    let mut numbers = vec![];
    let mut columns = 0;
    for (y, row) in rows.iter().enumerate() {
        let names = row.as_array().ok_or_else(|| format!("table, row {}: {}: expected a list of names", y + 1, shown(row)))?;
        if y == 0 {
            columns = names.len();
        }
        if !(1..=64).contains(&names.len()) {
            return Err(format!("table, row {}: {} names: allowed 1 to 64", y + 1, names.len()));
        }
        if names.len() != columns {
            return Err(format!("table, row {}: {} names: as many are allowed as in row 1: {columns}", y + 1, names.len()));
        }
        for (x, value) in names.iter().enumerate() {
            let name = value.as_str();
            let name =
                name.ok_or_else(|| format!("table, row {}, column {}: {}: expected a name", y + 1, x + 1, shown(value)))?;
            let number = all.iter().position(|b| b.name == name).ok_or_else(|| {
                let unknown = crate::params::unknown("biome", name, all.iter().map(|b| b.name.as_str()));
                format!("table, row {}, column {}: {unknown}", y + 1, x + 1)
            })?;
            numbers.push(number as i32);
        }
    }
    Ok((numbers, columns))
}

/// The words of a picture of biomes, whose samples are their numbers.
///
/// # Errors
/// What is wrong with a sample, and where it is.
pub fn mask(s: &Settings, map: &Map) -> Result<Vec<i32>, String> {
    let count = biomes(s).map_err(|e| e.to_string())?.len();
    match map.data.iter().position(|v| v.fract() != 0.0 || !(0.0..count as f32).contains(v)) {
        None => Ok(map.data.iter().map(|v| (v / 255.0 * 65536.0).round() as i32).collect()),
        Some(at) => Err(format!(
            "{} in column {}, row {}: there are {count} biomes, so the whole numbers 0 to {} are allowed",
            map.data[at],
            at % map.width as usize,
            at / map.width as usize,
            count - 1
        )),
    }
}

fn reach(s: &Settings) -> u64 {
    let felt = radius(s).ceil() as u64 + 2 * s.integer("interval") as u64;
    match s.word("from") {
        "noise" => 0,
        // A flood leaps by powers of two, together at most four times as far as water is felt.
        "climate" => felt + 4 * s.integer("inland") as u64,
        _ => felt,
    }
}

fn derived(s: &Settings, site: &Site) -> serde_json::Value {
    let ground = Ground::new(s, site);
    let names: Vec<String> = biomes(s).unwrap_or_default().into_iter().map(|b| b.name).collect();
    json!({ "radius": radius(s), "chunks": ground.chunks[0] * ground.chunks[1], "biomes": names })
}

/// The uniform struct of every pass of this stage.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Params {
    first: u32,
    count: u32,
    /// The window.
    width: i32,
    height: i32,
    /// Cells from the first that points may lie in to the window's first.
    margin: i32,
    /// Chunks have 2^bits cells, or nodes, a side; buckets as many cells.
    bits: u32,
    chunks_across: i32,
    /// The first cell or node of the first chunk, counted as points are, and cells from one to the next.
    start: [i32; 2],
    step: i32,
    buckets_across: i32,
    buckets_down: i32,
    /// Rows of buckets near a chunk that this pass looks at.
    rows_from: i32,
    rows_to: i32,
    /// Whether it is the first pass, or the last, over the rows.
    opens: u32,
    closes: u32,
    /// Which of a chunk's biomes.
    rank: u32,
    skip: u32,
    /// How far a point is felt, in cells, upwards; and its square in fractions.
    reach: i32,
    square: u32,
    fraction: u32,
    shorten: u32,
    halve: u32,
    biomes: u32,
    /// Node chunks, for the weights between nodes.
    node_start: [i32; 2],
    node_chunks_across: i32,
    interval: i32,
    heights: u32,
    textures: u32,
    /// Climate: the row of the equator, counted as points are; cells to the pole; height of the sea; how far above it temperature
    /// has fallen by 1, shortened; how far water is felt, its share, and the temperature's noise, 2⁻¹⁶.
    equator: i32,
    pole: i32,
    sea: i32,
    lapse: u32,
    lapse_shift: u32,
    inland: u32,
    coast: u32,
    stir: i32,
    columns: u32,
    rows: u32,
    /// The biome below the sea, or −1.
    below: i32,
    octaves: u32,
    /// How far a flood looks.
    leap: i32,
}

macro_rules! kernel {
    ($name:ident, $entry:literal, $cpu:expr, $reads:expr, $owned:literal, $words:expr) => {
        static $name: Kernel = Kernel { entry: $entry, reads: &$reads, owns: &[($owned, $words)], adds: &[], cpu: $cpu };
    };
}
kernel!(BY_NOISE, "by_noise", by_noise, ["points", "forms", "waves", "gradients"], "kinds", 1);
kernel!(SHORE, "shore", shore, ["height"], "water", 1);
kernel!(FLOOD, "flood", flood, ["before"], "water", 1);
kernel!(BY_CLIMATE, "by_climate", by_climate, ["points", "height", "water", "table", "waves", "gradients"], "kinds", 1);
kernel!(BY_IMAGE, "by_image", by_image, ["points", "mask"], "kinds", 1);
kernel!(CENSUS, "census", census, ["points", "kinds", "buckets"], "sets", SET_WORDS);
static CONVOLVE: Kernel = Kernel {
    entry: "convolve",
    reads: &["points", "kinds", "buckets", "sets"],
    owns: &[("sums", 1), ("records", RECORD_WORDS)],
    adds: &[],
    cpu: convolve,
};
kernel!(SHARE, "share", share, ["sets"], "records", RECORD_WORDS);
kernel!(INTERPOLATE, "interpolate", interpolate, ["nodes"], "records", RECORD_WORDS);
kernel!(DOMINATE, "dominate", dominate, ["records"], "biome", 1);
kernel!(PAINT, "paint", paint, ["records", "forms"], "biome_colour", 1);
kernel!(RAISE, "raise", raise, ["records", "forms", "waves", "gradients"], "height", 1);
kernel!(ASSIGN_HARDNESS, "assign_hardness", assign::<4>, ["records", "forms"], "hardness", 1);
kernel!(ASSIGN_RAIN, "assign_rain", assign::<5>, ["records", "forms"], "rain", 1);
kernel!(ASSIGN_VEGETATION, "assign_vegetation", assign::<6>, ["records", "forms"], "vegetation", 1);
kernel!(TEXTURE, "texture", texture, ["records"], "splat", 1);

/// Where points, chunks and buckets lie.
struct Ground {
    /// Cells of a chunk's side, as a power of two.
    bits: u32,
    /// Cells from the first that points may lie in to the window's first.
    margin: i64,
    /// Chunks of cells over the window.
    chunks: [i64; 2],
    buckets: [i64; 2],
    /// Chunks of nodes, and the first node, counted as points are; for the lerped grid.
    node_chunks: [i64; 2],
    node_start: [i64; 2],
    interval: i64,
    radius: f64,
    /// Fraction bits of positions.
    fraction: u32,
}

impl Ground {
    fn new(s: &Settings, site: &Site) -> Self {
        let bits = s.word("chunk").parse::<u32>().map_or(4, u32::ilog2);
        let side = 1i64 << bits;
        let lerped = s.word("method") == "lerped";
        let interval = match s.word("method") {
            "full" => 1,
            _ => s.integer("interval"),
        };
        let radius = radius(s);
        let Window { origin, width, height } = site.window;
        let up = |n: i64, to: i64| (n + to - 1).div_euclid(to);
        let margin = up(radius.ceil() as i64 + if lerped { 2 * interval } else { 0 }, side) * side;
        let chunks = [up(width as i64, side), up(height as i64, side)];
        let node_start = origin.map(|o| margin - o.rem_euclid(interval));
        // Nodes from before the window's first cell to after its last chunk.
        let nodes = chunks.map(|n| n * side / interval + 3);
        let node_chunks = if lerped { nodes.map(|n| up(n, side)) } else { [0, 0] };
        let buckets = chunks.map(|n| n + 2 * (margin >> bits));
        // Squares of the distances that kernels meet must fit 32 bits, in the largest of chunks: results do not depend on theirs.
        let step = if lerped { interval } else { 1 };
        let span = radius.ceil() as i64 + (SIDE_MAX - 1) * step + 2 * SIDE_MAX;
        let fraction = (31 - (2 * span * span).ilog2()).min(16) / 2;
        Self { bits, margin, chunks, buckets, node_chunks, node_start, interval, radius, fraction }
    }

    /// Points in every bucket, and of every point where it lies, in `fraction` from where points may begin.
    fn points(&self, s: &Settings, site: &Site) -> Vec<[i32; 2]> {
        let first = site.window.origin.map(|o| o - self.margin);
        let size = self.buckets.map(|n| (n << self.bits) as u32);
        if s.word("method") == "scattered" {
            // The frequency has been checked.
            let Ok(lattice) = Lattice::new(s.number("frequency"), site.seed) else { return vec![] };
            let rows: Vec<u32> = (0..size[1]).step_by(256).collect();
            let place = |p: crate::lattice::Point| {
                [0, 1].map(|a| {
                    let at = ((p.cell[a] - first[a]) << 16) + p.fraction[a] as i64;
                    (at >> (16 - self.fraction)) as i32
                })
            };
            let strip = |&y: &u32| lattice.within([first[0], first[1] + y as i64], [size[0], 256.min(size[1] - y)]);
            rows.par_iter().flat_map_iter(|y| strip(y).into_iter().map(place)).collect()
        } else {
            let [columns, rows] = [0, 1].map(|a| {
                let start = (-first[a]).rem_euclid(self.interval) as u32;
                (start..size[a]).step_by(self.interval as usize).map(|at| (at << self.fraction) as i32).collect::<Vec<_>>()
            });
            rows.iter().flat_map(|&y| columns.iter().map(move |&x| [x, y])).collect()
        }
    }
}

/// Points sorted by bucket, row-major, and where each bucket's begin.
fn sorted(ground: &Ground, points: Vec<[i32; 2]>) -> (Vec<[i32; 2]>, Vec<i32>) {
    let shift = ground.fraction + ground.bits;
    let bucket = |p: &[i32; 2]| (p[1] >> shift) as usize * ground.buckets[0] as usize + (p[0] >> shift) as usize;
    let count = (ground.buckets[0] * ground.buckets[1]) as usize;
    let mut starts = vec![0i32; count + 1];
    points.iter().for_each(|p| starts[bucket(p) + 1] += 1);
    for b in 0..count {
        starts[b + 1] += starts[b];
    }
    let mut next = starts.clone();
    let mut all = vec![[0; 2]; points.len()];
    for p in &points {
        let at = &mut next[bucket(p)];
        all[*at as usize] = *p;
        *at += 1;
    }
    (all, starts)
}

/// Most points that a circle can hold, whatever the window.
fn crowd(s: &Settings, ground: &Ground) -> f64 {
    let about = match s.word("method") {
        // Each point's vertex has a hexagon of its own, and both lie within reach.
        "scattered" => {
            let r = ground.radius * s.number("frequency") + FARTHEST;
            r * r * 3f64.sqrt()
        }
        _ => {
            let r = ground.radius / ground.interval as f64 + std::f64::consts::FRAC_1_SQRT_2;
            r * r
        }
    };
    about * std::f64::consts::PI
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let all = biomes(s).unwrap_or_default();
    let ground = Ground::new(s, site);
    let (points, buckets) = sorted(&ground, ground.points(s, site));
    let (forms, waves) = forms(s, site, &ground, &all);
    let width = site.window.width;
    let (cells, lerped, from) = (site.window.cells(), s.word("method") == "lerped", s.word("from"));
    let side = 1usize << ground.bits;
    let of = |chunks: [i64; 2]| (chunks[0] * chunks[1]) as usize;
    // Sums are made for cells, or for nodes.
    let [made, last] = if lerped { [of(ground.node_chunks), of(ground.chunks)] } else { [of(ground.chunks); 2] };

    let climate = from == "climate";
    let (climates, columns) = if climate { table(s, &all).unwrap_or_default() } else { (vec![0], 1) };
    let params = uniform(s, site, &ground, &all, [columns, climates.len() / columns.max(1)]);
    let textures = params.textures as usize;
    let pass = |kernel, params: Params, count: usize, granule: usize| Pass {
        kernel,
        shader: None,
        params: bytemuck::cast_slice(&[Params { count: count as u32, ..params }]).to_vec(),
        count: count as u32,
        granule: granule as u32,
        apart: None,
        swap: None,
    };

    let gulps = gulps(&ground, &buckets, &params);
    let area = side * side;
    let mut passes = vec![];
    if climate {
        let flooded = |kernel, leap| Pass {
            swap: Some(["before", "water"]),
            ..pass(kernel, Params { leap, ..params }, cells, width as usize)
        };
        passes.push(flooded(&SHORE, 0));
        let leaps = (0..=(params.inland - 1).checked_ilog2().map_or(0, |n| n + 1)).rev();
        passes.extend(leaps.map(|n| flooded(&FLOOD, 1 << n)));
        passes.last_mut().into_iter().for_each(|last| last.swap = None);
    }
    let found = match from {
        "climate" => &BY_CLIMATE,
        "image" => &BY_IMAGE,
        _ => &BY_NOISE,
    };
    passes.push(pass(found, params, points.len(), 1));
    passes.extend(gulps.iter().map(|p| pass(&CENSUS, *p, made, 1)));
    for rank in 0..all.len() as u32 {
        passes.extend(gulps.iter().map(|p| pass(&CONVOLVE, Params { rank, ..*p }, made * area, area)));
    }
    passes.push(pass(&SHARE, params, made * area, area));
    let over = Params { chunks_across: ground.chunks[0] as i32, ..params };
    if lerped {
        passes.last_mut().into_iter().for_each(|share| share.swap = Some(["records", "nodes"]));
        passes.push(pass(&INTERPOLATE, over, last * area, area));
    }
    let per_cell = |kernel| pass(kernel, over, cells, width as usize);
    passes.extend([per_cell(&DOMINATE), per_cell(&PAINT)]);
    if s.word("heights") != "keep" {
        passes.push(per_cell(&RAISE));
    }
    let Layers { rain, hardness, vegetation, .. } = layers(s);
    let assigned =
        [("rain", rain, &ASSIGN_RAIN), ("hardness", hardness, &ASSIGN_HARDNESS), ("vegetation", vegetation, &ASSIGN_VEGETATION)];
    passes.extend(assigned.iter().filter(|(_, there, _)| *there).map(|(_, _, kernel)| per_cell(*kernel)));
    if s.switch("splat") {
        passes.push(pass(&TEXTURE, over, cells * textures, width as usize));
    }

    let scratch = |name, words| Buffer { name, words, fill: Fill::Word(0), keep: None };
    let given = |name, words: Vec<i32>| Buffer { name, words: words.len(), fill: Fill::Words(words), keep: None };
    let splat = if s.switch("splat") { cells * textures } else { 1 };
    let mut buffers = vec![
        Buffer { name: "height", words: cells, fill: Fill::Keep, keep: Some("height") },
        // Read once: it is let go of when the stage ends.
        Buffer { keep: None, ..Buffer::layer("mask", cells, from == "image") },
        given("points", points.into_iter().flatten().collect()),
        scratch("kinds", (buckets[buckets.len() - 1] as usize).max(1)),
        given("buckets", buckets),
        given("forms", forms),
        given("waves", waves),
        given("gradients", gradients()),
        given("table", climates),
        scratch("water", if climate { cells } else { 1 }),
        scratch("before", if climate { cells } else { 1 }),
        scratch("sets", made * SET_WORDS),
        scratch("sums", made * area),
        scratch("records", made * area * RECORD_WORDS),
        // Changes its name with the records.
        scratch("nodes", if lerped { last * area * RECORD_WORDS } else { 1 }),
        Buffer { keep: Some("biome"), ..scratch("biome", cells) },
        Buffer { keep: Some("biome_colour"), ..scratch("biome_colour", cells) },
        Buffer { keep: s.switch("splat").then_some("splat"), ..scratch("splat", splat) },
    ];
    for (name, there, _) in assigned {
        buffers.push(Buffer { keep: there.then_some(name), ..scratch(name, if there { cells } else { 1 }) });
    }
    Plan { shader: STAGE.shader, buffers, passes, steps: vec![] }
}

/// What all passes are told; `shape` is that of the table of climates, columns and rows.
fn uniform(s: &Settings, site: &Site, ground: &Ground, all: &[Biome], shape: [usize; 2]) -> Params {
    let scale = (1u64 << ground.fraction) as f64;
    let square = (ground.radius * ground.radius * scale * scale) as u32;
    // r² − d² has 15 bits and its square 30: so many halvings that no total passes 2³¹.
    let shorten = (32 - square.leading_zeros()).saturating_sub(15);
    let halve = (crowd(s, ground).ceil() as u32).next_power_of_two().ilog2();
    let lapse = (s.number("lapse_m") / site.spacing_m * CELL as f64).clamp(1.0, (1 << 30) as f64) as u32;
    let lapse_shift = (32 - lapse.leading_zeros()).saturating_sub(15);
    let lerped = s.word("method") == "lerped";
    let narrow = |pair: [i64; 2]| pair.map(|v| v as i32);
    Params {
        width: site.window.width as i32,
        height: site.window.height as i32,
        margin: ground.margin as i32,
        bits: ground.bits,
        chunks_across: if lerped { ground.node_chunks[0] as i32 } else { ground.chunks[0] as i32 },
        start: if lerped { narrow(ground.node_start) } else { [ground.margin as i32; 2] },
        step: if lerped { ground.interval as i32 } else { 1 },
        buckets_across: ground.buckets[0] as i32,
        buckets_down: ground.buckets[1] as i32,
        skip: s.switch("skip") as u32,
        reach: ground.radius.ceil() as i32,
        square,
        fraction: ground.fraction,
        shorten,
        halve,
        biomes: all.len() as u32,
        node_start: narrow(ground.node_start),
        node_chunks_across: ground.node_chunks[0] as i32,
        interval: ground.interval as i32,
        heights: ["keep", "replace", "add"].iter().position(|w| *w == s.word("heights")).unwrap_or(0) as u32,
        textures: all.len().div_ceil(4) as u32,
        equator: (s.integer("equator") - site.window.origin[1] + ground.margin).clamp(-(1 << 20), 1 << 20) as i32,
        pole: s.integer("pole") as i32,
        sea: site.height_of(s.number("sea_level_m")).clamp(1 - (1 << 30), 1 << 30),
        lapse: lapse >> lapse_shift,
        lapse_shift,
        inland: s.integer("inland") as u32,
        coast: (s.number("coast") * 65536.0).round() as u32,
        stir: (s.number("stir") * 65536.0).round() as i32,
        columns: shape[0] as u32,
        rows: shape[1] as u32,
        below: all.iter().position(|b| b.name == "sea").map_or(-1, |n| n as i32),
        octaves: s.integer("octaves") as u32,
        ..Params::zeroed()
    }
}

/// The rows of buckets near a chunk, so many at a time that a pass does not look at too many points.
fn gulps(ground: &Ground, buckets: &[i32], params: &Params) -> Vec<Params> {
    let rows = ((2 * params.reach + ((1 << ground.bits) - 1) * params.step) >> ground.bits) + 2;
    let fullest = buckets.windows(2).map(|b| (b[1] - b[0]) as usize).max().unwrap_or(0);
    let gulp = (GULP / (fullest * rows as usize).max(1)).max(1) as i32;
    (0..rows)
        .step_by(gulp as usize)
        .map(|row| Params {
            rows_from: row,
            rows_to: rows.min(row + gulp),
            opens: (row == 0) as u32,
            closes: (row + gulp >= rows) as u32,
            ..*params
        })
        .collect()
}

/// The tables of biomes and of their noises: see [`FORM_WORDS`] and [`WAVE_WORDS`].
fn forms(s: &Settings, site: &Site, ground: &Ground, all: &[Biome]) -> (Vec<i32>, Vec<i32>) {
    let q16 = |v: f64| (v * 65536.0).round() as i32;
    let units = |metres: f64| (metres / site.spacing_m * CELL as f64).round() as i32;
    // World coordinates of where points may begin.
    let first = site.window.origin.map(|o| o - ground.margin);
    let skew = (3f64.sqrt() - 1.0) / 2.0;
    let (mut forms, mut waves): (Vec<i32>, Vec<i32>) = (vec![], vec![]);
    let mut wave = |frequency: f64, amplitude: i32| {
        let purpose = 1 + (waves.len() / WAVE_WORDS) as u32;
        let [along, across] = [1.0 + skew, skew].map(|v| (v * frequency * 4294967296.0).round() as u64 & 0xffff_ffff);
        let [x, y] = first.map(|v| v as u64);
        let start = [(x, y), (y, x)].map(|(a, b)| a.wrapping_mul(along).wrapping_add(b.wrapping_mul(across)));
        waves.extend(spec::key(site.seed, purpose).map(|k| k as i32));
        waves.extend([along as i32, across as i32]);
        waves.extend(start.map(|v| [v as i32, (v >> 32) as i32]).as_flattened());
        waves.push(amplitude);
        (waves.len() / WAVE_WORDS - 1) as i32
    };
    let octaves = s.integer("octaves") as i32;
    let octaves_of = |wave: &mut dyn FnMut(f64, i32) -> i32| {
        let frequency = |n: i32| (1.0 / s.number("feature") * (1 << n) as f64).min(0.5);
        let numbers: Vec<i32> = (0..octaves).map(|n| wave(frequency(n), 65536 >> n)).collect();
        numbers[0]
    };
    // Moisture's noise, then that of the temperature.
    octaves_of(&mut wave);
    octaves_of(&mut wave);
    for biome in all {
        let list = biome.waves();
        let numbers: Vec<i32> = list
            .iter()
            .enumerate()
            .map(|(n, (frequency, amplitude))| match (biome.shape, n) {
                (Shape::Dunes, 1) => wave(*frequency, 65536),
                _ => wave(*frequency, units(amplitude * biome.relief_m)),
            })
            .collect();
        let candidate = octaves_of(&mut wave);
        let base = units(biome.base_m - if s.word("heights") == "replace" { site.datum_m } else { 0.0 });
        forms.extend([biome.shape as i32, base, numbers[0], list.len() as i32]);
        forms.extend([q16(biome.hardness.unwrap_or(0.0)), q16(biome.rain.unwrap_or(1.0)), q16(biome.vegetation.unwrap_or(0.0))]);
        let [red, green, blue] = biome.colour.map(i32::from);
        forms.extend([candidate, octaves, red << 16 | green << 8 | blue]);
    }
    (forms, waves)
}

/// Unit vectors in 24 directions, 2⁻¹⁴.
fn gradients() -> Vec<i32> {
    let turn = |n: usize| (n as f64 + 0.5) * (2.0 * std::f64::consts::PI / GRADIENTS as f64);
    (0..GRADIENTS).flat_map(|n| [libm::cos(turn(n)), libm::sin(turn(n))]).map(|c| (c * 16384.0).round() as i32).collect()
}

/// Noise on triangles at a cell, counted as points are: −65536 to 65536.
#[inline(always)]
fn noise(wave: &[i32], gradients: &[i32], x: i32, y: i32) -> i32 {
    let key = [wave[0] as u32, wave[1] as u32];
    let [along, across] = [wave[2] as u32 as u64, wave[3] as u32 as u64];
    let start = |n: usize| wave[n] as u32 as u64 | (wave[n + 1] as u32 as u64) << 32;
    let (x, y) = (x as u32 as u64, y as u32 as u64);
    // Skewed coordinates: rhombus and place in it, 2⁻³².
    let u = start(4).wrapping_add(x * along).wrapping_add(y * across);
    let v = start(6).wrapping_add(y * along).wrapping_add(x * across);
    let (i, j) = ((u >> 32) as u32, (v >> 32) as u32);
    let (fu, fv) = ((u as u32 >> 16) as i32, (v as u32 >> 16) as i32);
    let mut sum = 0i32;
    for corner in 0..4 {
        let (a, b) = (corner & 1, corner >> 1);
        let (du, dv) = (fu - (a << 16), fv - (b << 16));
        // Back to right angles, 2⁻¹⁴: (3 − √3)/6 is 13849 in 2⁻¹⁶.
        let back = ((du + dv) * 13849) >> 16;
        let (dx, dy) = ((du - back) >> 2, (dv - back) >> 2);
        let near = (1 << 27) - dx * dx - dy * dy;
        if near > 0 {
            let t = near >> 12;
            let t2 = (t * t) >> 15;
            let t4 = (t2 * t2) >> 15;
            let at =
                (((hash(key, i.wrapping_add(a as u32), j.wrapping_add(b as u32)) >> 16) * GRADIENTS as u32) >> 16) as usize * 2;
            sum += t4 * ((gradients[at] * dx + gradients[at + 1] * dy) >> 14);
        }
    }
    // 6.24 brings the extremes to one.
    (((sum >> 12) * 25558) >> 13).clamp(-65536, 65536)
}

/// a · n / 2¹⁶ for n of −65536 to 65536.
#[inline(always)]
fn times(a: i32, n: i32) -> i32 {
    let product = mul_q16_near(a, n.unsigned_abs());
    if n < 0 { -product } else { product }
}

/// The cell nearest to a point.
#[inline(always)]
fn cell_of(p: &Params, points: &[i32], i: usize) -> [i32; 2] {
    let half = (1 << p.fraction) >> 1;
    [0, 1].map(|a| (points[i * POINT_WORDS + a] + half) >> p.fraction)
}

fn parameters<'a>(call: &Call<'a>) -> &'a Params {
    bytemuck::from_bytes(bytemuck::cast_slice(call.params))
}

fn by_noise(call: &mut Call) {
    let p = parameters(call);
    let &[points, forms, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = cell_of(p, points, i as usize);
        let mut highest = i32::MIN;
        for (b, form) in forms.chunks_exact(FORM_WORDS).enumerate() {
            let mut value = 0;
            for wave in waves.chunks_exact(WAVE_WORDS).skip(form[7] as usize).take(form[8] as usize) {
                value += times(wave[8], noise(wave, gradients, x, y));
            }
            if value > highest {
                highest = value;
                *own = b as i32;
            }
        }
    }
}

/// Where the water is: cells below the sea are their own nearest water, 2¹⁶·y + x; the others have none yet.
fn shore(call: &mut Call) {
    let p = parameters(call);
    let height = call.reads[0];
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let i = i as i32;
        *own = if height[i as usize] < p.sea { ((i / p.width) << 16) | (i % p.width) } else { -1 };
    }
}

/// Square of the distance from a cell to a water, as far as can be where there is none.
#[inline(always)]
fn distance(water: i32, x: i32, y: i32) -> i32 {
    let (dx, dy) = ((water & 0xffff) - x, (water >> 16) - y);
    if water < 0 { i32::MAX } else { dx * dx + dy * dy }
}

/// The nearest of the waters that nine cells know of, `leap` apart (the lower number among equals).
fn flood(call: &mut Call) {
    let p = parameters(call);
    let before = call.reads[0];
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) = (i as i32 % p.width, i as i32 / p.width);
        let mut best = (i32::MAX, -1);
        for n in 0..9 {
            let (nx, ny) = (x + (n % 3 - 1) * p.leap, y + (n / 3 - 1) * p.leap);
            if nx < 0 || ny < 0 || nx >= p.width || ny >= p.height {
                continue;
            }
            let water = before[(ny * p.width + nx) as usize];
            let far = distance(water, x, y);
            if far < best.0 || far == best.0 && water < best.1 {
                best = (far, water);
            }
        }
        *own = best.1;
    }
}

/// Noise of several sizes, from the wave `first` on.
#[inline(always)]
fn mixed(p: &Params, waves: &[i32], gradients: &[i32], first: u32, x: i32, y: i32) -> i32 {
    let mine = waves.chunks_exact(WAVE_WORDS).skip(first as usize).take(p.octaves as usize);
    mine.map(|wave| times(wave[8], noise(wave, gradients, x, y))).sum::<i32>().clamp(-65536, 65536)
}

fn by_climate(call: &mut Call) {
    let p = parameters(call);
    let &[points, height, water, table, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = cell_of(p, points, i as usize);
        let (column, row) = (fold(x - p.margin, p.width, false), fold(y - p.margin, p.height, false));
        let at = (row * p.width + column) as usize;
        let above = height[at].clamp(-(1 << 30), 1 << 30) - p.sea;
        if above < 0 && p.below >= 0 {
            *own = p.below;
            continue;
        }
        let cold = ((((y - p.equator).abs().min(p.pole)) as u32) << 16) / p.pole as u32;
        let high = (((above.max(0) as u32) >> p.lapse_shift).min(p.lapse) << 16) / p.lapse;
        let stirred = times(p.stir, mixed(p, waves, gradients, p.octaves, x, y));
        let temperature = (65536 - cold as i32 - high as i32 + stirred).clamp(0, 65535) as u32;
        let near = distance(water[at], column, row);
        let far = isqrt(near as u32).min(p.inland);
        let damp = ((p.inland - far) << 16) / p.inland;
        let rain = (mixed(p, waves, gradients, 0, x, y) + 65536) >> 1;
        let moisture = (lerp(rain, damp as i32, p.coast)).clamp(0, 65535) as u32;
        let place = ((temperature * p.rows) >> 16) * p.columns + ((moisture * p.columns) >> 16);
        *own = table[place as usize];
    }
}

/// The number in a sample.
#[inline(always)]
fn level(mask: i32) -> i32 {
    (mask * 255 + 32768) >> 16
}

fn by_image(call: &mut Call) {
    let p = parameters(call);
    let &[points, mask] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let [x, y] = cell_of(p, points, i as usize);
        let at = fold(y - p.margin, p.height, false) * p.width + fold(x - p.margin, p.width, false);
        *own = level(mask[at as usize]).min(p.biomes as i32 - 1);
    }
}

/// The first cell or node of a chunk.
#[inline(always)]
fn corner(p: &Params, chunk: i32) -> [i32; 2] {
    let across = p.step << p.bits;
    [p.start[0] + chunk % p.chunks_across * across, p.start[1] + chunk / p.chunks_across * across]
}

/// The points in row `row` of the buckets near a chunk: from, to.
#[inline(always)]
fn run(p: &Params, buckets: &[i32], corner: [i32; 2], row: i32) -> [i32; 2] {
    let far = p.reach + p.step * ((1 << p.bits) - 1);
    let y = ((corner[1] - p.reach) >> p.bits) + row;
    let x = (corner[0] - p.reach) >> p.bits;
    let end = ((corner[0] + far) >> p.bits).min(p.buckets_across - 1) + 1;
    if y >= p.buckets_down || y > (corner[1] + far) >> p.bits || x >= end {
        return [0, 0];
    }
    let first = y * p.buckets_across;
    [buckets[(first + x) as usize], buckets[(first + end) as usize]]
}

fn census(call: &mut Call) {
    let p = parameters(call);
    let &[points, kinds, buckets] = call.reads else { return };
    for (chunk, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(SET_WORDS)) {
        if p.opens == 1 {
            own.fill(0);
        }
        let corner = corner(p, chunk as i32);
        let low = corner.map(|c| c << p.fraction);
        let high = corner.map(|c| (c + p.step * ((1 << p.bits) - 1)) << p.fraction);
        for row in p.rows_from..p.rows_to {
            let [from, to] = run(p, buckets, corner, row);
            for i in from as usize..to as usize {
                let [dx, dy] = [0, 1].map(|a| {
                    let at = points[i * POINT_WORDS + a];
                    (low[a] - at).max(at - high[a]).max(0)
                });
                if ((dx * dx) as u32).wrapping_add((dy * dy) as u32) < p.square {
                    own[(kinds[i] >> 5) as usize] |= 1 << (kinds[i] & 31);
                }
            }
        }
    }
}

/// The biome of that rank in a set, from 0; −1 if there are not so many.
#[inline(always)]
fn ranked(set: &[i32], rank: u32) -> i32 {
    let mut rest = rank;
    for (n, &word) in set.iter().enumerate() {
        let mut bits = word as u32;
        if rest >= bits.count_ones() {
            rest -= bits.count_ones();
            continue;
        }
        for _ in 0..rest {
            bits &= bits.wrapping_sub(1);
        }
        return n as i32 * 32 + bits.trailing_zeros() as i32;
    }
    -1
}

/// The number of the biome in a place of a record.
#[inline(always)]
fn kind(record: &[i32], place: usize) -> i32 {
    (record[place >> 2] >> ((place & 3) * 8)) & 0xff
}

/// Puts a biome in a place of a record.
#[inline(always)]
fn put(record: &mut [i32], place: usize, biome: i32, sum: u32) {
    let shift = (place & 3) * 8;
    record[place >> 2] = record[place >> 2] & !(0xff << shift) | biome << shift;
    record[2 + place] = sum as i32;
}

/// Puts the `rank`-th biome that comes into a record: in the next place, or in that of the lightest (the highest number among
/// equals) if that is lighter.
#[inline(always)]
fn enter(record: &mut [i32], rank: usize, biome: i32, sum: u32) {
    if rank < KEPT {
        return put(record, rank, biome, sum);
    }
    let mut lightest = 0;
    for n in 1..KEPT {
        let (a, b) = (record[2 + n], record[2 + lightest]);
        if a < b || a == b && kind(record, n) > kind(record, lightest) {
            lightest = n;
        }
    }
    if (record[2 + lightest] as u32) < sum {
        put(record, lightest, biome, sum);
    }
}

fn convolve(call: &mut Call) {
    let p = parameters(call);
    let &[points, kinds, buckets, sets] = call.reads else { return };
    let area = 1usize << (2 * p.bits);
    let first = call.range.start as usize / area;
    let [sums, records] = call.owns else { return };
    let mut near = vec![];
    for (n, (sums, records)) in sums.chunks_exact_mut(area).zip(records.chunks_exact_mut(area * RECORD_WORDS)).enumerate() {
        let chunk = first + n;
        let set = &sets[chunk * SET_WORDS..][..SET_WORDS];
        let biome = ranked(set, p.rank);
        if biome < 0 {
            continue;
        }
        if p.opens == 1 {
            sums.fill(0);
        }
        let alone = p.skip == 1 && p.rank == 0 && ranked(set, 1) < 0;
        if alone {
            // The weight at once.
            sums.fill(65536);
        } else {
            let corner = corner(p, chunk as i32);
            near.clear();
            for row in p.rows_from..p.rows_to {
                let [from, to] = run(p, buckets, corner, row);
                let mine = |i: &usize| kinds[*i] == biome;
                near.extend((from as usize..to as usize).filter(mine).map(|i| [points[i * 2], points[i * 2 + 1]]));
            }
            sum_up(p, corner, &near, sums);
        }
        if p.closes == 1 {
            for (record, sum) in records.chunks_exact_mut(RECORD_WORDS).zip(sums) {
                enter(record, p.rank as usize, biome, *sum as u32);
            }
        }
    }
}

/// Adds to the sums of a chunk's cells what the points give them.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn sum_up(p: &Params, corner: [i32; 2], points: &[[i32; 2]], sums: &mut [i32]) {
    let side = 1usize << p.bits;
    let half = (1u32 << p.halve) >> 1;
    let step = p.step << p.fraction;
    for &[px, py] in points {
        let (x, y) = ((corner[0] << p.fraction) - px, (corner[1] << p.fraction) - py);
        for (n, row) in sums.chunks_exact_mut(side).enumerate() {
            let dy = y + n as i32 * step;
            let dy = (dy * dy) as u32;
            if dy >= p.square {
                continue;
            }
            let mut dx = x;
            for sum in row {
                let d = (dx * dx) as u32 + dy;
                let t = p.square.max(d).wrapping_sub(d) >> p.shorten;
                *sum += ((t * t + half) >> p.halve) as i32;
                dx += step;
            }
        }
    }
}

/// Makes weights of a record's sums: they add up to 65536.
#[inline(always)]
fn weigh(record: &mut [i32]) {
    // Places without a sum have no part in anything.
    let (mut places, mut count, mut total) = ([0; KEPT], 0, 0u32);
    for n in 0..KEPT {
        places[count] = n;
        count += (record[2 + n] != 0) as usize;
        total += record[2 + n] as u32;
    }
    let places = &places[..count];
    if let [only] = *places {
        record[2 + only] = 65536;
        return;
    }
    // Shortened to 24 bits, so that eight more fit.
    let shift = 8u32.saturating_sub(total.leading_zeros());
    let total: u32 = places.iter().map(|n| record[2 + n] as u32 >> shift).sum();
    let mut rest = [0u32; KEPT];
    let mut left = 65536;
    for &n in places {
        let sum = (record[2 + n] as u32 >> shift) << 8;
        let next = (sum % total) << 8;
        let weight = ((sum / total) << 8) + next / total;
        rest[n] = next % total;
        record[2 + n] = weight as i32;
        left -= weight;
    }
    for &n in places {
        let before = |m: &&usize| rest[**m] > rest[n] || rest[**m] == rest[n] && kind(record, **m) < kind(record, n);
        if (places.iter().filter(before).count() as u32) < left {
            record[2 + n] += 1;
        }
    }
}

fn share(call: &mut Call) {
    let p = parameters(call);
    let area = 1usize << (2 * p.bits);
    let first = call.range.start as usize / area;
    for (n, records) in call.owns[0].chunks_exact_mut(area * RECORD_WORDS).enumerate() {
        let set = &call.reads[0][(first + n) * SET_WORDS..][..SET_WORDS];
        if p.skip != 1 || ranked(set, 1) >= 0 {
            records.chunks_exact_mut(RECORD_WORDS).for_each(weigh);
        }
    }
}

fn interpolate(call: &mut Call) {
    let p = parameters(call);
    let nodes = call.reads[0];
    let side = 1i32 << p.bits;
    // The biomes of the four nodes round a cell and their weights there, for one square of nodes at a time.
    let (mut square, mut met) = (usize::MAX, vec![]);
    for (i, own) in call.range.clone().zip(call.owns[0].chunks_exact_mut(RECORD_WORDS)) {
        let (chunk, local) = (i as i32 >> (2 * p.bits), i as i32 & (side * side - 1));
        let x = p.margin + ((chunk % p.chunks_across) << p.bits) + (local & (side - 1)) - p.node_start[0];
        let y = p.margin + ((chunk / p.chunks_across) << p.bits) + (local >> p.bits) - p.node_start[1];
        let (fx, fy) = ((x % p.interval) as u32, (y % p.interval) as u32);
        let at = [0, 1, 2, 3].map(|c| node(p, x / p.interval + (c & 1), y / p.interval + (c >> 1)));
        if at[0] != square {
            square = at[0];
            meet(at.map(|at| &nodes[at..][..RECORD_WORDS]), &mut met);
        }
        own.fill(0);
        if let [(biome, _)] = met[..] {
            put(own, 0, biome, 65536);
            continue;
        }
        let (gx, gy) = (p.interval as u32 - fx, p.interval as u32 - fy);
        let part = [gx * gy, fx * gy, gx * fy, fx * fy];
        let mut rank = 0;
        for (biome, weights) in &met {
            let sum = (0..4).map(|c| weights[c] * part[c]).sum();
            if sum > 0 {
                enter(own, rank, *biome, sum);
                rank += 1;
            }
        }
        weigh(own);
    }
}

/// The biomes of four records in the order in which one comes upon them, and their weights in each.
fn meet(records: [&[i32]; 4], met: &mut Vec<(i32, [u32; 4])>) {
    met.clear();
    for (c, record) in records.iter().enumerate() {
        for n in (0..KEPT).filter(|n| record[2 + n] > 0) {
            let biome = kind(record, n);
            let at = met.iter().position(|(b, _)| *b == biome).unwrap_or_else(|| {
                met.push((biome, [0; 4]));
                met.len() - 1
            });
            met[at].1[c] = record[2 + n] as u32;
        }
    }
}

/// Where a node's record begins.
#[inline(always)]
fn node(p: &Params, x: i32, y: i32) -> usize {
    let side = (1 << p.bits) - 1;
    let chunk = (y >> p.bits) * p.node_chunks_across + (x >> p.bits);
    ((chunk << (2 * p.bits)) + ((y & side) << p.bits) + (x & side)) as usize * RECORD_WORDS
}

/// The record of a cell.
#[inline(always)]
fn record_of<'a>(p: &Params, records: &'a [i32], i: u32) -> &'a [i32] {
    let side = (1 << p.bits) - 1;
    let (x, y) = (i as i32 % p.width, i as i32 / p.width);
    let chunk = (y >> p.bits) * p.chunks_across + (x >> p.bits);
    let at = (chunk << (2 * p.bits)) + ((y & side) << p.bits) + (x & side);
    &records[at as usize * RECORD_WORDS..][..RECORD_WORDS]
}

fn dominate(call: &mut Call) {
    let p = parameters(call);
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, call.reads[0], i);
        let mut heaviest = 0;
        for n in 1..KEPT {
            let (a, b) = (record[2 + n], record[2 + heaviest]);
            if a > b || a == b && kind(record, n) < kind(record, heaviest) && a > 0 {
                heaviest = n;
            }
        }
        *own = kind(record, heaviest);
    }
}

/// Colours in the shares of the weights.
fn paint(call: &mut Call) {
    let p = parameters(call);
    let &[records, forms] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, records, i);
        let mut sums = [0x8000u32; 3];
        for n in (0..KEPT).filter(|n| record[2 + n] > 0) {
            let colour = forms[kind(record, n) as usize * FORM_WORDS + 9];
            sums.iter_mut()
                .zip([16, 8, 0])
                .for_each(|(sum, shift)| *sum += (colour >> shift & 0xff) as u32 * record[2 + n] as u32);
        }
        let [red, green, blue] = sums.map(|sum| sum as i32 >> 16);
        *own = red << 16 | green << 8 | blue;
    }
}

/// The height of a biome at a cell.
#[inline(always)]
fn height_of(form: &[i32], waves: &[i32], gradients: &[i32], x: i32, y: i32) -> i32 {
    let mut height = form[1];
    let mut mine = waves.chunks_exact(WAVE_WORDS).skip(form[2] as usize);
    if form[0] == DUNES {
        let (Some(first), Some(second)) = (mine.next(), mine.next()) else { return height };
        let ridge = 65536 - noise(first, gradients, x, y).abs();
        let swell = (65536 + noise(second, gradients, x, y)) >> 1;
        return height + mul_q16_near(mul_q16_near(first[8], ridge as u32), swell as u32);
    }
    for wave in mine.take(form[3] as usize) {
        let n = noise(wave, gradients, x, y);
        height += times(wave[8], if form[0] == RIDGED { 65536 - n.abs() } else { n });
    }
    height
}

fn raise(call: &mut Call) {
    let p = parameters(call);
    let &[records, forms, waves, gradients] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, records, i);
        let (x, y) = (p.margin + i as i32 % p.width, p.margin + i as i32 / p.width);
        let mut sum = if p.heights == ADD { *own } else { 0 };
        for n in 0..KEPT {
            if record[2 + n] > 0 {
                let form = &forms[kind(record, n) as usize * FORM_WORDS..][..FORM_WORDS];
                sum = sum.wrapping_add(mul_q16_near(height_of(form, waves, gradients, x, y), record[2 + n] as u32));
            }
        }
        *own = sum;
    }
}

/// A layer of the biomes' own values.
fn assign<const VALUE: usize>(call: &mut Call) {
    let p = parameters(call);
    let &[records, forms] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, records, i);
        let value = |n| forms[kind(record, n) as usize * FORM_WORDS + VALUE];
        *own = (0..KEPT).map(|n| mul_q16(value(n), record[2 + n] as u32)).sum();
    }
}

fn texture(call: &mut Call) {
    let p = parameters(call);
    let cells = (p.width * p.height) as u32;
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let record = record_of(p, call.reads[0], i % cells);
        let scaled = |n: usize| record[2 + n] as u32 * 255;
        let left = 255 - (0..KEPT).map(|n| scaled(n) >> 16).sum::<u32>();
        let mut word = 0;
        for n in 0..KEPT {
            let biome = kind(record, n) as u32;
            if biome / 4 != i / cells || record[2 + n] == 0 {
                continue;
            }
            let rest = scaled(n) & 0xffff;
            let before = |m: &usize| {
                let other = scaled(*m) & 0xffff;
                other > rest || other == rest && kind(record, *m) < biome as i32 && other > 0
            };
            let more = ((0..KEPT).filter(before).count() as u32) < left;
            word |= ((scaled(n) >> 16) + more as u32) << ((biome & 3) * 8);
        }
        *own = word as i32;
    }
}

fn cases() -> Vec<Case> {
    let n = Value::Number;
    let i = Value::Integer;
    let word = |w: &str| Value::Word(w.into());
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let case = |name, settings, window, surface| Case { name, settings, window, surface, layers: Layers::default() };
    let many = |count: usize| {
        Value::List(
            (0..count)
                .map(|n| {
                    json!({
                        "name": format!("b{n}"), "colour": "#102030", "base_m": 10 * n, "relief_m": 30,
                        "shape": Shape::ALL[n % 3].0, "hardness": n as f64 / count as f64,
                        "rain": (n % 7) as f64 / 7.0, "vegetation": 1.0 - n as f64 / count as f64, "frequency": 0.05,
                    })
                })
                .collect(),
        )
    };
    vec![
        case(
            "default",
            vec![("feature", n(60.0)), ("heights", word("replace")), ("splat", Value::Switch(true))],
            window(0, 0, 90, 70),
            Surface::Flat,
        ),
        case(
            "many",
            vec![
                ("frequency", n(0.3)),
                ("padding", n(9.0)),
                ("feature", n(4.0)),
                ("octaves", i(1)),
                ("heights", word("add")),
                ("splat", Value::Switch(true)),
                ("biome", many(40)),
                ("chunk", word("8")),
            ],
            window(-(1 << 40) - 3, 77, 61, 47),
            Surface::Hills,
        ),
        case(
            "full",
            vec![
                ("method", word("full")),
                ("radius", n(7.5)),
                ("feature", n(30.0)),
                ("skip", Value::Switch(false)),
                ("chunk", word("32")),
            ],
            window(5, -9, 50, 41),
            Surface::Flat,
        ),
        case(
            "convolved",
            vec![
                ("method", word("convolved")),
                ("interval", i(5)),
                ("radius", n(9.0)),
                ("feature", n(150.0)),
                ("chunk", word("8")),
            ],
            window(-7, 3, 70, 45),
            Surface::Flat,
        ),
        case(
            "lerped",
            vec![
                ("method", word("lerped")),
                ("interval", i(6)),
                ("radius", n(14.0)),
                ("feature", n(12.0)),
                ("biome", many(12)),
                ("heights", word("replace")),
            ],
            window(-20, 31, 65, 50),
            Surface::Flat,
        ),
        case(
            "image",
            vec![
                ("from", word("image")),
                ("file", word("biomes.png")),
                ("frequency", n(0.2)),
                ("padding", n(4.0)),
                ("biome", many(255)),
            ],
            window(0, 0, 40, 33),
            Surface::Flat,
        ),
        case(
            "climate",
            vec![
                ("from", word("climate")),
                ("frequency", n(0.1)),
                ("padding", n(6.0)),
                ("feature", n(40.0)),
                ("sea_level_m", n(180.0)),
                ("equator", i(30)),
                ("pole", i(90)),
                ("lapse_m", n(300.0)),
                ("inland", i(11)),
                ("stir", n(0.5)),
                ("table", Value::List(vec![json!(["b0", "b1", "b2"]), json!(["b3", "b4", "b5"])])),
                (
                    "biome",
                    Value::List(
                        ["b0", "b1", "b2", "b3", "b4", "b5", "sea"]
                            .iter()
                            .enumerate()
                            .map(|(n, name)| json!({ "name": name, "colour": format!("#{n}0f0{n}0") }))
                            .collect(),
                    ),
                ),
            ],
            window(-9, 5, 75, 60),
            Surface::Hills,
        ),
        case(
            "wide",
            vec![("frequency", n(0.05)), ("padding", n(512.0)), ("feature", n(300.0)), ("biome", many(3))],
            window(0, 0, 20, 17),
            Surface::Flat,
        ),
    ]
}
