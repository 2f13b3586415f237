//! The block of `unsafe` in the executor: words to which several threads add. `tests/miri` runs
//! this under Miri.

use crate::common::run;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use thalweg::site::Window;

/// Words to which invocations add.
const WORDS: usize = 5;
/// Invocations.
const COUNT: usize = 60;

/// Each invocation adds its number to one of the words, which it shares with others.
static ADD: Kernel = Kernel {
    entry: "add",
    reads: &[],
    owns: &[],
    adds: &["sums"],
    cpu: |call: &mut Call| {
        for i in call.range.clone() {
            call.adds[0].add::<false>(i as usize % WORDS, i as i32);
        }
    },
};

/// Moves the sums to `height`, and clears them.
static TAKE: Kernel = Kernel {
    entry: "take",
    reads: &[],
    owns: &[("height", 1), ("sums", 1)],
    adds: &[],
    cpu: |call: &mut Call| {
        let [height, sums] = call.owns else { return };
        for (height, sum) in height.iter_mut().zip(sums.iter_mut()) {
            *height += std::mem::take(sum);
        }
    },
};

/// Threads that add to the same words lose nothing, and a pass that owns the words sees their sums
/// and may write to them, again and again.
#[test]
fn no_addition_is_lost() {
    const ROUNDS: i32 = 3;
    let buffers = vec![Buffer::scratch("height", WORDS), Buffer::scratch("sums", WORDS)];
    let both = [(&ADD, COUNT), (&TAKE, WORDS)];
    let passes =
        (0..ROUNDS).flat_map(|_| both.map(|(k, n)| Pass::new(k, Uniform::default(), n, 1)));
    let plan = Plan::new("", Window::sized(1, 1), buffers, passes.collect());
    // Of the numbers below COUNT, those that leave the same remainder.
    let sum = |word: usize| (word..COUNT).step_by(WORDS).sum::<usize>() as i32;
    let expected: Vec<i32> = (0..WORDS).map(|word| ROUNDS * sum(word)).collect();
    for shuffle in [None, Some(1)] {
        let order = Order { shuffle, portion: Some(1), atomic: true };
        let mut cpu = Cpu::new(3, order).unwrap();
        cpu.begin(&plan).unwrap();
        run(&mut cpu, &plan, 0..plan.passes.len());
        assert_eq!(cpu.read("height").unwrap(), expected);
    }
}
