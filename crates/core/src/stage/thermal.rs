//! Thermal erosion: where the ground is steeper than the angle of repose, material slides.
//!
//! # Rule
//! A step, `slide` (gather), moves material over each edge between a cell and its east and south
//! neighbours. For an edge with heights a > b at its ends, and with T the tangent of `repose_deg`:
//! - d = a − b; c is the mean of the central differences across the edge at both ends; g = √(d² +
//!   c²) is the slope of the ground at the middle of the edge;
//! - d · max(0, 1 − T² / g²) · `rate` / 8 slides from a to b.
//!
//! On a slope slightly steeper than T that is rate / 4 of the excess, and where g ≤ T nothing
//! moves. The slope in its own direction decides, not the drop to each of eight neighbours: between
//! the eight directions those drops are up to 8 % too small, which gives heaps with eight flat
//! sides.
//!
//! Layers count at the upper end of an edge:
//! - vegetation v replaces T² by T² · (1 + 3v): full roots hold the ground up to twice the slope;
//! - hardness h lets only the part 1 − h of the amount slide;
//! - with sediment, hardness applies to bedrock alone, and bedrock slides by `cliff_deg` instead of
//!   `repose_deg` and regardless of roots. Loose sediment slides first, by the rule above, but over
//!   each edge at most a quarter of it. Bedrock adds what is missing to its own amount.
//!
//! Rounding: amounts are floored; the magnitudes of slopes are floored to 2⁻¹³ of T or finer.
//!
//! # Shape
//! Reads and writes `height`, row-major, y south. Reads `hardness`, `vegetation`, and the sediment
//! of the `ledger`. Nothing leaves the map: its borders are walls, or those of a torus.
//!
//! # Units
//! Heights 2⁻¹⁸ cells; slopes 2⁻¹⁷, then 2⁻¹⁷ · 2^shift so that T has 14 bits; fractions 2⁻¹⁵ and
//! 2⁻¹⁶.
//!
//! # Limits
//! Each component of a slope counts as at most about twice T in 1 − T² / g². The steepest repose
//! angle is 89°, because 90° has no tangent.
//!
//! **No setting makes it oscillate.** Over an edge slides f, downhill, with 0 ≤ f ≤ d / 8. So the
//! four edges of a cell carry off at most half the drop to its lowest neighbour, and bring at most
//! half the rise to its highest. No cell ends below the middle between itself and its lowest
//! neighbour or above that with its highest, so none leaves the range of its neighbourhood, and a
//! peak and a pit next to it never change places. The step is h′ = (I − L) h, where L is the
//! Laplacian of a graph whose weights f / d sum to at most ½ at each vertex. Its eigenvalues are 0
//! to 1 (Gershgorin), so those of I − L are too, and no ripple changes its sign. Σ h² falls by at
//! least Σ f d in every step in which anything moves, so the ground comes to rest. Rounding f down
//! keeps all of this.
//!
//! # Reach
//! One cell a step.
//!
//! # Keeps
//! Σ height, to the unit.
//!
//! # Differs
//! From Musgrave: the magnitude of the gradient replaces the drop to each neighbour, and all cells
//! move together.
//!
//! # Source
//! F. K. Musgrave, C. E. Kolb, R. S. Mace, *The synthesis and rendering of eroded fractal
//! terrains*, 1989. The face-centred gradient and a flux that depends on its magnitude are those of
//! nonlinear diffusion (P. Perona, J. Malik, *Scale-space and edge detection using anisotropic
//! diffusion*, 1990).
//!
//! # Costs
//! A cell and step: 9 reads (1 from memory), 1 write, 4 quotients (on the CPU 2); twice that with a
//! layer of sediment. Memory: 8 bytes a cell. A heap of radius R takes about R² steps to come to
//! rest.

use super::Surface::{Cone, Hills, Noise, Valley};
use super::case::case;
use super::{Case, Stage};
use crate::arith::{LEDGER_WORDS, div_small, fold, mul_q16};
use crate::error::Invalid;
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, PlanBuilder, Uniform};
use crate::site::{Layer, Layers, Site};
use crate::twin::{constants, uniform};
use encase::ShaderType;
use multiversion::multiversion;

/// The default of `cliff_deg`.
const CLIFF_DEG: f64 = 55.0;
constants! {
    const WGSL: &str;

    /// A component of a slope counts as at most this, so that the sum of two squares has 31 bits.
    const SLOPE_SEEN: i32 = 32767;
}

/// The stage.
pub static STAGE: Stage = Stage {
    name: "thermal",
    about: "Thermal erosion: material slides where the ground is steeper than the angle of repose.",
    changes: true,
    can_interleave: true,
    halo: Some(|_, _, steps| u64::from(steps.end - steps.start)),
    params: PARAMS,
    shader: constcat::concat!(WGSL, Params::WGSL, include_str!("../../shaders/thermal.wgsl")),
    kernels: &[&SLIDE],
    check,
    plan,
    reach: |s, _| s.integer("steps") as u64,
    summary: |s, _| serde_json::json!({ "repose_slope": libm::tan(s.number("repose_deg").to_radians()) }),
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "steps",
        "steps",
        [1, 1 << 18, 100],
        "Number of steps. A heap of radius R takes about R² to come to rest.",
    ),
    Param::number(
        "repose_deg",
        "degrees",
        [0.0, 89.0, 35.0],
        "Angle of repose: steeper ground slides. Sand 30 to 35, scree 35 to 40.",
    ),
    Param::number(
        "cliff_deg",
        "degrees",
        [0.0, 89.0, CLIFF_DEG],
        "Steeper bedrock slides. At least repose_deg, and only used where a layer of sediment \
         separates bedrock from loose material.",
    ),
    Param::number("rate", "", [0.0, 1.0, 1.0], "Speed. 1 is the fastest that cannot oscillate."),
    Param::choice(
        "border",
        &["wall", "torus"],
        "wall: nothing slides over the border; torus: what slides over it comes in on the other \
         side.",
    ),
];

uniform! {
    /// The uniform struct of every pass of this stage.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        torus: u32,
        shift: u32,
        repose: u32,
        rate: u32,
        cliff_shift: u32,
        cliff: u32,
        /// 1 if there is such a layer.
        hard: u32,
        rooted: u32,
        loose: u32,
    }
}

static SLIDE: Kernel = Kernel {
    entry: "slide",
    reads: &["height", "hardness", "vegetation", "ledger"],
    owns: &[("next", 1)],
    adds: &[],
    cpu: slide,
};

/// The shift that leaves at most 14 bits of the tangent of an angle, and the square of the shifted
/// tangent.
pub(super) fn repose(degrees: f64) -> (u32, u32) {
    let slope = libm::tan(degrees.to_radians()) * 131072.0;
    // With 14 bits the square has 28, and four times the square, for full roots, fits a word.
    let shift = (0..16).find(|&s| slope < (16384u32 << s) as f64).unwrap_or(16);
    let left = slope / (1u32 << shift) as f64;
    (shift, (left * left) as u32)
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let (loose, cliff) = (s.number("repose_deg"), s.number("cliff_deg"));
    // Without sediment, cliff_deg has no effect, so its default is accepted.
    if cliff < loose && (site.layers.has(Layer::Sediment) || cliff != CLIFF_DEG) {
        return Err(Invalid::from(format!(
            "cliff_deg = {cliff}: allowed from repose_deg, {loose}, to 89; rock stands at least as \
             steep as scree"
        ))
        .about("cliff_deg")
        .into());
    }
    Ok(())
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let layers = site.layers;
    let (shift, repose_squared) = repose(s.number("repose_deg"));
    let (cliff_shift, cliff) = repose(s.number("cliff_deg"));
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        torus: (s.word("border") == "torus") as u32,
        shift,
        repose: repose_squared,
        rate: (s.number("rate") * 65536.0) as u32,
        cliff_shift,
        cliff,
        hard: layers.has(Layer::Hardness) as u32,
        rooted: layers.has(Layer::Vegetation) as u32,
        loose: layers.has(Layer::Sediment) as u32,
    };
    let buffers = vec![
        Buffer::height(window),
        Buffer::cells("next", window, 1).unset(),
        Buffer::layer("hardness", window, 1, layers.has(Layer::Hardness)),
        Buffer::layer("vegetation", window, 1, layers.has(Layer::Vegetation)),
        Buffer::layer("ledger", window, LEDGER_WORDS, layers.has(Layer::Sediment)),
    ];
    let slide = Pass::over(&SLIDE, Uniform::of(params), window).swapping(&[["height", "next"]]);
    let mut builder = PlanBuilder::of(site);
    builder.rounds(0..s.integer("steps") as u32, |builder, _| {
        builder.push(slide.clone());
        builder.end_step();
    });
    builder.plan(STAGE.shader, *window, buffers)
}

/// Edges that are done together.
const LANES: usize = 64;
/// A word of each edge.
type Lanes = [i32; LANES];

/// What slides down `drop` (half a difference of heights). Along the edge the ground falls by
/// `across`. It is stable up to the slope whose square, after `shift`, is `repose`.
#[inline(always)]
fn slides(p: &Params, drop: i32, across: i32, shift: u32, repose: u32) -> i32 {
    let (square, excess) = steepness(drop, across, shift, repose);
    // 1 − T² / g² in 2⁻¹⁵. The divisor is rounded down, hence the bound.
    let part = div_small(excess, (square >> 15).max(1)).min(32768);
    // `part` and `rate` are at most 2¹⁵ and 2¹⁶, so the product fits an unsigned word. At most a
    // quarter of `drop` is left, which is d / 8.
    mul_q16(drop, part.wrapping_mul(p.rate) >> 17)
}

/// The square of a slope, and its excess over `repose`.
#[inline(always)]
fn steepness(drop: i32, across: i32, shift: u32, repose: u32) -> (u32, u32) {
    let d = (drop >> (shift & 31)).min(SLOPE_SEEN) as u32;
    let c = (across >> (shift & 31)).min(SLOPE_SEEN) as u32;
    let square = d.wrapping_mul(d).wrapping_add(c.wrapping_mul(c));
    (square, square.max(repose).wrapping_sub(repose))
}

/// What slides from heights `a` to their neighbours `b`, where the ground falls by `across` (2⁻¹⁷,
/// either way) along the edges between them. If there are layers, `ground` has their values at
/// either end: thickness of sediment, hardness, roots.
#[inline(always)]
fn flux(
    p: &Params,
    a: &Lanes,
    b: &Lanes,
    mut across: Lanes,
    ground: Option<[[&Lanes; 3]; 2]>,
) -> Lanes {
    let mut drop: Lanes = [0; LANES];
    let mut steep = 0;
    for l in 0..LANES {
        let low = a[l].min(b[l]);
        // At most half the drop.
        drop[l] = (a[l].max(b[l]) >> 1).wrapping_sub(low >> 1).wrapping_sub(low & 1).max(0);
        across[l] = across[l].wrapping_abs();
        steep |= steepness(drop[l], across[l], p.shift, p.repose).1;
    }
    let mut flux: Lanes = [0; LANES];
    match ground {
        // Roots hold more, and rock stands at least as steep, so nothing else slides either.
        _ if steep == 0 => return flux,
        None => {
            for l in 0..LANES {
                flux[l] = slides(p, drop[l], across[l], p.shift, p.repose);
            }
        }
        Some(ground) => {
            for l in 0..LANES {
                let [loose, hard, roots] =
                    [0, 1, 2].map(|n| if a[l] > b[l] { ground[0][n][l] } else { ground[1][n][l] });
                // Roots r make it T² · (1 + 3r).
                let held = p
                    .repose
                    .wrapping_add(mul_q16(p.repose.wrapping_mul(3) as i32, roots as u32) as u32);
                let soil = slides(p, drop[l], across[l], p.shift, held);
                let rock = if p.loose == 1 {
                    slides(p, drop[l], across[l], p.cliff_shift, p.cliff)
                } else {
                    soil
                };
                // Loose sediment goes first, over each edge at most a quarter of it.
                let first = soil.min(loose >> 2);
                flux[l] = first.wrapping_add(mul_q16(
                    rock.wrapping_sub(first).max(0),
                    65536u32.wrapping_sub(hard as u32),
                ));
            }
        }
    }
    for l in 0..LANES {
        // The amount has the direction of the drop: negative if it comes from b.
        flux[l] = if a[l] < b[l] { flux[l].wrapping_neg() } else { flux[l] };
    }
    flux
}

/// How far the ground falls from one side of a cell to the other, in 2⁻¹⁵ cells, summed over the
/// two ends of an edge.
#[inline(always)]
fn falls(sides: [[&Lanes; 2]; 2]) -> Lanes {
    let mut sum: Lanes = [0; LANES];
    for [a, b] in sides {
        for l in 0..LANES {
            // An eighth of a height has 29 bits, so four of them fit a word.
            sum[l] = sum[l].wrapping_add(a[l] >> 3).wrapping_sub(b[l] >> 3);
        }
    }
    sum
}

/// Rows that `slide` does at a time, so that what slid south from one row is still in cache for the
/// next.
const ROWS: usize = 16;

fn slide(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let rows = if p.hard + p.rooted + p.loose == 0 { slide_rows_plain } else { slide_rows_layered };
    let mut lines = vec![];
    for (i, own) in call.owns[0].chunks_mut(ROWS * w).enumerate() {
        rows(p, first + i * ROWS, own, call.reads, &mut lines);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn slide_rows_plain(
    p: &Params,
    first: usize,
    own: &mut [i32],
    reads: &[&[i32]],
    lines: &mut Vec<i32>,
) {
    slide_rows::<false>(p, first, own, reads, lines);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn slide_rows_layered(
    p: &Params,
    first: usize,
    own: &mut [i32],
    reads: &[&[i32]],
    lines: &mut Vec<i32>,
) {
    slide_rows::<true>(p, first, own, reads, lines);
}

/// Rows of heights, continued by a cell beyond the borders, and then those of each layer.
struct Rows<'a> {
    words: &'a [i32],
    wide: usize,
    plane: usize,
    columns: usize,
}

impl Rows<'_> {
    /// Words from column `x` of row `k` on: of the heights (0) or of layer 1, 2 or 3.
    #[inline(always)]
    fn lanes(&self, layer: usize, k: usize, x: usize) -> &Lanes {
        self.words[layer * self.plane + k * self.wide + x..].first_chunk().unwrap_or(&[0; LANES])
    }

    #[inline(always)]
    fn ground<const LAYERED: bool>(&self, ends: [[usize; 2]; 2]) -> Option<[[&Lanes; 3]; 2]> {
        if LAYERED {
            Some(ends.map(|[k, x]| [self.lanes(1, k, x), self.lanes(2, k, x), self.lanes(3, k, x)]))
        } else {
            None
        }
    }

    /// What slides from each cell of row `k` to the one below.
    #[inline(always)]
    fn slide_south<const LAYERED: bool>(&self, p: &Params, k: usize, south: &mut [i32]) {
        let at = |k, x| self.lanes(0, k, x);
        for x in (1..=self.columns).step_by(LANES) {
            let across =
                falls([[at(k, x - 1), at(k, x + 1)], [at(k + 1, x - 1), at(k + 1, x + 1)]]);
            let ground = self.ground::<LAYERED>([[k, x], [k + 1, x]]);
            south[x..x + LANES].copy_from_slice(&flux(p, at(k, x), at(k + 1, x), across, ground));
        }
    }

    /// What slides from each cell of row `k` to the next.
    #[inline(always)]
    fn slide_east<const LAYERED: bool>(&self, p: &Params, k: usize, east: &mut [i32]) {
        let at = |k, x| self.lanes(0, k, x);
        for x in (0..=self.columns).step_by(LANES) {
            let across =
                falls([[at(k - 1, x), at(k + 1, x)], [at(k - 1, x + 1), at(k + 1, x + 1)]]);
            let ground = self.ground::<LAYERED>([[k, x], [k, x + 1]]);
            east[x..x + LANES].copy_from_slice(&flux(p, at(k, x), at(k, x + 1), across, ground));
        }
    }
}

#[inline(always)]
fn slide_rows<const LAYERED: bool>(
    p: &Params,
    first: usize,
    own: &mut [i32],
    reads: &[&[i32]],
    lines: &mut Vec<i32>,
) {
    let &[height, hardness, vegetation, ledger] = reads else { return };
    let w = p.width as usize;
    let torus = p.torus == 1;
    // A column beyond each border, rounded up to whole lanes. The results there are not used.
    let wide = (w + 1).next_multiple_of(LANES) + 2;
    let count = own.len() / w;
    let planes = if LAYERED { 4 } else { 1 };
    let plane = (count + 2) * wide;
    // The rows, and then what slides south and east from one row.
    lines.clear();
    lines.resize(planes * plane + 3 * wide, 0);
    let (rows, flows) = lines.split_at_mut(planes * plane);
    for k in 0..count + 2 {
        let at = fold(first as i32 + k as i32 - 1, p.height, torus) as usize * w;
        for n in 0..planes {
            let row = &mut rows[n * plane + k * wide..][..wide];
            match n {
                0 => row[1..=w].copy_from_slice(&height[at..at + w]),
                1 if p.loose == 1 => {
                    let records = ledger[at * LEDGER_WORDS..(at + w) * LEDGER_WORDS]
                        .chunks_exact(LEDGER_WORDS);
                    row[1..=w]
                        .iter_mut()
                        .zip(records)
                        .for_each(|(loose, record)| *loose = record[1]);
                }
                2 if p.hard == 1 => row[1..=w].copy_from_slice(&hardness[at..at + w]),
                3 if p.rooted == 1 => row[1..=w].copy_from_slice(&vegetation[at..at + w]),
                _ => {}
            }
            // At a wall the ground beyond is as high as at it, so nothing slides over.
            (row[0], row[w + 1]) = if torus { (row[w], row[1]) } else { (row[1], row[w]) };
        }
    }
    let rows = Rows { words: rows, wide, plane, columns: w };
    let (north, flows) = flows.split_at_mut(wide);
    let (south, east) = flows.split_at_mut(wide);
    rows.slide_south::<LAYERED>(p, 0, north);
    for (k, own) in own.chunks_exact_mut(w).enumerate() {
        rows.slide_south::<LAYERED>(p, k + 1, south);
        rows.slide_east::<LAYERED>(p, k + 1, east);
        let h = &rows.words[(k + 1) * wide..];
        let (h, n, s, e, own) =
            (&h[..w + 1], &north[..w + 1], &south[..w + 1], &east[..w + 1], &mut own[..w]);
        for x in 0..w {
            own[x] = h[x + 1]
                .wrapping_add(e[x])
                .wrapping_sub(e[x + 1])
                .wrapping_add(n[x + 1])
                .wrapping_sub(s[x + 1]);
        }
        // What leaves this row to the south comes to the next one from the north.
        north.copy_from_slice(south);
    }
}

fn cases() -> Vec<Case> {
    let brief = |name, surface, origin, size| case(name, surface, origin, size).with("steps", 12);
    vec![
        brief("default", Hills, [0, 0], [97, 61]),
        brief("torus", Valley, [-7, 5], [50, 33]).with("repose_deg", 20.0).with("border", "torus"),
        brief("wild", Noise, [1 << 40, 0], [73, 59])
            .with("repose_deg", 0.0)
            .with("border", "torus"),
        brief("steep", Noise, [0, 0], [40, 41]).with("repose_deg", 89.0).with("rate", 0.7),
        brief("cone", Cone, [0, 0], [64, 65]).with("repose_deg", 3.0).with("rate", 0.5),
        brief("tiny", Noise, [0, 0], [2, 3]),
        brief("layers", Hills, [0, 0], [81, 50]).with("repose_deg", 15.0).with_layers(Layers::ALL),
        brief("held", Noise, [3, 3], [40, 41]).with("repose_deg", 25.0).with_layers(Layers::of(&[
            Layer::Rain,
            Layer::Hardness,
            Layer::Vegetation,
        ])),
        brief("scree", Valley, [0, 0], [51, 40])
            .with("repose_deg", 30.0)
            .with("cliff_deg", 89.0)
            .with_layers(Layers::of(&[Layer::Ledger, Layer::Sediment])),
    ]
}
