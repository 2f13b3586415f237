//! `thalweg devices` and `--device`: with a graphics adapter, and without a driver.

use super::{Folder, RECIPE, adapter, ran};
use serde_json::Value;
use std::process::Command;

/// Sets an environment in which no Vulkan driver is found.
fn without_driver(command: &mut Command) -> &mut Command {
    command.env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent")
}

// Other systems find drivers in other ways.
#[cfg(target_os = "linux")]
#[test]
fn without_a_driver_gpu_is_an_error_and_auto_is_the_cpu() {
    let folder = Folder::new("nodriver");
    folder.file("r.toml", RECIPE);
    let run = |line: &str| ran(without_driver(&mut folder.command(line)).output().unwrap());
    for device in ["gpu", "0", "llvmpipe"] {
        run(&format!("run r.toml -o a --device {device}"))
            .refused(2, &["no graphics adapter", "--device cpu"]);
    }
    run("compare r.toml").refused(2, &["no graphics adapter"]);
    assert_eq!(folder.list(""), ["r.toml"]);
    assert!(run("run r.toml -o auto").ok().stdout.contains("CPU"));
    folder.thalweg("run r.toml -o cpu --device cpu").ok();
    assert_eq!(folder.read("auto/manifest.json"), folder.read("cpu/manifest.json"));
    let devices: Value = serde_json::from_str(&run("devices --json").ok().stdout).unwrap();
    assert_eq!(devices["auto"], "cpu");
    assert_eq!(devices["adapters"], serde_json::json!([]));
}

/// A run writes the same files on the CPU and on the GPU, those of its water and its coast too.
/// Holds C26.
#[test]
fn gpu_and_cpu_write_the_same_files() {
    if !adapter("devices::gpu_and_cpu_write_the_same_files") {
        return;
    }
    let folder = Folder::new("gpu");
    let water = "[[stage]]\nkind = \"shore\"\nsea_level_m = 60\n[water]\nsea_level_m = 60\n\
                 channel_area_km2 = 0.004\nevaporation_mm = 900\n\
                 vectors = [\"geojson\", \"gpkg\"]\nsplines = [\"unreal\", \"godot\"]\n[output]\n\
                 maps = [\"height\", \"beach\", \
                 \"coast_distance\", \"water_depth\", \"drainage_area\", \"river_width\", \
                   \"basin\"]";
    let wet = RECIPE
        .replace("[output]\nmaps = [\"height\", \"flow\"]", water)
        .replace("\"png\"", "\"r32\"");
    folder.file("r.toml", RECIPE).file("w.toml", &wet);
    for recipe in ["w", "r"] {
        folder.thalweg(&format!("run {recipe}.toml -o cpu --device cpu --force")).ok();
        folder.thalweg(&format!("run {recipe}.toml -o gpu --device gpu --force")).ok();
        assert_eq!(folder.list("cpu"), folder.list("gpu"));
        for name in folder.list("cpu") {
            assert_eq!(
                folder.read(&format!("cpu/{name}")),
                folder.read(&format!("gpu/{name}")),
                "{name}"
            );
        }
        if recipe == "w" {
            assert!(
                String::from_utf8_lossy(&folder.read("cpu/rivers.geojson")).contains("LineString"),
                "there are rivers"
            );
        }
    }
    // A dry run refuses what the run would refuse.
    for size in ["32767", "64"] {
        let line = format!(
            "run r.toml --size {size} --device gpu --set droplets.density=1 --set \
             diamond_square.world_cells=65536"
        );
        let [dry, wet] = [format!("{line} --dry-run"), format!("{line} -o big")]
            .map(|line| folder.thalweg(&line));
        match size {
            "64" => assert!(dry.ok().stdout.contains("memory") && wet.ok().code == Some(0)),
            _ => [dry, wet]
                .map(|ran| ran.refused(1, &["binds", "fits", "--device cpu"]))
                .into_iter()
                .for_each(drop),
        }
    }
    std::fs::remove_dir_all(folder.0.join("big")).unwrap();
    folder.thalweg("run r.toml -o x --device 99").refused(2, &["99", "0: "]);
    folder.thalweg("run r.toml -o x --device nonesuch").refused(2, &["nonesuch", "0: "]);
    assert_eq!(folder.list(""), ["cpu", "gpu", "r.toml", "w.toml"]);
}
