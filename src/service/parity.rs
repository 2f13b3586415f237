//! A check of each graphics adapter against the CPU, before its first job: one that differs is
//! named and not used.

use super::Service;
use crate::compare::Every;
use crate::device::{Device, adapters};
use crate::error::{Error, Result};
use crate::exec::{Adapter, AdapterInfo};
use crate::identity;
use crate::job::Job;
use crate::recipe::Recipe;
use crate::stage::STAGES;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Cells of a side of the lands that are compared.
const SIDE: u32 = 64;

/// The devices of the engine: the adapters that were asked for and that agree with the CPU, or else
/// the CPU.
pub fn devices(service: &Service) -> Vec<Device> {
    let all = adapters();
    let wanted: Vec<&AdapterInfo> = match &service.device.device {
        Device::Cpu => vec![],
        Device::Auto => all.iter().filter(|adapter| !adapter.is_software()).collect(),
        Device::Adapter(Adapter::Best) => all.iter().take(1).collect(),
        Device::Adapter(Adapter::Index(index)) => {
            all.iter().filter(|adapter| adapter.index == *index).collect()
        }
        Device::Adapter(Adapter::Name(name)) => all
            .iter()
            .filter(|adapter| adapter.name.to_lowercase().contains(&name.to_lowercase()))
            .take(1)
            .collect(),
    };
    let asked = matches!(service.device.device, Device::Adapter(_));
    if asked && wanted.is_empty() {
        tracing::error!(device = %service.device.device, "there is no such adapter; the CPU takes \
                                                          its place");
    }
    let agreeing = wanted.iter().filter(|adapter| agrees(service, adapter));
    let devices: Vec<Device> =
        agreeing.map(|adapter| Device::Adapter(Adapter::Index(adapter.index))).collect();
    if devices.is_empty() { vec![Device::Cpu] } else { devices }
}

/// The file of what was found, by adapter, driver and edition of thalweg.
fn file(service: &Service) -> PathBuf {
    service.store.root().join("parity.json")
}

/// Whether an adapter has the words of the CPU: as was found earlier, or as is found now.
fn agrees(service: &Service, adapter: &AdapterInfo) -> bool {
    let key = format!(
        "{}, {}, {}, thalweg {}",
        adapter.name,
        adapter.backend,
        adapter.driver,
        identity::engine()
    );
    let path = file(service);
    let mut known: Value = std::fs::read(&path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let found = match known[&key].as_object() {
        Some(_) => known[&key].clone(),
        None => {
            tracing::info!(adapter = key, "compared with the CPU before its first job");
            let found = match compare(service, adapter) {
                Ok(None) => json!({ "equal": true }),
                Ok(Some(difference)) => json!({ "equal": false, "difference": difference }),
                Err(e) => {
                    // A device that fails today may work tomorrow: nothing is kept.
                    tracing::error!(adapter = key, reason = %e, "cannot be compared with the CPU, \
                                                                 and is not used");
                    return false;
                }
            };
            if !known.is_object() {
                known = json!({});
            }
            known[&key] = found.clone();
            let new = path.with_extension("new");
            let kept =
                std::fs::write(&new, known.to_string()).and_then(|()| std::fs::rename(&new, &path));
            kept.unwrap_or_else(|e| tracing::warn!(reason = %e, "what was found is not kept"));
            found
        }
    };
    let equal = found["equal"] == true;
    if !equal {
        let difference = found["difference"].to_string();
        tracing::error!(
            adapter = key,
            difference,
            "has other words than the CPU, and is not used: please report it"
        );
    }
    equal
}

/// The first difference between an adapter and the CPU over lands that every stage has a part in.
fn compare(service: &Service, adapter: &AdapterInfo) -> Result<Option<String>> {
    for recipe in lands()? {
        let job = Job::new(recipe)?.device(Device::Adapter(Adapter::Index(adapter.index)));
        let job = job.workgroup_size(service.device.workgroup_size);
        let ending = service.ending.subscribe();
        let seen = job.compare(Every::Stage, &mut |_| {
            if *ending.borrow() { Err(Error::Cancelled) } else { Ok(()) }
        })?;
        for (stage, seen) in &seen.stages {
            if let Some(difference) = &seen.difference {
                return Ok(Some(format!("{stage}: {}", json!(difference))));
            }
        }
    }
    Ok(None)
}

/// Small lands: each stage that makes one, with all stages that can change it; and one from coarse
/// to fine.
fn lands() -> Result<Vec<Recipe>> {
    let land = |kinds: &[&str], levels: Option<u32>| {
        let stages: Vec<Value> = kinds.iter().map(|kind| json!({ "kind": kind })).collect();
        let mut recipe =
            json!({ "schema": 2, "width": SIDE, "height": SIDE, "spacing_m": 20, "stage": stages });
        if let Some(levels) = levels {
            recipe["levels"] = levels.into();
        }
        Recipe::from_value(&recipe, Path::new(""), "parity")
    };
    let mut lands = vec![];
    for maker in STAGES.iter().filter(|stage| stage.is_generator) {
        let mut kinds = vec![maker.name];
        // One maker carries all other stages, which are the same after any of them.
        if lands.is_empty() {
            for stage in STAGES.iter().filter(|stage| !stage.is_generator) {
                kinds.push(stage.name);
                // A stage that needs a file has no part.
                let whole = land(&kinds, None)
                    .is_ok_and(|recipe| recipe.stages.iter().all(|step| step.samples().is_none()));
                if !whole {
                    kinds.pop();
                }
            }
            let hosts = STAGES
                .iter()
                .filter(|stage| stage.hosts() && kinds.contains(&stage.name))
                .map(|stage| stage.name);
            lands.push(land(&[maker.name].into_iter().chain(hosts).collect::<Vec<_>>(), Some(2))?);
        }
        lands.push(land(&kinds, None)?);
    }
    Ok(lands)
}
