//! Reads recipes: one that is accepted, written and read again is the same.
#![no_main]

use thalweg::Recipe;
use thalweg::api::recipes::{Form, value};
use thalweg::api::text::toml;
use thalweg_fuzz::text;

thalweg_fuzz::target!(256, |data| {
    let Some(text) = text(data) else { return };
    let Ok(recipe) = text.parse::<Recipe>() else { return };
    let described = recipe.describe();
    let again: Recipe = described.to_string().parse().expect("what is described can be read");
    assert_eq!(again.describe(), described, "every setting comes back");
    let sent = value(text.as_bytes(), Form::guess(text.as_bytes()));
    if let Some(written) = sent.ok().as_ref().and_then(toml) {
        let again: Recipe = written.parse().expect("what is written as TOML can be read");
        assert_eq!(again.describe(), described, "TOML keeps every setting: {written}");
    }
});
