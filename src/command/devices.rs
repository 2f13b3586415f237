//! `thalweg devices`: what there is to compute on.

use super::console::{Console, bytes};
use super::device::{adapters, automatic, cpu};
use clap::Args;
use serde_json::json;
use thalweg::Result;
use thalweg::exec::Executor;
use thalweg::params::Settings;
use thalweg::plan::{Site, Window};
use thalweg::stage::STAGES;

/// List the graphics adapters and the CPU
#[derive(Args)]
#[command(after_help = "Example: thalweg devices --json")]
pub struct Arguments {}

pub fn main(console: &Console, _: &Arguments) -> Result<bool> {
    let adapters = adapters();
    let auto = automatic(&adapters);
    let cpu = cpu(console)?;
    let threads = cpu.pool().current_num_threads();
    let sized: Vec<_> = adapters
        .iter()
        .map(|a| {
            let mut a = a.clone();
            let limit = |key: &str| a[key].as_u64().unwrap_or_default();
            a["map_side_max"] = json!(side_max(limit("binding_max_bytes").min(limit("buffer_max_bytes"))));
            a
        })
        .collect();
    let auto_json = auto.map_or(json!("cpu"), |i| json!(i));
    console.result(
        || json!({ "auto": auto_json, "cpu": { "name": cpu.name(), "threads": threads }, "adapters": sized }),
        || {
            let mut text = String::new();
            for (i, a) in adapters.iter().enumerate() {
                let word = |key: &str| a[key].as_str().unwrap_or_default().to_string();
                let number = |key: &str| a[key].as_u64().unwrap_or_default();
                let mark = if auto == Some(i) { "  <- auto" } else { "" };
                text += &format!("{i}: {} ({}, {}){mark}\n", word("name"), word("kind"), word("backend"));
                text += &format!("   driver {}\n", word("driver"));
                text += &format!(
                    "   binds {}, buffers of {}, {} buffers a pass, workgroups of {}\n",
                    bytes(number("binding_max_bytes")),
                    bytes(number("buffer_max_bytes")),
                    number("storage_buffers_max"),
                    number("workgroup_max")
                );
                let side = side_max(number("binding_max_bytes").min(number("buffer_max_bytes")));
                text += &format!("   maps up to {side} x {side} cells by its limits, if its memory holds them\n");
            }
            if adapters.is_empty() {
                text += "no graphics adapter: a Vulkan driver would bring one (Debian: mesa-vulkan-drivers)\n";
            }
            text + &format!("cpu: {}{}\n", cpu.name(), if auto.is_none() { "  <- auto" } else { "" })
        },
    )?;
    Ok(true)
}

/// Side of the largest square map of which every buffer of every stage, at its default settings, fits one binding.
fn side_max(limit_bytes: u64) -> u32 {
    let window = Window { origin: [0, 0], width: 1024, height: 1024 };
    let site = Site::bare(window, 1.0, 0);
    let widest = STAGES.iter().map(|stage| {
        let plan = (stage.plan)(&Settings::defaults(stage.params), &site);
        plan.largest().words as f64 * 4.0 / window.cells() as f64
    });
    let bytes_per_cell = widest.fold(4.0, f64::max);
    (limit_bytes as f64 / bytes_per_cell).sqrt().min(Window::SIDE_MAX as f64) as u32
}
