//! The physics of wind: sand moves downwind, bedrock does not move at all, dunes gather.

use crate::common::{cpu, plan, prepare, run};
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::plan::{Layers, Window};
use thalweg::spec::CELL;
use thalweg::stage::{Case, Surface, wind::STAGE};

const SIDE: usize = 96;

/// Heights and thickness of the sediment after a run on ground and sediment as given.
fn blown(settings: Vec<(&'static str, Value)>, surface: Surface, loose: impl Fn(usize) -> i32) -> [Vec<i32>; 4] {
    let window = Window { origin: [0, 0], width: SIDE as u32, height: SIDE as u32 };
    let layers = Layers { ledger: true, sediment: true, ..Layers::default() };
    let case = Case { name: "made", settings, window, surface, layers };
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    prepare(&STAGE, &case, &mut cpu);
    let before = cpu.read("height").unwrap();
    let sediment: Vec<i32> = (0..SIDE * SIDE).map(loose).collect();
    let records: Vec<i32> = before.iter().zip(&sediment).flat_map(|(h, s)| [*h, *s, 0, 0]).collect();
    cpu.write("ledger", &records).unwrap();
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    let after = cpu.read("height").unwrap();
    let left = cpu.read("ledger").unwrap().chunks(4).map(|record| record[1]).collect();
    [before, sediment, after, left]
}

fn brief(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    [&[("rain", Value::Number(4.0)), ("lifetime", Value::Integer(32))], more].concat()
}

#[test]
fn bedrock_is_never_worn() {
    for surface in [Surface::Flat, Surface::Hills, Surface::Noise] {
        let [before, sediment, after, left] = blown(brief(&[]), surface, |i| if i % 5 == 0 { 0 } else { CELL / 4 });
        for i in 0..SIDE * SIDE {
            assert_eq!(after[i] - left[i], before[i] - sediment[i], "{surface:?}, cell {i}");
        }
        assert!(before != after, "{surface:?}");
    }
}

/// Where the sand has its middle, in cells along (east, south).
fn middle(sediment: &[i32]) -> [f64; 2] {
    let all: f64 = sediment.iter().map(|s| *s as f64).sum();
    let of = |at: fn(usize) -> usize| (0..sediment.len()).map(|i| sediment[i] as f64 * at(i) as f64).sum::<f64>() / all;
    [of(|i| i % SIDE), of(|i| i / SIDE)]
}

#[test]
fn sand_goes_where_the_wind_blows() {
    for (from, east, south) in [(270.0, 1.0, 0.0), (0.0, 0.0, 1.0), (90.0, -1.0, 0.0), (225.0, 0.7, -0.7)] {
        let heap = |i: usize| if (i % SIDE).abs_diff(48) < 12 && (i / SIDE).abs_diff(48) < 12 { CELL } else { 0 };
        let [_, sediment, _, left] = blown(brief(&[("from_deg", Value::Number(from))]), Surface::Flat, heap);
        let (a, b) = (middle(&sediment), middle(&left));
        let moved = [b[0] - a[0], b[1] - a[1]];
        println!("from {from}: {moved:?}");
        let along = moved[0] * east + moved[1] * south;
        let across = moved[0] * south - moved[1] * east;
        assert!(along > 1.0 && across.abs() < 0.2 * along + 0.3, "from {from}: {moved:?}");
    }
}

/// A level sheet of sand does not stay level: it gathers to dunes, none steeper than sand can stand (but for what falls beside a
/// vertex), more so the longer the wind blows.
#[test]
fn a_sheet_of_sand_gathers_to_dunes() {
    let rough = |rain: f64| {
        let settings =
            vec![("rain", Value::Number(rain)), ("lifetime", Value::Integer(32)), ("border", Value::Word("torus".into()))];
        let [.., after, left] = blown(settings, Surface::Flat, |_| 2 * CELL);
        let mean = left.iter().map(|s| *s as f64).sum::<f64>() / left.len() as f64 / CELL as f64;
        assert!((mean - 2.0).abs() < 1e-3, "on a torus nothing is lost: {mean}");
        let steepest = (0..SIDE * SIDE).map(|i| (after[i] - after[i / SIDE * SIDE + (i + 1) % SIDE]).abs()).max().unwrap();
        assert!(steepest as f64 / (CELL as f64) < 0.65 * 1.25, "tan 33° is 0.65: {}", steepest as f64 / CELL as f64);
        let deviation = left.iter().map(|s| (*s as f64 / CELL as f64 - mean).powi(2)).sum::<f64>() / left.len() as f64;
        deviation.sqrt()
    };
    let (early, late) = (rough(4.0), rough(32.0));
    println!("{early} {late}");
    assert!(late > 1.5 * early && late > 0.3, "{early} {late}");
}
