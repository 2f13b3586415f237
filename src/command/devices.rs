//! `thalweg devices`: what there is to compute on.

use super::console::{Console, bytes};
use super::device::{adapters, automatic, cpu};
use clap::Args;
use serde_json::json;
use thalweg::Result;
use thalweg::exec::Executor;

/// List the graphics adapters and the CPU
#[derive(Args)]
#[command(after_help = "Example: thalweg devices --json")]
pub struct Arguments {}

pub fn main(console: &Console, _: &Arguments) -> Result<bool> {
    let adapters = adapters();
    let auto = automatic(&adapters);
    let cpu = cpu(console)?;
    let threads = cpu.pool().current_num_threads();
    let auto_json = auto.map_or(json!("cpu"), |i| json!(i));
    console.result(
        || json!({ "auto": auto_json, "cpu": { "name": cpu.name(), "threads": threads }, "adapters": adapters }),
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
                let side = number("map_side_max");
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
