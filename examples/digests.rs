//! Prints the digest of every map of a recipe, which is the same on every device.
//!
//! ```sh
//! cargo run --release --example digests -- examples/mountains.toml cpu
//! ```

use thalweg::{Device, Job, Recipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("name a recipe, and where to compute: auto, cpu or gpu")?;
    let device: Device = words.next().as_deref().unwrap_or("auto").parse()?;
    let outcome = Job::read(Recipe::read(path)?)?.device(device).run(&mut |_| Ok(()))?;
    for name in outcome.names() {
        println!("{name} {}", outcome.digest(name)?);
    }
    Ok(())
}
