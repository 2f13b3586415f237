//! The physics of thermal erosion: mass, rest, the angle of repose, round heaps.

use crate::common::{config, cpu, plan, prepare, run};
use proptest::prelude::*;
use thalweg::arith::{CELL, fold};
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::site::{Layer, Layers, Window};
use thalweg::stage::{Case, Surface, thermal::STAGE};

fn case(settings: Vec<(&'static str, Value)>, width: u32, height: u32, surface: Surface) -> Case {
    Case {
        name: "made",
        settings,
        window: Window { origin: [-40, 17], width, height },
        surface,
        layers: Layers::NONE,
    }
}

fn settings(steps: i64, repose_deg: f64) -> Vec<(&'static str, Value)> {
    vec![("steps", Value::Integer(steps)), ("repose_deg", Value::Number(repose_deg))]
}

/// Runs a case from other heights than its surface's.
fn relaxed(case: &Case, heights: &[i32]) -> Vec<i32> {
    relaxed_with(case, heights, &[])
}

fn relaxed_with(case: &Case, heights: &[i32], words: &[(&'static str, Vec<i32>)]) -> Vec<i32> {
    let plan = plan(&STAGE, case);
    let mut cpu = cpu();
    for (name, words) in words {
        cpu.write(name, words).unwrap();
    }
    cpu.write("height", heights).unwrap();
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    cpu.read("height").unwrap()
}

/// Heights in cells from a formula of column and row.
fn formula(side: usize, height: impl Fn(f64, f64) -> f64) -> Vec<i32> {
    (0..side * side)
        .map(|i| (height((i % side) as f64, (i / side) as f64) * CELL as f64).round() as i32)
        .collect()
}

/// The first violation of the stated bounds in a step.
fn fault(before: &[i32], after: &[i32], width: i32, height: i32, torus: bool) -> Option<String> {
    let sum = |all: &[i32]| all.iter().map(|&h| h as i64).sum::<i64>();
    if sum(before) != sum(after) {
        return Some(format!("the mass changed by {}", sum(after) - sum(before)));
    }
    let square = |all: &[i32]| all.iter().map(|&h| h as i128 * h as i128).sum::<i128>();
    if before != after && square(after) >= square(before) {
        return Some("the sum of squares did not fall".into());
    }
    (0..before.len()).find_map(|i| {
        let (x, y) = (i as i32 % width, i as i32 / width);
        let around = [(1, 0), (-1, 0), (0, 1), (0, -1)].map(|(dx, dy)| {
            before[(fold(y + dy, height, torus) * width + fold(x + dx, width, torus)) as usize]
                as i64
        });
        let h = before[i] as i64;
        let (low, high) =
            (h.min(*around.iter().min().unwrap()), h.max(*around.iter().max().unwrap()));
        // Twice the height, against twice the middles.
        let twice = 2 * after[i] as i64;
        (twice < h + low || twice > h + high)
            .then(|| format!("cell {i} went from {h} to {}, neighbours {around:?}", after[i]))
    })
}

proptest! {
    #![proptest_config(config(300))]

    /// With any setting and any layers, every step keeps the mass to the unit and moves no cell
    /// past the middle, and Σ h² falls until nothing moves.
    #[test]
    fn nothing_oscillates(
        repose_deg in prop_oneof![Just(0.0), Just(89.0), 0.0..=89.0],
        rate in prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0],
        torus: bool, layers in 0..16u32, cliff in 0.0..=1.0, surface in 0..Surface::ALL.len(),
        width in 1u32..70, height in 1u32..50,
    ) {
        let border = ("border", Value::Word(if torus { "torus" } else { "wall" }.into()));
        // Bedrock stands at least as steep as loose sediment.
        let cliff_deg = ("cliff_deg", Value::Number(repose_deg + cliff * (89.0 - repose_deg)));
        let settings = [settings(16, repose_deg),
            vec![("rate", Value::Number(rate)), border, cliff_deg]].concat();
        let (drawn, sediment) = (layers, layers & 1 == 1);
        let layers = [Layer::Ledger, Layer::Sediment].iter().fold(Layers::NONE, |all,
            layer| all.with(*layer, sediment));
        let layers = layers.with(Layer::Hardness, drawn & 2 == 2).with(Layer::Vegetation,
            drawn & 4 == 4);
        let layers = layers.with(Layer::Rain, drawn & 8 == 8);
        let case = Case { layers, ..case(settings, width, height, Surface::ALL[surface]) };
        let plan = plan(&STAGE, &case);
        let mut cpu = cpu();
        prepare(&STAGE, &case, &mut cpu);
        cpu.begin(&plan).unwrap();
        let mut before = cpu.read("height").unwrap();
        let each = plan.passes.len() / 16;
        for step in 0..16 {
            run(&mut cpu, &plan, each * step..each * step + each);
            let after = cpu.read("height").unwrap();
            prop_assert_eq!(fault(&before, &after, width as i32, height as i32, torus), None);
            before = after;
        }
    }
}

/// The check fails where it should: a step that moves a third of each difference inverts a
/// chessboard.
#[test]
fn a_faster_rate_would_swing() {
    let board = formula(8, |x, y| (x + y) % 2.0);
    let flipped: Vec<i32> = board.iter().map(|&h| h + (CELL - 2 * h) / 3 * 4).collect();
    assert!(fault(&board, &flipped, 8, 8, true).is_some());
    let mut leaky = board.clone();
    leaky[3] -= 1;
    assert!(fault(&board, &leaky, 8, 8, true).is_some());
}

/// Ground that is not too steep stays as it is, to the unit, whatever way it faces; a little
/// steeper and it moves.
#[test]
fn slopes_below_repose_stay() {
    for repose_deg in [5.0f64, 34.0, 60.0] {
        for turn in 0..16 {
            let (s, c) = (turn as f64 * std::f64::consts::TAU / 16.0 + 0.1).sin_cos();
            let plane = |part: f64| {
                let slope = part * repose_deg.to_radians().tan();
                formula(40, |x, y| slope * (c * x + s * y))
            };
            let case = case(settings(5, repose_deg), 40, 40, Surface::Flat);
            for (part, stays) in [(0.999, true), (1.02, false)] {
                let before = plane(part);
                assert_eq!(
                    relaxed(&case, &before) == before,
                    stays,
                    "{repose_deg}°, turn {turn}, {part} of repose"
                );
            }
        }
    }
}

/// A cone of slope 2 becomes a cone of the same volume at the angle of repose. It stays round, and
/// is the same in eight directions.
/// Holds C31.
#[test]
fn a_steep_cone_ends_at_the_angle_of_repose() {
    let (side, radius) = (121usize, 20.0);
    let middle = (side / 2) as f64;
    let from = |x: f64, y: f64| (x - middle).hypot(y - middle);
    for repose_deg in [25.0f64, 35.0] {
        let cone = formula(side, |x, y| 2.0 * (radius - from(x, y)).max(0.0));
        let after = relaxed(
            &case(settings(8000, repose_deg), side as u32, side as u32, Surface::Flat),
            &cone,
        );
        let at = |x: usize, y: usize| after[y * side + x] as f64 / CELL as f64;
        let slope = repose_deg.to_radians().tan();
        // V = π · slope · radius³ / 3.
        let wide = radius * (2.0 / slope).cbrt();
        let mut worst: f64 = 0.0;
        for y in 0..side {
            for x in 0..side {
                assert_eq!(after[y * side + x], after[x * side + y], "transposed ({x}, {y})");
                assert_eq!(
                    after[y * side + x],
                    after[y * side + side - 1 - x],
                    "mirrored ({x}, {y})"
                );
                let ideal = slope * (wide - from(x as f64, y as f64)).max(0.0);
                worst = worst.max((at(x, y) - ideal).abs());
            }
        }
        // Radius at half height by direction.
        let half = |turn: f64| {
            let (s, c) = turn.sin_cos();
            let height = |r: f64| {
                let (x, y) = (middle + r * c, middle + r * s);
                let (i, j) = (x.floor() as usize, y.floor() as usize);
                let (fx, fy) = (x.fract(), y.fract());
                (at(i, j) * (1.0 - fx) + at(i + 1, j) * fx) * (1.0 - fy)
                    + (at(i, j + 1) * (1.0 - fx) + at(i + 1, j + 1) * fx) * fy
            };
            (0..600).map(|k| k as f64 * 0.1).find(|&r| height(r) < slope * wide / 2.0).unwrap()
        };
        let radii: Vec<f64> =
            (0..64).map(|k| half(k as f64 * std::f64::consts::TAU / 64.0)).collect();
        let (small, large) = radii.iter().fold((f64::MAX, 0f64), |(a, b), &r| (a.min(r), b.max(r)));
        let mut steepest: f64 = 0.0;
        for y in 1..side - 1 {
            for x in 1..side - 1 {
                // At the apex and the foot a cone has no slope.
                if !(3.0..wide - 2.0).contains(&from(x as f64, y as f64)) {
                    continue;
                }
                steepest = steepest
                    .max((at(x + 1, y) - at(x - 1, y)).hypot(at(x, y + 1) - at(x, y - 1)) / 2.0);
            }
        }
        println!(
            "{repose_deg}°: heights off by {worst:.3} of {:.2} cells, radii {small:.2} to \
             {large:.2}, steepest {:.4} of repose",
            slope * wide,
            steepest / slope
        );
        assert!(worst < 0.1, "{repose_deg}°: off by {worst} cells");
        assert!(large - small < 0.01 * large, "{repose_deg}°: radii {small} to {large}");
        assert!(steepest < 1.005 * slope, "{repose_deg}°: slope {steepest}, repose {slope}");
    }
}

/// A cliff between walls becomes a ramp at the angle of repose through its middle, with level
/// ground on both sides.
/// Holds C31.
#[test]
fn a_cliff_ends_as_a_ramp() {
    let side = 64usize;
    let cliff = formula(side, |x, _| if x < 31.5 { 12.0 } else { 0.0 });
    let after =
        relaxed(&case(settings(6000, 40.0), side as u32, side as u32, Surface::Flat), &cliff);
    let slope = 40f64.to_radians().tan();
    for (i, &h) in after.iter().enumerate() {
        let ideal = (6.0 + slope * (31.5 - (i % side) as f64)).clamp(0.0, 12.0);
        assert!(
            (h as f64 / CELL as f64 - ideal).abs() < 0.3,
            "column {}: {} for {ideal}",
            i % side,
            h as f64 / CELL as f64
        );
    }
}

#[test]
fn a_result_depends_on_its_reach_and_on_no_cell_beyond() {
    let case = case(settings(7, 20.0), 61, 55, Surface::Hills);
    let heights = case.surface.heights(&case.window);
    let reference = relaxed(&case, &heights);
    let mut other = heights.clone();
    other[27 * 61 + 30] += 40 * CELL;
    let after = relaxed(&case, &other);
    let far = (0..after.len())
        .filter(|&i| after[i] != reference[i])
        .map(|i| (i % 61).abs_diff(30).max((i / 61).abs_diff(27)));
    assert_eq!(far.max(), Some(7));
}

#[test]
fn a_right_angle_has_no_tangent() {
    let given = [("repose_deg".to_string(), Value::Number(90.0))];
    let error = thalweg::params::Settings::new(STAGE.params, &given).unwrap_err().to_string();
    assert!(error.contains("repose_deg = 90: allowed 0 to 89 (degrees)"), "{error}");
}

/// A cliff of bare rock stands at up to `cliff_deg`. Loose sediment slides to the angle of repose,
/// ground with roots to twice its tangent, and the hardest rock not at all.
/// Holds C28, C30.
#[test]
fn layers_tell_what_stands() {
    let side = 64usize;
    let cliff = formula(side, |x, _| if x < 31.5 { 12.0 } else { 0.0 });
    let ledger =
        |thick: i32| ("ledger", cliff.iter().flat_map(|&h| [h, thick, 0, 0]).collect::<Vec<_>>());
    let fraction = |name, v| (name, vec![v; side * side]);
    let (loose, bare) = (ledger(20 * CELL), ledger(0));
    let sediment = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    let steepest = |layers: Layers, words: &[(&'static str, Vec<i32>)]| {
        let settings = [settings(4000, 30.0), vec![("cliff_deg", Value::Number(60.0))]].concat();
        let case = Case { layers, ..case(settings, side as u32, side as u32, Surface::Flat) };
        let after = relaxed_with(&case, &cliff, words);
        let falls = after.windows(2).take(side - 1).map(|h| h[0] - h[1]).max().unwrap();
        falls as f64 / CELL as f64
    };
    let tan = |degrees: f64| degrees.to_radians().tan();
    let near = |found: f64, slope: f64| {
        assert!((found / slope - 1.0).abs() < 0.01, "{found}, expected {slope}")
    };
    near(steepest(sediment, std::slice::from_ref(&loose)), tan(30.0));
    near(
        steepest(
            sediment.with(Layer::Vegetation, true),
            &[loose.clone(), fraction("vegetation", 65536)],
        ),
        2.0 * tan(30.0),
    );
    near(
        steepest(Layers::of(&[Layer::Vegetation]), &[fraction("vegetation", 65536)]),
        2.0 * tan(30.0),
    );
    near(steepest(Layers::of(&[Layer::Hardness]), &[fraction("hardness", 32768)]), tan(30.0));
    assert_eq!(
        steepest(
            sediment.with(Layer::Hardness, true),
            &[bare.clone(), fraction("hardness", 65536)]
        ),
        12.0
    );
    // Rock breaks off the cliff until the cliff stands at its own angle, and becomes scree below
    // it.
    let rock = steepest(sediment, &[bare]);
    assert!(rock > tan(30.0) * 1.2 && rock < tan(60.0) * 1.01, "{rock}");
}

#[test]
fn rock_less_steep_than_scree_is_named() {
    let given = [("repose_deg".to_string(), Value::Number(60.0))];
    let settings = thalweg::params::Settings::new(STAGE.params, &given).unwrap();
    let layers = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    let site = |layers| thalweg::site::Site {
        layers,
        ..thalweg::site::Site::bare(Window { origin: [0; 2], width: 9, height: 9 }, 1.0, 1)
    };
    let error = (STAGE.check)(&settings, &site(layers)).unwrap_err();
    assert!(
        error.to_string().contains("cliff_deg = 55: allowed from repose_deg, 60, to 89"),
        "{error}"
    );
    // Without sediment the default is accepted, but a lower value that was set is not.
    (STAGE.check)(&settings, &site(Layers::NONE)).unwrap();
    let given = ["repose_deg", "cliff_deg"]
        .into_iter()
        .zip([40.0, 30.0])
        .map(|(n, v)| (n.to_string(), Value::Number(v)));
    let settings =
        thalweg::params::Settings::new(STAGE.params, &given.collect::<Vec<_>>()).unwrap();
    let error = (STAGE.check)(&settings, &site(Layers::NONE)).unwrap_err();
    assert!(
        error.to_string().contains("cliff_deg = 30: allowed from repose_deg, 40, to 89"),
        "{error}"
    );
}
