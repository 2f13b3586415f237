//! Water: lakes as a slow flood makes them, directions against fractions, areas that add up, and
//! made land with the rivers that it must have.

use crate::common::{config, cpu};
use proptest::prelude::*;
use std::collections::{BTreeSet, BinaryHeap};
use thalweg::arith::CELL;
use thalweg::recipe::Recipe;
use thalweg::site::Scale;
use thalweg::water::directions::{AROUND, OUT, Routing, SEA, SINK, Size};
use thalweg::water::{AreaRouting, Settings, Through, Water};
use thalweg::{Device, Job};

fn water(ground: &[i32], width: usize, settings: &Settings) -> Water {
    Water::of(ground.to_vec(), width, Scale::of(10.0), None, settings).unwrap()
}

/// Settings in which every depression that is full is a lake, however small.
pub fn all_lakes() -> Settings {
    Settings { lake_min_m2: Some(0.0), ..Settings::default() }
}

fn breach() -> Settings {
    Settings { depressions: Through::Breach, ..all_lakes() }
}

/// The neighbour in each direction.
pub fn near(size: Size, cell: usize) -> [Option<usize>; 8] {
    let (x, y) = ((cell % size.width) as isize, (cell / size.width) as isize);
    AROUND.map(|(dx, dy)| {
        let (x, y) = (x + dx, y + dy);
        let on = (0..size.width as isize).contains(&x) && (0..size.height as isize).contains(&y);
        on.then(|| y as usize * size.width + x as usize)
    })
}

/// The flood from the border inwards, cell by cell: the textbook's, and another program than the
/// one under test.
pub fn flooded(size: Size, ground: &[i32]) -> Vec<i32> {
    let mut level = vec![None; ground.len()];
    let mut front = BinaryHeap::new();
    for cell in (0..ground.len()).filter(|&cell| near(size, cell).contains(&None)) {
        level[cell] = Some(ground[cell]);
        front.push((std::cmp::Reverse(ground[cell]), cell));
    }
    while let Some((std::cmp::Reverse(z), cell)) = front.pop() {
        for n in near(size, cell).into_iter().flatten() {
            if level[n].is_none() {
                level[n] = Some(z.max(ground[n]));
                front.push((std::cmp::Reverse(z.max(ground[n])), n));
            }
        }
    }
    level.into_iter().map(Option::unwrap).collect()
}

/// What holds of all water: it never goes up, ends, and all of it comes out.
pub fn holds(size: Size, water: &Water) {
    let mut upstream = vec![1u64; water.ground.len()];
    let mut out = 0u64;
    for start in 0..water.ground.len() {
        let (mut at, mut steps) = (start, 0);
        while let Some(to) = AROUND
            .get(usize::from(water.directions[at]))
            .and(near(size, at).get(usize::from(water.directions[at])))
        {
            let to = to.expect("a direction off the map");
            assert!(water.surface[to] <= water.surface[at], "uphill");
            upstream[to] += 1;
            (at, steps) = (to, steps + 1);
            assert!(steps < water.ground.len(), "a circle");
        }
        assert!([OUT, SEA, SINK].contains(&water.directions[at]));
        out += 1;
    }
    let counted: Vec<u64> = water.cells.iter().map(|&n| n.into()).collect();
    assert_eq!(counted, upstream);
    let ends = (0..upstream.len())
        .filter(|&cell| water.directions[cell] >= OUT)
        .map(|cell| counted[cell])
        .sum::<u64>();
    assert_eq!(ends, out);
    // The mouths have the land, and nothing else.
    let land = water.directions.iter().filter(|&&d| d != SEA).count() as u64;
    assert_eq!(water.mouths().into_iter().map(|mouth| counted[mouth]).sum::<u64>(), land);
    let basins: BTreeSet<i32> = water.basins().into_iter().collect();
    assert_eq!(basins.len(), water.mouths().len() + usize::from(land < out));
    // All water of a lake leaves through one cell.
    for lake in &water.lakes {
        let cells: BTreeSet<u32> = lake.cells.iter().copied().collect();
        for &cell in &lake.cells {
            if lake.outlet.is_none() && water.directions[cell as usize] == SINK {
                continue;
            }
            let to = near(size, cell as usize)[usize::from(water.directions[cell as usize])]
                .unwrap() as u32;
            assert!(cells.contains(&to) || Some(to) == lake.outlet);
        }
    }
}

fn land() -> impl Strategy<Value = (usize, Vec<i32>)> {
    // From plateaus to heights that are all different, up to the ends of the range.
    let height = prop_oneof![Just(0..3i32), Just(-20..20), Just(-2_147_221_504..2_147_221_504)];
    (1usize..14, 1usize..14, height)
        .prop_flat_map(|(w, h, heights)| (Just(w), prop::collection::vec(heights, w * h)))
}

#[test]
fn water_of_any_land_runs_down_and_comes_out_and_lakes_are_those_of_a_slow_flood() {
    let mut runner = proptest::test_runner::TestRunner::new(config(300));
    let done = runner.run(&(land(), -25i32..25), |((width, ground), sea)| {
        let size = Size { width, height: ground.len() / width };
        let dry = water(&ground, width, &all_lakes());
        holds(size, &dry);
        let level = flooded(size, &ground);
        prop_assert_eq!(&dry.surface, &level);
        for cell in 0..ground.len() {
            // Slopes as fractions: a fall f over √2 squared is f² / 2.
            let slope = |d: usize, n: usize| {
                let fall = i128::from(level[cell]) - i128::from(level[n]);
                if fall > 0 { fall * fall * if d.is_multiple_of(2) { 2 } else { 1 } } else { 0 }
            };
            let slopes: Vec<i128> = near(size, cell)
                .into_iter()
                .enumerate()
                .map(|(d, n)| n.map_or(0, |n| slope(d, n)))
                .collect();
            let steepest = *slopes.iter().max().unwrap();
            if steepest > 0 {
                let first = slopes.iter().position(|s| *s == steepest).unwrap();
                prop_assert_eq!(usize::from(dry.directions[cell]), first);
            }
        }
        // To the lowest neighbour: the largest fall, and of equal ones the first.
        let low = water(&ground, width, &Settings { routing: Routing::Lowest, ..all_lakes() });
        holds(size, &low);
        prop_assert_eq!(&low.surface, &level);
        for cell in 0..ground.len() {
            let falls = near(size, cell)
                .map(|n| n.map_or(0, |n| i64::from(level[cell]) - i64::from(level[n])));
            let largest = falls.into_iter().max().unwrap();
            if largest > 0 {
                let first = falls.iter().position(|fall| *fall == largest).unwrap();
                prop_assert_eq!(usize::from(low.directions[cell]), first);
            }
        }
        let cut = water(&ground, width, &breach());
        holds(size, &cut);
        holds(size, &water(&ground, width, &Settings { routing: Routing::Lowest, ..breach() }));
        prop_assert!(cut.depth().iter().all(|depth| *depth == 0));
        // A sea: what lies below it and touches the border or the sea is sea, and nothing else.
        let shore = f64::from(sea) * 10.0 / f64::from(CELL);
        let wet = water(&ground, width, &Settings { sea_level_m: Some(shore), ..all_lakes() });
        holds(size, &wet);
        for (cell, height) in ground.iter().enumerate() {
            let touches =
                near(size, cell).into_iter().any(|n| n.is_none_or(|n| wet.directions[n] == SEA));
            prop_assert_eq!(wet.directions[cell] == SEA, *height < sea && touches);
        }
        Ok(())
    });
    done.unwrap();
}

/// A valley that falls to the south: all its water is in its middle, and its river grows as it
/// must.
/// Holds A18, C29.
#[test]
fn a_valley_has_one_river() {
    let (width, height) = (41usize, 60usize);
    let ground: Vec<i32> = (0..width * height)
        .map(|i| 100 * (i as i32 % 41 - 20).abs() - 3 * (i as i32 / 41))
        .collect();
    let settings = Settings { channel_area_km2: Some(41.0 * 30.0 * 1e-4), ..all_lakes() };
    let river = water(&ground, width, &settings);
    // To the middle it is steeper than along the valley, and the diagonal that also goes down it is
    // less steep: (100 + 3)² / 2 < 100².
    let order = river.stream_order();
    for y in 0..height {
        let middle = y * width + 20;
        assert_eq!(river.cells[middle], 41 * (y as u32 + 1), "{y}");
        assert_eq!(order[middle], i32::from(y >= 29));
        assert!((0..20).all(|x| order[y * width + x] == 0));
    }
    // 41 · 60 cells of 100 m² with 500 mm a year.
    let discharge = 41.0 * 60.0 * 100.0 * 0.5 / 31_557_600.0f64;
    let width_m = f32::from_bits(river.river_width()[59 * width + 20] as u32);
    assert!((f64::from(width_m) - 5.0 * discharge.sqrt()).abs() < 1e-7);
    let distance = river.distance();
    assert_eq!(f32::from_bits(distance[40 * width] as u32), 200.0);
    assert_eq!(f32::from_bits(distance[28 * width + 20] as u32), 10.0);
    // Rain counts: half of it, half the area.
    let rain = vec![32768; ground.len()];
    let half = Water::of(ground, width, Scale::of(10.0), Some(rain), &settings).unwrap();
    assert_eq!(
        f32::from_bits(half.drainage_area()[59 * width + 20] as u32),
        41.0 * 60.0 * 100.0 / 2.0
    );
    assert_eq!(half.stream_order()[50 * width + 20], 0);
}

/// The shares of multiple flow, by another way: from the highest cell down, and within level ground
/// from far to near. All of it comes out.
#[test]
fn spread_water_is_shared_by_slope_and_none_is_lost() {
    let mut runner = proptest::test_runner::TestRunner::new(config(200));
    let rain = prop::collection::vec(0i32..=65536, 196);
    let done = runner.run(
        &(land(), rain, -25i32..25, any::<bool>()),
        |((width, ground), rain, sea, cuts)| {
            let size = Size { width, height: ground.len() / width };
            let rain = rain[..ground.len()].to_vec();
            let depressions = if cuts { Through::Breach } else { Through::Fill };
            let shore = f64::from(sea) * 10.0 / f64::from(CELL);
            let settings = Settings {
                area_routing: AreaRouting::Mfd,
                depressions,
                sea_level_m: Some(shore),
                ..all_lakes()
            };
            let found =
                Water::of(ground.clone(), width, Scale::of(10.0), Some(rain.clone()), &settings)
                    .unwrap();
            let spread = found.spread.as_ref().unwrap();
            let next = |cell: usize| {
                AROUND
                    .get(usize::from(found.directions[cell]))
                    .and(near(size, cell)[usize::from(found.directions[cell]) % 8])
            };
            let far = |cell: usize| std::iter::successors(Some(cell), |&at| next(at)).count();
            let mut order: Vec<usize> =
                (0..ground.len()).filter(|&cell| found.directions[cell] != SEA).collect();
            order.sort_by_key(|&cell| std::cmp::Reverse((found.surface[cell], far(cell))));
            let mut expected: Vec<i64> = rain.iter().map(|&rain| rain.into()).collect();
            for cell in order {
                let fall =
                    |n: usize| i128::from(found.surface[cell]) - i128::from(found.surface[n]);
                // Slope times contour: f · ½ along axes, f / √2 · √2 / 4 along diagonals, in
                // quarters.
                let ways = near(size, cell)
                    .into_iter()
                    .enumerate()
                    .filter_map(|(d, n)| n.map(|n| (n, fall(n) * if d % 2 == 0 { 2 } else { 1 })));
                let mut ways: Vec<(usize, i128)> = ways.filter(|(_, weight)| *weight > 0).collect();
                if found.directions[cell] == OUT {
                    ways.clear();
                } else if ways.is_empty() {
                    ways.extend(next(cell).map(|n| (n, 1)));
                }
                let (all, sum) =
                    (i128::from(expected[cell]), ways.iter().map(|way| way.1).sum::<i128>());
                let heaviest = ways.iter().map(|way| way.1).max();
                let mut rest = expected[cell];
                for (n, weight) in &ways {
                    expected[*n] += (all * weight / sum) as i64;
                    rest -= (all * weight / sum) as i64;
                }
                if let Some((n, _)) = ways.iter().find(|way| Some(way.1) == heaviest) {
                    expected[*n] += rest;
                }
            }
            prop_assert_eq!(spread, &expected);
            let ends = (0..ground.len())
                .filter(|&cell| found.directions[cell] >= OUT)
                .map(|cell| spread[cell])
                .sum::<i64>();
            prop_assert_eq!(ends, rain.iter().map(|&rain| i64::from(rain)).sum::<i64>());
            Ok(())
        },
    );
    done.unwrap();
}

/// A cone has no direction of its own: what drains at one distance from its top is nearly the same
/// all round, which it is not where water keeps to eight directions.
#[test]
fn spread_water_knows_no_eight_directions() {
    let side = 121i32;
    let away = |cell: i32| f64::from((cell % side - 60).pow(2) + (cell / side - 60).pow(2)).sqrt();
    let ground: Vec<i32> =
        (0..side * side).map(|cell| (-away(cell) * 1000.0).round() as i32).collect();
    let uneven = |area_routing| {
        let settings = Settings { area_routing, ..all_lakes() };
        let area = water(&ground, side as usize, &settings).drainage_area();
        let ring: Vec<f64> = (0..side * side)
            .filter(|&cell| (49.5..50.5).contains(&away(cell)))
            .map(|cell| f64::from(f32::from_bits(area[cell as usize] as u32)))
            .collect();
        let mean = ring.iter().sum::<f64>() / ring.len() as f64;
        (ring.iter().map(|area| (area - mean).powi(2)).sum::<f64>() / ring.len() as f64).sqrt()
            / mean
    };
    let [single, multiple] = [AreaRouting::D8, AreaRouting::Mfd].map(uneven);
    assert!(multiple < 0.35 && single > 3.0 * multiple, "{single} {multiple}");
}

/// Two streams of an order make the next one, and a lesser one changes nothing.
#[test]
fn orders_are_strahlers() {
    #[rustfmt::skip]
    let ground = [
        9, 9, 9, 9, 9, 9, 9,
        9, 5, 9, 5, 9, 9, 9,
        9, 9, 4, 9, 9, 5, 9,
        9, 9, 9, 3, 4, 9, 9,
        9, 9, 9, 2, 9, 9, 9,
        9, 9, 9, 1, 9, 9, 9,
    ];
    let river = water(
        &ground.map(|h| h * CELL),
        7,
        &Settings { channel_area_km2: Some(2.0e-4), ..all_lakes() },
    );
    let order = river.stream_order();
    let at = |x: usize, y: usize| order[y * 7 + x];
    assert_eq!(
        [at(1, 1), at(3, 1), at(2, 2), at(5, 2), at(4, 3), at(3, 3), at(3, 5)],
        [1, 1, 2, 1, 1, 2, 2]
    );
}

#[test]
fn distances_are_those_of_brute_force() {
    let mut runner = proptest::test_runner::TestRunner::new(config(60));
    let done = runner.run(
        &(1usize..20, 1usize..20, prop::collection::vec(0u8..12, 400)),
        |(width, height, dice)| {
            let (size, cells) = (Size { width, height }, width * height);
            // Lone pits are lakes of one cell.
            let ground: Vec<i32> = (0..cells).map(|i| if dice[i] == 0 { 0 } else { 10 }).collect();
            let found =
                water(&ground, width, &Settings { channel_area_km2: Some(1e12), ..all_lakes() });
            let wet: Vec<usize> = (0..cells).filter(|&cell| found.is_wet(cell)).collect();
            prop_assert_eq!(
                flooded(size, &ground).iter().zip(&ground).filter(|(a, b)| a > b).count(),
                wet.len()
            );
            for (cell, bits) in found.distance().into_iter().enumerate() {
                let square = |n: &usize| {
                    (n % width).abs_diff(cell % width).pow(2)
                        + (n / width).abs_diff(cell / width).pow(2)
                };
                let expected = wet
                    .iter()
                    .map(square)
                    .min()
                    .map_or(-1.0, |square| ((square as f64).sqrt() * 10.0) as f32);
                prop_assert_eq!(f32::from_bits(bits as u32), expected);
            }
            Ok(())
        },
    );
    done.unwrap();
}

/// Whether a lake is a puddle changes neither where water runs nor what it loses; but what is a
/// puddle has no depth, no polygon and no reach of its own.
#[test]
fn puddles_are_dry_and_change_no_way() {
    let mut runner = proptest::test_runner::TestRunner::new(config(200));
    let seen = std::cell::Cell::new([0usize; 2]);
    let rain = prop::collection::vec(0i32..=65536, 196);
    let done = runner.run(
        &(land(), rain, 0.0f64..3.0, 1.0f64..9.0),
        |((width, ground), rain, times, cells)| {
            let rain = rain[..ground.len()].to_vec();
            for evaporation_mm in [0.0, 500.0 * times] {
                let every =
                    Settings { evaporation_mm, channel_area_km2: Some(4e-4), ..all_lakes() };
                let of = |settings: &Settings| {
                    Water::of(ground.clone(), width, Scale::of(10.0), Some(rain.clone()), settings)
                        .unwrap()
                };
                let before = of(&every);
                let after = of(&Settings { lake_min_m2: Some(cells * 100.0), ..every.clone() });
                prop_assert_eq!(
                    (&before.directions, &before.surface),
                    (&after.directions, &after.surface)
                );
                prop_assert_eq!(
                    (&before.left, before.stream_order()),
                    (&after.left, after.stream_order())
                );
                let (lakes, small): (Vec<_>, Vec<_>) =
                    before.lakes.iter().cloned().partition(|lake| {
                        lake.outlet.is_none() || lake.cells.len() as f64 >= cells
                    });
                prop_assert_eq!(&after.lakes, &lakes);
                let small: BTreeSet<usize> =
                    small.iter().flat_map(|lake| &lake.cells).map(|&cell| cell as usize).collect();
                let (old, new) = (before.depth(), after.depth());
                for cell in 0..ground.len() {
                    prop_assert_eq!(after.is_puddle(cell), small.contains(&cell));
                    prop_assert_eq!(
                        after.is_wet(cell),
                        before.is_wet(cell) && !small.contains(&cell)
                    );
                    prop_assert_eq!(new[cell], if small.contains(&cell) { 0 } else { old[cell] });
                }
                prop_assert_eq!(before.distance(), after.distance());
                let [all, fewer] = [&before, &after].map(|water| water.vectors().reaches.len());
                prop_assert!(fewer <= all);
                seen.set([seen.get()[0] + small.len(), seen.get()[1] + all - fewer]);
            }
            Ok(())
        },
    );
    done.unwrap();
    assert!(seen.get().iter().all(|seen| *seen > 100), "{:?}", seen.get());
}

/// A valley with a pit of one cell in its river and one of twelve cells: by default the river runs
/// through the first, and crosses the second.
#[test]
fn rivers_run_through_puddles() {
    let (width, height) = (21usize, 90usize);
    let mut ground: Vec<i32> = (0..width * height)
        .map(|i| 1000 * (i as i32 % 21 - 10).abs() + 10 * (90 - i as i32 / 21))
        .collect();
    ground[40 * width + 10] -= 100;
    (60..72).for_each(|y| ground[y * width + 10] -= 300);
    let lengths = |settings: Settings| -> Vec<(Option<u32>, usize)> {
        let vectors =
            water(&ground, width, &Settings { channel_area_km2: Some(0.021), ..settings })
                .vectors();
        let [lake] = &vectors.lakes[..] else {
            return vectors.reaches.iter().map(|r| (r.lake, r.vertices.len())).collect();
        };
        // The 12 that were dug; its rim is the next one.
        assert_eq!((lake.area_m2, lake.reach.is_some()), (1200.0, true));
        vectors.reaches.iter().map(|reach| (reach.lake, reach.vertices.len())).collect()
    };
    // 0.021 km² are ten rows of 21 cells of 100 m². Reaches share their ends.
    assert_eq!(lengths(Settings::default()), [(None, 52), (Some(1), 13), (None, 19)]);
    let every = lengths(all_lakes());
    assert_eq!(
        every.iter().map(|(lake, _)| *lake).collect::<Vec<_>>(),
        [None, Some(1), None, Some(2), None]
    );
    assert_eq!(
        lengths(Settings { lake_min_m2: Some(1201.0), ..Settings::default() }),
        [(None, 82)]
    );
}

/// Where nothing runs off there is no river.
#[test]
fn without_run_off_there_are_no_rivers() {
    let ground: Vec<i32> = (0..900).map(|i| i * CELL).collect();
    for evaporation_mm in [0.0, 9.0] {
        let none = water(
            &ground,
            30,
            &Settings {
                runoff_mm: 0.0,
                evaporation_mm,
                channel_area_km2: Some(1e-4),
                ..all_lakes()
            },
        );
        assert!(none.stream_order().iter().chain(&none.river_discharge()).all(|word| *word == 0));
        assert!(none.vectors().reaches.is_empty() && none.vectors().points.is_empty());
    }
}

#[test]
fn the_ends_of_settings_have_results() {
    let ground: Vec<i32> = (0..30).map(|i| i * CELL).collect();
    let rivers = |settings: &Settings| {
        water(&ground, 6, settings).stream_order().into_iter().filter(|order| *order > 0).count()
    };
    let area = |km2| Settings { channel_area_km2: Some(km2), ..all_lakes() };
    assert_eq!(rivers(&area(0.0)), 30, "a threshold of 0: every cell that drains");
    assert_eq!(rivers(&area(1e12)), 0, "above the map");
    let sea = |level| Settings { sea_level_m: Some(level), ..all_lakes() };
    assert!(water(&ground, 6, &sea(1e6)).directions.iter().all(|d| *d == SEA), "all sea");
    assert!(water(&ground, 6, &sea(1e6)).mouths().is_empty());
    assert!(water(&ground, 6, &sea(-1e6)).directions.iter().all(|d| *d != SEA), "no sea");
    let one = water(&[7], 1, &all_lakes());
    assert_eq!((one.directions, one.cells), (vec![OUT], vec![1]));
    let flat = water(&[5; 49], 7, &all_lakes());
    assert_eq!(flat.cells[24], 1);
    assert!(flat.lakes.is_empty());
}

const RECIPE: &str = "schema = 2\nseed = 3\nwidth = 90\nheight = 70\nspacing_m = 20\n[[stage]]\n\
                      kind = \"diamond_square\"\nrelief_m = 300\n";
const MAPS: [&str; 8] = [
    "water_depth",
    "water_level",
    "drainage_area",
    "flow_direction",
    "stream_order",
    "basin",
    "river_width",
    "distance_to_water",
];

/// The maps of a recipe are those of the words of its height, on one thread as on two.
/// Holds D1 in part.
#[test]
fn recipes_have_maps_of_water() {
    let text = format!(
        "{RECIPE}[water]\nsea_level_m = 20\nchannel_area_km2 = 0.004\nlake_min_m2 = 0\n[output]\n\
         maps = {MAPS:?}\n"
    );
    let recipe = Recipe::from_toml(&text, "", "x").unwrap();
    let settings = recipe.water.clone().unwrap();
    let again = Recipe::from_json(&recipe.describe().to_string(), "", "x").unwrap();
    assert_eq!(again.water, recipe.water);
    let job = Job::new(recipe).unwrap().device(Device::Cpu);
    let made = job.run(&mut |_| Ok(())).unwrap();
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap()
        .install(|| job.run_on(&mut cpu(), &mut |_| Ok(())).unwrap());
    let own =
        Water::of(made.words("height").unwrap().to_vec(), 90, made.scale, None, &settings).unwrap();
    assert_eq!(made.words("water_depth").unwrap(), own.depth());
    assert_eq!(made.words("basin").unwrap(), own.basins());
    let highest = made.words("stream_order").unwrap().iter().max();
    let sea = own.directions.iter().filter(|d| **d == SEA).count();
    assert!(
        own.lakes.len() > 3 && highest > Some(&1) && sea > 0 && sea < 90 * 70,
        "{} {highest:?} {sea}",
        own.lakes.len()
    );
    for map in MAPS {
        assert_eq!(made.digest(map).unwrap(), one.digest(map).unwrap(), "{map}");
    }
}

/// Whoever goes by the codes of `flow_direction` from each cell passes each other cell as often as
/// `drainage_area` says.
#[test]
fn directions_lead_to_the_areas() {
    let text = format!(
        "{RECIPE}[water]\nsea_level_m = 20\n[output]\n\
         maps = [\"flow_direction\", \"drainage_area\", \"water_depth\"]\n"
    );
    let job = Job::new(Recipe::from_toml(&text, "", "x").unwrap()).unwrap().device(Device::Cpu);
    let made = job.run(&mut |_| Ok(())).unwrap();
    let map = |name: &str| made.map(name).unwrap().data;
    let (codes, areas) = (map("flow_direction"), map("drainage_area"));
    let step = |code: f32| match code as u32 {
        1 => (1, 0),
        2 => (1, 1),
        4 => (0, 1),
        8 => (-1, 1),
        16 => (-1, 0),
        32 => (-1, -1),
        64 => (0, -1),
        128 => (1, -1),
        other => panic!("code {other}"),
    };
    let mut passed = vec![0u32; codes.len()];
    for cell in 0..codes.len() {
        let mut at = cell;
        passed[at] += 1;
        while codes[at] != 0.0 {
            let (x, y) = step(codes[at]);
            at = at.strict_add_signed(90 * y + x);
            passed[at] += 1;
        }
    }
    assert!(passed.iter().any(|count| *count > 100), "no river");
    for (cell, count) in passed.into_iter().enumerate() {
        assert_eq!(f64::from(areas[cell]), f64::from(count) * 400.0, "cell {cell}");
    }
}

/// Where no area is given, rivers begin at a thousandth of the whole land, on each of its levels.
#[test]
fn rivers_begin_at_a_thousandth_of_the_land() {
    let text = |more: &str| {
        format!(
            "schema = 2\nseed = 3\nwidth = 1025\nheight = 513\nspacing_m = 20\nlevels = 3\n\
             [[stage]]\nkind = \"diamond_square\"\nrelief_m = 300\n\
             [[stage]]\nkind = \"thermal\"\nsteps = 2\n{more}[water]\n[output]\n\
             maps = [\"river_width\", \"drainage_area\"]\n"
        )
    };
    let job = |text: &str| {
        Job::new(Recipe::from_toml(text, "", "x").unwrap()).unwrap().device(Device::Cpu)
    };
    let whole = job(&text(""));
    let least = 1025.0 * 513.0 / 1000.0 * 400.0;
    for job in [
        whole.clone(),
        whole.clone().until_level(1).unwrap(),
        whole.clone().until_level(2).unwrap(),
    ] {
        let made = job.run(&mut |_| Ok(())).unwrap();
        let (widths, areas) =
            (made.map("river_width").unwrap(), made.map("drainage_area").unwrap());
        assert!(widths.data.iter().any(|width| *width > 0.0));
        for (width, area) in widths.data.iter().zip(&areas.data) {
            assert_eq!(*width > 0.0, f64::from(*area) >= least, "{width} m at {area} m²");
        }
    }
    // A small land has brooks, but no river of fewer than 100 cells.
    let small = job(&format!("{RECIPE}[water]\n[output]\nmaps = [\"basin\"]\n"));
    let found = small.run(&mut |_| Ok(())).unwrap().water.unwrap();
    assert_eq!(found["channel_area_km2"], 0.04);
}

/// Rivers by traffic are the cells that at least `channel_flow` particles have passed, and all
/// cells below them, whatever drains there.
/// Holds A18.
#[test]
fn rivers_are_where_snowballs_have_passed() {
    let text = include_str!("../../examples/snowballs.toml");
    let recipe = Recipe::from_toml(text, "", "snowballs").unwrap();
    let settings = recipe.water.clone().unwrap();
    let least = settings.channel_flow.unwrap();
    let job = Job::new(recipe).unwrap().device(Device::Cpu);
    let made = job.run(&mut |_| Ok(())).unwrap();
    let (flow, width) = (made.words("flow").unwrap(), 251);
    let own = Water::of(
        made.words("height").unwrap().to_vec(),
        width,
        made.scale,
        None,
        &Settings { channel_flow: None, ..settings.clone() },
    )
    .unwrap();
    let size = Size { width, height: flow.len() / width };
    let mut expected = vec![false; flow.len()];
    for cell in (0..flow.len()).filter(|&cell| f64::from(flow[cell] as u32) >= least) {
        let mut at = cell;
        while own.directions[at] <= OUT && !expected[at] {
            expected[at] = true;
            match size.target(at, own.directions[at]) {
                Some(to) => at = to,
                None => break,
            }
        }
    }
    let orders = made.words("stream_order").unwrap();
    assert!(orders.iter().zip(&expected).all(|(order, is_river)| (*order > 0) == *is_river));
    let rivers = expected.iter().filter(|is_river| **is_river).count();
    assert!((300..5000).contains(&rivers), "{rivers} cells");
    assert_eq!(made.water.as_ref().unwrap()["has_rivers"], true);
    // Where nothing has passed so often there is none, whatever drains there.
    let mut dry = job.recipe().clone();
    dry.water = Some(Settings { channel_flow: Some(4e9), ..settings.clone() });
    let dry = job.with_recipe(dry).unwrap().run(&mut |_| Ok(())).unwrap();
    assert_eq!(dry.water.as_ref().unwrap()["has_rivers"], false);
    // As data: lines that end in the sea. The usual rivers are others.
    let reaches = &made.vectors.as_ref().unwrap().reaches;
    assert!(reaches.len() > 5, "{} reaches", reaches.len());
    let usual = Settings { channel_flow: None, channel_area_km2: None, ..settings };
    let usual =
        Water::of(made.words("height").unwrap().to_vec(), width, made.scale, None, &usual).unwrap();
    assert!((0..flow.len()).any(|cell| usual.is_river(cell) != expected[cell]));
}

#[test]
fn wrong_tables_are_named() {
    let wrong = |rest: &str| {
        Recipe::from_toml(&format!("{RECIPE}{rest}"), "", "x").unwrap_err().to_string()
    };
    assert!(wrong("[output]\nmaps = [\"water_depth\"]\n").contains("[water]"));
    assert!(wrong("[water]\nsea = 3\n").contains("sea_level_m"));
    assert!(wrong("[water]\narea_routing = \"all\"\n").contains("mfd"));
    assert!(wrong("[water]\nrouting = \"low\"\n").contains("lowest"));
    assert!(wrong("[water]\ndepressions = \"dig\"\n").contains("breach"));
    assert!(wrong("[water]\nchannel_area_km2 = -1\n").contains("0 to 1000000000000"));
    assert!(wrong("[water]\nchannel_flow = 0\n").contains("allowed above 0 to 4294967295"));
    assert!(
        wrong("[water]\nchannel_flow = 9\nchannel_area_km2 = 1\n")
            .contains("leave one of the two out")
    );
    assert!(wrong("[water]\nchannel_flow = 9\n").contains("no stage of the recipe leaves flow"));
    let thirsty = "[[stage]]\nkind = \"biomes\"\nfrom = \"climate\"\nwater = \"rivers\"\n\
                   table = [[\"a\"]]\n[[stage.biome]]\nname = \"a\"\ncolour = \"#087020\"\n\
                   [[stage]]\nkind = \"incision\"\n[water]\nchannel_flow = 9\n";
    let message = wrong(thirsty);
    assert!(
        message.contains(
            "stage 2, biomes, has water = \"rivers\", and no stage before this one makes flow"
        ),
        "{message}"
    );
    assert!(
        wrong("[water]\nchannel_area_km2 = 0\n").contains(
            "channel_area_km2 = 0: each cell of the land would be a river; allowed above 0"
        )
    );
    assert!(
        wrong("[water]\nlake_min_m2 = -1\n")
            .contains("lake_min_m2 = -1: allowed 0 to 1000000000000")
    );
    assert!(
        wrong("[water]\nsimplify_height_m = -1\n")
            .contains("simplify_height_m = -1: allowed 0 to 1000000")
    );
    assert!(wrong("[water]\nrunoff_mm = nan\n").contains("runoff_mm"));
    assert!(wrong("[water]\nevaporation_mm = -2\n").contains("evaporation_mm = -2"));
    assert!(
        wrong("[water]\nevaporation_mm = 9\ndepressions = \"breach\"\n")
            .contains("there are no lakes then")
    );
}
