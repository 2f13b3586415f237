//! Lakes that lose water: levels as those of lakes that rise cell by cell, sums that close, and
//! depressions that stay dry.

use crate::common::config;
use crate::water::{all_lakes, flooded, holds, near};
use crate::water_vectors::{hills, within};
use proptest::prelude::*;
use serde_json::Value;
use std::cell::Cell;
use thalweg::io::vector;
use thalweg::map::Map;
use thalweg::recipe::Recipe;
use thalweg::site::Scale;
use thalweg::water::directions::{OUT, SEA, SINK, Size};
use thalweg::water::vectors::{PointKind, Vectors};
use thalweg::water::{Settings, VectorFormat, Water};

/// Lakes that lose so many times as much as runs off from a cell of full rain.
fn losing(times: f64) -> Settings {
    Settings { runoff_mm: 100.0, evaporation_mm: 100.0 * times, ..all_lakes() }
}

fn water(ground: &[i32], width: usize, rain: Option<&[i32]>, settings: &Settings) -> Water {
    Water::of(ground.to_vec(), width, Scale::of(10.0), rain.map(<[i32]>::to_vec), settings).unwrap()
}

/// A lake, or a depression without water: its pits, its level, and the pit across its rim once it
/// runs over.
struct Pool {
    pits: Vec<usize>,
    level: i32,
    over: Option<Option<usize>>,
}

/// The surface of lakes that begin dry and rise cell by cell as long as what comes in is not less
/// than what they lose; those that run over into each other become one. No two heights are equal.
fn risen(size: Size, ground: &[i32], rain: &[i32], dry: i64) -> Vec<i32> {
    // Where each cell runs to: a pit, or over the border.
    let end = |mut at: usize| loop {
        let slope = |(d, n): (usize, usize)| {
            let fall = i128::from(ground[at]) - i128::from(ground[n]);
            (fall.signum() * fall * fall * if d % 2 == 0 { 2 } else { 1 }, std::cmp::Reverse(d), n)
        };
        let around = near(size, at);
        let ways = around.iter().enumerate().filter_map(|(d, n)| n.map(|n| (d, n)));
        match ways.map(slope).max() {
            Some((fall, _, n)) if fall > 0 => at = n,
            _ => break (!around.contains(&None)).then_some(at),
        }
    };
    let ends: Vec<Option<usize>> = (0..ground.len()).map(end).collect();
    let mut pools: Vec<Pool> = vec![];
    for pit in (0..ground.len()).filter(|&cell| ends[cell] == Some(cell)) {
        pools.push(Pool { pits: vec![pit], level: ground[pit], over: None });
    }
    let inside = |pool: &Pool, cell: usize| ends[cell].is_some_and(|pit| pool.pits.contains(&pit));
    // The height of the lowest way out of a pool, and the pit beyond.
    let rim = |pool: &Pool| {
        let mut ways = vec![];
        for cell in (0..ground.len()).filter(|&cell| inside(pool, cell)) {
            ways.extend(near(size, cell).into_iter().map(|n| match n {
                None => (ground[cell], 0, None),
                Some(n) if inside(pool, n) => (i32::MAX, 0, None),
                // Of ways over one cell the first clockwise from the east.
                Some(n) => {
                    let [high, low] = if ground[cell] > ground[n] { [cell, n] } else { [n, cell] };
                    let turn = near(size, high).iter().position(|m| *m == Some(low)).unwrap();
                    (ground[high], turn + 1, ends[n])
                }
            }));
        }
        ways.into_iter().min_by_key(|(height, turn, _)| (*height, *turn)).unwrap()
    };
    loop {
        // What comes into each, with what runs over, until nothing changes.
        let below = |pool: &Pool, level: i32| {
            (0..ground.len()).filter(|&cell| inside(pool, cell) && ground[cell] < level).count()
                as i64
                * dry
        };
        let falls = |pool: &Pool| -> i64 {
            (0..ground.len())
                .filter(|&cell| inside(pool, cell))
                .map(|cell| i64::from(rain[cell]))
                .sum()
        };
        let own: Vec<i64> = pools.iter().map(falls).collect();
        let mut comes = own.clone();
        for _ in 0..=pools.len() {
            let mut next = own.clone();
            for (n, pool) in pools.iter().enumerate() {
                if let Some(Some(pit)) = pool.over {
                    let to = pools.iter().position(|other| other.pits.contains(&pit)).unwrap();
                    next[to] += comes[n] - below(pool, pool.level);
                }
            }
            comes = next;
        }
        let mut changed = false;
        for (pool, comes) in pools.iter_mut().zip(&comes).filter(|(pool, _)| pool.over.is_none()) {
            let (height, _, beyond) = rim(pool);
            let cells =
                (0..ground.len()).filter(|&cell| inside(pool, cell) && ground[cell] > pool.level);
            let next = cells.map(|cell| ground[cell]).min().map_or(height, |next| next.min(height));
            if below(pool, next) <= *comes {
                pool.over = (next == height).then_some(beyond);
                changed = pool.level != next || pool.over.is_some();
                pool.level = next;
            }
        }
        let pair = (0..pools.len()).flat_map(|a| (0..a).map(move |b| (a, b))).find(|&(a, b)| {
            let into = |a: usize, b: usize| {
                matches!(pools[a].over,
                Some(Some(pit)) if pools[b].pits.contains(&pit))
            };
            into(a, b) && into(b, a)
        });
        if let Some((a, b)) = pair {
            let gone = pools.swap_remove(a);
            pools[b].pits.extend(gone.pits);
            pools[b].over = None;
            changed = true;
        }
        if !changed {
            break;
        }
    }
    let level = |cell: usize| {
        pools.iter().find(|pool| inside(pool, cell)).map_or(i32::MIN, |pool| pool.level)
    };
    (0..ground.len()).map(|cell| ground[cell].max(level(cell))).collect()
}

/// Any land, level or not, as it is or bent to basins of 5 cells a side, and a sea or none.
fn land() -> impl Strategy<Value = (usize, Vec<i32>, Option<i32>)> {
    let height = prop_oneof![Just(0..3i32), Just(-20..20), Just(-2_147_221_504..2_147_221_504)];
    let sides = (1usize..14, 1usize..14, 0..4i32, height);
    let heights = sides.prop_flat_map(|(w, h, bend, heights)| {
        (Just((w, bend)), prop::collection::vec(heights, w * h))
    });
    (heights, prop::option::of(-30i32..10)).prop_map(|(((width, bend), mut ground), sea)| {
        let away = |at: usize| (at as i32 % 5 - 2).abs();
        ground
            .iter_mut()
            .enumerate()
            .for_each(|(i, height)| *height += 20 * bend * (away(i % width) + away(i / width)));
        (width, ground, sea)
    })
}

/// Rain, and how many times as much a lake loses.
fn climate() -> impl Strategy<Value = (Vec<i32>, f64)> {
    let rain = prop_oneof![Just(65536..=65536), Just(0..=65536)]
        .prop_flat_map(|rain| prop::collection::vec(rain, 196));
    (rain, prop_oneof![0.0..3.0, 1.0..12.0, 3.0..60.0])
}

/// Lakes have the levels of those that rise cell by cell until they lose what comes in.
/// Holds C29.
#[test]
fn lakes_are_those_that_rise_cell_by_cell() {
    let mut runner = proptest::test_runner::TestRunner::new(config(250));
    // Few high rims and many: heights that are all different, in a random order, or bent to basins.
    let land = (1usize..14, 1usize..14, Just((0..196).collect::<Vec<i32>>()).prop_shuffle(), 0..4);
    let kinds: [Cell<usize>; 3] = Default::default();
    let count = |kind: usize, more: usize| kinds[kind].set(kinds[kind].get() + more);
    let done = runner.run(&(land, climate()), |((width, height, order, bend), (rain, times))| {
        let size = Size { width, height };
        let lift = |cell: usize| {
            bend * (20 * ((cell % width) as i32 % 5 - 2).abs()
                + 20 * ((cell / width) as i32 % 5 - 2).abs())
        };
        let ground: Vec<i32> =
            (0..width * height).map(|cell| 1000 * lift(cell) + order[cell]).collect();
        let rain = &rain[..ground.len()];
        let found = water(&ground, width, Some(rain), &losing(times));
        let dry = (times * 100.0 / 100.0 * 65536.0).round() as i64;
        let expected =
            if dry == 0 { flooded(size, &ground) } else { risen(size, &ground, rain, dry) };
        prop_assert_eq!(&found.surface, &expected);
        holds(size, &found);
        count(0, found.lakes.iter().filter(|lake| lake.outlet.is_none()).count());
        count(1, found.lakes.iter().filter(|lake| lake.outlet.is_some()).count());
        count(
            2,
            (0..ground.len())
                .filter(|&cell| found.directions[cell] == SINK && !found.is_wet(cell))
                .count(),
        );
        Ok(())
    });
    done.unwrap();
    assert!(kinds.iter().all(|kind| kind.get() > 50), "closed, open, dry: {kinds:?}");
}

/// What comes into a cell goes on or evaporates, and what falls evaporates or leaves at mouths, to
/// the unit; no lake is higher than a full one. Returns how many lakes run over, and how many of
/// these lose for all of their cells.
fn closes(
    width: usize,
    ground: &[i32],
    sea: Option<i32>,
    rain: &[i32],
    times: f64,
) -> Result<[usize; 2], TestCaseError> {
    let size = Size { width, height: ground.len() / width };
    let settings =
        Settings { sea_level_m: sea.map(|sea| f64::from(sea) / 26214.4), ..losing(times) };
    let found = water(ground, width, Some(rain), &settings);
    holds(size, &found);
    let full = water(ground, width, Some(rain), &Settings { evaporation_mm: 0.0, ..settings });
    prop_assert!(found.surface.iter().zip(&full.surface).all(|(a, b)| a <= b));
    let Some(left) = &found.left else { return Ok([0, 0]) };
    let dry = (times * 65536.0).round() as i64;
    // What comes into each cell goes on, less what lakes lose that leave there: their loss, or all.
    let mut comes: Vec<i64> = (0..ground.len()).map(|cell| i64::from(rain[cell])).collect();
    for (cell, left) in left.iter().enumerate() {
        if let Some(to) = size.target(cell, found.directions[cell]) {
            comes[to] += left;
        }
    }
    let (mut gone, mut lakes, mut whole) = (0, 0, 0);
    for lake in &found.lakes {
        let Some(outlet) = lake.outlet.map(|outlet| outlet as usize) else { continue };
        let leaves = |cell: &&u32| {
            size.target(**cell as usize, found.directions[**cell as usize]) == Some(outlet)
        };
        let leaving: i64 = lake.cells.iter().filter(leaves).map(|cell| left[*cell as usize]).sum();
        let loss = dry * lake.cells.len() as i64;
        comes[outlet] -= loss.min(leaving);
        gone += loss.min(leaving);
        lakes += 1;
        whole += usize::from(loss <= leaving);
    }
    prop_assert!(left.iter().all(|left| *left >= 0));
    prop_assert_eq!(left, &comes);
    let out: i64 = found.mouths().into_iter().map(|mouth| left[mouth]).sum();
    let land = (0..ground.len()).filter(|&cell| found.directions[cell] != SEA);
    prop_assert_eq!(out + gone, land.map(|cell| i64::from(rain[cell])).sum::<i64>());
    Ok([lakes, whole])
}

/// The budget of any land, also where it is level.
#[test]
fn the_budget_closes() {
    let [lakes, whole]: [Cell<usize>; 2] = Default::default();
    let mut runner = proptest::test_runner::TestRunner::new(config(250));
    let done = runner.run(&(land(), climate()), |((width, ground, sea), (rain, times))| {
        let [over, all] = closes(width, &ground, sea, &rain[..ground.len()], times)?;
        lakes.set(lakes.get() + over);
        whole.set(whole.get() + all);
        Ok(())
    });
    done.unwrap();
    // Few lakes get less than they lose, since land drains to the cell where they run over.
    println!("{} of {} lakes", whole.get(), lakes.get());
    assert!(
        lakes.get() > 100 && whole.get() * 10 > lakes.get() * 9,
        "{} of {}",
        whole.get(),
        lakes.get()
    );
}

/// One lake above another, which gets less than it would lose: what the upper one has lost is not
/// there to lose again.
#[test]
fn the_budget_of_a_chain_of_lakes_closes() {
    let mut ground = [0; 27];
    ground[5] = -1_281_823_966;
    ground[9..11].copy_from_slice(&[-1_430_082_383, -1_430_082_384]);
    (ground[13], ground[15], ground[19], ground[22]) =
        (-1_697_285_156, -1_372_251_002, -1_372_251_003, -1_372_251_003);
    let rain = [
        30031, 54612, 7284, 668, 63597, 49068, 59398, 15666, 55409, 18731, 64291, 56229, 26211,
        2661, 26680, 13248, 39287, 20730, 51971, 44031, 4614, 23108, 31094, 33287, 22548, 58782,
        16364,
    ];
    let [lakes, whole] = closes(3, &ground, None, &rain, 2.165552580023272).unwrap();
    assert!(lakes > 1 && whole < lakes, "{whole} of {lakes}");
}

/// Of two bowls the one with rain fills to its rim, and the other keeps what runs over: two units
/// of water, so its two lowest cells are wet. So it is whichever of them lies in the west.
#[test]
fn what_runs_over_comes_to_rest_beyond_the_rim() {
    let floor = [900, 1, 2, 3, 4, 50, 10, 11, 900];
    let wet = [900, 3, 3, 3, 4, 50, 50, 50, 900];
    let rain = [0, 0, 0, 0, 0, 0, 65536, 65536, 0];
    let rows = |row: [i32; 9], beside: i32| [[beside; 9], row, [beside; 9]].concat();
    let turned = |mut row: [i32; 9]| {
        row.reverse();
        row
    };
    for turn in [|row| row, turned] {
        let found = water(&rows(turn(floor), 900), 9, Some(&rows(turn(rain), 0)), &losing(0.5));
        assert_eq!(found.surface, rows(turn(wet), 900));
        let mut sizes: Vec<_> =
            found.lakes.iter().map(|lake| (lake.cells.len(), lake.outlet.is_some())).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [(2, false), (2, true)]);
    }
}

/// At its ends: next to no loss leaves lakes full; a loss beyond all rain, or no run-off, leaves
/// none.
#[test]
fn the_ends_of_evaporation_have_results() {
    let ground: Vec<i32> = (0..400).map(|i| (thalweg::arith::mix(i) >> 8) as i32).collect();
    let full = water(&ground, 20, None, &all_lakes());
    let little = water(&ground, 20, None, &losing(1.0 / 65536.0));
    assert!(little.left.is_some() && full.lakes.len() > 5);
    assert_eq!(little.surface, full.surface);
    for settings in
        [losing(1000.0), Settings { runoff_mm: 0.0, evaporation_mm: 1.0, ..all_lakes() }]
    {
        let none = water(&ground, 20, None, &settings);
        assert_eq!(none.surface, ground);
        assert!(none.lakes.is_empty() && none.directions.contains(&SINK));
    }
}

/// A bowl of 21 x 21 cells whose lakes lose 20 times what a cell gives: 441 / 20 is more than the
/// 21 cells that are less than √8 cells from the middle, and less than the 25 that are no farther.
#[test]
fn a_bowl_has_a_salt_lake() {
    let side = 21i32;
    let ground: Vec<i32> =
        (0..side * side).map(|i| (i % side - 10).pow(2) + (i / side - 10).pow(2)).collect();
    let settings = Settings { channel_area_km2: Some(40.0 * 1e-4), ..losing(20.0) };
    let bowl = water(&ground, side as usize, None, &settings);
    assert_eq!(ground.iter().filter(|height| **height < 8).count(), 21);
    assert!(bowl.surface.iter().zip(&ground).all(|(surface, ground)| *surface == (*ground).max(8)));
    let found = bowl.vectors();
    let [lake] = &found.lakes[..] else { panic!("{:?}", found.lakes) };
    assert_eq!((lake.area_m2, lake.outlet, lake.reach), (2100.0, None, None));
    let [basin] = &found.basins[..] else { panic!("{:?}", found.basins) };
    assert_eq!(
        (basin.is_closed, basin.to_sea, basin.area_m2, basin.mouth),
        (true, false, 44100.0, [20, 20])
    );
    // Rivers end in the lake, where the water goes into the air.
    assert!(
        !found.reaches.is_empty()
            && found
                .reaches
                .iter()
                .all(|reach| reach.downstream.is_some() || reach.vertices.len() > 1)
    );
    assert!(found.points.iter().any(|point| point.kind == PointKind::Mouth));
    assert!(found.points.iter().all(|point| point.kind != PointKind::Outlet));
    let map = Map {
        width: 21,
        height: 21,
        spacing_m: 10.0,
        data: vec![0.0; 441],
        range_m: None,
        georef: None,
    };
    let files = vector::encode(&found, &map, VectorFormat::GeoJson).unwrap();
    let kind = |file: &str, key: &str| {
        let (_, bytes) = files.iter().find(|(name, _)| name == file).unwrap();
        let text: Value = serde_json::from_slice(bytes).unwrap();
        text["features"][0]["properties"][key].as_str().unwrap().to_string()
    };
    assert_eq!(
        (kind("lakes.geojson", "kind").as_str(), kind("basins.geojson", "ends").as_str()),
        ("closed lake", "depression")
    );
    assert_eq!(bowl.summary()["closed_lakes"], 1);
    // With half of the loss the 44 cells that it keeps reach the next ring; with a small one it
    // runs over, and gives what it does not lose.
    let over = water(&ground, side as usize, None, &losing(0.5));
    assert_eq!(over.lakes.len(), 1);
    assert!(over.lakes[0].outlet.is_some());
    let out: i64 = over.mouths().into_iter().map(|mouth| over.left.as_ref().unwrap()[mouth]).sum();
    assert_eq!(out, 441 * 65536 - over.lakes[0].cells.len() as i64 * 32768);
    assert!(over.directions.contains(&OUT));
}

/// Lines, polygons and points are those of the maps, also where lakes have no outlet.
#[test]
fn vectors_agree_with_the_maps() {
    let mut runner = proptest::test_runner::TestRunner::new(config(150));
    let closed = Cell::new(0);
    let done = runner.run(
        &(land(), climate(), 0.0f64..8.0),
        |((width, ground, sea), (rain, times), cells)| {
            let settings = Settings {
                sea_level_m: sea.map(|sea| f64::from(sea) / 26214.4),
                channel_area_km2: Some(cells * 1e-4),
                ..losing(times)
            };
            let found = water(&ground, width, Some(&rain[..ground.len()]), &settings);
            let vectors = found.vectors();
            let (order, basins, depth) = (found.stream_order(), found.basins(), found.depth());
            let metres = |words: i64| words as f64 / 26214.4;
            let middle = |cell: usize| [(cell % width) as i32 * 2, (cell / width) as i32 * 2];
            let mut wet = vec![false; ground.len()];
            for lake in &vectors.lakes {
                let own: Vec<usize> = (0..ground.len())
                    .filter(|&cell| found.is_wet(cell) && within(&lake.polygons, middle(cell)))
                    .collect();
                own.iter().for_each(|&cell| wet[cell] = true);
                prop_assert_eq!(lake.area_m2, own.len() as f64 * 100.0);
                prop_assert!(
                    own.iter()
                        .all(|&cell| lake.level_m == metres(found.surface[cell].into()) as f32)
                );
                let deepest = own.iter().map(|&cell| i64::from(depth[cell])).max().unwrap();
                prop_assert!((lake.depth_m - metres(deepest)).abs() <= 1e-9 * lake.depth_m);
                let volume = metres(own.iter().map(|&cell| i64::from(depth[cell])).sum()) * 100.0;
                prop_assert!((lake.volume_m3 - volume).abs() <= 1e-9 * volume);
                let runs_over = own.iter().any(|&cell| {
                    size_of(width, &ground)
                        .target(cell, found.directions[cell])
                        .is_some_and(|to| !own.contains(&to))
                });
                prop_assert_eq!(lake.outlet.is_some(), runs_over, "{:?}", lake);
                closed.set(closed.get() + usize::from(lake.id > 0 && !runs_over));
            }
            prop_assert!((0..ground.len()).all(|cell| wet[cell] == found.is_wet(cell)));
            for basin in &vectors.basins {
                let cells = (0..ground.len()).filter(|&cell| basins[cell] == basin.id as i32);
                prop_assert_eq!(basin.area_m2, cells.count() as f64 * 100.0);
                let mouth = basin.mouth[1] as usize / 2 * width + basin.mouth[0] as usize / 2;
                prop_assert_eq!(basin.is_closed, found.directions[mouth] == SINK);
            }
            let on: usize = vectors.reaches.iter().map(|reach| reach.vertices.len() - 1).sum();
            prop_assert_eq!(on, order.iter().filter(|order| **order > 0).count());
            for reach in &vectors.reaches {
                prop_assert!(
                    reach.vertices.windows(2).all(|pair| pair[1].height_m <= pair[0].height_m)
                );
                let next = reach.downstream.map(|down| &vectors.reaches[down as usize - 1]);
                prop_assert!(next.is_none_or(
                    |next| next.vertices[0].at == reach.vertices[reach.vertices.len() - 1].at
                ));
            }
            rivers_end(size_of(width, &ground), &found, &vectors);
            // Beds that are cut for the water that is left never rise: only a lake takes of it, and
            // of its own water.
            let mut carved = found.clone();
            let beds = carved.carve();
            for cell in
                (0..ground.len()).filter(|&cell| found.is_river(cell) && !found.is_wet(cell))
            {
                let to = size_of(width, &ground).target(cell, found.directions[cell]);
                if let Some(to) = to.filter(|&to| found.is_river(to)) {
                    prop_assert!(beds.ground[to] <= beds.ground[cell], "a bed rises");
                }
            }
            Ok(())
        },
    );
    done.unwrap();
    assert!(closed.get() > 30, "{}", closed.get());
}

/// Every line ends in the sea, in a lake, at the border, in a dry depression or where another
/// begins, and points say so. The maps of rivers have the same cells.
fn rivers_end(size: Size, found: &Water, vectors: &Vectors) {
    let cell_of = |[x, y]: [i32; 2]| y as usize / 2 * size.width + x as usize / 2;
    let mut on = vec![false; size.cells()];
    for reach in &vectors.reaches {
        let (last, way) = reach.vertices.split_last().unwrap();
        way.iter().for_each(|vertex| on[cell_of(vertex.at)] = true);
        let ends: Vec<PointKind> = vectors
            .points
            .iter()
            .filter(|point| {
                point.reach == Some(reach.id)
                    && [PointKind::Mouth, PointKind::Sink].contains(&point.kind)
            })
            .map(|point| point.kind)
            .collect();
        if let Some(down) = reach.downstream {
            assert_eq!(
                (vectors.reaches[down as usize - 1].vertices[0].at, ends),
                (last.at, vec![])
            );
            continue;
        }
        let [x, y] = last.at;
        let off_the_map = x < 0
            || y < 0
            || x as usize / 2 >= size.width
            || y as usize / 2 >= size.height
            || x == size.width as i32 * 2 - 1
            || y == size.height as i32 * 2 - 1;
        if off_the_map {
            assert_eq!(ends, [PointKind::Mouth]);
            continue;
        }
        let in_lakes = vectors.lakes.iter().any(|lake| within(&lake.polygons, last.at));
        assert_eq!(
            ends,
            [if in_lakes { PointKind::Mouth } else { PointKind::Sink }],
            "{:?}",
            last.at
        );
        // A line that ends on dry ground does so in a pit.
        let here = cell_of(last.at);
        assert!(
            in_lakes
                || near(size, here)
                    .into_iter()
                    .flatten()
                    .all(|n| found.ground[n] >= found.ground[here])
        );
    }
    let (order, width) = (found.stream_order(), found.river_width());
    for cell in 0..size.cells() {
        assert_eq!((order[cell] > 0, found.is_river(cell)), (on[cell], on[cell]));
        // Where no rain falls nothing may be left of a river.
        assert_eq!(
            width[cell] != 0,
            on[cell] && found.left.as_ref().is_none_or(|left| left[cell] > 0)
        );
    }
}

/// Rivers that lakes have made less than a river begins with go on to their ends.
#[test]
fn a_river_that_has_begun_goes_on_to_its_end() {
    let (width, height) = (60, 50);
    let mut less = [0; 3];
    for seed in 0..12 {
        let ground = hills(width, height, seed);
        for (times, less) in [0.0, 4.0, 15.0].into_iter().zip(&mut less) {
            for lake_min_m2 in [Some(0.0), None] {
                let settings = Settings {
                    sea_level_m: Some(0.0),
                    channel_area_km2: Some(12e-4),
                    lake_min_m2,
                    ..losing(times)
                };
                let found = water(&ground, width, None, &settings);
                rivers_end(Size { width, height }, &found, &found.vectors());
                let Some(left) = &found.left else { continue };
                *less += (0..ground.len())
                    .filter(|&cell| found.is_river(cell) && left[cell] < 12 * 65536)
                    .count();
            }
        }
    }
    assert!(less[1] > 50 && less[2] > 50, "{less:?}");
}

fn size_of(width: usize, ground: &[i32]) -> Size {
    Size { width, height: ground.len() / width }
}

/// Recipes have it, and without it nothing is said of it.
#[test]
fn recipes_say_what_evaporates() {
    let text = |rest: &str| {
        format!(
            "schema = 2\nwidth = 9\nheight = 9\nspacing_m = 20\n[[stage]]\n\
             kind = \"diamond_square\"\nrelief_m = 300\n[water]\n{rest}"
        )
    };
    let read = |rest: &str| Recipe::from_toml(&text(rest), "", "x").unwrap();
    let recipe = read("evaporation_mm = 1500\n");
    let again = Recipe::from_json(&recipe.describe().to_string(), "", "x").unwrap();
    assert_eq!(
        (again.water, recipe.water.unwrap().evaporation_mm),
        (read("evaporation_mm = 1500\n").water, 1500.0)
    );
    assert!(!read("").describe().to_string().contains("evaporation"));
}
