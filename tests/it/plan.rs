//! Plans: one put between the steps of another, and what stages that run there may rely on.

use crate::common::{cases, cpu, plan, prepare, run};
use thalweg::exec::Executor;
use thalweg::params::{Settings, Value};
use thalweg::plan::{Fill, JUNK, Plan, Shape};
use thalweg::site::{Layer, Layers, Site, Window};
use thalweg::stage::{Case, INNER, STAGES, Stage, droplets, thermal};

fn made(stage: &Stage, given: &[(&str, Value)], layers: Layers) -> Plan {
    let given: Vec<(String, Value)> =
        given.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let site = Site { layers, ..Site::bare(Window::sized(20, 15), 10.0, 1) };
    (stage.plan)(&Settings::new(stage.params, &given).unwrap(), &site)
}

#[test]
fn interleaving_merges_buffers_and_moves_steps() {
    let mut whole = made(&droplets::STAGE, &[("lifetime", Value::Integer(4))], Layers::NONE);
    let (host, slides) = (whole.passes.len(), 2);
    let (steps, shapes) = (whole.steps.clone(), |plan: &Plan| {
        plan.buffers.iter().map(|b| (b.name, b.shape)).collect::<Vec<_>>()
    });
    let before = shapes(&whole);
    assert_eq!(whole.buffer("hardness").shape, Shape::Absent);
    assert!(steps.len() > 3);
    // After every other step, a stage that has the layer of hardness.
    let nested = |n: usize| {
        assert!(n.is_multiple_of(2));
        made(
            &thermal::STAGE,
            &[("steps", Value::Integer(slides as i64))],
            Layers::of(&[Layer::Hardness]),
        )
    };
    whole.interleave(2, nested);
    // Buffers: those of both, each once, and a layer that is there takes the place of an absent
    // one.
    let names: Vec<&str> = whole.buffers.iter().map(|b| b.name).collect();
    let other = nested(2);
    for buffer in &other.buffers {
        assert_eq!(names.iter().filter(|name| **name == buffer.name).count(), 1, "{}", buffer.name);
    }
    assert_eq!(whole.buffer("hardness"), other.buffer("hardness"));
    assert_eq!(
        (whole.buffer("hardness").shape, &whole.buffer("hardness").fill),
        (Shape::Cells(1), &Fill::Keep)
    );
    assert_eq!(whole.buffer("vegetation").shape, Shape::Absent);
    assert_eq!(whole.buffer("next"), other.buffer("next"));
    let kept = before.iter().filter(|(name, _)| *name != "hardness");
    kept.for_each(|kept| assert!(shapes(&whole).contains(kept), "{kept:?}"));
    // Steps: each ends after what was put there, and every pass knows its shader.
    let moved: Vec<usize> =
        steps.iter().enumerate().map(|(n, end)| end + n.div_ceil(2) * slides).collect();
    assert_eq!(whole.steps, moved);
    assert_eq!(whole.passes.len(), host + steps.len() / 2 * slides);
    for (i, pass) in whole.passes.iter().enumerate() {
        let slide = pass.kernel.entry == "slide";
        assert_eq!(pass.shader, slide.then_some(thermal::STAGE.shader), "pass {i}");
        let (step, end) = whole
            .steps
            .iter()
            .enumerate()
            .find(|(_, end)| **end > i)
            .map_or((0, 0), |(n, end)| (n + 1, *end));
        assert_eq!(
            slide,
            step > 0 && step % 2 == 0 && i + slides >= end,
            "pass {i} of step {step}"
        );
    }
}

/// The words that a plan leaves in the buffers that outlive it.
fn left(stage: &Stage, case: &Case, plan: &Plan) -> Vec<Vec<i32>> {
    let mut cpu = cpu();
    prepare(stage, case, &mut cpu);
    cpu.begin(plan).unwrap();
    run(&mut cpu, plan, 0..plan.passes.len());
    cpu.end(plan);
    plan.kept().filter_map(|buffer| buffer.keep).map(|name| cpu.read(name).unwrap()).collect()
}

/// Between the steps of another stage, scratch buffers hold what the last run left there.
#[test]
fn nested_stages_do_not_depend_on_their_scratch() {
    let mut seen = 0;
    for (stage, case) in cases().filter(|(stage, _)| stage.can_interleave) {
        let plain = plan(stage, &case);
        let mut dirty = plan(stage, &case);
        let scratch =
            dirty.buffers.iter_mut().filter(|b| b.keep.is_none() && b.shape != Shape::Absent);
        for buffer in scratch.filter(|b| !matches!(b.fill, Fill::Keep | Fill::Words(_))) {
            buffer.fill = Fill::Word(!JUNK);
        }
        assert_eq!(
            left(stage, &case, &plain),
            left(stage, &case, &dirty),
            "{} {}",
            stage.name,
            case.name
        );
        seen += 1;
    }
    let all: usize =
        STAGES.iter().filter(|stage| stage.can_interleave).map(|stage| (stage.cases)().len()).sum();
    assert!(seen == all && all > 0);
}

/// The check bites: a stage whose particles must begin as zeros is found.
#[test]
fn a_stage_that_depends_on_its_scratch_is_found() {
    let stage = &droplets::STAGE;
    let case = (stage.cases)().remove(0);
    let plain = plan(stage, &case);
    let mut dirty = plan(stage, &case);
    dirty.buffers.iter_mut().filter(|b| b.name == "want").for_each(|b| b.fill = Fill::Word(1));
    assert_ne!(left(stage, &case, &plain), left(stage, &case, &dirty));
}

/// What a stage says of itself is what its plans do: P4.
#[test]
fn stages_that_change_heights_say_so() {
    for stage in thalweg::stage::STAGES {
        let writes =
            (stage.cases)().iter().any(|case| crate::common::plan(stage, case).writes("height"));
        assert_eq!(stage.changes, writes && !stage.is_generator, "{}", stage.name);
        assert!(!stage.erodes() || stage.changes, "{}", stage.name);
    }
}

/// What a stage leaves for later ones has a name that no other stage gives to something else: that
/// would take its place.
#[test]
fn what_is_kept_has_a_name_of_its_own() {
    let stages = || STAGES.iter().chain(INNER.iter()).copied();
    let plans = || {
        stages().flat_map(|stage| {
            (stage.cases)().into_iter().map(move |case| (stage.name, plan(stage, &case)))
        })
    };
    let mut kept: std::collections::BTreeMap<&str, Vec<&str>> = Default::default();
    for (stage, plan) in plans() {
        plan.kept()
            .filter_map(|buffer| buffer.keep)
            .for_each(|name| kept.entry(name).or_default().push(stage));
    }
    assert!(
        ["height", "flow", "surface", "area"].iter().all(|name| kept.contains_key(name)),
        "{kept:?}"
    );
    for (stage, plan) in plans() {
        for buffer in plan.buffers.iter().filter(|buffer| buffer.shape == Shape::Table) {
            let by = kept.get(buffer.name).filter(|by| !by.contains(&stage));
            assert!(by.is_none(), "{stage}: {} is a table here, and kept by {by:?}", buffer.name);
        }
    }
}
