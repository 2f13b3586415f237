//! Order does not matter: threads, portions, shuffles, workgroups and dispatch splits give the same words.

use crate::common::{cases, cpu, everything, gpu};
use thalweg::exec::cpu::{Cpu, Schedule};

#[test]
fn any_order_on_the_cpu() {
    let schedules = [
        (1, Schedule::default()),
        (1, Schedule { atomic: true, ..Default::default() }),
        (2, Schedule { shuffle: Some(1), ..Default::default() }),
        (2, Schedule { shuffle: Some(2), portion: Some(1), atomic: true }),
        (5, Schedule { shuffle: Some(3), portion: Some(700), atomic: false }),
    ];
    for (stage, case) in cases() {
        let reference = everything(stage, &case, &mut cpu());
        for (threads, schedule) in schedules {
            let mut other = Cpu::new(threads, schedule).unwrap();
            for ((name, a), (_, b)) in reference.iter().zip(everything(stage, &case, &mut other)) {
                assert!(*a == b, "{} {} {name}: {threads} threads, {schedule:?}", stage.name, case.name);
            }
        }
    }
}

#[test]
fn any_workgroup_and_split_on_the_gpu() {
    for (workgroup, split) in [(32, None), (256, None), (64, Some(1000)), (1, Some(70_000))] {
        let Some(mut gpu) = gpu("schedule::any_workgroup_and_split_on_the_gpu", workgroup, split) else { return };
        for (stage, case) in cases() {
            let reference = everything(stage, &case, &mut cpu());
            for ((name, a), (_, b)) in reference.iter().zip(everything(stage, &case, &mut gpu)) {
                assert!(*a == b, "{} {} {name}: workgroup {workgroup}, split {split:?}", stage.name, case.name);
            }
        }
    }
}
