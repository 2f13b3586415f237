//! Pictures: what light, ramps and comparisons must show.

use thalweg::map::Map;
use thalweg::render::{Style, difference, grey, shaded, skyline};

fn map(width: u32, height: u32, f: impl Fn(u32, u32) -> f32) -> Map {
    let data = (0..height).flat_map(|r| (0..width).map(move |c| (r, c))).map(|(r, c)| f(r, c)).collect();
    Map { width, height, spacing_m: 10.0, data, range_m: None, georef: None }
}

fn luma(p: &[u8]) -> u32 {
    p.iter().map(|&v| u32::from(v)).sum()
}

#[test]
fn flat_is_one_colour_in_every_picture() {
    let flat = map(17, 9, |_, _| 123.0);
    let picture = shaded(&flat, &Style::default());
    assert_eq!((picture.width, picture.height, picture.channels, picture.data.len()), (17, 9, 3, 17 * 9 * 3));
    assert!(picture.data.chunks(3).all(|p| p == &picture.data[..3]));
    assert!(grey(&flat, None, false).data.iter().all(|&v| v == 0));
    assert!(grey(&flat, None, true).data.iter().all(|&v| v == 0));
}

#[test]
fn light_comes_from_the_north_west() {
    // A roof whose ridge runs from south-west to north-east: the colour ramp is the same on both sides.
    let roof = map(64, 64, |r, c| 300.0 - 5.0 * (r as f32 + c as f32 - 63.0).abs());
    let picture = shaded(&roof, &Style::default());
    let at = |r: usize, c: usize| luma(&picture.data[(r * 64 + c) * 3..][..3]);
    assert!(at(16, 16) > at(47, 47) + 100, "{} {}", at(16, 16), at(47, 47));
    // Lit from the opposite side, the sides swap.
    let picture = shaded(&roof, &Style { azimuth_deg: 135.0, ..Style::default() });
    let at = |r: usize, c: usize| luma(&picture.data[(r * 64 + c) * 3..][..3]);
    assert!(at(16, 16) + 100 < at(47, 47));
}

#[test]
fn edges_are_lit_like_the_inside_of_a_plane() {
    let plane = map(8, 8, |r, c| 2.0 * r as f32 - 3.0 * c as f32);
    // One colour of the ramp for all, so that only light could differ.
    let style = Style { range_m: Some((1000.0, 2000.0)), ..Style::default() };
    let picture = shaded(&plane, &style);
    assert!(picture.data.chunks(3).all(|p| p == &picture.data[..3]));
}

#[test]
fn every_size_has_a_picture() {
    for (w, h) in [(1, 1), (1, 7), (7, 1), (2, 2), (3, 2)] {
        let m = map(w, h, |r, c| (r * 3 + c) as f32);
        assert_eq!(shaded(&m, &Style::default()).data.len(), (w * h * 3) as usize);
        assert_eq!(grey(&m, None, true).data.len(), (w * h) as usize);
        let line = skyline(&m);
        assert_eq!((line.width, line.data.len()), (w, (w * line.height * 3) as usize));
    }
}

#[test]
fn extreme_heights_do_not_break_the_picture() {
    let m = map(5, 5, |r, c| if (r + c) % 2 == 0 { f32::MAX } else { f32::MIN });
    let picture = shaded(&m, &Style { z_factor: 1e9, sea_level_m: Some(0.0), ..Style::default() });
    assert_eq!(picture.data.len(), 75);
    assert!(difference(&m, &map(5, 5, |_, _| 0.0)).unwrap().data.iter().any(|&v| v != 255));
}

#[test]
fn sea_is_blue_and_land_is_not() {
    let m = map(32, 4, |_, c| c as f32 - 16.0);
    let picture = shaded(&m, &Style { sea_level_m: Some(0.0), ..Style::default() });
    let at = |c: usize| &picture.data[c * 3..c * 3 + 3];
    assert!(at(2)[2] > at(2)[0] + 20);
    assert!(at(20)[2] < at(20)[1]);
    // Deeper is darker.
    assert!(luma(at(1)) < luma(at(14)));
}

#[test]
fn grey_is_linear_or_logarithmic() {
    let m = map(5, 1, |_, c| 10f32.powi(c as i32));
    assert_eq!(grey(&m, None, true).data, [0, 64, 128, 191, 255]);
    assert_eq!(grey(&m, None, false).data, [0, 0, 3, 25, 255]);
    // A given range clips.
    assert_eq!(grey(&m, Some((10.0, 1000.0)), true).data, [0, 0, 128, 255, 255]);
}

#[test]
fn equal_maps_differ_in_white_and_the_smallest_difference_shows() {
    let a = map(9, 4, |r, c| (r * c) as f32);
    assert!(difference(&a, &a).unwrap().data.iter().all(|&v| v == 255));
    let mut b = a.clone();
    b.data[0] = 1000.0;
    b.data[7] = -1000.0;
    b.data[35] = f32::from_bits(b.data[35].to_bits() + 1);
    let picture = difference(&a, &b).unwrap().data;
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
    let filled = |c: usize| (0..p.height as usize).filter(|r| luma(&p.data[(r * 90 + c) * 3..][..3]) < 300).count();
    assert_eq!(p.height, 48);
    assert_eq!((filled(10), filled(80)), (8, 40));
}
