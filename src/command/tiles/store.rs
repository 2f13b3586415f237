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
    let open = |folder: &Path| {
        if !folder.is_dir() {
            return Err(Error::param(format!("{}: no such folder", folder.display())));
        }
        Store::open(folder, None)
    };
    match &a.command {
        StoreCommand::List { folder } => {
            let tiles = open(folder)?.list()?;
            let all: u64 = tiles.iter().map(|tile| tile.bytes).sum();
            console.result(
                || {
                    let tile = |tile: &Listed| {
                        let Window { origin, width, height } = tile.window;
                        let after = tile.after.as_ref().map(|after| {
                            json!({ "stage": after.stage,
                            "steps": after.done, "of": after.of })
                        });
                        json!({
                            "key": tile.key, "level": tile.level, "origin": origin, "width": width,
                            "height": height, "bytes": tile.bytes, "after": after,
                        })
                    };
                    json!({ "tiles": tiles.iter().map(tile).collect::<Vec<_>>(), "bytes": all })
                },
                || {
                    let line = |tile: &Listed| {
                        let Listed {
                            key,
                            level,
                            window: Window { origin: [x, y], width, height },
                            bytes: size,
                            after,
                        } = tile;
                        let after =
                            after.as_ref().map_or(String::new(), |after| format!("  {after}"));
                        format!(
                            "{}  level {level:2}  {width} x {height} from {x}, {y}  {}{after}\n",
                            &key[..16],
                            bytes(*size)
                        )
                    };
                    let lines: String = tiles.iter().map(line).collect();
                    format!("{lines}{}, {}\n", count(tiles.len() as u64, "tile"), bytes(all))
                },
            )?;
            Ok(true)
        }
        StoreCommand::Verify { folder } => {
            let checked = open(folder)?.verify()?;
            let names = |paths: &[PathBuf]| {
                paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
            };
            console.result(
                || {
                    json!({
                        "tiles": checked.tiles.0, "bytes": checked.tiles.1,
                        "damaged": names(&checked.damaged), "begun": names(&checked.begun),
                    })
                },
                || {
                    let damaged: String = names(&checked.damaged)
                        .iter()
                        .map(|path| format!("{path}: damaged\n"))
                        .collect();
                    let begun: String = names(&checked.begun)
                        .iter()
                        .map(|path| format!("{path}: begun and not ended\n"))
                        .collect();
                    format!(
                        "{damaged}{begun}{} whole, {}\n",
                        count(checked.tiles.0, "tile"),
                        bytes(checked.tiles.1)
                    )
                },
            )?;
            Ok(checked.damaged.is_empty())
        }
        StoreCommand::Prune { folder, to } => {
            let store = open(folder)?;
            let (gone, freed) = store.prune(*to)?;
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
    }
}
