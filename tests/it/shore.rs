//! Coasts: exact distances and directions against brute force, in every window, where plain jump
//! flooding errs, and beaches.

use crate::common::{cpu, gpu, plan, run};
use thalweg::arith::{CELL, HEIGHT_END, NOWHERE, mix};
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::site::{Layers, Scale, Window};
use thalweg::stage::{Case, Surface, shore::STAGE};

/// The offsets to the coast and the beaches of heights, with the sea at 0.
fn shores(heights: &[i32], width: usize, within: i64, mask: Option<&[i32]>) -> [Vec<i32>; 2] {
    shores_by(vec![("within_cells", Value::Integer(within))], heights, width, mask)
}

/// The same by other settings.
fn shores_by(
    mut settings: Vec<(&'static str, Value)>,
    heights: &[i32],
    width: usize,
    mask: Option<&[i32]>,
) -> [Vec<i32>; 2] {
    if mask.is_some() {
        settings.extend([
            ("from", Value::Word("file".into())),
            ("file", Value::Word("mask.png".into())),
        ]);
    }
    let window =
        Window { origin: [0, 0], width: width as u32, height: (heights.len() / width) as u32 };
    let plan = plan(
        &STAGE,
        &Case { name: "made", settings, window, surface: Surface::Flat, layers: Layers::NONE },
    );
    let on = |executor: &mut dyn Executor| {
        executor.write("height", heights).unwrap();
        mask.iter().for_each(|mask| executor.write("mask", mask).unwrap());
        executor.begin(&plan).unwrap();
        run(executor, &plan, 0..plan.passes.len());
        executor.end(&plan);
        ["coast", "beach"].map(|name| executor.read(name).unwrap())
    };
    let found = on(&mut cpu());
    if let Some(mut gpu) = gpu("shore::shores", 64, None) {
        assert_eq!(on(&mut gpu), found);
    }
    found
}

/// The nearest seed of each cell by looking at all of them: its square and its place.
fn nearest(width: usize, seeds: &[bool], within: i64) -> Vec<Option<(i64, i64, i64)>> {
    let place = |i: usize| ((i % width) as i64, (i / width) as i64);
    let all: Vec<_> = (0..seeds.len()).filter(|i| seeds[*i]).map(place).collect();
    let of = |i: usize| {
        let (x, y) = place(i);
        let far = all.iter().map(|&(u, v)| ((u - x).pow(2) + (v - y).pow(2), v, u));
        far.min().filter(|(square, ..)| *square <= within * within)
    };
    (0..seeds.len()).map(of).collect()
}

fn offset(word: i32) -> (i64, i64) {
    (i64::from(word as i16), i64::from(word >> 16))
}

/// Cells of land with the sea beside them.
fn coast(width: usize, land: &[bool]) -> Vec<bool> {
    let height = land.len() / width;
    let sea = |x: usize, y: usize| x < width && y < height && !land[y * width + x];
    let of = |i: usize| {
        let (x, y) = (i % width, i / width);
        land[i]
            && (sea(x.wrapping_sub(1), y)
                || sea(x + 1, y)
                || sea(x, y.wrapping_sub(1))
                || sea(x, y + 1))
    };
    (0..land.len()).map(of).collect()
}

/// Land of some density, in clumps.
fn land(width: usize, height: usize, seed: u32, rare: u32) -> Vec<bool> {
    (0..width * height).map(|i| mix((i / 2) as u32 ^ mix(seed)).is_multiple_of(rare)).collect()
}

fn heights(land: &[bool]) -> Vec<i32> {
    land.iter().map(|land| if *land { CELL } else { -1 }).collect()
}

/// Squares and places of the nearest coast are those of brute force, ties by coordinate; at sea
/// they are those of all land.
/// Holds B1, B2 in part.
#[test]
fn the_nearest_coast_is_that_of_brute_force() {
    let sizes = [(1, 1), (1, 40), (40, 1), (2, 3), (37, 29), (64, 50), (90, 61)];
    let mut found = 0;
    for (n, (width, height)) in (0u32..).zip(sizes) {
        for (rare, within) in [(2, 1), (9, 4), (40, 7), (200, 33), (900, 4096), (3000, 60)] {
            let land = land(width, height, n * 31 + rare, rare);
            let [words, _] = shores(&heights(&land), width, within, None);
            let (coasts, shapes) =
                (nearest(width, &coast(width, &land), within), nearest(width, &land, within));
            for (i, word) in words.iter().enumerate() {
                let at = format!("{width}x{height}, one in {rare}, within {within}, cell {i}");
                let Some((square, row, column)) = coasts[i] else {
                    assert_eq!(*word, NOWHERE, "{at}");
                    continue;
                };
                let (east, south) = offset(*word);
                assert_eq!(east * east + south * south, square, "{at}");
                assert_eq!(
                    ((i % width) as i64 + east, (i / width) as i64 + south),
                    (column, row),
                    "{at}"
                );
                assert!(land[i] || shapes[i] == coasts[i], "{at}: shapes");
                found += 1;
            }
        }
    }
    assert!(found > 20_000, "{found}");
}

/// The published steps: the power of two from half of the shore's length on, down to 1.
fn steps(length: usize) -> Vec<usize> {
    let first = (length as f64 * 0.5).ceil() as usize;
    std::iter::successors(Some(first.next_power_of_two()), |step| (*step > 1).then_some(step / 2))
        .collect()
}

/// Plain jump flooding: each cell takes the nearest of what the 3 × 3 cells at the step know.
fn plain(width: usize, seeds: &[bool], length: usize) -> Vec<Option<(i64, i64, i64)>> {
    let height = seeds.len() / width;
    let square = |(u, v): (i64, i64), i: usize| {
        ((u - (i % width) as i64).pow(2) + (v - (i / width) as i64).pow(2), v, u)
    };
    let mut known: Vec<Option<(i64, i64)>> = (0..seeds.len())
        .map(|i| seeds[i].then_some(((i % width) as i64, (i / width) as i64)))
        .collect();
    for step in steps(length) {
        let look = |i: usize| {
            let near = (0..9).filter_map(|n| {
                let x = (i % width) as i64 + (n % 3 - 1) * step as i64;
                let y = (i / width) as i64 + (n / 3 - 1) * step as i64;
                let inside = (0..width as i64).contains(&x) && (0..height as i64).contains(&y);
                if inside { known[y as usize * width + x as usize] } else { None }
            });
            near.min_by_key(|place| square(*place, i))
        };
        known = (0..seeds.len()).map(look).collect();
    }
    known.into_iter().enumerate().map(|(i, place)| place.map(|place| square(place, i))).collect()
}

/// Plain jump flooding with the published steps errs at some cells of scattered islands, and the
/// stage at none.
/// Holds B1, B7 in part.
#[test]
fn plain_jump_flooding_errs_and_the_stage_does_not() {
    assert_eq!(steps(72), [64, 32, 16, 8, 4, 2, 1]);
    assert_eq!(steps(64), [32, 16, 8, 4, 2, 1]);
    let (width, height) = (128, 96);
    let mut wrong = 0;
    for seed in 0..4 {
        let land = land(width, height, seed, 150);
        let seeds = coast(width, &land);
        let [words, _] = shores(&heights(&land), width, 72, None);
        let (right, plain) = (nearest(width, &seeds, 72), plain(width, &seeds, 72));
        for i in 0..words.len() {
            let (east, south) = offset(words[i]);
            let square = right[i].unwrap().0;
            assert_eq!(east * east + south * south, square);
            let by_jumps = plain[i].unwrap().0;
            assert!(by_jumps >= square);
            wrong += (by_jumps > square) as usize;
        }
    }
    assert!((1..500).contains(&wrong), "{wrong} of {}", 4 * width * height);
}

/// No sea, no land, one cell, level land: no coast and no beach. Any mask can be the land.
#[test]
fn lands_without_a_coast_have_none() {
    for (width, height, word) in [(9, 7, 5), (9, 7, -5), (1, 1, 5), (1, 1, -5), (30, 1, 0)] {
        let [coast, beach] = shores(&vec![word; width * height], width, 50, None);
        assert!(
            coast.iter().all(|word| *word == NOWHERE) && beach.iter().all(|word| *word == 0),
            "{width}x{height} {word}"
        );
    }
    let mask: Vec<i32> = (0..60).map(|i| if i % 10 < 4 { 32768 } else { 32767 }).collect();
    let [coast, _] = shores(&[7; 60], 10, 50, Some(&mask));
    assert!((0..60).all(|i| offset(coast[i as usize]) == (3 - i % 10, 0)));
}

/// A window has the words of the whole beyond the reach from its edges, and a change comes as far
/// as the reach and no farther.
/// Holds C27 in part.
#[test]
fn windows_agree_beyond_the_reach() {
    let (width, height, within) = (120, 70, 9);
    let reach = within as usize + 1;
    let land = land(width, height, 5, 60);
    let all = heights(&land);
    let whole = shores(&all, width, within, None);
    let (left, top, w, h) = (31, 12, 60, 50);
    let cut: Vec<i32> =
        (top..top + h).flat_map(|y| all[y * width + left..][..w].to_vec()).collect();
    let part = shores(&cut, w, within, None);
    for y in reach..h - reach {
        for x in reach..w - reach {
            for n in 0..2 {
                assert_eq!(part[n][y * w + x], whole[n][(top + y) * width + left + x], "{x} {y}");
            }
        }
    }
    // An islet in an open sea is seen from as far as the reach of its cell, less the one to its
    // sides.
    let sea = vec![-1; width * height];
    let mut islet = sea.clone();
    islet[35 * width + 60] = 1;
    let [before, after] =
        [sea, islet].map(|heights| shores(&heights, width, within, None)[0].clone());
    let far = (0..before.len())
        .filter(|i| before[*i] != after[*i])
        .map(|i| (i % width).abs_diff(60))
        .max();
    assert_eq!(far, Some(within as usize));
}

/// Values of the maps: metres and degrees of known offsets.
/// Holds B2 in part.
#[test]
fn words_become_metres_and_degrees() {
    let field = |name: &str| thalweg::FIELDS.iter().find(|field| field.name == name).unwrap();
    let word = |east: i32, south: i32| (south << 16) | (east & 0xffff);
    let words =
        [NOWHERE, 0, word(3, 4), word(0, -5), word(-7, 0), word(0, 2), word(-1, -1), word(6, 0)];
    let scale = Scale::of(10.0);
    let metres = field("coast_distance").values(&words, &scale);
    assert_eq!(metres, [-1.0, 0.0, 50.0, 50.0, 70.0, 20.0, 200f32.sqrt(), 60.0]);
    let degrees = field("coast_direction").values(&words, &scale);
    let tangent = 180.0 - (0.75f64.atan()).to_degrees();
    assert_eq!(degrees, [-1.0, -1.0, tangent as f32, 0.0, 270.0, 180.0, 315.0, 90.0]);
}

/// An even shore of slope 1 in 20 is beach up to half of each limit, less and less behind, and none
/// beyond; a cliff is none.
/// Holds D1 in part.
#[test]
fn beaches_are_low_gentle_land_near_the_coast() {
    // 10 m a cell, so a row climbs 0.5 m. The limits are 12 cells, 20 m and 0.4.
    let even: Vec<i32> = (0..40).map(|x| (x - 10) * CELL / 20).collect();
    let [_, beach] = shores(&even, 40, 50, None);
    for (x, share) in beach.iter().enumerate() {
        let d = x as f64 - 10.0;
        let at_most = |v: f64| (2.0 * (1.0 - v)).clamp(0.0, 1.0);
        let wanted = if d < 0.0 {
            0.0
        } else {
            at_most(d * d / 144.0) * at_most(d * 0.5 / 20.0) * at_most(0.05 / 0.4)
        };
        assert!(
            (f64::from(*share) / 65536.0 - wanted).abs() < 0.04,
            "{x}: {share}, wanted {wanted}"
        );
    }
    // 81 of 144 leave 2 · (1 − 81/144) = 56/64.
    assert_eq!([beach[10], beach[18], beach[19], beach[22]], [65536, 65536, 65536 / 64 * 56, 0]);
    let cliff: Vec<i32> = (0..40).map(|x| if x < 10 { -CELL } else { CELL }).collect();
    assert!(
        shores(&cliff, 40, 50, None)[1].iter().skip(11).take(3).all(|v| *v > 0),
        "the top of a cliff of 10 m is low"
    );
    assert_eq!(shores(&cliff, 40, 50, None)[1][10], 0, "its edge is steep");
    // The difference of the highest and the lowest height has 32 bits.
    let deep = vec![("sea_level_m", Value::Number(-80_000.0))];
    let tower: Vec<i32> = (0..40).map(|x| if x < 10 { -HEIGHT_END } else { HEIGHT_END }).collect();
    let [coast, beach] = shores_by(deep, &tower, 40, None);
    assert_ne!(coast[15], NOWHERE, "it has a coast");
    assert!(beach.iter().all(|share| *share == 0), "the tower is no beach");
}

/// A file that would not be read is refused before it is looked for.
#[test]
fn a_file_needs_its_word() {
    let head = "schema = 2\nwidth = 9\nheight = 9\nspacing_m = 10\n[[stage]]\nkind = \"flat\"\n\
                [[stage]]\nkind = \"shore\"\n";
    let wrong = |rest: &str| {
        let recipe = thalweg::Recipe::from_toml(&format!("{head}{rest}"), "", "x")
            .and_then(thalweg::Job::new);
        recipe.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let one = wrong("file = \"m.png\"\n");
    assert!(
        one.contains("stage 2, shore: file = \"m.png\"") && one.contains("from = \"file\""),
        "{one}"
    );
    assert!(wrong("from = \"file\"\n").contains("file is missing"));
}
