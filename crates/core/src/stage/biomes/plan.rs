//! From settings to buffers and passes: the layout of points, and the tables of biomes and noise.

use super::{
    ASSIGN_HARDNESS, ASSIGN_RAIN, ASSIGN_VEGETATION, BY_CLIMATE, BY_IMAGE, BY_NOISE, Biome,
    BiomeShape, CENSUS, CONVOLVE, DOMINATE, FLOOD, GRADIENTS, GROUP, GULP, INTERPOLATE, LIST,
    PAINT, Params, RAISE, RECORD_WORDS, SET_WORDS, SHORE, SIDE_MAX, STAGE, TEXTURE, WAVE_WORDS,
    biomes, layers, radius, table,
};
use crate::arith::{self, CELL};
use crate::lattice::{FARTHEST, Lattice};
use crate::params::Settings;
use crate::plan::{self, Buffer, Pass, Plan, Shape, Uniform};
use crate::site::{Layer, Site, Window};
use glam::IVec2;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What the lerped grid makes at nodes takes the place of what it makes at cells.
const SWAPPED: &[[&str; 2]] = &[["records", "nodes"]];

/// Where points, chunks and buckets are.
pub(super) struct Layout {
    /// Cells of a chunk's side, as a power of two.
    bits: u32,
    /// Cells between the first cell that can hold points and the first cell of the window.
    margin: i64,
    /// Chunks of cells over the window.
    pub(super) chunks: [i64; 2],
    buckets: [i64; 2],
    /// The chunks of nodes and the first node, in the coordinates of points, for the lerped grid.
    node_chunks: [i64; 2],
    node_start: [i64; 2],
    pub(super) interval: i64,
    pub(super) radius: f64,
    /// Cells of the recipe's lattice from one vertex to the next.
    stride: i64,
    /// Fraction bits of positions.
    fraction: u32,
}

impl Layout {
    pub(super) fn new(s: &Settings, site: &Site) -> Self {
        let bits = s.word("chunk_cells").parse::<u32>().map_or(4, u32::ilog2);
        let side = 1i64 << bits;
        let lerped = s.word("method") == "lerped";
        let [stride, _] = site.stride();
        let interval = match s.word("method") {
            "full" => 1,
            _ => (s.integer("interval_cells") / stride).max(1),
        };
        // On a coarser lattice places are rounded to larger parts, and still there always is a
        // point within the radius.
        let radius = match s.word("method") {
            _ if stride == 1 => radius(s),
            "scattered" => radius(s) / stride as f64 + 1.0 / 16.0,
            _ => (radius(s) / stride as f64).max(interval as f64),
        };
        let Window { origin, width, height } = site.window;
        let up = |n: i64, to: i64| (n + to - 1).div_euclid(to);
        let margin = up(radius.ceil() as i64 + if lerped { 2 * interval } else { 0 }, side) * side;
        let chunks = [up(width as i64, side), up(height as i64, side)];
        let node_start = origin.map(|o| margin - o.rem_euclid(interval));
        // The nodes reach from before the window's first cell to after its last chunk.
        let nodes = chunks.map(|n| n * side / interval + 3);
        let node_chunks = if lerped { nodes.map(|n| up(n, side)) } else { [0, 0] };
        let buckets = chunks.map(|n| n + 2 * (margin >> bits));
        // Squares of distances must fit in 32 bits for the largest chunks, because no result
        // depends on the size of chunks.
        let step = if lerped { interval } else { 1 };
        let span = radius.ceil() as i64 + (SIDE_MAX - 1) * step + 2 * SIDE_MAX;
        let fraction = (31 - (2 * span * span).ilog2()).min(16) / 2;
        Self {
            bits,
            margin,
            chunks,
            buckets,
            node_chunks,
            node_start,
            interval,
            radius,
            stride,
            fraction,
        }
    }

    /// The largest number of points in a rectangle of cells: each point has a hexagon round its
    /// vertex.
    fn most_points(&self, s: &Settings, size: [i64; 2]) -> u64 {
        let [wide, high] = match s.word("method") {
            "scattered" => {
                let f = s.number("frequency");
                // A square cell has f² · √3 points, the root of which counts along each axis.
                size.map(|n| ((n * self.stride) as f64 * f + 2.0 * FARTHEST) * 3f64.sqrt().sqrt())
            }
            _ => size.map(|n| (n as f64 / self.interval as f64).ceil()),
        };
        (wide * high).ceil() as u64
    }

    /// The points, counted; one by one where they are few.
    fn counted(&self, s: &Settings, site: &Site) -> Points {
        let most = self.most_points(s, self.buckets.map(|n| n << self.bits));
        if !site.draft || most <= FEW_POINTS {
            return Points::of(self, self.points(s, site));
        }
        let fullest = self.most_points(s, [1 << self.bits; 2]);
        Points { count: most as usize, fullest: fullest as usize, sorted: vec![], buckets: vec![] }
    }

    /// The points of all buckets: their places relative to the first cell that can hold points,
    /// with `fraction` bits.
    fn points(&self, s: &Settings, site: &Site) -> Vec<[i32; 2]> {
        let first = site.window.origin.map(|o| o - self.margin);
        let size = self.buckets.map(|n| (n << self.bits) as u32);
        if s.word("method") == "scattered" {
            // The points lie on the recipe's lattice.
            let first = first.map(|o| o * self.stride);
            let size = size.map(|n| n * self.stride as u32);
            let finer = self.stride.ilog2();
            // The frequency has been checked.
            let Ok(lattice) = Lattice::new(s.number("frequency"), site.world.seed) else {
                return vec![];
            };
            let rows: Vec<u32> = (0..size[1]).step_by(256).collect();
            let place = |p: crate::lattice::Point| {
                [0, 1].map(|a| {
                    let at = ((p.cell[a] - first[a]) << 16) + p.fraction[a] as i64;
                    (at >> (16 - self.fraction + finer)) as i32
                })
            };
            let strip = |&y: &u32| {
                lattice.within([first[0], first[1] + y as i64], [size[0], 256.min(size[1] - y)])
            };
            let stop = plan::stop();
            let heard = |_: &&u32| !stop.load(Ordering::Relaxed);
            rows.par_iter()
                .filter(heard)
                .flat_map_iter(|y| strip(y).into_iter().map(place))
                .collect()
        } else {
            let [columns, rows] = [0, 1].map(|a| {
                let start = (-first[a]).rem_euclid(self.interval) as u32;
                (start..size[a])
                    .step_by(self.interval as usize)
                    .map(|at| (at << self.fraction) as i32)
                    .collect::<Vec<_>>()
            });
            rows.iter().flat_map(|&y| columns.iter().map(move |&x| [x, y])).collect()
        }
    }
}

/// Points that a draft counts one by one, at most.
const FEW_POINTS: u64 = 1 << 16;

/// The points of a window.
struct Points {
    count: usize,
    /// Points of the bucket that has most.
    fullest: usize,
    /// By bucket, row-major; nothing in a draft of many.
    sorted: Vec<[i32; 2]>,
    /// Where the points of each bucket begin; nothing in a draft of many.
    buckets: Vec<i32>,
}

impl Points {
    fn of(layout: &Layout, points: Vec<[i32; 2]>) -> Self {
        let (sorted, buckets) = sorted(layout, points);
        let fullest = buckets.windows(2).map(|b| (b[1] - b[0]) as usize).max().unwrap_or(0);
        Self { count: sorted.len(), fullest, sorted, buckets }
    }
}

/// The points sorted by bucket, row-major, and where the points of each bucket begin.
fn sorted(layout: &Layout, points: Vec<[i32; 2]>) -> (Vec<[i32; 2]>, Vec<i32>) {
    let shift = layout.fraction + layout.bits;
    let bucket = |p: &[i32; 2]| {
        (p[1] >> shift) as usize * layout.buckets[0] as usize + (p[0] >> shift) as usize
    };
    let count = (layout.buckets[0] * layout.buckets[1]) as usize;
    let mut starts = vec![0i32; count + 1];
    points.iter().for_each(|p| starts[bucket(p) + 1] += 1);
    // Counts become beginnings.
    for b in 0..count {
        starts[b + 1] += starts[b];
    }
    let mut next = starts.clone();
    let mut all = vec![[0; 2]; points.len()];
    let stop = plan::stop();
    for p in points.chunks(1 << 20).take_while(|_| !stop.load(Ordering::Relaxed)).flatten() {
        let at = &mut next[bucket(p)];
        all[*at as usize] = *p;
        *at += 1;
    }
    (all, starts)
}

/// Most points that a circle can hold, whatever the window.
fn crowd(s: &Settings, layout: &Layout) -> f64 {
    let about = match s.word("method") {
        // Each point belongs to a vertex with a hexagon of its own, and both are within reach.
        "scattered" => {
            let r = layout.radius * layout.stride as f64 * s.number("frequency") + FARTHEST;
            r * r * 3f64.sqrt()
        }
        _ => {
            let r = layout.radius / layout.interval as f64 + std::f64::consts::FRAC_1_SQRT_2;
            r * r
        }
    };
    about * std::f64::consts::PI
}

/// The plan with records of `records_max` words, or of a single row of chunks if that has more.
pub fn plan_of(s: &Settings, site: &Site, records_max: usize) -> Plan {
    let all = biomes(s).unwrap_or_default();
    let layout = Layout::new(s, site);
    let points = layout.counted(s, site);
    let buckets = (layout.buckets[0] * layout.buckets[1]) as usize + 1;
    let (forms, waves) = forms(s, site, &layout, &all);
    let width = site.window.width;
    let (cells, lerped, from) = (site.window.cells(), s.word("method") == "lerped", s.word("from"));
    let side = 1usize << layout.bits;
    let of = |chunks: [i64; 2]| (chunks[0] * chunks[1]) as usize;
    // There are sums for cells or for nodes.
    let made_chunks = of(if lerped { layout.node_chunks } else { layout.chunks });

    let climate = from == "climate";
    let (climates, columns) =
        if climate { table(s, &all).unwrap_or_default() } else { (vec![0], 1) };
    let params = uniform(s, site, &layout, &all, [columns, climates.len() / columns.max(1)]);
    let (textures, pairs) = (super::textures(s), super::pairs(s));
    let raised = s.word("heights") != "keep";
    let pass = |kernel, params: Params, count: usize, granule: usize| {
        Pass::new(kernel, Uniform::of(params), count, granule as u32)
    };

    let gulps = gulps(&layout, points.fullest, &params);
    let area = side * side;
    let mut passes = vec![];
    if climate {
        let flooded = |kernel, leap| {
            pass(kernel, Params { leap, ..params }, cells, width as usize)
                .swapping(&[["before", "water"]])
        };
        passes.push(flooded(&SHORE, 0));
        // From the least power of two that is not below the distance.
        let leaps = (0..=(params.inland - 1).checked_ilog2().map_or(0, |n| n + 1)).rev();
        passes.extend(leaps.map(|n| flooded(&FLOOD, 1 << n)));
        // The last flood leaves its result in `water`, where `by_climate` reads it.
        passes.last_mut().into_iter().for_each(|last| last.swaps = &[]);
    }
    let found = match from {
        "climate" => &BY_CLIMATE,
        "image" => &BY_IMAGE,
        _ => &BY_NOISE,
    };
    passes.push(pass(found, params, points.count, 1));
    passes.extend(gulps.iter().map(|p| pass(&CENSUS, *p, made_chunks, 1)));
    let groups = all.len().div_ceil(GROUP) as u32;
    let made = layers(s);
    let assigned = [
        ("rain", Layer::Rain, &ASSIGN_RAIN),
        ("hardness", Layer::Hardness, &ASSIGN_HARDNESS),
        ("vegetation", Layer::Vegetation, &ASSIGN_VEGETATION),
    ];
    let convolved = |of: Params, count: usize| {
        let of = move |p: &Params| Params {
            group: of.group,
            counts: of.counts,
            weighs: of.weighs,
            strip: of.strip,
            ..*p
        };
        gulps.iter().map(move |p| pass(&CONVOLVE, of(p), count, area)).collect::<Vec<_>>()
    };
    // What follows from the records of a group in a strip.
    let used = |params: &Params, strip: &Strip| {
        let over = Params {
            chunks_across: layout.chunks[0] as i32,
            strip: strip.chunks.start as i32,
            ..*params
        };
        let per_cell = |kernel, n: usize| {
            let range = strip.cells.start + n * cells..strip.cells.end + n * cells;
            pass(kernel, over, cells, width as usize).within(range)
        };
        let mut passes = vec![];
        if lerped {
            passes.push(pass(&INTERPOLATE, over, strip.chunks.len() * area, area));
        }
        passes.extend([per_cell(&DOMINATE, 0), per_cell(&PAINT, 0)]);
        if raised {
            passes.push(per_cell(&RAISE, 0));
        }
        passes.extend(
            assigned
                .iter()
                .filter(|(_, layer, _)| made.has(*layer))
                .map(|(_, _, kernel)| per_cell(kernel, 0)),
        );
        // Of the textures and the pairs of weights, those of this group.
        for (kernel, all, each) in [(&TEXTURE, textures, GROUP / 4), (&LIST, pairs, GROUP / 2)] {
            let first = params.group as usize * each;
            passes.extend((first..all.min(first + each)).map(|n| per_cell(kernel, n)));
        }
        passes
    };
    // Per strip, so that the records of a large map do not all exist at once.
    let strips = strips(&layout, &site.window, records_max);
    let of_group = |group: u32| Params { group, weighs: 1, counts: (groups == 1) as u32, ..params };
    if lerped {
        // The nodes are few, so they are made at once, and then each strip of what lies between
        // them.
        for group in 0..if groups > 1 { groups } else { 0 } {
            passes.extend(convolved(Params { group, counts: 1, ..params }, made_chunks * area));
        }
        for group in 0..groups {
            passes.extend(convolved(of_group(group), made_chunks * area));
            passes.last_mut().into_iter().for_each(|convolve| convolve.swaps = SWAPPED);
            passes.extend(strips.iter().flat_map(|strip| used(&of_group(group), strip)));
            if group + 1 < groups {
                // The nodes go on with the next group.
                passes.last_mut().into_iter().for_each(|last| last.swaps = SWAPPED);
            }
        }
    } else {
        for strip in &strips {
            let (count, begin) = (strip.chunks.len() * area, strip.chunks.start as i32);
            // A weight needs the total of all groups. Where there is a single group, its own sums
            // are all.
            for group in 0..if groups > 1 { groups } else { 0 } {
                passes
                    .extend(convolved(Params { group, counts: 1, strip: begin, ..params }, count));
            }
            for group in 0..groups {
                passes.extend(convolved(Params { strip: begin, ..of_group(group) }, count));
                passes.extend(used(&of_group(group), strip));
            }
        }
    }

    let strip_words =
        strips.iter().map(|strip| strip.chunks.len()).max().unwrap_or(0) * area * RECORD_WORDS;
    let window = &site.window;
    // One texture or pair of weights after the other.
    let stacked = |name, each: usize| match each {
        0 => Buffer::absent(name),
        _ => Buffer { shape: Shape::Table, ..Buffer::cells(name, window, each) }.kept().unset(),
    };
    let option = |name, there: bool| {
        if there { Buffer::cells(name, window, 1).unset() } else { Buffer::absent(name) }
    };
    let mut buffers = vec![
        Buffer::height(window),
        // Only this stage reads it.
        Buffer {
            keep: None,
            ..Buffer::layer("mask", window, 1, from == "image" || super::takes_water(s))
        },
        // The words of a draft of many points are not there.
        Buffer {
            words: points.count * 2,
            ..Buffer::table("points", points.sorted.into_iter().flatten().collect())
        },
        Buffer::scratch("kinds", points.count.max(1)).unset(),
        Buffer { words: buckets, ..Buffer::table("buckets", points.buckets) },
        Buffer::table("forms", forms),
        Buffer::table("waves", waves),
        Buffer::table("gradients", gradients()),
        Buffer::table("table", climates),
        option("water", climate),
        option("before", climate),
        Buffer::scratch("sets", made_chunks * SET_WORDS).unset(),
        Buffer::scratch(
            "records",
            if lerped { made_chunks * area * RECORD_WORDS } else { strip_words },
        )
        .unset(),
        // Exchanges its name with the records.
        if lerped {
            Buffer::scratch("nodes", strip_words).unset()
        } else {
            Buffer::absent("nodes")
        },
        Buffer::cells("biome", window, 1).kept().unset(),
        Buffer::cells("biome_colour", window, 1).kept().unset(),
        if raised { Buffer::cells("lift", window, 1).unset() } else { Buffer::absent("lift") },
        Buffer::cells("red", window, 1).unset(),
        Buffer::cells("green", window, 1).unset(),
        stacked("splat", textures),
        stacked("weights", pairs),
    ];
    // Layers that it does not make stay as they are.
    for (name, layer, _) in assigned {
        buffers.push(match made.has(layer) {
            true => Buffer::cells(name, window, 1).kept().unset(),
            false => Buffer::layer(name, window, 1, site.layers.has(layer)),
        });
    }
    Plan::new(STAGE.shader, site.window, buffers, passes)
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

/// The tables of biomes and of their noises: see [`FORM_WORDS`] and [`WAVE_WORDS`].
fn forms(s: &Settings, site: &Site, layout: &Layout, all: &[Biome]) -> (Vec<i32>, Vec<i32>) {
    let q16 = |v: f64| (v * 65536.0).round() as i32;
    // World coordinates, in cells of the recipe, of the first cell that can hold points.
    let first = site.window.origin.map(|o| (o - layout.margin) * layout.stride);
    let skew = (3f64.sqrt() - 1.0) / 2.0;
    let (mut forms, mut waves): (Vec<i32>, Vec<i32>) = (vec![], vec![]);
    let mut wave = |frequency: f64, amplitude: i32| {
        let purpose = 1 + (waves.len() / WAVE_WORDS) as u32;
        let [along, across] =
            [1.0 + skew, skew].map(|v| (v * frequency * 4294967296.0).round() as u64 & 0xffff_ffff);
        // Places count modulo 2⁶⁴: 32 bits for the rhombus and 32 for the place in it.
        let [x, y] = first.map(|v| v as u64);
        let start = [(x, y), (y, x)]
            .map(|(a, b)| a.wrapping_mul(along).wrapping_add(b.wrapping_mul(across)));
        waves.extend(arith::key(site.world.seed, purpose).map(|k| k as i32));
        waves.extend([along as i32, across as i32]);
        waves.extend(start.map(|v| [v as i32, (v >> 32) as i32]).as_flattened());
        waves.push(amplitude);
        (waves.len() / WAVE_WORDS - 1) as i32
    };
    let octaves = s.integer("octaves") as i32;
    let octaves_of = |wave: &mut dyn FnMut(f64, i32) -> i32| {
        let frequency = |n: i32| (1.0 / s.number("feature_cells") * (1 << n) as f64).min(0.5);
        let numbers: Vec<i32> = (0..octaves).map(|n| wave(frequency(n), 65536 >> n)).collect();
        numbers[0]
    };
    // The noise of moisture, then that of temperature.
    octaves_of(&mut wave);
    octaves_of(&mut wave);
    for biome in all {
        let list = biome.waves();
        let numbers: Vec<i32> = list
            .iter()
            .enumerate()
            .map(|(n, (frequency, amplitude))| match (biome.shape, n) {
                (BiomeShape::Dunes, 1) => wave(*frequency, 65536),
                _ => wave(*frequency, site.units(amplitude * biome.relief_m)),
            })
            .collect();
        let candidate = octaves_of(&mut wave);
        let base = site.units(
            biome.base_m - if s.word("heights") == "replace" { site.datum_m() } else { 0.0 },
        );
        forms.extend([biome.shape as i32, base, numbers[0], list.len() as i32]);
        forms.extend([
            q16(biome.hardness.unwrap_or(0.0)),
            q16(biome.rain.unwrap_or(1.0)),
            q16(biome.vegetation.unwrap_or(0.0)),
        ]);
        let [red, green, blue] = biome.colour.map(i32::from);
        forms.extend([candidate, octaves, red << 16 | green << 8 | blue]);
    }
    (forms, waves)
}

/// Unit vectors in 24 directions, 2⁻¹⁴.
fn gradients() -> Vec<i32> {
    let turn = |n: usize| (n as f64 + 0.5) * (2.0 * std::f64::consts::PI / GRADIENTS as f64);
    (0..GRADIENTS)
        .flat_map(|n| [libm::cos(turn(n)), libm::sin(turn(n))])
        .map(|c| (c * 16384.0).round() as i32)
        .collect()
}
