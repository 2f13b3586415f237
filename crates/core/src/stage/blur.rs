//! A blur of the heights: the binomial kernel, any number of times.
//!
//! # Rule
//! In a pass each cell becomes the mean of its 3 × 3 neighbours with weights [1 2 1; 2 4 2; 1 2 1]
//! / 16. After n `passes` the weights are those of 2n coin tosses along each axis: a Gaussian with
//! a standard deviation of √(n / 2) cells.
//!
//! # Shape
//! Reads and writes `height` (row-major, y south). Two buffers exchange their names after each
//! pass.
//!
//! # Units
//! Heights 2⁻¹⁸ cells. A cell passes on whole units: an eighth, rounded down, to each side and a
//! sixteenth, rounded down, to each corner. It keeps the rest.
//!
//! # Limits
//! None: heights stay between the lowest and the highest, except for remainders of at most 7 units
//! a pass.
//!
//! # Reach
//! `passes` cells.
//!
//! # Keeps
//! Σ height, to the unit: what would leave over a border comes back to the row or column next to
//! it, or on the other side.
//!
//! # Differs
//! From the published blur, which does not change the cells of the rim, and so gains or loses mass
//! there.
//!
//! # Source
//! J. Talle, *Simulating hydraulic erosion*, 2020, which ends with one pass of it.
//!
//! # Costs
//! A cell and pass: 9 reads (on the CPU 3), 1 write. Memory: 8 bytes a cell.

use super::Surface::{Hills, Noise};
use super::case::case;
use super::{Case, Stage};
use crate::arith::fold;
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::Site;
use crate::twin::uniform;
use encase::ShaderType;
use multiversion::multiversion;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "blur",
    about: "Smooths the heights with the binomial kernel.",
    changes: true,
    can_interleave: true,
    params: PARAMS,
    shader: constcat::concat!(Params::WGSL, include_str!("../../shaders/blur.wgsl")),
    kernels: &[&SMOOTH],
    plan,
    reach: |s, _| s.integer("passes") as u64,
    summary: |s, _| serde_json::json!({ "deviation_cells": (s.integer("passes") as f64 / 2.0).sqrt() }),
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "passes",
        "",
        [1, 64, 1],
        "Number of passes: n passes are a Gaussian of √(n / 2) cells.",
    ),
    Param::choice(
        "border",
        &["mirror", "torus"],
        "mirror: what would leave the map stays at its border; torus: it comes in on the other \
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
    }
}

static SMOOTH: Kernel = Kernel {
    entry: "smooth_cells",
    reads: &["height"],
    owns: &[("blurred", 1)],
    adds: &[],
    cpu: smooth_cells,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let params = Params {
        width: site.window.width as i32,
        height: site.window.height as i32,
        torus: (s.word("border") == "torus") as u32,
    };
    let buffers =
        vec![Buffer::height(&site.window), Buffer::cells("blurred", &site.window, 1).unset()];
    let smooth =
        Pass::over(&SMOOTH, Uniform::of(params), &site.window).swapping(&[["height", "blurred"]]);
    Plan::new(STAGE.shader, site.window, buffers, vec![smooth; s.integer("passes") as usize])
}

fn smooth_cells(call: &mut Call) {
    let p: &Params = call.params();
    let w = p.width as usize;
    let first = call.range.start as i32 / p.width;
    let mut scratch = vec![0; w + 2];
    for (j, own) in call.owns[0].chunks_exact_mut(w).enumerate() {
        let row = |dy: i32| {
            let at = fold(first + j as i32 + dy, p.height, p.torus == 1) as usize * w;
            &call.reads[0][at..at + w]
        };
        smooth_row(p, own, [row(-1), row(0), row(1)], &mut scratch);
    }
}

/// A row of the result, from the row itself and those to its north and south. What goes east and
/// west is summed by column first.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn smooth_row(p: &Params, own: &mut [i32], [north, here, south]: [&[i32]; 3], aside: &mut [i32]) {
    let w = own.len();
    let (north, here, south, inner) = (&north[..w], &here[..w], &south[..w], &mut aside[1..w + 1]);
    for x in 0..w {
        inner[x] = (north[x] >> 4).wrapping_add(here[x] >> 3).wrapping_add(south[x] >> 4);
        let kept = here[x].wrapping_sub((here[x] >> 3) << 2).wrapping_sub((here[x] >> 4) << 2);
        own[x] = kept.wrapping_add(north[x] >> 3).wrapping_add(south[x] >> 3);
    }
    let (left, right) = if p.torus == 1 { (w, 1) } else { (1, w) };
    (aside[0], aside[w + 1]) = (aside[left], aside[right]);
    for x in 0..w {
        own[x] = own[x].wrapping_add(aside[x]).wrapping_add(aside[x + 2]);
    }
}

fn cases() -> Vec<Case> {
    vec![
        case("default", Noise, [0, 0], [67, 45]),
        case("many", Noise, [0, 0], [40, 33]).with("passes", 9),
        case("torus", Noise, [0, 0], [31, 50]).with("passes", 4).with("border", "torus"),
        case("narrow", Hills, [0, 0], [1, 70]).with("passes", 3),
    ]
}
