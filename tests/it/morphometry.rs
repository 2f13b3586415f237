//! Slope, aspect and curvature: what analysis says of planes, cones and paraboloids, and the same bytes everywhere.

use crate::common::{cpu, gpu};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use thalweg::exec::Executor;
use thalweg::recipe::Recipe;
use thalweg::relief::Derived;
use thalweg::site::Window;
use thalweg::spec::CELL;
use thalweg::stage::Surface;
use thalweg::world::{Made, World, digest};

const W: usize = 9;
const H: usize = 7;

fn surface(z: impl Fn(i32, i32) -> i32) -> Vec<i32> {
    (0..H as i32).flat_map(|y| (0..W as i32).map(move |x| (x, y))).map(|(x, y)| z(x, y)).collect()
}

fn of(derived: Derived, words: &[i32]) -> Vec<f32> {
    derived.of(words, W, H, 30.0)
}

/// A plane has one slope and one aspect, up to its edges and corners.
#[test]
fn planes_have_the_slope_and_aspect_that_they_were_given() {
    // The direction of the fall: clockwise from north, and rise per step to the east and to the south.
    let eighths = [(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)];
    for (eighth, (east, south)) in eighths.into_iter().enumerate() {
        for steep in [1, 1000, CELL / 3, CELL, 50 * CELL] {
            let words = surface(|x, y| steep * (x * east + y * south) - 17);
            let aspects = of(Derived::Aspect, &words);
            assert!(aspects.iter().all(|&a| a == 45.0 * eighth as f32), "{eighth}: {aspects:?}");
            let rise = steep as f64 / CELL as f64 * f64::from(east * east + south * south).sqrt();
            let slopes = of(Derived::Slope, &words);
            assert!(slopes.iter().all(|&s| s == rise.atan().to_degrees() as f32), "{eighth} {steep}: {slopes:?}");
            assert!(of(Derived::Curvature, &words).iter().all(|&c| c.to_bits() == 0));
        }
    }
    // Level ground has no aspect; a slope of 1 has 45 degrees.
    let level = surface(|_, _| 12345);
    assert!(of(Derived::Slope, &level).iter().all(|s| s.to_bits() == 0));
    assert!(of(Derived::Aspect, &level).iter().all(|&a| a == -1.0));
    assert!(of(Derived::Slope, &surface(|x, _| x * CELL)).iter().all(|&s| s == 45.0));
    // Barely west of north is not a whole turn.
    let turn = of(Derived::Aspect, &surface(|x, y| x / 8 + y * (1 << 27)));
    assert!(turn.iter().all(|a| (0.0..360.0).contains(a)), "{turn:?}");
}

/// z = −k (x² + y²) has the Laplacian −4k; along an edge, across which it goes on straight, −2k; in a corner 0.
#[test]
fn paraboloids_have_the_curvature_of_analysis() {
    for k in [CELL / 64, -CELL / 64, 3] {
        let words = surface(|x, y| -k * ((x - 4) * (x - 4) + (y - 3) * (y - 3)));
        let unit = 2.0 * f64::from(k) / f64::from(CELL) / 30.0;
        for (i, c) in of(Derived::Curvature, &words).into_iter().enumerate() {
            let (x, y) = (i % W, i / W);
            let inside = (x > 0 && x < W - 1) as i32 + (y > 0 && y < H - 1) as i32;
            assert_eq!(c, (unit * f64::from(inside)) as f32, "({x}, {y})");
        }
        // The hill falls away from its top, where it is level.
        let aspects = of(Derived::Aspect, &words);
        let (south, north) = if k > 0 { (180.0, 0.0) } else { (0.0, 180.0) };
        assert_eq!((aspects[3 * W + 4], aspects[5 * W + 4], aspects[W + 4]), (-1.0, south, north));
    }
}

/// Horn's differences written out, with the arcs of the system, on rough ground away from the edge.
#[test]
fn rough_ground_agrees_with_the_published_formula() {
    let window = Window { origin: [3, 5], width: 40, height: 30 };
    for surface in Surface::ALL {
        let words = surface.heights(&window);
        let [slopes, aspects] = [Derived::Slope, Derived::Aspect].map(|d| d.of(&words, 40, 30, 10.0));
        for y in 1..29 {
            for x in 1..39 {
                let z = |dx: i64, dy: i64| i64::from(words[((y + dy) * 40 + x + dx) as usize]);
                let dx = z(1, -1) + 2 * z(1, 0) + z(1, 1) - z(-1, -1) - 2 * z(-1, 0) - z(-1, 1);
                let dy = z(-1, 1) + 2 * z(0, 1) + z(1, 1) - z(-1, -1) - 2 * z(0, -1) - z(1, -1);
                let i = (y * 40 + x) as usize;
                let slope = (dx as f64).hypot(dy as f64) / 8.0 / CELL as f64;
                let near = |a: f32, b: f64| (f64::from(a) - b).abs() <= b.abs() * 1.2e-7 + 1e-30;
                assert!(near(slopes[i], slope.atan().to_degrees()), "{surface:?} ({x}, {y})");
                let aspect = (-dx as f64).atan2(dy as f64).to_degrees().rem_euclid(360.0);
                let expected = if dx == 0 && dy == 0 { -1.0 } else { aspect };
                assert!(near(aspects[i], expected), "{surface:?} ({x}, {y}): {} {expected}", aspects[i]);
            }
        }
    }
}

#[test]
fn every_size_has_finite_maps_and_every_platform_the_same() {
    for (w, h) in [(1, 1), (1, 7), (7, 1), (2, 2), (3, 2)] {
        let words: Vec<i32> = (0..w * h).map(|i| if i % 2 == 0 { i32::MAX } else { i32::MIN }).collect();
        for (.., derived) in Derived::ALL {
            assert!(derived.of(&words, w as usize, h as usize, 1e-3).iter().all(|v| v.is_finite()));
        }
    }
    // Seen once; the same on every processor and system.
    let window = Window { origin: [3, 5], width: 40, height: 30 };
    let found = Derived::ALL.map(|(name, _, derived)| {
        let data = derived.of(&Surface::Hills.heights(&window), 40, 30, 10.0);
        (name, digest(&data.iter().map(|v| v.to_bits() as i32).collect::<Vec<_>>()))
    });
    let stored = [("slope", "2a81c46a119bbb07"), ("aspect", "3714723c4f344765"), ("curvature", "d62eb7401762e335")];
    assert_eq!(found.each_ref().map(|(name, digest)| (*name, &digest[..16])), stored);
}

/// A run leaves them beside the other maps, for the window without its margin, from either executor.
#[test]
fn runs_leave_them() {
    let text = "schema = 1\nseed = 3\nwidth = 50\nheight = 30\nspacing_m = 20\nmargin = 8\n\
                [[stage]]\nkind = \"diamond_square\"\nrelief_m = 300\n[[stage]]\nkind = \"droplets\"\nlifetime = 8\n\
                [output]\nmaps = [\"curvature\", \"slope\", \"aspect\", \"wear\"]\n";
    let recipe = Recipe::from_toml(text, Path::new(""), "test").unwrap();
    let world = World::new(&recipe, None).unwrap();
    let made = |executor: &mut dyn Executor| -> Made { world.run(executor, &AtomicBool::new(false), &mut |_, _, _| {}).unwrap() };
    let mut executor = cpu();
    let a = made(&mut executor);
    assert_eq!(a.maps.keys().copied().collect::<Vec<_>>(), ["aspect", "curvature", "height", "slope", "wear"]);
    // The heights in metres are rounded, so what follows from them is near.
    let words: Vec<i32> = world.scale().to_words(&a.maps["height"].data);
    for (name, _, derived) in Derived::ALL.into_iter().filter(|(name, ..)| *name != "aspect") {
        for (found, expected) in a.maps[name].data.iter().zip(derived.of(&words, 50, 30, 20.0)) {
            assert!((found - expected).abs() < 0.01, "{name}: {found} {expected}");
        }
    }
    if let Some(mut gpu) = gpu("runs_leave_them", 64, None) {
        assert_eq!(made(&mut gpu).digests, a.digests);
    }
}
