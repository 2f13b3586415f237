//! What generators share: how the land that one makes is combined with the land that is there. Runs
//! insert its pass behind a generator's.
//!
//! # Rule
//! With g the ground that is there and m what the generator makes, both heights in metres, the new
//! height is g + `opacity` · w · (f(g, m) − g), where f is
//! - `add`: g + m; `subtract`: g − m;
//! - `multiply`: g · max(0, m / `unit_m`), of which the factor is at most 64;
//! - `min`, `max`: the lower and the higher of both;
//! - `blend`: m;
//!
//! and w is the layer that `mask` names, 0 to 1, or 1.
//!
//! # Shape
//! A cell looks at its own words alone.
//!
//! # Units
//! Heights 2⁻¹⁸ cells, shares 2⁻¹⁶, factors 2⁻²⁸.
//!
//! # Limits
//! Sums and products stop at ±8000 cells. The word 0 is at 0 m.
//!
//! # Reach
//! None.
//!
//! # Source
//! *How to generate terrain*, an article of 2011 on Habr: fractals of several scales are multiplied
//! and added, with coefficients.
//!
//! # Costs
//! 2 or 3 reads and 1 write a cell; 28 rounds of long division with `multiply`. Memory: 4 bytes a
//! cell more than the generator alone.

use super::Surface::{Cone, Hills, Noise};
use super::case::case;
use super::{Case, Stage};
use crate::arith::{mul_q16, mul_q16_near, mul_q28};
use crate::error::Invalid;
use crate::params::{Param, Settings, Value, rounded};
use crate::plan::{Buffer, Call, Fill, Kernel, Pass, Plan, Uniform};
use crate::site::{HEIGHT_MAX, Layer, Layers, Site};
use crate::twin::{constants, uniform};
use encase::ShaderType;

constants! {
    const WGSL: &str;

    const ADD: u32 = 1;
    const SUBTRACT: u32 = 2;
    const MULTIPLY: u32 = 3;
    const MIN: u32 = 4;
    const MAX: u32 = 5;
    /// Highest height that is left, and the negative of the lowest: 8000 cells.
    const HIGHEST: i32 = 2097152000;
    /// Largest factor.
    const FACTOR_MAX: u32 = 64;
    /// Bits of a factor behind the point.
    const FACTOR_BITS: u32 = 28;
}

/// How what a generator makes is combined with the ground.
pub const COMBINE: Param = Param::choice(
    "combine",
    &["none", "add", "subtract", "multiply", "min", "max", "blend"],
    "How what it makes is combined with the heights that are there. none: it makes the first \
     heights.",
);

/// Where it is.
pub const MASK: Param = Param::choice(
    "mask",
    &["none", "rain", "hardness", "vegetation", "uplift"],
    "With combine: the layer that says where, from 0 for not at all to 1.",
);

/// How much.
pub const SHARE: Param = Param::number(
    "opacity",
    "",
    [0.0, 1.0, 1.0],
    "With combine: how far the ground goes to what is combined.",
);

/// What multiplies by one.
pub const ONE_M: Param = Param::number(
    "unit_m",
    "m",
    [0.001, 1e6, 1000.0],
    "With combine = \"multiply\": the height that multiplies by 1.",
);

/// The stage that the pass belongs to. Recipes cannot name it.
pub static STAGE: Stage = Stage {
    name: "combine",
    about: "Combines what a generator makes with the ground.",
    params: &[COMBINE, MASK, SHARE, ONE_M],
    shader: constcat::concat!(WGSL, Params::WGSL, include_str!("../../shaders/combine.wgsl")),
    kernels: &[&JOIN],
    check,
    plan: |s, site| {
        let (buffers, pass) = joining(s, site, "ground");
        let buffers = [vec![Buffer::height(&site.window)], buffers].concat();
        Plan::new(STAGE.shader, site.window, buffers, vec![Pass { shader: None, ..pass }])
    },
    cases,
    ..Stage::PLAIN
};

uniform! {
    /// The uniform struct of the pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        how: u32,
        masked: u32,
        share: u32,
        one: u32,
    }
}

static JOIN: Kernel = Kernel {
    entry: "join",
    reads: &["ground", "mask"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: join,
};

/// Whether a generator with these settings makes the first heights, rather than changing some.
pub fn is_first(s: &Settings) -> bool {
    s.get("combine").is_none_or(|how| *how == Value::Word("none".into()))
}

/// The layer that is the mask.
fn mask(s: &Settings) -> Option<(&'static str, Layer)> {
    Layer::PAINTED
        .into_iter()
        .find(|(name, ..)| *name == s.word("mask"))
        .map(|(name, layer, _)| (name, layer))
}

/// Checks how a generator is combined.
pub fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let wrong = |field: &str, message: String| Err(Invalid::from(message).about(field).into());
    if is_first(s) {
        return match mask(s) {
            Some((name, _)) => {
                wrong("mask", format!("mask = \"{name}\": allowed with combine, which is none"))
            }
            None => Ok(()),
        };
    }
    if let Some((name, layer)) = mask(s)
        && !site.layers.has(layer)
    {
        let kind = format!("put a stage of kind = \"layer\" with map = \"{name}\" before this one");
        return wrong(
            "mask",
            format!("mask = \"{name}\": no stage before this one makes that layer: {kind}"),
        );
    }
    let most = HEIGHT_MAX as f64 * site.spacing_m();
    if s.word("combine") == "multiply" && s.number("unit_m") > most {
        let spacing = rounded(site.spacing_m());
        return wrong(
            "unit_m",
            format!(
                "unit_m = {} at spacing_m = {spacing}: allowed up to {HEIGHT_MAX} cells, {} m",
                s.number("unit_m"),
                rounded(most)
            ),
        );
    }
    if site.datum_m() != 0.0 {
        return wrong(
            "combine",
            format!(
                "combine = \"{}\": the heights of the input lie round {} m, too far from 0 m to be \
                 combined: subtract that from them",
                s.word("combine"),
                rounded(site.datum_m())
            ),
        );
    }
    Ok(())
}

/// Refuses heights in metres that a generator cannot make.
pub fn check_heights(site: &Site, heights: &[(&'static str, f64)]) -> crate::Result<()> {
    let most = HEIGHT_MAX as f64 * site.spacing_m();
    let Some((name, metres)) = heights.iter().find(|(_, metres)| metres.abs() > most) else {
        return Ok(());
    };
    let message = format!(
        "{name} = {} m at spacing_m = {}: allowed up to {HEIGHT_MAX} cells, {} m, either way",
        rounded(*metres),
        rounded(site.spacing_m()),
        rounded(most)
    );
    Err(Invalid::from(message).about(name.split(' ').next().unwrap_or(name)).into())
}

/// The buffers that the pass needs besides the height, and the pass. The ground has waited under
/// the name `from`.
fn joining(s: &Settings, site: &Site, from: &'static str) -> (Vec<Buffer>, Pass) {
    let window = &site.window;
    let taken = |name, from, keep| Buffer {
        fill: Fill::Taken(from),
        keep,
        ..Buffer::cells(name, window, 1)
    };
    let mask = match mask(s) {
        Some((layer, _)) => taken("mask", layer, Some(layer)),
        None => Buffer::absent("mask"),
    };
    let params = Params {
        how: s.choice("combine"),
        masked: (s.choice("mask") != 0) as u32,
        share: (s.number("opacity") * 65536.0).round() as u32,
        one: site.units(s.number("unit_m")).max(1) as u32,
    };
    let pass =
        Pass { shader: Some(STAGE.shader), ..Pass::over(&JOIN, Uniform::of(params), window) };
    (vec![taken("ground", from, None), mask], pass)
}

/// The plan of a generator, which is combined with the ground where the settings say so.
pub fn onto_ground(mut plan: Plan, s: &Settings, site: &Site) -> Plan {
    if !is_first(s) {
        let (buffers, pass) = joining(s, site, "height");
        plan.buffers.extend(buffers);
        plan.passes.push(pass);
        plan.steps = vec![plan.passes.len()];
    }
    plan
}

/// a · n / `one`, for n of 0 or more.
#[inline(always)]
fn times(p: &Params, a: i32, n: i32) -> i32 {
    let n = n.max(0) as u32;
    let whole = n / p.one;
    let mut rest = n % p.one;
    let mut part = 0i32;
    for _ in 0..FACTOR_BITS {
        rest <<= 1;
        part <<= 1;
        if rest >= p.one {
            rest -= p.one;
            part |= 1;
        }
    }
    if whole >= FACTOR_MAX {
        let most = HIGHEST / FACTOR_MAX as i32;
        return a.clamp(-most, most) * FACTOR_MAX as i32;
    }
    let most = HIGHEST / whole.max(1) as i32;
    (a.clamp(-most, most) * whole as i32).saturating_add(mul_q28(a, part))
}

fn join(call: &mut Call) {
    let p: &Params = call.params();
    let &[ground, mask] = call.reads else { return };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (old, made) = (ground[i as usize], *own);
        let both = match p.how {
            ADD => old.saturating_add(made),
            SUBTRACT => old.saturating_sub(made),
            MULTIPLY => times(p, old, made),
            MIN => old.min(made),
            MAX => old.max(made),
            _ => made,
        };
        let both = both.clamp(-HIGHEST, HIGHEST);
        let share = if p.masked == 1 {
            mul_q16(p.share as i32, mask[i as usize].clamp(0, 65536) as u32) as u32
        } else {
            p.share
        };
        *own = mul_q16_near(old, 65536 - share).wrapping_add(mul_q16_near(both, share));
    }
}

fn cases() -> Vec<Case> {
    let layers = Layers::of(&[Layer::Rain, Layer::Hardness, Layer::Vegetation]);
    let case = |name, how: &str, mask: &str, share: f64, one: f64, surface| {
        case(name, surface, [3, -5], [41, 23])
            .with("combine", how)
            .with("mask", mask)
            .with("opacity", share)
            .with("unit_m", one)
            .with_layers(layers)
    };
    vec![
        case("add", "add", "none", 1.0, 1000.0, Noise),
        case("subtract", "subtract", "rain", 0.7, 1000.0, Noise),
        case("multiply", "multiply", "none", 1.0, 9000.0, Hills),
        case("far", "multiply", "hardness", 1.0, 0.01, Noise),
        case("least", "min", "none", 0.5, 1000.0, Hills),
        case("most", "max", "vegetation", 1.0, 1000.0, Cone),
        case("blend", "blend", "hardness", 0.9, 1000.0, Noise),
    ]
}
