//! Walks through a world without an end: chunks come in time, made in the background.
//!
//! ```sh
//! cargo run --release --example walk                        # examples/world.toml, 20 s
//! cargo run --release --example walk -- my-world.toml 60    # an endless recipe, and seconds
//! ```
//!
//! A plane moves on at 200 m a second and turns slowly. Chunks of 64 × 64 cells within 6 km are
//! wanted, the nearest first; what lies behind is given back. At the end the program says how long
//! chunks took and how far the player saw.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use thalweg::tiles::{PoolOptions, WindowPool, WindowRequest};
use thalweg::{Device, Job, Map, Recipe, Window};

/// Cells of a chunk's side. Neighbours share their border, so a chunk has a vertex more.
const CHUNK: i64 = 64;
const SIGHT_M: f64 = 6000.0;
const SPEED_M_S: f64 = 200.0;
const FRAME: Duration = Duration::from_millis(16);

enum Chunk {
    Wanted(WindowRequest, Instant),
    There(Map),
}

fn main() -> thalweg::Result<()> {
    let mut words = std::env::args().skip(1);
    let path = words.next().unwrap_or_else(|| "examples/world.toml".into());
    let walk_s: f64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(20.0);
    let job = Job::new(Recipe::read(path)?)?.device(Device::Auto);
    let cell_m = job.scale().spacing_m;
    let chunk_m = CHUNK as f64 * cell_m;
    let mut place = job.window().origin.map(|cell| cell as f64 * cell_m);
    let pool = WindowPool::new(job, PoolOptions::default())?;

    let mut chunks: BTreeMap<[i64; 2], Chunk> = BTreeMap::new();
    let (mut took, mut frames, mut gaps, mut slowest) = (vec![], 0, 0, Duration::ZERO);
    let begun = Instant::now();
    // The plane takes off when all that it sees is there.
    let mut off: Option<Instant> = None;
    let mut last = begun;
    while off.is_none_or(|off| off.elapsed().as_secs_f64() < walk_s) {
        let frame = Instant::now();
        if let Some(off) = off {
            let heading = 0.05 * off.elapsed().as_secs_f64();
            let step = SPEED_M_S * last.elapsed().as_secs_f64();
            place = [place[0] + step * heading.cos(), place[1] + step * heading.sin()];
        }
        last = frame;

        // How far the middle of a chunk is away.
        let away = |at: &[i64; 2]| {
            let middle = at.map(|chunk| (chunk as f64 + 0.5) * chunk_m);
            (middle[0] - place[0]).hypot(middle[1] - place[1])
        };
        // What is out of sight is cancelled, or forgotten.
        chunks.retain(|at, _| away(at) < SIGHT_M + 2.0 * chunk_m);
        let own = place.map(|metres| (metres / chunk_m).floor() as i64);
        let reach = (SIGHT_M / chunk_m).ceil() as i64;
        for at in (-reach..=reach).flat_map(|y| (-reach..=reach).map(move |x| [x, y])) {
            let at = [own[0] + at[0], own[1] + at[1]];
            let urgency = -away(&at) as i64;
            if away(&at) > SIGHT_M {
                continue;
            }
            match chunks.get(&at) {
                Some(Chunk::There(_)) => {}
                Some(Chunk::Wanted(request, _)) => request.set_priority(urgency),
                None => {
                    let side = CHUNK as u32 + 1;
                    let window =
                        Window { origin: at.map(|n| n * CHUNK), width: side, height: side };
                    let request = pool.request(0, window, "height", urgency)?;
                    chunks.insert(at, Chunk::Wanted(request, Instant::now()));
                }
            }
        }
        for chunk in chunks.values_mut() {
            if let Chunk::Wanted(request, since) = chunk
                && let Some(map) = request.poll()
            {
                took.extend(off.map(|_| since.elapsed()));
                *chunk = Chunk::There(map?);
            }
        }
        if off.is_some() {
            frames += 1;
            gaps += usize::from(!matches!(chunks.get(&own), Some(Chunk::There(_))));
            slowest = slowest.max(frame.elapsed());
        } else if chunks.values().all(|chunk| matches!(chunk, Chunk::There(_))) {
            off = Some(Instant::now());
            println!(
                "the first {} chunks took {:.1} s",
                chunks.len(),
                begun.elapsed().as_secs_f64()
            );
        }
        std::thread::sleep(FRAME.saturating_sub(frame.elapsed()));
    }

    took.sort();
    let share = |part: f64| took.get((took.len() as f64 * part) as usize).copied();
    let ms = |time: Option<Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3);
    let [made, _] = pool.counts();
    println!(
        "then {} chunks of {chunk_m:.0} m in {walk_s} s: median {:.0} ms from request to map, nine \
         of ten within {:.0} ms, the slowest {:.0} ms; {made} tiles were made",
        took.len(),
        ms(share(0.5)),
        ms(share(0.9)),
        ms(took.last().copied())
    );
    println!(
        "{frames} frames, the longest {:.1} ms; without ground under the player: {gaps}",
        slowest.as_secs_f64() * 1e3
    );
    if let Some(Chunk::There(map)) = chunks.values().find(|chunk| matches!(chunk, Chunk::There(_)))
    {
        let (low, high) = map.min_max();
        println!("the ground of one of them is {low:.0} to {high:.0} m high");
    }
    Ok(())
}
