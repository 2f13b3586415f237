//! Rewrites recipes of the first schema.
#![no_main]

use thalweg::recipe::upgrade;
use thalweg_fuzz::text;

thalweg_fuzz::target!(256, |data| {
    let Some(text) = text(data) else { return };
    let Ok((written, _)) = upgrade(text) else { return };
    let again = upgrade(&written).expect("what was rewritten is a recipe");
    assert_eq!(again, (written, vec![]), "nothing is left to be rewritten");
});
