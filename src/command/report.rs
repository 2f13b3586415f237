//! `thalweg report`: what runs here, and whether it makes the right words.

use super::console::Console;
use clap::Args;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::available_parallelism;
use thalweg::device::with;
use thalweg::exec::{Adapter, AdapterInfo, Executor};
use thalweg::vectors::{self, Checked, Differing};
use thalweg::{Device, Error, Result, adapters, identity};

/// Say which edition, system and devices these are, and whether each device makes the right words
///
/// Runs the fixed cases, small runs of every stage, and holds their words against those stored in
/// the program. The digest below a device is of the words of all cases: the same on every machine.
/// Put what it prints into a report of a fault. Takes seconds.
#[derive(Args)]
#[command(after_help = "\
Examples:
  thalweg report                 the CPU and every graphics adapter
  thalweg report --device cpu    the CPU alone
  thalweg report --json > report.json

Exits with 1 if a device made other words or failed.")]
pub struct Arguments {}

/// What became of the fixed cases on a device.
struct Tried {
    name: String,
    /// What it made of them, or why they did not run.
    outcome: Result<Checked>,
}

impl Tried {
    fn is_right(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|checked| checked.differing.is_empty())
    }

    fn json(&self) -> Value {
        let Self { name, outcome } = self;
        let mut value = json!({ "name": name });
        match outcome {
            Ok(Checked { cases, digest, differing }) => {
                value["cases"] = json!(cases);
                value["digest"] = json!(digest);
                let others = differing.iter().map(|Differing { name, made, stored }| {
                    json!({ "case": name, "made": made, "stored": stored })
                });
                value["differing"] = others.collect();
            }
            Err(error) => value["error"] = json!(error.to_string()),
        }
        value
    }

    fn text(&self) -> String {
        let Self { name, outcome } = self;
        let outcome = match outcome {
            Ok(Checked { cases, digest, differing }) if differing.is_empty() => {
                format!("all {cases} fixed cases have the right words\n   {digest}")
            }
            Ok(Checked { cases, digest, differing }) => {
                let mut text = format!(
                    "{} of {cases} fixed cases have other words\n   {digest}",
                    differing.len()
                );
                for Differing { name, made, stored } in differing {
                    let stored = stored.as_deref().unwrap_or("nothing");
                    text += &format!("\n   {name}: {made}, where {stored} is stored");
                }
                text
            }
            Err(error) => format!("the fixed cases did not run: {error}"),
        };
        format!("{name}\n   {outcome}\n")
    }
}

pub fn main(console: &Console, _: &Arguments) -> Result<bool> {
    let options = console.device();
    let adapters = adapters();
    let mut checked = vec![];
    if matches!(options.device, Device::Auto | Device::Cpu) {
        checked.push(check(console, None, || Ok(Box::new(options.cpu()?)))?);
    }
    let asked: Vec<Adapter> = match &options.device {
        Device::Auto => (0..adapters.len()).map(Adapter::Index).collect(),
        Device::Cpu => vec![],
        Device::Adapter(adapter) => vec![adapter.clone()],
    };
    for adapter in &asked {
        checked.push(check(console, adapter.of(&adapters), || options.gpu(adapter))?);
    }
    let cores = available_parallelism().map_or(0, usize::from);
    let vectors = vector_units();
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    let edition = identity::engine();
    console.result(
        || {
            json!({
                "version": version, "identity": edition, "system": system,
                "processor": processor, "big_endian": cfg!(target_endian = "big"),
                "vector_units": vectors, "cores": cores,
                "devices": checked.iter().map(Tried::json).collect::<Vec<_>>(),
            })
        },
        || {
            let units = vectors.iter().map(|unit| format!(" with {unit}")).next_back();
            let mut text = format!(
                "thalweg {version}, identity {edition}\n{system} on {processor}{}, {cores} cores\n",
                units.unwrap_or_default()
            );
            checked.iter().for_each(|device| text += &device.text());
            text
        },
    )?;
    Ok(checked.iter().all(Tried::is_right))
}

/// Runs the fixed cases on a device. That it fails is a part of the report; what ends the report is
/// an interruption, or a device that was asked for by name and is not there.
fn check(
    console: &Console,
    adapter: Option<&AdapterInfo>,
    open: impl FnOnce() -> Result<Box<dyn Executor>>,
) -> Result<Tried> {
    let mut name =
        adapter.map(|info| format!("{} ({})", info.name, info.driver)).unwrap_or_default();
    let run = || {
        let executor = open()?;
        console.note(format!("{}: the fixed cases", executor.name()));
        name = executor.name();
        let mut each = || console.check();
        with(executor, |executor| vectors::check(executor, vectors::DIGESTS, &mut each))
    };
    // A driver may bring its library to panic.
    let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Error::device("the driver's library panicked: its message is on stderr"))
    });
    match outcome {
        Err(error @ (Error::Cancelled | Error::Param(_))) => Err(error),
        Err(error) if name.is_empty() => Err(error),
        outcome => Ok(Tried { name, outcome }),
    }
}

/// Vector units of this processor that kernels are compiled for, the narrowest first.
fn vector_units() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let units = [
        ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
        ("AVX-512", std::arch::is_x86_feature_detected!("avx512vl")),
    ];
    #[cfg(target_arch = "aarch64")]
    let units = [("NEON", true)];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let units: [(&'static str, bool); 0] = [];
    units.into_iter().filter(|unit| unit.1).map(|unit| unit.0).collect()
}
