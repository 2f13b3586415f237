//! Rivers as lines, lakes and basins as polygons: on the cells of the maps, simple, a network, and
//! in files.

use crate::common::{config, cpu};
use crate::water::all_lakes;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;
use thalweg::arith::{CELL, mix};
use thalweg::bundle::{Memory, verify};
use thalweg::io::{splines, vector};
use thalweg::map::{Georef, Map};
use thalweg::recipe::Recipe;
use thalweg::site::Scale;
use thalweg::water::channel::{Channel, Law};
use thalweg::water::directions::{Routing, SEA, Size};
use thalweg::water::outline::{Polygon, Ring, outlines};
use thalweg::water::vectors::{PointKind, Vectors};
use thalweg::water::{Settings, Splines, Through, VectorFormat, Water};
use thalweg::{Device, Folder, Job};

fn water(ground: &[i32], width: usize, settings: &Settings) -> Water {
    Water::of(ground.to_vec(), width, Scale::of(10.0), None, settings).unwrap()
}

/// Rivers from so many cells on, 10 m each.
fn from_cells(cells: f64) -> Settings {
    Settings { channel_area_km2: Some(cells * 1e-4), ..all_lakes() }
}

/// Whether the middle of a cell is within polygons: how often a line to the east crosses their
/// rings.
pub fn within(polygons: &[Polygon], [x, y]: [i32; 2]) -> bool {
    let crosses = |ring: &Ring| {
        let sides = ring.iter().zip(ring.iter().cycle().skip(1));
        sides.filter(|(a, b)| a[0] == b[0] && a[0] > x && (a[1] > y) != (b[1] > y)).count()
    };
    polygons.iter().flatten().map(crosses).sum::<usize>() % 2 == 1
}

/// Twice the area to the left of a ring with north up.
fn left(ring: &Ring) -> i64 {
    let sides = ring.iter().zip(ring.iter().cycle().skip(1));
    sides.map(|(a, b)| i64::from(a[1]) * i64::from(b[0]) - i64::from(a[0]) * i64::from(b[1])).sum()
}

#[test]
fn outlines_are_those_of_the_cells() {
    let mut runner = proptest::test_runner::TestRunner::new(config(400));
    let done = runner.run(
        &(1usize..12, 1usize..12, prop::collection::vec(0i32..4, 144)),
        |(width, height, dice)| {
            let size = Size { width, height };
            let labels = &dice[..width * height];
            let all = outlines(size, labels, 3);
            for (polygons, label) in all.iter().zip(1..) {
                for (cell, own) in labels.iter().enumerate() {
                    let middle = [(cell % width) as i32 * 2, (cell / width) as i32 * 2];
                    prop_assert_eq!(within(polygons, middle), *own == label, "{} {}", cell, label);
                }
                for polygon in polygons {
                    for (n, ring) in polygon.iter().enumerate() {
                        // The outer ring runs counterclockwise, holes clockwise, and none meets
                        // itself.
                        prop_assert_eq!(left(ring) > 0, n == 0);
                        prop_assert_eq!(ring.iter().collect::<BTreeSet<_>>().len(), ring.len());
                        for k in 0..ring.len() {
                            let [a, b, c] = [0, 1, 2].map(|i| ring[(k + i) % ring.len()]);
                            let turn =
                                (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
                            prop_assert!(turn != 0, "three corners on one line");
                        }
                    }
                }
                // As many polygons as parts that hang together by sides.
                let mut parts = 0;
                let mut left: BTreeSet<usize> =
                    (0..labels.len()).filter(|&cell| labels[cell] == label).collect();
                while let Some(first) = left.pop_first() {
                    parts += 1;
                    let mut queue = vec![first];
                    while let Some(at) = queue.pop() {
                        let beside = [
                            (at % width > 0, 1, true),
                            (at % width + 1 < width, 1, false),
                            (true, width, true),
                            (true, width, false),
                        ];
                        for (there, step, back) in beside {
                            let n = if back { at.checked_sub(step) } else { Some(at + step) };
                            if let Some(n) = n.filter(|n| there && left.remove(n)) {
                                queue.push(n);
                            }
                        }
                    }
                }
                prop_assert_eq!(polygons.len(), parts);
            }
            Ok(())
        },
    );
    done.unwrap();
}

/// A ring with a hole that touches it at a corner, and a cell that touches it from outside.
#[test]
fn rings_touch_at_corners() {
    #[rustfmt::skip]
    let labels = [
        1, 1, 1, 0,
        1, 0, 1, 0,
        1, 1, 0, 1,
    ];
    let [polygons] = &outlines(Size { width: 4, height: 3 }, &labels, 1)[..] else { panic!() };
    assert_eq!(polygons.len(), 2);
    // The hole in the middle is closed, though by a corner alone.
    assert_eq!(polygons[0].len(), 2);
    assert_eq!(left(&polygons[0][1]), -8, "a hole of one cell, whose sides are 2");
    assert_eq!(polygons[1], vec![vec![[5, 3], [5, 5], [7, 5], [7, 3]]]);
}

/// The levels of full depressions by a flood from the border and the sea inwards, cell by cell.
fn flooded(size: Size, ground: &[i32], water: &Water) -> Vec<i32> {
    let mut level: Vec<Option<i32>> = vec![None; ground.len()];
    let mut front = BinaryHeap::new();
    for cell in 0..ground.len() {
        if water.directions[cell] == SEA || size.on_border(cell) {
            let z = if water.directions[cell] == SEA { water.surface[cell] } else { ground[cell] };
            level[cell] = Some(z);
            front.push((std::cmp::Reverse(z), cell));
        }
    }
    while let Some((std::cmp::Reverse(z), cell)) = front.pop() {
        for (_, n) in size.around(cell) {
            if level[n].is_none() {
                level[n] = Some(z.max(ground[n]));
                front.push((std::cmp::Reverse(z.max(ground[n])), n));
            }
        }
    }
    level.into_iter().map(Option::unwrap).collect()
}

/// The cell of a place in half cells, if it is the middle of one.
fn cell_of(size: Size, [x, y]: [i32; 2]) -> Option<usize> {
    let inside = x >= 0 && y >= 0 && x % 2 == 0 && y % 2 == 0;
    inside.then(|| y as usize / 2 * size.width + x as usize / 2)
}

/// What holds of the lines of all land.
fn is_network(size: Size, ground: &[i32], water: &Water, found: &Vectors, filled: bool) {
    let order = water.stream_order();
    let level = filled.then(|| flooded(size, ground, water));
    let mut on: BTreeMap<usize, u32> = BTreeMap::new();
    for (reach, id) in found.reaches.iter().zip(1..) {
        assert_eq!(reach.id, id);
        let places: Vec<Option<usize>> =
            reach.vertices.iter().map(|vertex| cell_of(size, vertex.at)).collect();
        assert!(places.len() > 1);
        for cell in places[..places.len() - 1].iter().map(|cell| cell.expect("a middle")) {
            assert!(
                order[cell] == reach.order && on.insert(cell, id).is_none(),
                "a cell is in one reach"
            );
        }
        for (pair, vertices) in places.windows(2).zip(reach.vertices.windows(2)) {
            assert!(vertices[1].height_m <= vertices[0].height_m, "uphill");
            let (Some(from), Some(to)) = (pair[0], pair[1]) else {
                // Over the edge of the map.
                assert!(size.on_border(pair[0].unwrap()) && reach.downstream.is_none());
                continue;
            };
            assert!(size.around(from).any(|(_, n)| n == to), "a step to a neighbour");
            let Some(level) = &level else { continue };
            // The next vertex is as steep a way down as there is: over √2 a fall f squared is f²
            // / 2.
            let steep = |n: usize| {
                let fall = i128::from(level[from]) - i128::from(level[n]);
                let straight =
                    from % size.width == n % size.width || from / size.width == n / size.width;
                fall.signum() * fall * fall * if straight { 2 } else { 1 }
            };
            let steepest = size.around(from).map(|(_, n)| steep(n)).max().unwrap();
            assert_eq!(steep(to), steepest.max(0));
        }
        match reach.downstream {
            Some(down) => {
                let next = &found.reaches[down as usize - 1];
                assert_eq!(next.vertices[0], *reach.vertices.last().unwrap());
            }
            None => {
                assert!(places.last().unwrap().is_none_or(|cell| water.directions[cell] == SEA))
            }
        }
    }
    // All rivers are on lines, and orders are those that the network gives.
    assert_eq!(on.len(), order.iter().filter(|order| **order > 0).count());
    for reach in &found.reaches {
        let above: Vec<_> =
            found.reaches.iter().filter(|above| above.downstream == Some(reach.id)).collect();
        let highest = above.iter().map(|above| above.order).max().unwrap_or(0);
        let twice = above.iter().filter(|above| above.order == highest).count() != 1;
        assert_eq!(reach.order, highest + i32::from(twice));
        // One of those above belongs to the same river: that with the most water.
        let same: Vec<_> = above.iter().filter(|above| above.river == reach.river).collect();
        assert_eq!(same.len(), usize::from(!above.is_empty()));
        assert!(above.iter().all(|above| above.drainage_m2 <= same[0].drainage_m2));
    }
    // Basins and the sea are the map.
    let cells: f64 = found.basins.iter().map(|basin| basin.area_m2 / 100.0).sum();
    let sea: f64 =
        found.lakes.iter().filter(|lake| lake.id == 0).map(|lake| lake.area_m2 / 100.0).sum();
    assert_eq!(cells + sea, ground.len() as f64);
    let basins = water.basins();
    for basin in &found.basins {
        let mouth = cell_of(size, basin.mouth).unwrap();
        assert_eq!(basins[mouth], basin.id as i32);
        assert_eq!(basin.reach, on.get(&mouth).copied());
        assert!(within(&basin.polygons, basin.mouth));
    }
    for lake in &found.lakes {
        let of = |cell: usize| {
            (water.is_wet(cell)
                && within(
                    &lake.polygons,
                    [cell % size.width, cell / size.width].map(|v| v as i32 * 2),
                )) as u32
        };
        assert_eq!(f64::from((0..ground.len()).map(of).sum::<u32>()), lake.area_m2 / 100.0);
    }
    let count = |kind| found.points.iter().filter(|point| point.kind == kind).count();
    assert_eq!(
        count(PointKind::Mouth),
        found.reaches.iter().filter(|reach| reach.downstream.is_none()).count()
    );
    assert_eq!(count(PointKind::Outlet), water.lakes.len());
}

fn land() -> impl Strategy<Value = (usize, Vec<i32>)> {
    let height = prop_oneof![Just(0..3i32), Just(-20..20), Just(-2_147_221_504..2_147_221_504)];
    (1usize..14, 1usize..14, height)
        .prop_flat_map(|(w, h, heights)| (Just(w), prop::collection::vec(heights, w * h)))
}

#[test]
fn lines_of_any_land_are_a_network_on_its_cells() {
    let mut runner = proptest::test_runner::TestRunner::new(config(200));
    let done = runner.run(&(land(), -25i32..25, 0.0f64..8.0), |((width, ground), sea, cells)| {
        let size = Size { width, height: ground.len() / width };
        let sea_level_m = Some(f64::from(sea) * 10.0 / f64::from(CELL));
        for depressions in [Through::Fill, Through::Breach] {
            for sea_level_m in [None, sea_level_m] {
                let settings = Settings { sea_level_m, depressions, ..from_cells(cells) };
                let found = water(&ground, width, &settings);
                is_network(size, &ground, &found, &found.vectors(), depressions == Through::Fill);
            }
        }
        Ok(())
    });
    done.unwrap();
}

/// Counts the vertices outside lakes and the sea, and those of them at which the claim fails as it
/// reads: a raster's lowest neighbour is on the line, or in the lake or the sea that it comes to.
/// Of equally low ones one is enough. `next` asks more: that the next vertex is the lowest,
/// wherever it is a cell of the land.
fn off_the_thalweg(
    size: Size,
    raster: &[i32],
    water: &Water,
    found: &Vectors,
    next: bool,
) -> (usize, Vec<String>) {
    let (mut count, mut off) = (0, vec![]);
    let cells = |reach: &thalweg::water::Reach| -> Vec<Option<usize>> {
        reach
            .vertices
            .iter()
            .map(|vertex| cell_of(size, vertex.at).filter(|cell| *cell < raster.len()))
            .collect()
    };
    let on_any: BTreeSet<usize> = found.reaches.iter().flat_map(cells).flatten().collect();
    for reach in &found.reaches {
        let places = cells(reach);
        // From here to the mouth.
        let (mut line, mut at) = (BTreeSet::new(), Some(reach));
        while let Some(part) = at {
            line.extend(cells(part).into_iter().flatten());
            at = part.downstream.map(|down| &found.reaches[down as usize - 1]);
        }
        for pair in places.windows(2) {
            let here = pair[0].expect("a middle");
            if water.is_wet(here) {
                continue;
            }
            count += 1;
            let around: Vec<usize> = size.around(here).map(|(_, n)| n).collect();
            let lowest = around.iter().map(|n| raster[*n]).min().unwrap_or(i32::MAX);
            let lowest: BTreeSet<usize> =
                around.into_iter().filter(|n| raster[*n] == lowest).collect();
            let holds = match pair[1] {
                // Over the edge of the map, where all that is on it is as high or higher, but for
                // the floor of the sea or a lake.
                None => lowest.iter().all(|n| raster[*n] >= raster[here] || water.is_wet(*n)),
                // Into the sea or a lake: there, back on the line, or in a river that comes into it
                // beside this one. The sea may stand higher.
                Some(to) if water.is_wet(to) => {
                    lowest.iter().any(|n| water.is_wet(*n) || on_any.contains(n))
                        || water.surface[here] < water.surface[to]
                }
                // At a shore the floor under water may be the lowest, if the water there stands no
                // lower than the next vertex.
                Some(to) if next => {
                    let floor =
                        |n: &usize| water.is_wet(*n) && water.surface[*n] >= water.surface[to];
                    lowest.contains(&to) || lowest.iter().any(floor)
                }
                Some(_) => lowest.iter().any(|n| line.contains(n) || water.is_wet(*n)),
            };
            if !holds {
                off.push(format!(
                    "reach {} at {here}, of {lowest:?}, next {:?}",
                    reach.id, pair[1]
                ));
            }
        }
    }
    (count, off)
}

/// The settings with which lines lie on the lowest neighbours.
fn lowest(settings: Settings) -> Settings {
    Settings { routing: Routing::Lowest, ..settings }
}

#[test]
fn lines_lie_on_the_lowest_neighbours_of_any_land() {
    let mut runner = proptest::test_runner::TestRunner::new(config(300));
    let widths = prop_oneof![Just(0.0), 0.0f64..1000.0];
    let done = runner.run(
        &(land(), -25i32..25, 0.0f64..8.0, widths, 0.0f64..100.0),
        |((width, ground), sea, cells, width_m, depth_m)| {
            let size = Size { width, height: ground.len() / width };
            for sea_level_m in [None, Some(f64::from(sea) * 10.0 / f64::from(CELL))] {
                for depressions in [Through::Fill, Through::Breach] {
                    let settings = lowest(Settings {
                        sea_level_m,
                        depressions,
                        width_m,
                        depth_m,
                        runoff_mm: 1e5,
                        ..from_cells(cells)
                    });
                    let mut found = water(&ground, width, &settings);
                    let lines = found.vectors();
                    is_network(size, &ground, &found, &lines, false);
                    prop_assert_eq!(
                        off_the_thalweg(size, &found.surface, &found, &lines, true).1,
                        Vec::<String>::new()
                    );
                    let beds = found.carve();
                    prop_assert_eq!(&found.vectors().reaches, &lines.reaches);
                    prop_assert_eq!(
                        off_the_thalweg(size, &found.surface, &found, &lines, true).1,
                        Vec::<String>::new()
                    );
                    // With lakes the lowest may be a floor of one beside the line.
                    let strict = depressions == Through::Breach;
                    prop_assert_eq!(
                        off_the_thalweg(size, &beds.ground, &found, &lines, strict).1,
                        Vec::<String>::new()
                    );
                }
            }
            Ok(())
        },
    );
    done.unwrap();
}

/// Land with the heights of the survey that `tests/data` has, which are whole metres, and hills: at
/// each vertex of each line.
#[test]
fn lines_lie_on_the_lowest_neighbours_of_real_land() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jacksboro.tif");
    let map = thalweg::io::read(&path, &thalweg::io::ReadOptions::default()).unwrap().map;
    let survey = Scale::of(map.spacing_m).to_words(&map.data);
    let lands = [
        (survey, map.width as usize, map.spacing_m, 1.0),
        (hills(200, 150, 1), 200, 10.0, 0.005),
        (hills(150, 200, 2), 150, 10.0, 0.002),
    ];
    for (ground, width, spacing_m, channel_area_km2) in lands {
        let size = Size { width, height: ground.len() / width };
        let of = |settings: Settings| {
            let settings = Settings { channel_area_km2: Some(channel_area_km2), ..settings };
            Water::of(ground.clone(), width, Scale::of(spacing_m), None, &settings).unwrap()
        };
        // Narrow rivers, and some that are wider than a cell.
        for (depressions, width_m) in [Through::Fill, Through::Breach]
            .map(|depressions| [(depressions, 5.0), (depressions, 200.0)])
            .into_iter()
            .flatten()
        {
            let mut found = of(lowest(Settings { depressions, width_m, ..all_lakes() }));
            let lines = found.vectors();
            let (count, off) = off_the_thalweg(size, &found.surface, &found, &lines, true);
            assert!(
                count > 300 && off.is_empty(),
                "{depressions:?}: {count}, {} off: {:?}",
                off.len(),
                off.first()
            );
            let beds = found.carve();
            for (raster, next) in
                [(&found.surface, true), (&beds.ground, depressions == Through::Breach)]
            {
                let (_, off) = off_the_thalweg(size, raster, &found, &lines, next);
                assert!(
                    off.is_empty(),
                    "{depressions:?}, {width_m} m, cut: {} of {count} off: {:?}",
                    off.len(),
                    off.first()
                );
            }
        }
        // Steepest descent is another way at many.
        let found = of(all_lakes());
        let (count, off) = off_the_thalweg(size, &found.surface, &found, &found.vectors(), false);
        assert!(off.len() * 100 > count, "{} of {count}", off.len());
    }
}

/// Whether two straight lines cross, each within the other.
fn cross([a, b]: [[i32; 2]; 2], [c, d]: [[i32; 2]; 2]) -> bool {
    let turn = |a: [i32; 2], b: [i32; 2], c: [i32; 2]| {
        let of = |p: [i32; 2]| (i64::from(p[0] - a[0]), i64::from(p[1] - a[1]));
        let ((bx, by), (cx, cy)) = (of(b), of(c));
        (bx * cy - by * cx).signum()
    };
    turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0
}

fn crossings(found: &Vectors) -> usize {
    let sides: Vec<[[i32; 2]; 2]> = found
        .reaches
        .iter()
        .flat_map(|reach| reach.vertices.windows(2).map(|pair| [pair[0].at, pair[1].at]))
        .collect();
    (0..sides.len()).map(|i| sides[..i].iter().filter(|side| cross(sides[i], **side)).count()).sum()
}

/// Hills without level ground, so that all ways are those of steepest descent.
pub fn hills(width: usize, height: usize, seed: u32) -> Vec<i32> {
    let hill = |i: usize| {
        let wave = |n: u32, scale: usize| {
            mix(seed ^ n ^ mix((i % width / scale + i / width / scale * 64) as u32)) as i32
                % (1 << 14)
        };
        wave(1, 1) / 4 + wave(2, 5) + wave(3, 11) * 2 + i as i32 % 7
    };
    (0..width * height).map(hill).collect()
}

#[test]
fn simple_lines_keep_the_network() {
    let (width, height) = (48, 40);
    let (mut fewer, mut all) = (0, 0);
    for seed in 0..12 {
        let ground = hills(width, height, seed);
        let exact = water(&ground, width, &from_cells(6.0)).vectors();
        assert_eq!(crossings(&exact), 0, "water does not cross water");
        // A tenth of 4 m is more than these hills fall in a few cells.
        for (tolerance, simplify_height_m) in [(4.0, None), (12.0, Some(0.05)), (1000.0, Some(0.2))]
        {
            let settings = Settings { simplify_m: tolerance, simplify_height_m, ..from_cells(6.0) };
            let higher = simplify_height_m.unwrap_or(tolerance / 10.0);
            let simple = water(&ground, width, &settings).vectors();
            assert_eq!(crossings(&simple), 0);
            for (reach, whole) in simple.reaches.iter().zip(&exact.reaches) {
                assert_eq!(
                    (reach.vertices.first(), reach.vertices.last()),
                    (whole.vertices.first(), whole.vertices.last())
                );
                assert!(reach.vertices.windows(2).all(|pair| pair[1].height_m <= pair[0].height_m));
                // In their order, and each that went is near a side of the new line, which is about
                // as high there.
                let mut rest = whole.vertices.iter();
                assert!(reach.vertices.iter().all(|kept| rest.any(|vertex| vertex == kept)));
                let metres = |at: [i32; 2]| at.map(|half| f64::from(half) * 5.0);
                for vertex in &whole.vertices {
                    let p = metres(vertex.at);
                    let away = |pair: &[thalweg::water::Vertex]| {
                        let (a, b) = (metres(pair[0].at), metres(pair[1].at));
                        let along = [b[0] - a[0], b[1] - a[1]];
                        let t = ((p[0] - a[0]) * along[0] + (p[1] - a[1]) * along[1])
                            / (along[0] * along[0] + along[1] * along[1]);
                        let t = t.clamp(0.0, 1.0);
                        let [from, to, own] =
                            [pair[0], pair[1], *vertex].map(|vertex| f64::from(vertex.height_m));
                        (
                            (p[0] - a[0] - t * along[0]).hypot(p[1] - a[1] - t * along[1]),
                            (from + t * (to - from) - own).abs(),
                        )
                    };
                    let mut sides = reach.vertices.windows(2).map(away);
                    assert!(sides.any(
                        |(beside, above)| beside <= tolerance + 1e-9 && above <= higher + 1e-9
                    ));
                }
                fewer += reach.vertices.len();
                all += whole.vertices.len();
            }
        }
    }
    assert!(fewer * 10 < all * 9, "{fewer} of {all} vertices");
}

/// A valley with a cliff: one river, one waterfall of its height.
#[test]
fn a_cliff_is_a_waterfall() {
    let ground: Vec<i32> = (0..11 * 30)
        .map(|i| {
            let (x, y) = (i % 11, i / 11);
            CELL / 100 * ((x - 5i32).abs() * 50 + 3 * (30 - y)) + if y < 20 { 2 * CELL } else { 0 }
        })
        .collect();
    let found = water(&ground, 11, &from_cells(40.0)).vectors();
    let falls: Vec<_> =
        found.points.iter().filter(|point| point.kind == PointKind::Waterfall).collect();
    assert_eq!(falls.len(), 1);
    assert_eq!(falls[0].at, [10, 38]);
    assert!((falls[0].fall_m.unwrap() - 20.3).abs() < 1e-3, "{:?}", falls[0].fall_m);
    let [reach] = &found.reaches[..] else { panic!("one river") };
    let springs: Vec<_> =
        found.points.iter().filter(|point| point.kind == PointKind::Spring).collect();
    assert_eq!((springs.len(), springs[0].at), (1, reach.vertices[0].at));
    assert_eq!(reach.vertices.last().unwrap().at, [10, 59], "to the edge of the map");
    // 11 · 30 cells of 100 m², 500 mm a year.
    let discharge = 33_000.0 * 0.5 / 31_557_600.0;
    assert!((reach.channel.discharge / discharge - 1.0).abs() < 1e-12);
    assert_eq!(
        water(&ground, 11, &Settings { waterfall_slope: 2.1, ..from_cells(40.0) })
            .vectors()
            .points
            .len(),
        2
    );
}

/// The numbers of the articles: L. B. Leopold and T. Maddock's exponents 0.5, 0.4 and 0.1, J. A.
/// Moody and B. M. Troutman's 7.2 Q^0.5 and 0.27 Q^0.3.
#[test]
fn laws_are_those_of_their_articles() {
    let at = |law: Law, discharge: f64| {
        let (width, depth) = law.usual();
        Channel::of(law, discharge, width, depth)
    };
    let (one, more) = (at(Law::LeopoldMaddock, 1.0), at(Law::LeopoldMaddock, 1024.0));
    assert_eq!((one.width_m, one.depth_m), (5.0, 0.3));
    // 1024 = 2^10.
    for (ratio, power) in [
        (more.width_m / one.width_m, 5),
        (more.depth_m / one.depth_m, 4),
        (more.velocity / one.velocity, 1),
    ] {
        assert!((ratio / f64::from(1 << power) - 1.0).abs() < 1e-12, "{ratio}");
    }
    let river = at(Law::MoodyTroutman, 1024.0);
    assert!((river.width_m - 7.2 * 32.0).abs() < 1e-9 && (river.depth_m - 0.27 * 8.0).abs() < 1e-9);
    assert!((river.width_m * river.depth_m * river.velocity - 1024.0).abs() < 1e-9);
    assert_eq!(at(Law::MoodyTroutman, 0.0).velocity, 0.0);
}

const RECIPE: &str = "schema = 2\nseed = 3\nwidth = 90\nheight = 70\nspacing_m = 20\n[[stage]]\n\
                      kind = \"diamond_square\"\nrelief_m = 300\n";
const FILES: &str = "vectors = [\"geojson\", \"gpkg\"]\nsplines = [\"unreal\", \"godot\"]\n";

fn recipe(water: &str) -> Recipe {
    let text = format!(
        "{RECIPE}[water]\n{water}{FILES}[output]\n\
         maps = [\"height\", \"drainage_area\", \"river_depth\"]\n"
    );
    Recipe::from_toml(&text, "", "x").unwrap()
}

fn bundle(recipe: &Recipe) -> BTreeMap<String, Vec<u8>> {
    let mut files = Memory::default();
    Job::new(recipe.clone())
        .unwrap()
        .device(Device::Cpu)
        .run_into(&mut files, None, &mut |_| Ok(()))
        .unwrap();
    files.files
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Files are the same on one thread as on more, and agree with the maps.
#[test]
fn recipes_have_files_of_rivers() {
    let recipe = recipe(
        "sea_level_m = 20\nchannel_area_km2 = 0.02\nlake_min_m2 = 0\nwaterfall_slope = 0.5\n",
    );
    let again = Recipe::from_json(&recipe.describe().to_string(), "", "x").unwrap();
    assert_eq!(again.water, recipe.water);
    let files = bundle(&recipe);
    let one =
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| bundle(&recipe));
    let names = recipe.water.as_ref().unwrap().files();
    assert_eq!(names.len(), 7);
    let manifest = json(&files["manifest.json"]);
    let listed: Vec<&str> = manifest["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["file"].as_str().unwrap())
        .collect();
    assert_eq!(listed, names);
    for name in &names {
        assert_eq!(files[name], one[name], "{name}");
    }
    let outcome = Job::new(recipe.clone()).unwrap().run_on(&mut cpu(), &mut |_| Ok(())).unwrap();
    let (height, drainage, depth) = (
        outcome.map("height").unwrap(),
        outcome.map("drainage_area").unwrap(),
        outcome.map("river_depth").unwrap(),
    );
    let rivers = json(&files["rivers.geojson"]);
    assert_eq!(rivers["crs"]["properties"]["name"], vector::LOCAL);
    let reaches = rivers["features"].as_array().unwrap();
    assert!(reaches.len() > 20, "{}", reaches.len());
    let cell = |at: &Value| {
        (-at[1].as_f64().unwrap() / 20.0 * 90.0 + at[0].as_f64().unwrap() / 20.0) as usize
    };
    for reach in reaches {
        let line = reach["geometry"]["coordinates"].as_array().unwrap();
        let last = cell(&line[line.len() - 2]);
        let near = |a: f64, b: f32| (a / f64::from(b) - 1.0).abs() < 1e-6;
        let of = |key: &str| reach["properties"][key].as_f64().unwrap();
        assert!(
            near(of("drainage_km2") * 1e6, drainage.data[last])
                && near(of("depth_m"), depth.data[last])
        );
        // Where no lake is, the height is the ground's.
        if reach["properties"]["lake"].is_null() && reach["properties"]["downstream"].is_null() {
            assert_eq!(line[0][2].as_f64().unwrap() as f32, height.data[cell(&line[0])]);
        }
    }
    let lakes = json(&files["lakes.geojson"]);
    let kinds: BTreeSet<&str> = lakes["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["properties"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["lake", "sea"].into());
    let gpkg = &files["water.gpkg"];
    assert_eq!((&gpkg[..16], &gpkg[68..72]), (&b"SQLite format 3\0"[..], &b"GPKG"[..]));
    indexed(gpkg, &json(&files["lakes.geojson"]), "lakes");
    indexed(gpkg, &rivers, "rivers");
    // Splines have the points of the lines: whole rivers, but for those that cross lakes.
    let vectors = outcome.vectors.unwrap();
    let unreal = json(&files["rivers_unreal.json"]);
    let splines = unreal["rivers"].as_array().unwrap();
    let points: usize =
        splines.iter().map(|spline| spline["points"].as_array().unwrap().len() - 1).sum();
    assert_eq!(
        points,
        vectors
            .reaches
            .iter()
            .filter(|r| r.lake.is_none())
            .map(|r| r.vertices.len() - 1)
            .sum::<usize>()
    );
    let ids: BTreeSet<u32> =
        vectors.reaches.iter().filter(|r| r.lake.is_none()).map(|r| r.river).collect();
    assert!(
        splines.len() >= ids.len()
            && splines.len() < vectors.reaches.iter().filter(|r| r.lake.is_none()).count()
    );
    for pair in splines.iter().flat_map(|spline| spline["points"].as_array().unwrap().windows(2)) {
        assert!(pair[0]["z"].as_f64() >= pair[1]["z"].as_f64());
    }
    let godot = String::from_utf8(files["rivers_godot.tscn"].clone()).unwrap();
    assert_eq!(godot.matches("[sub_resource type=\"Curve3D\"").count(), splines.len());
    assert_eq!(godot.matches("type=\"Path3D\" parent=\".\"]").count(), splines.len());
}

/// Holds that the index of a layer has the box of each feature, and nothing else. It has 32-bit
/// floats, so coordinates must be such numbers, as halves of cells of 20 m are.
fn indexed(gpkg: &[u8], geojson: &Value, layer: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), gpkg).unwrap();
    let file = rusqlite::Connection::open(file.path()).unwrap();
    let said = "SELECT count(*) FROM gpkg_extensions WHERE table_name = ?1 AND column_name = \
                'geom' AND extension_name = 'gpkg_rtree_index'";
    assert_eq!(file.query_one(said, [layer], |row| row.get::<_, i64>(0)).unwrap(), 1);
    let mut rows = file
        .prepare(&format!("SELECT id, minx, maxx, miny, maxy FROM rtree_{layer}_geom ORDER BY id"))
        .unwrap();
    let boxes: Vec<(i64, [f64; 4])> = rows
        .query_map([], |row| {
            Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    fn places(value: &Value, all: &mut Vec<[f64; 2]>) {
        match value[0].as_f64() {
            Some(x) => all.push([x, value[1].as_f64().unwrap()]),
            None => value.as_array().unwrap().iter().for_each(|part| places(part, all)),
        }
    }
    let mut features: Vec<&Value> = geojson["features"].as_array().unwrap().iter().collect();
    features.sort_by_key(|feature| feature["properties"]["id"].as_i64());
    assert_eq!(boxes.len(), features.len(), "{layer}");
    for ((id, found), feature) in boxes.into_iter().zip(features) {
        assert_eq!(Some(id), feature["properties"]["id"].as_i64());
        let mut all = vec![];
        places(&feature["geometry"]["coordinates"], &mut all);
        for axis in 0..2 {
            let low = all.iter().map(|place| place[axis]).fold(f64::INFINITY, f64::min);
            let high = all.iter().map(|place| place[axis]).fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(found[2 * axis..2 * axis + 2], [low, high], "{layer} {id}");
        }
    }
}

/// An earlier run's files of rivers go when a new run has none, and a damaged one is found.
#[test]
fn files_of_rivers_belong_to_the_bundle() {
    let root = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("water-vectors-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    let run = |recipe: &Recipe| {
        let mut folder = Folder::for_bundle(&root, true);
        Job::new(recipe.clone())
            .unwrap()
            .device(Device::Cpu)
            .run_into(&mut folder, None, &mut |_| Ok(()))
            .unwrap()
    };
    let with = recipe("channel_area_km2 = 0.02\n");
    run(&with);
    assert!(
        verify(&root)
            .unwrap()
            .iter()
            .filter(|file| file.file.contains("gpkg") || file.file.contains("geojson"))
            .all(|f| f.fault.is_none())
    );
    std::fs::write(root.join("lakes.geojson"), "{}").unwrap();
    let faults: Vec<_> =
        verify(&root).unwrap().into_iter().filter(|file| file.fault.is_some()).collect();
    assert_eq!(faults.iter().map(|file| file.file.as_str()).collect::<Vec<_>>(), ["lakes.geojson"]);
    let mut without = with;
    without.water.as_mut().unwrap().vectors.clear();
    assert_eq!(run(&without).removed.len(), 5);
    assert!(!root.join("water.gpkg").exists() && root.join("rivers_unreal.json").exists());
    std::fs::remove_dir_all(&root).unwrap();
}

/// Coordinates are those of the map's coordinate system, which files name.
#[test]
fn lines_lie_where_the_map_lies() {
    let ground: Vec<i32> = (0..30).map(|i| i * CELL).collect();
    let vectors = water(&ground, 6, &from_cells(5.0)).vectors();
    let map = |georef| Map {
        width: 6,
        height: 5,
        spacing_m: 10.0,
        data: vec![0.0; 30],
        range_m: None,
        georef,
    };
    let utm = Georef {
        epsg: Some(32632),
        west: 500_000.0,
        north: 5_000_000.0,
        cell: (10.0, 10.0),
        keys: None,
    };
    let crs = |georef| {
        let files = vector::encode(&vectors, &map(georef), VectorFormat::GeoJson).unwrap();
        let text = json(&files[3].1);
        (
            text["crs"]["properties"]["name"].as_str().map(String::from),
            text["features"][0]["geometry"]["coordinates"].clone(),
        )
    };
    let (name, at) = crs(Some(utm.clone()));
    assert_eq!(name.unwrap(), "urn:ogc:def:crs:EPSG::32632");
    let half = vectors.points[0].at.map(f64::from);
    assert_eq!(at[0].as_f64().unwrap(), 500_005.0 + half[0] * 5.0);
    assert_eq!(at[1].as_f64().unwrap(), 4_999_995.0 - half[1] * 5.0);
    let degrees =
        Georef { epsg: Some(4326), cell: (1e-4, 1e-4), west: 7.0, north: 47.0, keys: None };
    assert_eq!(crs(Some(degrees)).0, None, "as RFC 7946 has it");
    assert_eq!(crs(None).0.unwrap(), vector::LOCAL);
    // Without a code: by its text, where that is known.
    let albers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiff/albers.tif");
    let albers = thalweg::io::read(&albers, &thalweg::io::ReadOptions::default())
        .unwrap()
        .map
        .georef
        .unwrap();
    let text = thalweg::io::crs::system(&albers).unwrap().text;
    assert_eq!(crs(Some(albers.clone())).0.unwrap(), text);
    let package =
        |georef| vector::encode(&vectors, &map(georef), VectorFormat::Gpkg).unwrap().remove(0).1;
    let has =
        |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has(&package(Some(utm)), "EPSG:32632") && !has(&package(None), "EPSG:32632"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), package(Some(albers.clone()))).unwrap();
    let file = rusqlite::Connection::open(file.path()).unwrap();
    let said = "SELECT c.srs_id, s.organization, s.organization_coordsys_id, s.srs_name, \
                s.definition FROM gpkg_contents c \
                JOIN gpkg_spatial_ref_sys s ON s.srs_id = c.srs_id WHERE c.table_name = 'rivers'";
    let row: (i64, String, i64, String, String) = file
        .query_one(said, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })
        .unwrap();
    assert_eq!(
        row,
        (100_000, "NONE".into(), 100_000, "North_America_Albers_Equal_Area_Conic".into(), text)
    );
    let mut odd = albers.clone();
    odd.keys.as_mut().unwrap().directory.truncate(4 + 4 * 8);
    assert_eq!(crs(Some(odd)).0.unwrap(), vector::LOCAL, "some keys are missing");
    let (_, unreal) = splines::encode(&vectors, &map(None), Splines::Unreal);
    let first = json(&unreal)["rivers"][0]["points"][0].clone();
    let vertex = &vectors.reaches[0].vertices[0];
    assert_eq!(first["x"], f64::from(vertex.at[0]) * 500.0);
    assert_eq!(first["y"], f64::from(vertex.at[1]) * 500.0);
    assert_eq!(first["z"], f64::from(vertex.height_m) * 100.0);
}

/// No sea, all sea, flat land, one cell, no river and nothing but rivers.
#[test]
fn the_ends_of_settings_have_files() {
    let slope: Vec<i32> = (0..30).map(|i| i * CELL).collect();
    let all = [
        (slope.clone(), 6, Settings { sea_level_m: Some(1e6), ..from_cells(0.0) }),
        (slope.clone(), 6, from_cells(0.0)),
        (slope, 6, from_cells(1e9)),
        (vec![5; 49], 7, from_cells(0.0)),
        (vec![7], 1, from_cells(0.0)),
        (vec![7], 1, from_cells(1e9)),
    ];
    let counts = all.map(|(ground, width, settings)| {
        let found = water(&ground, width, &settings);
        let size = Size { width, height: ground.len() / width };
        let vectors = found.vectors();
        is_network(size, &ground, &found, &vectors, true);
        let map = Map {
            width: width as u32,
            height: size.height as u32,
            spacing_m: 10.0,
            data: vec![0.0; ground.len()],
            range_m: None,
            georef: None,
        };
        for format in [VectorFormat::GeoJson, VectorFormat::Gpkg] {
            for (name, bytes) in vector::encode(&vectors, &map, format).unwrap() {
                assert!(name.ends_with("gpkg") || json(&bytes)["features"].is_array(), "{name}");
            }
        }
        assert!(json(&splines::encode(&vectors, &map, Splines::Unreal).1)["rivers"].is_array());
        (!vectors.reaches.is_empty(), vectors.lakes.len(), !vectors.basins.is_empty())
    });
    assert_eq!(
        counts,
        [
            (false, 1, false),
            (true, 0, true),
            (false, 0, true),
            (true, 0, true),
            (true, 0, true),
            (false, 0, true)
        ]
    );
    let wrong = |rest: &str| {
        Recipe::from_toml(&format!("{RECIPE}[water]\n{rest}"), "", "x").unwrap_err().to_string()
    };
    assert!(wrong("vectors = [\"shp\"]\n").contains("geojson"));
    assert!(wrong("vectors = \"gpkg\"\n").contains("a list"));
    assert!(wrong("vectors = [\"gpkg\", \"gpkg\"]\n").contains("once"));
    assert!(wrong("splines = [\"unity\"]\n").contains("unreal"));
    assert!(wrong("law = \"manning\"\n").contains("moody-troutman"));
    assert!(wrong("simplify_m = -1\n").contains("0 to 1000000"));
    assert!(wrong("waterfall_slope = 0\n").contains("waterfall_slope"));
}
