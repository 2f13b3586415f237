//! Opens executors: the one place that knows which there are.

use super::console::Console;
use std::str::FromStr;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Schedule};
use thalweg::recipe::Recipe;
use thalweg::world::{Made, World};
use thalweg::{Error, Result};

/// Where to compute.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    Auto,
    Cpu,
    Gpu,
    Index(usize),
    Name(String),
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "" => return Err("expected auto, cpu, gpu, or an adapter's number or name".into()),
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu,
            _ => text.parse().map(Self::Index).unwrap_or_else(|_| Self::Name(text.into())),
        })
    }
}

/// The graphics adapters as JSON objects, best first.
#[cfg(feature = "gpu")]
pub fn adapters() -> Vec<serde_json::Value> {
    thalweg::exec::gpu::list().iter().map(|info| serde_json::json!(info)).collect()
}

/// There are none in a build without the feature.
#[cfg(not(feature = "gpu"))]
pub fn adapters() -> Vec<serde_json::Value> {
    vec![]
}

/// The adapter that `auto` takes: the best one that is not software.
pub fn automatic(adapters: &[serde_json::Value]) -> Option<usize> {
    adapters.iter().position(|a| a["kind"] != "Cpu")
}

/// Opens a graphics adapter.
#[cfg(feature = "gpu")]
pub fn gpu(console: &Console, device: &Device) -> Result<Box<dyn Executor>> {
    use thalweg::exec::gpu::{Choice, Gpu};
    let choice = match device {
        Device::Index(i) => Choice::Index(*i),
        Device::Name(name) => Choice::Name(name.clone()),
        Device::Auto | Device::Cpu | Device::Gpu => Choice::Best,
    };
    Ok(Box::new(Gpu::open(&choice, console.options.workgroup_size, None)?))
}

/// Nothing to open in a build without the feature.
#[cfg(not(feature = "gpu"))]
pub fn gpu(_: &Console, _: &Device) -> Result<Box<dyn Executor>> {
    Err(Error::Device("this thalweg was built without its gpu feature: use --device cpu".into()))
}

/// Opens the CPU.
pub fn cpu(console: &Console) -> Result<Cpu> {
    let schedule = Schedule { shuffle: console.options.shuffle, ..Schedule::default() };
    Cpu::new(console.options.threads.into(), schedule)
}

/// An executor that was opened for a run.
pub struct Opened {
    executor: Box<dyn Executor>,
    /// Whether the CPU may do the work if this fails.
    replaceable: bool,
}

/// Opens the executor that was asked for, and makes sure that it can hold every stage.
pub fn open(console: &Console, recipe: &Recipe, world: &World) -> Result<Opened> {
    let admits = |executor: &dyn Executor| (0..recipe.stages.len()).try_for_each(|i| executor.admits(&world.plan(i)));
    let device = &console.options.device;
    let adapter = match device {
        Device::Auto => automatic(&adapters()).map(Device::Index),
        Device::Cpu => None,
        _ => Some(device.clone()),
    };
    let replaceable = *device == Device::Auto;
    if let Some(adapter) = adapter {
        match gpu(console, &adapter).and_then(|g| admits(&*g).map(|()| g)) {
            Ok(executor) => return Ok(Opened { executor, replaceable }),
            Err(e @ (Error::Device(_) | Error::Limit(_))) if replaceable => console.warn(format!("{e}; the CPU takes over")),
            Err(e) => return Err(e),
        }
    }
    let executor = Box::new(cpu(console)?);
    admits(&*executor)?;
    Ok(Opened { executor, replaceable: false })
}

/// Runs the recipe; if the card fails and need not be the one, again on the CPU. Also says what ran it.
pub fn run(console: &Console, opened: Opened, recipe: &Recipe, world: &World) -> Result<(Made, String)> {
    let Opened { mut executor, replaceable } = opened;
    console.note(executor.name());
    let once = |executor: &mut dyn Executor| {
        let mut progress = console.progress(recipe.stages.iter().map(|s| s.stage.name).collect());
        world.run(executor, console.stop, &mut |stage, done, count| progress.at(stage, done, count))
    };
    let name = executor.name();
    let made = once(&mut *executor);
    match made {
        // Closing a device that hangs would wait for ever.
        Err(Error::Device(_)) => std::mem::forget(executor),
        _ => drop(executor),
    }
    match made {
        Err(e @ (Error::Device(_) | Error::Limit(_))) if replaceable => {
            console.warn(format!("{e}; the CPU starts over, for the same bytes"));
        }
        made => return Ok((made?, name)),
    }
    let mut executor = cpu(console)?;
    Ok((once(&mut executor)?, executor.name()))
}
