//! Heights in memory go in, eroded heights come out, with progress and a way to cancel.
//!
//! ```sh
//! cargo run --release --example heights_in_memory --no-default-features
//! ```

use std::time::Duration;
use thalweg::{Device, Error, Event, Heights, Job, Preset, Recipe};

fn main() -> thalweg::Result<()> {
    // A ridge of 256 x 256 samples, 10 m apart, in metres.
    let side = 256;
    let metres: Vec<f32> = (0..side * side)
        .map(|i| {
            let (x, y) = ((i % side) as f32, (i / side) as f32);
            400.0 - (y - side as f32 / 2.0).abs() * 3.0
                + (x / 9.0).sin() * 12.0
                + (y / 7.0).cos() * 8.0
        })
        .collect();

    let recipe = Recipe::on_heights(vec![Preset::find("deep")?.step(false)?])?;
    let heights = Heights::metres(side, side, 10.0, &metres);
    let job = Job::with_heights(recipe, heights)?.device(Device::Cpu);

    // Any thread may cancel; this one gives up after a minute.
    let cancel = job.cancel_handle();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(60));
        cancel.cancel();
    });

    let mut percent = 0;
    let land = job.run(&mut |event| {
        if let Event::Progress(at) = event {
            let now = at.done * 100 / at.passes.max(1);
            if now >= percent + 25 || now == 100 && percent < 100 {
                percent = now;
                println!("{}: {percent} %", at.name);
            }
        }
        Ok(())
    });
    let land = match land {
        Err(Error::Cancelled) => {
            println!("cancelled");
            return Ok(());
        }
        land => land?,
    };

    let eroded = land.map("height")?;
    let moved: f32 =
        eroded.data.iter().zip(&metres).map(|(after, before)| (after - before).abs()).sum();
    println!(
        "{} x {} heights, moved by {:.2} m in the mean",
        eroded.width,
        eroded.height,
        moved / metres.len() as f32
    );
    println!("digest {}", land.digest("height")?);
    Ok(())
}
