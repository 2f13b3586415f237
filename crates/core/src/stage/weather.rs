//! Rain from a prevailing wind and the relief, for the layers that ask for it. Twin of
//! `shaders/weather.wgsl`.
//!
//! # Rule
//! Air that rises over the land loses water, and air that sinks dries. What it loses does not fall
//! at once: drops form, and then fall, while the wind carries them on. So with the lift of the
//! ground along the wind, w = slope · wind (rise per cell; where it is negative, `shadow` times
//! that; the sea, below `sea_level_m`, is level), the rain is
//!
//! max(0, `background` + `moisture` · D(D(w)))
//!
//! where D is the mean upwind with weights e^(−distance / `carry_m`), as far as `fetch_m`. One D
//! stands for the forming of drops, the other for their fall. Ground beyond the land is level.
//!
//! The sum over 2ⁿ cells takes n passes, since the mean over the nearest 2m cells is made from that
//! over m of them here and that over m of them m cells upwind. Since no wind always blows from one
//! side, the latter is the mean of three places across the wind, `veer_deg` apart as seen from
//! here, with weights ¼, ½, ¼.
//!
//! # Units
//! Slopes and their means 2⁻¹⁸, to ±64; rain 2⁻¹⁶ in steps of 2⁻¹³.
//!
//! # Limits
//! The fetch is a power of two of cells: the least that is as long as `fetch_m`, and at most 32768.
//! Offsets are whole cells.
//!
//! # Reach
//! All offsets of both means, and one cell for the slope.
//!
//! # Differs
//! From the published model: it solves with Fourier transforms, so the land is a torus there, and
//! the weights have no end. Both delays are of one length here, and nothing is said of temperature:
//! `moisture` takes the place of its uplift sensitivity factor times the wind.
//!
//! # Source
//! R. B. Smith, *A linear upslope-time-delay model for orographic precipitation*, 2003. (R. B.
//! Smith, I. Barstad, *A linear theory of orographic precipitation*, 2004, adds the flow of air
//! aloft, which is left out here.)

use super::layer::params::Params;
use crate::arith::{fold, lerp, mul_q16};
use crate::error::Invalid;
use crate::params::{Settings, rounded};
use crate::plan::{Call, Kernel};
use crate::site::Site;

/// Longest fetch, in cells.
const FETCH_MAX: f64 = 32768.0;
/// Moisture for which its factor is 65536.
pub(super) const MOISTURE_MAX: f64 = 128.0;

pub(super) static RISE: Kernel =
    Kernel { entry: "rise", reads: &["height"], owns: &[("lift", 1)], adds: &[], cpu: rise };
pub(super) static CARRY: Kernel =
    Kernel { entry: "carry", reads: &["lift"], owns: &[("carried", 1)], adds: &[], cpu: carry };
pub(super) static FALL: Kernel =
    Kernel { entry: "fall", reads: &["lift"], owns: &[("mask", 1)], adds: &[], cpu: fall };

/// How many times the fetch is doubled, beginning with one cell.
fn doublings(s: &Settings, site: &Site) -> u32 {
    let cells = (s.number("fetch_m") / site.spacing_m()).min(FETCH_MAX);
    (0..16).find(|n| f64::from(1u32 << n) >= cells).unwrap_or(15)
}

/// Checks the fetch.
pub(super) fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let (given, most) = (s.number("fetch_m"), FETCH_MAX * site.spacing_m());
    if s.word("from") == "weather" && given > most {
        let (allowed, spacing_m) = (format!("up to {}", rounded(most)), rounded(site.spacing_m()));
        let message = format!("fetch_m = {given}: allowed {allowed} at {spacing_m} m a cell");
        return Err(Invalid::of("fetch_m", given, allowed).saying(message).into());
    }
    Ok(())
}

/// The direction that the wind comes from, to the east and to the south.
fn upwind(s: &Settings) -> [f64; 2] {
    let turn = s.number("from_deg").to_radians();
    [libm::sin(turn), -libm::cos(turn)]
}

/// A pass of a mean.
#[derive(Clone, Copy)]
struct Shift {
    /// Where it looks upwind, in cells.
    up: [i32; 2],
    /// From there to one side.
    across: [i32; 2],
    /// The weight of what it finds, 2⁻¹⁶.
    share: u32,
}

/// The passes of one mean.
fn shifts(s: &Settings, site: &Site) -> Vec<Shift> {
    let ([east, south], wide) = (upwind(s), libm::tan(s.number("veer_deg").to_radians()));
    let cells = |way: f64| way.round() as i32;
    let shift = |n: u32| {
        let far = f64::from(1u32 << n);
        let left = libm::exp(-far * site.spacing_m() / s.number("carry_m"));
        let across = far * wide;
        // The near half has weight 1 and the far one what is left of it there.
        let share = (left / (1.0 + left) * 65536.0).round() as u32;
        Shift {
            up: [cells(east * far), cells(south * far)],
            across: [cells(-south * across), cells(east * across)],
            share,
        }
    };
    (0..doublings(s, site)).map(shift).collect()
}

/// The uniform structs of the passes `carry`, for both means, from one that has all else.
pub(super) fn carries(base: Params, s: &Settings, site: &Site) -> Vec<Params> {
    let shifts = shifts(s, site);
    let pass = |&Shift { up: [up_x, up_y], across: [across_x, across_y], share }: &Shift| Params {
        up_x,
        up_y,
        across_x,
        across_y,
        share,
        ..base
    };
    shifts.iter().chain(&shifts).map(pass).collect()
}

/// What all passes have in common.
pub(super) fn common(base: Params, s: &Settings, site: &Site) -> Params {
    let q16 = |v: f64| (v * 65536.0).round() as i32;
    let [wind_x, wind_y] = upwind(s).map(|way| q16(-way));
    Params {
        wind_x,
        wind_y,
        shadow: q16(s.number("shadow")) as u32,
        moisture: q16(s.number("moisture") / MOISTURE_MAX) as u32,
        background: q16(s.number("background")),
        sea: site.height_of(s.number("sea_level_m")),
        ..base
    }
}

/// How many cells away the rain depends on the heights.
pub(super) fn reach(s: &Settings, site: &Site) -> u64 {
    let most = |shift: &Shift| {
        let [x, y] = [0, 1]
            .map(|axis: usize| shift.up[axis].unsigned_abs() + shift.across[axis].unsigned_abs());
        u64::from(x.max(y))
    };
    1 + 2 * shifts(s, site).iter().map(most).sum::<u64>()
}

/// A fraction of a slope, with the sign of both; `part` is −65536 to 65536.
#[inline(always)]
fn along(slope: i32, part: i32) -> i32 {
    let product = mul_q16(slope, part.unsigned_abs());
    if part < 0 { -product } else { product }
}

fn rise(call: &mut Call) {
    let p: &Params = call.params();
    let height = call.reads[0];
    let at = |x: i32, y: i32| {
        height[(fold(y, p.height, false) * p.width + fold(x, p.width, false)) as usize].max(p.sea)
            >> 1
    };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) = (i as i32 % p.width, i as i32 / p.width);
        // Beyond the border the ground continues at the border's height, so the difference is
        // one-sided there.
        // From halves, over two cells: the slope in 2⁻¹⁸.
        let dx = (at(x + 1, y) - at(x - 1, y)).clamp(-(1 << 24), 1 << 24);
        let dy = (at(x, y + 1) - at(x, y - 1)).clamp(-(1 << 24), 1 << 24);
        let lift = along(dx, p.wind_x) + along(dy, p.wind_y);
        *own = if lift < 0 { mul_q16(lift, p.shadow) } else { lift };
    }
}

fn carry(call: &mut Call) {
    let p: &Params = call.params();
    let lift = call.reads[0];
    let at = |x: i32, y: i32| {
        // Ground beyond the land is level.
        let inside = (0..p.width).contains(&x) && (0..p.height).contains(&y);
        if inside { lift[(y * p.width + x) as usize] } else { 0 }
    };
    for (i, own) in call.range.clone().zip(call.owns[0].iter_mut()) {
        let (x, y) = (i as i32 % p.width + p.up_x, i as i32 / p.width + p.up_y);
        // Rounded to the nearest, since rounding down in each pass would add up.
        let sides = at(x + p.across_x, y + p.across_y) + at(x - p.across_x, y - p.across_y);
        *own = lerp(lift[i as usize], (sides + 2 * at(x, y) + 2) >> 2, p.share);
    }
}

fn fall(call: &mut Call) {
    let p: &Params = call.params();
    let first = call.range.start as usize;
    for (own, lift) in call.owns[0].iter_mut().zip(&call.reads[0][first..]) {
        // The moisture is in parts of 128, seven bits. Two less take the lift from 2⁻¹⁸ to 2⁻¹⁶.
        *own = (p.background + (mul_q16(*lift, p.moisture) << 5)).max(0);
    }
}
