//! Level ground, to draw on.
//!
//! # Rule
//! Every cell has the height `height_m`.
//!
//! # Shape
//! The same everywhere in the world.
//!
//! # Reach
//! None.
//!
//! # Costs
//! One write a cell. Memory: 4 bytes a cell.

use super::Surface::Cone;
use super::case::case;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use super::{Case, Stage};
use crate::error::Invalid;
use crate::params::{Param, Settings, rounded};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::{HEIGHT_MAX, Site};
use crate::twin::uniform;
use encase::ShaderType;

/// The stage.
pub static STAGE: Stage = Stage {
    name: "flat",
    about: "Level ground, to draw on.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(Params::WGSL, include_str!("../../shaders/flat.wgsl")),
    kernels: &[&LAY],
    check,
    plan,
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::number("height_m", "m", [-1e6, 1e6, 0.0], "Height of the ground."),
    COMBINE,
    MASK,
    SHARE,
    ONE_M,
];

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let (height, most) = (s.number("height_m"), HEIGHT_MAX as f64 * site.spacing_m());
    if height.abs() > most {
        let (spacing, most) = (rounded(site.spacing_m()), rounded(most));
        let allowed = format!("up to {HEIGHT_MAX} cells, {most} m, either way");
        let message = format!("height_m = {height} at spacing_m = {spacing}: allowed {allowed}");
        return Err(Invalid::of("height_m", height, allowed).saying(message).into());
    }
    Ok(())
}

uniform! {
    /// The uniform struct of the pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        level: i32,
    }
}

static LAY: Kernel =
    Kernel { entry: "lay", reads: &[], owns: &[("height", 1)], adds: &[], cpu: lay };

fn plan(s: &Settings, site: &Site) -> Plan {
    let params = Params { level: site.height_of(s.number("height_m")) };
    let height = Buffer::cells("height", &site.window, 1).kept().unset();
    let plan = Plan::new(
        STAGE.shader,
        site.window,
        vec![height],
        vec![Pass::over(&LAY, Uniform::of(params), &site.window)],
    );
    combine::onto_ground(plan, s, site)
}

fn lay(call: &mut Call) {
    let p: &Params = call.params();
    call.owns[0].fill(p.level);
}

fn cases() -> Vec<Case> {
    vec![
        case("default", Cone, [0, 0], [20, 11]),
        case("high", Cone, [0, 0], [7, 30]).with("height_m", -123.4),
        case("least", Cone, [0, 0], [21, 30]).with("height_m", 100.0).with("combine", "min"),
    ]
}
