//! `thalweg info`: what a map's file holds.

use super::InputOptions;
use super::console::{Console, count};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use thalweg::Result;
use thalweg::params::rounded;

/// Say what a map's file holds: size, spacing, heights, place on Earth
#[derive(Args)]
#[command(after_help = "Example: thalweg info land.tif --json")]
pub struct Arguments {
    /// The maps; - for standard input
    #[arg(required = true)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    reading: InputOptions,
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let (mut texts, mut values, mut all) = (String::new(), vec![], true);
    for path in &a.input {
        // Samples without a value are counted here, and no error.
        let options = InputOptions { nodata: a.reading.nodata.or(Some(0.0)), ..a.reading.clone() };
        let reading = match options.quietly(path, false) {
            Ok(reading) => reading,
            // Of several files the others are told.
            Err(e) if a.input.len() > 1 => {
                console.check()?;
                console.error(&e);
                all = false;
                continue;
            }
            Err(e) => return Err(e),
        };
        let (map, missing) = (&reading.map, &reading.missing);
        // What stands in for missing values has no part in the lowest, the highest and the mean.
        let filled = |i: &usize| a.reading.nodata.is_none() && missing.binary_search(i).is_ok();
        let known =
            || map.data.iter().enumerate().filter(|(i, _)| !filled(i)).map(|(_, v)| f64::from(*v));
        let (low, high) = known()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let cells = known().count();
        let mean = known().sum::<f64>() / cells.max(1) as f64;
        let place = map.georef.as_ref().map(|g| {
            let (east, south) = (
                g.west + g.cell.0 * f64::from(map.width),
                g.north - g.cell.1 * f64::from(map.height),
            );
            (g.name(), [g.west, south, east, g.north])
        });
        // What stands in for what the file does not hold is no warning here.
        let warnings: Vec<&String> = reading
            .warnings
            .iter()
            .filter(|w| a.reading.nodata.is_some() || !w.contains(" set to 0 m"))
            .collect();
        values.push(json!({
            "file": path.to_string_lossy(), "width": map.width, "height": map.height,
            "spacing_m": map.spacing_m,
            "min": low, "max": high, "mean": mean, "missing": missing.len(), "range_m": map.range_m,
            "crs": place.as_ref().and_then(|(name, _)| name.clone()),
            "bounds": place.as_ref().map(|(_, bounds)| bounds),
            "warnings": warnings,
        }));
        texts += &format!(
            "{}\n  {} x {} samples, {} m apart\n",
            path.display(),
            map.width,
            map.height,
            map.spacing_m
        );
        texts += &match cells {
            0 => "  no sample has a value\n".into(),
            _ => format!("  {} to {}, mean {}\n", rounded(low), rounded(high), rounded(mean)),
        };
        if let Some((low, high)) = map.range_m {
            texts += &format!(
                "  0 to the highest integer stand for {} to {}\n",
                rounded(low),
                rounded(high)
            );
        }
        if !missing.is_empty() {
            texts += &format!("  {} without a value\n", count(missing.len() as u64, "sample"));
        }
        if let Some((name, [west, south, east, north])) = &place {
            let name = name.as_deref().unwrap_or("an unnamed coordinate system");
            texts += &format!("  {name}: west {west}, south {south}, east {east}, north {north}\n");
        }
        warnings.iter().for_each(|warning| texts += &format!("  {warning}\n"));
    }
    console.result(|| values.into(), || texts)?;
    Ok(all)
}
