//! Reads tiles of a store whose digest is right.
#![no_main]

use std::sync::LazyLock;
use tempfile::TempDir;
use thalweg::tiles::Store;
use thalweg_fuzz::{KEY, TILE, folder, put, sealed};

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = folder();
    Store::open(folder.path(), None).expect("an empty folder becomes a store");
    std::fs::create_dir(folder.path().join(&KEY[..2])).expect("a target makes folders");
    folder
});

thalweg_fuzz::target!(256, |data| {
    let store = Store::open(FOLDER.path(), None).expect("the store is there");
    let inside = FOLDER.path().join(&KEY[..2]);
    put(&inside, &format!("{}.tile", &KEY[2..]), &sealed(TILE, data));
    store.list().expect("a store can be listed");
    let checked = store.verify().expect("a store can be checked");
    let Some(piece) = store.get(KEY).expect("a file can be read") else {
        return assert_eq!(checked.damaged.len(), 1, "what is not read is damaged");
    };
    assert!(checked.damaged.is_empty(), "what is read is whole");
    store.put(KEY, &piece).expect("what was read can be written");
    assert!(store.get(KEY).expect("a file can be read") == Some(piece), "it comes back as it was");
});
