//! Beds of rivers cut into the ground, and water in pictures.

use crate::common::config;
use crate::water::all_lakes;
use image::Rgb;
use proptest::prelude::*;
use thalweg::arith::CELL;
use thalweg::bundle::Memory;
use thalweg::map::Map;
use thalweg::recipe::Recipe;
use thalweg::render::{Style, Waters, draw_water, shaded};
use thalweg::site::Scale;
use thalweg::tiles::Tiles;
use thalweg::water::directions::{Routing, Size};
use thalweg::water::{Settings, Through, Water};
use thalweg::{Device, Job, Outcome};

fn water(ground: &[i32], width: usize, settings: &Settings) -> Water {
    Water::of(ground.to_vec(), width, Scale::of(10.0), None, settings).unwrap()
}

fn land() -> impl Strategy<Value = (usize, Vec<i32>)> {
    let height = prop_oneof![
        Just(0..3i32),
        Just(-20..20),
        Just(-2_147_221_504..2_147_221_504),
        Just(-CELL..CELL)
    ];
    (1usize..14, 1usize..14, height)
        .prop_flat_map(|(w, h, heights)| (Just(w), prop::collection::vec(heights, w * h)))
}

#[test]
fn beds_of_any_land_never_rise_and_books_balance() {
    let mut runner = proptest::test_runner::TestRunner::new(config(200));
    let widths = prop_oneof![Just(0.0), 0.0f64..1000.0];
    let done = runner.run(
        &(land(), -25i32..25, 0.0f64..8.0, widths, 0.0f64..100.0, 0.0f64..5.0),
        |((width, ground), sea, cells, width_m, depth_m, least)| {
            let size = Size { width, height: ground.len() / width };
            let sea_level_m = Some(f64::from(sea) * 10.0 / f64::from(CELL));
            let both = [Routing::D8, Routing::Lowest].map(|routing| {
                [Through::Fill, Through::Breach].map(|depressions| (routing, depressions))
            });
            for (routing, depressions) in both.into_iter().flatten() {
                let settings = Settings {
                    sea_level_m,
                    depressions,
                    routing,
                    lake_min_m2: Some(least * 100.0),
                    channel_area_km2: Some(cells * 1e-4),
                    width_m,
                    depth_m,
                    runoff_mm: 1e5,
                    ..all_lakes()
                };
                let before = water(&ground, width, &settings);
                let mut after = before.clone();
                let beds = after.carve();
                prop_assert_eq!(&before.directions, &after.directions);
                prop_assert_eq!(after.bed.as_ref(), Some(&beds.ground));
                let falls: Vec<i64> = ground
                    .iter()
                    .zip(&beds.ground)
                    .map(|(old, new)| i64::from(*old) - i64::from(*new))
                    .collect();
                prop_assert!(falls.iter().all(|fall| *fall >= 0));
                prop_assert_eq!(falls.iter().sum::<i64>(), beds.words);
                prop_assert_eq!(falls.iter().filter(|fall| **fall > 0).count(), beds.cells);
                let depth = after.depth();
                for cell in
                    (0..ground.len()).filter(|&cell| before.is_river(cell) && !before.is_wet(cell))
                {
                    // As deep as the law has it, below the water.
                    let words =
                        (before.channel(cell).depth_m / 10.0 * f64::from(CELL)).round() as i64;
                    prop_assert!(
                        i64::from(before.surface[cell]) - i64::from(beds.ground[cell])
                            >= words.min(1 << 31) - 1
                    );
                    prop_assert!(
                        i64::from(depth[cell]) >= words.min(i64::from(i32::MAX))
                            || beds.ground[cell] == i32::MIN
                    );
                    let to = size.target(cell, before.directions[cell]);
                    // A puddle keeps its floor, as a lake does.
                    if let Some(to) =
                        to.filter(|&to| before.is_river(to) && !before.is_puddle(cell))
                    {
                        prop_assert!(beds.ground[to] <= beds.ground[cell], "a bed rises");
                    }
                }
                let is_pool = |cell: usize| before.is_puddle(cell) && before.is_river(cell);
                for cell in (0..ground.len())
                    .filter(|&cell| !before.is_wet(cell) && falls[cell] == 0 && !is_pool(cell))
                {
                    prop_assert_eq!(depth[cell], before.depth()[cell]);
                }
            }
            Ok(())
        },
    );
    done.unwrap();
}

/// Beside the outlet of a lake runs a brook into it, which comes down to the bed there. Its way
/// through the lake goes down as far.
#[test]
fn a_bed_that_is_cut_deeper_goes_on_so_through_a_lake() {
    let rows =
        [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, -16, -15], [0, -16, 0], [0, -15, 0], [0, 0, 0]];
    let settings = Settings {
        routing: Routing::Lowest,
        channel_area_km2: Some(0.7e-4),
        width_m: 0.0,
        depth_m: 60.0,
        runoff_mm: 1e5,
        ..all_lakes()
    };
    let mut river = water(&rows.concat(), 3, &settings);
    assert_eq!(river.lakes.iter().map(|lake| lake.cells.len()).collect::<Vec<_>>(), [2]);
    let beds = river.carve().ground;
    let law = (river.channel(16).depth_m / 10.0 * f64::from(CELL)).round() as i32;
    assert!(beds[16] < -15 - law, "the brook is deeper than by the law");
    for (cell, to) in [(16, 13), (13, 11)] {
        assert_eq!(Size { width: 3, height: 7 }.target(cell, river.directions[cell]), Some(to));
        assert!(beds[to] <= beds[cell], "from {cell} to {to}: {} to {}", beds[cell], beds[to]);
    }
}

/// A straight valley: depth and cross-section are those of the law and of a parabola.
#[test]
fn a_bed_is_as_deep_and_wide_as_its_river() {
    let (width, height) = (41usize, 60usize);
    let ground: Vec<i32> = (0..width * height)
        .map(|i| 100 * (i as i32 % 41 - 20).abs() - 3 * (i as i32 / 41))
        .collect();
    // 1 m³/s at the mouth: 41 · 60 cells of 100 m². The bed is 4 m deep and 60 m wide there.
    let settings = Settings {
        channel_area_km2: Some(0.1),
        runoff_mm: 31_557_600.0 * 1000.0 / 246_000.0,
        width_m: 60.0,
        depth_m: 4.0,
        ..all_lakes()
    };
    let mut river = water(&ground, width, &settings);
    let beds = river.carve();
    let mouth = 59 * width + 20;
    let deep = f64::from(CELL) * 0.4;
    let cut = |cell: usize| f64::from(ground[cell] - beds.ground[cell]);
    assert!((cut(mouth) - deep).abs() <= 1.0, "{}", cut(mouth));
    // A third of the way to the bank an eighth of the depth is gone: 1 − (10 / 30)². The ground
    // there is 100 words higher than the water.
    assert!(
        (cut(mouth + 1) - (deep * 8.0 / 9.0 + 100.0)).abs() < deep * 0.01,
        "{}",
        cut(mouth + 1)
    );
    assert!((cut(mouth - 2) - (deep * 5.0 / 9.0 + 200.0)).abs() < deep * 0.01);
    assert_eq!(cut(mouth + 3), 0.0);
    assert!(
        (f64::from(river.depth()[mouth + 1]) - deep * 8.0 / 9.0).abs() < deep * 0.01,
        "the water is level across"
    );
    assert_eq!(river.depth()[mouth + 4], 0);
}

const RECIPE: &str = "schema = 2\nseed = 3\nwidth = 90\nheight = 70\nspacing_m = 20\nmargin_cells \
                      = 7\n\
                      [[stage]]\nkind = \"diamond_square\"\nrelief_m = 300\n";

fn recipe(water: &str) -> Recipe {
    let text = format!(
        "{RECIPE}[water]\nsea_level_m = 20\nchannel_area_km2 = 0.02\n{water}[output]\n\
         maps = [\"height\", \"water_depth\", \"slope\"]\n"
    );
    Recipe::from_toml(&text, "", "x").unwrap()
}

fn run(recipe: &Recipe) -> Outcome {
    Job::new(recipe.clone()).unwrap().device(Device::Cpu).run(&mut |_| Ok(())).unwrap()
}

#[test]
fn recipes_have_beds_in_their_height() {
    let (without, with) = (run(&recipe("")), run(&recipe("carve = true\ndepth_m = 30\n")));
    let [old, new] = [&without, &with].map(|outcome| outcome.words("height").unwrap().to_vec());
    let lowered: i64 = old.iter().zip(&new).map(|(old, new)| i64::from(old - new)).sum();
    let summary = with.water.as_ref().unwrap();
    let m3 = lowered as f64 / f64::from(CELL) * 20.0 * 400.0;
    assert!(
        m3 > 1000.0 && (summary["carved_m3"].as_f64().unwrap() / m3 - 1.0).abs() < 1e-6,
        "{summary} {m3}"
    );
    assert_eq!(
        summary["carved_cells"],
        old.iter().zip(&new).filter(|(old, new)| old != new).count()
    );
    assert!(without.water.as_ref().unwrap()["carved_m3"].is_null());
    // What follows from the height follows from the new one.
    assert_ne!(without.digest("slope").unwrap(), with.digest("slope").unwrap());
    let deeper = with
        .words("water_depth")
        .unwrap()
        .iter()
        .zip(without.words("water_depth").unwrap())
        .filter(|(a, b)| a > b)
        .count();
    assert!(deeper > 20);
    let again =
        Recipe::from_json(&recipe("carve = true\n").describe().to_string(), "", "x").unwrap();
    assert!(again.water.unwrap().carve);
    let mut whole = recipe("carve = true\n");
    whole.margin = 0;
    let refused = Tiles::new(Job::new(whole).unwrap(), 64).err().unwrap().to_string();
    assert!(refused.contains("carve"), "{refused}");
}

fn map(data: Vec<f32>) -> Map {
    Map { width: 9, height: 9, spacing_m: 10.0, data, range_m: None, georef: None }
}

/// Rivers are drawn by their width, and lakes by their depth with a shore.
#[test]
fn pictures_have_water() {
    let land = map(vec![100.0; 81]);
    let style = Style::default();
    let dry = shaded(&land, &style);
    let drawn = |depth: Option<&Map>, width: Option<&Map>| {
        let mut picture = dry.clone();
        draw_water(&mut picture, &land, &Waters { depth, width, as_from_the_air: false }, &style)
            .unwrap();
        picture
    };
    let at = |metres: f32| map((0..81).map(|i| if i % 9 == 4 { metres } else { 0.0 }).collect());
    let [none, brook, river, wide] =
        [0.0, 1.0, 10.0, 50.0].map(|metres| drawn(None, Some(&at(metres))));
    assert_eq!(none, dry);
    let blue = |p: &Rgb<u8>| i32::from(p[2]) - i32::from(p[0]);
    let row = |picture: &image::RgbImage| {
        (0..9).map(|x| blue(picture.get_pixel(x, 4))).collect::<Vec<_>>()
    };
    let old = row(&dry)[4];
    assert!(old < row(&brook)[4] && row(&brook)[4] < row(&river)[4]);
    assert_eq!(row(&river).iter().filter(|blue| **blue > old).count(), 1);
    assert_eq!(row(&wide).iter().filter(|blue| **blue > old).count(), 5);
    // A brook takes most of its colour, and in a picture twice as large as one looks at whole it is
    // two pixels wide.
    let most = |full: &Rgb<u8>, brook: &Rgb<u8>| 3 * (blue(brook) - old) >= 2 * (blue(full) - old);
    assert!(most(river.get_pixel(4, 4), brook.get_pixel(4, 4)));
    let far = |width: u32| {
        let of = |metres: f32| {
            (0..width * 3).map(|i| if i % width == 40 { metres } else { 0.0 }).collect()
        };
        let [land, brook] = [vec![100.0; width as usize * 3], of(1.0)].map(|data| Map {
            width,
            height: 3,
            ..map(data)
        });
        let mut picture = shaded(&land, &style);
        draw_water(
            &mut picture,
            &land,
            &Waters { width: Some(&brook), ..Waters::default() },
            &style,
        )
        .unwrap();
        (30..50).filter(|&x| blue(picture.get_pixel(x, 1)) > old).count()
    };
    assert_eq!(
        [far(512), far(1024), far(2048)],
        [1, 3, 5],
        "a pixel, and what its sides cover of two more"
    );
    let lake = map((0..81)
        .map(|i| if (2..7).contains(&(i % 9)) { (i % 9).max(3) as f32 } else { 0.0 })
        .collect());
    let lake = drawn(Some(&lake), None);
    let light = |x: u32| lake.get_pixel(x, 4).0.iter().map(|v| i32::from(*v)).sum::<i32>();
    assert_eq!(lake.get_pixel(1, 4), dry.get_pixel(1, 4));
    assert!(light(3) > light(4) && light(4) > light(5), "deeper is darker");
    assert!(light(2) < light(3), "a line along the shore");
    // Beside a deep sea a shallow lake is blue, and no ice.
    let shallow = map((0..81)
        .map(|i| {
            if i % 9 > 6 {
                500.0
            } else if (2..6).contains(&(i % 9)) {
                0.5
            } else {
                0.0
            }
        })
        .collect());
    let shallow = drawn(Some(&shallow), None);
    assert!(blue(shallow.get_pixel(3, 4)) > 80, "{:?}", shallow.get_pixel(3, 4));
    // A puddle that is one cell wide is left out, but not where its ground is below the sea.
    let puddle = map((0..81)
        .map(|i| if i % 9 == 2 || [15, 16, 24, 25].contains(&i) { 1.0 } else { 0.0 })
        .collect());
    let small = drawn(Some(&puddle), None);
    assert_eq!(small.get_pixel(2, 4), dry.get_pixel(2, 4));
    assert_ne!(small.get_pixel(6, 1), dry.get_pixel(6, 1));
    let sea = Style { sea_level_m: Some(200.0), ..Style::default() };
    let mut inlet = shaded(&land, &sea);
    let before = *inlet.get_pixel(2, 4);
    draw_water(&mut inlet, &land, &Waters { depth: Some(&puddle), ..Waters::default() }, &sea)
        .unwrap();
    assert_ne!(*inlet.get_pixel(2, 4), before);
    // A bed is the river's water from bank to bank, deep or shallow, and a lake that a river
    // crosses stays a lake.
    let bed = map((0..81).map(|i| [0.0, 0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0, 0.0][i % 9]).collect());
    let carved = drawn(Some(&bed), Some(&at(50.0)));
    assert_eq!(carved, drawn(None, Some(&at(50.0))));
    let pond = map((0..81).map(|i| if (1..8).contains(&(i % 9)) { 3.0 } else { 0.0 }).collect());
    let crossed = drawn(Some(&pond), Some(&at(20.0)));
    assert_eq!(row(&crossed)[1..8], row(&drawn(Some(&pond), None))[1..8]);
    let other = Map { width: 3, height: 27, ..map(vec![0.0; 81]) };
    assert!(
        draw_water(
            &mut dry.clone(),
            &land,
            &Waters { depth: Some(&other), ..Waters::default() },
            &style
        )
        .is_err()
    );
    let preview = |recipe: &Recipe| {
        let mut files = Memory::default();
        Job::new(recipe.clone())
            .unwrap()
            .device(Device::Cpu)
            .run_into(&mut files, None, &mut |_| Ok(()))
            .unwrap();
        files.files.remove("preview.png").unwrap()
    };
    let mut without = recipe("");
    without.water = None;
    without.output.maps = vec!["height".into()];
    assert_ne!(preview(&recipe("")), preview(&without));
}
