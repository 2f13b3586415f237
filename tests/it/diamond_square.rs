//! Diamond-square: the same point, the same height; against a recursion, and against the article's
//! own program.

use crate::common::{cpu, plan, run};
use std::collections::HashMap;
use thalweg::Job;
use thalweg::arith::{CELL, hash, key};
use thalweg::classic::diamond_square::{Lazy, Rand, World};
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::recipe::Recipe;
use thalweg::site::{Layers, Window};
use thalweg::stage::{Case, Surface, diamond_square::STAGE};

fn case(settings: Vec<(&'static str, Value)>, x: i64, y: i64, width: u32, height: u32) -> Case {
    Case {
        name: "made",
        settings,
        window: Window { origin: [x, y], width, height },
        surface: Surface::Flat,
        layers: Layers::NONE,
    }
}

/// Heights with a relief of 1024 cells, so that a unit is 2⁻²⁸ of the relief: the value itself.
fn values(
    mut settings: Vec<(&'static str, Value)>,
    x: i64,
    y: i64,
    width: u32,
    height: u32,
) -> Vec<i32> {
    settings.push(("relief_m", Value::Number(10.0 * 1024.0)));
    let case = case(settings, x, y, width, height);
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    let mut words = cpu.read("height").unwrap();
    words.truncate(case.window.cells());
    words
}

fn world(side: i64) -> (&'static str, Value) {
    ("world_cells", Value::Integer(side))
}

fn word(name: &'static str, v: &str) -> (&'static str, Value) {
    (name, Value::Word(v.into()))
}

/// The definition, point by point: the recursion with our hash, in wide integers, with a cache.
struct Recursion {
    world: i64,
    feature: i64,
    torus: bool,
    edge: i64,
    roughness: f64,
    key: [u32; 2],
    known: HashMap<(i64, i64), i64>,
}

impl Recursion {
    fn value(&mut self, x: i64, y: i64) -> i64 {
        if self.torus {
            let (x, y) = (x.rem_euclid(self.world), y.rem_euclid(self.world));
            return self.point(x, y);
        }
        if x <= 0 || y <= 0 || x >= self.world || y >= self.world {
            self.edge
        } else {
            self.point(x, y)
        }
    }

    fn point(&mut self, x: i64, y: i64) -> i64 {
        if let Some(v) = self.known.get(&(x, y)) {
            return *v;
        }
        let random = (hash(self.key, x as u32, y as u32) >> 16) as i64;
        let spacing = if x | y == 0 {
            self.feature
        } else {
            (1i64 << (x | y).trailing_zeros()).min(self.feature)
        };
        let v = if spacing == self.feature {
            if self.feature == self.world { self.edge } else { random << 12 }
        } else {
            let b = spacing;
            let square = x & b != 0 && y & b != 0;
            let around = if square {
                [(-b, -b), (b, -b), (-b, b), (b, b)]
            } else {
                [(-b, 0), (b, 0), (0, -b), (0, b)]
            };
            let sum: i64 = around.iter().map(|(dx, dy)| self.value(x + dx, y + dy)).sum();
            let amplitude =
                (self.roughness * (2 * b) as f64 / self.feature as f64 * (1 << 28) as f64) as i64;
            ((sum >> 2) + ((amplitude * random) >> 16) - (amplitude >> 1)).clamp(0, 1 << 28)
        };
        self.known.insert((x, y), v);
        v
    }
}

/// The heights are exactly those of the recursion, in worlds of up to 2³² cells a side, with both
/// kinds of edge and several start levels.
/// Holds D7, D8, D12, D21, D13, D14, D15, D22.
#[test]
fn every_point_is_that_of_the_recursion() {
    for (side, feature, torus, edge, x, y) in [
        (64, 64, false, 0.0, 0, 0),
        (64, 64, false, 0.75, -9, 30),
        (64, 8, false, 0.5, 3, -4),
        (32, 32, true, 0.25, -11, 17),
        (128, 16, true, 0.0, 100, 100),
        (1 << 24, 1 << 24, false, 0.0, 8_765_432, 12_345_678),
        (1 << 32, 1 << 32, false, 0.0, (1 << 31) - 3, 77),
        (1 << 32, 1 << 10, true, 0.0, (1 << 32) - 20, -5),
    ] {
        let mut settings = vec![
            world(side),
            ("feature_cells", Value::Integer(feature)),
            ("edge_height", Value::Number(edge)),
        ];
        settings.push(word("edge", if torus { "torus" } else { "constant" }));
        let mut recursion = Recursion {
            world: side,
            feature,
            torus,
            edge: (edge * (1 << 28) as f64) as i64,
            roughness: 1.0,
            key: key(12345, 0),
            known: HashMap::new(),
        };
        let (w, h) = (53, 41);
        for (i, v) in values(settings, x, y, w, h).into_iter().enumerate() {
            let (px, py) = (x + i as i64 % w as i64, y + i as i64 / w as i64);
            assert_eq!(
                v as i64,
                recursion.value(px, py),
                "({px}, {py}) in a world of {side}, feature {feature}"
            );
        }
    }
}

/// A point has the same height in windows of any place and size.
/// Holds D17.
#[test]
fn the_same_point_has_the_same_height_in_every_window() {
    for settings in [
        vec![world(1 << 20), ("gain", Value::Number(0.6))],
        vec![world(1 << 20), ("normalise", Value::Switch(true)), ("square", Value::Switch(true))],
        vec![world(1 << 20), word("mode", "midpoint")],
        vec![world(1 << 20), word("random", "pair"), ("rounds", Value::Integer(8))],
    ] {
        let large = values(settings.clone(), 300_000, 700_000, 200, 150);
        for (dx, dy, w, h) in
            [(0, 0, 1, 1), (17, 33, 64, 64), (199, 149, 1, 1), (31, 0, 7, 150), (1, 2, 129, 3)]
        {
            let small = values(settings.clone(), 300_000 + dx, 700_000 + dy, w, h);
            for (i, v) in small.iter().enumerate() {
                let at = (dy as usize + i / w as usize) * 200 + dx as usize + i % w as usize;
                assert_eq!(*v, large[at], "{settings:?} ({dx}, {dy}) {i}");
            }
        }
    }
}

/// With the article's generator the field is the article's, up to the 16 bits of its random
/// numbers: level l errs by at most roughness · 2⁻ˡ · 2⁻¹⁶ and 2⁻²⁸ for rounding, which sums to
/// less than 2 · roughness · 2⁻¹⁶ + levels · 2⁻²⁶.
/// Holds D12, D13, D14, D15, D16.
#[test]
fn the_articles_generator_makes_the_articles_field() {
    let side = 256;
    let site_seed = 12345;
    let mut lazy = Lazy::new(World {
        size: side as u64,
        seed: site_seed,
        roughness: 1.0,
        rounds: 80,
        rand: Rand::Pair,
    })
    .unwrap();
    let ours = values(vec![world(side), word("random", "pair")], 0, 0, 257, 257);
    let bound = 2.0 / 65536.0 + 8.0 / (1 << 26) as f64;
    let mut different = 0;
    for (i, v) in ours.iter().enumerate() {
        let (x, y) = (i as i64 % 257, i as i64 / 257);
        let (a, b) = (*v as f64 / (1 << 28) as f64, lazy.value(x, y));
        assert!((a - b).abs() < bound, "({x}, {y}): {a} for {b}");
        different += (b != 0.0) as u32;
    }
    assert!(different > 40_000, "the field is not flat");
}

/// M5: the article's field in worlds of up to 2³² cells, where coordinates have 33 bits on the way,
/// and at seeds that a recipe names. Level l errs as above. (Worlds over 2²⁴ cells were refused.)
/// Holds D11, D16, D20.
#[test]
fn the_articles_field_is_there_in_the_largest_worlds_and_at_a_seed_of_ones_own() {
    for (side, seed) in [
        (1i64 << 26, 1u32),
        (1 << 30, 0x7fff_ffff),
        (1 << 31, 0x7fff_ffff),
        (1 << 32, 0x7fff_fffe),
        (1 << 32, 12345),
    ] {
        for (x, y) in [(side - 41, side - 30), (side / 2 - 20, 7), (side / 3, side / 5 * 4)] {
            let recipe = format!(
                "schema = 2\nspacing_m = 1\nseed = 7\norigin = [{x}, {y}]\nwidth = 40\n\
                 height = 30\n\
                 [[stage]]\nkind = \"diamond_square\"\nseed = {seed}\nrandom = \"pair\"\n\
                 world_cells = {side}\nrelief_m = 1024\n"
            );
            let recipe = Recipe::from_toml(&recipe, "", "pair").unwrap();
            let made = Job::new(recipe).unwrap().run(&mut |_| Ok(())).unwrap();
            let world =
                World { size: side as u64, seed, roughness: 1.0, rounds: 80, rand: Rand::Pair };
            let mut lazy = Lazy::new(world).unwrap();
            let bound = 2.0 / 65536.0 + 32.0 / (1 << 26) as f64;
            for (i, v) in made.words("height").unwrap().iter().enumerate() {
                let at = [x + i as i64 % 40, y + i as i64 / 40];
                let (a, b) = (f64::from(*v) / f64::from(1 << 28), lazy.value(at[0], at[1]));
                assert!((a - b).abs() < bound, "{at:?} of {side}, seed {seed}: {a} for {b}");
            }
        }
    }
}

/// The points of the first lattice are the readers' generator, in its own formula.
/// Holds D19.
#[test]
fn products_make_the_readers_field() {
    let seed = 12345u32;
    let (left, top) = ((1i64 << 26) - 300, 1 << 20);
    let made = values(
        vec![world(1 << 26), ("feature_cells", Value::Integer(16)), word("random", "mul")],
        left,
        top,
        120,
        90,
    );
    let mut count = 0;
    for (i, value) in made.iter().enumerate() {
        let (x, y) = (left + i as i64 % 120, top + i as i64 / 120);
        if x % 16 == 0 && y % 16 == 0 {
            let mut s = seed.wrapping_mul(1972854929);
            s ^= (x as u32).wrapping_mul(2971902361) ^ (y as u32).wrapping_mul(3572953751);
            s = s.wrapping_mul(0x6C078965);
            let r = f64::from(s & 0x7FFF_FFFF) * 4.656612875245797e-10;
            let off = f64::from(*value) / f64::from(1 << 28) - r;
            assert!((-1.0 / 65536.0..=1.0 / 16777216.0).contains(&off), "{x} {y}: {off}");
            count += 1;
        }
    }
    assert!(count > 30);
}

/// On a torus heights repeat with the side of the world; otherwise the border and everything beyond
/// it have one height.
/// Holds D8.
#[test]
fn a_torus_repeats_and_a_rim_is_constant() {
    let torus = vec![world(64), word("edge", "torus"), ("feature_cells", Value::Integer(16))];
    assert_eq!(values(torus.clone(), 5, 9, 70, 50), values(torus, 5 - 64, 9 + 640, 70, 50));
    let rim = values(vec![world(64), ("edge_height", Value::Number(0.5))], -3, -3, 71, 71);
    for (i, v) in rim.iter().enumerate() {
        let (x, y) = (i as i64 % 71 - 3, i as i64 / 71 - 3);
        if x <= 0 || y <= 0 || x >= 64 || y >= 64 {
            assert_eq!(*v, 1 << 27, "({x}, {y})");
        }
    }
    assert!(rim.iter().any(|v| *v != 1 << 27));
}

/// `normalise` stretches the range of the whole world to 0 to 1, and `square` squares the heights.
/// Holds D10.
#[test]
fn normalising_uses_the_range_of_the_world() {
    let plain = values(vec![world(256)], 0, 0, 257, 257);
    let (low, high) = (*plain.iter().min().unwrap(), *plain.iter().max().unwrap());
    assert!(high < 1 << 28, "there is something to stretch");
    let stretched = values(vec![world(256), ("normalise", Value::Switch(true))], 0, 0, 257, 257);
    assert_eq!(*stretched.iter().min().unwrap(), 0);
    assert!((1 << 28) - stretched.iter().max().unwrap() < 1 << 13);
    let expected = |v: i32| (v - low) as f64 / (high - low) as f64;
    for (p, s) in plain.iter().zip(&stretched) {
        // The factor has 16 bits of fraction, the product is rounded down twice.
        let off = *s as f64 / (1 << 28) as f64 - expected(*p);
        assert!(off.abs() < 1.0 / 65536.0, "{p} became {s}");
    }
    let squared = values(vec![world(256), ("square", Value::Switch(true))], 0, 0, 257, 257);
    for (p, s) in plain.iter().zip(&squared) {
        let exact = (*p as i64 * *p as i64) >> 28;
        assert!((0..=1).contains(&(exact - *s as i64)), "{p} squared is {s}");
    }
}

/// By midpoint displacement, the midpoint of a side is the mean of its ends. A skyline has the same
/// profile in every row, displaced in proportion to the length of each segment.
/// Holds D5.
/// Holds D6 in part.
#[test]
fn midpoints_of_sides_are_means_and_a_skyline_is_the_same_in_every_row() {
    let m = values(vec![world(64), word("mode", "midpoint")], 0, 0, 65, 65);
    let at = |x: usize, y: usize| m[y * 65 + x];
    let mut seen = 0;
    for b in [1usize, 2, 4, 8, 16] {
        for y in (2 * b..64).step_by(2 * b) {
            for x in (b..64).step_by(2 * b) {
                assert_eq!(at(x, y), (at(x - b, y) + at(x + b, y)) >> 1, "({x}, {y})");
                assert_eq!(at(y, x), (at(y, x - b) + at(y, x + b)) >> 1, "({y}, {x})");
                seen += 1;
            }
        }
    }
    assert!(seen > 500);
    let s = values(
        vec![world(128), word("mode", "skyline"), ("edge_height", Value::Number(0.5))],
        0,
        -7,
        129,
        20,
    );
    for row in s.chunks(129) {
        assert_eq!(row, &s[..129]);
    }
    // Displacements halve with the segment: (r − ½) · l / S · 2, so at most ± l / S.
    for b in [1usize, 2, 4, 8, 16, 32, 64] {
        for x in (b..128).step_by(2 * b) {
            let off = s[x] - ((s[x - b] + s[x + b]) >> 1);
            assert!(off.unsigned_abs() as usize <= (b << 28) / 128 + 1, "{x}: {off}");
        }
    }
    assert!(s.iter().any(|v| *v != s[0]));
}

/// The work follows the window and hardly depends on the world: the invocations for a window of
/// 512² in worlds of 512 to 2³² cells.
/// Holds D11, D20.
#[test]
fn cost_follows_the_window() {
    let work = |side: i64| -> u64 {
        plan(&STAGE, &case(vec![world(side)], 3, 5, 512, 512))
            .passes
            .iter()
            .map(|p| p.count() as u64)
            .sum()
    };
    let cells = 512 * 512;
    for side in [512, 1 << 16, 1 << 24, 1 << 30, 1 << 32] {
        // Every cell once a level, a quarter at the next, and once for its height; a few points of
        // each level above.
        assert!(work(side) < cells * 7 / 3 + 20_000, "{side}: {}", work(side));
    }
    assert!(work(1 << 32) > work(512));
    let point: u64 = plan(&STAGE, &case(vec![world(1 << 32)], 1, 1, 1, 1))
        .passes
        .iter()
        .map(|p| p.count() as u64)
        .sum();
    assert!(point < 32 * 40, "the worst single point takes {point} points");
    assert_eq!(CELL, 1 << 18);
}
