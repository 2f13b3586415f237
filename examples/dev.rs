use std::sync::atomic::AtomicBool;
use std::time::Instant;
use thalweg::exec::cpu::{Cpu, Schedule};
use thalweg::exec::{Control, Executor};
use thalweg::params::{Settings, Value};
use thalweg::plan::{Site, Window};
use thalweg::stage;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: u32 = args[1].parse().unwrap();
    let out = &args[2];
    let spacing = 20.0;
    let window = Window { origin: [1000, 2000], width: n, height: n };
    let site = Site { window, spacing_m: spacing, seed: 7 };
    let threads: usize = std::env::var("T").ok().and_then(|t| t.parse().ok()).unwrap_or(0);
    let mut exec: Box<dyn Executor> = if std::env::var("GPU").is_ok() {
        Box::new(thalweg::exec::gpu::Gpu::open(&thalweg::exec::gpu::Choice::Best, 64, None).unwrap())
    } else {
        Box::new(Cpu::new(threads, Schedule::default()).unwrap())
    };
    let stop = AtomicBool::new(false);
    let dss = [
        ("world", Value::Integer(8192)),
        ("feature", Value::Integer(n as i64)),
        ("gain", Value::Number(0.55)),
        ("relief_m", Value::Number(n as f64 * spacing * 0.15)),
        ("roughness", Value::Number(1.0)),
    ];
    let s = Settings::new(stage::diamond_square::STAGE.params, &dss.map(|(k, v)| (k.to_string(), v))).unwrap();
    for _ in 0..2 {
        let t = Instant::now();
        let plan = (stage::diamond_square::STAGE.plan)(&s, &site);
        exec.begin(&plan).unwrap();
        exec.run(&plan, 0..plan.passes.len(), &mut Control { stop: &stop, progress: &mut |_| {} }).unwrap();
        exec.end(&plan);
        eprintln!("diamond_square {:?}", t.elapsed());
    }
    let before = exec.read("height").unwrap();
    let given: Vec<(String, Value)> = args[3..]
        .iter()
        .map(|a| {
            let (k, v) = a.split_once('=').unwrap();
            let v = if let Ok(i) = v.parse::<i64>() {
                Value::Integer(i)
            } else if let Ok(f) = v.parse() {
                Value::Number(f)
            } else {
                Value::Word(v.into())
            };
            (k.to_string(), v)
        })
        .collect();
    let s = Settings::new(stage::droplets::STAGE.params, &given).unwrap();
    let t = Instant::now();
    let plan = (stage::droplets::STAGE.plan)(&s, &site);
    eprintln!("plan {:?} {}", t.elapsed(), (stage::droplets::STAGE.derived)(&s, &site));
    let t = Instant::now();
    exec.begin(&plan).unwrap();
    let mut per = [0.0f64; 3];
    for i in 0..plan.passes.len() {
        let t = Instant::now();
        exec.run(&plan, i..i + 1, &mut Control { stop: &stop, progress: &mut |_| {} }).unwrap();
        per[i % 3] += t.elapsed().as_secs_f64();
    }
    let el = t.elapsed();
    let ex = exec.read("exported").unwrap();
    exec.end(&plan);
    let flow = exec.read("flow").unwrap();
    let total: f64 = flow.iter().map(|&f| f as f64).sum();
    eprintln!(
        "droplets {el:?}  {:.1} M droplet-steps/s  per pass {per:?} exported {}",
        total / el.as_secs_f64() / 1e6,
        ex.chunks(2).map(|c| c[0] as i64 + ((c[1] as i64) << 12)).sum::<i64>()
    );
    let height = exec.read("height").unwrap();
    for (name, d) in [("before", &before), ("after", &height), ("flow", &flow)] {
        std::fs::write(format!("{out}.{name}.i32"), d.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    }
}
