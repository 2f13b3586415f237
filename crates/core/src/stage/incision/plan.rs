//! From settings to buffers and passes.

use super::kernels::{BEGIN, BEGIN_LEDGER, COUNT, CUT, DRAIN, FALL, RAISE_LEDGER, ROUTE};
use super::{OCTAVES, Params, STAGE, VERTEX, fall, lengths, lines, rise};
use crate::arith::{self, CELL, HEIGHT_END, LEDGER_WORDS, mul_q16};
use crate::params::Settings;
use crate::plan::{Buffer, Fill, Interim, Pass, Plan, PlanBuilder, Uniform};
use crate::site::{Layer, Site};
use crate::stage::stepper::{floor_m, sea_level_m};
use glam::IVec2;

pub(super) fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let keeps_ledger = site.layers.has(Layer::Ledger);
    let params = params(s, site);
    let uniform = Uniform::of(params);
    let gather = |kernel, uniform: &Uniform| Pass::over(kernel, uniform.clone(), window);
    let mut builder = PlanBuilder::of(site);
    if keeps_ledger && params.continues == 1 {
        // Before `begin`, since both read the heights of the coarser level.
        builder.push(gather(&BEGIN_LEDGER, &uniform));
    }
    builder.push(gather(&BEGIN, &uniform).swapping(&[["height", "next"]]));
    builder.rounds(0..fall(s, site), |builder, _| {
        builder.push(gather(&FALL, &uniform).swapping(&[["surface", "surface_next"]]));
    });
    let lengths: Vec<u32> = lengths(s)
        .into_iter()
        .flat_map(|(length, count)| std::iter::repeat_n(length, count as usize))
        .collect();
    builder.rounds(0..s.integer("steps") as u32, |builder, step| {
        let uniform = Uniform::of(of_step(&params, site, step, lengths[step as usize]));
        builder.push(gather(&ROUTE, &uniform));
        builder.push(gather(&DRAIN, &uniform).swapping(&[["area", "area_next"]]));
        // Before `cut`, since what rises depends on the height before it.
        if keeps_ledger && params.rise > 0 {
            builder.push(gather(&RAISE_LEDGER, &uniform).beside_the_last());
        }
        // What is cut follows from the ways, and not from the areas.
        let cut = gather(&CUT, &uniform).beside_the_last();
        builder.push(cut.swapping(&[["height", "next"], ["surface", "surface_next"]]));
        builder.end_step();
    });
    // `way` is not needed any more. Its words become the flow.
    builder.push(gather(&COUNT, &uniform));
    builder.stretch_step();
    // Until `count`.
    let interim = vec![Interim { field: "flow", buffer: "area", word: 0, shift: VERTEX.ilog2() }];
    Plan { interim, ..builder.plan(STAGE.shader, *window, buffers(s, site)) }
}

/// The uniform struct, as it is in all passes but those of a step.
fn params(s: &Settings, site: &Site) -> Params {
    let (window, layers) = (&site.window, site.layers);
    let stands = libm::tan(s.number("repose_deg").to_radians()) * f64::from(CELL);
    let q16 = |name: &str| (s.number(name) * 65536.0).round() as u32;
    let strata = s.number("strata_m") / site.spacing_m() * f64::from(CELL);
    Params {
        size: IVec2::new(window.width as i32, window.height as i32),
        origin: window.origin.map(|o| o as u32).into(),
        key: arith::key(site.world.seed, 0).into(),
        torus: (s.word("border") == "torus") as u32,
        rained: layers.has(Layer::Rain) as u32,
        hard: layers.has(Layer::Hardness) as u32,
        rooted: layers.has(Layer::Vegetation) as u32,
        lifted: layers.has(Layer::Uplift) as u32,
        continues: layers.has(Layer::Water) as u32,
        rise: rise(s, site),
        length: 65536,
        stands: stands as i32,
        stands_diagonal: (stands * std::f64::consts::SQRT_2) as i32,
        // Twice two thirds, since kernels have the mean of a quarter of the sides' and a sixteenth
        // of the diagonals' differences.
        creep: (s.number("creep") * 65536.0 * 4.0 / 3.0).round() as u32,
        silt: q16("silt"),
        rough: (s.number("roughness_cells") * f64::from(CELL)) as i32,
        deepest: (s.number("lake_depth_m") / site.spacing_m() * f64::from(CELL))
            .min(f64::from(HEIGHT_END)) as i32,
        least: (s.number("slope_min") * f64::from(CELL)) as i32,
        // Nothing is below the lowest word, so it stands for no sea and no floor.
        sea: sea_level_m(s).map_or(i32::MIN, |sea_m| site.height_of(sea_m)),
        floor: floor_m(s).map_or(i32::MIN, |floor_m| site.height_of(floor_m)),
        strata_hard: if strata > 0.0 { q16("strata_hardness") } else { 0 },
        strata_rate: match strata {
            // Thinner than a quarter of a cell.
            0.0..65536.0 => 0,
            _ => (4294967296.0 / strata).round().max(1.0) as u32,
        },
        // Not the land's seed, which differs from level to level: rock does not.
        strata_key: arith::key(s.integer("strata_seed") as u64, 0)[0],
        ..lines(s, site)
    }
}

/// The uniform struct of a step, `length` 2⁻¹⁶ of a whole step long.
fn of_step(params: &Params, site: &Site, step: u32, length: u32) -> Params {
    Params {
        // Number 0 is the key of the roughness.
        key: arith::key(site.world.seed, 1 + step).into(),
        rise: mul_q16(params.rise, length),
        length,
        // With 0 the water of a lake would be level, and none of it would leave.
        least: mul_q16(params.least, length).max(1),
        ..*params
    }
}

fn buffers(s: &Settings, site: &Site) -> Vec<Buffer> {
    let (window, layers) = (&site.window, site.layers);
    // Water and areas come from the coarser level, and go to the finer one.
    let state = |name: &'static str| {
        let buffer = Buffer::cells(name, window, 1);
        let fill = if layers.has(Layer::Water) { Fill::Keep } else { Fill::Unset };
        Buffer { fill, keep: layers.has(Layer::WaterOn).then_some(name), ..buffer }
    };
    vec![
        Buffer::height(window),
        Buffer::cells("next", window, 1).unset(),
        state("surface"),
        Buffer::cells("surface_next", window, 1).unset(),
        state("area"),
        Buffer::cells("area_next", window, 1).unset(),
        // At the end it is the flow.
        Buffer { keep: Some("flow"), ..Buffer::cells("way", window, 1).unset() },
        Buffer::cells("silted", window, 1).unset(),
        Buffer::layer("rain", window, 1, layers.has(Layer::Rain)),
        Buffer::layer("hardness", window, 1, layers.has(Layer::Hardness)),
        Buffer::layer("vegetation", window, 1, layers.has(Layer::Vegetation)),
        Buffer::layer("uplift", window, 1, layers.has(Layer::Uplift)),
        Buffer::layer("ledger", window, LEDGER_WORDS, layers.has(Layer::Ledger)),
        Buffer::table("power", powers(s, site)),
    ]
}

/// f of an area of 2ⁿ words, 2⁻¹⁴.
fn powers(s: &Settings, site: &Site) -> Vec<i32> {
    let (rate, exponent) = (s.number("erodibility"), s.number("area_exponent"));
    // K · area^m / cell: with m = ½ it is the same on all levels.
    let wide = libm::exp2(f64::from(site.level) * (2.0 * exponent - 1.0));
    let power = |n: u32| {
        let vertices = libm::exp2(f64::from(n)) / f64::from(VERTEX);
        // At most 2³⁰, so that `route` can add 1 to it within a signed word.
        (rate * wide * libm::pow(vertices, exponent) * 16384.0).round().min(f64::from(1 << 30))
            as i32
    };
    (0..OCTAVES as u32).map(power).collect()
}
