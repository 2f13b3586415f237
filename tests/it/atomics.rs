//! The block of `unsafe` in the executor: words to which several threads add. It is small enough
//! for Miri, which `tests/miri` runs it under.

use crate::common::{everything, plan};
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::params::Value;
use thalweg::site::Window;
use thalweg::stage::{Case, find};

/// Particles on few cells, which meet at the same words: by atomics on three threads in any order,
/// and by plain additions on one.
#[test]
fn sums_of_several_threads_are_those_of_one() {
    for name in ["droplets", "snowballs", "wind"] {
        let stage = find(name).unwrap();
        let case = Case {
            settings: vec![("lifetime", Value::Integer(2))],
            window: Window::sized(8, 8),
            ..(stage.cases)().remove(0)
        };
        assert!(plan(stage, &case).passes.iter().any(|pass| !pass.kernel.adds.is_empty()));
        let alone = everything(stage, &case, &mut Cpu::new(1, Order::default()).unwrap());
        let order = Order { shuffle: Some(1), portion: Some(4), atomic: true };
        let together = everything(stage, &case, &mut Cpu::new(3, order).unwrap());
        assert_eq!(alone, together, "{name}");
    }
}
