//! `thalweg compare`: checks a graphics adapter against the CPU, word for word.

use super::console::{Console, count, plural};
use super::files::{Files, refuse};
use super::run::{files_text, title};
use super::{device, quality, read_files, read_input, resize, size};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::compare::{Every, Outcome, compare};
use thalweg::exec::{Control, Executor};
use thalweg::io::encode_picture;
use thalweg::map::Map;
use thalweg::recipe::Recipe;
use thalweg::world::World;
use thalweg::{Error, Result, render};

/// Check a graphics adapter against the CPU, or erosion against the sequential algorithm
///
/// Runs a recipe on both and compares their memory word for word. Exits with 0 if all words are equal. At the first
/// difference it says where that is and exits with 1. `--device auto` means the best adapter, which may be a software one.
///
/// With `--quality` it compares how the terrain looks instead: statistics and pictures of the recipe's terrain before
/// erosion, after its droplets at several densities, and after the published sequential algorithm.
#[derive(Args)]
#[command(after_help = "Examples:\n  thalweg compare examples/mountains.toml --size 512 --device 0\n  \
                        thalweg compare --quality examples/mountains.toml --size 512 -o looks")]
pub struct Arguments {
    /// The recipe, TOML or JSON
    recipe: PathBuf,
    /// Size in place of the recipe's, in cells
    #[arg(long, value_name = "N or WxH", value_parser = size)]
    size: Option<(u32, u32)>,
    /// Seed in place of the recipe's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// When to compare: after each pass what it wrote, or after each stage what it leaves
    #[arg(long, value_enum, default_value = "pass")]
    every: When,
    /// Write a picture of the differences: red where the adapter's heights are higher, blue where lower, white where equal
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    quality: quality::Options,
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    Pass,
    Stage,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let mut recipe = Recipe::read(&a.recipe)?;
    recipe.seed = a.seed.unwrap_or(recipe.seed);
    if let Some(size) = a.size {
        resize(&mut recipe, size)?;
    }
    if a.quality.quality {
        return quality::main(console, &a.quality, &a.recipe, recipe);
    }
    if console.options.device == device::Device::Cpu {
        return Err(Error::param(
            "--device cpu: compare checks a graphics adapter against the CPU; name an adapter, or leave --device out".into(),
        ));
    }
    let files = Files::default();
    if let Some(path) = &a.picture {
        refuse(std::slice::from_ref(path), console.options.force)?;
        files.probe(path.parent().unwrap_or(Path::new("")))?;
    }
    let reading = read_input(console, &recipe)?;
    let mut world = World::new(&recipe, reading.as_ref().map(|r| &r.map))?;
    read_files(console, &mut world)?;
    let mut gpu = device::gpu(console, &console.options.device)?;
    let done = both(console, a, &recipe, &world, &mut *gpu, files);
    match done {
        // Closing a device that hangs would block forever.
        Err(Error::Device(_)) => std::mem::forget(gpu),
        _ => drop(gpu),
    }
    done
}

fn both(
    console: &Console,
    a: &Arguments,
    recipe: &Recipe,
    world: &World,
    gpu: &mut dyn Executor,
    mut files: Files,
) -> Result<bool> {
    let mut cpu = device::cpu(console)?;
    let every = match a.every {
        When::Pass => Every::Pass,
        When::Stage => Every::Stage,
    };
    let mut stages: Vec<(&str, Outcome)> = vec![];
    let mut progress = console.progress(recipe.stages.iter().map(|s| s.stage.name).collect());
    for (i, step) in recipe.stages.iter().enumerate() {
        let plan = world.plan(i);
        world.stock(i, &mut cpu)?;
        world.stock(i, gpu)?;
        cpu.admits(&plan)?;
        gpu.admits(&plan)?;
        let count = plan.passes.len();
        let mut note = |done| progress.at(i, done, count);
        let mut control = Control { stop: console.stop, progress: &mut note };
        let outcome = compare(&plan, [&mut cpu, &mut *gpu], every, &mut control)?;
        let differs = outcome.difference.is_some();
        stages.push((step.stage.name, outcome));
        if differs {
            break;
        }
    }
    drop(progress);
    let mut stored = vec![];
    if let Some(path) = &a.picture {
        stored.push(files.write(path, &encode_picture(&picture(world, &cpu.read("height")?, &gpu.read("height")?)?)?)?);
    }
    files.keep();

    let equal = stages.iter().all(|(_, o)| o.difference.is_none());
    let changed = stages.iter().any(|(_, o)| o.changed > 0);
    console.result(
        || {
            let stages: Vec<_> = stages
                .iter()
                .map(|(name, outcome)| {
                    let mut value = json!({ "stage": name });
                    if let (Some(value), Ok(serde_json::Value::Object(more))) =
                        (value.as_object_mut(), serde_json::to_value(outcome))
                    {
                        value.extend(more);
                    }
                    value
                })
                .collect();
            json!({ "devices": [cpu.name(), gpu.name()], "equal": equal, "changed": changed, "stages": stages })
        },
        || {
            let mut text = format!("{}\n{} against {}\n", title(recipe, world), cpu.name(), gpu.name());
            for (name, outcome) in &stages {
                text += &stage_text(name, outcome);
            }
            if equal && !changed {
                text += "nothing changed, so the comparison proves nothing\n";
            }
            text + &files_text(&stored)
        },
    )?;
    Ok(equal && changed)
}

fn stage_text(name: &str, outcome: &Outcome) -> String {
    if outcome.passes == 0 {
        return format!("{name}: no passes to run (no rain, or a map of one row or column)\n");
    }
    let mut text = format!("{name}: {}, {} compared: ", count(outcome.passes as u64, "pass"), count(outcome.words, "word"));
    match &outcome.difference {
        None => text += "equal\n",
        Some(d) => {
            let place = d.cell.map(|[x, y]| format!(" (column {x}, row {y})")).unwrap_or_default();
            text += &format!(
                "DIFFERENT\n  pass {}, {}: buffer {}, word {}{place}: {} on the CPU, {} on the adapter; {} in all\n",
                d.pass,
                d.kernel,
                d.buffer,
                d.word,
                d.values[0],
                d.values[1],
                count(d.count as u64, "word")
            );
        }
    }
    for t in &outcome.times {
        text += &format!(
            "  {:<16} {:>6} {:<6}  {:>8.3} s CPU  {:>8.3} s adapter\n",
            t.kernel,
            t.passes,
            plural(t.passes as u64, "pass"),
            t.seconds[0],
            t.seconds[1]
        );
    }
    text
}

/// A picture of where the adapter's heights differ.
fn picture(world: &World, cpu: &[i32], gpu: &[i32]) -> Result<thalweg::io::Picture> {
    let window = world.window();
    // In words, because metres in single precision could round a small difference away.
    let data = cpu.iter().zip(gpu).take(window.cells()).map(|(&a, &b)| (b as i64 - a as i64) as f32).collect();
    let b = Map { width: window.width, height: window.height, spacing_m: 1.0, data, range_m: None, georef: None };
    let a = Map { data: vec![0.0; b.data.len()], ..b.clone() };
    render::difference(&a, &b)
}
