//! What one machine writes, another reads: the files of a run, a snapshot, and a store of tiles.
//! `tests/processors` has this machine write and the others read.

use crate::common::cpu;
use crate::vectors::every_map;
use std::path::{Path, PathBuf};
use thalweg::bundle::verify;
use thalweg::io::{self, ReadOptions};
use thalweg::map::Samples;
use thalweg::site::Window;
use thalweg::tiles::{Store, Tiles};
use thalweg::{Event, Folder, Job, Memory, Outcome, Recipe, Snapshot};

const STAGE: usize = 3;
const WINDOW: Window = Window { origin: [0, 0], width: 128, height: 112 };
/// Things, and the files of a program, with the shapes of these.
const MORE: &str = r#"program = "blender"
[[scatter]]
name = "trees"
distance_m = 40
[[scatter]]
name = "rocks"
distance_m = 60
shape = "rock"
"#;

/// Every kind of map, with things, a program's files and a picture.
fn every_file() -> Recipe {
    let mut recipe = every_map(MORE);
    recipe.output.preview = true;
    recipe
}

/// Writes the files of a run, a snapshot after one of its stages, and tiles into a folder.
fn write(folder: &Path, job: &Job) {
    let mut sink = Folder::for_bundle(folder.join("run"), true);
    job.run_into(&mut sink, None, &mut |event| match event {
        Event::Stage(after) if after.stage() == STAGE => {
            let mut file = std::fs::File::create(folder.join("snapshot")).unwrap();
            after.snapshot()?.write(&mut file)
        }
        _ => Ok(()),
    })
    .unwrap();
    tiles(folder);
}

/// The heights of a land from the tiles of a store, and how many were made and how many found.
fn tiles(folder: &Path) -> (Vec<i32>, [u64; 2]) {
    let land = "schema = 2\nwidth = 128\nheight = 112\nspacing_m = 20\nlevels = 2\n[[stage]]\n\
                kind = \"hills\"\n[[stage]]\nkind = \"droplets\"\nlifetime = 6\n";
    let land = Recipe::from_toml(land, "", "tiles").unwrap();
    let store = Store::open(folder.join("store"), None).unwrap();
    let mut tiles = Tiles::new(Job::new(land).unwrap(), 64).unwrap().stored_in(store);
    let height = thalweg::field::find("height").unwrap();
    (tiles.words(0, WINDOW, height, &mut cpu()).unwrap(), tiles.counts())
}

/// Reads what is in a folder, and compares it with what this machine makes.
fn read(folder: &Path, job: &Job) {
    let land = job.run(&mut |_| Ok(())).unwrap();
    let run = folder.join("run");
    let files = verify(&run).unwrap();
    assert!(files.len() > 25 && files.iter().all(|file| file.fault.is_none()), "{files:?}");
    let mut own = Memory::default();
    job.run_into(&mut own, None, &mut |_| Ok(())).unwrap();
    assert!(own.files.len() > files.len(), "{:?}", own.files.keys());
    for (name, bytes) in &own.files {
        assert!(std::fs::read(run.join(name)).unwrap() == *bytes, "{name} has other bytes");
    }
    let exact = land.names().filter(|name| reads_exactly(&run, &land, name)).count();
    assert!(exact >= 12, "{exact} maps were read");

    let mut snapshot = std::fs::File::open(folder.join("snapshot")).unwrap();
    let resumed = Job::resume(every_file(), Snapshot::read(&mut snapshot).unwrap()).unwrap();
    let resumed = resumed.device(thalweg::Device::Cpu).run(&mut |_| Ok(())).unwrap();
    for name in land.names() {
        assert_eq!(resumed.words(name).unwrap(), land.words(name).unwrap(), "{name}");
    }

    let (words, [made, found]) = tiles(folder);
    assert!(made == 0 && found > 0, "{made} tiles were made, {found} were found");
    let alone = folder.with_extension("alone");
    let _ = std::fs::remove_dir_all(&alone);
    std::fs::create_dir(&alone).unwrap();
    assert_eq!(words, tiles(&alone).0);
    std::fs::remove_dir_all(&alone).unwrap();
}

/// Whether a map is in a format of floats, whose values are then those of the map.
fn reads_exactly(run: &Path, land: &Outcome, name: &str) -> bool {
    let file = ["tif", "exr", "npy", "r32"].map(|kind| run.join(format!("{name}.{kind}")));
    let Some(path) = file.iter().find(|path| path.exists()) else { return false };
    let options = ReadOptions { samples: Samples::Numbers, ..ReadOptions::default() };
    let Ok(reading) = io::read(path, &options) else { return false };
    assert_eq!(reading.map.data, land.map(name).unwrap().data, "{}", path.display());
    true
}

/// With `THALWEG_EXCHANGE`, a folder: files that are there already are read, and all are kept.
#[test]
fn what_one_machine_writes_another_reads() {
    let job = Job::new(every_file()).unwrap().device(thalweg::Device::Cpu);
    let given = std::env::var_os("THALWEG_EXCHANGE").map(PathBuf::from);
    let folder = given.clone().unwrap_or_else(|| {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exchange-{}", std::process::id()))
    });
    if !folder.join("run").exists() {
        std::fs::create_dir_all(&folder).unwrap();
        write(&folder, &job);
    }
    read(&folder, &job);
    if given.is_none() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
