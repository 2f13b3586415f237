//! Order does not matter: threads, portions, shuffles, workgroups and dispatch splits give the same
//! words.

use crate::common::{cases, config, cpu, everything, gpu, plan};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::plan::Touched;

/// The words of every buffer of a case.
type Words = Vec<(&'static str, Vec<i32>)>;

/// The words of every case, as the CPU executor of the other tests computes them.
static REFERENCES: LazyLock<Vec<Words>> =
    LazyLock::new(|| cases().map(|(stage, case)| everything(stage, &case, &mut cpu())).collect());

/// Threads, portions, shuffles and atomic additions do not change a word of any buffer.
/// Holds C25.
#[test]
fn any_order_on_the_cpu() {
    let orders = [
        (1, Order::default()),
        (1, Order { atomic: true, ..Default::default() }),
        (2, Order { shuffle: Some(1), ..Default::default() }),
        (2, Order { shuffle: Some(2), portion: Some(1), atomic: true }),
        (5, Order { shuffle: Some(3), portion: Some(700), atomic: false }),
    ];
    for ((stage, case), reference) in cases().zip(&*REFERENCES) {
        for (threads, order) in orders {
            let mut other = Cpu::new(threads, order).unwrap();
            for ((name, a), (_, b)) in reference.iter().zip(everything(stage, &case, &mut other)) {
                assert!(
                    *a == b,
                    "{} {} {name}: {threads} threads, {order:?}",
                    stage.name,
                    case.name
                );
            }
        }
    }
}

/// The size of workgroups and the splitting of dispatches do not change a word of any buffer. What
/// they decide is which invocations a kernel runs together, so each pipeline is met once by each
/// size; a case that has no other is left to `agree`.
/// Holds C26.
#[test]
fn any_workgroup_and_split_on_the_gpu() {
    for (workgroup, split) in [(256, None), (32, Some(3000))] {
        let Some(mut gpu) = gpu("schedule::any_workgroup_and_split_on_the_gpu", workgroup, split)
        else {
            return;
        };
        let mut met = BTreeSet::new();
        for ((stage, case), reference) in cases().zip(&*REFERENCES) {
            let plan = plan(stage, &case);
            let pipelines = plan
                .passes
                .iter()
                .map(|pass| (pass.shader.unwrap_or(plan.shader), pass.kernel.entry, pass.constant));
            // All of them are counted.
            if pipelines.filter(|pipeline| met.insert(*pipeline)).count() == 0 {
                continue;
            }
            for ((name, a), (_, b)) in reference.iter().zip(everything(stage, &case, &mut gpu)) {
                assert!(
                    *a == b,
                    "{} {} {name}: workgroup {workgroup}, split {split:?}",
                    stage.name,
                    case.name
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(config(256))]

    /// Kernels get every record that has a word in a touched part: once, in order, and no others.
    /// If nothing is known, they get all records.
    #[test]
    fn kernels_get_all_touched_records(
        marks in proptest::collection::vec(any::<bool>(), 1..40),
        each in 1usize..6,
        ends in (0.0..1.0f64, 0.0..1.0f64),
    ) {
        let records = marks.len() * Touched::BLOCK / each;
        let [first, last] = [ends.0.min(ends.1),
            ends.0.max(ends.1)].map(|part| (part * records as f64) as usize);
        let marked = (0..marks.len()).filter(|i| marks[*i]);
        let blocks = marked.map(|i| i * Touched::BLOCK..(i + 1) * Touched::BLOCK);
        let mut spans: Vec<std::ops::Range<usize>> = vec![];
        for block in blocks {
            match spans.last_mut() {
                Some(span) if span.end == block.start => span.end = block.end,
                _ => spans.push(block),
            }
        }
        let found: Vec<usize> = Touched(Some(&spans)).within(first..last, each).flatten().collect();
        let words = |record: usize| record * each..(record + 1) * each;
        let touched = |record: &usize| words(*record).any(|word| marks[word / Touched::BLOCK]);
        prop_assert_eq!(found, (first..last).filter(touched).collect::<Vec<_>>());
        let all: Vec<usize> = Touched(None).within(first..last, each).flatten().collect();
        prop_assert_eq!(all, (first..last).collect::<Vec<_>>());
    }
}
