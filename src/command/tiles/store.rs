//! `thalweg tiles --list` and the commands of a store.

use super::super::console::{Console, bytes, count};
use super::size;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::tiles::{Listed, Store};
use thalweg::{Error, Result, Window};

/// Look after a store of tiles
#[derive(Args)]
pub struct StoreArguments {
    #[command(subcommand)]
    pub(super) command: StoreCommand,
}

#[derive(Subcommand)]
pub(super) enum StoreCommand {
    /// Print the tiles: key, level, place, size, and of a state between two slabs how many steps
    /// are done
    List {
        /// The store
        folder: PathBuf,
    },
    /// Read every tile and check its digest; exits with 1 if one is damaged
    Verify {
        /// The store
        folder: PathBuf,
    },
    /// Remove the tiles that were used longest ago, until the others have at most this many bytes
    Prune {
        /// The store
        folder: PathBuf,
        /// Bytes that may be left, such as 10G
        #[arg(long, value_name = "BYTES", value_parser = size)]
        to: u64,
    },
}

pub fn store(console: &Console, a: &StoreArguments) -> Result<bool> {
    match &a.command {
        StoreCommand::List { folder } => list(console, &open(folder)?),
        StoreCommand::Verify { folder } => verify(console, &open(folder)?),
        StoreCommand::Prune { folder, to } => prune(console, &open(folder)?, *to),
    }
}

/// A store that is there: a new one would be made of a wrong path.
fn open(folder: &Path) -> Result<Store> {
    if !folder.is_dir() {
        return Err(Error::param(format!("{}: no such folder", folder.display())));
    }
    Store::open(folder, None)
}

fn list(console: &Console, store: &Store) -> Result<bool> {
    let tiles = store.list()?;
    let all: u64 = tiles.iter().map(|tile| tile.bytes).sum();
    let entry = |tile: &Listed| {
        let Window { origin, width, height } = tile.window;
        let after = tile
            .after
            .as_ref()
            .map(|after| json!({ "stage": after.stage, "steps": after.done, "of": after.of }));
        json!({
            "key": tile.key, "level": tile.level, "origin": origin, "width": width,
            "height": height, "bytes": tile.bytes, "after": after,
        })
    };
    let line = |tile: &Listed| {
        let Window { origin: [x, y], width, height } = tile.window;
        let after = tile.after.as_ref().map_or(String::new(), |after| format!("  {after}"));
        format!(
            "{}  level {:2}  {width} x {height} from {x}, {y}  {}{after}\n",
            &tile.key[..16],
            tile.level,
            bytes(tile.bytes)
        )
    };
    console.result(
        || json!({ "tiles": tiles.iter().map(entry).collect::<Vec<_>>(), "bytes": all }),
        || {
            let lines: String = tiles.iter().map(line).collect();
            format!("{lines}{}, {}\n", count(tiles.len() as u64, "tile"), bytes(all))
        },
    )?;
    Ok(true)
}

fn verify(console: &Console, store: &Store) -> Result<bool> {
    let checked = store.verify()?;
    let names =
        |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let (damaged, begun) = (names(&checked.damaged), names(&checked.begun));
    let (tiles, size) = checked.tiles;
    console.result(
        || json!({ "tiles": tiles, "bytes": size, "damaged": damaged, "begun": begun }),
        || {
            let lines = |paths: &[String], what: &str| -> String {
                paths.iter().map(|path| format!("{path}: {what}\n")).collect()
            };
            format!(
                "{}{}{} whole, {}\n",
                lines(&damaged, "damaged"),
                lines(&begun, "begun and not ended"),
                count(tiles, "tile"),
                bytes(size)
            )
        },
    )?;
    Ok(damaged.is_empty())
}

fn prune(console: &Console, store: &Store, to: u64) -> Result<bool> {
    let (gone, freed) = store.prune(to)?;
    let (left, size) = store.size()?;
    console.result(
        || json!({ "removed": gone, "freed": freed, "tiles": left, "bytes": size }),
        || {
            format!(
                "{} removed, {}; {} left, {}\n",
                count(gone, "tile"),
                bytes(freed),
                count(left, "tile"),
                bytes(size)
            )
        },
    )?;
    Ok(true)
}
