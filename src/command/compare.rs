//! `thalweg compare`: checks a graphics adapter against the CPU, word for word.

use super::console::{Console, count, plural};
use super::summary::{files_text, tells, title};
use super::{Changes, InputOptions, compare_maps, looks, picture_path};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::compare::{Comparison, Every, StageComparison};
use thalweg::image::RgbImage;
use thalweg::io::{Files, encode_picture, refuse};
use thalweg::map::Map;
use thalweg::{Job, Result, render};

/// Check a graphics adapter against the CPU, or erosion against the sequential algorithm
///
/// Runs a recipe on both and compares their memory word for word. Exits with 0 if all words are
/// equal. At the first difference it says where that is and exits with 1. `--device auto` means the
/// best adapter, which may be a software one.
///
/// With `--quality` it compares how the terrain looks instead: statistics and pictures of the
/// recipe's terrain before erosion, after its droplets at several densities, and after the
/// published sequential algorithm.
///
/// With two maps or the folders of two runs it compares these, value by value, and exits with 1 if
/// they differ.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  thalweg compare examples/mountains.toml --size 512 --device 0\n  \
                  thalweg compare --quality examples/boulders.toml --size 513 -o looks\n  \
                  thalweg compare before/height.tif after/height.tif --picture change.png"
)]
pub struct Arguments {
    /// The recipe, TOML or JSON; or a map, or the folder of a run
    #[arg(value_name = "RECIPE or MAP or DIR")]
    recipe: PathBuf,
    /// Another map or folder: compare the two, value by value
    #[arg(value_name = "MAP or DIR", conflicts_with_all = ["seed", "every", "quality", "scale",
        "set"])]
    other: Option<PathBuf>,
    /// Seed in place of the recipe's
    #[arg(long, value_parser = super::seed, value_name = "N", help_heading = "Recipe")]
    seed: Option<u64>,
    /// When to compare: after each pass what it wrote, or after each stage what it leaves
    #[arg(long, value_enum, default_value = "pass")]
    every: When,
    /// Write a picture of the differences: red where the adapter's heights are higher, blue where
    /// lower, white where equal
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Height for samples of maps without a value; without it two maps are equal where neither has
    /// one
    #[arg(
        long,
        value_name = "METRES",
        allow_negative_numbers = true,
        requires = "other",
        help_heading = "Input"
    )]
    nodata: Option<f32>,
    /// The band of TIFFs that holds the values, counted from 1; needed where they have several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535),
        requires = "other", help_heading = "Input")]
    band: Option<u32>,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    quality: looks::Options,
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    Pass,
    Stage,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    a.picture.iter().try_for_each(|path| picture_path(path))?;
    if let Some(other) = &a.other {
        // Both are read alike, so what is assumed of them is no difference.
        let reading = InputOptions {
            size: a.changes.size,
            nodata: a.nodata,
            band: a.band,
            ..InputOptions::default()
        };
        return compare_maps::main(console, &reading, [&a.recipe, other], a.picture.as_ref());
    }
    let recipe = a.changes.read(&a.recipe, a.seed)?;
    if a.quality.quality {
        return looks::main(console, &a.quality, &a.recipe, recipe);
    }
    let mut files = Files::default();
    if let Some(path) = &a.picture {
        refuse(std::slice::from_ref(path), console.options.force)?;
        files.probe(path.parent().unwrap_or(Path::new("")))?;
    }
    let job = console.read(recipe)?;
    let every = match a.every {
        When::Pass => Every::Pass,
        When::Stage => Every::Stage,
    };
    let comparison = console.watch(&job, |watch| job.compare(every, watch))?;
    let mut stored = vec![];
    match (&a.picture, &comparison.heights) {
        (Some(path), Some(heights)) => {
            stored.push(files.write(path, &encode_picture(picture(&job, heights)?)?)?);
        }
        (Some(path), None) => console.warn(format!(
            "{}: not drawn, since the executors differ on a level before the last",
            path.display()
        )),
        (None, _) => {}
    }
    files.keep();

    let (equal, changed) = (comparison.is_equal(), comparison.has_changed());
    let Comparison { devices, stages, .. } = &comparison;
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
            json!({ "devices": devices, "equal": equal, "changed": changed, "stages": stages })
        },
        || {
            let mut text = format!("{}\n{} against {}\n", title(&job), devices[0], devices[1]);
            for (name, outcome) in
                stages.iter().filter(|(name, outcome)| tells(name, outcome.passes))
            {
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

fn stage_text(name: &str, outcome: &StageComparison) -> String {
    if outcome.passes == 0 {
        return format!("{name}: no passes to run (no rain, or a map of one row or column)\n");
    }
    let mut text = format!(
        "{name}: {}, {} compared: ",
        count(outcome.passes as u64, "pass"),
        count(outcome.words, "word")
    );
    match &outcome.difference {
        None => text += "equal\n",
        Some(d) => {
            let place = d.cell.map(|[x, y]| format!(" (column {x}, row {y})")).unwrap_or_default();
            text += &format!(
                "DIFFERENT\n  pass {}, {}: buffer {}, word {}{place}: {} on the CPU, {} on the \
                 adapter; {} in all\n",
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

/// Where the adapter's heights differ.
fn picture(job: &Job, [cpu, gpu]: &[Vec<i32>; 2]) -> Result<RgbImage> {
    let window = job.window();
    // Differences of words, because metres in single precision could round the smallest away.
    let data = cpu.iter().zip(gpu).map(|(&a, &b)| (b as i64 - a as i64) as f32).collect();
    let b = Map {
        width: window.width,
        height: window.height,
        spacing_m: 1.0,
        data,
        range_m: None,
        georef: None,
    };
    let a = Map { data: vec![0.0; b.data.len()], ..b.clone() };
    render::difference(&a, &b)
}
