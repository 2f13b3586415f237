//! Coarse to fine: how a land goes down to coarser lattices, and how what was done there comes up
//! again.
//!
//! # Rule
//! The vertices of a *level* are every second vertex of the next finer one, on world coordinates. A
//! cell is twice as wide there, so heights in cells are halved. Three stages, which a recipe does
//! not name, run between those that it does.
//!
//! - `keep` puts a map of a level aside until the level's turn comes.
//! - `restrict` makes the coarser lattice of a map: the binomial kernel of 3 × 3 vertices round
//!   every second vertex.
//! - `refine` makes the land of a level from that of the next coarser one. What rises is the
//!   *change*: with b the land before any stage changed it, h the land after, and ↑ the subdivision
//!   of the cubic B-spline (weights 1, 6, 1 and 4, 4 in eighths), the finer land is h = b + ↑(h' −
//!   b') − (1 − s³) · (b − ↑b'). The last term takes out the fine detail b − ↑b' where coarser
//!   levels have buried it in sediment or worn it away: s falls from 1 to 0 as the thickness laid
//!   down grows to three times `fade`, or that worn away to twelve times. The coarsest level begins
//!   with b itself. Sediment, erosion and deposition come up with the land, and layers (rain,
//!   hardness, vegetation, uplift) are those of the level. The flow of coarser levels comes up,
//!   too, and the particles of the level are counted from there: a droplet there stands for four
//!   here, on a path twice as wide. So does the area that rivers drain, and the depth of their
//!   water.
//!
//! # Shape
//! A level covers the finer one: its first vertex is at or before the finer one's first, and its
//! last at or beyond the finer one's last. Beyond the borders maps are mirrored, or repeated on a
//! torus.
//!
//! # Units
//! Heights and thicknesses 2⁻¹⁸ cells of their level.
//!
//! # Limits
//! Heights stay within ±8191 cells, sums within 8192.
//!
//! # Reach
//! Two cells of the coarser level.
//!
//! # Keeps
//! Raising − lowering is the change of height. Mass is not kept: a coarser lattice has other sums.
//!
//! # Source
//! The subdivision is that of G. Chaikin's and C. Loop's schemes for the cubic B-spline: E.
//! Catmull, J. Clark, *Recursively generated B-spline surfaces on arbitrary topological
//! meshes*, 1978.
//!
//! # Costs
//! A cell of the finer level: up to 18 reads for its height, 27 for its ledger, 9 for its flow.
//! Memory: the maps of all levels, a third more than those of the finest.

mod kernels;

use super::Surface::Noise;
use super::{Case, Stage};
use crate::arith::{CELL, LEDGER_WORDS};
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Fill, Pass, Plan, Shape, Uniform};
use crate::site::{Layer, Layers, Site, Window};
use crate::twin::{constants, uniform};
use encase::ShaderType;
use glam::IVec2;
use kernels::{HALVE, PICK, RAISE, RAISE_FLOW, RAISE_LEDGER, RAISE_WATER, START, START_LEDGER};
use std::sync::LazyLock;

/// Most levels of a land.
pub const LEVELS_MAX: u32 = 12;
/// Cells of the shorter side of the coarsest level, by default about and at least.
pub const COARSEST: [u32; 2] = [64, 16];
constants! {
    const WGSL: &str;

    /// Most that comes up of the flow of coarser levels, so that what a level adds does not wrap.
    const PASSED_MAX: i32 = 1 << 30;
}

/// The maps that levels have, as they are called while a level runs: its heights before any stage
/// changed them, layers, and the loose sediment before any stage moved it.
const MAPS: [&str; 6] = ["height", "rain", "hardness", "vegetation", "uplift", "loose"];

/// The names of the maps of each level between stages, such as `height 3`.
static STORED: LazyLock<Vec<[&'static str; 2 * LEVELS_MAX as usize + 1]>> = LazyLock::new(|| {
    let name = |map: &str, i: usize| -> &'static str {
        format!("{map} {}", i as i32 - LEVELS_MAX as i32).leak()
    };
    MAPS.iter().map(|map| std::array::from_fn(|i| name(map, i))).collect()
});

/// The name under which a level's map waits for its turn.
fn stored(map: &str, level: i32) -> &'static str {
    // The callers name maps of the list, and levels were checked.
    let place = MAPS.iter().position(|known| *known == map).unwrap_or(0);
    STORED[place][(level + LEVELS_MAX as i32).clamp(0, 2 * LEVELS_MAX as i32) as usize]
}

/// The name of a buffer that waits between stages, if it is one.
pub fn stored_name(name: &str) -> Option<&'static str> {
    ["passed", "surface", "area"]
        .into_iter()
        .chain(STORED.iter().flatten().copied())
        .find(|known| *known == name)
}

/// Whether a buffer of [`REFINE`]'s plan is of the coarser level.
pub fn is_coarse(buffer: &Buffer) -> bool {
    buffer.name.starts_with("coarse")
}

/// The window of the next coarser level. It covers the finer one, and on a torus it has half of its
/// vertices.
pub fn coarser(window: &Window, torus: bool) -> Window {
    let first = window.origin.map(|o| o.div_euclid(2));
    let side = |axis: usize, side: u32| {
        // Rounded up, so that the last vertex is at or beyond the finer one's.
        let last = -(-(window.origin[axis] + side as i64 - 1)).div_euclid(2);
        if torus { side.div_ceil(2) } else { (last - first[axis] + 1) as u32 }
    };
    Window { origin: first, width: side(0, window.width), height: side(1, window.height) }
}

/// The window of the next finer level: its vertices and one between each two.
fn finer(window: &Window, torus: bool) -> Window {
    // On a torus there is one between the last vertex and the first, too.
    let side = |side: u32| (2 * side).saturating_sub(!torus as u32);
    Window {
        origin: window.origin.map(|o| 2 * o),
        width: side(window.width),
        height: side(window.height),
    }
}

/// The window of a level, from that of the recipe's lattice.
pub fn lattice(own: &Window, level: i32, torus: bool) -> Window {
    let next = if level < 0 { finer } else { coarser };
    (0..level.unsigned_abs()).fold(*own, |window, _| next(&window, torus))
}

/// The site of a level, from that of the recipe's lattice.
pub fn site(own: &Site, level: i32, torus: bool) -> Site {
    let mut site = Site { window: lattice(&own.window, level, torus), level, ..*own };
    site.world.bounds = lattice(&own.world.bounds, level, torus);
    site.world.scale.spacing_m = spacing_m(own.world.scale.spacing_m, level);
    site
}

/// Metres a cell of a level, from those of the recipe's lattice.
pub fn spacing_m(own: f64, level: i32) -> f64 {
    // Exact: `exp2` is as exact as the system's library.
    let times = (1u64 << level.unsigned_abs()) as f64;
    if level < 0 { own / times } else { own * times }
}

/// Puts a map aside until its level's turn comes.
pub static KEEP: Stage = Stage {
    name: "keep",
    about: "A level's map before any stage changes it.",
    params: &[Param::choice("map", &MAPS, "The map.")],
    shader: SHADER,
    kernels: &[&PICK],
    plan: keep,
    summary: |s, site| serde_json::json!({ "map": s.word("map"), "level": site.level }),
    cases: keep_cases,
    ..Stage::PLAIN
};

/// Makes the next coarser lattice of a map.
pub static RESTRICT: Stage = Stage {
    name: "restrict",
    about: "The next coarser level of a map.",
    params: &[
        Param::choice("map", &MAPS, "The map."),
        Param::switch("torus", false, "Whether the land is a torus."),
    ],
    shader: SHADER,
    kernels: &[&HALVE],
    plan: restrict,
    reach: |_, _| 1,
    summary: |s, site| serde_json::json!({ "map": s.word("map"), "level": site.level + 1 }),
    cases: restrict_cases,
    ..Stage::PLAIN
};

/// Makes the land of a level.
pub static REFINE: Stage = Stage {
    name: "refine",
    about: "The land of a level, from that of the next coarser one.",
    params: &[
        Param::switch("coarsest", false, "Whether there is no coarser level."),
        Param::switch("finest", false, "Whether there is no finer level."),
        Param::switch("flow", false, "Whether particles of the level count flow."),
        Param::switch("water", false, "Whether rivers cut on the level."),
        Param::switch("loose", false, "Whether there is sediment before any stage moves it."),
        Param::switch("torus", false, "Whether the land is a torus."),
        Param::number(
            "fade",
            "cells",
            [0.0, 1000.0, 1.0],
            "Thickness of sediment, in cells of the level, over which fine detail fades. Where the \
             land is worn away it takes four times as much. 0: it stays.",
        ),
    ],
    shader: SHADER,
    kernels: &[&START, &START_LEDGER, &RAISE, &RAISE_LEDGER, &RAISE_FLOW, &RAISE_WATER],
    plan: refine,
    reach: |_, _| 4,
    summary: |_, site| {
        serde_json::json!({ "level": site.level, "width": site.window.width,
        "height": site.window.height, "spacing_m": site.spacing_m() })
    },
    cases: refine_cases,
    ..Stage::PLAIN
};

const SHADER: &str =
    constcat::concat!(WGSL, Params::WGSL, include_str!("../../shaders/levels.wgsl"));

uniform! {
    /// The uniform struct of every pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        /// Size of the finer lattice.
        fine: IVec2,
        /// Size of the coarser lattice.
        coarse: IVec2,
        /// The finer lattice's first vertex, in finer cells from the coarser one's first: 0 or 1.
        offset: IVec2,
        torus: u32,
        /// 1 for maps in cells.
        halve: u32,
        /// Three times `fade` in units of the coarser level, shifted; 0: detail stays.
        fade: u32,
        fade_shift: u32,
        /// 1 if there is such a map.
        loose: u32,
    }
}

impl Params {
    fn of(fine: &Window, torus: bool) -> Self {
        let coarse = coarser(fine, torus);
        let size = |w: &Window| IVec2::new(w.width as i32, w.height as i32);
        Self {
            fine: size(fine),
            coarse: size(&coarse),
            offset: [0, 1].map(|a| (fine.origin[a] - 2 * coarse.origin[a]) as i32).into(),
            torus: torus as u32,
            ..Self::default()
        }
    }
}

/// A map that waits under one name and has another while the plan runs.
fn taken(
    name: &'static str,
    from: &'static str,
    window: &Window,
    each: usize,
    keep: Option<&'static str>,
) -> Buffer {
    Buffer { fill: Fill::Taken(from), keep, ..Buffer::cells(name, window, each) }
}

fn made(name: &'static str, window: &Window, each: usize, keep: &'static str) -> Buffer {
    Buffer { keep: Some(keep), ..Buffer::cells(name, window, each).unset() }
}

/// Puts a map of the site's level aside until the level's turn comes.
fn keep(s: &Settings, site: &Site) -> Plan {
    let (map, window) = (s.word("map"), &site.window);
    let waits = stored(map, site.level);
    if map != "loose" {
        let name = MAPS.into_iter().find(|known| *known == map).unwrap_or("height");
        return Plan::new(SHADER, *window, vec![taken(name, name, window, 1, Some(waits))], vec![]);
    }
    let buffers =
        vec![taken("ledger", "ledger", window, LEDGER_WORDS, None), made("fine", window, 1, waits)];
    Plan::new(
        SHADER,
        *window,
        buffers,
        vec![Pass::over(&PICK, Uniform::of(Params::of(window, false)), window)],
    )
}

/// From the map of the site's level to that of the next coarser one.
fn restrict(s: &Settings, site: &Site) -> Plan {
    let (map, fine, torus) = (s.word("map"), &site.window, s.switch("torus"));
    let coarse = coarser(fine, torus);
    let (here, there) = (stored(map, site.level), stored(map, site.level + 1));
    // Lengths are in cells. Other maps are fractions.
    let halves = matches!(map, "height" | "loose");
    let params = Uniform::of(Params { halve: halves as u32, ..Params::of(fine, torus) });
    let buffers = vec![made("coarse", &coarse, 1, there), taken("fine", here, fine, 1, Some(here))];
    Plan::new(SHADER, *fine, buffers, vec![Pass::over(&HALVE, params, &coarse)])
}

/// The land of the site's level.
fn refine(s: &Settings, site: &Site) -> Plan {
    let (fine, level, torus) = (&site.window, site.level, s.switch("torus"));
    let coarse = coarser(fine, torus);
    let (ledger, loose) = (site.layers.has(Layer::Ledger), s.switch("loose"));
    let coarsest = s.switch("coarsest");
    // A cell of this level is half a cell of the coarser one, in whose units changes come.
    let fade = (s.number("fade") * 3.0 * (CELL / 2) as f64).round() as u64;
    // 15 bits, so that what is buried fits 31 with 16 bits more.
    let fade_shift = (0..32).find(|&shift| fade >> shift < 1 << 15).unwrap_or(31);
    let params = Uniform::of(Params {
        fade: (fade >> fade_shift) as u32,
        fade_shift,
        loose: loose as u32,
        ..Params::of(fine, torus)
    });
    // What the next finer level starts from stays.
    let keep = |map: &str| (!s.switch("finest")).then(|| stored(map, level));
    let mut buffers = vec![
        taken("base", stored("height", level), fine, 1, keep("height")),
        made("height", fine, 1, "height"),
    ];
    let mut passes = vec![];
    if coarsest {
        passes.push(Pass::over(&START, params.clone(), fine));
    } else {
        buffers.push(taken("coarse_base", stored("height", level + 1), &coarse, 1, None));
        buffers.push(taken("coarse", "height", &coarse, 1, None));
        passes.push(Pass::over(&RAISE, params.clone(), fine));
    }
    if ledger {
        let absent = Buffer::absent;
        buffers.push(if loose {
            taken("loose", stored("loose", level), fine, 1, keep("loose"))
        } else {
            absent("loose")
        });
        buffers.push(made("ledger", fine, LEDGER_WORDS, "ledger"));
        if coarsest {
            passes.push(Pass::over(&START_LEDGER, params.clone(), fine));
        } else {
            let waiting = || taken("coarse_loose", stored("loose", level + 1), &coarse, 1, None);
            buffers.push(if loose { waiting() } else { absent("coarse_loose") });
            buffers.push(taken("coarse_ledger", "ledger", &coarse, LEDGER_WORDS, None));
            passes.push(Pass::over(&RAISE_LEDGER, params.clone(), fine));
        }
    }
    // The coarser level's flow ends here, also where nothing starts from it.
    if (s.switch("flow") || s.switch("water")) && !coarsest {
        buffers.push(taken("coarse_flow", "flow", &coarse, 1, None));
    }
    if s.switch("flow") && !coarsest {
        buffers.push(made("passed", fine, 1, "passed"));
        passes.push(Pass::over(&RAISE_FLOW, params.clone(), fine));
    }
    if s.switch("water") && !coarsest {
        buffers.extend(["surface", "area"].map(|name| made(name, fine, 1, name)));
        buffers.push(taken("coarse_surface", "surface", &coarse, 1, None));
        buffers.push(taken("coarse_area", "area", &coarse, 1, None));
        passes.push(Pass::over(&RAISE_WATER, params, fine));
    }
    for (name, layer, _) in Layer::PAINTED {
        if site.layers.has(layer) {
            buffers.push(taken(name, stored(name, level), fine, 1, Some(name)));
        }
    }
    Plan { steps: vec![], ..Plan::new(SHADER, *fine, buffers, passes) }
}

/// A case on the worst ground.
fn case(name: &'static str, origin: [i64; 2], size: [u32; 2]) -> Case {
    super::case::case(name, Noise, origin, size)
}

fn keep_cases() -> Vec<Case> {
    let ledger = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    vec![case("loose", [1 << 40, -(1 << 33)], [33, 20]).with("map", "loose").with_layers(ledger)]
}

fn restrict_cases() -> Vec<Case> {
    let rain = Layers::of(&[Layer::Rain]);
    vec![
        case("default", [0, 0], [61, 40]),
        case("odd", [-7, 5], [30, 51]),
        case("torus", [0, 0], [32, 48]).with("torus", true),
        case("layer", [3, 3], [33, 20]).with("map", "rain").with_layers(rain),
        case("loose", [1 << 40, -(1 << 33)], [33, 20]).with("map", "loose"),
    ]
}

fn refine_cases() -> Vec<Case> {
    let ledger = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    vec![
        case("default", [0, 0], [61, 40]),
        case("odd", [-7, 5], [30, 51]).with("fade", 1000.0).with("flow", true).with_layers(ledger),
        case("torus", [0, 0], [32, 48]).with("torus", true).with("flow", true),
        case("loose", [9, -8], [33, 20])
            .with("loose", true)
            .with("fade", 0.0)
            .with_layers(Layers::ALL),
        case("coarsest", [3, 3], [33, 20])
            .with("loose", true)
            .with("coarsest", true)
            .with_layers(ledger),
        case("last", [3, 3], [33, 20])
            .with("finest", true)
            .with("loose", true)
            .with("flow", true)
            .with_layers(ledger),
        case("bare", [3, 3], [33, 20])
            .with("coarsest", true)
            .with_layers(Layers::of(&[Layer::Ledger])),
    ]
}

/// The buffers that a plan of these stages takes, for tests: their names, what they are, and how
/// many words.
pub fn waiting(plan: &Plan) -> Vec<(&'static str, Shape, usize)> {
    let from = |buffer: &Buffer| match buffer.fill {
        Fill::Taken(from) => Some((from, buffer.shape, buffer.words)),
        _ => None,
    };
    plan.buffers.iter().filter_map(from).collect()
}
