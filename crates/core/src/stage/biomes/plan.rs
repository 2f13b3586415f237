//! From settings to buffers and passes.

use super::layout::{Layout, Points, crowd};
use super::tables::Tables;
use super::{
    ASSIGN_HARDNESS, ASSIGN_RAIN, ASSIGN_VEGETATION, BY_CLIMATE, BY_IMAGE, BY_NOISE, Biome, CENSUS,
    CONVOLVE, DOMINATE, FLOOD, GROUP, GULP, INTERPOLATE, LIST, PAINT, Params, RAISE, RECORD_WORDS,
    SET_WORDS, SHORE, STAGE, TEXTURE, biomes, layers,
};
use crate::arith::CELL;
use crate::params::Settings;
use crate::plan::{Buffer, Kernel, Pass, Plan, Shape, Uniform};
use crate::site::{Layer, Site, Window};
use glam::IVec2;
use std::ops::Range;

/// What the lerped grid makes at nodes takes the place of what it makes at cells.
const SWAPPED: &[[&str; 2]] = &[["records", "nodes"]];

/// The layers that biomes can make, and the kernels that do it.
static ASSIGNED: [(&str, Layer, &Kernel); 3] = [
    ("rain", Layer::Rain, &ASSIGN_RAIN),
    ("hardness", Layer::Hardness, &ASSIGN_HARDNESS),
    ("vegetation", Layer::Vegetation, &ASSIGN_VEGETATION),
];

/// The plan with records of `records_max` words, or of a single row of chunks if that has more.
pub fn plan_of(s: &Settings, site: &Site, records_max: usize) -> Plan {
    let all = biomes(s).unwrap_or_default();
    let layout = Layout::new(s, site);
    let points = layout.counted(s, site);
    let tables = Tables::of(s, site, &layout, &all);
    let params = uniform(s, site, &layout, &all, tables.shape);
    let strips = strips(&layout, &site.window, records_max);
    let largest = strips.iter().map(|strip| strip.chunks.len()).max().unwrap_or(0);
    let passes = Passes {
        s,
        layout: &layout,
        window: &site.window,
        params,
        gulps: gulps(&layout, points.fullest, &params),
        strips,
        groups: all.len().div_ceil(GROUP) as u32,
    };
    let passes = passes.all(points.count);
    Plan::new(STAGE.shader, site.window, buffers(s, site, &layout, points, tables, largest), passes)
}

/// All buffers. `largest` is the number of chunks of the largest strip.
fn buffers(
    s: &Settings,
    site: &Site,
    layout: &Layout,
    points: Points,
    tables: Tables,
    largest: usize,
) -> Vec<Buffer> {
    let window = &site.window;
    let (climate, raised) = (s.word("from") == "climate", s.word("heights") != "keep");
    let given = s.word("from") == "image" || super::takes_water(s);
    // One texture or pair of weights after the other.
    let stacked = |name, each: usize| match each {
        0 => Buffer::absent(name),
        _ => Buffer { shape: Shape::Table, ..Buffer::cells(name, window, each) }.kept().unset(),
    };
    let option = |name, there: bool| {
        if there { Buffer::cells(name, window, 1).unset() } else { Buffer::absent(name) }
    };
    let made_chunks = layout.made_chunks();
    let [of_nodes, of_strip] =
        [made_chunks, largest].map(|chunks| chunks * layout.area() * RECORD_WORDS);
    let records = if layout.is_lerped() { of_nodes } else { of_strip };
    let mut buffers = vec![
        Buffer::height(window),
        // Only this stage reads it.
        Buffer { keep: None, ..Buffer::layer("mask", window, 1, given) },
        // The words of a draft of many points are not there.
        Buffer {
            words: points.count * 2,
            ..Buffer::table("points", points.sorted.into_iter().flatten().collect())
        },
        Buffer::scratch("kinds", points.count.max(1)).unset(),
        Buffer { words: layout.bucket_count() + 1, ..Buffer::table("buckets", points.buckets) },
        Buffer::table("forms", tables.forms),
        Buffer::table("waves", tables.waves),
        Buffer::table("gradients", tables.gradients),
        Buffer::table("table", tables.climates),
        option("water", climate),
        option("before", climate),
        Buffer::scratch("sets", made_chunks * SET_WORDS).unset(),
        Buffer::scratch("records", records).unset(),
        // Exchanges its name with the records.
        if layout.is_lerped() {
            Buffer::scratch("nodes", of_strip).unset()
        } else {
            Buffer::absent("nodes")
        },
        Buffer::cells("biome", window, 1).kept().unset(),
        Buffer::cells("biome_colour", window, 1).kept().unset(),
        option("lift", raised),
        Buffer::cells("red", window, 1).unset(),
        Buffer::cells("green", window, 1).unset(),
        stacked("splat", super::textures(s)),
        stacked("weights", super::pairs(s)),
    ];
    // Layers that it does not make stay as they are.
    let made = layers(s);
    buffers.extend(ASSIGNED.map(|(name, layer, _)| match made.has(layer) {
        true => Buffer::cells(name, window, 1).kept().unset(),
        false => Buffer::layer(name, window, 1, site.layers.has(layer)),
    }));
    buffers
}

/// A pass in which invocations that belong together come in granules of this many.
fn pass(kernel: &'static Kernel, params: Params, count: usize, granule: usize) -> Pass {
    Pass::new(kernel, Uniform::of(params), count, granule as u32)
}

/// What the passes follow from.
struct Passes<'a> {
    s: &'a Settings,
    layout: &'a Layout,
    window: &'a Window,
    /// What all passes start from.
    params: Params,
    /// The rows of buckets near a chunk: see [`gulps`].
    gulps: Vec<Params>,
    /// Records are made strip by strip, so that those of a large map do not all exist at once.
    strips: Vec<Strip>,
    /// Biomes are summed in groups of [`GROUP`].
    groups: u32,
}

impl Passes<'_> {
    /// All passes, over this many points.
    fn all(&self, points: usize) -> Vec<Pass> {
        let found = match self.s.word("from") {
            "climate" => &BY_CLIMATE,
            "image" => &BY_IMAGE,
            _ => &BY_NOISE,
        };
        let made_chunks = self.layout.made_chunks();
        let mut passes = if self.s.word("from") == "climate" { self.flood() } else { vec![] };
        passes.push(pass(found, self.params, points, 1));
        passes.extend(self.gulps.iter().map(|p| pass(&CENSUS, *p, made_chunks, 1)));
        passes.extend(if self.layout.is_lerped() { self.by_nodes() } else { self.by_strips() });
        passes
    }

    /// The distance from the sea, by jump flooding (G. Rong, T.-S. Tan, *Jump flooding in GPU*,
    /// 2006).
    fn flood(&self) -> Vec<Pass> {
        let flooded = |kernel, leap| {
            let params = Params { leap, ..self.params };
            pass(kernel, params, self.window.cells(), self.window.width as usize)
                .swapping(&[["before", "water"]])
        };
        let mut passes = vec![flooded(&SHORE, 0)];
        // From the least power of two that is not below the distance.
        let leaps = (0..=(self.params.inland - 1).checked_ilog2().map_or(0, |n| n + 1)).rev();
        passes.extend(leaps.map(|n| flooded(&FLOOD, 1 << n)));
        // The last flood leaves its result in `water`, where `by_climate` reads it.
        passes.last_mut().into_iter().for_each(|last| last.swaps = &[]);
        passes
    }

    /// Records of all nodes, which are few, and then strip by strip what lies between them.
    fn by_nodes(&self) -> Vec<Pass> {
        let nodes = self.layout.made_chunks();
        let mut passes = vec![];
        for params in self.counting() {
            passes.extend(self.convolve(params, nodes));
        }
        for group in 0..self.groups {
            passes.extend(self.convolve(self.weighing(group), nodes));
            passes.last_mut().into_iter().for_each(|convolve| convolve.swaps = SWAPPED);
            passes.extend(
                self.strips.iter().flat_map(|strip| self.use_records(self.weighing(group), strip)),
            );
            if group + 1 < self.groups {
                // The nodes go on with the next group.
                passes.last_mut().into_iter().for_each(|last| last.swaps = SWAPPED);
            }
        }
        passes
    }

    /// Records of the cells of each strip, and what follows from them.
    fn by_strips(&self) -> Vec<Pass> {
        let mut passes = vec![];
        for strip in &self.strips {
            let (chunks, first) = (strip.chunks.len(), strip.chunks.start as i32);
            for params in self.counting() {
                passes.extend(self.convolve(Params { strip: first, ..params }, chunks));
            }
            for group in 0..self.groups {
                let params = self.weighing(group);
                passes.extend(self.convolve(Params { strip: first, ..params }, chunks));
                passes.extend(self.use_records(params, strip));
            }
        }
        passes
    }

    /// The rounds that only add to the totals: a weight needs the total of all groups. Where there
    /// is a single group, its own sums are all.
    fn counting(&self) -> impl Iterator<Item = Params> + use<> {
        let (groups, params) = (self.groups, self.params);
        let groups = 0..if groups > 1 { groups } else { 0 };
        groups.map(move |group| Params { group, counts: 1, ..params })
    }

    /// The round that makes the weights of a group.
    fn weighing(&self, group: u32) -> Params {
        Params { group, weighs: 1, counts: (self.groups == 1) as u32, ..self.params }
    }

    /// Sums over the points near each cell, or node, of this many chunks.
    fn convolve(&self, of: Params, chunks: usize) -> impl Iterator<Item = Pass> {
        let area = self.layout.area();
        let Params { group, counts, weighs, strip, .. } = of;
        self.gulps.iter().map(move |p| {
            pass(&CONVOLVE, Params { group, counts, weighs, strip, ..*p }, chunks * area, area)
        })
    }

    /// What follows from the records of a group in a strip.
    fn use_records(&self, params: Params, strip: &Strip) -> Vec<Pass> {
        let (cells, area) = (self.window.cells(), self.layout.area());
        let over = Params {
            chunks_across: self.layout.chunks[0] as i32,
            strip: strip.chunks.start as i32,
            ..params
        };
        let per_cell = |kernel, n: usize| {
            let range = strip.cells.start + n * cells..strip.cells.end + n * cells;
            pass(kernel, over, cells, self.window.width as usize).within(range)
        };
        let mut passes = vec![];
        if self.layout.is_lerped() {
            passes.push(pass(&INTERPOLATE, over, strip.chunks.len() * area, area));
        }
        passes.extend([per_cell(&DOMINATE, 0), per_cell(&PAINT, 0)]);
        if self.s.word("heights") != "keep" {
            passes.push(per_cell(&RAISE, 0));
        }
        let made = layers(self.s);
        passes.extend(
            ASSIGNED
                .iter()
                .filter(|(_, layer, _)| made.has(*layer))
                .map(|(_, _, kernel)| per_cell(kernel, 0)),
        );
        // Of the textures and the pairs of weights, those of this group.
        let (textures, pairs) = (super::textures(self.s), super::pairs(self.s));
        for (kernel, all, each) in [(&TEXTURE, textures, GROUP / 4), (&LIST, pairs, GROUP / 2)] {
            let first = params.group as usize * each;
            passes.extend((first..all.min(first + each)).map(|n| per_cell(kernel, n)));
        }
        passes
    }
}

/// The uniform struct that all passes start from. `shape` is the columns and rows of the table of
/// climates.
fn uniform(s: &Settings, site: &Site, layout: &Layout, all: &[Biome], shape: [usize; 2]) -> Params {
    let scale = (1u64 << layout.fraction) as f64;
    let square = (layout.radius * layout.radius * scale * scale) as u32;
    // r² − d² has 15 bits and its square 30. The halvings keep every total below 2³¹.
    let shorten = (32 - square.leading_zeros()).saturating_sub(15);
    let halve = (crowd(s, layout).ceil() as u32).next_power_of_two().ilog2();
    let lapse =
        (s.number("lapse_m") / site.spacing_m() * CELL as f64).clamp(1.0, (1 << 30) as f64) as u32;
    // 15 bits, so that 16 more fit.
    let lapse_shift = (32 - lapse.leading_zeros()).saturating_sub(15);
    let lerped = s.word("method") == "lerped";
    let narrow = |pair: [i64; 2]| IVec2::from(pair.map(|v| v as i32));
    Params {
        width: site.window.width as i32,
        height: site.window.height as i32,
        margin: layout.margin as i32,
        bits: layout.bits,
        chunks_across: if lerped { layout.node_chunks[0] as i32 } else { layout.chunks[0] as i32 },
        start: if lerped { narrow(layout.node_start) } else { IVec2::splat(layout.margin as i32) },
        step: if lerped { layout.interval as i32 } else { 1 },
        buckets_across: layout.buckets[0] as i32,
        buckets_down: layout.buckets[1] as i32,
        skip: s.switch("skip") as u32,
        reach: layout.radius.ceil() as i32,
        square,
        fraction: layout.fraction,
        shorten,
        halve,
        biomes: all.len() as u32,
        node_start: narrow(layout.node_start),
        node_chunks_across: layout.node_chunks[0] as i32,
        interval: layout.interval as i32,
        heights: s.choice("heights"),
        equator: (s.integer("equator") - (site.window.origin[1] - layout.margin) * layout.stride)
            .clamp(-(1 << 20), 1 << 20) as i32,
        pole: s.integer("pole_cells") as i32,
        sea: site.height_of(s.number("sea_level_m")).clamp(1 - (1 << 30), 1 << 30),
        lapse: lapse >> lapse_shift,
        lapse_shift,
        inland: super::inland(s, site) as u32,
        coast: (s.number("coast") * 65536.0).round() as u32,
        stir: (s.number("stir") * 65536.0).round() as i32,
        columns: shape[0] as u32,
        rows: shape[1] as u32,
        below: all.iter().position(|b| b.name == "sea").map_or(-1, |n| n as i32),
        octaves: s.integer("octaves") as u32,
        level: layout.stride.ilog2(),
        wet: super::takes_water(s) as u32,
        sparse: !lerped as u32,
        ..Params::default()
    }
}

/// Whole rows of chunks, and their cells.
struct Strip {
    chunks: Range<usize>,
    cells: Range<usize>,
}

/// The strips of a window, from the north, whose records have a bounded number of words, or a
/// single row of chunks.
fn strips(layout: &Layout, window: &Window, records_max: usize) -> Vec<Strip> {
    let [across, down] = layout.chunks.map(|n| n as usize);
    let side = 1usize << layout.bits;
    let rows = (records_max / (across * side * side * RECORD_WORDS)).max(1);
    let cells = |row: usize| (row * side).min(window.height as usize) * window.width as usize;
    let strip = |row: usize| {
        let end = down.min(row + rows);
        Strip { chunks: row * across..end * across, cells: cells(row)..cells(end) }
    };
    (0..down).step_by(rows).map(strip).collect()
}

/// The rows of buckets near a chunk, divided among passes so that none reads too many points.
fn gulps(layout: &Layout, fullest: usize, params: &Params) -> Vec<Params> {
    let rows = ((2 * params.reach + ((1 << layout.bits) - 1) * params.step) >> layout.bits) + 2;
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
