//! Criterion benches of dungeons: floors and layouts by size, ten thousand floors, and encoding.
//!
//! `cargo bench --bench dungeons`. See `benches/README.md`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Duration;
use thalweg::dungeon::{Dungeon, Generator, isaac, rebirth, rooms::Rooms, tinykeep};
use thalweg::io::dungeon::{DungeonFormat, encode};

fn isaac(level: u32, labyrinth: u32) -> Generator {
    Generator::Isaac(isaac::Settings { level, labyrinth, ..Default::default() })
}

fn rebirth(level: u32) -> Generator {
    Generator::Rebirth(rebirth::Settings { level, ..Default::default() })
}

fn tinykeep(room_count: u32) -> Generator {
    Generator::TinyKeep(tinykeep::Settings { room_count, ..Default::default() })
}

fn make(generator: &Generator, seed: u64) -> Dungeon {
    generator.make(seed, Rooms::standard()).expect("a dungeon")
}

/// One dungeon on one thread. Each iteration uses another seed, since some seeds need more tries
/// than others.
fn one(c: &mut Criterion) {
    let mut group = c.benchmark_group("dungeon");
    group
        .sample_size(30)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    for (label, generator) in [
        ("isaac, level 1", isaac(1, 0)),
        ("isaac, level 4", isaac(4, 0)),
        ("isaac, level 8", isaac(8, 0)),
        ("isaac, level 4, labyrinth", isaac(4, 100)),
        ("rebirth, level 4", rebirth(4)),
        ("rebirth, level 8", rebirth(8)),
        ("tinykeep, 150 rooms", tinykeep(150)),
        ("tinykeep, 1000 rooms", tinykeep(1000)),
    ] {
        let mut seed = 0;
        group.bench_function(label, |b| {
            b.iter(|| {
                seed += 1;
                black_box(make(&generator, seed))
            });
        });
    }
}

/// Ten thousand floors, on one thread and on all. Elements are floors.
fn many(c: &mut Criterion) {
    let mut group = c.benchmark_group("dungeons");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    group.throughput(Throughput::Elements(10_000));
    let generator = isaac(1, 0);
    let doors = |seed: u64| make(&generator, seed).doors.len();
    group.bench_function("isaac, level 1, 1 thread", |b| {
        b.iter(|| (0..10_000).map(doors).sum::<usize>())
    });
    let label = format!("isaac, level 1, {} threads", rayon::current_num_threads());
    group.bench_function(label, |b| {
        b.iter(|| (0..10_000u64).into_par_iter().map(doors).sum::<usize>())
    });
}

fn files(c: &mut Criterion) {
    let mut group = c.benchmark_group("dungeon files");
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let dungeon = make(&rebirth(6), 7);
    for (label, format) in [
        ("json", DungeonFormat::Json),
        ("png", DungeonFormat::Png),
        ("tmj", DungeonFormat::Tiled),
        ("ldtk", DungeonFormat::Ldtk),
    ] {
        group.bench_function(BenchmarkId::from_parameter(label), |b| {
            b.iter(|| black_box(encode(&dungeon, format).expect("bytes")))
        });
    }
}

criterion_group!(benches, one, many, files);
criterion_main!(benches);
