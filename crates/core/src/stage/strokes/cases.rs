//! The cases for the tests of all stages.

use crate::picture::{Picture, Pictures};
use crate::site::{Layer, Layers};
use crate::stage::Case;
use crate::stage::Surface::{Flat, Hills, Noise};
use crate::stage::case::case;
use serde_json::{Value as Json, json};

/// The pictures that the cases stamp.
pub fn pictures() -> Pictures {
    let picture = |width: u32, height: u32, word: fn(u32, u32) -> u32| {
        let words =
            (0..width * height).map(|i| word(i % width, i / width).min(65536) as i32).collect();
        Picture::new(width, height, words).into()
    };
    [
        ("bumps", picture(7, 5, |x, y| (x * 29_989 + y * 17_713) % 65537)),
        ("ramp", picture(2, 3, |x, y| x * 40_000 + y * 12_768)),
        ("fine", picture(300, 200, |x, y| (x * x + y * y * 3) % 65537)),
    ]
    .into_iter()
    .map(|(name, picture)| (name.to_string(), picture))
    .collect()
}

/// A column so far to the west that its number does not fit 32 bits.
const FAR: i64 = -(1 << 40);

pub(super) fn cases() -> Vec<Case> {
    let all = Layers::ALL;
    let painted = Layers::of(&[Layer::Hardness, Layer::Vegetation]);
    vec![
        case("heights", Hills, [0, 0], [90, 75]).with("stroke", heights()),
        case("stamps", Hills, [0, 0], [90, 70]).with("stroke", stamps()).with_layers(painted),
        case("smooth", Noise, [FAR, 77], [61, 47]).with("stroke", smoothing()),
        case("water", Hills, [-3, 5], [83, 71]).with("stroke", water()),
        case("layers", Flat, [0, 0], [41, 37]).with("stroke", layers()),
        case("repainted", Noise, [0, 0], [40, 40]).with("stroke", repainted()).with_layers(all),
    ]
}

/// Strokes on the ground, with each tool that needs nothing else.
fn heights() -> Vec<Json> {
    vec![
        json!({ "tool": "raise", "at_m": [[100, 120], [500, 200, 0.3], [440, 600]],
            "radius_m": 145, "amount_m": 300 }),
        json!({ "tool": "lower", "at_m": [[700, 400]], "radius_m": 90, "amount_m": 120,
            "falloff": 0 }),
        json!({ "tool": "noise", "at_m": [[200, 700], [900, 500]], "radius_m": 250,
            "amount_m": 60, "feature_m": 110, "falloff": 0.4 }),
        json!({ "tool": "flatten", "at_m": [[600, 100], [610, 100]], "radius_m": 120,
            "height_m": 45, "strength": 0.7 }),
        json!({ "tool": "ramp", "at_m": [[50, 50], [800, 750]], "radius_m": 50,
            "height_m": [-100, 400], "falloff": 0.5 }),
        json!({ "tool": "raise", "at_m": [[-5000, -5000], [-4000, -5000]], "radius_m": 200,
            "amount_m": 300 }),
    ]
}

/// Stamps, one too small and one off the map, and a stroke between them.
fn stamps() -> Vec<Json> {
    vec![
        json!({ "tool": "stamp", "file": "bumps",
            "at_m": [[300, 200], [420, 260, 0.6], [425, 260]], "radius_m": 170,
            "amount_m": 250, "turn_deg": 33 }),
        json!({ "tool": "stamp", "file": "ramp", "at_m": [[650, 500]], "radius_m": 120,
            "amount_m": -80, "falloff": 0, "turn_deg": 90 }),
        json!({ "tool": "raise", "at_m": [[200, 600], [500, 640]], "radius_m": 80,
            "amount_m": 40 }),
        json!({ "tool": "stamp", "file": "fine", "at_m": [[200, 600]], "radius_m": 300,
            "amount_m": 90, "height_m": -20, "strength": 0.8, "turn_deg": -170.5,
            "falloff": 0.3 }),
        json!({ "tool": "stamp", "file": "bumps", "at_m": [[800, 100]], "radius_m": 10,
            "amount_m": 5000, "falloff": 0.1 }),
        json!({ "tool": "stamp", "file": "ramp", "layer": "rain", "at_m": [[500, 300]],
            "radius_m": 200, "amount": -0.9 }),
        json!({ "tool": "stamp", "file": "bumps", "layer": "hardness", "at_m": [[500, 300]],
            "radius_m": 200, "amount": 0.5, "value": 0.75 }),
        json!({ "tool": "stamp", "file": "bumps", "at_m": [[90000, 100]], "radius_m": 400,
            "amount_m": 50 }),
    ]
}

/// Lakes with and without an outlet, a shore and a depth, and rivers.
fn water() -> Vec<Json> {
    vec![
        json!({ "tool": "river", "at_m": [[-100, 60], [250, 200], [300, 420], [340, 800]],
            "height_m": [90, 60, 60, -20], "width_m": 4 }),
        json!({ "tool": "lake", "at_m": [[300, 300], [420, 260], [480, 400], [330, 460],
            [390, 350]], "level_m": 55, "depth_m": 30, "outlet_m": [560, 420] }),
        json!({ "tool": "lake", "at_m": [[650, 200]], "radius_m": 90, "level_m": -10,
            "shore_m": 0, "seed": 7 }),
        json!({ "tool": "lake", "at_m": [[700, 640]], "radius_m": 70, "level_m": 80000,
            "depth_m": 80000, "shore_m": 300, "outlet_m": [705, 640] }),
        json!({ "tool": "lake", "at_m": [[60, 640]], "radius_m": 40, "level_m": 0 }),
        // Above all hills: a rim and banks hold the water.
        json!({ "tool": "lake", "at_m": [[560, 130]], "radius_m": 50, "level_m": 900,
            "shore_m": 60, "falloff": 0 }),
        json!({ "tool": "river", "at_m": [[60, 400], [200, 600]], "height_m": [900, 700],
            "radius_m": 0 }),
        json!({ "tool": "river", "at_m": [[500, 600], [640, 600]], "height_m": [20, 20],
            "radius_m": 0, "width_m": 60 }),
    ]
}

/// Smoothing strokes of several sizes, far from the origin.
fn smoothing() -> Vec<Json> {
    // The cells of cases have 10 m.
    let at = |x: f64, y: f64| json!([(FAR as f64 + x) * 10.0, (77.0 + y) * 10.0]);
    vec![
        json!({ "tool": "raise", "at_m": [at(20.0, 20.0)], "radius_m": 200, "amount_m": 90 }),
        json!({ "tool": "smooth", "at_m": [at(10.0, 30.0), at(50.0, 20.0)], "radius_m": 330 }),
        json!({ "tool": "smooth", "at_m": [at(40.0, 40.0)], "radius_m": 30, "strength": 0.5 }),
        json!({ "tool": "lower", "at_m": [at(33.3, 20.7)], "radius_m": 10, "amount_m": 9000 }),
    ]
}

/// Strokes that make layers.
fn layers() -> Vec<Json> {
    vec![
        json!({ "tool": "raise", "layer": "hardness", "at_m": [[100, 100], [300, 300]],
            "radius_m": 120, "amount": 0.8 }),
        json!({ "tool": "lower", "layer": "rain", "at_m": [[300, 100]], "radius_m": 220,
            "amount": 1 }),
        json!({ "tool": "ramp", "layer": "vegetation", "at_m": [[50, 300], [350, 300]],
            "radius_m": 80, "value": [0.2, 1] }),
        json!({ "tool": "noise", "layer": "vegetation", "at_m": [[50, 300], [350, 50]],
            "radius_m": 80, "amount": 0.5, "feature_m": 40, "seed": 9 }),
    ]
}

/// Strokes on layers that are there, and the highest ground.
fn repainted() -> Vec<Json> {
    vec![
        json!({ "tool": "flatten", "layer": "rain", "at_m": [[200, 200]], "radius_m": 150,
            "value": 0.5 }),
        json!({ "tool": "raise", "layer": "hardness", "at_m": [[200, 200]], "radius_m": 150,
            "amount": 1 }),
        json!({ "tool": "raise", "layer": "vegetation", "at_m": [[200, 200]], "radius_m": 150,
            "amount": 0.1 }),
        json!({ "tool": "raise", "at_m": [[200, 200]], "radius_m": 400, "amount_m": 80000 }),
    ]
}
