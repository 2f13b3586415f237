//! Order does not matter: threads, portions, shuffles, workgroups and dispatch splits give the same
//! words.

use crate::common::{cases, config, cpu, everything, gpu, plan, prepare, run};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::plan::{Buffer, Call, Kernel, Pass, Plan, Touched, Uniform};
use thalweg::site::Window;

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

/// Of passes that may run side by side, none touches what another writes, and a later one no buffer
/// that has another name after an earlier one. One after the other they do the same.
#[test]
fn passes_side_by_side_are_independent() {
    let mut met = 0;
    for ((stage, case), reference) in cases().zip(&*REFERENCES) {
        let plan = plan(stage, &case);
        if !plan.passes.iter().any(|pass| pass.beside) {
            continue;
        }
        let mut together: Vec<&Pass> = vec![];
        for pass in &plan.passes {
            if !pass.beside {
                together.clear();
            }
            for other in &together {
                let place = format!("{} {}: {}", stage.name, case.name, pass.kernel.entry);
                let renamed = other.swaps.iter().flatten().copied().collect();
                assert!(!pass.calm && touched(pass).is_disjoint(&renamed), "{place}");
                assert!(touched(pass).is_disjoint(&written(other)), "{place}");
                assert!(touched(other).is_disjoint(&written(pass)), "{place}");
                met += 1;
            }
            together.push(pass);
        }
        let mut cpu = cpu();
        prepare(stage, &case, &mut cpu);
        cpu.begin(&plan).unwrap();
        (0..plan.passes.len()).for_each(|i| run(&mut cpu, &plan, i..i + 1));
        for (name, words) in reference {
            assert!(cpu.read(name).unwrap() == *words, "{} {} {name}", stage.name, case.name);
        }
    }
    assert!(met > 0);
}

/// The buffers that a pass writes.
fn written(pass: &Pass) -> BTreeSet<&'static str> {
    let Kernel { owns, adds, .. } = pass.kernel;
    owns.iter().map(|(name, _)| name).chain(*adds).copied().collect()
}

/// Those, and the buffers that it reads.
fn touched(pass: &Pass) -> BTreeSet<&'static str> {
    written(pass).into_iter().chain(pass.kernel.reads.iter().copied()).collect()
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
        marks in vec(any::<bool>(), 1..40),
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

    /// A pass that reads what another one has added to hears of every record that was touched, and
    /// of no more than gaps beside them, unless most were touched. Additions of several passes add
    /// up until a pass owns the buffer, which deals with all of it. Where the buffer is exchanged
    /// for another one, nothing is known of its words.
    #[test]
    fn passes_hear_where_words_were_added_to(
        places in vec(vec(0..WORDS as i32, 0..40), 1..4),
        dense in any::<bool>(), threads in 1usize..4,
    ) {
        let mut places = places;
        if dense {
            places[0].extend(0..WORDS as i32);
        }
        let most = places.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut buffers = vec![
            Buffer::scratch("height", WORDS),
            Buffer::scratch("added", WORDS),
            Buffer::scratch("other", WORDS),
        ];
        let mut passes = vec![];
        for (places, (name, add)) in places.iter().zip(ADD) {
            let mut table = places.clone();
            table.resize(most, -1);
            buffers.push(Buffer::table(name, table));
            passes.push(Pass::new(add, Uniform::default(), most, 1));
        }
        let whole = |kernel| Pass::new(kernel, Uniform::default(), WORDS, 1);
        let again = passes.clone();
        passes.extend([whole(&TELL), whole(&CLEAR), whole(&TELL)]);
        passes.extend(again);
        passes.extend([whole(&TELL), whole(&CLEAR).swapping(&[["added", "other"]]), whole(&TELL)]);
        let plan = Plan::new("", Window::sized(1, 1), buffers, passes);
        let mut cpu = Cpu::new(threads, Order::default()).unwrap();
        cpu.begin(&plan).unwrap();
        let adds = places.len();
        run(&mut cpu, &plan, 0..adds + 1);
        let told = cpu.read("height").unwrap();
        let marked: BTreeSet<usize> =
            places.iter().flatten().map(|place| *place as usize / Touched::BLOCK).collect();
        for place in places.iter().flatten() {
            prop_assert_eq!(told[*place as usize], 1, "word {} of {:?}", place, marked);
        }
        // A pass hears of everything where most of a sample of eleven blocks is touched, and else
        // of nothing that lies far from such a block.
        let all = told.iter().all(|word| *word == 1);
        prop_assert!(all || !dense);
        prop_assert!(!all || marked.len() > 5);
        for word in (0..WORDS).filter(|_| !all) {
            let block = word / Touched::BLOCK;
            let near = marked.range(block.saturating_sub(17)..=block + 17).next().is_some();
            prop_assert!(near || told[word] == 0, "word {} of {:?}", word, marked);
        }
        run(&mut cpu, &plan, adds + 1..adds + 3);
        prop_assert!(cpu.read("height").unwrap().iter().all(|word| *word == 0));
        run(&mut cpu, &plan, adds + 3..2 * adds + 4);
        prop_assert_eq!(cpu.read("height").unwrap(), told);
        run(&mut cpu, &plan, 2 * adds + 4..2 * adds + 6);
        prop_assert!(cpu.read("height").unwrap().iter().all(|word| *word == 1));
    }
}

/// Words of the buffer that is added to.
const WORDS: usize = 20_000;

/// Kernels that add 1 at the places of a table, which ends with those below 0.
static ADD: [(&str, &Kernel); 3] = [
    ("first", &Kernel { entry: "add", reads: &["first"], owns: &[], adds: &["added"], cpu: add }),
    ("second", &Kernel { entry: "add", reads: &["second"], owns: &[], adds: &["added"], cpu: add }),
    ("third", &Kernel { entry: "add", reads: &["third"], owns: &[], adds: &["added"], cpu: add }),
];

fn add(call: &mut Call) {
    for place in &call.reads[0][call.range.start as usize..call.range.end as usize] {
        if *place >= 0 {
            call.adds[0].add::<false>(*place as usize, 1);
        }
    }
}

/// Writes 1 for each record of `added` that it hears of, and 0 for the others.
static TELL: Kernel = Kernel {
    entry: "tell",
    reads: &["added"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: |call| {
        let range = call.range.start as usize..call.range.end as usize;
        call.owns[0].fill(0);
        for span in call.touched[0].within(range.clone(), 1) {
            call.owns[0][span.start - range.start..span.end - range.start].fill(1);
        }
    },
};

/// Owns `added`.
static CLEAR: Kernel = Kernel {
    entry: "clear",
    reads: &[],
    owns: &[("added", 1)],
    adds: &[],
    cpu: |call| call.owns[0].fill(0),
};
