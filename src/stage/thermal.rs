//! Thermal erosion: where the ground is steeper than the angle of repose, material slides.
//!
//! # Rule
//! One step, `slide` (gather), moves material over each edge between a cell and its east and south neighbours. At the middle
//! of an edge with heights a > b at its ends, with T the tangent of `repose_deg`:
//! - d = a − b; c is the mean of the central differences across, at both ends; g = √(d² + c²) is the slope of the ground there;
//! - from a to b slides d · max(0, 1 − T² / g²) · `rate` / 8.
//!
//! Over a slope little steeper than T that is rate / 4 of what is too much; where g ≤ T nothing moves at all. The slope in its
//! own direction decides, and not the drop to each of eight neighbours: those are too small between the eight directions, by
//! up to 8 %, which gives heaps with eight flat sides.
//!
//! Rounding: what slides, floor; slopes, floor of their magnitudes to 2⁻¹³ of T or finer.
//!
//! # Shape
//! Reads and writes `height`, row-major, y south. Nothing leaves the map: its borders are walls, or those of a torus.
//!
//! # Units
//! Heights 2⁻¹⁸ cells; slopes 2⁻¹⁷, then 2⁻¹⁷ · 2^shift so that T has 14 bits; fractions 2⁻¹⁵ and 2⁻¹⁶.
//!
//! # Limits
//! Slopes more than twice T (about) count as that in 1 − T² / g², each component for itself. A repose angle of 90° would have
//! no tangent: the steepest is 89°.
//!
//! **No setting can make it swing.** Over an edge slides f, with 0 ≤ f ≤ d / 8, down. Of the four edges of a cell therefore at
//! most half the drop to its lowest neighbour leaves, and at most half the rise to its highest comes: no cell ends below the
//! middle of itself and its lowest neighbour, or above that with its highest, so none becomes a new extremum, and the highest
//! and the lowest of a neighbourhood never change places. The step is h′ = (I − L) h with L the Laplacian of a graph whose
//! weights f / d sum to at most ½ at each vertex; its eigenvalues are 0 to 1 (Gershgorin), so those of I − L are too, and no
//! ripple changes its sign. And Σ h² falls by at least Σ f d with every step in which anything moves: it comes to rest.
//! Rounding f down keeps all of this.
//!
//! # Reach
//! One cell a step.
//!
//! # Keeps
//! Σ height, to the unit.
//!
//! # Differs
//! From Musgrave: the gradient's magnitude for the drop to each neighbour, and all cells move together.
//!
//! # Source
//! F. K. Musgrave, C. E. Kolb, R. S. Mace, *The synthesis and rendering of eroded fractal terrains*, 1989; the face-centred
//! gradient and a flux that depends on its magnitude are those of nonlinear diffusion (P. Perona, J. Malik, *Scale-space and
//! edge detection using anisotropic diffusion*, 1990).
//!
//! # Costs
//! A cell and step: 9 reads (1 from memory), 1 write, 4 quotients (on the CPU 2). Memory: 8 bytes a cell. A heap of radius R
//! takes about R² steps to come to rest.

use super::{Case, Stage, Surface};
use crate::params::{Kind, Param, Settings, Value};
use crate::plan::{Buffer, Call, Fill, Kernel, Pass, Plan, Site, Window};
use crate::spec::{div_small, fold, mul_q16};
use bytemuck::{Pod, Zeroable};
use multiversion::multiversion;

/// Largest component of a slope that is told apart, so that the sum of two squares has 31 bits.
const SLOPE_SEEN: i32 = 32767;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "thermal",
    about: "Thermal erosion: material slides where the ground is steeper than the angle of repose.",
    makes: false,
    params: PARAMS,
    shader: include_str!("../../shaders/thermal.wgsl"),
    kernels: &[&SLIDE],
    maps: &[],
    check: |_, _| Ok(()),
    plan,
    reach: |s| s.integer("steps") as u64,
    derived: |s, _| serde_json::json!({ "repose_slope": libm::tan(s.number("repose_deg").to_radians()) }),
    work: None,
    cases,
};

const PARAMS: &[Param] = &[
    Param {
        name: "steps",
        unit: "steps",
        kind: Kind::Integer { min: 1, max: 1 << 18, default: 100 },
        doc: "Steps; a heap of radius R takes about R² to come to rest.",
    },
    Param {
        name: "repose_deg",
        unit: "degrees",
        kind: Kind::Number { min: 0.0, max: 89.0, default: 35.0 },
        doc: "Angle of repose: steeper ground slides. Sand 30 to 35, scree 35 to 40.",
    },
    Param {
        name: "rate",
        unit: "",
        kind: Kind::Number { min: 0.0, max: 1.0, default: 1.0 },
        doc: "Speed; 1 is the fastest that cannot swing.",
    },
    Param {
        name: "border",
        unit: "",
        kind: Kind::Choice(&["wall", "torus"]),
        doc: "wall: nothing slides over the border; torus: what does comes in on the other side.",
    },
];

/// The uniform struct of every pass of this stage.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Params {
    first: u32,
    count: u32,
    width: i32,
    height: i32,
    torus: u32,
    shift: u32,
    repose: u32,
    rate: u32,
}

static SLIDE: Kernel = Kernel { entry: "slide", reads: &["height"], owns: &[("next", 1)], adds: &[], cpu: slide };

/// The shift that leaves the tangent of an angle 14 bits (fewer if it has fewer), and the square of what is left.
fn repose(degrees: f64) -> (u32, u32) {
    let slope = libm::tan(degrees.to_radians()) * 131072.0;
    let shift = (0..16).find(|&s| slope < (16384u32 << s) as f64).unwrap_or(16);
    let left = slope / (1u32 << shift) as f64;
    (shift, (left * left) as u32)
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let (shift, repose) = repose(s.number("repose_deg"));
    let params = Params {
        first: 0,
        count: window.cells() as u32,
        width: window.width as i32,
        height: window.height as i32,
        torus: (s.word("border") == "torus") as u32,
        shift,
        repose,
        rate: (s.number("rate") * 65536.0) as u32,
    };
    let pass = || Pass {
        kernel: &SLIDE,
        params: bytemuck::cast_slice(&[params]).to_vec(),
        count: params.count,
        granule: window.width,
        apart: None,
        swap: Some(["height", "next"]),
    };
    let buffer = |name, fill, keep| Buffer { name, words: window.cells(), fill, keep };
    Plan {
        shader: STAGE.shader,
        buffers: vec![buffer("height", Fill::Keep, Some("height")), buffer("next", Fill::Word(0), None)],
        passes: (0..s.integer("steps")).map(|_| pass()).collect(),
    }
}

/// What slides from `a` to its neighbour `b`, where the ground falls by `across` (2⁻¹⁷, either way) along the edge between them.
#[inline(always)]
fn slides(p: &Params, a: i32, b: i32, across: i32) -> i32 {
    let low = a.min(b);
    // Half the drop, never more than it is.
    let drop = (a.max(b) >> 1).wrapping_sub(low >> 1).wrapping_sub(low & 1).max(0);
    let d = (drop >> (p.shift & 31)).min(SLOPE_SEEN) as u32;
    let c = (across.wrapping_abs() >> (p.shift & 31)).min(SLOPE_SEEN) as u32;
    let square = d.wrapping_mul(d).wrapping_add(c.wrapping_mul(c));
    let excess = square.max(p.repose).wrapping_sub(p.repose);
    let part = div_small(excess, (square >> 15).max(1)).min(32768);
    let flux = mul_q16(drop, part.wrapping_mul(p.rate) >> 17);
    if a > b { flux } else { -flux }
}

/// How far the ground falls from one side of a cell to the other, in 2⁻¹⁵ cells.
#[inline(always)]
fn fall(a: i32, b: i32) -> i32 {
    (a >> 3).wrapping_sub(b >> 3)
}

/// Rows that `slide` does at a time: what slid south from one is still near for the next.
const ROWS: usize = 16;

fn slide(call: &mut Call) {
    let p: &Params = bytemuck::from_bytes(bytemuck::cast_slice(call.params));
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let mut lines = vec![];
    for (i, rows) in call.owns[0].chunks_mut(ROWS * w).enumerate() {
        slide_rows(p, first + i * ROWS, rows, call.reads[0], &mut lines);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn slide_rows(p: &Params, first: usize, own: &mut [i32], height: &[i32], lines: &mut Vec<i32>) {
    let w = p.width as usize;
    let torus = p.torus == 1;
    let wide = w + 2;
    let count = own.len() / w;
    // Rows folded out beyond the borders, then what slides south and east from a row.
    lines.clear();
    lines.resize((count + 2 + 3) * wide, 0);
    let (rows, flows) = lines.split_at_mut((count + 2) * wide);
    for (k, row) in rows.chunks_exact_mut(wide).enumerate() {
        let at = fold(first as i32 + k as i32 - 1, p.height, torus) as usize * w;
        row[1..=w].copy_from_slice(&height[at..at + w]);
        (row[0], row[w + 1]) = if torus { (row[w], row[1]) } else { (row[1], row[w]) };
    }
    let row = |k: usize| &rows[k * wide..(k + 1) * wide];
    let (north, flows) = flows.split_at_mut(wide);
    let (south, east) = flows.split_at_mut(wide);
    slide_south(p, row(0), row(1), north);
    for (k, own) in own.chunks_exact_mut(w).enumerate() {
        let (above, here, below) = (row(k), row(k + 1), row(k + 2));
        slide_south(p, here, below, south);
        {
            let (n, h, s, east) = (&above[..wide], &here[..wide], &below[..wide], &mut east[..wide]);
            for x in 0..wide - 1 {
                east[x] = slides(p, h[x], h[x + 1], fall(n[x], s[x]).wrapping_add(fall(n[x + 1], s[x + 1])));
            }
        }
        let (h, n, s, e, own) = (&here[..wide], &north[..wide], &south[..wide], &east[..wide], &mut own[..w]);
        for x in 0..w {
            own[x] = h[x + 1].wrapping_add(e[x]).wrapping_sub(e[x + 1]).wrapping_add(n[x + 1]).wrapping_sub(s[x + 1]);
        }
        north.copy_from_slice(south);
    }
}

/// What slides from each cell of a row to the one below, but for the two outermost.
#[inline(always)]
fn slide_south(p: &Params, here: &[i32], below: &[i32], south: &mut [i32]) {
    let wide = here.len();
    let (h, b, south) = (&here[..wide], &below[..wide], &mut south[..wide]);
    for x in 1..wide - 1 {
        south[x] = slides(p, h[x], b[x], fall(h[x - 1], h[x + 1]).wrapping_add(fall(b[x - 1], b[x + 1])));
    }
}

fn cases() -> Vec<Case> {
    let n = Value::Number;
    let torus = ("border", Value::Word("torus".into()));
    let window = |x, y, width, height| Window { origin: [x, y], width, height };
    let case = |name, more: Vec<(&'static str, Value)>, window, surface| Case {
        name,
        settings: [vec![("steps", Value::Integer(12))], more].concat(),
        window,
        surface,
    };
    vec![
        case("default", vec![], window(0, 0, 97, 61), Surface::Hills),
        case("torus", vec![("repose_deg", n(20.0)), torus.clone()], window(-7, 5, 50, 33), Surface::Valley),
        case("wild", vec![("repose_deg", n(0.0)), torus], window(1 << 40, 0, 73, 59), Surface::Noise),
        case("steep", vec![("repose_deg", n(89.0)), ("rate", n(0.7))], window(0, 0, 40, 41), Surface::Noise),
        case("cone", vec![("repose_deg", n(3.0)), ("rate", n(0.5))], window(0, 0, 64, 65), Surface::Cone),
        case("tiny", vec![], window(0, 0, 2, 3), Surface::Noise),
    ]
}
