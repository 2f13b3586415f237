//! Changes recipes by lines such as `droplets.rain=4`.
#![no_main]

use std::sync::LazyLock;
use thalweg::Recipe;
use thalweg_fuzz::text;

static RECIPE: LazyLock<Recipe> = LazyLock::new(|| {
    include_str!("../../examples/game-small.toml").parse().expect("an example can be read")
});

thalweg_fuzz::target!(256, |data| {
    let Some(text) = text(data) else { return };
    let mut recipe = RECIPE.clone();
    text.lines().for_each(|line| drop(recipe.set(line)));
    if recipe.check().is_err() {
        return;
    }
    let described = recipe.describe();
    let again: Recipe = described.to_string().parse().expect("what is described can be read");
    assert_eq!(again.describe(), described, "every setting comes back");
});
