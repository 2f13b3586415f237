//! Reads manifests, by which files are checked and those of an earlier run removed: never others
//! than those of the folder.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::TempDir;
use thalweg::bundle::{Folder, Sink, verify};
use thalweg_fuzz::{folder, put};

static ABOVE: LazyLock<TempDir> = LazyLock::new(folder);

thalweg_fuzz::target!(256, |data| {
    let inside: PathBuf = ABOVE.path().join("inside");
    std::fs::create_dir_all(&inside).expect("a target makes folders");
    put(ABOVE.path(), "height.tif", b"another's");
    put(&inside, "height.tif", b"an earlier run's");
    put(&inside, "manifest.json", data);
    for entry in verify(&inside).unwrap_or_default() {
        if entry.fault.is_none() {
            let found = inside.join(&entry.file).canonicalize().expect("it was there");
            let inside = inside.canonicalize().expect("it is there");
            assert!(found.starts_with(inside), "{} lies elsewhere", entry.file);
        }
    }
    let mut folder = Folder::for_bundle(&inside, true);
    let begun = folder.begin().and_then(|()| folder.clear(&[]));
    for removed in begun.unwrap_or_default() {
        assert_eq!(removed.parent(), Some(&*inside), "only files of the folder are removed");
    }
    assert!(ABOVE.path().join("height.tif").exists(), "files beside the folder stay");
});
