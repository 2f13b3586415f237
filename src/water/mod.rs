//! Rivers, lakes and the sea of the final height: where water lies, where it goes, and how much.
//!
//! Everything up to areas, orders, basins and the places of vectors is integers on the exact words
//! of the height, on the host, so it is the same everywhere. Widths and distances are doubles made
//! with + − × ÷, √ and the powers of `libm`. Drainage is that of the map: what lies beyond its
//! border sends no water.

mod place;

#[doc(hidden)]
pub mod area;
mod budget;
#[doc(hidden)]
pub mod carve;
#[doc(hidden)]
pub mod channel;
#[doc(hidden)]
pub mod directions;
mod distance;
#[doc(hidden)]
pub mod flood;
#[doc(hidden)]
pub mod outline;
pub mod reach;
mod settings;
mod simplify;
#[doc(hidden)]
pub mod vectors;

use crate::arith::CELL;
use crate::error::Result;
use crate::memory;
use crate::params::rounded;
use crate::site::Scale;
pub use channel::{Channel, Law};
use directions::{Full, OUT, Routing, SEA, Size, UNKNOWN, Way};
pub use outline::{Polygon, Ring};
pub use place::{Extent, Place};
use rayon::prelude::*;
pub use reach::{Reach, Vertex};
use serde_json::json;
pub use settings::{AreaRouting, LAYERS, Settings, Splines, Through, VectorFormat};
pub use vectors::{Basin, Lake, Point, PointKind, Vectors};

/// Seconds of a year of 365¼ days.
const YEAR_S: f64 = 31_557_600.0;
/// Rain of 1 on a cell, in the layer's unit.
const RAIN: i64 = 65536;
/// Rivers at least so wide have banks of their own; narrower ones are brooks in grass, m.
const BANKS_M: f64 = 1.0;
/// Bytes that the water of a cell takes at most while it is found, beside its ground: a pit at
/// every fourth cell takes so many.
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
    /// Bytes of memory that finding the water of a cell of eroded land takes, with its ground. Land
    /// with a pit at every step takes up to thrice as many.
    pub(crate) fn bytes_a_cell(&self, has_rain: bool) -> u64 {
        let more = [
            (self.evaporation_mm > 0.0, DRY_BYTES),
            (self.area_routing == AreaRouting::Mfd, SPREAD_BYTES),
            (has_rain, RAIN_BYTES),
            (self.channel_flow.is_some(), FLOW_BYTES),
        ];
        4 + CELL_BYTES + more.iter().map(|(is, bytes)| if *is { *bytes } else { 0 }).sum::<u64>()
    }

    /// What is to be said of these settings on a land, where a cell has this many metres. `found`
    /// is what was found there.
    #[cfg(feature = "io")]
    pub(crate) fn warning(
        &self,
        spacing_m: f64,
        found: Option<&serde_json::Value>,
    ) -> Option<String> {
        let cell_km2 = spacing_m * spacing_m / 1e6;
        if let Some(given) = self.channel_area_km2.filter(|km2| *km2 < cell_km2) {
            return Some(format!(
                "water.channel_area_km2 = {given} is less than a cell, which has {} km², so each \
                 cell of \
                 the land is a river",
                rounded(cell_km2)
            ));
        }
        let found = found.filter(|found| found["has_rivers"] == false);
        if let Some(given) = self.channel_flow.filter(|_| found.is_some()) {
            return Some(format!(
                "there is no river: nowhere is flow {given} or more; set water.channel_flow to \
                 less \
                 than the largest that info says of the map flow"
            ));
        }
        let largest = found?["largest_catchment_km2"].as_f64()?;
        let why = match self.channel_area_km2 {
            _ if largest == 0.0 => return None,
            Some(given) => format!(
                "water.channel_area_km2 = {given} is more than the largest catchment of the land \
                 has, \
                 {largest} km²"
            ),
            None => format!(
                "without water.channel_area_km2 one begins at {} km², and the largest catchment \
                 of the land has {largest} km²",
                rounded(found?["channel_area_km2"].as_f64()?)
            ),
        };
        Some(format!("there is no river: {why}; set water.channel_area_km2 to less than that"))
    }

    /// The least drainage area of a river on a land, in m².
    fn channel_m2(&self, land: Extent) -> f64 {
        self.channel_area_km2.map_or_else(|| land.channel_m2(), |area| area * 1e6)
    }

    /// The fewest cells that the water of a depression has as a lake.
    fn lake_cells(&self, scale: &Scale, land: Extent) -> usize {
        let area = self.lake_min_m2.unwrap_or_else(|| land.lake_m2());
        // A float above the range becomes the end of it.
        (area / (scale.spacing_m * scale.spacing_m)).ceil() as usize
    }

    /// What a cell of a lake loses in a year, in the unit of the rain, to the nearest. More than
    /// any land has where nothing runs off.
    fn dry(&self) -> i64 {
        // A float above the range becomes the end of it.
        let dry = (self.evaporation_mm / self.runoff_mm * RAIN as f64).round() as i64;
        dry.min(1 << 62)
    }
}

/// The rain on an area in m², to the nearest unit.
fn drained(area_m2: f64, scale: &Scale) -> i64 {
    // A float above the range becomes the end of it.
    (area_m2 / (scale.spacing_m * scale.spacing_m) * RAIN as f64).round() as i64
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
    /// The surface of water, or the ground where it is dry, in words of height. Where a rim is
    /// breached it is below the ground, and over a puddle it is at the height of its rim. It never
    /// rises downstream, but from a depression that is deeper than the sea that it is breached to.
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
    /// Which cells have rivers, where rivers lose water on their way. None: those with the water of
    /// one.
    rivers: Option<Vec<bool>>,
}

/// The directions of water through depressions, which are filled or breached, and the lakes in
/// those that are filled. `surface` becomes that of the water. Water goes by `way`; without `rain`
/// as much falls on each cell.
fn routed(
    size: Size,
    ground: &[i32],
    surface: &mut Vec<i32>,
    mut basins: flood::Basins,
    settings: &Settings,
    (way, rain): (Way, Option<&[i32]>),
) -> (Vec<u8>, Vec<Full>) {
    let depressions = flood::depressions(size, surface, &basins);
    match settings.depressions {
        Through::Fill => {
            let of = |cell: usize| rain.map_or(RAIN, |rain| i64::from(rain[cell]));
            match settings.dry() {
                0 => {
                    let levels = depressions.full(basins.pits.len() + 1);
                    flood::routed(size, ground, surface, way, &basins, &levels)
                }
                dry => {
                    let levels = budget::levels(surface, &basins, &depressions, of, dry);
                    levels.routed(size, ground, surface, &basins, &depressions)
                }
            }
        }
        Through::Breach => {
            depressions.breach(size, &mut basins);
            let mut directions = basins.directions;
            if settings.routing == Routing::Lowest {
                // Beside a way through a rim the lowest neighbour is on that way, which is
                // known only when the rim is cut.
                let own = std::mem::take(surface);
                let cut = area::sums(size, &directions, vec![], Some(own)).least;
                *surface = cut.unwrap_or_default();
                directions = flood::routed_again(size, surface, way, &directions);
            }
            (directions, vec![])
        }
    }
}

/// What rivers have where lakes lose water to the air: of the `drops` that fall on each cell, less
/// what each of the lakes has `lost`, the sum above each cell.
fn left_over(
    size: Size,
    directions: &[u8],
    lakes: &[Full],
    lost: &[i64],
    mut drops: Vec<i64>,
) -> Vec<i64> {
    // What a lake loses is taken from what leaves it.
    for (lake, lost) in lakes.iter().zip(lost) {
        if let Some(outlet) = lake.outlet {
            drops[outlet as usize] -= lost;
        }
    }
    area::sums(size, directions, vec![drops], None).weights.remove(0)
}

impl Water {
    /// Finds the water of a land: words of height, `width` to a row, and for each cell the layer of
    /// rain, 0 to 65536, where there is one.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if there is too little memory.
    pub fn of(
        ground: Vec<i32>,
        width: usize,
        scale: Scale,
        rain: Option<Vec<i32>>,
        settings: &Settings,
    ) -> Result<Self> {
        Self::on(&Place::default(), ground, width, scale, rain, settings)
    }

    /// The same on a land whose cells differ. What lies outside takes water as the sea does, at the
    /// height that it is given.
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
        let way = Way { routing: settings.routing, metric: place.metric.as_ref() };
        memory::admit("water", ground.len() as u64 * MOST_BYTES)?;
        let size = Size { width: width.max(1), height: ground.len() / width.max(1) };
        let mut surface = ground.clone();
        // What falls on a cell goes with its area, and none falls outside the land.
        let rain = if place.metric.is_none() && place.missing.is_empty() {
            rain
        } else {
            Some(place.rain(rain, size))
        };
        let mut known = vec![UNKNOWN; ground.len()];
        place.missing.iter().for_each(|&cell| known[cell] = SEA);
        if let Some(level) = settings.sea_level_m {
            let word = ((level - scale.datum_m) / scale.spacing_m * f64::from(CELL)).round();
            // The sea may lie beyond the heights of the map.
            let word = word.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            flood_sea(size, &mut surface, &mut known, word);
        }
        let basins = flood::basins(size, &surface, way, known);
        let (directions, full) =
            routed(size, &ground, &mut surface, basins, settings, (way, rain.as_deref()));
        let springs = place.springs_of(size, &scale, settings);
        let drops = |rain: &Option<Vec<i32>>| {
            let mut drops: Vec<i64> = match rain {
                Some(rain) => rain.iter().map(|rain| i64::from(*rain)).collect(),
                None => vec![RAIN; ground.len()],
            };
            springs
                .iter()
                .for_each(|(cell, more)| drops[*cell] = drops[*cell].saturating_add(*more));
            drops
        };
        let spreads = (settings.area_routing == AreaRouting::Mfd).then(|| drops(&rain));
        let is_even = rain.is_none() && springs.is_empty();
        let weights = if is_even { vec![] } else { vec![drops(&rain)] };
        // Where a rim is cut, water stands no higher than above it.
        let cut = (settings.depressions == Through::Breach).then(|| std::mem::take(&mut surface));
        let area::Sums { cells, mut weights, least } = area::sums(size, &directions, weights, cut);
        let surface = least.unwrap_or(surface);
        let left = (dry > 0).then(|| {
            let of = |cell: usize| {
                weights.first().map_or(i64::from(cells[cell]) * RAIN, |rain| rain[cell])
            };
            let lost = budget::lost(size, &directions, &full, of, dry);
            left_over(size, &directions, &full, &lost, drops(&rain))
        });
        let least = settings.lake_cells(&scale, place.extent(size, &scale));
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

    /// Which cells have rivers: those with the water of one, and all below them. A river that a
    /// lake makes less goes on to its end.
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

    /// The least drainage area of a river, in m².
    fn channel_m2(&self) -> f64 {
        self.settings.channel_m2(self.place.extent(self.size, &self.scale))
    }

    /// The least water of a river.
    fn least(&self) -> i64 {
        drained(self.channel_m2(), &self.scale)
    }

    /// Whether the water of a cell is that of a river. Where nothing runs off there is none.
    fn makes_river(&self, cell: usize) -> bool {
        let has_water = match (self.settings.channel_flow, &self.place.flow) {
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
            self.is_puddle(cell)
                && floor[cell] == self.ground[cell]
                && !(self.bed.is_some() && self.is_river(cell))
        };
        let depth = |cell: usize| {
            if is_dry(cell) { 0 } else { self.surface[cell].saturating_sub(floor[cell]).max(0) }
        };
        (0..floor.len()).into_par_iter().map(depth).collect()
    }

    /// Discharge of a cell in m³/s.
    fn discharge(&self, cell: usize) -> f64 {
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        self.water(cell) as f64 / RAIN as f64 * cell_m2 * (self.settings.runoff_mm / 1000.0)
            / YEAR_S
    }

    /// Values of cells as the bits of floats.
    fn values(&self, of: impl Fn(usize) -> f64 + Sync) -> Vec<i32> {
        (0..self.ground.len())
            .into_par_iter()
            .map(|cell| (of(cell) as f32).to_bits() as i32)
            .collect()
    }

    /// The area that drains through each cell in m², weighted by the rain, as bits of floats.
    pub fn drainage_area(&self) -> Vec<i32> {
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        match &self.spread {
            Some(rain) => self.values(|cell| rain[cell] as f64 / RAIN as f64 * cell_m2),
            None => self.values(|cell| self.drainage_m2(cell)),
        }
    }

    /// Where the water of a cell goes, by the codes of S. K. Jenson and J. O. Domingue (*Extracting
    /// topographic structure from digital elevation data*, 1988): 1 to the east and twice as much
    /// for each next neighbour clockwise; 0 if it goes to none.
    pub fn flow_direction(&self) -> Vec<i32> {
        self.directions.par_iter().map(|way| if *way < OUT { 1 << way } else { 0 }).collect()
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

    /// The order of rivers (A. N. Strahler, *Quantitative analysis of watershed geomorphology*,
    /// 1957), 0 elsewhere.
    pub fn stream_order(&self) -> Vec<i32> {
        let mut rivers: Vec<u32> = (0..self.ground.len() as u32)
            .into_par_iter()
            .filter(|&cell| self.is_river(cell as usize))
            .collect();
        // Fewer cells lie upstream than downstream.
        rivers.par_sort_unstable_by_key(|&cell| (self.cells[cell as usize], cell));
        let mut order = vec![0i32; self.ground.len()];
        let mut joins = std::collections::HashMap::<usize, (i32, u32)>::new();
        for cell in rivers {
            let cell = cell as usize;
            let (highest, count) = joins.remove(&cell).unwrap_or((0, 0));
            // One of the highest order keeps it, and two or more make the next. A source has
            // 1.
            let own = if count == 1 { highest } else { highest + 1 };
            order[cell] = own;
            if let Some(to) = self.size.target(cell, self.directions[cell]) {
                let join = joins.entry(to).or_insert((own, 0));
                *join = if own > join.0 {
                    (own, 1)
                } else {
                    (join.0, join.1 + u32::from(own == join.0))
                };
            }
        }
        order
    }

    /// The cells where water leaves the land: over the border, into the sea, or into the air at the
    /// deepest place of a depression.
    pub fn mouths(&self) -> Vec<usize> {
        let ends = |cell: &usize| match self.size.target(*cell, self.directions[*cell]) {
            Some(to) => self.directions[to] == SEA,
            None => self.directions[*cell] != SEA,
        };
        (0..self.ground.len()).into_par_iter().filter(ends).collect()
    }

    /// The number of the mouth to which each cell drains, from 1 in the order of the map; 0 in the
    /// sea.
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

    /// Metres to the nearest cell with a river, a lake, a puddle or the sea, 0 there and −1 where
    /// the map has none, as bits of floats.
    pub fn distance(&self) -> Vec<i32> {
        self.distance_to(|cell| self.has_water(cell))
    }

    /// The same to what has banks: lakes, the sea, and rivers of [`BANKS_M`], without puddles.
    pub(crate) fn distance_to_shores(&self) -> Vec<i32> {
        let has_banks = |cell| self.is_river(cell) && self.channel(cell).width_m >= BANKS_M;
        self.distance_to(|cell| self.is_wet(cell) || has_banks(cell))
    }

    fn distance_to(&self, is_there: impl Fn(usize) -> bool + Sync) -> Vec<i32> {
        let squares = distance::squares(self.size, is_there);
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
            (summary["carved_cells"], summary["carved_m3"]) =
                (beds.cells.into(), json!(rounded(metres * cell_m2)));
        }
        summary
    }

    /// What there is, for the manifest.
    pub fn summary(&self) -> serde_json::Value {
        let count = |is: &(dyn Fn(usize) -> bool + Sync)| {
            (0..self.ground.len()).into_par_iter().filter(|&cell| is(cell)).count()
        };
        let wet = count(&|cell| self.is_wet(cell));
        let sea = count(&|cell| self.directions[cell] == SEA && !self.place.is_missing(cell));
        let mut summary = json!({
            "sea_cells": sea, "lakes": self.lakes.len(), "lake_cells": wet - sea,
            "river_cells": count(&|cell| self.is_river(cell) && !self.is_wet(cell)),
            "mouths": self.mouths().len(),
        });
        // What flows decides, as it does where a river begins.
        let most = (0..self.ground.len())
            .into_par_iter()
            .filter(|&cell| self.directions[cell] <= OUT)
            .map(|cell| self.water(cell));
        let cell_km2 = self.scale.spacing_m * self.scale.spacing_m / 1e6;
        let most = most.max().unwrap_or(0).max(0);
        let runs = self.settings.runoff_mm > 0.0;
        summary["largest_catchment_km2"] =
            json!(rounded(if runs { most as f64 / RAIN as f64 * cell_km2 } else { 0.0 }));
        let has_rivers = (0..self.ground.len()).into_par_iter().any(|cell| self.makes_river(cell));
        summary["has_rivers"] = has_rivers.into();
        if self.settings.channel_flow.is_none() {
            summary["channel_area_km2"] = json!(rounded(self.channel_m2() / 1e6));
        }
        if self.left.is_some() {
            summary["closed_lakes"] =
                self.lakes.iter().filter(|lake| lake.outlet.is_none()).count().into();
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
    (0..width)
        .chain((height - 1) * width..height * width)
        .chain(sides)
        .for_each(|cell| meet(&mut queue, cell));
    while let Some(cell) = queue.pop() {
        size.around(cell).for_each(|(_, n)| meet(&mut queue, n));
    }
}
