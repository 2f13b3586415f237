//! What rivers build where they slow down: deltas at their mouths and fans at the foot of
//! mountains.

use crate::common::cpu;
use thalweg::{Job, Map, Outcome, Recipe};

/// Cells a side of both lands.
const SIDE: usize = 256;
/// The column of the valley.
const VALLEY: usize = 128;

/// A valley that falls to the south by `fall` m a cell as far as `foot`, with sides that rise by
/// `rise` m a cell from its bottom and level out over the last `over` rows; from `foot` on a plain
/// that falls by `plain` m a cell. Roughness of up to a metre keeps water from running straight on.
fn land(foot: f64, [fall, rise, over, plain]: [f64; 4]) -> Map {
    let height = |i: usize| {
        let (x, y) = ((i % SIDE) as f64, (i / SIDE) as f64);
        let above = foot - y;
        let sides = rise * (above / over).clamp(0.0, 1.0) * (x - VALLEY as f64).abs();
        let rough = f64::from(thalweg::arith::mix(i as u32)) / f64::from(u32::MAX) * 2.0 - 1.0;
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

/// What a stage leaves of a land on whose valley it rains, north of a row.
fn rained(ground: &Map, row: usize, stage: &str) -> Outcome {
    let text = format!(
        "schema = 2\nseed = 1\ninput = \"none.tif\"\n[[stage]]\nkind = \"layer\"\nmap = \"rain\"\n\
         from = \"file\"\nfile = \"rain.tif\"\n\
         [[stage]]\n{stage}"
    );
    let recipe = Recipe::from_toml(&text, "", "rained").unwrap_or_else(|e| panic!("{e}"));
    let mut job = Job::with_heights(recipe, ground).unwrap();
    let rains = |i: usize| (i % SIDE).abs_diff(VALLEY) <= 24 && i / SIDE < row;
    let rain = Map {
        data: (0..SIDE * SIDE).map(|i| f32::from(rains(i) as u8)).collect(),
        ..ground.clone()
    };
    job.supply(0, &rain).unwrap();
    job.run_on(&mut cpu(), &mut |_| Ok(())).unwrap()
}

/// Short of what would bury the valley.
const DELTA: &str = "kind = \"droplets\"\nsea_level_m = 0\nwash = 0.5\nrain = 2\nlifetime = 256\n\
                     capacity = 0.5\ndeposition = 0.05\n";
const FAN: &str =
    "kind = \"droplets\"\nrain = 2\nlifetime = 256\ncapacity = 0.5\ndeposition = 0.05\n";
/// Few snowballs, which go as far as droplets do.
const ROLLED: &str = "kind = \"snowballs\"\nsea_level_m = 0\nloads = \"left\"\nrain = 1\n\
                      lifetime = 400\nspeed = 0.3\ndeposition = 0.01\n";

/// The mean of a map over some columns and rows.
fn mean(
    of: &dyn Fn(usize) -> f64,
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
) -> f64 {
    let count = columns.len() * rows.len();
    rows.flat_map(|y| columns.clone().map(move |x| y * SIDE + x)).map(of).sum::<f64>()
        / count as f64
}

/// The row where the sea begins in each column.
fn coast(heights: &[i32]) -> Vec<i32> {
    (0..SIDE)
        .map(|x| (100..SIDE).find(|y| heights[y * SIDE + x] < 0).unwrap_or(SIDE) as i32)
        .collect()
}

/// The coast advances at the mouth of a river, and keeps where there is none. Nothing is cut below
/// the sea, which is exact, and what is gone is in the books to the unit.
/// Holds A3.
#[test]
fn the_coast_advances_at_the_mouth_and_keeps_elsewhere() {
    let ground = mouth();
    for (kind, stage, least) in [("droplets", DELTA, 15.0), ("snowballs", ROLLED, 0.0)] {
        let made = rained(&ground, 90, stage);
        let before = made.scale.to_words(&ground.data);
        let after = made.words("height").unwrap();
        for (at, (before, after)) in before.iter().zip(after).enumerate() {
            assert!(after >= before.min(&0), "{kind}: {before} became {after} at {at}");
        }
        let lost: i64 =
            before.iter().zip(after).map(|(before, after)| i64::from(before - after)).sum();
        let exported_m3 = made.stages[1].exported_m3.unwrap();
        assert_eq!(exported_m3 / 8000.0 * 262144.0, lost as f64, "{kind}");
        let advance: Vec<f64> = coast(after)
            .iter()
            .zip(coast(&before))
            .map(|(after, before)| f64::from(after - before))
            .collect();
        let over = |columns: std::ops::Range<usize>| {
            advance[columns.clone()].iter().sum::<f64>() / columns.len() as f64
        };
        let [there, west, east] = [over(VALLEY - 8..VALLEY + 9), over(0..72), over(184..SIDE)];
        println!(
            "{kind}: {there:.1} cells at the mouth, {west:.1} and {east:.1} beside it, \
             {exported_m3} m3 exported"
        );
        assert!(there > least && west == 0.0 && east == 0.0, "{kind}: {there}, {west}, {east}");
        // What the river brings comes to rest near its mouth, and not far out.
        let rise = |i: usize| f64::from(after[i] - before[i]);
        let [near, far] =
            [150..180, 220..250].map(|rows| mean(&rise, VALLEY - 16..VALLEY + 17, rows));
        assert!(near > 0.0 && far < near / 20.0, "{kind}: {near}, {far}");
    }
}

/// Where a valley comes out of mountains onto a plain, what its river lays down is a fan: highest
/// at the mouth of the valley, it falls outwards to all sides, more steeply than the plain, and is
/// convex across.
/// Holds A3.
#[test]
fn a_fan_grows_at_the_front_and_falls_outwards() {
    let ground = front();
    let made = rained(&ground, 60, FAN);
    let metres = &made.map("height").unwrap().data;
    let height = |i: usize| f64::from(metres[i]);
    let rise = |i: usize| f64::from(metres[i] - ground.data[i]);
    let at = |x: usize, y: usize| mean(&height, x - 2..x + 3, y - 2..y + 3);
    for [east, south] in [[0.0, 1.0], [0.7, 0.7], [-0.7, 0.7]] {
        let place = |cells: f64| {
            at((VALLEY as f64 + east * cells) as usize, (112.0 + south * cells) as usize)
        };
        let profile: Vec<f64> = (0..8).map(|n| place(6.0 * f64::from(n))).collect();
        println!("{east} {south}: {profile:.1?} m");
        assert!(profile.windows(2).all(|pair| pair[1] < pair[0]), "{profile:?}");
        assert!(profile[0] - profile[5] > 3.0 * 0.1 * 30.0, "{profile:?}");
    }
    let across: Vec<f64> =
        [72, 92, 112, 128, 144, 164, 184].map(|x| mean(&rise, x - 4..x + 4, 126..136)).to_vec();
    println!("across: {across:.1?} m");
    assert!(
        across[..4].is_sorted() && across[3..].iter().rev().is_sorted() && across[3] > 5.0,
        "{across:?}"
    );
}
