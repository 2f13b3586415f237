//! What decides bytes beside a recipe is in the names of all that is kept (P3): see
//! `src/identity.rs`. The digests of what the host does are held by `vectors.rs`.

use thalweg::identity::{HOST, engine, of, shaders};
use thalweg::{Cancel, Device, Event, Job, Recipe, Snapshot};

fn recipe() -> Recipe {
    let text = "schema = 2\nwidth = 64\nheight = 64\nspacing_m = 10\n[[stage]]\nkind = \"noise\"\n\
                [[stage]]\nkind = \"thermal\"\nsteps = 3\n";
    Recipe::from_toml(text, "", "land").unwrap()
}

/// P3: a step of the host that changes is another edition, with the same version and the same
/// kernels.
#[test]
fn version_kernels_and_host_each_decide() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(engine(), of(version, &shaders(), HOST));
    assert!(engine().starts_with(version));
    // One digit of a digest of plans.
    let at = HOST.find("plans ").unwrap() + "plans ".len();
    let digit = if &HOST[at..=at] == "0" { "1" } else { "0" };
    let host = format!("{}{digit}{}", &HOST[..at], &HOST[at + 1..]);
    let others = [
        of(version, &shaders(), &host),
        of(version, &(shaders() + " "), HOST),
        of("9.9.9", &shaders(), HOST),
    ];
    others.iter().for_each(|other| assert_ne!(other, engine()));
}

/// P3: a snapshot of another edition is refused by its name, and is whole otherwise.
#[test]
fn snapshots_of_other_editions_are_refused_by_name() {
    let job = Job::new(recipe()).unwrap().device(Device::Cpu).cancel_by(Cancel::default());
    let mut bytes = vec![];
    job.run(&mut |event| match event {
        Event::Stage(after) if after.stage() == 0 => after.snapshot()?.write(&mut bytes),
        _ => Ok(()),
    })
    .unwrap();
    let snapshot = |bytes: &[u8]| Snapshot::read(&mut { bytes }).unwrap();
    assert!(Job::resume(recipe(), snapshot(&bytes)).is_ok());
    // The name that another edition would have written, and the digest of the file that has it.
    let at = bytes.windows(engine().len()).position(|part| part == engine().as_bytes()).unwrap();
    let other = engine().chars().rev().collect::<String>();
    bytes[at..at + other.len()].copy_from_slice(other.as_bytes());
    let end = bytes.len() - 32;
    let digest = *blake3::hash(&bytes[..end]).as_bytes();
    bytes[end..].copy_from_slice(&digest);
    let error = Job::resume(recipe(), snapshot(&bytes)).unwrap_err().to_string();
    assert!(
        error.contains(&other) && error.contains(engine()) && error.contains("make it anew"),
        "{error}"
    );
}

/// P3: tiles of another edition are not taken from a store, and those that are made instead are
/// kept beside them.
#[cfg(feature = "io")]
#[test]
fn tiles_of_other_editions_are_not_used() {
    use thalweg::tiles::{Store, Tile, Tiles};
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("identity-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let made = |edition: &str| {
        let job = Job::new(recipe()).unwrap();
        let mut tiles = Tiles::new(job, 64)
            .unwrap()
            .of_edition(edition)
            .stored_in(Store::open(&folder, None).unwrap());
        let tile = Tile { level: 0, slab: 0, x: 0, y: 0 };
        tiles.piece(tile, &mut crate::common::cpu()).unwrap();
        (tiles.key(tile).unwrap(), tiles.counts())
    };
    let (key, counts) = made(engine());
    assert_eq!((made(engine()), counts), ((key.clone(), [0, 1]), [1, 0]));
    let (other, counts) = made("0.1.0 of another host");
    assert_eq!((other != key, counts), (true, [1, 0]));
    assert_eq!(made(engine()), (key, [0, 1]));
    std::fs::remove_dir_all(&folder).unwrap();
}
