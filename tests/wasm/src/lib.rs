//! Lands on a target without threads and without a clock, `wasm32-unknown-unknown`.
//!
//! `run`, beside this package, loads the module into a page and holds its digests against those of
//! `tests/examples.txt`.

use thalweg::recipe::EXAMPLES;
use thalweg::{Device, Job, Recipe};

/// The number of examples.
// SAFETY: no other function of this program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn examples() -> u32 {
    EXAMPLES.len() as u32
}

/// The first eight bytes of the digest of an example's height, on 128 cells a side.
///
/// # Panics
/// When the example cannot be made.
// SAFETY: no other function of this program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn digest(example: u32) -> u64 {
    let (name, text) = EXAMPLES[example as usize];
    let made = || {
        let mut recipe = Recipe::from_toml(text, "", name)?;
        recipe.resize(128, 128)?;
        Job::new(recipe)?
            .device(Device::Cpu)
            .run(&mut |_| Ok(()))?
            .digest("height")
            .map(String::from)
    };
    let digest = made().unwrap_or_else(|e| panic!("{name}: {e}"));
    u64::from_str_radix(&digest[..16], 16).expect("a digest is hexadecimal")
}
