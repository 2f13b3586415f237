//! Files: exact round trips, bytes by the specifications, and every kind of bad input.

use crate::common::rounds;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thalweg::image::codecs::jpeg::JpegEncoder;
use thalweg::image::{
    DynamicImage, GrayImage, ImageBuffer, ImageFormat, Luma, LumaA, Rgb, RgbImage, Rgba, RgbaImage,
};
use thalweg::io::{self, Files, MapFormat, ReadOptions, Stored};
use thalweg::map::{Georef, Map, Samples};
use thalweg::{Error, Result};

const ALL: [MapFormat; 6] = [
    MapFormat::Png,
    MapFormat::Tiff,
    MapFormat::Exr,
    MapFormat::Npy,
    MapFormat::R16,
    MapFormat::R32,
];
const FLOAT: [MapFormat; 4] = [MapFormat::Tiff, MapFormat::Exr, MapFormat::Npy, MapFormat::R32];

/// A small stream of numbers that is the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 16
    }
}

fn noisy(width: u32, height: u32) -> Map {
    let mut numbers = Numbers(u64::from(width) << 32 | u64::from(height));
    let data = (0..width * height)
        .map(|_| (numbers.next() % 4_000_000) as f32 / 1234.5 - 1000.0)
        .collect();
    Map { width, height, spacing_m: 12.5, data, range_m: None, georef: None }
}

fn options(map: &Map) -> ReadOptions {
    ReadOptions {
        spacing_m: Some(map.spacing_m),
        size: Some((map.width, map.height)),
        ..ReadOptions::default()
    }
}

fn decode(bytes: &[u8], format: MapFormat, options: &ReadOptions) -> Result<io::Reading> {
    io::decode(&PathBuf::from(format!("test.{}", format.extension())), bytes, format, options)
}

fn encode(map: &Map, format: MapFormat) -> Vec<u8> {
    io::encode(map, format).unwrap().0
}

/// A folder of its own that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-io-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn list(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a map as a run does.
fn write(path: &Path, map: &Map) -> Result<Stored> {
    let mut files = Files::default();
    let stored = files.write(path, &io::encode(map, MapFormat::from_path(path)?)?.0)?;
    files.keep();
    Ok(stored)
}

fn bits(map: &Map) -> Vec<u32> {
    map.data.iter().map(|v| v.to_bits()).collect()
}

fn has(warnings: &[String], part: &str) -> bool {
    warnings.iter().any(|w| w.contains(part))
}

fn message<T: std::fmt::Debug>(result: Result<T>, code: &str) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    error.to_string()
}

#[test]
fn float_formats_keep_every_bit_at_every_size() {
    for (w, h) in
        [(1, 1), (1, 9), (9, 1), (2, 2), (13, 17), (127, 31), (512, 3), (513, 5), (600, 513)]
    {
        let mut map = noisy(w, h);
        map.data[0] = -0.0;
        *map.data.last_mut().unwrap() = 1e-42;
        for format in FLOAT {
            let back = decode(&encode(&map, format), format, &options(&map)).unwrap();
            assert_eq!(bits(&back.map), bits(&map), "{format:?} {w}x{h}");
            assert_eq!(back.map, map, "{format:?} {w}x{h}");
            assert!(back.warnings.is_empty(), "{:?}", back.warnings);
        }
    }
}

#[test]
fn extreme_floats_survive() {
    let mut map = noisy(4, 4);
    map.data[..6].copy_from_slice(&[
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        1e30,
        -1e30,
        f32::EPSILON,
    ]);
    for format in FLOAT {
        assert_eq!(
            bits(&decode(&encode(&map, format), format, &options(&map)).unwrap().map),
            bits(&map),
            "{format:?}"
        );
    }
    for format in [MapFormat::Png, MapFormat::R16] {
        let back = decode(
            &encode(&map, format),
            format,
            &ReadOptions { range_m: Some((-1.0, 1.0)), ..options(&map) },
        )
        .unwrap();
        assert_eq!((back.map.data[0], back.map.data[1]), (1.0, -1.0));
    }
}

#[test]
fn integer_formats_round_to_the_nearest_step_and_then_stay() {
    for (w, h) in [(1, 1), (1, 9), (13, 17), (300, 7)] {
        let mut map = noisy(w, h);
        map.range_m = Some((-1500.0, 3000.0));
        for format in [MapFormat::Png, MapFormat::R16] {
            let options = ReadOptions { range_m: map.range_m, ..options(&map) };
            let back = decode(&encode(&map, format), format, &options).unwrap().map;
            assert_eq!((back.width, back.height, back.range_m), (w, h, map.range_m));
            let step = 4500.0 / 65535.0;
            assert!(map.data.iter().zip(&back.data).all(|(a, b)| (a - b).abs() <= 0.501 * step));
            assert_eq!(encode(&back, format), encode(&map, format));
        }
    }
}

#[test]
fn the_same_map_gives_the_same_bytes() {
    let map = noisy(600, 20);
    for format in ALL {
        assert_eq!(encode(&map, format), encode(&map, format), "{format:?}");
    }
}

#[test]
fn bytes_follow_the_specifications() {
    let map = Map {
        width: 3,
        height: 2,
        spacing_m: 1.0,
        data: vec![0.0, 1.0, 2.0, 0.5, 1.5, 2.0],
        range_m: None,
        georef: None,
    };
    assert_eq!(
        encode(&map, MapFormat::R16),
        [0, 0, 0x00, 0x80, 0xff, 0xff, 0x00, 0x40, 0xff, 0xbf, 0xff, 0xff]
    );
    let floats: Vec<u8> = [0u32, 0x3f80_0000, 0x4000_0000, 0x3f00_0000, 0x3fc0_0000, 0x4000_0000]
        .iter()
        .flat_map(|v| [*v as u8, (*v >> 8) as u8, (*v >> 16) as u8, (*v >> 24) as u8])
        .collect();
    assert_eq!(encode(&map, MapFormat::R32), floats);
    let npy = encode(&map, MapFormat::Npy);
    assert_eq!(&npy[..8], b"\x93NUMPY\x01\x00");
    let header = usize::from(npy[8]) + 256 * usize::from(npy[9]);
    assert_eq!((10 + header) % 64, 0);
    assert_eq!(npy[9 + header], b'\n');
    let text = std::str::from_utf8(&npy[10..10 + header]).unwrap();
    for part in ["'descr': '<f4'", "'fortran_order': False", "'shape': (2, 3"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(npy[10 + header..], floats);
    let png = encode(&map, MapFormat::Png);
    // Signature; a header of 13 bytes: 3 by 2, 16 bits, grey, not interlaced.
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(&png[8..29], b"\0\0\0\x0dIHDR\0\0\0\x03\0\0\0\x02\x10\0\0\0\0");
    assert_eq!(&encode(&map, MapFormat::Exr)[..4], [0x76, 0x2f, 0x31, 0x01]);
}

#[test]
fn raw_warns_when_readers_need_the_size() {
    assert!(has(&io::encode(&noisy(3, 2), MapFormat::R32).unwrap().1, "3x2"));
    assert!(io::encode(&noisy(3, 3), MapFormat::R32).unwrap().1.is_empty());
}

#[test]
fn heights_outside_the_range_widen_it() {
    let mut map = noisy(4, 4);
    map.data[5] = 5000.0;
    map.range_m = Some((-2000.0, 3000.0));
    let encoded = io::encode_all(&map, MapFormat::Png).unwrap();
    assert_eq!(encoded.quantised, Some((-2000.0, 5000.0)));
    assert!(has(&encoded.warnings, "5000"));
    map.range_m = Some((-2000.0, 9000.0));
    let encoded = io::encode_all(&map, MapFormat::Png).unwrap();
    assert_eq!((encoded.quantised, encoded.warnings), (Some((-2000.0, 9000.0)), vec![]));
    assert_eq!(io::encode_all(&map, MapFormat::Npy).unwrap().quantised, None);
}

#[test]
fn flat_maps_come_back_level() {
    for h in [0.0, -77.25, 1e30] {
        let map = Map {
            width: 5,
            height: 3,
            spacing_m: 1.0,
            data: vec![h; 15],
            range_m: None,
            georef: None,
        };
        let encoded = io::encode_all(&map, MapFormat::Png).unwrap();
        let options = ReadOptions { range_m: encoded.quantised, ..ReadOptions::default() };
        assert_eq!(decode(&encoded.bytes, MapFormat::Png, &options).unwrap().map.data, map.data);
    }
}

#[test]
fn real_terrain_is_read_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jacksboro.tif");
    let reading = io::read(&path, &ReadOptions::default()).unwrap();
    let map = &reading.map;
    assert_eq!((map.width, map.height), (403, 344));
    assert_eq!(map.min_max(), (236.0, 1076.0));
    assert_eq!(map.range_m, None);
    let georef = map.georef.as_ref().unwrap();
    assert_eq!(georef.epsg, Some(4326));
    assert!(
        (georef.cell.0 - 1.0 / 1200.0).abs() < 1e-6 && (georef.cell.1 - 1.0 / 1200.0).abs() < 1e-6
    );
    assert!((36.0..37.5).contains(&georef.north) && (-85.5..-83.0).contains(&georef.west));
    // The mean of 74.5 m and 92.8 m.
    assert!((map.spacing_m - 83.6).abs() < 0.3, "{}", map.spacing_m);
    assert!(
        has(&reading.warnings, "degrees") && has(&reading.warnings, "92.77"),
        "{:?}",
        reading.warnings
    );
    let given =
        io::read(&path, &ReadOptions { spacing_m: Some(90.0), ..ReadOptions::default() }).unwrap();
    assert_eq!(given.map.spacing_m, 90.0);
    // Its place survives a file of ours.
    let back =
        decode(&encode(map, MapFormat::Tiff), MapFormat::Tiff, &ReadOptions::default()).unwrap();
    assert_eq!(&back.map, map);
}

/// Heights of the files in `tests/data/tiff`, which GDAL has made: see `make.py` there.
fn made_by_gdal(x: u32, y: u32) -> f32 {
    100.0 + 0.25 * x as f32 + 0.5 * y as f32 + (x * y % 7) as f32
}

/// Reads one of these files.
fn gdal(name: &str, options: &ReadOptions) -> Result<io::Reading> {
    io::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiff").join(name), options)
}

fn heights_of(height: impl Fn(u32, u32) -> f32) -> Vec<f32> {
    (0..100 * 70).map(|i| height(i % 100, i / 100)).collect()
}

/// A spacing that contradicts the place on Earth is not lost in the file: the place is, with a
/// warning.
/// Holds file F2 in part.
#[test]
fn a_spacing_that_contradicts_the_place_wins() {
    let given = ReadOptions { spacing_m: Some(60.0), ..ReadOptions::default() };
    let reading = gdal("big.tif", &given).unwrap();
    assert!(
        reading.map.georef.is_none()
            && has(&reading.warnings, "cells measure 30 m on Earth and 60 m are asked for")
    );
    let back =
        decode(&encode(&reading.map, MapFormat::Tiff), MapFormat::Tiff, &ReadOptions::default())
            .unwrap();
    assert_eq!(back.map.spacing_m, 60.0);
    let same = ReadOptions { spacing_m: Some(30.0), ..ReadOptions::default() };
    assert!(gdal("big.tif", &same).unwrap().map.georef.is_some());
}

/// Every compression that GDAL writes is read right, in tiles and in strips, or refused by its
/// name.
/// Holds file F1: tiled LZW was "damaged", and ZSTD and LERC were as well.
#[test]
fn compressions_of_gdal_are_read_or_named() {
    for name in [
        "tiled_lzw",
        "tiled_lzw_predictor",
        "strips_lzw",
        "tiled_deflate",
        "tiled_packbits",
        "tiled_zstd",
        "tiled_lerc",
        "tiled_lerc_deflate",
        "tiled_lerc_zstd",
        "big",
        "f16",
    ] {
        let reading = gdal(&format!("{name}.tif"), &ReadOptions::default())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(reading.map.data, heights_of(made_by_gdal), "{name}");
        assert_eq!((reading.map.spacing_m, reading.warnings), (30.0, vec![]), "{name}");
        assert_eq!(reading.map.georef.unwrap().epsg, Some(32633), "{name}");
    }
    let short = gdal("tiled_lzw_i16.tif", &ReadOptions::default()).unwrap();
    assert_eq!(short.map.data, heights_of(|x, y| made_by_gdal(x, y).trunc()));
    let text = message(gdal("tiled_lzma.tif", &ReadOptions::default()), "input");
    assert!(text.contains("LZMA") && text.contains("COMPRESS=DEFLATE"), "{text}");
}

/// Coordinate systems without a code, and vertical ones, come back out of a file of ours as they
/// went in; a format that holds no place says so.
/// Holds file F2: both were dropped without a word.
#[test]
fn coordinate_systems_survive_whether_known_or_not() {
    for (name, code, text) in [
        ("albers", None, "North_America_Albers"),
        ("laea", None, "unknown"),
        ("vertical", Some(32633), "EGM96"),
    ] {
        let map = gdal(&format!("{name}.tif"), &ReadOptions::default()).unwrap().map;
        let georef = map.georef.clone().unwrap();
        assert_eq!(georef.epsg, code, "{name}");
        let keys = georef.keys.as_ref().unwrap();
        assert!(keys.text.contains(text), "{name}: {}", keys.text);
        let back = decode(&encode(&map, MapFormat::Tiff), MapFormat::Tiff, &ReadOptions::default())
            .unwrap();
        assert_eq!((back.map.data, back.warnings), (map.data.clone(), vec![]), "{name}");
        let again = back.map.georef.unwrap();
        assert_eq!(
            (again.west, again.north, again.cell, again.epsg),
            (georef.west, georef.north, georef.cell, code),
            "{name}"
        );
        // Each key with the number, the numbers or the text that it refers to, wherever the writer
        // has put them.
        let resolved = |keys: &thalweg::map::GeoKeys| -> BTreeMap<u16, String> {
            let value = |key: &[u16]| {
                let span = usize::from(key[3])..usize::from(key[3]) + usize::from(key[2]);
                match key[1] {
                    0 => key[3].to_string(),
                    34736 => format!("{:?}", &keys.numbers[span]),
                    // A bar ends a text, and one more before it says nothing.
                    _ => keys.text[span].trim_end_matches('|').into(),
                }
            };
            keys.directory[4..].chunks(4).map(|key| (key[0], value(key))).collect()
        };
        assert_eq!(resolved(&again.keys.unwrap()), resolved(keys), "{name}");
        for format in
            [MapFormat::Png, MapFormat::Exr, MapFormat::Npy, MapFormat::R16, MapFormat::R32]
        {
            let (_, warnings) = io::encode(&map, format).unwrap();
            let named = code.map_or(text.to_string(), |code| format!("EPSG:{code}"));
            assert!(
                has(&warnings, "where on Earth") && has(&warnings, &named),
                "{name}: {warnings:?}"
            );
        }
    }
}

/// Scale, offset, unit, masks, absent tiles and voids of a GeoTIFF are honoured, and said; one band
/// of several can be named.
/// Holds file F8: they were read wrongly without a word.
#[test]
fn what_a_geotiff_says_of_its_samples_is_honoured() {
    let filled = ReadOptions { nodata_fill: Some(-1.0), ..ReadOptions::default() };
    let scaled = gdal("scaled_feet.tif", &filled).unwrap();
    let feet = |x, y| ((f64::from((made_by_gdal(x, y) * 10.0) as i16) * 0.1 - 5.0) * 0.3048) as f32;
    assert_eq!(scaled.map.data, heights_of(feet));
    assert!(
        has(&scaled.warnings, "times 0.1 plus -5") && has(&scaled.warnings, "foot"),
        "{:?}",
        scaled.warnings
    );

    let void = |x: u32, y: u32| (x + y).is_multiple_of(50);
    let text = message(gdal("void.tif", &ReadOptions::default()), "input");
    assert!(text.contains("-32768"), "{text}");
    let voids = gdal("void.tif", &filled).unwrap();
    assert_eq!(
        voids.map.data,
        heights_of(|x, y| if void(x, y) { -1.0 } else { made_by_gdal(x, y).trunc() })
    );

    assert!(message(gdal("masked.tif", &ReadOptions::default()), "input").contains("700 of 7000"));
    let masked = gdal("masked.tif", &filled).unwrap();
    assert_eq!(masked.map.data, heights_of(|x, y| if x < 10 { -1.0 } else { made_by_gdal(x, y) }));

    let sparse = gdal("sparse.tif", &filled).unwrap();
    assert_eq!(sparse.map.data, heights_of(|x, y| if x >= 64 { -1.0 } else { made_by_gdal(x, y) }));

    let text = message(gdal("bands.tif", &ReadOptions::default()), "input");
    assert!(text.contains("3 bands") && text.contains("--band"), "{text}");
    let second =
        gdal("bands.tif", &ReadOptions { band: Some(2), ..ReadOptions::default() }).unwrap();
    assert_eq!(second.map.data, heights_of(|x, y| 2.0 * made_by_gdal(x, y)));
    assert!(has(&second.warnings, "band 2"));
    let text = message(
        gdal("bands.tif", &ReadOptions { band: Some(4), ..ReadOptions::default() }),
        "input",
    );
    assert!(text.contains("band 4") && text.contains("has 3"), "{text}");
}

/// A 16-bit PNG says what its steps stand for, so that a map comes back as it was; a range that was
/// asked for cuts off what lies beyond and counts it; two maps over one range fit together.
/// Holds file F4 and F5: ranges were stretched and said nowhere.
#[test]
fn a_png_says_its_range_and_a_range_cuts() {
    let map = Map {
        data: (0..4096).map(|v| 0.36 + v as f32 / 8192.0).collect(),
        spacing_m: 2.5,
        ..noisy(64, 64)
    };
    let bytes = encode(&map, MapFormat::Png);
    let reading = decode(&bytes, MapFormat::Png, &ReadOptions::default()).unwrap();
    assert_eq!((reading.map.spacing_m, reading.warnings), (2.5, vec![]));
    let (low, high) = (f64::from(map.data[0]), f64::from(map.data[4095]));
    assert_eq!(reading.map.range_m, Some((low, high)));
    let step = ((high - low) / 65535.0) as f32;
    assert!(reading.map.data.iter().zip(&map.data).all(|(a, b)| (a - b).abs() <= step));
    // As a layer, whose shares are not stretched either.
    let shares = decode(
        &bytes,
        MapFormat::Png,
        &ReadOptions { samples: Samples::Shares, ..ReadOptions::default() },
    )
    .unwrap();
    assert!(shares.map.data.iter().zip(&map.data).all(|(a, b)| (a - b).abs() <= step));
    // An option wins over the file.
    let given = ReadOptions { range_m: Some((0.0, 65535.0)), ..ReadOptions::default() };
    assert_eq!(decode(&bytes, MapFormat::Png, &given).unwrap().map.min_max(), (0.0, 65535.0));

    let encoded = io::encode_within(&map, MapFormat::R16, Some((0.5, 1.0)), &[]).unwrap();
    assert_eq!(encoded.quantised, Some((0.5, 1.0)));
    let outside = map.data.iter().filter(|v| **v < 0.5).count();
    assert!(has(&encoded.warnings, &format!("{outside} of 4096 values")), "{:?}", encoded.warnings);
    let steps: Vec<u16> =
        encoded.bytes.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
    let expected = |v: f32| ((f64::from(v).max(0.5) - 0.5) / 0.5 * 65535.0).round() as u16;
    assert_eq!(steps, map.data.iter().map(|v| expected(*v)).collect::<Vec<_>>());
    // What is rounded to the end of the range is not cut off.
    let beyond = Map { data: vec![0.0, 65535.0 + 0.4], width: 2, height: 1, ..map.clone() };
    assert_eq!(
        io::encode_within(&beyond, MapFormat::Png, Some((0.0, 65535.0)), &[]).unwrap().warnings,
        Vec::<String>::new()
    );
    for wrong in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert_eq!(
            io::encode_within(&map, MapFormat::Png, Some(wrong), &[]).unwrap_err().code(),
            "param"
        );
    }
}

/// The tiles of a TIFF are compressed on all cores. `GeoTiffBuilder` compresses one after another,
/// and makes the same bytes.
#[test]
fn tiles_of_a_tiff_are_compressed_side_by_side() {
    use geotiff_writer::{Compression, GeoTiffBuilder, Predictor, RasterType};
    for ([width, height], missing) in [
        ([513, 1], vec![]),
        ([1, 700], vec![]),
        ([1024, 512], vec![]),
        ([1100, 600], vec![0, 513, 659_999]),
        ([511, 1537], vec![7]),
    ] {
        let place = Georef {
            epsg: Some(32633),
            west: 500_000.0,
            north: 5_000_000.0,
            cell: (10.0, 10.0),
            keys: None,
        };
        let map = Map { spacing_m: 10.0, georef: Some(place), ..noisy(width, height) };
        let made = io::encode_within(&map, MapFormat::Tiff, None, &missing).unwrap().bytes;
        let mut data = map.data.clone();
        missing.iter().for_each(|at| data[*at] = f32::NAN);
        let mut builder = GeoTiffBuilder::new(width, height)
            .compression(Compression::Deflate)
            .deflate_level(1)
            .predictor(Predictor::FloatingPoint)
            .raster_type(RasterType::PixelIsArea)
            .tile_size(512, 512)
            .projected_epsg(32633)
            .pixel_scale(10.0, 10.0)
            .origin(500_000.0, 5_000_000.0);
        if !missing.is_empty() {
            builder = builder.nodata("nan");
        }
        let mut expected = std::io::Cursor::new(vec![]);
        let view = ndarray::ArrayView2::from_shape((height as usize, width as usize), &data);
        builder.write_2d_to(&mut expected, view.unwrap()).unwrap();
        assert!(made == expected.into_inner(), "{width} x {height}, {missing:?}");
    }
}

/// An ESRI grid keeps every bit and its place, and is read in all the ways that programs write it.
/// Holds file F10 in part.
#[test]
fn ascii_grids() {
    let georef = Georef {
        epsg: None,
        west: 691_000.25,
        north: 5_334_000.75,
        cell: (12.5, 12.5),
        keys: None,
    };
    for map in
        [noisy(20, 30), Map { georef: Some(georef), ..noisy(31, 17) }, noisy(1, 1), noisy(1, 9)]
    {
        let (bytes, warnings) = io::encode(&map, MapFormat::Asc).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        let back = decode(&bytes, MapFormat::Asc, &ReadOptions::default()).unwrap();
        assert_eq!((back.map, back.warnings), (map, vec![]));
    }
    let read = |text: &str| {
        decode(
            text.as_bytes(),
            MapFormat::Asc,
            &ReadOptions { nodata_fill: Some(7.0), ..ReadOptions::default() },
        )
    };
    let centred = read(
        "NCOLS 2\r\nNROWS 2\r\nXLLCENTER 105\r\nYLLCENTER 205\r\nCELLSIZE 10\r\n\
         NODATA_VALUE -9999\r\n1 2,5\r\n-9999 4e1",
    )
    .unwrap();
    assert_eq!(
        (centred.map.data.as_slice(), centred.map.spacing_m),
        (&[1.0, 2.5, 7.0, 40.0][..], 10.0)
    );
    assert_eq!(centred.missing, [2]);
    let place = centred.map.georef.unwrap();
    assert_eq!((place.west, place.north, place.epsg), (100.0, 220.0, None));
    let oblong = read("ncols 1 nrows 2 xllcorner 0 yllcorner 0 dx 4 dy 2 5 6").unwrap();
    assert!(has(&oblong.warnings, "not square"));
    for (text, why) in [
        ("nrows 2 1 2", "ncols is missing"),
        ("ncols 2 nrows 1 cellsize 1 5", "a value is missing"),
        ("ncols 2 nrows 1 cellsize 1 5 6 7", "more than 2 values"),
        ("ncols 2 nrows 1 cellsize 1 5 six", "\"six\" is no number"),
        ("ncols two nrows 1 5 6", "ncols: \"two\""),
        ("ncols 1.5 nrows 1 5", "ncols = 1.5: allowed is a whole number"),
        ("ncols 1 nrows -1 5", "nrows = -1: allowed is a whole number"),
        ("ncols nan nrows 1 5", "ncols = nan: allowed is a whole number"),
        ("ncols 100000 nrows 100000 5 6", "cannot hold"),
        ("hello", "ncols is missing"),
        ("ncols 1 nrows 1 hello", "neither a key"),
        ("ncols 1 nrows 1 \u{1}", "no text"),
        ("", "empty"),
    ] {
        assert!(message(read(text), "input").contains(why), "{text:?}");
    }
    let long = format!("ncols 1 nrows 1 cellsize 1 {}", "1".repeat(1 << 20));
    assert!(message(read(&long), "input").contains("is no number"));
}

/// SRTM tiles are read with the place that their name says, and written.
/// Holds file F10 in part.
#[test]
fn srtm_tiles() {
    let folder = Folder::new("hgt");
    let heights: Vec<i16> =
        (0..121 * 121).map(|i| if i == 5 { i16::MIN } else { (i % 3000) as i16 - 100 }).collect();
    let bytes: Vec<u8> = heights.iter().flat_map(|v| v.to_be_bytes()).collect();
    let filled = ReadOptions { nodata_fill: Some(-1.0), ..ReadOptions::default() };
    for (name, corner) in [("N47E008.hgt", [8.0, 48.0]), ("s01w072.SRTMGL1.hgt", [-72.0, 0.0])] {
        std::fs::write(folder.0.join(name), &bytes).unwrap();
        let reading = io::read(folder.0.join(name), &filled).unwrap();
        assert_eq!(
            (reading.map.width, reading.map.height, &reading.missing[..]),
            (121, 121, &[5][..])
        );
        assert!(
            reading
                .map
                .data
                .iter()
                .zip(&heights)
                .all(|(a, b)| *a == f32::from(*b) || *b == i16::MIN)
        );
        let georef = reading.map.georef.unwrap();
        assert_eq!((georef.epsg, georef.cell), (Some(4326), (1.0 / 120.0, 1.0 / 120.0)));
        let half = 1.0 / 240.0;
        assert!(
            (georef.west - corner[0] + half).abs() < 1e-12
                && (georef.north - corner[1] - half).abs() < 1e-12,
            "{georef:?}"
        );
        assert!(has(&reading.warnings, "degrees"));
    }
    let map = Map { data: vec![1.4, -2.5, 40_000.0, 3.0], ..noisy(2, 2) };
    let encoded = io::encode_within(&map, MapFormat::Hgt, None, &[3]).unwrap();
    let metres: Vec<i16> =
        encoded.bytes.as_chunks().0.iter().map(|b| i16::from_be_bytes(*b)).collect();
    assert_eq!(metres, [1, -3, 32767, i16::MIN]);
    assert!(has(&encoded.warnings, "1 values lie beyond"));
    assert!(
        message(decode(&bytes[..14], MapFormat::Hgt, &ReadOptions::default()), "input")
            .contains("--size")
    );
}

/// Samples without a value come back as such, in every format that can say so; the others refuse.
/// Holds file F8 in part.
#[test]
fn missing_samples_pass_through() {
    let map = noisy(9, 7);
    let filled = ReadOptions { nodata_fill: Some(0.0), ..options(&map) };
    for format in [
        MapFormat::Tiff,
        MapFormat::Exr,
        MapFormat::Npy,
        MapFormat::R32,
        MapFormat::Asc,
        MapFormat::Hgt,
    ] {
        let encoded = io::encode_within(&map, format, None, &[0, 13]).unwrap();
        assert_eq!(decode(&encoded.bytes, format, &filled).unwrap().missing, [0, 13], "{format:?}");
    }
    for format in [MapFormat::Png, MapFormat::R16] {
        assert!(
            io::encode_within(&map, format, None, &[3])
                .unwrap_err()
                .to_string()
                .contains("no value")
        );
    }
}

/// Parts, flips and other numbers of samples: a slope stays a slope to its ends, every second
/// sample of twice as many is the old one, and places on Earth stay where they are.
/// Holds file F10 in part.
#[test]
fn maps_are_cropped_turned_and_resampled() {
    let georef =
        Georef { epsg: Some(32633), west: 1000.0, north: 2000.0, cell: (12.5, 12.5), keys: None };
    let map = Map { georef: Some(georef), ..noisy(12, 9) };
    let part = map.crop([3, 2], [5, 4]).unwrap();
    assert_eq!(
        (part.width, part.height, part.data[0], part.data[19]),
        (5, 4, map.data[2 * 12 + 3], map.data[5 * 12 + 7])
    );
    let place = part.georef.unwrap();
    assert_eq!((place.west, place.north), (1000.0 + 37.5, 2000.0 - 25.0));
    for (corner, size) in [([8, 0], [5, 1]), ([0, 0], [0, 1]), ([0, u32::MAX], [1, 2])] {
        assert!(map.crop(corner, size).unwrap_err().to_string().contains("12x9"));
    }
    let turned = map.flip_rows().flip_columns();
    assert!(turned.data.iter().eq(map.data.iter().rev()) && turned.georef.is_none());

    let slope = |width: u32, height: u32, step: f32| Map {
        data: (0..width * height)
            .map(|i| step * (3.0 * (i % width) as f32 - 2.0 * (i / width) as f32))
            .collect(),
        ..Map { width, height, ..map.clone() }
    };
    for (factor, from, to) in [
        (2.0, [13, 9], [25, 17]),
        (0.5, [25, 17], [13, 9]),
        (0.25, [25, 17], [7, 5]),
        (1.0, [5, 5], [5, 5]),
    ] {
        let made = slope(from[0], from[1], 1.0).resample(to[0], to[1]).unwrap();
        assert_eq!(made.data, slope(to[0], to[1], 1.0 / factor).data, "{factor}");
        assert_eq!(made.spacing_m, 12.5 / f64::from(factor));
        let place = made.georef.unwrap();
        assert_eq!(place.west + place.cell.0 / 2.0, 1000.0 + 12.5 / 2.0);
        assert_eq!(place.north - place.cell.1 / 2.0, 2000.0 - 12.5 / 2.0);
    }
    let twice = map.resample(23, 17).unwrap();
    assert!((0..12 * 9).all(|i| twice.data[i / 12 * 2 * 23 + i % 12 * 2] == map.data[i]));
    assert!(map.resample(24, 24).unwrap_err().to_string().contains("24x18"));
    assert!(map.resample(1, 1).is_err() && noisy(1, 5).resample(1, 9).unwrap().height == 9);
}

/// A file that claims to be larger than memory is refused before anything is allocated.
/// Holds file F6: it took 4 GB, or ended the process.
#[test]
fn a_file_that_lies_about_its_size_costs_nothing() {
    let mut bytes = encode(&noisy(32, 32), MapFormat::Exr);
    let at = |name: &[u8], bytes: &[u8]| {
        bytes.windows(name.len()).position(|window| window == name).unwrap()
    };
    for name in [&b"dataWindow\0box2i\0"[..], b"displayWindow\0box2i\0"] {
        let first = at(name, &bytes) + name.len() + 4;
        bytes[first + 8..first + 16]
            .copy_from_slice(&[16383u32.to_le_bytes(), 32767u32.to_le_bytes()].concat());
    }
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let before = peak();
    let text = decode(&bytes, MapFormat::Exr, &ReadOptions::default()).unwrap_err().to_string();
    assert!(peak() - before < 1 << 20, "{} KiB for {} bytes: {text}", peak() - before, bytes.len());
}

#[test]
fn projected_places_survive() {
    let georef = Georef {
        epsg: Some(25832),
        west: 691_000.25,
        north: 5_334_000.75,
        cell: (12.5, 12.5),
        keys: None,
    };
    let map = Map { georef: Some(georef), ..noisy(20, 30) };
    let back =
        decode(&encode(&map, MapFormat::Tiff), MapFormat::Tiff, &ReadOptions::default()).unwrap();
    assert_eq!((back.map, back.warnings), (map.clone(), vec![]));
    let odd =
        Map { georef: Some(Georef { epsg: Some(990_000), ..map.georef.clone().unwrap() }), ..map };
    let (bytes, warnings) = io::encode(&odd, MapFormat::Tiff).unwrap();
    assert!(has(&warnings, "left out"));
    assert_eq!(
        decode(&bytes, MapFormat::Tiff, &ReadOptions::default()).unwrap().map.georef.unwrap().epsg,
        None
    );
}

/// The type of a tag's values, and their bytes.
type Tag = (u16, u16, Vec<u8>);

/// A TIFF by hand: little-endian, one strip, no compression.
fn tiff(width: u32, height: u32, bits: u16, format: u16, samples: &[u8], extra: &[Tag]) -> Vec<u8> {
    let own = [
        (256, 4, longs(&[width])),
        (257, 4, longs(&[height])),
        (258, 3, shorts(&[bits])),
        (259, 3, shorts(&[1])),
        (262, 3, shorts(&[1])),
        (273, 4, longs(&[8])),
        (277, 3, shorts(&[1])),
        (278, 4, longs(&[height])),
        (279, 4, longs(&[samples.len() as u32])),
        (339, 3, shorts(&[format])),
    ];
    // What is given goes before what is usual.
    let usual = own.into_iter().filter(|own| extra.iter().all(|given| given.0 != own.0));
    let mut tags: Vec<Tag> = usual.chain(extra.iter().cloned()).collect();
    tags.sort_by_key(|t| t.0);
    let size = |kind: u16| [0, 1, 1, 2, 4, 8, 0, 0, 0, 0, 0, 4, 8][usize::from(kind)];
    let mut out = b"II\x2a\0".to_vec();
    out.extend(longs(&[8 + samples.len() as u32]));
    out.extend(samples);
    let mut tail: Vec<u8> = Vec::new();
    let tail_at = out.len() + 2 + 12 * tags.len() + 4;
    out.extend(shorts(&[tags.len() as u16]));
    for (tag, kind, value) in &tags {
        out.extend(shorts(&[*tag, *kind]));
        out.extend(longs(&[(value.len() / size(*kind)) as u32]));
        if value.len() <= 4 {
            out.extend(value.iter().copied().chain(std::iter::repeat(0)).take(4));
        } else {
            out.extend(longs(&[(tail_at + tail.len()) as u32]));
            tail.extend(value);
        }
    }
    out.extend(longs(&[0]));
    out.extend(tail);
    out
}

fn longs(v: &[u32]) -> Vec<u8> {
    v.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn doubles(v: &[f64]) -> Vec<u8> {
    v.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn shorts(v: &[u16]) -> Vec<u8> {
    v.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn tiff_numbers_of_every_type() {
    let read = |bits, format, bytes: &[u8]| {
        decode(&tiff(2, 1, bits, format, bytes, &[]), MapFormat::Tiff, &ReadOptions::default())
            .unwrap()
    };
    assert_eq!(read(64, 3, &doubles(&[1.5, -2.0])).map.data, [1.5, -2.0]);
    assert_eq!(
        read(32, 3, &[1.5f32.to_le_bytes(), 7f32.to_le_bytes()].concat()).map.data,
        [1.5, 7.0]
    );
    assert_eq!(read(16, 3, &shorts(&[0x3c00, 0xc100])).map.data, [1.0, -2.5]);
    assert_eq!(read(16, 2, &shorts(&[0xffff, 300])).map.data, [-1.0, 300.0]);
    assert_eq!(
        read(32, 2, &[(-70_000i32).to_le_bytes(), 5i32.to_le_bytes()].concat()).map.data,
        [-70_000.0, 5.0]
    );
    assert_eq!(
        read(32, 1, &[70_000u32.to_le_bytes(), 5u32.to_le_bytes()].concat()).map.data,
        [70_000.0, 5.0]
    );
    // Unsigned without a place: a grey picture, over a range.
    let grey = read(16, 1, &shorts(&[0, 65535]));
    assert_eq!((grey.map.range_m, &grey.map.data[..]), (Some((0.0, 1.0)), &[0.0, 1.0][..]));
    assert!(has(&grey.warnings, "--range"));
    let grey = read(8, 1, &[0, 255]);
    assert_eq!(grey.map.data, [0.0, 1.0]);
    assert!(has(&grey.warnings, "terraces"));
}

#[test]
fn geotiff_scale_point_units_and_nodata() {
    let scale = (33550, 12, doubles(&[30.0, 30.0, 0.0]));
    let tie = (33922, 12, doubles(&[0.0, 0.0, 0.0, 1000.0, 2000.0, 0.0]));
    let keys = |raster: u16, unit: u16| {
        (
            34735,
            3,
            shorts(&[
                1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, raster, 3072, 0, 1, 32633, 3076, 0, 1, unit,
            ]),
        )
    };
    let samples = shorts(&[7, 9, 11, 13]);
    let read = |extra: &[Tag], options: &ReadOptions| {
        decode(&tiff(2, 2, 16, 1, &samples, extra), MapFormat::Tiff, options)
    };
    let area = read(&[scale.clone(), tie.clone(), keys(1, 9001)], &ReadOptions::default()).unwrap();
    assert_eq!(area.map.data, [7.0, 9.0, 11.0, 13.0]);
    assert_eq!((area.map.spacing_m, area.map.range_m, area.warnings), (30.0, None, vec![]));
    assert_eq!(
        area.map.georef,
        Some(Georef {
            epsg: Some(32633),
            west: 1000.0,
            north: 2000.0,
            cell: (30.0, 30.0),
            keys: None
        })
    );
    let point = read(&[scale.clone(), tie.clone(), keys(2, 9001)], &ReadOptions::default())
        .unwrap()
        .map
        .georef
        .unwrap();
    assert_eq!((point.west, point.north), (985.0, 2015.0));
    let feet = read(&[scale.clone(), tie.clone(), keys(1, 9002)], &ReadOptions::default()).unwrap();
    assert!((feet.map.spacing_m - 9.144).abs() < 1e-9);
    // Scaled only where that is asked for.
    let asked = ReadOptions { range_m: Some((0.0, 65535.0 * 2.0)), ..ReadOptions::default() };
    assert_eq!(
        read(std::slice::from_ref(&scale), &asked).unwrap().map.data,
        [14.0, 18.0, 22.0, 26.0]
    );

    let oblong = (33550, 12, doubles(&[30.0, 20.0, 0.0]));
    let oblong = read(&[oblong, tie.clone()], &ReadOptions::default()).unwrap();
    assert_eq!(oblong.map.spacing_m, 25.0);
    assert!(has(&oblong.warnings, "not square"));

    let nodata = (42113, 2, b"11\0".to_vec());
    let text = message(read(&[scale.clone(), nodata.clone()], &ReadOptions::default()), "input");
    assert!(
        text.contains("1 of 4") && text.contains("row 1, column 0") && text.contains("11"),
        "{text}"
    );
    let filled =
        read(&[scale, nodata], &ReadOptions { nodata_fill: Some(-5.0), ..ReadOptions::default() })
            .unwrap();
    assert_eq!(filled.map.data, [7.0, 9.0, -5.0, 13.0]);
    assert!(has(&filled.warnings, "-5"));
}

/// A GeoTIFF of 2 by 2 floats, 1 to 4, with cells of 3 units from (1000, 2000), and keys of its
/// coordinate system: numbers, or a double where there is one.
fn placed(keys: &[(u16, u16)], double: Option<(u16, f64)>, extra: &[Tag]) -> Vec<u8> {
    let count = keys.len() + usize::from(double.is_some());
    let mut directory = vec![1, 1, 0, count as u16];
    directory.extend(keys.iter().flat_map(|(id, value)| [*id, 0, 1, *value]));
    directory.extend(double.iter().flat_map(|(id, _)| [*id, 34736, 1, 0]));
    let mut tags = vec![
        (33550, 12, doubles(&[3.0, 3.0, 0.0])),
        (33922, 12, doubles(&[0.0, 0.0, 0.0, 1000.0, 2000.0, 0.0])),
        (34735, 3, shorts(&directory)),
    ];
    tags.extend(double.map(|(_, value)| (34736, 12, doubles(&[value]))));
    tags.retain(|own: &Tag| extra.iter().all(|given| given.0 != own.0));
    tags.extend_from_slice(extra);
    tiff(2, 2, 32, 3, &floats(&[1.0, 2.0, 3.0, 4.0]), &tags)
}

fn floats(v: &[f32]) -> Vec<u8> {
    v.iter().flat_map(|v| v.to_le_bytes()).collect()
}

const SURVEY_FOOT_M: f64 = 1200.0 / 3937.0;

/// Units are those of the register's codes where keys are silent, on the plane and of heights.
/// `tests/readers.py` holds every code against PROJ.
/// Holds F1: they were metres.
#[test]
fn units_follow_from_codes() {
    let read = |keys: &[(u16, u16)], double| {
        let map = decode(&placed(keys, double, &[]), MapFormat::Tiff, &ReadOptions::default())
            .unwrap()
            .map;
        (map.spacing_m, f64::from(map.data[3]))
    };
    let single = |metres: f64| f64::from((4.0 * metres) as f32);
    let plane = (1024, 1);
    for (name, keys, double, spacing, height) in [
        ("New York, without a unit", vec![plane, (3072, 2263)], None, 3.0 * SURVEY_FOOT_M, 4.0),
        (
            "feet below feet",
            vec![plane, (3072, 6529), (4096, 6360)],
            None,
            3.0 * SURVEY_FOOT_M,
            single(SURVEY_FOOT_M),
        ),
        (
            "feet above metres",
            vec![plane, (3072, 32632), (4096, 6360)],
            None,
            3.0,
            single(SURVEY_FOOT_M),
        ),
        (
            "international feet",
            vec![plane, (3072, 2222), (4096, 8228)],
            None,
            3.0 * 0.3048,
            single(0.3048),
        ),
        (
            "British feet of 1936",
            vec![plane, (3072, 29901), (4096, 5754)],
            None,
            3.0,
            single(0.3048007491),
        ),
        (
            "the unit is said",
            vec![plane, (3072, 2263), (3076, 9001), (4096, 6360), (4099, 9001)],
            None,
            3.0,
            4.0,
        ),
        ("links of Clarke", vec![plane, (3072, 2066)], None, 3.0 * 0.201166195164, 4.0),
        ("yards of heights", vec![plane, (3072, 32632), (4099, 9096)], None, 3.0, single(0.9144)),
        (
            "a unit of one's own",
            vec![plane, (3072, 32767), (3076, 32767)],
            Some((3077, 1.5)),
            4.5,
            4.0,
        ),
    ] {
        assert_eq!(read(&keys, double), (spacing, height), "{name}");
    }
    let told = |keys: &[(u16, u16)]| {
        decode(&placed(keys, None, &[]), MapFormat::Tiff, &ReadOptions::default()).unwrap()
    };
    assert!(has(&told(&[plane, (3072, 32632), (4096, 5715)]).warnings, "counts downwards"));
    assert!(has(&told(&[plane, (3072, 32632), (3076, 4444)]).warnings, "unit 4444"));
    // A file of ours says a code alone, and is read as it was.
    let feet = told(&[plane, (3072, 2263)]).map;
    assert_eq!(
        decode(&encode(&feet, MapFormat::Tiff), MapFormat::Tiff, &ReadOptions::default())
            .unwrap()
            .map,
        feet
    );

    // A system with heights of its own, in feet: a file of ours, whose heights are in metres, has
    // its horizontal part. So it is where GDAL's metadata says that they are metres already.
    for (texts, metres) in [("", SURVEY_FOOT_M), ("m", 1.0)] {
        let metadata = format!(
            "<GDALMetadata><Item name=\"UNITTYPE\" sample=\"0\" \
             role=\"unittype\">{texts}</Item></GDALMetadata>\0"
        );
        let bytes = placed(&[plane, (3072, 8773)], None, &[(42112, 2, metadata.into_bytes())]);
        let read = decode(&bytes, MapFormat::Tiff, &ReadOptions::default()).unwrap();
        assert_eq!(f64::from(read.map.data[3]), single(metres), "{texts}");
        let again =
            decode(&encode(&read.map, MapFormat::Tiff), MapFormat::Tiff, &ReadOptions::default());
        assert_eq!(again.unwrap().map, read.map, "{texts}");
        let georef = read.map.georef.unwrap();
        // NAD83 / Oregon South (ftUS) + NAVD88 height (ftUS).
        assert_eq!(georef.epsg, Some(2271), "{texts}");
        assert!(has(&read.warnings, "its horizontal part, EPSG:2271"), "{:?}", read.warnings);
    }

    // Names in GDAL's metadata.
    for (name, metres) in [
        ("US survey foot", SURVEY_FOOT_M),
        ("us-ft", SURVEY_FOOT_M),
        ("ftUS", SURVEY_FOOT_M),
        ("Foot_US", SURVEY_FOOT_M),
        ("survey feet", SURVEY_FOOT_M),
        ("international foot", 0.3048),
        ("Foot", 0.3048),
        ("ft", 0.3048),
        ("km", 1000.0),
        ("Kilometers", 1000.0),
        ("mm", 0.001),
        ("cm", 0.01),
        ("dm", 0.1),
        ("yards", 0.9144),
        ("Fathom", 1.8288),
        ("m", 1.0),
        ("Metres", 1.0),
        ("", 1.0),
    ] {
        let text = format!(
            "<GDALMetadata><Item name=\"UNITTYPE\" sample=\"0\" \
             role=\"unittype\">{name}</Item></GDALMetadata>\0"
        );
        let bytes = placed(&[plane, (3072, 32632)], None, &[(42112, 2, text.into_bytes())]);
        let map = decode(&bytes, MapFormat::Tiff, &ReadOptions::default()).unwrap().map;
        assert_eq!(f64::from(map.data[3]), single(metres), "{name}");
    }
}

/// Grads are not degrees: NTF (Paris), by its code and by the key of its unit.
/// Holds F1.
#[test]
fn grads_are_no_degrees() {
    let cell = [
        (33550, 12, doubles(&[0.01, 0.01, 0.0])),
        (33922, 12, doubles(&[0.0, 0.0, 0.0, 5.0, 0.01, 0.0])),
    ];
    let spacing = |keys: &[(u16, u16)]| {
        decode(&placed(keys, None, &cell), MapFormat::Tiff, &ReadOptions::default())
            .unwrap()
            .map
            .spacing_m
    };
    let degrees = spacing(&[(1024, 2), (2048, 4326)]);
    for keys in [vec![(1024, 2), (2048, 4807)], vec![(1024, 2), (2048, 4326), (2054, 9105)]] {
        assert!((spacing(&keys) / degrees - 0.9).abs() < 1e-6, "{keys:?}: {}", spacing(&keys));
    }
}

/// Of a sparse file whose bands lie apart, the blocks of the band that is read are looked at.
/// Holds F2: they were those of the first one.
#[test]
fn sparse_planes_are_those_of_their_band() {
    // Two bands of 2 by 4 samples in strips of 2 rows: the first band lacks its upper strip, the
    // second its lower one.
    let (first, second) = ([5.0, 6.0, 7.0, 8.0], [11.0, 12.0, 13.0, 14.0]);
    let samples = floats(&[first, second].concat());
    for apart in [[0, 8, 24, 0], [0, 8, 24, 9]] {
        let sizes = apart.map(|at| if at % 8 == 0 && at > 0 { 16 } else { 0 });
        let extra = [
            (258, 3, shorts(&[32, 32])),
            (273, 4, longs(&apart)),
            (277, 3, shorts(&[2])),
            (278, 4, longs(&[2])),
            (279, 4, longs(&sizes)),
            (284, 3, shorts(&[2])),
            (339, 3, shorts(&[3, 3])),
            (42113, 2, b"-9999\0".to_vec()),
        ];
        let bytes = tiff(2, 4, 32, 3, &samples, &extra);
        for (band, expected) in [(1, [[0.0; 4], first]), (2, [second, [0.0; 4]])] {
            let options =
                ReadOptions { band: Some(band), nodata_fill: Some(0.0), ..ReadOptions::default() };
            let reading = decode(&bytes, MapFormat::Tiff, &options).unwrap();
            assert_eq!(reading.map.data, expected.concat(), "band {band}");
            assert_eq!(
                reading.missing,
                if band == 1 { [0, 1, 2, 3] } else { [4, 5, 6, 7] },
                "band {band}"
            );
        }
    }
}

/// Masks beside a file and bands of transparency say which samples have a value.
/// Holds F3: neither was looked at.
#[test]
fn masks_beside_a_file_and_transparency_count() {
    let folder = Folder::new("masked");
    let path = folder.0.join("land.tif");
    let filled = ReadOptions { nodata_fill: Some(-1.0), ..ReadOptions::default() };
    let beside = |name: &str| folder.0.join(format!("{name}.msk"));
    // From the south to the north: the mask is in the order of the file.
    let upwards = (
        34264,
        12,
        doubles(&[
            3.0, 0.0, 0.0, 1000.0, 0.0, 3.0, 0.0, 1994.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ]),
    );
    for (bytes, data, missing) in [
        (placed(&[(1024, 1), (3072, 32632)], None, &[]), [1.0, -1.0, 3.0, 4.0], [1]),
        (tiff(2, 2, 32, 3, &floats(&[1.0, 2.0, 3.0, 4.0]), &[upwards]), [3.0, 4.0, 1.0, -1.0], [3]),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        std::fs::write(beside("land.tif"), tiff(2, 2, 8, 1, &[255, 0, 255, 7], &[])).unwrap();
        let reading = io::read(&path, &filled).unwrap();
        assert_eq!((&reading.map.data[..], &reading.missing[..]), (&data[..], &missing[..]));
    }
    assert!(message(io::read(&path, &ReadOptions::default()), "input").contains("1 of 4"));
    // One for each band.
    let flags: String = (1..=2)
        .map(|band| format!("<Item name=\"INTERNAL_MASK_FLAGS_{band}\">0</Item>"))
        .collect::<Vec<_>>()
        .concat();
    let own = [
        (258, 3, shorts(&[8, 8])),
        (277, 3, shorts(&[2])),
        (339, 3, shorts(&[1, 1])),
        (42112, 2, format!("<GDALMetadata>{flags}</GDALMetadata>\0").into_bytes()),
    ];
    std::fs::write(beside("land.tif"), tiff(2, 2, 8, 1, &[1, 0, 1, 1, 1, 1, 0, 1], &own)).unwrap();
    let two = [
        (258, 3, shorts(&[16, 16])),
        (277, 3, shorts(&[2])),
        (338, 3, shorts(&[0])),
        (339, 3, shorts(&[2, 2])),
    ];
    std::fs::write(&path, tiff(2, 2, 16, 2, &shorts(&[10, 20, 11, 21, 12, 22, 13, 23]), &two))
        .unwrap();
    for (band, missing) in [(1, [3]), (2, [0])] {
        assert_eq!(
            io::read(&path, &ReadOptions { band: Some(band), ..filled.clone() }).unwrap().missing,
            missing,
            "band {band}"
        );
    }
    std::fs::write(beside("land.tif"), tiff(1, 2, 8, 1, &[1, 1], &[])).unwrap();
    let text = message(io::read(&path, &ReadOptions { band: Some(1), ..filled.clone() }), "input");
    assert!(
        text.contains("land.tif.msk") && text.contains("1x2") && text.contains("2x2"),
        "{text}"
    );
    std::fs::write(beside("land.tif"), b"no mask").unwrap();
    let _ = message(io::read(&path, &ReadOptions { band: Some(1), ..filled.clone() }), "input");
    // Other formats have them, too.
    let array = folder.0.join("land.npy");
    std::fs::write(&array, encode(&noisy(2, 2), MapFormat::Npy)).unwrap();
    std::fs::write(beside("land.npy"), tiff(2, 2, 8, 1, &[1, 1, 0, 1], &[])).unwrap();
    assert_eq!(io::read(&array, &filled).unwrap().missing, [2]);

    // A second band is transparency, together or apart.
    let (heights, clear) = ([1.0, 2.0, 3.0, 4.0], [255.0, 1.0, 0.0, 255.0]);
    let together: Vec<f32> = heights.iter().zip(&clear).flat_map(|(h, a)| [*h, *a]).collect();
    let alpha = [
        (258, 3, shorts(&[32, 32])),
        (277, 3, shorts(&[2])),
        (338, 3, shorts(&[2])),
        (339, 3, shorts(&[3, 3])),
    ];
    let apart = [
        &alpha[..],
        &[(284, 3, shorts(&[2])), (273, 4, longs(&[8, 24])), (279, 4, longs(&[16, 16]))][..],
    ]
    .concat();
    for (samples, tags) in [(together, &alpha[..]), ([heights, clear].concat(), &apart[..])] {
        let bytes = tiff(2, 2, 32, 3, &floats(&samples), tags);
        let reading = decode(&bytes, MapFormat::Tiff, &filled).unwrap();
        assert_eq!(
            (&reading.map.data[..], &reading.missing[..]),
            (&[1.0, 2.0, -1.0, 4.0][..], &[2][..])
        );
        assert!(has(&reading.warnings, "band 2 is transparency"), "{:?}", reading.warnings);
        let asked =
            decode(&bytes, MapFormat::Tiff, &ReadOptions { band: Some(2), ..filled.clone() })
                .unwrap();
        assert_eq!(asked.map.data, clear);
    }
}

/// Every spelling of the value for missing samples that GDAL takes; `tests/readers.py` holds them
/// against it.
/// Holds F4: all but the first two were heights.
#[test]
fn nodata_in_every_spelling() {
    let values = [-9999.0, f32::MIN, 5.5, 0.0, -32768.0];
    let read = |text: &str| {
        let bytes =
            tiff(5, 1, 32, 3, &floats(&values), &[(42113, 2, format!("{text}\0").into_bytes())]);
        let options = ReadOptions { nodata_fill: Some(0.0), ..ReadOptions::default() };
        decode(&bytes, MapFormat::Tiff, &options).unwrap()
    };
    for (text, missing) in [
        ("-9999", &[0][..]),
        (" -9999.0 ", &[0]),
        ("-9999\n", &[0]),
        ("\t-9999", &[0]),
        ("-9999\r\n", &[0]),
        ("-9999,0", &[0]),
        ("-9999;0", &[0]),
        ("-9999 -32768", &[0]),
        ("-9999abc", &[0]),
        ("-3.4028234663852886e+38", &[1]),
        ("-3.40282346639e+38", &[1]),
        ("-3.402823e+38", &[1]),
        ("-3.4e38", &[1]),
        ("+5,5", &[2]),
        (".55e1", &[2]),
        ("nan", &[]),
        ("-1.#IND", &[]),
        ("-inf", &[]),
        ("9999999999", &[]),
    ] {
        let reading = read(text);
        assert_eq!(reading.missing, missing, "{text:?}");
        assert!(!has(&reading.warnings, "is no number"), "{text:?}: {:?}", reading.warnings);
    }
    // Words are no numbers, and 0 is the height of a coast.
    for text in ["none", "NA", "NoData", "\u{2212}9999"] {
        let reading = read(text);
        assert!(
            reading.missing.is_empty() && has(&reading.warnings, "is no number"),
            "{text}: {:?}",
            reading.warnings
        );
    }
    assert_eq!(read("").warnings.len(), 1, "{:?}", read("").warnings);

    // The void of elevation files counts beside a declared value, and in arrays.
    let filled = ReadOptions { nodata_fill: Some(0.0), ..ReadOptions::default() };
    let short: Vec<u8> =
        [-9999i16, -32768, 7, -32767].iter().flat_map(|v| v.to_le_bytes()).collect();
    let bytes = tiff(4, 1, 16, 2, &short, &[(42113, 2, b"-9999\0".to_vec())]);
    assert_eq!(decode(&bytes, MapFormat::Tiff, &filled).unwrap().missing, [0, 1]);
    assert_eq!(
        decode(&npy("'<i2'", "False", "(1, 4)", &short), MapFormat::Npy, &filled).unwrap().missing,
        [1]
    );
    assert_eq!(
        decode(&npy("'<u2'", "False", "(1, 4)", &short), MapFormat::Npy, &filled).unwrap().missing,
        [0; 0]
    );
    let doubled = tiff(
        2,
        1,
        64,
        3,
        &doubles(&[f64::from(f32::MIN), -9999.0]),
        &[(42113, 2, b"-3.4028235e+38\0".to_vec())],
    );
    assert_eq!(decode(&doubled, MapFormat::Tiff, &filled).unwrap().missing, [0]);

    // An ESRI grid compares single floats, and says -9999 by saying nothing.
    let grid = |nodata: &str| {
        let text = format!("ncols 3\nnrows 1\ncellsize 10\n{nodata}\n-3.4028231e+38 -9999 0\n");
        decode(text.as_bytes(), MapFormat::Asc, &filled).unwrap()
    };
    for (nodata, missing) in [
        ("NODATA_value -3.4028230607370965251e+38", &[0][..]),
        ("NODATA_value -9999,0", &[1]),
        ("nodata_value nan", &[]),
        ("", &[1]),
        ("NODATA_value 7", &[]),
    ] {
        assert_eq!(grid(nodata).missing, missing, "{nodata}");
    }
    // Heights that are what others take as missing come back, and so do missing ones beside them.
    for (data, missing) in [
        ([-9999.0, 1.0, 2.0], vec![]),
        ([-9999.0, 1.0, 2.0], vec![1]),
        ([-99999.0, 1.0, -9999.0], vec![1]),
        ([-99999.0, 1.0, -199998.0], vec![1]),
    ] {
        let data = data.to_vec();
        let map = Map { width: 3, height: 1, spacing_m: 1.0, data, range_m: None, georef: None };
        let file = io::encode_within(&map, MapFormat::Asc, None, &missing).unwrap().bytes;
        let kept = ReadOptions { keep_missing: true, ..ReadOptions::default() };
        let again = decode(&file, MapFormat::Asc, &kept).unwrap();
        assert_eq!(again.missing, missing, "{:?}", map.data);
        let there = |map: &Map| -> Vec<f32> {
            (0..3).filter(|i| !missing.contains(i)).map(|i| map.data[i]).collect()
        };
        assert_eq!(there(&again.map), there(&map));
    }
    let word = grid("NODATA_value NA");
    assert!(
        word.missing.is_empty() && has(&word.warnings, "\"NA\", which is no number"),
        "{:?}",
        word.warnings
    );
}

/// Corners are sums, which can exceed the largest number. Such a place is dropped, and the map can
/// be written. A word of an ASCII grid may be as long as the largest number.
#[test]
fn places_of_any_size_can_be_written() {
    for (x, east) in [(1e308, 1e308), (-1e308, 1e308), (1e308, -1e308), (1.0, 1e308), (1e-300, 1.0)]
    {
        let tags = [
            (33550, 12, doubles(&[x, x, 0.0])),
            (33922, 12, doubles(&[1.0, 1.0, 0.0, east, east, 0.0])),
        ];
        let bytes = tiff(2, 1, 32, 3, &floats(&[1.0, 2.0]), &tags);
        let read = decode(&bytes, MapFormat::Tiff, &ReadOptions::default()).unwrap();
        let map = read.map;
        assert!(map.georef.as_ref().is_none_or(|at| at.west.is_finite() && at.north.is_finite()));
        assert_eq!(has(&read.warnings, "beyond the largest number"), x.abs() > 1e300, "{x} {east}");
        for format in [MapFormat::Tiff, MapFormat::Asc] {
            let options = ReadOptions { spacing_m: Some(1.0), ..ReadOptions::default() };
            let again = decode(&encode(&map, format), format, &options).unwrap().map;
            assert_eq!(again.data, map.data, "{x} {east} {format:?}");
        }
    }
}

/// Rasters whose rows go to the north or whose columns go to the west are turned, with their place.
/// Holds F8, and F13 of a rotation that is none: the place was dropped.
#[test]
fn rasters_are_turned_upright() {
    let matrix = |a: f64, b: f64, d: f64, e: f64, east: f64, north: f64| {
        let m = [a, b, 0.0, east, d, e, 0.0, north, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        vec![(34264, 12, doubles(&m)), (33550, 12, vec![]), (33922, 12, vec![])]
    };
    let scaled = |x: f64, y: f64| vec![(33550, 12, doubles(&[x, y, 0.0]))];
    let read = |tags: &[Tag], raster: u16| {
        let samples = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let mut all = vec![
            (33922, 12, doubles(&[0.0, 0.0, 0.0, 1000.0, 2000.0, 0.0])),
            (34735, 3, shorts(&[1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, raster, 3072, 0, 1, 32632])),
        ];
        all.retain(|own: &Tag| tags.iter().all(|given| given.0 != own.0));
        all.extend(tags.iter().filter(|tag| !tag.2.is_empty()).cloned());
        decode(&tiff(2, 3, 32, 3, &samples, &all), MapFormat::Tiff, &ReadOptions::default())
            .unwrap()
    };
    let upright = read(&scaled(10.0, 10.0), 1);
    let place =
        Georef { epsg: Some(32632), west: 1000.0, north: 2000.0, cell: (10.0, 10.0), keys: None };
    assert_eq!(upright.map.georef, Some(place.clone()));
    let (rows, columns) = ([5.0, 6.0, 3.0, 4.0, 1.0, 2.0], [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]);
    for (name, tags, raster, data, moved) in [
        ("south-up", matrix(10.0, 0.0, 0.0, 10.0, 1000.0, 1970.0), 1, rows, [0.0, 0.0]),
        ("south-up, points", matrix(10.0, 0.0, 0.0, 10.0, 1005.0, 1975.0), 2, rows, [0.0, 0.0]),
        ("mirrored", matrix(-10.0, 0.0, 0.0, -10.0, 1020.0, 2000.0), 1, columns, [0.0, 0.0]),
        ("a scale below 0", scaled(10.0, -10.0), 1, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 0.0]),
        (
            "turned by a sum",
            matrix(10.0, 1e-10, -1e-10, -10.0, 1000.0, 2000.0),
            1,
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            [0.0, 0.0],
        ),
        ("points", scaled(10.0, 10.0), 2, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [-5.0, 5.0]),
    ] {
        let reading = read(&tags, raster);
        let moved = Georef { west: 1000.0 + moved[0], north: 2000.0 + moved[1], ..place.clone() };
        assert_eq!((reading.map.data, reading.map.georef), (data.to_vec(), Some(moved)), "{name}");
        assert_eq!(reading.map.spacing_m, 10.0, "{name}");
        assert_eq!(
            has(&reading.warnings, "-10 high"),
            name == "a scale below 0",
            "{name}: {:?}",
            reading.warnings
        );
    }
    let oblique = read(&matrix(8.0, 6.0, 6.0, -8.0, 1000.0, 2000.0), 1);
    assert_eq!((oblique.map.spacing_m, oblique.map.georef), (10.0, None));
    assert!(has(&oblique.warnings, "rotated"));
}

/// Metadata that is damaged costs what it says, and not the file; an ampersand that stands for
/// itself costs nothing.
/// Holds F10: the file was refused.
#[test]
fn damaged_metadata_is_a_warning() {
    let read = |tag: Tag| {
        decode(
            &placed(&[(1024, 1), (3072, 32632)], None, &[tag]),
            MapFormat::Tiff,
            &ReadOptions::default(),
        )
        .unwrap()
    };
    let metadata = |text: &str| read((42112, 2, format!("{text}\0").into_bytes()));
    let scale = "<Item name=\"SCALE\" sample=\"0\" role=\"scale\">2</Item>";
    let whole = metadata(&format!(
        "<GDALMetadata><Item name=\"SRC\">A & B &amp; &#67; & c;\u{1}</Item>{scale}</GDALMetadata>"
    ));
    assert_eq!(
        (whole.map.data[3], has(&whole.warnings, "cannot be read")),
        (8.0, false),
        "{:?}",
        whole.warnings
    );
    for text in [
        "",
        "   ",
        "<GDALMetadata>",
        &format!("<GDALMetadata>{scale}<"),
        "no XML",
        "<GDALMetadata></Item>",
        &format!("{scale}<Item>"),
        &scale.replace('2', "two"),
    ] {
        let reading = metadata(text);
        assert_eq!(reading.map.data, [1.0, 2.0, 3.0, 4.0], "{text:?}");
        assert!(
            has(&reading.warnings, "metadata of GDAL cannot be read"),
            "{text:?}: {:?}",
            reading.warnings
        );
    }
    // Reading takes a time that grows as the text: with its square, each of these took minutes.
    let attributes: String = (0..60_000).map(|i| format!(" a{i}=\"1\"")).collect();
    let spaces: String = (0..5000).map(|i| format!("<a xmlns:n{i}=\"u{i}\">")).collect();
    for [before, after] in [
        [format!("<GDALMetadata{attributes}>"), String::new()],
        [format!("<GDALMetadata>{spaces}"), "</a>".repeat(5000)],
        [format!("<GDALMetadata>{}", "<a>".repeat(100_000)), "</a>".repeat(100_000)],
        [format!("<GDALMetadata>{}", "<Item name=\"x\">1</Item>".repeat(50_000)), String::new()],
    ] {
        let reading = metadata(&format!("{before}{scale}{after}</GDALMetadata>"));
        assert_eq!(reading.map.data, [2.0, 4.0, 6.0, 8.0]);
        assert!(!has(&reading.warnings, "cannot be read"), "{:?}", reading.warnings);
    }
    // A tag of another type costs what it says, too.
    for tag in [
        (42112, 3, shorts(&[1, 2, 3])),
        (33922, 2, b"0 0 0 5 6\0".to_vec()),
        (34735, 12, doubles(&[1.0])),
    ] {
        let (number, reading) = (tag.0, read(tag));
        assert_eq!(reading.map.data, [1.0, 2.0, 3.0, 4.0]);
        assert!(
            has(&reading.warnings, &format!("tag {number} of the file has no")),
            "{:?}",
            reading.warnings
        );
    }
}

#[test]
fn several_bands_and_bad_tiles_are_refused() {
    let rgb = tiff(1, 1, 8, 1, &[1, 2, 3], &[]);
    let mut bands = rgb.clone();
    // SamplesPerPixel (277) is the seventh tag.
    let at = bands.len() - 4 - 10 * 12 + 6 * 12;
    assert_eq!(&bands[at..at + 2], 277u16.to_le_bytes());
    bands[at + 8] = 3;
    assert!(matches!(
        decode(&bands, MapFormat::Tiff, &ReadOptions::default()),
        Err(Error::Input { .. })
    ));
    let empty = tiff(0, 1, 8, 1, &[1], &[]);
    assert!(decode(&empty, MapFormat::Tiff, &ReadOptions::default()).is_err());
    let huge = tiff(1 << 20, 1 << 20, 16, 1, &[1, 2], &[]);
    assert_eq!(
        decode(&huge, MapFormat::Tiff, &ReadOptions::default()).unwrap_err().code(),
        "limit"
    );
    let tiles = tiff(
        4,
        4,
        8,
        1,
        &[0; 16],
        &[(322, 4, vec![0; 4]), (323, 4, vec![0; 4]), (324, 4, vec![8, 0, 0, 0])],
    );
    assert!(decode(&tiles, MapFormat::Tiff, &ReadOptions::default()).is_err());
}

#[test]
fn png_range_is_assumed_and_said() {
    // A file of another program, without texts.
    let grey = |width: u32, height: u32| {
        let last = (width * height - 1).max(1);
        let levels = (0..width * height)
            .flat_map(|v| ((v * 65535 / last) as u16).to_be_bytes())
            .collect::<Vec<_>>();
        png(png::ColorType::Grayscale, png::BitDepth::Sixteen, width, height, &levels)
    };
    let bytes = grey(101, 11);
    let options = ReadOptions { spacing_m: Some(10.0), ..ReadOptions::default() };
    let reading = decode(&bytes, MapFormat::Png, &options).unwrap();
    // A fifth of 100 steps of 10 m.
    assert_eq!(reading.map.range_m, Some((0.0, 200.0)));
    assert_eq!(reading.map.min_max(), (0.0, 200.0));
    assert!(has(&reading.warnings, "0 to 200 m") && has(&reading.warnings, "--range"));
    let silent = ReadOptions { range_m: Some((5.0, 6.0)), ..options };
    let reading = decode(&bytes, MapFormat::Png, &silent).unwrap();
    assert_eq!((reading.map.min_max(), reading.warnings.len()), ((5.0, 6.0), 0));
    assert!(has(
        &decode(&bytes, MapFormat::Png, &ReadOptions::default()).unwrap().warnings,
        "--spacing"
    ));
    assert_eq!(
        decode(&grey(1, 1), MapFormat::Png, &ReadOptions::default()).unwrap().map.range_m,
        Some((0.0, 1.0))
    );
}

fn png(
    color: png::ColorType,
    depth: png::BitDepth,
    width: u32,
    height: u32,
    data: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![0, 0, 0, 255, 255, 255]);
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    out
}

#[test]
fn png_kinds() {
    use png::{BitDepth::*, ColorType::*};
    let unit =
        ReadOptions { spacing_m: Some(1.0), range_m: Some((0.0, 255.0)), ..ReadOptions::default() };
    let eight =
        decode(&png(Grayscale, Eight, 2, 2, &[0, 7, 100, 255]), MapFormat::Png, &unit).unwrap();
    assert_eq!(eight.map.data, [0.0, 7.0, 100.0, 255.0]);
    assert!(has(&eight.warnings, "terraces") && has(&eight.warnings, "256 steps"));
    let four = decode(&png(Grayscale, Four, 3, 1, &[0x0f, 0x10]), MapFormat::Png, &unit).unwrap();
    assert_eq!(four.map.data, [0.0, 255.0, 17.0]);
    assert!(has(&four.warnings, "16 steps"));
    let one = decode(&png(Grayscale, One, 3, 1, &[0b0100_0000]), MapFormat::Png, &unit).unwrap();
    assert_eq!(one.map.data, [0.0, 255.0, 0.0]);
    let alpha =
        decode(&png(GrayscaleAlpha, Sixteen, 1, 1, &[255, 255, 0, 0]), MapFormat::Png, &unit)
            .unwrap();
    assert_eq!(alpha.map.data, [255.0]);
    assert!(has(&alpha.warnings, "transparency"));
    for (color, data) in [(Rgb, &[1u8, 2, 3][..]), (Rgba, &[1, 2, 3, 4]), (Indexed, &[1])] {
        let text = message(decode(&png(color, Eight, 1, 1, data), MapFormat::Png, &unit), "input");
        assert!(text.contains("16-bit greyscale"), "{text}");
    }
}

/// CRC-32 as PNG demands it.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |c, b| {
        (0..8).fold(
            c ^ u32::from(*b),
            |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 },
        )
    })
}

#[test]
fn png_that_claims_too_much_is_refused_before_memory_is_taken() {
    let claim = |width: u32, height: u32| {
        let mut bytes = encode(&noisy(2, 2), MapFormat::Png);
        bytes[16..20].copy_from_slice(&width.to_be_bytes());
        bytes[20..24].copy_from_slice(&height.to_be_bytes());
        let sum = crc(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&sum.to_be_bytes());
        bytes
    };
    let options = ReadOptions::default();
    let _ = decode(&claim(2, 2), MapFormat::Png, &options).unwrap();
    let top = (1 << 31) - 1;
    assert_eq!(decode(&claim(top, top), MapFormat::Png, &options).unwrap_err().code(), "limit");
    assert_eq!(decode(&claim(top, 1), MapFormat::Png, &options).unwrap_err().code(), "limit");
    assert!(decode(&claim(1 << 31, 1), MapFormat::Png, &options).is_err());
    assert!(decode(&claim(0, 1), MapFormat::Png, &options).is_err());
    // Within the limit of cells, but more than its few bytes can hold.
    assert!(
        message(decode(&claim(1 << 15, 1 << 15), MapFormat::Png, &options), "input")
            .contains("cannot hold")
    );
    let few = ReadOptions { max_cells: 3, ..options };
    assert!(message(decode(&claim(2, 2), MapFormat::Png, &few), "limit").contains("2x2"));
}

/// A NumPy file by hand.
fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let len = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut out = b"\x93NUMPY\x01\0".to_vec();
    out.extend((len as u16).to_le_bytes());
    out.extend(format!("{text:<width$}\n", width = len - 1).bytes());
    out.extend(data);
    out
}

#[test]
fn npy_types_orders_and_endianness() {
    let options = ReadOptions { spacing_m: Some(1.0), ..ReadOptions::default() };
    let read = |descr: &str, fortran: &str, data: Vec<u8>| {
        let reading =
            decode(&npy(descr, fortran, "(2, 3)", &data), MapFormat::Npy, &options).unwrap();
        assert_eq!((reading.map.width, reading.map.height), (3, 2));
        reading.map.data
    };
    let by_rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let be4: Vec<u8> = by_rows.iter().flat_map(|v: &f32| v.to_be_bytes()).collect();
    assert_eq!(read("'>f4'", "False", be4), by_rows);
    let fortran: Vec<u8> =
        [1.0f64, 4.0, 2.0, 5.0, 3.0, 6.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(read("'>f8'", "True", fortran), by_rows);
    let le2: Vec<u8> = [1i16, -2, 3, 4, 5, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(read("'<i2'", "False", le2), [1.0, -2.0, 3.0, 4.0, 5.0, 6.0]);
    let be2: Vec<u8> = [1u16, 2, 3, 4, 5, 60000].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(read("'>u2'", "False", be2), [1.0, 2.0, 3.0, 4.0, 5.0, 60000.0]);
    assert_eq!(read("'|u1'", "True", vec![1, 4, 2, 5, 3, 6]), by_rows);
    assert_eq!(
        read("'<f2'", "False", shorts(&[0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600])),
        by_rows
    );
    let le4: Vec<u8> = [1i32, 2, 3, 4, 5, -6].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(read("'<i4'", "False", le4), [1.0, 2.0, 3.0, 4.0, 5.0, -6.0]);
    let le4: Vec<u8> = [1u32, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(read("'<u4'", "False", le4), by_rows);
}

#[test]
fn npy_that_is_no_map_is_refused() {
    let read = |bytes: &[u8]| decode(bytes, MapFormat::Npy, &ReadOptions::default());
    assert!(
        message(read(&npy("'|O'", "False", "(1, 1)", b"cos\nsystem\n")), "input")
            .contains("objects")
    );
    assert!(message(read(&npy("'<c8'", "False", "(1, 1)", &[0; 8])), "input").contains("float32"));
    assert!(
        message(read(&npy("[('a', '<f4')]", "False", "(1, 1)", &[0; 4])), "input")
            .contains("records")
    );
    assert!(message(read(&npy("'<f4'", "False", "(4,)", &[0; 16])), "input").contains("2"));
    assert!(message(read(&npy("'<f4'", "False", "(0, 4)", &[])), "input").contains("1 or more"));
    assert!(
        message(read(&npy("'<f4'", "False", "(2, 2)", &[0; 15])), "input").contains("16 bytes")
    );
    assert_eq!(
        read(&npy("'<f4'", "False", "(4000000000, 4000000000)", &[])).unwrap_err().code(),
        "limit"
    );
    assert!(
        read(&npy("'<f4'", "False", "(9999999999999999999, 9999999999999999999)", &[])).is_err()
    );
    assert!(read(&npy("'<f4'", "False", "(-1, 4)", &[])).is_err());
    // The parser takes a time that grows as a power of the brackets, and a stack that grows with
    // them.
    for open in ["(", "[", "{", "{'a': ", "[("] {
        for times in [30, 5000] {
            let shape = open.repeat(times.min(9000 / open.len()));
            assert!(
                message(read(&npy("'<f4'", "False", &shape, &[])), "input").contains("brackets")
            );
        }
    }
    let fields = "[('a', '<f4'), ('b', '<f4')]";
    assert!(message(read(&npy(fields, "False", "(1, 1)", &[0; 8])), "input").contains("field"));
    // The most brackets and the longest text in them.
    for open in ["((", "[[", "{{"] {
        let slow = format!("{open}{}", " 'a'".repeat(2400));
        assert!(read(&npy("'<f4'", "False", &slow, &[])).is_err());
    }
    let mut long = b"\x93NUMPY\x02\0\xff\xff\xff\xff".to_vec();
    long.extend([b' '; 100]);
    assert!(message(read(&long), "input").contains("4294967295"));
    let more =
        decode(&npy("'<f4'", "False", "(1, 1)", &[0; 5]), MapFormat::Npy, &ReadOptions::default())
            .unwrap();
    assert!(has(&more.warnings, "1 bytes after"));
}

#[test]
fn raw_sizes() {
    let read = |len: usize, size| {
        decode(&vec![0; len], MapFormat::R16, &ReadOptions { size, ..ReadOptions::default() })
    };
    assert_eq!(read(18, None).unwrap().map.height, 3);
    assert!(message(read(17, None), "input").contains("--size"));
    assert!(message(read(12, None), "input").contains("--size"));
    let map = read(12, Some((3, 2))).unwrap().map;
    assert_eq!((map.width, map.height), (3, 2));
    assert!(message(read(12, Some((3, 3))), "input").contains("18 bytes"));
    assert!(read(12, Some((u32::MAX, u32::MAX))).is_err());
    // A size that contradicts a file that knows its own.
    let bytes = encode(&noisy(3, 2), MapFormat::Exr);
    let wrong = ReadOptions { size: Some((2, 3)), ..ReadOptions::default() };
    assert!(message(decode(&bytes, MapFormat::Exr, &wrong), "input").contains("3x2"));
}

#[test]
fn heights_that_are_none_are_refused() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut bytes = encode(&noisy(4, 3), MapFormat::R32);
        bytes[4 * 6..4 * 7].copy_from_slice(&bad.to_le_bytes());
        bytes[4 * 9..4 * 10].copy_from_slice(&bad.to_le_bytes());
        let sized = ReadOptions { size: Some((4, 3)), ..ReadOptions::default() };
        let text = message(decode(&bytes, MapFormat::R32, &sized), "input");
        assert!(
            text.contains("2 of 12")
                && text.contains("row 1, column 2")
                && text.contains("--nodata"),
            "{text}"
        );
        let filled =
            decode(&bytes, MapFormat::R32, &ReadOptions { nodata_fill: Some(3.5), ..sized })
                .unwrap();
        assert_eq!((filled.map.data[6], filled.map.data[9]), (3.5, 3.5));

        let map = Map { data: vec![0.0, bad], ..noisy(2, 1) };
        for format in ALL {
            assert!(message(io::encode(&map, format), "param").contains("row 0, column 1"));
        }
    }
    // Finite as 64 bits, but not as 32.
    let bytes = npy("'<f8'", "False", "(1, 1)", &1e300f64.to_le_bytes());
    assert!(
        message(decode(&bytes, MapFormat::Npy, &ReadOptions::default()), "input")
            .contains("infinite")
    );
}

#[test]
fn options_are_checked() {
    let bytes = encode(&noisy(2, 2), MapFormat::R32);
    let default = ReadOptions::default;
    for options in [
        ReadOptions { spacing_m: Some(0.0), ..default() },
        ReadOptions { spacing_m: Some(-1.0), ..default() },
        ReadOptions { spacing_m: Some(f64::NAN), ..default() },
        ReadOptions { range_m: Some((1.0, 1.0)), ..default() },
        ReadOptions { range_m: Some((0.0, f64::INFINITY)), ..default() },
        ReadOptions { size: Some((0, 4)), ..default() },
        ReadOptions { nodata_fill: Some(f32::NAN), ..default() },
    ] {
        assert_eq!(
            decode(&bytes, MapFormat::R32, &options).unwrap_err().code(),
            "param",
            "{options:?}"
        );
    }
    let unused = ReadOptions { range_m: Some((0.0, 1.0)), ..default() };
    assert!(has(&decode(&bytes, MapFormat::R32, &unused).unwrap().warnings, "range is ignored"));
    assert_eq!(MapFormat::from_path(Path::new("a.TIFF")).unwrap(), MapFormat::Tiff);
    assert_eq!(MapFormat::from_path(Path::new("a.raw")).unwrap(), MapFormat::R16);
    for name in ["a.jpg", "a", ".png", ""] {
        assert_eq!(MapFormat::from_path(Path::new(name)).unwrap_err().code(), "param", "{name}");
    }
    let inconsistent = Map { width: 3, ..noisy(2, 2) };
    assert_eq!(io::encode(&inconsistent, MapFormat::R32).unwrap_err().code(), "param");
    let zero = Map { width: 0, height: 0, data: vec![], ..noisy(1, 1) };
    assert_eq!(io::encode(&zero, MapFormat::Npy).unwrap_err().code(), "param");
}

#[test]
fn content_of_another_kind_is_named() {
    let map = noisy(4, 4);
    for real in ALL.into_iter().filter(|f| !matches!(f, MapFormat::R16 | MapFormat::R32)) {
        let bytes = encode(&map, real);
        for claimed in ALL.into_iter().filter(|f| *f != real) {
            let text = message(decode(&bytes, claimed, &ReadOptions::default()), "input");
            assert!(
                text.contains(&format!(".{}", real.extension())),
                "{real:?} as {claimed:?}: {text}"
            );
        }
    }
    assert!(
        message(decode(b"\xff\xd8\xff\xe0 JFIF", MapFormat::Png, &ReadOptions::default()), "input")
            .contains("JPEG")
    );
    for format in ALL {
        assert!(message(decode(b"", format, &ReadOptions::default()), "input").contains("empty"));
        assert!(decode(b"x", format, &ReadOptions::default()).is_err());
        assert!(
            decode(b"hello, this is plain text without samples", format, &ReadOptions::default())
                .is_err()
        );
    }
}

#[test]
fn png_that_is_interlaced() {
    // Adam7 of 2 by 2 samples: the first, its right neighbour, then the second row, each row after
    // a filter byte of 0.
    let rows = [0u8, 10, 0, 20, 0, 30, 40];
    let (mut a, mut b) = (1u32, 0u32);
    for v in rows {
        a += u32::from(v);
        b += a;
    }
    let mut zlib = vec![0x78, 1, 1, rows.len() as u8, 0, !(rows.len() as u8), 0xff];
    zlib.extend(rows);
    zlib.extend((b << 16 | a).to_be_bytes());
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, data) in
        [(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 1][..]), (b"IDAT", &zlib), (b"IEND", &[])]
    {
        bytes.extend((data.len() as u32).to_be_bytes());
        let body = [&name[..], data].concat();
        bytes.extend(&body);
        bytes.extend(crc(&body).to_be_bytes());
    }
    let options = ReadOptions { range_m: Some((0.0, 255.0)), ..ReadOptions::default() };
    assert_eq!(
        decode(&bytes, MapFormat::Png, &options).unwrap().map.data,
        [10.0, 20.0, 30.0, 40.0]
    );
}

/// A 5 by 3 picture whose channels all hold `10 * row + column`, in every layout and compression
/// that is read.
fn exr_kinds() -> Vec<Vec<u8>> {
    use exr::prelude::*;
    let values = || (0..15).map(|i| (i / 5 * 10 + i % 5) as f32);
    let mut out = Vec::new();
    for blocks in [Blocks::ScanLines, Blocks::Tiles(Vec2(2, 2))] {
        for compression in [
            Compression::RLE,
            Compression::ZIP1,
            Compression::ZIP16,
            Compression::PIZ,
            Compression::PXR24,
        ] {
            let channels = [
                AnyChannel::new("A", FlatSamples::F16(values().map(f16::from_f32).collect())),
                AnyChannel::new("R", FlatSamples::F16(values().map(f16::from_f32).collect())),
                AnyChannel::new("height", FlatSamples::U32(values().map(|v| v as u32).collect())),
            ];
            let encoding = Encoding { compression, blocks, line_order: LineOrder::Increasing };
            for list in [&channels[..], &channels[1..2], &channels[..1]] {
                let channels = AnyChannels::sort(list.iter().cloned().collect());
                let mut bytes = std::io::Cursor::new(Vec::new());
                let image = Image::from_encoded_channels((5, 3), encoding, channels);
                image.write().non_parallel().to_buffered(&mut bytes).unwrap();
                out.push(bytes.into_inner());
            }
        }
    }
    out
}

#[test]
fn exr_channels_layouts_and_compressions() {
    for (i, bytes) in exr_kinds().iter().enumerate() {
        let reading = decode(bytes, MapFormat::Exr, &ReadOptions::default()).unwrap();
        assert_eq!((reading.map.width, reading.map.height), (5, 3));
        assert_eq!(
            reading.map.data,
            (0..15).map(|i| (i / 5 * 10 + i % 5) as f32).collect::<Vec<_>>()
        );
        assert_eq!(
            has(&reading.warnings, "read from height"),
            i % 3 == 0,
            "{:?}",
            reading.warnings
        );
    }
    use exr::prelude::*;
    let lossy = Encoding { compression: Compression::B44, ..Encoding::default() };
    let channels = AnyChannel::new("Y", FlatSamples::F16(vec![f16::ONE; 15]));
    let image = Image::from_encoded_channels(
        (5, 3),
        lossy,
        AnyChannels::sort([channels].into_iter().collect()),
    );
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write().non_parallel().to_buffered(&mut bytes).unwrap();
    assert!(
        message(decode(&bytes.into_inner(), MapFormat::Exr, &ReadOptions::default()), "input")
            .contains("ZIP, PIZ or none")
    );
    let channel = |name: &str| AnyChannel::new(name, FlatSamples::F32(vec![1.0]));
    let image = Image::from_channels(
        (1, 1),
        AnyChannels::sort([channel("u"), channel("v")].into_iter().collect()),
    );
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write().non_parallel().to_buffered(&mut bytes).unwrap();
    let text =
        message(decode(&bytes.into_inner(), MapFormat::Exr, &ReadOptions::default()), "input");
    assert!(text.contains("u, v") && text.contains("channel Y"), "{text}");
}

/// A part, a layer or a channel named height goes before the red of a picture; `band` names a
/// channel by its number; what is not read is told from what is damaged. Holds F13.
#[test]
fn exr_parts_are_chosen_by_name() {
    use exr::prelude::*;
    let layer = |name: &str, channels: &[(&str, f32)]| {
        let list = channels
            .iter()
            .map(|(name, v)| AnyChannel::new(*name, FlatSamples::F32(vec![*v; 15])))
            .collect();
        Layer::new(
            (5, 3),
            LayerAttributes::named(name),
            Encoding::UNCOMPRESSED,
            AnyChannels::sort(list),
        )
    };
    let file = |layers: Vec<Layer<AnyChannels<FlatSamples>>>| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let window = IntegerBounds::from_dimensions((5, 3));
        let image = Image::from_layers(ImageAttributes::new(window), SmallVec::from(layers));
        image.write().non_parallel().to_buffered(&mut bytes).unwrap();
        bytes.into_inner()
    };
    let read = |bytes: &[u8], band| {
        let options = ReadOptions { band, ..ReadOptions::default() };
        decode(bytes, MapFormat::Exr, &options).map(|reading| reading.map.data[0])
    };
    let beauty = || layer("beauty", &[("A", 9.0), ("R", 1.0), ("Y", 2.0)]);
    for (other, expected) in [
        (layer("height", &[("Y", 5.0)]), 5.0),
        (layer("Height", &[("Z", 5.0)]), 5.0),
        (layer("depth", &[("Z", 5.0)]), 2.0),
        (layer("terrain", &[("height.R", 5.0), ("mask.R", 1.0)]), 5.0),
    ] {
        assert_eq!(
            read(&file(vec![beauty(), other.clone()]), None).unwrap(),
            expected,
            "{other:?}"
        );
        assert_eq!(read(&file(vec![other, beauty()]), None).unwrap(), expected);
    }
    let only_red = file(vec![
        layer("beauty", &[("R", 1.0), ("u", 2.0)]),
        layer("terrain", &[("height", 5.0)]),
    ]);
    assert_eq!(read(&only_red, None).unwrap(), 5.0);
    for (band, expected) in [(1, 1.0), (2, 2.0), (3, 5.0)] {
        assert_eq!(read(&only_red, Some(band)).unwrap(), expected);
    }
    let text = message(read(&only_red, Some(9)), "input");
    assert!(
        text.contains("band 9") && text.contains("3 channels") && text.contains("R, u, height"),
        "{text}"
    );
    // Other formats have one band.
    let grey = decode(
        &encode(&noisy(2, 2), MapFormat::Png),
        MapFormat::Png,
        &ReadOptions { band: Some(2), ..ReadOptions::default() },
    );
    assert!(message(grey, "input").contains("band 2: a .png file has one"));
}

/// The decoder makes room for a block as large as the header says. A file of 500 bytes took 1.8 GB.
#[test]
fn exr_blocks_take_no_more_than_their_file_can_hold() {
    use exr::prelude::*;
    let part = |name: &str, tile| {
        let channel = AnyChannel::new(name, FlatSamples::F32(vec![1.0; 15]));
        let blocks = Blocks::Tiles(Vec2(tile, tile));
        let encoding = Encoding { blocks, ..Encoding::UNCOMPRESSED };
        let channels = AnyChannels::sort([channel].into_iter().collect());
        Layer::new((5, 3), LayerAttributes::named(name), encoding, channels)
    };
    let file = |parts: Vec<Layer<AnyChannels<FlatSamples>>>| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let window = IntegerBounds::from_dimensions((5, 3));
        let image = Image::from_layers(ImageAttributes::new(window), SmallVec::from(parts));
        image.write().non_parallel().to_buffered(&mut bytes).unwrap();
        bytes.into_inner()
    };
    // The height of the tiles that have this width.
    let higher = |mut bytes: Vec<u8>, wide: u8, high: u32| {
        let name = b"tiledesc\0";
        let of = |bytes: &[u8], at: usize| bytes[at..].starts_with(name) && bytes[at + 13] == wide;
        let at = (0..bytes.len() - 20).find(|at| of(&bytes, *at)).unwrap() + name.len() + 8;
        bytes[at..at + 4].copy_from_slice(&high.to_le_bytes());
        bytes
    };
    let read = |bytes: &[u8]| decode(bytes, MapFormat::Exr, &ReadOptions::default());
    let whole = file(vec![part("Y", 32), part("u", 16)]);
    assert_eq!(read(&whole).unwrap().map.data, [1.0; 15]);
    for (wide, height) in [(32, 600_000), (16, 1_200_000), (16, 100_000_000)] {
        let text = message(read(&higher(whole.clone(), wide, height)), "limit");
        assert!(text.contains(&format!("blocks of {wide} x {height} samples")), "{text}");
        assert!(text.contains(&format!("take {} bytes", 4 * u64::from(wide) * u64::from(height))));
        let allowed = (64 << 20) + 1400 * whole.len();
        assert!(text.contains(&format!("allowed {allowed} ")), "{text}");
    }
    // A picture of 20000 x 20000 samples in one tile, of which the file holds nothing.
    let mut bytes = higher(file(vec![part("Y", 32)]), 32, 20_000);
    for (name, at, value) in [
        (&b"tiledesc\0"[..], 4, 20_000u32),
        (b"dataWindow\0box2i\0", 12, 19_999),
        (b"dataWindow\0box2i\0", 16, 19_999),
    ] {
        let found = (0..bytes.len()).find(|i| bytes[*i..].starts_with(name)).unwrap();
        bytes[found + name.len() + at..][..4].copy_from_slice(&value.to_le_bytes());
    }
    let text = message(read(&bytes), "limit");
    assert!(text.contains("blocks of 20000 x 20000 samples"), "{text}");
}

/// A strip that a file does not hold is made of zeros, with all its bands. A file of 30 kB took 16
/// GB.
#[test]
fn tiff_blocks_take_no_more_than_some_bands_of_their_map() {
    use tiff_reader::ExtraSample;
    use tiff_writer::{ImageBuilder, TiffWriter, WriteOptions};
    let file = |bands: u16, rows: u32| {
        let image = ImageBuilder::new(1000, 1000)
            .sample_type::<f32>()
            .samples_per_pixel(bands)
            .extra_samples(vec![ExtraSample::UnassociatedAlpha; usize::from(bands) - 1])
            .strips(rows);
        let blocks = image.checked_block_count().unwrap();
        let mut writer =
            TiffWriter::new(std::io::Cursor::new(vec![]), WriteOptions::auto()).unwrap();
        let image = writer.add_image(image).unwrap();
        (0..blocks).for_each(|i| writer.write_block_sparse(&image, i).unwrap());
        writer.finish().unwrap().into_inner()
    };
    let read = |bytes: &[u8]| {
        decode(bytes, MapFormat::Tiff, &ReadOptions { spacing_m: Some(1.0), ..Default::default() })
    };
    let text = message(read(&file(4001, 1000)), "limit");
    assert!(text.contains("1000 x 1000 samples of 4001 bands take 16004000000 bytes"), "{text}");
    assert!(text.contains("allowed 131108864 for 1000000 samples"), "{text}");
    // Strips of one row are small.
    let text = message(read(&file(4001, 1)), "input");
    assert!(!text.contains("bands take"), "{text}");
}

/// Texts may begin with the mark of UTF-8. Holds F13.
#[test]
fn texts_may_begin_with_a_mark() {
    let grid = "\u{feff}ncols 2\nnrows 1\ncellsize 10\n1 2\n";
    assert_eq!(
        decode(grid.as_bytes(), MapFormat::Asc, &ReadOptions::default()).unwrap().map.data,
        [1.0, 2.0]
    );
    let recipe = "{\"schema\":2,\"width\":16,\"height\":16,\"spacing_m\":20,\"stage\":[{\"kind\":\"noise\"}]}";
    let plain = thalweg::Recipe::from_json(recipe, "", "a").unwrap();
    let marked = thalweg::Recipe::from_json(&format!("\u{feff}{recipe}"), "", "a").unwrap();
    assert_eq!(format!("{plain:?}"), format!("{marked:?}"));
}

/// Bare samples of either order of bytes, with a header under either of the names that programs
/// give it. Holds F13.
#[test]
fn headers_under_either_name_and_samples_of_either_order() {
    let folder = Folder::new("raw");
    let header = |kind: u32, order: u32| {
        format!(
            "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = {kind}\nbyte order = {order}\n\
             map info = {{Arbitrary, 1, 1,\n  0, 0,\n  5, 5}}\n"
        )
    };
    let values = [1.5f32, -2.0, 3.0, 4.0, 5.0, 6.0];
    let read = |name: &str| {
        io::read(
            folder.0.join(name),
            &ReadOptions { range_m: Some((0.0, 65535.0)), ..ReadOptions::default() },
        )
    };
    for (order, bytes) in [
        (0, values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()),
        (1, values.iter().flat_map(|v| v.to_be_bytes()).collect()),
    ] {
        for name in ["a.r32.hdr", "a.hdr"] {
            let _ = std::fs::remove_file(folder.0.join("a.r32.hdr"));
            std::fs::write(folder.0.join("a.r32"), &bytes).unwrap();
            std::fs::write(folder.0.join(name), header(4, order)).unwrap();
            let map = read("a.r32").unwrap().map;
            assert_eq!(
                (map.width, map.spacing_m, &map.data[..]),
                (3, 5.0, &values[..]),
                "{name} {order}"
            );
        }
    }
    let shorts: Vec<u8> = [1u16, 2, 3, 4, 5, 600].iter().flat_map(|v| v.to_be_bytes()).collect();
    std::fs::write(folder.0.join("b.r16"), shorts).unwrap();
    std::fs::write(folder.0.join("b.r16.hdr"), header(12, 1)).unwrap();
    assert_eq!(read("b.r16").unwrap().map.data, [1.0, 2.0, 3.0, 4.0, 5.0, 600.0]);
    // The header of another file beside it is not its own.
    std::fs::write(folder.0.join("c.r16"), [0; 8]).unwrap();
    std::fs::write(folder.0.join("c.hdr"), header(4, 0)).unwrap();
    assert_eq!(read("c.r16").unwrap().map.width, 2);
    std::fs::write(folder.0.join("b.r16.hdr"), header(12, 2)).unwrap();
    assert!(message(read("b.r16"), "input").contains("byte order = 2: allowed 0 or 1"));
}

/// A name may be as long as the system allows, and a folder that is not there is named, and not a
/// file that nobody has asked for. Holds F13.
#[test]
fn long_names_and_missing_folders() {
    let folder = Folder::new("names");
    for length in [200, 241, 242, 255] {
        let name = format!("{}.npy", "a".repeat(length - 4));
        write(&folder.0.join(&name), &noisy(2, 2)).unwrap();
        assert_eq!(folder.list(), std::slice::from_ref(&name));
        std::fs::remove_file(folder.0.join(name)).unwrap();
    }
    let wide = format!("{}.npy", "\u{e4}".repeat(125));
    write(&folder.0.join(&wide), &noisy(2, 2)).unwrap();
    assert_eq!(folder.list(), [wide]);
    let text = message(write(&folder.0.join("no/such/a.npy"), &noisy(2, 2)), "output");
    assert!(text.contains("no/such does not exist; make it") && !text.contains(".a.npy"), "{text}");
}

/// A map without a place is in metres for readers, too. Holds F13.
#[test]
fn a_map_without_a_place_says_metres() {
    let bytes = encode(&noisy(3, 2), MapFormat::Tiff);
    let key = shorts(&[3076, 0, 1, 9001]);
    assert!(bytes.windows(key.len()).any(|window| window == key));
    assert_eq!(decode(&bytes, MapFormat::Tiff, &ReadOptions::default()).unwrap().map, noisy(3, 2));
    let georef = Georef {
        epsg: None,
        west: 691_000.25,
        north: 5_334_000.75,
        cell: (12.5, 12.5),
        keys: None,
    };
    let map = Map { georef: Some(georef), ..noisy(3, 2) };
    let bytes = encode(&map, MapFormat::Tiff);
    assert!(bytes.windows(key.len()).any(|window| window == key));
    assert_eq!(decode(&bytes, MapFormat::Tiff, &ReadOptions::default()).unwrap().map, map);
}

#[test]
fn exr_that_claims_too_much_is_refused() {
    let mut bytes = encode(&noisy(5, 3), MapFormat::Exr);
    let name = b"dataWindow\0box2i\0";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap() + name.len() + 4 + 8;
    assert_eq!(bytes[at..at + 8], [4, 0, 0, 0, 2, 0, 0, 0]);
    bytes[at..at + 8].copy_from_slice(&[0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0]);
    calm(&decode(&bytes, MapFormat::Exr, &ReadOptions::default()), || "claim".into());
    assert!(decode(&bytes, MapFormat::Exr, &ReadOptions::default()).is_err());
}

#[test]
fn the_limit_of_samples_holds_for_every_format() {
    let map = noisy(5, 3);
    for format in ALL {
        let bytes = encode(&map, format);
        let at = |max_cells| decode(&bytes, format, &ReadOptions { max_cells, ..options(&map) });
        assert!(at(15).is_ok());
        assert!(message(at(14), "limit").contains("5x3"), "{format:?}");
    }
}

/// Small files of every format, with what they hold.
fn specimens() -> Vec<(MapFormat, Vec<u8>, (u32, u32))> {
    let mut out: Vec<_> = ALL.into_iter().map(|f| (f, encode(&noisy(5, 3), f), (5, 3))).collect();
    let geo = Map {
        georef: Some(Georef {
            epsg: Some(4326),
            west: 8.0,
            north: 47.0,
            cell: (1e-4, 1e-4),
            keys: None,
        }),
        ..noisy(5, 3)
    };
    out.push((MapFormat::Tiff, encode(&geo, MapFormat::Tiff), (5, 3)));
    out.push((
        MapFormat::Tiff,
        tiff(2, 2, 16, 2, &shorts(&[1, 2, 3, 4]), &[(42113, 2, b"-9999\0".to_vec())]),
        (2, 2),
    ));
    out.push((
        MapFormat::Png,
        png(
            png::ColorType::Grayscale,
            png::BitDepth::Two,
            5,
            3,
            &[0x1b, 0x40, 0x1b, 0x40, 0x1b, 0x40],
        ),
        (5, 3),
    ));
    out.extend(exr_kinds().into_iter().map(|bytes| (MapFormat::Exr, bytes, (5, 3))));
    out.push((MapFormat::Npy, npy("'>f8'", "True", "(3, 5)", &[0; 120]), (5, 3)));
    out
}

fn calm(result: &Result<io::Reading>, what: impl Fn() -> String) {
    if let Err(e) = result {
        assert!(matches!(e.code(), "input" | "limit"), "{}: {e}", what());
        // A panic in a decoder is caught and reported as an internal error, which is a fault. exr
        // 1.74.2 has two: on big-endian processors it turns bytes around that a file lacks, and on
        // those of 32 bits it multiplies sides that a header invents.
        let what = what();
        let is_here = cfg!(any(target_endian = "big", target_pointer_width = "32"));
        let is_known = is_here && what.starts_with("Exr ");
        assert!(is_known || !e.to_string().contains("internal error"), "{what}: {e}");
    }
}

#[test]
fn files_cut_off_anywhere_are_refused() {
    for (format, bytes, size) in specimens() {
        let whole =
            decode(&bytes, format, &ReadOptions { size: Some(size), ..ReadOptions::default() })
                .unwrap();
        for len in 0..bytes.len() {
            for sized in [None, Some(size)] {
                let options = ReadOptions { size: sized, ..ReadOptions::default() };
                let result = decode(&bytes[..len], format, &options);
                calm(&result, || format!("{format:?} cut at {len} of {}", bytes.len()));
                if let Ok(reading) = result {
                    // Raw samples cannot know their size; the others may lack trailing decoration,
                    // but no sample.
                    let raw = matches!(format, MapFormat::R16 | MapFormat::R32) && sized.is_none();
                    assert!(
                        raw || reading.map.data == whole.map.data,
                        "{format:?} cut at {len} of {}",
                        bytes.len()
                    );
                }
            }
        }
    }
}

#[test]
fn flipped_bits_never_panic() {
    let mut numbers = Numbers(7);
    // A damaged header may claim much: the limit keeps the test small.
    let options = ReadOptions { max_cells: 1 << 20, ..ReadOptions::default() };
    for (format, bytes, _) in specimens() {
        for round in 0..rounds(1500) {
            let mut bad = bytes.clone();
            for _ in 0..=numbers.next() % 4 {
                let at = numbers.next() as usize % bad.len();
                bad[at] ^= 1 << (numbers.next() % 8);
            }
            let result = decode(&bad, format, &options);
            calm(&result, || format!("{format:?} round {round}"));
            if let Ok(reading) = result {
                let map = reading.map;
                assert_eq!(map.data.len() as u64, u64::from(map.width) * u64::from(map.height));
                assert!(
                    map.data.iter().all(|v| v.is_finite())
                        && map.spacing_m.is_finite()
                        && map.spacing_m > 0.0
                );
            }
        }
    }
}

#[test]
fn random_bytes_after_a_true_beginning_never_panic() {
    let mut numbers = Numbers(11);
    let options = ReadOptions { max_cells: 1 << 20, ..ReadOptions::default() };
    for (format, bytes, _) in specimens() {
        for round in 0..rounds(500) {
            let keep = numbers.next() as usize % bytes.len();
            let mut bad = bytes[..keep].to_vec();
            bad.extend((0..numbers.next() % 300).map(|_| numbers.next() as u8));
            calm(&decode(&bad, format, &options), || format!("{format:?} round {round}"));
        }
    }
}

#[test]
fn paths_that_hold_no_file() {
    let folder = Folder::new("none");
    let read = |name: &str| io::read(folder.0.join(name), &ReadOptions::default());
    assert!(message(read("missing.png"), "input").contains("no such file"));
    std::fs::create_dir(folder.0.join("dir.png")).unwrap();
    assert!(message(read("dir.png"), "input").contains("folder"));
    std::fs::write(folder.0.join("empty.tif"), b"").unwrap();
    assert!(message(read("empty.tif"), "input").contains("empty"));
    assert_eq!(read("some.txt").unwrap_err().code(), "param");
}

#[test]
fn writing_is_whole_or_not_at_all() {
    let folder = Folder::new("whole");
    let map = noisy(8, 8);
    let missing = folder.0.join("no/such/folder/a.npy");
    assert_eq!(write(&missing, &map).unwrap_err().code(), "output");
    assert!(folder.list().is_empty());

    let path = folder.0.join("a.npy");
    write(&path, &map).unwrap();
    let old = std::fs::read(&path).unwrap();
    let bad = Map { data: vec![f32::NAN; 64], ..map.clone() };
    assert_eq!(write(&path, &bad).unwrap_err().code(), "param");
    assert_eq!(std::fs::read(&path).unwrap(), old);

    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let other = Map { data: vec![1.0; 64], ..map.clone() };
    assert!(message(write(&path, &other), "output").contains("read-only"));
    assert_eq!(std::fs::read(&path).unwrap(), old);

    std::fs::create_dir(folder.0.join("d.png")).unwrap();
    assert_eq!(write(&folder.0.join("d.png"), &map).unwrap_err().code(), "output");
    assert_eq!(folder.list(), ["a.npy", "d.png"]);

    // A new file takes the place of the old one.
    write(&folder.0.join("b.npy"), &map).unwrap();
    write(&folder.0.join("b.npy"), &other).unwrap();
    assert_eq!(
        io::read(folder.0.join("b.npy"), &ReadOptions::default()).unwrap().map.data,
        other.data
    );
    assert_eq!(folder.list(), ["a.npy", "b.npy", "d.png"]);
}

#[cfg(unix)]
#[test]
fn links_stay_and_devices_are_left_alone() {
    let folder = Folder::new("links");
    let (real, link) = (folder.0.join("real.bin"), folder.0.join("link.bin"));
    let mut files = Files::default();
    files.write(&real, b"old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let stored = files.write(&link, b"new").unwrap();
    assert_eq!((stored.bytes, stored.path), (3, link.clone()));
    assert_eq!(std::fs::read(&real).unwrap(), b"new");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    // A relative link to a file that is not there yet.
    std::os::unix::fs::symlink("later.bin", folder.0.join("early.bin")).unwrap();
    files.write(&folder.0.join("early.bin"), b"late").unwrap();
    assert_eq!(std::fs::read(folder.0.join("later.bin")).unwrap(), b"late");
    assert!(std::fs::symlink_metadata(folder.0.join("early.bin")).unwrap().is_symlink());
    std::os::unix::fs::symlink("loop.bin", folder.0.join("loop.bin")).unwrap();
    assert_eq!(files.write(&folder.0.join("loop.bin"), b"x").unwrap_err().code(), "output");
    std::os::unix::fs::symlink("/dev/null", folder.0.join("null.bin")).unwrap();
    assert_eq!(files.write(&folder.0.join("null.bin"), b"x").unwrap_err().code(), "output");
}

#[test]
fn pictures_are_png_of_their_size() {
    let bytes: Vec<u8> = (0..24).collect();
    for picture in [
        DynamicImage::from(GrayImage::from_raw(3, 2, bytes[..6].into()).unwrap()),
        ImageBuffer::<LumaA<u8>, _>::from_raw(3, 2, bytes[..12].to_vec()).unwrap().into(),
        RgbImage::from_raw(3, 2, bytes[..18].into()).unwrap().into(),
        RgbaImage::from_raw(3, 2, bytes.clone()).unwrap().into(),
    ] {
        let encoded = io::encode_picture(picture.clone()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(encoded)).read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut data).unwrap();
        assert_eq!((info.width, info.height, &data[..]), (3, 2, picture.as_bytes()));
    }
    assert!(message(io::encode_picture(GrayImage::new(3, 0)), "param").contains("3x0"));
    let wide = ImageBuffer::<Luma<u16>, _>::new(3, 2);
    assert!(message(io::encode_picture(wide), "param").contains("8 bits"));
}

/// A film appears when it is whole, and is what was put in.
#[test]
fn animations_are_whole_or_not_there() {
    let folder = Folder::new("film");
    let path = folder.0.join("a.apng");
    let picture = |n: u8| RgbImage::from_raw(5, 3, (0..45).map(|i| (i * 5) ^ n).collect()).unwrap();
    let mut film = io::Animation::create(&path, (5, 3), 4).unwrap();
    for n in 0..3 {
        film.add(&picture(n)).unwrap();
    }
    assert!(!path.exists());
    assert!(message(film.finish(), "param").contains("3 of its 4"));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);

    let mut film = io::Animation::create(&path, (5, 3), 4).unwrap();
    assert!(message(film.add(&RgbImage::new(3, 5)), "param").contains("3x5"));
    for n in 0..4 {
        film.add(&picture(n)).unwrap();
    }
    assert!(message(film.add(&picture(4)), "param").contains("5 of 4"));
    let stored = film.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(
        (stored.bytes, stored.blake3),
        (bytes.len() as u64, blake3::hash(&bytes).to_hex().to_string())
    );
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let png::AnimationControl { num_frames, num_plays } = reader.info().animation_control.unwrap();
    assert_eq!((num_frames, num_plays), (4, 0));
    for n in 0..4 {
        let mut data = vec![0; 45];
        reader.next_frame(&mut data).unwrap();
        assert_eq!(data, picture(n).into_raw());
        let control = reader.info().frame_control.unwrap();
        let seconds = f64::from(control.delay_num) / f64::from(control.delay_den);
        assert_eq!(seconds, if n == 3 { 2.0 } else { 0.05 });
    }
    // What was there stays until then, and folders are not replaced.
    std::fs::write(&path, b"mine").unwrap();
    let mut film = io::Animation::create(&path, (5, 3), 1).unwrap();
    film.add(&picture(0)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    film.finish().unwrap();
    assert_ne!(std::fs::read(&path).unwrap(), b"mine");
    assert!(
        message(io::Animation::create(&folder.0, (5, 3), 1).map(|_| ()), "output")
            .contains("folder")
    );
}

/// A picture as a file of a format; JPEG as good as it gets.
fn picture(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut out = std::io::Cursor::new(vec![]);
    match format {
        ImageFormat::Jpeg => {
            picture.write_with_encoder(JpegEncoder::new_with_quality(&mut out, 100)).unwrap()
        }
        _ => picture.write_to(&mut out, format).unwrap(),
    }
    out.into_inner()
}

fn mask(bytes: &[u8], format: ImageFormat, samples: Samples) -> Result<io::Reading> {
    // A damaged header may claim much: the limit keeps the tests small.
    let options = ReadOptions { samples, max_cells: 1 << 20, ..ReadOptions::default() };
    io::decode_mask(Path::new("mask"), bytes, format, &options)
}

const MASKS: [ImageFormat; 3] = [ImageFormat::Bmp, ImageFormat::Jpeg, ImageFormat::WebP];

/// A grey ramp of 19 by 11 pixels.
fn ramp() -> GrayImage {
    GrayImage::from_fn(19, 11, |x, y| Luma([(x * 11 + y * 5) as u8]))
}

#[test]
fn masks_are_the_grey_of_pictures() {
    let grey = ramp();
    let colour = RgbImage::from_fn(19, 11, |x, y| Rgb([(x * 13) as u8, (y * 20) as u8, 90]));
    let luma = |p: &Rgb<u8>| {
        (2126 * u32::from(p[0]) + 7152 * u32::from(p[1]) + 722 * u32::from(p[2])) / 10_000
    };
    let luma = GrayImage::from_fn(19, 11, |x, y| Luma([luma(&colour[(x, y)]) as u8]));
    let pictures = [
        (DynamicImage::from(grey.clone()), &grey),
        (DynamicImage::from(grey.clone()).to_rgb8().into(), &grey),
        (colour.into(), &luma),
    ];
    for format in MASKS {
        for (shown, grey) in &pictures {
            let reading = mask(&picture(shown, format), format, Samples::Shares).unwrap();
            assert_eq!(
                (reading.map.width, reading.map.height, reading.map.range_m),
                (19, 11, Some((0.0, 1.0))),
                "{format:?}"
            );
            assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
            // A JPEG is near enough for a mask.
            let far = if format == ImageFormat::Jpeg { 8.0 / 255.0 } else { 1e-6 };
            let near = reading
                .map
                .data
                .iter()
                .zip(grey.iter())
                .all(|(share, level)| (share - f32::from(*level) / 255.0).abs() <= far);
            assert!(near, "{format:?}: {:?}", reading.map.data);
        }
        let white = GrayImage::from_pixel(3, 2, Luma([255]));
        assert_eq!(
            mask(&picture(&white.into(), format), format, Samples::Shares).unwrap().map.data,
            [1.0; 6]
        );
    }
    for format in [ImageFormat::Bmp, ImageFormat::WebP] {
        let reading =
            mask(&picture(&DynamicImage::from(grey.clone()), format), format, Samples::Numbers)
                .unwrap();
        assert_eq!(
            reading.map.data,
            grey.iter().map(|v| f32::from(*v)).collect::<Vec<_>>(),
            "{format:?}"
        );
        let text =
            message(mask(&picture(&pictures[2].0, format), format, Samples::Numbers), "input");
        assert!(text.contains("colours, which are no numbers"), "{text}");
    }
    let glass = RgbaImage::from_pixel(2, 2, Rgba([255, 255, 255, 9]));
    let reading =
        mask(&picture(&glass.into(), ImageFormat::WebP), ImageFormat::WebP, Samples::Shares)
            .unwrap();
    assert!(has(&reading.warnings, "transparency") && reading.map.data == [1.0; 4], "{reading:?}");
}

/// Pictures of other programs: lossy WebP and progressive JPEG, from white at the top to black at
/// the bottom.
const FOREIGN: [(ImageFormat, &[u8]); 2] = [
    (ImageFormat::WebP, include_bytes!("../data/lossy.webp")),
    (ImageFormat::Jpeg, include_bytes!("../data/progressive.jpg")),
];

#[test]
fn masks_of_other_programs_are_read() {
    for (format, bytes) in FOREIGN {
        let map = mask(bytes, format, Samples::Shares).unwrap().map;
        assert_eq!((map.width, map.height), (19, 11), "{format:?}");
        let far = |(i, share): (usize, &f32)| (share - (1.0 - (i / 19) as f32 / 10.0)).abs();
        assert!(map.data.iter().enumerate().all(|at| far(at) < 0.05), "{format:?}: {:?}", map.data);
        assert!(message(mask(bytes, format, Samples::Numbers), "input").contains("lossy"));
    }
}

/// Decoders have loops of their own for each kind of processor. All have the same samples.
#[test]
fn lossy_pictures_have_the_same_samples_on_every_processor() {
    let colours = (ImageFormat::Jpeg, &include_bytes!("../data/colours.jpg")[..]);
    let digests = FOREIGN.into_iter().chain([colours]).map(|(format, bytes)| {
        let data = mask(bytes, format, Samples::Shares).unwrap().map.data;
        let words: Vec<u8> = data.iter().flat_map(|share| share.to_bits().to_le_bytes()).collect();
        blake3::hash(&words).to_hex()[..16].to_string()
    });
    assert_eq!(
        digests.collect::<Vec<_>>(),
        ["0bf0b5fc62907c4e", "4f77e4403c1628fc", "278811fb2ea63b27"]
    );
}

#[test]
fn lossy_pictures_have_no_numbers_and_no_mask_has_heights() {
    let folder = Folder::new("masks");
    for (format, name) in MASKS.into_iter().zip(["a.bmp", "a.JPG", "a.webp"]) {
        let bytes = picture(&ramp().into(), format);
        let path = folder.0.join(name);
        std::fs::write(&path, &bytes).unwrap();
        let read = |samples| io::read(&path, &ReadOptions { samples, ..ReadOptions::default() });
        assert_eq!(read(Samples::Shares).unwrap().map.width, 19);
        assert_eq!(read(Samples::Numbers).is_ok(), format != ImageFormat::Jpeg);
        assert!(
            message(read(Samples::Heights), "input")
                .contains("convert it to 16-bit PNG, TIFF, EXR or NPY"),
            "{name}"
        );
        // Under another name, the content tells.
        let text =
            message(mask(&encode(&noisy(2, 2), MapFormat::Png), format, Samples::Shares), "input");
        assert!(text.contains("name it .png, or say so with --from png"), "{text}");
        let options = ReadOptions { samples: Samples::Shares, ..ReadOptions::default() };
        let text = message(decode(&bytes, MapFormat::Png, &options), "input");
        assert!(text.contains(&format!("name it .{}", format.extensions_str()[0])), "{text}");
    }
    let numbers = |bytes: &[u8], format| message(mask(bytes, format, Samples::Numbers), "input");
    assert!(
        numbers(&picture(&ramp().into(), ImageFormat::Jpeg), ImageFormat::Jpeg).contains("lossy")
    );
    assert!(
        numbers(
            b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\x10\0\0\x9d\x01\x2a\x02\0\x02\0",
            ImageFormat::WebP
        )
        .contains("lossy")
    );
    assert!(numbers(b"RIFF\x0c\0\0\0WEBPANMF\0\0\0\0", ImageFormat::WebP).contains("animation"));
    let unknown = |samples| {
        message(
            io::read(Path::new("a.gif"), &ReadOptions { samples, ..ReadOptions::default() }),
            "param",
        )
    };
    assert!(
        unknown(Samples::Shares).contains(".jpg") && !unknown(Samples::Numbers).contains(".jpg")
    );
    assert!(!unknown(Samples::Heights).contains(".bmp"));
}

#[test]
fn masks_that_are_too_large_are_refused() {
    for format in MASKS {
        let bytes = picture(&ramp().into(), format);
        let at = |max_cells| {
            let options =
                ReadOptions { samples: Samples::Shares, max_cells, ..ReadOptions::default() };
            io::decode_mask(Path::new("mask"), &bytes, format, &options)
        };
        assert!(at(19 * 11).is_ok());
        assert!(message(at(19 * 11 - 1), "limit").contains("19x11"), "{format:?}");
    }
    // A header that claims more than the file can hold.
    let mut bmp = picture(&ramp().into(), ImageFormat::Bmp);
    bmp[18..26].copy_from_slice(&[0, 2, 0, 0, 0, 2, 0, 0]);
    assert!(
        message(mask(&bmp, ImageFormat::Bmp, Samples::Shares), "input")
            .contains("cannot hold 512x512")
    );
    let mut jpeg = picture(&ramp().into(), ImageFormat::Jpeg);
    let at = jpeg.windows(2).position(|w| w == [0xff, 0xc0]).unwrap() + 5;
    jpeg[at..at + 4].copy_from_slice(&[4, 0, 4, 0]);
    assert!(
        message(mask(&jpeg, ImageFormat::Jpeg, Samples::Shares), "input")
            .contains("cannot hold 1024x1024")
    );
}

#[test]
fn damaged_masks_are_refused_or_read() {
    let mut numbers = Numbers(13);
    let colour = RgbImage::from_fn(19, 11, |x, y| Rgb([(x * 13) as u8, (y * 20) as u8, 90]));
    let made = MASKS.iter().flat_map(|format| {
        [DynamicImage::from(ramp()), colour.clone().into()]
            .map(|shown| (*format, picture(&shown, *format)))
    });
    for (format, bytes) in made.chain(FOREIGN.map(|(format, bytes)| (format, bytes.to_vec()))) {
        let whole = mask(&bytes, format, Samples::Shares).unwrap();
        for len in 0..bytes.len() {
            let result = mask(&bytes[..len], format, Samples::Shares);
            calm(&result, || format!("{format:?} cut at {len} of {}", bytes.len()));
            assert!(
                result.is_err() || result.unwrap().map == whole.map,
                "{format:?} cut at {len} of {}",
                bytes.len()
            );
        }
        for round in 0..rounds(1500) {
            let mut bad = bytes.clone();
            for _ in 0..=numbers.next() % 4 {
                let at = numbers.next() as usize % bad.len();
                bad[at] ^= 1 << (numbers.next() % 8);
            }
            let result = mask(&bad, format, Samples::Shares);
            calm(&result, || format!("{format:?} round {round}"));
            if let Ok(reading) = result {
                assert!(reading.map.data.iter().all(|v| (0.0..=1.0).contains(v)));
            }
        }
    }
}

/// Layers are refused in formats that cannot hold them, by name (B-2).
#[test]
fn layers_fit_two_formats() {
    let names = ["fen", "moor"].map(String::from);
    let refused = |names: &[String], values: &[u16], format| {
        io::encode_layers([2, 1], names, values, format).unwrap_err().to_string()
    };
    for (format, name) in
        [(MapFormat::Png, ".png"), (MapFormat::Tiff, ".tif"), (MapFormat::R16, ".r16")]
    {
        let error = refused(&names, &[1, 2, 3, 4], format);
        assert!(error.contains(name) && error.contains("use npy or exr"), "{error}");
    }
    assert!(
        refused(&names, &[1, 2, 3], MapFormat::Npy)
            .contains("3 values for 2 layers of 2 x 1 cells")
    );
    assert!(
        refused(&["沼".into()], &[1, 2], MapFormat::Exr)
            .contains("\"沼\" cannot be the name of an EXR channel")
    );
    let bytes = io::encode_layers([2, 1], &names, &[1, 2, 3, 65535], MapFormat::Npy).unwrap();
    assert_eq!(bytes[bytes.len() - 8..], [1, 0, 2, 0, 3, 0, 255, 255]);
}
