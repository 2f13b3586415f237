//! `thalweg devices`: what there is to compute on.

use super::console::{Console, bytes};
use clap::Args;
use serde_json::json;
use thalweg::device::automatic;
use thalweg::exec::{AdapterInfo, Executor};
use thalweg::params::Settings;
use thalweg::site::{Layer, Layers};
use thalweg::stage::{Stage, biomes, droplets, wind};
use thalweg::{Result, adapters};

/// List the graphics adapters and the CPU
#[derive(Args)]
#[command(after_help = "Example: thalweg devices --json")]
pub struct Arguments {}

pub fn main(console: &Console, _: &Arguments) -> Result<bool> {
    let adapters = adapters();
    let auto = automatic(&adapters);
    let cpu = console.device().cpu()?;
    let threads = cpu.threads();
    let sized: Vec<_> = adapters
        .iter()
        .map(|a| {
            let mut value = json!(a);
            value["map_side_max"] = sides_max(a)
                .into_iter()
                .map(|(what, side)| (what.to_string(), json!(side)))
                .collect();
            value
        })
        .collect();
    let auto_json = auto.map_or(json!("cpu"), |i| json!(i));
    console.result(
        || {
            json!({ "auto": auto_json, "cpu": { "name": cpu.name(), "threads": threads },
            "adapters": sized })
        },
        || {
            let mut text = String::new();
            for (i, a) in adapters.iter().enumerate() {
                let mark = if auto == Some(i) { "  <- auto" } else { "" };
                text += &format!("{i}: {} ({}, {}){mark}\n", a.name, a.kind, a.backend);
                text += &format!("   driver {}\n", a.driver);
                text += &format!(
                    "   binds {}, buffers of {}, {} buffers a pass, workgroups of {}\n",
                    bytes(a.binding_max_bytes),
                    bytes(a.buffer_max_bytes),
                    a.storage_buffers_max,
                    a.workgroup_max
                );
                let [(_, side), (_, ledger), (_, wind), (_, biomes)] = sides_max(a);
                text += &format!(
                    "   maps up to {side} x {side} cells by its limits, {ledger} x {ledger} with a \
                     ledger, about {wind} x {wind} with wind and {biomes} x {biomes} with biomes; \
                     its memory may hold less\n"
                );
            }
            if adapters.is_empty() {
                text += "no graphics adapter: a Vulkan driver would bring one (Debian: \
                         mesa-vulkan-drivers)\n";
            }
            text + &format!(
                "cpu: {}{}\n",
                cpu.name(),
                if auto.is_none() { "  <- auto" } else { "" }
            )
        },
    )?;
    Ok(true)
}

/// Sides of the largest square maps that bindings of a given size hold: droplets at their default
/// settings, alone and where a ledger is kept of what is loose, worn and laid down; and, about,
/// wind and biomes.
fn sides_max(a: &AdapterInfo) -> [(&'static str, u32); 4] {
    let bytes = a.binding_max_bytes.min(a.buffer_max_bytes);
    let side =
        |stage: &Stage, layers| stage.side_max(&Settings::defaults(stage.params), layers, bytes);
    let ledger = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    [
        ("droplets", side(&droplets::STAGE, Layers::NONE)),
        ("ledger", side(&droplets::STAGE, ledger)),
        ("wind", side(&wind::STAGE, ledger)),
        ("biomes", side(&biomes::STAGE, Layers::NONE)),
    ]
}
