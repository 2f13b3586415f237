//! Reads snapshots whose digest is right, and resumes those of a known recipe.
#![no_main]

use std::sync::LazyLock;
use thalweg::{Device, Job, Recipe, Snapshot};
use thalweg_fuzz::{RECIPE, SNAPSHOT, sealed};

static KNOWN: LazyLock<Recipe> =
    LazyLock::new(|| RECIPE.parse().expect("the recipe of the targets can be read"));

thalweg_fuzz::target!(256, |data| {
    let Ok(snapshot) = Snapshot::read(&mut &sealed(SNAPSHOT, data)[..]) else { return };
    let mut file = vec![];
    snapshot.write(&mut file).expect("memory takes all bytes");
    let again = Snapshot::read(&mut &file[..]).expect("what was written can be read");
    assert!(again == snapshot, "a snapshot comes back as it was");
    if let Ok(job) = Job::resume(KNOWN.clone(), snapshot) {
        let _ = job.device(Device::Cpu).threads(1).run(&mut |_| Ok(()));
    }
});
