//! Mountain ranges: land that rises while rivers cut into it, until its valleys are trees.
//!
//! # Rule
//! An area of `extent_x_cells` by `extent_y_cells` cells round `centre` has nodes every
//! `spacing_cells` cells. The height z of a node changes by ∂z/∂t = U − K Aᵐ S, with the uplift U,
//! the area A that drains through the node, and the slope S down to the next: rock is lifted, and
//! rivers cut it, the more the larger and steeper they are. m is `concavity`, to the nearest
//! sixteenth. The sides of the area are held at the base, and everything drains there.
//! - Each step finds the receivers of all nodes: the neighbour, of eight, to which the ground falls
//!   most steeply once depressions are filled (priority flood), and on the fill the one that the
//!   flood came from. Nodes are thought to be up to 0.4 of a spacing off their places, so that
//!   rivers do not run along the lattice.
//! - It adds up areas from the divides down, and solves the equation from the base up, implicitly:
//!   zᵢ = (zᵢ + Δt U + F zᵣ) / (1 + F) with F = Δt K Aᵐ / L and r the receiver at the distance L.
//!   So a step can be as long as one likes; it is a sixth of the time that a wave takes from the
//!   mouth to the farthest divide.
//! - That begins on some 24 nodes a side, and goes on with twice as many until all are there, with
//!   40 steps at first and 12 on each finer lattice. On the way a noise bends the land by up to two
//!   spacings of the coarser lattice, so that no river keeps to its lines.
//!
//! U is 1 everywhere (`constant`), or a noise of `feature_cells` cells, cut so that about the share
//! `cover` is mountains and the rest has the uplift `plain`, or the samples of a picture laid over
//! the area, from `plain` for its lowest to 1 for its highest. K varies by `hardness` either way
//! with a noise of a quarter of that size. Then the highest node is at `relief_m`, slopes above
//! `slope_max` are cut from below, and the height is `base_m` + that, by a quadratic B-spline
//! between nodes ([`super::survey`]), at a place that noise has moved by up to `warp_cells`.
//!
//! # Shape
//! The same land in every window and on every level; outside the area it is at `base_m`. A vertex
//! has its height on every level that has the vertex.
//!
//! # Units
//! Heights of nodes 2⁻²⁸ of the relief; places 2⁻²⁸ of a spacing.
//!
//! # Limits
//! 4 to 1025 nodes a side.
//!
//! # Reach
//! None.
//!
//! # Differs
//! From the paper: depressions are filled by a priority flood, which sorts nodes (n log n),
//! where the paper's stack needs none; the solution is the paper's, of order n. The slope's
//! exponent is 1. Time has no unit, since with that exponent the shape at rest does not depend
//! on U/K.
//!
//! # Source
//! J. Braun, S. D. Willett, *A very efficient O(n), implicit and parallel method to solve the
//! stream power equation governing fluvial incision and landscape evolution*, 2013; R. Barnes, C.
//! Lehman, D. Mulla, *Priority-flood*, 2014; the use for pictures of land is G. Cordonnier and
//! others, *Large Scale Terrain Generation from Tectonic Uplift and Fluvial Erosion*, 2016.
//!
//! # Costs
//! The host works the nodes out once, about 1 s for 512 × 512 on one core, and keeps them for all
//! levels and tiles. A cell: 9 reads; with a warp 24 hashes. Memory: 4 bytes a cell and node.

mod incision;

use super::Surface::{Flat, Hills};
use super::case::case;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use super::survey::{self, Memory, Surveyed};
use super::{Case, Stage};
use crate::arith::mul_q28;
use crate::error::Invalid;
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::Site;
use crate::twin::uniform;
use encase::ShaderType;
use glam::IVec2;
use incision::{Land, Lift};
use multiversion::multiversion;
use std::sync::Arc;

/// Most nodes of a side.
const NODES_MAX: i64 = 1025;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "ranges",
    about: "Mountain ranges: rock rises while rivers cut into it, so that valleys are trees.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(
        super::fractal::SHADER,
        survey::SHADER,
        Params::WGSL,
        include_str!("../../shaders/ranges.wgsl")
    ),
    kernels: &[&LIFT],
    check,
    plan,
    summary,
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "centre_x",
        "cells",
        [-(1 << 60), 1 << 60, 512],
        "World coordinate of the middle of the area, to the east.",
    ),
    Param::integer(
        "centre_y",
        "cells",
        [-(1 << 60), 1 << 60, 512],
        "World coordinate of the middle of the area, to the south.",
    ),
    Param::integer(
        "extent_x_cells",
        "cells",
        [8, 1 << 24, 1024],
        "Extent of the area from west to east.",
    ),
    Param::integer(
        "extent_y_cells",
        "cells",
        [8, 1 << 24, 1024],
        "Extent of the area from north to south.",
    ),
    Param::integer(
        "spacing_cells",
        "cells",
        [1, 1 << 16, 4],
        "Cells from node to node: the width of the smallest valleys.",
    ),
    Param::choice(
        "uplift",
        &["noise", "constant", "picture"],
        "Where rock rises: where a noise is high, everywhere, or where a picture is bright.",
    ),
    Param::file("file", "With uplift = \"picture\": the picture, which is laid over the area."),
    Param::number(
        "feature_cells",
        "cells",
        [4.0, 1e7, 512.0],
        "Size of the ranges that the noise makes.",
    ),
    Param::number(
        "cover",
        "",
        [0.0, 1.0, 0.6],
        "About how much of the area that noise makes mountains of.",
    ),
    Param::number(
        "plain",
        "",
        [0.0, 1.0, 0.03],
        "Uplift of the rest, as part of that of the mountains.",
    ),
    Param::number(
        "hardness",
        "",
        [0.0, 0.9, 0.4],
        "How much harder or softer rock is from place to place.",
    ),
    Param::number(
        "concavity",
        "",
        [0.25, 0.75, 0.4375],
        "Exponent of the drained area: how much gentler rivers are than brooks. Real ones have 0.4 \
         to 0.6.",
    ),
    Param::number(
        "slope_max",
        "m/m",
        [0.05, 8.0, 0.8],
        "Steepest slope of a mountainside, rise over run.",
    ),
    Param::number(
        "warp_cells",
        "cells",
        [0.0, 1000.0, 6.0],
        "How far noise moves places along each axis, at most.",
    ),
    Param::number(
        "relief_m",
        "m",
        [0.0, 1e6, 2000.0],
        "Height of the highest node above the base, before mountainsides are cut.",
    ),
    Param::number(
        "base_m",
        "m",
        [-1e6, 1e6, 0.0],
        "Height of the sides of the area and of everything outside.",
    ),
    COMBINE,
    MASK,
    SHARE,
    ONE_M,
];

/// Nodes in a row, and rows.
fn nodes(s: &Settings) -> [i64; 2] {
    ["extent_x_cells", "extent_y_cells"]
        .map(|name| s.integer(name) / s.integer("spacing_cells") + 1)
}

fn summary(s: &Settings, _: &Site) -> serde_json::Value {
    let mut summary = serde_json::json!({ "nodes": nodes(s) });
    if let Some(picture) = s.picture(s.word("file")) {
        summary["picture"] = picture.describe();
    }
    summary
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    for (name, count) in ["extent_x_cells", "extent_y_cells"].into_iter().zip(nodes(s)) {
        if !(4..=NODES_MAX).contains(&count) {
            let (extent, spacing) = (s.integer(name), s.integer("spacing_cells"));
            let message = format!(
                "{name} = {extent} at spacing_cells = {spacing}: {count} nodes: allowed are 4 to \
                 {NODES_MAX}: change spacing_cells or {name}"
            );
            return Err(Invalid::of(
                name,
                extent,
                format!("{} to {} cells", 3 * spacing, (NODES_MAX - 1) * spacing),
            )
            .saying(message)
            .into());
        }
    }
    let (uplift, file) = (s.word("uplift"), s.word("file"));
    if (uplift == "picture") == file.is_empty() {
        let message = match uplift {
            "picture" => "uplift = \"picture\", file = \"\": name the picture".into(),
            _ => format!(
                "uplift = {uplift:?}, file = {file:?}: a file is read only with uplift = \
                 \"picture\""
            ),
        };
        return Err(Invalid::from(message).about("file").into());
    }
    let (relief, base) = (s.number("relief_m"), s.number("base_m"));
    combine::check_heights(site, &[("base_m", base), ("base_m + relief_m", base + relief)])
}

uniform! {
    /// The uniform struct of the pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        nodes: IVec2,
        warped: u32,
        base: i32,
        relief: i32,
    }
}

static LIFT: Kernel = Kernel {
    entry: "lift",
    reads: &["waves", "places", "survey"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: lift,
};

static KNOWN: Memory<String, Vec<i32>> = Memory::empty();

/// The heights of the nodes, 2⁻²⁸ of the relief, row by row.
pub fn worked_out(s: &Settings, site: &Site) -> Arc<Vec<i32>> {
    let [step, parts] = site.stride();
    // The recipe's cell, whatever the level.
    let cell_m = site.spacing_m() / step as f64 * parts as f64;
    let picture = match s.word("uplift") {
        "picture" => s.picture(s.word("file")),
        _ => None,
    };
    let named = |name: &str| s.number(name);
    let land = Land {
        nodes: nodes(s).map(|n| n as usize),
        spacing: s.integer("spacing_cells") as f64,
        seed: site.world.seed,
        lift: match (s.word("uplift"), picture) {
            ("noise", _) => Lift::Noise { feature: named("feature_cells"), cover: named("cover") },
            ("picture", Some(picture)) => Lift::Picture(picture),
            _ => Lift::Constant,
        },
        feature: named("feature_cells"),
        plain: named("plain"),
        hardness: named("hardness"),
        sixteenths: (named("concavity") * 16.0).round() as u32,
        // The rise of a whole relief over one spacing.
        steepest: named("slope_max") * s.integer("spacing_cells") as f64 * cell_m
            / named("relief_m").max(cell_m / 1024.0),
    };
    let words = picture.map(|picture| picture.describe().to_string());
    let key = format!(
        "{:?} {} {} {:?} {} {} {} {} {} {words:?}",
        land.nodes,
        land.spacing,
        land.seed,
        s.word("uplift"),
        named("feature_cells"),
        named("cover"),
        land.plain,
        land.hardness,
        [land.sixteenths as f64, land.steepest]
            .map(f64::to_bits)
            .map(|bits| bits.to_string())
            .join(" "),
    );
    KNOWN.get(key, || land.worked_out())
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let half = |extent: &str| s.integer(extent) / 2;
    let corner = [
        s.integer("centre_x") - half("extent_x_cells"),
        s.integer("centre_y") - half("extent_y_cells"),
    ];
    let (spacing, warp) = (s.integer("spacing_cells") as f64, s.number("warp_cells"));
    let tables = survey::tables(site, corner, spacing, warp, 8.0 * spacing);
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        nodes: nodes(s).map(|n| n as i32).into(),
        warped: (warp > 0.0) as u32,
        base: site.height_of(s.number("base_m")),
        relief: site.units(s.number("relief_m")),
    };
    let height = Buffer::cells("height", window, 1).kept().unset();
    let survey =
        Buffer::long_table("survey", nodes(s).iter().product::<i64>() as usize, site, || {
            worked_out(s, site).to_vec()
        });
    let buffers = vec![
        height,
        Buffer::table("waves", tables.waves),
        Buffer::table("places", tables.places),
        survey,
    ];
    let plan = Plan::new(
        STAGE.shader,
        *window,
        buffers,
        vec![Pass::over(&LIFT, Uniform::of(params), window)],
    );
    combine::onto_ground(plan, s, site)
}

fn lift(call: &mut Call) {
    let p: &Params = call.params();
    let &[waves, places, survey] = call.reads else { return };
    let first = call.range.start as i32 / p.width;
    let mut by = Default::default();
    for (j, own) in call.owns[0].chunks_exact_mut(p.width as usize).enumerate() {
        lift_row(p, [waves, places], survey, first + j as i32, own, &mut by);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn lift_row(
    p: &Params,
    tables: [&[i32]; 2],
    survey: &[i32],
    y: i32,
    own: &mut [i32],
    by: &mut [Vec<i32>; 2],
) {
    let land = Surveyed { survey, lattice: p.nodes.to_array(), tables, warped: p.warped == 1 };
    land.row([p.width, p.height], y, own, by);
    for own in own {
        *own = p.base.wrapping_add(mul_q28(p.relief, *own));
    }
}

fn cases() -> Vec<Case> {
    let small = |case: Case| {
        case.with("centre_x", 30)
            .with("centre_y", 25)
            .with("extent_x_cells", 60)
            .with("extent_y_cells", 50)
            .with("feature_cells", 40.0)
    };
    vec![
        small(case("default", Flat, [-6, -5], [72, 60])).with("spacing_cells", 2),
        small(case("constant", Flat, [3, 1], [55, 40]))
            .with("uplift", "constant")
            .with("warp_cells", 0.0)
            .with("concavity", 0.5)
            .with("base_m", -20.0),
        case("far", Flat, [(1 << 59) - 10, -(1 << 59) - 30], [40, 60])
            .with("centre_x", 1i64 << 59)
            .with("centre_y", -(1i64 << 59))
            .with("extent_x_cells", 40)
            .with("extent_y_cells", 40)
            .with("spacing_cells", 1),
        small(case("highest", Hills, [0, 0], [60, 50])).with("combine", "max").with("plain", 0.0),
    ]
}
