//! Layers: what their sources and ramps give, and what the ledger says of the stages it watches.

use crate::common::{cpu, plan, prepare, run};
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::plan::{Layers, Window};
use thalweg::spec::CELL;
use thalweg::stage::{Case, Stage, Surface, droplets, layer};

fn after(stage: &Stage, settings: Vec<(&'static str, Value)>, surface: Surface, layers: Layers, name: &str) -> Vec<i32> {
    let window = Window { origin: [-20, 9], width: 64, height: 48 };
    let case = Case { name: "made", settings, window, surface, layers };
    let plan = plan(stage, &case);
    let mut cpu = cpu();
    prepare(stage, &case, &mut cpu);
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    cpu.read(name).unwrap()
}

fn word(w: &str) -> Value {
    Value::Word(w.into())
}

/// The valley's sides have slope 1 and fall 0.1 to the east: √1.01 away from axis and border.
#[test]
fn slopes_are_those_of_the_surface() {
    let settings = vec![("map", word("hardness")), ("from", word("slope")), ("end", Value::Number(2.0))];
    let found = after(&layer::STAGE, settings, Surface::Valley, Layers::default(), "hardness");
    for y in (2..22).chain(26..46) {
        for x in 2..62 {
            let slope = found[y * 64 + x] as f64 / 65536.0 * 2.0;
            assert!((slope - 1.01f64.sqrt()).abs() < 1.0 / 128.0, "({x}, {y}): {slope}");
        }
    }
}

#[test]
fn heights_make_a_ramp_either_way() {
    // Metres: the case's cells are 10 m, so the cone's heights go from about 0 to 160 m.
    for (start, end) in [(20.0, 120.0), (120.0, 20.0)] {
        let settings = vec![
            ("map", word("vegetation")),
            ("from", word("height")),
            ("start", Value::Number(start)),
            ("end", Value::Number(end)),
        ];
        let found = after(&layer::STAGE, settings, Surface::Cone, Layers::default(), "vegetation");
        let heights = Surface::Cone.heights(&Window { origin: [-20, 9], width: 64, height: 48 });
        for (f, h) in found.iter().zip(heights) {
            let expected = ((h as f64 / CELL as f64 * 10.0 - start) / (end - start)).clamp(0.0, 1.0);
            assert!((*f as f64 / 65536.0 - expected).abs() < 2.0 / 32768.0, "{f} for {expected}");
        }
    }
}

/// Noise has the mean and the range that it says, and is the same in any window.
#[test]
fn noise_belongs_to_the_world() {
    let settings = vec![("map", word("rain")), ("from", word("noise")), ("feature", Value::Integer(8))];
    let found = after(&layer::STAGE, settings.clone(), Surface::Flat, Layers::default(), "rain");
    let mean = found.iter().map(|&f| f as f64).sum::<f64>() / found.len() as f64 / 65536.0;
    assert!((mean - 0.5).abs() < 0.05, "mean {mean}");
    assert!(found.iter().all(|f| (0..=65536).contains(f)));
    let window = Window { origin: [-20 + 7, 9 + 5], width: 30, height: 20 };
    let case = Case { name: "part", settings, window, surface: Surface::Flat, layers: Layers::default() };
    let plan = plan(&layer::STAGE, &case);
    let mut cpu = cpu();
    prepare(&layer::STAGE, &case, &mut cpu);
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..1);
    let part = cpu.read("rain").unwrap();
    for (i, w) in part.iter().enumerate() {
        assert_eq!(*w, found[(i / 30 + 5) * 64 + i % 30 + 7]);
    }
}

/// Raising less lowering is the change of the height, cell by cell; sediment never lies below the bedrock.
#[test]
fn the_ledger_adds_up() {
    let all = Layers { ledger: true, sediment: true, ..Layers::default() };
    let settings = vec![("lifetime", Value::Integer(20)), ("rain", Value::Number(1.0))];
    let window = Window { origin: [-20, 9], width: 64, height: 48 };
    let case = Case { name: "made", settings, window, surface: Surface::Hills, layers: all };
    let plan = plan(&droplets::STAGE, &case);
    let mut cpu = cpu();
    prepare(&droplets::STAGE, &case, &mut cpu);
    let before = cpu.read("height").unwrap();
    cpu.write("ledger", &before.iter().flat_map(|h| [*h, CELL / 8, 0, 0]).collect::<Vec<_>>()).unwrap();
    cpu.begin(&plan).unwrap();
    // The sediment by hand, step by step.
    let (mut last, mut loose) = (before.clone(), vec![CELL / 8; before.len()]);
    let mut start = 0;
    for end in &plan.steps {
        run(&mut cpu, &plan, start..*end);
        start = *end;
        let now = cpu.read("height").unwrap();
        for ((loose, now), last) in loose.iter_mut().zip(&now).zip(&last) {
            *loose = (*loose + now - last).max(0);
        }
        last = now;
    }
    run(&mut cpu, &plan, start..plan.passes.len());
    let (mut laid, mut worn) = (0i64, 0i64);
    for ((record, loose), (after, before)) in cpu.read("ledger").unwrap().chunks(4).zip(loose).zip(last.iter().zip(&before)) {
        assert_eq!(record[3] - record[2], after - before);
        assert_eq!(record[1], loose);
        laid += record[3] as i64;
        worn += record[2] as i64;
    }
    assert!(laid > 0 && worn > 0);
}
