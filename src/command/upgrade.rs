//! `thalweg upgrade`: recipes of an older schema in the names of today.

use super::console::Console;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use thalweg::io::Files;
use thalweg::recipe::upgrade;
use thalweg::{Error, Recipe, Result};

/// Rewrite recipes of schema 1 in the names of schema 2
///
/// Renames keys, words and maps in place, says which, and keeps comments and order. The run stays
/// the same. Files are all read before the first is written.
#[derive(Args)]
#[command(after_help = "Example: thalweg upgrade recipes/*.toml")]
pub struct Arguments {
    /// The recipes, TOML or JSON
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Say what would be renamed, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let read = |path| -> Result<(&PathBuf, String, Vec<String>)> {
        let text = Recipe::text_of(path)?;
        let (text, changes) = upgrade(&text).map_err(|e| Error::input(path, e))?;
        Ok((path, text, changes))
    };
    let all = a.files.iter().map(read).collect::<Result<Vec<_>>>()?;
    for (path, text, _) in all.iter().filter(|_| !a.dry_run) {
        let mut files = Files::default();
        files.write(path, text.as_bytes())?;
        files.keep();
    }
    console.result(
        || {
            let file = |(path, _, changes): &(&PathBuf, String, Vec<String>)| json!({ "file": path, "changes": changes });
            json!({ "written": !a.dry_run, "files": all.iter().map(file).collect::<Vec<_>>() })
        },
        || {
            let lines = all.iter().flat_map(|(path, _, changes)| {
                changes.iter().map(move |change| format!("{}: {change}\n", path.display()))
            });
            lines.collect()
        },
    )?;
    Ok(true)
}
