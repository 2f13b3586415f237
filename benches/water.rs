//! Criterion benches of water: pits, the levels of full depressions, directions and areas, all that
//! `Water::of` finds, by size and kind of land.
//!
//! `cargo bench --bench water`. See `benches/README.md`.

use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;
use thalweg::site::Scale;
use thalweg::water::{Settings, Water};
use thalweg::{Device, Job, Recipe};

/// The words of `examples/mountains.toml` in another size: eroded, or as its generator leaves them,
/// with a pit every 32 cells.
fn land(side: u32, eroded: bool) -> Vec<i32> {
    let mut recipe = Recipe::read("examples/mountains.toml").expect("an example");
    (recipe.window.width, recipe.window.height) = (side, side);
    recipe.output.maps = vec!["height".into()];
    if !eroded {
        recipe.stages.truncate(1);
        recipe.levels = None;
    }
    let land = Job::new(recipe)
        .and_then(|job| job.device(Device::Cpu).run(&mut |_| Ok(())))
        .expect("a land");
    land.words("height").expect("a height").to_vec()
}

fn water(c: &mut Criterion) {
    let mut group = c.benchmark_group("water");
    group
        .sample_size(10)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5));
    for side in [1024, 4096] {
        group.throughput(Throughput::Elements(u64::from(side) * u64::from(side)));
        for (label, eroded) in [("fractal", false), ("eroded", true)] {
            // Made once, and only if it is asked for.
            let ground = LazyCell::new(|| land(side, eroded));
            let settings = Settings::default();
            group.bench_function(BenchmarkId::new(label, side), |b| {
                let ground = &*ground;
                b.iter(|| {
                    let found =
                        Water::of(ground.clone(), side as usize, Scale::of(20.0), None, &settings);
                    black_box(found.expect("enough memory").cells)
                });
            });
        }
    }
}

criterion_group!(benches, water);
criterion_main!(benches);
