//! Pictures: what light, ramps and comparisons must show.

use thalweg::map::Map;
use thalweg::render::{
    Coast, Ground, MOVED, Plain, Style, WATER, WaveView, Waves, beside, difference, draw_waves,
    grey, ground, plain, reduced, shaded, skyline,
};
use thalweg::render::{PERIOD_S, split, steepness, swell, wave};

fn map(width: u32, height: u32, f: impl Fn(u32, u32) -> f32) -> Map {
    let data =
        (0..height).flat_map(|r| (0..width).map(move |c| (r, c))).map(|(r, c)| f(r, c)).collect();
    Map { width, height, spacing_m: 10.0, data, range_m: None, georef: None }
}

fn luma(p: &[u8]) -> u32 {
    p.iter().map(|&v| u32::from(v)).sum()
}

#[test]
fn flat_is_one_colour_in_every_picture() {
    let flat = map(17, 9, |_, _| 123.0);
    let picture = shaded(&flat, &Style::default());
    assert_eq!(picture.dimensions(), (17, 9));
    assert!(picture.as_raw().chunks(3).all(|p| p == &picture.as_raw()[..3]));
    assert!(grey(&flat, None, false).iter().all(|&v| v == 0));
    assert!(grey(&flat, None, true).iter().all(|&v| v == 0));
}

#[test]
fn light_comes_from_the_north_west() {
    // A roof whose ridge runs from south-west to north-east: the colour ramp is the same on both
    // sides.
    let roof = map(64, 64, |r, c| 300.0 - 5.0 * (r as f32 + c as f32 - 63.0).abs());
    let picture = shaded(&roof, &Style::default());
    let at = |r: usize, c: usize| luma(&picture.as_raw()[(r * 64 + c) * 3..][..3]);
    assert!(at(16, 16) > at(47, 47) + 100, "{} {}", at(16, 16), at(47, 47));
    // Lit from the opposite side, the sides swap.
    let picture = shaded(&roof, &Style { azimuth_deg: 135.0, ..Style::default() });
    let at = |r: usize, c: usize| luma(&picture.as_raw()[(r * 64 + c) * 3..][..3]);
    assert!(at(16, 16) + 100 < at(47, 47));
}

/// Plain light is the cosine of the angle at which it falls: on level ground, on slopes that face
/// it, and on those that turn away.
#[test]
fn plain_light_is_a_cosine() {
    let lit = |rise: [f32; 2], style: Plain| {
        // Metres a cell of 10 m to the east and to the north; one plane has one grey, edges too.
        let plane = map(9, 7, |r, c| 10.0 * (rise[0] * c as f32 - rise[1] * r as f32));
        let picture = plain(&plane, &style).into_raw();
        assert!(picture.iter().all(|grey| *grey == picture[0]));
        picture[0]
    };
    let grey = |light: f64| (255.0 * light).round() as u8;
    let high = 45f64.to_radians().sin();
    let east = Plain { azimuth_deg: Some(90.0), ..Plain::default() };
    assert_eq!(lit([0.0, 0.0], Plain::default()), grey(high));
    assert_eq!(lit([0.0, 0.0], Plain { altitude_deg: 90.0, ..east }), 255);
    // It falls to the east at 45°, to the light that stands at 45°; then the other way.
    assert_eq!((lit([-1.0, 0.0], east), lit([1.0, 0.0], east)), (255, 0));
    assert_eq!(lit([0.0, -1.0], east), grey(high * high));
    assert_eq!(lit([-0.5, 0.0], Plain { z_factor: 2.0, ..east }), 255);
    // From several sides: a slope to the north-west at 45° has the light from there in full.
    let (along, across) = (high * high, high * high * (1.0 + high));
    assert_eq!(
        lit([0.5f32.sqrt(), -(0.5f32.sqrt())], Plain::default()),
        grey(0.4 + 0.4 * across + 0.2 * along)
    );
    // The whole sky is seen from level ground, and half of it or less from the foot of a wall.
    let sky = Plain { sky: 1.0, ..Plain::default() };
    assert_eq!(lit([0.0, 0.0], sky), 255);
    let wall = map(64, 64, |_, c| if c < 32 { 0.0 } else { 1e5 });
    let foot = plain(&wall, &sky).into_raw()[32 * 64 + 31];
    assert!((100..170).contains(&foot), "{foot}");
    // The sea is level, whatever lies under it.
    let bed = map(16, 16, |r, c| ((r * 7 + c * 5) % 11) as f32 - 20.0);
    assert!(
        plain(&bed, &Plain { sea_level_m: Some(0.0), ..Plain::default() })
            .iter()
            .all(|g| *g == grey(high))
    );
    for (w, h) in [(1, 1), (1, 7), (7, 1), (2, 2)] {
        assert_eq!(plain(&map(w, h, |r, c| (r * 3 + c) as f32), &sky).dimensions(), (w, h));
    }
    plain(
        &map(5, 5, |r, c| if (r + c) % 2 == 0 { f32::MAX } else { f32::MIN }),
        &Plain { z_factor: 1e9, ..sky },
    );
}

/// Snow lies above a height over the sea, not on the highest ground of any map; where it is steep
/// there is rock.
#[test]
fn snow_and_rock_are_those_of_height_and_slope() {
    // Nearly level land of so many metres, and a wall in the middle columns.
    let land = |low: f32| {
        map(48, 8, move |_, c| {
            low + if (20..28).contains(&c) { 20.0 * (c as f32 - 20.0) } else { 0.1 * c as f32 }
        })
    };
    let flat = Style { relief: 0.0, ..Style::default() };
    let at = |map: &Map, style: &Style, c: usize| {
        let colour = |picture: thalweg::image::RgbImage| {
            [0, 1, 2].map(|k| picture.as_raw()[(4 * 48 + c) * 3 + k])
        };
        [colour(shaded(map, style)), colour(ground(map, &Ground::default(), style).unwrap())]
    };
    let is_snow = |colour: &[u8; 3]| colour.iter().all(|v| *v > 240);
    for c in [3, 10, 40, 45] {
        assert!(!at(&land(0.0), &flat, c).iter().any(is_snow), "no hill of 160 m has snow: {c}");
        assert!(at(&land(4000.0), &flat, c).iter().all(is_snow), "a mountain of 4000 m has: {c}");
        let high_sea = Style { sea_level_m: Some(3500.0), ..flat.clone() };
        assert!(
            !at(&land(4000.0), &high_sea, c).iter().any(is_snow),
            "it is the height over the sea: {c}"
        );
        assert!(
            at(&land(0.0), &Style { snow_line_m: -100.0, ..flat.clone() }, c).iter().all(is_snow)
        );
        assert!(
            !at(&land(4000.0), &Style { snow_line_m: f64::INFINITY, ..flat.clone() }, c)
                .iter()
                .any(is_snow)
        );
    }
    // The wall rises at 63°: rock, at any height.
    for low in [0.0, 4000.0] {
        let [wall, seen] = at(&land(low), &flat, 24);
        assert_eq!(wall, [150, 143, 136]);
        assert!(!is_snow(&seen));
    }
}

#[test]
fn edges_are_lit_like_the_inside_of_a_plane() {
    let plane = map(8, 8, |r, c| 2.0 * r as f32 - 3.0 * c as f32);
    // One colour of the ramp for all, so that only light could differ.
    let style = Style { range_m: Some((1000.0, 2000.0)), ..Style::default() };
    let picture = shaded(&plane, &style);
    assert!(picture.as_raw().chunks(3).all(|p| p == &picture.as_raw()[..3]));
}

#[test]
fn every_size_has_a_picture() {
    for (w, h) in [(1, 1), (1, 7), (7, 1), (2, 2), (3, 2)] {
        let m = map(w, h, |r, c| (r * 3 + c) as f32);
        assert_eq!(shaded(&m, &Style::default()).as_raw().len(), (w * h * 3) as usize);
        assert_eq!(grey(&m, None, true).as_raw().len(), (w * h) as usize);
        let line = skyline(&m);
        assert_eq!(line.width(), w);
    }
}

#[test]
fn extreme_heights_do_not_break_the_picture() {
    let m = map(5, 5, |r, c| if (r + c) % 2 == 0 { f32::MAX } else { f32::MIN });
    let picture = shaded(&m, &Style { z_factor: 1e9, sea_level_m: Some(0.0), ..Style::default() });
    assert_eq!(picture.as_raw().len(), 75);
    assert!(difference(&m, &map(5, 5, |_, _| 0.0)).unwrap().iter().any(|&v| v != 255));
}

/// Ground below the sea level is drawn as water, darker with depth.
/// Holds D1 in part.
#[test]
fn sea_is_blue_and_land_is_not() {
    let m = map(32, 4, |_, c| c as f32 - 16.0);
    let picture = shaded(&m, &Style { sea_level_m: Some(0.0), ..Style::default() });
    let at = |c: usize| &picture.as_raw()[c * 3..c * 3 + 3];
    assert!(at(2)[2] > at(2)[0] + 20);
    assert!(at(20)[2] < at(20)[1]);
    // Deeper is darker.
    assert!(luma(at(1)) < luma(at(14)));
}

#[test]
fn grey_is_linear_or_logarithmic() {
    let m = map(5, 1, |_, c| 10f32.powi(c as i32));
    assert_eq!(grey(&m, None, true).into_raw(), [0, 64, 128, 191, 255]);
    assert_eq!(grey(&m, None, false).into_raw(), [0, 0, 3, 25, 255]);
    // A given range clips.
    assert_eq!(grey(&m, Some((10.0, 1000.0)), true).into_raw(), [0, 0, 128, 255, 255]);
}

#[test]
fn equal_maps_differ_in_white_and_the_smallest_difference_shows() {
    let a = map(9, 4, |r, c| (r * c) as f32);
    assert!(difference(&a, &a).unwrap().iter().all(|&v| v == 255));
    let mut b = a.clone();
    b.data[0] = 1000.0;
    b.data[7] = -1000.0;
    b.data[35] = f32::from_bits(b.data[35].to_bits() + 1);
    let picture = difference(&a, &b).unwrap().into_raw();
    let at = |i: usize| [picture[i * 3], picture[i * 3 + 1], picture[i * 3 + 2]];
    assert!(at(0)[0] > at(0)[2] && at(7)[2] > at(7)[0]);
    assert!(at(35)[2] < 240 && at(35)[0] > at(35)[2]);
    assert_eq!(at(1), [255; 3]);
    assert_eq!(difference(&a, &map(4, 9, |_, _| 0.0)).unwrap_err().code(), "param");
}

#[test]
fn skyline_is_dark_up_to_the_profile() {
    let m = map(90, 1, |_, c| if c < 45 { 0.0 } else { 100.0 });
    let p = skyline(&m);
    let filled = |c: usize| {
        (0..p.height() as usize)
            .filter(|r| luma(&p.as_raw()[(r * 90 + c) * 3..][..3]) < 300)
            .count()
    };
    assert_eq!(p.height(), 48);
    assert_eq!((filled(10), filled(80)), (8, 40));
}

/// Sand, rock and water are drawn where deposition, erosion and flow pass their thresholds, and
/// nowhere else.
/// Holds A19.
/// Holds A18, C1, C29 in part.
#[test]
fn the_ground_shows_what_was_moved_and_what_passed() {
    // Nearly level, spanning 100 m; the last column is the sea.
    let land = map(40, 12, |r, c| match (r, c) {
        (_, 39) => -50.0,
        (0, 0) => 50.0,
        _ => 1.0,
    });
    let style = Style { sea_level_m: Some(0.0), range_m: Some((-50.0, 50.0)), ..Style::default() };
    let much = (100.0 * MOVED.1) as f32 + 1.0;
    let deposition = map(40, 12, |_, c| if (4..8).contains(&c) { much + 3.0 } else { 3.0 });
    let erosion = map(40, 12, |_, c| if (14..18).contains(&c) { much + 3.0 } else { 3.0 });
    let flow = map(40, 12, |_, c| if (24..27).contains(&c) { 2000.0 } else { 10.0 });
    let whole = Ground {
        flow: Some(&flow),
        erosion: Some(&erosion),
        deposition: Some(&deposition),
        ..Ground::default()
    };
    let draw = |what: &Ground| {
        let data = ground(&land, what, &style).unwrap().into_raw();
        move |c: usize| {
            [data[(6 * 40 + c) * 3], data[(6 * 40 + c) * 3 + 1], data[(6 * 40 + c) * 3 + 2]]
                .map(i32::from)
        }
    };
    let at = draw(&whole);
    let ([sand, water, grass, sea], bare) = ([6, 25, 32, 39].map(&at), draw(&Ground::default()));
    assert!(sand[0] > 180 && sand[0] > sand[2] + 40, "{sand:?}");
    assert!(water[2] > water[0] + 40 && sea[2] > sea[0] + 40, "{water:?} {sea:?}");
    assert!(grass[1] > grass[0] && grass[1] > grass[2] + 30, "{grass:?}");
    // Where nothing was laid down or has passed there is grass, with and without maps. Level ground
    // has it even where much was worn away.
    for c in (2..38).filter(|c| !(3..9).contains(c) && !(22..29).contains(c)) {
        assert_eq!((at(c), bare(c)), (grass, grass), "{c}");
    }
    assert_eq!(bare(39), sea);
    // Little is nothing, and so is flow that is the same everywhere, however much.
    let little = map(40, 12, |_, _| (100.0 * MOVED.0) as f32 * 0.9);
    let even = map(40, 12, |_, _| 1e6);
    assert_eq!(
        draw(&Ground { flow: Some(&even), erosion: Some(&little), ..Ground::default() })(6),
        grass
    );
    assert!(WATER.0 > 1.0);
    // A slope of 0.58 has grass, and shows rock where much was worn away.
    let slope = map(40, 12, |r, _| r as f32 * 5.8);
    let wide = Style { range_m: Some((-50.0, 1e4)), ..style.clone() };
    let on_it = |erosion: Option<&Map>| {
        ground(&slope, &Ground { erosion, ..Ground::default() }, &wide).unwrap().get_pixel(16, 6).0
    };
    let (grown, worn) = (on_it(None), on_it(Some(&map(40, 12, |_, _| 1e4))));
    assert!(grown[1] > grown[0] && grown[1] > grown[2] + 30, "{grown:?}");
    let redder = |p: [u8; 3]| i32::from(p[0]) - i32::from(p[1]);
    assert!(redder(worn) > redder(grown) + 10, "{worn:?} {grown:?}");
    // Steep land is bare whatever lies there.
    let steep = map(20, 20, |r, _| r as f32 * 30.0);
    let heaps = map(20, 20, |_, _| 1e5);
    let cliff = |what: &Ground| {
        ground(&steep, what, &Style { range_m: Some((0.0, 1e4)), ..Style::default() }).unwrap()
    };
    assert_eq!(
        cliff(&Ground { deposition: Some(&heaps), ..Ground::default() }),
        cliff(&Ground::default())
    );
    // But for loose sand.
    let dunes = cliff(&Ground { sediment: Some(&heaps), ..Ground::default() });
    let [r, _, b] = [0, 1, 2].map(|k| i32::from(dunes.as_raw()[(10 * 20 + 10) * 3 + k]));
    let [plain_r, _, plain_b] =
        [0, 1, 2].map(|k| i32::from(cliff(&Ground::default()).as_raw()[(10 * 20 + 10) * 3 + k]));
    assert!(r - b > 2 * (plain_r - plain_b).abs(), "{r} {b}, bare {plain_r} {plain_b}");
    let small = map(3, 3, |_, _| 0.0);
    assert!(
        ground(&land, &Ground { erosion: Some(&small), ..whole }, &style)
            .unwrap_err()
            .to_string()
            .contains("one size")
    );
    for (w, h) in [(1, 1), (1, 7), (7, 1)] {
        let m = map(w, h, |r, c| (r + c) as f32);
        let all = Ground {
            flow: Some(&m),
            erosion: Some(&m),
            deposition: Some(&m),
            sediment: Some(&m),
            beach: Some(&m),
        };
        assert_eq!(
            ground(&m, &all, &Style::default()).unwrap().as_raw().len(),
            (w * h * 3) as usize
        );
    }
}

#[test]
fn smaller_maps_have_the_same_mean_and_extent() {
    let m = map(90, 60, |r, c| (r * 31 % 17) as f32 + (c * 7 % 13) as f32);
    let mean = |m: &Map| m.data.iter().map(|&v| f64::from(v)).sum::<f64>() / m.data.len() as f64;
    for longest in [1, 7, 30, 45, 89] {
        let small = reduced(&m, longest);
        assert_eq!((small.width, small.height), (longest, (60 * longest / 90).max(1)));
        assert!((mean(&small) - mean(&m)).abs() < 1e-5, "{longest}");
        assert_eq!(small.spacing_m, 10.0 * 90.0 / f64::from(longest));
    }
    // A third: each sample is the mean of nine.
    let small = reduced(&m, 30);
    let nine: f32 = (3..6)
        .flat_map(|r| (6..9).map(move |c| (r, c)))
        .map(|(r, c): (usize, usize)| m.data[r * 90 + c])
        .sum();
    assert!((small.data[30 + 2] - nine / 9.0).abs() < 1e-5);
    assert_eq!(reduced(&m, 90), m);
    assert_eq!(reduced(&m, 1000), m);
}

/// Two pictures of one size are drawn side by side.
/// Holds C1 in part.
#[test]
fn before_and_after_stand_side_by_side() {
    let (a, b) = (
        grey(&map(200, 5, |_, c| c as f32), None, false),
        grey(&map(200, 5, |r, _| r as f32), None, false),
    );
    let both = beside(&a, &b).unwrap();
    assert_eq!(both.dimensions(), (403, 5));
    for row in 0..5 {
        let line = &both.as_raw()[row * 403..][..403];
        assert_eq!(
            (&line[..200], &line[203..]),
            (&a.as_raw()[row * 200..][..200], &b.as_raw()[row * 200..][..200])
        );
        assert_eq!(line[200..203], [255; 3]);
    }
    assert!(
        beside(&a, &grey(&map(5, 200, |_, _| 0.0), None, false))
            .unwrap_err()
            .to_string()
            .contains("200x5")
    );
}

/// A smaller map of numbers has only numbers of the larger one, from the middle of the areas.
#[test]
fn numbers_are_thinned_and_not_averaged() {
    let map = Map {
        width: 90,
        height: 60,
        spacing_m: 1.0,
        data: (0..5400).map(|i| (i * i) as f32).collect(),
        range_m: None,
        georef: None,
    };
    let thin = thalweg::render::thinned(&map, 30);
    let same = thalweg::render::reduced(&map, 30);
    assert_eq!(
        (thin.width, thin.height, thin.spacing_m),
        (same.width, same.height, same.spacing_m)
    );
    for (i, value) in thin.data.iter().enumerate() {
        let (x, y) = (i % 30 * 3 + 1, i / 30 * 3 + 1);
        assert_eq!(*value, map.data[y * 90 + x]);
    }
    assert_eq!(thalweg::render::thinned(&map, 90), map);
}

/// The published formulas at places where they are known, crests that move to the shore, and a
/// period without a jump.
/// Holds B3, B5, B9.
#[test]
fn waves_are_those_of_the_formulas() {
    assert_eq!(
        f64::from(PERIOD_S[0]) / f64::from(PERIOD_S[1]) * 0.08,
        0.25,
        "a quarter of a turn at 0.08 a second"
    );
    assert_eq!(wave(0.0, 0.0), 1.0);
    assert!(wave(0.0, 0.5).abs() < 1e-12);
    // The first crest behind the shore lies where 4 · d^0.65 = 1, and a quarter of a period later
    // where it is 3/4.
    let crest = |turns: f64| (turns / 4.0).powf(1.0 / 0.65);
    assert!(
        (wave(crest(1.0), 0.0) - 1.0).abs() < 1e-12
            && (wave(crest(0.75), 0.25) - 1.0).abs() < 1e-12
    );
    assert_eq!([split(0.0, 0.0), split(0.0, 56.0 / 96.0 * std::f64::consts::PI)], [0.5, 1.0]);
    for d in [0.0, 0.1, 0.4, 0.77, 1.0] {
        assert!((wave(d, 0.0) - wave(d, 1.0)).abs() < 1e-9);
        assert!(
            (swell(d, 0.3, 0.25) - 0.1 * wave(d, 0.3).powi(2) * (1.0 - d) * 0.75).abs() < 1e-12
        );
        // The slope is that of the height, in units a unit: three units are the shore's length.
        let far = |by: f64| swell(d + by, 0.3, 0.25);
        let slope = (far(1e-6) - far(-1e-6)) / 2e-6 / 3.0;
        assert!(d == 0.0 || (steepness(d, 0.3, 0.25) - slope).abs() < 1e-5, "{d}");
    }
}

/// A straight coast: the padding, the pixels, distances and directions, data in the texture,
/// normals, and the land as it was.
/// Holds B2, B4, B6, B7, B8.
#[test]
fn a_straight_coast_has_its_waves() {
    // The western half is sea: that side alone is wider by the shore's length.
    let land = map(41, 9, |_, c| c as f32 - 20.0);
    let waves = Waves { shore_length_m: Some(60.0), pixels: None };
    let coast = Coast::of(&land, 0.0, &waves).unwrap();
    assert_eq!(
        (coast.map().width, coast.map().height),
        (72 + 40 * 12 + 1, 8 * 12 + 1),
        "72 pixels are the shore's length"
    );
    assert_eq!(coast.map().spacing_m, 10.0 / 12.0);
    let shore = 72 + 20 * 12;
    assert_eq!(coast.at(shore, 5), None, "land");
    assert_eq!(coast.at(shore - 36, 5), Some((0.5, [1.0, 0.0])));
    assert_eq!(coast.at(shore - 73, 5), None, "beyond the shore's length");
    let style = Style::default();
    let before = shaded(coast.map(), &style);
    let drawn = |view, t| {
        let mut picture = before.clone();
        draw_waves(&mut picture, &coast, t, view, &style).unwrap();
        picture
    };
    assert_eq!(drawn(WaveView::Texture, 0.0).get_pixel(shore - 36, 5).0, [128, 255, 128]);
    assert_eq!(drawn(WaveView::Direction, 0.0).get_pixel(shore - 36, 5).0, [128, 64, 0]);
    assert_eq!(
        drawn(WaveView::Direction, 0.0).get_pixel(shore - 100, 5).0,
        [0; 3],
        "black is farthest"
    );
    assert_eq!(
        drawn(WaveView::Texture, 0.0).get_pixel(shore + 9, 5).0,
        [0, 128, 128],
        "land is at no distance"
    );
    assert_eq!(
        drawn(WaveView::Normals, 0.0).get_pixel(shore + 9, 5).0,
        [128, 128, 255],
        "and level"
    );
    let normals = drawn(WaveView::Normals, 0.25);
    // Away from the coast, to the west, is up by the steepness: the normal leans to the east where
    // the sea rises to the west.
    let (u, v) = (f64::from(shore - 36) / 24.0, 5.0 / 24.0);
    let rise = steepness(0.5, 0.25, split(u, v));
    let lean = f64::from(normals.get_pixel(shore - 36, 5).0[0]) / 127.5 - 1.0;
    assert!((lean - rise / (1.0 + rise * rise).sqrt()).abs() < 0.01, "{lean} {rise}");
    let (first, later, last) =
        (drawn(WaveView::Waves, 0.0), drawn(WaveView::Waves, 0.5), drawn(WaveView::Waves, 1.0));
    assert_eq!(first, last);
    assert_ne!(first, later);
    let same = |x: u32| (0..97).all(|y| first.get_pixel(x, y) == before.get_pixel(x, y));
    assert!(same(shore) && same(shore + 50) && same(shore - 100) && !same(shore - 1));
}

/// Rivers are lines in the larger picture of a coast, too: straight between samples, as wide as
/// these say, and nowhere else.
#[test]
fn lines_stay_lines_in_a_larger_picture() {
    let coast = Coast::of(
        &map(41, 9, |_, c| c as f32 - 20.0),
        0.0,
        &Waves { shore_length_m: Some(60.0), pixels: None },
    )
    .unwrap();
    let widths = map(41, 9, |row, column| match (column, row) {
        (22, 3) => 10.0,
        (23, 4) => 22.0,
        (24, 4) => 22.0,
        (30, 8) => 5.0,
        _ => 0.0,
    });
    let lines = coast.enlarged_lines(&widths);
    assert_eq!(
        (lines.width, lines.height, lines.spacing_m),
        (coast.map().width, coast.map().height, coast.map().spacing_m)
    );
    let (left, top) = (72 + 22 * 12, 3 * 12);
    let mut expected = vec![0.0; lines.data.len()];
    for n in 0..12u32 {
        expected[((top + n) * lines.width + left + n) as usize] = 10.0 + n as f32;
        expected[((top + 12) * lines.width + left + 12 + n) as usize] = 22.0;
    }
    expected[((top + 12) * lines.width + left + 24) as usize] = 22.0;
    expected[(8 * 12 * lines.width + 72 + 30 * 12) as usize] = 5.0;
    assert_eq!(lines.data, expected);
}

/// In a larger picture the coast lies where the ground leads, and not on the last samples of land,
/// where that is level with the sea.
#[test]
fn coasts_between_samples_have_no_stairs() {
    // A straight coast of some slope, whose land is flat, steep, or goes on as the ground of the
    // sea does.
    let far = |row: f64, column: f64| column - 20.0 + (row - 12.0) * 0.37 + 0.21;
    for land in [0.0, 0.3, 1.0, 30.0] {
        let height = |row: u32, column: u32| {
            let far = far(row.into(), column.into());
            (far * if far > 0.0 { land } else { 2.0 }) as f32
        };
        let flat = map(41, 25, height);
        let coast =
            Coast::of(&flat, 0.0, &Waves { shore_length_m: Some(60.0), pixels: Some(8) }).unwrap();
        let left = coast.map().width - (40 * 8 + 1);
        let mut worst = 0.0f64;
        for y in 8..24 * 8 - 8 {
            let first = (0..coast.map().width)
                .find(|x| coast.map().data[(y * coast.map().width + x) as usize] >= 0.0)
                .unwrap();
            worst = worst
                .max(far(f64::from(y) / 8.0, (f64::from(first) - f64::from(left)) / 8.0).abs());
        }
        assert!(worst < if land < 30.0 { 0.2 } else { 0.6 }, "{land}: {worst} cells");
        // Waves begin there, and what lies on land alone reaches that far.
        let ones = map(41, 25, |row, column| if height(row, column) >= 0.0 { 1.0 } else { 0.0 });
        let (ground, depth) = (
            coast.enlarged_ground(&ones),
            coast.enlarged_ground(&map(41, 25, |r, c| (-height(r, c)).max(0.0))),
        );
        for (at, z) in coast.map().data.iter().enumerate() {
            let (x, y) = (at as u32 % coast.map().width, at as u32 / coast.map().width);
            assert!(*z < 0.0 || coast.at(x, y).is_none());
            if *z >= 0.0 {
                assert_eq!((ground.data[at], depth.data[at]), (1.0, 0.0), "{x} {y}");
            }
        }
    }
    // Samples are land or sea as they were.
    let rough = map(41, 25, |row, column| ((row * 7 + column * 13) % 11) as f32 - 5.0);
    let coast =
        Coast::of(&rough, 0.5, &Waves { shore_length_m: Some(60.0), pixels: Some(4) }).unwrap();
    assert_eq!((coast.map().width, coast.map().height), (161, 97));
    for (at, z) in rough.data.iter().enumerate() {
        assert_eq!(coast.map().data[at / 41 * 4 * 161 + at % 41 * 4], *z);
    }
    // A level of the sea that the map's type cannot hold.
    let coast = Coast::of(
        &map(5, 5, |_, c| c as f32 - 2.0),
        0.3,
        &Waves { shore_length_m: Some(20.0), pixels: Some(4) },
    )
    .unwrap();
    let is_land = |z: &f32| f64::from(*z) >= 0.3;
    assert!(coast.map().data.iter().any(is_land) && !coast.map().data.iter().all(is_land));
}

/// No sea, all sea, one cell: pictures as they were; bad settings are refused.
#[test]
fn lands_without_a_coast_have_no_waves() {
    for (width, height, z) in [(9, 7, 5.0), (9, 7, -5.0), (1, 1, 5.0), (1, 1, -5.0)] {
        let coast = Coast::of(
            &map(width, height, |_, _| z),
            0.0,
            &Waves { shore_length_m: Some(20.0), pixels: Some(2) },
        )
        .unwrap();
        let before = shaded(coast.map(), &Style::default());
        let mut after = before.clone();
        draw_waves(&mut after, &coast, 0.3, WaveView::Waves, &Style::default()).unwrap();
        assert_eq!(before, after, "{width}x{height} {z}");
        let mut other = shaded(&map(3, 2, |_, _| z), &Style::default());
        assert!(draw_waves(&mut other, &coast, 0.0, WaveView::Waves, &Style::default()).is_err());
    }
    let refused = |shore_length_m, pixels| {
        Coast::of(&map(9, 7, |_, _| -1.0), 0.0, &Waves { shore_length_m, pixels }).unwrap_err()
    };
    assert!(refused(Some(0.0), None).to_string().contains("over 0"));
    assert!(refused(None, Some(17)).to_string().contains("1 to 16"));
    assert!(refused(Some(1e6), Some(1)).to_string().contains("fewer pixels"));
}
