//! Makes the text of a coordinate system from the keys of a GeoTIFF.
#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use thalweg::io::crs::system;
use thalweg::map::{GeoKeys, Georef};

/// Keys that the library knows, or nearly.
const KEYS: [u16; 48] = [
    1024, 1025, 1026, 2048, 2049, 2050, 2051, 2052, 2053, 2054, 2055, 2056, 2057, 2058, 2059, 2060,
    2061, 2062, 3072, 3073, 3074, 3075, 3076, 3077, 3078, 3079, 3080, 3081, 3082, 3083, 3084, 3085,
    3086, 3087, 3088, 3089, 3090, 3091, 3092, 3093, 3094, 3095, 4096, 4097, 4098, 4099, 5120, 9999,
];

fn georef(from: &mut Unstructured) -> Result<Georef> {
    let mut keys = GeoKeys { directory: vec![], numbers: vec![], text: String::new() };
    let mut count = 0;
    while !from.is_empty() && count < 64 {
        count += 1;
        keys.directory.push(*from.choose(&KEYS)?);
        keys.directory.extend(match from.int_in_range(0..=7)? {
            0 => [from.arbitrary()?, from.arbitrary()?, from.arbitrary()?],
            1 | 2 => [0, 1, from.arbitrary()?],
            3 | 4 => {
                let many = from.int_in_range(1..=7)?;
                let first = keys.numbers.len() as u16;
                for _ in 0..many {
                    keys.numbers.push(from.arbitrary()?);
                }
                [34736, many, first]
            }
            _ => {
                let text: &str = from.arbitrary()?;
                let first = keys.text.len() as u16;
                keys.text.push_str(text);
                [34737, text.len() as u16, first]
            }
        });
    }
    keys.directory.splice(0..0, [1, 1, 0, count]);
    Ok(Georef { epsg: None, west: 0.0, north: 0.0, cell: (10.0, 10.0), keys: Some(keys) })
}

thalweg_fuzz::target!(64, |data| {
    let Ok(georef) = georef(&mut Unstructured::new(data)) else { return };
    let Some(system) = system(&georef) else { return };
    let (text, name) = (&system.text, &system.name);
    assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
    assert!(["PROJCS[\"", "GEOGCS[\""].iter().any(|word| text.starts_with(word)), "{text}");
    assert_eq!(text.split('"').nth(1), Some(name.as_str()), "{text}");
    let outside: String = text.split('"').step_by(2).collect();
    assert_eq!(outside.matches('[').count(), outside.matches(']').count(), "{text}");
    let _ = georef.name();
});
