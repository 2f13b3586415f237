//! From strokes to tables: pieces of paths, and for each square of cells the pieces that reach it.

use super::stroke::{Tool, ends, strokes};
use super::water::{self, Outline, Part, parts};
use super::{
    BANK, BED, BLEND, FLATTEN, LAKE, LIFT, LIP, NOISE, PAINT_HARDNESS, PAINT_HEIGHT, PAINT_RAIN,
    PAINT_UPLIFT, PAINT_VEGETATION, PIECE_WORDS, PRESS, Params, RAISE, SOFTEN, STAGE, STAMP,
    STROKE_WORDS, TILE_BITS,
};
use crate::arith::CELL;
use crate::error::{Invalid, Result};
use crate::params::Settings;
use crate::picture::Picture;
use crate::plan::{Buffer, Fill, Kernel, Pass, Plan, Uniform};
use crate::site::{HEIGHT_MAX, Layer, Site};
use crate::stage::octaves::{self, FEATURE_MAX, OCTAVE_WORDS};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Most pieces of paths that reach a land.
const PIECES_MAX: usize = 1 << 20;
/// Most meetings of a piece and a square of cells.
const MEETINGS_MAX: usize = 1 << 25;
/// Octaves of the noise of a stroke, and the weight of one compared with the last.
const OCTAVES: usize = 4;
const GAIN: f64 = 0.5;

/// A piece of a path.
pub(super) struct Piece {
    stroke: usize,
    /// Columns and rows that it reaches, both ends included.
    columns: [u32; 2],
    rows: [u32; 2],
    words: [i32; PIECE_WORDS],
}

/// The tables of a plan.
pub(super) struct Lists {
    strokes: Vec<i32>,
    pieces: Vec<i32>,
    /// For each group the ends of the lists of its squares, and then the lists.
    lists: Vec<i32>,
    octaves: Vec<i32>,
    /// The pictures of stamps, one after another.
    pictures: Vec<Arc<Picture>>,
    groups: Vec<Group>,
}

/// What stands for pictures before they are read.
static BLANK: LazyLock<Arc<Picture>> = LazyLock::new(|| Arc::new(Picture::blank()));

/// What tells a picture from the others of its size.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    File(String),
    Lake(Outline),
}

/// What a stroke stamps on a lattice.
struct Shown {
    picture: Arc<Picture>,
    source: Source,
    /// Where it is stamped: metres, and pressure.
    at: Vec<[f64; 3]>,
    /// Degrees by which it is turned clockwise.
    turn_deg: f64,
    /// Samples to a cell.
    samples: f64,
}

/// The picture that a stroke stamps, if it does. Where it has more than √2 samples to a cell it is
/// halved, so that none is passed over.
fn shown(s: &Settings, part: &Part, site: &Site) -> Option<Shown> {
    let stroke = &part.stroke;
    let (mut picture, radius_m, source, at, turn_deg) = match (stroke.tool, &stroke.file) {
        (Tool::Lake { .. }, _) => {
            let shape = water::shape(part);
            let [x, y] = shape.middle;
            let source = Source::Lake(shape.outline);
            (shape.picture, shape.radius_m, source, vec![[x, y, 1.0]], 0.0)
        }
        (Tool::Stamp { turn_deg, .. }, Some(file)) => {
            let picture = s.picture(file).unwrap_or(&BLANK).clone();
            let source = Source::File(file.clone());
            (picture, stroke.radius_m, source, stroke.at.clone(), turn_deg)
        }
        _ => return None,
    };
    let longest = picture.width.max(picture.height) - 1;
    let mut samples = f64::from(longest) * site.spacing_m() / (2.0 * radius_m);
    while samples > std::f64::consts::SQRT_2 && picture.width.min(picture.height) > 2 {
        (picture, samples) = (picture.coarser().clone(), samples / 2.0);
    }
    Some(Shown { picture, source, at, turn_deg, samples })
}

/// Strokes that one pass draws.
struct Group {
    layer: Option<Layer>,
    /// Passes that smooth the ground before; 0: it is not smoothed.
    passes: u32,
    /// Where its lists begin.
    lists: u32,
}

fn q16(share: f64) -> i32 {
    (share * 65536.0).round() as i32
}

/// The pieces of all paths that reach the window, in order. They count their strokes among the
/// parts.
pub(super) fn strips(s: &Settings, site: &Site, parts: &[Part]) -> Result<Vec<Piece>> {
    let mut pieces = vec![];
    for (i, part) in parts.iter().enumerate().filter(|(_, part)| part.is_drawn(site)) {
        match shown(s, part, site) {
            Some(shown) => {
                pieces.extend(shown.at.iter().filter_map(|point| stamp(i, site, point, &shown)));
            }
            None => pieces.extend(along(part, i, site)?),
        }
        if pieces.len() > PIECES_MAX {
            return Err(too_many(format!(
                "{} pieces of paths up to stroke {}",
                pieces.len(),
                part.of + 1
            )));
        }
    }
    Ok(pieces)
}

/// The pieces of a part's path that reach the window.
fn along(part: &Part, i: usize, site: &Site) -> Result<Vec<Piece>> {
    let (path, radius_m) = (&part.stroke.at[..], part.radius_m(site));
    // A path of one point is a piece without length.
    if let [point] = path {
        return Ok(piece(radius_m, i, site, [point; 2], [0.0; 2]).into_iter().collect());
    }
    let mut pieces = vec![];
    let lengths: Vec<f64> = path.windows(2).map(|pair| length(&pair[0], &pair[1])).collect();
    let whole: f64 = lengths.iter().sum();
    let mut way = 0.0;
    for (k, (pair, long)) in path.windows(2).zip(lengths).enumerate() {
        let count = (long / (2.0 * radius_m)).ceil().max(1.0);
        if count > PIECES_MAX as f64 {
            return Err(too_many(format!("stroke {}: a path of {count} pieces", part.of + 1)));
        }
        let at = |n: f64| [0, 1, 2].map(|k| pair[0][k] + (pair[1][k] - pair[0][k]) * (n / count));
        let share = |n: f64| match part.shares[..] {
            [] if whole > 0.0 => (way + long * (n / count)) / whole,
            [] => 0.0,
            ref all => all[k] + (all[k + 1] - all[k]) * (n / count),
        };
        for n in 0..count as u32 {
            let ends = [f64::from(n), f64::from(n + 1)];
            let [start, end] = ends.map(at);
            pieces.extend(piece(radius_m, i, site, [&start, &end], ends.map(share)));
        }
        way += long;
    }
    Ok(pieces)
}

fn too_many(what: String) -> crate::Error {
    let message = format!(
        "{what}: allowed {PIECES_MAX} pieces of up to two radii each, and {MEETINGS_MAX} meetings \
         with squares of 32 by 32 cells; \
         draw with fewer strokes or smaller brushes"
    );
    Invalid::from(message).about("stroke").into()
}

fn length(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let [x, y] = [b[0] - a[0], b[1] - a[1]];
    (x * x + y * y).sqrt()
}

/// The columns and rows of the window, both ends included, that lie within a distance, in cells, of
/// the box round two points.
fn reached(site: &Site, [a, b]: [&[f64; 3]; 2], cells: f64) -> Option<[[u32; 2]; 2]> {
    let (spacing, window) = (site.spacing_m(), site.window);
    let reach = |axis: usize, side: u32| {
        let [low, high] = [a[axis].min(b[axis]), a[axis].max(b[axis])].map(|m| m / spacing);
        // Casts of numbers that are too large stop at the ends.
        let first = ((low - cells).floor() as i64).saturating_sub(window.origin[axis]).max(0);
        let last = ((high + cells).ceil() as i64)
            .saturating_sub(window.origin[axis])
            .min(i64::from(side) - 1);
        (first <= last).then_some([first as u32, last as u32])
    };
    Some([reach(0, window.width)?, reach(1, window.height)?])
}

/// A stamp of a picture at a point, if it reaches the window.
fn stamp(i: usize, site: &Site, point: &[f64; 3], shown: &Shown) -> Option<Piece> {
    let (spacing, window) = (site.spacing_m(), site.window);
    let Shown { picture, samples, turn_deg, .. } = shown;
    let sides = [picture.width, picture.height].map(|side| f64::from(side - 1));
    // Half of the diagonal, in cells: no turn takes the picture farther.
    let corner = (sides[0] * sides[0] + sides[1] * sides[1]).sqrt() / (2.0 * samples);
    let [columns, rows] = reached(site, [point; 2], corner)?;
    let turn = turn_deg.to_radians();
    let [along, across] = [libm::cos(turn) * samples, libm::sin(turn) * samples];
    let first = [0, 1].map(|k| (point[k] / spacing).floor());
    let inside = [0, 1].map(|k| point[k] / spacing - first[k]);
    let cell = [0, 1].map(|k| (first[k] as i64 - window.origin[k]) as i32);
    let of_cell = [
        sides[0] / 2.0 - inside[0] * along - inside[1] * across,
        sides[1] / 2.0 - inside[1] * along + inside[0] * across,
    ]
    .map(q16);
    let [along, across] = [along, across].map(|samples| (samples * 4_294_967_296.0).round() as i64);
    let [high, low] = [|v: i64| (v >> 16) as i32, |v: i64| (v & 0xffff) as i32];
    let words = [
        (i * STROKE_WORDS) as i32,
        cell[0],
        cell[1],
        of_cell[0],
        of_cell[1],
        0,
        corner.ceil() as i32 + 1,
        high(along),
        low(along),
        high(across),
        low(across),
        q16(point[2]),
        0,
        0,
        0,
    ];
    Some(Piece { stroke: i, columns, rows, words })
}

/// The piece from one point to another, if it reaches the window.
fn piece(
    radius_m: f64,
    i: usize,
    site: &Site,
    [a, b]: [&[f64; 3]; 2],
    shares: [f64; 2],
) -> Option<Piece> {
    let (spacing, window) = (site.spacing_m(), site.window);
    let radius = radius_m / spacing;
    let [columns, rows] = reached(site, [a, b], radius)?;
    let first = [0, 1].map(|k| (a[k] / spacing).floor());
    let inside = [0, 1].map(|k| ((a[k] / spacing - first[k]) * 4096.0 / radius).round() as i32);
    let cell = [0, 1].map(|k| (first[k] as i64 - window.origin[k]) as i32);
    let long = length(a, b);
    let units = (long / radius_m * 4096.0).round() as i32;
    let towards =
        [0, 1].map(|k| if units > 0 { ((b[k] - a[k]) / long * 16384.0).round() as i32 } else { 0 });
    let words = [
        (i * STROKE_WORDS) as i32,
        cell[0],
        cell[1],
        inside[0],
        inside[1],
        // 2²⁸ over the radius: from cells to 2⁻¹² of the radius, with 16 bits more.
        (268_435_456.0 / radius).round() as i32,
        // A piece is at most two radii long, and its brush reaches one more.
        (3.0 * radius).ceil() as i32 + 1,
        towards[0],
        towards[1],
        units,
        // 2²⁶ over its length: from a way along it to a share.
        67_108_864i32.checked_div(units).unwrap_or(0),
        q16(a[2]),
        q16(b[2]),
        q16(shares[0]),
        q16(shares[1]),
    ];
    Some(Piece { stroke: i, columns, rows, words })
}

/// The words of a part, whose picture is the first word, columns and rows.
fn record(
    part: &Part,
    site: &Site,
    octaves: &mut Vec<i32>,
    picture: [i32; 3],
) -> [i32; STROKE_WORDS] {
    let stroke = &part.stroke;
    let layer = stroke.layer.is_some();
    let amount = |v: f64| if layer { q16(v) } else { site.units(v) };
    let value = |v: f64| if layer { q16(v) } else { site.height_of(v) };
    let (first, mut rim) = ((octaves.len() / OCTAVE_WORDS) as i32, [0; 2]);
    let (tool, amount, ends, strength) = match stroke.tool {
        Tool::Raise(by) => (RAISE, amount(by), [0; 2], 0.0),
        Tool::Noise { amount: by, feature_m, seed } => {
            let [step, parts] = site.stride();
            let cell_m = site.spacing_m() / step as f64 * parts as f64;
            let feature = ((feature_m / cell_m).round() as i64).clamp(1, FEATURE_MAX / parts);
            octaves.extend(octaves::octaves(OCTAVES, GAIN, feature, seed, site));
            (NOISE, amount(by), [0; 2], 0.0)
        }
        Tool::Stamp { amount: by, onto: None, .. } => (STAMP, amount(by), [0; 2], 0.0),
        Tool::Stamp { amount: by, onto: Some(height), strength, .. } => {
            (PRESS, amount(by), [value(height); 2], strength)
        }
        Tool::Flatten { from, to, strength } => (FLATTEN, 0, [value(from), value(to)], strength),
        Tool::Smooth { strength } => (FLATTEN, 0, [0; 2], strength),
        Tool::Lake { level, .. } if part.is_lip() => {
            rim = [water::rim(&water::shape(part), 0.0, site)[0], 0];
            (LIP, 0, [value(level); 2], 0.0)
        }
        Tool::Lake { level, depth, shore_m, outlet, .. } => {
            let shape = water::shape(part);
            // Where an outlet is kept open, water leaves nowhere else.
            let dam = if outlet.is_some() { CELL / 64 } else { 0 };
            let ends = [value(level), value(level).saturating_add(dam)];
            rim = water::rim(&shape, shore_m, site);
            (LAKE, amount(depth), ends, shore_m * stroke.falloff / shape.far_m)
        }
        Tool::River { .. } if part.is_bed() => (BED, 0, ends(&stroke.heights).map(value), 0.0),
        // Its banks. A neighbour of the bed has the height of a place that lies at most a diagonal
        // farther down.
        Tool::River { .. } => {
            let ends = ends(&stroke.heights);
            let above = site.units(water::step_m(part, ends, site)).saturating_add(CELL / 1024);
            (BANK, above, ends.map(value), 0.0)
        }
    };
    // 2²⁴ is the square of the radius.
    let inner = (1.0 - stroke.falloff) * (1.0 - stroke.falloff) * 16_777_216.0;
    let span = ((16_777_216 - inner.round() as i32) >> 9).max(1);
    let [low, high] = if layer { [0, 65536] } else { [-HEIGHT_MAX * CELL, HEIGHT_MAX * CELL] };
    let count = (octaves.len() / OCTAVE_WORDS) as i32 - first;
    let [words, columns, rows] = picture;
    [
        tool as i32,
        amount,
        ends[0],
        ends[1],
        q16(strength),
        inner.round() as i32,
        span,
        low,
        high,
        first,
        count,
        words,
        columns,
        rows,
        rim[0],
        rim[1],
    ]
}

/// The tables of the strokes that reach the window.
pub(super) fn lists(s: &Settings, site: &Site) -> Result<Lists> {
    let all = parts(strokes(s)?);
    let pieces = strips(s, site, &all)?;
    let tiles = [site.window.width, site.window.height].map(|side| side.div_ceil(1 << TILE_BITS));
    let mut octaves = vec![];
    // The pictures, each once, and where their words begin.
    let (mut pictures, mut places, mut end) = (vec![], BTreeMap::new(), 0);
    let mut place = |part: &Part| {
        let Some(Shown { picture, source, .. }) = shown(s, part, site) else { return [0; 3] };
        let first = *places.entry((source, picture.width, picture.height)).or_insert_with(|| {
            pictures.push(picture.clone());
            end += picture.words.len();
            end - picture.words.len()
        });
        [first as i32, picture.width as i32, picture.height as i32]
    };
    let records: Vec<i32> = all
        .iter()
        .flat_map(|part| match part.is_drawn(site) {
            true => record(part, site, &mut octaves, place(part)),
            false => [0; STROKE_WORDS],
        })
        .collect();
    let samples: usize = pictures.iter().map(|picture| picture.words.len()).sum();
    if samples > Picture::SAMPLES_MAX {
        let message = format!(
            "stamps and lakes of {samples} samples: allowed {} together; draw fewer of them in \
             one stage",
            Picture::SAMPLES_MAX
        );
        return Err(Invalid::from(message).about("stroke").into());
    }
    let mut made = Lists {
        strokes: records,
        pieces: pieces.iter().flat_map(|piece| piece.words).collect(),
        lists: vec![],
        octaves,
        pictures,
        groups: vec![],
    };
    let squares = |piece: &Piece| {
        let [left, right] = piece.columns.map(|x| x >> TILE_BITS);
        let [top, bottom] = piece.rows.map(|y| y >> TILE_BITS);
        (top..=bottom).flat_map(move |y| (left..=right).map(move |x| (y * tiles[0] + x) as usize))
    };
    let meetings: usize = pieces.iter().map(|piece| squares(piece).count()).sum();
    if meetings > MEETINGS_MAX {
        return Err(too_many(format!("strokes that meet {meetings} squares")));
    }
    let group = |piece: &Piece| {
        let stroke = &all[piece.stroke].stroke;
        let passes = stroke.passes(site);
        // Smoothing strokes are drawn one by one.
        (stroke.layer, passes, if passes > 0 { piece.stroke } else { usize::MAX })
    };
    let mut next = 0;
    for run in pieces.chunk_by(|a, b| group(a) == group(b)) {
        let (layer, passes, _) = group(&run[0]);
        let begin = made.lists.len();
        made.groups.push(Group { layer, passes, lists: begin as u32 });
        let mut ends = vec![0i32; (tiles[0] * tiles[1]) as usize + 1];
        run.iter().for_each(|piece| squares(piece).for_each(|square| ends[square + 1] += 1));
        let mut end = (begin + ends.len()) as i32;
        // Counts become places. The count of a square is one word late, so its list begins where
        // its own word says.
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        let mut at: Vec<usize> = ends.iter().map(|end| *end as usize).collect();
        made.lists.extend(&ends);
        made.lists.resize(end as usize, 0);
        for piece in run {
            for square in squares(piece) {
                made.lists[at[square]] = next * PIECE_WORDS as i32;
                at[square] += 1;
            }
            next += 1;
        }
    }
    Ok(made)
}

/// The settings with the strokes alone that reach the window, and all layers that are painted.
pub fn near(s: &Settings, site: &Site) -> Settings {
    let mut near = s.clone();
    let parts = parts(strokes(s).unwrap_or_default());
    let Ok(pieces) = strips(s, site, &parts) else { return near };
    let mut reached: Vec<usize> = pieces.iter().map(|piece| parts[piece.stroke].of).collect();
    reached.sort_unstable();
    reached.dedup();
    let list = s.list("stroke");
    let mut left: Vec<_> = reached.into_iter().filter_map(|i| list.get(i)).cloned().collect();
    // A layer that is painted elsewhere is made here, too: by a stroke that changes nothing.
    let painted = (STAGE.layers)(s);
    for (name, ..) in Layer::PAINTED.iter().filter(|(_, layer, _)| painted.has(*layer)) {
        if !left.iter().any(|stroke| stroke["layer"] == **name) {
            let radius_m = site.spacing_m();
            left.push(json!({ "tool": "raise", "layer": name, "at_m": [[0, 0]],
                "radius_m": radius_m, "amount": 0 }));
        }
    }
    // A part of a list that was accepted is accepted.
    let _ = near.set(STAGE.params, "stroke", &crate::params::Value::List(left));
    near
}

pub(super) fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    // The settings have been checked.
    let Ok(Lists { strokes, pieces, lists, octaves, pictures, groups }) = lists(s, site) else {
        return Plan::new(STAGE.shader, *window, vec![Buffer::height(window)], vec![]);
    };
    let filled = |words: Vec<i32>| if words.is_empty() { vec![0] } else { words };
    let mut buffers = vec![
        Buffer::height(window),
        Buffer::table("strokes", filled(strokes)),
        Buffer::table("pieces", filled(pieces)),
        Buffer::table("lists", filled(lists)),
        Buffer::table("octaves", filled(octaves)),
        Buffer::table(
            "pictures",
            filled(pictures.iter().flat_map(|picture| &picture.words).copied().collect()),
        ),
    ];
    let painted = (STAGE.layers)(s);
    // A layer begins as what stages take for granted without it.
    for (name, layer, usual) in Layer::PAINTED {
        let fill = if site.layers.has(layer) { Fill::Keep } else { Fill::Word(usual) };
        buffers.push(match painted.has(layer) {
            true => Buffer { fill, ..Buffer::cells(name, window, 1).kept() },
            // One that is there stays.
            false => Buffer::layer(name, window, 1, site.layers.has(layer)),
        });
    }
    let smooths = groups.iter().any(|group| group.passes > 0);
    for name in ["soft", "softer"] {
        buffers.push(if smooths {
            Buffer::cells(name, window, 1).unset()
        } else {
            Buffer::absent(name)
        });
    }
    let usual = Params {
        width: window.width as i32,
        height: window.height as i32,
        tiles: window.width.div_ceil(1 << TILE_BITS),
        lists: 0,
        step: site.stride()[0] as i32,
        apart: 0,
    };
    let pass =
        |kernel: &'static Kernel, params: Params| Pass::over(kernel, Uniform::of(params), window);
    let mut passes = vec![];
    for Group { layer, passes: count, lists } in groups {
        let params = Params { lists, ..usual };
        if count == 0 {
            let kernel = match layer {
                Some(Layer::Rain) => &PAINT_RAIN,
                Some(Layer::Hardness) => &PAINT_HARDNESS,
                Some(Layer::Uplift) => &PAINT_UPLIFT,
                Some(_) => &PAINT_VEGETATION,
                None => &PAINT_HEIGHT,
            };
            passes.push(pass(kernel, params));
            continue;
        }
        passes.push(pass(&LIFT, params));
        let soften = |n: u32| {
            pass(&SOFTEN, Params { apart: 1 << n, ..params }).swapping(&[["soft", "softer"]])
        };
        passes.extend((0..count).map(soften));
        passes.push(pass(&BLEND, params));
    }
    Plan::new(STAGE.shader, *window, buffers, passes)
}
