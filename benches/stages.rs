//! Criterion benches: stage × size × surface × executor. Transfers and the encoding of files are
//! measured separately.
//!
//! `cargo bench` runs all of them, `cargo bench -- droplets/valley` some. See `benches/README.md`.

mod common;

use common::{seconds, settings};
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use std::hint::black_box;
use std::time::{Duration, Instant};
use thalweg::arith::CELL;
use thalweg::classic::droplets::{Brush, Droplets, erode};
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::io::{MapFormat, encode};
use thalweg::map::Map;
use thalweg::params::Value;
use thalweg::plan::Plan;
use thalweg::site::{Site, Window};
use thalweg::stage::{Stage, Surface, diamond_square, droplets};

const SIDES: [u32; 2] = [512, 1024];
const SURFACES: [(&str, Surface); 3] =
    [("cone", Surface::Cone), ("valley", Surface::Valley), ("hills", Surface::Hills)];
const SPACING_M: f64 = 20.0;

/// The CPU, and the best graphics adapter if there is one.
fn executors() -> Vec<(&'static str, Box<dyn Executor>)> {
    let cpu: Box<dyn Executor> = Box::new(Cpu::new(0, Order::default()).expect("threads"));
    let all: Vec<_> = [("cpu", cpu)].into_iter().chain(gpu().map(|gpu| ("gpu", gpu))).collect();
    for (label, executor) in &all {
        eprintln!("{label}: {}", executor.name());
    }
    all
}

/// Software adapters only with `THALWEG_GPU=require`: they take minutes, and tell nothing about a
/// card.
#[cfg(feature = "gpu")]
fn gpu() -> Option<Box<dyn Executor>> {
    use thalweg::exec::Adapter;
    use thalweg::exec::gpu::Gpu;
    let mode = std::env::var("THALWEG_GPU").unwrap_or_default();
    match Gpu::open(&Adapter::Best, 64, None) {
        Ok(gpu) if mode == "require" || mode != "off" && gpu.info().kind != "Cpu" => {
            Some(Box::new(gpu))
        }
        Err(e) if mode == "require" => panic!("{e}"),
        _ => None,
    }
}

#[cfg(not(feature = "gpu"))]
fn gpu() -> Option<Box<dyn Executor>> {
    None
}

fn window(side: u32) -> Window {
    Window { origin: [0, 0], width: side, height: side }
}

fn plan(stage: &Stage, window: Window, given: &[(&str, Value)]) -> Plan {
    (stage.plan)(&settings(stage, given).expect("settings"), &Site::bare(window, SPACING_M, 7))
}

/// The time of all passes of a plan. Preparing the buffers is not timed.
fn passes(executor: &mut dyn Executor, plan: &Plan, start: Option<&[i32]>) -> Duration {
    if let Some(start) = start {
        executor.write("height", start).expect("room");
    }
    executor.begin(plan).expect("room");
    let took =
        Duration::from_secs_f64(seconds(executor, plan, 0..plan.passes.len()).expect("a run"));
    executor.end(plan);
    took
}

fn steps(executor: &mut dyn Executor) -> u64 {
    executor.read("flow").expect("the map").iter().map(|&word| word as u32 as u64).sum()
}

fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    group
}

/// Elements are cells.
fn diamond_square(c: &mut Criterion) {
    let mut group = group(c, "diamond_square");
    for (label, executor) in &mut executors() {
        for side in SIDES {
            let plan =
                plan(&diamond_square::STAGE, window(side), &[("relief_m", Value::Number(1000.0))]);
            group.throughput(Throughput::Elements(side as u64 * side as u64));
            group.bench_function(BenchmarkId::new(*label, side), |b| {
                b.iter_custom(|rounds| {
                    (0..rounds).map(|_| passes(&mut **executor, &plan, None)).sum()
                });
            });
        }
    }
}

/// Elements are droplet-steps: one life of every droplet, at the default density.
fn droplets(c: &mut Criterion) {
    let mut executors = executors();
    for (surface_name, surface) in SURFACES {
        let mut group = group(c, &format!("droplets/{surface_name}"));
        for side in SIDES {
            let start = surface.heights(&window(side));
            let plan = plan(&droplets::STAGE, window(side), &[("rain", Value::Number(0.25))]);
            for (label, executor) in &mut executors {
                passes(&mut **executor, &plan, Some(&start));
                group.throughput(Throughput::Elements(steps(&mut **executor)));
                group.bench_function(BenchmarkId::new(*label, side), |b| {
                    b.iter_custom(|rounds| {
                        (0..rounds).map(|_| passes(&mut **executor, &plan, Some(&start))).sum()
                    });
                });
            }
            // The sequential loop with as many drops and its fast brush.
            let heights: Vec<f32> = start.iter().map(|&word| word as f32 / CELL as f32).collect();
            let (count, lifetime, radius) = (start.len() as u64 / 4, 64, 3);
            let p = Droplets {
                count,
                seed: 7,
                lifetime,
                radius,
                brush: Brush::Stencil,
                sorted: true,
                ..Droplets::default()
            };
            let classic = || {
                let mut heights = heights.clone();
                let begun = Instant::now();
                let report = erode(&mut heights, side as usize, side as usize, &p, None);
                (begun.elapsed(), report.steps)
            };
            group.throughput(Throughput::Elements(classic().1));
            group.bench_function(BenchmarkId::new("classic, 1 thread", side), |b| {
                b.iter_custom(|rounds| (0..rounds).map(|_| classic().0).sum());
            });
        }
    }
}

/// Writing a map to the executor and reading it back. Elements are cells.
fn transfers(c: &mut Criterion) {
    let mut group = group(c, "transfers");
    for (label, executor) in &mut executors() {
        for side in SIDES {
            let start = Surface::Hills.heights(&window(side));
            group.throughput(Throughput::Elements(start.len() as u64));
            group.bench_function(BenchmarkId::new(format!("{label} write"), side), |b| {
                b.iter(|| executor.write("height", &start).expect("room"));
            });
            group.bench_function(BenchmarkId::new(format!("{label} read"), side), |b| {
                b.iter(|| black_box(executor.read("height").expect("the map")));
            });
        }
    }
}

/// Encoding files in memory. Elements are cells.
fn files(c: &mut Criterion) {
    let mut group = group(c, "encode");
    for side in SIDES {
        let words = Surface::Hills.heights(&window(side));
        let data =
            words.iter().map(|&word| (word as f64 / CELL as f64 * SPACING_M) as f32).collect();
        let map = Map {
            width: side,
            height: side,
            spacing_m: SPACING_M,
            data,
            range_m: None,
            georef: None,
        };
        group.throughput(Throughput::Elements(words.len() as u64));
        for (label, format) in [
            ("png, 16 bit", MapFormat::Png),
            ("tif", MapFormat::Tiff),
            ("exr", MapFormat::Exr),
            ("npy", MapFormat::Npy),
            ("r16", MapFormat::R16),
            ("r32", MapFormat::R32),
        ] {
            group.bench_function(BenchmarkId::new(label, side), |b| {
                b.iter(|| black_box(encode(&map, format).expect("bytes")))
            });
        }
    }
}

criterion_group!(benches, diamond_square, droplets, transfers, files);
criterion_main!(benches);
