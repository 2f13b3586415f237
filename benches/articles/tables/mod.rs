//! The arguments of the articles' bench, and its tables. `tests/it/articles.rs` runs them, too.

mod biomes;
#[path = "../../common.rs"]
mod common;
mod device;
mod droplets;
mod measure;
#[path = "../../../src/command/probes.rs"]
#[allow(dead_code, reason = "its tables need the copy and the additions alone")]
mod probes;
mod snowballs;

use clap::{Parser, ValueEnum};
use measure::Bench;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use thalweg::Device;
use thalweg::exec::Executor;
use thalweg::image::RgbImage;
use thalweg::io::{Files, encode_picture};
use thalweg::{Error, Result};

/// Measure the tables that the articles print
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench articles --", max_term_width = 110)]
pub struct Arguments {
    /// Which table
    #[arg(value_enum)]
    table: Table,
    /// Rounds of each measurement; one with --quick
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "quick")]
    rounds: u32,
    /// Runs of biomes before those that count, 1 or more [default: 1]; the article has 16, and 128
    /// rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    warmup: Option<u32>,
    /// One round of the first values of each sweep: checks that the bench works; the figures mean
    /// little
    #[arg(long)]
    quick: bool,
    /// Draw the islands of snowballs side by side, or the figures of biomes; a file that exists is
    /// replaced
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// How the sequential loop of snowballs shares a change of height among four vertices [default:
    /// bilinear]
    #[arg(long, value_enum)]
    splat: Option<snowballs::Share>,
    /// The graphics adapter to measure as well as the CPU: auto (a hardware one, if there is one),
    /// cpu (none), gpu (the best one), or an adapter's number or part of its name
    #[arg(long, default_value = "auto")]
    device: Device,
    /// Print one JSON object; lines go to stderr as they are measured
    #[arg(long)]
    json: bool,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Table {
    /// Sweeps of the number, radius and lifetime of droplets and of the map size, after van der
    /// Veen
    Droplets,
    /// 0, 35 000, 50 000 and 100 000 snowballs on an island of 251 x 501 samples, after Talle
    Snowballs,
    /// Four methods of blending biomes, in nanoseconds per cell, after K.jpg
    Biomes,
}

/// Measures a table. Lines are printed as they are measured; what is left to print is returned.
pub fn run(arguments: &Arguments) -> Result<String> {
    let (json, text) = measured(arguments)?;
    Ok(if arguments.json { format!("{json}\n") } else { text })
}

/// Measures a table, and returns it as JSON and what is left to print of it as text.
pub fn measured(arguments: &Arguments) -> Result<(Value, String)> {
    let Arguments { table, quick, .. } = *arguments;
    if let Some(picture) = &arguments.picture {
        if table == Table::Droplets {
            return Err(Error::param("--picture: allowed with snowballs and biomes"));
        }
        let folder = picture.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Error::param(format!(
                "--picture {}: there is no folder {}",
                picture.display(),
                folder.display()
            )));
        }
    }
    if arguments.splat.is_some() && table != Table::Snowballs {
        return Err(Error::param("--splat: allowed with snowballs"));
    }
    if arguments.warmup.is_some() && table != Table::Biomes {
        return Err(Error::param("--warmup: allowed with biomes"));
    }
    let bench = Bench { rounds: if quick { 1 } else { arguments.rounds }, json: arguments.json };
    let mut executors = device::open(&arguments.device)?;
    let names: Vec<String> = executors.iter().map(|executor| executor.name()).collect();
    bench.note(names.join("\n"));
    let mut executors: Vec<&mut dyn Executor> =
        executors.iter_mut().map(|executor| &mut **executor as &mut dyn Executor).collect();
    let picture = arguments.picture.as_deref();
    let (mut json, text) = match table {
        Table::Droplets => droplets::table(&bench, &mut executors, quick)?.print(),
        Table::Snowballs => {
            snowballs::table(&bench, &mut executors, picture, arguments.splat.unwrap_or_default())?
                .print()
        }
        Table::Biomes => (
            biomes::table(&bench, &mut executors, quick, picture, arguments.warmup.unwrap_or(1))?,
            String::new(),
        ),
    };
    (json["devices"], json["rounds"]) = (json!(names), json!(bench.rounds));
    Ok((json, text))
}

/// Writes a picture, in place of the file that may be there.
fn store(path: &Path, picture: RgbImage) -> Result<()> {
    let mut files = Files::default();
    files.write(path, &encode_picture(picture)?)?;
    files.keep();
    Ok(())
}
