//! The physics of coastal erosion: the stated law, the heights that it does not change, the order
//! of heights, and noise that is the same in every window.

use crate::common::{cpu, plan, run};
use thalweg::arith::CELL;
use thalweg::exec::Executor;
use thalweg::params::{Settings, Value};
use thalweg::site::{Layer, Layers, Site, Window};
use thalweg::stage::{Case, Surface, coastal::STAGE};

/// Metres a cell, as `common::site` has it.
const SPACING: f64 = 10.0;

fn eroded(
    settings: &[(&'static str, f64)],
    power: i64,
    window: Window,
    heights: &[i32],
) -> Vec<i32> {
    eroded_with(settings, power, window, heights, Layers::NONE, &[])
}

fn eroded_with(
    settings: &[(&'static str, f64)],
    power: i64,
    window: Window,
    heights: &[i32],
    layers: Layers,
    words: &[(&'static str, Vec<i32>)],
) -> Vec<i32> {
    let mut settings: Vec<_> = settings.iter().map(|&(n, v)| (n, Value::Number(v))).collect();
    settings.push(("power", Value::Integer(power)));
    let plan =
        plan(&STAGE, &Case { name: "made", settings, window, surface: Surface::Flat, layers });
    let mut cpu = cpu();
    for (name, words) in words {
        cpu.write(name, words).unwrap();
    }
    cpu.write("height", heights).unwrap();
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..1);
    cpu.end(&plan);
    cpu.read("height").unwrap()
}

fn window(x: i64, y: i64, width: u32, height: u32) -> Window {
    Window { origin: [x, y], width, height }
}

/// Heights from 50 m below the sea to 50 m above the waves, in even steps of a few millimetres.
fn ramp(sea: f64, reach: f64, count: u32) -> Vec<i32> {
    let step = (reach + 100.0) / count as f64;
    (0..count)
        .map(|i| ((sea - 50.0 + step * i as f64) / SPACING * CELL as f64).round() as i32)
        .collect()
}

/// Heights that waves reach become h · (h / threshold)^power, as computed in f64. All others stay,
/// and so does the order of heights.
/// Holds C31.
/// Holds A27 in part.
#[test]
fn the_law_is_that_of_the_article() {
    for (sea, reach) in [(0.0, 12.0), (-300.0, 1.0), (1234.5, 2000.0)] {
        for power in [0, 1, 3, 8] {
            let mut worst: f64 = 0.0;
            let before = ramp(sea, reach, 20000);
            let settings =
                [("sea_level_m", sea), ("wave_height_min_m", reach), ("wave_height_max_m", reach)];
            let after = eroded(&settings, power, window(0, 0, 20000, 1), &before);
            for (&h, &a) in before.iter().zip(&after) {
                let above = h as f64 / CELL as f64 * SPACING - sea;
                if above <= 0.0 || above >= reach {
                    assert_eq!(a, h, "{above} m over the sea, waves reach {reach}");
                    continue;
                }
                let ideal = above * (above / reach).powi(power as i32);
                worst = worst.max((a as f64 / CELL as f64 * SPACING - sea - ideal).abs() / reach);
                assert!(power > 0 || a == h, "power 0 leaves all");
            }
            // The bound that the stage states.
            assert!(
                worst <= power as f64 / 8192.0 + 2.0 / (reach / SPACING * CELL as f64),
                "power {power}, waves reach {reach}: off by {worst} of that"
            );
            println!("power {power}, waves reach {reach}: off by at most {worst:.2e} of that");
            assert!(after.is_sorted(), "power {power}, waves reach {reach}");
            assert!(after.iter().zip(&before).all(|(a, h)| a <= h), "nothing rises");
        }
    }
}

/// The height that waves reach lies between the two bounds, takes on all of that range, and changes
/// little from cell to cell.
/// Holds A27 in part.
#[test]
fn the_reach_of_waves_varies_along_the_shore() {
    let (low, high, side) = (20.0, 120.0, 512u32);
    let settings =
        [("wave_height_min_m", low), ("wave_height_max_m", high), ("noise_size_m", 160.0)];
    let metres = |m: f64| (m / SPACING * CELL as f64).round() as i32;
    // With power 1, T follows from the result t · (t / T).
    let before = vec![metres(low - 0.1); (side * side) as usize];
    let after = eroded(&settings, 1, window(-100, 77, side, side), &before);
    let reach: Vec<f64> = after
        .iter()
        .map(|&a| (low - 0.1) * (low - 0.1) / (a as f64 / CELL as f64 * SPACING))
        .collect();
    let (least, most) = reach.iter().fold((f64::MAX, 0f64), |(a, b), &r| (a.min(r), b.max(r)));
    assert!(least >= low - 0.01 && most <= high + 0.1, "{least} to {most}");
    assert!(least < low + 5.0 && most > high - 5.0, "{least} to {most}");
    // Smoothstep climbs at 1.5 times the mean: here at most 1.5 · 100 m in 16 cells.
    let jump = reach
        .chunks(side as usize)
        .flat_map(|row| row.windows(2))
        .map(|r| (r[1] - r[0]).abs())
        .fold(0f64, f64::max);
    assert!(jump < 1.5 * (high - low) / 16.0 + 1.0, "{jump}");
}

/// A window of a larger map comes out the same, cell by cell.
#[test]
fn a_window_is_a_part_of_the_world() {
    let settings = [("wave_height_max_m", 300.0), ("noise_size_m", 70.0)];
    let heights = |w: &Window| Surface::Hills.heights(w);
    let (all, part) = (window(-70, 900, 128, 96), window(-41, 923, 50, 31));
    let (large, small) =
        (eroded(&settings, 3, all, &heights(&all)), eroded(&settings, 3, part, &heights(&part)));
    for y in 0..31 {
        assert_eq!(small[y * 50..][..50], large[(y + 23) * 128 + 29..][..50], "row {y}");
    }
    assert_ne!(small, heights(&part), "and waves do something");
}

#[test]
fn what_cannot_be_is_named() {
    let mut site = Site::bare(window(0, 0, 9, 9), 1.0, 1);
    site.world.scale.datum_m = 100.0;
    for (name, value, says) in [
        ("wave_height_min_m", 61.0, "wave_height_min_m = 61 is above wave_height_max_m = 60"),
        ("wave_height_max_m", 9000.0, "allowed up to 8000 cells, 8000 m"),
        ("sea_level_m", -9000.0, "allowed up to 8000 cells from 100 m, -7900 to 8100 m"),
        ("noise_size_m", 40000.0, "allowed up to 32767 cells, 32767 m"),
    ] {
        let settings = Settings::new(STAGE.params, &[(name.into(), Value::Number(value))]).unwrap();
        let error = (STAGE.check)(&settings, &site).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// Waves take all loose sediment, and from the rock under it the part that its hardness allows.
/// Holds C28.
#[test]
fn hard_rock_stands() {
    let settings = [("wave_height_min_m", 40.0), ("wave_height_max_m", 40.0)];
    let window = window(0, 0, 3, 1);
    let before = vec![2 * CELL; 3];
    let soft = eroded(&settings, 3, window, &before);
    let taken = before[0] - soft[0];
    assert_eq!(taken, 2 * CELL * 7 / 8, "half the reach, to the third power");
    let hardness = ("hardness", vec![0, 65536, 32768]);
    let layers = Layers::of(&[Layer::Hardness]);
    let hard = eroded_with(&settings, 3, window, &before, layers, std::slice::from_ref(&hardness));
    assert_eq!(hard, [soft[0], before[1], before[2] - taken / 2]);
    let thick = CELL / 4;
    let ledger = ("ledger", before.iter().flat_map(|&h| [h, thick, 0, 0]).collect());
    let layers = Layers::of(&[Layer::Hardness, Layer::Ledger, Layer::Sediment]);
    let loose = eroded_with(&settings, 3, window, &before, layers, &[hardness, ledger]);
    assert_eq!(loose, [soft[0], before[1] - thick, before[2] - thick - (taken - thick) / 2]);
}
