//! Maps besides the height: rain, hardness, vegetation, uplift and loose sediment, and the ledger
//! that separates sediment from bedrock.
//!
//! # Rule
//! A source gives each cell a value v: a constant, value noise, the slope, the height, the sample
//! of a file, or rain. A ramp turns it into a fraction: `low` up to `start`, `high` from `end` on,
//! linear between. The fraction replaces the layer's value or is combined with it: multiplied,
//! added, the smaller or the larger of both.
//!
//! - Noise: `octaves` of value noise ([`super::noise`]), of which the first has a lattice of
//!   `feature_cells` cells.
//! - Slope: √(gx² + gy²) of central differences, rise per cell. At the border the difference is
//!   one-sided.
//! - Weather: the rain that a wind brings ([`super::weather`]).
//! - For `sediment` the fraction is multiplied by `thickness_m`. It cannot be negative or thicker
//!   than 4000 cells.
//!
//! The **ledger** is a record of four words a cell: the height at the last entry, the thickness of
//! loose sediment, and the sums of all lowering and of all raising. `enter` runs after every step
//! of every stage. With Δ the change of height since the last entry, sediment becomes max(0,
//! sediment + Δ), lowering grows by max(0, −Δ) and raising by max(0, Δ). A sum stops at 2³¹ − 1,
//! and then the other shrinks, so that their difference stays the change of height. So material
//! that is laid down is loose, and loose material is taken first.
//!
//! # Shape
//! Layers are row-major like the height. Noise depends on world coordinates.
//!
//! # Units
//! Fractions 2⁻¹⁶, 0 to 65536; thicknesses and sums 2⁻¹⁸ cells.
//!
//! # Limits
//! Ramps have 15 bits between `start` and `end`. Sums stop at 8192 cells.
//!
//! # Reach
//! One cell with `from = "slope"`, that of the wind with `from = "weather"`, else none.
//!
//! # Keeps
//! The height. Raising − lowering is the change of height since the ledger was opened, as far as
//! that is within ±8192 cells.
//!
//! # Source
//! I. van der Veen, *Hydraulic erosion*, 2024, which suggests a map of materials, trees that hold
//! the soil, and rain from a weather system as future work. The source of the weather is named in
//! its own module.
//!
//! # Costs
//! One pass for a layer; with `from = "weather"` two more for every doubling of the fetch, and 12
//! bytes a cell. `enter` reads a word and updates four.

mod cases;
pub(super) mod params;

use crate::twin::constants;
use cases::cases;
use multiversion::multiversion;
use params::Params;

use super::Stage;
use super::octaves::{self, FEATURE_MAX};
use super::weather;
use crate::arith::{CELL, LEDGER_WORDS, THICKEST, div_small, fold, isqrt, lerp, mul_q16};
use crate::error::Invalid;
use crate::map::Samples;
use crate::params::{Param, Settings, rounded};
use crate::plan::{Buffer, Call, Fill, Kernel, Pass, Plan, Shape, Uniform};
use crate::site::{Layer, Layers, Site};

constants! {
    const WGSL: &str;

    const CONSTANT: u32 = 0;
    const NOISE: u32 = 1;
    const SLOPE: u32 = 2;
    const HEIGHT: u32 = 3;
    const MULTIPLY: u32 = 1;
    const ADD: u32 = 2;
    const MIN: u32 = 3;
    const MAX: u32 = 4;
}

/// The stage.
pub static STAGE: Stage = Stage {
    name: "layer",
    about: "A map that other stages use: rain, hardness, vegetation, uplift, or loose sediment.",
    layers,
    samples: |s| (s.word("from") == "file").then_some(Samples::Shares),
    params: PARAMS,
    shader: constcat::concat!(
        octaves::SHADER,
        include_str!("../../shaders/weather.wgsl"),
        WGSL,
        Params::WGSL,
        include_str!("../../shaders/layer.wgsl")
    ),
    kernels: &[
        &PAINT_RAIN,
        &PAINT_HARDNESS,
        &PAINT_VEGETATION,
        &PAINT_SEDIMENT,
        &PAINT_UPLIFT,
        &OPEN,
        &ENTER,
        &weather::RISE,
        &weather::CARRY,
        &weather::FALL,
    ],
    check,
    plan,
    reach,
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::choice(
        "map",
        &["hardness", "rain", "vegetation", "sediment", "uplift"],
        "hardness: resistance of bedrock to erosion; rain: share of the droplets that fall; \
         vegetation: share of the ground held by roots; sediment: loose material on the bedrock; \
         uplift: share of what incision raises the land by.",
    ),
    Param::choice(
        "from",
        &["constant", "noise", "slope", "height", "file", "weather"],
        "Where the value comes from: 1 everywhere, noise of 0 to 1, the slope (rise per cell), the \
         height (metres), a file, or the rain that a wind brings (1 is the most that a layer \
         holds).",
    ),
    Param::file(
        "file",
        "A map of the same size as the terrain with values from 0 to 1. The samples of a picture \
         are scaled to 0 to 1.",
    ),
    Param::number("start", "of from", [-1e6, 1e6, 0.0], "Up to this value the layer is low."),
    Param::number(
        "end",
        "of from",
        [-1e6, 1e6, 1.0],
        "From this value on the layer is high. It can be below start.",
    ),
    Param::number("low", "", [0.0, 1.0, 0.0], "The layer at start."),
    Param::number("high", "", [0.0, 1.0, 1.0], "The layer at end."),
    Param::choice(
        "combine",
        &["replace", "multiply", "add", "min", "max"],
        "How the new values combine with the layer of that name, which is 0 if there is none yet.",
    ),
    Param::number(
        "thickness_m",
        "m",
        [0.0, 1e6, 1.0],
        "Sediment only: the thickness that 1 stands for. The ground does not rise: the top of it \
         becomes loose.",
    ),
    Param::integer(
        "feature_cells",
        "cells",
        [1, FEATURE_MAX, 64],
        "Noise only: size of its largest features.",
    ),
    Param::integer(
        "octaves",
        "",
        [1, 15, 4],
        "Noise only: number of octaves, each with half the size of the last.",
    ),
    Param::number(
        "gain",
        "",
        [0.0, 1.0, 0.5],
        "Noise only: weight of an octave compared with the last.",
    ),
    Param::number(
        "from_deg",
        "degrees",
        [0.0, 360.0, 270.0],
        "Weather only: where the wind comes from, clockwise from north: 270 is a west wind.",
    ),
    Param::number("background", "", [0.0, 1.0, 0.3], "Weather only: rain over level ground."),
    Param::number(
        "moisture",
        "",
        [0.0, weather::MOISTURE_MAX, 8.0],
        "Weather only: how much water the air has to lose: rain for a mean rise of the ground \
         upwind of 1 in 1.",
    ),
    Param::number(
        "carry_m",
        "m",
        [1.0, 1e6, 2000.0],
        "Weather only: how far a stronger wind carries drops while they form, and again while they \
         fall: its speed times some 200 to 2000 s.",
    ),
    Param::number(
        "fetch_m",
        "m",
        [0.0, 1e6, 8000.0],
        "Weather only: how far upwind the ground counts, twice; rounded up to a power of two of \
         cells. 4 times carry_m leaves out 2 %.",
    ),
    Param::number(
        "sea_level_m",
        "m",
        [-1e6, 1e6, 0.0],
        "Weather only: height of the sea, over which air does not rise: ground below it counts as \
         level. Put it low where there is none.",
    ),
    Param::number(
        "shadow",
        "",
        [0.0, 1.0, 1.0],
        "Weather only: how much sinking air dries, compared with what rising air loses: 0 for no \
         rain shadow.",
    ),
    Param::number(
        "veer_deg",
        "degrees",
        [0.0, 45.0, 15.0],
        "Weather only: how far the wind turns to either side over time.",
    ),
];

fn reach(s: &Settings, site: &Site) -> u64 {
    match s.word("from") {
        "slope" => 1,
        "weather" => weather::reach(s, site),
        _ => 0,
    }
}

fn layers(s: &Settings) -> Layers {
    let map = s.word("map");
    let sediment = map == "sediment";
    let painted = Layer::PAINTED
        .iter()
        .fold(Layers::NONE, |all, (name, layer, _)| all.with(*layer, *name == map));
    painted.with(Layer::Ledger, sediment).with(Layer::Sediment, sediment)
}

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let (from, file) = (s.word("from"), s.word("file"));
    if from != "file" && !file.is_empty() {
        return Err(Invalid::from(format!(
            "from = {from:?}, file = {file:?}: a file is read only with from = \"file\""
        ))
        .about("from")
        .into());
    }
    let [_, parts] = site.stride();
    if from == "noise" && s.integer("feature_cells") * parts > FEATURE_MAX {
        let (cells, most) = (s.integer("feature_cells"), FEATURE_MAX / parts);
        let message = format!("feature_cells = {cells} with scale = {parts}: allowed up to {most}");
        return Err(Invalid::of("feature_cells", cells, format!("up to {most}"))
            .saying(message)
            .into());
    }
    weather::check(s, site)?;
    if s.number("start") == s.number("end") {
        return Err(Invalid::from(format!(
            "start = end = {}: start and end must differ",
            s.number("start")
        ))
        .about("start")
        .into());
    }
    let most = THICKEST as f64 / CELL as f64 * site.spacing_m();
    if s.word("map") == "sediment" && s.number("thickness_m") > most {
        let (given, most, spacing_m) =
            (s.number("thickness_m"), rounded(most), rounded(site.spacing_m()));
        return Err(Invalid::from(format!(
            "thickness_m = {given}: allowed 0 to {most} at {spacing_m} m a cell"
        ))
        .about("thickness_m")
        .into());
    }
    Ok(())
}

macro_rules! paint {
    ($name:ident, $entry:literal, $owned:literal, $words:expr) => {
        static $name: Kernel = Kernel {
            entry: $entry,
            reads: &["height", "mask", "octaves"],
            owns: &[($owned, $words)],
            adds: &[],
            cpu: paint,
        };
    };
}

paint!(PAINT_RAIN, "paint_rain", "rain", 1);
paint!(PAINT_HARDNESS, "paint_hardness", "hardness", 1);
paint!(PAINT_VEGETATION, "paint_vegetation", "vegetation", 1);
paint!(PAINT_UPLIFT, "paint_uplift", "uplift", 1);
paint!(PAINT_SEDIMENT, "paint_sediment", "ledger", LEDGER_WORDS);

static OPEN: Kernel = Kernel {
    entry: "open",
    reads: &["height"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: open,
};

static ENTER: Kernel = Kernel {
    entry: "enter",
    reads: &["height"],
    owns: &[("ledger", LEDGER_WORDS)],
    adds: &[],
    cpu: enter,
};

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let from = s.word("from");
    let (name, kernel, each, layer) = match s.word("map") {
        "rain" => ("rain", &PAINT_RAIN, 1, Layer::Rain),
        "hardness" => ("hardness", &PAINT_HARDNESS, 1, Layer::Hardness),
        "vegetation" => ("vegetation", &PAINT_VEGETATION, 1, Layer::Vegetation),
        "uplift" => ("uplift", &PAINT_UPLIFT, 1, Layer::Uplift),
        _ => ("ledger", &PAINT_SEDIMENT, LEDGER_WORDS, Layer::Ledger),
    };
    let fill = if site.layers.has(layer) { Fill::Keep } else { Fill::Word(0) };
    let octaves = match from {
        "noise" => octaves::octaves(
            s.integer("octaves") as usize,
            s.number("gain"),
            s.integer("feature_cells"),
            site.world.seed,
            site,
        ),
        _ => vec![0],
    };
    let blows = from == "weather";
    // Only this stage reads it.
    let mask = match blows {
        true => Buffer::cells("mask", window, 1).unset(),
        false => Buffer { keep: None, ..Buffer::layer("mask", window, 1, from == "file") },
    };
    let mut buffers = vec![
        Buffer::height(window),
        Buffer { fill, ..Buffer::cells(name, window, each).kept() },
        mask,
        Buffer::table("octaves", octaves),
    ];
    if blows {
        buffers.extend(["lift", "carried"].map(|name| Buffer::cells(name, window, 1).unset()));
    }
    let params = params_of(s, site);
    let pass = |kernel, params| Pass::over(kernel, Uniform::of(params), window);
    let mut passes = vec![];
    if blows {
        let wind = weather::common(params, s, site);
        let carries = weather::carries(wind, s, site);
        passes.push(pass(&weather::RISE, wind));
        passes.extend(
            carries
                .into_iter()
                .map(|params| pass(&weather::CARRY, params).swapping(&[["lift", "carried"]])),
        );
        passes.push(pass(&weather::FALL, wind));
    }
    passes.push(pass(kernel, params));
    Plan::new(STAGE.shader, *window, buffers, passes)
}

/// The uniform struct: the source of a value, the ramp that it lies on, and what the ramp's ends
/// stand for.
fn params_of(s: &Settings, site: &Site) -> Params {
    let (map, from) = (s.word("map"), s.word("from"));
    let value = |v: f64| match from {
        "height" => site.height_of(v) as i64,
        _ => (v * 65536.0).round() as i64,
    };
    let (start, end) = (value(s.number("start")), value(s.number("end")));
    // A ramp that falls is one that rises, with its values exchanged.
    let turned = end < start;
    let (start, end) = if turned { (end, start) } else { (start, end) };
    // Where the value lies on the ramp, as a quotient of two numbers of 15 bits.
    let limit = |v: i64| v.clamp(-(1 << 30), 1 << 30) as i32;
    let span = ((limit(end) - limit(start)) as u32).max(1);
    let shift = (32 - span.leading_zeros()).saturating_sub(15);
    let q16 = |name: &str| (s.number(name) * 65536.0).round() as i32;
    let thick = |name: &str| {
        (s.number(name) * s.number("thickness_m") / site.spacing_m() * CELL as f64).round() as i32
    };
    let ends = if turned { ["high", "low"] } else { ["low", "high"] };
    Params {
        width: site.window.width as i32,
        height: site.window.height as i32,
        source: s.choice("from"),
        combine: s.choice("combine"),
        octaves: if from == "noise" { s.integer("octaves") as u32 } else { 0 },
        start: limit(start),
        span: span >> shift,
        shift,
        low: q16(ends[0]),
        high: q16(ends[1]),
        thick_low: thick(ends[0]),
        thick_high: thick(ends[1]),
        sediment: (map == "sediment") as u32,
        step: site.stride()[0] as i32,
        ..Params::default()
    }
}

/// Makes a plan keep the ledger: an entry after every step, or at its end if it has no steps.
/// `open` opens the ledger first.
pub fn keep_ledger(plan: &mut Plan, site: &Site, open: bool) {
    let params = Params {
        width: site.window.width as i32,
        height: site.window.height as i32,
        sediment: site.layers.has(Layer::Sediment) as u32,
        ..Params::default()
    };
    let uniform = Uniform::of(params);
    let entry = |kernel| {
        let ledger = Buffer::layer("ledger", &site.window, LEDGER_WORDS, true);
        Plan::new(
            STAGE.shader,
            site.window,
            vec![ledger],
            vec![Pass::over(kernel, uniform.clone(), &site.window)],
        )
    };
    plan.interleave(1, |_| entry(&ENTER));
    if open {
        let opening = entry(&OPEN);
        // A plan without passes has no ledger yet.
        if plan
            .buffers
            .iter()
            .all(|buffer| buffer.name != "ledger" || buffer.shape == Shape::Absent)
        {
            plan.buffers.retain(|buffer| buffer.name != "ledger");
            plan.buffers.extend(opening.buffers);
        }
        opening
            .passes
            .into_iter()
            .for_each(|pass| plan.begin_with(Pass { shader: Some(opening.shader), ..pass }));
        for buffer in plan.buffers.iter_mut().filter(|b| b.name == "ledger") {
            // `open` writes every word of it.
            buffer.fill = Fill::Unset;
        }
    }
}

/// Slope at a cell, 2⁻¹⁶ cells a cell, in steps of 1/512.
#[inline(always)]
fn slope(p: &Params, height: &[i32], x: i32, y: i32) -> i32 {
    let at = |x: i32, y: i32| {
        height[(fold(y, p.height, false) * p.width + fold(x, p.width, false)) as usize] >> 10
    };
    // Beyond the border the ground continues at the border's height, so the difference is one-sided
    // there.
    let dx = (at(x + 1, y) - at(x - 1, y)).clamp(-32767, 32767);
    let dy = (at(x, y + 1) - at(x, y - 1)).clamp(-32767, 32767);
    // Twice the slope in units of 2⁻⁸ cells.
    (isqrt((dx * dx + dy * dy) as u32) << 7) as i32
}

/// Where a value lies on the ramp, 0 to 65536.
#[inline(always)]
fn ramp(p: &Params, value: i32) -> u32 {
    let over = (value.max(p.start).wrapping_sub(p.start)) as u32 >> p.shift;
    // Both have 15 bits, so the shifted one fits 31.
    div_small(over.min(p.span) << 16, p.span)
}

/// A layer's new word: `new` alone or combined with the old one.
#[inline(always)]
fn combined(p: &Params, old: i32, new: i32, most: i32) -> i32 {
    match p.combine {
        // A fraction of the old value. Thicknesses cannot be multiplied, so `new` is a fraction for
        // sediment too.
        MULTIPLY => mul_q16(old, new.clamp(0, 65536) as u32),
        ADD => old.wrapping_add(new).min(most),
        MIN => old.min(new),
        MAX => old.max(new),
        _ => new,
    }
}

fn paint(call: &mut Call) {
    let p: &Params = call.params();
    let &[height, mask, octaves] = call.reads else { return };
    let w = p.width as usize;
    let columns =
        if p.source == NOISE { octaves::columns(octaves, p.step, p.width) } else { vec![] };
    let each = if p.sediment == 1 { LEDGER_WORDS } else { 1 };
    let mut values = vec![0; w];
    let rows = call.range.start as i32 / p.width..;
    for (y, own) in rows.zip(call.owns[0].chunks_exact_mut(each * w)) {
        let cells = y as usize * w..(y as usize + 1) * w;
        match p.source {
            // Beyond the end of every ramp.
            CONSTANT => values.fill(i32::MAX),
            NOISE => noise_row(octaves, &columns, p.step, y, &mut values),
            SLOPE => (0..).zip(&mut values).for_each(|(x, v)| *v = slope(p, height, x, y)),
            HEIGHT => {
                let heights = values.iter_mut().zip(&height[cells]);
                heights.for_each(|(v, h)| *v = (*h).clamp(-(1 << 30), 1 << 30));
            }
            _ => values.copy_from_slice(&mask[cells]),
        }
        if p.sediment == 1 {
            paint_sediment(p, &values, own.as_chunks_mut().0);
        } else {
            paint_fraction(p, &values, own);
        }
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn noise_row(octaves: &[i32], columns: &[[u32; 2]], step: i32, y: i32, values: &mut [i32]) {
    values.fill(0);
    octaves::add_row(octaves, columns, step, y, values);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn paint_sediment(p: &Params, values: &[i32], records: &mut [[i32; LEDGER_WORDS]]) {
    let p = *p;
    for (value, own) in values.iter().zip(records) {
        let t = ramp(&p, *value);
        let [low, high] =
            if p.combine == MULTIPLY { [p.low, p.high] } else { [p.thick_low, p.thick_high] };
        own[1] = combined(&p, own[1], lerp(low, high, t), THICKEST);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn paint_fraction(p: &Params, values: &[i32], fractions: &mut [i32]) {
    let p = *p;
    for (value, own) in values.iter().zip(fractions) {
        *own = combined(&p, *own, lerp(p.low, p.high, ramp(&p, *value)), 65536);
    }
}

fn open(call: &mut Call) {
    let first = call.range.start as usize;
    for (own, h) in call.owns[0].chunks_exact_mut(LEDGER_WORDS).zip(&call.reads[0][first..]) {
        own.copy_from_slice(&[*h, 0, 0, 0]);
    }
}

fn enter(call: &mut Call) {
    let p: &Params = call.params();
    let cells = call.range.start as usize..call.range.end as usize;
    let records = call.owns[0].as_chunks_mut().0;
    // Copied, so that a compiler knows that nothing changes it on the way.
    enter_all(p.sediment == 1, records, &call.reads[0][cells]);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn enter_all(sediment: bool, records: &mut [[i32; LEDGER_WORDS]], heights: &[i32]) {
    for (own, h) in records.iter_mut().zip(heights) {
        // The lowest word has no opposite.
        let change = h.saturating_sub(own[0]).max(-i32::MAX);
        let thick = own[1].saturating_add(change).clamp(0, THICKEST);
        // Where one sum is at its end, the other shrinks instead, so that their difference stays
        // true.
        let (down, up) = ((-change).max(0), change.max(0));
        let (below, above) = (down.min(i32::MAX - own[2]), up.min(i32::MAX - own[3]));
        *own = [
            *h,
            if sediment { thick } else { own[1] },
            own[2] + below - (up - above).min(own[2]),
            own[3] + above - (down - below).min(own[3]),
        ];
    }
}
