//! Level ground: the same height everywhere, on any lattice.

use crate::common::{cpu, made};
use thalweg::{Job, Recipe};

fn recipe(spacing: f64, height: f64) -> thalweg::Result<Recipe> {
    let text = format!(
        "schema = 2\nwidth = 9\nheight = 5\nspacing_m = {spacing}\n[[stage]]\nkind = \"flat\"\n\
         height_m = {height}\n"
    );
    Recipe::from_toml(&text, "", "flat")
}

#[test]
fn it_has_its_height_everywhere() {
    for (spacing, height) in [(20.0, 300.0), (0.5, -7.25), (1000.0, 0.0)] {
        let made = made(&recipe(spacing, height).unwrap(), &mut cpu());
        assert_eq!(made.maps["height"].data, [height as f32; 45]);
    }
}

#[test]
fn it_is_not_higher_than_heights_can_be() {
    let error = recipe(2.0, 16001.0).and_then(Job::new).unwrap_err().to_string();
    assert_eq!(
        error,
        "stage 1, flat: height_m = 16001 at spacing_m = 2: allowed up to 8000 cells, 16000 m, \
         either way"
    );
}
