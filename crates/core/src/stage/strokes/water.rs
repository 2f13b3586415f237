//! Lakes and rivers that are drawn, and what of strokes is kept as it is from then on.
//!
//! A lake is a picture of the distance from its outline, whatever the lattice: 2¹⁵ on the outline,
//! more inside and less outside. A river is three brushes along one path: a wide ramp bends the
//! ground of its valley towards it, banks keep the water in, and between them its bed is cut.

use super::stroke::{RADIUS_MAX, Stroke, Tool, around, ends, strokes};
use crate::arith;
use crate::error::{Invalid, Result};
use crate::params::{Settings, Value, rounded};
use crate::picture::Picture;
use crate::site::{HEIGHT_MAX, Site};
use crate::stage::survey::Memory;
use std::sync::Arc;

/// Samples along the longer side of a lake's picture.
const SAMPLES: u32 = 257;
/// The fewest cells of a lake's longer side. Coarser lattices have no such lake.
const LAKE_CELLS: f64 = 6.0;
/// How many cells wide the rim of a lake and the banks of a bed are. The ground there is at least
/// as high as the water, so water finds no way out along a diagonal.
const RIM_CELLS: f64 = 1.5;
/// How steeply a shore rises at least, so that what runs down to a lake does not stand before it.
const RISE: f64 = 0.01;
/// The widest shore, as a multiple of the lake's length. One picture shows both.
const SHORES: f64 = 2.0;
/// Half of the least width of a bed, in cells: with more than half a diagonal it has no gap.
const BED_CELLS: f64 = 0.75;
/// And of an outlet, which leads through the whole rim.
const OUTLET_CELLS: f64 = 2.0;
/// The part of the way to its deepest place after which the bed of a lake is level.
const SLOPE: f64 = 0.6;
/// Corners of the outline of a lake that is given by a place.
const CORNERS: u32 = 48;

/// How often corners are cut, and of how many points a path or an outline has enough.
const ROUNDS: u32 = 3;
const POINTS_MAX: usize = 1024;

/// Most points of an outline that is drawn: each sample of its picture looks at all of its sides.
pub const OUTLINE_MAX: usize = 1024;

/// Pictures of lakes that were made, since each level and tile asks for them anew: 34 MB at most.
static MADE: Memory<Outline, Picture, 128> = Memory::empty();

/// What tells the picture of a lake from all others: the bits of its outline and its shore.
pub(super) type Outline = Vec<u64>;

/// A stroke, or a part of one, as a plan draws it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The stroke's number in the recipe.
    pub of: usize,
    pub stroke: Stroke,
    /// Where each point of the path lies between the two heights; empty: evenly.
    pub shares: Vec<f64>,
    /// The least radius of its brush in cells, and what is added to the radius.
    least_cells: f64,
    more_cells: f64,
    /// By how much a bank is above its bed at least, as a fall along the river.
    slope: f64,
    /// When it has its turn.
    rank: u32,
}

/// Where parts have their turns.
const VALLEY: u32 = 0;
const BANK: u32 = 1;
const LAKE: u32 = 2;
const BED: u32 = 3;
const LIP: u32 = 4;

impl Part {
    fn of(of: usize, stroke: Stroke) -> Self {
        let is_even = stroke.heights.is_empty();
        let shares = if is_even { vec![] } else { shares(&stroke.heights, ends(&stroke.heights)) };
        Self { of, shares, stroke, least_cells: 0.0, more_cells: 0.0, slope: 0.0, rank: VALLEY }
    }

    /// The radius of its brush on a lattice, in metres.
    pub fn radius_m(&self, site: &Site) -> f64 {
        let least_m = self.least_cells * site.spacing_m();
        self.stroke.radius_m.max(least_m) + self.more_cells * site.spacing_m()
    }

    /// Whether it cuts the bed of a river, or the outlet of a lake.
    pub fn is_bed(&self) -> bool {
        self.rank == BED
    }

    /// Whether it is no more of a lake than the ground next to its outline.
    pub fn is_lip(&self) -> bool {
        self.rank == LIP
    }

    /// Whether the lattice's cells are small enough for it.
    pub fn is_drawn(&self, site: &Site) -> bool {
        match self.stroke.tool {
            Tool::Lake { .. } => longer_m(&self.stroke.at) >= LAKE_CELLS * site.spacing_m(),
            _ => self.least_cells > 0.0 || self.stroke.radius_m >= site.spacing_m(),
        }
    }
}

/// The share of each height on the way from one to another.
fn shares(heights: &[f64], [from, to]: [f64; 2]) -> Vec<f64> {
    heights.iter().map(|h| if from == to { 0.0 } else { (from - h) / (from - to) }).collect()
}

fn first2([x, y, _]: [f64; 3]) -> [f64; 2] {
    [x, y]
}

/// What is drawn for strokes, in order. Banks come after all other strokes, then lakes, then beds,
/// which only cut: so rivers meet each other, go through shores, and leave no dam in a lake. The
/// lips of lakes come last. Strokes that do not reach a window change nothing of the order there.
pub(super) fn parts(strokes: Vec<Stroke>) -> Vec<Part> {
    let each = strokes.into_iter().enumerate();
    let mut parts: Vec<Part> = each.flat_map(|(i, stroke)| parts_of(i, stroke)).collect();
    parts.sort_by_key(|part| part.rank);
    parts
}

fn parts_of(i: usize, stroke: Stroke) -> Vec<Part> {
    match stroke.tool {
        Tool::River { width_m, .. } => {
            let [from, to] = ends(&stroke.heights);
            let tool = Tool::Flatten { from, to, strength: 1.0 };
            let (at, shares) = rounded_path(&stroke.at, &stroke.heights);
            let bed = Stroke { at, radius_m: width_m / 2.0, falloff: 0.0, ..stroke.clone() };
            let valley =
                Stroke { tool, radius_m: stroke.radius_m, falloff: stroke.falloff, ..bed.clone() };
            let has_valley = valley.radius_m > 0.0;
            let of = |rank: u32, stroke: Stroke, least_cells: f64| {
                let shares = shares.clone();
                Part { shares, least_cells, rank, ..Part::of(i, stroke) }
            };
            let slopes = slopes(&bed.at, &shares, from - to);
            // Banks are as high as the river falls there, so each side of the path has its own.
            let bank = |side: usize| {
                let near = side.saturating_sub(1)..(side + 2).min(slopes.len());
                Part {
                    of: i,
                    stroke: Stroke { at: bed.at[side..side + 2].to_vec(), ..bed.clone() },
                    shares: shares[side..side + 2].to_vec(),
                    least_cells: BED_CELLS,
                    more_cells: RIM_CELLS,
                    slope: slopes[near].iter().copied().fold(0.0, f64::max),
                    rank: BANK,
                }
            };
            let mut parts: Vec<Part> = (0..slopes.len()).map(bank).collect();
            parts.extend(has_valley.then(|| of(VALLEY, valley, 0.0)));
            parts.push(of(BED, bed, BED_CELLS));
            parts
        }
        Tool::Lake { level, outlet, .. } => {
            let outline = outline(&stroke);
            let sill = outlet.map(|to| {
                let from = nearest(&outline, to);
                let tool = Tool::River { width_m: 0.0, catchment_km2: None };
                let at = vec![[from[0], from[1], 1.0], [to[0], to[1], 1.0]];
                let heights = vec![level; 2];
                let sill =
                    Stroke { tool, at, heights, radius_m: 0.0, falloff: 0.0, ..stroke.clone() };
                Part { least_cells: OUTLET_CELLS, rank: BED, ..Part::of(i, sill) }
            });
            let at = outline.iter().map(|[x, y]| [*x, *y, 1.0]).collect();
            let lake = Part { rank: LAKE, ..Part::of(i, Stroke { at, ..stroke }) };
            // A river that leaves does not cut below the lake's level.
            let lip = Part { rank: LIP, ..lake.clone() };
            [lake, lip].into_iter().chain(sill).collect()
        }
        _ => vec![Part::of(i, stroke)],
    }
}

/// The strokes that hold as they are kept after each step of later stages: without what bends the
/// ground around them.
fn kept(strokes: &[Stroke]) -> Vec<Stroke> {
    let kept = |stroke: &Stroke| match stroke.tool {
        Tool::Lake { .. } => Stroke { falloff: 0.0, ..stroke.clone() },
        Tool::Flatten { .. } => {
            let radius_m = stroke.radius_m * (1.0 - stroke.falloff);
            Stroke { radius_m, falloff: 0.0, ..stroke.clone() }
        }
        _ => Stroke { radius_m: 0.0, ..stroke.clone() },
    };
    strokes.iter().filter(|stroke| stroke.hold).map(kept).collect()
}

/// How a path falls from each point to the next, of `fall` metres in all.
fn slopes(at: &[[f64; 3]], shares: &[f64], fall: f64) -> Vec<f64> {
    let slope = |(at, share): (&[[f64; 3]], &[f64])| {
        let long = square(first2(at[0]), first2(at[1])).sqrt();
        if long > 0.0 { (share[1] - share[0]) * fall / long } else { 0.0 }
    };
    at.windows(2).zip(shares.windows(2)).map(slope).collect()
}

/// How far a river falls at most beside a bank from a cell to the next, along a diagonal, in
/// metres.
pub(super) fn step_m(part: &Part, [from, to]: [f64; 2], site: &Site) -> f64 {
    // As if the whole river were a fall at most.
    (part.slope * site.spacing_m() * std::f64::consts::SQRT_2).min(from - to)
}

fn longer_m(path: &[[f64; 3]]) -> f64 {
    let [low, high] = around(path);
    (high[0] - low[0]).max(high[1] - low[1])
}

/// The outline of a lake: as it was drawn, or round its place, with bays.
fn outline(stroke: &Stroke) -> Vec<[f64; 2]> {
    let (&[[x, y, _]], Tool::Lake { seed, .. }) = (&stroke.at[..], &stroke.tool) else {
        let drawn: Vec<[f64; 2]> = stroke.at.iter().copied().map(first2).collect();
        return cut_corners(&drawn, true);
    };
    // Waves round the shore: of more, the amplitude falls.
    let wave = |n: u32| {
        let [a, b] = arith::key(*seed, n).map(|die| f64::from(die) / f64::from(u32::MAX));
        (f64::from(n), (2.0 * a - 1.0) * 0.3 / f64::from(n), b * std::f64::consts::TAU)
    };
    let waves: Vec<_> = (2..8).map(wave).collect();
    let corner = |i: u32| {
        let angle = std::f64::consts::TAU * f64::from(i) / f64::from(CORNERS);
        let far: f64 = waves.iter().map(|(n, by, from)| by * libm::cos(n * angle + from)).sum();
        let radius = stroke.radius_m * (1.0 + far);
        [x + radius * libm::cos(angle), y + radius * libm::sin(angle)]
    };
    (0..CORNERS).map(corner).collect()
}

/// The pairs of points of a closed outline.
fn sides(outline: &[[f64; 2]]) -> impl Iterator<Item = [[f64; 2]; 2]> {
    (0..outline.len()).map(|i| [outline[i], outline[(i + 1) % outline.len()]])
}

/// The place of a side that is nearest to a point.
fn onto([a, b]: [[f64; 2]; 2], at: [f64; 2]) -> [f64; 2] {
    let way = [b[0] - a[0], b[1] - a[1]];
    let long = way[0] * way[0] + way[1] * way[1];
    let along = (at[0] - a[0]) * way[0] + (at[1] - a[1]) * way[1];
    let share = if long > 0.0 { (along / long).clamp(0.0, 1.0) } else { 0.0 };
    [a[0] + way[0] * share, a[1] + way[1] * share]
}

fn square(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
}

/// The place of an outline that is nearest to a point.
fn nearest(outline: &[[f64; 2]], at: [f64; 2]) -> [f64; 2] {
    sides(outline)
        .map(|side| onto(side, at))
        .min_by(|a, b| square(*a, at).total_cmp(&square(*b, at)))
        .unwrap_or(at)
}

/// Whether a point lies within an outline: a ray to the east leaves it an odd number of times.
fn is_inside(outline: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
    let crosses = |[a, b]: &[[f64; 2]; 2]| {
        (a[1] > y) != (b[1] > y) && x < a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
    };
    sides(outline).filter(crosses).count() % 2 == 1
}

/// The picture of a lake.
pub(super) struct Shape {
    pub picture: Arc<Picture>,
    /// What tells it from others.
    pub outline: Outline,
    /// The middle of the picture, in metres.
    pub middle: [f64; 2],
    /// Half of its longer side, in metres.
    pub radius_m: f64,
    /// Metres from the outline to where the picture is 0.
    pub far_m: f64,
}

/// The picture of a lake, whose path is its outline.
pub(super) fn shape(part: &Part) -> Shape {
    let (at, tool) = (&part.stroke.at, part.stroke.tool);
    let shore_m = if let Tool::Lake { shore_m, .. } = tool { shore_m } else { 0.0 };
    let [low, high] = around(at);
    let size = [high[0] - low[0], high[1] - low[1]];
    let far_m = (size[0].max(size[1]) / 4.0).max(shore_m);
    let sides_m = size.map(|side| side + 2.0 * far_m);
    let step = sides_m[0].max(sides_m[1]) / f64::from(SAMPLES - 1);
    let [width, height] =
        sides_m.map(|side| (side / step).ceil().min(f64::from(SAMPLES - 1)) as u32 + 1);
    let middle = [0, 1].map(|k| (low[k] + high[k]) / 2.0);
    let bits: Outline = at.iter().flatten().chain([&far_m]).map(|v| v.to_bits()).collect();
    let picture = MADE.get(bits.clone(), || {
        let outline: Vec<[f64; 2]> =
            at.iter().map(|[x, y, _]| [x - middle[0], y - middle[1]]).collect();
        let place = |n: u32, count: u32| (f64::from(n) - f64::from(count - 1) / 2.0) * step;
        let signed: Vec<f64> = (0..width * height)
            .map(|i| {
                let at = [place(i % width, width), place(i / width, height)];
                let far = square(nearest(&outline, at), at).sqrt();
                if is_inside(&outline, at) { far } else { -far }
            })
            .collect();
        let most = signed.iter().copied().fold(step, f64::max) * SLOPE;
        let word = |far: &f64| {
            let part = if *far >= 0.0 { (far / most).min(1.0) } else { (far / far_m).max(-1.0) };
            (32768.0 * (1.0 + part)).round() as i32
        };
        Picture::new(width, height, signed.iter().map(word).collect())
    });
    let radius_m = f64::from(SAMPLES - 1) * step / 2.0;
    Shape { picture, outline: bits, middle, radius_m, far_m }
}

/// How far from the outline the ground is not below the water, in 2⁻¹⁵ of the picture's range, and
/// by how much it rises over all of that range.
pub(super) fn rim(shape: &Shape, shore_m: f64, site: &Site) -> [i32; 2] {
    let wide_m = shore_m.max(RIM_CELLS * site.spacing_m());
    let wide = ((wide_m / shape.far_m).min(1.0) * 32768.0).ceil() as i32;
    [wide, site.units(shape.far_m * RISE)]
}

impl Stroke {
    /// Refuses a lake or a river that a lattice cannot have.
    pub(super) fn check_water(&self, place: &str, site: &Site) -> Result<()> {
        let spacing = site.spacing_m();
        let wrong = |key: &str, given: f64, allowed: String| {
            let message = format!(
                "{place}: {key} = {} at spacing_m = {}: allowed {allowed}",
                rounded(given),
                rounded(spacing)
            );
            Err(Invalid::of(key, given, allowed).saying(message).into())
        };
        let most = f64::from(HEIGHT_MAX) * spacing;
        let [low, high] = [-most, most].map(|v| rounded(site.datum_m() + v));
        let within = |key: &str, heights: &[f64]| match heights
            .iter()
            .find(|v| (**v - site.datum_m()).abs() > most)
        {
            Some(height) => wrong(key, *height, format!("{low} to {high} m")),
            None => Ok(()),
        };
        match self.tool {
            Tool::Lake { level, depth, shore_m, .. } => {
                if self.at.len() > OUTLINE_MAX {
                    let allowed = format!("an outline of 3 to {OUTLINE_MAX} points");
                    let message =
                        format!("{place}: at_m has {} points: allowed {allowed}", self.at.len());
                    return Err(Invalid::of("at_m", self.at.len(), allowed).saying(message).into());
                }
                within("level_m", &[level])?;
                within("depth_m", &[level - depth])?;
                let outline = outline(self).into_iter().map(|[x, y]| [x, y, 1.0]);
                let [long, wide] = [longer_m(&outline.collect::<Vec<_>>()), 2.0 * shore_m];
                if shore_m > SHORES * long {
                    let most = rounded(SHORES * long);
                    return wrong("shore_m", shore_m, format!("up to {most} m, twice its length"));
                }
                let (least, largest) = (LAKE_CELLS * spacing, RADIUS_MAX * spacing);
                if site.level <= 0 && long < least || long + wide > largest {
                    let key = if self.at.len() == 1 { "radius_m" } else { "at_m" };
                    let allowed = format!(
                        "{} to {} m, {LAKE_CELLS} to {RADIUS_MAX} cells, with its shores",
                        rounded(least),
                        rounded(largest)
                    );
                    let message = format!(
                        "{place}: {key}: the longer side of the lake has {} m, at spacing_m = {}: \
                         allowed {allowed}",
                        rounded(long),
                        rounded(spacing)
                    );
                    return Err(Invalid::of(key, long, allowed).saying(message).into());
                }
                Ok(())
            }
            Tool::River { width_m, .. } => {
                within("height_m", &self.heights)?;
                for (key, radius) in [("width_m", width_m), ("radius_m", self.radius_m)] {
                    if radius / spacing > RADIUS_MAX {
                        let most = rounded(RADIUS_MAX * spacing);
                        return wrong(key, radius, format!("up to {most} m, {RADIUS_MAX} cells"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A river that was drawn.
pub struct River {
    /// Its path from the spring to the mouth, in metres to the east and to the south.
    path: Vec<[f64; 2]>,
    /// The area that its spring drains, in km²; none: as much as makes a river.
    pub catchment_km2: Option<f64>,
}

impl River {
    /// The river of a stroke, if it makes one.
    pub(super) fn of(stroke: Stroke) -> Option<Self> {
        let Tool::River { catchment_km2, .. } = stroke.tool else { return None };
        let path = rounded_path(&stroke.at, &stroke.heights).0;
        Some(Self { path: path.iter().map(|[x, y, _]| [*x, *y]).collect(), catchment_km2 })
    }

    /// Places along it, at most `apart_m` metres apart.
    pub fn places(&self, apart_m: f64) -> impl Iterator<Item = [f64; 2]> {
        self.path.windows(2).flat_map(move |pair| {
            let way = [pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]];
            let long = (way[0] * way[0] + way[1] * way[1]).sqrt();
            // More than any window has.
            let count = (long / apart_m).ceil().clamp(1.0, 1e6) as u32;
            let at =
                move |n: u32, k: usize| pair[0][k] + way[k] * (f64::from(n) / f64::from(count));
            (0..=count).map(move |n| [at(n, 0), at(n, 1)])
        })
    }
}

/// Rounds the corners of a path, or of a closed outline: each is cut at a quarter of both sides,
/// and so on (G. Chaikin, *An algorithm for high-speed curve generation*, 1974).
fn cut_corners<const N: usize>(path: &[[f64; N]], is_closed: bool) -> Vec<[f64; N]> {
    let mut path = path.to_vec();
    for _ in 0..ROUNDS {
        if path.len() < 3 || path.len() > POINTS_MAX {
            break;
        }
        let sides = if is_closed { path.len() } else { path.len() - 1 };
        let between = |a: [f64; N], b: [f64; N], share: f64| {
            std::array::from_fn(|k| a[k] + (b[k] - a[k]) * share)
        };
        let mut cut = vec![];
        for i in 0..sides {
            let [a, b] = [path[i], path[(i + 1) % path.len()]];
            // The ends of a path stay where they are.
            cut.push(if i == 0 && !is_closed { a } else { between(a, b, 0.25) });
            cut.push(if i + 1 == sides && !is_closed { b } else { between(a, b, 0.75) });
        }
        path = cut;
    }
    path
}

/// The path of a river with its corners rounded, and the share of each height on the way from the
/// first to the last.
fn rounded_path(at: &[[f64; 3]], heights: &[f64]) -> (Vec<[f64; 3]>, Vec<f64>) {
    let [from, to] = ends(heights);
    // Two heights go evenly along the path.
    let ways = match heights.len() {
        2 => {
            let lengths = at.windows(2).map(|pair| square(first2(pair[0]), first2(pair[1])).sqrt());
            let ways = lengths.scan(0.0, |way, long| {
                *way += long;
                Some(*way)
            });
            let ways: Vec<f64> = std::iter::once(0.0).chain(ways).collect();
            let whole = ways.last().copied().unwrap_or(0.0);
            ways.iter().map(|way| if whole > 0.0 { way / whole } else { 0.0 }).collect()
        }
        _ => shares(heights, [from, to]),
    };
    let path: Vec<[f64; 3]> = at.iter().zip(ways).map(|([x, y, _], way)| [*x, *y, way]).collect();
    let path = cut_corners(&path, false);
    let shares = path.iter().map(|point| point[2]).collect();
    (path.into_iter().map(|[x, y, _]| [x, y, 1.0]).collect(), shares)
}

/// The settings of a stage that draws again what of these strokes is kept as it is, if they make
/// lakes or rivers.
pub fn held<'a>(all: impl Iterator<Item = &'a Settings>) -> Option<Settings> {
    let strokes: Vec<Stroke> = all.flat_map(|s| strokes(s).unwrap_or_default()).collect();
    let kept: Vec<_> = kept(&strokes).iter().map(Stroke::describe).collect();
    let given = [("stroke".to_string(), Value::List(kept.clone()))];
    // Parts of a list that was accepted are accepted.
    (!kept.is_empty()).then(|| Settings::new(super::PARAMS, &given).ok()).flatten()
}

/// The rivers that strokes make.
pub fn rivers(s: &Settings) -> impl Iterator<Item = River> {
    strokes(s).unwrap_or_default().into_iter().filter_map(River::of)
}
