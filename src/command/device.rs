//! Opens executors: the one place that knows which there are.

use super::console::Console;
use super::film::Film;
use std::str::FromStr;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
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
    let schedule = Order { shuffle: console.options.shuffle, ..Order::default() };
    Cpu::new(console.options.threads.into(), schedule)
}

/// An executor that was opened for a run.
pub struct Opened {
    executor: Box<dyn Executor>,
    /// Whether the CPU may do the work if this fails.
    replaceable: bool,
}

impl Opened {
    /// What it is.
    pub fn name(&self) -> String {
        self.executor.name()
    }
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

/// Runs the recipe, and films it where that is asked for; if the card fails and need not be the one, again on the CPU. Also says
/// what ran it.
pub fn run(
    console: &Console,
    opened: Opened,
    recipe: &Recipe,
    world: &World,
    mut film: Option<&mut Film>,
) -> Result<(Made, String)> {
    let Opened { mut executor, replaceable } = opened;
    console.note(executor.name());
    let mut once = |executor: &mut dyn Executor| {
        let mut progress = console.progress(recipe.stages.iter().map(|s| s.stage.name).collect());
        let mut note = |stage, done, count| progress.at(stage, done, count);
        match &mut film {
            None => world.run(executor, console.stop, &mut note),
            Some(film) => world.run_watched(executor, console.stop, &mut note, film.reel.frames, &mut |frame| film.add(frame)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::files::Files;
    use crate::command::film::Reel;
    use crate::command::{Cli, STOP};
    use clap::Parser;
    use std::ops::Range;
    use thalweg::exec::Control;
    use thalweg::plan::Plan;

    /// A card that fails in its second stage.
    struct Failing {
        cpu: Cpu,
        runs: u32,
        error: fn(String) -> Error,
    }

    impl Executor for Failing {
        fn name(&self) -> String {
            "failing".into()
        }
        fn admits(&self, plan: &Plan) -> Result<()> {
            self.cpu.admits(plan)
        }
        fn release(&mut self) {
            self.cpu.release()
        }
        fn begin(&mut self, plan: &Plan) -> Result<()> {
            self.cpu.begin(plan)
        }
        fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
            self.runs = self.runs.wrapping_add(1);
            if self.runs == 2 { Err((self.error)("it burns".into())) } else { self.cpu.run(plan, passes, control) }
        }
        fn end(&mut self, plan: &Plan) {
            self.cpu.end(plan);
        }
        fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
            self.cpu.write(name, words)
        }
        fn read(&mut self, name: &str) -> Result<Vec<i32>> {
            self.cpu.read(name)
        }
    }

    #[test]
    fn the_cpu_takes_over_from_a_card_that_fails_where_it_may() {
        let text = "schema = 1\nwidth = 32\nheight = 32\nspacing_m = 10\n[[stage]]\nkind = \"diamond_square\"\n\
                    relief_m = 100\n[[stage]]\nkind = \"droplets\"\nlifetime = 8\n";
        let recipe = Recipe::from_toml(text, "".as_ref(), "test").unwrap();
        let world = World::new(&recipe, None).unwrap();
        let console = Console::new(Cli::parse_from(["thalweg", "devices", "--threads", "1", "-q"]).options, &STOP);
        let run = |error, runs, replaceable| {
            let executor = Box::new(Failing { cpu: cpu(&console).unwrap(), runs, error });
            super::run(&console, Opened { executor, replaceable }, &recipe, &world, None)
        };
        // One that has its failure behind it.
        let (good, name) = run(Error::Device, 2, true).unwrap();
        assert_eq!(name, "failing");
        for error in [Error::Device, Error::Limit] {
            let (made, name) = run(error, 0, true).unwrap();
            assert_eq!((name.as_str(), &made.digests), ("CPU, 1 thread", &good.digests));
            let stands = run(error, 0, false).err().unwrap();
            assert!(stands.to_string().contains("it burns"));
        }
        assert!(matches!(run(Error::Param, 0, true), Err(Error::Param(_))));
    }

    /// The film of the run that stands has every picture once, and a run that ends badly leaves none.
    #[test]
    fn the_film_starts_over_with_the_run() {
        let text = "schema = 1\nwidth = 40\nheight = 32\nspacing_m = 10\n[[stage]]\nkind = \"diamond_square\"\n\
                    relief_m = 100\n[[stage]]\nkind = \"droplets\"\nlifetime = 8\n";
        let recipe = Recipe::from_toml(text, "".as_ref(), "test").unwrap();
        let world = World::new(&recipe, None).unwrap();
        let console = Console::new(Cli::parse_from(["thalweg", "devices", "--threads", "1", "-q"]).options, &STOP);
        let folder = std::env::temp_dir().join(format!("thalweg-film-{}", std::process::id()));
        // `runs` counts from the making of the heights on: the first, fourth or no piece of work fails.
        let run = |runs: u32, replaceable| {
            let mut files = Files::default();
            files.make_folder(&folder).unwrap();
            let reel = Reel { frames: 5, longest: 20, animation: folder.join("a.apng"), folder: Some(folder.clone()) };
            let mut film = Film::new(&mut files, &reel, &recipe.output);
            let executor = Box::new(Failing { cpu: cpu(&console).unwrap(), runs, error: Error::Device });
            let ran = super::run(&console, Opened { executor, replaceable }, &recipe, &world, Some(&mut film));
            let stored = ran.and_then(|(made, _)| Ok((made.digests, film.finish()?)));
            (stored, std::fs::read_dir(&folder).unwrap().count(), files)
        };
        let (good, count, files) = run(2, true);
        let (digests, films) = good.unwrap();
        assert_eq!((films.len(), count), (6, 6));
        drop(files);
        assert!(!folder.exists());
        for failing in [0, 1u32.wrapping_sub(4)] {
            let (again, count, files) = run(failing, true);
            assert_eq!((again.unwrap(), count), ((digests.clone(), films.clone()), 6));
            drop(files);
            let (failed, ..) = run(failing, false);
            assert!(failed.err().unwrap().to_string().contains("it burns"));
            assert!(!folder.exists());
        }
    }

    #[test]
    fn devices_are_told_apart() {
        let named = |text: &str| text.parse::<Device>().unwrap();
        assert_eq!([named("auto"), named("cpu"), named("gpu")], [Device::Auto, Device::Cpu, Device::Gpu]);
        assert_eq!([named("1"), named("rtx")], [Device::Index(1), Device::Name("rtx".into())]);
        assert!("".parse::<Device>().is_err());
        let kinds = |kinds: &[&str]| kinds.iter().map(|k| serde_json::json!({ "kind": k })).collect::<Vec<_>>();
        assert_eq!(automatic(&kinds(&["Cpu"])), None);
        assert_eq!(automatic(&kinds(&["Cpu", "DiscreteGpu"])), Some(1));
    }
}
