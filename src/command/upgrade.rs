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
/// the same. Files that have schema 2 stay as they are. All are read before the first is written.
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
    for (path, text, changes) in &all {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let read = if extension.eq_ignore_ascii_case("json") {
            Recipe::from_json(text, "", "")
        } else {
            Recipe::from_toml(text, "", "")
        };
        // A warning and no error: what is wrong was so before, and the new names are right all the
        // same.
        if let Err(e) = read {
            console.warn(format!(
                "{}: it has the names of schema 2, and is still refused: {e}",
                path.display()
            ));
        }
        if a.dry_run || changes.is_empty() {
            continue;
        }
        let mut files = Files::default();
        files.write(path, text.as_bytes())?;
        files.keep();
    }
    console.result(
        || {
            let file = |(path, _, changes): &(&PathBuf, String,
                Vec<String>)| json!({ "file": path, "changes": changes });
            json!({ "written": !a.dry_run, "files": all.iter().map(file).collect::<Vec<_>>() })
        },
        || {
            let lines = all.iter().flat_map(|(path, _, changes)| {
                changes.iter().map(move |change| format!("{}: {change}\n", path.display()))
            });
            let done = all.iter().filter(|(.., changes)| changes.is_empty()).map(|(path, ..)| {
                format!("{}: has schema 2 already\n", path.display())
            });
            lines.chain(done).collect()
        },
    )?;
    Ok(true)
}
