//! Slope, aspect and curvature: what analysis says of planes, cones and paraboloids, and the same
//! bytes everywhere.

use crate::common::{cpu, gpu, made};
use thalweg::arith::CELL;
use thalweg::job::digest;
use thalweg::morphometry::HeightGrid;
use thalweg::recipe::Recipe;
use thalweg::site::Window;
use thalweg::stage::Surface;

const W: usize = 9;
const H: usize = 7;

fn surface(z: impl Fn(i32, i32) -> i32) -> Vec<i32> {
    (0..H as i32).flat_map(|y| (0..W as i32).map(move |x| (x, y))).map(|(x, y)| z(x, y)).collect()
}

type Of = fn(&HeightGrid) -> Vec<f32>;

/// Every map that follows from the height.
const ALL: [(&str, Of); 4] = [
    ("slope", |g| g.slope()),
    ("aspect", |g| g.aspect()),
    ("curvature", |g| g.curvature()),
    ("sky_view", |g| g.sky()),
];

fn grid(words: &[i32]) -> HeightGrid<'_> {
    HeightGrid::new(words, W, 30.0)
}

/// A plane has one slope and one aspect, up to its edges and corners.
#[test]
fn planes_have_the_slope_and_aspect_that_they_were_given() {
    // The direction of the fall: clockwise from north, and rise per step to the east and to the
    // south.
    let eighths = [(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)];
    for (eighth, (east, south)) in eighths.into_iter().enumerate() {
        for steep in [1, 1000, CELL / 3, CELL, 50 * CELL] {
            let words = surface(|x, y| steep * (x * east + y * south) - 17);
            let aspects = grid(&words).aspect();
            assert!(aspects.iter().all(|&a| a == 45.0 * eighth as f32), "{eighth}: {aspects:?}");
            let rise = steep as f64 / CELL as f64 * f64::from(east * east + south * south).sqrt();
            let slopes = grid(&words).slope();
            assert!(
                slopes.iter().all(|&s| s == rise.atan().to_degrees() as f32),
                "{eighth} {steep}: {slopes:?}"
            );
            assert!(grid(&words).curvature().iter().all(|&c| c.to_bits() == 0));
        }
    }
    // Level ground has no aspect; a slope of 1 has 45 degrees.
    let level = surface(|_, _| 12345);
    assert!(grid(&level).slope().iter().all(|s| s.to_bits() == 0));
    assert!(grid(&level).aspect().iter().all(|&a| a == -1.0));
    assert!(grid(&surface(|x, _| x * CELL)).slope().iter().all(|&s| s == 45.0));
    // Barely west of north is not a whole turn.
    let turn = grid(&surface(|x, y| x / 8 + y * (1 << 27))).aspect();
    assert!(turn.iter().all(|a| (0.0..360.0).contains(a)), "{turn:?}");
}

/// z = −k (x² + y²) has the Laplacian −4k; along an edge, across which it goes on straight, −2k; in
/// a corner 0.
#[test]
fn paraboloids_have_the_curvature_of_analysis() {
    for k in [CELL / 64, -CELL / 64, 3] {
        let words = surface(|x, y| -k * ((x - 4) * (x - 4) + (y - 3) * (y - 3)));
        let unit = 2.0 * f64::from(k) / f64::from(CELL) / 30.0;
        for (i, c) in grid(&words).curvature().into_iter().enumerate() {
            let (x, y) = (i % W, i / W);
            let inside = (x > 0 && x < W - 1) as i32 + (y > 0 && y < H - 1) as i32;
            assert_eq!(c, (unit * f64::from(inside)) as f32, "({x}, {y})");
        }
        // The hill falls away from its top, where it is level.
        let aspects = grid(&words).aspect();
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
        let grid = HeightGrid::new(&words, 40, 10.0);
        let (slopes, aspects) = (grid.slope(), grid.aspect());
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
                assert!(
                    near(aspects[i], expected),
                    "{surface:?} ({x}, {y}): {} {expected}",
                    aspects[i]
                );
            }
        }
    }
}

/// Level ground sees all of the sky, and so do tops; a funnel of slope s hides the sine of its
/// angle; a plane of slope s hides arctan(s)/π, the integral of the sine of the horizon's angle
/// over all directions.
#[test]
fn the_sky_is_that_of_plains_funnels_and_planes() {
    let size = 81;
    let words = |z: &dyn Fn(f64, f64) -> f64| -> Vec<i32> {
        let at = |i: i32| (f64::from(i % size - 40), f64::from(i / size - 40));
        (0..size * size).map(at).map(|(x, y)| (z(x, y) * f64::from(CELL)) as i32).collect()
    };
    let middle = |words: &[i32]| {
        HeightGrid::new(words, size as usize, 25.0).sky()[(size * size / 2) as usize]
    };
    let all = HeightGrid::new(&words(&|_, _| 7.0), size as usize, 25.0).sky();
    assert!(all.iter().all(|&sky| sky == 1.0));
    assert_eq!(middle(&words(&|x, y| -x.hypot(y))), 1.0);
    for s in [0.25, 1.0, 4.0] {
        let funnel = middle(&words(&|x, y| s * x.hypot(y)));
        let expected = 1.0 - s / (1.0 + s * s).sqrt();
        assert!((f64::from(funnel) - expected).abs() < 1e-5, "funnel {s}: {funnel} {expected}");
        // Sixteen directions stand for all: half a per cent.
        let plane = middle(&words(&|x, y| s * (0.6 * x + 0.8 * y)));
        let expected = 1.0 - s.atan() / std::f64::consts::PI;
        assert!((f64::from(plane) - expected).abs() < 0.005, "plane {s}: {plane} {expected}");
    }
    // A wall hides half of the sky at its foot, but for the directions along it; from there on
    // less, within the reach; and nothing at its top, within the reach, and not from its top.
    let wall =
        HeightGrid::new(&words(&|x, _| if x > 0.0 { 1000.0 } else { 0.0 }), size as usize, 25.0)
            .sky();
    let row = &wall[40 * size as usize..41 * size as usize];
    assert!((f64::from(row[40]) - 0.5).abs() < 0.08, "{}", row[40]);
    assert!(
        row[..8].iter().all(|&sky| sky == 1.0)
            && row[9] < 1.0
            && row[41..].iter().all(|&sky| sky == 1.0)
    );
}

#[test]
fn every_size_has_finite_maps_and_every_platform_the_same() {
    for (w, h) in [(1, 1), (1, 7), (7, 1), (2, 2), (3, 2)] {
        let words: Vec<i32> =
            (0..w * h).map(|i| if i % 2 == 0 { i32::MAX } else { i32::MIN }).collect();
        for (name, of) in ALL {
            assert!(
                of(&HeightGrid::new(&words, w as usize, 1e-3)).iter().all(|v| v.is_finite()),
                "{name} {w} x {h}"
            );
        }
    }
    // Seen once; the same on every processor and system.
    let window = Window { origin: [3, 5], width: 40, height: 30 };
    let found = ALL.map(|(name, of)| {
        let data = of(&HeightGrid::new(&Surface::Hills.heights(&window), 40, 10.0));
        (name, digest(&data.iter().map(|v| v.to_bits() as i32).collect::<Vec<_>>()))
    });
    let stored = [
        ("slope", "2a81c46a119bbb07"),
        ("aspect", "3714723c4f344765"),
        ("curvature", "d62eb7401762e335"),
        ("sky_view", "21802fd4392eae83"),
    ];
    assert_eq!(found.each_ref().map(|(name, digest)| (*name, &digest[..16])), stored);
}

/// A run writes them with the other maps, for the window without its margin, on either executor.
#[test]
fn runs_leave_them() {
    let text = "schema = 2\nseed = 3\nwidth = 50\nheight = 30\nspacing_m = 20\nmargin_cells = 8\n\
                [[stage]]\nkind = \"diamond_square\"\nrelief_m = 300\n[[stage]]\n\
                kind = \"droplets\"\nlifetime = 8\n\
                [output]\nmaps = [\"curvature\", \"slope\", \"aspect\", \"erosion\", \
                                    \"sky_view\"]\n";
    let recipe = Recipe::from_toml(text, "", "test").unwrap();
    let a = made(&recipe, &mut cpu());
    assert_eq!(
        a.maps.keys().copied().collect::<Vec<_>>(),
        ["aspect", "curvature", "erosion", "height", "sky_view", "slope"]
    );
    let grid = HeightGrid::new(a.outcome.words("height").unwrap(), 50, 20.0);
    for (name, of) in ALL {
        assert_eq!(a.maps[name].data, of(&grid), "{name}");
    }
    if let Some(mut gpu) = gpu("runs_leave_them", 64, None) {
        assert_eq!(made(&recipe, &mut gpu).digests, a.digests);
    }
}
