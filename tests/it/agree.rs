//! GPU = CPU: every word of every buffer, after every pass of every case of every stage.

use crate::common::{cases, cpu, everything, gpu, left_out, plan, prepare};
use std::sync::atomic::AtomicBool;
use thalweg::Error;
use thalweg::compare::{Every, StageComparison, compare};
use thalweg::exec::{Control, Executor};
use thalweg::plan::{Fill, Plan};
use thalweg::site::{Layers, Window};
use thalweg::stage::{Case, Stage, Surface, droplets};

pub fn outcome(plan: &Plan, pair: [&mut dyn Executor; 2]) -> StageComparison {
    let stop = AtomicBool::new(false);
    compare(plan, pair, Every::Pass, &mut Control { stop: &stop, progress: &mut |_| Ok(()) })
        .unwrap()
}

fn compared(stage: &Stage, case: &Case, pair: [&mut dyn Executor; 2]) -> StageComparison {
    let [a, b] = pair;
    prepare(stage, case, a);
    prepare(stage, case, b);
    outcome(&plan(stage, case), [a, b])
}

/// All kernels run on the GPU and give the same words as the CPU after every pass.
/// Holds C26, M2, M3.
#[test]
fn every_word_of_every_case() {
    let Some(mut gpu) = gpu("agree::every_word_of_every_case", 64, None) else { return };
    println!("adapter: {}", gpu.name());
    let mut cpu = cpu();
    let mut count = 0;
    for (stage, case) in cases() {
        let outcome = compared(stage, &case, [&mut cpu, &mut gpu]);
        assert_eq!(outcome.difference, None, "{} {}", stage.name, case.name);
        assert!(
            outcome.words > 0 && outcome.changed > 0,
            "{} {} changes nothing",
            stage.name,
            case.name
        );
        count += 1;
    }
    let vectors =
        include_str!("../vectors.txt").lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(count, vectors, "every case has a line in tests/vectors.txt");
}

/// A buffer that a plan takes over from the one before has to be there, and long enough: else the
/// plan does not begin.
#[test]
fn a_plan_without_its_buffers_does_not_begin() {
    let test = "agree::a_plan_without_its_buffers_does_not_begin";
    let (mut cpu, mut gpu) = (cpu(), gpu(test, 64, None));
    let mut executors: Vec<&mut dyn Executor> = vec![&mut cpu];
    executors.extend(gpu.iter_mut().map(|gpu| gpu as &mut dyn Executor));
    for executor in executors {
        let mut count = 0;
        for (stage, case) in cases() {
            let plan = plan(stage, &case);
            let begins = |executor: &mut dyn Executor| match executor.begin(&plan) {
                Ok(()) => true,
                Err(Error::Param(_)) => false,
                Err(e) => panic!("{} {}: {e}", stage.name, case.name),
            };
            for buffer in &plan.buffers {
                let name = match buffer.fill {
                    Fill::Keep => buffer.name,
                    Fill::Taken(from) => from,
                    _ => continue,
                };
                executor.clear();
                assert!(!begins(executor), "{} {} without {name}", stage.name, case.name);
                prepare(stage, &case, executor);
                executor.write(name, &vec![0; buffer.words - 1]).unwrap();
                assert!(!begins(executor), "{} {} short of {name}", stage.name, case.name);
                count += 1;
            }
            executor.clear();
            prepare(stage, &case, executor);
            assert!(begins(executor), "{} {}", stage.name, case.name);
        }
        assert!(count > 100, "{count}");
    }
}

/// lavapipe 22 silently ends loops after 65 535 iterations. Summed over a run, the loops on this
/// map have more, but those of one invocation must stay far below.
#[test]
fn a_wide_brush_stays_within_the_loop_budget() {
    let Some(mut gpu) = gpu("agree::a_wide_brush_stays_within_the_loop_budget", 64, None) else {
        return;
    };
    let stage = &droplets::STAGE;
    let number = thalweg::params::Value::Number;
    let case = Case {
        name: "wide",
        settings: vec![
            ("radius_cells", number(16.0)),
            ("rain", number(1.0)),
            ("density", number(1.0)),
            ("lifetime", thalweg::params::Value::Integer(9)),
        ],
        window: Window { origin: [0, 0], width: 128, height: 100 },
        surface: Surface::Hills,
        layers: Layers::NONE,
    };
    let outcome = compared(stage, &case, [&mut cpu(), &mut gpu]);
    assert_eq!(outcome.difference, None);
}

/// The comparison can fail: it finds and names heights that differ in one bit of one cell.
#[test]
fn a_single_wrong_bit_is_found_and_named() {
    let stage = &droplets::STAGE;
    let case = (stage.cases)().remove(0);
    let (mut a, mut b) = (cpu(), cpu());
    let mut heights = case.surface.heights(&case.window);
    a.write("height", &heights).unwrap();
    heights[5 * case.window.width as usize + 7] ^= 4;
    b.write("height", &heights).unwrap();
    let found = outcome(&plan(stage, &case), [&mut a, &mut b]).difference.expect("a difference");
    // The first pass that copies heights into a buffer it writes is the settling of the first step.
    assert_eq!(
        (found.pass, found.kernel, found.buffer, found.cell, found.count),
        (1, "settle", "height", Some([7, 5]), 1)
    );
    assert_eq!(found.values[0] ^ found.values[1], 4);
}

/// Where very many droplets can meet at one vertex, proposals are shortened before they are summed.
/// The comparison finds a shader that does not round up.
#[test]
fn a_crowd_shortens_proposals_alike() {
    let Some(mut gpu) = gpu("agree::a_crowd_shortens_proposals_alike", 64, None) else { return };
    let (number, integer) = (thalweg::params::Value::Number, thalweg::params::Value::Integer);
    let case = Case {
        name: "crowd",
        settings: vec![("rain", number(1.0)), ("density", number(1.0)), ("lifetime", integer(130))],
        window: Window { origin: [0, 0], width: 270, height: 260 },
        surface: Surface::Hills,
        layers: Layers::NONE,
    };
    let stage = &droplets::STAGE;
    let mut plan = plan(stage, &case);
    plan.passes.truncate(3 * 20);
    let mut found = |plan: &Plan| {
        let mut cpu = cpu();
        prepare(stage, &case, &mut cpu);
        prepare(stage, &case, &mut gpu);
        outcome(plan, [&mut cpu, &mut gpu]).difference
    };
    assert_eq!(found(&plan), None);
    plan.shader =
        crate::mutants::mutant(plan.shader, "(abs(want) + (1 << (shift & 31u)) - 1)", "abs(want)");
    assert!(found(&plan).is_some_and(|d| d.buffer == "want"), "proposals are not shortened here");
}

/// A pass that is clocked does what it does in a run, once. A coarse clock may see no time go by.
#[test]
fn clocked_passes_do_the_same() {
    let Some(mut gpu) = gpu("clocked_passes_do_the_same", 64, Some(1000)) else { return };
    for (name, case) in [("droplets", "default"), ("diamond_square", "default")] {
        let (stage, case) = cases()
            .find(|(stage, c)| stage.name == name && c.name == case)
            .unwrap_or_else(|| panic!("{name} {case}"));
        let expected = everything(stage, &case, &mut cpu());
        let plan = plan(stage, &case);
        prepare(stage, &case, &mut gpu);
        gpu.begin(&plan).unwrap();
        let Some(seconds) = gpu.clocked(&plan, 0..plan.passes.len()).unwrap() else {
            left_out("clocked_passes_do_the_same", "the adapter has no clock");
            return;
        };
        assert_eq!(seconds.len(), plan.passes.len());
        assert!(
            seconds.iter().all(|seconds| seconds.is_finite() && *seconds >= 0.0),
            "{name}: {seconds:?}"
        );
        for (buffer, words) in expected {
            assert!(gpu.read(buffer).unwrap() == words, "{name}: {buffer}");
        }
        gpu.end(&plan);
    }
}
