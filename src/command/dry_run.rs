//! What a run would do, and what it would cost: in one piece, or by tiles.

use super::console::{Console, bytes, count, plural};
use super::summary::{tells, title};
use serde_json::json;
use std::path::PathBuf;
use thalweg::bundle::TimelapseOptions;
use thalweg::tiles::{Cost, LevelCost, Tiles};
use thalweg::{Job, Result, Window};

/// Prints the stages of a run in one piece, their memory and reach, and the files.
pub fn whole(
    console: &Console,
    job: &Job,
    paths: &[PathBuf],
    timelapse: Option<&TimelapseOptions>,
) -> Result<bool> {
    let device = job.device_name(&mut |warning| {
        console.warn(warning);
        Ok(())
    })?;
    job.admit_things()?;
    let (recipe, (window, scale)) = (job.recipe(), job.schedule().land());
    let plans: Vec<_> = job
        .schedule()
        .names()
        .zip(job.schedule().costs().into_iter().zip(job.schedule().counts()))
        .enumerate()
        .map(|(i, (name, ((bytes, _), (steps, passes))))| {
            (name, passes as usize, bytes, job.schedule().reach(i, steps as usize))
        })
        .collect();
    let water = job.schedule().water_bytes();
    let memory = plans.iter().map(|(_, _, bytes, _)| *bytes).chain(water).max().unwrap_or(0);
    let per_cell = memory as f64 / window.cells() as f64;
    console.result(
        || {
            let stage = |(i, (name, passes, bytes, reach)): (usize, &(&str, usize, u64, u64))| {
                let level = job.schedule().site(i).level;
                json!({ "stage": name, "level": level, "passes": passes, "bytes": bytes,
                    "reach_cells": reach })
            };
            let stages: Vec<_> = plans.iter().enumerate().map(stage).collect();
            json!({
                "device": device, "name": recipe.name, "seed": recipe.seed, "width": window.width,
                "height": window.height,
                "spacing_m": scale.spacing_m, "stages": stages, "water_bytes": water,
                "bytes": memory, "bytes_per_cell": per_cell,
                "files": paths.iter().map(|p| p.to_string_lossy()).collect::<Vec<_>>(),
            })
        },
        || {
            let mut text = format!("{}\n{device}\n", title(job));
            let told =
                plans.iter().enumerate().filter(|(_, (name, passes, ..))| tells(name, *passes));
            for (i, (name, passes, size, reach)) in told {
                let (word, reach) = (plural(*passes as u64, "pass"), count(*reach, "cell"));
                let name = match (job.schedule().levels(), job.schedule().site(i).level) {
                    (1, _) => (*name).to_string(),
                    (_, level) => format!("{name}, level {level}"),
                };
                text += &format!(
                    "  {name:<24} {passes:>6} {word:<6}  {:>12}  reach up to {reach}\n",
                    bytes(*size)
                );
            }
            if let Some(water) = water {
                text += &format!("  {:<24} {:>6} {:<6}  {:>12}\n", "water", "", "", bytes(water));
            }
            text += &format!("memory {}, {per_cell:.1} bytes a cell\n", bytes(memory));
            // Numbered pictures are too many for a line each.
            let pictures = timelapse.and_then(|timelapse| timelapse.folder.as_deref());
            let numbered = |path: &&PathBuf| {
                pictures.is_some_and(|name| path.parent().is_some_and(|p| p.ends_with(name)))
            };
            for path in paths.iter().filter(|path| !numbered(path)) {
                text += &format!("{}\n", path.display());
            }
            let pictures: Vec<_> = paths.iter().filter(numbered).collect();
            if let [first, .., last] = pictures[..] {
                text += &format!("{} to {}\n", first.display(), last.display());
            }
            text
        },
    )?;
    Ok(true)
}

/// The device, and passes over cells that it does in a second.
pub fn pace(console: &Console, job: &Job, cost: &Cost, window: &Window) -> Result<(String, f64)> {
    let mut device = String::new();
    let finest = cost.levels.first().map_or(0, |level| level.level);
    let pace = job.with_device(&mut |warning| console.warn(warning), &mut |executor| {
        device = executor.name();
        Tiles::pace(job, finest, window, executor)
    })?;
    Ok((device, pace))
}

/// Prints the tiles over a window: halos, memory, and the work that halos cost.
pub fn by_tiles(console: &Console, job: &Job, cost: &Cost, window: &Window) -> Result<bool> {
    let (device, pace) = pace(console, job, cost, window)?;
    let seconds = cost.work() / pace;
    console.result(
        || {
            let level = |l: &LevelCost| {
                json!({
                    "level": l.level, "slabs": l.slabs, "tiles": l.tiles, "halo_cells": l.halo,
                    "longest_cells": l.longest, "passes": l.passes,
                    "cells": l.cells, "worked_cells": l.worked, "bytes": l.bytes,
                })
            };
            json!({
                "width": window.width, "height": window.height, "tile_size": cost.cut.side(),
                "time_chunk": cost.cut.slab, "bytes": cost.bytes(), "redundant": cost.redundant(),
                "device": device, "expected_seconds": seconds,
                "levels": cost.levels.iter().map(level).collect::<Vec<_>>(),
            })
        },
        || {
            let level = |l: &LevelCost| {
                format!(
                    "  level {:2} {:>9}  halo {:>5} cells  {:>5} passes  {:>20}  {:>10}\n",
                    l.level,
                    count(l.tiles, "tile"),
                    l.halo,
                    l.passes,
                    more(l.worked / l.cells - 1.0),
                    bytes(l.bytes)
                )
            };
            let levels: String = cost.levels.iter().map(level).collect();
            format!(
                "{}: {} x {} cells in {}\n{levels}halos and what lies beyond the part: {}\n\
                 memory up to {}\nsome {} on {device}\n",
                job.recipe().name,
                window.width,
                window.height,
                cost.cut,
                more(cost.redundant()),
                bytes(cost.bytes()),
                duration(seconds)
            )
        },
    )?;
    Ok(true)
}

/// How much more work it is, for people: of a small part much more.
fn more(redundant: f64) -> String {
    if redundant < 10.0 {
        format!("{:.0} % more work", redundant * 100.0)
    } else {
        format!("{:.0} times the work", redundant + 1.0)
    }
}

/// A time that is known roughly.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{} s", s.ceil()),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}
