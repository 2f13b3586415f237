//! A snapshot of a run is kept, everything is dropped, and a new run goes on from the snapshot:
//! with equal words.
//!
//! ```sh
//! cargo run --release --example resume --no-default-features
//! ```

use thalweg::{Device, Event, Job, Recipe, Snapshot};

const RECIPE: &str = r#"
schema = 2
seed = 7
width = 200
height = 150
spacing_m = 15

[[stage]]
kind = "diamond_square"
relief_m = 700

[[stage]]
kind = "droplets"
rain = 0.5

[[stage]]
kind = "thermal"
steps = 40
"#;

fn recipe() -> thalweg::Result<Recipe> {
    Recipe::from_toml(RECIPE, "", "resume")
}

/// Runs the whole recipe. Keeps a snapshot as bytes after the stage of that number.
fn first_run(after: usize) -> thalweg::Result<(Vec<u8>, Vec<i32>)> {
    let mut bytes = vec![];
    let land = Job::new(recipe()?)?.device(Device::Cpu).run(&mut |event| match event {
        Event::Stage(stage) if stage.stage() == after => stage.snapshot()?.write(&mut bytes),
        _ => Ok(()),
    })?;
    Ok((bytes, land.words("height")?.to_vec()))
}

fn main() -> thalweg::Result<()> {
    let (bytes, whole) = first_run(1)?;
    println!("a snapshot of {} bytes, after the droplets", bytes.len());

    // Everything is gone but these bytes, which could have been a file.
    let snapshot = Snapshot::read(&mut bytes.as_slice())?;
    let resumed = Job::resume(recipe()?, snapshot)?.device(Device::Cpu).run(&mut |_| Ok(()))?;

    assert_eq!(resumed.words("height")?, whole);
    println!("the resumed run has equal words: digest {}", resumed.digest("height")?);
    Ok(())
}
