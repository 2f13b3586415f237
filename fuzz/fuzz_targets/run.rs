//! Runs little lands: those that a service would admit, with all that they leave. A run that goes
//! on from a snapshot leaves the same.
#![no_main]

use thalweg::api::recipes::admit;
use thalweg::{Device, Event, Job, Memory, Recipe, Snapshot};
use thalweg_fuzz::text;

/// Most cells of a land with its margin, and most work, in steps of a cell.
const CELLS_MAX: u64 = 1 << 10;
/// See [`CELLS_MAX`].
const WORK_MAX: f64 = 1e5;

thalweg_fuzz::target!(512, |data| {
    let Some(recipe) = text(data).and_then(|text| text.parse::<Recipe>().ok()) else { return };
    if u64::from(recipe.window.width) * u64::from(recipe.window.height) > CELLS_MAX {
        return;
    }
    let Ok(job) = Job::new(recipe.clone()) else { return };
    if job.schedule().cells() > CELLS_MAX {
        return;
    }
    let costs = job.schedule().costs();
    if costs.iter().map(|(_, work)| work).sum::<f64>() > WORK_MAX || admit(&job, &costs).is_err() {
        return;
    }
    let job = job.device(Device::Cpu).threads(1);
    let (mut all, mut snapshot) = (Memory::default(), None);
    let ran = job.run_into(&mut all, None, &mut |event| {
        if let Event::Stage(after) = event {
            snapshot = Some(after.snapshot()?);
        }
        Ok(())
    });
    let (Ok(_), Some(snapshot)) = (ran, snapshot) else { return };
    let mut file = vec![];
    snapshot.write(&mut file).expect("memory takes all bytes");
    let read = Snapshot::read(&mut &file[..]).expect("what was written can be read");
    assert!(read == snapshot, "a snapshot comes back as it was");
    let job = Job::resume(recipe, read).expect("its own recipe resumes it");
    let mut again = Memory::default();
    job.device(Device::Cpu)
        .threads(1)
        .run_into(&mut again, None, &mut |_| Ok(()))
        .expect("what is left can be run");
    assert_eq!(
        all.files.keys().collect::<Vec<_>>(),
        again.files.keys().collect::<Vec<_>>(),
        "the same files"
    );
    assert!(all == again, "the same bytes");
});
