//! Rivers, lakes and the sea of the final height: where water lies, where it goes, and how much.
//!
//! Everything up to areas, orders, basins and the places of vectors is integers on the exact words of the height, on the host, so it is the same
//! everywhere. Widths and distances are doubles made with + − × ÷, √ and the powers of `libm`. Drainage is that of the map: what lies beyond its
//! border sends no water.

pub mod area;
mod budget;
pub mod carve;
pub mod channel;
pub mod directions;
mod distance;
pub mod flood;
pub mod outline;
mod simplify;
pub mod vectors;

use crate::error::{Invalid, Result};
use crate::map::Metric;
use crate::memory;
use crate::params::rounded;
use crate::site::Scale;
use crate::spec::CELL;
use crate::table::Table;
use channel::{Channel, Law};
use directions::{Descent, Full, OUT, SEA, Size, UNKNOWN, Way};
use rayon::prelude::*;
use serde_json::json;

/// What becomes of hollows, which hold water back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Through {
    /// They are full to their rims: lakes.
    #[default]
    Fill,
    /// Water finds a way through their rims: there are no lakes.
    Breach,
}

/// How water comes together in the map `drainage_area`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// All of a cell's water goes to one neighbour, as in all else.
    #[default]
    Single,
    /// It goes to all lower neighbours, more to the steeper ones.
    Multiple,
}

/// The table `water` of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Height of the sea in metres, −1 000 000 to 1 000 000. Cells below it that touch the border, or others that do, are sea. None: there is no sea.
    pub sea_level_m: Option<f64>,
    /// What becomes of hollows.
    pub hollows: Through,
    /// To which lower neighbour the water of a cell goes.
    pub descent: Descent,
    /// How the map `drainage_area` is made. Rivers have areas of their own, where all water of a cell goes to one neighbour.
    pub drainage: Spread,
    /// From what area on the water of a hollow that runs over is a lake, in m², 0 to 1e12; none: the area of 10 cells. Rivers run through smaller
    /// ones, which are puddles.
    pub lake_min_m2: Option<f64>,
    /// From what drainage area on there is a river, in km², above 0 to 1e12; none: the area of 1000 cells.
    pub river_km2: Option<f64>,
    /// In place of `river_km2`: from what `flow` on there is a river, above 0 to 4 294 967 295. So rivers are where particles
    /// have passed, as Talle proposes for his snowballs.
    pub river_flow: Option<f64>,
    /// Water that runs off where the layer of rain is 1, in mm a year, 0 to 100 000.
    pub runoff_mm: f64,
    /// Water that a lake loses to the air, in mm a year, 0 to 100 000. At 0 all lakes are full.
    pub evaporation_mm: f64,
    /// How width and depth grow with the discharge.
    pub law: Law,
    /// Width of a river with a discharge of 1 m³/s, in metres, 0 to 1000.
    pub width_m: f64,
    /// Mean depth of such a river, in metres, 0 to 100.
    pub depth_m: f64,
    /// Whether the beds of rivers are cut into the ground.
    pub carve: bool,
    /// The files of lines, polygons and points that a bundle has.
    pub vectors: Vec<VectorFormat>,
    /// The programs for which a bundle has its rivers as splines.
    pub splines: Vec<Splines>,
    /// How far lines may come to lie from their cells to have fewer vertices, in metres, 0 to 1e6. At 0 they go through all cells.
    pub simplify_m: f64,
    /// How far the heights of such lines may come to lie from those of their cells, in metres, 0 to 1e6; none: a tenth of `simplify_m`.
    pub simplify_height_m: Option<f64>,
    /// The slope from one cell of a river to the next from which on there is a waterfall, 0.01 to 1000.
    pub waterfall_slope: f64,
}

/// A file of lines, polygons and points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorFormat {
    /// A GeoJSON file for each layer.
    GeoJson,
    /// One GeoPackage with all layers.
    Gpkg,
}

/// What takes rivers as splines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splines {
    /// Unreal's water bodies: JSON in centimetres.
    Unreal,
    /// Godot: a scene of paths.
    Godot,
}

const VECTORS: [(&str, VectorFormat); 2] = [("geojson", VectorFormat::GeoJson), ("gpkg", VectorFormat::Gpkg)];
const SPLINES: [(&str, Splines); 2] = [("unreal", Splines::Unreal), ("godot", Splines::Godot)];
/// The largest `flow`.
const FLOW_MAX: f64 = 4294967295.0;
/// The layers, as files are named.
pub const LAYERS: [&str; 4] = ["rivers", "lakes", "basins", "water_points"];

impl Default for Settings {
    fn default() -> Self {
        let law = Law::default();
        let (width_m, depth_m) = law.usual();
        Self {
            sea_level_m: None,
            hollows: Through::Fill,
            descent: Descent::Steepest,
            drainage: Spread::Single,
            lake_min_m2: None,
            river_km2: None,
            river_flow: None,
            runoff_mm: 500.0,
            evaporation_mm: 0.0,
            law,
            width_m,
            depth_m,
            carve: false,
            vectors: vec![],
            splines: vec![],
            simplify_m: 0.0,
            simplify_height_m: None,
            waterfall_slope: 1.0,
        }
    }
}

/// What `hollows` may be, and what it then is.
const THROUGH: [(&str, Through); 2] = [("fill", Through::Fill), ("breach", Through::Breach)];
/// What `descent` may be, and what it then is.
const DESCENTS: [(&str, Descent); 2] = [("steepest", Descent::Steepest), ("lowest", Descent::Lowest)];
/// What `drainage` may be, and what it then is.
const SPREADS: [(&str, Spread); 2] = [("single", Spread::Single), ("multiple", Spread::Multiple)];
/// Cells from which on there is a river, where no area is given.
const RIVER_CELLS: i64 = 1000;
/// And a lake.
const LAKE_CELLS: usize = 10;
/// Seconds of a year of 365¼ days.
const YEAR_S: f64 = 31_557_600.0;
/// Rain of 1 on a cell, in the layer's unit.
const RAIN: i64 = 65536;
/// Bytes that the water of a cell takes at most while it is found, beside its ground: a pit at every fourth cell takes so many.
const MOST_BYTES: u64 = 72;
/// And on eroded land.
const CELL_BYTES: u64 = 24;
/// What more there where lakes lose water: a key to sort by, and two sums.
const DRY_BYTES: u64 = 16;
/// And where it spreads: the sum, how many cells it waits for, and those that are ready.
const SPREAD_BYTES: u64 = 16;
/// And where rivers are by traffic.
const FLOW_BYTES: u64 = 5;
/// And where the rain differs from place to place.
const RAIN_BYTES: u64 = 20;

impl Settings {
    /// Reads the table.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown key or a value that is not allowed.
    pub(crate) fn parse(value: &serde_json::Value) -> Result<Self> {
        let usual = Self::default();
        let table = Table::new("water", value)?;
        table.known(&[
            "sea_level_m",
            "hollows",
            "descent",
            "drainage",
            "lake_min_m2",
            "river_km2",
            "river_flow",
            "runoff_mm",
            "evaporation_mm",
            "law",
            "width_m",
            "depth_m",
            "carve",
            "vectors",
            "splines",
            "simplify_m",
            "simplify_height_m",
            "waterfall_slope",
        ])?;
        let law = one_of(&table, "law", "law of rivers", &Law::ALL)?.unwrap_or_default();
        let (width_m, depth_m) = law.usual();
        let read = Self {
            sea_level_m: table.number("sea_level_m", -1e6, 1e6)?,
            hollows: one_of(&table, "hollows", "way with hollows", &THROUGH)?.unwrap_or(usual.hollows),
            descent: one_of(&table, "descent", "way down", &DESCENTS)?.unwrap_or(usual.descent),
            drainage: one_of(&table, "drainage", "way of drainage", &SPREADS)?.unwrap_or(usual.drainage),
            lake_min_m2: table.number("lake_min_m2", 0.0, 1e12)?,
            river_km2: table.number("river_km2", 0.0, 1e12)?,
            river_flow: table.number("river_flow", 0.0, FLOW_MAX)?,
            runoff_mm: table.number("runoff_mm", 0.0, 1e5)?.unwrap_or(usual.runoff_mm),
            evaporation_mm: table.number("evaporation_mm", 0.0, 1e5)?.unwrap_or(usual.evaporation_mm),
            law,
            width_m: table.number("width_m", 0.0, 1e3)?.unwrap_or(width_m),
            depth_m: table.number("depth_m", 0.0, 1e2)?.unwrap_or(depth_m),
            carve: table.switch("carve")?.unwrap_or(usual.carve),
            vectors: several_of(&table, "vectors", "format of vectors", &VECTORS)?,
            splines: several_of(&table, "splines", "program that takes splines", &SPLINES)?,
            simplify_m: table.number("simplify_m", 0.0, 1e6)?.unwrap_or(usual.simplify_m),
            simplify_height_m: table.number("simplify_height_m", 0.0, 1e6)?,
            waterfall_slope: table.number("waterfall_slope", 0.01, 1e3)?.unwrap_or(usual.waterfall_slope),
        };
        read.check_together()?;
        Ok(read)
    }

    /// Checks settings that exclude each other, and what a range cannot say.
    fn check_together(&self) -> Result<()> {
        if self.river_km2 == Some(0.0) {
            let message = "river_km2 = 0: each cell of the land would be a river; allowed above 0 to 1000000000000, or leave it out for the area of 1000 cells";
            return Err(Invalid::of("river_km2", 0, "above 0 to 1000000000000").saying(message).inside("water", "/water").into());
        }
        if let Some(given) = self.river_flow {
            let wrong = |allowed: &str, message: String| {
                Err(Invalid::of("river_flow", given, allowed).saying(message).inside("water", "/water").into())
            };
            if given == 0.0 {
                return wrong(
                    "above 0 to 4294967295",
                    "river_flow = 0: each cell of the land would be a river; allowed above 0 to 4294967295".into(),
                );
            }
            if let Some(km2) = self.river_km2 {
                return wrong(
                    "river_flow or river_km2",
                    format!("river_flow = {given} with river_km2 = {km2}: both say where rivers begin; leave one of the two out"),
                );
            }
        }
        let given = self.evaporation_mm;
        if given > 0.0 && self.hollows == Through::Breach {
            let message =
                format!("evaporation_mm = {given} with hollows = \"breach\": there are no lakes then; leave one of the two out");
            return Err(Invalid::of("evaporation_mm", given, "0 with hollows = \"breach\"")
                .saying(message)
                .inside("water", "/water")
                .into());
        }
        Ok(())
    }

    /// Checks what parsing checks, since fields are public.
    ///
    /// # Errors
    /// [`crate::Error::Param`] with the first value that is not allowed.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { sea_level_m, lake_min_m2, river_km2, runoff_mm, evaporation_mm, width_m, depth_m, .. } = *self;
        let Self { river_flow, simplify_m, simplify_height_m, waterfall_slope, .. } = *self;
        let ranges = [
            ("sea_level_m", sea_level_m, -1e6, 1e6),
            ("lake_min_m2", lake_min_m2, 0.0, 1e12),
            ("river_km2", river_km2, 0.0, 1e12),
            ("river_flow", river_flow, 0.0, FLOW_MAX),
            ("runoff_mm", Some(runoff_mm), 0.0, 1e5),
            ("evaporation_mm", Some(evaporation_mm), 0.0, 1e5),
            ("width_m", Some(width_m), 0.0, 1e3),
            ("depth_m", Some(depth_m), 0.0, 1e2),
            ("simplify_m", Some(simplify_m), 0.0, 1e6),
            ("simplify_height_m", simplify_height_m, 0.0, 1e6),
            ("waterfall_slope", Some(waterfall_slope), 0.01, 1e3),
        ];
        for (name, value, low, high) in ranges {
            if let Some(value) = value.filter(|value| !(low..=high).contains(value)) {
                return Err(Invalid::value(name, value, format!("{low} to {high}")).inside("water", "/water").into());
            }
        }
        self.check_together()
    }

    /// The table, spelled out.
    pub(crate) fn describe(&self) -> serde_json::Value {
        let Self { sea_level_m, hollows, lake_min_m2, river_km2, runoff_mm, law, width_m, depth_m, .. } = self;
        let Self { vectors, splines, simplify_m, simplify_height_m, waterfall_slope, .. } = self;
        let mut table = json!({
            "hollows": name_of(&THROUGH, *hollows), "runoff_mm": runoff_mm, "law": name_of(&Law::ALL, *law), "width_m": width_m,
            "depth_m": depth_m,
        });
        if self.descent != Descent::Steepest {
            table["descent"] = name_of(&DESCENTS, self.descent).into();
        }
        if self.drainage != Spread::Single {
            table["drainage"] = name_of(&SPREADS, self.drainage).into();
        }
        if self.evaporation_mm > 0.0 {
            table["evaporation_mm"] = json!(self.evaporation_mm);
        }
        if self.carve {
            table["carve"] = true.into();
        }
        if !vectors.is_empty() {
            table["vectors"] = vectors.iter().map(|format| name_of(&VECTORS, *format)).collect();
        }
        if !splines.is_empty() {
            table["splines"] = splines.iter().map(|program| name_of(&SPLINES, *program)).collect();
        }
        let usual = Self::default();
        for (key, value, usual) in
            [("simplify_m", simplify_m, usual.simplify_m), ("waterfall_slope", waterfall_slope, usual.waterfall_slope)]
        {
            if self.has_vectors() || *value != usual {
                table[key] = json!(value);
            }
        }
        let optional = [
            ("simplify_height_m", simplify_height_m),
            ("sea_level_m", sea_level_m),
            ("lake_min_m2", lake_min_m2),
            ("river_km2", river_km2),
            ("river_flow", &self.river_flow),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                table[key] = json!(value);
            }
        }
        table
    }

    /// The JSON Schema of the table.
    pub(crate) fn schema() -> serde_json::Value {
        let usual = Self::default();
        let number =
            |low: f64, high: f64, text: &str| json!({ "type": "number", "minimum": low, "maximum": high, "description": text });
        let mut runoff = number(0.0, 1e5, "Water that runs off where the layer of rain is 1, mm a year.");
        runoff["default"] = json!(usual.runoff_mm);
        let mut evaporation = number(0.0, 1e5, "Water that a lake loses to the air, mm a year; at 0 all lakes are full.");
        evaporation["default"] = json!(usual.evaporation_mm);
        let list = |names: &[&str], text: &str| json!({ "type": "array", "items": { "enum": names }, "uniqueItems": true, "description": text });
        let mut simplify = number(0.0, 1e6, "How far lines may come to lie from their cells to have fewer vertices, metres.");
        simplify["default"] = json!(usual.simplify_m);
        let mut waterfall = number(0.01, 1e3, "Slope from one cell of a river to the next from which on there is a waterfall.");
        waterfall["default"] = json!(usual.waterfall_slope);
        json!({
            "type": "object",
            "description": "Rivers, lakes and the sea: docs/water.md.",
            "properties": {
                "sea_level_m": number(-1e6, 1e6, "Height of the sea; without it there is none."),
                "hollows": { "enum": THROUGH.map(|(name, _)| name), "default": "fill", "description": "Whether hollows are lakes, or their rims are cut." },
                "descent": { "enum": DESCENTS.map(|(name, _)| name), "default": "steepest", "description": "Whether water goes to the neighbour to which the surface falls most steeply, or to the lowest of the eight." },
                "drainage": { "enum": SPREADS.map(|(name, _)| name), "default": "single", "description": "Whether all water of a cell goes to one neighbour in the map drainage_area, or to all lower ones." },
                "lake_min_m2": number(0.0, 1e12, "Area from which on the water of a hollow that runs over is a lake, m²; without it, that of 10 cells. Rivers run through smaller ones."),
                "river_km2": { "type": "number", "exclusiveMinimum": 0.0, "maximum": 1e12, "description": "Drainage area from which on there is a river, km²; without it, that of 1000 cells." },
                "river_flow": { "type": "number", "exclusiveMinimum": 0.0, "maximum": FLOW_MAX, "description": "In place of river_km2: what the map flow has, from which on there is a river." },
                "runoff_mm": runoff,
                "evaporation_mm": evaporation,
                "law": { "enum": Law::ALL.map(|(name, _)| name), "default": name_of(&Law::ALL, usual.law), "description": "How width and depth grow with the discharge." },
                "width_m": number(0.0, 1e3, "Width of a river of 1 m³/s, metres; without it, that of the law."),
                "depth_m": number(0.0, 1e2, "Mean depth of a river of 1 m³/s, metres; without it, that of the law."),
                "carve": { "type": "boolean", "default": usual.carve, "description": "Whether the beds of rivers are cut into the height." },
                "vectors": list(&VECTORS.map(|(name, _)| name), "Files of rivers, lakes, basins and points."),
                "splines": list(&SPLINES.map(|(name, _)| name), "Files of rivers as splines for a program."),
                "simplify_m": simplify,
                "simplify_height_m": number(0.0, 1e6, "How far the heights of simplified lines may come to lie from those of their cells, metres; without it, a tenth of simplify_m."),
                "waterfall_slope": waterfall,
            },
            "additionalProperties": false,
            "not": { "required": ["river_km2", "river_flow"] },
            // Without lakes there is nothing to dry up.
            "if": { "properties": { "hollows": { "const": "breach" } }, "required": ["hollows"] },
            "then": { "properties": { "evaporation_mm": { "maximum": 0 } } },
        })
    }
}

impl Settings {
    /// Bytes of memory that finding the water of a cell of eroded land takes, with its ground. Land with a pit at every step takes up to thrice as many.
    pub(crate) fn bytes_a_cell(&self, has_rain: bool) -> u64 {
        let more = [
            (self.evaporation_mm > 0.0, DRY_BYTES),
            (self.drainage == Spread::Multiple, SPREAD_BYTES),
            (has_rain, RAIN_BYTES),
            (self.river_flow.is_some(), FLOW_BYTES),
        ];
        4 + CELL_BYTES + more.iter().map(|(is, bytes)| if *is { *bytes } else { 0 }).sum::<u64>()
    }

    /// Applies a setting as a person types it: words of a list are parted by commas. `written` is a
    /// list or a text as recipes have it.
    ///
    /// # Errors
    /// [`crate::Error::Param`] as [`Settings::parse`] has it.
    pub(crate) fn set(&mut self, key: &str, value: &str, written: Option<serde_json::Value>) -> Result<()> {
        let words = || value.split([',', ' ']).filter(|word| !word.is_empty());
        let mut described = self.describe();
        // Width and depth that are those of the law change with it.
        if key == "law" && (self.width_m, self.depth_m) == self.law.usual() {
            ["width_m", "depth_m"].iter().for_each(|key| drop(described.as_object_mut().map(|table| table.remove(*key))));
        }
        described[key] = match (key, value.parse::<bool>(), value.parse::<f64>()) {
            _ if written.is_some() => written.into(),
            ("vectors" | "splines", ..) => words().collect(),
            (_, Ok(switch), _) => switch.into(),
            (_, _, Ok(number)) => json!(number),
            _ => value.into(),
        };
        *self = Self::parse(&described)?;
        Ok(())
    }

    /// What is to be said of these settings on a land, where a cell has this many metres. `found`
    /// is what was found there.
    #[cfg(feature = "io")]
    pub(crate) fn warning(&self, spacing_m: f64, found: Option<&serde_json::Value>) -> Option<String> {
        let cell_km2 = spacing_m * spacing_m / 1e6;
        if let Some(given) = self.river_km2.filter(|km2| *km2 < cell_km2) {
            return Some(format!(
                "water.river_km2 = {given} is less than a cell, which has {} km², so each cell of the land is a river",
                rounded(cell_km2)
            ));
        }
        let found = found.filter(|found| found["has_rivers"] == false);
        if let Some(given) = self.river_flow.filter(|_| found.is_some()) {
            return Some(format!(
                "there is no river: nowhere is flow {given} or more; set water.river_flow to less than the largest that info says of the map flow"
            ));
        }
        let largest = found?["largest_catchment_km2"].as_f64()?;
        let why = match self.river_km2 {
            _ if largest == 0.0 => return None,
            Some(given) => format!("water.river_km2 = {given} is more than the largest catchment of the land has, {largest} km²"),
            None => format!(
                "without water.river_km2 one begins at {RIVER_CELLS} cells, {} km², and the largest catchment of the land has {largest} km²",
                rounded(cell_km2 * RIVER_CELLS as f64)
            ),
        };
        Some(format!("there is no river: {why}; set water.river_km2 to less than that"))
    }

    /// The fewest cells that the water of a hollow has as a lake.
    fn lake_cells(&self, scale: &Scale) -> usize {
        // A float above the range becomes the end of it.
        self.lake_min_m2.map_or(LAKE_CELLS, |area| (area / (scale.spacing_m * scale.spacing_m)).ceil() as usize)
    }

    /// What a cell of a lake loses in a year, in the unit of the rain, to the nearest. More than any land has where nothing runs off.
    fn dry(&self) -> i64 {
        // A float above the range becomes the end of it.
        let dry = (self.evaporation_mm / self.runoff_mm * RAIN as f64).round() as i64;
        dry.min(1 << 62)
    }

    /// Whether a bundle has lines, polygons, points or splines.
    pub fn has_vectors(&self) -> bool {
        !self.vectors.is_empty() || !self.splines.is_empty()
    }

    /// The names of the files of vectors and splines that a bundle has.
    pub fn files(&self) -> Vec<String> {
        let layers = |format: &VectorFormat| match format {
            VectorFormat::GeoJson => LAYERS.map(|layer| format!("{layer}.geojson")).to_vec(),
            VectorFormat::Gpkg => vec!["water.gpkg".into()],
        };
        let splines = |program: &Splines| match program {
            Splines::Unreal => "rivers_unreal.json".to_string(),
            Splines::Godot => "rivers_godot.tscn".into(),
        };
        self.vectors.iter().flat_map(layers).chain(self.splines.iter().map(splines)).collect()
    }
}

/// A word of a table that is one of a list; none if it is not there.
fn one_of<T: Copy>(table: &Table, key: &str, what: &str, known: &[(&str, T)]) -> Result<Option<T>> {
    let Some(name) = table.text(key)? else { return Ok(None) };
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.map(Some).ok_or_else(|| table.unlisted(key, what, name, known.iter().map(|(name, _)| *name)))
}

/// Words of a table, each one of a list and none twice.
fn several_of<T: Copy + PartialEq>(table: &Table, key: &str, what: &str, known: &[(&str, T)]) -> Result<Vec<T>> {
    let Some(given) = table.get(key) else { return Ok(vec![]) };
    let all: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let wrong = || table.wrong(key, given, format!("a list of some of {}, each once", all.join(", ")));
    let names = given.as_array().ok_or_else(wrong)?;
    let mut found = vec![];
    for name in names {
        let name = name.as_str().ok_or_else(wrong)?;
        let Some((_, value)) = known.iter().find(|(known, _)| *known == name) else {
            return Err(table.unlisted(key, what, name, all.iter().copied()));
        };
        if found.contains(value) {
            return Err(wrong());
        }
        found.push(*value);
    }
    Ok(found)
}

/// The name of a value in a list that has it.
fn name_of<T: Copy + PartialEq>(known: &[(&'static str, T)], value: T) -> &'static str {
    known.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// What is known of the cells of a land beside their heights.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Widths and heights of the cells of each row, where rows differ.
    pub metric: Option<Metric>,
    /// The cells that are outside the land, in ascending order: water that comes to one has left.
    pub missing: Vec<usize>,
    /// The map `flow`, where rivers are by it.
    pub flow: Option<Vec<i32>>,
}

/// The water of a land.
#[derive(Clone, Debug)]
pub struct Water {
    size: Size,
    scale: Scale,
    place: Place,
    settings: Settings,
    /// Where the water of each cell goes: a number of [`directions::AROUND`], or [`OUT`], [`SEA`].
    pub directions: Vec<u8>,
    /// The ground, in words of height.
    pub ground: Vec<i32>,
    /// The surface of water, or the ground where it is dry, in words of height. Where a rim is breached it is below the ground, and over a puddle
    /// it is at the height of its rim. It never rises downstream, but from a hollow that is deeper than the sea that it is breached to.
    pub surface: Vec<i32>,
    /// Cells upstream of each cell, itself included.
    pub cells: Vec<u32>,
    /// The rain on these cells, 65536 for a cell with rain of 1. None: it is 1 everywhere.
    pub rain: Option<Vec<i64>>,
    /// The same less what evaporates from lakes upstream that run over. None: nothing evaporates.
    pub left: Option<Vec<i64>>,
    /// The same as `rain`, where water spreads over all lower neighbours, if it was asked for.
    pub spread: Option<Vec<i64>>,
    /// The ground with the beds of rivers, where they were cut.
    pub bed: Option<Vec<i32>>,
    /// The lakes.
    pub lakes: Vec<Full>,
    /// Which cells stand in water that is too little for a lake. Empty if none does.
    puddles: Vec<bool>,
    /// Which cells have rivers, where rivers lose water on their way. None: those with the water of one.
    rivers: Option<Vec<bool>>,
}

impl Place {
    /// The rain on each cell, weighted by its area.
    fn rain(&self, rain: Option<Vec<i32>>, size: Size) -> Vec<i32> {
        let mut rain = rain.unwrap_or_else(|| vec![RAIN as i32; size.cells()]);
        if let Some(metric) = &self.metric {
            for (y, row) in rain.chunks_mut(size.width).enumerate() {
                let area = metric.area(y);
                // A float above the range becomes the end of it.
                row.iter_mut().for_each(|rain| *rain = (f64::from(*rain) * area).round() as i32);
            }
        }
        self.missing.iter().for_each(|&cell| rain[cell] = 0);
        rain
    }

    /// Whether a cell is outside the land.
    fn is_missing(&self, cell: usize) -> bool {
        self.missing.binary_search(&cell).is_ok()
    }

    /// The area of some cells, in squares of the land's spacing.
    fn area(&self, cells: &[u32], size: Size) -> f64 {
        match &self.metric {
            None => cells.len() as f64,
            Some(metric) => cells.iter().map(|&cell| metric.area(cell as usize / size.width)).sum(),
        }
    }
}

impl Water {
    /// Finds the water of a land: words of height, `width` to a row, and for each cell the layer of rain, 0 to 65536, where there is one.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if there is too little memory.
    pub fn of(ground: Vec<i32>, width: usize, scale: Scale, rain: Option<Vec<i32>>, settings: &Settings) -> Result<Self> {
        Self::on(&Place::default(), ground, width, scale, rain, settings)
    }

    /// The same on a land whose cells differ. What lies outside takes water as the sea does, at the height that it is given.
    ///
    /// # Errors
    /// As [`Water::of`].
    pub fn on(
        place: &Place,
        ground: Vec<i32>,
        width: usize,
        scale: Scale,
        rain: Option<Vec<i32>>,
        settings: &Settings,
    ) -> Result<Self> {
        let dry = settings.dry();
        let way = Way { descent: settings.descent, metric: place.metric.as_ref() };
        memory::admit("water", ground.len() as u64 * MOST_BYTES)?;
        let size = Size { width: width.max(1), height: ground.len() / width.max(1) };
        let mut surface = ground.clone();
        // What falls on a cell goes with its area, and none falls outside the land.
        let rain = if place.metric.is_none() && place.missing.is_empty() { rain } else { Some(place.rain(rain, size)) };
        let mut known = vec![UNKNOWN; ground.len()];
        place.missing.iter().for_each(|&cell| known[cell] = SEA);
        if let Some(level) = settings.sea_level_m {
            // The sea may lie beyond the heights of the map.
            let word = ((level - scale.datum_m) / scale.spacing_m * f64::from(CELL)).round();
            flood_sea(size, &mut surface, &mut known, word.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        }
        let mut basins = flood::basins(size, &surface, way, known);
        let hollows = flood::hollows(size, &surface, &basins);
        let (directions, full) = match settings.hollows {
            Through::Fill => {
                let of = |cell: usize| rain.as_ref().map_or(RAIN, |rain| i64::from(rain[cell]));
                match dry {
                    0 => {
                        let levels = hollows.full(basins.pits.len() + 1);
                        flood::routed(size, &ground, &mut surface, way, &basins, &levels)
                    }
                    _ => {
                        let levels = budget::levels(&surface, &basins, &hollows, of, dry);
                        levels.routed(size, &ground, &mut surface, &basins, &hollows)
                    }
                }
            }
            Through::Breach => {
                hollows.breach(size, &mut basins);
                let mut directions = basins.directions;
                if settings.descent == Descent::Lowest {
                    // Beside a way through a rim the lowest neighbour is on that way, which is known only when the rim is cut.
                    let cut = area::sums(size, &directions, vec![], Some(surface)).least;
                    surface = cut.unwrap_or_default();
                    directions = flood::routed_again(size, &surface, way, &directions);
                }
                (directions, vec![])
            }
        };
        let drops = |rain: &Option<Vec<i32>>| match rain {
            Some(rain) => rain.iter().map(|rain| i64::from(*rain)).collect(),
            None => vec![RAIN; ground.len()],
        };
        let spreads = (settings.drainage == Spread::Multiple).then(|| drops(&rain));
        let weights: Vec<Vec<i64>> = rain.iter().map(|rain| rain.iter().map(|rain| i64::from(*rain)).collect()).collect();
        // Where a rim is cut, water stands no higher than above it.
        let cut = (settings.hollows == Through::Breach).then(|| std::mem::take(&mut surface));
        let area::Sums { cells, mut weights, least } = area::sums(size, &directions, weights, cut);
        let surface = least.unwrap_or(surface);
        let left = (dry > 0).then(|| {
            let of = |cell: usize| weights.first().map_or(i64::from(cells[cell]) * RAIN, |rain| rain[cell]);
            let mut left = drops(&rain);
            // What a lake loses is taken from what leaves it.
            for (lake, lost) in full.iter().zip(budget::lost(size, &directions, &full, of, dry)) {
                if let Some(outlet) = lake.outlet {
                    left[outlet as usize] -= lost;
                }
            }
            area::sums(size, &directions, vec![left], None).weights.remove(0)
        });
        let least = settings.lake_cells(&scale);
        // A lake without an outlet is one however small it is: water ends there.
        let (lakes, small): (Vec<Full>, Vec<Full>) =
            full.into_iter().partition(|full| full.outlet.is_none() || full.cells.len() >= least);
        let mut puddles = vec![false; if small.is_empty() { 0 } else { ground.len() }];
        small.iter().flat_map(|full| &full.cells).for_each(|&cell| puddles[cell as usize] = true);
        let spread = spreads.map(|rain| area::spread(size, &directions, &surface, rain));
        let mut water = Self {
            size,
            scale,
            place: place.clone(),
            settings: settings.clone(),
            directions,
            ground,
            surface,
            cells,
            rain: weights.pop(),
            left,
            spread,
            bed: None,
            lakes,
            puddles,
            rivers: None,
        };
        if water.left.is_some() || place.flow.is_some() {
            water.rivers = Some(water.begun());
        }
        Ok(water)
    }

    /// Which cells have rivers: those with the water of one, and all below them. A river that a lake makes less goes on to its end.
    fn begun(&self) -> Vec<bool> {
        let mut rivers = vec![false; self.ground.len()];
        for cell in (0..rivers.len()).filter(|&cell| self.makes_river(cell)) {
            let mut at = cell;
            while self.directions[at] <= OUT && !std::mem::replace(&mut rivers[at], true) {
                match self.size.target(at, self.directions[at]) {
                    Some(to) => at = to,
                    None => break,
                }
            }
        }
        rivers
    }

    /// The rain upstream of a cell.
    fn rain(&self, cell: usize) -> i64 {
        self.rain.as_ref().map_or(i64::from(self.cells[cell]) * RAIN, |rain| rain[cell])
    }

    /// The water of a cell: the rain upstream less what evaporated.
    fn water(&self, cell: usize) -> i64 {
        self.left.as_ref().map_or_else(|| self.rain(cell), |left| left[cell])
    }

    /// The least water of a river.
    fn least(&self) -> i64 {
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        match self.settings.river_km2 {
            None => RIVER_CELLS * RAIN,
            // To the nearest unit of the rain; a float above the range becomes the end of it.
            Some(area) => (area * 1e6 / cell_m2 * RAIN as f64).round() as i64,
        }
    }

    /// Whether the water of a cell is that of a river. Where nothing runs off there is none.
    fn makes_river(&self, cell: usize) -> bool {
        let has_water = match (self.settings.river_flow, &self.place.flow) {
            (Some(least), Some(flow)) => f64::from(flow[cell] as u32) >= least,
            _ => self.water(cell) >= self.least().max(1),
        };
        self.settings.runoff_mm > 0.0 && self.directions[cell] <= OUT && has_water
    }

    /// Whether there is a river in a cell, which it also has where it crosses a lake.
    pub fn is_river(&self, cell: usize) -> bool {
        self.rivers.as_ref().map_or_else(|| self.makes_river(cell), |rivers| rivers[cell])
    }

    /// Whether a cell stands in water that is too little for a lake.
    pub fn is_puddle(&self, cell: usize) -> bool {
        self.puddles.get(cell).is_some_and(|puddle| *puddle)
    }

    /// Whether a cell is under the water of the sea or of a lake.
    pub fn is_wet(&self, cell: usize) -> bool {
        self.surface[cell] > self.ground[cell] && !self.is_puddle(cell)
    }

    /// Whether a cell has a river, a lake, a puddle or the sea.
    pub fn has_water(&self, cell: usize) -> bool {
        self.is_wet(cell) || self.is_puddle(cell) || self.is_river(cell)
    }

    /// How deep the sea and lakes are, and rivers whose beds are cut, in words of height.
    pub fn depth(&self) -> Vec<i32> {
        let floor = self.bed.as_ref().unwrap_or(&self.ground);
        // In a puddle there is water where a bed was cut.
        let is_dry = |cell: usize| {
            self.is_puddle(cell) && floor[cell] == self.ground[cell] && !(self.bed.is_some() && self.is_river(cell))
        };
        let depth = |cell: usize| if is_dry(cell) { 0 } else { self.surface[cell].saturating_sub(floor[cell]).max(0) };
        (0..floor.len()).into_par_iter().map(depth).collect()
    }

    /// Discharge of a cell in m³/s.
    fn discharge(&self, cell: usize) -> f64 {
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        self.water(cell) as f64 / RAIN as f64 * cell_m2 * (self.settings.runoff_mm / 1000.0) / YEAR_S
    }

    /// Values of cells as the bits of floats.
    fn values(&self, of: impl Fn(usize) -> f64 + Sync) -> Vec<i32> {
        (0..self.ground.len()).into_par_iter().map(|cell| (of(cell) as f32).to_bits() as i32).collect()
    }

    /// The area that drains through each cell in m², weighted by the rain, as bits of floats.
    pub fn drainage_area(&self) -> Vec<i32> {
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        match &self.spread {
            Some(rain) => self.values(|cell| rain[cell] as f64 / RAIN as f64 * cell_m2),
            None => self.values(|cell| self.drainage_m2(cell)),
        }
    }

    /// A value of rivers, 0 elsewhere, as bits of floats.
    fn rivers(&self, of: impl Fn(Channel) -> f64 + Sync) -> Vec<i32> {
        self.values(|cell| if self.is_river(cell) { of(self.channel(cell)) } else { 0.0 })
    }

    /// The discharge of rivers in m³/s, 0 elsewhere, as bits of floats.
    pub fn river_discharge(&self) -> Vec<i32> {
        self.rivers(|river| river.discharge)
    }

    /// The width of rivers in metres, 0 elsewhere, as bits of floats.
    pub fn river_width(&self) -> Vec<i32> {
        self.rivers(|river| river.width_m)
    }

    /// The mean depth of rivers in metres, 0 elsewhere, as bits of floats.
    pub fn river_depth(&self) -> Vec<i32> {
        self.rivers(|river| river.depth_m)
    }

    /// The mean velocity of rivers in m/s, 0 elsewhere, as bits of floats.
    pub fn river_velocity(&self) -> Vec<i32> {
        self.rivers(|river| river.velocity)
    }

    /// The order of rivers (A. N. Strahler, *Quantitative analysis of watershed geomorphology*, 1957), 0 elsewhere.
    pub fn stream_order(&self) -> Vec<i32> {
        let mut rivers: Vec<u32> =
            (0..self.ground.len() as u32).into_par_iter().filter(|&cell| self.is_river(cell as usize)).collect();
        // Fewer cells lie upstream than downstream.
        rivers.par_sort_unstable_by_key(|&cell| (self.cells[cell as usize], cell));
        let mut order = vec![0i32; self.ground.len()];
        let mut joins = std::collections::HashMap::<usize, (i32, u32)>::new();
        for cell in rivers {
            let cell = cell as usize;
            let (highest, count) = joins.remove(&cell).unwrap_or((0, 0));
            let own = if count == 1 { highest } else { highest + 1 };
            order[cell] = own;
            if let Some(to) = self.size.target(cell, self.directions[cell]) {
                let join = joins.entry(to).or_insert((own, 0));
                *join = if own > join.0 { (own, 1) } else { (join.0, join.1 + u32::from(own == join.0)) };
            }
        }
        order
    }

    /// The cells where water leaves the land: over the border, into the sea, or into the air at the deepest place of a hollow.
    pub fn mouths(&self) -> Vec<usize> {
        let ends = |cell: &usize| match self.size.target(*cell, self.directions[*cell]) {
            Some(to) => self.directions[to] == SEA,
            None => self.directions[*cell] != SEA,
        };
        (0..self.ground.len()).into_par_iter().filter(ends).collect()
    }

    /// The number of the mouth to which each cell drains, from 1 in the order of the map; 0 in the sea.
    pub fn basins(&self) -> Vec<i32> {
        let mut basin = vec![-1; self.ground.len()];
        for (i, mouth) in self.mouths().into_iter().enumerate() {
            basin[mouth] = i as i32 + 1;
        }
        let mut way = vec![];
        for cell in 0..basin.len() {
            let mut at = cell;
            while basin[at] < 0 {
                way.push(at);
                match self.size.target(at, self.directions[at]) {
                    Some(to) => at = to,
                    None => basin[at] = 0,
                }
            }
            let number = basin[at];
            way.drain(..).for_each(|cell| basin[cell] = number);
        }
        basin
    }

    /// Metres to the nearest cell with a river, a lake, a puddle or the sea, 0 there and −1 where the map has none, as bits of floats.
    pub fn distance(&self) -> Vec<i32> {
        let squares = distance::squares(self.size, |cell| self.has_water(cell));
        self.values(|cell| match squares[cell] {
            u64::MAX => -1.0,
            square => (square as f64).sqrt() * self.scale.spacing_m,
        })
    }

    /// What there is, for the manifest; `beds` if they were cut.
    pub fn summary_with(&self, beds: Option<&carve::Beds>) -> serde_json::Value {
        let mut summary = self.summary();
        if let Some(beds) = beds {
            let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
            let metres = beds.words as f64 / f64::from(CELL) * self.scale.spacing_m;
            (summary["carved_cells"], summary["carved_m3"]) = (beds.cells.into(), json!(rounded(metres * cell_m2)));
        }
        summary
    }

    /// What there is, for the manifest.
    pub fn summary(&self) -> serde_json::Value {
        let count = |is: &(dyn Fn(usize) -> bool + Sync)| (0..self.ground.len()).into_par_iter().filter(|&cell| is(cell)).count();
        let wet = count(&|cell| self.is_wet(cell));
        let sea = count(&|cell| self.directions[cell] == SEA && !self.place.is_missing(cell));
        let mut summary = json!({
            "sea_cells": sea, "lakes": self.lakes.len(), "lake_cells": wet - sea,
            "river_cells": count(&|cell| self.is_river(cell) && !self.is_wet(cell)), "mouths": self.mouths().len(),
        });
        // What flows decides, as it does where a river begins.
        let most =
            (0..self.ground.len()).into_par_iter().filter(|&cell| self.directions[cell] <= OUT).map(|cell| self.water(cell));
        let cell_km2 = self.scale.spacing_m * self.scale.spacing_m / 1e6;
        let most = most.max().unwrap_or(0).max(0);
        let runs = self.settings.runoff_mm > 0.0;
        summary["largest_catchment_km2"] = json!(rounded(if runs { most as f64 / RAIN as f64 * cell_km2 } else { 0.0 }));
        summary["has_rivers"] = (runs && most >= self.least().max(1)).into();
        if self.left.is_some() {
            summary["closed_lakes"] = self.lakes.iter().filter(|lake| lake.outlet.is_none()).count().into();
        }
        summary
    }
}

/// Marks the sea: cells below its level that touch the border, or others that do.
fn flood_sea(size: Size, surface: &mut [i32], directions: &mut [u8], level: i32) {
    let mut queue: Vec<usize> = vec![];
    let mut meet = |queue: &mut Vec<usize>, cell: usize| {
        if directions[cell] == UNKNOWN && surface[cell] < level {
            directions[cell] = SEA;
            surface[cell] = level;
            queue.push(cell);
        }
    };
    let Size { width, height } = size;
    let sides = (0..height).flat_map(|y| [y * width, y * width + width - 1]);
    (0..width).chain((height - 1) * width..height * width).chain(sides).for_each(|cell| meet(&mut queue, cell));
    while let Some(cell) = queue.pop() {
        size.around(cell).for_each(|(_, n)| meet(&mut queue, n));
    }
}
