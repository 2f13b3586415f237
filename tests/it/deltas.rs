//! What rivers build where they slow down: deltas at their mouths and fans at the foot of mountains.

use crate::common::cpu;
use std::path::Path;
use thalweg::{Job, Map, Outcome, Recipe};

/// Cells a side of both lands.
const SIDE: usize = 256;
/// The column of the valley.
const VALLEY: usize = 128;

/// A valley that falls to the south by `fall` m a cell as far as `foot`, with sides that rise by `rise` m a cell from its bottom and level out over the
/// last `over` rows; from `foot` on a plain that falls by `plain` m a cell. Roughness of up to a metre keeps water from running straight on.
fn land(foot: f64, [fall, rise, over, plain]: [f64; 4]) -> Map {
    let height = |i: usize| {
        let (x, y) = ((i % SIDE) as f64, (i / SIDE) as f64);
        let above = foot - y;
        let sides = rise * (above / over).clamp(0.0, 1.0) * (x - VALLEY as f64).abs();
        let rough = f64::from(thalweg::spec::mix(i as u32)) / f64::from(u32::MAX) * 2.0 - 1.0;
        (if above > 0.0 { fall * above + sides } else { plain * above } + rough) as f32
    };
    Map {
        width: SIDE as u32,
        height: SIDE as u32,
        spacing_m: 20.0,
        data: (0..SIDE * SIDE).map(height).collect(),
        range_m: None,
        georef: None,
    }
}

/// Where a valley comes to the sea at 0 m.
fn mouth() -> Map {
    land(150.0, [3.0, 1.5, 60.0, 0.6])
}

/// Where one comes out of mountains onto a plain.
fn front() -> Map {
    land(110.0, [4.0, 2.0, 50.0, 0.1])
}

fn rained(ground: &Map, stage: &str) -> Outcome {
    let text = format!("schema = 1\nseed = 1\ninput = \"none.tif\"\n[[stage]]\n{stage}");
    let recipe = Recipe::from_toml(&text, Path::new(""), "rained").unwrap_or_else(|e| panic!("{e}"));
    Job::with_heights(recipe, ground).unwrap().run_on(&mut cpu(), &mut |_| Ok(())).unwrap()
}

/// The mean of a map over some columns and rows.
fn mean(of: &dyn Fn(usize) -> f64, columns: std::ops::Range<usize>, rows: std::ops::Range<usize>) -> f64 {
    let count = columns.len() * rows.len();
    rows.flat_map(|y| columns.clone().map(move |x| y * SIDE + x)).map(of).sum::<f64>() / count as f64
}
