//! No pass races: the result of an invocation does not depend on the words that other invocations
//! write.
//!
//! On the CPU the types ensure that, because a kernel gets only its own words and frozen ones. On
//! the GPU nothing does. There each pass runs in two halves, each after the words that the other
//! half owns were flipped. A kernel that reads the word of a neighbour then gives another result.

use crate::common::{cases, gpu, plan, prepare, run};
use std::ops::Range;
use thalweg::exec::Executor;
use thalweg::exec::gpu::Gpu;
use thalweg::plan::{Plan, Shape};
use thalweg::stage::{Case, Stage, droplets};

/// Names of buffers whose words depended on another invocation's, in the first `count` passes.
fn races(stage: &Stage, case: &Case, plan: &Plan, gpu: &mut Gpu, count: usize) -> Vec<String> {
    prepare(stage, case, gpu);
    gpu.begin(plan).unwrap();
    let mut found = vec![];
    for (i, pass) in plan.passes.iter().enumerate().take(count) {
        let owned: Vec<(&'static str, usize)> = pass.kernel.owns.to_vec();
        let touched: Vec<&'static str> =
            owned.iter().map(|(n, _)| *n).chain(pass.kernel.adds.iter().copied()).collect();
        let before: Vec<Vec<i32>> = touched.iter().map(|n| gpu.read(n).unwrap()).collect();
        gpu.run_part(plan, i, pass.range.clone()).unwrap();
        let after: Vec<Vec<i32>> = touched.iter().map(|n| gpu.read(n).unwrap()).collect();
        // The words of a tile's particles are interleaved, so the halves are cut between tiles.
        let tile = owned.iter().map(|(name, _)| match plan.buffer(name).shape {
            Shape::Tiles { tile, .. } => tile as u32,
            _ => 1,
        });
        let Range { start, end } = pass.range;
        let cut = (start + pass.count() / 2).next_multiple_of(tile.max().unwrap_or(1)).min(end);
        for (part, others) in [(start..cut, cut..end), (cut..end, start..cut)] {
            if part.is_empty() {
                continue;
            }
            for (k, name) in touched.iter().enumerate() {
                let mut words = before[k].clone();
                if let Some((_, each)) = owned.get(k) {
                    for w in &mut words[others.start as usize * each..others.end as usize * each] {
                        *w = !*w;
                    }
                }
                gpu.write(name, &words).unwrap();
            }
            gpu.run_part(plan, i, part.clone()).unwrap();
            for (k, (name, each)) in owned.iter().enumerate() {
                let words = gpu.read(name).unwrap();
                let mine = part.start as usize * each..part.end as usize * each;
                if words[mine.clone()] != after[k][mine] {
                    found.push(format!(
                        "{} {} pass {i} {}: {name}",
                        stage.name, case.name, pass.kernel.entry
                    ));
                }
            }
        }
        for (k, name) in touched.iter().enumerate() {
            gpu.write(name, &before[k]).unwrap();
        }
        run(gpu, plan, i..i + 1);
    }
    gpu.end(plan);
    found
}

#[test]
fn no_invocation_reads_what_another_writes() {
    let Some(mut gpu) = gpu("poison::no_invocation_reads_what_another_writes", 64, None) else {
        return;
    };
    for (stage, case) in cases() {
        let plan = plan(stage, &case);
        assert_eq!(races(stage, &case, &plan, &mut gpu, 12), Vec::<String>::new());
    }
}

/// The check bites: it finds a settling pass that adds the height of a neighbour.
#[test]
fn a_race_is_found() {
    let Some(mut gpu) = gpu("poison::a_race_is_found", 64, None) else { return };
    let stage = &droplets::STAGE;
    let case = (stage.cases)().remove(0);
    let mut plan = plan(stage, &case);
    plan.shader = crate::mutants::mutant(
        plan.shader,
        "own_next[i] = h + change;",
        "own_next[i] = h + change + own_next[max(i, 1u) - 1u];",
    );
    assert!(!races(stage, &case, &plan, &mut gpu, 6).is_empty());
}
