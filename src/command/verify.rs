//! `thalweg verify`: whether the files of a run are what its manifest says.

use super::console::{Console, count};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use thalweg::Result;

/// Check the files of a run against the digests of its manifest
///
/// Exits with 0 if all are as they were written, and with 1 if one is missing or changed.
#[derive(Args)]
#[command(after_help = "Example: thalweg verify out/island")]
pub struct Arguments {
    /// The folder
    folder: PathBuf,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let checked = thalweg::bundle::verify(&a.folder)?;
    let wrong: Vec<_> =
        checked.iter().filter_map(|c| c.fault.as_ref().map(|fault| (&c.file, fault))).collect();
    console.result(
        || {
            let faults: Vec<_> =
                wrong.iter().map(|(file, fault)| json!({ "file": file, "fault": fault })).collect();
            json!({ "files": checked.len(), "faults": faults })
        },
        || {
            let faults: String =
                wrong.iter().map(|(file, fault)| format!("{file}: {fault}\n")).collect();
            match wrong.len() {
                0 => format!("{}, all as the manifest says\n", count(checked.len() as u64, "file")),
                n => format!(
                    "{faults}{n} of {} not as the manifest says\n",
                    count(checked.len() as u64, "file")
                ),
            }
        },
    )?;
    Ok(wrong.is_empty())
}
