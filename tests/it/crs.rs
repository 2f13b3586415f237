//! Coordinate systems without a code: their text follows from the keys of a GeoTIFF, exactly or not
//! at all. `tests/readers.py` holds the texts against GDAL.

use crate::common::config;
use proptest::prelude::*;
use std::path::Path;
use thalweg::io::crs::{System, system};
use thalweg::io::{ReadOptions, read};
use thalweg::map::{GeoKeys, Georef};

/// The value of a key.
#[derive(Clone, Debug)]
enum Key {
    Code(u16),
    Number(f64),
    Text(&'static str),
}

use Key::{Code, Number, Text};

/// A place whose coordinate system has these keys.
fn place(keys: &[(u16, Key)]) -> Georef {
    let mut raw = GeoKeys {
        directory: vec![1, 1, 0, keys.len() as u16],
        numbers: vec![],
        text: String::new(),
    };
    for (id, key) in keys {
        let [location, count, value] = match key {
            Code(code) => [0, 1, *code],
            Number(number) => {
                raw.numbers.push(*number);
                [34736, 1, raw.numbers.len() as u16 - 1]
            }
            Text(text) => {
                let from = raw.text.len() as u16;
                raw.text += text;
                [34737, text.len() as u16, from]
            }
        };
        raw.directory.extend([*id, location, count, value]);
    }
    Georef { epsg: None, west: 0.0, north: 0.0, cell: (10.0, 10.0), keys: Some(raw) }
}

fn of(keys: &[(u16, Key)]) -> Option<System> {
    system(&place(keys))
}

/// Transverse Mercator on NAD83 by its code, from 96° west.
fn mercator() -> Vec<(u16, Key)> {
    vec![
        (1024, Code(1)),
        (1026, Text("Our \"own\" grid|")),
        (2048, Code(4269)),
        (3072, Code(32767)),
        (3074, Code(32767)),
        (3075, Code(1)),
        (3076, Code(9001)),
        (3080, Number(-96.0)),
        (3081, Number(40.0)),
        (3082, Number(5e5)),
        (3083, Number(0.0)),
        (3092, Number(0.9996)),
    ]
}

/// The keys without one, or with another value.
fn but(id: u16, key: Option<Key>) -> Vec<(u16, Key)> {
    mercator().into_iter().filter(|own| own.0 != id).chain(key.map(|key| (id, key))).collect()
}

const NAD83: &str = "GEOGCS[\"NAD83\",DATUM[\"North_American_Datum_1983\",SPHEROID[\"GRS \
                     1980\",6378137,298.257222101,AUTHORITY[\"EPSG\",\"7019\"]],AUTHORITY[\"EPSG\",\"6269\"]],PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433,AUTHORITY[\"EPSG\",\"9122\"]],AUTHORITY[\"EPSG\",\"4269\"]]";
const PLANE: &str = "UNIT[\"metre\",1,AUTHORITY[\"EPSG\",\"9001\"]],AXIS[\"Easting\",EAST],AXIS[\"Northing\",NORTH]]";

#[test]
fn texts_follow_from_keys() {
    let gdal = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiff").join(name);
        read(&path, &ReadOptions::default()).unwrap().map.georef.unwrap()
    };
    let albers = system(&gdal("albers.tif")).unwrap();
    assert_eq!(albers.name, "North_America_Albers_Equal_Area_Conic");
    let expected = format!(
        "PROJCS[\"North_America_Albers_Equal_Area_Conic\",{NAD83},PROJECTION[\"Albers_Conic_Equal_Area\"],PARAMETER[\"latitude_of_center\",40],PARAMETER[\"longitude_of_center\",-96],PARAMETER[\"standard_parallel_1\",20],PARAMETER[\"standard_parallel_2\",60],PARAMETER[\"false_easting\",0],PARAMETER[\"false_northing\",0],{PLANE}"
    );
    assert_eq!(albers.text, expected);
    let laea = system(&gdal("laea.tif")).unwrap();
    assert!(
        laea.text.contains(
            "DATUM[\"Unknown based on GRS 1980 ellipsoid\",SPHEROID[\"GRS \
             1980\",6378137,298.257222101,"
        ),
        "{}",
        laea.text
    );
    assert!(
        laea.text.contains("[\"latitude_of_center\",45],PARAMETER[\"longitude_of_center\",10]")
    );
    assert_eq!(system(&gdal("vertical.tif")), None, "one with a code is named by it");
    let own = of(&mercator()).unwrap();
    assert_eq!(own.name, "Our ?own? grid");
    assert!(
        own.text.contains("PARAMETER[\"scale_factor\",0.9996],PARAMETER[\"false_easting\",500000]"),
        "{}",
        own.text
    );
    // Feet stay feet, and a zone of UTM in the south is what its code says.
    let feet = of(&but(3076, Some(Code(9003)))).unwrap().text;
    assert!(
        feet.contains(
            "500000],PARAMETER[\"false_northing\",0],UNIT[\"US survey foot\",0.3048006096"
        ),
        "{feet}"
    );
    let zone = of(&but(3074, Some(Code(16133)))).unwrap().text;
    assert!(zone.contains("\"central_meridian\",15],PARAMETER[\"scale_factor\",0.9996],PARAMETER[\"false_easting\",500000],PARAMETER[\"false_northing\",10000000]"));
    // What the standard has a default for may be missing.
    assert!(of(&but(3092, None)).unwrap().text.contains("[\"scale_factor\",1]"));
    // A sphere, degrees alone, another meridian and a shift.
    let globe = [
        (1024, Code(2)),
        (2049, Text("GCS Name = moon|Primem = Here|")),
        (2057, Number(1_737_400.0)),
        (2058, Number(1_737_400.0)),
        (2061, Number(2.5)),
    ];
    let moon = of(&globe).unwrap();
    assert_eq!(moon.name, "moon");
    assert!(
        moon.text.starts_with("GEOGCS[\"moon\",")
            && moon.text.contains(",1737400,0]],PRIMEM[\"Here\",2.5]"),
        "{}",
        moon.text
    );
    // A text that the file has goes before its keys, without what follows it.
    let stated = "ESRI PE String = PROJCS[\"A ] of \
                  \"\"it\",GEOGCS[\"G\",DATUM[\"D\",SPHEROID[\"S\",6378137.0,0.0]]]],VERTCS[\"v\"]|";
    let stated = of(&but(3073, Some(Text(stated)))).unwrap();
    assert_eq!(
        stated.text,
        "PROJCS[\"A ] of \"\"it\",GEOGCS[\"G\",DATUM[\"D\",SPHEROID[\"S\",6378137.0,0.0]]]]"
    );
    let broken = of(&but(3073, Some(Text("ESRI PE String = PROJCS[\"half\",GEOGCS[|")))).unwrap();
    assert!(
        broken.text.contains("Transverse_Mercator"),
        "half a text is none, and the keys say it all"
    );
}

/// What is missing or not understood is not made up.
#[test]
fn nothing_is_guessed() {
    assert!(of(&mercator()).is_some());
    for (id, key, why) in [
        (2048, None, "no datum"),
        (2048, Some(Code(4001)), "a datum that is not known here, without an ellipsoid"),
        (2051, Some(Code(8903)), "a meridian by its code"),
        (2054, Some(Code(9105)), "grads"),
        (3074, Some(Code(10101)), "a projection by its code"),
        (3075, None, "no projection"),
        (3075, Some(Code(3)), "a projection that is not known here"),
        (3076, Some(Code(4444)), "a unit that is not known here"),
        (3080, None, "no meridian"),
        (3080, Some(Number(f64::NAN)), "a meridian that is no number"),
        (3081, None, "no latitude"),
        (3092, Some(Number(f64::INFINITY)), "a scale that is no number"),
        (3092, Some(Text("1|")), "a scale that is a text"),
    ] {
        assert_eq!(of(&but(id, key)), None, "{why}");
    }
    let on = |a: f64, b: f64| {
        let body = [(2057, Number(a)), (2058, Number(b))];
        of(&but(2048, None).into_iter().chain(body).collect::<Vec<_>>())
    };
    assert!(on(6_377_000.0, 6_356_000.0).is_some());
    for (a, b) in
        [(6_377_000.0, 6_378_000.0), (0.0, 0.0), (-1.0, -2.0), (1.0, 0.1), (f64::NAN, 1.0)]
    {
        assert_eq!(on(a, b), None, "{a} {b}");
    }
    let cones = [(3075, Code(8)), (3078, Number(33.0))];
    assert_eq!(
        of(&but(3075, None).into_iter().chain(cones).collect::<Vec<_>>()),
        None,
        "one parallel of two"
    );
}

/// Any keys: no panic, and a text whose brackets and quotes close.
#[test]
fn damaged_keys_make_no_broken_text() {
    let ids = prop_oneof![Just(1024u16), Just(1026), 2048u16..2063, 3072u16..3097];
    let key = prop_oneof![
        prop_oneof![
            0u16..30,
            Just(32767),
            Just(4269),
            Just(9001),
            Just(16001),
            Just(6326),
            Just(7019),
            any::<u16>()
        ]
        .prop_map(Code),
        prop_oneof![any::<f64>(), -180.0..180.0, 6e6..7e6].prop_map(Number),
        prop::sample::select(vec![
            "",
            "|",
            "a\"b|",
            "GCS Name = ]|",
            "ESRI PE String = PROJCS[\"",
            "é\u{1}|",
            "Datum = x|"
        ])
        .prop_map(Text),
    ];
    let some = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(config(4000));
    let done = runner.run(&prop::collection::vec((ids, key), 0..4), |changes| {
        let changed: Vec<u16> = changes.iter().map(|change| change.0).collect();
        let keys: Vec<_> =
            mercator().into_iter().filter(|own| !changed.contains(&own.0)).chain(changes).collect();
        let Some(System { text, .. }) = of(&keys) else { return Ok(()) };
        some.set(some.get() + 1);
        let mut depth = 0i32;
        for (n, part) in text.split('"').enumerate().filter(|(n, _)| n % 2 == 0) {
            for c in part.chars() {
                depth += i32::from(c == '[') - i32::from(c == ']');
                prop_assert!(depth >= 0 && (' '..='~').contains(&c), "{} {}", n, text);
            }
        }
        prop_assert!(depth == 0 && text.split('"').count() % 2 == 1, "{}", text);
        prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}", text);
        Ok(())
    });
    done.unwrap();
    assert!(some.get() > 500, "{} of 4000 had a text", some.get());
}
