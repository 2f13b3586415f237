//! Reads what stands behind the question mark of an address.
#![no_main]

use thalweg::api::preview::Wanted;
use thalweg::api::query::{Dungeon, Input, Job, Preview, Sheet, read};
use thalweg::api::sheet::Variants;
use thalweg::api::{files, recipes};
use thalweg_fuzz::text;

thalweg_fuzz::target!(64, |data| {
    let Some(text) = text(data) else { return };
    if let Ok(asked) = read::<Preview>(text) {
        let _ = Wanted::of(&asked);
    }
    if let Ok(asked) = read::<Sheet>(text) {
        let _ = Variants::of(&asked);
    }
    if let Ok(asked) = read::<Job>(text) {
        let _ = asked.frames();
    }
    if let Ok(asked) = read::<Input>(text) {
        if let Ok(extension) = files::extension(&asked.name) {
            assert!(!extension.contains(['/', '.']), "an extension is part of a path");
        }
    }
    let _ = read::<Dungeon>(text);
    let _ = recipes::Form::guess(data);
});
